//! What histograms say: percentiles, bands of the distribution, and the causes of the tail.

use std::path::Path;

use ssdlab_figures::figure::Cell;
use ssdlab_sim::blame::{Blame, CAUSES, Cause, Extra, ExtraBlame};
use ssdlab_sim::report::histogram::{Bucket, Histogram};
use ssdlab_trace::CLOCK_MAX_NS;

use crate::error::Result;
use crate::readers::causes::{self, Any, Sums};
use crate::readers::table::{self, data, integer};
use crate::results::histograms::{Histograms, OPS};

/// A quantile as an exact fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Its numerator.
    pub of: u64,
    /// Its denominator.
    pub parts: u64,
}

impl Quantile {
    /// The quantile of some parts of a whole.
    pub const fn new(of: u64, parts: u64) -> Quantile {
        Quantile { of, parts }
    }

    /// The rank of its order statistic among `count` values, from 1.
    pub fn rank(&self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.of)).div_ceil(u128::from(self.parts));
        (rank as u64).max(1)
    }

    /// As a number.
    pub fn value(&self) -> f64 {
        self.of as f64 / self.parts as f64
    }

    /// In percent, as in `p99.9`.
    pub fn percent(&self) -> String {
        ssdlab_figures::scale::plain(self.value() * 100.0, 6)
    }
}

/// The six ranks of a summary, with their fields.
pub const SUMMARY: [(&str, Quantile); 6] = [
    ("p50", Quantile::new(1, 2)),
    ("p90", Quantile::new(9, 10)),
    ("p95", Quantile::new(95, 100)),
    ("p99", Quantile::new(99, 100)),
    ("p99_9", Quantile::new(999, 1_000)),
    ("p99_99", Quantile::new(9_999, 10_000)),
];

/// Where bands of the distribution begin.
pub const BANDS: [Quantile; 5] = [
    Quantile::new(0, 1),
    Quantile::new(50, 100),
    Quantile::new(90, 100),
    Quantile::new(99, 100),
    Quantile::new(999, 1_000),
];

/// Most requests, pages or operations that results count: every number up to here is exact in all programs.
pub const MOST_COUNT: u64 = 1 << 53;

/// Requests in some buckets.
pub fn count(buckets: &[Bucket]) -> u64 {
    buckets.iter().map(|bucket| bucket.count).sum()
}

/// The place of the bucket with the order statistic of a quantile; none without requests.
pub fn place(buckets: &[Bucket], quantile: Quantile) -> Option<usize> {
    let (rank, mut seen) = (quantile.rank(count(buckets)), 0);
    buckets.iter().position(|bucket| {
        seen += bucket.count;
        seen >= rank
    })
}

/// A percentile as a summary has it: the upper edge of its bucket, at most the largest value.
pub fn percentile(buckets: &[Bucket], quantile: Quantile) -> Option<u64> {
    let largest = buckets.last()?.largest;
    place(buckets, quantile).map(|at| buckets[at].upper.min(largest))
}

/// Both kinds of requests together.
pub fn merged(both: &[Vec<Bucket>; 2]) -> Vec<Bucket> {
    let mut all: Vec<Bucket> = both[0].iter().chain(&both[1]).cloned().collect();
    all.sort_by_key(|bucket| bucket.lower);
    let mut out: Vec<Bucket> = Vec::new();
    for bucket in all {
        match out.last_mut().filter(|last| last.lower == bucket.lower) {
            Some(last) => {
                last.count += bucket.count;
                last.sum += bucket.sum;
                last.largest = last.largest.max(bucket.largest);
                last.causes.iter_mut().zip(bucket.causes).for_each(|(sum, ns)| *sum += ns);
                last.extras.iter_mut().zip(bucket.extras).for_each(|(sum, ns)| *sum += ns);
            }
            None => out.push(bucket),
        }
    }
    out
}

/// Requests of neighbouring buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Where it begins and ends, in percent.
    pub name: String,
    /// Least value of its first bucket.
    pub from: u64,
    /// Requests.
    pub count: u64,
    /// Sum of their latencies.
    pub sum: u128,
    /// Sums by cause; they sum to `sum`.
    pub causes: Sums,
}

impl Band {
    fn of(name: String, buckets: &[Bucket]) -> Band {
        let mut band = Band { name, from: 0, count: count(buckets), sum: 0, causes: [0; causes::COUNT] };
        band.from = buckets.first().map_or(0, |bucket| bucket.lower);
        for bucket in buckets {
            band.sum += bucket.sum;
            causes::add(&mut band.causes, bucket);
        }
        band
    }

