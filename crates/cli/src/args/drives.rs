//! Arguments of `ssdlab calibrate`, `ssdlab drives` and `ssdlab run --drive`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ssdlab_drives::pattern::bytes;

use super::shared::ReportOptions;

/// `run --drive`
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct DriveArg {
    /// A real drive, in place of a preset: one of `ssdlab drives`, or a file of `calibrate`. With --count-only prints write amplification
    /// and the rate that follows, over host writes; otherwise a device with the times that the drive's costs say
    #[arg(long, value_name = "NAME-or-FILE.toml", conflicts_with = "preset")]
    pub drive: Option<String>,
}

/// `ssdlab drives`
#[derive(Args, Clone, Debug)]
pub struct DrivesArgs {
    /// Name of a drive
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ssdlab calibrate`
#[derive(Debug, Subcommand)]
pub enum CalibrateCommand {
    /// Print the fio jobs that measure a drive; they destroy its data
    Jobs(JobsArgs),
    /// Fit spare space and cost of GC of one policy to a uniform run
    Fit(FitArgs),
    /// Fit every policy to a uniform run, and judge them by their predictions of other patterns
    Identify(IdentifyArgs),
    /// Predict with the values of a drive, and compare with measurements; status 1 if one is farther off than is claimed
    Check(CheckArgs),
}

/// `ssdlab calibrate jobs`
#[derive(Args, Clone, Debug)]
pub struct JobsArgs {
    /// The device that is written
    #[arg(long, value_name = "DEV", default_value = "/dev/nvmeXnY")]
    pub device: String,
    /// Only what a first verdict needs
    #[arg(long)]
    pub quick: bool,
    /// Measure latencies over load, too: a probe beside uniform writes at eleven loads
    #[arg(long)]
    pub latency: bool,
    /// Bytes of the drive, such as 960GB, for the zones of a zipf and for the hours that the jobs take
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: u64,
    /// MB/s of the first job (sequential), for the hours
    #[arg(long, value_name = "MBps")]
    pub rate: Option<f64>,
    /// Write the patterns as workload files, too, for `ssdlab run --workload`: one TOML each in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub workloads: Option<PathBuf>,
}

/// What was measured.
#[derive(Args, Clone, Debug)]
pub struct Measured {
    /// Tables of runs over host writes, of steady rates or of latencies over load (CSV), JSON of fio with its bandwidth logs beside it, or samples of the OCP
    /// log with their times (JSON)
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Bytes of the drive, such as 960GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: Option<u64>,
    /// Bytes of its superblock, such as 2GiB; by default it is fitted to runs of one active zone
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub superblock: Option<u64>,
    /// Give a key its value: device.over_provisioning, cost.host or cost.moved (microseconds a kilobyte)
    #[arg(long = "fix", value_name = "KEY=V", value_parser = assignment)]
    pub fixed: Vec<(String, f64)>,
    /// Fit a key that is measured otherwise: cost.host, where the link and not the flash limits sequential writes
    #[arg(long = "free", value_name = "KEY")]
    pub free: Vec<String>,
    /// Seeds of the policies that fit best
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
    /// The file of the drive that is written
    #[arg(short = 'o', long = "output", value_name = "DRIVE.toml")]
    pub output: PathBuf,
    /// Suppress remarks on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// `ssdlab calibrate fit`
#[derive(Args, Clone, Debug)]
pub struct FitArgs {
    /// What was measured.
    #[command(flatten)]
    pub measured: Measured,
    /// The policy: greedy, d-choices:10, cost-benefit:0.4 or fifo, with /separate or /shared
    #[arg(long, value_name = "POLICY", default_value = "greedy/separate")]
    pub policy: String,
}

/// `ssdlab calibrate identify`
#[derive(Args, Clone, Debug)]
pub struct IdentifyArgs {
    /// What was measured.
    #[command(flatten)]
    pub measured: Measured,
    /// Policies, with commas between them, as --policy of `calibrate fit` takes them; without frontiers both are tried
    #[arg(long, value_name = "LIST|all", default_value = "all")]
    pub candidates: String,
    /// Write what was found as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// The page of the drive.
    #[command(flatten)]
    pub report: ReportOptions,
}

/// `ssdlab calibrate check`
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// A drive of the book, or a file
    #[arg(value_name = "NAME-or-DRIVE.toml")]
    pub drive: String,
    /// Measurements; without any, those in the file
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write the result as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Change the file: predictions and error line take the place of those it has
    #[arg(long)]
    pub write: bool,
}

fn size(text: &str) -> std::result::Result<u64, String> {
    bytes(text).ok_or_else(|| format!("`{text}` is no size such as 960GB or 2GiB"))
}

fn assignment(text: &str) -> std::result::Result<(String, f64), String> {
    let parts =
        text.split_once('=').and_then(|(key, value)| Some((key.trim().to_string(), value.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not KEY=NUMBER"))
}
