//! The method: the tail set, and the time by which its requests exceed the median, by cause, in exact integers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::readers::histogram::{Quantile, merged, percentile};
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_sim::blame::Extra;
use ssdlab_sim::report::histogram::{Bucket, Histogram};

use crate::at::{At, Kind};
use crate::patterns::case::{Case, World};
use crate::patterns::{self, Pattern};
use crate::records::{Reason, Record, Records};
use crate::watch::Known;

/// The slowest requests that are kept.
pub const SLOWEST: usize = 10;

/// Requests between these two quantiles, ranks included, are the middle.
const MIDDLE: [Quantile; 2] = [Quantile::new(4, 10), Quantile::new(6, 10)];

/// Sums over some requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Requests.
    pub count: u64,
    /// Sum of their latencies.
    pub total: u128,
    /// By cause.
    pub causes: [u128; Reason::COUNT],
}

impl Sums {
    fn add(&mut self, record: &Record) {
        self.count += 1;
        self.total += u128::from(record.latency);
        let all = record.blame.0.iter().chain(&record.extras.0);
        self.causes.iter_mut().zip(all).for_each(|(sum, ns)| *sum += u128::from(*ns));
    }

    /// Mean latency, rounded half up.
    pub fn mean(&self) -> Option<u64> {
        let count = u128::from(self.count);
        (count > 0).then(|| ((2 * self.total + count) / (2 * count)) as u64)
    }
}

/// An exact difference: a number of nanoseconds over the size of the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Excess(i128);

/// A cause, and how much more of it the tail has than the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// The cause.
    pub cause: Reason,
    /// Its sum over the tail set.
    pub total: u128,
    /// Its sum over the middle.
    pub middle: u128,
    excess: Excess,
}

/// What the records say.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Which requests.
    pub at: At,
    /// Their kind: the middle is of all requests of it.
    pub kind: Kind,
    /// All requests of the kind.
    pub requests: u64,
    /// The value of the measure: as in a summary for a percentile, the latency of one request, the mean of those in a time.
    pub value: Option<u64>,
    /// Least latency of the tail set.
    pub threshold: Option<u64>,
    /// The tail set.
    pub tail: Sums,
    /// The middle.
    pub middle: Sums,
    /// Causes, the largest excess first; equal ones by name.
    pub causes: Vec<Blamed>,
    /// What the tail's requests have in common.
    pub patterns: Vec<Pattern>,
    /// The slowest requests of the tail set, slowest first; equal ones by number.
    pub slowest: Vec<Record>,
}

impl Findings {
    /// An excess in nanoseconds, rounded half up.
    pub fn excess_ns(&self, of: &Blamed) -> i128 {
        self.rounded(of.excess.0)
    }

    /// The excess of all causes in nanoseconds, rounded half up.
    pub fn whole_excess_ns(&self) -> i128 {
        self.rounded(self.whole())
    }

    /// Causes that the tail has less of than the middle, by at least 1 % of the whole excess, the largest first.
    pub fn relieved(&self) -> impl Iterator<Item = &Blamed> {
        let large = |one: &&Blamed| self.whole() > 0 && -100 * one.excess.0 >= self.whole();
        self.causes.iter().rev().filter(large)
    }

    /// A cause's share of the whole excess; none if there is no excess.
    pub fn share(&self, of: &Blamed) -> Option<f64> {
        (self.whole() > 0).then(|| of.excess.0 as f64 / self.whole() as f64)
    }

    /// Whether a cause has at least one of so many parts of the whole excess.
    pub fn has_part(&self, of: &Blamed, parts: i128) -> bool {
        self.whole() > 0 && of.excess.0 > 0 && of.excess.0 * parts >= self.whole()
    }

    fn whole(&self) -> i128 {
        self.causes.iter().map(|one| one.excess.0).sum()
    }

    fn rounded(&self, excess: i128) -> i128 {
        let parts = i128::from(self.middle.count.max(1));
        (2 * excess + parts).div_euclid(2 * parts)
    }
}

