//! Paper A, "Exploiting chip idleness": Figures 1 to 23, Tables I to III. `docs/papers/idle-chip.md` has the readings A1 to A7.

use ssdlab_lab::text::{duration, percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;
use ssdlab_trace::Info;

use crate::assumption::{Assumption, assume};
use crate::bench;
use crate::load::Load;
use crate::paper::Ours::{From, Mean, MeanOver, On, Over};
use crate::paper::{
    Item, Line, MB_PER_SECOND, MILLISECONDS, PERCENT, Paper, Scheme, TENTHS, claim, exact, factor, formula, grid,
    level, parameter, rows,
};
use crate::results::{
    Figure, Keys, Results, all_mean, close, figures_of, gc_threshold, read_mean, reported, write_mean,
};
use crate::row::Row;

pub(crate) static PAPER: Paper = Paper {
    letter: "a",
    name: "idle-chip",
    title: "Gao et al., Exploiting Chip Idleness for Minimizing Garbage Collection Induced Chip Access Conflict on SSDs",
    schemes: &[
        // Without a buffer idle-chip is serial, event for event, with the scheme's report.
        Scheme { name: "traditional", sets: &["schemes.collector=idle-chip", "staging.slots=0"] },
        Scheme { name: "zero-latency GC", sets: &["schemes.collector=serial", "staging.slots=0", "gc.time=none"] },
        Scheme {
            name: "preemptive",
            sets: &["schemes.collector=preemptive", "staging.slots=0", "gc.hard_threshold=0.005"],
        },
        Scheme { name: "DPR", sets: &["schemes.collector=serial", "staging.slots=0", "schemes.route=dpr"] },
        Scheme { name: "proposed", sets: &["schemes.collector=idle-chip", "staging.slots=128"] },
    ],
    workloads: &TRACES,
    quick: &["geometry.blocks_per_plane=256"],
    limits: [20_000, 3_000_000],
    items: ITEMS,
    under: &[
        (
            &["Fig 1", "Fig 14a", "Fig 14b", "Fig 15a", "Fig 15b", "Fig 16", "Fig 17", "Fig 18", "Fig 20", "Fig 21"],
            &BUSY,
        ),
        (&["Fig 19"], &SATURATED),
    ],
    load: Ok(Load {
        source: "\"approaching 150 MB/s\" of section 5.2.1, read as what each trace offers",
        scheme: "proposed",
        figure: megabytes,
        printed: &[150.0; 8],
        unit: |rate| format!("{rate:.1} MB/s"),
    }),
    assumptions: ASSUMPTIONS,
};

const TRACES: [&str; 8] = ["a.hm_0", "a.prn_0", "a.prn_1", "a.proj_0", "a.prxy_0", "a.stg_0", "a.usr_0", "a.wdev_0"];
/// The schemes of Figures 14 to 19.
const FOUR: &[&str] = &["traditional", "preemptive", "DPR", "proposed"];
const TRADITIONAL: &[&str] = &["traditional"];
const PROPOSED: &[&str] = &["proposed"];
const BOTH: &[&str] = &["traditional", "proposed"];

/// Valid pages of a collection, mean (Fig. 13).
const VALID: f64 = 22.1;
/// Fig. 4: shares of the time of a collection of 22.1 pages, from Table I.
const SHARES: [(&str, &str, &str); 4] = [
    ("read", "3.5 %", "22.1 x 30 us of it"),
    ("transfer", "9.7 %", "22.1 x 2 x 40.96 us of it"),
    ("program", "70.8 %", "22.1 x 600 us of it"),
    ("erase", "16.0 %", "3 ms of it"),
];
/// Table II: write ratio, working set in GB, accessed in GB, mean read and write in KB, sequential, mean gap in ms, bursts.
const TABLE_2: [[f64; 8]; 8] = [
    [62.9, 1.9, 33.3, 11.2, 12.4, 75.7, 14.4, 76.72],
    [89.3, 1.6, 72.1, 26.6, 13.9, 67.7, 12.0, 80.82],
    [30.8, 7.1, 43.3, 18.3, 13.8, 99.9, 5.9, 73.04],
    [79.1, 1.7, 58.7, 20.8, 19.5, 96.0, 30.6, 44.63],
    [97.4, 22.6, 32.0, 11.3, 7.5, 40.1, 4.84, 25.76],
    [76.9, 6.2, 82.2, 33.6, 12.7, 88.7, 27.4, 79.18],
    [62.9, 2.1, 99.7, 47.4, 13.5, 95.9, 27.5, 48.77],
    [79.9, 0.2, 44.9, 16.6, 12.1, 93.8, 52.8, 84.83],
];
/// Bandwidth of one type of request: proposed over each of the others.
type Bandwidth = (&'static str, Figure, [(&'static str, f64); 3]);
/// Fig. 19.
const BANDWIDTH: [Bandwidth; 3] = [
    ("read", read_rate, [("traditional", 1.11), ("preemptive", 1.09), ("DPR", 1.04)]),
    ("write", write_rate, [("traditional", 1.14), ("preemptive", 1.05), ("DPR", 1.06)]),
    ("all", all_rate, [("traditional", 1.14), ("preemptive", 1.07), ("DPR", 1.06)]),
];
/// Fig. 6 was measured on one chip a channel (A2).
const ONE_CHIP: Keys = &["geometry.chips_per_channel=1"];
/// Table III: the queue is always full, on a device without garbage.
const EMPTY: Keys = &["precondition.mode=none"];
const FILLED: Keys = &["precondition.mode=sequential"];
/// Fig. 21: 32 KB ... 4096 KB are 8 ... 1024 pages.
const KB_32: Keys = &["staging.slots=8"];
const KB_512: Keys = &["staging.slots=128"];
const KB_4096: Keys = &["staging.slots=1024"];
const BUFFERS: [Keys; 8] = [
    KB_32,
    &["staging.slots=16"],
    &["staging.slots=32"],
    &["staging.slots=64"],
    KB_512,
    &["staging.slots=256"],
    &["staging.slots=512"],
    KB_4096,
];
/// Fig. 22: 8 ... 256 GiB. The paper varies blocks a plane; its 8 ... 256 GB are 128 ... 4096 blocks if Table I's 1024 are 64 GiB.
const SIZES: [Keys; 6] = [
    &["geometry.blocks_per_plane=128"],
    &["geometry.blocks_per_plane=256"],
    &["geometry.blocks_per_plane=512"],
    &["geometry.blocks_per_plane=1024"],
    &["geometry.blocks_per_plane=2048"],
    &["geometry.blocks_per_plane=4096"],
];
/// Fig. 23: chips, and the array. The paper does not say what stays the same; here the blocks of a plane do, and channels come first.
const ARRAYS: [(u32, Keys); 5] = [
    (4, &["geometry.channels=4", "geometry.chips_per_channel=1"]),
    (8, &["geometry.channels=8", "geometry.chips_per_channel=1"]),
    (16, &["geometry.channels=16", "geometry.chips_per_channel=1"]),
    (32, &["geometry.channels=16", "geometry.chips_per_channel=2"]),
    (64, &["geometry.channels=16", "geometry.chips_per_channel=4"]),
];

