//! The designs of a study beside the baseline: ratios by workload, and their geometric mean.

use std::collections::BTreeMap;

use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Table, Unit};
use ssdlab_lab::text::plural;
use ssdlab_lab::variants::student;
use ssdlab_lab::variants::text::factor;

use crate::charts::parts::Wanted;
use crate::charts::sweep::{MOST_LINES, NOTHING, figure, main_measure, none};
use crate::inputs::Inputs;
use crate::rank::best;
use crate::sweep::{Column, Point, Sweep};

/// Name of the last group.
const MEAN: &str = "geomean";

/// A design beside the baseline.
struct Bars {
    name: String,
    /// By workload; none where one of the two has no result.
    ratios: Vec<Option<f64>>,
    /// The geometric mean of all, with the ends of its 95 % interval over workloads; none if a workload of the baseline lacks.
    mean: Option<(f64, Option<(f64, f64)>)>,
}

/// The names of the workloads, that of the baseline, and the other designs.
fn designs(sweep: &Sweep, column: &Column) -> (Vec<String>, String, Vec<Bars>) {
    let field = sweep.field();
    let workloads = field.workloads();
    let others: Vec<usize> = (0..sweep.axes.len()).filter(|axis| !workloads.contains(axis)).collect();
    let base = field.base();
    let key = |place: usize| -> Vec<u32> { workloads.iter().map(|axis| sweep.points[place].at[*axis]).collect() };
    let is_base = |place: &usize| others.iter().all(|axis| sweep.points[*place].at[*axis] == base[*axis]);
    let rows = field.groups(&workloads);
    let of_workloads = |axis: usize| workloads.contains(&axis);
    let names = rows.iter().map(|row| sweep.words_of(&sweep.points[row[0]], &of_workloads)).collect();
    let of_base = Point { at: base.clone(), ..Point::default() };
    let bases: Vec<Option<usize>> = rows.iter().map(|row| row.iter().copied().find(is_base)).collect();
    let design = |points: &Vec<usize>| {
        let own: BTreeMap<Vec<u32>, usize> = points.iter().map(|place| (key(*place), *place)).collect();
        let ratios: Vec<Option<f64>> =
            rows.iter().zip(&bases).map(|(row, base)| column.ratio(*own.get(&key(row[0]))?, (*base)?)).collect();
        let known: Vec<f64> = ratios.iter().flatten().copied().collect();
        let of_base = bases.iter().flatten().filter(|base| column.means[**base].is_finite()).count();
        let whole = !known.is_empty() && known.len() == of_base;
        let mean = student::ratio(&known, &vec![1.0; known.len()]).filter(|_| whole).map(|of| (of.mean, of.interval));
        let name = sweep.words_of(&sweep.points[points[0]], &|axis| !of_workloads(axis));
        Bars { name, ratios, mean }
    };
    let groups = field.groups(&others);
    let found = groups.iter().filter(|points| !is_base(&points[0])).map(design).collect();
    (names, sweep.words_of(&of_base, &|axis| !of_workloads(axis)), found)
}

/// The bars of a design; the last one has an interval.
fn bars(design: &Bars, number: usize) -> Series {
    let by_workload = design.ratios.iter().enumerate().filter_map(|(i, ratio)| Some(vec![i as f64, (*ratio)?]));
    let mean = design.mean.map(|(mean, interval)| {
        let ends = interval.into_iter().flat_map(|(low, high)| [low, high]);
        [design.ratios.len() as f64, mean].into_iter().chain(ends).collect()
    });
    let points = by_workload.chain(mean).collect();
    Series { name: design.name.clone(), ..Series::new(&format!("line-{number}"), Mark::Bar, points) }
}

fn rows(table: &mut Table, names: &[String], design: &Bars) {
    let mut row = |group: &str, ratio: Option<f64>, interval: Option<(f64, f64)>| {
        let (low, high) = interval.unzip();
        table.rows.push(vec![group.into(), design.name.as_str().into(), ratio.into(), low.into(), high.into()]);
    };
    names.iter().zip(&design.ratios).for_each(|(name, ratio)| row(name, *ratio, None));
    row(MEAN, design.mean.map(|(mean, _)| mean), design.mean.and_then(|(_, interval)| interval));
}

pub(super) fn ratios(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let id = "sweep-ratios";
    let Some(sweep) = &inputs.sweep else { return none(id, "Study", None, "There is no study.") };
    let measure = wanted.measure.as_ref().map(|measure| measure.trim_start_matches("ratio.").to_string());
    let wanted = Wanted { measure, ..wanted.clone() };
    let Some(column) = main_measure(sweep, &wanted) else { return none(id, &sweep.study, Some(sweep), NOTHING) };
    let title = format!("{}, ratio to the baseline", column.measure.label);
    let (names, base, designs) = designs(sweep, column);
    if names.len() < 2 || designs.is_empty() {
        let why = "Ratios by workload need two workloads or traces, and two designs.";
        return none(id, &title, Some(sweep), why);
    }
    if designs.iter().all(|design| design.ratios.iter().all(Option::is_none)) {
        return none(id, &title, Some(sweep), NOTHING);
    }
    let mut table = Table::new(&["workload", "design", "ratio", "low", "high"]);
    designs.iter().for_each(|design| rows(&mut table, &names, design));
    let groups = names.len() as f64 + 1.0;
    let one =
        Series { style: "same".into(), points: vec![vec![-0.5, 1.0], vec![groups - 0.5, 1.0]], ..Series::default() };
    let drawn = designs.iter().take(MOST_LINES).enumerate().map(|(number, design)| bars(design, number));
    let series = drawn.chain([one]).collect();
    let bands = names.iter().cloned().chain([MEAN.to_string()]).collect();
    let y = Axis::new("ratio to the baseline", Unit::One, Scale::Linear);
    let panel = Panel { x: Axis::bands("", bands), y, series, ..Panel::default() };
    let mut figure = figure(id, title, sweep, panel, table);
    let means = designs.iter().filter_map(|design| Some((design, design.mean?.0)));
    if let Some((design, mean)) = best(column.measure.more, means) {
        let over = plural(names.len() as u64, "workload");
        figure.caption = format!("{}: {}x of {base} in the geometric mean over {over}.", design.name, factor(mean));
    }
    figure.notes = vec![format!(
        "The baseline is {base}. A bar is the geometric mean of the ratios by seed; {MEAN} is that over workloads, with its 95 % interval over workloads (Student's t of the logarithms)."
    )];
    if designs.len() > MOST_LINES {
        let all = designs.len();
        figure.notes.push(format!("The first {MOST_LINES} of {all} designs are drawn; the table has all."));
    }
    figure
}

/// Whether a study has workloads and designs to compare.
pub(super) fn has(inputs: &Inputs) -> bool {
    let Some(sweep) = &inputs.sweep else { return false };
    let workloads = sweep.field().workloads();
    !workloads.is_empty()
        && (0..sweep.axes.len()).any(|axis| !workloads.contains(&axis) && sweep.axes[axis].values.len() > 1)
}
