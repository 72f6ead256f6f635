//! A device under test: fed through its bounded ring, observed, and run to the end.

use std::io::{self, Read};
use std::ops::ControlFlow;

use ssdlab_sim::config::{Config, ConfigError};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Extent, Filled, Marks, Outstanding, Request, RequestOp, Ssd};

use crate::error::{Error, Kind, Result};
use crate::input::{Closed, Feed, Input, Next, Target};
use crate::writes::Writes;

/// A device under test, fed through its bounded ring.
pub struct Device {
    /// The simulated drive.
    pub ssd: Ssd,
    /// Requests complete at once, in zero time.
    pub timeless: bool,
    /// Rows by host writes of a run without time.
    writes: Option<Writes>,
    /// Whether requests end with the device's writing; and whether one was a write.
    until_end: bool,
    has_writes: bool,
    /// Arrival of the last request, by its trace or workload.
    pub last_arrival: Nanos,
}

impl Device {
    fn of(ssd: Ssd) -> Device {
        Device { ssd, timeless: false, writes: None, until_end: false, has_writes: false, last_arrival: Nanos::ZERO }
    }

    /// Requests end when the device accepts no more writes.
    ///
    /// # Errors
    /// It always will.
    fn stop_at_end(&mut self) -> Result<()> {
        if !self.ssd.config().life.exists() {
            return Err(Error::usage("--until end-of-life: blocks of this device do not wear out")
                .help("add --set life.mode=wear, and perhaps --set life.endurance=3000"));
        }
        self.until_end = true;
        Ok(())
    }

    /// Whether the requests have ended with the device's writing.
    ///
    /// # Errors
    /// So many requests write nothing that they never will.
    fn has_ended(&self, submitted: u64) -> Result<bool> {
        if !self.until_end {
            return Ok(false);
        }
        if submitted > WITHOUT_WRITES && !self.has_writes {
            return Err(
                Error::usage("--until end-of-life: no request writes").help("give a workload or trace with writes")
            );
        }
        Ok(self.ssd.ended())
    }

    /// Builds the device and fills it as `precondition` says.
    ///
    /// # Errors
    /// The rule that the configuration breaks.
    pub fn new(config: &Config, seed: u64, check: Check) -> std::result::Result<Device, ConfigError> {
        Ok(Device::of(Ssd::new(config, seed, check)?))
    }

