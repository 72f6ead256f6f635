//! A second model of the host path, slow and plain, written from the rules alone, and its comparison with the engine.
//!
//! It shares no code and no structures with the engine: lists are searched, sectors hold the number of the write they come from,
//! and events at one time are handled in rounds (completions, arrivals, collectors, dispatch, buses) until nothing more can
//! happen. It covers dies as FIFOs, buses, page types, queue depth, static placement, partial writes sector by sector, TRIM,
//! unwritten reads, several planes at once, suspension, early acknowledgement, and serial GC with greedy victims.
//!
//! Not covered: merge reads where collections take no time, cache registers, windows of requests, dynamic placement, other
//! collectors and paths, parity, interconnects.

mod differential;
mod examples;
mod flash;
mod partial;
mod world;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use flash::{Plane, Ppn};
use partial::{Logical, Merge, Run};
use ssdlab_sim::{Request, RequestOp};
use world::{Suspendable, World};

/// One bit per sector.
type Sectors = u64;

/// Purpose of a host operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    Read {
        sectors: Sectors,
    },
    /// The read of the old page, for a run of partial writes.
    Merge {
        run: usize,
    },
    Program {
        version: u32,
        run: usize,
    },
}

/// A host operation on one page.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// By request, page, and operation of the page.
    age: u64,
    request: usize,
    lpn: u64,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Read,
    Program,
    Erase,
}

#[derive(Clone, Copy, Debug)]
enum Leg {
    Bus(u64),
    Array(u64),
}

/// Current job of a die.
#[derive(Clone, Debug)]
struct Job {
    age: u64,
    verb: Verb,
    legs: VecDeque<Leg>,
    /// The host's operations, with their pages; empty for GC.
    ops: Vec<(Op, Ppn)>,
}

/// Progress of a suspension.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pause {
    None,
    LettingGo,
    /// The array is free for one read.
    Free,
    Serving,
    Resuming,
}

/// A collection of one victim.
#[derive(Clone, Debug)]
struct Collection {
    age: u64,
    plane: usize,
    victim: usize,
    next: usize,
    /// The page in flight, and its destination.
    moving: Option<(Ppn, Option<Ppn>)>,
}

/// A die, or another unit of exclusion.
#[derive(Clone, Debug)]
struct Unit {
    /// By arrival.
    waiting: Vec<Op>,
    running: Option<Job>,
    array_end: Option<u64>,
    /// When the array began, or continued.
    array_begun: u64,
    interrupted: Option<(Job, u64)>,
    pause: Pause,
    collection: Option<Collection>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    BusEnds {
        channel: usize,
        unit: usize,
    },
    ArrayEnds {
        unit: usize,
    },
    /// The array of a unit yields if a read waits.
    Slice {
        unit: usize,
    },
    LetGo {
        unit: usize,
    },
    Resumed {
        unit: usize,
    },
}

#[derive(Clone, Debug)]
struct Bus {
    busy: bool,
    /// Requests for the bus: time, age, unit, duration.
    asked: Vec<(u64, u64, usize, u64)>,
}

/// A request in service: pages left, and (completion, page, start) of the page that finished last.
#[derive(Clone, Debug)]
struct Open {
    left: usize,
    starts: BTreeMap<u64, u64>,
    last: (u64, Reverse<u64>, u64),
}

/// Results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// By request: start and completion.
    pub served: BTreeMap<usize, (u64, u64)>,
    pub host_reads: u64,
    pub host_programs: u64,
    pub gc_reads: u64,
    pub gc_programs: u64,
    pub erases: u64,
    /// By block of the device: erases, programmed pages, valid pages.
    pub blocks: Vec<(u32, u32, u16)>,
    /// By read and page: the write that each sector returned came from; 0 where there was none.
    pub returned: BTreeMap<(usize, u64), Vec<u32>>,
    /// By logical page: the write that each sector on flash came from, if it is there.
    pub stored: Vec<Option<Vec<u32>>>,
    /// Situations that a campaign must have covered.
    pub met: Met,
}

