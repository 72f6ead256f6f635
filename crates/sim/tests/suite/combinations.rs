//! Every combination of orders, routes, placements, victims, collectors, paths and layouts on small devices. Either a rule of the
//! configuration rejects it, or it runs to its end under the full oracle, and every page then has its expected content. Write caches,
//! queues of the host, die queues and page types are combined with each other, and with every two schemes beside the defaults.
//!
//! Schemes are taken from their slots' lists, so new ones are included. The usual test command runs a sample that contains every
//! valid pair; `SSDLAB_COMBINATIONS=all cargo test -p ssdlab-sim --test suite combinations::` runs all combinations.
//! `SSDLAB_COMBINATIONS=write` rewrites docs/combinations.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::{config, expect_panics};
use ssdlab_sim::config::RaidLayout;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::schemes::{AnyCollector, AnyOrder, AnyPath, AnyRoute, AnyVictim};
use ssdlab_sim::units::{Lpn, Nanos, Ppm};
use ssdlab_sim::{Check, Config, Marks, Request, RequestOp, Ssd};

/// Blocks of a plane, and their pages.
const BLOCKS: u32 = 10;
const PER_BLOCK: u32 = 4;
/// Host pages that every device has.
const COMMON: u64 = 96;
const REQUESTS: u64 = 400;
/// Names of the slots: schemes, of which all combinations are tried, and features of the device around them.
pub const SLOTS: [&str; 11] =
    ["order", "route", "place", "victim", "collector", "path", "layout", "cache", "queues", "die queue", "page types"];
/// Slots of schemes.
const SCHEMES: usize = 7;
/// Schemes that may differ from the first of their slot where the features do.
const BESIDE: usize = 2;
/// A choice for each slot.
type Digits = [usize; SLOTS.len()];

