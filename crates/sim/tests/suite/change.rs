//! A running device under another configuration: what has begun ends as it began, and nothing is lost.

use proptest::prelude::*;
use ssdlab_sim::config::{GcTime, Suspendable, WriteAck};
use ssdlab_sim::units::{Nanos, Threshold};
use ssdlab_sim::{Check, Config, Marks, Request, RequestOp, Ssd};

use crate::cache::{keys, with_cache};
use crate::worlds::{device, plain, requests, submit_all};

/// A change of one key, and whether taking it back leaves no trace: it drops no state, and starts nothing at once.
type Change = (fn(&mut Config), bool);

fn of(toml: &str) -> Config {
    toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

const CHANGES: [Change; 28] = [
    (|config| config.schemes.collector = of("schemes.collector = \"serial\"").schemes.collector, true),
    (|config| config.schemes.collector = of("schemes.collector = \"queued\"").schemes.collector, true),
    (|config| config.schemes.collector = of("schemes.collector = \"preemptive\"").schemes.collector, true),
    (|config| config.schemes.collector = of("schemes.collector = \"idle-chip\"").schemes.collector, true),
    (
        |config| {
            config.schemes.collector = of("schemes.collector = { pagc = { when = \"always\" } }").schemes.collector
        },
        true,
    ),
    (
        |config| {
            let toml = "schemes.collector = { pagc = { when = \"always\", points = \"unaligned\" } }";
            config.schemes.collector = of(toml).schemes.collector;
        },
        true,
    ),
    (
        |config| {
            let toml = "schemes.collector = { idle-chip = { stream_rule = \"always\", erase = \"after_writeback\", inner = \"preemptive\" } }";
            config.schemes.collector = of(toml).schemes.collector;
        },
        true,
    ),
    (|config| config.schemes.path = of("schemes.path = \"external\"").schemes.path, true),
    (|config| config.schemes.path = of("schemes.path = \"copyback\"").schemes.path, true),
    (|config| config.schemes.path = of("schemes.path = \"checked\"").schemes.path, true),
    (|config| config.schemes.order = of("schemes.order = \"sync-fifo\"").schemes.order, false),
    (|config| config.schemes.order = of("schemes.order = \"async-fifo\"").schemes.order, false),
    (|config| config.schemes.order = of("schemes.order = \"piq\"").schemes.order, false),
    (|config| config.order.chip_queue = Some(2), false),
    (|config| config.order.delay_writes = Some(true), false),
    (|config| config.schemes.route = of("schemes.route = \"direct\"").schemes.route, false),
    (|config| config.schemes.route = of("schemes.route = \"brr\"").schemes.route, false),
    (
        |config| {
            config.schemes.route = of("schemes.route = { dpr = { k = 1, replica_pages = 0.02 } }").schemes.route;
        },
        false,
    ),
    (|config| config.timing.suspendable = Suspendable::ProgramErase, false),
    (|config| config.timing.suspendable = Suspendable::None, true),
    (|config| config.timing.cache_register ^= true, false),
    (|config| config.device.write_ack = WriteAck::AfterTransfer, false),
    (|config| config.device.write_ack = WriteAck::AfterProgram, false),
    (|config| config.device.multi_plane ^= true, true),
    (|config| config.gc.time = GcTime::None, false),
    (|config| config.gc.threshold = Threshold::Pages(3), true),
    (|config| config.device.queue_depth += 3, false),
    (|config| config.timing.erase = Nanos(2_000_000), true),
];

fn told(ssd: &Ssd) -> String {
    let mut summary = ssd.summary(7, String::new(), String::new());
    // Conflicts count from the change on.
    summary.idle_chip = None;
    let mut sample = ssd.sample();
    // Known only of a device that is observed from the start.
    sample.dies.clear();
    format!("{summary:?} {sample:?}")
}

/// The device at a time, before any event of it.
fn at(config: &Config, asks: &[(u64, u8, u32, u32)], time: Nanos, fusing: bool) -> Ssd {
    let mut ssd = Ssd::new(config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    ssd.set_fusing(fusing);
    submit_all(&mut ssd, asks);
    ssd.run_before(time);
    ssd
}

fn ended(mut ssd: Ssd) -> String {
    ssd.run();
    told(&ssd)
}

/// How a device ends after a change that is taken back at once, and how it ends without.
fn taken_back(toml: &str, asks: &[(u64, u8, u32, u32)], change: usize, time: u64) -> Option<(String, String)> {
    let config = of(toml);
    let mut other = config.clone();
    CHANGES[change].0(&mut other);
    if !CHANGES[change].1 || config.check().is_err() || other.check().is_err() {
        return None;
    }
    let ssd = at(&config, asks, Nanos(time), true);
    let back = ssd.changed(&other).ok()?.changed(&config).ok()?;
    Some((ended(back), ended(ssd)))
}

/// A host write takes the last page that there is room for while another die is idle and a page waits in the controller's buffer:
/// full planes are due from then on, and not only when the next die becomes idle.
#[test]
fn full_planes_are_due_when_the_last_room_is_taken() {
    let toml = "geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 10, pages_per_block = 4 }
        timing = { read = [\"20us\", \"30us\"], program = [\"80us\", \"120us\"], erase = \"900us\", transfer = \"800MB/s\", cache_register = false, suspendable = \"none\" }
        device = { exclusion = \"die\", multi_plane = false, mapping_unit = \"page\", keep_overwritten = false, write_ack = \"after_program\", over_provisioning = 0.525, queue_depth = 2, power_loss_protection = false }
        gc = { threshold = \"1 pages\" }
        staging.slots = 2
        ftl = { write_points = \"separate\", free_block = \"round-robin\", wear_levelling = \"none\" }
        ecc = { decode = \"0ns\", page_error_probability = 0 }
        precondition = { mode = \"random\", valid = 0.3, invalid = 0.1 }
        schemes = { victim = \"greedy\", collector = { idle-chip = { stream_rule = \"always\", inner = \"queued\", erase = \"after_writeback\" } }, path = \"checked\", place = \"dynamic\", order = \"async-fifo\" }";
    let kinds = [8, 7, 8, 7, 12, 13, 0, 7, 7, 0, 7, 7, 11, 8, 7];
    let mut asks = kinds.map(|kind| (0, kind, 0, 0));
    asks[0].2 = 39_474;
    (asks[12].2, asks[12].3) = (62_500, 539_683);
    let (back, kept) = taken_back(toml, &asks, 0, 3_517_280).unwrap();
    assert_eq!(back, kept);
}

/// A collection that delays a host operation as it begins is a stream, though it reads metadata first: whether its collector may
/// pause does not matter.
#[test]
fn a_stream_stays_one_while_metadata_are_read() {
    let toml = "geometry = { channels = 1, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 9, pages_per_block = 4 }
        timing = { read = \"20us\", program = \"80us\", erase = \"900us\" }
        device = { over_provisioning = 0.6, queue_depth = 6 }
        gc.threshold = \"1 pages\"
        staging.slots = 8
        wear.copyback_thresholds = 1
        precondition = { mode = \"sequential\", valid = 0.3, invalid = 0.1 }
        schemes = { collector = \"idle-chip\", path = \"fastgc\", place = \"dynamic\" }";
    for seed in 1..=100 {
        let mut random = seed;
        let mut next = |below: u64| {
            random = (random * 6_364_136_223_846_793_005_u128 + 1_442_695_040_888_963_407) % (1 << 64);
            (random >> 33) as u64 % below
        };
        let asks: Vec<_> =
            (0..150).map(|_| (0, next(15) as u8, next(1_000_000) as u32, next(1_000_000) as u32)).collect();
        let (back, kept) = taken_back(toml, &asks, 2, 1).unwrap();
        assert_eq!(back, kept, "seed {seed}");
    }
}

/// A transfer that shares an event with the array when the rules change still ends for those whom its end concerns from then on:
/// reads that may suspend the program, the write that is acknowledged, the write that may follow it into the register.
#[test]
fn a_transfer_in_progress_ends_by_the_new_rules() {
    let toml = "geometry = { channels = 1, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 10, pages_per_block = 4 }
        timing = { read = \"20us\", program = \"200us\", erase = \"900us\", transfer = \"100MB/s\" }
        device = { over_provisioning = 0.5, queue_depth = 8 }
        precondition = { mode = \"sequential\" }";
    let config = of(toml);
    type Rule = (&'static str, fn(&mut Config));
    let rules: [Rule; 4] = [
        ("suspension", |config| config.timing.suspendable = Suspendable::ProgramErase),
        ("suspension and another collector", |config| {
            config.timing.suspendable = Suspendable::ProgramErase;
            config.schemes.collector = of("schemes.collector = \"queued\"").schemes.collector;
        }),
        ("early acknowledgement", |config| config.device.write_ack = WriteAck::AfterTransfer),
        ("cache register", |config| config.timing.cache_register = true),
    ];
    // A page crosses the channel in 41 us: writes of both dies, then reads and more writes while the first is on its way.
    let requests = |ssd: &mut Ssd| {
        let page = ssd.page_bytes();
        for (at, op, place) in [(0, 1, 0), (0, 1, 1), (0, 1, 2), (20, 0, 2), (30, 0, 3), (60, 0, 4), (60, 1, 5)] {
            let op = if op == 0 { RequestOp::Read } else { RequestOp::Write };
            ssd.submit(Request { arrival: Nanos(at * 1000), op, offset: place * page, bytes: page });
        }
    };
    for (name, rule) in rules {
        let mut other = config.clone();
        rule(&mut other);
        let mut seen = std::collections::BTreeSet::new();
        for time in (1_000..120_000).step_by(3_000) {
            let changed = |fusing: bool| {
                let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap();
                ssd.set_fusing(fusing);
                requests(&mut ssd);
                ssd.run_before(Nanos(time));
                let mut next = ssd.changed(&other).unwrap_or_else(|refused| panic!("{name}: {refused}"));
                if !fusing {
                    next.set_fusing(false);
                }
                ended(next)
            };
            let (shared, apart) = (changed(true), changed(false));
            assert_eq!(shared, apart, "{name} from {time} ns on");
            seen.insert(shared);
        }
        assert!(seen.len() > 2, "{name}: {} different ends", seen.len());
    }
}

proptest! {
    #![proptest_config(crate::common::worlds(400))]

    /// One or two changes at any time: the oracle finds every write, all that began ends, and shortcuts do not show.
    #[test]
    fn a_changed_device_ends_well(
        toml in device(), asks in requests(), first in 0..CHANGES.len(), second in 0..CHANGES.len(), time in 0u64..60_000_000,
        later in prop::option::of(0u64..10_000_000),
    ) {
        let config = of(&toml);
        if config.check().is_err() {
            return Ok(());
        }
        let changed = |fusing| {
            let mut ssd = at(&config, &asks, Nanos(time), fusing);
            let mut config = config.clone();
            for (change, wait) in [(Some(first), Some(0)), (later.map(|_| second), later)] {
                let (Some(change), Some(wait)) = (change, wait) else { continue };
                ssd.run_before(Nanos(ssd.now().0 + wait));
                let mut other = config.clone();
                CHANGES[change].0(&mut other);
                match ssd.changed(&other) {
                    Ok(mut next) => {
                        if !fusing {
                            next.set_fusing(false);
                        }
                        (ssd, config) = (next, other);
                    }
                    Err(refused) => assert!(!refused.help.is_empty(), "{refused:?}"),
                }
            }
            ended(ssd)
        };
        prop_assert_eq!(changed(true), changed(false));
    }

    /// A change that is taken back in the same nanosecond is none, whatever was in service.
    #[test]
    fn a_change_that_is_taken_back_is_none(
        toml in device(), asks in requests(), change in 0..CHANGES.len(), time in 0u64..60_000_000,
    ) {
        if let Some((back, kept)) = taken_back(&toml, &asks, change, time) {
            prop_assert_eq!(back, kept);
        }
    }
}

proptest! {
    #![proptest_config(crate::common::worlds(200))]

    /// A write cache under other rules: its lines stay, and reach flash.
    #[test]
    fn a_cache_under_other_rules_loses_nothing(
        toml in device(), one in keys(), two in keys(), asks in requests(), time in 0u64..60_000_000,
    ) {
        let (config, mut other) = (with_cache(&toml, one), with_cache(&toml, two));
        other.cache.size = config.cache.size;
        if other.cache.buffers() != config.cache.buffers() {
            other.cache.write = config.cache.write;
        }
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        let flushes = crate::cache::submit_all(&mut ssd, &asks);
        ssd.run_before(Nanos(time));
        let mut ssd = ssd.changed(&other).unwrap_or_else(|error| panic!("{error}"));
        ssd.run();
        let summary = ssd.summary(7, String::new(), String::new());
        let cache = summary.cache.unwrap();
        if config.run.warmup.is_none() {
            prop_assert_eq!(cache.flushes, flushes);
            let programs = summary.flash.programs.host + summary.flash.programs.cache;
            prop_assert_eq!(programs, summary.pages.written - cache.absorbed - cache.trimmed);
        }
    }

    /// Queues under another arbitration: every request gets its slot.
    #[test]
    fn queues_under_another_arbitration_serve_all(
        toml in device(), asks in requests(), depth in 1u32..5, burst in 1u32..4, time in 0u64..60_000_000,
    ) {
        let mut config = plain(&toml);
        let queues = |more: &str| of(&format!("nvme = {{ {more}, queues = [{{ name = \"a\", match = \"rest\" }}, {{ name = \"b\", match = \"rest\" }}] }}")).nvme;
        config.nvme = queues("arbitration = \"rr\"");
        let mut other = config.clone();
        other.nvme = queues(&format!("arbitration = \"wrr\", burst = {burst}"));
        other.nvme.queues[1].weight = 3;
        other.nvme.queues[0].depth = Some(depth.min(config.device.queue_depth));
        if config.check().is_err() || other.check().is_err() {
            return Ok(());
        }
        let mut ssd = Ssd::new(&config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
        let page = ssd.page_bytes();
        let (pages, mut arrival) = (ssd.capacity_bytes() / page, 0);
        for (gap, kind, place, _) in &asks {
            arrival += gap / 4;
            let op = if *kind < 8 { RequestOp::Read } else { RequestOp::Write };
            let queue = kind % 2;
            let request = Request { arrival: Nanos(arrival), op, offset: u64::from(*place) % pages * page, bytes: page };
            let marks = Marks { queue, tenant: queue, ..Marks::default() };
            ssd.submit_marked(request, marks, std::iter::empty());
        }
        ssd.run_before(Nanos(time));
        let mut ssd = ssd.changed(&other).unwrap_or_else(|error| panic!("{error}"));
        ssd.run();
        prop_assert_eq!(ssd.completed(), asks.len() as u64);
    }
}

#[test]
fn what_the_state_rules_out_is_refused_by_name() {
    let mut ssd = Ssd::new(
        &of("geometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.4\ncache.size = \"64KiB\""),
        1,
        Check::Off,
    )
    .unwrap();
    ssd.submit(Request { arrival: Nanos(0), op: RequestOp::Write, offset: 0, bytes: 4096 });
    ssd.run_before(Nanos(1_000));
    for (toml, key) in [
        ("cache.size = \"128KiB\"", "cache.size"),
        ("cache = { size = \"64KiB\", write = \"through\" }", "cache.write"),
        ("cache.size = \"64KiB\"\nschemes.path = \"checked\"", "schemes.path"),
        ("cache.size = \"64KiB\"\ntiming.host_link = \"1GB/s\"", "timing.host_link"),
        (
            "cache.size = \"64KiB\"\nnvme = { arbitration = \"rr\", queues = [{ name = \"a\", match = \"rest\" }] }",
            "nvme.arbitration",
        ),
    ] {
        let other = of(&format!("geometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.4\n{toml}"));
        other.check().unwrap_or_else(|error| panic!("{error}"));
        let refused = ssd.changed(&other).err().unwrap_or_else(|| panic!("{toml}"));
        assert_eq!(refused.key, key, "{refused}");
        assert!(!refused.help.is_empty());
    }
}

/// One plane; a collection of 64 valid pages begins at 0 and takes 45,755,360 ns.
fn collecting() -> (Config, Ssd) {
    let mut config = of("geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16 }
device.over_provisioning = 0.25
schemes.victim = \"fifo\"
schemes.trigger = { idle = { after = \"0ns\", below = \"6 blocks\" } }
precondition = { mode = \"aged\", valid = 0.75, invalid = 0.000977 }");
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    for (arrival, offset) in [(1_000_000, 0), (2_000_000, 4096)] {
        ssd.submit(Request { arrival: Nanos(arrival), op: RequestOp::Read, offset, bytes: 4096 });
    }
    ssd.run_before(Nanos(1_500_000));
    config.schemes.collector = of("schemes.collector = \"preemptive\"").schemes.collector;
    config.schemes.path = of("schemes.path = \"copyback\"").schemes.path;
    (config, ssd)
}

#[test]
fn a_running_collection_ends_as_it_began() {
    let (config, ssd) = collecting();
    let last = |mut ssd: Ssd| {
        ssd.run();
        let read = ssd.summary(1, String::new(), String::new()).latency_ns.read;
        (read.min, read.max)
    };
    // Both reads wait for the collection, and the first for nothing else.
    let as_it_began = (Some(45_755_360 + 2 * 55_120 - 2_000_000), Some(45_755_360 + 55_120 - 1_000_000));
    assert_eq!(last(ssd.changed(&config).unwrap_or_else(|error| panic!("{error}"))), as_it_began);
    assert_eq!(last(ssd), as_it_began);
}
