//! The report: one page that needs nothing but itself.
//!
//! Every figure is drawn as SVG in the page, beside its numbers as a table, so nothing is lost without scripts or style sheets. The
//! script draws the same figures again with ECharts, for zooming and reading values.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use ssdlab_figures::escape::{html, json_in_script, name};
use ssdlab_figures::figure::{Cell, Figure, Table};
use ssdlab_figures::palette::{self, DARK, LIGHT, Pattern};
use ssdlab_figures::svg::{Look, draw};

use crate::error::{Error, Result};
use crate::names::{clip, nearest};
use crate::report::charts;
use crate::report::explain;
use crate::report::inputs::{Inputs, number, text};
use crate::report::told::Told;
use crate::report::whatif;
use crate::report::words;
use crate::text::{count, percent};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
/// ECharts, as it was published.
const ECHARTS: &str = include_str!("../../assets/echarts/echarts.min.js");

/// Rows of a table that the page shows.
const MOST_ROWS: usize = 500;

/// The sections in their order: name, heading, and the options that make their results.
pub const SECTIONS: [(&str, &str, &str); 13] = [
    ("verdict", "What happened", "--json"),
    ("latency", "Latency", "--histograms"),
    ("causes", "Where the time went", "--histograms"),
    ("explain", "Why the slowest are slow", "`ssdlab explain`"),
    ("whatif", "Had this not happened", "`ssdlab whatif`"),
    ("time", "Over time", "--series"),
    ("dies", "Dies", "--series-dies"),
    ("timeline", "Around the slowest request", "--timeline"),
    ("wear", "Wear", "--blocks"),
    ("gc", "Garbage collection", "--json"),
    ("compare", "Comparison", "`ssdlab compare`"),
    ("paper", "Papers and our results", "`ssdlab reproduce`"),
    ("method", "Method", "--json"),
];

/// How a page looks.
#[derive(Clone, Debug)]
pub struct Page {
    /// Whether the scripts are left out.
    pub lite: bool,
    /// A title in place of its own.
    pub title: Option<String>,
    /// Names of the sections to show; all of them by default.
    pub sections: Option<Vec<String>>,
    /// Most bytes.
    pub most_bytes: u64,
    /// The command that repeats the run, with files by their base names.
    pub command: Option<String>,
}

/// The default limit of a page in bytes, and the least limit of one with scripts.
pub const MOST_BYTES: u64 = 8 << 20;
const LEAST_BYTES: u64 = 2 << 20;

impl Default for Page {
    /// All sections, with scripts, at most 8 MiB.
    fn default() -> Self {
        Page { lite: false, title: None, sections: None, most_bytes: MOST_BYTES, command: None }
    }
}

impl Page {
    /// Checks names and limits before anything is run.
    ///
    /// # Errors
    /// No section has a name, or the limit is too low for the scripts.
    pub fn check(&self) -> Result<()> {
        for wanted in self.sections.iter().flatten() {
            if !SECTIONS.iter().any(|(id, ..)| id == wanted) {
                let known = || SECTIONS.iter().map(|(id, ..)| *id);
                let meant = nearest(wanted, known()).map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
                let list = known().collect::<Vec<_>>().join(", ");
                return Err(Error::usage(format!("a report has no section `{}`", clip(wanted)))
                    .help(format!("{meant}The sections are {list}")));
            }
        }
        if !self.lite && self.most_bytes < LEAST_BYTES {
            return Err(Error::usage("--max-size: a report with its script needs at least 2 MiB")
                .help("give at least 2MiB, or leave the script out with --lite"));
        }
        Ok(())
    }

    fn shows(&self, section: &str) -> bool {
        self.sections.as_ref().is_none_or(|wanted| wanted.iter().any(|id| id == section))
    }
}

/// A page, and what was left out of it.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its bytes.
    pub html: String,
    /// What was left out to keep it small.
    pub remarks: Vec<String>,
}

/// A section: its markup, and the figures in it.
struct Section {
    id: &'static str,
    heading: &'static str,
    body: String,
    figures: Vec<Figure>,
}

