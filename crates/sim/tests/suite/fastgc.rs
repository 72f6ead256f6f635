//! Copyback while counts and wear allow it: paper D's arithmetic on a device, its example, and the equivalent baselines. Times in
//! ns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::common::{Dut, Log, array, causes, config, plane, spent, summary};
use ssdlab_sim::blame::Cause;
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::{BlockId, Nanos, Ppn};
use ssdlab_sim::{Check, Completed, Config, LegRecord, Observer, Request, RequestOp, Ssd};

/// Paper D's flash: tR 91 us, tPROG 706 us, tBERS 5 ms, 20 ns/B, a page of 16 KiB: 327.68 us on the bus.
const TIMING: &str = "timing = { read = \"91us\", program = \"706us\", erase = \"5ms\", transfer = \"20ns/B\" }\n";
const READ: u64 = 91_000;
const PROGRAM: u64 = 706_000;
const TRANSFER: u64 = 327_680;
const ERASE: u64 = 5_000_000;

/// One plane of eight blocks of 576 pages, a bit less than half full; a block with `valid` valid pages is collected. Returns the
/// summary, and the time for which the die was held.
fn collect(valid: u64, more: &str) -> (Summary, u64) {
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 576, page_size = \"16KiB\" }}
device = {{ over_provisioning = 0.51 }}
gc = {{ threshold = \"2347 pages\" }}
precondition = {{ mode = \"sequential\" }}
{TIMING}{more}"
    )));
    let data = u64::from(dut.ssd.geometry().data_pages);
    let size = dut.ssd.page_bytes();
    // The first block holds the first pages; after the trim, its last pages are still valid.
    dut.trim(0, 0, (data - valid) * size);
    // One or two writes bring the plane below its threshold; each programs a page, and GC starts when it lands.
    let program = TRANSFER + PROGRAM;
    let mut at = 1_000;
    let mut write = |dut: &mut Dut| {
        dut.write(at, 2_256 * size, size);
        at += 10 * program;
        at - 9 * program
    };
    let mut end = write(&mut dut);
    let free = 8 * 576 - 2_257 - 2_257 / data * (576 - data);
    for _ in 2_347..free {
        end = write(&mut dut);
    }
    // A read that arrives as the collection starts waits for all of it.
    dut.read(end + 1, 2_000 * size, size);
    let read = *dut.latencies().last().unwrap();
    let held = read + 1 - READ - TRANSFER;
    let told = summary(&dut.ssd);
    assert_eq!((told.gc.collections, told.gc.moved_pages), (1, valid));
    (told, held)
}

const FASTGC: &str = "schemes = { path = \"fastgc\" }\n";
const EXTERNAL: &str = "schemes = { path = \"external\" }\n";

/// The paper's model is per page: 45.12 % less for a copied page.
#[test]
fn a_copied_page_takes_45_12_per_cent_less() {
    let moves = |more: &str| collect(100, more).1 - ERASE;
    let external = moves(EXTERNAL);
    let copied = moves("schemes = { path = \"copyback\" }\n");
    assert_eq!((external, copied), (145_236_000, 79_700_000));
    let saved = 1.0 - copied as f64 / external as f64;
    assert_eq!((saved * 1e4).round(), 4512.0);
}

/// A collection of 406 copied pages.
#[test]
fn a_collection_of_406_copied_pages_takes_329_000_680() {
    let (told, held) = collect(406, FASTGC);
    assert_eq!(held, 329_000_680);
    let report = told.fastgc.unwrap();
    assert_eq!((report.copied_pages, report.external_pages, report.copied_by_count), (406, 0, vec![406]));
    assert_eq!((report.metadata_reads, report.metadata_time_ns.read), (1, READ));
    // Externally: the paper's sum, of which 44.74 % is transfer.
    let (told, held) = collect(406, EXTERNAL);
    assert_eq!(held, 594_658_160);
    let time = &told.gc.time_ns;
    assert_eq!(time.transfer, 2 * 406 * TRANSFER);
    assert_eq!((time.transfer as f64 / held as f64 * 1e4).round(), 4474.0);
    // The checked path, where every page has errors, equals external; its report has the share.
    let (told, held) = collect(406, "schemes = { path = \"checked\" }\n");
    assert_eq!(held, 594_658_160);
    assert_eq!((told.fastgc.unwrap().transfer_share.unwrap() * 1e4).round(), 4474.0);
}

/// The five rows of Table 2: N_m, time of external moves, time of copies with metadata, and the saving.
#[test]
fn the_five_rows_of_saved_time() {
    let rows = [
        (406, 589_658_160, 325_034_360, 264_623_800u64),
        (370, 537_373_200, 296_342_360, 241_030_840),
        (158, 229_472_880, 127_378_360, 102_094_520),
        (74, 107_474_640, 60_430_360, 47_044_280),
        (347, 503_968_920, 278_011_360, 225_957_560),
    ];
    for (moved, external, copied, saved) in rows {
        let (_, held) = collect(moved, EXTERNAL);
        assert_eq!(held - ERASE, external);
        // The collection reads metadata; the write happens when a block is full, at the same cost as for the host.
        let (told, held) = collect(moved, FASTGC);
        let report = told.fastgc.unwrap();
        assert_eq!(report.metadata_programs, 0);
        let metadata_write = TRANSFER + PROGRAM;
        assert_eq!((held - ERASE + metadata_write, external - copied), (copied, saved));
    }
}

/// 2,875 B are one page; writing it takes 1,033.68 us, reading it 418.68 us.
#[test]
fn metadata_takes_one_page_and_1_033_680_and_418_680() {
    let paper = config(&format!("geometry = {{ pages_per_block = 576, page_size = \"16KiB\" }}\n{FASTGC}"));
    assert_eq!(paper.metadata_pages(), 1);
    // The 575th write fills the first block; a read immediately after it waits for the metadata too.
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 576, page_size = \"16KiB\" }}
device = {{ over_provisioning = 0.55 }}
{TIMING}{FASTGC}"
    )));
    let (size, step) = (dut.ssd.page_bytes(), TRANSFER + PROGRAM);
    (0..575).for_each(|n| dut.write(n * step, n * size, size));
    dut.read(575 * step + 1, 0, size);
    let latencies = dut.latencies();
    assert_eq!(latencies[574], step);
    assert_eq!(latencies[575], 1_033_680 - 1 + READ + TRANSFER);
    let told = summary(&dut.ssd);
    assert_eq!((told.flash.programs.metadata, told.flash.programs.total), (1, 576));
    let time = told.fastgc.unwrap().metadata_time_ns;
    assert_eq!(time.transfer + time.program, 1_033_680);
    let (told, _) = collect(10, FASTGC);
    let time = told.fastgc.unwrap().metadata_time_ns;
    assert_eq!(time.transfer + time.read, 418_680);
}

