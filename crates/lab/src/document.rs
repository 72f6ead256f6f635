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
    let message = match wide(marked) {
        Some(number) => format!("{number} is beyond 64 bits"),
        None => error.message().trim().into(),
    };
    Error::config("", message.replace('\n', ", ")).at(Spot {
        name: name.into(),
        text: text.into(),
        span,
        label: String::new(),
    })
}

/// A whole number of TOML in decimal, if it is beyond 64 bits and has at most 128.
fn wide(text: &str) -> Option<String> {
    let plain = text.replace('_', "");
    let (radix, digits) = match plain.get(..2) {
        Some("0x") => (16, &plain[2..]),
        Some("0o") => (8, &plain[2..]),
        Some("0b") => (2, &plain[2..]),
        _ => (10, plain.as_str()),
    };
    match i128::from_str_radix(digits, radix) {
        Ok(number) if i64::try_from(number).is_ok() || u64::try_from(number).is_ok() => None,
        Ok(number) => Some(number.to_string()),
        Err(_) => u128::from_str_radix(digits, radix).ok().map(|number| number.to_string()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_64_bits_are_found_in_every_notation() {
        for (text, number) in [
            ("9223372036854775807", None),
            ("-9223372036854775808", None),
            ("9_223_372_036_854_775_808", None),
            ("18_446_744_073_709_551_616", Some("18446744073709551616")),
            ("-9223372036854775809", Some("-9223372036854775809")),
            ("0xffff_ffff_ffff_ffff", None),
            ("0x1_0000_0000_0000_0000", Some("18446744073709551616")),
            ("0b1", None),
            ("340282366920938463463374607431768211455", Some("340282366920938463463374607431768211455")),
            ("1e40", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(wide(text).as_deref(), number, "{text}");
        }
    }
}
