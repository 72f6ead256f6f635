//! Mapping units: the worked examples of the model to the nanosecond, what is refused, and random small devices.

use crate::cache::{latencies, submit_all};
use crate::common::{Dut, array, config, many_worlds, plane, product, summary};
use proptest::prelude::*;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_sim::{Check, Config, Ssd};

const UNIT: u64 = 4096;
const SMALL: &str = "geometry.page_size = \"16KiB\"\ndevice.mapping_unit = \"4KiB\"\ndevice.queue_depth = 1024\ncache.size = \"256KiB\"\ncache.time = \"1us\"\n";

/// 16 KiB pages of four units, and a cache of 64 lines.
fn of_units(planes: (u32, u32, u32, u32), more: &str) -> Config {
    config(&format!("{}{SMALL}{more}", array(planes.0, planes.1, planes.2, planes.3)))
}

const ONE: (u32, u32, u32, u32) = (1, 1, 1, 1);

fn write_units(dut: &mut Dut, at: u64, units: impl IntoIterator<Item = u64>) {
    units.into_iter().for_each(|unit| dut.write(at, unit * UNIT, UNIT));
}

/// Programs that have begun by a time, in flash pages.
fn programs_at(dut: &mut Dut, at: u64) -> u64 {
    dut.ssd.run_until(Nanos(at));
    summary(&dut.ssd).flash.programs.cache
}

fn padding(summary: &Summary) -> (u64, u64) {
    let units = summary.units.as_ref().unwrap();
    (units.padding.cache, units.padding.gc)
}

#[test]
fn units_of_different_pages_share_a_program() {
    let mut dut = Dut::new(&of_units(ONE, ""));
    write_units(&mut dut, 0, [0, 4, 8, 12]);
    dut.flush(2_000);
    assert_eq!(latencies(&dut.completed()), [1_000, 1_000, 1_000, 1_000, 619_480]);
    let one = summary(&dut.ssd);
    assert_eq!((one.flash.programs.cache, one.flash.programs.total, padding(&one)), (1, 1, (0, 0)));
    assert_eq!((one.write_amplification, one.write_amplification_bytes), (Some(1.0), Some(1.0)));
}

#[test]
fn a_flush_pads() {
    let mut dut = Dut::new(&of_units(ONE, ""));
    write_units(&mut dut, 0, [0, 1]);
    dut.flush(10_000);
    assert_eq!(latencies(&dut.completed())[2], 620_480);
    let one = summary(&dut.ssd);
    assert_eq!((padding(&one), one.write_amplification), ((2, 0), Some(2.0)));
    assert_eq!(one.units.unwrap().padded_programs.flush, 1);
}

#[test]
fn units_are_absorbed_before_they_are_programmed() {
    let mut dut = Dut::new(&of_units(ONE, ""));
    write_units(&mut dut, 0, [0, 1, 2]);
    write_units(&mut dut, 5_000, [1]);
    write_units(&mut dut, 10_000, [3]);
    dut.flush(12_000);
    assert_eq!(latencies(&dut.completed())[5], 631_480 - 12_000);
    let one = summary(&dut.ssd);
    assert_eq!((one.cache.unwrap().absorbed, one.flash.programs.total), (1, 1));
}

#[test]
fn a_trimmed_unit_leaves_padding() {
    let mut dut = Dut::new(&of_units(ONE, ""));
    write_units(&mut dut, 0, 0..4);
    write_units(&mut dut, 1_000, 4..8);
    dut.trim(100_000, 5 * UNIT, UNIT);
    dut.flush(200_000);
    assert_eq!(latencies(&dut.completed())[8], 1_241_960 - 200_000);
    let one = summary(&dut.ssd);
    assert_eq!((padding(&one), one.flash.programs.total), ((1, 0), 2));
    let units = one.units.unwrap();
    assert_eq!((units.padded_programs.trim, units.programmed.cache), (1, 7));
}

