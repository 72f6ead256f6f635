//! Collectors that release their chip early: paper A's worked examples, to the nanosecond.
//!
//! tR 30,000, tPROG 600,000, tBERS 3,000,000, a page takes 40,960 on the bus; times in ns.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, Twins, causes, config, summary};
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::Class;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Config, LegRecord, Observer, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
pub const WRITE: u64 = 640_960;
pub const ERASE: u64 = 3_000_000;
/// A page is read out to the controller; a page is moved the traditional way.
pub const FETCH: u64 = 70_960;
const MOVE: u64 = 711_920;

/// `chips` chips of one plane on separate channels, with blocks of 4 pages; a plane is collected when `programs` of its pages
/// have been written.
fn device(chips: u32, programs: u32, collector: &str, more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = {chips}, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ exclusion = \"chip\", over_provisioning = 0.843, memory = \"50ns\", queue_depth = 512 }}
gc = {{ threshold = \"{} pages\" }}
schemes = {{ place = \"dynamic\", collector = {collector} }}
{more}",
        32 - programs + 1
    ))
}

/// Three chips. A collection of chip 0 begins at the returned time, and moves logical pages 6 and 9. Page 0 is on chip 0.
pub fn two_valid_pages(collector: &str, more: &str) -> (Dut, u64) {
    let mut dut = Dut::new(&device(3, 6, collector, more));
    // One write at a time goes to chips 0, 1, 2 in turn. The sixth page of chip 0 makes it due.
    let pages = (0..12).chain([0, 3, 1, 4]);
    for (i, lpn) in pages.enumerate() {
        dut.write(i as u64 * 1_000_000, lpn * PAGE, PAGE);
    }
    (dut, 15 * 1_000_000 + WRITE)
}

/// Time at which a read of chip 0 is served that arrives `after` the start of the collection.
pub fn chip_free(collector: &str, slots: u32, after: i64) -> u64 {
    let (mut dut, due) = two_valid_pages(collector, &format!("staging.slots = {slots}"));
    dut.read(due.checked_add_signed(after).unwrap(), 0, PAGE);
    let read = dut.completed().pop().unwrap();
    assert_eq!(read.completion.0 - read.start.unwrap().0, FETCH);
    read.start.unwrap().0 - due
}

#[test]
fn a_contended_collection_of_two_pages_frees_its_chip_at_3_141_920() {
    for slots in [2, 3, 96] {
        assert_eq!(chip_free("\"idle-chip\"", slots, -1), 3_141_920);
    }
    assert_eq!(chip_free("\"serial\"", 0, -1), 4_423_840);
    assert_eq!(chip_free("\"idle-chip\"", 0, -1), 4_423_840, "without slots it is traditional");
    assert_eq!(chip_free("\"idle-chip\"", 1, -1), FETCH + MOVE + ERASE, "one page through the buffer, one not");
}

/// A collection becomes a stream if a host operation waits when a page has been read out.
#[test]
fn a_collection_becomes_a_stream_at_the_end_of_a_transfer_out() {
    let free = |after| chip_free("\"idle-chip\"", 2, after);
    assert_eq!(free(50_000), 3_141_920);
    assert_eq!(free(70_960), 3_141_920, "arrivals come before decisions");
    assert_eq!(free(71_000), 3_782_880, "one page buffered");
    assert_eq!(free(782_880), 3_782_880);
    assert_eq!(free(782_881), 4_423_840);
    let always = |after| chip_free("{ idle-chip = { stream_rule = \"always\" } }", 2, after);
    assert_eq!((always(71_000), always(1_000_000)), (3_141_920, 3_141_920));
}

/// Records the array legs of one class.
#[derive(Clone)]
struct Legs(Class, Arc<Mutex<Vec<(u64, u64, u32)>>>);

impl Observer for Legs {
    fn leg(&mut self, leg: &LegRecord) {
        if leg.class == self.0 && leg.kind == LegKind::Array {
            self.1.lock().unwrap().push((leg.start.0, leg.end.0, leg.planes().next().unwrap().0));
        }
    }
}

fn legs_of(ssd: &mut Twins, class: Class) -> Vec<(u64, u64, u32)> {
    let legs = Legs(class, Arc::default());
    ssd.observe(Box::new(legs.clone()));
    ssd.run();
    legs.1.lock().unwrap().clone()
}

#[test]
fn buffered_pages_go_to_idle_chips_in_turn() {
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    dut.read(due - 1, 0, PAGE);
    let legs = legs_of(&mut dut.ssd, Class::Writeback);
    // Eligible at 141,920, when the second page is in the buffer; transferred, then programmed.
    let (start, end) = (due + 2 * FETCH + 40_960, due + 782_880);
    // (Their sixth pages make chips 1 and 2 due; that does not matter here.)
    assert_eq!(legs[..2], [(start, end, 1), (start, end, 2)]);
}

/// Section 4.2.1: a segment is written back one time. Chips 0 and 1 are collected together; four chips are idle.
#[test]
fn a_segment_waits_until_the_one_before_is_on_flash() {
    let written = |segments: &str| {
        let collector = format!("{{ idle-chip = {{ stream_rule = \"always\", segments = \"{segments}\" }} }}");
        let mut dut = Dut::new(&device(6, 6, &collector, "staging.slots = 4"));
        for (i, lpn) in (0..24).chain(0..6).enumerate() {
            dut.write(i as u64 * 1_000_000, lpn * PAGE, PAGE);
        }
        // The sixth pages of chips 0 and 1, whose first blocks keep two pages each.
        [6, 7].into_iter().for_each(|lpn| dut.write(30_000_000, lpn * PAGE, PAGE));
        let due = 30_000_000 + WRITE;
        let legs = legs_of(&mut dut.ssd, Class::Writeback);
        let mut legs: Vec<_> = legs[..4].iter().map(|(start, end, chip)| (start - due, end - due, *chip)).collect();
        legs.sort_unstable();
        legs
    };
    let first = 2 * FETCH;
    let program = |begins: u64, chip| (begins + 40_960, begins + WRITE, chip);
    assert_eq!(written("overlapping"), [2, 3, 4, 5].map(|chip| program(first, chip)));
    let second = first + WRITE;
    let expected = [program(first, 2), program(first, 3), program(second, 4), program(second, 5)];
    assert_eq!(written("one_by_one"), expected);
}

/// With static places, buffered pages wait for their own chip: the erase, then the read that waited for the chip.
#[test]
fn buffered_pages_go_to_their_own_plane_if_places_are_static() {
    let own = "{ idle-chip = { to = \"own_plane\" } }";
    let mut device = device(3, 6, "\"serial\"", "staging.slots = 2");
    device.schemes.place = "CWDP".parse().unwrap();
    device.schemes.collector = config(&format!("schemes.collector = {own}")).schemes.collector;
    let mut dut = Dut::new(&device);
    // Pages 0 and 3 are overwritten on chip 0, whose sixth page makes it due.
    for (i, lpn) in (0..12).chain([0, 3]).enumerate() {
        dut.write(i as u64 * 1_000_000, lpn * PAGE, PAGE);
    }
    let due = 13 * 1_000_000 + WRITE;
    dut.read(due - 1, 0, PAGE);
    let legs = legs_of(&mut dut.ssd, Class::Writeback);
    let free = due + 3_141_920 + FETCH;
    let program = free + 40_960;
    assert_eq!(legs[..2], [(program, program + 600_000, 0), (program + 640_960, program + 1_240_960, 0)]);
    let refused = |toml: &str| Ssd::new(&config(toml), 1, Check::Full).map(drop).unwrap_err().to_string();
    let preset = "device.exclusion = \"chip\"\nstaging.slots = 2\nschemes.place = \"CWDP\"\n";
    let told = refused(&format!("{preset}schemes.collector = \"idle-chip\""));
    assert!(told.contains("own_plane"), "{told}");
    let both = "{ idle-chip = { to = \"own_plane\", erase = \"after_writeback\", absorb = false } }";
    let told = refused(&format!("{preset}device.keep_overwritten = true\nschemes.collector = {both}"));
    assert!(told.contains("use erase"), "{told}");
    let own = format!("schemes.collector = {own}");
    assert!(Ssd::new(&config(&format!("{preset}{own}")), 1, Check::Full).is_ok());
    let told = refused(&format!("{}{own}", preset.replace("CWDP", "dynamic")));
    assert!(told.contains("use a static order"), "{told}");
}

/// The only slot: its page is in the buffer at 70,960, and on flash 640,960 later.
#[test]
fn a_slot_is_free_when_its_page_is_on_flash_or_when_its_write_back_is_issued() {
    for (release, freed) in [("completion", FETCH + WRITE), ("issue", FETCH)] {
        let collector = format!("{{ idle-chip = {{ release = \"{release}\" }} }}");
        let (mut dut, due) = two_valid_pages(&collector, "staging.slots = 1");
        dut.read(due - 1, 0, PAGE);
        for (at, free) in [(due - 1, 1), (due, 0), (due + freed - 1, 0), (due + freed, 1)] {
            dut.ssd.run_until(Nanos(at));
            assert_eq!(dut.ssd.staging().free(), free, "{release}, at {at}");
        }
        dut.completed();
    }
}

/// A page that waits in the buffer for the other one of its collection, and is trimmed, is not written back.
#[test]
fn a_trimmed_page_frees_its_slot_at_once() {
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    dut.read(due - 1, 0, PAGE);
    dut.trim(due + 100_000, 6 * PAGE, PAGE);
    for (at, free) in [(due, 0), (due + 99_999, 0), (due + 100_000, 1)] {
        dut.ssd.run_until(Nanos(at));
        assert_eq!(dut.ssd.staging().free(), free, "at {at}");
    }
    dut.completed();
    let moves = summary(&dut.ssd).idle_chip.unwrap().moves;
    assert_eq!((moves.buffered, moves.written_back), (2, 1));
}

/// The report does not count the buffer's content during the warm-up.
#[test]
fn the_most_pages_in_the_buffer_are_those_of_the_measured_part() {
    let told = |warmup: u64| {
        let more = format!("staging.slots = 2\nrun.warmup = \"{warmup} requests\"");
        let (mut dut, due) = two_valid_pages("\"idle-chip\"", &more);
        dut.read(due - 1, 0, PAGE);
        dut.read(due + 40_000_000, 0, PAGE);
        dut.completed();
        let report = summary(&dut.ssd).idle_chip.unwrap();
        (report.buffer.pages_max, report.power_loss.exposed_pages_max, report.moves.buffered)
    };
    assert_eq!((told(16), told(17)), ((2, 2, 2), (0, 0, 0)));
}

/// If the buffer waits for that, pages are written back when no request is outstanding: chips 1 and 2 have been idle for long.
#[test]
fn buffered_pages_may_wait_until_no_request_is_left() {
    let (mut dut, due) = two_valid_pages("{ idle-chip = { writeback = \"queue_empty\" } }", "staging.slots = 2");
    dut.read(due - 1, 0, PAGE);
    let legs = legs_of(&mut dut.ssd, Class::Writeback);
    // The read is served when the chip has been erased.
    let (start, end) = (due + 3_141_920 + FETCH + 40_960, due + 3_141_920 + FETCH + WRITE);
    assert_eq!(legs[..2], [(start, end, 0), (start, end, 1)]);
}

/// A preempted collection resumes when host writes have used free pages up to the hard threshold.
#[test]
fn writes_that_use_up_free_pages_end_a_preemption() {
    let ends = |hard: Option<&str>| {
        let mut config = device(1, 6, "\"preemptive\"", "");
        config.gc.hard_threshold = hard.map(|pages| pages.parse().unwrap());
        let mut dut = Dut::new(&config);
        [0, 1, 2, 3, 0, 1]
            .into_iter()
            .enumerate()
            .for_each(|(i, lpn)| dut.write(i as u64 * 1_000_000, lpn * PAGE, PAGE));
        // Two pages are to be moved; 26 are free.
        let due = 5_000_000 + WRITE;
        [0, 1, 4].into_iter().for_each(|lpn| dut.write(due + 10_000, lpn * PAGE, PAGE));
        dut.completed()[6..].iter().map(|done| done.completion.0 - due).collect::<Vec<u64>>()
    };
    // When the first page has been read out, they are served.
    let first = [FETCH + WRITE, FETCH + 2 * WRITE];
    assert_eq!(ends(None), [&first[..], &[FETCH + 3 * WRITE]].concat());
    assert_eq!(ends(Some("25 pages")), [&first[..], &[2 * MOVE + ERASE + 3 * WRITE]].concat());
}

/// A page of a host write that has not been programmed yet is not in the buffer.
#[test]
fn reads_of_writes_under_way_are_no_hits_of_the_buffer() {
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    dut.write(due + 20_000_000, 0, PAGE);
    dut.read(due + 20_000_001, 0, PAGE);
    assert_eq!(dut.latencies().last(), Some(&50));
    let told = summary(&dut.ssd);
    assert_eq!((told.pages.from_memory, told.idle_chip.unwrap().moves.read_hits), (1, 0));
}

/// A write that any chip may serve is in conflict with GC if it waits during a collection.
#[test]
fn a_write_that_finds_all_chips_busy_beside_a_collection_conflicts_with_it() {
    for reads in [0, 1] {
        let (mut dut, due) = two_valid_pages("\"idle-chip\"", "");
        // Chip 0 is collected. Ten reads keep chips 1 and 2 busy, or none do.
        (0..10 * reads).for_each(|_| [1, 2].iter().for_each(|lpn| dut.read(due + 1_000, (lpn + 6) * PAGE, PAGE)));
        dut.write(due + 2_000, 0, PAGE);
        let latency = *dut.latencies().last().unwrap();
        let delayed = summary(&dut.ssd).requests_delayed_by_gc;
        assert_eq!((delayed.read, delayed.write), (0, reads));
        let told = summary(&dut.ssd).idle_chip.unwrap();
        assert_eq!(latency, if reads == 0 { WRITE } else { 10 * FETCH - 1_000 + WRITE });
        assert_eq!((told.conflicts.gc, told.conflicts.writeback, told.conflicts.total), (reads, 0, reads));
        let requests = &told.conflicted;
        assert_eq!((requests.read.requests, requests.write.requests), (0, reads));
        assert_eq!(
            (requests.all.latency_ns, requests.write.latency_ns),
            (u128::from(reads * latency), u128::from(reads * latency))
        );
    }
}

/// A collection begins in an idle period if no request is outstanding; otherwise it counts the other idle chips.
#[test]
fn collections_count_what_the_device_does_when_they_begin() {
    for (pending, idle_chips) in [(0, 0), (1, 2)] {
        let (mut dut, due) = two_valid_pages("\"idle-chip\"", "");
        (0..pending).for_each(|_| dut.read(due - 1, 0, PAGE));
        dut.ssd.run();
        let starts = summary(&dut.ssd).idle_chip.unwrap().gc_starts;
        assert_eq!((starts.collections, starts.in_idle_periods, starts.idle_chips), (1, 1 - pending, idle_chips));
    }
}

/// Fig. 9: 6 free slots, collections with 3, 2 and 2 valid pages, in this order, reserve 3, 2 and 1.
#[test]
fn figure_9_reserves_3_2_and_1() {
    let collector = "{ idle-chip = { stream_rule = \"always\" } }";
    let mut dut = Dut::new(&device(4, 6, collector, "staging.slots = 6"));
    // Chips 0 to 3 hold in their first blocks: 0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15.
    let mut at = 0;
    for lpn in (0..16).chain([0, 1, 2, 3]) {
        dut.write(at, lpn * PAGE, PAGE);
        at += 1_000_000;
    }
    // The sixth page of chips 0, 1 and 2, all at once: chip 0 keeps 3 pages, the others 2.
    for lpn in [5, 6, 7] {
        dut.write(at, lpn * PAGE, PAGE);
    }
    let due = at + WRITE;
    dut.ssd.run_until(Nanos(due));
    assert_eq!(dut.ssd.staging().free(), 0, "all are reserved");
    // Chip by chip: 3 pages through the buffer, 2, and 1 and one that is moved.
    let ends = [3 * FETCH + ERASE, 2 * FETCH + ERASE, FETCH + MOVE + ERASE];
    for (n, end) in [(0, ends[1]), (1, ends[0]), (2, ends[2])] {
        dut.ssd.run_until(Nanos(due + end - 1));
        assert_eq!(summary(&dut.ssd).gc.collections, n);
        dut.ssd.run_until(Nanos(due + end));
        assert_eq!(summary(&dut.ssd).gc.collections, n + 1);
    }
}

/// A read of a buffered page takes the time of the buffer; so does a write, which needs no program.
#[test]
fn reads_and_writes_of_buffered_pages_end_in_the_buffer() {
    // No chip is idle: chips 1 and 2 are kept busy with reads of their own.
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    let mut requests = vec![(due - 1, RequestOp::Read, 0)];
    for i in 0..80 {
        requests.extend([2, 10].map(|lpn| (due - 20_000 + i * 60_000, RequestOp::Read, lpn)));
    }
    let t = due + 200_000;
    requests.push((t, RequestOp::Read, 6));
    requests.push((t + 1_000, RequestOp::Write, 9));
    requests.push((t + 2_000, RequestOp::Write, 9));
    requests.push((t + 3_000, RequestOp::Read, 9));
    requests.sort_by_key(|r| r.0);
    for (at, op, lpn) in requests {
        match op {
            RequestOp::Read => dut.read(at, lpn * PAGE, PAGE),
            _ => dut.write(at, lpn * PAGE, PAGE),
        }
    }
    let done = dut.completed();
    let hits: Vec<&Completed> =
        done.iter().filter(|c| c.arrival.0 >= t && (c.offset == 6 * PAGE || c.offset == 9 * PAGE)).collect();
    assert_eq!(hits.len(), 4);
    for hit in hits {
        assert_eq!(causes(hit), [("memory", 50)], "{hit:?}");
    }
    let summary = summary(&dut.ssd);
    assert_eq!((summary.flash.programs.host, summary.flash.programs.gc), (16, 2));
    assert_eq!(summary.pages.written, 18);
}

/// The same write during the page's write-back goes to flash; the write-back lands stale.
#[test]
fn a_write_of_a_page_under_way_goes_to_flash() {
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    dut.read(due - 1, 0, PAGE);
    dut.write(due + 300_000, 9 * PAGE, PAGE);
    dut.ssd.run_until(Nanos(due + 1_400_000));
    let moved = summary(&dut.ssd).gc;
    assert_eq!((moved.moved_pages, moved.moved_stale), (2, 1));
    let done = dut.completed();
    let write = done.last().unwrap();
    // Chip 0 is collected and chips 1 and 2 write back until 782,880; then one of them takes the write.
    let waits = [("die_gc_other", 160_960), ("die_writeback", 321_920)];
    assert_eq!(causes(write), [waits.as_slice(), &[("array", 600_000), ("bus", 40_960)]].concat());
    assert_eq!(summary(&dut.ssd).flash.programs.host, 17);
}

// Reports.

/// A read and a write in conflict with the collection of chip 0: the count in each figure.
#[test]
fn conflicts_are_counted_once_a_sub_request_and_collection() {
    let (mut dut, due) = two_valid_pages("\"idle-chip\"", "staging.slots = 2");
    dut.read(due - 1, 0, PAGE);
    dut.ssd.run_until(Nanos(due + 782_879));
    let report = summary(&dut.ssd).idle_chip.unwrap();
    let moves = &report.moves;
    assert_eq!((moves.streams, moves.buffered, moves.in_flash, moves.written_back), (1, 2, 0, 2));
    assert_eq!(report.buffer_waiting_ns.max, Some(FETCH), "the first page waits for the second");
    assert_eq!((report.buffer_waiting_ns.min, report.buffer.pages_max), (Some(0), 2));
    // The read was outstanding, chip 0 in collection, and chips 1 and 2 idle when it began.
    let starts = &report.gc_starts;
    assert_eq!((starts.collections, starts.in_idle_periods, starts.idle_chips), (1, 0, 2));
    dut.ssd.run_until(Nanos(due + 3_141_920 + FETCH));
    let report = summary(&dut.ssd).idle_chip.unwrap();
    assert_eq!((report.conflicts.gc, report.conflicts.writeback), (1, 0));
    let read = &report.conflicted.read;
    assert_eq!((read.requests, read.latency_ns), (1, u128::from(1 + 3_141_920 + FETCH)));
    assert_eq!((read.request_share, read.latency_share), (Some(1.0), Some(1.0)));
    assert_eq!((report.conflicted.write.requests, report.conflicted.all.requests), (0, 1));
}

/// Eq. (1): 128 pages on 64 chips take 6.4 + 2 x 640.96 = 1,288.32 us; on 16 chips 5,134.08 us.
#[test]
fn equation_1_takes_1_288_320() {
    use ssdlab_sim::report::idle_chip::drain_ns;
    assert_eq!(drain_ns(128, 64, 50, WRITE), 1_288_320);
    assert_eq!(drain_ns(128, 16, 50, WRITE), 5_134_080);
    // A remainder that does not fill all chips is ignored, according to the paper's floor(n / chips).
    assert_eq!(drain_ns(5, 4, 50, WRITE), 250 + WRITE);
    assert_eq!(drain_ns(3, 4, 50, WRITE), 150);
    let mut paper = config(include_str!("../../../../presets/idle-chip.toml"));
    paper.geometry.blocks_per_plane = 64;
    paper.schemes.collector = config("schemes.collector = \"idle-chip\"").schemes.collector;
    let dut = Dut::new(&paper);
    assert_eq!(summary(&dut.ssd).idle_chip.unwrap().power_loss.drain_full_ns, 1_288_320);
}

/// Mixed requests on a small device, in bursts.
fn busy(collector: &str, more: &str) -> Dut {
    loaded(&config(&format!(
        "geometry = {{ channels = 4, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = 8 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ exclusion = \"chip\", over_provisioning = 0.25, memory = \"50ns\" }}
gc = {{ threshold = \"20 pages\" }}
precondition = {{ mode = \"aged\", valid = 0.7, invalid = 0.1 }}
schemes.place = \"dynamic\"
schemes.collector = {collector}
{more}"
    )))
}

fn loaded(config: &Config) -> Dut {
    let mut dut = Dut::new(config);
    let pages = dut.ssd.capacity_bytes() / PAGE;
    let (mut at, mut x) = (0, 1u64);
    for i in 0..6_000u64 {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += if i % 16 == 0 { 9_000_000 } else { (x >> 40) % 100_000 };
        let offset = (x >> 33) % pages * PAGE;
        if x >> 62 == 0 { dut.read(at, offset, PAGE) } else { dut.write(at, offset, PAGE) }
    }
    dut
}

/// Every page programmed is accounted for: pages of erased blocks + free at the start - free at the end of what is measured.
#[test]
fn programs_are_erased_pages_and_the_difference_of_free_ones() {
    let dpr = "schemes.route = { dpr = { k = 1, replica_pages = 0.02 } }";
    for (collector, more) in [
        ("\"idle-chip\"", "staging.slots = 16"),
        ("\"idle-chip\"", &format!("staging.slots = 16\n{dpr}")),
        ("{ idle-chip = { erase = \"after_writeback\", absorb = false } }", "staging.slots = 16"),
        ("\"preemptive\"", ""),
        ("\"serial\"", dpr),
        ("\"idle-chip\"", "staging.slots = 16\nrun.warmup = \"2000 requests\""),
        ("\"preemptive\"", "run.warmup = \"2000 requests\""),
        ("\"serial\"", &format!("{dpr}\nrun.warmup = \"2000 requests\"")),
    ] {
        let mut dut = busy(collector, more);
        dut.completed();
        let summary = summary(&dut.ssd);
        let (report, flash) = (summary.idle_chip.unwrap(), &summary.flash);
        let warm = more.contains("warmup");
        let programs = flash.programs.total + flash.copybacks + summary.pages.preloaded + report.space.unmeasured_pages;
        assert_eq!(programs, report.space.programmed_pages);
        assert_eq!(programs, report.space.erased_pages + report.space.free_pages_start - report.space.free_pages_end);
        assert!(warm || report.space.unmeasured_pages == 0);
        // An erase that was in flight when measuring started counts where it began.
        let under_way = report.space.erased_pages - 8 * flash.erases;
        assert!(under_way == 0 || warm && under_way <= 4 * 8, "{under_way}");
        let begun = flash.programs.host + report.moves.absorbed_writes;
        assert_eq!(begun, summary.pages.written);
        assert!(!warm || summary.requests.warmup == 2000);
        let apart = flash.programs.host + flash.programs.gc + flash.programs.replica + flash.programs.wasted;
        assert_eq!(flash.programs.total, apart);
        let least = if warm { 30 } else { 50 };
        assert_eq!(flash.programs.replica > least, more.contains("dpr"), "{}", flash.programs.replica);
        if collector.contains("idle-chip") {
            let least = if warm { least } else { 500 - 200 * u64::from(more.contains("dpr")) };
            assert!(report.moves.buffered > least && report.moves.in_flash > 0, "{:?}", report.moves);
        }
    }
}

/// Records all array legs, of every class, and all completions.
#[derive(Clone, Default)]
struct All(Arc<Mutex<Vec<String>>>);

impl Observer for All {
    fn leg(&mut self, leg: &LegRecord) {
        self.0.lock().unwrap().push(format!("{leg:?}"));
    }
    fn completed(&mut self, request: &Completed) {
        self.0.lock().unwrap().push(format!("{request:?}"));
    }
}

fn everything(mut dut: Dut) -> Vec<String> {
    let all = All::default();
    dut.ssd.observe(Box::new(all.clone()));
    dut.ssd.run();
    all.0.lock().unwrap().clone()
}

/// Without slots, idle-chip equals its inner collector, event for event.
#[test]
fn without_slots_nothing_changes() {
    for inner in ["serial", "preemptive", "queued"] {
        let wrapped = everything(busy(&format!("{{ idle-chip = {{ inner = \"{inner}\" }} }}"), ""));
        let plain = everything(busy(&format!("\"{inner}\""), ""));
        assert!(wrapped.len() > 20_000 && wrapped == plain, "{inner}");
    }
    // With equal hard and soft thresholds nothing is preempted.
    let run = |collector: &str, hard: bool| {
        let mut config = busy(collector, "").ssd.config().clone();
        // One plane per die, and static placement: the order of operations on a die after a collection is not tested here.
        (config.geometry.dies_per_chip, config.geometry.planes_per_die) = (1, 1);
        config.schemes.place = "CWDP".parse().unwrap();
        config.gc.hard_threshold = Some(config.gc.threshold).filter(|_| hard);
        everything(loaded(&config))
    };
    let (never, serial) = (run("\"preemptive\"", true), run("\"serial\"", false));
    assert!(never.len() > 20_000 && never == serial);
    assert!(never != run("\"preemptive\"", false));
}

/// Above the hard threshold, a read that finds no other operation at its chip waits for one step at most: an erase.
#[test]
fn a_preempted_collection_keeps_a_read_waiting_for_one_step_at_most() {
    let wait = |collector: &str, after: u64| {
        let (mut dut, due) = two_valid_pages(collector, "");
        dut.read(due + after, 0, PAGE);
        dut.completed().pop().unwrap().blame.waits()
    };
    // Read with transfer-out until 70,960; transfer-in with program until 711,920; the same again; the erase.
    let preempt = |after| wait("\"preemptive\"", after);
    assert_eq!(preempt(10_000), 60_960);
    assert_eq!(preempt(70_960), 0, "at the boundary it is there in time");
    assert_eq!(preempt(70_961), MOVE - 70_961);
    assert_eq!(preempt(1_423_841), ERASE - 1);
    assert_eq!(wait("\"serial\"", 10_000), 4_423_840 - 10_000);
    let worst = (0..450).map(|i| preempt(i * 10_000)).max().unwrap();
    assert!(worst <= ERASE, "{worst}");
}

/// Time at which a read of chip 0 is served that arrives `after` the start of a preempted collection there. If `busy`, the other
/// chips of its channel serve one read after the other.
fn start_beside(chips: u64, erase: &str, busy: bool, after: u64) -> u64 {
    let config = config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = {chips}, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"{erase}\", transfer = \"10ns/B\" }}
device = {{ exclusion = \"chip\", over_provisioning = 0.843, queue_depth = 1024 }}
gc = {{ threshold = \"27 pages\" }}
schemes = {{ collector = \"preemptive\" }}"
    ));
    let mut dut = Dut::new(&config);
    (1..chips).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    // The sixth page of chip 0 makes it due; two valid pages are moved.
    let first = 10_000_000;
    for (i, page) in [0, 1, 2, 3, 1, 2].into_iter().enumerate() {
        dut.write(first + i as u64 * 1_000_000, page * chips * PAGE, PAGE);
    }
    let due = first + 5_000_000 + WRITE;
    let traffic = (0..if busy { 120 } else { 0 }).flat_map(|i| (1..chips).map(move |lpn| (due + i * 20_000, lpn)));
    let mut reads: Vec<(u64, u64)> = traffic.chain([(due + after, 0)]).collect();
    reads.sort_unstable();
    reads.iter().for_each(|(at, lpn)| dut.read(*at, lpn * PAGE, PAGE));
    let done = dut.completed();
    let read = done.iter().find(|c| c.op == RequestOp::Read && c.offset == 0).unwrap();
    (read.start.unwrap() - read.arrival).0
}

/// Bounds of a wait for a preempted collection: one step, which may wait for a transfer of each other chip.
#[test]
fn a_read_beside_a_busy_channel_waits_for_one_step_and_a_transfer_of_each_chip() {
    const TRANSFER: u64 = 40_960;
    for (chips, erase, erase_ns) in [(2, "100us", 100_000), (4, "100us", 100_000), (4, "3ms", 3_000_000)] {
        let bound = |chips: u64| (chips * TRANSFER + 600_000).max(30_000 + chips * TRANSFER).max(erase_ns);
        let worst = |busy| (0..250).map(|i| start_beside(chips, erase, busy, 1 + i * 8_111)).max().unwrap();
        let (alone, beside) = (worst(false), worst(true));
        assert!(alone <= bound(1) && alone > bound(1) - 8_111, "{chips} chips, erase {erase}: {alone}");
        assert!(beside <= bound(chips), "{chips} chips, erase {erase}: {beside}");
        // The other chips have an effect, unless the erase is longer than all other steps.
        assert!(beside > bound(1) || bound(1) == erase_ns, "{chips} chips, erase {erase}: {beside}");
    }
}

/// Strictly below the hard threshold a collection keeps its die. Free pages are counted in the scope: in three planes, 26, 27 and
/// 27 when the first of them is collected.
#[test]
fn a_collection_below_the_hard_threshold_is_not_preempted() {
    let wait = |scope: &str, chips: u64, soft: u64, hard: u64| {
        // With two chips, the second one's 81 free pages count only in device scope.
        let planes = 3 * chips;
        let mut dut = Dut::new(&config(&format!(
            "geometry = {{ channels = {chips}, chips_per_channel = 1, dies_per_chip = 3, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device.over_provisioning = 0.843
gc = {{ scope = \"{scope}\", threshold = \"{soft} pages\", hard_threshold = \"{hard} pages\" }}
schemes = {{ place = \"dynamic\", collector = \"preemptive\" }}"
        )));
        // One write at a time goes to one die after the other; the last is the sixth page of the first.
        let again = [0, planes].into_iter().chain(1..planes);
        (0..4 * planes).chain(again).zip(0..).for_each(|(lpn, n)| dut.write(n * 1_000_000, lpn * PAGE, PAGE));
        let due = 5 * planes * 1_000_000 + WRITE;
        dut.read(due + 10_000, 0, PAGE);
        dut.completed().pop().unwrap().blame.waits()
    };
    let (preempted, kept) = (FETCH - 10_000, 4_423_840 - 10_000);
    for (scope, chips, soft, free) in
        [("plane", 1, 27, 26), ("chip", 1, 81, 80), ("chip", 2, 81, 80), ("device", 1, 81, 80), ("device", 2, 162, 161)]
    {
        assert_eq!(wait(scope, chips, soft, free), preempted, "{scope}, {free} free pages are not below {free}");
        assert_eq!(wait(scope, chips, soft, free + 1), kept, "{scope}, but below {}", free + 1);
    }
}

/// A read that waits for two collections has met two, and is one conflicted request. One program fills a page of both planes of a
/// die, so both are due at once; each has two pages to move.
#[test]
fn every_collection_that_a_request_waits_for_is_a_conflict() {
    let mut dut = Dut::new(&config(
        "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 8, pages_per_block = 4 }
timing = { read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }
device = { over_provisioning = 0.843, multi_plane = true }
gc = { threshold = \"27 pages\" }
schemes.collector = { idle-chip = { inner = \"serial\" } }",
    ));
    [0, 1, 2, 3, 0, 1].iter().zip(0..).for_each(|(pair, n)| dut.write(n * 1_000_000, pair * 2 * PAGE, 2 * PAGE));
    let due = 5 * 1_000_000 + WRITE + 40_960;
    dut.read(due + 10_000, 0, PAGE);
    let wait = dut.completed().pop().unwrap().blame.waits();
    assert_eq!(wait, 2 * (2 * MOVE + ERASE) - 10_000);
    let report = summary(&dut.ssd).idle_chip.unwrap();
    assert_eq!((report.conflicts.gc, report.conflicts.writeback, report.conflicts.total), (2, 0, 2));
    assert_eq!((report.conflicted.read.requests, report.conflicted.write.requests), (1, 0));
}

/// Nor where nothing watches and steps that end alone take no round: the read-out, and the program after it.
#[test]
fn a_step_that_ends_alone_asks_for_the_hard_threshold_too() {
    let wait = |hard: u64| {
        let config = config(&format!(
            "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device.over_provisioning = 0.843
gc = {{ threshold = \"27 pages\", hard_threshold = \"{hard} pages\" }}
schemes.collector = \"preemptive\""
        ));
        let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
        let mut submit = |at, op, page| {
            ssd.submit(Request { arrival: Nanos(at), op, offset: page * PAGE, bytes: PAGE });
        };
        // Pages 2 and 3 are to be moved when the sixth program has left 26 free pages.
        [0, 1, 2, 3, 0, 1].iter().zip(0..).for_each(|(lpn, n)| submit(n * 1_000_000, RequestOp::Write, *lpn));
        submit(5 * 1_000_000 + WRITE + 10_000, RequestOp::Read, 0);
        ssd.run();
        summary(&ssd).waiting_ns.read.max
    };
    assert_eq!(wait(26), Some(FETCH - 10_000), "26 free pages are not below 26: the read is served after one step");
    assert_eq!(wait(27), Some(2 * MOVE + ERASE - 10_000), "the collection keeps its die");
}

/// A preempted collection resumes as soon as free pages are below the hard threshold, even if host operations wait.
#[test]
fn a_paused_collection_goes_on_below_the_hard_threshold() {
    let start = |hard: u64| {
        let mut dut = Dut::new(&config(&format!(
            "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device.over_provisioning = 0.843
gc = {{ threshold = \"27 pages\", hard_threshold = \"{hard} pages\" }}
schemes.collector = \"preemptive\""
        )));
        // Pages 2 and 3 are to be moved when the sixth program has left 26 free pages.
        [0, 1, 2, 3, 0, 1].iter().zip(0..).for_each(|(lpn, n)| dut.write(n * 1_000_000, lpn * PAGE, PAGE));
        let due = 5 * 1_000_000 + WRITE;
        // When the first page has been read out, a write and a read wait; the write takes a page.
        dut.write(due + 10_000, 4 * PAGE, PAGE);
        dut.read(due + 20_000, 0, PAGE);
        dut.completed().pop().unwrap().start.unwrap().0 - due
    };
    // 25 free pages are not below 25: the read comes next. With a threshold of 26 the rest of the collection comes first.
    assert_eq!(start(25), FETCH + WRITE);
    assert_eq!(start(26), FETCH + WRITE + WRITE + MOVE + ERASE);
}

/// Reads that arrive while others are served also precede the collection.
#[test]
fn whoever_arrives_while_others_are_served_is_served_too() {
    let (mut dut, due) = two_valid_pages("\"preemptive\"", "");
    dut.read(due + 10_000, 0, PAGE);
    dut.read(due + FETCH + 10_000, 0, PAGE);
    dut.read(due + 2 * FETCH + 10_000, 0, PAGE);
    let done = dut.completed();
    let starts: Vec<u64> = done[16..].iter().map(|c| c.start.unwrap().0 - due).collect();
    assert_eq!(starts, [FETCH, 2 * FETCH, 3 * FETCH]);
}

/// Figures 21 to 23: every variant of the studies' commands is a valid configuration.
#[test]
fn the_studies_are_configurations() {
    let merge = |table: &mut toml::Table, other: toml::Table| {
        for (section, keys) in other {
            let section = table.entry(section).or_insert(toml::Value::Table(toml::Table::new()));
            section.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
        }
    };
    let key_value = |text: &str| text.split_once('=').map(|(key, value)| (key.to_string(), value.to_string())).unwrap();
    let mut variants = Vec::new();
    for study in ["buffer", "capacity", "chips"] {
        let path = format!("{}/../../studies/idle-chip/{study}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut base: toml::Table = include_str!("../../../../presets/idle-chip.toml").parse().unwrap();
        merge(&mut base, text.parse().unwrap());
        let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('#')).collect();
        let comments = comments.join(" ");
        for command in comments.split("ssdlab compare").skip(1) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let mut some = vec![base.clone()];
            for pair in words.windows(2).filter(|pair| ["--set", "--vary"].contains(&pair[0])) {
                let (key, values) = key_value(pair[1]);
                let set = |table: &toml::Table, value: &str| {
                    let mut table = table.clone();
                    merge(&mut table, format!("{key} = {value}").parse().unwrap());
                    table
                };
                some = some.iter().flat_map(|table| values.split(',').map(|value| set(table, value))).collect();
            }
            assert!(some.len() >= 6, "{command}");
            variants.extend(some);
        }
    }
    for variant in &variants {
        let config: Config = variant.to_string().parse().unwrap();
        assert_eq!(config.check().map_err(|error| error.to_string()), Ok(()));
        assert_eq!(config.schemes.collector.name(), "idle-chip");
    }
    let all = |key: fn(&Config) -> u32| {
        let configs = variants.iter().map(|variant| variant.to_string().parse::<Config>().unwrap());
        configs.map(|config| key(&config)).collect::<std::collections::BTreeSet<u32>>()
    };
    let slots = all(|config| config.staging.slots);
    assert!(slots.contains(&8) && slots.contains(&1024), "32 KiB to 4 MiB in pages of 4 KiB: {slots:?}");
    let chips = all(|config| config.geometry.channels * config.geometry.chips_per_channel);
    assert_eq!(chips, [4, 8, 16, 32, 64].into());
    let gibibytes = all(|config| (config.geometry.pages() >> 18) as u32);
    assert!([8, 16, 32, 64, 128, 256].iter().all(|size| gibibytes.contains(size)), "{gibibytes:?}");
}

#[test]
fn what_can_not_work_is_refused() {
    let refused = |text: &str, key: &str| {
        let error = config(text).check().unwrap_err();
        assert_eq!(error.key, key, "{error}");
    };
    refused("schemes.collector = \"idle-chip\"\nstaging.slots = 1", "schemes.place");
    refused("schemes = { collector = { preemptive = { inner = \"queued\" } } }", "schemes.collector");
    refused("schemes = { collector = { preemptive = { inner = \"preemptive\" } } }", "schemes.collector");
    let waits = "{ idle-chip = { writeback = \"queue_empty\", erase = \"after_writeback\" } }";
    refused(&format!("schemes = {{ place = \"dynamic\", collector = {waits} }}"), "schemes.collector");
    refused("gc.hard_threshold = \"1 blocks\"", "gc.hard_threshold");
    refused("gc.hard_threshold = \"4 blocks\"\nschemes.collector = \"preemptive\"", "gc.hard_threshold");
    refused(
        "gc.destination = \"any\"\nschemes = { collector = \"preemptive\", place = \"dynamic\" }",
        "gc.destination",
    );
    refused("faults.power_cut = [\"1s\"]\nnoc.model = \"formula\"", "faults.power_cut");
    let unprotected = "device.power_loss_protection = false\nfaults.power_cut = [\"1s\"]";
    refused(unprotected, "gc.reserve");
    assert!(config(&format!("{unprotected}\ngc.reserve = 2")).check().is_ok());
    refused(
        "device.keep_overwritten = true\nwear.programming = \"one-shot\"\ngeometry.pages_per_block = 63",
        "device.keep_overwritten",
    );
    let dpr = |knobs: &str| format!("schemes.route = {{ dpr = {{ {knobs} }} }}");
    refused(&dpr("k = 0"), "schemes.route");
    refused(&dpr("replica_pages = 0"), "schemes.route");
    refused(&dpr("replica_pages = 0.2"), "schemes.route");
    refused(&format!("{}\ngeometry.channels = 1\ngeometry.chips_per_channel = 1", dpr("")), "schemes.route");
    refused(&format!("{}\nnoc.model = \"formula\"", dpr("")), "noc.model");
    assert!(config(&dpr("replica_pages = 0.1")).check().is_ok());
    let raid = "raid = { layout = \"traditional\", group = 4 }\norder.chip_queue = 8";
    refused(&format!("device.keep_overwritten = true\n{raid}"), "device.keep_overwritten");
    // Two blocks of 64 pages in addition to the exported ones are enough, unless one more page must be kept, or a partial write
    // may be overwritten during its read phase.
    let tight = "geometry.blocks_per_plane = 16\ngc.threshold = \"1 pages\"\ndevice.over_provisioning = 0.125\n";
    refused(tight, "device.over_provisioning");
    let whole = format!("{tight}device.partial_write = \"whole-page\"\n");
    assert!(config(&whole).check().is_ok());
    refused(&format!("{whole}device.keep_overwritten = true"), "device.over_provisioning");
    assert!(config("schemes.collector = \"idle-chip\"").check().is_ok());
}
