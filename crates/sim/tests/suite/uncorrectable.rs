//! Uncorrectable pages. In parity groups: reconstructed from their group, rewritten, or reported as lost. Without parity: lost
//! wherever they move.

use crate::common::{Dut, Log, array, causes, config, plane, summary};
use ssdlab_sim::report::ecc::Ecc;
use ssdlab_sim::units::{Lpn, Nanos, Ppn};
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
const READ: u64 = 127_400;
const WRITE: u64 = 302_400;
const MS: u64 = 1_000_000;

/// Nine chips in groups of three, all pages written, with paper C's times. Each read adds 200 errors per MiB to the pages of its
/// block, and ECC corrects 1,024: after five reads of a block, the sixth finds its page uncorrectable.
fn nine(more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = 9, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, pages_per_block = 8 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"1500us\", transfer = \"25ns/B\" }}
device = {{ over_provisioning = 0.3, queue_depth = 64 }}
precondition = {{ mode = \"sequential\" }}
ecc.errors = \"model\"
ecc.correctable = 1
ecc.program_errors = [[0, 0]]
ecc.spread = 0
ecc.read_disturb = 200000
raid.layout = \"lci\"
raid.group = 3
{more}"
    ))
}

#[test]
fn a_page_beyond_correction_is_computed_from_its_group_and_written_again() {
    let mut dut = Dut::new(&nine(""));
    // Page 0 on chip 0; chips 3 and 6 restore it. The sixth read of its block finds it uncorrectable.
    (0..5).for_each(|i| dut.read(i * MS, 0, PAGE));
    dut.read(5 * MS, 0, PAGE);
    // While it is rewritten, it is in controller memory; then it is readable on flash.
    dut.read(5 * MS + 2 * READ + WRITE - 1, 0, PAGE);
    dut.read(7 * MS, 0, PAGE);
    let done = dut.completed();
    assert!(done.iter().all(|read| read.uncorrectable == 0));
    let latency = |i: usize| (done[i].completion - done[i].arrival).0;
    assert_eq!([latency(4), latency(5), latency(6), latency(7)], [READ, 2 * READ, 0, READ]);
    assert_eq!(causes(&done[5]), [("array", 50_000), ("bus", 204_800)]);
    let told = summary(&dut.ssd);
    let failed = told.failures.unwrap();
    assert_eq!((failed.uncorrectable_pages, failed.degraded_reads, failed.degraded_page_reads), (Some(1), 1, 2));
    assert_eq!((failed.rebuilt_pages, failed.rebuild_page_reads, failed.lost_pages), (1, 0, 0));
    assert_eq!((told.flash.programs.parity, told.flash.programs.host), (1, 0));
    // The group was one page short from the detection until the page was in controller memory.
    assert_eq!(failed.unprotected_ns, u128::from(READ));
}

#[test]
fn two_pages_beyond_correction_in_a_group_are_lost_and_said_to_be() {
    let mut dut = Dut::new(&nine(""));
    // Page 3 is on chip 3, in the group of page 0.
    (0..5).for_each(|i| dut.read(i * MS, 0, PAGE));
    (5..10).for_each(|i| dut.read(i * MS, 3 * PAGE, PAGE));
    dut.read(10 * MS, 0, PAGE);
    dut.read(11 * MS, 3 * PAGE, PAGE);
    dut.write(12 * MS, 0, PAGE);
    dut.read(13 * MS, 0, PAGE);
    let done = dut.completed();
    let said: Vec<u32> = done.iter().skip(9).map(|done| done.uncorrectable).collect();
    assert_eq!(said, [0, 1, 1, 0, 0]);
    let failed = summary(&dut.ssd).failures.unwrap();
    assert_eq!((failed.uncorrectable_pages, failed.lost_pages, failed.lost_reads), (Some(2), 2, 2));
}

