//! A mapping table, and the desk on which the keys of a file are worked through with it.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::Setting;
use ssdlab_lab::foreign::account::{Entry, Verdict};
use ssdlab_lab::names::{clip, nearest};
use ssdlab_sim::units::{Bytes, Nanos};
use toml::Value as Toml;

use crate::keys::{Given, Key, Value};

/// What becomes of the keys of a simulator's files.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    pub simulator: &'static str,
    pub rules: &'static [Rule],
    /// Names of keys that set neither time nor space, between blanks.
    pub host: &'static str,
}

impl Mapping {
    pub fn named(self) -> impl Iterator<Item = (&'static str, &'static Rule)> {
        self.rules.iter().flat_map(|rule| rule.keys.split('|').map(move |name| (name, rule)))
    }

    pub fn rule(self, name: &str) -> Option<&'static Rule> {
        self.named().find(|(known, _)| *known == name).map(|(_, rule)| rule)
    }
}

/// What becomes of a key, or of several alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The keys with bars between them; each after its section and a slash where names repeat.
    pub keys: &'static str,
    /// What the original assumes where the file does not say; none: nothing is set.
    pub default: Option<&'static str>,
    pub verdict: Verdict,
    pub to: To,
    /// What differs, or what is missing.
    pub note: &'static str,
}

/// How a value is carried over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    /// Not at all.
    Nothing,
    /// A whole number, as it is.
    Count(&'static str),
    /// A time in a unit of so many picoseconds.
    Time(&'static str, u64),
    /// A size in bytes.
    Bytes(&'static str),
    /// A share of so much: 1 for fractions, 100 for percentages.
    Share(&'static str, u64),
    /// One of the original's words, in capitals or not, and what it is called here.
    Word(&'static str, &'static [(&'static str, &'static str)]),
    /// Together with other keys; the simulator's own code sets this key.
    With(&'static str),
}

impl To {
    fn key(self) -> Option<&'static str> {
        match self {
            To::Nothing => None,
            To::Count(key)
            | To::Time(key, _)
            | To::Bytes(key)
            | To::Share(key, _)
            | To::Word(key, _)
            | To::With(key) => Some(key),
        }
    }
}

/// A key that means the same here.
pub(crate) const fn same(keys: &'static str, default: Option<&'static str>, to: To) -> Rule {
    Rule { keys, default, verdict: Verdict::Same, to, note: "" }
}

/// A key that means nearly the same.
pub(crate) const fn near(keys: &'static str, default: Option<&'static str>, to: To, note: &'static str) -> Rule {
    Rule { keys, default, verdict: Verdict::Near, to, note }
}

/// A key to which nothing here corresponds; `note` says what that changes.
pub(crate) const fn missing(keys: &'static str, note: &'static str) -> Rule {
    Rule { keys, default: None, verdict: Verdict::NotModelled, to: To::Nothing, note }
}

/// A key that the original reads and ignores.
pub(crate) const fn unused(keys: &'static str, note: &'static str) -> Rule {
    Rule { keys, default: None, verdict: Verdict::Unused, to: To::Nothing, note }
}

/// The configuration that files are turned into.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drive {
    pub settings: Vec<Setting>,
}

impl Drive {
    pub fn get(&self, key: &str) -> Option<&Toml> {
        self.settings.iter().find(|setting| setting.key == key).map(|setting| &setting.value)
    }

    pub fn whole(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Toml::as_integer).and_then(|value| u64::try_from(value).ok())
    }

    pub fn drop(&mut self, key: &str) {
        self.settings.retain(|setting| setting.key != key);
    }
}

pub(crate) fn fraction(millionths: u64) -> Toml {
    Toml::Float(millionths as f64 / 1e6)
}

pub(crate) fn time(ns: u64) -> Toml {
    Toml::String(Nanos(ns).to_string())
}

pub(crate) fn size(bytes: u64) -> Toml {
    Toml::String(Bytes(bytes).to_string())
}

pub(crate) fn text(text: impl Into<String>) -> Toml {
    Toml::String(text.into())
}

/// What was decided about a key.
struct Said {
    verdict: Verdict,
    note: String,
    becomes: Option<&'static str>,
}

/// The keys of a file, or of a part of it, worked through with a mapping table.
pub(crate) struct Desk<'a> {
    given: &'a Given,
    /// Number of the file among those that are imported.
    file: usize,
    keys: Range<usize>,
    mapping: Mapping,
    /// Whether the original's defaults hold where the file does not say.
    defaults: bool,
    drive: &'a mut Drive,
    said: BTreeMap<usize, Said>,
    /// The last key of each name: the one that counts.
    last: BTreeMap<&'static str, usize>,
    /// Defaults that were used, by rule.
    assumed: Vec<String>,
}

