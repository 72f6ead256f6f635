//! Figures and pages: their numbers, their bytes, and what hostile text and empty runs make of them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ssdlab_explain as explain;
use ssdlab_explain::whatif::{self, what_if};
use ssdlab_figures::figure::{Cell, Figure, Mark, Table};
use ssdlab_figures::svg::{Look, Theme, draw};
use ssdlab_lab::error::{Class, Result};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::output::Finished;
use ssdlab_lab::readers::causes::{self, Any};
use ssdlab_lab::readers::histogram::{self, Quantile, SUMMARY, bands, percentile};
use ssdlab_lab::readers::summaries;
use ssdlab_lab::readers::table::{Columns, whole};
use ssdlab_lab::readers::timeline::Bar;
use ssdlab_lab::readers::words;
use ssdlab_lab::results::blocks::BlockRows;
use ssdlab_lab::results::dies::DieRows;
use ssdlab_lab::results::histograms::BucketRows;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::results::timeline::Activity;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_lab::variants::axes::Axis;
use ssdlab_lab::variants::comparison::{Planned, Seeds};
use ssdlab_lab::variants::figures::METRICS;
use ssdlab_lab::variants::points::Plan;
use ssdlab_report::charts::{self, Shown, Wanted};
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::{self, Page};
use ssdlab_report::product::PageFile;
use ssdlab_sim::Check;
use ssdlab_sim::blame::CAUSES;
use ssdlab_sim::units::Nanos;

use crate::{run, tiny};

fn workload(name: &str, limit: u64) -> Requests {
    let origin = Origin::Workload { name: name.into(), recordings: None };
    Requests { limit: Some(limit), ..Requests::new(origin) }
}

/// Every result of a run in a directory.
fn results(directory: &Path, sources: &Sources, requests: &Requests, window: u64) -> Vec<PathBuf> {
    let file = |name: &str| directory.join(name);
    let window = Nanos(window);
    let outputs = Outputs::default()
        .with(SummaryFile(file("summary.json")))
        .with(RequestRows(file("requests.csv").into()))
        .with(WindowRows { place: file("series.csv").into(), window })
        .with(DieRows::beside(&file("series.csv"), window))
        .with(Activity { file: Some(file("run.pftrace")), span: None })
        .with(BlockRows(file("blocks.csv").into()))
        .with(BucketRows(file("histograms.csv").into()));
    let mut done = run(sources, How::default()).open(requests).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    ["summary.json", "histograms.csv", "series.csv", "run.pftrace", "blocks.csv", "series.dies.csv"]
        .map(|name| directory.join(name))
        .into()
}

fn read(paths: &[PathBuf]) -> Inputs {
    Inputs::read(paths, None).unwrap()
}

fn figure(name: &str, inputs: &Inputs) -> Figure {
    charts::make(name, inputs, &Wanted::default()).unwrap()
}

fn lite() -> Page {
    Page { lite: true, ..Page::default() }
}

/// The example of the design: the 280 slowest reads of the README's first run, to the nanosecond.
#[test]
fn the_tail_of_the_first_run_is_that_of_its_requests() {
    let directory = tempfile::tempdir().unwrap();
    let sources = Sources { sets: vec!["precondition.mode=random".into()], ..Sources::default() };
    let file = |name: &str| directory.path().join(name);
    let outputs = Outputs::default()
        .with(RequestRows(file("requests.csv").into()))
        .with(BucketRows(file("histograms.csv").into()))
        .with(SummaryFile(file("summary.json")));
    let quickstart = Requests::new(Origin::Workload { name: "quickstart".into(), recordings: None });
    let mut done = run(&sources, How::default()).open(&quickstart).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    let requests = whole(&directory.path().join("requests.csv"), false).unwrap();
    let columns = Columns(&requests);
    let op = requests.columns.iter().position(|name| name == "op").unwrap();
    let latencies = columns.numbers("latency_ns");
    let mut reads: Vec<usize> = (0..latencies.len()).filter(|i| requests.rows[*i][op] == Cell::from("read")).collect();
    reads.sort_by(|a, b| latencies[*b].total_cmp(&latencies[*a]));
    let slowest = &reads[..280];
    let sum = |name: &str| slowest.iter().map(|i| columns.numbers_at(name, *i)).sum::<f64>();
    let expected = [
        ("latency_ns", 15_023_526_954u64),
        ("die_gc_own", 7_459_778_909),
        ("die_gc_other", 7_263_674_694),
        ("die_late", 279_743_707),
        ("array", 14_000_000),
        ("die_host", 4_887_816),
        ("bus", 1_433_600),
        ("bus_gc", 4_391),
        ("bus_host", 3_837),
    ];
    for (name, ns) in expected {
        assert_eq!(sum(name), ns as f64, "{name}");
    }
    // The band of buckets holds these requests, and at most the rest of one bucket more.
    let inputs = read(&[directory.path().join("summary.json"), directory.path().join("histograms.csv")]);
    let buckets = &inputs.run.histograms.as_ref().unwrap().latency[0];
    let band = bands(buckets).pop().unwrap();
    assert_eq!(band.name, "99.9 to 100 %");
    let edge = &buckets[histogram::place(buckets, Quantile::new(999, 1000)).unwrap()];
    assert!(band.count >= 280 && band.count < 280 + edge.count, "{band:?}");
    assert!(slowest.iter().all(|i| latencies[*i] >= band.from as f64));
    for (cause, name) in CAUSES {
        let own = band.causes[cause as usize];
        assert!(own >= sum(name) as u128, "{name}");
    }
    assert_eq!(band.causes.iter().sum::<u128>(), band.sum);
    // Histograms of the requests are those of the run.
    let again = histogram::of_requests(&directory.path().join("requests.csv"), false).unwrap();
    assert_eq!(Some(&again), inputs.run.histograms.as_ref());
    let caption = figure("percentiles", &inputs).caption;
    assert!(caption.starts_with("99.9 % of 279,656 reads took at most 42.93 ms."), "{caption}");
}

