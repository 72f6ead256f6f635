//! Two devices that serve the same requests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_lab::drive::sound;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Feed, Next};
use ssdlab_lab::product::Recorder;
use ssdlab_lab::results::timeline::Timeline;
use ssdlab_sim::device::transaction::Class;
use ssdlab_sim::request::Marks;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, Extent, LegRecord, Observer, Request, RequestOp, Ssd};

struct Item {
    request: Request,
    marks: Marks,
    extents: Vec<Extent>,
}

/// Requests, kept until both devices have taken them.
pub struct Source<'s, 'f> {
    feed: &'s mut Feed<'f>,
    kept: VecDeque<Item>,
    /// The number of the first of them.
    first: u64,
    ended: bool,
}

impl<'s, 'f> Source<'s, 'f> {
    /// All requests of a feed.
    pub fn new(feed: &'s mut Feed<'f>) -> Self {
        Source { feed, kept: VecDeque::new(), first: 0, ended: false }
    }

    fn get(&mut self, number: u64) -> Result<Option<&Item>> {
        while !self.ended && self.first + (self.kept.len() as u64) <= number {
            match self.feed.pull()? {
                None => self.ended = true,
                // What is not simulated has no number.
                Some(Next::Skip) => {}
                Some(Next::Request(request, marks)) => {
                    let extents = self.feed.extents().iter();
                    let extents = extents.map(|extent| Extent { offset: extent.offset, bytes: extent.bytes }).collect();
                    self.kept.push_back(Item { request, marks, extents });
                }
            }
        }
        Ok(self.kept.get((number - self.first) as usize))
    }

    /// Arrival of a request, as the input has it.
    ///
    /// # Errors
    /// The input can't be read.
    pub fn arrival(&mut self, number: u64) -> Result<Option<Nanos>> {
        Ok(self.get(number)?.map(|item| item.request.arrival))
    }

    /// Forgets the requests before this one.
    pub fn forget(&mut self, before: u64) {
        while self.first < before && self.kept.pop_front().is_some() {
            self.first += 1;
        }
    }
}

/// Requests that a device does not get.
#[derive(Clone, Default)]
pub struct LeftOut {
    /// By number.
    pub requests: Vec<u64>,
    /// Those of these tenants.
    pub tenants: Vec<u8>,
    /// All of them only if they arrive up to this time.
    pub until: Nanos,
}

impl LeftOut {
    fn has(&self, number: u64, item: &Item) -> bool {
        let named = self.tenants.contains(&item.marks.tenant) || self.requests.contains(&number);
        named && item.request.arrival <= self.until
    }
}

#[derive(Default)]
struct Sight {
    /// Requests that were left out, and by how much each of them came later than the ones left out before it.
    left_out: BTreeSet<u64>,
    shifts: Vec<u64>,
    recorded: bool,
    arrived: BTreeMap<u64, Nanos>,
    completed: BTreeMap<u64, Completed>,
    /// Legs, while it is not known where the devices part.
    legs: Option<Vec<LegRecord>>,
    timeline: Option<Timeline>,
    /// The first request on the timeline, under the number that the device gives it.
    drawn_from: Option<u64>,
    fault: Option<Error>,
}

impl Sight {
    /// The device does not get the next request.
    fn leave_out(&mut self, number: u64) {
        self.shifts.push(number - self.shifts.len() as u64);
        self.left_out.insert(number);
    }

    /// The number in the input of a request that has this one in the device: it counts only those that it gets.
    fn number(&self, own: u64) -> u64 {
        let before = self.shifts.partition_point(|shift| *shift <= own) as u64;
        own.saturating_add(before)
    }

    fn draw(&mut self, draw: impl FnOnce(&mut Timeline) -> Result<()>) {
        if let (Some(timeline), None) = (&mut self.timeline, &self.fault) {
            self.fault = draw(timeline).err();
        }
    }
}

/// Shows what a device does, under the numbers that requests have in the input.
struct Eye(Arc<Mutex<Sight>>);

fn lock(seen: &Mutex<Sight>) -> MutexGuard<'_, Sight> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Eye {
    fn arrived(&mut self, own: u64, request: &Request) {
        let mut seen = lock(&self.0);
        let number = seen.number(own);
        // A timeline counts requests from the first that arrives while it is drawn.
        let first = seen.timeline.is_some() && seen.drawn_from.is_none();
        if first {
            seen.drawn_from = Some(own);
        }
        seen.draw(|timeline| {
            if first {
                timeline.begin_at(own);
            }
            timeline.arrived(own, request)
        });
        if seen.recorded && request.op != RequestOp::Trim {
            seen.arrived.insert(number, request.arrival);
        }
    }

    fn completed(&mut self, request: &Completed) {
        let mut seen = lock(&self.0);
        let number = seen.number(request.request);
        if seen.drawn_from.is_some_and(|first| request.request >= first) {
            seen.draw(|timeline| timeline.completed(request));
        }
        if seen.recorded && request.op != RequestOp::Trim {
            seen.completed.insert(number, Completed { request: number, ..request.clone() });
        }
    }

    fn leg(&mut self, leg: &LegRecord) {
        let mut seen = lock(&self.0);
        seen.draw(|timeline| timeline.leg(leg));
        let number = if leg.class == Class::Host { seen.number(leg.number) } else { leg.number };
        if let Some(legs) = &mut seen.legs {
            legs.push(LegRecord { number, ..*leg });
        }
    }
}

