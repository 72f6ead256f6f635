//! The report: one page that needs nothing but itself.
//!
//! Every figure is drawn as SVG in the page, beside its numbers as a table, so nothing is lost without scripts or style sheets. The
//! script works on the same SVG: it shows the values that marks carry, hides series and zooms.

use std::fmt::Write;

use serde_json::{Value, json};
use ssdlab_figures::escape::{html, json_in_script, name};
use ssdlab_figures::figure::{Cell, Figure, Table};
use ssdlab_figures::svg::{Look, draw};

use crate::analysis::Analysis;
use crate::charts::{self, Shown};
use crate::drive;
use crate::explain;
use crate::inputs::Inputs;
use crate::style::{LONG_ROWS, MOST_COLUMNS, PRINTED_ROWS, VERDICTS, digest, style};
use crate::sweep::{State, Sweep};
use crate::terms;
use crate::whatif;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_lab::readers::json::{flat, number, text};
use ssdlab_lab::readers::words;
use ssdlab_lab::text::{count, duration, percent, plural};
use ssdlab_sweep::store::unchecked_note;

const SCRIPT: &str = include_str!("../assets/page.js");

/// Rows of a table that the page shows.
const MOST_ROWS: usize = 500;
/// Values of a key that the page lists.
const MOST_VALUES: usize = 24;

/// The sections in their order: name, heading, and the options that make their results.
pub const SECTIONS: [(&str, &str, &str); 15] = [
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
    ("sweep", "Study", "`ssdlab sweep`"),
    ("drive", "The drive", "`ssdlab calibrate identify`"),
    ("paper", "Papers and our results", "`ssdlab reproduce`"),
    ("method", "Method", "--json"),
];

/// How a page looks.
#[derive(Clone, Debug)]
pub struct Page {
    /// Whether the script is left out.
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

/// The default limit of a page in bytes.
pub const MOST_BYTES: u64 = 8 << 20;

impl Default for Page {
    /// All sections, with the script, at most 8 MiB.
    fn default() -> Self {
        Page { lite: false, title: None, sections: None, most_bytes: MOST_BYTES, command: None }
    }
}

impl Page {
    /// Checks names before anything is run.
    ///
    /// # Errors
    /// No section has a name.
    pub fn check(&self) -> Result<()> {
        for wanted in self.sections.iter().flatten() {
            if !SECTIONS.iter().any(|(id, ..)| id == wanted) {
                let known = SECTIONS.iter().map(|(id, ..)| *id);
                return Err(Error::usage(format!("a report has no section `{}`", clip(wanted))).help(suggest(
                    wanted,
                    known,
                    "The sections are",
                )));
            }
        }
        Ok(())
    }

