//! `ssdlab config reference`: every key with its meaning, values and default, from the definitions that parse it.

use serde_json::{Map, Value};
use ssdlab_lab::schema::{entries, resolve, root_schema};

/// The reference as Markdown.
pub fn markdown() -> String {
    let schema = root_schema().to_value();
    let definitions = &schema["definitions"];
    let mut out = String::from(
        "# Configuration keys\n\n\
         Written by `ssdlab config reference` from the definitions that read a configuration.\n\n\
         Durations (`\"1.5ms\"`), sizes (`\"4KiB\"`; `K` = `KB` = `KiB` = 1024) and rates (`\"333MB/s\"`, `\"1200MT/s\"`, `\"10ns/B\"`) are text with a unit. \
         Fractions are numbers from 0 to 1 with at most six decimals.\n",
    );
    for (section, outer) in entries(&schema["properties"]) {
        let inner = resolve(definitions, outer);
        out.push_str(&format!(
            "\n## `{section}`\n\n{}\n\n| key | meaning | default |\n| --- | --- | --- |\n",
            text(outer)
        ));
        let mut choices = String::new();
        rows(definitions, section, inner, &mut out, &mut choices);
        out.push_str(&choices);
    }
    out
}

/// A row per key of a section; keys of a table in it have rows of their own.
fn rows(definitions: &Value, section: &str, table: &Value, out: &mut String, choices: &mut String) {
    for (key, property) in entries(&table["properties"]) {
        let name = format!("{section}.{key}");
        let inner = resolve(definitions, property);
        if inner["properties"].is_object() {
            rows(definitions, &name, inner, out, choices);
            continue;
        }
        let default = match &property["default"] {
            Value::Null => "not set".into(),
            value => format!("`{}`", plain(value)),
        };
        out.push_str(&format!("| `{name}` | {} | {default} |\n", text(property)));
        let values = values(definitions, inner);
        if !values.is_empty() {
            choices.push_str(&format!("\n`{name}`:\n\n{values}"));
        }
    }
}

/// The description on one line.
fn text(value: &Value) -> String {
    value["description"]
        .as_str()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// A default as one would write it; a scheme by its name.
fn plain(value: &Value) -> String {
    match value {
        Value::Object(table) if table.len() == 1 => {
            let (name, knobs) = table.iter().next().expect("one entry");
            if knobs.as_object().is_some_and(Map::is_empty) { format!("\"{name}\"") } else { value.to_string() }
        }
        other => other.to_string(),
    }
}

/// The values of a choice, one per line, with the knobs of schemes.
fn values(definitions: &Value, choice: &Value) -> String {
    let mut out = String::new();
    for form in choice["oneOf"].as_array().into_iter().flatten() {
        if let Some(name) = form["const"].as_str() {
            // An alias has no description of its own.
            let manual = form["description"].as_str().unwrap_or_default();
            let first =
                manual.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            if !first.is_empty() {
                out.push_str(&format!("- `\"{name}\"`: {first}\n"));
            }
        }
        for (_, knobs) in entries(&form["properties"]) {
            let name = knobs["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
            for (knob, property) in entries(&definitions[name]["properties"]) {
                out.push_str(&format!(
                    "  - `{knob}` (default `{}`): {}\n",
                    plain(&property["default"]),
                    text(property)
                ));
            }
        }
    }
    out
}
