//! What the file of a study says of its axes: which of them choose the requests, and the baseline. It is read leniently, since a store
//! may hold the file of another version.

use std::collections::HashMap;

use toml::{Table, Value};

use ssdlab_sweep::axis::item;
use ssdlab_sweep::points::Points;
use ssdlab_sweep::study::flat;

/// An axis of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its key or name.
    pub key: String,
    /// Its values as text: numbers in ascending order, others as they first appear.
    pub values: Vec<String>,
    /// The values as numbers, if all are.
    pub numbers: Option<Vec<f64>>,
    /// Whether it chooses the requests, which are no choice of a design.
    pub workload: bool,
    /// The place of the baseline's value, if the study gives one.
    pub baseline: Option<u32>,
}

/// The axes of a study, and by point the place of its value on each.
pub fn of(points: &Points) -> (Vec<Axis>, Vec<Vec<u32>>) {
    let axis = |label: &String| Axis { key: label.clone(), ..Axis::default() };
    let mut axes: Vec<Axis> = points.study.axes.iter().map(|own| axis(&own.label)).collect();
    let mut known: Vec<HashMap<String, u32>> = vec![HashMap::new(); axes.len()];
    let texts = points.points.iter().map(|point| point.items.iter().map(|item| item.shown.text()));
    let at = texts.map(|values| places(&mut axes, &mut known, values)).collect();
    mark(&mut axes, &points.study.text.text);
    (axes, at)
}

/// The places of a point's values on the axes, which get the values that are new. `known`: the places of an axis's values, an axis each.
pub fn places(axes: &mut [Axis], known: &mut [HashMap<String, u32>], values: impl Iterator<Item = String>) -> Vec<u32> {
    let place = |((text, axis), known): ((String, &mut Axis), &mut HashMap<String, u32>)| {
        *known.entry(text).or_insert_with_key(|text| {
            axis.values.push(text.clone());
            axis.values.len() as u32 - 1
        })
    };
    values.zip(axes).zip(known).map(place).collect()
}

/// Names of axes that choose the requests, and of keys that do so in named values.
const WORKLOADS: [&str; 3] = ["trace", "workload", "input"];

/// Marks axes. Without the file, only those that are named after what they choose are known.
pub fn mark(axes: &mut [Axis], text: &str) {
    let file: Table = text.parse().unwrap_or_default();
    let table = |key: &str| file.get(key).and_then(Value::as_table).cloned().unwrap_or_default();
    let named = table("axes");
    // The key of an axis, by its label.
    let key = |label: &str| {
        let labelled = |value: &Value| value.get("label").and_then(Value::as_str) == Some(label);
        named.iter().find(|(_, value)| labelled(value)).map_or(label.to_string(), |(key, _)| key.clone())
    };
    let chooses = |value: &Value| {
        let values = value.get("values").and_then(Value::as_table);
        let given = |value: &Value| ["trace", "workload"].iter().any(|key| value.get(*key).is_some());
        values.is_some_and(|values| values.values().any(given))
    };
    for axis in axes.iter_mut() {
        let own = key(&axis.key);
        axis.workload = WORKLOADS.contains(&axis.key.as_str())
            || WORKLOADS.contains(&own.as_str())
            || named.get(&own).is_some_and(chooses);
    }
    for (name, value) in flat(&table("baseline"), &|_| false) {
        let Some(axis) = axes.iter_mut().find(|axis| axis.key == name || key(&axis.key) == name) else { continue };
        let place = |text: &str| axis.values.iter().position(|own| own == text).map(|place| place as u32);
        let as_name = value.as_str().and_then(place);
        axis.baseline = as_name.or_else(|| place(&item(&name, &value).ok()?.shown.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(keys: &[(&str, &[&str])]) -> Vec<Axis> {
        let axis = |(key, values): &(&str, &[&str])| Axis {
            key: (*key).into(),
            values: values.iter().map(ToString::to_string).collect(),
            ..Axis::default()
        };
        keys.iter().map(axis).collect()
    }

    #[test]
    fn axes_that_choose_requests_and_baselines_are_marked() {
        let mut all = axes(&[
            ("trace", &["a.csv", "b.csv"]),
            ("mix", &["light", "heavy"]),
            ("victim", &["greedy", "fifo"]),
            ("device.over_provisioning", &["0.1", "0.25"]),
            ("gc.scope", &["plane", "chip"]),
        ]);
        let text = r#"
            [axes]
            "gc.scope" = ["plane", "chip"]
            [axes.load]
            label = "mix"
            values = { light = { workload = "quickstart" }, heavy = { workload = "random-write" } }
            [axes."schemes.victim"]
            label = "victim"
            values = { greedy = { "schemes.victim" = "greedy" }, fifo = { "schemes.victim" = "fifo" } }
            [baseline]
            "schemes.victim" = "fifo"
            device.over_provisioning = 0.25
        "#;
        mark(&mut all, text);
        let workloads: Vec<bool> = all.iter().map(|axis| axis.workload).collect();
        assert_eq!(workloads, [true, true, false, false, false]);
        let bases: Vec<Option<u32>> = all.iter().map(|axis| axis.baseline).collect();
        assert_eq!(bases, [None, None, Some(1), Some(1), None]);
        let mut lost = axes(&[("input", &["a"]), ("victim", &["b"])]);
        mark(&mut lost, "no TOML = = at all");
        assert_eq!((lost[0].workload, lost[1].workload, lost[0].baseline), (true, false, None));
    }
}