#[test]
fn reads_of_a_super_page_share_its_array_time() {
    let filled = "precondition.mode = \"sequential\"\n";
    let mut dut = Dut::new(&of_units(ONE, filled));
    let reads = [(0, UNIT), (0, 2 * UNIT), (0, 4 * UNIT), (0, 512), (2 * UNIT, 4 * UNIT)];
    (1u64..).zip(reads).for_each(|(i, (offset, bytes))| dut.read(i * 1_000_000, offset, bytes));
    assert_eq!(dut.latencies(), [55_120, 60_240, 70_480, 50_640, 120_480]);
    assert_eq!(summary(&dut.ssd).flash.reads.host, 6, "flash pages");
    // Pages on two channels.
    let mut dut = Dut::new(&of_units((2, 1, 1, 1), filled));
    dut.read(0, 2 * UNIT, 4 * UNIT);
    assert_eq!(dut.latencies(), [60_240]);
}

#[test]
fn a_unit_that_lies_elsewhere_is_read_by_itself() {
    let mut dut = Dut::new(&of_units(ONE, "precondition.mode = \"sequential\"\ncache.read = \"none\""));
    write_units(&mut dut, 0, [0, 40, 80, 120]);
    dut.read(2_000_000, 0, 4 * UNIT);
    assert_eq!(latencies(&dut.completed())[4], 120_480);
    assert_eq!(summary(&dut.ssd).flash.reads.host, 2);
}

#[test]
fn a_read_of_an_unwritten_unit_puts_its_run_on_flash() {
    let mut dut = Dut::new(&of_units(ONE, ""));
    dut.read(0, 5 * UNIT, UNIT);
    dut.read(1_000_000, 4 * UNIT, 4 * UNIT);
    assert_eq!(dut.latencies(), [55_120, 70_480]);
    assert_eq!(summary(&dut.ssd).pages.preloaded, 4);
}

#[test]
fn what_a_line_lacks_is_read_before_its_program() {
    let mut dut = Dut::new(&of_units(ONE, "precondition.mode = \"sequential\""));
    dut.write(0, 0, 512);
    dut.flush(2_000);
    assert_eq!(latencies(&dut.completed())[1], 675_600);
    let one = summary(&dut.ssd);
    assert_eq!((one.flash.reads.cache, one.write_amplification_bytes), (1, Some(32.0)));
}

#[test]
fn a_program_takes_the_pages_of_a_word_line() {
    let line = "geometry.pages_per_block = 96\ngeometry.pages_per_program = 3\n";
    let mut dut = Dut::new(&of_units(ONE, line));
    write_units(&mut dut, 0, 0..12);
    dut.completed();
    assert_eq!(dut.ssd.now(), Nanos(662_440));
    assert_eq!(summary(&dut.ssd).flash.programs.total, 3);
    let mut dut = Dut::new(&of_units(ONE, line));
    write_units(&mut dut, 0, 0..5);
    dut.flush(100_000);
    assert_eq!(latencies(&dut.completed())[5], 661_440);
    assert_eq!(padding(&summary(&dut.ssd)), (7, 0));
}

#[test]
fn a_program_takes_planes_together() {
    let pair = "geometry.planes_per_program = 2\n";
    let mut dut = Dut::new(&of_units((1, 1, 1, 2), pair));
    write_units(&mut dut, 0, 0..8);
    dut.completed();
    assert_eq!(dut.ssd.now(), Nanos(1_000 + 640_960));
    assert_eq!(summary(&dut.ssd).flash.multi_plane.programs, 1);
    let mut dut = Dut::new(&of_units((1, 1, 1, 2), &format!("{pair}precondition.mode = \"sequential\"")));
    dut.read(0, 0, 8 * UNIT);
    assert_eq!(dut.latencies(), [90_960]);
    let lines = "geometry.pages_per_block = 96\ngeometry.pages_per_program = 3\n";
    let mut dut = Dut::new(&of_units((1, 1, 1, 2), &format!("{pair}{lines}")));
    write_units(&mut dut, 0, 0..24);
    dut.completed();
    assert_eq!(dut.ssd.now(), Nanos(723_880));
}

