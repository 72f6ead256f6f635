//! Variants beside the first one.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Source, Table, Unit};

use crate::analysis::unity;
use crate::charts::parts::Wanted;
use crate::inputs::Inputs;
use ssdlab_lab::text::plural;
use ssdlab_lab::variants::figures::{Effect, Figure as Measured, METRICS, Metric, best, of_json};
use ssdlab_lab::variants::text::{beside, cell, factor, legend, own_interval, tests};

type Points = Vec<Vec<f64>>;

/// Most variants that are drawn; the table has all.
const MOST_VARIANTS: usize = 16;

/// Names of the measures of a comparison.
pub(super) fn measures(inputs: &Inputs) -> Vec<String> {
    let figures = inputs.compare.as_ref().and_then(|value| value.pointer("/variants/0/figures"));
    figures.and_then(Value::as_object).map_or(Vec::new(), |figures| figures.keys().cloned().collect())
}

fn name(variant: &Value) -> String {
    let number = &variant["variant"];
    let set = variant["set"].as_object().map_or(Vec::new(), |set| {
        set.values().map(|value| value.as_str().unwrap_or_default().trim_matches('"').to_string()).collect()
    });
    if set.is_empty() { format!("{number}  as given") } else { format!("{number}  {}", set.join(", ")) }
}

/// Places of the measures of the printed table.
fn printed() -> Vec<usize> {
    (0..METRICS.len()).filter(|place| !METRICS[*place].head.is_empty()).collect()
}

/// Verdicts in the order of the legend: their styles, and their names there.
const VERDICTS: [(Effect, &str, &str); 4] = [
    (Effect::Lower, "lower", "lower"),
    (Effect::Higher, "higher", "higher"),
    (Effect::NotShown, "open", "~ no difference shown: the interval includes 1"),
    (Effect::Same, "same", "the same"),
];

fn word(verdict: Effect) -> Cell {
    serde_json::to_value(verdict).ok().and_then(|word| word.as_str().map(Cell::from)).unwrap_or(Cell::Null)
}

/// A row of the figure's table.
fn table_row(variant: &Value, name: &str, metric: &Metric, figure: &Measured) -> Vec<Cell> {
    let (low, high) = figure.interval.unzip();
    let first = [variant["variant"].as_u64().unwrap_or(0).into(), name.into(), metric.key.into()];
    let then = [Some(figure.mean), figure.ratio, low, high].map(Cell::from);
    let last = [word(figure.verdict()), figure.chance.into(), figure.discovery.into()];
    first.into_iter().chain(then).chain(last).collect()
}

/// A variant: a row a measure that has a ratio, with its interval.
fn panel(name: String, measured: &[(&Metric, &Measured)]) -> Panel {
    let mut rows: Vec<String> = Vec::new();
    let mut drawn: [(Points, Points); VERDICTS.len()] = Default::default();
    let mut labels = Series { mark: Mark::Text, ..Series::default() };
    for (metric, figure) in measured {
        let Some(ratio) = figure.ratio else { continue };
        let (verdict, row) = (figure.verdict(), rows.len() as f64);
        let head = if metric.head.is_empty() { metric.key } else { metric.head };
        rows.push(format!("{head}: {}", cell(metric.unit, figure.mean)));
        if let Some(place) = VERDICTS.iter().position(|(of, ..)| *of == verdict) {
            let (points, intervals) = &mut drawn[place];
            points.push(vec![ratio, row]);
            intervals.extend(figure.interval.map(|(low, high)| vec![row, low, high]));
        }
        labels.points.push(vec![figure.interval.map_or(ratio, |(_, high)| high.max(ratio)), row]);
        let mark = if figure.stands() { "*" } else { "" };
        let open = if verdict == Effect::NotShown { "~" } else { "" };
        labels.labels.push(format!("{open}{}x{mark}", factor(ratio)));
    }
    let mut series = vec![unity(rows.len())];
    for ((points, intervals), (_, style, name)) in drawn.into_iter().zip(VERDICTS) {
        if !intervals.is_empty() {
            let line = Series::new(style, Mark::Interval, intervals);
            series.push(Series { width: Some(0.14), name: String::new(), ..line });
        }
        if !points.is_empty() {
            series.push(Series { name: name.into(), ..Series::new(style, Mark::Point, points) });
        }
    }
    series.push(labels);
    let x = Axis::new("ratio to variant 1", Unit::One, Scale::Linear);
    Panel { title: name, x, y: Axis::bands("", rows), series }
}

