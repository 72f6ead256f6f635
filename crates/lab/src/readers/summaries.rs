//! A directory of summaries, as `ssdlab compare --summaries` writes it, as a comparison.
//!
//! Runs of one configuration are a variant, and its seeds. The order is that of the numbers in the names of the files, so the first
//! variant is the first one of the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::files::entries;
use crate::readers::causes::{self, Any};
use crate::readers::json::flat;
use crate::readers::table::data;
use crate::variants::figures::{Figure, METRICS, Metric, base, column_of, judge_shown};

/// The value of a measure in a summary that was read; none if the run had nothing to count.
///
/// `name` is that of a [`Metric`], or the place of a number.
pub fn measure(name: &str, summary: &Value) -> Option<f64> {
    let number = |place: &str| summary.pointer(place).and_then(Value::as_f64);
    if name == "requests_per_s" {
        let requests: f64 = ["read", "write", "trim"].iter().filter_map(|op| number(&format!("/requests/{op}"))).sum();
        return number("/simulated_ns").filter(|ns| *ns > 0.0).map(|ns| requests * 1e9 / ns);
    }
    if let Some(op) = name.strip_suffix("_gc_ns") {
        let count = number(&format!("/latency_ns/{op}/count")).filter(|count| *count > 0.0)?;
        let of = |cause: Any| number(&format!("/breakdown_ns/{op}/{}", cause.name()));
        return Some(causes::all().filter(|cause| cause.is_by_gc()).filter_map(of).sum::<f64>() / count);
    }
    number(&format!("/{}", column_of(name).replace('.', "/")))
}

/// The summaries of a directory, in the order of their names: numbers by value.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = entries(directory)?;
    found.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    let key = |path: &PathBuf| -> Vec<(u64, String)> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stem.split('-').map(|part| (part.parse().unwrap_or(u64::MAX), part.to_string())).collect()
    };
    found.sort_by_key(key);
    if found.is_empty() {
        return Err(data(directory, "the directory has no summary: no file whose name ends in .json")
            .help("give the directory of `ssdlab compare --summaries`"));
    }
    Ok(found)
}

/// Runs of one configuration, by seed.
type Runs = BTreeMap<u64, Value>;

/// The runs of each configuration in a directory, by seed, in the order of its files.
fn variants(directory: &Path, read: &dyn Fn(&Path) -> Result<Value>) -> Result<Vec<(String, Runs)>> {
    let mut variants: Vec<(String, Runs)> = Vec::new();
    for path in files(directory)? {
        let summary = read(&path)?;
        let digest = summary["config_digest"].as_str().unwrap_or_default().to_string();
        let seed = summary["seed"].as_u64().ok_or_else(|| data(&path, "the summary has no seed"))?;
        let at = variants.iter().position(|(known, _)| *known == digest).unwrap_or_else(|| {
            variants.push((digest.clone(), Runs::new()));
            variants.len() - 1
        });
        if variants[at].1.insert(seed, summary).is_some() {
            let message = format!("another file has the run of config_digest {digest} with seed {seed} too");
            return Err(data(&path, message).help("a directory holds each run once"));
        }
    }
    Ok(variants)
}

/// Reads a directory as the value of `ssdlab.compare/1`. `read` reads one summary.
///
/// # Errors
/// The directory has no summary, a file in it is none, two are of one run, or variants were run with different seeds.
pub fn read(directory: &Path, read: &dyn Fn(&Path) -> Result<Value>) -> Result<Value> {
    let variants = variants(directory, read)?;
    let seeds: Vec<u64> = variants[0].1.keys().copied().collect();
    if let Some((digest, runs)) = variants.iter().find(|(_, runs)| !runs.keys().eq(&seeds)) {
        let list = |seeds: Vec<&u64>| seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (own, first) = (list(runs.keys().collect()), list(seeds.iter().collect()));
        let message = format!("config_digest {digest} was run with seeds {own}, the first configuration with {first}");
        return Err(data(directory, message).help("runs are compared seed by seed: give the same seeds of each"));
    }
    let first = |runs: &Runs| runs.values().next().cloned().unwrap_or_default();
    let configs: Vec<BTreeMap<String, String>> =
        variants.iter().map(|(_, runs)| flat(&first(runs)["config"]).into_iter().collect()).collect();
    let keys: BTreeSet<&String> = configs.iter().flat_map(BTreeMap::keys).collect();
    let varied: Vec<&String> =
        keys.into_iter().filter(|key| configs.iter().any(|config| config.get(*key) != configs[0].get(*key))).collect();
    let values = |runs: &Runs, key: &str| -> Option<Vec<f64>> { runs.values().map(|run| measure(key, run)).collect() };
    let trace = |runs: &Runs| runs.values().map(|run| run["trace_digest"].clone()).collect::<Vec<_>>();
    let figure = |number: usize, runs: &Runs, metric: &Metric| {
        let own = values(runs, metric.key)?;
        Some(if number == 0 { Figure::first(own) } else { Figure::new(own, &values(&variants[0].1, metric.key)?) })
    };
    let by_metric = |(number, (_, runs)): (usize, &(String, Runs))| {
        METRICS.iter().map(|metric| figure(number, runs, metric)).collect::<Vec<_>>()
    };
    let mut by_variant: Vec<Vec<Option<Figure>>> = variants.iter().enumerate().map(by_metric).collect();
    judge_shown(by_variant.iter_mut());
    let any = |m: usize| by_variant.iter().any(|figures| figures[m].is_some());
    let wears: Vec<bool> = (0..METRICS.len()).map(any).collect();
    let entry = |(number, (digest, runs)): (usize, &(String, Runs))| {
        let told = METRICS.iter().zip(&by_variant[number]).zip(&wears);
        let told = told.filter(|((metric, _), wears)| metric.is_told(**wears)).map(|(told, _)| told);
        let figures = told.map(|(metric, figure)| metric.entry(figure.as_ref(), seeds.len() > 1));
        let text = |key: &&String| configs[number].get(*key).cloned().unwrap_or_else(|| "none".into());
        let set: Map<String, Value> = varied.iter().map(|key| (key.to_string(), text(key).into())).collect();
        json!({
            "variant": number + 1,
            "set": set,
            "config_digest": digest,
            "trace_digests": trace(runs),
            "figures": figures.collect::<Map<String, Value>>(),
        })
    };
    let other: Vec<String> = variants
        .iter()
        .enumerate()
        .filter(|(_, (_, runs))| trace(runs) != trace(&variants[0].1))
        .map(|(number, _)| (number + 1).to_string())
        .collect();
    let cautions =
        (!other.is_empty()).then(|| format!("{}: the requests differ from those of variant 1", other.join(", ")));
    Ok(json!({
        "schema": "ssdlab.compare/1",
        "version": first(&variants[0].1)["version"],
        "workload": [],
        "base": base(&first(&variants[0].1)),
        "seeds": { "first": seeds[0], "count": seeds.len() },
        "cautions": Vec::from_iter(cautions),
        "variants": variants.iter().enumerate().map(entry).collect::<Vec<_>>(),
    }))
}
