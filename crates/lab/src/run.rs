//! One run, in three steps that each check as much as they can: [`Run::new`] (does the device fit into memory), [`Run::open`]
//! (are there requests), [`Ready::simulate`] (can the results be written, do the requests fit the device; then the run).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Observer};

use crate::drive::{Device, Listener, Tick, Watchers, interrupted, replay};
use crate::error::{Error, Result};
use crate::files::Files;
use crate::input::{self, Opened, Requests};
use crate::memory;
use crate::outcome::{Outcome, json};
use crate::output::{Finished, Output};
use crate::perf::{self, Moment, Perf};
use crate::report;
use crate::report::inputs::Inputs;
use crate::report::page::Page;
use crate::results;
use crate::results::blocks::{self, Spread};
use crate::results::counted::{Counted, Writes};
use crate::results::dies::{self, Dies};
use crate::results::histograms::Histograms;
use crate::results::requests::Rows;
use crate::results::series::Series;
use crate::results::sheet::{Ended, Frame, Most, Place, Sheet};
use crate::results::timeline::{Chart, Ended as Drawn, Span, Timeline, To};
use crate::settings::Settings;
use crate::theory::Outlook;

/// How a run is simulated.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Seed of every random choice.
    pub seed: u64,
    /// How much the oracle looks at.
    pub check: Check,
    /// Requests complete in zero time: no latencies.
    pub count_only: bool,
    /// Memory limit of the device in bytes; by default four fifths of the free memory.
    pub memory_limit: Option<u64>,
}

impl How {
    /// The memory that is left for rows beside the device: the limit on a table of requests. None where memory is not limited.
    pub fn room(&self, config: &Config) -> Option<Most> {
        let limit = self.memory_limit.or_else(perf::memory_limit)?;
        let other_bytes = Outlook::new(config, self.check == Check::Full).memory.total();
        Some(Most { rows_bytes: limit.saturating_sub(other_bytes), other_bytes })
    }
}

impl Default for How {
    /// Seed 1, sampled checks, simulated time.
    fn default() -> Self {
        How { seed: 1, check: Check::Sampled, count_only: false, memory_limit: None }
    }
}

/// The arguments of the command line that repeats a run, without its results.
pub fn arguments(settings: &Settings, requests: &Requests, how: How) -> Vec<String> {
    let mut all = vec!["run".to_string()];
    all.extend(settings.arguments().into_iter().flat_map(|set| ["--set".into(), set]));
    all.extend(requests.arguments());
    all.extend(["--seed".into(), how.seed.to_string(), "--check".into(), format!("{:?}", how.check).to_lowercase()]);
    all.extend(how.count_only.then(|| "--count-only".into()));
    all
}

/// A report to write.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// How it looks.
    pub page: Page,
}

/// What a run gives in addition to its results. No file appears before [`RunOutcome::publish`].
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The summary as JSON.
    pub json: Option<PathBuf>,
    /// One row per request.
    pub requests: Option<Place>,
    /// One row per window of simulated time, and the length of the windows.
    pub series: Option<(Place, Nanos)>,
    /// Rows by windows of host writes, in millionths of a drive write: for a run without time. They may have a place of their own.
    pub counted: Option<(Option<Place>, u64)>,
    /// Whether a file beside that of the series has a row per window and die. The series is then a file.
    pub series_dies: bool,
    /// The timeline, and the part of simulated time that it covers; by default all of it.
    pub timeline: Option<(To, Option<Span>)>,
    /// One row per block at the end of the run.
    pub blocks: Option<Place>,
    /// One row per bucket of latencies and waits, with sums of causes.
    pub histograms: Option<Place>,
    /// The slowest requests, at most [`SLOWEST`]: one row each, the slowest first.
    pub slowest: Option<Place>,
    /// Whether latencies by bucket are returned with the results.
    pub tail: bool,
    /// The report.
    pub report: Option<Report>,
    /// The cost of the simulation itself, as JSON.
    pub perf: Option<PathBuf>,
    /// Whether each tenant is also run with the device for itself, for its slowdown. The device is built once more for each.
    pub alone: bool,
}