/// Two channels of four chips of one die of two planes: two parity groups of four chips.
const BASE: &str = "geometry = { channels = 2, chips_per_channel = 4, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 10, pages_per_block = 4 }
timing = { read = [\"20us\", \"30us\"], program = \"100us\", erase = \"900us\" }
gc.threshold = \"6 pages\"
precondition.mode = \"sequential\"
device.unwritten_read = \"zero_cost\"
raid = { group = 4, encode_timeout = \"1ms\" }
";

/// The devices for each combination: settings added to the base, and spare blocks per plane beyond the minimum.
const DEVICES: [(&str, &str, u32); 3] = [
    ("bare", "", 0),
    (
        "with a buffer",
        "staging.slots = 5\ndevice = { exclusion = \"chip\", queue_depth = 8 }\ntiming = { cache_register = true, suspendable = \"erase\", suspend = \"3us\", resume = \"2us\" }\n",
        1,
    ),
    (
        "with an interconnect",
        "noc = { model = \"formula\", flit_bits = 2048 }\ngc.hard_threshold = \"2 pages\"\necc.page_error_probability = 0.1\n",
        0,
    ),
];

/// One way to fill a slot.
pub struct Choice {
    pub label: String,
    pub config: Config,
}

/// Possible choices for each slot. A collector that wraps another one is combined with each of them; a switch that is off by
/// default is also switched on.
pub fn choices() -> [Vec<Choice>; SLOTS.len()] {
    let slot = |key: &str, values: Vec<(String, String)>| -> Vec<Choice> {
        let choice = |(label, value): (String, String)| Choice { label, config: config(&format!("{key} = {value}")) };
        values.into_iter().map(choice).collect()
    };
    let plain = |names: &[&str]| -> Vec<(String, String)> {
        names.iter().map(|name| (name.to_string(), format!("\"{name}\""))).collect()
    };
    let collectors = AnyCollector::NAMES.iter().flat_map(|name| {
        let default = toml::Value::try_from(config(&format!("schemes.collector = \"{name}\"")).schemes.collector);
        let knobs = default.unwrap().get(name).cloned();
        let knobs = knobs.as_ref().and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let inner = |inner: &&&str| knobs.contains_key("inner") && *inner != name && **inner != "serial";
        let around = AnyCollector::NAMES.iter().filter(inner);
        let around =
            around.map(|inner| (format!("{name} ({inner})"), format!("{{ {name} = {{ inner = \"{inner}\" }} }}")));
        let off = knobs.iter().filter(|(_, value)| value.as_bool() == Some(false));
        let on = off.map(|(knob, _)| (format!("{name}, {knob}"), format!("{{ {name} = {{ {knob} = true }} }}")));
        let all: Vec<(String, String)> = plain(&[name]).into_iter().chain(around).chain(on).collect();
        all
    });
    [
        slot("schemes.order", plain(AnyOrder::NAMES)),
        slot("schemes.route", plain(AnyRoute::NAMES)),
        slot("schemes.place", plain(&["CWDP", "PDWC", "round-robin", "dynamic"])),
        slot("schemes.victim", plain(AnyVictim::NAMES)),
        slot("schemes.collector", collectors.collect()),
        slot("schemes.path", plain(AnyPath::NAMES)),
        slot("raid.layout", plain(&["none", "traditional", "lci"])),
        slot("cache", named(&CACHES)),
        slot("nvme", named(&QUEUES)),
        slot("order", named(&DIE_QUEUES)),
        PAGE_TYPES.map(|(label, keys)| Choice { label: label.into(), config: config(keys) }).into(),
    ]
}

/// Names of features, and their sections.
type Features<const N: usize> = [(&'static str, &'static str); N];
const CACHES: Features<6> = [
    ("none", "{}"),
    ("eager", "{ size = \"24KiB\", time = \"1us\" }"),
    ("watermark", "{ size = \"24KiB\", time = \"1us\", writeback = \"watermark\" }"),
    ("idle", "{ size = \"24KiB\", time = \"1us\", writeback = \"idle\", order = \"lru\" }"),
    ("through", "{ size = \"24KiB\", time = \"1us\", write = \"through\", read = \"all\" }"),
    ("reads only", "{ size = \"24KiB\", time = \"1us\", write = \"none\", read = \"all\", evict = \"fifo\" }"),
];
const QUEUES: Features<3> = [
    ("none", "{}"),
    (
        "rr",
        "{ arbitration = \"rr\", burst = 2, queues = [{ name = \"reads\", depth = 3, match = { op = \"read\" } }, { name = \"rest\", match = \"rest\" }] }",
    ),
    (
        "wrr",
        "{ arbitration = \"wrr\", queues = [{ name = \"reads\", class = \"low\", weight = 2, match = { op = \"read\" } }, { name = \"rest\", class = \"high\", weight = 3, match = \"rest\" }] }",
    ),
];
const DIE_QUEUES: Features<3> = [
    ("fifo", "{}"),
    ("read-first", "{ die_queue = \"read-first\", read_burst = 2 }"),
    ("by class", "{ die_queue = [\"cache\", \"rgc\", \"rhost\", \"wgc\"] }"),
];

/// Names, and lines of the configuration.
const PAGE_TYPES: Features<3> = [
    ("cyclic", ""),
    ("shadow", "geometry.page_order = \"shadow\""),
    ("varied", "timing.variation = { block = 0.2, layer = 0.1 }"),
];

fn named<const N: usize>(features: &Features<N>) -> Vec<(String, String)> {
    features.iter().map(|(name, section)| (name.to_string(), section.to_string())).collect()
}

/// All combinations, and the rules' result for each on each device.
struct Table {
    choices: [Vec<Choice>; SLOTS.len()],
    devices: Vec<Config>,
    /// The combinations that are tried, and their numbers.
    tried: Vec<Digits>,
    numbers: BTreeMap<Digits, usize>,
    /// By combination and device: none, or the number of the rule that rejects it.
    told: Vec<[Option<u32>; DEVICES.len()]>,
    rules: Vec<String>,
}

impl Table {
    fn new() -> Table {
        let choices = choices();
        let devices: Vec<Config> = DEVICES.iter().map(|(_, more, _)| merged(BASE, more)).collect();
        let tried = tried(&choices);
        let numbers = tried.iter().enumerate().map(|(number, digits)| (*digits, number)).collect();
        let mut table = Table { choices, devices, tried, numbers, told: Vec::new(), rules: Vec::new() };
        let mut numbers = BTreeMap::new();
        for combination in 0..table.len() {
            let told = std::array::from_fn(|device| {
                let refusal = table.config(combination, device).check().err()?;
                assert!(!refusal.help.is_empty(), "{refusal}");
                let next = numbers.len() as u32;
                let rule = format!("`{}`: {}", refusal.key, refusal.message);
                Some(*numbers.entry(rule).or_insert(next))
            });
            table.told.push(told);
        }
        let mut rules: Vec<(u32, String)> = numbers.into_iter().map(|(rule, number)| (number, rule)).collect();
        rules.sort_unstable();
        table.rules = rules.into_iter().map(|(_, rule)| rule).collect();
        table
    }

    fn len(&self) -> usize {
        self.tried.len()
    }

    /// Which choice fills each slot.
    fn digits(&self, combination: usize) -> Digits {
        self.tried[combination]
    }

    /// The number of a combination, if it is tried.
    fn number(&self, digits: Digits) -> Option<usize> {
        self.numbers.get(&digits).copied()
    }

    fn labels(&self, combination: usize) -> String {
        let digits = self.digits(combination);
        let labels = (0..SLOTS.len()).map(|slot| self.choices[slot][digits[slot]].label.as_str());
        let labels: Vec<&str> = labels.collect();
        labels.join(" / ")
    }

    /// The device with these schemes, and the minimal spare for them.
    fn config(&self, combination: usize, device: usize) -> Config {
        let mut config = self.devices[device].clone();
        let [order, route, place, victim, collector, path, layout, cache, queue, die_queue, kind] =
            self.digits(combination);
        let [orders, routes, places, victims, collectors, paths, layouts, caches, queues, die_queues, kinds] =
            &self.choices;
        config.schemes.order = orders[order].config.schemes.order.clone();
        config.schemes.route = routes[route].config.schemes.route.clone();
        config.schemes.place = places[place].config.schemes.place;
        config.schemes.victim = victims[victim].config.schemes.victim.clone();
        config.schemes.collector = collectors[collector].config.schemes.collector.clone();
        config.schemes.path = paths[path].config.schemes.path.clone();
        config.raid.layout = layouts[layout].config.raid.layout;
        config.cache = caches[cache].config.cache.clone();
        config.nvme = queues[queue].config.nvme.clone();
        config.order = die_queues[die_queue].config.order.clone();
        config.geometry.page_order = kinds[kind].config.geometry.page_order;
        config.timing.variation = kinds[kind].config.timing.variation.clone();
        // Per plane: as many reserved blocks as GC write points, as many open ones, and a page.
        let kept = (2 * config.reserve() + DEVICES[device].2).min(BLOCKS - 1);
        let data = (BLOCKS - kept) * (PER_BLOCK - config.metadata_pages()) - 1;
        config.device.over_provisioning = Ppm(1_000_000 - data * 1_000_000 / (BLOCKS * PER_BLOCK));
        config
    }

    /// All configurations that no rule rejects.
    fn accepted(&self) -> Vec<(usize, usize)> {
        let on = |combination| (0..DEVICES.len()).map(move |device| (combination, device));
        (0..self.len())
            .flat_map(on)
            .filter(|(combination, device)| self.told[*combination][*device].is_none())
            .collect()
    }

    /// A sample with every valid triple of choices; the device is one of the choices.
    fn sample(&self) -> Vec<(usize, usize)> {
        let mut seen = BTreeSet::new();
        let mut rng = stream(1, "combinations");
        let mut accepted = self.accepted();
        for last in (1..accepted.len()).rev() {
            accepted.swap(last, below(&mut rng, last as u64 + 1) as usize);
        }
        let new = |(combination, device): &(usize, usize)| {
            let digits = self.digits(*combination);
            let all: Vec<(usize, usize)> = digits.iter().copied().enumerate().chain([(SLOTS.len(), *device)]).collect();
            let mut any = false;
            for (i, a) in all.iter().enumerate() {
                for (j, b) in all[..i].iter().enumerate() {
                    for c in &all[..j] {
                        any |= seen.insert((*a, *b, *c));
                    }
                }
            }
            any
        };
        accepted.into_iter().filter(new).collect()
    }
}

/// The combinations to try: every one of schemes alone, with the last slot varying fastest; and those with a feature, where at most
/// [`BESIDE`] schemes differ from the first of their slot.
fn tried(choices: &[Vec<Choice>; SLOTS.len()]) -> Vec<Digits> {
    let count: usize = choices.iter().map(Vec::len).product();
    let digits = |combination: usize| {
        let mut rest = combination;
        let mut digits = [0; SLOTS.len()];
        // Schemes vary fastest, so that those without features come first.
        for slot in (0..SCHEMES).rev().chain((SCHEMES..SLOTS.len()).rev()) {
            digits[slot] = rest % choices[slot].len();
            rest /= choices[slot].len();
        }
        digits
    };
    let other = |of: &[usize]| of.iter().filter(|choice| **choice > 0).count();
    let few = |digits: &Digits| other(&digits[SCHEMES..]) == 0 || other(&digits[..SCHEMES]) <= BESIDE;
    (0..count).map(digits).filter(few).collect()
}

/// A choice in a slot; the slot after the last one is the device.
type Of = (usize, usize);

/// Results for pairs of choices.
struct Pairs<'t> {
    table: &'t Table,
    /// Choices with a valid combination.
    alone: BTreeSet<Of>,
    /// By two choices: the devices with a valid combination of both.
    together: BTreeMap<(Of, Of), BTreeSet<usize>>,
    /// By two choices and a device: the rules that reject them where replacing either one helps.
    blamed: BTreeMap<(Of, Of, usize), BTreeMap<u32, u32>>,
}

impl<'t> Pairs<'t> {
    fn new(table: &'t Table) -> Self {
        let mut pairs = Pairs { table, alone: BTreeSet::new(), together: BTreeMap::new(), blamed: BTreeMap::new() };
        for (combination, device) in table.accepted() {
            let all = pairs.all(combination, device);
            pairs.alone.extend(all);
            for pair in couples(&all) {
                pairs.together.entry(pair).or_default().insert(device);
            }
        }
        for combination in 0..table.len() {
            for device in 0..DEVICES.len() {
                let Some(rule) = table.told[combination][device] else { continue };
                let helps: Vec<bool> = (0..SLOTS.len()).map(|slot| pairs.helps(combination, device, slot)).collect();
                let elsewhere = table.told[combination].contains(&None);
                for (a, b) in couples(&pairs.all(combination, device)) {
                    if helps[a.0] && helps.get(b.0).copied().unwrap_or(elsewhere) {
                        *pairs.blamed.entry((a, b, device)).or_default().entry(rule).or_default() += 1;
                    }
                }
            }
        }
        pairs
    }

    /// The choices of a combination, and its device.
    fn all(&self, combination: usize, device: usize) -> [Of; SLOTS.len() + 1] {
        let digits = self.table.digits(combination);
        std::array::from_fn(|slot| (slot, digits.get(slot).copied().unwrap_or(device)))
    }

    /// Whether another choice in this slot makes a rejected combination valid.
    fn helps(&self, combination: usize, device: usize, slot: usize) -> bool {
        let mut digits = self.table.digits(combination);
        (0..self.table.choices[slot].len()).any(|choice| {
            digits[slot] = choice;
            self.table.number(digits).is_some_and(|number| self.table.told[number][device].is_none())
        })
    }

    fn label(&self, (slot, choice): Of) -> &str {
        self.table.choices.get(slot).map_or(DEVICES.get(choice).map_or("", |d| d.0), |all| &all[choice].label)
    }

    fn choices(&self, slot: usize) -> Vec<Of> {
        let count = self.table.choices.get(slot).map_or(DEVICES.len(), Vec::len);
        (0..count).map(|choice| (slot, choice)).filter(|of| self.alone.contains(of)).collect()
    }

    /// Devices on which a choice runs.
    fn devices(&self, of: Of) -> BTreeSet<usize> {
        if of.0 == SLOTS.len() {
            return BTreeSet::from([of.1]);
        }
        (0..DEVICES.len()).filter(|device| self.together.contains_key(&(of, (SLOTS.len(), *device)))).collect()
    }

    /// A cell: the devices on which two choices are invalid together though each is valid without the other, and the rules.
    fn cell(&self, a: Of, b: Of, notes: &mut Notes) -> String {
        let run = self.together.get(&(a, b)).cloned().unwrap_or_default();
        let both: BTreeSet<usize> = self.devices(a).intersection(&self.devices(b)).copied().collect();
        // If no device suits both, the devices of either one show the reason.
        let either = || self.devices(a).union(&self.devices(b)).copied().collect();
        let missing: BTreeSet<usize> = if b.0 == SLOTS.len() {
            if run.is_empty() { self.devices(b) } else { BTreeSet::new() }
        } else if run.is_empty() && both.is_empty() {
            either()
        } else {
            both.difference(&run).copied().collect()
        };
        let mut why = |device: usize| {
            let mut rules: Vec<u32> =
                self.blamed.get(&(a, b, device)).into_iter().flatten().map(|(rule, _)| *rule).collect();
            rules.truncate(1);
            if rules.is_empty() {
                rules.extend(self.lacking(a, b, device));
            }
            notes.numbers(&rules)
        };
        match (run.is_empty(), missing.is_empty()) {
            (false, true) => "runs".into(),
            (false, false) => {
                let not: Vec<String> = missing.iter().map(|d| format!("not {} {}", DEVICES[*d].0, why(*d))).collect();
                format!("runs, {}", not.join(", "))
            }
            (true, _) => {
                let all: BTreeSet<String> = missing.iter().map(|device| why(*device)).collect();
                format!("refused {}", all.into_iter().collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// Why two choices are invalid together on a device: the rule that rejects most of the combinations with both.
    fn lacking(&self, a: Of, b: Of, device: usize) -> Option<u32> {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for combination in 0..self.table.len() {
            let all = self.all(combination, device);
            if all.contains(&a)
                && all.contains(&b)
                && let Some(rule) = self.table.told[combination][device]
            {
                *counts.entry(rule).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(rule, count)| (*count, std::cmp::Reverse(*rule))).map(|(rule, _)| rule)
    }
}

/// All pairs, in order.
fn couples(all: &[Of]) -> impl Iterator<Item = (Of, Of)> + '_ {
    all.iter().enumerate().flat_map(move |(i, a)| all[i + 1..].iter().map(move |b| (*a, *b)))
}

/// Rules in the order in which they are first named.
#[derive(Default)]
struct Notes(Vec<u32>);

impl Notes {
    fn numbers(&mut self, rules: &[u32]) -> String {
        let number = |rule: &u32| {
            let at = self.0.iter().position(|one| one == rule);
            let at = at.unwrap_or_else(|| {
                self.0.push(*rule);
                self.0.len() - 1
            });
            format!("({})", at + 1)
        };
        rules.iter().map(number).collect::<Vec<_>>().join(" ")
    }
}

/// docs/combinations.md.
fn page(table: &Table) -> String {
    let pairs = Pairs::new(table);
    let name = |slot: usize| SLOTS.get(slot).copied().unwrap_or("device");
    let accepted = table.accepted();
    let schemes: usize = table.choices[..SCHEMES].iter().map(Vec::len).product();
    let run = (0..table.len()).filter(|combination| table.told[*combination].contains(&None)).count();
    let mut out = format!(
        "# Which schemes go together

Written by the test that runs them: `SSDLAB_COMBINATIONS=write cargo test -p ssdlab-sim --test suite combinations::`.

{} orders, {} routes, {} placements, {} victims, {} collectors, {} paths and {} layouts make {} combinations. {} write caches, {} sets of
queues of the host, {} die queues and {} sets of page types are combined with each other and with every {BESIDE} schemes beside the first of each slot, which adds
{} combinations. Each is tried on {} small devices, and
either a rule of the configuration refuses it, or it runs: 400 requests in bursts under the full oracle on a device that is full,
down to the last operation, with collections, after which every page holds what the history says, the same whatever the schemes. {run}
combinations run on some device, {} runs in all. `SSDLAB_COMBINATIONS=all` with the same command runs every one of them (some
minutes on two cores); the usual test command runs a sample in which every three choices meet that ever do.

`a (b)` is `a` with `inner = \"b\"`; `a, b` is `a` with its switch `b` on. Other knobs have their defaults; random ones are tried in
`crates/sim/tests/suite/worlds.rs`. `ssdlab schemes NAME` says what one scheme needs, and how to meet it.

The devices have 2 channels, 4 chips a channel, a die of 2 planes, and as little spare as the schemes allow. They also have:

",
        table.choices[0].len(),
        table.choices[1].len(),
        table.choices[2].len(),
        table.choices[3].len(),
        table.choices[4].len(),
        table.choices[5].len(),
        table.choices[6].len(),
        schemes,
        table.choices[7].len(),
        table.choices[8].len(),
        table.choices[9].len(),
        table.choices[10].len(),
        table.len() - schemes,
        DEVICES.len(),
        accepted.len(),
    );
    for (device, more, _) in DEVICES {
        let more: Vec<String> = more.lines().map(|line| format!("`{line}`")).collect();
        let more = if more.is_empty() { "nothing".into() } else { more.join(", ") };
        writeln!(out, "- {device}: {more}").unwrap();
    }
    out.push_str("\nThe features:\n\n");
    let features = CACHES.iter().map(|one| ("cache", one)).chain(QUEUES.iter().map(|one| ("nvme", one)));
    for (section, (name, keys)) in features.chain(DIE_QUEUES.iter().map(|one| ("order", one))) {
        if *keys != "{}" {
            writeln!(out, "- {name}: `{section} = {keys}`").unwrap();
        }
    }
    for (name, keys) in PAGE_TYPES.iter().filter(|(_, keys)| !keys.is_empty()) {
        writeln!(out, "- {name}: `{keys}`").unwrap();
    }
    let mut notes = Notes::default();
    let mut never = String::new();
    for slot in 0..SLOTS.len() {
        for choice in (0..table.choices[slot].len()).filter(|choice| !pairs.alone.contains(&(slot, *choice))) {
            let rules = (0..DEVICES.len()).filter_map(|device| pairs.lacking((slot, choice), (slot, choice), device));
            let rules: BTreeSet<u32> = rules.collect();
            let why = notes.numbers(&rules.into_iter().collect::<Vec<_>>());
            writeln!(never, "- {} `{}`: refused {why}", name(slot), pairs.label((slot, choice))).unwrap();
        }
    }
    if !never.is_empty() {
        write!(out, "\n## What runs with nothing\n\n{never}").unwrap();
    }
    let mut tables = String::new();
    let mut free = Vec::new();
    for (one, other) in (0..=SLOTS.len()).flat_map(|one| (one + 1..=SLOTS.len()).map(move |other| (one, other))) {
        let (rows, columns) = (pairs.choices(one), pairs.choices(other));
        let cells = |row: Of, notes: &mut Notes| -> Vec<String> {
            columns.iter().map(|column| pairs.cell(row, *column, notes)).collect()
        };
        let limited: Vec<(Of, Vec<String>)> = rows.iter().map(|row| (*row, cells(*row, &mut notes))).collect();
        let limited: Vec<_> = limited.into_iter().filter(|(_, row)| row.iter().any(|cell| cell != "runs")).collect();
        if limited.is_empty() {
            free.push(format!("{} with {}", name(one), name(other)));
            continue;
        }
        let heads: Vec<&str> = columns.iter().map(|column| pairs.label(*column)).collect();
        write!(tables, "\n## {} and {}\n\n", name(one), name(other)).unwrap();
        writeln!(tables, "| {} | {} |\n| --- |{}", name(one), heads.join(" | "), " --- |".repeat(heads.len())).unwrap();
        let rest = rows.len() - limited.len();
        for (row, cells) in limited {
            writeln!(tables, "| {} | {} |", pairs.label(row), cells.join(" | ")).unwrap();
        }
        if rest > 0 {
            writeln!(tables, "| any other |{}", " runs |".repeat(heads.len())).unwrap();
        }
    }
    write!(out, "\n## What always goes together\n\nAny choice of the one with any choice of the other:\n\n").unwrap();
    for pair in free {
        writeln!(out, "- {pair}").unwrap();
    }
    out.push_str(&tables);
    // Combinations that are rejected although every pair of their choices is valid.
    let mut three: BTreeMap<u32, (usize, String)> = BTreeMap::new();
    for combination in 0..table.len() {
        for (device, (on, ..)) in DEVICES.iter().enumerate() {
            let Some(rule) = table.told[combination][device] else { continue };
            let all = pairs.all(combination, device);
            let each = couples(&all).all(|pair| pairs.together.get(&pair).is_some_and(|on| on.contains(&device)));
            if each {
                let example = || format!("{}, {on}", table.labels(combination));
                three.entry(rule).or_insert_with(|| (0, example())).0 += 1;
            }
        }
    }
    if !three.is_empty() {
        let title = "What three choices refuse\n\nCombinations that are refused though each two of their choices run together on that device";
        write!(out, "\n## {title}:\n\n").unwrap();
    }
    for (rule, (count, example)) in three {
        let number = notes.numbers(&[rule]);
        writeln!(out, "- {number}: {count}, such as {example}").unwrap();
    }
    out.push_str("\n## Rules\n\n");
    for (number, rule) in notes.0.iter().enumerate() {
        writeln!(out, "{}. {}", number + 1, table.rules[*rule as usize]).unwrap();
    }
    out.push_str(&crate::combinations_units::section());
    out
}

/// Two TOML texts whose sections complete each other.
pub fn merged(base: &str, more: &str) -> Config {
    let mut table: toml::Table = base.parse().unwrap();
    for (section, keys) in more.parse::<toml::Table>().unwrap() {
        let own = table.entry(section).or_insert_with(|| toml::Table::new().into());
        own.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
    }
    table.to_string().parse().unwrap()
}

/// Runs one configuration, and checks the final content of every common page against the history.
pub fn run(config: &Config, history: u64) {
    let mut ssd = Ssd::new(config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    let page = u64::from(config.units().bytes);
    let capacity = ssd.capacity_bytes() / page;
    assert!(capacity >= COMMON, "{capacity} pages");
    let before: Vec<u32> = (0..COMMON as u32).map(|lpn| ssd.version_of(Lpn(lpn)).expect("it is filled")).collect();
    // Writes and trims of each page, and whether the last one was a trim.
    let mut expected = vec![(0, false); COMMON as usize];
    let mut rng = stream(history, "requests");
    let mut arrival = 0;
    for _ in 0..REQUESTS {
        // Bursts, and occasional pauses in which the device becomes idle.
        arrival += match below(&mut rng, 20) {
            0..10 => 0,
            10..19 => below(&mut rng, 150_000),
            _ => below(&mut rng, 20_000_000),
        };
        let (kind, hot, pages) = (below(&mut rng, 20), below(&mut rng, 3) > 0, 1 + below(&mut rng, 4));
        let (place, part) = (below(&mut rng, COMMON - 4), below(&mut rng, 8) * 512);
        // All devices get the same requests for the common pages; the other pages depend on the device.
        let first =
            if hot || capacity < COMMON + 8 { place } else { COMMON + place * (capacity - COMMON - 4) / COMMON };
        let op = match kind {
            0..6 => RequestOp::Read,
            6..19 => RequestOp::Write,
            _ => RequestOp::Trim,
        };
        // A third of the writes are partial.
        let part = if op == RequestOp::Trim || kind % 3 > 0 { 0 } else { part % page };
        let request = Request { arrival: Nanos(arrival), op, offset: first * page + part, bytes: pages * page - part };
        // Reads have a queue of their own; all that changes data is in one, so its order is that of the history.
        let queue = u8::from(config.nvme.arbitrates() && op != RequestOp::Read);
        ssd.submit_marked(request, Marks { queue, tenant: queue, ..Marks::default() }, std::iter::empty());
        // With parity, trims are ignored.
        if op == RequestOp::Write || op == RequestOp::Trim && config.raid.layout == RaidLayout::None {
            for lpn in (first..first + pages).filter(|lpn| *lpn < COMMON) {
                let (count, trimmed) = &mut expected[lpn as usize];
                let nothing_left = *trimmed && op == RequestOp::Trim;
                (*count, *trimmed) = (*count + u32::from(!nothing_left), op == RequestOp::Trim);
            }
        }
    }
    ssd.run();
    for (lpn, ((count, trimmed), before)) in (0..).map(Lpn).zip(expected.into_iter().zip(before)) {
        let held = (!trimmed).then_some(before + count);
        assert_eq!(ssd.version_of(lpn), held, "logical page {} holds the last write of the history", lpn.0);
    }
    // Read back: the oracle compares what arrives.
    let all = Request { arrival: ssd.now(), op: RequestOp::Read, offset: 0, bytes: COMMON * page };
    ssd.submit(all);
    ssd.run();
    let summary = ssd.summary(7, String::new(), String::new());
    assert!(summary.gc.collections > 0, "collections ran");
}

/// Runs these on all cores, and reports the failures.
fn run_all(table: &Table, which: &[(usize, usize)]) {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let at: Vec<Mutex<Option<(Instant, usize)>>> = (0..workers).map(|_| Mutex::new(None)).collect();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let running: Vec<_> = at
            .iter()
            .map(|at| {
                scope.spawn(|| {
                    expect_panics();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some((combination, device)) = which.get(i).copied() else { break };
                        *at.lock().unwrap() = Some((Instant::now(), i));
                        let config = table.config(combination, device);
                        let outcome = catch_unwind(AssertUnwindSafe(|| run(&config, i as u64 % 8)));
                        if let Err(panic) = outcome {
                            let said = panic.downcast_ref::<String>().cloned();
                            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                            failures.lock().unwrap().push((i, said.unwrap_or_default()));
                        }
                        *at.lock().unwrap() = None;
                    }
                })
            })
            .collect();
        // A run without end is a failure, too.
        while running.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            for (since, i) in at.iter().filter_map(|at| *at.lock().unwrap()) {
                if since.elapsed() > Duration::from_secs(60) {
                    eprintln!("{}", failure(table, which[i], i, "it does not end"));
                    std::process::abort();
                }
            }
        }
    });
    eprintln!("{} runs in {:.1} s", which.len(), began.elapsed().as_secs_f64());
    let mut failures = failures.into_inner().unwrap();
    failures.sort_unstable();
    let shown = failures.iter().take(20).map(|(i, said)| failure(table, which[*i], *i, said));
    let shown: Vec<String> = shown.collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), which.len(), shown.join("\n"));
}

fn failure(table: &Table, (combination, device): (usize, usize), i: usize, said: &str) -> String {
    let labels = table.labels(combination);
    format!("{labels}, {}, history {}: {said}", DEVICES[device].0, i % 8)
}

#[test]
fn every_combination_runs_clean_or_is_refused() {
    let table = Table::new();
    match std::env::var("SSDLAB_COMBINATIONS").as_deref() {
        Ok("all") => run_all(&table, &table.accepted()),
        _ => run_all(&table, &table.sample()),
    }
}

#[test]
fn the_pair_table_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/combinations.md");
    let current = page(&Table::new());
    if std::env::var("SSDLAB_COMBINATIONS").is_ok_and(|what| what == "write") {
        std::fs::write(&path, &current).unwrap();
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    let refresh = "SSDLAB_COMBINATIONS=write cargo test -p ssdlab-sim --test suite combinations::";
    assert!(current == shipped, "docs/combinations.md is out of date; refresh it: {refresh}");
}