/// A number at a row.
trait At {
    fn numbers_at(&self, name: &str, row: usize) -> f64;
}

impl At for Columns<'_> {
    fn numbers_at(&self, name: &str, row: usize) -> f64 {
        let column = self.0.columns.iter().position(|column| column == name).unwrap();
        ssdlab_lab::readers::table::number(&self.0.rows[row][column])
    }
}

#[test]
fn figures_say_what_their_sources_say() {
    let directory = tempfile::tempdir().unwrap();
    let files = results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 3_000), 20_000_000);
    let inputs = read(&files);
    let summary = inputs.run.summary.clone().unwrap();
    let number = |place: &str| summary.pointer(place).and_then(Value::as_f64).unwrap();
    let histograms = inputs.run.histograms.as_ref().unwrap();
    let curve = figure("percentiles", &inputs);
    for (op, buckets) in ["read", "write"].iter().zip(&histograms.latency) {
        let points = &curve.panels[0].series.iter().find(|series| series.name == *op).unwrap().points;
        for (field, quantile) in SUMMARY {
            let expected = number(&format!("/latency_ns/{op}/{field}"));
            assert_eq!(percentile(buckets, quantile), Some(expected as u64), "{op} {field}");
            let rank = quantile.rank(histogram::count(buckets)) as f64 / histogram::count(buckets) as f64;
            let point = points.iter().find(|point| point[0] >= rank).unwrap();
            assert_eq!(point[1], expected, "{op} {field}");
        }
        let sum: u128 = buckets.iter().map(|bucket| bucket.sum).sum();
        let mean = sum as f64 / histogram::count(buckets) as f64;
        assert!((mean - number(&format!("/latency_ns/{op}/mean"))).abs() < 1e-6);
        for (cause, name) in CAUSES {
            let own: u128 = buckets.iter().map(|bucket| bucket.causes[cause as usize]).sum();
            assert_eq!(own as f64, number(&format!("/breakdown_ns/{op}/{name}")), "{op} {name}");
        }
        let waits: u64 = histograms.waiting[usize::from(*op == "write")].iter().map(|bucket| bucket.count).sum();
        assert_eq!(waits, histogram::count(buckets));
    }
    // Stacks reach the mean; shares reach 1.
    let stacks = figure("causes", &inputs);
    for (row, op) in ["read", "write", "all"].iter().enumerate() {
        let total: f64 = stacks.panels[0].series.iter().map(|series| series.points[row][0]).sum();
        assert!((total - number(&format!("/latency_ns/{op}/mean"))).abs() < 1e-3);
    }
    for panel in figure("tail-causes", &inputs).panels {
        for band in 0..panel.y.bands.len() {
            let total: f64 = panel.series.iter().map(|series| series.points[band][0]).sum();
            assert!((total - 1.0).abs() < 1e-9);
        }
    }
    let wear = figure("wear", &inputs);
    let cells: f64 = wear.panels[0].series[0].points.iter().map(|point| point[2]).sum();
    let blocks = wear.panels[0].series[0].points.len() as f64;
    assert!((cells / blocks - number("/wear/erases_mean")).abs() < 1e-9);
    let (bars, all) = (figure("valid", &inputs), blocks);
    let counted: f64 = bars.panels[1].series[0].points.iter().map(|point| point[1]).sum();
    assert_eq!(counted, all);
    let windows = figure("series", &inputs);
    let at = windows.table.columns.iter().position(|name| name == "requests").unwrap();
    let requests: f64 = windows.table.rows.iter().map(|row| ssdlab_lab::readers::table::number(&row[at])).sum();
    assert_eq!(requests, number("/latency_ns/all/count"));
    // Dies: their busy time is the summary's, of which only work after the last completion is no part.
    let dies = Columns(inputs.run.dies.as_ref().unwrap());
    let sum = |name: &str| dies.numbers(name).iter().sum::<f64>();
    let busy = sum("host_ns") + sum("gc_ns") + sum("writeback_ns");
    let expected = number("/utilisation/die") * 4.0 * number("/simulated_ns");
    assert!(busy >= expected - 1.0 && busy <= expected + 4.0 * 100e6, "{busy} {expected}");
    for (own, field) in [("reads", "reads/total"), ("programs", "programs/total"), ("erases", "erases")] {
        assert_eq!(sum(own), number(&format!("/flash/{field}")), "{own}");
    }
    let map = figure("heatmap-die", &inputs);
    let shares: f64 = map.panels[0].series[0].points.iter().map(|point| point[2]).sum();
    // The map has six decimals.
    let cells = map.panels[0].series[0].points.len() as f64;
    assert!((shares * 20_000_000.0 - sum("host_ns")).abs() < 20.0 * cells);
    let gantt = figure("gantt", &inputs);
    assert!(gantt.panels[0].series.iter().any(|series| series.name == "GC" && series.mark == Mark::Interval));
    let first = gantt.panels[0].series[0].points[0].clone();
    assert_eq!(first[2] - first[1], number("/latency_ns/all/max"), "the slowest request is the row above all others");
}

/// Write-backs are GC's work in the heat map, as its legend says. Sums of both panels are those of the dies' table.
#[test]
fn the_heat_map_of_dies_sums_to_their_table() {
    let directory = tempfile::tempdir().unwrap();
    let buffered = [
        "schemes.collector={ idle-chip = { stream_rule = \"always\" } }",
        "schemes.place=dynamic",
        "staging.slots=64",
        "precondition.mode=random",
    ];
    let files = results(directory.path(), &tiny(&buffered), &workload("mixed-70-30", 2_000), 10_000_000);
    let inputs = read(&files);
    let dies = Columns(inputs.run.dies.as_ref().unwrap());
    let sum = |name: &str| dies.numbers(name).iter().sum::<f64>();
    assert!(sum("writeback_ns") > 0.0, "the scene has write-backs: {} ns of GC", sum("gc_ns"));
    let map = figure("heatmap-die", &inputs);
    for (panel, expected) in map.panels.iter().zip([sum("host_ns"), sum("gc_ns") + sum("writeback_ns")]) {
        let points = &panel.series[0].points;
        let shares: f64 = points.iter().map(|point| point[2]).sum();
        // Shares have six decimals.
        assert!((shares * 10_000_000.0 - expected).abs() < 10.0 * points.len() as f64, "{}", panel.title);
    }
    for (column, expected) in [("host_share", sum("host_ns")), ("gc_share", sum("gc_ns") + sum("writeback_ns"))] {
        let shares: f64 = Columns(&map.table).numbers(column).iter().sum();
        assert!((shares * 10_000_000.0 - expected).abs() < 10.0 * map.table.rows.len() as f64, "{column}");
    }
}

