//! Random small worlds with the full oracle: laws hold, no write is lost, no deadlock occurs, and counts agree.

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use ssdlab_sim::config::{GcTime, NocModel, RaidLayout, Scope};
use ssdlab_sim::report::Summary;
use ssdlab_sim::schemes::AnyTrigger;
use ssdlab_sim::schemes::trigger::Idle;
use ssdlab_sim::units::{Nanos, Threshold};
use ssdlab_sim::{Check, Config, Filled, Marks, Request, RequestOp, Ssd};

/// Cases that once failed run first. A new one adds itself, and is committed with its fix.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/worlds.txt");

/// Copies every page whose read has waited, one at a time.
const DPR: &str = "{ dpr = { k = 1, replica_pages = 0.02 } }";

type Word = &'static str;

/// The random parts of a device, before they are fitted together.
#[derive(Debug)]
struct World {
    shape: Shape,
    schemes: Schemes,
    space: Space,
    chips: Chips,
    ftl: Ftl,
    noc: Noc,
    raid: Option<Raid>,
    wear: Wear,
}

/// A device of such a text without what neither write caches nor queues of the host are simulated with.
pub fn plain(toml: &str) -> Config {
    let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
    config.raid.layout = RaidLayout::None;
    config.faults.chip_fails.clear();
    config.faults.rebuild = 0;
    config.noc.model = NocModel::None;
    config.noc.priority = None;
    config.gc.hard_threshold = None;
    config
}

/// A device with another collector and path, and reads that go where their pages are.
pub fn with_schemes(config: &mut Config, collector: &str, path: &str) {
    let text = format!("schemes = {{ collector = \"{collector}\", path = \"{path}\" }}");
    let schemes = text.parse::<Config>().unwrap().schemes;
    (config.schemes.collector, config.schemes.path) = (schemes.collector, schemes.path);
    config.schemes.route = schemes.route;
}

/// How a run ends: its summary, and what each of its requests, at most so many, waited for.
pub fn outcome(
    config: &Config,
    (check, fusing): (Check, bool),
    most: usize,
    submit: impl FnOnce(&mut Ssd),
) -> (Summary, String) {
    let mut ssd = Ssd::new(config, 7, check).unwrap_or_else(|error| panic!("{error}"));
    ssd.set_fusing(fusing);
    ssd.collect_slowest(most);
    submit(&mut ssd);
    ssd.run();
    let slowest = ssd.slowest().unwrap();
    let mut causes: Vec<_> = slowest.into_iter().flat_map(|slowest| slowest.requests().cloned()).collect();
    causes.sort_by_key(|request| request.request);
    (ssd.summary(7, String::new(), String::new()), format!("{causes:?}"))
}

/// A small device as TOML text, so that a failure prints the text to paste. The seeds in `worlds.txt` reproduce these worlds as
/// long as the draws and their order do not change.
pub fn device() -> impl Strategy<Value = String> {
    let parts = (shape(), schemes(), space(), chips(), ftl(), noc(), raid(), wear());
    parts.prop_map(|(shape, schemes, space, chips, ftl, noc, raid, wear)| {
        World { shape, schemes, space, chips, ftl, noc, raid, wear }.fitted().toml()
    })
}

#[derive(Debug)]
struct Shape {
    channels: u32,
    chips: u32,
    dies: u32,
    planes: u32,
    per_block: u32,
}

fn shape() -> impl Strategy<Value = Shape> {
    (1u32..3, 1u32..3, 1u32..3, 1u32..3, 2u32..6).prop_map(|(channels, chips, dies, planes, per_block)| Shape {
        channels,
        chips,
        dies,
        planes,
        per_block,
    })
}

#[derive(Debug)]
struct Schemes {
    victim: Word,
    collector: Word,
    path: Word,
    place: Word,
    order: Word,
}

