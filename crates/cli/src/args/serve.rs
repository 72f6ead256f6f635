//! Arguments of `ssdlab serve`.

use std::path::PathBuf;

use clap::Args;
use ssdlab_serve::{Address, Speed};
use ssdlab_sim::Check;
use ssdlab_sim::units::Nanos;

use super::ConfigArgs;
use super::shared::{CHECKS, ReportOptions, choice, size};

/// `ssdlab serve`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab serve --preset nvme-tlc --unix /tmp/ssd          fio --ioengine=nbd --uri='nbd+unix:///?socket=/tmp/ssd' ...
  ssdlab serve --preset nvme-tlc --unix /tmp/ssd --speed 0.01 --record session.txt --requests rows.csv
  ssdlab serve drive.toml --tcp 10809 --data drive.img --speed max")]
#[command(group = clap::ArgGroup::new("at").required(true))]
pub struct ServeArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Listen at a socket of the file system
    #[arg(long, value_name = "PATH", group = "at", help_heading = "Server")]
    pub unix: Option<PathBuf>,
    /// Listen at a port: of the loopback interface, unless an address is given. There is no authentication
    #[arg(long, value_name = "[ADDRESS:]PORT", group = "at", help_heading = "Server")]
    pub tcp: Option<Address>,
    /// Name of the export; clients may leave it out
    #[arg(long, value_name = "NAME", default_value = "ssdlab", help_heading = "Server")]
    pub export: String,
    /// Keep the data in a file, which is created sparse if it is not there [default: in memory, gone at the end]
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub data: Option<PathBuf>,
    /// Simulated seconds a second, such as 0.01 for slow motion; max: replies do not wait at all
    #[arg(long, value_name = "X|max", default_value = "1", help_heading = "Server")]
    pub speed: Speed,
    /// A reply that leaves later than this is late; if more than 1 % of a second's replies are, the server says so
    #[arg(long, value_name = "TIME", default_value = "1ms", help_heading = "Server")]
    pub max_lag: Nanos,
    /// End with status 5 if replies were late in some second
    #[arg(long, help_heading = "Server")]
    pub strict: bool,
    /// Take orders at a socket of the file system, one line of JSON each: stats, set, snapshot, restore, power_cut
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    pub control: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_parser = choice(CHECKS), default_value = "sampled", help_heading = "Simulation")]
    pub check: Check,
    /// Memory limit of the drive and of data in memory; writes beyond it fail [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Simulation")]
    pub memory_limit: Option<u64>,
    /// Write the requests as a trace (the form of blkparse), which `ssdlab run` replays with the same latencies
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub record: Option<PathBuf>,
    /// Write the summary as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Write one row per request: times, latency and its causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub requests: Option<PathBuf>,
    /// Write one row per window of simulated time: rates, latencies, flash work, GC, causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub series: Option<PathBuf>,
    /// Length of the windows of --series
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "series", help_heading = "Results")]
    pub window: Nanos,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Suppress progress and remarks on standard error; errors are still printed
    #[arg(long, help_heading = "Results")]
    pub quiet: bool,
}
