//! The preset `nvme-2024` against the data sheet that it is modelled on (docs/validation.md).

use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Nanos, Ppm};
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

/// IOPS of random 4 KiB requests at a depth, and their mean latency in nanoseconds.
fn measure(op: RequestOp, depth: u32, count: u64) -> (f64, f64) {
    let mut config: Config = include_str!("../../../../presets/nvme-2024.toml").parse().unwrap();
    config.geometry.blocks_per_plane = 32;
    config.device.over_provisioning = Ppm(250_000);
    config.device.queue_depth = depth;
    let mut ssd = Ssd::new(&config, 1, Check::Sampled).unwrap();
    ssd.set_closed(true);
    let (mut rng, pages) = (stream(1, "pages"), ssd.capacity_bytes() / PAGE);
    for _ in 0..count {
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        let offset = below(&mut rng, pages) * PAGE;
        ssd.submit(Request { arrival: Nanos(0), op, offset, bytes: PAGE });
    }
    ssd.run();
    let summary = ssd.summary(1, String::new(), String::new());
    let iops = count as f64 * 1e9 / summary.simulated_ns as f64;
    (iops, summary.latency_ns.all.mean.unwrap())
}

fn within(ours: f64, sheet: f64) -> bool {
    (ours / sheet - 1.0).abs() <= 0.15
}

#[test]
fn reads_reach_the_iops_of_the_sheet_at_each_depth() {
    println!("| depth | random reads, IOPS | mean latency | sheet |");
    println!("|---:|---:|---:|---:|");
    let (mut first, mut last) = (0.0, 0.0);
    for (depth, sheet) in [
        (1, Some(22_000.0)),
        (2, None),
        (4, None),
        (8, None),
        (16, None),
        (32, None),
        (64, None),
        (128, None),
        (256, None),
        (512, Some(1_200_000.0)),
    ] {
        let (iops, latency) = measure(RequestOp::Read, depth, 4_000 + 200 * u64::from(depth));
        let stated =
            sheet.map_or("-".to_string(), |sheet: f64| format!("{sheet:.0} ({:+.1} %)", (iops / sheet - 1.0) * 100.0));
        println!("| {depth} | {iops:.0} | {:.1} us | {stated} |", latency / 1e3);
        assert!(sheet.is_none_or(|sheet| within(iops, sheet)), "{iops} IOPS at depth {depth}, not {sheet:?}");
        // The knee: proportional to the depth while dies are idle, then bounded by the dies.
        assert!(iops > last, "{iops} at depth {depth}, {last} before");
        first = if depth == 1 { iops } else { first };
        assert!(iops <= 1.01 * f64::from(depth) * first, "no more than depth 1 times the depth");
        last = iops;
    }
}

#[test]
fn a_write_at_depth_1_takes_as_long_as_on_the_sheet() {
    let (iops, latency) = measure(RequestOp::Write, 1, 20_000);
    println!("depth 1: {iops:.0} IOPS, {:.2} us; sheet 80000 IOPS, 12.5 us", latency / 1e3);
    assert!(within(iops, 80_000.0) && within(latency, 12_500.0), "{iops} IOPS, {latency} ns");
    // Without an SLC cache, and with a map of 16 KiB pages, a deep queue of small writes waits for full TLC programs.
    let (iops, _) = measure(RequestOp::Write, 512, 60_000);
    println!("depth 512: {iops:.0} IOPS; sheet 1550000 IOPS");
    assert!(iops < 1_550_000.0 / 2.0, "the drive of the sheet writes to an SLC cache, which is not modelled");
}
