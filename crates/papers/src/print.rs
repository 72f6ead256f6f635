//! The comparison as text, Markdown, CSV and JSON.

use serde_json::json;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::results::sheet::{Cell, CellKind as Cells, Frame, Place, Sheet, quoted};

use crate::Wanted;
use crate::chapter::{Chapter, seeds};
use crate::row::{Kind, Row, Verdict};
use crate::searches;
use ssdlab_lab::layout::{WIDTH, facts, grid, wrap};

const KINDS: [(Kind, &str); 7] = [
    (Kind::Measured, "measured"),
    (Kind::Exact, "exact"),
    (Kind::Parameter, "parameter"),
    (Kind::Formula, "formula"),
    (Kind::Input, "input"),
    (Kind::Fitted, "fitted"),
    (Kind::Construction, "by construction"),
];

fn kind(row: &Row) -> &'static str {
    KINDS.iter().find(|(kind, _)| *kind == row.kind).map_or("", |(_, name)| name)
}

/// By kind: how many rows have which verdict.
pub(crate) fn verdicts<'c>(
    chapters: impl Iterator<Item = &'c Chapter> + Clone,
) -> Vec<(&'static str, Vec<(&'static str, usize)>)> {
    let rows = || chapters.clone().flat_map(|chapter| &chapter.items).flat_map(|(_, rows)| rows);
    let part = |(of, name): (Kind, &'static str)| {
        let own = || rows().filter(|row| row.kind == of);
        let counts = Verdict::ALL.map(|v| (v.name(), own().filter(|row| row.verdict == v).count()));
        let counts: Vec<_> = counts.into_iter().filter(|(_, n)| *n > 0).collect();
        (!counts.is_empty()).then_some((name, counts))
    };
    KINDS.into_iter().filter_map(part).collect()
}

/// The number of rows by kind and verdict.
fn tally(chapter: &Chapter) -> String {
    let part = |(name, counts): (&str, Vec<(&str, usize)>)| {
        let counts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        format!("{name}: {}", counts.join(", "))
    };
    verdicts(std::iter::once(chapter)).into_iter().map(part).collect::<Vec<_>>().join("; ")
}

/// One row per value, as a table in memory.
pub(crate) fn rows(chapters: &[Chapter]) -> Result<Frame> {
    let text = |name| (name, Cells::Text);
    let columns = ["paper", "id", "kind", "what", "stated", "ours"].map(text);
    let columns: Vec<(&str, Cells)> = columns
        .into_iter()
        .chain([("ratio", Cells::Real)])
        .chain(["verdict", "note", "section", "sentence"].map(text))
        .collect();
    let mut sheet = Sheet::begin("rows", &Place::MEMORY, &columns)?;
    for chapter in chapters {
        for (item, row) in chapter.items.iter().flat_map(|(item, rows)| rows.iter().map(move |row| (item, row))) {
            let texts = [chapter.paper.letter, item.id, kind(row), &row.what, &row.paper, &row.ours].map(Cell::Text);
            let rest = [row.verdict.name(), &row.note, row.source.section, row.source.sentence].map(Cell::Text);
            sheet.row(texts.into_iter().chain([Cell::Real(row.ratio)]).chain(rest))?;
        }
    }
    let (_, frame) = sheet.finish()?.parts();
    frame.ok_or_else(|| Error::usage("the rows are not in memory"))
}

/// How a quick run differs.
const QUICK: &str = "smaller devices and short runs, as the list under each paper says";