    /// The causes with the largest sums, largest first, without those that took no time.
    pub fn largest(&self, most: usize) -> Vec<(Any, u128)> {
        causes::largest(&self.causes, most)
    }
}

/// The bands of a distribution, cut at edges of buckets: a bucket belongs to the last band whose first order statistic it holds. A band
/// that would have less than half of its requests is part of the next one.
pub fn bands(buckets: &[Bucket]) -> Vec<Band> {
    let Some(starts) = BANDS.iter().map(|quantile| place(buckets, *quantile)).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let (mut out, mut low, mut begun) = (Vec::new(), BANDS[0].percent(), None);
    for (i, start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(buckets.len());
        let from = begun.unwrap_or(*start);
        let next = BANDS.get(i + 1);
        let nominal = (next.map_or(1.0, Quantile::value) - BANDS[i].value()) * count(buckets) as f64;
        // One that its neighbour's bucket has taken most of would only mislead.
        if next.is_some() && (count(&buckets[from..end]) as f64) < nominal / 2.0 {
            begun = Some(from);
            continue;
        }
        begun = None;
        if end > from {
            let high = BANDS.get(i + 1).map_or("100".into(), Quantile::percent);
            out.push(Band::of(format!("{low} to {high} %"), &buckets[from..end]));
            low = high;
        }
    }
    out
}

/// The requests from the order statistic of a quantile on, with the rest of its bucket.
pub fn tail(buckets: &[Bucket], quantile: Quantile) -> Option<Band> {
    Some(Band::of(format!("p{}", quantile.percent()), &buckets[place(buckets, quantile)?..]))
}

/// Checks that a bucket that was read back can be one of a run: with requests, edges in order, a sum that its edges allow, and for
/// latencies causes that sum to it.
pub fn sound(bucket: &Bucket, of_latencies: bool) -> std::result::Result<(), String> {
    let Bucket { lower, upper, count, sum, largest, causes, extras } = bucket;
    if *count > MOST_COUNT {
        return Err(format!("`count` is {count}: expected at most 2^53"));
    }
    if *largest > CLOCK_MAX_NS || *lower > CLOCK_MAX_NS {
        return Err(format!("`largest_ns` is {largest} and `lower_ns` {lower}: expected at most {CLOCK_MAX_NS}"));
    }
    if !(lower <= largest && largest <= upper) {
        return Err(format!(
            "`largest_ns` is {largest}: expected a value from `lower_ns`, {lower}, to `upper_ns`, {upper}"
        ));
    }
    let (count, least, most) = (u128::from(*count), u128::from(*lower), u128::from(*largest));
    if !(count * least <= *sum && *sum <= count * most) {
        return Err(format!("`sum_ns` is {sum}: expected {count} values from {lower} to {largest}"));
    }
    // Each is checked before they are added: their sum fits then.
    let all = || causes.iter().chain(extras);
    if of_latencies && (all().any(|ns| ns > sum) || all().sum::<u128>() != *sum) {
        return Err("the causes do not sum to `sum_ns`".into());
    }
    Ok(())
}

/// The causes of a request that sum to its latency, each within the clock.
pub fn sums_to(latency: u64, causes: impl Iterator<Item = u64>) -> bool {
    latency <= CLOCK_MAX_NS && causes.map(u128::from).sum::<u128>() == u128::from(latency)
}

/// Places of some columns and of those of causes; `option` writes files that have them.
fn places(path: &Path, columns: &[String], names: &[&str], option: &str) -> Result<Vec<usize>> {
    let place = |name: &str| {
        let place = columns.iter().position(|column| column == name);
        place.ok_or_else(|| data(path, format!("no column `{name}`")).help(format!("write it again with {option}")))
    };
    names.iter().copied().chain(CAUSES.iter().map(|(_, name)| *name)).map(place).collect()
}

/// Places of the columns of causes of optional features, as far as there are any.
fn extra_columns(columns: &[String]) -> Vec<(Extra, usize)> {
    let place = |extra: Extra| Some((extra, columns.iter().position(|column| column == extra.name())?));
    Extra::ALL.into_iter().filter_map(place).collect()
}

