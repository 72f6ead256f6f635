//! The axes of a study: what one value of an axis changes, and the values of a range.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value as Json;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_trace::{Format, LbaPolicy, Scale};
use toml::Value;

use crate::draw::Share;
use ssdlab_lab::settings::{Settings, Sources, argument};

/// What a value of an axis changes in a run.
#[derive(Clone, Debug)]
pub enum Change {
    /// `KEY=VALUE` of the configuration.
    Set(String),
    /// A preset.
    Preset(String),
    /// A configuration file.
    File(PathBuf),
    /// A workload by name or file.
    Workload(String),
    /// A recorded trace.
    Trace(PathBuf),
    /// One volume of a trace.
    Device(String),
    /// The format of a trace.
    Format(String),
    /// What becomes of addresses beyond the device.
    LbaPolicy(LbaPolicy),
    /// So many requests, as was counted before: nothing has to be guessed.
    Counted(u64),
    /// At most this many requests.
    Limit(u64),
    /// Arrival times are multiplied by this.
    TimeScale(Scale),
    /// Without time.
    CountOnly(bool),
}

/// A value as a column of the table has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// Anything else.
    Text(String),
}

impl Shown {
    /// As text.
    pub fn text(&self) -> String {
        match self {
            Shown::Whole(value) => value.to_string(),
            Shown::Real(value) => value.to_string(),
            Shown::Text(text) => text.clone(),
        }
    }
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct Item {
    /// As shown.
    pub shown: Shown,
    /// What it changes.
    pub changes: Vec<Change>,
    /// What it is compared by: the value after aliases.
    pub same: Json,
}

/// How a range is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Evenly.
    Linear,
    /// Evenly in the logarithm.
    Log,
}

/// What numbers of a range become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Whole numbers, rounded half up.
    Whole,
    /// Numbers of six decimals.
    Micro,
    /// Durations in whole nanoseconds.
    Time,
    /// Sizes in whole bytes.
    Size,
}

/// A range of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The least, or the first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many values in a grid; without it, each power of two.
    pub steps: Option<u64>,
    /// How it is cut.
    pub cut: Cut,
    /// What its numbers become.
    pub grain: Grain,
}

impl Range {
    /// The value at a share of the range, as TOML.
    pub fn at(&self, share: f64) -> Value {
        let number = match self.cut {
            Cut::Linear => self.from + share * (self.to - self.from),
            // Shares of 0 and 1 give the ends exactly.
            Cut::Log if share >= 1.0 => self.to,
            Cut::Log if share <= 0.0 => self.from,
            Cut::Log => self.from * libm::exp2(share * libm::log2(self.to / self.from)),
        };
        self.value(number)
    }

    fn value(&self, number: f64) -> Value {
        let whole = |number: f64| (number + 0.5).floor() as i64;
        match self.grain {
            Grain::Whole => Value::Integer(whole(number)),
            Grain::Micro => Value::Float(whole(number * 1e6) as f64 / 1e6),
            Grain::Time => Value::String(Nanos(whole(number).max(0) as u64).to_string()),
            Grain::Size => Value::String(Bytes(whole(number).max(0) as u64).to_string()),
        }
    }

    /// The values of a grid, ends included.
    pub fn grid(&self) -> Vec<Value> {
        match self.steps {
            Some(1) => vec![self.at(0.0)],
            Some(steps) => (0..steps).map(|i| self.at(i as f64 / (steps - 1) as f64)).collect(),
            None => {
                let mut values = Vec::new();
                let mut number = self.from;
                while number < self.to {
                    values.push(self.value(number));
                    number *= 2.0;
                }
                if number == self.to {
                    values.push(self.value(number));
                }
                values
            }
        }
    }
}

/// The values of an axis.
#[derive(Clone, Debug)]
pub enum Values {
    /// One after the other.
    List(Vec<Item>),
    /// A range of numbers, and its values in a grid.
    Range(Range, Vec<Item>),
}

/// A key, or several at once, and the values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The key as written in the study.
    pub key: String,
    /// The name of its column.
    pub label: String,
    /// Its values.
    pub values: Values,
}

impl Axis {
    /// Its values in a grid.
    pub fn items(&self) -> &[Item] {
        match &self.values {
            Values::List(items) | Values::Range(_, items) => items,
        }
    }

    /// The value of a list at a place, or of a range at a number; none beyond its ends.
    pub fn chosen(&self, number: f64) -> Option<Item> {
        match &self.values {
            Values::List(items) => {
                (number.fract() == 0.0 && number >= 0.0).then(|| items.get(number as usize).cloned())?
            }
            Values::Range(range, _) => {
                let inside = range.from <= number && number <= range.to;
                inside.then(|| item(&self.key, &range.value(number)).ok())?
            }
        }
    }

    /// The value that a design draws.
    pub fn at(&self, share: Share) -> Item {
        match &self.values {
            Values::List(items) => items[share.item(items.len())].clone(),
            // What a range gives was read once, at both ends.
            Values::Range(range, _) => {
                item(&self.key, &range.at(share.value())).unwrap_or_else(|_| self.items()[0].clone())
            }
        }
    }
}

