//! Small devices, loads and readers that the suites of several crates share; each uses some of them.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::run::{How, Run};
use ssdlab_lab::settings::{Settings, Sources};

/// Cases of a property test: some, or as many as a campaign wants.
pub fn cases(usual: u32) -> u32 {
    std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// 8 MiB in four planes, all of it written: GC starts at once.
const TINY: [&str; 8] = [
    "geometry.channels=2",
    "geometry.chips_per_channel=2",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=1",
    "geometry.blocks_per_plane=16",
    "geometry.pages_per_block=32",
    "device.over_provisioning=0.4",
    "precondition.mode=sequential",
];

pub fn tiny(more: &[&str]) -> Sources {
    let sets = TINY.iter().chain(more).map(ToString::to_string).collect();
    Sources { sets, ..Sources::default() }
}

pub fn writes(limit: u64) -> Requests {
    let origin = Origin::Workload { name: "random-write".into(), recordings: None };
    Requests { limit: Some(limit), ..Requests::new(origin) }
}

pub fn run(sources: &Sources, how: How) -> Run {
    Run::new(Settings::load(sources).unwrap(), how, Moment::now()).unwrap()
}

/// Names of the files in a directory, hidden ones included.
pub fn names(directory: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into()).collect();
    names.sort();
    names
}

/// A table of a page's data.
pub fn data_table(html: &str, id: &str) -> Value {
    let data = html.split("id=\"ssdlab-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let tables = data["tables"].as_array().unwrap();
    tables.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id}"))["table"].clone()
}
