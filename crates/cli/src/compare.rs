//! `ssdlab compare`: the same requests on several configurations, each variant beside the first.

use std::path::Path;

use serde_json::{Map, Value as Json, json};
use ssdlab_sim::blame::{BY_GC, Cause};
use ssdlab_sim::report::{Breakdown, Figures, Summary};

use crate::args::CompareArgs;
use crate::fault::{Fault, Result};
use crate::files::Files;
use crate::input;
use crate::layout;
use crate::output::{self, Finished, Output};
use crate::sheet::{Cell, Kind, Sheet, quoted};
use crate::student::{deviation, half_width, mean};
use crate::sweep::{Outcome, Plan, Point, sweep};
use crate::table;
use crate::text::{clip_to, count, duration, rate};
use crate::vary::{self, Axis, Variant};

/// How a figure is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Time,
    Count,
    Rate,
    /// Bytes, shown in millions.
    Megabytes,
    Factor,
}

/// A figure that variants are compared by.
#[derive(Clone, Copy)]
struct Metric {
    /// Its name in JSON, CSV and Parquet.
    key: &'static str,
    /// Its head in the table; empty: it is in files only.
    head: &'static str,
    unit: Unit,
    of: fn(&Summary) -> Option<f64>,
}

/// Mean time a request waited for collections.
fn blocked(by: &Breakdown, figures: &Figures) -> Option<f64> {
    let total: u128 = BY_GC.iter().map(|cause: &Cause| by.0[*cause as usize]).sum();
    ssdlab_sim::report::mean(total, figures.count)
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

macro_rules! metrics {
    ($($key:literal $head:literal $unit:ident |$summary:ident| $of:expr;)+) => {
        &[$(Metric { key: $key, head: $head, unit: Unit::$unit, of: |$summary: &Summary| $of }),+]
    };
}

#[rustfmt::skip]
const METRICS: &[Metric] = metrics! {
    "read_mean_ns" "read mean" Time |s| s.latency_ns.read.mean;
    "write_mean_ns" "write mean" Time |s| s.latency_ns.write.mean;
    "all_mean_ns" "mean" Time |s| s.latency_ns.all.mean;
    "read_p99_ns" "read p99" Time |s| whole(s.latency_ns.read.p99);
    "write_p99_ns" "write p99" Time |s| whole(s.latency_ns.write.p99);
    "all_p99_ns" "" Time |s| whole(s.latency_ns.all.p99);
    "read_p99_9_ns" "read p99.9" Time |s| whole(s.latency_ns.read.p99_9);
    "write_p99_9_ns" "write p99.9" Time |s| whole(s.latency_ns.write.p99_9);
    "all_p99_9_ns" "" Time |s| whole(s.latency_ns.all.p99_9);
    "read_max_ns" "" Time |s| whole(s.latency_ns.read.max);
    "write_max_ns" "" Time |s| whole(s.latency_ns.write.max);
    "read_waiting_ns" "" Time |s| s.waiting_ns.read.mean;
    "write_waiting_ns" "" Time |s| s.waiting_ns.write.mean;
    "all_waiting_ns" "waiting" Time |s| s.waiting_ns.all.mean;
    "read_gc_ns" "" Time |s| blocked(&s.breakdown_ns.read, &s.latency_ns.read);
    "write_gc_ns" "" Time |s| blocked(&s.breakdown_ns.write, &s.latency_ns.write);
    "all_gc_ns" "of it GC" Time |s| blocked(&s.breakdown_ns.all, &s.latency_ns.all);
    "write_amplification" "WAF" Factor |s| s.write_amplification;
    "erases" "erases" Count |s| Some(s.flash.erases as f64);
    "moved_pages" "" Count |s| Some(s.gc.moved_pages as f64);
    "requests_per_s" "requests/s" Rate |s| {
        let requests = s.requests.read + s.requests.write + s.requests.trim;
        (s.simulated_ns > 0).then(|| requests as f64 * 1e9 / s.simulated_ns as f64)
    };
    "host_read_bytes_per_s" "read MB/s" Megabytes |s| s.host_read_bytes_per_s;
    "host_written_bytes_per_s" "write MB/s" Megabytes |s| s.host_written_bytes_per_s;
};

/// One figure of one variant.
#[derive(Clone, Debug)]
struct Figure {
    /// By seed.
    values: Vec<f64>,
    mean: f64,
    deviation: Option<f64>,
    /// Mean over the baseline's mean; none where that is 0.
    ratio: Option<f64>,
    /// Mean of the differences to the baseline, seed by seed, and half the width of its 95 % confidence interval.
    difference: f64,
    half_width: Option<f64>,
}

impl Figure {
    fn new(values: Vec<f64>, base: &[f64]) -> Figure {
        let differences: Vec<f64> = values.iter().zip(base).map(|(value, base)| value - base).collect();
        let (own, other) = (mean(&values), mean(base));
        Figure {
            mean: own,
            deviation: deviation(&values),
            ratio: (other != 0.0).then(|| own / other),
            difference: mean(&differences),
            half_width: half_width(&differences),
            values,
        }
    }

    /// `same`, `lower`, `higher`, or `noise` where the confidence interval of the difference holds zero. With one seed
    /// there is no interval, and nothing is called noise.
    fn verdict(&self) -> &'static str {
        match self.difference {
            0.0 if self.half_width.is_none_or(|half| half == 0.0) => "same",
            d if self.half_width.is_some_and(|half| d.abs() <= half) => "noise",
            d if d < 0.0 => "lower",
            _ => "higher",
        }
    }
}

