//! Attribution of latency: worked examples, and its law on random workloads.

use crate::common::{Dut, array, causes, config, plane, spent, summary};
use ssdlab_sim::blame::{Blame, CAUSES, Cause};
use ssdlab_sim::report::{Breakdown, Summary, pagc::Terms};
use ssdlab_sim::units::{BlockId, Nanos};
use ssdlab_sim::{Completed, Config};

const PAGE: u64 = 4096;

/// A reproducible stream of numbers below a bound.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (u128::from(self.0 >> 16) * u128::from(bound) / (1 << 48)) as u64
    }
}

/// Paper B's terms of a request: ST, CnGC, CsGC, CoGC, LC.
fn terms(request: &Completed) -> [u128; 5] {
    let mut breakdown = Breakdown::ZERO;
    breakdown.add(&request.blame);
    let terms = Terms::of(&breakdown);
    assert_eq!(terms.outside, 0);
    [terms.st, terms.cngc, terms.csgc, terms.cogc, terms.lc]
}

/// One die with two planes and blocks of two pages. A read takes 200, and a collection is an erase of 1,000.
fn three_request_device(time: &str) -> Config {
    config(&format!(
        "{}geometry.blocks_per_plane = 8
        geometry.pages_per_block = 2
        timing = {{ read = \"200ns\", program = \"10us\", erase = \"1us\", transfer = \"0ns/B\" }}
        device.over_provisioning = 0.75
        gc = {{ threshold = \"11 pages\", time = \"{time}\" }}
        precondition.mode = \"sequential\"",
        array(1, 1, 1, 2)
    ))
}

/// Pages 0 and 2 are in plane 0 and are overwritten, which leaves a block without valid pages. When the second of these programs
/// ends, at 20,000, GC of plane 0 holds the die for 1,000.
fn three_requests(time: &str) -> (Vec<Completed>, Summary) {
    let mut dut = Dut::new(&three_request_device(time));
    dut.write(0, 0, PAGE);
    dut.write(0, 2 * PAGE, PAGE);
    dut.read(20_100, PAGE, PAGE); // plane 1
    dut.read(20_200, 4 * PAGE, PAGE); // plane 0
    dut.read(21_100, 3 * PAGE, PAGE); // plane 1
    (dut.completed()[2..].to_vec(), summary(&dut.ssd))
}

/// A write that any die may serve does not wait for one particular die: its wait is split like the time of all dies.
#[test]
fn a_write_that_any_die_may_take_waits_as_the_dies_were_held() {
    let timing = "timing = { read = \"200ns\", program = \"10us\", erase = \"1us\", transfer = \"0ns/B\" }";
    let mut dut = Dut::new(&plane(2, 4, 11, &format!("{timing}\nschemes.place = \"dynamic\"")));
    // The sixth program makes the plane due at 60,000; block 0 has no valid page.
    (0..6).for_each(|n| dut.write(n * 10_000, 0, PAGE));
    dut.write(55_000, PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(summary(&dut.ssd).gc.collections, 1);
    assert_eq!(causes(&done[6]), [("die_host", 5_000), ("die_gc_other", 1_000), ("array", 10_000)]);
}

#[test]
fn three_requests_around_a_collection_split_as_in_the_table() {
    let (done, told) = three_requests("real");
    let starts: Vec<u64> = done.iter().map(|c| c.start.unwrap().0 - 20_000).collect();
    assert_eq!(starts, [1_000, 1_200, 1_400]);
    let rows: Vec<[u128; 5]> = done.iter().map(terms).collect();
    //                 ST  CnGC CsGC CoGC LC
    assert_eq!(rows[0], [200, 0, 0, 900, 0]);
    assert_eq!(rows[1], [200, 100, 800, 0, 100]);
    assert_eq!(rows[2], [200, 0, 0, 0, 300]);
    let latencies: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [1_100, 1_200, 500]);
    let told = told.pagc.unwrap();
    assert_eq!((told.plane_ns.gc_busy, told.plane_ns.gc_idle), (1_000, 1_000), "plane 0 and plane 1");
    let read = &told.response_ns.read;
    assert_eq!((read.st, read.cngc, read.csgc, read.cogc, read.lc, read.outside), (600, 100, 800, 900, 400, 0));
    // Without GC: ST + CnGC.
    let free: Vec<u64> = three_requests("none").0.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(free, [200, 300, 200]);
}

#[test]
fn every_cause_belongs_to_one_of_paper_bs_terms() {
    // One bit per cause, so that each term shows all of its causes.
    let bit = |cause: Cause| 1u64 << cause as u32;
    let mut blame = Blame::ZERO;
    CAUSES.iter().for_each(|(cause, _)| blame.add(*cause, bit(*cause)));
    let mut breakdown = Breakdown::ZERO;
    breakdown.add(&blame);
    let sum = |names: &[&str]| {
        let named = CAUSES.iter().filter(|(_, name)| names.contains(name));
        named.map(|(cause, _)| u128::from(bit(*cause))).sum::<u128>()
    };
    let terms = [
        ("st", sum(&["array", "bus", "noc", "decode", "memory"])),
        ("cngc", sum(&["die_host", "die_writeback", "bus_host", "noc_host", "staging", "held"])),
        ("csgc", sum(&["die_gc_own", "space"])),
        ("cogc", sum(&["die_gc_other", "bus_gc", "noc_gc"])),
        ("lc", sum(&["die_late"])),
        ("outside", sum(&["queue", "order"])),
    ];
    assert_eq!(Terms::of(&breakdown).columns(), terms);
}

/// Reads and writes on one FIFO die; no page is both read and written. Returns the completed requests, and the number of
/// collections.
fn on_one_die(seed: u64, time: &str, collector: &str) -> (Vec<Completed>, u64) {
    let mut dice = Dice(seed);
    let toml = format!(
        "{}geometry.blocks_per_plane = 24
        geometry.pages_per_block = 8
        timing = {{ read = \"20us\", program = \"100us\", erase = \"1ms\", transfer = \"0ns/B\" }}
        device.over_provisioning = 0.5
        device.queue_depth = 3000
        gc = {{ threshold = \"70 pages\", time = \"{time}\" }}
        schemes.collector = \"{collector}\"
        precondition.mode = \"sequential\"",
        array(1, 1, 1, 2)
    );
    let mut dut = Dut::new(&config(&toml));
    let pages = dut.ssd.capacity_bytes() / PAGE;
    let mut at = 0;
    for _ in 0..2_000 {
        at += dice.below(500_000);
        if dice.below(3) == 0 {
            dut.read(at, (pages / 2 + dice.below(pages / 2)) * PAGE, PAGE);
        } else {
            dut.write(at, dice.below(pages / 2) * PAGE, PAGE);
        }
    }
    let done = dut.completed();
    assert!(done.iter().all(|c| spent(c, Cause::Space) == 0 && spent(c, Cause::Queue) == 0));
    (done, summary(&dut.ssd).gc.collections)
}

#[test]
fn on_a_fifo_die_service_and_host_waits_are_the_latency_without_collections() {
    for (seed, collector) in [(1, "serial"), (2, "serial"), (3, "serial"), (4, "queued"), (5, "queued"), (6, "queued")]
    {
        let (free, _) = on_one_die(seed, "none", collector);
        let (real, collections) = on_one_die(seed, "real", collector);
        assert!(collections > 50, "{collections} collections");
        let (mut late, mut collected) = (0, 0);
        for (with, without) in real.iter().zip(&free) {
            let [service, host, own, other, lc] = terms(with);
            assert_eq!(
                service + host,
                u128::from((without.completion - without.arrival).0),
                "request {}",
                with.request
            );
            assert_eq!(service + host + own + other + lc, u128::from((with.completion - with.arrival).0));
            late += u64::from(lc > 0);
            collected += u64::from(own > 0) + u64::from(other > 0);
        }
        assert!(late > 20 && collected > 20, "{late} late, {collected} behind a collection");
    }
}

#[test]
fn without_collections_nothing_is_late_however_contended() {
    let options = [
        "timing.cache_register = true\n",
        "timing.suspendable = \"program+erase\"\ntiming.suspend = \"5us\"\ntiming.resume = \"3us\"\n",
        "device.multi_plane = true\n",
        "device.exclusion = \"chip\"\n",
        "schemes.place = \"dynamic\"\n",
        "device.write_ack = \"after_transfer\"\ntiming.cache_register = true\n",
        "order.chip_queue = 2\n",
        "timing.command = \"300ns\"\ntiming.host_link = \"1ns/B\"\n",
        "schemes.order = \"sync-fifo\"\n",
    ];
    for (i, option) in options.iter().enumerate() {
        for time in ["real", "none"] {
            let mut dice = Dice(i as u64);
            // Either enough space for everything, or GC in no time.
            let (blocks, threshold) = if time == "real" { (512, 16) } else { (32, 40) };
            let toml = format!(
                "{}geometry.blocks_per_plane = {blocks}
                geometry.pages_per_block = 8
                timing.read = [\"20us\", \"35us\"]
                timing.program = \"90us\"
                device.queue_depth = 64
                device.over_provisioning = 0.3
                gc = {{ threshold = \"{threshold} pages\", time = \"{time}\" }}
                {option}",
                array(2, 2, 2, 2)
            );
            let mut dut = Dut::new(&config(&toml));
            let pages = 16 * 22 * 8;
            let mut at = 0;
            for _ in 0..3_500 {
                at += dice.below(20_000);
                let (offset, bytes) = (dice.below(pages - 4) * PAGE + dice.below(8) * 512, (1 + dice.below(24)) * 512);
                if dice.below(2) == 0 { dut.read(at, offset, bytes) } else { dut.write(at, offset, bytes) }
            }
            let done = dut.completed();
            let all = summary(&dut.ssd);
            let total = |cause: Cause| all.breakdown_ns.all.0[cause as usize];
            for cause in [Cause::DieLate, Cause::DieGcOwn, Cause::DieGcOther, Cause::BusGc] {
                assert_eq!(total(cause), 0, "{cause:?}, {time}, {option}");
            }
            assert_eq!(all.gc.collections > 0, time == "none", "{option}");
            let contended = total(Cause::DieHost) + total(Cause::Order);
            assert!(contended > 0 && total(Cause::BusHost) > 0 && done.len() == 3_500, "{option}");
        }
    }
}

#[test]
fn causes_are_those_of_the_page_that_finishes_last() {
    let mut dut = Dut::new(&config(&array(2, 1, 1, 1)));
    dut.write(0, 0, PAGE);
    // Its first page waits for the write; its second completes at 56,120 without a wait.
    dut.read(1_000, 0, PAGE + 512);
    dut.read(1_500, 2 * PAGE, 2 * PAGE);
    let done = dut.completed();
    // The first page is in flight to flash and served from memory: the second is the last.
    assert_eq!(causes(&done[1]), [("array", 50_000), ("bus", 640)]);
    assert_eq!((done[1].start, done[1].completion), (Some(Nanos(1_000)), Nanos(51_640)));
    assert_eq!(causes(&done[2]), [("die_host", 603_620), ("array", 50_000), ("bus", 5_120)]);
    assert_eq!((done[2].start, done[2].blame.waits()), (Some(Nanos(605_120)), 603_620));
}

#[test]
fn of_pages_that_finish_together_the_lowest_counts() {
    // Logical pages 0 and 2 lie on channel 0, 1 and 3 on channel 1. A request for 0 and 1 finishes both at 110,240: one waits
    // 55,120 for its die; the other 52,560 for its die, and 2,560 for the bus.
    let two_pages = |slow: u64| {
        let mut dut = Dut::new(&config(&array(2, 2, 1, 1)));
        dut.read(0, (1 - slow) * PAGE, PAGE);
        dut.read(0, slow * PAGE, 2048);
        dut.read(0, 0, 2 * PAGE);
        dut.read(50_000, (slow + 2) * PAGE, PAGE);
        let done = dut.completed();
        assert_eq!(done[2].completion, Nanos(110_240));
        (done[2].start.unwrap(), causes(&done[2]))
    };
    let service = [("array", 50_000), ("bus", 5_120)];
    assert_eq!(two_pages(1), (Nanos(55_120), [&[("die_host", 55_120)][..], &service].concat()));
    assert_eq!(two_pages(0), (Nanos(52_560), [&[("die_host", 52_560), ("bus_host", 2_560)][..], &service].concat()));
}

#[test]
fn the_whole_wait_outside_counts_from_arrival() {
    // Waits outside, in the window and for the die, in one request.
    let toml = format!("{}device.queue_depth = 3\norder.chip_queue = 2", array(1, 1, 1, 1));
    let mut dut = Dut::new(&config(&toml));
    (0..4).for_each(|i| dut.read(i * 10, i * PAGE, PAGE));
    let done = dut.completed();
    // Admitted at 55,120, dispatched at 110,240, served at 165,360.
    assert_eq!(
        causes(&done[3]),
        [("queue", 55_090), ("order", 55_120), ("die_host", 55_120), ("array", 50_000), ("bus", 5_120)]
    );
    assert_eq!(done[3].start, Some(Nanos(165_360)));
}

#[test]
fn a_write_that_finds_no_page_waits_for_space() {
    // Four blocks of two pages, one of them reserved: three hold two versions of pages 0 and 1, and pages 2 and 3. With a
    // threshold of 0 no free page count makes the plane due; the write that finds no page does.
    let toml = format!(
        "{}geometry.blocks_per_plane = 4
        geometry.pages_per_block = 2
        device = {{ over_provisioning = 0.5, partial_write = \"whole-page\" }}
        gc.threshold = \"0 pages\"",
        array(1, 1, 1, 1)
    );
    let mut dut = Dut::new(&config(&toml));
    [0, 1, 2, 3, 0, 1].iter().for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
    dut.write(10_000_000, 2 * PAGE, PAGE);
    // Two reads that arrive while GC holds the die.
    dut.read(10_500_000, 3 * PAGE, PAGE);
    dut.write(11_000_000, 0, PAGE);
    let done = dut.completed();
    assert_eq!(causes(&done[6]), [("space", 3_500_000), ("array", 600_000), ("bus", 5_120)]);
    // For paper B this is a conflict with GC of the same plane.
    assert_eq!(terms(&done[6]), [605_120, 0, 3_500_000, 0, 0]);
    // After the erase it queues with its old age, before operations that arrived meanwhile.
    assert_eq!(done[6].start, Some(Nanos(13_500_000)));
    assert_eq!([done[7].start, done[8].start].map(Option::unwrap), [Nanos(14_105_120), Nanos(14_160_240)]);
    assert_eq!(causes(&done[7]), [("die_host", 605_120), ("die_gc_own", 3_000_000), ("array", 50_000), ("bus", 5_120)]);
    let all = summary(&dut.ssd);
    assert_eq!((all.pages.space_stalls, all.gc.collections, all.gc.moved_pages), (1, 1, 0));
    assert_eq!(dut.ssd.flash().erases(BlockId(0)), 1);
}

#[test]
fn a_write_admitted_before_measuring_counts_no_stall() {
    let stalls = |warmup: u64| {
        let toml = format!(
            "{}geometry.blocks_per_plane = 4
            geometry.pages_per_block = 2
            device = {{ over_provisioning = 0.5, partial_write = \"whole-page\" }}
            gc.threshold = \"0 pages\"
            run.warmup = \"{warmup} requests\"",
            array(1, 1, 1, 1)
        );
        let mut dut = Dut::new(&config(&toml));
        // The last write stalls when the ones before it have ended: long after the read, which is always measured, is admitted.
        [0, 1, 2, 3, 0, 1, 2].iter().for_each(|lpn| dut.write(0, lpn * PAGE, PAGE));
        dut.read(0, 3 * PAGE, PAGE);
        dut.completed();
        summary(&dut.ssd).pages.space_stalls
    };
    assert_eq!([6, 7].map(stalls), [1, 0]);
}
