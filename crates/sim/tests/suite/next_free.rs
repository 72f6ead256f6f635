//! A second model of a FIFO device, simple enough to verify by reading, and its comparison with the engine.
//!
//! If no two dies share a bus, a device is only a queue per die, and the time at which the die is next free: no legs, no buses,
//! no events to order. The model is written from the rules (docs/model.md), shares no code with the engine, and must predict the
//! start and the completion of every request to the nanosecond.
//!
//! Not covered: shared buses, cache registers, several planes at once, collections that take time.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::common::{Dut, config};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

/// The model's view of a device.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    toml: String,
    channels: u64,
    planes: u64,
    /// Consecutive logical pages on one channel.
    run: u64,
    pages_per_block: u64,
    /// Times by page type, and tenths of a nanosecond per byte.
    read: Vec<u64>,
    program: Vec<u64>,
    rate: u64,
    command: u64,
    depth: usize,
    ack_after_transfer: bool,
    /// Whether all pages hold data at the start.
    written: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// On flash, at this offset of a block.
    Flash(u64),
    /// In controller memory, until the write of this number has landed.
    Memory(u64),
}

#[derive(Clone, Copy)]
struct Page {
    request: usize,
    lpn: u64,
    bytes: u64,
    /// The number of a write; none for a read.
    write: Option<u64>,
}

/// Events whose time is known when service begins.
enum End {
    /// A page is served or acknowledged; its service began at this time.
    Done(Page, u64),
    /// A program has landed at this offset.
    Landed(Page, u64),
}

/// A request in service: pages left, and (completion, page, start) of the page that finished last.
struct Open {
    left: usize,
    last: (u64, std::cmp::Reverse<u64>, u64),
}

struct Model<'a> {
    case: &'a Case,
    now: u64,
    places: HashMap<u64, Place>,
    /// Programs begun by plane: they fill blocks in order.
    programs: Vec<u64>,
    /// By channel: the time at which its only die (or chip) is next free, and its waiting pages.
    dies: Vec<(u64, VecDeque<Page>)>,
    ends: BTreeMap<u64, Vec<End>>,
    open: HashMap<usize, Open>,
    writes: u64,
    /// By request: start and completion.
    served: BTreeMap<usize, (u64, u64)>,
}