    /// How figures are drawn: their marks carry values for the script.
    pub fn look(&self) -> Look {
        Look { title: false, width: 760.0, carrying: !self.lite, ..Look::default() }
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

struct Section {
    id: &'static str,
    heading: &'static str,
    body: String,
    figures: Vec<Figure>,
}

/// Writes the page. One that is too long is thinned, step by step.
///
/// # Errors
/// As [`Page::check`]; or the page would be longer than its limit after the last step.
pub fn write(inputs: &Inputs, page: &Page) -> Result<Written> {
    page.check()?;
    let unchecked = inputs.sweep.as_ref().and_then(|sweep| unchecked_note(sweep.unchecked));
    let remarks = unchecked.map(|said| format!("report: {said}"));
    let (mut detail, mut remarks) = (Detail::of(page), Vec::from_iter(remarks));
    let mut html = assemble(inputs, page, &detail, &remarks);
    for (step, said) in THINNING {
        if html.len() as u64 <= page.most_bytes {
            break;
        }
        let mut thinner = detail.clone();
        step(&mut thinner);
        let said = format!("report: {said}, to keep the page within {} bytes", count(page.most_bytes));
        let all: Vec<String> = remarks.iter().cloned().chain([said]).collect();
        let next = assemble(inputs, page, &thinner, &all);
        // A step says nothing where it changes nothing.
        if next.len() < html.len() {
            (detail, remarks, html) = (thinner, all, next);
        }
    }
    if html.len() as u64 > page.most_bytes {
        let message = format!("the report has {} bytes, more than --max-size allows", count(html.len() as u64));
        return Err(Error::usage(message).help("raise --max-size, or choose --sections"));
    }
    Ok(Written { html, remarks })
}

/// How much of a run the page shows.
#[derive(Clone, Debug, Default)]
struct Detail {
    shown: Shown,
    /// Figures that are left out.
    without: Vec<&'static str>,
}

impl Detail {
    /// A page without its script cannot be zoomed, so its maps and timelines have what can be told apart at their size.
    fn of(page: &Page) -> Detail {
        let lite = Shown { bars: 500, cells: 1_000, ..Shown::default() };
        Detail { shown: if page.lite { lite } else { Shown::default() }, without: Vec::new() }
    }
}

/// What a page that is too long loses, in this order. Summary, percentiles and comparison are never thinned.
type Step = (fn(&mut Detail), &'static str);
const THINNING: [Step; 11] = [
    (|of| of.shown.used_rows = true, "the timeline shows only the buses and planes that the slowest request used"),
    (|of| of.shown.bars = of.shown.bars.min(1_000), "the timeline shows only its 1,000 longest operations"),
    (|of| of.shown.bars = 250, "the timeline shows only its 250 longest operations"),
    (|of| of.shown.windows = 200, "the windows of the series are merged to at most 200"),
    (|of| of.shown.cells = 600, "maps are merged to about 600 cells"),
    (|of| of.shown.rows = MOST_ROWS, "the table of points has only those that the page shows"),
    (|of| of.shown.points = 400, "figures of studies show about 400 points and the front"),
    (|of| of.without.push("gantt"), "the timeline is left out"),
    (|of| of.without.push("heatmap-die"), "the map of dies is left out"),
    (|of| of.without.push("wear"), "the map of blocks is left out"),
    (|of| of.without.push("series"), "the series is left out"),
];

fn assemble(inputs: &Inputs, page: &Page, detail: &Detail, remarks: &[String]) -> String {
    let sections: Vec<Section> = SECTIONS
        .iter()
        .filter(|(id, ..)| page.shows(id))
        .filter_map(|(id, heading, _)| section(id, heading, inputs, page, detail))
        .collect();
    let title = name(&page.title.clone().unwrap_or_else(|| title(inputs)));
    let drawn: String = sections.iter().map(|section| section.body.as_str()).collect();
    let style = style(&drawn);
    let mut head = format!(
        "<!doctype html><html lang=\"en\" data-theme=\"auto\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; {}img-src data: blob:; base-uri 'none'; form-action 'none'\"><title>{}</title><style>{style}</style></head><body>",
        digest(&style),
        if page.lite { String::new() } else { format!("script-src '{}'; ", digest(SCRIPT)) },
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
    // Explanations and what-ifs have none of these options.
    let others = [&inputs.explain, &inputs.whatif, &inputs.drive];
    let only_run = kind(inputs) == "run" && others.into_iter().all(Option::is_none);
    for (id, heading, needs) in SECTIONS.iter().filter(|(id, ..)| page.shows(id)) {
        if sections.iter().any(|section| section.id == *id) {
            let _ = write!(head, "<li><a href=\"#{id}\">{heading}</a></li>");
        } else if only_run && !matches!(*id, "compare" | "sweep" | "drive" | "paper" | "explain" | "whatif") {
            let _ = write!(head, "<li><span>{heading} (add {})</span></li>", html(needs));
        }
    }
    let terms = terms::of(&drawn);
    if !terms.is_empty() {
        head.push_str("<li><a href=\"#terms\">Terms</a></li>");
    }
    head.push_str("</ol></nav><main id=\"main\">");
    let mut out = head;
    sections.iter().for_each(|section| out.push_str(&whole(section)));
    out.push_str("</main><footer>");
    out.push_str(&explained(&terms));
    for remark in remarks {
        let _ = write!(out, "<p>{}</p>", html(remark));
    }
    let _ = write!(
        out,
        "<p>Made by ssdlab {}. The page loads nothing and sends nothing.</p></footer>",
        env!("CARGO_PKG_VERSION")
    );
    let figures: Vec<&Figure> = sections.iter().flat_map(|section| &section.figures).collect();
    let data = json_in_script(&data(inputs, &title, &figures, &detail.shown));
    let _ = write!(out, "<script type=\"application/json\" id=\"ssdlab-data\">{data}</script>");
    if !page.lite {
        let _ = write!(out, "<script>{SCRIPT}</script>");
    }
    out.push_str("</body></html>\n");
    out
}

/// A section with its heading.
fn whole(section: &Section) -> String {
    let (id, heading, body) = (section.id, section.heading, &section.body);
    format!("<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{heading}</h2>{body}</section>")
}

/// What terms on the page mean, in a fold; nothing without any.
fn explained(terms: &[(String, String)]) -> String {
    if terms.is_empty() {
        return String::new();
    }
    // A link to what a closed fold has inside opens it. The ends of both elements are optional in HTML.
    let one = |(term, meaning): &(String, String)| format!("<dt>{}<dd>{}", html(term), html(meaning));
    let all: String = terms.iter().map(one).collect();
    format!("<details class=\"long\"><summary>Terms</summary><dl class=\"note\" id=\"terms\">{all}</dl></details>")
}

/// What the page is about.
fn kind(inputs: &Inputs) -> &'static str {
    match inputs {
        _ if inputs.reproduce.is_some() && inputs.run.is_empty() => "reproduce",
        _ if inputs.compare.is_some() && inputs.run.is_empty() => "compare",
        _ if inputs.sweep.is_some() && inputs.run.is_empty() => "sweep",
        _ => "run",
    }
}

fn title(inputs: &Inputs) -> String {
    match kind(inputs) {
        "reproduce" => "Papers and our results".into(),
        "compare" => "Comparison of SSD configurations".into(),
        "sweep" => format!("Study {}", inputs.sweep.as_ref().map_or("", |sweep| &sweep.study)),
        _ if inputs.whatif.is_some() && inputs.run.is_empty() => "What an SSD would have done".into(),
        _ if inputs.drive.is_some() && inputs.run.is_empty() => "What a drive is".into(),
        _ => "What an SSD did".into(),
    }
}

fn subtitle(inputs: &Inputs) -> String {
    let from = match kind(inputs) {
        "compare" => inputs.compare.as_ref(),
        "reproduce" => inputs.reproduce.as_ref(),
        _ => inputs.run.summary.as_ref(),
    };
    if let ("sweep", Some(sweep)) = (kind(inputs), &inputs.sweep) {
        let version = sweep.version.as_ref().map(|version| name(&format!("ssdlab {version}")));
        return inputs.names.iter().map(|file| name(file)).chain(version).collect::<Vec<_>>().join(" · ");
    }
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

/// The contract `ssdlab.report/1`.
fn data(inputs: &Inputs, title: &str, figures: &[&Figure], shown: &Shown) -> Value {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let mut value = serde_json::to_value(figure).unwrap_or_default();
            // In a report the numbers behind a figure are its data.
            if let Value::Object(fields) = &mut value {
                let table = fields.remove("table").unwrap_or_default();
                fields.insert("data".into(), table);
                // The drawing has them.
                ["heading", "x", "y", "series", "panels"].iter().for_each(|name| _ = fields.remove(*name));
            }
            value
        })
        .collect();
    let summary = inputs.run.summary.clone().unwrap_or_default();
    let mut tables = Vec::new();
    if let Some(sweep) = &inputs.sweep {
        let [points, best] = charts::study_tables(sweep, shown.rows);
        tables.push(json!({ "id": "points", "table": points }));
        tables.push(json!({ "id": "best", "table": best }));
    }
    if let Some(compare) = &inputs.compare {
        tables.push(json!({ "id": "comparison", "table": charts::comparison_table(compare) }));
    }
    let analyses = [
        inputs.explain.as_ref().map(explain::tables),
        inputs.whatif.as_ref().map(whatif::tables),
        inputs.drive.as_ref().map(drive::tables),
    ];
    tables.extend(analyses.into_iter().flatten().flatten().map(|(id, table)| json!({ "id": id, "table": table })));
    json!({
        "schema": "ssdlab.report/1",
        "version": env!("CARGO_PKG_VERSION"),
        "kind": kind(inputs),
        "title": title,
        "inputs": inputs.names,
        "figures": figures,
        "tables": tables,
        "summary": summary,
    })
}

fn section(id: &'static str, heading: &'static str, inputs: &Inputs, page: &Page, detail: &Detail) -> Option<Section> {
    let names: &[&str] = match id {
        "causes" => &["causes", "tail-causes"],
        "latency" => &["percentiles", "cdf", "ccdf"],
        "time" => &["series"],
        "dies" => &["heatmap-die"],
        "timeline" => &["gantt"],
        "wear" => &["life", "wear", "valid"],
        "gc" => &["gc"],
        "compare" => &["compare"],
        _ => &[],
    };
    let wanted = names.iter().filter(|name| !detail.without.contains(name));
    let mut figures: Vec<Figure> = wanted.filter_map(|name| charts::on_page(name, inputs, &detail.shown)).collect();
    let mut body = String::new();
    match id {
        "verdict" => verdict(&mut body, inputs)?,
        "method" => method(&mut body, inputs, page)?,
        "compare" => {
            let compare = inputs.compare.as_ref()?;
            comparison(&mut body, compare);
            figures.iter().for_each(|figure| place(&mut body, figure, page));
            compared(&mut body, compare);
            repeat(&mut body, page);
        }
        "sweep" => {
            figures = study(&mut body, inputs, inputs.sweep.as_ref()?, page, &detail.shown);
            repeat(&mut body, page);
        }
        "paper" => figures = paper(&mut body, inputs, page)?,
        "explain" => figures = told(&mut body, explain::told(inputs.explain.as_ref()?)),
        "whatif" => figures = told(&mut body, whatif::told(inputs.whatif.as_ref()?)),
        "drive" => {
            figures = told(&mut body, drive::told(inputs.drive.as_ref()?));
            repeat(&mut body, page);
        }
        "latency" => views(&mut body, "view", &["Percentiles", "CDF", "CCDF"], &figures, page),
        _ => {}
    }
    if !matches!(id, "latency" | "paper" | "sweep" | "compare") {
        figures.iter().for_each(|figure| place(&mut body, figure, page));
    }
    if body.is_empty() {
        return None;
    }
    Some(Section { id, heading, body, figures })
}

/// Figures of which a reader chooses one; without style sheets all of them are there.
fn views(out: &mut String, group: &str, labels: &[&str], figures: &[Figure], page: &Page) {
    let choice = figures.len() > 1;
    if choice {
        out.push_str("<div class=\"views\">");
        for (i, (figure, label)) in figures.iter().zip(labels).enumerate() {
            let (checked, id) = (if i == 0 { " checked" } else { "" }, plain(&figure.id));
            let _ = write!(
                out,
                "<input type=\"radio\" name=\"{group}\" id=\"view-{id}\"{checked}><label for=\"view-{id}\">{}</label>",
                html(&name(label))
            );
        }
    }
    figures.iter().for_each(|figure| place(out, figure, page));
    if choice {
        out.push_str("</div>");
    }
}

fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn anchor(id: &str) -> String {
    format!("figure-{}", plain(id))
}

/// A figure with its caption and its numbers.
fn place(out: &mut String, figure: &Figure, page: &Page) {
    let id = anchor(&figure.id);
    let title = name(&figure.title);
    let _ = write!(
        out,
        "<figure id=\"{id}\" data-figure=\"{}\"><h3 id=\"{id}-h\">{}</h3><div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">",
        html(&figure.id),
        html(&title),
        html(&title)
    );
    match &figure.empty {
        Some(why) => _ = write!(out, "<p class=\"empty\">{}</p>", html(why)),
        None => out.push_str(&draw(figure, &page.look())),
    }
    let _ = write!(out, "</div><figcaption>{}", html(&figure.caption));
    for note in &figure.notes {
        let _ = write!(out, "<br><small>{}</small>", html(&name(note)));
    }
    out.push_str("</figcaption>");
    if !figure.table.rows.is_empty() {
        // Where nothing is drawn, the table is all there is to see.
        let open = if figure.empty.is_some() { " open" } else { "" };
        let _ = write!(out, "<details{open}{}><summary>Table</summary>", long_class(figure.table.rows.len()));
        table(out, &figure.table, &title, false);
        out.push_str("</details>");
    }
    out.push_str("</figure>");
}

/// The class of a folded table that is printed only if the reader has opened it.
fn long_class(rows: usize) -> &'static str {
    if rows < LONG_ROWS { "" } else { " class=\"long\"" }
}

fn table(out: &mut String, table: &Table, label: &str, wrap: bool) {
    let text = |row: &Vec<Cell>, i: usize| matches!(row.get(i), Some(Cell::Text(text)) if !looks_numeric(text));
    let named = |i: usize| i == 0 || table.columns[i] == "name";
    let numeric = |i: &usize| !named(*i) && !wrap && !table.rows.iter().any(|row| text(row, *i));
    // A class of the table for each column of numbers is shorter than one of each cell.
    let mut class: Vec<String> =
        (0..table.columns.len().min(MOST_COLUMNS)).filter(numeric).map(|i| format!("n{}", i + 1)).collect();
    class.extend(wrap.then(|| "wrap".into()));
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}: table\"><table class=\"{}\"><thead><tr>",
        html(label),
        class.join(" ")
    );
    for column in &table.columns {
        // A heading without text would be read as nothing.
        let text = if column.is_empty() { "kind" } else { column };
        let _ = write!(out, "<th scope=\"col\">{}", parted(&html(&name(text))));
    }
    // The ends of cells and rows are optional in HTML.
    out.push_str("<tbody>");
    for row in table.rows.iter().take(MOST_ROWS) {
        out.push_str("<tr>");
        for cell in row {
            let text = match cell {
                Cell::Whole(value) => count(*value),
                Cell::Real(value) => ssdlab_figures::scale::plain(*value, if value.abs() < 10.0 { 6 } else { 2 }),
                other => name(&other.text()),
            };
            // An interval may be broken between its ends.
            let _ = write!(out, "<td>{}", html(&text).replace("..", "..<wbr>"));
        }
    }
    out.push_str("</table></div>");
    let rows = table.rows.len();
    if rows > MOST_ROWS {
        let _ = write!(out, "<p class=\"note first\">The first {MOST_ROWS} of {} rows.</p>", count(rows as u64));
    }
    if rows > PRINTED_ROWS {
        let _ = write!(
            out,
            "<p class=\"note printed\">Printed: the first {PRINTED_ROWS} of {} rows.</p>",
            count(rows as u64)
        );
    }
}

