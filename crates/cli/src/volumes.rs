//! A fleet and what it has.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use ssdlab_lab::error::Result;
use ssdlab_lab::text::{count, plural};
use ssdlab_sweep::fleet::Fleet;
use ssdlab_sweep::fleet::scan::Scans;

/// Opens a fleet with what a store knows of its traces.
pub(crate) fn open(path: &Path, store: Option<&Path>, rehash: bool) -> Result<Fleet> {
    Fleet::open(path, Arc::new(Scans::open(store, rehash)))
}

/// What a fleet has, for people.
pub fn lines(fleet: &Fleet) -> Vec<(&'static str, String)> {
    let requests = fleet.volumes.iter().map(|volume| volume.requests).sum();
    let mut lines =
        vec![("volumes", format!("{}, {}", count(fleet.volumes.len() as u64), plural(requests, "request")))];
    let out = fleet.left_out;
    let whys = [
        (out.unsampled, "not in the sample"),
        (out.small, "with fewer requests than volumes.min_requests"),
        (out.large, "larger than device.most"),
    ];
    lines.extend(whys.into_iter().filter(|(n, _)| *n > 0).map(|(n, why)| ("left out", format!("{}, {why}", count(n)))));
    let variants = fleet.study.choices.len() / fleet.volumes.len();
    lines.push(("variants", count(variants as u64)));
    lines
}

/// The same for programs.
pub fn figures(fleet: &Fleet) -> Json {
    let out = fleet.left_out;
    json!({
        "volumes": fleet.volumes.len(),
        "requests": fleet.volumes.iter().map(|volume| volume.requests).sum::<u64>(),
        "variants": fleet.study.choices.len() / fleet.volumes.len(),
        "left_out": { "unsampled": out.unsampled, "small": out.small, "large": out.large },
    })
}
