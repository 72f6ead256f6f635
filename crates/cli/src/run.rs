//! `ssdlab run`

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use ssdlab_sim::{Config, ConfigError};

use crate::args::{CheckLevel, RunArgs};
use crate::blocks;
use crate::drive::{Device, RequestOp, Watchers};
use crate::fault::{Fault, Result, Status};
use crate::files::{Files, given};
use crate::input::{self, Input, Next};
use crate::output::{self, Output};
use crate::perf::{self, Moment, Perf};
use crate::requests::Rows;
use crate::series::Series;
use crate::settings::Settings;
use crate::table;
use crate::text::size;
use crate::theory::Outlook;
use crate::timeline::Timeline;

/// Simulates and prints.
pub fn run(args: &RunArgs) -> Result<()> {
    let start = Moment::now();
    let settings = Settings::load(&args.config.sources())?;
    let limit = args.memory_limit.or_else(perf::memory_limit);
    fits_in_memory(&settings.config, args.check, limit).map_err(|error| settings.refuse(&error))?;
    let opened = input::open(&args.input)?;

    if args.json.as_deref() == Some(Path::new("-")) && args.timeline.as_deref() == Some(Path::new("-")) {
        return Err(Fault::usage("--json - and --timeline -: standard output carries one result")
            .help("write one of them into a file"));
    }

    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let json = given(args.json.as_ref());
    let mut files = Files::new();
    args.config.read_by(&mut files);
    opened.read_by(&mut files);
    files.write_all(&[
        ("--json", json),
        ("--requests", args.requests.as_deref()),
        ("--series", args.series.as_deref()),
        ("--timeline", given(args.timeline.as_ref())),
        ("--blocks", args.blocks.as_deref()),
        ("--perf", args.perf.as_deref()),
    ])?;
    // Outputs are begun before the work, so that a directory that can't be written to costs nobody an hour.
    let json = json.map(Output::create).transpose()?;
    let mut rows = args.requests.as_deref().map(Rows::create).transpose()?;
    let series = args.series.as_deref().map(|path| Series::create(path, args.window)).transpose()?;
    let geometry = &settings.config.geometry;
    let timeline = |path: &std::path::PathBuf| Timeline::create(path, args.timeline_window, geometry);
    let timeline = args.timeline.as_ref().map(timeline).transpose()?;
    let block_rows = args.blocks.as_deref().map(blocks::create).transpose()?;
    let perf_file = args.perf.as_deref().map(Output::create).transpose()?;

    let progress = Progress::new(args.quiet);
    progress.say("building the device");
    let mut device = Device::new(&settings.config, args.seed, args.check).map_err(|error| settings.refuse(&error))?;
    let mut input = opened.fit(&device, settings.config.device.queue_depth, args.seed)?;
    if input.closed() {
        device.set_closed();
    }
    if let (Some(series), Some(span)) = (&series, input.span()) {
        series.lasts(span)?;
    }
    if args.count_only {
        device.set_timeless();
    }
    if !args.quiet
        && let Some(chosen) = input.chosen()
    {
        progress.tell(&chosen);
    }
    device.watch(Watchers::new(rows.is_some(), series, timeline));

    let simulated_from = Moment::now();
    let submitted = replay(&mut device, &mut input, rows.as_mut(), &mut |n, share| progress.at(n, share))?;
    let simulated_to = Moment::now();
    progress.finish();

    let summary = device.summary(args.seed, settings.digest(), input.digest());
    let mut text = serde_json::to_string_pretty(&summary).expect("a summary is plain data");
    text.push('\n');
    let mut finished = Vec::new();
    if let Some(mut file) = json {
        file.put(text.as_bytes())?;
        finished.push(file.finish()?);
    }
    if let Some(rows) = rows {
        finished.push(rows.finish()?);
    }
    let (watchers, end) = device.unwatch();
    if let Some(series) = watchers.series {
        finished.push(series.finish(&end)?);
    }
    let mut chart = String::new();
    if let Some(timeline) = watchers.timeline {
        let file;
        (file, chart) = timeline.finish()?;
        finished.extend(file);
    }
    let mut histograms = Vec::new();
    if let Some(sheet) = block_rows {
        finished.push(blocks::write(sheet, device.flash(), device.geometry())?);
        histograms = blocks::histograms(device.flash(), device.geometry());
    }
    let cost = Perf::measure(start, (simulated_from, simulated_to), submitted, device.flash_operations());
    if let Some(mut file) = perf_file {
        let mut text = serde_json::to_string_pretty(&cost).expect("figures are plain data");
        text.push('\n');
        file.put(text.as_bytes())?;
        finished.push(file.finish()?);
    }
    if !args.quiet {
        for remark in input.remarks() {
            output::remark(remark);
        }
    }
    // All results are complete: now they appear.
    finished.into_iter().try_for_each(output::Finished::publish)?;
    if to_stdout {
        output::print(&text)?;
    } else {
        let context = table::Context {
            workload: input.about(),
            preset: args.config.preset.clone(),
            capacity: device.capacity_bytes(),
            blocks: histograms,
            chart,
        };
        output::print(&table::render(&summary, &context))?;
    }
    if !args.quiet {
        output::remark(&cost);
    }
    Ok(())
}

