//! The command line: its doc comments are the help and the man page.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::settings::Sources;

/// Trace-driven, event-driven SSD simulation: where every nanosecond of every request went.
#[derive(Debug, Parser)]
#[command(name = "ssdlab", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "Examples:
  ssdlab run --workload quickstart                          a first result
  ssdlab run --trace hm_0.csv.gz --preset nvme-tlc          replay a recording on a modern drive
  ssdlab run --trace hm_0.csv.gz --set schemes.victim=fifo  change one key
  ssdlab config show --preset pagc                          every value and where it comes from

Exit status: 0 done, 2 command line or configuration, 3 trace data, 4 files, 5 an invariant failed, 130 interrupted.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a trace or a workload and tell what happened
    Run(Box<RunArgs>),
    /// Show, check or describe a configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List the named configurations, or print one with the source of every value
    Presets {
        /// Name of a preset
        name: Option<String>,
    },
    /// List the schemes slot by slot, or print the manual of one
    Schemes {
        /// Name of a scheme, or of a slot such as `victim`
        name: Option<String>,
    },
    /// List the workloads that come with the program, or print one
    Workloads {
        /// Name of a workload
        name: Option<String>,
    },
    /// Print shell completions
    #[command(hide = true)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Manpage,
}

/// Where the configuration comes from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Configuration files, each over the one before
    #[arg(value_name = "CONFIG.toml")]
    pub files: Vec<PathBuf>,
    /// A named configuration below the files; see `ssdlab presets`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// One value over everything else, such as gc.threshold=0.05 or schemes.victim=fifo
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl ConfigArgs {
    /// As the layers of a configuration.
    pub fn sources(&self) -> Sources {
        Sources { preset: self.preset.clone(), files: self.files.clone(), sets: self.sets.clone() }
    }
}

/// `ssdlab config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective configuration as TOML, with the origin of every value
    Show(ConfigArgs),
    /// Check a configuration and say what it amounts to
    Check(ConfigArgs),
    /// Print the JSON Schema of configuration files, for editors
    Schema,
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Replay {
    /// At the times of the trace or workload
    Arrival,
    /// A new one whenever one of `device.queue_depth` completes
    Closed,
}

/// What becomes of requests beyond the end of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LbaPolicy {
    /// The run stops and says what would make the trace fit
    Error,
    /// Addresses are taken modulo the capacity
    Wrap,
    /// What lies beyond the end is left out
    Clip,
    /// Touched pages are renumbered in the order of first touch
    Dense,
}

/// What becomes of arrivals that go back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeOrder {
    /// The run stops
    Error,
    /// The gap is taken as zero
    Keep,
    /// They move up to the latest arrival
    Clamp,
    /// They are sorted within a bounded window
    Sort,
}

/// How much the oracle looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckLevel {
    /// Only the laws that are always on
    Off,
    /// Every read's data, and everything now and then
    Sampled,
    /// Everything, often
    Full,
}

/// Where the requests come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub struct InputArgs {
    /// A recorded trace, plain or compressed (gzip, zstd, xz); `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "workload", required_unless_present = "workload")]
    pub trace: Option<PathBuf>,
    /// A generated workload: one of `ssdlab workloads`, or a TOML file
    #[arg(long, value_name = "NAME-or-FILE.toml")]
    pub workload: Option<String>,
    /// Format of the trace: auto, msr, spc, ssdsim, mqsim, … or columns:<map>
    #[arg(long, value_name = "FMT", default_value = "auto", conflicts_with = "workload")]
    pub format: String,
    /// Only this device (disk, volume, unit) of the trace
    #[arg(long, value_name = "ID", conflicts_with = "workload")]
    pub device: Option<String>,
    /// At most this many requests over all loops
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Replay the trace this many times, one after the other
    #[arg(long = "loop", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub loops: u32,
    /// Multiply arrival times by this
    #[arg(long, value_name = "X", value_parser = time_scale)]
    pub time_scale: Option<TimeScale>,
    /// When requests arrive [default: arrival, or what the workload says]
    #[arg(long, value_name = "WHEN", value_enum)]
    pub replay: Option<Replay>,
    /// What becomes of requests beyond the end of the device
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = LbaPolicy::Error)]
    pub lba_policy: LbaPolicy,
    /// What becomes of lines that can't be read: error, or skip=N to pass over at most N
    #[arg(long, value_name = "error|skip=N", default_value = "error", value_parser = bad_lines, conflicts_with = "workload")]
    pub on_bad_line: BadLines,
    /// What becomes of arrivals that go back in time
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = TimeOrder::Error, conflicts_with = "workload")]
    pub time_order: TimeOrder,
}

/// How many bad lines a trace may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLines(pub u64);

fn bad_lines(text: &str) -> Result<BadLines, String> {
    match text.strip_prefix("skip=") {
        _ if text == "error" => Ok(BadLines(0)),
        Some(count) => count.parse().map(BadLines).map_err(|_| format!("`{count}` is not a number of lines")),
        None => Err("expected error, or skip=N with the number of lines that may be passed over".into()),
    }
}

/// An exact positive factor: `digits / 10^decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale {
    /// Numerator.
    pub num: u64,
    /// Denominator, a power of ten.
    pub den: u64,
}

fn time_scale(text: &str) -> Result<TimeScale, String> {
    let wrong = || format!("`{text}` is not a factor: expected a positive decimal number with at most nine decimals, such as 0.5");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || text.ends_with('.') || fraction.len() > 9 || digits.len() > 18 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let num: u64 = digits.parse().map_err(|_| wrong())?;
    if num == 0 { Err(wrong()) } else { Ok(TimeScale { num, den: 10u64.pow(fraction.len() as u32) }) }
}

/// `ssdlab run`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab run --workload quickstart
  ssdlab run --trace web.csv.zst --preset nvme-tlc --lba-policy dense --json result.json
  ssdlab run drive.toml --trace - --format spc --set gc.threshold=0.05 < requests.spc
  ssdlab run --workload random-write --set 'timing.read=[\"50us\",\"90us\"]' --requests requests.csv")]
pub struct RunArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle looks at; results don't depend on it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = CheckLevel::Sampled, help_heading = "Simulation")]
    pub check: CheckLevel,
    /// Write the summary as JSON; `-` is standard output, alone
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Write one row a request: times, latency and its causes
    #[arg(long, value_name = "FILE.csv", help_heading = "Results")]
    pub requests: Option<PathBuf>,
    /// Write what the simulation itself cost: time, memory, speed
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub perf: Option<PathBuf>,
    /// No progress, no remarks on standard error; errors still
    #[arg(long, help_heading = "Results")]
    pub quiet: bool,
}
