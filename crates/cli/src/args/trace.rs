//! `ssdlab trace`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use ssdlab_lab::text::amount;
use ssdlab_trace::Format;

use crate::args::shared::{ReadingArgs, size};

/// What a file of a divided trace is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// A device (disk, volume, unit) of the trace
    Device,
}

/// `ssdlab trace`
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Print the figures of traces: mix, sizes, footprint, rates, and the device they need
    Info {
        /// Trace files, plain or compressed; `-` is standard input
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// How they are read.
        #[command(flatten)]
        reading: ReadingArgs,
        /// Write the figures as JSON; `-` means standard output, in place of the table
        #[arg(long, value_name = "FILE|-")]
        json: Option<PathBuf>,
    },
    /// Read a trace to its end without simulating, and report anything suspicious
    Check {
        /// A trace file, plain or compressed; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How it is read.
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Write a trace in another format
    Convert {
        /// A trace file, plain or compressed; `-` is standard input
        #[arg(value_name = "FROM")]
        from: PathBuf,
        /// Where to write; `-` is standard output
        #[arg(value_name = "TO")]
        to: PathBuf,
        /// Format to write: msr, spc, ssdsim, … or columns:<map>
        #[arg(long, value_name = "FMT")]
        into: Format,
        /// At most this many requests
        #[arg(long, value_name = "N", value_parser = amount)]
        limit: Option<u64>,
        /// How it is read.
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Divide a trace of many volumes into a file a volume, with a list of them in volumes.csv
    Split {
        /// Trace files, plain or compressed; a volume is in one of them
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// What a file is made for
        #[arg(long, value_name = "device", value_enum, default_value_t = ByArg::Device, hide_default_value = true)]
        by: ByArg,
        /// Where to write
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
        /// Write so many files, each with the volumes that hash there [default: a file a volume]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=ssdlab_sweep::split::MOST_PARTS))]
        parts: Option<u64>,
        /// Volumes with fewer requests go to one file, rest
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        min_requests: u64,
        /// Format to write: msr, spc, ssdsim, … or columns:<map> [default: parquet, or columns in builds without it]
        #[arg(long = "as", value_name = "FMT")]
        into_format: Option<Format>,
        /// How it is read.
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Write a generated workload as a trace
    Generate {
        /// One of `ssdlab workloads`, or a TOML file
        #[arg(value_name = "NAME-or-FILE.toml")]
        workload: String,
        /// Where to write; `-` is standard output
        #[arg(value_name = "TO")]
        to: PathBuf,
        /// Format to write: msr, spc, ssdsim, … or columns:<map>
        #[arg(long, value_name = "FMT", default_value = "msr")]
        into: Format,
        /// At most this many requests
        #[arg(long, value_name = "N", value_parser = amount)]
        limit: Option<u64>,
        /// Capacity of the device that the workload is fitted to
        #[arg(long, value_name = "SIZE", default_value = "14GiB", value_parser = size)]
        capacity: u64,
        /// Page size of that device
        #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size)]
        page_size: u64,
        /// Seed of every random choice
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
}
