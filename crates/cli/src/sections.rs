//! The reports of schemes as text: the same fields as in the summary, with units from their names.

use serde_json::Value;
use ssdlab_lab::text::{count, duration, percent, size};
use ssdlab_sim::config::MappingUnit;
use ssdlab_sim::report::life::LifeReport;
use ssdlab_sim::report::page_types::PageTypes;
use ssdlab_sim::report::{SCHEME_SECTIONS, Summary};
use ssdlab_sim::schemes::AnyCollector;

use crate::life::unused;
use ssdlab_lab::layout::facts;
use ssdlab_lab::tree;

/// The sections of the schemes in use, each with its fields.
pub(crate) fn render(summary: &Summary, out: &mut String) {
    let whole = tree::summary(summary);
    for section in SCHEME_SECTIONS {
        let Some(fields) = whole.get(section).filter(|fields| !fields.is_null()) else { continue };
        if !shown(section, summary) {
            continue;
        }
        let mut lines = Vec::new();
        match &summary.page_types {
            Some(types) if section == "page_types" => page_types(types, &mut lines),
            _ if section == "life" => summary.life.iter().for_each(|of| life(of, &mut lines)),
            _ => flatten("", fields, &mut lines),
        }
        out.push('\n');
        let label = section.replace('_', "-");
        let lines: Vec<(&str, String)> =
            lines.into_iter().enumerate().map(|(i, line)| (if i == 0 { label.as_str() } else { "" }, line)).collect();
        facts(out, &lines);
    }
}

/// Paper B's figures are in every summary of a device with two planes per die, for comparisons; the table shows them only if its
/// scheme is used.
fn shown(section: &str, summary: &Summary) -> bool {
    let config = &summary.config;
    let paired = config.device.mapping_unit == MappingUnit::SuperPage;
    section != "pagc" || paired || config.schemes.collector.chain().any(|one| matches!(one, AnyCollector::PaGc(_)))
}

/// One line per page type, with mean array times.
fn page_types(types: &PageTypes, lines: &mut Vec<String>) {
    let done = |what: &str, pages: u64, mean: Option<f64>| match mean {
        Some(ns) => format!("{} {what} of {}", count(pages), duration(ns)),
        None => format!("no {what}"),
    };
    for (name, of) in &types.0 {
        let reads = done("reads", of.totals.reads, of.totals.read_mean());
        let programs = done("programs", of.totals.programs, of.totals.program_mean());
        lines.push(format!("{name}: {} pages per block, {reads}, {programs}", of.pages_per_block));
    }
}

/// The life of a device, without the curve of its blocks.
fn life(life: &LifeReport, lines: &mut Vec<String>) {
    let accelerated = life.accelerated.map_or(String::new(), |times| format!(" (P/E cycles / {times}, x {times})"));
    lines.push(match (&life.end, life.projected_tbw_bytes) {
        (Some(end), _) => format!(
            "read-only after {} of the host{accelerated}: {} of plane {}",
            size(end.host_bytes),
            end.reason,
            end.plane
        ),
        (None, Some(bytes)) => format!(
            "{} written{accelerated}, {} by the end if wear goes on alike (linear)",
            size(life.tbw_bytes),
            size(bytes)
        ),
        (None, None) => format!("{} written{accelerated}", size(life.tbw_bytes)),
    });
    if life.end.is_some() {
        let years = life.dwpd.0.iter().map(|(years, rate)| format!("{rate:.3} over {years} years"));
        lines.push(format!("drive writes a day: {}", years.collect::<Vec<_>>().join(", ")));
        lines.extend(unused(life.used_endurance));
    }
    let tenths = life.write_amplification_by_tenth.iter().map(|of| of.map_or("-".into(), |of| format!("{of:.3}")));
    lines.push(format!("write amplification by tenth: {}", tenths.collect::<Vec<_>>().join(" ")));
    let (of, left) = (&life.retired, &life.spare_left);
    lines.push(format!(
        "failed blocks: {} by an erase, {} by a program, {} from the factory; spare ones left in a plane: {} at least, {:.1} on average",
        count(of.erase),
        count(of.program),
        count(of.initial),
        left.min,
        left.mean
    ));
    lines.push(format!("endurance used: {}", percent(life.used_endurance)));
    if life.rejected.requests > 0 {
        lines.push(format!(
            "rejected after the end: {} writes of {} pages",
            count(life.rejected.requests),
            count(life.rejected.pages)
        ));
    }
}

/// One line per field; fields of a table of plain values share one. Tables of a list have their numbers, from 0.
fn flatten(name: &str, value: &Value, lines: &mut Vec<String>) {
    if let Value::Array(tables) = value
        && tables.iter().any(Value::is_object)
    {
        let one = name.strip_suffix('s').unwrap_or(name);
        return (0..).zip(tables).for_each(|(i, table): (usize, _)| flatten(&format!("{one} {i}"), table, lines));
    }
    let Value::Object(fields) = value else {
        return lines.push(format!("{}: {}", words(name), show(name, value)));
    };
    let plain = fields.values().all(|field| !field.is_object() && !field.is_array());
    if plain && !name.is_empty() {
        let fields: Vec<String> = fields
            .iter()
            .map(|(field, value)| format!("{} {}", words(field), show(&format!("{field}.{name}"), value)))
            .collect();
        return lines.push(format!("{}: {}", words(name), fields.join(", ")));
    }
    for (field, value) in fields {
        let name = if name.is_empty() { field.clone() } else { format!("{name} {field}") };
        flatten(&name, value, lines);
    }
}

/// A field's name without its unit, as words.
fn words(name: &str) -> String {
    let name = ["_ns", "_bytes"].iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name);
    name.replace('_', " ")
}

fn show(name: &str, value: &Value) -> String {
    let is = |unit: &str| name.ends_with(unit);
    match value {
        Value::Null => "-".into(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(|value| show(name, value)).collect::<Vec<_>>().join(" "),
        Value::Object(_) => value.to_string(),
        Value::Number(number) => match (number.as_f64(), number.as_u64()) {
            (Some(value), _) if is("_ns") => duration(value),
            (Some(value), _) if is("share") => percent(value),
            (_, Some(value)) if is("_bytes") => size(value),
            (_, Some(value)) => count(value),
            (Some(value), _) => format!("{value:.3}"),
            _ => number.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_lines_with_units() {
        let fields = serde_json::json!({
            "moved_pages": 12_345, "waiting_ns": 1_500, "buffered_share": 0.25,
            "cost_ns": { "read": 2_000, "program": 3_000_000 }, "nothing": null,
            "points": [{ "pages": 1 }, { "pages": 2 }],
        });
        let mut lines = Vec::new();
        flatten("", &fields, &mut lines);
        assert_eq!(
            lines,
            [
                "moved pages: 12,345",
                "waiting: 1.50 us",
                "buffered share: 25.0 %",
                "cost: read 2.00 us, program 3.00 ms",
                "nothing: -",
                "point 0: pages 1",
                "point 1: pages 2"
            ]
        );
    }
}
