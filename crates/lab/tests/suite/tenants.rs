//! Tenants: several workloads and recordings on one device, what they cost each other, and the signs of published contention studies.

use std::io::Write;

use serde_json::Value;
use ssdlab_lab::input::{Origin, Region, Requests, Tenant};
use ssdlab_lab::results::requests::{RequestRows, SlowestRows};
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::Sources;
use ssdlab_sim::Check;

use crate::run;

/// One die of one plane, whatever else is set.
const ONE_DIE: [&str; 5] = [
    "geometry.channels=1",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=1",
    "geometry.blocks_per_plane=64",
];

fn sources(sets: &[&str]) -> Sources {
    Sources { sets: sets.iter().map(ToString::to_string).collect(), ..Sources::default() }
}

/// A recording of time in nanoseconds, operation, offset and bytes.
fn recording(lines: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    file
}

const COLUMNS: &str = "format=columns:time=0:ns,op=1:'r'r'w'w,offset=2:bytes,size=3:bytes,sep=space";

fn tenants(texts: &[String]) -> Requests {
    Requests::new(Origin::Tenants(texts.iter().map(|text| Tenant::parse(text).unwrap()).collect()))
}

fn summary(sources: &Sources, requests: &Requests, alone: bool) -> Value {
    let how = How { check: Check::Full, ..How::default() };
    let outputs = Outputs::default().with_tenants_alone(alone);
    let done = run(sources, how).open(requests).unwrap().simulate(&outputs, &mut ()).unwrap();
    serde_json::from_str(&done.outcome.json()).unwrap()
}

/// The rows of `--requests`, cell by cell.
fn rows(sources: &Sources, requests: &Requests) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    let outputs = Outputs::default().with(RequestRows(path.clone().into()));
    let mut done = run(sources, How::default()).open(requests).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

/// Tenants of the command line have no queues in the configuration; the table of the slowest names them all the same.
#[test]
fn the_slowest_are_rows_of_the_table_of_requests() {
    let requests =
        tenants(&["a=workload:random-read,depth=2,limit=30".into(), "b=workload:random-write,depth=2,limit=30".into()]);
    let directory = tempfile::tempdir().unwrap();
    let paths = ["rows.csv", "slowest.csv"].map(|name| directory.path().join(name));
    let [rows, slowest] = paths.each_ref().map(|path| path.clone().into());
    let outputs = Outputs::default().with(RequestRows(rows)).with(SlowestRows(slowest));
    run(&sources(&ONE_DIE), How::default())
        .open(&requests)
        .unwrap()
        .simulate(&outputs, &mut ())
        .unwrap()
        .publish()
        .unwrap();
    let [rows, slowest] = paths.map(|path| std::fs::read_to_string(path).unwrap());
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().skip(1).map(String::from).collect();
        lines.sort();
        (text.lines().next().unwrap().to_string(), lines)
    };
    let (head, lines) = sorted(&rows);
    assert!(head.contains("tenant") && lines.len() == 60, "{head}");
    assert_eq!((head, lines), sorted(&slowest));
}