/// A heading that may be broken between the parts of its name.
fn parted(heading: &str) -> String {
    let mut out = String::with_capacity(heading.len());
    let mut rest = heading.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        if c == '_' || (c == '.' && rest.peek().is_some_and(|next| next.is_alphabetic())) {
            out.push_str("<wbr>");
        }
    }
    out
}

/// Whether a text is a number with a unit.
fn looks_numeric(text: &str) -> bool {
    text == "-" || text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit())
}

fn verdict(out: &mut String, inputs: &Inputs) -> Option<()> {
    let summary = inputs.run.summary.as_ref()?;
    let said = words::verdict(summary);
    let mut said = said.chars();
    let first = said.next().map_or(String::new(), |c| c.to_uppercase().collect());
    let _ = write!(out, "<p class=\"lead\">{}{}.</p>", html(&first), html(said.as_str()));
    let value = |place: &str| number(summary, place);
    let amplification = match words::Amplification::of(summary) {
        None => "-".into(),
        Some(words::Amplification { bytes, in_pages: None }) => format!("{bytes:.2}"),
        Some(words::Amplification { bytes, in_pages: Some(pages) }) => format!("{bytes:.2} ({pages:.2} in pages)"),
    };
    let of_op =
        |op: &str| value(&format!("/requests_delayed_by_gc/{op}")).zip(value(&format!("/latency_ns/{op}/count")));
    let delayed = of_op("all").filter(|(_, all)| *all > 0.0).map_or("-".into(), |(some, all)| percent(some / all));
    let tail = |op: &str| value(&format!("/latency_ns/{op}/p99_9")).map(duration);
    let tails = ["read", "write"].into_iter().filter_map(|op| Some((format!("{op}s, p99.9"), tail(op)?)));
    let facts = [
        ("write amplification", amplification),
        ("delayed by GC", delayed),
        ("collections", value("/gc/collections").map_or("-".into(), |n| count(n as u64))),
        ("dies busy", value("/utilisation/die").map_or("-".into(), percent)),
        ("erases", value("/flash/erases").map_or("-".into(), |n| count(n as u64))),
    ];
    out.push_str("<dl class=\"facts\">");
    for (label, text) in tails.chain(facts.map(|(label, text)| (label.to_string(), text))) {
        let _ = write!(out, "<div><dt>{label}</dt><dd>{}</dd></div>", html(&text));
    }
    out.push_str("</dl>");
    table(out, &charts::key_figures(summary), "Latency", false);
    described(out, summary, &inputs.run.about);
    Some(())
}