/// Receives the progress of a run, in the thread that simulates.
pub trait Progress {
    /// The device is about to be built and filled.
    fn building(&mut self) {}
    /// A choice that the options left open; the requests come next.
    fn chosen(&mut self, _remark: &str) {}
    /// After each [`TICK`](crate::drive::TICK) requests; `Break` stops the run.
    fn at(&mut self, _tick: Tick) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Asked every few hundred microseconds, also while the device is filled and while the last requests complete; `Break`
    /// stops the run.
    fn go_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A law of the simulation is broken at this simulated time; the panic with its text goes on after this.
    fn broken(&mut self, _at: Nanos) {}
    /// The last request has completed; results are written next.
    fn simulated(&mut self) {}
}

/// Ignores progress.
impl Progress for () {}

/// A run's progress as what the replay reports.
struct Heard<'p>(&'p mut dyn Progress);

impl Listener for Heard<'_> {
    fn tick(&mut self, tick: Tick) -> ControlFlow<()> {
        self.0.at(tick)
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        self.0.go_on()
    }
}

/// Requests of [`Outputs::slowest`].
pub const SLOWEST: usize = 1_000;

/// Builds and fills the device of a run; asks the function given whether to go on.
pub type Build<'b> = dyn FnMut(&mut dyn FnMut() -> ControlFlow<()>) -> Result<Device> + 'b;

/// A run whose device fits into memory.
pub struct Run {
    settings: Settings,
    how: How,
    start: Moment,
}

/// A run with requests.
pub struct Ready {
    run: Run,
    opened: Opened,
}

/// The results of a run, and the extra results that were requested.
pub struct RunOutcome {
    /// The results.
    pub outcome: Outcome,
    /// The distribution of valid pages and erases, if blocks were requested.
    pub spread: Option<Spread>,
    /// The timeline, if a chart was requested.
    pub chart: Option<Chart>,
    /// Latencies and waits by bucket, if they were requested.
    pub histograms: Option<Histograms>,
    /// Remarks of the report: what was left out to keep it small.
    pub remarks: Vec<String>,
    /// The cost of the simulation itself.
    pub perf: Perf,
    /// Ids and places of the device.
    pub geometry: Geometry,
    /// One row per request, if they were wanted in memory.
    pub requests: Option<Frame>,
    /// One row per window of time, if they were wanted in memory.
    pub series: Option<Frame>,
    /// What was counted by windows of host writes.
    pub counted: Vec<Counted>,
    /// One row per block, if they were wanted in memory.
    pub blocks: Option<Frame>,
    /// One row per bucket of latencies and waits, if they were wanted in memory.
    pub buckets: Option<Frame>,
    files: Vec<Finished>,
}

impl Run {
    /// A run of a configuration. Its costs are measured from `start` on.
    ///
    /// # Errors
    /// The device needs more memory than it may take.
    pub fn new(settings: Settings, how: How, start: Moment) -> Result<Run> {
        let limit = how.memory_limit.or_else(perf::memory_limit);
        memory::fits(&settings.config, how.check, limit)
            .map_err(|large| large.error(|refusal| settings.refuse(refusal)))?;
        Ok(Run { settings, how, start })
    }

    /// Opens the requests.
    ///
    /// # Errors
    /// As [`input::open`].
    pub fn open(self, requests: &Requests) -> Result<Ready> {
        Ok(Ready { run: self, opened: input::open(requests)? })
    }
}

impl Ready {
    /// Simulates, and writes the files.
    ///
    /// # Errors
    /// A file is named twice or can't be written, the requests do not fit the device or can't be read, or `progress` stopped
    /// the run. In that case no file appears.
    pub fn simulate(self, outputs: &Outputs, progress: &mut dyn Progress) -> Result<RunOutcome> {
        self.simulate_watched(outputs, progress, None)
    }

    /// The same, watched by one more observer, which takes no samples.
    ///
    /// # Errors
    /// As [`Ready::simulate`].
    pub fn simulate_watched(
        self,
        outputs: &Outputs,
        progress: &mut dyn Progress,
        also: Option<Box<dyn Observer>>,
    ) -> Result<RunOutcome> {
        let (settings, how) = (self.run.settings.clone(), self.run.how);
        let mut build = |go_on: &mut dyn FnMut() -> ControlFlow<()>| {
            let device = Device::new_while(&settings.config, how.seed, how.check, go_on);
            device.map_err(|error| settings.refuse(&error))?.ok_or_else(interrupted)
        };
        self.carry_out(&mut build, true, also, outputs, progress)
    }

