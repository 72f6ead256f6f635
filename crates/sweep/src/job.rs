//! One run of a sweep: what it is, and how it ends.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use ssdlab_sim::config::Config;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, ConfigError};

use crate::cost::{Cost, filled_pages, machine};
use crate::fillings::Fillings;
use crate::key::Mode;
use crate::points::{VERSION, collector};
use crate::store::{Failed, RECORD, Record, Status, host, now_s, sealed};
use ssdlab_lab::drive::{Device, Tick, interrupted};
use ssdlab_lab::error::{Class, Error, Kind, Result};
use ssdlab_lab::input::Requests;
use ssdlab_lab::perf::{Moment, peak_rss, thread_cpu};
use ssdlab_lab::results::histograms::BucketRows;
use ssdlab_lab::results::requests::{RequestRows, SlowestRows};
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::run::{self, How, Outputs};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::variants::points::Filling;

/// What is kept of a run beside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// One row per request.
    Requests,
    /// One row per second of simulated time.
    Series,
    /// Latencies and waits by bucket.
    Histograms,
    /// The slowest requests.
    Slowest,
}

/// The ending of tables that are kept.
const TABLE: &str = if cfg!(feature = "parquet") { "parquet" } else { "csv" };

impl Keep {
    /// The name of its file.
    pub fn file(self) -> String {
        let name = match self {
            Keep::Requests => "requests",
            Keep::Series => "series",
            Keep::Histograms => "histograms",
            Keep::Slowest => "slowest",
        };
        format!("{name}.{TABLE}")
    }
}

/// Window of a series that is kept.
const WINDOW: Nanos = Nanos(1_000_000_000);

/// A run that is ready.
pub struct Job<'j> {
    /// Its key.
    pub key: &'j str,
    /// Its configuration.
    pub config: &'j Config,
    /// The rule that it breaks.
    pub refused: Option<&'j str>,
    /// Its requests.
    pub requests: &'j Requests,
    /// Their identity.
    pub input: &'j str,
    /// Its seed.
    pub seed: u64,
    /// Whether it has time.
    pub mode: Mode,
    /// Bytes that its device needs.
    pub memory_bytes: u64,
}

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How much the oracle checks.
    pub check: Check,
    /// Limit of the wall time of a run, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// Limit of the memory of a run, in bytes.
    pub memory_bytes: Option<u64>,
    /// What is kept.
    pub keep: Vec<Keep>,
    /// Where fillings are kept.
    pub fillings: Option<Fillings>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With a record.
    Record {
        /// Its bytes.
        record: String,
        /// Its cost; none of a run that was refused.
        cost: Option<Box<Cost>>,
        /// Whether it was refused.
        status: Status,
    },
    /// Without.
    Failure {
        /// Why.
        status: Failed,
        /// The exit status that `ssdlab run` would have had.
        exit_status: u8,
        /// What was wrong.
        message: String,
    },
    /// The caller stopped it.
    Stopped,
}

/// Asks whether to go on, and sees the progress of a run.
pub trait Follow {
    /// Asked every few hundred microseconds; `Break` stops the run.
    fn go_on(&mut self) -> ControlFlow<()>;
    /// After some requests.
    fn at(&mut self, _tick: Tick) {}
}

impl<F: FnMut() -> ControlFlow<()>> Follow for F {
    fn go_on(&mut self) -> ControlFlow<()> {
        self()
    }
}

/// Progress of a run, with its limit of time.
struct Watched<'w> {
    follow: &'w mut dyn Follow,
    until: Option<Instant>,
    late: bool,
}

impl run::Progress for Watched<'_> {
    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        self.follow.at(tick);
        ControlFlow::Continue(())
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.late |= self.until.is_some_and(|until| Instant::now() >= until);
        if self.late { ControlFlow::Break(()) } else { self.follow.go_on() }
    }
}