fn schemes() -> impl Strategy<Value = Schemes> {
    (
        prop::sample::select(vec!["greedy", "{ d-choices = { d = 2 } }", "random", "random+", "fifo", "cost-benefit"]),
        prop::sample::select(vec![
            "serial",
            "queued",
            "{ pagc = { when = \"always\" } }",
            "{ pagc = { threshold = 0.5 } }",
            "{ pagc = { threshold = \"1.5 x gc\", points = \"unaligned\" } }",
            "{ pagc = { when = \"always\", points = \"unaligned\" } }",
            "{ pagc = { when = \"always\", points = \"invalidate\", waste = 0.5 } }",
            "{ pagc = { threshold = 0 } }",
            "{ pagc = { when = \"always\", cache = true } }",
            "{ pagc = { threshold = 0.3, cache = true } }",
            "{ preemptive = { inner = { pagc = { threshold = 0.6, cache = true } } } }",
            "preemptive",
            "{ preemptive = { inner = { pagc = { when = \"always\" } } } }",
            "idle-chip",
            "{ idle-chip = { stream_rule = \"always\", writeback = \"queue_empty\", release = \"issue\" } }",
            "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\" } }",
            "{ idle-chip = { stream_rule = \"always\", to = \"own_plane\" } }",
            "{ idle-chip = { to = \"own_plane\", release = \"issue\", inner = \"preemptive\" } }",
            "{ idle-chip = { inner = \"preemptive\", erase = \"after_writeback\", absorb = false } }",
            "{ preemptive = { inner = { idle-chip = { stream_rule = \"always\", inner = { pagc = { when = \"always\" } } } } } }",
            "{ idle-chip = { stream_rule = \"always\", inner = \"queued\", erase = \"after_writeback\" } }",
        ]),
        prop::sample::select(vec!["external", "copyback", "checked", "fastgc", "fastgc"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW", "dynamic"]),
        prop::sample::select(vec!["async-fifo", "sync-fifo", "piq", "sync-piq"]),
    )
        .prop_map(|(victim, collector, path, place, order)| Schemes { victim, collector, path, place, order })
}

#[derive(Debug)]
struct Space {
    blocks: u32,
    /// Spare blocks beyond the minimum of the device.
    extra: u32,
    scope: Word,
    /// Free pages below which GC starts.
    floor: u32,
}

fn space() -> impl Strategy<Value = Space> {
    (
        prop_oneof![7 => 5u32..12, 1 => Just(100u32)],
        0u32..3,
        prop::sample::select(vec!["plane", "chip", "device"]),
        1u32..6,
    )
        .prop_map(|(blocks, extra, scope, floor)| Space { blocks, extra, scope, floor })
}

#[derive(Debug)]
struct Chips {
    exclusion: Word,
    ack: Word,
    cache: bool,
    multi: bool,
    suspend: Word,
    filling: Word,
    unit: Word,
    capacitor: bool,
    keep: bool,
    copies: Word,
}

fn chips() -> impl Strategy<Value = Chips> {
    (
        prop::sample::select(vec!["die", "chip", "channel"]),
        prop::sample::select(vec!["after_program", "after_transfer"]),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["none", "erase", "program+erase"]),
        prop::sample::select(vec!["none", "sequential", "random", "aged"]),
        prop::sample::select(vec!["page", "page", "page", "super-page"]),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["\"direct\"", DPR, "{ dpr = { k = 2, replica_pages = 0.1 } }"]),
    )
        .prop_map(|(exclusion, ack, cache, multi, suspend, filling, unit, capacitor, keep, copies)| Chips {
            exclusion,
            ack,
            cache,
            multi,
            suspend,
            filling,
            unit,
            capacitor,
            keep,
            copies,
        })
}

#[derive(Debug)]
struct Ftl {
    points: Word,
    free_block: Word,
    levelling: Word,
    destination: Word,
    time: Word,
    depth: u32,
    chip_queue: Option<u32>,
    staging: u32,
    /// Free pages below which GC precedes the host.
    hard: Option<u32>,
    delay: Word,
}

fn ftl() -> impl Strategy<Value = Ftl> {
    (
        prop::sample::select(vec!["separate", "shared"]),
        prop::sample::select(vec!["round-robin", "least-erased"]),
        prop::sample::select(vec!["none", "static"]),
        prop::sample::select(vec!["plane", "chip", "any"]),
        prop::sample::select(vec!["real", "real", "none"]),
        1u32..9,
        prop::option::of(1u32..4),
        prop::sample::select(vec![0u32, 1, 2, 3, 5, 8, 64]),
        prop::option::of(0u32..4),
        prop::sample::select(vec!["", "delay_writes = true\n", "delay_writes = false\n"]),
    )
        .prop_map(|(points, free_block, levelling, destination, time, depth, chip_queue, staging, hard, delay)| {
            Ftl { points, free_block, levelling, destination, time, depth, chip_queue, staging, hard, delay }
        })
}

#[derive(Debug)]
struct Noc {
    model: Word,
    port: Word,
    sram: Word,
    transfer: Word,
    priority: Word,
    page_errors: Word,
    rows: u32,
    /// Whether pages are checked on their way, and by the flash controller.
    selective: bool,
    local: bool,
}

