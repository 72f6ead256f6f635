//! `ssdlab life`, and requests until the end of a drive.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use ssdlab_lab::input::Requests;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::run::Outputs;

use crate::args::shared::{ReportOptions, given};
use crate::args::{ConfigArgs, HowArgs, InputArgs};

/// When requests end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// When the device accepts no more writes
    EndOfLife,
}

/// Until when requests are repeated.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Requests")]
pub struct UntilArg {
    /// Repeat the requests until the device accepts no more writes, because its blocks have worn out (life.mode=wear); with
    /// --loop 2 or more at most so often. If they end before, the exit status is 75
    #[arg(long, value_name = "end-of-life", value_enum, hide_possible_values = true)]
    pub until: Option<Until>,
}

impl UntilArg {
    /// Requests that are repeated so.
    pub fn of(self, requests: Requests) -> Requests {
        Requests { until_end: self.until.is_some() || requests.until_end, ..requests }
    }
}

/// `ssdlab life`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab life --preset nvme-tlc --workload random-write
  ssdlab life drive.toml --trace web.csv.zst --lba-policy wrap --set life.endurance=3000
  ssdlab life --workload random-write --scale 1:1 --accelerate 1     without scaling: hours for a terabyte

Requests are repeated, without time, until the drive accepts no more writes. P/E cycles are divided by K
and by K / 2, and the difference of both is printed as the error. The device is one plane of the drive
unless --scale says otherwise. Exit status as for run.")]
pub struct LifeArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Simulate a device of an Nth of the drive: of its planes, then of the blocks of one [default: one plane]
    #[arg(long, value_name = "1:N", help_heading = "Life")]
    pub scale: Option<Scale>,
    /// Divide P/E cycles by K, and by K / 2; at least 100 must be left [default: as much as leaves 100]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Life")]
    pub accelerate: Option<u32>,
    /// Run every life with this many seeds, from --seed on, and give 95 % confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Life")]
    pub repeat: u64,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// Write the summary of the life at K / 2 as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<std::path::PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
}

impl LifeArgs {
    /// Files to write.
    pub fn outputs(&self, command: &str) -> Outputs {
        Outputs::default()
            .with_some(given(self.json.as_ref()).map(|path| SummaryFile(path.into())))
            .with_some(self.report.wanted(command))
    }
}

/// An Nth of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(pub u64);

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Scale, String> {
        let number = text.trim().strip_prefix("1:").and_then(|number| number.trim().parse::<u64>().ok());
        let scale = number.filter(|number| *number > 0).map(Scale);
        scale.ok_or_else(|| format!("`{text}` is no scale: expected 1:N, such as 1:64"))
    }
}