    /// The same on a device that `build` makes, filled as the configuration says. The trace is read by this thread.
    ///
    /// # Errors
    /// Those of `build`, and as [`Ready::simulate`].
    pub fn simulate_on(
        self,
        build: &mut Build<'_>,
        outputs: &Outputs,
        progress: &mut dyn Progress,
    ) -> Result<RunOutcome> {
        self.carry_out(build, false, None, outputs, progress)
    }

    /// `ahead`: whether another thread reads the trace.
    fn carry_out(
        self,
        build: &mut Build<'_>,
        ahead: bool,
        also: Option<Box<dyn Observer>>,
        outputs: &Outputs,
        progress: &mut dyn Progress,
    ) -> Result<RunOutcome> {
        let Ready { run: Run { settings, how, start }, opened } = self;
        let timed = [
            outputs.requests.is_some(),
            outputs.series.is_some(),
            outputs.histograms.is_some(),
            outputs.slowest.is_some(),
            outputs.timeline.is_some(),
        ];
        if how.count_only && timed.contains(&true) {
            return Err(Error::usage(
                "--count-only has no times, so it gives neither requests nor series by time nor histograms nor a timeline",
            )
            .help("leave it out, or the other options"));
        }
        let mut files = Files::new();
        settings.sources().read_by(&mut files);
        opened.read_by(&mut files);
        outputs.register(&mut files)?;
        // Outputs are created before the run, so that a directory without write permission is reported at once.
        let tenants = opened.tenants().unwrap_or_else(|| settings.config.tenants());
        let begun = Begun::create(outputs, &settings, &tenants)?;
        if let (Some(rows), Some(expected)) = (&begun.rows, opened.expected()) {
            rows.expects(expected)?;
        }

        progress.building();
        let config = &settings.config;
        if how.count_only {
            config.check_count_only().map_err(|error| settings.refuse(&error))?;
        }
        let alone = outputs.alone.then(|| alone(opened.requests(), &tenants, build, (config, how), progress));
        let alone = alone.transpose()?;
        let mut device = build(&mut || progress.go_on())?;
        let mut input = opened.fit(&device.target(config.device.queue_depth, how.seed))?;
        if ahead {
            input.set_ahead();
        }
        if how.count_only {
            device.set_timeless();
        }
        device.prepare(&input)?;
        if let (Some(series), Some(span)) = (&begun.series, input.span()) {
            series.lasts(span)?;
        }
        if let Some(chosen) = input.chosen() {
            progress.chosen(&chosen);
        }
        let Begun {
            json: json_file,
            mut rows,
            series,
            counted,
            dies,
            timeline,
            blocks: block_rows,
            histograms: buckets,
            report,
            perf: perf_file,
        } = begun;
        if outputs.tail || buckets.is_some() || report.is_some() {
            device.collect_histograms();
        }
        if outputs.slowest.is_some() {
            device.collect_slowest(SLOWEST);
        }
        let mut watchers = Watchers::new(rows.is_some(), series, dies, timeline);
        watchers.also = also;
        device.watch(watchers);
        if let Some(writes) = counted {
            device.count_writes(writes);
        }

        let simulated_from = Moment::now();
        let replayed =
            catch_unwind(AssertUnwindSafe(|| replay(&mut device, input, rows.as_mut(), &mut Heard(progress))));
        let (submitted, input) = replayed.unwrap_or_else(|panic| {
            progress.broken(device.now());
            resume_unwind(panic)
        })?;
        let simulated_to = Moment::now();
        progress.simulated();
        let shortcuts = perf_file.is_some().then(|| device.shortcuts());

        let mut outcome = Outcome::new(&device, &input, config, how.seed);
        if let Some(alone) = &alone {
            outcome.compare_alone(alone);
        }
        let summary = if json_file.is_some() || report.is_some() { outcome.json() } else { String::new() };
        let histograms = device.histograms();
        let mut files = Vec::new();
        let mut inputs = Inputs {
            run: report::inputs::Run { about: outcome.about.clone(), ..Default::default() },
            ..Inputs::default()
        };
        if let Some(file) = json_file {
            files.push(written(file, &summary)?);
        }
        let requests = kept(&mut files, rows.map(Rows::finish))?;
        let (watchers, end) = device.unwatch();
        let name = outputs.series.as_ref().and_then(|(place, _)| place.path());
        let series = watchers.series.map(|series| series.finish(&end));
        if let (Some(Ok(Ended::File(file))), true) = (&series, report.is_some()) {
            inputs.run.series = again(file, name)?;
        }
        let mut series = kept(&mut files, series)?;
        let mut counted = Vec::new();
        if let Some((writes, end)) = device.take_writes() {
            let (sheet, rows) = writes.finish(end)?;
            counted = rows;
            series = kept(&mut files, sheet.map(Ok))?.or(series);
        }
        if let Some(dies) = watchers.dies {
            let file = dies.finish(&end)?;
            if report.is_some() {
                inputs.run.dies = again(&file, name)?;
            }
            files.push(file);
        }
        let mut chart = None;
        match watchers.timeline.map(Timeline::finish).transpose()? {
            Some(Drawn::File(file)) => {
                if report.is_some() {
                    inputs.run.timeline = file.content().map(|path| report::timeline::read(path, None)).transpose()?;
                }
                files.push(file);
            }
            Some(Drawn::Chart(ended)) => chart = Some(ended),
            None => {}
        }
        let spread = block_rows.is_some().then(|| Spread::of(device.flash(), device.geometry()));
        let blocks = kept(&mut files, block_rows.map(|sheet| blocks::write(sheet, device.flash(), device.geometry())))?;
        let extras = settings.config.extra_causes();
        let buckets =
            buckets.zip(histograms.as_ref()).map(|(sheet, own)| results::histograms::write(sheet, own, &extras));
        let buckets = kept(&mut files, buckets)?;
        let slowest = outputs
            .slowest
            .as_ref()
            .map(|place| results::requests::slowest(place, device.slowest(), SLOWEST, &extras, &tenants));
        kept(&mut files, slowest)?;
        let mut remarks = Vec::new();
        if let (Some(file), Some(wanted)) = (report, &outputs.report) {
            inputs.run.summary = serde_json::from_str(&summary).ok();
            inputs.run.histograms = histograms.clone();
            inputs.run.blocks = Some(blocks::table(device.flash(), device.geometry()));
            let page = report::page::write(&inputs, &wanted.page)?;
            remarks = page.remarks;
            files.push(written(file, &page.html)?);
        }
        let perf =
            Perf::measure(start, (simulated_from, simulated_to), submitted, device.flash_operations(), shortcuts);
        if let Some(file) = perf_file {
            files.push(written(file, &json(&perf))?);
        }
        let geometry = device.geometry().clone();
        Ok(RunOutcome {
            outcome,
            spread,
            chart,
            histograms,
            remarks,
            perf,
            geometry,
            requests,
            series,
            counted,
            blocks,
            buckets,
            files,
        })
    }
}

