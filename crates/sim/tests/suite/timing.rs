//! Timing, like a data sheet: do this at 0, expect that at 55,120 ns. Worked examples for the rules of docs/model.md, one by one.
//!
//! Unless said otherwise: tR 50,000, tPROG 600,000, tBERS 3,500,000, 4 KiB pages of 5,120 ns on the bus, no command time, no
//! cache register; times in ns.

use crate::common::{Dut, array, causes, config, summary};
use ssdlab_sim::Config;
use ssdlab_sim::units::{Nanos, PlaneId};

const PAGE: u64 = 4096;

/// One die on one channel, with one plane: only page numbers distinguish its pages.
fn one_die(more: &str) -> Config {
    config(&format!("{}{more}", array(1, 1, 1, 1)))
}

// R1: command, array, data-out; without a cache register the die is held to the last byte.

#[test]
fn a_read_takes_array_and_transfer() {
    let mut dut = Dut::new(&config(""));
    dut.read(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!(done[0].completion, Nanos(55_120));
    assert_eq!(causes(&done[0]), [("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn two_reads_of_one_die_follow_each_other() {
    let mut dut = Dut::new(&one_die(""));
    (0..2).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 110_240]);
}

#[test]
fn a_partial_read_moves_only_the_bytes_asked_for() {
    let mut dut = Dut::new(&one_die(""));
    dut.read(0, 512, 512);
    // 2 KiB of one page, then 4 KiB of the next: page by page on the same die, each with its own array time.
    dut.read(1_000_000, PAGE + 2048, 6144);
    assert_eq!(dut.latencies(), [50_640, 50_000 + 2_560 + 50_000 + 5_120]);
}

#[test]
fn command_time_is_spent_on_the_channel() {
    let mut dut = Dut::new(&config(&format!("{}timing.command = \"1us\"", array(1, 2, 1, 1))));
    dut.read(0, 0, PAGE);
    // Two dies: the second command waits for the first, its data-out for the first one's.
    (0..2).for_each(|i| dut.read(1_000_000, i * PAGE, PAGE));
    // A program's command and data-in are one bus transfer.
    (0..2).for_each(|i| dut.write(2_000_000, i * PAGE, PAGE));
    let done = dut.completed();
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [56_120, 56_120, 61_240, 606_120, 612_240]);
    assert_eq!(causes(&done[2]), [("bus_host", 1_000 + 4_120), ("array", 50_000), ("bus", 6_120)]);
    assert_eq!(causes(&done[4]), [("bus_host", 6_120), ("array", 600_000), ("bus", 6_120)]);
}

// R2: command and data-in, array; complete at the end of tPROG.

#[test]
fn a_program_takes_transfer_and_array_and_holds_its_die() {
    let mut dut = Dut::new(&one_die(""));
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.read(0, 2 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 1_210_240, 1_265_360]);
}

#[test]
fn a_read_waits_for_a_program_of_its_die() {
    let mut dut = Dut::new(&config("geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1 }"));
    dut.write(0, 0, PAGE);
    dut.read(300_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 360_240]);
}

#[test]
fn a_partial_write_reads_the_whole_old_page_and_programs_a_whole_new_one() {
    let partial = |more: &str, offset: u64| {
        let mut dut = Dut::new(&one_die(&format!("precondition.mode = \"sequential\"\n{more}")));
        dut.write(0, offset, 512);
        let latency = dut.latencies()[0];
        let flash = summary(&dut.ssd).flash;
        (latency, flash.reads.host, flash.programs.host)
    };
    assert_eq!(partial("", 1024), (55_120 + 605_120, 1, 1));
    assert_eq!(partial("device.partial_write = \"whole-page\"", 1024), (605_120, 0, 1));
    // No old data to merge: no read.
    let mut dut = Dut::new(&one_die(""));
    dut.write(0, 0, 512);
    assert_eq!(dut.latencies(), [605_120]);
    // A write that starts and ends within pages: whole page in the middle, old pages read at both ends.
    let mut dut = Dut::new(&config(&format!("{}precondition.mode = \"sequential\"", array(3, 1, 1, 1))));
    dut.write(0, 512, 3 * PAGE - 1024);
    assert_eq!(dut.latencies(), [660_240]);
    let all = summary(&dut.ssd);
    assert_eq!((all.flash.reads.host, all.flash.programs.host, all.pages.partial_writes), (2, 3, 2));
}

