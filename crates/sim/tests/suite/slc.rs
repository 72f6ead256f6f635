//! The cache of SLC: the worked examples, and what must hold in every world.

use proptest::prelude::*;
use ssdlab_sim::config::{Config, EccLevel, Errors, GcTime, Schemes, Scope, SlcFold};
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::slc::SlcReport;
use ssdlab_sim::schemes::Place;
use ssdlab_sim::units::{Bytes, Nanos};
use ssdlab_sim::{Check, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
/// A write in the cache, and one beside it.
const SW: u64 = 205_120;
const NATIVE: u64 = 605_120;
/// A page that is folded, and the erase after it.
const FO: u64 = 635_240;
const ERASE: u64 = 3_500_000;

fn config(toml: &str) -> Config {
    toml.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// One die with blocks of 12 pages, of which the cache has four of each plane.
fn small(blocks: u32, slc: &str, more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {blocks}, pages_per_block = 12, page_size = \"4KiB\" }}
        device.over_provisioning = 0.6
        device.queue_depth = 1
        gc.threshold = \"24 pages\"
        slc = {{ {slc} }}
        {more}"
    ))
}

/// A request for some pages at a time.
fn request(at: u64, op: RequestOp, page: u64, pages: u64) -> Request {
    Request { arrival: Nanos(at), op, offset: page * PAGE, bytes: pages * PAGE }
}

fn write(at: u64, page: u64) -> Request {
    request(at, RequestOp::Write, page, 1)
}

fn read(at: u64, page: u64) -> Request {
    request(at, RequestOp::Read, page, 1)
}

/// A request's completion, and its waits for folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End(u64, u64);

