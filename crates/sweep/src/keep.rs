//! What a store keeps of a study: its file, its points, and where its inputs are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::fleet::scan::Scans;
use crate::key::Hashes;
use crate::points::{Points, Run};
use crate::store::Store;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::output::Finished;
use ssdlab_lab::results::sheet::{Cell, CellKind, Sheet};
use ssdlab_lab::tree::json;

/// The file of hashes of a store.
pub fn hashes(store: &Path) -> PathBuf {
    store.join("hashes.json")
}

/// Hashes of inputs that a store remembers; none if they are to be computed again.
pub fn known(store: Option<&Path>, again: bool) -> Hashes {
    match store.filter(|_| !again) {
        Some(store) => Hashes::open(&hashes(store)),
        None => Hashes::default(),
    }
}

/// The ending of the table of points.
const POINTS: &str = if cfg!(feature = "parquet") { "points.parquet" } else { "points.csv" };

/// Keeps a study. Files that have their content already are left alone.
///
/// # Errors
/// The store can't be written.
pub fn keep(points: &Points, store: &Store, computed: &Hashes) -> Result<()> {
    let folder = store.study(&points.study.name);
    let disk = store.disk();
    disk.folder(&folder)?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        if same(&path, bytes) { Ok(()) } else { disk.write(&path, bytes) }
    };
    let files: BTreeMap<&String, PathBuf> = points
        .inputs
        .iter()
        .flat_map(|input| &input.source.1)
        .map(|(source, file)| (source, file.canonicalize().unwrap_or_else(|_| file.clone())))
        .collect();
    write("inputs.json", json(&files).as_bytes())?;
    table(points, &folder, disk)?;
    write("study.toml", points.study.text.text.as_bytes())?;
    policies(points, &folder, disk)?;
    if let Some(text) = points.study.scans.as_ref().and_then(|scans| scans.changed()) {
        disk.write(&Scans::path(store.root()), text.as_bytes())?;
    }
    match computed.changed() {
        Some(text) => disk.write(&hashes(store.root()), text.as_bytes()),
        None => Ok(()),
    }
}

/// The folder, beside a study, of the policies from outside that its runs have.
pub const POLICIES: &str = "policies";
/// The file there that lists them.
pub const POLICY_LIST: &str = "policies.json";

/// Keeps the policies from outside, the list last. A study that has none has no list; sources of earlier policies stay.
fn policies(points: &Points, folder: &Path, disk: &Disk) -> Result<()> {
    let folder = folder.join(POLICIES);
    let files = &points.study.policies.files;
    if files.is_empty() && folder.join(POLICY_LIST).exists() {
        return disk.remove(&folder.join(POLICY_LIST));
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        if !same(&path, bytes) {
            disk.folder(ssdlab_lab::files::directory(&path))?;
            disk.write(&path, bytes)?;
        }
    }
    Ok(())
}

/// Whether a file has these bytes. No more of it is read.
fn same(path: &Path, bytes: &[u8]) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64)
        && std::fs::read(path).is_ok_and(|old| old == bytes)
}

/// Axes and key of each run. Keys change with the program's version and with what inputs hold, while the study stays the same.
fn table(points: &Points, folder: &Path, disk: &Disk) -> Result<()> {
    let path = folder.join(POINTS);
    let table = listed(points, &points.runs(), &path)?;
    if table.content().and_then(|new| std::fs::read(new).ok()).is_some_and(|new| same(&path, &new)) {
        return Ok(());
    }
    disk.publish(table).map_err(|error: Error| error.note("the points of the study"))
}

/// Writes axes and key of some runs as a table, which is complete but not published.
///
/// # Errors
/// It can't be written.
pub fn listed(points: &Points, runs: &[Run], path: &Path) -> Result<Finished> {
    let mut columns: Vec<(&str, CellKind)> =
        vec![("point", CellKind::Number), ("seed", CellKind::Number), ("key", CellKind::Text)];
    columns.extend(points.study.axes.iter().map(|axis| (axis.label.as_str(), CellKind::Text)));
    let mut sheet = Sheet::create("points", path, &columns)?;
    for run in runs {
        let point = &points.points[run.point];
        let texts: Vec<String> = point.items.iter().map(|item| item.shown.text()).collect();
        let own = [Cell::Number(point.number), Cell::Number(run.seed), Cell::Text(&run.key)];
        sheet.row(own.into_iter().chain(texts.iter().map(|text| Cell::Text(text))))?;
    }
    Ok(sheet.finish()?.file())
}