#[test]
fn the_program_of_a_partial_write_queues_behind_what_waits_when_its_read_is_done() {
    let mut dut = Dut::new(&one_die("precondition.mode = \"sequential\""));
    dut.write(0, 0, 512);
    dut.read(1_000, PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(done[1].completion, Nanos(110_240), "right after the old page");
    assert_eq!(done[0].completion, Nanos(110_240 + 605_120));
    assert_eq!(causes(&done[0]), [("die_host", 55_120), ("array", 650_000), ("bus", 10_240)]);
    assert_eq!(done[0].start, Some(Nanos(0)), "its first service was the read");
}

#[test]
fn a_write_may_be_acknowledged_when_its_data_is_in_the_die() {
    let mut dut = Dut::new(&one_die("device.write_ack = \"after_transfer\""));
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.read(300_000, 2 * PAGE, PAGE);
    // The program continues after its acknowledgement, and later operations wait for it.
    let done = dut.completed();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [5_120, 610_240, 1_265_360]);
    assert_eq!(causes(&done[0]), [("bus", 5_120)]);
    assert_eq!(causes(&done[1]), [("die_host", 605_120), ("bus", 5_120)]);
    // If data-in takes no time, the data is in the die when the program begins.
    let mut dut = Dut::new(&one_die("device.write_ack = \"after_transfer\"\ntiming.transfer = \"0ns/B\""));
    dut.write(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    assert_eq!(dut.latencies(), [0, 600_000]);
}

// R4: the channel is a FIFO.

#[test]
fn eight_reads_on_eight_dies_of_one_channel_queue_for_the_bus() {
    let mut dut = Dut::new(&config("geometry = { channels = 1 }"));
    (0..8).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 60_240, 65_360, 70_480, 75_600, 80_720, 85_840, 90_960]);
    // All request the bus at 50,000: age decides, not the number of the die.
    let mut dut = Dut::new(&config("geometry = { channels = 1 }"));
    (0..8).rev().for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 60_240, 65_360, 70_480, 75_600, 80_720, 85_840, 90_960]);
}

#[test]
fn the_bus_serves_who_asked_first_and_among_equals_the_oldest() {
    // Pages at odd offsets take 62 us: logical pages 0, 1, 2 are the first pages of three dies, 3, 4, 5 the second ones.
    let toml = format!("{}timing.read = [\"50us\", \"62us\"]\nprecondition.mode = \"sequential\"", array(1, 3, 1, 1));
    let mut dut = Dut::new(&config(&toml));
    dut.read(0, 3 * PAGE, PAGE); // asks at 62,000
    dut.read(10_000, PAGE, PAGE); // asks at 60,000 and has the bus until 65,120
    dut.read(11_000, 2 * PAGE, PAGE); // asks at 61,000
    assert_eq!(dut.latencies(), [75_360, 55_120, 70_240 - 11_000]);
    for (old, young) in [(3, 1), (4, 0)] {
        let mut dut = Dut::new(&config(&toml));
        dut.read(0, old * PAGE, PAGE); // asks at 62,000
        dut.read(12_000, young * PAGE, PAGE); // asks at 62,000
        assert_eq!(dut.latencies(), [67_120, 72_240 - 12_000]);
    }
}

#[test]
fn a_phase_without_length_waits_for_no_grant() {
    let mut dut = Dut::new(&config(&array(1, 2, 1, 1)));
    dut.read(0, 0, PAGE);
    // The bus is busy from 50,000 to 55,120, but without command time the array can start.
    dut.read(51_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [55_120, 55_120]);
    let mut dut = Dut::new(&config(&format!("{}timing.transfer = \"0ns/B\"", array(1, 8, 1, 1))));
    (0..8).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [50_000; 8]);
}

// R5: the die is a FIFO, and held while its operation waits for the bus.