/// A row of the comparison.
struct Row {
    name: String,
    variant: Variant,
    /// By seed; none where the configuration was refused.
    outcomes: Vec<Outcome>,
    /// By metric.
    figures: Vec<Option<Figure>>,
}

/// Compares and prints.
pub fn compare(args: &CompareArgs) -> Result<()> {
    let axes = vary::axes(&args.vary)?;
    if axes.is_empty() && args.repeat == 1 {
        return Err(Fault::usage("nothing to compare")
            .help("give --vary KEY=V1,V2,..., or --repeat N for the spread over seeds of one configuration"));
    }
    if axes.iter().any(|axis| axis.key == "preset") && args.config.preset.is_some() {
        return Err(Fault::usage("both --preset and --vary preset=...").help("leave --preset out"));
    }
    if args.input.trace.as_deref() == Some(Path::new("-")) {
        return Err(Fault::usage("standard input can be read only once, and every variant reads the trace")
            .help("save the trace to a file"));
    }
    vary::points(&axes, args.repeat, args.max_points)?;
    if args.how.seed.checked_add(args.repeat - 1).is_none() {
        return Err(
            Fault::usage("--seed and --repeat: the last seed would be beyond 64 bits").help("use a smaller --seed")
        );
    }
    let variants = vary::variants(&args.config.sources(), &axes)?;
    if let Some(error) = &variants[0].refused {
        return Err(variants[0].settings.refuse(error).note("the first variant is what the others are measured by"));
    }
    let mut files = Files::new();
    args.config.read_by(&mut files);
    input::open(&args.input)?.read_by(&mut files);
    axes.iter().filter(|axis| axis.key == "file").flat_map(|axis| &axis.values).for_each(|path| {
        files.reads("--vary file", Path::new(path));
    });
    files.write_all(&[("--json", args.table.json_file()), ("--rows", args.rows.as_deref())])?;
    if let Some(directory) = args.summaries.as_deref().filter(|directory| directory.is_dir()) {
        let seeds = || args.how.seed..=args.how.seed + (args.repeat - 1);
        let names = (1..=variants.len()).flat_map(|number| seeds().map(move |seed| summary_name(number, seed)));
        names.into_iter().try_for_each(|name| files.writes("--summaries", &directory.join(name)))?;
    }
    let (to_stdout, json_file) = args.table.json_output()?;
    let sheet = args.rows.as_deref().map(|path| sheet(path, &axes, args.repeat)).transpose()?;
    if let Some(directory) = &args.summaries {
        std::fs::create_dir_all(directory).map_err(|error| Fault::file("write", directory, &error))?;
    }

    let rows = run(args, &axes, variants)?;
    let mut finished = Vec::new();
    if let Some(directory) = &args.summaries {
        finished.extend(summaries(directory, &rows)?);
    }
    let mut text = serde_json::to_string_pretty(&to_json(args, &axes, &rows)).expect("figures are plain data");
    text.push('\n');
    if let Some(mut file) = json_file {
        file.put(text.as_bytes())?;
        finished.push(file.finish()?);
    }
    if let Some(mut sheet) = sheet {
        for (number, row) in rows.iter().enumerate() {
            sheet.row(entries(number, row, args.repeat).iter().map(Entry::cell))?;
        }
        finished.push(sheet.finish()?);
    }
    let remarks = remarks(&rows);
    if !args.how.quiet {
        remarks.iter().for_each(output::remark);
    }
    finished.into_iter().try_for_each(Finished::publish)?;
    if to_stdout {
        output::print(&text)
    } else if args.table.csv {
        output::print(&csv(&axes, &rows, args.repeat))
    } else if args.table.markdown {
        output::print(&markdown(&rows, args.repeat))
    } else {
        output::print(&render(args, &axes, &rows))
    }
}

