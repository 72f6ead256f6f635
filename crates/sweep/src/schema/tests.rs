//! Schemas name the keys that readers know, all of them and no others, and take every file that is shipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ssdlab_trace::workload::{Phase, Spec, StreamSpec};

use super::*;
use crate::fleet::volumes::{SampleFile, VolumesFile};
use crate::fleet::{DeviceFile, FleetFile, ReduceFile};
use crate::study::{Base, DesignFile, InputSection, LimitsFile, RepeatFile, Study, StudyFile, Until};

/// The keys that a reader lists when it rejects one: those between the back quotes of "expected one of `a`, `b`".
fn listed(message: &str) -> BTreeSet<String> {
    let list = message.split("expected").nth(1).unwrap_or_else(|| panic!("no list: {message}"));
    list.split('`').skip(1).step_by(2).map(String::from).collect()
}

fn keys_of(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().expect("a table").keys().cloned().collect()
}

fn known<T: serde::de::DeserializeOwned>() -> BTreeSet<String> {
    let table = toml::Table::from_iter([("no-such-key".to_string(), toml::Value::from(1))]);
    listed(&table.try_into::<T>().map(|_| ()).unwrap_err().to_string())
}

#[test]
fn schemas_of_studies_and_fleets_have_the_keys_of_the_readers() {
    let (study, fleet) = (File::Study.schema(), File::Fleet.schema());
    let of = |schema: &Value, section: &str| keys_of(&schema["properties"][section]);
    assert_eq!(keys_of(&study), known::<StudyFile>());
    assert_eq!(keys_of(&fleet), known::<FleetFile>());
    for schema in [&study, &fleet] {
        assert_eq!(of(schema, "base"), known::<Base>());
        assert_eq!(of(schema, "design"), known::<DesignFile>());
        assert_eq!(of(schema, "repeat"), known::<RepeatFile>());
        assert_eq!(of(schema, "limits"), known::<LimitsFile>());
    }
    let until = &study["properties"]["repeat"]["properties"]["until"];
    assert_eq!(keys_of(until), known::<Until>());
    assert_eq!(of(&study, "input"), known::<InputSection>());
    assert_eq!(of(&fleet, "volumes"), known::<VolumesFile>());
    assert_eq!(keys_of(&fleet["properties"]["volumes"]["properties"]["sample"]), known::<SampleFile>());
    assert_eq!(of(&fleet, "device"), known::<DeviceFile>());
    assert_eq!(of(&fleet, "reduce"), known::<ReduceFile>());
}

/// A pattern or an arrival process of the schema by its name: the keys of its table.
fn forms(schema: &Value) -> Vec<(String, BTreeSet<String>)> {
    let tables = schema["oneOf"].as_array().expect("forms").iter().filter(|form| form["const"].is_null());
    let one = |form: &Value| {
        let (name, inner) = form["properties"].as_object().expect("a table").iter().next().expect("a name");
        (name.clone(), keys_of(inner))
    };
    tables.map(one).collect()
}

#[test]
fn the_schema_of_workloads_has_the_keys_of_the_reader() {
    let schema = File::Workload.schema();
    let keys = &schema["properties"];
    let wrong = |text: &str| Spec::parse(text).unwrap_err().to_string();
    // An unknown key of a stream in a phase lists those of the stream, and so on.
    let stream = &keys["phase"]["items"]["properties"]["stream"]["items"];
    assert_eq!(keys_of(stream), known::<StreamSpec>());
    let mut phase = known::<Phase>();
    phase.extend(keys_of(stream));
    assert_eq!(keys_of(&keys["phase"]["items"]), phase);
    // What is at the top is a header key, or one of the only phase or stream: each is read there.
    for key in keys_of(&schema) {
        let said = wrong(&format!("{key} = []\nno-such-key = 1\n"));
        assert!(said.contains("no-such-key"), "{key} is known at the top: {said}");
    }
    for (what, known) in
        [("pattern", &stream["properties"]["pattern"]), ("arrivals", &stream["properties"]["arrivals"])]
    {
        for (name, keys) in forms(known) {
            let said = wrong(&format!("read = 1\nrequests = 1\n{what} = {{ {name} = {{ no-such-key = 1 }} }}\n"));
            assert!(said.contains("no-such-key"), "{what} {name}: {said}");
            for key in keys {
                let said = Spec::parse(&format!("read = 1\nrequests = 1\n{what} = {{ {name} = {{ {key} = [] }} }}\n"));
                let said = said.unwrap_err().to_string();
                assert!(!said.contains("unknown field"), "{what} {name} {key}: {said}");
            }
        }
    }
}

