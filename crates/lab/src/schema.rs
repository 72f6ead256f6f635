//! The JSON Schema of configuration files, and the keys that it lists.

use serde_json::Value;
use ssdlab_sim::Config;

/// The JSON Schema of configuration files.
pub fn root_schema() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::draft07();
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    schema.insert("title".into(), "A configuration of ssdlab".into());
    schema
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

/// The entries of an object, in order; none of anything else.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// What a property refers to, or the property itself.
pub fn resolve<'s>(definitions: &'s Value, property: &'s Value) -> &'s Value {
    let inner = property["allOf"].get(0).or_else(|| property["anyOf"].get(0)).unwrap_or(property);
    match inner["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => &definitions[name],
        None => property,
    }
}
