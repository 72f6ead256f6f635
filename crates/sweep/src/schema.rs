//! The JSON Schemas of studies and fleets, and all schemas by the file that they describe.

use std::str::FromStr;

use serde_json::{Map, Value, json};
use ssdlab_lab::names::clip;
use ssdlab_lab::schema::{about, entries, resolve, root_schema, share, table, workload};

use crate::axis::OTHERS;
use crate::study::{FLEET, SCHEMA};

/// A kind of file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// A configuration.
    Configuration,
    /// A study of `ssdlab sweep`.
    Study,
    /// A fleet of `ssdlab fleet`.
    Fleet,
    /// A workload.
    Workload,
}

impl FromStr for File {
    type Err = String;

    fn from_str(text: &str) -> Result<File, String> {
        match text {
            "configuration" => Ok(File::Configuration),
            "study" => Ok(File::Study),
            "fleet" => Ok(File::Fleet),
            "workload" => Ok(File::Workload),
            _ => Err(format!("there is no schema of `{}`: give configuration, study, fleet or workload", clip(text))),
        }
    }
}

impl File {
    /// The JSON Schema of such files.
    pub fn schema(self) -> Value {
        match self {
            File::Configuration => serde_json::to_value(root_schema()).expect("a schema is plain data"),
            File::Study => study(),
            File::Fleet => fleet(),
            File::Workload => workload(),
        }
    }
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

fn size() -> Value {
    json!({ "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGT](i?B)?|B)\s*$", "examples": ["4KiB"] })
}

fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

/// Keys with their meaning.
fn keys<const N: usize>(all: [(&str, Value, &str); N]) -> Map<String, Value> {
    all.into_iter().map(|(key, schema, meaning)| (key.into(), about(schema, meaning))).collect()
}

/// Every key of a configuration by its dotted name, as a value or, on an axis, as values.
fn settings(axis: bool) -> Map<String, Value> {
    let schema = root_schema().to_value();
    let mut found = Map::new();
    for (section, outer) in entries(&schema["properties"]) {
        for (key, property) in entries(&resolve(&schema["definitions"], outer)["properties"]) {
            let meaning = property["description"].as_str().unwrap_or_default();
            let own = if axis { axis_values() } else { json!({}) };
            found.insert(format!("{section}.{key}"), about(own, meaning));
        }
    }
    found
}

/// The values of an axis: a list, or a range.
fn axis_values() -> Value {
    let scale = json!({ "enum": ["linear", "log2", "log"] });
    let range = table(json!({ "from": {}, "to": {}, "steps": whole(), "scale": scale }), &["from", "to"]);
    let named = json!({ "type": "object", "required": ["values"] });
    json!({ "anyOf": [{ "type": "array", "minItems": 1 }, range, named] })
}

/// A table of settings: dotted names, or tables in tables.
fn set() -> Value {
    json!({ "type": "object", "properties": settings(false) })
}

fn base() -> Value {
    let keys = keys([
        ("preset", text(), "a named configuration, see `ssdlab presets`"),
        ("files", list(text()), "configuration files; each overrides those before it"),
        ("set", set(), "keys that override everything else"),
    ]);
    table(keys.into(), &[])
}

/// How requests are read, in `[input]` of a study and `[volumes]` of a fleet.
fn reading() -> Map<String, Value> {
    keys([
        ("limit", whole(), "at most this many requests"),
        ("loop", whole(), "replay the requests this many times"),
        (
            "time_scale",
            json!({ "type": ["number", "string"] }),
            "multiply arrival times by this, such as 0.5 or \"1/3\"",
        ),
        ("replay", json!({ "enum": ["arrival", "closed"] }), "when requests arrive"),
        ("lba_policy", policies(), "how to treat requests beyond the end of the device"),
        ("format", text(), "the format of the traces; default auto"),
        ("on_bad_line", text(), "error, or skip=N"),
        ("time_order", json!({ "enum": ["error", "keep", "clamp", "sort"] }), "what to do where times go back"),
        ("op_codes", text(), "what the codes of operations mean"),
        ("within_second", text(), "times within a second"),
        ("max_request", size(), "the largest request that is accepted"),
        ("count_only", json!({ "type": "boolean" }), "simulate without time; default false"),
    ])
}

fn policies() -> Value {
    json!({ "enum": ["error", "wrap", "clip", "dense"] })
}

fn input() -> Value {
    let trace = table(
        json!({
            "file": text(), "name": text(), "format": text(), "device": text(), "lba_policy": policies(),
            "time_scale": { "type": ["number", "string"] }, "limit": whole()
        }),
        &["file"],
    );
    let traces = json!({ "anyOf": [text(), list(json!({ "anyOf": [text(), trace] }))] });
    let mut all = keys([
        ("workload", text(), "a name of `ssdlab workloads`, or a file"),
        ("workloads", list(text()), "several of them: the first axis"),
        ("tenants", list(text()), "tenants as --tenant takes them"),
        ("trace", text(), "a recorded trace"),
        ("traces", traces, "several of them, or a pattern: the first axis"),
        ("device", text(), "the device of the trace whose requests are taken"),
        ("until", json!({ "const": "end-of-life" }), "repeat the requests until blocks have worn out"),
    ]);
    all.extend(reading());
    table(all.into(), &[])
}

fn axes() -> Value {
    let mut all = settings(true);
    all.extend(OTHERS.into_iter().map(|key| (key.to_string(), axis_values())));
    json!({ "type": "object", "properties": all, "additionalProperties": axis_values() })
}

/// What studies and fleets share behind their requests.
fn shared() -> Map<String, Value> {
    let kinds = json!({ "enum": ["grid", "random", "lhs", "sobol", "list"] });
    let design = keys([
        ("kind", kinds, "how points are chosen; default grid"),
        ("points", whole(), "number of points that are drawn"),
        ("seed", json!({ "type": "integer", "minimum": 0 }), "seed of the draw; default 1"),
        ("zip", list(list(text())), "axes that advance together"),
        ("exclude", list(json!({ "type": "object" })), "points that are left out"),
        ("list", json!({}), "the points themselves, or the file that has them"),
    ]);
    let until = table(
        json!({ "measure": text(), "half_width": { "type": "number", "exclusiveMinimum": 0 }, "most": whole() }),
        &["measure", "half_width", "most"],
    );
    let seeds = json!({ "anyOf": [whole(), list(json!({ "type": "integer", "minimum": 0 }))] });
    let repeat = keys([
        ("seeds", seeds, "how many seeds, or a list of them; default 1"),
        ("until", until, "more seeds until an interval is narrow enough"),
    ]);
    let limits =
        keys([("wall", text(), "wall time of a run, such as \"30m\""), ("memory", size(), "memory of a run's device")]);
    keys([
        ("base", base(), "the configuration that every point begins with"),
        ("axes", axes(), "what is varied"),
        ("design", table(design.into(), &[]), "which points of the axes are run"),
        ("repeat", table(repeat.into(), &[]), "with which seeds"),
        ("limits", table(limits.into(), &[]), "what a run may take"),
        ("baseline", json!({ "type": "object" }), "the values that others are compared with"),
    ])
}

fn file(title: &str, name: &str, sections: Map<String, Value>) -> Value {
    let mut all = keys([
        ("schema", json!({ "const": name }), "what the file is"),
        ("name", json!({ "type": "string", "pattern": "^[a-z0-9-]{1,64}$" }), "its name in tables and figures"),
    ]);
    all.extend(sections);
    let mut schema = table(all.into(), &["schema", "name"]);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = title.into();
    schema
}

fn study() -> Value {
    let mut sections = keys([("input", input(), "the requests")]);
    sections.extend(shared());
    file("A study of ssdlab", SCHEMA, sections)
}

fn fleet() -> Value {
    let seed = json!({ "type": "integer", "minimum": 0 });
    let sample = table(json!({ "share": share(), "seed": seed }), &["share"]);
    let mut volumes = keys([
        ("traces", text(), "a pattern of traces, each a volume"),
        ("list", text(), "a CSV file with a row a volume"),
        ("sample", sample, "a share of the volumes"),
        ("min_requests", json!({ "type": "integer", "minimum": 0 }), "leave out volumes with fewer requests"),
    ]);
    volumes.extend(reading());
    let device = keys([
        ("size", json!({ "const": "fit" }), "fit the device to its volume"),
        ("headroom", json!({ "type": "number" }), "room beyond what a volume touches"),
        ("most", size(), "the largest device"),
        ("preset", text(), "a named configuration"),
        ("files", list(text()), "configuration files"),
        ("set", set(), "keys that override everything else"),
    ]);
    let reduce = keys([
        ("by", list(json!({ "enum": ["variant", "class", "volume"] })), "what runs are grouped by; default variant"),
        ("measures", list(text()), "dotted paths of numbers in summaries"),
        ("top", whole(), "slowest requests of a group; default 100"),
    ]);
    let mut sections = keys([
        ("volumes", table(volumes.into(), &[]), "the volumes and how they are read"),
        ("device", table(device.into(), &[]), "the device of a volume"),
        ("reduce", table(reduce.into(), &[]), "how results are added up"),
    ]);
    sections.extend(shared());
    file("A fleet of ssdlab", FLEET, sections)
}

#[cfg(test)]
mod tests;