/// Serves requests, and returns how each ended, by order of completion, with the summary.
fn served(config: &Config, requests: &[Request]) -> (Vec<End>, Summary) {
    let mut ssd = Ssd::new(config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    ssd.collect_slowest(requests.len());
    requests.iter().for_each(|request| ssd.submit(*request));
    ssd.run();
    let [reads, writes] = ssd.slowest().unwrap();
    let mut ends: Vec<End> = reads
        .requests()
        .chain(writes.requests())
        .map(|request| {
            let extras = request.extras.0[ssdlab_sim::blame::Extra::Slc as usize];
            End(request.completion.0, extras)
        })
        .collect();
    ends.sort_unstable_by_key(|end| end.0);
    (ends, ssd.summary(1, String::new(), String::new()))
}

fn report(summary: &Summary) -> SlcReport {
    summary.slc.unwrap()
}

const STATIC: &str = "mode = \"static\", fold = \"idle\", idle = \"1h\"";

#[test]
fn a_full_cache_is_passed_by() {
    let writes: Vec<Request> = (0..17).map(|page| write(0, page)).collect();
    let (ends, summary) = served(&small(20, STATIC, ""), &writes);
    let expected = (1..=16).map(|n| n * SW).chain([16 * SW + NATIVE]);
    assert_eq!(ends.iter().map(|end| end.0).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(ends[16].0, 3_887_040);
    assert_eq!((report(&summary).host_pages, report(&summary).direct_pages), (16, 1));
}

#[test]
fn a_write_may_wait_for_a_fold() {
    let fold = |more: &str| small(20, &format!("{STATIC}, full = \"fold\"{more}"), "");
    let writes: Vec<Request> = (0..18).map(|page| write(0, page)).collect();
    let (ends, summary) = served(&fold(""), &writes);
    assert_eq!(ends[16], End(16 * SW + 4 * FO + ERASE + SW, 6_040_960));
    assert_eq!((ends[16].0, ends[17].0), (9_528_000, 9_733_120));
    let slc = report(&summary);
    // An hour after the last write the rest is folded, too.
    let folds = (slc.folds.forced, slc.folds.idle, slc.closed_early);
    assert_eq!((folds, slc.folded_pages, slc.dropped_stale), ((1, 4, 1), 18, 0), "{slc:?}");
    // Stale pages cost nothing.
    let order = (0..4).chain([0, 1, 2]).chain(4..14);
    let writes: Vec<Request> = order.map(|page| write(0, page)).collect();
    assert_eq!(served(&fold(""), &writes).0[16].0, 7_622_280);
    // Blocks: pages 0 to 3, 4 to 7, then these again, all stale then.
    let order = (0..8).chain(4..8).chain(8..13);
    let writes: Vec<Request> = order.map(|page| write(0, page)).collect();
    assert_eq!(served(&fold(", victim = \"greedy\""), &writes).0[16].0, 6_987_040);
    let writes: Vec<Request> = (0..17).map(|page| write(0, page)).collect();
    assert_eq!(served(&fold(", path = \"copyback\""), &writes).0[16].0, 9_487_040);
}

#[test]
fn a_trimmed_page_waits_for_no_fold() {
    // The program of the 17th line waits for a fold when its page is trimmed.
    let config = small(20, &format!("{STATIC}, full = \"fold\""), "cache = { size = \"256KiB\", time = \"1us\" }");
    let writes = (0..17).map(|page| write(0, page));
    let requests: Vec<Request> = writes.chain([request(4_000_000, RequestOp::Trim, 16, 1)]).collect();
    let (_, summary) = served(&config, &requests);
    let (slc, cache) = (report(&summary), summary.cache.as_ref().unwrap());
    assert_eq!((slc.folds.forced, slc.host_pages, cache.trimmed), (1, 16, 1), "{slc:?}");
}

#[test]
fn idle_dies_fold() {
    let config = small(20, "mode = \"static\", fold = \"idle\", idle = \"10ms\"", "");
    let writes = (0..8).map(|page| write(0, page));
    let at = |time| writes.clone().chain([read(time, 5)]).collect::<Vec<_>>();
    let (ends, summary) = served(&config, &at(11_641_960));
    assert_eq!(ends[8], End(17_712_040, 6_039_960));
    assert_eq!((report(&summary).folds.idle, report(&summary).used_pages), (2, 0));
    assert_eq!(served(&config, &at(11_640_960)).0[8], End(11_671_080, 0));
}

#[test]
fn dies_fold_between_requests_above_a_level() {
    let config = small(20, "mode = \"static\", fold = \"watermark\", high = 0.5, low = 0.25", "");
    let writes = (0..9).map(|page| write(0, page));
    let requests: Vec<Request> = writes.chain([read(1_846_081, 8), read(1_846_082, 0)]).collect();
    let (ends, summary) = served(&config, &requests);
    assert_eq!(ends[8].0, 1_846_080);
    assert_eq!([ends[9].0, ends[10].0], [7_917_160, 7_972_280]);
    assert_eq!(report(&summary).folds.watermark, 2);
    let eight: Vec<Request> = (0..8).map(|page| write(0, page)).collect();
    assert_eq!(report(&served(&config, &eight).1).folds.watermark, 0);
}

#[test]
fn a_cache_of_other_sizes() {
    // 64 pages a block: modern.md's example, and its speed in the long run.
    let writes: Vec<Request> = (0..257).map(|page| write(0, page)).collect();
    let large = config(
        "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 20, pages_per_block = 192, page_size = \"4KiB\" }
        device.over_provisioning = 0.6
        device.queue_depth = 1
        slc = { mode = \"static\", fold = \"idle\", idle = \"1h\", full = \"fold\" }",
    );
    assert_eq!(served(&large, &writes).0[256].0, 96_871_200);
    let writes: Vec<Request> = (0..257 + 640).map(|page| write(0, page)).collect();
    let ends = served(&large, &writes).0;
    assert_eq!((ends[256 + 640].0 - ends[256].0) as f64 / 640.0, 895_047.5);
}

#[test]
fn erased_blocks_of_the_plane_are_used_for_a_time() {
    let config = small(20, "mode = \"dynamic\", share = 0.1, fold = \"idle\", idle = \"1ms\"", "");
    let writes = (0..9).map(|page| write(0, page));
    let end = 8 * SW + NATIVE;
    let later = end + 1_000_000 + 10 * (4 * FO + ERASE);
    let requests: Vec<Request> = writes.chain([write(later, 9)]).collect();
    let (ends, summary) = served(&config, &requests);
    assert_eq!([ends[7].0, ends[8].0, ends[9].0], [8 * SW, end, later + SW]);
    let slc = report(&summary);
    assert_eq!((slc.host_pages, slc.direct_pages, slc.folds.idle, slc.high_water_pages), (9, 1, 3, 8));
}

#[test]
fn pages_of_the_cache_are_read_and_merged_fast() {
    let config = small(20, STATIC, "");
    assert_eq!(served(&config, &[write(0, 0), read(0, 0)]).0[1].0, SW + 30_120);
    let part = Request { arrival: Nanos(0), op: RequestOp::Write, offset: 0, bytes: 512 };
    assert_eq!(served(&config, &[write(0, 0), part]).0[1].0, SW + 30_120 + SW);
}

/// Counts writes in no time, on a device that is scanned.
fn counted(slc: &str) -> (SlcReport, [u64; 4]) {
    let mut ssd = Ssd::new(&small(20, slc, ""), 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    for i in 0..400 {
        ssd.apply(write(0, (7 * i + i / 9) % 90));
    }
    ssd.apply_rest();
    let summary = ssd.summary(1, String::new(), String::new());
    let slc = report(&summary);
    (slc, [slc.host_pages, slc.folded_pages, summary.gc.moved_pages, summary.flash.erases])
}

#[test]
fn in_no_time_a_cache_folds_to_its_level() {
    let (slc, counts) = counted("mode = \"static\"");
    assert_eq!(counts[1..], [392, 61, 122], "{slc:?}");
    let (slc, counts) = counted("mode = \"static\", victim = \"greedy\"");
    assert_eq!(counts[1..], [366, 38, 118], "{slc:?}");
    let (slc, counts) = counted("mode = \"dynamic\", share = 0.3");
    assert_eq!(counts, [176, 156, 56, 63], "{slc:?}");
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |slc: &str, more: &str| small(20, slc, more).check().unwrap_err().key;
    for (key, slc, more) in [
        ("slc.bits", "mode = \"static\", bits = 5", ""),
        ("slc.bits", "mode = \"static\", bits = 1", ""),
        ("slc.blocks", "mode = \"static\", blocks = 0", ""),
        ("slc.blocks", "mode = \"static\", blocks = 18", ""),
        ("slc.share", "mode = \"dynamic\", share = 0.04", ""),
        ("slc.low", "mode = \"static\", low = 0.9", ""),
        ("slc.window", "mode = \"static\", window = 5", ""),
        ("slc.window", "mode = \"static\", accepts = \"hot\", window = 0", ""),
        ("device.over_provisioning", "mode = \"static\", blocks = 11", ""),
        ("fdp.handles", "mode = \"static\"", "fdp.handles = 2"),
        ("gc.destination", "mode = \"static\"", "gc.destination = \"any\"\nschemes.place = \"dynamic\""),
        ("schemes.path", "mode = \"static\"", "schemes.path = { fastgc = {} }"),
        (
            "staging.slots",
            "mode = \"static\"",
            "schemes = { collector = \"idle-chip\", place = \"dynamic\" }\nstaging.slots = 4",
        ),
    ] {
        assert_eq!(refused(slc, more), key, "{slc} {more}");
    }
    let message = small(20, "mode = \"static\", blocks = 11", "").check().unwrap_err().message;
    assert!(message.contains("(20 - 1 - 1 - 11) x 12 - 1 for a write in flight = 83"), "{message}");
}

#[test]
fn what_is_small_or_hot_gets_in() {
    let pages = |slc: &str, writes: &[Request]| {
        let slc = report(&served(&small(20, &format!("{STATIC}, {slc}"), ""), writes).1);
        (slc.host_pages, slc.direct_pages)
    };
    let sizes = [request(0, RequestOp::Write, 0, 2), request(0, RequestOp::Write, 2, 3)];
    assert_eq!(pages("accepts = \"small\", small = \"8KiB\"", &sizes), (2, 3));
    // Page 0 is written again after two writes, page 1 after four.
    let order = [0, 1, 0, 2, 3, 1];
    let writes: Vec<Request> = order.map(|page| write(0, page)).to_vec();
    assert_eq!(pages("accepts = \"hot\", window = 2", &writes), (1, 5));
    assert_eq!(pages("accepts = \"hot\"", &writes), (2, 4));
}

/// Ends of writes of pages, in their order, if the cache follows other rules from a time on.
fn changed_at(time: u64, from: &str, to: &str, writes: &[Request]) -> Vec<u64> {
    let (from, to) = (small(20, &format!("{STATIC}{from}"), ""), small(20, &format!("{STATIC}{to}"), ""));
    let mut ssd = Ssd::new(&from, 1, Check::Full).unwrap();
    ssd.collect_slowest(writes.len());
    writes.iter().for_each(|request| ssd.submit(*request));
    ssd.run_before(Nanos(time));
    let mut ssd = ssd.changed(&to).unwrap();
    ssd.run();
    let [_, writes] = ssd.slowest().unwrap();
    let mut ends: Vec<u64> = writes.requests().map(|request| request.completion.0).collect();
    ends.sort_unstable();
    ends
}

#[test]
fn a_cache_may_follow_other_rules() {
    let writes: Vec<Request> = (0..18).map(|page| write(0, page)).collect();
    // From the tenth write on writes pass a full cache by, or wait for it.
    let (fold, direct) = (", full = \"fold\"", ", full = \"direct\"");
    assert_eq!(changed_at(10 * SW, fold, direct, &writes)[16..], [16 * SW + NATIVE, 16 * SW + 2 * NATIVE]);
    assert_eq!(changed_at(10 * SW, direct, fold, &writes)[16..], [9_528_000, 9_733_120]);
    // Moved pages take the other path.
    let inside = format!("{fold}, path = \"copyback\"");
    assert_eq!(changed_at(10 * SW, fold, &inside, &writes)[16], 9_487_040);
    // From the second write on the cache takes small ones only, or takes less time.
    let small_only = ", accepts = \"small\", small = \"2KiB\"";
    assert_eq!(changed_at(SW, "", small_only, &writes[..3]), [SW, SW + NATIVE, SW + 2 * NATIVE]);
    assert_eq!(changed_at(SW, "", ", program = \"100us\"", &writes[..3]), [SW, 2 * SW - 100_000, 3 * SW - 200_000]);
    let other = small(20, "mode = \"static\", blocks = 5", "");
    let ssd = Ssd::new(&small(20, STATIC, ""), 1, Check::Full).unwrap();
    assert_eq!(ssd.changed(&other).err().unwrap().key, "slc.mode");
}

#[test]
fn pages_that_are_read_often_stay() {
    let config = small(20, "mode = \"static\", fold = \"idle\", idle = \"10ms\", reads = 2", "");
    let writes = (0..6).map(|page| write(0, page));
    let requests: Vec<Request> = writes.chain([read(0, 1), read(0, 1), read(0, 2)]).collect();
    let slc = report(&served(&config, &requests).1);
    // Page 1 goes to the open block, which is folded next, with its count at 0.
    assert_eq!((slc.kept, slc.folded_pages, slc.folds.idle), (1, 6, 2), "{slc:?}");
}

#[test]
fn all_data_folded_once_is_written_twice() {
    let config = small(20, "mode = \"static\", fold = \"idle\", idle = \"1ms\"", "");
    let writes: Vec<Request> = (0..12).map(|page| write(page * 100_000_000, page)).collect();
    let summary = served(&config, &writes).1;
    assert_eq!(summary.write_amplification, Some(2.0));
    assert_eq!((summary.flash.programs.host, summary.flash.programs.fold, summary.gc.moved_pages), (12, 12, 0));
}

/// Choices of a cache of SLC.
fn choices() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["direct", "fold"]),
        prop::sample::select(vec!["idle", "watermark", "both"]),
        prop::sample::select(vec!["fifo", "greedy"]),
        prop::sample::select(vec!["external", "copyback"]),
        prop::sample::select(vec!["all", "small", "hot"]),
        (0u32..3, 1u32..4, prop::sample::select(vec!["20us", "1ms"]), 0u32..60),
    )
        .prop_map(|(mode, full, fold, victim, path, accepts, (reads, blocks, idle, share))| {
            format!(
                "mode = \"{mode}\", full = \"{full}\", fold = \"{fold}\", victim = \"{victim}\", path = \"{path}\", accepts = \"{accepts}\", small = \"8KiB\", reads = {reads}, blocks = {blocks}, idle = \"{idle}\", share = 0.{:02}, high = 0.6, low = 0.3",
                share + 15
            )
        })
}

proptest! {
    #![proptest_config(crate::common::many_worlds(10_000))]

    /// Random devices with a cache of SLC under the full oracle, which recounts its blocks: nothing is lost, counts add up, and the cache
    /// is empty where dies had time.
    #[test]
    fn worlds_with_slc_lose_nothing(
        toml in crate::worlds::device(),
        slc in choices(),
        (scope, cached, errors, no_time) in (0usize..3, any::<bool>(), any::<bool>(), 0u8..4),
        requests in crate::worlds::requests(),
        cuts in prop::collection::vec(0u64..80_000_000, 0..3),
        collector in prop::sample::select(vec!["serial", "queued", "preemptive"]),
        path in prop::sample::select(vec!["external", "copyback"]),
    ) {
        let mut config = crate::worlds::plain(&toml);
        let slc: Config = format!("slc = {{ {slc} }}").parse().unwrap();
        config.slc = slc.slc;
        let bits = [2, 3, 4, 5].into_iter().find(|bits| config.geometry.pages_per_block.is_multiple_of(*bits));
        let Some(bits) = bits else { return Ok(()) };
        config.slc.bits = bits;
        config.geometry.blocks_per_plane += 5;
        config.staging.slots = 0;
        crate::worlds::with_schemes(&mut config, collector, path);
        config.gc.scope = [Scope::Plane, Scope::Chip, Scope::Device][scope];
        if no_time == 0 {
            config.gc.time = GcTime::None;
        }
        if errors {
            config.ecc.errors = Errors::Model;
        }
        if errors && no_time > 1 {
            // Reads are repeated, and pages rewritten, in the cache and beside it.
            let level = |errors: u32, retries: u32, us: u64| EccLevel { errors, retries, decode: Nanos(us * 1_000) };
            config.ecc.levels = vec![level(10, 0, 2), level(14, 1, 5), level(200, 2, 10)];
            config.ecc.refresh = Some(13);
        }
        config.faults.power_cut = cuts.into_iter().map(Nanos).collect();
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
                crate::worlds::submit_all(ssd, &requests);
            })
        };
        let one = run(Check::Full, true);
        let (summary, slc) = (&one.0, one.0.slc.unwrap());
        prop_assert_eq!(slc.host_pages + slc.direct_pages, summary.flash.programs.host + summary.flash.programs.cache);
        prop_assert_eq!(slc.folds.idle + slc.folds.watermark + slc.folds.forced, slc.erases);
        // Where writes go to any die, a plane may have no room for what its cache holds.
        let empties = config.slc.fold != SlcFold::Watermark && config.schemes.place != Place::Dynamic;
        if empties {
            prop_assert_eq!(slc.used_pages, 0, "{:?}", slc);
        }
        if empties && config.faults.power_cut.is_empty() && config.run.warmup.is_none() {
            prop_assert_eq!(slc.folded_pages + slc.dropped_stale + slc.kept, slc.host_pages + slc.kept);
        }
        for fusing in [true, false] {
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", run(Check::Off, fusing)));
        }
    }
}

