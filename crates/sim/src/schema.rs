//! JSON Schema of text forms ([`text_forms`]) and of scheme slots. All other types derive their own.

use schemars::{Schema, json_schema};

use crate::units::{Bytes, FreeBelow, Nanos, Ppm, Rate, Threshold, Warmup};

macro_rules! text_forms {
    ($($ty:ident: $schema:tt),+ $(,)?) => {$(
        impl schemars::JsonSchema for $ty {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($ty).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    )+};
}
pub(crate) use text_forms;

text_forms! {
    Nanos: {
        "type": "string",
        "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|\u00b5s|ms|s|min|h|d)\s*$",
        "examples": ["30us", "1.5ms"]
    },
    Bytes: { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGT](i?B)?|B)\s*$", "examples": ["4KiB", "16K"] },
    Rate: {
        "type": "string",
        "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(B/s|[kKMG]B/s|[KMG]iB/s|MT/s|ns/B)\s*$",
        "examples": ["333MB/s", "1200MT/s", "10ns/B"]
    },
    Ppm: { "type": "number", "minimum": 0, "maximum": 1 },
    Threshold: {
        "oneOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(blocks?|pages?)?\s*$" }
        ],
        "examples": [0.05, "3 blocks", "200 pages"]
    },
    FreeBelow: {
        "oneOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(blocks?|pages?|x\s*gc)?\s*$" }
        ],
        "examples": [0.12, "200 pages", "1.05 x gc"]
    },
    Warmup: {
        "type": "string",
        "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(requests?|drive writes?)\s*$",
        "examples": ["10000 requests", "1.5 drive writes"]
    },
}

/// A slot: a name, or a table with one name and its settings.
pub(crate) fn slot<const N: usize>(policies: [(&str, &str, Schema); N], aliases: &[&str]) -> Schema {
    let mut forms = Vec::new();
    for (name, manual, knobs) in policies {
        forms.push(json_schema!({ "const": name, "description": manual }));
        forms.push(json_schema!({
            "type": "object",
            "properties": { name: knobs },
            "required": [name],
            "additionalProperties": false
        }));
    }
    forms.extend(aliases.iter().map(|alias| json_schema!({ "const": alias })));
    json_schema!({ "oneOf": forms })
}
