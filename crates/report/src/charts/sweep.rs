//! Studies: a measure over one key or two, fronts, and all points at once.

use std::collections::BTreeMap;

use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Source, Table, Unit};

use crate::charts::parts::{Op, Wanted, together};
use crate::inputs::Inputs;
use crate::sweep::{self, Column, Measure, State, Sweep};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_lab::text::{count, duration, percent, plural, rate};
use ssdlab_lab::variants::figures::column_of;

/// The figures of a study.
pub(super) const NAMES: [&str; 5] = ["sweep-lines", "sweep-ratios", "sweep-heatmap", "pareto", "sweep-parallel"];
/// Lines that can be told apart.
pub(super) const MOST_LINES: usize = 8;
/// Values of a key with a tick each.
const MOST_TICKS: usize = 12;
/// Points of a front that are named in the drawing.
const MOST_NAMED: usize = 12;

/// Checks the measures and keys that a figure is asked for.
///
/// # Errors
/// The study has none of this name.
pub(super) fn known(name: &str, inputs: &Inputs, wanted: &Wanted) -> Result<()> {
    let Some(sweep) = &inputs.sweep else { return Ok(()) };
    if let ("sweep-ratios", Some(option)) =
        (name, wanted.x.as_ref().map(|_| "--x").or(wanted.hue.as_ref().map(|_| "--hue")))
    {
        return Err(Error::usage(format!("{name} has no key to choose")).help(format!("leave out {option}")));
    }
    let measures = || sweep.columns.iter().map(|column| column.measure.path.as_str()).collect::<Vec<_>>();
    let keys = || sweep.axes.iter().map(|axis| axis.key.as_str()).collect::<Vec<_>>();
    let find = |option: &str, what: &str, given: &Option<String>, names: Vec<&str>| match given {
        Some(given) if !names.contains(&given.as_str()) => {
            Err(Error::usage(format!("{option} {}: the study has no such {what}", clip(given)))
                .help(suggest(given, names, "It has")))
        }
        _ => Ok(()),
    };
    // A measure has its name here, and that in comparisons.
    let column = |given: &Option<String>| given.as_deref().map(column_of);
    find("--y", "measure", &column(&wanted.measure), measures())?;
    find("--hue", "key", &wanted.hue, keys())?;
    if name == "pareto" {
        find("--x", "measure", &column(&wanted.x), measures())
    } else {
        find("--x", "key", &wanted.x, keys())
    }
}

/// Write amplification, and that in pages: all that stores of versions before 0.1.3 have.
const AMPLIFICATION: [&str; 2] = ["write_amplification_bytes", "write_amplification"];

/// The measure that is asked for, or the first of some that points differ in.
fn measure<'s>(sweep: &'s Sweep, given: Option<&str>, first: &[String]) -> Option<&'s Column> {
    let found = || first.iter().filter_map(|path| sweep.column(path));
    let varies = |column: &&Column| column.means.iter().any(|mean| mean.is_finite() && *mean != column.means[0]);
    match given {
        Some(path) => sweep.column(&column_of(path)),
        None => found().find(varies).or_else(|| found().next()).or(sweep.columns.first()),
    }
}

fn latencies(wanted: &Wanted, fields: &[&str]) -> Vec<String> {
    let ops: &[&str] = match wanted.op {
        Some(Op::Read) => &["read"],
        Some(Op::Write) => &["write"],
        Some(Op::All) => &["all"],
        None => &["read", "write", "all"],
    };
    ops.iter().flat_map(|op| fields.iter().map(move |field| format!("latency_ns.{op}.{field}"))).collect()
}

pub(super) fn main_measure<'s>(sweep: &'s Sweep, wanted: &Wanted) -> Option<&'s Column> {
    let mut first = latencies(wanted, &["p99"]);
    first.extend(AMPLIFICATION.map(String::from));
    measure(sweep, wanted.measure.as_deref(), &first)
}

/// The measures that a page shows: those of these that points differ in.
pub(super) fn shown(sweep: &Sweep) -> Vec<&Column> {
    let [in_bytes, in_pages] = AMPLIFICATION;
    let amplification = if sweep.column(in_bytes).is_some() { in_bytes } else { in_pages };
    let paths = ["latency_ns.read.p99", "latency_ns.read.mean", "latency_ns.write.p99", amplification];
    let varied = |column: &&Column| {
        let mut known = column.means.iter().filter(|mean| mean.is_finite());
        let first = known.next();
        known.any(|mean| Some(mean) != first)
    };
    paths.iter().filter_map(|path| sweep.column(path)).filter(varied).collect()
}

