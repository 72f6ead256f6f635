//! Round-robin placement (`schemes.place = "round-robin"`): host writes get the next plane in turn at admission, and wait for it.
//!
//! Two chips of one plane on one channel; tR 50,000, tPROG 600,000, 5,120 ns a page on the bus.

use proptest::prelude::*;
use ssdlab_sim::config::{PartialRead, RaidLayout};
use ssdlab_sim::device::mapping::Location;
use ssdlab_sim::schemes::Place;
use ssdlab_sim::units::{Lpn, Nanos};
use ssdlab_sim::{Check, Config, Ssd};

use crate::common::{Dut, array, causes, config, summary, worlds};
use crate::worlds::{device, requests, submit_all};

const PAGE: u64 = 4096;

fn two_chips(place: &str, more: &str) -> Config {
    config(&format!(
        "{}geometry.blocks_per_plane = 8\ngeometry.pages_per_block = 4\ndevice.over_provisioning = 0.5\n\
         gc.threshold = \"4 pages\"\nprecondition.mode = \"sequential\"\nschemes.place = \"{place}\"\n{more}",
        array(1, 2, 1, 1)
    ))
}

/// The third write belongs to chip 0, where a read waits before it. Chip 1 is idle earlier, and any idle die would take the write.
#[test]
fn a_write_waits_for_the_plane_that_it_got_at_admission() {
    let latencies = |place| {
        let mut dut = Dut::new(&two_chips(place, ""));
        for (at, page) in [(0, 8), (1, 10)] {
            dut.write(at, page * PAGE, PAGE);
        }
        dut.read(2, 0, PAGE);
        dut.write(3, 12 * PAGE, PAGE);
        dut.completed()
    };
    let bound = latencies("round-robin");
    let ends: Vec<u64> = bound.iter().map(|request| request.completion.0).collect();
    assert_eq!(ends, [605_120, 610_240, 660_240 + 5_120 - 5_120, 660_240 + 605_120]);
    assert_eq!(causes(&bound[3]), [("die_host", 660_240 - 3), ("array", 600_000), ("bus", 5_120)]);
    let any = latencies("dynamic");
    assert_eq!(any[3].completion.0, 610_240 + 605_120, "chip 1 is idle first");
    // In the static order pages 8, 10 and 12 belong to chip 0.
    let fixed = latencies("CWDP");
    assert_eq!(fixed[1].completion.0, 2 * 605_120);
}

/// Each admitted page takes the next plane, whatever its number, and also within a request.
#[test]
fn pages_take_turns() {
    let mut dut = Dut::new(&two_chips("round-robin", ""));
    dut.write(0, 0, 4 * PAGE);
    dut.write(10_000_000, 2 * PAGE, PAGE);
    let done = dut.completed();
    // Two pages a chip: the second of each follows the first.
    assert_eq!(done[0].completion.0, 610_240 + 605_120);
    assert_eq!(done[1].completion.0, 10_000_000 + 605_120);
    assert_eq!(summary(&dut.ssd).flash.programs.host, 5);
}

/// A plane is passed over while the pages that belong to it leave it nothing to collect.
#[test]
fn no_plane_fills_beyond_collection() {
    // Every second write is trimmed: without the count of its pages one plane would hold them all.
    let mut dut = Dut::new(&two_chips("round-robin", ""));
    let pages = dut.ssd.capacity_bytes() / PAGE;
    for round in 0..12 {
        for page in 0..pages {
            let at = (round * pages + page) * 5_000_000;
            dut.write(at, page * PAGE, PAGE);
            if page % 2 == 1 {
                dut.trim(at + 4_000_000, page * PAGE, PAGE);
            }
        }
    }
    let latencies = dut.latencies();
    assert_eq!(latencies.len() as u64, 12 * pages);
    assert!(summary(&dut.ssd).gc.collections > 0);
}

