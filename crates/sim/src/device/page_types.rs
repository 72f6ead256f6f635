//! Page types: the word line and the type of every page of a block, and how array times vary with blocks and layers.

use super::spec::VariationSpec;
use crate::random;
use crate::units::{Nanos, Ppm};

/// Word line and type of every page of a block.
#[derive(Clone, Debug)]
pub struct PageTypes {
    /// By offset in the block: its word line and its type.
    pages: Box<[(u32, u32)]>,
    /// Number of types.
    types: u32,
    /// Number of word lines of a block.
    word_lines: u32,
}

impl PageTypes {
    /// Pages of a word line follow one another: page `p` has type `p mod types`.
    pub(crate) fn cyclic(pages_per_block: u32, types: u32) -> Self {
        let pages = (0..pages_per_block).map(|page| (page / types, page % types)).collect();
        PageTypes { pages, types, word_lines: pages_per_block.div_ceil(types) }
    }

    /// A word line's next page is programmed after earlier pages of its neighbours: step `s` programs type `k` of word line
    /// `s - k`, for all types `k` that have one.
    pub(crate) fn shadow(pages_per_block: u32, types: u32) -> Self {
        let word_lines = pages_per_block / types;
        let step = |s: u32| (0..types).filter_map(move |k| Some((s.checked_sub(k)?, k)));
        let pages = (0..word_lines + types - 1).flat_map(step).filter(|(line, _)| *line < word_lines).collect();
        PageTypes { pages, types, word_lines }
    }

    /// Number of types.
    pub fn count(&self) -> u32 {
        self.types
    }

    /// The type of the page at an offset.
    pub fn of(&self, offset: u32) -> u32 {
        self.pages[offset as usize].1
    }

    /// Pages of a block that have a type.
    pub fn pages_of(&self, kind: u32) -> u64 {
        self.pages.iter().filter(|(_, of)| *of == kind).count() as u64
    }

    /// Array times by offset, from those by type. `layer`: standard deviation of the factor of word lines.
    pub(crate) fn times(&self, by_type: &[Nanos], layer: Ppm) -> Box<[Nanos]> {
        let time = |(line, kind): &(u32, u32)| {
            let time = by_type[*kind as usize % by_type.len()];
            if layer.0 == 0 { time } else { scaled(time, self.layer_factor(*line, layer)) }
        };
        self.pages.iter().map(time).collect()
    }

    /// Factor of a word line: `1 + layer * sqrt(2) * sin(2 pi w / W)`, whose mean over the block is 1.
    fn layer_factor(&self, line: u32, layer: Ppm) -> f64 {
        let angle = 2.0 * std::f64::consts::PI * f64::from(line) / f64::from(self.word_lines);
        // libm gives the same bits on every machine.
        1.0 + layer.as_f64() * std::f64::consts::SQRT_2 * libm::sin(angle)
    }
}

/// A time multiplied by a factor, rounded to nanoseconds. A time above zero stays above zero.
fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((libm::round(time.0 as f64 * factor) as u64).max(u64::from(time > Nanos::ZERO)))
}

/// Largest distance of a block from the mean of its distribution, in standard deviations.
const CUT: f64 = 3.0;

/// Fractional bits of a block's factor.
const FRACTION: u32 = 24;

/// Factor of a block without variation.
pub(crate) const ONE: u32 = 1 << FRACTION;

/// Factors of array times, by block. They depend on the seed and on the block alone.
#[derive(Clone, Debug)]
pub struct BlockFactors {
    /// By block; empty without variation.
    factors: Box<[u32]>,
}

impl BlockFactors {
    /// Draws the factors of `blocks` blocks: log-normal with mean 1, cut at three standard deviations of its logarithm.
    pub(crate) fn draw(variation: &VariationSpec, blocks: usize, seed: u64) -> Self {
        let deviation = variation.block.as_f64();
        if variation.block.0 == 0 {
            return BlockFactors { factors: Box::default() };
        }
        let sigma = libm::sqrt(libm::log1p(deviation * deviation));
        // Mean of exp(sigma z) for a standard normal z between -CUT and CUT, so that the mean factor is 1.
        let within = |shift: f64| normal(CUT - shift) - normal(-CUT - shift);
        let mean = libm::exp(sigma * sigma / 2.0) * within(sigma) / within(0.0);
        let factor = |block: usize| {
            let z = deviate(random::mix(seed ^ random::mix(block as u64 ^ PURPOSE)));
            libm::round(libm::exp(sigma * z) / mean * f64::from(ONE)) as u32
        };
        BlockFactors { factors: (0..blocks).map(factor).collect() }
    }

    /// Factors of blocks that `planes` planes of a die have together: the slowest decides.
    pub(crate) fn joined(self, planes: usize, dies: usize, per_plane: usize) -> Self {
        if planes == 1 || self.factors.is_empty() {
            return self;
        }
        let joint = self.factors.len() / planes;
        // Planes of a die are `dies` apart, and those of a group follow one another there.
        let slowest = |block: usize| {
            let (plane, index) = (block / per_plane, block % per_plane);
            let (group, die) = (plane / dies, plane % dies);
            let of = |member: usize| self.factors[((group * planes + member) * dies + die) * per_plane + index];
            (0..planes).map(of).max().unwrap_or(ONE)
        };
        BlockFactors { factors: (0..joint).map(slowest).collect() }
    }

