//! What happened when.

use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::error::{Error, Result};
use crate::names::{clip, nearest};
use crate::report::charts::parts::{MOST_CELLS, Wanted, figure};
use crate::report::inputs::Inputs;
use crate::report::table::Columns;
use crate::text::{count, duration, percent};
use ssdlab_sim::blame::{BY_GC, CAUSES};

/// Checks the measure that a figure is asked for.
///
/// # Errors
/// The figure has no measures, or not this one.
pub(super) fn known(name: &str, inputs: &Inputs, measure: &str) -> Result<()> {
    let names: Vec<String> = match name {
        "series" => inputs.run.series.as_ref().map_or(Vec::new(), |table| table.columns[1..].to_vec()),
        "compare" => crate::report::charts::compare::measures(inputs),
        _ => return Err(Error::usage(format!("{name} has no measure to choose")).help("leave out --y")),
    };
    if names.iter().any(|known| known == measure) {
        return Ok(());
    }
    let meant = nearest(measure, names.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
    Err(Error::usage(format!("{name} has no measure `{}`", clip(measure)))
        .help(format!("{meant}Its measures are {}", names.join(", "))))
}

/// The length of the windows of a table; 1 where there is one window.
fn window(starts: &[f64]) -> f64 {
    let steps = starts.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 0.0);
    steps.fold(1e18, f64::min).max(1.0)
}

/// Most windows that are drawn; lines cannot show more.
const MOST_WINDOWS: usize = 2_000;

