//! The best points of a study. Requests are no choice of a designer: the best point is sought for each workload by itself, and the best
//! design over all of them by the geometric mean of its ratios to a baseline.

use std::collections::BTreeMap;

use ssdlab_figures::figure::{Cell, Table};

use crate::report::charts::sweep::{said, shown};
use crate::report::sweep::{Column, Point, Sweep};
use crate::variants::student::mean;
use crate::variants::told::factor;

/// Workloads with rows of their own.
const MOST_WORKLOADS: usize = 20;

/// Reasons to distrust several points.
fn cautions(sweep: &Sweep, places: &[usize]) -> String {
    let of = |holds: fn(&Point) -> bool| places.iter().filter(|place| holds(&sweep.points[**place])).count();
    let doubts = [(of(|point| point.overloaded), "overloaded"), (of(|point| point.unsteady), "not steady")];
    let told = doubts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{what} for {count} of {}", places.len())).collect::<Vec<_>>().join(", ")
}

/// Points by the values of some axes, in the order in which they first appear.
fn groups(sweep: &Sweep, axes: &[usize]) -> Vec<Vec<usize>> {
    let (mut numbers, mut groups): (BTreeMap<Vec<u32>, usize>, Vec<Vec<usize>>) = Default::default();
    for (place, point) in sweep.points.iter().enumerate() {
        let at = axes.iter().map(|axis| point.at[*axis]).collect();
        let number = *numbers.entry(at).or_insert(groups.len());
        groups.resize_with(groups.len().max(number + 1), Vec::new);
        groups[number].push(place);
    }
    groups
}

/// The best of some values: the least, or the largest where more is better.
fn best<T>(column: &Column, values: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    let better = |one: f64, other: f64| if column.measure.more { other > one } else { other < one };
    values.filter(|(_, value)| value.is_finite()).reduce(|one, other| if better(one.1, other.1) { other } else { one })
}

/// A design over all workloads: its points in their order, and the geometric mean of what they are of the baseline's.
struct Design {
    points: Vec<usize>,
    ratio: f64,
}

/// The designs that have the measure for every workload that the baseline has it for.
fn designs(sweep: &Sweep, column: &Column, workloads: &[usize]) -> Vec<Design> {
    let others: Vec<usize> = (0..sweep.axes.len()).filter(|axis| !workloads.contains(axis)).collect();
    let base = sweep.base_design();
    let is_base = |point: &Point| others.iter().all(|axis| point.at[*axis] == base[*axis]);
    let key = |point: &Point| -> Vec<u32> { workloads.iter().map(|axis| point.at[*axis]).collect() };
    let known = |place: &usize| column.logs[*place].is_finite();
    let bases: BTreeMap<Vec<u32>, f64> = (0..sweep.points.len())
        .filter(|place| is_base(&sweep.points[*place]) && known(place))
        .map(|place| (key(&sweep.points[place]), column.logs[place]))
        .collect();
    let design = |points: Vec<usize>| {
        let logs = points.iter().filter(|place| known(place));
        let logs: Vec<f64> =
            logs.filter_map(|place| Some(column.logs[*place] - bases.get(&key(&sweep.points[*place]))?)).collect();
        let whole = !logs.is_empty() && logs.len() == bases.len();
        whole.then(|| Design { ratio: libm::exp(mean(&logs)), points })
    };
    groups(sweep, &others).into_iter().filter_map(design).collect()
}

/// The best point of each measure that the page shows, for each workload, and the best design over all.
pub(super) fn best_points(sweep: &Sweep) -> Table {
    let workloads = sweep.workloads();
    let mut table = Table::new(&["measure", "requests", "best", "point", "values", "caution"]);
    let of_workloads = |axis: usize| workloads.contains(&axis);
    for column in shown(sweep) {
        let label = Cell::from(column.measure.label.as_str());
        let over_all = best(
            column,
            designs(sweep, column, &workloads).into_iter().map(|design| {
                let ratio = design.ratio;
                (design, ratio)
            }),
        );
        if let Some((design, ratio)) = over_all.filter(|_| !workloads.is_empty()) {
            table.rows.push(vec![
                label.clone(),
                "all: geometric mean of ratios to the baseline".into(),
                Cell::Text(format!("{}x", factor(ratio))),
                Cell::Null,
                Cell::Text(sweep.words_of(&sweep.points[design.points[0]], &|axis| !of_workloads(axis))),
                Cell::Text(cautions(sweep, &design.points)),
            ]);
        }
        for group in groups(sweep, &workloads).iter().take(MOST_WORKLOADS) {
            let Some((place, value)) = best(column, group.iter().map(|place| (*place, column.means[*place]))) else {
                continue;
            };
            let point = &sweep.points[place];
            table.rows.push(vec![
                label.clone(),
                Cell::Text(sweep.words_of(point, &of_workloads)),
                Cell::Text(said(&column.measure, value)),
                point.number.into(),
                Cell::Text(sweep.words_of(point, &|axis| !of_workloads(axis))),
                Cell::Text(point.caution()),
            ]);
        }
    }
    if workloads.is_empty() {
        table.columns.remove(1);
        table.rows.iter_mut().for_each(|row| _ = row.remove(1));
    }
    table
}

/// How to read that table; nothing where all points serve the same requests.
pub(super) fn best_note(sweep: &Sweep) -> Option<String> {
    let workloads = sweep.workloads();
    let point = sweep.points.first().filter(|_| !workloads.is_empty())?;
    let base = Point { at: sweep.base_design(), ..point.clone() };
    let names: Vec<&str> = workloads.iter().map(|axis| sweep.axes[*axis].key.as_str()).collect();
    let many = groups(sweep, &workloads).len();
    let more = if many > MOST_WORKLOADS {
        format!(" The first {MOST_WORKLOADS} of {many} have rows of their own.")
    } else {
        String::new()
    };
    Some(format!(
        "The requests ({}) are no choice: points are compared for each by itself, and over all by the geometric mean of ratios to the baseline, {}.{more}",
        names.join(", "),
        sweep.words_of(&base, &|axis| !workloads.contains(&axis))
    ))
}