pub(crate) fn text(chapters: &[Chapter], wanted: &Wanted) -> String {
    let mut out = String::new();
    if wanted.quick {
        out.push_str(&format!("Quick: {QUICK}.\n\n"));
    }
    for (i, chapter) in chapters.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        facts(&mut out, &chapter.facts);
        for (item, rows) in &chapter.items {
            out.push_str(&format!("\n{}: {}\n", item.id, item.title));
            if let Some(under) = chapter.paper.under(item) {
                out.push_str(&format!("  assumed: {}, {}\n", under.knob, under.value));
            }
            let head = ["", "paper", "ours", ""].map(String::from).to_vec();
            let mut lines = vec![head];
            let mut notes: Vec<String> = Vec::new();
            for row in rows {
                let mut verdict = row.verdict();
                let told = row.told();
                if !told.is_empty() {
                    let at = notes.iter().position(|note| *note == told).unwrap_or_else(|| {
                        notes.push(told);
                        notes.len() - 1
                    });
                    verdict.push_str(&format!(" [{}]", at + 1));
                }
                lines.push(vec![row.what.clone(), row.paper.clone(), row.ours.clone(), verdict]);
            }
            grid(&mut out, &lines, true);
            for (n, note) in notes.iter().enumerate() {
                for (k, line) in wrap(note, WIDTH - 6).into_iter().enumerate() {
                    let mark = if k == 0 { format!("[{}]", n + 1) } else { String::new() };
                    out.push_str(&format!("  {mark:<4}{line}\n"));
                }
            }
            if is_judged(rows) {
                wrap(FOOT, WIDTH - 2).iter().for_each(|line| out.push_str(&format!("  {line}\n")));
            }
        }
        out.push('\n');
        facts(&mut out, &[("verdicts", tally(chapter))]);
        let of = tried(chapter);
        if !chapter.readings.is_empty() {
            out.push_str("\nReadings, over what the tables assume\n");
            facts(&mut out, &searches::readings(&chapter.readings));
        }
        if !chapter.searches.is_empty() {
            let question = format!("Under which {} do the claims come out?", of.one());
            out.push_str(&format!("\n{question}\n{}", searches::text(&chapter.searches, of)));
        }
    }
    out
}

/// The rule of the verdicts, at the foot of each table that has some.
const FOOT: &str = "Effects agree with the same sign and half to twice the paper's size; where the paper has none (below 0.5 %), below 1 %.";

fn is_judged(rows: &[Row]) -> bool {
    rows.iter().any(Row::is_claim)
}

/// What the claims of a chapter were tried under.
fn tried(chapter: &Chapter) -> searches::Of {
    if chapter.readings.is_empty() { searches::ASSUMPTIONS } else { searches::READINGS }
}

/// What the words of the tables mean.
const HEAD: &str = "Parameters come from the preset. Exact values come from small runs and have to match to the printed digits, or a note says why \
    they do not. A formula is the paper's own arithmetic: nothing is simulated. An input is a figure that a workload was fitted to; fitted, one that arrival times were fitted to (`--load`), which is never judged. A figure that the paper does not print is marked derived, with its arithmetic. What holds by \
    construction follows from the definition of the scheme.\n\nMeasured values are compared as effects, a factor minus 1, or as levels. *Agrees*: the same sign and half to \
    twice the size. *Stronger*, *weaker*: the same sign, more or less than that. *No effect*: less than 0.2 %. An effect of the paper below 0.5 % says that nothing changes: ours agrees below 1 %. *Opposite*: the other sign. *Not met*: a claim without a \
    number that does not hold. *No difference shown*: the interval over seeds includes no effect, or includes the paper's figure though the mean does not agree. *Not attainable*: the paper \
    contradicts itself. *Not steady*: write amplification differs by more than 5 % between both halves of a run, so nothing is judged; a mean leaves \
    out such workloads, and says so, if at least half of them remain.\n\nThe workloads are models of the papers' \
    traces unless a paper's facts say that recordings ran. Labels such as A2 are readings of a paper; its page in `papers/` explains them.\n\n";

