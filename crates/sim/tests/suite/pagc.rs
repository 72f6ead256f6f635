//! PaGC: costs of joint collections on an idle die, by paper B's formula. Times in ns.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, config, summary};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::{Lpn, Nanos, Ppn};
use ssdlab_sim::{Check, Config, LegRecord, Observer, Request, RequestOp, Ssd};

/// Two planes of 16 blocks; block 0 of plane 0 keeps the offsets in `a`, block 0 of plane 1 those in `b`, and then plane 0 is
/// collected. Returns array time of reads, programs and erases of collections, their number, and the copybacks.
fn collect(pages: u64, a: &[u64], b: &[u64], timing: &str, collector: &str) -> ([u64; 3], u64, u64) {
    // Half of 16 blocks is exported; a plane is collected once a page more than that half is written.
    let floor = 8 * pages;
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = {pages} }}
timing = {{ {timing} }}
device = {{ over_provisioning = 0.5 }}
gc = {{ threshold = \"{floor} pages\" }}
schemes = {{ path = \"copyback\", collector = {collector} }}"
    )));
    let size = dut.ssd.page_bytes();
    // CWDP on one die: logical page n lies in plane n mod 2, and its plane fills in order.
    let page = |plane: u64, n: u64| (2 * n + plane) * size;
    let mut at = 0;
    let mut write = |dut: &mut Dut, plane, n| {
        dut.write(at, page(plane, n), size);
        at += 10_000_000;
        at
    };
    (0..8 * pages).for_each(|n| _ = write(&mut dut, 0, n));
    (0..7 * pages).for_each(|n| _ = write(&mut dut, 1, n));
    let now = write(&mut dut, 1, 7 * pages) - 5_000_000;
    let dropped = |kept: &[u64]| (0..pages).filter(|n| !kept.contains(n)).collect::<Vec<_>>();
    for (plane, kept) in [(0, a), (1, b)] {
        dropped(kept).iter().for_each(|n| dut.trim(now, page(plane, *n), size));
    }
    // One of the pages that block 0 has lost is written again: plane 0 is due.
    if let Some(n) = dropped(a).first() {
        write(&mut dut, 0, *n);
    }
    dut.completed();
    let summary = dut.ssd.summary(1, String::new(), String::new());
    let time = &summary.gc.time_ns;
    ([time.read, time.program, time.erase], summary.gc.collections, summary.flash.copybacks)
}

#[test]
fn two_victims_of_32_pages_at_equal_offsets_take_24_300_000() {
    let kept: Vec<u64> = (0..32).collect();
    let blind = "{ pagc = { when = \"always\" } }";
    let (time, collections, copybacks) = collect(64, &kept, &kept, "", blind);
    assert_eq!(time.iter().sum::<u64>(), 24_300_000);
    assert_eq!((time, collections, copybacks), ([32 * 50_000, 32 * 600_000, 3_500_000], 2, 64));
}

