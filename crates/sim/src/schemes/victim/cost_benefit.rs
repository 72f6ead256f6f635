//! The block with the best ratio of benefit to cost, weighted by age.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::policy::{Victim, View};
use crate::schemes::scheme;
use crate::units::{BlockId, PlaneId};

scheme! {
    /// Cost-benefit: the block with the largest age x (b - v) / 2v, ties to the lowest index.
    ///
    /// The freed space per page read and written, weighted by the time since the block was closed (Kawaguchi et al. 1995, after
    /// Rosenblum and Ousterhout). Cold blocks are therefore collected while they hold more valid pages than hot ones. Age is the
    /// number of blocks closed in the plane since this one. Comparisons use integers. With `age_exponent` the age counts with
    /// that power: 1 is the published rule, 0 is greedy, and what lies between weighs age less.
    CostBenefit {
        /// Power of the age: 0 to 2 with at most two decimals.
        [since "0.1.3"]
        age_exponent: AgeExponent = AgeExponent::ONE,
    }
    state {
        /// Logarithms; empty until an exponent other than 1 needs them.
        logs: Logs = Logs::default()
    }
}

/// The power of the age in [`CostBenefit`], in hundredths: at most 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeExponent(
    /// Hundredths.
    pub u8,
);

impl AgeExponent {
    /// The published rule.
    pub const ONE: AgeExponent = AgeExponent(100);
}

impl Serialize for AgeExponent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 100.0)
    }
}

impl<'de> Deserialize<'de> for AgeExponent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = AgeExponent;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number from 0 to 2 with at most two decimals, such as 0.4")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<AgeExponent, E> {
                let hundredths = libm::rint(value * 100.0);
                if !(0.0..=200.0).contains(&hundredths) || (value * 100.0 - hundredths).abs() > 1e-9 {
                    return Err(E::invalid_value(de::Unexpected::Float(value), &self));
                }
                Ok(AgeExponent(hundredths as u8))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<AgeExponent, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<AgeExponent, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
crate::schema::text_forms! {
    AgeExponent: { "type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.01 }
}

/// Natural logarithms in units of 2^-32, from a table that is made once.
#[derive(Clone, Debug, Default)]
struct Logs(Arc<[i64]>);

impl Logs {
    /// Bits of the numbers in the table.
    const BITS: u32 = 16;

    fn made(&mut self) -> &Logs {
        if self.0.is_empty() {
            let log = |n: u32| libm::rint(libm::log(f64::from(n.max(1))) * 4_294_967_296.0) as i64;
            self.0 = (0..=1 << Self::BITS).map(log).collect();
        }
        self
    }

    /// The logarithm of a number above 0. Beyond the table it is interpolated in the last octave, with an error below 2^-32.
    fn of(&self, n: u64) -> i64 {
        let table = &self.0;
        if let Some(log) = usize::try_from(n).ok().and_then(|n| table.get(n)) {
            return *log;
        }
        let shift = (64 - Self::BITS) - n.leading_zeros();
        let (whole, rest) = ((n >> shift) as usize, n & ((1 << shift) - 1));
        let step = i128::from(table[whole + 1] - table[whole]) * i128::from(rest);
        table[whole] + (step >> shift) as i64 + i64::from(shift) * table[2]
    }
}

impl CostBenefit {
    /// ln(b - v) - ln v + exponent x ln age; none where nothing is gained.
    fn score(&self, free: u64, valid: u64, age: u64) -> Option<i64> {
        let exponent = i64::from(self.age_exponent.0);
        if free == 0 || (age == 0 && exponent > 0) {
            return None;
        }
        let weight = if exponent == 0 { 0 } else { self.logs.of(age) * exponent / 100 };
        Some(self.logs.of(free) - self.logs.of(valid) + weight)
    }

    fn pick_by_power(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        self.logs.made();
        let pages = u64::from(view.geometry.data_pages);
        let now = view.flash.closings(plane);
        let mut best: Option<(i64, BlockId)> = None;
        for block in view.flash.closed_blocks(plane, view.geometry) {
            let valid = u64::from(view.flash.kept(block));
            let age = u64::from(now - view.flash.closed_at(block));
            if valid == 0 && (age > 0 || self.age_exponent.0 == 0) {
                // It has no cost. Blocks are searched by index, so it is the first of its kind.
                return Some(block);
            }
            if let Some(score) = self.score(pages - valid, valid, age)
                && best.is_none_or(|(most, _)| score > most)
            {
                best = Some((score, block));
            }
        }
        best.map(|(_, block)| block)
    }
}

impl Victim for CostBenefit {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        if self.age_exponent != AgeExponent::ONE {
            return self.pick_by_power(view, plane);
        }
        let pages = u64::from(view.geometry.data_pages);
        let now = view.flash.closings(plane);
        let mut best: Option<(u64, u64, BlockId)> = None;
        for block in view.flash.closed_blocks(plane, view.geometry) {
            let valid = u64::from(view.flash.kept(block));
            let gain = u64::from(now - view.flash.closed_at(block)) * (pages - valid);
            // Compares gain / valid crosswise. A block without valid pages has no cost and is selected first.
            if gain > 0
                && best.is_none_or(|(g, v, _)| u128::from(gain) * u128::from(v) > u128::from(g) * u128::from(valid))
            {
                best = Some((gain, valid, block));
            }
        }
        best.map(|(_, _, block)| block)
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond the table, too, logarithms are those of libm.
    #[test]
    fn logarithms_are_exact_to_their_unit() {
        let mut logs = Logs::default();
        let logs = logs.made();
        for n in [1_u64, 2, 3, 512, 65_536, 65_537, 100_003, 1 << 20, (1 << 32) - 1, 987_654_321] {
            let exact = libm::log(n as f64) * 4_294_967_296.0;
            assert!((logs.of(n) as f64 - exact).abs() < 24.0, "{n}: {} for {exact}", logs.of(n));
        }
    }
}
