//! `ssdlab serve`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::layout::facts;
use ssdlab_lab::results::histograms::Tail;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::sheet::Place as To;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::text::{count, duration};
use ssdlab_serve::{Address, Lag, Place, Server, Speed};
use ssdlab_sim::units::Nanos;

use crate::args::shared::size;
use crate::args::{CheckLevel, ConfigArgs, ReportOptions, given};

use crate::progress::Progress;
use crate::{output, signals, table};

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
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// How much the oracle checks; results do not depend on it
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = CheckLevel::Sampled, help_heading = "Simulation")]
    pub check: CheckLevel,
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

impl ServeArgs {
    fn settings(&self, line: &str) -> Result<ssdlab_serve::Settings> {
        let at = match (&self.unix, &self.tcp) {
            (Some(path), _) => Address::Unix(path.clone()),
            (None, Some(address)) => address.clone(),
            (None, None) => return Err(Error::usage("no address").help("give --unix PATH or --tcp PORT")),
        };
        let place = |path: &Option<PathBuf>| path.clone().map(To::File);
        let (window, tail) = (self.window, self.json.as_deref() != Some(Path::new("-")));
        let outputs = Outputs::default()
            .with_some(given(self.json.as_ref()).map(|path| SummaryFile(path.into())))
            .with_some(place(&self.requests).map(RequestRows))
            .with_some(place(&self.series).map(|place| WindowRows { place, window }))
            .with_some(tail.then_some(Tail))
            .with_some(self.report.wanted(&self.short(line)));
        Ok(ssdlab_serve::Settings {
            drive: Settings::load(&self.config.sources()?)?,
            how: How { seed: self.seed, check: self.check.into(), count_only: false, memory_limit: self.memory_limit },
            at,
            export: self.export.clone(),
            speed: self.speed,
            max_lag: Duration::from_nanos(self.max_lag.0),
            data: self.data.clone().map_or(Place::Memory, Place::File),
            record: self.record.clone(),
            outputs,
        })
    }

    /// The command line without folders, so that a report says nothing of the machine.
    fn short(&self, line: &str) -> String {
        let paths = [&self.unix, &self.data, &self.record].into_iter().flatten();
        paths.fold(line.to_string(), |line, path| match (path.to_str(), path.file_name()) {
            (Some(whole), Some(base)) => line.replace(whole, &base.to_string_lossy()),
            _ => line,
        })
    }
}

/// Serves until SIGINT or SIGTERM, then writes the results and prints.
pub(crate) fn serve(args: &ServeArgs, line: &str) -> Result<()> {
    let settings = args.settings(line)?;
    let about = settings.clone();
    let quiet = args.quiet;
    let server = Server::start(settings, move |text| {
        if !quiet {
            output::remark(text);
        }
    })?;
    let stopper = server.stopper();
    signals::at_first(move || stopper.stop());
    if !quiet {
        output::remark(about.about(server.capacity_bytes(), server.address()));
    }
    let mut served = server.finish(&mut Progress::new(quiet))?;
    let lag = served.lag;
    match &mut served.outcome {
        None => output::remark("no request but flushes came, so there are no results"),
        Some(done) => {
            if !quiet {
                done.outcome.remarks.iter().chain(&done.remarks).for_each(output::remark);
            }
            done.publish()?;
            if args.json.as_deref() == Some(Path::new("-")) {
                output::print(&done.outcome.json())?;
            } else {
                let context = table::Context {
                    workload: done.outcome.about.clone(),
                    preset: args.config.preset.clone(),
                    capacity: done.outcome.capacity_bytes,
                    blocks: Vec::new(),
                    chart: String::new(),
                    tail: done.value().map_or(Vec::new(), table::tails),
                };
                let mut text = table::render(&done.outcome.summary, &context);
                if let Some(lag) = &lag {
                    text.push('\n');
                    facts(&mut text, &told(lag));
                }
                output::print(&text)?;
            }
        }
    }
    match lag.filter(|lag| args.strict && lag.late_seconds > 0) {
        None => Ok(()),
        Some(lag) => {
            let message =
                format!("not real time: more than 1 % of the replies were late in {} seconds", lag.late_seconds);
            Err(Error::new(Kind::Invariant, message)
                .help("use a lower --speed, a larger --max-lag, or an idle machine"))
        }
    }
}

/// How late replies left.
fn told(lag: &Lag) -> Vec<(&'static str, String)> {
    let time = |ns: u64| duration(ns as f64);
    let (p50, p99, max) = (time(lag.p50_ns), time(lag.p99_ns), time(lag.max_ns));
    let replies = count(lag.replies);
    vec![
        (
            "lag",
            format!(
                "p50 {p50}, p99 {p99}, max {max}: how late {replies} replies left, in real time; latencies above are simulated and do not contain it"
            ),
        ),
        (
            "late",
            format!(
                "{} seconds in which more than 1 % of the replies were later than --max-lag",
                count(lag.late_seconds)
            ),
        ),
    ]
}
