//! GC in idle time (`schemes.trigger = "idle"`), to the nanosecond.
//!
//! One plane of eight blocks of four pages, eight of them the host's; tR 50,000, tPROG 600,000, tBERS 3,500,000, 5,120 ns a page on
//! the bus: a write takes 605,120. A die is idle for 1,000,000 before it is collected.

use crate::common::{Dut, array, causes, config, plane, summary};
use ssdlab_sim::Config;
use ssdlab_sim::units::{BlockId, Nanos, PlaneId};

const PAGE: u64 = 4096;
const WRITE: u64 = 605_120;
const READ: u64 = 55_120;
const MOVE: u64 = 50_000 + 2 * 5_120 + 600_000;
const ERASE: u64 = 3_500_000;
const AFTER: u64 = 1_000_000;

fn idle_below(pages: u64, more: &str) -> Config {
    plane(4, 8, 8, &format!("schemes.trigger = {{ idle = {{ after = \"1ms\", below = \"{pages} pages\" }} }}\n{more}"))
}

/// Writes these logical pages back to back from time 0. Returns when the last program ends.
fn write_all(dut: &mut Dut, pages: impl IntoIterator<Item = u64>) -> u64 {
    pages.into_iter().map(|lpn| dut.write(0, lpn * PAGE, PAGE)).count() as u64 * WRITE
}

/// The `n`-th collection ends at `at`, not a nanosecond earlier.
fn assert_ends(dut: &mut Dut, n: u64, at: u64) {
    dut.ssd.run_until(Nanos(at - 1));
    assert_eq!(summary(&dut.ssd).gc.collections, n - 1, "one nanosecond before {at}");
    dut.ssd.run_until(Nanos(at));
    assert_eq!(summary(&dut.ssd).gc.collections, n, "at {at}");
}

/// Of block 0, page 3 alone is valid. 25 pages are free when the last of seven writes ends.
const ONE_VICTIM: [u64; 7] = [0, 1, 2, 3, 0, 1, 2];

