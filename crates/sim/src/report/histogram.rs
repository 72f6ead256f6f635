//! Latencies and waits by bucket, with the exact sum of every cause in each bucket of latency.

use super::distribution::{EDGES, bucket, edge};
use crate::blame::{Blame, Cause, Causes, Extra, ExtraBlame};

/// Requests whose latency or wait falls into one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Least value of the bucket.
    pub lower: u64,
    /// Greatest value of the bucket.
    pub upper: u64,
    /// Requests.
    pub count: u64,
    /// Sum of their values.
    pub sum: u128,
    /// Greatest of their values.
    pub largest: u64,
    /// Sums of their causes; all zero for waits.
    pub causes: [u128; Cause::COUNT],
    /// Sums of the causes of optional features.
    pub extras: [u128; Extra::COUNT],
}

/// Sums of a bucket.
#[derive(Clone)]
struct Row {
    bucket: u32,
    count: u64,
    sum: u128,
    largest: u64,
    causes: [u128; Cause::COUNT],
    extras: [u128; Extra::COUNT],
}

/// Rows of the buckets that are not empty, found by bucket.
#[derive(Clone)]
struct Rows {
    /// By bucket: its row, from 1; 0 without one.
    places: Box<[u32]>,
    rows: Vec<Row>,
}

impl Rows {
    fn new() -> Self {
        Rows { places: vec![0; EDGES].into(), rows: Vec::new() }
    }

    /// Adds `count` requests with this value each.
    fn add(&mut self, value: u64, count: u64) -> &mut Row {
        let bucket = bucket(value);
        let place = &mut self.places[bucket];
        if *place == 0 {
            let (causes, extras) = ([0; Cause::COUNT], [0; Extra::COUNT]);
            self.rows.push(Row { bucket: bucket as u32, count: 0, sum: 0, largest: 0, causes, extras });
            *place = self.rows.len() as u32;
        }
        let row = &mut self.rows[*place as usize - 1];
        row.count += count;
        row.sum += u128::from(value) * u128::from(count);
        row.largest = row.largest.max(value);
        row
    }

    fn buckets(&self) -> Vec<Bucket> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|row| row.bucket);
        let lower = |bucket: u32| if bucket == 0 { 0 } else { edge(bucket as usize - 1) + 1 };
        rows.into_iter()
            .map(|row| Bucket {
                lower: lower(row.bucket),
                upper: edge(row.bucket as usize),
                count: row.count,
                sum: row.sum,
                largest: row.largest,
                causes: row.causes,
                extras: row.extras,
            })
            .collect()
    }
}

/// Requests that waited for nothing and are alike: a count stands for their rows.
#[derive(Clone, Copy, Default)]
struct Alike {
    latency: u64,
    array: u64,
    bus: u64,
    count: u64,
}

/// `log2` of the number of kinds that are counted apart.
const KINDS: u32 = 4;

