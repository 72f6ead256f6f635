//! The layers of a configuration: built-in defaults, a preset, files, `--set` arguments, and where each value came from.
//!
//! Every layer is parsed twice by the same parser, once for values and once for their places in the text, and merged key
//! by key. The result is read into [`Config`] in one step; an error is shown with a caret in the text that set the value.
//! The environment is not consulted, and no path in a configuration is expanded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_trace::values::{self, Misfit, Wrong};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::document::{join, names, syntax, walk, walk_below};
use crate::error::{Error, KeyError, Kind, Result, Spot};
pub use crate::files::Document;
use crate::files::{Files, read_text};
use crate::foreign::Imported;
use crate::names::{clip, nearest};
use crate::presets;
use crate::tree;

/// A text that sets values.
#[derive(Clone, Debug)]
struct Layer {
    name: String,
    text: String,
}

/// Where a value was set last.
#[derive(Clone, Debug)]
struct KeyPlace {
    layer: usize,
    key: Range<usize>,
    value: Range<usize>,
}

/// One key that a program changes.
#[derive(Clone, Debug)]
pub enum Change {
    /// `KEY=VALUE`.
    Set(String),
    /// An optional key loses its value.
    Unset(String),
}

/// Where a configuration comes from; each layer overrides the ones before it.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Name of a preset.
    pub preset: Option<String>,
    /// What files of other simulators became; it overrides the preset.
    pub imported: Option<Imported>,
    /// Configuration files, in order.
    pub files: Vec<Document>,
    /// `KEY=VALUE` arguments, in order.
    pub sets: Vec<String>,
    /// Changes of a program that embeds this crate, in order; they come after `sets`.
    pub changes: Vec<Change>,
    /// `KEY=VALUE` of a variant of a comparison; it overrides all others.
    pub varied: Vec<String>,
}

impl Sources {
    /// Registers the files that are read.
    pub fn read_by(&self, files: &mut Files) {
        self.imported.iter().flat_map(|imported| &imported.files).for_each(|path| files.reads("--import", path));
        for document in &self.files {
            if let Document::File(path) = document {
                files.reads("the configuration", path);
            }
        }
    }

    /// The same with the content that its files have now.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn frozen(mut self) -> Result<Sources> {
        for document in &mut self.files {
            if let Document::File(path) = document {
                *document = Document::Text { name: path.display().to_string(), text: read(path)? };
            }
        }
        Ok(self)
    }
}

/// A value as the right side of `KEY=VALUE`. A text is quoted only where it would be read as something else.
pub fn argument(value: &Value) -> String {
    match value {
        Value::String(text) if matches!(argument_value(text), Ok(Value::String(read)) if read == *text) => text.clone(),
        other => other.to_string(),
    }
}

/// `KEY=VALUE` as a line of TOML. A value that can't be read stays as it is.
pub fn assignment(set: &str) -> String {
    match set.split_once('=') {
        Some((key, value)) => match argument_value(value) {
            Ok(read) => format!("{} = {read}", key.trim()),
            Err(_) => format!("{} = {}", key.trim(), value.trim()),
        },
        None => set.into(),
    }
}

/// The value of the right side of `KEY=VALUE`: TOML, or a text without quotes.
fn argument_value(text: &str) -> std::result::Result<Value, toml::de::Error> {
    let text = text.trim();
    match DeValue::parse(text).and_then(|parsed| Value::deserialize(toml::de::ValueDeserializer::from(parsed))) {
        // Digits, brackets and quotes start TOML: a syntax error in them must not turn the value into a string.
        Err(error) if text.starts_with(['[', '{', '"', '\'']) || text.bytes().all(|b| b.is_ascii_digit()) => Err(error),
        Err(_) => Ok(Value::String(text.into())),
        value => value,
    }
}

/// A configuration with the origin of its values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The effective configuration, checked.
    pub config: Config,
    sources: Sources,
    layers: Vec<Layer>,
    places: BTreeMap<String, KeyPlace>,
}

