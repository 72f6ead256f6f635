//! A folder that remembers runs by their keys. Records are deterministic, so two processes that run the same key write the same
//! bytes: nothing is locked, and any number of machines may share the folder.

use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::cost::Cost;
use crate::disk::{Disk, TEMPORARY};
use crate::key::{Mode, key};
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::clip;
use ssdlab_lab::output;
use ssdlab_lab::readers::table::data;
use ssdlab_lab::text::plural;
use ssdlab_lab::tree::json;

/// The schema of stores.
pub const SCHEMA: &str = "ssdlab.store/1";
/// The schema of records.
pub const RECORD: &str = "ssdlab.record/2";
/// The schema of records before 0.1.3, which have no checksum.
pub const UNCHECKED: &str = "ssdlab.run/1";
/// A process on another machine that has not touched its mark for so long is gone.
pub const SILENCE: Duration = Duration::from_secs(600);
/// Attempts at a point that timed out or needed too much memory.
pub const ATTEMPTS: u64 = 3;
/// How often the process of a point may be killed: the cause is mostly not the point, but a point that needs too much of a machine
/// has to end some time.
pub const KILLS: u64 = 10;

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    disk: Disk,
    /// Keys of records without a checksum that were read.
    unchecked: Arc<Mutex<BTreeSet<String>>>,
}

/// Whether a run gave a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has a summary.
    Done,
    /// Its configuration breaks a rule.
    Refused,
}

/// A record as it is written.
#[derive(Serialize)]
pub struct Record<'r, S: Serialize> {
    /// [`RECORD`].
    pub schema: &'static str,
    /// The version of the program.
    pub version: &'static str,
    /// The key.
    pub key: &'r str,
    /// The effective configuration.
    pub config: &'r ssdlab_sim::Config,
    /// The identity of the requests.
    pub input: &'r str,
    /// The seed.
    pub seed: u64,
    /// Whether it has time.
    pub mode: Mode,
    /// Whether it gave a result.
    pub status: Status,
    /// The rule that it breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'r str>,
    /// What happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<S>,
}

/// A record as it is read.
#[derive(Clone, Debug, Deserialize)]
pub struct Read<S> {
    schema: String,
    /// The version of the program that wrote it.
    pub version: String,
    key: String,
    /// The effective configuration, as it is written.
    pub config: Box<RawValue>,
    /// The identity of the requests.
    pub input: String,
    /// The seed.
    pub seed: u64,
    /// Whether it has time.
    pub mode: Mode,
    /// Whether it gave a result.
    pub status: Status,
    /// The rule that it breaks.
    pub rule: Option<String>,
    /// What happened.
    pub summary: Option<S>,
}

impl<S> Read<S> {
    /// Whether the content is that of its key.
    fn fits(&self, expected: &str) -> bool {
        let digest = blake3::hash(&compact(self.config.get())).to_hex().to_string();
        let whole = match self.status {
            Status::Done => self.summary.is_some(),
            Status::Refused => self.rule.is_some(),
        };
        let own = key(&self.version, &digest, &self.input, self.seed, self.mode);
        self.key == expected && own == expected && whole
    }
}

/// Whether the content of a record is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It has its checksum.
    Same,
    /// It is of a version without checksums.
    Unknown,
    /// It has another one.
    Differs,
}

/// Says that the content of some records could not be checked, if there are any.
pub fn unchecked_note(records: u64) -> Option<String> {
    let what = plural(records, "record");
    (records > 0)
        .then(|| format!("{what} without a checksum, from before 0.1.3: changes made there since cannot be seen"))
}

/// What stands before the checksum in the canonical text of a record, which is its last field.
const CHECKSUM: &str = ",\"checksum\":\"";

/// The checksum of a record: BLAKE3 over its canonical text, JSON without blanks between its values and without the checksum.
fn checksum(canonical: &[u8]) -> String {
    blake3::hash(canonical).to_hex().to_string()
}

/// A record with its checksum, as it is written.
pub fn sealed<S: Serialize>(record: &Record<'_, S>) -> String {
    let text = json(record);
    let open = text.trim_end().strip_suffix('}').map_or("", str::trim_end);
    format!("{open},\n  \"checksum\": \"{}\"\n}}\n", checksum(&compact(&text)))
}

