//! Distributions of latencies and waits.

use super::{Figures, mean};
use crate::units::count;

/// A distribution of latencies or waits, in nanoseconds: buckets of three significant digits, with exact extremes and sum.
///
/// Buckets are those of an HDR histogram of three digits over all 64 bits. Values below 2,048 have one bucket each; above, each
/// doubling has 1,024. The histogram is implemented here because every request records values.
#[derive(Clone, Debug)]
pub struct Distribution {
    buckets: Box<[u64; EDGES]>,
    count: u64,
    /// The lower half of the sum, and its upper half, which rarely changes.
    sum: u64,
    carries: u64,
    min: u64,
    max: u64,
}

/// `log2` of the number of buckets per doubling.
const DIGITS: u32 = 10;

/// The bucket of a value.
#[inline(always)]
pub(super) fn bucket(value: u64) -> usize {
    let doublings = (63 - (value | 1 << DIGITS).leading_zeros()) - DIGITS;
    // A number of buckets, so that no overflow is possible.
    u64::from(doublings << DIGITS).wrapping_add(value >> doublings) as usize
}

/// The largest value of a bucket.
pub(super) fn edge(bucket: usize) -> u64 {
    let doublings = (bucket >> DIGITS).saturating_sub(1);
    let step = (bucket - (doublings << DIGITS)) as u64;
    (step << doublings) + ((1 << doublings) - 1)
}

/// Number of buckets.
pub(super) const EDGES: usize = ((64 - DIGITS as usize) << DIGITS) + (1 << DIGITS);

impl Distribution {
    /// An empty distribution. Allocates all its memory.
    pub fn new() -> Self {
        let buckets = vec![0; EDGES].into_boxed_slice().try_into().expect("as many as it has");
        Distribution { buckets, count: 0, sum: 0, carries: 0, min: u64::MAX, max: 0 }
    }

    /// Records a value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.add(value);
    }

    /// The same. Returns whether the lower half of the sum has overflowed.
    #[inline(always)]
    pub(crate) fn add(&mut self, value: u64) -> bool {
        count(&mut self.buckets[bucket(value)]);
        count(&mut self.count);
        let (sum, carries) = self.sum.overflowing_add(value);
        self.sum = sum;
        if carries {
            self.carries += 1;
        }
        // Extremes are rarely exceeded, so they are rarely written.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
        carries
    }

    /// Records a value that is often 0.
    #[inline(always)]
    pub(crate) fn record_wait(&mut self, value: u64) {
        if value == 0 {
            count(&mut self.buckets[0]);
            count(&mut self.count);
            self.min = 0;
        } else {
            self.add(value);
        }
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.buckets.fill(0);
            self.count = 0;
            self.sum = 0;
            self.carries = 0;
            self.min = u64::MAX;
            self.max = 0;
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum of all values.
    pub fn sum(&self) -> u128 {
        u128::from(self.carries) << 64 | u128::from(self.sum)
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        self.buckets.iter_mut().zip(&*other.buckets).for_each(|(count, more)| *count += more);
        self.count += other.count;
        let (sum, carries) = self.sum.overflowing_add(other.sum);
        self.sum = sum;
        self.carries += other.carries + u64::from(carries);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The figures, or nulls without values. A percentile is the upper edge of the bucket of rank `ceil(q n)`, at most the
    /// maximum.
    pub fn figures(&self) -> Figures {
        let some = |value: u64| (self.count > 0).then_some(value);
        // (numerator, denominator) of each quantile, ascending, so that one pass over the buckets is enough.
        const QUANTILES: [(u128, u128); 6] = [(1, 2), (9, 10), (95, 100), (99, 100), (999, 1000), (9999, 10000)];
        let mut values = [None; 6];
        let (mut seen, mut next) = (0u128, 0);
        for (bucket, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            seen += u128::from(*count);
            while next < QUANTILES.len()
                && seen >= (u128::from(self.count) * QUANTILES[next].0).div_ceil(QUANTILES[next].1)
            {
                values[next] = Some(edge(bucket).min(self.max));
                next += 1;
            }
        }
        let [p50, p90, p95, p99, p99_9, p99_99] = values;
        let (count, min, max) = (self.count, some(self.min), some(self.max));
        Figures { count, mean: mean(self.sum(), self.count), min, max, p50, p90, p95, p99, p99_9, p99_99 }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Compares with a well-known implementation, at every edge and at random values.
    #[test]
    fn buckets_are_those_of_an_hdr_histogram() {
        let hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 62, 3).unwrap();
        let mut rng = stream(3, "values");
        let random = (0..100_000).map(|_| below(&mut rng, 1 << 62) >> below(&mut rng, 62));
        let edges = (0..62).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]);
        for value in random.chain(edges).chain(0..5000) {
            assert_eq!(edge(bucket(value)), hdr.highest_equivalent(value), "{value}");
        }
        let last = bucket(u64::MAX);
        assert_eq!(last + 1, EDGES);
        assert!((0..last).all(|i| bucket(edge(i)) == i && bucket(edge(i) + 1) == i + 1));
        assert_eq!(edge(last), u64::MAX);
    }
}
