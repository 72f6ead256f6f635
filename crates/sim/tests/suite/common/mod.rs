//! The device under test: submit, run, compare latencies.
#![allow(missing_docs)]

use std::cell::Cell;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, Once};

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use ssdlab_sim::blame::{CAUSES, Cause, Extra};
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::power::PowerCut;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{
    Check, Completed, Config, Extent, Marks, Observer, Outstanding, Request, RequestOp, Sample, Ssd, Think, Watches,
};

/// A configuration from TOML.
pub fn config(toml: &str) -> Config {
    toml.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Random worlds: the same ones in every run, and so many of them. `SSDLAB_CASES` sets another number, `SSDLAB_SEED` draws others.
pub fn worlds(usual: u32) -> ProptestConfig {
    let given = |name: &str| std::env::var(name).ok();
    let cases = given("SSDLAB_CASES").and_then(|n| n.parse().ok()).unwrap_or(usual);
    let rng_seed = RngSeed::Fixed(given("SSDLAB_SEED").and_then(|n| n.parse().ok()).unwrap_or(1));
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// As many random cases as a longer run asks for, and a tenth of them usually (`SSDLAB_LONG`).
pub fn many_worlds(long: u32) -> ProptestConfig {
    worlds(if std::env::var_os("SSDLAB_LONG").is_some() { long } else { long / 10 })
}

/// The product of the factors of write amplification.
pub fn product(summary: &ssdlab_sim::report::Summary) -> Option<f64> {
    let of = summary.write_amplification_factors;
    Some(of.partial? * of.absorbed? * of.padding? * of.background?)
}

/// Records completed requests.
#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<Vec<Completed>>>);

impl Observer for Log {
    fn completed(&mut self, request: &Completed) {
        if request.measured && request.op != RequestOp::Trim {
            self.0.lock().unwrap().push(request.clone());
        }
    }
}

/// What an observer gets, in its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Arrived(String),
    Completed(String),
    Sampled(String),
}

impl Shown {
    fn is_of(&self, watches: Watches) -> bool {
        match self {
            Shown::Arrived(_) => watches.arrivals,
            Shown::Completed(_) => watches.completions,
            Shown::Sampled(_) => watches.samples,
        }
    }
}

/// Keeps what it is shown, and takes samples at ever longer distances.
#[derive(Clone)]
pub struct Eye {
    watches: Watches,
    shown: Arc<Mutex<(Vec<Shown>, Nanos)>>,
}

impl Eye {
    /// `first`: time of its first sample.
    pub fn new(watches: Watches, first: Nanos) -> Self {
        Eye { watches, shown: Arc::new(Mutex::new((Vec::new(), first))) }
    }

    fn note(&self, shown: Shown) {
        self.shown.lock().unwrap().0.push(shown);
    }

    /// What it has been shown since it was last asked.
    fn take(&self) -> Vec<Shown> {
        std::mem::take(&mut self.shown.lock().unwrap().0)
    }
}

impl Observer for Eye {
    fn watches(&self) -> Watches {
        self.watches
    }
    fn arrived(&mut self, number: u64, request: &Request) {
        self.note(Shown::Arrived(format!("{number} {request:?}")));
    }
    fn completed(&mut self, request: &Completed) {
        self.note(Shown::Completed(format!("{request:?}")));
    }
    fn sample_at(&self) -> Nanos {
        self.shown.lock().unwrap().1
    }
    fn sample(&mut self, sample: &Sample) {
        self.note(Shown::Sampled(format!("{sample:?}")));
        self.shown.lock().unwrap().1 = Nanos(sample.at.0 + 7_777 + sample.at.0 / 64);
    }
}

/// An observer that watches all of a device for which shortcuts can stay open.
pub const NO_LEGS: Watches = Watches { legs: false, ..Watches::ALL };

/// What other devices are watched for beside the one under test.
const LESS: [Watches; 3] = [Watches::COMPLETIONS, Watches::SAMPLES, NO_LEGS];

/// A device with the full oracle that records all completed requests, beside one that nobody watches and some of which less is
/// watched.
pub struct Dut {
    pub ssd: Twins,
    log: Log,
}

impl Dut {
    pub fn new(config: &Config) -> Self {
        Self::seeded(config, 1)
    }

    pub fn seeded(config: &Config, seed: u64) -> Self {
        Self::beside(config, seed, Check::Off)
    }

    /// One whose power is to be cut by [`Twins::power_cut`].
    pub fn to_be_cut(config: &Config) -> Self {
        Self::beside(config, 1, Check::Full)
    }

    fn beside(config: &Config, seed: u64, check: Check) -> Self {
        let device = |check| Ssd::new(config, seed, check).unwrap_or_else(|error| panic!("{error}"));
        let (mut watched, log) = (device(Check::Full), Log::default());
        let eye = |watches| Eye::new(watches, Nanos(5_000));
        let all = Both(log.clone(), eye(Watches::ALL));
        watched.observe(Box::new(all.clone()));
        let less = LESS.map(|watches| {
            let (mut ssd, eye) = (device(check), eye(watches));
            ssd.observe(Box::new(eye.clone()));
            (ssd, eye)
        });
        Dut { ssd: Twins { watched, all: Some(all.1), plain: device(check), less, stops: 0 }, log }
    }

    fn submit(&mut self, request: Request) {
        self.ssd.submit(request);
    }

    pub fn read(&mut self, at: u64, offset: u64, bytes: u64) {
        self.submit(Request { arrival: Nanos(at), op: RequestOp::Read, offset, bytes });
    }

    pub fn write(&mut self, at: u64, offset: u64, bytes: u64) {
        self.submit(Request { arrival: Nanos(at), op: RequestOp::Write, offset, bytes });
    }

    pub fn flush(&mut self, at: u64) {
        self.submit(Request { arrival: Nanos(at), op: RequestOp::Flush, offset: 0, bytes: 0 });
    }

    /// A write with forced unit access.
    pub fn write_through(&mut self, at: u64, offset: u64, bytes: u64) {
        let request = Request { arrival: Nanos(at), op: RequestOp::Write, offset, bytes };
        self.ssd.submit_marked(request, Marks { fua: true, ..Marks::default() }, std::iter::empty());
    }

    pub fn trim(&mut self, at: u64, offset: u64, bytes: u64) {
        self.submit(Request { arrival: Nanos(at), op: RequestOp::Trim, offset, bytes });
    }

    /// Runs to the end. Returns the completed requests in order of submission.
    pub fn completed(&mut self) -> Vec<Completed> {
        self.ssd.run();
        let mut done = self.log.0.lock().unwrap().clone();
        done.sort_by_key(|c| c.request);
        done
    }

    /// Runs to the end. Returns latencies in order of submission.
    pub fn latencies(&mut self) -> Vec<u64> {
        self.completed().iter().map(|c| (c.completion - c.arrival).0).collect()
    }
}

#[derive(Clone)]
struct Both(Log, Eye);

impl Observer for Both {
    fn arrived(&mut self, number: u64, request: &Request) {
        self.1.arrived(number, request);
    }
    fn completed(&mut self, request: &Completed) {
        self.0.completed(request);
        self.1.completed(request);
    }
    fn sample_at(&self) -> Nanos {
        self.1.sample_at()
    }
    fn sample(&mut self, sample: &Sample) {
        self.1.sample(sample);
    }
}

/// The same device several times. One is watched and checked, so it takes no shortcuts; one that nobody watches takes all that it
/// may, and so do others as far as what is watched of them allows. Whatever changes one changes all: a call that is missing here
/// does not compile. Whenever they stop, they must agree, and so must what they have shown.
pub struct Twins {
    watched: Ssd,
    /// What it has shown, unless a test has set another observer.
    all: Option<Eye>,
    plain: Ssd,
    less: [(Ssd, Eye); 3],
    /// How often they have stopped at a time.
    stops: u32,
}

impl Deref for Twins {
    type Target = Ssd;

    fn deref(&self) -> &Ssd {
        &self.watched
    }
}

impl Twins {
    fn both<T: PartialEq + std::fmt::Debug>(&mut self, mut change: impl FnMut(&mut Ssd) -> T) -> T {
        let watched = change(&mut self.watched);
        for plain in self.less.iter_mut().map(|(ssd, _)| ssd).chain([&mut self.plain]) {
            assert_eq!(watched, change(plain), "what is returned to a test without shortcuts, and with them");
        }
        watched
    }

    /// Compares all that the devices tell of themselves, or how far they have come.
    fn compare(&self, all: bool) {
        let come = |ssd: &Ssd| (ssd.now(), ssd.completed(), ssd.flash_operations(), ssd.sample().flash);
        let told =
            |ssd: &Ssd| if all { format!("{:?} {:?}", come(ssd), summary(ssd)) } else { format!("{:?}", come(ssd)) };
        let watched = told(&self.watched);
        for plain in self.less.iter().map(|(ssd, _)| ssd).chain([&self.plain]) {
            let plain = told(plain);
            if watched != plain {
                let differ: Vec<_> = watched.split(", ").zip(plain.split(", ")).filter(|(a, b)| a != b).collect();
                panic!("without shortcuts, and with them: {differ:#?}");
            }
        }
        let less = self.less.each_ref().map(|(_, eye)| eye);
        match &self.all {
            Some(all) => compare_shown(all, &less),
            None => less.iter().for_each(|eye| _ = eye.take()),
        }
    }

    pub fn run(&mut self) {
        self.both(Ssd::run);
        self.compare(true);
    }

    pub fn run_until(&mut self, limit: Nanos) {
        self.both(|ssd| ssd.run_until(limit));
        // Some tests stop thousands of times, and to tell all takes long.
        self.stops += 1;
        self.compare(self.stops <= 8 || self.stops.is_power_of_two());
    }

    pub fn power_cut(&mut self) -> PowerCut {
        self.both(Ssd::power_cut)
    }

    /// Another observer of the watched one.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.watched.observe(observer);
        self.all = None;
    }

    pub fn submit(&mut self, request: Request) {
        self.submit_marked(request, Marks::default(), std::iter::empty());
    }

    pub fn submit_marked(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let extents: Vec<Extent> = extents.collect();
        self.both(|ssd| {
            if !ssd.accepts() {
                ssd.run_until_room();
            }
            ssd.submit_marked(request, marks, extents.iter().copied());
        });
    }

    pub fn set_closed(&mut self, closed: bool) {
        self.both(|ssd| ssd.set_closed(closed));
    }

    pub fn set_tenants(&mut self, tenants: Vec<String>) {
        self.both(|ssd| ssd.set_tenants(tenants.clone()));
    }

    pub fn set_owner(&mut self, tenant: u8, bytes: Range<u64>) {
        self.both(|ssd| ssd.set_owner(tenant, bytes.clone()));
    }

    pub fn set_loops(&mut self, loops: &[Option<Outstanding>]) {
        self.both(|ssd| ssd.set_loops(loops));
    }

    pub fn set_think(&mut self, tenant: Option<u8>, think: Think) {
        self.both(|ssd| ssd.set_think(tenant, think));
    }

    pub fn submit_next(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let extents: Vec<Extent> = extents.collect();
        self.both(|ssd| ssd.submit_next(request, marks, extents.iter().copied()));
    }

    pub fn end_loop(&mut self, tenant: u8) {
        self.both(|ssd| ssd.end_loop(tenant));
    }
}

