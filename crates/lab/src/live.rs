//! A live device: requests are submitted one by one, time advances as far as the caller says, and results can be read at any
//! time. It is a value: a clone is a snapshot.
//!
//! ```
//! use ssdlab_lab::live::LiveDevice;
//! use ssdlab_sim::blame::CAUSES;
//! use ssdlab_sim::units::Nanos;
//! use ssdlab_sim::{Check, Config, RequestOp};
//!
//! let mut device = LiveDevice::new(&Config::default(), 1, Check::Full)?;
//! device.submit(RequestOp::Write, 0, 4096, Some(Nanos(0)))?;
//! device.submit(RequestOp::Read, 64 * 4096, 4096, Some(Nanos(300_000)))?;
//! device.run()?;
//! let [write, read] = device.poll().try_into().expect("two requests");
//! assert_eq!(write.completion - write.arrival, Nanos(605_120));
//! assert_eq!(read.completion - read.arrival, Nanos(360_240));
//! let causes: Vec<_> = CAUSES.iter().zip(read.blame.0).filter(|(_, ns)| *ns > 0).map(|((_, name), ns)| (*name, ns)).collect();
//! assert_eq!(causes, [("die_host", 305_120), ("array", 50_000), ("bus", 5_120)]);
//! # Ok::<(), ssdlab_lab::error::Error>(())
//! ```

use std::any::Any;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;
use ssdlab_sim::config::{Config, ConfigError, Names};
use ssdlab_sim::device::mapping::Location;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Marks, Observer, Request, RequestOp, Ssd, Watches};
use ssdlab_trace::{CLOCK_MAX_NS, Digest, Record, SECTOR_BYTES};

use crate::drive::sound;
use crate::error::{Error, Kind, Result};
use crate::input::trace_op;
use crate::memory;
use crate::results::blocks;
use crate::results::requests::op;
use crate::results::sheet::Frame;
use crate::settings;
use crate::theory::Outlook;
use crate::tree;

/// The operations of requests, by the numbers that tables have for them.
const OPS: [RequestOp; 4] = [RequestOp::Read, RequestOp::Write, RequestOp::Trim, RequestOp::Flush];

/// The operation of a name.
///
/// # Errors
/// There is no such operation.
pub fn operation(name: &str) -> Result<RequestOp> {
    OPS.into_iter().find(|known| op(*known) == name).ok_or_else(|| {
        Error::usage(format!("unknown operation {name:?}")).help(format!("use one of {}", OPS.map(op).join(", ")))
    })
}

/// A request to submit.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Operation. A flush puts earlier writes on flash; without a write cache it is counted and not simulated.
    pub op: RequestOp,
    /// First byte: a multiple of 512.
    pub offset: u64,
    /// Bytes: a multiple of 512, at least 512. Of a flush, any number.
    pub bytes: u64,
    /// Time of arrival; none for now.
    pub at: Option<Nanos>,
}

/// Place of the newest version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePlace {
    /// A page of flash.
    Flash(Address),
    /// Controller memory, on its way to flash.
    Memory,
    /// Never written, or trimmed.
    Nowhere,
}

/// Address of a flash page: each number counts within the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Channel of the device.
    pub channel: u32,
    /// Chip of the channel.
    pub chip: u32,
    /// Die of the chip.
    pub die: u32,
    /// Plane of the die.
    pub plane: u32,
    /// Block of the plane.
    pub block: u32,
    /// Page of the block.
    pub page: u32,
}

/// Completed requests that were not polled yet.
#[derive(Default)]
struct Log(Arc<Mutex<Vec<Completed>>>);

impl Log {
    fn rows(&self) -> MutexGuard<'_, Vec<Completed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Log {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        self.rows().push(request.clone());
    }
}

/// A live device.
pub struct LiveDevice {
    ssd: Ssd,
    seed: u64,
    now: Nanos,
    /// Requests that do not fit into the device's ring yet.
    waiting: VecDeque<Request>,
    submitted: u64,
    /// Requests that power cuts have aborted.
    lost: u64,
    last_arrival: Nanos,
    digest: Digest,
    log: Option<Log>,
    /// Why it can't be used any more.
    broken: Option<Error>,
}

