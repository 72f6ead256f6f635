//! What a bundle says to people: the page for its reviewer, and how it is cited.

use serde_json::{Value, json};
use ssdlab_lab::names::clip_line;
use ssdlab_lab::text::{count, plural, size};
use ssdlab_lab::tree;

use crate::manifest::{Manifest, RunState};

/// Who is named where nobody is.
const AUTHORS: &str = "The authors";

/// A text in one line, as a string of JSON, which YAML reads too.
fn string(text: &str) -> String {
    Value::String(text.into()).to_string()
}

fn about(manifest: &Manifest) -> String {
    format!(
        "Study, configurations, records, tables and figures of `{}`, simulated with ssdlab {}. `ssdlab bundle verify` checks them.",
        manifest.study.name, manifest.program.version
    )
}

fn names(authors: &[String]) -> Vec<&str> {
    if authors.is_empty() { vec![AUTHORS] } else { authors.iter().map(String::as_str).collect() }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    clip_line(text).replace('|', "\\|")
}

/// `CITATION.cff`.
pub fn citation(manifest: &Manifest, authors: &[String]) -> String {
    let names: String = names(authors).iter().map(|name| format!("  - name: {}\n", string(name))).collect();
    format!(
        "cff-version: 1.2.0\nmessage: \"Please cite these results if you use them.\"\ntype: dataset\ntitle: {}\nabstract: {}\nauthors:\n{names}",
        string(&manifest.title),
        string(&about(manifest)),
    )
}

/// `.zenodo.json`.
pub fn zenodo(manifest: &Manifest, authors: &[String]) -> String {
    let creators: Vec<Value> = names(authors).iter().map(|name| json!({ "name": name })).collect();
    tree::json(&json!({
        "title": manifest.title,
        "upload_type": "dataset",
        "description": about(manifest),
        "creators": creators,
        "keywords": ["SSD", "simulation", "garbage collection", "ssdlab"],
    }))
}

/// `README.md`. It does not say how the file is called, which may change.
pub fn readme(manifest: &Manifest) -> String {
    let version = &manifest.program.version;
    let mut out = format!("# {}\n\n", clip_line(&manifest.title));
    out.push_str(&format!(
        "These are the results of the study `{}`: {}, {}. They were simulated with ssdlab {version}.\n\
         Each run is a pure function of its configuration, its requests and its seed, so the same program gives the same bytes again.\n\n",
        manifest.study.name,
        plural(manifest.points.len() as u64, "point"),
        plural(manifest.all_runs(), "run"),
    ));
    let missing = manifest.runs(RunState::Missing);
    if manifest.partial {
        out.push_str(&format!(
            "**This bundle is partial: {} of {} have no record.** What follows from all runs cannot be checked for these points: {}.\n\n",
            count(missing),
            plural(manifest.all_runs(), "run"),
            numbers(manifest),
        ));
    }
    out.push_str(&format!(
        "## Check it in three steps\n\nFILE is the bundle that this page is in.\n\n\
         1. Get ssdlab {version}, and compare the digest of this file with the published one: `sha256sum FILE`.\n\
         2. Run a few points again and compare their records, byte by byte: `ssdlab bundle verify FILE`. It works offline. \
         `--points all` runs everything again; the first run prints how long that takes.\n\
         3. Look at the results: `ssdlab bundle extract FILE`, then `tables/runs.csv` and `figures/`.\n\n"
    ));
    out.push_str(&contents(manifest));
    out.push_str(&traces(manifest));
    out.push_str(&policies(manifest));
    if !manifest.policies.is_empty() {
        return out + &others(manifest);
    }
    out.push_str(&format!(
        "## Change it\n\nIn the extracted folder, `store` is the store of the study:\n\n\
         ```sh\nssdlab sweep table {study} --store store -o table.csv\nssdlab plot --list store\n\
         ssdlab sweep plan {study} --store store\n```\n\n",
        study = manifest.study.file
    ));
    out + &others(manifest)
}

/// What holds for other versions of the program.
fn others(manifest: &Manifest) -> String {
    match manifest.tolerance > 0.0 {
        true => format!(
            "Another version of ssdlab may differ: its figures are compared with a tolerance of {} of each.\n",
            manifest.tolerance
        ),
        false => "Another version of ssdlab may differ: `verify` then lists every figure that does.\n".into(),
    }
}

/// The policies written in Python, and how they are run.
fn policies(manifest: &Manifest) -> String {
    if manifest.policies.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "## Policies\n\nPolicies written in Python decide in every run.\n\n| slot | class | state |\n|---|---|---|\n",
    );
    for policy in &manifest.policies {
        out.push_str(&format!("| {} | `{}` | `{}` |\n", cell(&policy.slot), cell(&policy.class), cell(&policy.state)));
    }
    out.push_str("\n| source | SHA-256 |\n|---|---|\n");
    for file in manifest.sources() {
        out.push_str(&format!("| `{}` | `{}` |\n", cell(&file.path), file.sha256));
    }
    out.push_str(
        "\n`ssdlab bundle verify FILE` does not run them, and its exit status is 1 because no point is run again. Read the sources first. \
         Then `ssdlab bundle verify FILE --allow-code` runs them, with the rights of the user who starts it. This takes Python with the \
         package `ssdlab` of the same version, and with what the sources import: the list beside them has the versions.\n\n",
    );
    out
}

/// Points without all of their runs.
fn numbers(manifest: &Manifest) -> String {
    const SHOWN: usize = 20;
    let missing: Vec<String> =
        manifest.points.iter().filter(|point| !point.whole()).map(|point| point.number.to_string()).collect();
    let more = missing.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", missing[..missing.len().min(SHOWN)].join(", "))
}

fn contents(manifest: &Manifest) -> String {
    let study = manifest.study.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = String::from("## What is in it\n\n| path | content |\n|---|---|\n");
    let mut row = |path: &str, content: &str| out.push_str(&format!("| `{path}` | {content} |\n"));
    row("manifest.json", "every file with its length and SHA-256; points, runs and their keys");
    row(&manifest.study.file, &format!("the study; files that it names are beside `{study}` as it names them"));
    row("configurations/", "the effective configuration of each point, every key, for `ssdlab run`");
    row("store/", "the records: one a run, with configuration, summary and checksum");
    row("tables/runs.csv", "the main table: one row a run");
    for figure in &manifest.figures {
        row(&figure.drawing, &format!("`{}`; its numbers are in `{}`", cell(&figure.spec), figure.data));
    }
    row("CITATION.cff, .zenodo.json", "how to cite it");
    out.push('\n');
    out
}

fn traces(manifest: &Manifest) -> String {
    if manifest.traces.is_empty() {
        return String::new();
    }
    let mut out = String::from("## Traces\n\n| file | size | SHA-256 | where it is |\n|---|---|---|---|\n");
    for trace in &manifest.traces {
        let place = match (trace.included, &trace.obtain) {
            (true, None) => "included".into(),
            (true, Some(how)) => format!("included; from {}", cell(how)),
            (false, Some(how)) => cell(how),
            (false, None) => "not included: ask the authors".into(),
        };
        out.push_str(&format!("| `{}` | {} | `{}` | {place} |\n", trace.file, size(trace.bytes), trace.sha256));
    }
    if manifest.traces.iter().any(|trace| !trace.included) {
        out.push_str(
            "\n`ssdlab bundle verify --traces DIR` finds traces that are not included in a folder, by their content, under any name.\n",
        );
    }
    out.push('\n');
    out
}
