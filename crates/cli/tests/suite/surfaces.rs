//! Results over time and per block.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::Bench;
use prost::Message;
use serde_json::Value;
use ssdlab_lab::results::perfetto::{SLICE_BEGIN, SLICE_END, Trace};

/// A CSV file as rows of named cells.
fn rows_of(bench: &Bench, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = bench.text(name);
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        names.iter().zip(cells).map(|(n, c)| (n.to_string(), c.to_string())).collect()
    };
    lines.map(row).collect()
}

fn timeline(bench: &Bench, name: &str) -> Timeline {
    Timeline::parse(&std::fs::read(bench.path().join(name)).unwrap())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const WORK: &str = "run tiny.toml --workload mixed-70-30 --limit 3000 --quiet";

#[test]
fn windows_add_up_to_the_run() {
    let bench = Bench::new();
    let summary = json(&bench.good(&format!("{WORK} --json - --series s.csv --window 50ms --requests r.csv")));
    let rows = rows_of(&bench, "s.csv");
    let sum = |name: &str| rows.iter().map(|row| row[name].parse::<u64>().unwrap()).sum::<u64>();
    let total = |path: &str| summary.pointer(path).unwrap().as_u64().unwrap();
    assert_eq!(sum("requests"), 3000);
    assert_eq!(sum("warmup"), 0);
    for (column, path) in [
        ("reads", "/requests/read"),
        ("writes", "/requests/write"),
        ("flash_reads_host", "/flash/reads/host"),
        ("flash_reads_gc", "/flash/reads/gc"),
        ("flash_programs_host", "/flash/programs/host"),
        ("flash_programs_gc", "/flash/programs/gc"),
        ("flash_copybacks", "/flash/copybacks"),
        ("flash_erases", "/flash/erases"),
        ("collections", "/gc/collections"),
    ] {
        assert_eq!(sum(column), total(path), "{column}");
    }
    for (cause, ns) in summary["breakdown_ns"]["all"].as_object().unwrap() {
        assert_eq!(sum(cause), ns.as_u64().unwrap(), "{cause}");
    }
    // The same from the rows of requests, window by window.
    let requests = rows_of(&bench, "r.csv");
    for (i, row) in rows.iter().enumerate() {
        let number = |name: &str| row[name].parse::<u64>().unwrap();
        let (from, to) = (number("start_ns"), number("start_ns") + 50_000_000);
        assert_eq!(from, 50_000_000 * i as u64, "every window has a row");
        let cell = |request: &BTreeMap<String, String>, name: &str| request[name].parse::<u64>().unwrap();
        let completed = |r: &&BTreeMap<String, String>| (from..to).contains(&cell(r, "completion_ns"));
        let reads: Vec<u64> =
            requests.iter().filter(completed).filter(|r| r["op"] == "read").map(|r| cell(r, "latency_ns")).collect();
        assert_eq!(number("reads"), reads.len() as u64);
        if reads.is_empty() {
            assert_eq!(row["read_mean_ns"], "");
        } else {
            let (sum, n) = (reads.iter().sum::<u64>(), reads.len() as u64);
            assert_eq!(number("read_mean_ns"), (2 * sum + n) / (2 * n));
            assert!(number("read_p99_ns") <= *reads.iter().max().unwrap());
        }
        let waiting = |r: &&BTreeMap<String, String>| cell(r, "arrival_ns") < to && cell(r, "completion_ns") >= to;
        assert_eq!(number("pending"), requests.iter().filter(waiting).count() as u64, "window {i}");
        assert_eq!(row["iops"], format!("{}.000", number("requests") * 20));
    }
    // Observing does not change a run, and the same run gives the same bytes.
    let first = bench.text("s.csv");
    assert_eq!(json(&bench.good(&format!("{WORK} --json - --series s.csv --window 50ms --check off"))), summary);
    assert_eq!(first, bench.text("s.csv"));
    assert_eq!(json(&bench.good(&format!("{WORK} --json -"))), summary);
}

#[test]
fn warm_up_and_idle_time_have_windows_too() {
    let bench = Bench::new();
    let gap: String =
        [0, 1, 2, 3_000, 3_001].iter().map(|ms| format!("0,{},4096,w,{}\n", ms % 7 * 8, *ms as f64 / 1e3)).collect();
    std::fs::write(bench.path().join("gap.spc"), gap).unwrap();
    std::fs::write(bench.path().join("warm.toml"), "run = { warmup = \"2 requests\" }").unwrap();
    bench.good("run tiny.toml warm.toml --trace gap.spc --format spc --quiet --series s.csv");
    let rows = rows_of(&bench, "s.csv");
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("requests"), ["3", "0", "0", "2"]);
    assert_eq!(column("warmup"), ["2", "0", "0", "0"]);
    assert_eq!(column("write_mean_ns")[1..3], ["", ""]);
    let said = bench.bad("run tiny.toml --trace gap.spc --format spc --quiet --series s.csv --window 1ns", 2);
    assert!(said.contains("more than 10,000,000 windows") && said.contains("longer --window"), "{said}");
    assert!(bench.bad(&format!("{WORK} --series s.csv --window 0s"), 2).contains("a window must have a length"));
    assert!(bench.bad(&format!("{WORK} --series s.txt"), 2).contains("ends in .csv or .parquet"));
    assert!(bench.bad(&format!("{WORK} --window 1s"), 2).contains("--series"));
}

