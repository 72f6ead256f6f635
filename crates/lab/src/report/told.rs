//! A section of the page that an analysis brings with it: sentences, tables and figures.

use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Table, Unit};
use ssdlab_sim::blame::CAUSES;

use crate::report::words;

/// A section's content.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What it says, a paragraph each.
    pub said: Vec<String>,
    /// Tables with their headings.
    pub tables: Vec<(String, Table)>,
    /// Figures.
    pub figures: Vec<Figure>,
}

/// Latencies by cause, side by side: a name and nanoseconds by cause for each.
pub fn stacked(id: &str, title: &str, caption: String, bars: &[(String, Vec<f64>)]) -> Figure {
    let mut table = Table::new(&["of", "cause", "ns"]);
    let mut series = Vec::new();
    for (i, (cause, name)) in CAUSES.iter().enumerate() {
        if bars.iter().all(|(_, causes)| causes[i] == 0.0) {
            continue;
        }
        let points = bars.iter().enumerate().map(|(row, (_, causes))| vec![causes[i], row as f64]).collect();
        let named = format!("{name} ({})", words::meaning(*cause));
        series.push(Series { name: named, ..Series::new(name, Mark::Stack, points) });
        for (bar, causes) in bars {
            table.rows.push(vec![bar.as_str().into(), (*name).into(), ssdlab_figures::figure::Cell::Real(causes[i])]);
        }
    }
    let x = Axis::new("latency", Unit::Nanoseconds, Scale::Linear);
    let y = Axis::bands("", bars.iter().map(|(name, _)| name.clone()).collect());
    let panels = vec![Panel { x, y, series, ..Panel::default() }];
    Figure { id: id.into(), title: title.into(), panels, table, caption, ..Figure::default() }
}
