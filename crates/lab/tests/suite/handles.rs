//! Placement handles: how the names of requests become handles, and what outputs say of them.

use std::io::Write;

use serde_json::Value;
use ssdlab_lab::error::Class;
use ssdlab_lab::input::{Origin, Requests, Tenant};
use ssdlab_lab::results::blocks::BlockRows;
use ssdlab_lab::results::counted::CountedRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_lab::variants::points::{Plan, Point, sweep};
use ssdlab_sim::Check;

use crate::run;

/// A device of one plane, with two persistent handles.
const DEVICE: [&str; 4] = [
    "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, pages_per_block = 16 }",
    "device.over_provisioning=0.25",
    "fdp.handles=2",
    "fdp.isolation=\"persistent\"",
];

fn sources(sets: &[&str]) -> Sources {
    Sources { sets: DEVICE.iter().chain(sets).map(ToString::to_string).collect(), ..Sources::default() }
}

/// Writes of pages with the names of their streams.
fn recording(streams: [&str; 2]) -> (tempfile::NamedTempFile, Requests) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for i in 0..2_000u64 {
        let drawn = (i * 2_654_435_761) >> 9;
        let (page, stream) = if i % 4 == 0 { (40 + drawn % 180, streams[1]) } else { (drawn % 37, streams[0]) };
        writeln!(file, "{} w {} 4096 {stream}", i * 700_000, page * 4096).unwrap();
    }
    let mut requests = Requests::new(Origin::Trace(file.path().into()));
    requests.reading.format = "columns:time=0:ns,op=1:'r'r'w'w,offset=2:bytes,size=3:bytes,stream=4,sep=space".into();
    (file, requests)
}

fn summary(sources: &Sources, requests: &Requests) -> Value {
    let how = How { check: Check::Full, ..How::default() };
    let done = run(sources, how).open(requests).unwrap().simulate(&Outputs::default(), &mut ()).unwrap();
    serde_json::from_str(&done.outcome.json()).unwrap()
}

fn host_pages(summary: &Value) -> [u64; 2] {
    [0, 1].map(|handle| summary["fdp"]["handles"][handle]["host_pages"].as_u64().unwrap())
}

#[test]
fn streams_are_handles_by_number_or_by_name() {
    let (_kept, numbers) = recording(["0", "1"]);
    let by_number = summary(&sources(&[]), &numbers);
    assert_eq!(host_pages(&by_number), [1500, 500]);
    let (_kept, names) = recording(["log", "data"]);
    let by_name = summary(&sources(&["fdp.assign={ stream = { log = 0, data = 1 } }"]), &names);
    assert_eq!(by_name["fdp"], by_number["fdp"]);
    // The other way round, the other handle has them.
    let swapped = summary(&sources(&["fdp.assign={ stream = { log = 1, data = 0 } }"]), &names);
    assert_eq!(host_pages(&swapped), [500, 1500]);
}

#[test]
fn a_write_without_a_handle_ends_the_run_or_is_counted() {
    let (_kept, names) = recording(["0", "data"]);
    let ready = run(&sources(&[]), How::default()).open(&names).unwrap();
    let error = ready.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err();
    assert_eq!(error.class(), Class::Trace);
    let said = "line 1: a write at byte 163840 of stream data has no handle by fdp.assign";
    assert!(error.message.ends_with(said), "{}", error.message);
    let counted = summary(&sources(&["fdp.unknown=1"]), &names);
    assert_eq!((host_pages(&counted), counted["fdp"]["unknown"].as_u64()), ([1500, 500], Some(500)));
}

#[test]
fn tenants_are_handles_by_name() {
    let text = |name: &str| Tenant::parse(&format!("{name}=workload:random-write,limit=300")).unwrap();
    let requests = Requests::new(Origin::Tenants(vec![text("db"), text("log")]));
    let seen = summary(&sources(&["fdp.assign={ tenant = { db = 1, log = 0 } }"]), &requests);
    assert_eq!(host_pages(&seen), [300, 300]);
}