/// Writes the page.
///
/// # Errors
/// As [`Page::check`]; or the page would be longer than its limit even without the figures that may be left out.
pub fn write(inputs: &Inputs, page: &Page) -> Result<Written> {
    page.check()?;
    let mut remarks = Vec::new();
    // What is left out first, should the page be too long.
    let mut dropped: Vec<&str> = Vec::new();
    loop {
        let html = assemble(inputs, page, &dropped, &remarks);
        if html.len() as u64 <= page.most_bytes {
            return Ok(Written { html, remarks });
        }
        let Some((next, what)) = THINNED.iter().find(|(id, _)| !dropped.contains(id)) else {
            let message = format!("the report has {} bytes, more than --max-size allows", count(html.len() as u64));
            return Err(Error::usage(message).help("raise --max-size, or choose --sections"));
        };
        dropped.push(next);
        remarks.push(format!("report: {what} left out to keep the page below {} bytes", count(page.most_bytes)));
    }
}

/// What a page that is too long loses, in this order.
const THINNED: [(&str, &str); 4] = [
    ("gantt", "the timeline is"),
    ("heatmap-die", "the heat map of dies is"),
    ("wear", "the map of blocks is"),
    ("series", "the series is"),
];

fn assemble(inputs: &Inputs, page: &Page, dropped: &[&str], remarks: &[String]) -> String {
    let sections: Vec<Section> = SECTIONS
        .iter()
        .filter(|(id, ..)| page.shows(id))
        .filter_map(|(id, heading, _)| section(id, heading, inputs, page, dropped))
        .collect();
    let title = name(&page.title.clone().unwrap_or_else(|| title(inputs)));
    let style = style();
    let mut head = format!(
        "<!doctype html><html lang=\"en\" data-theme=\"auto\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; {}img-src data: blob:; base-uri 'none'; form-action 'none'\"><title>{}</title><style>{style}</style></head><body>",
        digest(&style),
        if page.lite { String::new() } else { format!("script-src '{}' '{}'; ", digest(ECHARTS), digest(SCRIPT)) },
        html(&title)
    );
    let sub = subtitle(inputs);
    let _ = write!(
        head,
        "<a class=\"skip\" href=\"#main\">Skip to the results</a><header><div><h1>{}</h1><p class=\"sub\">{}</p></div><fieldset id=\"theme\"><legend>Colours</legend>",
        html(&title),
        html(&sub)
    );
    for (value, label) in [("auto", "Auto"), ("light", "Light"), ("dark", "Dark")] {
        let checked = if value == "auto" { " checked" } else { "" };
        let _ = write!(
            head,
            "<label><input type=\"radio\" name=\"theme\" id=\"theme-{value}\" value=\"{value}\"{checked}>{label}</label>"
        );
    }
    head.push_str("</fieldset></header><nav aria-label=\"Contents\"><ol>");
    for (id, heading, needs) in SECTIONS.iter().filter(|(id, ..)| page.shows(id)) {
        if sections.iter().any(|section| section.id == *id) {
            let _ = write!(head, "<li><a href=\"#{id}\">{heading}</a></li>");
        } else if kind(inputs) == "run" && !matches!(*id, "compare" | "paper" | "explain" | "whatif") {
            let _ = write!(head, "<li><span>{heading} (add {})</span></li>", html(needs));
        }
    }
    head.push_str("</ol></nav><main id=\"main\">");
    let mut out = head;
    for section in &sections {
        let (id, heading) = (section.id, section.heading);
        let _ = write!(out, "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{heading}</h2>");
        out.push_str(&section.body);
        out.push_str("</section>");
    }
    out.push_str("</main><footer>");
    for remark in remarks {
        let _ = write!(out, "<p>{}</p>", html(remark));
    }
    let _ = write!(
        out,
        "<p>Made by ssdlab {}. The page loads nothing and sends nothing.</p></footer>",
        env!("CARGO_PKG_VERSION")
    );
    let figures: Vec<&Figure> = sections.iter().flat_map(|section| &section.figures).collect();
    let data = json_in_script(&data(inputs, &title, &figures));
    let _ = write!(out, "<script type=\"application/json\" id=\"ssdlab-data\">{data}</script>");
    if !page.lite {
        let _ = write!(out, "<script>{ECHARTS}</script><script>{SCRIPT}</script>");
    }
    out.push_str("</body></html>\n");
    out
}