/// Runs what is not refused, seed by seed.
fn run(args: &CompareArgs, axes: &[Axis], variants: Vec<Variant>) -> Result<Vec<Row>> {
    let good: Vec<usize> = (0..variants.len()).filter(|v| variants[*v].refused.is_none()).collect();
    let names: Vec<String> = variants.iter().map(|variant| name(variant, axes)).collect();
    let seeds = args.how.seed..=args.how.seed + (args.repeat - 1);
    let points: Vec<Point> = seeds
        .flat_map(|seed| good.iter().map(move |v| (seed, *v)))
        .map(|(seed, v)| Point {
            name: format!("variant {} ({})", v + 1, names[v]),
            config: variants[v].settings.config.clone(),
            input: args.input.clone(),
            seed,
        })
        .collect();
    let outcomes = sweep(&points, &Plan::new(&args.how))?;
    let mut by_variant: Vec<Vec<Outcome>> = variants.iter().map(|_| Vec::new()).collect();
    for (i, outcome) in outcomes.into_iter().enumerate() {
        by_variant[good[i % good.len()]].push(outcome);
    }
    let values = |outcomes: &[Outcome], metric: &Metric| -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = outcomes.iter().map(|outcome| (metric.of)(&outcome.summary)).collect();
        values.filter(|values| !values.is_empty())
    };
    let base: Vec<Option<Vec<f64>>> = METRICS.iter().map(|metric| values(&by_variant[0], metric)).collect();
    let rows = variants.into_iter().zip(names).zip(by_variant).map(|((variant, name), outcomes)| {
        let figure = |(metric, base): (&Metric, &Option<Vec<f64>>)| {
            Some(Figure::new(values(&outcomes, metric)?, base.as_deref()?))
        };
        let figures = METRICS.iter().zip(&base).map(figure).collect();
        Row { name, variant, outcomes, figures }
    });
    Ok(rows.collect())
}

/// A variant in a few words: its values, with the names of their keys where there are several.
fn name(variant: &Variant, axes: &[Axis]) -> String {
    let value = |(axis, text): (&Axis, &String)| match axis.key.as_str() {
        "file" => Path::new(text).file_stem().map_or(text.clone(), |stem| stem.to_string_lossy().into_owned()),
        _ => text.trim_matches('"').to_string(),
    };
    if axes.is_empty() {
        return "as given".into();
    }
    axes.iter().zip(&variant.values).map(value).collect::<Vec<_>>().join(", ")
}

/// The name as a label of a table.
fn label(number: usize, row: &Row) -> String {
    clip_to(&format!("{}  {}", number + 1, row.name), 34)
}

fn cell(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time => duration(value),
        Unit::Count if value.fract() == 0.0 => count(value as u64),
        Unit::Count => format!("{value:.1}"),
        Unit::Rate => rate(value),
        Unit::Megabytes => rate(value / 1e6),
        Unit::Factor => format!("{value:.3}"),
    }
}

