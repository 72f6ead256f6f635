//! Read retry by levels of bit errors: the worked examples, to the nanosecond.

use proptest::prelude::*;
use ssdlab_sim::config::{EccLevel, Errors};
use ssdlab_sim::units::{Nanos, Ppm};
use ssdlab_sim::{Check, Config, Ssd};

use crate::common::{Dut, causes, config, summary};

pub(crate) const LEVELS: &str = "levels = [
    { errors = 60, retries = 0, decode = \"2us\" },
    { errors = 120, retries = 0, decode = \"10us\" },
    { errors = 200, retries = 2, decode = \"10us\" },
    { errors = 260, retries = 5, decode = \"40us\" },
]";

/// One die whose programs leave so many errors per MiB, with the levels of the examples.
fn die(per_mib: u64, more: &str) -> Config {
    let still = if more.contains("read_disturb") { "" } else { "ecc.read_disturb = 0" };
    config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 64 }}
        ecc.errors = \"model\"
        ecc.spread = 0
        {still}
        ecc.program_errors = [[0, {per_mib}]]
        ecc.{LEVELS}
        {more}"
    ))
}

fn per_kib(errors: u64, more: &str) -> Config {
    die(errors * 1024, more)
}

const PAGE: u64 = 4096;
const READ_AT: u64 = 1_000_000;

/// A device whose page 0 is on flash before the time of reads.
fn written(config: &Config) -> Dut {
    let mut dut = Dut::new(config);
    dut.write(0, 0, PAGE);
    dut
}

/// Latency of a read of page 0.
fn read(config: &Config, bytes: u64) -> u64 {
    let mut dut = written(config);
    dut.read(READ_AT, 0, bytes);
    dut.latencies()[1]
}

#[test]
fn errors_decide_the_level_and_with_it_the_time() {
    for (errors, latency) in [(30, 57_120), (100, 65_120), (150, 195_360), (250, 570_720), (300, 570_720)] {
        assert_eq!(read(&per_kib(errors, ""), PAGE), latency, "{errors} errors per KiB");
    }
    assert_eq!(read(&die(120 * 1024, ""), PAGE), 65_120, "the bound of a level belongs to it");
    assert_eq!(read(&die(120 * 1024 + 1, ""), PAGE), 195_360, "one error per MiB more does not");
}

#[test]
fn pages_beyond_the_last_level_are_reported() {
    for (errors, lost) in [(250, 0), (300, 1)] {
        let mut dut = written(&per_kib(errors, ""));
        dut.read(READ_AT, 0, PAGE);
        assert_eq!(dut.completed()[1].uncorrectable, lost, "{errors} errors per KiB");
    }
}

#[test]
fn retries_have_their_own_command_and_array_time() {
    for (more, bytes, latency) in [
        ("ecc.retry_set = \"1us\"", PAGE, 197_360),
        ("ecc.retry_set = \"1us\"\necc.retry_pipelined = true", PAGE, 167_120),
        ("ecc.retry_pipelined = true", PAGE, 165_120),
        ("ecc.retry_read = \"80us\"", PAGE, 255_360),
        ("", 512, 181_920),
    ] {
        assert_eq!(read(&per_kib(150, more), bytes), latency, "{more}, {bytes} bytes");
    }
}

#[test]
fn retries_are_a_cause() {
    for (more, retry) in [("", 130_240), ("ecc.retry_pipelined = true", 100_000), ("ecc.retry_holds = false", 130_240)]
    {
        let mut dut = written(&per_kib(150, more));
        dut.read(READ_AT, 0, PAGE);
        let done = dut.completed();
        let expected = [("array", 50_000), ("bus", 5_120), ("decode", 10_000), ("retry", retry)];
        assert_eq!(causes(&done[1]), expected, "{more}");
    }
}

#[test]
fn the_die_is_held_or_each_attempt_queues() {
    let two = |more: &str| {
        let mut dut = written(&per_kib(150, more));
        dut.read(READ_AT, 0, PAGE);
        dut.read(READ_AT, 0, PAGE);
        dut.completed()
    };
    let latencies = |done: &[ssdlab_sim::Completed]| [1, 2].map(|i| (done[i].completion - done[i].arrival).0);
    let held = two("");
    assert_eq!(latencies(&held), [195_360, 380_720]);
    assert_eq!(causes(&held[2])[0], ("die_host", 185_360));
    assert_eq!(latencies(&two("ecc.retry_holds = false")), [285_600, 340_720]);

    let mut dut = written(&per_kib(150, "ecc.retry_holds = false"));
    dut.read(READ_AT, 0, PAGE);
    dut.write(READ_AT + 1, PAGE, PAGE);
    assert_eq!(dut.latencies()[1..], [790_480, 660_239]);
}

