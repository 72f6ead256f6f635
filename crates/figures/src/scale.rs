//! From values to places on an axis, and its ticks.

use crate::figure::{Axis, Scale, Unit};

/// An axis with its range and its place in the drawing.
#[derive(Clone, Debug)]
pub struct Placed {
    scale: Scale,
    bands: usize,
    /// Least and greatest value.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Place of the least value.
    pub from: f64,
    /// Place of the greatest value.
    pub to: f64,
}

impl Placed {
    /// An axis whose points lie between two values; `zero`: bars begin at 0, so it has to be there.
    pub fn new(axis: &Axis, values: Option<(f64, f64)>, zero: bool) -> Placed {
        let (mut low, mut high) = axis.range.map(|[low, high]| (low, high)).or(values).unwrap_or((0.0, 1.0));
        match axis.scale {
            Scale::Band => (low, high) = (-0.5, axis.bands.len().max(1) as f64 - 0.5),
            _ if axis.range.is_some() => {}
            Scale::Log => {
                high = high.max(f64::MIN_POSITIVE);
                low = if low > 0.0 { low } else { high / 1e3 };
                (low, high) = (round_log(low, false), round_log(high, true));
                if low >= high {
                    high = low * 10.0;
                }
            }
            Scale::Linear => {
                if zero || (low > 0.0 && low < high / 2.0) {
                    (low, high) = (low.min(0.0), high.max(0.0));
                }
                if low == high {
                    (low, high) =
                        if low == 0.0 { (0.0, 1.0) } else { (low - low.abs() / 2.0, high + high.abs() / 2.0) };
                }
                let step = step((high - low) / 6.0);
                (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
            }
            Scale::Time | Scale::OneMinusLog => {
                if low >= high {
                    high = low + 1.0;
                }
            }
        }
        Placed { scale: axis.scale, bands: axis.bands.len(), low, high, from: 0.0, to: 1.0 }
    }

    /// Between these places of the drawing.
    pub fn between(mut self, from: f64, to: f64) -> Placed {
        (self.from, self.to) = (from, to);
        self
    }

    /// The place of a value; values outside the range are at its ends.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Log => (log(value.max(self.low)) - log(self.low)) / (log(self.high) - log(self.low)),
            Scale::OneMinusLog => {
                let left = |p: f64| -log((1.0 - p.min(self.high)).max(f64::MIN_POSITIVE));
                (left(value) - left(self.low)) / (left(self.high) - left(self.low))
            }
            _ => (value - self.low) / (self.high - self.low),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The room of a band.
    pub fn band(&self) -> f64 {
        (self.to - self.from).abs() / self.bands.max(1) as f64
    }
}

/// Decimal logarithm, the same on every machine.
fn log(value: f64) -> f64 {
    libm::log10(value)
}

/// 10 to a whole power.
fn power(exponent: i32) -> f64 {
    // Exact where a double is: parsing rounds correctly.
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

/// The next 1, 2 or 5 times a power of ten, up or down.
fn round_log(value: f64, up: bool) -> f64 {
    let base = power(log(value).floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * base);
    let found = if up {
        steps.into_iter().find(|s| *s >= value * 0.999_999)
    } else {
        steps.into_iter().rev().find(|s| *s <= value * 1.000_001)
    };
    found.unwrap_or(value)
}

/// A round step of at least this size.
fn step(least: f64) -> f64 {
    if least <= 0.0 { 1.0 } else { round_log(least, true) }
}

/// The unit of time in which a length of nanoseconds is shown.
fn time_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        v if v >= 1e9 => (1e9, "s"),
        v if v >= 1e6 => (1e6, "ms"),
        v if v >= 1e3 => (1e3, "us"),
        _ => (1.0, "ns"),
    }
}

/// The title of an axis with the unit of its ticks.
pub fn title(axis: &Axis, placed: &Placed) -> String {
    let unit = match (axis.unit, axis.scale) {
        (_, Scale::Band) => "",
        (Unit::Nanoseconds, Scale::Linear | Scale::Time) => time_unit(placed.high.abs().max(placed.low.abs())).1,
        (Unit::Nanoseconds, _) => "",
        (Unit::One, _) => {
            if axis.percent {
                "%"
            } else {
                ""
            }
        }
        (Unit::Bytes, _) => "B",
        (Unit::Pages, _) => "pages",
        (Unit::RequestsPerSecond, _) => "requests/s",
        (Unit::BytesPerSecond, _) => "MB/s",
        (Unit::Milliwatts, _) => "mW",
        (Unit::Microjoules, _) => "uJ",
    };
    match unit {
        "" => axis.label.clone(),
        unit if axis.label == unit => axis.label.clone(),
        unit if axis.label.is_empty() => unit.into(),
        unit => format!("{}, {unit}", axis.label),
    }
}

/// A title and a label in one line.
pub fn heading(title: &str, label: &str) -> String {
    match (title, label) {
        (title, "") => title.to_string(),
        ("", label) => label.to_string(),
        (title, label) => format!("{title}: {label}"),
    }
}