/// Causes of optional features are on pages like the others: stacks reach the mean, shares sum to 1, sums are the summary's.
#[test]
fn optional_causes_are_shown_and_summed() {
    let directory = tempfile::tempdir().unwrap();
    let queues = r#"nvme.queues=[{name="reads",match={op="read"}},{name="rest",match="rest"}]"#;
    let device = tiny(&["cache.size=16KiB", "cache.time=1us", "nvme.arbitration=rr", queues, "device.queue_depth=2"]);
    let files = results(directory.path(), &device, &workload("quickstart", 1_500), 20_000_000);
    let inputs = read(&files);
    let summary = inputs.run.summary.clone().unwrap();
    let number = |place: &str| summary.pointer(place).and_then(Value::as_f64).unwrap();
    for cause in ["cache", "arbitration"] {
        assert!(number(&format!("/breakdown_ns/all/{cause}")) > 0.0, "the device waits for {cause}");
    }
    let stacks = figure("causes", &inputs);
    let sums = |inputs: &Inputs| -> Vec<f64> {
        let stacks = figure("causes", inputs);
        (0..3).map(|row| stacks.panels[0].series.iter().map(|series| series.points[row][0]).sum()).collect()
    };
    for (op, total) in ["read", "write", "all"].iter().zip(sums(&inputs)) {
        assert!((total - number(&format!("/latency_ns/{op}/mean"))).abs() < 1e-3, "{op}");
    }
    // The summary alone says the same.
    let alone = read(&files[..1]);
    assert!(sums(&alone).iter().zip(sums(&inputs)).all(|(a, b)| (a - b).abs() < 1e-3));
    assert!(stacks.panels[0].series.iter().any(|series| series.name == "cache (no free cache line, or a flush)"));
    for panel in figure("tail-causes", &inputs).panels {
        for band in 0..panel.y.bands.len() {
            let total: f64 = panel.series.iter().map(|series| series.points[band][0]).sum();
            assert!((total - 1.0).abs() < 1e-9);
        }
    }
    for buckets in &inputs.run.histograms.as_ref().unwrap().latency {
        for band in bands(buckets) {
            assert_eq!(band.causes.iter().sum::<u128>(), band.sum);
        }
    }
    // The share of GC in the sentence is that of all time in the device, without waits for a slot.
    let spent = |op: &str, causes: &mut dyn Iterator<Item = Any>| -> f64 {
        causes.filter_map(|cause| summary.pointer(&format!("/breakdown_ns/{op}/{}", cause.name()))?.as_f64()).sum()
    };
    for op in ["read", "write"] {
        let inside = spent(op, &mut causes::all().filter(|cause| !cause.is_outside()));
        assert!(inside < number(&format!("/latency_ns/{op}/mean")) * number(&format!("/latency_ns/{op}/count")));
        let gc = spent(op, &mut causes::all().filter(|cause| cause.is_by_gc()));
        let share = format!("{:.1} % of the time that {op}s", 100.0 * gc / inside);
        assert!(words::verdict(&summary).contains(&share), "{share}: {}", words::verdict(&summary));
    }
    // Results of another run are found out by these causes, too.
    let mut other = summary.clone();
    let of = |cause: &str| number(&format!("/breakdown_ns/write/{cause}")) as u64;
    other["breakdown_ns"]["write"]["cache"] = json!(of("cache") - 1);
    other["breakdown_ns"]["write"]["cache_host"] = json!(of("cache_host") + 1);
    let path = directory.path().join("other.json");
    std::fs::write(&path, other.to_string()).unwrap();
    let said = Inputs::read(&[path, files[1].clone()], None).unwrap_err().to_string();
    assert!(said.contains("cache of writes in ns"), "{said}");
    assert!(page::write(&inputs, &lite()).unwrap().html.contains("arbitration (slots went to other queues)"));
}

#[test]
fn inputs_are_recognised_by_content_and_have_to_belong_together() {
    let directory = tempfile::tempdir().unwrap();
    let one = directory.path().join("one");
    let other = directory.path().join("other");
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&other).unwrap();
    let files = results(&one, &tiny(&[]), &workload("mixed-70-30", 500), 20_000_000);
    let others = results(&other, &tiny(&["schemes.victim=fifo"]), &workload("mixed-70-30", 400), 20_000_000);
    // Names say nothing.
    let renamed = directory.path().join("x.dat");
    std::fs::copy(&files[1], &renamed).unwrap();
    assert!(read(&[files[0].clone(), renamed]).run.histograms.is_some());
    let fails = |paths: &[PathBuf]| -> String {
        let error = Inputs::read(paths, None).unwrap_err();
        assert_eq!(error.class(), Class::Trace, "{error}");
        error.to_string()
    };
    let both = fails(&[files[0].clone(), others[0].clone()]);
    for path in [&files[0], &others[0]] {
        let summary: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(both.contains(summary["config_digest"].as_str().unwrap()), "{both}");
    }
    for wrong in &others[1..3] {
        assert!(fails(&[files[0].clone(), wrong.clone()]).contains("the summary says"));
    }
    let strange = directory.path().join("strange");
    for content in ["", "{\"schema\":\"other\"}", "a,b\n1,2\n", "{", "\u{1}\u{2}"] {
        std::fs::write(&strange, content).unwrap();
        fails(std::slice::from_ref(&strange));
    }
    std::fs::write(&strange, [0xff, 0xfe, 0x00]).unwrap();
    fails(std::slice::from_ref(&strange));
    // Every cut of a file of results is an error or a shorter file, never a panic.
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        for end in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            std::fs::write(&strange, &bytes[..end]).unwrap();
            let _ = Inputs::read(std::slice::from_ref(&strange), None);
        }
    }
    assert!(Inputs::read(&[directory.path().join("absent")], None).is_err_and(|e| e.class() == Class::File));
    let known = charts::make("percentils", &Inputs::default(), &Wanted::default()).unwrap_err().to_string();
    assert!(known.contains("did you mean `percentiles`?"), "{known}");
}