const HARD: &str = "gap of preemptive GC";
/// The hard threshold that goes with a narrow gap: three pages of the 65,536 of a plane below the trigger.
const NARROW: &[(&str, Keys)] = &[("preemptive", &["gc.hard_threshold=0.04995"])];
/// Figures 1, 14 to 18, 20 and 21: with these three the paper's figures come out together. At the traces' own rates its device would
/// be idle nearly always (A8), and under dynamic placement a write never waits for a collection.
static BUSY: Assumption =
    assume(BOUND_WRITES, "round robin, 20 times the rate, gap of 3 pages", &["schemes.place=round-robin"])
        .own(NARROW)
        .times("0.05");
/// Fig. 19: bandwidth means something where requests wait.
static SATURATED: Assumption =
    assume(BOUND_WRITES, "round robin, closed loop of 64, gap of 3 pages", &["schemes.place=round-robin"])
        .own(NARROW)
        .closed();
const BOUND_WRITES: &str = "places of host writes, rate, gap of preemptive GC";
/// With static places pages of the buffer return to their own planes.
const HOME: &str = "schemes.collector.idle-chip.to=own_plane";
const BOUND: &[(&str, Keys)] = &[("proposed", &[HOME])];
const DYNAMIC: Keys = &["schemes.place=dynamic"];
const ON_CHANNELS: Keys = &["schemes.place=CWDP", "device.exclusion=channel"];
const RATE: &str = "arrival rate";
/// What the paper leaves open.
const ASSUMPTIONS: &[Assumption] = &[
    assume(BOUND_WRITES, "dynamic, as recorded, 4.5 points: the preset", DYNAMIC)
        .own(&[("preemptive", &["gc.hard_threshold=0.005"])])
        .times("1"),
    assume(BOUND_WRITES, "dynamic, 20 times the rate, gap of 3 pages", DYNAMIC),
    assume(HARD, "4.5 points below the trigger", &[]).own(&[("preemptive", &["gc.hard_threshold=0.005"])]),
    assume(HARD, "0.1 points below the trigger", &[]).own(&[("preemptive", &["gc.hard_threshold=0.049"])]),
    assume(RATE, "as recorded", &[]).times("1"),
    assume(RATE, "5 times", &[]).times("0.2"),
    assume(RATE, "10 times", &[]).times("0.1"),
    assume(RATE, "50 times", &[]).times("0.02"),
    assume("arrivals", "closed loop of 64", &[]).closed(),
    assume("segments of the buffer", "one by one", &[])
        .own(&[("proposed", &["schemes.collector={ idle-chip = { segments = \"one_by_one\" } }"])]),
    assume("unit of exclusion", "channel", &["device.exclusion=channel"]),
    assume("bound host writes", "CWDP", &["schemes.place=CWDP"]).own(BOUND),
    assume("bound host writes", "CWDP, 5 times", &["schemes.place=CWDP"]).own(BOUND).times("0.2"),
    assume("bound host writes", "CWDP, channel, 5 times", ON_CHANNELS).own(BOUND).times("0.2"),
    assume("where free pages count", "device", &["gc.scope=device"]),
    assume("write points", "shared", &["ftl.write_points=shared"]),
    assume("wear levelling", "none", &["ftl.wear_levelling=none"]),
    assume("fill", "random overwrites", &["precondition.mode=random"]),
    assume("queue depth", "5", &["device.queue_depth=5"]),
    assume("victims", "FIFO, 5 times", &["schemes.victim=fifo"]).times("0.2"),
    assume(
        "its simulator's ways",
        "bus held in GC, shared write point, trigger of the device, depth 5",
        &["device.exclusion=channel", "ftl.write_points=shared", "gc.scope=device", "device.queue_depth=5"],
    ),
];