proptest! {
    #![proptest_config(crate::common::many_worlds(2_000))]

    /// A cache under other rules loses nothing, and a change that is taken back at once is none.
    #[test]
    fn a_cache_of_slc_under_other_rules_loses_nothing(
        toml in crate::worlds::device(),
        (one, two) in (choices(), choices()),
        requests in crate::worlds::requests(),
        time in 0u64..60_000_000,
    ) {
        let mut config = crate::worlds::plain(&toml);
        let bits = [2, 3, 4, 5].into_iter().find(|bits| config.geometry.pages_per_block.is_multiple_of(*bits));
        let Some(bits) = bits else { return Ok(()) };
        let slc = |text: &str| format!("slc = {{ {text} }}").parse::<Config>().unwrap().slc;
        (config.slc, config.geometry.blocks_per_plane) = (slc(&one), config.geometry.blocks_per_plane + 5);
        config.slc.bits = bits;
        config.staging.slots = 0;
        let plain: Config = "schemes.collector = \"serial\"".parse().unwrap();
        config.schemes = Schemes { collector: plain.schemes.collector, path: plain.schemes.path, route: plain.schemes.route, ..config.schemes };
        let mut other = config.clone();
        let (mode, blocks, share) = (config.slc.mode, config.slc.blocks, config.slc.share);
        other.slc = slc(&two);
        (other.slc.mode, other.slc.blocks, other.slc.share, other.slc.bits) = (mode, blocks, share, bits);
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        let ended = |fusing: bool, changes: &[&Config]| {
            let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
            ssd.set_fusing(fusing);
            crate::worlds::submit_all(&mut ssd, &requests);
            ssd.run_before(Nanos(time));
            for change in changes {
                ssd = ssd.changed(change).unwrap();
                ssd.set_fusing(fusing);
            }
            ssd.run();
            format!("{:?}", ssd.summary(7, String::new(), String::new()))
        };
        prop_assert_eq!(ended(true, &[&other]), ended(false, &[&other]));
        if config.slc.folds_in_idle_time() == other.slc.folds_in_idle_time() && config.slc.idle == other.slc.idle && config.slc.reads == other.slc.reads && config.slc.accepts == other.slc.accepts {
            prop_assert_eq!(ended(true, &[&other, &config]), ended(true, &[]));
        }
    }
}

