//! PaGC: what joint collections cost, on an idle die, by paper B's formula. Times in ns.

mod common;

use common::{Dut, config};

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
    // One page more, of those that block 0 has lost: plane 0 is due.
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
    // Nobody joins below a threshold of nothing: exactly serial.
    assert_eq!(moves("{ pagc = { threshold = 0 } }"), moves("\"serial\""));
}

/// (K, L, Ka) = (100, 80, 40) and (50, 120, 20) of semantics 3.3.
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