/// Compares a record with its checksum.
pub fn check(schema: &str, text: &str) -> Checked {
    match schema {
        UNCHECKED => Checked::Unknown,
        RECORD => {
            let compact = compact(text);
            let at = compact.windows(CHECKSUM.len()).rposition(|window| window == CHECKSUM.as_bytes());
            let parts = at.map(|at| (&compact[..at], &compact[at + CHECKSUM.len()..]));
            let same = parts.is_some_and(|(content, own)| {
                let whole = [content, b"}"].concat();
                own.strip_suffix(b"\"}") == Some(checksum(&whole).as_bytes())
            });
            if same { Checked::Same } else { Checked::Differs }
        }
        _ => Checked::Differs,
    }
}

/// JSON without the blanks between its values, as the digest of a configuration has it.
fn compact(json: &str) -> Vec<u8> {
    let (mut within, mut escaped) = (false, false);
    let keep = |byte: &u8| {
        let kept = within || !byte.is_ascii_whitespace();
        within ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        kept
    };
    json.bytes().filter(keep).collect()
}

ssdlab_trace::words! {
    /// Why a run gave nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Failed {
        /// An invariant broke, or its trace can't be read.
        Failed = "failed",
        /// It took longer than the limit.
        Timeout = "timeout",
        /// Its device needs more memory than the limit.
        Memory = "memory",
        /// Its process was killed.
        Killed = "killed",
    }
}

/// A failure as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Why.
    pub status: Failed,
    /// The exit status that `ssdlab run` would have had.
    pub exit_status: u8,
    /// What was wrong.
    pub message: String,
    /// The command that repeats it.
    pub command: String,
    /// Attempts that ended so far: those of processes that were killed are not among them.
    pub attempts: u64,
    /// How often its process was killed.
    #[serde(default)]
    pub kills: u64,
}

impl Failure {
    /// Whether no further attempt is made unless one is asked for.
    pub fn for_good(&self) -> bool {
        self.status == Failed::Failed || self.attempts >= ATTEMPTS || self.kills >= KILLS
    }
}

/// A process that runs a point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// Its machine.
    pub host: String,
    /// Its number there.
    pub process: u32,
    /// When it started, as the system counts.
    pub started: u64,
    /// The attempt at the point.
    pub attempt: u64,
    /// How often a process of the point was killed before.
    #[serde(default)]
    pub kills: u64,
}

impl Mark {
    fn own(attempt: u64, kills: u64) -> Mark {
        Mark { host: host(), process: std::process::id(), started: started(std::process::id()), attempt, kills }
    }

    /// The mark in a file, and whether its process is alive; none if there is no such file.
    fn read(path: &Path) -> Option<(Mark, bool)> {
        path.symlink_metadata().ok()?;
        let bytes = files::read("mark", path, MOST_NOTE).unwrap_or_default();
        let Ok(mark) = serde_json::from_slice::<Mark>(&bytes) else {
            // An empty one: its process was killed between creating and writing it, or is doing so now. Before 0.1.3, claims were
            // the name of their machine.
            let none = Mark { host: String::new(), process: 0, started: 0, attempt: 1, kills: 0 };
            let patience = if bytes.is_empty() { Duration::from_secs(5) } else { SILENCE };
            return Some((none, silent_for(path) < patience));
        };
        let alive = match mark.host == host() && mark.started != 0 {
            true => started(mark.process) == mark.started,
            false => silent_for(path) < SILENCE,
        };
        Some((mark, alive))
    }
}

/// Limit on marks, failures and costs.
const MOST_NOTE: u64 = 1 << 20;

/// What a store has of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Has {
    /// A record.
    pub record: bool,
    /// Its cost.
    pub cost: bool,
    /// A failure.
    pub failure: bool,
    /// The mark of a process.
    pub mark: bool,
    /// A folder of further results.
    pub folder: bool,
}