pub(super) fn compare(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Ratio to the first variant";
    let Some(value) = &inputs.compare else { return Figure::empty("compare", title, "There is no comparison.") };
    let variants = value["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let places = match &wanted.measure {
        Some(measure) => {
            let wanted = Metric::named(measure).map(|metric| metric.key);
            (0..METRICS.len()).filter(|place| Some(METRICS[*place].key) == wanted).collect()
        }
        None => printed(),
    };
    let by_variant = of_json(value);
    let mut table = Table::new(&["variant", "name", "measure", "mean", "ratio", "low", "high", "verdict", "p", "q"]);
    let (mut panels, mut compared) = (Vec::new(), Vec::new());
    for (number, (variant, figures)) in variants.iter().zip(&by_variant).enumerate() {
        let name = name(variant);
        let of = |place: &usize| figures[*place].as_ref().map(|figure| (&METRICS[*place], figure));
        let measured: Vec<(&Metric, &Measured)> = places.iter().filter_map(of).collect();
        table.rows.extend(measured.iter().map(|(metric, figure)| table_row(variant, &name, metric, figure)));
        if number == 0 || !measured.iter().any(|(_, figure)| figure.ratio.is_some()) {
            continue;
        }
        compared.extend(measured.iter().map(|(_, figure)| *figure));
        if panels.len() < MOST_VARIANTS {
            panels.push(panel(name, &measured));
        }
    }
    let cut = set_scale(&mut panels, &compared);
    let source = Source {
        trace_digest: value.pointer("/variants/0/trace_digests/0").and_then(Value::as_str).map(String::from),
        config_digest: value.pointer("/variants/0/config_digest").and_then(Value::as_str).map(String::from),
        seed: value.pointer("/seeds/first").and_then(Value::as_u64),
        version: value["version"].as_str().map(String::from),
    };
    let mut figure = Figure { id: "compare".into(), title: title.into(), table, source, ..Figure::default() };
    if panels.is_empty() {
        figure.empty = Some("There is no other variant with a number to compare.".into());
    }
    figure.panels = panels;
    (figure.caption, figure.notes) = said(value, &compared);
    if cut {
        figure.notes.push("What lies beyond the axis ends at its edge; the table has every value.".into());
    }
    if variants.len() > MOST_VARIANTS + 1 {
        figure
            .notes
            .push(format!("The first {MOST_VARIANTS} variants are drawn; the table has all {}.", variants.len()));
    }
    figure
}

/// The caption, and how to read it.
fn said(value: &Value, compared: &[&Measured]) -> (String, Vec<String>) {
    let seeds = value.pointer("/seeds/count").and_then(Value::as_u64).unwrap_or(1);
    let all = compared.iter().filter(|figure| figure.ratio.is_some()).count() as u64;
    if seeds == 1 {
        let ratios = plural(all, "ratio");
        return (
            format!(
                "{ratios} from one seed each: without intervals, no difference can be told from chance (--repeat)."
            ),
            Vec::new(),
        );
    }
    let caption = match tests(compared.iter().copied()) {
        Some(tested) => format!("{tested}."),
        // A measure that no table shows.
        None => format!("{} over {seeds} seeds, with their 95 % intervals.", plural(all, "ratio")),
    };
    (caption, vec![format!("{}.", legend(compared.iter().copied()))])
}

