//! Placement handles: the worked examples, and what must hold in every world.

use proptest::prelude::*;
use ssdlab_sim::config::{Assign, Config, Isolation, Isolations, ReclaimUnit, Scope};
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::fdp::Handle;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_sim::{Check, Marks, Request, RequestOp, Ssd};

fn config(toml: &str) -> Config {
    toml.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// One plane of blocks of 4 pages.
fn small(blocks: u32, provisioning: f64, more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {blocks}, pages_per_block = 4, page_size = \"4KiB\" }}
        device.over_provisioning = {provisioning}
        gc.threshold = \"5 pages\"
        {more}"
    ))
}

/// Counts writes of pages, each with its handle.
fn counted(config: &Config, writes: impl IntoIterator<Item = (u64, u8)>) -> Summary {
    let mut ssd = Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    for (page, handle) in writes {
        let bytes = ssd.page_bytes();
        let request = Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: page * bytes, bytes };
        ssd.apply_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
    }
    ssd.apply_rest();
    ssd.summary(1, String::new(), String::new())
}

/// The writes of example A: hot pages are those below 4.
fn example_a() -> Vec<(u64, u8)> {
    let handle = |page| u8::from(page >= 4);
    let first = (0..28).map(|page| (page, handle(page)));
    let more = (0..160).map(|i| {
        let page = if i % 4 == 0 { 4 + 11 * i % 24 } else { (i * i + i / 5) % 4 };
        (page, handle(page))
    });
    first.chain(more).collect()
}

/// Pages moved, blocks erased, and pages moved by the owner of their block: handles 0 and 1, and none.
fn moves(summary: &Summary) -> (u64, u64, [u64; 3]) {
    let fdp = summary.fdp.as_ref().unwrap();
    let by = [fdp.handles[0].moved_pages, fdp.handles[1].moved_pages, fdp.mixed.moved_pages];
    (summary.gc.moved_pages, summary.flash.erases, by)
}

#[test]
fn handles_decide_what_is_moved() {
    let one = counted(&small(12, 0.4, ""), example_a().into_iter().map(|(page, _)| (page, 0)));
    assert_eq!((one.gc.moved_pages, one.flash.erases), (59, 52));
    let shared = "\nftl.write_points = \"shared\"";
    for (isolation, more, expected) in [
        ("\"initial\"", "", (107, 64, [47, 17, 43])),
        ("\"persistent\"", "", (104, 64, [79, 25, 0])),
        ("[\"initial\", \"persistent\"]", "", (104, 64, [47, 25, 32])),
        ("\"persistent\"", shared, (58, 52, [35, 23, 0])),
        ("\"initial\"", shared, (40, 47, [29, 8, 3])),
    ] {
        let config = small(12, 0.4, &format!("fdp = {{ handles = 2, isolation = {isolation} }}{more}"));
        assert_eq!(moves(&counted(&config, example_a())), expected, "{isolation}{more}");
    }
    let config = small(13, 0.45, "fdp = { handles = 2, isolation = \"persistent\" }\ngc.reserve = 2");
    assert_eq!(moves(&counted(&config, example_a())), (88, 59, [64, 24, 0]));
}

#[test]
fn what_dies_together_costs_nothing_if_it_lies_together() {
    let writes: Vec<(u64, u8)> = (0..96)
        .flat_map(|i| {
            let cold = (i % 3 == 0).then_some((6 + i / 3 % 18, 1));
            std::iter::once((i % 6, 0)).chain(cold)
        })
        .collect();
    let config = small(12, 0.4, "fdp = { handles = 2, isolation = \"persistent\" }");
    let apart = counted(&config, writes.clone());
    assert_eq!((apart.gc.moved_pages, apart.flash.erases), (0, 22));
    let together = counted(&small(12, 0.4, ""), writes.into_iter().map(|(page, _)| (page, 0)));
    assert_eq!((together.gc.moved_pages, together.flash.erases), (23, 28));
}

