//! The command line: its doc comments are the help and the man page.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Reading, Requests, When};
use ssdlab_lab::output::Output;
use ssdlab_lab::results::timeline::{Span, To};
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::Sources;
use ssdlab_lab::variants::points::Plan;
use ssdlab_sim::Check;
use ssdlab_sim::units::Nanos;
use ssdlab_trace::{Format, LbaPolicy, OnBadLine, OpCodes, Scale, TimeOrder, WithinSecond};

/// Trace-driven, event-driven SSD simulation: where every nanosecond of every request went.
#[derive(Debug, Parser)]
#[command(name = "ssdlab", version, max_term_width = 110)]
#[command(after_help = "Examples:
  ssdlab run --workload quickstart                          a first result
  ssdlab run --trace hm_0.csv.gz --preset nvme-tlc          replay a recording on a modern drive
  ssdlab run --trace hm_0.csv.gz --set schemes.victim=fifo  change one key
  ssdlab compare --workload quickstart --vary schemes.victim=greedy,fifo   one table, with ratios
  ssdlab config show --preset pagc                          every value and where it comes from

Exit status: 0 done, 2 command line or configuration, 3 trace data, 4 files, 5 an invariant failed, 130 interrupted,
129 hung up, 143 terminated.")]
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
    /// Simulate the same requests on several configurations: one table, each variant beside the first
    Compare(Box<CompareArgs>),
    /// Run what a paper ran, and print its tables and figures beside ours
    Reproduce(Box<ReproduceArgs>),
    /// Show, check or describe a configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at, judge, convert or generate traces
    #[command(subcommand)]
    Trace(Box<TraceCommand>),
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
    /// Print the manual page, or write one a command into a directory
    #[command(hide = true)]
    Manpage {
        /// Where to write them
        directory: Option<PathBuf>,
    },
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
        Sources { preset: self.preset.clone(), files: self.files.clone(), sets: self.sets.clone(), varied: Vec::new() }
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
    /// Print every key with its meaning, values and default, as Markdown
    Reference,
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenArg {
    /// At the times of the trace or workload
    Arrival,
    /// A new one whenever one of `device.queue_depth` completes
    Closed,
}

impl From<WhenArg> for When {
    fn from(when: WhenArg) -> When {
        match when {
            WhenArg::Arrival => When::Arrival,
            WhenArg::Closed => When::Closed,
        }
    }
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

impl From<CheckLevel> for Check {
    fn from(level: CheckLevel) -> Check {
        match level {
            CheckLevel::Off => Check::Off,
            CheckLevel::Sampled => Check::Sampled,
            CheckLevel::Full => Check::Full,
        }
    }
}

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
    /// Where recordings lie: a workload that models one (hm_0, Financial1, ...) gives way to the file of that name there,
    /// such as DIR/hm_0.csv.gz; without one the model runs, and says that it is a model
    #[arg(long, value_name = "DIR", requires = "workload")]
    pub traces: Option<PathBuf>,
    /// How the trace is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// At most this many requests over all loops
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Replay the trace this many times, one after the other
    #[arg(long = "loop", value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub loops: u32,
    /// Multiply arrival times by this: a decimal such as 0.5, or a ratio such as 1/3
    #[arg(long, value_name = "X")]
    pub time_scale: Option<Scale>,
    /// When requests arrive: arrival (at the times of the trace) or closed (a new one whenever one of device.queue_depth
    /// completes) [default: arrival, or closed where the workload says so]
    #[arg(long, value_name = "arrival|closed", value_enum, hide_possible_values = true)]
    pub replay: Option<WhenArg>,
    /// What becomes of requests beyond the end of the device: error (stop, and say what would fit), wrap (modulo the
    /// capacity), clip (left out) or dense (touched pages renumbered in the order of first touch)
    #[arg(long, value_name = "error|wrap|clip|dense", default_value = "error")]
    pub lba_policy: LbaPolicy,
}

impl InputArgs {
    /// The requests that are asked for, if any are.
    pub fn requests(&self) -> Option<Requests> {
        let from = match (&self.trace, &self.workload) {
            (Some(path), _) => Origin::Trace(path.clone()),
            (None, Some(name)) => Origin::Workload { name: name.clone(), recordings: self.traces.clone() },
            (None, None) => return None,
        };
        Some(Requests {
            from,
            reading: self.reading.reading(),
            limit: self.limit,
            loops: self.loops,
            time_scale: self.time_scale,
            replay: self.replay.map(When::from),
            lba_policy: self.lba_policy,
        })
    }
}

/// Requests that a command cannot do without.
///
/// # Errors
/// There are none.
pub fn needed(requests: Option<Requests>) -> Result<Requests> {
    requests.ok_or_else(|| Error::usage("no requests").help("give --trace FILE or --workload NAME"))
}