impl Store {
    /// Opens a store, or makes one.
    ///
    /// # Errors
    /// The folder can't be written, or is something else.
    pub fn create(root: &Path, disk: Disk) -> Result<Store> {
        let store = Store { root: root.into(), disk, unchecked: Arc::default() };
        files::protect(root);
        if store.root.join("store.json").exists() {
            store.check()?;
        } else {
            store.disk.folder(root)?;
            let empty = std::fs::read_dir(root).map(|mut entries| {
                // A first attempt may have left its temporary file.
                entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with('.')))
            });
            if !empty.map_err(|error| Error::file("read", root, &error))? {
                let message = format!("{} is not empty and not a store", root.display());
                return Err(Error::usage(message).help("name a folder that does not exist, or one that a sweep made"));
            }
            store.disk.write(&store.root.join("store.json"), format!("{{\"schema\": \"{SCHEMA}\"}}\n").as_bytes())?;
            files::protect(root);
        }
        Ok(store)
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    /// There is none.
    pub fn open(root: &Path) -> Result<Store> {
        let store = Store { root: root.into(), disk: Disk::default(), unchecked: Arc::default() };
        files::protect(root);
        store.check()?;
        Ok(store)
    }

    fn check(&self) -> Result<()> {
        let path = self.root.join("store.json");
        let bytes = files::read("store", &path, MOST_NOTE)?;
        let schema =
            serde_json::from_slice::<Json>(&bytes).ok().and_then(|store| Some(store["schema"].as_str()?.to_string()));
        if schema.as_deref() == Some(SCHEMA) {
            return Ok(());
        }
        Err(data(&path, format!("its schema is not {SCHEMA}"))
            .help("use the version of ssdlab that made the store, or another folder"))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its files.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    fn file(&self, key: &str, ending: &str) -> PathBuf {
        self.root.join("runs").join(&key[..2]).join(format!("{key}{ending}"))
    }

    /// The folder of further results of a key.
    pub fn folder(&self, key: &str) -> PathBuf {
        self.file(key, ".d")
    }

    /// The folder of a study.
    pub fn study(&self, name: &str) -> PathBuf {
        self.root.join("studies").join(name)
    }

    /// What it has, by key.
    ///
    /// # Errors
    /// A folder can't be read.
    pub fn list(&self) -> Result<HashMap<String, Has>> {
        let mut all: HashMap<String, Has> = HashMap::new();
        for folder in entries(&self.root.join("runs"))? {
            for path in entries(&folder)? {
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                let Some((key, ending)) = name.split_once('.') else { continue };
                if key.len() != 64 {
                    continue;
                }
                let has = all.entry(key.into()).or_default();
                match ending {
                    "json" => has.record = true,
                    "perf.json" => has.cost = true,
                    "fail.json" => has.failure = true,
                    "run" => has.mark = true,
                    "d" => has.folder = true,
                    _ => {}
                }
            }
        }
        all.retain(|_, has| *has != Has::default());
        Ok(all)
    }

    /// Whether there is a record.
    pub fn has(&self, key: &str) -> bool {
        self.file(key, ".json").exists()
    }

    /// A record. One that does not parse, is not that of its key, or differs from its checksum is moved to `broken` and counted
    /// there, and so is what is no regular file or larger than any record.
    ///
    /// # Errors
    /// It can't be read or moved.
    pub fn read<S: for<'d> Deserialize<'d>>(&self, key: &str) -> Result<Option<Read<S>>> {
        let path = self.file(key, ".json");
        let text = match files::read_data("record", &path, files::MOST_BYTES) {
            Ok(text) => text,
            Err(error) => match error.kind {
                Kind::File { cause: ErrorKind::NotFound, .. } => return Ok(None),
                Kind::File { cause: ErrorKind::InvalidInput | ErrorKind::IsADirectory, .. } | Kind::Data { .. } => {
                    String::new()
                }
                _ => return Err(error),
            },
        };
        let read = serde_json::from_str::<Read<S>>(&text).ok().filter(|read| read.fits(key));
        match read.as_ref().map(|read| check(&read.schema, &text)) {
            Some(Checked::Same) => {}
            Some(Checked::Unknown) => {
                self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into());
            }
            Some(Checked::Differs) | None => {
                self.set_aside(&path, key)?;
                return Ok(None);
            }
        }
        Ok(read)
    }

    /// How many of the records that were read so far have no checksum.
    pub fn unchecked(&self) -> u64 {
        self.unchecked.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Whether there is a good record, without its summary.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn holds(&self, key: &str) -> Result<bool> {
        Ok(self.read::<IgnoredAny>(key)?.is_some())
    }

    /// The bytes of a record.
    ///
    /// # Errors
    /// They can't be read.
    pub fn bytes(&self, key: &str) -> Result<Vec<u8>> {
        let path = self.file(key, ".json");
        files::read("record", &path, files::MOST_BYTES)
    }

    fn set_aside(&self, path: &Path, key: &str) -> Result<()> {
        let broken = self.root.join("broken");
        self.disk.folder(&broken)?;
        let mut number = 1;
        let target = loop {
            let target = broken.join(format!("{key}.{number}.json"));
            if !target.exists() {
                break target;
            }
            number += 1;
        };
        // Perhaps another process was first.
        self.disk.rename(path, &target).map(drop)
    }

    /// Records that were set aside.
    pub fn broken(&self) -> u64 {
        std::fs::read_dir(self.root.join("broken")).map_or(0, |entries| entries.count() as u64)
    }

    /// Writes a record, after its cost; a failure of earlier attempts goes.
    ///
    /// # Errors
    /// One of them can't be written.
    pub fn put(&self, key: &str, record: &str, cost: Option<&Cost>) -> Result<()> {
        if let Some(cost) = cost {
            self.disk.write(&self.file(key, ".perf.json"), json(cost).as_bytes())?;
        }
        self.disk.write(&self.file(key, ".json"), record.as_bytes())?;
        self.disk.remove(&self.file(key, ".fail.json"))
    }

    /// The cost of a run, if it is known.
    pub fn cost(&self, key: &str) -> Option<Cost> {
        let bytes = files::read("cost", &self.file(key, ".perf.json"), MOST_NOTE).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The failure of a run, if there is one.
    pub fn failure(&self, key: &str) -> Option<Failure> {
        let bytes = files::read("failure", &self.file(key, ".fail.json"), MOST_NOTE).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a failure.
    ///
    /// # Errors
    /// It can't be written.
    pub fn fail(&self, key: &str, failure: &Failure) -> Result<()> {
        self.disk.write(&self.file(key, ".fail.json"), json(failure).as_bytes())
    }

    /// Forgets a failure.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn forgive(&self, key: &str) -> Result<()> {
        self.disk.remove(&self.file(key, ".fail.json"))
    }

    /// Removes everything of a key.
    ///
    /// # Errors
    /// A file can't be removed.
    pub fn forget(&self, key: &str) -> Result<()> {
        for ending in [".json", ".perf.json", ".fail.json", ".run"] {
            self.disk.remove(&self.file(key, ending))?;
        }
        self.disk.remove_folder(&self.folder(key))
    }

    /// Marks a run as running in this process.
    ///
    /// # Errors
    /// The mark can't be written.
    pub fn begin(&self, key: &str, attempt: u64, kills: u64) -> Result<Begun<'_>> {
        let path = self.file(key, ".run");
        // A mark that is left was looked at before.
        self.disk.remove(&path)?;
        self.disk.create(&path, &json(&Mark::own(attempt, kills)))?;
        Ok(Begun { store: self, kept: Some(output::Kept::new(&path)), path })
    }

    /// The mark of a process that runs a key: whether it still does.
    pub fn mark(&self, key: &str) -> Option<(Mark, bool)> {
        Mark::read(&self.file(key, ".run"))
    }

    /// A file in which this process notes the signal that ends it, if it gets to: see [`Store::ended_by`]. It goes with the process.
    ///
    /// # Errors
    /// It can't be created.
    pub fn note_of_end(&self) -> Result<(Begun<'_>, std::fs::File)> {
        let path = self.end_of(&Mark::own(0, 0));
        self.disk.remove(&path)?;
        self.disk.create(&path, "")?;
        let kept = output::Kept::new(&path);
        let file = std::fs::File::options().append(true).open(&path);
        let file = file.map_err(|error| Error::file("write", &path, &error))?;
        // One that no process holds is removed by `tidy`.
        output::lock(&file);
        Ok((Begun { store: self, kept: Some(kept), path }, file))
    }

    /// The number of the signal that a process noted before it ended: it crashed. None of one that was killed.
    pub fn ended_by(&self, mark: &Mark) -> Option<u8> {
        files::read("note of an end", &self.end_of(mark), MOST_NOTE).ok()?.first().copied()
    }

    fn end_of(&self, mark: &Mark) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let host: String = mark.host.chars().map(plain).collect();
        self.root.join("claims").join(format!("{TEMPORARY}end-{}-{}-{host}", mark.process, mark.started))
    }

    /// Removes the mark of a process that is gone.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn unmark(&self, key: &str) -> Result<()> {
        self.disk.remove(&self.file(key, ".run"))
    }

    /// Takes a unit of work for this process: none if another has it and is alive.
    ///
    /// # Errors
    /// The claim can't be written.
    pub fn claim(&self, key: &str) -> Result<Option<Begun<'_>>> {
        let path = self.root.join("claims").join(key);
        for _ in 0..2 {
            if self.disk.create(&path, &json(&Mark::own(0, 0)))? {
                return Ok(Some(Begun { store: self, kept: Some(output::Kept::new(&path)), path }));
            }
            if Mark::read(&path).is_some_and(|(_, alive)| alive) {
                return Ok(None);
            }
            // Of two processes that take it over, one succeeds in renaming it.
            let aside = self.root.join("claims").join(format!("{TEMPORARY}{key}-{}", std::process::id()));
            if !self.disk.rename(&path, &aside)? {
                return Ok(None);
            }
            self.disk.remove(&aside)?;
        }
        Ok(None)
    }

    /// Removes temporary files that no process holds; returns how many.
    ///
    /// # Errors
    /// A folder can't be read.
    pub fn tidy(&self, remove: bool) -> Result<u64> {
        let mut folders = vec![self.root.clone(), self.root.join("claims"), self.root.join("broken")];
        folders.extend(entries(&self.root.join("studies"))?);
        for folder in entries(&self.root.join("runs"))? {
            folders.extend(entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "d")));
            folders.push(folder);
        }
        let mut gone = 0;
        for folder in folders {
            for path in entries(&folder)? {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let ours = name.starts_with(TEMPORARY) || (name.starts_with(".ssdlab-") && name.ends_with(".part"));
                if !ours {
                    continue;
                }
                let free = std::fs::File::open(&path).is_ok_and(|file| output::lock(&file));
                if free {
                    gone += 1;
                    if remove {
                        self.disk.remove(&path)?;
                    }
                }
            }
        }
        Ok(gone)
    }
}

