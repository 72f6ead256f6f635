//! The tables of a fleet: one row a group, and one row for each of its slowest requests.

use serde_json::Value as Json;

use crate::fleet::reduce::{Group, Name, Proportion, QUANTILES};
use crate::fleet::{By, Fleet};
use crate::merge::slowest::causes;
use crate::plan::words_of;
use crate::points::Points;
use ssdlab_lab::error::Result;
use ssdlab_lab::results::sheet::{Cell, CellKind, Ended, Place, Sheet};

const FIGURES: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];
const OPS: [&str; 3] = ["read", "write", "all"];
/// Sums, with their columns.
const SUMS: [(&str, &str); 4] = [
    ("requests_read", "requests.read"),
    ("requests_write", "requests.write"),
    ("pages_read", "pages.read"),
    ("pages_written", "pages.written"),
];
const RESOURCES: [&str; 2] = ["die", "channel"];

/// The columns that name a group: what it is grouped by, and the axes of its variant.
fn named(fleet: &Fleet, points: &Points) -> Vec<(String, CellKind)> {
    let mut columns = Vec::new();
    for by in &fleet.reduce.by {
        match by {
            By::Variant => {
                columns.push(("variant".into(), CellKind::Text));
                columns.extend(points.study.axes[1..].iter().map(|axis| (axis.label.clone(), CellKind::Text)));
            }
            By::Class => columns.push(("class".into(), CellKind::MaybeText)),
            By::Volume => columns.push(("volume".into(), CellKind::Text)),
        }
    }
    columns
}

/// The names of a group, as many as [`named`] has columns.
fn names(fleet: &Fleet, points: &Points, group: &Group) -> Vec<Option<String>> {
    let point = &points.points[group.point];
    let mut names = Vec::new();
    for name in &group.names {
        match name {
            Name::Variant(_) => {
                names.push(Some(words_of(&points.study.axes[1..], &point.items[1..])));
                names.extend(point.items[1..].iter().map(|item| Some(item.shown.text())));
            }
            Name::Class(class) => names.push(class.clone()),
            Name::Volume(volume) => names.push(fleet.volumes.get(*volume).map(|volume| volume.name.clone())),
        }
    }
    names
}

fn cells<'n>(columns: &[(String, CellKind)], names: &'n [Option<String>]) -> Vec<Cell<'n>> {
    let cell = |((_, kind), name): (&(String, CellKind), &'n Option<String>)| match kind {
        CellKind::MaybeText => Cell::MaybeText(name.as_deref()),
        _ => Cell::Text(name.as_deref().unwrap_or_default()),
    };
    columns.iter().zip(names).map(cell).collect()
}

