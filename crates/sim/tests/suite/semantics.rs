//! Decisions on which measurements depend, each tested.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, array, causes, config, plane, summary};
use ssdlab_sim::device::transaction::Verb;
use ssdlab_sim::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};
use ssdlab_sim::{Check, LegRecord, Observer, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
const READ: u64 = 55_120;
const WRITE: u64 = 605_120;

fn erases(dut: &Dut) -> Vec<u32> {
    (0..8).map(|block| dut.ssd.flash().erases(BlockId(block))).collect()
}

fn valid(ssd: &Ssd, plane: PlaneId) -> u64 {
    ssd.geometry().blocks(plane).map(|block| u64::from(ssd.flash().valid(BlockId(block as u32)))).sum()
}

// Paper A's device.

const PAPER_A: &str = include_str!("../../../../presets/idle-chip.toml");

/// Submits even if the ring is full.
fn submit(ssd: &mut Ssd, arrival: u64, lpn: u64) {
    while !ssd.accepts() {
        ssd.run_until_room();
    }
    ssd.submit(Request { arrival: Nanos(arrival), op: RequestOp::Write, offset: lpn * PAGE, bytes: PAGE });
}

#[test]
fn paper_as_device_is_aged_to_84_10_6_and_first_collects_at_a_planes_656th_program() {
    let mut config = config(PAPER_A);
    config.schemes.place = "CWDP".parse().unwrap();
    let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap();
    let planes = ssd.geometry().planes;
    assert_eq!((planes, ssd.geometry().pages_per_plane, ssd.capacity_bytes()), (256, 65_536, 256 * 55_705 * PAGE));
    for plane in (0..planes).map(PlaneId) {
        let free = ssd.flash().free_pages(plane);
        assert_eq!((valid(&ssd, plane), free), (55_050, 3_932), "plane {}", plane.0);
        assert_eq!(65_536 - 55_050 - 3_932, 6_554, "invalid: 0.10 x 65,536 is 6,553.6");
    }
    // Logical pages ascend through the plane's pages, stale ones scattered among them.
    let pages: Vec<Lpn> = (0..61_604).map(|page| ssd.flash().lpn_of(Ppn(page))).collect();
    let live: Vec<u32> = pages.iter().filter(|lpn| lpn.is_some()).map(|lpn| lpn.0).collect();
    assert!(live.iter().enumerate().all(|(i, lpn)| *lpn == 256 * i as u32));
    let stale = |range: std::ops::Range<usize>| pages[range].iter().filter(|lpn| lpn.is_none()).count();
    let (early, late) = (stale(0..30_802), stale(30_802..61_604));
    assert!(early.abs_diff(late) < 400, "{early} and {late} of 6,554: five standard deviations are 400");
    // 655 programs leave 3,277 free pages, which is not below 3,276.8; one more leaves 3,276, which is below.
    (0..655).for_each(|i| submit(&mut ssd, 0, 256 * i));
    ssd.run();
    assert_eq!((ssd.flash().free_pages(PlaneId(0)), summary(&ssd).gc.collections), (3_277, 0));
    let start = ssd.now().0;
    assert_eq!(start, 655 * 640_960);
    submit(&mut ssd, start, 256 * 655);
    ssd.run_until(Nanos(start + 640_959));
    assert_eq!((ssd.flash().free_pages(PlaneId(0)), summary(&ssd).gc.time_ns.read), (3_276, 0), "not while it runs");
    ssd.run();
    let gc = summary(&ssd).gc;
    assert_eq!(gc.collections, 1);
    assert_eq!(ssd.flash().free_pages(PlaneId(0)), 3_276 + 64 - gc.moved_pages as u32);
    assert_eq!(ssd.now().0, start + 640_960 + gc.moved_pages * 711_920 + 3_000_000);
}

#[test]
fn dynamic_placement_on_paper_as_device_first_collects_after_655_programs_of_every_plane() {
    let mut ssd = Ssd::new(&config(PAPER_A), 1, Check::Off).unwrap();
    let pages = ssd.capacity_bytes() / PAGE;
    let (rounds, gap) = (655 * 256, 20_000);
    (0..rounds).for_each(|i| submit(&mut ssd, i * gap, i * 7_919 % pages));
    ssd.run();
    assert!((0..256).all(|p| ssd.flash().free_pages(PlaneId(p)) == 3_277), "round robin over dies and planes");
    assert_eq!(summary(&ssd).gc.collections, 0);
    submit(&mut ssd, rounds * gap, 0);
    ssd.run();
    assert_eq!(summary(&ssd).gc.collections, 1);
}

// Space.

#[test]
fn exported_pages_are_rounded_down_in_each_plane_and_a_reserve_without_room_is_refused() {
    let toml = format!("{}geometry.blocks_per_plane = 10\ngeometry.pages_per_block = 7\n", array(3, 1, 1, 1));
    let toml = format!("{toml}gc.threshold = \"1 pages\"\n");
    let merging = |spare: f64| config(&format!("{toml}device.over_provisioning = {spare:.6}"));
    let sized = |spare: f64| {
        config(&format!("{toml}device = {{ over_provisioning = {spare:.6}, partial_write = \"whole-page\" }}"))
    };
    // 0.69 x 70 = 48.3.
    assert_eq!(Dut::new(&sized(0.31)).ssd.capacity_bytes(), 3 * 48 * PAGE);
    // One reserved and one open GC block leave 8 x 7 = 56 pages a plane.
    let refusal = sized(0.1).check().unwrap_err();
    assert_eq!(refusal.key, "device.over_provisioning");
    assert!(refusal.message.contains("63 of 70") && refusal.message.contains("(10 - 1 - 1) x 7 = 56"), "{refusal}");
    let least: f64 = refusal.help.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(sized(least).check().is_ok());
    assert!(sized(0.185).check().is_err(), "57 pages");
    // One page more for a partial write that is overwritten during its read phase: 56 pages are one too many, 55 are not.
    assert!(merging(0.2).check().is_err() && sized(0.2).check().is_ok() && merging(0.213).check().is_ok());
}

#[test]
fn a_page_is_taken_when_its_program_starts() {
    let mut dut = Dut::new(&plane(64, 64, 1, ""));
    (0..2).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    for (at, free) in [(0, 511), (WRITE - 1, 511), (WRITE, 510), (2 * WRITE, 510)] {
        dut.ssd.run_until(Nanos(at));
        assert_eq!(dut.ssd.flash().free_pages(PlaneId(0)), free, "at {at}");
    }
    dut.completed();
}

#[test]
fn host_and_collections_fill_blocks_of_their_own_or_share_one() {
    // Block 0 holds only page 3 when the seventh program makes its collection due; block 1 has a free page.
    let written = |points: &str| {
        let mut dut = Dut::new(&plane(4, 5, 26, &format!("ftl.write_points = \"{points}\"")));
        (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
        dut.completed();
        assert_eq!((summary(&dut.ssd).gc.moved_pages, erases(&dut)[0]), (1, 1));
        (0..4).map(|block| dut.ssd.flash().written(BlockId(block))).collect::<Vec<u32>>()
    };
    assert_eq!(written("separate"), [0, 3, 1, 0]);
    assert_eq!(written("shared"), [0, 4, 0, 0]);
}

#[test]
fn the_free_pages_of_a_scope_are_counted_together() {
    // Two dies of 32 pages. Plane 0 has 20 programs of four logical pages; then plane 1 is written.
    let run = |scope: &str, threshold: u64, others: u64| {
        let toml = format!(
            "{}geometry.blocks_per_plane = 8\ngeometry.pages_per_block = 4
            device.over_provisioning = 0.5\ndevice.queue_depth = 64
            gc = {{ scope = \"{scope}\", threshold = \"{threshold} pages\" }}",
            array(1, 2, 1, 1)
        );
        let mut dut = Dut::new(&config(&toml));
        (0..20).for_each(|i| dut.write(0, i % 4 * 2 * PAGE, PAGE));
        (0..others).for_each(|i| dut.write(20_000_000 + i * 1_000_000, (2 * i + 1) * PAGE, PAGE));
        dut.completed();
        (summary(&dut.ssd).gc.collections, dut.ssd.flash().free_pages(PlaneId(0)))
    };
    // 64 - 20 - 12 = 32 is not below 32; one page less is. The plane with garbage is collected: 12 + 4 pages.
    assert_eq!(run("device", 32, 12), (0, 12));
    assert_eq!(run("device", 32, 13), (1, 16));
    // A plane on its own has 16 free pages after 16 programs, and is collected after each block from the next program on.
    assert_eq!(run("plane", 12, 13), (0, 12));
    assert_eq!(run("plane", 13, 13), (1, 16));
    assert_eq!(run("chip", 13, 13), (1, 16));
}

// Reads and writes of the same page.

#[test]
fn an_unwritten_page_is_preloaded_in_no_time_and_counted() {
    let mut dut = Dut::new(&plane(64, 64, 1, ""));
    dut.read(0, PAGE, PAGE);
    dut.read(1_000_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [READ, READ]);
    let pages = summary(&dut.ssd).pages;
    assert_eq!((pages.unwritten_read, pages.preloaded, pages.read), (1, 1, 2));
    let flash = summary(&dut.ssd).flash;
    assert_eq!((flash.programs.total, dut.ssd.flash().free_pages(PlaneId(0))), (0, 511), "it takes a page");
}

#[test]
fn preloading_triggers_no_collection_by_itself() {
    // 7 programs leave 25 of 32 pages, not below 25. The preload leaves 24, but only a program tests the trigger.
    let mut dut = Dut::new(&plane(4, 7, 25, ""));
    (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.read(10_000_000, 4 * PAGE, PAGE);
    dut.ssd.run_until(Nanos(19_000_000));
    assert_eq!((dut.ssd.flash().free_pages(PlaneId(0)), summary(&dut.ssd).gc.collections), (24, 0));
    dut.write(20_000_000, 4 * PAGE, PAGE);
    dut.completed();
    assert!(summary(&dut.ssd).gc.collections > 0);
}

#[test]
fn an_unwritten_read_may_cost_nothing_or_be_an_error() {
    let mut dut = Dut::new(&plane(64, 64, 1, "device.unwritten_read = \"zero_cost\""));
    dut.read(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].completion, causes(&done[0]).len()), (Nanos(0), 0));
    assert_eq!((summary(&dut.ssd).pages.unwritten_read, dut.ssd.flash().free_pages(PlaneId(0))), (1, 512));
    let mut dut = Dut::new(&plane(64, 64, 1, "device.unwritten_read = \"error\""));
    dut.write(0, 0, PAGE);
    dut.read(1_000_000, 0, PAGE);
    dut.ssd.run_until(Nanos(2_000_000));
    assert_eq!(dut.ssd.fault(), None);
    dut.read(2_000_001, 3 * PAGE, PAGE);
    dut.ssd.run();
    assert!(dut.ssd.fault().unwrap().contains("byte 12288"));
}

#[test]
fn overwriting_a_write_in_flight_programs_both() {
    let mut dut = Dut::new(&plane(64, 64, 1, ""));
    (0..2).for_each(|_| dut.write(0, 0, PAGE));
    assert_eq!(dut.latencies(), [WRITE, 2 * WRITE]);
    assert_eq!(summary(&dut.ssd).flash.programs.host, 2);
    assert_eq!((valid(&dut.ssd, PlaneId(0)), dut.ssd.flash().lpn_of(Ppn(1))), (1, Lpn(0)), "the second is valid");
}

#[test]
fn a_queued_read_looks_the_map_up_when_its_turn_comes() {
    // Overwritten while it waited: the newest version is in controller memory, and the die continues at once.
    let mut dut = Dut::new(&plane(64, 64, 1, ""));
    dut.write(0, 0, PAGE);
    dut.write(WRITE, PAGE, PAGE);
    dut.read(WRITE + 10, 0, PAGE);
    dut.write(WRITE + 20, 0, PAGE);
    let done = dut.completed();
    assert_eq!((done[2].completion, done[3].completion), (Nanos(2 * WRITE), Nanos(3 * WRITE)));
    assert_eq!(causes(&done[2]), [("die_host", WRITE - 10)]);
    assert_eq!(summary(&dut.ssd).flash.reads.host, 0);
}

#[test]
fn a_queued_read_whose_page_has_moved_queues_at_the_new_die_with_its_own_age() {
    let toml = format!("{}schemes.place = \"dynamic\"", array(2, 1, 1, 1));
    let mut dut = Dut::new(&config(&toml));
    // Logical pages 0 and 2 on die 0, 1 and 3 on die 1.
    (0..4).for_each(|lpn| dut.write(lpn * 1_000_000, lpn * PAGE, PAGE));
    let t = 10_000_000;
    dut.write(t, 9 * PAGE, PAGE); // die 0 until 605,120
    dut.read(t + 5, 2 * PAGE, PAGE); // die 0 until 660,240
    dut.read(t + 10, 0, PAGE); // waits there
    dut.write(t + 20, 0, PAGE); // the page moves: on die 1 at 605,140
    dut.write(t + 610_000, 8 * PAGE, PAGE); // die 1 until 1,215,120
    dut.read(t + 620_000, PAGE, PAGE); // waits there, younger than the read that comes from die 0
    let done = dut.completed();
    let completions: Vec<u64> = done[5..].iter().map(|c| c.completion.0 - t).collect();
    assert_eq!(completions, [660_240, 1_270_240, 605_140, 1_215_120, 1_325_360]);
    assert_eq!(causes(&done[6]), [("die_host", 1_215_110), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn when_a_die_falls_idle_the_oldest_operation_gets_it_whichever_queue_it_waits_in() {
    let toml = format!("{}schemes.place = \"dynamic\"\nprecondition.mode = \"sequential\"", array(1, 1, 1, 1));
    let run = |read_at: u64, write_at: u64| {
        let mut dut = Dut::new(&config(&toml));
        dut.write(0, 0, PAGE);
        if read_at < write_at {
            dut.read(read_at, PAGE, PAGE);
            dut.write(write_at, 2 * PAGE, PAGE);
        } else {
            dut.write(write_at, 2 * PAGE, PAGE);
            dut.read(read_at, PAGE, PAGE);
        }
        dut.completed().iter().map(|c| c.completion.0).collect::<Vec<u64>>()
    };
    assert_eq!(run(10, 20), [WRITE, WRITE + READ, 2 * WRITE + READ]);
    assert_eq!(run(20, 10), [WRITE, 2 * WRITE, 2 * WRITE + READ]);
}

// TRIM.

#[test]
fn trim_takes_no_time_discards_whole_pages_and_its_space_is_reclaimed_without_moves() {
    // Block 0 is written, then trimmed from byte 100 on; two more programs make it due.
    let mut dut = Dut::new(&plane(64, 64, 447, ""));
    (0..64).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.trim(50_000_000, 100, 64 * PAGE - 100);
    dut.write(60_000_000, PAGE, PAGE);
    dut.write(61_000_000, 2 * PAGE, PAGE);
    let writes = dut.completed().len();
    let all = summary(&dut.ssd);
    assert_eq!((writes, all.latency_ns.all.count, all.requests.trim, all.requests.write), (66, 66, 1, 66));
    assert_eq!(all.pages.trimmed, 63, "page 0 only in part");
    assert_eq!((all.gc.collections, all.gc.moved_pages), (1, 1), "page 0 alone");
    assert_eq!(valid(&dut.ssd, PlaneId(0)), 3);
}

#[test]
fn trim_keeps_its_place_in_the_order_of_arrival() {
    // One request at a time: the trim waits outside for the write, and completes when the read behind it is admitted.
    let mut config = plane(64, 64, 1, "device.unwritten_read = \"zero_cost\"");
    config.device.queue_depth = 1;
    let mut dut = Dut::new(&config);
    dut.write(0, 0, PAGE);
    dut.trim(10, 0, PAGE);
    dut.read(20, 0, PAGE);
    let done = dut.completed();
    assert_eq!(causes(&done[1]), [("queue", WRITE - 20)]);
    assert_eq!(summary(&dut.ssd).pages.unwritten_read, 1);
}

#[test]
fn a_trimmed_write_in_flight_lands_stale() {
    let mut dut = Dut::new(&plane(64, 64, 1, ""));
    dut.write(0, 0, PAGE);
    dut.trim(100, 0, PAGE);
    assert_eq!(dut.latencies(), [WRITE]);
    assert_eq!((valid(&dut.ssd, PlaneId(0)), dut.ssd.flash().free_pages(PlaneId(0))), (0, 511));
}

// GC in no time.

#[test]
fn zero_cost_collection_gives_the_latencies_of_an_endless_device() {
    let run = |blocks: u32, time: &str| {
        let toml = format!(
            "{}geometry.blocks_per_plane = {blocks}
            geometry.pages_per_block = 8
            device.over_provisioning = 0.3
            gc = {{ threshold = \"30 pages\", time = \"{time}\" }}",
            array(2, 2, 1, 2)
        );
        let mut dut = Dut::new(&config(&toml));
        let (mut dice, mut at) = (7u64, 0);
        let mut below = |bound: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % bound
        };
        for _ in 0..4_000 {
            at += below(400_000);
            let (offset, bytes) = (below(8 * 150) * PAGE + below(8) * 512, (1 + below(20)) * 512);
            match below(10) {
                0..4 => dut.read(at, offset, bytes),
                9 => dut.trim(at, offset, bytes),
                _ => dut.write(at, offset, bytes),
            }
        }
        (dut.latencies(), summary(&dut.ssd).gc.collections)
    };
    let ((small, collections), (endless, none)) = (run(32, "none"), run(1_024, "real"));
    assert!(collections > 200 && none == 0, "{collections} and {none} collections");
    assert_eq!(small, endless);
    let (real, collections) = run(32, "real");
    assert!(collections > 200 && real.iter().sum::<u64>() > small.iter().sum::<u64>());
}

// Wear.

/// A plane of 16 blocks of 8 pages, 32 hot pages and occasional cold ones. Returns it with the number of blocks that were opened
/// while a less erased one was free, and the spread of erase counts after each write.
fn worn(more: &str, cold: u64) -> (Dut, u32, Vec<u32>) {
    let toml = format!(
        "{}geometry.blocks_per_plane = 16
        geometry.pages_per_block = 8
        device.over_provisioning = 0.4
        gc.threshold = \"17 pages\"
        {more}",
        array(1, 1, 1, 1)
    );
    let mut dut = Dut::new(&config(&toml));
    let (mut wrong, mut spreads) = (0, Vec::new());
    let blocks: Vec<BlockId> = (0..16).map(BlockId).collect();
    for i in 0..4_000u64 {
        let lpn = if i < 76 {
            i
        } else if cold > 0 && i % cold == 0 {
            32 + i / cold * 5 % 44
        } else {
            i % 32
        };
        let flash = dut.ssd.flash();
        let free: Vec<BlockId> = blocks.iter().copied().filter(|b| flash.written(*b) == 0).collect();
        let least = free.iter().map(|b| flash.erases(*b)).min();
        dut.write(i * 100_000_000, lpn * PAGE, PAGE);
        // The host's program has begun, and no collection has.
        dut.ssd.run_until(Nanos(i * 100_000_000));
        let flash = dut.ssd.flash();
        wrong += free.iter().filter(|b| flash.written(**b) > 0 && Some(flash.erases(**b)) > least).count() as u32;
        dut.ssd.run_until(Nanos((i + 1) * 100_000_000 - 1));
        let erases = || blocks.iter().map(|block| dut.ssd.flash().erases(*block));
        spreads.push(erases().max().unwrap() - erases().min().unwrap());
    }
    dut.completed();
    (dut, wrong, spreads)
}

#[test]
fn the_least_erased_free_block_is_opened_if_asked_for() {
    let (_, wrong, _) = worn("ftl.free_block = \"least-erased\"", 7);
    assert_eq!(wrong, 0);
    let (_, wrong, _) = worn("ftl.free_block = \"round-robin\"", 7);
    assert!(wrong > 20, "{wrong}");
}

#[test]
fn of_free_blocks_erased_equally_often_the_lowest_index_is_opened() {
    let mut dut = Dut::new(&plane(2, 6, 1, "ftl.free_block = \"least-erased\""));
    (0..5).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.completed();
    let written: Vec<u32> = (0..8).map(|block| dut.ssd.flash().written(BlockId(block))).collect();
    assert_eq!(written, [2, 2, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn static_wear_levelling_brings_the_spread_of_erases_down_to_its_limit_and_not_below() {
    let worn = |levelling: &str, limit: u32| {
        let (dut, _, spreads) =
            worn(&format!("ftl = {{ wear_levelling = \"{levelling}\", wear_spread = {limit} }}"), 0);
        let settled = &spreads[2_000..];
        (*settled.iter().min().unwrap(), *settled.iter().max().unwrap(), summary(&dut.ssd).flash.programs.gc)
    };
    let (_, none, still) = worn("none", 1);
    assert!(none > 40, "{none} without");
    for limit in [4, 8, 16] {
        // Beyond the limit a cold block is selected, which reduces the spread by at most one. Meanwhile the spread is larger:
        // several blocks hold cold pages, and every second victim is the policy's.
        let (least, widest, moved) = worn("static", limit);
        assert!(least == limit && widest <= 2 * limit, "{least} to {widest} with a limit of {limit}");
        assert!(moved > still, "cold pages were moved");
    }
}

/// Records the erased blocks, in order.
#[derive(Clone, Default)]
struct Erased(Arc<Mutex<Vec<u32>>>);

impl Observer for Erased {
    fn leg(&mut self, leg: &LegRecord) {
        if leg.verb == Verb::Erase {
            self.0.lock().unwrap().push(leg.ppn.0 / 2);
        }
    }
}

#[test]
fn beyond_the_wear_spread_every_second_collection_takes_a_cold_block() {
    // Blocks of two pages; blocks 0 and 1 hold cold data, and one hot page wears the other six in turn. From the fourth hot write
    // on, every second one makes the plane due, and a collection of a hot block is only an erase.
    let mut dut = Dut::new(&plane(2, 6, 9, "ftl = { wear_levelling = \"static\", wear_spread = 1 }"));
    let erased = Erased::default();
    dut.ssd.observe(Box::new(erased.clone()));
    (0..4).chain(std::iter::repeat_n(4, 22)).zip(0..).for_each(|(lpn, n)| dut.write(n * 20_000_000, lpn * PAGE, PAGE));
    dut.completed();
    // Once blocks 2 to 7 have been erased, the spread is 1, within the limit. The second erase of block 2 makes it 2, so block 0
    // is selected next. Its collection frees nothing, so another one follows at once: the policy's turn, although block 1 is as
    // cold as block 0 was. Block 1 is selected after that; then the spread is 1 again.
    assert_eq!(*erased.0.lock().unwrap(), [2, 3, 4, 5, 6, 7, 2, 0, 3, 1, 4, 6]);
}

// Measurement.

/// Sixteen pages fill blocks 0 to 3 and some are trimmed; a write of the first of them makes the plane due. Returns the erases by
/// block.
fn after_one_collection(victim: &str, trimmed: &[u64], seed: u64) -> Vec<u32> {
    let mut dut = Dut::seeded(&plane(4, 16, 16, &format!("schemes.victim = {victim}")), seed);
    (0..16).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.completed();
    trimmed.iter().for_each(|lpn| dut.trim(20_000_000, lpn * PAGE, PAGE));
    dut.write(20_000_000, trimmed[0] * PAGE, PAGE);
    dut.completed();
    erases(&dut)
}

#[test]
fn cost_benefit_weighs_age_and_free_space_against_valid_pages() {
    // Ages 4, 3, 2 and 1. Block 0 with three valid pages: 4 x 1 / 3. With two: block 2, 2 x 2 / 2; block 3, 1 x 2 / 2.
    let erased = |trimmed: &[u64]| after_one_collection("\"cost-benefit\"", trimmed, 1);
    assert_eq!(erased(&[0, 8, 9]), [0, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(erased(&[0, 12, 13]), [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn random_plus_draws_among_the_blocks_that_free_something() {
    for seed in 1..=20 {
        assert_eq!(after_one_collection("\"random+\"", &[6], seed), [0, 1, 0, 0, 0, 0, 0, 0], "seed {seed}");
    }
}

#[test]
fn one_choice_is_a_block_drawn_at_random() {
    let run = |victim: &str| {
        let toml = format!(
            "{}geometry.blocks_per_plane = 16\ngeometry.pages_per_block = 8\ndevice.over_provisioning = 0.4\nschemes.victim = {victim}",
            array(1, 1, 1, 1)
        );
        let mut dut = Dut::new(&config(&toml));
        (0..600).for_each(|n| dut.write(0, n * n % 71 * PAGE, PAGE));
        dut.completed();
        (0..16).map(|block| dut.ssd.flash().erases(BlockId(block))).collect::<Vec<u32>>()
    };
    assert_eq!(run("{ d-choices = { d = 1 } }"), run("\"random\""));
    assert_ne!(run("{ d-choices = { d = 2 } }"), run("\"random\""));
}

#[test]
fn among_equal_victims_far_apart_the_lowest_index_goes_first_too() {
    let toml = format!(
        "{}geometry.blocks_per_plane = 200\ngeometry.pages_per_block = 2\ndevice.over_provisioning = 0.2\ngc.threshold = \"80 pages\"",
        array(1, 1, 1, 1)
    );
    for trimmed in [[20, 200, 300], [200, 202, 300], [20, 22, 300]] {
        let mut dut = Dut::new(&config(&toml));
        (0..320).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
        dut.completed();
        trimmed.iter().for_each(|lpn| dut.trim(400_000_000, lpn * PAGE, PAGE));
        dut.write(400_000_000, trimmed[0] * PAGE, PAGE);
        dut.completed();
        let erased = (0..200).filter(|block| dut.ssd.flash().erases(BlockId(*block)) > 0);
        assert_eq!(erased.collect::<Vec<u32>>(), [trimmed[0] as u32 / 2]);
    }
}

#[test]
fn a_warm_up_of_requests_is_not_measured_but_wears() {
    let mut dut = Dut::new(&plane(4, 5, 26, "run.warmup = \"7 requests\""));
    (0..4).chain(0..3).chain([0]).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.read(50_000_000, 0, PAGE);
    let done = dut.completed();
    let all = summary(&dut.ssd);
    assert_eq!((done.len(), all.requests.warmup, all.requests.write, all.requests.read), (2, 7, 1, 1));
    assert_eq!((all.latency_ns.write.count, all.pages.written, all.pages.read), (1, 1, 1));
    assert_eq!(done[0].request, 7, "numbered in order of submission");
    let mut dut = Dut::new(&plane(4, 5, 26, "run.warmup = \"8 requests\""));
    (0..4).chain(0..3).chain([0]).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.ssd.run_until(Nanos(40_000_000));
    dut.read(50_000_000, 0, PAGE);
    dut.completed();
    let all = summary(&dut.ssd);
    assert_eq!((all.flash.programs.total, all.flash.erases, all.gc.collections, all.gc.time_ns.erase), (0, 0, 0, 0));
    assert_eq!((all.flash.reads.host, all.simulated_ns), (1, READ));
    assert_eq!((all.wear.erases_max, all.write_amplification), (1, None));
    assert_eq!(erases(&dut)[0], 1);
}

#[test]
fn a_warm_up_of_drive_writes_ends_when_the_host_has_written_so_much() {
    // Half of 64 pages: requests of 3 pages; eleven make 33.
    let mut dut = Dut::new(&plane(64, 64, 1, "run.warmup = \"0.5 drive writes\""));
    (0..15).for_each(|i| dut.write(i * 10_000_000, i * 3 * PAGE, 3 * PAGE));
    dut.completed();
    let all = summary(&dut.ssd);
    assert_eq!((all.requests.warmup, all.requests.write, all.pages.written), (11, 4, 12));
}

#[test]
fn work_after_the_last_completion_counts_in_flash_but_not_in_time() {
    // Eight programs; the last makes block 0, fully stale, due. The run waits for the erase.
    let mut dut = Dut::new(&plane(4, 5, 25, ""));
    (0..4).chain(0..4).for_each(|lpn| dut.write(1_000, lpn * PAGE, PAGE));
    let latencies = dut.latencies();
    assert_eq!(latencies[7], 8 * WRITE);
    let all = summary(&dut.ssd);
    assert_eq!((all.simulated_ns, dut.ssd.now().0), (8 * WRITE, 1_000 + 8 * WRITE + 3_500_000));
    assert_eq!((all.flash.erases, all.gc.collections), (1, 1));
    assert_eq!(all.utilisation.die, Some(1.0));
    assert_eq!(all.utilisation.channel, Some(5_120.0 / WRITE as f64));
}

#[test]
fn shares_of_time_are_of_what_is_measured_from_its_admission_on() {
    // The write is not measured, and the read waits outside for it until 605,120.
    let mut dut =
        Dut::new(&config(&format!("{}device.queue_depth = 1\nrun.warmup = \"1 requests\"", array(1, 1, 1, 1))));
    dut.write(0, 0, PAGE);
    dut.read(600_000, 0, PAGE);
    assert_eq!(dut.latencies(), [WRITE - 600_000 + READ]);
    let all = summary(&dut.ssd);
    assert_eq!((all.simulated_ns, all.utilisation.die), (WRITE - 600_000 + READ, Some(1.0)));
    assert_eq!(all.utilisation.chip_at_arrival, Some(0.0), "the write is over when measuring begins");
    assert_eq!(all.utilisation.channel, Some(5_120.0 / READ as f64));
}

#[test]
fn pages_are_counted_where_they_were() {
    // Two of the four trimmed pages hold data. A partial write of a page in flight takes the rest from memory.
    let mut dut = Dut::new(&config(&array(1, 1, 1, 1)));
    dut.write(0, PAGE, 2 * PAGE);
    dut.trim(10_000_000, 0, 4 * PAGE);
    dut.trim(11_000_000, 0, 4 * PAGE);
    dut.write(20_000_000, 0, PAGE);
    dut.write(20_000_001, 512, 512);
    dut.completed();
    let pages = summary(&dut.ssd).pages;
    assert_eq!((pages.trimmed, pages.partial_writes, pages.from_memory, pages.written), (2, 1, 1, 4));
}

#[test]
fn a_chip_is_counted_busy_at_an_arrival_before_the_arrival_is_placed() {
    let mut dut = Dut::new(&config(&array(2, 2, 1, 1)));
    dut.read(0, 0, PAGE); // finds none of four chips busy
    dut.read(10, PAGE, 2 * PAGE); // one
    dut.read(20, 3 * PAGE, PAGE); // three
    dut.completed();
    assert_eq!(summary(&dut.ssd).utilisation.chip_at_arrival, Some((0.0 + 1.0 + 3.0) / 3.0 / 4.0));
}

#[test]
fn copybacks_count_once_and_write_amplification_is_the_same_on_either_path() {
    let run = |path: &str| {
        let mut dut = Dut::new(&plane(4, 5, 26, &format!("schemes.path = \"{path}\"")));
        (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
        dut.completed();
        let all = summary(&dut.ssd);
        assert_eq!(all.write_amplification, Some(8.0 / 7.0));
        assert_eq!((all.gc.moved_per_collection, all.gc.host_pages_per_collection), (Some(1.0), Some(7.0)));
        let flash = all.flash;
        assert_eq!(
            dut.ssd.flash_operations(),
            flash.reads.total + flash.programs.total + flash.copybacks + flash.erases
        );
        (flash.reads.gc, flash.programs.gc, flash.programs.total, flash.copybacks)
    };
    assert_eq!(run("external"), (1, 1, 8, 0));
    assert_eq!(run("copyback"), (0, 0, 7, 1));
}

#[test]
fn preconditioning_takes_no_time_and_counts_nowhere_but_in_wear() {
    for (mode, worn) in [("sequential", false), ("random", true)] {
        let toml = format!(
            "{}geometry.blocks_per_plane = 16\ngeometry.pages_per_block = 8
            device.over_provisioning = 0.25\ngc.threshold = \"20 pages\"
            precondition = {{ mode = \"{mode}\", overwrite = 3.0 }}",
            array(2, 1, 1, 1)
        );
        let mut dut = Dut::new(&config(&toml));
        assert_eq!(dut.ssd.now(), Nanos(0));
        let all = summary(&dut.ssd);
        assert_eq!((all.pages.written, all.flash.programs.total, all.flash.erases, all.gc.collections), (0, 0, 0, 0));
        assert_eq!((0..2).map(|p| valid(&dut.ssd, PlaneId(p))).collect::<Vec<u64>>(), [96, 96], "all of it is mapped");
        assert_eq!(all.wear.erases_max > 0, worn);
        assert!(!worn || (0..2).all(|p| dut.ssd.flash().free_pages(PlaneId(p)) >= 20), "collected as due");
        dut.read(0, 191 * PAGE, PAGE);
        assert_eq!(dut.latencies(), [READ]);
        assert_eq!(summary(&dut.ssd).pages.unwritten_read, 0);
    }
}
