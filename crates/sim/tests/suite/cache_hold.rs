//! Lines that are written back because they have been dirty for long (`cache.hold`).

use crate::cache::{keys, latencies, one_die, submit_all, with_cache};
use crate::common::{Dut, config, summary};
use proptest::prelude::*;
use ssdlab_sim::config::{CacheWrite, Writeback};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Ssd};

const PAGE: u64 = 4096;
const HELD: &str = "cache.writeback = \"watermark\"\ncache.hold = \"100us\"";

/// Programs of the cache that have begun by a time.
fn programs_at(dut: &mut Dut, at: u64) -> u64 {
    dut.ssd.run_until(Nanos(at));
    summary(&dut.ssd).flash.programs.cache
}

#[test]
fn a_line_is_written_back_when_it_has_been_held() {
    let mut dut = Dut::new(&one_die(8, HELD));
    dut.write(0, 0, PAGE);
    dut.write(50_000, PAGE, PAGE);
    // The first is in its line at 1,000. What replaces it there does not prolong that.
    dut.write(60_000, 0, PAGE);
    dut.read(2_000_000, 9 * PAGE, PAGE);
    assert_eq!((programs_at(&mut dut, 100_999), programs_at(&mut dut, 101_000)), (0, 1));
    // The second line waits for the die from 151,000 on.
    assert_eq!((programs_at(&mut dut, 706_119), programs_at(&mut dut, 706_120)), (1, 2));
    assert_eq!(latencies(&dut.completed()), [1_000, 1_000, 1_000, 55_120]);
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.write_backs.hold, cache.write_backs.drain, cache.absorbed), (Some(2), 0, 1));
}

#[test]
fn a_line_that_goes_earlier_is_held_no_longer() {
    let mut dut = Dut::new(&one_die(8, HELD));
    dut.write(0, 0, PAGE);
    dut.flush(10_000);
    // Dirty again since 800,000, and in at 801,000.
    dut.write(800_000, 0, PAGE);
    dut.read(3_000_000, 9 * PAGE, PAGE);
    assert_eq!((programs_at(&mut dut, 700_000), programs_at(&mut dut, 900_999)), (1, 1));
    assert_eq!(programs_at(&mut dut, 901_000), 2);
    dut.completed();
    let cache = summary(&dut.ssd).cache.unwrap();
    assert_eq!((cache.write_backs.flush, cache.write_backs.hold), (1, Some(1)));
    assert!(summary(&Dut::new(&one_die(8, "")).ssd).cache.unwrap().write_backs.hold.is_none(), "only with the key");
}

#[test]
fn rules_name_what_holding_lacks() {
    for (hold, more) in [
        ("1ms", ""),
        ("1ms", "cache.write = \"through\"\ncache.writeback = \"idle\""),
        ("7200s", "cache.writeback = \"idle\""),
    ] {
        let refusal = config(&format!("cache.size = \"1MiB\"\ncache.hold = \"{hold}\"\n{more}")).check().unwrap_err();
        assert_eq!(refusal.key, "cache.hold", "{refusal}");
        assert!(!refusal.help.is_empty());
    }
    config("cache.size = \"1MiB\"\ncache.writeback = \"idle\"\ncache.hold = \"1ms\"").check().unwrap();
}

proptest! {
    #![proptest_config(crate::common::worlds(200))]

    /// Random devices that hold lines, under the full oracle, with and without shortcuts and power cuts.
    #[test]
    fn worlds_that_hold_lines_lose_nothing(
        toml in crate::worlds::device(),
        keys in keys(),
        hold in 0u64..3_000_000,
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
    ) {
        let mut config = with_cache(&toml, keys);
        config.cache.write = CacheWrite::Back;
        if config.cache.writeback == Writeback::Eager {
            config.cache.writeback = Writeback::Watermark;
        }
        config.cache.hold = Some(Nanos(hold));
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            let mut ssd = Ssd::new(&config, 7, check).unwrap();
            ssd.set_fusing(fusing);
            submit_all(&mut ssd, &requests);
            ssd.run();
            summary(&ssd)
        };
        let one = run(Check::Full, false);
        let cache = one.cache.as_ref().unwrap();
        prop_assert!(cache.write_backs.hold.is_some());
        if config.faults.power_cut.is_empty() && config.run.warmup.is_none() {
            prop_assert_eq!(one.flash.programs.cache, one.pages.written - cache.absorbed - cache.trimmed);
            for check in [Check::Off, Check::Sampled] {
                prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, true)));
            }
        }
    }
}
