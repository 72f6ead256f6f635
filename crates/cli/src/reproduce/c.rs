//! Paper C, BRR: Figures 3 to 14, Tables I and II.

use ssdlab_lab::text::{percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;

use super::{Item, Lab, Paper, Row, Run, Scheme};

pub(super) static PAPER: Paper = Paper {
    letter: "c",
    name: "brr",
    title: "Liang et al., Balanced Redirected Read for Parallel I/O Queueing on RAID-5 of Chips",
    schemes: &[
        Scheme {
            name: "Async_FIFO",
            sets: &["raid.layout=lci", "order.chip_queue=8", "schemes.order=async-fifo", "schemes.route=direct"],
        },
        Scheme {
            name: "PIQ",
            sets: &["raid.layout=lci", "order.chip_queue=8", "schemes.order=piq", "schemes.route=direct"],
        },
        Scheme {
            name: "BRR",
            sets: &["raid.layout=lci", "order.chip_queue=8", "schemes.order=piq", "schemes.route=brr"],
        },
    ],
    workloads: &TRACES,
    quick: &["geometry.blocks_per_plane=1024"],
    limits: [30_000, 3_000_000],
    stretch: None,
    items,
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

fn read_waiting(s: &Summary) -> Option<f64> {
    s.waiting_ns.read.mean
}

fn write_waiting(s: &Summary) -> Option<f64> {
    s.waiting_ns.write.mean
}

fn busy(s: &Summary) -> Option<f64> {
    s.utilisation.chip_at_arrival
}

/// Chips of a parity group: as far apart as possible, corrected (C2).
fn group(g: u32, chips: u32, length: u32) -> Vec<u32> {
    let groups = chips / length;
    (0..length).map(|j| g + j * groups).collect()
}

fn varied(lab: &Lab, set: &str) -> Option<f64> {
    let values: Option<Vec<f64>> =
        lab.present().map(|w| read_waiting(lab.varied(w, "BRR", &[set.to_string()])?)).collect();
    values.filter(|values| !values.is_empty()).map(|values| student::mean(&values))
}

fn runs(sets: &[&str]) -> Vec<Run> {
    let run = |w: &&'static str, set: &&str| Run { workload: w, scheme: "BRR", more: vec![set.to_string()], trial: 0 };
    TRACES.iter().flat_map(|w| sets.iter().map(move |set| run(w, set))).collect()
}

fn items() -> Vec<Item> {
    let three: &[&str] = &["Async_FIFO", "PIQ", "BRR"];
    let all = (TRACES.as_slice(), three);
    vec![
        Item::short("Fig 3", "contention", |_| {
            // LBN 3 of two pages on 9 chips without parity.
            let chips: Vec<String> = (3..5).map(|lbn| (lbn % 9).to_string()).collect();
            vec![Row::exact("R1, LBN 3 size 2, goes to chips", "3, 4", chips.join(", "))]
        }),
        Item::grid("Fig 4", "chip utilisation, FIFO", (TRACES.as_slice(), &["Async_FIFO"]), |lab| {
            let below =
                TRACES.iter().filter(|w| lab.summary(w, "Async_FIFO").and_then(busy).is_some_and(|u| u < 0.30)).count();
            vec![
                Row::level("mean of 12 traces", 22.7, lab.mean("Async_FIFO", busy).map(|u| u * 100.0), |u| format!("{u:.1} %"))
                    .note("depends on arrival rates, which the paper does not give and the models chose from Table II's utilisation"),
                Row::claim("below 30 %", "most of 12", lab.mean("Async_FIFO", busy).map(|_| (format!("{below} of 12"), below > 6))),
            ]
        }),
        Item::grid("Fig 6", "read response breakdown, Async FIFO", (TRACES.as_slice(), &["Async_FIFO"]), |lab| {
            let share = |s: &Summary| Some(s.waiting_ns.read.mean? / s.latency_ns.read.mean?);
            TRACES
                .iter()
                .filter_map(|w| {
                    let share = lab.summary(w, "Async_FIFO").and_then(share)?;
                    Some(Row::stated(format!("{w}: T_w of the read response"), format!("{:.1} %", share * 100.0)))
                })
                .collect()
        }),
        Item::short("Fig 8", "LCI layout", |_| {
            let text = |g: u32| {
                format!("{{{}}}", group(g, 9, 3).iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            };
            vec![Row::exact("groups of 9 chips", "{0,3,6} {1,4,7} {2,5,8}", (0..3).map(text).collect::<Vec<_>>().join(" "))
                .note("C2: the printed formula is transposed and agrees only where groups are as many as their chips; ours is group(c) = c mod (n / t)")]
        }),
        Item::short("Table I", "parameters", |lab| {
            let (g, t, c) = (&lab.config.geometry, &lab.config.timing, &lab.config);
            let chips = g.channels * g.chips_per_channel;
            let per_chip = g.dies_per_chip * g.planes_per_die * g.blocks_per_plane;
            let raw = u64::from(chips * per_chip) * u64::from(g.pages_per_block) * g.page_size.0;
            vec![
                Row::parameter("page", "4KiB", g.page_size),
                Row::parameter("pages a block", "64", g.pages_per_block),
                Row::parameter("blocks a chip", "16384", per_chip),
                Row::parameter("chips", "64", chips),
                Row::parameter("channels x chips", "8 x 8", format!("{} x {}", g.channels, g.chips_per_channel)).note(
                    "C1: a bus a chip, as in its simulator; on 8 shared buses a parity group of 8 lies on one channel",
                ),
                Row::parameter("read", "0.025 ms", format!("{:.3} ms", t.read.types()[0].0 as f64 / 1e6)),
                Row::parameter("program", "0.200 ms", format!("{:.3} ms", t.program.types()[0].0 as f64 / 1e6)),
                Row::parameter("erase", "1.5 ms", format!("{:.1} ms", t.erase.0 as f64 / 1e6)),
                Row::parameter("over-provisioning", "15 %", percent_exact(c.device.over_provisioning.as_f64())),
                Row::parameter("capacity", "256 GiB", size(raw)),
                Row::parameter("queue", "64", c.device.queue_depth),
            ]
        }),
        Item::grid("Table II", "traces", (TRACES.as_slice(), &["Async_FIFO"]), |lab| {
            let mut rows = Vec::new();
            for (w, [reads, kib, utilisation]) in TRACES.iter().zip(TABLE_2) {
                let text = |reads: f64, kib: f64| format!("reads {:.1} %, {kib:.2} KB", reads * 100.0);
                let ours = super::figures_of(w).map(|info| {
                    let bytes =
                        (info.read_bytes + info.write_bytes) as f64 / (info.reads + info.writes).max(1) as f64 / 1024.0;
                    let near = (info.read_ratio - reads).abs() <= 0.05 * reads && (bytes / kib - 1.0).abs() <= 0.05;
                    (text(info.read_ratio, bytes), near)
                });
                rows.push(
                    Row::claim(*w, text(reads, kib), ours)
                        .note("ours: the model's first 1,000,000 requests; agrees: within 5 %"),
                );
                rows.push(Row::level(
                    format!("{w}: utilisation"),
                    utilisation * 100.0,
                    lab.summary(w, "Async_FIFO").and_then(busy).map(|u| u * 100.0),
                    |u| format!("{u:.1} %"),
                ));
            }
            rows
        }),
        Item::grid("Fig 10", "read waiting time, normalised", all, |lab| {
            let over = |w: &str, base: &str| lab.ratio(w, "BRR", base, read_waiting);
            let mut rows = vec![
                Row::factor("BRR over FIFO, mean", 0.762, lab.mean_ratio("BRR", "Async_FIFO", read_waiting)),
                Row::factor("BRR over FIFO, HM_0", 0.229, over("c.hm_0", "Async_FIFO")),
                Row::factor("BRR over FIFO, PROJ_3", 0.914, over("c.proj_3", "Async_FIFO")),
                Row::factor("BRR over PIQ, mean", 0.858, lab.mean_ratio("BRR", "PIQ", read_waiting)),
                Row::factor("BRR over PIQ, HM_0", 0.616, over("c.hm_0", "PIQ")),
                Row::factor("BRR over PIQ, PROJ_3", 0.985, over("c.proj_3", "PIQ")),
            ];
            rows.extend(TRACES.iter().filter_map(|w| {
                let (fifo, piq) = (over(w, "Async_FIFO")?, over(w, "PIQ")?);
                Some(Row::stated(format!("{w}: BRR"), format!("over FIFO {fifo:.3}x, over PIQ {piq:.3}x")))
            }));
            rows
        }),
        Item::grid("Fig 11", "write waiting time, normalised", all, |lab| {
            vec![
                Row::factor("BRR over FIFO, mean", 0.968, lab.mean_ratio("BRR", "Async_FIFO", write_waiting)),
                Row::factor("BRR over PIQ, mean", 0.994, lab.mean_ratio("BRR", "PIQ", write_waiting)),
            ]
        }),
        Item::grid("Fig 12", "chip utilisation, normalised", all, |lab| {
            vec![
                Row::factor("BRR over FIFO, mean", 1.073, lab.mean_ratio("BRR", "Async_FIFO", busy)),
                Row::factor("BRR over PIQ, mean", 1.043, lab.mean_ratio("BRR", "PIQ", busy)),
            ]
        }),
        Item {
            id: "Fig 13",
            title: "read waiting of BRR and the queue",
            runs: runs(&["device.queue_depth=1", "device.queue_depth=32", "device.queue_depth=256"]),
            rows: Box::new(|lab| {
                let over = |to: &str, from: &str| varied(lab, to).zip(varied(lab, from)).map(|(a, b)| a / b);
                vec![
                    Row::factor("queue 256 over 1", 0.756, over("device.queue_depth=256", "device.queue_depth=1"))
                        .note("our waiting includes the time outside the queue"),
                    Row::factor("queue 256 over 32", 0.971, over("device.queue_depth=256", "device.queue_depth=32")),
                ]
            }),
        },
        Item {
            id: "Fig 14",
            title: "read waiting of BRR and the group length",
            runs: runs(&["raid.group=4", "raid.group=16"]),
            rows: Box::new(|lab| {
                let ratio = varied(lab, "raid.group=16").zip(varied(lab, "raid.group=4")).map(|(a, b)| a / b);
                vec![Row::factor("group 16 over 4", 1.176, ratio)]
            }),
        },
        Item::short("text", "extra reads of a redirected read", |lab| {
            let group = 8;
            let _ = lab;
            vec![Row::exact("reads in place of one, group of 8", "7", (group - 1).to_string())]
        }),
    ]
}