    /// The same; none if `go_on` stopped the filling.
    ///
    /// # Errors
    /// The rule that the configuration breaks.
    pub fn new_while(
        config: &Config,
        seed: u64,
        check: Check,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> std::result::Result<Option<Device>, ConfigError> {
        let ssd = Ssd::new_while(config, seed, check, go_on)?;
        Ok(ssd.map(Device::of))
    }

    /// The same device, started from a filling made earlier for a configuration that fills alike.
    ///
    /// # Errors
    /// The rule that the configuration breaks.
    pub fn from_filled(config: &Config, filled: &Filled) -> std::result::Result<Device, ConfigError> {
        Ok(Device::of(Ssd::from_filled(config, filled)?))
    }

    /// The device that [`Device::new`] builds, from the bytes of a filling: see [`Ssd::read_filling`].
    ///
    /// # Errors
    /// The rule that the configuration breaks, or what is wrong with the bytes.
    pub fn read_filling(
        config: &Config,
        seed: u64,
        check: Check,
        input: &mut dyn Read,
    ) -> std::result::Result<io::Result<Device>, ConfigError> {
        let ssd = Ssd::read_filling(config, seed, check, input)?;
        Ok(ssd.map(Device::of))
    }

    /// The limits that requests are fitted to.
    pub fn target(&self, queue_depth: u32, seed: u64) -> Target {
        Target::of(&self.ssd, queue_depth, seed)
    }

    /// Prepares the device for requests: whether they are a closed loop, and their tenants.
    ///
    /// # Errors
    /// The device can't have tenants.
    pub fn prepare(&mut self, input: &Input) -> Result<()> {
        self.ssd.set_closed(input.closed());
        input.think().into_iter().for_each(|think| self.ssd.set_think(None, think));
        if input.until_end {
            self.stop_at_end()?;
        }
        if !self.timeless {
            return name_tenants(&mut self.ssd, input);
        }
        match input.tenants().into_iter().find_map(|(_, _, closed)| closed) {
            None => Ok(()),
            Some(closed) if closed.bound => {
                Err(Error::usage("--count-only has no times, but a tenant has a bound of outstanding requests")
                    .help("leave one of them out"))
            }
            Some(_) => Err(Error::usage("--count-only has no times, but a tenant is a closed loop")
                .help("leave it out, or give the tenant's requests arrival times")),
        }
    }

    /// Whether the device takes a request without simulating first.
    #[inline]
    fn accepts(&self) -> bool {
        self.timeless || self.ssd.accepts() || self.ssd.fault().is_some()
    }

    /// Simulates until the device takes requests again.
    #[inline(never)]
    fn make_room(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        while self.ssd.run_towards_room(EVENTS) {
            go_on()?;
        }
        ControlFlow::Continue(())
    }

    /// Submits a request whose bytes lie in these extents (none: contiguous). The device must accept it.
    #[inline]
    fn submit(&mut self, request: Request, marks: Marks, extents: &[ssdlab_trace::Extent]) {
        self.has_writes |= request.op == RequestOp::Write;
        self.last_arrival = request.arrival;
        let scattered = extents.len() > 1;
        let extents = extents.iter().map(|extent| Extent { offset: extent.offset, bytes: extent.bytes });
        if self.timeless {
            let written = if request.op == RequestOp::Write { request.bytes } else { 0 };
            match scattered || self.ssd.config().fdp.exists() {
                false => self.ssd.apply(request),
                true => self.ssd.apply_marked(request, marks, extents.filter(|_| scattered)),
            }
            if self.writes.as_mut().is_some_and(|writes| writes.applied(written)) {
                self.end_window();
            }
            return;
        }
        match (self.ssd.fault(), scattered) {
            (Some(_), _) => {}
            (None, false) => self.ssd.submit_marked(request, marks, std::iter::empty()),
            (None, true) => self.ssd.submit_marked(request, marks, extents),
        }
    }

    /// Writes the row of a window of host writes.
    #[inline(never)]
    fn end_window(&mut self) {
        self.ssd.apply_rest();
        let sample = self.ssd.sample();
        if let Some(writes) = &mut self.writes {
            writes.row(sample);
        }
    }

    /// Collects rows by host writes from now on. The device is one of a run without time.
    pub fn count_writes(&mut self, mut writes: Writes) {
        writes.start(self.ssd.capacity_bytes(), self.ssd.sample());
        self.writes = Some(writes);
    }

    /// The rows by host writes, if they were collected.
    pub fn take_writes(&mut self) -> Option<Writes> {
        self.writes.take()
    }

    /// Runs until all requests have completed.
    fn run(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        if self.timeless {
            self.ssd.apply_rest();
        }
        self.ssd.no_more_arrivals();
        while self.ssd.run_some(EVENTS) {
            go_on()?;
        }
        self.ssd.run();
        ControlFlow::Continue(())
    }
}

/// Names the tenants of requests on a device, with their parts of it and their closed loops.
///
/// # Errors
/// The device can't have tenants.
pub fn name_tenants(ssd: &mut Ssd, input: &Input) -> Result<()> {
    let tenants = input.tenants();
    if tenants.is_empty() {
        return Ok(());
    }
    ssd.config()
        .check_tenants("one trace or workload")
        .map_err(|rule| Error::config(&*rule.key, format!("{}: {}", rule.key, rule.message)).help(rule.help))?;
    ssd.set_tenants(tenants.iter().map(|(name, ..)| name.clone()).collect());
    for (number, (_, range, _)) in (0..).zip(&tenants) {
        ssd.set_owner(number, range.clone());
    }
    let outstanding = |closed: Closed| match closed.bound {
        true => Outstanding::AtMost(closed.depth),
        false => Outstanding::Kept(closed.depth),
    };
    let loops: Vec<Option<Outstanding>> = tenants.iter().map(|(_, _, closed)| closed.map(outstanding)).collect();
    if loops.iter().any(Option::is_some) {
        ssd.set_loops(&loops);
    }
    for (number, (_, _, closed)) in (0..).zip(&tenants) {
        let think = closed.and_then(|closed| closed.think);
        think.into_iter().for_each(|think| ssd.set_think(Some(number), think));
    }
    Ok(())
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Requests submitted.
    pub requests: u64,
    /// Their share of all requests, if known.
    pub share: Option<f64>,
    /// How many there will be, if known.
    pub total: Option<u64>,
    /// Simulated time.
    pub now: Nanos,
}

/// Requests between two ticks.
pub const TICK: u64 = 1024;
/// Requests, and times with events, between two questions whether to go on: below a millisecond of work as a rule.
const PULSE: u64 = 64;
const EVENTS: u32 = 1024;

/// Requests after which one must have been a write, if they end with the device's writing.
const WITHOUT_WRITES: u64 = 10_000_000;

/// Follows a run, in the thread that simulates.
pub trait Listener {
    /// After each [`TICK`] requests; `Break` stops the run.
    fn tick(&mut self, _tick: Tick) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Asked every few hundred microseconds, also while the last requests complete; `Break` stops the run.
    fn go_on(&mut self) -> ControlFlow<()>;
}

/// Takes what observers noted, between two requests.
pub trait Drain {
    /// Writes what is complete.
    ///
    /// # Errors
    /// It can't be written.
    fn drain(&mut self) -> Result<()> {
        Ok(())
    }
    /// The first error of an observer.
    fn take_fault(&mut self) -> Option<Error> {
        None
    }
}

/// Nothing is noted.
impl Drain for () {}

/// The error of a run that was stopped.
pub fn interrupted() -> Error {
    Error::new(Kind::Stopped, "the run was stopped")
}

/// Feeds every request to the device and runs it to the end. Returns the number of requests, and the input: it has been read to
/// its end, so its digest and remarks are complete. After an error they would be those of an unknown part.
///
/// # Errors
/// The trace can't be read, the device can't serve it, a result can't be written, or `listener` stopped the run.
pub fn replay(
    device: &mut Device,
    mut input: Input,
    noted: &mut dyn Drain,
    listener: &mut dyn Listener,
) -> Result<(u64, Input)> {
    let submitted = input.feed(|feed| match feed.loops().iter().any(Option::is_some) {
        false => submit_all(device, feed, noted, listener),
        true => submit_loops(device, feed, noted, listener),
    })?;
    (0..input.skipped()).for_each(|_| device.ssd.skip());
    go(device.run(&mut || listener.go_on()))?;
    stopped(device, noted)?;
    noted.drain()?;
    Ok((submitted, input))
}

/// Submits every request; the last ones may not have completed. Returns their number.
fn submit_all(
    device: &mut Device,
    feed: &mut Feed<'_>,
    noted: &mut dyn Drain,
    listener: &mut dyn Listener,
) -> Result<u64> {
    let mut submitted = 0u64;
    loop {
        match feed.pull() {
            Err(error) => return Err(error.unless(noted.take_fault())),
            Ok(None) => return Ok(submitted),
            Ok(Some(Next::Skip)) => device.ssd.skip(),
            Ok(Some(Next::Request(ref request, marks))) => {
                while !device.accepts() {
                    go(device.make_room(&mut || listener.go_on()))?;
                }
                device.submit(*request, marks, feed.extents());
                submitted += 1;
            }
        }
        if submitted.is_multiple_of(PULSE) {
            go(listener.go_on())?;
            if device.has_ended(submitted)? {
                return Ok(submitted);
            }
        }
        if submitted.is_multiple_of(TICK) {
            stopped(device, noted)?;
            noted.drain()?;
            go(listener.tick(Tick {
                requests: submitted,
                share: feed.share(),
                total: feed.total,
                now: device.ssd.now(),
            }))?;
        }
    }
}

/// The same where tenants are closed loops: their requests arrive when others complete, so each loop is kept supplied.
fn submit_loops(
    device: &mut Device,
    feed: &mut Feed<'_>,
    noted: &mut dyn Drain,
    listener: &mut dyn Listener,
) -> Result<u64> {
    let (mut submitted, mut ticked) = (0u64, 0u64);
    let mut loops = feed.loops().iter().flatten().count();
    let mut rest = true;
    loop {
        while let Some(tenant) = device.ssd.wants() {
            match feed.pull_of(tenant)? {
                Some(Next::Skip) => device.ssd.skip(),
                Some(Next::Request(request, marks)) => {
                    let extents = feed.extents().iter();
                    let extents = extents.map(|extent| Extent { offset: extent.offset, bytes: extent.bytes });
                    device.ssd.submit_next(request, marks, extents);
                    submitted += 1;
                }
                None => {
                    device.ssd.end_loop(tenant);
                    loops -= 1;
                }
            }
        }
        while rest && device.accepts() {
            match feed.pull()? {
                Some(Next::Skip) => device.ssd.skip(),
                Some(Next::Request(request, marks)) => {
                    device.submit(request, marks, feed.extents());
                    submitted += 1;
                }
                None => rest = false,
            }
        }
        if loops == 0 && !rest {
            return Ok(submitted);
        }
        while device.ssd.run_towards_wants(EVENTS, !rest) {
            go(listener.go_on())?;
        }
        stopped(device, noted)?;
        go(listener.go_on())?;
        if submitted / TICK > ticked {
            ticked = submitted / TICK;
            noted.drain()?;
            let (share, total, now) = (feed.share(), feed.total, device.ssd.now());
            go(listener.tick(Tick { requests: submitted, share, total, now }))?;
        }
    }
}

/// An error if the listener stopped the run.
fn go(flow: ControlFlow<()>) -> Result<()> {
    if flow.is_break() { Err(interrupted()) } else { Ok(()) }
}

/// The error that ended the run early, if any.
fn stopped(device: &Device, noted: &mut dyn Drain) -> Result<()> {
    if let Some(error) = noted.take_fault() {
        return Err(error);
    }
    sound(&device.ssd)
}

/// The device's own reasons to stop, if any.
pub fn sound(ssd: &Ssd) -> Result<()> {
    if let Some(fault) = ssd.policy_fault() {
        return Err(fault.clone().into());
    }
    ssd.fault().map_or(Ok(()), |reason| Err(Error::new(Kind::Device, reason)))
}
