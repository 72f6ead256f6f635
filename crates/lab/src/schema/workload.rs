//! The JSON Schema of workloads.

use serde_json::{Map, Value, json};

/// A percentage.
pub(super) const PERCENT: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$";

/// A value with what it means.
pub fn about(mut schema: Value, meaning: &str) -> Value {
    if let Value::Object(entries) = &mut schema {
        entries.insert("description".into(), meaning.into());
    }
    schema
}

/// A table with these keys and no others.
pub fn table(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn size() -> Value {
    let pattern = r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGT](i?B)?|B)?\s*$";
    json!({ "type": ["string", "integer"], "pattern": pattern, "examples": ["4KiB", "1GiB"] })
}

fn time() -> Value {
    let pattern = r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|µs|ms|s|min|h)\s*$";
    json!({ "type": "string", "pattern": pattern, "examples": ["30us", "1.5ms"] })
}

/// A number from 0 to 1, or a percentage.
pub fn share() -> Value {
    json!({ "type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": PERCENT })
}

/// A size, or a share of the exported bytes.
fn bound() -> Value {
    json!({ "type": ["string", "number"], "minimum": 0, "examples": ["1GiB", 0.5] })
}

/// A choice: its name, what it means, whether the name stands alone, and the keys of its table with those that it needs.
type Form<'f> = (&'f str, &'f str, bool, Value, &'f [&'f str]);

/// A name alone, or a table with one name and its keys.
fn choice(forms: &[Form]) -> Value {
    let mut all = Vec::new();
    for (name, meaning, alone, keys, required) in forms {
        if *alone {
            all.push(json!({ "const": name, "description": meaning }));
        }
        if keys.as_object().is_some_and(|keys| !keys.is_empty()) {
            let own = Map::from_iter([(name.to_string(), table(keys.clone(), required))]);
            all.push(about(table(own.into(), &[name]), meaning));
        }
    }
    json!({ "oneOf": all })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

fn pattern() -> Value {
    let scrambled = about(json!({ "type": "boolean" }), "spread the ranks, or the hot slots, over the range");
    let live = about(share(), "share of the places in the range that are in use at most; default all");
    let trim = about(json!({ "type": "boolean" }), "trim what dies, by a request of its own; default false");
    let theta = json!({ "type": "number", "minimum": 0 });
    let population = about(json!({ "type": "number" }), "number of ranks; default the number of slots");
    let dies = json!({ "enum": ["oldest", "any", "least-used"] });
    let zipf = json!({ "theta": theta, "scrambled": scrambled, "population": population });
    let hot = json!({ "hot_space": share(), "hot_traffic": share(), "scrambled": scrambled });
    let zones = json!({ "active": whole(), "size": bound() });
    let objects = json!({ "size": size(), "dies": dies, "live": live, "trim": trim });
    let sessions = json!({
        "chunk": size(), "active": whole(), "chunks": whole(), "ends": share(), "live": live, "trim": trim
    });
    choice(&[
        ("sequential", "from the start of the range to its end, and again", true, json!({}), &[]),
        ("shuffled", "every slot once in a random order, and again in another", true, json!({}), &[]),
        ("uniform", "every position alike", true, json!({}), &[]),
        ("zipf", "popularity proportional to rank^-theta", false, zipf, &["theta"]),
        ("fio-zipf", "as random_distribution=zipf:theta of fio", false, json!({ "theta": theta }), &["theta"]),
        ("hot-cold", "a share of the slots gets a share of the requests", false, hot, &["hot_space", "hot_traffic"]),
        ("strided", "steps of a fixed width", false, json!({ "stride": size() }), &["stride"]),
        ("zones", "zones that are appended to", false, zones, &["active", "size"]),
        ("objects", "objects of one size, written whole", false, objects, &["size"]),
        (
            "sessions",
            "sessions that return to their chunks and continue",
            false,
            sessions,
            &["chunk", "active", "chunks", "ends"],
        ),
    ])
}

fn arrivals() -> Value {
    let rate = about(json!({ "type": "number", "exclusiveMinimum": 0 }), "requests a second");
    let gap = about(time(), "mean time between two requests");
    let even = json!({ "rate": rate, "gap": gap });
    let within = about(time(), "the longest short gap; default 200us");
    let bursts = json!({ "share": share(), "within": within, "rate": rate, "gap": gap });
    let closed = json!({ "depth": whole(), "think": time(), "think_after": whole() });
    choice(&[
        ("closed", "a new request when one completes", true, closed, &[]),
        ("fixed", "at equal distances: `rate` or `gap`", false, even.clone(), &[]),
        ("poisson", "independent exponential gaps: `rate` or `gap`", false, even, &[]),
        ("bursts", "short gaps and idle ones: `share`, and `rate` or `gap`", false, bursts, &["share"]),
    ])
}

fn sizes() -> Value {
    let pair = json!({ "type": "array", "items": [size(), { "type": "number", "minimum": 0 }] });
    let between = table(json!({ "min": size(), "max": size() }), &["min", "max"]);
    json!({ "anyOf": [size(), { "type": "array", "items": pair, "minItems": 1 }, between] })
}

/// The keys of a stream.
fn stream() -> Map<String, Value> {
    let range = json!({ "anyOf": [bound(), { "type": "array", "items": bound(), "minItems": 2, "maxItems": 2 }] });
    let keys = [
        ("name", json!({ "type": "string" }), "free text"),
        (
            "share",
            json!({ "type": "number", "minimum": 0 }),
            "weight among the streams of a phase that has arrivals; default 1",
        ),
        ("arrivals", arrivals(), "when requests arrive"),
        ("read", share(), "share of reads; the rest if only the others are given"),
        ("write", share(), "share of writes; the rest if only the others are given"),
        ("trim", share(), "share of trims; default 0"),
        ("size", sizes(), "sizes of all requests that have none of their own; default 4 KiB"),
        ("read_size", sizes(), "sizes of reads"),
        ("write_size", sizes(), "sizes of writes"),
        ("trim_size", sizes(), "sizes of trims"),
        ("align", size(), "every offset is a multiple of this"),
        ("range", range, "the part of the address space that is used; default all of it"),
        ("pattern", pattern(), "where a request goes that does not continue the one before; default uniform"),
        ("sequential", share(), "share of requests that start where the last one of the stream ended; default 0"),
    ];
    keys.into_iter().map(|(key, schema, meaning)| (key.into(), about(schema, meaning))).collect()
}

/// The keys of a phase. A phase of one stream may have those of the stream.
fn phase() -> Map<String, Value> {
    let streams = json!({ "type": "array", "items": table(stream().into(), &[]), "minItems": 1 });
    let own = [
        ("requests", json!({ "type": "integer", "minimum": 1 }), "number of requests after which the phase ends"),
        ("duration", time(), "time after which it ends"),
        ("scatter", size(), "one permutation of the slots of this width for all streams"),
        ("stream", streams, "the streams, each a source of requests"),
    ];
    let mut keys = stream();
    keys.extend(own.into_iter().map(|(key, schema, meaning)| (key.into(), about(schema, meaning))));
    keys
}

/// The JSON Schema of workloads.
pub fn workload() -> Value {
    let phases = json!({ "type": "array", "items": table(phase().into(), &[]), "minItems": 1 });
    let header = [
        ("name", json!({ "type": "string" }), "short name; the file's own where it has none"),
        ("description", json!({ "type": "string" }), "one line for `ssdlab workloads`"),
        ("source", json!({ "type": "string" }), "the source of the figures"),
        ("model", json!({ "type": "boolean" }), "whether this is a model of a recorded trace; default false"),
        ("trace", json!({ "type": "string" }), "the recorded trace that this models, as in its file name"),
        ("scale", json!({ "type": "boolean" }), "shrink address ranges that do not fit the device; default false"),
        ("phase", phases, "the phases, one after the other"),
    ];
    let mut keys = phase();
    keys.extend(header.into_iter().map(|(key, schema, meaning)| (key.into(), about(schema, meaning))));
    let mut schema = table(keys.into(), &[]);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "A workload of ssdlab".into();
    schema
}