impl<'a> Desk<'a> {
    /// Finds the rule of every key of the range, and carries over the values that need no other key. `defaults`: the original's hold
    /// where the file does not say; otherwise that is left alone.
    pub fn new(
        given: &'a Given,
        file: usize,
        keys: Range<usize>,
        mapping: Mapping,
        defaults: bool,
        drive: &'a mut Drive,
    ) -> Result<Desk<'a>> {
        let (said, last, assumed) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut desk = Desk { given, file, keys, mapping, defaults, drive, said, last, assumed };
        desk.sort();
        for (name, rule) in mapping.named() {
            desk.carry(name, rule)?;
        }
        Ok(desk)
    }

    /// The first verdict of every key.
    fn sort(&mut self) {
        for index in self.keys.clone() {
            let key = &self.given.keys[index];
            let said = match self.rule_of(key) {
                Some((name, rule)) => {
                    let before = self.last.insert(name, index);
                    // A rule for many keys is met many times.
                    if let Some(before) = before.filter(|_| !name.ends_with('*')) {
                        let note =
                            format!("given again on line {}; the last one counts", self.given.line(key.at.start));
                        self.said.insert(before, Said { verdict: Verdict::Unused, note, becomes: None });
                    }
                    Said { verdict: rule.verdict, note: rule.note.into(), becomes: rule.to.key() }
                }
                None if self.mapping.host.split_whitespace().any(|name| name == key.name) => {
                    let note = "of the controller: it takes neither time nor space here".into();
                    Said { verdict: Verdict::NotModelled, note, becomes: None }
                }
                None => {
                    let known = self.mapping.named().map(|(name, _)| name.rsplit('/').next().unwrap_or(name));
                    let note = nearest(&key.name, known).map_or(String::new(), |meant| format!("is {meant} meant?"));
                    Said { verdict: Verdict::Unknown, note, becomes: None }
                }
            };
            self.said.insert(index, said);
        }
    }

    fn rule_of(&self, key: &Key) -> Option<(&'static str, &'static Rule)> {
        let path = key.path();
        let by = |fits: &dyn Fn(&str) -> bool| self.mapping.named().find(|(name, _)| fits(name));
        // A rule whose name ends in a star covers every key of a section.
        by(&|name| name == path)
            .or_else(|| by(&|name| name == key.name))
            .or_else(|| by(&|name| name.strip_suffix('*').is_some_and(|start| path.starts_with(start))))
    }

    /// The value of a key: as the file says, or as the original assumes.
    pub fn value(&self, name: &'static str) -> Option<Value<'a>> {
        let given = self.given;
        match self.last.get(name) {
            Some(index) => {
                let key = &given.keys[*index];
                Some(Value { given, name, text: &key.value, key: Some(key) })
            }
            None => {
                let text = self.mapping.rule(name)?.default.filter(|_| self.defaults)?;
                Some(Value { given, name, text, key: None })
            }
        }
    }

    /// The value as a whole number; 0 where neither says one.
    pub fn whole(&self, name: &'static str) -> Result<u64> {
        self.value(name).map_or(Ok(0), |value| value.whole())
    }

    /// Whether the file itself gives a key.
    pub fn gives(&self, name: &str) -> bool {
        self.last.contains_key(name)
    }

    /// What has been set so far, here and in files before.
    pub fn drive(&self) -> &Drive {
        self.drive
    }

    /// Sets a key of the configuration; `by` is the key of the original that decides it.
    pub fn set(&mut self, key: &'static str, value: Toml, by: &'static str) {
        let place = self.last.get(by).map(|index| {
            let key = &self.given.keys[*index];
            (self.file, key.at.clone(), key.value_at.clone())
        });
        let from = match place {
            Some(_) => by.to_string(),
            None => {
                let default = self.mapping.rule(by).and_then(|rule| rule.default);
                let from = default.map_or(by.to_string(), |default| format!("{by} = {default}"));
                self.assumed.push(format!("{from}: {key} = {value}"));
                from
            }
        };
        self.drive.drop(key);
        self.drive.settings.push(Setting { key, value, place, from });
    }

    pub fn unset(&mut self, key: &str) {
        self.drive.drop(key);
    }

    /// Refuses a file without one of these keys, which the original does not work without, or works with a value that makes no sense.
    pub fn require(&self, keys: &[(&'static str, &str)]) -> Result<()> {
        for (name, why) in keys {
            if !self.gives(name) {
                return Err(self.given.refuse(name, 0..0, "not in the file").help(*why));
            }
        }
        Ok(())
    }

    /// Adds to the note of a key, or to the line of its default. A key with something to add means nearly the same at most.
    pub fn add_note(&mut self, name: &'static str, more: impl Into<String>) {
        let more = more.into();
        match self.last.get(name).and_then(|index| self.said.get_mut(index)) {
            Some(said) => {
                said.note = format!("{}{more}", prefix(&said.note));
                if said.verdict == Verdict::Same {
                    said.verdict = Verdict::Near;
                }
            }
            None => self.explain_default(name, &more),
        }
    }

    /// Lists the defaults of keys that the file does not give and that set nothing by themselves.
    pub fn list_defaults(&mut self, names: &[&str]) {
        let named = self.mapping.named();
        for (name, rule) in named.filter(|(name, _)| names.contains(name) && !self.last.contains_key(name)) {
            let Some(default) = rule.default else { continue };
            let line = format!("{name} = {default}");
            if !self.assumed.iter().any(|known| known.starts_with(&format!("{line}:"))) {
                self.assumed.push(line);
            }
        }
    }

    /// Says more of a default that was used.
    fn explain_default(&mut self, name: &str, more: &str) {
        let start = format!("{name} = ");
        if let Some(line) = self.assumed.iter_mut().rev().find(|line| line.starts_with(&start)) {
            line.push_str(&format!("; {more}"));
        }
    }

    /// Changes the verdict of a key. A key that has become nothing names no key of the configuration any more.
    pub fn say(&mut self, name: &'static str, verdict: Verdict, note: impl Into<String>) {
        let note = note.into();
        let Some(said) = self.last.get(name).and_then(|index| self.said.get_mut(index)) else {
            // What is said of a default that means the same needs no words.
            if verdict == Verdict::Near {
                self.explain_default(name, &note);
            }
            return;
        };
        said.verdict = verdict;
        said.note = note;
        if !matches!(verdict, Verdict::Same | Verdict::Near) {
            said.becomes = None;
        }
    }

    /// Marks a key that one rule for many covers, as one that the original does not look at.
    pub fn ignored(&mut self, name: &str, note: &str) {
        for index in self.keys.clone().filter(|index| self.given.keys[*index].name == name) {
            self.said.insert(index, Said { verdict: Verdict::Unused, note: note.into(), becomes: None });
        }
    }

    /// Marks a key by its number as one that the original does not look at.
    pub fn ignored_at(&mut self, index: usize, note: String) {
        self.said.insert(index, Said { verdict: Verdict::Unused, note, becomes: None });
    }

    /// The number of the last key of a name, if the file gives it.
    pub fn last_place(&self, name: &str) -> Option<usize> {
        self.last.get(name).copied()
    }

    /// Carries over a value that needs no other key.
    fn carry(&mut self, name: &'static str, rule: &Rule) -> Result<()> {
        let Some(value) = self.value(name) else { return Ok(()) };
        let (key, carried) = match rule.to {
            To::Nothing | To::With(_) => return Ok(()),
            To::Count(key) => (key, Toml::Integer(value.count()?.into())),
            To::Time(key, unit) => (key, time(value.nanos(unit)?)),
            To::Bytes(key) => (key, size(value.whole()?)),
            To::Share(key, whole) => {
                let (share, rounded) = value.share(whole)?;
                self.set(key, fraction(share), name);
                if rounded {
                    self.add_note(name, format!("{} rounded to six decimals", clip(value.text)));
                }
                return Ok(());
            }
            To::Word(key, words) => (key, word(&value, words)?),
        };
        self.set(key, carried, name);
        Ok(())
    }

    /// The account of these keys, with the names of what they become, and the defaults that were used.
    pub fn account(self, file: &str) -> (Vec<Entry>, Vec<String>) {
        let mut entries = Vec::new();
        for index in self.keys.clone() {
            let key = &self.given.keys[index];
            let Some(said) = self.said.get(&index) else { continue };
            entries.push(Entry {
                file: file.into(),
                simulator: self.mapping.simulator,
                line: self.given.line(key.at.start),
                key: key.path(),
                value: key.value.clone(),
                verdict: said.verdict,
                becomes: said.becomes.into_iter().map(String::from).collect(),
                note: said.note.clone(),
                scenario: None,
            });
        }
        (entries, self.assumed)
    }
}

/// A note as the beginning of a longer one.
pub(crate) fn prefix(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("{note}; ") }
}

/// What one of the original's words is called here.
pub(crate) fn word(value: &Value, words: &[(&str, &str)]) -> Result<Toml> {
    match words.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(value.text)) {
        Some((_, ours)) => Ok(literal(ours)),
        None => {
            let known: Vec<&str> = words.iter().map(|(theirs, _)| *theirs).collect();
            Err(value.refuse(
                format!("`{}` is not known", clip(value.text)),
                format!("expected one of {}", known.join(", ")),
            ))
        }
    }
}

fn literal(ours: &str) -> Toml {
    match ours {
        "true" => Toml::Boolean(true),
        "false" => Toml::Boolean(false),
        other => text(other),
    }
}