/// Number of occurrences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Met {
    pub merge_reads: u64,
    pub merge_reads_skipped: u64,
    /// Writes that waited for the merge read of an earlier one.
    pub merge_reads_shared: u64,
    pub joined: u64,
    pub suspensions: u64,
    pub stalls: u64,
    pub collections: u64,
    /// Reads of a page of which some sectors were in memory, and some only on flash.
    pub mixed_reads: u64,
}

impl std::ops::AddAssign<&Met> for Met {
    fn add_assign(&mut self, other: &Met) {
        self.merge_reads += other.merge_reads;
        self.merge_reads_skipped += other.merge_reads_skipped;
        self.merge_reads_shared += other.merge_reads_shared;
        self.joined += other.joined;
        self.suspensions += other.suspensions;
        self.stalls += other.stalls;
        self.collections += other.collections;
        self.mixed_reads += other.mixed_reads;
    }
}

pub struct Model<'a> {
    world: &'a World,
    now: u64,
    /// Whether anything happened in this round.
    stirred: bool,
    /// Whether anything happened that the rules do not cover.
    beyond: bool,
    ages: u64,
    tests: u64,
    versions: u32,
    logical: Vec<Logical>,
    runs: Vec<Run>,
    planes: Vec<Plane>,
    units: Vec<Unit>,
    buses: Vec<Bus>,
    /// Time and age.
    events: Vec<(u64, u64, Event)>,
    open: BTreeMap<usize, Open>,
    /// Content of a waiting read's sectors at its admission.
    promised: BTreeMap<(usize, u64), Vec<u32>>,
    outcome: Outcome,
}

/// Results of the device for the requests. None if a page had to be put on flash in no time but no page was free: the rules do
/// not cover this.
pub fn simulate(world: &World, requests: &[Request]) -> Option<Outcome> {
    let unit = Unit {
        waiting: Vec::new(),
        running: None,
        array_end: None,
        array_begun: 0,
        interrupted: None,
        pause: Pause::None,
        collection: None,
    };
    let mut model = Model {
        world,
        now: 0,
        stirred: false,
        beyond: false,
        ages: 0,
        tests: 0,
        versions: 0,
        logical: vec![Logical::unwritten(world.sectors()); world.logical_pages() as usize],
        runs: Vec::new(),
        planes: vec![Plane::new(world.blocks); world.all_planes()],
        units: vec![unit; world.units()],
        buses: vec![Bus { busy: false, asked: Vec::new() }; world.channels],
        events: Vec::new(),
        open: BTreeMap::new(),
        promised: BTreeMap::new(),
        outcome: Outcome::default(),
    };
    if world.filled {
        for lpn in 0..world.logical_pages() {
            model.versions += 1;
            model.logical[lpn as usize].latest = vec![model.versions; world.sectors()];
            model.put_on_flash(lpn);
        }
    }
    model.run(requests)
}

