//! Draws that give the same bytes on every machine: raw 64-bit words, integer range reduction, tables
//! built once. No distribution code of another crate is used, so an update cannot change results.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random words.
pub(super) type Stream = Xoshiro256PlusPlus;

/// Returns one independent stream per purpose: each is 2^128 words further along the same sequence.
pub(super) struct RandomStreams {
    next: Stream,
}

impl RandomStreams {
    pub(super) fn new(seed: u64) -> Self {
        Self { next: Stream::seed_from_u64(seed) }
    }

    pub(super) fn take(&mut self) -> Stream {
        let stream = self.next.clone();
        self.next.jump();
        stream
    }
}

/// Uniform in `0..n` by multiply-shift; `n` = 0 gives 0.
///
/// Without the rejection step the bias is below n / 2^64, and every draw costs exactly one word, so that
/// a draw's position in its stream never depends on the values drawn.
#[inline]
pub(super) fn below(rng: &mut Stream, n: u64) -> u64 {
    split(rng.next_u64(), n).0
}

/// Uniform index in `0..n`, and the rest of the word as a fraction of 2^64.
#[inline]
fn split(word: u64, n: u64) -> (u64, u64) {
    let wide = u128::from(word) * u128::from(n);
    // The low half is meant.
    ((wide >> 64) as u64, wide as u64)
}

/// True with probability `ppm` / 1,000,000; the certain cases cost no word.
#[inline]
pub(super) fn chance(rng: &mut Stream, ppm: u32) -> bool {
    match ppm {
        0 => false,
        1_000_000.. => true,
        _ => below(rng, 1_000_000) < u64::from(ppm),
    }
}

/// Exponentially distributed with mean 1, from 53 bits that are never zero.
#[inline]
pub(super) fn exponential(rng: &mut Stream) -> f64 {
    let unit = ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0); // 53 bits fit exactly.
    -libm::log(unit)
}

/// Walker's alias table over integer weights.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    entries: Arc<[(u64, u32)]>,
}

impl Alias {
    /// A table over `weights`; `None` if there are none, too many, or all are zero.
    pub(super) fn new(weights: &[u64]) -> Option<Self> {
        let n = u32::try_from(weights.len()).ok()?;
        let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
        if n == 0 || total == 0 {
            return None;
        }
        // Scaled weights: `total` is the fair share of one entry. 64 + 32 bits at most.
        let mut left: Vec<u128> = weights.iter().map(|&w| u128::from(w) * u128::from(n)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) = (0..n).partition(|&i| left[i as usize] < total);
        let mut entries: Vec<(u64, u32)> = (0..n).map(|i| (u64::MAX, i)).collect();
        while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
            entries[s as usize] = (fraction(left[s as usize], total), l);
            left[l as usize] -= total - left[s as usize];
            if left[l as usize] < total {
                large.pop();
                small.push(l);
            }
        }
        Some(Self { entries: entries.into() })
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Stream) -> usize {
        let (i, rest) = split(rng.next_u64(), self.entries.len() as u64);
        let (threshold, other) = self.entries[i as usize];
        if rest < threshold { i as usize } else { other as usize }
    }
}

/// `part` / `whole` as a fraction of 2^64, `part` < `whole` < 2^96: schoolbook division, 32 bits at a time.
fn fraction(part: u128, whole: u128) -> u64 {
    let mut rest = part;
    let mut result = 0_u64;
    for _ in 0..2 {
        rest <<= 32;
        // rest < whole * 2^32, so the quotient has 32 bits.
        let digit = (rest / whole) as u64;
        result = (result << 32) | digit;
        rest %= whole;
    }
    result
}

/// Ranks 0..n with popularity proportional to (rank + 1)^-theta.
///
/// Ranks are drawn in two words and no power: an alias table picks a group of neighbouring ranks (the first
/// 128 ranks are groups of their own, later groups span 1/64 of their rank), whose total is exact; inside
/// it popularity falls linearly between the exact end values. The popularity of any rank is within 1e-4 of
/// the exact one, relatively, and the tables (some 20 KiB for 4 million ranks) stay in the nearest cache.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    groups: Alias,
    spans: Arc<[Span]>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    count: u64,
    /// Chance of mirroring the last rank to the first, a step of the distance, in 2^-64.
    slope: u64,
}

