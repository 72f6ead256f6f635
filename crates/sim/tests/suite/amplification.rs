//! Write amplification: in pages, in bytes, and in the halves of a run.

use crate::common::{Dut, array, config, plane, product, summary};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Config, Marks, Request, RequestOp};

const PAGE: u64 = 4096;

/// Writes, one a second, of these offsets and lengths.
fn written(config: &Config, writes: &[(u64, u64)]) -> Summary {
    let mut dut = Dut::new(config);
    (0..).zip(writes).for_each(|(second, (offset, bytes))| dut.write(second * 1_000_000_000, *offset, *bytes));
    dut.completed();
    summary(&dut.ssd)
}

/// Write amplification in pages and in bytes.
fn both(summary: &Summary) -> (Option<f64>, Option<f64>) {
    (summary.write_amplification, summary.write_amplification_bytes)
}

#[test]
fn a_part_of_a_page_programs_the_page() {
    let large = config(&format!("{}geometry.page_size = \"16KiB\"", array(1, 1, 1, 1)));
    let of = |writes: &[(u64, u64)]| both(&written(&large, writes));
    assert_eq!(of(&[(0, 16_384), (16_384, 16_384)]), (Some(1.0), Some(1.0)));
    assert_eq!(of(&[(0, 4_096)]), (Some(1.0), Some(4.0)));
    // Two pages of 16 KiB for 4 KiB and 16 KiB.
    assert_eq!(of(&[(0, 4_096), (16_384, 16_384)]), (Some(1.0), Some(1.6)));
    // A write of 1 KiB over the border of two pages programs both.
    assert_eq!(of(&[(16_384 - 512, 1_024)]), (Some(1.0), Some(32.0)));
    assert_eq!(of(&[]), (None, None), "nothing was written");
}

#[test]
fn a_part_of_a_super_page_programs_both_planes() {
    let paired = config(&format!("{}device.mapping_unit = \"super-page\"", array(1, 1, 1, 2)));
    let of = |writes: &[(u64, u64)]| both(&written(&paired, writes));
    assert_eq!(of(&[(0, 2 * PAGE)]), (Some(1.0), Some(1.0)));
    assert_eq!(of(&[(PAGE, PAGE)]), (Some(2.0), Some(2.0)));
    assert_eq!(of(&[(0, PAGE / 4)]), (Some(2.0), Some(8.0)));
}

#[test]
fn parity_and_moves_count_whole_pages() {
    let group = config(&format!(
        "{}device.over_provisioning = 0.25\nraid = {{ layout = \"traditional\", group = 2 }}\nprecondition.mode = \"sequential\"",
        array(2, 1, 1, 1)
    ));
    let parity = written(&group, &[(0, PAGE / 2)]);
    assert_eq!((parity.flash.programs.host, parity.flash.programs.parity), (1, 1));
    assert_eq!(both(&parity), (Some(2.0), Some(4.0)));
    // Seven writes of a page, or of its half, and a page that GC moves.
    for path in ["external", "copyback"] {
        for bytes in [PAGE, PAGE / 2] {
            let moving = plane(4, 5, 26, &format!("schemes.path = \"{path}\"\ndevice.partial_write = \"whole-page\""));
            let mut dut = Dut::new(&moving);
            (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, bytes));
            dut.completed();
            let moved = summary(&dut.ssd);
            assert_eq!(moved.gc.moved_pages, 1);
            assert_eq!(both(&moved), (Some(8.0 / 7.0), Some(8.0 * PAGE as f64 / (7 * bytes) as f64)));
        }
    }
}

