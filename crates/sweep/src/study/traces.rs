//! The traces of a study: files, each perhaps with options of its own, and what they are called in tables.

use std::path::Path;

use toml::{Table, Value};

use crate::axis::{self, Axis, Item, Shown, Values};
use crate::text::Text;
use ssdlab_lab::error::Result;
use ssdlab_lab::names::{clip, nearest};

/// Keys of a trace beside its file and name: each has the meaning that it has in `[input]`.
const OPTIONS: [&str; 5] = ["format", "device", "lba_policy", "time_scale", "limit"];

/// The axis `trace` of `input.traces`: a pattern, or a list of files and tables.
pub(super) fn axis(text: &Text, given: &Value) -> Result<Axis> {
    let at = "input.traces";
    let mut items = match given {
        Value::String(pattern) => {
            // As the study would name them one by one, so that tables say nothing of where it is.
            let own = |path: String| match Path::new(&path).strip_prefix(&text.directory) {
                Ok(own) => own.display().to_string(),
                Err(_) => path,
            };
            let files = found(text, at, pattern)?.into_iter().map(own);
            files.map(|file| one(text, at, &Value::String(file))).collect::<Result<Vec<_>>>()?
        }
        Value::Array(values) if values.is_empty() => {
            return Err(text.error(at, false, "trace: no values").help("give at least one"));
        }
        Value::Array(values) => {
            let entries = values.iter().enumerate();
            entries.map(|(i, value)| one(text, &format!("{at}[{i}]"), value)).collect::<Result<Vec<_>>>()?
        }
        _ => {
            return Err(text
                .error(at, false, format!("{at}: expected a pattern, or a list of traces"))
                .help("write [\"web.csv\", { file = \"db.csv\", format = \"msr\" }]"));
        }
    };
    label(&mut items);
    for (i, trace) in items.iter().enumerate() {
        let twin = |other: &&Trace| other.item.shown == trace.item.shown && other.item.same != trace.item.same;
        if items[..i].iter().any(|other| twin(&other)) {
            let message = format!("trace: two traces are called `{}`", clip(&trace.item.shown.text()));
            return Err(text
                .error(&format!("{at}[{i}]"), false, message)
                .help("give one of them a name: { file = \"...\", name = \"...\" }"));
        }
    }
    let items = items.into_iter().map(|trace| trace.item).collect();
    Ok(Axis { key: "trace".into(), label: "trace".into(), values: Values::List(items) })
}

/// A trace and what it may be called.
struct Trace {
    item: Item,
    /// A name that the study gives.
    named: bool,
    file: String,
}

fn one(text: &Text, at: &str, value: &Value) -> Result<Trace> {
    let wrong = |at: &str, message: String| text.error(at, false, format!("trace: {message}"));
    let Value::Table(table) = value else {
        let item = axis::item("trace", value).map_err(|message| wrong(at, message))?;
        return Ok(Trace { item, named: false, file: value.as_str().unwrap_or_default().into() });
    };
    let string = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(value)) if !value.is_empty() => Ok(Some(value.clone())),
        Some(other) => Err(wrong(&format!("{at}.{key}"), format!("`{key}` is a text, got {other}"))),
    };
    let file = string("file")?.ok_or_else(|| {
        wrong(at, "which file?".into()).help("a trace with options is { file = \"web.csv\", format = \"msr\" }")
    })?;
    let name = string("name")?;
    let mut item = axis::item("trace", &Value::String(file.clone())).map_err(|message| wrong(at, message))?;
    for (key, value) in options(text, at, table)? {
        let place = format!("{at}.{key}");
        let option = axis::item(key, value).map_err(|message| wrong(&place, format!("{key}: {message}")))?;
        item.changes.extend(option.changes);
    }
    // The same file with other options is another value.
    item.same = serde_json::to_value(table).unwrap_or_default();
    let named = name.is_some();
    if let Some(name) = name {
        item.shown = Shown::Text(name);
    }
    Ok(Trace { item, named, file })
}

/// The options of a trace, in the order of the file.
fn options<'t>(text: &Text, at: &str, table: &'t Table) -> Result<Vec<(&'t String, &'t Value)>> {
    let mut options = text.ordered(at, table);
    options.retain(|(key, _)| !matches!(key.as_str(), "file" | "name"));
    match options.iter().find(|(key, _)| !OPTIONS.contains(&key.as_str())) {
        None => Ok(options),
        Some((key, _)) => {
            let known = || ["file", "name"].into_iter().chain(OPTIONS);
            let help = match nearest(key, known()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the keys of a trace are {}", known().collect::<Vec<_>>().join(", ")),
            };
            Err(text.error(&format!("{at}.{key}"), true, format!("trace: unknown key `{}`", clip(key))).help(help))
        }
    }
}

/// Calls traces by the stems of their files, where that tells them apart; by their files otherwise.
fn label(traces: &mut [Trace]) {
    let stems: Vec<String> =
        traces.iter().map(|trace| if trace.named { trace.item.shown.text() } else { stem(&trace.file) }).collect();
    let distinct = (0..stems.len()).all(|i| !stems[..i].contains(&stems[i]));
    for (trace, stem) in traces.iter_mut().zip(stems) {
        if distinct && !trace.named {
            trace.item.shown = Shown::Text(stem);
        }
    }
}

/// The name of a file without folders and endings: `traces/web.csv.gz` is `web`.
fn stem(file: &str) -> String {
    let path = Path::new(file);
    let packed = path
        .extension()
        .is_some_and(|ending| ["gz", "zst", "xz", "bz2"].iter().any(|known| ending.eq_ignore_ascii_case(known)));
    let inner = if packed { Path::new(path.file_stem().unwrap_or_default()) } else { path };
    inner.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The files that a pattern names, sorted.
pub(crate) fn found(text: &Text, at: &str, pattern: &str) -> Result<Vec<String>> {
    let wrong = |message: String| text.error(at, false, format!("{at}: {message}"));
    let whole = text.path(pattern).display().to_string();
    let paths = glob::glob(&whole).map_err(|error| wrong(error.to_string()))?;
    let mut paths: Vec<String> = paths.flatten().map(|path| path.display().to_string()).collect();
    paths.sort();
    if paths.is_empty() {
        return Err(wrong(format!("no file matches {}", clip(pattern))).help("patterns are relative to the file"));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_have_neither_folder_nor_endings() {
        for (file, expected) in [
            ("traces/web.csv.gz", "web"),
            ("web.load.zst", "web"),
            ("../a/hm_0.csv", "hm_0"),
            ("plain", "plain"),
            ("v1.2.csv", "v1.2"),
        ] {
            assert_eq!(stem(file), expected);
        }
    }
}
