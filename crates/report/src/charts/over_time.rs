//! What happened when.

use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::charts::parts::{Wanted, figure, none, together};
use crate::inputs::Inputs;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_lab::readers::causes::{self, Any};
use ssdlab_lab::readers::json::number as number_at;
use ssdlab_lab::readers::table::{Columns, integer, number};
use ssdlab_lab::readers::timeline::Bar;
use ssdlab_lab::text::{count, duration, percent, plural};

/// Checks the measure that a figure is asked for.
///
/// # Errors
/// The figure has no measures, or not this one.
pub(super) fn known(name: &str, inputs: &Inputs, measure: &str) -> Result<()> {
    let names: Vec<String> = match name {
        "series" => inputs.run.series.as_ref().map_or(Vec::new(), |table| table.columns[1..].to_vec()),
        "compare" => crate::charts::compare::measures(inputs),
        _ => return Err(Error::usage(format!("{name} has no measure to choose")).help("leave out --y")),
    };
    if names.iter().any(|known| known == measure) {
        return Ok(());
    }
    Err(Error::usage(format!("{name} has no measure `{}`", clip(measure))).help(suggest(
        measure,
        names.iter().map(String::as_str),
        "Its measures are",
    )))
}

/// The length of the windows of a table; none where there is one window.
fn window(starts: &[f64]) -> Option<f64> {
    starts.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 0.0).reduce(f64::min)
}

/// Windows of a series, each of `every` windows of the table: counts and sums are added, means weighted by what they are means of, and
/// percentiles the largest.
fn merged(table: &Table, every: usize) -> Table {
    if every == 1 {
        return table.clone();
    }
    let at = |name: &str| table.columns.iter().position(|column| column == name);
    let cells = |rows: &[Vec<Cell>], column: usize| -> Vec<f64> {
        rows.iter().map(|row| row.get(column).map_or(f64::NAN, number)).collect()
    };
    let weighted = |rows: &[Vec<Cell>], column: usize, weight: &str| {
        let weights = at(weight).map_or(vec![1.0; rows.len()], |weight| cells(rows, weight));
        let both = || cells(rows, column).into_iter().zip(weights.clone()).filter(|(value, _)| value.is_finite());
        let (sum, all) = both().fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
        if all > 0.0 { Cell::Real(sum / all) } else { Cell::Null }
    };
    let merge = |rows: &[Vec<Cell>]| -> Vec<Cell> {
        let cell = |(column, name): (usize, &String)| match name.as_str() {
            "start_ns" => rows[0][column].clone(),
            // These are states at the end of a window.
            "pending" | "free_pages" => rows[rows.len() - 1][column].clone(),
            "iops" => weighted(rows, column, ""),
            "read_mean_ns" => weighted(rows, column, "reads"),
            "write_mean_ns" => weighted(rows, column, "writes"),
            "all_mean_ns" => weighted(rows, column, "requests"),
            name if name.ends_with("_p99_ns") => {
                cells(rows, column).into_iter().filter(|value| value.is_finite()).reduce(f64::max).into()
            }
            _ => {
                let known: Vec<u128> = rows.iter().filter_map(|row| row.get(column).and_then(integer)).collect();
                if known.is_empty() { Cell::Null } else { Cell::Whole(known.iter().sum()) }
            }
        };
        table.columns.iter().enumerate().map(cell).collect()
    };
    Table { columns: table.columns.clone(), rows: table.rows.chunks(every).map(merge).collect() }
}

/// A panel of each of what a window has, or of one measure.
fn panels_of(table: &Table, measure: Option<&str>) -> Vec<Panel> {
    let columns = Columns(table);
    let starts = columns.numbers("start_ns");
    let x = || Axis::new("simulated time", Unit::Nanoseconds, Scale::Time);
    let line = |name: &str, style: &str, values: Vec<f64>| {
        let points = starts.iter().zip(&values).map(|(at, value)| vec![*at, rounded(*value)]).collect();
        Series { name: name.into(), ..Series::new(style, Mark::Line, points) }
    };
    let log = |label: &str| Axis::new(label, Unit::Nanoseconds, Scale::Log);
    let panel = |title: &str, y: Axis, series: Vec<Series>| Panel { title: title.into(), x: x(), y, series };
    let get = |name: &str| columns.numbers(name);
    let sum = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<f64>>();
    let ratio = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> {
        a.iter().zip(&b).map(|(a, b)| if *b > 0.0 { a / b } else { f64::NAN }).collect()
    };
    if let Some(measure) = measure {
        let unit = if measure.ends_with("_ns") { Unit::Nanoseconds } else { Unit::One };
        let y = Axis::new(measure, unit, Scale::Linear);
        vec![panel("", y, vec![line(measure, "mean", get(measure))])]
    } else {
        let mut programs = sum(sum(get("flash_programs_host"), get("flash_programs_gc")), get("flash_copybacks"));
        if table.columns.iter().any(|column| column == "flash_programs_fold") {
            programs = sum(programs, get("flash_programs_fold"));
        }
        let spent = |of: fn(Any) -> bool| {
            let known = causes::all().filter(|cause| of(*cause) && table.columns.iter().any(|c| c == cause.name()));
            known.map(|cause| get(cause.name())).reduce(&sum).unwrap_or_default()
        };
        let (total, by_gc) = (spent(|_| true), spent(Any::is_by_gc));
        let mut panels = vec![panel(
            "",
            Axis::new("requests/s", Unit::RequestsPerSecond, Scale::Linear),
            vec![line("", "mean", get("iops"))],
        )];
        for (op, style) in [("read", "read"), ("write", "write")] {
            let (mean, p99) = (get(&format!("{op}_mean_ns")), get(&format!("{op}_p99_ns")));
            if mean.iter().any(|value| value.is_finite()) {
                let lines = vec![line("mean", "mean", mean), line("p99", "p99", p99)];
                panels.push(panel(&format!("{style} latency"), log(""), lines));
            }
        }
        panels.push(panel(
            "write amplification in the window, in pages",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", ratio(programs, get("flash_programs_host")))],
        ));
        panels.push(panel(
            "share of the latency that GC caused",
            Axis::new("", Unit::One, Scale::Linear).in_percent().within(0.0, 1.0),
            vec![line("", "mean", ratio(by_gc, total))],
        ));
        panels.push(panel(
            "free pages",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", get("free_pages"))],
        ));
        panels.push(panel(
            "requests in flight or waiting",
            Axis::new("", Unit::One, Scale::Linear),
            vec![line("", "mean", get("pending"))],
        ));
        panels
    }
}