impl RunOutcome {
    /// Makes the files visible, now that all of them are complete. Without this they are removed.
    ///
    /// # Errors
    /// A file can't be given its name.
    pub fn publish(&mut self) -> Result<()> {
        std::mem::take(&mut self.files).into_iter().try_for_each(Finished::publish)
    }
}

impl Outputs {
    /// Registers the files that are written.
    fn register(&self, files: &mut Files) -> Result<()> {
        let timeline = self.timeline.as_ref().and_then(|(to, _)| match to {
            To::File(path) => Some(path.as_path()),
            To::Chart => None,
        });
        let series = self.series.as_ref().and_then(|(place, _)| place.path());
        let counted = self.counted.as_ref().and_then(|(place, _)| place.as_ref()?.path());
        let dies = series.filter(|_| self.series_dies).map(dies::beside);
        files.write_all(&[
            ("--json", self.json.as_deref()),
            ("--requests", self.requests.as_ref().and_then(Place::path)),
            ("--series", series.or(counted)),
            ("--series-dies", dies.as_deref()),
            ("--timeline", timeline),
            ("--blocks", self.blocks.as_ref().and_then(Place::path)),
            ("--histograms", self.histograms.as_ref().and_then(Place::path)),
            ("slowest", self.slowest.as_ref().and_then(Place::path)),
            ("--report", self.report.as_ref().map(|report| report.path.as_path())),
            ("--perf", self.perf.as_deref()),
        ])
    }
}