#[test]
fn a_die_is_held_while_its_operation_waits_for_the_bus() {
    let mut dut = Dut::new(&config(&array(1, 2, 1, 1)));
    dut.read(0, 0, PAGE); // bus from 50,000 to 55,120
    dut.write(51_000, PAGE, PAGE); // data-in at 55,120, done at 660,240
    dut.read(52_000, 3 * PAGE, PAGE); // the write's die
    let done = dut.completed();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [55_120, 660_240, 715_360]);
    assert_eq!(done[1].start, Some(Nanos(51_000)));
    assert_eq!(causes(&done[1]), [("bus_host", 4_120), ("array", 600_000), ("bus", 5_120)]);
    assert_eq!(causes(&done[2]), [("die_host", 608_240), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn what_excludes_each_other_is_configured() {
    // Four dies: two chips of two dies on one channel. Logical pages 0 and 2 share a chip.
    let run = |exclusion: &str| {
        let mut dut = Dut::new(&config(&format!("{}device.exclusion = \"{exclusion}\"", array(1, 2, 2, 1))));
        [0, 1, 2].iter().for_each(|lpn| dut.read(0, lpn * PAGE, PAGE));
        dut.latencies()
    };
    assert_eq!(run("die"), [55_120, 60_240, 65_360]);
    assert_eq!(run("chip"), [55_120, 60_240, 110_240]);
    assert_eq!(run("channel"), [55_120, 110_240, 165_360]);
}

// R6: no host-link or memory time unless configured.

#[test]
fn the_host_link_carries_one_page_at_a_time_in_each_direction() {
    let mut dut = Dut::new(&config(&format!("{}timing.host_link = \"1ns/B\"", array(4, 1, 1, 1))));
    dut.read(0, 0, PAGE);
    // Two dies finish together and share the link; a write in the other direction is not affected.
    dut.read(1_000_000, 0, 2 * PAGE);
    dut.write(1_052_000, 3 * PAGE, PAGE);
    // Part of a page: part of the time.
    dut.read(2_000_000, 0, 512);
    let done = dut.completed();
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [59_216, 63_312, 609_216, 50_640 + 512]);
    assert_eq!(causes(&done[1]), [("bus_host", 4_096), ("array", 50_000), ("bus", 9_216)]);
}

#[test]
fn a_write_s_service_begins_on_the_host_link() {
    let mut dut = Dut::new(&config(&format!("{}timing.host_link = \"1ns/B\"", array(4, 1, 1, 1))));
    // The last page to finish crosses the link after the other one.
    dut.write(0, 0, 2 * PAGE);
    // A read's begins in the array. Its page crosses the link in the other direction.
    dut.read(10_000_000, 2 * PAGE, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].start, done[0].completion), (Some(Nanos(4_096)), Nanos(8_192 + 605_120)));
    assert_eq!(causes(&done[0]), [("bus_host", 4_096), ("array", 600_000), ("bus", 9_216)]);
    assert_eq!(done[1].start, Some(Nanos(10_000_000)));
}

#[test]
fn a_page_that_controller_memory_holds_takes_the_configured_time() {
    let mut dut = Dut::new(&one_die("device.memory = \"50ns\""));
    dut.write(0, 0, PAGE);
    dut.read(100_000, 0, PAGE);
    dut.read(100_010, 0, 512);
    // At 605,120 the write lands before the arriving read looks up the map: the read is served from flash.
    dut.read(605_120, 0, PAGE);
    let done = dut.completed();
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [605_120, 50, 50, 55_120]);
    assert_eq!(causes(&done[1]), [("memory", 50)]);
    assert_eq!(summary(&dut.ssd).pages.from_memory, 2);
    let mut dut = Dut::new(&one_die(""));
    dut.write(0, 0, PAGE);
    dut.read(100_000, 0, PAGE);
    assert_eq!(dut.latencies(), [605_120, 0]);
}

// R7: planes of a die operate together at equal offsets.

const TWO_PLANES: &str = "device.multi_plane = true\n";

#[test]
fn a_two_plane_read_has_one_array_time_and_one_burst() {
    let mut dut = Dut::new(&config(&format!("{}{TWO_PLANES}", array(1, 1, 1, 2))));
    dut.read(0, 0, 2 * PAGE);
    assert_eq!(dut.latencies(), [60_240]);
    let flash = summary(&dut.ssd).flash;
    assert_eq!((flash.reads.host, flash.multi_plane.reads), (2, 1), "a page counts each");
}

#[test]
fn a_two_plane_program_has_one_burst_and_one_array_time() {
    let mut dut = Dut::new(&config(&format!("{}{TWO_PLANES}", array(1, 1, 1, 2))));
    dut.write(0, 0, 2 * PAGE);
    // One more page in plane 0 makes the write points unequal: the next pair is programmed one by one.
    dut.write(1_000_000, 0, PAGE);
    dut.write(2_000_000, 0, 2 * PAGE);
    // Without the option every page has its own command anyway.
    assert_eq!(dut.latencies(), [610_240, 605_120, 1_210_240]);
    let flash = summary(&dut.ssd).flash;
    assert_eq!((flash.programs.host, flash.multi_plane.programs), (5, 1));
    let mut dut = Dut::new(&config(&array(1, 1, 1, 2)));
    dut.write(0, 0, 2 * PAGE);
    assert_eq!(dut.latencies(), [1_210_240]);
}