/// Metadata of a block that the host has filled would exist without GC too. The shadow clock serves it like a host operation, so
/// operations behind it are late only if GC has delayed it.
#[test]
fn a_read_behind_metadata_is_late_by_what_a_collection_delayed_that() {
    let toml = format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, pages_per_block = 4, page_size = \"16KiB\" }}
device.over_provisioning = 0.9
gc.threshold = \"54 pages\"
{TIMING}{FASTGC}"
    );
    let (metadata, collection) = (TRANSFER + PROGRAM, READ + TRANSFER + ERASE);
    for (after, host, late) in [(100_000, metadata - 100_000, 100_000), (2_000_000, 0, metadata)] {
        let mut dut = Dut::new(&config(&toml));
        let size = dut.ssd.page_bytes();
        // Three data pages and one of metadata a block. The ninth write fills block 2 and leaves 53 pages: block 0, stale
        // throughout, is collected (its metadata read, then the erase) before the metadata of block 2 is written.
        let writes = [0, 1, 2, 3, 4, 0, 1, 2, 3].iter().zip(0..);
        writes.for_each(|(lpn, n)| dut.write(n * 10_000_000, lpn * size, size));
        let filled = 8 * 10_000_000 + metadata;
        dut.read(filled + after, 4 * size, size);
        let read = dut.completed().pop().unwrap();
        assert_eq!(summary(&dut.ssd).gc.collections, 1);
        assert_eq!(read.start.unwrap().0, filled + collection + metadata);
        // Without the collection the metadata would have been written from `filled` on.
        let waits = [("die_host", host), ("die_late", late), ("die_gc_own", collection - after)];
        let waits: Vec<(&str, u64)> = waits.into_iter().filter(|(_, ns)| *ns > 0).collect();
        assert_eq!(causes(&read), [&waits[..], &[("array", READ), ("bus", TRANSFER)]].concat());
    }
}

/// Records all legs and requests.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<(Vec<LegRecord>, Vec<Completed>)>>);

impl Observer for Record {
    fn leg(&mut self, leg: &LegRecord) {
        self.0.lock().unwrap().0.push(*leg);
    }
    fn completed(&mut self, request: &Completed) {
        self.0.lock().unwrap().1.push(request.clone());
    }
}