#[test]
fn an_explanation_and_a_what_if_belong_to_the_run_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let save = |name: &str, text: String| {
        std::fs::write(path(name), text).unwrap();
        path(name)
    };
    // A run, the same device with fewer requests, and another device.
    let mut all = Vec::new();
    for (name, sets, limit) in [("one", &[][..], 500), ("fewer", &[], 60), ("other", &["schemes.victim=fifo"], 500)] {
        std::fs::create_dir(path(name)).unwrap();
        let (sources, requests) = (tiny(sets), workload("mixed-70-30", limit));
        let files = results(&path(name), &sources, &requests, 20_000_000);
        let settings = Settings::load(&sources).unwrap();
        let wish = explain::Wish { at: "read.p99".parse().ok(), tries: explain::tries::Tries::None, jobs: None };
        let why =
            explain::explain(&settings, &requests, How::default(), &wish, &mut (), &mut |_| Box::new(())).unwrap();
        let rows = explain::explain_rows(&path(name).join("requests.csv"), wish.at).unwrap();
        let future =
            what_if(&settings, &requests, How::default(), &whatif::Question::default(), None, &mut ()).unwrap();
        let [why, rows, future] = [("why", why.json()), ("rows", rows.json()), ("future", future.json())]
            .map(|(kind, text)| save(&format!("{name}-{kind}"), text));
        all.push([files[0].clone(), files[1].clone(), why, rows, future]);
    }
    let [one, fewer, other] = &all[..] else { panic!() };
    for own in &all {
        let [summary, histograms, why, rows, future] = own.clone();
        read(&[summary.clone(), histograms.clone(), why.clone(), future.clone()]);
        read(&[histograms, rows.clone()]);
        read(&[summary, rows, future.clone()]);
        read(&[why, future]);
    }
    let digest = |path: &Path, field: &str| -> String {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        value[field].as_str().unwrap().into()
    };
    let fails = |paths: [&PathBuf; 2], says: &[&str]| {
        for paths in [paths, [paths[1], paths[0]]] {
            let error = Inputs::read(&paths.map(Clone::clone), None).unwrap_err();
            assert_eq!(error.class(), Class::Trace, "{error}");
            assert!(says.iter().all(|text| error.message.contains(text)), "{error}");
        }
    };
    let traces = [&one[0], &fewer[0]].map(|path| digest(path, "trace_digest"));
    let configs = [&one[0], &other[0]].map(|path| digest(path, "config_digest"));
    let named = |digests: &[String; 2], pairs: &[[&PathBuf; 2]]| {
        pairs.iter().for_each(|pair| fails(*pair, &[&digests[0], &digests[1], "of different runs"]));
    };
    named(&traces, &[[&one[0], &fewer[2]], [&one[2], &fewer[2]]]);
    named(&configs, &[[&one[0], &other[2]], [&one[0], &other[4]], [&one[2], &other[4]], [&one[4], &other[4]]]);
    // Rows have no digests, and a what-if has none of its requests: numbers tell.
    fails([&one[0], &fewer[3]], &["read requests", "the other results say"]);
    fails([&one[1], &fewer[3]], &["read requests", "the other results say"]);
    fails([&fewer[0], &one[4]], &["the summary says"]);
    fails([&one[0], &fewer[4]], &["the summary says"]);
}

/// Hostile text in all places that show text from outside.
#[test]
fn nothing_in_a_page_acts() {
    let directory = tempfile::tempdir().unwrap();
    let files = results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 300), 20_000_000);
    let long = "A".repeat(10_000);
    let invalid = String::from_utf8_lossy(b"\xff\xfe<b>\x00\x1b[31m").into_owned();
    let list = [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "{{7*7}}",
        "javascript:alert(1)",
        "]]>",
        "<!--",
        "\u{2028}",
        "\u{202e}gpj.exe",
        &long,
        &invalid,
    ];
    for text in list {
        let mut inputs = read(&files);
        inputs.names = vec![text.into()];
        inputs.run.about = vec![text.into()];
        let summary = inputs.run.summary.as_mut().unwrap();
        summary["config"]["schemes"]["victim"] = json!(text);
        summary["version"] = json!(text);
        inputs.compare = Some(
            json!({ "schema": "ssdlab.compare/1", "version": text, "cautions": [text], "seeds": { "first": 1, "count": 3 },
            "variants": [
                { "variant": 1, "set": { text: text }, "figures": { "read_mean_ns": { "mean": 1.0, "ratio": 1.0, "verdict": "same" } } },
                { "variant": 2, "set": { text: text }, "figures": { "read_mean_ns": { "mean": 2.0, "ratio": 2.0, "verdict": "higher",
                    "difference": { "mean": 1.0, "low": 0.5, "high": 1.5 } } } },
                { "variant": 3, "set": { text: text }, "refused": { "rule": text } } ] }),
        );
        inputs.reproduce = Some(
            json!({ "papers": [{ "letter": "x", "name": text, "about": { "paper": text, text: text },
            "items": [{ "id": text, "title": text, "rows": [{ "what": text, "paper": "2x", "ours": "3x", "kind": "exact", "verdict": text, "note": text }] }] }] }),
        );
        let page = Page { title: Some(text.into()), command: Some(text.into()), ..lite() };
        let html = page::write(&inputs, &page).unwrap().html;
        let lower = html.to_lowercase();
        assert_eq!(lower.matches("<script").count(), 1, "{text}");
        assert_eq!(lower.matches("</script").count(), 1, "{text}");
        for sign in [
            "<img",
            "onerror=alert(1)>",
            "<b>\u{0}",
            "<!--",
            "]]>",
            "\u{202e}",
            "\u{2028}",
            "\u{1b}",
            "href=\"javascript",
            " style=",
            " class=\"x onerror",
        ] {
            let shown = html.split("<script").next().unwrap();
            assert!(!shown.contains(sign), "{text}: {sign}");
        }
        assert!(!html.split("<script").next().unwrap().contains(&"A".repeat(300)));
        let data = html.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["schema"], "ssdlab.report/1");
    }
}

