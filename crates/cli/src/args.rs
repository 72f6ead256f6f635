//! The command line: its doc comments are the help and the man page.

pub mod bundle;
pub mod drives;
pub mod figure;
pub mod fleet;
pub mod ladder;
pub mod life;
#[cfg(unix)]
pub mod serve;
pub mod shared;
pub mod sweep;
pub mod trace;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use ssdlab_explain::at::At;
use ssdlab_explain::whatif::moment::{Choice, Moment};
use ssdlab_import::{How as HowImported, Simulator};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::foreign::Imported;
use ssdlab_lab::input::{Origin, Requests, Tenant, When};
use ssdlab_lab::output::Output;
use ssdlab_lab::results::blocks::BlockRows;
use ssdlab_lab::results::cost::CostFile;
use ssdlab_lab::results::counted::{CountedRows, Window};
use ssdlab_lab::results::dies::DieRows;
use ssdlab_lab::results::histograms::{BucketRows, Tail};
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::results::timeline::{Activity, Span};
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Document, Sources};
use ssdlab_lab::text::amount;
use ssdlab_lab::variants::points::Plan;
use ssdlab_sim::Check;
use ssdlab_sim::units::Nanos;
use ssdlab_trace::{LbaPolicy, Scale};

pub use figure::{PlotArgs, ReportArgs};
use shared::{CHECKS, Choices, choice, size};
pub use shared::{Length, ReadingArgs, ReportOptions, given};
pub use trace::{ByArg, TraceCommand};

/// Trace-driven, event-driven SSD simulation: where every nanosecond of every request went.
#[derive(Debug, Parser)]
#[command(name = "ssdlab", version, max_term_width = 110)]
#[command(after_help = "Examples:
  ssdlab run --workload quickstart                          a first result
  ssdlab run --trace hm_0.csv.gz --preset nvme-tlc          replay a recording on a modern drive
  ssdlab run --trace hm_0.csv.gz --set schemes.victim=fifo  change one key
  ssdlab compare --workload quickstart --vary schemes.victim=greedy,fifo   one table, with ratios
  ssdlab config show --preset pagc                          every value and where it comes from

Exit status: 0 done, 1 points of a sweep failed, 2 command line or configuration, 3 trace data,
4 files, 5 invariant failed, 75 points of a sweep are left, 129 hung up, 130 interrupted,
143 terminated.")]
pub struct Cli {
    /// Fit text to this many columns, from 40 to 400 [default: those of the terminal, or 100]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=400))]
    pub columns: Option<u16>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a trace or a workload and print what happened
    Run(Box<RunArgs>),
    /// Simulate the same requests on several configurations and print one table, each variant next to the first
    Compare(Box<CompareArgs>),
    /// Run the same requests at several queue depths and print IOPS, MB/s and p99
    Ladder(Box<ladder::LadderArgs>),
    /// Repeat requests until the drive is worn out and print TBW, DWPD and years
    Life(Box<life::LifeArgs>),
    /// Run a study of many configurations, on one machine or many; it survives kills
    #[command(subcommand)]
    Sweep(Box<sweep::SweepCommand>),
    /// Run many volumes on some variants of a configuration, and add up the results
    #[command(subcommand)]
    Fleet(Box<fleet::FleetCommand>),
    /// Pack a finished study into one file that reviewers can check, and check one
    #[command(subcommand)]
    Bundle(Box<bundle::BundleCommand>),
    /// Add up the results of disjoint requests: different volumes, or different seeds
    Merge {
        /// Records of a sweep that kept histograms (runs/54/54….json), or files of this command
        #[arg(value_name = "IN", required = true)]
        inputs: Vec<PathBuf>,
        /// Where to write the sums, and the percentiles computed from them, as JSON; `-` is standard output. A name that ends in
        /// .csv or .parquet gets the merged histograms instead, as --histograms of a run writes them
        #[arg(short = 'o', long = "output", value_name = "OUT")]
        output: PathBuf,
    },
    /// Rerun a paper's experiments and print its tables and figures next to ours
    Reproduce(Box<ReproduceArgs>),
    /// Name the causes of the slowest requests, what they have in common, and what would help, by rerunning the workload
    #[command(mut_arg("files", |arg| {
        let help = "Configuration files, each overriding the ones before it; or a file of --requests of a finished run";
        arg.value_name("CONFIG.toml|ROWS.csv|.parquet").help(help).help_heading(None)
    }))]
    Explain(Box<ExplainArgs>),
    /// Copy the device just before an event, and serve the same future with one thing changed
    Whatif(Box<WhatifArgs>),
    /// Serve the drive as a block device over NBD: programs and file systems use it, in real time or slow motion
    #[cfg(unix)]
    Serve(Box<serve::ServeArgs>),
    /// Turn configurations and workloads of MQSim, SSDsim, SimpleSSD, FEMU, FlashSim or DiskSim into ours, and account for every key
    Import(Box<ImportArgs>),
    /// Write a page from the results of runs: what happened, why, and whether a difference is real
    Report(Box<ReportArgs>),
    /// Draw a figure from the results of runs, as SVG, PDF, PNG, CSV or JSON
    Plot(Box<PlotArgs>),
    /// Show, check or describe a configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Inspect, check, convert or generate traces
    #[command(subcommand)]
    Trace(Box<TraceCommand>),
    /// List the named configurations, or print one with the source of every value
    Presets {
        /// Name of a preset
        name: Option<String>,
    },
    /// List the drives of the book with their verdicts and errors, or print one
    Drives(drives::DrivesArgs),
    /// Fit a model to measurements of a real drive, and name its GC policy
    #[command(subcommand)]
    Calibrate(Box<drives::CalibrateCommand>),
    /// List the schemes by slot, or print the manual of one
    Schemes {
        /// Name of a scheme, or of a slot such as `victim`
        name: Option<String>,
    },
    /// List the workloads that come with the program, or print one
    Workloads {
        /// Name of a workload
        name: Option<String>,
    },
    /// Print completions for a shell: bash, zsh, fish, elvish or powershell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one per command into a directory
    Manpage {
        /// Where to write them
        directory: Option<PathBuf>,
    },
}