/// How a recorded trace is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading a trace")]
pub struct ReadingArgs {
    /// Format: auto, msr, spc, ssdsim, mqsim, disksim, blkparse, fio, alibaba, tencent, systor, vscsi, diskmon, blkreplay,
    /// parquet, or columns:<map> such as columns:time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space
    #[arg(long, value_name = "FMT", default_value = "auto")]
    pub format: String,
    /// Only this device (disk, volume, unit) of the trace
    #[arg(long, value_name = "ID")]
    pub device: Option<String>,
    /// What becomes of lines that can't be read: error, or skip=N to pass over at most N
    #[arg(long, value_name = "error|skip=N", default_value = "error")]
    pub on_bad_line: OnBadLine,
    /// What becomes of arrivals that go back in time: error (stop, unless the step is small), keep (a gap of zero), clamp
    /// (moved up to the latest arrival) or sort (within a bounded window)
    #[arg(long, value_name = "error|keep|clamp|sort", default_value = "error")]
    pub time_order: TimeOrder,
    /// Which operation code means a read in SSDsim and MQSim traces
    #[arg(long, value_name = "read-is-one|read-is-zero", default_value = "read-is-one")]
    pub op_codes: OpCodes,
    /// When requests arrive whose trace counts whole seconds (tencent): once (all at the start, as recorded) or even (at
    /// equal distances over their second)
    #[arg(long, value_name = "once|even", default_value = "once")]
    pub within_second: WithinSecond,
    /// Largest read or write that is believed
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    pub max_request: u64,
}

impl ReadingArgs {
    /// As the readers' options.
    pub fn reading(&self) -> Reading {
        Reading {
            format: self.format.clone(),
            device: self.device.clone(),
            on_bad_line: self.on_bad_line,
            time_order: self.time_order,
            op_codes: self.op_codes,
            within_second: self.within_second,
            max_request: self.max_request,
        }
    }
}

/// The file that an option names; none for `-`, which is a standard stream.
pub fn given(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path).filter(|path| path.as_os_str() != "-")
}

fn size(text: &str) -> std::result::Result<u64, String> {
    text.parse::<ssdlab_sim::units::Bytes>().map(|bytes| bytes.0)
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
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle looks at; results don't depend on it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = CheckLevel::Sampled, help_heading = "Simulation")]
    pub check: CheckLevel,
    /// Carry out every request at once: the same placement, map and collections, but no time and no latencies
    #[arg(long, conflicts_with_all = ["requests", "series", "timeline"])]
    pub count_only: bool,
    /// Most memory that the device may take [default: 80 % of what the machine has free]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Simulation")]
    pub memory_limit: Option<u64>,
    /// Write the summary as JSON; `-` is standard output, alone
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Write one row a request: times, latency and its causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub requests: Option<PathBuf>,
    /// Write one row a window of simulated time: rates, latencies, flash work, GC, causes
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub series: Option<PathBuf>,
    /// Length of the windows of --series
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "series", help_heading = "Results")]
    pub window: Nanos,
    /// Write what every plane, channel and request did when, as a Perfetto trace for ui.perfetto.dev; `-` prints a chart
    /// of a tiny run
    #[arg(long, value_name = "FILE|-", help_heading = "Results")]
    pub timeline: Option<PathBuf>,
    /// Only this part of simulated time in the timeline, such as 10ms..12.5ms or 1s..
    #[arg(long, value_name = "FROM..TO", requires = "timeline", help_heading = "Results")]
    pub timeline_window: Option<Span>,
    /// Write one row a block at the end of the run: erases, valid pages, state; print how they are spread
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub blocks: Option<PathBuf>,
    /// Write what the simulation itself cost: time, memory, speed
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub perf: Option<PathBuf>,
    /// No progress, no remarks on standard error; errors still
    #[arg(long, help_heading = "Results")]
    pub quiet: bool,
}

impl RunArgs {
    /// How it is simulated.
    pub fn how(&self) -> How {
        let (seed, count_only, memory_limit) = (self.seed, self.count_only, self.memory_limit);
        How { seed, check: self.check.into(), count_only, memory_limit }
    }

    /// Files to write; what goes to standard output is none.
    pub fn outputs(&self) -> Outputs {
        let timeline = self.timeline.as_ref().map(|path| match given(Some(path)) {
            Some(path) => To::File(path.into()),
            None => To::Chart,
        });
        Outputs {
            json: given(self.json.as_ref()).map(Path::to_path_buf),
            requests: self.requests.clone(),
            series: self.series.as_ref().map(|path| (path.clone(), self.window)),
            timeline: timeline.map(|to| (to, self.timeline_window)),
            blocks: self.blocks.clone(),
            perf: self.perf.clone(),
        }
    }
}

