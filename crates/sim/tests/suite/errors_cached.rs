//! Bit errors beside the write cache, and of devices whose programs have several units: worked examples to the nanosecond, and random
//! devices.

use proptest::prelude::*;
use ssdlab_sim::units::{Nanos, Ppm, Threshold};
use ssdlab_sim::{Check, Config};

use crate::cache::{keys, latencies, submit_all, with_cache};
use crate::common::{Dut, array, causes, config, many_worlds, summary};
use crate::retry::{LEVELS, ways};
use crate::units::{parsed_with, small_device};

const PAGE: u64 = 4096;

/// One die with a cache of 64 lines that keeps no clean line, whose programs leave so many errors per KiB.
fn cached(errors: u64, more: &str) -> Config {
    config(&format!(
        "{}cache = {{ size = \"256KiB\", time = \"1us\", read = \"none\" }}
        ecc.errors = \"model\"
        ecc.spread = 0
        ecc.read_disturb = 0
        ecc.program_errors = [[0, {}]]
        {more}",
        array(1, 1, 1, 1),
        errors * 1024
    ))
}

/// Latencies and pages that could not be corrected, by request.
fn outcomes(dut: &mut Dut) -> Vec<(u64, u32)> {
    let done = dut.completed();
    done.iter().map(|one| ((one.completion - one.arrival).0, one.uncorrectable)).collect()
}

/// A second after its program a page has 10 errors per KiB more: from 100 to 130, which are too many, in three.
const AGES: &str = "ecc.retention = 0.1\necc.age_factor = 86400\n";
const LATE: u64 = 3_000_000_000;

/// A sector of page 0 is written when the page has too many errors. What was read for the program is lost with it; the sector that
/// came from the host is good as long as it is in its line.
#[test]
fn a_line_that_lacks_lost_sectors_is_lost() {
    let mut dut = Dut::new(&cached(100, &format!("{AGES}ecc.decode = \"4us\"")));
    dut.write(0, 0, PAGE);
    dut.read(1_000_000, 0, PAGE);
    dut.write(LATE, 0, 512);
    dut.read(LATE + 10_000, 0, 512);
    dut.read(LATE + 20_000, 512, 512);
    dut.flush(LATE + 30_000);
    dut.read(LATE + 4_000_000, 0, 512);
    // 640 ns bring a sector out, and 4 us decode it. The line is filled from 1 us to 56,120 ns; then sector 1 is read until
    // 106,760 ns, and then the program begins.
    let expected =
        [(1_000, 0), (59_120, 0), (1_000, 0), (1_000, 0), (90_760, 1), (106_760 + 605_120 - 30_000, 0), (54_640, 1)];
    assert_eq!(outcomes(&mut dut), expected);
    let ecc = summary(&dut.ssd).ecc.unwrap();
    assert_eq!((ecc.pages_decoded, ecc.pages_uncorrectable, ecc.moves_uncorrectable), (4, 3, 0));
}

/// Later writes bring every sector before the program begins, so nothing is lost; nor is it a second earlier.
#[test]
fn a_line_that_lacks_nothing_is_not_lost() {
    let lost = |at: u64, rest: bool| {
        let mut dut = Dut::new(&cached(100, AGES));
        dut.write(0, 0, PAGE);
        dut.write(100_000, PAGE, PAGE);
        // The program waits for a read that came before the fill was over.
        dut.write(at, 0, 512);
        dut.read(at + 2_000, PAGE, PAGE);
        if rest {
            dut.write(at + 60_000, 512, PAGE - 512);
        }
        dut.read(at + 4_000_000, 0, PAGE);
        outcomes(&mut dut).last().unwrap().1
    };
    assert_eq!([lost(LATE, false), lost(LATE, true), lost(LATE - 1_000_000_000, false)], [1, 0, 0]);
}

