//! A study, its store and its bundle.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ssdlab_bundle::make::{Made, Plan, make};
use ssdlab_lab::error::Result;
use ssdlab_sim::Check;
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{Options, run};
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::points::Points;
use ssdlab_sweep::store::Store;
use ssdlab_sweep::study::Study;
use tempfile::TempDir;

/// Two points and two seeds, small.
pub const SMALL: &str = r#"schema = "ssdlab.study/1"
name = "small"
[base]
set = { "precondition.mode" = "random", "geometry.blocks_per_plane" = 16, "geometry.channels" = 1, "device.over_provisioning" = 0.2 }
[input]
workload = "quickstart"
limit = 2000
[axes]
"schemes.victim" = ["greedy", "fifo"]
[repeat]
seeds = 2
"#;

/// A folder with a study and the store of its runs.
pub struct Lab {
    pub folder: TempDir,
    pub study: PathBuf,
}

impl Lab {
    /// Writes a study; nothing is run.
    pub fn new(at: &str, study: &str) -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, study).unwrap();
        Lab { folder, study: path }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs the study.
    pub fn run(self) -> Lab {
        let points = Points::of(Study::open(&self.study).unwrap(), &Hashes::default(), Check::Sampled).unwrap();
        let store = Store::create(&self.path("store"), Disk::default()).unwrap();
        let ended = run(&points, &store, &Options::default(), &()).unwrap();
        assert_eq!(ended.status.left + ended.status.failed, 0);
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn bundle(&self) -> PathBuf {
        self.path("paper.ssdlab.tar.zst")
    }

    pub fn plan(&self) -> Plan {
        Plan { study: self.study.clone(), store: self.path("store"), ..Plan::default() }
    }

    pub fn make(&self, plan: &Plan) -> Result<Made> {
        make(plan, &self.bundle())
    }
}

/// The bytes of the bundle of [`SMALL`].
pub fn small() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let lab = Lab::new("study.toml", SMALL).run();
        lab.make(&lab.plan()).unwrap();
        std::fs::read(lab.bundle()).unwrap()
    })
}

/// Files below a folder, in order.
pub fn below(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => all.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_string()),
            }
        }
    }
    all.sort();
    all
}