/// What a variant is beside the first: its ratio, in parentheses where it may be noise, with its interval where it is not.
fn beside(figure: &Figure, base: f64) -> String {
    let Some(ratio) = figure.ratio else {
        return if figure.mean == 0.0 { "1x".into() } else { "-".into() };
    };
    let factor = |ratio: f64| match ratio {
        r if r >= 99.95 => format!("{r:.0}x"),
        r if r >= 9.995 => format!("{r:.1}x"),
        r => format!("{r:.3}x"),
    };
    match figure.verdict() {
        "same" => "1x".into(),
        "noise" => format!("({})", factor(ratio)),
        _ => match figure.half_width {
            Some(half) => format!("{} ±{:.3}", factor(ratio), half / base.abs()),
            None => factor(ratio),
        },
    }
}

/// A pair of cells, or dashes.
fn pair(figure: Option<&Figure>, base: Option<&Figure>, metric: &Metric) -> [String; 2] {
    match (figure, base) {
        (Some(figure), Some(base)) => [cell(metric.unit, figure.mean), beside(figure, base.mean)],
        _ => ["-".into(), String::new()],
    }
}

/// The table for people.
fn render(args: &CompareArgs, axes: &[Axis], rows: &[Row]) -> String {
    let first = &rows[0].outcomes[0];
    let preset = axes.iter().position(|axis| axis.key == "preset").map(|i| rows[0].variant.values[i].clone());
    let context = table::Context {
        workload: first.workload.clone(),
        preset: preset.or(args.config.preset.clone()),
        capacity: first.capacity,
        blocks: Vec::new(),
        chart: String::new(),
    };
    let mut out = String::new();
    let mut lines = table::device_lines(&first.summary, &context);
    lines.push(table::rules(&first.summary));
    for (i, axis) in axes.iter().enumerate() {
        let text = format!("{}: {}", axis.key, axis.values.join(" | "));
        lines.push((if i == 0 { "varied" } else { "" }, text));
    }
    let last = args.how.seed + args.repeat - 1;
    if args.repeat > 1 {
        let text = format!(
            "{} to {last}: means over {} runs, ± half of the 95 % confidence interval of the difference to the first variant seed by seed (Student's t); in parentheses where that interval holds no difference: noise",
            args.how.seed, args.repeat
        );
        lines.push(("seeds", text));
    }
    layout::facts(&mut out, &lines);
    for group in packed(rows) {
        out.push('\n');
        out.push_str(&group);
    }
    if args.repeat > 1 {
        out.push('\n');
        layout::grid(&mut out, &deviations(rows), false);
    }
    let refusals = refusals(rows);
    let cautions = cautions(rows);
    if !refusals.is_empty() || !cautions.is_empty() {
        out.push('\n');
    }
    let lines: Vec<(&str, String)> = refusals.into_iter().map(|text| ("refused", text)).collect();
    layout::facts(&mut out, &lines);
    let lines: Vec<(&str, String)> = cautions.into_iter().map(|text| ("caution", text)).collect();
    layout::facts(&mut out, &lines);
    out
}

/// Why variants have no figures: each rule with the variants that break it.
fn refusals(rows: &[Row]) -> Vec<String> {
    let mut rules: Vec<(String, Vec<String>)> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let Some(error) = &row.variant.refused else { continue };
        let rule = format!("{}: {}; {}", error.key, error.message, error.help);
        match rules.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, numbers)) => numbers.push((i + 1).to_string()),
            None => rules.push((rule, vec![(i + 1).to_string()])),
        }
    }
    rules.into_iter().map(|(rule, numbers)| format!("{}: {rule}", numbers.join(", "))).collect()
}