#[test]
fn requests_are_merged_by_time_each_tenant_in_its_part() {
    let (a, b) =
        (recording("5 r 0 4096\n105 w 4096 4096\n"), recording("900 r 0 4096\n1000 r 8192 4096\n1900 w 0 4096\n"));
    let text = |name: &str, file: &tempfile::NamedTempFile, more: &str| {
        format!("{name}=trace:{},{COLUMNS}{more}", file.path().display())
    };
    let of = |rows: Vec<Vec<String>>| -> Vec<(u64, String, u64, String)> {
        let row = |row: &Vec<String>| {
            (row[1].parse().unwrap(), row[2].clone(), row[3].parse().unwrap(), row.last().unwrap().clone())
        };
        rows[1..].iter().map(row).collect()
    };
    let device = sources(&ONE_DIE);
    // 64 blocks of 64 pages less 10 %: 3,686 pages, of which each has 1,843.
    let seen = of(rows(&device, &tenants(&[text("a", &a, ""), text("b", &b, "")])));
    let half = 1843 * 4096;
    let want = [
        (0, "read", 0, "a"),
        (0, "read", half, "b"),
        (100, "write", 4096, "a"),
        (100, "read", half + 8192, "b"),
        (1000, "write", half, "b"),
    ];
    assert_eq!(seen, want.map(|(time, op, offset, name)| (time, op.to_string(), offset, name.to_string())));
    // Placed by hand, faster, and with a limit; the order of the options breaks ties.
    let b = text("b", &b, ",lba=shift:1MiB,time_scale=1/10,limit=2");
    let seen = of(rows(&device, &tenants(&[b, text("a", &a, ",lba=shared")])));
    let want = [(0, 1 << 20, "b"), (0, 0, "a"), (10, (1 << 20) + 8192, "b"), (100, 4096, "a")];
    assert_eq!(seen.iter().map(|(time, _, offset, name)| (*time, *offset, name.as_str())).collect::<Vec<_>>(), want);
}

#[test]
fn one_tenant_gets_the_results_of_its_workload() {
    for workload in ["quickstart", "random-write"] {
        let device = crate::tiny(&["precondition.mode=random"]);
        let origin = Origin::Workload { name: workload.into(), recordings: None };
        let mut plain = summary(&device, &Requests { limit: Some(4000), ..Requests::new(origin) }, false);
        let text = format!("all=workload:{workload},lba=shared");
        let mut only = summary(&device, &Requests { limit: Some(4000), ..tenants(&[text]) }, false);
        let own = only["tenants"]["all"].clone();
        assert_eq!(own["latency_ns"], plain["latency_ns"], "{workload}");
        assert_eq!(
            (&own["pages"]["read"], &own["pages"]["written"]),
            (&plain["pages"]["read"], &plain["pages"]["written"])
        );
        for section in ["tenants", "interference_ns", "fairness"] {
            only.as_object_mut().unwrap().remove(section).unwrap();
        }
        if workload == "random-write" {
            // The requests of a closed loop have a digest of their own: they have no order among those of others.
            assert_ne!(only["trace_digest"], plain["trace_digest"]);
            (only["trace_digest"], plain["trace_digest"]) = (Value::Null, Value::Null);
        }
        assert_eq!(only, plain, "{workload}");
    }
}

#[test]
fn slowdown_is_against_the_device_for_oneself() {
    // Two reads of one die at once: the second waits for the first.
    let file = recording("0 r 0 4096\n");
    let text = |name: &str| format!("{name}=trace:{},{COLUMNS}", file.path().display());
    let requests = tenants(&[text("a"), text("b")]);
    let both = summary(&sources(&ONE_DIE), &requests, true);
    let value = |place: &str| both.pointer(place).unwrap().as_f64();
    assert_eq!(value("/tenants/a/slowdown"), Some(1.0));
    assert_eq!(value("/tenants/b/slowdown"), Some(2.0));
    assert_eq!(value("/fairness/slowdown"), Some(0.5));
    assert_eq!(value("/interference_ns/b/a"), Some(55_120.0));
    let without = summary(&sources(&ONE_DIE), &requests, false);
    assert_eq!(without.pointer("/tenants/b/slowdown"), None);
    assert_eq!(without["tenants"]["b"]["latency_ns"], both["tenants"]["b"]["latency_ns"]);
}

