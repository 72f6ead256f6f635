//! Results of disjoint requests (different volumes, or different seeds) added up. A part holds only what adds; percentiles, means and
//! write amplification are computed from it at the end.

pub mod slowest;
pub mod spread;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::report::histogram::Bucket;
use ssdlab_sim::report::mean;
use ssdlab_sim::units::Bytes;
use ssdlab_trace::CLOCK_MAX_NS;

use crate::status::measure;
use crate::store::{self, Checked};
use slowest::{Slowest, causes};
use spread::{MOST, Spread};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::clip;
use ssdlab_lab::readers::histogram::{self, MOST_COUNT, SUMMARY, percentile};
use ssdlab_lab::readers::json::shown;
use ssdlab_lab::readers::sound;
use ssdlab_lab::readers::table::data;
use ssdlab_lab::results::histograms::{Histograms, OPS};
use ssdlab_lab::results::requests::SLOWEST;

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
    /// By resource: for how long its instances were in use together, and for how long they could have been, in nanoseconds.
    pub used_ns: BTreeMap<String, (u128, u128)>,
    /// Least and greatest of what runs have one of.
    pub extremes: BTreeMap<String, (u64, u64)>,
    /// Measures that are looked at volume by volume.
    pub spreads: BTreeMap<String, Spread>,
    /// The slowest requests.
    pub slowest: Slowest,
    /// Runs by whether their write amplification was steady.
    pub steadiness: BTreeMap<String, u64>,
    /// Bytes of flash programmed, copybacks included; unknown if one of the runs does not tell. Pages differ from device to device, so
    /// they do not follow from the sums.
    pub programmed: Programmed,
}

/// Bytes of flash programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programmed {
    /// So many.
    Bytes(u128),
    /// A part of a version before 0.1.3, or a summary without a size of pages.
    Unknown,
}

impl Default for Programmed {
    /// No run programs nothing.
    fn default() -> Programmed {
        Programmed::Bytes(0)
    }
}

impl Programmed {
    fn of(summary: &Json) -> Programmed {
        let count = |path: &str| summary.pointer(path).and_then(Json::as_u64).map(u128::from);
        let bytes = || {
            let pages = count("/flash/programs/total")? + count("/flash/copybacks")?;
            let page = shown(summary.pointer("/config/geometry/page_size")?).parse::<Bytes>().ok()?;
            Some(pages * u128::from(page.0))
        };
        bytes().map_or(Programmed::Unknown, Programmed::Bytes)
    }

    fn plus(self, other: Programmed) -> Programmed {
        match (self, other) {
            (Programmed::Bytes(one), Programmed::Bytes(other)) => Programmed::Bytes(one + other),
            _ => Programmed::Unknown,
        }
    }

    fn json(self) -> Json {
        match self {
            Programmed::Bytes(bytes) => Json::String(bytes.to_string()),
            Programmed::Unknown => Json::Null,
        }
    }
}

/// A run that is added up.
pub struct Member<'m> {
    /// The key of the run.
    pub key: &'m str,
    /// The volume that its requests come from.
    pub volume: &'m str,
    /// Its summary.
    pub summary: &'m Json,
    /// Its latencies and waits by bucket.
    pub histograms: Histograms,
    /// Its slowest requests.
    pub slowest: Slowest,
    /// Measures to look at volume by volume.
    pub measures: &'m [String],
}

/// Measures that `ssdlab merge` looks at volume by volume.
const VOLUMES: [&str; 4] =
    ["latency_ns.read.p99", "latency_ns.write.p99", "write_amplification", "write_amplification_bytes"];
/// What runs have one of.
const EXTREMES: [&str; 3] = ["simulated_ns", "wear.erases_min", "wear.erases_max"];

/// Sections of a summary whose whole numbers add.
const ADDED: [&str; 7] = ["requests", "pages", "bytes", "breakdown_ns", "flash", "requests_delayed_by_gc", "gc"];
/// Units of the map in flash programs beyond one a flash page.
const FURTHER_UNITS: &str = "units.further";
/// Most of a sum in a part: as many requests as there may be, each as long as the clock. Thousands of such parts still add up.
const MOST_SUM: u128 = (MOST_COUNT as u128) << 61;
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

fn joined(one: &[Bucket], other: &[Bucket]) -> Vec<Bucket> {
    histogram::merged(&[one.to_vec(), other.to_vec()])
}

