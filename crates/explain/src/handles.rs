//! Placement handles as a change to try: another isolation, or a handle a stream.

use ssdlab_lab::input::{Origin, Requests, find_workload, parse_workload};
use ssdlab_sim::config::{Config, Isolation, MOST_HANDLES};
use ssdlab_trace::workload::{Ppm, Spec, StreamSpec};

/// The change of `fdp.*` that is worth a try: with handles their other isolation; without them a persistent handle for each name, if
/// what is written has at least two names.
pub fn change(config: &Config, requests: &Requests) -> Option<String> {
    if config.fdp.exists() {
        let initial = (0..config.fdp.handles).any(|handle| config.fdp.isolation(handle) == Isolation::Initial);
        return Some(format!("fdp.isolation={}", if initial { "persistent" } else { "initial" }));
    }
    let (kind, names) = names(requests)?;
    if !(2..=MOST_HANDLES as usize).contains(&names.len()) {
        return None;
    }
    let map: Vec<String> = names.iter().enumerate().map(|(handle, name)| format!("{name} = {handle}")).collect();
    let (handles, map) = (names.len(), map.join(", "));
    Some(format!("fdp={{ handles = {handles}, isolation = \"persistent\", assign = {{ {kind} = {{ {map} }} }} }}"))
}

/// The names of what is written, in their order, and whether they are of streams or of tenants. None where a write has none, where a
/// name is no bare key of TOML, and for recordings, whose names are known at their end.
fn names(requests: &Requests) -> Option<(&'static str, Vec<String>)> {
    let (kind, names) = match &requests.from {
        Origin::Tenants(tenants) => ("tenant", tenants.iter().map(|tenant| tenant.name.clone()).collect()),
        Origin::Workload { name, recordings: None } => ("stream", streams(&find_workload(name).ok()?.1)),
        Origin::Spec(text) => ("stream", streams(&parse_workload("", text).ok()?.1)),
        Origin::Workload { .. } | Origin::Trace(_) => return None,
    };
    let bare = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    names.iter().all(bare).then_some((kind, names))
}

/// Names of streams that write, each once.
fn streams(spec: &Spec) -> Vec<String> {
    let writes = |stream: &&StreamSpec| match (stream.write, stream.read) {
        (Some(write), _) => write.0 > 0,
        (None, Some(read)) => read != Ppm::ONE,
        (None, None) => stream.trim != Some(Ppm::ONE),
    };
    let mut names: Vec<String> = Vec::new();
    for stream in spec.phases.iter().flat_map(|phase| &phase.streams).filter(writes) {
        if !names.contains(&stream.name) {
            names.push(stream.name.clone());
        }
    }
    names
}
