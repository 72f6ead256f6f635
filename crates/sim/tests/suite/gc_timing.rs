//! Costs of GC and the waits for it, to the nanosecond.
//!
//! Unless said otherwise: tR 50,000, tPROG 600,000, tBERS 3,500,000, 4 KiB pages of 5,120 ns on the bus; times in ns.

use crate::common::{Dut, array, causes, config, plane, spent, summary};
use ssdlab_sim::blame::Cause;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};
use ssdlab_sim::{Completed, Config};

const PAGE: u64 = 4096;
/// A host program of a page with the default timing.
const WRITE: u64 = 605_120;
/// An external move of a page with the default timing.
const MOVE: u64 = 50_000 + 2 * 5_120 + 600_000;
const ERASE: u64 = 3_500_000;

/// A plane that is collected as soon as `programs` pages have been written, if the free pages allow it.
fn due_after(programs: u64, pages_per_block: u64, exported: u64, more: &str) -> Config {
    plane(pages_per_block, exported, 8 * pages_per_block - programs + 1, more)
}

/// A plane whose first block is about to be collected with `valid` valid pages, its last ones. Returns the time.
///
/// The block is written, then its first pages again, back to back; the last of these programs makes the collection due.
fn one_victim(config_of: impl Fn(u64) -> Config, pages_per_block: u64, valid: u64, write: u64) -> (Dut, u64) {
    let programs = 2 * pages_per_block - valid;
    let config = config_of(programs);
    let page = config.geometry.page_size.0;
    let mut dut = Dut::new(&config);
    (0..pages_per_block).chain(0..pages_per_block - valid).for_each(|lpn| dut.write(0, lpn * page, page));
    (dut, programs * write)
}

/// The same with 64 pages a block of the default size.
fn victim_of_64(valid: u64, more: &str) -> (Dut, u64) {
    one_victim(|programs| due_after(programs, 64, 67, more), 64, valid, WRITE)
}

/// The `n`-th collection ends at `at`, not a nanosecond earlier.
fn assert_ends(dut: &mut Dut, n: u64, at: u64) {
    dut.ssd.run_until(Nanos(at - 1));
    assert_eq!(summary(&dut.ssd).gc.collections, n - 1, "one nanosecond before {at}");
    dut.ssd.run_until(Nanos(at));
    assert_eq!(summary(&dut.ssd).gc.collections, n, "at {at}");
}

/// Read, transfer, program, erase time of all collections, and their number and moved pages.
fn gc(dut: &Dut) -> ([u64; 4], u64, u64) {
    let gc = summary(&dut.ssd).gc;
    ([gc.time_ns.read, gc.time_ns.transfer, gc.time_ns.program, gc.time_ns.erase], gc.collections, gc.moved_pages)
}

// Cost of a collection.