#[test]
fn an_update_reads_around_what_it_can_not_correct() {
    // The old page, the old parity, and with rcw the other data page.
    for (mode, worn) in [("rmw", 0), ("rmw", 6), ("rcw", 3)] {
        let mut dut = Dut::new(&nine(&format!("raid.write_mode = \"{mode}\"")));
        // Chip 6 holds parity in stripe 0 and page 6 + 3 in stripe 1, in the same block.
        let page = if worn == 6 { 9 } else { worn };
        (0..5).for_each(|i| dut.read(i * MS, page * PAGE, PAGE));
        dut.write(5 * MS, 0, PAGE);
        (6..9).for_each(|i| dut.read(i * MS, 3 * (i - 6) % 6 * PAGE, PAGE));
        let done = dut.completed();
        assert!(done.iter().all(|done| done.uncorrectable == 0), "{mode} {worn}");
        // The first reads are useless; the later ones are used.
        assert_eq!((done[5].completion - done[5].arrival).0, 2 * READ + WRITE, "{mode} {worn}");
        let failed = summary(&dut.ssd).failures.unwrap();
        assert_eq!((failed.uncorrectable_pages, failed.lost_pages), (Some(1), 0), "{mode} {worn}");
    }
}

/// An update of two chunks whose second one is uncorrectable and needed by a partial write reads the first and the parity again:
/// the first has waited for the second meanwhile.
#[test]
fn an_update_that_reads_again_accounts_for_the_wait_between_its_reads() {
    let mut dut = Dut::new(&nine("raid.write_mode = \"rmw\""));
    (0..5).for_each(|i| dut.read(i * MS, 0, PAGE));
    // Page 54 is on chip 0, in another block than page 0: the old page 0 is read after it.
    dut.read(5 * MS, 54 * PAGE, PAGE);
    dut.write(5 * MS, 512, 4 * PAGE - 512);
    (6..8).for_each(|i| dut.read(i * MS, 3 * (i - 6) * PAGE, PAGE));
    let done = dut.completed();
    assert!(done.iter().all(|done| done.uncorrectable == 0));
    let latency = |i: usize| (done[i].completion - done[i].arrival).0;
    assert_eq!([latency(5), latency(6)], [READ, 3 * READ + WRITE]);
    // Page 0: after the other read, then held while page 3 is read again.
    assert_eq!(causes(&done[6]), [("die_host", READ), ("held", READ), ("array", 225_000), ("bus", 204_800)]);
    let told = summary(&dut.ssd);
    // Eight host reads; page 0 once, page 3 and its parity twice, pages 1 and 2 and their parity once.
    assert_eq!((told.flash.reads.total, told.flash.programs.total), (8 + 5 + 4, 7));
    let failed = told.failures.unwrap();
    assert_eq!((failed.uncorrectable_pages, failed.lost_pages, failed.lost_reads), (Some(1), 0, 0));
}

#[test]
fn what_faults_and_errors_take_at_once_is_refused() {
    for more in ["faults.power_cut = [\"1s\"]", "faults.chip_fails = [{ at = \"1s\" }]"] {
        assert_eq!(nine(more).check().unwrap_err().key, "ecc.errors");
    }
    assert_eq!(nine("ecc.decode = \"1us\"").check().unwrap_err().key, "raid.layout");
}

// Without parity.

/// One die of eight blocks of four pages. Each read of a block adds 256 errors per MiB to its pages; ECC corrects 1,024, so the
/// fifth read of a page finds too many.
fn one(threshold: u64, more: &str) -> Dut {
    let ecc =
        "ecc = { errors = \"model\", correctable = 1, program_errors = [[0, 0]], spread = 0, read_disturb = 256000 }";
    Dut::new(&plane(4, 6, threshold, &format!("{ecc}\n{more}")))
}

/// Applies requests to a device, one after the other: `w` and `r` a page, `p` a part of one. Returns the uncorrectable pages of
/// reads.
fn told(dut: &mut Dut, requests: &[(char, u64)]) -> Vec<u32> {
    let from = dut.completed().len();
    for (op, lpn) in requests {
        let at = dut.ssd.now().0;
        match op {
            'w' => dut.write(at, lpn * PAGE, PAGE),
            'p' => dut.write(at, lpn * PAGE + 512, 512),
            _ => dut.read(at, lpn * PAGE, PAGE),
        }
        dut.ssd.run();
    }
    dut.completed()[from..].iter().filter(|done| done.op == RequestOp::Read).map(|done| done.uncorrectable).collect()
}

