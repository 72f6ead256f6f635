//! The device under test: submit, run, compare latencies.
#![allow(missing_docs)]

use std::cell::Cell;
use std::sync::{Arc, Mutex, Once};

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use ssdlab_sim::blame::{CAUSES, Cause, Extra};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Config, Marks, Observer, Request, RequestOp, Ssd};

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

/// A device with the full oracle that records all completed requests.
pub struct Dut {
    pub ssd: Ssd,
    log: Log,
}

impl Dut {
    pub fn new(config: &Config) -> Self {
        Self::seeded(config, 1)
    }

    pub fn seeded(config: &Config, seed: u64) -> Self {
        let mut ssd = Ssd::new(config, seed, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        let log = Log::default();
        ssd.observe(Box::new(log.clone()));
        Dut { ssd, log }
    }

    fn submit(&mut self, request: Request) {
        if !self.ssd.accepts() {
            self.ssd.run_until_room();
        }
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