/// Keys with more than one value, those with the most values first; numbers before names.
pub(super) fn varied(sweep: &Sweep) -> Vec<usize> {
    let mut keys: Vec<usize> = (0..sweep.axes.len()).filter(|i| sweep.axes[*i].values.len() > 1).collect();
    keys.sort_by_key(|i| (sweep.axes[*i].numbers.is_none(), std::cmp::Reverse(sweep.axes[*i].values.len())));
    keys
}

fn key(sweep: &Sweep, given: &Option<String>) -> Option<usize> {
    given.as_ref().and_then(|given| sweep.axes.iter().position(|axis| axis.key == *given))
}

/// Points that differ in some keys alone: the values of the others are those that most of the points with a result have.
struct Slice {
    points: Vec<usize>,
    /// What is the same in all of them, in words.
    fixed: String,
}

fn slice(sweep: &Sweep, free: &[usize]) -> Slice {
    let others: Vec<usize> = varied(sweep).into_iter().filter(|key| !free.contains(key)).collect();
    // Points with the same values of the other keys are a group, numbered as they first appear.
    let mut group = vec![0u32; sweep.points.len()];
    for key in &others {
        let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (group, point) in group.iter_mut().zip(&sweep.points) {
            let next = known.len() as u32;
            *group = *known.entry((*group, point.at[*key])).or_insert(next);
        }
    }
    let mut done = vec![0u64; group.iter().max().map_or(0, |last| *last as usize + 1)];
    for (group, point) in group.iter().zip(&sweep.points) {
        done[*group as usize] += u64::from(point.state == State::Done);
    }
    // Of equal ones the first.
    let Some(best) = (0..done.len()).max_by_key(|group| (done[*group], std::cmp::Reverse(*group))) else {
        return Slice { points: Vec::new(), fixed: String::new() };
    };
    let points: Vec<usize> = (0..group.len()).filter(|place| group[*place] as usize == best).collect();
    let fixed = others.iter().map(|key| {
        let (axis, at) = (&sweep.axes[*key], sweep.points[points[0]].at[*key]);
        format!("{} = {}", axis.key, axis.values[at as usize])
    });
    let fixed = fixed.collect::<Vec<_>>().join(", ");
    Slice { points, fixed }
}

/// The points of one workload: where requests are varied, of those that most of the points with a result serve.
fn of_one_workload(sweep: &Sweep) -> Slice {
    let designs: Vec<usize> = (0..sweep.axes.len()).filter(|axis| !sweep.axes[*axis].workload).collect();
    slice(sweep, &designs)
}

fn of_measure(measure: &Measure, scale: Scale) -> Axis {
    let axis = Axis::new(&measure.label, measure.unit, scale);
    if measure.share { axis.in_percent() } else { axis }
}

/// A value of a measure, in words.
pub(super) fn said(measure: &Measure, value: f64) -> String {
    match measure.unit {
        Unit::Nanoseconds => duration(value),
        Unit::BytesPerSecond => format!("{} MB/s", rate(value / 1e6)),
        _ if measure.share => percent(value),
        _ if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        _ => format!("{value:.3}"),
    }
}

/// The axis of a key's values: a scale where they are numbers, else names.
fn of_key(axis: &sweep::Axis) -> Axis {
    let Some(numbers) = &axis.numbers else { return Axis::bands(&axis.key, axis.values.clone()) };
    let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
    // Steps of a factor are level steps.
    let scale = if low > 0.0 && high / low >= 16.0 { Scale::Log } else { Scale::Linear };
    let mut out = Axis::new(&axis.key, Unit::One, scale);
    if numbers.len() <= MOST_TICKS {
        let pad = (high - low) * 0.04;
        out.ticks = numbers.clone();
        out.range = match scale {
            _ if low == high => None,
            Scale::Log => Some([low / 1.15, high * 1.15]),
            _ => Some([low - pad, high + pad]),
        };
    }
    out
}

fn source(sweep: &Sweep) -> Source {
    Source { version: sweep.version.clone(), ..Source::default() }
}

pub(super) fn figure(id: &str, title: String, sweep: &Sweep, panel: Panel, table: Table) -> Figure {
    Figure { id: id.into(), title, panels: vec![panel], table, source: source(sweep), ..Figure::default() }
}

pub(super) fn none(id: &str, title: &str, sweep: Option<&Sweep>, why: &str) -> Figure {
    Figure { source: sweep.map(source).unwrap_or_default(), ..Figure::empty(id, title, why) }
}

