//! Write-backs in multi-plane commands, and `cache.order = "stripe"`.

use crate::cache::{Keys, keys, submit_all, with_cache};
use crate::common::{Dut, array, causes, config, summary};
use proptest::prelude::*;
use ssdlab_sim::config::CacheOrder;
use ssdlab_sim::device::mapping::Location;
use ssdlab_sim::schemes::Place;
use ssdlab_sim::units::{Lpn, Nanos};
use ssdlab_sim::{Check, Config, RequestOp, Ssd};

const PAGE: u64 = 4096;

/// One die of two planes, even pages in one and odd pages in the other, and a cache of eight lines.
fn two_planes(more: &str) -> Config {
    config(&format!("{}cache = {{ size = \"32KiB\", time = \"1us\", {more} }}", array(1, 1, 1, 2)))
}

fn on_flash(ssd: &Ssd, pages: impl IntoIterator<Item = u32>) -> Vec<bool> {
    pages.into_iter().map(|page| matches!(ssd.location(Lpn(page)), Location::Flash(_))).collect()
}

#[test]
fn lines_of_two_planes_share_a_program() {
    for (multi_plane, ends, commands) in [(true, 611_240, 1), (false, 1_211_240, 0)] {
        let mut config = two_planes("");
        config.device.multi_plane = multi_plane;
        let mut dut = Dut::new(&config);
        dut.write(0, 0, PAGE);
        dut.write(0, PAGE, PAGE);
        assert_eq!(dut.latencies(), [1_000, 1_000]);
        assert_eq!(dut.ssd.now(), Nanos(ends), "two transfers and one program, or two programs");
        let flash = summary(&dut.ssd).flash;
        assert_eq!((flash.programs.cache, flash.multi_plane.programs), (2, commands));
    }
}

#[test]
fn a_forced_write_in_a_shared_program_has_its_causes() {
    let mut config = two_planes("");
    config.device.multi_plane = true;
    let mut dut = Dut::new(&config);
    dut.write(0, 0, PAGE);
    dut.write_through(0, PAGE, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].completion, done[1].completion), (Nanos(1_000), Nanos(611_240)));
    assert_eq!(causes(&done[1]), [("array", 600_000), ("bus", 10_240), ("memory", 1_000)]);
}

#[test]
fn lines_that_fill_a_command_go_first() {
    // Lines of pages 0, 2 and 1 are in when the fourth becomes dirty: two of them are written back.
    let run = |order: &str| {
        let keys = format!("writeback = \"watermark\", high = 0.5, low = 0.25, order = \"{order}\"");
        let mut config = two_planes(&keys);
        config.device.multi_plane = true;
        let mut dut = Dut::new(&config);
        for (i, page) in [0, 2, 1, 4].into_iter().enumerate() {
            dut.write(10_000 * i as u64, page * PAGE, PAGE);
        }
        dut.ssd.run_until(Nanos(640_240));
        (on_flash(&dut.ssd, [0, 1, 2, 4]), summary(&dut.ssd).flash.multi_plane.programs)
    };
    assert_eq!(run("stripe"), (vec![true, true, false, false], 1));
    assert_eq!(run("fifo"), (vec![true, false, false, false], 0), "the second of the plane follows the first");
}

#[test]
fn a_flush_writes_full_commands_first() {
    let run = |order: &str| {
        let mut config = two_planes(&format!("writeback = \"watermark\", order = \"{order}\""));
        config.device.multi_plane = true;
        let mut dut = Dut::new(&config);
        for (i, page) in [0, 2, 3].into_iter().enumerate() {
            dut.write(10_000 * i as u64, page * PAGE, PAGE);
        }
        dut.flush(100_000);
        dut.completed().into_iter().find(|c| c.op == RequestOp::Flush).map(|c| c.completion)
    };
    // Pages 0 and 3, then 2; in the order in which they became dirty, page 3 joins page 0 from behind page 2.
    let end = Some(Nanos(100_000 + 610_240 + 605_120));
    assert_eq!((run("stripe"), run("fifo")), (end, end));
}

#[test]
fn rules_name_what_stripes_lack() {
    let multi = "device.multi_plane = true\n";
    for toml in [
        "cache = { size = \"1MiB\", order = \"stripe\" }".to_string(),
        format!("{multi}geometry.planes_per_die = 1\ncache = {{ size = \"1MiB\", order = \"stripe\" }}"),
        format!("{multi}schemes.place = \"dynamic\"\ncache = {{ size = \"1MiB\", order = \"stripe\" }}"),
    ] {
        assert_eq!(config(&toml).check().unwrap_err().key, "cache.order");
    }
    config(&format!("{multi}cache = {{ size = \"1MiB\", order = \"stripe\" }}")).check().unwrap();
}

/// A random device with a cache whose lines share commands.
fn striped(toml: &str, keys: Keys) -> Config {
    let mut config = with_cache(toml, keys);
    config.device.multi_plane = true;
    if config.geometry.planes_per_die > 1 && config.schemes.place != Place::Dynamic && keys.0.is_multiple_of(2) {
        config.cache.order = CacheOrder::Stripe;
    }
    config
}

proptest! {
    #![proptest_config(crate::common::worlds(300))]

    /// Random devices under the full oracle, some with power cuts: nothing is lost, and shortcuts change no byte.
    #[test]
    fn worlds_with_shared_programs_lose_nothing(
        toml in crate::worlds::device(),
        keys in keys(),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..4),
    ) {
        let mut config = striped(&toml, keys);
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if !config.faults.power_cut.is_empty() && !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |fusing: bool| {
            let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
            ssd.set_fusing(fusing);
            submit_all(&mut ssd, &requests);
            ssd.run();
            summary(&ssd)
        };
        let (one, other) = (run(false), run(true));
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        let cache = one.cache.as_ref().unwrap();
        if config.run.warmup.is_none() && one.power_cuts.is_empty() {
            let accepted = one.pages.written;
            let programs = one.flash.programs.host + one.flash.programs.cache;
            prop_assert_eq!(programs, accepted - cache.absorbed - cache.trimmed);
        }
        for cut in &one.power_cuts {
            prop_assert!(cut.lost_pages == 0 || !config.survives_power_cuts(), "{:?}", cut);
        }
    }
}