pub(super) fn series(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Rates, latencies and GC by window";
    let Some(whole) = inputs.run.series.as_ref().filter(|table| !table.rows.is_empty()) else {
        return none("series", title, inputs, "No request arrived.");
    };
    let every = whole.rows.len().div_ceil(wanted.shown().windows);
    let table = &merged(whole, every);
    let panels = panels_of(table, wanted.measure.as_deref());
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
    let (windows, step) = (whole.rows.len(), window(&Columns(whole).numbers("start_ns")));
    // The run ends somewhere in the last window.
    let rates = Columns(table).numbers("iops");
    let before = if rates.len() > 1 { &rates[..rates.len() - 1] } else { &rates[..] };
    let least = before.iter().copied().fold(f64::INFINITY, f64::min).max(0.0);
    let most = before.iter().copied().fold(0.0, f64::max);
    figure.caption = format!(
        "{}{}: {} to {} requests/s{}.",
        plural(windows as u64, "window"),
        step.map_or(String::new(), |step| format!(" of {}", duration(step))),
        count(least as u64),
        count(most as u64),
        if rates.len() > 1 { " before the last one" } else { "" }
    );
    if every > 1 {
        figure.notes.push(format!(
            "{every} windows are shown as one: counts are added, means weighted, and of p99 the largest is taken."
        ));
    }
    figure
}

