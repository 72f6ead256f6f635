//! Paper C, BRR: Figures 3 to 14, Tables I and II. `docs/papers/brr.md` has the readings C1 to C4.

use ssdlab_lab::text::{percent_exact, size};
use ssdlab_sim::report::Summary;

use crate::assumption::{Assumption, assume};
use crate::load::Load;
use crate::paper::Ours::{From, Mean, MeanOver, Over};
use crate::paper::{Item, PERCENT, Paper, Scheme, claim, factor, formula, grid, level, parameter, rows};
use crate::results::{Keys, Results, close, figures_of};
use crate::row::Row;

const LCI: &str = "raid.layout=lci";
const CHIP_QUEUE: &str = "order.chip_queue=8";

pub(crate) static PAPER: Paper = Paper {
    letter: "c",
    name: "brr",
    title: "Liang et al., Improving Read Performance of SSDs via Balanced Redirected Read",
    schemes: &[
        Scheme { name: "Async_FIFO", sets: &[LCI, CHIP_QUEUE, "schemes.order=async-fifo", "schemes.route=direct"] },
        Scheme { name: "PIQ", sets: &[LCI, CHIP_QUEUE, "schemes.order=piq", "schemes.route=direct"] },
        Scheme { name: "BRR", sets: &[LCI, CHIP_QUEUE, "schemes.order=piq", "schemes.route=brr"] },
    ],
    workloads: &TRACES,
    quick: &["geometry.blocks_per_plane=1024"],
    limits: [30_000, 3_000_000],
    items: ITEMS,
    under: &[(&["Fig 6", "Fig 10", "Fig 11", "Fig 12", "Fig 13", "Fig 14"], &LOADED)],
    load: Ok(Load {
        source: "the chip utilisation of Table II",
        scheme: "Async_FIFO",
        figure: busy,
        printed: &UTILISATION,
        unit: |share| format!("{:.1} %", share * 100.0),
    }),
    assumptions: ASSUMPTIONS,
};

const TRACES: [&str; 12] = [
    "c.hm_0",
    "c.hm_1",
    "c.prn_0",
    "c.prn_1",
    "c.proj_1",
    "c.proj_3",
    "c.prxy_0",
    "c.rsrch_0",
    "c.src2_0",
    "c.stg_0",
    "c.usr_0",
    "c.wdev_0",
];
const FIFO: &[&str] = &["Async_FIFO"];
const BRR: &[&str] = &["BRR"];
const ALL: &[&str] = &["Async_FIFO", "PIQ", "BRR"];

/// Table II: read ratio, mean size in KB, chip utilisation.
const TABLE_2: [[f64; 3]; 12] = [
    [0.35503, 8.887619, 0.157154],
    [0.953365, 15.166593, 0.349508],
    [0.107858, 12.537686, 0.202753],
    [0.753449, 19.807669, 0.272018],
    [0.894376, 34.6365015, 0.278648],
    [0.94817, 9.749589, 0.285729],
    [0.030635, 7.073009, 0.085106],
    [0.093206, 9.0778855, 0.214134],
    [0.113447, 7.594609, 0.20702],
    [0.151871, 11.9593995, 0.197961],
    [0.404168, 22.815757, 0.239402],
    [0.200767, 9.281464, 0.235306],
];
/// The last column.
const UTILISATION: [f64; 12] = {
    let mut column = [0.0; 12];
    let mut row = 0;
    while row < 12 {
        column[row] = TABLE_2[row][2];
        row += 1;
    }
    column
};
/// Fig. 13.
const QUEUE_1: Keys = &["device.queue_depth=1"];
const QUEUE_32: Keys = &["device.queue_depth=32"];
const QUEUE_256: Keys = &["device.queue_depth=256"];
const QUEUES: [(u32, Keys); 6] = [
    (1, QUEUE_1),
    (4, &["device.queue_depth=4"]),
    (16, &["device.queue_depth=16"]),
    (32, QUEUE_32),
    // The preset's.
    (64, &[]),
    (256, QUEUE_256),
];
/// Fig. 14.
const GROUP_4: Keys = &["raid.group=4"];
/// The preset's.
const GROUP_8: Keys = &[];
const GROUP_16: Keys = &["raid.group=16"];
const OUTSIDE_NOTE: &str =
    "waiting inside the device: the time before a request has a place in the queue is not counted";
