//! `ssdlab sweep`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ssdlab_sim::Check;
use ssdlab_sweep::execute::Retry;
use ssdlab_sweep::job::Keep;
use ssdlab_sweep::study::duration_ns;

use crate::args::shared::{CHECKS, Choices, ReportOptions, choice, size};

/// `ssdlab sweep`
#[derive(Debug, Subcommand)]
pub enum SweepCommand {
    /// Print the points of a study, what is refused, what is done, and what the rest costs; nothing is simulated
    Plan(PlanArgs),
    /// Run what the store does not have
    Run(Box<SweepRunArgs>),
    /// Print what is done, failed and left
    Status(StatusArgs),
    /// Gather the results into one table
    Table(SweepTableArgs),
    /// Submit an array job that runs the study
    Submit(SubmitArgs),
    /// Run some of the records again and compare the bytes
    Verify(VerifyArgs),
    /// Remove records, and what killed processes left
    Clean(CleanArgs),
}

/// A study and its store.
#[derive(Args, Clone, Debug)]
pub struct StudyArgs {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,
    /// The folder of results; any number of machines may share it
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Compute the hashes of inputs again
    #[arg(long)]
    pub rehash: bool,
}

/// `ssdlab sweep plan`
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,
    /// The folder of results: what it has is counted as done, and what its runs cost is what is expected of others
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Also list the points
    #[arg(long)]
    pub list: bool,
    /// Estimate from short runs of three points: the cheapest, the middle one and the most expensive
    #[arg(long)]
    pub pilot: bool,
    /// Write the plan as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Compute the hashes of inputs again
    #[arg(long)]
    pub rehash: bool,
}

/// What is tried again.
const RETRIES: Choices<Retry> = &[
    ("failed", "What failed", Retry::Failed),
    ("all", "Everything without a result, however often it was tried", Retry::All),
];

/// What is kept.
const KEEPS: Choices<Keep> = &[
    ("requests", "One row per request", Keep::Requests),
    ("series", "One row per second of simulated time", Keep::Series),
    ("histograms", "Latencies and waits by bucket", Keep::Histograms),
    ("slowest", "The 1000 slowest requests", Keep::Slowest),
];

/// `ssdlab sweep run`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab sweep run study.toml --store results                      all of it, on all cores
  ssdlab sweep run study.toml --store results --shard 3/8          the third of eight parts
  ssdlab sweep run study.toml --store results --shard auto --time-limit 55m   in an array job

Exit status: 0 all done, 1 a point failed for good, 5 an invariant failed, 4 the store cannot be
written, 75 points are left (run it again), 130, 143 or 129 if a signal ended it.")]
pub struct SweepRunArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Run one part: I/N, or auto to take it from the variables of Slurm, PBS, Grid Engine, LSF, Kubernetes or AWS Batch
    #[arg(long, value_name = "I/N|auto")]
    pub shard: Option<String>,
    /// Runs in parallel; results do not depend on it [default: one per core, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,
    /// Begin no unit (runs that share a filling, or all seeds of a point under `until`) that is not expected to end within this
    /// time, such as 55m
    #[arg(long, value_name = "T", value_parser = duration_ns)]
    pub time_limit: Option<u64>,
    /// Try failures again: failed, or all
    #[arg(long, value_name = "failed|all", value_parser = choice(RETRIES), hide_possible_values = true)]
    pub retry: Option<Retry>,
    /// Stop at the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Share the work with other processes that use this option, by claims in the store
    #[arg(long, conflicts_with = "shard")]
    pub claim: bool,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_parser = choice(CHECKS), default_value = "sampled")]
    pub check: Check,
    /// Memory limit of all devices together [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory_limit: Option<u64>,
    /// Also keep tables of each run, such as requests,series,histograms,slowest
    #[arg(long, value_name = "LIST", value_parser = choice(KEEPS), value_delimiter = ',', hide_possible_values = true)]
    pub keep: Vec<Keep>,
    /// Keep fillings that take longer than 5 s in this folder, for other processes; results do not depend on it
    #[arg(long, value_name = "DIR")]
    pub fill_cache: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Suppress progress on standard error; errors and the closing line are still printed
    #[arg(long)]
    pub quiet: bool,
}

/// `ssdlab sweep status`
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Write the counts as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print them again every five seconds until nothing is left
    #[arg(long)]
    pub watch: bool,
}

/// `ssdlab sweep table`
#[derive(Args, Clone, Debug)]
pub struct SweepTableArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// The table
    #[arg(short = 'o', long = "output", value_name = "FILE.parquet|.csv")]
    pub output: PathBuf,
    /// One row a run and measure
    #[arg(long)]
    pub tidy: bool,
    /// Leave out what runs cost: the bytes are then the same on every machine
    #[arg(long)]
    pub no_perf: bool,
}

/// `ssdlab sweep submit`
#[derive(Args, Clone, Debug)]
pub struct SubmitArgs {
    /// The study and its store.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Submit to Slurm with sbatch
    #[arg(long, required = true)]
    pub slurm: bool,
    /// Tasks of the array [default: one for 20 runs, at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub array: Option<u64>,
    /// Time of a task, as Slurm writes it [default: twice the expected time of the largest]
    #[arg(long, value_name = "1:00:00")]
    pub time: Option<String>,
    /// Memory of a task
    #[arg(long, value_name = "4G", default_value = "4G")]
    pub mem: String,
    /// Cores of a task
    #[arg(long, value_name = "1", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub cpus: u64,
    /// Further arguments of sbatch, such as "--partition=short --account=lab"
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub sbatch: Option<String>,
    /// Print the script and submit nothing
    #[arg(long)]
    pub print: bool,
}

/// `ssdlab sweep verify`
#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// The folder of results
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Share of the records, at least one
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub sample: f64,
    /// Seed of the choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// `ssdlab sweep clean`
#[derive(Args, Clone, Debug)]
pub struct CleanArgs {
    /// The folder of results
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// Records that this version wrote; `other` is every version but the one that runs
    #[arg(long, value_name = "VERSION", group = "which")]
    pub version: Option<String>,
    /// Records that none of these studies and fleets has
    #[arg(long, value_name = "STUDY.toml", num_args = 1.., group = "which")]
    pub not_in: Vec<PathBuf>,
    /// Failures, so that they are tried again
    #[arg(long, group = "which")]
    pub failed: bool,
    /// Remove them; without it they are only counted
    #[arg(long)]
    pub yes: bool,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0 and at most 1".into())
}
