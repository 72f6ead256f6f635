//! What the papers leave open. An assumption is a value for it: keys over a scheme's own, a rate of arrivals, other workloads.
//!
//! `--assumptions` runs a paper's claims under each of them, one at a time, and marks those under which a claim comes out. A [`Reading`]
//! is a set of them that belong together, with the sentences of the paper that allow it; `--readings` judges every claim under each.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::data::{Keys, list};
use crate::row::{Row, Verdict};
use crate::source::Source;

/// A value for something that a paper does not state.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Assumption {
    /// What is left open; empty for a reading, which has values of several.
    pub(crate) knob: &'static str,
    #[serde(alias = "name")]
    pub(crate) value: &'static str,
    #[serde(deserialize_with = "list")]
    pub(crate) sets: Keys,
    /// More keys, and a number of requests, with `--quick`.
    #[serde(deserialize_with = "list")]
    pub(crate) quick: Keys,
    pub(crate) quick_limit: Option<u64>,
    /// More keys, for some schemes only.
    #[serde(deserialize_with = "list")]
    pub(crate) own: &'static [KeysOf],
    /// More keys, for some workloads only.
    #[serde(deserialize_with = "list")]
    pub(crate) tuned: &'static [KeysOf],
    /// Arrival times are multiplied by this, as by `--time-scale`.
    pub(crate) time_scale: Option<&'static str>,
    /// Those of some workloads by something else.
    pub(crate) scaled: BTreeMap<String, &'static str>,
    /// The next request comes when one completes.
    pub(crate) closed: bool,
    /// Arrivals are fitted to the level that the paper prints, as with `--load`.
    pub(crate) load: bool,
    /// Workloads in place of others.
    pub(crate) workloads: BTreeMap<String, &'static str>,
}

/// Keys of some schemes or workloads only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysOf {
    of: &'static str,
    #[serde(deserialize_with = "list")]
    sets: Keys,
}

/// A reading of a paper: values for what it leaves open that hold together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    /// Its values; the name of the reading is their `value`.
    #[serde(flatten)]
    pub(crate) settings: Assumption,
    /// What it assumes, in words.
    pub(crate) text: &'static str,
    /// What of the paper allows it.
    #[serde(deserialize_with = "list")]
    pub(crate) words: &'static [Source],
}

impl Reading {
    pub(crate) fn name(&self) -> &'static str {
        self.settings.value
    }
}

impl Assumption {
    pub(crate) fn name(&self) -> String {
        if self.knob.is_empty() { self.value.into() } else { format!("{}: {}", self.knob, self.value) }
    }

    pub(crate) fn keys(&self, scheme: &str, workload: &str) -> impl Iterator<Item = &'static str> {
        let of = |list: &'static [KeysOf], name: &str| {
            list.iter().filter(|own| own.of == name).flat_map(|own| own.sets).collect::<Vec<_>>()
        };
        self.sets.iter().chain(of(self.own, scheme)).chain(of(self.tuned, workload)).copied()
    }

    pub(crate) fn time_scale(&self, workload: &str) -> Option<&'static str> {
        self.scaled.get(workload).copied().or(self.time_scale)
    }

    pub(crate) fn workload(&self, name: &'static str) -> &'static str {
        self.workloads.get(name).copied().unwrap_or(name)
    }

    /// All that it changes, as the command line takes it.
    pub(crate) fn settings(&self) -> String {
        let set = |keys: Keys| keys.iter().map(|key| format!("--set {key}")).collect::<Vec<_>>();
        let mut parts = set(self.sets);
        parts.extend(self.own.iter().map(|own| format!("({} for {})", set(own.sets).join(" "), own.of)));
        parts.extend(self.tuned.iter().map(|own| format!("({} on {})", set(own.sets).join(" "), own.of)));
        let mut quick = set(self.quick);
        quick.extend(self.quick_limit.map(|limit| format!("--limit {limit}")));
        if !quick.is_empty() {
            parts.push(format!("(with --quick: {})", quick.join(" ")));
        }
        parts.extend(self.time_scale.map(|factor| format!("--time-scale {factor}")));
        parts.extend(self.scaled.iter().map(|(workload, factor)| format!("(--time-scale {factor} on {workload})")));
        parts.extend(self.load.then(|| "--load".to_string()));
        parts.extend(self.closed.then(|| "--replay closed".to_string()));
        parts.extend(self.workloads.iter().map(|(usual, other)| format!("{other} for {usual}")));
        parts.join(" ")
    }
}

pub(crate) struct Search {
    /// The table or figure, and what is compared.
    pub(crate) id: &'static str,
    /// As it runs without any of them.
    pub(crate) usual: Row,
    /// Under each; none where it could not be run.
    pub(crate) tried: Vec<(&'static Assumption, Option<Row>)>,
}

impl Search {
    /// Those of the assumptions under which a row is as wanted, the nearest to the paper's figure first.
    fn those(&self, wanted: impl Fn(&Row) -> bool) -> Vec<&'static Assumption> {
        let far = |row: &Row| row.ratio.map_or(0.0, |ratio| (ratio - 1.0).abs());
        let rows = self.tried.iter().filter_map(|(assumption, row)| Some((*assumption, row.as_ref()?)));
        let mut those: Vec<_> = rows.filter(|(_, row)| wanted(row)).map(|(one, row)| (far(row), one)).collect();
        those.sort_by(|a, b| a.0.total_cmp(&b.0));
        those.into_iter().map(|(_, one)| one).collect()
    }

    /// In a sentence, under what the claim comes out: `of` assumptions or readings.
    pub(crate) fn finding(&self, of: &str) -> String {
        let found = self.those(|row| row.verdict == Verdict::Agrees);
        let nearly = self.those(|row| row.unjudged == Some(Verdict::Agrees));
        let all = self.tried.len();
        let some = |those: &[&Assumption]| {
            let nearest = those.first().map_or(String::new(), |one| one.name());
            format!("with {} of {all} {of}, nearest with {nearest}", those.len())
        };
        match (self.usual.verdict, found.is_empty(), nearly.is_empty()) {
            (Verdict::Agrees, true, _) => format!("comes out as it is, and with none of {all} {of}"),
            (Verdict::Agrees, false, _) => format!("comes out as it is, and {}", some(&found)),
            (_, false, _) => format!("comes out {}", some(&found)),
            (_, true, false) => format!("comes out in no steady run; in others {}", some(&nearly)),
            (_, true, true) => format!("not found under any of {all} {of}"),
        }
    }
}

/// By assumption, how many of the claims come out in steady runs, and how many in others; as it is, first.
pub(crate) fn tally(searches: &[Search]) -> Vec<(Option<&'static Assumption>, usize, usize)> {
    let count = |rows: Vec<&Row>| {
        let steady = rows.iter().filter(|row| row.verdict == Verdict::Agrees).count();
        (steady, rows.iter().filter(|row| row.unjudged == Some(Verdict::Agrees)).count())
    };
    let (steady, others) = count(searches.iter().map(|search| &search.usual).collect());
    let mut tally = vec![(None, steady, others)];
    for (at, (assumption, _)) in searches.first().map_or(&[][..], |search| &search.tried).iter().enumerate() {
        let (steady, others) = count(searches.iter().filter_map(|search| search.tried[at].1.as_ref()).collect());
        tally.push((Some(*assumption), steady, others));
    }
    tally
}