/// Writes one row a group.
///
/// # Errors
/// As [`Sheet::begin`] and [`Sheet::row`].
pub fn write(fleet: &Fleet, points: &Points, groups: &[Group], place: &Place) -> Result<Ended> {
    let named = named(fleet, points);
    let mut columns = named.clone();
    let counts = ["volumes", "runs", "done", "refused", "failed", "left"];
    columns.extend(counts.map(|name| (name.into(), CellKind::Number)));
    columns.extend(SUMS.map(|(name, _)| (name.into(), CellKind::Maybe)));
    for op in OPS {
        let kind = |figure: &str| if figure == "mean" { CellKind::Real } else { CellKind::Maybe };
        columns.extend(FIGURES.map(|figure| (format!("latency_ns.{op}.{figure}"), kind(figure))));
    }
    columns.extend(OPS.map(|op| (format!("waiting_ns.{op}.mean"), CellKind::Real)));
    columns.extend(["write_amplification", "write_amplification_bytes"].map(|name| (name.into(), CellKind::Real)));
    columns.extend(RESOURCES.map(|name| (format!("utilisation.{name}"), CellKind::Real)));
    for measure in &fleet.reduce.measures {
        columns.extend(QUANTILES.map(|(quantile, _)| (format!("volumes.{measure}.{quantile}"), CellKind::Real)));
    }
    for measure in &fleet.reduce.measures {
        columns.extend(["", ".low", ".high"].map(|end| (format!("better.{measure}{end}"), CellKind::Real)));
        columns.push((format!("better.{measure}.volumes"), CellKind::Maybe));
    }
    let list: Vec<(&str, CellKind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let mut sheet = Sheet::begin("-o", place, &list)?;
    for group in groups {
        let names = names(fleet, points, group);
        sheet.row(cells(&named, &names).into_iter().chain(figures(group)))?;
    }
    sheet.finish()
}

fn figures(group: &Group) -> Vec<Cell<'_>> {
    let counts = group.counts;
    let runs = counts.done + counts.refused + counts.failed + counts.left;
    let counts = [group.volumes, runs, counts.done, counts.refused, counts.failed, counts.left];
    let mut cells: Vec<Cell<'_>> = counts.map(Cell::Number).into();
    let sum = |path: &str| group.sums.get(path).and_then(|sum| u64::try_from(*sum).ok());
    cells.extend(SUMS.map(|(_, path)| Cell::Maybe(sum(path))));
    let [latency, waiting] = &group.figures;
    for op in OPS {
        let figure = |name: &str| match &latency[op][name] {
            Json::Number(number) if name != "mean" => Cell::Maybe(number.as_u64()),
            value if name == "mean" => Cell::Real(value.as_f64()),
            _ => Cell::Maybe(None),
        };
        cells.extend(FIGURES.map(figure));
    }
    cells.extend(OPS.map(|op| Cell::Real(waiting[op]["mean"].as_f64())));
    cells.extend([group.write_amplification, group.write_amplification_bytes].map(Cell::Real));
    cells.extend(RESOURCES.map(|name| Cell::Real(group.utilisation.get(name).copied())));
    cells.extend(group.quantiles.iter().flatten().map(|value| Cell::Real(*value)));
    for better in &group.better {
        let of = |part: fn(&Proportion) -> f64| Cell::Real(better.as_ref().map(part));
        cells.extend([of(|share| share.share), of(|share| share.low), of(|share| share.high)]);
        cells.push(Cell::Maybe(better.map(|share| share.of)));
    }
    cells
}

/// Writes one row for each of the slowest requests of each group.
///
/// # Errors
/// As [`Sheet::begin`] and [`Sheet::row`].
pub fn slowest(fleet: &Fleet, points: &Points, groups: &[Group], place: &Place) -> Result<Ended> {
    let mut named = named(fleet, points);
    // Each request has its volume anyway.
    let own = named.iter().position(|(name, _)| name == "volume");
    own.iter().for_each(|at| drop(named.remove(*at)));
    let mut columns = named.clone();
    let fixed = [
        ("rank", CellKind::Number),
        ("volume", CellKind::Text),
        ("request", CellKind::Number),
        ("op", CellKind::Text),
        ("arrival_ns", CellKind::Number),
        ("offset", CellKind::Number),
        ("bytes", CellKind::Number),
        ("latency_ns", CellKind::Number),
    ];
    columns.extend(fixed.map(|(name, kind)| (name.into(), kind)));
    columns.extend(causes().map(|name| (name.into(), CellKind::Number)));
    let list: Vec<(&str, CellKind)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let mut sheet = Sheet::begin("--slowest", place, &list)?;
    for group in groups {
        let mut names = names(fleet, points, group);
        own.iter().for_each(|at| drop(names.remove(*at)));
        for (rank, slow) in group.slowest.iter().enumerate() {
            let cells = cells(&named, &names);
            let fixed = [
                Cell::Number(rank as u64 + 1),
                Cell::Text(&slow.volume),
                Cell::Number(slow.request),
                Cell::Text(&slow.op),
                Cell::Number(slow.arrival_ns),
                Cell::Number(slow.offset),
                Cell::Number(slow.bytes),
                Cell::Number(slow.latency_ns.0),
            ];
            let spent = |name: &str| slow.causes.iter().find(|(cause, _)| cause == name).map_or(0, |(_, ns)| *ns);
            let causes = causes().map(|name| Cell::Number(spent(name)));
            sheet.row(cells.into_iter().chain(fixed).chain(causes))?;
        }
    }
    sheet.finish()
}