/// Order statistics: by rank, the latency and its place among equal ones, from 1.
fn order_statistics(records: &mut Records, kind: Kind, ranks: &[u64]) -> Result<Vec<(u64, u64)>> {
    // First by coarse steps of latency, then exactly in the steps that have a wanted rank.
    const STEP: u32 = 16;
    let mut coarse: BTreeMap<u64, u64> = BTreeMap::new();
    records.each(&mut |record| {
        if kind.has(record.write) {
            *coarse.entry(record.latency >> STEP).or_default() += 1;
        }
    })?;
    let find = |counts: &BTreeMap<u64, u64>, rank: u64| {
        let mut before = 0;
        for (value, count) in counts {
            if before + count >= rank {
                return (*value, rank - before);
            }
            before += count;
        }
        (0, 0)
    };
    let steps: Vec<(u64, u64)> = ranks.iter().map(|rank| find(&coarse, *rank)).collect();
    let mut fine: BTreeMap<u64, BTreeMap<u64, u64>> = steps.iter().map(|(step, _)| (*step, BTreeMap::new())).collect();
    records.each(&mut |record| {
        if let Some(counts) = fine.get_mut(&(record.latency >> STEP)).filter(|_| kind.has(record.write)) {
            *counts.entry(record.latency).or_default() += 1;
        }
    })?;
    Ok(steps.iter().map(|(step, rank)| find(&fine[step], *rank)).collect())
}

/// Which latencies and request numbers the middle has: from and to this latency and place among equal ones, inclusive.
struct Middle {
    from: (u64, u64),
    to: (u64, u64),
    /// Requests seen with each of the two latencies.
    seen: [u64; 2],
}

impl Middle {
    fn has(&mut self, latency: u64) -> bool {
        let mut place = |i: usize, bound: (u64, u64)| {
            if latency == bound.0 {
                self.seen[i] += 1;
                self.seen[i].cmp(&bound.1)
            } else {
                latency.cmp(&bound.0)
            }
        };
        place(0, self.from).is_ge() & place(1, self.to).is_le()
    }
}

/// What a first pass finds.
struct Overview {
    histograms: [Vec<Bucket>; 2],
    /// Reads and writes.
    counts: [u64; 2],
    /// The one request that is asked about.
    wanted: Option<Record>,
    /// First and last arrival.
    first: u64,
    last: u64,
}

impl Overview {
    fn of(records: &mut Records, at: Option<At>) -> Result<Overview> {
        let mut histograms = [Histogram::default(), Histogram::default()];
        let (mut wanted, mut first, mut last) = (None, None, 0);
        records.each(&mut |record| {
            histograms[usize::from(record.write)].record(&record.blame, record.latency, record.waits());
            first.get_or_insert(record.arrival);
            last = record.arrival;
            if at == Some(At::Request(record.request)) {
                wanted = Some(record.clone());
            }
        })?;
        let histograms = Histograms::of([&histograms[0], &histograms[1]]).latency;
        let counts = histograms.each_ref().map(|buckets| buckets.iter().map(|bucket| bucket.count).sum::<u64>());
        Ok(Overview { histograms, counts, wanted, first: first.unwrap_or(0), last })
    }

    fn kind(&self, at: At) -> Result<Kind> {
        match (at, &self.wanted) {
            (At::Tail(kind, _), _) => Ok(kind),
            (At::Request(_), Some(record)) => Ok(if record.write { Kind::Write } else { Kind::Read }),
            (At::Request(number), None) => {
                let message = format!("--at request:{number}: there is no measured read or write of this number");
                Err(Error::usage(message).help(
                    "numbers are those of --requests, from 0 on; flushes, trims and requests of the warm-up are not explained",
                ))
            }
            (At::Time(_), _) => Ok(Kind::All),
        }
    }

    fn requests(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Read => self.counts[0],
            Kind::Write => self.counts[1],
            Kind::All => self.counts[0] + self.counts[1],
        }
    }

    /// The value of a percentile, as a summary has it.
    fn percentile(&self, kind: Kind, quantile: Quantile) -> Option<u64> {
        match kind {
            Kind::Read => percentile(&self.histograms[0], quantile),
            Kind::Write => percentile(&self.histograms[1], quantile),
            Kind::All => percentile(&merged(&self.histograms), quantile),
        }
    }
}

struct Tail {
    at: At,
    threshold: Option<u64>,
}

impl Tail {
    fn has(&self, record: &Record) -> bool {
        match self.at {
            At::Tail(kind, _) => kind.has(record.write) && self.threshold.is_some_and(|least| record.latency >= least),
            At::Request(number) => record.request == number,
            At::Time(span) => span.from.0 <= record.arrival && record.arrival < span.to.0,
        }
    }
}