/// Runs with nothing, or next to nothing, in them.
#[test]
fn the_least_runs_have_pages() {
    let directory = tempfile::tempdir().unwrap();
    let pages = |name: &str, requests: &Requests, sources: &Sources| {
        let place = directory.path().join(name);
        std::fs::create_dir(&place).unwrap();
        let inputs = read(&results(&place, sources, requests, 1 << 50));
        for (figure, _, _, can) in charts::list(&inputs) {
            if can {
                let svg = draw(&charts::make(&figure, &inputs, &Wanted::default()).unwrap(), &Look::default());
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} {figure}");
            }
        }
        page::write(&inputs, &lite()).unwrap().html
    };
    let bare = tiny(&["precondition.mode=none"]);
    let one = pages("one", &workload("random-write", 1), &bare);
    assert!(one.contains("GC did not run"), "one request");
    let reads = pages("reads", &workload("random-read", 50), &bare);
    assert!(reads.contains("id=\"figure-percentiles\""));
    // All of it is warm-up: every percentile is null.
    let warm = pages("warm", &workload("random-write", 20), &tiny(&["run.warmup=20 requests"]));
    assert!(warm.contains("No reads or writes were measured."));
}

#[test]
fn pages_are_small_enough_or_say_what_is_missing() {
    let mut blocks = Table::new(&["plane", "block", "erases", "valid_pages", "written_pages", "state"]);
    for block in 0..100_000u64 {
        let row = [block / 1000, block % 1000, block % 7, 3, 64].map(Cell::from);
        blocks.rows.push(row.into_iter().chain([Cell::from("closed")]).collect());
    }
    let mut inputs = Inputs::default();
    inputs.run.blocks = Some(blocks);
    let whole = page::write(&inputs, &lite()).unwrap();
    assert!(whole.remarks.is_empty() && whole.html.len() < 1 << 20, "{}", whole.html.len());
    let most = whole.html.len() - 5_000;
    let page = Page { most_bytes: most as u64, ..lite() };
    let small = page::write(&inputs, &page).unwrap();
    assert!(small.html.len() <= most && !small.remarks.is_empty());
    assert!(small.remarks.iter().all(|remark| small.html.contains(remark.as_str())), "a page says what it lacks");
    let refused = |page: Page| page::write(&Inputs::default(), &page).map(|_| ()).unwrap_err().class();
    assert_eq!(refused(Page { most_bytes: 1 << 10, ..Page::default() }), Class::Usage);
    assert_eq!(refused(Page { sections: Some(vec!["latenzy".into()]), ..lite() }), Class::Usage);
}

/// A directory of summaries is the comparison that wrote it.
#[test]
fn a_directory_of_summaries_is_a_comparison() {
    let directory = tempfile::tempdir().unwrap();
    let axes = vec![Axis {
        key: "schemes.victim".into(),
        values: ["greedy", "fifo"].map(String::from).into(),
        policies: Default::default(),
    }];
    let planned = Planned::new(&tiny(&[]), axes, Seeds { first: 3, count: 3 }, 100).unwrap();
    let points = planned.points(&workload("mixed-70-30", 600));
    let plan = Plan { check: Check::Sampled, count_only: false, jobs: Some(1), memory_limit: None };
    let done = planned.run(&points, &plan, &()).unwrap();
    for row in &done.rows {
        for outcome in &row.outcomes {
            let value: Value = serde_json::from_str(&outcome.json()).unwrap();
            for metric in METRICS {
                let (read, own) = (summaries::measure(metric.key, &value), (metric.of)(&outcome.summary));
                // A mean that was written and read again may differ in its last digit.
                assert_eq!(read.is_some(), own.is_some(), "{}", metric.key);
                let near = read.zip(own).is_none_or(|(read, own)| (read - own).abs() <= own.abs() * 1e-14);
                assert!(near, "{}: {read:?} {own:?}", metric.key);
            }
        }
    }
    done.write_summaries(directory.path()).unwrap().into_iter().try_for_each(Finished::publish).unwrap();
    let inputs = read(&[directory.path().into()]);
    let (own, written): (_, Value) = (inputs.compare.unwrap(), serde_json::from_str(&done.json()).unwrap());
    for (own, written) in own["variants"].as_array().unwrap().iter().zip(written["variants"].as_array().unwrap()) {
        for field in ["variant", "config_digest", "trace_digests"] {
            assert_eq!(own[field], written[field]);
        }
        for metric in METRICS {
            let verdict = |value: &Value| value["figures"][metric.key]["verdict"].clone();
            assert_eq!(verdict(own), verdict(written), "{}", metric.key);
        }
    }
    assert_eq!(own["variants"][1]["set"], json!({ "schemes.victim": "fifo" }));
    // One summary alone is a run; other files are none.
    let fails = || Inputs::read(&[directory.path().into()], None).unwrap_err().to_string();
    std::fs::remove_file(directory.path().join("2-4.json")).unwrap();
    assert!(fails().contains("seeds 3, 5"), "{}", fails());
    std::fs::copy(directory.path().join("1-3.json"), directory.path().join("9-3.json")).unwrap();
    assert!(fails().contains("another file"), "{}", fails());
    for name in ["9-3", "1-4", "1-5", "2-3", "2-5"] {
        std::fs::remove_file(directory.path().join(format!("{name}.json"))).unwrap();
    }
    assert!(read(&[directory.path().into()]).run.summary.is_some());
    std::fs::write(directory.path().join("a.json"), "{}").unwrap();
    assert!(fails().contains("no result of ssdlab"), "{}", fails());
    std::fs::remove_file(directory.path().join("a.json")).unwrap();
    std::fs::remove_file(directory.path().join("1-3.json")).unwrap();
    assert!(fails().contains("no summary"), "{}", fails());
}

