//! Fleets: what is added up equals what is computed from all requests at once.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use ssdlab_figures::figure::Cell;
use ssdlab_lab::readers::histogram::of_requests;
use ssdlab_lab::readers::table;
use ssdlab_lab::results::histograms;
use ssdlab_sim::config::Config;

use crate::common::Bench;

const FLEET: &str = r#"schema = "ssdlab.fleet/1"
name = "volumes"

[volumes]
list = "split/volumes.csv"
lba_policy = "dense"

[device]
size = "fit"
headroom = 1.1

[base]
files = ["tiny.toml"]
set = { "device.over_provisioning" = 0.3 }

[axes]
"schemes.victim" = ["greedy", "fifo"]

[reduce]
by = ["variant"]
measures = ["latency_ns.all.p99", "host_written_bytes_per_s"]
top = 7
"#;

/// Twenty volumes of different sizes in one trace.
fn bench() -> Bench {
    let bench = Bench::new();
    let (mut rows, mut state) = (String::new(), 9u64);
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for n in 0..4_000u64 {
        let volume = next(20);
        let page = next(200 + 40 * volume) * 3;
        let op = if next(3) == 0 { "R" } else { "W" };
        rows.push_str(&format!(
            "{},{op},{},{},v{volume:02}\n",
            n * 60_000 + next(50_000),
            page * 4096,
            4096 * (1 + next(2))
        ));
    }
    std::fs::write(bench.path().join("t.csv"), rows).unwrap();
    bench.good("trace split t.csv --format columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4 --into split");
    std::fs::write(bench.path().join("fleet.toml"), FLEET).unwrap();
    bench
}

/// The records of a store whose victim policy is this one: their paths, and what they say.
fn records(bench: &Bench, store: &str, victim: &str) -> Vec<(PathBuf, Json)> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(bench.path().join(store).join("runs")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".json") && name.len() == 64 + 5 {
                let record: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                if record["config"]["schemes"]["victim"] == victim {
                    found.push((path, record));
                }
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The rows of a file of CSV by column.
fn rows(bench: &Bench, name: &str) -> Vec<BTreeMap<String, Cell>> {
    let table = table::whole(&bench.path().join(name), false).unwrap();
    table.rows.iter().map(|row| table.columns.iter().cloned().zip(row.iter().cloned()).collect()).collect()
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Whole(value) => *value as f64,
        Cell::Real(value) => *value,
        // Columns of traces are unsigned.
        Cell::Text(text) => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
        other => panic!("{other:?} is not a number"),
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Whole(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
        _ => String::new(),
    }
}

/// All requests of some runs in one table of CSV, each with its volume in a column of its own.
fn requests(bench: &Bench, records: &[(PathBuf, Json)], names: &BTreeMap<String, String>, into: &Path) {
    let mut out = String::new();
    for (path, record) in records {
        let source = record["input"].as_str().unwrap().split(' ').next().unwrap();
        let table = table::whole(&path.with_extension("d").join("requests.parquet"), true).unwrap();
        if out.is_empty() {
            out = format!("{},volume\n", table.columns.join(","));
        }
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(text).collect();
            out.push_str(&format!("{},{}\n", cells.join(","), names[source]));
        }
    }
    std::fs::write(bench.path().join(into), out).unwrap();
}

