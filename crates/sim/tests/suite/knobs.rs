//! Knobs of policies by their effect: a small scene in which the values of a knob give different results, each by hand. Knobs that
//! are not here have such a test in the module of their scheme.
//!
//! tR 50,000, tPROG 600,000, tBERS 3,500,000, 5,120 ns a page on the bus, unless a scene says otherwise; times in ns.

use crate::cache::{latencies, one_die};
use crate::common::{Dut, array, config, plane, summary};
use crate::{brr, dpr, idle_chip};
use ssdlab_sim::device::mapping::Location;
use ssdlab_sim::units::{Lpn, Nanos};

const PAGE: u64 = 4096;
const READ: u64 = 55_120;
const WRITE: u64 = 605_120;

// Victims.

/// A plane of eight blocks of four pages with three closed blocks, collected when the twelfth page is on flash. The block `empty` (0 or
/// 1) has no valid page, the other two are fully valid. Returns whether the first collection took the empty one.
fn takes_the_empty_block(victim: &str, empty: u64, seed: u64) -> bool {
    let mut dut = Dut::seeded(&plane(4, 8, 21, &format!("schemes.victim = {victim}")), seed);
    let overwritten = 4 * empty..4 * empty + 4;
    (0..8).chain(overwritten).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    // An erase alone; a fully valid victim takes 4 x 660,240 more.
    dut.ssd.run_until(Nanos(12 * WRITE + 3_500_000));
    let gc = summary(&dut.ssd).gc;
    (gc.collections, gc.moved_pages) == (1, 0)
}

#[test]
fn victims_differ_in_the_block_that_they_take() {
    for (victim, first, second) in
        [("greedy", true, true), ("fifo", true, false), ("random+", true, true), ("cost-benefit", true, true)]
    {
        let name = format!("\"{victim}\"");
        let takes = [0, 1].map(|empty| takes_the_empty_block(&name, empty, 1));
        assert_eq!(takes, [first, second], "{victim}");
    }
}

/// Of three closed blocks, d draws with replacement meet the empty one with probability 1 - (2/3)^d.
#[test]
fn d_choices_draws_d_blocks() {
    let seeds = 300;
    for (victim, draws) in
        [("\"random\"", 1), ("{ d-choices = { d = 1 } }", 1), ("{ d-choices = { d = 3 } }", 3), ("\"d-choices\"", 10)]
    {
        let found = (0..seeds).filter(|seed| takes_the_empty_block(victim, 1, *seed)).count() as f64;
        let share = 1.0 - (2.0f64 / 3.0).powi(draws);
        // Four standard deviations.
        let room = 4.0 * (share * (1.0 - share) * seeds as f64).sqrt();
        assert!((found - share * seeds as f64).abs() <= room, "{victim}: {found} of {seeds}, {share:.3} expected");
    }
}

// Buffered collections (paper A's times).

/// Page 6 waits in the buffer for page 9 when the host writes it. Absorbed, it takes the buffer's 50 ns; else an idle chip programs it.
#[test]
fn a_write_of_a_waiting_page_is_absorbed_unless_told_otherwise() {
    for (absorb, latency, host) in [(true, 50, 16), (false, idle_chip::WRITE, 17)] {
        let collector = format!("{{ idle-chip = {{ absorb = {absorb} }} }}");
        let (mut dut, due) = idle_chip::two_valid_pages(&collector, "staging.slots = 2");
        dut.read(due - 1, 0, PAGE);
        dut.write(due + 100_000, 6 * PAGE, PAGE);
        assert_eq!(*dut.latencies().last().unwrap(), latency, "absorb = {absorb}");
        assert_eq!(summary(&dut.ssd).flash.programs.host, host, "absorb = {absorb}");
    }
}

/// The chip is free when both pages are in the buffer. It is erased at once, or when they are on flash.
#[test]
fn a_victim_is_erased_first_or_after_its_write_back() {
    let free = |erase: &str, after: i64| {
        idle_chip::chip_free(&format!("{{ idle-chip = {{ erase = \"{erase}\" }} }}"), 2, after)
    };
    let out = 2 * idle_chip::FETCH;
    assert_eq!(free("first", -1), out + idle_chip::ERASE);
    assert_eq!(free("after_writeback", -1), out);
}

// Redirected and replicated reads.

/// Chip 6 has one read and chip 0 has four: redirected if 2 L_r are at most the 40 us to the next arrival for chip 6.
#[test]
fn the_expected_time_of_a_read_decides_about_its_redirection() {
    for (read, expected) in [("20us", (75_000, 1)), ("21us", (125_000, 0))] {
        assert_eq!(brr::redirect(1_040, &format!("{{ brr = {{ read = \"{read}\" }} }}")), expected, "{read}");
    }
}

/// Of 96 pages, 0.02 are one page and 0.021 are two. No more pages wait for a copy than there may be copies.
#[test]
fn the_share_of_second_copies_bounds_them() {
    for (share, pages) in [("0.02", 1), ("0.021", 2)] {
        let (mut dut, due) = dpr::device(&format!("{{ dpr = {{ k = 1, replica_pages = {share} }} }}"));
        dut.read(due + 10_000, 0, PAGE);
        dut.read(due + 20_000, 6 * PAGE, PAGE);
        dut.ssd.run();
        let report = summary(&dut.ssd).dpr.unwrap();
        assert_eq!((report.blocked_reads, report.copies, report.pages_max), (2, pages, pages), "{share}");
    }
}