/// Where the configuration comes from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Configuration files; each overrides the ones before it
    #[arg(value_name = "CONFIG.toml")]
    pub files: Vec<PathBuf>,
    /// A named configuration, which the files override; see `ssdlab presets`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// A configuration of another simulator, which overrides the preset, or its workload; may be repeated. See `ssdlab import`
    #[arg(long = "import", value_name = "FILE")]
    pub imports: Vec<PathBuf>,
    /// How it is imported.
    #[command(flatten)]
    pub imported: ImportedAs,
    /// Set one key, overriding everything else, such as gc.threshold=0.05 or schemes.victim=fifo
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl ConfigArgs {
    /// The layers of a configuration.
    ///
    /// # Errors
    /// A file of another simulator can't be read or carried over.
    pub fn sources(&self) -> Result<Sources> {
        let files = self.files.iter().cloned().map(Document::File).collect();
        let (preset, sets) = (self.preset.clone(), self.sets.clone());
        Ok(Sources { preset, imported: self.imported.read(&self.imports)?, files, sets, ..Sources::default() })
    }
}

/// How the files of `--import` are read.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ImportedAs {
    /// The simulator that the imported files are from, where their content does not say: mqsim, ssdsim, simplessd, femu, flashsim
    /// or disksim
    #[arg(long, value_name = "SIMULATOR", requires = "imports", value_parser = simulator, help_heading = "Configuration")]
    pub from: Option<From>,
    /// Which scenario of an imported MQSim workload, from 1 [default: 1]
    #[arg(long, value_name = "N", requires = "imports", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Configuration")]
    pub scenario: Option<u32>,
}

impl ImportedAs {
    /// What the files become; none without any.
    ///
    /// # Errors
    /// A file can't be read, or a value of it carried over.
    pub fn read(self, files: &[PathBuf]) -> Result<Option<Imported>> {
        if files.is_empty() {
            return Ok(None);
        }
        if files.iter().any(|path| path.as_os_str() == "-") {
            return Err(Error::usage("--import -: standard input can be read only once").help("give a file"));
        }
        let documents: Vec<Document> = files.iter().cloned().map(Document::File).collect();
        let how =
            HowImported { from: self.from.and_then(|from| from.0), scenario: self.scenario.unwrap_or(1) as usize };
        ssdlab_import::read(&documents, how).map(Some)
    }
}