impl Job<'_> {
    /// The command that repeats it.
    pub fn command(&self, check: Check) -> String {
        let settings = Settings::of(self.config.clone());
        let how = How { seed: self.seed, check, count_only: self.mode == Mode::Count, memory_limit: None };
        let words: Vec<String> =
            run::arguments(&settings, self.requests, how).iter().map(|word| quoted(word)).collect();
        format!("ssdlab {}", words.join(" "))
    }

    fn record<S: Serialize>(&self, status: Status, summary: Option<S>) -> String {
        sealed(&Record {
            schema: RECORD,
            version: VERSION,
            key: self.key,
            config: self.config,
            input: self.input,
            seed: self.seed,
            mode: self.mode,
            status,
            rule: self.refused,
            summary,
        })
    }

    /// Runs it. Files that are kept go to `folder`, which exists.
    ///
    /// # Errors
    /// A file of the results can't be written: [`Class::File`]. Everything else is an [`End`].
    pub fn perform(
        &self,
        terms: &Terms,
        filling: Option<&Filling>,
        folder: Option<&Path>,
        attempt: u64,
        follow: &mut dyn Follow,
    ) -> Result<End> {
        if self.refused.is_some() {
            let (record, status) = (self.record(Status::Refused, None::<()>), Status::Refused);
            return Ok(End::Record { record, cost: None, status });
        }
        if let Some(limit) = terms.memory_bytes.filter(|limit| self.memory_bytes > *limit) {
            if let Some(filling) = filling {
                filling.skip();
            }
            let message = format!(
                "the device needs about {} of memory, more than the limit of {}",
                ssdlab_lab::text::size(self.memory_bytes),
                ssdlab_lab::text::size(limit)
            );
            return Ok(End::Failure { status: Failed::Memory, exit_status: 2, message });
        }
        let (from, cpu, started_at) = (Instant::now(), thread_cpu(), now_s());
        let until = terms.wall_ns.map(|ns| from + Duration::from_nanos(ns));
        let mut watched = Watched { follow, until, late: false };
        let (mut fill_cpu, mut filled) = (Duration::ZERO, 0);
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.simulate(terms, filling, folder, &mut watched, &mut fill_cpu, &mut filled)
        }));
        let late = watched.late;
        match done {
            Ok(Ok(outcome)) => {
                let spent = Spent {
                    wall: from.elapsed(),
                    cpu: thread_cpu().saturating_sub(cpu),
                    fill_cpu,
                    filled_pages: filled,
                    started_at,
                    attempt,
                };
                let cost = self.cost(&outcome.summary, &spent);
                let record = self.record(Status::Done, Some(&outcome.summary));
                Ok(End::Record { record, cost: Some(Box::new(cost)), status: Status::Done })
            }
            Ok(Err(error)) => failure(error, terms, folder, late),
            Err(panic) => {
                let said = panic.downcast_ref::<&str>().copied();
                let said = said.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
                let message = format!("invariant failed: {said}");
                Ok(End::Failure { status: Failed::Failed, exit_status: 5, message })
            }
        }
    }

    fn cost(&self, summary: &Summary, spent: &Spent) -> Cost {
        let requests = &summary.requests;
        let served = (requests.read + requests.write).max(1);
        Cost {
            wall_s: spent.wall.as_secs_f64(),
            cpu_s: spent.cpu.as_secs_f64(),
            fill_cpu_s: spent.fill_cpu.as_secs_f64(),
            peak_rss_bytes: peak_rss(),
            filled_pages: spent.filled_pages,
            requests: requests.read + requests.write + requests.trim + requests.warmup,
            read_tenths: (requests.read * 10 + served / 2) / served,
            collector: collector(self.config),
            host: host(),
            machine: this_machine().into(),
            started_at: spent.started_at,
            attempt: spent.attempt,
            job: job(),
        }
    }

    fn simulate(
        &self,
        terms: &Terms,
        filling: Option<&Filling>,
        folder: Option<&Path>,
        watched: &mut Watched<'_>,
        fill_cpu: &mut Duration,
        filled: &mut u64,
    ) -> Result<ssdlab_lab::outcome::Outcome> {
        let mut config = self.config.clone();
        self.requests.place_on(&mut config);
        let config = &config;
        let how = How {
            seed: self.seed,
            check: terms.check,
            count_only: self.mode == Mode::Count,
            memory_limit: Some(u64::MAX),
        };
        let mut outputs = Outputs::default();
        if let Some(folder) = folder.filter(|_| !terms.keep.is_empty()) {
            for keep in &terms.keep {
                let place = Place::File(folder.join(keep.file()));
                outputs = match keep {
                    Keep::Requests => outputs.with(RequestRows(place)),
                    Keep::Series => outputs.with(WindowRows { place, window: WINDOW }),
                    Keep::Histograms => outputs.with(BucketRows(place)),
                    Keep::Slowest => outputs.with(SlowestRows(place)),
                };
            }
        }
        let refuse = |error: ConfigError| Error::config(&*error.key, format!("{}: {}", error.key, error.message));
        let mut build = |go_on: &mut dyn FnMut() -> ControlFlow<()>| {
            let mut new = |go_on: &mut dyn FnMut() -> ControlFlow<()>| {
                *filled = filled_pages(config);
                Device::new_while(config, self.seed, terms.check, go_on).map_err(refuse)?.ok_or_else(interrupted)
            };
            let fill = || {
                let before = thread_cpu();
                // A device that is not filled needs no file.
                let device = match terms.fillings.as_ref().filter(|_| filled_pages(config) > 0) {
                    None => new(go_on),
                    Some(kept) => kept.device(config, (self.seed, terms.check), go_on, refuse, new),
                };
                *fill_cpu = thread_cpu().saturating_sub(before);
                device
            };
            match filling {
                None => fill(),
                Some(filling) => filling.device(config, fill, refuse),
            }
        };
        let ready = run::Run::new(Settings::of(config.clone()), how, Moment::now())?.open(self.requests)?;
        let mut done = ready.simulate_on(&mut build, &outputs, watched)?;
        done.publish()?;
        Ok(done.outcome)
    }
}