/// What the page is about.
fn kind(inputs: &Inputs) -> &'static str {
    match inputs {
        _ if inputs.reproduce.is_some() && inputs.run.is_empty() => "reproduce",
        _ if inputs.compare.is_some() && inputs.run.is_empty() => "compare",
        _ => "run",
    }
}

fn title(inputs: &Inputs) -> String {
    match kind(inputs) {
        "reproduce" => "Papers and our results".into(),
        "compare" => "Comparison of SSD configurations".into(),
        _ => "What an SSD did".into(),
    }
}

fn subtitle(inputs: &Inputs) -> String {
    let from = match kind(inputs) {
        "compare" => inputs.compare.as_ref(),
        "reproduce" => inputs.reproduce.as_ref(),
        _ => inputs.run.summary.as_ref(),
    };
    let Some(from) = from else { return name(&inputs.names.join(", ")) };
    let about = match &inputs.run.about[..] {
        [first, ..] => name(first),
        [] => from.pointer("/workload/0").and_then(Value::as_str).map_or(String::new(), name),
    };
    let version = name(&format!("ssdlab {}", text(from, "/version")));
    let names = inputs.names.iter().map(|file| name(file)).collect::<Vec<_>>().join(", ");
    let seed = match from.get("seed").or(from.pointer("/seeds/first")) {
        Some(seed) => format!("seed {seed}"),
        None => String::new(),
    };
    [about, names, seed, version].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The style sheet: colours of both themes as variables, and the colours of figures mapped to those of the dark theme.
fn style() -> String {
    let pairs = palette::pairs();
    let own = |ground: &palette::Ground, dark: bool| {
        let rest = if dark {
            "--link:#6cb6ff;--soft:#232a32;--line:#303842;--edge:#78818b;--card:#14181d"
        } else {
            "--link:#0b5cad;--soft:#eef1f4;--line:#dde2e7;--edge:#767e87;--card:#ffffff"
        };
        let page = if dark { "#0c0f12" } else { "#f6f7f9" };
        let mut out = format!("--page:{page};--ink:{};--muted:{};{rest}", ground.ink, ground.muted);
        for (i, (light, night)) in pairs.iter().enumerate() {
            let _ = write!(out, ";--c{i}:{}", if dark { night } else { light });
        }
        out
    };
    let (light, dark) = (own(&LIGHT, false), own(&DARK, true));
    let mut out = format!(
        ":root{{{light}}}@media screen{{:root:has(#theme-dark:checked){{{dark}}}}}@media screen and (prefers-color-scheme:dark){{:root:not(:has(#theme-light:checked)){{{dark}}}}}"
    );
    for (i, (light, _)) in pairs.iter().enumerate() {
        let _ = write!(
            out,
            "svg[fill=\"{light}\"],svg [fill=\"{light}\"]{{fill:var(--c{i})}}svg [stroke=\"{light}\"]{{stroke:var(--c{i})}}"
        );
    }
    out.push_str(STYLE);
    out
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// The contract `ssdlab.report/1`, and the colours for the script.
fn data(inputs: &Inputs, title: &str, figures: &[&Figure]) -> Value {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let mut value = serde_json::to_value(figure).unwrap_or_default();
            // In a report the numbers behind a figure are its data.
            if let Value::Object(fields) = &mut value {
                let table = fields.remove("table").unwrap_or_default();
                fields.insert("data".into(), table);
            }
            value
        })
        .collect();
    let summary = inputs.run.summary.clone().unwrap_or_default();
    let mut tables = Vec::new();
    if let Some(compare) = &inputs.compare {
        tables.push(json!({ "id": "comparison", "table": charts::comparison_table(compare) }));
    }
    json!({
        "schema": "ssdlab.report/1",
        "version": env!("CARGO_PKG_VERSION"),
        "kind": kind(inputs),
        "title": title,
        "inputs": inputs.names,
        "figures": figures,
        "tables": tables,
        "summary": summary,
        "colours": colours(),
    })
}