/// `heatmap-die`
pub(super) fn dies(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Busy share of dies";
    let Some(table) = inputs.run.dies.as_ref().filter(|table| !table.rows.is_empty()) else {
        return none("heatmap-die", title, inputs, "No request arrived.");
    };
    let columns = Columns(table);
    let (starts, dies) = (columns.numbers("start_ns"), columns.numbers("die"));
    let all = dies.iter().copied().fold(0.0, f64::max) as usize + 1;
    let kinds = [("host_ns", "host", "host operations"), ("gc_ns", "gc", "GC and write-backs")];
    let mut busy = kinds.map(|(name, ..)| columns.numbers(name));
    busy[1].iter_mut().zip(columns.numbers("writeback_ns")).for_each(|(own, more)| *own += more);
    let simulated = inputs.run.summary.as_ref().and_then(|summary| number_at(summary, "/simulated_ns"));
    // The length of an only window is that of the run; without a summary, dies are compared with the busiest.
    let most_busy = busy[0].iter().zip(&busy[1]).map(|(host, gc)| host + gc).fold(1.0, f64::max);
    let step = window(&starts).unwrap_or_else(|| simulated.unwrap_or(0.0).max(most_busy));
    let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
    let windows = starts.iter().map(|at| ((at - first) / step).round() as usize).max().unwrap_or(0) + 1;
    let every = together(windows, wanted, |every| windows.div_ceil(every) * all);
    let (width, wide) = (step * every as f64, windows.div_ceil(every));
    // The last cell may have fewer windows than the others.
    let length = |i: usize| step * every.min(windows - i * every) as f64;
    // The run ends somewhere in the last window.
    let time =
        simulated.filter(|ns| *ns > step * (windows - 1) as f64).unwrap_or(f64::INFINITY).min(step * windows as f64);
    let names: Vec<String> = (0..all).map(|die| die.to_string()).collect();
    let (mut panels, mut means, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for ((_, style, title), values) in kinds.into_iter().zip(&busy) {
        let mut sums = vec![0.0; wide * all];
        for ((at, die), ns) in starts.iter().zip(&dies).zip(values) {
            sums[*die as usize * wide + ((at - first) / step).round() as usize / every] += ns;
        }
        means.push(sums.iter().sum::<f64>() / (time * all as f64));
        let own: Vec<f64> = sums.iter().enumerate().map(|(i, ns)| rounded(ns / length(i % wide))).collect();
        let cells =
            own.iter().enumerate().map(|(i, share)| vec![first + width * (i % wide) as f64, (i / wide) as f64, *share]);
        // Host work is often a small part of what GC takes, so each panel has a scale of its own.
        let most = own.iter().copied().fold(0.0, f64::max);
        let most = if most > 0.0 { (most * 100.0).ceil() / 100.0 } else { 1.0 };
        let value = Axis::new("busy", Unit::One, Scale::Linear).in_percent().within(0.0, most);
        let series =
            Series { width: Some(width), value: Some(value), ..Series::new(title, Mark::Cell, cells.collect()) };
        let x =
            Axis::new("simulated time", Unit::Nanoseconds, Scale::Time).within(first, first + step * windows as f64);
        panels.push(Panel {
            title: title.into(),
            x,
            y: Axis::bands("die", names.clone()),
            series: vec![series.like(style)],
        });
        shares.push(own);
    }
    let mut numbers = Table::new(&["start_ns", "die", "host_share", "gc_share"]);
    numbers.rows.extend(shares[0].iter().zip(&shares[1]).enumerate().map(|(i, (host, gc))| {
        let at = first + width * (i % wide) as f64;
        vec![Cell::Whole(at as u128), ((i / wide) as u64).into(), Cell::Real(*host), Cell::Real(*gc)]
    }));
    let mut figure = figure("heatmap-die", title, inputs, panels, numbers);
    figure.caption = format!(
        "{} dies: busy with host operations for {} of the time, with GC and write-backs for {}.",
        count(all as u64),
        percent(means[0]),
        percent(means[1])
    );
    let note =
        || format!("Each cell is {every} windows of {}, since there are more than can be shown.", duration(step));
    figure.notes.extend((every > 1).then(note));
    figure
}

/// A number with six decimals: no figure shows more.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Classes of operations, in the order of the legend.
const CLASSES: [(&str, &str); 8] = [
    ("request", "the request"),
    ("host", "host operations"),
    ("gc", "GC"),
    ("writeback", "write-backs"),
    ("metadata", "metadata"),
    ("parity", "parity"),
    ("replica", "second copies"),
    ("refresh", "refresh"),
];

pub(super) fn gantt(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Buses and planes";
    let Some(timeline) = inputs.run.timeline.as_ref().filter(|timeline| !timeline.bars.is_empty()) else {
        return none("gantt", title, inputs, "No request is in this window.");
    };
    let shown = wanted.shown();
    let rows = if shown.used_rows { &timeline.rows[..timeline.used_rows] } else { &timeline.rows[..] };
    let mut notes = timeline.notes.clone();
    let mut bars: Vec<&Bar> = timeline.bars.iter().filter(|bar| bar.row < rows.len()).collect();
    if bars.len() > shown.bars {
        notes.push(format!("Of {} operations, the {} longest.", count(bars.len() as u64), count(shown.bars as u64)));
        let mut order: Vec<usize> = (0..bars.len()).collect();
        // The first bar is the request.
        order[1..].sort_by_key(|i| std::cmp::Reverse(bars[*i].to - bars[*i].from));
        order.truncate(shown.bars);
        order.sort_unstable();
        bars = order.into_iter().map(|i| bars[i]).collect();
    }
    let mut table = Table::new(&["row", "from_ns", "to_ns", "class", "operation"]);
    for bar in &bars {
        let row = timeline.rows[bar.row].as_str();
        table.rows.push(vec![
            row.into(),
            bar.from.into(),
            bar.to.into(),
            bar.class.as_str().into(),
            bar.name.as_str().into(),
        ]);
    }
    let inside = |ns: u64| ns.clamp(timeline.from, timeline.to) as f64;
    let series = CLASSES.iter().filter_map(|(class, name)| {
        let bars = bars.iter().filter(|bar| bar.class == *class);
        let points: Vec<Vec<f64>> = bars.map(|bar| vec![bar.row as f64, inside(bar.from), inside(bar.to)]).collect();
        (!points.is_empty()).then(|| Series { name: (*name).into(), ..Series::new(class, Mark::Interval, points) })
    });
    let x =
        Axis::new("simulated time", Unit::Nanoseconds, Scale::Time).within(timeline.from as f64, timeline.to as f64);
    let panel = Panel { x, y: Axis::bands("", rows.to_vec()), series: series.collect(), ..Panel::default() };
    let slowest = &timeline.bars[0];
    let mut figure = figure("gantt", title, inputs, vec![panel], table);
    figure.caption = format!(
        "The slowest {} in the window took {}, from {} to {} of simulated time.",
        slowest.name,
        duration((slowest.to - slowest.from) as f64),
        duration(slowest.from as f64),
        duration(slowest.to as f64)
    );
    figure.notes = notes;
    figure
}