/// Observers that watch less, so that shortcuts stay open, get the same of that as one that watches all, since they were last asked.
pub fn compare_shown(all: &Eye, less: &[&Eye]) {
    let all = all.take();
    for eye in less {
        let (own, less) = (all.iter().filter(|shown| shown.is_of(eye.watches)), eye.take());
        let same = own.clone().zip(&less).take_while(|(a, b)| a == b).count();
        assert!(
            own.clone().count() == same && less.len() == same,
            "what is shown without shortcuts, and with them, after {same}: {:#?}\n{:#?}",
            own.clone().nth(same),
            less.get(same)
        );
    }
}

/// Causes of a request's latency with a time above 0, in their fixed order; those of optional features come last.
pub fn causes(request: &Completed) -> Vec<(&'static str, u64)> {
    let named = CAUSES.iter().map(|(cause, name)| (*name, request.blame.0[*cause as usize]));
    let extras = Extra::ALL.iter().map(|extra| (extra.name(), request.extras.0[*extra as usize]));
    named.chain(extras).filter(|(_, ns)| *ns > 0).collect()
}

/// The time that a request spent on one cause.
pub fn spent(request: &Completed, cause: Cause) -> u64 {
    request.blame.0[cause as usize]
}

/// The summary so far.
pub fn summary(ssd: &Ssd) -> Summary {
    ssd.summary(1, String::new(), String::new())
}