/// `ssdlab config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective configuration as TOML, with the origin of every value
    Show(ConfigArgs),
    /// Check a configuration and print its capacity, GC start, expected write amplification and memory
    Check(ConfigArgs),
    /// Print the JSON Schema of a kind of file, for editors
    Schema {
        /// configuration, study, fleet or workload
        #[arg(value_name = "KIND", default_value = "configuration")]
        kind: String,
    },
    /// Print every key with its meaning, values and default, as Markdown
    Reference,
}

/// When requests arrive.
const REPLAYS: Choices<When> = &[
    ("arrival", "At the times of the trace or workload", When::Arrival),
    ("closed", "In a closed loop: a new one when one of `device.queue_depth` completes", When::Closed),
];

/// Where the requests come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Requests")]
pub struct InputArgs {
    /// A recorded trace, plain or compressed (gzip, zstd, xz); `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub trace: Option<PathBuf>,
    /// A generated workload: one of `ssdlab workloads`, or a TOML file
    #[arg(long, value_name = "NAME-or-FILE.toml")]
    pub workload: Option<String>,
    /// Several workloads and traces on one device, each a tenant: NAME=trace:FILE or NAME=workload:NAME-or-FILE.toml, then options
    /// such as ,lba=shared ,depth=8 ,limit=1000 ,format=msr ,time_scale=2; may be repeated. Each tenant has its own part of the
    /// device unless lba= says otherwise
    #[arg(long = "tenant", value_name = "NAME=...", conflicts_with_all = ["trace", "workload"])]
    pub tenants: Vec<String>,
    /// Directory of recordings: a file such as DIR/hm_0.csv.gz replaces the workload that models it (hm_0, Financial1, ...);
    /// without such a file the model runs, and the output says that it is a model
    #[arg(long, value_name = "DIR", requires = "workload")]
    pub traces: Option<PathBuf>,
    /// Directory in which a trace that an imported workload names is looked for, by the last part of its path
    #[arg(long, value_name = "DIR", requires = "imports")]
    pub follow_traces: Option<PathBuf>,
    /// How the trace is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// At most this many requests over all loops, such as 50000, 50k or 1e6
    #[arg(long, value_name = "N", value_parser = amount)]
    pub limit: Option<u64>,
    /// Replay the trace this many times, one after the other
    #[arg(long = "loop", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub loops: Option<u32>,
    /// Multiply arrival times by this: a decimal such as 0.5, or a ratio such as 1/3
    #[arg(long, value_name = "X")]
    pub time_scale: Option<Scale>,
    /// When requests arrive: arrival (at the times of the trace) or closed (a new one when one of device.queue_depth
    /// completes) [default: arrival, or closed if the workload says so]
    #[arg(long, value_name = "arrival|closed", value_parser = choice(REPLAYS), hide_possible_values = true)]
    pub replay: Option<When>,
    /// How to treat requests beyond the end of the device: error (stop and say what would fit), wrap (modulo the capacity),
    /// clip (drop them) or dense (renumber touched pages in order of first touch) [default: error]
    #[arg(long, value_name = "error|wrap|clip|dense")]
    pub lba_policy: Option<LbaPolicy>,
}

impl InputArgs {
    /// The requests that are asked for, if any are.
    ///
    /// # Errors
    /// A tenant can't be read.
    pub fn requests(&self) -> Result<Option<Requests>> {
        let from = match (&self.trace, &self.workload) {
            (Some(path), _) => Origin::Trace(path.clone().into()),
            (None, Some(name)) => Origin::Workload { name: name.clone(), recordings: self.traces.clone() },
            (None, None) if self.tenants.is_empty() => return Ok(None),
            (None, None) => {
                Origin::Tenants(self.tenants.iter().map(|text| Tenant::parse(text)).collect::<Result<_>>()?)
            }
        };
        Ok(Some(Requests {
            from,
            reading: self.reading.reading(),
            limit: self.limit,
            loops: self.loops.unwrap_or(1),
            until_end: false,
            time_scale: self.time_scale,
            replay: self.replay,
            lba_policy: self.lba_policy.unwrap_or_default(),
        }))
    }
}

/// The requests of a command that needs some.
///
/// # Errors
/// No requests were given.
pub fn needed(requests: Option<Requests>) -> Result<Requests> {
    requests.ok_or_else(|| Error::usage("no requests").help("give --trace FILE, --workload NAME or --tenant NAME=..."))
}