#[test]
fn a_fleet_equals_the_computation_over_all_requests() {
    let bench = bench();
    let plan: Json = serde_json::from_str(&bench.good("fleet plan fleet.toml --json -")).unwrap();
    assert_eq!((&plan["runs"], &plan["refused"]), (&Json::from(40), &serde_json::json!([])), "{plan}");
    assert_eq!(
        plan["fleet"],
        serde_json::json!({
            "volumes": 20, "requests": 4000, "variants": 2, "left_out": { "unsampled": 0, "small": 0, "large": 0 },
        })
    );
    bench.good("fleet run fleet.toml --store st --quiet --keep requests");
    bench.good("fleet table fleet.toml --store st -o t.csv --slowest slow.csv --parts parts");
    let groups = rows(&bench, "t.csv");
    let slow = rows(&bench, "slow.csv");
    // Volumes by the hash of their trace, as the store keeps them.
    let inputs: BTreeMap<String, PathBuf> =
        serde_json::from_str(&bench.text("st/studies/volumes/inputs.json")).unwrap();
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let names: BTreeMap<String, String> = inputs.iter().map(|(hash, path)| (hash.clone(), stem(path))).collect();
    let mut p99: Vec<BTreeMap<String, f64>> = Vec::new();
    for (at, victim) in ["greedy", "fifo"].into_iter().enumerate() {
        let records = records(&bench, "st", victim);
        assert_eq!(records.len(), 20);
        let group = &groups[at];
        assert_eq!(text(&group["variant"]), format!("schemes.victim={victim}"));
        assert_eq!(["volumes", "runs", "done"].map(|name| number(&group[name])), [20.0; 3]);

        // The histograms of all requests, to the byte.
        requests(&bench, &records, &names, Path::new("all.csv"));
        let all = of_requests(&bench.path().join("all.csv"), false).unwrap();
        let direct = bench.path().join("direct.parquet");
        let sheet = histograms::create(&direct.clone().into(), &[]).unwrap();
        histograms::write(sheet, &all, &[]).unwrap().publish().unwrap();
        let paths: Vec<String> = records.iter().map(|(path, _)| path.display().to_string()).collect();
        bench.good(&format!("merge {} -o merged.parquet", paths.join(" ")));
        assert_eq!(std::fs::read(direct).unwrap(), std::fs::read(bench.path().join("merged.parquet")).unwrap());
        let part: Json = serde_json::from_str(&bench.text(&format!("parts/{:04}.json", at + 1))).unwrap();
        bench.good(&format!("merge {} -o sum.json", paths.join(" ")));
        let sum: Json = serde_json::from_str(&bench.text("sum.json")).unwrap();
        for same in ["latency_ns", "waiting_ns", "sums", "buckets", "members", "utilisation", "extremes"] {
            assert_eq!(part[same], sum[same], "{same}");
        }
        let of = |path: &str| {
            records.iter().filter_map(|(_, record)| record["summary"].pointer(path)?.as_f64()).sum::<f64>()
        };
        let programmed = 4096.0 * (of("/flash/programs/total") + of("/flash/copybacks"));
        for told in [number(&group["write_amplification_bytes"]), sum["write_amplification_bytes"].as_f64().unwrap()] {
            assert!((told - programmed / of("/bytes/written")).abs() < 1e-9, "{told}");
        }
        for figure in ["p50", "p99", "max", "mean"] {
            let own = number(&group[&format!("latency_ns.all.{figure}")]);
            assert_eq!(own, sum["latency_ns"]["all"][figure].as_f64().unwrap(), "{figure}");
        }

        // The slowest requests of all.
        let mut all = rows(&bench, "all.csv");
        assert_eq!(all.len(), 4_000);
        all.sort_by_key(|row| {
            (std::cmp::Reverse(number(&row["latency_ns"]) as u64), text(&row["volume"]), number(&row["request"]) as u64)
        });
        let own: Vec<_> = slow.iter().filter(|row| text(&row["schemes.victim"]) == victim).collect();
        assert_eq!(own.len(), 7);
        for (own, direct) in own.iter().zip(&all) {
            for column in
                ["volume", "request", "op", "arrival_ns", "offset", "bytes", "latency_ns", "array", "die_gc_own"]
            {
                assert_eq!(own[column], direct[column], "{column}");
            }
        }

        // Quantiles over volumes.
        let by_volume = records.iter().map(|(_, record)| {
            let source = record["input"].as_str().unwrap().split(' ').next().unwrap();
            (names[source].clone(), record["summary"]["latency_ns"]["all"]["p99"].as_f64().unwrap())
        });
        p99.push(by_volume.collect());
        let mut sorted: Vec<f64> = p99[at].values().copied().collect();
        sorted.sort_by(f64::total_cmp);
        for (quantile, rank) in [("q0_05", 1), ("q0_25", 5), ("q0_5", 10), ("q0_75", 15), ("q0_95", 19)] {
            let own = number(&group[&format!("volumes.latency_ns.all.p99.{quantile}")]);
            assert_eq!(own, sorted[rank - 1], "{quantile}");
        }

        // Each device is the smallest that its volume fits on.
        for (_, record) in &records {
            let mut config: Config = serde_json::from_value(record["config"].clone()).unwrap();
            let table = table::whole(&inputs[record["input"].as_str().unwrap().split(' ').next().unwrap()], true);
            let touched = touched(&table.unwrap()) as u64;
            let need = (touched * 11).div_ceil(10) * 4096;
            assert!(config.check().is_ok() && config.capacity_bytes() >= need);
            config.geometry.blocks_per_plane -= 1;
            assert!(
                config.check().is_err() || config.capacity_bytes() < need,
                "{} blocks do",
                config.geometry.blocks_per_plane
            );
        }
    }
    assert_eq!(groups[0]["better.latency_ns.all.p99"], Cell::Null);
    let wins = p99[1].iter().filter(|(volume, ns)| **ns < p99[0][*volume]).count();
    assert_eq!(number(&groups[1]["better.latency_ns.all.p99"]), wins as f64 / 20.0);
    assert_eq!(number(&groups[1]["better.latency_ns.all.p99.volumes"]), 20.0);
    let [low, high] = ["low", "high"].map(|end| number(&groups[1][&format!("better.latency_ns.all.p99.{end}")]));
    assert!(low <= wins as f64 / 20.0 && wins as f64 / 20.0 <= high && low < high);

    // The same bytes by shards, of which one process makes each.
    ["2/3", "1/3", "3/3"].iter().for_each(|shard| {
        bench.good(&format!("fleet run fleet.toml --store shards --quiet --jobs 1 --shard {shard}"));
    });
    bench.good("fleet table fleet.toml --store shards -o u.csv --slowest slow2.csv");
    assert_eq!((bench.text("t.csv"), bench.text("slow.csv")), (bench.text("u.csv"), bench.text("slow2.csv")));
    // A fleet keeps its records when others are removed.
    let removed = bench.good("sweep clean --store shards --not-in fleet.toml --yes");
    assert!(removed.starts_with("removed: 0 records"), "{removed}");
    let status: Json = serde_json::from_str(&bench.good("fleet status fleet.toml --store shards --json -")).unwrap();
    assert_eq!((&status["done"], &status["left"]), (&Json::from(40), &Json::from(0)));
    let script = bench.good("fleet submit fleet.toml --store shards --slurm --print");
    assert!(script.contains("--array=1-2") && script.contains("ssdlab fleet run"), "{script}");
}