/// Arrays of `channels x chips x dies x planes` with the default blocks and pages.
pub fn array(channels: u32, chips: u32, dies: u32, planes: u32) -> String {
    format!(
        "geometry.channels = {channels}\ngeometry.chips_per_channel = {chips}\ngeometry.dies_per_chip = {dies}\ngeometry.planes_per_die = {planes}\n"
    )
}

/// One plane of eight blocks of `per_block` pages, of which `exported` are exported, and a queue that no test fills.
pub fn plane(per_block: u64, exported: u64, threshold: u64, more: &str) -> Config {
    let pages = 8 * per_block;
    let spare = ((pages - exported) as f64 / pages as f64 * 1e6).floor() / 1e6;
    config(&format!(
        "{}geometry.blocks_per_plane = 8
        geometry.pages_per_block = {per_block}
        device.over_provisioning = {spare:.6}
        device.queue_depth = 4096
        gc.threshold = \"{threshold} pages\"
        {more}",
        array(1, 1, 1, 1)
    ))
}

/// Reports that something required by a test is missing, and fails if `SSDLAB_REQUIRE` is set, so that no test is skipped.
pub fn absent(what: &str) {
    assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "{what}, and SSDLAB_REQUIRE is set");
    eprintln!("{what}; skipped");
}

/// Panics of this thread are expected from now on, and print nothing.
pub fn expect_panics() {
    thread_local!(static EXPECTED: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                print(info);
            }
        }));
    });
    EXPECTED.set(true);
}
