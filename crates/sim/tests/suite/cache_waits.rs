//! Waits for a line of the write cache have the causes of the write-back whose line becomes free. Times in ns.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, causes, plane, summary};
use proptest::prelude::*;
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::config::{GcTime, PreconditionMode};
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_sim::{Check, Completed, Config, LegRecord, Observer, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
/// A page moves into the line in 1,000, and is programmed in 605,120.
const MOVES: u64 = 1_000;
const PROGRAM: u64 = 605_120;
const WRITTEN: u64 = MOVES + PROGRAM;
/// GC begins with the end of the seventh program. It moves the only valid page of a block (a read out of 55,120 and a program), and
/// erases the block.
const GC: u64 = 7 * WRITTEN;
const GC_ENDS: u64 = GC + 55_120 + PROGRAM + 3_500_000;

/// One die with one line.
fn one_line(threshold: u64, exported: u64, more: &str) -> Config {
    plane(4, exported, threshold, &format!("cache = {{ size = \"{PAGE}B\", time = \"1us\", read = \"none\" }}{more}"))
}

/// A page is being programmed from here on, so a write of it needs another line.
const FULL: u64 = 2_000;

/// Eight writes, of which the last one moves into the line when GC begins, and requests at other times.
fn eight_writes_and(more: &[(u64, RequestOp, u64)]) -> (Vec<Completed>, u64) {
    let mut dut = Dut::new(&one_line(26, 5, ""));
    dut.write(0, 0, PAGE);
    [1, 2, 3, 0, 1, 2, 4].iter().for_each(|page| dut.write(FULL, page * PAGE, PAGE));
    for (at, op, page) in more {
        match op {
            RequestOp::Read => dut.read(*at, page * PAGE, PAGE),
            _ => dut.write(*at, page * PAGE, PAGE),
        }
    }
    let done = dut.completed();
    (done, summary(&dut.ssd).requests_delayed_by_gc.write)
}

#[test]
fn gc_that_delays_a_write_back_delays_who_waits_for_its_line() {
    let write_at = |at| eight_writes_and(&[(at, RequestOp::Write, 0)]);
    // Its write-back is issued when the eighth page is in, and waits for GC from then on.
    let (done, delayed) = write_at(FULL);
    assert_eq!(causes(&done[7]), [("memory", MOVES), ("cache", GC - FULL)], "the seventh write-back has not waited");
    let waits = [("cache", GC + MOVES + PROGRAM - FULL), ("cache_gc", GC_ENDS - GC - MOVES)];
    assert_eq!(causes(&done[8]), [&[("memory", MOVES)], &waits[..]].concat());
    assert_eq!(done[8].completion, Nanos(GC_ENDS + PROGRAM + MOVES));
    assert_eq!(delayed, 1);
    // A write that comes during GC waits for the rest of it.
    let (done, _) = write_at(5_000_000);
    assert_eq!(causes(&done[8]), [("memory", MOVES), ("cache", PROGRAM), ("cache_gc", GC_ENDS - 5_000_000)]);
    // One that comes after GC waits for the program alone.
    let (done, delayed) = write_at(GC_ENDS + 20_000);
    assert_eq!((causes(&done[8]), delayed), (vec![("memory", MOVES), ("cache", PROGRAM - 20_000)], 0));
}

/// A read is queued before the write-back, and served after GC. Without GC it would have ended 840 before the time that it takes
/// from the issue of the write-back: so much of it is late.
#[test]
fn a_part_of_a_wait_has_the_causes_of_that_time() {
    let (read, late) = (55_120, 840);
    let end = GC_ENDS + read;
    let write_at = |at| {
        let (done, _) = eight_writes_and(&[(GC + MOVES - late, RequestOp::Read, 1), (at, RequestOp::Write, 0)]);
        let of = |extra: Extra| done[9].extras.0[extra as usize];
        assert_eq!(done[9].completion, Nanos(end + PROGRAM + MOVES));
        assert_eq!(of(Extra::Cache), PROGRAM);
        (of(Extra::CacheGc), of(Extra::CacheHost))
    };
    assert_eq!(write_at(GC_ENDS - 3_000), (3_000 + late, read - late));
    assert_eq!(write_at(GC_ENDS + 1_000), (late, read - late - 1_000));
    assert_eq!(write_at(end - 200), (200, 0));
}

#[test]
fn other_write_backs_are_others() {
    // Two lines: the second write-back waits on the die for the first one.
    let mut two = one_line(8, 16, "");
    two.cache.size.0 *= 2;
    let mut dut = Dut::new(&two);
    (0..4).for_each(|page| dut.write(0, page * PAGE, PAGE));
    let done = dut.completed();
    assert_eq!(causes(&done[2]), [("memory", MOVES), ("cache", MOVES + PROGRAM)]);
    assert_eq!(causes(&done[3]), [("memory", MOVES), ("cache", MOVES + PROGRAM), ("cache_host", PROGRAM)]);
    // A trim makes room for a line, which no write-back did.
    let mut dut = Dut::new(&two);
    (0..3).for_each(|page| dut.write(0, page * PAGE, PAGE));
    dut.trim(200_000, PAGE, PAGE);
    assert_eq!(causes(&dut.completed()[2]), [("memory", MOVES), ("cache", 200_000)]);
}

/// A small array of the preset, full and overwritten faster than it can follow: its cache is full, and GC is why.
#[test]
fn a_drive_of_today_that_collects_says_so() {
    let mut device: Config = include_str!("../../../../presets/nvme-2024.toml").parse().unwrap();
    let geometry = &mut device.geometry;
    (geometry.channels, geometry.chips_per_channel, geometry.dies_per_chip) = (2, 1, 2);
    (geometry.blocks_per_plane, geometry.pages_per_block) = (40, 24);
    device.cache.size = Bytes(256 * 16_384);
    device.device.queue_depth = 16;
    device.precondition.mode = PreconditionMode::Random;
    let run = |time| {
        let mut device = device.clone();
        device.gc.time = time;
        let mut ssd = Ssd::new(&device, 1, Check::Sampled).unwrap();
        let pages = ssd.capacity_bytes() / 16_384;
        let mut rng = stream(3, "today");
        for i in 0..3_000 {
            let offset = below(&mut rng, pages) * 16_384;
            ssd.submit(Request { arrival: Nanos(i * 400_000), op: RequestOp::Write, offset, bytes: PAGE });
            ssd.run_until_room();
        }
        ssd.run();
        summary(&ssd)
    };
    let (real, none) = (run(GcTime::Real), run(GcTime::None));
    let inside = |of: &Summary| of.breakdown_ns.write.sum() - of.breakdown_ns.write.0[Cause::Queue as usize];
    let (waited, by_gc) = (inside(&real), real.breakdown_ns.write.by_gc());
    assert!(real.requests_delayed_by_gc.write > 1_000, "{}", real.requests_delayed_by_gc.write);
    assert!(4 * by_gc > waited, "{by_gc} of {waited}: {:?}", real.breakdown_ns.write);
    assert!(10 * inside(&none) < waited, "without GC's time {} of {waited}", inside(&none));
    assert_eq!((none.breakdown_ns.write.by_gc(), none.requests_delayed_by_gc.write), (0, 0));
}

/// Starts of programs of lines.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<(Vec<u64>, Vec<Completed>)>>);

impl Observer for Watch {
    fn leg(&mut self, leg: &LegRecord) {
        if (leg.class, leg.verb, leg.kind) == (Class::Cache, Verb::Program, LegKind::Bus) {
            self.0.lock().unwrap().0.push(leg.start.0);
        }
    }
    fn completed(&mut self, request: &Completed) {
        self.0.lock().unwrap().1.push(request.clone());
    }
}

proptest! {
    #![proptest_config(crate::common::worlds(60))]

    /// One die, one line, and writes of another page each: a write-back waits for nothing but GC, until its program begins.
    #[test]
    fn worlds_of_one_line_know_for_how_long_gc_kept_it(
        gaps in proptest::collection::vec(600_000u64..4_000_000, 60..120),
        step in 0u64..8,
        copyback in any::<bool>(),
        threshold in 6u64..14,
    ) {
        let path = if copyback { "\nschemes.path = \"copyback\"" } else { "" };
        let mut ssd = Ssd::new(&one_line(threshold, 16, path), 1, Check::Full).unwrap();
        let watch = Watch::default();
        ssd.observe(Box::new(watch.clone()));
        let mut now = 0;
        for (i, gap) in gaps.iter().enumerate() {
            now += gap;
            let page = i as u64 * (2 * step + 1) % 16;
            ssd.submit(Request { arrival: Nanos(now), op: RequestOp::Write, offset: page * PAGE, bytes: PAGE });
        }
        ssd.run();
        let all = summary(&ssd);
        if all.cache.unwrap().absorbed > 0 {
            // So many writes waited that one was of the page in the line.
            return Ok(());
        }
        let (programs, mut done) = watch.0.lock().unwrap().clone();
        done.sort_by_key(|c| c.request);
        prop_assert_eq!(programs.len(), done.len());
        for (i, pair) in done.windows(2).enumerate() {
            // It is issued when its page is in; the next write waits from its own arrival.
            let from = pair[0].completion.0.max(pair[1].arrival.0);
            let free = programs[i] + PROGRAM;
            let expected = if free > pair[1].arrival.0 { programs[i].saturating_sub(from) } else { 0 };
            prop_assert_eq!(pair[1].extras.0[Extra::CacheGc as usize], expected, "write {}", i + 1);
            prop_assert_eq!(pair[1].extras.0[Extra::CacheHost as usize], 0);
        }
        prop_assert!(all.gc.collections > 0);
    }
}