/// Pages of 4 KiB that a trace in Parquet touches.
fn touched(table: &ssdlab_figures::figure::Table) -> usize {
    let at = |name: &str| table.columns.iter().position(|column| column == name).unwrap();
    let (offset, bytes) = (at("offset"), at("bytes"));
    let pages = table.rows.iter().flat_map(|row| {
        let (from, bytes) = (number(&row[offset]) as u64, number(&row[bytes]) as u64);
        from / 4096..(from + bytes).div_ceil(4096)
    });
    pages.collect::<std::collections::BTreeSet<u64>>().len()
}

#[test]
fn a_fleet_has_the_volumes_that_are_asked_for() {
    let bench = bench();
    let plan = |fleet: &str| -> Json {
        std::fs::write(bench.path().join("f.toml"), fleet).unwrap();
        serde_json::from_str(&bench.good("fleet plan f.toml --list --json -")).unwrap()
    };
    // A pattern, also over a file with several volumes, gives the same volumes as the list.
    let volumes = |plan: &Json| -> Vec<String> {
        let list = plan["list"].as_array().unwrap().iter();
        let mut names: Vec<String> = list.map(|row| row["values"]["volume"].as_str().unwrap().into()).collect();
        names.dedup();
        names
    };
    let listed = volumes(&plan(FLEET));
    assert_eq!((listed.len(), listed[7].as_str()), (20, "v07"));
    assert_eq!(volumes(&plan(&FLEET.replace("list = \"split/volumes.csv\"", "traces = \"split/*.parquet\""))), listed);
    bench.good(
        "trace split t.csv --format columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4 --into two --parts 2",
    );
    for source in ["list = \"two/volumes.csv\"", "traces = \"two/*.parquet\""] {
        assert_eq!(volumes(&plan(&FLEET.replace("list = \"split/volumes.csv\"", source))), listed, "{source}");
    }
    // A sample, a least number of requests, a largest device; classes and capacities.
    let sampled =
        plan(&FLEET.replace(
            "[device]",
            "sample = { share = 0.5, seed = 3 }\nmin_requests = 190\n\n[device]\nmost = \"1100KiB\"",
        ));
    let out = &sampled["fleet"]["left_out"];
    let [unsampled, small, large] = ["unsampled", "small", "large"].map(|why| out[why].as_u64().unwrap());
    assert!(unsampled > 3 && small > 0 && large > 0, "{out}");
    assert_eq!(sampled["fleet"]["volumes"].as_u64().unwrap() + unsampled + small + large, 20);
    assert!(volumes(&sampled).iter().all(|volume| listed.contains(volume)));
    let classes = "name,trace,class,capacity\na,split/v00.parquet,small,4MiB\nb,split/v19.parquet,large,6291456\n";
    std::fs::write(bench.path().join("classes.csv"), classes).unwrap();
    let classed =
        FLEET.replace("split/volumes.csv", "classes.csv").replace("[\"variant\"]", "[\"variant\", \"class\"]");
    assert_eq!(plan(&classed)["points"], 4);
    bench.good("fleet run f.toml --store classes --quiet --shard 1/1");
    bench.good("fleet table f.toml --store classes -o c.csv");
    let groups: Vec<(String, String)> =
        rows(&bench, "c.csv").iter().map(|row| (text(&row["schemes.victim"]), text(&row["class"]))).collect();
    let expected = [("greedy", "large"), ("greedy", "small"), ("fifo", "large"), ("fifo", "small")];
    assert_eq!(groups, expected.map(|(victim, class)| (victim.to_string(), class.to_string())));
    let device = |victim: &str| -> Vec<u64> {
        let records = records(&bench, "classes", victim);
        let config = |record: &Json| serde_json::from_value::<Config>(record["config"].clone()).unwrap();
        let mut sizes: Vec<u64> = records.iter().map(|(_, record)| config(record).capacity_bytes()).collect();
        sizes.sort_unstable();
        sizes
    };
    // Counted only: programs, and no latencies.
    let counted =
        FLEET.replace("[device]", "count_only = true\n\n[device]").replace("latency_ns.all.p99", "write_amplification");
    std::fs::write(bench.path().join("f.toml"), counted.replace("split/volumes.csv", "classes.csv")).unwrap();
    bench.good("fleet run f.toml --store counted --quiet");
    bench.good("fleet table f.toml --store counted -o n.csv");
    let row = &rows(&bench, "n.csv")[0];
    assert!(number(&row["write_amplification"]) >= 1.0 && row["latency_ns.all.p99"] == Cell::Null);
    assert!(number(&row["volumes.write_amplification.q0_95"]) >= number(&row["volumes.write_amplification.q0_05"]));
    // 4 MiB x 1.1 and 6 MiB x 1.1, up to whole blocks.
    let sizes = device("greedy");
    assert!(
        sizes[0] >= 4_613_735 && sizes[0] < 5_800_000 && sizes[1] >= 6_920_602 && sizes[1] < 8_200_000,
        "{sizes:?}"
    );
}