impl Model<'_> {
    fn transfer(&self, bytes: u64) -> u64 {
        (bytes * self.case.rate + 5) / 10
    }

    fn next_offset(&mut self, lpn: u64) -> u64 {
        let programs = &mut self.programs[(lpn % self.case.planes) as usize];
        *programs += 1;
        (*programs - 1) % self.case.pages_per_block
    }

    fn done(&mut self, page: Page, start: u64) {
        let open = self.open.get_mut(&page.request).unwrap();
        open.left -= 1;
        open.last = open.last.max((self.now, std::cmp::Reverse(page.lpn), start));
        if open.left == 0 {
            self.served.insert(page.request, (open.last.2, self.now));
            self.open.remove(&page.request);
        }
    }

    fn admit(&mut self, index: usize, request: &Request) {
        let end = request.offset + request.bytes;
        if request.op == RequestOp::Trim {
            (request.offset.div_ceil(PAGE)..end / PAGE).for_each(|lpn| {
                self.places.remove(&lpn);
            });
            return;
        }
        let pages = request.offset / PAGE..end.div_ceil(PAGE);
        let left = (pages.end - pages.start) as usize;
        self.open.insert(index, Open { left, last: (0, std::cmp::Reverse(0), 0) });
        for lpn in pages {
            let bytes = end.min((lpn + 1) * PAGE) - request.offset.max(lpn * PAGE);
            let mut page = Page { request: index, lpn, bytes, write: None };
            if request.op == RequestOp::Write {
                self.writes += 1;
                page.write = Some(self.writes);
                self.places.insert(lpn, Place::Memory(self.writes));
            } else if !self.places.contains_key(&lpn) {
                // Never written: put on flash in no time.
                let offset = self.next_offset(lpn);
                self.places.insert(lpn, Place::Flash(offset));
            } else if matches!(self.places[&lpn], Place::Memory(_)) {
                self.done(page, self.now);
                continue;
            }
            self.dies[(lpn / self.case.run % self.case.channels) as usize].1.push_back(page);
        }
    }

    /// A free die serves its next waiting page.
    fn serve(&mut self, die: usize) {
        while self.dies[die].0 <= self.now {
            let Some(page) = self.dies[die].1.pop_front() else { return };
            let case = self.case;
            let by_type = |times: &[u64], offset: u64| times[offset as usize % times.len()];
            let (free, end) = match (page.write, self.places.get(&page.lpn)) {
                (Some(_), _) => {
                    let offset = self.next_offset(page.lpn);
                    let sent = self.now + case.command + self.transfer(PAGE);
                    let landed = sent + by_type(&case.program, offset);
                    self.ends.entry(landed).or_default().push(End::Landed(page, offset));
                    (landed, if case.ack_after_transfer { sent } else { landed })
                }
                (None, Some(Place::Flash(offset))) => {
                    let end = self.now + case.command + by_type(&case.read, *offset) + self.transfer(page.bytes);
                    (end, end)
                }
                // Overwritten or trimmed while it waited.
                (None, _) => {
                    self.done(page, self.now);
                    continue;
                }
            };
            self.dies[die].0 = free;
            self.ends.entry(end).or_default().push(End::Done(page, self.now));
        }
    }

    /// Whether a page waits for a free die.
    fn waits(&self) -> bool {
        self.dies.iter().any(|(free, queue)| *free <= self.now && !queue.is_empty())
    }

    /// At one time: ends of service, admissions, starts of service; repeated as long as service in no time makes room.
    fn run(mut self, requests: &[Request]) -> BTreeMap<usize, (u64, u64)> {
        let mut next = 0;
        loop {
            for end in self.ends.remove(&self.now).unwrap_or_default() {
                match end {
                    End::Done(page, start) => self.done(page, start),
                    End::Landed(page, offset) => {
                        if self.places.get(&page.lpn) == Some(&Place::Memory(page.write.unwrap())) {
                            self.places.insert(page.lpn, Place::Flash(offset));
                        }
                    }
                }
            }
            let room = |model: &Self, next: usize| {
                requests.get(next).filter(|_| model.open.len() < model.case.depth).map(|r| r.arrival.0)
            };
            while room(&self, next).is_some_and(|arrival| arrival <= self.now) || self.waits() {
                while room(&self, next).is_some_and(|arrival| arrival <= self.now) {
                    self.admit(next, &requests[next]);
                    next += 1;
                }
                (0..self.dies.len()).for_each(|die| self.serve(die));
            }
            let end = self.ends.first_key_value().map(|(time, _)| *time);
            match room(&self, next).into_iter().chain(end).min() {
                Some(time) => self.now = time,
                None => return self.served,
            }
        }
    }
}

/// A device whose channels have one die each, or one chip that works as one.
fn random_case(seed: u64) -> Case {
    let mut rng = stream(seed, "devices");
    let mut pick = |n: u64| below(&mut rng, n);
    let channels = 1 + pick(4);
    let (exclusion, chips, dies) = [("die", 1, 1), ("chip", 1, 3), ("channel", 2, 2)][pick(3) as usize];
    let planes = 1 + pick(2);
    // Half of the devices collect, in no time; then the type of a page is not observable.
    let collects = pick(2) == 1;
    let (read, program) = if collects || pick(3) == 0 {
        (vec![50_000], vec![600_000])
    } else {
        (vec![50_000, 90_000, 110_000], vec![300_000, 700_000, 1_100_000])
    };
    let (rate, command) = ([12, 13, 100][pick(3) as usize], [0, 300][pick(2) as usize]);
    let (depth, ack_after_transfer) = ([1, 2, 5, 32][pick(4) as usize], pick(2) == 1);
    let (order, run) = if pick(2) == 0 { ("CWDP", 1) } else { ("PDWC", planes * dies * chips) };
    let (blocks, pages_per_block) = if collects { (24, 16) } else { (512, 64) };
    let list = |times: &[u64]| times.iter().map(|t| format!("\"{t}ns\"")).collect::<Vec<_>>().join(", ");
    let toml = format!(
        "geometry = {{ channels = {channels}, chips_per_channel = {chips}, dies_per_chip = {dies}, planes_per_die = {planes}, blocks_per_plane = {blocks}, pages_per_block = {pages_per_block} }}\n\
         timing = {{ read = [{}], program = [{}], transfer = \"{}.{}ns/B\", command = \"{command}ns\" }}\n\
         device = {{ exclusion = \"{exclusion}\", write_ack = \"{}\", queue_depth = {depth}, partial_write = \"whole-page\", over_provisioning = 0.3 }}\n\
         gc = {{ time = \"none\" }}\n\
         schemes = {{ place = \"{order}\" }}\n\
         precondition = {{ mode = \"{}\" }}\n",
        list(&read),
        list(&program),
        rate / 10,
        rate % 10,
        if ack_after_transfer { "after_transfer" } else { "after_program" },
        if collects { "sequential" } else { "none" }
    );
    let planes = channels * chips * dies * planes;
    let written = collects;
    Case {
        seed,
        toml,
        channels,
        planes,
        run,
        pages_per_block,
        read,
        program,
        rate,
        command,
        depth,
        ack_after_transfer,
        written,
    }
}