fn noc() -> impl Strategy<Value = Noc> {
    (
        prop::sample::select(vec!["none", "none", "formula", "array"]),
        prop::sample::select(vec!["occupied", "delayed"]),
        prop::sample::select(vec![("0us", "800MB/s"), ("1us", "800MB/s"), ("0us", "0ns/B"), ("1us", "0ns/B")]),
        prop::sample::select(vec!["", ", priority = []", ", priority = [\"wgc\", \"rgc\", \"whost\", \"rhost\"]"]),
        prop::sample::select(vec!["0", "0.3", "1"]),
        1u32..3,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(model, port, (sram, transfer), priority, page_errors, rows, selective, local)| Noc {
            model,
            port,
            sram,
            transfer,
            priority,
            page_errors,
            rows,
            selective,
            local,
        })
}

#[derive(Debug)]
struct Raid {
    layout: Word,
    numbering: Word,
    group: u32,
    groups: u32,
    timeout: Word,
    write_mode: Word,
    route: Word,
    fails: Word,
}

fn raid() -> impl Strategy<Value = Option<Raid>> {
    let parts = (
        prop::sample::select(vec!["traditional", "lci"]),
        prop::sample::select(vec!["across", "channel"]),
        2u32..5,
        1u32..4,
        prop::sample::select(vec!["0ns", "50us", "3ms"]),
        prop::sample::select(vec!["rmw", "rcw", "auto"]),
        prop::sample::select(vec!["\"direct\"", "\"brr\"", "{ brr = { read = \"1ns\" } }"]),
        prop::sample::select(vec!["", "", "{ within = \"20ms\" }", "{ within = \"20ms\" }, { at = \"9ms\" }"]),
    );
    prop::option::of(parts.prop_map(|(layout, numbering, group, groups, timeout, write_mode, route, fails)| Raid {
        layout,
        numbering,
        group,
        groups,
        timeout,
        write_mode,
        route,
        fails,
    }))
}

#[derive(Debug)]
struct Wear {
    thresholds: Word,
    programming: Word,
    errors: Word,
    decode: Word,
}

fn wear() -> impl Strategy<Value = Wear> {
    (
        prop::sample::select(vec!["0", "1", "2", "\"model\"", "[[0, 3], [4, 1], [6, 0]]"]),
        prop::sample::select(vec!["page", "one-shot"]),
        prop::sample::select(vec![
            "",
            "page_error_probability = 0.5",
            "page_error_probability = 0",
            "errors = \"model\", read_disturb = 5000, retention = 0.5",
            "errors = \"model\", program_errors = [[0, 0], [6, 90000]]",
        ]),
        prop::sample::select(vec!["0ns", "5us"]),
    )
        .prop_map(|(thresholds, programming, errors, decode)| Wear { thresholds, programming, errors, decode })
}

/// A scheme as TOML: a name, or a table with its settings.
fn quote(scheme: &str) -> String {
    if scheme.starts_with('{') { scheme.to_string() } else { format!("\"{scheme}\"") }
}

impl World {
    /// The same without combinations that the rules reject, so that most worlds are valid devices.
    fn fitted(mut self) -> World {
        self.fit_unit();
        self.fit_raid();
        self.fit_noc();
        self.fit_wear();
        self.fit_gc();
        self
    }

    fn fit_unit(&mut self) {
        let staged_with_parity = |raid: &Raid| {
            self.schemes.collector.contains("own_plane") && raid.fails.is_empty() && !self.wear.errors.contains("model")
        };
        if !self.raid.as_ref().is_none_or(staged_with_parity) {
            self.ftl.staging = 0;
        }
        let buffers = ["pagc", "idle-chip"].iter().any(|scheme| self.schemes.collector.contains(scheme));
        if self.shape.planes != 2 || buffers || self.raid.is_some() {
            self.chips.unit = "page";
        }
        self.chips.multi &= self.chips.unit == "page";
        // A plain device may have second copies.
        let chips = self.shape.channels * self.shape.chips;
        if self.noc.model != "none" || self.chips.unit != "page" || chips == 1 {
            self.chips.copies = "\"direct\"";
        }
    }

    fn fit_raid(&mut self) {
        let Some(raid) = &self.raid else { return };
        let shape = &mut self.shape;
        // The chips of a group are neighbours, or on one channel each.
        (shape.channels, shape.chips) =
            if shape.channels == 1 { (raid.groups, raid.group) } else { (raid.group, raid.groups) };
        if self.schemes.place == "dynamic" {
            self.schemes.place = "CWDP";
        }
        if !raid.fails.is_empty() {
            self.noc.model = "none";
        }
    }

