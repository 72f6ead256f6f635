//! The changes that a scheme requires, and those that it excludes. Both are found by trying configurations against the rules,
//! so the answer is never out of date.

use ssdlab_sim::config::Config;
use ssdlab_sim::schemes::SchemeInfo;

use crate::schema::{entries, resolve, root_schema};
use crate::settings::{Settings, Sources};
use crate::tree;

/// A change of one key besides the scheme.
struct Probe {
    key: String,
    value: String,
}

/// The rules that concern a scheme.
pub struct Needs {
    /// Changes without which the scheme is refused on the built-in device, and the rule.
    pub needs: Vec<(String, String)>,
    /// Changes with which it is refused, and the rule.
    pub refuses: Vec<(String, String)>,
}

/// Numbers to try for keys that rules depend on; the schema lists no values for them.
const NUMBERS: [(&str, &[&str]); 7] = [
    ("geometry.dies_per_chip", &["1"]),
    ("geometry.planes_per_die", &["1", "2", "4"]),
    ("staging.slots", &["0", "128"]),
    ("gc.reserve", &["1", "2", "3"]),
    ("gc.hard_threshold", &["0.001"]),
    ("device.power_loss_protection", &["true", "false"]),
    ("wear.pe_cycles", &["0"]),
];

/// Every value of every key with a list of values, and `NUMBERS`.
fn probes() -> Vec<Probe> {
    let schema = root_schema().to_value();
    let definitions = &schema["definitions"];
    let mut probes = Vec::new();
    for (section, outer) in entries(&schema["properties"]) {
        for (key, property) in entries(&resolve(definitions, outer)["properties"]) {
            let choice = resolve(definitions, property);
            let forms = choice["oneOf"].as_array().into_iter().flatten();
            let named = forms.filter(|form| form["description"].is_string());
            let plain = choice["enum"].as_array().into_iter().flatten();
            let values = named.filter_map(|form| form["const"].as_str()).chain(plain.filter_map(|v| v.as_str()));
            for value in values {
                probes.push(Probe { key: format!("{section}.{key}"), value: value.to_string() });
            }
        }
    }
    for place in ["CWDP", "round-robin", "dynamic"] {
        probes.push(Probe { key: "schemes.place".into(), value: place.into() });
    }
    for (key, values) in NUMBERS {
        probes.extend(values.iter().map(|value| Probe { key: key.into(), value: value.to_string() }));
    }
    probes
}

/// The rule that refuses these keys, if any. None: a key is unknown.
fn tried(sets: &[String]) -> Option<Result<(), String>> {
    let sources = Sources { sets: sets.to_vec(), ..Sources::default() };
    let settings = Settings::merge(&sources).ok()?;
    Some(settings.config.check().map_err(|error| format!("{}: {}; {}", error.key, error.message, error.help)))
}

/// The rules that concern a scheme.
pub fn of(scheme: &SchemeInfo) -> Needs {
    let own = format!("{}={}", scheme.slot, scheme.name);
    // Space for every write stream, so that no rule about space interferes.
    let base = ["device.over_provisioning=0.2".to_string()];
    let with = |more: &[String]| tried(&[&base[..], std::slice::from_ref(&own), more].concat());
    let mut needs = Vec::new();
    let mut given: Vec<String> = Vec::new();
    let set = |probe: &Probe| format!("{}={}", probe.key, probe.value);
    let probes: Vec<Probe> = probes().into_iter().filter(|probe| probe.key != scheme.slot).collect();
    // One change at a time, as long as one satisfies the broken rule: preferably a change that makes the configuration
    // valid, otherwise one that leads to another rule.
    for _ in 0..4 {
        let Some(Err(rule)) = with(&given) else { break };
        let changed = |probe: &&Probe| {
            let mut sets = given.clone();
            sets.push(set(probe));
            with(&sets)
        };
        let answer = probes.iter().find(|probe| matches!(changed(probe), Some(Ok(())))).or_else(|| {
            probes.iter().find(
                |probe| matches!(changed(probe), Some(Err(other)) if other.split(':').next() != rule.split(':').next()),
            )
        });
        let Some(answer) = answer else {
            needs.push(("more than one change".into(), rule));
            break;
        };
        given.push(set(answer));
        needs.push((format!("{} = {}", answer.key, answer.value), rule));
    }
    let mut refuses = Vec::new();
    if matches!(with(&given), Some(Ok(()))) {
        let kept = |probe: &&Probe| !given.iter().any(|set| set.starts_with(&format!("{}=", probe.key)));
        for probe in probes.iter().filter(kept) {
            let mut sets = given.clone();
            sets.push(set(probe));
            // A rule that the change breaks even without the scheme does not concern the scheme.
            let without: Vec<String> = base.iter().cloned().chain([set(probe)]).collect();
            if let (Some(Err(rule)), Some(Ok(()))) = (with(&sets), tried(&without)) {
                refuses.push((format!("{} = {}", probe.key, probe.value), rule));
            }
        }
    }
    Needs { needs, refuses }
}