/// Requests of 1 to 8 pages, in bursts and pauses. Many go to the same few pages, and many arrive when a service ends.
fn random_requests(case: &Case, capacity: u64) -> Vec<Request> {
    let mut rng = stream(case.seed, "requests");
    let mut pick = |n: u64| below(&mut rng, n);
    let pages = [20, 300, capacity / PAGE][pick(3) as usize].min(capacity / PAGE);
    let reads = [20, 50, 90][pick(3) as usize];
    let (quantum, longest) = [(1, 3_000_000), (10_000, 100), (5_120, 400), (50_000, 4)][pick(4) as usize];
    let mut now = 0;
    (0..2500)
        .map(|_| {
            now += if pick(3) == 0 { 0 } else { pick(longest) * quantum };
            let kind = pick(100);
            let op = match kind {
                // Trimmed pages are unwritten, and a collecting device might have no room to put them on flash.
                _ if kind == 99 && !case.written => RequestOp::Trim,
                _ if kind < reads => RequestOp::Read,
                _ => RequestOp::Write,
            };
            let count = (1 + pick(8)).min(pages);
            let (mut offset, mut bytes) = (pick(pages - count + 1) * PAGE, count * PAGE);
            if pick(3) == 0 {
                let (head, tail) = (512 * pick(8), 512 * pick(8));
                if head + tail < bytes {
                    (offset, bytes) = (offset + head, bytes - head - tail);
                }
            }
            Request { arrival: Nanos(now), op, offset, bytes }
        })
        .collect()
}

#[test]
fn the_engine_completes_every_request_when_next_free_times_say() {
    let (mut served, mut collected) = (0, 0);
    for seed in 0..if std::env::var_os("SSDLAB_LONG").is_some() { 1_000 } else { 100 } {
        let case = random_case(seed);
        let mut dut = Dut::seeded(&config(&case.toml), seed);
        let requests = random_requests(&case, dut.ssd.capacity_bytes());
        let places = if case.written {
            (0..dut.ssd.capacity_bytes() / PAGE).map(|lpn| (lpn, Place::Flash(0))).collect()
        } else {
            HashMap::new()
        };
        let model = Model {
            case: &case,
            now: 0,
            places,
            programs: vec![0; case.planes as usize],
            dies: vec![(0, VecDeque::new()); case.channels as usize],
            ends: BTreeMap::new(),
            open: HashMap::new(),
            writes: 0,
            served: BTreeMap::new(),
        };
        requests.iter().for_each(|request| dut.ssd.submit(*request));
        let engine = dut.completed();
        let model = model.run(&requests);
        assert_eq!(engine.len(), model.len(), "seed {seed}");
        for (ours, (index, (start, completion))) in engine.iter().zip(model) {
            assert_eq!(
                (ours.request, ours.start.unwrap().0, ours.completion.0),
                (index as u64, start, completion),
                "request, start and completion by engine and by model; seed {seed}, {:?}\n{}",
                requests[index],
                case.toml
            );
        }
        let summary = dut.ssd.summary(seed, String::new(), String::new());
        assert_eq!(summary.pages.space_stalls, 0, "the model knows no full planes; seed {seed}\n{}", case.toml);
        assert!(case.written || summary.gc.collections == 0, "seed {seed}\n{}", case.toml);
        served += engine.len();
        collected += summary.gc.collections;
    }
    assert!(collected > 300);
    println!("{served} requests agree to the nanosecond, beside {collected} collections in no time");
}

#[test]
fn the_sampled_oracle_keeps_neighbours_apart_that_were_put_on_flash_in_no_time() {
    for preconditioned in ["", "precondition = { mode = \"aged\" }"] {
        let mut ssd = Ssd::new(&config(preconditioned), 1, Check::Sampled).unwrap();
        for lpn in 0..64 {
            ssd.submit(Request { arrival: Nanos(0), op: RequestOp::Read, offset: lpn * PAGE, bytes: PAGE });
        }
        ssd.run();
    }
}
