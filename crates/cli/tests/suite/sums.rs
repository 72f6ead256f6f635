//! What a run writes in parts sums to its summary, on random small devices: windows, dies, buckets, and merged runs. Sums are computed
//! here from the files, so they are independent of the code that adds.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;
use ssdlab_figures::figure::{Cell, Table};
use ssdlab_report::inputs::Inputs;
use ssdlab_sim::units::Bytes;
use ssdlab_sweep::merge::slowest::Slowest;
use ssdlab_sweep::merge::{Member, Part};

use crate::worlds::{Bench, each};

/// Nanoseconds of a window.
const WINDOW: u64 = 900_000;

/// The results of a run.
struct Results {
    summary: Value,
    windows: Table,
    dies: Table,
    requests: Table,
    histograms: ssdlab_lab::results::histograms::Histograms,
}

/// The numbers of a column.
fn column(table: &Table, name: &str) -> Vec<u64> {
    let at = table.columns.iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}"));
    let number = |row: &Vec<Cell>| match row[at] {
        Cell::Whole(number) => u64::try_from(number).unwrap(),
        _ => panic!("{name} is no number: {row:?}"),
    };
    table.rows.iter().map(number).collect()
}

fn sum(table: &Table, name: &str) -> u64 {
    column(table, name).iter().sum()
}

impl Results {
    /// Those of a world with some options; none if it is refused.
    fn of(bench: &Bench, more: &str) -> Option<Results> {
        let files = format!(
            "--requests ./r.csv --series ./s.csv --series-dies --window {WINDOW}ns --histograms ./h.csv {more}"
        );
        let text = bench.run(&files).ok()?;
        std::fs::write(bench.file("summary.json"), &text).unwrap();
        let summary = serde_json::from_str(&text).unwrap();
        let table = |name: &str| ssdlab_lab::readers::table::whole(&bench.file(name), false).unwrap();
        let histograms = ssdlab_lab::readers::histogram::read(&bench.file("h.csv"), false).unwrap();
        Some(Results {
            summary,
            windows: table("s.csv"),
            dies: table("s.dies.csv"),
            requests: table("r.csv"),
            histograms,
        })
    }

    /// A count of the summary; 0 if it is absent.
    fn count(&self, path: &str) -> u64 {
        self.summary.pointer(path).and_then(Value::as_u64).unwrap_or(0)
    }

    /// Latencies by kind, from the rows of requests.
    fn latencies(&self, kind: &str) -> Vec<u64> {
        let at = self.requests.columns.iter().position(|column| column == "op").unwrap();
        let is = |row: &Vec<Cell>| matches!(&row[at], Cell::Text(op) if op == kind);
        let all = column(&self.requests, "latency_ns");
        self.requests.rows.iter().zip(all).filter(|(row, _)| is(row)).map(|(_, ns)| ns).collect()
    }

    /// Units of exclusion: each has rows of its own.
    fn units(&self) -> u64 {
        column(&self.dies, "die").into_iter().collect::<BTreeSet<u64>>().len() as u64
    }

    fn part(&self, key: &str) -> Part {
        let measures = &["write_amplification".to_string()];
        let (summary, histograms) = (&self.summary, self.histograms.clone());
        Part::of(Member { key, volume: key, summary, histograms, slowest: Slowest::unknown(), measures })
    }
}

/// Windows of the series against the summary.
fn windows_sum(of: &Results) -> Result<(), TestCaseError> {
    for (column, path) in [
        ("reads", "/latency_ns/read/count"),
        ("writes", "/latency_ns/write/count"),
        ("flash_reads_host", "/flash/reads/host"),
        ("flash_reads_gc", "/flash/reads/gc"),
        ("flash_programs_host", "/flash/programs/host"),
        ("flash_programs_gc", "/flash/programs/gc"),
        ("flash_copybacks", "/flash/copybacks"),
        ("flash_erases", "/flash/erases"),
        ("collections", "/gc/collections"),
    ] {
        prop_assert_eq!(sum(&of.windows, column), of.count(path), "{}", column);
    }
    for (cause, ns) in of.summary["breakdown_ns"]["all"].as_object().unwrap() {
        prop_assert_eq!(Some(sum(&of.windows, cause)), ns.as_u64(), "{}", cause);
    }
    Ok(())
}

