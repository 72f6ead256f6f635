//! Fits that are kept beside the papers (`papers/fits.toml`): a reproduction does not seek a factor anew unless something changed.
//!
//! A fit belongs to a digest of all that it depends on: configurations, the text of the workload's model, requests, seed and the printed
//! level. `ssdlab reproduce PAPER --load --fits FILE` writes the file anew.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::outside;
use ssdlab_lab::variants::points::Point;
use ssdlab_trace::workload::named;

use crate::load::{Fit, Load};

/// A fit, and what it is of.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) paper: String,
    /// The reading that it was found under; empty: the settings of the paper's items.
    pub(crate) reading: String,
    /// What is printed.
    pub(crate) source: String,
    pub(crate) workload: String,
    /// At most so many requests.
    pub(crate) requests: u64,
    pub(crate) seed: u64,
    /// The factor on arrival times, and those that it was found between, in billionths.
    pub(crate) factor: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bracket: Option<[u64; 2]>,
    pub(crate) level: f64,
    pub(crate) printed: f64,
    pub(crate) digest: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    fit: Vec<Kept>,
}

const HEAD: &str = "\
# Factors on arrival times with which workloads have the level that a paper prints, in billionths; the levels with them.
# Written by `ssdlab reproduce PAPER --load --fits papers/fits.toml`. A fit whose digest no longer holds is sought anew.

";

/// Those that come with the papers.
pub(crate) fn all() -> &'static [Kept] {
    static ALL: OnceLock<Vec<Kept>> = OnceLock::new();
    ALL.get_or_init(|| {
        let file: File = toml::from_str(include_str!("../../../papers/fits.toml")).unwrap_or_else(|e| panic!("{e}"));
        file.fit
    })
}

impl Kept {
    pub(crate) fn fit(&self) -> Fit {
        Fit { factor: self.factor, level: self.level, bracket: self.bracket }
    }

    /// What a new fit takes the place of.
    fn of(&self) -> (&str, &str, &str, &str, u64, u64) {
        (&self.paper, &self.reading, &self.source, &self.workload, self.requests, self.seed)
    }
}

/// The digest of all that a fit depends on; none where requests come from a recording, which may be another file tomorrow.
pub(crate) fn digest(load: &Load, printed: f64, runs: &[Point]) -> Option<String> {
    let mut parts = vec![format!("{printed} {} {:?} {}", load.scheme, load.over, load.falls)];
    for Point { config, requests, seed, .. } in runs {
        let Requests { from: Origin::Workload { name, recordings: None }, limit, replay, .. } = requests else {
            return None;
        };
        let model = named(name.as_str())?.text;
        let config = serde_json::to_string(config).ok()?;
        parts.push(format!("{config} {model} {limit:?} {replay:?} {seed}"));
    }
    Some(outside::digest(parts.join("\n").as_bytes()))
}

/// The file with those that came with the papers and the new ones.
///
/// # Errors
/// None in practice: they are plain data.
pub(crate) fn text<'k>(new: impl Iterator<Item = &'k Kept>) -> Result<String> {
    let mut fit: Vec<Kept> = all().to_vec();
    for one in new {
        fit.retain(|old| old.of() != one.of());
        fit.push(one.clone());
    }
    fit.sort_by(|a, b| a.of().cmp(&b.of()));
    let text = toml::to_string(&File { fit }).map_err(|error| Error::usage(error.to_string()))?;
    Ok(format!("{HEAD}{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is written is the one that is read, and a new fit takes the place of the old one.
    #[test]
    fn a_new_fit_takes_the_place_of_the_old_one() {
        let kept = |factor| Kept {
            paper: "e".into(),
            reading: String::new(),
            source: "a table".into(),
            workload: "e.nothing".into(),
            requests: 7,
            seed: 1,
            factor,
            bracket: Some([1, 3]),
            level: 0.5,
            printed: 0.6,
            digest: "0".into(),
        };
        let text = text([kept(2), kept(3)].iter()).unwrap();
        let file: File = toml::from_str(&text).unwrap();
        let own: Vec<&Kept> = file.fit.iter().filter(|one| one.workload == "e.nothing").collect();
        assert_eq!(own, [&kept(3)]);
        assert_eq!(file.fit.len(), all().len() + 1);
    }
}