/// What the means are over, and what is the same in all points. `bands`: what is said of intervals.
fn notes(sweep: &Sweep, fixed: &str, bands: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let most = sweep.points.iter().map(|point| point.runs).max().unwrap_or(0);
    if most > 1 {
        notes.push(format!("Means over up to {most} seeds; {bands} (Student's t)."));
    }
    if !fixed.is_empty() {
        notes.push(format!("Other keys are the same in all points: {fixed}."));
    }
    notes
}

fn low_high(column: &Column, place: usize) -> [Cell; 2] {
    let (mean, half) = (column.means[place], column.halves[place]);
    [mean - half, mean + half].map(|end| Cell::from(Some(end).filter(|end| end.is_finite())))
}

/// The least and the greatest of some points, in words.
fn extremes(sweep: &Sweep, column: &Column, points: &[usize]) -> String {
    let known = || points.iter().filter(|place| column.means[**place].is_finite());
    let by = |a: &&usize, b: &&usize| column.means[**a].total_cmp(&column.means[**b]);
    let (Some(least), Some(most)) = (known().min_by(by), known().max_by(by)) else { return String::new() };
    let tell = |place: usize| {
        format!("{} ({})", said(&column.measure, column.means[place]), sweep.words(&sweep.points[place]))
    };
    let label = &column.measure.label;
    if least == most {
        return format!("The {label} is {}.", tell(*least));
    }
    format!("The {label} goes from {} to {}.", tell(*least), tell(*most))
}

/// Whether points share so few values of keys that no line has three of them, as in random designs.
fn is_scattered(sweep: &Sweep, points: &[usize], x: usize, hue: Option<usize>) -> bool {
    let mut lines: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for place in points {
        *lines.entry(hue.map(|hue| sweep.points[*place].at[hue])).or_default() += 1;
    }
    let longest = lines.values().copied().max().unwrap_or(0);
    longest < sweep.axes[x].values.len().min(3) && sweep.points.len() > 2 * longest
}

pub(super) fn lines(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let id = "sweep-lines";
    let Some(sweep) = &inputs.sweep else { return none(id, "Study", None, "There is no study.") };
    let Some(column) = main_measure(sweep, wanted) else { return none(id, &sweep.study, Some(sweep), NOTHING) };
    let keys = varied(sweep);
    let Some(x) = key(sweep, &wanted.x).or(keys.first().copied()) else {
        return none(id, &sweep.study, Some(sweep), "No key has two values.");
    };
    let mut hue = key(sweep, &wanted.hue).or(keys.iter().copied().find(|key| *key != x)).filter(|hue| *hue != x);
    let free: Vec<usize> = std::iter::once(x).chain(hue).collect();
    let mut part = slice(sweep, &free);
    let axis = &sweep.axes[x];
    let title = format!("{} over {}", column.measure.label, axis.key);
    part.points.retain(|place| column.means[*place].is_finite());
    let scattered = axis.numbers.is_some() && is_scattered(sweep, &part.points, x, hue);
    if scattered {
        part.points = (0..sweep.points.len()).filter(|place| column.means[*place].is_finite()).collect();
        part.fixed.clear();
        let few = |key: &usize| *key != x && sweep.axes[*key].values.len() <= MOST_LINES;
        hue = key(sweep, &wanted.hue).or(keys.iter().copied().find(few));
    }
    let mut table = Table::new(&[axis.key.as_str(), hue.map_or("", |hue| &sweep.axes[hue].key), "mean", "low", "high"]);
    if hue.is_none() {
        table.columns.remove(1);
    }
    let lines = hue.map_or(1, |hue| sweep.axes[hue].values.len());
    let scale = if axis.numbers.is_some() { scale_of(column, &part.points, 30.0) } else { Scale::Linear };
    // A mean of several seeds may have an interval that reaches below 0, which no measure does.
    let least = part.points.iter().map(|place| column.means[*place]).fold(f64::INFINITY, f64::min);
    let floor = if scale == Scale::Log { least / 2.0 } else { 0.0 };
    let mut series = Vec::new();
    for line in 0..lines {
        let on = |place: &&usize| hue.is_none_or(|hue| sweep.points[**place].at[hue] as usize == line);
        let mut own: Vec<usize> = part.points.iter().filter(on).copied().collect();
        own.sort_by_key(|place| sweep.points[*place].at[x]);
        for place in &own {
            let mut row = vec![Cell::from(axis.values[sweep.points[*place].at[x] as usize].as_str())];
            row.extend(hue.map(|hue| Cell::from(sweep.axes[hue].values[line].as_str())));
            row.push(Cell::Real(column.means[*place]));
            row.extend(low_high(column, *place));
            table.rows.push(row);
        }
        if own.is_empty() || line >= MOST_LINES {
            continue;
        }
        let name = hue.map_or("", |hue| sweep.axes[hue].values[line].as_str());
        series.extend(line_of(sweep, column, x, &own, &Drawn { name, line, alone: scattered, floor }));
    }
    if series.is_empty() {
        return none(id, &title, Some(sweep), NOTHING);
    }
    let panel = Panel { x: of_key(axis), y: of_measure(&column.measure, scale), series, ..Panel::default() };
    let mut figure = figure(id, title, sweep, panel, table);
    figure.caption = extremes(sweep, column, &part.points);
    let bands = match (scattered, axis.numbers.is_none()) {
        (true, _) => IN_TABLE,
        (false, true) => "error bars are 95 % intervals, cut where they leave the axis",
        (false, false) => "bands are 95 % intervals, cut where they leave the axis",
    };
    figure.notes = notes(sweep, &part.fixed, bands);
    if lines > MOST_LINES {
        let key = hue.map_or("", |hue| &sweep.axes[hue].key);
        figure.notes.push(format!("The first {MOST_LINES} of {lines} values of {key} are drawn; the table has all."));
    }
    figure
}