/// `ssdlab compare`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab compare --workload quickstart --set precondition.mode=random --vary schemes.victim=greedy,fifo,rga
  ssdlab compare --trace web.csv.zst --vary preset=default,nvme-tlc --lba-policy dense
  ssdlab compare --workload quickstart --vary gc.threshold=0.02,0.05 --vary 'schemes={},{collector=\"queued\"}'
  ssdlab compare --workload quickstart --vary gc.time=real,none --repeat 5 --markdown

A variant that breaks a rule of the configuration has a row that says which. Exit status as with run; 2 if the first
variant, which the others are measured by, is refused itself.")]
pub struct CompareArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Values of a key to compare, such as schemes.victim=greedy,fifo; the first one is what the others are measured by.
    /// A value may be an inline table; KEY may be `preset` or `file` (a configuration over all others). Several --vary:
    /// every combination
    #[arg(long, value_name = "KEY=V1,V2,...", help_heading = "Variants")]
    pub vary: Vec<String>,
    /// Run every variant with this many seeds, from --seed on, and give 95 % confidence intervals of the differences
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Variants")]
    pub repeat: u64,
    /// Most runs
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Variants")]
    pub max_points: u64,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// The form of the table.
    #[command(flatten)]
    pub table: TableArgs,
    /// Write one row a variant with all figures
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub rows: Option<PathBuf>,
    /// Write the summary of every run into this directory, as NUMBER-SEED.json
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub summaries: Option<PathBuf>,
}

/// `ssdlab reproduce`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab reproduce d \"Table 1\" \"text 2.2\"           parameters and exact values of paper D: a moment
  ssdlab reproduce idle-chip fig14a fig15a --quick    two figures on a smaller device
  ssdlab reproduce all --quick --markdown > docs/reproduction.md
  ssdlab reproduce a --traces /recordings             on the recordings themselves, at full length

Verdicts on what was measured compare effects (a factor less 1): agrees is the same sign and at least half the size,
weaker the same sign and less, opposite the other sign. Levels agree within a factor of two.")]
pub struct ReproduceArgs {
    /// A paper by letter or name: a (idle-chip), b (pagc), c (brr), d (fastgc), e (noc); or `all`
    #[arg(value_name = "PAPER")]
    pub paper: String,
    /// Its tables and figures, such as fig14a or \"Table II\"; all of them if none is named
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// A smaller device and fewer requests, as the output states
    #[arg(long, help_heading = "Requests")]
    pub quick: bool,
    /// Where recordings lie, to run in the place of their models
    #[arg(long, value_name = "DIR", help_heading = "Requests")]
    pub traces: Option<PathBuf>,
    /// Format of the recordings, or with a recording's name of this one, such as financial1=disksim; may be repeated
    /// [default: found out file by file]
    #[arg(long, value_name = "[NAME=]FMT", requires = "traces", help_heading = "Requests")]
    pub format: Vec<String>,
    /// At most this many requests of each workload
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Requests")]
    pub limit: Option<u64>,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// The form of the tables.
    #[command(flatten)]
    pub table: TableArgs,
}

/// The form of what several runs come to.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub struct TableArgs {
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "csv")]
    pub markdown: bool,
    /// Print the table as CSV, with all figures
    #[arg(long)]
    pub csv: bool,
    /// Write all figures as JSON; `-` is standard output, alone
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

impl TableArgs {
    /// The file that `--json` names.
    pub fn json_file(&self) -> Option<&Path> {
        given(self.json.as_ref())
    }

    /// Whether JSON alone goes to standard output; if it goes to a file, that file.
    ///
    /// # Errors
    /// Another form would go there too.
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
    /// How much the oracle looks at; results don't depend on it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = CheckLevel::Sampled)]
    pub check: CheckLevel,
    /// Carry out every request at once: the same placement, map and collections, but no time and no latencies
    #[arg(long)]
    pub count_only: bool,
    /// Runs at a time; results don't depend on it [default: one a core, as far as memory goes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,
    /// Most memory that the devices may take [default: 80 % of what the machine has free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory_limit: Option<u64>,
    /// No progress, no remarks on standard error; errors still
    #[arg(long)]
    pub quiet: bool,
}

impl HowArgs {
    /// As the engine of many runs takes it.
    pub fn plan(&self) -> Plan {
        let HowArgs { seed: _, check, count_only, jobs, memory_limit, quiet: _ } = *self;
        Plan { check: check.into(), count_only, jobs, memory_limit }
    }
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
        /// Write the figures as JSON; `-` is standard output, alone
        #[arg(long, value_name = "FILE|-")]
        json: Option<PathBuf>,
    },
    /// Read a trace to its end without simulating, and say what is odd about it
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
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
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
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
        /// Bytes of the device that it is made for
        #[arg(long, value_name = "SIZE", default_value = "14GiB", value_parser = size)]
        capacity: u64,
        /// Bytes of a page of that device
        #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size)]
        page_size: u64,
        /// Seed of every random choice
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
}