/// Windows that are merged have the numbers of one long window.
#[test]
fn merged_windows_are_those_of_longer_ones() {
    let place = |name: &str| {
        let directory = tempfile::tempdir().unwrap();
        let window = if name == "long" { 40_000_000 } else { 10_000_000 };
        let files = results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 2_000), window);
        (read(&files), directory)
    };
    let ((short, _a), (long, _b)) = (place("short"), place("long"));
    let table = |inputs: &Inputs, windows: usize| {
        let shown = Shown { windows, ..Shown::default() };
        charts::on_page("series", inputs, &shown).unwrap()
    };
    let rows = long.run.series.as_ref().unwrap().rows.len();
    let (merged, whole) = (table(&short, rows), table(&long, 2_000));
    assert_eq!(merged.notes.len(), 1);
    assert!(whole.notes.is_empty() && rows > 5);
    let values = |figure: &Figure, name: &str| Columns(&figure.table).numbers(name);
    for name in ["start_ns", "requests", "collections", "free_pages", "pending", "read_mean_ns", "write_mean_ns"] {
        // The state at the end of a window, and the last one, are those of the same time only where it has ended.
        let last = rows - 1;
        for (i, (a, b)) in values(&merged, name).iter().zip(values(&whole, name)).enumerate().take(last) {
            let near = (a - b).abs() <= 1.0 || (a.is_nan() && b.is_nan());
            assert!(near, "{name} of window {i}: {a} {b}");
        }
    }
    // Of percentiles the largest is taken.
    let raw = short.run.series.as_ref().unwrap();
    let all = Columns(raw).numbers("read_p99_ns");
    let every = raw.rows.len().div_ceil(rows);
    for (shown, own) in values(&merged, "read_p99_ns").iter().zip(all.chunks(every)) {
        let largest = own.iter().copied().fold(f64::NAN, f64::max);
        assert!(*shown == largest || shown.is_nan() && largest.is_nan(), "{shown} {own:?}");
    }
    for (merged, whole) in merged.panels.iter().zip(&whole.panels) {
        assert_eq!(merged.title, whole.title);
        for (a, b) in merged.series[0].points.iter().zip(&whole.series[0].points).take(rows - 1) {
            let near = (a[1] - b[1]).abs() <= (b[1].abs() * 1e-4).max(1.0) || (a[1].is_nan() && b[1].is_nan());
            assert!(near, "{}: {a:?} {b:?}", merged.title);
        }
    }
    // The last cell of a map of dies may be shorter than the others; shares stay what they are.
    let share = |inputs: &Inputs, cells: usize| {
        let shown = Shown { cells, ..Shown::default() };
        let figure = charts::on_page("heatmap-die", inputs, &shown).unwrap();
        let panel = &figure.panels[1];
        let (width, end) = (panel.series[0].width.unwrap(), panel.x.range.unwrap()[1]);
        panel.series[0].points.iter().map(|p| p[2] * width.min(end - p[0])).sum::<f64>()
    };
    let (coarse, fine) = (share(&short, 12), share(&short, 100_000));
    assert!((coarse - fine).abs() < fine * 1e-3, "{coarse} {fine}");
}

/// One window has no length of its own.
#[test]
fn a_series_of_one_window_is_that_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let files = results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 200), 3_600_000_000_000);
    let inputs = read(&files);
    assert_eq!(inputs.run.series.as_ref().unwrap().rows.len(), 1);
    assert!(figure("series", &inputs).caption.starts_with("1 window: "));
    let summary = inputs.run.summary.clone().unwrap();
    let number = |place: &str| summary.pointer(place).and_then(Value::as_f64).unwrap();
    let dies = figure("heatmap-die", &inputs);
    let busy: f64 = dies.panels.iter().flat_map(|panel| &panel.series[0].points).map(|point| point[2]).sum();
    let (own, expected) = (busy / 4.0, number("/utilisation/die"));
    assert!(own >= expected - 1e-6 && own < expected * 1.2, "{own} {expected}");
    assert!(page::write(&inputs, &lite()).unwrap().html.contains("data-figure=\"heatmap-die\""));
    // Without the summary, busy times are shares of the largest.
    let alone = figure("heatmap-die", &read(&files[5..]));
    assert!(alone.panels.iter().flat_map(|panel| &panel.series[0].points).all(|point| point[2] <= 1.0));
}

/// What is too long is thinned in a fixed order, and says so in the page and to the caller.
#[test]
fn pages_are_thinned_in_a_fixed_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut inputs = read(&results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 3_000), 1_000_000));
    let timeline = inputs.run.timeline.as_mut().unwrap();
    let one = timeline.bars[1].clone();
    timeline.rows.push("a plane that the request did not use".into());
    let row = timeline.rows.len() - 1;
    timeline.bars.extend((0..3_000).map(|i| Bar { row: if i % 2 == 0 { row } else { one.row }, ..one.clone() }));
    let whole = page::write(&inputs, &lite()).unwrap();
    assert!(whole.remarks.is_empty());
    let mut most = whole.html.len() as u64;
    let mut said: Vec<String> = Vec::new();
    loop {
        let Ok(page) = page::write(&inputs, &Page { most_bytes: most, ..lite() }) else { break };
        assert!(page.html.len() as u64 <= most);
        assert!(page.remarks.iter().all(|remark| page.html.contains(remark.as_str())));
        let words: Vec<String> = page.remarks.iter().map(|r| r.split(", to keep").next().unwrap().into()).collect();
        // A smaller page has lost what a larger one has, and more.
        assert!(words.starts_with(&said), "{said:?} {words:?}");
        for kept in ["verdict", "figure-percentiles", "method"] {
            assert!(page.html.contains(&format!("id=\"{kept}\"")), "{kept}");
        }
        (said, most) = (words, page.html.len() as u64 - 1);
    }
    let starts =
        ["the timeline shows only the", "the timeline shows only its", "the windows", "maps", "the timeline is"];
    let mut rest = said.iter();
    for start in starts {
        assert!(rest.any(|remark| remark.starts_with(&format!("report: {start}"))), "{start}: {said:?}");
    }
}

