//! `ssdlab serve`

use std::path::{Path, PathBuf};
use std::time::Duration;

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
use ssdlab_serve::{Address, Lag, Server};

use crate::args::given;
use crate::args::serve::ServeArgs;

use crate::progress::Progress;
use crate::{output, signals, table};

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
            how: How { seed: self.seed, check: self.check, count_only: false, memory_limit: self.memory_limit },
            at,
            export: self.export.clone(),
            speed: self.speed,
            max_lag: Duration::from_nanos(self.max_lag.0),
            data: self.data.clone(),
            control: self.control.clone(),
            record: self.record.clone(),
            outputs,
        })
    }

    /// The command line without folders, so that a report says nothing of the machine.
    fn short(&self, line: &str) -> String {
        let paths = [&self.unix, &self.data, &self.record, &self.control].into_iter().flatten();
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
    let stopper = server.stopper.clone();
    signals::at_first(move || stopper.stop());
    if !quiet {
        output::remark(about.about(server.capacity_bytes, &server.address));
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
                    tail: done.value().map_or(Vec::new(), table::tails),
                    ..table::Context::default()
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