const INTERPOLATED: &str = "a run of one collection with 22 valid pages and one with 23, interpolated";
const MODEL_NOTE: &str = "ours: the model's first 1,000,000 requests; agrees: every figure but the working set, which needs the full length, within 5 %";
const BANDWIDTH_NOTE: &str =
    "64 requests outstanding at all times; formula: pages of the type / (last completion - first arrival)";
const LITTLE_NOTE: &str = "agrees: less improvement than in the mean";
const CONFLICTS_NOTE: &str =
    "agrees: fewer in all traces; conflicts of sub-requests with collections, and those that write-backs add";
const CONFLICTED_NOTE: &str =
    "normalised sum of the latency of conflicted requests; the paper does not define its measure";
const RAW_NOTE: &str = "A5: the queue depth is not stated; ours is 64, always full, on a device without garbage";
const BUFFER_NOTE: &str = "A6: together with Fig. 14a the paper's figure would make a 32 KB buffer slower than no buffer; ours are means over traces";
const CHIPS_NOTE: &str = "the paper does not say what stays the same with fewer chips; here the blocks of a plane do, and traces that no longer fit are left out";

const ITEMS: &[Item] = &[
    Item {
        id: "Fig 1",
        title: "latency with GC over latency with zero-latency GC",
        runs: &[grid(&TRACES, &["traditional", "zero-latency GC"])],
        lines: &[
            factor("read, mean of the traces", 4.7, MeanOver("traditional", "zero-latency GC", read_mean)),
            factor("write, mean of the traces", 2.9, MeanOver("traditional", "zero-latency GC", write_mean)),
            factor("read, prn_0", 3.5, Over("a.prn_0", "traditional", "zero-latency GC", read_mean)),
            factor("read, proj_0", 2.6, Over("a.proj_0", "traditional", "zero-latency GC", read_mean)),
            factor("write, prn_0", 2.9, Over("a.prn_0", "traditional", "zero-latency GC", write_mean)),
            claim("read of prn_0 and proj_0", "less than the mean", |r| {
                below_mean(r, &["a.prn_0", "a.proj_0"], ("traditional", "zero-latency GC"), read_mean)
            }),
        ],
    },
    Item {
        id: "Fig 4",
        title: "cost of a collection by kind, traditional",
        runs: &[grid(&TRACES, TRADITIONAL)],
        lines: &[rows(cost_of_one), rows(cost_by_workload)],
    },
    Item {
        id: "Fig 6",
        title: "GC in idle periods; idle chips during GC (16 channels x 1 chip, A2)",
        runs: &[grid(&TRACES, TRADITIONAL).with(&[ONE_CHIP])],
        lines: &[
            level(
                "collections that began in idle periods",
                17.7,
                From(|r| on_one_chip(r, "/idle_chip/gc_starts/in_idle_periods_share")),
                PERCENT,
            ),
            level(
                "idle chips when a collection began with requests outstanding",
                21.0,
                From(|r| on_one_chip(r, "/idle_chip/gc_starts/idle_chips_share")),
                PERCENT,
            )
            .note("stated as more than 21 %"),
        ],
    },
    Item {
        id: "Fig 9",
        title: "reservation",
        runs: &[],
        lines: &[formula("6 free slots, collections of 3, 2, 2 valid pages reserve", "3, 2, 1", |_| {
            Some(reserved(6, [3, 2, 2]))
        })
        .note("the rule min(free slots, remaining valid pages); as a run it is a test of the scheme")],
    },
    Item {
        id: "Table I",
        title: "parameters",
        runs: &[],
        lines: &[
            parameter("channels", "16", |r| r.preset.geometry.channels.to_string()),
            parameter("chips a channel", "4", |r| r.preset.geometry.chips_per_channel.to_string()),
            parameter("dies a chip", "2", |r| r.preset.geometry.dies_per_chip.to_string()),
            parameter("planes a die", "2", |r| r.preset.geometry.planes_per_die.to_string()),
            parameter("blocks a plane", "1024", |r| r.preset.geometry.blocks_per_plane.to_string()),
            parameter("pages a block", "64", |r| r.preset.geometry.pages_per_block.to_string()),
            parameter("page", "4KiB", |r| r.preset.geometry.page_size.to_string()),
            parameter("read", "30us", |r| r.preset.timing.read.types()[0].to_string()),
            parameter("program", "600us", |r| r.preset.timing.program.types()[0].to_string()),
            parameter("erase", "3ms", |r| r.preset.timing.erase.to_string()),
            parameter("transfer", "10ns/B", |r| r.preset.timing.transfer.to_string()),
            parameter("reserved space", "15 %", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
            parameter("GC threshold", "5 %", |r| gc_threshold(&r.preset)),
            parameter("queue", "64", |r| r.preset.device.queue_depth.to_string()),
            parameter("capacity", "128 GiB", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0))
                .note("A1: the text says 128 GB, Table I multiplies to 64 GiB; the table is taken as printed"),
            parameter("valid page buffer, pages", "128", |r| {
                r.config("proposed").map_or("-".into(), |config| config.staging.slots.to_string())
            }),
        ],
    },
    Item { id: "Table II", title: "trace characteristics", runs: &[], lines: &[rows(traces)] },
    Item {
        id: "Fig 13",
        title: "host pages written and valid pages moved a collection",
        runs: &[grid(&TRACES, TRADITIONAL)],
        lines: &[
            level("host pages a collection, mean", 43.5, Mean("traditional", host_pages), TENTHS),
            level("pages moved a collection, mean", VALID, Mean("traditional", moved), TENTHS),
            level("their sum", 65.6, From(pages_of_a_collection), TENTHS)
                .derived("43.5 + 22.1")
                .note("in steady state exactly the pages of a block, 64; more if host pages from before the first collection count"),
        ],
    },
    Item {
        id: "Fig 14a",
        title: "read latency, normalised",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            factor("proposed over traditional", 0.595, MeanOver("proposed", "traditional", read_mean)),
            factor("proposed over preemptive", 0.673, MeanOver("proposed", "preemptive", read_mean)),
            factor("proposed over DPR", 0.854, MeanOver("proposed", "DPR", read_mean)),
            factor("preemptive over traditional", 0.884, MeanOver("preemptive", "traditional", read_mean))
                .derived("0.595 / 0.673"),
            factor("DPR over traditional", 0.697, MeanOver("DPR", "traditional", read_mean))
                .derived("0.595 / 0.854"),
            claim("prn_0 and proj_0, proposed over traditional", "little improvement", |r| {
                gain_little(r, &["a.prn_0", "a.proj_0"], read_mean)
            })
            .note(LITTLE_NOTE),
            rows(|r| by_trace(r, read_mean)),
        ],
    },
    Item {
        id: "Fig 14b",
        title: "conflicted read latency, normalised",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            factor("preemptive over traditional", 0.853, MeanOver("preemptive", "traditional", read_conflicted))
                .note(CONFLICTED_NOTE),
            claim("order", "DPR below proposed", |r| {
                conflicted(r, read_conflicted, |dpr, proposed| dpr < proposed)
            }),
            rows(|r| proposed_conflicted(r, read_conflicted)),
        ],
    },
    Item {
        id: "Fig 15a",
        title: "write latency, normalised",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            factor("proposed over traditional", 0.784, MeanOver("proposed", "traditional", write_mean)),
            factor("proposed over preemptive", 0.857, MeanOver("proposed", "preemptive", write_mean)),
            factor("proposed over DPR", 0.796, MeanOver("proposed", "DPR", write_mean)),
            factor("preemptive over traditional", 0.914, MeanOver("preemptive", "traditional", write_mean)),
            claim("DPR over traditional", "similar", |r| {
                let ratio = r.mean_ratio("DPR", "traditional", write_mean)?;
                Some((format!("{ratio:.3}x"), (ratio - 1.0).abs() < 0.05))
            }),
            claim("prn_0, proposed over traditional", "little improvement", |r| {
                gain_little(r, &["a.prn_0"], write_mean)
            })
            .note(LITTLE_NOTE),
            rows(|r| by_trace(r, write_mean)),
        ],
    },
    Item {
        id: "Fig 15b",
        title: "conflicted write latency, normalised",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            factor("preemptive over traditional", 0.963, MeanOver("preemptive", "traditional", write_conflicted))
                .note(CONFLICTED_NOTE),
            claim("order", "DPR worst", |r| {
                conflicted(r, write_conflicted, |dpr, proposed| dpr > proposed && dpr > 0.963)
            }),
            rows(|r| proposed_conflicted(r, write_conflicted)),
        ],
    },
    Item {
        id: "Fig 16",
        title: "latency of all requests, normalised",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            factor("proposed over traditional", 0.758, MeanOver("proposed", "traditional", all_mean)),
            factor("preemptive over traditional", 0.910, MeanOver("preemptive", "traditional", all_mean)),
            factor("DPR over traditional", 0.946, MeanOver("DPR", "traditional", all_mean)),
            rows(|r| by_trace(r, all_mean)),
        ],
    },
    Item {
        id: "Fig 17",
        title: "share of valid pages moved through the buffer; conflicts that it saves",
        runs: &[grid(&TRACES, BOTH)],
        lines: &[
            level("mean", 48.6, Mean("proposed", buffered), PERCENT),
            level("stg_0", 98.6, On("a.stg_0", "proposed", buffered), PERCENT),
            claim("conflicts with GC and write-backs, proposed over traditional", "highly reduced", fewer_conflicts)
                .note(CONFLICTS_NOTE),
            rows(|r| r.by_workload(r.workloads, PROPOSED, "traditional", conflicts)),
        ],
    },
    Item {
        id: "Fig 18",
        title: "cost of a collection, proposed",
        runs: &[grid(&TRACES, BOTH)],
        lines: &[
            formula("chip held, 22.1 pages all buffered", "4.568 ms", |r| Some(chip_held(r)))
                .derived("22.1 x 70.96 us + 3 ms")
                .note("v (tR + tX) + tBERS; as a run it is a test of the scheme"),
            claim("time of a collection, proposed over traditional", "highly reduced", cheaper_collections)
                .note("agrees: less in all traces"),
            rows(costs_of_proposed),
        ],
    },
    Item {
        id: "Table III",
        title: "raw bandwidth",
        runs: &[
            grid(&["sequential-write", "random-write"], TRADITIONAL).with(&[EMPTY]),
            grid(&["sequential-read", "random-read"], TRADITIONAL).with(&[FILLED]),
        ],
        lines: &[
            raw("sequential writes of 64 KiB", 192.5, |r| bandwidth(r, "sequential-write", EMPTY)),
            raw("sequential reads of 64 KiB", 202.5, |r| bandwidth(r, "sequential-read", FILLED)),
            raw("random writes of 4 KiB", 102.8, |r| bandwidth(r, "random-write", EMPTY)),
            raw("random reads of 4 KiB", 92.1, |r| bandwidth(r, "random-read", FILLED)),
        ],
    },
    Item {
        id: "Fig 19",
        title: "bandwidth of reads, writes and all",
        runs: &[grid(&TRACES, FOUR)],
        lines: &[
            level("all, proposed", 150.0, Mean("proposed", megabytes), MB_PER_SECOND)
                .note("the text: \"approaching 150 MB/s\"; ours: bytes that the host asked for"),
            rows(bandwidths),
        ],
    },
    Item {
        id: "Fig 20",
        title: "the buffer",
        runs: &[grid(&TRACES, PROPOSED)],
        lines: &[
            level("mean time a page waits in it", 44e6, Mean("proposed", buffer_waiting), MILLISECONDS),
            level("write-back on power loss, mean", 1.84e6, Mean("proposed", drain), MILLISECONDS)
                .unattainable()
                .note("A4: the paper's mean exceeds the most that its own Eq 1 gives with Table I, 1.288 ms"),
            rows(buffer_pages),
        ],
    },
    Item {
        id: "Eq 1",
        title: "write-back on power loss",
        runs: &[],
        lines: &[exact("128 pages on 64 chips", "1.288 ms", |r| Some(write_back(r, 128)))
            .derived("128 x 50 ns + 2 x 640.96 us")
            .note("n tDRAM + floor(n / chips) (tX + tPROG), tDRAM 50 ns")],
    },
    Item {
        id: "Fig 21",
        title: "latency and the size of the buffer",
        runs: &[grid(&TRACES, PROPOSED).with(&BUFFERS)],
        lines: &[
            factor("read, 512 KB over 32 KB", 0.349, From(|r| buffers(r, KB_512, KB_32, read_mean))).note(BUFFER_NOTE),
            factor("write, 512 KB over 32 KB", 0.241, From(|r| buffers(r, KB_512, KB_32, write_mean))).note(BUFFER_NOTE),
            factor("read, 4096 KB over 512 KB", 0.889, From(|r| buffers(r, KB_4096, KB_512, read_mean))),
            factor("write, 4096 KB over 512 KB", 0.897, From(|r| buffers(r, KB_4096, KB_512, write_mean))),
            rows(by_buffer),
        ],
    },
    Item {
        id: "Fig 22",
        title: "latency of wdev_0 and the size of the device",
        runs: &[grid(&["a.wdev_0"], BOTH).with(&SIZES)],
        lines: &[
            claim("traditional, 8 to 256 GiB", "falls with size", |r| falls_with_size(r, "traditional")),
            claim("proposed, 8 to 256 GiB", "falls with size", |r| falls_with_size(r, "proposed")),
            claim("256 GiB, proposed over traditional", "similar", similar_at_last)
                .note("agrees: within 5 %; the largest device has no collection if the run is short"),
        ],
    },
    Item {
        id: "Fig 23",
        title: "normalised latency on 4 to 64 chips",
        runs: &[grid(&TRACES, BOTH).with(&[ARRAYS[0].1, ARRAYS[1].1, ARRAYS[2].1, ARRAYS[3].1, ARRAYS[4].1])],
        lines: &[rows(|r| ARRAYS.into_iter().flat_map(|(chips, array)| better_on(r, chips, array)).collect())],
    },
];