#[test]
fn pages_that_share_a_multi_plane_command_need_not_stand_side_by_side() {
    // A chip of two dies takes pages of both in turn: each die still has one command of two planes.
    let toml = format!("{}{TWO_PLANES}device.exclusion = \"chip\"", array(1, 1, 2, 2));
    let mut dut = Dut::new(&config(&toml));
    dut.read(0, 0, 4 * PAGE);
    dut.write(1_000_000, 0, 4 * PAGE);
    assert_eq!(dut.latencies(), [2 * 60_240, 2 * 610_240]);
    // Plane 1 of four is one page ahead: the others are programmed together.
    let mut dut = Dut::new(&config(&format!("{}{TWO_PLANES}", array(1, 1, 1, 4))));
    dut.write(0, PAGE, PAGE);
    dut.write(1_000_000, 0, 4 * PAGE);
    assert_eq!(dut.latencies(), [605_120, 615_360 + 605_120]);
}

#[test]
fn pages_of_different_requests_never_share_a_multi_plane_command() {
    let mut dut = Dut::new(&config(&format!("{}{TWO_PLANES}", array(1, 1, 1, 2))));
    dut.read(0, 0, PAGE);
    dut.read(0, PAGE, PAGE);
    assert_eq!(dut.latencies(), [55_120, 110_240]);
}

#[test]
fn reads_of_two_planes_at_different_offsets_are_two_reads() {
    let mut dut = Dut::new(&config(&format!("{}{TWO_PLANES}", array(1, 1, 1, 2))));
    // Plane 0 gets logical pages 2, then 0; plane 1 gets page 1 at its first offset.
    dut.write(0, 2 * PAGE, PAGE);
    dut.write(1_000_000, 0, PAGE);
    dut.write(2_000_000, PAGE, PAGE);
    dut.read(3_000_000, 0, 2 * PAGE);
    assert_eq!(dut.latencies()[3], 110_240);
}

// Page types.

#[test]
fn page_types_follow_the_offset_in_the_block() {
    let toml = "geometry.pages_per_block = 4
        timing.read = [\"50us\", \"90us\", \"110us\"]
        timing.program = [\"200us\", \"500us\", \"900us\"]";
    let mut dut = Dut::new(&one_die(toml));
    (0..5).for_each(|i| dut.write(i * 2_000_000, i * PAGE, PAGE));
    (0..5).for_each(|i| dut.read(20_000_000 + i * 2_000_000, i * PAGE, PAGE));
    // Types 0, 1, 2, 0 and, in the next block, 0 again.
    let program = [205_120, 505_120, 905_120, 205_120, 205_120];
    let read = [55_120, 95_120, 115_120, 55_120, 55_120];
    assert_eq!(dut.latencies(), [program, read].concat());
}

// R8: the cache register.

#[test]
fn with_a_cache_register_the_next_read_starts_when_the_page_has_moved_there() {
    let mut dut = Dut::new(&one_die("timing = { cache_register = true }"));
    (0..3).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 105_120, 155_120]);
}