    fn fit_noc(&mut self) {
        let noc = &mut self.noc;
        if noc.model == "none" {
            (noc.transfer, noc.priority) = ("800MB/s", "");
        } else if noc.selective {
            self.schemes.path = match self.schemes.path {
                "external" if noc.local => "{ selective = { check = \"fmc\" } }",
                "external" => "selective",
                "fastgc" => "{ fastgc = { fallback = \"selective\" } }",
                path => path,
            };
        }
        if noc.model == "array" {
            noc.port = "occupied";
        }
    }

    fn fit_wear(&mut self) {
        let plain = self.raid.is_none() && self.noc.model == "none" && self.chips.unit == "page";
        if !self.shape.per_block.is_multiple_of(3) || !plain || self.route() != "\"direct\"" {
            self.wear.programming = "page";
        }
        if self.raid.is_some() || self.chips.unit != "page" {
            self.wear.decode = "0ns";
        }
        let one_shot = self.wear.programming == "one-shot";
        self.chips.capacitor |= one_shot;
        self.chips.keep &= self.raid.is_none() && !one_shot;
    }

    fn fit_gc(&mut self) {
        let World { schemes, ftl, noc, .. } = self;
        let wraps = schemes.collector.contains("preemptive") || schemes.collector.contains("idle-chip");
        if schemes.collector.contains("idle-chip") && ftl.staging > 0 && self.raid.is_none() {
            let home = schemes.collector.contains("own_plane");
            schemes.place = if !home {
                "dynamic"
            } else if schemes.place == "dynamic" {
                "PDWC"
            } else {
                schemes.place
            };
        }
        let urgent = schemes.collector.contains("preemptive") || noc.model != "none" && !noc.priority.contains("[]");
        ftl.hard = ftl.hard.filter(|_| urgent);
        if schemes.path == "copyback" || schemes.place != "dynamic" || wraps {
            ftl.destination = "plane";
        }
        if schemes.path == "checked" || schemes.path.contains("fastgc") {
            ftl.points = "separate";
        }
        self.space.floor = self.space.floor.min(2 * self.shape.per_block);
        ftl.hard = ftl.hard.map(|pages| pages.min(self.space.floor));
    }

    fn route(&self) -> Word {
        self.raid.as_ref().map_or(self.chips.copies, |raid| raid.route)
    }

    /// The reserve and one open GC block, plus `extra`: down to one spare block per write stream.
    fn over_provisioning(&self) -> f64 {
        let (Schemes { collector, path, .. }, per_block) = (&self.schemes, self.shape.per_block);
        let one = ["unaligned", "invalidate", "threshold = 0 "].iter().any(|knob| collector.contains(knob));
        let separates = *path == "checked" || path.contains("fastgc");
        let streams = if collector.contains("pagc") && !one { 2 } else { 1 } + u32::from(separates);
        let blocks = self.space.blocks;
        let spare = (2 * streams + self.space.extra.min(blocks - 4)).min(blocks - 1);
        let data = if path.contains("fastgc") && self.wear.thresholds != "0" { per_block - 1 } else { per_block };
        let op = 1.0 - f64::from((blocks - spare) * data - 1) / f64::from(blocks * per_block);
        (op * 1e6).ceil() / 1e6
    }

    fn timing(&self) -> String {
        let (Chips { cache, suspend, .. }, transfer) = (&self.chips, self.noc.transfer);
        let program = if self.wear.programming == "page" { "[\"80us\", \"120us\"]" } else { "\"100us\"" };
        let times = if *suspend == "none" { "" } else { ", suspend = \"3us\", resume = \"2us\"" };
        format!(
            "timing = {{ read = [\"20us\", \"30us\"], program = {program}, erase = \"900us\", transfer = \"{transfer}\", cache_register = {cache}, suspendable = \"{suspend}\"{times} }}"
        )
    }

    fn device(&self) -> String {
        let Chips { exclusion, ack, multi, unit, capacitor, keep, .. } = &self.chips;
        let (op, depth) = (self.over_provisioning(), self.ftl.depth);
        format!(
            "device = {{ exclusion = \"{exclusion}\", write_ack = \"{ack}\", multi_plane = {multi}, mapping_unit = \"{unit}\", over_provisioning = {op}, queue_depth = {depth}, power_loss_protection = {capacitor}, keep_overwritten = {keep} }}"
        )
    }