impl Clone for LiveDevice {
    /// A copy with the same future; the rows that were not polled yet are copied too.
    fn clone(&self) -> Self {
        self.with(self.ssd.clone())
    }
}

/// Something at a time that the clock does not have. The device can be used as before.
fn beyond(what: &str, at: Nanos) -> Error {
    let message = format!("{what} at {} ns, but the simulator's clock ends at {CLOCK_MAX_NS} ns (2^61 - 1)", at.0);
    Error::usage(message).help(format!("use times of at most {CLOCK_MAX_NS} ns"))
}

impl LiveDevice {
    /// A copy around a copy of its device.
    fn with(&self, mut ssd: Ssd) -> LiveDevice {
        let log = self.log.as_ref().map(|log| {
            let copy = Log(Arc::new(Mutex::new(log.rows().clone())));
            ssd.observe(Box::new(Log(copy.0.clone())));
            copy
        });
        LiveDevice {
            ssd,
            seed: self.seed,
            now: self.now,
            waiting: self.waiting.clone(),
            submitted: self.submitted,
            lost: self.lost,
            last_arrival: self.last_arrival,
            digest: self.digest.clone(),
            log,
            broken: self.broken.clone(),
        }
    }

    /// Builds the device of a configuration and fills it as `precondition` says.
    ///
    /// # Errors
    /// The rule that the configuration breaks, or a policy from outside failed while the device was filled.
    pub fn new(config: &Config, seed: u64, check: Check) -> Result<LiveDevice> {
        let mut device = Self::without_rows(config, seed, check)?;
        let log = Log::default();
        device.ssd.observe(Box::new(Log(log.0.clone())));
        device.log = Some(log);
        Ok(device)
    }

    /// The same device without rows for [`LiveDevice::poll`], which makes it faster.
    ///
    /// # Errors
    /// Like [`LiveDevice::new`].
    pub fn without_rows(config: &Config, seed: u64, check: Check) -> Result<LiveDevice> {
        config.check_mode(false).map_err(refused)?;
        let built = guarded(|| Ssd::new(config, seed, check))?;
        let ssd = built.map_err(refused)?;
        let device = LiveDevice {
            ssd,
            seed,
            now: Nanos::ZERO,
            waiting: VecDeque::new(),
            submitted: 0,
            lost: 0,
            last_arrival: Nanos::ZERO,
            digest: Digest::new(),
            log: None,
            broken: None,
        };
        sound(&device.ssd)?;
        Ok(device)
    }

    /// A copy, like that of `clone`.
    ///
    /// # Errors
    /// A policy from outside can't be copied, or the device is broken.
    pub fn copied(&self) -> Result<LiveDevice> {
        self.usable()?;
        let copy = guarded(|| self.clone())?;
        sound(&copy.ssd)?;
        Ok(copy)
    }

    /// A copy whose further life follows another configuration. Of its values only those may differ that a running device can
    /// change: see [`changeable`].
    ///
    /// # Errors
    /// Another value differs, or the state of the device rules the change out; like [`LiveDevice::copied`].
    pub fn forked(&self, config: &Config) -> Result<LiveDevice> {
        self.usable()?;
        changeable(self.ssd.config(), config)?;
        if settings::digest(self.ssd.config()) == settings::digest(config) {
            return self.copied();
        }
        config.check().map_err(refused)?;
        let copy = guarded(|| {
            let ssd = self.ssd.changed(config)?;
            Ok(self.with(ssd))
        })?;
        let copy = copy.map_err(ruled_out)?;
        sound(&copy.ssd)?;
        Ok(copy)
    }

    /// The configuration of a fork: `new`, with the policies from outside that this device has, unless `new` names others than
    /// `old` does.
    pub fn follows(&self, old: &Config, new: &Config) -> Config {
        let mut config = new.clone();
        let own = &self.ssd.config().schemes;
        let same = |one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| format!("{one:?}") == format!("{other:?}");
        if same(&old.schemes.victim, &new.schemes.victim) {
            config.schemes.victim = own.victim.clone();
        }
        if same(&old.schemes.trigger, &new.schemes.trigger) {
            config.schemes.trigger = own.trigger.clone();
        }
        config
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        let memory = Outlook::new(self.ssd.config(), self.ssd.knows_pages()).memory;
        memory.total() - memory.fixed
    }