#[test]
fn groups_take_turns_where_places_do_not_depend_on_numbers() {
    let mut dut = Dut::new(&of_units((1, 1, 2, 1), "schemes.place = \"round-robin\""));
    write_units(&mut dut, 0, 0..8);
    dut.read(630_000, 0, UNIT);
    assert_eq!(programs_at(&mut dut, 1_000), 2);
    dut.completed();
    assert_eq!(dut.ssd.now(), Nanos(641_960));
}

#[test]
fn units_of_different_homes_do_not_share_a_program() {
    let mut dut = Dut::new(&of_units((2, 1, 1, 1), ""));
    write_units(&mut dut, 0, [0, 1, 4, 5]);
    dut.flush(1_000_000);
    assert_eq!((programs_at(&mut dut, 999_999), programs_at(&mut dut, 1_000_000)), (0, 2));
    assert_eq!(latencies(&dut.completed())[4], 620_480);
    assert_eq!(padding(&summary(&dut.ssd)), (4, 0));
}

/// A plane of eight blocks of four pages. The programs of 25 pages leave five valid units in its first block: one, one, none and
/// three in its pages. Then it is collected.
fn collected(remainder: &str) -> Dut {
    let more = format!("{SMALL}cache.read = \"none\"\ngc.remainder = \"{remainder}\"");
    let more = more.replace("device.queue_depth = 1024\n", "");
    let mut dut = Dut::new(&plane(4, 12, 8, &more));
    let order = (0..48u64)
        .chain([0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20])
        .chain(21..26)
        .chain(32..42)
        .chain([0])
        .chain([1, 2, 4, 5, 6, 8, 9, 10, 11, 21, 22, 23, 24, 25, 32, 33])
        .chain([1, 2, 4, 5]);
    let units: Vec<u64> = order.collect();
    assert_eq!(units.len(), 100);
    (0..).zip(units.chunks(4)).for_each(|(i, four)| write_units(&mut dut, i * 1_000_000, four.iter().copied()));
    // In the controller, if it is kept there.
    dut.read(60_000_000, 15 * UNIT, UNIT);
    dut
}

#[test]
fn moved_units_that_fill_no_program_are_kept() {
    let mut dut = collected("keep");
    let done = dut.completed();
    assert_eq!((done[100].completion - done[100].arrival).0, 1_000);
    let one = summary(&dut.ssd);
    let (gc, units) = (&one.gc, one.units.as_ref().unwrap());
    assert_eq!((gc.collections, gc.moved_pages, units.programmed.gc, units.hand_max), (1, 5, 4, 5));
    let time = &gc.time_ns;
    assert_eq!(time.read + time.transfer + time.program + time.erase, 4_296_080);
    assert_eq!((one.flash.reads.gc, one.flash.programs.gc, padding(&one)), (3, 1, (0, 0)));
}

#[test]
fn moved_units_that_fill_no_program_are_padded() {
    let mut dut = collected("pad");
    let done = dut.completed();
    assert_eq!((done[100].completion - done[100].arrival).0, 55_120);
    let one = summary(&dut.ssd);
    let time = &one.gc.time_ns;
    assert_eq!(time.read + time.transfer + time.program + time.erase, 4_916_560);
    assert_eq!((one.flash.programs.gc, padding(&one), one.units.unwrap().programmed.gc), (2, (0, 3), 5));
}

#[test]
fn a_power_cut_loses_units_by_the_program() {
    let cut = |units: u64, more: &str| {
        let mut dut = Dut::to_be_cut(&of_units(ONE, more));
        write_units(&mut dut, 0, 0..units);
        dut.ssd.run_until(Nanos(500_000));
        dut.ssd.power_cut()
    };
    let bare = "device.power_loss_protection = false\ngc.reserve = 2";
    let (alone, four) = (cut(1, bare), cut(4, bare));
    assert_eq!((alone.lost_pages, alone.torn_pages), (1, 0));
    assert_eq!((four.lost_pages, four.torn_pages), (4, 1));
    for units in [1, 4] {
        let safe = cut(units, "");
        assert_eq!((safe.lost_pages, safe.torn_pages, safe.kept_pages), (0, 0, units));
    }
}