impl Part {
    /// The part of a run.
    pub fn of(member: Member<'_>) -> Part {
        let summary = member.summary;
        let mut sums = BTreeMap::new();
        ADDED.iter().for_each(|section| add(section, &summary[*section], &mut sums));
        // Where a flash page has several units of the map, pages of the host are units.
        if let Some(per_page) = summary["units"]["per_page"].as_u64() {
            let programmed = ["programs.total", "copybacks"].map(|name| sums.get(&format!("flash.{name}")).copied());
            let pages: u128 = programmed.into_iter().flatten().sum();
            sums.insert(FURTHER_UNITS.into(), pages * u128::from(per_page.saturating_sub(1)));
        }
        let least = MEASURES.map(|measure| OPS.map(|op| summary[measure][op]["min"].as_u64()));
        let whole = |path: &str| path.split('.').try_fold(summary, |value, part| value.get(part))?.as_u64();
        let extremes = EXTREMES.iter().filter_map(|path| Some((path.to_string(), (whole(path)?, whole(path)?))));
        let spread = |path: &String| Some((path.clone(), Spread::of(member.volume, measure(summary, path)?)));
        let steady = match summary["write_amplification_halves"]["steady"].as_bool() {
            Some(true) => "steady",
            Some(false) => "changing",
            None => "unknown",
        };
        Part {
            members: [member.key.to_string()].into(),
            sums,
            least,
            used_ns: used(summary),
            extremes: extremes.collect(),
            spreads: member.measures.iter().filter_map(spread).collect(),
            steadiness: [(steady.into(), 1)].into(),
            programmed: Programmed::of(summary),
            histograms: member.histograms,
            slowest: member.slowest,
        }
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
        let (own, theirs) = (&mut self.histograms, &other.histograms);
        for op in 0..OPS.len() {
            own.latency[op] = joined(&own.latency[op], &theirs.latency[op]);
            own.waiting[op] = joined(&own.waiting[op], &theirs.waiting[op]);
        }
        for (name, (used, whole)) in &other.used_ns {
            let own = self.used_ns.entry(name.clone()).or_default();
            *own = (own.0 + used, own.1 + whole);
        }
        for (name, (least, greatest)) in &other.extremes {
            let own = self.extremes.entry(name.clone()).or_insert((*least, *greatest));
            *own = (own.0.min(*least), own.1.max(*greatest));
        }
        for (name, spread) in &other.spreads {
            self.spreads.entry(name.clone()).or_default().merge(spread, MOST);
        }
        self.slowest.merge(&other.slowest);
        for (kind, runs) in &other.steadiness {
            *self.steadiness.entry(kind.clone()).or_default() += runs;
        }
        self.programmed = self.programmed.plus(other.programmed);
        Ok(self)
    }

    /// Logical pages programmed per one that the host wrote; none if it wrote none.
    pub fn write_amplification(&self) -> Option<f64> {
        let sum = |path: &str| self.sums.get(path).copied().unwrap_or(0);
        let written = u64::try_from(sum("pages.written")).unwrap_or(u64::MAX);
        mean(sum("flash.programs.total") + sum("flash.copybacks") + sum(FURTHER_UNITS), written)
    }

    /// Bytes of flash programmed per byte that the host sent; none if none was, or if some run does not tell.
    pub fn write_amplification_bytes(&self) -> Option<f64> {
        let Programmed::Bytes(programmed) = self.programmed else { return None };
        let written = self.sums.get("bytes.written").copied().unwrap_or(0);
        mean(programmed, u64::try_from(written).unwrap_or(u64::MAX))
    }

    /// Share of the time in which a resource was used, by resource.
    pub fn utilisation(&self) -> BTreeMap<&str, f64> {
        let known = self.used_ns.iter().filter(|(_, (_, whole))| *whole > 0);
        known.map(|(name, (used, whole))| (name.as_str(), *used as f64 / *whole as f64)).collect()
    }

    /// The causes of optional features that took time.
    pub fn extras(&self) -> Vec<Extra> {
        let took = |extra: &Extra| {
            let buckets = self.histograms.latency.iter().flatten();
            buckets.clone().any(|bucket| bucket.extras[*extra as usize] > 0)
        };
        Extra::ALL.into_iter().filter(took).collect()
    }

    fn buckets(&self, measure: usize) -> &[Vec<Bucket>; 2] {
        if measure == 0 { &self.histograms.latency } else { &self.histograms.waiting }
    }