/// A metadata page is charged to the class that filled its block. With `gc.destination = "any"` that may be GC of another die,
/// which does not hold this one. A read without other requests waits for the host exactly as long as metadata of blocks filled by
/// the host is written.
#[test]
fn metadata_is_charged_to_the_class_that_filled_the_block() {
    // Blocks with one metadata page, and with two.
    for (blocks, pages, size, requests) in [(24, 8, 4096, 12_000), (24, 110, 512, 80_000)] {
        let config = config(&format!(
            "geometry = {{ channels = 4, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {blocks}, pages_per_block = {pages}, page_size = \"{size}B\" }}
device = {{ over_provisioning = 0.55, queue_depth = 64 }}
schemes = {{ path = \"fastgc\", place = \"dynamic\" }}
gc = {{ destination = \"any\", threshold = \"8 blocks\" }}
wear.copyback_thresholds = 1
precondition = {{ mode = \"random\", overwrite = 2.0 }}
timing = {{ read = \"50us\", program = \"600us\", erase = \"3ms\", transfer = \"20ns/B\" }}"
        ));
        let mut dut = Dut::new(&config);
        let record = Record::default();
        dut.ssd.observe(Box::new(record.clone()));
        let (mut rng, mut at) = (stream(7, "load"), 0);
        let logical = dut.ssd.capacity_bytes() / size;
        for _ in 0..requests {
            at += below(&mut rng, 2_000_000);
            let page = below(&mut rng, logical) * size;
            if below(&mut rng, 2) > 0 { dut.read(at, page, size) } else { dut.write(at, page, size) }
        }
        dut.ssd.run();
        let (legs, mut done) = std::mem::take(&mut *record.0.lock().unwrap());
        // Times at which metadata held a die, and whether the block's last page was the host's, or came from another die.
        let block = |leg: &LegRecord| leg.ppn.0 / pages;
        let (mut filled, mut written) = (BTreeMap::new(), Vec::new());
        let (mut read_at, mut home, mut moved) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        for leg in legs.iter().filter(|leg| leg.kind == LegKind::Array) {
            match (leg.class, leg.verb) {
                (Class::Host, Verb::Read) => _ = read_at.insert(leg.number, leg.planes[0]),
                (Class::Metadata, Verb::Program) => {
                    let transfer = 20 * size;
                    let Some(by) = filled.get(&block(leg)) else { continue };
                    written.push((leg.planes[0], leg.start.0 - transfer, leg.end.0, *by));
                }
                (Class::Gc, Verb::Read) => _ = home.insert(leg.number, leg.planes[0]),
                (class, Verb::Program | Verb::Copyback) => {
                    let foreign =
                        class == Class::Gc && home.get(&leg.number).is_some_and(|home| *home != leg.planes[0]);
                    filled.insert(block(leg), (class == Class::Host, foreign));
                    moved.insert((u64::from(leg.lpn.0), leg.end.0));
                }
                _ => {}
            }
        }
        let (mut seen, mut busy) = ([0; 2], 0);
        done.sort_by_key(|request| request.request);
        for request in &done {
            let alone = busy <= request.arrival.0;
            busy = busy.max(request.completion.0);
            let Some(die) = read_at.get(&request.request).filter(|_| alone) else { continue };
            let (from, to) = (request.arrival.0, request.start.unwrap().0);
            // A read whose page is moved or overwritten follows it to another die, behind others.
            let lpn = request.offset / size;
            if moved.range((lpn, from)..(lpn, to)).next().is_some() {
                continue;
            }
            let mut by_host = 0;
            for (_, start, end, (host, foreign)) in written.iter().filter(|write| write.0 == *die) {
                let waited = end.min(&to).saturating_sub(*start.max(&from));
                by_host += if *host { waited } else { 0 };
                seen[0] += u32::from(*host && waited > 0);
                seen[1] += u32::from(*foreign && waited > 0);
            }
            assert_eq!(spent(request, Cause::DieHost) + spent(request, Cause::DieLate), by_host, "{request:?}");
        }
        assert!(seen.iter().all(|n| *n >= 3), "{seen:?}");
    }
}

/// Equation 2's ratio of totals at mu = 0.8333, N = 576, N_meta = 1.
#[test]
fn writes_grow_by_a_factor_of_1_00383() {
    let paper = config(&format!("geometry = {{ pages_per_block = 576, page_size = \"16KiB\" }}\n{FASTGC}"));
    let (mu, n, meta) = (1.0 / 1.2, f64::from(paper.geometry.pages_per_block), f64::from(paper.metadata_pages()));
    let ratio: f64 = (mu * n + meta) / (mu * (n - meta));
    assert_eq!((ratio * 1e5).round(), 100_383.0);
}

/// The threshold steps at each boundary, including its lower edge.
#[test]
fn thresholds_step_at_each_boundary() {
    let ssd = Ssd::new(&Config::default(), 1, Check::Off).unwrap();
    let at = |pe_cycles| ssd.wear().threshold_at(pe_cycles);
    let edges = [1300, 1500, 3000, 4000, 4300, 4500];
    assert_eq!(at(0), 6);
    for (i, edge) in edges.into_iter().enumerate() {
        assert_eq!((at(edge - 1), at(edge)), (6 - i as u8, 5 - i as u8), "at {edge}");
    }
    assert_eq!(at(u32::MAX), 0);
}

/// A small device under a random load with continuous GC.
fn worked(more: &str, requests: u64, reads_per_100: u64) -> (Ssd, u64) {
    let config = config(&format!(
        "geometry = {{ channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 24, pages_per_block = 16, page_size = \"16KiB\" }}
device = {{ over_provisioning = 0.35, queue_depth = 8 }}
precondition = {{ mode = \"random\", overwrite = 1.0 }}
{TIMING}{more}"
    ));
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    let log = Log::default();
    ssd.observe(Box::new(log.clone()));
    let (size, mut rng) = (ssd.page_bytes(), stream(3, "load"));
    let pages = ssd.capacity_bytes() / size;
    for n in 0..requests {
        if !ssd.accepts() {
            ssd.run_until_room();
        }
        let op = if below(&mut rng, 100) < reads_per_100 { RequestOp::Read } else { RequestOp::Write };
        // Three quarters of the requests go to a quarter of the pages, so that some pages live long.
        let span = if below(&mut rng, 4) > 0 { pages / 4 } else { pages };
        let offset = below(&mut rng, span) * size;
        ssd.submit(Request { arrival: Nanos(n * 700_000), op, offset, bytes: size });
    }
    ssd.run();
    let told = log.0.lock().unwrap().iter().map(|done| u64::from(done.uncorrectable)).sum();
    (ssd, told)
}

/// The whole summary except its configuration.
fn told(ssd: &Ssd) -> String {
    let mut told = summary(ssd);
    told.config = Config::default();
    // The checked path keeps no counts to list.
    if let Some(report) = &mut told.fastgc {
        report.external_by_count.clear();
    }
    format!("{told:?}")
}

#[test]
fn a_count_equal_to_the_threshold_is_exhausted() {
    let (ssd, _) = worked("schemes = { path = \"fastgc\" }\nwear = { copyback_thresholds = 3 }\n", 20_000, 30);
    let report = summary(&ssd).fastgc.unwrap();
    assert_eq!(report.copied_by_count.len(), 3, "{:?}", report.copied_by_count);
    let (last, before) = report.external_by_count.split_last().unwrap();
    assert!(*last > 0 && before.len() == 3 && before.iter().all(|n| *n == 0), "{:?}", report.external_by_count);
    assert_eq!(report.largest_count, 3);
    assert_eq!(report.copied_by_count.iter().sum::<u64>(), report.copied_pages);
}

/// Copybacks and external moves alternate. Host data starts with a copyback, whatever its page held before.
#[test]
fn counts_end_with_the_erase_of_their_block() {
    let (ssd, _) = worked(&format!("{FASTGC}wear = {{ copyback_thresholds = 1 }}\n"), 20_000, 30);
    let report = summary(&ssd).fastgc.unwrap();
    let pages = 4 * 24 * 16;
    // Preconditioning has copied some already.
    let (copied, external) = (report.copied_by_count[0], report.external_by_count[1]);
    assert!(external > 2 * pages && external <= copied + pages, "{external} after {copied}");
    let erased = |page: &Ppn| {
        let block = ssd.geometry().block_of(*page);
        ssd.flash().written(block) <= page.0 - ssd.geometry().page(block, 0).0
    };
    let left = (0..pages as u32).map(Ppn).filter(erased).map(|page| ssd.wear().count(page)).collect::<Vec<u8>>();
    assert!(left.len() > 50 && left.iter().all(|count| *count == 0), "{left:?}");
}

/// The current threshold is that of the blocks' mean P/E cycles when a request completes: erases of the run count.
#[test]
fn stages_follow_the_erases() {
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 8 }}
device = {{ over_provisioning = 0.6 }}
wear.copyback_thresholds = [[0, 3], [1, 2], [2, 1]]
{TIMING}{FASTGC}"
    )));
    let (size, mut expected) = (dut.ssd.page_bytes(), [[(0, 0); 2]; 3]);
    let pages = dut.ssd.capacity_bytes() / size;
    for n in 0..400u64 {
        let erases: u32 = (0..12).map(|block| dut.ssd.flash().erases(BlockId(block))).sum();
        // Every third request is a read. Each finds an idle device, and its GC ends before the next one.
        let (reads, at) = (n % 3 == 2, dut.ssd.now().0);
        let page = n * 7 % pages * size;
        if reads {
            dut.read(at, page, size)
        } else {
            dut.write(at, page, size)
        }
        let latency = *dut.latencies().last().unwrap();
        let (count, sum) = &mut expected[(erases as usize / 12).min(2)][usize::from(reads)];
        (*count, *sum) = (*count + 1, *sum + latency);
    }
    let report = summary(&dut.ssd).fastgc.unwrap();
    let mean = |(count, sum): (u64, u64)| Some(sum as f64 / count as f64);
    let stages: Vec<_> = report.stages.iter().collect();
    assert_eq!(stages.len(), 3);
    for ((name, stage), (step, [writes, reads])) in stages.into_iter().zip(expected.into_iter().enumerate()) {
        assert_eq!(*name, format!("pe_{step}"));
        assert!(writes.0 > 20 && reads.0 > 10, "{expected:?}");
        assert_eq!((stage.writes, stage.write_mean_ns), (writes.0, mean(writes)), "{name}");
        assert_eq!((stage.reads, stage.read_mean_ns), (reads.0, mean(reads)), "{name}");
    }
    let erases: u32 = (0..12).map(|block| dut.ssd.flash().erases(BlockId(block))).sum();
    assert_eq!(report.pe_cycles, erases / 12);
}

/// Records the blocks that GC copies to, programs and erases.
#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<(Verb, u32)>>>);

impl Observer for Steps {
    fn leg(&mut self, leg: &LegRecord) {
        if leg.class == Class::Gc && leg.kind == LegKind::Array && leg.verb != Verb::Read {
            self.0.lock().unwrap().push((leg.verb, leg.ppn.0 / 8));
        }
    }
}

/// The P/E cycles that count are those of the block that a page is copied to: here blocks that were never erased.
#[test]
fn the_block_that_is_copied_to_says_whether_a_page_may_be_copied() {
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, pages_per_block = 8 }}
device = {{ over_provisioning = 0.6 }}
gc.threshold = \"100 pages\"
wear.copyback_thresholds = [[0, 5], [1, 0]]
{TIMING}{FASTGC}"
    )));
    let steps = Steps::default();
    dut.ssd.observe(Box::new(steps.clone()));
    let (size, mut rng) = (dut.ssd.page_bytes(), stream(5, "load"));
    let pages = dut.ssd.capacity_bytes() / size;
    (0..600).for_each(|_| dut.write(0, below(&mut rng, pages) * size, size));
    dut.ssd.run();
    let (mut erased, mut counts) = ([false; 24], [0; 3]);
    for (verb, block) in steps.0.lock().unwrap().iter() {
        let worn = &mut erased[*block as usize];
        match verb {
            Verb::Erase => *worn = true,
            Verb::Copyback => counts[usize::from(*worn)] += 1,
            _ => counts[2] += u64::from(*worn),
        }
    }
    let report = summary(&dut.ssd).fastgc.unwrap();
    assert_eq!((counts[0], counts[1], counts[2]), (report.copied_pages, 0, report.external_pages));
    assert!(report.copied_pages > 10 && report.external_pages > 100, "{report:?}");
}