#[test]
fn rules_name_what_units_lack() {
    let small = |more: &str| format!("geometry.page_size = \"16KiB\"\ndevice.mapping_unit = \"4KiB\"\n{more}");
    let cached = |more: &str| small(&format!("cache.size = \"64MiB\"\n{more}"));
    for (toml, key) in [
        (small(""), "cache.size"),
        (cached("cache.write = \"through\""), "cache.write"),
        (cached("cache.order = \"stripe\""), "cache.order"),
        (cached("device.multi_plane = true"), "device.multi_plane"),
        (cached("schemes.path = \"copyback\""), "schemes.path"),
        (cached("schemes.path = \"checked\""), "schemes.path"),
        (cached("schemes.collector = \"pagc\""), "schemes.collector"),
        (cached("schemes.place = \"dynamic\"\ngc.destination = \"any\""), "gc.destination"),
        (cached("wear.programming = \"one-shot\""), "wear.programming"),
        (cached("raid = { layout = \"lci\", group = 4 }"), "raid.layout"),
        (
            cached(
                "gc.remainder = \"keep\"\ndevice.power_loss_protection = false\nfaults.power_cut = [\"1ms\"]\ngc.reserve = 2",
            ),
            "gc.remainder",
        ),
        (cached("gc.remainder = \"pad\"\ndevice.over_provisioning = 0.02"), "gc.remainder"),
        (cached("geometry.pages_per_program = 2\ntiming.program = [\"1ms\", \"2ms\"]"), "timing.program"),
        (cached("geometry.pages_per_program = 4\ntiming.read = [\"50us\", \"60us\"]"), "timing.read"),
        (cached("geometry.pages_per_program = 3"), "geometry.pages_per_program"),
        (cached("geometry.pages_per_program = 0"), "geometry.pages_per_program"),
        (cached("geometry.planes_per_program = 4"), "geometry.planes_per_program"),
        (cached("cache.pack = \"any\"\ncache.hold = \"1ms\""), "cache.hold"),
        (small("cache.size = \"256KiB\""), "cache.size"),
        (cached("cache.plp_budget = 300"), "cache.plp_budget"),
        ("device.mapping_unit = \"1536B\"".to_string(), "device.mapping_unit"),
        ("device.mapping_unit = \"8KiB\"".to_string(), "device.mapping_unit"),
        ("device.mapping_unit = \"super-page\"\ngeometry.planes_per_program = 2".to_string(), "device.mapping_unit"),
        ("cache = { size = \"1MiB\", pack = \"any\" }".to_string(), "cache.pack"),
        ("gc.remainder = \"pad\"".to_string(), "gc.remainder"),
    ] {
        let refusal = config(&toml).check().expect_err(&toml);
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(!refusal.help.is_empty());
    }
    config(&cached("")).check().unwrap();
    config(&cached("cache.plp_budget = 400")).check().unwrap();
}

/// A unit that is a page changes nothing.
#[test]
fn a_unit_of_a_page_is_a_page() {
    let run = |unit: &str| {
        let toml = format!("{}{}\nprecondition.mode = \"random\"\ncache.size = \"64KiB\"", array(1, 2, 1, 2), unit);
        let mut ssd = Ssd::new(&config(&toml), 7, Check::Full).unwrap();
        let requests: Vec<(u64, u8, u32, u32)> = (0..400u32)
            .map(|i| (u64::from(i * 7919 % 90_000), (i % 19) as u8, i * 48_271 % 1_000_000, i * 16_807 % 1_000_000))
            .collect();
        submit_all(&mut ssd, &requests);
        ssd.run();
        let mut one = summary(&ssd);
        one.config = Config::default();
        format!("{one:?}")
    };
    assert_eq!(run(""), run("device.mapping_unit = \"4KiB\""));
}

