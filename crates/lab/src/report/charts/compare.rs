//! Variants beside the first one.

use serde_json::Value;
use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Source, Table, Unit};

use crate::report::charts::parts::Wanted;
use crate::report::inputs::Inputs;
use crate::report::json::{number, text};
use crate::text::{count, duration, rate};
use crate::variants::figures::{METRICS, Metric, Unit as Of, Verdict, best};
use crate::variants::student::half_width;

/// Points of a series.
type Points = Vec<Vec<f64>>;

/// Most variants that are drawn; the table has all.
const MOST_VARIANTS: usize = 16;

/// Names of the measures of a comparison.
pub(super) fn measures(inputs: &Inputs) -> Vec<String> {
    let figures = inputs.compare.as_ref().and_then(|value| value.pointer("/variants/0/figures"));
    figures.and_then(Value::as_object).map_or(Vec::new(), |figures| figures.keys().cloned().collect())
}

/// A variant in a few words.
fn name(variant: &Value) -> String {
    let number = &variant["variant"];
    let set = variant["set"].as_object().map_or(Vec::new(), |set| {
        set.values().map(|value| value.as_str().unwrap_or_default().trim_matches('"').to_string()).collect()
    });
    if set.is_empty() { format!("{number}  as given") } else { format!("{number}  {}", set.join(", ")) }
}

fn shown(unit: Of, value: f64) -> String {
    match unit {
        Of::Time => duration(value),
        Of::Count => count(value.max(0.0).round() as u64),
        Of::Rate => rate(value),
        Of::Megabytes => format!("{} MB/s", rate(value / 1e6)),
        Of::Factor => format!("{value:.3}"),
    }
}

/// The measures of the printed table.
fn printed() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| !metric.head.is_empty())
}

/// A ratio with its interval: what the difference's interval is of the first variant's mean.
fn interval(figure: &Value, base: f64) -> Option<(f64, f64, f64)> {
    let ratio = number(figure, "/ratio")?;
    let bound = |end: &str| number(figure, &format!("/difference/{end}")).map(|ns| 1.0 + ns / base);
    let (low, high) = (bound("low").unwrap_or(ratio), bound("high").unwrap_or(ratio));
    Some((ratio, low.min(high), low.max(high)))
}