    fn gc(&self) -> String {
        let (Space { scope, floor, .. }, Ftl { destination, time, .. }) = (&self.space, &self.ftl);
        let hard = self.ftl.hard.map_or(String::new(), |pages| format!(", hard_threshold = \"{pages} pages\""));
        format!(
            "gc = {{ threshold = \"{floor} pages\", scope = \"{scope}\", destination = \"{destination}\", time = \"{time}\"{hard} }}"
        )
    }

    fn ecc(&self) -> String {
        let fails = self.raid.as_ref().is_some_and(|raid| !raid.fails.is_empty());
        let by_page = format!(", page_error_probability = {}", self.noc.page_errors);
        let errors = match self.wear.errors {
            "" if self.noc.model != "none" => by_page,
            _ if fails || self.chips.unit != "page" => by_page,
            "" => String::new(),
            errors => format!(", {errors}"),
        };
        format!("ecc = {{ decode = \"{}\"{errors} }}", self.wear.decode)
    }

    fn noc(&self) -> String {
        let Noc { model, port, sram, priority, rows, .. } = &self.noc;
        format!(
            "noc = {{ model = \"{model}\", flit_bits = 2048, columns = 2, rows = {rows}, port = \"{port}\", sram_write = \"{sram}\", sram_read = \"{sram}\"{priority} }}"
        )
    }

    fn schemes(&self) -> String {
        let Schemes { victim, collector, path, place, order } = &self.schemes;
        let (victim, collector, path, route) = (quote(victim), quote(collector), quote(path), self.route());
        format!(
            "schemes = {{ victim = {victim}, collector = {collector}, path = {path}, place = \"{place}\", order = \"{order}\", route = {route} }}"
        )
    }

    /// With its line end; empty for a device without parity.
    fn parity(&self) -> String {
        let Some(Raid { layout, numbering, group, timeout, write_mode, fails, .. }) = &self.raid else {
            return String::new();
        };
        let mut parity = format!(
            "raid = {{ layout = \"{layout}\", numbering = \"{numbering}\", group = {group}, encode_timeout = \"{timeout}\", write_mode = \"{write_mode}\" }}\n"
        );
        if !fails.is_empty() {
            parity += &format!("faults = {{ chip_fails = [{fails}], rebuild = {} }}\n", group % 3);
        }
        parity
    }

