//! One run, in three steps that each check as much as they can: [`Run::new`] (does the device fit into memory), [`Run::open`]
//! (are there requests), [`Ready::simulate`] (can the results be written, do the requests fit the device; then the run).

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::tenants::compare_alone;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Observer};

use crate::drive::{Device, Listener, Tick, interrupted, replay};
use crate::error::{Error, Result};
use crate::files::Files;
use crate::input::{self, Input, Opened, Requests};
use crate::memory;
use crate::outcome::Outcome;
use crate::perf::{self, Moment, Perf};
use crate::product::{About, Made, Product, Recorder, Recorders, RunEnd, Subject, Work};
use crate::results::sheet::{Frame, Most};
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

/// What a run gives in addition to its results. No file appears before [`RunOutcome::publish`].
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    products: Vec<Arc<dyn Product>>,
    alone: bool,
}

impl Outputs {
    /// Each tenant is also run with the device for itself, for its slowdown, if `alone`. The device is built once more for each.
    #[must_use]
    pub fn with_tenants_alone(self, alone: bool) -> Outputs {
        Outputs { alone, ..self }
    }

    /// These and one more output. They are finished in this order, and one may read the files of those before it.
    #[must_use]
    pub fn with(self, product: impl Product + 'static) -> Outputs {
        self.with_some(Some(product))
    }

    /// These and one more output, or no more.
    #[must_use]
    pub fn with_some(mut self, product: Option<impl Product + 'static>) -> Outputs {
        self.products.extend(product.map(|product| Arc::new(product) as Arc<dyn Product>));
        self
    }

    /// The options that ask for them, and their files.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.products.iter().map(|product| product.about()).filter_map(|about| Some((about.name, about.path?)))
    }
}

/// Receives the progress of a run, in the thread that simulates.
pub trait Progress {
    /// The device is about to be built and filled.
    fn building(&mut self) {}
    /// A choice that the options left open; the requests come next.
    fn chosen(&mut self, _remark: &str) {}
    /// What makes the run slower than it need be; the requests come next.
    fn slowed(&mut self, _remark: &str) {}
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
    /// Remarks of outputs: what was left out to keep them small.
    pub remarks: Vec<String>,
    /// The cost of the simulation itself.
    pub perf: Perf,
    /// Ids and places of the device.
    pub geometry: Geometry,
    /// When the last request arrived by its trace or workload; none in a closed loop.
    pub last_arrival: Option<Nanos>,
    made: Made,
}

impl Run {
    /// A run of a configuration. Its costs are measured from `start` on.
    ///
    /// # Errors
    /// The device needs more memory than it may take.
    pub fn new(settings: Settings, how: How, start: Moment) -> Result<Run> {
        memory::fits(&settings.config, how.check, how.memory_limit, |refusal| settings.refuse(refusal))?;
        Ok(Run { settings, how, start })
    }

    /// Opens the requests.
    ///
    /// # Errors
    /// As [`input::open`].
    pub fn open(mut self, requests: &Requests) -> Result<Ready> {
        let opened = input::open(requests)?;
        requests.place_on(&mut self.settings.config);
        Ok(Ready { run: self, opened })
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
        let (config, products) = (&settings.config, &outputs.products[..]);
        let tenants = opened.tenants().unwrap_or_else(|| config.tenants());
        let mut recorders = begin(products, &settings, &opened, how, &tenants)?;

        progress.building();
        config.check_mode(how.count_only).map_err(|error| settings.refuse(&error))?;
        let alone = outputs.alone.then(|| alone(&opened.requests, &tenants, build, (config, how), progress));
        let alone = alone.transpose()?;
        let mut device = build(&mut || progress.go_on())?;
        let input = fit(opened, &mut device, (config, how), ahead)?;
        recorders.iter_mut().try_for_each(|recorder| recorder.prepare(&mut device, &input))?;
        if let Some(chosen) = input.chosen() {
            progress.chosen(&chosen);
        }

        // Another observer than the outputs is no option.
        let showing = also.is_none().then(|| showing(products, &recorders));
        let mut recorders = Recorders::observe(&mut device, recorders, also);
        if let Some(remark) = showing.and_then(|showing| slowed(&device, &showing)) {
            progress.slowed(&remark);
        }
        let simulated_from = Moment::now();
        let heard = &mut Heard(progress);
        let replayed = catch_unwind(AssertUnwindSafe(|| replay(&mut device, input, &mut recorders, heard)));
        let (submitted, input) = replayed.unwrap_or_else(|panic| {
            progress.broken(device.ssd.now());
            resume_unwind(panic)
        })?;
        let closed = input.closed();
        let work = Work { start, simulation: (simulated_from, Moment::now()), requests: submitted };
        progress.simulated();

        let recorders = recorders.end(&mut device);
        let mut outcome = Outcome::new(&device, &input, config, how.seed);
        let Summary { tenants, fairness, .. } = &mut outcome.summary;
        if let (Some(alone), Some(tenants), Some(fairness)) = (&alone, tenants, fairness) {
            compare_alone(tenants, fairness, alone);
        }
        let state = device.ssd.sample();
        let mut end = RunEnd::new(&device, &state, &outcome, products, &work);
        recorders.into_iter().try_for_each(|recorder| recorder.finish(&mut end))?;
        let perf = end.perf();
        let mut made = end.made;
        let remarks = std::mem::take(&mut made.remarks);
        let geometry = device.ssd.geometry().clone();
        let last_arrival = (!closed).then_some(device.last_arrival);
        Ok(RunOutcome { outcome, remarks, perf, geometry, last_arrival, made })
    }
}