// The write cache.

/// Page 0 became dirty first and was written last; page 1 was read last. The third dirty line of three starts the write-back.
#[test]
fn lines_are_written_back_by_first_or_last_write() {
    for (order, first) in [("fifo", 0), ("lru", 1)] {
        let lazy = format!(
            "cache = {{ size = \"{}B\", time = \"1us\", writeback = \"watermark\", high = 1.0, low = 0.5, order = \"{order}\" }}",
            3 * PAGE
        );
        let mut dut = Dut::new(&config(&format!("{}{lazy}", array(1, 1, 1, 1))));
        dut.write(0, 0, PAGE);
        dut.write(10_000, PAGE, PAGE);
        dut.write(20_000, 0, PAGE);
        dut.read(25_000, PAGE, PAGE);
        dut.write(30_000, 2 * PAGE, PAGE);
        let on_flash = |dut: &Dut| [0, 1, 2].map(|lpn| matches!(dut.ssd.location(Lpn(lpn)), Location::Flash(_)));
        // It counts from its admission on; the other two have been in the cache for long.
        dut.ssd.run_until(Nanos(30_000 + WRITE - 1));
        assert_eq!(on_flash(&dut), [false; 3], "{order}");
        dut.ssd.run_until(Nanos(30_000 + WRITE));
        assert_eq!(on_flash(&dut), [first == 0, first == 1, false], "{order}");
    }
}

/// Three clean lines, taken for pages 0, 1 and 2 in this order; then a read hits page 0.
#[test]
fn lines_make_room_by_first_or_last_use() {
    for (evict, hits) in [("fifo", [false, false, true, true, true]), ("lru", [true, false, false, true, true])] {
        let mut dut = Dut::new(&one_die(3, &format!("cache.evict = \"{evict}\"")));
        (0..3).for_each(|page| dut.write(2_000 * page, page * PAGE, PAGE));
        // All are on flash at 1,000 + 3 x 605,120.
        dut.read(2_000_000, 0, PAGE);
        dut.write(2_100_000, 3 * PAGE, PAGE);
        dut.write(3_000_000, 4 * PAGE, PAGE);
        (0..5).for_each(|page| dut.read(5_000_000 + 100_000 * page, page * PAGE, PAGE));
        let reads = latencies(&dut.completed())[6..].to_vec();
        assert_eq!(reads, hits.map(|hit| if hit { 1_000 } else { READ }), "{evict}");
    }
}

/// What a read finds: of a written page that is on flash, of the same again, and of a page never written, twice.
#[test]
fn a_cache_keeps_for_reads_what_it_is_told_to() {
    for (read, hits) in [
        ("written", [true, true, false, false]),
        ("all", [true, true, false, true]),
        ("none", [false, false, false, false]),
    ] {
        let mut dut = Dut::new(&one_die(4, &format!("cache.read = \"{read}\"")));
        dut.write(0, 0, PAGE);
        for (i, page) in [0, 0, 9, 9].into_iter().enumerate() {
            dut.read(1_000_000 + 100_000 * i as u64, page * PAGE, PAGE);
        }
        assert_eq!(latencies(&dut.completed())[1..], hits.map(|hit| if hit { 1_000 } else { READ }), "{read}");
    }
}

/// Of ten lines, write-back begins with `high` dirty ones and ends with `low`.
#[test]
fn watermarks_are_shares_of_the_lines() {
    for (high, low, begins, ends) in [(0.4, 0.2, 4, 2), (0.6, 0.1, 6, 1)] {
        let more = format!("cache.writeback = \"watermark\"\ncache.high = {high}\ncache.low = {low}");
        let written = |lines: u64| {
            let mut dut = Dut::new(&one_die(10, &more));
            (0..lines).for_each(|page| dut.write(0, page * PAGE, PAGE));
            // The host has more to send, so nothing is drained.
            dut.write(90_000_000, 0, PAGE);
            dut.ssd.run_until(Nanos(80_000_000));
            summary(&dut.ssd).flash.programs.cache
        };
        assert_eq!([begins - 1, begins].map(written), [0, begins - ends], "{high}, {low}");
    }
}

// Partial pages.

/// A read of 512 B moves them, or its page.
#[test]
fn a_partial_read_moves_its_bytes_or_its_page() {
    for (partial, bus) in [("bytes", 640), ("whole-page", 5_120)] {
        let mut dut = Dut::new(&config(&format!("{}device.partial_read = \"{partial}\"", array(1, 1, 1, 1))));
        dut.read(0, 0, 512);
        assert_eq!(dut.latencies(), [50_000 + bus], "{partial}");
    }
}

/// A write of 512 B of a page on flash reads it before, or does not.
#[test]
fn a_partial_write_reads_the_old_page_or_does_not() {
    for (partial, reads) in [("read-modify-write", 1), ("whole-page", 0)] {
        let mut dut = Dut::new(&config(&format!("{}device.partial_write = \"{partial}\"", array(1, 1, 1, 1))));
        dut.write(0, 0, PAGE);
        dut.write(1_000_000, 0, 512);
        assert_eq!(dut.latencies(), [WRITE, reads * READ + WRITE], "{partial}");
        assert_eq!(summary(&dut.ssd).flash.reads.total, reads, "{partial}");
    }
}
