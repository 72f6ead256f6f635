//! Latencies and waits by bucket, with the exact sum of every cause in each bucket of latency.

use std::mem::offset_of;

use ssdlab_memory::prefetch_first;

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

/// Sums of a bucket, as far as 64 bits hold the sum of its values. By law, no cause has more than that.
#[derive(Clone)]
#[repr(C)]
struct Row {
    bucket: u32,
    count: u64,
    sum: u64,
    largest: u64,
    causes: [u64; Cause::COUNT],
}

/// Sums that are not in a row: what did not fit into it, and causes of optional features.
#[derive(Clone)]
struct Spill {
    sum: u128,
    causes: [u128; Cause::COUNT],
    extras: [u128; Extra::COUNT],
}

/// Rows of the buckets that are not empty, found by bucket.
#[derive(Clone)]
struct Rows {
    /// By bucket: its row, from 1; 0 without one.
    places: Box<[u32]>,
    rows: Vec<Row>,
    /// By row, as far as there are any.
    spilled: Vec<Spill>,
}

impl Rows {
    fn new() -> Self {
        Rows { places: vec![0; EDGES].into(), rows: Vec::new(), spilled: Vec::new() }
    }

    /// The row of a value.
    #[inline(always)]
    fn place(&mut self, value: u64) -> usize {
        let bucket = bucket(value);
        let place = &mut self.places[bucket];
        if *place == 0 {
            self.rows.push(Row { bucket: bucket as u32, count: 0, sum: 0, largest: 0, causes: [0; Cause::COUNT] });
            *place = self.rows.len() as u32;
        }
        *place as usize - 1
    }

    /// The row of a value, of which the first `BYTES` bytes are needed soon.
    #[inline(always)]
    fn expect<const BYTES: usize>(&mut self, value: u64) -> usize {
        let place = self.place(value);
        prefetch_first::<_, BYTES>(&self.rows[place]);
        place
    }

    /// Adds a request with this value to its row, and with these causes if they are summed here.
    #[inline(always)]
    fn add(&mut self, place: usize, value: u64, causes: Option<&Blame>) {
        let row = &mut self.rows[place];
        row.count += 1;
        row.largest = row.largest.max(value);
        let Some(sum) = row.sum.checked_add(value) else {
            return self.spill(place, value.into(), causes.unwrap_or(&Blame::ZERO).0.map(u128::from));
        };
        row.sum = sum;
        if let Some(causes) = causes {
            row.causes.iter_mut().zip(causes.0).for_each(|(sum, ns)| *sum = sum.wrapping_add(ns));
        }
    }

    /// Adds `count` requests with this value each, and these causes in all.
    fn add_many(&mut self, value: u64, count: u64, causes: [u128; Cause::COUNT]) {
        let place = self.place(value);
        let row = &mut self.rows[place];
        row.count += count;
        row.largest = row.largest.max(value);
        self.spill(place, u128::from(value) * u128::from(count), causes);
    }

    #[cold]
    fn spill(&mut self, place: usize, sum: u128, causes: [u128; Cause::COUNT]) {
        let spill = self.more(place);
        spill.sum += sum;
        spill.causes.iter_mut().zip(causes).for_each(|(sum, ns)| *sum += ns);
    }

    /// Adds causes of optional features of a request with this value, which is counted apart.
    fn add_extras(&mut self, value: u64, extras: &ExtraBlame) {
        let place = self.place(value);
        let sums = &mut self.more(place).extras;
        sums.iter_mut().zip(extras.0).for_each(|(sum, ns)| *sum += u128::from(ns));
    }

    /// What a row does not hold.
    fn more(&mut self, place: usize) -> &mut Spill {
        if self.spilled.len() <= place {
            self.spilled.resize(self.rows.len(), Spill::ZERO);
        }
        &mut self.spilled[place]
    }