/// Something of a process that ends with it.
pub struct Begun<'s> {
    store: &'s Store,
    path: PathBuf,
    kept: Option<output::Kept>,
}

impl Begun<'_> {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Touches a mark.
pub fn beat(path: &Path) {
    // A mark that can't be touched is at worst taken over, which costs a second run.
    let _ = std::fs::File::options().write(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let _ = self.store.disk.remove(&self.path);
        self.kept.take();
    }
}

/// The entries of a folder, sorted; none if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let absent = |kind: &Kind| matches!(kind, Kind::File { cause: ErrorKind::NotFound | ErrorKind::NotADirectory, .. });
    files::entries(folder).or_else(|error| if absent(&error.kind) { Ok(Vec::new()) } else { Err(error) })
}

/// Time since a file was touched; the longest if it can't be told. Clocks of machines differ: a time in the future counts as one
/// equally long ago, so that a mark from the future does not live on until then.
fn silent_for(path: &Path) -> Duration {
    let touched = std::fs::symlink_metadata(path).and_then(|meta| meta.modified());
    let since = |touched| SystemTime::now().duration_since(touched).unwrap_or_else(|ahead| ahead.duration());
    touched.map_or(Duration::MAX, since)
}

/// The name of this machine.
pub fn host() -> String {
    #[cfg(unix)]
    return clip(&rustix::system::uname().nodename().to_string_lossy());
    #[cfg(not(unix))]
    return clip(&std::env::var("COMPUTERNAME").unwrap_or_default());
}

/// When a process of this machine started, in ticks since the machine did: two processes with one number differ in it. 0: there
/// is no such process, or the system does not tell.
fn started(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the command may contain anything, so fields are counted from its end.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