pub(super) const NOTHING: &str = "No point has this result.";
const IN_TABLE: &str = "the table has 95 % intervals";
/// Points of a line that are marked.
const MOST_MARKED: usize = 60;

struct Drawn<'n> {
    name: &'n str,
    /// Its number among the lines.
    line: usize,
    /// Whether points are no line.
    alone: bool,
    /// Where bands are cut.
    floor: f64,
}

/// A logarithmic scale where the largest value of some points is so many times the least.
fn scale_of(column: &Column, points: &[usize], times: f64) -> Scale {
    let known = || points.iter().map(|place| column.means[*place]).filter(|mean| mean.is_finite());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
    if low > 0.0 && high / low >= times { Scale::Log } else { Scale::Linear }
}

/// A line with its interval; bars where the key has no numbers; points alone where they are no line.
fn line_of(sweep: &Sweep, column: &Column, x: usize, own: &[usize], drawn: &Drawn<'_>) -> Vec<Series> {
    let style = format!("line-{}", drawn.line);
    let axis = &sweep.axes[x];
    let at = |place: &usize| {
        let value = sweep.points[*place].at[x] as usize;
        axis.numbers.as_ref().map_or(value as f64, |numbers| numbers[value])
    };
    let points: Vec<Vec<f64>> = own.iter().map(|place| vec![at(place), column.means[*place]]).collect();
    let series =
        |mark: Mark, points: Vec<Vec<f64>>| Series { name: String::new(), ..Series::new(&style, mark, points) };
    let named = |mark: Mark, points: Vec<Vec<f64>>| Series { name: drawn.name.into(), ..series(mark, points) };
    if axis.numbers.is_none() {
        // Bars have error bars where there are several seeds.
        let with_error = own.iter().zip(points).map(|(place, mut point)| {
            let half = column.halves[*place];
            if half.is_finite() {
                point.extend([(point[1] - half).max(drawn.floor), point[1] + half]);
            }
            point
        });
        return vec![named(Mark::Bar, with_error.collect())];
    }
    if drawn.alone {
        let labels = own.iter().map(|place| sweep.words(&sweep.points[*place])).collect();
        return vec![Series { labels, ..named(Mark::Point, points) }];
    }
    let band = own.iter().zip(&points).filter(|(place, _)| column.halves[**place].is_finite());
    let band: Vec<Vec<f64>> = band
        .map(|(place, point)| {
            vec![point[0], (point[1] - column.halves[*place]).max(drawn.floor), point[1] + column.halves[*place]]
        })
        .collect();
    let mut out = Vec::new();
    if band.len() > 1 {
        out.push(series(Mark::Area, band));
    }
    let marked = points.len() <= MOST_MARKED;
    out.push(named(Mark::Line, points.clone()));
    if marked {
        out.push(series(Mark::Point, points));
    }
    out
}

struct Cells {
    results: Vec<Vec<f64>>,
    refused: Vec<Vec<f64>>,
    failed: Vec<Vec<f64>>,
    table: Table,
}