/// The page of a run is that of its files, byte by byte but for what only the run knows.
#[test]
fn the_page_of_a_run_is_that_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let requests = workload("mixed-70-30", 500);
    let path = directory.path().join("run.html");
    let write = || {
        let outputs = Outputs::default().with(PageFile { path: path.clone(), page: lite() });
        let mut done = run(&tiny(&[]), How::default()).open(&requests).unwrap().simulate(&outputs, &mut ()).unwrap();
        done.publish().unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let html = write();
    assert_eq!(html, write(), "same input, same bytes");
    let files = results(directory.path(), &tiny(&[]), &requests, 20_000_000);
    let inputs = read(&[files[0].clone(), files[1].clone(), files[4].clone()]);
    let figures = |html: &str| -> Result<Value> {
        let data = html.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
        Ok(serde_json::from_str::<Value>(data).unwrap()["figures"].clone())
    };
    assert_eq!(figures(&html).unwrap(), figures(&page::write(&inputs, &lite()).unwrap().html).unwrap());
    let here = directory.path().to_string_lossy().into_owned();
    assert!(!html.contains(&here), "a page says nothing of the machine");
}

/// An input of `golden/`, as this version writes it.
fn kept_input(text: &str) -> Value {
    serde_json::from_str(&text.replace("VERSION", env!("CARGO_PKG_VERSION"))).unwrap()
}

/// `golden/`: figures and pages of a tiny run, byte by byte.
#[test]
fn figures_and_pages_are_those_kept() {
    let directory = tempfile::tempdir().unwrap();
    let inputs = read(&results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 400), 50_000_000));
    let mut made: Vec<(String, String)> = Vec::new();
    for (name, _, _, can) in charts::list(&inputs) {
        if can {
            let figure = charts::make(&name, &inputs, &Wanted::default()).unwrap();
            made.push((format!("{name}.svg"), draw(&figure, &Look::default()) + "\n"));
        }
    }
    let sections = Some(["verdict", "causes", "method"].map(String::from).to_vec());
    made.push(("run.html".into(), page::write(&inputs, &Page { sections, ..lite() }).unwrap().html));
    let compare = Inputs { compare: Some(kept_input(include_str!("../golden/compare.json"))), ..Inputs::default() };
    made.push(("compare.svg".into(), draw(&figure("compare", &compare), &Look::default()) + "\n"));
    made.push(("compare.html".into(), page::write(&compare, &lite()).unwrap().html));
    let reproduce =
        Inputs { reproduce: Some(kept_input(include_str!("../golden/reproduce.json"))), ..Inputs::default() };
    made.push(("reproduce.html".into(), page::write(&reproduce, &lite()).unwrap().html));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, text) in made {
        // Goldens are of no version, and of no digest of one.
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let path = kept.join(&name);
        if std::env::var_os("SSDLAB_GOLDENS").is_some_and(|what| what == "write") {
            std::fs::write(&path, &text).unwrap();
        }
        let same = std::fs::read_to_string(&path).is_ok_and(|kept| kept == text);
        assert!(same, "{name} changed: SSDLAB_GOLDENS=write cargo test -p ssdlab-lab --test suite reports::");
    }
}

/// At the least size of text, a figure in a column of a paper has no text below six points and no line below half a point.
#[test]
fn figures_for_papers_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let inputs = read(&results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 400), 50_000_000));
    let kept = |text: &str| Some(serde_json::from_str(text).unwrap());
    let compare = Inputs { compare: kept(include_str!("../golden/compare.json")), ..Inputs::default() };
    let reproduce = Inputs { reproduce: kept(include_str!("../golden/reproduce.json")), ..Inputs::default() };
    let look = Look { width: 252.0, font_size: 6.0, unit: "pt", theme: Theme::Paper, ..Look::default() };
    let mut seen = [0, 0];
    for inputs in [inputs, compare, reproduce] {
        for (name, _, _, can) in charts::list(&inputs) {
            if !can {
                continue;
            }
            let svg = draw(&charts::make(&name, &inputs, &Wanted::default()).unwrap(), &look);
            for (i, (attribute, least)) in [("font-size=\"", 6.0), ("stroke-width=\"", 0.5)].into_iter().enumerate() {
                for rest in svg.split(attribute).skip(1) {
                    let value: f64 = rest.split('"').next().unwrap().parse().unwrap();
                    assert!(value >= least, "{name}: {attribute}{value}");
                    seen[i] += 1;
                }
            }
        }
    }
    // Text of the size of the whole drawing has no size of its own.
    assert!(seen[0] > 10 && seen[1] > 50, "{seen:?}");
}

/// The start of an element that carries values for the script: all that a page adds to a figure's SVG.
fn is_added(tag: &str) -> bool {
    let groups = ["panel", "series", "ticks", "legend", "entry"];
    groups.iter().any(|kind| tag.starts_with(&format!("<g data-{kind}='"))) || tag.starts_with("<clipPath ")
}

