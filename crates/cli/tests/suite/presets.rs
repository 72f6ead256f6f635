//! Every preset serves every bundled workload.

use std::path::Path;

use clap::Parser;
use ssdlab_cli::args::{Cli, Command};
use ssdlab_lab::presets;

/// Arrays that are filled in a few milliseconds and collected within a few hundred requests, by preset.
const SMALLER: [(&str, &[&str]); 14] = [
    ("default", &["geometry.channels=2", "geometry.blocks_per_plane=32", "precondition.mode=random"]),
    ("idle-chip", &["geometry.channels=1", "geometry.blocks_per_plane=64"]),
    ("pagc", &["geometry.channels=2", "geometry.chips_per_channel=2", "geometry.blocks_per_plane=64"]),
    ("brr", &["geometry.channels=8", "geometry.blocks_per_plane=24", "geometry.pages_per_block=32"]),
    ("fastgc", &["geometry.channels=1", "geometry.blocks_per_plane=32", "geometry.pages_per_block=32"]),
    ("noc", &["geometry.channels=2", "geometry.blocks_per_plane=64"]),
    ("nvme-tlc", &["geometry.channels=1", "geometry.blocks_per_plane=32", "geometry.pages_per_block=48"]),
    ("nvme-2024", &["geometry.channels=1", "geometry.blocks_per_plane=32", "geometry.pages_per_block=48"]),
    ("nvme-tlc-units", &["geometry.channels=1", "geometry.blocks_per_plane=32", "geometry.pages_per_block=48"]),
    ("nvme-2024-units", &["geometry.channels=1", "geometry.blocks_per_plane=32", "geometry.pages_per_block=48"]),
    ("pm9a3", &["geometry.channels=1", "geometry.blocks_per_plane=48", "geometry.pages_per_block=48"]),
    (
        "client-tlc",
        &[
            "geometry.channels=1",
            "geometry.chips_per_channel=2",
            "geometry.blocks_per_plane=40",
            "geometry.pages_per_block=48",
        ],
    ),
    ("composed", &["geometry.channels=2", "geometry.blocks_per_plane=32", "geometry.pages_per_block=32"]),
    ("interleaved", &["geometry.channels=2", "geometry.blocks_per_plane=32", "geometry.pages_per_block=32"]),
];

fn run(arguments: &[String]) -> Result<(u64, u64), String> {
    let parsed = Cli::try_parse_from(arguments).map_err(|error| error.to_string())?;
    let Command::Run(args) = parsed.command else { return Err("not a run".into()) };
    let done = ssdlab_cli::run::simulate(&args, "ssdlab run").map_err(|error| error.to_string())?;
    let summary = done.outcome.summary;
    Ok((summary.requests.read + summary.requests.write, summary.gc.collections))
}

/// The bundled workloads, in a directory, with ranges that shrink to a small device.
fn workloads(directory: &Path) -> Vec<String> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(bundled).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let to = directory.join(path.file_name().unwrap());
        std::fs::write(&to, if text.contains("\nscale = true") { text } else { format!("scale = true\n{text}") })
            .unwrap();
        names.push(to.to_string_lossy().into_owned());
    }
    names.sort();
    names
}

#[test]
fn every_preset_serves_every_bundled_workload() {
    let directory = tempfile::tempdir().unwrap();
    let workloads = workloads(directory.path());
    assert!(workloads.len() >= 50, "{workloads:?}");
    for preset in presets::ALL {
        let (_, smaller) =
            SMALLER.into_iter().find(|(name, _)| *name == preset.name).expect("a smaller array of each preset");
        let mut collected = 0;
        for workload in &workloads {
            let fixed = [
                "ssdlab",
                "run",
                "--preset",
                preset.name,
                "--workload",
                workload,
                "--limit",
                "400",
                "--quiet",
                "--check",
                "off",
            ];
            let sets = smaller.iter().flat_map(|set| ["--set", set]);
            let arguments: Vec<String> = fixed.into_iter().chain(sets).map(String::from).collect();
            let (served, collections) = run(&arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
            assert!(served > 0, "{arguments:?}");
            collected += u64::from(collections > 0);
        }
        assert!(collected > 0, "{}: no workload reaches a collection", preset.name);
    }
}
