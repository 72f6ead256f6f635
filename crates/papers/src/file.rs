//! The papers' data: `papers/*.toml`, one file a paper. A file has the paper's schemes, tables, figures and printed numbers; what ours are
//! found by has a name there, and a function of that name in the paper's source ([`Code`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use crate::assumption::{Assumption, Reading};
use crate::data::{Data, Keys};
use crate::load::Load;
use crate::paper::{Grid, Input, Item, Line, Ours, Paper, Rule, Scheme, Special};
use crate::results::{Figure, Results};
use crate::row::{Row, Unit};
use crate::source::Source;

/// A function of a source by its name in the data.
type Named<F> = &'static [(&'static str, F)];

/// A value of the results in words or as a number, with what was asked of it.
type Judged<T> = fn(&Results) -> Option<(String, T)>;

/// What a paper's source adds to its data.
pub(crate) struct Code {
    pub(crate) text: &'static str,
    /// Numbers of a summary.
    pub(crate) figures: Named<Figure>,
    /// Inputs, as the preset or a scheme has them.
    pub(crate) parameters: Named<fn(&Results) -> String>,
    /// Exact values and those of the paper's own arithmetic.
    pub(crate) texts: Named<fn(&Results) -> Option<String>>,
    /// Numbers that no figure of a summary has.
    pub(crate) numbers: Named<fn(&Results) -> Option<f64>>,
    /// What claims are judged by, and whether they hold.
    pub(crate) claims: Named<Judged<bool>>,
    /// Orders and their rank correlations.
    pub(crate) ranks: Named<Judged<f64>>,
    /// Rows that repeat for each workload, or that depend on what could be run.
    pub(crate) rows: Named<fn(&Results) -> Vec<Row>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperFile {
    letter: String,
    name: String,
    title: String,
    workloads: Vec<String>,
    quick: Vec<String>,
    limits: [u64; 2],
    no_load: Option<String>,
    #[serde(default)]
    load: Vec<LoadFile>,
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    keys: BTreeMap<String, Vec<Vec<String>>>,
    #[serde(default)]
    notes: BTreeMap<String, String>,
    #[serde(default)]
    tables: BTreeMap<String, Value>,
    scheme: Vec<SchemeFile>,
    #[serde(default)]
    under: Vec<AssumptionFile>,
    assumption: Vec<AssumptionFile>,
    reading: Vec<ReadingFile>,
    item: Vec<ItemFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadFile {
    #[serde(default)]
    ids: Vec<String>,
    source: String,
    item: String,
    scheme: String,
    over: Option<String>,
    #[serde(default)]
    falls: bool,
    figure: String,
    unit: String,
    printed: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemeFile {
    name: String,
    sets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssumptionFile {
    /// Tables and figures that run under it.
    #[serde(default)]
    ids: Vec<String>,
    knob: String,
    value: String,
    #[serde(flatten)]
    settings: SettingsFile,
}

/// Values that hold together, as those of an assumption, and what of the paper allows them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingFile {
    name: String,
    text: String,
    words: Vec<WordsFile>,
    #[serde(flatten)]
    settings: SettingsFile,
}

/// What an assumption or a reading changes: see [`Assumption`].
#[derive(Deserialize)]
struct SettingsFile {
    #[serde(default)]
    sets: Vec<String>,
    #[serde(default)]
    own: Vec<KeysOf>,
    #[serde(default)]
    tuned: Vec<KeysOf>,
    time_scale: Option<String>,
    #[serde(default)]
    scaled: BTreeMap<String, String>,
    #[serde(default)]
    closed: bool,
    #[serde(default)]
    load: bool,
    #[serde(default)]
    workloads: BTreeMap<String, String>,
    #[serde(default)]
    quick: Vec<String>,
    quick_limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsFile {
    section: String,
    sentence: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysOf {
    of: String,
    sets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemFile {
    id: String,
    title: String,
    #[serde(default)]
    runs: Vec<GridFile>,
    line: Vec<LineFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GridFile {
    workloads: Option<Names>,
    schemes: Vec<String>,
    with: Option<String>,
    trials: Option<u64>,
}

/// Names, or that of a group.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Group(String),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    rule: String,
    #[serde(default)]
    what: String,
    paper: Option<Value>,
    ours: Option<String>,
    on: Option<String>,
    scheme: Option<String>,
    over: Option<String>,
    figure: Option<String>,
    unit: Option<String>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    derived: String,
    /// Where the paper says it, and in which words.
    #[serde(default)]
    section: String,
    #[serde(default)]
    sentence: String,
    #[serde(default)]
    load: bool,
    #[serde(default)]
    unattainable: bool,
}

fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn list<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}

fn texts(all: Vec<String>) -> &'static [&'static str] {
    list(all.into_iter().map(text).collect())
}

fn pairs(all: BTreeMap<String, String>) -> &'static [(&'static str, &'static str)] {
    list(all.into_iter().map(|(one, other)| (text(one), text(other))).collect())
}

fn found<F: Copy>(functions: Named<F>, name: &str) -> F {
    let function = functions.iter().find(|(known, _)| *known == name);
    function.unwrap_or_else(|| panic!("no function is called {name}")).1
}

impl SettingsFile {
    fn build(self, knob: String, value: String) -> Assumption {
        let own = |all: Vec<KeysOf>| list(all.into_iter().map(|one| (text(one.of), texts(one.sets))).collect());
        Assumption {
            knob: text(knob),
            value: text(value),
            sets: texts(self.sets),
            quick: texts(self.quick),
            quick_limit: self.quick_limit,
            own: own(self.own),
            tuned: own(self.tuned),
            time_scale: self.time_scale.map(text),
            scaled: pairs(self.scaled),
            closed: self.closed,
            load: self.load,
            workloads: pairs(self.workloads),
        }
    }
}

impl AssumptionFile {
    fn build(self) -> Assumption {
        self.settings.build(self.knob, self.value)
    }
}

impl ReadingFile {
    fn build(self) -> Reading {
        let source = |one: WordsFile| Source { section: text(one.section), sentence: text(one.sentence) };
        Reading {
            settings: self.settings.build(String::new(), self.name),
            text: text(self.text),
            words: list(self.words.into_iter().map(source).collect()),
        }
    }
}

impl LineFile {
    fn build(self, code: &Code) -> Line {
        let ours = self.ours.as_deref().unwrap_or_default();
        let rule = match self.rule.as_str() {
            "parameter" if ours.contains('.') => Rule::Parameter(self.stated(), Input::Key(text(ours.into()))),
            "parameter" => Rule::Parameter(self.stated(), Input::From(found(code.parameters, ours))),
            "exact" => Rule::Exact(self.stated(), found(code.texts, ours)),
            "formula" => Rule::Formula(self.stated(), found(code.texts, ours)),
            "factor" => Rule::Factor(self.number(), self.source(code)),
            "level" => {
                Rule::Level(self.number(), self.source(code), Unit::named(self.unit.as_deref().unwrap_or_default()))
            }
            "claim" => Rule::Claim(self.stated(), found(code.claims, ours)),
            "rank" => Rule::Rank(self.stated(), found(code.ranks, ours)),
            "absent" => Rule::Absent(self.stated()),
            "rows" => Rule::Rows(found(code.rows, ours)),
            rule => panic!("no rule is called {rule}"),
        };
        let special = match (self.load, self.unattainable) {
            (true, _) => Special::Load,
            (_, true) => Special::Unattainable,
            _ => Special::No,
        };
        let source = Source { section: text(self.section), sentence: text(self.sentence) };
        let (what, note, derived) = (text(self.what), text(self.note), text(self.derived));
        Line { what, rule, note, derived, source, special }
    }

    fn stated(&self) -> &'static str {
        let stated = self.paper.as_ref().and_then(Value::as_str);
        text(stated.unwrap_or_else(|| panic!("{}: `paper` is a text", self.what)).to_string())
    }

    fn number(&self) -> f64 {
        let number = self.paper.as_ref().and_then(Value::as_float);
        number.unwrap_or_else(|| panic!("{}: `paper` is a number with a point", self.what))
    }

    fn source(&self, code: &Code) -> Ours {
        let name = |name: &Option<String>| name.clone().map(text);
        let figure = || found(code.figures, self.figure.as_deref().unwrap_or_default());
        match (name(&self.on), name(&self.scheme), name(&self.over)) {
            (None, Some(scheme), None) => Ours::Mean(scheme, figure()),
            (Some(on), Some(scheme), None) => Ours::On(on, scheme, figure()),
            (None, Some(scheme), Some(over)) => Ours::MeanOver(scheme, over, figure()),
            (Some(on), Some(scheme), Some(over)) => Ours::Over(on, scheme, over, figure()),
            _ => Ours::From(found(code.numbers, self.ours.as_deref().unwrap_or_default())),
        }
    }
}

/// A run as its scheme has it.
const NO_KEYS: &[Keys] = &[&[]];

impl ItemFile {
    fn build(self, code: &Code, workloads: &'static [&'static str], data: &Data) -> Item {
        let grid = |grid: GridFile| {
            let on = match grid.workloads {
                None => workloads,
                Some(Names::Group(name)) => data.group(&name),
                Some(Names::List(names)) => texts(names),
            };
            let more = grid.with.map_or(NO_KEYS, |name| data.keys(&name));
            Grid { workloads: on, schemes: texts(grid.schemes), more, trials: grid.trials.unwrap_or(1) }
        };
        Item {
            id: text(self.id),
            title: text(self.title),
            runs: list(self.runs.into_iter().map(grid).collect()),
            lines: list(self.line.into_iter().map(|line| line.build(code)).collect()),
        }
    }
}

/// The paper of a source.
///
/// # Panics
/// If its data lacks something that the source asks for, or the other way round. A test builds each paper.
pub(crate) fn paper(code: &'static Code) -> Paper {
    let file: PaperFile = toml::from_str(code.text).unwrap_or_else(|error| panic!("{error}"));
    let data = Data {
        groups: file.groups.into_iter().map(|(name, group)| (name, texts(group))).collect(),
        keys: (file.keys.into_iter()).map(|(name, sets)| (name, list(sets.into_iter().map(texts).collect()))).collect(),
        notes: file.notes.into_iter().map(|(name, note)| (name, text(note))).collect(),
        tables: file.tables,
    };
    let workloads = texts(file.workloads);
    let load = |load: LoadFile| Load {
        ids: texts(load.ids),
        source: text(load.source),
        item: text(load.item),
        scheme: text(load.scheme),
        over: load.over.map(text),
        figure: found(code.figures, &load.figure),
        falls: load.falls,
        printed: list(load.printed),
        unit: Unit::named(&load.unit),
    };
    let loads = match file.no_load {
        None => Ok(list(file.load.into_iter().map(load).collect())),
        Some(why) => Err(text(why)),
    };
    let scheme = |scheme: SchemeFile| Scheme { name: text(scheme.name), sets: texts(scheme.sets) };
    let under = |mut under: AssumptionFile| -> (&'static [&'static str], &'static Assumption) {
        (texts(std::mem::take(&mut under.ids)), Box::leak(Box::new(under.build())))
    };
    Paper {
        letter: text(file.letter),
        name: text(file.name),
        title: text(file.title),
        schemes: list(file.scheme.into_iter().map(scheme).collect()),
        workloads,
        quick: texts(file.quick),
        limits: file.limits,
        items: list(file.item.into_iter().map(|item| item.build(code, workloads, &data)).collect()),
        under: list(file.under.into_iter().map(under).collect()),
        loads,
        assumptions: list(file.assumption.into_iter().map(AssumptionFile::build).collect()),
        readings: list(file.reading.into_iter().map(ReadingFile::build).collect()),
        data,
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_lab::settings::{Settings, Sources};

    use super::*;

    /// Keys of both kinds stand beside those of their own, and a key that neither has is refused.
    #[test]
    fn a_reading_and_an_assumption_share_what_they_change() {
        let shared = "sets = [\"a=1\"]\nquick_limit = 7\nclosed = true\nload = true\n";
        let assumption = format!("knob = \"k\"\nvalue = \"v\"\n{shared}");
        let reading = format!("name = \"n\"\ntext = \"t\"\nwords = []\n{shared}");
        let one = toml::from_str::<AssumptionFile>(&assumption).unwrap().build();
        assert_eq!(
            (one.name(), one.settings()),
            ("k: v".into(), "--set a=1 (with --quick: --limit 7) --load --replay closed".into())
        );
        let other = toml::from_str::<ReadingFile>(&reading).unwrap().build();
        assert_eq!((other.name(), other.settings.settings()), ("n", one.settings()));
        let refused = [
            toml::from_str::<AssumptionFile>(&format!("{assumption}set = 1\n")).err(),
            toml::from_str::<ReadingFile>(&format!("{reading}ids = []\n")).err(),
        ];
        for (error, key) in refused.iter().zip(["set", "ids"]) {
            assert!(error.as_ref().unwrap().to_string().contains(&format!("unknown field `{key}`")), "{error:?}");
        }
    }

    /// A name in the data that no function has is a panic of [`paper`].
    #[test]
    fn every_function_of_a_source_is_named_in_its_data() {
        for code in [&crate::a::CODE, &crate::b::CODE, &crate::c::CODE, &crate::d::CODE, &crate::e::CODE] {
            let built = paper(code);
            fn names<F>(functions: Named<F>) -> impl Iterator<Item = &'static str> {
                functions.iter().map(|(name, _)| *name)
            }
            let all = names(code.figures).chain(names(code.parameters)).chain(names(code.texts));
            let all = all.chain(names(code.numbers)).chain(names(code.claims)).chain(names(code.ranks));
            for name in all.chain(names(code.rows)) {
                let asked = [format!("figure = \"{name}\""), format!("ours = \"{name}\"")];
                assert!(asked.iter().any(|line| code.text.contains(line)), "paper {}: {name}", built.letter);
            }
            let preset = Sources { preset: Some(built.name.into()), ..Sources::default() };
            let preset = Settings::load(&preset).unwrap();
            for line in built.items.iter().flat_map(|item| item.lines) {
                if let Rule::Parameter(what, Input::Key(key)) = line.rule {
                    assert!(preset.value(key).is_ok(), "paper {}: {what}: no key {key}", built.letter);
                }
            }
        }
    }
}
