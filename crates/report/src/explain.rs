//! The section of an explanation: `ssdlab.explain/1`.

use serde_json::Value;
use ssdlab_figures::figure::{Cell, Table};

use crate::analysis::{Analysis, by_cause, list, stacked};
use ssdlab_lab::readers::json::{self, number, text};
use ssdlab_lab::text::{clock, count, duration, percent};

/// How the note of a change begins that no device can have.
const BOUND: &str = "bound";

fn time(value: &Value) -> Cell {
    value.as_f64().map_or(Cell::Null, |ns| Cell::Text(duration(ns)))
}

/// Its tables for programs.
pub fn tables(value: &Value) -> Vec<(&'static str, Table)> {
    let of = |field: &str, columns: &[&str]| json::table(&value[field], columns);
    let slowest = ["request", "op", "arrival_ns", "offset", "bytes", "start_ns", "latency_ns", "die", "plane"];
    vec![
        ("explain-causes", of("causes", &["cause", "total_ns", "middle_ns", "excess_ns", "share"])),
        ("explain-patterns", of("patterns", &["name", "count"])),
        (
            "explain-tries",
            of("tries", &["set", "value_ns", "ratio", "write_amplification", "write_amplification_bytes", "note"]),
        ),
        ("explain-refused", of("refused", &["set", "rule"])),
        ("explain-slowest", of("slowest", &slowest)),
    ]
}

fn causes(value: &Value) -> Table {
    let mut causes = Table::new(&["cause", "tail", "excess over the middle", "share"]);
    for one in list(value, "causes") {
        let share = one["share"].as_f64().map_or(Cell::Null, |share| Cell::Text(percent(share)));
        causes.rows.push(vec![text(one, "/cause").into(), time(&one["total_ns"]), time(&one["excess_ns"]), share]);
    }
    causes
}

fn patterns(value: &Value) -> Table {
    let mut patterns = Table::new(&["pattern", "requests"]);
    for one in list(value, "patterns") {
        let shown = one["count"].as_u64();
        if shown != Some(0) {
            let cell = shown.map_or(Cell::Text("not known from rows".into()), Cell::from);
            patterns.rows.push(vec![text(one, "/name").into(), cell]);
        }
    }
    patterns
}

/// Whole runs with one change each: those that a device can have, and those that only bound it.
fn tries(value: &Value) -> [Table; 2] {
    let columns = ["change", "value", "ratio", "write amplification", "note"];
    let (mut tries, mut bounds) = (Table::new(&columns), Table::new(&columns));
    for one in list(value, "tries") {
        let ratio = one["ratio"].as_f64().map_or(Cell::Null, |ratio| Cell::Text(format!("{ratio:.3}x")));
        // Explanations before 0.1.3 have it in pages alone.
        let amplification = one["write_amplification_bytes"].as_f64().or(one["write_amplification"].as_f64());
        let amplification = amplification.map_or(Cell::Null, |factor| Cell::Text(format!("{factor:.3}")));
        let change = Cell::Text(ssdlab_lab::settings::assignment(text(one, "/set")));
        let table = if text(one, "/note").starts_with(BOUND) { &mut bounds } else { &mut tries };
        table.rows.push(vec![change, time(&one["value_ns"]), ratio, amplification, text(one, "/note").into()]);
    }
    [tries, bounds]
}

fn refused(value: &Value) -> Table {
    let mut refused = Table::new(&["change", "reason"]);
    for one in list(value, "refused") {
        let change = ssdlab_lab::settings::assignment(text(one, "/set"));
        refused.rows.push(vec![change.as_str().into(), text(one, "/rule").into()]);
    }
    refused
}

fn slowest(value: &Value) -> Table {
    let mut slowest = Table::new(&["request", "kind", "arrival", "latency", "largest cause"]);
    for one in list(value, "slowest") {
        let causes = one["causes"].as_object().into_iter().flatten();
        let largest = causes.max_by_key(|(_, ns)| ns.as_u64()).map_or("", |(name, _)| name);
        slowest.rows.push(vec![
            one["request"].as_u64().map_or(Cell::Null, Cell::from),
            text(one, "/op").into(),
            one["arrival_ns"].as_u64().map_or(Cell::Null, |ns| Cell::Text(clock(ns))),
            time(&one["latency_ns"]),
            largest.into(),
        ]);
    }
    slowest
}

/// What the page says of it.
pub fn told(value: &Value) -> Analysis {
    let of = |place: &str| number(value, place).unwrap_or(0.0);
    let (at, tail) = (text(value, "/at"), of("/count"));
    let mut told = Analysis { said: vec![text(value, "/verdict").into()], ..Analysis::default() };
    let from = number(value, "/threshold_ns").map_or(String::new(), |ns| format!(", from {} on", duration(ns)));
    told.said.push(format!(
        "{at}: {}; {} of {} requests{from}. The middle of all takes {}.",
        duration(of("/value_ns")),
        count(tail as u64),
        count(of("/requests") as u64),
        duration(of("/middle_mean_ns"))
    ));
    told.tables.push(("Excess by cause".into(), causes(value)));
    let [tries, bounds] = tries(value);
    let others = [
        ("Patterns", patterns(value)),
        ("What would help: whole runs with one change each", tries),
        ("Bounds: what no device does", bounds),
        ("Refused changes", refused(value)),
    ];
    let some = others.into_iter().filter(|(_, table)| !table.rows.is_empty());
    told.tables.extend(some.map(|(title, table)| (title.into(), table)));
    told.tables.push(("Slowest requests".into(), slowest(value)));
    let means = |field: &str, requests: f64| {
        by_cause(|cause| {
            let one = list(value, "causes").iter().find(|one| text(one, "/cause") == cause)?;
            number(one, field).map(|ns| ns / requests.max(1.0))
        })
    };
    let (slow, middle) = (means("/total_ns", tail), means("/middle_ns", of("/middle/count")));
    let caption = format!(
        "A request of the tail takes {} in the mean, one of the middle {}.",
        duration(slow.iter().sum()),
        duration(middle.iter().sum())
    );
    let bars = [("the tail".to_string(), slow), ("the middle".to_string(), middle)];
    told.figures.push(stacked("tail-excess", &format!("Mean latency by cause, {at}"), caption, &bars));
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_that_a_device_can_have_stand_before_bounds() {
        let change = |set: &str, ns: u64, note: &str| json!({ "set": set, "value_ns": ns, "ratio": 0.5, "note": note });
        let tries = [change("gc.time=none", 10, "bound, not a device"), change("schemes.path=copyback", 20, "")];
        let told = told(&json!({ "at": "read.p99", "verdict": "GC.", "tries": tries }));
        assert_eq!(told.said[0], "GC.", "the answer is first");
        let named = |name: &str| told.tables.iter().position(|(heading, _)| heading.starts_with(name)).unwrap();
        let (helps, bounds) = (named("What would help"), named("Bounds"));
        assert!(helps < bounds);
        let first = |place: usize| told.tables[place].1.rows[0][0].text();
        assert_eq!(first(helps), "schemes.path = \"copyback\"");
        assert_eq!(first(bounds), "gc.time = \"none\"");
    }
}
