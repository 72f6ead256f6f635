//! The papers' data: `papers/*.toml`, one file a paper. A file has the paper's schemes, tables, figures and printed numbers; what ours are
//! found by has a name there, and a function of that name in the paper's source ([`Code`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use crate::assumption::{Assumption, Reading};
use crate::data::{Data, Keys, list};
use crate::load::Load;
use crate::paper::{Grid, Input, Item, Line, Ours, Paper, Rule, Scheme, Special, Under};
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
    letter: &'static str,
    name: &'static str,
    title: &'static str,
    #[serde(deserialize_with = "list")]
    workloads: &'static [&'static str],
    #[serde(deserialize_with = "list")]
    quick: Keys,
    limits: [u64; 2],
    no_load: Option<&'static str>,
    #[serde(default)]
    load: Vec<LoadFile>,
    #[serde(default)]
    groups: BTreeMap<String, Vec<&'static str>>,
    #[serde(default)]
    keys: BTreeMap<String, Vec<Vec<&'static str>>>,
    #[serde(default)]
    notes: BTreeMap<String, &'static str>,
    #[serde(default)]
    tables: BTreeMap<String, Value>,
    #[serde(deserialize_with = "list")]
    scheme: &'static [Scheme],
    #[serde(default, deserialize_with = "list")]
    under: &'static [Under],
    #[serde(deserialize_with = "list")]
    assumption: &'static [Assumption],
    #[serde(deserialize_with = "list")]
    reading: &'static [Reading],
    item: Vec<ItemFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadFile {
    #[serde(default, deserialize_with = "list")]
    ids: &'static [&'static str],
    source: &'static str,
    item: &'static str,
    scheme: &'static str,
    over: Option<&'static str>,
    #[serde(default)]
    falls: bool,
    figure: &'static str,
    unit: &'static str,
    #[serde(deserialize_with = "list")]
    printed: &'static [f64],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemFile {
    id: &'static str,
    title: &'static str,
    #[serde(default)]
    runs: Vec<GridFile>,
    line: Vec<LineFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GridFile {
    workloads: Option<Names>,
    #[serde(deserialize_with = "list")]
    schemes: &'static [&'static str],
    with: Option<&'static str>,
    trials: Option<u64>,
}

/// Names, or that of a group.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Group(&'static str),
    List(#[serde(deserialize_with = "list")] &'static [&'static str]),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    rule: &'static str,
    #[serde(default)]
    what: &'static str,
    paper: Option<Value>,
    ours: Option<&'static str>,
    on: Option<&'static str>,
    scheme: Option<&'static str>,
    over: Option<&'static str>,
    figure: Option<&'static str>,
    unit: Option<&'static str>,
    #[serde(default)]
    note: &'static str,
    #[serde(default)]
    derived: &'static str,
    /// Where the paper says it, and in which words.
    #[serde(default)]
    section: &'static str,
    #[serde(default)]
    sentence: &'static str,
    #[serde(default)]
    load: bool,
    #[serde(default)]
    unattainable: bool,
}

fn leaked<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}

fn found<F: Copy>(functions: Named<F>, name: &str) -> F {
    let function = functions.iter().find(|(known, _)| *known == name);
    function.unwrap_or_else(|| panic!("no function is called {name}")).1
}

impl LineFile {
    fn build(self, code: &Code) -> Line {
        let ours = self.ours.unwrap_or_default();
        let rule = match self.rule {
            "parameter" if ours.contains('.') => Rule::Parameter(self.stated(), Input::Key(ours)),
            "parameter" => Rule::Parameter(self.stated(), Input::From(found(code.parameters, ours))),
            "exact" => Rule::Exact(self.stated(), found(code.texts, ours)),
            "formula" => Rule::Formula(self.stated(), found(code.texts, ours)),
            "factor" => Rule::Factor(self.number(), self.source(code)),
            "level" => Rule::Level(self.number(), self.source(code), Unit::named(self.unit.unwrap_or_default())),
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
        let LineFile { what, note, derived, section, sentence, .. } = self;
        Line { what, rule, note, derived, source: Source { section, sentence }, special }
    }

    fn stated(&self) -> &'static str {
        let stated = self.paper.as_ref().and_then(Value::as_str);
        stated.unwrap_or_else(|| panic!("{}: `paper` is a text", self.what)).to_string().leak()
    }

    fn number(&self) -> f64 {
        let number = self.paper.as_ref().and_then(Value::as_float);
        number.unwrap_or_else(|| panic!("{}: `paper` is a number with a point", self.what))
    }

    fn source(&self, code: &Code) -> Ours {
        let figure = || found(code.figures, self.figure.unwrap_or_default());
        match (self.on, self.scheme, self.over) {
            (None, Some(scheme), None) => Ours::Mean(scheme, figure()),
            (Some(on), Some(scheme), None) => Ours::On(on, scheme, figure()),
            (None, Some(scheme), Some(over)) => Ours::MeanOver(scheme, over, figure()),
            (Some(on), Some(scheme), Some(over)) => Ours::Over(on, scheme, over, figure()),
            _ => Ours::From(found(code.numbers, self.ours.unwrap_or_default())),
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
                Some(Names::Group(name)) => data.group(name),
                Some(Names::List(names)) => names,
            };
            let more = grid.with.map_or(NO_KEYS, |name| data.keys(name));
            Grid { workloads: on, schemes: grid.schemes, more, trials: grid.trials.unwrap_or(1) }
        };
        Item {
            id: self.id,
            title: self.title,
            runs: leaked(self.runs.into_iter().map(grid).collect()),
            lines: leaked(self.line.into_iter().map(|line| line.build(code)).collect()),
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
        groups: file.groups.into_iter().map(|(name, group)| (name, leaked(group))).collect(),
        keys: (file.keys.into_iter())
            .map(|(name, sets)| (name, leaked(sets.into_iter().map(leaked).collect())))
            .collect(),
        notes: file.notes,
        tables: file.tables,
    };
    let load = |load: LoadFile| {
        let LoadFile { ids, source, item, scheme, over, falls, figure, unit, printed } = load;
        Load {
            ids,
            source,
            item,
            scheme,
            over,
            falls,
            figure: found(code.figures, figure),
            unit: Unit::named(unit),
            printed,
        }
    };
    Paper {
        letter: file.letter,
        name: file.name,
        title: file.title,
        schemes: file.scheme,
        workloads: file.workloads,
        quick: file.quick,
        limits: file.limits,
        items: leaked(file.item.into_iter().map(|item| item.build(code, file.workloads, &data)).collect()),
        under: file.under,
        loads: file.no_load.map_or_else(|| Ok(leaked(file.load.into_iter().map(load).collect())), Err),
        assumptions: file.assumption,
        readings: file.reading,
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
        let of = |text: &str| toml::from_str::<Assumption>(text.to_string().leak());
        let read = |text: &str| toml::from_str::<Reading>(text.to_string().leak());
        let one = of(&assumption).unwrap();
        assert_eq!(
            (one.name(), one.settings()),
            ("k: v".into(), "--set a=1 (with --quick: --limit 7) --load --replay closed".into())
        );
        let other = read(&reading).unwrap();
        assert_eq!((other.name(), other.settings.settings()), ("n", one.settings()));
        let refused = [of(&format!("{assumption}set = 1\n")).err(), read(&format!("{reading}ids = []\n")).err()];
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
