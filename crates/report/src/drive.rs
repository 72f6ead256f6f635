//! The section of a real drive: `ssdlab.identify/1`.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};
use ssdlab_lab::readers::json::{self, number, text};

use crate::analysis::{Analysis, list, unity};

type Points = Vec<Vec<f64>>;

const POLICIES: [&str; 9] = [
    "policy",
    "spare",
    "moved_us_per_kb",
    "uniform_rms_pct",
    "cells_rms_pct",
    "mean_pct",
    "worst_pct",
    "worst_cell",
    "stopped",
];
const CELLS: [&str; 7] =
    ["pattern", "parameter", "predicted_MBps", "interval_MBps", "measured_MBps", "error_pct", "in"];
const LOADS: [&str; 8] = [
    "load_per_s",
    "predicted_read_us",
    "measured_read_us",
    "predicted_write_us",
    "measured_write_us",
    "error_pct",
    "in",
    "claimed",
];
const RUN: [&str; 3] = ["drive_writes", "measured_MBps", "predicted_MBps"];

/// Its tables for programs.
pub fn tables(value: &Value) -> Vec<(&'static str, Table)> {
    vec![
        ("drive-policies", json::table(&value["policies"], &POLICIES)),
        ("drive-cells", json::table(&value["cells"], &CELLS)),
        ("drive-uniform", json::table(&value["uniform"], &RUN)),
        ("drive-latencies", json::table(&value["latencies"], &LOADS)),
    ]
}

/// A value with its interval, as text.
fn with_interval(value: &Value, name: &str, interval: &str, decimals: usize) -> String {
    let own = number(value, &format!("/{name}")).unwrap_or(f64::NAN);
    let end = |i: usize| number(value, &format!("/{interval}/{i}")).unwrap_or(f64::NAN);
    format!("{own:.decimals$} (between {:.decimals$} and {:.decimals$})", end(0), end(1))
}

/// What the page says of it.
pub fn told(value: &Value) -> Analysis {
    let mut told = Analysis::default();
    let sentence = text(value, "/sentence");
    let mut letters = sentence.chars();
    let first: String = letters.next().map_or(String::new(), |c| c.to_uppercase().collect());
    told.said.push(format!("{first}{}.", letters.as_str()));
    told.said.push(format!(
        "Spare space {}; a page of the host costs {:.3} us/KB, a page that GC moves {} us/KB. Free space ends after {:.3} drive \
         writes. Only the uniform run fixes these numbers; every policy is then frozen, and judged by the other patterns.",
        with_interval(value, "spare", "spare_interval", 3),
        number(value, "/host_us_per_kb").unwrap_or(f64::NAN),
        with_interval(value, "moved_us_per_kb", "moved_interval", 3),
        number(value, "/cliff_drive_writes").unwrap_or(f64::NAN),
    ));
    told.tables.push(("Policies, the nearest first".into(), policies(value)));
    told.figures.push(uniform(value));
    told.figures.push(cells(value));
    if !list(value, "latencies").is_empty() {
        told.figures.push(latencies(value));
    }
    told
}

fn policies(value: &Value) -> Table {
    let mut table = Table::new(&[
        "policy",
        "spare",
        "moved us/KB",
        "uniform rms",
        "cells rms",
        "mean error",
        "worst error",
        "in cell",
    ]);
    for one in list(value, "policies") {
        let of = |name: &str| number(one, &format!("/{name}"));
        let percent = |name: &str| of(name).map_or(Cell::Null, |value| Cell::Text(format!("{value:.1} %")));
        let stopped = if one["stopped"] == true { " (stopped)" } else { "" };
        table.rows.push(vec![
            Cell::Text(format!("{}{stopped}", text(one, "/policy"))),
            of("spare").into(),
            of("moved_us_per_kb").into(),
            percent("uniform_rms_pct"),
            percent("cells_rms_pct"),
            percent("mean_pct"),
            percent("worst_pct"),
            text(one, "/worst_cell").into(),
        ]);
    }
    table
}

/// The uniform run, measured and modelled.
fn uniform(value: &Value) -> Figure {
    let rows = list(value, "uniform");
    let points = |name: &str| {
        let of = |row: &Value| Some(vec![number(row, "/drive_writes")?, 1e6 * number(row, &format!("/{name}"))?]);
        rows.iter().filter_map(of).collect::<Vec<_>>()
    };
    let measured =
        Series { name: "measured".into(), mark: Mark::Point, points: points("measured_MBps"), ..Series::default() };
    let model =
        Series { name: "model".into(), mark: Mark::Line, points: points("predicted_MBps"), ..Series::default() };
    let x = Axis::new("drive writes of the host", Unit::One, Scale::Linear);
    let y = Axis::new("rate", Unit::BytesPerSecond, Scale::Linear);
    let panels = vec![Panel { x, y, series: vec![measured, model], ..Panel::default() }];
    let rms = number(value, "/policies/0/uniform_rms_pct").unwrap_or(f64::NAN);
    let caption = format!(
        "Uniform random writes after a sequential fill, and the model with {}: {rms:.1} % apart (rms) behind the cliff.",
        text(value, "/policy")
    );
    let table = json::table(&value["uniform"], &RUN);
    Figure { id: "drive-uniform".into(), title: "The uniform run".into(), panels, table, caption, ..Figure::default() }
}

