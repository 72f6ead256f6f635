//! Mapping units where requests take no time: an exact law against devices that map pages, and write amplification against theory.

use crate::common::{config, many_worlds, summary};
use crate::formulas;
use proptest::prelude::*;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Nanos, Ppm, Ppn};
use ssdlab_sim::{Check, Config, Marks, Request, RequestOp, Ssd};

const UNIT: u64 = 4096;

/// A device whose programs have several units, beside one that maps pages of a unit.
#[derive(Debug)]
struct Pair {
    units: Config,
    pages: Config,
    /// Units of a page, plane groups, and placement handles.
    per_page: u32,
    homes: u32,
    handles: u32,
}

impl Pair {
    /// The page that a unit is on the other device.
    fn page_of(&self, unit: u32) -> u32 {
        let (chunk, k, homes) = (unit / self.per_page, self.per_page, self.homes);
        ((chunk / homes) * k + unit % k) * homes + chunk % homes
    }
}

/// The isolation of so many handles, by bits.
pub(crate) fn isolation(handles: u32, bits: u8) -> String {
    let word = |handle: u32| if bits >> handle & 1 == 1 { "\"persistent\"" } else { "\"initial\"" };
    (0..handles).map(word).collect::<Vec<_>>().join(", ")
}

fn pairs() -> impl Strategy<Value = Pair> {
    let array = (1u32..3, 1u32..3, prop::sample::select(vec![(1u32, 1u32), (2, 1), (2, 2), (4, 2), (4, 4)]));
    let program = (prop::sample::select(vec![1u32, 2, 4]), prop::sample::select(vec![1u32, 2, 3]), 1u32..7, 8u32..20);
    let schemes = (
        prop::sample::select(vec!["CWDP", "PDWC", "DCPW"]),
        prop::sample::select(vec!["greedy", "fifo", "random", "cost-benefit", "{ d-choices = { d = 3 } }"]),
        prop::sample::select(vec!["plane", "chip", "device"]),
        prop::sample::select(vec!["separate", "shared"]),
        prop::sample::select(vec!["none", "static"]),
        prop::sample::select(vec!["round-robin", "least-erased"]),
    );
    let space = (prop::sample::select(vec!["1 blocks", "2 blocks", "3 pages", "0.2"]), 250_000u32..600_000);
    let handles = (prop::sample::select(vec![1u32, 1, 2, 3]), 0u8..8);
    let wear = prop::option::of((2u32..12, 1u32..4));
    let slc = prop::option::of((
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["direct", "fold"]),
        prop::sample::select(vec!["fifo", "greedy"]),
        prop::sample::select(vec!["all", "hot"]),
        (1u32..4, 200u32..600),
    ));
    let apart = (handles, wear, slc);
    (array, program, schemes, space, apart).prop_filter_map("devices that work", |(array, program, schemes, space, apart)| {
        let ((channels, chips, (planes, together)), (k, lines, words, blocks)) = (array, program);
        let ((handles, bits), wear, slc) = apart;
        let slc = slc.filter(|_| handles == 1);
        let words = words * if slc.is_some() { 3 } else { 1 };
        let blocks = blocks + 4 * (handles - 1) + if slc.is_some() { 5 } else { 0 };
        let wear = wear.filter(|_| together == 1);
        let blocks = blocks + wear.map_or(0, |(_, spares)| spares + 1);
        let life = wear.map_or(String::new(), |(endurance, spares)| {
            format!("life = {{ mode = \"wear\", endurance = {endurance}, spread = 0.2, spare_blocks = {spares}, initial_bad = 0 }}\n")
        });
        let slc = slc.map_or(String::new(), |(mode, full, victim, accepts, (blocks, share))| {
            format!(
                "slc = {{ mode = \"{mode}\", full = \"{full}\", victim = \"{victim}\", accepts = \"{accepts}\", blocks = {blocks}, share = 0.{share}, high = 0.6, low = 0.3 }}\n"
            )
        });
        let per_super_page = k * together;
        if per_super_page * lines == 1 {
            return None;
        }
        let b = lines * words;
        let toml = |planes: u32, pages: u32, page: u64, more: String| {
            let victim = if schemes.1.starts_with('{') { schemes.1.to_string() } else { format!("\"{}\"", schemes.1) };
            format!(
                "geometry = {{ channels = {channels}, chips_per_channel = {chips}, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = {blocks}, pages_per_block = {pages}, page_size = \"{page}B\"{more} }}
                ftl = {{ write_points = \"{}\", wear_levelling = \"{}\", wear_spread = 2, free_block = \"{}\" }}
                schemes = {{ place = \"{}\", victim = {victim} }}
                gc.scope = \"{}\"
                {life}{slc}fdp = {{ handles = {handles}, isolation = [{}] }}\n",
                schemes.3, schemes.4, schemes.5, schemes.0, schemes.2, isolation(handles, bits)
            )
        };
        let more = format!(", pages_per_program = {lines}, planes_per_program = {together}");
        let units = format!(
            "{}gc.threshold = \"{}\"\ndevice.mapping_unit = \"4KiB\"\ncache = {{ size = \"16MiB\", pack = \"any\" }}",
            toml(planes, b, u64::from(k) * UNIT, more),
            space.0
        );
        let mut units: Config = units.replace("\"0.2\"", "0.2").parse().unwrap();
        units.device.over_provisioning = Ppm(space.1);
        // As many pages as there are units.
        let per_plane = u64::from(blocks * b);
        let exported = units.exported_per_plane();
        let scope = match schemes.2 {
            "plane" => 1,
            "chip" => planes / together,
            _ => channels * chips * planes / together,
        };
        let threshold = units.gc.threshold.pages(u64::from(scope) * per_plane, b.into()) * u64::from(per_super_page);
        let mut pages: Config =
            format!("{}gc.threshold = \"{threshold} pages\"", toml(planes / together, b * per_super_page, UNIT, String::new())).parse().unwrap();
        pages.device.over_provisioning = Ppm(1_000_000 - (exported * 1_000_000).div_ceil(per_plane) as u32);
        if units.check().is_err() || pages.check().is_err() || exported == 0 {
            return None;
        }
        assert_eq!(units.capacity_bytes(), pages.capacity_bytes());
        Some(Pair { units, pages, per_page: k, homes: channels * chips * planes / together, handles })
    })
}

proptest! {
    #![proptest_config(many_worlds(1_000))]

    /// With static places and without padding a device of units collects exactly as one whose pages are its units, also by handle.
    #[test]
    fn units_are_the_pages_of_another_device(pair in pairs(), seed in 0u64..1_000, count in 1usize..4_000) {
        let device = |config: &Config| Ssd::new(config, seed, Check::Full).unwrap();
        let (mut units, mut pages) = (device(&pair.units), device(&pair.pages));
        let all = (units.capacity_bytes() / UNIT) as u32;
        let mut rng = stream(seed, "units");
        for _ in 0..count {
            let unit = below(&mut rng, all.into()) as u32;
            let op = if below(&mut rng, 12) == 0 { RequestOp::Trim } else { RequestOp::Write };
            let request = |unit: u32| Request { arrival: Nanos(0), op, offset: u64::from(unit) * UNIT, bytes: UNIT };
            let marks = Marks { handle: below(&mut rng, pair.handles.into()) as u8, ..Marks::default() };
            units.apply_marked(request(unit), marks, std::iter::empty());
            pages.apply_marked(request(pair.page_of(unit)), marks, std::iter::empty());
        }
        units.apply_rest();
        pages.apply_rest();
        let (one, other) = (summary(&units), summary(&pages));
        prop_assert_eq!((one.gc.collections, one.gc.moved_pages, one.pages.written), (other.gc.collections, other.gc.moved_pages, other.pages.written));
        prop_assert_eq!(one.flash.erases, other.flash.erases * u64::from(pair.units.geometry.planes_per_program));
        prop_assert_eq!(units.flash().erases_by_block(), pages.flash().erases_by_block());
        let geometry = units.view().geometry;
        for slot in (0..geometry.planes * geometry.pages_per_plane).map(Ppn) {
            let (unit, page) = (units.flash().lpn_of(slot), pages.flash().lpn_of(slot));
            prop_assert_eq!(unit.is_some(), page.is_some());
            prop_assert!(unit.is_none() || pair.page_of(unit.0) == page.0, "slot {}", slot.0);
        }
        let by_handle = |one: &ssdlab_sim::report::Summary| {
            let fdp = one.fdp.as_ref()?;
            let counts = fdp.handles.iter().map(|of| (of.host_pages, of.moved_pages, of.erased_units, of.write_amplification));
            Some((counts.collect::<Vec<_>>(), fdp.mixed.moved_pages, fdp.mixed.erased_units, fdp.mbe_bytes, fdp.hbmw_bytes))
        };
        prop_assert_eq!(by_handle(&one), by_handle(&other));
        // Blocks wear out alike, down to the end.
        let life = |one: &ssdlab_sim::report::Summary| {
            let life = one.life.as_ref()?;
            let end = life.end.as_ref().map(|end| (end.plane, end.host_pages, end.host_bytes));
            Some((end, life.tbw_bytes, life.rejected.pages, life.retired.erase, life.spare_left.min, format!("{:?}", life.survival)))
        };
        prop_assert_eq!(life(&one), life(&other));
        prop_assert_eq!(&one.slc, &other.slc);
        if one.gc.collections > 0 {
            let counts = one.units.unwrap();
            prop_assert_eq!(counts.padding.gc + counts.padding.cache + counts.padding.fold, 0);
            prop_assert_eq!(counts.programmed.gc, one.gc.moved_pages);
            prop_assert_eq!(counts.programmed.fold, one.slc.map_or(0, |slc| slc.folded_pages));
        }
    }
}

/// Write amplification of greedy collection under uniform writes: `blocks` blocks of `b` units, of which `mapped` units are mapped and
/// `kept` blocks are kept free.
fn greedy(blocks: f64, b: u32, kept: f64, mapped: f64) -> f64 {
    let size = f64::from(b);
    let in_play = |amplification: f64| (blocks - kept) * size - size / (2.0 * amplification);
    (0..50).fold(2.0, |amplification, _| formulas::greedy(mapped / in_play(amplification), b))
}

/// Units programmed for a unit written, after three drives of uniform writes.
fn amplification(toml: &str, blocks: u32) -> (f64, Config) {
    let config = config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, blocks_per_plane = {blocks}, {toml}"
    ));
    config.check().unwrap();
    let mut ssd = Ssd::new(&config, 3, Check::Off).unwrap();
    let all = ssd.capacity_bytes() / UNIT;
    let mut rng = stream(1, "uniform");
    let mut write = |ssd: &mut Ssd, count: u64| {
        let before = summary(ssd);
        for _ in 0..count {
            let offset = below(&mut rng, all) * UNIT;
            ssd.apply(Request { arrival: Nanos(0), op: RequestOp::Write, offset, bytes: UNIT });
        }
        ssd.apply_rest();
        let after = summary(ssd);
        let units = |one: &ssdlab_sim::report::Summary| {
            let units = one.units.as_ref().unwrap();
            units.programmed.cache + units.programmed.gc + units.padding.gc
        };
        (units(&after) - units(&before)) as f64 / (after.pages.written - before.pages.written) as f64
    };
    write(&mut ssd, 4 * all);
    (write(&mut ssd, 12 * all), config)
}

#[test]
fn write_amplification_is_that_of_theory() {
    let cache =
        "cache = { size = \"4MiB\", pack = \"any\" }\nprecondition.mode = \"sequential\"\ngc.threshold = \"3 blocks\"";
    for (pages, k, spare, printed) in
        [(16, 4, 0.10, 5.353), (32, 4, 0.15, 3.667), (64, 4, 0.20, 2.932), (32, 2, 0.28, 1.998)]
    {
        let b = pages * k;
        let toml = format!(
            "planes_per_die = 1, pages_per_block = {pages}, page_size = \"{}B\" }}\ndevice = {{ mapping_unit = \"4KiB\", over_provisioning = {spare} }}\n{cache}",
            u64::from(k) * UNIT
        );
        let blocks = 256;
        let (seen, config) = amplification(&toml, blocks);
        let mapped = config.capacity_bytes() as f64 / UNIT as f64;
        let expected = greedy(blocks.into(), b, 3.0, mapped);
        eprintln!("{b} units a block, spare {spare}: {seen:.4}, theory {expected:.4}, printed {printed}");
        assert!((seen / expected - 1.0).abs() < 0.005, "{seen} is not {expected}");
    }
}

/// Where every collection pads its last program, larger programs cost more.
#[test]
fn padding_costs_write_amplification() {
    let seen = |lines: u32, remainder: &str| {
        let cache = "cache = { size = \"4MiB\", pack = \"any\" }\nprecondition.mode = \"sequential\"";
        let toml = format!(
            "planes_per_die = 1, pages_per_block = 48, page_size = \"16KiB\", pages_per_program = {lines} }}
            device = {{ mapping_unit = \"4KiB\", over_provisioning = 0.2 }}
            gc = {{ threshold = \"3 blocks\", remainder = \"{remainder}\" }}\n{cache}"
        );
        amplification(&toml, 128).0
    };
    let kept = seen(3, "keep");
    let padded = [1, 3].map(|lines| seen(lines, "pad"));
    eprintln!("kept {kept:.3}, padded {padded:.3?}");
    for (padded, expected) in padded.into_iter().zip([3.03, 3.20]) {
        assert!((padded / expected - 1.0).abs() < 0.02, "{padded} is not {expected}");
    }
    assert!((kept / 2.93 - 1.0).abs() < 0.02, "{kept}");
}