/// Two planes whose blocks 0 keep their first two pages: two pairs. Each plane's block has been read by the host `reads` times; with
/// the third read of a block its pages show errors. Returns the copybacks and programs of the collection.
fn checked_pairs(reads: [u64; 2]) -> (u64, u64) {
    let mut dut = Dut::new(&config(
        "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = 4 }
device = { over_provisioning = 0.5 }
gc = { threshold = \"32 pages\" }
ecc = { errors = \"model\", program_errors = [[0, 0]], spread = 0, read_disturb = 334 }
schemes = { path = \"checked\", collector = { pagc = { when = \"always\" } } }",
    ));
    let (mut requests, page) = (Vec::new(), |plane: u64, n: u64| (2 * n + plane) * 4096);
    requests.extend((0..32).map(|n| (RequestOp::Write, page(0, n))));
    requests.extend((0..29).map(|n| (RequestOp::Write, page(1, n))));
    for plane in [0, 1] {
        requests.extend([2, 3].map(|n| (RequestOp::Trim, page(plane, n))));
        requests.extend((0..reads[plane as usize]).map(|_| (RequestOp::Read, page(plane, 0))));
    }
    // The 33rd page of plane 0 makes it due.
    requests.push((RequestOp::Write, page(0, 3)));
    for (i, (op, offset)) in requests.into_iter().enumerate() {
        dut.ssd.submit(Request { arrival: Nanos(i as u64 * 10_000_000), op, offset, bytes: 4096 });
    }
    dut.ssd.run();
    let done = summary(&dut.ssd);
    assert_eq!((done.gc.collections, done.gc.moved_pages), (2, 4));
    (done.flash.copybacks, done.flash.programs.gc)
}

/// The controller checks every page of a pair: errors in either page send both over the channel.
#[test]
fn a_pair_goes_back_inside_if_both_its_pages_are_clean() {
    assert_eq!(checked_pairs([0, 0]), (4, 0));
    assert_eq!((checked_pairs([2, 0]), checked_pairs([0, 2])), ((0, 4), (0, 4)));
    // Its own first read is the second one of the block, and finds no errors yet.
    assert_eq!((checked_pairs([1, 0]), checked_pairs([0, 1])), ((2, 2), (2, 2)));
}

/// Fig. 6: A holds {1,2,3,4}, B holds {1,4,5}; tR 75 us, tPROG 1.5 ms, tBERS 3.8 ms.
#[test]
fn figure_6_takes_6_375_us_together_and_6_300_us_alone() {
    let timing = "read = \"75us\", program = \"1500us\", erase = \"3800us\"";
    let (a, b) = ([0, 1, 2, 3], [0, 3, 4]);
    let moves = |collector: &str| {
        let ([read, program, erase], collections, copybacks) = collect(8, &a, &b, timing, collector);
        (read + program, erase, collections, copybacks)
    };
    assert_eq!(moves("{ pagc = { when = \"always\" } }"), (6_375_000, 3_800_000, 2, 7));
    assert_eq!(moves("\"serial\""), (6_300_000, 3_800_000, 1, 4));
    // With a threshold of 0 the other plane never joins: exactly serial.
    assert_eq!(moves("{ pagc = { threshold = 0 } }"), moves("\"serial\""));
}

/// The other plane has 9 x 8 - 1 free pages, which must be below the threshold.
#[test]
fn a_plane_joins_strictly_below_the_threshold() {
    let collections =
        |pages: u32| collect(8, &[0], &[0], "", &format!("{{ pagc = {{ threshold = \"{pages} pages\" }} }}")).1;
    assert_eq!((collections(71), collections(72)), (1, 2));
}

/// (K, L, Ka) = (100, 80, 40) and (50, 120, 20).
#[test]
fn the_cost_formula_holds_for_the_worked_counts() {
    let timing = "read = \"75us\", program = \"1500us\", erase = \"3800us\"";
    for (k, l, shared, cost) in [(100u64, 80u64, 40u64, 160_500_000u64), (50, 120, 20, 191_250_000)] {
        let a: Vec<u64> = (0..k).collect();
        let b: Vec<u64> = (0..shared).chain(k..k + l - shared).collect();
        let ([read, program, erase], ..) = collect(256, &a, &b, timing, "{ pagc = { when = \"always\" } }");
        assert_eq!((read + program, erase), (cost, 3_800_000));
    }
}

/// All patterns of valid pages in two blocks of four pages.
#[test]
fn an_unobstructed_joint_collection_takes_exactly_its_formula() {
    let (r, w, e) = (50_000, 600_000, 3_500_000);
    for patterns in 0..256u64 {
        let kept = |bits: u64| (0..4).filter(|n| bits >> n & 1 == 1).collect::<Vec<u64>>();
        let (a, b) = (kept(patterns & 15), kept(patterns >> 4));
        let (k, l) = (a.len() as u64, b.len() as u64);
        let ([read, program, erase], ..) = collect(4, &a, &b, "", "{ pagc = { when = \"always\" } }");
        let shared = a.iter().filter(|n| b.contains(n)).count() as u64;
        let expected = if k == 4 {
            (0, 0) // Nothing to reclaim in plane 0.
        } else if l == 4 {
            (k * (r + w), e) // Plane 1 has nothing to reclaim and does not join.
        } else {
            let unequal = k.min(l) - shared;
            (shared * (r + w) + unequal * (2 * r + w) + k.abs_diff(l) * (r + w), e)
        };
        assert_eq!((read + program, erase), expected, "A {a:?}, B {b:?}");
    }
}

/// Two planes whose host write points stand at `points` (counted from 0) when plane 0 is collected; block 0 of plane 0 keeps
/// the offsets in `kept[0]`, block 0 of plane 1 those in `kept[1]`. With shared write points collections fill the same blocks.
fn collect_from(pages: u64, kept: [&[u64]; 2], points: [u64; 2], knobs: &str) -> Summary {
    collect_and_read(pages, kept, points, knobs, "4KiB", "transfer = \"800MB/s\"", None).0
}

/// The same with reads of pages of plane 0 at times after the write that makes it due. Also returns their latencies.
fn collect_and_read(
    pages: u64,
    kept: [&[u64]; 2],
    points: [u64; 2],
    knobs: &str,
    page_size: &str,
    bus: &str,
    read: Option<(u64, u64)>,
) -> (Summary, Vec<u64>) {
    let floor = 8 * pages - points[0] + 1;
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = {pages}, page_size = \"{page_size}\" }}
timing = {{ read = \"75us\", program = \"1500us\", erase = \"3800us\", {bus} }}
device = {{ over_provisioning = 0.5 }}
gc = {{ threshold = \"{floor} pages\" }}
staging = {{ slots = 2 }}
ftl = {{ write_points = \"shared\" }}
schemes = {{ path = \"copyback\", collector = {{ pagc = {{ when = \"always\", {knobs} }} }} }}"
    )));
    let size = dut.ssd.page_bytes();
    let page = |plane: u64, n: u64| (2 * n + plane) * size;
    let mut at = 0;
    let mut write = |dut: &mut Dut, plane: u64, n: u64| {
        dut.write(at, page(plane, n), size);
        at += 10_000_000;
    };
    // Plane 0 has eight full blocks, plane 1 seven; then the first pages of other blocks are written again, which leaves these
    // with at least as many valid pages as the blocks 0.
    (0..8 * pages).for_each(|n| write(&mut dut, 0, n));
    (0..7 * pages).for_each(|n| write(&mut dut, 1, n));
    (1..=points[1]).for_each(|block| write(&mut dut, 1, block * pages));
    (1..points[0]).for_each(|block| write(&mut dut, 0, block * pages));
    let now = at;
    for plane in [0u64, 1] {
        let lost = (0..pages).filter(|n| !kept[plane as usize].contains(n));
        lost.for_each(|n| dut.trim(now, page(plane, n), size));
    }
    dut.write(now, page(0, points[0] * pages), size);
    read.iter().for_each(|(after, n)| dut.read(now + after, page(0, *n), size));
    let latencies = dut.latencies();
    (summary(&dut.ssd), latencies[latencies.len() - read.iter().len()..].to_vec())
}

/// Fig. 6: A holds {1,2,3,4}, B holds {1,4,5}.
fn figure_6_from(points: [u64; 2], knobs: &str) -> Summary {
    collect_from(8, [&[0, 1, 2, 3], &[0, 3, 4]], points, knobs)
}

fn cost(summary: &Summary) -> u64 {
    assert_eq!((summary.gc.collections, summary.gc.time_ns.erase), (2, 3_800_000));
    summary.gc.time_ns.read + summary.gc.time_ns.program
}

/// TC-PaGC: A's page 3 is only read, and waits in the buffer; a read of it during the erase takes no time.
#[test]
fn figure_6_with_cache_assistance_takes_4_875_us_and_a_transfer() {
    let kept: [&[u64]; 2] = [&[0, 1, 2, 3], &[0, 3, 4]];
    for (bus, page) in [("transfer = \"333MB/s\"", 24_601), ("transfer = \"0ns/B\"", 0)] {
        let begins = page + 1_500_000;
        let in_erase = begins + 4_875_000 + page + 100_000;
        let read = Some((in_erase, 2));
        let (done, latencies) = collect_and_read(8, kept, [2, 4], "cache = true", "8KiB", bus, read);
        let time = &done.gc.time_ns;
        assert_eq!((time.read, time.program, time.transfer), (375_000, 4_500_000, page));
        assert_eq!((cost(&done), moves(&done)), (4_875_000, [4, 0, 2, 0, 0]));
        assert_eq!(latencies, [0]);
        let told = done.pagc.unwrap();
        assert_eq!((told.moved_pages.buffered, told.buffered_pages_max), (1, 1));
        // A write-back counts like any other move.
        assert_eq!((done.flash.copybacks, done.flash.programs.gc, done.gc.moved_pages), (6, 1, 7));
    }
}

/// K = 6, L = 1: two of five single pages get a slot.
#[test]
fn pages_that_find_no_slot_move_in_flash() {
    let (done, _) =
        collect_and_read(8, [&[0, 1, 2, 3, 4, 5], &[0]], [2, 4], "cache = true", "4KiB", "transfer = \"0ns/B\"", None);
    assert_eq!((cost(&done), moves(&done)), (1_575_000 + 2 * 75_000 + 3 * 1_575_000, [2, 0, 0, 3, 0]));
    assert_eq!(done.pagc.unwrap().moved_pages.buffered, 2);
}

#[test]
fn a_buffer_without_slots_is_pagc_without_one_event_for_event() {
    let run = |knobs: &str, slots: u32| {
        let toml = small("", &format!("{{ pagc = {{ threshold = 0.3{knobs} }} }}"));
        trail(&format!("staging.slots = {slots}\n{toml}"), false)
    };
    let ((legs, without), (legs_0, with)) = (run("", 0), run(", cache = true", 0));
    assert!(legs == legs_0);
    assert_eq!(format!("{without:?}"), format!("{with:?}"));
    let (_, with) = run(", cache = true", 8);
    let told = with.pagc.unwrap();
    assert!(told.moved_pages.buffered > 0 && (1..=8).contains(&told.buffered_pages_max));
}

/// Moved pages by category: PaRD-PaWR, PaRD-SrWR, SrRD-PaWR, SrRD-SrWR of the plane below the threshold and of the other one.
fn moves(summary: &Summary) -> [u64; 5] {
    let moves = &summary.pagc.as_ref().unwrap().moved_pages;
    [moves.pard_pawr, moves.pard_srwr, moves.srrd_pawr, moves.srrd_srwr_d, moves.srrd_srwr_nd]
}

/// Fig. 6 (a) to (c): two single pages of A bring its write point to that of B.
#[test]
fn figure_6_without_aligned_blocks_takes_7_875_us() {
    let done = figure_6_from([2, 4], "points = \"unaligned\"");
    assert_eq!((cost(&done), moves(&done)), (7_875_000, [4, 0, 0, 2, 1]));
    assert_eq!(done.flash.multi_plane.copybacks, 2);
}

/// The write points never have equal offsets: B has only one page without a partner in A.
#[test]
fn figure_6_with_write_points_that_never_meet_takes_10_875_us() {
    let done = figure_6_from([4, 2], "points = \"unaligned\"");
    assert_eq!((cost(&done), moves(&done)), (10_875_000, [0, 4, 0, 2, 1]));
    assert_eq!(done.flash.multi_plane.copybacks, 0);
}

/// R9: a copyback has a command for its read and one for its program; at unequal offsets each program of a pair has its own
/// command.
#[test]
fn a_split_copyback_has_one_command_more() {
    let (bus, write) = ("transfer = \"0ns/B\", command = \"200ns\"", 1_500_200);
    let kept: [&[u64]; 2] = [&[0, 1, 2, 3], &[0, 3, 4]];
    // A read that arrives at the start of the collection waits for all of it.
    let read = Some((write, 2));
    let (done, latencies) = collect_and_read(8, kept, [4, 2], "points = \"unaligned\"", "4KiB", bus, read);
    assert_eq!((cost(&done), moves(&done)), (10_875_000, [0, 4, 0, 2, 1]));
    // Three pages moved singly, two pairs, the erase.
    let commands = (3 * 2 + 2 * 3 + 1) * 200;
    assert_eq!(done.gc.time_ns.transfer, commands);
    assert_eq!(latencies, [10_875_000 + 3_800_000 + commands + 200 + 75_000]);
}

/// A collection skips no pages if it would then free none: the plane behind has `valid` pages to move, and is two pages behind.
#[test]
fn pages_are_given_up_only_where_that_leaves_a_page_freed() {
    let given_up = |valid: u64| {
        let kept: Vec<u64> = (0..valid).collect();
        let done = collect_from(8, [&kept, &[0]], [2, 4], "points = \"invalidate\"");
        (done.flash.programs.wasted, moves(&done))
    };
    assert_eq!(given_up(5), (2, [2, 0, 0, 4, 0]));
    // 6 + 2 pages are the whole block: two of them move singly, as with `unaligned`.
    assert_eq!(given_up(6), (0, [2, 0, 0, 5, 0]));
}

/// Plane 1 has 16 x 8 - (7 x 8 + 1) = 71 free pages when plane 0 is collected.
#[test]
fn the_other_plane_joins_strictly_below_its_threshold() {
    let collections = |threshold: u64| {
        let collector = format!("{{ pagc = {{ threshold = \"{threshold} pages\" }} }}");
        collect(8, &[0, 1, 2, 3], &[0, 3, 4], "", &collector).1
    };
    assert_eq!((collections(71), collections(72)), (1, 2));
}

#[test]
fn figure_6_with_two_pages_given_up_takes_6_375_us_and_they_count_as_programs() {
    let done = figure_6_from([2, 4], "points = \"invalidate\"");
    assert_eq!((cost(&done), moves(&done)), (6_375_000, [4, 0, 2, 1, 0]));
    assert_eq!((done.flash.programs.wasted, done.flash.copybacks), (2, 7));
    assert_eq!(done.flash.programs.total, done.flash.programs.host + 2);
    let programs = (done.flash.programs.total + done.flash.copybacks) as f64;
    assert_eq!(done.write_amplification, Some(programs / done.pages.written as f64));
    // More than the allowed share of a block: as with `unaligned`.
    let done = figure_6_from([2, 4], "points = \"invalidate\", waste = 0.24");
    assert_eq!((cost(&done), done.flash.programs.wasted), (7_875_000, 0));
}

/// Patterns of valid pages in two blocks of four pages that both have an invalid one, and four offsets between the write points:
/// with aligned blocks these don't matter, without they do. All patterns with `SSDLAB_LONG`, else every third.
#[test]
fn an_unobstructed_joint_collection_takes_its_formula_from_any_write_points() {
    let (r, w) = (75_000, 1_500_000);
    let step = if std::env::var_os("SSDLAB_LONG").is_some() { 1 } else { 3 };
    for patterns in (0..256u64).filter(|bits| bits & 15 != 15 && bits >> 4 != 15).step_by(step) {
        let kept = |bits: u64| (0..4).filter(|n| bits >> n & 1 == 1).collect::<Vec<u64>>();
        let kept = [kept(patterns & 15), kept(patterns >> 4)];
        let [a, b] = [&kept[0][..], &kept[1][..]];
        let shared = a.iter().filter(|n| b.contains(n)).count() as u64;
        let alone = [a.len() as u64 - shared, b.len() as u64 - shared];
        let formula = |[a, b]: [u64; 2]| shared * (r + w) + a.min(b) * (2 * r + w) + a.abs_diff(b) * (r + w);
        for point in 1..=4 {
            let aligned = collect_from(4, [a, b], [point, 2], "points = \"aligned\"");
            assert_eq!(cost(&aligned), formula(alone), "A {a:?}, B {b:?}, points {point} and 2");
            let unaligned = collect_from(4, [a, b], [point, 2], "points = \"unaligned\"");
            let (low, gap) = (usize::from(point % 4 > 2), (point % 4).abs_diff(2));
            let singly = gap.min(alone[low]);
            let mut left = alone;
            left[low] -= singly;
            let rest = if singly == gap { formula(left) } else { shared * (r + 2 * w) + (left[0] + left[1]) * (r + w) };
            assert_eq!(cost(&unaligned), singly * (r + w) + rest, "A {a:?}, B {b:?}, points {point} and 2");
        }
    }
}

/// All events of a run, and its summary except the configuration.
fn trail(toml: &str, even: bool) -> (Vec<String>, Summary) {
    #[derive(Clone, Default)]
    struct Legs(Arc<Mutex<Vec<String>>>);
    impl Observer for Legs {
        fn leg(&mut self, leg: &LegRecord) {
            self.0.lock().unwrap().push(format!("{leg:?}"));
        }
    }
    let mut ssd = Ssd::new(&config(toml), 3, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    let legs = Legs::default();
    ssd.observe(Box::new(legs.clone()));
    let (mut dice, pages) = (1u64, ssd.capacity_bytes() / ssd.page_bytes());
    for i in 0..3_000u64 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (n, op) = ((dice >> 33) % pages, if i % 4 == 0 { RequestOp::Read } else { RequestOp::Write });
        if !ssd.accepts() {
            ssd.run_until_room();
        }
        let page = ssd.page_bytes();
        // A fifth of the pages of plane 0 takes most of the requests.
        let n = if (dice >> 20) % 3 > 0 && !even { n / 5 / 8 * 8 } else { n };
        ssd.submit(Request { arrival: Nanos(i * 150_000), op, offset: n * page, bytes: page });
    }
    ssd.run();
    let mut summary = summary(&ssd);
    summary.config = Config::default();
    let legs = legs.0.lock().unwrap().clone();
    (legs, summary)
}

fn small(more: &str, collector: &str) -> String {
    format!(
        "geometry = {{ channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 24, pages_per_block = 16 }}
device.over_provisioning = 0.3
gc.threshold = 0.2
precondition.mode = \"random\"
schemes = {{ path = \"copyback\", collector = {collector} }}
{more}"
    )
}

#[test]
fn threshold_0_is_serial_and_threshold_1_is_blind_event_for_event() {
    let same = |more: &str, a: &str, b: &str| {
        let ((legs_a, a), (legs_b, b)) = (trail(&small(more, a), false), trail(&small(more, b), false));
        assert!(legs_a.len() > 3_000 && a.gc.collections > 50, "{} collections", a.gc.collections);
        assert!(legs_a == legs_b);
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        a
    };
    for more in ["", "ftl.write_points = \"shared\"", "gc.time = \"none\"", "device.exclusion = \"chip\""] {
        let serial = same(more, "\"serial\"", "{ pagc = { threshold = 0 } }");
        let moves = serial.pagc.as_ref().unwrap().moved_pages.clone();
        assert_eq!((moves.total(), moves.srrd_srwr_d), (serial.gc.moved_pages, serial.gc.moved_pages));
        for points in ["aligned", "unaligned", "invalidate"] {
            let blind = format!("{{ pagc = {{ when = \"always\", points = \"{points}\" }} }}");
            let whole = format!("{{ pagc = {{ threshold = 1, points = \"{points}\" }} }}");
            let blind = same(more, &blind, &whole);
            assert!(blind.pagc.as_ref().unwrap().collections.joint > 20);
        }
    }
}

#[test]
fn a_threshold_may_be_a_multiple_of_the_collections_own() {
    let run = |threshold: &str| {
        let (legs, summary) = trail(&small("", &format!("{{ pagc = {{ threshold = {threshold} }} }}")), false);
        (legs, format!("{summary:?}"), summary.pagc.unwrap().collections.joint)
    };
    let (relative, share, pages) = (run("\"1.1 x gc\""), run("0.22"), run("\"85 pages\""));
    assert!(relative == share && share == pages, "0.22 x 384 pages: below 84.48, so below 85");
    assert!(relative.2 > 0 && relative.2 < run("1").2);
    let refused = config(&small("gc.scope = \"chip\"", "{ pagc = { threshold = \"1.05 x gc\" } }")).check();
    assert_eq!(refused.unwrap_err().key, "schemes.collector");
}

/// Figs. 10 and 13: two planes, of which one at a time is collected, or both.
#[test]
fn planes_are_busy_as_long_as_idle_with_serial_and_never_idle_with_blind() {
    for exclusion in ["", "device.exclusion = \"chip\""] {
        let times = |collector: &str, even: bool| {
            let pagc = trail(&small(exclusion, collector), even).1.pagc.unwrap();
            (pagc.plane_ns.gc_busy, pagc.plane_ns.gc_idle, pagc.collections)
        };
        let (busy, idle, by) = times("\"serial\"", false);
        assert!(busy > 0);
        assert_eq!((busy, by.joint), (idle, 0));
        let blind = "{ pagc = { when = \"always\" } }";
        let (busy, idle, by) = times(blind, true);
        assert!(busy > 0);
        assert_eq!((idle, by.alone, by.without_partner), (0, 0, 0));
        // No write goes to plane 1: in the end all its blocks are fully valid.
        let (_, idle, by) = times(blind, false);
        assert!(idle > 0 && by.alone > 0);
        assert_eq!(by.alone, by.without_partner);
        let (busy, idle, by) = times("{ pagc = { threshold = 0.22 } }", false);
        assert!(busy > idle && idle > 0 && by.joint > 0 && by.alone > 0);
    }
}

/// Block 0 of plane 0 keeps a pair and a single page, and plane 0 is collected when the host has written `written` pages of block
/// 8 (of four). Returns the places of the single page and of the page that the host writes next, as block and offset.
fn single_page_and_next_write(written: u64) -> [(u32, u32); 2] {
    let mut dut = Dut::new(&config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = 4 }}
device.over_provisioning = 0.5
gc.threshold = \"{} pages\"
schemes = {{ path = \"copyback\", collector = {{ pagc = {{ when = \"always\" }} }} }}",
        33 - written
    )));
    let (mut at, page) = (0, |plane: u64, n: u64| (2 * n + plane) * 4096);
    let mut requests: Vec<(RequestOp, u64)> = Vec::new();
    requests.extend((0..32).map(|n| (RequestOp::Write, page(0, n))));
    requests.extend((0..29).map(|n| (RequestOp::Write, page(1, n))));
    requests.extend([page(0, 2), page(0, 3), page(1, 1), page(1, 2), page(1, 3)].map(|at| (RequestOp::Trim, at)));
    // The last of these makes the plane due; one more write follows the collection.
    requests.extend((1..=written + 1).map(|block| (RequestOp::Write, page(0, 4 * block))));
    for (op, offset) in requests {
        dut.ssd.submit(Request { arrival: Nanos(at), op, offset, bytes: 4096 });
        at += 10_000_000;
    }
    dut.completed();
    let told = summary(&dut.ssd);
    assert_eq!((told.gc.collections, told.gc.moved_pages), (2, 3));
    let place = |lpn: u64| {
        let at = (0..64).map(Ppn).find(|at| dut.ssd.flash().lpn_of(*at) == Lpn(lpn as u32)).unwrap();
        (at.0 / 4, at.0 % 4)
    };
    [place(2), place(8 * (written + 1))]
}

/// Without a partner at the aligned write points, a page goes to the host's open block, but opens none there: if that is full, it
/// goes to a GC block, and the host opens its own.
#[test]
fn a_single_page_goes_to_the_hosts_block_while_that_has_room() {
    // Block 9 has the pair.
    assert_eq!(single_page_and_next_write(1), [(8, 1), (8, 2)]);
    assert_eq!(single_page_and_next_write(3), [(8, 3), (10, 0)]);
    assert_eq!(single_page_and_next_write(4), [(10, 0), (11, 0)]);
}

/// A collection of two planes that takes no time gives both of them pages at that moment. A write that any die may serve had found its
/// die without a page, and waited for the next event though the partner of the plane that was asked had one by then.
#[test]
fn joint_collections_in_no_time_free_pages_of_both_planes() {
    let toml = r#"
        geometry = { channels = 1, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 5, pages_per_block = 4 }
        timing = { read = ["20us", "30us"], program = ["80us", "120us"], erase = "900us", transfer = "800MB/s", cache_register = true, suspendable = "program+erase", suspend = "3us", resume = "2us" }
        device = { exclusion = "die", write_ack = "after_program", multi_plane = false, mapping_unit = "page", over_provisioning = 0.45, queue_depth = 6, power_loss_protection = true, keep_overwritten = false }
        gc = { threshold = "1 pages", scope = "plane", destination = "plane", time = "none" }
        ftl = { write_points = "separate", free_block = "round-robin", wear_levelling = "none", wear_spread = 2 }
        precondition = { mode = "random", valid = 0.3, invalid = 0.1 }
        schemes = { victim = "fifo", collector = { pagc = { when = "always", points = "invalidate", waste = 0.5 } }, path = "external", place = "dynamic", order = "async-fifo", route = "direct" }
    "#;
    let mut config = crate::worlds::plain(toml);
    config.schemes.route = Config::default().schemes.route;
    let requests = [
        (0, 8, 772728, 0),
        (337844, 3, 636364, 507937),
        (45061, 15, 551137, 476191),
        (0, 8, 727273, 0),
        (346525, 15, 258523, 968254),
        (210305, 6, 0, 0),
        (0, 12, 90910, 0),
        (102175, 6, 363637, 0),
        (272361, 13, 0, 0),
        (63237, 11, 451705, 904762),
        (219089, 1, 0, 0),
        (228513, 15, 866478, 326087),
        (132773, 8, 409091, 0),
        (82241, 15, 727273, 0),
        (0, 8, 272728, 0),
        (206605, 15, 889205, 394737),
        (14736, 9, 954546, 0),
        (0, 15, 159091, 0),
        (0, 7, 0, 0),
        (321089, 5, 31250, 206350),
        (79469, 0, 863637, 0),
        (150868, 9, 460228, 730159),
        (114715, 15, 957387, 500000),
        (158841, 2, 386364, 0),
        (253653, 14, 772728, 0),
        (0, 11, 48296, 746032),
        (0, 15, 73864, 95239),
        (0, 9, 636364, 126985),
        (99386, 0, 386364, 0),
    ];
    for fusing in [true, false] {
        let (summary, causes) = crate::worlds::outcome(&config, (Check::Full, fusing), requests.len(), |ssd| {
            crate::worlds::submit_all(ssd, &requests);
        });
        assert_eq!(summary.simulated_ns, 3_725_480, "shortcuts: {fusing}");
        assert!(causes.contains("completion: Nanos(3690600)"), "shortcuts: {fusing}");
    }
}
