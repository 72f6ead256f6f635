//! `ssdlab compare`: the same requests on several configurations, each variant next to the first.

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input;
use ssdlab_lab::output::Finished;
use ssdlab_lab::results::sheet::Ended;
use ssdlab_lab::text::clip_to;
use ssdlab_lab::variants::axes;
use ssdlab_lab::variants::comparison::{Comparison, Planned, Row, Seeds, can_be_read_again};
use ssdlab_lab::variants::figures::{self, Figure, METRICS, Unit};
use ssdlab_lab::variants::tenants;
use ssdlab_lab::variants::text::{self, beside, cell};
use ssdlab_report::inputs::Inputs;
use ssdlab_sim::report::failure::Failed;
use ssdlab_sim::report::power::PowerCut;

use crate::args::{CompareArgs, needed};
use crate::import;
use crate::output;
use crate::progress::Board;
use crate::report::Begun;
use crate::table;
use ssdlab_lab::layout;

/// How results are printed.
#[derive(Clone, Copy)]
pub struct Tables {
    /// As text.
    pub text: fn(&CompareArgs, &Comparison) -> String,
    /// As Markdown.
    pub markdown: fn(&Comparison) -> String,
}

/// Compares and prints.
pub fn compare(args: &CompareArgs, line: &str) -> Result<()> {
    compare_as(args, line, Tables { text: render, markdown })
}

/// Compares and prints the results in the form of a command.
pub fn compare_as(args: &CompareArgs, line: &str, tables: Tables) -> Result<()> {
    let axes = axes::axes(&args.vary)?;
    if axes.is_empty() && args.repeat == 1 {
        return Err(Error::usage("nothing to compare")
            .help("give --vary KEY=V1,V2,..., or --repeat N for the spread over seeds of one configuration"));
    }
    let sources = args.config.sources()?;
    axes::agree(&axes, &sources)?;
    let requests = match &sources.imported {
        None => args.input.requests()?,
        imported => Some(import::requests(imported.as_ref(), &args.input, args.how.quiet)?),
    };
    requests.as_ref().map_or(Ok(()), can_be_read_again)?;
    let seeds = Seeds { first: args.how.seed, count: args.repeat };
    let planned = Planned::new(&sources, axes, seeds, args.max_points)?;
    let requests = args.until.of(needed(requests)?);
    let planned = planned.of(&requests);
    let mut files = Files::new();
    planned.read_by(&input::open(&requests)?, &mut files);
    files.write_all(&[
        ("--json", args.table.json_file()),
        ("--rows", args.rows.as_deref()),
        ("--report", args.report.report.as_deref()),
    ])?;
    if let Some(directory) = args.summaries.as_deref().filter(|directory| directory.is_dir()) {
        planned.summary_names().try_for_each(|name| files.writes("--summaries", &directory.join(name)))?;
    }
    let (to_stdout, json_file) = args.table.json_output()?;
    let page = Begun::create(&args.report, line)?;
    let sheet = args.rows.clone().map(|path| planned.sheet(&path.into())).transpose()?;
    if let Some(directory) = &args.summaries {
        std::fs::create_dir_all(directory).map_err(|error| Error::file("write", directory, &error))?;
    }

    let points = planned.points(&requests);
    let board = Board::new(points.len(), args.how.quiet);
    let done = planned.run(&points, &args.how.plan(), &board)?;
    drop(board);
    let mut finished = Vec::new();
    if let Some(directory) = &args.summaries {
        finished.extend(done.write_summaries(directory)?);
    }
    finished.extend(json_file.map(|file| file.complete(done.json().as_bytes())).transpose()?);
    if let Some(page) = page {
        let inputs = Inputs { compare: serde_json::from_str(&done.json()).ok(), ..Inputs::default() };
        finished.push(page.finish(&inputs, args.how.quiet)?);
    }
    let rows = sheet.map(|sheet| done.write(sheet)).transpose()?;
    if !args.how.quiet {
        done.remarks().iter().for_each(output::remark);
    }
    finished.into_iter().try_for_each(Finished::publish)?;
    rows.map_or(Ok(()), Ended::publish)?;
    if to_stdout {
        output::print(&done.json())
    } else if args.table.csv {
        output::print(&done.csv()?)
    } else if args.table.markdown {
        output::print(&(tables.markdown)(&done))
    } else {
        output::print(&(tables.text)(args, &done))
    }
}