#[test]
fn a_mistake_in_a_fleet_has_its_line_and_its_fix() {
    let bench = bench();
    let said = |from: &str, to: &str| {
        assert!(FLEET.contains(from), "{from}");
        std::fs::write(bench.path().join("f.toml"), FLEET.replace(from, to)).unwrap();
        bench.bad("fleet plan f.toml", 2)
    };
    let cases = [
        ("size = \"fit\"", "size = \"fits\"", "f.toml:9:8", "write \"fit\""),
        ("size = \"fit\"\n", "", "f.toml:9:1", "add size = \"fit\""),
        ("[\"variant\"]", "[\"volume\"]", "f.toml:20:6", "add \"variant\""),
        ("[\"variant\"]", "[\"variant\", \"class\"]", "f.toml:20:6", "a column `class`"),
        ("top = 7", "top = 7000", "f.toml:22:7", "at most 1,000 requests"),
        ("lba_policy", "lba_polici", "f.toml:6:1", "did you mean `lba_policy`?"),
        ("\"schemes.victim\" = [\"greedy\", \"fifo\"]", "trace = [\"a\"]", "f.toml:17:1", "leave the axis out"),
        (
            "\"schemes.victim\" = [\"greedy\", \"fifo\"]",
            "\"geometry.blocks_per_plane\" = [8, 9]",
            "f.toml:17:1",
            "leave one of the two out",
        ),
        ("headroom = 1.1", "headroom = 0.9", "f.toml:10:12", "from 1 on"),
    ];
    for (from, to, place, help) in cases {
        let said = said(from, to);
        assert!(said.contains(place) && said.contains(help), "{place}, {help}: {said}");
    }
    std::fs::write(bench.path().join("fleet.toml"), FLEET).unwrap();
    assert!(bench.bad("sweep plan fleet.toml", 2).contains("use `ssdlab fleet`"));
    // Two volumes with the same requests would count twice.
    std::fs::write(bench.path().join("twice.csv"), "name,trace\na,split/v00.parquet\nb,copy.parquet\n").unwrap();
    std::fs::copy(bench.path().join("split/v00.parquet"), bench.path().join("copy.parquet")).unwrap();
    assert!(said("split/volumes.csv", "twice.csv").contains("two volumes have the same requests"));
    // A measure that no run has is found when results are added up.
    std::fs::write(bench.path().join("f.toml"), FLEET.replace("latency_ns.all.p99", "latency_ns.all.p9")).unwrap();
    bench.good("fleet run f.toml --store st --quiet");
    assert!(bench.bad("fleet table f.toml --store st -o none.csv", 2).contains("no run has `latency_ns.all.p9`"));
    assert!(!bench.path().join("none.csv").exists());
}

