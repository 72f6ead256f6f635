//! Blocks at the end, and the cost of GC.

use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::charts::parts::{Wanted, figure, none, together};
use crate::inputs::Inputs;
use ssdlab_lab::readers::json::number;
use ssdlab_lab::readers::table::Columns;
use ssdlab_lab::text::{count, duration, percent};

pub(super) fn wear(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Erases of blocks";
    let Some(table) = inputs.run.blocks.as_ref().filter(|table| !table.rows.is_empty()) else {
        return none("wear", title, inputs, "The device has no blocks.");
    };
    let columns = Columns(table);
    let (planes, blocks, erases) = (columns.numbers("plane"), columns.numbers("block"), columns.numbers("erases"));
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (rows, wide) = (most(&planes) as usize + 1, most(&blocks) as usize + 1);
    let every = together(wide, wanted, |every| wide.div_ceil(every) * rows);
    let cells_a_row = wide.div_ceil(every);
    let mut sums = vec![(0.0, 0.0); rows * cells_a_row];
    for ((plane, block), erases) in planes.iter().zip(&blocks).zip(&erases) {
        let cell = &mut sums[*plane as usize * cells_a_row + *block as usize / every];
        *cell = (cell.0 + erases, cell.1 + 1.0);
    }
    let cells = sums.iter().enumerate().filter(|(_, (_, n))| *n > 0.0).map(|(i, (sum, n))| {
        vec![((i % cells_a_row) * every) as f64, (i / cells_a_row) as f64, (sum / n * 1e3).round() / 1e3]
    });
    let value = Axis::new("erases", Unit::One, Scale::Linear);
    let cells: Vec<Vec<f64>> = cells.collect();
    let numbers = if every == 1 {
        table.clone()
    } else {
        let mut numbers = Table::new(&["plane", "first_block", "erases_mean"]);
        numbers.rows =
            cells.iter().map(|c| vec![(c[1] as u64).into(), (c[0] as u64).into(), Cell::Real(c[2])]).collect();
        numbers
    };
    let series = Series { width: Some(every as f64), value: Some(value), ..Series::new("erases", Mark::Cell, cells) };
    let names = (0..rows).map(|plane| plane.to_string()).collect();
    let x = Axis::new("block", Unit::One, Scale::Linear).within(0.0, wide as f64);
    let panel = Panel { title: "planes".into(), x, y: Axis::bands("", names), series: vec![series.like("wear")] };
    let mut figure = figure("wear", title, inputs, vec![panel], numbers);
    let (total, least) = (erases.iter().sum::<f64>(), erases.iter().copied().fold(f64::INFINITY, f64::min));
    figure.caption = format!(
        "{} erases of {} blocks since the device was new: {} to {} each, mean {:.2}.",
        count(total as u64),
        count(erases.len() as u64),
        count(least as u64),
        count(most(&erases) as u64),
        total / erases.len() as f64
    );
    if every > 1 {
        figure.notes.push(format!("Each cell is the mean of {every} neighbouring blocks of a plane."));
    }
    figure
}

pub(super) fn valid(inputs: &Inputs, _wanted: &Wanted) -> Figure {
    let title = "Blocks by valid pages and by erases";
    let Some(table) = inputs.run.blocks.as_ref().filter(|table| !table.rows.is_empty()) else {
        return none("valid", title, inputs, "The device has no blocks.");
    };
    let columns = Columns(table);
    let state = table.columns.iter().position(|name| name == "state");
    let closed = |row: &Vec<Cell>| state.is_some_and(|at| row[at] == Cell::Text("closed".into()));
    let valid: Vec<f64> = columns
        .numbers("valid_pages")
        .into_iter()
        .zip(&table.rows)
        .filter(|(_, row)| closed(row))
        .map(|(v, _)| v)
        .collect();
    let erases = columns.numbers("erases");
    let mut numbers = Table::new(&["figure", "from", "to", "blocks"]);
    let mut bars = |name: &'static str, values: &[f64]| {
        let most = values.iter().copied().fold(0.0, f64::max) as usize;
        let width = (most + 1).div_ceil(80);
        let mut counts = vec![0u64; most / width + 1];
        values.iter().for_each(|value| counts[*value as usize / width] += 1);
        for (i, blocks) in counts.iter().enumerate() {
            let (from, to) = ((i * width) as u64, (i * width + width - 1) as u64);
            numbers.rows.push(vec![name.into(), from.into(), to.into(), (*blocks).into()]);
        }
        let points = counts.iter().enumerate().map(|(i, blocks)| vec![(i * width) as f64, *blocks as f64]).collect();
        Series { width: Some(width as f64), ..Series::new("blocks", Mark::Bar, points) }
    };
    let panel = |title: &str, label: &str, series: Series| Panel {
        title: title.into(),
        x: Axis::new(label, Unit::One, Scale::Linear),
        y: Axis::new("", Unit::One, Scale::Linear),
        series: vec![series],
    };
    let first = panel("closed blocks by valid pages", "valid pages", bars("valid_pages", &valid));
    let second = panel("all blocks by erases", "erases", bars("erases", &erases));
    let mut figure = figure("valid", title, inputs, vec![first, second], numbers);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    figure.caption = format!(
        "{} closed blocks hold {:.2} valid pages in the mean; {} blocks were erased {:.2} times in the mean.",
        count(valid.len() as u64),
        mean(&valid),
        count(erases.len() as u64),
        mean(&erases)
    );
    figure
}