#[test]
fn the_old_page_of_a_partial_write_is_read_again() {
    let mut dut = written(&per_kib(150, ""));
    dut.write(READ_AT, 0, 512);
    assert_eq!(dut.latencies()[1], 800_480);
}

#[test]
fn data_ages_faster_than_time_passes() {
    let ages = "ecc.retention = 0.1\necc.age_factor = 86400";
    let mut dut = written(&per_kib(100, ages));
    dut.read(READ_AT, 0, PAGE);
    dut.read(3_000_000_000, 0, PAGE);
    assert_eq!(dut.latencies()[1..], [65_120, 195_360]);
}

#[test]
fn data_of_before_the_run_has_an_age() {
    // 100 errors and 10 a day: after 5 days 150.
    let aged = "precondition.mode = \"sequential\"\necc.retention = 0.1\necc.initial_age = \"432000s\"";
    let mut dut = Dut::new(&per_kib(100, aged));
    dut.read(0, 0, PAGE);
    dut.write(1_000_000, 0, PAGE);
    dut.read(2_000_000, 0, PAGE);
    let latencies = dut.latencies();
    assert_eq!([latencies[0], latencies[2]], [195_360, 65_120], "what the run writes is young");
    let preloaded = "device.unwritten_read = \"preload\"\necc.retention = 0.1\necc.initial_age = \"432000s\"";
    let mut dut = Dut::new(&per_kib(100, preloaded));
    dut.read(0, 0, PAGE);
    assert_eq!(dut.latencies(), [195_360]);
}

#[test]
fn reads_disturb_their_block() {
    let mut dut = written(&per_kib(119, "ecc.read_disturb = 512000"));
    (0..3).for_each(|i| dut.read(READ_AT + i * 1_000_000, 0, PAGE));
    assert_eq!(dut.latencies()[1..], [65_120, 65_120, 195_360]);
}

#[test]
fn every_attempt_disturbs() {
    // Two retries and the first attempt add 1.5 errors, so 198.5 become 200 and the next read is beyond the level.
    let mut dut = written(&die(198 * 1024 + 512, "ecc.read_disturb = 512000"));
    (0..2).for_each(|i| dut.read(READ_AT + i * 1_000_000, 0, PAGE));
    assert_eq!(dut.latencies()[1..], [195_360, 570_720]);
}

#[test]
fn reads_are_counted_by_their_retries() {
    for more in ["", "ecc.retry_holds = false", "ecc.retry_pipelined = true"] {
        let mut dut = written(&per_kib(119, &format!("ecc.read_disturb = 512000\n{more}")));
        (0..3).for_each(|i| dut.read(READ_AT + i * 1_000_000, 0, PAGE));
        dut.ssd.run();
        let retries = summary(&dut.ssd).ecc.unwrap().retries.unwrap();
        assert_eq!((retries.host.histogram, retries.host.reads, retries.host.steps), (vec![2, 0, 1], 3, 2), "{more}");
        let time = if more.ends_with("pipelined = true") { 100_000 } else { 130_240 };
        assert_eq!((retries.host.time_ns, retries.gc.reads), (time, 0), "{more}");
    }
}

#[test]
fn a_page_that_moves_between_attempts_starts_anew() {
    // The write comes between the first attempt and its decoding; then the page is in memory, or has another place.
    let mut dut = written(&per_kib(150, "ecc.retry_holds = false"));
    dut.read(READ_AT, 0, PAGE);
    dut.write(READ_AT + 56_000, 0, PAGE);
    let done = dut.completed();
    assert_eq!((done[1].completion - done[1].arrival).0, 661_120 + 3 * 65_120, "it has another place");
    let expected = [("die_host", 595_000 + 1_000 - 5_000), ("array", 50_000), ("bus", 5_120), ("decode", 10_000)];
    let spent = causes(&done[1]);
    assert_eq!((spent[1], spent[2], spent[3]), (expected[1], expected[2], expected[3]));
    assert_eq!(spent.iter().map(|(_, ns)| ns).sum::<u64>(), (done[1].completion - done[1].arrival).0);
    assert_eq!(spent[4], ("retry", 55_120 + 10_000 + 130_240), "the attempt at the former place is a repetition");
    assert_eq!(done[2].completion, Nanos(READ_AT + 56_000 + 605_120));
}