fn described(out: &mut String, summary: &Value, about: &[String]) {
    out.push_str("<dl class=\"note\">");
    for (label, text) in words::device(summary) {
        let _ = write!(out, "<dt><b>{label}</b></dt><dd>{}</dd>", html(&name(&text)));
    }
    for text in about {
        let _ = write!(out, "<dt><b>workload</b></dt><dd>{}</dd>", html(&name(text)));
    }
    out.push_str("</dl>");
}

/// The sentences and tables of an analysis; its figures follow.
fn told(out: &mut String, told: Analysis) -> Vec<Figure> {
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
    let over =
        if seeds > 1 { format!("Means over {seeds} seeds.") } else { "One seed: there are no intervals.".into() };
    let _ = write!(out, "<p class=\"lead\">Each variant serves the same requests; ratios are to variant 1. {over}</p>");
    for caution in compare["cautions"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = write!(out, "<p><b>Caution.</b> {}</p>", html(&name(caution)));
    }
    table(out, &charts::comparison_table(compare), "Comparison", false);
    charts::comparison_notes(compare).iter().for_each(|note| _ = write!(out, "<p>{}</p>", html(note)));
}

/// What the first variant is, and which requests all of them serve. Files of older versions lack the configuration.
fn compared(out: &mut String, compare: &Value) {
    if compare.pointer("/base/config").is_some() {
        out.push_str("<h3>Variant 1, and the requests of all</h3>");
        let about = compare["workload"].as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from);
        described(out, &compare["base"], &about.collect::<Vec<_>>());
    }
}