/// Figures side by side, as many as a line takes, in as many groups as that needs.
fn packed(rows: &[Row]) -> Vec<String> {
    let labels: Vec<String> = rows.iter().enumerate().map(|(i, row)| label(i, row)).collect();
    let shown: Vec<usize> = (0..METRICS.len()).filter(|m| !METRICS[*m].head.is_empty()).collect();
    let column = |m: usize| -> Vec<[String; 2]> {
        let base = rows[0].figures[m].as_ref();
        let cells = rows.iter().enumerate().map(|(i, row)| {
            if row.variant.refused.is_some() {
                return ["refused".into(), String::new()];
            }
            let [value, beside] = pair(row.figures[m].as_ref(), base, &METRICS[m]);
            [value, if i == 0 { String::new() } else { beside }]
        });
        [[METRICS[m].head.to_string(), String::new()]].into_iter().chain(cells).collect()
    };
    let width = |cells: &[[String; 2]], side: usize| cells.iter().map(|c| c[side].chars().count()).max().unwrap_or(0);
    let indent = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut groups: Vec<Vec<Vec<[String; 2]>>> = vec![Vec::new()];
    let mut used = indent;
    for m in shown {
        let cells = column(m);
        let own = width(&cells, 0) + width(&cells, 1) + if width(&cells, 1) > 0 { 4 } else { 2 };
        if used + own > layout::WIDTH && groups.last().is_some_and(|group| !group.is_empty()) {
            groups.push(Vec::new());
            used = indent;
        }
        used += own;
        groups.last_mut().expect("never empty").push(cells);
    }
    let text = |group: Vec<Vec<[String; 2]>>| {
        let mut lines: Vec<Vec<String>> =
            std::iter::once("variant".to_string()).chain(labels.clone()).map(|label| vec![label]).collect();
        for column in group {
            let ratios = width(&column, 1) > 0;
            for (line, [value, beside]) in lines.iter_mut().zip(column) {
                line.push(value);
                if ratios {
                    line.push(beside);
                }
            }
        }
        let mut out = String::new();
        layout::grid(&mut out, &lines, false);
        out
    };
    groups.into_iter().map(text).collect()
}

/// Standard deviations over seeds of the figures shown.
fn deviations(rows: &[Row]) -> Vec<Vec<String>> {
    const SHOWN: [&str; 5] = ["read_mean_ns", "write_mean_ns", "read_max_ns", "write_max_ns", "write_amplification"];
    const HEADS: [&str; 5] = ["read mean", "write mean", "read max", "write max", "WAF"];
    let mut lines = vec![["standard deviation"].iter().chain(&HEADS).map(ToString::to_string).collect::<Vec<_>>()];
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.variant.refused.is_none()) {
        let mut line = vec![label(i, row)];
        for key in SHOWN {
            let m = METRICS.iter().position(|metric| metric.key == key).expect("a metric");
            let figure = row.figures[m].as_ref();
            let text = figure.and_then(|f| f.deviation).map_or("-".into(), |value| cell(METRICS[m].unit, value));
            line.push(text);
        }
        lines.push(line);
    }
    lines
}

/// What makes figures hard to compare, with the variants that it holds of.
fn cautions(rows: &[Row]) -> Vec<String> {
    type Holds<'h> = &'h dyn Fn(&Summary) -> bool;
    let of = |holds: Holds| -> String {
        let numbers = rows.iter().enumerate().filter(|(_, row)| row.outcomes.iter().any(|o| holds(&o.summary)));
        numbers.map(|(i, _)| (i + 1).to_string()).collect::<Vec<_>>().join(", ")
    };
    let table: [(Holds, &str); 3] = [
        (
            &table::overloaded,
            "overloaded: most time is spent outside, waiting for a place, so latency grows with the run",
        ),
        (&|s| s.write_amplification_halves.as_ref().is_some_and(|h| !h.steady), "write amplification is not steady"),
        (&|s| s.gc.collections == 0 && s.pages.written > 0, "GC did not run"),
    ];
    let mut out: Vec<String> = table
        .iter()
        .map(|(holds, text)| (of(holds), text))
        .filter(|(numbers, _)| !numbers.is_empty())
        .map(|(numbers, text)| format!("{numbers}: {text}"))
        .collect();
    let alike = |a: &Row, b: &Row| {
        let pairs = a.outcomes.iter().zip(&b.outcomes);
        a.outcomes.is_empty()
            || b.outcomes.is_empty()
            || pairs.into_iter().all(|(a, b)| a.summary.trace_digest == b.summary.trace_digest)
    };
    let differ: Vec<String> =
        (1..rows.len()).filter(|i| !alike(&rows[0], &rows[*i])).map(|i| (i + 1).to_string()).collect();
    if !differ.is_empty() {
        out.push(format!(
            "{}: the requests are not those of variant 1: devices of another size or depth",
            differ.join(", ")
        ));
    }
    out
}