fn moved(s: &Summary) -> Option<f64> {
    s.gc.moved_per_collection
}

fn host_pages(s: &Summary) -> Option<f64> {
    s.gc.host_pages_per_collection
}

fn seconds(s: &Summary) -> Option<f64> {
    (s.simulated_ns > 0).then(|| s.simulated_ns as f64 / 1e9)
}

fn read_rate(s: &Summary) -> Option<f64> {
    Some(s.pages.read as f64 / seconds(s)?)
}

fn write_rate(s: &Summary) -> Option<f64> {
    Some(s.pages.written as f64 / seconds(s)?)
}

fn all_rate(s: &Summary) -> Option<f64> {
    Some((s.pages.read + s.pages.written) as f64 / seconds(s)?)
}

fn read_conflicted(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicted/read/latency_ns")
}

fn write_conflicted(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicted/write/latency_ns")
}

fn buffered(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/moves/buffered_share")
}

fn buffer_waiting(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/buffer_waiting_ns/mean")
}

fn drain(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/power_loss/drain_mean_ns")
}

/// Conflicts of sub-requests, those that write-backs add included.
fn conflicts(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicts/total")
}

/// Time in which a collection holds its chip.
fn time_of_collection(s: &Summary) -> Option<f64> {
    (s.gc.collections > 0).then(|| bench::total(&s.gc.time_ns) as f64 / s.gc.collections as f64)
}

