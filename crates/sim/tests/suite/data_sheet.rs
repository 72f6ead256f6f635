//! Presets against the data sheets that they are modelled on (docs/validation.md).

use ssdlab_sim::config::PreconditionMode;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Nanos, Ppm};
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

/// IOPS of random 4 KiB requests at a depth, and their mean latency in nanoseconds.
fn measure(op: RequestOp, depth: u32, count: u64) -> (f64, f64) {
    let mut config: Config = include_str!("../../../../presets/nvme-2024.toml").parse().unwrap();
    config.geometry.blocks_per_plane = 32;
    config.device.over_provisioning = Ppm(250_000);
    measure_of(config, op, depth, count)
}

/// The same of any device.
fn measure_of(mut config: Config, op: RequestOp, depth: u32, count: u64) -> (f64, f64) {
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

/// The preset `pm9a3` under a closed loop, with fewer blocks where nothing is collected.
fn data_center(depth: u32, filling: PreconditionMode) -> Ssd {
    let mut config: Config = include_str!("../../../../presets/pm9a3.toml").parse().unwrap();
    config.device.queue_depth = depth;
    config.precondition.mode = filling;
    if filling == PreconditionMode::Sequential {
        config.geometry.blocks_per_plane = 24;
        config.device.over_provisioning = Ppm(240_000);
    }
    let mut ssd = Ssd::new(&config, 1, Check::Sampled).unwrap();
    ssd.set_closed(true);
    ssd
}

/// Requests a second after the first so many.
fn sustained(ssd: &mut Ssd, first: u64, count: u64, mut next: impl FnMut(u64) -> Request) -> f64 {
    let mut begun = Nanos(0);
    for i in 0..count {
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        if i == first {
            begun = ssd.now();
        }
        ssd.submit(next(i));
    }
    // As many are in flight now as were then.
    (count - first) as f64 * 1e9 / (ssd.now().0 - begun.0) as f64
}

fn row(what: &str, measured: f64, sheet: f64, bar: f64) {
    let off = measured / sheet - 1.0;
    println!("| {what} | {measured:.0} | {sheet:.0} | {:+.1} % |", off * 100.0);
    assert!(off.abs() <= bar, "{what}: {measured}, not {sheet}");
}

#[test]
fn a_drive_of_4_kib_units_reaches_the_rates_of_its_sheet() {
    const LARGE: u64 = 128 << 10;
    println!("| `pm9a3` | measured | sheet | difference |");
    println!("|---|---:|---:|---:|");
    let sequential = [(RequestOp::Read, "reads", 6_500.0), (RequestOp::Write, "writes", 1_500.0)];
    for (op, what, sheet) in sequential {
        let mut ssd = data_center(256, PreconditionMode::Sequential);
        let all = ssd.capacity_bytes() / LARGE;
        let next = |i| Request { arrival: Nanos(0), op, offset: i % all * LARGE, bytes: LARGE };
        let rate = sustained(&mut ssd, 10_000, 30_000, next);
        row(&format!("sequential {what} of 128 KiB, MB/s"), rate * LARGE as f64 / 1e6, sheet, 0.1);
    }
    let random = |mut ssd: Ssd, op, first, count| {
        let (mut rng, units) = (stream(1, "pages"), ssd.capacity_bytes() / PAGE);
        let next = |_| Request { arrival: Nanos(0), op, offset: below(&mut rng, units) * PAGE, bytes: PAGE };
        sustained(&mut ssd, first, count, next)
    };
    let reads = random(data_center(256, PreconditionMode::Sequential), RequestOp::Read, 10_000, 200_000);
    row("random reads of 4 KiB a second", reads, 580_000.0, 0.1);
    // All homes fill in step at first, so it takes millions of writes until their collections are spread.
    if std::env::var_os("SSDLAB_LONG").is_some() {
        let writes = random(data_center(256, PreconditionMode::Random), RequestOp::Write, 6_000_000, 16_000_000);
        row("sustained random writes of 4 KiB a second", writes, 70_000.0, 0.15);
    }
}

/// What the sheet of `nvme-2024` has, and its model with a map of 4 KiB units gives.
#[test]
fn planes_that_are_programmed_together_read_together() {
    let ours = |name: &str, depth| {
        let mut config = Config::preset_text(name, "device.over_provisioning = 0.25").unwrap();
        config.geometry.blocks_per_plane = 32;
        measure_of(config, RequestOp::Read, depth, 4_000 + 200 * u64::from(depth)).0
    };
    let (pages, units) = (ours("nvme-2024", 512), ours("nvme-2024-units", 512));
    println!("random reads a second at depth 512: {pages:.0} with a map of pages, {units:.0} with one of units");
    assert!((3.5..4.0).contains(&(pages / units)), "16 dies read, not 64 planes: {pages} and {units}");
    let one = ours("nvme-2024-units", 1);
    assert!(within(one, 22_000.0), "{one} at depth 1");
}
