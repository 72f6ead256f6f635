//! Draws that give the same bytes on every machine: raw 64-bit words, integer range reduction, tables
//! built once. No distribution code of another crate is used, so an update cannot change results.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One stream of random words.
pub(super) type Stream = Xoshiro256PlusPlus;

/// Returns one independent stream per purpose: each is 2^128 words further along the same sequence.
pub(super) struct Streams {
    next: Stream,
}

impl Streams {
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
    #[allow(clippy::cast_possible_truncation)] // The low half is meant.
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
    #[allow(clippy::cast_precision_loss)] // 53 bits fit exactly.
    let unit = ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0);
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

    /// Draws an index.
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
        #[allow(clippy::cast_possible_truncation)]
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
    /// `theta` in [0, 10]; `n` > 0.
    pub(super) fn new(n: u64, theta: f64) -> Option<Self> {
        let mut spans = Vec::new();
        let mut masses = Vec::new();
        let mut first = 1_u64;
        while first <= n {
            let count = (first / 64).max(1).min(n - first + 1);
            let last = first + count - 1;
            let (head, tail) = (power(first, theta), power(last, theta));
            let mass =
                if count <= 64 { (first..=last).map(|k| power(k, theta)).sum() } else { span_mass(first, last, theta) };
            let slope = if count > 1 {
                // The largest float below 2^64 / count keeps the product with (count - 1) in range.
                (head - tail) / (head + tail) / (count - 1) as f64 * 18_446_744_073_709_551_616.0
            } else {
                0.0
            };
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            // Saturating by definition.
            spans.push(Span { first: first - 1, count, slope: slope as u64 });
            masses.push(mass);
            first += count;
        }
        let total: f64 = masses.iter().sum();
        let scale = 4_503_599_627_370_496.0 / total; // 2^52: far below the noise of any run.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let weights: Vec<u64> = masses.iter().map(|m| libm::rint(m * scale) as u64).collect();
        Some(Self { groups: Alias::new(&weights)?, spans: spans.into() })
    }

    /// Draws a rank.
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
    #[allow(clippy::cast_precision_loss)] // Ranks are below 2^53.
    libm::pow(rank as f64, -theta)
}

/// Sum of k^-theta over `first..=last` by the midpoint rule with its first correction.
fn span_mass(first: u64, last: u64, theta: f64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let (a, b) = (first as f64 - 0.5, last as f64 + 0.5);
    // a^(1-theta) * ln(b/a) * (e^d - 1) / d, which stays exact as theta nears 1.
    let span = libm::log(b / a);
    let d = (1.0 - theta) * span;
    let stretch = if d == 0.0 { 1.0 } else { libm::expm1(d) / d };
    let integral = libm::pow(a, 1.0 - theta) * span * stretch;
    let slope = |x: f64| -theta * libm::pow(x, -theta - 1.0);
    integral - (slope(b) - slope(a)) / 24.0
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
        Streams::new(7).take()
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
            let zipf = Zipf::new(n, theta).unwrap();
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
        let zipf = Zipf::new(1_000_000, 0.99).unwrap();
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
}