#[test]
fn a_page_written_again_soon_is_hot() {
    let config =
        small(12, 0.4, "fdp = { handles = 2, isolation = \"persistent\", assign = \"temperature\", window = 6 }");
    let summary = counted(&config, example_a().into_iter().map(|(page, _)| (page, 0)));
    assert_eq!((summary.gc.moved_pages, summary.flash.erases), (138, 73));
    let fdp = summary.fdp.unwrap();
    assert_eq!((fdp.handles[0].host_pages, fdp.handles[1].host_pages), (101, 87));
}

#[test]
fn handles_change_no_time() {
    let config = config(
        "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, page_size = \"4KiB\" }
        fdp.handles = 2",
    );
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    ssd.collect_slowest(2);
    for handle in 0..2 {
        let request =
            Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: u64::from(handle) * 4096, bytes: 4096 };
        ssd.submit_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
    }
    ssd.run();
    let [_, writes] = ssd.slowest().unwrap();
    let mut ends: Vec<u64> = writes.requests().map(|request| request.completion.0).collect();
    ends.sort_unstable();
    assert_eq!(ends, [605_120, 1_210_240]);
}

#[test]
fn handles_need_room() {
    let refused = |blocks: u32, more: &str| small(blocks, 0.4, more).check().unwrap_err();
    let four = "fdp = { handles = 4, isolation = \"persistent\" }";
    let refusal = refused(12, four);
    assert_eq!(refusal.key, "device.over_provisioning");
    assert!(refusal.message.contains("(12 - 1 - 4 - 3) x 4 - 1 for a write in flight = 15"), "{}", refusal.message);
    assert_eq!(refused(8, four).key, "fdp.handles");
    for (key, more) in [
        ("fdp.handles", "fdp.handles = 0"),
        ("fdp.handles", "fdp.handles = 129"),
        ("fdp.handles", "fdp.assign = \"temperature\""),
        ("fdp.isolation", "fdp = { handles = 2, isolation = [\"initial\"] }"),
        ("fdp.unknown", "fdp = { handles = 2, unknown = 2 }"),
        ("fdp.assign", "fdp = { handles = 3, assign = \"temperature\" }"),
        ("fdp.window", "fdp = { handles = 2, window = 3 }"),
        ("fdp.window", "fdp = { handles = 2, assign = \"temperature\", window = 0 }"),
        ("fdp.assign", "fdp = { handles = 2, assign = { lba = [\"0B..4KiB\"] } }"),
        ("fdp.assign", "fdp = { handles = 2, assign = { lba = [\"0B..8KiB\", \"4KiB..\"] } }"),
        ("fdp.assign", "fdp = { handles = 2, assign = { stream = { log = 2 } } }"),
        ("fdp.assign", "fdp = { handles = 2, assign = { tenant = {} } }"),
        (
            "staging.slots",
            "fdp.handles = 2\nschemes = { collector = \"idle-chip\", place = \"dynamic\" }\nstaging.slots = 4",
        ),
        ("schemes.path", "fdp.handles = 2\nschemes.path = { fastgc = {} }"),
    ] {
        let refusal = refused(24, more);
        assert_eq!(refusal.key, key, "{more}: {}", refusal.message);
    }
}

#[test]
fn addresses_decide_page_by_page() {
    let lba = "fdp = { handles = 2, isolation = \"persistent\", assign = { lba = [\"0B..16KiB\", \"16KiB..\"] } }\nprecondition.mode = \"sequential\"";
    let config = small(12, 0.4, lba);
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    // Preconditioning has filled one block of handle 0, and six of handle 1.
    let owners: Vec<Option<u8>> = ssd.flash().handles_by_block().collect();
    assert_eq!(owners.iter().filter(|owner| **owner == Some(0)).count(), 1);
    assert_eq!(owners.iter().filter(|owner| **owner == Some(1)).count(), 6);
    // A request over the border goes to both.
    ssd.submit(Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: 8 << 10, bytes: 16 << 10 });
    ssd.run();
    let fdp = ssd.summary(1, String::new(), String::new()).fdp.unwrap();
    assert_eq!([fdp.handles[0].host_pages, fdp.handles[1].host_pages], [2, 2]);
    assert_eq!([fdp.handles[0].ruamw_pages, fdp.handles[1].ruamw_pages], [2, 2]);
    assert_eq!((fdp.hbmw_bytes, fdp.mbmw_bytes, fdp.mbe_bytes), (16 << 10, 16 << 10, 0));
}

