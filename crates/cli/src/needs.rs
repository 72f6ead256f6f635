//! What a scheme needs, and what it can't be combined with: tried out on the rules that refuse configurations, so that it is
//! never out of date.

use ssdlab_sim::config::Config;
use ssdlab_sim::schemes::SchemeInfo;

use crate::settings::{Settings, Sources};
use crate::show::root_schema;

/// What a configuration changes beside a scheme.
struct Probe {
    key: String,
    value: String,
}

/// The rules that a scheme meets.
pub struct Needs {
    /// Changes without which the scheme is refused on the built-in device, and the rule.
    pub needs: Vec<(String, String)>,
    /// Changes with which it is refused, and the rule.
    pub refuses: Vec<(String, String)>,
}

/// Values of keys that no list holds, but that rules look at.
const NUMBERS: [(&str, &[&str]); 7] = [
    ("geometry.dies_per_chip", &["1"]),
    ("geometry.planes_per_die", &["1", "2", "4"]),
    ("staging.slots", &["0", "128"]),
    ("gc.reserve", &["1", "2", "3"]),
    ("gc.hard_threshold", &["0.001"]),
    ("device.power_loss_protection", &["true", "false"]),
    ("wear.pe_cycles", &["0"]),
];

/// Every value of every key that takes one of a few, and a handful of numbers.
fn probes() -> Vec<Probe> {
    let schema = root_schema().to_value();
    let definitions = &schema["definitions"];
    let object = |value: &serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let resolve = |property: &serde_json::Value| {
        let inner = property["allOf"].get(0).or_else(|| property["anyOf"].get(0)).unwrap_or(property).clone();
        match inner["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => definitions[name].clone(),
            None => inner,
        }
    };
    let mut probes = Vec::new();
    for (section, outer) in object(&schema["properties"]) {
        for (key, property) in object(&resolve(&outer)["properties"]) {
            let choice = resolve(&property);
            let forms = choice["oneOf"].as_array().cloned().unwrap_or_default();
            let named = forms.iter().filter(|form| form["description"].is_string());
            let plain = choice["enum"].as_array().cloned().unwrap_or_default();
            let values = named.filter_map(|form| form["const"].as_str()).chain(plain.iter().filter_map(|v| v.as_str()));
            for value in values {
                probes.push(Probe { key: format!("{section}.{key}"), value: value.to_string() });
            }
        }
    }
    for place in ["CWDP", "dynamic"] {
        probes.push(Probe { key: "schemes.place".into(), value: place.into() });
    }
    for (key, values) in NUMBERS {
        probes.extend(values.iter().map(|value| Probe { key: key.into(), value: value.to_string() }));
    }
    probes
}

/// Whether a device takes these keys: nothing if it does, the rule if not. None: a key is not known here.
fn tried(sets: &[String]) -> Option<Result<(), String>> {
    let sources = Sources { sets: sets.to_vec(), ..Sources::default() };
    let settings = Settings::merge(&sources).ok()?;
    Some(settings.config.check().map_err(|error| format!("{}: {}; {}", error.key, error.message, error.help)))
}

/// What a scheme needs.
pub fn of(scheme: &SchemeInfo) -> Needs {
    let own = format!("{}={}", scheme.slot, scheme.name);
    // Room for every write stream, so that space is never what is refused.
    let base = ["device.over_provisioning=0.2".to_string()];
    let with = |more: &[String]| tried(&[&base[..], std::slice::from_ref(&own), more].concat());
    let mut needs = Vec::new();
    let mut given: Vec<String> = Vec::new();
    let set = |probe: &Probe| format!("{}={}", probe.key, probe.value);
    let probes: Vec<Probe> = probes().into_iter().filter(|probe| probe.key != scheme.slot).collect();
    // One change after the other, as long as one answers the rule that is broken: the first that is taken as it is, or
    // that leads to another rule.
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
            // A rule that the change breaks without the scheme, too, is none of the scheme's.
            let without: Vec<String> = base.iter().cloned().chain([set(probe)]).collect();
            if let (Some(Err(rule)), Some(Ok(()))) = (with(&sets), tried(&without)) {
                refuses.push((format!("{} = {}", probe.key, probe.value), rule));
            }
        }
    }
    Needs { needs, refuses }
}

/// Knobs of a scheme: name, default, meaning.
pub fn knobs(scheme: &SchemeInfo) -> Vec<(String, String, String)> {
    let schema = root_schema().to_value();
    let definitions = schema["definitions"].as_object().cloned().unwrap_or_default();
    let sources = Sources { sets: vec![format!("{}={}", scheme.slot, scheme.name)], ..Sources::default() };
    let config: Option<Config> = Settings::merge(&sources).ok().map(|settings| settings.config);
    let tree = config.and_then(|config| serde_json::to_value(config).ok()).unwrap_or_default();
    let path = format!("/{}/{}", scheme.slot.replace('.', "/"), scheme.name);
    let defaults = tree.pointer(&path).and_then(|knobs| knobs.as_object()).cloned().unwrap_or_default();
    // The definition with exactly these knobs, among those that the slot refers to.
    let owner = definitions.values().find(|definition| {
        let own = definition["properties"].as_object();
        !defaults.is_empty()
            && own.is_some_and(|own| own.len() == defaults.len() && defaults.keys().all(|knob| own.contains_key(knob)))
            && definition["description"]
                .as_str()
                .is_some_and(|text| scheme.manual.split_whitespace().take(6).eq(text.split_whitespace().take(6)))
    });
    let meaning = |knob: &str| {
        let text = owner.and_then(|owner| owner["properties"][knob]["description"].as_str()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    defaults.iter().map(|(knob, default)| (knob.clone(), default.to_string(), meaning(knob))).collect()
}