/// A volume that no device of the geometry holds is refused and counted; its device is never of another size.
#[test]
fn a_capacity_that_no_device_has_is_refused() {
    let bench = bench();
    let list = "name,trace,capacity\na,split/v00.parquet,4MiB\nb,split/v01.parquet,1125899906842624\nc,split/v02.parquet,18446744073709551615\n";
    std::fs::write(bench.path().join("list.csv"), list).unwrap();
    let fleet = FLEET.replace("split/volumes.csv", "list.csv").replace("\"greedy\", \"fifo\"", "\"greedy\"");
    std::fs::write(bench.path().join("f.toml"), fleet).unwrap();
    let plan: Json = serde_json::from_str(&bench.good("fleet plan f.toml --list --json -")).unwrap();
    let list = plan["list"].as_array().unwrap();
    let rules: Vec<&str> = list.iter().map(|point| point["rule"].as_str().unwrap_or_default()).collect();
    assert!(rules[0].is_empty(), "{rules:?}");
    assert!(rules[1..].iter().all(|rule| rule.starts_with("device.size: a volume of ")), "{rules:?}");
    assert_eq!(plan["refused"].as_array().unwrap().iter().map(|one| one["points"].as_u64().unwrap()).sum::<u64>(), 2);
    bench.good("fleet run f.toml --store too-large --quiet");
    let status: Json = serde_json::from_str(&bench.good("fleet status f.toml --store too-large --json -")).unwrap();
    assert_eq!((&status["done"], &status["refused"], &status["left"]), (&1.into(), &2.into(), &0.into()));
    bench.good("fleet table f.toml --store too-large -o t.csv");
    let counts = ["runs", "done", "refused", "failed", "left"];
    assert_eq!(counts.map(|name| number(&rows(&bench, "t.csv")[0][name])), [3.0, 1.0, 2.0, 0.0, 0.0]);
}