/// A device, and how far it has got.
pub struct Copy {
    /// The device.
    pub ssd: Ssd,
    seen: Arc<Mutex<Sight>>,
    closed: bool,
    /// The request that it takes next.
    pub next: u64,
    /// The time from which on it was a device of its own.
    pub from: Nanos,
    without: LeftOut,
}

impl Copy {
    /// A device before its first request.
    pub fn new(mut ssd: Ssd, closed: bool) -> Copy {
        let seen = Arc::new(Mutex::new(Sight::default()));
        ssd.set_closed(closed);
        ssd.observe(Box::new(Eye(seen.clone())));
        Copy { ssd, seen, closed, next: 0, from: Nanos::ZERO, without: LeftOut::default() }
    }

    /// A second device from this time on, which may do without some requests.
    pub fn second(&self, mut ssd: Ssd, without: LeftOut) -> Copy {
        let seen = Arc::new(Mutex::new(Sight::default()));
        ssd.observe_copy(&self.ssd, Box::new(Eye(seen.clone())));
        Copy { ssd, seen, closed: self.closed, next: self.next, from: self.ssd.now(), without }
    }

    /// From now on, records requests and legs, and draws a timeline.
    pub fn record(&self, timeline: Option<Timeline>) {
        let mut seen = lock(&self.seen);
        (seen.recorded, seen.legs, seen.timeline) = (true, Some(Vec::new()), timeline);
    }

    /// The timeline.
    pub fn drawn(&self) -> Option<Timeline> {
        lock(&self.seen).timeline.take()
    }

    /// No more legs.
    pub fn stop_legs(&self) {
        lock(&self.seen).legs = None;
    }

    /// Legs recorded so far that are not forgotten.
    pub fn legs(&self) -> Vec<LegRecord> {
        lock(&self.seen).legs.clone().unwrap_or_default()
    }

    /// Forgets legs that started before a time.
    pub fn forget_legs(&self, before: Nanos) {
        lock(&self.seen).legs.iter_mut().for_each(|legs| legs.retain(|leg| leg.start >= before));
    }

    /// Reads and writes that have arrived since the recording began, up to a time.
    pub fn arrived(&self, until: Nanos) -> Vec<u64> {
        let seen = lock(&self.seen);
        seen.arrived.iter().filter(|(_, arrival)| **arrival <= until).map(|(number, _)| *number).collect()
    }

    /// Whether a request has completed since the recording began.
    pub fn has(&self, number: u64) -> bool {
        lock(&self.seen).completed.contains_key(&number)
    }

    /// Whether the device does not get a request.
    pub fn leaves_out(&self, number: u64) -> bool {
        lock(&self.seen).left_out.contains(&number)
    }

    /// The request, if it has completed.
    pub fn take(&self, number: u64) -> Option<Completed> {
        lock(&self.seen).completed.remove(&number)
    }

    /// Time of what happens next; never if nothing does.
    ///
    /// # Errors
    /// The input can't be read.
    pub fn next_event(&self, source: &mut Source<'_, '_>) -> Result<Nanos> {
        let arrival = match source.arrival(self.next)? {
            // In a closed loop a device takes a request as soon as there is room for it: at the start, at once.
            Some(_) if self.closed => self.ssd.accepts().then_some(self.ssd.now()),
            arrival => arrival,
        };
        Ok(self.ssd.next_event().min(arrival.unwrap_or(Nanos::NEVER)))
    }

    /// Requests that have completed since the recording began, with the time of that, by number.
    pub fn completions(&self) -> BTreeMap<u64, Nanos> {
        lock(&self.seen).completed.iter().map(|(number, one)| (*number, one.completion)).collect()
    }

    /// Serves everything before a time, and nothing at it.
    ///
    /// # Errors
    /// The input can't be read, or the device can't serve it.
    pub fn advance(&mut self, until: Nanos, source: &mut Source<'_, '_>) -> Result<()> {
        loop {
            let Some(item) = source.get(self.next)? else { break };
            if !self.closed && item.request.arrival >= until {
                break;
            }
            if self.without.has(self.next, item) {
                lock(&self.seen).leave_out(self.next);
                self.next += 1;
                continue;
            }
            if !self.ssd.accepts() {
                self.ssd.run_until_room_before(until);
                self.sound()?;
                if !self.ssd.accepts() {
                    break;
                }
            }
            let scattered = if item.extents.len() > 1 { item.extents.as_slice() } else { &[] };
            self.ssd.submit_marked(item.request, item.marks, scattered.iter().copied());
            self.next += 1;
        }
        self.ssd.run_before(until);
        self.sound()
    }

    fn sound(&self) -> Result<()> {
        if let Some(fault) = lock(&self.seen).fault.clone() {
            return Err(fault);
        }
        sound(&self.ssd)
    }
}