/// Each factor is what it says, and their product is write amplification in bytes.
#[test]
fn factors_of_write_amplification_multiply() {
    let factors = |one: &Summary| {
        let of = one.write_amplification_factors;
        let product = product(one).unwrap();
        let all = one.write_amplification_bytes.unwrap();
        assert!((product / all - 1.0).abs() < 1e-12, "{product} is not {all}");
        [of.partial, of.absorbed, of.padding, of.background].map(Option::unwrap)
    };
    let large = config(&format!("{}geometry.page_size = \"16KiB\"", array(1, 1, 1, 1)));
    // 4 KiB and 1 KiB over the border of two pages: 5 KiB in three pages of 16 KiB.
    assert_eq!(factors(&written(&large, &[(0, 4_096), (16_384 - 512, 1_024)])), [9.6, 1.0, 1.0, 1.0]);
    let moving = plane(4, 5, 26, "device.partial_write = \"whole-page\"");
    let mut dut = Dut::new(&moving);
    (0..4).chain(0..3).for_each(|lpn| dut.write(0, lpn * PAGE, PAGE / 2));
    dut.completed();
    assert_eq!(factors(&summary(&dut.ssd)), [2.0, 1.0, 1.0, 8.0 / 7.0]);
    assert_eq!(written(&large, &[]).write_amplification_factors.partial, None, "nothing was written");
    let units = config(&format!(
        "{}geometry.page_size = \"16KiB\"\ndevice.mapping_unit = \"4KiB\"\ncache.size = \"64KiB\"",
        array(1, 1, 1, 1)
    ));
    let mut dut = Dut::new(&units);
    (0..2).for_each(|_| (0..3).for_each(|unit| dut.write(0, unit * PAGE, PAGE / 2)));
    dut.flush(10);
    dut.completed();
    // Three of six units reach flash, in a program of four.
    assert_eq!(factors(&summary(&dut.ssd)), [2.0, 0.5, 4.0 / 3.0, 1.0]);
}

#[test]
fn tenants_have_their_own() {
    let queues = "nvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = \"rest\" }, { name = \"b\", match = \"rest\" }] }";
    let mut dut = Dut::new(&config(&format!("{}{queues}", array(1, 1, 1, 1))));
    for (queue, bytes) in [(0, PAGE), (1, PAGE / 8)] {
        let request = Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: u64::from(queue) * PAGE, bytes };
        let marks = Marks { queue, tenant: queue, ..Marks::default() };
        dut.ssd.submit_marked(request, marks, std::iter::empty());
    }
    dut.completed();
    let all = summary(&dut.ssd);
    let tenants = all.tenants.as_ref().unwrap();
    let of = |tenant: usize| (tenants.0[tenant].1.write_amplification, tenants.0[tenant].1.write_amplification_bytes);
    assert_eq!((of(0), of(1)), ((Some(1.0), Some(1.0)), (Some(1.0), Some(8.0))));
    // Two pages for a page and an eighth.
    assert_eq!(both(&all), (Some(1.0), Some(16.0 / 9.0)));
}

/// Overwrites of random pages of one die, which are all in the device at once.
fn overwrites(bytes: u64) -> Summary {
    let mut rng = stream(5, "halves");
    let mut dut = Dut::new(&plane(4, 16, 8, "device.partial_write = \"whole-page\""));
    (0..600).for_each(|_| dut.write(0, below(&mut rng, 16) * PAGE, bytes));
    dut.completed();
    summary(&dut.ssd)
}

/// All pages have been admitted before the first one is programmed.
#[test]
fn halves_take_pages_and_programs_at_one_moment() {
    let whole = overwrites(PAGE);
    let halves = whole.write_amplification_halves.expect("GC ran");
    let (first, second) = (halves.first.unwrap(), halves.second.unwrap());
    let all = whole.write_amplification.unwrap();
    assert!(first >= 1.0 && second >= 1.0 && (first + second - 2.0 * all).abs() < 0.02, "{first}, {second} of {all}");
    assert_eq!((halves.first_bytes, halves.second_bytes), (Some(first), Some(second)), "whole pages");
    let parts = overwrites(PAGE / 2).write_amplification_halves.expect("GC ran");
    for (pages, bytes) in [(first, parts.first_bytes), (second, parts.second_bytes)] {
        assert!((2.0 * pages - bytes.unwrap()).abs() < 1e-12, "{pages} and {bytes:?}");
    }
}

/// Pages of large requests count when they complete, not when the last one does: the requests of all pages are in the device.
#[test]
fn halves_count_pages_of_requests_in_service() {
    let mut dut = Dut::new(&plane(4, 16, 8, ""));
    (0..60).for_each(|_| dut.write(0, 0, 16 * PAGE));
    dut.completed();
    let done = summary(&dut.ssd);
    let halves = done.write_amplification_halves.expect("GC ran");
    let (first, second, all) = (halves.first.unwrap(), halves.second.unwrap(), done.write_amplification.unwrap());
    assert!(first >= 1.0 && second >= 1.0 && (first - second).abs() < 0.1, "{first} and {second} of {all}");
}