/// Two planes, whose pages 0 and 1 are read together.
fn planes(per_mib: u64, more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 64 }}
        device.multi_plane = true
        ecc.errors = \"model\"
        ecc.spread = 0
        ecc.read_disturb = 0
        ecc.program_errors = [[0, {per_mib}]]
        ecc.{LEVELS}
        {more}"
    ))
}

#[test]
fn pages_of_a_multi_plane_read_are_read_again_one_by_one() {
    // Together 50,000 + 10,240; then each page twice 50,000 + 5,120, the first after decoding, and the last decoding.
    let held = 60_240 + (10_000 + 55_120) + (10_000 + 55_120) + 2 * 55_120 + 10_000 + 10_000;
    let piped = 50_000 + 4 * 50_000 + 5_120 + 10_000;
    // Each by itself, the older first: the other's attempts are waited for.
    let apart = 60_240 + 10_000 + 4 * 55_120 + 10_000;
    for (more, latency) in [("", held), ("ecc.retry_pipelined = true", piped), ("ecc.retry_holds = false", apart)] {
        let mut dut = Dut::new(&planes(150 * 1024, more));
        dut.write(0, 0, 2 * PAGE);
        dut.read(READ_AT, 0, 2 * PAGE);
        let done = dut.completed();
        let spent: u64 = causes(&done[1]).iter().map(|(_, ns)| ns).sum();
        assert_eq!((spent, (done[1].completion - done[1].arrival).0), (latency, latency), "{more}");
    }
}

