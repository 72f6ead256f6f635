//! Mapping units beside every scheme, and beside every feature of the device: each runs to its end under the full oracle, or a rule
//! refuses it and says what to do. The table is a part of docs/combinations.md.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::combinations::{SLOTS, choices, merged, run};
use ssdlab_sim::{Config, ConfigError};

/// Two channels of two chips of a die, whose planes are programmed together, two pages of each: 16 units of 4 KiB a program.
const UNITS: &str = "geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 6, pages_per_block = 4, page_size = \"16KiB\", pages_per_program = 2, planes_per_program = 2 }
timing = { read = [\"20us\", \"30us\"], program = \"100us\", erase = \"900us\" }
gc = { threshold = \"4 pages\" }
precondition.mode = \"sequential\"
device = { mapping_unit = \"4KiB\", unwritten_read = \"zero_cost\", over_provisioning = 0.6, power_loss_protection = true }
cache = { size = \"512KiB\", time = \"1us\" }
raid = { group = 4, encode_timeout = \"1ms\" }
";

/// What a feature does beside units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Runs,
    /// Refused, with this key.
    No(&'static str),
}
use Does::{No, Runs};

/// Features outside the slots of schemes, with keys and whether they run.
const FEATURES: [(&str, &str, Does); 62] = [
    ("one plane a program", "geometry.planes_per_program = 1", Runs),
    ("one page a program", "geometry.pages_per_program = 1", Runs),
    (
        "units of 2 KiB",
        "device = { mapping_unit = \"2KiB\", over_provisioning = 0.52 }\ngeometry.pages_per_block = 2\ncache.size = \"256KiB\"",
        Runs,
    ),
    ("units of a page", "device = { mapping_unit = \"16KiB\", over_provisioning = 0.45 }", Runs),
    ("a cache of SLC", "slc = { mode = \"dynamic\", bits = 2, share = 0.4 }", Runs),
    (
        "a cache of SLC that is copied",
        "slc = { mode = \"static\", bits = 2, blocks = 1, path = \"copyback\" }",
        No("slc.path"),
    ),
    ("super pages", "device.mapping_unit = \"super-page\"", No("device.mapping_unit")),
    ("one-shot programs", "wear.programming = \"one-shot\"", No("wear.programming")),
    ("programs of listed times", "timing.program = [\"100us\", \"200us\"]", No("timing.program")),
    ("shadow order", "geometry.page_order = \"shadow\"", No("geometry.page_order")),
    ("shadow order, one page a program", "geometry = { page_order = \"shadow\", pages_per_program = 1 }", Runs),
    ("variation", "timing.variation = { block = 0.2, layer = 0.1 }", Runs),
    ("no write cache", "cache.size = \"0B\"", No("cache.size")),
    ("few lines", "cache.size = \"128KiB\"", No("cache.size")),
    ("few lines, any groups", "cache = { size = \"128KiB\", pack = \"any\" }", Runs),
    ("cache: write-through", "cache.write = \"through\"", No("cache.write")),
    ("cache: reads only", "cache.write = \"none\"", No("cache.write")),
    ("cache: watermark", "cache.writeback = \"watermark\"", Runs),
    ("cache: idle", "cache.writeback = \"idle\"", Runs),
    ("cache: hold", "cache.hold = \"1ms\"", Runs),
    ("cache: all reads", "cache.read = \"all\"", Runs),
    ("cache: no reads", "cache.read = \"none\"", Runs),
    ("cache: lru", "cache.order = \"lru\"", Runs),
    ("cache: stripes", "cache.order = \"stripe\"", No("cache.order")),
    ("multi-plane commands", "device.multi_plane = true", No("device.multi_plane")),
    ("idle trigger", "schemes.trigger = { idle = { after = \"1ms\", below = \"12 pages\" } }", Runs),
    ("static wear levelling", "ftl = { wear_levelling = \"static\", wear_spread = 2 }", Runs),
    ("least erased blocks", "ftl.free_block = \"least-erased\"", Runs),
    ("shared write points", "ftl.write_points = \"shared\"", Runs),
    ("GC by chip", "gc.scope = \"chip\"", Runs),
    ("GC by device", "gc.scope = \"device\"", Runs),
    ("GC in no time", "gc.time = \"none\"", Runs),
    ("GC anywhere", "gc.destination = \"any\"\nschemes.place = \"dynamic\"", No("gc.destination")),
    ("padded moves", "gc.remainder = \"pad\"\ndevice.over_provisioning = 0.78", Runs),
    ("padded moves, little spare", "gc.remainder = \"pad\"", No("gc.remainder")),
    ("hard threshold", "gc.hard_threshold = \"3 pages\"\nschemes.collector = \"preemptive\"", Runs),
    ("random filling", "precondition.mode = \"random\"", Runs),
    ("warm-up", "run.warmup = \"100 requests\"", Runs),
    ("cache register", "timing.cache_register = true", Runs),
    ("suspension", "timing = { suspendable = \"program+erase\", suspend = \"3us\", resume = \"2us\" }", Runs),
    ("command times", "timing.command = \"200ns\"", Runs),
    ("host link", "timing.host_link = \"1GB/s\"", Runs),
    ("memory time", "device.memory = \"1us\"", Runs),
    ("chips exclude", "device.exclusion = \"chip\"", Runs),
    ("whole-page writes", "device.partial_write = \"whole-page\"", Runs),
    ("whole-page reads", "device.partial_read = \"whole-page\"", Runs),
    ("acknowledged early", "device.write_ack = \"after_transfer\"", Runs),
    ("no capacitor", "device = { power_loss_protection = false, over_provisioning = 0.8 }\ngc.reserve = 2", Runs),
    (
        "kept versions",
        "device = { power_loss_protection = false, keep_overwritten = true, over_provisioning = 0.8 }\ngc.reserve = 2",
        Runs,
    ),
    ("power cuts", "faults.power_cut = [\"20ms\", \"40ms\"]\ngc.reserve = 2", Runs),
    ("a failed chip", "faults.chip_fails = [{ chip = 3, at = \"20ms\" }]", No("faults.chip_fails")),
    ("parity", "raid.layout = \"traditional\"", No("raid.layout")),
    ("redirected reads", "schemes.route = \"brr\"\nraid.layout = \"lci\"", No("raid.layout")),
    ("second copies", "schemes.route = \"dpr\"", No("schemes.route")),
    ("an interconnect", "noc = { model = \"formula\", flit_bits = 2048 }", No("noc.model")),
    ("controller's buffer", "staging.slots = 5", No("staging.slots")),
    ("error model", "ecc.errors = \"model\"", Runs),
    (
        "read retry",
        "ecc = { errors = \"model\", levels = [{ errors = 5 }, { errors = 200, retries = 2, decode = \"5us\" }] }",
        Runs,
    ),
    ("error correction takes time", "ecc.decode = \"4us\"", Runs),
    ("chip queues", "order.chip_queue = 2", Runs),
    ("reads first", "order = { die_queue = \"read-first\", read_burst = 2 }", Runs),
    ("more units than a block may have", "geometry.pages_per_block = 8192", No("device.mapping_unit")),
];

/// The device with other keys.
fn device(more: &str) -> Config {
    merged(UNITS, more)
}

/// The schemes of each slot with units, and whether they are refused. Slots of the cache have features of their own above.
fn schemes() -> Vec<(&'static str, String, Config)> {
    let mut all = Vec::new();
    for (slot, choices) in SLOTS.into_iter().zip(choices()) {
        for choice in choices {
            let (mut config, own) = (device(""), choice.config);
            match slot {
                "order" => config.schemes.order = own.schemes.order,
                "route" => config.schemes.route = own.schemes.route,
                "place" => config.schemes.place = own.schemes.place,
                "victim" => config.schemes.victim = own.schemes.victim,
                "collector" => config.schemes.collector = own.schemes.collector,
                "path" => config.schemes.path = own.schemes.path,
                "layout" => config.raid.layout = own.raid.layout,
                "queues" => config.nvme = own.nvme,
                "die queue" => config.order = own.order,
                _ => continue,
            }
            all.push((slot, choice.label, config));
        }
    }
    all
}

/// What the rules say.
fn told(refusal: Option<&ConfigError>) -> String {
    match refusal {
        None => "runs".into(),
        Some(refusal) => format!("refused: `{}`: {}; {}", refusal.key, refusal.message, refusal.help),
    }
}

/// The part of docs/combinations.md.
pub fn section() -> String {
    let mut out = String::from(
        "\n## Mapping units\n\nUnits of 4 KiB on pages of 16 KiB, programs of two pages of two planes (`device.mapping_unit`, `geometry.pages_per_program`,\n`geometry.planes_per_program`), a write cache of 512 KiB, and one more choice or feature. A refusal names what to use instead.\n\n| choice | with units |\n| --- | --- |\n",
    );
    for (slot, label, config) in schemes() {
        writeln!(out, "| {slot} `{label}` | {} |", told(config.check().err().as_ref())).unwrap();
    }
    out.push_str("\n| feature | keys | with units |\n| --- | --- | --- |\n");
    for (name, keys, _) in FEATURES {
        let lines: Vec<String> = keys.lines().map(|line| format!("`{line}`")).collect();
        writeln!(out, "| {name} | {} | {} |", lines.join(", "), told(device(keys).check().err().as_ref())).unwrap();
    }
    out
}

/// What is wrong with a feature beside units.
fn fault(name: &str, keys: &str, does: Does) -> Option<String> {
    let config = device(keys);
    match (config.check(), does) {
        (Ok(()), Runs) => {
            let ran = catch_unwind(AssertUnwindSafe(|| (0..3).for_each(|history| run(&config, history))));
            let said = |panic: Box<dyn std::any::Any + Send>| {
                let said = panic.downcast_ref::<String>().cloned();
                said.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
            };
            ran.err().map(|panic| format!("{name}: {}", said(panic)))
        }
        (Err(refusal), No(key)) => {
            (refusal.key != key || refusal.help.is_empty()).then(|| format!("{name}: not {key}, but {refusal}"))
        }
        (told, does) => Some(format!("{name} should be {does:?}, but {told:?}")),
    }
}

#[test]
fn every_feature_runs_with_units_or_is_refused() {
    let faults: Vec<String> = FEATURES.into_iter().filter_map(|(name, keys, does)| fault(name, keys, does)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Schemes that move single pages, or pages as they are, are refused; all others run.
#[test]
fn every_scheme_runs_with_units_or_is_refused() {
    let refused = |slot: &str, label: &str| match slot {
        "route" => label != "direct",
        "collector" => !["serial", "queued", "preemptive", "preemptive (queued)"].contains(&label),
        "path" => label != "external",
        "layout" => label != "none",
        _ => false,
    };
    let mut ran = 0;
    for (slot, label, config) in schemes() {
        let told = config.check();
        if label == "preemptive (queued)" {
            assert!(told.is_err(), "it runs with nothing");
            continue;
        }
        assert_eq!(told.is_err(), refused(slot, &label), "{slot} {label}: {told:?}");
        match told {
            Ok(()) => {
                ran += 1;
                (0..3).for_each(|history| run(&config, history));
            }
            Err(refusal) => assert!(!refusal.help.is_empty(), "{slot} {label}: {refusal}"),
        }
    }
    assert!(ran > 20, "{ran} schemes ran");
}
