//! Fillings on disk: results do not depend on them, whatever became of their files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ssdlab_lab::drive::Device;
use ssdlab_lab::error::{Error, Kind};
use ssdlab_sim::{Check, Config};
use ssdlab_sweep::execute::{self, Options};
use ssdlab_sweep::fillings::Fillings;
use ssdlab_sweep::points::Points;
use ssdlab_sweep::store::Store;

use crate::sweeps::{create, one_job, points, tree};

/// Two fillings (the spare space changes them, the queue does not), each for two points and two seeds.
const STUDY: &str =
    "[axes]\n\"device.over_provisioning\" = [0.3, 0.4]\n\"device.queue_depth\" = [1, 8]\n[repeat]\nseeds = 2\n";

/// The records of a study, and how many of its runs filled a device themselves.
fn records(points: &Points, root: &Path, fillings: Option<&Fillings>) -> (Vec<Vec<u8>>, usize) {
    let store: Store = create(root);
    // Claimed units share fillings among few runs, so that several runs look for each file.
    let ended = execute::run(points, &store, &Options { fillings: fillings.cloned(), claim: true, ..one_job() }, &());
    assert_eq!(ended.unwrap_or_else(|error| panic!("{error}")).status.done, 8);
    let filled = points.runs().iter().filter(|run| store.cost(&run.key).unwrap().filled_pages > 0).count();
    (tree(&store).into_values().collect(), filled)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_sweep_with_fillings_on_disk_gives_the_same_bytes() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points(STUDY));
    let at = |name: &str| folder.path().join(name);
    let fillings = Fillings::open(&at("fillings"), Duration::ZERO).unwrap();
    let (plain, filled) = records(&points, &at("plain"), None);
    let (first, wrote) = records(&points, &at("first"), Some(&fillings));
    let (second, read) = records(&points, &at("second"), Some(&fillings));
    assert!(plain == first && plain == second, "results do not depend on the folder");
    assert!(filled >= 4 && wrote == 4, "{filled} and {wrote} fillings: two devices, two seeds");
    assert_eq!(read, 0, "all are read");
    assert_eq!(files(&at("fillings")).len(), 4);

    // What is filled fast is not kept.
    let slow = Fillings::open(&at("slow"), Fillings::LEAST).unwrap();
    records(&points, &at("third"), Some(&slow));
    assert!(files(&at("slow")).is_empty());
}

/// A device from a folder, and whether it was filled.
fn device(fillings: &Fillings, config: &Config, seed: u64, check: Check) -> (Vec<u8>, bool) {
    let mut filled = false;
    let refuse = |error: ssdlab_sim::ConfigError| -> Error { panic!("{error}") };
    let go_on = &mut || std::ops::ControlFlow::Continue(());
    let device = fillings.device(config, (seed, check), go_on, refuse, |_| {
        filled = true;
        Ok(Device::new(config, seed, check).unwrap())
    });
    let mut bytes = Vec::new();
    device.unwrap_or_else(|error| panic!("{error}")).ssd.write_filling(&mut bytes).unwrap();
    (bytes, filled)
}

#[test]
fn a_damaged_file_is_made_again() {
    let (folder, points) = (tempfile::tempdir().unwrap(), points(STUDY));
    let fillings = Fillings::open(folder.path(), Duration::ZERO).unwrap();
    let config = &points.points[0].config;
    let (state, filled) = device(&fillings, config, 1, Check::Sampled);
    assert!(filled);
    let file = files(folder.path()).remove(0);
    let good = std::fs::read(&file).unwrap();
    let mut damaged: Vec<(String, Vec<u8>)> = Vec::new();
    let (head, key, frame, end) = (3, 40, 90, good.len());
    for at in [head, key, frame, frame + 9, (frame + end) / 2, end - 40, end - 32, end - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        damaged.push((format!("byte {at} differs"), bytes));
    }
    damaged.extend(
        [0, 10, 60, frame, end / 2, end - 1].map(|len| (format!("{len} bytes are left"), good[..len].to_vec())),
    );
    damaged.push(("a byte more".into(), [&good[..], &[0]].concat()));
    for (what, bytes) in damaged {
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(device(&fillings, config, 1, Check::Sampled), (state.clone(), true), "{what}");
        assert_eq!(std::fs::read(&file).unwrap(), good, "{what}: the file is made again");
        assert_eq!(device(&fillings, config, 1, Check::Sampled), (state.clone(), false), "{what}");
    }

    // A stop while a file is read is a stop, and the file stays.
    let refuse = |error: ssdlab_sim::ConfigError| -> Error { panic!("{error}") };
    let stop = &mut || std::ops::ControlFlow::Break(());
    let stopped = fillings.device(config, (1, Check::Sampled), stop, refuse, |_| panic!("it has a file"));
    assert_eq!(stopped.err().map(|error| error.kind), Some(Kind::Stopped));
    assert_eq!(std::fs::read(&file).unwrap(), good);

    // Another seed, level of checks or device has a file of its own; one under the name of another is not believed.
    let other = &points.points[2].config;
    for (config, seed, check) in [(config, 2, Check::Sampled), (config, 1, Check::Full), (other, 1, Check::Sampled)] {
        let before = files(folder.path());
        let (own, filled) = device(&fillings, config, seed, check);
        assert!(filled);
        let new = files(folder.path()).into_iter().find(|path| !before.contains(path)).unwrap();
        std::fs::copy(&file, &new).unwrap();
        assert_eq!(device(&fillings, config, seed, check), (own, true));
    }
    assert_eq!(files(folder.path()).len(), 4);
}