impl RunOutcome {
    /// The table of an output that was wanted in memory, by the output's name.
    pub fn take_frame(&mut self, name: &str) -> Option<Frame> {
        let at = self.made.frames.iter().position(|(known, _)| *known == name)?;
        Some(self.made.frames.swap_remove(at).1)
    }

    /// What an output gave beside its file: the timeline as a [`Chart`](crate::results::timeline::Chart), the
    /// [`Spread`](crate::results::blocks::Spread) of blocks, latencies by bucket as [`Histograms`](crate::results::histograms::Histograms).
    pub fn value<T: Any>(&self) -> Option<&T> {
        self.made.values.iter().find_map(|value| value.downcast_ref())
    }

    /// Makes the files visible, in the order of their outputs, now that all of them are complete. Without this they are removed.
    ///
    /// # Errors
    /// A file can't be given its name.
    pub fn publish(&mut self) -> Result<()> {
        std::mem::take(&mut self.made.files).into_iter().try_for_each(|(_, file)| file.publish())
    }
}

/// Begins the outputs, after a check that no two of them, and no input, are one file.
fn begin(
    products: &[Arc<dyn Product>],
    settings: &Settings,
    opened: &Opened,
    how: How,
    tenants: &[String],
) -> Result<Vec<Box<dyn Recorder>>> {
    if how.count_only && products.iter().any(|product| product.about().timed) {
        return Err(Error::usage(
            "--count-only has no times, so it gives neither requests nor series nor histograms nor a timeline",
        )
        .help("leave it out, or the other options"));
    }
    let mut files = Files::new();
    settings.sources().read_by(&mut files);
    opened.read_by(&mut files);
    for About { name, path, .. } in products.iter().map(|product| product.about()) {
        files.write_all(&[(name, path)])?;
    }
    let subject = Subject { config: &settings.config, extras: settings.config.extra_causes(), tenants };
    let recorders = products.iter().map(|product| product.begin(&subject)).collect::<Result<Vec<_>>>()?;
    if let Some(expected) = opened.expected() {
        recorders.iter().try_for_each(|recorder| recorder.expects(expected))?;
    }
    Ok(recorders)
}

/// The outputs that show each leg of an operation.
fn showing(products: &[Arc<dyn Product>], recorders: &[Box<dyn Recorder>]) -> Vec<&'static str> {
    let watching = products.iter().zip(recorders).filter(|(_, recorder)| recorder.observes().legs);
    watching.map(|(product, _)| product.about().name).collect()
}

/// What makes this run slow, by the options that ask for it.
fn slowed(device: &Device, showing: &[&str]) -> Option<String> {
    let slowed = device.ssd.slowed()?;
    let by = if showing.is_empty() { slowed.by.to_string() } else { showing.join(", ") };
    let closed = slowed.closes.join(", ");
    Some(format!(
        "{by}: an operation takes more than 1.5 times the CPU time, without the shortcuts {closed}; no result changes"
    ))
}

/// Fits the requests to a device, and prepares it for them.
fn fit(opened: Opened, device: &mut Device, (config, how): (&Config, How), ahead: bool) -> Result<Input> {
    let mut input = opened.fit(&device.target(config.device.queue_depth, how.seed))?;
    input.ahead = ahead;
    if how.count_only {
        device.timeless = true;
    }
    device.prepare(&input)?;
    Ok(input)
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
        input.only = Some(tenant);
        device.prepare(&input)?;
        let (_, input) = replay(&mut device, input, &mut (), &mut Heard(progress))?;
        let own = Outcome::new(&device, &input, config, how.seed).summary.tenants;
        Ok(own.and_then(|own| own.0[usize::from(tenant)].1.latency_ns.all.mean))
    };
    (0..tenants.len()).map(|tenant| one(tenant as u8)).collect()
}
