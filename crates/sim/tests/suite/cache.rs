//! The write cache, to the nanosecond and on random small devices.

use crate::common::{Dut, array, causes, config, summary};
use proptest::prelude::*;
use ssdlab_sim::config::{CacheFlush, CacheRead, CacheWrite, Writeback};
use ssdlab_sim::units::{Bytes, Nanos, Ppm};
use ssdlab_sim::{Check, Completed, Config, Marks, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

/// One die and a cache of so many lines.
pub(crate) fn one_die(lines: u64, more: &str) -> Config {
    config(&format!(
        "{}device.queue_depth = 1024\ncache.size = \"{}B\"\ncache.time = \"1us\"\n{more}",
        array(1, 1, 1, 1),
        lines * PAGE
    ))
}

pub(crate) fn latencies(done: &[Completed]) -> Vec<u64> {
    done.iter().map(|c| (c.completion - c.arrival).0).collect()
}

fn four_writes(config: &Config) -> Dut {
    let mut dut = Dut::new(config);
    (0..4).for_each(|page| dut.write(0, page * PAGE, PAGE));
    dut
}

#[test]
fn writes_are_acknowledged_when_they_have_lines() {
    let mut dut = four_writes(&one_die(2, ""));
    let done = dut.completed();
    assert_eq!(latencies(&done), [1_000, 1_000, 607_120, 1_212_240]);
    assert_eq!(causes(&done[0]), [("memory", 1_000)]);
    assert_eq!(causes(&done[2]), [("memory", 1_000), ("cache", 606_120)]);
    assert_eq!(dut.ssd.now(), Nanos(2_421_480), "all is on flash");
    let summary = summary(&dut.ssd);
    let cache = summary.cache.unwrap();
    assert_eq!((cache.lines, cache.dirty_max, cache.waited, cache.absorbed), (2, 2, 2, 0));
    assert_eq!((cache.write_backs.eager, cache.write_backs.drain), (4, 0));
    assert_eq!((summary.flash.programs.cache, summary.flash.programs.total), (4, 4));
    assert_eq!(summary.write_amplification, Some(1.0));
    let total: u128 = summary.breakdown_ns.write.sum();
    assert_eq!(total, 1_000 + 1_000 + 607_120 + 1_212_240);
    // Without a cache.
    let mut dut = four_writes(&config(&format!("{}device.queue_depth = 1024", array(1, 1, 1, 1))));
    assert_eq!(dut.latencies(), [605_120, 1_210_240, 1_815_360, 2_420_480]);
    let summary = crate::common::summary(&dut.ssd);
    assert!(summary.cache.is_none() && summary.requests.flush.is_none() && summary.latency_ns.flush.is_none());
    assert!(summary.breakdown_ns.all.1.is_empty(), "no cause of a cache");
}

/// A read brings a page to a line while a partial write of the page waits for one: the write needs nothing from flash then, and its
/// program has the other sectors as they were.
#[test]
fn a_read_brings_what_a_waiting_partial_write_lacks() {
    let more = "cache.plp_budget = 1\ncache.read = \"all\"\nprecondition.mode = \"sequential\"";
    let mut dut = Dut::new(&one_die(4, more));
    // The line has one sector, and gets the others from the second read.
    dut.read(0, 0, 512);
    dut.read(1_000_000, 0, PAGE);
    dut.write(1_000_001, 5 * PAGE, PAGE);
    dut.write(1_000_002, 7 * 512, 512);
    dut.completed();
    let (cache, flash) = (summary(&dut.ssd).cache.unwrap(), summary(&dut.ssd).flash);
    assert_eq!((cache.waited, flash.reads.host, flash.programs.cache), (1, 2, 2));
}

#[test]
fn lines_reach_flash_one_after_the_other() {
    let ends = [606_120, 1_211_240, 1_816_360, 2_421_480];
    for (i, end) in ends.iter().enumerate() {
        let mut ssd = four_writes(&one_die(2, "")).ssd;
        ssd.run_until(Nanos(end - 1));
        assert_eq!(summary(&ssd).flash.programs.cache, i as u64 + 1);
        assert!(matches!(
            ssd.location(ssdlab_sim::units::Lpn(i as u32)),
            ssdlab_sim::device::mapping::Location::Staged(_)
        ));
        ssd.run_until(Nanos(*end));
        assert!(matches!(
            ssd.location(ssdlab_sim::units::Lpn(i as u32)),
            ssdlab_sim::device::mapping::Location::Flash(_)
        ));
    }
}

#[test]
fn a_flush_waits_for_earlier_writes() {
    let mut dut = Dut::new(&one_die(2, ""));
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.flush(10_000);
    let done = dut.completed();
    assert_eq!((done[2].op, done[2].completion), (RequestOp::Flush, Nanos(1_211_240)));
    assert_eq!(causes(&done[2]), [("cache", 1_201_240)]);
    assert_eq!(done[2].start, Some(Nanos(10_000)));
    let summary = summary(&dut.ssd);
    assert_eq!((summary.requests.flush, summary.requests.write), (Some(1), 2));
    assert_eq!(summary.latency_ns.flush.as_ref().unwrap().max, Some(1_201_240));
    assert_eq!(summary.latency_ns.all.count, 2, "flushes are a kind of their own");
    assert_eq!(summary.cache.unwrap().flushes, 1);
}

#[test]
fn a_flush_waits_for_a_slot_before_it_waits_for_data() {
    let cached = format!("cache.size = \"{}B\"\ncache.time = \"1us\"", 2 * PAGE);
    let mut dut = Dut::new(&config(&format!("{}device.queue_depth = 1\n{cached}", array(1, 1, 1, 1))));
    dut.write(0, 0, PAGE);
    dut.flush(100);
    let done = dut.completed();
    assert_eq!(done[1].completion, Nanos(1_000 + 5_120 + 600_000));
    assert_eq!(causes(&done[1]), [("queue", 900), ("cache", 605_120)]);
}

#[test]
fn a_flush_of_nothing_and_one_with_a_capacitor_take_no_time() {
    let mut dut = Dut::new(&one_die(2, "cache.flush = \"none\""));
    dut.flush(5);
    dut.write(10, 0, PAGE);
    dut.flush(20);
    assert_eq!(dut.latencies(), [0, 1_000, 0]);
}

#[test]
fn a_flush_writes_back_what_waits_for_nothing_else() {
    // One of eight lines is dirty, far below the watermark.
    let lazy = "cache.writeback = \"watermark\"";
    let mut dut = Dut::new(&one_die(8, lazy));
    dut.write(0, 0, PAGE);
    dut.flush(500);
    dut.write(600, 0, PAGE);
    let done = dut.completed();
    // The page is in at 1,000; the overwrite was absorbed before its program was selected.
    assert_eq!(latencies(&done), [1_000, 606_120 - 500, 1_000]);
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.absorbed, cache.write_backs.flush, cache.write_backs.drain), (1, 1, 0));
}