/// Whether a figure of a scheme over that of another is lower on some traces than in the mean of all.
fn below_mean(r: &Results, traces: &[&str], (scheme, base): (&str, &str), figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio(scheme, base, figure)?;
    let ratios: Option<Vec<f64>> = traces.iter().map(|trace| r.ratio(trace, scheme, base, figure)).collect();
    let ratios = ratios?;
    let text: Vec<String> =
        traces.iter().zip(&ratios).map(|(trace, ratio)| format!("{} {ratio:.3}x", &trace[2..])).collect();
    Some((format!("{}, mean {mean:.3}x", text.join(", ")), ratios.iter().all(|ratio| *ratio < mean)))
}

/// Traces on which the proposed scheme gains less than in the mean.
fn gain_little(r: &Results, traces: &[&str], figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio("proposed", "traditional", figure)?;
    let (text, _) = below_mean(r, traces, ("proposed", "traditional"), figure)?;
    let above = |trace: &&str| r.ratio(trace, "proposed", "traditional", figure).is_some_and(|ratio| ratio > mean);
    Some((text, traces.iter().all(above)))
}

/// The mean of a figure of the proposed scheme over traditional's, and whether it is less in all traces.
fn less_in_all(r: &Results, figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio("proposed", "traditional", figure)?;
    let less = |trace| r.ratio(trace, "proposed", "traditional", figure).is_some_and(|ratio| ratio < 1.0);
    Some((format!("{mean:.3}x in the mean"), r.present().all(less)))
}