    /// Whether blocks differ.
    #[inline(always)]
    pub(crate) fn differ(&self) -> bool {
        !self.factors.is_empty()
    }

    /// The factor of a block, on a device whose blocks differ.
    #[inline(always)]
    pub(crate) fn of(&self, block: usize) -> u32 {
        self.factors[block]
    }
}

/// Keeps these draws apart from others of the same seed.
const PURPOSE: u64 = 0x7661_7269_6174_696f;

/// Share of a normal distribution below `x`.
fn normal(x: f64) -> f64 {
    (1.0 + libm::erf(x / std::f64::consts::SQRT_2)) / 2.0
}

/// A standard normal deviate between `-CUT` and `CUT`, from random bits. Farther ones are drawn again.
fn deviate(mut bits: u64) -> f64 {
    let mut uniform = || {
        bits = random::mix(bits.wrapping_add(PURPOSE));
        ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    loop {
        let radius = libm::sqrt(-2.0 * libm::log(uniform()));
        let z = radius * libm::cos(2.0 * std::f64::consts::PI * uniform());
        if z.abs() <= CUT {
            return z;
        }
    }
}

/// An array time on a block with this factor, rounded half up to nanoseconds. A time above zero stays above zero.
#[inline(always)]
pub(crate) fn on_block(time: Nanos, factor: u32) -> Nanos {
    if factor == ONE {
        return time;
    }
    let scaled = (u128::from(time.0) * u128::from(factor) + u128::from(ONE / 2)) >> FRACTION;
    Nanos((scaled as u64).max(u64::from(time > Nanos::ZERO)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadow_order_programs_neighbours_first() {
        let order = PageTypes::shadow(12, 3);
        let expected = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (3, 1), (2, 2), (3, 2)];
        assert_eq!(order.pages[..], expected);
    }

    #[test]
    fn every_order_has_each_page_of_each_word_line_once() {
        for (pages, types) in [(64, 1), (64, 2), (384, 3), (128, 4), (3, 3)] {
            let mut shadow = PageTypes::shadow(pages, types).pages.to_vec();
            shadow.sort_unstable();
            assert_eq!(shadow, PageTypes::cyclic(pages, types).pages.to_vec(), "{pages} pages of {types} types");
        }
    }

    #[test]
    fn layers_vary_around_one_with_their_standard_deviation() {
        let (types, layer) = (PageTypes::cyclic(192, 3), Ppm(100_000));
        let factors: Vec<f64> = (0..64).map(|line| types.layer_factor(line, layer)).collect();
        let mean = factors.iter().sum::<f64>() / 64.0;
        let variance = factors.iter().map(|f| (f - 1.0) * (f - 1.0)).sum::<f64>() / 64.0;
        assert!((mean - 1.0).abs() < 1e-12 && (variance.sqrt() - 0.1).abs() < 1e-12, "{mean} {variance}");
        // Word line 16 of 64: 1 + 0.1 sqrt(2), so 600,000 ns become 684,853.
        let times = types.times(&[Nanos(600_000)], layer);
        assert_eq!((times[0], times[48], times[144]), (Nanos(600_000), Nanos(684_853), Nanos(515_147)));
    }

    #[test]
    fn blocks_vary_around_one_with_their_standard_deviation() {
        for deviation in [50_000, 200_000] {
            let variation = VariationSpec { block: Ppm(deviation), layer: Ppm(0) };
            let all = BlockFactors::draw(&variation, 200_000, 7).factors;
            let factors: Vec<f64> = all.iter().map(|factor| f64::from(*factor) / f64::from(ONE)).collect();
            let deviation = f64::from(deviation) / 1e6;
            let mean = factors.iter().sum::<f64>() / factors.len() as f64;
            let variance = factors.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / factors.len() as f64;
            assert!((mean - 1.0).abs() < 4.0 * deviation / (factors.len() as f64).sqrt(), "{deviation}: mean {mean}");
            // The cut removes 0.27 % of the blocks, and 1.3 % of a normal deviate's standard deviation.
            assert!((variance.sqrt() / deviation - 0.987).abs() < 0.02, "{deviation}: {}", variance.sqrt());
            let sigma = libm::sqrt(libm::log1p(deviation * deviation));
            let (low, high) =
                (factors.iter().copied().fold(9.0, f64::min), factors.iter().copied().fold(0.0, f64::max));
            assert!((high / low).ln() <= 2.0 * CUT * sigma + 1e-6, "{deviation}: from {low} to {high}");
        }
    }

    #[test]
    fn a_factor_depends_on_the_seed_and_the_block_alone() {
        let variation = VariationSpec { block: Ppm(100_000), layer: Ppm(0) };
        let (few, many) = (BlockFactors::draw(&variation, 10, 3), BlockFactors::draw(&variation, 1000, 3));
        assert_eq!(few.factors[..], many.factors[..10]);
        assert_ne!(few.factors, BlockFactors::draw(&variation, 10, 4).factors);
    }
}