/// Reads a file of `--histograms`. Rows of the same bucket, from files of parts of a run, are added.
///
/// # Errors
/// The file can't be read, or is no such file.
pub fn read(path: &Path, parquet: bool) -> Result<Histograms> {
    let mut histograms = Histograms::default();
    let (mut at, mut extras): (Vec<usize>, Vec<(Extra, usize)>) = Default::default();
    // Latencies and waits of reads and writes.
    let (mut line, mut counted) = (1, 0u128);
    table::rows(path, parquet, &mut |columns, row| {
        line += 1;
        let Some(row) = row else {
            let names = ["measure", "op", "lower_ns", "upper_ns", "count", "sum_ns", "largest_ns"];
            at = places(path, columns, &names, "--histograms")?;
            extras = extra_columns(columns);
            return Ok(true);
        };
        let bad = |what: &str| {
            data(path, format!("row {}: {what}", line - 2)).help("give the file as --histograms of a run wrote it")
        };
        let word = |i: usize| match &row[at[i]] {
            Cell::Text(text) => text.as_str(),
            _ => "",
        };
        let whole = |i: usize| integer(&row[at[i]]);
        let need = |i: usize, name: &str| whole(i).ok_or_else(|| bad(&format!("`{name}` is not a whole number")));
        let word_op = OPS.iter().position(|op| *op == word(1)).ok_or_else(|| bad("`op` is neither read nor write"))?;
        let short = |value: u128| u64::try_from(value).map_err(|_| bad("a number is too large"));
        let mut bucket = Bucket {
            lower: short(need(2, "lower_ns")?)?,
            upper: short(need(3, "upper_ns")?)?,
            count: short(need(4, "count")?)?,
            sum: need(5, "sum_ns")?,
            largest: short(need(6, "largest_ns")?)?,
            causes: [0; Cause::COUNT],
            extras: [0; Extra::COUNT],
        };
        let list = match word(0) {
            "latency" => &mut histograms.latency[word_op],
            "waiting" => &mut histograms.waiting[word_op],
            _ => return Err(bad("`measure` is neither latency nor waiting")),
        };
        if word(0) == "latency" {
            for (i, sum) in bucket.causes.iter_mut().enumerate() {
                *sum = need(7 + i, CAUSES[i].1)?;
            }
            for (extra, place) in &extras {
                bucket.extras[*extra as usize] =
                    integer(&row[*place]).ok_or_else(|| bad(&format!("`{}` is not a whole number", extra.name())))?;
            }
        }
        sound(&bucket, word(0) == "latency").map_err(|what| bad(&what))?;
        counted += u128::from(bucket.count);
        if counted > 4 * u128::from(MOST_COUNT) {
            return Err(bad(&format!("`count`: {counted} requests up to here, expected at most 2^53 of a kind")));
        }
        list.push(bucket);
        Ok(true)
    })?;
    for list in histograms.latency.iter_mut().chain(&mut histograms.waiting) {
        *list = merged(&[std::mem::take(list), Vec::new()]);
    }
    Ok(histograms)
}