/// The name as a label of a table.
fn label(number: usize, row: &Row) -> String {
    clip_to(&format!("{}  {}", number + 1, row.name), 34)
}

/// A measure of a variant: its value, what stands beside it, and whether it is among the best.
fn cells(rows: &[Row], i: usize, m: usize, best: &[usize]) -> [String; 3] {
    if rows[i].variant.refused.is_some() {
        return ["refused".into(), String::new(), String::new()];
    }
    let unit = METRICS[m].unit;
    let base = rows[0].figures[m].as_ref();
    let both = rows[i].figures[m].as_ref().filter(|_| base.is_some());
    let value = both.map_or("-".into(), |figure| cell(unit, figure.mean));
    let beside = match i {
        0 => base.map_or(String::new(), |figure| text::own_interval(figure, unit)),
        _ => both.map_or(String::new(), beside),
    };
    [value, beside, if best.contains(&i) { "best".into() } else { String::new() }]
}

/// How to read the intervals of all seeds, and how many differences were tested.
fn significance(rows: &[Row]) -> Vec<(&'static str, String)> {
    let shown = |row: &'_ Row| -> Vec<Figure> {
        let of = METRICS.iter().zip(&row.figures).filter(|(metric, _)| !metric.head.is_empty());
        of.filter_map(|(_, figure)| figure.clone()).collect()
    };
    let figures: Vec<Figure> = rows.iter().flat_map(shown).collect();
    let of_tenants =
        || rows.iter().flat_map(|row| &row.tenants).flat_map(|tenant| tenant.shown().filter_map(|(_, figure)| figure));
    let mut lines = vec![("intervals", text::legend(figures.iter().chain(of_tenants())))];
    lines.extend(text::tests(figures.iter()).map(|text| ("tests", text)));
    lines.extend(text::tests(of_tenants()).map(|text| ("tests by tenant", text)));
    lines
}

/// The device, the requests, and what varies.
pub fn lead(args: &CompareArgs, done: &Comparison, varied: &'static str) -> Vec<(&'static str, String)> {
    let Comparison { axes, seeds, rows, .. } = done;
    let first = &rows[0].outcomes[0];
    let preset = axes.iter().position(|axis| axis.key == "preset").map(|i| rows[0].variant.values[i].clone());
    let context = table::Context {
        workload: first.about.clone(),
        preset: preset.or(args.config.preset.clone()),
        capacity: first.capacity_bytes,
        ..table::Context::default()
    };
    let mut lines = table::device_lines(&first.summary, &context);
    lines.push(table::rules(&first.summary));
    for (i, axis) in axes.iter().enumerate() {
        let text = format!("{}: {}", axis.key, axis.values.join(" | "));
        lines.push((if i == 0 { varied } else { "" }, text));
    }
    if seeds.count > 1 {
        let text = format!("{} to {}: means over {} runs", seeds.first, seeds.last(), seeds.count);
        lines.push(("seeds", text));
    }
    lines
}

