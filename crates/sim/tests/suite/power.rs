//! Power cuts at random times: lost pages, recovered pages, and recovered devices that continue.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::common::{Dut, array, config, plane, summary};
use ssdlab_sim::config::Errors;
use ssdlab_sim::device::wear::UNKNOWN;
use ssdlab_sim::report::power::PowerCut;
use ssdlab_sim::schemes::AnyPath;
use ssdlab_sim::units::{BlockId, Nanos, Ppm, Ppn};
use ssdlab_sim::{Check, Config, LegRecord, Observer, Request, RequestOp, Ssd};

fn device(collector: &str, protected: bool) -> Config {
    device_with(collector, &format!("power_loss_protection = {protected}"), "")
}

/// The same with `more` about the device, and other keys changed.
fn device_with(collector: &str, more: &str, changed: &str) -> Config {
    let place = if collector.contains("own_plane") { "CWDP" } else { "dynamic" };
    let text = format!(
        "geometry = {{ channels = 4, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 6 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ exclusion = \"chip\", over_provisioning = 0.34, memory = \"50ns\", {more} }}
gc = {{ threshold = \"16 pages\" }}
staging = {{ slots = 8 }}
precondition = {{ mode = \"aged\", valid = 0.6, invalid = 0.1 }}
schemes = {{ place = \"{place}\", collector = {collector} }}"
    );
    let mut table: toml::Table = text.parse().unwrap();
    for (section, keys) in changed.parse::<toml::Table>().unwrap() {
        let section = table.entry(section).or_insert(toml::Value::Table(toml::Table::new()));
        section.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
    }
    config(&table.to_string())
}

/// A random generator of the test's own.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Reads, writes (some of part of a page) and a few trims, in bursts, from a time on.
fn submit(ssd: &mut Ssd, draw: &mut Draw, from: u64, requests: u64) {
    let capacity = ssd.capacity_bytes();
    let (mut at, mut last) = (from, 0);
    for i in 0..requests {
        at += if i % 12 == 0 { draw.below(8_000_000) } else { draw.below(50_000) };
        // A hot third of the space.
        let space = capacity / if draw.below(3) > 0 { 3 } else { 1 } / 512;
        let (op, align) = match draw.below(40) {
            0..10 => (RequestOp::Read, 8),
            10..32 => (RequestOp::Write, 8),
            32..39 => (RequestOp::Write, 1),
            _ => (RequestOp::Trim, 8),
        };
        let mut offset = draw.below(space) / align * align * 512;
        if align == 1 && draw.below(2) == 0 {
            // Overlaps with the request before.
            offset = last / 4096 * 4096 + offset % 4096;
        }
        last = offset;
        let bytes = (align * 512).min(capacity - offset);
        ssd.submit(Request { arrival: Nanos(at), op, offset, bytes });
    }
}

/// A partial write over both planes reads the old pages in one command. A cut meanwhile tears no page.
#[test]
fn a_cut_during_a_multi_plane_merge_read_leaves_both_old_pages() {
    for keep in [false, true] {
        let toml = format!(
            "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 12, pages_per_block = 6 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ multi_plane = true, over_provisioning = 0.4, power_loss_protection = false, keep_overwritten = {keep} }}
gc.reserve = 2"
        );
        let mut ssd = Ssd::new(&config(&toml), 7, Check::Full).unwrap();
        let write = |arrival, offset, bytes| Request { arrival: Nanos(arrival), op: RequestOp::Write, offset, bytes };
        ssd.submit(write(0, 0, 8192));
        ssd.submit(write(1_000_000, 512, 7168));
        ssd.run_until(Nanos(1_010_000));
        let cut = ssd.power_cut();
        assert_eq!((cut.aborted_requests, cut.torn_pages), (1, 0), "{cut:?}");
        assert_eq!((cut.kept_pages, cut.lost_pages, cut.stale_pages), (2, 0, 0), "{cut:?}");
    }
}

/// Cuts power at `cuts` random times of each of `runs` runs. The cut happens in a copy, which then continues.
fn campaign(config: &Config, runs: u64, cuts: u64, mut judge: impl FnMut(&PowerCut)) {
    for seed in 1..=runs {
        let mut draw = Draw(seed);
        let mut ssd = Ssd::new(config, seed, Check::Full).unwrap();
        submit(&mut ssd, &mut draw, 0, 700);
        let mut at = 20_000_000;
        for _ in 0..cuts {
            at += draw.below(2 * 230_000_000 / cuts);
            ssd.run_until(Nanos(at));
            let mut copy = ssd.clone();
            let cut = copy.power_cut();
            judge(&cut);
            // Repeated recovery changes nothing.
            let again = copy.power_cut();
            assert_eq!((again.lost_pages, again.stale_pages, again.undone_trims), (0, 0, 0));
            assert_eq!((again.torn_pages, again.buffered_pages, again.aborted_requests), (0, 0, 0));
            // The recovered device serves later requests; the oracle checks them.
            copy.run();
            assert_eq!(summary(&copy).power_cuts.len(), 2);
        }
        ssd.run();
    }
}

fn runs() -> (u64, u64) {
    let cuts = std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    (cuts / 20, 20)
}

const COLLECTORS: [&str; 7] = [
    "\"serial\"",
    "\"preemptive\"",
    "\"idle-chip\"",
    "{ idle-chip = { stream_rule = \"always\" } }",
    "{ idle-chip = { stream_rule = \"always\", release = \"issue\", writeback = \"queue_empty\" } }",
    "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\" } }",
    "{ idle-chip = { stream_rule = \"always\", to = \"own_plane\" } }",
];

/// A capacitor saves everything, for every scheme.
#[test]
fn with_a_capacitor_nothing_is_lost() {
    let (runs, cuts) = runs();
    let mut drained = 0;
    for collector in COLLECTORS {
        campaign(&device(collector, true), runs, cuts, |cut| {
            assert_eq!((cut.lost_pages, cut.stale_pages, cut.undone_trims), (0, 0, 0), "{cut:?}");
            drained += cut.drained_pages;
        });
    }
    assert!(drained > 100, "the buffer was in use: {drained}");
}

/// Without a capacitor, every lost or revived page was exposed, or was being overwritten.
#[test]
fn without_a_capacitor_no_more_is_lost_than_was_exposed() {
    let (runs, cuts) = runs();
    for collector in COLLECTORS {
        let (mut bad, mut exposed) = (0, 0);
        campaign(&device(collector, false), runs, cuts, |cut| {
            let lost = cut.lost_pages + cut.stale_pages;
            assert!(lost <= cut.exposed_pages + cut.superseded_pages, "{collector}: {cut:?}");
            bad += lost;
            exposed += cut.exposed_pages;
        });
        let erases_first = collector.contains("idle-chip") && !collector.contains("after_writeback");
        assert_eq!(exposed > 0, erases_first || collector.contains("after_writeback"), "{collector}");
        if erases_first && collector.contains("always") {
            assert!(bad > 0, "{collector}: the paper's algorithm needs its capacitor");
        }
    }
}

/// Erase after write-back, without absorbed writes: GC exposes nothing.
#[test]
fn erasing_after_the_write_back_exposes_nothing() {
    let (runs, cuts) = runs();
    let safe = "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\", absorb = false } }";
    let mut buffered = 0;
    campaign(&device(safe, false), runs, cuts, |cut| {
        assert_eq!(cut.exposed_pages, 0);
        assert!(cut.lost_pages + cut.stale_pages <= cut.superseded_pages, "{cut:?}");
        buffered += cut.buffered_pages;
    });
    assert!(buffered > 50, "{buffered}");
    // Reads overwrite nothing, so nothing is lost.
    for collector in [safe, "\"serial\""] {
        campaign(&device(collector, false), runs, cuts, |cut| {
            assert!(cut.superseded_pages > 0 || cut.lost_pages + cut.stale_pages == 0, "{cut:?}");
        });
    }
}

/// Every overwritten page stays valid until its newer version has landed, and nothing is acknowledged or erased before its data
/// is on flash. Without a capacitor, no acknowledged write is lost, and no old version comes back.
#[test]
fn what_is_called_safe_loses_nothing() {
    let (runs, cuts) = runs();
    let safe = "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\", absorb = false } }";
    let (mut superseded, mut buffered) = (0, 0);
    let shared = "ftl.write_points = \"shared\"";
    let cache = "timing.cache_register = true\ndevice.exclusion = \"die\"\ndevice.multi_plane = true";
    for (collector, changed) in [
        ("\"serial\"", ""),
        ("\"serial\"", shared),
        ("\"serial\"", cache),
        ("\"serial\"", "schemes.place = \"CWDP\"\nschemes.path = \"copyback\""),
        ("\"queued\"", "schemes.place = \"CWDP\""),
        ("\"preemptive\"", "timing.suspendable = \"program+erase\""),
        (safe, ""),
        (safe, cache),
        ("\"serial\"", "gc.time = \"none\""),
        ("\"serial\"", "schemes.route = { dpr = { k = 1, replica_pages = 0.1 } }"),
    ] {
        let safe = "power_loss_protection = false, keep_overwritten = true";
        let mut config = device_with(collector, safe, changed);
        assert!(config.survives_power_cuts());
        campaign(&config, runs.div_ceil(3), cuts, |cut| {
            assert_eq!((cut.lost_pages, cut.stale_pages), (0, 0), "{collector}, {changed}: {cut:?}");
            if !collector.contains("idle-chip") {
                assert_eq!((cut.exposed_pages, cut.superseded_pages), (0, 0), "{collector}, {changed}: {cut:?}");
            }
            buffered += cut.buffered_pages;
        });
        // The same device without kept pages has overwrites that could be lost.
        config.device.keep_overwritten = false;
        assert!(!config.survives_power_cuts());
        campaign(&config, 1, cuts, |cut| superseded += cut.superseded_pages);
    }
    assert!(superseded > 100 && buffered > 50, "{superseded} {buffered}");
}

/// The smallest spare that a configuration may have: overwrites that a cut undoes make pages of victims valid again, for which
/// their collections had no room. They wait in the memory while their block is erased, and the device continues. One more
/// reserved block is enough room.
#[test]
fn recovery_makes_do_with_the_least_spare_and_needs_no_memory_with_a_block_more() {
    let (runs, cuts) = runs();
    let (mut held, mut buffered) = (0, 0);
    let safe =
        "{ idle-chip = { stream_rule = \"always\", inner = \"queued\", erase = \"after_writeback\", absorb = false } }";
    for collector in [safe, COLLECTORS[0], COLLECTORS[4], COLLECTORS[5]] {
        for (points, place) in [("shared", "dynamic"), ("separate", "dynamic"), ("separate", "CWDP")] {
            if place == "CWDP" && collector.contains("idle-chip") {
                continue;
            }
            for (protected, reserve) in [(true, 1), (false, 1), (false, 2)] {
                let more = format!("power_loss_protection = {protected}, keep_overwritten = {}", !protected);
                // (12 - reserve - 1) x 6 - 1 of 72 pages are exported.
                let spare = ["0.180555", "0.263888"][reserve - 1];
                let changed = format!(
                    "device.over_provisioning = {spare}\ngc.reserve = {reserve}\ngc.threshold = \"3 pages\"
ftl.write_points = \"{points}\"\nschemes.place = \"{place}\"\nschemes.victim = \"cost-benefit\""
                );
                let config = device_with(collector, &more, &changed);
                assert_eq!(config.check().map_err(|error| error.key), Ok(()));
                let loses = !config.survives_power_cuts();
                campaign(&config, runs.div_ceil(6), cuts, |cut| {
                    assert!(loses || cut.lost_pages + cut.stale_pages == 0, "{collector}, {changed}: {cut:?}");
                    assert!(reserve == 1 || cut.held_pages == 0, "{collector}, {changed}: {cut:?}");
                    held += cut.held_pages;
                    buffered += cut.buffered_pages;
                });
            }
        }
    }
    assert!(held > 0 && buffered > 50, "{held} {buffered}");
}

/// Records the times at which legs end.
#[derive(Clone, Default)]
struct Moments(Arc<Mutex<BTreeSet<u64>>>);

impl Observer for Moments {
    fn leg(&mut self, leg: &LegRecord) {
        self.0.lock().unwrap().insert(leg.end.0);
    }
}

/// Power cut at every event of a run.
#[test]
fn what_is_called_safe_loses_nothing_at_any_event() {
    let safe = "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\", absorb = false } }";
    for collector in ["\"serial\"", safe] {
        let config = device_with(collector, "power_loss_protection = false, keep_overwritten = true", "");
        let device = || {
            let mut ssd = Ssd::new(&config, 3, Check::Full).unwrap();
            submit(&mut ssd, &mut Draw(3), 0, 240);
            ssd
        };
        let (moments, mut first) = (Moments::default(), device());
        first.observe(Box::new(moments.clone()));
        first.run();
        assert!(summary(&first).gc.collections > 20);
        let moments = moments.0.lock().unwrap().clone();
        assert!(moments.len() > 600, "{}", moments.len());
        let mut ssd = device();
        for at in moments {
            // Just before, and just after.
            for at in [at - 1, at] {
                ssd.run_until(Nanos(at));
                let cut = ssd.clone().power_cut();
                assert_eq!((cut.lost_pages, cut.stale_pages), (0, 0), "{collector}: {cut:?}");
            }
        }
    }
}

/// If one condition is not met, the device does not count as safe, and no more is lost than the cut reports as exposed.
#[test]
fn keeping_overwritten_pages_alone_is_not_enough() {
    let (runs, cuts) = runs();
    let absorbs = "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\" } }";
    for (collector, ack) in [(COLLECTORS[3], "program"), (absorbs, "program"), ("\"serial\"", "transfer")] {
        let more = format!("power_loss_protection = false, keep_overwritten = true, write_ack = \"after_{ack}\"");
        let config = device_with(collector, &more, "");
        assert!(!config.survives_power_cuts());
        let mut bad = 0;
        campaign(&config, runs, cuts, |cut| {
            let lost = cut.lost_pages + cut.stale_pages;
            assert!(lost <= cut.exposed_pages + cut.superseded_pages, "{collector}, {ack}: {cut:?}");
            bad += lost;
        });
        assert!(bad > 0, "{collector}, {ack}");
    }
}

/// Copyback counts are in memory until their block's metadata is written: those of other blocks are unknown after a cut, and
/// copies made from then on are still correctable.
#[test]
fn a_cut_leaves_the_counts_that_are_on_flash_and_no_page_beyond_correction() {
    let (runs, cuts) = runs();
    let (mut unknown, mut known, mut torn) = (0, 0, 0);
    for (protected, collector) in [(true, "serial"), (false, "serial"), (true, "idle-chip"), (false, "idle-chip")] {
        let mut config = device(&format!("\"{collector}\""), protected);
        config.schemes.path = AnyPath::FastGc(Default::default());
        config.device.over_provisioning = Ppm(550_000);
        config.precondition.valid = Ppm(440_000);
        config.ecc.errors = Errors::Model;
        config.wear.pe_cycles = 1500;
        for seed in 1..=runs {
            let mut draw = Draw(seed);
            let mut ssd = Ssd::new(&config, seed, Check::Full).unwrap_or_else(|error| panic!("{error}"));
            submit(&mut ssd, &mut draw, 0, 700);
            for cut in 1..=cuts {
                ssd.run_until(Nanos(cut * (20_000_000 + draw.below(10_000_000))));
                let mut copy = ssd.clone();
                let open = |ssd: &Ssd, page: Ppn| ssd.flash().written(ssd.geometry().block_of(page)) < 6;
                let pages = 0..copy.geometry().planes * copy.geometry().pages_per_plane;
                let before: Vec<bool> = pages.clone().map(|page| open(&copy, Ppn(page))).collect();
                torn += copy.power_cut().torn_pages;
                for page in pages.map(Ppn).filter(|page| copy.flash().is_valid(*page)) {
                    let count = copy.wear().count(page);
                    let threshold = copy.wear().threshold(copy.flash(), copy.geometry().block_of(page));
                    // Pages that recovery has moved passed ECC.
                    assert!(count <= threshold || count == UNKNOWN && before[page.ix()] || !protected);
                    *(if count == UNKNOWN { &mut unknown } else { &mut known }) += 1;
                }
                copy.run();
                let ecc = summary(&copy).ecc.unwrap();
                assert_eq!((ecc.pages_uncorrectable, ecc.moves_uncorrectable), (0, 0));
            }
        }
    }
    assert!(unknown > 100 && known > unknown && torn > 100, "{unknown} {known} {torn}");
}

/// A page that has landed is the valid one, although the victim still holds the same version: recovery moves only the other one.
#[test]
fn a_page_that_was_moved_before_the_cut_is_not_moved_again() {
    for (protected, written) in [(true, 2), (false, 3)] {
        let mut dut = Dut::to_be_cut(&plane(4, 5, 27, &format!("device.power_loss_protection = {protected}")));
        // Block 0 keeps pages 2 and 3 when the sixth program makes its collection due; a move takes 660,240.
        [0, 1, 2, 3, 0, 1].into_iter().for_each(|lpn| dut.write(0, lpn * 4096, 4096));
        dut.ssd.run_until(Nanos(6 * 605_120 + 660_240 + 200_000));
        let cut = dut.ssd.power_cut();
        assert_eq!((cut.kept_pages, cut.torn_pages, cut.held_pages), (4, u64::from(!protected), 0));
        // With a capacitor the second page has landed too; without one, its page is torn, and it takes the next one.
        let block = |b| (dut.ssd.flash().written(BlockId(b)), dut.ssd.flash().valid(BlockId(b)));
        assert_eq!((block(0), block(2)), ((0, 0), (written, 2)), "protected: {protected}");
    }
}

/// Power is cut before any other event of that time.
#[test]
fn what_would_end_at_the_time_of_a_cut_does_not() {
    for (at, kept, aborted) in [(605_120, 0, 1), (605_121, 1, 0)] {
        let mut dut = Dut::new(&config(&format!(
            "{}device.power_loss_protection = false\ngc.reserve = 2\nfaults.power_cut = [\"{at}ns\"]",
            array(1, 1, 1, 1)
        )));
        dut.write(0, 0, 4096);
        dut.read(1_000_000, 4096, 4096);
        dut.ssd.run();
        let cut = &summary(&dut.ssd).power_cuts[0];
        assert_eq!((cut.at.0, cut.kept_pages, cut.aborted_requests, cut.torn_pages), (at, kept, aborted, aborted));
    }
}

/// A cut in the configuration: the run continues, and the summary reports it.
#[test]
fn a_cut_in_the_configuration_is_in_the_summary() {
    let mut config = device("\"idle-chip\"", true);
    config.faults.power_cut = vec![Nanos(90_000_000), Nanos(40_000_000), Nanos(u64::MAX / 2)];
    let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap();
    submit(&mut ssd, &mut Draw(1), 0, 700);
    ssd.run();
    let cuts = summary(&ssd).power_cuts;
    assert_eq!(cuts.iter().map(|cut| cut.at.0).collect::<Vec<_>>(), [40_000_000, 90_000_000]);
    assert!(cuts.iter().all(|cut| cut.lost_pages + cut.stale_pages == 0 && cut.kept_pages > 300), "{cuts:?}");
}

/// Reads that have booked their channel have one event, at the end of the transfer. A cut at that time comes before the event.
#[test]
fn a_cut_at_the_end_of_a_read_counts_its_transfer() {
    let device = |cut: u64| {
        config(&format!(
            "{}geometry.blocks_per_plane = 8\ngeometry.pages_per_block = 4\ndevice.over_provisioning = 0.5\n\
             gc.threshold = \"4 pages\"\nprecondition.mode = \"sequential\"\nfaults.power_cut = [\"{cut}ns\"]",
            array(1, 2, 1, 1)
        ))
    };
    let told = |cut: u64, fusing: bool| {
        let mut ssd = Ssd::new(&device(cut), 1, Check::Full).unwrap();
        ssd.set_fusing(fusing);
        // The second twelve come after the cut: times in use count up to the last completion.
        for read in 0..24 {
            let arrival = Nanos(read / 12 * 10_000_000);
            ssd.submit(Request { arrival, op: RequestOp::Read, offset: read % 12 * 4096, bytes: 4096 });
        }
        ssd.run();
        format!("{:?}", summary(&ssd))
    };
    let mut dut = Dut::new(&device(1_000_000_000));
    (0..12).for_each(|read| dut.read(0, read * 4096, 4096));
    let ends: BTreeSet<u64> = dut.completed().iter().map(|read| read.completion.0).collect();
    assert_eq!(ends.len(), 12);
    for cut in ends.iter().flat_map(|end| [end - 1, *end, end + 1]) {
        assert_eq!(told(cut, true), told(cut, false), "a cut at {cut} ns");
    }
}