    fn toml(&self) -> String {
        let Shape { channels, chips, dies, planes, per_block } = &self.shape;
        let Ftl { points, free_block, levelling, staging, delay, .. } = &self.ftl;
        let Wear { thresholds, programming, .. } = &self.wear;
        let chip_queue = self.ftl.chip_queue.map_or(String::new(), |n| format!("chip_queue = {n}\n"));
        let warmup = if self.ftl.depth.is_multiple_of(3) { "[run]\nwarmup = \"40 requests\"\n" } else { "" };
        format!(
            "geometry = {{ channels = {channels}, chips_per_channel = {chips}, dies_per_chip = {dies}, planes_per_die = {planes}, blocks_per_plane = {}, pages_per_block = {per_block} }}
{}
{}
{}
staging = {{ slots = {staging} }}
ftl = {{ write_points = \"{points}\", free_block = \"{free_block}\", wear_levelling = \"{levelling}\", wear_spread = 2 }}
wear = {{ copyback_thresholds = {thresholds}, programming = \"{programming}\" }}
{}
precondition = {{ mode = \"{}\", valid = 0.3, invalid = 0.1 }}
{}
{}
{}[order]
{delay}{chip_queue}{warmup}",
            self.space.blocks,
            self.timing(),
            self.device(),
            self.gc(),
            self.ecc(),
            self.chips.filling,
            self.noc(),
            self.schemes(),
            self.parity(),
        )
    }
}

/// Requests as (gap, kind, place, length), relative to the device.
pub fn requests() -> impl Strategy<Value = Vec<(u64, u8, u32, u32)>> {
    prop::collection::vec((0u64..400_000, 0u8..20, 0u32..1_000_000, 0u32..1_000_000), 1..400)
}

pub fn submit_all(ssd: &mut Ssd, requests: &[(u64, u8, u32, u32)]) {
    submit_all_marked(ssd, requests, |_| Marks::default());
}

/// The same, each with its marks.
pub fn submit_all_marked(ssd: &mut Ssd, requests: &[(u64, u8, u32, u32)], marks: impl Fn(usize) -> Marks) {
    let capacity = ssd.capacity_bytes() / 512;
    let (mut arrival, mut last) = (0, 0);
    for (i, (gap, kind, place, length)) in requests.iter().enumerate() {
        // Every fourth gap is zero: ties.
        arrival += if gap % 4 == 0 { 0 } else { *gap };
        let first = u64::from(*place) * capacity / 1_000_000;
        let longest = (capacity - first).min(8 * ssd.page_bytes() / 512);
        let sectors = 1 + u64::from(*length) * (longest - 1) / 1_000_000;
        // Half of the requests are whole pages.
        let page = ssd.page_bytes() / 512;
        let (first, sectors) = if kind % 2 == 0 { (first / page * page, page.min(capacity)) } else { (first, sectors) };
        // A third of the others use parts of the previous page: overlapping partial writes, and reads of them.
        let part = u64::from(*length) % page;
        let (first, sectors) =
            if kind % 6 == 1 { (last / page * page + part, 1 + part.min(page - part - 1)) } else { (first, sectors) };
        last = first;
        let op = match kind {
            0..7 => RequestOp::Read,
            7..19 => RequestOp::Write,
            _ => RequestOp::Trim,
        };
        let request = Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: sectors * 512 };
        ssd.submit_marked(request, marks(i), std::iter::empty());
    }
}

fn run(config: &Config, requests: &[(u64, u8, u32, u32)], check: Check, fusing: bool) -> Ssd {
    let mut ssd = Ssd::new(config, 7, check).unwrap_or_else(|error| panic!("{error}"));
    ssd.set_fusing(fusing);
    submit_all(&mut ssd, requests);
    ssd.run();
    ssd
}

/// Nothing is lost, and values that are counted in two ways agree.
fn adds_up(config: &Config, requests: &[(u64, u8, u32, u32)]) -> Result<(), TestCaseError> {
    let full = run(config, requests, Check::Full, false);
    let summary = full.summary(7, String::new(), String::new());
    let flash = &summary.flash;
    // Conservation: GC programs the pages that it moves, and erases whole blocks. Operations in flight when measuring started,
    // and those on a failed chip, count in part.
    let whole = config.faults.chip_fails.is_empty();
    if config.run.warmup.is_none() && whole {
        prop_assert_eq!(summary.gc.moved_pages, flash.programs.gc + flash.copybacks);
        prop_assert_eq!(summary.gc.collections, flash.erases);
        // Every programmed page was free at the start, or is in a block that was erased since, or is still written.
        let start = Ssd::new(config, 7, Check::Off).map(|ssd| ssd.sample().free_pages).unwrap_or(0);
        let preloaded = summary.pages.preloaded * u64::from(config.pages_per_entry());
        let programmed = flash.programs.total + flash.copybacks + preloaded;
        let erased = flash.erases * u64::from(config.geometry.pages_per_block);
        // (A preloaded page also writes a parity page, which is not counted.)
        if config.raid.layout == RaidLayout::None || summary.pages.preloaded == 0 {
            prop_assert_eq!(programmed, erased + start - full.sample().free_pages);
        }
    }
    if let Some(report) = &summary.fastgc {
        prop_assert_eq!(report.copied_pages + report.external_pages, summary.gc.moved_pages);
        let counted: u64 = report.copied_by_count.iter().chain(&report.external_by_count).sum();
        // Buffered pages and checked pages are in no list.
        prop_assert!(counted <= summary.gc.moved_pages);
    }
    let absorbs = config.staging.slots > 0 && config.schemes.collector.policy_ref().writes_back().is_some();
    if config.pages_per_entry() == 2 {
        prop_assert!(flash.programs.host.is_multiple_of(2));
        prop_assert!((summary.pages.written..=2 * summary.pages.written).contains(&flash.programs.host));
    } else if !absorbs && whole {
        prop_assert_eq!(flash.programs.host, summary.pages.written);
    }
    let p = &flash.programs;
    prop_assert_eq!(p.total, p.host + p.gc + p.metadata + p.parity + p.replica + p.wasted);
    if let Some(pagc) = &summary.pagc {
        prop_assert_eq!(pagc.moved_pages.total(), summary.gc.moved_pages);
        prop_assert_eq!(2 * pagc.collections.joint + pagc.collections.alone, summary.gc.collections);
        let terms: u128 = pagc.response_ns.all.columns().iter().map(|(_, ns)| ns).sum();
        prop_assert_eq!(terms, summary.breakdown_ns.all.0.iter().sum::<u128>());
    }
    let by_cause: u128 = summary.breakdown_ns.all.0.iter().sum();
    let latency = &summary.latency_ns.all;
    let total = latency.mean.unwrap_or(0.0) * latency.count as f64;
    prop_assert!((by_cause as f64 - total).abs() <= 1e-9 * total + 1.0);
    // Results do not depend on checks, nor on fused legs.
    let off = run(config, requests, Check::Off, true).summary(7, String::new(), String::new());
    prop_assert_eq!(format!("{:?}", summary), format!("{:?}", off));
    Ok(())
}

/// Also collects idle dies of a device.
fn idle(config: &mut Config, after: u64, more: u32) {
    let pages = config.geometry.blocks_per_plane * config.geometry.pages_per_block;
    let floor = config.gc.threshold.pages(u64::from(pages), u64::from(config.geometry.pages_per_block)) as u32;
    let mut trigger = Idle::default();
    (trigger.after, trigger.below) = (Nanos(after), Threshold::Pages(floor + more));
    config.schemes.trigger = AnyTrigger::Idle(trigger);
    config.gc.scope = Scope::Plane;
    config.gc.time = GcTime::Real;
    config.faults.chip_fails.clear();
    config.faults.rebuild = 0;
}

#[test]
fn cases_that_once_failed_are_kept_in_a_file_that_can_be_read() {
    let kept = include_str!("worlds.txt").lines().filter(|line| line.starts_with("cc ")).count();
    let read = FileFailurePersistence::Direct(FOUND).load_persisted_failures2(None).len();
    assert!(kept > 0 && read == kept, "{read} of {kept} cases in {FOUND}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(600), failure_persistence: Some(Box::new(FileFailurePersistence::Direct(FOUND))), ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_everything_adds_up(toml in device(), requests in requests()) {
        let config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        if let Err(refusal) = config.check() {
            prop_assert!(!refusal.help.is_empty());
            return Ok(());
        }
        adds_up(&config, &requests)?;
    }

    /// The same with GC in idle time, after any idle time and from slightly above the threshold.
    #[test]
    fn collections_in_idle_time_add_up(toml in device(), requests in requests(), after in 0u64..2_000_000, more in 1u32..12) {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        idle(&mut config, after, more);
        if config.check().is_ok() {
            adds_up(&config, &requests)?;
        }
    }

    /// Cuts at any time; requests continue after each.
    #[test]
    fn a_power_cut_loses_no_more_than_it_reports(toml in device(), requests in requests(), cuts in prop::collection::vec(0u64..80_000_000, 1..6)) {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        if cuts.len() == 5 {
            idle(&mut config, cuts[0] / 100, 4);
        }
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        // Without memory that survives, torn pages need additional space.
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let ssd = run(&config, &requests, Check::Full, true);
        for cut in ssd.summary(7, String::new(), String::new()).power_cuts {
            let lost = cut.lost_pages + cut.stale_pages;
            prop_assert!(lost <= cut.exposed_pages + cut.superseded_pages + cut.unprotected_pages, "{:?}", cut);
            prop_assert!(cut.unprotected_pages == 0 || !config.faults.chip_fails.is_empty(), "{:?}", cut);
            prop_assert!(lost == 0 || !config.survives_power_cuts(), "{:?}", cut);
            prop_assert!(cut.held_pages == 0 || config.device.power_loss_protection, "{:?}", cut);
        }
    }

    #[test]
    fn a_filling_serves_every_configuration_that_fills_alike(toml in device(), requests in requests()) {
        let config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        // A configuration that differs in all keys that filling ignores.
        let other = Filled::relevant(&config);
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        let filled = Ssd::new(&other, 7, Check::Full).unwrap_or_else(|error| panic!("{error}")).filled();
        let mut shared = Ssd::from_filled(&config, &filled).unwrap_or_else(|error| panic!("{error}"));
        let apart = run(&config, &requests, Check::Full, true);
        submit_all(&mut shared, &requests);
        shared.run();
        let told = |ssd: &Ssd| format!("{:?} {:?}", ssd.summary(7, String::new(), String::new()), ssd.sample());
        prop_assert_eq!(told(&shared), told(&apart));
    }

    /// The bytes of a filling start every device that fills alike, and only whole ones start any.
    #[test]
    fn bytes_of_a_filling_are_the_filling(toml in device(), requests in requests(), check in prop::sample::select(vec![Check::Off, Check::Sampled, Check::Full]), cut in 0f64..1.0) {
        let config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        let other = Filled::relevant(&config);
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        prop_assert_eq!(Filled::kept_key(&config, 7, check), Filled::kept_key(&other, 7, check));
        let mut bytes = Vec::new();
        Ssd::new(&other, 7, check).unwrap_or_else(|error| panic!("{error}")).write_filling(&mut bytes).unwrap();
        let read = |bytes: &[u8]| {
            let mut input = bytes;
            Ssd::read_filling(&config, 7, check, &mut input).unwrap_or_else(|error| panic!("{error}")).map(|ssd| (ssd, input.len()))
        };
        let (mut kept, left) = read(&bytes).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(left, 0);
        let mut again = Vec::new();
        kept.write_filling(&mut again).unwrap();
        prop_assert!(again == bytes, "the state read is not the state written");
        prop_assert!(read(&bytes[..(bytes.len() as f64 * cut) as usize]).is_err(), "an end that is missing");
        let apart = run(&config, &requests, check, true);
        submit_all(&mut kept, &requests);
        kept.run();
        let told = |ssd: &Ssd| format!("{:?} {:?}", ssd.summary(7, String::new(), String::new()), ssd.sample());
        prop_assert_eq!(told(&kept), told(&apart));
    }
}

proptest! {
    #![proptest_config(crate::common::worlds(200))]

    /// A warm-up ends while work is in progress. It changes what is counted, and nothing that happens; sums hold.
    #[test]
    fn a_warm_up_changes_nothing_but_what_counts(toml in device(), requests in requests(), warmup in 1u64..250, closed in any::<bool>(), lines in 0u64..8) {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        config.run.warmup = None;
        if lines < 3 && config.raid.layout == RaidLayout::None {
            config.cache.size = ssdlab_sim::units::Bytes(lines * config.geometry.page_size.0);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |config: &Config, fusing: bool| {
            let mut ssd = Ssd::new(config, 7, if fusing { Check::Off } else { Check::Full }).unwrap();
            ssd.set_fusing(fusing);
            ssd.set_closed(closed);
            submit_all(&mut ssd, &requests);
            ssd.run();
            let done = format!("{:?} {} {} {:?}", ssd.now(), ssd.completed(), ssd.flash_operations(), ssd.sample().flash);
            (ssd.summary(7, String::new(), String::new()), done)
        };
        let (whole, done) = run(&config, false);
        config.run.warmup = Some(format!("{warmup} requests").parse().unwrap());
        let (warm, warm_done) = run(&config, false);
        prop_assert_eq!(&done, &warm_done);
        prop_assert_eq!(format!("{:?}", (&warm, &warm_done)), format!("{:?}", run(&config, true)));
        // Requests.
        let all = |of: &ssdlab_sim::report::Requests| of.read + of.write + of.trim;
        prop_assert_eq!(all(&whole.requests), all(&warm.requests) + warm.requests.warmup);
        prop_assert_eq!(warm.requests.warmup, warmup.min(requests.len() as u64));
        prop_assert_eq!(warm.latency_ns.all.count, warm.requests.read + warm.requests.write);
        // Flash operations: each class on its own and in all.
        let p = &warm.flash.programs;
        prop_assert!(p.total <= whole.flash.programs.total && warm.flash.erases <= whole.flash.erases);
        prop_assert_eq!(p.total, p.host + p.gc + p.metadata + p.parity + p.replica + p.cache + p.wasted);
        let absorbs = config.staging.slots > 0 && config.schemes.collector.policy_ref().writes_back().is_some();
        if !absorbs && !config.cache.exists() && config.faults.chip_fails.is_empty() && config.pages_per_entry() == 1 {
            prop_assert_eq!(p.host, warm.pages.written);
        }
        // What is in progress at the end of the warm-up counts in one of two: at most one command of a plane.
        let planes = u64::from(config.geometry.channels * config.geometry.chips_per_channel)
            * u64::from(config.geometry.dies_per_chip * config.geometry.planes_per_die);
        if config.faults.chip_fails.is_empty() {
            let programs = p.gc + warm.flash.copybacks;
            prop_assert!((programs..=programs + planes + u64::from(config.staging.slots)).contains(&warm.gc.moved_pages));
            let erases = warm.flash.erases;
            prop_assert!((erases..=erases + planes).contains(&warm.gc.collections));
        }
        let by_cause: u128 = warm.breakdown_ns.all.0.iter().sum::<u128>() + warm.breakdown_ns.all.1.iter().map(|(_, ns)| ns).sum::<u128>();
        let total = warm.latency_ns.all.mean.unwrap_or(0.0) * warm.latency_ns.all.count as f64;
        prop_assert!((by_cause as f64 - total).abs() <= 1e-9 * total + 1.0);
    }
}