/// Blocks of each handle after filling.
fn filled_blocks(config: &Config) -> [usize; 2] {
    let ssd = Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    [0, 1].map(|handle| ssd.flash().handles_by_block().filter(|owner| *owner == Some(handle)).count())
}

#[test]
fn tenants_fill_their_parts() {
    let tenants = |more: &str| {
        let assign = format!("assign = {{ tenant = {{ db = 0, log = 1 }} }}{more}");
        small(
            12,
            0.4,
            &format!(
                "fdp = {{ handles = 2, isolation = \"persistent\", {assign} }}\nprecondition.mode = \"sequential\""
            ),
        )
    };
    let placed = |more: &str, parts: &[(&'static str, std::ops::Range<u64>)]| {
        let mut config = tenants(more);
        config.fdp.place_tenants(parts.iter().cloned());
        filled_blocks(&config)
    };
    let pages = |from: u64, to: u64| from * 4096..to * 4096;
    // 28 pages in blocks of 4. Nobody says who uses them: all are handle 0's.
    assert_eq!(filled_blocks(&tenants("")), [7, 0]);
    assert_eq!(placed("", &[("db", pages(0, 4)), ("log", pages(4, 28))]), [1, 6]);
    assert_eq!(placed("", &[("log", pages(0, 4)), ("db", pages(4, 28))]), [6, 1]);
    // Outside all parts it is handle 0's.
    assert_eq!(placed("", &[("log", pages(8, 20))]), [4, 3]);
    // Of several tenants with one page the last one counts, as for moves (`tenants`).
    assert_eq!(placed("", &[("log", pages(0, 28)), ("db", pages(0, 8))]), [2, 5]);
    // A tenant without a handle fills for the one that takes its writes.
    assert_eq!(placed("", &[("other", pages(0, 28))]), [7, 0]);
    assert_eq!(placed(", unknown = 1", &[("other", pages(0, 8)), ("db", pages(8, 28))]), [5, 2]);
}

/// Tenants that fill their parts leave the device that ranges of addresses leave, in every way to fill it, and when its filling is kept.
#[test]
fn parts_of_tenants_fill_as_ranges_do() {
    for mode in ["sequential", "random"] {
        let fill = |assign: &str| {
            small(
                24,
                0.5,
                &format!(
                    "fdp = {{ handles = 2, isolation = \"persistent\", assign = {assign} }}\nprecondition.mode = \"{mode}\""
                ),
            )
        };
        let half = fill("\"trace\"").capacity_bytes() / 8192 * 4096;
        let mut tenants = fill("{ tenant = { db = 0, log = 1 } }");
        let alone = filled_blocks(&tenants);
        let before = ssdlab_sim::Filled::key(&tenants);
        tenants.fdp.place_tenants([("db", 0..half), ("log", half..u64::MAX)]);
        assert_ne!(ssdlab_sim::Filled::key(&tenants), before, "another filling");
        let ranges = fill(&format!("{{ lba = [\"0B..{half}B\", \"{half}B..\"] }}"));
        let writes = |ssd: &mut Ssd| {
            let pages = ssd.capacity_bytes() / 4096;
            for i in 0..300u64 {
                let page = (i * 7 + i / 9) % pages;
                let request =
                    Request { arrival: Nanos(i * 500_000), op: RequestOp::Write, offset: page * 4096, bytes: 4096 };
                let handle = u8::from(page * 4096 >= half);
                ssd.submit_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
                ssd.run();
            }
            let owners: Vec<Option<u8>> = ssd.flash().handles_by_block().collect();
            // The configuration in a summary is another one.
            let Summary { fdp, gc, flash, latency_ns, wear, .. } = ssd.summary(1, String::new(), String::new());
            (format!("{fdp:?} {gc:?} {flash:?} {latency_ns:?} {wear:?}"), owners)
        };
        let new = |config: &Config| Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        let expected = writes(&mut new(&ranges));
        let kept = new(&tenants).filled();
        assert_eq!(writes(&mut new(&tenants)), expected, "{mode}");
        assert_eq!(writes(&mut Ssd::from_filled(&tenants, &kept).unwrap()), expected, "{mode}, kept");
        assert_ne!(filled_blocks(&tenants), alone, "{mode}");
    }
}

/// A unit that a power cut closed before it was full would be a count of its own. None is: a page whose program was torn is written,
/// and the block goes on behind it.
#[test]
fn an_open_block_goes_on_after_a_power_cut() {
    let mut config = small(16, 0.6, "fdp = { handles = 2, isolation = \"persistent\" }\ngc.reserve = 2");
    let moments = [300_000, 900_000, 1_500_000, 5_000_000];
    for (protected, at) in [false, true].into_iter().flat_map(|protected| moments.map(|at| (protected, at))) {
        config.device.power_loss_protection = protected;
        let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        let write = |ssd: &mut Ssd, arrival: u64, handle: u8, page: u64| {
            let request = Request { arrival: Nanos(arrival), op: RequestOp::Write, offset: page * 4096, bytes: 4096 };
            ssd.submit_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
        };
        // One program after the other: of handle 0, 1, 0.
        (0..3).for_each(|i| write(&mut ssd, 0, (i % 2) as u8, i));
        ssd.run_until(Nanos(at));
        let state = |ssd: &Ssd| {
            let fdp = ssd.summary(1, String::new(), String::new()).fdp.unwrap();
            let owned: Vec<Option<u8>> = ssd.flash().handles_by_block().collect();
            (fdp.handles[0].ruamw_pages, fdp.handles[1].ruamw_pages, owned)
        };
        let before = state(&ssd);
        let programs = [at > 0, at > 605_120, at > 1_210_240].map(u64::from);
        assert_eq!((before.0, before.1), (4 - programs[0] - programs[2], 4 - programs[1]), "{at}");
        let cut = ssd.power_cut();
        assert_eq!(cut.torn_pages, u64::from(at < 1_815_360 && !protected), "{at}");
        assert_eq!(state(&ssd), before, "{at}: both write points are where they were");
        // The next page of a handle goes to the block that it had.
        write(&mut ssd, 10_000_000, 0, 8);
        ssd.run();
        assert_eq!(state(&ssd), (before.0 - 1, before.1, before.2.clone()), "{at}");
    }
}

#[test]
fn rounds_of_one_handle_cost_nothing() {
    let config = small(12, 0.4, "fdp = { handles = 2, isolation = \"persistent\" }");
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    for round in 0..2 {
        for page in 4..28 {
            let request = Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: page * 4096, bytes: 4096 };
            ssd.apply_marked(request, Marks { handle: 1, ..Marks::default() }, std::iter::empty());
        }
        if round == 0 {
            ssd.apply(Request { arrival: Nanos::ZERO, op: RequestOp::Trim, offset: 4 * 4096, bytes: 24 * 4096 });
        }
    }
    ssd.apply_rest();
    assert_eq!(ssd.summary(1, String::new(), String::new()).gc.moved_pages, 0);
}