/// A knob of a scheme.
pub struct Knob {
    /// Its name.
    pub name: String,
    /// Its default, as JSON writes it.
    pub default: String,
    /// The values that it takes.
    pub range: String,
    /// Its purpose.
    pub meaning: String,
}

/// The knobs of a scheme.
pub fn knobs(scheme: &SchemeInfo) -> Vec<Knob> {
    let schema = root_schema().to_value();
    let definitions = schema["definitions"].as_object().cloned().unwrap_or_default();
    let sources = Sources { sets: vec![format!("{}={}", scheme.slot, scheme.name)], ..Sources::default() };
    let config: Option<Config> = Settings::merge(&sources).ok().map(|settings| settings.config);
    let tree = config.as_ref().map(tree::config).unwrap_or_default();
    let path = format!("/{}/{}", scheme.slot.replace('.', "/"), scheme.name);
    let defaults = tree.pointer(&path).and_then(|knobs| knobs.as_object()).cloned().unwrap_or_default();
    // The definition of the scheme: it has exactly these knobs, and its text begins like the manual.
    let owner = definitions.values().find(|definition| {
        let own = definition["properties"].as_object();
        !defaults.is_empty()
            && own.is_some_and(|own| own.len() == defaults.len() && defaults.keys().all(|knob| own.contains_key(knob)))
            && definition["description"]
                .as_str()
                .is_some_and(|text| scheme.manual.split_whitespace().take(6).eq(text.split_whitespace().take(6)))
    });
    let nothing = serde_json::Value::Null;
    let knob = |(name, default): (&String, &serde_json::Value)| {
        let property = owner.map_or(&nothing, |owner| &owner["properties"][name]);
        let text = property["description"].as_str().unwrap_or_default();
        let meaning = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let least = || least(scheme, name);
        let range = range(&schema["definitions"], property, least);
        Knob { name: name.clone(), default: default.to_string(), range, meaning }
    };
    defaults.iter().map(knob).collect()
}

/// The smallest whole number that no rule refuses as the value of a knob.
fn least(scheme: &SchemeInfo, knob: &str) -> u64 {
    let set = |value: u64| format!("{}={{ {} = {{ {knob} = {value} }} }}", scheme.slot, scheme.name);
    let given = of(scheme).needs.into_iter().map(|(needed, _)| needed.replace(" = ", "="));
    let given: Vec<String> = ["device.over_provisioning=0.2".into()].into_iter().chain(given).collect();
    let taken = |value: &u64| matches!(tried(&[&given[..], &[set(*value)]].concat()), Some(Ok(())));
    (0..64).find(taken).unwrap_or(0)
}

/// The values that a knob takes, from the schema.
fn range(definitions: &serde_json::Value, property: &serde_json::Value, least: impl Fn() -> u64) -> String {
    let resolved = resolve(definitions, property);
    let types: Vec<&str> = match &resolved["type"] {
        serde_json::Value::Array(types) => types.iter().filter_map(|one| one.as_str()).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let forms = resolved["oneOf"].as_array().cloned().unwrap_or_default();
    let examples: Vec<String> =
        resolved["examples"].as_array().into_iter().flatten().map(ToString::to_string).collect();
    let names: Vec<String> = forms
        .iter()
        .filter(|form| form["description"].is_string())
        .filter_map(|form| form.get("const"))
        .map(ToString::to_string)
        .collect();
    let bounds = |least: String| match resolved["maximum"].as_f64() {
        Some(most) => format!("{least} to {most}"),
        None => format!("{least} or more"),
    };
    let mut range = match () {
        () if !names.is_empty() => names.join(", "),
        () if !forms.is_empty() => format!("a share from 0 to 1, or a text such as {}", examples.join(", ")),
        () if types.contains(&"boolean") => "true, false".into(),
        () if types.contains(&"integer") => format!("whole numbers, {}", bounds(least().to_string())),
        () if types.contains(&"number") => bounds(resolved["minimum"].to_string()),
        () => format!("a text such as {}", examples.join(", ")),
    };
    if types.contains(&"null") {
        range.push_str("; or not set");
    }
    range
}
