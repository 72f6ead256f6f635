//! Fused legs: results are identical to the last byte with and without fusing.
//!
//! All times are multiples of one transfer, so ends, arrivals and bus requests often coincide.

use ssdlab_sim::policy::{Victim, View};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::schemes::AnyVictim;
use ssdlab_sim::units::{BlockId, Nanos, PlaneId};
use ssdlab_sim::{Check, Config, Extent, Marks, Request, RequestOp, Ssd, Think, Watches};

use crate::common::{Eye, NO_LEGS, compare_shown};

/// The block that was closed first of those with an invalid page: it depends on when blocks that GC fills are closed.
#[derive(Clone)]
struct FirstClosed;

impl Victim for FirstClosed {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let some_invalid = |block: &BlockId| u32::from(view.flash.valid(*block)) < view.geometry.pages_per_block;
        let closed = |block: &BlockId| view.flash.closing(*block).map(|closing| (closing.at, *block));
        view.flash.closed_blocks(plane, view.geometry).filter(some_invalid).min_by_key(closed)
    }

    fn reads_closings(&self) -> bool {
        true
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}

/// A block by what all planes and the load show at that moment, so that nothing may lag behind.
#[derive(Clone)]
struct Elsewhere;

impl Victim for Elsewhere {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let some_invalid = |block: &BlockId| u32::from(view.flash.valid(*block)) < view.geometry.pages_per_block;
        let blocks: Vec<BlockId> = view.flash.closed_blocks(plane, view.geometry).filter(some_invalid).collect();
        let free: u32 = (0..view.geometry.planes).map(|plane| view.flash.free_pages(PlaneId(plane))).sum();
        let shown = u64::from(free) + view.load().gc_pages + view.load().host_pages;
        blocks.get((shown % blocks.len().max(1) as u64) as usize).copied()
    }
}

/// Collectors of one plane.
const ALONE: [&str; 11] = [
    "\"serial\"",
    "\"serial\"",
    "\"queued\"",
    "\"queued\"",
    "\"preemptive\"",
    "\"idle-chip\"",
    "{ idle-chip = { inner = \"preemptive\" } }",
    "{ idle-chip = { inner = \"queued\", absorb = false } }",
    "{ idle-chip = { erase = \"after_writeback\", absorb = false } }",
    "{ idle-chip = { to = \"own_plane\" } }",
    "{ preemptive = { inner = \"idle-chip\" } }",
];

/// Collectors of both planes of a die.
const JOINT: [&str; 4] = [
    "\"pagc\"",
    "{ pagc = { when = \"always\" } }",
    "{ pagc = { threshold = 0.4 } }",
    "{ pagc = { when = \"always\", points = \"unaligned\" } }",
];

/// What a world is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// All that shares events.
    Everything,
    /// GC that collects both planes of a die at once.
    Joint,
    /// Parts of pages that are written while GC moves the pages.
    Parts,
    /// Whole pages that are written at any time while GC moves others over the same channel.
    Whole,
    /// The same while steps of GC take turns on their dies.
    Queued,
    /// Reads alone, and then all kinds of requests.
    Reads,
    /// Whole pages that are written in a closed loop: some begin when they are admitted.
    Writes,
}

/// How requests reach a device, and how it is checked.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    closed: bool,
    /// Pauses of the closed loop.
    think: Option<Think>,
    /// Every second request consists of pages in several places.
    scattered: bool,
    /// Requests are those of two tenants.
    tenants: bool,
    /// Without the oracle.
    unchecked: bool,
}