/// An SVG without what a page adds to it.
fn without_additions(svg: &str) -> String {
    let (mut out, mut open, mut cut) = (String::new(), Vec::new(), 0);
    for part in svg.split_inclusive('>') {
        let (text, tag) = part.split_at(part.find('<').unwrap_or(part.len()));
        out.push_str(text);
        let (ends, empty) = (tag.starts_with("</"), tag.ends_with("/>"));
        let added = if ends { open.pop().unwrap() } else { is_added(tag) };
        // The clip path has a rectangle.
        let inside = cut > 0;
        if tag.starts_with("<clipPath") {
            cut += 1;
        } else if tag.starts_with("</clipPath") {
            cut -= 1;
        }
        if !ends && !empty {
            open.push(added);
        }
        if !added && !inside {
            out.push_str(tag);
        }
    }
    assert!(open.is_empty());
    out
}

/// The attribute of a group, read as the script reads it.
fn carried(svg: &str, kind: &str) -> Vec<Value> {
    let begin = format!("<g data-{kind}='");
    svg.split(&begin)
        .skip(1)
        .map(|rest| {
            let text = rest.split('\'').next().unwrap();
            let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").replace("&amp;", "&");
            serde_json::from_str(&text).unwrap()
        })
        .collect()
}

/// What a page shows is what `plot` draws: the same SVG but for groups that carry values, and these are the figure's.
pub(crate) fn page_shows_what_is_drawn(inputs: &Inputs) -> Vec<String> {
    let page = Page::default();
    let html = page::write(inputs, &page).unwrap().html;
    let data = html.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let mut seen = Vec::new();
    let mut check = |figure: &Figure| {
        if figure.empty.is_some() {
            return;
        }
        let (own, plain) = (draw(figure, &page.look()), draw(figure, &Look { carrying: false, ..page.look() }));
        assert!(html.contains(&format!("data-figure=\"{}\"", figure.id)) && html.contains(&own), "{}", figure.id);
        assert_eq!(without_additions(&own), plain, "{}", figure.id);
        let series: Vec<_> = figure.panels.iter().flat_map(|panel| &panel.series).collect();
        let (panels, carried_series) = (carried(&own, "panel"), carried(&own, "series"));
        assert_eq!((panels.len(), carried_series.len()), (figure.panels.len(), series.len()), "{}", figure.id);
        let shown = data["figures"].as_array().unwrap().iter().find(|one| one["id"] == figure.id.as_str()).unwrap();
        for (own, series) in carried_series.iter().zip(series) {
            assert_eq!(own["mark"], serde_json::to_value(series.mark).unwrap());
            let number = |i: usize, place: usize| -> f64 {
                let value = if let (Some(rows), Some(columns)) = (own["rows"].as_array(), own["columns"].as_array()) {
                    let row = rows[0].as_u64().unwrap() as usize + i;
                    &shown["data"]["rows"][row][columns[place].as_u64().unwrap() as usize]
                } else {
                    &own["points"][place][i]
                };
                value.as_f64().unwrap_or(f64::NAN)
            };
            for (i, point) in series.points.iter().enumerate() {
                for (place, value) in point.iter().enumerate() {
                    let carried = number(i, place);
                    let near = (carried - value).abs() <= value.abs() * 1e-7;
                    assert!(
                        near || carried.is_nan() && !value.is_finite(),
                        "{} {}: {carried} {value}",
                        figure.id,
                        series.name
                    );
                }
            }
        }
        seen.push(figure.id.split(':').next().unwrap().to_string());
    };
    for (name, ..) in charts::list(inputs).into_iter().filter(|(name, _, _, can)| *can && name != "timeline-text") {
        match charts::on_page(&name, inputs, &Shown::default()) {
            // Studies have several of these, and papers their own.
            Some(figure) if !name.starts_with("sweep-") => check(&figure),
            _ => {}
        }
    }
    charts::of_study(inputs, &Shown::default()).iter().flatten().for_each(|(_, figure)| check(figure));
    charts::of_papers(inputs).iter().for_each(&mut check);
    seen
}

#[test]
fn a_page_shows_the_figures_that_plot_draws() {
    let directory = tempfile::tempdir().unwrap();
    let inputs = read(&results(directory.path(), &tiny(&[]), &workload("mixed-70-30", 2_000), 5_000_000));
    let seen = page_shows_what_is_drawn(&inputs);
    for name in
        ["percentiles", "cdf", "ccdf", "causes", "tail-causes", "series", "heatmap-die", "gantt", "wear", "valid", "gc"]
    {
        assert!(seen.iter().any(|one| one == name), "{name}: {seen:?}");
    }
    let compare = Inputs { compare: Some(kept_input(include_str!("../golden/compare.json"))), ..Inputs::default() };
    assert_eq!(page_shows_what_is_drawn(&compare), ["compare"]);
    let reproduce =
        Inputs { reproduce: Some(kept_input(include_str!("../golden/reproduce.json"))), ..Inputs::default() };
    assert!(page_shows_what_is_drawn(&reproduce).iter().all(|name| name == "reproduce"));
}

/// The page of the README's first run, and its script, are small.
#[test]
fn the_page_of_the_first_run_is_small() {
    let directory = tempfile::tempdir().unwrap();
    let sources = Sources { sets: vec!["precondition.mode=random".into()], ..Sources::default() };
    let path = directory.path().join("run.html");
    let outputs = Outputs::default().with(PageFile { path: path.clone(), page: Page::default() });
    let quickstart = Requests::new(Origin::Workload { name: "quickstart".into(), recordings: None });
    let mut done = run(&sources, How::default()).open(&quickstart).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(html.len() < 250_000, "{}", html.len());
    assert_eq!(html.matches("<script").count(), 2, "the data and one script");
    assert!(!html.to_lowercase().contains("echarts"));
    let script = include_str!("../../assets/page.js");
    assert!(html.contains(script) && script.lines().count() <= 300, "{}", script.lines().count());
    assert!(script.lines().all(|line| line.chars().count() <= 180), "it can be read");
    let script = script.replace("http://www.w3.org/2000/svg", "");
    for sign in [
        "innerHTML",
        "eval(",
        "new Function",
        "http",
        "document.write",
        "setAttribute(\"style",
        "</",
        "<!--",
        "import",
        "fetch",
    ] {
        assert!(!script.contains(sign), "{sign}");
    }
}
