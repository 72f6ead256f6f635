//! Overlapping partial writes: the single merge read, when it is skipped, and the cost of reads meanwhile. All with the full
//! oracle, which tracks the version of every sector.

use crate::common::{Dut, array, causes, config, summary};
use ssdlab_sim::units::{Lpn, Nanos, Ppn};

const PAGE: u64 = 4096;
const READ: u64 = 55_120;
const WRITE: u64 = 605_120;

/// One die with every page on flash.
fn filled(more: &str) -> Dut {
    Dut::new(&config(&format!("{}precondition.mode = \"sequential\"\n{more}", array(1, 1, 1, 1))))
}

fn completions(dut: &mut Dut) -> Vec<u64> {
    dut.completed().iter().map(|done| done.completion.0).collect()
}

fn host_reads(dut: &Dut) -> u64 {
    summary(&dut.ssd).flash.reads.host
}

#[test]
fn overlapping_partial_writes_share_one_merge_read_before_the_first_program() {
    let mut dut = Dut::new(&config(&array(1, 1, 1, 1)));
    dut.write(0, 0, PAGE);
    dut.write(1_000_000, PAGE, PAGE);
    dut.write(1_100_000, 0, 512);
    dut.write(1_200_000, 512, 512);
    let done = dut.completed();
    let times: Vec<u64> = done.iter().map(|done| done.completion.0).collect();
    assert_eq!(times, [WRITE, 1_000_000 + WRITE, 2_265_360, 2_870_480]);
    assert_eq!(host_reads(&dut), 1);
    assert_eq!(causes(&done[2]), [("die_host", 505_120), ("array", 650_000), ("bus", 10_240)]);
    // Until the merge read has ended at 1,660,240, then behind the first program.
    assert_eq!(causes(&done[3]), [("die_host", 460_240 + WRITE), ("array", 600_000), ("bus", 5_120)]);
}

#[test]
fn a_merge_read_is_skipped_at_its_turn_where_newer_writes_cover_the_page() {
    // One write brings the rest of the page: it waits for nothing, and the older one queues again when the merge read's turn
    // comes.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.write(200, 512, PAGE - 512);
    // The older write is still in flight when the newer one has landed: the run continues, and nothing is read.
    dut.write(1_500_000, 1024, 512);
    assert_eq!(completions(&mut dut), [WRITE, 3 * WRITE, 2 * WRITE, 4 * WRITE]);
    assert_eq!(host_reads(&dut), 0);
    // Two that cover together: the one that completes the page waits for nothing, the other for the merge read's turn.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.write(200, 512, 512);
    dut.write(300, 1024, PAGE - 1024);
    assert_eq!(completions(&mut dut), [WRITE, 3 * WRITE, 4 * WRITE, 2 * WRITE]);
    assert_eq!(host_reads(&dut), 0);
    // A whole page never waits.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.write(200, 512, 512);
    dut.write(300, 0, PAGE);
    assert_eq!(completions(&mut dut), [WRITE, 3 * WRITE, 4 * WRITE, 2 * WRITE]);
    assert_eq!(host_reads(&dut), 0);
    // All but one sector is not enough.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.write(200, 512, PAGE - 1024);
    assert_eq!(completions(&mut dut), [WRITE, 2 * WRITE + READ, 3 * WRITE + READ]);
    assert_eq!(host_reads(&dut), 1);
    // Covered during the merge read: programs that wait for it wait to its end.
    let mut dut = filled("");
    dut.write(0, 0, 512);
    dut.write(100, 512, 512);
    dut.write(200, 0, PAGE);
    assert_eq!(completions(&mut dut), [READ + 2 * WRITE, READ + 3 * WRITE, READ + WRITE]);
    assert_eq!(host_reads(&dut), 1);
}

#[test]
fn a_page_that_is_not_on_flash_lacks_nothing() {
    let mut dut = Dut::new(&config(&array(1, 1, 1, 1)));
    dut.write(0, 0, 512);
    dut.write(100, 512, 512);
    dut.read(200, 2048, 512);
    assert_eq!(completions(&mut dut), [WRITE, 2 * WRITE, 200]);
    assert_eq!(host_reads(&dut), 0);
    // A trim ends the run: the merge read is skipped, and the next write waits for nothing.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.trim(200, 0, PAGE);
    dut.write(300, 512, 512);
    assert_eq!(completions(&mut dut), [WRITE, 3 * WRITE, 2 * WRITE]);
    assert_eq!(host_reads(&dut), 0);
    let on_flash = dut.ssd.version_of(Lpn(0));
    assert_eq!(on_flash, Some(4), "filled, write, trim, write");
}

