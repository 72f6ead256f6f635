//! A section of the page that an analysis brings with it: sentences, tables and figures.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use ssdlab_lab::readers::causes::{Any, COUNT, all};
use ssdlab_lab::readers::words;

/// A section's content.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// What it says, a paragraph each.
    pub said: Vec<String>,
    /// Tables with their headings.
    pub tables: Vec<(String, Table)>,
    /// Figures.
    pub figures: Vec<Figure>,
}

/// The items of a list in a file; none if there is no such list.
pub fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// The line of equal values beside so many rows.
pub fn unity(rows: usize) -> Series {
    let points = vec![vec![1.0, -0.5], vec![1.0, rows as f64 - 0.5]];
    Series { style: "same".into(), points, ..Series::default() }
}

/// Nanoseconds by cause, each as `of` finds it.
pub fn by_cause(of: impl Fn(&str) -> Option<f64>) -> [f64; COUNT] {
    let mut sums = [0.0; COUNT];
    all().for_each(|cause: Any| sums[cause.place()] = of(cause.name()).unwrap_or(0.0));
    sums
}

/// Latencies by cause, side by side: a name and nanoseconds by cause for each.
pub fn stacked(id: &str, title: &str, caption: String, bars: &[(String, [f64; COUNT])]) -> Figure {
    let mut table = Table::new(&["of", "cause", "ns"]);
    let mut series = Vec::new();
    for cause in all() {
        let own = |causes: &[f64; COUNT]| causes[cause.place()];
        if bars.iter().all(|(_, causes)| own(causes) == 0.0) {
            continue;
        }
        let points = bars.iter().enumerate().map(|(row, (_, causes))| vec![own(causes), row as f64]).collect();
        series.push(Series { name: words::named(cause), ..Series::new(cause.name(), Mark::Stack, points) });
        for (bar, causes) in bars {
            table.rows.push(vec![bar.as_str().into(), cause.name().into(), Cell::Real(own(causes))]);
        }
    }
    let x = Axis::new("latency", Unit::Nanoseconds, Scale::Linear);
    let y = Axis::bands("", bars.iter().map(|(name, _)| name.clone()).collect());
    let panels = vec![Panel { x, y, series, ..Panel::default() }];
    Figure { id: id.into(), title: title.into(), panels, table, caption, ..Figure::default() }
}
