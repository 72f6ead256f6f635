//! What the marks of a page carry for its script: the values behind their places, as JSON in attributes.
//!
//! A panel has its axes and its frame. A series has its points: as rows of the figure's table where they stand there, else as columns.

use serde_json::{Map, Value, json};

use crate::escape::{attribute, name};
use crate::figure::{Axis, Cell, Mark, Panel, Scale, Series, Table, Unit, number};
use crate::scale::Placed;
use crate::shape::Frame;

/// The axes and the frame of a panel.
pub(crate) fn panel(panel: &Panel, frame: &Frame) -> String {
    let x = axis(&panel.x, &frame.x);
    let y = axis(&panel.y, &frame.y);
    let places = [frame.left, frame.top, frame.right, frame.bottom].map(|place| short(place, 6));
    attribute(&json!({ "title": name(&panel.title), "frame": places, "x": x, "y": y }))
}

/// A series: its name, how it is drawn, and its points. What has no name but the style of another series, as the interval around a
/// line, has that one's.
pub(crate) fn series(series: &Series, others: &[Series], table: &Table) -> String {
    let mut out = Map::new();
    let alike = |other: &&Series| !other.name.is_empty() && !series.style.is_empty() && other.style == series.style;
    let named = if series.name.is_empty() { others.iter().find(alike).unwrap_or(series) } else { series };
    out.insert("name".into(), name(&named.name).into());
    out.insert("mark".into(), serde_json::to_value(series.mark).unwrap_or_default());
    if let Some(width) = series.width {
        out.insert("width".into(), number(width));
    }
    if !series.labels.is_empty() {
        out.insert("labels".into(), series.labels.iter().map(|label| name(label)).collect());
    }
    if let Some(value) = &series.value {
        out.insert("value".into(), axis(value, &Placed::new(value, None, false)));
    }
    if let Some((first, columns)) = rows(series, table) {
        out.insert("rows".into(), json!([first, series.points.len()]));
        out.insert("columns".into(), columns.into());
    } else {
        let most = series.points.iter().map(Vec::len).max().unwrap_or(0);
        let column = |place: usize| -> Value {
            series.points.iter().map(|point| point.get(place).map_or(Value::Null, |value| short(*value, 8))).collect()
        };
        out.insert("points".into(), (0..most).map(column).collect());
    }
    attribute(&Value::Object(out))
}

/// An axis with the values at its ends, and how values are shown.
fn axis(axis: &Axis, placed: &Placed) -> Value {
    let mut out = serde_json::to_value(axis).unwrap_or_default();
    if let Value::Object(fields) = &mut out {
        ["range", "ticks", "percent"].iter().for_each(|field| _ = fields.remove(*field));
        fields.insert("label".into(), name(&axis.label).into());
        let (factor, suffix) = shown(axis);
        if factor != 1.0 {
            fields.insert("factor".into(), number(factor));
        }
        // Where the label is the unit, it is not said twice.
        if !suffix.is_empty() && suffix.trim_start() != axis.label {
            fields.insert("suffix".into(), suffix.into());
        }
        fields.insert("ends".into(), json!([short(placed.low, 10), short(placed.high, 10)]));
        if axis.scale == Scale::Band {
            fields.insert("bands".into(), axis.bands.iter().map(|band| name(band)).collect());
        }
    }
    out
}

/// By what the values of an axis are multiplied where they are shown, and what stands behind them. Times choose their unit.
fn shown(axis: &Axis) -> (f64, &'static str) {
    match axis.unit {
        _ if axis.percent || axis.scale == Scale::OneMinusLog => (100.0, " %"),
        Unit::BytesPerSecond => (1e-6, " MB/s"),
        Unit::One | Unit::Nanoseconds => (1.0, ""),
        Unit::Bytes => (1.0, " B"),
        Unit::Pages => (1.0, " pages"),
        Unit::RequestsPerSecond => (1.0, " requests/s"),
        Unit::Milliwatts => (1.0, " mW"),
        Unit::Microjoules => (1.0, " uJ"),
    }
}

/// The first row of a table that has the points of a series in order, and the columns that have their numbers.
fn rows(series: &Series, table: &Table) -> Option<(usize, Vec<usize>)> {
    let (most, count) = (series.points.first()?.len(), series.points.len());
    // Texts have few points, and pieces of an area stand in no row.
    if matches!(series.mark, Mark::Text) || count < 8 {
        return None;
    }
    let same = |cell: &Cell, value: f64| match cell {
        Cell::Whole(whole) => *whole < 1 << 53 && *whole as f64 == value,
        Cell::Real(real) => *real == value,
        Cell::Null | Cell::Text(_) => false,
    };
    (0..(table.rows.len() + 1).saturating_sub(count)).find_map(|first| {
        let column = |place: usize| {
            (0..table.columns.len()).find(|column| {
                let cells = table.rows[first..].iter().map(|row| row.get(*column));
                cells.zip(&series.points).all(|(cell, point)| {
                    cell.is_some_and(|cell| point.get(place).is_some_and(|value| same(cell, *value)))
                })
            })
        };
        let columns: Vec<usize> = (0..most).map_while(column).collect();
        (columns.len() == most).then_some((first, columns))
    })
}

/// A number with some significant digits; whole ones are exact.
fn short(value: f64, digits: usize) -> Value {
    if value.fract() == 0.0 || !value.is_finite() {
        return number(value);
    }
    number(format!("{value:.*e}", digits - 1).parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_a_table_has_stand_there_alone() {
        let mut table = Table::new(&["op", "latency_ns", "share"]);
        for i in 0..20u64 {
            table.rows.push(vec!["read".into(), i.into(), Cell::Real(i as f64 * (1.0 / 7.0))]);
        }
        let of = |from: usize, share: f64| {
            let points = (from..from + 9).map(|i| vec![i as f64, i as f64 * share]).collect();
            series(&Series::new("it's", Mark::Line, points), &[], &table)
        };
        assert_eq!(of(11, 1.0 / 7.0), r#"{"name":"it&#39;s","mark":"line","rows":[11,9],"columns":[1,2]}"#);
        assert!(of(12, 1.0 / 7.0).contains("\"points\":[[12,13,"), "beyond the last row");
        assert!(of(0, 1.0 / 3.0).contains("[0,0.33333333,0.66666667,1,"), "other values");
        let few = Series::new("<&\"", Mark::Line, vec![vec![1.0, f64::NAN]]);
        let around = Series { style: few.style.clone(), mark: Mark::Area, ..Series::default() };
        assert!(
            series(&around, std::slice::from_ref(&few), &table).starts_with(r#"{"name":"&lt;&amp;\"","mark":"area""#)
        );
        assert_eq!(series(&few, &[], &table), r#"{"name":"&lt;&amp;\"","mark":"line","points":[[1],[null]]}"#);
    }
}