/// Applies the method to the records of a run; `at` none is the slowest thousandth of the reads, or of the writes if there are no
/// reads.
///
/// # Errors
/// The records can't be read, or there are none that are meant.
pub fn find(records: &mut Records, at: Option<At>, known: Option<&Known>) -> Result<Findings> {
    let overview = Overview::of(records, at)?;
    let reads = if overview.counts[0] > 0 { Kind::Read } else { Kind::Write };
    let at = at.unwrap_or(At::Tail(reads, crate::at::Rank::P999));
    let kind = overview.kind(at)?;
    let requests = overview.requests(kind);
    if requests == 0 {
        return Err(Error::usage(format!("--at {at}: no {} were measured", kind.plural()))
            .help("choose another kind with --at, or give more requests"));
    }
    let quantile = match at {
        At::Tail(_, rank) => Some(rank.quantile()),
        _ => None,
    };
    let ranks: Vec<u64> = MIDDLE.into_iter().chain(quantile).map(|quantile| quantile.rank(requests)).collect();
    let places = order_statistics(records, kind, &ranks)?;
    let tail = Tail { at, threshold: places.get(2).map(|(latency, _)| *latency) };
    let middle = Middle { from: places[0], to: places[1], seen: [0; 2] };
    let mut world = World::new(known, records.count(), overview.first, overview.last);
    if records.tenants && !world.features.contains(&Extra::Arbitration) {
        world.features.push(Extra::Arbitration);
    }
    let mut findings = Findings {
        at,
        kind,
        requests,
        value: None,
        threshold: tail.threshold,
        tail: Sums::default(),
        middle: Sums::default(),
        causes: Vec::new(),
        patterns: Vec::new(),
        slowest: Vec::new(),
    };
    let kept = sum(records, &tail, middle, &mut findings, &mut world)?;
    if findings.tail.count == 0 {
        return Err(Error::usage(format!("--at {at}: no read or write arrived in it")).help("choose a longer time"));
    }
    recognise(records, &tail, &kept, &mut findings, &world)?;
    findings.value = quantile.map_or(findings.tail.mean(), |quantile| overview.percentile(kind, quantile));
    findings.causes = blamed(&findings.tail, &findings.middle);
    Ok(findings)
}

/// Adds up the tail set and the middle. Returns the numbers of the slowest requests of the tail set.
fn sum(
    records: &mut Records,
    tail: &Tail,
    mut middle: Middle,
    findings: &mut Findings,
    world: &mut World<'_>,
) -> Result<Vec<u64>> {
    let mut slowest: BinaryHeap<Reverse<(u64, Reverse<u64>)>> = BinaryHeap::new();
    records.each(&mut |record| {
        if findings.kind.has(record.write) && middle.has(record.latency) {
            findings.middle.add(record);
        }
        if tail.has(record) {
            findings.tail.add(record);
            world.note(record);
            slowest.push(Reverse((record.latency, Reverse(record.request))));
            if slowest.len() > SLOWEST {
                slowest.pop();
            }
        }
    })?;
    Ok(slowest.into_iter().map(|Reverse((_, Reverse(number)))| number).collect())
}

/// Counts the requests of the tail set by pattern, and keeps the slowest ones.
fn recognise(
    records: &mut Records,
    tail: &Tail,
    kept: &[u64],
    findings: &mut Findings,
    world: &World<'_>,
) -> Result<()> {
    let mut counts = patterns::Counts::new(world);
    let mut recent: VecDeque<u64> = VecDeque::new();
    records.each(&mut |record| {
        while recent.front().is_some_and(|arrival| arrival + patterns::case::RECENT < record.arrival) {
            recent.pop_front();
        }
        if tail.has(record) {
            if kept.contains(&record.request) {
                findings.slowest.push(record.clone());
            }
            let met = world.known.map_or(&[][..], |known| known.met_by(record));
            counts.add(&Case { record, world, recent: recent.len() as u64, met });
        }
        recent.push_back(record.arrival);
    })?;
    findings.slowest.sort_by_key(|record| (Reverse(record.latency), record.request));
    findings.patterns = counts.patterns(world);
    Ok(())
}

fn blamed(tail: &Sums, middle: &Sums) -> Vec<Blamed> {
    let (size, parts) = (i128::from(tail.count), i128::from(middle.count));
    let of = |cause: Reason| {
        let (total, middle) = (tail.causes[cause.place()], middle.causes[cause.place()]);
        Blamed { cause, total, middle, excess: Excess(total as i128 * parts - middle as i128 * size) }
    };
    let mut causes: Vec<Blamed> = Reason::all().map(of).collect();
    causes.sort_by_key(|one| (Reverse(one.excess), one.cause.name()));
    causes
}