/// The histograms of the rows of a file of `--requests`.
///
/// # Errors
/// As [`read`].
pub fn of_requests(path: &Path, parquet: bool) -> Result<Histograms> {
    let mut histograms = [Histogram::default(), Histogram::default()];
    let (mut at, mut extras): (Vec<usize>, Vec<(Extra, usize)>) = Default::default();
    let mut number = 0u64;
    table::rows(path, parquet, &mut |columns, row| {
        let Some(row) = row else {
            at = places(path, columns, &["op", "latency_ns"], "--requests")?;
            extras = extra_columns(columns);
            return Ok(true);
        };
        number += 1;
        let bad = |what: &str| data(path, format!("row {number}: {what}"));
        let op = match &row[at[0]] {
            Cell::Text(text) => OPS.iter().position(|op| op == text),
            _ => None,
        };
        let whole = |i: usize| integer(&row[at[i]]).and_then(|value| u64::try_from(value).ok());
        let mut blame = Blame::ZERO;
        for (i, (cause, name)) in CAUSES.iter().enumerate() {
            blame.add(*cause, whole(2 + i).ok_or_else(|| bad(&format!("`{name}` is not a whole number")))?);
        }
        let latency = whole(1).ok_or_else(|| bad("`latency_ns` is not a whole number"))?;
        if latency > CLOCK_MAX_NS {
            return Err(bad(&format!("`latency_ns` is {latency}: expected at most {CLOCK_MAX_NS}")));
        }
        let mut more = ExtraBlame::default();
        for (extra, place) in &extras {
            let ns = integer(&row[*place]).and_then(|value| u64::try_from(value).ok());
            more.add(*extra, ns.ok_or_else(|| bad(&format!("`{}` is not a whole number", extra.name())))?);
        }
        if !sums_to(latency, blame.0.iter().chain(&more.0).copied()) {
            return Err(bad("the causes do not sum to `latency_ns`"));
        }
        // Flushes are a kind of their own.
        if matches!(&row[at[0]], Cell::Text(text) if text == "flush") {
            return Ok(true);
        }
        let waits = blame.waits() + more.sum();
        histograms[op.ok_or_else(|| bad("`op` is neither read nor write"))?].record_all(&blame, &more, latency, waits);
        Ok(true)
    })?;
    Ok(Histograms::of([&histograms[0], &histograms[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(lower: u64, count: u64) -> Bucket {
        let mut causes = [0; Cause::COUNT];
        causes[0] = u128::from(lower * count);
        Bucket {
            lower,
            upper: lower,
            count,
            sum: u128::from(lower * count),
            largest: lower,
            causes,
            extras: [0; Extra::COUNT],
        }
    }

    #[test]
    fn bands_are_nested_tails() {
        let buckets: Vec<Bucket> = (1..=1000).map(|value| bucket(value, 1)).collect();
        let counts: Vec<(String, u64)> = bands(&buckets).into_iter().map(|band| (band.name, band.count)).collect();
        let names = ["0 to 50 %", "50 to 90 %", "90 to 99 %", "99 to 99.9 %", "99.9 to 100 %"].map(String::from);
        assert_eq!(counts, names.into_iter().zip([499, 400, 90, 9, 2]).collect::<Vec<_>>());
        assert_eq!(tail(&buckets, Quantile::new(99, 100)).map(|band| (band.from, band.count)), Some((990, 11)));
        assert_eq!(percentile(&buckets, Quantile::new(999, 1000)), Some(999));
        // Most requests are alike: they are one band.
        let alike = [bucket(5, 950), bucket(6, 50)];
        let names: Vec<(String, u64)> = bands(&alike).into_iter().map(|band| (band.name, band.count)).collect();
        assert_eq!(names, [("0 to 99 %".to_string(), 950), ("99 to 100 %".to_string(), 50)]);
        assert!(bands(&[]).is_empty() && tail(&[], Quantile::new(1, 2)).is_none());
        assert_eq!(bands(&[bucket(7, 1)]).len(), 1);
    }

    /// Two buckets of a file of --histograms; one cell is replaced.
    fn file(column: &str, value: &str) -> std::result::Result<Histograms, String> {
        let causes: Vec<&str> = CAUSES.iter().map(|(_, name)| *name).collect();
        let head = format!("measure,op,lower_ns,upper_ns,count,sum_ns,largest_ns,{}", causes.join(","));
        let row = |op: &str, first: &str| {
            let rest = causes[1..].iter().map(|_| ",0").collect::<String>();
            format!("latency,{op},100,109,3,315,109,{first}{rest}")
        };
        let mut cells: Vec<String> = row("write", "315").split(',').map(String::from).collect();
        if let Some(at) = head.split(',').position(|name| name == column) {
            cells[at] = value.into();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.csv");
        std::fs::write(&path, format!("{head}\n{}\n{}\n", row("read", "315"), cells.join(","))).unwrap();
        read(&path, false).map_err(|error| error.message.split("h.csv: ").last().unwrap_or_default().into())
    }

    #[test]
    fn buckets_that_no_run_has_are_refused() {
        let good = file("", "").unwrap();
        assert_eq!((good.latency[0][0].sum, good.latency[1][0].count), (315, 3));
        for (column, value, expected) in [
            ("count", "9007199254740993", "row 2: `count` is 9007199254740993: expected at most 2^53"),
            ("count", "-3", "row 2: `count` is not a whole number"),
            ("count", "4", "row 2: `sum_ns` is 315: expected 4 values from 100 to 109"),
            ("largest_ns", "110", "row 2: `largest_ns` is 110: expected a value from `lower_ns`, 100, to"),
            ("lower_ns", "2305843009213693952", "row 2: `largest_ns` is 109 and `lower_ns` 2305843009213693952"),
            ("queue", "314", "row 2: the causes do not sum to `sum_ns`"),
            ("order", "340282366920938463463374607431768211455", "row 2: the causes do not sum to `sum_ns`"),
        ] {
            let said = file(column, value).unwrap_err();
            assert!(said.starts_with(expected), "{column} = {value}: {said}");
        }
        assert!(sums_to(5, [2, 3].into_iter()) && !sums_to(5, [2, 2].into_iter()));
        assert!(!sums_to(4, [u64::MAX, 5].into_iter()), "sums are exact");
        assert!(!sums_to(1 << 61, [1 << 61].into_iter()));
    }

    #[test]
    fn kinds_merge_by_bucket() {
        let all = merged(&[vec![bucket(5, 1), bucket(7, 1)], vec![bucket(5, 2)]]);
        assert_eq!(all.iter().map(|b| (b.lower, b.count)).collect::<Vec<_>>(), [(5, 3), (7, 1)]);
    }
}