#[test]
fn a_queue_takes_tenants_and_streams_by_name() {
    let spec = "requests = 60\narrivals = { fixed = { gap = \"1ms\" } }\n[[stream]]\nname = \"log\"\nwrite = 1.0\n[[stream]]\nname = \"db\"\nread = 1.0\n";
    let mut device = sources(&ONE_DIE);
    device.sets.push("nvme={ arbitration = \"rr\", queues = [{ name = \"slow\", match = { stream = [\"log\"] } }, { name = \"rest\", match = \"rest\" }] }".into());
    let seen = summary(&device, &Requests::new(Origin::Spec(spec.into())), false);
    let count = |tenant: &str, op: &str| seen["tenants"][tenant]["requests"][op].as_u64().unwrap();
    assert_eq!((count("slow", "read"), count("rest", "write")), (0, 0));
    assert_eq!(count("slow", "write") + count("rest", "read"), 60);
    assert!(count("slow", "write") > 10 && count("rest", "read") > 10);
    // Tenants have their own names; a queue without `match` takes the tenant of its name.
    let mut device = sources(&ONE_DIE);
    device.sets.push("nvme={ arbitration = \"rr\", queues = [{ name = \"b\" }] }".into());
    let file = recording("0 r 0 4096\n");
    let text = |name: &str| format!("{name}=trace:{},{COLUMNS}", file.path().display());
    let one = summary(&device, &tenants(&[text("b")]), false);
    assert_eq!(one["tenants"]["b"]["requests"]["read"], 1);
    let error = run(&device, How::default()).open(&tenants(&[text("a")])).unwrap();
    let error = error.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err();
    assert!(error.message.contains(": line 1: a request at byte 0 of tenant a matches no queue"), "{}", error.message);
}

#[test]
fn a_text_reads_back_and_a_wrong_one_says_what_is_wrong() {
    let texts = [
        "db=workload:random-read,lba=shared,depth=4",
        "log=trace:/tmp/a,b.csv,lba=4096B..8192B,format=columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,device=1,limit=7",
        "x.y-z_1=workload:quickstart,lba=shift:4096B,loop=3,time_scale=1/3,replay=closed",
        "probe=workload:quickstart,lba=shared,outstanding=64",
    ];
    for text in texts {
        assert_eq!(Tenant::parse(text).unwrap().text(), text);
    }
    let tenant = Tenant::parse(texts[1]).unwrap();
    assert_eq!(tenant.place, Region::Range(4096, Some(8192)));
    assert_eq!(tenant.requests.reading.format, "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes");
    for (text, what) in [
        ("db", "no `=`"),
        ("d b=workload:quickstart", "letters"),
        ("db=quickstart", "neither"),
        ("db=trace:-", "standard input"),
        ("db=workload:quickstart,limits=3", "`limits=3` is not one of its options"),
        ("db=workload:quickstart,limit=0", "from 1 on"),
        ("db=workload:quickstart,lba=8KiB..4KiB", "expected shared"),
        ("db=workload:quickstart,limit=1,limit=2", "given twice"),
        ("db=workload:quickstart,depth=2,replay=arrival", "closed loop"),
        ("db=workload:quickstart,depth=2,outstanding=3", "outstanding bounds requests that have times"),
        ("db=workload:quickstart,outstanding=3,replay=closed", "a closed loop has none"),
        ("db=workload:quickstart,outstanding=0", "from 1 on"),
    ] {
        let error = Tenant::parse(text).unwrap_err();
        assert!(error.message.contains(what), "{text}: {}", error.message);
    }
    let twice = tenants(&["a=workload:quickstart".into(), "a=workload:quickstart".into()]);
    let error = run(&sources(&ONE_DIE), How::default()).open(&twice).map(drop).unwrap_err();
    assert!(error.message.contains("two tenants have the name a"), "{}", error.message);
    for (text, what) in
        [("a=workload:quickstart,lba=1GiB..2GiB", "exceed"), ("a=workload:quickstart,lba=shift:512B", "page")]
    {
        let ready = run(&sources(&ONE_DIE), How::default()).open(&tenants(&[text.into()])).unwrap();
        let error = ready.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err();
        assert!(error.message.contains(what), "{}", error.message);
    }
    let parity = sources(&["raid.layout=traditional"]);
    let ready = run(&parity, How::default()).open(&tenants(&["a=workload:quickstart".into()])).unwrap();
    let error = ready.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err();
    assert!(error.message.contains("raid.layout"), "{}", error.message);
}

