//! Designs that draw their points: each axis at a share in [0, 1] of its values.

use rand_xoshiro::rand_core::Rng;
use serde::Deserialize;
use sobol::Sobol;
use sobol::params::JoeKuoD6;
use ssdlab_sim::random::{below, stream};

/// How points are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// Every combination.
    Grid,
    /// Each axis drawn by itself.
    Random,
    /// Latin hypercube: one point in each of n strata of an axis, at its centre.
    Lhs,
    /// The Sobol sequence without its first point.
    Sobol,
    /// As listed.
    List,
}

/// The generator of an axis, numbered from 1.
fn generator(seed: u64, axis: usize) -> rand_xoshiro::Xoshiro256PlusPlus {
    stream(seed, &format!("axis {axis}"))
}

/// A place within the values of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// A number in [0, 1).
    At(f64),
    /// A stratum, from 0, of so many.
    Stratum(u64, u64),
}

impl Share {
    /// As a number: the centre of a stratum.
    pub fn value(self) -> f64 {
        match self {
            Share::At(value) => value,
            Share::Stratum(stratum, of) => (2 * stratum + 1) as f64 / (2 * of) as f64,
        }
    }

    /// The item of a list.
    pub fn item(self, items: usize) -> usize {
        let item = match self {
            Share::At(value) => (value * items as f64) as usize,
            Share::Stratum(stratum, of) => (u128::from(stratum) * items as u128 / u128::from(of)) as usize,
        };
        item.min(items - 1)
    }
}

/// Shares by point, then by axis.
pub fn shares(design: Design, points: u64, axes: usize, seed: u64) -> Vec<Vec<Share>> {
    match design {
        Design::Grid | Design::List => Vec::new(),
        Design::Random => by_axis(points, axes, |axis| {
            let mut rng = generator(seed, axis);
            // 53 bits, as many as a double holds below 1.
            (0..points).map(|_| Share::At((rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64)).collect()
        }),
        Design::Lhs => by_axis(points, axes, |axis| {
            let mut rng = generator(seed, axis);
            let mut strata: Vec<u64> = (0..points).collect();
            for i in (1..strata.len()).rev() {
                strata.swap(i, below(&mut rng, i as u64 + 1) as usize);
            }
            strata.into_iter().map(|stratum| Share::Stratum(stratum, points)).collect()
        }),
        Design::Sobol => {
            let sequence = Sobol::<f64>::new(axes.max(1), &JoeKuoD6::minimal()).skip(1);
            sequence.take(points as usize).map(|point| point.into_iter().map(Share::At).collect()).collect()
        }
    }
}

/// Most axes of a Sobol design.
pub const SOBOL_AXES: usize = 100;

fn by_axis(points: u64, axes: usize, draw: impl Fn(usize) -> Vec<Share>) -> Vec<Vec<Share>> {
    let columns: Vec<Vec<Share>> = (1..=axes).map(draw).collect();
    (0..points as usize).map(|point| columns.iter().map(|column| column[point]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_seed_1_stay() {
        let column =
            |design, axis: usize| shares(design, 4, 2, 1).iter().map(|point| point[axis].value()).collect::<Vec<_>>();
        assert_eq!(column(Design::Lhs, 0), GOLDEN_LHS[0]);
        assert_eq!(column(Design::Lhs, 1), GOLDEN_LHS[1]);
        assert_eq!(column(Design::Random, 0), GOLDEN_RANDOM);
        assert_eq!(column(Design::Sobol, 0), [0.5, 0.75, 0.25, 0.375]);
        assert_eq!(column(Design::Sobol, 1), [0.5, 0.25, 0.75, 0.375]);
        assert_eq!([0, 1, 2, 3].map(|stratum| Share::Stratum(stratum, 4).item(3)), [0, 0, 1, 2]);
    }

    const GOLDEN_LHS: [[f64; 4]; 2] = [[0.375, 0.625, 0.125, 0.875], [0.375, 0.125, 0.625, 0.875]];
    const GOLDEN_RANDOM: [f64; 4] =
        [0.847_651_309_053_999_7, 0.172_365_186_377_037_46, 0.093_908_613_708_136_3, 0.686_640_438_524_276_4];

    #[test]
    fn an_axis_does_not_depend_on_the_others() {
        for design in [Design::Random, Design::Lhs] {
            let (few, many) = (shares(design, 16, 1, 7), shares(design, 16, 5, 7));
            assert!(few.iter().zip(&many).all(|(few, many)| few[0] == many[0]), "{design:?}");
        }
    }

    proptest::proptest! {
        /// Each axis of a Latin hypercube has one point a stratum, at its centre.
        #[test]
        fn strata_have_one_point_each(points in 1u64..60, axes in 1usize..6, seed: u64) {
            let drawn = shares(Design::Lhs, points, axes, seed);
            for axis in 0..axes {
                let mut strata: Vec<u64> =
                    drawn.iter().map(|point| (point[axis].value() * points as f64) as u64).collect();
                strata.sort_unstable();
                proptest::prop_assert_eq!(strata, (0..points).collect::<Vec<_>>());
            }
        }
    }
}