impl Settings {
    /// Merges the layers and checks the result.
    ///
    /// # Errors
    /// As [`Settings::merge`] and [`Settings::checked`].
    pub fn load(sources: &Sources) -> Result<Settings> {
        Settings::merge(sources)?.checked()
    }

    /// Merges the layers and reads every value, without checking whether the values work together.
    ///
    /// # Errors
    /// A file can't be read, a text is not TOML, a key is unknown, or a value has the wrong type.
    pub fn merge(sources: &Sources) -> Result<Settings> {
        let mut merge = Merge::default();
        if let Some(name) = &sources.preset {
            let preset = presets::find(name)?;
            merge.text(format!("preset {}", preset.name), preset.text.to_string())?;
        }
        if let Some(imported) = &sources.imported {
            merge.import(imported.clone());
        }
        for document in &sources.files {
            match document {
                Document::File(path) => {
                    merge
                        .text(path.display().to_string(), read(path)?)
                        .map_err(|fault| perhaps_a_trace(fault, path))?;
                }
                Document::Text { name, text } => merge.text(name.clone(), text.clone())?,
            }
        }
        for set in &sources.sets {
            merge.set("--set", set)?;
        }
        for change in &sources.changes {
            match change {
                Change::Set(set) => merge.set("--set", set)?,
                Change::Unset(key) => merge.unset(key)?,
            }
        }
        for set in &sources.varied {
            merge.set("--vary", set)?;
        }
        Ok(Settings { sources: sources.clone(), ..merge.settle()? })
    }

    /// Checks that the values work together.
    ///
    /// # Errors
    /// The rule that the configuration breaks, at the place that set the key.
    pub fn checked(self) -> Result<Settings> {
        match self.config.check() {
            Ok(()) => Ok(self),
            Err(error) => Err(self.refuse(&error)),
        }
    }

    /// A configuration from a text in memory; messages call it `name`.
    pub fn parse(name: &str, text: &str) -> Result<Settings> {
        let mut merge = Merge::default();
        merge.text(name.into(), text.into())?;
        merge.settle()?.checked()
    }

    /// The configuration that files of other simulators make by themselves, checked.
    ///
    /// # Errors
    /// The rule that it breaks, at the place in the user's file.
    pub fn imported(imported: &Imported) -> Result<Settings> {
        let mut merge = Merge::default();
        merge.import(imported.clone());
        merge.settle()?.checked()
    }

    /// A configuration without the origin of its values.
    pub fn of(config: Config) -> Settings {
        Settings { config, ..Settings::default() }
    }

    /// Where it comes from; empty for a text in memory.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// A message about a key, with the place that set it.
    pub fn refuse(&self, error: &ConfigError) -> Error {
        let fault = Error::config(&*error.key, format!("{}: {}", error.key, error.message)).help(error.help.as_str());
        match place_of(&self.places, &error.key) {
            Some(place) => fault.at(spot(&self.layers, place, false)),
            None => fault.note(format!("`{}` has its default value", error.key)),
        }
    }

    /// The origin of a key: `default`, or the layer and the line in it.
    pub fn origin(&self, key: &str) -> String {
        match place_of(&self.places, key) {
            None => "default".into(),
            Some(place) => {
                let layer = &self.layers[place.layer];
                if layer.name.starts_with("--") {
                    return layer.name.clone();
                }
                let line = 1 + layer.text[..place.key.start].matches('\n').count();
                format!("{}:{line}", layer.name)
            }
        }
    }

    /// Digest of the effective configuration: equal digests mean equal runs of the same trace, seed and version.
    pub fn digest(&self) -> String {
        digest(&self.config)
    }

