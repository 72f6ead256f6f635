//! Second copies of pages whose reads wait for GC (DPR), to the nanosecond.
//!
//! tR 30,000, tPROG 600,000, tBERS 3,000,000, a page takes 40,960 on the bus; times in ns.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, config, summary};
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::report::dpr::Dpr;
use ssdlab_sim::{LegRecord, Observer, RequestOp};

const PAGE: u64 = 4096;
const READ: u64 = 70_960;
const WRITE: u64 = 640_960;
/// A collection of two valid pages.
const COLLECTION: u64 = 4_423_840;

/// Three chips, to which logical pages go in turn. A collection of chip 0 begins at the returned time, and moves logical pages 0
/// and 9.
pub fn device(route: &str) -> (Dut, u64) {
    device_with(route, "")
}

fn device_with(route: &str, more: &str) -> (Dut, u64) {
    let config = config(&format!(
        "geometry = {{ channels = 3, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ exclusion = \"chip\", over_provisioning = 0.843 }}
gc = {{ threshold = \"27 pages\" }}
schemes = {{ route = {route} }}
{more}"
    ));
    let mut dut = Dut::new(&config);
    // The sixth page of chip 0 makes it due.
    for (i, lpn) in [0, 3, 6, 9, 3, 6].into_iter().enumerate() {
        dut.write(i as u64 * 1_000_000, lpn * PAGE, PAGE);
    }
    (dut, 5 * 1_000_000 + WRITE)
}

fn dpr(k: u32) -> String {
    format!("{{ dpr = {{ k = {k}, replica_pages = 0.02 }} }}")
}

fn report(dut: &Dut) -> Dpr {
    summary(&dut.ssd).dpr.unwrap()
}

/// Records the legs of second copies.
#[derive(Clone, Default)]
struct Copies(Arc<Mutex<Vec<LegRecord>>>);

impl Observer for Copies {
    fn leg(&mut self, leg: &LegRecord) {
        if leg.class == Class::Replica && leg.kind == LegKind::Array {
            self.0.lock().unwrap().push(*leg);
        }
    }
}

/// A read waits for GC; then its page is copied to the next idle chip, as soon as its own chip is idle.
#[test]
fn a_page_whose_read_has_waited_is_copied_to_another_chip() {
    let (mut dut, due) = device(&dpr(1));
    let copies = Copies::default();
    dut.ssd.observe(Box::new(copies.clone()));
    dut.read(due + 10_000, 0, PAGE);
    dut.ssd.run();
    let legs: Vec<(Verb, u64, u64, u32)> = copies
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|leg| (leg.verb, leg.start.0 - due, leg.end.0 - due, leg.planes[0].0))
        .collect();
    // The read waits until the collection ends. Then chip 0 is read for the copy, and chip 1 programs it.
    let read = COLLECTION + READ;
    let program = read + READ + 40_960;
    assert_eq!(legs, [(Verb::Read, read, read + 30_000, 0), (Verb::Program, program, program + 600_000, 1)]);
    let (report, flash) = (report(&dut), summary(&dut.ssd).flash);
    assert_eq!((report.blocked_reads, report.copies, report.pages), (1, 1, 1));
    assert_eq!((flash.reads.replica, flash.programs.replica), (1, 1));
}

/// The k-th read that has waited requests a copy, not an earlier one.
#[test]
fn the_k_th_read_that_waited_makes_the_copy() {
    for (k, copies) in [(1, 1), (2, 1), (3, 0)] {
        let (mut dut, due) = device(&dpr(k));
        dut.read(due + 10_000, 0, PAGE);
        dut.read(due + 20_000, 0, PAGE);
        dut.ssd.run();
        assert_eq!((report(&dut).blocked_reads, report(&dut).copies), (2, copies), "k = {k}");
    }
}

/// A read whose chip is in GC uses the copy and does not wait; once the page is overwritten there is no copy.
#[test]
fn a_copy_serves_reads_while_the_chip_of_their_page_is_collected() {
    let latencies = |route: &str, overwritten: bool| {
        let (mut dut, due) = device(route);
        dut.read(due + 10_000, 0, PAGE);
        let at = due + 20_000_000;
        // Chip 0 is collected again: of the block with pages 3, 6, 9 and 3, three are valid.
        dut.write(at, if overwritten { 0 } else { 9 * PAGE }, PAGE);
        dut.write(at + 1_000_000, 3 * PAGE, PAGE);
        dut.read(at + 1_000_000 + WRITE + 10_000, 0, PAGE);
        // The chip is idle: the page itself is read.
        dut.read(at + 20_000_000, 0, PAGE);
        let reads = dut.completed().split_off(6);
        let reads = reads.iter().filter(|c| c.op == RequestOp::Read).map(|c| (c.completion - c.arrival).0);
        (reads.collect::<Vec<u64>>(), summary(&dut.ssd).dpr)
    };
    let first = COLLECTION - 10_000 + READ;
    let second = 3 * 711_920 + 3_000_000 - 10_000 + READ;
    assert_eq!(latencies("\"direct\"", false).0, [first, second, READ]);
    let (reads, report) = latencies(&dpr(1), false);
    assert_eq!(reads, [first, READ, READ]);
    let report = report.unwrap();
    assert_eq!((report.copies, report.redirected_reads, report.pages), (1, 1, 1));
    let (reads, report) = latencies(&dpr(1), true);
    assert!(reads[1] > READ);
    let report = report.unwrap();
    assert_eq!((report.redirected_reads, report.dropped_overwritten), (0, 1));
}

/// A trim drops the copy too: later reads get the page that the read has put on flash, on whichever die.
#[test]
fn a_trimmed_page_has_no_copy() {
    let (mut dut, due) = device(&dpr(1));
    dut.read(due + 10_000, 0, PAGE);
    let at = due + 20_000_000;
    dut.trim(at, 0, PAGE);
    // Never written since: put on chip 0 in no time.
    dut.read(at + 1_000, 0, PAGE);
    // Chip 0 is collected again: of the block with pages 3, 6, 0 and 3, three are valid.
    dut.write(at + 1_000_000, 3 * PAGE, PAGE);
    dut.read(at + 1_000_000 + WRITE + 10_000, 0, PAGE);
    let reads = dut.completed().into_iter().filter(|c| c.op == RequestOp::Read);
    let latencies: Vec<u64> = reads.map(|c| (c.completion - c.arrival).0).collect();
    let again = 3 * 711_920 + 3_000_000 - 10_000 + READ;
    assert_eq!(latencies, [COLLECTION - 10_000 + READ, READ, again]);
    assert_eq!(summary(&dut.ssd).pages.preloaded, 1);
    let report = report(&dut);
    assert_eq!((report.redirected_reads, report.dropped_overwritten), (0, 1));
}

/// A page that is overwritten while it is read for a copy, or while the copy is programmed, has no copy.
#[test]
fn what_is_overwritten_while_it_is_copied_is_no_copy() {
    let read = COLLECTION + READ;
    for (after, programs) in [(read + 10_000, 0), (read + READ + 10_000, 1)] {
        let (mut dut, due) = device(&dpr(1));
        dut.read(due + 10_000, 0, PAGE);
        dut.write(due + after, 0, PAGE);
        dut.ssd.run();
        let (report, flash) = (report(&dut), summary(&dut.ssd).flash);
        assert_eq!((report.copies, report.pages, report.dropped_overwritten), (0, 0, 0), "{after}");
        assert_eq!((flash.reads.replica, flash.programs.replica), (1, programs), "{after}");
    }
}

/// Reads that waited for an older version do not count for the next one.
#[test]
fn overwriting_a_page_forgets_the_reads_that_waited() {
    for (overwritten, copies) in [(false, 1), (true, 0)] {
        let (mut dut, due) = device(&dpr(2));
        dut.read(due + 10_000, 0, PAGE);
        let at = due + 20_000_000;
        dut.write(at, if overwritten { 0 } else { 9 * PAGE }, PAGE);
        dut.write(at + 1_000_000, 3 * PAGE, PAGE);
        dut.read(at + 1_000_000 + WRITE + 10_000, 0, PAGE);
        dut.ssd.run();
        assert_eq!((report(&dut).blocked_reads, report(&dut).copies), (2, copies));
    }
}

/// Two copies at most, of pages 0 and 6. A third one replaces that of page 6, because that of page 0 has been read meanwhile.
#[test]
fn the_copy_not_used_for_longest_goes_first() {
    let (mut dut, due) = device("{ dpr = { k = 1, replica_pages = 0.021 } }");
    dut.read(due + 10_000, 0, PAGE);
    dut.read(due + 20_000, 6 * PAGE, PAGE);
    // Chip 0 is collected again, and once more.
    let at = due + 20_000_000;
    dut.write(at, 9 * PAGE, PAGE);
    dut.write(at + 1_000_000, 3 * PAGE, PAGE);
    let again = at + 1_000_000 + WRITE;
    dut.read(again + 10_000, 0, PAGE);
    dut.read(again + 20_000, 9 * PAGE, PAGE);
    dut.write(at + 20_000_000, 3 * PAGE, PAGE);
    let again = at + 20_000_000 + WRITE;
    dut.read(again + 10_000, 0, PAGE);
    dut.read(again + 20_000, 6 * PAGE, PAGE);
    let done = dut.completed();
    let reads: Vec<u64> =
        done.iter().filter(|c| c.op == RequestOp::Read).map(|c| (c.completion - c.arrival).0).collect();
    // Page 0 waits once; page 6 waits again, and its new copy replaces that of page 9.
    assert_eq!((reads[2], reads[4]), (READ, READ));
    assert!(reads[3] > COLLECTION && reads[5] > COLLECTION, "{reads:?}");
    let report = report(&dut);
    assert_eq!((report.blocked_reads, report.copies, report.dropped_replaced), (4, 4, 2));
    assert_eq!((report.redirected_reads, report.pages, report.pages_max), (2, 2, 2));
}

/// Copies go to the other chips in turn. A page on a busy chip does not delay the copies of later pages.
#[test]
fn copies_are_made_where_chips_have_nothing_to_do() {
    let (mut dut, due) = device("{ dpr = { k = 1, replica_pages = 0.05 } }");
    let copies = Copies::default();
    dut.ssd.observe(Box::new(copies.clone()));
    // Six writes keep chip 1 busy until 3,204,800 after `due`, when it is collected, too.
    [1, 4, 7, 10, 4, 7].into_iter().for_each(|lpn| dut.write(due - WRITE, lpn * PAGE, PAGE));
    // Pages 0 and 9 of chip 0 and page 1 of chip 1 want copies, in this order; but chip 0 has more reads to serve.
    dut.read(due + 10_000, 0, PAGE);
    dut.read(due + 10_000, 9 * PAGE, PAGE);
    dut.read(due + 4_000_000, PAGE, PAGE);
    (0..100).for_each(|i| dut.read(due + COLLECTION + 1_000 + i, 3 * PAGE, PAGE));
    dut.ssd.run();
    let legs: Vec<(Verb, u32)> = copies.0.lock().unwrap().iter().map(|leg| (leg.verb, leg.planes[0].0)).collect();
    let of = |verb: Verb| legs.iter().filter(|leg| leg.0 == verb).map(|leg| leg.1).take(3).collect::<Vec<u32>>();
    assert_eq!((of(Verb::Read), of(Verb::Program)), (vec![1, 0, 0], vec![2, 1, 2]));
}

/// While the chip of the copy is in GC too, a read waits for its own chip. The erase of its block drops the copy, and the next
/// one is made when `k` more reads have waited.
#[test]
fn a_read_stays_at_home_while_both_chips_are_in_collection() {
    for (k, copies) in [(1, 2), (2, 1)] {
        let (mut dut, due) = device(&dpr(k));
        (0..k).for_each(|_| dut.read(due + 10_000, 0, PAGE));
        let at = due + 20_000_000;
        // Chip 1 has the copy and pages 1, 4 and 7 in its first block; its sixth page makes it due together with chip 0.
        for (i, lpn) in [1, 4, 7, 1].into_iter().enumerate() {
            dut.write(at - 8_000_000 + i as u64 * 1_000_000, lpn * PAGE, PAGE);
        }
        dut.write(at, 9 * PAGE, PAGE);
        dut.write(at + 1_000_000, 3 * PAGE, PAGE);
        dut.write(at + 1_000_000, 4 * PAGE, PAGE);
        dut.read(at + 1_000_000 + WRITE + 10_000, 0, PAGE);
        let latency = *dut.latencies().last().unwrap();
        assert_eq!(latency, 3 * 711_920 + 3_000_000 - 10_000 + READ);
        let report = report(&dut);
        assert_eq!((report.redirected_reads, report.dropped_erased, report.blocked_reads), (0, 1, u64::from(k) + 1));
        assert_eq!((report.copies, report.pages), (copies, copies - 1), "k = {k}");
    }
}

/// During a pause of a preempted collection, reads still use the copy.
#[test]
fn a_chip_is_in_collection_while_that_is_preempted() {
    let latency = |collector: &str| {
        let (mut dut, due) = device(&format!("{}, collector = \"{collector}\"", dpr(1)));
        dut.read(due + 10_000, 0, PAGE);
        let at = due + 20_000_000;
        dut.write(at, 9 * PAGE, PAGE);
        dut.write(at + 1_000_000, 3 * PAGE, PAGE);
        // Chip 0 is collected again; if it is preemptible, twenty reads delay the collection by 20 x 70,960.
        let again = at + 1_000_000 + WRITE;
        (0..20).for_each(|_| dut.read(again + 10_000, 3 * PAGE, PAGE));
        dut.read(again + 1_000_000, 0, PAGE);
        let latency = *dut.latencies().last().unwrap();
        assert_eq!(report(&dut).redirected_reads, 1, "{collector}");
        latency
    };
    assert_eq!((latency("serial"), latency("preemptive")), (READ, READ));
}

/// An uncorrectable page is not copied: the page's second read shows 1,200 errors per MiB.
#[test]
fn a_page_beyond_correction_gets_no_copy() {
    for (correctable, copies) in [(1, 0), (2, 1)] {
        let model = "errors = \"model\", program_errors = [[0, 0]], spread = 0, read_disturb = 600000";
        let (mut dut, due) = device_with(&dpr(1), &format!("ecc = {{ {model}, correctable = {correctable} }}"));
        dut.read(due + 10_000, 0, PAGE);
        assert_eq!(dut.completed().last().unwrap().uncorrectable, 0);
        let flash = summary(&dut.ssd).flash;
        assert_eq!((flash.reads.replica, flash.programs.replica, report(&dut).copies), (1, copies, copies));
    }
}

/// The report counts no copies of the warm-up, but includes those that still exist.
#[test]
fn counting_begins_with_the_copies_that_there_are() {
    let (mut dut, due) = device_with(&dpr(1), "run.warmup = \"9 requests\"");
    dut.read(due + 10_000, 0, PAGE);
    let at = due + 20_000_000;
    dut.write(at, 9 * PAGE, PAGE);
    dut.write(at + 1_000_000, 3 * PAGE, PAGE);
    dut.read(at + 1_000_000 + WRITE + 10_000, 0, PAGE);
    dut.ssd.run();
    let report = report(&dut);
    assert_eq!((report.blocked_reads, report.copies, report.redirected_reads), (0, 0, 1));
    assert_eq!((report.pages, report.pages_max), (1, 1));
}

/// Reads of a range that is never written, beside overwrites of the rest: victims spare the blocks of copies, though copies are never
/// moved. Where copies take all spare pages, they are reclaimed.
#[test]
fn victims_spare_copies_while_anything_else_can_be_reclaimed() {
    let run = |share: &str, hot: u64, victim: &str| {
        let config = config(&format!(
            "geometry = {{ channels = 4, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 32, pages_per_block = 16 }}
device = {{ exclusion = \"chip\", over_provisioning = 0.25, queue_depth = 8 }}
precondition.mode = \"sequential\"
schemes = {{ route = {{ dpr = {{ k = 1, replica_pages = {share} }} }}, place = \"dynamic\", victim = \"{victim}\" }}"
        ));
        let mut dut = Dut::new(&config);
        let pages = dut.ssd.capacity_bytes() / PAGE;
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for i in 0..12_000 {
            let at = i * 400_000;
            if draw(2) == 0 {
                dut.read(at, draw(hot) * PAGE, PAGE)
            } else {
                dut.write(at, (hot + draw(pages - hot)) * PAGE, PAGE)
            }
        }
        dut.ssd.run();
        report(&dut)
    };
    for victim in ["greedy", "cost-benefit"] {
        // 799 of 845 copies of greedy's were erased when victims were chosen as if copies were invalid pages.
        let report = run("0.03", 64, victim);
        assert!(report.dropped_erased < 500 && report.redirected_reads > 1_200, "{victim}: {report:?}");
        let crowded = run("0.18", 1_000, victim);
        assert!(crowded.pages_max > 150, "{victim}: {crowded:?}");
    }
}