/// A drive that is written through once has three speeds, whose lengths follow from its blocks: one bit a cell while the cache has blocks,
/// then three bits while others are left, then folds that make room.
#[test]
fn a_client_drive_is_written_at_three_speeds() {
    three_speeds("");
}

/// The same with a map of 4 KiB units, and programs of word lines beside the cache.
#[test]
fn a_client_drive_of_units_is_written_at_three_speeds() {
    three_speeds(
        "geometry.pages_per_program = 3
        timing.program = \"1800us\"
        device.mapping_unit = \"4KiB\"
        device.power_loss_protection = true
        cache = { size = \"16MiB\", time = \"1us\" }",
    );
}

fn three_speeds(more: &str) {
    let config = Config::preset_text("client-tlc", more).unwrap_or_else(|error| panic!("{error}"));
    let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap();
    let (page, planes) = (config.geometry.page_size.0, u64::from(ssd.geometry().planes));
    let (size, capacity) = (16 * page, ssd.capacity_bytes());
    let mut at = 0;
    let mut refill = |ssd: &mut Ssd| {
        while at < capacity / size && ssd.accepts() {
            ssd.submit(Request { arrival: Nanos(0), op: RequestOp::Write, offset: at * size, bytes: size });
            at += 1;
        }
    };
    // When the first page is written beside the cache, the first block is folded, and all is written; with the pages written by then.
    let (mut ends, mut time) = (Vec::new(), Nanos::ZERO);
    while ends.len() < 3 {
        refill(&mut ssd);
        time = time + Nanos(1_000_000);
        ssd.run_until(time);
        let (sample, slc) = (ssd.sample(), ssd.summary(1, String::new(), String::new()).slc.unwrap());
        let written = sample.flash.programs.host + sample.flash.programs.cache;
        // Lines that fill no word line stay in the write cache.
        let all = written + 2 * planes >= capacity / page;
        if [slc.direct_pages > 0, sample.flash.programs.fold > 0, all][ends.len()] {
            ends.push((time.0 as f64 / 1e3, written as f64 / planes as f64));
        }
    }
    // By arithmetic, for each plane: 120 blocks of the cache with 64 pages each; the other blocks, without GC's and what the folds need;
    // and what is left, of which a fold makes room for 128 pages.
    let cached = 120.0 * 64.0;
    let native = f64::from(config.geometry.blocks_per_plane - 120 - 2) * 192.0 - 64.0;
    let left = (capacity / page / planes) as f64 - cached - native;
    let transfer = 10.24;
    let (slc, tlc) = (200.0 + transfer, 600.0 + transfer);
    let folding = tlc + (64.0 * (25.0 + 2.0 * transfer + 600.0) + 5000.0) / 128.0;
    let mut before = (0.0, 0.0);
    for (end, (pages, us)) in ends.into_iter().zip([(cached, slc), (native, tlc), (left, folding)]) {
        let (length, speed) = (end.1 - before.1, (end.0 - before.0) / (end.1 - before.1));
        eprintln!("{length:.0} pages a plane, {pages:.0} by arithmetic; {speed:.1} us a page, {us:.1} by arithmetic");
        assert!((length / pages - 1.0).abs() < 0.02 && (speed / us - 1.0).abs() < 0.05);
        before = end;
    }
}