/// The cells of some points, with one value in `every` of both keys.
fn cells(sweep: &Sweep, column: &Column, [x, y]: [usize; 2], points: &[usize], every: usize) -> Cells {
    let table = Table::new(&[&sweep.axes[x].key, &sweep.axes[y].key, "status", "mean", "low", "high"]);
    let mut cells = Cells { results: Vec::new(), refused: Vec::new(), failed: Vec::new(), table };
    let mut order = points.to_vec();
    order.sort_by_key(|place| (sweep.points[*place].at[y], sweep.points[*place].at[x]));
    for place in order {
        let point = &sweep.points[place];
        let (across, down) = (point.at[x] as usize, point.at[y] as usize);
        if across % every > 0 || down % every > 0 {
            continue;
        }
        let mean = Some(column.means[place]).filter(|mean| mean.is_finite());
        let names =
            [&sweep.axes[x].values[across], &sweep.axes[y].values[down]].map(|value| Cell::from(value.as_str()));
        let mut row = names.to_vec();
        row.extend([Cell::from(point.state.name()), Cell::from(mean)]);
        row.extend(low_high(column, place));
        cells.table.rows.push(row);
        let list = match (mean, point.state) {
            (Some(_), _) => &mut cells.results,
            (None, State::Refused) => &mut cells.refused,
            (None, State::Failed) => &mut cells.failed,
            _ => continue,
        };
        list.push(vec![(across / every) as f64, (down / every) as f64, mean.unwrap_or(0.0)]);
    }
    cells
}

pub(super) fn heatmap(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let id = "sweep-heatmap";
    let Some(sweep) = &inputs.sweep else { return none(id, "Study", None, "There is no study.") };
    let Some(column) = main_measure(sweep, wanted) else { return none(id, &sweep.study, Some(sweep), NOTHING) };
    let keys = varied(sweep);
    let x = key(sweep, &wanted.x)
        .or_else(|| keys.iter().copied().find(|key| wanted.hue.as_ref() != Some(&sweep.axes[*key].key)));
    let y = key(sweep, &wanted.hue).or_else(|| keys.iter().copied().find(|key| Some(*key) != x));
    let (Some(x), Some(y)) = (x, y.filter(|y| Some(*y) != x)) else {
        return none(id, &column.measure.label, Some(sweep), "A map needs two keys with two values each.");
    };
    let part = slice(sweep, &[x, y]);
    let title = format!("{} over {} and {}", column.measure.label, sweep.axes[x].key, sweep.axes[y].key);
    // A page has room for so many cells.
    let [across, down] = [x, y].map(|key| sweep.axes[key].values.len());
    let every = together(across.max(down), wanted, |every| across.div_ceil(every) * down.div_ceil(every));
    let found = cells(sweep, column, [x, y], &part.points, every);
    let all = across * down;
    if found.results.len() < 2 || part.points.len() * 4 < all {
        return none(id, &title, Some(sweep), "The points of this study lie on no grid of these keys.");
    }
    let ends = found.results.iter().map(|cell| cell[2]);
    let (low, high) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean), high.max(mean)));
    let (low, high) = outward(low, high);
    let value = of_measure(&column.measure, scale_of(column, &part.points, 30.0)).within(low, high);
    let square = |name: &str, cells| Series { width: Some(1.0), ..Series::new(name, Mark::Cell, cells) };
    let mut series = vec![Series { value: Some(value), ..square(&column.measure.label, found.results).like("host") }];
    let others = [(State::Refused, found.refused), (State::Failed, found.failed)];
    series.extend(
        others.into_iter().filter(|(_, cells)| !cells.is_empty()).map(|(state, cells)| square(state.name(), cells)),
    );
    let table = found.table;
    let names = |key: usize| sweep.axes[key].values.iter().step_by(every).cloned().collect();
    let [x, y] = [x, y].map(|key| Axis::bands(&sweep.axes[key].key, names(key)));
    let mut figure = figure(id, title, sweep, Panel { x, y, series, ..Panel::default() }, table);
    figure.caption = extremes(sweep, column, &part.points);
    let refused = part.points.iter().filter(|place| sweep.points[**place].state == State::Refused).count() as u64;
    if refused > 0 {
        figure.caption.push_str(&format!(" {} refused.", plural(refused, "point")));
    }
    figure.notes = notes(sweep, &part.fixed, IN_TABLE);
    if every > 1 {
        figure.notes.push(format!("Of each key, one value in {every} is shown: there are more than can be seen."));
    }
    figure
}

/// A range with ends of three digits.
fn outward(low: f64, high: f64) -> (f64, f64) {
    let unit = |value: f64| {
        let exponent = libm::floor(libm::log10(value.abs().max(f64::MIN_POSITIVE))) as i32 - 2;
        // Parsing rounds correctly on every machine.
        format!("1e{exponent}").parse::<f64>().unwrap_or(1.0)
    };
    let round = |value: f64, up: bool| {
        if value == 0.0 {
            return 0.0;
        }
        let unit = unit(value);
        let steps = if up { (value / unit).ceil() } else { (value / unit).floor() };
        // A product with a negative power of ten is no round number; a quotient is.
        if unit < 1.0 { steps / (1.0 / unit).round() } else { steps * unit }
    };
    let (low, high) = (round(low, false), round(high, true));
    if low < high { (low, high) } else { (low, low + low.abs().max(1.0)) }
}

