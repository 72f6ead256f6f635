//! Random small devices and traces through `ssdlab run`: what is watched or checked never changes a result.

use std::cell::Cell;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Parser;
use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence, TestRunner};
use ssdlab_cli::args::{Cli, Command};

/// Cases that once failed run first. A new one adds itself, and is committed with its fix.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/worlds.txt");

/// Numbers that decide a device, in the order in which it asks for them; each choice's first value is the simplest.
const CHOICES: usize = 80;

/// What a request is drawn from: gap, kind, place, length.
type Drawn = (u32, u8, u32, u32);

/// Draws from a list of numbers.
struct Draws<'d>(std::slice::Iter<'d, u32>);

impl Draws<'_> {
    fn below(&mut self, n: usize) -> usize {
        *self.0.next().expect("more choices than CHOICES") as usize % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True for one of `n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

/// What a device has beside flash and GC; most of them exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Cache,
    Queues,
    Parity,
    SuperPages,
    Interconnect,
    Buffer,
    Copies,
}

/// A device and a trace as the texts of their files, and the arguments that all runs share.
#[derive(Clone)]
struct World {
    device: String,
    trace: String,
    arguments: String,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let World { device, trace, arguments } = self;
        write!(f, "device.toml:\n{device}\ntrace.csv:\n{trace}\nssdlab run {arguments}")
    }
}

/// The shape of a device and the schemes that decide how much room it needs.
struct Shape {
    kind: Kind,
    channels: usize,
    chips: usize,
    planes: usize,
    blocks: usize,
    per_block: usize,
    page: usize,
    collector: &'static str,
    path: &'static str,
    /// Free pages below which GC starts.
    floor: usize,
    /// Exported pages of a plane.
    exported: usize,
}

/// Collectors that need nothing of the device, and those that need two planes.
const COLLECTORS: [&str; 4] = ["\"serial\"", "\"queued\"", "\"preemptive\"", "\"preemptive\""];
const JOINT: [&str; 5] = [
    "{ pagc = { when = \"always\" } }",
    "{ pagc = { threshold = 0.5 } }",
    "{ pagc = { threshold = \"1.5 x gc\", points = \"unaligned\" } }",
    "{ pagc = { when = \"always\", points = \"invalidate\", waste = 0.5 } }",
    "{ preemptive = { inner = { pagc = { when = \"always\" } } } }",
];
const BUFFERING: [&str; 4] = [
    "\"idle-chip\"",
    "{ idle-chip = { stream_rule = \"always\", to = \"own_plane\" } }",
    "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\", absorb = false } }",
    "{ idle-chip = { inner = \"preemptive\", release = \"issue\" } }",
];

impl Shape {
    fn of(draw: &mut Draws<'_>) -> Shape {
        use Kind::{Buffer, Cache, Copies, Interconnect, Parity, Plain, Queues, SuperPages};
        let kind = draw.pick(&[
            Plain,
            Plain,
            Plain,
            Cache,
            Cache,
            Cache,
            Queues,
            Queues,
            Parity,
            Parity,
            SuperPages,
            SuperPages,
            Interconnect,
            Buffer,
            Copies,
        ]);
        let (mut channels, mut chips, mut planes) = (draw.pick(&[1, 2]), draw.pick(&[1, 2]), draw.pick(&[1, 2, 2, 4]));
        if matches!(kind, Parity | Copies) {
            (channels, chips) = (2, chips.max(channels));
        }
        if kind == SuperPages {
            planes = 2;
        }
        let joint = planes == 2 && !matches!(kind, SuperPages | Parity | Interconnect | Cache);
        let mut collector = draw.pick(&COLLECTORS);
        let (paired, buffered) = (draw.pick(&JOINT), draw.pick(&BUFFERING));
        if draw.one_in(3) && joint {
            collector = paired;
        }
        if kind == Buffer {
            collector = buffered;
        }
        let path = draw.pick(&["\"external\"", "\"copyback\"", "\"copyback\"", "\"fastgc\"", "\"checked\""]);
        let counts = matches!(path, "\"fastgc\"" | "\"checked\"");
        let path = if kind == SuperPages && counts { "\"copyback\"" } else { path };
        let (blocks, per_block) = (10 + draw.below(4), draw.pick(&[4, 6, 8]));
        // A reserved block and an open one for each write stream of GC.
        let streams = if collector.contains("pagc") { 2 } else { 1 } + usize::from(counts);
        let data = if path == "\"fastgc\"" { per_block - 1 } else { per_block };
        let exported = (blocks - 2 * streams - draw.below(3)) * data - 2;
        let floor = 1 + draw.below(2 * per_block);
        let page = draw.pick(&[4096, 8192]);
        Shape { kind, channels, chips, planes, blocks, per_block, page, collector, path, floor, exported }
    }

    /// Whether the host's pages may go to any plane.
    fn may_be_dynamic(&self) -> bool {
        self.kind != Kind::Parity && !self.collector.contains("own_plane")
    }

    fn preempts(&self) -> bool {
        self.collector.contains("preemptive")
    }
}

/// The text of a configuration: a key a line.
#[derive(Default)]
struct Text(String);

impl Text {
    fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn word(&mut self, key: &str, value: &str) {
        self.set(key, format_args!("\"{value}\""));
    }

    fn shape(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        self.set("geometry.channels", shape.channels);
        self.set("geometry.chips_per_channel", shape.chips);
        self.set("geometry.dies_per_chip", draw.pick(&[1, 2]));
        self.set("geometry.planes_per_die", shape.planes);
        self.set("geometry.blocks_per_plane", shape.blocks);
        self.set("geometry.pages_per_block", shape.per_block);
        self.word("geometry.page_size", &format!("{}B", shape.page));
        let spare = 1.0 - shape.exported as f64 / (shape.blocks * shape.per_block) as f64;
        // Rounded so that no more pages are exported.
        self.set("device.over_provisioning", format_args!("{:.6}", (spare * 1e6).ceil() / 1e6));
    }

    fn timing(&mut self, draw: &mut Draws<'_>) {
        self.set("timing.read", draw.pick(&["\"20us\"", "[\"20us\", \"30us\"]"]));
        self.set("timing.program", draw.pick(&["\"100us\"", "[\"80us\", \"120us\"]"]));
        self.word("timing.erase", draw.pick(&["900us", "300us"]));
        self.word("timing.command", draw.pick(&["0ns", "200ns"]));
        self.set("timing.cache_register", draw.one_in(3));
        if draw.one_in(3) {
            self.word("timing.host_link", draw.pick(&["1ns/B", "3GB/s"]));
        }
        let suspendable = draw.pick(&["none", "program+erase", "erase"]);
        let slow = draw.one_in(2);
        self.word("timing.suspendable", suspendable);
        if suspendable != "none" && slow {
            self.set("timing.suspend", "\"3us\"\ntiming.resume = \"2us\"");
        }
        if draw.one_in(6) {
            self.word("timing.copyback", "90us");
        }
    }

    fn device(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        self.word("device.exclusion", draw.pick(&["die", "chip", "die", "chip", "channel"]));
        self.word("device.write_ack", draw.pick(&["after_program", "after_program", "after_transfer"]));
        self.set("device.queue_depth", draw.pick(&[32, 1, 2, 4, 8]));
        let multi = draw.one_in(2);
        if shape.kind == Kind::SuperPages {
            self.word("device.mapping_unit", "super-page");
        } else {
            self.set("device.multi_plane", multi);
        }
        self.word("device.partial_write", draw.pick(&["read-modify-write", "read-modify-write", "whole-page"]));
        self.word("device.partial_read", draw.pick(&["bytes", "bytes", "whole-page"]));
        self.word("device.memory", draw.pick(&["0ns", "1us"]));
    }

    fn gc(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        self.word("gc.threshold", &format!("{} pages", shape.floor));
        let scope = draw.pick(&["plane", "plane", "plane", "chip", "device"]);
        let real = !draw.one_in(8) || shape.kind == Kind::Interconnect;
        let idle = draw.one_in(5);
        self.word("gc.scope", if shape.collector.contains("pagc") || idle { "plane" } else { scope });
        self.word("gc.time", if real || idle { "real" } else { "none" });
        let hard = draw.below(shape.floor + 1);
        if (shape.preempts() || shape.kind == Kind::Interconnect) && draw.one_in(2) {
            self.word("gc.hard_threshold", &format!("{hard} pages"));
        }
        if idle {
            let below = shape.floor + 3;
            let after = draw.pick(&["50us", "1ms"]);
            self.set(
                "schemes.trigger",
                format_args!("{{ idle = {{ after = \"{after}\", below = \"{below} pages\" }} }}"),
            );
        }
        self.set("schemes.collector", shape.collector);
        self.set("schemes.path", shape.path);
        self.set(
            "schemes.victim",
            draw.pick(&["\"greedy\"", "\"fifo\"", "\"random\"", "\"cost-benefit\"", "{ d-choices = { d = 2 } }"]),
        );
        self.word("precondition.mode", draw.pick(&["random", "sequential", "none", "random"]));
    }

    fn ftl(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        let separate = shape.path.contains("fastgc") || shape.path.contains("checked") || draw.one_in(2);
        self.word("ftl.write_points", if separate { "separate" } else { "shared" });
        self.word("ftl.free_block", draw.pick(&["round-robin", "least-erased"]));
        if draw.one_in(3) {
            self.set("ftl.wear_levelling", "\"static\"\nftl.wear_spread = 1");
        }
        let place = draw.pick(&["CWDP", "PDWC", "dynamic"]);
        let dynamic = shape.kind == Kind::Buffer && shape.may_be_dynamic();
        self.word(
            "schemes.place",
            if dynamic || place == "dynamic" && shape.may_be_dynamic() {
                "dynamic"
            } else if shape.kind == Kind::Cache {
                "PCWD"
            } else {
                "CWDP"
            },
        );
        if draw.one_in(3) {
            let warmup = draw.pick(&["10 requests", "0.2 drive writes", "25 requests"]);
            self.word("run.warmup", warmup);
        }
    }

    fn order(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        self.word("schemes.order", draw.pick(&["async-fifo", "async-fifo", "sync-fifo", "piq", "sync-piq"]));
        if draw.one_in(4) {
            self.set("order.chip_queue", draw.pick(&[1, 2, 8]));
        }
        self.set("order.delay_writes", draw.one_in(5));
        let burst = draw.pick(&[16, 1, 2]);
        if draw.one_in(3) && shape.kind != Kind::Interconnect {
            self.set("order.die_queue", format_args!("\"read-first\"\norder.read_burst = {burst}"));
        }
    }

    fn kind(&mut self, shape: &Shape, draw: &mut Draws<'_>) {
        let lines = draw.pick(&[2, 4, 9, 16]);
        match shape.kind {
            Kind::Cache => self.cache(lines * shape.page, draw),
            Kind::Parity => {
                let layout = draw.pick(&["traditional", "lci"]);
                let mode = draw.pick(&["rmw", "rcw", "auto"]);
                self.set(
                    "raid",
                    format_args!(
                        "{{ layout = \"{layout}\", group = 2, encode_timeout = \"50us\", write_mode = \"{mode}\" }}"
                    ),
                );
                self.set("schemes.route", draw.pick(&["\"direct\"", "\"brr\""]));
            }
            Kind::Interconnect => self.word("noc.model", draw.pick(&["formula", "array"])),
            Kind::Buffer => self.set("staging.slots", draw.pick(&[3, 1, 8, 64])),
            Kind::Copies => self.set("schemes.route", "{ dpr = { k = 1, replica_pages = 0.05 } }"),
            Kind::Queues => {
                if draw.one_in(2) {
                    self.cache(lines * shape.page, draw);
                }
                self.queues(draw);
            }
            Kind::Plain | Kind::SuperPages => {}
        }
    }

    fn cache(&mut self, bytes: usize, draw: &mut Draws<'_>) {
        self.word("cache.size", &format!("{bytes}B"));
        self.word("cache.time", draw.pick(&["1us", "0ns"]));
        self.word("cache.write", draw.pick(&["back", "back", "back", "through"]));
        self.word("cache.read", draw.pick(&["written", "all"]));
        self.word("cache.evict", draw.pick(&["lru", "fifo"]));
        self.word("cache.writeback", draw.pick(&["eager", "watermark", "idle"]));
        self.word("cache.order", draw.pick(&["fifo", "lru"]));
        self.word("cache.flush", draw.pick(&["program", "none"]));
    }

    fn queues(&mut self, draw: &mut Draws<'_>) {
        self.word("nvme.arbitration", draw.pick(&["rr", "wrr"]));
        self.set("nvme.burst", draw.pick(&[1, 2]));
        let first = draw.pick(&["{ op = \"read\" }", "{ device = [\"a\"] }", "{ stream = [\"1\"] }"]);
        let first = if first.contains("stream") { "{ op = \"write\" }" } else { first };
        let depth = draw.pick(&["", ", depth = 1"]);
        self.set("nvme.queues", format_args!("[{{ name = \"one\", class = \"high\", weight = 2, match = {first}{depth} }}, {{ name = \"two\", match = \"rest\" }}]"));
    }
}

impl World {
    fn of(choices: &[u32], requests: &[Drawn]) -> World {
        let draw = &mut Draws(choices.iter());
        let shape = Shape::of(draw);
        let mut device = Text::default();
        device.shape(&shape, draw);
        device.kind(&shape, draw);
        device.gc(&shape, draw);
        device.device(&shape, draw);
        device.timing(draw);
        device.ftl(&shape, draw);
        device.order(&shape, draw);
        let policy = draw.pick(&["wrap", "dense", "dense"]);
        let replay = draw.pick(&["arrival", "arrival", "closed"]);
        let loops = draw.pick(&[1, 1, 1, 2]);
        let arguments = format!(
            "./device.toml --trace ./trace.csv --format columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,fua=4,vol=5 --lba-policy {policy} --replay {replay} --loop {loops} --seed 7 --quiet"
        );
        let (per_page, pages) =
            (shape.page as u64 / 512, (shape.channels * shape.chips * shape.planes * shape.exported) as u64);
        World { device: device.0, trace: trace(requests, per_page, pages), arguments }
    }
}

/// Lines of a trace on a device of at least so many pages of so many sectors. Neighbours of the trace's pages lie apart, so that
/// `--lba-policy dense` moves them.
fn trace(requests: &[Drawn], per_page: u64, pages: u64) -> String {
    let (mut text, mut at, mut last) = (String::new(), 0, 0);
    // Parity takes a chip of two.
    let pages = (pages / 2).max(1);
    for (gap, kind, place, length) in requests {
        // Ties, usual gaps, and one long enough for idle time.
        at += match gap % 8 {
            0 | 1 => 0,
            2 => u64::from(gap % 3_000_000),
            _ => u64::from(gap % 60_000),
        };
        let page = if kind % 5 == 0 { last } else { u64::from(*place) % pages };
        let length = u64::from(*length);
        let (first, sectors) = match kind % 3 {
            0 => (0, per_page * (1 + length % 4).min(pages)),
            1 => (length % per_page, 1 + length % (per_page - length % per_page)),
            _ => (0, per_page),
        };
        last = page;
        let op = ["w", "w", "w", "w", "r", "r", "r", "w", "w", "r", "r", "t", "f"][usize::from(kind / 20).min(12)];
        let (offset, bytes) = if op == "f" { (0, 0) } else { ((page * 3 * per_page + first) * 512, sectors * 512) };
        let (forced, volume) = (u8::from(op == "w" && length % 7 == 0), ["a", "b"][usize::from(place % 2 == 0)]);
        let _ = writeln!(text, "{at},{op},{offset},{bytes},{forced},{volume}");
    }
    text
}

fn worlds() -> impl Strategy<Value = World> {
    let request = (any::<u32>(), any::<u8>(), any::<u32>(), any::<u32>());
    let parts = (prop::collection::vec(any::<u32>(), CHOICES), prop::collection::vec(request, 1..90));
    parts.prop_map(|(choices, requests)| World::of(&choices, &requests))
}

/// A world in a directory of its own.
pub struct Bench {
    directory: tempfile::TempDir,
    arguments: String,
}

impl Bench {
    fn of(world: &World) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("device.toml"), &world.device).unwrap();
        std::fs::write(directory.path().join("trace.csv"), &world.trace).unwrap();
        Bench { directory, arguments: world.arguments.clone() }
    }

    /// The summary's bytes, or the message of the refusal. Files of this directory are named as `./FILE`.
    pub fn run(&self, more: &str) -> Result<String, String> {
        let at = |word: &str| match word.strip_prefix("./") {
            Some(name) => self.file(name).to_string_lossy().into_owned(),
            None => word.to_string(),
        };
        let words = ["ssdlab", "run"].into_iter().chain(self.arguments.split(' ')).chain(more.split_whitespace());
        let parsed = Cli::try_parse_from(words.map(at)).unwrap_or_else(|error| panic!("{error}"));
        let Command::Run(args) = parsed.command else { panic!("not a run") };
        ssdlab_cli::run::simulate(&args, "ssdlab run")
            .map(|done| done.outcome.json())
            .map_err(|error| error.to_string())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }
}

/// Runs a property on so many worlds, those that once failed first, and demands that most of them are devices.
pub fn each(usual: u32, property: impl Fn(&Bench) -> Result<bool, TestCaseError>) {
    let cases = std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let persistence: Box<dyn FailurePersistence> = Box::new(FileFailurePersistence::Direct(FOUND));
    let config = ProptestConfig {
        cases,
        failure_persistence: Some(persistence),
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    };
    let (served, all) = (Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new(config).run(&worlds(), |world| {
        all.set(all.get() + 1);
        let ran = property(&Bench::of(&world))?;
        served.set(served.get() + u32::from(ran));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}\nthe seed is the last line of {FOUND}"));
    assert!(10 * served.get() >= 8 * all.get(), "only {} of {} worlds are devices", served.get(), all.get());
}

#[test]
fn what_is_watched_or_checked_changes_no_result() {
    const WATCHED: [&str; 6] = [
        "--check sampled --requests ./r0.csv",
        "--check off --series ./s0.csv --window 700us",
        "--check full",
        "--check off --requests ./r1.csv --series ./s1.csv --series-dies --window 700us",
        "--check sampled --histograms ./h.csv --blocks ./b.csv",
        "--check full --requests ./r2.csv --series ./s2.csv --series-dies --window 700us --timeline ./t.pftrace",
    ];
    each(500, |bench| {
        let plain = bench.run("--check off");
        for options in WATCHED {
            let watched = bench.run(options);
            prop_assert!(plain == watched, "{} differs:\n{:?}\nplain:\n{:?}", options, watched, plain);
        }
        if plain.is_ok() {
            for files in [["r0.csv", "r1.csv", "r2.csv"], ["s0.csv", "s1.csv", "s2.csv"]] {
                let [one, other, last] = files.map(|name| bench.text(name));
                prop_assert!(one == other && one == last, "{:?} differ:\n{}\n{}\n{}", files, one, other, last);
            }
        }
        Ok(plain.is_ok())
    });
}