/// `series`
pub(super) fn series(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Rates, latencies and GC by window";
    let Some(table) = inputs.run.series.as_ref().filter(|table| !table.rows.is_empty()) else {
        return Figure { source: inputs.run.source(), ..Figure::empty("series", title, "No request arrived.") };
    };
    let columns = Columns(table);
    let starts = columns.numbers("start_ns");
    let every = starts.len().div_ceil(MOST_WINDOWS);
    let x = || Axis::new("simulated time", Unit::Nanoseconds, Scale::Time);
    // Where windows are merged, the mean of their values is drawn; percentiles are the largest.
    let line = |name: &str, style: &str, values: Vec<f64>, largest: bool| {
        let points = starts.chunks(every).zip(values.chunks(every)).map(|(at, values)| {
            let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
            let value = match (known.is_empty(), largest) {
                (true, _) => f64::NAN,
                (_, true) => known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                _ => known.iter().sum::<f64>() / known.len() as f64,
            };
            vec![at[0], value]
        });
        Series { name: name.into(), ..Series::new(style, Mark::Line, points.collect()) }
    };
    let log = |label: &str| Axis::new(label, Unit::Nanoseconds, Scale::Log);
    let panel = |title: &str, y: Axis, series: Vec<Series>| Panel { title: title.into(), x: x(), y, series };
    let get = |name: &str| columns.numbers(name);
    let sum = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<f64>>();
    let ratio = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> {
        a.iter().zip(&b).map(|(a, b)| if *b > 0.0 { a / b } else { f64::NAN }).collect()
    };
    let panels = if let Some(measure) = &wanted.measure {
        let unit = if measure.ends_with("_ns") { Unit::Nanoseconds } else { Unit::One };
        let y = Axis::new(measure, unit, Scale::Linear);
        vec![panel("", y, vec![line(measure, "mean", get(measure), false)])]
    } else {
        let programs = sum(sum(get("flash_programs_host"), get("flash_programs_gc")), get("flash_copybacks"));
        let causes = CAUSES.iter().map(|(_, name)| get(name));
        let total = causes.reduce(&sum).unwrap_or_default();
        let by_gc = BY_GC.iter().map(|cause| get(CAUSES[*cause as usize].1)).reduce(&sum).unwrap_or_default();
        let mut panels = vec![panel(
            "",
            Axis::new("requests/s", Unit::RequestsPerSecond, Scale::Linear),
            vec![line("", "mean", get("iops"), false)],
        )];
        for (op, style) in [("read", "read"), ("write", "write")] {
            let (mean, p99) = (get(&format!("{op}_mean_ns")), get(&format!("{op}_p99_ns")));
            if mean.iter().any(|value| value.is_finite()) {
                let lines = vec![line("mean", "mean", mean, false), line("p99", "p99", p99, true)];
                panels.push(panel(&format!("{style} latency"), log(""), lines));
            }
        }
        panels.push(panel(
            "write amplification in the window",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", ratio(programs, get("flash_programs_host")), false)],
        ));
        panels.push(panel(
            "share of the latency that GC caused",
            Axis::new("", Unit::One, Scale::Linear).in_percent().within(0.0, 1.0),
            vec![line("", "mean", ratio(by_gc, total), false)],
        ));
        panels.push(panel(
            "free pages",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", get("free_pages"), false)],
        ));
        panels.push(panel(
            "requests in flight or waiting",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", get("pending"), false)],
        ));
        panels
    };
    let shown = [
        "start_ns",
        "requests",
        "read_mean_ns",
        "read_p99_ns",
        "write_mean_ns",
        "write_p99_ns",
        "pending",
        "collections",
        "free_pages",
    ];
    let shown: Vec<&str> = match &wanted.measure {
        Some(measure) => vec!["start_ns", measure],
        None => shown.to_vec(),
    };
    let places: Vec<Option<usize>> = shown.iter().map(|name| table.columns.iter().position(|c| c == name)).collect();
    let mut numbers = Table::new(&shown);
    let cell = |row: &Vec<Cell>, at: &Option<usize>| at.and_then(|at| row.get(at)).cloned().unwrap_or(Cell::Null);
    numbers.rows = table.rows.iter().map(|row| places.iter().map(|at| cell(row, at)).collect()).collect();
    let mut figure = figure("series", title, inputs, panels, numbers);
    let rates = get("iops");
    let (least, most) =
        (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
    figure.caption = format!(
        "{} windows of {}: {} to {} requests/s.",
        count(starts.len() as u64),
        duration(window(&starts)),
        count(least.max(0.0) as u64),
        count(most as u64)
    );
    if every > 1 {
        figure.notes.push(format!("Lines show {every} windows as one: means of their values, for p99 the largest."));
    }
    figure
}

/// `heatmap-die`
pub(super) fn dies(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Busy share of dies";
    let Some(table) = inputs.run.dies.as_ref().filter(|table| !table.rows.is_empty()) else {
        return Figure { source: inputs.run.source(), ..Figure::empty("heatmap-die", title, "No request arrived.") };
    };
    let columns = Columns(table);
    let (starts, dies) = (columns.numbers("start_ns"), columns.numbers("die"));
    let all = dies.iter().copied().fold(0.0, f64::max) as usize + 1;
    let step = window(&starts);
    let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let windows = starts.iter().map(|at| ((at - first) / step).round() as usize).max().unwrap_or(0) + 1;
    let mut every = 1;
    while windows.div_ceil(every) * all > wanted.cells.unwrap_or(MOST_CELLS) && every < windows {
        every *= 2;
    }
    let width = step * every as f64;
    let names: Vec<String> = (0..all).map(|die| die.to_string()).collect();
    let (mut panels, mut means, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for (name, style, title) in [("host_ns", "host", "host operations"), ("gc_ns", "gc", "GC and write-backs")] {
        let mut values = columns.numbers(name);
        if style == "gc" {
            values.iter_mut().zip(columns.numbers("writeback_ns")).for_each(|(own, more)| *own += more);
        }
        let mut sums = vec![0.0; windows.div_ceil(every) * all];
        for ((at, die), ns) in starts.iter().zip(&dies).zip(&values) {
            sums[*die as usize * windows.div_ceil(every) + ((at - first) / width) as usize] += ns;
        }
        means.push(sums.iter().sum::<f64>() / (step * windows as f64 * all as f64));
        let cells = sums.chunks(windows.div_ceil(every)).enumerate().flat_map(|(die, row)| {
            row.iter().enumerate().map(move |(i, ns)| vec![first + width * i as f64, die as f64, rounded(ns / width)])
        });
        // Host work is often a small part of what GC takes, so each panel has a scale of its own.
        let most = sums.iter().copied().fold(0.0, f64::max) / width;
        let most = if most > 0.0 { (most * 100.0).ceil() / 100.0 } else { 1.0 };
        let value = Axis::new("busy", Unit::One, Scale::Linear).in_percent().within(0.0, most);
        let series =
            Series { width: Some(width), value: Some(value), ..Series::new(title, Mark::Cell, cells.collect()) };
        let x = Axis::new("simulated time", Unit::Nanoseconds, Scale::Time);
        panels.push(Panel {
            title: title.into(),
            x,
            y: Axis::bands("die", names.clone()),
            series: vec![series.like(style)],
        });
        shares.push(sums.iter().map(|ns| ns / width).collect::<Vec<f64>>());
    }
    let mut numbers = Table::new(&["start_ns", "die", "host_share", "gc_share"]);
    for (i, (host, gc)) in shares[0].iter().zip(&shares[1]).enumerate() {
        let (die, at) = (i / windows.div_ceil(every), first + width * (i % windows.div_ceil(every)) as f64);
        numbers.rows.push(vec![
            Cell::Whole(at as u128),
            (die as u64).into(),
            Cell::Real(rounded(*host)),
            Cell::Real(rounded(*gc)),
        ]);
    }
    let mut figure = figure("heatmap-die", title, inputs, panels, numbers);
    figure.caption = format!(
        "{} dies: busy with host operations for {} of the time, with GC and write-backs for {}.",
        count(all as u64),
        percent(means[0]),
        percent(means[1])
    );
    if every > 1 {
        figure.notes.push(format!(
            "Each cell is {every} windows of {}, since there are more than can be shown.",
            duration(step)
        ));
    }
    figure
}

/// A share with six decimals: a heat map shows two.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Classes of operations, in the order of the legend.
const CLASSES: [(&str, &str); 7] = [
    ("request", "the request"),
    ("host", "host operations"),
    ("gc", "GC"),
    ("writeback", "write-backs"),
    ("metadata", "metadata"),
    ("parity", "parity"),
    ("replica", "second copies"),
];

/// `gantt`
pub(super) fn gantt(inputs: &Inputs, _wanted: &Wanted) -> Figure {
    let title = "Buses and planes";
    let Some(timeline) = inputs.run.timeline.as_ref().filter(|timeline| !timeline.bars.is_empty()) else {
        return Figure {
            source: inputs.run.source(),
            ..Figure::empty("gantt", title, "No request is in this window.")
        };
    };
    let mut table = Table::new(&["row", "from_ns", "to_ns", "class", "operation"]);
    for bar in &timeline.bars {
        let row = timeline.rows[bar.row].as_str();
        table.rows.push(vec![
            row.into(),
            bar.from.into(),
            bar.to.into(),
            bar.class.as_str().into(),
            bar.name.as_str().into(),
        ]);
    }
    let series = CLASSES.iter().filter_map(|(class, name)| {
        let bars = timeline.bars.iter().filter(|bar| bar.class == *class);
        let points: Vec<Vec<f64>> = bars.map(|bar| vec![bar.row as f64, bar.from as f64, bar.to as f64]).collect();
        (!points.is_empty()).then(|| Series { name: (*name).into(), ..Series::new(class, Mark::Interval, points) })
    });
    let x =
        Axis::new("simulated time", Unit::Nanoseconds, Scale::Time).within(timeline.from as f64, timeline.to as f64);
    let panel = Panel { x, y: Axis::bands("", timeline.rows.clone()), series: series.collect(), ..Panel::default() };
    let slowest = &timeline.bars[0];
    let mut figure = figure("gantt", title, inputs, vec![panel], table);
    figure.caption = format!(
        "The slowest {} in the window took {}, from {} to {} of simulated time.",
        slowest.name,
        duration((slowest.to - slowest.from) as f64),
        duration(slowest.from as f64),
        duration(slowest.to as f64)
    );
    figure.notes = timeline.notes.clone();
    figure
}