/// The models' rates are not fitted to the utilisation that the paper prints.
const RATES_NOTE: &str =
    "the paper gives no arrival rates; the models' are the requests of their trace spread over its seven days";
/// Chips of the examples of Figures 3 and 8.
const CHIPS: u32 = 9;

/// Figures 10 to 12: a chip queue of 8 is never full at the models' rates, and no order differs from another then. With arrivals 500
/// times as dense the chips are as busy as in Fig. 4.
static LOADED: Assumption = assume("chip queue and load", "2, 500 times", &["order.chip_queue=2"]).times("0.002");
/// What the paper leaves open.
const ASSUMPTIONS: &[Assumption] = &[
    assume("chip queue and load", "8, as recorded", &["order.chip_queue=8"]).times("1"),
    assume("chip queue and load", "8, 1,430 times", &["order.chip_queue=8"]).times("0.0007"),
    assume("chip queue and load", "2, as recorded", &["order.chip_queue=2"]).times("1"),
    assume("chip queue and load", "2, 500 times", &["order.chip_queue=2"]).times("0.002"),
    assume("chip queue and load", "2, 1,430 times", &["order.chip_queue=2"]).times("0.0007"),
    assume("chip queue and load", "1, 1,430 times", &["order.chip_queue=1"]).times("0.0007"),
    assume("delayed writes", "with PIQ and BRR only", &[]).own(&[("Async_FIFO", &["order.delay_writes=false"])]),
    assume("delayed writes", "in none", &["order.delay_writes=false"]),
    assume("BRR's next arrival", "never", &[])
        .own(&[("BRR", &["schemes.route={ brr = { next_arrival = \"never\" } }"])]),
    assume("BRR's L_r and L_w", "the array times alone", &[])
        .own(&[("BRR", &["schemes.route={ brr = { read = \"25us\", program = \"200us\" } }"])]),
    assume("wear levelling", "none", &["ftl.free_block=round-robin"]),
    assume("write points", "shared", &["ftl.write_points=shared"]),
    assume("fill", "random overwrites", &["precondition.mode=random"]),
    assume("bus", "25 times as fast", &["timing.transfer=1ns/B"]),
    assume("queue depth", "256", &["device.queue_depth=256"]),
];

