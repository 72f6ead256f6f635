//! Which points of a study are best. Requests are no choice of a designer: the best point is sought for each workload by itself, and the
//! best design over all of them by the geometric mean of its ratios to a baseline.

use std::collections::BTreeMap;

use crate::design::Axis;
use ssdlab_lab::variants::student::mean;

/// The points of a study by their values.
#[derive(Clone, Debug)]
pub struct Field<'s> {
    axes: &'s [Axis],
    /// By point: the place of its value on each axis.
    at: Vec<&'s [u32]>,
}

/// A design over all workloads: its points in their order, and the geometric mean of what they are of the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Its points, one for each workload that it has a result of.
    pub points: Vec<usize>,
    /// What it is of the baseline.
    pub ratio: f64,
}

/// The best of some values: the least, or the largest where more is better; of equal ones the first.
pub fn best<T>(more: bool, values: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    let better = |one: f64, other: f64| if more { other > one } else { other < one };
    values.filter(|(_, value)| value.is_finite()).reduce(|one, other| if better(one.1, other.1) { other } else { one })
}

impl<'s> Field<'s> {
    /// The points of these axes.
    pub fn of(axes: &'s [Axis], at: impl Iterator<Item = &'s [u32]>) -> Field<'s> {
        Field { axes, at: at.collect() }
    }

    /// Axes with several values that choose the requests.
    pub fn workloads(&self) -> Vec<usize> {
        (0..self.axes.len()).filter(|axis| self.axes[*axis].workload && self.axes[*axis].values.len() > 1).collect()
    }

    /// Places of the baseline's values; where the study gives none, those of the first point.
    pub fn base(&self) -> Vec<u32> {
        let first = |axis: usize| self.at.first().map_or(0, |at| at[axis]);
        self.axes.iter().enumerate().map(|(i, axis)| axis.baseline.unwrap_or_else(|| first(i))).collect()
    }

    /// Points by the values of some axes, in the order in which they first appear.
    pub fn groups(&self, axes: &[usize]) -> Vec<Vec<usize>> {
        let (mut numbers, mut groups): (BTreeMap<Vec<u32>, usize>, Vec<Vec<usize>>) = Default::default();
        for (place, at) in self.at.iter().enumerate() {
            let number = *numbers.entry(axes.iter().map(|axis| at[*axis]).collect()).or_insert(groups.len());
            groups.resize_with(groups.len().max(number + 1), Vec::new);
            groups[number].push(place);
        }
        groups
    }

    /// The best point for each workload that has a value, with that value.
    pub fn points(&self, means: &[f64], more: bool) -> Vec<(usize, f64)> {
        let of_workload = |group: Vec<usize>| best(more, group.into_iter().map(|place| (place, means[place])));
        self.groups(&self.workloads()).into_iter().filter_map(of_workload).collect()
    }

    /// The best design over all workloads, by the mean logarithms of its points; none where the workloads are one.
    pub fn design(&self, logs: &[f64], more: bool) -> Option<Design> {
        if self.workloads().is_empty() {
            return None;
        }
        best(more, self.designs(logs).into_iter().map(|design| (design.points, design.ratio)))
            .map(|(points, ratio)| Design { points, ratio })
    }

    /// The designs that have the measure for every workload that the baseline has it for.
    fn designs(&self, logs: &[f64]) -> Vec<Design> {
        let workloads = self.workloads();
        let others: Vec<usize> = (0..self.axes.len()).filter(|axis| !workloads.contains(axis)).collect();
        let base = self.base();
        let is_base = |place: &usize| others.iter().all(|axis| self.at[*place][*axis] == base[*axis]);
        let key = |place: usize| -> Vec<u32> { workloads.iter().map(|axis| self.at[place][*axis]).collect() };
        let known = |place: &usize| logs[*place].is_finite();
        let bases: BTreeMap<Vec<u32>, f64> = (0..self.at.len())
            .filter(|place| is_base(place) && known(place))
            .map(|place| (key(place), logs[place]))
            .collect();
        let design = |points: Vec<usize>| {
            let known = points.iter().filter(|place| known(place));
            let ratios: Vec<f64> = known.filter_map(|place| Some(logs[*place] - bases.get(&key(*place))?)).collect();
            let whole = !ratios.is_empty() && ratios.len() == bases.len();
            whole.then(|| Design { ratio: libm::exp(mean(&ratios)), points })
        };
        self.groups(&others).into_iter().filter_map(design).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(key: &str, values: &[&str], workload: bool, baseline: Option<u32>) -> Axis {
        let values = values.iter().map(ToString::to_string).collect();
        Axis { key: key.into(), values, workload, baseline, ..Axis::default() }
    }

    /// Two traces, of which b takes ten times as long, and three designs; the second is the baseline.
    fn axes() -> Vec<Axis> {
        vec![axis("trace", &["a", "b"], true, None), axis("victim", &["x", "y", "z"], false, Some(1))]
    }

    const AT: [[u32; 2]; 6] = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]];

    #[test]
    fn designs_are_ranked_by_their_ratios_and_points_by_workload() {
        let axes = axes();
        let field = Field::of(&axes, AT.iter().map(|at| &at[..]));
        // x: 0.4 and 2 of the baseline, so 0.89; z: 0.8 and 0.8. By the mean x would be the worst, by the least value the best.
        let means = [4.0, 10.0, 8.0, 200.0, 100.0, 80.0];
        let logs = means.map(f64::ln);
        let found = field.design(&logs, false).unwrap();
        assert!(found.points == [2, 5] && (found.ratio - 0.8).abs() < 1e-12, "{found:?}");
        let found = field.design(&[5.0_f64, 10.0, 11.0, 200.0, 100.0, 90.0].map(f64::ln), true).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-12, "11/10 x 90/100 is less than 1: {found:?}");
        assert_eq!(field.points(&means, false), [(0, 4.0), (5, 80.0)]);
        assert_eq!(field.points(&means, true), [(1, 10.0), (3, 200.0)]);
        // A design without a result for a workload of the baseline is not ranked.
        let mut partial = logs;
        partial[5] = f64::NAN;
        assert_ne!(field.design(&partial, false).unwrap().points, [2, 5]);
        // Without a baseline that of the first point counts.
        let first = [axes[0].clone(), Axis { baseline: None, ..axes[1].clone() }];
        let field = Field::of(&first, AT.iter().map(|at| &at[..]));
        let ratio = field.design(&logs, false).unwrap().ratio;
        assert!((ratio - (8.0_f64 / 4.0 * 80.0 / 200.0).sqrt()).abs() < 1e-12, "{ratio}");
        // One workload: points alone.
        let one = [axis("trace", &["a"], true, None), axes[1].clone()];
        let field = Field::of(&one, AT[..3].iter().map(|at| &at[..]));
        assert_eq!((field.design(&logs[..3], false), field.points(&means[..3], false)), (None, vec![(0, 4.0)]));
    }
}
