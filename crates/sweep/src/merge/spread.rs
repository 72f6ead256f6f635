//! A measure over many volumes: each value by the name of its volume, or, beyond a million, counts of values of six digits.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use ssdlab_lab::readers::histogram::Quantile;

/// Values that are kept one by one.
pub const MOST: u64 = 1_000_000;
/// Most runs with one value.
const MOST_RUNS: u64 = 1 << 32;

/// A number with a total order: that of its value.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Real) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Real) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Real {
    fn six_digits(self) -> Real {
        Real(format!("{:.5e}", self.0).parse().unwrap_or(self.0))
    }
}

/// The values of a measure. Which of the two forms it has follows from their number alone, so the order of merging does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spread {
    /// By volume and value: how many runs have it (several seeds may agree).
    Each(BTreeMap<(String, Real), u64>),
    /// By value of six digits: how many runs have it.
    Digits(BTreeMap<Real, u64>),
}

impl Default for Spread {
    fn default() -> Spread {
        Spread::Each(BTreeMap::new())
    }
}

impl Spread {
    /// One value.
    pub fn of(volume: &str, value: f64) -> Spread {
        Spread::Each([((volume.to_string(), Real(value)), 1)].into())
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        match self {
            Spread::Each(values) => values.values().sum(),
            Spread::Digits(values) => values.values().sum(),
        }
    }

    /// Both together; more than `most` values are counted by their six digits.
    pub fn merge(&mut self, other: &Spread, most: u64) {
        if let (Spread::Each(own), Spread::Each(others)) = (&mut *self, other) {
            for (key, count) in others {
                *own.entry(key.clone()).or_default() += count;
            }
            if self.count() > most {
                *self = Spread::Digits(self.digits());
            }
            return;
        }
        let mut all = self.digits();
        for (value, count) in other.digits() {
            *all.entry(value).or_default() += count;
        }
        *self = Spread::Digits(all);
    }

    fn digits(&self) -> BTreeMap<Real, u64> {
        match self {
            Spread::Digits(values) => values.clone(),
            Spread::Each(values) => {
                let mut digits = BTreeMap::new();
                for ((_, value), count) in values {
                    *digits.entry(value.six_digits()).or_default() += count;
                }
                digits
            }
        }
    }

    fn ascending(&self) -> Vec<(f64, u64)> {
        let mut values: Vec<(Real, u64)> = match self {
            Spread::Each(values) => values.iter().map(|((_, value), count)| (*value, *count)).collect(),
            Spread::Digits(values) => values.iter().map(|(value, count)| (*value, *count)).collect(),
        };
        values.sort_unstable_by_key(|(value, _)| *value);
        values.into_iter().map(|(value, count)| (value.0, count)).collect()
    }

    /// The order statistics of these quantiles; none of nothing.
    pub fn quantiles(&self, quantiles: &[Quantile]) -> Vec<Option<f64>> {
        let (values, all) = (self.ascending(), self.count());
        let of = |quantile: &Quantile| {
            let (rank, mut seen) = (quantile.rank(all), 0);
            let found = values.iter().find(|(_, count)| {
                seen += count;
                seen >= rank
            });
            found.map(|(value, _)| *value)
        };
        quantiles.iter().map(of).collect()
    }

    /// As part of a file. Values are texts: readers of JSON may change the last bit of a number.
    pub(super) fn json(&self) -> Json {
        match self {
            Spread::Each(values) => {
                let rows: Vec<Json> =
                    values.iter().map(|((volume, value), count)| json!([volume, value.0.to_string(), count])).collect();
                json!({ "each": rows })
            }
            Spread::Digits(values) => {
                let rows: Vec<Json> = values.iter().map(|(value, count)| json!([value.0.to_string(), count])).collect();
                json!({ "six_digits": rows })
            }
        }
    }

    pub(super) fn parse(value: &Json) -> Option<Spread> {
        let real = |value: &Json| Some(Real(value.as_str()?.parse().ok().filter(|value: &f64| value.is_finite())?));
        let count = |value: &Json| value.as_u64().filter(|count| *count > 0 && *count <= MOST_RUNS);
        if let Some(rows) = value["each"].as_array() {
            let row = |row: &Json| Some(((row[0].as_str()?.to_string(), real(&row[1])?), count(&row[2])?));
            return Some(Spread::Each(rows.iter().map(row).collect::<Option<_>>()?));
        }
        let row = |row: &Json| Some((real(&row[0])?, count(&row[1])?));
        Some(Spread::Digits(value["six_digits"].as_array()?.iter().map(row).collect::<Option<_>>()?))
    }
}