/// Files being written.
struct Begun {
    json: Option<Output>,
    rows: Option<Rows>,
    series: Option<Series>,
    counted: Option<Writes>,
    dies: Option<Dies>,
    timeline: Option<Timeline>,
    blocks: Option<Sheet>,
    histograms: Option<Sheet>,
    report: Option<Output>,
    perf: Option<Output>,
}

impl Begun {
    fn create(outputs: &Outputs, settings: &Settings, tenants: &[String]) -> Result<Begun> {
        fn begin<T>(path: &Option<PathBuf>, create: impl FnOnce(&Path) -> Result<T>) -> Result<Option<T>> {
            path.as_deref().map(create).transpose()
        }
        let (geometry, extras) = (&settings.config.geometry, settings.config.extra_causes());
        let series = outputs.series.as_ref().filter(|_| outputs.series_dies);
        let wanted = series.and_then(|(place, window)| Some((place.path()?, *window)));
        Ok(Begun {
            json: begin(&outputs.json, Output::create)?,
            rows: outputs.requests.as_ref().map(|place| Rows::create(place, &extras, tenants)).transpose()?,
            series: outputs
                .series
                .as_ref()
                .map(|(place, window)| Series::create(place, *window, &extras, tenants))
                .transpose()?,
            counted: outputs
                .counted
                .as_ref()
                .map(|(place, window)| Writes::create(place.as_ref(), *window))
                .transpose()?,
            dies: wanted.map(|(path, window)| Dies::create(path, window)).transpose()?,
            timeline: outputs.timeline.as_ref().map(|(to, span)| Timeline::create(to, *span, geometry)).transpose()?,
            blocks: outputs.blocks.as_ref().map(blocks::create).transpose()?,
            histograms: outputs
                .histograms
                .as_ref()
                .map(|place| results::histograms::create(place, &extras))
                .transpose()?,
            report: outputs.report.as_ref().map(|report| Output::create(&report.path)).transpose()?,
            perf: begin(&outputs.perf, Output::create)?,
        })
    }
}

/// Runs each tenant with the device for itself. Returns their mean latencies, none without any request.
fn alone(
    requests: &Requests,
    tenants: &[String],
    build: &mut Build<'_>,
    (config, how): (&Config, How),
    progress: &mut dyn Progress,
) -> Result<Vec<Option<f64>>> {
    let refuse = |why: &str, help: &str| Err(Error::usage(format!("--alone: {why}")).help(help));
    if how.count_only {
        return refuse("--count-only has no times, so nothing slows a tenant down", "leave one of them out");
    }
    if tenants.is_empty() {
        return refuse("there are no tenants", "name them with --tenant, or give the device queues with nvme.queues");
    }
    if !requests.can_be_read_again() {
        return refuse("the trace can be read only once, but every run reads it", "save the trace to a file");
    }
    let mut one = |tenant: u8| {
        let mut device = build(&mut || progress.go_on())?;
        let mut input = input::open(requests)?.fit(&device.target(config.device.queue_depth, how.seed))?;
        input.set_only(tenant);
        device.prepare(&input)?;
        let (_, input) = replay(&mut device, input, None, &mut Heard(progress))?;
        let own = Outcome::new(&device, &input, config, how.seed).summary.tenants;
        Ok(own.and_then(|own| own.0[usize::from(tenant)].1.latency_ns.all.mean))
    };
    (0..tenants.len()).map(|tenant| one(tenant as u8)).collect()
}

/// The rows of a table that stay in memory; a file joins the others.
fn kept(files: &mut Vec<Finished>, ended: Option<Result<Ended>>) -> Result<Option<Frame>> {
    let (file, frame) = ended.transpose()?.map_or((None, None), Ended::parts);
    files.extend(file);
    Ok(frame)
}

/// A table of results read back before it is published.
fn again(file: &Finished, name: Option<&Path>) -> Result<Option<ssdlab_figures::figure::Table>> {
    let parquet = name.is_some_and(|name| name.extension().is_some_and(|ending| ending == "parquet"));
    file.content().map(|path| report::table::whole(path, parquet)).transpose()
}

fn written(mut file: Output, text: &str) -> Result<Finished> {
    file.put(text.as_bytes())?;
    file.finish()
}