#[test]
fn a_page_waits_in_the_array_until_the_cache_register_is_empty() {
    // Paper D's pages: 327,680 on the bus, longer than tR 91,000.
    let toml = "geometry.page_size = \"16KiB\"
        timing = { cache_register = true, read = \"91us\", transfer = \"20ns/B\" }";
    let mut dut = Dut::new(&one_die(toml));
    (0..3).for_each(|i| dut.read(0, i * 4 * PAGE, 4 * PAGE));
    let done = dut.completed();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    // Array from 0, 91,000 and 418,680; data-out back to back from 91,000.
    assert_eq!(completions, [418_680, 746_360, 1_074_040]);
    assert_eq!(causes(&done[1]), [("die_host", 91_000), ("bus_host", 236_680), ("array", 91_000), ("bus", 327_680)]);
}

#[test]
fn with_a_cache_register_the_next_data_in_runs_during_the_program() {
    let mut dut = Dut::new(&one_die("timing = { cache_register = true }"));
    (0..3).for_each(|i| dut.write(0, i * PAGE, PAGE));
    let done = dut.completed();
    // Data-in at 0, 5,120 and 605,120; the array programs without a pause.
    assert_eq!(done.iter().map(|c| c.completion.0).collect::<Vec<u64>>(), [605_120, 1_205_120, 1_805_120]);
    // The bus was free: the second page waits 5,120 to be selected, and in its register for the array from 10,240 to 605,120.
    assert_eq!(causes(&done[1]), [("die_host", 600_000), ("array", 600_000), ("bus", 5_120)]);
    let early = "timing = { cache_register = true }\ndevice.write_ack = \"after_transfer\"";
    let mut dut = Dut::new(&one_die(early));
    (0..3).for_each(|i| dut.write(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [5_120, 10_240, 610_240]);
}

#[test]
fn reads_and_programs_never_overlap_each_other() {
    let mut dut = Dut::new(&one_die("timing = { cache_register = true }"));
    dut.read(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.read(0, 2 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [55_120, 660_240, 715_360]);
}

#[test]
fn the_cache_register_overlaps_in_order_only() {
    // A read is between two writes in the queue: the second one's data-in must not overtake it.
    let mut dut = Dut::new(&one_die("timing = { cache_register = true }"));
    dut.write(0, 0, PAGE);
    dut.read(0, PAGE, PAGE);
    dut.write(0, 2 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 660_240, 1_265_360]);
}

#[test]
fn a_command_goes_before_the_data_out_of_the_page_that_moves_to_the_register() {
    let mut dut = Dut::new(&one_die("timing = { cache_register = true, command = \"200ns\" }"));
    (0..2).for_each(|i| dut.read(5_000_000, i * PAGE, PAGE));
    // Command, array; at 5,050,200 the second command, then the first page's data-out and the second array read at once.
    let done = dut.completed();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [5_055_520, 5_105_520]);
    assert_eq!(causes(&done[0]), [("bus_host", 200), ("array", 50_000), ("bus", 5_320)]);
    // The same if both wait for another die's transfer.
    let toml = format!("{}timing = {{ cache_register = true, command = \"200ns\" }}", array(1, 2, 1, 1));
    let mut dut = Dut::new(&config(&toml));
    dut.read(0, 0, PAGE); // die 0: command until 200, array until 50,200
    dut.read(0, PAGE, PAGE); // die 1: command until 400, array until 50,400
    dut.read(0, 3 * PAGE, PAGE); // die 1: its command goes before the data-out above
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [55_320, 60_640, 110_640]);
}

// R10: suspend and resume.

const SUSPEND: &str = "timing = { suspendable = \"program+erase\", suspend = \"20us\", resume = \"10us\" }";

#[test]
fn a_read_suspends_a_program_which_resumes_with_what_is_left() {
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.read(300_000, PAGE, PAGE);
    // Suspended at 320,000, data out at 375,120, resumed at 385,120 with the remaining 305,120.
    let done = dut.completed();
    assert_eq!((done[0].completion, done[1].completion), (Nanos(690_240), Nanos(375_120)));
    assert_eq!(causes(&done[0]), [("die_host", 85_120), ("array", 600_000), ("bus", 5_120)]);
    assert_eq!(causes(&done[1]), [("die_host", 20_000), ("array", 50_000), ("bus", 5_120)]);
}

#[test]
fn a_program_that_ends_within_the_suspend_time_is_not_suspended() {
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.read(585_120, PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 75_120]);
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.read(585_119, PAGE, PAGE);
    // One nanosecond earlier it is suspended, because 20,001 remain: out at 660,239, resumed at 670,239.
    assert_eq!(dut.latencies(), [690_240, 75_120]);
}

#[test]
fn a_read_does_not_suspend_data_in_nor_what_may_not_be_suspended() {
    // During data-in the read waits until the array starts, then suspends it.
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.read(1_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [690_240, 5_120 - 1_000 + 75_120]);
    let erase_only = "timing = { suspendable = \"erase\", suspend = \"20us\", resume = \"10us\" }";
    let mut dut = Dut::new(&one_die(erase_only));
    dut.write(0, 0, PAGE);
    dut.read(300_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 360_240]);
    // A write never suspends.
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.write(300_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 910_240]);
}

#[test]
fn each_read_suspends_again() {
    let mut dut = Dut::new(&one_die(SUSPEND));
    dut.write(0, 0, PAGE);
    dut.read(300_000, PAGE, PAGE);
    dut.read(310_000, 2 * PAGE, PAGE);
    // The first as before. At 385,120 the program has been resumed; it is suspended again until 405,120, and continues at
    // 470,240.
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [775_360, 375_120, 460_240]);
}