/// Feeds every request to the device and runs it dry. Now and then `tick` is told how many there were, and which share of
/// all that is, if it can be told. Returns how many there were.
pub(crate) fn replay(
    device: &mut Device,
    input: &mut Input,
    mut rows: Option<&mut Rows>,
    tick: &mut dyn FnMut(u64, Option<f64>),
) -> Result<u64> {
    let mut submitted = 0u64;
    let drain = |device: &mut Device, rows: &mut Option<&mut Rows>| match rows {
        Some(rows) => device.take_completed().into_iter().try_for_each(|row| rows.completed(row)),
        None => Ok(()),
    };
    while let Some(next) = input.pull().map_err(|fault| fault.unless(device.take_fault()))? {
        match next {
            Next::Skip => device.skip(),
            Next::Request(request) => {
                if let Some(rows) = &mut rows
                    && request.op != RequestOp::Trim
                {
                    rows.expect(submitted);
                }
                device.submit(request, input.extents());
                submitted += 1;
            }
        }
        if submitted.is_multiple_of(1024) {
            stopped(device)?;
            drain(device, &mut rows)?;
            tick(submitted, input.share());
        }
    }
    (0..input.skipped()).for_each(|_| device.skip());
    device.run();
    stopped(device)?;
    drain(device, &mut rows)?;
    Ok(submitted)
}

fn stopped(device: &mut Device) -> Result<()> {
    if let Some(fault) = device.take_fault() {
        return Err(fault);
    }
    match device.fault() {
        Some(reason) => Err(Fault::new(Status::Trace, reason)),
        None => Ok(()),
    }
}

/// A device that the machine can't hold is refused before anything is reserved.
pub(crate) fn fits_in_memory(
    config: &Config,
    check: CheckLevel,
    limit: Option<u64>,
) -> std::result::Result<(), ConfigError> {
    let Some(limit) = limit else { return Ok(()) };
    let memory = Outlook::new(config, check == CheckLevel::Full).memory;
    if memory.total() <= limit {
        return Ok(());
    }
    let message = format!(
        "the device needs about {} of memory, more than the limit of {}: reverse map {}, map {}, oracle {}, blocks {}, schemes {}, requests {}",
        size(memory.total()),
        size(limit),
        size(memory.reverse),
        size(memory.map),
        size(memory.oracle),
        size(memory.blocks),
        size(memory.schemes),
        size(memory.requests)
    );
    let (key, what) = if memory.requests > memory.total() / 2 {
        ("device.queue_depth", "fewer outstanding requests (device.queue_depth)")
    } else {
        ("geometry.blocks_per_plane", "larger pages or fewer blocks (geometry.blocks_per_plane)")
    };
    Err(ConfigError { key: key.into(), message, help: format!("use {what}, or raise --memory-limit") })
}

/// A progress bar with rate and time left, on a terminal only.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Steps of the bar; requests are told in words, since their total is not always known.
    const STEPS: u64 = 10_000;

    fn new(quiet: bool) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    fn say(&self, text: &'static str) {
        self.bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
        self.bar.set_message(text);
    }

    /// Prints a line above the bar.
    fn tell(&self, text: &str) {
        self.bar.suspend(|| output::remark(text));
    }

    fn at(&self, requests: u64, share: Option<f64>) {
        if self.bar.is_hidden() {
            return;
        }
        if requests == 1024 {
            let template = match share {
                Some(_) => "{wide_bar} {percent} %  {msg}  {elapsed} gone, {eta} left",
                None => "{spinner} {msg}  {elapsed} gone",
            };
            self.bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
            self.bar.reset();
            if share.is_some() {
                self.bar.set_length(Self::STEPS);
            }
        }
        if let Some(share) = share {
            self.bar.set_position((share * Self::STEPS as f64) as u64);
        }
        let seconds = self.bar.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { requests as f64 / seconds } else { 0.0 };
        self.bar.set_message(format!(
            "{} requests, {}/s",
            crate::text::count(requests),
            crate::text::count(rate as u64)
        ));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
