//! Two records whose bytes may differ, because versions of the program do: the figures of their summaries.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use ssdlab_sweep::figures::{Figure, Paths, read};
use ssdlab_sweep::store::Read;

/// A figure that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its path in the summary.
    pub figure: String,
    /// In the record; none if it has no such figure.
    pub record: Option<f64>,
    /// In the run that was made now.
    pub now: Option<f64>,
}

/// Parts of a summary that say of which version and configuration it is.
const LEFT_OUT: [&str; 4] = ["schema", "version", "config", "config_digest"];

fn figures(record: &str) -> Option<BTreeMap<String, f64>> {
    let read_record: Read<Box<RawValue>> = serde_json::from_str(record).ok()?;
    let paths = Paths::default();
    let found = match &read_record.summary {
        Some(summary) => read(summary.get(), &paths, &LEFT_OUT).ok()?,
        None => Vec::new(),
    };
    let value = |figure: Figure| match figure {
        Figure::Whole(value) => value as f64,
        Figure::Real(value) => value,
    };
    Some(found.into_iter().map(|(number, figure)| (paths.path(number), value(figure))).collect())
}

/// Figures of two records that are further apart than a share of the first one's, and all that only one of them has. A record that
/// can't be read differs in everything.
pub fn differences(record: &str, now: &str, tolerance: f64) -> Vec<Difference> {
    let (Some(ours), Some(theirs)) = (figures(record), figures(now)) else {
        return vec![Difference { figure: "the record".into(), record: None, now: None }];
    };
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= tolerance * a.abs();
    let mut all = Vec::new();
    for (figure, value) in &ours {
        let other = theirs.get(figure).copied();
        if !other.is_some_and(|other| near(*value, other)) {
            all.push(Difference { figure: figure.clone(), record: Some(*value), now: other });
        }
    }
    let new = theirs.iter().filter(|(figure, _)| !ours.contains_key(*figure));
    all.extend(new.map(|(figure, now)| Difference { figure: figure.clone(), record: None, now: Some(*now) }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(version: &str, p99: u64, more: &str) -> String {
        format!(
            r#"{{ "schema": "ssdlab.record/2", "version": "{version}", "key": "k", "config": {{}}, "input": "i", "seed": 1,
                "mode": "timed", "status": "done", "summary": {{ "version": "{version}", "latency_ns": {{ "read": {{ "p99": {p99} }} }}{more} }} }}"#
        )
    }

    #[test]
    fn the_tolerance_is_a_share_of_the_record() {
        let (old, new) = (record("1", 1000, ""), record("2", 1010, ""));
        assert!(differences(&old, &record("2", 1000, ""), 0.0).is_empty(), "the version is no figure");
        assert!(differences(&old, &new, 0.01).is_empty());
        let found = differences(&old, &new, 0.0099);
        let want = Difference { figure: "latency_ns.read.p99".into(), record: Some(1000.0), now: Some(1010.0) };
        assert_eq!(found, [want]);
        let found = differences(&old, &record("2", 1000, r#", "x": 3"#), 1.0);
        assert_eq!(found, [Difference { figure: "x".into(), record: None, now: Some(3.0) }]);
        assert_eq!(differences(&old, "{}", 1.0).len(), 1);
    }
}