const ITEMS: &[Item] = &[
    Item {
        id: "Fig 3",
        title: "contention",
        runs: &[],
        lines: &[formula("R1, LBN 3 size 2, goes to chips", "3, 4", |_| {
            // Without parity, logical block n lies on chip n mod 9.
            Some([3, 4].map(|lbn| (lbn % CHIPS).to_string()).join(", "))
        })],
    },
    Item {
        id: "Fig 4",
        title: "chip utilisation, FIFO",
        runs: &[grid(&TRACES, FIFO)],
        lines: &[
            level("mean of 12 traces", 22.7, Mean("Async_FIFO", busy), PERCENT).of_load().note(RATES_NOTE),
            claim("below 30 %", "most of 12", below_30_percent).of_load().note("Table II's utilisation is below 30 % for 11"),
        ],
    },
    Item {
        id: "Fig 6",
        title: "read response breakdown, Async FIFO",
        runs: &[grid(&TRACES, FIFO)],
        lines: &[
            claim("T_w of the read response, mean", "dominates", |r| {
                let share = r.mean_by(|workload| waiting_share(r.summary(workload, "Async_FIFO")?))?;
                Some((format!("{:.1} %", share * 100.0), share > 0.5))
            })
            .note("agrees: more than half; the paper says it of intensive loads"),
            rows(read_breakdown),
        ],
    },
    Item {
        id: "Fig 8",
        title: "LCI layout",
        runs: &[],
        lines: &[formula("groups of 9 chips", "{0,3,6} {1,4,7} {2,5,8}", |_| Some(groups(CHIPS, 3))).note(
            "C2: the printed formula is transposed and agrees only where groups are as many as their chips; ours is group(c) = c mod (n / t)",
        )],
    },
    Item {
        id: "Table I",
        title: "parameters",
        runs: &[],
        lines: &[
            parameter("page", "4KiB", |r| r.preset.geometry.page_size.to_string()),
            parameter("pages a block", "64", |r| r.preset.geometry.pages_per_block.to_string()),
            parameter("blocks a chip", "16384", |r| {
                let g = &r.preset.geometry;
                (g.dies_per_chip * g.planes_per_die * g.blocks_per_plane).to_string()
            }),
            parameter("chips", "64", |r| {
                (r.preset.geometry.channels * r.preset.geometry.chips_per_channel).to_string()
            }),
            parameter("channels x chips", "8 x 8", |r| {
                format!("{} x {}", r.preset.geometry.channels, r.preset.geometry.chips_per_channel)
            })
            .note("C1: a bus a chip, as in its simulator; on 8 shared buses a parity group of 8 lies on one channel"),
            parameter("read", "0.025 ms", |r| format!("{:.3} ms", r.preset.timing.read.types()[0].0 as f64 / 1e6)),
            parameter("program", "0.200 ms", |r| {
                format!("{:.3} ms", r.preset.timing.program.types()[0].0 as f64 / 1e6)
            }),
            parameter("erase", "1.5 ms", |r| format!("{:.1} ms", r.preset.timing.erase.0 as f64 / 1e6)),
            parameter("over-provisioning", "15 %", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
            parameter("capacity", "256 GiB", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0)),
            parameter("queue", "64", |r| r.preset.device.queue_depth.to_string()),
        ],
    },
    Item { id: "Table II", title: "traces", runs: &[grid(&TRACES, FIFO)], lines: &[rows(traces)] },
    Item {
        id: "Fig 10",
        title: "read waiting time, normalised",
        runs: &[grid(&TRACES, ALL)],
        lines: &[
            factor("BRR over FIFO, mean", 0.762, MeanOver("BRR", "Async_FIFO", read_waiting)),
            factor("BRR over FIFO, HM_0", 0.229, Over("c.hm_0", "BRR", "Async_FIFO", read_waiting)),
            factor("BRR over FIFO, PROJ_3", 0.914, Over("c.proj_3", "BRR", "Async_FIFO", read_waiting)),
            factor("BRR over PIQ, mean", 0.858, MeanOver("BRR", "PIQ", read_waiting)),
            factor("BRR over PIQ, HM_0", 0.616, Over("c.hm_0", "BRR", "PIQ", read_waiting)),
            factor("BRR over PIQ, PROJ_3", 0.985, Over("c.proj_3", "BRR", "PIQ", read_waiting)),
            rows(read_waiting_by_trace),
        ],
    },
    Item {
        id: "Fig 11",
        title: "write waiting time, normalised",
        runs: &[grid(&TRACES, ALL)],
        lines: &[
            factor("BRR over FIFO, mean", 0.968, MeanOver("BRR", "Async_FIFO", write_waiting)),
            factor("BRR over PIQ, mean", 0.994, MeanOver("BRR", "PIQ", write_waiting)),
        ],
    },
    Item {
        id: "Fig 12",
        title: "chip utilisation, normalised",
        runs: &[grid(&TRACES, ALL)],
        lines: &[
            factor("BRR over FIFO, mean", 1.073, MeanOver("BRR", "Async_FIFO", busy)),
            factor("BRR over PIQ, mean", 1.043, MeanOver("BRR", "PIQ", busy)),
        ],
    },
    Item {
        id: "Fig 13",
        title: "read waiting of BRR and the queue",
        runs: &[grid(&TRACES, BRR).with(&[
            QUEUES[0].1,
            QUEUES[1].1,
            QUEUES[2].1,
            QUEUES[3].1,
            QUEUES[4].1,
            QUEUES[5].1,
        ])],
        lines: &[
            factor("queue 256 over 1", 0.756, From(|r| waiting_over(r, QUEUE_256, QUEUE_1))).note(OUTSIDE_NOTE),
            factor("queue 256 over 32", 0.971, From(|r| waiting_over(r, QUEUE_256, QUEUE_32))).note(OUTSIDE_NOTE),
            rows(by_queue),
        ],
    },
    Item {
        id: "Fig 14",
        title: "read waiting of BRR and the group length",
        runs: &[grid(&TRACES, BRR).with(&[GROUP_4, GROUP_8, GROUP_16])],
        lines: &[
            factor("group 16 over 4", 1.176, From(|r| waiting_over(r, GROUP_16, GROUP_4))),
            rows(by_group),
        ],
    },
    Item {
        id: "text",
        title: "extra reads of a redirected read",
        runs: &[],
        lines: &[formula("reads in place of one, group of 8", "7", |r| Some((r.preset.raid.group - 1).to_string()))],
    },
];