/// Latencies and waits of one kind of request by bucket.
#[derive(Clone)]
pub struct Histogram {
    latency: Rows,
    /// Without the requests that waited for nothing.
    waiting: Rows,
    /// Those like the last one that waited for nothing, and those like earlier ones.
    last: Alike,
    alike: [Alike; 1 << KINDS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Without requests.
    pub fn new() -> Self {
        let (last, alike) = (Alike::default(), [Alike::default(); 1 << KINDS]);
        Histogram { latency: Rows::new(), waiting: Rows::new(), last, alike }
    }

    /// Adds a request with the sum of its waits. Most wait for nothing and are like one that came before: they cost a comparison.
    #[inline(always)]
    pub fn record(&mut self, blame: &Blame, latency: u64, waits: u64) {
        let flash = (blame.0[Cause::Array as usize], blame.0[Cause::Bus as usize]);
        if !self.is_like_last(flash, latency, waits) {
            self.record_other(blame, latency, waits);
        }
    }

    /// The same by a page's causes.
    #[inline(always)]
    pub(crate) fn record_causes(&mut self, causes: &Causes, latency: u64, waits: u64) {
        if !self.is_like_last(causes.flash(), latency, waits) {
            self.record_other(&causes.all(), latency, waits);
        }
    }

    /// Whether a request waited for nothing and is like the last one such, by its array and bus time. If so, it is counted.
    #[inline(always)]
    fn is_like_last(&mut self, (array, bus): (u64, u64), latency: u64, waits: u64) -> bool {
        let last = &mut self.last;
        let like = waits == 0 && last.latency == latency && last.array == array && last.bus == bus;
        if like {
            // No run has 2^64 requests.
            last.count = last.count.wrapping_add(1);
        }
        like
    }

    /// Adds a request with the sum of its waits, and with its causes of optional features.
    pub fn record_all(&mut self, blame: &Blame, extras: &ExtraBlame, latency: u64, waits: u64) {
        self.record(blame, latency, waits);
        if extras.sum() > 0 {
            self.record_extras(extras, latency);
        }
    }

    /// Adds the causes of optional features of the request recorded last, which has waited.
    pub(crate) fn record_extras(&mut self, extras: &ExtraBlame, latency: u64) {
        let row = self.latency.add(latency, 0);
        for (sum, ns) in row.extras.iter_mut().zip(extras.0) {
            *sum += u128::from(ns);
        }
    }

    #[inline(never)]
    fn record_other(&mut self, blame: &Blame, latency: u64, waits: u64) {
        let (array, bus) = (blame.0[Cause::Array as usize], blame.0[Cause::Bus as usize]);
        // Only where these two are all of the latency do they tell all causes.
        if waits == 0 && array + bus == latency {
            let before = std::mem::replace(&mut self.last, Alike { latency, array, bus, count: 1 });
            let place = &mut self.alike[kind(before.latency)];
            if (place.latency, place.array, place.bus) == (before.latency, before.array, before.bus) {
                place.count += before.count;
            } else {
                std::mem::replace(place, before).flush(&mut self.latency);
            }
            return;
        }
        let row = self.latency.add(latency, 1);
        for (sum, ns) in row.causes.iter_mut().zip(blame.0) {
            *sum += u128::from(ns);
        }
        if waits > 0 {
            self.waiting.add(waits, 1);
        }
    }

    fn kinds(&self) -> impl Iterator<Item = &Alike> {
        self.alike.iter().chain([&self.last])
    }

    /// The buckets of latency that are not empty, ascending.
    pub fn latency(&self) -> Vec<Bucket> {
        let mut rows = self.latency.clone();
        self.kinds().for_each(|alike| alike.flush(&mut rows));
        rows.buckets()
    }

    /// The buckets of waits that are not empty, ascending.
    pub fn waiting(&self) -> Vec<Bucket> {
        let (mut rows, of) = (self.waiting.clone(), |rows: &Rows| rows.rows.iter().map(|row| row.count).sum::<u64>());
        let all = of(&self.latency) + self.kinds().map(|alike| alike.count).sum::<u64>();
        let nothing = all - of(&rows);
        if nothing > 0 {
            rows.add(0, nothing);
        }
        rows.buckets()
    }
}

impl Alike {
    fn flush(&self, rows: &mut Rows) {
        if self.count == 0 {
            return;
        }
        let row = rows.add(self.latency, self.count);
        row.causes[Cause::Array as usize] += u128::from(self.array) * u128::from(self.count);
        row.causes[Cause::Bus as usize] += u128::from(self.bus) * u128::from(self.count);
    }
}

/// A place for requests of a latency.
#[inline(always)]
fn kind(latency: u64) -> usize {
    (latency.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KINDS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};
    use crate::report::Distribution;

    #[test]
    fn rows_sum_exactly_and_share_the_summary_s_buckets() {
        let mut rng = stream(5, "requests");
        let (mut histogram, mut latencies, mut waits) = (Histogram::new(), Distribution::new(), Distribution::new());
        let mut total = [0u128; Cause::COUNT];
        for _ in 0..50_000 {
            let mut blame = Blame::ZERO;
            blame.add(Cause::Array, [0, 50_000, 600_000][below(&mut rng, 3) as usize]);
            blame.add(Cause::Bus, 1_280 * below(&mut rng, 40));
            blame.add(Cause::Memory, 70 * (below(&mut rng, 8) / 7));
            if below(&mut rng, 3) == 0 {
                blame.add(Cause::DieGcOwn, below(&mut rng, 1 << 40) >> below(&mut rng, 40));
            }
            let latency = blame.waits() + blame.service();
            histogram.record(&blame, latency, blame.waits());
            latencies.record(latency);
            waits.record(blame.waits());
            total.iter_mut().zip(blame.0).for_each(|(sum, ns)| *sum += u128::from(ns));
        }
        for (buckets, distribution) in [(histogram.latency(), &latencies), (histogram.waiting(), &waits)] {
            assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), distribution.count());
            assert_eq!(buckets.iter().map(|b| b.sum).sum::<u128>(), distribution.sum());
            assert!(buckets.windows(2).all(|pair| pair[0].upper < pair[1].lower));
            assert!(buckets.iter().all(|b| b.lower <= b.largest && b.largest <= b.upper));
            // The percentile from the rows is the summary's.
            let rank = (u128::from(distribution.count()) * 99).div_ceil(100) as u64;
            let mut seen = 0;
            let found = buckets.iter().find(|b| {
                seen += b.count;
                seen >= rank
            });
            let largest = buckets.last().unwrap().largest;
            assert_eq!(found.map(|b| b.upper.min(largest)), distribution.figures().p99);
        }
        let mut sums = [0u128; Cause::COUNT];
        for bucket in histogram.latency() {
            assert_eq!(bucket.causes.iter().sum::<u128>(), bucket.sum);
            sums.iter_mut().zip(bucket.causes).for_each(|(sum, ns)| *sum += ns);
        }
        assert_eq!(sums, total);
    }
}