/// What is written in the long run.
#[derive(Clone, Copy)]
enum Mix {
    /// 20 % of the pages take 80 % of the writes, and have handle 0 if there are two.
    Skewed,
    /// All pages take as many, with any handle.
    Uniform,
}

/// Write amplification in the long run, where 10 % of the pages in play are spare.
fn in_the_long_run(more: &str, handles: u32, gc_points: u32, mix: Mix) -> f64 {
    let (blocks, per_block) = (3000u32, 64u32);
    // Open blocks are half full on average, and three are erased.
    let in_play = f64::from(per_block) * (f64::from(blocks) - 3.0 - f64::from(handles + gc_points) / 2.0);
    let provisioning = 1.0 - 0.9 * in_play / f64::from(blocks * per_block);
    let config = config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {blocks}, pages_per_block = {per_block}, page_size = \"4KiB\" }}
        device.over_provisioning = {provisioning:.6}
        gc.threshold = \"3 blocks\"
        run.warmup = \"15 drive writes\"
        {more}"
    ));
    let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap();
    let pages = ssd.capacity_bytes() / 4096;
    let (hot, mut state) = (pages / 5, 0x9e37_79b9_7f4a_7c15u64);
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for i in 0..35 * pages {
        let page = match mix {
            _ if i < pages => i,
            Mix::Uniform => draw(pages),
            Mix::Skewed if draw(5) > 0 => draw(hot),
            Mix::Skewed => hot + draw(pages - hot),
        };
        let handle = match mix {
            _ if handles == 1 => 0,
            Mix::Skewed => u8::from(page >= hot),
            Mix::Uniform => draw(2) as u8,
        };
        let request = Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: page * 4096, bytes: 4096 };
        ssd.apply_marked(request, Marks { handle, ..Marks::default() }, std::iter::empty());
    }
    ssd.apply_rest();
    ssd.summary(1, String::new(), String::new()).write_amplification.unwrap()
}