    /// Figures of reads, writes and both, computed from the buckets: of latencies (0) or of waits (1).
    pub fn figures(&self, measure: usize) -> Json {
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
        ssdlab_lab::tree::json(&json!({
            "schema": SCHEMA,
            "members": self.members,
            "latency_ns": self.figures(0),
            "waiting_ns": self.figures(1),
            "write_amplification": self.write_amplification(),
            "write_amplification_bytes": self.write_amplification_bytes(),
            "utilisation": self.utilisation(),
            "steadiness": self.steadiness,
            "sums": sums,
            "programmed_bytes": self.programmed.json(),
            "least_ns": self.least,
            "extremes": self.extremes,
            "used_ns": self.used_ns.iter().map(|(name, (used, whole))| (name.clone(), json!([used.to_string(), whole.to_string()]))).collect::<Map<_, _>>(),
            "volumes": self.spreads.iter().map(|(name, spread)| (name.clone(), spread.json())).collect::<Map<_, _>>(),
            "slowest": self.slowest.json(),
            "causes": causes().collect::<Vec<_>>(),
            "buckets": buckets,
        }))
    }

    /// Reads a part back.
    ///
    /// # Errors
    /// The text is not a part of this version.
    pub fn parse(path: &Path, text: &str) -> Result<Part> {
        let wrong = || {
            data(path, format!("not a part of {SCHEMA}"))
                .help("give records of a sweep that kept histograms, or files of `ssdlab merge`")
        };
        let value: Json = serde_json::from_str(text).map_err(|_| wrong())?;
        let read = || -> Option<Part> {
            let known: Vec<&str> = value["causes"].as_array()?.iter().filter_map(Json::as_str).collect();
            if value["schema"] != SCHEMA || !causes().eq(known) {
                return None;
            }
            let wide = |value: &Json| value.as_str()?.parse::<u128>().ok().filter(|sum| *sum <= MOST_SUM);
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
                used_ns: entries(&value["used_ns"], |pair| Some((wide(&pair[0])?, wide(&pair[1])?)))?,
                extremes: serde_json::from_value(value["extremes"].clone()).ok()?,
                spreads: entries(&value["volumes"], Spread::parse)?,
                slowest: Slowest::parse(&value["slowest"])?,
                steadiness: serde_json::from_value(value["steadiness"].clone()).ok()?,
                programmed: match &value["programmed_bytes"] {
                    Json::Null => Programmed::Unknown,
                    bytes => Programmed::Bytes(wide(bytes)?),
                },
            };
            for (measure, name) in MEASURES.iter().enumerate() {
                for (place, op) in OPS.iter().enumerate() {
                    let row = |row: &Json| {
                        let all = row[5].as_array()?.iter().map(wide).collect::<Option<Vec<u128>>>()?;
                        let (causes, extras) = all.split_at_checked(Cause::COUNT)?;
                        let (causes, extras) = (causes.try_into().ok()?, extras.try_into().ok()?);
                        let (lower, upper, count) = (row[0].as_u64()?, row[1].as_u64()?, row[2].as_u64()?);
                        let (sum, largest) = (wide(&row[3])?, row[4].as_u64()?);
                        let bucket = Bucket { lower, upper, count, sum, largest, causes, extras };
                        histogram::sound(&bucket, measure == 0).ok().map(|()| bucket)
                    };
                    let rows = value["buckets"][format!("{name}.{op}")].as_array()?;
                    let rows = rows.iter().map(row).collect::<Option<Vec<Bucket>>>()?;
                    match measure {
                        0 => part.histograms.latency[place] = rows,
                        _ => part.histograms.waiting[place] = rows,
                    }
                }
            }
            part.is_sound().then_some(part)
        };
        read().ok_or_else(wrong)
    }

    /// Whether the counts of a part that was read can be those of runs: shares of a whole, extremes in order, as many latencies as
    /// waits.
    fn is_sound(&self) -> bool {
        let counts = self.steadiness.values().all(|runs| *runs <= MOST_COUNT);
        let extremes = self.extremes.values().all(|(least, most)| least <= most && *most <= CLOCK_MAX_NS);
        let used = self.used_ns.values().all(|(used, whole)| used <= whole);
        let count = |buckets: &Vec<Bucket>| buckets.iter().map(|bucket| u128::from(bucket.count)).sum::<u128>();
        let Histograms { latency, waiting } = &self.histograms;
        let alike = latency.iter().zip(waiting).all(|(one, other)| count(one) == count(other));
        let few = latency.iter().all(|buckets| count(buckets) <= u128::from(MOST_COUNT));
        counts && extremes && used && alike && few
    }

    /// Reads a file: a part, or the record of a sweep that kept histograms (`KEY.json` beside `KEY.d`). Says whether a record was
    /// checked; a part has no checksum, and adds up or is refused.
    ///
    /// # Errors
    /// It can't be read, is neither, or is a record that was changed.
    pub fn load(path: &Path) -> Result<(Part, Checked)> {
        let text = files::read_data("part", path, files::MOST_BYTES)?;
        let value: Json = serde_json::from_str(&text).unwrap_or_default();
        let schema = value["schema"].as_str().unwrap_or_default();
        if ![store::RECORD, store::UNCHECKED].contains(&schema) {
            return Ok((Part::parse(path, &text)?, Checked::Same));
        }
        let checked = store::check(schema, &text);
        if checked == Checked::Differs {
            return Err(data(path, "the record differs from its checksum")
                .help("run the sweep again: it sets the record aside and repeats the run"));
        }
        let volume = value["input"].as_str().unwrap_or_default();
        let part = Part::read(&path.with_extension("d"), &value, volume, SLOWEST, &VOLUMES.map(String::from))?;
        Ok((part, checked))
    }

    /// The part of a record, whose histograms are in a folder, and its slowest requests if they were kept.
    ///
    /// # Errors
    /// A file can't be read, or the run has no histograms.
    pub fn read(folder: &Path, record: &Json, volume: &str, most: usize, measures: &[String]) -> Result<Part> {
        let find = |name: &str| {
            let found = ["parquet", "csv"].map(|ending| (folder.join(format!("{name}.{ending}")), ending == "parquet"));
            found.into_iter().find(|(file, _)| file.exists())
        };
        let (Some((file, parquet)), Some(key)) = (find("histograms"), record["key"].as_str()) else {
            return Err(data(folder, "the run has no histograms")
                .help("run the sweep with --keep histograms: runs that lack them are made again"));
        };
        let slowest = match find("slowest").filter(|_| most > 0) {
            Some((file, parquet)) => Slowest::read(&file, parquet, volume, SLOWEST)?.first(most),
            None => Slowest::unknown(),
        };
        let histograms = histogram::read(&file, parquet)?;
        sound::summary(folder, &record["summary"])?;
        Ok(Part::of(Member { key, volume, summary: &record["summary"], histograms, slowest, measures }))
    }
}

