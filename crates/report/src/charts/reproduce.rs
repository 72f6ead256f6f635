//! A paper's values beside ours.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Source, Table, Unit};

use crate::inputs::Inputs;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_lab::readers::json::text;

/// The items of all papers: paper and item.
fn items(inputs: &Inputs) -> Vec<(&Value, &Value)> {
    let papers = inputs.reproduce.as_ref().and_then(|value| value["papers"].as_array());
    let mut out = Vec::new();
    for paper in papers.into_iter().flatten() {
        out.extend(paper["items"].as_array().into_iter().flatten().map(|item| (paper, item)));
    }
    out
}

/// A name without blanks: `d-table-1`.
fn folded(text: &str) -> String {
    text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Names of the figures: the paper's letter and the item.
pub(super) fn ids(inputs: &Inputs) -> Vec<String> {
    items(inputs)
        .iter()
        .map(|(paper, item)| folded(&format!("{}-{}", text(paper, "/letter"), text(item, "/id"))))
        .collect()
}

/// What a reader sees at once.
pub fn symbol(verdict: &str) -> &'static str {
    match verdict {
        "same" | "agrees" => "=",
        "weaker" | "stronger" => "~",
        "differs" | "opposite" | "not met" | "no effect" => "!",
        _ => "?",
    }
}

/// The first number of a text such as `1.3x`, `45.1 %` or `797 us`, with what follows it.
fn leading(text: &str) -> Option<(f64, &str)> {
    let plain = text.trim();
    let end = plain.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+'))).unwrap_or(plain.len());
    let value = plain[..end].replace(',', "").parse().ok()?;
    // The arithmetic of a derived figure is no part of its unit.
    let (unit, _) = plain[end..].split_once(" (derived").unwrap_or((&plain[end..], ""));
    Some((value, unit.trim()))
}

fn unknown(id: &str, all: &[String]) -> Error {
    let have = suggest(id, all.iter().map(String::as_str), "They have");
    let from = if all.is_empty() { ": give the JSON of `ssdlab reproduce`" } else { "" };
    Error::usage(format!("the inputs have no figure `reproduce:{}`", clip(id))).help(have + from)
}

/// The axis of ratios: logarithmic where one is far from 1.
fn axis_of(own: &[Vec<f64>]) -> Axis {
    let most = own.iter().map(|point| point[0]).fold(1.0, f64::max);
    let least = own.iter().map(|point| point[0]).fold(1.0, f64::min);
    let far = most > 4.0 || least < 0.25;
    let x = Axis::new("ours over the paper's", Unit::One, if far { Scale::Log } else { Scale::Linear });
    if far { x.within(least * 0.7, most * 2.5) } else { x.within(0.0, (most * 1.25).max(1.25)) }
}

/// `reproduce:ID`
pub(super) fn figure(inputs: &Inputs, id: &str) -> Result<Figure> {
    let all = ids(inputs);
    let Some(at) = all.iter().position(|known| *known == folded(id)) else { return Err(unknown(id, &all)) };
    let (paper, item) = items(inputs)[at];
    let rows = item["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let mut table = Table::new(&["what", "paper", "ours", "kind", "verdict", "note"]);
    let (mut names, mut own) = (Vec::new(), Vec::new());
    let mut words = Series { mark: Mark::Text, ..Series::default() };
    for row in rows {
        let field = |name: &str| text(row, &format!("/{name}"));
        let verdict = field("verdict");
        table.rows.push(vec![
            field("what").into(),
            field("paper").into(),
            field("ours").into(),
            field("kind").into(),
            Cell::Text(format!("{} {verdict}", symbol(verdict))),
            field("note").into(),
        ]);
        let (paper, ours) = (leading(field("paper")), leading(field("ours")));
        let place = names.len() as f64;
        // Rows have units of their own, so ours is drawn as what it is of the paper's.
        if let (Some((paper, unit)), Some((ours, other))) = (paper, ours)
            && unit == other
            && paper > 0.0
            && ours > 0.0
        {
            names.push(field("what").to_string());
            own.push(vec![ours / paper, place]);
            words.points.push(vec![(ours / paper).max(1.0), place]);
            words.labels.push(format!("{} {verdict}", symbol(verdict)));
        }
    }
    let title = format!("{} {}: {}", text(paper, "/letter").to_uppercase(), text(item, "/id"), text(item, "/title"));
    let source = Source {
        seed: inputs.reproduce.as_ref().and_then(|value| value["seed"].as_u64()),
        version: inputs.reproduce.as_ref().and_then(|value| value["version"].as_str()).map(String::from),
        ..Source::default()
    };
    let mut figure = Figure { id: format!("reproduce:{}", all[at]), title, table, source, ..Figure::default() };
    // The rule of the verdicts, as the file states it.
    let rule = inputs.reproduce.as_ref().and_then(|value| value["rule"].as_str());
    let judged = rows.iter().any(|row| text(row, "/kind") == "measured" && text(row, "/verdict") != "no number stated");
    figure.notes.extend(rule.filter(|_| judged).map(String::from));
    let agree = rows.iter().filter(|row| matches!(text(row, "/verdict"), "same" | "agrees")).count();
    figure.caption = format!("{agree} of {} values are the same as the paper's or agree with them.", rows.len());
    if names.is_empty() {
        figure.empty =
            Some("No row has a number of the paper and one of ours in one unit; the table has all rows.".into());
        return Ok(figure);
    }
    let x = axis_of(&own);
    let series = vec![
        Series {
            style: "paper".into(),
            name: "the paper".into(),
            points: vec![vec![1.0, -0.5], vec![1.0, names.len() as f64 - 0.5]],
            ..Series::default()
        },
        Series { name: "ours".into(), ..Series::new("ours", Mark::Point, own) },
        words,
    ];
    figure.panels = vec![Panel { x, y: Axis::bands("", names), series, ..Panel::default() }];
    figure.notes.push("Rows have units of their own: ours is drawn over the paper's value.".into());
    Ok(figure)
}
