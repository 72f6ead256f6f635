//! Results of disjoint requests (different volumes, or different seeds) added up. A part holds only what adds; percentiles, means and
//! write amplification are computed from it at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use ssdlab_sim::blame::{CAUSES, Cause, Extra};
use ssdlab_sim::report::histogram::Bucket;
use ssdlab_sim::report::mean;

use crate::error::{Error, Kind, Result};
use crate::names::clip;
use crate::report::histogram::{self, SUMMARY, percentile};
use crate::results::histograms::{Histograms, OPS};

/// The schema of parts.
pub const SCHEMA: &str = "ssdlab.merge/1";

/// What runs of disjoint requests have together. The default is a part without runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Keys of the runs.
    pub members: BTreeSet<String>,
    /// Counts and sums by their dotted paths in a summary.
    pub sums: BTreeMap<String, u128>,
    /// Least latency, and least wait, of reads and of writes; none without any.
    pub least: [[Option<u64>; 2]; 2],
    /// Latencies and waits by bucket.
    pub histograms: Histograms,
}

/// Sections of a summary whose whole numbers add.
const ADDED: [&str; 7] = ["requests", "pages", "bytes", "breakdown_ns", "flash", "requests_delayed_by_gc", "gc"];
/// The two measures of a histogram, as in summaries.
const MEASURES: [&str; 2] = ["latency_ns", "waiting_ns"];

fn add(path: &str, value: &Json, sums: &mut BTreeMap<String, u128>) {
    match value {
        Json::Number(number) => {
            // Sums beyond 64 bits are numbers too; means have a point.
            if let Ok(whole) = number.to_string().parse::<u128>() {
                *sums.entry(path.into()).or_default() += whole;
            }
        }
        Json::Object(entries) => {
            // Ratios are computed at the end; `all` is what reads and writes are together.
            let kept = entries.iter().filter(|(key, _)| !key.contains("_per_") && *key != "all");
            kept.for_each(|(key, value)| add(&format!("{path}.{key}"), value, sums));
        }
        _ => {}
    }
}

/// Both lists by bucket.
fn joined(one: &[Bucket], other: &[Bucket]) -> Vec<Bucket> {
    histogram::merged(&[one.to_vec(), other.to_vec()])
}

impl Part {
    /// The part of a run: its key, its summary and its buckets.
    pub fn of(key: &str, summary: &Json, histograms: Histograms) -> Part {
        let mut sums = BTreeMap::new();
        ADDED.iter().for_each(|section| add(section, &summary[*section], &mut sums));
        let least = MEASURES.map(|measure| OPS.map(|op| summary[measure][op]["min"].as_u64()));
        Part { members: [key.to_string()].into(), sums, least, histograms }
    }

    /// Both together.
    ///
    /// # Errors
    /// A run is in both.
    pub fn merge(mut self, other: &Part) -> Result<Part> {
        if let Some(twice) = self.members.intersection(&other.members).next() {
            return Err(Error::usage(format!("run {} is given twice", clip(twice)))
                .help("parts are of disjoint requests: give each run once"));
        }
        self.members.extend(other.members.iter().cloned());
        for (path, sum) in &other.sums {
            *self.sums.entry(path.clone()).or_default() += sum;
        }
        for (own, other) in self.least.iter_mut().flatten().zip(other.least.iter().flatten()) {
            *own = own.iter().chain(other).min().copied();
        }
        let (own, other) = (&mut self.histograms, &other.histograms);
        for op in 0..OPS.len() {
            own.latency[op] = joined(&own.latency[op], &other.latency[op]);
            own.waiting[op] = joined(&own.waiting[op], &other.waiting[op]);
        }
        Ok(self)
    }

    fn buckets(&self, measure: usize) -> &[Vec<Bucket>; 2] {
        if measure == 0 { &self.histograms.latency } else { &self.histograms.waiting }
    }

    /// Figures of reads, writes and both, computed from the buckets.
    fn figures(&self, measure: usize) -> Json {
        let by_op = self.buckets(measure);
        let all = joined(&by_op[0], &by_op[1]);
        let mut out = Map::new();
        let least = self.least[measure];
        let both = least.iter().flatten().min().copied();
        for (op, buckets, least) in [(OPS[0], &by_op[0], least[0]), (OPS[1], &by_op[1], least[1]), ("all", &all, both)]
        {
            let count = histogram::count(buckets);
            let sum: u128 = buckets.iter().map(|bucket| bucket.sum).sum();
            let mut figures = Map::new();
            figures.insert("count".into(), count.into());
            figures.insert("mean".into(), json!(mean(sum, count)));
            figures.insert("min".into(), json!(least));
            figures.insert("max".into(), json!(buckets.last().map(|bucket| bucket.largest)));
            for (name, quantile) in SUMMARY {
                figures.insert(name.into(), json!(percentile(buckets, quantile)));
            }
            out.insert(op.into(), Json::Object(figures));
        }
        Json::Object(out)
    }