/// A study: what became of its points, the best ones, and its figures.
fn study(out: &mut String, inputs: &Inputs, sweep: &Sweep, page: &Page, shown: &Shown) -> Vec<Figure> {
    let points = |state: State| sweep.points.iter().filter(|point| point.state == state).count() as u64;
    let several = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", count(n)));
    let [done, refused, failed, left] = [State::Done, State::Refused, State::Failed, State::Left].map(points);
    let parts = [
        several(done, "with results"),
        several(refused, "refused"),
        several(failed, "failed"),
        several(left, "not run yet"),
    ];
    let _ = write!(
        out,
        "<p class=\"lead\">{}, {}: {}.</p>",
        plural(sweep.points.len() as u64, "point"),
        plural(sweep.runs.iter().sum(), "run"),
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    );
    let mut keys = Table::new(&["key", "values"]);
    for axis in &sweep.axes {
        let all = axis.values.len();
        let some = axis.values.iter().take(MOST_VALUES).cloned().collect::<Vec<_>>().join(", ");
        let more = if all > MOST_VALUES { format!(", … ({} values)", count(all as u64)) } else { String::new() };
        keys.rows.push(vec![axis.key.as_str().into(), Cell::Text(some + &more)]);
    }
    table(out, &keys, "Keys", true);
    let [points, best] = charts::study_tables(sweep, MOST_ROWS);
    if !best.rows.is_empty() {
        out.push_str("<h3>Best points</h3>");
        table(out, &best, "Best points", true);
        charts::best_note(sweep).iter().for_each(|note| _ = write!(out, "<p class=\"note\">{}</p>", html(&name(note))));
    }
    let mut figures = Vec::new();
    for (group, (heading, found)) in ["Lines", "Maps", ""].into_iter().zip(charts::of_study(inputs, shown)).enumerate()
    {
        let (labels, own): (Vec<String>, Vec<Figure>) = found.into_iter().unzip();
        if heading.is_empty() {
            own.iter().for_each(|figure| place(out, figure, page));
        } else if !own.is_empty() {
            let _ = write!(out, "<h3>{heading}</h3>");
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            views(out, &format!("view-{group}"), &labels, &own, page);
        }
        figures.extend(own);
    }
    let _ = write!(out, "<details{}><summary>Points</summary>", long_class(points.rows.len()));
    table(out, &points, "Points", false);
    if sweep.points.len() > MOST_ROWS {
        let all = count(sweep.points.len() as u64);
        let _ = write!(
            out,
            "<p class=\"note\">The first {MOST_ROWS} of {all} points; `ssdlab sweep table` writes all.</p>"
        );
    }
    out.push_str("</details>");
    figures
}