/// Whether each of some pairs is on the front: no other pair is as good in both and better in one. Less is better.
fn front(pairs: &[(f64, f64)]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|a, b| pairs[*a].0.total_cmp(&pairs[*b].0).then(pairs[*a].1.total_cmp(&pairs[*b].1)));
    let (mut on, mut best) = (vec![false; pairs.len()], f64::INFINITY);
    for equal in order.chunk_by(|a, b| pairs[*a].0 == pairs[*b].0) {
        let least = pairs[equal[0]].1;
        if least < best {
            best = least;
            equal.iter().take_while(|i| pairs[**i].1 == least).for_each(|i| on[*i] = true);
        }
    }
    on
}

/// The points of a front and others, with both measures.
fn front_table(sweep: &Sweep, columns: [&Column; 2], [best, others]: [&[usize]; 2]) -> Table {
    let mut table = Table::new(&["point", "front"]);
    table.columns.extend(sweep.axes.iter().map(|axis| axis.key.clone()));
    table.columns.extend(columns.map(|column| column.measure.path.clone()));
    for (place, on) in best.iter().map(|place| (*place, "yes")).chain(others.iter().map(|place| (*place, "no"))) {
        let point = &sweep.points[place];
        let mut row = vec![point.number.into(), on.into()];
        row.extend(sweep.axes.iter().zip(&point.at).map(|(axis, at)| Cell::from(axis.values[*at as usize].as_str())));
        row.extend(columns.map(|column| Cell::Real(column.means[place])));
        table.rows.push(row);
    }
    table
}

/// The two measures of a trade-off: as wanted, or a latency and write amplification.
fn both<'s>(sweep: &'s Sweep, wanted: &Wanted) -> (Option<&'s Column>, Option<&'s Column>) {
    let mut first = latencies(wanted, &["p99_9", "p99", "mean"]);
    first.push("simulated_ns".into());
    match (wanted.x.as_deref(), wanted.measure.as_deref()) {
        (None, Some(y)) if first.first().is_some_and(|path| path == y) => {
            (measure(sweep, None, &AMPLIFICATION.map(String::from)), measure(sweep, Some(y), &[]))
        }
        (x, y) => (
            measure(sweep, x, &first),
            measure(sweep, y, &[AMPLIFICATION[0].into(), AMPLIFICATION[1].into(), "latency_ns.all.mean".into()]),
        ),
    }
}

/// The first and the last point of a front, in a sentence.
fn ends_of_front(sweep: &Sweep, [x, y]: [&Column; 2], best: &[usize], points: usize) -> String {
    let end = |place: Option<&usize>| {
        place.map_or(String::new(), |place| {
            let (at_x, at_y) = (said(&x.measure, x.means[*place]), said(&y.measure, y.means[*place]));
            format!("{at_x}, {at_y} ({})", sweep.words(&sweep.points[*place]))
        })
    };
    let points = count(points as u64);
    match best.len() {
        1 => format!("One of {points} points is best in both measures: {}.", end(best.first())),
        n => format!("{n} of {points} points are on the front: from {} to {}.", end(best.first()), end(best.last())),
    }
}