impl Zipf {
    /// `theta` in [0, 10]; `n` > 0. With a population, a whole number of at least `n`, each rank stands for
    /// `population / n` neighbouring ranks of it.
    pub(super) fn new(n: u64, theta: f64, population: Option<f64>) -> Option<Self> {
        let each = population.map_or(1.0, |ranks| ranks / n as f64); // Below 2^50.
        let mass_of = |first: u64, last: u64| match population {
            None if last - first < 64 => (first..=last).map(|k| power(k, theta)).sum(),
            None => span_mass(first as f64 - 0.5, last as f64 + 0.5, theta),
            Some(_) => shared_mass((first - 1) as f64 * each, last as f64 * each, theta),
        };
        let at = |rank: u64| match population {
            None => power(rank, theta),
            Some(_) => mass_of(rank, rank),
        };
        let mut spans = Vec::new();
        let mut masses = Vec::new();
        let mut first = 1_u64;
        while first <= n {
            let count = (first / 64).max(1).min(n - first + 1);
            let last = first + count - 1;
            let (head, tail) = (at(first), at(last));
            let mass = mass_of(first, last);
            let slope = if count > 1 {
                // The largest float below 2^64 / count keeps the product with (count - 1) in range.
                (head - tail) / (head + tail) / (count - 1) as f64 * 18_446_744_073_709_551_616.0
            } else {
                0.0
            };
            spans.push(Span { first: first - 1, count, slope: slope as u64 }); // Saturating by definition.
            masses.push(mass);
            first += count;
        }
        let total: f64 = masses.iter().sum();
        let scale = 4_503_599_627_370_496.0 / total; // 2^52: far below the noise of any run.
        let weights: Vec<u64> = masses.iter().map(|m| libm::rint(m * scale) as u64).collect();
        Some(Self { groups: Alias::new(&weights)?, spans: spans.into() })
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Stream) -> u64 {
        let span = self.spans[self.groups.draw(rng)];
        if span.count == 1 {
            return span.first;
        }
        let (j, rest) = split(rng.next_u64(), span.count);
        let mirrored = span.count - 1 - j;
        // In the farther half, mirror in proportion to the distance from the middle.
        let j = if j > mirrored && rest < (j - mirrored) * span.slope { mirrored } else { j };
        span.first + j
    }
}

fn power(rank: u64, theta: f64) -> f64 {
    libm::pow(rank as f64, -theta) // Ranks are below 2^53.
}

/// Sum of k^-theta over the ranks above `from` up to `to`, where a rank that a bound divides counts in proportion. All are below 2^50.
fn shared_mass(from: f64, to: f64, theta: f64) -> f64 {
    /// Below this rank the sum is taken term by term.
    const EXACT: f64 = 4096.0;
    let part = |from: f64, to: f64| -> f64 {
        let (first, last) = (libm::floor(from) as u64 + 1, libm::ceil(to) as u64);
        (first..=last).map(|k| power(k, theta) * ((k as f64).min(to) - (k as f64 - 1.0).max(from))).sum()
    };
    let near = if from < EXACT { part(from, to.min(EXACT)) } else { 0.0 };
    let start = from.max(EXACT);
    near + if to > start { span_mass(start + 0.5, to + 0.5, theta) } else { 0.0 }
}

/// Integral of k^-theta with the first correction of the midpoint rule: the sum over the ranks between `a` and `b`, which are
/// half-integers.
fn span_mass(a: f64, b: f64, theta: f64) -> f64 {
    // a^(1-theta) * ln(b/a) * (e^d - 1) / d, which stays exact as theta nears 1.
    let span = libm::log(b / a);
    let d = (1.0 - theta) * span;
    let stretch = if d == 0.0 { 1.0 } else { libm::expm1(d) / d };
    let integral = libm::pow(a, 1.0 - theta) * span * stretch;
    let slope = |x: f64| -theta * libm::pow(x, -theta - 1.0);
    integral - (slope(b) - slope(a)) / 24.0
}

/// What fio draws for `random_distribution=zipf:theta`, by the published method of its `lib/zipf.c` (after Gray and others,
/// SIGMOD 1994): a rank from one number of 32 bits, hashed by a multiplication onto the slots, and shifted. Its numbers come from
/// our stream, not from fio's generator.
#[derive(Clone, Copy, Debug)]
pub(super) struct FioZipf {
    slots: u64,
    zeta: f64,
    /// Below this the second rank is drawn.
    second: f64,
    eta: f64,
    alpha: f64,
    offset: u64,
}

impl FioZipf {
    /// fio sums at most so many terms.
    const TERMS: u64 = 10_000_000;
    /// Multiplier of fio's `__hash_u64`.
    const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;