/// `timing.suspend_slice`: the array begins at 5,120 and yields at 205,120 and 405,120.
#[test]
fn a_program_yields_at_the_end_of_a_slice() {
    let sliced = SUSPEND.replace(" }", ", suspend_slice = \"200us\" }");
    let completions = |reads: &[u64]| -> Vec<u64> {
        let mut dut = Dut::new(&one_die(&sliced));
        dut.write(0, 0, PAGE);
        reads.iter().zip(1..).for_each(|(at, page)| dut.read(*at, page * PAGE, PAGE));
        dut.completed().iter().map(|done| done.completion.0).collect()
    };
    // The read begins at 405,120 + 20,000 and is out 55,120 later; the remaining 200,000 follow tRES.
    assert_eq!(completions(&[250_000]), [690_240, 480_240]);
    // At the end of a slice it takes effect at once, and a nanosecond later at the end of the next.
    assert_eq!(completions(&[205_120]), [690_240, 280_240]);
    assert_eq!(completions(&[205_121]), [690_240, 480_240]);
    // The last slice ends with the program.
    assert_eq!(completions(&[405_121]), [605_120, 660_240]);
    // It resumes at 290,240 at the end of a slice, so the second read suspends it again at once. A third that comes within the next
    // slice waits for its end: resumed at 375,360 with 400,000, it yields at 575,360.
    assert_eq!(completions(&[205_000, 205_000]), [775_360, 280_240, 365_360]);
    assert_eq!(completions(&[205_000, 205_000, 375_361]), [860_480, 280_240, 365_360, 650_480]);
    // The start of the array is a multiple, too.
    assert_eq!(completions(&[1_000]), [690_240, 80_240]);
    let config = |keys: &str| format!("timing = {{ {keys} }}").parse::<Config>().unwrap().check();
    assert_eq!(config("suspend_slice = \"200us\"").unwrap_err().key, "timing.suspendable");
    let none = "suspendable = \"erase\", suspend_slice = \"0us\"";
    assert_eq!(config(none).unwrap_err().key, "timing.suspend_slice");
}

#[test]
fn a_read_that_needs_no_flash_suspends_nothing() {
    let mut dut = Dut::new(&one_die(&format!("{SUSPEND}\nprecondition.mode = \"sequential\"")));
    dut.write(0, PAGE, PAGE);
    dut.read(1_000, 0, PAGE);
    dut.write(2_000, 0, PAGE);
    // When the program's array begins at 5,120, the page to read is in controller memory.
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [605_120, 605_120, 1_210_240]);
    // Nor does a merge read whose page newer writes cover.
    let mut dut = Dut::new(&one_die(&format!("{SUSPEND}\nprecondition.mode = \"sequential\"")));
    dut.write(0, PAGE, PAGE);
    dut.write(1_000, 0, 512);
    dut.write(2_000, 0, PAGE);
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [605_120, 1_815_360, 1_210_240]);
}

#[test]
fn a_read_that_was_overwritten_when_the_suspension_is_complete_is_served_from_memory() {
    // The write arrives in the nanosecond in which the array becomes free: arrivals precede dispatch.
    let timing =
        "timing = { transfer = \"0ns/B\", suspendable = \"program+erase\", suspend = \"50us\", resume = \"0ns\" }";
    let mut dut = Dut::new(&one_die(&format!("{timing}\nprecondition.mode = \"sequential\"")));
    dut.write(0, PAGE, PAGE);
    dut.read(50_000, 0, 512);
    dut.write(100_000, 0, PAGE);
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [650_000, 100_000, 1_250_000]);
}

#[test]
fn reads_of_a_request_share_a_command_in_a_suspension_whatever_writes_wait_ahead() {
    let toml = format!("{}{TWO_PLANES}{SUSPEND}\nprecondition.mode = \"sequential\"", array(1, 1, 1, 2));
    let mut dut = Dut::new(&config(&toml));
    dut.write(0, 0, PAGE);
    dut.write(1_000, 5 * PAGE, PAGE);
    dut.read(300_000, 2 * PAGE, 2 * PAGE);
    // Suspended at 320,000, both pages out at 380,240, resumed at 390,240 with the remaining 305,120.
    let completions: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [695_360, 1_300_480, 380_240]);
}