    /// Submits a request, which arrives `at` that time, or now. Returns its number, in order of submission from 0; a flush is
    /// counted and has none.
    ///
    /// # Errors
    /// It arrives before now or before the request before it, does not lie on the device, or is not of whole sectors; or the
    /// device is broken.
    pub fn submit(&mut self, op: RequestOp, offset: u64, bytes: u64, at: Option<Nanos>) -> Result<Option<u64>> {
        self.submit_many(&[Ask { op, offset, bytes, at }]).map(|mut numbers| numbers.next())
    }

    /// Submits requests in order of arrival: all of them, or none if one is refused. Returns their numbers, without flushes.
    ///
    /// # Errors
    /// Like [`LiveDevice::submit`], with the index of the request if there are several.
    pub fn submit_many(&mut self, asks: &[Ask]) -> Result<std::ops::Range<u64>> {
        self.usable()?;
        let mut last = self.last_arrival;
        for (i, ask) in asks.iter().enumerate() {
            last = self.arrival_of(ask, last).map_err(|error| match asks.len() {
                1 => error,
                _ => error.note(format!("it is request {i} of {}", asks.len())),
            })?;
        }
        let first = self.submitted;
        for ask in asks {
            let Ask { op, offset, bytes, at } = *ask;
            if op == RequestOp::Flush && !self.ssd.flushes() {
                self.ssd.skip();
                continue;
            }
            let arrival = at.unwrap_or(self.now);
            if op != RequestOp::Flush {
                let (time_ns, op) = (arrival.0, trace_op(op));
                self.digest.add(&Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 });
            }
            self.last_arrival = arrival;
            self.waiting.push_back(Request { arrival, op, offset, bytes });
            self.submitted += 1;
        }
        self.feed();
        Ok(first..self.submitted)
    }

    /// The arrival of a request after one that arrives at `last`, if it can be submitted.
    fn arrival_of(&self, ask: &Ask, last: Nanos) -> Result<Nanos> {
        let at = ask.at.unwrap_or(self.now);
        let refuse = |before: &str, time: Nanos| {
            let message = format!("the request arrives at {} ns, but {before} {} ns", at.0, time.0);
            Err(Error::usage(message).help(format!("submit it at {} ns or later", time.0)))
        };
        if at < self.now {
            return refuse("it is already", self.now);
        }
        if self.queue_of(ask.op, ask.offset).is_none() {
            let message = format!("the request at byte {} matches no queue of nvme.queues", ask.offset);
            return Err(Error::usage(message).help("add a queue with match = \"rest\""));
        }
        if self.handle_of(ask.op, ask.offset, ask.bytes).is_none() {
            let message = format!("the write at byte {} has no handle by fdp.assign", ask.offset);
            return Err(Error::usage(message).help("name one that takes such writes: fdp.unknown = 0"));
        }
        if at < last {
            return refuse("the request before it arrives at", last);
        }
        if at.0 > CLOCK_MAX_NS {
            return Err(beyond("the request arrives", at));
        }
        if ask.op == RequestOp::Flush {
            return Ok(last);
        }
        let (offset, bytes, capacity) = (ask.offset, ask.bytes, self.ssd.capacity_bytes());
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) || !offset.is_multiple_of(SECTOR_BYTES) {
            let message = format!("a request of {bytes} bytes at byte {offset} is not one of whole sectors");
            return Err(Error::usage(message).help(format!("use multiples of {SECTOR_BYTES} bytes, at least one")));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > capacity) {
            let message = format!("a request of {bytes} bytes at byte {offset} ends beyond the device");
            return Err(Error::usage(message).help(format!("the device has {capacity} bytes")));
        }
        Ok(at)
    }

    /// Hands over as many requests as the ring takes.
    fn feed(&mut self) {
        while self.ssd.accepts() {
            let Some(request) = self.waiting.pop_front() else { break };
            let queue = self.queue_of(request.op, request.offset).unwrap_or(0);
            let (handle, no_handle) = self.handle_of(request.op, request.offset, request.bytes).unwrap_or((0, true));
            let marks = Marks { queue, tenant: queue, handle, no_handle, ..Marks::default() };
            self.ssd.submit_marked(request, marks, std::iter::empty());
        }
    }

    /// The placement handle of a request, which has no names, and whether it has none of its own; none if it is refused.
    fn handle_of(&self, op: RequestOp, offset: u64, bytes: u64) -> Option<(u8, bool)> {
        let fdp = &self.ssd.config().fdp;
        if fdp.exists() && op == RequestOp::Write {
            fdp.taken_by(Names::default(), offset, bytes)
        } else {
            Some((0, false))
        }
    }

    /// The queue of a request; none if it matches none.
    fn queue_of(&self, op: RequestOp, offset: u64) -> Option<u8> {
        let nvme = &self.ssd.config().nvme;
        if nvme.arbitrates() { nvme.queue_of(Names::default(), op, offset) } else { Some(0) }
    }

    /// Simulates everything before `until`, and nothing at it; the time is then `until`. Returns how many requests completed.
    ///
    /// # Errors
    /// `until` is over or beyond the clock, the device can't serve a request, a policy from outside failed, or the device is broken.
    pub fn advance(&mut self, until: Nanos) -> Result<u64> {
        self.advance_while(until, &mut || ControlFlow::Continue(()))
    }

    /// Like [`LiveDevice::advance`]. `go_on` is asked every few hundred events; once it breaks, the time stays that of the last event.
    ///
    /// # Errors
    /// Like [`LiveDevice::advance`].
    pub fn advance_while(&mut self, until: Nanos, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64> {
        self.usable()?;
        if until < self.now {
            let message = format!("the device can't advance to {} ns: it is already {} ns", until.0, self.now.0);
            return Err(Error::usage(message).help("advance to a later time, or take a snapshot earlier"));
        }
        if until.0 > CLOCK_MAX_NS {
            return Err(beyond("the device would stand", until));
        }
        let before = self.ssd.completed();
        let mut stopped = false;
        self.simulate(|device| {
            while device.waiting.front().is_some_and(|next| next.arrival < until) && device.ssd.fault().is_none() {
                device.ssd.run_until_room_before(until);
                if !device.ssd.accepts() {
                    break;
                }
                device.feed();
                if go_on().is_break() {
                    stopped = true;
                    return device.ssd.stop_here();
                }
            }
            while device.ssd.run_some_before(SLICE, until) {
                if go_on().is_break() {
                    stopped = true;
                    return device.ssd.stop_here();
                }
            }
            device.ssd.stop_here();
            device.ssd.run_before(until);
        })?;
        self.now = if stopped { self.now.max(self.ssd.now()) } else { until };
        Ok(self.ssd.completed() - before)
    }

    /// Simulates all requests and their consequences to the end. Returns how many requests completed.
    ///
    /// # Errors
    /// Like [`LiveDevice::advance`].
    pub fn run(&mut self) -> Result<u64> {
        self.run_while(&mut || ControlFlow::Continue(()))
    }

    /// Like [`LiveDevice::run`]. `go_on` is asked every few hundred events; once it breaks, the device stays as it is then.
    ///
    /// # Errors
    /// Like [`LiveDevice::advance`].
    pub fn run_while(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64> {
        self.usable()?;
        let before = self.ssd.completed();
        self.simulate(|device| {
            while !device.waiting.is_empty() && device.ssd.fault().is_none() {
                device.ssd.run_until_room();
                device.feed();
                if go_on().is_break() {
                    return device.ssd.stop_here();
                }
            }
            while device.ssd.run_some(SLICE) {
                if go_on().is_break() {
                    return device.ssd.stop_here();
                }
            }
            device.ssd.run();
        })?;
        self.now = self.now.max(self.ssd.now());
        Ok(self.ssd.completed() - before)
    }

    /// Time of the next event; none if nothing is left to do.
    pub fn next_event(&self) -> Option<Nanos> {
        let waiting = self.waiting.front().map_or(Nanos::NEVER, |request| request.arrival.max(self.now));
        Some(self.ssd.next_event().min(waiting)).filter(|time| *time < Nanos::NEVER)
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Requests submitted and not completed.
    pub fn pending(&self) -> u64 {
        self.submitted - self.lost - self.ssd.completed()
    }

    /// Requests that completed since the last call, in order of completion: reads, writes and trims, those of the warm-up
    /// included. Nothing for a device without rows.
    pub fn poll(&mut self) -> Vec<Completed> {
        self.log.as_ref().map(|log| std::mem::take(&mut *log.rows())).unwrap_or_default()
    }

    /// What has happened so far.
    ///
    /// # Errors
    /// The device is broken.
    pub fn summary(&self) -> Result<Summary> {
        self.usable()?;
        Ok(self.ssd.summary(self.seed, settings::digest(self.ssd.config()), self.digest.hex()))
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        self.ssd.config()
    }

    /// One row per block, plane by plane: the columns of `--blocks`.
    ///
    /// # Errors
    /// None that the caller can cause.
    pub fn blocks(&self) -> Result<Frame> {
        blocks::frame(self.ssd.flash(), self.ssd.geometry())
    }

    /// Bytes that the host may address.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd.capacity_bytes()
    }

    /// Where the newest version of the page is that contains a byte.
    ///
    /// # Errors
    /// The byte is beyond the device.
    pub fn lookup(&self, offset: u64) -> Result<PagePlace> {
        if offset >= self.ssd.capacity_bytes() {
            let message = format!("byte {offset} is beyond the device");
            return Err(Error::usage(message).help(format!("the device has {} bytes", self.ssd.capacity_bytes())));
        }
        let geometry = self.ssd.geometry();
        let page = match self.ssd.location(geometry.page_at(offset)) {
            Location::Nowhere => return Ok(PagePlace::Nowhere),
            Location::Staged(_) => return Ok(PagePlace::Memory),
            Location::Flash(page) if geometry.is_in_hand(page) => return Ok(PagePlace::Memory),
            Location::Flash(page) => page,
        };
        let (plane, block) = (geometry.plane_of(page), geometry.block_of(page));
        let (die, chip) = (geometry.die_of(plane), geometry.chip_of(plane));
        // A super page lies on several planes of its die: of a map of super pages, one half after the other.
        let (slots, in_block) = (geometry.slots, geometry.offset(page));
        let (planes, in_planes) = match slots.several() {
            true => (slots.planes, in_block % slots.per_super_page / slots.per_page),
            false => {
                let half = (offset / self.ssd.page_bytes()) as u32 % geometry.pages_per_entry;
                (geometry.pages_per_entry, half)
            }
        };
        Ok(PagePlace::Flash(Address {
            channel: geometry.channel_of(plane).0,
            chip: chip / geometry.channels,
            die: die / geometry.chips,
            plane: plane.0 / geometry.dies * planes + in_planes,
            block: block.0 - plane.0 * geometry.blocks_per_plane,
            page: in_block / slots.per_super_page,
        }))
    }

    /// Cuts power now, before any event of this time, and recovers in no time. Requests in service are lost.
    ///
    /// # Errors
    /// The configuration has no model of a power cut, or the device does not know what every page holds.
    pub fn power_cut(&mut self) -> Result<()> {
        self.usable()?;
        let mut config = self.ssd.config().clone();
        config.faults.power_cut.push(self.now);
        config.check().map_err(refused)?;
        if !self.ssd.knows_pages() {
            return Err(Error::usage("a power cut needs to know what every page holds")
                .help("build the device with check \"full\""));
        }
        self.simulate(|device| {
            let lost = device.ssd.power_cut().aborted_requests;
            device.lost += lost;
        })
    }

    /// Fails a chip now, before any event of this time.
    ///
    /// # Errors
    /// There is no such chip, or chips of this device do not fail.
    pub fn fail_chip(&mut self, chip: u32) -> Result<()> {
        self.usable()?;
        let chips = self.ssd.geometry().chips;
        if chip >= chips {
            return Err(Error::usage(format!("there is no chip {chip}")).help(format!("chips are 0 to {}", chips - 1)));
        }
        if self.ssd.config().faults.chip_fails.is_empty() {
            return Err(Error::config("faults.chip_fails", "chips of this device do not fail").help(
                "build the device with raid.layout and faults.chip_fails; a time that is never reached is enough",
            ));
        }
        self.simulate(|device| device.ssd.fail_chip(chip))
    }

    fn usable(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Runs the engine. After an error the device can't be used any more: its state is not one that the model defines.
    fn simulate(&mut self, act: impl FnOnce(&mut LiveDevice)) -> Result<()> {
        let done = guarded(|| act(self)).and_then(|()| sound(&self.ssd));
        if let Err(error) = &done {
            self.broken = Some(error.clone());
        }
        done
    }
}

/// Times whose events are handled between two questions whether to go on.
const SLICE: u32 = 512;

/// Keys that a running device can change, and sections of which it can change every key.
const CHANGEABLE: [&str; 17] = [
    "timing.",
    "gc.time",
    "gc.threshold",
    "gc.hard_threshold",
    "schemes.victim",
    "schemes.collector",
    "schemes.path",
    "schemes.order",
    "schemes.route",
    "order.",
    "device.queue_depth",
    "device.memory",
    "device.multi_plane",
    "noc.priority",
    "ecc.decode",
    "cache.",
    "nvme.",
];

/// Checks that two configurations differ only in keys that a running device can change: `timing.*` except `cache_register`,
/// `gc.time`, `gc.threshold`, `gc.hard_threshold`, `schemes.victim`, `.collector`, `.path`, `.order`, `.route`, `order.*`,
/// `device.queue_depth`, `.memory`, `.multi_plane`, `noc.priority`, `ecc.decode`, `cache.*`, and `nvme.*`. Of the last two the device
/// itself refuses what its state rules out ([`Ssd::changed`]).
///
/// # Errors
/// The first key that differs and is not one of these, with the reason.
pub fn changeable(old: &Config, new: &Config) -> Result<()> {
    let (old, new) = (tree::config(old), tree::config(new));
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else { return Ok(()) };
    for section in before.keys().chain(after.keys()) {
        let keys = |tree: &serde_json::Map<String, Json>| {
            tree.get(section).and_then(Json::as_object).cloned().unwrap_or_default()
        };
        let (before, after) = (keys(before), keys(after));
        for name in before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)) {
            let key = format!("{section}.{name}");
            let may = CHANGEABLE.iter().any(|known| match known.strip_suffix('.') {
                Some(whole) => whole == section,
                None => *known == key,
            });
            if may && key != "timing.cache_register" {
                continue;
            }
            let why = match section.as_str() {
                "geometry" => "the geometry is the device",
                "precondition" => "the device has been filled",
                "run" => "the warm-up has begun",
                _ => "it decides what state a device has",
            };
            return Err(Error::config(&*key, format!("{key} can't change on a running device: {why}"))
                .help("set it when the device is built"));
        }
    }
    Ok(())
}