/// Rows of dies against the summary: a multi-plane operation counts once a plane, a suspended one once, a copyback as a read and a
/// program.
fn dies_sum(of: &Results) -> Result<(), TestCaseError> {
    let copybacks = of.count("/flash/copybacks");
    let programs = of.count("/flash/programs/total") - of.count("/flash/programs/wasted");
    prop_assert_eq!(sum(&of.dies, "reads"), of.count("/flash/reads/total") + copybacks, "reads");
    // Blocks that preloaded pages fill have their metadata in no time, as those pages are placed: no die works for them.
    let timeless = if of.count("/pages/preloaded") > 0 { of.count("/flash/programs/metadata") } else { 0 };
    let worked = sum(&of.dies, "programs");
    let all = programs + copybacks;
    prop_assert!((all - timeless..=all).contains(&worked), "programs: {} of {}", worked, all);
    prop_assert_eq!(sum(&of.dies, "erases"), of.count("/flash/erases"), "erases");
    // No die is held for longer than a window lasts. Work after the last completion is no part of the utilisation.
    let held = ["host_ns", "gc_ns", "writeback_ns"].map(|name| column(&of.dies, name));
    for row in 0..of.dies.rows.len() {
        let all: u64 = held.iter().map(|times| times[row]).sum();
        prop_assert!(all <= WINDOW, "row {}: {} ns", row, all);
    }
    let all: u64 = held.iter().flatten().sum();
    let used =
        of.summary["utilisation"]["die"].as_f64().unwrap_or(0.0) * (of.units() * of.count("/simulated_ns")) as f64;
    prop_assert!(all as f64 >= used - 1.0, "{} ns held, {} ns used", all, used);
    Ok(())
}