pub(super) fn pareto(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let (id, title) = ("pareto", "Trade-off of two measures");
    let Some(sweep) = &inputs.sweep else { return none(id, title, None, "There is no study.") };
    let (Some(x), Some(y)) = both(sweep, wanted) else { return none(id, title, Some(sweep), NOTHING) };
    let signed =
        |column: &Column, place: usize| if column.measure.more { -column.means[place] } else { column.means[place] };
    let same = of_one_workload(sweep);
    let places: Vec<usize> = same
        .points
        .iter()
        .copied()
        .filter(|place| x.means[*place].is_finite() && y.means[*place].is_finite())
        .collect();
    if places.is_empty() {
        return none(id, title, Some(sweep), NOTHING);
    }
    let pairs: Vec<(f64, f64)> = places.iter().map(|place| (signed(x, *place), signed(y, *place))).collect();
    let on = front(&pairs);
    let mut best: Vec<usize> = places.iter().zip(&on).filter(|(_, on)| **on).map(|(place, _)| *place).collect();
    best.sort_by(|a, b| x.means[*a].total_cmp(&x.means[*b]).then(y.means[*a].total_cmp(&y.means[*b])));
    let rest: Vec<usize> = places.iter().zip(&on).filter(|(_, on)| !**on).map(|(place, _)| *place).collect();
    let every = rest.len().div_ceil(wanted.most_points()).max(1);
    let kept: Vec<usize> = rest.iter().copied().step_by(every).collect();
    let table = front_table(sweep, [x, y], [&best, &kept]);
    let at = |place: &usize| vec![x.means[*place], y.means[*place]];
    let words =
        |place: &usize| format!("point {}: {}", sweep.points[*place].number, sweep.words(&sweep.points[*place]));
    let line = Series { name: String::new(), ..Series::new("front", Mark::Line, best.iter().map(at).collect()) };
    let dots = |name: &str, style: &str, own: &[usize]| Series {
        labels: own.iter().map(words).collect(),
        ..Series::new(name, Mark::Point, own.iter().map(at).collect()).like(style)
    };
    let mut series = vec![dots("other points", "same", &kept), line, dots("the front", "front", &best)];
    if best.len() <= MOST_NAMED {
        let labels = best.iter().map(|place| sweep.points[*place].number.to_string()).collect();
        series.push(Series { mark: Mark::Text, points: best.iter().map(at).collect(), labels, ..Series::default() });
    }
    series.retain(|series| !series.points.is_empty());
    let scale = |column: &Column| scale_of(column, &places, 8.0);
    let [of_x, of_y] = [x, y].map(|column| of_measure(&column.measure, scale(column)));
    let panel = Panel { x: of_x, y: of_y, series, ..Panel::default() };
    let mut figure = figure(id, title.into(), sweep, panel, table);
    figure.caption = ends_of_front(sweep, [x, y], &best, places.len());
    if !same.fixed.is_empty() {
        figure.notes.push(format!("Points that serve other requests are left out: {}.", same.fixed));
    }
    let better = |measure: &Measure| if measure.more { "more" } else { "less" };
    figure.notes.push(format!(
        "A point is on the front if no other is as good in both measures and better in one; {} {} and {} {} are better.",
        better(&x.measure), x.measure.label, better(&y.measure), y.measure.label
    ));
    if every > 1 {
        figure.notes.push(format!("Of the other points, one in {every} is shown; the front is whole."));
    }
    figure
}

/// The first and the last value of each axis, and of the measure behind them, as texts.
fn ends(sweep: &Sweep, keys: &[usize], measure: [String; 2]) -> Series {
    let mut ends = Series { mark: Mark::Text, width: Some(0.0), ..Series::default() };
    for (i, key) in keys.iter().enumerate() {
        let values = &sweep.axes[*key].values;
        ends.points.extend([vec![i as f64, -0.06], vec![i as f64, 1.06]]);
        ends.labels.extend([values[0].clone(), values[values.len() - 1].clone()]);
    }
    ends.points.extend([vec![keys.len() as f64, -0.06], vec![keys.len() as f64, 1.06]]);
    ends.labels.extend(measure);
    ends
}