#[test]
fn of_a_copyback_the_program_is_suspended_and_the_read_is_not() {
    // Block 0 holds only page 3 when the seventh program, at 4,235,840, makes its collection due.
    let run = |suspendable: &str| {
        let toml = format!(
            "geometry.blocks_per_plane = 8
            geometry.pages_per_block = 4
            timing = {{ suspendable = \"{suspendable}\", suspend = \"20us\", resume = \"10us\" }}
            device = {{ over_provisioning = 0.843750, queue_depth = 64 }}
            gc.threshold = \"26 pages\"
            schemes.path = \"copyback\""
        );
        let mut dut = Dut::new(&one_die(&toml));
        (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
        dut.read(4_260_000, PAGE, PAGE);
        let done = dut.completed();
        (done[7].completion.0, dut.ssd.now().0)
    };
    // Its program begins at 4,285,840, is suspended until 4,370,960 with all its time remaining; then the erase follows.
    let end = 4_370_960 + 600_000 + 3_500_000;
    assert_eq!(run("program+erase"), (4_305_840 + 55_120, end));
    // If only erases are suspendable, the read suspends the erase.
    assert_eq!(run("erase"), (4_885_840 + 75_120, 4_885_840 + 85_120 + 3_500_000));
}

// The host side: queue depth, closed loop, dispatch.

#[test]
fn requests_beyond_the_queue_depth_wait_outside_in_arrival_order() {
    let mut dut = Dut::new(&config(&format!("{}device.queue_depth = 1", array(2, 1, 1, 1))));
    dut.read(0, 0, PAGE);
    dut.read(10, PAGE, PAGE);
    dut.read(20, 0, PAGE);
    let done = dut.completed();
    let completions: Vec<u64> = done.iter().map(|c| c.completion.0).collect();
    assert_eq!(completions, [55_120, 110_240, 165_360]);
    assert_eq!(causes(&done[1]), [("queue", 55_110), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!((done[1].start, done[1].blame.waits()), (Some(Nanos(55_120)), 55_110));
    let waits = summary(&dut.ssd).waiting_ns.all;
    assert_eq!((waits.min, waits.max), (Some(0), Some(110_220)));
}

#[test]
fn in_a_closed_loop_a_request_arrives_when_a_place_frees() {
    let mut dut = Dut::new(&one_die("device.queue_depth = 2"));
    dut.ssd.set_closed(true);
    (0..4).for_each(|i| dut.read(0, i * PAGE, PAGE));
    let done = dut.completed();
    let times: Vec<(u64, u64)> = done.iter().map(|c| (c.arrival.0, c.completion.0)).collect();
    assert_eq!(times, [(0, 55_120), (0, 110_240), (55_120, 165_360), (110_240, 220_480)]);
}

/// Five chips on channels of their own; R0 {0, 1}, R1 {1, 2}, R2 {3, 4}, R3 {4}, all at 0.
fn four_requests(more: &str) -> Vec<ssdlab_sim::Completed> {
    let mut dut = Dut::new(&config(&format!("{}{more}", array(5, 1, 1, 1))));
    [(0, 2), (1, 2), (3, 2), (4, 1)].iter().for_each(|(lpn, pages)| dut.read(0, lpn * PAGE, pages * PAGE));
    dut.completed()
}

#[test]
fn synchronous_fifo_blocks_behind_a_request_whose_chips_are_busy() {
    let done = four_requests("schemes.order = \"sync-fifo\"");
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [55_120, 110_240, 110_240, 165_360]);
    let service = [("array", 50_000), ("bus", 5_120)];
    assert_eq!(causes(&done[0]), service);
    assert_eq!(causes(&done[2]), [&[("order", 55_120)][..], &service].concat());
    assert_eq!(causes(&done[3]), [&[("order", 110_240)][..], &service].concat());
}

#[test]
fn asynchronous_fifo_queues_at_each_chip() {
    let done = four_requests("schemes.order = \"async-fifo\"");
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [55_120, 110_240, 55_120, 110_240]);
    assert_eq!(causes(&done[1]), [("die_host", 55_120), ("array", 50_000), ("bus", 5_120)], "its page on chip 1");
}

#[test]
fn a_chip_takes_so_many_sub_requests_and_the_rest_waits_in_the_window() {
    let mut dut = Dut::new(&config(&format!("{}order.chip_queue = 1", array(3, 1, 1, 1))));
    dut.read(0, 0, PAGE);
    dut.read(0, 0, 2 * PAGE); // waits until chips 0 and 1 both have room
    dut.read(0, PAGE, PAGE); // must not overtake it at chip 1
    dut.read(0, 2 * PAGE, PAGE); // shares no chip with those that wait
    let done = dut.completed();
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [55_120, 110_240, 165_360, 55_120]);
    assert_eq!(causes(&done[2]), [("order", 110_240), ("array", 50_000), ("bus", 5_120)]);
    // With room for two, the second one waits in the chip's own queue.
    let mut dut = Dut::new(&one_die("order.chip_queue = 2"));
    (0..3).for_each(|i| dut.read(0, i * PAGE, PAGE));
    let done = dut.completed();
    assert_eq!(causes(&done[1]), [("die_host", 55_120), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!(causes(&done[2]), [("order", 55_120), ("die_host", 55_120), ("array", 50_000), ("bus", 5_120)]);
}

// Dynamic placement.

#[test]
fn a_dynamic_write_goes_to_the_first_idle_die_after_the_last_one_used() {
    let mut dut = Dut::new(&config(&format!("{}schemes.place = \"dynamic\"", array(1, 4, 1, 1))));
    // Idle dies are selected regardless of the bus: four writes at once go to four dies, and share the bus.
    (0..4).for_each(|i| dut.write(0, i * PAGE, PAGE));
    // No die is idle: a device-wide FIFO, in the order in which dies become idle.
    dut.write(0, 4 * PAGE, PAGE);
    dut.write(0, 5 * PAGE, PAGE);
    let done = dut.completed();
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [605_120, 610_240, 615_360, 620_480, 1_210_240, 1_215_360]);
    assert_eq!(causes(&done[4]), [("die_host", 605_120), ("array", 600_000), ("bus", 5_120)]);
}

#[test]
fn a_dynamic_write_skips_a_die_at_work_and_goes_round() {
    let toml = format!("{}schemes.place = \"dynamic\"\nprecondition.mode = \"sequential\"", array(4, 1, 1, 1));
    let mut dut = Dut::new(&config(&toml));
    let full = dut.ssd.flash().free_pages(PlaneId(0));
    let used = |dut: &Dut| (0..4).map(|p| full - dut.ssd.flash().free_pages(PlaneId(p))).collect::<Vec<u32>>();
    // Preconditioning used the dies in turn, the last one last. A read keeps die 0 busy.
    dut.read(0, 0, PAGE);
    dut.write(0, PAGE, PAGE);
    dut.ssd.run_until(Nanos(1_000_000));
    assert_eq!(used(&dut), [0, 1, 0, 0]);
    for at in 1..=4 {
        dut.write(at * 1_000_000, PAGE, PAGE);
    }
    dut.ssd.run_until(Nanos(6_000_000));
    assert_eq!(used(&dut), [1, 2, 1, 1], "dies 2, 3, 0, 1");
    assert_eq!(dut.latencies(), [55_120, 605_120, 605_120, 605_120, 605_120, 605_120]);
}

#[test]
fn a_dynamic_write_alternates_between_the_planes_of_a_die() {
    let mut dut = Dut::new(&config(&format!("{}schemes.place = \"dynamic\"", array(1, 1, 1, 2))));
    (0..4).for_each(|i| dut.write(i * 1_000_000, 0, PAGE));
    dut.completed();
    let free = [PlaneId(0), PlaneId(1)].map(|plane| dut.ssd.flash().free_pages(plane));
    assert_eq!(free, [512 * 64 - 2; 2]);
}

#[test]
fn static_orders_vary_their_first_letter_fastest() {
    // Planes are numbered in CWDP order on 2 channels x 3 chips x 2 dies x 2 planes.
    let plane_of = |order: &str, lpn: u64| {
        let mut dut = Dut::new(&config(&format!(
            "{}geometry.blocks_per_plane = 32\nschemes.place = \"{order}\"",
            array(2, 3, 2, 2)
        )));
        dut.write(0, lpn * PAGE, PAGE);
        dut.completed();
        (0..24).find(|p| dut.ssd.flash().free_pages(PlaneId(*p)) < 32 * 64).unwrap()
    };
    for lpn in 0..30 {
        let (c, w, d, p) = (lpn % 2, lpn / 2 % 3, lpn / 6 % 2, lpn / 12 % 2);
        assert_eq!(plane_of("CWDP", lpn), (((p * 2 + d) * 3 + w) * 2 + c) as u32);
        let (p, d, w, c) = (lpn % 2, lpn / 2 % 2, lpn / 4 % 3, lpn / 12 % 2);
        assert_eq!(plane_of("PDWC", lpn), (((p * 2 + d) * 3 + w) * 2 + c) as u32);
    }
}