/// What changes the way of a request through a device; `SOFT` is `gc.threshold`. Some close shortcuts, and others meet them.
const FEATURES: [&str; 24] = [
    "timing.transfer = \"0ns/B\"",
    "gc.hard_threshold = SOFT\nschemes.collector = \"preemptive\"",
    "gc.hard_threshold = \"2 pages\"\nschemes.collector = \"preemptive\"",
    "gc.hard_threshold = SOFT\nschemes = { collector = \"preemptive\", place = \"CWDP\" }\nftl.write_points = \"separate\"",
    "run.warmup = \"40 requests\"",
    "run.warmup = \"150 requests\"",
    "run.warmup = \"0.1 drive writes\"",
    "device.multi_plane = true\ngeometry.planes_per_die = 2",
    "device.multi_plane = true\ngeometry.planes_per_die = 4",
    "timing.host_link = \"1ns/B\"",
    "device.mapping_unit = \"super-page\"\ngeometry.planes_per_die = 2",
    "raid = { layout = \"lci\", group = 3 }\ngeometry = { channels = 1, chips_per_channel = 3 }\nstaging.slots = 0",
    "raid = { layout = \"traditional\", group = 2, write_mode = \"auto\" }\ngeometry = { channels = 1, chips_per_channel = 4 }\nstaging.slots = 0",
    "cache = { size = \"4KiB\" }",
    "cache = { size = \"3KiB\", writeback = \"idle\", read = \"all\", order = \"lru\" }",
    "timing.command = \"512ns\"",
    "timing = { command = \"1024ns\", suspendable = \"program+erase\", suspend = \"512ns\", resume = \"1024ns\" }",
    "timing = { suspendable = \"program+erase\", suspend = \"3000ns\", resume = \"0ns\" }",
    "timing = { command = \"200ns\", suspendable = \"erase\", suspend = \"1024ns\", resume = \"512ns\" }",
    "timing = { cache_register = true, command = \"1024ns\" }",
    "timing.cache_register = true",
    "device = { write_ack = \"after_transfer\", power_loss_protection = true }",
    "order.die_queue = \"read-first\"",
    "noc = { model = \"formula\" }",
];

/// Keys of modern flash, each in one of so many worlds.
const MODERN: [(&str, u64); 9] = [
    ("timing.command = \"512ns\"", 2),
    ("timing.command = \"300ns\"", 3),
    ("timing = { suspendable = \"program+erase\", suspend = \"1024ns\", resume = \"512ns\" }", 2),
    ("timing = { suspendable = \"program+erase\", suspend = \"5000ns\", resume = \"100ns\" }", 4),
    ("timing.cache_register = true", 4),
    ("timing.host_link = \"1ns/B\"", 3),
    ("device = { write_ack = \"after_transfer\", power_loss_protection = true }", 3),
    ("order.die_queue = \"read-first\"", 3),
    ("cache = { size = \"4KiB\", writeback = \"watermark\" }\ngeometry.planes_per_die = 1", 4),
];

/// Keys of drives behind a host link, each in one of so many worlds.
const LINKED: [(&str, u64); 6] = [
    ("timing.host_link = \"1ns/B\"", 2),
    ("timing = { suspendable = \"erase\", suspend = \"1024ns\", resume = \"512ns\" }", 2),
    ("timing = { suspendable = \"erase\", suspend = \"2048ns\", resume = \"0ns\", suspend_slice = \"4096ns\" }", 4),
    ("order.die_queue = \"read-first\"", 2),
    ("order = { die_queue = [\"whost\", \"rhost\"], read_burst = 2 }", 4),
    // Writes that any die may serve keep reads out of the lane.
    ("schemes.place = \"CWDP\"", 2),
];

/// One device with its requests.
fn world(seed: u64, about: About) -> (Config, Vec<Request>) {
    let (toml, first_closed, requests) = text(seed, about);
    let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
    if first_closed {
        config.schemes.victim = AnyVictim::outside(Vec::new(), || Box::new(FirstClosed));
    } else if seed % 6 == 1 {
        config.schemes.victim = AnyVictim::outside(Vec::new(), || Box::new(Elsewhere));
    }
    (config, requests)
}

/// One with one to three of the features, and requests that come in any way.
fn featured(seed: u64) -> (Config, Vec<Request>, Way) {
    let abouts = [About::Everything, About::Joint, About::Parts, About::Whole, About::Queued, About::Writes];
    // Not all go together.
    let mut tries = (0..).map(|n| stream(seed + n * 1_000_000, "features"));
    loop {
        let mut rng = tries.next().expect("there are many");
        let mut draw = |n: u64| below(&mut rng, n);
        let (toml, _, requests) = text(draw(1 << 32), abouts[draw(6) as usize]);
        let mut device: toml::Table = toml.parse().unwrap();
        let soft = device["gc"]["threshold"].to_string();
        for _ in 0..1 + draw(4) {
            let feature = draw(FEATURES.len() as u64) as usize;
            merge(&mut device, &FEATURES[feature].replace("SOFT", &soft));
        }
        let mut way = Way {
            closed: draw(2) == 0,
            think: None,
            scattered: draw(2) == 0,
            // Tenants close all shortcuts, whatever else a device has.
            tenants: draw(5) == 0,
            unchecked: draw(2) == 0,
        };
        if draw(3) == 0 {
            way.think = Some(Think { time: Nanos(draw(300_000)), after: 1 + draw(12) as u32 });
        }
        let works = |config: &Config| config.check().is_ok() && (!way.tenants || config.check_tenants("none").is_ok());
        if let Some(config) = device.to_string().parse::<Config>().ok().filter(works) {
            return (config, requests, way);
        }
    }
}