#[test]
fn pages_with_many_errors_are_rewritten() {
    let refreshes = per_kib(150, "ecc.refresh = 140");
    let mut dut = Dut::new(&refreshes);
    dut.write(0, 0, 2 * PAGE);
    dut.read(READ_AT + 1_000_000, 0, PAGE);
    dut.read(READ_AT + 1_300_000, PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(done[1].completion, Nanos(2_195_360));
    assert_eq!(done[2].completion, Nanos(3_191_200), "it waits for the refresh from 2,195,360 to 2,995,840");
    assert_eq!(causes(&done[2])[0], ("die_gc_own", 2_995_840 - 2_300_000));
    let summary = summary(&dut.ssd);
    let ecc = summary.ecc.unwrap();
    let refresh = ecc.refresh.unwrap();
    assert_eq!((refresh.queued, refresh.done, refresh.dropped), (2, 2, 0));
    assert_eq!((summary.flash.reads.refresh, summary.flash.programs.refresh), (2, 2));
    assert_eq!(ecc.retries.unwrap().refresh.histogram, [0, 0, 2]);
    assert_eq!(summary.write_amplification, Some(2.0));
}

#[test]
fn pages_that_are_overwritten_before_are_not_rewritten() {
    // Two reads queue; page 0 is overwritten while the second one holds the die.
    let mut dut = Dut::new(&per_kib(150, "ecc.refresh = 140"));
    dut.write(0, 0, 2 * PAGE);
    dut.read(2_000_000, 0, PAGE);
    dut.read(2_000_000, PAGE, PAGE);
    dut.write(2_190_000, 0, PAGE);
    dut.ssd.run();
    let refresh = summary(&dut.ssd).ecc.unwrap().refresh.unwrap();
    // The read of page 0 ends its decoding after the write has arrived, so it wants no refresh.
    assert_eq!((refresh.queued, refresh.done, refresh.dropped), (1, 1, 0));
    let mut dut = Dut::new(&per_kib(150, "ecc.refresh = 140"));
    dut.write(0, 0, 2 * PAGE);
    dut.read(2_000_000, 0, PAGE);
    dut.read(2_000_000, PAGE, PAGE);
    dut.write(2_200_000, 0, PAGE);
    dut.ssd.run();
    let refresh = summary(&dut.ssd).ecc.unwrap().refresh.unwrap();
    assert_eq!((refresh.queued, refresh.done, refresh.dropped), (2, 1, 1));
}

#[test]
fn what_does_not_work_is_refused() {
    let model = "ecc.errors = \"model\"";
    let levels = format!("{model}\necc.{LEVELS}");
    for (key, toml) in [
        ("ecc.levels", format!("ecc.{LEVELS}")),
        ("ecc.levels", format!("{model}\necc.levels = [{{ errors = 60 }}, {{ errors = 60, retries = 1 }}]")),
        (
            "ecc.levels",
            format!("{model}\necc.levels = [{{ errors = 60, retries = 2 }}, {{ errors = 90, retries = 1 }}]"),
        ),
        ("ecc.levels", format!("{model}\necc.levels = [{{ errors = 60, retries = 256 }}]")),
        ("ecc.levels", format!("{model}\necc.levels = [{{ errors = 60, decode = \"7200s\" }}]")),
        (
            "ecc.levels",
            format!(
                "{model}\necc.levels = [{}]",
                (1..=17).map(|n| format!("{{ errors = {n} }}")).collect::<Vec<_>>().join(", ")
            ),
        ),
        ("ecc.decode", format!("{levels}\necc.decode = \"1us\"")),
        ("ecc.correctable", format!("{levels}\necc.correctable = 100")),
        ("ecc.retry_pipelined", format!("{levels}\necc.retry_pipelined = true\necc.retry_holds = false")),
        ("ecc.retry_set", format!("{model}\necc.retry_set = \"1us\"")),
        ("ecc.retry_read", format!("{levels}\necc.retry_read = \"7200s\"")),
        ("ecc.retry_read", format!("{model}\necc.retry_read = \"1us\"")),
        ("ecc.retry_holds", format!("{model}\necc.retry_holds = false")),
        ("ecc.refresh", format!("{model}\necc.refresh = 100")),
        ("ecc.initial_age", format!("{levels}\necc.initial_age = \"1s\"")),
        ("ecc.age_factor", "ecc.age_factor = 2\necc.retention = 0.1".to_string()),
        ("raid.layout", format!("{levels}\nraid = {{ layout = \"lci\", group = 4 }}")),
        ("noc.model", format!("{levels}\nnoc.model = \"formula\"")),
        ("schemes.route", format!("{levels}\nschemes.route = {{ dpr = {{ k = 1, replica_pages = 0.02 }} }}")),
        ("wear.programming", format!("{levels}\ngeometry.pages_per_block = 66\nwear.programming = \"one-shot\"")),
    ] {
        assert_eq!(config(&toml).check().unwrap_err().key, key, "{toml}");
    }
    config(&format!("{levels}\necc.correctable = 260")).check().unwrap();
    // The last level is what thresholds of copybacks are derived from.
    let derived = |more: &str| {
        let ssd = Ssd::new(&config(more), 1, Check::Off).unwrap();
        (0..60).map(|hundreds| ssd.wear().threshold_at(100 * hundreds)).collect::<Vec<u8>>()
    };
    let thresholds = "schemes.path = \"fastgc\"\nwear.copyback_thresholds = \"model\"";
    assert_eq!(derived(&format!("{thresholds}\n{levels}")), derived(&format!("{thresholds}\necc.correctable = 260")));
    assert_ne!(derived(&format!("{thresholds}\n{levels}")), derived(thresholds));
}

/// The mean number of retries is the sum over levels of the share of pages in it.
#[test]
fn the_mean_of_retries_follows_from_the_spread_of_errors() {
    // From 100 to 200 errors per KiB, uniformly: a fifth has up to 120, without retries; the others have two.
    let mut config = die(150 * 1024, "precondition.mode = \"sequential\"");
    config.ecc.spread = Ppm(333_333);
    config.geometry.blocks_per_plane = 1600;
    let mut ssd = Ssd::new(&config, 3, Check::Off).unwrap();
    let pages = ssd.capacity_bytes() / PAGE;
    for page in 0..pages {
        let request = ssdlab_sim::Request {
            arrival: Nanos(page),
            op: ssdlab_sim::RequestOp::Read,
            offset: page * PAGE,
            bytes: PAGE,
        };
        if !ssd.accepts() {
            ssd.run_until_room();
        }
        ssd.submit(request);
    }
    ssd.run();
    let retries = summary(&ssd).ecc.unwrap().retries.unwrap().host;
    let (mean, expected) = (retries.steps as f64 / retries.reads as f64, 2.0 * 0.8);
    assert_eq!(retries.reads, pages);
    assert!((mean / expected - 1.0).abs() < 0.005, "{mean} retries a read of {pages}, expected {expected}");
}

/// Moves through the controller are read again; copybacks are not, and their errors travel.
#[test]
fn moves_are_read_again() {
    let run = |path: &str, more: &str| {
        let toml = format!(
            "geometry.blocks_per_plane = 12\ngeometry.pages_per_block = 4\ndevice.over_provisioning = 0.4
            gc.threshold = \"5 pages\"\nschemes.path = \"{path}\"\n{more}"
        );
        let mut config = per_kib(150, "");
        let other: Config = toml.parse().unwrap();
        (config.geometry.blocks_per_plane, config.geometry.pages_per_block) = (12, 4);
        (config.device.over_provisioning, config.gc.threshold) = (other.device.over_provisioning, other.gc.threshold);
        (config.schemes.path, config.ecc.retry_pipelined) = (other.schemes.path, other.ecc.retry_pipelined);
        let mut dut = Dut::new(&config);
        for i in 0..200 {
            dut.write(i * 10_000_000, (i * i + i / 5) % 28 * PAGE, PAGE);
        }
        dut.ssd.run();
        let summary = summary(&dut.ssd);
        assert!(summary.gc.moved_pages > 20, "{path}");
        (summary.gc.moved_pages, summary.ecc.unwrap().retries.unwrap().gc, summary.gc.time_ns)
    };
    let (moved, gc, time) = run("external", "");
    assert_eq!((gc.reads, gc.steps, gc.time_ns), (moved, 2 * moved, u128::from(moved * 130_240)));
    assert_eq!((time.read, time.decode), (moved * 150_000, moved * 30_000));
    assert_eq!(time.transfer, moved * 4 * 5_120);
    let (piped, gc, time) = run("external", "ecc = { errors = \"model\", retry_pipelined = true }");
    assert_eq!((piped, gc.steps, time.read, time.decode), (moved, 2 * moved, moved * 150_000, moved * 10_000));
    assert_eq!(time.transfer, moved * 4 * 5_120, "the same data");
    assert_eq!(run("copyback", "").1.reads, 0);
}

/// A random way to repeat reads.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    levels: Vec<(u32, u32, u64)>,
    times: (Option<u64>, Option<u64>),
    kind: u8,
    refresh: Option<u32>,
    errors: u32,
    spread: u32,
    disturb: u32,
    aging: (u32, u64, u32),
}