/// Reads of one die, 55,120 ns each: those that find one outstanding arrive when it completes, so none waits.
#[test]
fn a_tenant_may_have_a_bound_of_outstanding_requests() {
    let file = recording("0 r 0 4096\n10000 r 0 4096\n20000 r 0 4096\n");
    let rows = |options: &str| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("series.csv");
        let outputs =
            Outputs::default().with(WindowRows { place: path.clone().into(), window: "1ms".parse().unwrap() });
        let requests = tenants(&[format!("a=trace:{},{COLUMNS}{options}", file.path().display())]);
        let ready = run(&sources(&ONE_DIE), How::default()).open(&requests).unwrap();
        let mut done = ready.simulate(&outputs, &mut ()).unwrap();
        done.publish().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let [names, row] =
            [0, 1].map(|n| text.lines().nth(n).unwrap().split(',').map(String::from).collect::<Vec<_>>());
        let of = |name: &str| row[names.iter().position(|own| own == name).unwrap()].clone();
        assert_eq!((of("tenants.a.requests"), text.lines().count()), ("3".into(), 2));
        of("tenants.a.mean_ns")
    };
    // 55,120, 100,240 and 145,360 from their times on.
    assert_eq!(rows(""), "100240");
    assert_eq!(rows(",outstanding=3"), "100240");
    assert_eq!(rows(",outstanding=1"), "55120");
    // Neither without times, nor of a closed loop.
    let of = |text: &str, how: How| {
        let ready = run(&sources(&ONE_DIE), how).open(&tenants(&[text.into()])).unwrap();
        ready.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err().message
    };
    let counted = of("a=workload:quickstart,limit=3,outstanding=2", How { count_only: true, ..How::default() });
    assert!(counted.contains("--count-only has no times, but a tenant has a bound"), "{counted}");
    let closed = of("a=workload:random-read,limit=3,outstanding=2", How::default());
    assert!(closed.contains("a closed loop has none"), "{closed}");
}

#[test]
fn a_series_has_columns_for_each_tenant() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("series.csv");
    let window = "1ms".parse().unwrap();
    let outputs = Outputs::default().with(WindowRows { place: path.clone().into(), window });
    let file = recording("0 r 0 4096\n2000000 r 0 4096\n");
    let other = recording("0 r 0 8192\n");
    let text = |name: &str, file: &tempfile::NamedTempFile| format!("{name}=trace:{},{COLUMNS}", file.path().display());
    let requests = tenants(&[text("a", &file), text("b", &other)]);
    let mut done =
        run(&sources(&ONE_DIE), How::default()).open(&requests).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| {
        let at = lines[0].iter().position(|column| *column == name).unwrap();
        lines[1..].iter().map(|line| line[at]).collect::<Vec<_>>()
    };
    assert_eq!(column("tenants.a.requests"), ["1", "0", "1"]);
    assert_eq!(column("tenants.b.requests"), ["1", "0", "0"]);
    assert_eq!(column("tenants.b.bytes"), ["8192", "0", "0"]);
    assert_eq!(column("tenants.a.mean_ns"), ["55120", "", "55120"]);
}

