//! Placement handles where programs have several units: a program has units of one handle, and so has what waits in the controller.

use crate::cache::latencies;
use crate::common::{Dut, array, config, many_worlds, summary};
use crate::units_counted::isolation;
use proptest::prelude::*;
use ssdlab_sim::report::fdp::Handle;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_sim::{Check, Config, Marks, Request, RequestOp};

const UNIT: u64 = 4096;

/// One die, pages of four units, a cache of 64 lines, and two handles.
fn two_handles(more: &str) -> Config {
    config(&format!(
        "{}geometry.page_size = \"16KiB\"
        device = {{ mapping_unit = \"4KiB\", queue_depth = 1024 }}
        cache = {{ size = \"256KiB\", time = \"1us\" }}
        fdp.handles = 2
        {more}",
        array(1, 1, 1, 1)
    ))
}

fn write(dut: &mut Dut, at: u64, handle: u8, units: impl IntoIterator<Item = u64>) {
    for unit in units {
        let request = Request { arrival: Nanos(at), op: RequestOp::Write, offset: unit * UNIT, bytes: UNIT };
        dut.ssd.submit_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
    }
}

/// Host pages by handle, and padding of the cache's programs.
fn counts(dut: &Dut) -> (Vec<u64>, u64) {
    let one = summary(&dut.ssd);
    let host = one.fdp.as_ref().unwrap().handles.iter().map(|handle| handle.host_pages);
    (host.collect(), one.units.as_ref().unwrap().padding.cache)
}

#[test]
fn units_of_different_handles_share_no_program() {
    let mut dut = Dut::new(&two_handles(""));
    (0..4).for_each(|unit| write(&mut dut, 0, (unit % 2) as u8, [unit]));
    dut.flush(2_000);
    // A program of each handle, one after the other.
    assert_eq!(latencies(&dut.completed()), [1_000, 1_000, 1_000, 1_000, 2 * 620_480]);
    assert_eq!(counts(&dut), (vec![2, 2], 4));

    let mut dut = Dut::new(&two_handles(""));
    (0..8).for_each(|unit| write(&mut dut, 0, (unit % 2) as u8, [unit]));
    dut.flush(2_000);
    assert_eq!(latencies(&dut.completed())[8], 1_000 + 2 * 620_480 - 2_000);
    assert_eq!(counts(&dut), (vec![4, 4], 0));
}

#[test]
fn a_unit_written_through_another_handle_leaves_its_program() {
    let mut dut = Dut::new(&two_handles(""));
    write(&mut dut, 0, 0, 0..4);
    // These wait for the die.
    write(&mut dut, 2_000, 0, 4..8);
    write(&mut dut, 10_000, 1, [4]);
    dut.flush(20_000);
    assert_eq!(latencies(&dut.completed())[9], 1_000 + 3 * 620_480 - 20_000);
    assert_eq!(counts(&dut), (vec![7, 1], 1 + 3));
    let one = summary(&dut.ssd);
    assert_eq!((one.cache.unwrap().absorbed, one.units.unwrap().padded_programs.trim), (1, 1));
}

#[test]
fn every_handle_needs_lines() {
    let mut config = two_handles("");
    config.cache.size = Bytes(6 * UNIT);
    let refused = config.check().unwrap_err();
    assert_eq!(refused.key, "cache.size");
    let message = "6 dirty lines may belong to 1 places and 2 handles without filling a program of 4 units: 1 x 2 x 3 + 1 = 7 are needed";
    assert_eq!(refused.message, message);
    config.cache.size = Bytes(7 * UNIT);
    config.check().unwrap();
}

/// A unit that no write brought has the handle that its address gives it, and its program holds others of that one.
#[test]
fn a_read_puts_units_of_one_handle_on_flash() {
    let mut dut = Dut::new(&two_handles("fdp.assign = { lba = [\"0B..8KiB\", \"8KiB..\"] }"));
    dut.read(0, UNIT, UNIT);
    dut.read(1_000_000, 2 * UNIT, UNIT);
    assert_eq!(dut.latencies(), [55_120, 55_120]);
    // Units 0 and 1, and units 2 and 3: the read ones are not counted as preloaded with another.
    assert_eq!(summary(&dut.ssd).pages.preloaded, 4);
    let (flash, geometry) = (dut.ssd.view().flash, dut.ssd.view().geometry);
    let owners: Vec<Option<u8>> = flash.handles_by_block().collect();
    let held = (0..geometry.pages_per_plane).map(ssdlab_sim::units::Ppn).filter(|slot| flash.lpn_of(*slot).is_some());
    let by_handle = held.map(|slot| (flash.lpn_of(slot).0, owners[geometry.block_of(slot).ix()]));
    let mut by_handle: Vec<_> = by_handle.collect();
    by_handle.sort_unstable();
    assert_eq!(by_handle, [(0, Some(0)), (1, Some(0)), (2, Some(1)), (3, Some(1))]);
}

proptest! {
    #![proptest_config(many_worlds(10_000))]

    /// Random devices of units with handles under the full oracle, which checks that blocks hold units of their handle.
    #[test]
    fn worlds_of_units_with_handles_lose_nothing(
        toml in crate::units::small_device(),
        (handles, bits, lba) in (2u32..4, 0u8..8, any::<bool>()),
        named in prop::collection::vec(0u8..3, 1..20),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..60_000_000, 0..3),
    ) {
        let fdp: Config = format!("fdp = {{ handles = {handles}, isolation = [{}] }}", isolation(handles, bits)).parse().unwrap();
        let Some(mut config) = crate::units::parsed_with(&toml, |config| {
            config.fdp = fdp.fdp.clone();
            if lba && handles == 2 {
                let assign: Config = "fdp = { handles = 2, assign = { lba = [\"0B..24KiB\", \"24KiB..\"] } }".parse().unwrap();
                config.fdp.assign = assign.fdp.assign;
            }
            config.geometry.blocks_per_plane += 4 * handles;
            config.cache.size = Bytes(config.cache.size.0 * u64::from(handles));
        }) else { return Ok(()) };
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                let marks = |i: usize| Marks { handle: named[i % named.len()] % handles as u8, fua: i.is_multiple_of(11), ..Marks::default() };
                crate::worlds::submit_all_marked(ssd, &requests, marks);
            })
        };
        let one = run(Check::Full, true);
        crate::units::check_counts(&config, &one.0);
        let (summary, fdp) = (&one.0, one.0.fdp.as_ref().unwrap());
        let sum = |of: fn(&Handle) -> u64| fdp.handles.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|handle| handle.host_pages), summary.units.as_ref().unwrap().programmed.cache);
        if config.faults.power_cut.is_empty() {
            prop_assert_eq!(sum(|handle| handle.moved_pages) + fdp.mixed.moved_pages, summary.gc.moved_pages);
            let erased = sum(|handle| handle.erased_units) + fdp.mixed.erased_units;
            prop_assert_eq!(erased * u64::from(config.geometry.planes_per_program), summary.flash.erases);
        }
        for fusing in [true, false] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(Check::Off, fusing)));
        }
    }
}