/// Keys of axes that are not keys of a configuration.
pub const OTHERS: [&str; 10] =
    ["preset", "file", "workload", "trace", "limit", "time_scale", "count_only", "format", "device", "lba_policy"];

/// The value of an axis from TOML; the error is the message without the key. Paths stay as written.
///
/// # Errors
/// It is not a value of the key.
pub fn item(key: &str, value: &Value) -> Result<Item, String> {
    let shown = match value {
        Value::Integer(number) => Shown::Whole(*number),
        Value::Float(number) => Shown::Real(*number),
        Value::String(text) => Shown::Text(text.clone()),
        other => Shown::Text(other.to_string()),
    };
    let text = |what: &str| value.as_str().map(String::from).ok_or_else(|| format!("expected {what}, got {value}"));
    let change = match key {
        "preset" => Change::Preset(text("the name of a preset")?),
        "file" => Change::File(text("a file")?.into()),
        "workload" => Change::Workload(text("the name or the file of a workload")?),
        "trace" => Change::Trace(text("a file")?.into()),
        "limit" => match (value.as_integer(), value.as_str().map(ssdlab_lab::text::amount)) {
            (Some(limit), _) if limit > 0 => Change::Limit(limit as u64),
            (None, Some(Ok(limit))) => Change::Limit(limit),
            _ => return Err(format!("expected a whole number from 1 on, got {value}")),
        },
        "time_scale" => Change::TimeScale(scale(value)?),
        "format" => {
            let name = text("the name of a format")?;
            Format::parse_or_auto(&name).map_err(|error| error.to_string())?;
            Change::Format(name)
        }
        "device" => Change::Device(text("the label of a volume")?),
        "lba_policy" => Change::LbaPolicy(text("one of error, wrap, clip, dense")?.parse()?),
        "count_only" => {
            Change::CountOnly(value.as_bool().ok_or_else(|| format!("expected true or false, got {value}"))?)
        }
        _ => {
            return Ok(Item {
                shown,
                changes: vec![Change::Set(format!("{key}={}", argument(value)))],
                same: canonical(key, value),
            });
        }
    };
    let same = match &change {
        Change::TimeScale(scale) => Json::String(scale.to_string()),
        _ => plain(value),
    };
    Ok(Item { shown, changes: vec![change], same })
}

/// A factor on times.
///
/// # Errors
/// It is none.
pub fn scale(value: &Value) -> Result<Scale, String> {
    match value {
        Value::String(text) => text.parse(),
        other => other.to_string().parse(),
    }
}

/// A value as JSON; numbers that are equal are the same.
fn plain(value: &Value) -> Json {
    match value {
        Value::Integer(number) if number.unsigned_abs() < 1 << 53 => Json::from(*number as f64),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// A value of a key of a configuration after aliases, so that `rga` equals `d-choices`; as written where it can't be read.
pub fn canonical(key: &str, value: &Value) -> Json {
    if matches!(value, Value::Integer(_) | Value::Float(_) | Value::Boolean(_)) {
        return plain(value);
    }
    let sources = Sources { sets: vec![format!("{key}={}", argument(value))], ..Sources::default() };
    let read = Settings::merge(&sources).and_then(|settings| settings.value(key));
    read.unwrap_or_else(|_| plain(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(range: Range) -> Vec<String> {
        range.grid().iter().map(Value::to_string).collect()
    }

    #[test]
    fn ranges_include_their_ends_and_are_rounded() {
        let spare = Range { from: 0.07, to: 0.28, steps: Some(4), cut: Cut::Linear, grain: Grain::Micro };
        assert_eq!(texts(spare), ["0.07", "0.14", "0.21", "0.28"]);
        let depth = Range { from: 1.0, to: 256.0, steps: None, cut: Cut::Log, grain: Grain::Whole };
        assert_eq!(texts(depth), ["1", "2", "4", "8", "16", "32", "64", "128", "256"]);
        let cut = Range { from: 1.0, to: 100.0, steps: Some(3), cut: Cut::Log, grain: Grain::Whole };
        assert_eq!(texts(cut), ["1", "10", "100"]);
        let half = Range { from: 0.0, to: 5.0, steps: Some(3), cut: Cut::Linear, grain: Grain::Whole };
        assert_eq!(texts(half), ["0", "3", "5"], "half up");
        let time = Range { from: 30_000.0, to: 50_000.0, steps: Some(3), cut: Cut::Linear, grain: Grain::Time };
        assert_eq!(texts(time), ["\"30us\"", "\"40us\"", "\"50us\""]);
    }

    #[test]
    fn aliases_are_the_same_value() {
        let read = |text: &str| item("schemes.victim", &Value::String(text.into())).unwrap().same;
        assert_eq!(read("rga"), read("d-choices"));
        assert_ne!(read("rga"), read("greedy"));
    }
}