/// The rows of a table as requests to submit.
///
/// # Errors
/// A number is negative, or an operation is unknown.
pub fn asks(table: &ssdlab_trace::Table) -> Result<Vec<Ask>> {
    let mut rows = Vec::new();
    let mut asks = Vec::new();
    while (asks.len() as u64) < table.rows() {
        rows.clear();
        table.fetch(asks.len() as u64, &mut rows);
        for row in &rows {
            let refuse = |message: String| Err(Error::new(Kind::Device, format!("row {}: {message}", asks.len())));
            let names = ["time_ns", "offset", "bytes"];
            if let Some((name, _)) = names.iter().zip(row.negative).find(|(_, negative)| *negative) {
                return refuse(format!("{name} is negative"));
            }
            let Some(op) = OPS.get(row.op as usize).copied() else {
                return refuse(format!("{} is no operation: they are 0 read, 1 write, 2 trim, 3 flush", row.op));
            };
            asks.push(Ask { op, offset: row.offset, bytes: row.bytes, at: Some(Nanos(row.time_ns)) });
        }
    }
    Ok(asks)
}

/// Checks that there is memory for a device.
///
/// # Errors
/// There is not.
pub fn fits(config: &Config, check: Check) -> Result<()> {
    memory::fits(config, check, None, |broken| refused(broken.clone()))
}

/// A rule that the configuration breaks.
pub(crate) fn refused(broken: ConfigError) -> Error {
    Error::config(broken.key, broken.message).help(broken.help)
}

/// A change that the state of a device rules out.
pub fn ruled_out(broken: ConfigError) -> Error {
    let message = format!("{} can't change on this running device: {}", broken.key, broken.message);
    Error::config(broken.key, message).help(broken.help)
}

/// A failed law of the simulator as an error.
fn guarded<T>(act: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| invariant(&*panic))
}

/// The error of a failed law.
pub(crate) fn invariant(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    Error::new(Kind::Invariant, text.unwrap_or_else(|| "a law of the simulation is broken".into()))
}