/// What readers had to say, each remark once.
fn remarks(rows: &[Row]) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for remark in rows.iter().flat_map(|row| &row.outcomes).flat_map(|outcome| &outcome.remarks) {
        if !remarks.contains(remark) {
            remarks.push(remark.clone());
        }
    }
    remarks
}

/// One table of all shown figures.
fn markdown(rows: &[Row], repeat: u64) -> String {
    let escape = |text: &str| text.replace('|', "\\|");
    let shown: Vec<usize> = (0..METRICS.len()).filter(|m| !METRICS[*m].head.is_empty()).collect();
    let heads: Vec<&str> = shown.iter().map(|m| METRICS[*m].head).collect();
    let mut out = format!("| variant | {} |\n| --- |{}\n", heads.join(" | "), " ---: |".repeat(heads.len()));
    for (i, row) in rows.iter().enumerate() {
        let cells = shown.iter().map(|m| {
            if row.variant.refused.is_some() {
                return "refused".to_string();
            }
            let [value, beside] = pair(row.figures[*m].as_ref(), rows[0].figures[*m].as_ref(), &METRICS[*m]);
            if i == 0 || beside.is_empty() { value } else { format!("{value}, {beside}") }
        });
        let cells: Vec<String> = cells.collect();
        out.push_str(&format!("| {} | {} |\n", escape(&row.name), cells.join(" | ")));
    }
    let mut notes = refusals(rows);
    notes.extend(cautions(rows));
    if repeat > 1 {
        notes.push(format!("means over {repeat} seeds; ± half of the 95 % confidence interval of the paired difference; in parentheses: noise"));
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    notes.iter().for_each(|note| out.push_str(&format!("- {}\n", escape(note))));
    out
}

/// Columns of CSV and Parquet: the variant, then each figure with its ratio, and its spread where there is one.
fn columns(axes: &[Axis], repeat: u64) -> Vec<(String, Kind)> {
    let mut columns = vec![("variant".to_string(), Kind::Number)];
    columns.extend(axes.iter().map(|axis| (plain(&axis.key), Kind::Text)));
    columns.extend(["config_digest", "refused"].map(|name| (name.to_string(), Kind::Text)));
    for metric in METRICS {
        columns.push((metric.key.into(), Kind::Real));
        columns.push((format!("{}_ratio", metric.key), Kind::Real));
        if repeat > 1 {
            columns.push((format!("{}_deviation", metric.key), Kind::Real));
            columns.push((format!("{}_difference", metric.key), Kind::Real));
            columns.push((format!("{}_half_width", metric.key), Kind::Real));
        }
    }
    columns
}

/// A key as the name of a column: Parquet takes letters, digits and underlines everywhere.
fn plain(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A text or a number of a row.
enum Entry {
    Number(u64),
    Text(String),
    Real(Option<f64>),
}

impl Entry {
    fn cell(&self) -> Cell<'_> {
        match self {
            Entry::Number(value) => Cell::Number(*value),
            Entry::Text(text) => Cell::Text(text),
            Entry::Real(value) => Cell::Real(*value),
        }
    }
}

fn entries(number: usize, row: &Row, repeat: u64) -> Vec<Entry> {
    let mut entries = vec![Entry::Number(number as u64 + 1)];
    entries.extend(row.variant.values.iter().cloned().map(Entry::Text));
    entries.push(Entry::Text(row.variant.settings.digest()));
    entries.push(Entry::Text(row.variant.refused.as_ref().map_or(String::new(), ToString::to_string)));
    for figure in &row.figures {
        let figure = figure.as_ref();
        entries.push(Entry::Real(figure.map(|f| f.mean)));
        entries.push(Entry::Real(figure.and_then(|f| f.ratio)));
        if repeat > 1 {
            entries.push(Entry::Real(figure.and_then(|f| f.deviation)));
            entries.push(Entry::Real(figure.map(|f| f.difference)));
            entries.push(Entry::Real(figure.and_then(|f| f.half_width)));
        }
    }
    entries
}

fn sheet(path: &Path, axes: &[Axis], repeat: u64) -> Result<Sheet> {
    let columns = columns(axes, repeat);
    let columns: Vec<(&str, Kind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    Sheet::create("--rows", path, &columns)
}

fn csv(axes: &[Axis], rows: &[Row], repeat: u64) -> String {
    let names: Vec<String> = columns(axes, repeat).into_iter().map(|(name, _)| name).collect();
    let mut out = names.join(",") + "\n";
    for (number, row) in rows.iter().enumerate() {
        let cells = entries(number, row, repeat).into_iter().map(|entry| match entry {
            Entry::Number(value) => value.to_string(),
            Entry::Text(text) => quoted(&text),
            Entry::Real(value) => value.map_or(String::new(), |value| value.to_string()),
        });
        out.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
    }
    out
}

/// Everything, for programs.
fn to_json(args: &CompareArgs, axes: &[Axis], rows: &[Row]) -> Json {
    let figure = |figure: &Figure| {
        let mut entry = json!({ "mean": figure.mean, "ratio": figure.ratio, "verdict": figure.verdict() });
        if args.repeat > 1 {
            let (low, high) = match figure.half_width {
                Some(half) => (Some(figure.difference - half), Some(figure.difference + half)),
                None => (None, None),
            };
            entry["deviation"] = json!(figure.deviation);
            entry["difference"] = json!({ "mean": figure.difference, "low": low, "high": high });
            entry["values"] = json!(figure.values);
        }
        entry
    };
    let variant = |(number, row): (usize, &Row)| {
        let set: Map<String, Json> =
            axes.iter().zip(&row.variant.values).map(|(axis, value)| (axis.key.clone(), json!(value))).collect();
        let mut entry = json!({ "variant": number + 1, "set": set, "config_digest": row.variant.settings.digest() });
        if let Some(error) = &row.variant.refused {
            entry["refused"] = json!({ "key": error.key, "rule": error.message, "help": error.help });
            return entry;
        }
        entry["trace_digests"] = row.outcomes.iter().map(|o| json!(o.summary.trace_digest)).collect();
        let figures: Map<String, Json> = METRICS
            .iter()
            .zip(&row.figures)
            .map(|(metric, value)| (metric.key.to_string(), value.as_ref().map_or(Json::Null, figure)))
            .collect();
        entry["figures"] = Json::Object(figures);
        entry
    };
    json!({
        "schema": "ssdlab.compare/1",
        "version": env!("CARGO_PKG_VERSION"),
        "workload": rows[0].outcomes[0].workload,
        "seeds": { "first": args.how.seed, "count": args.repeat },
        "varied": axes.iter().map(|axis| json!({ "key": axis.key, "values": axis.values })).collect::<Vec<_>>(),
        "cautions": cautions(rows),
        "variants": rows.iter().enumerate().map(variant).collect::<Vec<_>>(),
    })
}

/// Its name is a number and a seed, never a value.
fn summary_name(variant: usize, seed: u64) -> String {
    format!("{variant}-{seed}.json")
}

/// A file a run.
fn summaries(directory: &Path, rows: &[Row]) -> Result<Vec<Finished>> {
    let mut finished = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for outcome in &row.outcomes {
            let path = directory.join(summary_name(number + 1, outcome.summary.seed));
            let mut text = serde_json::to_string_pretty(&outcome.summary).expect("a summary is plain data");
            text.push('\n');
            let mut file = Output::create(&path)?;
            file.put(text.as_bytes())?;
            finished.push(file.finish()?);
        }
    }
    Ok(finished)
}