#[test]
fn a_read_takes_from_memory_what_is_there_and_the_old_page_for_the_rest() {
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.read(200, 0, 512);
    dut.read(300, 512, 512);
    dut.read(400, 0, 1024);
    // Sectors in memory take no time; the other reads wait in the queue, until the merge read has ended.
    assert_eq!(completions(&mut dut), [WRITE, 2 * WRITE + READ, 200, WRITE + READ, WRITE + READ]);
    assert_eq!(host_reads(&dut), 1);
    // The write's data is still on the host link: a read of its page precedes its merge read, and transfers the requested
    // sectors.
    let mut dut = filled("timing.host_link = \"100ns/B\"");
    dut.write(0, 0, 512);
    dut.read(10, 0, 1024);
    dut.read(20, 0, 512);
    // The array is read from 10 on, 1,024 bytes leave the die and cross the link; the write's merge read begins when its data is there.
    let (link, read) = (51_200, 50_000 + 1_280);
    let merged = (10 + read).max(link) + READ;
    assert_eq!(
        completions(&mut dut),
        [merged + WRITE, 10 + read + 2 * link + (20 + link).saturating_sub(10 + read), 20 + link]
    );
    assert_eq!(host_reads(&dut), 2);
}

#[test]
fn the_old_page_stays_valid_until_it_has_been_read_or_is_not_needed() {
    let valid = |dut: &Dut| dut.ssd.flash().is_valid(Ppn(0));
    let mut dut = filled("");
    assert_eq!(dut.ssd.flash().lpn_of(Ppn(0)), Lpn(0));
    dut.write(0, 0, 512);
    dut.write(100, 512, 512);
    dut.ssd.run_until(Nanos(READ - 1));
    assert!(valid(&dut));
    dut.ssd.run_until(Nanos(READ));
    assert!(!valid(&dut));
    dut.completed();
    // Covered: at that admission.
    let mut dut = filled("");
    dut.write(0, PAGE, PAGE);
    dut.write(100, 0, 512);
    dut.write(200, 512, PAGE - 512);
    dut.ssd.run_until(Nanos(199));
    assert!(valid(&dut));
    dut.ssd.run_until(Nanos(200));
    assert!(!valid(&dut));
    dut.completed();
}

#[test]
fn sectors_of_large_pages_count_one_by_one() {
    // 128 KiB pages have 256 sectors: runs of several words.
    let mut dut =
        filled("geometry.page_size = \"128KiB\"\ngeometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.2");
    let page = 128 * 1024;
    dut.write(0, page, page);
    // All but sector 200, in pieces across word limits.
    dut.write(100, 0, 100 * 512);
    dut.write(200, 50 * 512, 150 * 512);
    dut.write(300, 201 * 512, 55 * 512);
    dut.read(400, 190 * 512, 10 * 512);
    dut.completed();
    assert_eq!((host_reads(&dut), summary(&dut.ssd).pages.from_memory), (1, 3));
    let mut dut =
        filled("geometry.page_size = \"128KiB\"\ngeometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.2");
    dut.write(0, page, page);
    dut.write(100, 0, 100 * 512);
    dut.write(200, 50 * 512, 151 * 512);
    dut.write(300, 201 * 512, 55 * 512);
    dut.completed();
    assert_eq!(host_reads(&dut), 0);
}

#[test]
fn merge_reads_of_one_request_share_a_multi_plane_command() {
    let mut dut = Dut::new(&config(&format!("{}device.multi_plane = true", array(1, 1, 1, 2))));
    dut.write(0, 0, 2 * PAGE);
    dut.write(2_000_000, 2048, PAGE);
    assert_eq!(dut.latencies(), [610_240, 60_240 + 610_240]);
    let flash = summary(&dut.ssd).flash;
    assert_eq!((flash.reads.host, flash.multi_plane.reads, flash.multi_plane.programs), (2, 1, 2));
    // One of the two is covered by then: it is not read.
    let mut dut = Dut::new(&config(&format!("{}device.multi_plane = true", array(1, 1, 1, 2))));
    dut.write(0, 0, 2 * PAGE);
    dut.write(2_000_000, 2 * PAGE, PAGE);
    dut.write(2_000_100, 2048, PAGE);
    dut.write(2_000_200, PAGE, PAGE);
    dut.completed();
    assert_eq!(host_reads(&dut), 1);
}