/// `ssdlab run`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab run --workload quickstart
  ssdlab run --trace web.csv.zst --preset nvme-tlc --lba-policy dense --json result.json
  ssdlab run drive.toml --trace - --format spc --set gc.threshold=0.05 < requests.spc
  ssdlab run --workload mixed-70-30 --series series.csv --window 100ms
  ssdlab run --workload mixed-70-30 --timeline run.pftrace --timeline-window 1s..1.01s
  ssdlab run --workload random-write --set 'timing.read=[\"50us\",\"90us\"]' --requests requests.csv")]
pub struct RunArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// A drive of the book.
    #[command(flatten)]
    pub drive: drives::DriveArg,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Until when they are repeated.
    #[command(flatten)]
    pub until: life::UntilArg,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_parser = choice(CHECKS), default_value = "sampled", help_heading = "Simulation")]
    pub check: Check,
    /// Simulate without time: the same placement, map and GC, but no latencies
    #[arg(long, conflicts_with_all = ["requests", "series_dies", "timeline", "histograms"])]
    pub count_only: bool,
    /// Memory limit of the device [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Simulation")]
    pub memory_limit: Option<u64>,
    /// Run each tenant with the device for itself, too, and print how much slower it is with the others
    #[arg(long, help_heading = "Simulation")]
    pub alone: bool,
    /// Write the summary as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Write one row per request: times, latency and its causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub requests: Option<PathBuf>,
    /// Write one row per window of simulated time: rates, latencies, flash work, GC, causes; with --count-only one per window of
    /// host writes: flash work
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub series: Option<PathBuf>,
    /// Write one row per window and die beside the series, as NAME.dies.csv beside NAME.csv: host, GC and write-back time
    #[arg(long, requires = "series", help_heading = "Results")]
    pub series_dies: bool,
    /// Length of the windows of --series: a time, or with --count-only host writes such as "0.05 drive writes" [default: 1s, or
    /// 0.05 drive writes]
    #[arg(long, value_name = "TIME|WRITES", requires = "series", help_heading = "Results")]
    pub window: Option<Window>,
    /// Write the activity of every plane, channel and request over time, as a Perfetto trace for ui.perfetto.dev; `-`
    /// prints a chart of a tiny run
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub timeline: Option<PathBuf>,
    /// Limit the timeline to this part of simulated time, such as 10ms..12.5ms or 1s..
    #[arg(long, value_name = "FROM..TO", requires = "timeline", help_heading = "Results")]
    pub timeline_window: Option<Span>,
    /// Write one row per block at the end of the run: erases, valid pages, state; and print their distribution
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub blocks: Option<PathBuf>,
    /// Write one row per bucket of latencies and waits, with exact sums of causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub histograms: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Write the cost of the simulation itself: time, memory, speed
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub perf: Option<PathBuf>,
    /// Suppress progress and remarks on standard error; errors are still printed
    #[arg(long, help_heading = "Results")]
    pub quiet: bool,
}

impl RunArgs {
    /// How it is simulated.
    pub fn how(&self) -> How {
        let (seed, count_only, memory_limit) = (self.seed, self.count_only, self.memory_limit);
        How { seed, check: self.check, count_only, memory_limit }
    }

    /// Files to write; standard output is not one of them. `command`: what the user typed.
    ///
    /// # Errors
    /// The windows of the series are times, and the run has none, or the other way round.
    pub fn outputs(&self, command: &str) -> Result<Outputs> {
        let place = |path: &Option<PathBuf>| path.clone().map(Place::File);
        let file = |path: &PathBuf| given(Some(path)).map(PathBuf::from);
        let dies = self.series.as_deref().filter(|_| self.series_dies);
        let tail = self.json.as_deref() != Some(Path::new("-")) && !self.count_only;
        let (window, width) = self.windows()?;
        let series = place(&self.series).filter(|_| !self.count_only);
        let counted = self.count_only && (self.series.is_some() || self.drive.drive.is_some());
        let counted = counted.then(|| CountedRows { place: place(&self.series), millionths: width });
        Ok(Outputs::default()
            .with_tenants_alone(self.alone)
            .with_some(given(self.json.as_ref()).map(|path| SummaryFile(path.into())))
            .with_some(place(&self.requests).map(RequestRows))
            .with_some(series.map(|place| WindowRows { place, window }))
            .with_some(counted)
            .with_some(dies.map(|series| DieRows::beside(series, window)))
            .with_some(self.timeline.as_ref().map(|path| Activity { file: file(path), span: self.timeline_window }))
            .with_some(place(&self.blocks).map(BlockRows))
            .with_some(place(&self.histograms).map(BucketRows))
            .with_some(tail.then_some(Tail))
            .with_some(self.report.wanted(command))
            .with_some(self.perf.clone().map(CostFile)))
    }