/// Whether a value may be one of a schema, by keys, kinds and choices; patterns of texts are not looked at.
fn takes(schema: &Value, value: &Value) -> Result<(), String> {
    let any = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array());
    if let Some(forms) = any {
        return match forms.iter().any(|form| takes(form, value).is_ok()) {
            true => Ok(()),
            false => Err(format!("{value} is none of {schema}")),
        };
    }
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    let right = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => true,
    };
    let listed = schema["enum"].as_array().is_none_or(|all| all.contains(value));
    let same = schema["const"].is_null() || schema["const"] == *value;
    if !(right && listed && same) {
        return Err(format!("{value} is none of {schema}"));
    }
    if let Some(entries) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten() {
            entries.get(key.as_str().unwrap()).ok_or_else(|| format!("{key} is not there"))?;
        }
        for (key, value) in entries {
            match (schema["properties"].get(key), &schema["additionalProperties"]) {
                (Some(inner), _) => takes(inner, value)?,
                (None, Value::Bool(false)) => return Err(format!("{key} is unknown")),
                (None, Value::Object(_)) => takes(&schema["additionalProperties"], value)?,
                _ => {}
            }
        }
    }
    match (value.as_array(), &schema["items"]) {
        (Some(all), Value::Array(each)) => all.iter().zip(each).try_for_each(|(value, schema)| takes(schema, value)),
        (Some(all), items @ Value::Object(_)) => all.iter().try_for_each(|value| takes(items, value)),
        _ => Ok(()),
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    found.sort();
    found
}

fn value_of(path: &Path) -> Value {
    let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    serde_json::to_value(table).unwrap()
}

#[test]
fn schemas_take_what_is_shipped() {
    for (folder, file, least) in
        [("studies", File::Study, 15), ("examples/sweep", File::Study, 1), ("workloads", File::Workload, 40)]
    {
        let schema = file.schema();
        let found = files(folder);
        assert!(found.len() >= least, "{folder}");
        for path in found {
            takes(&schema, &value_of(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn schemas_refuse_what_readers_refuse() {
    let study =
        |more: &str| format!("schema = \"ssdlab.study/1\"\nname = \"a\"\n{more}\n[axes]\n\"gc.time\" = [\"real\"]\n");
    for (text, right) in [
        (study("[input]\nworkload = \"quickstart\""), true),
        (study("[input]\nworkload = \"quickstart\"\nlimits = 3"), false),
        (study("[input]\nworkload = \"quickstart\"\n[design]\nkind = \"cube\""), false),
        (study("[input]\nworkload = \"quickstart\"\n[repeat]\nseeds = \"3\""), false),
    ] {
        let table: toml::Table = text.parse().unwrap();
        let taken = takes(&File::Study.schema(), &serde_json::to_value(table).unwrap()).is_ok();
        assert_eq!((taken, Study::parse("a.toml", &text, Path::new(".")).is_ok()), (right, right), "{text}");
    }
    for (text, right) in [
        ("read = 0.5\nrequests = 10\npattern = \"uniform\"", true),
        ("read = 0.5\nrequests = 10\npattern = \"zipf\"", false),
        ("read = 0.5\nrequests = 10\narrivals = \"poisson\"", false),
        ("read = 0.5\nrequests = 10\narrivals = { poisson = { rate = 10 } }", true),
        ("read = 0.5\nrequests = 10\nreads = 1", false),
    ] {
        let table: toml::Table = text.parse().unwrap();
        let taken = takes(&File::Workload.schema(), &serde_json::to_value(table).unwrap()).is_ok();
        assert_eq!((taken, Spec::parse(text).is_ok()), (right, right), "{text}");
    }
    for name in ["configuration", "study", "fleet", "workload"] {
        assert!(name.parse::<File>().is_ok());
    }
    assert!("drive".parse::<File>().unwrap_err().contains("`drive`"));
}