/// A plane holds at most its share of the capacity and half of what it could hold beyond that. It could hold 6 of 8 blocks of four
/// pages, less one for a partial write: 23 pages, and its share is 16, so it takes 19.
#[test]
fn a_plane_takes_its_share_and_half_of_the_rest() {
    let mut dut = Dut::new(&two_chips("round-robin", ""));
    let plane = |dut: &Dut, page: u32| match dut.ssd.location(Lpn(page)) {
        Location::Flash(at) => dut.ssd.geometry().plane_of(at).0,
        place => panic!("page {page} is at {place:?}"),
    };
    let mut on = [16u32, 16];
    let mut told = Vec::new();
    // A page of plane 1 is written when it is the turn of plane 0, and again when it is that of plane 1.
    let mut at = 0;
    let mut write = |dut: &mut Dut, page: u32| {
        at += 20_000_000;
        dut.write(at, u64::from(page) * PAGE, PAGE);
        dut.ssd.run_until(Nanos(at + 19_000_000));
        plane(dut, page)
    };
    let of = |dut: &Dut, which: u32| (0..32).find(|page| plane(dut, *page) == which).unwrap();
    for _ in 0..6 {
        let page = of(&dut, 1);
        let to = write(&mut dut, page);
        on[1] -= 1;
        on[to as usize] += 1;
        told.push(to);
        let page = of(&dut, 1);
        write(&mut dut, page);
    }
    assert_eq!(told, [0, 0, 0, 1, 1, 1], "{on:?}");
    assert_eq!(on, [19, 13]);
}

#[test]
fn what_it_cannot_be_combined_with_is_refused() {
    for (more, key) in [
        ("raid = { layout = \"lci\", group = 2 }", "schemes.place"),
        ("cache.size = \"64KiB\"", "schemes.place"),
        ("device.keep_overwritten = true", "device.keep_overwritten"),
    ] {
        let refusal = two_chips("round-robin", more).check().expect_err(more);
        assert_eq!(refusal.key, key, "{more}");
        assert!(!refusal.help.is_empty());
    }
}

/// A random device with this placement, and without what it excludes.
fn bound(toml: &str) -> Option<Config> {
    let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
    config.schemes.place = Place::RoundRobin;
    config.raid.layout = RaidLayout::None;
    config.faults.chip_fails.clear();
    config.faults.rebuild = 0;
    config.device.keep_overwritten = false;
    if toml.len().is_multiple_of(2) {
        config.device.partial_read = PartialRead::WholePage;
    }
    config.check().is_ok().then_some(config)
}

/// The same device, with segments of the controller's buffer written back one after the other if it has any.
fn by_segment(toml: &str) -> Option<Config> {
    let one = toml.replace("{ idle-chip = {", "{ idle-chip = { segments = \"one_by_one\",");
    let one = one.replace("collector = \"idle-chip\"", "collector = { idle-chip = { segments = \"one_by_one\" } }");
    (one != toml).then(|| bound(&one)).flatten()
}

/// Times of dies are exact only on devices that are observed.
fn told(ssd: &Ssd) -> String {
    let mut sample = ssd.sample();
    sample.dies.clear();
    format!("{:?} {sample:?}", summary(ssd))
}

proptest! {
    #![proptest_config(worlds(300))]

    /// Under the full oracle nothing is lost and no plane fills up, and fused events change nothing.
    #[test]
    fn random_devices_lose_nothing(toml in device(), requests in requests()) {
        let Some(config) = by_segment(&toml).or_else(|| bound(&toml)) else { return Ok(()) };
        let run = |check, fusing| {
            let mut ssd = Ssd::new(&config, 7, check).unwrap_or_else(|error| panic!("{error}"));
            ssd.set_fusing(fusing);
            submit_all(&mut ssd, &requests);
            ssd.run();
            told(&ssd)
        };
        prop_assert_eq!(run(Check::Full, false), run(Check::Off, true));
    }

    /// The same with power cuts at any time, after which pages belong to the planes where they are found.
    #[test]
    fn power_cuts_leave_pages_at_home(toml in device(), requests in requests(), cuts in prop::collection::vec(0u64..80_000_000, 1..4)) {
        let Some(mut config) = bound(&toml) else { return Ok(()) };
        config.faults.power_cut = cuts.into_iter().map(ssdlab_sim::units::Nanos).collect();
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        submit_all(&mut ssd, &requests);
        ssd.run();
        for cut in summary(&ssd).power_cuts {
            prop_assert!(cut.lost_pages + cut.stale_pages <= cut.exposed_pages + cut.superseded_pages, "{:?}", cut);
        }
    }
}
