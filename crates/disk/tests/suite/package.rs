//! The four published crates are packages: nothing outside them is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

const PUBLISHED: [&str; 4] = ["memory", "sim", "trace", "disk"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(arguments: &[&str]) -> String {
    let packages = PUBLISHED.map(|name| format!("--package=ssdlab-{name}"));
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["package", "--locked", "--offline", "--allow-dirty"]).args(packages);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let output = command.arg("--target-dir").arg(folder).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo package {arguments:?}: {said}");
    said
}

/// Each can be packed: `cargo package` refuses dependencies without a version. With `SSDLAB_LONG` each is also built from its package alone.
#[test]
fn published_crates_are_whole() {
    let said = if std::env::var_os("SSDLAB_LONG").is_some() { cargo(&[]) } else { cargo(&["--no-verify"]) };
    for name in PUBLISHED {
        assert!(said.contains(&format!("Packaging ssdlab-{name} ")), "{said}");
        let manifest = std::fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        for key in ["description", "license.workspace", "readme", "documentation", "keywords", "categories", "include"]
        {
            assert!(manifest.lines().any(|line| line.starts_with(key)), "{name} has no {key}");
        }
        assert!(manifest.contains("[package.metadata.docs.rs]"), "{name}");
    }
    assert!(!said.contains("manifest has no"), "{said}");
}

/// A dependency is found by the version that its crate has.
#[test]
fn published_crates_name_the_version_of_today() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for name in PUBLISHED {
        let line =
            format!("ssdlab-{name} = {{ path = \"crates/{name}\", version = \"{}\" }}", env!("CARGO_PKG_VERSION"));
        assert!(manifest.contains(&line), "the workspace's Cargo.toml says {line}");
    }
}