pub(crate) fn markdown(chapters: &[Chapter], wanted: &Wanted) -> String {
    let escape = |text: &str| text.replace('|', "\\|");
    let mut out =
        String::from(if wanted.quick { "# Papers and our results, quick\n\n" } else { "# Papers and our results\n\n" });
    out.push_str("Written by `ssdlab reproduce`. ");
    if wanted.quick {
        out.push_str(&format!("**Quick**: {QUICK}. "));
    }
    out.push_str(HEAD);
    for chapter in chapters {
        out.push_str(&format!("## Paper {}: {}\n\n", chapter.paper.letter.to_uppercase(), chapter.paper.title));
        for (label, text) in &chapter.facts[1..] {
            out.push_str(&format!("- {label}: {text}\n"));
        }
        out.push_str(&format!("- verdicts: {}\n", tally(chapter)));
        for (item, rows) in &chapter.items {
            out.push_str(&format!("\n### {}: {}\n\n", item.id, item.title));
            if let Some(under) = chapter.paper.under(item) {
                out.push_str(&format!("Assumed: {}, {} (`{}`).\n\n", under.knob, under.value, under.settings()));
            }
            out.push_str("| | paper | ours | kind | verdict | |\n| --- | --- | --- | --- | --- | --- |\n");
            for row in rows {
                let (verdict, told) = (row.verdict(), row.told());
                let cells = [row.what.as_str(), &row.paper, &row.ours, kind(row), &verdict, &told];
                out.push_str(&format!("| {} |\n", cells.map(escape).join(" | ")));
            }
            if is_judged(rows) {
                out.push_str(&format!("\n{FOOT}\n"));
            }
        }
        if !chapter.readings.is_empty() {
            out.push_str("\n### Readings, over what the tables assume\n\n");
            for (name, text) in searches::readings(&chapter.readings) {
                out.push_str(&format!("- **{name}**: {text}\n"));
            }
        }
        out.push_str(&searches::markdown(&chapter.searches, tried(chapter)));
        out.push('\n');
    }
    out
}

pub(crate) fn csv(chapters: &[Chapter]) -> String {
    let mut out = String::from("paper,id,kind,what,stated,ours,ratio,verdict,note,section,sentence\n");
    for chapter in chapters {
        for (item, row) in chapter.items.iter().flat_map(|(item, rows)| rows.iter().map(move |row| (item, row))) {
            let ratio = row.ratio.map_or(String::new(), |ratio| ratio.to_string());
            let cells = [
                chapter.paper.letter,
                item.id,
                kind(row),
                &row.what,
                &row.paper,
                &row.ours,
                &ratio,
                row.verdict.name(),
                &row.note,
                row.source.section,
                row.source.sentence,
            ];
            out.push_str(&(cells.map(quoted).join(",") + "\n"));
        }
    }
    out
}

/// Words of a paper; none is no value.
fn stated(words: &str) -> Option<&str> {
    (!words.is_empty()).then_some(words)
}

pub(crate) fn json(chapters: &[Chapter], wanted: &Wanted) -> String {
    let row = |row: &Row| {
        json!({ "what": row.what, "kind": kind(row), "paper": row.paper, "ours": row.ours, "ratio": row.ratio,
            "verdict": row.verdict.name(), "unjudged": row.unjudged.map(Verdict::name), "note": row.note,
            "section": stated(row.source.section), "sentence": stated(row.source.sentence) })
    };
    let papers: Vec<serde_json::Value> = chapters
        .iter()
        .map(|chapter| {
            let items: Vec<serde_json::Value> = chapter
                .items
                .iter()
                .map(|(item, rows)| {
                    let rows = rows.iter().map(row).collect::<Vec<_>>();
                    let under = chapter.paper.under(item).map(|one| format!("{}: {}", one.knob, one.value));
                    json!({ "id": item.id, "title": item.title, "assumed": under, "rows": rows })
                })
                .collect();
            let facts: serde_json::Map<String, serde_json::Value> =
                chapter.facts.iter().map(|(label, text)| (label.to_string(), json!(text))).collect();
            json!({ "letter": chapter.paper.letter, "name": chapter.paper.name, "about": facts, "items": items,
                "readings": searches::json_readings(&chapter.readings), "assumptions": searches::json(&chapter.searches, tried(chapter)) })
        })
        .collect();
    let whole = json!({ "schema": "ssdlab.reproduce/1", "version": env!("CARGO_PKG_VERSION"), "quick": wanted.quick,
        "seed": wanted.seed, "seeds": seeds(wanted), "rule": FOOT, "papers": papers });
    let mut text = serde_json::to_string_pretty(&whole).expect("figures are plain data");
    text.push('\n');
    text
}