/// Block 0 is fully valid, block 1 fully stale. FIFO selects block 0, which frees nothing, and then block 1.
fn a_fully_valid_block(path: &str, cost: u64, times: [u64; 4]) {
    let more = format!("schemes = {{ victim = \"fifo\", path = \"{path}\" }}");
    let mut dut = Dut::new(&due_after(192, 64, 128, &more));
    (0..128).chain(64..128).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    let due = 192 * WRITE;
    dut.read(due + 1, 0, PAGE);
    dut.ssd.run_until(Nanos(due + cost - 1));
    // A step's time counts when the step ends.
    assert_eq!(gc(&dut), ([times[0], times[1], times[2], 0], 0, 64));
    assert_ends(&mut dut, 1, due + cost);
    assert_eq!(gc(&dut), (times, 1, 64));
    assert_ends(&mut dut, 2, due + cost + ERASE);
    // The read was for a page of the first victim; it waited for both collections.
    let read = dut.completed()[192].clone();
    assert_eq!((read.completion.0, read.start.unwrap().0), (due + cost + ERASE + 55_120, due + cost + ERASE));
    assert_eq!(causes(&read), [("die_gc_own", cost + ERASE - 1), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(gc(&dut), ([times[0], times[1], times[2], 2 * ERASE], 2, 64));
}

#[test]
fn a_collection_of_64_valid_pages_by_the_external_path_takes_45_755_360() {
    a_fully_valid_block("external", 45_755_360, [3_200_000, 655_360, 38_400_000, ERASE]);
}

#[test]
fn a_collection_of_64_valid_pages_by_copyback_takes_45_100_000() {
    a_fully_valid_block("copyback", 45_100_000, [3_200_000, 0, 38_400_000, ERASE]);
}

#[test]
fn a_collection_without_valid_pages_is_an_erase() {
    let (mut dut, due) = victim_of_64(0, "");
    assert_ends(&mut dut, 1, due + ERASE);
    assert_eq!(gc(&dut), ([0, 0, 0, ERASE], 1, 0));
}

/// Paper A, Fig. 4: v (tR + 2 tX + tPROG) + tBERS.
#[test]
fn a_collection_on_paper_as_device_with_22_valid_pages_takes_18_662_240() {
    let preset = include_str!("../../../../presets/idle-chip.toml");
    let small = |programs: u64| {
        let (mut config, plane) = (config(preset), due_after(programs, 64, 67, ""));
        (config.geometry, config.gc.threshold) = (plane.geometry, plane.gc.threshold);
        config.device.over_provisioning = plane.device.over_provisioning;
        config.precondition = plane.precondition;
        config.device.queue_depth = 2048;
        config
    };
    let (mut dut, due) = one_victim(small, 64, 22, 640_960);
    dut.read(due + 5_000_000, 63 * PAGE, PAGE);
    assert_ends(&mut dut, 1, due + 18_662_240);
    let (times, collections, moved) = gc(&dut);
    assert_eq!((times, collections, moved), ([660_000, 1_802_240, 13_200_000, 3_000_000], 1, 22));
    // The paper's shares, in hundredths of a percent: 3.54, 9.66, 70.73, 16.08.
    assert_eq!(times.map(|ns| (ns * 20_000 + 18_662_240) / (2 * 18_662_240)), [354, 966, 7_073, 1_608]);
    let read = dut.completed().pop().unwrap();
    assert_eq!(causes(&read), [("die_gc_own", 13_662_240), ("array", 30_000), ("bus", 40_960)]);
}

/// Paper D: per page tR + 2 tX + tPROG = 1,452,360 outside, tR + tPROG = 797,000 inside; N_m of Table 2.
#[test]
fn collections_on_paper_ds_device_move_pages_for_1_452_360_or_797_000() {
    for (moved, external, inside) in
        [(406, 589_658_160, 323_582_000), (158, 229_472_880, 125_926_000), (74, 107_474_640, 58_978_000)]
    {
        for (path, moves) in [("external", external), ("copyback", inside)] {
            let more = format!(
                "geometry.page_size = \"16KiB\"
                timing = {{ read = \"91us\", program = \"706us\", erase = \"5ms\", transfer = \"20ns/B\" }}
                schemes.path = \"{path}\""
            );
            let write = 327_680 + 706_000;
            let (mut dut, due) = one_victim(|programs| due_after(programs, 576, 580, &more), 576, moved, write);
            assert_ends(&mut dut, 1, due + moves + 5_000_000);
            assert_eq!(gc(&dut).2, moved);
        }
    }
}

#[test]
fn every_operation_of_a_collection_has_its_command() {
    let (command, write) = ("timing.command = \"1us\"\n", WRITE + 1_000);
    let run = |path: &str, cost: u64, transfer: u64| {
        let more = format!("{command}schemes.path = \"{path}\"");
        let (mut dut, due) = one_victim(|programs| due_after(programs, 64, 67, &more), 64, 2, write);
        assert_ends(&mut dut, 1, due + cost);
        assert_eq!(gc(&dut).0, [100_000, transfer, 1_200_000, ERASE]);
    };
    // Read and program have one command each, the erase has one.
    run("external", 2 * (MOVE + 2_000) + 1_000 + ERASE, 4 * 6_120 + 1_000);
    // A copyback has one for the read and one for the program.
    run("copyback", 2 * 652_000 + 1_000 + ERASE, 5_000);
}

#[test]
fn the_time_of_a_copyback_may_be_given() {
    // Paper D, Table 1: "copyback time 2209".
    let (mut dut, due) = victim_of_64(3, "timing.copyback = \"2209us\"\nschemes.path = \"copyback\"");
    assert_ends(&mut dut, 1, due + 3 * 2_209_000 + ERASE);
    let (times, ..) = gc(&dut);
    assert_eq!(times.iter().sum::<u64>(), 3 * 2_209_000 + ERASE);
}

// Start of a collection, and operations that wait.

#[test]
fn a_collection_starts_when_the_running_operation_ends_and_before_what_waits() {
    let (mut dut, due) = victim_of_64(1, "");
    let cost = MOVE + ERASE;
    // One read waits already, one arrives in the same nanosecond, one later; all wait for the whole collection.
    dut.read(due - 100_000, 0, PAGE);
    dut.read(due, PAGE, PAGE);
    dut.read(due + 10_000, 2 * PAGE, PAGE);
    let done = dut.completed()[127..].to_vec();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0 - due - cost).collect();
    assert_eq!(completions, [55_120, 110_240, 165_360]);
    assert_eq!(causes(&done[0]), [("die_host", 100_000), ("die_gc_own", cost), ("array", 50_000), ("bus", 5_120)]);
    // Without the collection the second would have waited 55,120 for the first.
    assert_eq!(causes(&done[1]), [("die_host", 55_120), ("die_gc_own", cost), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn a_collection_starts_before_what_waits_on_a_die_with_a_cache_register_too() {
    // Pages are taken as their data goes in: when the third program ends, the fourth, whose data was in the cache register,
    // runs, and 12 pages are free. Block 0 is stale. The fifth and sixth wait for the collection.
    let mut dut = Dut::new(&due_after(4, 2, 3, "timing.cache_register = true"));
    [0, 1, 0, 1, 2, 2].iter().for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    let due = 5_120 + 3 * 600_000;
    assert_ends(&mut dut, 1, due + 600_000 + ERASE);
    let done = dut.completed();
    let completions: Vec<u64> = done[3..].iter().map(|c| c.completion.0 - due - 600_000).collect();
    assert_eq!(completions, [0, ERASE + WRITE, ERASE + WRITE + 600_000]);
    assert_eq!(spent(&done[4], Cause::DieGcOwn), ERASE);
}

#[test]
fn queued_collection_lets_the_die_serve_others_between_its_steps() {
    let (mut dut, due) = victim_of_64(1, "schemes.collector = \"queued\"");
    // The page is read out until 55,120. Two reads have arrived meanwhile; the program queues behind them.
    dut.read(due + 1_000, 0, PAGE);
    dut.read(due + 2_000, PAGE, PAGE);
    // One more during the program, which ends at 770,480; the erase queues behind it.
    dut.read(due + 200_000, 2 * PAGE, PAGE);
    assert_ends(&mut dut, 1, due + 825_600 + ERASE);
    let done = dut.completed()[127..].to_vec();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0 - due).collect();
    assert_eq!(completions, [110_240, 165_360, 825_600]);
    assert_eq!(causes(&done[0]), [("die_gc_own", 54_120), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(
        causes(&done[1]),
        [("die_host", 54_120), ("die_late", 1_000), ("die_gc_own", 53_120), ("array", 50_000), ("bus", 5_120)]
    );
    assert_eq!(causes(&done[2]), [("die_gc_own", 570_480), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn one_collection_at_a_time_runs_in_a_plane_and_the_next_begins_where_it_ends() {
    // Block 0 fully valid, block 1 fully stale, FIFO: two collections are needed from the start.
    let more = "schemes = { victim = \"fifo\", path = \"copyback\", collector = \"queued\" }";
    let mut dut = Dut::new(&due_after(6, 2, 4, more));
    (0..4).chain(2..4).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    let due = 6 * WRITE;
    // Arrives during the first erase, which ends at 4,800,000: the second collection's erase queues behind it.
    dut.read(due + 2_000_000, 0, PAGE);
    assert_ends(&mut dut, 1, due + 4_800_000);
    assert_ends(&mut dut, 2, due + 4_855_120 + ERASE);
    assert_eq!(dut.latencies()[6], 2_855_120);
}

#[test]
fn a_page_overwritten_before_its_turn_is_not_moved_and_one_overwritten_on_its_way_lands_stale() {
    // Logical pages 62 and 63 are valid in the victim; 62 is being read when the host overwrites one of them.
    for (lpn, moved, stale) in [(63, 1, 0), (62, 2, 1)] {
        let (mut dut, due) = victim_of_64(2, "");
        dut.write(due + 1_000, lpn * PAGE, PAGE);
        let cost = moved * MOVE + ERASE;
        assert_ends(&mut dut, 1, due + cost);
        let gc = summary(&dut.ssd).gc;
        assert_eq!((gc.moved_pages, gc.moved_stale), (moved, stale));
        assert_eq!(dut.latencies()[126], cost - 1_000 + WRITE);
    }
}

#[test]
fn moves_of_a_serial_collection_stay_in_the_victims_plane() {
    let more = format!("{}device.over_provisioning = 0.87\n", array(1, 1, 1, 2));
    let toml = format!("{more}geometry.blocks_per_plane = 8\ndevice.queue_depth = 256\ngc.threshold = \"391 pages\"");
    let mut dut = Dut::new(&config(&toml));
    // Even pages live in plane 0, odd ones in plane 1, which stays far from its threshold.
    (0..64).chain(0..58).for_each(|lpn| dut.write(0, 2 * lpn * PAGE, PAGE));
    dut.write(0, PAGE, PAGE);
    dut.completed();
    assert_eq!(gc(&dut).1, 1);
    assert_eq!(dut.ssd.flash().free_pages(PlaneId(0)), 512 - 122 - 6 + 64);
    assert_eq!(dut.ssd.flash().free_pages(PlaneId(1)), 511);
}

// Other users of the channel and the device.

/// A plane with one victim of one page, and a second die on the same channel for reads, all of which arrive `at` nanoseconds
/// after the start of the collection.
fn reads_beside_a_collection(path: &str, at: u64, reads: u64) -> Vec<Completed> {
    let toml = format!(
        "{}geometry.blocks_per_plane = 8
        device.over_provisioning = 0.87
        device.queue_depth = 256
        gc.threshold = \"386 pages\"
        schemes.path = \"{path}\"",
        array(1, 2, 1, 1)
    );
    let mut dut = Dut::new(&config(&toml));
    (0..64).chain(0..63).for_each(|lpn| dut.write(0, 2 * lpn * PAGE, PAGE));
    (0..reads).for_each(|n| dut.read(127 * WRITE + at, (2 * n + 1) * PAGE, PAGE));
    let done = dut.completed();
    assert_eq!(gc(&dut).1, 1);
    done[127..].to_vec()
}

#[test]
fn a_collection_occupies_the_channel_for_its_transfers_only() {
    let two_dies = |path: &str, at: u64| causes(&reads_beside_a_collection(path, at, 1)[0]);
    // The page moves out from 50,000 to 55,120 and then requests the bus again. The read requested it at 52,000, so it comes
    // first.
    assert_eq!(two_dies("external", 2_000), [("bus_gc", 3_120), ("array", 50_000), ("bus", 5_120)]);
    // It requests the bus at 56,000, while the page moves in until 60,240.
    assert_eq!(two_dies("external", 6_000), [("bus_gc", 4_240), ("array", 50_000), ("bus", 5_120)]);
    // During the program and the erase the channel is free.
    assert_eq!(two_dies("external", 300_000), [("array", 50_000), ("bus", 5_120)]);
    assert_eq!(two_dies("copyback", 2_000), [("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn what_waits_behind_a_wait_for_a_collections_transfer_is_late_by_it() {
    // Two reads of die 1: the first requests the bus at 56,000, while a page of die 0's collection moves in until 60,240.
    let done = reads_beside_a_collection("external", 6_000, 2);
    assert_eq!(causes(&done[0]), [("bus_gc", 4_240), ("array", 50_000), ("bus", 5_120)]);
    // The second would have waited 55,120 without the collection.
    assert_eq!(causes(&done[1]), [("die_host", 55_120), ("die_late", 4_240), ("array", 50_000), ("bus", 5_120)]);
}

/// One plane a channel, `blocks` of `per_block` pages a plane, written at a millisecond's distance to one plane after the other:
/// `lpns` one at a time, then those of `last` at once. A plane is collected once `programs` pages of it are written, and its pages
/// may go anywhere. Returns the planes in which `asked` lie in the end.
fn moved_anywhere(shape: [u64; 3], lpns: &[u64], last: &[u64], programs: u64, asked: &[u64]) -> Vec<u64> {
    let [channels, blocks, per_block] = shape;
    let per_plane = blocks * per_block;
    let mut dut = Dut::new(&config(&format!(
        "{}geometry.blocks_per_plane = {blocks}
        geometry.pages_per_block = {per_block}
        device.over_provisioning = {:.6}
        gc = {{ threshold = \"{} pages\", destination = \"any\" }}
        schemes.place = \"dynamic\"",
        array(channels as u32, 1, 1, 1),
        1.0 - (lpns.iter().max().unwrap() + 1) as f64 / (channels * per_plane) as f64,
        per_plane - programs + 1
    )));
    lpns.iter().zip(0..).for_each(|(lpn, n)| dut.write(n * 1_000_000, lpn * PAGE, PAGE));
    last.iter().for_each(|lpn| dut.write(lpns.len() as u64 * 1_000_000, lpn * PAGE, PAGE));
    dut.completed();
    assert!(gc(&dut).1 >= last.len() as u64, "{} collections", gc(&dut).1);
    let held: Vec<Lpn> = (0..channels * per_plane).map(|page| dut.ssd.flash().lpn_of(Ppn(page as u32))).collect();
    let page_of = |lpn: u64| held.iter().position(|held| *held == Lpn(lpn as u32)).unwrap();
    asked.iter().map(|lpn| page_of(*lpn) as u64 / per_plane).collect()
}

#[test]
fn pages_that_may_go_anywhere_go_to_one_plane_after_the_other() {
    // Block 0 of plane 0 holds 0, 4, 8, 12, of which 0 is written again.
    let lpns: Vec<u64> = (0..16).collect();
    assert_eq!(moved_anywhere([4, 8, 4], &lpns, &[0], 5, &[4, 8, 12]), [0, 1, 2]);
}

#[test]
fn of_collections_whose_page_is_ready_at_the_same_time_the_oldest_gets_the_next_plane_in_turn() {
    // Planes 0, 1 and 2 begin a collection in the same nanosecond and have a page in hand in the same nanosecond. In this order
    // the next plane in turn is each time the page's own.
    let lpns: Vec<u64> = (0..8).collect();
    assert_eq!(moved_anywhere([4, 8, 2], &lpns, &[4, 5, 6], 3, &[0, 1, 2]), [0, 1, 2]);
}

#[test]
fn a_plane_takes_pages_from_elsewhere_only_beyond_its_reserve_and_the_blocks_of_both_write_points() {
    // Plane 0 moves pages 2 and 4; page 4 would go to plane 1, which has filled three blocks. Two erased ones are the reserve and
    // one for a write point: it needs them itself. With a third it takes the page.
    let lpns = [(0..14).collect::<Vec<u64>>(), vec![0, 1, 6, 7]].concat();
    assert_eq!(moved_anywhere([2, 5, 3], &lpns, &[12], 10, &[2, 4]), [0, 0]);
    assert_eq!(moved_anywhere([2, 6, 3], &lpns, &[12], 10, &[2, 4]), [0, 1]);
}

#[test]
fn a_dynamic_write_avoids_a_die_in_collection() {
    let toml = format!(
        "{}geometry.blocks_per_plane = 8
        device.over_provisioning = 0.87
        gc.threshold = \"386 pages\"
        schemes.place = \"dynamic\"",
        array(2, 1, 1, 1)
    );
    let mut dut = Dut::new(&config(&toml));
    // Logical page 100 to die 0, 101 to die 1; then a read of 101 keeps die 1 busy whenever a write is placed.
    dut.write(0, 100 * PAGE, PAGE);
    dut.write(1_000_000, 101 * PAGE, PAGE);
    let mut at = 1_000_000;
    for lpn in (0..63).chain(0..63) {
        at += 1_000_000;
        dut.read(at, 101 * PAGE, PAGE);
        dut.write(at + 10, lpn * PAGE, PAGE);
    }
    let due = at + 10 + WRITE;
    // Die 0 has 127 pages written and collects, with one page to move. It would be second and third in turn.
    dut.write(due + 10, 0, PAGE);
    dut.write(due + 700_000, PAGE, PAGE);
    dut.write(due + 700_010, 2 * PAGE, PAGE);
    let done = dut.completed();
    let last: Vec<u64> = done[done.len() - 3..].iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(gc(&dut).1, 1);
    assert_eq!(last, [WRITE, WRITE, 2 * WRITE - 10]);
    assert_eq!(512 - dut.ssd.flash().free_pages(PlaneId(1)), 4);
    // The last write waited for two dies, of which one was in GC all the time.
    let blame = done.last().unwrap().blame;
    assert!(blame.0[Cause::DieGcOther as usize] > 0 && blame.0[Cause::DieHost as usize] > 0);
    assert_eq!(blame.waits(), WRITE - 10);
}

// R10 and GC.

const SUSPEND: &str = "timing = { suspendable = \"program+erase\", suspend = \"20us\", resume = \"10us\" }\n";

#[test]
fn a_read_suspends_the_erase_of_a_collection() {
    let (mut dut, due) = victim_of_64(0, SUSPEND);
    dut.read(due + 1_000_000, 0, PAGE);
    // Suspended at 1,020,000, data out at 1,075,120, resumed at 1,085,120 with 2,500,000 left.
    assert_ends(&mut dut, 1, due + 3_585_120);
    let read = dut.completed().pop().unwrap();
    assert_eq!(read.completion.0, due + 1_075_120);
    assert_eq!(causes(&read), [("die_gc_own", 20_000), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(gc(&dut).0, [0, 0, 0, ERASE], "service only");
}

/// A second read comes while the first is served in a suspension. It waits for that, for the resumption, and for the next
/// suspension. Without GC the first would have ended at 1,055,120; what the second waits for it beyond that is late.
#[test]
fn the_wait_for_a_resumption_and_another_suspension_is_for_gc() {
    let (mut dut, due) = victim_of_64(0, SUSPEND);
    dut.read(due + 1_000_000, 0, PAGE);
    dut.read(due + 1_030_000, PAGE, PAGE);
    let read = dut.completed().pop().unwrap();
    assert_eq!(read.completion.0, due + 1_075_120 + 10_000 + 20_000 + 55_120);
    let waits = [("die_host", 25_120), ("die_late", 20_000), ("die_gc_own", 30_000)];
    assert_eq!(causes(&read), [&waits[..], &[("array", 50_000), ("bus", 5_120)]].concat());
}

/// Two reads and a write wait for a collection, one of them behind another read that did. A read before it and one long after it
/// do not.
#[test]
fn requests_are_delayed_by_gc_if_they_wait_for_it_or_behind_one_that_did() {
    let (mut dut, due) = victim_of_64(0, "");
    dut.read(due + 1_000, 0, PAGE);
    dut.write(due + 2_000, PAGE, PAGE);
    // It comes when the collection is over, and the first read is served.
    dut.read(due + ERASE + 1_000, 0, PAGE);
    dut.read(due + 10_000_000, 0, PAGE);
    dut.completed();
    let delayed = summary(&dut.ssd).requests_delayed_by_gc;
    assert_eq!((delayed.read, delayed.write, delayed.all), (2, 1, 3));
}

#[test]
fn a_read_suspends_the_program_of_a_move_whatever_its_path() {
    let (mut dut, due) = victim_of_64(1, SUSPEND);
    dut.read(due + 100_000, 0, PAGE);
    assert_ends(&mut dut, 1, due + MOVE + 85_120 + ERASE);
    assert_eq!(dut.latencies()[127], 75_120);
    // A copyback programs from 50,000 on, and cannot be suspended before.
    for (at, waits) in [(100_000, 0), (20_000, 30_000)] {
        let (mut dut, due) = victim_of_64(1, &format!("{SUSPEND}schemes.path = \"copyback\""));
        dut.read(due + at, 0, PAGE);
        assert_ends(&mut dut, 1, due + 650_000 + 85_120 + ERASE);
        assert_eq!(dut.latencies()[127], waits + 75_120);
        assert_eq!(gc(&dut).0, [50_000, 0, 600_000, ERASE], "service only, of each half");
    }
}

// Victims.

#[test]
fn among_equal_victims_the_lowest_index_goes_first() {
    // Blocks 0, 1, 2 of two pages: one stale page each in 2 and 1, then in 0.
    let mut dut = Dut::new(&due_after(9, 2, 6, ""));
    (0..6).chain([4, 2, 0]).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.completed();
    let erases: Vec<u32> = (0..8).map(|b| dut.ssd.flash().erases(BlockId(b))).collect();
    assert_eq!(erases, [1, 0, 0, 0, 0, 0, 0, 0]);
    // Fewer valid pages win over a lower index.
    let mut dut = Dut::new(&due_after(9, 2, 6, ""));
    (0..6).chain([4, 2, 3]).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.completed();
    let erases: Vec<u32> = (0..8).map(|b| dut.ssd.flash().erases(BlockId(b))).collect();
    assert_eq!(erases, [0, 1, 0, 0, 0, 0, 0, 0]);
}

/// A plane of `blocks` of `per_block` pages, of which the first `full` are filled in order and then the pages `again` written
/// again, the last of which makes the plane due. Returns the blocks that are erased.
fn victims(victim: &str, [blocks, per_block, full]: [u64; 3], again: &[u64], seed: u64) -> Vec<u64> {
    let (pages, data) = (blocks * per_block, full * per_block);
    let programs = data + again.len() as u64;
    let mut dut = Dut::seeded(
        &config(&format!(
            "{}geometry.blocks_per_plane = {blocks}
            geometry.pages_per_block = {per_block}
            device.over_provisioning = {:.6}
            gc.threshold = \"{} pages\"
            schemes.victim = {victim}",
            array(1, 1, 1, 1),
            ((pages - data) as f64 / pages as f64 * 1e6).floor() / 1e6,
            pages - programs + 1
        )),
        seed,
    );
    (0..data).chain(again.iter().copied()).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.completed();
    (0..blocks).filter(|block| dut.ssd.flash().erases(BlockId(*block as u32)) > 0).collect()
}

#[test]
fn the_lowest_index_wins_across_the_groups_of_blocks_that_greedy_looks_at() {
    // Groups of 64: blocks 0 to 63, 64 to 127, and the rest.
    for (stale, victim) in [
        (vec![129, 128], 128),
        (vec![129, 127], 127),
        (vec![128, 64], 64),
        (vec![70, 64], 64),
        (vec![64, 63], 63),
        (vec![129, 64, 63, 5], 5),
    ] {
        let again: Vec<u64> = stale.iter().map(|block| 2 * block).collect();
        assert_eq!(victims("\"greedy\"", [136, 2, 130], &again, 1), [victim], "a stale page each in {stale:?}");
        // Fewer valid pages win over a lower index, in whatever group they are.
        let again: Vec<u64> = again.iter().chain([&(2 * stale[0] + 1)]).copied().collect();
        assert_eq!(victims("\"greedy\"", [136, 2, 130], &again, 1), [stale[0]]);
    }
}

#[test]
fn of_equal_gains_cost_benefit_takes_the_lowest_index() {
    // Three blocks have been closed. Block 0: age 3, six of eight pages valid: 3 x 2 / 6. Block 2: age 1, four: 1 x 4 / 4.
    assert_eq!(victims("\"cost-benefit\"", [8, 8, 3], &[0, 1, 16, 17, 18, 19], 1), [0]);
    // One page decides: 3 x 2 / 6 < 1 x 5 / 3, and 3 x 3 / 5 > 1 x 4 / 4.
    assert_eq!(victims("\"cost-benefit\"", [8, 8, 3], &[0, 1, 16, 17, 18, 19, 20], 1), [2]);
    assert_eq!(victims("\"cost-benefit\"", [8, 8, 3], &[0, 1, 2, 16, 17, 18, 19], 1), [0]);
}

#[test]
fn of_equal_draws_d_choices_takes_the_first() {
    // Four closed blocks with seven valid pages each.
    for seed in 0..30 {
        let mut rng = stream(seed, "victim");
        let first = (0..).map(|_| below(&mut rng, 8)).find(|block| *block < 4).unwrap();
        assert_eq!(victims("{ d-choices = { d = 4 } }", [8, 8, 4], &[0, 8, 16, 24], seed), [first], "seed {seed}");
    }
}

#[test]
fn random_plus_never_takes_a_fully_valid_block() {
    // One of 40 closed blocks has a stale page; in a plane of 64 blocks it is not always drawn before the search in turn.
    for seed in 0..20 {
        assert_eq!(victims("\"random+\"", [64, 2, 40], &[33], seed), [16], "seed {seed}");
    }
}

#[test]
fn a_plane_whose_closed_blocks_are_all_valid_has_no_victim() {
    // Stale pages are only in the open block: nothing can be reclaimed, and host writes do not wait.
    let mut dut = Dut::new(&due_after(10, 4, 9, ""));
    (0..8).chain([8, 8]).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    let latencies = dut.latencies();
    assert_eq!(latencies[9], 10 * WRITE);
    assert_eq!(gc(&dut).1, 0);
}