/// A random small device whose programs have several units.
pub(crate) fn small_device() -> impl Strategy<Value = String> {
    let array = (1u32..3, 1u32..3, prop::sample::select(vec![(1u32, 1u32), (2, 1), (2, 2), (4, 2), (4, 4)]));
    let program =
        (prop::sample::select(vec![1u64, 2, 4, 8]), prop::sample::select(vec![1u32, 2, 3]), 1u32..5, 8u32..16);
    let place = prop::sample::select(vec!["CWDP", "PDWC", "round-robin", "dynamic"]);
    let gc = (
        prop::sample::select(vec!["serial", "queued", "preemptive"]),
        prop::sample::select(vec!["greedy", "fifo", "random", "cost-benefit", "greedy"]),
        prop::sample::select(vec!["plane", "plane", "chip", "device"]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let cache = (
        prop::sample::select(vec!["eager", "watermark", "idle"]),
        prop::sample::select(vec!["full", "any"]),
        prop::sample::select(vec!["written", "all", "none"]),
        prop::option::of(1u64..2_000_000),
        0u32..40,
    );
    let more = (
        prop::sample::select(vec![
            "",
            "order.die_queue = \"read-first\"",
            "timing.command = \"200ns\"",
            "timing.cache_register = true",
            "timing = { suspendable = \"program+erase\", suspend = \"5us\", resume = \"3us\" }",
            "timing.host_link = \"1GB/s\"",
            "ecc.decode = \"4us\"",
            "gc.time = \"none\"",
            "schemes.order = \"piq\"\norder.chip_queue = 2",
            "timing.variation.block = 0.1",
            "device.partial_write = \"whole-page\"",
            "device.unwritten_read = \"zero_cost\"",
            "ftl.wear_levelling = \"static\"\nftl.wear_spread = 2",
        ]),
        prop::sample::select(vec!["none", "sequential", "random"]),
        prop::sample::select(vec!["1 blocks", "2 blocks", "5 pages"]),
    );
    (array, program, place, gc, cache, more).prop_map(|(array, program, place, gc, cache, more)| {
        let ((channels, chips, (planes, together)), (k, lines, words, blocks)) = (array, program);
        let ((collector, victim, scope, shared, protected, pads), (writeback, pack, read, hold, extra)) = (gc, cache);
        let per_program = k as u32 * together * lines;
        let homes = if place.len() == 4 { channels * chips * planes / together } else { 1 };
        let least = if pack == "full" { homes * (per_program - 1) + 1 } else { 1 };
        let hold = match hold {
            Some(hold) if writeback != "eager" || pack == "full" => format!("cache.hold = \"{hold}ns\"\n"),
            _ => String::new(),
        };
        format!(
            "geometry = {{ channels = {channels}, chips_per_channel = {chips}, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = {blocks}, pages_per_block = {pages}, page_size = \"{page}B\", pages_per_program = {lines}, planes_per_program = {together} }}
            device = {{ mapping_unit = \"4KiB\", queue_depth = 32, over_provisioning = 0.45, power_loss_protection = {protected} }}
            gc = {{ threshold = \"{threshold}\", scope = \"{scope}\", remainder = \"{remainder}\", reserve = {reserve} }}
            ftl.write_points = \"{points}\"
            precondition.mode = \"{fill}\"
            schemes = {{ place = \"{place}\", collector = \"{collector}\", victim = \"{victim}\" }}
            cache = {{ size = \"{size}B\", writeback = \"{writeback}\", pack = \"{pack}\", read = \"{read}\", time = \"1us\" }}
            {hold}{key}",
            pages = lines * words,
            page = k * UNIT,
            threshold = more.2,
            remainder = if pads || !protected { "pad" } else { "keep" },
            reserve = if protected { 1 } else { 2 },
            points = if shared { "shared" } else { "separate" },
            fill = more.1,
            size = u64::from(least + extra) * UNIT,
            key = more.0,
        )
    })
}

/// TOML with some of its keys in tables and some as paths.
fn parsed(toml: &str) -> Option<Config> {
    parsed_with(toml, |_| {})
}

/// The same, changed before it is checked.
pub(crate) fn parsed_with(toml: &str, change: impl FnOnce(&mut Config)) -> Option<Config> {
    // A table that is written inline cannot be added to, so other keys of its section go into it.
    let mut lines: Vec<String> = toml.lines().map(|line| line.trim().to_string()).collect();
    let more: Vec<String> = lines.split_off(lines.iter().position(|line| line.starts_with("cache = ")).unwrap() + 1);
    for line in more.iter().filter(|line| !line.is_empty()) {
        let (section, rest) = line.split_once('.').unwrap_or((line, ""));
        match lines.iter_mut().find(|own| own.starts_with(&format!("{section} = {{"))) {
            Some(own) if !rest.is_empty() => *own = own.replace(" }", &format!(", {rest} }}")),
            _ => lines.push(line.clone()),
        }
    }
    let mut config: Config = lines.join("\n").parse().unwrap_or_else(|error| panic!("{error}\n{}", lines.join("\n")));
    change(&mut config);
    config.check().is_ok().then_some(config)
}

pub(crate) fn check_counts(config: &Config, one: &Summary) {
    if let (Some(product), Some(all)) = (product(one), one.write_amplification_bytes) {
        assert!((product / all - 1.0).abs() < 1e-12, "{product} is not {all}");
    }
    let (units, of) = (one.units.as_ref().unwrap(), config.units());
    let per_page = u64::from(of.per_page);
    assert_eq!(units.programmed.cache + units.padding.cache, per_page * one.flash.programs.cache);
    let cache = one.cache.as_ref().unwrap();
    if config.faults.power_cut.is_empty() && config.run.warmup.is_none() {
        assert_eq!(units.programmed.cache, one.pages.written - cache.absorbed - cache.trimmed);
    }
    if config.gc.time == ssdlab_sim::config::GcTime::Real {
        assert_eq!(units.programmed.gc + units.padding.gc, per_page * one.flash.programs.gc);
        assert!(one.gc.moved_pages >= units.programmed.gc, "{} {:?}", one.gc.moved_pages, units);
    }
    // A collection that a power cut interrupts may have begun to erase.
    let erases = one.gc.collections * u64::from(of.planes);
    assert!(one.flash.erases == erases || one.flash.erases > erases && !config.faults.power_cut.is_empty());
}

proptest! {
    #![proptest_config(many_worlds(10_000))]

    /// Random devices under the full oracle: nothing is lost, what is counted adds up, and shortcuts change no byte.
    #[test]
    fn worlds_of_units_lose_nothing(toml in small_device(), requests in crate::worlds::requests()) {
        let Some(config) = parsed(&toml) else { return Ok(()) };
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        check_counts(&config, &one.0);
        for (check, fusing) in [(Check::Off, true), (Check::Sampled, true), (Check::Off, false)] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, fusing)));
        }
    }

    /// Power cuts lose no flushed unit (the oracle panics), and none where a capacitor keeps the controller's memory.
    #[test]
    fn flushed_units_survive_power_cuts(toml in small_device(), requests in crate::worlds::requests(), cuts in prop::collection::vec(0u64..60_000_000, 1..5)) {
        let Some(mut config) = parsed(&toml) else { return Ok(()) };
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if config.check().is_err() {
            return Ok(());
        }
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
        submit_all(&mut ssd, &requests);
        ssd.run();
        let one = summary(&ssd);
        check_counts(&config, &one);
        for cut in one.power_cuts {
            prop_assert!(cut.lost_pages == 0 || !config.device.power_loss_protection, "{:?}", cut);
        }
    }
}

/// Bytes of a unit are those of a line.
#[test]
fn a_line_holds_a_unit() {
    assert_eq!(of_units(ONE, "").cache_lines(), 64);
    let mut config = of_units(ONE, "");
    config.cache.size = Bytes(2048);
    assert_eq!(config.check().unwrap_err().key, "cache.size");
}
