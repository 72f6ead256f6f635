//! Claims under assumptions as text, Markdown, CSV and JSON.

use serde_json::{Value, json};
use ssdlab_lab::results::sheet::quoted;

use crate::assumption::{Assumption, Reading, Search, tally};
use crate::chapter::Chapter;
use crate::row::{Row, Verdict};
use crate::source::Source;
use ssdlab_lab::layout::{WIDTH, grid, wrap};

/// What claims are tried under.
#[derive(Clone, Copy)]
pub(crate) struct Of {
    one: &'static str,
    many: &'static str,
    /// Whether all have a table together.
    is_matrix: bool,
}

impl Of {
    pub(crate) fn one(self) -> &'static str {
        self.one
    }
}

pub(crate) const ASSUMPTIONS: Of = Of { one: "assumption", many: "assumptions", is_matrix: false };
pub(crate) const READINGS: Of = Of { one: "reading", many: "readings", is_matrix: true };

/// What marks the rows under which a claim comes out.
const MARK: &str = "<";

/// The name of an assumption, our figure, its verdict and a mark; as it is, first.
fn lines(search: &Search) -> Vec<[String; 4]> {
    let line = |name: String, row: Option<&Row>| {
        let Some(row) = row else { return [name, "-".into(), "left out".into(), String::new()] };
        let agrees = [Some(row.verdict), row.unjudged].contains(&Some(Verdict::Agrees));
        [name, row.ours.clone(), row.verdict(), if agrees { MARK } else { "" }.into()]
    };
    let own = |(assumption, row): &(&Assumption, Option<Row>)| line(assumption.name(), row.as_ref());
    std::iter::once(line("as it is".into(), Some(&search.usual))).chain(search.tried.iter().map(own)).collect()
}

/// By assumption, how many claims come out.
fn tallies(searches: &[Search], of: &str) -> Vec<Vec<String>> {
    let head = [of.into(), format!("of {} claims", searches.len()), "and in runs that are not steady".into()];
    let line = |(assumption, steady, others): (Option<&Assumption>, usize, usize)| {
        let name = assumption.map_or("as it is".into(), Assumption::name);
        vec![name, steady.to_string(), others.to_string()]
    };
    std::iter::once(head.to_vec()).chain(tally(searches).into_iter().map(line)).collect()
}