#[test]
fn an_overwrite_of_a_dirty_line_is_absorbed() {
    let mut dut = Dut::new(&one_die(2, "cache.writeback = \"watermark\""));
    dut.write(0, 7 * PAGE, PAGE);
    dut.write(3_000, 7 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [1_000, 1_000]);
    let summary = summary(&dut.ssd);
    let cache = summary.cache.unwrap();
    assert_eq!((cache.absorbed, cache.write_backs.drain, cache.dirty_max), (1, 1, 1));
    assert_eq!(summary.flash.programs.total, 1);
    assert_eq!(summary.write_amplification, Some(0.5));
}

/// Three clean lines, of pages 0, 1 and 2 in this order, some of which are hit; page 3 takes the line of one of them.
#[test]
fn a_clean_line_makes_room_by_its_age_or_by_its_last_use() {
    let lost = |evict: &str, read: &[u64], written: &[u64]| {
        let mut dut = Dut::new(&one_die(3, &format!("cache.evict = \"{evict}\"")));
        (0..3).for_each(|page| dut.write(2_000_000 * page, page * PAGE, PAGE));
        read.iter().zip(0..).for_each(|(page, n)| dut.read(6_000_000 + n * 100_000, page * PAGE, PAGE));
        written.iter().zip(0..).for_each(|(page, n)| dut.write(8_000_000 + n * 1_000_000, page * PAGE, PAGE));
        dut.write(11_000_000, 3 * PAGE, PAGE);
        (0..4).for_each(|page| dut.read(13_000_000 + 1_000_000 * page, page * PAGE, PAGE));
        let latencies = dut.latencies();
        // From memory, or from flash.
        let after = &latencies[latencies.len() - 4..];
        assert!(after.iter().all(|latency| [1_000, 55_120].contains(latency)), "{after:?}");
        (0..4).filter(|page| after[*page] == 55_120).collect::<Vec<_>>()
    };
    for (evict, read, written, page) in [
        ("fifo", vec![], vec![], 0),
        ("fifo", vec![0], vec![], 0),
        ("fifo", vec![0, 1], vec![], 0),
        ("lru", vec![], vec![], 0),
        ("lru", vec![0], vec![], 1),
        ("lru", vec![1, 0], vec![], 2),
        ("lru", vec![0, 2, 1], vec![], 0),
        ("lru", vec![], vec![0], 1),
    ] {
        assert_eq!(lost(evict, &read, &written), [page], "{evict}: {read:?} read, {written:?} written again");
    }
}