/// Each victim's metadata is read and each full block's is written, in timed GC and in no time.
#[test]
fn metadata_is_read_once_a_collection() {
    for time in ["real", "none"] {
        let (ssd, _) = worked(&format!("{FASTGC}gc.time = \"{time}\"\n"), 3_000, 0);
        let told = summary(&ssd);
        assert!(told.gc.collections > 100);
        assert_eq!(told.flash.reads.metadata, told.gc.collections, "{time}");
        // 15 of 16 pages are data.
        let data = told.flash.programs.total - told.flash.programs.metadata + told.flash.copybacks;
        assert!(told.flash.programs.metadata.abs_diff(data / 15) <= 3 * 4, "{time}");
    }
}

#[test]
fn the_report_adds_up() {
    let (ssd, _) = worked(
        &format!("{FASTGC}wear = {{ copyback_thresholds = 2, pe_cycles = 100, rated_pe_cycles = 900 }}\n"),
        6_000,
        30,
    );
    let told = summary(&ssd);
    let (report, gc) = (told.fastgc.unwrap(), &told.gc.time_ns);
    let (moves, metadata) = (gc.read + gc.transfer + gc.program + gc.erase, &report.metadata_time_ns);
    let records = metadata.read + metadata.transfer + metadata.program;
    assert!(gc.transfer > 0 && records > 0);
    assert_eq!(report.collection_time_ns, moves + records);
    assert!((report.transfer_share.unwrap() - gc.transfer as f64 / moves as f64).abs() < 1e-12);
    let moved = told.gc.moved_pages as f64 / told.flash.programs.host as f64;
    assert!((report.moved_per_host_page.unwrap() - moved).abs() < 1e-12);
    // 96 blocks have 900 - pe_cycles erases left each, at the measured rate of erases a page written.
    let exported = ssd.capacity_bytes() / ssd.page_bytes();
    let left = f64::from(900 - report.pe_cycles) * 96.0;
    let writes = left * told.pages.written as f64 / told.flash.erases as f64 / exported as f64;
    assert!(report.pe_cycles > 101 && (report.lifetime_drive_writes.unwrap() / writes - 1.0).abs() < 1e-12);
}