/// The entries of a table in a file; none if one can't be read.
fn entries<T>(table: &Json, read: impl Fn(&Json) -> Option<T>) -> Option<BTreeMap<String, T>> {
    table.as_object()?.iter().map(|(name, value)| Some((name.clone(), read(value)?))).collect()
}

/// How long dies (units of exclusion) and channels were used, from their shares: a summary has no sums of them.
fn used(summary: &Json) -> BTreeMap<String, (u128, u128)> {
    let channels = summary["config"]["geometry"]["channels"].as_u64().map(u128::from);
    let dies = sound::device(summary).map(|[_, _, dies]| dies);
    let of = |(name, units): (&str, Option<u128>)| {
        let share = summary["utilisation"][name].as_f64()?;
        let whole = units? * u128::from(summary["simulated_ns"].as_u64()?);
        Some((name.to_string(), ((share * whole as f64).round() as u128, whole)))
    };
    [("die", dies), ("channel", channels)].into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use slowest::Slow;
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
            "bytes": { "written": 4096 * latencies.len() },
            "flash": { "programs": { "total": 3 * latencies.len() }, "copybacks": 2 * latencies.len() },
            "latency_ns": min(1),
            "waiting_ns": min(3),
            "gc": { "moved_per_collection": 5, "collections": 0 },
            "simulated_ns": latencies.iter().max(),
            "utilisation": { "die": 0.25, "channel": 0.1 },
            "config": { "geometry": { "channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 8, "page_size": "16KiB" } },
            "write_amplification": latencies.len() as f64 / 7.0,
            "write_amplification_halves": { "steady": latencies.len().is_multiple_of(2) },
        });
        let histograms = Histograms::of([&histograms[0], &histograms[1]]);
        let measures = &["write_amplification".to_string()];
        let slowest = slow(key, latencies).first(20);
        Part::of(Member { key, volume: key, summary: &summary, histograms, slowest, measures })
    }

    /// All requests, the slowest first.
    fn slow(volume: &str, latencies: &[u64]) -> Slowest {
        let request = |(request, ns): (usize, &u64)| Slow {
            latency_ns: Reverse(*ns),
            volume: volume.into(),
            request: request as u64,
            op: OPS[(ns % 2) as usize].into(),
            arrival_ns: request as u64,
            offset: 0,
            bytes: 4096,
            causes: vec![("array".into(), *ns)],
        };
        let mut rows: Vec<Slow> = latencies.iter().enumerate().map(request).collect();
        rows.sort();
        Slowest { most: None, rows }
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
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

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
            let mut slowest: Vec<Slow> = [("x", &a), ("y", &b), ("z", &c)].iter().flat_map(|(volume, ns)| slow(volume, ns).rows).collect();
            slowest.sort();
            let slowest = Slowest { most: None, rows: slowest }.first(20);
            // What runs have one of is no sum over requests.
            let Part { members, used_ns, extremes, spreads, steadiness, .. } = left.clone();
            let direct = Part { members, used_ns, extremes, spreads, steadiness, slowest, ..part("all", &all) };
            let pages = 5 * all.len() as u128;
            proptest::prop_assert_eq!(left.programmed, Programmed::Bytes(16_384 * pages));
            let expected = (!all.is_empty()).then(|| 4.0 * pages as f64 / all.len() as f64);
            let apart = left.write_amplification_bytes().zip(expected).map_or(0.0, |(ours, expected)| (ours - expected).abs());
            proptest::prop_assert!(apart < 1e-9 && left.write_amplification_bytes().is_some() == expected.is_some());
            // A part of an older version has no bytes, and neither has what it is merged into.
            let older = Part { programmed: Programmed::Unknown, ..x.clone() };
            for mixed in [older.clone().merge(&y).unwrap(), y.clone().merge(&older).unwrap()] {
                let mixed = Part::parse(Path::new("part"), &mixed.json()).unwrap();
                proptest::prop_assert_eq!((mixed.programmed, mixed.write_amplification_bytes()), (Programmed::Unknown, None));
            }
            proptest::prop_assert_eq!(&direct, &left);
            proptest::prop_assert_eq!(direct.json(), left.json());
            proptest::prop_assert_eq!(&Part::parse(Path::new("part"), &left.json()).unwrap(), &left);
            let ends = [&a, &b, &c].map(|ns| ns.iter().max().copied());
            let known = || ends.iter().flatten().copied();
            let extremes = left.extremes.get("simulated_ns").copied();
            proptest::prop_assert_eq!(extremes, known().min().zip(known().max()));
            let dies: u128 = known().map(|ns| 4 * u128::from(ns)).sum();
            proptest::prop_assert_eq!(left.used_ns.get("die").map_or(0, |used| used.1), dies);
            proptest::prop_assert_eq!(left.steadiness.values().sum::<u64>(), 3);
        }

        /// However values are merged, there are the same: one by one up to a number, else by six digits.
        #[test]
        fn spreads_merge_by_law(
            values in proptest::collection::vec((0u8..4, 0.0f64..1e9), 0..40),
            cuts in (0usize..40, 0usize..40),
            most in 0u64..50,
        ) {
            let of = |values: &[(u8, f64)]| {
                let mut sum = Spread::default();
                values.iter().for_each(|(volume, value)| sum.merge(&Spread::of(&volume.to_string(), *value), most));
                sum
            };
            let (first, second) = (cuts.0.min(cuts.1).min(values.len()), cuts.0.max(cuts.1).min(values.len()));
            let [x, y, z] = [&values[..first], &values[first..second], &values[second..]].map(of);
            let both = |one: &Spread, other: &Spread| {
                let mut sum = one.clone();
                sum.merge(other, most);
                sum
            };
            let whole = of(&values);
            proptest::prop_assert_eq!(&both(&both(&x, &y), &z), &whole);
            proptest::prop_assert_eq!(&both(&x, &both(&y, &z)), &whole);
            proptest::prop_assert_eq!(&both(&y, &x), &both(&x, &y));
            proptest::prop_assert_eq!(&both(&whole, &Spread::default()), &whole);
            proptest::prop_assert_eq!(whole.count(), values.len() as u64);
            proptest::prop_assert_eq!(matches!(whole, Spread::Digits(_)), values.len() as u64 > most);
            proptest::prop_assert_eq!(&Spread::parse(&whole.json()).unwrap(), &whole);
            let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
            sorted.sort_by(f64::total_cmp);
            let median = whole.quantiles(&[histogram::Quantile::new(1, 2)])[0];
            let expected = (!sorted.is_empty()).then(|| sorted[sorted.len().div_ceil(2) - 1]);
            let near = median.zip(expected).is_none_or(|(median, expected)| (median - expected).abs() <= expected * 5e-6);
            proptest::prop_assert!(median.is_some() == expected.is_some() && near, "{:?} {:?}", median, expected);
        }
    }
}