/// Colours and patterns for the script.
fn colours() -> Value {
    let pattern = |pattern: Pattern| format!("{pattern:?}").to_lowercase();
    let style = |style: palette::Style| json!([style.light, style.dark, pattern(style.pattern), style.dashes]);
    let styles: Map<String, Value> = palette::STYLES.iter().map(|(key, of)| (key.to_string(), style(*of))).collect();
    let order: Vec<Value> = (0..5).map(|place| style(palette::of("", place))).collect();
    let ramp = |key: &str| {
        let steps = |dark| (0..palette::STEPS).map(|step| palette::ramp(key).colour(step, dark)).collect::<Vec<_>>();
        json!([steps(false), steps(true)])
    };
    let ground = |of: palette::Ground| json!([of.page, of.ink, of.muted, of.axis, of.grid]);
    json!({ "styles": styles, "order": order, "ground": [ground(LIGHT), ground(DARK)],
        "ramps": { "host": ramp("host"), "gc": ramp("gc"), "wear": ramp("wear") } })
}

fn section(id: &'static str, heading: &'static str, inputs: &Inputs, page: &Page, dropped: &[&str]) -> Option<Section> {
    let names: &[&str] = match id {
        "causes" => &["causes", "tail-causes"],
        "latency" => &["percentiles", "cdf", "ccdf"],
        "time" => &["series"],
        "dies" => &["heatmap-die"],
        "timeline" => &["gantt"],
        "wear" => &["wear", "valid"],
        "gc" => &["gc"],
        "compare" => &["compare"],
        _ => &[],
    };
    let wanted = names.iter().filter(|name| !dropped.contains(name));
    let mut figures: Vec<Figure> = wanted.filter_map(|name| charts::on_page(name, inputs)).collect();
    let mut body = String::new();
    match id {
        "verdict" => verdict(&mut body, inputs)?,
        "method" => method(&mut body, inputs, page)?,
        "compare" => comparison(&mut body, inputs.compare.as_ref()?),
        "paper" => figures = paper(&mut body, inputs)?,
        "explain" => figures = told(&mut body, explain::told(inputs.explain.as_ref()?)),
        "whatif" => figures = told(&mut body, whatif::told(inputs.whatif.as_ref()?)),
        "latency" if figures.len() > 1 => {
            body.push_str("<div class=\"views\">");
            for (i, figure) in figures.iter().enumerate() {
                let (checked, label) = (if i == 0 { " checked" } else { "" }, ["Percentiles", "CDF", "CCDF"][i.min(2)]);
                let _ = write!(
                    body,
                    "<input type=\"radio\" name=\"view\" id=\"view-{0}\"{checked}><label for=\"view-{0}\">{label}</label>",
                    figure.id
                );
            }
        }
        _ => {}
    }
    if id != "paper" {
        figures.iter().for_each(|figure| place(&mut body, figure));
    }
    if id == "latency" && figures.len() > 1 {
        body.push_str("</div>");
    }
    if body.is_empty() {
        return None;
    }
    Some(Section { id, heading, body, figures })
}

/// A name as an id of the page.
fn anchor(id: &str) -> String {
    format!("figure-{}", id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect::<String>())
}

/// A figure with its caption and its numbers.
fn place(out: &mut String, figure: &Figure) {
    let id = anchor(&figure.id);
    let title = name(&figure.title);
    let _ = write!(
        out,
        "<figure id=\"{id}\" data-figure=\"{}\"><h3 id=\"{id}-h\">{}</h3><div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">",
        html(&figure.id),
        html(&title),
        html(&title)
    );
    let look = Look { title: false, width: 760.0, ..Look::default() };
    out.push_str(&draw(figure, &look));
    let _ = write!(out, "</div><figcaption>{}", html(&figure.caption));
    for note in &figure.notes {
        let _ = write!(out, "<br><small>{}</small>", html(&name(note)));
    }
    out.push_str("</figcaption>");
    if !figure.table.rows.is_empty() {
        let _ = write!(out, "<details><summary>Table</summary>");
        table(out, &figure.table, &title, false);
        let rows = figure.table.rows.len();
        if rows > MOST_ROWS {
            let _ = write!(out, "<p class=\"note\">The first {MOST_ROWS} of {} rows.</p>", count(rows as u64));
        }
        out.push_str("</details>");
    }
    out.push_str("</figure>");
}