/// Steady states that an independent model has found, within 1 %.
#[test]
fn handles_reach_the_write_amplification_of_a_model() {
    let persistent = "fdp = { handles = 2, isolation = \"persistent\" }";
    let shared = format!("{persistent}\nftl.write_points = \"shared\"");
    for (more, handles, gc_points, mix, expected) in [
        ("", 1, 0, Mix::Skewed, 5.12),
        (persistent, 2, 2, Mix::Skewed, 4.78),
        (shared.as_str(), 2, 0, Mix::Skewed, 4.78),
        ("fdp = { handles = 2, isolation = \"initial\" }", 2, 1, Mix::Skewed, 5.015),
        ("", 1, 0, Mix::Uniform, 4.82),
        (persistent, 2, 2, Mix::Uniform, 4.82),
    ] {
        let found = in_the_long_run(more, handles, gc_points, mix);
        eprintln!("{more}: {found:.3}, expected {expected}");
        assert!((found / expected - 1.0).abs() < 0.01, "{more}: {found:.3}, expected {expected}");
    }
}

/// A block of every plane is one block of all their pages: counts are those of one plane with such blocks.
#[test]
fn a_superblock_is_a_block_of_one_plane() {
    let writes: Vec<(u64, u8)> = (0..80)
        .map(|page| (page, u8::from(page >= 12)))
        .chain((0..800).map(|i| if i % 4 == 0 { (12 + 11 * i % 68, 1) } else { ((i * i + i / 5) % 12, 0) }))
        .collect();
    for fdp in ["", "fdp = { handles = 2, isolation = \"persistent\" }", "fdp = { handles = 2 }"] {
        let one = config(&format!(
            "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 10, pages_per_block = 16, page_size = \"4KiB\" }}
            device.over_provisioning = 0.5
            gc.threshold = \"2 blocks\"
            schemes.place = \"round-robin\"
            {fdp}"
        ));
        let mut four = one.clone();
        (four.geometry.channels, four.geometry.planes_per_die, four.geometry.pages_per_block) = (2, 2, 4);
        four.fdp.unit = ReclaimUnit::Superblock;
        let (one, four) = (counted(&one, writes.clone()), counted(&four, writes.clone()));
        assert!(one.gc.moved_pages > 0, "{fdp}");
        assert_eq!(four.gc.moved_pages, one.gc.moved_pages, "{fdp}");
        assert_eq!(four.gc.collections, one.gc.collections, "{fdp}");
        assert_eq!(four.flash.programs.total, one.flash.programs.total, "{fdp}");
        assert_eq!(four.flash.erases, 4 * one.flash.erases, "{fdp}");
        assert_eq!(four.write_amplification, one.write_amplification, "{fdp}");
        if let (Some(of_one), Some(of_four)) = (one.fdp, four.fdp) {
            assert_eq!(of_one.handles, of_four.handles, "{fdp}");
            assert_eq!((of_one.mixed, of_one.mbe_bytes), (of_four.mixed, of_four.mbe_bytes), "{fdp}");
        }
    }
}