    /// The part as the bytes of its file. Equal parts give equal bytes.
    pub fn json(&self) -> String {
        let sum = |path: &str| self.sums.get(path).copied().unwrap_or(0);
        let written = u64::try_from(sum("pages.written")).unwrap_or(u64::MAX);
        let programs = sum("flash.programs.total") + sum("flash.copybacks");
        let sums: Map<String, Json> =
            self.sums.iter().map(|(path, sum)| (path.clone(), Json::String(sum.to_string()))).collect();
        let mut buckets = Map::new();
        for (measure, name) in MEASURES.iter().enumerate() {
            for (op, rows) in OPS.iter().zip(self.buckets(measure)) {
                let row = |bucket: &Bucket| {
                    let causes = bucket.causes.iter().chain(&bucket.extras);
                    let causes: Vec<String> = causes.map(u128::to_string).collect();
                    json!([bucket.lower, bucket.upper, bucket.count, bucket.sum.to_string(), bucket.largest, causes])
                };
                let rows: Vec<Json> = rows.iter().map(row).collect();
                buckets.insert(format!("{name}.{op}"), json!(rows));
            }
        }
        crate::outcome::json(&json!({
            "schema": SCHEMA,
            "members": self.members,
            "latency_ns": self.figures(0),
            "waiting_ns": self.figures(1),
            "write_amplification": mean(programs, written),
            "sums": sums,
            "least_ns": self.least,
            "causes": causes(),
            "buckets": buckets,
        }))
    }

    /// Reads a part back.
    ///
    /// # Errors
    /// The text is not a part of this version.
    pub fn parse(path: &Path, text: &str) -> Result<Part> {
        let wrong = || {
            Error::new(Kind::Data { path: path.into() }, format!("{}: not a part of {SCHEMA}", path.display()))
                .help("give records of a sweep that kept histograms, or files of `ssdlab merge`")
        };
        let value: Json = serde_json::from_str(text).map_err(|_| wrong())?;
        let read = || -> Option<Part> {
            let known: Vec<&str> = value["causes"].as_array()?.iter().filter_map(Json::as_str).collect();
            if value["schema"] != SCHEMA || known != causes() {
                return None;
            }
            let wide = |value: &Json| value.as_str()?.parse::<u128>().ok();
            let mut part = Part {
                members: value["members"]
                    .as_array()?
                    .iter()
                    .map(|key| Some(key.as_str()?.into()))
                    .collect::<Option<_>>()?,
                sums: value["sums"]
                    .as_object()?
                    .iter()
                    .map(|(path, sum)| Some((path.clone(), wide(sum)?)))
                    .collect::<Option<_>>()?,
                least: serde_json::from_value(value["least_ns"].clone()).ok()?,
                histograms: Histograms::default(),
            };
            for (measure, name) in MEASURES.iter().enumerate() {
                for (place, op) in OPS.iter().enumerate() {
                    let row = |row: &Json| {
                        let all = row[5].as_array()?.iter().map(wide).collect::<Option<Vec<u128>>>()?;
                        let (causes, extras) = all.split_at_checked(Cause::COUNT)?;
                        let (causes, extras) = (causes.try_into().ok()?, extras.try_into().ok()?);
                        let (lower, upper, count) = (row[0].as_u64()?, row[1].as_u64()?, row[2].as_u64()?);
                        let (sum, largest) = (wide(&row[3])?, row[4].as_u64()?);
                        Some(Bucket { lower, upper, count, sum, largest, causes, extras })
                    };
                    let rows = value["buckets"][format!("{name}.{op}")].as_array()?;
                    let rows = rows.iter().map(row).collect::<Option<Vec<Bucket>>>()?;
                    match measure {
                        0 => part.histograms.latency[place] = rows,
                        _ => part.histograms.waiting[place] = rows,
                    }
                }
            }
            Some(part)
        };
        read().ok_or_else(wrong)
    }

