//! A run as a text that another process can take.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use ssdlab_sim::Check;

use crate::attempt::attempt;
use crate::fillings::Fillings;
use crate::job::{End, Follow, Job, Terms};
use crate::key::{self, Mode};
use crate::points::VERSION;
use crate::store::Store;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::settings::{Settings, Sources};

/// A run as JSON of less than 4 KiB.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its key.
    pub key: String,
    /// `KEY=VALUE` for every key that differs from its default.
    pub set: Vec<String>,
    /// The identity of its requests.
    pub input: String,
    /// The files that they are read from, by source.
    pub files: BTreeMap<String, PathBuf>,
    /// Its seed.
    pub seed: u64,
    /// Whether it has time.
    pub mode: Mode,
    /// How much the oracle checks: `off`, `sampled` or `full`.
    pub check: String,
    /// Limit of its wall time, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// Limit of its memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The folder of fillings on disk.
    pub fill_cache: Option<PathBuf>,
}

impl Task {
    /// From a job and the files of its requests, each with the source that it is.
    pub fn of(job: &Job<'_>, files: &[(String, PathBuf)], terms: &Terms) -> Task {
        let files = files.iter();
        let files = files.map(|(source, path)| (source.clone(), path.canonicalize().unwrap_or_else(|_| path.clone())));
        Task {
            key: job.key.into(),
            set: Settings::of(job.config.clone()).arguments(),
            input: job.input.into(),
            files: files.collect(),
            seed: job.seed,
            mode: job.mode,
            check: format!("{:?}", terms.check).to_lowercase(),
            wall_ns: terms.wall_ns,
            memory_bytes: terms.memory_bytes,
            fill_cache: terms.fillings.as_ref().map(|fillings| fillings.folder().to_path_buf()),
        }
    }

    /// Runs it in this process. With a store, its record is kept there; a run that the store has is not made again.
    ///
    /// # Errors
    /// The text is not a task of this version, its input has changed, or the store can't be written.
    pub fn perform(&self, store: Option<&Store>, follow: &mut dyn Follow) -> Result<End> {
        self.with(|job, terms| match store {
            None => job.perform(terms, None, None, 1, follow),
            Some(store) => attempt(job, terms, store, None, follow),
        })
    }

    /// The command that repeats it.
    ///
    /// # Errors
    /// As [`Task::perform`].
    pub fn command(&self) -> Result<String> {
        self.with(|job, terms| Ok(job.command(terms.check)))
    }

    fn with<T>(&self, then: impl FnOnce(&Job<'_>, &Terms) -> Result<T>) -> Result<T> {
        let settings = Settings::merge(&Sources { sets: self.set.clone(), ..Sources::default() })?;
        let config = &settings.config;
        let broken = config.check().and_then(|()| config.check_mode(self.mode == Mode::Count)).err();
        let refused = broken.map(|error| format!("{}: {}", error.key, error.message));
        let requests = key::requests(&self.input, &|source| self.files.get(source).cloned())?;
        // Workers of a pool make many runs of one trace.
        static HASHES: LazyLock<key::Hashes> = LazyLock::new(key::Hashes::default);
        let (source, _) = HASHES.source(&requests.from)?;
        let input = key::identity(&source, &requests);
        let own = key::key(VERSION, &settings.digest(), &input, self.seed, self.mode);
        if own != self.key {
            let version = format!("ssdlab {VERSION} runs the task");
            return Err(Error::usage(
                "the task is not that of its key: its input has changed, or another version made it",
            )
            .note(version)
            .help("use one version of ssdlab on all workers, and one copy of each trace"));
        }
        let check = match self.check.as_str() {
            "off" => Check::Off,
            "full" => Check::Full,
            _ => Check::Sampled,
        };
        let memory = ssdlab_lab::theory::Outlook::new(&settings.config, check == Check::Full).memory.total();
        let job = Job {
            key: &self.key,
            config: &settings.config,
            refused: refused.as_deref(),
            requests: &requests,
            input: &input,
            seed: self.seed,
            mode: self.mode,
            memory_bytes: if refused.is_some() { 0 } else { memory },
        };
        let fillings = self.fill_cache.as_deref().map(|folder| Fillings::open(folder, Fillings::LEAST)).transpose()?;
        let (wall_ns, memory_bytes) = (self.wall_ns, self.memory_bytes);
        then(&job, &Terms { check, wall_ns, memory_bytes, keep: Vec::new(), fillings })
    }
}