/// Fig. 17.
fn fewer_conflicts(r: &Results) -> Option<(String, bool)> {
    less_in_all(r, conflicts)
}

/// Fig. 18.
fn cheaper_collections(r: &Results) -> Option<(String, bool)> {
    less_in_all(r, time_of_collection)
}

/// Fig. 18, trace by trace.
fn costs_of_proposed(r: &Results) -> Vec<Row> {
    let row = |workload| {
        let summary = r.summary(workload, "proposed")?;
        let time = time_of_collection(summary)?;
        Some(Row::stated(workload, format!("{:.3} ms a collection: {}", time / 1e6, cost_shares(summary))))
    };
    r.present().filter_map(row).collect()
}

/// Latency over traditional's, trace by trace.
fn by_trace(r: &Results, figure: Figure) -> Vec<Row> {
    r.by_workload(r.workloads, &["preemptive", "DPR", "proposed"], "traditional", figure)
}

/// Fig. 4: one collection of 22.1 pages.
fn cost_of_one(r: &Results) -> Vec<Row> {
    let Some(times) = bench::between(r.config("traditional").unwrap_or(&r.preset), VALID) else { return Vec::new() };
    let sum: f64 = times.iter().sum();
    let whole = Row::exact("a collection of 22.1 pages", "18.733 ms", format!("{:.3} ms", sum / 1e6))
        .derived("22.1 x 711.92 us + 3 ms")
        .note(INTERPOLATED);
    let share = |((name, stated, arithmetic), time): (&(&str, &str, &str), f64)| {
        let ours = format!("{:.1} %", time / sum * 100.0);
        Row::exact(format!("share of {name}"), *stated, ours).derived(arithmetic)
    };
    std::iter::once(whole).chain(SHARES.iter().zip(times).map(share)).collect()
}