#[test]
fn what_a_line_lacks_is_read_again() {
    let mut dut = Dut::new(&cached(150, &format!("ecc.{LEVELS}")));
    dut.write(0, 0, PAGE);
    dut.flush(2_000);
    dut.write(1_000_000, 0, 512);
    dut.flush(1_001_000);
    assert_eq!(latencies(&dut.completed())[3], 195_360 + 605_120);
}

/// A write with forced unit access has the causes of what its program waited for.
#[test]
fn forced_writes_wait_for_retries() {
    let mut dut = Dut::new(&cached(150, &format!("ecc.{LEVELS}")));
    dut.write(0, 0, PAGE);
    dut.flush(2_000);
    dut.write_through(1_000_000, 0, 512);
    let done = dut.completed();
    let expected = [("array", 650_000), ("bus", 10_240), ("decode", 10_000), ("memory", 1_000), ("retry", 130_240)];
    assert_eq!(causes(&done[2]), expected);
}

const UNIT: u64 = 4096;

/// 16 KiB pages of four units whose programs leave so many errors per KiB, with the levels of the examples.
fn of_units(planes: (u32, u32, u32, u32), errors: u64, more: &str) -> Config {
    config(&format!(
        "{}geometry.page_size = \"16KiB\"
        device = {{ mapping_unit = \"4KiB\", queue_depth = 1024 }}
        cache = {{ size = \"256KiB\", time = \"1us\", read = \"none\" }}
        ecc.errors = \"model\"
        ecc.spread = 0
        ecc.read_disturb = 0
        ecc.program_errors = [[0, {}]]
        ecc.{LEVELS}
        {more}",
        array(planes.0, planes.1, planes.2, planes.3),
        errors * 1024
    ))
}

/// A read of units of a super page is repeated as a whole: 150 errors need two retries, and each attempt is decoded for 10 us.
#[test]
fn a_super_page_is_read_again_as_a_whole() {
    let filled = "precondition.mode = \"sequential\"\n";
    let attempts = |units: u64, more: &str, planes: u32| {
        let mut dut = Dut::new(&of_units((1, 1, 1, planes), 150, &format!("{filled}{more}")));
        dut.read(0, 0, units * UNIT);
        let done = dut.completed();
        let reads = summary(&dut.ssd).ecc.unwrap().retries.unwrap().host;
        assert_eq!((reads.reads, reads.steps), (1, 2), "one sequence");
        ((done[0].completion - done[0].arrival).0, causes(&done[0]))
    };
    let steps = |burst: u64| 3 * (50_000 + burst + 10_000);
    assert_eq!(attempts(1, "", 1).0, steps(5_120));
    assert_eq!(attempts(4, "", 1).0, steps(20_480));
    assert_eq!(attempts(8, "geometry.planes_per_program = 2", 2).0, steps(40_960));
    let expected = [("array", 50_000), ("bus", 20_480), ("decode", 10_000), ("retry", steps(20_480) - 80_480)];
    assert_eq!(attempts(4, "", 1).1, expected);
    // The array reads while the data before is on its way: three array reads, the last data-out and decoding.
    let piped = attempts(4, "ecc.retry_pipelined = true", 1);
    assert_eq!(piped.0, 150_000 + 20_480 + 10_000);
    assert_eq!(piped.1, [("array", 50_000), ("bus", 20_480), ("decode", 10_000), ("retry", 100_000)]);
}

/// Attempts that queue for the die: those of one read wait for those of the other.
#[test]
fn attempts_at_a_super_page_queue_together() {
    let filled = "precondition.mode = \"sequential\"\necc.retry_holds = false";
    let mut dut = Dut::new(&of_units((1, 1, 1, 1), 150, filled));
    dut.read(0, 0, 4 * UNIT);
    dut.read(0, 0, 4 * UNIT);
    // Each attempt holds the die for 70,480 ns; it is decoded beside the attempt of the other.
    let attempt = 50_000 + 20_480;
    let done = dut.completed();
    let latencies = latencies(&done);
    assert_eq!(latencies, [5 * attempt + 10_000, 6 * attempt + 10_000]);
    let expected = [
        ("die_host", 2 * attempt - 20_000),
        ("array", 50_000),
        ("bus", 20_480),
        ("decode", 10_000),
        ("retry", 2 * attempt + 20_000),
    ];
    assert_eq!(causes(&done[0]), expected);
    let host = summary(&dut.ssd).ecc.unwrap().retries.unwrap().host;
    assert_eq!((host.reads, host.steps), (2, 4));
    // What a line lacks is read in the same way.
    let mut dut = Dut::new(&of_units((1, 1, 1, 1), 150, filled));
    dut.write(0, 0, 512);
    dut.write(0, UNIT, 512);
    dut.flush(2_000);
    let fill = 3 * (50_000 + 10_240 + 10_000);
    assert_eq!(crate::cache::latencies(&dut.completed())[2], fill + 620_480);
}

/// Pages of a super page differ: the worst one decides, and only its units are lost.
#[test]
fn the_worst_page_of_a_super_page_decides() {
    let two = "geometry.planes_per_program = 2\nprecondition.mode = \"sequential\"\n";
    let apart = of_units((1, 1, 1, 2), 230, two);
    let at = |spread: u32, offset: u64, units: u64| {
        let mut config = apart.clone();
        config.ecc.spread = Ppm(spread);
        let mut dut = Dut::new(&config);
        dut.read(0, offset * UNIT, units * UNIT);
        let lost = outcomes(&mut dut)[0].1;
        (lost, summary(&dut.ssd).ecc.unwrap().retries.unwrap().host.steps)
    };
    // A spread of a half takes 230 to somewhere between 115 and 345: to every level, and beyond.
    let (mut differ, mut lost) = (0, 0);
    for super_page in 0..32u64 {
        let first = at(500_000, super_page * 8, 4);
        let second = at(500_000, super_page * 8 + 4, 4);
        let both = at(500_000, super_page * 8, 8);
        assert_eq!(both.1, first.1.max(second.1), "super page {super_page}");
        assert_eq!(both.0, first.0 + second.0, "super page {super_page}");
        differ += u32::from(first.1 != second.1);
        lost += both.0;
    }
    assert!(differ > 3 && lost > 3, "{differ} {lost}");
}

#[test]
fn what_lines_of_a_group_lack_is_read_again_together() {
    let mut dut = Dut::new(&of_units((1, 1, 1, 1), 150, "precondition.mode = \"sequential\""));
    dut.write(0, 0, 512);
    dut.write(0, UNIT, 512);
    dut.flush(2_000);
    // Two units come out three times; the program takes four.
    let fill = 3 * (50_000 + 10_240 + 10_000);
    assert_eq!(latencies(&dut.completed())[2], fill + 620_480);
    let host = summary(&dut.ssd).ecc.unwrap().retries.unwrap().host;
    assert_eq!((host.reads, host.steps), (1, 2));
    // Beyond the last level both are lost, also when they are moved later.
    let mut dut = Dut::new(&of_units((1, 1, 1, 1), 300, "precondition.mode = \"sequential\""));
    dut.write(0, 0, 512);
    dut.write(0, UNIT, UNIT);
    dut.flush(2_000);
    dut.read(5_000_000, 0, UNIT);
    dut.read(9_000_000, UNIT, UNIT);
    let done = outcomes(&mut dut);
    assert_eq!((done[3].1, done[4].1), (1, 1), "300 errors are beyond the last level");
}

/// A collection reads a super page again while it holds its die, and decodes one page after the other.
#[test]
fn collections_read_super_pages_again() {
    let gc = |errors: u64| {
        let mut config = of_units((1, 1, 1, 2), errors, "geometry.planes_per_program = 2");
        config.geometry.blocks_per_plane = 12;
        config.geometry.pages_per_block = 4;
        config.device.over_provisioning = Ppm(450_000);
        config.gc.threshold = Threshold::Blocks(1);
        let mut dut = Dut::new(&config);
        let units = dut.ssd.capacity_bytes() / UNIT;
        for write in 0..20 * units {
            dut.write(write * 5_000_000, (write * 7 + write / 24) % units * UNIT, UNIT);
        }
        dut.completed();
        let one = summary(&dut.ssd);
        let retries = one.ecc.unwrap().retries.unwrap().gc;
        let time = &one.gc.time_ns;
        let busy = time.read + time.transfer + time.program + time.erase;
        (one.gc.collections, one.gc.moved_pages, one.flash.reads.gc, busy, retries)
    };
    let (one, more) = (gc(30), gc(150));
    assert!(one.0 > 2 && one.1 > 0, "{one:?}");
    assert_eq!((one.0, one.1, one.2), (more.0, more.1, more.2), "counts are those of the same collections");
    assert_eq!(more.4.steps, 2 * more.4.reads);
    // Each attempt costs the array and the units that move, and its decoding takes no part in these times.
    let bursts = 5_120 * more.1;
    assert_eq!(more.3 - one.3, 2 * (50_000 * more.4.reads + bursts), "{more:?}");
}

#[test]
fn what_is_not_simulated_is_refused() {
    let refusal = of_units((1, 1, 1, 1), 100, "ecc.refresh = 100").check().unwrap_err();
    assert_eq!(refusal.key, "ecc.refresh", "{refusal}");
    assert!(cached(100, &format!("ecc.{LEVELS}\necc.refresh = 100\necc.retry_holds = false")).check().is_ok());
}

proptest! {
    #![proptest_config(many_worlds(10_000))]

    /// Random caches over flash with errors and levels, under the full oracle and with power cuts: nothing is lost but what has too
    /// many errors, causes add up, and shortcuts and observers change nothing.
    #[test]
    fn worlds_with_a_cache_and_errors_lose_nothing(
        toml in crate::worlds::device(),
        keys in keys(),
        way in ways(),
        simple in any::<bool>(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
    ) {
        let mut config = with_cache(&toml, keys);
        way.set(&mut config);
        if simple {
            config.ecc = ssdlab_sim::config::Ecc { levels: Vec::new(), ..config.ecc };
            (config.ecc.retry_set, config.ecc.retry_read, config.ecc.refresh) = (None, None, None);
            (config.ecc.retry_holds, config.ecc.retry_pipelined) = (true, false);
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
                submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        for fusing in [true, false] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(Check::Off, fusing)));
        }
    }

    /// The same for devices whose programs have several units.
    #[test]
    fn worlds_of_units_with_errors_lose_nothing(
        toml in small_device(),
        way in ways(),
        simple in any::<bool>(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..60_000_000, 0..3),
    ) {
        let config = parsed_with(&toml, |config| {
            way.set(config);
            config.ecc.refresh = None;
            if simple {
                (config.ecc.levels, config.ecc.retry_set, config.ecc.retry_read) = (Vec::new(), None, None);
                (config.ecc.retry_holds, config.ecc.retry_pipelined) = (true, false);
            }
            config.faults.power_cut = cuts.iter().copied().map(Nanos).collect();
        });
        let Some(config) = config else { return Ok(()) };
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        crate::units::check_counts(&config, &one.0);
        if let Some(retries) = &one.0.ecc.as_ref().unwrap().retries {
            for of in [&retries.host, &retries.gc] {
                let known = |steps: usize| config.ecc.levels.iter().any(|level| level.retries as usize == steps);
                prop_assert!(of.histogram.iter().enumerate().all(|(steps, reads)| *reads == 0 || known(steps)));
            }
        }
        for (check, fusing) in [(Check::Off, true), (Check::Sampled, true), (Check::Off, false)] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, fusing)));
        }
    }
}