/// Kinds of time that GC takes.
const PARTS: [(&str, &str); 5] = [
    ("read", "page reads"),
    ("transfer", "transfers on the channel"),
    ("program", "page programs"),
    ("erase", "block erases"),
    ("decode", "decoding"),
];

pub(super) fn gc(inputs: &Inputs, _wanted: &Wanted) -> Figure {
    let title = "Cost of collections";
    let Some(summary) = &inputs.run.summary else { return Figure::empty("gc", title, "There is no summary.") };
    let value = |place: &str| number(summary, place).unwrap_or(0.0);
    let collections = value("/gc/collections");
    if collections == 0.0 {
        return none("gc", title, inputs, "GC did not run.");
    }
    let times: Vec<(&str, &str, f64)> = PARTS
        .iter()
        .map(|(key, name)| (*key, *name, value(&format!("/gc/time_ns/{key}"))))
        .filter(|(_, _, ns)| *ns > 0.0)
        .collect();
    let total: f64 = times.iter().map(|(_, _, ns)| ns).sum();
    let mut numbers = Table::new(&["part", "total_ns", "share"]);
    for (key, _, ns) in &times {
        numbers.rows.push(vec![(*key).into(), Cell::Whole(*ns as u128), Cell::Real(ns / total.max(1.0))]);
    }
    let series = times.iter().map(|(key, name, ns)| Series {
        name: (*name).into(),
        ..Series::new(&format!("gc_{key}"), Mark::Stack, vec![vec![ns / collections, 0.0]])
    });
    let x = Axis::new("flash time of a collection", Unit::Nanoseconds, Scale::Linear);
    let y = Axis::bands("", vec!["a collection".into()]);
    let mut panels = vec![Panel { title: "cost".into(), x, y, series: series.collect() }];
    if let Some(table) = inputs.run.series.as_ref().filter(|table| !table.rows.is_empty()) {
        let columns = Columns(table);
        let (starts, moved) = (columns.numbers("start_ns"), columns.numbers("flash_programs_gc"));
        let (copied, ended) = (columns.numbers("flash_copybacks"), columns.numbers("collections"));
        let points = (0..starts.len()).map(|i| {
            let each = if ended[i] > 0.0 { (moved[i] + copied[i]) / ended[i] } else { f64::NAN };
            vec![starts[i], each]
        });
        panels.push(Panel {
            title: "valid pages of victims, mean by window".into(),
            x: Axis::new("simulated time", Unit::Nanoseconds, Scale::Time),
            y: Axis::new("", Unit::Pages, Scale::Linear),
            series: vec![Series { name: String::new(), ..Series::new("mean", Mark::Line, points.collect()) }],
        });
    }
    let mut figure = figure("gc", title, inputs, panels, numbers);
    let program = times.iter().find(|(key, _, _)| *key == "program").map_or(0.0, |(_, _, ns)| *ns);
    figure.caption = format!(
        "{} collections moved {:.2} pages each and freed {:.2} for host data; each took {} of flash time, {} of it programs.",
        count(collections as u64),
        value("/gc/moved_per_collection"),
        value("/gc/host_pages_per_collection"),
        duration(total / collections),
        percent(program / total.max(1.0))
    );
    figure
}