impl Model<'_> {
    /// At one time: completions, oldest first; arrivals; collectors; dispatch; buses. Again, until nothing more can happen.
    fn run(mut self, requests: &[Request]) -> Option<Outcome> {
        let mut next = 0;
        loop {
            self.stirred = false;
            self.complete();
            while let Some(request) = requests.get(next).filter(|request| request.arrival.0 <= self.now) {
                if self.open.len() == self.world.depth {
                    break;
                }
                self.stirred = true;
                self.admit(next, request);
                next += 1;
            }
            (0..self.units.len()).for_each(|unit| self.collect(unit));
            (0..self.units.len()).for_each(|unit| self.dispatch(unit));
            (0..self.buses.len()).for_each(|channel| self.grant(channel));
            if self.beyond {
                return None;
            }
            if self.stirred {
                continue;
            }
            let event = self.events.iter().map(|(time, ..)| *time).min();
            let room = self.open.len() < self.world.depth;
            let arrival = requests.get(next).filter(|_| room).map(|request| request.arrival.0);
            match event.into_iter().chain(arrival).min() {
                Some(time) => self.now = time,
                None => break,
            }
        }
        assert!(next == requests.len() && self.open.is_empty(), "the model stands still at {}", self.now);
        self.outcome.blocks = self.planes.iter().flat_map(Plane::state).collect();
        let stored = self.logical.iter().map(|page| page.flash.map(|ppn| self.page(ppn).sectors.clone()));
        self.outcome.stored = stored.collect();
        Some(self.outcome)
    }

    fn age(&mut self) -> u64 {
        self.ages += 1;
        self.ages
    }

    fn complete(&mut self) {
        let now = self.now;
        // An ending operation may start another one that takes no time.
        while self.events.iter().any(|(time, ..)| *time == now) {
            let mut due: Vec<_> = self.events.iter().copied().filter(|(time, ..)| *time == now).collect();
            self.events.retain(|(time, ..)| *time != now);
            due.sort_by_key(|(_, age, _)| *age);
            due.into_iter().for_each(|(.., event)| self.ends(event));
        }
    }

    fn ends(&mut self, event: Event) {
        self.stirred = true;
        match event {
            Event::BusEnds { channel, unit } => {
                self.buses[channel].busy = false;
                self.transferred(unit);
                self.advance(unit);
            }
            Event::ArrayEnds { unit } => {
                self.units[unit].array_end = None;
                self.advance(unit);
            }
            Event::Slice { unit } => self.slices(unit),
            Event::LetGo { unit } => self.units[unit].pause = Pause::Free,
            Event::Resumed { unit } => {
                let (job, left) = self.units[unit].interrupted.take().unwrap();
                let end = self.now + left;
                self.events.push((end, job.age, Event::ArrayEnds { unit }));
                let state = &mut self.units[unit];
                (state.running, state.array_end, state.pause) = (Some(job), Some(end), Pause::None);
                state.array_begun = self.now;
                self.slices(unit);
            }
        }
    }

    // Requests.

    fn admit(&mut self, index: usize, request: &Request) {
        let size = self.world.page_size;
        if request.op == RequestOp::Trim {
            let end = request.offset + request.bytes;
            (request.offset.div_ceil(size)..end / size).for_each(|lpn| self.trim(lpn));
            return;
        }
        let (from, to) = (request.offset / 512, (request.offset + request.bytes).div_ceil(512));
        let sectors = self.world.sectors() as u64;
        let pages = from / sectors..to.div_ceil(sectors);
        let left = (pages.end - pages.start) as usize;
        self.open.insert(index, Open { left, starts: BTreeMap::new(), last: (0, Reverse(0), 0) });
        for lpn in pages {
            let first = lpn * sectors;
            let mask = (from.max(first)..to.min(first + sectors)).fold(0, |mask, sector| mask | 1 << (sector - first));
            if request.op == RequestOp::Write {
                self.admit_write(index, lpn, mask);
            } else {
                self.admit_read(index, lpn, mask);
            }
        }
    }

    fn admit_read(&mut self, request: usize, lpn: u64, sectors: Sectors) {
        self.promised.insert((request, lpn), self.logical[lpn as usize].latest.clone());
        let page = &self.logical[lpn as usize];
        if page.flash.is_none() && page.run.is_none() && self.world.preload {
            self.put_on_flash(lpn);
        }
        let op = Op { age: self.age(), request, lpn, purpose: Purpose::Read { sectors } };
        if self.needs_flash(&op) { self.arrive(op) } else { self.serve_from_memory(op) }
    }

    /// In no time.
    fn put_on_flash(&mut self, lpn: u64) {
        let plane = self.world.plane_of(lpn);
        let Some(ppn) = self.take(plane, false) else {
            self.beyond = true;
            return;
        };
        let sectors = self.logical[lpn as usize].latest.clone();
        self.planes[plane].land(ppn, lpn, sectors);
        self.planes[plane].keep(ppn);
        self.logical[lpn as usize].flash = Some(ppn);
    }

    /// An operation arrives at its die, at the tail.
    fn arrive(&mut self, op: Op) {
        self.stirred = true;
        self.units[self.world.unit_of(self.world.plane_of(op.lpn))].waiting.push(op);
    }

    /// An operation that has waited at a die before queues again with its age.
    fn queue_again(&mut self, op: Op) {
        self.stirred = true;
        let waiting = &mut self.units[self.world.unit_of(self.world.plane_of(op.lpn))].waiting;
        let at = waiting.iter().position(|other| other.age > op.age).unwrap_or(waiting.len());
        waiting.insert(at, op);
    }

    fn serve_from_memory(&mut self, op: Op) {
        self.begin(&op);
        let held = self.logical[op.lpn as usize].latest.clone();
        self.returns(&op, held);
        self.page_done(&op);
    }

    /// Service of a page begins, unless it has begun before.
    fn begin(&mut self, op: &Op) {
        let now = self.now;
        if let Some(open) = self.open.get_mut(&op.request) {
            open.starts.entry(op.lpn).or_insert(now);
        }
    }

    fn returns(&mut self, op: &Op, held: Vec<u32>) {
        let Purpose::Read { sectors } = op.purpose else { unreachable!() };
        let promised = self.promised.remove(&(op.request, op.lpn)).unwrap();
        let latest = &self.logical[op.lpn as usize].latest;
        for sector in (0..held.len()).filter(|sector| sectors >> sector & 1 == 1) {
            // A page that was trimmed meanwhile returns no data.
            let fits = held[sector] >= promised[sector] || latest[sector] < promised[sector];
            assert!(fits, "request {} reads {held:?}, and {promised:?} was admitted before", op.request);
        }
        self.outcome.returned.insert((op.request, op.lpn), held);
    }

    fn page_done(&mut self, op: &Op) {
        self.stirred = true;
        let open = self.open.get_mut(&op.request).unwrap();
        open.left -= 1;
        open.last = open.last.max((self.now, Reverse(op.lpn), open.starts[&op.lpn]));
        if open.left == 0 {
            self.outcome.served.insert(op.request, (open.last.2, self.now));
            self.open.remove(&op.request);
        }
    }

    // Dies.

    fn dispatch(&mut self, unit: usize) {
        let state = &self.units[unit];
        if state.running.is_none() && state.interrupted.is_none() && state.collection.is_none() {
            if let Some(job) = self.turn(unit, false) {
                self.start(unit, job);
            }
        } else if state.pause == Pause::Free {
            self.stirred = true;
            self.units[unit].pause = Pause::Serving;
            let job = self.turn(unit, true);
            match job {
                Some(job) => self.start(unit, job),
                None => self.resume(unit),
            }
        }
        // An array operation that has just begun is suspended at once if a read waits.
        if self.suspends(unit) {
            self.stirred = true;
            let state = &mut self.units[unit];
            let (job, end) = (state.running.take().unwrap(), state.array_end.take().unwrap());
            self.events.retain(|(.., event)| ![Event::ArrayEnds { unit }, Event::Slice { unit }].contains(event));
            self.events.push((self.now + self.world.suspend, job.age, Event::LetGo { unit }));
            state.interrupted = Some((job, end - self.now));
            state.pause = Pause::LettingGo;
            self.outcome.met.suspensions += 1;
        }
    }

    /// Whether a read that needs flash waits for an array operation that it may suspend.
    fn suspends(&self, unit: usize) -> bool {
        let state = &self.units[unit];
        let (Some(job), Some(end)) = (&state.running, state.array_end) else { return false };
        let may = match self.world.suspendable {
            Suspendable::Nothing => false,
            Suspendable::Erase => job.verb == Verb::Erase,
            Suspendable::ProgramAndErase => job.verb != Verb::Read,
        };
        let reads = |op: &&Op| !matches!(op.purpose, Purpose::Program { .. });
        let yields = self.world.slice == 0 || (self.now - state.array_begun).is_multiple_of(self.world.slice);
        may && yields
            && end - self.now > self.world.suspend
            && state.waiting.iter().filter(reads).any(|op| self.needs_flash(op))
    }

    /// The end of the next slice of a unit's array, if it is before its end.
    fn slices(&mut self, unit: usize) {
        let (state, slice) = (&self.units[unit], self.world.slice);
        let (Some(job), Some(end)) = (&state.running, state.array_end) else { return };
        if slice > 0 && self.now + slice < end {
            self.events.push((self.now + slice, job.age, Event::Slice { unit }));
        }
    }

    fn resume(&mut self, unit: usize) {
        let age = self.units[unit].interrupted.as_ref().unwrap().0.age;
        self.units[unit].pause = Pause::Resuming;
        self.events.push((self.now + self.world.resume, age, Event::Resumed { unit }));
    }

    /// The next operation that needs the die. Operations before it that need no flash are completed.
    fn turn(&mut self, unit: usize, reads_only: bool) -> Option<Job> {
        loop {
            let reads = |op: &Op| !matches!(op.purpose, Purpose::Program { .. });
            let at = self.units[unit].waiting.iter().position(|op| !reads_only || reads(op))?;
            let op = self.units[unit].waiting.remove(at);
            self.stirred = true;
            match op.purpose {
                Purpose::Read { .. } if !self.needs_flash(&op) => self.serve_from_memory(op),
                Purpose::Merge { run } if !self.needs_flash(&op) => {
                    self.outcome.met.merge_reads_skipped += 1;
                    let released = self.merge_over(run, Merge::Skipped);
                    self.release(released);
                }
                Purpose::Program { .. } if self.target(&op).is_none() => {
                    let plane = self.world.plane_of(op.lpn);
                    self.planes[plane].stalled.push(op);
                    self.outcome.met.stalls += 1;
                    if !self.world.collections_take_time {
                        self.make_room(plane);
                        continue;
                    }
                    // A collection precedes waiting operations, at equal times too (R5); collector decisions follow arrivals.
                    if self.planes[plane].victim(self.world.pages).is_some() {
                        return None;
                    }
                }
                _ => {
                    let mut ops = vec![op];
                    self.join(unit, at, &mut ops);
                    return Some(self.host_job(ops));
                }
            }
        }
    }

    /// Where an operation that needs flash would find its page: plane, and offset in the block.
    fn target(&self, op: &Op) -> Option<(usize, usize)> {
        let plane = self.world.plane_of(op.lpn);
        let offset = match op.purpose {
            Purpose::Program { .. } => self.planes[plane].next_offset()?,
            _ => self.logical[op.lpn as usize].flash?.page,
        };
        Some((plane, offset))
    }

    /// Later operations of the same request share the first one's command: other planes of the die, equal offset.
    fn join(&mut self, unit: usize, at: usize, ops: &mut Vec<Op>) {
        let kind = |op: &Op| std::mem::discriminant(&op.purpose);
        let (plane, offset) = self.target(&ops[0]).unwrap();
        let mut behind = at;
        while self.world.multi_plane && behind < self.units[unit].waiting.len() {
            let op = self.units[unit].waiting[behind];
            if op.request != ops[0].request {
                // In a suspension only reads count.
                if self.units[unit].pause == Pause::Serving && matches!(op.purpose, Purpose::Program { .. }) {
                    behind += 1;
                    continue;
                }
                break;
            }
            let needs = matches!(op.purpose, Purpose::Program { .. }) || self.needs_flash(&op);
            let fits = self.target(&op).is_some_and(|(other, equal)| {
                equal == offset
                    && self.world.die_of(other) == self.world.die_of(plane)
                    && ops.iter().all(|op| self.world.plane_of(op.lpn) != other)
            });
            if kind(&op) == kind(&ops[0]) && needs && fits && ops.len() < 4 {
                ops.push(self.units[unit].waiting.remove(behind));
                self.outcome.met.joined += 1;
            } else {
                behind += 1;
            }
        }
    }

    /// Host reads and programs start: pages are taken, and the result of an array read is determined.
    fn host_job(&mut self, ops: Vec<Op>) -> Job {
        let (world, age) = (self.world, ops[0].age);
        let by_type = |times: &[u64], page: usize| times[world.kind(page) % times.len()];
        let (mut verb, mut bytes, mut placed) = (Verb::Read, 0, Vec::new());
        for op in ops {
            self.begin(&op);
            let ppn = match op.purpose {
                Purpose::Read { sectors } => {
                    let ppn = self.logical[op.lpn as usize].flash.unwrap();
                    let old = self.page(ppn).sectors.clone();
                    let page = &self.logical[op.lpn as usize];
                    self.outcome.met.mixed_reads += u64::from(page.in_memory.is_some());
                    let merged = page.merged(&self.runs, old);
                    self.returns(&op, merged);
                    bytes += world.transfer(u64::from(sectors.count_ones()) * 512);
                    self.outcome.host_reads += 1;
                    ppn
                }
                Purpose::Merge { run } => {
                    let ppn = self.logical[op.lpn as usize].flash.unwrap();
                    self.runs[run].base = self.page(ppn).sectors.clone();
                    self.runs[run].merge = Merge::Reading;
                    self.outcome.met.merge_reads += 1;
                    bytes += world.transfer(world.page_size);
                    self.outcome.host_reads += 1;
                    ppn
                }
                Purpose::Program { .. } => {
                    verb = Verb::Program;
                    bytes += world.transfer(world.page_size);
                    self.outcome.host_programs += 1;
                    self.take(world.plane_of(op.lpn), false).unwrap()
                }
            };
            placed.push((op, ppn));
        }
        let page = placed[0].1.page;
        let legs = match verb {
            Verb::Read => vec![Leg::Bus(world.command), Leg::Array(by_type(&world.read, page)), Leg::Bus(bytes)],
            _ => vec![Leg::Bus(world.command + bytes), Leg::Array(by_type(&world.program, page))],
        };
        Job { age, verb, legs: legs.into(), ops: placed }
    }

    fn start(&mut self, unit: usize, job: Job) {
        self.stirred = true;
        self.units[unit].running = Some(job);
        self.advance(unit);
    }

    /// The next leg; a phase without length needs no grant.
    fn advance(&mut self, unit: usize) {
        let job = self.units[unit].running.as_mut().unwrap();
        let age = job.age;
        match job.legs.pop_front() {
            Some(Leg::Bus(0)) => {
                self.transferred(unit);
                self.advance(unit);
            }
            Some(Leg::Bus(time)) => {
                self.buses[unit % self.world.channels].asked.push((self.now, age, unit, time));
            }
            Some(Leg::Array(time)) => {
                self.units[unit].array_end = Some(self.now + time);
                self.units[unit].array_begun = self.now;
                self.events.push((self.now + time, age, Event::ArrayEnds { unit }));
                self.slices(unit);
            }
            None => self.finish(unit),
        }
    }

    fn grant(&mut self, channel: usize) {
        let bus = &mut self.buses[channel];
        if bus.busy || bus.asked.is_empty() {
            return;
        }
        bus.asked.sort();
        let (_, age, unit, time) = bus.asked.remove(0);
        bus.busy = true;
        self.stirred = true;
        self.events.push((self.now + time, age, Event::BusEnds { channel, unit }));
    }

    /// A transfer has ended: the end of a data-in may acknowledge a write.
    fn transferred(&mut self, unit: usize) {
        let job = self.units[unit].running.as_ref().unwrap();
        if self.world.after_transfer && job.verb == Verb::Program {
            let ops = job.ops.clone();
            ops.iter().for_each(|(op, _)| self.page_done(op));
        }
    }

    fn finish(&mut self, unit: usize) {
        self.stirred = true;
        let job = self.units[unit].running.take().unwrap();
        let mut released = Vec::new();
        for (op, ppn) in &job.ops {
            match op.purpose {
                Purpose::Read { .. } => self.page_done(op),
                Purpose::Merge { run } => released.append(&mut self.merge_over(run, Merge::Ended)),
                Purpose::Program { version, run } => {
                    self.landed(op.lpn, version, run, *ppn);
                    if !self.world.after_transfer {
                        self.page_done(op);
                    }
                    self.test_trigger(ppn.plane);
                }
            }
        }
        self.release(released);
        if job.ops.is_empty() {
            self.collected_a_step(unit, job.verb);
        }
        if self.units[unit].pause == Pause::Serving {
            self.resume(unit);
        }
    }
}