/// The list that `trace split` writes names the same volumes to a fleet, whatever the trace calls them.
#[test]
fn a_fleet_knows_volumes_by_the_names_that_a_split_gave_them() {
    let bench = Bench::new();
    let names = ["-rf", "=1+1", "'q", "@a", "+1", "b", "x;y"];
    let line = |at: usize| format!("{at},{},{},4096,{}\n", at % 2, at / 7 * 4096, names[at % names.len()]);
    std::fs::write(bench.path().join("t.csv"), (0..70).map(line).collect::<String>()).unwrap();
    for (parts, into) in [("", "each"), (" --parts 2", "two")] {
        let format = "--format columns:time=0:us,op=1:0r1w,offset=2:bytes,size=3:bytes,vol=4";
        bench.good(&format!("trace split t.csv {format} --into {into}{parts}"));
        let fleet = FLEET.replace("split/volumes.csv", &format!("{into}/volumes.csv"));
        std::fs::write(bench.path().join("f.toml"), fleet).unwrap();
        let plan: Json = serde_json::from_str(&bench.good("fleet plan f.toml --list --json -")).unwrap();
        let list = plan["list"].as_array().unwrap().iter();
        let volumes: std::collections::BTreeSet<String> =
            list.map(|row| row["values"]["volume"].as_str().unwrap().into()).collect();
        assert!(names.iter().all(|name| volumes.contains(*name)) && volumes.len() == names.len(), "{volumes:?}");
    }
}

/// More of a rate is better. A variant that writes faster wins for every volume that both have; a run without a result is left out.
#[test]
fn more_of_a_rate_is_better() {
    let bench = bench();
    let list = (0..4).map(|n| format!("v{n},split/v0{n}.parquet\n")).collect::<String>();
    std::fs::write(bench.path().join("list.csv"), format!("name,trace\n{list}")).unwrap();
    let fleet = FLEET
        .replace("split/volumes.csv\"\n", "list.csv\"\nreplay = \"closed\"\n")
        .replace("\"schemes.victim\" = [\"greedy\", \"fifo\"]", "\"timing.program\" = [\"600us\", \"300us\"]")
        .replace("latency_ns.all.p99", "latency_ns.write.mean");
    std::fs::write(bench.path().join("f.toml"), &fleet).unwrap();
    bench.good("fleet run f.toml --store rates --quiet");
    // The faster device of one volume has no result.
    let lost = records(&bench, "rates", "greedy")
        .into_iter()
        .find(|(_, record)| record["config"]["timing"]["program"] == "300us");
    let (lost, gone) = lost.unwrap_or_else(|| panic!("{fleet}"));
    std::fs::remove_file(lost).unwrap();
    // Neither has the other device of another volume.
    let other = records(&bench, "rates", "greedy")
        .into_iter()
        .find(|(_, record)| record["config"]["timing"]["program"] == "600us" && record["input"] != gone["input"]);
    std::fs::remove_file(other.unwrap().0).unwrap();
    bench.good("fleet table f.toml --store rates -o t.csv");
    let groups = rows(&bench, "t.csv");
    let faster = groups.iter().find(|row| text(&row["timing.program"]) == "300us").unwrap();
    for measure in ["host_written_bytes_per_s", "latency_ns.write.mean"] {
        let own = ["", ".volumes", ".high"].map(|end| number(&faster[&format!("better.{measure}{end}")]));
        assert_eq!(own, [1.0, 2.0, 1.0], "{measure}: it is faster, for the two volumes that both have");
    }
    assert_eq!((number(&faster["done"]), number(&faster["left"])), (3.0, 1.0));
}
