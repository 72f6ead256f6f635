//! The axes of a study file: lists, ranges and named values.

use serde::Deserialize;
use ssdlab_sim::units::{Bytes, Nanos};
use toml::{Table, Value};

use crate::axis::{self, Axis, Cut, Grain, Item, OTHERS, Range, Shown, Values};
use crate::text::Text;
use ssdlab_lab::error::Result;
use ssdlab_lab::names::{clip, nearest};
use ssdlab_lab::settings::known_keys;

/// Most runs of a study.
pub const MOST_RUNS: u64 = 1_000_000;
use ssdlab_lab::text::count;

pub(super) fn list(text: &Text, at: &str, key: &str, label: String, values: Vec<Value>) -> Result<Axis> {
    if values.is_empty() {
        return Err(text.error(at, false, format!("{key}: no values")).help("give at least one"));
    }
    let item = |(i, value): (usize, &Value)| {
        let wrong = |message| text.error(&format!("{at}[{i}]"), false, format!("{key}: {message}"));
        axis::item(key, value).map_err(wrong)
    };
    let items = values.iter().enumerate().map(item).collect::<Result<_>>()?;
    Ok(Axis { key: key.into(), label, values: Values::List(items) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeFile {
    from: Value,
    to: Value,
    steps: Option<u64>,
    #[serde(default)]
    scale: ScaleFile,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ScaleFile {
    #[default]
    Linear,
    Log2,
    Log,
}

/// What numbers of a key become.
fn grain(key: &str, from: &Value, to: &Value) -> Option<Grain> {
    let size = |text: &str| text.parse::<Bytes>().is_ok();
    if let (Some(from), Some(to)) = (from.as_str(), to.as_str()) {
        return match from.parse::<Nanos>().is_ok() && to.parse::<Nanos>().is_ok() {
            true => Some(Grain::Time),
            false => (size(from) && size(to)).then_some(Grain::Size),
        };
    }
    let number = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_));
    if !number(from) || !number(to) {
        return None;
    }
    let schema = ssdlab_lab::schema::root_schema().to_value();
    let (section, leaf) = key.split_once('.').unwrap_or((key, ""));
    let inner = ssdlab_lab::schema::resolve(&schema["definitions"], &schema["properties"][section]);
    let of = &inner["properties"][leaf]["type"];
    let named = |name: &str| of == name || of.as_array().is_some_and(|of| of.iter().any(|of| of == name));
    let whole = named("integer") || key == "limit" || (!named("number") && from.is_integer() && to.is_integer());
    Some(if whole { Grain::Whole } else { Grain::Micro })
}

fn range(text: &Text, at: &str, key: &str, table: &Table) -> Result<Axis> {
    let wrong =
        |leaf: &str, message: String| text.error(&format!("{at}.{leaf}"), leaf.is_empty(), format!("{key}: {message}"));
    let read: std::result::Result<RangeFile, _> = ssdlab_trace::values::read(table.clone());
    let file = read.map_err(|misfit| {
        wrong(&misfit.path, misfit.fault.to_string())
            .help("a range is { from = 0.07, to = 0.28, steps = 4 }, or { from = 1, to = 256, scale = \"log2\" }")
    })?;
    let Some(grain) = grain(key, &file.from, &file.to) else {
        return Err(wrong("from", "expected two numbers, two durations or two sizes".into())
            .help("a range is { from = 0.07, to = 0.28, steps = 4 }"));
    };
    let number = |value: &Value| match (grain, value) {
        (Grain::Time, Value::String(text)) => text.parse::<Nanos>().map_or(0.0, |ns| ns.0 as f64),
        (Grain::Size, Value::String(text)) => text.parse::<Bytes>().map_or(0.0, |bytes| bytes.0 as f64),
        (_, Value::Integer(number)) => *number as f64,
        (_, other) => other.as_float().unwrap_or(f64::NAN),
    };
    let (from, to) = (number(&file.from), number(&file.to));
    if !(from.is_finite() && to.is_finite() && from < to) {
        return Err(wrong("to", "a range goes up: `from` is less than `to`".into()));
    }
    let cut = if file.scale == ScaleFile::Linear { Cut::Linear } else { Cut::Log };
    if cut == Cut::Log && from <= 0.0 {
        return Err(wrong("from", "a logarithmic range begins above 0".into()));
    }
    match file.steps {
        Some(0) => return Err(wrong("steps", "expected a whole number from 1 on".into())),
        Some(steps) if steps > MOST_RUNS => return Err(wrong("steps", format!("more than {}", count(MOST_RUNS)))),
        None if file.scale != ScaleFile::Log2 => {
            return Err(wrong("", "how many values?".into()).help("give steps = N; only scale = \"log2\" needs none"));
        }
        _ => {}
    }
    let range = Range { from, to, steps: file.steps, cut, grain };
    let item = |value: &Value| axis::item(key, value).map_err(|message| wrong("from", message));
    let items = range.grid().iter().map(item).collect::<Result<_>>()?;
    Ok(Axis { key: key.into(), label: key.into(), values: Values::Range(range, items) })
}

/// An axis whose values have names and change several keys each.
fn named(text: &Text, at: &str, key: &str, table: &Table, keys: &[String]) -> Result<Axis> {
    if let Some(other) = table.keys().find(|other| *other != "label" && *other != "values") {
        let message = format!("{key}: unknown key `{}`", clip(other));
        return Err(text
            .error(&format!("{at}.{other}"), true, message)
            .help("named values are { label = \"...\", values = { NAME = { KEY = VALUE } } }"));
    }
    let label = match table.get("label") {
        None => key.to_string(),
        Some(Value::String(label)) if !label.is_empty() => label.clone(),
        Some(_) => return Err(text.error(&format!("{at}.label"), false, format!("{key}: a label is a text"))),
    };
    let path = format!("{at}.values");
    let Some(Value::Table(values)) = table.get("values") else {
        return Err(text.error(&path, false, format!("{key}: `values` is a table of named values")));
    };
    if values.is_empty() {
        return Err(text.error(&path, false, format!("{key}: no values")).help("give at least one"));
    }
    // Keys of values begin at the section that the axis names, if it names one.
    let section = keys.iter().any(|known| known.split('.').next() == Some(key));
    let mut items = Vec::new();
    for (name, value) in text.ordered(&path, values) {
        let place = format!("{path}.{name}");
        let Value::Table(sets) = value else {
            return Err(text.error(&place, false, format!("{key}: `{}` is not a table of keys", clip(name))));
        };
        let mut changes = Vec::new();
        for (leaf, value) in text.ordered(&place, sets) {
            let whole = if section { format!("{key}.{leaf}") } else { leaf.clone() };
            let at = format!("{place}.{leaf}");
            if !section && !OTHERS.contains(&whole.as_str()) {
                known(text, &at, &whole, keys)?;
            }
            let item =
                axis::item(&whole, value).map_err(|message| text.error(&at, false, format!("{whole}: {message}")))?;
            changes.extend(item.changes);
        }
        items.push(Item { shown: Shown::Text(name.clone()), changes, same: serde_json::Value::String(name.clone()) });
    }
    Ok(Axis { key: key.into(), label, values: Values::List(items) })
}

/// Refuses a key that no configuration has. Knobs of schemes are checked when configurations are merged.
pub(super) fn known(text: &Text, at: &str, key: &str, keys: &[String]) -> Result<()> {
    let knob = || key.match_indices('.').nth(1).is_some_and(|(end, _)| keys.iter().any(|known| *known == key[..end]));
    if keys.iter().any(|known| known == key) || knob() {
        return Ok(());
    }
    let all = keys.iter().map(String::as_str).chain(OTHERS);
    let leaf = key.rsplit_once('.').map_or(key, |(_, leaf)| leaf);
    let meant = nearest(key, all.clone())
        .or_else(|| keys.iter().map(String::as_str).find(|known| known.ends_with(&format!(".{leaf}"))));
    let help = meant
        .map_or_else(|| "`ssdlab config reference` lists the keys".into(), |meant| format!("did you mean `{meant}`?"));
    Err(text.error(at, true, format!("{}: unknown key", clip(key))).help(help))
}

/// The axes in the order of the file.
pub(crate) fn axes(text: &Text, table: &Table) -> Result<Vec<Axis>> {
    let keys = known_keys();
    let mut out: Vec<Axis> = Vec::new();
    let mut pending: Vec<(String, String, Value)> = Vec::new();
    collect(text, "axes", "", table, &mut pending);
    for (at, key, value) in pending {
        let axis = match &value {
            Value::Table(table) if table.contains_key("values") => named(text, &at, &key, table, &keys)?,
            other => {
                if !OTHERS.contains(&key.as_str()) {
                    known(text, &at, &key, &keys)?;
                }
                match other {
                    Value::Array(values) => list(text, &at, &key, key.clone(), values.clone())?,
                    Value::Table(table) => range(text, &at, &key, table)?,
                    _ => {
                        return Err(text
                            .error(&at, false, format!("{key}: an axis is a list of values or a range"))
                            .help(format!("write [{other}] for one value, or set it in [base]")));
                    }
                }
            }
        };
        let twice = out.iter().any(|other| other.key == axis.key || other.label == axis.label);
        if twice {
            let message = format!("the axis `{}` is named twice", clip(&axis.label));
            return Err(text.error(&at, true, message).help("list all its values once"));
        }
        out.push(axis);
    }
    Ok(out)
}

/// Axes by dotted key: a table that is neither a range nor named values is the first part of a key.
fn collect(text: &Text, at: &str, prefix: &str, table: &Table, out: &mut Vec<(String, String, Value)>) {
    const OWN: [&str; 6] = ["from", "to", "steps", "scale", "values", "label"];
    for (key, value) in text.ordered(at, table) {
        let (at, key) = (format!("{at}.{key}"), ssdlab_lab::document::join(prefix, key));
        match value {
            Value::Table(inner) if !inner.is_empty() && !inner.keys().any(|key| OWN.contains(&key.as_str())) => {
                collect(text, &at, &key, inner, out);
            }
            value => out.push((at, key, value.clone())),
        }
    }
}
