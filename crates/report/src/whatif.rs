//! The section of a what-if: `ssdlab.whatif/1`.

use serde_json::Value;
use ssdlab_figures::figure::{Cell, Table};

use crate::analysis::{Analysis, by_cause, list, stacked};
use ssdlab_lab::readers::json::{self, number, text};
use ssdlab_lab::readers::words::postponed;
use ssdlab_lab::text::{clock, count, duration};

/// A value of a measure; times end in `_ns`, and differences have their sign.
fn cell(name: &str, value: &Value, difference: bool) -> Cell {
    let Some(number) = value.as_f64() else { return Cell::Null };
    let size = match name.ends_with("_ns") {
        true => duration(number.abs()),
        false => count(number.abs() as u64),
    };
    let sign = match number {
        n if n < 0.0 => "-",
        n if n > 0.0 && difference => "+",
        _ => "",
    };
    Cell::Text(format!("{sign}{size}"))
}

/// The name of a measure in words, such as `read p99.9`.
fn label(name: &str) -> String {
    name.trim_end_matches("_ns").replace("p99_9", "p99.9").replace('_', " ").replace("on gc", "on GC")
}

/// Its tables for programs.
pub fn tables(value: &Value) -> Vec<(&'static str, Table)> {
    const REQUEST: [&str; 5] = ["request", "op", "arrival_ns", "base_ns", "whatif_ns"];
    vec![
        ("whatif-measures", json::table(&value["measures"], &["measure", "base", "whatif", "difference"])),
        ("whatif-gains", json::table(&value["gains"], &REQUEST)),
        ("whatif-losses", json::table(&value["losses"], &REQUEST)),
    ]
}

/// What the page says of it.
pub fn told(value: &Value) -> Analysis {
    let names = |field: &str, lead: &str| {
        list(value, field).iter().filter_map(Value::as_str).map(|one| format!("{lead}{one}")).collect::<Vec<_>>()
    };
    let mut change = names("change", "");
    change.extend(names("without", "without "));
    let change = if change.is_empty() { "nothing".into() } else { change.join(", ") };
    let of = |place: &str| number(value, place).unwrap_or(0.0);
    let mut told = Analysis::default();
    told.said.push(format!(
        "The device was copied at {}, and both copies served the same requests: {} arrived until {}. Changed in the second one: \
         {change}.",
        clock(of("/copied_ns") as u64),
        count(of("/requests") as u64),
        clock(of("/to_ns") as u64)
    ));
    if value["closed"] == true {
        told.said.push("They came in a closed loop: both copies got the same sequence, each at its own times.".into());
    }
    told.said.push(match &value["parting"] {
        Value::Null => "They never part: both do the same at the same times.".into(),
        one => format!(
            "They part at {} ns on {}: {} in the base, {} in the what-if.",
            count(of("/parting/at_ns") as u64),
            text(one, "/resource"),
            text(one, "/base"),
            text(one, "/whatif")
        ),
    });
    if of("/postponed") + of("/forced") > 0.0 {
        told.said.push(postponed(of("/postponed") as u64, of("/forced") as u64) + ".");
    }
    let mut measures = Table::new(&["measure", "base", "what-if", "difference"]);
    for one in list(value, "measures") {
        let name = text(one, "/measure");
        let row = ["base", "whatif", "difference"].map(|side| cell(name, &one[side], side == "difference"));
        if !row[..2].iter().all(|cell| matches!(cell, Cell::Null)) {
            measures.rows.push(std::iter::once(Cell::Text(label(name))).chain(row).collect());
        }
    }
    told.tables.push(("Requests of the window".into(), measures));
    for (field, heading) in [("gains", "Largest gains"), ("losses", "Largest losses")] {
        let mut rows = Table::new(&["request", "kind", "arrival", "base", "what-if"]);
        for one in list(value, field) {
            let times = ["base_ns", "whatif_ns"].map(|name| cell(name, &one[name], false));
            let arrival = one["arrival_ns"].as_u64().map_or(Cell::Null, |ns| Cell::Text(clock(ns)));
            let head = [one["request"].as_u64().map_or(Cell::Null, Cell::from), text(one, "/op").into(), arrival];
            rows.rows.push(head.into_iter().chain(times).collect());
        }
        if !rows.rows.is_empty() {
            told.tables.push((heading.into(), rows));
        }
    }
    if let Some(chosen) = value["chosen"].as_object() {
        let side = |name: &str| by_cause(|cause| number(&value["chosen"], &format!("/{name}/causes/{cause}")));
        let request = chosen["base"]["request"].as_u64().unwrap_or(0);
        let latency = |name: &str| chosen[name]["latency_ns"].as_f64().map_or("-".into(), duration);
        let caption = format!(
            "Request {request} takes {} in the base and {} in the what-if.",
            latency("base"),
            latency("whatif")
        );
        let bars = [("base".to_string(), side("base")), ("what-if".to_string(), side("whatif"))];
        told.figures.push(stacked("whatif-causes", &format!("Request {request} by cause"), caption, &bars));
    }
    told
}
