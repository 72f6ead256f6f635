//! The schemes of docs/tutorial.md compile, and do what their manual says.
//!
//! `SSDLAB_TUTORIAL=1` follows the tutorial to the letter on a copy of the sources: a file, a line, a build, a run.

// The files are included at the place that a scheme has in the tree, so their imports resolve.
mod device {
    pub use ssdlab_sim::device::flash;
}
mod policy {
    pub use ssdlab_sim::policy::*;
}
mod units {
    pub use ssdlab_sim::units::*;
}
mod schemes {
    pub use ssdlab_sim::scheme;
}

#[path = "../examples/schemes/blend.rs"]
mod blend;
#[path = "../examples/schemes/resting.rs"]
mod resting;

use std::path::{Path, PathBuf};
use std::process::Command;

use blend::Blend;
use device::flash::Stream;
use policy::{Collector, Job, Step, Victim};
use resting::Resting;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};
use units::{Nanos, PlaneId};

/// A plane of eight blocks of eight pages whose first blocks keep 5, 2 and 3 pages, in the order in which they were filled.
fn device() -> Ssd {
    let text = "
        geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 8 }
        device.over_provisioning = 0.5
        gc.threshold = \"8 pages\"";
    let config: Config = text.parse().unwrap();
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    let page = |lpn: u64| Request { arrival: Nanos(0), op: RequestOp::Write, offset: 4096 * lpn, bytes: 4096 };
    (0..24).for_each(|lpn| ssd.apply_now(page(lpn)));
    for (block, kept) in [(0, 5), (1, 2), (2, 3)] {
        (kept..8).for_each(|n| ssd.apply_now(Request { op: RequestOp::Trim, ..page(8 * block + n) }));
    }
    ssd
}

#[test]
fn resting_blocks_are_left_alone() {
    let ssd = device();
    let view = ssd.view();
    let pick = |rest| Resting { rest }.pick(&view, PlaneId(0)).unwrap().0;
    assert_eq!(pick(0), 1, "greedy: two valid pages");
    assert_eq!(pick(2), 0, "blocks 1 and 2 rest");
    assert_eq!(pick(9), 1, "all rest: greedy");
    assert!(Resting::MANUAL.starts_with(" Resting greedy"), "its doc comment is its manual page");
}

#[test]
fn the_last_pages_of_a_victim_go_to_the_hosts_write_point() {
    let ssd = device();
    let view = ssd.view();
    let victim = Resting::default().pick(&view, PlaneId(0)).unwrap();
    let streams = |few: u32| {
        let (mut collector, mut job, mut streams) = (Blend { few }, Job::new(victim), Vec::new());
        loop {
            match collector.next(&view, &mut job) {
                Step::Move(pages, stream) => {
                    assert_eq!(pages.len(), 1);
                    streams.push(stream);
                }
                Step::Erase => job.erased = true,
                Step::Done => return streams,
                _ => unreachable!("nothing is in hand"),
            }
        }
    };
    assert_eq!(streams(4), [Stream::Host; 2]);
    assert_eq!(streams(1), [Stream::Gc; 2]);
}

/// Copies the sources of a directory.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() && name != "target" && name != ".git" {
            copy(&path, &to.join(name));
        } else if path.is_file() {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The blocks of the tutorial that define a file and the lines to add to it.
fn registrations(tutorial: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    // Only lines below a file's name in the same block are added to it.
    let (mut inside, mut named) = (false, false);
    for line in tutorial.lines() {
        if line.starts_with("```") {
            (inside, named) = (line.starts_with("```rust"), false);
        } else if let Some(file) = line.strip_prefix("// crates/sim/src/schemes/").filter(|_| inside) {
            found.push((file.to_string(), Vec::new()));
            named = true;
        } else if let Some((_, lines)) = found.last_mut().filter(|_| named) {
            lines.push(line.to_string());
        }
    }
    found
}

#[test]
fn the_tutorial_says_where_the_files_go() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tutorial = std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap();
    let found = registrations(&tutorial);
    let files: Vec<&str> = found.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(files, ["victim/mod.rs", "collect/mod.rs"]);
    for scheme in ["resting", "blend"] {
        let text = std::fs::read_to_string(root.join(format!("crates/sim/examples/schemes/{scheme}.rs"))).unwrap();
        let body = text.split_once("\n\n").unwrap().1.trim();
        assert!(tutorial.contains(body), "the tutorial shows {scheme}.rs as it is");
    }
    if std::env::var_os("SSDLAB_TUTORIAL").is_none() {
        return;
    }
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let _ = std::fs::remove_dir_all(&directory);
    for part in ["crates", "presets", "workloads"] {
        copy(&root.join(part), &directory.join(part));
    }
    for file in ["Cargo.toml", "Cargo.lock", "README.md"] {
        std::fs::copy(root.join(file), directory.join(file)).unwrap();
    }
    let schemes = directory.join("crates/sim/src/schemes");
    std::fs::rename(directory.join("crates/sim/examples/schemes/resting.rs"), schemes.join("victim/resting.rs"))
        .unwrap();
    std::fs::rename(directory.join("crates/sim/examples/schemes/blend.rs"), schemes.join("collect/blend.rs")).unwrap();
    for (file, lines) in &found {
        // `mod x;`, `pub use x::X;`, `"x" => X(X),`
        let file = schemes.join(file);
        for line in lines.iter().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")) {
            let text = std::fs::read_to_string(&file).unwrap();
            let text = if line.trim().starts_with('"') {
                let at = text.find(" {\n        \"").unwrap() + 3;
                format!("{}        {}\n{}", &text[..at], line.trim(), &text[at..])
            } else {
                let at = text.find("\nmod ").unwrap() + 1;
                format!("{}{}\n{}", &text[..at], line.trim(), &text[at..])
            };
            std::fs::write(&file, text).unwrap();
        }
    }
    let run = Command::new(env!("CARGO"))
        .current_dir(&directory)
        .args(["run", "--offline", "-q", "-p", "ssdlab", "--", "run", "--workload", "quickstart", "--limit", "20000"])
        .args(["--set", "geometry.blocks_per_plane=32", "--set", "precondition.mode=random", "--check", "full"])
        .args(["--set", "schemes.victim={ resting = { rest = 4 } }", "--set", "schemes.collector=blend", "--quiet"])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(out.contains("victim resting, collector blend"), "{out}");
}