/// The table as text.
fn render(args: &CompareArgs, done: &Comparison) -> String {
    let Comparison { seeds, rows, .. } = done;
    let mut out = String::new();
    let mut lines = lead(args, done, "varied");
    if seeds.count > 1 {
        lines.extend(significance(rows));
    }
    layout::facts(&mut out, &lines);
    for group in packed(rows) {
        out.push('\n');
        out.push_str(&group);
    }
    let tenants = by_tenant(rows);
    if tenants.len() > 1 {
        out.push('\n');
        layout::grid(&mut out, &tenants, false);
    }
    if seeds.count > 1 {
        out.push('\n');
        layout::grid(&mut out, &deviations(rows), false);
    }
    let losses = losses(rows);
    if !losses.is_empty() {
        out.push('\n');
        layout::grid(&mut out, &losses, false);
    }
    let refusals = refusals(rows);
    let cautions = done.cautions();
    if !refusals.is_empty() || !cautions.is_empty() {
        out.push('\n');
    }
    let lines: Vec<(&str, String)> = refusals.into_iter().map(|text| ("refused", text)).collect();
    layout::facts(&mut out, &lines);
    let lines: Vec<(&str, String)> = cautions.iter().map(|caution| ("caution", caution.to_string())).collect();
    layout::facts(&mut out, &lines);
    out
}