    /// The windows of a run with times, and of one without, in millionths of a drive write.
    fn windows(&self) -> Result<(Nanos, u64)> {
        let second = Nanos(1_000_000_000);
        match self.window {
            None => Ok((second, Window::WRITES)),
            Some(Window::Time(time)) if !self.count_only => Ok((time, Window::WRITES)),
            Some(Window::DriveWrites(width)) if self.count_only => Ok((second, width)),
            Some(Window::DriveWrites(_)) => {
                Err(Error::usage("--window of host writes: the windows of this run are of simulated time")
                    .help("add --count-only, or give a time such as --window 100ms"))
            }
            Some(Window::Time(_)) => Err(Error::usage("--window of a time: a run with --count-only has none")
                .help("give host writes, such as --window \"0.05 drive writes\"")),
        }
    }
}

/// `ssdlab explain`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab explain --workload quickstart --set precondition.mode=random
  ssdlab explain --trace web.csv.zst --lba-policy dense --at write.max --try none
  ssdlab explain --workload quickstart --at request:208607 --try schemes.victim=fifo,gc.threshold=0.05
  ssdlab explain requests.parquet --at read.p99.9     rows of a finished run, written by --requests")]
pub struct ExplainArgs {
    /// Where the configuration comes from; or a file of rows.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Which requests: read, write or all with p50, p90, p95, p99, p99.9, p99.99 or max, such as read.p99.9; request:N; or
    /// time:FROM..TO [default: read.p99.9, or write.p99.9 without reads]
    #[arg(long, value_name = "WHICH", help_heading = "Explanation")]
    pub at: Option<At>,
    /// Causes to print, at most
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Explanation")]
    pub top: usize,
    /// Changes to try, each by a whole run: auto (up to six that fit the causes), none, or KEY=VALUE,...; may be repeated
    #[arg(long = "try", value_name = "auto|none|KEY=VALUE,...", help_heading = "Explanation")]
    pub tries: Vec<String>,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// Write the explanation as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
}

/// `ssdlab import`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab import ssdconfig.xml                                   what becomes of every key
  ssdlab import ssdconfig.xml workload.xml -o drive.toml --workload-out load
  ssdlab import page.parameters -o drive.toml --notes drive.md
  ssdlab run --import ssdconfig.xml --import workload.xml       import and run in one step

Every key is one of: same, near (with the difference), not modelled (with what that changes),
unused by the original, unknown. Paths in a file are never opened.")]
pub struct ImportArgs {
    /// Files of one device: configurations, and workloads for it; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The simulator they are from: mqsim, ssdsim, simplessd, femu, flashsim or disksim [default: auto, from their content]
    #[arg(long, value_name = "SIMULATOR", default_value = "auto", hide_default_value = true, value_parser = simulator)]
    pub from: From,
    /// Which scenario of an MQSim workload, from 1
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub scenario: u32,
    /// Write the configuration; `-` is standard output, in place of the account
    #[arg(short = 'o', long = "output", value_name = "DRIVE.toml", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Write each generated flow as a workload: PREFIX.toml, or PREFIX-1.toml, PREFIX-2.toml, … if there are several
    #[arg(long, value_name = "PREFIX", help_heading = "Results")]
    pub workload_out: Option<PathBuf>,
    /// Write the account of every key
    #[arg(long, value_name = "FILE.md|.json", help_heading = "Results")]
    pub notes: Option<PathBuf>,
    /// Directory in which a trace that the files name is looked for, by the last part of its path
    #[arg(long, value_name = "DIR")]
    pub follow_traces: Option<PathBuf>,
    /// Refuse keys that neither the original nor this program knows
    #[arg(long)]
    pub strict: bool,
}

/// The simulator of `--from`; none is auto.
#[derive(Clone, Copy, Debug)]
pub struct From(pub Option<Simulator>);

