//! Two devices that serve the same requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_sim::request::Marks;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, Extent, LegRecord, Observer, Request, RequestOp, Ssd};

use crate::error::{Error, Kind, Result};
use crate::input::{Feed, Next};
use crate::results::timeline::Timeline;

/// A request with its extents.
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

/// What a device has shown.
#[derive(Default)]
struct Seen {
    /// Whether requests are recorded, and legs.
    requests: bool,
    legs: bool,
    arrived: BTreeMap<u64, Nanos>,
    completed: BTreeMap<u64, Completed>,
    log: Vec<LegRecord>,
    timeline: Option<Timeline>,
    /// The first request on the timeline, under the number that the device gives it.
    drawn_from: Option<u64>,
    fault: Option<Error>,
}

impl Seen {
    fn draw(&mut self, draw: impl FnOnce(&mut Timeline) -> Result<()>) {
        if let (Some(timeline), None) = (&mut self.timeline, &self.fault) {
            self.fault = draw(timeline).err();
        }
    }
}

/// Shows what a device does, under the numbers that requests have in the input.
struct Eye {
    seen: Arc<Mutex<Seen>>,
    /// The request that this device does not get.
    without: Option<u64>,
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Eye {
    /// Later requests come one number earlier if one is left out.
    fn number(&self, own: u64) -> u64 {
        own + u64::from(self.without.is_some_and(|without| own >= without && own < u64::MAX))
    }
}

impl Observer for Eye {
    fn arrived(&mut self, own: u64, request: &Request) {
        let number = self.number(own);
        let mut seen = lock(&self.seen);
        let first = seen.drawn_from.is_none();
        seen.drawn_from.get_or_insert(own);
        seen.draw(|timeline| {
            if first {
                timeline.begin_at(own);
            }
            timeline.arrived(own, request)
        });
        if seen.requests && request.op != RequestOp::Trim {
            seen.arrived.insert(number, request.arrival);
        }
    }

    fn completed(&mut self, request: &Completed) {
        let number = self.number(request.request);
        let mut seen = lock(&self.seen);
        if seen.drawn_from.is_some_and(|first| request.request >= first) {
            seen.draw(|timeline| timeline.completed(request));
        }
        if seen.requests && request.op != RequestOp::Trim {
            seen.completed.insert(number, Completed { request: number, ..request.clone() });
        }
    }

    fn leg(&mut self, leg: &LegRecord) {
        let mut seen = lock(&self.seen);
        seen.draw(|timeline| timeline.leg(leg));
        if seen.legs {
            let host = leg.class == ssdlab_sim::device::transaction::Class::Host;
            let number = if host { self.number(leg.number) } else { leg.number };
            seen.log.push(LegRecord { number, ..*leg });
        }
    }
}

/// A device, and how far it has got.
pub struct Copy {
    /// The device.
    pub ssd: Ssd,
    seen: Arc<Mutex<Seen>>,
    closed: bool,
    /// The request that it takes next.
    pub next: u64,
    without: Option<u64>,
}

impl Copy {
    /// A device before its first request.
    pub fn new(mut ssd: Ssd, closed: bool) -> Copy {
        let seen = Arc::new(Mutex::new(Seen::default()));
        ssd.set_closed(closed);
        ssd.observe(Box::new(Eye { seen: seen.clone(), without: None }));
        Copy { ssd, seen, closed, next: 0, without: None }
    }

    /// A second device from this time on, which may do without one request.
    pub fn second(&self, ssd: Ssd, without: Option<u64>) -> Copy {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut ssd = ssd;
        ssd.observe_copy(&self.ssd, Box::new(Eye { seen: seen.clone(), without }));
        Copy { ssd, seen, closed: self.closed, next: self.next, without }
    }

    /// From now on, draws a timeline.
    pub fn draw(&self, timeline: Option<Timeline>) {
        lock(&self.seen).timeline = timeline;
    }

    /// The timeline.
    pub fn drawn(&self) -> Option<Timeline> {
        lock(&self.seen).timeline.take()
    }

    /// From now on, records requests and legs.
    pub fn record(&self) {
        let mut seen = lock(&self.seen);
        (seen.requests, seen.legs) = (true, true);
    }

    /// No more legs.
    pub fn stop_legs(&self) {
        let mut seen = lock(&self.seen);
        seen.legs = false;
        seen.log = Vec::new();
    }

    /// Legs recorded so far that are not forgotten.
    pub fn legs(&self) -> Vec<LegRecord> {
        lock(&self.seen).log.clone()
    }

    /// Forgets legs that started before a time.
    pub fn forget_legs(&self, before: Nanos) {
        lock(&self.seen).log.retain(|leg| leg.start >= before);
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

    /// The request, if it has completed.
    pub fn take(&self, number: u64) -> Option<Completed> {
        lock(&self.seen).completed.remove(&number)
    }

    /// Time of what happens next; never if nothing does.
    ///
    /// # Errors
    /// The input can't be read.
    pub fn next_event(&self, source: &mut Source<'_, '_>) -> Result<Nanos> {
        let arrival = if self.closed { None } else { source.arrival(self.next)? };
        Ok(self.ssd.next_event().min(arrival.unwrap_or(Nanos::NEVER)))
    }

    /// Serves everything before a time, and nothing at it.
    ///
    /// # Errors
    /// The input can't be read, or the device can't serve it.
    pub fn advance(&mut self, until: Nanos, source: &mut Source<'_, '_>) -> Result<()> {
        loop {
            if self.without == Some(self.next)
                && source.get(self.next)?.is_some_and(|item| item.request.arrival < until)
            {
                self.next += 1;
            }
            let Some(item) = source.get(self.next)? else { break };
            if !self.closed && item.request.arrival >= until {
                break;
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
        if let Some(fault) = self.ssd.policy_fault() {
            return Err(fault.clone().into());
        }
        self.ssd.fault().map_or(Ok(()), |reason| Err(Error::new(Kind::Device, reason)))
    }
}