/// With the third of four lines one is written back. Pages 0 and 1 are dirty by then, and some have been written again.
#[test]
fn a_dirty_line_is_written_back_by_its_age_or_by_its_last_write() {
    let first = |order: &str, again: &[u64]| {
        let lazy = format!(
            "cache = {{ size = \"16KiB\", writeback = \"watermark\", high = 0.75, low = 0.5, order = \"{order}\" }}"
        );
        let mut dut = Dut::new(&config(&format!("{}{lazy}", array(1, 1, 1, 1))));
        [0, 1].iter().chain(again).chain(&[2]).zip(0..).for_each(|(page, n)| dut.write(n * 10_000, page * PAGE, PAGE));
        dut.ssd.run_until(Nanos(700_000));
        let on_flash = |page: &u32| {
            let at = dut.ssd.location(ssdlab_sim::units::Lpn(*page));
            matches!(at, ssdlab_sim::device::mapping::Location::Flash(_))
        };
        (0..3).filter(on_flash).collect::<Vec<_>>()
    };
    for (order, again, page) in [
        ("fifo", vec![], 0),
        ("fifo", vec![0], 0),
        ("lru", vec![], 0),
        ("lru", vec![0], 1),
        ("lru", vec![1, 0], 1),
        ("lru", vec![0, 1], 0),
    ] {
        assert_eq!(first(order, &again), [page], "{order}, {again:?} again");
    }
}

/// Three lines are dirty during the warm-up, and two when it ends. Nothing but an overwrite of one of these follows.
#[test]
fn most_dirty_lines_are_those_since_the_warm_up() {
    let mut dut = Dut::new(&one_die(4, "cache.writeback = \"watermark\"\nrun.warmup = \"4 requests\""));
    (0..3).for_each(|page| dut.write(page * 10_000, page * PAGE, PAGE));
    dut.trim(40_000, 2 * PAGE, PAGE);
    dut.write(50_000, 0, PAGE);
    dut.completed();
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.dirty_max, cache.absorbed, cache.write_backs.drain), (2, 1, 2));
}

#[test]
fn a_page_that_is_being_programmed_gets_a_second_line() {
    let mut dut = Dut::new(&one_die(2, ""));
    dut.write(0, 0, PAGE);
    dut.write(100_000, 0, PAGE);
    dut.write(200_000, 0, PAGE);
    // The third replaces the second, whose program waits.
    assert_eq!(dut.latencies(), [1_000, 1_000, 1_000]);
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.absorbed, cache.write_backs.eager + cache.write_backs.drain, cache.dirty_max), (1, 2, 2));
    assert_eq!(dut.ssd.version_of(ssdlab_sim::units::Lpn(0)), Some(3));
}

