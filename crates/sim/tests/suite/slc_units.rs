//! A cache of SLC where programs have several units: it programs a page of each plane at a time, and other blocks may program word
//! lines. Units that are folded wait in the controller for a program, like those that GC moves.

use crate::cache::latencies;
use crate::common::{Dut, array, config, many_worlds, summary};
use crate::units::{parsed_with, small_device};
use proptest::prelude::*;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config};

const UNIT: u64 = 4096;
/// A page of four units: in the cache, read to be folded, and as a part of a program of three.
const SLC: u64 = 20_480 + 200_000;
const READ: u64 = 25_000 + 20_480;
const NATIVE: u64 = 20_480 + 600_000;
const WORD_LINE: u64 = 3 * 20_480 + 600_000;
const ERASE: u64 = 3_500_000;

/// One die, blocks of 12 pages of four units, of which the cache has four of each plane.
fn small(lines: u32, slc: &str, more: &str) -> Config {
    let array = array(1, 1, 1, 1);
    let geometry = "geometry.pages_per_block = 12\ngeometry.page_size = \"16KiB\"\ngeometry.blocks_per_plane = 20";
    config(&format!(
        "{array}{geometry}
        geometry.pages_per_program = {lines}
        device = {{ mapping_unit = \"4KiB\", queue_depth = 1024, over_provisioning = 0.6, power_loss_protection = true }}
        gc.threshold = \"24 pages\"
        cache = {{ size = \"1MiB\", time = \"1us\" }}
        slc = {{ mode = \"static\", fold = \"idle\", idle = \"1h\", {slc} }}
        {more}"
    ))
}

/// Latency of a flush at 2,000 ns behind so many units that are written at 0, and the summary.
fn flushed(config: &Config, units: u64) -> (u64, Summary) {
    let mut dut = Dut::new(config);
    (0..units).for_each(|unit| dut.write(0, unit * UNIT, UNIT));
    dut.flush(2_000);
    let ends = latencies(&dut.completed());
    (*ends.last().unwrap(), summary(&dut.ssd))
}

#[test]
fn a_page_of_the_cache_is_a_program() {
    for lines in [1, 3] {
        let (end, one) = flushed(&small(lines, "", ""), 4);
        assert_eq!(end, SLC - 1_000);
        let (units, slc) = (one.units.unwrap(), one.slc.unwrap());
        assert_eq!((units.padding.cache, slc.host_pages, one.flash.programs.cache), (0, 4, 1));
        // Five units are two pages, whatever a word line has.
        let (end, one) = flushed(&small(lines, "", ""), 5);
        assert_eq!(end, 2 * SLC - 1_000);
        let (units, slc) = (one.units.unwrap(), one.slc.unwrap());
        assert_eq!((units.padding.cache, units.padded_programs.flush), (3, 1));
        assert_eq!((slc.host_pages, one.flash.programs.cache), (5, 2));
    }
}

#[test]
fn what_finds_no_page_fills_word_lines() {
    let (end, one) = flushed(&small(3, "", ""), 64 + 12);
    assert_eq!(end, 16 * SLC + WORD_LINE - 1_000);
    let (units, slc) = (one.units.unwrap(), one.slc.unwrap());
    assert_eq!((units.padding.cache, slc.host_pages, slc.direct_pages), (0, 64, 12));
    assert_eq!(one.flash.programs.cache, 16 + 3);
    let (end, one) = flushed(&small(1, "", ""), 64 + 4);
    assert_eq!(end, 16 * SLC + NATIVE - 1_000);
    assert_eq!((one.slc.unwrap().direct_pages, one.units.unwrap().padding.cache), (4, 0));
}

#[test]
fn folded_units_wait_for_a_program() {
    let fold = "full = \"fold\"";
    // Four pages are read. Three fill a word line; the units of the fourth stay for the next fold.
    let (end, one) = flushed(&small(3, fold, "gc.remainder = \"keep\""), 64 + 4);
    assert_eq!(end, 16 * SLC + 4 * READ + WORD_LINE + ERASE + SLC - 1_000);
    // An hour later the other blocks are folded, too: 68 units in all, of which eight fill no word line.
    let (units, slc) = (one.units.unwrap(), one.slc.unwrap());
    assert_eq!((slc.folds.forced, slc.folds.idle, slc.folded_pages, slc.dropped_stale), (1, 4, 68, 0));
    assert_eq!((units.programmed.fold, units.padding.fold, one.flash.programs.fold), (60, 0, 15));
    assert_eq!((one.flash.reads.fold, one.gc.moved_pages), (17, 0));
    // With padding, they are programmed with the rest of their block.
    let (end, one) = flushed(&small(3, fold, "gc.remainder = \"pad\""), 64 + 4);
    assert_eq!(end, 16 * SLC + 4 * READ + 2 * WORD_LINE + ERASE + SLC - 1_000);
    let units = one.units.unwrap();
    assert_eq!((units.programmed.fold, units.padding.fold), (68, 4 * 8 + 8));
    // Programs of a page keep none.
    let (end, one) = flushed(&small(1, fold, ""), 64 + 4);
    assert_eq!(end, 16 * SLC + 4 * (READ + NATIVE) + ERASE + SLC - 1_000);
    assert_eq!(one.units.unwrap().programmed.fold, 68);
}

#[test]
fn lines_are_gathered_by_what_the_cache_takes() {
    // Requests of a unit get in, those of two do not: each kind fills programs of its own.
    let config = small(3, "accepts = \"small\", small = \"4KiB\"", "");
    let mut dut = Dut::new(&config);
    (0..4).for_each(|unit| dut.write(0, unit * UNIT, UNIT));
    (2..8).for_each(|pair| dut.write(0, pair * 2 * UNIT, 2 * UNIT));
    dut.flush(2_000);
    assert_eq!(*latencies(&dut.completed()).last().unwrap(), SLC + WORD_LINE - 1_000);
    let one = summary(&dut.ssd);
    assert_eq!((one.slc.unwrap().host_pages, one.slc.unwrap().direct_pages), (4, 12));
    let mut config = config;
    config.cache.size.0 = 22 * UNIT;
    let refused = config.check().unwrap_err();
    let message = "22 dirty lines may belong to 1 places and are for the cache of SLC or not without filling a program of 12 units: 1 x 2 x 11 + 1 = 23 are needed";
    assert_eq!((refused.key.as_str(), refused.message.as_str()), ("cache.size", message));
}

#[test]
fn what_units_and_the_cache_cannot_do_is_refused() {
    let key = |slc: &str, more: &str| small(1, slc, more).check().unwrap_err().key;
    assert_eq!(key("path = \"copyback\"", ""), "slc.path");
    assert_eq!(key("reads = 2", ""), "slc.reads");
    assert_eq!(key("", "fdp.handles = 2"), "fdp.handles");
}

/// Choices of a cache of SLC for units.
fn choices() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["direct", "fold"]),
        prop::sample::select(vec!["idle", "watermark", "both"]),
        prop::sample::select(vec!["fifo", "greedy"]),
        prop::sample::select(vec!["all", "small", "hot"]),
        (1u32..4, prop::sample::select(vec!["20us", "1ms"]), 0u32..60),
    )
        .prop_map(|(mode, full, fold, victim, accepts, (blocks, idle, share))| {
            format!(
                "slc = {{ mode = \"{mode}\", full = \"{full}\", fold = \"{fold}\", victim = \"{victim}\", accepts = \"{accepts}\", small = \"8KiB\", blocks = {blocks}, idle = \"{idle}\", share = 0.{:02}, high = 0.6, low = 0.3 }}",
                share + 15
            )
        })
}

proptest! {
    #![proptest_config(many_worlds(10_000))]

    /// Random devices under the full oracle, with and without power cuts: nothing is lost, counts add up, and shortcuts change no byte.
    #[test]
    fn worlds_of_units_with_slc_lose_nothing(
        toml in small_device(),
        slc in choices(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
    ) {
        let with_cache = |config: &mut Config| {
            let slc: Config = slc.parse().unwrap();
            config.slc = slc.slc;
            // Blocks of the cache, and pages that its bits divide.
            config.slc.bits = 2 + u32::from(config.geometry.pages_per_program == 3);
            config.geometry.pages_per_block *= config.slc.bits;
            config.geometry.blocks_per_plane += 5;
            // Lines of two kinds.
            config.cache.size.0 *= 2;
            config.faults.power_cut = cuts.iter().copied().map(Nanos).collect();
            if !config.device.power_loss_protection {
                config.gc.reserve = Some(config.reserve() + 1);
            }
        };
        let Some(config) = parsed_with(&toml, with_cache) else { return Ok(()) };
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                crate::worlds::submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        let (all, slc, units) = (&one.0, one.0.slc.unwrap(), one.0.units.clone().unwrap());
        let per_page = u64::from(config.units().per_page);
        prop_assert_eq!(slc.host_pages + slc.direct_pages, units.programmed.cache);
        prop_assert_eq!(units.programmed.cache + units.padding.cache, per_page * all.flash.programs.cache);
        prop_assert_eq!(slc.folds.idle + slc.folds.watermark + slc.folds.forced, slc.erases);
        if config.gc.time == ssdlab_sim::config::GcTime::Real {
            prop_assert_eq!(units.programmed.fold + units.padding.fold, per_page * all.flash.programs.fold);
        }
        if config.faults.power_cut.is_empty() {
            // A fold that is interrupted counts when it is repeated.
            prop_assert!(all.gc.moved_pages + slc.folded_pages >= units.programmed.gc + units.programmed.fold);
            let erases = (all.gc.collections + slc.erases) * u64::from(config.units().planes);
            prop_assert_eq!(all.flash.erases, erases);
        }
        for cut in &all.power_cuts {
            prop_assert!(cut.lost_pages == 0 || !config.device.power_loss_protection, "{:?}", cut);
        }
        for (check, fusing) in [(Check::Off, true), (Check::Off, false)] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, fusing)));
        }
    }
}