/// Paper D's moved pages are divided by programmed host pages: a write that replaces its page in the controller's buffer is
/// written, but never programmed by the host.
#[test]
fn a_write_absorbed_in_the_buffer_is_no_host_page_programmed() {
    for (absorbed, amplification) in [(0, 8.0 / 7.0), (1, 1.0)] {
        let idle_chip = "staging.slots = 4
schemes = { path = \"checked\", place = \"dynamic\", collector = { idle-chip = { stream_rule = \"always\" } } }";
        let mut dut = Dut::new(&plane(4, 6, 26, idle_chip));
        // Block 0 keeps page 0. The seventh program makes it due, and page 0 is in the buffer until the erase is over.
        [0, 1, 2, 3, 1, 2, 3].iter().zip(0..).for_each(|(lpn, n)| dut.write(n * 10_000_000, lpn * 4096, 4096));
        (0..absorbed).for_each(|_| dut.write(62_000_000, 0, 4096));
        dut.completed();
        let told = summary(&dut.ssd);
        assert_eq!((told.pages.written, told.flash.programs.host, told.gc.moved_pages), (7 + absorbed, 7, 1));
        assert_eq!(told.fastgc.unwrap().moved_per_host_page, Some(1.0 / 7.0));
        assert_eq!(told.gc.host_pages_per_collection, Some(7.0));
        assert_eq!(told.write_amplification, Some(amplification));
    }
}

#[test]
fn threshold_0_everywhere_is_the_checked_path_with_all_pages_for_data() {
    for thresholds in ["copyback_thresholds = 0", "pe_cycles = 4500"] {
        let (fastgc, _) = worked(&format!("{FASTGC}wear = {{ {thresholds} }}\n"), 6_000, 30);
        let (checked, _) = worked("schemes = { path = \"checked\" }\n", 6_000, 30);
        assert_eq!(fastgc.geometry().data_pages, fastgc.geometry().pages_per_block);
        let (mut fastgc, mut checked) = (summary(&fastgc), summary(&checked));
        for told in [&mut fastgc, &mut checked] {
            told.config = Config::default();
            let report = told.fastgc.as_mut().unwrap();
            report.external_by_count.clear();
            (report.pe_cycles, report.lifetime_drive_writes) = (0, None);
            report.stages.clear();
        }
        assert!(checked.gc.moved_pages > 1_000);
        assert_eq!(format!("{fastgc:?}"), format!("{checked:?}"));
    }
}

#[test]
fn thresholds_at_or_above_the_largest_count_make_no_difference() {
    let run =
        |threshold: u32| worked(&format!("{FASTGC}wear = {{ copyback_thresholds = {threshold} }}\n"), 6_000, 30).0;
    let most = run(63);
    let largest = summary(&most).fastgc.unwrap().largest_count;
    assert!((3..60).contains(&largest), "{largest}");
    for threshold in [largest, largest + 1] {
        assert_eq!(told(&run(threshold)), told(&most), "threshold {threshold}, largest count {largest}");
    }
    assert_ne!(told(&run(largest - 2)), told(&most));
}

#[test]
fn clean_pages_go_back_from_their_registers() {
    let checked = "schemes = { path = \"checked\" }\n";
    let (told, held) = collect(406, &format!("{checked}ecc = {{ page_error_probability = 0 }}\n"));
    assert_eq!(held, 406 * (READ + TRANSFER + PROGRAM) + ERASE);
    assert_eq!((told.flash.reads.gc, told.flash.copybacks, told.flash.programs.gc), (406, 406, 0));
    let time = &told.gc.time_ns;
    assert_eq!(time.read + time.transfer + time.program + time.erase, held);
    // Decoding takes its time either way.
    for (chance, transfers) in [(0, 1), (1, 2)] {
        let ecc = format!("ecc = {{ page_error_probability = {chance}, decode = \"10us\" }}\n");
        let (told, _) = collect(50, &format!("{checked}{ecc}"));
        let time = &told.gc.time_ns;
        assert_eq!((time.decode, time.transfer), (50 * 10_000, 50 * transfers * TRANSFER));
    }
    // A bit error rate of 1e-4 leaves hardly a page of 131,072 bits clean; 1e-9 nearly all.
    let copied =
        |rate: &str| collect(406, &format!("{checked}ecc = {{ bit_error_rate = {rate} }}\n")).0.flash.copybacks;
    assert_eq!(copied("1e-4"), 0);
    assert!((400..=406).contains(&copied("1e-9")));
}

#[test]
fn a_read_is_decoded_after_it_has_left_its_die() {
    let array = array(1, 1, 1, 1);
    let ecc = "ecc = { decode = \"10us\" }\n";
    let mut dut = Dut::new(&config(&format!("{array}geometry.page_size = \"16KiB\"\n{TIMING}{ecc}")));
    let size = dut.ssd.page_bytes();
    dut.write(0, 0, 2 * size);
    let (later, one) = (10_000_000, READ + TRANSFER);
    dut.read(later, 0, size);
    dut.read(later, size, size);
    assert_eq!(dut.latencies()[1..], [one + 10_000, 2 * one + 10_000]);
}

/// Paper D: three pages of a word line in one program take 979 us copied and 2,945.08 us moved externally.
#[test]
fn one_shot_programming_takes_979_for_three_copied_pages() {
    let one_shot = "wear = { programming = \"one-shot\" }\n";
    let moves = |pages: u64, more: &str| collect_one_shot(pages, &format!("{more}{one_shot}"));
    assert_eq!(moves(3, "schemes = { path = \"copyback\" }\n"), 979_000);
    assert_eq!(moves(3, EXTERNAL), 2_945_080);
    assert_eq!(moves(300, EXTERNAL), 294_508_000);
}

/// Like `collect`, with program times that depend on the page's place in its word line. Returns the moves' flash time.
fn collect_one_shot(valid: u64, more: &str) -> u64 {
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 576, page_size = \"16KiB\" }}
device = {{ over_provisioning = 0.51 }}
gc = {{ threshold = \"2347 pages\" }}
precondition = {{ mode = \"sequential\" }}
{TIMING}{more}"
    )));
    let size = dut.ssd.page_bytes();
    dut.trim(0, 0, (576 - valid) * size);
    (0..5).for_each(|n| dut.write(1_000 + n * 10_000_000, (2_250 + n) * size, size));
    dut.completed();
    let time = summary(&dut.ssd).gc.time_ns;
    time.read + time.transfer + time.program
}

#[test]
fn pages_that_wait_for_their_word_line_are_read_from_the_buffer() {
    let mut dut = Dut::new(&config(&format!(
        "{}geometry.page_size = \"16KiB\"\ngeometry.pages_per_block = 63\n{TIMING}wear = {{ programming = \"one-shot\" }}\n",
        array(1, 1, 1, 1)
    )));
    let size = dut.ssd.page_bytes();
    // Two pages are acknowledged after their transfer, the third when all are programmed.
    (0..2).for_each(|n| dut.write(n * 1_000_000, n * size, size));
    dut.read(2_000_000, size, size);
    dut.write(3_000_000, 2 * size, size);
    dut.read(5_000_000, size, size);
    assert_eq!(dut.latencies(), [TRANSFER, TRANSFER, 0, TRANSFER + PROGRAM, READ + TRANSFER]);
}

/// Word lines are counted from the first page of their own block.
#[test]
fn word_lines_of_the_second_block_are_programmed_as_those_of_the_first() {
    let mut dut = Dut::new(&config(&format!(
        "{}geometry.page_size = \"16KiB\"\ngeometry.pages_per_block = 63\n{TIMING}wear = {{ programming = \"one-shot\" }}\n",
        array(1, 1, 1, 1)
    )));
    let (size, step) = (dut.ssd.page_bytes(), 2_000_000);
    (0..65).for_each(|n| dut.write(n * step, n * size, size));
    dut.read(65 * step, 64 * size, size);
    dut.write(66 * step, 65 * size, size);
    dut.read(67 * step, 64 * size, size);
    assert_eq!(dut.latencies()[65..], [0, TRANSFER + PROGRAM, READ + TRANSFER]);
}

/// Counts of blocks without metadata are lost in a power cut, and count as exhausted.
#[test]
fn counts_that_a_power_cut_took_are_exhausted() {
    let thresholds = "wear = { copyback_thresholds = 63 }\n";
    let (mut ssd, _) = worked(&format!("{FASTGC}{thresholds}"), 3_000, 30);
    let pages = 4 * 24 * 16;
    let half = |ssd: &Ssd, page: Ppn| ssd.flash().written(ssd.geometry().block_of(page)) < 16;
    let before: Vec<u8> = (0..pages).map(|page| ssd.wear().count(Ppn(page))).collect();
    ssd.power_cut();
    let (mut lost, mut kept) = (0, 0);
    for page in (0..pages).map(Ppn).filter(|page| ssd.flash().is_valid(*page)) {
        let count = ssd.wear().count(page);
        assert_eq!(count, if half(&ssd, page) { u8::MAX } else { before[page.ix()] });
        *if half(&ssd, page) { &mut lost } else { &mut kept } += 1;
    }
    assert!(lost > 0 && kept > lost);
    let (size, mut rng) = (ssd.page_bytes(), stream(4, "load"));
    let logical = ssd.capacity_bytes() / size;
    for n in 0..3_000u64 {
        let arrival = Nanos(10_000_000_000 + n * 700_000);
        ssd.submit(Request { arrival, op: RequestOp::Write, offset: below(&mut rng, logical) * size, bytes: size });
    }
    ssd.run();
    let report = summary(&ssd).fastgc.unwrap();
    assert!(report.unknown_counts > 0 && report.unknown_counts <= lost, "{report:?}");
    assert_eq!(report.external_pages, report.unknown_counts + report.external_by_count.iter().sum::<u64>());
}

/// No uncorrectable page is read while thresholds are obeyed, and each is reported where they are not.
#[test]
fn errors_stay_correctable_while_thresholds_are_obeyed_and_show_when_they_are_not() {
    let model = "ecc = { errors = \"model\" }\n";
    for pe_cycles in [0, 1300, 1500, 3000, 4000, 4300, 4500] {
        let (ssd, told) = worked(&format!("{FASTGC}{model}wear = {{ pe_cycles = {pe_cycles} }}\n"), 6_000, 60);
        let ecc = summary(&ssd).ecc.unwrap();
        assert!(ecc.pages_decoded > 3_000);
        assert_eq!((told, ecc.pages_uncorrectable, ecc.moves_uncorrectable), (0, 0, 0), "{pe_cycles}");
    }
    // Errors grow ten times faster than the thresholds allow, or thresholds are ignored.
    let grown = |times: u32| {
        let points = Config::default().ecc.program_errors;
        let points: Vec<String> = points.iter().map(|(at, errors)| format!("[{at}, {}]", errors * times)).collect();
        format!("ecc = {{ errors = \"model\", program_errors = [{}] }}\n", points.join(", "))
    };
    let copyback = "schemes = { path = \"copyback\" }\n";
    for violating in [
        format!("{FASTGC}{}", grown(10)),
        format!("{FASTGC}{}", grown(3)),
        format!("{copyback}{model}wear = {{ pe_cycles = 4300 }}\n"),
    ] {
        let (ssd, told) = worked(&violating, 6_000, 60);
        let ecc = summary(&ssd).ecc.unwrap();
        assert!(ecc.pages_uncorrectable > 0, "{ecc:?}");
        assert_eq!(ecc.pages_uncorrectable, told, "every one of them is told");
        assert!(ecc.errors_per_kib_max <= 120.0);
    }
    // With thresholds from the grown model it is safe again, as long as a program alone is.
    let derived = format!("{FASTGC}{}wear = {{ copyback_thresholds = \"model\" }}\n", grown(3));
    let (ssd, told) = worked(&derived, 6_000, 60);
    assert_eq!((told, summary(&ssd).ecc.unwrap().moves_uncorrectable), (0, 0));
}