struct Slice {
    track: String,
    category: String,
    start: u64,
    end: u64,
    flow: u64,
}

struct Timeline {
    slices: Vec<Slice>,
}

impl Timeline {
    /// Reads a trace back; tracks are described before their events, and every slice that begins also ends.
    fn parse(bytes: &[u8]) -> Timeline {
        let trace = Trace::decode(bytes).unwrap();
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        let mut open: BTreeMap<u64, Slice> = BTreeMap::new();
        let mut timeline = Timeline { slices: Vec::new() };
        for packet in trace.packet {
            if let Some(track) = packet.track_descriptor {
                let parent = track.parent_uuid.map(|parent| names[&parent].clone());
                assert!(parent.is_none_or(|parent| ["requests", "channels", "planes"].contains(&parent.as_str())));
                assert!(names.insert(track.uuid.unwrap(), track.name.unwrap()).is_none());
                continue;
            }
            let (event, at) = (packet.track_event.unwrap(), packet.timestamp.unwrap());
            let track = event.track_uuid.unwrap();
            match event.r#type.unwrap() {
                SLICE_BEGIN => {
                    let slice = Slice {
                        track: names[&track].clone(),
                        category: event.categories[0].clone(),
                        start: at,
                        end: at,
                        flow: event.flow_ids[0],
                    };
                    assert!(open.insert(track, slice).is_none(), "slices of a track follow each other");
                }
                SLICE_END => {
                    let slice = open.remove(&track).expect("what ends has begun");
                    timeline.slices.push(Slice { end: at, ..slice });
                }
                other => panic!("type {other}"),
            }
        }
        assert!(open.is_empty());
        timeline
    }

    fn assert_no_overlap(&self) {
        let mut tracks: BTreeMap<&str, Vec<&Slice>> = BTreeMap::new();
        self.slices.iter().for_each(|slice| tracks.entry(&slice.track).or_default().push(slice));
        for (track, mut slices) in tracks {
            slices.sort_by_key(|slice| slice.start);
            for pair in slices.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{track}: {} to {}", pair[0].end, pair[1].start);
            }
        }
    }
}