#[test]
fn superblocks_are_counted_only() {
    let superblock = config("fdp.unit = \"superblock\"\nschemes.place = \"round-robin\"");
    superblock.check().unwrap();
    superblock.check_mode(true).unwrap();
    assert_eq!(superblock.check_mode(false).unwrap_err().key, "fdp.unit");
    for (key, more) in [
        ("schemes.place", "schemes.place = \"CWDP\""),
        ("gc.scope", "gc.scope = \"chip\"\nschemes.place = \"round-robin\""),
        ("fdp.unit", "schemes.place = \"round-robin\"\ngeometry = { channels = 64, pages_per_block = 1024 }"),
    ] {
        assert_eq!(config(&format!("fdp.unit = \"superblock\"\n{more}")).check().unwrap_err().key, key, "{more}");
    }
}

proptest! {
    #![proptest_config(crate::common::many_worlds(10_000))]

    /// Random devices with handles under the full oracle, which checks that blocks hold pages of their handle: counts add up, and
    /// shortcuts change nothing.
    #[test]
    fn worlds_with_handles_lose_nothing(
        toml in crate::worlds::device(),
        (handles, bits, scope, cached) in (2u32..4, 0u8..8, 0usize..3, any::<bool>()),
        named in prop::collection::vec(0u8..3, 1..20),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
        lba in any::<bool>(),
        collector in prop::sample::select(vec!["serial", "queued", "preemptive"]),
        path in prop::sample::select(vec!["external", "copyback"]),
    ) {
        let mut config = crate::worlds::plain(&toml);
        config.geometry.blocks_per_plane += 2 * handles + 2;
        config.staging.slots = 0;
        crate::worlds::with_schemes(&mut config, collector, path);
        config.fdp.handles = handles;
        let kind = |handle: u32| if bits >> handle & 1 == 1 { Isolation::Persistent } else { Isolation::Initial };
        config.fdp.isolation = Isolations::Each((0..handles).map(kind).collect());
        config.gc.scope = [Scope::Plane, Scope::Chip, Scope::Device][scope];
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        if lba && handles == 2 {
            config.fdp.assign = Assign::Lba(vec!["0B..24KiB".to_string().try_into().unwrap(), "24KiB..".to_string().try_into().unwrap()]);
        }
        if cached {
            config.cache.size = Bytes(16 * config.geometry.page_size.0);
        }
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                let marks = |i: usize| Marks { handle: named[i % named.len()] % handles as u8, ..Marks::default() };
                crate::worlds::submit_all_marked(ssd, &requests, marks);
            })
        };
        let one = run(Check::Full, true);
        let (summary, fdp) = (&one.0, one.0.fdp.as_ref().unwrap());
        let sum = |of: fn(&Handle) -> u64| fdp.handles.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|handle| handle.host_pages), summary.flash.programs.host + summary.flash.programs.cache);
        if config.faults.power_cut.is_empty() {
            prop_assert_eq!(sum(|handle| handle.moved_pages) + fdp.mixed.moved_pages, summary.gc.moved_pages);
            prop_assert_eq!(sum(|handle| handle.erased_units) + fdp.mixed.erased_units, summary.flash.erases);
        }
        for fusing in [true, false] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(Check::Off, fusing)));
        }
    }
}