    fn buckets(&self) -> Vec<Bucket> {
        let mut rows: Vec<(usize, &Row)> = self.rows.iter().enumerate().collect();
        rows.sort_unstable_by_key(|(_, row)| row.bucket);
        let lower = |bucket: u32| if bucket == 0 { 0 } else { edge(bucket as usize - 1) + 1 };
        rows.into_iter()
            .map(|(place, row)| {
                let mut sums = self.spilled.get(place).unwrap_or(&Spill::ZERO).clone();
                sums.causes.iter_mut().zip(row.causes).for_each(|(sum, ns)| *sum += u128::from(ns));
                Bucket {
                    lower: lower(row.bucket),
                    upper: edge(row.bucket as usize),
                    count: row.count,
                    sum: sums.sum + u128::from(row.sum),
                    largest: row.largest,
                    causes: sums.causes,
                    extras: sums.extras,
                }
            })
            .collect()
    }
}

impl Spill {
    const ZERO: Self = Spill { sum: 0, causes: [0; Cause::COUNT], extras: [0; Extra::COUNT] };
}

/// A request that waited, whose rows have been prefetched: they are spread over more memory than a cache has.
#[derive(Clone)]
struct Late {
    blame: Blame,
    latency: u64,
    waits: u64,
    /// Its rows of latencies and, if it has any, of waits.
    rows: (usize, usize),
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
    /// The last request that waited, which is not among the rows yet.
    late: Option<Late>,
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
        Histogram { latency: Rows::new(), waiting: Rows::new(), late: None, last, alike }
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
        self.latency.add_extras(latency, extras);
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
        let row = self.latency.expect::<{ size_of::<Row>() }>(latency);
        let of_waits = if waits > 0 { self.waiting.expect::<{ offset_of!(Row, causes) }>(waits) } else { 0 };
        let rows = (row, of_waits);
        if let Some(late) = self.late.replace(Late { blame: *blame, latency, waits, rows }) {
            late.flush(&mut self.latency, &mut self.waiting);
        }
    }

    /// Rows of latencies and of waits with all requests.
    fn rows(&self) -> (Rows, Rows) {
        let (mut latency, mut waiting) = (self.latency.clone(), self.waiting.clone());
        if let Some(late) = &self.late {
            late.flush(&mut latency, &mut waiting);
        }
        self.kinds().for_each(|alike| alike.flush(&mut latency));
        (latency, waiting)
    }

    fn kinds(&self) -> impl Iterator<Item = &Alike> {
        self.alike.iter().chain([&self.last])
    }

    /// The buckets of latency that are not empty, ascending.
    pub fn latency(&self) -> Vec<Bucket> {
        self.rows().0.buckets()
    }

    /// The buckets of waits that are not empty, ascending.
    pub fn waiting(&self) -> Vec<Bucket> {
        let (all, mut waiting) = self.rows();
        let of = |rows: &Rows| rows.rows.iter().map(|row| row.count).sum::<u64>();
        let nothing = of(&all) - of(&waiting);
        if nothing > 0 {
            waiting.add_many(0, nothing, [0; Cause::COUNT]);
        }
        waiting.buckets()
    }
}

impl Late {
    fn flush(&self, latency: &mut Rows, waiting: &mut Rows) {
        latency.add(self.rows.0, self.latency, Some(&self.blame));
        if self.waits > 0 {
            waiting.add(self.rows.1, self.waits, None);
        }
    }
}

impl Alike {
    fn flush(&self, rows: &mut Rows) {
        if self.count == 0 {
            return;
        }
        let mut causes = [0; Cause::COUNT];
        causes[Cause::Array as usize] = u128::from(self.array) * u128::from(self.count);
        causes[Cause::Bus as usize] = u128::from(self.bus) * u128::from(self.count);
        rows.add_many(self.latency, self.count, causes);
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
        for i in 0..50_000 {
            let mut blame = Blame::ZERO;
            blame.add(Cause::Array, [0, 50_000, 600_000][below(&mut rng, 3) as usize]);
            blame.add(Cause::Bus, 1_280 * below(&mut rng, 40));
            blame.add(Cause::Memory, 70 * (below(&mut rng, 8) / 7));
            if below(&mut rng, 3) == 0 {
                blame.add(Cause::DieGcOwn, below(&mut rng, 1 << 40) >> below(&mut rng, 40));
            }
            if i % 1_000 == 0 {
                // A few of these exceed the 64 bits of a row.
                blame.add(Cause::Order, 1 << 62);
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
