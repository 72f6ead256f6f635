//! The activity around the slowest request as letters.

use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::charts::parts::{Wanted, figure, none};
use crate::inputs::Inputs;
use ssdlab_lab::readers::timeline::Bar;
use ssdlab_lab::text::duration;

/// Columns of letters: as many as a column of a paper has room for.
const COLUMNS: u64 = 40;

/// The letter of a bar: capital for the host.
fn letter(bar: &Bar) -> char {
    let [of_host, other] = match (bar.class.as_str(), bar.name.as_str()) {
        ("request", _) => ['#', '#'],
        (_, "read" | "decoding") => ['R', 'r'],
        (_, "program") => ['P', 'p'],
        (_, "copyback") => ['C', 'c'],
        (_, "erase") => ['E', 'e'],
        _ => ['=', '-'],
    };
    if bar.class == "host" { of_host } else { other }
}

/// The letters of a row: in each column that of the bar that fills most of it, the earlier one of equals.
fn letters(bars: &[&Bar], from: u64, column: u64) -> String {
    let text: String = (0..COLUMNS)
        .map(|i| {
            let (left, right) = (from + i * column, from + (i + 1) * column);
            let mut best = (0, ' ');
            for bar in bars {
                let share = bar.to.min(right).saturating_sub(bar.from.max(left));
                if share > best.0 {
                    best = (share, letter(bar));
                }
            }
            best.1
        })
        .collect();
    text.trim_end().into()
}

pub(super) fn timeline_text(inputs: &Inputs, _wanted: &Wanted) -> Figure {
    let title = "Buses and planes in letters";
    let Some(timeline) = inputs.run.timeline.as_ref().filter(|timeline| !timeline.bars.is_empty()) else {
        return none("timeline-text", title, inputs, "No request is in this window.");
    };
    let column = (timeline.to - timeline.from).div_ceil(COLUMNS).max(1);
    let mut table = Table::new(&["row", "letters"]);
    let width = Some(column as f64);
    let mut series = Series { mark: Mark::Text, style: "request".into(), width, ..Series::default() };
    for (row, name) in timeline.rows.iter().enumerate() {
        let bars: Vec<&Bar> = timeline.bars.iter().filter(|bar| bar.row == row).collect();
        let text = letters(&bars, timeline.from, column);
        for (i, letter) in text.chars().enumerate().filter(|(_, letter)| *letter != ' ') {
            series.points.push(vec![(timeline.from + column * i as u64) as f64, row as f64]);
            series.labels.push(letter.into());
        }
        table.rows.push(vec![name.as_str().into(), text.as_str().into()]);
    }
    let end = timeline.from + column * COLUMNS;
    let x = Axis::new("simulated time", Unit::Nanoseconds, Scale::Time).within(timeline.from as f64, end as f64);
    let panel = Panel { x, y: Axis::bands("", timeline.rows.clone()), series: vec![series], ..Panel::default() };
    let mut figure = figure("timeline-text", title, inputs, vec![panel], table);
    figure.caption = format!(
        "A column is {}. R read, P program, C copyback, E erase, = transfer; small letters and - of GC and others; # the slowest request.",
        duration(column as f64)
    );
    figure.notes = timeline.notes.clone();
    figure
}
