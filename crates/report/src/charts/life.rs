//! The life of a drive: blocks that are left, and write amplification, over what the host has written.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::charts::parts::{Wanted, figure};
use crate::inputs::Inputs;
use ssdlab_lab::readers::json::number;
use ssdlab_lab::text::{percent, plural, size};

/// Whether a run has a life.
pub(super) fn has(inputs: &Inputs) -> bool {
    inputs.run.summary.as_ref().is_some_and(|summary| summary.pointer("/life/tbw_bytes").is_some())
}

fn pairs(life: &Value) -> Vec<(u64, u64)> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_u64()?, pair.get(1)?.as_u64()?));
    life.get("survival").and_then(Value::as_array).map_or_else(Vec::new, |all| all.iter().filter_map(pair).collect())
}

pub(super) fn life(inputs: &Inputs, _wanted: &Wanted) -> Figure {
    let title = "Life of the drive";
    let Some(life) = inputs.run.summary.as_ref().and_then(|summary| summary.get("life")) else {
        return Figure::empty("life", title, "Blocks do not wear out.");
    };
    let written = number(life, "/tbw_bytes").unwrap_or(0.0);
    let survival = pairs(life);
    let mut numbers = Table::new(&["host_bytes", "blocks_left", "write_amplification"]);
    let tib = |bytes: f64| bytes / f64::from(1 << 20) / f64::from(1 << 20);
    // Before the first failure there is one block more.
    let first = survival.first().map(|(_, left)| vec![0.0, *left as f64 + 1.0]);
    let steps = first.into_iter().chain(survival.iter().map(|(bytes, left)| vec![tib(*bytes as f64), *left as f64]));
    numbers.rows.extend(survival.iter().map(|(bytes, left)| vec![(*bytes).into(), (*left).into(), Cell::Null]));
    let tenths = life.get("write_amplification_by_tenth").and_then(Value::as_array).cloned().unwrap_or_default();
    let amplification: Vec<(f64, f64)> =
        (1..).zip(&tenths).filter_map(|(n, of)| Some((written * f64::from(n) / 10.0, of.as_f64()?))).collect();
    numbers
        .rows
        .extend(amplification.iter().map(|(bytes, of)| vec![(*bytes as u64).into(), Cell::Null, Cell::Real(*of)]));
    let x = || Axis::new("TiB that the host has written", Unit::One, Scale::Linear);
    let line =
        |name: &str, points: Vec<Vec<f64>>| Series { name: String::new(), ..Series::new(name, Mark::Line, points) };
    let panels = vec![
        Panel {
            title: "usable and spare blocks".into(),
            x: x(),
            y: Axis::new("blocks", Unit::One, Scale::Linear),
            series: vec![line("survival", steps.collect())],
        },
        Panel {
            title: "write amplification by tenth".into(),
            x: x(),
            y: Axis::new("", Unit::One, Scale::Linear),
            series: vec![line(
                "amplification",
                amplification.iter().map(|(bytes, of)| vec![tib(*bytes), *of]).collect(),
            )],
        },
    ];
    let mut figure = figure("life", title, inputs, panels, numbers);
    let used = percent(number(life, "/used_endurance").unwrap_or(0.0));
    let failed = ["erase", "program"].map(|how| number(life, &format!("/retired/{how}")).unwrap_or(0.0) as u64);
    figure.caption = format!(
        "The host wrote {}{}; {} failed, and {used} of the endurance of all blocks was used.",
        size(written as u64),
        if life.get("end").is_some_and(|end| !end.is_null()) { " until the drive became read-only" } else { "" },
        plural(failed.iter().sum(), "block"),
    );
    if let Some(times) = number(life, "/accelerated") {
        figure.notes.push(format!("P/E cycles were divided by {times}, and amounts multiplied by it."));
    }
    figure
}