/// Preconditioning of a tenant's part is that tenant's: results are those of a device that knows the parts as ranges of addresses, in
/// a run of its own and where runs share a filling.
#[test]
fn tenants_fill_their_parts_of_the_device() {
    let text =
        |name: &str, lba: &str| Tenant::parse(&format!("{name}=workload:random-write,limit=900,lba={lba}")).unwrap();
    let tenants = vec![text("db", "0B..256KiB"), text("log", "256KiB..1MiB")];
    let requests = Requests::new(Origin::Tenants(tenants));
    let filled = |assign: &str| {
        let assign = format!("fdp.assign={assign}");
        sources(&["precondition.mode=\"random\"", "geometry.page_size=\"4KiB\"", "fdp.unknown=0", &assign])
    };
    let by_tenant = filled("{ tenant = { db = 1, log = 0 } }");
    let by_range = filled("{ lba = [\"256KiB..1MiB\", \"0B..256KiB\"] }");
    let expected = summary(&by_range, &requests);
    let seen = summary(&by_tenant, &requests);
    for key in ["fdp", "flash", "gc", "latency_ns", "tenants"] {
        assert!(!expected[key].is_null(), "{key}");
        assert_eq!(seen[key], expected[key], "{key}");
    }
    assert!(seen["fdp"]["handles"][1]["moved_pages"].as_u64() > Some(0), "{}", seen["fdp"]);
    // The configuration is the same, whoever uses the device.
    assert_eq!(seen["config_digest"].as_str(), Some(&*Settings::load(&by_tenant).unwrap().digest()));
    let point = |depth: u32| {
        let mut config = Settings::load(&by_tenant).unwrap().config;
        config.device.queue_depth = depth;
        Point { name: format!("{depth}"), config, requests: requests.clone(), seed: How::default().seed }
    };
    let plan = Plan { check: Check::Full, count_only: false, jobs: Some(1), memory_limit: None };
    let own = Settings::load(&by_tenant).unwrap().config.device.queue_depth;
    for outcome in sweep(&[point(own), point(own)], &plan, &()).unwrap() {
        let shared: Value = serde_json::from_str(&outcome.json()).unwrap();
        assert_eq!(shared["fdp"], expected["fdp"]);
    }
}

#[test]
fn a_series_and_blocks_have_columns_of_handles() {
    let directory = tempfile::tempdir().unwrap();
    let (series, blocks) = (directory.path().join("series.csv"), directory.path().join("blocks.csv"));
    let outputs = Outputs::default()
        .with(WindowRows { place: series.clone().into(), window: "100ms".parse().unwrap() })
        .with(BlockRows(blocks.clone().into()));
    let (_kept, requests) = recording(["0", "1"]);
    let mut done = run(&sources(&["run.warmup=\"400 requests\"", "precondition.mode=sequential"]), How::default())
        .open(&requests)
        .unwrap()
        .simulate(&outputs, &mut ())
        .unwrap();
    done.publish().unwrap();
    let table = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| line.split(',').map(String::from).collect()).collect::<Vec<Vec<String>>>()
    };
    let column = |table: &[Vec<String>], name: &str| {
        let at = table[0].iter().position(|column| column == name).unwrap();
        table[1..].iter().map(|row| row[at].clone()).collect::<Vec<_>>()
    };
    let series = table(series);
    let sum = |name: &str| column(&series, name).iter().map(|cell| cell.parse::<u64>().unwrap()).sum::<u64>();
    // Windows count what the warm-up wrote, too.
    assert_eq!([sum("handles.0.host_pages"), sum("handles.1.host_pages")], [1500, 500]);
    let moved = sum("handles.0.moved_pages") + sum("handles.1.moved_pages");
    assert!(moved > 0 && moved == sum("flash_programs_gc"), "{moved}");
    let rows = series.len() - 1;
    for i in 0..rows {
        let cell = |name: &str| column(&series, name)[i].clone();
        let (host, moved): (f64, f64) =
            (cell("handles.1.host_pages").parse().unwrap(), cell("handles.1.moved_pages").parse().unwrap());
        let own = cell("handles.1.write_amplification");
        assert_eq!(own.parse().ok(), (host > 0.0).then(|| 1.0 + moved / host), "{own}");
    }
    let owners = column(&table(blocks), "handle");
    assert!(["0", "1", ""].iter().all(|owner| owners.iter().any(|own| own == owner)), "{owners:?}");
}

/// Windows of host writes of a run without time have the same columns, and add up to the summary.
#[test]
fn a_series_by_host_writes_has_columns_of_handles() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("series.csv");
    let outputs = Outputs::default().with(CountedRows { place: Some(path.clone().into()), millionths: 250_000 });
    let (_kept, requests) = recording(["0", "1"]);
    let how = How { count_only: true, ..How::default() };
    let mut done = run(&sources(&["fdp.isolation=[\"persistent\", \"initial\"]", "precondition.mode=sequential"]), how)
        .open(&requests)
        .unwrap()
        .simulate(&outputs, &mut ())
        .unwrap();
    done.publish().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let sum = |name: &str| rows[1..].iter().map(|row| row[at(name)].parse::<u64>().unwrap()).sum::<u64>();
    let summary: Value = serde_json::from_str(&done.outcome.json()).unwrap();
    for (n, handle) in (0..).zip(summary["fdp"]["handles"].as_array().unwrap()) {
        assert_eq!(Some(sum(&format!("handles.{n}.host_pages"))), handle["host_pages"].as_u64());
        assert_eq!(Some(sum(&format!("handles.{n}.moved_pages"))), handle["moved_pages"].as_u64());
    }
    assert_eq!(sum("handles.0.host_pages"), 1500);
    assert!(rows.len() > 5 && sum("flash_programs_gc") > 0);
    for row in &rows[1..] {
        let [host, moved] =
            ["host_pages", "moved_pages"].map(|of| row[at(&format!("handles.0.{of}"))].parse::<f64>().unwrap());
        assert_eq!(row[at("handles.0.write_amplification")].parse().ok(), (host > 0.0).then(|| 1.0 + moved / host));
        assert_eq!(row[at("handles.1.write_amplification")], "", "an initial handle has none");
    }
}