/// Gives all panels one scale. Returns whether something lies beyond it.
fn set_scale(panels: &mut [Panel], compared: &[&Measured]) -> bool {
    let ratios = || compared.iter().filter_map(|figure| figure.ratio).filter(|ratio| *ratio > 0.0);
    let (least, most) = (ratios().fold(1.0, f64::min), ratios().fold(1.0, f64::max));
    // A ratio of a tenth and one of ten are as far from 1; small differences are linear.
    let scale = if least > 0.5 && most < 2.0 { Scale::Linear } else { Scale::Log };
    let pad = (most - least).max(0.02);
    let range = match scale {
        Scale::Log => [least * 0.5, most * 3.0],
        _ => [least - pad * 0.4, most + pad * 0.6],
    };
    let mut cut = false;
    for panel in panels {
        panel.x.scale = scale;
        panel.x.range = Some(range);
        let mut inside = |value: &mut f64| {
            cut |= *value < range[0] || *value > range[1];
            *value = value.clamp(range[0], range[1]);
        };
        for series in &mut panel.series {
            match series.mark {
                Mark::Interval => series.points.iter_mut().flat_map(|point| &mut point[1..]).for_each(&mut inside),
                _ => series.points.iter_mut().for_each(|point| inside(&mut point[0])),
            }
        }
    }
    cut
}

/// The table that `ssdlab compare` prints: variants, and for each measure its mean and what it is of the first one's, with intervals
/// and marks as there.
pub fn comparison_table(compare: &Value) -> Table {
    let (mut table, figures) = (Table { columns: vec!["variant".into()], rows: Vec::new() }, of_json(compare));
    let variants = compare["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let ends = |variant: &Value| !variant["figures"]["tbw_bytes"].is_null();
    let wears = variants.iter().any(ends);
    let told: Vec<usize> = printed().into_iter().filter(|place| METRICS[*place].is_told(wears)).collect();
    table.columns.extend(told.iter().map(|place| METRICS[*place].head.to_string()));
    let columns: Vec<Vec<String>> = told.iter().map(|place| column(*place, &figures)).collect();
    for (i, variant) in variants.iter().enumerate() {
        let mut row = vec![Cell::Text(name(variant))];
        match variant.pointer("/refused/rule").and_then(Value::as_str) {
            Some(rule) => row.push(Cell::Text(format!("refused: {rule}"))),
            None => row.extend(columns.iter().map(|cells| Cell::Text(cells[i].clone()))),
        }
        row.resize(table.columns.len(), Cell::Null);
        table.rows.push(row);
    }
    table
}

/// How to read that table, and how many differences it tests; nothing for one seed.
pub fn comparison_notes(compare: &Value) -> Vec<String> {
    let all = of_json(compare);
    let shown = || all.iter().flat_map(|figures| printed().into_iter().filter_map(|place| figures[place].as_ref()));
    let tested = tests(shown());
    tested.map_or(Vec::new(), |tested| vec![format!("{tested}."), format!("{}.", legend(shown()))])
}

/// A measure of all variants.
fn column(place: usize, by_variant: &[Vec<Option<Measured>>]) -> Vec<String> {
    let unit = METRICS[place].unit;
    let figures: Vec<Option<&Measured>> = by_variant.iter().map(|figures| figures[place].as_ref()).collect();
    let means: Vec<Option<(f64, Effect)>> =
        figures.iter().map(|figure| figure.map(|figure| (figure.mean, figure.verdict()))).collect();
    let best = best(unit, &means);
    let told = |(i, figure): (usize, &Option<&Measured>)| {
        let Some(figure) = figure else { return "-".to_string() };
        let beside = if i == 0 { own_interval(figure, unit) } else { beside(figure) };
        let mark = if best.contains(&i) { "best" } else { "" };
        [cell(unit, figure.mean).as_str(), &beside, mark]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    figures.iter().enumerate().map(told).collect()
}