/// Shares of the time of collections by kind.
fn cost_shares(s: &Summary) -> String {
    let t = &s.gc.time_ns;
    let sum = bench::total(t).max(1) as f64;
    let [read, transfer, program, erase] =
        [t.read, t.transfer, t.program, t.erase].map(|ns| format!("{:.1} %", ns as f64 / sum * 100.0));
    format!("read {read}, transfer {transfer}, program {program}, erase {erase}")
}

/// Fig. 4: the same shares in the runs.
fn cost_by_workload(r: &Results) -> Vec<Row> {
    let shares = |s: &Summary| {
        let t = &s.gc.time_ns;
        (cost_shares(s), t.program > t.erase && t.program > t.transfer && t.program > t.read)
    };
    let row = |workload: &&'static str| {
        let summary = r.summary(workload, "traditional").filter(|s| s.gc.collections > 0);
        Row::claim(*workload, "program dominates", summary.map(shares)).constructed()
    };
    r.workloads.iter().map(row).collect()
}

/// Fig. 6: the mean over the traces that have the figure.
fn on_one_chip(r: &Results, pointer: &str) -> Option<f64> {
    let figure = |workload| reported(r.varied(workload, "traditional", ONE_CHIP)?, pointer);
    let figures: Vec<f64> = r.present().filter_map(figure).collect();
    (!figures.is_empty()).then(|| student::mean(&figures))
}

/// Fig. 9: slots that each collection reserves, one after the other.
fn reserved(mut free: u64, valid: [u64; 3]) -> String {
    let reserve = valid.map(|valid| {
        let slots = free.min(valid);
        free -= slots;
        slots.to_string()
    });
    reserve.join(", ")
}

/// Table II of the models.
fn traces(_: &Results) -> Vec<Row> {
    let text = |f: [f64; 8]| {
        format!(
            "{:.1} % writes, set {:.1} GB, {:.1}/{:.1} KB, seq {:.1} %, gap {:.2} ms, bursts {:.1} %",
            f[0], f[1], f[3], f[4], f[5], f[6], f[7]
        )
    };
    let row = |(name, stated): (&&'static str, [f64; 8])| {
        let ours = figures_of(name).map(|info| {
            let figures = columns_of_table_2(&info, stated[2]);
            let near = (0..8).filter(|column| *column != 1).all(|i| close(figures[i], stated[i]));
            (text(figures), near)
        });
        Row::claim(*name, text(stated), ours).input().note(MODEL_NOTE)
    };
    TRACES.iter().zip(TABLE_2).map(row).collect()
}

/// The columns of Table II; what is accessed depends on the length of the trace, so the paper's stands.
fn columns_of_table_2(info: &Info, accessed: f64) -> [f64; 8] {
    [
        (1.0 - info.read_ratio) * 100.0,
        (info.footprint_pages * ssdlab_trace::INFO_PAGE_BYTES) as f64 / f64::from(1 << 30),
        accessed,
        info.mean_read_bytes / 1024.0,
        info.mean_write_bytes / 1024.0,
        info.sequential_share * 100.0,
        info.interarrival_mean_ns / 1e6,
        info.burst_share * 100.0,
    ]
}

fn pages_of_a_collection(r: &Results) -> Option<f64> {
    Some(r.mean("traditional", host_pages)? + r.mean("traditional", moved)?)
}

/// Figures 14b and 15b: the latency of requests that met collections, summed, over traditional's.
fn conflicted(r: &Results, figure: Figure, holds: fn(f64, f64) -> bool) -> Option<(String, bool)> {
    let dpr = r.mean_ratio("DPR", "traditional", figure)?;
    let proposed = r.mean_ratio("proposed", "traditional", figure)?;
    Some((format!("DPR {dpr:.3}x, proposed {proposed:.3}x"), holds(dpr, proposed)))
}

fn proposed_conflicted(r: &Results, figure: Figure) -> Vec<Row> {
    let ratio = r.mean_ratio("proposed", "traditional", figure);
    ratio.map(|ratio| Row::stated("proposed over traditional", format!("{ratio:.3}x"))).into_iter().collect()
}

/// Time to read a page and to move it over the bus, and to move it alone.
fn page_times(r: &Results) -> [u64; 2] {
    let t = &r.preset.timing;
    let transfer = t.transfer.time(r.preset.geometry.page_size.0).0;
    [t.read.types()[0].0 + transfer, transfer]
}

/// Fig. 18.
fn chip_held(r: &Results) -> String {
    let [read, _] = page_times(r);
    let held = VALID * read as f64 + r.preset.timing.erase.0 as f64;
    format!("{:.3} ms", held / 1e6)
}

