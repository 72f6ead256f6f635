//! Where marks lie on a panel: scales from points, coordinates, paths.

use std::fmt::Write;

use crate::figure::{Axis, Mark, Panel, Scale, Series};
use crate::palette::STEPS;
use crate::scale::Placed;

/// A coordinate: two decimals at most, the same on every machine.
pub(crate) fn n(value: f64) -> String {
    let hundredths = (value * 100.0).round() as i64;
    let (sign, rest) = (if hundredths < 0 { "-" } else { "" }, hundredths.abs());
    match (rest / 100, rest % 100) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, part) if part % 10 == 0 => format!("{sign}{whole}.{}", part / 10),
        (whole, part) => format!("{sign}{whole}.{part:02}"),
    }
}

pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) x: Placed,
    pub(crate) y: Placed,
}

pub(crate) fn cells(panel: &Panel) -> Option<&Series> {
    panel.series.iter().find(|series| series.mark == Mark::Cell && series.value.is_some())
}

/// The value whose cell lies at the beginning of an axis; on one of names, cells lie around their values.
pub(crate) fn corner(axis: &Axis, placed: &Placed) -> f64 {
    if axis.scale == Scale::Band { placed.low + 0.5 } else { placed.low }
}

/// The least and the largest value of a heat map, or those that its axis has.
pub(crate) fn cell_range(series: &Series) -> (f64, f64) {
    if let Some([low, high]) = series.value.as_ref().and_then(|axis| axis.range) {
        return (low, high);
    }
    let values = || series.points.iter().filter(|point| finite(point)).map(|point| point[2]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if low < high {
        (low, high)
    } else if low.is_finite() {
        (low, low + 1.0)
    } else {
        (0.0, 1.0)
    }
}

/// The step of the ramp that a value has.
pub(crate) fn cell_step(series: &Series, value: f64, (low, high): (f64, f64)) -> usize {
    let logarithmic = series.value.as_ref().is_some_and(|axis| axis.scale == Scale::Log);
    let share =
        if logarithmic { libm::log10(value / low) / libm::log10(high / low) } else { (value - low) / (high - low) };
    ((share * STEPS as f64).floor().max(0.0) as usize).min(STEPS - 1)
}

/// Whether a point can be drawn.
pub(crate) fn finite(point: &[f64]) -> bool {
    point.iter().all(|value| value.is_finite())
}

pub(crate) fn rectangle(path: &mut String, x1: f64, y1: f64, x2: f64, y2: f64) {
    // Edges are rounded before they are subtracted, so that neighbours meet.
    let tenth = |place: f64| (place * 10.0).round() / 10.0;
    let (left, right, top, bottom) = (tenth(x1.min(x2)), tenth(x1.max(x2)), tenth(y1.min(y2)), tenth(y1.max(y2)));
    let (wide, high) = (n(right - left), n(bottom - top));
    let _ = write!(path, "M{} {}h{wide}v{high}h-{wide}z", n(left), n(top));
}

pub(crate) fn whisker(path: &mut String, x: f64, low: f64, high: f64, width: f64) {
    let (left, wide) = (n(x - width / 2.0), n(width));
    let _ = write!(path, "M{left} {}h{wide}M{left} {}h{wide}M{} {}V{}", n(low), n(high), n(x), n(low), n(high));
}

pub(crate) fn scales(panel: &Panel) -> (Placed, Placed) {
    let mut x: Option<(f64, f64)> = None;
    let mut y = None;
    let widen = |range: &mut Option<(f64, f64)>, value: f64| {
        if value.is_finite() {
            let (low, high) = range.unwrap_or((value, value));
            *range = Some((low.min(value), high.max(value)));
        }
    };
    let level = panel.y.scale == Scale::Band;
    let (mut zero_x, mut zero_y) = (false, false);
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for series in &panel.series {
        let width = series.width.unwrap_or(1.0);
        for point in series.points.iter().filter(|point| point.len() >= 2) {
            match series.mark {
                Mark::Stack => {
                    let (key, value) = if level { (point[1], point[0]) } else { (point[0], point[1]) };
                    match sums.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, sum)) => *sum += value,
                        None => sums.push((key, value)),
                    }
                }
                Mark::Interval => {
                    widen(&mut x, point[1]);
                    widen(&mut x, point[2]);
                }
                Mark::Area => {
                    widen(&mut x, point[0]);
                    widen(&mut y, point[1]);
                    widen(&mut y, point[2]);
                }
                Mark::Cell => {
                    widen(&mut x, point[0]);
                    widen(&mut x, point[0] + width);
                    widen(&mut y, point[1]);
                    widen(&mut y, point[1] + 1.0);
                }
                _ => {
                    widen(&mut x, point[0]);
                    widen(&mut y, point[1]);
                    if series.mark == Mark::Bar {
                        if let (false, [_, _, low, high]) = (level, &point[..]) {
                            widen(&mut y, *low);
                            widen(&mut y, *high);
                        }
                        if panel.x.scale != Scale::Band && !level {
                            widen(&mut x, point[0] + width);
                        }
                        *(if level { &mut zero_x } else { &mut zero_y }) = true;
                    }
                }
            }
        }
    }
    for (_, sum) in sums {
        let (range, zero) = if level { (&mut x, &mut zero_x) } else { (&mut y, &mut zero_y) };
        widen(range, sum);
        *zero = true;
    }
    // A histogram fills its axis.
    let mut axis = panel.x.clone();
    let filled = panel.series.iter().any(|series| matches!(series.mark, Mark::Cell | Mark::Bar));
    if filled && axis.range.is_none() && axis.scale == Scale::Linear && !level {
        axis.range = x.map(|(low, high)| [low, high]);
    }
    (Placed::new(&axis, x, zero_x), Placed::new(&panel.y, y, zero_y))
}