    /// Reads a file: a part, or the record of a sweep that kept histograms (`KEY.json` beside `KEY.d`).
    ///
    /// # Errors
    /// It can't be read, or is neither.
    pub fn load(path: &Path) -> Result<Part> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
        let value: Json = serde_json::from_str(&text).unwrap_or_default();
        if value["schema"] != crate::sweep::store::RUN {
            return Part::parse(path, &text);
        }
        let folder = path.with_extension("d");
        let found = ["parquet", "csv"].map(|ending| folder.join(format!("histograms.{ending}")));
        let (Some(file), Some(key)) = (found.iter().find(|file| file.exists()), value["key"].as_str()) else {
            let kind = Kind::Data { path: path.into() };
            return Err(Error::new(kind, format!("{}: the run has no histograms", path.display()))
                .help("run the sweep with --keep histograms: runs that lack them are made again"));
        };
        let parquet = file.extension().is_some_and(|ending| ending == "parquet");
        Ok(Part::of(key, &value["summary"], histogram::read(file, parquet)?))
    }
}

/// The names of all causes, in the order of a bucket's sums.
fn causes() -> Vec<&'static str> {
    CAUSES.iter().map(|(_, name)| *name).chain(Extra::ALL.iter().map(|extra| extra.name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_sim::blame::Blame;
    use ssdlab_sim::report::histogram::Histogram;

    /// The part of some requests: reads by latency, of which a share was waiting.
    fn part(key: &str, latencies: &[u64]) -> Part {
        let mut histograms = [Histogram::default(), Histogram::default()];
        for latency in latencies {
            let mut blame = Blame::ZERO;
            blame.add(Cause::Array, latency - latency / 3);
            blame.add(Cause::DieHost, latency / 3);
            histograms[(latency % 2) as usize].record(&blame, *latency, latency / 3);
        }
        let of = |op: u64, share: u64| latencies.iter().filter(|ns| **ns % 2 == op).map(|ns| ns / share).min();
        let min = |share: u64| json!({ "read": { "min": of(0, share) }, "write": { "min": of(1, share) } });
        // Waits are a third, rounded down, as above.
        let summary = json!({
            "requests": { "read": latencies.len() },
            "latency_ns": min(1),
            "waiting_ns": min(3),
            "gc": { "moved_per_collection": 5, "collections": 1 },
        });
        let mut part = Part::of(key, &summary, Histograms::of([&histograms[0], &histograms[1]]));
        part.sums.insert("gc.collections".into(), 0);
        part
    }

    #[test]
    fn the_contract_s_example() {
        let merged = part("a", &[55_120, 55_120, 110_240]).merge(&part("b", &[605_120])).unwrap();
        let value: Json = serde_json::from_str(&merged.json()).unwrap();
        let reads = &value["latency_ns"]["read"];
        let expected = json!({
            "count": 4, "mean": 206_400.0, "min": 55_120, "max": 605_120,
            "p50": 55_135, "p90": 605_120, "p95": 605_120, "p99": 605_120, "p99_9": 605_120, "p99_99": 605_120,
        });
        assert_eq!(*reads, expected);
        let edges: Vec<(u64, u64)> = merged.histograms.latency[0].iter().map(|b| (b.lower, b.upper)).collect();
        assert_eq!(edges, [(55_104, 55_135), (110_208, 110_271), (604_672, 605_183)]);
        let quantile = histogram::Quantile::new(3, 4);
        assert_eq!(percentile(&merged.histograms.latency[0], quantile), Some(110_271));
        assert!(!merged.sums.contains_key("gc.moved_per_collection"), "a ratio does not add");
        assert!(part("a", &[2]).merge(&part("a", &[4])).is_err(), "a run twice");
    }

    proptest::proptest! {
        #[test]
        fn parts_merge_by_law(
            a in proptest::collection::vec(1u64..1 << 40, 0..60),
            b in proptest::collection::vec(1u64..1 << 40, 0..60),
            c in proptest::collection::vec(1u64..1 << 40, 0..60),
        ) {
            let (x, y, z) = (part("x", &a), part("y", &b), part("z", &c));
            let both = x.clone().merge(&y).unwrap();
            proptest::prop_assert_eq!(&x.clone().merge(&Part::default()).unwrap(), &x);
            proptest::prop_assert_eq!(&Part::default().merge(&x).unwrap(), &x);
            proptest::prop_assert_eq!(&y.clone().merge(&x).unwrap(), &both);
            let left = both.clone().merge(&z).unwrap();
            proptest::prop_assert_eq!(&x.clone().merge(&y.clone().merge(&z).unwrap()).unwrap(), &left);
            // Merged parts are the part of all requests.
            let all: Vec<u64> = a.iter().chain(&b).chain(&c).copied().collect();
            let direct = Part { members: left.members.clone(), ..part("all", &all) };
            proptest::prop_assert_eq!(&direct, &left);
            proptest::prop_assert_eq!(direct.json(), left.json());
            proptest::prop_assert_eq!(&Part::parse(Path::new("part"), &left.json()).unwrap(), &left);
        }
    }
}