fn simulator(text: &str) -> std::result::Result<From, String> {
    if text == "auto" { Ok(From(None)) } else { text.parse().map(|simulator| From(Some(simulator))) }
}

/// `ssdlab whatif`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab whatif --workload quickstart --set precondition.mode=random --at slowest:read --without gc
  ssdlab whatif --workload quickstart --at request:208607 --before 100ms --change gc.threshold=0.05
  ssdlab whatif --trace web.csv.zst --lba-policy dense --at time:30s --after 10s --change device.queue_depth=64")]
pub struct WhatifArgs {
    /// Where the configuration of both devices comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// The event: slowest, slowest:read, slowest:write, request:N (its arrival) or time:T
    #[arg(long, value_name = "WHEN", default_value = "slowest", help_heading = "What if")]
    pub at: Moment,
    /// Copy the device this much before it
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "What if")]
    pub before: Nanos,
    /// Compare the requests that arrive up to this much after it
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "What if")]
    pub after: Nanos,
    /// Change one key of the second device; may be repeated
    #[arg(long = "change", value_name = "KEY=VALUE", help_heading = "What if")]
    pub changes: Vec<String>,
    /// What the second device does without in the window: gc, gc:plane=P, gc:job=N, request:N, tenant:NAME, suspend or
    /// writeback; may be repeated
    #[arg(long, value_name = "CHOICE", help_heading = "What if")]
    pub without: Vec<Choice>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_parser = choice(CHECKS), default_value = "sampled", help_heading = "Simulation")]
    pub check: Check,
    /// Memory limit of a device [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Simulation")]
    pub memory_limit: Option<u64>,
    /// Write one row per request of the window: the columns of `run --requests` twice, as base_ and whatif_
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub requests: Option<PathBuf>,
    /// Write what both devices do in the window as one Perfetto trace
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub timeline: Option<PathBuf>,
    /// Write the result as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Suppress progress and remarks on standard error; errors are still printed
    #[arg(long, help_heading = "Results")]
    pub quiet: bool,
}

/// `ssdlab compare`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab compare --workload quickstart --set precondition.mode=random --vary schemes.victim=greedy,fifo,rga
  ssdlab compare --trace web.csv.zst --vary preset=default,nvme-tlc --lba-policy dense
  ssdlab compare --workload quickstart --vary gc.threshold=0.02,0.05 --vary 'schemes={},{collector=\"queued\"}'
  ssdlab compare --workload quickstart --vary gc.time=real,none --repeat 5 --markdown

A variant whose configuration is refused has a row that names the rule. Exit status as for
run; 2 if the first variant, the baseline, is refused.")]
pub struct CompareArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Until when they are repeated.
    #[command(flatten)]
    pub until: life::UntilArg,
    /// Values of a key to compare, such as schemes.victim=greedy,fifo; the first one is the baseline. A value may be an
    /// inline table; KEY may be `preset` or `file` (a configuration file that overrides all others). Several --vary give
    /// every combination
    #[arg(long, value_name = "KEY=V1,V2,...", help_heading = "Variants")]
    pub vary: Vec<String>,
    /// Run every variant with this many seeds, from --seed on, and give 95 % confidence intervals of the differences
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Variants")]
    pub repeat: u64,
    /// Limit on the number of runs
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Variants")]
    pub max_points: u64,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// The form of the table.
    #[command(flatten)]
    pub table: TableArgs,
    /// Write one row per variant with all figures
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub rows: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
    /// Write the summary of every run into this directory, as NUMBER-SEED.json
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub summaries: Option<PathBuf>,
}

/// `ssdlab reproduce`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab reproduce d \"Table 1\" \"text 2.2\"           parameters and exact values of paper D: a moment
  ssdlab reproduce idle-chip fig14a fig15a --quick    two figures on a smaller device
  ssdlab reproduce a fig14a --quick --assumptions     the same claims under what the paper does not specify
  ssdlab reproduce e \"Table 4\" --quick --readings all a table of claims by readings of the paper
  ssdlab reproduce all --quick --markdown > quick.md
  ssdlab reproduce a --traces /recordings             on the recordings themselves, at full length

