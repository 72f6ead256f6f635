//! Fields of results that were read back.

use serde_json::Value;
use ssdlab_figures::figure::{Cell, Table};

/// A field of a JSON value by its place, such as `/latency_ns/read/p99`.
pub fn number(value: &Value, place: &str) -> Option<f64> {
    value.pointer(place).and_then(Value::as_f64)
}

/// A text of a JSON value by its place.
pub fn text<'v>(value: &'v Value, place: &str) -> &'v str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// Some fields of a list of objects as a table, with its numbers as they are.
pub fn table(list: &Value, columns: &[&str]) -> Table {
    let cell = |value: &Value| match (value.as_u64(), value.as_f64()) {
        (Some(whole), _) => Cell::from(whole),
        (None, Some(number)) => Cell::Real(number),
        (None, None) if value.is_null() => Cell::Null,
        (None, None) => Cell::Text(shown(value)),
    };
    let mut table = Table::new(columns);
    let rows = list.as_array().into_iter().flatten();
    table.rows.extend(rows.map(|row| columns.iter().map(|name| cell(&row[*name])).collect::<Vec<_>>()));
    table
}

/// A value of a configuration as text.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The keys of a configuration, with their values as text.
pub fn flat(config: &Value) -> Vec<(String, String)> {
    fn walk(key: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    walk(&if key.is_empty() { name.clone() } else { format!("{key}.{name}") }, value, out);
                }
            }
            value => out.push((key.into(), shown(value))),
        }
    }
    let mut out = Vec::new();
    walk("", config, &mut out);
    out
}
