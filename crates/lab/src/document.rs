//! TOML documents: their keys with places, their errors in plain words.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Spot};

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
    let marked = text.get(span.clone()).unwrap_or_default();
    let digits = marked.strip_prefix(['-', '+']).unwrap_or(marked);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let message = match error.message().trim() {
        _ if is_number && marked.replace('_', "").parse::<i64>().is_err() => format!("{marked} is beyond 64 bits"),
        message => message.into(),
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