    /// The effective configuration: every section with every key, in the order of the reference. A key without a value is null.
    pub fn values(&self) -> Map<String, Json> {
        let tree = tree::config(&self.config);
        let section = |(section, keys): (String, Vec<(String, Json)>)| {
            // A key added after the first digests is not written at its default, so that old digests stay valid.
            let value = |(key, default): (String, Json)| {
                let value = tree[&section].get(&key).cloned().unwrap_or(default);
                (key, value)
            };
            let keys: Map<String, Json> = keys.into_iter().map(value).collect();
            (section, Json::Object(keys))
        };
        crate::schema::keys().into_iter().map(section).collect()
    }

    /// The value of a dotted key, of a section, or of a knob of a scheme; null where it has none.
    ///
    /// # Errors
    /// The key is unknown; the error names the nearest known one.
    pub fn value(&self, key: &str) -> Result<Json> {
        let values = Json::Object(self.values());
        match key.split('.').try_fold(&values, |value, part| value.get(part)) {
            Some(value) => Ok(value.clone()),
            None => {
                let known = known_keys();
                let meant = nearest(key, known.iter().map(String::as_str));
                let detail = KeyError { key: key.into(), nearest: meant.map(String::from), expected: Vec::new() };
                let help = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`?"));
                Err(Error::new(Kind::Config(Box::new(detail)), format!("{}: unknown key", clip(key))).help(help))
            }
        }
    }

    /// The effective configuration as TOML, section by section in the order of the reference, with the origin of each
    /// value beside it. Reading it back gives the same configuration.
    pub fn show(&self) -> String {
        self.written(|key, value| {
            let leaf = key.split_once('.').map_or(key, |(_, leaf)| leaf);
            let line = value.map_or_else(|| format!("# {leaf} is not set"), |text| format!("{leaf} = {text}"));
            Some(format!("{line:<43} # {}\n", self.origin(key)))
        })
    }

    /// The effective configuration as TOML, every key that has a value. Equal configurations give equal texts.
    pub fn toml(&self) -> String {
        self.written(|key, value| {
            let leaf = key.split_once('.').map_or(key, |(_, leaf)| leaf);
            value.map(|text| format!("{leaf} = {text}\n"))
        })
    }

    /// `KEY=VALUE` for every key that differs from the built-in default: with them the command line gives the same
    /// configuration.
    pub fn arguments(&self) -> Vec<String> {
        let (values, defaults) = (self.values(), Settings::default().values());
        let mut arguments = Vec::new();
        for (section, keys) in &values {
            for (key, value) in crate::schema::entries(keys) {
                if defaults[section].get(key) != Some(value)
                    && let Some(text) = inline(value)
                {
                    arguments.push(format!("{section}.{key}={text}"));
                }
            }
        }
        arguments
    }

    /// Every section, its keys through `line`.
    fn written(&self, line: impl Fn(&str, Option<String>) -> Option<String>) -> String {
        let mut out = String::new();
        for (section, keys) in &self.values() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("[{section}]\n"));
            let lines = crate::schema::entries(keys)
                .filter_map(|(key, value)| line(&format!("{section}.{key}"), inline(value)));
            out.extend(lines);
        }
        out
    }
}

impl Default for Settings {
    /// The built-in defaults.
    fn default() -> Settings {
        let (config, sources) = (Config::default(), Sources::default());
        Settings { config, sources, layers: Vec::new(), places: BTreeMap::new() }
    }
}

/// The configuration of a table. Every reader of configurations calls this, because the code that reads one has half a megabyte,
/// and is there again for each format and each crate that reads one by itself.
///
/// # Errors
/// The first key or value that does not fit.
pub fn config(table: Table) -> std::result::Result<Config, Misfit> {
    values::read(table)
}

/// Digest of a configuration.
pub fn digest(config: &Config) -> String {
    let text = serde_json::to_string(config).expect("a configuration is plain data");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// A value as TOML on one line; nothing for an option that is not set.
fn inline(value: &Json) -> Option<String> {
    Some(match value {
        Json::Null => return None,
        Json::Array(items) => format!("[{}]", items.iter().filter_map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .filter_map(|(key, value)| Some(format!("{} = {}", toml_key(key), inline(value)?)))
                .collect();
            // A scheme with all knobs at their defaults is written as its name.
            if let [one] = &entries[..]
                && let Some(name) = one.strip_suffix(" = {}")
            {
                return Some(Value::String(name.trim_matches(['"', '\'']).into()).to_string());
            }
            if entries.is_empty() { "{}".into() } else { format!("{{ {} }}", entries.join(", ")) }
        }
        Json::String(text) => Value::String(text.clone()).to_string(),
        other => other.to_string(),
    })
}

fn toml_key(key: &str) -> String {
    let bare = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare && !key.is_empty() { key.into() } else { Value::String(key.into()).to_string() }
}

/// The place of a key, or of the innermost table or list around it that has one.
fn place_of<'p>(places: &'p BTreeMap<String, KeyPlace>, key: &str) -> Option<&'p KeyPlace> {
    let mut key = key;
    loop {
        if let Some(place) = places.get(key) {
            return Some(place);
        }
        let (outer, _) = key.rsplit_once(['.', '['])?;
        // The header of a section is not the place of a key that it does not set; the slot of a scheme is.
        if !outer.contains('.') {
            return None;
        }
        key = outer;
    }
}

fn spot(layers: &[Layer], place: &KeyPlace, at_key: bool) -> Spot {
    let layer = &layers[place.layer];
    let span = if at_key { place.key.clone() } else { place.value.clone() };
    Spot { name: layer.name.clone(), text: layer.text.clone(), span, label: String::new() }
}

fn read(path: &Path) -> Result<String> {
    read_text("configuration", path).map_err(|fault| match path.to_str().and_then(|name| presets::find(name).ok()) {
        Some(preset) => fault.help(format!("a preset of that name exists: --preset {}", preset.name)),
        None => fault,
    })
}

/// What to do about a file that is not TOML, by its name.
fn perhaps_a_trace(fault: Error, path: &Path) -> Error {
    match path.extension() {
        Some(ending) if ending.eq_ignore_ascii_case("toml") => fault,
        _ => fault.help(format!(
            "a configuration is a TOML file; if this is a trace: --trace {}",
            crate::names::clip(&path.to_string_lossy())
        )),
    }
}

/// The layers merged so far.
#[derive(Default)]
struct Merge {
    layers: Vec<Layer>,
    places: BTreeMap<String, KeyPlace>,
    tree: Table,
}

impl Merge {
    /// Adds a TOML document. Sections merge key by key; a scheme slot is replaced as a whole, knobs and all.
    fn text(&mut self, name: String, text: String) -> Result<()> {
        let layer = self.layers.len();
        let table: Table = toml::de::Deserializer::parse(&text)
            .and_then(Table::deserialize)
            .map_err(|error| syntax(&name, &text, &error, 0))?;
        let spans = DeTable::parse(&text).map_err(|error| syntax(&name, &text, &error, 0))?;
        self.layers.push(Layer { name, text: text.clone() });
        let mut places = Vec::new();
        walk(spans.get_ref(), "", &mut |path, key, value| places.push((path, KeyPlace { layer, key, value })));
        for (path, place) in places {
            self.forget_below(&path, &table);
            self.places.insert(path, place);
        }
        for (section, value) in table {
            match (self.tree.get_mut(&section), value) {
                (Some(Value::Table(old)), Value::Table(new)) => old.extend(new),
                (_, value) => drop(self.tree.insert(section, value)),
            }
        }
        Ok(())
    }

    /// Adds what files of other simulators set, each value with its place in them.
    fn import(&mut self, imported: Imported) {
        let first = self.layers.len();
        self.layers.extend(imported.texts.into_iter().map(|(name, text)| Layer { name, text }));
        for setting in imported.settings {
            let place = match setting.place {
                Some((file, key, value)) => KeyPlace { layer: first + file, key, value },
                None => {
                    let text = format!("{} = {}", setting.key, setting.value);
                    let (key, value) = (0..setting.key.len(), setting.key.len() + 3..text.len());
                    let name = format!("--import: the original's default of {}", setting.from);
                    self.layers.push(Layer { name, text });
                    KeyPlace { layer: self.layers.len() - 1, key, value }
                }
            };
            self.forget(setting.key);
            self.places.insert(setting.key.into(), place);
            let path: Vec<String> = setting.key.split('.').map(String::from).collect();
            put(&mut self.tree, &path, setting.value, 0, path[0] == "schemes");
        }
    }

    /// Setting a slot again discards the places of its previous knobs.
    fn forget_below(&mut self, path: &str, table: &Table) {
        let depth = path.matches('.').count();
        let whole = depth == 0 && !table.get(path).is_some_and(Value::is_table);
        if whole || depth == 1 {
            self.forget(path);
        }
    }

    /// Adds one `KEY=VALUE` argument.
    fn set(&mut self, option: &'static str, argument: &str) -> Result<()> {
        let wrong = |message: String, span: Range<usize>| {
            Error::usage(message)
                .at(Spot { name: option.into(), text: argument.into(), span, label: String::new() })
                .help(format!(
                    "write {option} KEY=VALUE, such as {option} gc.threshold=0.05 or {option} schemes.victim=fifo"
                ))
        };
        let Some(equals) = argument.find('=') else {
            return Err(wrong("no `=` after the key".into(), argument.len()..argument.len()));
        };
        let (key, value_text) = (&argument[..equals], &argument[equals + 1..]);
        if value_text.trim().is_empty() {
            return Err(wrong(format!("no value for `{}`", clip(key.trim())), equals..argument.len()));
        }
        let path = key_path(key).ok_or_else(|| wrong("not a dotted key".into(), 0..equals))?;
        let lead = equals + 1 + value_text.len() - value_text.trim_start().len();
        let value_span = lead..lead + value_text.trim().len();
        let value = argument_value(value_text).map_err(|error| syntax(option, argument, &error, lead))?;
        let layer = self.layers.len();
        self.layers.push(Layer { name: option.into(), text: argument.into() });
        let (dotted, key_span) = (path.join("."), 0..key.trim_end().len());
        let place = |key: Range<usize>, value: Range<usize>| KeyPlace { layer, key, value };
        let slots = path[0] == "schemes";
        if slots && path.len() > 2 && !self.slot_holds(&path[1], &path[2]) {
            let slot = path[..2].join(".");
            self.forget(&slot);
            self.places.insert(slot, place(key_span.clone(), value_span.clone()));
        }
        if !value.is_table() || path.len() > 1 {
            self.forget(&dotted);
        }
        if let Ok(parsed) = DeValue::parse(value_text.trim()) {
            walk_below(&parsed, &dotted, &mut |path, key, value| {
                let shifted = |span: Range<usize>| span.start + lead..span.end + lead;
                self.places.insert(path, place(shifted(key), shifted(value)));
            });
        }
        self.places.insert(dotted, place(key_span, value_span));
        put(&mut self.tree, &path, value, 0, slots);
        Ok(())
    }

    /// Takes the value of an optional key away.
    fn unset(&mut self, key: &str) -> Result<()> {
        let section = key.split_once('.').map_or(key, |(section, _)| section);
        let leaf = key.get(section.len() + 1..).unwrap_or_default();
        let known = crate::schema::keys().into_iter().find(|(name, _)| name == section);
        let default =
            known.and_then(|(_, keys)| keys.into_iter().find(|(name, _)| name == leaf)).map(|(_, value)| value);
        match default {
            Some(Json::Null) => {
                if let Some(Value::Table(table)) = self.tree.get_mut(section) {
                    table.remove(leaf);
                }
                self.forget(key);
                self.places.remove(key);
                Ok(())
            }
            Some(value) => {
                let default = inline(&value).unwrap_or_default();
                Err(Error::config(key, format!("{key}: the key is not optional, so it can't be unset"))
                    .help(format!("give it a value; its default is {default}")))
            }
            // As any other unknown key.
            None => self.set("--set", &format!("{key}=0")),
        }
    }

    /// Whether a slot holds a scheme, by name or with knobs.
    fn slot_holds(&self, slot: &str, scheme: &str) -> bool {
        match self.tree.get("schemes").and_then(|schemes| schemes.get(slot)) {
            Some(Value::String(name)) => name == scheme,
            Some(Value::Table(table)) => table.contains_key(scheme),
            _ => false,
        }
    }

    /// Forgets the places of everything below a key.
    fn forget(&mut self, key: &str) {
        for below in [format!("{key}."), format!("{key}[")] {
            // Only the keys below are visited: a file may set any number of keys.
            let known = self.places.range(below.clone()..).map(|(known, _)| known);
            let gone: Vec<String> = known.take_while(|known| known.starts_with(&below)).cloned().collect();
            for key in gone {
                self.places.remove(&key);
            }
        }
    }

    /// The configuration of the merged layers.
    fn settle(self) -> Result<Settings> {
        let config = self.config()?;
        Ok(Settings { config, sources: Sources::default(), layers: self.layers, places: self.places })
    }

    fn config(&self) -> Result<Config> {
        if let Some((path, value)) = odd_number("", &self.tree) {
            let fault = Error::config(&*path, format!("{path}: {value} is not a usable number"));
            return Err(self.at(fault, &path, false).help("expected a finite number that is not negative zero"));
        }
        config(self.tree.clone()).map_err(|misfit| self.explain(&misfit))
    }

    fn at(&self, fault: Error, path: &str, at_key: bool) -> Error {
        match self.places.get(path).or_else(|| place_of(&self.places, path)) {
            Some(place) => fault.at(spot(&self.layers, place, at_key)),
            None => fault,
        }
    }

    /// The message of a value that does not fit its key.
    fn explain(&self, misfit: &Misfit) -> Error {
        let path = misfit.path.as_str();
        let (message, help, meant, expected) = match &misfit.fault {
            Wrong::UnknownKey { known, .. } => return self.unknown_key(path, known),
            Wrong::UnknownName { given, known } => {
                let meant = nearest(given, known.iter().copied());
                let help = match meant {
                    Some(name) => format!("did you mean `{name}`? The values are {}", names(known)),
                    None => format!("the values are {}", names(known)),
                };
                (format!("`{}` is not one of its values", clip(given)), help, meant, *known)
            }
            Wrong::NoName { known } => {
                let wrong = self.value(path).map_or("no value".into(), |value| format!("`{value}`"));
                let message = format!("{} is not one of its values", clip(&wrong));
                (message, format!("the values are {}", names(known)), None, *known)
            }
            Wrong::Said(_) if crate::schema::is_of("PageTimes", path) => {
                (page_times(self.value(path)), String::new(), None, &[][..])
            }
            fault => (fault.to_string(), String::new(), None, &[][..]),
        };
        let expected = expected.iter().map(ToString::to_string).collect();
        let known = KeyError { key: path.into(), nearest: meant.map(String::from), expected };
        let error = Error::new(Kind::Config(Box::new(known)), format!("{path}: {message}"));
        self.at(error, path, false).help(help)
    }

    /// A key that its table does not have: the nearest key there, or of its name elsewhere.
    fn unknown_key(&self, path: &str, known: &[&str]) -> Error {
        let (parent, leaf) = path.rsplit_once('.').unwrap_or(("", path));
        let all = known_keys();
        let here: Vec<String> = known.iter().map(|name| join(parent, name)).collect();
        let meant = nearest(path, here.iter().map(String::as_str))
            .or_else(|| all.iter().map(String::as_str).find(|key| key.rsplit_once('.').is_some_and(|(_, l)| l == leaf)))
            .or_else(|| nearest(path, all.iter().map(String::as_str)));
        let help = match meant {
            Some(key) => format!("did you mean `{key}`?"),
            None if known.is_empty() => String::new(),
            None if parent.is_empty() => format!("the sections are {}", names(known)),
            None => format!("the keys of `{parent}` are {}", names(known)),
        };
        let known = KeyError { key: path.into(), nearest: meant.map(String::from), expected: here };
        let error = Error::new(Kind::Config(Box::new(known)), format!("{}: unknown key", clip(path)));
        self.at(error, path, true).help(help)
    }

    fn value(&self, path: &str) -> Option<&Value> {
        let mut parts = segments(path);
        let first = self.tree.get(parts.next()?)?;
        parts.try_fold(first, |value, part| match part.parse::<usize>() {
            Ok(place) => value.get(place),
            Err(_) => value.get(part),
        })
    }
}

/// The keys and places in lists of a path such as `nvme.queues[0].match`.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[']).map(|part| part.trim_end_matches(']'))
}

/// Why a value is neither a duration nor a list of durations.
fn page_times(value: Option<&Value>) -> String {
    let texts: Vec<&Value> = match value {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(other) => vec![other],
        None => Vec::new(),
    };
    let wrong = texts.iter().find_map(|text| match text {
        Value::String(text) => text.parse::<ssdlab_sim::units::Nanos>().err(),
        other => Some(format!("{other} has no unit")),
    });
    format!(
        "{}; expected a duration such as \"50us\", or a list by page type such as [\"50us\", \"90us\", \"110us\"]",
        wrong.unwrap_or_else(|| "not a duration".into()).split(": expected").next().unwrap_or_default()
    )
}

/// Every dotted key of a configuration; a scheme slot is one key.
pub fn known_keys() -> Vec<String> {
    let sections = crate::schema::keys().into_iter();
    sections.flat_map(|(section, keys)| keys.into_iter().map(move |(key, _)| format!("{section}.{key}"))).collect()
}

/// The segments of a dotted key.
pub(crate) fn key_path(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '#', '[']) {
        return None;
    }
    let document = format!("{key}=0");
    let parsed = DeTable::parse(&document).ok()?;
    let mut path = Vec::new();
    let mut table = parsed.get_ref();
    loop {
        let (key, value) = table.iter().next()?;
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => return Some(path),
        }
    }
}

/// Sets one value. Sections merge and the value itself is replaced. A key that goes into a scheme slot
/// (`schemes.collector.pagc.cache`) keeps the other knobs if the slot holds that scheme, and chooses the scheme if not.
fn put(table: &mut Table, path: &[String], value: Value, depth: usize, slots: bool) {
    let (key, rest) = (&path[0], &path[1..]);
    if rest.is_empty() {
        match (table.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) if depth == 0 => old.extend(new),
            (_, value) => drop(table.insert(key.clone(), value)),
        }
        return;
    }
    let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
    // From `schemes.SLOT` on, scheme names and knobs alternate, and a slot holds one scheme only.
    let names_scheme = slots && depth % 2 == 1;
    let kept = match inner {
        Value::Table(_) if !names_scheme => true,
        Value::Table(old) => old.contains_key(&rest[0]),
        _ => false,
    };
    if !kept {
        *inner = Value::Table(Table::new());
    }
    if let Value::Table(inner) = inner {
        put(inner, rest, value, depth + 1, slots);
    }
}

/// The first number that is not finite, or is a negative zero.
fn odd_number(parent: &str, table: &Table) -> Option<(String, String)> {
    fn look(path: &str, value: &Value) -> Option<(String, String)> {
        match value {
            Value::Float(number) if !number.is_finite() || (*number == 0.0 && number.is_sign_negative()) => {
                Some((path.into(), value.to_string()))
            }
            Value::Array(items) => items.iter().find_map(|item| look(path, item)),
            Value::Table(table) => odd_number(path, table),
            _ => None,
        }
    }
    table.iter().find_map(|(key, value)| look(&join(parent, key), value))
}