pub(crate) fn ways() -> impl Strategy<Value = Way> {
    let levels = prop::collection::vec((1u32..60, 0u32..3, 0u64..30_000), 1..5);
    let times = (prop::option::of(0u64..3_000), prop::option::of(0u64..90_000));
    let aging = (0u32..1_000_000, 0u64..10 * 86_400, prop::sample::select(vec![1u32, 86_400, 1_000_000]));
    let refresh = prop::option::of(10u32..150);
    (
        levels,
        times,
        0u8..3,
        refresh,
        0u32..200,
        0u32..900_000,
        prop::sample::select(vec![0u32, 500_000, 5_000_000]),
        aging,
    )
        .prop_map(|(levels, times, kind, refresh, errors, spread, disturb, aging)| Way {
            levels,
            times,
            kind,
            refresh,
            errors,
            spread,
            disturb,
            aging,
        })
}

impl Way {
    pub(crate) fn set(&self, config: &mut Config) {
        let ecc = &mut config.ecc;
        let (mut errors, mut retries) = (0, 0);
        ecc.levels.clear();
        for (more, again, decode) in &self.levels {
            (errors, retries) = (errors + more, retries + again);
            ecc.levels.push(EccLevel { errors, retries, decode: Nanos(*decode) });
        }
        (ecc.errors, ecc.decode, ecc.correctable) = (Errors::Model, Nanos::ZERO, errors);
        (ecc.page_error_probability, ecc.bit_error_rate) = (None, None);
        (ecc.retry_set, ecc.retry_read) = (self.times.0.map(Nanos), self.times.1.map(Nanos));
        (ecc.retry_holds, ecc.retry_pipelined) = (self.kind > 0, self.kind > 1);
        (ecc.refresh, ecc.spread, ecc.read_disturb) = (self.refresh, Ppm(self.spread), self.disturb);
        ecc.program_errors = vec![(0, self.errors * 1024)];
        ecc.retention = Ppm(self.aging.0.max(1));
        (ecc.initial_age, ecc.age_factor) = (Nanos(self.aging.1 * 1_000_000_000), self.aging.2);
    }
}