fn read_waiting(s: &Summary) -> Option<f64> {
    s.waiting_ns.read.mean
}

fn write_waiting(s: &Summary) -> Option<f64> {
    s.waiting_ns.write.mean
}

fn busy(s: &Summary) -> Option<f64> {
    s.utilisation.chip_at_arrival
}

fn below_30_percent(r: &Results) -> Option<(String, bool)> {
    r.mean("Async_FIFO", busy)?;
    let low = |workload: &&&str| r.summary(workload, "Async_FIFO").and_then(busy).is_some_and(|share| share < 0.30);
    let below = TRACES.iter().filter(low).count();
    Some((format!("{below} of 12"), below > 6))
}

/// Share of waiting in the response of reads.
fn waiting_share(s: &Summary) -> Option<f64> {
    Some(s.waiting_ns.read.mean? / s.latency_ns.read.mean?)
}

fn read_breakdown(r: &Results) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let share = waiting_share(r.summary(workload, "Async_FIFO")?)?;
        Some(Row::stated(format!("{workload}: T_w of the read response"), format!("{:.1} %", share * 100.0)))
    };
    TRACES.iter().filter_map(row).collect()
}

/// Fig. 8: chips of a parity group lie as far apart as possible, corrected (C2).
fn groups(chips: u32, length: u32) -> String {
    let groups = chips / length;
    let group = |first: u32| {
        let members: Vec<String> = (0..length).map(|k| (first + k * groups).to_string()).collect();
        format!("{{{}}}", members.join(","))
    };
    (0..groups).map(group).collect::<Vec<_>>().join(" ")
}

fn traces(r: &Results) -> Vec<Row> {
    let text = |reads: f64, kib: f64| format!("reads {:.1} %, {kib:.2} KB", reads * 100.0);
    let mut rows = Vec::new();
    for (workload, [reads, kib, utilisation]) in TRACES.iter().zip(TABLE_2) {
        let ours = figures_of(workload).map(|info| {
            let requests = (info.reads + info.writes).max(1);
            let mean = (info.read_bytes + info.write_bytes) as f64 / requests as f64 / 1024.0;
            (text(info.read_ratio, mean), close(info.read_ratio, reads) && close(mean, kib))
        });
        let row = Row::claim(*workload, text(reads, kib), ours).input();
        rows.push(row.note("ours: the model's first 1,000,000 requests; agrees: within 5 %"));
        let ours = r.summary(workload, "Async_FIFO").and_then(busy).map(|share| share * 100.0);
        let row = Row::level(format!("{workload}: utilisation"), utilisation * 100.0, ours, |u| format!("{u:.1} %"));
        rows.push(r.seal_load(row.note(RATES_NOTE)));
    }
    rows
}

fn read_waiting_by_trace(r: &Results) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let fifo = r.ratio(workload, "BRR", "Async_FIFO", read_waiting)?;
        let piq = r.ratio(workload, "BRR", "PIQ", read_waiting)?;
        Some(Row::stated(format!("{workload}: BRR"), format!("over FIFO {fifo:.3}x, over PIQ {piq:.3}x")))
    };
    TRACES.iter().filter_map(row).collect()
}

/// The mean over the traces of the read waiting of BRR with some keys over that with others.
fn waiting_over(r: &Results, to: Keys, from: Keys) -> Option<f64> {
    let waiting = |workload, keys| read_waiting(r.varied(workload, "BRR", keys)?);
    r.mean_by(|workload| Some(waiting(workload, to)? / waiting(workload, from)?))
}

/// A row of Figures 13 and 14: the read waiting over that with the first keys.
fn over_first(r: &Results, what: String, keys: Keys, first: Keys) -> Option<Row> {
    waiting_over(r, keys, first).map(|ratio| Row::stated(what, format!("{ratio:.3}x")))
}

fn by_queue(r: &Results) -> Vec<Row> {
    let row = |(depth, keys): &(u32, Keys)| over_first(r, format!("queue {depth} over 1"), keys, QUEUE_1);
    QUEUES.iter().filter_map(row).collect()
}

fn by_group(r: &Results) -> Vec<Row> {
    let row = |(length, keys)| over_first(r, format!("group {length} over 4"), keys, GROUP_4);
    [(8, GROUP_8), (16, GROUP_16)].into_iter().filter_map(row).collect()
}