#[test]
fn a_timeline_has_every_request_with_its_operations_and_no_overlap() {
    let bench = Bench::new();
    for extra in [
        "",
        "--set timing.suspendable=program+erase --set timing.suspend=10us --set timing.resume=5us",
        "--set timing.cache_register=true --set device.multi_plane=true --set schemes.path=copyback",
        "--set device.write_ack=after_transfer --set timing.host_link=500MB/s --set timing.command=100ns",
        "--set schemes.collector=queued --set schemes.place=dynamic --set device.exclusion=channel",
    ] {
        bench.good(&format!("{WORK} {extra} --timeline t.pftrace --requests r.csv"));
        let timeline = timeline(&bench, "t.pftrace");
        timeline.assert_no_overlap();
        let requests = rows_of(&bench, "r.csv");
        let flows = |part: &str| -> BTreeSet<u64> {
            timeline.slices.iter().filter(|s| s.track.starts_with(part)).map(|s| s.flow).collect()
        };
        let (asked, planes) = (flows("requests"), flows("plane"));
        assert_eq!(asked.len(), 3000, "{extra}");
        for row in &requests {
            let cell = |name: &str| row[name].parse::<u64>().unwrap();
            if cell("array") > 0 {
                let flow = cell("request") + 1;
                assert!(asked.contains(&flow) && planes.contains(&flow), "{extra}: {row:?}");
            }
        }
        let gc = timeline.slices.iter().filter(|s| s.category == "gc").count();
        assert!(gc > 100, "{extra}: collections are there, and told apart");
        assert!(timeline.slices.iter().all(|s| (s.category == "gc") == (s.flow >> 63 == 1)));
    }
}

#[test]
fn a_window_of_a_timeline_has_all_that_falls_into_it() {
    let bench = Bench::new();
    bench.good(&format!("{WORK} --timeline all.pftrace"));
    bench.good(&format!("{WORK} --timeline part.pftrace --timeline-window 1s..1.05s"));
    let (all, part) = (timeline(&bench, "all.pftrace"), timeline(&bench, "part.pftrace"));
    part.assert_no_overlap();
    let key = |slice: &Slice| (slice.start, slice.end, slice.track.clone(), slice.flow);
    let inside = |slice: &&Slice| slice.start < 1_050_000_000 && slice.end > 1_000_000_000;
    let wanted: BTreeSet<_> = all.slices.iter().filter(inside).map(key).collect();
    assert!(wanted.len() > 50);
    assert_eq!(part.slices.iter().map(key).collect::<BTreeSet<_>>(), wanted);
    for (window, said) in [("5ms", "is not a window"), ("2ms..1ms", "is not a window")] {
        assert!(bench.bad(&format!("{WORK} --timeline t --timeline-window {window}"), 2).contains(said));
    }
}

#[test]
fn a_chart_is_for_tiny_runs() {
    let bench = Bench::new();
    let said = bench.bad(&format!("{WORK} --timeline -"), 2);
    assert!(said.contains("more than 200 operations") && said.contains("--timeline-window"), "{said}");
    let said = bench.bad(&format!("{WORK} --timeline - --json -"), 2);
    assert!(said.contains("standard output carries one result"), "{said}");
}

