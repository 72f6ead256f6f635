//! Closed forms: spare space and cost of GC from the shape of a uniform run.
//!
//! A drive that was filled in order takes random writes at full speed until its free space is used up; then the rate falls off a
//! cliff. So the writes before the cliff are the free space. At that moment every block holds the same share of valid pages,
//! exp(-D) after D drive writes, so the first collections move exp(-D) / (1 - exp(-D)) pages for each page they free.

use crate::cost::inverse;
use crate::input::Curve;

/// What the shape of a uniform run says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    /// MB/s before the cliff.
    pub plateau: f64,
    /// MB/s at the bottom behind the cliff.
    pub dip: f64,
    /// Drive writes before the cliff.
    pub cliff: f64,
}

impl Closed {
    /// Share of the flash that is not exported.
    pub fn spare(&self) -> f64 {
        self.cliff / (1.0 + self.cliff)
    }

    /// Cost of a moved page in microseconds a kilobyte, where one of the host costs `host`.
    pub fn moved(&self, host: f64) -> f64 {
        let valid = (-self.cliff).exp();
        (inverse(self.dip) - host) / (valid / (1.0 - valid))
    }

    /// Reads the shape of a run; none if it has no cliff: its rate never falls below four fifths of the rate at its beginning.
    pub fn of(curve: &Curve) -> Option<Closed> {
        let rates: Vec<f64> = curve.points.iter().map(|point| point.rate).collect();
        let edge = {
            let mut highest = 0.0_f64;
            rates.iter().position(|rate| {
                highest = highest.max(*rate);
                *rate < 0.8 * highest
            })?
        };
        let mut before = rates[..edge].to_vec();
        before.sort_by(f64::total_cmp);
        let plateau = *before.get(before.len() / 2)?;
        // The bottom is the lowest rate near the cliff; later the rate rises again.
        let near = curve.points[edge].at + 0.3;
        let behind = curve.points.iter().enumerate().skip(edge).take_while(|(_, point)| point.at <= near);
        let bottom = behind.min_by(|a, b| a.1.rate.total_cmp(&b.1.rate)).map(|(i, _)| i)?;
        let dip = rates[bottom];
        // A point that the cliff divides has a share of its writes before it; times of writes add up.
        let fast = |rate: f64| ((inverse(dip) - inverse(rate)) / (inverse(dip) - inverse(plateau))).clamp(0.0, 1.0);
        let edges = edges(curve, bottom);
        let share = |i: usize| if i < edge { 1.0 } else { fast(rates[i]) };
        let cliff = (0..=bottom).map(|i| (edges[i + 1] - edges[i]) * share(i)).sum();
        Some(Closed { plateau, dip, cliff })
    }
}

/// Ends of the parts of a run for which the points up to `last` stand. Where points are missing they were taken at equal times, and
/// lie apart as far as their rates: then their parts are as wide as their rates say. Else the ends are halfway.
fn edges(curve: &Curve, last: usize) -> Vec<f64> {
    let points = &curve.points[..(last + 2).min(curve.points.len())];
    let gaps = || points.windows(2).map(|pair| pair[1].at - pair[0].at).chain([2.0 * points[0].at]);
    let (least, most) = (gaps().fold(f64::INFINITY, f64::min), gaps().fold(0.0, f64::max));
    let between = |i: usize| {
        let (near, far) = (&points[i], &points[i + 1]);
        let share = if most > 1.2 * least { near.rate / (near.rate + far.rate) } else { 0.5 };
        near.at + share * (far.at - near.at)
    };
    let end = if last + 1 < points.len() { between(last) } else { curve.part(last).1 };
    [0.0].into_iter().chain((0..last).map(between)).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Point;

    /// Full speed for 0.23 drive writes, then 300 MB/s: the bin that the cliff divides is slower than its writes suggest.
    #[test]
    fn a_divided_bin_gives_the_cliff_back() {
        let rate = |from: f64, to: f64| {
            let fast = (0.23_f64.min(to) - from).max(0.0) / (to - from);
            1000.0 / (fast * 0.5 + (1.0 - fast) / 0.3)
        };
        let point = |i: u32| {
            let (from, to) = (f64::from(i) * 0.05, f64::from(i + 1) * 0.05);
            Point { at: from + 0.025, rate: rate(from, to), written: None, read: None }
        };
        let closed = Closed::of(&Curve { points: (0..40).map(point).collect() }).unwrap();
        assert!((closed.cliff - 0.23).abs() < 1e-9, "{closed:?}");
        assert!((closed.plateau - 2000.0).abs() < 1e-6 && (closed.dip - 300.0).abs() < 1e-6);
        assert!((closed.spare() - 0.23 / 1.23).abs() < 1e-9);
        // 1 / (1 - exp(-0.23)) - 1 = 3.867 moved pages.
        assert!((closed.moved(0.5) - (1000.0 / 300.0 - 0.5) / 3.866_96).abs() < 1e-4, "{}", closed.moved(0.5));
        let flat = Curve {
            points: (0..9).map(|i| Point { at: f64::from(i), rate: 400.0, written: None, read: None }).collect(),
        };
        assert_eq!(Closed::of(&flat), None);
    }
    /// Points a minute apart, of 0.11 drive writes each before the cliff and 0.02 behind it, entered by the bins of 0.05 in which their
    /// middles lie.
    #[test]
    fn points_at_equal_times_give_the_cliff_back() {
        let (fast, slow) = (1800.0, 300.0);
        for cliff in [0.13, 0.21, 0.36, 0.45] {
            let minute = 0.11 / fast;
            let mut points: Vec<Point> = Vec::new();
            let mut from = 0.0_f64;
            while from < 1.0 {
                let quick = ((cliff - from) / fast).clamp(0.0, minute);
                let width = quick * fast + (minute - quick) * slow;
                let at = ((from + width / 2.0) / 0.05).floor() * 0.05 + 0.025;
                if points.last().is_none_or(|last| last.at < at - 0.01) {
                    points.push(Point { at, rate: width / minute, written: None, read: None });
                }
                from += width;
            }
            let found = Closed::of(&Curve { points }).unwrap();
            assert!((found.spare() - cliff / (1.0 + cliff)).abs() < 0.02, "{cliff}: {found:?}");
        }
    }
}