struct Spent {
    wall: Duration,
    cpu: Duration,
    fill_cpu: Duration,
    filled_pages: u64,
    /// Seconds since 1970.
    started_at: u64,
    attempt: u64,
}

/// How a run ended that gave an error: files of the store and of fillings that can't be written stop the sweep.
fn failure(error: Error, terms: &Terms, folder: Option<&Path>, late: bool) -> Result<End> {
    let folders = folder.into_iter().chain(terms.fillings.iter().map(Fillings::folder));
    let own = |path: &Path| folders.clone().any(|folder| path.starts_with(folder));
    let failure = |status: Failed, exit_status: u8, message: String| Ok(End::Failure { status, exit_status, message });
    match (&error.kind, error.class()) {
        (Kind::Stopped, _) if late => {
            let limit = humantime::format_duration(Duration::from_nanos(terms.wall_ns.unwrap_or(0)));
            failure(Failed::Timeout, 75, format!("longer than the limit of {limit}"))
        }
        (Kind::Stopped, _) => Ok(End::Stopped),
        (Kind::Memory { .. }, _) => failure(Failed::Memory, 2, error.message),
        (Kind::File { path, .. }, _) if own(path) => Err(error),
        (_, Class::Usage) => failure(Failed::Failed, 2, error.to_string()),
        (_, Class::Trace) => failure(Failed::Failed, 3, error.to_string()),
        (_, Class::File) => failure(Failed::Failed, 4, error.to_string()),
        _ => failure(Failed::Failed, 5, error.to_string()),
    }
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(fine) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The type of this machine, looked up once.
pub fn this_machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(machine)
}

/// The job of a scheduler that this process belongs to.
fn job() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let (Some(job), Some(task)) = (set("SLURM_ARRAY_JOB_ID"), set("SLURM_ARRAY_TASK_ID")) {
        return Some(format!("{job}_{task}"));
    }
    ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "AWS_BATCH_JOB_ID", "JOB_ID"].iter().find_map(|name| set(name))
}