Verdicts on measured rows compare effects (a factor minus 1): agrees means the same sign and half
to twice the size, stronger and weaker the same sign, opposite the other one; no difference
shown means that the interval over seeds includes zero. Only steady runs are judged. Labels such as A2 or D1 are
readings of a paper: see docs/papers.")]
pub struct ReproduceArgs {
    /// A paper by letter or name: a (idle-chip), b (pagc), c (brr), d (fastgc), e (noc); or `all`
    #[arg(value_name = "PAPER")]
    pub paper: String,
    /// Its tables and figures, such as fig14a or \"Table II\"; all of them if none is named
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Use a smaller device and fewer requests; the output states both
    #[arg(long, help_heading = "Requests")]
    pub quick: bool,
    /// Directory of recordings to run in place of their models
    #[arg(long, value_name = "DIR", help_heading = "Requests")]
    pub traces: Option<PathBuf>,
    /// Format of the recordings, or NAME=FMT for one of them, such as financial1=disksim; may be repeated [default:
    /// detected file by file]
    #[arg(long, value_name = "[NAME=]FMT", requires = "traces", help_heading = "Requests")]
    pub format: Vec<String>,
    /// At most this many requests of each workload
    #[arg(long, value_name = "N", value_parser = amount, help_heading = "Requests")]
    pub limit: Option<u64>,
    /// Run everything under each of the paper's open assumptions too, and say under which a claim comes out
    #[arg(long, help_heading = "Simulation")]
    pub assumptions: bool,
    /// Judge every claim under these readings of the paper too (named sets of what it leaves open), or under `all`
    #[arg(
        long,
        value_name = "all|NAME,...",
        value_delimiter = ',',
        conflicts_with = "assumptions",
        help_heading = "Simulation"
    )]
    pub readings: Vec<String>,
    /// Calibrate arrivals to the level that the paper prints: each workload's arrival times have a factor, which is stated
    #[arg(long, conflicts_with = "count_only", help_heading = "Requests")]
    pub load: bool,
    /// Write the factors that were found, with those that come with the papers, as TOML
    #[arg(long, value_name = "FILE.toml", help_heading = "Results")]
    pub fits: Option<PathBuf>,
    /// Print how it is run, as text for the appendix of a paper, and run nothing
    #[arg(long, conflicts_with_all = ["assumptions", "readings", "fits", "markdown", "csv", "json", "report"], help_heading = "Results")]
    pub methods: bool,
    /// Number of seeds of each run, from --seed on [default: 5; 1 with --quick, --assumptions or --readings]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100), help_heading = "Simulation")]
    pub seeds: Option<u64>,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// The form of the tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
}

/// The form of the results of several runs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub struct TableArgs {
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "csv")]
    pub markdown: bool,
    /// Print the table as CSV, with all figures
    #[arg(long)]
    pub csv: bool,
    /// Write all figures as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

impl TableArgs {
    /// The file that `--json` names.
    pub fn json_file(&self) -> Option<&Path> {
        given(self.json.as_ref())
    }

    /// Whether JSON goes to standard output, and the file if it goes to one.
    ///
    /// # Errors
    /// Another form would go to standard output too.
    pub fn json_output(&self) -> Result<(bool, Option<Output>)> {
        let to_stdout = self.json.as_deref() == Some(Path::new("-"));
        if to_stdout && (self.csv || self.markdown) {
            return Err(Error::usage("--json - and another form on standard output").help("write the JSON into a file"));
        }
        let file = self.json_file().map(Output::create).transpose()?;
        Ok((to_stdout, file))
    }
}

/// How several runs are simulated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulation")]
pub struct HowArgs {
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_parser = choice(CHECKS), default_value = "sampled")]
    pub check: Check,
    /// Simulate without time: the same placement, map and GC, but no latencies
    #[arg(long)]
    pub count_only: bool,
    /// Runs in parallel; results do not depend on it [default: one per core, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,
    /// Memory limit of all devices together [default: 80 % of free memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory_limit: Option<u64>,
    /// Suppress progress and remarks on standard error; errors are still printed
    #[arg(long)]
    pub quiet: bool,
}

impl HowArgs {
    /// How one run is simulated.
    pub fn how(&self) -> How {
        let HowArgs { seed, check, count_only, memory_limit, .. } = *self;
        How { seed, check, count_only, memory_limit }
    }

    /// The options of a sweep.
    pub fn plan(&self) -> Plan {
        let HowArgs { seed: _, check, count_only, jobs, memory_limit, quiet: _ } = *self;
        Plan { check, count_only, jobs, memory_limit }
    }
}