fn ecc(dut: &Dut) -> Ecc {
    summary(&dut.ssd).ecc.unwrap()
}

#[test]
fn as_many_errors_as_ecc_corrects_are_corrected_and_an_erase_forgets_reads() {
    let mut dut = one(25, "");
    let mut round = vec![('w', 0), ('w', 1), ('w', 2), ('w', 3)];
    let fill = round.clone();
    round.extend([('r', 0); 5]);
    assert_eq!(told(&mut dut, &round), [0, 0, 0, 0, 1]);
    let first = ecc(&dut);
    assert_eq!((first.pages_decoded, first.pages_uncorrectable, first.moves_uncorrectable), (5, 1, 0));
    // Of the good ones: 256, 512, 768 and 1,024 a MiB.
    assert_eq!((first.errors_per_kib_mean, first.errors_per_kib_max), (Some(0.625), 1.0));
    // The host writes all blocks in turn, one is erased, and block 0 is written again.
    (1..8).for_each(|_| _ = told(&mut dut, &fill));
    assert_eq!(told(&mut dut, &round), [0, 0, 0, 0, 1]);
    assert_eq!((dut.ssd.flash().lpn_of(Ppn(0)), ecc(&dut).moves_uncorrectable), (Lpn(0), 0));
}

#[test]
fn what_is_lost_stays_lost_when_it_is_merged_or_moved() {
    let read_4 = [('w', 0), ('r', 0), ('r', 0), ('r', 0), ('r', 0)];
    // Merged: seven sectors of old data are in the new page, in a block that is read for the first time. A whole-page write makes
    // it good again.
    let mut dut = one(1, "");
    told(&mut dut, &[('w', 1), ('w', 2), ('w', 3)]);
    assert_eq!(told(&mut dut, &read_4), [0; 4]);
    assert_eq!(told(&mut dut, &[('p', 0), ('r', 0), ('w', 0), ('r', 0)]), [1, 0]);
    // Moved: the fifth read is GC's, which moves one page of block 0.
    let churn = [('w', 1), ('w', 2), ('w', 3), ('w', 1), ('w', 2), ('w', 3)];
    for (errors, lost) in [(4, 1), (3, 0)] {
        let mut dut = one(26, "");
        assert_eq!(told(&mut dut, &read_4[..=errors]), vec![0; errors]);
        assert_eq!(told(&mut dut, &churn), [0; 0]);
        let gc = summary(&dut.ssd).gc;
        assert_eq!((gc.collections, gc.moved_pages), (1, 1));
        assert_eq!((told(&mut dut, &[('r', 0)]), ecc(&dut).moves_uncorrectable), (vec![lost], u64::from(lost)));
        // The others have passed ECC: they start without errors.
        assert_eq!(told(&mut dut, &[('r', 0); 3]), [lost; 3]);
        assert_eq!(told(&mut dut, &[('w', 0), ('r', 0)]), [0]);
    }
}

#[test]
fn what_is_lost_stays_lost_in_the_controllers_buffer_unless_it_is_overwritten_there() {
    let more = "staging.slots = 4\nschemes = { place = \"dynamic\", collector = { idle-chip = { stream_rule = \"always\" } } }";
    let fill = [('w', 0), ('r', 0), ('r', 0), ('r', 0), ('r', 0), ('w', 1), ('w', 2), ('w', 3), ('w', 1), ('w', 2)];
    for overwritten in [false, true] {
        let mut dut = one(26, more);
        told(&mut dut, &fill);
        // The seventh program makes block 0 due; its page is in the buffer until the erase is over.
        let due = dut.ssd.now().0 + 605_120;
        dut.write(dut.ssd.now().0, 3 * PAGE, PAGE);
        if overwritten {
            dut.write(due + 1_000_000, 0, PAGE);
        }
        dut.ssd.run();
        let report = summary(&dut.ssd).idle_chip.unwrap().moves;
        assert_eq!((report.written_back, report.absorbed_writes), (1, u64::from(overwritten)));
        assert_eq!((told(&mut dut, &[('r', 0)]), ecc(&dut).moves_uncorrectable), (vec![u32::from(!overwritten)], 1));
    }
}

