//! Lifetime: the worked examples, and what must hold in every world.

use proptest::prelude::*;
use ssdlab_sim::config::{
    CacheWrite, Config, EccLevel, Endurance, Errors, GcTime, LifeMode, MappingUnit, PreconditionMode, Scope,
    WearLevelling, WriteAck,
};
use ssdlab_sim::device::flash::BlockState;
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::life::LifeReport;
use ssdlab_sim::units::{BlockId, Bytes, Nanos, Ppm};
use ssdlab_sim::{Check, Marks, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

fn config(toml: &str) -> Config {
    toml.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Keys of one plane whose blocks wear out: those of `more` replace those of `base`.
fn merged(base: &str, more: &str) -> String {
    let key = |line: &str| line.split_once('=').map_or("", |(key, _)| key).trim().to_string();
    let given: Vec<String> = more.lines().map(key).collect();
    let one = "geometry.channels = 1\ngeometry.chips_per_channel = 1\ngeometry.dies_per_chip = 1\ngeometry.planes_per_die = 1\ngeometry.page_size = \"4KiB\"\nlife.mode = \"wear\"";
    let kept = one.lines().chain(base.lines()).filter(|line| !given.contains(&key(line)));
    kept.chain(more.lines()).map(|line| format!("{line}\n")).collect()
}

/// One plane of so many blocks of 4 pages beside the spare ones. Blocks do not wear out but where faults say so.
fn small(usable: u32, spares: u32, more: &str) -> Config {
    let blocks = usable + spares;
    let base = format!(
        "geometry.pages_per_block = 4\ngeometry.blocks_per_plane = {blocks}\ndevice.over_provisioning = 0.5\ngc.threshold = \"8 pages\"\nlife.spare_blocks = {spares}\nlife.endurance = 100000"
    );
    config(&merged(&base, more))
}

fn write(at: u64, page: u64) -> Request {
    Request { arrival: Nanos(at), op: RequestOp::Write, offset: page * PAGE, bytes: PAGE }
}

/// Counts writes of pages, each with its handle, on a device that is scanned.
fn counted(config: &Config, writes: impl IntoIterator<Item = (u64, u8)>) -> (Summary, Ssd) {
    let mut ssd = Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    for (page, handle) in writes {
        ssd.apply_marked(write(0, page), Marks { handle, ..Marks::default() }, std::iter::empty());
    }
    ssd.apply_rest();
    ssd.run();
    (ssd.summary(1, String::new(), String::new()), ssd)
}

/// So many writes of the examples.
fn writes(count: u64) -> impl Iterator<Item = (u64, u8)> {
    (0..count).map(|i| ((7 * i + i / 24) % 24, 0))
}

fn life(summary: &Summary) -> &LifeReport {
    summary.life.as_ref().unwrap()
}

fn faults(list: &[(u32, u32, Option<u32>)]) -> String {
    let one = |(block, erases, page): &(u32, u32, Option<u32>)| {
        let page = page.map_or(String::new(), |page| format!(", page = {page}"));
        format!("{{ plane = 0, block = {block}, erases = {erases}{page} }}")
    };
    format!("faults.blocks = [{}]", list.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Erases, pages moved, pages until the end, and pages rejected.
fn ends(summary: &Summary) -> (u64, u64, Option<u64>, u64) {
    let life = life(summary);
    (summary.flash.erases, summary.gc.moved_pages, life.end.as_ref().map(|end| end.host_pages), life.rejected.pages)
}

#[test]
fn a_spare_block_replaces_a_failed_one() {
    // 1: without faults.
    let (one, _) = counted(&small(12, 2, ""), writes(300));
    assert_eq!(ends(&one), (65, 0, None, 0));
    assert_eq!((life(&one).spare_left.min, life(&one).retired.erase), (2, 0));
    // 2: the second erase of block 3 fails.
    let (two, ssd) = counted(&small(12, 2, &faults(&[(3, 2, None)])), writes(400));
    assert_eq!(ends(&two), (90, 0, None, 0));
    assert_eq!((life(&two).spare_left.min, life(&two).retired.erase), (1, 1));
    let states = |block| ssd.flash().state_of(BlockId(block));
    assert_eq!([states(3), states(12), states(13)], [BlockState::Bad, BlockState::Used, BlockState::Spare]);
}

#[test]
fn writing_ends_with_the_last_spare_block() {
    // 3: one spare block.
    let (three, _) = counted(&small(12, 1, &faults(&[(3, 2, None)])), writes(400));
    assert_eq!(ends(&three), (11, 0, Some(81), 319));
    let report = life(&three);
    let end = report.end.as_ref().unwrap();
    assert_eq!((end.host_bytes, report.tbw_bytes, end.plane, report.projected_tbw_bytes), (331_776, 331_776, 0, None));
    assert_eq!((report.rejected.requests, report.survival.len(), three.requests.write), (319, 1, 81));
    assert_eq!(report.survival[0][1], 12);
    // 4: three faults, three spare blocks.
    let list = [(3, 2, None), (5, 2, None), (7, 4, None)];
    let (four, _) = counted(&small(12, 3, &faults(&list)), writes(900));
    assert_eq!(ends(&four), (35, 0, Some(177), 723));
    assert_eq!(life(&four).tbw_bytes, 724_992);
    // A threshold ends it earlier: with one spare block left, after two failures.
    let (early, _) = counted(&small(12, 3, &format!("{}\nlife.spare_threshold = 0.34", faults(&list))), writes(900));
    assert_eq!(life(&early).retired.erase, 2);
    assert!(ends(&early).2.unwrap() < 177);
}

#[test]
fn a_failed_program_empties_its_block() {
    // 5: the program of page 2 of block 4.
    let (five, ssd) = counted(&small(12, 2, &faults(&[(4, 0, Some(2))])), writes(200));
    assert_eq!(ends(&five), (41, 2, None, 0));
    let report = life(&five);
    assert_eq!((report.retired.program, report.salvaged_blocks, five.gc.collections), (1, 1, 41));
    // 200 writes and 2 moves: one program more, which failed.
    assert_eq!((five.flash.programs.host, five.flash.programs.total), (201, 203));
    assert_eq!(ssd.flash().state_of(BlockId(4)), BlockState::Bad);
}

/// Completions of writes at 0, in order of time.
fn times(config: &Config, requests: &[Request]) -> (Vec<u64>, Summary) {
    let mut ssd = Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    ssd.collect_slowest(requests.len());
    requests.iter().for_each(|request| ssd.submit(*request));
    ssd.run();
    let [reads, writes] = ssd.slowest().unwrap();
    let mut ends: Vec<u64> = reads.requests().chain(writes.requests()).map(|request| request.completion.0).collect();
    ends.sort_unstable();
    (ends, ssd.summary(1, String::new(), String::new()))
}

#[test]
fn a_failed_program_is_repeated_in_its_die() {
    // 6: page 1 of block 0.
    let four: Vec<Request> = (0..4).map(|page| write(0, page)).collect();
    let (ends, summary) = times(&small(12, 2, &faults(&[(0, 0, Some(1))])), &four);
    assert_eq!(ends, [605_120, 1_815_360, 3_080_720, 3_685_840]);
    assert_eq!((summary.gc.moved_pages, summary.gc.collections, summary.flash.erases), (1, 0, 0));
    assert_eq!(summary.flash.programs.total, 6);
}

#[test]
fn handles_share_spare_blocks() {
    // 7: two persistent handles.
    let more =
        format!("fdp = {{ handles = 2, isolation = \"persistent\" }}\n{}", faults(&[(2, 3, None), (3, 2, None)]));
    let order = (0..500u64).map(|i| if i % 3 == 0 { (4 + 7 * i % 22, 1) } else { (i % 4, 0) });
    let (seven, _) = counted(&small(13, 3, &more), order);
    assert_eq!(ends(&seven), (115, 0, None, 0));
    assert_eq!(life(&seven).retired.erase, 2);
}

#[test]
fn reads_and_trims_go_on_after_the_end() {
    let more = format!("device.queue_depth = 1\n{}", faults(&[(3, 2, None)]));
    let config = small(12, 1, &more);
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    let all = writes(400).map(|(page, _)| write(0, page));
    let rest = [RequestOp::Read, RequestOp::Trim, RequestOp::Read].map(|op| Request { op, ..write(0, 5) });
    for request in all.chain(rest) {
        while !ssd.accepts() {
            ssd.run_until_room();
        }
        ssd.submit(request);
    }
    ssd.run();
    assert!(ssd.ended());
    let summary = ssd.summary(1, String::new(), String::new());
    let report = life(&summary);
    let end = report.end.as_ref().unwrap();
    assert_eq!((summary.requests.write, summary.requests.read, summary.requests.trim), (end.host_pages, 2, 1));
    assert_eq!(report.rejected.requests, 400 - end.host_pages);
    assert!(end.at_ns > 0 && end.at_ns <= summary.simulated_ns, "{end:?}");
    // The second read finds a page that the trim has discarded, and that is put on flash in no time.
    assert_eq!((summary.flash.reads.host, summary.pages.preloaded), (2, 1));
}

/// A device of one plane that wears out, with writes at random or in order, in no time, until its end.
fn worn_out(more: &str, seed: u64, sequential: bool) -> (Summary, Ssd) {
    let base = "geometry.pages_per_block = 8\ngeometry.blocks_per_plane = 64\ndevice.over_provisioning = 0.25\ngc.threshold = \"16 pages\"\nlife.endurance = 100\nlife.spare_blocks = 4";
    let config = config(&merged(base, more));
    let mut ssd = Ssd::new(&config, seed, Check::Off).unwrap_or_else(|error| panic!("{error}"));
    let pages = ssd.capacity_bytes() / PAGE;
    let mut draw = seed;
    for i in 0u64.. {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ssd.apply(write(0, if sequential { i % pages } else { (draw >> 33) % pages }));
        if ssd.ended() {
            break;
        }
        assert!(i < 10_000_000, "it ends");
    }
    ssd.apply_rest();
    ssd.run();
    (ssd.summary(seed, String::new(), String::new()), ssd)
}

#[test]
fn what_is_written_is_bounded_by_the_limits() {
    for (seed, more) in [(1, ""), (2, "life.program_failures = 0.5"), (3, "ftl.write_points = \"shared\"")] {
        let (summary, ssd) = worn_out(more, seed, false);
        let report = life(&summary);
        let limits: u64 = ssd.flash().limits_by_block().iter().map(|limit| u64::from(*limit)).sum();
        let erases: u64 = ssd.flash().erases_by_block().iter().map(|erases| u64::from(*erases)).sum();
        // Every program is in a block that was erased since, or is there.
        let written: u64 = (0..64).map(|block| u64::from(ssd.flash().written(BlockId(block)))).sum();
        assert_eq!(ssd.flash().programmed(), 8 * erases + written);
        assert_eq!(summary.flash.erases, summary.gc.collections);
        assert!(ssd.flash().programmed() <= 8 * limits + written, "{more}");
        assert_eq!(report.used_endurance, erases as f64 / limits as f64);
        assert!((0.7..1.0).contains(&report.used_endurance), "{more}: {}", report.used_endurance);
        let end = report.end.as_ref().unwrap();
        assert_eq!(report.retired.erase + report.retired.program, 4);
        assert_eq!((end.host_pages * PAGE, report.survival.len()), (report.tbw_bytes, 4));
        assert!(report.survival.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] == pair[1][1] + 1));
        assert_eq!(report.write_amplification_by_tenth.iter().flatten().count(), 10);
    }
}

#[test]
fn lifetime_grows_with_spare_blocks_and_endurance() {
    let pages = |more: &str, seed| life(&worn_out(more, seed, false).0).end.as_ref().unwrap().host_pages;
    for seed in [4, 5] {
        let by_spares = [2, 4, 6].map(|spares| {
            // As many blocks in use.
            pages(
                &format!(
                    "life.spare_blocks = {spares}\ngeometry.blocks_per_plane = {}\ndevice.over_provisioning = {:.6}",
                    60 + spares,
                    1.0 - 360.5 / f64::from(8 * (60 + spares))
                ),
                seed,
            )
        });
        assert!(by_spares.is_sorted() && by_spares[0] < by_spares[2], "{by_spares:?}");
        let by_endurance = [50, 100, 200].map(|cycles| pages(&format!("life.endurance = {cycles}"), seed));
        assert!(by_endurance.is_sorted() && by_endurance[2] > 3 * by_endurance[0], "{by_endurance:?}");
    }
}

#[test]
fn dynamic_levelling_lets_blocks_end_together() {
    let even = |levelling: &str| {
        let (summary, ssd) = worn_out(&format!("life.spread = 0\nftl.wear_levelling = \"{levelling}\""), 1, true);
        let used =
            (0..64).map(BlockId).filter(|block| ssd.flash().state_of(*block) == BlockState::Used && block.0 < 60);
        let erases: Vec<u32> = used.map(|block| ssd.flash().erases(block)).collect();
        (erases.iter().max().unwrap() - erases.iter().min().unwrap(), life(&summary).used_endurance)
    };
    let (dynamic, used) = even("dynamic");
    let (lowest, less) = even("none");
    eprintln!("{dynamic} and {lowest} erases apart, {used:.3} and {less:.3} of life used");
    assert!(dynamic <= 1 && lowest > 1 && used > less);
}

#[test]
fn until_the_first_failure_spare_blocks_are_as_good_as_none() {
    let requests: Vec<Request> = (0..400).map(|i| write(i * 400_000, (7 * i + i / 24) % 24)).collect();
    let with = small(12, 2, "");
    let mut without = small(12, 0, "");
    without.life.mode = LifeMode::None;
    without.life.spare_blocks = None;
    without.life.endurance = None;
    // As many pages are exported.
    without.device.over_provisioning = Ppm(416_666);
    let ((ends, one), (others, other)) = (times(&with, &requests), times(&without, &requests));
    assert_eq!(ends, others);
    let parts = |of: &Summary| format!("{:?} {:?} {:?} {:?}", of.latency_ns, of.flash, of.gc, of.wear);
    assert_eq!(parts(&one), parts(&other));
}

#[test]
fn limits_depend_on_the_seed_and_the_block_alone() {
    let limits = |more: &str, seed| {
        let ssd = Ssd::new(&small(60, 4, more), seed, Check::Off).unwrap();
        ssd.flash().limits_by_block().to_vec()
    };
    let one = limits("life.endurance = 1000", 1);
    assert_eq!(one, limits("life.endurance = 1000\nschemes.victim = \"fifo\"\nschemes.path = \"copyback\"", 1));
    assert_ne!(one, limits("life.endurance = 1000", 2));
    let mean = one.iter().sum::<u32>() as f64 / one.len() as f64;
    assert!((950.0..1050.0).contains(&mean) && one.iter().any(|limit| *limit < 900), "{one:?}");
    assert_eq!(limits("life.endurance = 1000\nlife.spread = 0", 1), [1000; 64]);
    // Rounded half up, at least 1; an endurance that is accelerated is divided first.
    assert!(limits("life.endurance = 1\nlife.spread = 0.1", 3).iter().all(|limit| *limit == 1));
    assert_eq!(limits("life.endurance = 1000\nlife.spread = 0\nlife.accelerate = 7", 1), [142; 64]);
}

#[test]
fn bad_blocks_from_the_factory_take_the_first_spare_ones() {
    let ssd = Ssd::new(&small(46, 4, "life.initial_bad = 0.04"), 3, Check::Full).unwrap();
    let count = |state| (0..50).filter(|block| ssd.flash().state_of(BlockId(*block)) == state).count();
    assert_eq!([count(BlockState::Bad), count(BlockState::Spare), count(BlockState::Used)], [2, 2, 46]);
    assert_eq!(ssd.flash().free_blocks(ssdlab_sim::units::PlaneId(0)), 46);
    let report = ssd.summary(3, String::new(), String::new()).life.unwrap();
    assert_eq!((report.retired.initial, report.spare_left.min, report.used_endurance), (2, 2, 0.0));
    assert_eq!(report.first_failure_host_bytes, None);
}

#[test]
fn acceleration_multiplies_what_the_host_writes() {
    let bytes = |more: &str| {
        let (summary, _) = worn_out(&format!("life.endurance = 400\n{more}"), 6, false);
        life(&summary).clone()
    };
    let (one, four) = (bytes(""), bytes("life.accelerate = 4"));
    assert_eq!((one.accelerated, four.accelerated), (None, Some(4)));
    let ratio = four.tbw_bytes as f64 / one.tbw_bytes as f64;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    assert_eq!(four.end.unwrap().host_bytes, four.tbw_bytes);
    let years = one.tbw_bytes as f64 / (one.dwpd.0[0].1 * 365.0 * 3.0);
    assert_eq!((one.dwpd.0[0].0, years.round()), (3, 384.0 * 4096.0));
}

#[test]
fn ecc_decides_the_endurance() {
    // 13,300 errors per MiB at 0 P/E cycles, 53,062 at 4,500; pages vary by 2 %, and 200 errors a KiB are corrected.
    let ecc = |more: &str| {
        let text = format!(
            "ecc = {{ errors = \"model\", program_errors = [[0, 10240], [1000, 102400]], spread = 0.25, correctable = 80, retention = 0.1 }}\nlife.endurance = \"ecc\"\n{more}"
        );
        small(12, 2, &text)
    };
    // 80 x 1,024 = 81,920 = 1.25 x 65,536, which is at floor(1000 x 55,296 / 92,160) = 600 P/E cycles.
    let mut config = ecc("");
    config.life.endurance = Some(Endurance::Errors(ssdlab_sim::config::ByErrors::Ecc));
    assert_eq!(config.endurance(), 600);
    // After 10 days there are twice as many: 32,768, at 244 P/E cycles.
    config.life.retention = Nanos(10 * 86_400_000_000_000);
    assert_eq!(config.endurance(), 244);
    config.life.retention = Nanos(90 * 86_400_000_000_000);
    assert_eq!(config.check().unwrap_err().key, "life.endurance");
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |more: &str| small(12, 2, more).check().unwrap_err().key;
    for (key, more) in [
        ("life.endurance", "life.endurance = 0"),
        ("life.endurance", "life.endurance = \"ecc\""),
        ("life.spare_blocks", "life.spare_blocks = 0"),
        ("device.over_provisioning", "life.spare_blocks = 6"),
        ("life.spare_blocks", "life.spare_blocks = 12"),
        ("life.spare_threshold", "life.spare_threshold = 1"),
        ("life.initial_bad", "life.initial_bad = 0.15"),
        ("life.accelerate", "life.accelerate = 1001"),
        ("life.accelerate", "life.accelerate = 0"),
        ("life.retention", "life.retention = \"90d\""),
        ("life.dwpd_years", "life.dwpd_years = [0]"),
        ("gc.reserve", "life.program_failures = 0.1\ngc.reserve = 1"),
        ("ftl.wear_levelling", "ftl.wear_levelling = \"dynamic\"\nschemes.victim = \"fifo\""),
        ("run.warmup", "run.warmup = \"10 requests\""),
        ("faults.blocks", "faults.blocks = [{ block = 14, erases = 1 }]"),
        ("faults.blocks", "faults.blocks = [{ block = 3 }]"),
        ("faults.blocks", "faults.blocks = [{ block = 3, page = 4 }]"),
        ("faults.blocks", "faults.blocks = [{ block = 3, erases = 1 }, { block = 3, erases = 2 }]"),
        ("schemes.path", "schemes.path = { fastgc = {} }"),
        ("timing.cache_register", "life.program_failures = 0.1\ntiming.cache_register = true"),
        ("faults.power_cut", "life.program_failures = 0.1\nfaults.power_cut = [\"1s\"]"),
        ("ecc.retention", "life.accelerate = 2\necc = { errors = \"model\", retention = 0.1 }"),
    ] {
        assert_eq!(refused(more), key, "{more}");
    }
    let message = small(12, 2, "life.spare_blocks = 6").check().unwrap_err().message;
    assert!(message.contains("and 6 spare leave (14 - 1 - 1 - 6) x 4 - 1 for a write in flight = 23"), "{message}");
    let without = config("faults.blocks = [{ block = 3, erases = 1 }]").check().unwrap_err();
    assert_eq!((without.key.as_str(), without.help.contains("life.mode")), ("faults.blocks", true));
    let reserve = |more: &str| small(12, 2, more).reserve();
    assert_eq!([reserve(""), reserve("life.program_failures = 0.1"), reserve(&faults(&[(1, 1, Some(0))]))], [1, 2, 2]);
}

/// Choices of a lifetime.
fn choices() -> impl Strategy<Value = (u32, f64, f64, u32, f64, f64)> {
    (
        1u32..12,
        0.0..0.5f64,
        prop::sample::select(vec![0.0, 0.0, 0.3, 1.0]),
        1u32..8,
        prop::sample::select(vec![0.0, 0.1]),
        0.0..0.5f64,
    )
}

fn millionths(share: f64) -> Ppm {
    Ppm((share * 1e6) as u32)
}

proptest! {
    #![proptest_config(crate::common::many_worlds(10_000))]

    /// Random devices whose blocks wear out, under the full oracle: every acknowledged page reads back, also after the end; programs and
    /// erases add up; and shortcuts change nothing.
    #[test]
    fn worlds_that_wear_out_lose_nothing(
        toml in crate::worlds::device(),
        (endurance, spread, failing, spares, bad, threshold) in choices(),
        (scope, with, errors, no_time, dynamic) in (0usize..3, 0u8..4, any::<bool>(), 0u8..4, any::<bool>()),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
        collector in prop::sample::select(vec!["serial", "queued", "preemptive"]),
        path in prop::sample::select(vec!["external", "copyback"]),
    ) {
        let mut config = crate::worlds::plain(&toml);
        config.life.mode = LifeMode::Wear;
        config.life.endurance = Some(Endurance::Cycles(endurance));
        config.life.spread = millionths(spread);
        config.life.program_failures = millionths(failing);
        config.life.spare_blocks = Some(spares);
        config.life.initial_bad = millionths(bad);
        config.life.spare_threshold = millionths(threshold);
        config.geometry.blocks_per_plane += spares + 2;
        config.staging.slots = 0;
        config.geometry.pages_per_program = 1;
        crate::worlds::with_schemes(&mut config, collector, path);
        config.device.mapping_unit = MappingUnit::Page;
        config.gc.scope = [Scope::Plane, Scope::Chip, Scope::Device][scope];
        config.gc.reserve = None;
        if no_time == 0 {
            config.gc.time = GcTime::None;
        }
        if errors {
            config.ecc.errors = Errors::Model;
            let level = |errors: u32, retries: u32, us: u64| EccLevel { errors, retries, decode: Nanos(us * 1_000) };
            config.ecc.levels = vec![level(10, 0, 2), level(14, 1, 5), level(200, 2, 10)];
            config.ecc.refresh = Some(13);
        }
        if failing > 0.0 {
            config.timing.cache_register = false;
            config.device.write_ack = WriteAck::AfterProgram;
        } else {
            config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
        }
        match with {
            1 => {
                config.cache.size = Bytes(16 * config.geometry.page_size.0);
                config.cache.write = CacheWrite::Back;
            }
            2 => {
                let slc: Config = "slc = { mode = \"dynamic\", share = 0.4, high = 0.6, low = 0.3 }".parse().unwrap();
                config.slc = slc.slc;
                let bits = [2, 3, 4, 5].into_iter().find(|bits| config.geometry.pages_per_block.is_multiple_of(*bits));
                config.slc.bits = bits.unwrap_or(1);
            }
            3 => {
                let fdp: Config = "fdp = { handles = 2, isolation = [\"initial\", \"persistent\"] }".parse().unwrap();
                config.fdp = fdp.fdp;
                config.geometry.blocks_per_plane += 3;
            }
            _ => {}
        }
        if dynamic && matches!(config.schemes.victim, ssdlab_sim::schemes::AnyVictim::Greedy(_)) {
            config.ftl.wear_levelling = WearLevelling::Dynamic;
        }
        if !config.device.power_loss_protection {
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |check: Check, fusing: bool| {
            let mut ssd = Ssd::new(&config, 7, check).unwrap();
            ssd.set_fusing(fusing);
            crate::worlds::submit_all_marked(&mut ssd, &requests, |i| Marks { handle: (with == 3 && i % 3 == 0).into(), ..Marks::default() });
            ssd.run();
            (ssd.summary(7, String::new(), String::new()), ssd)
        };
        let (summary, ssd) = run(Check::Full, true);
        let report = life(&summary);
        prop_assert_eq!(report.end.is_some(), ssd.ended());
        if config.faults.power_cut.is_empty() {
            let folds = summary.slc.map_or(0, |slc| slc.erases);
            prop_assert_eq!(summary.flash.erases, summary.gc.collections + folds);
        }
        // No block has worn beyond its limit before the end.
        let worn = (0..ssd.flash().limits_by_block().len() as u32).map(BlockId);
        let beyond = |block: &BlockId| ssd.flash().erases(*block) > ssd.flash().limits_by_block()[block.ix()];
        if report.end.is_none() && config.precondition.mode == PreconditionMode::None {
            prop_assert_eq!(worn.clone().find(beyond), None);
        }
        for fusing in [true, false] {
            prop_assert_eq!(format!("{summary:?}"), format!("{:?}", run(Check::Off, fusing).0));
        }
    }

    /// Devices whose programs have several units wear out, too.
    #[test]
    fn worlds_of_units_wear_out(
        toml in crate::units::small_device(),
        (endurance, spread, spares, threshold) in (1u32..6, 0.0f64..0.6, 1u32..4, 0.0f64..0.9),
        (errors, no_time) in (any::<bool>(), 0u8..4),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..60_000_000, 0..3),
    ) {
        let config = crate::units::parsed_with(&toml, |config| {
            config.life.mode = LifeMode::Wear;
            config.life.endurance = Some(Endurance::Cycles(endurance));
            config.life.spread = millionths(spread);
            config.life.spare_blocks = Some(spares);
            config.life.spare_threshold = millionths(threshold);
            config.geometry.blocks_per_plane += spares + 1;
            config.geometry.planes_per_program = 1;
            config.run.warmup = None;
            if errors {
                config.ecc.errors = Errors::Model;
            }
            if no_time == 0 {
                config.gc.time = GcTime::None;
            }
            config.faults.power_cut = cuts.iter().copied().map(Nanos).collect();
        });
        let Some(config) = config else { return Ok(()) };
        let run = |check: Check, fusing: bool| {
            crate::worlds::outcome(&config, (check, fusing), requests.len(), |ssd| {
                crate::cache::submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        let report = life(&one.0);
        prop_assert!(report.end.is_some() || report.rejected.requests == 0);
        if config.faults.power_cut.is_empty() {
            prop_assert_eq!(one.0.flash.erases, one.0.gc.collections);
        }
        for (check, fusing) in [(Check::Off, true), (Check::Off, false)] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(check, fusing)));
        }
    }
}