fn paper(out: &mut String, inputs: &Inputs, page: &Page) -> Option<Vec<Figure>> {
    let papers = inputs.reproduce.as_ref()?["papers"].as_array()?;
    let figures = charts::of_papers(inputs);
    let mut each = figures.iter();
    out.push_str("<p>Signs: = the same or in agreement, ~ weaker, ! other than the paper, ? nothing to compare.</p>");
    choose_verdicts(out, papers);
    for paper in papers {
        let about = &paper["about"];
        let _ = write!(out, "<p class=\"lead\">{}</p>", html(&name(text(about, "/paper"))));
        for (label, said) in about.as_object().into_iter().flatten().filter(|(label, _)| *label != "paper") {
            let said = said.as_str().unwrap_or_default();
            let _ = write!(out, "<p class=\"note\">{}: {}</p>", html(&name(label)), html(&name(said)));
        }
        for item in paper["items"].as_array().into_iter().flatten() {
            if let Some(figure) = each.next() {
                let kinds = VERDICTS.iter().filter(|(id, ..)| has(item, id)).map(|(id, ..)| format!(" has-{id}"));
                let _ = write!(out, "<div class=\"item{}\">", kinds.collect::<String>());
                place(out, figure, page);
                out.push_str("</div>");
            }
        }
    }
    Some(figures)
}