pub(super) fn parallel(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let (id, title) = ("sweep-parallel", "All points");
    let Some(sweep) = &inputs.sweep else { return none(id, title, None, "There is no study.") };
    let same = of_one_workload(sweep);
    let (Some(column), mut keys) = (main_measure(sweep, wanted), varied(sweep)) else {
        return none(id, title, Some(sweep), NOTHING);
    };
    keys.retain(|key| !sweep.axes[*key].workload);
    let mut places: Vec<usize> = same.points.iter().copied().filter(|place| column.means[*place].is_finite()).collect();
    if places.is_empty() || keys.is_empty() {
        return none(id, title, Some(sweep), NOTHING);
    }
    let all = places.len();
    places.sort_by(|a, b| column.means[*a].total_cmp(&column.means[*b]));
    if column.measure.more {
        places.reverse();
    }
    // The best fifth stays a fifth of what is shown.
    let every = all.div_ceil(wanted.most_points() / 4).max(1);
    let (low, high) = (
        column.means[places[0]].min(column.means[places[all - 1]]),
        column.means[places[0]].max(column.means[places[all - 1]]),
    );
    let share = |axis: usize, place: usize| {
        let last = sweep.axes[axis].values.len() - 1;
        f64::from(sweep.points[place].at[axis]) / last as f64
    };
    let end = if high > low { high - low } else { 1.0 };
    keys.sort_unstable();
    let mut table = Table { columns: vec!["point".into()], rows: Vec::new() };
    table.columns.extend(keys.iter().map(|key| sweep.axes[*key].key.clone()));
    table.columns.push(column.measure.path.clone());
    let (mut best, mut rest) = (Vec::new(), Vec::new());
    for (rank, place) in places.iter().enumerate().step_by(every) {
        let line = if rank < all.div_ceil(5) { &mut best } else { &mut rest };
        line.extend(keys.iter().enumerate().map(|(i, key)| vec![i as f64, share(*key, *place)]));
        line.push(vec![keys.len() as f64, (column.means[*place] - low) / end]);
        // A gap: the next point starts a new line.
        line.push(vec![keys.len() as f64, f64::NAN]);
        let point = &sweep.points[*place];
        let mut row: Vec<Cell> = vec![point.number.into()];
        row.extend(keys.iter().map(|key| Cell::from(sweep.axes[*key].values[point.at[*key] as usize].as_str())));
        row.push(Cell::Real(column.means[*place]));
        table.rows.push(row);
    }
    let ends = ends(sweep, &keys, [said(&column.measure, low), said(&column.measure, high)]);
    let named = |name: &str, style: &str, points: Vec<Vec<f64>>| Series::new(name, Mark::Line, points).like(style);
    let mut series = vec![named("other points", "rest", rest), named("the best fifth", "front", best), ends];
    series.retain(|series| !series.points.is_empty());
    let names = keys.iter().map(|key| sweep.axes[*key].key.clone()).chain([column.measure.label.clone()]).collect();
    let y = Axis { ticks: vec![0.0, 0.5, 1.0], ..Axis::new("place among the values", Unit::One, Scale::Linear) };
    let y = y.within(-0.12, 1.12).in_percent();
    let panel = Panel { x: Axis::bands("", names), y, series, ..Panel::default() };
    let mut figure = figure(id, format!("{title} by {}", column.measure.label), sweep, panel, table);
    figure.caption = extremes(sweep, column, &places);
    if !same.fixed.is_empty() {
        figure.notes.push(format!("Points that serve other requests are left out: {}.", same.fixed));
    }
    if every > 1 {
        figure.notes.push(format!("Of {} points, one in {every} of their order is shown.", count(all as u64)));
    }
    figure
}

/// All points: values, what became of them, and the measures that the page shows. `most` rows.
pub(super) fn points_table(sweep: &Sweep, most: usize) -> Table {
    let columns = shown(sweep);
    let mut table = Table::new(&["point", "status", "runs"]);
    let doubted = sweep.points.iter().any(|point| point.overloaded || point.unsteady);
    table.columns.extend(doubted.then(|| "caution".into()));
    table.columns.extend(sweep.axes.iter().map(|axis| axis.key.clone()));
    table.columns.extend(columns.iter().map(|column| column.measure.path.clone()));
    for (place, point) in sweep.points.iter().enumerate().take(most) {
        let status = match &point.why {
            Some(why) => format!("{}: {why}", point.state.name()),
            None => point.state.name().into(),
        };
        let mut row = vec![point.number.into(), Cell::Text(status), u64::from(point.runs).into()];
        row.extend(doubted.then(|| Cell::Text(point.caution())));
        row.extend(sweep.axes.iter().zip(&point.at).map(|(axis, at)| Cell::from(axis.values[*at as usize].as_str())));
        row.extend(columns.iter().map(|column| Cell::from(Some(column.means[place]).filter(|mean| mean.is_finite()))));
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_has_what_nothing_beats() {
        let pairs = [(1.0, 5.0), (2.0, 3.0), (2.0, 4.0), (3.0, 3.0), (4.0, 1.0), (4.0, 1.0), (5.0, 0.5), (6.0, 9.0)];
        assert_eq!(front(&pairs), [true, true, false, false, true, true, true, false]);
        assert!(front(&[]).is_empty());
    }

    proptest::proptest! {
        /// The definition, pair by pair.
        #[test]
        fn a_front_is_that_of_its_definition(pairs in proptest::collection::vec((0u8..6, 0u8..6), 0..30)) {
            let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).collect();
            let beaten = |a: &(f64, f64)| pairs.iter().any(|b| b.0 <= a.0 && b.1 <= a.1 && b != a);
            let expected: Vec<bool> = pairs.iter().map(|pair| !beaten(pair)).collect();
            proptest::prop_assert_eq!(front(&pairs), expected);
        }
    }

    #[test]
    fn ends_of_ramps_are_round() {
        assert_eq!(outward(123_456.0, 987_654.0), (123_000.0, 988_000.0));
        assert_eq!(outward(0.0123456, 4.83333), (0.0123, 4.84));
        assert_eq!(outward(5.0, 5.0), (5.0, 10.0));
    }
}
