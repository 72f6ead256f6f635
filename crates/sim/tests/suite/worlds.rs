//! Random small worlds with the full oracle: laws hold, no write is lost, nothing deadlocks, everything adds up.

use proptest::prelude::*;
use ssdlab_sim::config::RaidLayout;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Filled, Request, RequestOp, Ssd};

/// A copy of every page whose read has waited, one at a time.
const DPR: &str = "{ dpr = { k = 1, replica_pages = 0.02 } }";

/// A small device: a TOML text, so that a failure prints what to paste.
fn device() -> impl Strategy<Value = String> {
    let shape = (1u32..3, 1u32..3, 1u32..3, 1u32..3, 2u32..6);
    let slots = (
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
            "{ idle-chip = { inner = \"preemptive\", erase = \"after_writeback\", absorb = false } }",
            "{ preemptive = { inner = { idle-chip = { stream_rule = \"always\", inner = { pagc = { when = \"always\" } } } } } }",
            "{ idle-chip = { stream_rule = \"always\", inner = \"queued\", erase = \"after_writeback\" } }",
        ]),
        prop::sample::select(vec!["external", "copyback", "checked", "fastgc", "fastgc"]),
        prop::sample::select(vec!["CWDP", "PDWC", "DPCW", "dynamic"]),
        prop::sample::select(vec!["async-fifo", "sync-fifo", "piq", "sync-piq"]),
    );
    let space = (
        prop_oneof![7 => 5u32..12, 1 => Just(100u32)],
        0u32..3,
        prop::sample::select(vec!["plane", "chip", "device"]),
        1u32..6,
    );
    let knobs = (
        prop::sample::select(vec!["die", "chip", "channel"]),
        prop::sample::select(vec!["after_program", "after_transfer"]),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["none", "erase", "program+erase"]),
        prop::sample::select(vec!["none", "sequential", "random", "aged"]),
        prop::sample::select(vec!["page", "page", "page", "super-page"]),
        (
            any::<bool>(),
            any::<bool>(),
            prop::sample::select(vec!["\"direct\"", DPR, "{ dpr = { k = 2, replica_pages = 0.1 } }"]),
        ),
    );
    let more = (
        prop::sample::select(vec!["separate", "shared"]),
        prop::sample::select(vec!["round-robin", "least-erased"]),
        prop::sample::select(vec!["none", "static"]),
        prop::sample::select(vec!["plane", "chip", "any"]),
        prop::sample::select(vec!["real", "real", "none"]),
        1u32..9,
        prop::option::of(1u32..4),
        (prop::sample::select(vec![0u32, 1, 2, 3, 5, 8, 64]), prop::option::of(0u32..4)),
    );
    let wear = (
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
    );
    let noc = (
        prop::sample::select(vec!["none", "none", "formula", "array"]),
        prop::sample::select(vec!["occupied", "delayed"]),
        prop::sample::select(vec![("0us", "800MB/s"), ("1us", "800MB/s"), ("0us", "0ns/B"), ("1us", "0ns/B")]),
        prop::sample::select(vec!["", ", priority = []", ", priority = [\"wgc\", \"rgc\", \"whost\", \"rhost\"]"]),
        prop::sample::select(vec!["0", "0.3", "1"]),
        (1u32..3, any::<bool>(), any::<bool>()),
    );
    let raid = prop::option::of((
        prop::sample::select(vec!["traditional", "lci"]),
        2u32..5,
        1u32..4,
        prop::sample::select(vec!["0ns", "50us", "3ms"]),
        prop::sample::select(vec!["rmw", "rcw", "auto"]),
        prop::sample::select(vec!["\"direct\"", "\"brr\"", "{ brr = { read = \"1ns\" } }"]),
        prop::sample::select(vec!["", "", "{ within = \"20ms\" }", "{ within = \"20ms\" }, { at = \"9ms\" }"]),
    ));
    let delay = prop::sample::select(vec!["", "delay_writes = true\n", "delay_writes = false\n"]);
    let more = (more, delay, noc);
    (shape, slots, space, knobs, more, raid, wear).prop_map(|(shape, slots, space, knobs, more, raid, wear)| {
        let (mut channels, mut chips, dies, planes, per_block) = shape;
        let (victim, collector, path, place, order) = slots;
        let (blocks, extra, scope, floor) = space;
        let (exclusion, ack, cache, multi, suspend, mode, unit, (capacitor, keep, copies)) = knobs;
        let ((points, free_block, levelling, destination, time, depth, chip_queue, (slots, hard)), delay, noc) = more;
        let (model, port, (sram, transfer), priority, errors, (rows, selective, local)) = noc;
        let model = if raid.is_some() { "none" } else { model };
        let slots = if raid.is_some() { 0 } else { slots };
        let buffers = ["pagc", "idle-chip"].iter().any(|scheme| collector.contains(scheme));
        let unit = if planes == 2 && !buffers && raid.is_none() { unit } else { "page" };
        let multi = multi && unit == "page";
        // A plain device may have second copies.
        let simple = model == "none" && unit == "page" && channels * chips > 1;
        let (mut place, mut route, mut parity) = (place, if simple { copies } else { "\"direct\"" }, String::new());
        if let Some((layout, group, groups, timeout, mode, around, fails)) = raid {
            route = around;
            // The chips of a group beside each other, or one on each channel.
            (channels, chips) = if channels == 1 { (groups, group) } else { (group, groups) };
            place = if place == "dynamic" { "CWDP" } else { place };
            parity = format!("raid = {{ layout = \"{layout}\", group = {group}, encode_timeout = \"{timeout}\", write_mode = \"{mode}\" }}\n");
            if !fails.is_empty() {
                parity += &format!("faults = {{ chip_fails = [{fails}], rebuild = {} }}\n", group % 3);
            }
        }
        let path = match (path, selective && model != "none") {
            ("external", true) if local => "{ selective = { check = \"fmc\" } }",
            ("external", true) => "selective",
            ("fastgc", true) => "{ fastgc = { fallback = \"selective\" } }",
            (path, _) => path,
        };
        let transfer = if model == "none" { "800MB/s" } else { transfer };
        let port = if model == "array" { "occupied" } else { port };
        let priority = if model == "none" { "" } else { priority };
        let noc = format!("{{ model = \"{model}\", flit_bits = 2048, columns = 2, rows = {rows}, port = \"{port}\", sram_write = \"{sram}\", sram_read = \"{sram}\"{priority} }}");
        let (thresholds, programming, faults, decode) = wear;
        let plain = parity.is_empty() && model == "none" && unit == "page";
        let programming = if per_block % 3 == 0 && plain && route == "\"direct\"" { programming } else { "page" };
        let program = if programming == "page" { "[\"80us\", \"120us\"]" } else { "\"100us\"" };
        let decode = if plain { decode } else { "0ns" };
        let one_shot = programming == "one-shot";
        let (capacitor, keep) = (capacitor || one_shot, keep && parity.is_empty() && !one_shot);
        let ecc = match faults {
            "" if model != "none" => format!(", page_error_probability = {errors}"),
            _ if parity.contains("chip_fails") || unit != "page" => format!(", page_error_probability = {errors}"),
            "" => String::new(),
            faults => format!(", {faults}"),
        };
        let wraps = collector.contains("preemptive") || collector.contains("idle-chip");
        let place = if collector.contains("idle-chip") && slots > 0 && parity.is_empty() { "dynamic" } else { place };
        let hard = hard.filter(|_| collector.contains("preemptive") || model != "none" && !priority.contains("[]"));
        let destination = if path == "copyback" || place != "dynamic" || wraps { "plane" } else { destination };
        // The reserve and one open GC block, plus `extra`: down to one spare block a write stream.
        let one = ["unaligned", "invalidate", "threshold = 0 "].iter().any(|knob| collector.contains(knob));
        let separates = path == "checked" || path.contains("fastgc");
        let points = if separates { "separate" } else { points };
        let streams = if collector.contains("pagc") && !one { 2 } else { 1 } + u32::from(separates);
        let spare = (2 * streams + extra.min(blocks - 4)).min(blocks - 1);
        let data = if path.contains("fastgc") && thresholds != "0" { per_block - 1 } else { per_block };
        let op = 1.0 - f64::from((blocks - spare) * data - 1) / f64::from(blocks * per_block);
        let op = (op * 1e6).ceil() / 1e6;
        let quote = |text: &str| if text.starts_with('{') { text.to_string() } else { format!("\"{text}\"") };
        let floor = floor.min(2 * per_block);
        let suspend_times = if suspend == "none" { "" } else { ", suspend = \"3us\", resume = \"2us\"" };
        let chip_queue = chip_queue.map_or(String::new(), |n| format!("chip_queue = {n}\n"));
        let hard = hard.map_or(String::new(), |n| format!(", hard_threshold = \"{} pages\"", n.min(floor)));
        let warmup = if depth % 3 == 0 { "[run]\nwarmup = \"40 requests\"\n" } else { "" };
        format!(
            "geometry = {{ channels = {channels}, chips_per_channel = {chips}, dies_per_chip = {dies}, planes_per_die = {planes}, blocks_per_plane = {blocks}, pages_per_block = {per_block} }}
timing = {{ read = [\"20us\", \"30us\"], program = {program}, erase = \"900us\", transfer = \"{transfer}\", cache_register = {cache}, suspendable = \"{suspend}\"{suspend_times} }}
device = {{ exclusion = \"{exclusion}\", write_ack = \"{ack}\", multi_plane = {multi}, mapping_unit = \"{unit}\", over_provisioning = {op}, queue_depth = {depth}, power_loss_protection = {capacitor}, keep_overwritten = {keep} }}
gc = {{ threshold = \"{floor} pages\", scope = \"{scope}\", destination = \"{destination}\", time = \"{time}\"{hard} }}
staging = {{ slots = {slots} }}
ftl = {{ write_points = \"{points}\", free_block = \"{free_block}\", wear_levelling = \"{levelling}\", wear_spread = 2 }}
wear = {{ copyback_thresholds = {thresholds}, programming = \"{programming}\" }}
ecc = {{ decode = \"{decode}\"{ecc} }}
precondition = {{ mode = \"{mode}\", valid = 0.3, invalid = 0.1 }}
noc = {noc}
schemes = {{ victim = {}, collector = {}, path = {}, place = \"{place}\", order = \"{order}\", route = {route} }}
{parity}[order]
{delay}{chip_queue}{warmup}",
            quote(victim),
            quote(collector),
            quote(path)
        )
    })
}

/// Requests as (gap, kind, place, length) in shares of what the device offers.
fn requests() -> impl Strategy<Value = Vec<(u64, u8, u32, u32)>> {
    prop::collection::vec((0u64..400_000, 0u8..20, 0u32..1_000_000, 0u32..1_000_000), 1..400)
}

fn submit_all(ssd: &mut Ssd, requests: &[(u64, u8, u32, u32)]) {
    let capacity = ssd.capacity_bytes() / 512;
    let (mut arrival, mut last) = (0, 0);
    for (gap, kind, place, length) in requests {
        // Every fourth gap is none at all: ties.
        arrival += if gap % 4 == 0 { 0 } else { *gap };
        let first = u64::from(*place) * capacity / 1_000_000;
        let longest = (capacity - first).min(8 * ssd.page_bytes() / 512);
        let sectors = 1 + u64::from(*length) * (longest - 1) / 1_000_000;
        // Half of the requests are whole pages.
        let page = ssd.page_bytes() / 512;
        let (first, sectors) = if kind % 2 == 0 { (first / page * page, page.min(capacity)) } else { (first, sectors) };
        // A third of the others asks for parts of the page before: partial writes that overlap, and reads of them.
        let part = u64::from(*length) % page;
        let (first, sectors) =
            if kind % 6 == 1 { (last / page * page + part, 1 + part.min(page - part - 1)) } else { (first, sectors) };
        last = first;
        let op = match kind {
            0..7 => RequestOp::Read,
            7..19 => RequestOp::Write,
            _ => RequestOp::Trim,
        };
        ssd.submit(Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: sectors * 512 });
    }
}

fn run(config: &Config, requests: &[(u64, u8, u32, u32)], check: Check, fusing: bool) -> Ssd {
    let mut ssd = Ssd::new(config, 7, check).unwrap_or_else(|error| panic!("{error}"));
    ssd.set_fusing(fusing);
    submit_all(&mut ssd, requests);
    ssd.run();
    ssd
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_everything_adds_up(toml in device(), requests in requests()) {
        let config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        if let Err(refusal) = config.check() {
            prop_assert!(!refusal.help.is_empty());
            return Ok(());
        }
        let full = run(&config, &requests, Check::Full, false);
        let summary = full.summary(7, String::new(), String::new());
        let flash = &summary.flash;
        // Conservation: what collections moved is what they programmed, and what was erased was whole blocks.
        // What was under way when measuring began counts in part.
        // So does what a failed chip swallowed.
        let whole = config.faults.chip_fails.is_empty();
        if config.run.warmup.is_none() && whole {
            prop_assert_eq!(summary.gc.moved_pages, flash.programs.gc + flash.copybacks);
            prop_assert_eq!(summary.gc.collections, flash.erases);
            // Every page programmed was free at the start, or lies in a block that was erased since, or is written still.
            let start = Ssd::new(&config, 7, Check::Off).map(|ssd| ssd.sample().free_pages).unwrap_or(0);
            let preloaded = summary.pages.preloaded * u64::from(config.pages_per_unit());
            let programmed = flash.programs.total + flash.copybacks + preloaded;
            let erased = flash.erases * u64::from(config.geometry.pages_per_block);
            // (With a preloaded page comes a parity page, which nobody counts.)
            if config.raid.layout == RaidLayout::None || summary.pages.preloaded == 0 {
                prop_assert_eq!(programmed, erased + start - full.sample().free_pages);
            }
        }
        if let Some(report) = &summary.fastgc {
            prop_assert_eq!(report.copied_pages + report.external_pages, summary.gc.moved_pages);
            let counted: u64 = report.copied_by_count.iter().chain(&report.external_by_count).sum();
            // Pages that went through the buffer, and those that were checked, are in no list.
            prop_assert!(counted <= summary.gc.moved_pages);
        }
        let absorbs = config.staging.slots > 0 && config.schemes.collector.policy_ref().writes_back().is_some();
        if config.pages_per_unit() == 2 {
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
            let terms: u64 = pagc.response_ns.all.columns().iter().map(|(_, ns)| ns).sum();
            prop_assert_eq!(u128::from(terms), summary.breakdown_ns.all.0.iter().sum::<u128>());
        }
        let by_cause: u128 = summary.breakdown_ns.all.0.iter().sum();
        let latency = &summary.latency_ns.all;
        let total = latency.mean.unwrap_or(0.0) * latency.count as f64;
        prop_assert!((by_cause as f64 - total).abs() <= 1e-9 * total + 1.0);
        // Whatever is checked, and whether legs share events: the results are the same.
        let off = run(&config, &requests, Check::Off, true).summary(7, String::new(), String::new());
        prop_assert_eq!(format!("{:?}", summary), format!("{:?}", off));
    }

    /// Cuts at any moment, with the requests going on after each.
    #[test]
    fn a_power_cut_loses_no_more_than_it_reports(toml in device(), requests in requests(), cuts in prop::collection::vec(0u64..80_000_000, 1..6)) {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        // Torn pages have to be made up for, without memory that survives.
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
        // The configuration that differs in all keys that filling is said not to look at.
        let other = Filled::relevant(&config);
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        let filled = Ssd::new(&other, 7, Check::Full).unwrap_or_else(|error| panic!("{error}")).filled();
        let mut shared = Ssd::from_filled(&config, &filled).unwrap_or_else(|error| panic!("{error}"));
        let anew = run(&config, &requests, Check::Full, true);
        submit_all(&mut shared, &requests);
        shared.run();
        let told = |ssd: &Ssd| format!("{:?} {:?}", ssd.summary(7, String::new(), String::new()), ssd.sample());
        prop_assert_eq!(told(&shared), told(&anew));
    }
}