/// Eq 1.
fn write_back(r: &Results, pages: u64) -> String {
    const DRAM_NS: u64 = 50;
    let [_, transfer] = page_times(r);
    let chips = u64::from(r.preset.geometry.channels * r.preset.geometry.chips_per_channel);
    let ns = pages * DRAM_NS + pages / chips * (transfer + r.preset.timing.program.types()[0].0);
    format!("{:.3} ms", ns as f64 / 1e6)
}

/// A line of Table III.
const fn raw(what: &'static str, paper: f64, ours: fn(&Results) -> Option<f64>) -> Line {
    level(what, paper, From(ours), MB_PER_SECOND).note(RAW_NOTE)
}

/// Table III: millions of bytes a second.
fn bandwidth(r: &Results, workload: &str, device: Keys) -> Option<f64> {
    let pages = all_rate(r.varied(workload, "traditional", device)?)?;
    Some(pages * r.preset.geometry.page_size.0 as f64 / 1e6)
}

/// Millions of bytes that the host reads and writes a second.
fn megabytes(s: &Summary) -> Option<f64> {
    Some((s.host_read_bytes_per_s? + s.host_written_bytes_per_s?) / 1e6)
}

/// Fig. 19.
fn bandwidths(r: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, figure, stated) in BANDWIDTH {
        for (other, factor) in stated {
            let ours = r.mean_ratio("proposed", other, figure);
            rows.push(r.seal(Row::factor(format!("{name}, proposed over {other}"), factor, ours).note(BANDWIDTH_NOTE)));
        }
    }
    rows
}

/// Fig. 20, trace by trace.
fn buffer_pages(r: &Results) -> Vec<Row> {
    let row = |workload| {
        let pages = reported(r.summary(workload, "proposed")?, "/idle_chip/buffer/pages_mean")?;
        Some(Row::stated(format!("{workload}: mean pages in it"), format!("{pages:.1}")))
    };
    r.present().filter_map(row).collect()
}

/// Fig. 21: the mean latency with one buffer over that with another.
fn buffers(r: &Results, to: Keys, from: Keys, figure: Figure) -> Option<f64> {
    Some(r.mean_varied("proposed", to, figure)? / r.mean_varied("proposed", from, figure)?)
}

/// Fig. 21: latencies over those with the smallest buffer.
fn by_buffer(r: &Results) -> Vec<Row> {
    let row = |(keys, kib): (&Keys, u32)| {
        let [read, write] = [read_mean, write_mean].map(|figure: Figure| buffers(r, keys, KB_32, figure));
        let (read, write) = (read?, write?);
        Some(Row::stated(format!("{kib} KB over 32 KB"), format!("read {read:.3}x, write {write:.3}x")))
    };
    BUFFERS.iter().zip((5..).map(|power| 1 << power)).filter_map(row).collect()
}

/// Fig. 22: what a size costs under a scheme.
fn mean_at(r: &Results, scheme: &str, size: Keys) -> Option<f64> {
    all_mean(r.varied("a.wdev_0", scheme, size)?)
}

fn similar_at_last(r: &Results) -> Option<(String, bool)> {
    let largest = SIZES[SIZES.len() - 1];
    let ratio = mean_at(r, "proposed", largest)? / mean_at(r, "traditional", largest)?;
    Some((format!("{ratio:.3}x"), (ratio - 1.0).abs() < 0.05))
}

/// Fig. 22.
fn falls_with_size(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let mean = |keys: &Keys| mean_at(r, scheme, keys);
    let means: Option<Vec<f64>> = SIZES.iter().map(mean).collect();
    let means = means?;
    let text: Vec<String> = means.iter().map(|ns| duration(*ns)).collect();
    Some((text.join(" > "), means.windows(2).all(|pair| pair[0] >= pair[1])))
}

/// Fig. 23: the rows of an array: all traces but prn_1, and prn_1, which the paper excepts.
fn better_on(r: &Results, chips: u32, array: Keys) -> Vec<Row> {
    let ratio = |workload: &&'static str| {
        let mean = |scheme| all_mean(r.varied(workload, scheme, array)?);
        Some((*workload, mean("proposed")? / mean("traditional")?))
    };
    let ratios: Vec<(&str, f64)> = TRACES.iter().filter_map(ratio).collect();
    let (excepted, others): (Vec<_>, Vec<_>) = ratios.into_iter().partition(|(w, _)| *w == "a.prn_1");
    let text: Vec<String> = others.iter().map(|(w, ratio)| format!("{} {ratio:.3}x", &w[2..])).collect();
    let holds = others.iter().all(|(_, ratio)| *ratio < 1.0);
    let ours = (!others.is_empty()).then(|| (text.join(", "), holds));
    let what = format!("{chips} chips, proposed over traditional");
    let all = r.seal(Row::claim(what, "better, prn_1 excepted", ours).note(CHIPS_NOTE));
    let own = excepted.first().map(|(_, ratio)| (format!("{ratio:.3}x"), *ratio >= 1.0));
    vec![all, r.seal(Row::claim(format!("{chips} chips, prn_1"), "not better", own).note(CHIPS_NOTE))]
}
