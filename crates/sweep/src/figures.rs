//! Numbers of a summary by their dotted paths, read without building the summary: tables of many runs need nothing else of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A number of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A count or a time; at most `i64::MAX`, so that tables can hold it.
    Whole(u64),
    /// Anything else.
    Real(f64),
}

/// Paths by number, in the order in which they were met. Threads share them.
#[derive(Debug, Default)]
pub struct Paths {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<String, usize>,
    paths: Vec<String>,
}

impl Paths {
    /// The number of a path.
    pub fn number(&self, path: &str) -> usize {
        let known = |known: &Known| known.numbers.get(path).copied();
        if let Some(number) = known(&self.known.read().unwrap_or_else(PoisonError::into_inner)) {
            return number;
        }
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known(&all) {
            return number;
        }
        all.paths.push(path.into());
        let number = all.paths.len() - 1;
        all.numbers.insert(path.into(), number);
        number
    }

    /// The path of a number.
    pub fn path(&self, number: usize) -> String {
        self.known.read().unwrap_or_else(PoisonError::into_inner).paths[number].clone()
    }
}

/// The numbers of a summary in its order, except those of some sections. Lists have no paths.
///
/// # Errors
/// The text is not JSON.
pub fn read(summary: &str, paths: &Paths, without: &[&str]) -> serde_json::Result<Vec<(usize, Figure)>> {
    let (mut path, mut found) = (String::new(), Vec::new());
    let mut text = serde_json::Deserializer::from_str(summary);
    Section { paths, without, path: &mut path, found: &mut found }.deserialize(&mut text)?;
    text.end().map(|()| found)
}

struct Section<'s> {
    paths: &'s Paths,
    without: &'s [&'s str],
    path: &'s mut String,
    found: &'s mut Vec<(usize, Figure)>,
}

impl Section<'_> {
    fn put(self, figure: Figure) {
        let number = self.paths.number(self.path);
        self.found.push((number, figure));
    }
}

impl<'de> DeserializeSeed<'de> for Section<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Section<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a summary")
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.put(match i64::try_from(value) {
            Ok(_) => Figure::Whole(value),
            Err(_) => Figure::Real(value as f64),
        });
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.put(Figure::Real(value as f64));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.put(Figure::Real(value));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Section { paths, without, path, found } = self;
        let length = path.len();
        while entries.next_key_seed(Key(path))?.is_some() {
            if length == 0 && without.contains(&path.as_str()) {
                entries.next_value::<IgnoredAny>()?;
            } else {
                entries.next_value_seed(Section { paths, without, path, found })?;
            }
            path.truncate(length);
        }
        Ok(())
    }
}

struct Key<'k>(&'k mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<(), D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.0.push_str(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_paths() {
        let paths = Paths::default();
        paths.number("b.c");
        let text = r#"{ "a": { "x": 9 }, "b": { "c": 1, "d": [{ "e": 2 }], "f": null, "g": { "h": -3, "i": 0.5 } }, "j": "k",
            "l": 18446744073709551615, "m": true }"#;
        let found = read(text, &paths, &["a", "g"]).unwrap();
        let found: Vec<(String, Figure)> =
            found.into_iter().map(|(number, figure)| (paths.path(number), figure)).collect();
        let want = [
            ("b.c", Figure::Whole(1)),
            ("b.g.h", Figure::Real(-3.0)),
            ("b.g.i", Figure::Real(0.5)),
            ("l", Figure::Real(18_446_744_073_709_551_615.0)),
        ];
        assert_eq!(found, want.map(|(path, figure)| (path.to_string(), figure)));
        assert_eq!(paths.number("b.c"), 0, "numbers stay");
        assert!(read("{ \"a\": 1", &paths, &[]).is_err() && read("{} {}", &paths, &[]).is_err());
    }
}
