//! Which points are run again.

use std::collections::BTreeSet;

use rand_xoshiro::rand_core::Rng;
use ssdlab_sim::random;

/// How many points are run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// So many, but always the extremes.
    Some(u64),
    /// All.
    All,
}

impl std::str::FromStr for Many {
    type Err = String;

    fn from_str(text: &str) -> Result<Many, String> {
        match (text, text.parse::<u64>()) {
            ("all", _) => Ok(Many::All),
            (_, Ok(many)) if many > 0 => Ok(Many::Some(many)),
            _ => Err("expected a whole number from 1 on, or `all`".into()),
        }
    }
}

/// The places of points to run again, in order. `means` has the main table's measure by point: none where it has no value. `keys`
/// tell points apart in the draw; none where a point can't be run.
pub fn chosen(means: &[Option<f64>], keys: &[Option<&str>], many: Many, seed: u64) -> Vec<usize> {
    let mut candidates: Vec<usize> = (0..keys.len()).filter(|place| keys[*place].is_some()).collect();
    let Many::Some(many) = many else { return candidates };
    let mut chosen = extremes(means, &candidates);
    // In the order of the draw, so that more points contain fewer.
    let draw = |place: &usize| (random::stream(seed, keys[*place].unwrap_or_default()).next_u64(), *place);
    candidates.sort_by_cached_key(draw);
    for place in candidates {
        if chosen.len() as u64 >= many {
            break;
        }
        chosen.insert(place);
    }
    chosen.into_iter().collect()
}

/// The first points with the least and with the greatest value.
fn extremes(means: &[Option<f64>], candidates: &[usize]) -> BTreeSet<usize> {
    let known = || candidates.iter().filter_map(|place| Some((*place, means[*place]?)));
    let least = known().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let greatest = known().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    [least, greatest].into_iter().flatten().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_always_among_them_and_more_contain_fewer() {
        let means: Vec<Option<f64>> = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 9.0, 2.0].map(Some).to_vec();
        let names: Vec<String> = (0..8).map(|place| format!("k{place}")).collect();
        let keys: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        for seed in 0..50 {
            let mut before = BTreeSet::new();
            for many in 1..=8 {
                let chosen: BTreeSet<usize> =
                    super::chosen(&means, &keys, Many::Some(many), seed).into_iter().collect();
                assert!(chosen.contains(&1) && chosen.contains(&5), "the first of equal ones: {chosen:?}");
                assert_eq!(chosen.len() as u64, many.max(2));
                assert!(chosen.is_superset(&before));
                before = chosen;
            }
        }
        let drawn: BTreeSet<Vec<usize>> = (0..50).map(|seed| chosen(&means, &keys, Many::Some(4), seed)).collect();
        assert!(drawn.len() > 5, "the seed decides: {drawn:?}");
        assert_eq!(chosen(&means, &keys, Many::All, 1).len(), 8);
        assert_eq!(chosen(&[None, None], &[Some("a"), None], Many::Some(5), 1), [0]);
    }

    #[test]
    fn numbers_of_points_are_read() {
        assert_eq!("all".parse(), Ok(Many::All));
        assert_eq!("5".parse(), Ok(Many::Some(5)));
        for bad in ["0", "-1", "", "some", "1.5", "All"] {
            assert!(bad.parse::<Many>().is_err(), "{bad}");
        }
    }
}