/// Two runs that are added up, against both summaries and all of their requests.
fn merged_sums(one: &Results, other: &Results) -> Result<(), TestCaseError> {
    let merged = one.part("one").merge(&other.part("other")).unwrap();
    let both = [one, other];
    let total = |path: &str| both.iter().map(|of| of.count(path)).sum::<u64>();
    for (path, at) in [
        ("flash.reads.total", "/flash/reads/total"),
        ("flash.programs.total", "/flash/programs/total"),
        ("flash.copybacks", "/flash/copybacks"),
        ("flash.erases", "/flash/erases"),
        ("gc.moved_pages", "/gc/moved_pages"),
        ("pages.written", "/pages/written"),
        ("requests.write", "/requests/write"),
    ] {
        prop_assert_eq!(merged.sums.get(path).copied().unwrap_or(0), u128::from(total(at)), "{}", path);
    }
    let (programs, written) = (total("/flash/programs/total") + total("/flash/copybacks"), total("/pages/written"));
    let expected = (written > 0).then(|| programs as f64 / written as f64);
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        (a, b) => a == b,
    };
    prop_assert!(near(merged.write_amplification(), expected), "{:?} {:?}", merged.write_amplification(), expected);
    // Devices have pages of different sizes.
    let page =
        |of: &Results| of.summary["config"]["geometry"]["page_size"].as_str().unwrap().parse::<Bytes>().unwrap().0;
    let pages = |of: &&Results| (of.count("/flash/programs/total") + of.count("/flash/copybacks")) * page(of);
    let (programmed, sent) = (both.iter().map(pages).sum::<u64>(), total("/bytes/written"));
    let expected = (sent > 0).then(|| programmed as f64 / sent as f64);
    let ours = merged.write_amplification_bytes();
    prop_assert!(near(ours, expected), "in bytes: {:?} {:?}", ours, expected);
    let (alone, told) =
        (one.part("one").write_amplification_bytes(), one.summary["write_amplification_bytes"].as_f64());
    prop_assert!(near(alone, told), "in bytes: {:?} {:?}", alone, told);
    for (name, units) in
        [("die", both.map(Results::units)), ("channel", both.map(|of| of.count("/config/geometry/channels")))]
    {
        let whole = [0, 1].map(|i| units[i] as f64 * both[i].count("/simulated_ns") as f64);
        let used = [0, 1].map(|i| whole[i] * both[i].summary["utilisation"][name].as_f64().unwrap_or(0.0));
        let expected = (whole[0] + whole[1] > 0.0).then(|| (used[0] + used[1]) / (whole[0] + whole[1]));
        let ours = merged.utilisation().get(name).copied();
        let apart = ours.zip(expected).map(|(a, b)| (a - b).abs());
        prop_assert!(
            ours.is_some() == expected.is_some() && apart.is_none_or(|apart| apart < 1e-6),
            "{} {:?} {:?}",
            name,
            ours,
            expected
        );
    }
    for (name, at) in [("simulated_ns", "/simulated_ns"), ("wear.erases_max", "/wear/erases_max")] {
        let [a, b] = both.map(|of| of.count(at));
        prop_assert_eq!(merged.extremes[name], (a.min(b), a.max(b)), "{}", name);
    }
    prop_assert_eq!(merged.steadiness.values().sum::<u64>(), 2);
    for kind in ["read", "write"] {
        let waits = |of: &&Results| {
            let of = &of.summary["waiting_ns"][kind];
            of["mean"].as_f64().unwrap_or(0.0) * of["count"].as_f64().unwrap_or(0.0)
        };
        let (waited, count) =
            (both.iter().map(waits).sum::<f64>(), merged.figures(1)[kind]["count"].as_u64().unwrap_or(0));
        let mean = (count > 0).then(|| waited / count as f64);
        prop_assert!(near(merged.figures(1)[kind]["mean"].as_f64(), mean), "{} {:?}", merged.figures(1)[kind], mean);
        let mut all: Vec<u64> = both.iter().flat_map(|of| of.latencies(kind)).collect();
        all.sort_unstable();
        let figures = &merged.figures(0)[kind];
        prop_assert_eq!(figures["count"].as_u64(), Some(all.len() as u64));
        prop_assert_eq!(figures["min"].as_u64(), all.first().copied());
        prop_assert_eq!(figures["max"].as_u64(), all.last().copied());
        let mean = (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64 / all.len() as f64);
        prop_assert!(near(figures["mean"].as_f64(), mean), "{} {:?}", figures, mean);
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            let exact = (!all.is_empty()).then(|| all[(share * all.len() as f64).ceil() as usize - 1]);
            let ours = figures[name].as_u64();
            // The upper edge of a bucket of three digits.
            let fits = |(ours, exact): (u64, u64)| (exact..=exact + exact / 512).contains(&ours);
            prop_assert!(
                ours.is_some() == exact.is_some() && ours.zip(exact).is_none_or(fits),
                "{} {:?} {:?}",
                name,
                ours,
                exact
            );
        }
    }
    Ok(())
}

#[test]
fn windows_dies_and_merged_runs_sum_to_the_summaries() {
    let before: RefCell<Option<Results>> = RefCell::new(None);
    each(300, |bench| {
        let Some(results) = Results::of(bench, "--check off") else { return Ok(false) };
        fit_together(bench)?;
        // Windows and dies show the warm-up too, and collections that take no time hold no die.
        let config = &results.summary["config"];
        if config["run"]["warmup"].is_null() {
            windows_sum(&results)?;
            if config["gc"]["time"] == "real" {
                dies_sum(&results)?;
            }
            if let Some(before) = &*before.borrow() {
                merged_sums(before, &results)?;
            }
            before.replace(Some(results));
        }
        // A power cut stops operations that are counted.
        let at = results_end(bench) / 3;
        if let Some(cut) = Results::of(bench, &format!("--check full --set faults.power_cut=[\"{at}ns\"]")) {
            prop_assert_eq!(cut.summary["power_cuts"].as_array().map(Vec::len), Some(1));
            fit_together(bench)?;
        }
        Ok(true)
    });
}

/// The simulated time of the last run.
fn results_end(bench: &Bench) -> u64 {
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(bench.file("summary.json")).unwrap()).unwrap();
    summary["simulated_ns"].as_u64().unwrap()
}

/// A report takes the files of a run for what they are.
fn fit_together(bench: &Bench) -> Result<(), TestCaseError> {
    let files = ["summary.json", "s.csv", "s.dies.csv", "r.csv"].map(|name| bench.file(name));
    let read = Inputs::read(&files, None);
    prop_assert!(read.is_ok(), "{}", read.err().map(|error| error.to_string()).unwrap_or_default());
    Ok(())
}
