//! A TOML file with the place of every key: what a study and a fleet are read from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;
use toml::de::DeTable;

use ssdlab_lab::document::{join, syntax, walk};
use ssdlab_lab::error::{Error, KeyError, Kind, Result, Spot};
use ssdlab_lab::files::{directory, read_text};
use ssdlab_lab::names::{clip, nearest};
use ssdlab_trace::values::{self, Misfit, Wrong};

/// A file as read.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its name in messages.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Where its relative paths begin.
    pub directory: PathBuf,
    /// By dotted path: the bytes of the key and of the value. Entries of a list are `list[0]`.
    places: BTreeMap<String, (Range<usize>, Range<usize>)>,
}

impl Text {
    /// Reads a file; `what` names its purpose.
    ///
    /// # Errors
    /// It can't be read, or is not TOML.
    pub fn open(what: &str, path: &Path) -> Result<(Text, Table)> {
        let text = read_text(what, path)?;
        Text::new(path.display().to_string(), text, directory(path).to_path_buf())
    }

    /// A text in memory.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn new(name: String, text: String, directory: PathBuf) -> Result<(Text, Table)> {
        let wrong = |error: toml::de::Error| syntax(&name, &text, &error, 0);
        let table = toml::de::Deserializer::parse(&text).and_then(Table::deserialize).map_err(wrong)?;
        let spans = DeTable::parse(&text).map_err(wrong)?;
        let mut places = BTreeMap::new();
        walk(spans.get_ref(), "", &mut |path, key, value| {
            places.insert(path, (key, value));
        });
        Ok((Text { name, text, directory, places }, table))
    }

    /// An error at a key, or at its value.
    pub fn error(&self, path: &str, at_key: bool, message: impl Into<String>) -> Error {
        let error = Error::config(path, message);
        match self.spot(path, at_key) {
            Some(spot) => error.at(spot),
            None => error.note(format!("in {}", self.name)),
        }
    }

    /// The place of a key or of the innermost table around it that has one.
    pub fn spot(&self, path: &str, at_key: bool) -> Option<Spot> {
        let mut path = path;
        loop {
            if let Some((key, value)) = self.places.get(path) {
                let span = if at_key { key.clone() } else { value.clone() };
                return Some(Spot { name: self.name.clone(), text: self.text.clone(), span, label: String::new() });
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    /// Whether there is such a key.
    pub fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// The keys of a table in the order of the file.
    pub fn ordered<'t, V>(
        &self,
        parent: &str,
        table: impl IntoIterator<Item = (&'t String, V)>,
    ) -> Vec<(&'t String, V)> {
        let mut keys: Vec<(&String, V)> = table.into_iter().collect();
        keys.sort_by_key(|(key, _)| self.places.get(&join(parent, key)).map(|(key, _)| key.start));
        keys
    }

    /// Reads the document into a type with fixed keys.
    ///
    /// # Errors
    /// A key is unknown, or a value has the wrong type.
    pub fn read<T: DeserializeOwned>(&self, table: Table) -> Result<T> {
        values::read(table).map_err(|misfit| self.explain(&misfit))
    }

    fn explain(&self, misfit: &Misfit) -> Error {
        let path = misfit.path.as_str();
        if let Wrong::UnknownKey { given, known } = &misfit.fault {
            let meant = nearest(given, known.iter().copied());
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if known.is_empty() => String::new(),
                None => format!("the keys here are {}", ssdlab_lab::document::names(known)),
            };
            let expected = known.iter().map(ToString::to_string).collect();
            let known = KeyError { key: path.into(), nearest: meant.map(String::from), expected };
            let error = Error::new(Kind::Config(Box::new(known)), format!("{}: unknown key", clip(path))).help(help);
            return match self.spot(path, true) {
                Some(spot) => error.at(spot),
                None => error,
            };
        }
        self.error(path, false, misfit.to_string())
    }

    /// A path of the file, relative to it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }
}
