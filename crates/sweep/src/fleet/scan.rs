//! What the volumes of a trace touch. Each trace is read once for it; a store remembers what was found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use ssdlab_trace::{Op, Pages, Reader};

use crate::key::stamp;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::input::Reading;

/// Bytes of a page in which volumes are measured that have no device yet.
pub const PAGE_BYTES: u64 = 4096;

/// A volume of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// Its label; none if the trace names no volumes.
    pub label: Option<String>,
    /// Reads, writes and trims.
    pub requests: u64,
    /// The highest end of a read or write.
    pub end_bytes: u64,
    /// Distinct pages read or written.
    pub pages: u64,
}

/// How traces are looked at.
#[derive(Clone, Debug)]
pub struct Look {
    /// How they are read.
    pub reading: Reading,
    /// Only so many requests of each volume.
    pub limit: Option<u64>,
}

/// What is known of traces, by file, options and page size. A file that changes is read again.
#[derive(Debug, Default)]
pub struct Scans {
    known: Mutex<(BTreeMap<String, Vec<Scanned>>, bool)>,
}

impl Scans {
    /// The file of a store.
    pub fn path(store: &Path) -> PathBuf {
        store.join("footprints.json")
    }

    /// What a store remembers; nothing if traces are to be read again.
    pub fn open(store: Option<&Path>, again: bool) -> Scans {
        let read = |store: &Path| files::read("file of footprints", &Scans::path(store), files::MOST_BYTES).ok();
        let known = store.filter(|_| !again).and_then(read);
        let known = known.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Scans { known: Mutex::new((known, false)) }
    }

    fn known(&self) -> MutexGuard<'_, (BTreeMap<String, Vec<Scanned>>, bool)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of the file of a store, if there is anything new.
    pub fn changed(&self) -> Option<String> {
        let known = self.known();
        known.1.then(|| ssdlab_lab::tree::json(&known.0))
    }

    /// The volumes of a trace, in the order of their first requests, with footprints in pages of `page_bytes`.
    ///
    /// # Errors
    /// It can't be read.
    pub fn volumes(&self, path: &Path, look: &Look, page_bytes: u64) -> Result<Vec<Scanned>> {
        let cannot = |error: std::io::Error| Error::file("read the trace", path, &error);
        files::regular("trace", path)?;
        let place = path.canonicalize().map_err(cannot)?;
        let stamp = stamp(&place.metadata().map_err(cannot)?);
        let of = format!("{}\n{stamp:?}\n{look:?}\n{page_bytes}", place.display());
        let key = blake3::hash(of.as_bytes()).to_hex().to_string();
        if let Some(found) = self.known().0.get(&key) {
            files::opening(path)?;
            return Ok(found.clone());
        }
        let found = scan(path, look, page_bytes)?;
        let mut known = self.known();
        known.0.insert(key, found.clone());
        known.1 = true;
        Ok(found)
    }
}

fn scan(path: &Path, look: &Look, page_bytes: u64) -> Result<Vec<Scanned>> {
    let mut reader = Reader::open(path, &look.reading.options()?)?;
    let mut volumes: Vec<(Scanned, Pages)> = Vec::new();
    while let Some(record) = reader.next()? {
        let at = record.volume as usize;
        while volumes.len() <= at {
            let label = reader.volumes().get(volumes.len()).map(|label| String::from_utf8_lossy(label).into_owned());
            volumes.push((Scanned { label, requests: 0, end_bytes: 0, pages: 0 }, Pages::default()));
        }
        let (volume, pages) = &mut volumes[at];
        if look.limit.is_some_and(|limit| volume.requests >= limit) || matches!(record.op, Op::Flush | Op::Other) {
            continue;
        }
        volume.requests += 1;
        if record.bytes > 0 && record.op != Op::Trim {
            let end = record.offset.saturating_add(record.bytes);
            volume.end_bytes = volume.end_bytes.max(end);
            pages.insert(0, record.offset / page_bytes, (end - 1) / page_bytes);
        }
    }
    Ok(volumes.into_iter().map(|(volume, pages)| Scanned { pages: pages.count(), ..volume }).collect())
}