/// Whether a figure of a paper has a row with a verdict of this kind.
fn has(item: &Value, kind: &str) -> bool {
    let sign = VERDICTS.iter().find(|(id, ..)| *id == kind).map_or("", |(_, sign, _)| *sign);
    item["rows"].as_array().into_iter().flatten().any(|row| charts::symbol(text(row, "/verdict")) == sign)
}

/// A choice of figures by verdict; it needs no script.
fn choose_verdicts(out: &mut String, papers: &[Value]) {
    let items = || papers.iter().flat_map(|paper| paper["items"].as_array().into_iter().flatten());
    let all = items().count();
    let found =
        VERDICTS.iter().map(|(id, sign, label)| (*id, *sign, *label, items().filter(|item| has(item, id)).count()));
    let found: Vec<_> = found.filter(|(.., count)| *count > 0).collect();
    if found.len() < 2 {
        return;
    }
    let _ = write!(
        out,
        "<fieldset class=\"verdicts\"><legend>Figures by verdict</legend><label><input type=\"radio\" name=\"verdict\" id=\"verdict-all\" checked>All figures ({all})</label>"
    );
    for (id, sign, label, count) in found {
        let _ = write!(
            out,
            "<label><input type=\"radio\" name=\"verdict\" id=\"verdict-{id}\">{sign} {label} ({count})</label>"
        );
    }
    out.push_str("</fieldset>");
}

fn method(out: &mut String, inputs: &Inputs, page: &Page) -> Option<()> {
    let summary = inputs.run.summary.as_ref()?;
    let _ = write!(out, "<p>{}</p>", html(&long(&words::method(summary, &inputs.run.about))));
    repeat(out, page);
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
    rows.rows =
        flat(&summary["config"]).into_iter().map(|(key, value)| vec![Cell::Text(key), Cell::Text(value)]).collect();
    let _ = write!(out, "<details{}><summary>All keys</summary>", long_class(rows.rows.len()));
    table(out, &rows, "All keys", true);
    out.push_str("</details>");
    let mut digests = Table::new(&["what", "digest"]);
    for (what, place) in [("configuration", "/config_digest"), ("requests", "/trace_digest")] {
        digests.rows.push(vec![what.into(), text(summary, place).into()]);
    }
    out.push_str("<h3>Digests</h3>");
    table(out, &digests, "Digests", true);
    out.push_str("<h3>Not modelled</h3><p>Firmware time, DRAM time (unless <code>device.memory</code> or <code>cache.time</code>), demand-loaded mapping, SLC caching, energy. The model's page, <code>docs/model.md</code>, says exactly what happens when.</p>");
    Some(())
}

/// The command that made the page, if it is known.
fn repeat(out: &mut String, page: &Page) {
    if let Some(command) = &page.command {
        let _ = write!(out, "<h3>Repeat it</h3><pre>{}</pre>", html(&long(command)));
    }
}

/// A text of several sentences: only its longest words are cut.
fn long(text: &str) -> String {
    text.split(' ').map(name).collect::<Vec<_>>().join(" ")
}
