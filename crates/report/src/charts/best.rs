//! The table of the best points of a study: see [`crate::rank`].

use ssdlab_figures::figure::{Cell, Table};

use crate::charts::sweep::{said, shown};
use crate::sweep::{Point, Sweep};
use ssdlab_lab::variants::text::factor;

const MOST_WORKLOADS: usize = 20;

/// Reasons to distrust several points.
fn cautions(sweep: &Sweep, places: &[usize]) -> String {
    let of = |holds: fn(&Point) -> bool| places.iter().filter(|place| holds(&sweep.points[**place])).count();
    let doubts = [(of(|point| point.overloaded), "overloaded"), (of(|point| point.unsteady), "not steady")];
    let told = doubts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{what} for {count} of {}", places.len())).collect::<Vec<_>>().join(", ")
}

/// The best point of each measure that the page shows, for each workload, and the best design over all.
pub(super) fn best_points(sweep: &Sweep) -> Table {
    let field = sweep.field();
    let workloads = field.workloads();
    let mut table = Table::new(&["measure", "requests", "best", "point", "values", "caution"]);
    let of_workloads = |axis: usize| workloads.contains(&axis);
    for column in shown(sweep) {
        let (label, more) = (Cell::from(column.measure.label.as_str()), column.measure.more);
        if let Some(design) = field.design(&column.logs, more) {
            table.rows.push(vec![
                label.clone(),
                "all: geometric mean of ratios to the baseline".into(),
                Cell::Text(format!("{}x", factor(design.ratio))),
                Cell::Null,
                Cell::Text(sweep.words_of(&sweep.points[design.points[0]], &|axis| !of_workloads(axis))),
                Cell::Text(cautions(sweep, &design.points)),
            ]);
        }
        for (place, value) in field.points(&column.means, more).into_iter().take(MOST_WORKLOADS) {
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

/// How to read the table of best points; nothing where all points serve the same requests.
pub fn best_note(sweep: &Sweep) -> Option<String> {
    let field = sweep.field();
    let workloads = field.workloads();
    let point = sweep.points.first().filter(|_| !workloads.is_empty())?;
    let base = Point { at: field.base(), ..point.clone() };
    let names: Vec<&str> = workloads.iter().map(|axis| sweep.axes[*axis].key.as_str()).collect();
    let many = field.groups(&workloads).len();
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