#[test]
fn blocks_are_all_there_and_fit_the_summary() {
    let bench = Bench::new();
    let table = bench.good(&format!("{WORK} --blocks b.csv --json s.json"));
    let (rows, summary) = (rows_of(&bench, "b.csv"), json(&bench.text("s.json")));
    assert_eq!(rows.len(), 4 * 32);
    let erases: Vec<u64> = rows.iter().map(|row| row["erases"].parse().unwrap()).collect();
    assert_eq!(summary["wear"]["erases_min"], *erases.iter().min().unwrap());
    assert_eq!(summary["wear"]["erases_max"], *erases.iter().max().unwrap());
    for row in &rows {
        let number = |name: &str| row[name].parse::<u64>().unwrap();
        let written = number("written_pages");
        assert!(number("valid_pages") <= written && written <= 16);
        assert_eq!(
            row["state"],
            if written == 0 {
                "erased"
            } else if written == 16 {
                "closed"
            } else {
                "open"
            }
        );
    }
    assert!(table.contains("valid pages  closed blocks"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn the_verdict_counts_requests_that_waited_for_collections() {
    let bench = Bench::new();
    let summary = json(&bench.good(&format!("{WORK} --json - --requests r.csv")));
    let waits = ["space", "die_late", "die_gc_own", "die_gc_other", "bus_gc", "noc_gc"];
    let delayed = |op: &str| {
        let waited = |row: &&BTreeMap<String, String>| row["op"] == op && waits.iter().any(|wait| row[*wait] != "0");
        rows_of(&bench, "r.csv").iter().filter(waited).count() as u64
    };
    assert_eq!(summary["requests_delayed_by_gc"]["read"], delayed("read"));
    assert_eq!(summary["requests_delayed_by_gc"]["write"], delayed("write"));
    assert_eq!(summary["requests_delayed_by_gc"]["all"], delayed("read") + delayed("write"));
    // A device that was filled in order is not in steady state when GC begins.
    let filled =
        "run tiny.toml --workload random-write --limit 3000 --quiet --json - --set precondition.mode=sequential";
    assert_eq!(json(&bench.good(filled))["write_amplification_halves"]["steady"], false);
    // A device that was filled and overwritten for long enough is in steady state.
    let aged = "run tiny.toml --workload random-write --limit 20000 --quiet --json - --set precondition.overwrite=5";
    let halves = json(&bench.good(aged))["write_amplification_halves"].clone();
    assert_eq!(halves["steady"], true, "{halves}");
    let fresh =
        bench.good("run tiny.toml --workload random-write --limit 100 --quiet --json - --set precondition.mode=none");
    assert_eq!(json(&fresh)["write_amplification_halves"], Value::Null);
}

#[test]
fn a_scheme_without_knobs_is_its_name() {
    let bench = Bench::new();
    let summary = json(&bench.good("run tiny.toml --workload mixed-70-30 --limit 10 --quiet --json -"));
    let schemes = summary["config"]["schemes"].as_object().unwrap();
    for slot in ["order", "route", "place", "victim", "collector", "path"] {
        assert!(schemes[slot].is_string(), "{slot}: {}", schemes[slot]);
    }
    for victim in ["random", "random+", "fifo", "cost-benefit", "greedy"] {
        let shown = bench.good(&format!("config show tiny.toml --set schemes.victim={victim}"));
        assert!(shown.contains(&format!("victim = \"{victim}\"")), "{shown}");
    }
}

#[test]
fn the_series_of_a_small_run_is_as_written_down() {
    let bench = Bench::new();
    bench.good("run tiny.toml --workload mixed-70-30 --limit 60 --quiet --series s.csv --window 20ms");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/series.csv");
    if std::env::var_os("TRYCMD").is_some_and(|what| what == "overwrite") {
        std::fs::write(&path, bench.text("s.csv")).unwrap();
    }
    assert_eq!(bench.text("s.csv"), std::fs::read_to_string(&path).unwrap(), "TRYCMD=overwrite refreshes it");
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_series_is_the_csv_series() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let bench = Bench::new();
    bench.good(&format!("{WORK} --series s.csv --window 1ms"));
    bench.good(&format!("{WORK} --series s.parquet --window 1ms"));
    let file = std::fs::File::open(bench.path().join("s.parquet")).unwrap();
    let text = bench.text("s.csv");
    let mut lines = text.lines().skip(1);
    for row in SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let cell = |field: &Field| match field {
            Field::Null => String::new(),
            Field::Double(value) => format!("{value:.3}"),
            other => other.to_string(),
        };
        let cells: Vec<String> = row.get_column_iter().map(|(_, field)| cell(field)).collect();
        assert_eq!(Some(cells.join(",").as_str()), lines.next());
    }
    assert_eq!(lines.next(), None);
}