/// Why variants were refused: each rule with the variants that break it.
pub fn refusals(rows: &[Row]) -> Vec<String> {
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

/// Places of the measures that tables show.
fn shown(rows: &[Row]) -> Vec<usize> {
    let wears = rows.iter().any(|row| row.variant.settings.config.life.exists());
    (0..METRICS.len()).filter(|m| !METRICS[*m].head.is_empty() && METRICS[*m].is_told(wears)).collect()
}

/// Figures side by side, in as many groups as the width of a line requires.
fn packed(rows: &[Row]) -> Vec<String> {
    let labels: Vec<String> = rows.iter().enumerate().map(|(i, row)| label(i, row)).collect();
    let shown = shown(rows);
    let column = |m: usize| -> Vec<[String; 2]> {
        let best = best(rows, m);
        let cells = (0..rows.len()).map(|i| {
            let [value, beside, mark] = cells(rows, i, m, &best);
            let gap = if beside.is_empty() || mark.is_empty() { "" } else { " " };
            [value, format!("{beside}{gap}{mark}")]
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
        if used + own > layout::width() && groups.last().is_some_and(|group| !group.is_empty()) {
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

/// A line by variant and tenant, beside the tenant of that name in the first variant.
fn by_tenant(rows: &[Row]) -> Vec<Vec<String>> {
    let heads = tenants::METRICS.iter().filter(|metric| !metric.head.is_empty());
    let heads = heads.flat_map(|metric| [metric.head.to_string(), String::new()]);
    let mut lines: Vec<Vec<String>> = vec![["variant".into(), "tenant".into()].into_iter().chain(heads).collect()];
    for (i, row) in rows.iter().enumerate() {
        for tenant in &row.tenants {
            let first = rows[0].tenants.iter().find(|first| first.name == tenant.name);
            let cells = tenant.shown().enumerate().flat_map(|(m, (metric, figure))| {
                let base = first.and_then(|first| first.shown().nth(m)?.1);
                match (figure, base) {
                    (Some(figure), Some(_)) if i == 0 => [cell(metric.unit, figure.mean), String::new()],
                    (Some(figure), Some(_)) => [cell(metric.unit, figure.mean), beside(figure)],
                    _ => ["-".into(), String::new()],
                }
            });
            lines.push([label(i, row), tenant.name.clone()].into_iter().chain(cells).collect());
        }
    }
    lines
}

/// The variants with the best mean of a measure, by their places.
fn best(rows: &[Row], m: usize) -> Vec<usize> {
    let figures = rows.iter().map(|row| row.figures[m].as_ref().map(|figure| (figure.mean, figure.verdict())));
    figures::best(METRICS[m].unit, &figures.collect::<Vec<_>>())
}

/// What power cuts and failed chips cost each variant, in the mean over seeds; nothing without faults.
fn losses(rows: &[Row]) -> Vec<Vec<String>> {
    let of = |row: &Row| -> Option<[f64; 4]> {
        let runs = row.outcomes.len() as f64;
        let summaries = || row.outcomes.iter().map(|outcome| &outcome.summary);
        summaries().any(|one| one.failures.is_some() || !one.power_cuts.is_empty()).then(|| {
            let cuts =
                |of: fn(&PowerCut) -> u64| summaries().flat_map(|one| one.power_cuts.iter().map(of)).sum::<u64>();
            let failed =
                |of: fn(&Failed) -> u64| summaries().filter_map(|one| one.failures.as_ref().map(of)).sum::<u64>();
            let totals = [
                cuts(|cut| cut.lost_pages) + failed(|failed| failed.lost_pages),
                cuts(|cut| cut.stale_pages),
                failed(|failed| failed.lost_reads + failed.lost_writes),
                cuts(|cut| cut.aborted_requests),
            ];
            totals.map(|total| total as f64 / runs)
        })
    };
    let heads = ["losses", "pages lost", "pages stale", "pages denied", "requests aborted"];
    let mut lines = vec![heads.map(String::from).to_vec()];
    for (i, row) in rows.iter().enumerate() {
        if let Some(totals) = of(row) {
            lines.push(std::iter::once(label(i, row)).chain(totals.map(|total| cell(Unit::Count, total))).collect());
        }
    }
    if lines.len() > 1 { lines } else { Vec::new() }
}

/// Standard deviations over seeds of the figures shown.
fn deviations(rows: &[Row]) -> Vec<Vec<String>> {
    const SHOWN: [&str; 5] =
        ["read_mean_ns", "write_mean_ns", "read_max_ns", "write_max_ns", "write_amplification_bytes"];
    const HEADS: [&str; 5] = ["read mean", "write mean", "read max", "write max", "write amplification"];
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

/// One table of all shown figures, as Markdown.
pub fn markdown(done: &Comparison) -> String {
    let rows = &done.rows;
    let escape = |text: &str| text.replace('|', "\\|");
    let shown = shown(rows);
    let heads: Vec<&str> = shown.iter().map(|m| METRICS[*m].head).collect();
    let mut out = format!("| variant | {} |\n| --- |{}\n", heads.join(" | "), " ---: |".repeat(heads.len()));
    for (i, row) in rows.iter().enumerate() {
        let cells = shown.iter().map(|m| {
            let parts = cells(rows, i, *m, &best(rows, *m));
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        });
        let cells: Vec<String> = cells.collect();
        out.push_str(&format!("| {} | {} |\n", escape(&row.name), cells.join(" | ")));
    }
    let tenants = by_tenant(rows);
    if tenants.len() > 1 {
        let line = |cells: &Vec<String>| {
            let pairs = cells[2..].chunks(2).map(|pair| pair.join(", ").trim_end_matches(", ").to_string());
            let cells: Vec<String> = cells[..2].iter().map(|name| escape(name)).chain(pairs).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        out.push('\n');
        out.push_str(&line(&tenants[0]));
        out.push_str(&format!("| --- | --- |{}\n", " ---: |".repeat(tenants[0].len() / 2 - 1)));
        tenants[1..].iter().for_each(|cells| out.push_str(&line(cells)));
    }
    let mut notes = refusals(rows);
    for line in losses(rows).iter().skip(1) {
        let heads = ["pages lost", "pages stale", "pages denied", "requests aborted"];
        let counts: Vec<String> = heads.iter().zip(&line[1..]).map(|(head, count)| format!("{count} {head}")).collect();
        notes.push(format!("{}: {}", line[0], counts.join(", ")));
    }
    notes.extend(done.cautions().iter().map(ToString::to_string));
    if done.seeds.count > 1 {
        let count = done.seeds.count;
        notes.push(format!("means over {count} seeds"));
        notes.extend(significance(rows).into_iter().map(|(_, text)| text));
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    notes.iter().for_each(|note| out.push_str(&format!("- {}\n", escape(note))));
    out
}