/// Ticks: values and texts. At most about `most` of them.
pub fn ticks(axis: &Axis, placed: &Placed, most: f64) -> Vec<(f64, String)> {
    let most = most.max(2.0);
    if axis.scale == Scale::Band {
        let every = (axis.bands.len() as f64 / most).ceil().max(1.0) as usize;
        return axis.bands.iter().enumerate().step_by(every).map(|(i, name)| (i as f64, name.clone())).collect();
    }
    if !axis.ticks.is_empty() {
        let inside = axis.ticks.iter().filter(|tick| **tick >= placed.low && **tick <= placed.high);
        return inside.map(|tick| (*tick, label(axis, placed, *tick, *tick))).collect();
    }
    match axis.scale {
        Scale::Log => {
            let (first, last) = (log(placed.low).floor() as i32, log(placed.high).ceil() as i32);
            let decades = f64::from(last - first).max(1.0);
            let every = (decades / most).ceil() as i32;
            let within: &[f64] = if decades * 3.0 <= most { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let mut out = Vec::new();
            for exponent in (first..=last).step_by(every.max(1) as usize) {
                for factor in within {
                    let value = factor * power(exponent);
                    if value >= placed.low * 0.999_999 && value <= placed.high * 1.000_001 {
                        out.push((value, label(axis, placed, value, value)));
                    }
                }
            }
            out
        }
        _ => {
            let unit = if axis.scale == Scale::Time || axis.unit == Unit::Nanoseconds {
                time_unit(placed.high.abs().max(placed.low.abs())).0
            } else {
                1.0
            };
            let by = step((placed.high - placed.low) / unit / most) * unit;
            let first = (placed.low / by - 1e-9).ceil() as i64;
            let last = (placed.high / by + 1e-9).floor() as i64;
            (first..=last).map(|i| i as f64 * by).map(|value| (value, label(axis, placed, value, by))).collect()
        }
    }
}

/// The text of a tick; `by`: the distance of ticks, which decides about decimals.
fn label(axis: &Axis, placed: &Placed, value: f64, by: f64) -> String {
    match (axis.scale, axis.unit) {
        (Scale::OneMinusLog, _) => plain(value * 100.0, 6),
        (Scale::Log, Unit::Nanoseconds) => {
            let (unit, name) = time_unit(value * 1.000_001);
            format!("{} {name}", plain(value / unit, 3))
        }
        (_, Unit::Nanoseconds) => {
            let unit = time_unit(placed.high.abs().max(placed.low.abs())).0;
            plain(value / unit, decimals(by / unit))
        }
        (_, Unit::BytesPerSecond) => plain(value / 1e6, decimals(by / 1e6)),
        _ if axis.percent => plain(value * 100.0, decimals(by * 100.0)),
        _ => plain(value, decimals(by)),
    }
}

/// Decimals that tell values at this distance apart.
fn decimals(by: f64) -> usize {
    (0..12).find(|n| (by * power(*n) - (by * power(*n)).round()).abs() < 1e-6 * by * power(*n)).unwrap_or(12) as usize
}

/// A number with at most some decimals, with separators, and without zeros at its end.
pub fn plain(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    let rest = rest.trim_end_matches('0');
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    if value < 0.0 && out != "0" { format!("−{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, values: (f64, f64), most: f64) -> Vec<String> {
        ticks(axis, &Placed::new(axis, Some(values), false), most).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let ns = Axis::new("latency", Unit::Nanoseconds, Scale::Log);
        assert_eq!(texts(&ns, (55_120.0, 75_343_221.0), 6.0), ["100 us", "1 ms", "10 ms", "100 ms"]);
        let time = Axis::new("time", Unit::Nanoseconds, Scale::Time);
        assert_eq!(texts(&time, (0.0, 2.4e9), 6.0), ["0", "0.5", "1", "1.5", "2"]);
        let count = Axis::new("blocks", Unit::One, Scale::Linear);
        assert_eq!(texts(&count, (3.0, 4_200.0), 5.0), ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]);
        let share = Axis::new("share", Unit::One, Scale::Linear).in_percent();
        assert_eq!(texts(&share, (0.0, 1.0), 5.0), ["0", "20", "40", "60", "80", "100"]);
        let tail = Axis { ticks: vec![0.5, 0.9, 0.999], ..Axis::new("percentile", Unit::One, Scale::OneMinusLog) };
        assert_eq!(texts(&tail, (0.0, 0.9999), 5.0), ["50", "90", "99.9"]);
    }

    #[test]
    fn places_are_monotonous_and_end_at_the_ends() {
        for scale in [Scale::Linear, Scale::Log, Scale::OneMinusLog, Scale::Time] {
            let axis = Axis::new("", Unit::One, scale).within(0.01, 0.99);
            let placed = Placed::new(&axis, None, false).between(10.0, 110.0);
            assert!((placed.at(0.01) - 10.0).abs() < 1e-9 && (placed.at(0.99) - 110.0).abs() < 1e-9);
            assert!(placed.at(0.2) < placed.at(0.3) && placed.at(-5.0) == 10.0 && placed.at(2.0) == 110.0);
        }
        let names = Axis::bands("", vec!["a".into(), "b".into()]);
        let placed = Placed::new(&names, None, false).between(0.0, 100.0);
        assert_eq!((placed.at(0.0), placed.at(1.0), placed.band()), (25.0, 75.0, 50.0));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [plain(1234567.0, 0), plain(0.25, 3), plain(-2.0, 1), plain(99.999, 6)],
            ["1,234,567", "0.25", "−2", "99.999"]
        );
        assert_eq!([decimals(500.0), decimals(0.5), decimals(0.025)], [0, 1, 3]);
    }
}
