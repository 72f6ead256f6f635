//! Timing, like a data sheet: do this at 0, expect that at 55,120 ns. Every worked example of the interface.

mod common;

use common::{Dut, config};

/// tR 50,000, tPROG 600,000, tBERS 3,500,000, 5,120 a page on the bus: the defaults.
const PAGE: u64 = 4096;

#[test]
fn a_read_takes_array_and_transfer() {
    let mut dut = Dut::new(&config(""));
    dut.read(0, 0, PAGE);
    assert_eq!(dut.latencies(), [55_120]);
}

#[test]
fn eight_reads_on_eight_dies_of_one_channel_queue_for_the_bus() {
    let mut dut = Dut::new(&config("geometry = { channels = 1 }"));
    (0..8).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 60_240, 65_360, 70_480, 75_600, 80_720, 85_840, 90_960]);
}

#[test]
fn two_reads_of_one_die_follow_each_other() {
    let one_die = "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1 }\n";
    let mut dut = Dut::new(&config(one_die));
    (0..2).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 110_240]);
    let mut dut = Dut::new(&config(&format!("{one_die}timing = {{ cache_register = true }}")));
    (0..2).for_each(|i| dut.read(0, i * PAGE, PAGE));
    assert_eq!(dut.latencies(), [55_120, 105_120]);
}

#[test]
fn a_two_plane_read_has_one_array_time_and_one_burst() {
    let mut dut = Dut::new(&config(
        "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1 }\ndevice = { multi_plane = true }",
    ));
    dut.read(0, 0, 2 * PAGE);
    assert_eq!(dut.latencies(), [60_240]);
}

#[test]
fn a_read_waits_for_a_program_of_its_die() {
    let mut dut = Dut::new(&config("geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1 }"));
    dut.write(0, 0, PAGE);
    dut.read(300_000, PAGE, PAGE);
    assert_eq!(dut.latencies(), [605_120, 360_240]);
}