pub(crate) fn text(searches: &[Search], of: Of) -> String {
    let mut out = String::new();
    if !searches.is_empty() {
        grid(&mut out, &tallies(searches, of.one), true);
    }
    for search in searches {
        out.push_str(&format!("\n{}: {}; the paper: {}\n", search.id, search.usual.what, search.usual.paper));
        let rows: Vec<Vec<String>> = lines(search).into_iter().map(Vec::from).collect();
        grid(&mut out, &rows, false);
        wrap(&search.finding(of.many), WIDTH - 2).iter().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

pub(crate) fn markdown(searches: &[Search], of: Of) -> String {
    let escape = |text: String| text.replace('|', "\\|");
    let mut out = String::new();
    if !searches.is_empty() {
        out.push_str(&format!("\n### Under which {} do the claims come out?\n", of.one));
        for (at, line) in tallies(searches, of.one).into_iter().enumerate() {
            out.push_str(&format!("{}| {} |\n", if at == 0 { "\n" } else { "" }, line.join(" | ")));
            out.push_str(if at == 0 { "| --- | ---: | ---: |\n" } else { "" });
        }
    }
    if of.is_matrix {
        out.push_str(&matrix(searches));
        return out;
    }
    for search in searches {
        let Row { what, paper, .. } = &search.usual;
        out.push_str(&format!("\n**{}: {what}**, the paper: {paper}: {}.\n\n", search.id, search.finding(of.many)));
        out.push_str("| assumption | ours | verdict | |\n| --- | --- | --- | --- |\n");
        for line in lines(search) {
            out.push_str(&format!("| {} |\n", line.map(escape).join(" | ")));
        }
    }
    out
}

/// Claim by reading: our figure under each with its verdict, in bold where it agrees.
fn matrix(searches: &[Search]) -> String {
    let Some(first) = searches.first() else { return String::new() };
    let names: Vec<String> = first.tried.iter().map(|(one, _)| one.name()).collect();
    let escape = |text: &str| text.replace('|', "\\|");
    let cell = |row: Option<&Row>| match row {
        None => "-".to_string(),
        Some(row) if row.verdict == Verdict::Agrees => format!("**{}: agrees**", escape(&row.ours)),
        Some(row) => format!("{}: {}", escape(&row.ours), row.verdict()),
    };
    let mut out = format!("\n| | claim | the paper | as it is | {} |\n", names.join(" | "));
    out.push_str(&format!("| --- | --- | --- | --- |{}\n", " --- |".repeat(names.len())));
    for Search { id, usual, tried } in searches {
        let cells: Vec<String> =
            std::iter::once(cell(Some(usual))).chain(tried.iter().map(|(_, row)| cell(row.as_ref()))).collect();
        let (what, paper) = (escape(&usual.what), escape(&usual.paper));
        out.push_str(&format!("| {id} | {what} | {paper} | {} |\n", cells.join(" | ")));
    }
    out
}

/// The readings of a paper with what allows them, as a list.
pub(crate) fn readings(readings: &[(&Reading, Option<String>)]) -> Vec<(&'static str, String)> {
    let words = |source: &Source| format!("{}: \"{}\"", source.section, source.sentence);
    let one = |(reading, fits): &(&Reading, Option<String>)| {
        let allowed: Vec<String> = reading.words.iter().map(words).collect();
        let fits = fits.as_ref().map_or(String::new(), |fits| format!(" Here {fits}."));
        let settings = reading.settings.settings();
        (reading.name(), format!("{} (`{settings}`). {}.{fits}", reading.text, allowed.join("; ")))
    };
    readings.iter().map(one).collect()
}

pub(crate) fn csv(chapters: &[Chapter]) -> String {
    let mut out = String::from("paper,id,what,stated,knob,value,settings,ours,ratio,verdict\n");
    for (chapter, search) in chapters.iter().flat_map(|chapter| chapter.searches.iter().map(move |s| (chapter, s))) {
        let mut line = |knob: &str, value: &str, settings: &str, row: Option<&Row>| {
            let (ours, verdict) = row.map_or(("", "left out"), |row| (&row.ours, row.verdict.name()));
            let ratio = row.and_then(|row| row.ratio).map_or(String::new(), |ratio| ratio.to_string());
            let Row { what, paper, .. } = &search.usual;
            let cells = [chapter.paper.letter, search.id, what, paper, knob, value, settings, ours, &ratio, verdict];
            out.push_str(&(cells.map(quoted).join(",") + "\n"));
        };
        line("", "as it is", "", Some(&search.usual));
        for (assumption, row) in &search.tried {
            line(assumption.knob, assumption.value, &assumption.settings(), row.as_ref());
        }
    }
    out
}

pub(crate) fn json(searches: &[Search], of: Of) -> Value {
    let row = |row: &Row| {
        json!({ "ours": row.ours, "ratio": row.ratio, "verdict": row.verdict.name(),
        "unjudged": row.unjudged.map(Verdict::name), "note": row.note })
    };
    let one = |search: &Search| {
        let tried: Vec<Value> = search
            .tried
            .iter()
            .map(|(assumption, own)| {
                json!({ "knob": assumption.knob, "value": assumption.value, "settings": assumption.settings(),
                    "result": own.as_ref().map(row) })
            })
            .collect();
        json!({ "id": search.id, "what": search.usual.what, "paper": search.usual.paper, "usual": row(&search.usual),
            "tried": tried, "finding": search.finding(of.many) })
    };
    searches.iter().map(one).collect()
}

pub(crate) fn json_readings(readings: &[(&Reading, Option<String>)]) -> Value {
    let words = |source: &Source| json!({ "section": source.section, "sentence": source.sentence });
    let one = |(reading, fits): &(&Reading, Option<String>)| {
        let words: Vec<Value> = reading.words.iter().map(words).collect();
        json!({ "name": reading.name(), "text": reading.text, "settings": reading.settings.settings(), "words": words,
            "load": fits })
    };
    readings.iter().map(one).collect()
}