    /// `theta` above 0, not 1; at least three slots.
    pub(super) fn new(slots: u64, theta: f64, rng: &mut Stream) -> Self {
        let zeta: f64 = (1..=slots.min(Self::TERMS)).map(|k| power(k, theta)).sum();
        let second = 1.0 + power(2, theta);
        let eta = (1.0 - libm::pow(2.0 / slots as f64, 1.0 - theta)) / (1.0 - second / zeta);
        Self { slots, zeta, second, eta, alpha: 1.0 / (1.0 - theta), offset: rng.next_u64() >> 32 }
    }

    /// The rank, from 0, of a uniform number in [0, 1].
    #[inline]
    fn rank(&self, uniform: f64) -> u64 {
        let z = uniform * self.zeta;
        if z < 1.0 {
            return 0;
        }
        if z < self.second {
            return 1;
        }
        // `as` saturates.
        (self.slots as f64 * libm::pow(self.eta * uniform - self.eta + 1.0, self.alpha)) as u64
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Stream) -> u64 {
        let uniform = (rng.next_u64() >> 32) as f64 / f64::from(u32::MAX);
        self.rank(uniform).wrapping_mul(Self::GOLDEN).wrapping_add(self.offset) % self.slots
    }
}

/// A fixed shuffle of 0..n without a table: a bijection of the next power of two, walked until it lands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    n: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Shuffle {
    pub(super) fn new(n: u64, rng: &mut Stream) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        Self {
            n,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            shift: (bits / 2).max(1),
            keys: [rng.next_u64(), rng.next_u64(), rng.next_u64()],
        }
    }

    /// The position of rank `x`.
    #[inline]
    pub(super) fn apply(&self, x: u64) -> u64 {
        let mut x = x;
        loop {
            for key in self.keys {
                // An odd factor and a right xor-shift are both bijections of `mask`-wide words.
                x = x.wrapping_add(key >> 1).wrapping_mul(key | 1) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        RandomStreams::new(7).take()
    }

    #[test]
    fn alias_follows_its_weights() {
        let weights = [5, 0, 1, 94, 400, 500];
        let alias = Alias::new(&weights).unwrap();
        let mut rng = stream();
        let mut counts = [0_u64; 6];
        for _ in 0..1_000_000 {
            counts[alias.draw(&mut rng)] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!(count.abs_diff(weight * 1000) <= 5 * 32 * 32, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
        assert!(Alias::new(&[]).is_none() && Alias::new(&[0, 0]).is_none());
    }

    /// The implied probability of every rank, summed exactly from the tables, against the definition.
    #[test]
    fn zipf_is_exact_to_one_in_ten_thousand() {
        for (n, theta) in [(100_000_u64, 0.99), (50_000, 1.0), (50_000, 1.000_000_000_001), (200_000, 1.3), (999, 0.2)]
        {
            let zipf = Zipf::new(n, theta, None).unwrap();
            let size = zipf.groups.entries.len();
            let mut mass = vec![0.0; size];
            for (i, &(threshold, other)) in zipf.groups.entries.iter().enumerate() {
                let own = threshold as f64 / 18_446_744_073_709_551_616.0;
                mass[i] += own / size as f64;
                mass[other as usize] += (1.0 - own) / size as f64;
            }
            let total: f64 = (1..=n).map(|k| power(k, theta)).sum();
            for (span, mass) in zipf.spans.iter().zip(&mass) {
                for j in 0..span.count {
                    let far = (2 * j) as f64 - (span.count - 1) as f64;
                    let tilt = 1.0 - far * span.slope as f64 / 18_446_744_073_709_551_616.0;
                    let ours = mass / span.count as f64 * tilt;
                    let exact = power(span.first + j + 1, theta) / total;
                    assert!(
                        (ours / exact - 1.0).abs() < 1e-4,
                        "n {n} theta {theta} rank {}: {ours} for {exact}",
                        span.first + j
                    );
                }
            }
        }
    }

    #[test]
    fn zipf_draws_follow_the_head() {
        let zipf = Zipf::new(1_000_000, 0.99, None).unwrap();
        let total: f64 = (1..=1_000_000).map(|k| power(k, 0.99)).sum();
        let mut rng = stream();
        let mut first = 0_u32;
        for _ in 0..1_000_000 {
            let rank = zipf.draw(&mut rng);
            assert!(rank < 1_000_000);
            first += u32::from(rank == 0);
        }
        assert!((f64::from(first) / 1e6 * total - 1.0).abs() < 0.02);
    }

    #[test]
    fn shuffle_is_a_permutation() {
        for n in [1_u64, 2, 3, 17, 64, 1000, 4097] {
            let shuffle = Shuffle::new(n, &mut stream());
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let y = shuffle.apply(x) as usize;
                assert!(!seen[y], "n {n}: {y} twice");
                seen[y] = true;
            }
        }
    }

    #[test]
    fn exponential_has_mean_one() {
        let mut rng = stream();
        let mean = (0..1_000_000).map(|_| exponential(&mut rng)).sum::<f64>() / 1e6;
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
    }
    /// With a population, every slot has the mass of the ranks that it stands for, also where they are no whole number.
    #[test]
    fn zipf_slots_stand_for_the_ranks_of_the_population() {
        for (n, population, theta) in [(1_000_u64, 50_000_u64, 1.0), (999, 2_498, 0.8), (300, 1_000_003, 1.2)] {
            let zipf = Zipf::new(n, theta, Some(population as f64)).unwrap();
            let size = zipf.groups.entries.len();
            let mut mass = vec![0.0; size];
            for (i, &(threshold, other)) in zipf.groups.entries.iter().enumerate() {
                let own = threshold as f64 / 18_446_744_073_709_551_616.0;
                mass[i] += own / size as f64;
                mass[other as usize] += (1.0 - own) / size as f64;
            }
            // Of each rank a slot has the share of the interval (rank - 1, rank] that lies in its own.
            let mut exact = vec![0.0; n as usize];
            for k in 1..=population {
                let (low, high) = ((k - 1) as u128 * u128::from(n), u128::from(k) * u128::from(n));
                let (first, last) = (low / u128::from(population), (high - 1) / u128::from(population));
                for slot in first..=last {
                    let from = low.max(slot * u128::from(population));
                    let to = high.min((slot + 1) * u128::from(population));
                    exact[slot as usize] += power(k, theta) * (to - from) as f64 / n as f64;
                }
            }
            let total: f64 = (1..=population).map(|k| power(k, theta)).sum();
            for (span, mass) in zipf.spans.iter().zip(&mass) {
                for j in 0..span.count {
                    let far = (2 * j) as f64 - (span.count - 1) as f64;
                    let tilt = 1.0 - far * span.slope as f64 / 18_446_744_073_709_551_616.0;
                    let ours = mass / span.count as f64 * tilt;
                    let slot = (span.first + j) as usize;
                    let ratio = ours / (exact[slot] / total);
                    assert!((ratio - 1.0).abs() < 2e-3, "{n} of {population}, theta {theta}, slot {slot}: {ratio}");
                }
            }
        }
    }

    /// Shares of the first ranks are fio's, and the slots that its hash reaches are drawn, and no others.
    #[test]
    fn fio_zipf_follows_its_source() {
        let (n, theta) = (100_003_u64, 0.8);
        let mut rng = stream();
        let zipf = FioZipf::new(n, theta, &mut rng);
        let zeta: f64 = (1..=n).map(|k| power(k, theta)).sum();
        let mut seen = vec![0_u32; n as usize];
        let draws = 4_000_000;
        for _ in 0..draws {
            seen[zipf.draw(&mut rng) as usize] += 1;
        }
        let slot = |rank: u64| (rank.wrapping_mul(0x61c8_8646_80b5_83eb).wrapping_add(zipf.offset) % n) as usize;
        let share = |rank: u64| f64::from(seen[slot(rank)]) / f64::from(draws);
        assert!((share(0) * zeta - 1.0).abs() < 0.03, "{}", share(0) * zeta);
        assert!((share(1) * zeta / power(2, theta) - 1.0).abs() < 0.05);
        // By the formula: the last number gives the last rank, and the ranks ascend.
        assert_eq!(zipf.rank(1.0), n);
        assert!(zipf.rank(0.9) < zipf.rank(0.99));
        let mut reached = vec![false; n as usize];
        (0..n).for_each(|rank| reached[slot(rank)] = true);
        let alone = |of: &dyn Fn(usize) -> bool| (0..n as usize).filter(|i| !of(*i)).count() as f64 / n as f64;
        let (unreached, undrawn) = (alone(&|i| reached[i]), alone(&|i| seen[i] > 0));
        assert!((0.2..0.4).contains(&unreached) && (undrawn - unreached).abs() < 0.002, "{unreached} {undrawn}");
    }
}