#[test]
fn a_host_operation_of_the_same_nanosecond_goes_first() {
    let mut dut = Dut::new(&one_die(2, ""));
    dut.write(0, 0, PAGE);
    dut.read(1_000, 9 * PAGE, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].completion, done[1].completion), (Nanos(1_000), Nanos(56_120)));
    // And behind a write-back, a read waits for it.
    let mut dut = Dut::new(&one_die(2, ""));
    dut.write(0, 0, PAGE);
    dut.read(2_000, 9 * PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(causes(&done[1]), [("die_writeback", 604_120), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn reads_are_served_from_lines_in_cache_time() {
    let mut dut = Dut::new(&one_die(4, ""));
    dut.write(0, 0, PAGE);
    dut.read(500, 0, PAGE);
    dut.read(300_000, 0, 512);
    // Clean since 606,120.
    dut.read(1_000_000, 512, 1024);
    dut.read(2_000_000, 9 * PAGE, PAGE);
    dut.read(3_000_000, 9 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [1_000, 1_000, 1_000, 1_000, 55_120, 55_120]);
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.hits, cache.misses), (3, 2));
    // Reads may fill lines, too, with the sectors that they bring.
    let mut dut = Dut::new(&one_die(1, "cache.read = \"all\""));
    dut.read(0, 9 * PAGE, 1024);
    dut.read(1_000_000, 9 * PAGE, 1024);
    dut.read(2_000_000, 9 * PAGE, PAGE);
    dut.read(3_000_000, 9 * PAGE, PAGE);
    dut.read(4_000_000, 8 * PAGE, PAGE);
    dut.read(5_000_000, 9 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [51_280, 1_000, 55_120, 1_000, 55_120, 55_120]);
    // Or keep nothing.
    let mut dut = Dut::new(&one_die(4, "cache.read = \"none\""));
    dut.write(0, 0, PAGE);
    dut.read(2_000, 0, PAGE);
    dut.read(1_000_000, 0, PAGE);
    assert_eq!(dut.latencies(), [1_000, 1_000, 55_120]);
}

#[test]
fn a_partial_write_is_filled_when_it_is_written_back() {
    let filled = "precondition.mode = \"sequential\"";
    let mut dut = Dut::new(&one_die(4, filled));
    dut.write(0, 0, 512);
    // The line has the first sector; the second is only on flash, behind the fill read.
    dut.read(2_000, 0, 512);
    dut.read(3_000, 512, 512);
    let done = dut.completed();
    // The fill read ends at 56,120. Then the line is complete, so the read is served from it at its turn.
    assert_eq!(latencies(&done), [1_000, 1_000, 56_120 - 3_000 + 1_000]);
    assert_eq!(causes(&done[2]), [("die_writeback", 53_120), ("memory", 1_000)]);
    let summary = summary(&dut.ssd);
    assert_eq!((summary.flash.reads.cache, summary.flash.programs.cache), (1, 1));
    assert_eq!(dut.ssd.now(), Nanos(56_120 + 605_120));
}

#[test]
fn a_fill_read_is_skipped_if_the_line_is_complete_at_its_turn() {
    let mut dut = Dut::new(&one_die(4, "precondition.mode = \"sequential\""));
    dut.write(0, 9 * PAGE, PAGE);
    dut.write(10, 0, 512);
    // The die is busy with page 9 until 606,120; the rest of page 0 comes meanwhile.
    dut.write(300_000, 512, PAGE - 512);
    assert_eq!(dut.latencies(), [1_000, 1_000, 1_000]);
    let summary = summary(&dut.ssd);
    assert_eq!((summary.flash.reads.cache, summary.flash.programs.cache), (0, 2));
    assert_eq!(summary.cache.unwrap().absorbed, 1);
}

#[test]
fn a_forced_write_is_acknowledged_by_flash() {
    let mut dut = Dut::new(&one_die(4, "cache.writeback = \"watermark\""));
    dut.write_through(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!(latencies(&done), [606_120]);
    assert_eq!(causes(&done[0]), [("array", 600_000), ("bus", 5_120), ("memory", 1_000)]);
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.fua_writes, cache.write_backs.fua), (1, 1));
    // Of a line that lacks sectors, and whose program waits for a read.
    let mut dut = Dut::new(&one_die(4, "cache.writeback = \"watermark\"\nprecondition.mode = \"sequential\""));
    dut.write_through(0, 0, 512);
    dut.read(2_000, 9 * PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(done[0].completion, Nanos(1_000 + 55_120 + 55_120 + 605_120));
    assert_eq!(causes(&done[0]), [("die_host", 55_120), ("array", 650_000), ("bus", 10_240), ("memory", 1_000)]);
}

#[test]
fn watermarks_decide_when_lines_are_written_back() {
    // Ten lines; write-back starts at eight dirty ones and stops at five.
    let mut dut = Dut::new(&one_die(10, "cache.writeback = \"watermark\""));
    (0..7).for_each(|page| dut.write(0, page * PAGE, PAGE));
    dut.ssd.run_until(Nanos(2_000));
    assert_eq!(summary(&dut.ssd).flash.programs.cache, 0);
    dut.write(3_000, 7 * PAGE, PAGE);
    dut.ssd.run_until(Nanos(10_000_000));
    assert_eq!(summary(&dut.ssd).flash.programs.cache, 3);
    let written = summary(&dut.ssd).cache.unwrap().write_backs;
    assert_eq!((written.watermark, written.drain), (3, 0));
    // It has stopped at five: a sixth one begins nothing until there are eight again.
    dut.write(20_000_000, 8 * PAGE, PAGE);
    dut.ssd.run_until(Nanos(30_000_000));
    assert_eq!(summary(&dut.ssd).flash.programs.cache, 3);
    dut.ssd.run();
    assert_eq!(summary(&dut.ssd).cache.unwrap().write_backs.drain, 6);
}

#[test]
fn idle_dies_take_their_own_lines() {
    let mut dut = Dut::new(&one_die(10, "cache.writeback = \"idle\""));
    dut.read(0, 20 * PAGE, PAGE);
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.ssd.run_until(Nanos(55_119));
    assert_eq!(summary(&dut.ssd).flash.programs.cache, 0, "the die is busy");
    dut.ssd.run_until(Nanos(660_239));
    assert_eq!(summary(&dut.ssd).flash.programs.cache, 1, "one at a time");
    dut.ssd.run();
    assert_eq!(
        summary(&dut.ssd).cache.unwrap().write_backs.idle + summary(&dut.ssd).cache.unwrap().write_backs.drain,
        2
    );
    assert_eq!(dut.ssd.now(), Nanos(55_120 + 2 * 605_120));
}

#[test]
fn a_trim_cancels_a_write_back() {
    let mut dut = Dut::new(&one_die(1, ""));
    dut.write(0, 0, PAGE);
    dut.write(10_000, PAGE, PAGE);
    dut.write(20_000, 2 * PAGE, PAGE);
    // Page 1 waits for the line; it takes none any more.
    dut.trim(30_000, PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(latencies(&done), [1_000, 20_000 + 1_000, 606_120 - 20_000 + 1_000]);
    let summary = summary(&dut.ssd);
    assert_eq!((summary.flash.programs.cache, summary.cache.unwrap().trimmed), (2, 1));
}

#[test]
fn through_and_none_go_to_flash_as_without_a_cache() {
    let mut dut = Dut::new(&one_die(2, "cache.write = \"through\""));
    dut.write(0, 0, PAGE);
    dut.read(700_000, 0, PAGE);
    dut.write(800_000, 0, 512);
    dut.flush(900_000);
    let done = dut.completed();
    // The partial write takes what it lacks from the line, so it needs no merge read.
    assert_eq!(latencies(&done), [605_120, 1_000, 605_120, 505_120]);
    assert_eq!(summary(&dut.ssd).flash.programs.host, 2);
    assert_eq!(summary(&dut.ssd).flash.reads.total, 0);
    let mut dut = Dut::new(&one_die(2, "cache.write = \"none\"\ncache.read = \"all\""));
    dut.write(0, 0, PAGE);
    dut.read(700_000, 0, PAGE);
    dut.read(800_000, 0, PAGE);
    assert_eq!(dut.latencies(), [605_120, 55_120, 1_000]);
}

/// The cut, and its counts of lost, torn and kept pages.
fn cut(more: &str, at: u64, submit: impl FnOnce(&mut Dut)) -> (u64, u64, u64) {
    let mut dut = Dut::new(&one_die(2, &format!("faults.power_cut = [\"{at}ns\"]\n{more}")));
    submit(&mut dut);
    dut.ssd.run();
    let cuts = summary(&dut.ssd).power_cuts;
    assert_eq!(cuts.len(), 1);
    (cuts[0].lost_pages, cuts[0].torn_pages, cuts[0].kept_pages)
}

#[test]
fn a_power_cut_loses_lines_unless_a_capacitor_drains_them() {
    let bare = "device.power_loss_protection = false\ngc.reserve = 2";
    let writes = |dut: &mut Dut| (0..4).for_each(|page| dut.write(0, page * PAGE, PAGE));
    assert_eq!(cut(bare, 500_000, writes), (2, 1, 0));
    assert_eq!(cut("", 500_000, writes), (0, 0, 2));
    let flushed = |dut: &mut Dut| {
        dut.write(0, 0, PAGE);
        dut.write(0, PAGE, PAGE);
        dut.flush(10_000);
        dut.write(1_250_000, 2 * PAGE, PAGE);
    };
    assert_eq!(cut(bare, 1_300_000, flushed), (1, 1, 2));
    // What happens at the nanosecond of the cut happens before it.
    assert_eq!(cut(bare, 606_120, |dut: &mut Dut| dut.write(0, 0, PAGE)), (0, 0, 1));
    assert_eq!(cut(bare, 606_119, |dut: &mut Dut| dut.write(0, 0, PAGE)), (1, 1, 0));
}

#[test]
fn a_budget_bounds_the_dirty_lines() {
    let mut dut = four_writes(&one_die(4, "cache.plp_budget = 1"));
    assert_eq!(dut.latencies(), [1_000, 607_120, 1_213_240, 1_819_360]);
    assert_eq!(summary(&dut.ssd).cache.unwrap().dirty_max, 1);
}

#[test]
fn a_huge_cache_on_an_idle_device_takes_cache_time() {
    let mut dut = Dut::new(&one_die(4096, "cache.writeback = \"idle\""));
    (0..500).for_each(|i| dut.write(i * 700_000, i % 100 * PAGE, PAGE));
    assert!(dut.latencies().iter().all(|ns| *ns == 1_000));
}

/// The last requests are admitted when slots become free, and complete in the same nanosecond.
#[test]
fn a_last_request_served_from_memory_starts_the_drain() {
    let mut config = one_die(2, "cache.read = \"all\"\ncache.writeback = \"watermark\"");
    (config.cache.time, config.device.queue_depth) = (Some(Nanos::ZERO), 2);
    let mut dut = Dut::new(&config);
    (0..4).for_each(|_| dut.read(0, 0, PAGE));
    dut.write(10_000, 0, PAGE);
    (0..2).for_each(|_| dut.read(10_000, 0, PAGE));
    assert_eq!(dut.latencies().len(), 7);
    assert_eq!(summary(&dut.ssd).cache.unwrap().write_backs.drain, 1);
}

#[test]
fn rules_name_what_a_cache_lacks() {
    for (toml, key) in [
        ("cache.size = \"2KiB\"", "cache.size"),
        ("cache = { size = \"1MiB\", plp_budget = 0 }", "cache.plp_budget"),
        ("cache = { size = \"1MiB\", low = 0.8 }", "cache.low"),
        ("cache = { size = \"1MiB\", flush = \"none\" }\ndevice.power_loss_protection = false", "cache.flush"),
        ("cache = { size = \"1MiB\", plp_budget = 4 }\ndevice.power_loss_protection = false", "cache.plp_budget"),
        ("cache = { size = \"1MiB\", write = \"through\", read = \"none\" }", "cache.read"),
        ("cache = { size = \"1MiB\", write = \"none\" }", "cache.read"),
        ("cache.size = \"1MiB\"\nraid.layout = \"lci\"\nraid.group = 4", "raid.layout"),
        ("cache.size = \"1MiB\"\nnoc.model = \"formula\"", "noc.model"),
    ] {
        let refusal = config(toml).check().unwrap_err();
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(!refusal.help.is_empty());
    }
    assert!(config("cache.size = \"1MiB\"").check_mode(true).is_err());
}

/// Keys of a random cache.
pub(crate) type Keys = (u64, u8, u8, u8, bool, bool, bool);

pub(crate) fn keys() -> impl Strategy<Value = Keys> {
    (1u64..9, 0u8..4, 0u8..3, 0u8..3, any::<bool>(), any::<bool>(), any::<bool>())
}

/// A random small device with a random cache, without what caches are not simulated with.
pub(crate) fn with_cache(toml: &str, (lines, write, read, writeback, evict, order, timed): Keys) -> Config {
    let mut config = crate::worlds::plain(toml);
    config.staging.slots = 0;
    config.schemes.route = Default::default();
    config.device.mapping_unit = ssdlab_sim::config::MappingUnit::Page;
    config.wear.programming = ssdlab_sim::config::Programming::Page;
    let cache = &mut config.cache;
    cache.size = Bytes(lines * config.geometry.page_size.0);
    cache.write = [CacheWrite::Back, CacheWrite::Back, CacheWrite::Through, CacheWrite::None][usize::from(write)];
    cache.read = [CacheRead::Written, CacheRead::All, CacheRead::None][usize::from(read)];
    cache.writeback = [Writeback::Eager, Writeback::Watermark, Writeback::Idle][usize::from(writeback)];
    cache.high = Ppm(700_000);
    cache.evict = if evict { ssdlab_sim::config::CacheEvict::Lru } else { ssdlab_sim::config::CacheEvict::Fifo };
    cache.order = if order { ssdlab_sim::config::CacheOrder::Lru } else { ssdlab_sim::config::CacheOrder::Fifo };
    cache.time = timed.then_some(Nanos(1_500));
    if config.device.power_loss_protection {
        cache.plp_budget = Some(lines as u32).filter(|_| lines % 3 == 0).map(|n| n / 3);
        cache.flush = if lines % 4 == 0 { CacheFlush::None } else { CacheFlush::Program };
    }
    config
}

/// Submits requests, some with forced unit access, and flushes between them.
pub(crate) fn submit_all(ssd: &mut Ssd, requests: &[(u64, u8, u32, u32)]) -> u64 {
    let capacity = ssd.capacity_bytes() / 512;
    let (mut arrival, mut last, mut flushes) = (0, 0, 0);
    for (gap, kind, place, length) in requests {
        arrival += if gap % 4 == 0 { 0 } else { *gap };
        let page = ssd.page_bytes() / 512;
        let first = u64::from(*place) * capacity / 1_000_000;
        let longest = (capacity - first).min(4 * page);
        let sectors = 1 + u64::from(*length) * (longest - 1) / 1_000_000;
        let (first, sectors) = if kind % 2 == 0 { (first / page * page, page.min(capacity)) } else { (first, sectors) };
        let part = u64::from(*length) % page;
        let (first, sectors) =
            if kind % 6 == 1 { (last / page * page + part, 1 + part.min(page - part - 1)) } else { (first, sectors) };
        last = first;
        let op = match kind {
            0..6 => RequestOp::Read,
            6..17 => RequestOp::Write,
            17 => RequestOp::Flush,
            _ => RequestOp::Trim,
        };
        flushes += u64::from(op == RequestOp::Flush);
        let marks = Marks { fua: op == RequestOp::Write && gap % 7 == 0, ..Marks::default() };
        let request = Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: sectors * 512 };
        ssd.submit_marked(request, marks, std::iter::empty());
    }
    flushes
}

proptest! {
    #![proptest_config(crate::common::worlds(600))]

    /// Random devices under the full oracle: nothing is lost, and programs are what was accepted and not absorbed or trimmed.
    #[test]
    fn worlds_with_a_cache_lose_nothing(toml in crate::worlds::device(), keys in keys(), requests in crate::worlds::requests()) {
        let config = with_cache(&toml, keys);
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            let mut ssd = Ssd::new(&config, 7, check).unwrap();
            ssd.set_fusing(fusing);
            let flushes = submit_all(&mut ssd, &requests);
            ssd.run();
            (summary(&ssd), flushes)
        };
        let (one, flushes) = run(Check::Full, false);
        let cache = one.cache.clone().unwrap();
        if config.run.warmup.is_none() {
            prop_assert_eq!(cache.flushes, flushes);
            let accepted = one.pages.written;
            prop_assert_eq!(one.flash.programs.host + one.flash.programs.cache, accepted - cache.absorbed - cache.trimmed);
            prop_assert_eq!(one.requests.flush, Some(flushes));
        }
        if config.cache.write != CacheWrite::Back {
            prop_assert_eq!(one.flash.programs.cache + cache.absorbed + cache.trimmed, 0);
        }
        let most = config.cache.plp_budget.map_or(cache.lines, u64::from);
        prop_assert!(cache.dirty_max <= most);
        let latency = &one.latency_ns.all;
        let total = latency.mean.unwrap_or(0.0) * latency.count as f64;
        prop_assert!((one.breakdown_ns.all.sum() as f64 - total).abs() <= 1e-9 * total + 1.0);
        for check in [Check::Off, Check::Sampled] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, true).0));
        }
    }

    /// Overwrites under dynamic placement go to other planes. A cut undoes them, and a plane may then hold more valid pages than it
    /// has room for: recovery moves them to other planes, and needs no memory for that.
    #[test]
    fn overfull_planes_need_no_memory_at_a_cut(
        keys in keys(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 1..6),
        blocks in 8u32..30,
        per_block in 2u32..6,
        victim in prop::sample::select(vec!["random", "greedy", "fifo"]),
    ) {
        let planes = "geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2";
        let toml = format!(
            "{planes}, blocks_per_plane = {blocks}, pages_per_block = {per_block} }}
            device.power_loss_protection = false
            gc.threshold = \"1 pages\"
            precondition.mode = \"random\"
            ftl = {{ write_points = \"separate\", wear_levelling = \"static\" }}
            schemes = {{ place = \"dynamic\", path = \"checked\", order = \"piq\", victim = \"{victim}\" }}"
        );
        let mut config = with_cache(&toml, keys);
        config.cache.write = CacheWrite::Back;
        // As little spare as there may be: blocks that GC fills, as many reserved ones and one more, and a page.
        let kept = 2 * config.reserve() + 1;
        let data = (blocks - kept) * (per_block - config.metadata_pages()) - 1;
        config.gc.reserve = Some(config.reserve() + 1);
        config.device.over_provisioning = Ppm(1_000_000 - data * 1_000_000 / (blocks * per_block));
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        config.check().unwrap();
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
        submit_all(&mut ssd, &requests);
        ssd.run();
        for cut in summary(&ssd).power_cuts {
            prop_assert_eq!(cut.held_pages, 0, "{:?}", cut);
        }
    }

    /// After a completed flush and a power cut, no flushed version is missing (the oracle panics); with a capacitor none is.
    #[test]
    fn flushed_pages_survive_power_cuts(toml in crate::worlds::device(), keys in keys(), requests in crate::worlds::requests(), cuts in prop::collection::vec(0u64..80_000_000, 1..6)) {
        let mut config = with_cache(&toml, keys);
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
        submit_all(&mut ssd, &requests);
        ssd.run();
        for cut in summary(&ssd).power_cuts {
            prop_assert!(cut.stale_pages <= cut.lost_pages);
            prop_assert!(cut.lost_pages <= cut.exposed_pages + cut.superseded_pages, "{:?}", cut);
            prop_assert!(cut.lost_pages == 0 || !config.survives_power_cuts(), "{:?}", cut);
            prop_assert!(cut.held_pages == 0 || config.device.power_loss_protection, "{:?}", cut);
        }
    }
}

/// What happened before measuring began is in no result.
#[test]
fn warm_up_is_not_counted() {
    let config = config(
        "cache = { size = \"1MiB\", writeback = \"watermark\" }
         run.warmup = \"4 requests\"",
    );
    let mut dut = Dut::new(&config);
    for (i, page) in [7, 7, 8, 7, 8, 9, 9].into_iter().enumerate() {
        dut.write(10_000 * i as u64, page * PAGE, PAGE);
    }
    dut.completed();
    let all = summary(&dut.ssd);
    let cache = all.cache.unwrap();
    // After the fourth request: pages 8, 9 and 9 are written, with pages 7 and 8 dirty already.
    assert_eq!((all.pages.written, cache.absorbed, cache.dirty_max), (3, 2, 3));
}

/// A read began while a partial write of its page waited for a line: what it brings is in the line that the write got meanwhile.
#[test]
fn a_read_fills_a_line_that_was_taken_while_it_ran() {
    let config = config("geometry.channels = 2\ncache.size = \"4KiB\"");
    let mut dut = Dut::new(&config);
    dut.read(0, PAGE, PAGE);
    dut.write(100_000, 0, PAGE);
    dut.write(680_000, PAGE, 512);
    dut.read(680_001, PAGE, PAGE);
    dut.flush(800_000);
    let flush = dut.completed().into_iter().find(|one| one.op == RequestOp::Flush).unwrap();
    // The line is free at 705,120, the read ends at 735,121; without a fill read the program ends 605,120 after it was issued.
    assert_eq!((flush.completion, summary(&dut.ssd).cache.unwrap().fill_reads), (Nanos(1_340_241), 0));
}

/// The same if another partial write of the page comes while the read runs.
#[test]
fn a_read_fills_a_line_although_another_part_is_written_meanwhile() {
    let one_line = config("geometry.channels = 2\ncache.size = \"4KiB\"");
    let mut dut = Dut::new(&one_line);
    dut.read(0, PAGE, PAGE);
    dut.write(100_000, 0, PAGE);
    dut.write(680_000, PAGE, 512);
    dut.read(680_001, PAGE, PAGE);
    dut.write(690_000, PAGE + 512, 512);
    dut.flush(800_000);
    let flush = dut.completed().into_iter().find(|one| one.op == RequestOp::Flush).unwrap();
    assert_eq!((flush.completion, summary(&dut.ssd).cache.unwrap().fill_reads), (Nanos(1_340_241), 0));
    // A line that held a part before the read began, and is written meanwhile, is complete at the turn of its fill read.
    let fills = |held: u64| {
        let mut dut = Dut::new(&one_die(4, "cache.read = \"all\""));
        dut.read(0, PAGE, held);
        dut.read(1_000_000, PAGE + 512, PAGE - 512);
        dut.write(1_010_000, PAGE, 512);
        let done = dut.completed();
        assert_eq!(done[1].completion, Nanos(1_050_000 + (PAGE - 512) * 5 / 4));
        summary(&dut.ssd).cache.unwrap().fill_reads
    };
    assert_eq!(fills(512), 0);
    // A read that ran before its page had a line fills none.
    let mut dut = Dut::new(&one_die(4, "cache.read = \"all\"\nprecondition.mode = \"sequential\""));
    dut.read(1_000_000, PAGE + 512, PAGE - 512);
    dut.write(1_010_000, PAGE, 512);
    dut.completed();
    assert_eq!(summary(&dut.ssd).cache.unwrap().fill_reads, 1);
}

/// A flush waits for no line of a page that was trimmed since, nor for an older one that is being programmed.
#[test]
fn a_flush_waits_for_nothing_that_is_trimmed() {
    for writes in [1, 2] {
        let mut dut = Dut::new(&config("cache.size = \"64KiB\""));
        (0..writes).for_each(|i| dut.write(1_000 * i, 0, PAGE));
        dut.flush(2_000);
        dut.ssd.submit(Request { arrival: Nanos(3_000), op: RequestOp::Trim, offset: 0, bytes: PAGE });
        let flush = dut.completed().into_iter().find(|one| one.op == RequestOp::Flush).unwrap();
        assert_eq!(flush.completion, Nanos(3_000), "{writes}");
    }
}

/// Lines that get ready at one time are written back in their order, whoever waits for them.
#[test]
fn a_forced_write_does_not_overtake_an_older_line() {
    let one_die = crate::common::array(1, 1, 1, 1);
    let mut dut = Dut::new(&config(&format!("{one_die}cache = {{ size = \"64KiB\", time = \"1us\" }}")));
    dut.write(0, 0, PAGE);
    let request = Request { arrival: Nanos(0), op: RequestOp::Write, offset: PAGE, bytes: PAGE };
    dut.ssd.submit_marked(request, Marks { fua: true, ..Marks::default() }, std::iter::empty());
    let done: Vec<_> = dut.completed().iter().map(|one| one.completion.0).collect();
    assert_eq!(done, [1_000, 1_211_240]);
}
