//! Real recordings on a small, full device with the oracle and GC: results must not change.
//!
//! Recordings are not part of the project: they are searched in `SSDLAB_TRACES`, then beside the workspace.

use std::path::{Path, PathBuf};

use crate::common::{absent, config, summary};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Extent, Marks, Request, RequestOp, Ssd};
use ssdlab_trace::{Fit, LbaPolicy, Op, Options, Replay};

fn recording(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SSDLAB_TRACES").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"));
    let path = folder.join(name);
    if !path.is_file() {
        absent(&format!("{} is not here: set SSDLAB_TRACES to the folder of the recordings", path.display()));
    }
    path.is_file().then_some(path)
}

/// 16 planes of `blocks` blocks of 256 pages, completely written before the run.
fn device(blocks: u32, more: &str) -> String {
    format!(
        "geometry = {{ channels = 4, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = {blocks}, pages_per_block = 256 }}
        device.over_provisioning = 0.15
        precondition.mode = \"sequential\"
        {more}"
    )
}

/// Replays the first `limit` requests of a recording by their times of arrival.
fn replay(path: &Path, format: &str, toml: &str, limit: Option<u64>, check: Check) -> Summary {
    let mut ssd = Ssd::new(&config(toml), 1, check).unwrap_or_else(|error| panic!("{error}"));
    let format = (format != "auto").then(|| format.parse().unwrap_or_else(|error| panic!("{error}")));
    let options = Options { format, ..Options::default() };
    let fit = Fit { lba_policy: LbaPolicy::Dense, limit, ..Fit::new(ssd.capacity_bytes()) };
    let mut trace = Replay::open(path, &options, fit).unwrap_or_else(|error| panic!("{error}"));
    while let Some(record) = trace.next().unwrap_or_else(|error| panic!("{error}")) {
        let op = match record.op {
            Op::Read => RequestOp::Read,
            Op::Write => RequestOp::Write,
            Op::Trim => RequestOp::Trim,
            Op::Flush | Op::Other => {
                ssd.skip();
                continue;
            }
        };
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        let request = Request { arrival: Nanos(record.time_ns), op, offset: record.offset, bytes: record.bytes };
        let extents = trace.extents().iter().map(|extent| Extent { offset: extent.offset, bytes: extent.bytes });
        ssd.submit_marked(request, Marks::default(), extents);
    }
    ssd.run();
    let all = summary(&ssd);
    let flash = &all.flash;
    assert_eq!(flash.programs.host, all.pages.written);
    assert_eq!(all.gc.moved_pages, flash.programs.gc + flash.copybacks);
    assert_eq!(all.gc.collections, flash.erases);
    assert_eq!(all.pages.unwritten_read, 0, "the device was full");
    for (figures, breakdown) in [
        (&all.latency_ns.read, &all.breakdown_ns.read),
        (&all.latency_ns.write, &all.breakdown_ns.write),
        (&all.latency_ns.all, &all.breakdown_ns.all),
    ] {
        let (sum, total) =
            (breakdown.0.iter().sum::<u128>() as f64, figures.mean.unwrap_or(0.0) * figures.count as f64);
        assert!((sum - total).abs() <= 1e-9 * total, "causes {sum}, latencies {total}");
    }
    let gc = &all.gc.time_ns;
    assert_eq!(gc.erase, flash.erases * 3_500_000);
    assert_eq!(gc.transfer, flash.programs.gc * 2 * 5_120);
    all
}

/// Values that must not change: requests read and written, pages, collections, moved pages, time, worst read and write.
fn results(all: &Summary) -> [u64; 9] {
    [
        all.requests.read,
        all.requests.write,
        all.pages.read,
        all.pages.written,
        all.gc.collections,
        all.gc.moved_pages,
        all.simulated_ns,
        all.latency_ns.read.max.unwrap_or(0),
        all.latency_ns.write.max.unwrap_or(0),
    ]
}

fn check(name: &str, format: &str, toml: &str, prefix: u64, whole: Option<u64>, expected: [[u64; 9]; 2]) {
    let Some(path) = recording(name) else { return };
    let full = replay(&path, format, toml, Some(prefix), Check::Full);
    let off = replay(&path, format, toml, Some(prefix), Check::Off);
    assert_eq!(format!("{full:?}"), format!("{off:?}"), "whatever is checked");
    let sampled = replay(&path, format, toml, whole, Check::Sampled);
    for (all, part) in [(&full, "the prefix"), (&sampled, "the whole")] {
        assert!(all.gc.collections > 0, "no collection in {part} of {name}");
    }
    assert_eq!([results(&full), results(&sampled)], expected);
}

#[test]
fn iozone_rewrites_a_full_device() {
    check(
        "bench/iozone_100k.trace.zst",
        "disksim",
        &device(80, ""),
        2_000,
        None,
        [
            [0, 2000, 0, 70_807, 145, 592, 27_373_072_040, 0, 76_071_600],
            [0, 100_000, 0, 8_997_978, 40_029, 1_285_017, 943_199_272_200, 0, 14_365_345_840],
        ],
    );
}

#[test]
fn a_virtual_machine_of_cloudphysics_runs_on_a_full_device() {
    let format = "columns:time=0:us,op=1,offset=2:sectors,size=3:bytes,header=1";
    let more = "schemes = { victim = { d-choices = { d = 10 } }, place = \"dynamic\", collector = \"queued\" }";
    check(
        "cloudphysics/vscsi_2h.csv.zst",
        format,
        &device(80, more),
        30_000,
        None,
        [
            [10_668, 19_332, 103_794, 214_406, 1134, 110_747, 1_833_117_613_760, 6_407_084_680, 6_593_441_040],
            [46_974, 66_898, 485_700, 656_169, 4234, 463_113, 7_200_090_545_240, 7_690_784_760, 7_743_990_800],
        ],
    );
}

#[test]
fn a_web_server_runs_on_a_full_device() {
    let more = "schemes.victim = \"cost-benefit\"\ntiming.cache_register = true\ndevice.multi_plane = true";
    let name = "blkreplay/linux-webserver-2.dedup.load.zst";
    check(
        name,
        "auto",
        &device(144, more),
        70_000,
        None,
        [
            [35_730, 34_270, 200_533, 85_082, 57, 4393, 1_955_096_660_055, 106_656_144, 112_253_851],
            [76_844, 63_324, 476_832, 152_711, 689, 98_857, 3_600_949_715_474, 450_568_173, 475_857_145],
        ],
    );
}
