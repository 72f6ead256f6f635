//! `ssdlab bundle` from one end to the other.

use std::path::Path;
use std::process::{Command, Output};

const STUDY: &str = r#"schema = "ssdlab.study/1"
name = "small"
[base]
set = { "precondition.mode" = "random", "geometry.blocks_per_plane" = 16, "geometry.channels" = 1, "device.over_provisioning" = 0.2 }
[input]
workload = "quickstart"
limit = 2000
[axes]
"schemes.victim" = ["greedy", "fifo", "random"]
"#;

fn ssdlab(folder: &Path, line: &str) -> Output {
    let words = line.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(words).current_dir(folder).output().unwrap()
}

fn ends(folder: &Path, line: &str, status: i32) -> String {
    let done = ssdlab(folder, line);
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(status), "{line}: {said}");
    said
}

fn value(said: &str, label: &str) -> String {
    let line = said.lines().find_map(|line| line.strip_prefix(label)).unwrap();
    line.trim().to_string()
}

#[test]
fn a_bundle_is_made_shipped_verified_and_extracted() {
    let lab = tempfile::tempdir().unwrap();
    std::fs::write(lab.path().join("study.toml"), STUDY).unwrap();
    ends(lab.path(), "sweep run study.toml --store results --quiet", 0);
    let made = ends(lab.path(), "bundle make study.toml --store results -o paper.ssdlab.tar.zst --author Doe", 0);
    let digest = value(&made, "SHA-256");
    // Nothing but the file goes to the reviewer.
    let reviewer = tempfile::tempdir().unwrap();
    let bundle = reviewer.path().join("paper.ssdlab.tar.zst");
    std::fs::rename(lab.path().join("paper.ssdlab.tar.zst"), &bundle).unwrap();
    drop(lab);
    let run = |line: &str, status: i32| ends(reviewer.path(), &format!("bundle {line}"), status);
    let said = run(&format!("verify paper.ssdlab.tar.zst --points all --digest {digest}"), 0);
    assert!(said.contains("3 points of 3; 3 have the bytes of their records"), "{said}");
    assert_eq!(value(&said, "verdict"), "pass");
    let said = run(&format!("verify paper.ssdlab.tar.zst --digest {}", "0".repeat(64)), 3);
    assert!(said.contains(&digest), "{said}");
    let said = run("verify paper.ssdlab.tar.zst --points 2 --seed 7 --json - --quiet", 0);
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["schema"], "ssdlab.verified/1");
    assert_eq!(found["points"].as_array().unwrap().len(), 2);
    assert_eq!(value(&run("show paper.ssdlab.tar.zst --files", 0), "SHA-256"), digest);
    let manifest = run("show paper.ssdlab.tar.zst --json -", 0);
    run("show paper.ssdlab.tar.zst --json paper.ssdlab.tar.zst", 2);
    run("verify paper.ssdlab.tar.zst --json ./paper.ssdlab.tar.zst", 2);
    let said = run("extract paper.ssdlab.tar.zst", 0);
    assert!(said.contains("into paper"), "{said}");
    assert_eq!(std::fs::read_to_string(reviewer.path().join("paper/manifest.json")).unwrap(), manifest);
    let said = run("extract paper.ssdlab.tar.zst", 2);
    assert!(said.contains("paper is there already and not empty"), "{said}");
    run("extract paper.ssdlab.tar.zst --into too-large --max-size 1KiB", 3);
    assert!(!reviewer.path().join("too-large").exists());
    // The store inside is a store.
    let said = ends(&reviewer.path().join("paper"), "sweep plan study/study.toml --store store", 0);
    assert_eq!(value(&said, "in the store"), "3");
    ends(&reviewer.path().join("paper"), "plot sweep-lines store -o again.csv", 0);
    let figure = |name: &str| std::fs::read_to_string(reviewer.path().join("paper").join(name)).unwrap();
    assert_eq!(figure("again.csv"), figure("figures/1-sweep-lines.csv"));
    // One bit.
    let mut bytes = std::fs::read(&bundle).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&bundle, bytes).unwrap();
    for line in ["verify", "show", "extract --into other"] {
        let said = run(&format!("{line} paper.ssdlab.tar.zst"), 3);
        assert!(said.contains("paper.ssdlab.tar.zst: the file has changed since it was made"), "{said}");
    }
    let names = std::fs::read_dir(reviewer.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["paper", "paper.ssdlab.tar.zst"], "nothing else is left");
}

/// Nothing is written over what is read, and nothing is left of a bundle that is not made.
#[test]
fn a_bundle_replaces_no_input() {
    let lab = tempfile::tempdir().unwrap();
    std::fs::write(lab.path().join("study.toml"), STUDY).unwrap();
    ends(lab.path(), "sweep run study.toml --store results --quiet", 0);
    for (output, says) in [
        ("study.toml", "would replace what the study reads"),
        ("results/store.json", "would replace"),
        ("results", "it is a directory"),
        ("nowhere/b", "no such file"),
    ] {
        let status = if says.contains("replace") { 2 } else { 4 };
        let said = ends(lab.path(), &format!("bundle make study.toml --store results -o {output}"), status);
        assert!(said.contains(says), "{output}: {said}");
    }
    assert_eq!(std::fs::read_to_string(lab.path().join("study.toml")).unwrap(), STUDY);
    let mut names: Vec<_> = std::fs::read_dir(lab.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["results", "study.toml"]);
    ends(lab.path(), "sweep status study.toml --store results", 0);
}