proptest! {
    #![proptest_config(crate::common::many_worlds(10_000))]

    /// Random devices with levels under the full oracle, with power cuts: nothing is lost, causes add up to latencies, and shortcuts
    /// and observers change nothing.
    #[test]
    fn worlds_with_levels_lose_nothing(
        toml in crate::worlds::device(),
        way in ways(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
        register in any::<bool>(),
        handles in 1u32..3,
    ) {
        let mut config = crate::worlds::plain(&toml);
        way.set(&mut config);
        config.schemes.route = Config::default().schemes.route;
        config.wear.programming = Config::default().wear.programming;
        config.timing.cache_register |= register;
        if handles > 1 {
            config.fdp.handles = handles;
            config.geometry.blocks_per_plane += 6;
        }
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                crate::worlds::submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        let ecc = one.0.ecc.as_ref().unwrap();
        let retries = ecc.retries.as_ref().unwrap();
        // A wish of the warm-up may be done later.
        let whole = config.faults.power_cut.is_empty() && config.run.warmup.is_none();
        if let (Some(refresh), true) = (&ecc.refresh, whole) {
            prop_assert_eq!(refresh.queued, refresh.done + refresh.dropped);
            prop_assert_eq!(one.0.flash.programs.refresh, refresh.done);
            prop_assert_eq!(retries.refresh.reads, one.0.flash.reads.refresh);
        }
        for of in [&retries.host, &retries.gc, &retries.refresh] {
            // Every page has the retries of a level.
            let known = |steps: usize| config.ecc.levels.iter().any(|level| level.retries as usize == steps);
            prop_assert!(of.histogram.iter().enumerate().all(|(steps, reads)| *reads == 0 || known(steps)));
        }
        for fusing in [true, false] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(Check::Off, fusing)));
        }
    }

    /// A level that costs nothing changes no result where pages have no errors.
    #[test]
    fn a_level_that_costs_nothing_changes_nothing(
        toml in crate::worlds::device(),
        requests in crate::worlds::requests(),
        holds in any::<bool>(),
        register in any::<bool>(),
    ) {
        let mut config = crate::worlds::plain(&toml);
        config.schemes.route = Config::default().schemes.route;
        config.wear.programming = Config::default().wear.programming;
        config.timing.cache_register |= register;
        config.ecc = Config::default().ecc;
        (config.ecc.errors, config.ecc.program_errors, config.ecc.read_disturb) = (Errors::Model, vec![(0, 0)], 0);
        let mut with = config.clone();
        with.ecc.levels = vec![EccLevel { errors: 120, retries: 0, decode: Nanos::ZERO }];
        with.ecc.retry_holds = holds;
        if config.check().is_err() || with.check().is_err() {
            return Ok(());
        }
        let run = |config: &Config| {
            let mut ssd = Ssd::new(config, 7, Check::Full).unwrap();
            ssd.collect_slowest(requests.len());
            crate::worlds::submit_all(&mut ssd, &requests);
            ssd.run();
            let mut summary = ssd.summary(7, String::new(), String::new());
            summary.ecc.as_mut().unwrap().retries = None;
            summary.config = Config::default();
            let mut slowest: Vec<_> = ssd.slowest().unwrap().into_iter().flat_map(|slowest| slowest.requests().cloned()).collect();
            slowest.sort_by_key(|request| request.request);
            let breakdown = &mut summary.breakdown_ns;
            [&mut breakdown.read, &mut breakdown.write, &mut breakdown.all].into_iter().for_each(|of| of.1.clear());
            format!("{summary:?} {slowest:?}")
        };
        prop_assert_eq!(run(&config), run(&with));
    }
}
