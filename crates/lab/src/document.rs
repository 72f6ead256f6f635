//! TOML documents: their keys with places, their errors in plain words.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Spot};

/// Replaces the names of Rust types by plain words.
pub fn plain_types(message: &str) -> String {
    let (said, expected) = message.split_once("expected ").unwrap_or((message, ""));
    let expected = match expected.trim_end() {
        "u32" | "u16" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number, not negative",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a table of keys",
        other => return if other.is_empty() { message.trim_end().into() } else { format!("{said}expected {other}") },
    };
    format!("{said}expected {expected}")
}

/// The words between backticks.
pub fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Names between backticks, in a row.
pub fn names(list: &[&str]) -> String {
    list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A dotted key.
pub fn join(parent: &str, leaf: &str) -> String {
    if parent.is_empty() { leaf.into() } else { format!("{parent}.{leaf}") }
}

/// A TOML syntax error, shown where it is.
pub fn syntax(name: &str, text: &str, error: &toml::de::Error, shift: usize) -> Error {
    let span = error.span().map_or(text.len()..text.len(), |span| span.start + shift..span.end + shift);
    let message = match error.message() {
        wide if wide.contains(" as i128") || wide.contains(" as u128") => {
            format!("{} is beyond 64 bits", quoted(wide).first().copied().unwrap_or("the number"))
        }
        message => plain_types(message.trim()),
    };
    Error::config("", message.replace('\n', ", ")).at(Spot {
        name: name.into(),
        text: text.into(),
        span,
        label: String::new(),
    })
}

/// Calls `f(path, span of the key, span of the value)` for every key of a document, tables included, and for every entry of a list
/// (`nvme.queues[0]`, whose key is the entry itself).
pub fn walk(table: &DeTable<'_>, parent: &str, f: &mut impl FnMut(String, Range<usize>, Range<usize>)) {
    for (key, value) in table.iter() {
        let path = join(parent, key.get_ref());
        f(path.clone(), key.span(), value.span());
        walk_below(value, &path, f);
    }
}

/// [`walk`] for what a value holds.
pub fn walk_below(value: &Spanned<DeValue<'_>>, path: &str, f: &mut impl FnMut(String, Range<usize>, Range<usize>)) {
    match value.get_ref() {
        DeValue::Table(inner) => walk(inner, path, f),
        DeValue::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                let path = format!("{path}[{i}]");
                f(path.clone(), item.span(), item.span());
                walk_below(item, &path, f);
            }
        }
        _ => {}
    }
}