/// The places of a line: gaps between parts.
pub(crate) fn places(series: &Series, frame: &Frame) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for point in &series.points {
        if !finite(point) {
            parts.push(Vec::new());
            continue;
        }
        let (x, y) = (frame.x.at(point[0]), frame.y.at(point[1]));
        let Some(part) = parts.last_mut() else { continue };
        if series.mark == Mark::Step {
            let before = part.last().map_or(frame.left, |(x, _)| *x);
            part.push((before, y));
        }
        part.push((x, y));
    }
    parts
}

pub(crate) fn path(series: &Series, frame: &Frame) -> String {
    let mut out = String::new();
    for part in places(series, frame) {
        let mut last: Option<(i64, i64)> = None;
        for (x, y) in part {
            // Points at the same tenth of a unit are one.
            let rounded = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
            let (x, y) = (n(rounded.0 as f64 / 10.0), n(rounded.1 as f64 / 10.0));
            match last {
                None => _ = write!(out, "M{x} {y}"),
                Some(before) if before == rounded => {}
                Some(before) if before.0 == rounded.0 => _ = write!(out, "V{y}"),
                Some(before) if before.1 == rounded.1 => _ = write!(out, "H{x}"),
                Some(_) => _ = write!(out, "L{x} {y}"),
            }
            last = Some(rounded);
        }
    }
    out
}

/// Places on a line at short distances.
pub(crate) fn dense(series: &Series, frame: &Frame) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for part in places(series, frame) {
        for two in part.windows(2) {
            let ((x1, y1), (x2, y2)) = (two[0], two[1]);
            let steps = (((x2 - x1).abs() + (y2 - y1).abs()) / 3.0).ceil().max(1.0) as usize;
            out.extend((0..=steps).map(|i| i as f64 / steps as f64).map(|t| (x1 + (x2 - x1) * t, y1 + (y2 - y1) * t)));
        }
        out.extend(part.first());
    }
    out
}