/// A table that can be scrolled.
fn table(out: &mut String, table: &Table, label: &str, wrap: bool) {
    let class = if wrap { " class=\"wrap\"" } else { "" };
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}: table\"><table{class}><thead><tr>",
        html(label)
    );
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|i| {
            i > 0 && table.rows.iter().all(|row| !matches!(row.get(i), Some(Cell::Text(text)) if !looks_numeric(text)))
        })
        .collect();
    for (column, numeric) in table.columns.iter().zip(&numeric) {
        // A heading without text would be read as nothing.
        let text = if column.is_empty() { "kind" } else { column };
        let _ =
            write!(out, "<th scope=\"col\"{}>{}</th>", if *numeric { " class=\"n\"" } else { "" }, html(&name(text)));
    }
    out.push_str("</tr></thead><tbody>");
    for row in table.rows.iter().take(MOST_ROWS) {
        out.push_str("<tr>");
        for (cell, numeric) in row.iter().zip(&numeric) {
            let text = match cell {
                Cell::Whole(value) => count(*value),
                Cell::Real(value) => ssdlab_figures::scale::plain(*value, if value.abs() < 10.0 { 6 } else { 2 }),
                other => name(&other.text()),
            };
            let _ = write!(out, "<td{}>{}</td>", if *numeric { " class=\"n\"" } else { "" }, html(&text));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// Whether a text is a number with a unit.
fn looks_numeric(text: &str) -> bool {
    text == "-" || text.starts_with(|c: char| c.is_ascii_digit())
}

fn verdict(out: &mut String, inputs: &Inputs) -> Option<()> {
    let summary = inputs.run.summary.as_ref()?;
    let said = words::verdict(summary);
    let mut said = said.chars();
    let first = said.next().map_or(String::new(), |c| c.to_uppercase().collect());
    let _ = write!(out, "<p class=\"lead\">{}{}.</p>", html(&first), html(said.as_str()));
    let value = |place: &str| number(summary, place);
    let two = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let of_op =
        |op: &str| value(&format!("/requests_delayed_by_gc/{op}")).zip(value(&format!("/latency_ns/{op}/count")));
    let delayed = of_op("all").filter(|(_, all)| *all > 0.0).map_or("-".into(), |(some, all)| percent(some / all));
    let facts = [
        ("write amplification", two(value("/write_amplification"))),
        ("delayed by GC", delayed),
        ("collections", value("/gc/collections").map_or("-".into(), |n| count(n as u64))),
        ("dies busy", value("/utilisation/die").map_or("-".into(), percent)),
        ("erases", value("/flash/erases").map_or("-".into(), |n| count(n as u64))),
    ];
    out.push_str("<dl class=\"facts\">");
    for (label, text) in facts {
        let _ = write!(out, "<div><dt>{label}</dt><dd>{}</dd></div>", html(&text));
    }
    out.push_str("</dl>");
    table(out, &charts::key_figures(summary), "Latency", false);
    out.push_str("<dl class=\"note\">");
    for (label, text) in words::device(summary) {
        let _ = write!(out, "<dt><b>{label}</b></dt><dd>{}</dd>", html(&name(&text)));
    }
    for text in &inputs.run.about {
        let _ = write!(out, "<dt><b>workload</b></dt><dd>{}</dd>", html(&name(text)));
    }
    out.push_str("</dl>");
    Some(())
}

/// The sentences and tables of an analysis; its figures follow.
fn told(out: &mut String, told: Told) -> Vec<Figure> {
    for (i, said) in told.said.iter().enumerate() {
        let class = if i == 0 { " class=\"lead\"" } else { "" };
        let _ = write!(out, "<p{class}>{}</p>", html(&long(said)));
    }
    for (heading, rows) in &told.tables {
        let _ = write!(out, "<h3>{}</h3>", html(&name(heading)));
        table(out, rows, heading, false);
    }
    told.figures
}

fn comparison(out: &mut String, compare: &Value) {
    let seeds = compare.pointer("/seeds/count").and_then(Value::as_u64).unwrap_or(1);
    let _ = write!(
        out,
        "<p class=\"lead\">Each variant serves the same requests; ratios are to variant 1. {}</p>",
        if seeds > 1 {
            format!(
                "Means over {seeds} seeds, with 95 % confidence intervals of the differences, paired by seed (Student's t)."
            )
        } else {
            "One seed: there are no intervals.".into()
        }
    );
    for caution in compare["cautions"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = write!(out, "<p><b>Caution.</b> {}</p>", html(&name(caution)));
    }
    table(out, &charts::comparison_table(compare), "Comparison", false);
}

fn paper(out: &mut String, inputs: &Inputs) -> Option<Vec<Figure>> {
    let papers = inputs.reproduce.as_ref()?["papers"].as_array()?;
    let figures = charts::of_papers(inputs);
    let mut each = figures.iter();
    out.push_str("<p>Signs: = the same or in agreement, ~ weaker, ! other than the paper, ? nothing to compare.</p>");
    for paper in papers {
        let about = &paper["about"];
        let _ = write!(out, "<p class=\"lead\">{}</p>", html(&name(text(about, "/paper"))));
        for (label, said) in about.as_object().into_iter().flatten().filter(|(label, _)| *label != "paper") {
            let said = said.as_str().unwrap_or_default();
            let _ = write!(out, "<p class=\"note\">{}: {}</p>", html(&name(label)), html(&name(said)));
        }
        for _ in paper["items"].as_array().into_iter().flatten() {
            if let Some(figure) = each.next() {
                place(out, figure);
            }
        }
    }
    Some(figures)
}

fn method(out: &mut String, inputs: &Inputs, page: &Page) -> Option<()> {
    let summary = inputs.run.summary.as_ref()?;
    let _ = write!(out, "<p>{}</p>", html(&long(&words::method(summary, &inputs.run.about))));
    if let Some(command) = &page.command {
        let _ = write!(out, "<h3>Repeat it</h3><pre>{}</pre>", html(&long(command)));
    }
    let differences = words::differences(summary);
    out.push_str("<h3>Configuration</h3>");
    if differences.is_empty() {
        out.push_str("<p>Every key has its default value.</p>");
    } else {
        let mut rows = Table::new(&["key", "default", "here"]);
        rows.rows = differences.into_iter().map(|row| row.map(Cell::Text).to_vec()).collect();
        table(out, &rows, "Keys that differ from the defaults", true);
    }
    let mut rows = Table::new(&["key", "value"]);
    rows.rows = words::configuration(summary).into_iter().map(|row| row.map(Cell::Text).to_vec()).collect();
    out.push_str("<details><summary>All keys</summary>");
    table(out, &rows, "All keys", true);
    out.push_str("</details>");
    let mut digests = Table::new(&["what", "digest"]);
    for (what, place) in [("configuration", "/config_digest"), ("requests", "/trace_digest")] {
        digests.rows.push(vec![what.into(), text(summary, place).into()]);
    }
    out.push_str("<h3>Digests</h3>");
    table(out, &digests, "Digests", true);
    out.push_str("<h3>Not modelled</h3><p>Firmware time, DRAM time (unless <code>device.memory</code>), NVMe queues and arbitration, demand-loaded mapping, SLC caching, read retry, energy. The model's page, <code>docs/model.md</code>, says exactly what happens when.</p>");
    Some(())
}

/// A text of several sentences: only its longest words are cut.
fn long(text: &str) -> String {
    text.split(' ').map(name).collect::<Vec<_>>().join(" ")
}