/// `compare`
pub(super) fn compare(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Ratio to the first variant";
    let Some(value) = &inputs.compare else { return Figure::empty("compare", title, "There is no comparison.") };
    let variants = value["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let several = value.pointer("/seeds/count").and_then(Value::as_u64).unwrap_or(1) > 1;
    let metrics: Vec<&Metric> = match &wanted.measure {
        Some(measure) => METRICS.iter().filter(|metric| metric.key == measure).collect(),
        None => printed().collect(),
    };
    let mut table = Table::new(&["variant", "name", "measure", "mean", "ratio", "low", "high", "verdict"]);
    let (mut panels, mut noise, mut all) = (Vec::new(), 0u64, 0u64);
    let (mut least, mut most) = (1.0f64, 1.0f64);
    for variant in variants {
        let name = name(variant);
        let mut rows: Vec<String> = Vec::new();
        let mut by_verdict: Vec<(&str, Points, Points)> =
            ["lower", "higher", "noise", "same"].map(|verdict| (verdict, Vec::new(), Vec::new())).to_vec();
        let mut words = Series { mark: Mark::Text, ..Series::default() };
        for metric in &metrics {
            let figure = &variant["figures"][metric.key];
            let Some(mean) = number(figure, "/mean") else { continue };
            let base = number(value, &format!("/variants/0/figures/{}/mean", metric.key)).unwrap_or(0.0);
            let verdict = text(figure, "/verdict");
            let found = interval(figure, base);
            let part = |of: fn((f64, f64, f64)) -> f64| Cell::from(found.map(of));
            table.rows.push(vec![
                variant["variant"].as_u64().unwrap_or(0).into(),
                name.as_str().into(),
                metric.key.into(),
                Cell::Real(mean),
                part(|(ratio, _, _)| ratio),
                part(|(_, low, _)| low),
                part(|(_, _, high)| high),
                verdict.into(),
            ]);
            let Some((ratio, low, high)) = found else { continue };
            let row = rows.len() as f64;
            let head = if metric.head.is_empty() { metric.key } else { metric.head };
            rows.push(format!("{head}: {}", shown(metric.unit, mean)));
            if variant["variant"] == 1 {
                continue;
            }
            all += 1;
            noise += u64::from(verdict == "noise");
            if ratio > 0.0 {
                (least, most) = (least.min(ratio), most.max(ratio));
            }
            if let Some((_, points, lines)) = by_verdict.iter_mut().find(|(known, _, _)| *known == verdict) {
                points.push(vec![ratio, row]);
                if several {
                    lines.push(vec![row, low, high]);
                }
            }
            words.points.push(vec![high.max(ratio), row]);
            words.labels.push(if verdict == "noise" { "noise".into() } else { format!("{ratio:.3}x") });
        }
        if variant["variant"] == 1 || rows.is_empty() || panels.len() == MOST_VARIANTS {
            continue;
        }
        let names = [
            ("lower", "lower"),
            ("higher", "higher"),
            ("noise", "noise: the interval includes 1"),
            ("same", "the same"),
        ];
        let mut series = vec![Series {
            style: "same".into(),
            points: vec![vec![1.0, -0.5], vec![1.0, rows.len() as f64 - 0.5]],
            ..Series::default()
        }];
        for ((verdict, points, lines), (_, name)) in by_verdict.into_iter().zip(names) {
            if !lines.is_empty() {
                series.push(Series { width: Some(0.14), ..Series::new(verdict, Mark::Interval, lines) });
                series.last_mut().expect("just added").name = String::new();
            }
            if !points.is_empty() {
                series.push(Series { name: name.into(), ..Series::new(verdict, Mark::Point, points) });
            }
        }
        series.push(words);
        let x = Axis::new("ratio to variant 1", Unit::One, Scale::Linear);
        panels.push(Panel { title: name, x, y: Axis::bands("", rows), series });
    }
    // A ratio of a tenth and one of ten are as far from 1; small differences are linear.
    let scale = if least > 0.5 && most < 2.0 { Scale::Linear } else { Scale::Log };
    let pad = (most - least).max(0.02);
    let range = match scale {
        Scale::Log => [least * 0.5, most * 3.0],
        _ => [least - pad * 0.4, most + pad * 0.6],
    };
    let mut cut = false;
    for panel in &mut panels {
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
    let seeds = value.pointer("/seeds/count").and_then(Value::as_u64).unwrap_or(1);
    figure.caption = if several {
        format!("{noise} of {all} differences are noise: their 95 % interval over {seeds} seeds includes 1.")
    } else {
        format!("{all} ratios from one seed each: without intervals, no difference can be told from noise (--repeat).")
    };
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

/// The table that `ssdlab compare` prints: variants, and for each measure its mean and what it is of the first one's, with intervals
/// and marks as there.
pub fn comparison_table(compare: &Value) -> Table {
    let mut table = Table { columns: vec!["variant".into()], rows: Vec::new() };
    table.columns.extend(printed().map(|metric| metric.head.to_string()));
    let variants = compare["variants"].as_array().map_or(&[][..], Vec::as_slice);
    let columns: Vec<Vec<String>> = printed().map(|metric| column(metric, variants)).collect();
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

/// A measure of all variants.
fn column(metric: &Metric, variants: &[Value]) -> Vec<String> {
    let figure = |variant: &Value| variant["figures"][metric.key].clone();
    let verdict = |figure: &Value| serde_json::from_value(figure["verdict"].clone()).unwrap_or(Verdict::Same);
    let means = variants.iter().map(figure).map(|figure| Some((number(&figure, "/mean")?, verdict(&figure))));
    let means: Vec<Option<(f64, Verdict)>> = means.collect();
    let best = best(metric.unit, &means);
    let base = means.first().copied().flatten().map_or(0.0, |(mean, _)| mean);
    let cell = |(i, variant): (usize, &Value)| {
        let Some((mean, verdict)) = means[i] else { return "-".to_string() };
        let mut parts = vec![shown(metric.unit, mean)];
        parts.extend(if i == 0 {
            own_interval(metric, &figure(variant))
        } else {
            beside(&figure(variant), base, verdict)
        });
        parts.extend(best.contains(&i).then(|| "best".to_string()));
        parts.join(" ")
    };
    variants.iter().enumerate().map(cell).collect()
}

/// Half the interval of the first variant's own mean.
fn own_interval(metric: &Metric, figure: &Value) -> Option<String> {
    let values: Vec<f64> = figure["values"].as_array()?.iter().filter_map(Value::as_f64).collect();
    let half = if values.len() > 1 { half_width(&values)? } else { return None };
    // Half of a count's interval is no count.
    Some(if metric.unit == Of::Count { format!("±{half:.1}") } else { format!("±{}", shown(metric.unit, half)) })
}

/// What a variant is of the first, with the interval of a difference that is significant.
fn beside(figure: &Value, base: f64, verdict: Verdict) -> Option<String> {
    let ratio = format!("{:.3}x", number(figure, "/ratio")?);
    let half = number(figure, "/difference/high").zip(number(figure, "/difference/mean"));
    Some(match (verdict, half) {
        (Verdict::Noise, _) => format!("({ratio}, noise)"),
        (Verdict::Same, _) | (_, None) => ratio,
        (_, Some((high, mean))) => format!("{ratio} ±{:.3}", (high - mean) / base.abs()),
    })
}
