//! Two futures as lines of text.

use ssdlab_lab::readers::words::postponed;
use ssdlab_lab::settings::assignment;
use ssdlab_lab::text::{clock, count, duration, plural};
use ssdlab_sim::Completed;

use crate::records::Reason;
use crate::whatif::measures::{Measure, measures, requests};
use crate::whatif::outcome::{Pair, WhatIf};

const INDENT: usize = 21;

/// All lines.
pub fn text(whatif: &WhatIf) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let change: Vec<String> = whatif
        .changes
        .iter()
        .map(|set| assignment(set))
        .chain(whatif.without.iter().map(|choice| format!("without {choice}")))
        .collect();
    let change = if change.is_empty() { "nothing".into() } else { change.join(", ") };
    lines.push(("what if".into(), format!("{change}, from {} on", clock(whatif.copied.0))));
    let which = match whatif.request {
        Some(number) => format!("request {number} arrives at {}; ", clock(whatif.moment.0)),
        None => format!("around {}; ", clock(whatif.moment.0)),
    };
    let window = format!("{which}{} from the copy to {}", plural(requests(whatif), "request"), clock(whatif.to.0));
    lines.push(("window".into(), window));
    if whatif.closed {
        lines.push(("replay".into(), "closed loop: both get the same sequence, each at its own times".into()));
    }
    let parting = match &whatif.parting {
        Some(one) => format!("at {} ns, {}: {} | {}", count(one.at.0), one.resource, one.does[0], one.does[1]),
        None if whatif.waits_elsewhere() => {
            "never: both do the same at the same times; only causes of waits differ".into()
        }
        None => "never: both do the same".into(),
    };
    lines.push(("they part".into(), parting));
    let put_off = whatif.postponement;
    if put_off.postponed + put_off.forced > 0 {
        lines.push(("put off".into(), postponed(put_off.postponed, put_off.forced)));
    }
    let mut out: String = lines.iter().map(|(label, text)| format!("{label:<INDENT$}{text}\n")).collect();
    out.push('\n');
    let mut measured = measures(whatif);
    let none = |op: &str| measured.iter().any(|one| one.name == format!("{op}_requests") && one.values[0] == Some(0.0));
    // Of one kind only, they are all.
    if none("read") || none("write") {
        measured.retain(|one| !one.name.starts_with("all_"));
    }
    out.push_str(&grid(&table(&measured)));
    if let Some(pair) = whatif.chosen() {
        out.push('\n');
        out.push_str(&grid(&causes(pair)));
    }
    for (gain, name) in [(true, "largest gains"), (false, "largest losses")] {
        let some = whatif.extremes(gain);
        if !some.is_empty() {
            out.push('\n');
            out.push_str(&grid(&extremes(name, &some)));
        }
    }
    out
}

fn shown(time: bool, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(ns) if time => duration(ns),
        Some(number) => count(number as u64),
    }
}

/// The base, the what-if, and their difference with its sign.
fn compared(time: bool, values: [Option<f64>; 2]) -> [String; 3] {
    let [base, other] = values.map(|value| shown(time, value));
    let [Some(from), Some(to)] = values else { return [base, other, "-".into()] };
    let sign = match to - from {
        d if d > 0.0 => "+",
        d if d < 0.0 => "-",
        _ => "",
    };
    [base, other, format!("{sign}{}", shown(time, Some((to - from).abs())))]
}

fn table(measures: &[Measure]) -> Vec<Vec<String>> {
    let mut rows = vec![["measure", "base", "what-if", "difference"].map(String::from).to_vec()];
    let known = measures.iter().filter(|one| one.values.iter().flatten().any(|value| *value > 0.0));
    rows.extend(known.map(|one| [vec![one.label.clone()], compared(one.time, one.values).into()].concat()));
    rows
}

fn latency(row: &Completed) -> f64 {
    (row.completion - row.arrival).0 as f64
}

fn causes(pair: &Pair) -> Vec<Vec<String>> {
    let head = format!("request {}", pair.base.request);
    let mut rows = vec![[&head, "base", "what-if", "difference"].map(String::from).to_vec()];
    let other = pair.whatif.as_ref();
    for cause in Reason::all() {
        let of = |row: &Completed| cause.of(&row.blame, &row.extras) as f64;
        let values = [Some(of(&pair.base)), other.map(of)];
        if values.iter().flatten().any(|ns| *ns > 0.0) {
            rows.push([vec![cause.name().into()], compared(true, values).into()].concat());
        }
    }
    let values = [Some(latency(&pair.base)), other.map(latency)];
    rows.push([vec!["latency".into()], compared(true, values).into()].concat());
    rows
}

fn extremes(name: &str, pairs: &[&Pair]) -> Vec<Vec<String>> {
    let mut rows = vec![[name, "arrival", "base", "what-if", "difference"].map(String::from).to_vec()];
    for pair in pairs {
        let op = ssdlab_lab::results::requests::op(pair.base.op);
        let values = [Some(latency(&pair.base)), pair.whatif.as_ref().map(latency)];
        let request = vec![format!("{op} {}", pair.base.request), clock(pair.base.arrival.0)];
        rows.push([request, compared(true, values).into()].concat());
    }
    rows
}

/// Columns, the first one to the left and the others to the right.
fn grid(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|i| width(i).max(if i == 0 { INDENT - 2 } else { 0 })).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let text: String = cells
            .map(|(i, (cell, width))| if i == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") })
            .collect();
        format!("{}\n", text.trim_end())
    };
    rows.iter().map(line).collect()
}