/// Reads beside a load of writes: measured, and on the device of the drive's costs.
fn latencies(value: &Value) -> Figure {
    let rows = list(value, "latencies");
    let points = |whose: &str, which: usize| {
        let of = |row: &Value| {
            Some(vec![number(row, "/load_per_s")?, 1000.0 * number(row, &format!("/{whose}_read_us/{which}"))?])
        };
        rows.iter().filter_map(of).collect::<Points>()
    };
    let of = |(whose, mark): (&str, Mark), (name, which): (&str, usize)| Series {
        name: format!("{name}, {whose}"),
        mark,
        points: points(whose, which),
        ..Series::default()
    };
    let both = [("measured", Mark::Point), ("predicted", Mark::Line)];
    let percentiles = [("median", 0), ("99th percentile", 1), ("99.9th percentile", 2)];
    let series = percentiles.iter().flat_map(|which| both.map(|whose| of(whose, *which))).collect();
    let x = Axis::new("load", Unit::RequestsPerSecond, Scale::Linear);
    let y = Axis::new("latency of reads", Unit::Nanoseconds, Scale::Log);
    let most = number(value, "/knee/error_pct")
        .map_or(String::new(), |error| format!(" Most writes a second: {error:+.1} % from the measured ones."));
    let caption = format!(
        "A probe of 10,000 requests a second, half of them reads, beside random writes, on a device whose times follow from the costs of \
         pages. One load decided the slice after which a program yields to a read.{most}"
    );
    let panels = vec![Panel { x, y, series, ..Panel::default() }];
    let table = json::table(&value["latencies"], &LOADS);
    let (id, title) = ("drive-latencies".into(), "Reads over load".into());
    Figure { id, title, panels, table, caption, ..Figure::default() }
}

/// Predictions over measurements with their intervals.
fn cells(value: &Value) -> Figure {
    let mut rows = Vec::new();
    let mut groups: [(&str, &str, Points, Points); 3] = [
        ("lower", "predicted", Vec::new(), Vec::new()),
        ("same", "fitted", Vec::new(), Vec::new()),
        ("open", "not claimed", Vec::new(), Vec::new()),
    ];
    for cell in list(value, "cells") {
        let of = |name: &str| number(cell, name);
        let (Some(predicted), Some(measured)) = (of("/predicted_MBps"), of("/measured_MBps")) else { continue };
        let row = rows.len() as f64;
        rows.push(format!("{} {}", text(cell, "/pattern"), text(cell, "/parameter")).trim_end().to_string());
        let group = match (text(cell, "/in"), cell["claimed"] == true) {
            ("fit", _) => &mut groups[1],
            (_, true) => &mut groups[0],
            _ => &mut groups[2],
        };
        group.2.push(vec![predicted / measured, row]);
        if let (Some(low), Some(high)) = (of("/interval_MBps/0"), of("/interval_MBps/1")) {
            group.3.push(vec![row, low / measured, high / measured]);
        }
    }
    let mut series = vec![unity(rows.len())];
    for (style, name, points, intervals) in groups {
        if !points.is_empty() {
            let line = Series::new(style, Mark::Interval, intervals);
            series.push(Series { width: Some(0.14), name: String::new(), ..line });
            series.push(Series { name: name.into(), ..Series::new(style, Mark::Point, points) });
        }
    }
    let title = "Predicted over measured rate";
    if rows.is_empty() {
        return Figure::empty("drive-cells", title, "No pattern beside the uniform one was measured.");
    }
    let x = Axis::new("predicted over measured", Unit::One, Scale::Linear);
    let panels = vec![Panel { x, y: Axis::bands("", rows), series, ..Panel::default() }];
    let caption = "Steady rates of the patterns. Bars: two standard errors of the law (3 %) and of the seeds on each side. Fitted cells \
                   decided a number; those not claimed had not settled, or the model is known to miss them."
        .into();
    let table = json::table(&value["cells"], &CELLS);
    Figure { id: "drive-cells".into(), title: title.into(), panels, table, caption, ..Figure::default() }
}