#[test]
fn a_die_is_collected_when_it_has_been_idle_for_long_enough() {
    let mut dut = Dut::new(&idle_below(26, ""));
    let idle = write_all(&mut dut, ONE_VICTIM) + AFTER;
    dut.read(idle + 1, 0, PAGE);
    assert_ends(&mut dut, 1, idle + MOVE + ERASE);
    let read = dut.completed()[7].clone();
    assert_eq!(read.completion.0, idle + MOVE + ERASE + READ);
    assert_eq!(causes(&read), [("die_gc_own", MOVE + ERASE - 1), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(summary(&dut.ssd).gc.collections, 1, "28 pages are free");
}

#[test]
fn no_die_is_collected_while_its_plane_has_pages_enough() {
    let mut dut = Dut::new(&idle_below(25, ""));
    write_all(&mut dut, ONE_VICTIM);
    dut.ssd.run();
    assert_eq!(summary(&dut.ssd).gc.collections, 0);
}

#[test]
fn an_arrival_of_the_same_nanosecond_comes_first() {
    let mut dut = Dut::new(&idle_below(26, ""));
    let idle = write_all(&mut dut, ONE_VICTIM) + AFTER;
    dut.read(idle, 0, PAGE);
    assert_ends(&mut dut, 1, idle + READ + AFTER + MOVE + ERASE);
    assert_eq!(dut.latencies()[7], READ);
}

/// Blocks 0 and 1 are stale: 20 pages are free, 24 after the first erase.
const TWO_VICTIMS: [u64; 12] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3];

#[test]
fn the_next_collection_follows_at_once_while_the_die_stays_idle() {
    let mut dut = Dut::new(&idle_below(25, ""));
    let idle = write_all(&mut dut, TWO_VICTIMS) + AFTER;
    assert_ends(&mut dut, 1, idle + ERASE);
    assert_ends(&mut dut, 2, idle + 2 * ERASE);
    dut.ssd.run();
    assert_eq!(summary(&dut.ssd).gc.collections, 2);
}

#[test]
fn a_read_that_came_during_a_collection_begins_the_idle_time_again() {
    let mut dut = Dut::new(&idle_below(25, ""));
    let idle = write_all(&mut dut, TWO_VICTIMS) + AFTER;
    dut.read(idle + ERASE, 0, PAGE);
    assert_ends(&mut dut, 1, idle + ERASE);
    assert_ends(&mut dut, 2, idle + ERASE + READ + AFTER + ERASE);
    assert_eq!(dut.latencies()[12], READ, "it came when the collection ended, and decisions come after arrivals");
}

/// Between two steps of a queued collection a read is served, and the die is no longer idle.
#[test]
fn a_queued_collection_in_idle_time_lets_a_read_in() {
    let mut dut = Dut::new(&idle_below(29, "schemes.collector = \"queued\""));
    // 3 is valid in block 0, and block 1 is stale.
    let idle = write_all(&mut dut, [0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0]) + AFTER;
    dut.read(idle + 1, 0, PAGE);
    // The stale one first.
    assert_ends(&mut dut, 1, idle + ERASE);
    assert_ends(&mut dut, 2, idle + ERASE + READ + AFTER + MOVE + ERASE);
}

#[test]
fn a_filled_device_is_idle_from_the_start() {
    let aged = "precondition = { mode = \"aged\", valid = 0.25, invalid = 0.25 }";
    let mut dut = Dut::new(&idle_below(17, aged));
    let fewest = (0..4).map(|block| dut.ssd.flash().valid(BlockId(block))).min().unwrap();
    assert_ends(&mut dut, 1, AFTER + u64::from(fewest) * MOVE + ERASE);
    dut.ssd.run();
    assert!(dut.ssd.sample().free_pages >= 17);
}

/// Of the two planes of a die, the one with fewer free pages goes first: lpn mod 2 is the plane.
#[test]
fn the_plane_with_the_fewest_free_pages_goes_first() {
    let two = format!(
        "{}geometry.blocks_per_plane = 8\ngeometry.pages_per_block = 4\ndevice.over_provisioning = 0.75
        gc.threshold = \"8 pages\"\ndevice.queue_depth = 64
        schemes.trigger = {{ idle = {{ after = \"1ms\", below = \"29 pages\" }} }}",
        array(1, 1, 1, 2)
    );
    let mut dut = Dut::new(&config(&two));
    // Four pages in plane 0, of which all are stale, and eight in plane 1; one more in each.
    let idle = write_all(&mut dut, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]) + AFTER;
    dut.ssd.run_until(Nanos(idle + ERASE));
    let free = |dut: &Dut| [0, 1].map(|plane| dut.ssd.flash().free_pages(PlaneId(plane)));
    assert_eq!(free(&dut), [27, 27], "plane 1 had 23");
    dut.ssd.run_until(Nanos(idle + 2 * ERASE));
    assert_eq!(free(&dut), [31, 27], "a tie: the lowest index");
    dut.ssd.run_until(Nanos(idle + 3 * ERASE));
    assert_eq!(free(&dut), [31, 31]);
}

#[test]
fn a_power_cut_begins_the_idle_time_again() {
    let mut dut = Dut::new(&idle_below(26, "faults.power_cut = [\"5ms\"]"));
    write_all(&mut dut, ONE_VICTIM);
    assert_ends(&mut dut, 1, 5_000_000 + AFTER + MOVE + ERASE);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |more: &str| {
        let error = config(more).check().expect_err(more);
        format!("{}: {}", error.key, error.message)
    };
    assert_eq!(
        refused("schemes.trigger = { idle = { below = \"3 blocks\" } }"),
        "schemes.trigger: idle collects a plane below 192 free pages, but GC starts below 192 anyway"
    );
    assert_eq!(
        refused("schemes.trigger = { idle = { after = \"2h\" } }"),
        "schemes.trigger: idle with after = \"7200s\", longer than an hour"
    );
    let (idle, text) = ("schemes.trigger = \"idle\"\n", refused("schemes.trigger = \"idle\"\ngc.scope = \"chip\""));
    assert_eq!(text, "gc.scope: an idle die is collected plane by plane, but gc.threshold does not apply to a plane");
    let text = refused(&format!("{idle}gc.time = \"none\""));
    assert_eq!(text, "gc.time: GC that takes no time needs no idle time");
    let text = refused(&format!(
        "{idle}raid.layout = \"lci\"\ndevice.over_provisioning = 0.2\nfaults.chip_fails = [{{ chip = 0, at = \"1s\" }}]"
    ));
    assert_eq!(text, "faults.chip_fails: GC in idle time is not simulated with chip failures");
}

#[test]
fn idle_time_needs_time() {
    let refusal = config("schemes.trigger = \"idle\"").check_mode(true).unwrap_err();
    assert_eq!(refusal.message, "idle needs simulated time, but requests are only counted");
    assert!(config("").check_mode(true).is_ok());
}

/// A new key counts in the digest only where it differs from its default.
#[test]
fn the_default_is_not_written() {
    let written = |more: &str| toml::to_string(&config(more)).unwrap();
    assert!(!written("").contains("trigger"));
    assert_eq!(written("schemes.trigger = \"threshold\""), written(""));
    assert!(
        written("schemes.trigger = \"idle\"")
            .contains("[schemes.trigger.idle]\nafter = \"10ms\"\nbelow = \"6 blocks\"")
    );
}
