//! What became of every key, for people and for programs.

use serde_json::{Value as Json, json};

use crate::names::{clip, clip_line};
use crate::text::plural;
use crate::tree;

ssdlab_trace::words! {
    /// What becomes of a key of another simulator, in the order of reports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Verdict {
        /// It means the same here.
        Same = "same",
        /// It means nearly the same; the note says what differs.
        Near = "near",
        /// Nothing here corresponds to it; the note says what that changes.
        NotModelled = "not modelled",
        /// The original reads it and does nothing with it.
        Unused = "unused by the original",
        /// Neither the original nor this program knows it.
        Unknown = "unknown",
    }
}

impl Verdict {
    /// As a name in JSON.
    fn key(self) -> String {
        self.name().replace(' ', "_")
    }
}

/// One key of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file, without its directory.
    pub file: String,
    /// The simulator it is from.
    pub simulator: &'static str,
    /// Its line, from 1.
    pub line: usize,
    /// The key, after its section if it has one.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Keys and values that it leads to, such as `geometry.channels = 8`.
    pub becomes: Vec<String>,
    /// What differs, or what is missing; empty if there is nothing to say.
    pub note: String,
    /// The scenario that it belongs to, if another one is imported: one line tells of all keys of such a scenario.
    pub scenario: Option<usize>,
}

/// What became of every key of some files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Every key that was read, in order.
    pub entries: Vec<Entry>,
    /// Keys that the files leave to the original's defaults, such as `Overprovisioning_Ratio = 0.02`, and what they become.
    pub assumed: Vec<String>,
    /// What to know about the result as a whole.
    pub remarks: Vec<String>,
}

impl Account {
    /// How many keys have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.entries.iter().filter(|entry| entry.verdict == verdict).count()
    }

    /// The files with their simulators, in order.
    fn files(&self) -> Vec<(&str, &'static str)> {
        let mut files: Vec<(&str, &'static str)> = Vec::new();
        for entry in &self.entries {
            let file = (&*entry.file, entry.simulator);
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// The numbers of keys in a line.
    pub fn summary(&self) -> String {
        let counts: Vec<String> =
            Verdict::ALL.iter().map(|verdict| format!("{} {}", self.count(*verdict), verdict.name())).collect();
        let files: Vec<String> =
            self.files().iter().map(|(file, simulator)| format!("{} ({simulator})", clip(file))).collect();
        let keys = plural(self.entries.len() as u64, "key");
        format!("{}: {keys}: {}", files.join(", "), counts.join(", "))
    }

    /// The whole account as text.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.summary());
        for verdict in Verdict::ALL {
            let entries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.verdict == verdict).collect();
            if entries.is_empty() {
                continue;
            }
            out.push_str(&format!("\n{} ({})\n", verdict.name(), entries.len()));
            for alike in entries.chunk_by(|a, b| a.scenario.is_some() && (a.scenario, &a.note) == (b.scenario, &b.note))
            {
                out.push_str(&match alike[0].scenario {
                    Some(number) => {
                        row(&format!("scenario {number} ({})", plural(alike.len() as u64, "key")), &alike[0].note)
                    }
                    None => line(alike[0]),
                });
            }
        }
        if !self.assumed.is_empty() {
            out.push_str("\nnot in the files, so the original's defaults\n");
            self.assumed.iter().for_each(|text| out.push_str(&format!("  {text}\n")));
        }
        for remark in &self.remarks {
            out.push_str(&format!("\n{remark}\n"));
        }
        out
    }

    /// The whole account as Markdown.
    pub fn markdown(&self) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('`', "'");
        let mut out = format!("# Import\n\n{}\n", cell(&self.summary()));
        self.remarks.iter().for_each(|remark| out.push_str(&format!("\n{}\n", cell(remark))));
        out.push_str("\n| place | key | value | | becomes | note |\n| --- | --- | --- | --- | --- | --- |\n");
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.verdict);
        for entry in entries {
            let cells = [
                format!("{}:{}", clip(&entry.file), entry.line),
                clip(&entry.key),
                clip(&entry.value),
                entry.verdict.name().into(),
                entry.becomes.join(", "),
                entry.note.clone(),
            ];
            out.push_str(&format!("| {} |\n", cells.map(|text| cell(&text)).join(" | ")));
        }
        if !self.assumed.is_empty() {
            out.push_str("\nNot in the files, so the original's defaults:\n\n");
            self.assumed.iter().for_each(|text| out.push_str(&format!("- {}\n", cell(text))));
        }
        out
    }

    /// The whole account as JSON, `ssdlab.import/1`.
    pub fn json(&self) -> String {
        let files: Vec<Json> =
            self.files().iter().map(|(file, simulator)| json!({ "name": file, "simulator": simulator })).collect();
        let mut counts = serde_json::Map::new();
        for verdict in Verdict::ALL {
            counts.insert(verdict.key(), self.count(verdict).into());
        }
        counts.insert("total".into(), self.entries.len().into());
        let keys: Vec<Json> = self
            .entries
            .iter()
            .map(|entry| {
                json!({
                    "file": entry.file,
                    "line": entry.line,
                    "key": entry.key,
                    "value": entry.value,
                    "verdict": entry.verdict.key(),
                    "becomes": entry.becomes,
                    "note": (!entry.note.is_empty()).then_some(&entry.note),
                })
            })
            .collect();
        let all = json!({
            "schema": "ssdlab.import/1",
            "files": files,
            "counts": counts,
            "keys": keys,
            "assumed": self.assumed,
            "remarks": self.remarks,
        });
        tree::json(&all)
    }
}

/// A key in the account: what it was, what it became, and what there is to say.
fn line(entry: &Entry) -> String {
    let was = format!("{} = {}", clip(&entry.key), clip(&entry.value));
    let mut said = entry.becomes.join(", ");
    if !entry.note.is_empty() {
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(&clip_line(&entry.note));
    }
    row(&was, &said)
}

fn row(was: &str, said: &str) -> String {
    if said.is_empty() { format!("  {was}\n") } else { format!("  {was:<44}  {said}\n") }
}