/// Sets keys of sections.
fn merge(device: &mut toml::Table, keys: &str) {
    for (section, keys) in keys.parse::<toml::Table>().unwrap() {
        let of = device.entry(section).or_insert_with(|| toml::Table::new().into()).as_table_mut().unwrap();
        of.extend(keys.as_table().unwrap().clone());
    }
}

/// A small device with fused legs, and requests that saturate its channels or, where GC is met on its way, do not. Whether its
/// victims are those of [`FirstClosed`].
fn text(seed: u64, about: About) -> (String, bool, Vec<Request>) {
    let mut rng = stream(seed, "fusing");
    let mut pick = |from: &[&'static str]| from[below(&mut rng, from.len() as u64) as usize];
    let mixed = matches!(about, About::Everything | About::Reads);
    let (joint, slow) = (about == About::Joint, !mixed);
    let whole = matches!(about, About::Whole | About::Queued | About::Writes);
    let collector = match about {
        About::Writes => pick(&["\"serial\"", "\"serial\"", "\"preemptive\"", "\"queued\""]),
        About::Everything | About::Reads => pick(&ALONE),
        About::Joint => pick(&JOINT),
        About::Parts | About::Whole => "\"serial\"",
        About::Queued => "\"queued\"",
    };
    let toml = format!(
        "geometry = {{ channels = {}, chips_per_channel = {}, dies_per_chip = {}, planes_per_die = {}, blocks_per_plane = {}, pages_per_block = {}, page_size = \"{}\" }}
timing = {{ read = {}, program = {}, erase = \"{}ns\", transfer = \"2ns/B\" }}
device = {{ over_provisioning = {}, queue_depth = {}, multi_plane = {}, keep_overwritten = {}, mapping_unit = \"{}\" }}
gc = {{ threshold = \"{} pages\"{} }}
ftl = {{ write_points = \"{}\" }}
schemes = {{ path = \"{}\", place = \"{}\", victim = \"{}\", collector = {} }}
staging = {{ slots = {} }}
precondition = {{ mode = \"{}\" }}
run = {{ {} }}
{}",
        pick(&["1", "1", "2"]),
        match about {
            About::Everything | About::Reads => pick(&["1", "2", "3", "4", "7"]),
            About::Whole | About::Queued | About::Writes => pick(&["2", "3", "5"]),
            _ => pick(&["1", "2"]),
        },
        if slow { "1" } else { pick(&["1", "2"]) },
        if joint { "2" } else { pick(&["1", "2"]) },
        if slow { "16" } else { pick(&["8", "9", "12"]) },
        if slow { pick(&["4", "8", "16"]) } else { pick(&["3", "4", "8", "16", "24"]) },
        // Pages of two sectors also have partial writes.
        match about {
            About::Parts => "1KiB",
            About::Whole | About::Writes => "512B",
            _ => pick(&["512B", "512B", "1KiB"]),
        },
        pick(&["\"1024ns\"", "\"2048ns\"", "\"5000ns\"", "[\"1024ns\", \"3072ns\"]"]),
        pick(&["\"2048ns\"", "\"6144ns\"", "\"20000ns\"", "[\"2048ns\", \"4096ns\"]"]),
        pick(&["2048", "30000"]),
        if slow { pick(&["0.3", "0.4"]) } else { pick(&["0.26", "0.4", "0.6"]) },
        if slow { pick(&["8", "32", "300"]) } else { pick(&["1", "3", "8", "32"]) },
        pick(&["false", "false", "true"]),
        if collector.contains("after_writeback") { "true" } else { "false" },
        if joint { "page" } else { pick(&["page", "page", "page", "super-page"]) },
        pick(&["2", "4", "6"]),
        if slow { "" } else { pick(&["", "", ", hard_threshold = \"2 pages\""]) },
        pick(&["separate", "separate", "shared"]),
        if joint {
            "copyback"
        } else if whole {
            "external"
        } else {
            pick(&["external", "external", "external", "copyback"])
        },
        if collector.contains("idle-chip") && !collector.contains("own_plane") {
            "dynamic"
        } else if whole {
            "CWDP"
        } else {
            pick(if collector.contains("own_plane") { &["CWDP", "PDWC"] } else { &["CWDP", "PDWC", "dynamic"] })
        },
        // Such victims have valid pages.
        if slow { pick(&["random", "fifo"]) } else { pick(&["greedy", "random", "fifo"]) },
        collector,
        if collector.contains("idle-chip") { pick(&["0", "2", "5", "16"]) } else { "0" },
        if slow { pick(&["sequential", "random"]) } else { pick(&["none", "sequential", "random"]) },
        pick(&["", "", "warmup = \"30 requests\""]),
        pick(&["", "", "", "faults = { power_cut = [\"100us\", \"256000ns\"] }"])
    );
    let first_closed = !pick(&["", "", "", "first closed"]).is_empty();
    // Of 20 requests. Reads are booked while others hardly use their channel.
    let reads = if about == About::Writes {
        0
    } else if whole {
        1
    } else if slow {
        5
    } else {
        [5, 5, 15, 19][below(&mut rng, 4) as usize]
    };
    // So slow that requests are admitted during collections.
    let gap = if slow { [1024, 4096, 16_384][below(&mut rng, 3) as usize] } else { 1024 };
    // Arrivals at the time of an event, shortly after it, and at any time.
    let spread = [1, 1000, 2, 1000][if whole { seed % 4 } else { 1 } as usize];
    let mut arrival = 0;
    let alone = if about == About::Reads { 150 } else { 0 };
    let requests = (0..if slow { 500 } else { 300 + alone })
        .map(|i| {
            arrival += below(&mut rng, 6).saturating_sub(2) * gap + if whole { below(&mut rng, spread) } else { 0 };
            let op = match below(&mut rng, 20) {
                kind if i < alone || kind < reads => RequestOp::Read,
                5 if about != About::Writes => RequestOp::Trim,
                _ => RequestOp::Write,
            };
            // In shares of the device, as its size is not known here.
            Request { arrival: Nanos(arrival), op, offset: below(&mut rng, 1 << 20), bytes: 1 + below(&mut rng, 3) }
        })
        .collect();
    (toml, first_closed, requests)
}

fn run(config: &Config, requests: &[Request], fusing: bool, pieces: bool, way: Way) -> Vec<String> {
    run_seen(config, requests, fusing, pieces, (way, None))
}

/// The same with an observer, if there is one.
fn run_seen(
    config: &Config,
    requests: &[Request],
    fusing: bool,
    pieces: bool,
    (way, eye): (Way, Option<&Eye>),
) -> Vec<String> {
    let mut ssd = Ssd::new(config, 7, if way.unchecked { Check::Off } else { Check::Full }).unwrap();
    if way.tenants {
        ssd.set_tenants(vec!["a".into(), "b".into()]);
    }
    ssd.set_fusing(fusing);
    ssd.set_closed(way.closed);
    way.think.into_iter().for_each(|think| ssd.set_think(None, think));
    if let Some(eye) = eye {
        ssd.observe(Box::new(eye.clone()));
    }
    // All requests, each with its causes.
    ssd.collect_slowest(requests.len());
    let pages = ssd.capacity_bytes() / 512;
    // Reads before all others are alone for a while.
    let alone = requests.iter().take_while(|request| request.op == RequestOp::Read).count();
    for (i, request) in requests.iter().enumerate() {
        if i == alone && alone > 100 {
            ssd.run_before(request.arrival);
        }
        let marks = Marks { tenant: u8::from(way.tenants && i % 3 == 0), ..Marks::default() };
        if way.scattered && i % 2 == 0 {
            let extents = scattered(&ssd, request);
            let (offset, bytes) = (extents[0].offset, extents.iter().map(|extent| extent.bytes).sum());
            ssd.submit_marked(Request { offset, bytes, ..*request }, marks, extents.into_iter());
            continue;
        }
        let bytes = request.bytes.min(pages);
        let offset = (request.offset * (pages - bytes)) >> 20;
        ssd.submit_marked(Request { offset: offset * 512, bytes: bytes * 512, ..*request }, marks, std::iter::empty());
    }
    let mut told = Vec::new();
    let mut tell = |ssd: &Ssd| {
        let closings: Vec<_> = ssd.flash().closings_by_block().iter().map(|closing| closing.at.0).collect();
        told.push(format!("{:?}, {closings:?}", ssd.summary(7, String::new(), String::new())));
    };
    if pieces {
        for at in 1..60 {
            ssd.run_until(Nanos(at * 7 * 1024));
            tell(&ssd);
        }
    }
    ssd.run();
    tell(&ssd);
    for slowest in ssd.slowest().unwrap() {
        let mut requests: Vec<_> = slowest.requests().collect();
        requests.sort_by_key(|request| request.request);
        told.push(format!("{requests:?}"));
    }
    told
}

/// The same request in two to four pages, each of which is somewhere else.
fn scattered(ssd: &Ssd, request: &Request) -> Vec<Extent> {
    let bytes = ssd.page_bytes();
    let pages = ssd.capacity_bytes() / bytes;
    let (first, apart) = ((request.offset * pages) >> 20, 1 + request.offset % 7);
    let page = |n| (first + n * apart) % pages;
    (0..1 + request.bytes).map(|n| Extent { offset: page(n) * bytes, bytes }).collect()
}

fn fields(summary: &str) -> Vec<&str> {
    summary.split(", ").collect()
}

#[test]
fn fused_legs_change_no_byte() {
    compare_worlds(About::Everything, 60);
}

#[test]
fn joint_collections_change_no_byte() {
    compare_worlds(About::Joint, 30);
}

#[test]
fn parts_of_pages_on_the_move_change_no_byte() {
    compare_worlds(About::Parts, 30);
}

#[test]
fn steps_that_take_turns_change_no_byte() {
    compare_worlds(About::Queued, 60);
}

#[test]
fn reads_alone_and_before_others_change_no_byte() {
    compare_worlds(About::Reads, 60);
}

#[test]
fn whole_pages_between_those_on_the_move_change_no_byte() {
    compare_worlds(About::Whole, 50);
}

#[test]
fn writes_that_begin_at_once_change_no_byte() {
    compare_worlds(About::Writes, 40);
}

/// Every feature of the host's side, alone and with others.
#[test]
fn features_of_every_kind_change_no_byte() {
    let seeds = worlds(100);
    let mut moved = 0;
    for seed in 0..seeds {
        let (config, requests, way) = featured(seed);
        moved += u64::from(compare(&config, &requests, way, seed));
    }
    assert!(moved * 2 > seeds, "{moved} of {seeds} worlds with collections");
}

/// Today's flash on the host's and on GC's side: command times, suspension, cache registers, early acknowledgements, read-first
/// queues and the write cache, each or not, so that transfers that share an event meet reads.
#[test]
fn features_of_modern_flash_change_no_byte() {
    let abouts = [About::Queued, About::Everything, About::Parts, About::Queued];
    let (seeds, ran, moved) = compare_with("modern", 120, abouts, &MODERN, |_| true);
    assert!(ran * 2 > seeds && moved * 2 > ran, "{ran} of {seeds} worlds ran, {moved} of them with collections");
}

/// Drives behind a host link, whose dies serve reads first and suspend erases for them: pages that are read and written, and parts of
/// pages, which are merged, are in the lane, and meet others and collections.
#[test]
fn pages_beside_a_host_link_change_no_byte() {
    let in_lane = |config: &Config| {
        let open = Ssd::new(config, 1, Check::Off).unwrap().shortcuts().open;
        open.contains(&"writes") && !open.contains(&"reads")
    };
    let abouts = [About::Everything, About::Reads, About::Whole, About::Parts];
    let (seeds, ran, moved) = compare_with("linked", 300, abouts, &LINKED, in_lane);
    assert!(ran * 6 > seeds && moved * 3 > ran, "{ran} of {seeds} worlds ran, {moved} of them with collections");
}

/// Runs worlds about one of these, each with some of the keys, if they are `wanted`, with and without shortcuts. Returns the number of
/// worlds, of those that ran, and of those in which GC moved pages.
fn compare_with(
    name: &str,
    usual: u64,
    abouts: [About; 4],
    keys: &[(&str, u64)],
    wanted: impl Fn(&Config) -> bool,
) -> (u64, u64, u64) {
    let seeds = worlds(usual);
    let (mut ran, mut moved) = (0, 0);
    for seed in 0..seeds {
        let mut rng = stream(seed, name);
        let mut draw = |n: u64| below(&mut rng, n);
        let about = abouts[draw(4) as usize];
        let (toml, _, requests) = text(draw(1 << 32), about);
        let mut device: toml::Table = toml.parse().unwrap();
        for (keys, of) in keys {
            if draw(*of) == 0 {
                merge(&mut device, keys);
            }
        }
        let works = |config: &Config| config.check().is_ok() && wanted(config);
        let Some(config) = device.to_string().parse::<Config>().ok().filter(works) else {
            continue;
        };
        let way = Way { closed: draw(2) == 0, ..Way::default() };
        moved += u64::from(compare(&config, &requests, way, seed));
        ran += 1;
    }
    (seeds, ran, moved)
}

/// Groups with parity: old chunks and old parity become stale where commands end, in their turn among the moves that end then.
#[test]
fn groups_with_parity_change_no_byte() {
    const GROUPS: [&str; 5] = [
        "raid = { layout = \"lci\", group = 3 }\ngeometry = { channels = 1, chips_per_channel = 3 }",
        "raid = { layout = \"lci\", group = 4, write_mode = \"rcw\" }\ngeometry = { channels = 2, chips_per_channel = 2 }",
        "raid = { layout = \"traditional\", group = 2, write_mode = \"auto\" }\ngeometry = { channels = 1, chips_per_channel = 4 }",
        "raid = { layout = \"lci\", group = 4, write_mode = \"auto\" }\ngeometry = { channels = 4, chips_per_channel = 1 }",
        "raid = { layout = \"lci\", group = 2, encode_timeout = \"10us\" }\ngeometry = { channels = 2, chips_per_channel = 1 }",
    ];
    // Each in one of so many worlds.
    const BESIDE: [(&str, u64); 7] = [
        ("order.chip_queue = 3\nschemes.order = \"piq\"", 3),
        ("order = { chip_queue = 4, delay_writes = true }\nschemes.route = \"brr\"", 3),
        ("timing.cache_register = true", 4),
        ("timing.command = \"512ns\"", 6),
        ("schemes.path = \"copyback\"", 2),
        ("ftl.write_points = \"separate\"", 2),
        ("precondition.mode = \"none\"", 4),
    ];
    // The 206th is the first that tells whether a move or a command ends first.
    let seeds = worlds(220);
    let (mut ran, mut moved) = (0, 0);
    for seed in 0..seeds {
        let mut rng = stream(seed, "parity");
        let mut draw = |n: u64| below(&mut rng, n);
        let about = [About::Everything, About::Parts, About::Whole, About::Writes][draw(4) as usize];
        let (toml, _, requests) = text(draw(1 << 32), about);
        let mut device: toml::Table = toml.parse().unwrap();
        merge(&mut device, GROUPS[draw(GROUPS.len() as u64) as usize]);
        for (keys, of) in BESIDE {
            if draw(of) == 0 {
                merge(&mut device, keys);
            }
        }
        device.remove("staging");
        let Some(config) = device.to_string().parse::<Config>().ok().filter(|config| config.check().is_ok()) else {
            continue;
        };
        let way = Way { closed: draw(2) == 0, unchecked: draw(3) == 0, ..Way::default() };
        moved += u64::from(compare(&config, &requests, way, seed));
        ran += 1;
    }
    assert!(ran * 3 > seeds && moved * 2 > ran, "{ran} of {seeds} worlds ran, {moved} of them with collections");
}

/// Every preset on a small device, with every collector and every path that its other keys allow.
#[test]
fn presets_are_told_the_same_with_every_collector_and_path() {
    const PRESETS: [(&str, &str); 9] = [
        ("brr", include_str!("../../../../presets/brr.toml")),
        ("composed", include_str!("../../../../presets/composed.toml")),
        ("default", include_str!("../../../../presets/default.toml")),
        ("fastgc", include_str!("../../../../presets/fastgc.toml")),
        ("idle-chip", include_str!("../../../../presets/idle-chip.toml")),
        ("interleaved", include_str!("../../../../presets/interleaved.toml")),
        ("noc", include_str!("../../../../presets/noc.toml")),
        ("nvme-tlc", include_str!("../../../../presets/nvme-tlc.toml")),
        ("pagc", include_str!("../../../../presets/pagc.toml")),
    ];
    let collectors = ALONE.iter().skip(1).chain(&JOINT);
    let paths = ["\"external\"", "\"copyback\"", "\"checked\"", "\"fastgc\"", "\"selective\""];
    let pairs: Vec<_> = collectors.flat_map(|collector| paths.map(|path| (*collector, path))).collect();
    let (mut ran, mut collected) = (std::collections::BTreeMap::new(), 0);
    for (name, preset) in PRESETS {
        for (seed, (collector, path)) in pairs.iter().enumerate() {
            let config = shrunk(preset, collector, path);
            if config.check().is_err() {
                continue;
            }
            let mut rng = stream(seed as u64, name);
            let (mut arrival, rate) = (0, config.timing.program.types()[0].0 / 2);
            let requests: Vec<_> = (0..500)
                .map(|_| {
                    arrival += below(&mut rng, 3) * below(&mut rng, rate);
                    let op = if below(&mut rng, 4) == 0 { RequestOp::Read } else { RequestOp::Write };
                    let bytes = u64::from(config.geometry.page_size.0 as u32 / 512) * (1 + below(&mut rng, 2));
                    Request { arrival: Nanos(arrival), op, offset: below(&mut rng, 1 << 20), bytes }
                })
                .collect();
            let told = |fusing| run(&config, &requests, fusing, false, Way::default()).swap_remove(0);
            let (fused, apart) = (told(true), told(false));
            let differ: Vec<_> = fields(&fused).into_iter().zip(fields(&apart)).filter(|(a, b)| a != b).collect();
            assert!(fused == apart, "{name}, {collector}, {path}: {differ:#?}\n{}", toml::to_string(&config).unwrap());
            *ran.entry(name).or_insert(0) += 1;
            collected += usize::from(!fused.contains("moved_pages: 0,"));
        }
    }
    let total: usize = ran.values().sum();
    assert!(ran.len() == PRESETS.len() && collected * 2 > total, "{ran:?}, {collected} with collections");
}

/// A preset's device with few and small blocks, and another collector and path.
fn shrunk(preset: &str, collector: &str, path: &str) -> Config {
    let mut device: toml::Table = preset.parse().unwrap();
    let small = format!(
        "geometry = {{ channels = 4, chips_per_channel = 1, blocks_per_plane = 16, pages_per_block = 12 }}
        device = {{ over_provisioning = 0.4 }}
        gc = {{ threshold = \"5 blocks\" }}
        staging = {{ slots = 32 }}
        precondition = {{ mode = \"random\" }}
        schemes = {{ collector = {collector}, path = {path} }}"
    );
    for (section, keys) in small.parse::<toml::Table>().unwrap() {
        let of = device.entry(section).or_insert_with(|| toml::Table::new().into()).as_table_mut().unwrap();
        of.extend(keys.as_table().unwrap().clone());
        for aged in ["valid", "invalid", "hard_threshold"] {
            of.remove(aged);
        }
    }
    if let Some(raid) = device.get_mut("raid") {
        raid.as_table_mut().unwrap().insert("group".into(), 4.into());
        device.remove("staging");
    }
    toml::to_string(&device).unwrap().parse().unwrap()
}

/// How many worlds to run: ten times as many with `SSDLAB_LONG`, or what `SSDLAB_CASES` says.
fn worlds(usual: u64) -> u64 {
    let long = std::env::var_os("SSDLAB_LONG").is_some();
    let cases = std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok());
    cases.unwrap_or(if long { 10 * usual } else { usual })
}

/// Runs random worlds with and without shortcuts.
fn compare_worlds(about: About, usual: u64) {
    let seeds = worlds(usual);
    let (mut ran, mut moved) = (0, 0);
    for seed in 0..seeds {
        let (config, requests) = world(seed, about);
        if config.check().is_err() {
            continue;
        }
        let closed = seed % 3 == 0 || about == About::Writes;
        moved += u64::from(compare(&config, &requests, Way { closed, ..Way::default() }, seed));
        ran += 1;
    }
    assert!(ran * 2 > seeds && moved * 2 > ran, "{ran} of {seeds} worlds ran, {moved} of them with collections");
}

/// Names its world if a law ends the test.
struct Named<'a> {
    config: &'a Config,
    way: Way,
    seed: u64,
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, {:?}\n{}", self.seed, self.way, toml::to_string(self.config).unwrap());
        }
    }
}

/// Runs a world with and without shortcuts, at once and in pieces, and with observers that leave them open. Returns whether GC moved
/// pages.
fn compare(config: &Config, requests: &[Request], way: Way, seed: u64) -> bool {
    let _named = Named { config, way, seed };
    let mut moved = false;
    for pieces in [false, true] {
        // The first sample is at a transfer's end, as others are by chance.
        let eye = |watches| Eye::new(watches, Nanos(1024 * 7));
        let all = eye(Watches::ALL);
        let apart = run_seen(config, requests, false, pieces, (way, Some(&all)));
        let fused = run(config, requests, true, pieces, way);
        let same = fused.iter().zip(&apart).take_while(|(a, b)| a == b).count();
        if same < apart.len() {
            let (a, b) = (fields(&fused[same]), fields(&apart[same]));
            let differ: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
            panic!(
                "seed {seed}, {way:?}, pieces {pieces}, summary {same}: {differ:#?}\n{}",
                toml::to_string(config).unwrap()
            );
        }
        let less = eye([NO_LEGS, Watches::COMPLETIONS, Watches::SAMPLES][seed as usize % 3]);
        let watched = run_seen(config, requests, true, pieces, (way, Some(&less)));
        assert!(watched == apart, "seed {seed}, {way:?}, pieces {pieces}: an observer changed the results");
        compare_shown(&all, &[&less]);
        moved = moved || !fused[fused.len() - 3].contains("moved_pages: 0,");
    }
    moved
}

/// Checkpoints of the write amplification count copybacks that share an event. A read whose page is overwritten while it waits is
/// served from memory in no time, so the next request arrives when copybacks that begin now have begun. The checkpoint in the
/// middle is reported, and each number of requests has another one.
#[test]
fn copybacks_that_share_an_event_are_counted_at_each_write() {
    let config: Config = "geometry = { channels = 1, chips_per_channel = 3, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 16, page_size = \"512B\" }
timing = { read = \"1024ns\", program = \"2048ns\", erase = \"2048ns\", transfer = \"2ns/B\" }
device = { over_provisioning = 0.3, queue_depth = 8 }
gc = { threshold = \"4 pages\" }
schemes = { path = \"copyback\", victim = \"fifo\" }
precondition = { mode = \"random\" }"
        .parse()
        .unwrap();
    let mut rng = stream(1, "checkpoints");
    let mut request = |_| Request {
        arrival: Nanos::ZERO,
        op: if below(&mut rng, 2) == 0 { RequestOp::Read } else { RequestOp::Write },
        // Some pages are often in flight.
        offset: ([1 << 20, 1 << 14, 1 << 14][below(&mut rng, 3) as usize] * below(&mut rng, 1 << 10)) >> 10,
        bytes: 1,
    };
    let requests: Vec<_> = (0..400).map(&mut request).collect();
    let mut known = 0;
    for count in 60..requests.len() {
        let told = |fusing| {
            run(&config, &requests[..count], fusing, false, Way { closed: true, ..Way::default() }).swap_remove(0)
        };
        let (apart, fused) = (told(false), told(true));
        assert_eq!(fields(&fused), fields(&apart), "{count} requests");
        known += usize::from(apart.contains("write_amplification_halves: Some"));
    }
    assert!(known > 200, "{known} runs with two halves");
}

/// Writes that begin when they are admitted are counted at their checkpoints as if they began after all requests of their time had
/// been admitted. Three arrive at a time, on dies that are free.
/// The writes have been admitted before the reads, so that nothing but GC changes the map while these wait.
#[test]
fn reads_that_wait_find_where_gc_in_no_time_moved_their_pages() {
    let config: Config = "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 16, page_size = \"512B\" }
timing = { read = \"1024ns\", program = \"2048ns\", erase = \"2048ns\", transfer = \"2ns/B\" }
device = { over_provisioning = 0.3, queue_depth = 300 }
gc = { threshold = \"4 pages\", time = \"none\" }
schemes = { victim = \"fifo\" }
precondition = { mode = \"random\" }"
        .parse()
        .unwrap();
    let mut rng = stream(3, "reads that wait");
    for after in 0..120 {
        let write = |offset| Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset, bytes: 1 };
        let reads = Nanos(1_000 * after);
        let read = |offset| Request { arrival: reads, op: RequestOp::Read, offset, bytes: 1 };
        let offsets: Vec<_> = (0..60).map(|_| below(&mut rng, 1 << 20)).collect();
        let requests: Vec<_> = (offsets[..12].iter().map(|page| write(*page)))
            .chain(offsets[12..].iter().map(|page| read(*page)))
            .collect();
        let told = |fusing| run(&config, &requests, fusing, false, Way::default()).swap_remove(0);
        assert_eq!(fields(&told(true)), fields(&told(false)), "reads at {reads:?}");
    }
}

#[test]
fn writes_that_begin_at_once_are_counted_at_each_write() {
    let config: Config = "geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 16, page_size = \"512B\" }
timing = { read = \"1024ns\", program = \"2048ns\", erase = \"2048ns\", transfer = \"2ns/B\" }
device = { over_provisioning = 0.3, queue_depth = 8 }
gc = { threshold = \"4 pages\" }
schemes = { victim = \"fifo\" }
precondition = { mode = \"random\" }"
        .parse()
        .unwrap();
    let mut rng = stream(2, "checkpoints");
    let requests: Vec<_> = (0..400u64)
        .map(|i| Request {
            arrival: Nanos(i / 3 * 1_000_000),
            op: RequestOp::Write,
            offset: below(&mut rng, 1 << 20),
            bytes: 1,
        })
        .collect();
    let mut known = 0;
    for count in 120..requests.len() {
        let told = |fusing| run(&config, &requests[..count], fusing, false, Way::default()).swap_remove(0);
        let (apart, fused) = (told(false), told(true));
        assert_eq!(fields(&fused), fields(&apart), "{count} requests");
        known += usize::from(apart.contains("write_amplification_halves: Some"));
    }
    assert!(known > 200, "{known} runs with two halves");
}