/// The example of docs/nvme.md, with streams: A A A B A B B B.
#[test]
fn queues_match_the_stream_column_of_a_trace() {
    let lines: String = (0..8).map(|i| format!("0 r {} 4096 {}\n", i * 4096, ["b", "a"][i % 2])).collect();
    let file = recording(&lines);
    let mut requests = Requests::new(Origin::Trace(file.path().into()));
    requests.reading.format = format!("{},stream=4", &COLUMNS["format=".len()..]);
    let queues = "nvme={ arbitration = \"wrr\", queues = [{ name = \"A\", class = \"high\", weight = 3, match = { stream = [\"a\"] } }, { name = \"B\", class = \"low\", match = { stream = [\"b\"] } }] }";
    let device = sources(&[&ONE_DIE[..], &["device.queue_depth=1", queues]].concat());
    let seen = summary(&device, &requests, false);
    let mean = |tenant: &str| seen["tenants"][tenant]["latency_ns"]["read"]["mean"].as_f64();
    assert_eq!((mean("A"), mean("B")), (Some(151_580.0), Some(344_500.0)));
    // A stream without a queue is named.
    let one = "nvme={ arbitration = \"rr\", queues = [{ name = \"A\", match = { stream = [\"a\"] } }] }";
    let error = run(&sources(&[&ONE_DIE[..], &[one]].concat()), How::default()).open(&requests).unwrap();
    let error = error.simulate(&Outputs::default(), &mut ()).map(drop).unwrap_err();
    assert!(error.to_string().contains("line 1") && error.to_string().contains("of stream b"), "{error}");
}

// Signs of published contention studies, with the settings of docs/validation.md.

/// A small drive that is full.
const DRIVE: [&str; 6] = [
    "geometry.channels=4",
    "geometry.chips_per_channel=2",
    "geometry.dies_per_chip=1",
    "geometry.blocks_per_plane=64",
    "precondition.mode=random",
    "device.over_provisioning=0.2",
];

fn drive(more: &[&str]) -> Sources {
    sources(&[&DRIVE[..], more].concat())
}

fn slowdown(results: &Value, tenant: &str) -> f64 {
    results["tenants"][tenant]["slowdown"].as_f64().unwrap()
}

#[test]
fn a_read_flow_is_slowed_more_than_the_write_flow_beside_it() {
    let flows = ["reader=workload:random-read,depth=8,limit=10000", "writer=workload:random-write,depth=8,limit=1000"];
    let seen = summary(&drive(&[]), &tenants(&flows.map(String::from)), true);
    let (reader, writer) = (slowdown(&seen, "reader"), slowdown(&seen, "writer"));
    assert!(reader > 5.0 && reader > 4.0 * writer, "{reader} {writer}");
}

#[test]
fn a_cache_friendly_flow_loses_its_cache_to_a_random_writer() {
    let flows = [
        "friendly=workload:zipf-write,depth=4,lba=0B..1MiB,limit=10000",
        "writer=workload:random-write,depth=32,lba=shift:1MiB,limit=4000",
    ];
    let cache = ["cache.size=2MiB", "cache.time=5us", "cache.writeback=watermark"];
    let seen = summary(&drive(&cache), &tenants(&flows.map(String::from)), true);
    let (friendly, writer) = (slowdown(&seen, "friendly"), slowdown(&seen, "writer"));
    assert!(friendly > 20.0 && friendly > 10.0 * writer, "{friendly} {writer}");
}

#[test]
fn a_deep_flow_slows_a_shallow_one_and_weights_protect_it() {
    let flows = ["shallow=workload:random-read,depth=1,limit=500", "deep=workload:random-read,depth=64,limit=20000"];
    let requests = tenants(&flows.map(String::from));
    let none = summary(&drive(&["device.queue_depth=8"]), &requests, true);
    let queues = "nvme={ arbitration = \"wrr\", queues = [{ name = \"shallow\", class = \"high\" }, { name = \"deep\", class = \"low\" }] }";
    let wrr = summary(&drive(&["device.queue_depth=8", queues]), &requests, true);
    let (shallow, deep) = (slowdown(&none, "shallow"), slowdown(&none, "deep"));
    assert!(shallow > 3.0 && shallow > 3.0 * deep, "{shallow} {deep}");
    assert!(slowdown(&wrr, "shallow") < shallow / 2.0, "{} {shallow}", slowdown(&wrr, "shallow"));
}
