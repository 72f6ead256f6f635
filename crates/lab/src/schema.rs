//! The JSON Schema of configuration files, and the keys that it lists; that of workloads.

mod workload;

use serde_json::Value;
use ssdlab_sim::Config;

use workload::PERCENT;

pub use workload::{about, share, table, workload};

/// The JSON Schema of configuration files.
pub fn root_schema() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::draft07();
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    schema.insert("title".into(), "A configuration of ssdlab".into());
    schema.as_object_mut().into_iter().for_each(|all| all.values_mut().for_each(fractions));
    schema
}

/// Fractions, which are numbers from 0 to 1, may be written as percentages too. Limits are of numbers, and patterns of texts.
fn fractions(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(fractions),
        Value::Object(entries) => {
            let ends = ["minimum", "maximum"].map(|end| entries.get(end).and_then(Value::as_f64));
            if let Some(kind) = entries.get_mut("type").filter(|_| ends == [Some(0.0), Some(1.0)]) {
                let mut kinds = match kind.take() {
                    Value::Array(kinds) => kinds,
                    one => vec![one],
                };
                let is_number = kinds.iter().any(|kind| kind == "number");
                kinds.extend(is_number.then(|| "string".into()));
                *kind = if kinds.len() == 1 { kinds.remove(0) } else { Value::Array(kinds) };
                if is_number {
                    entries.insert("pattern".into(), PERCENT.into());
                }
            }
            entries.values_mut().for_each(fractions);
        }
        _ => {}
    }
}

/// Every section with its keys and their defaults, in the order of the reference.
pub fn keys() -> Vec<(String, Vec<(String, Value)>)> {
    let schema = root_schema().to_value();
    let section = |(name, outer): (&String, &Value)| {
        let inner = resolve(&schema["definitions"], outer);
        let keys = entries(&inner["properties"]).map(|(key, property)| (key.clone(), property["default"].clone()));
        (name.clone(), keys.collect())
    };
    entries(&schema["properties"]).map(section).collect()
}

/// Whether a key of a section has this type.
pub fn is_of(name: &str, key: &str) -> bool {
    let schema = root_schema().to_value();
    let (section, leaf) = key.split_once('.').unwrap_or((key, ""));
    let inner = resolve(&schema["definitions"], &schema["properties"][section]);
    let of = &schema["definitions"][name];
    !of.is_null() && std::ptr::eq(resolve(&schema["definitions"], &inner["properties"][leaf]), of)
}

/// The entries of an object, in order; none of anything else.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// What a property refers to, or what it is where it refers to nothing.
pub fn resolve<'s>(definitions: &'s Value, property: &'s Value) -> &'s Value {
    let inner = property["allOf"].get(0).or_else(|| property["anyOf"].get(0)).unwrap_or(property);
    match inner["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => &definitions[name],
        None => inner,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a schema of a text or a number takes a value; patterns here are a number and a unit.
    fn takes(schema: &Value, value: &Value) -> bool {
        if let Some(forms) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            let some = forms.iter().filter(|form| takes(form, value)).count();
            return some == 1 || some > 0 && schema["anyOf"].is_array();
        }
        let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
        match value {
            Value::String(text) => {
                let Some(pattern) = schema["pattern"].as_str() else { return false };
                let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
                let units = pattern.rsplit_once(r"\s*").and_then(|(front, _)| front.rsplit_once(r"\s*")).unwrap().1;
                kinds.contains(&"string".into())
                    && units.trim_matches(['(', ')', '?']).split('|').any(|own| own.trim_end_matches('?') == unit)
            }
            Value::Number(number) => {
                let within = |end: &str, by: fn(&f64, &f64) -> bool| {
                    schema[end].as_f64().is_none_or(|end| by(&number.as_f64().unwrap(), &end))
                };
                kinds.contains(&"number".into()) && within("minimum", f64::ge) && within("maximum", f64::le)
            }
            _ => false,
        }
    }

    /// Every key that is a fraction: the schema takes what the reader takes, and refuses what it refuses.
    #[test]
    fn fractions_are_numbers_and_percentages_in_the_schema_too() {
        let schema = root_schema().to_value();
        let mut found = 0;
        for (section, outer) in entries(&schema["properties"]) {
            for (key, property) in entries(&resolve(&schema["definitions"], outer)["properties"]) {
                let is_fraction = |schema: &Value| schema["maximum"] == 1.0 && schema["minimum"] == 0.0;
                let forms = property["oneOf"].as_array();
                if !is_fraction(property) && !forms.is_some_and(|forms| forms.iter().any(is_fraction)) {
                    continue;
                }
                found += 1;
                for (text, value) in [
                    ("0.07", json!(0.07)),
                    ("\"7%\"", json!("7%")),
                    ("\"7 years\"", json!("7 years")),
                    ("1.5", json!(1.5)),
                ] {
                    let read: Result<Config, _> = toml::from_str(&format!("[{section}]\n{key} = {text}\n"));
                    assert_eq!(takes(property, &value), read.is_ok(), "{section}.{key} = {text}: {read:?}");
                }
            }
        }
        assert!(found > 8, "{found} fractions");
    }
}