/// Per day, a page gains half as many errors as its program left.
#[test]
fn errors_grow_with_time_from_what_programs_left() {
    let ecc = "ecc = { errors = \"model\", correctable = 1, program_errors = [[0, 512]], spread = 0, read_disturb = 0, retention = 0.5 }";
    let mut dut = Dut::new(&config(&format!("{}{ecc}", array(1, 1, 1, 1))));
    let (program, day) = (605_120, 86_400_000_000_000);
    dut.write(0, 0, PAGE);
    // 512 + 256 x days: 1,024 after two days are corrected; the read ends 55,120 later.
    let moments = [0, day, 2 * day, 2 * day + day / 256];
    moments.iter().for_each(|after| dut.read(program + after, 0, PAGE));
    let told: Vec<u32> = dut.completed()[1..].iter().map(|read| read.uncorrectable).collect();
    assert_eq!(told, [0, 0, 0, 1]);
    assert_eq!(self::ecc(&dut).errors_per_kib_mean, Some((0.5 + 0.75 + 1.0) / 3.0));
}

/// Pages differ from each other, by no more than the spread.
#[test]
fn programs_leave_so_many_errors_as_the_page_and_the_spread_say() {
    let left = |spread: &str, seed: u64| {
        let ecc = format!(
            "ecc = {{ errors = \"model\", program_errors = [[0, 10240]], spread = {spread}, read_disturb = 0 }}"
        );
        let mut dut = Dut::seeded(&config(&format!("{}{ecc}", array(1, 1, 1, 1))), seed);
        (0..100).for_each(|lpn| dut.read(lpn * 1_000_000, lpn * PAGE, PAGE));
        dut.completed();
        let ecc = self::ecc(&dut);
        (ecc.errors_per_kib_mean.unwrap(), ecc.errors_per_kib_max)
    };
    assert_eq!(left("0", 1), (10.0, 10.0));
    let (mean, max) = left("0.2", 1);
    assert!((mean - 10.0).abs() < 0.5 && max > 11.8 && max <= 12.0, "{mean} {max}");
    assert!(left("0.2", 1_000) != (mean, max) && left("0.2", 1) == (mean, max), "the seed says which page is how bad");
}

/// Blocks wear out by reads while pages are written and collected: no wrong data is returned, and lost data is reported.
#[test]
fn worn_pages_in_small_worlds_are_given_back_or_reported() {
    let (mut repaired, mut lost) = (0, 0);
    for seed in 1..=std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(40u64) {
        let mut state = seed;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let layout = ["lci", "traditional"][below(2) as usize];
        let mode = ["rmw", "rcw", "auto"][below(3) as usize];
        let mut config = nine(&format!("raid.write_mode = \"{mode}\"\nraid.encode_timeout = \"{}us\"", below(200)));
        config.raid.layout = if layout == "lci" {
            ssdlab_sim::config::RaidLayout::Lci
        } else {
            ssdlab_sim::config::RaidLayout::Traditional
        };
        config.ecc.read_disturb = 20_000 + 30_000 * below(6) as u32;
        let mut ssd = Ssd::new(&config, seed, Check::Full).unwrap();
        let log = Log::default();
        ssd.observe(Box::new(log.clone()));
        let sectors = ssd.capacity_bytes() / 512 / 4;
        let mut at = 0;
        for _ in 0..600 {
            at += below(150_000);
            let align = if below(4) > 0 { 8 } else { 1 };
            let first = below(sectors) / align * align;
            let op = if below(4) > 0 { RequestOp::Read } else { RequestOp::Write };
            let count = (1 + below(3)) * align;
            ssd.submit(Request { arrival: Nanos(at), op, offset: first * 512, bytes: count * 512 });
        }
        ssd.run();
        let failed = summary(&ssd).failures.unwrap();
        let told: u64 = log.0.lock().unwrap().iter().map(|done| u64::from(done.uncorrectable)).sum();
        assert_eq!(told, failed.lost_reads + failed.lost_writes, "what is lost is said");
        (repaired, lost) = (repaired + failed.rebuilt_pages, lost + failed.lost_pages);
    }
    assert!(repaired > 1_000 && lost > 10, "{repaired} {lost}");
}
