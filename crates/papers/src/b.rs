//! Paper B, PaGC: Figures 3 to 17, Tables I and II. `docs/papers/pagc.md` has the readings B1 to B4.

use ssdlab_lab::text::{percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::{GcTimes, Summary};
use ssdlab_sim::units::Ppm;

use crate::assumption::{Assumption, assume};
use crate::bench;
use crate::paper::Ours::{From, MeanOver, Over};
use crate::paper::{Item, Line, PERCENT, Paper, Scheme, claim, exact, factor, formula, grid, level, parameter, rows};
use crate::results::{Keys, Results, all_mean, delayed_by_gc, gc_threshold, reported};
use crate::row::Row;

const COPYBACK: &str = "schemes.path=copyback";
const SERIAL: &str = "schemes.collector=serial";
const BLIND: &str = "schemes.collector={ pagc = { when = \"always\" } }";
const THRESHOLD: &str = "schemes.collector={ pagc = { threshold = 0.12 } }";
const CACHED: &str = "schemes.collector={ pagc = { threshold = 0.12, cache = true } }";

pub(crate) static PAPER: Paper = Paper {
    letter: "b",
    name: "pagc",
    title: "Shahidi et al., Exploring the Potentials of Parallel Garbage Collection in SSDs for Enterprise Storage Systems",
    schemes: &[
        Scheme { name: "baseline", sets: &[COPYBACK, SERIAL] },
        Scheme { name: "B-PaGC", sets: &[COPYBACK, BLIND] },
        Scheme { name: "T-PaGC", sets: &[COPYBACK, THRESHOLD] },
        Scheme { name: "TC-PaGC", sets: &[COPYBACK, CACHED] },
        Scheme { name: "superblock", sets: &[COPYBACK, SERIAL, "device.mapping_unit=super-page"] },
        Scheme { name: "zero-GC", sets: &[COPYBACK, SERIAL, "gc.time=none"] },
        Scheme { name: "baseline, RGA", sets: &[COPYBACK, SERIAL, "schemes.victim=rga"] },
        Scheme { name: "B-PaGC, RGA", sets: &[COPYBACK, "schemes.victim=rga", BLIND] },
        Scheme { name: "TC-PaGC, RGA", sets: &[COPYBACK, "schemes.victim=rga", CACHED] },
        Scheme { name: "baseline, RANDOM", sets: &[COPYBACK, SERIAL, "schemes.victim=random"] },
        Scheme { name: "B-PaGC, RANDOM", sets: &[COPYBACK, "schemes.victim=random", BLIND] },
        Scheme { name: "TC-PaGC, RANDOM", sets: &[COPYBACK, "schemes.victim=random", CACHED] },
        Scheme { name: "baseline, PCWD", sets: &[COPYBACK, SERIAL, "schemes.place=PCWD"] },
        Scheme { name: "B-PaGC, PCWD", sets: &[COPYBACK, "schemes.place=PCWD", BLIND] },
        Scheme { name: "T-PaGC, PCWD", sets: &[COPYBACK, "schemes.place=PCWD", THRESHOLD] },
        Scheme { name: "TC-PaGC, PCWD", sets: &[COPYBACK, "schemes.place=PCWD", CACHED] },
    ],
    workloads: &TRACES,
    quick: &["geometry.channels=4", "geometry.chips_per_channel=4", "geometry.blocks_per_plane=256"],
    limits: [40_000, 3_000_000],
    items: ITEMS,
    under: &[(&["Fig 9"], &SEQUENTIAL)],
    load: Err("it prints neither rates nor utilisation"),
    assumptions: ASSUMPTIONS,
};

const TRACES: [&str; 15] = [
    "b.fin1", "b.proj0", "b.prxy0", "b.src20", "b.stg0", "b.ts0", "b.usr0", "b.usr1", "b.hm0", "b.msnfs0", "b.msnfs1",
    "b.msnfs4", "b.msnfs5", "b.prn0", "b.proj2",
];
const LOW: &[&str] = &["b.fin1", "b.proj0", "b.prxy0", "b.src20", "b.stg0", "b.ts0", "b.usr0", "b.usr1"];
const HIGH: &[&str] = &["b.hm0", "b.msnfs0", "b.msnfs1", "b.msnfs4", "b.msnfs5", "b.prn0", "b.proj2"];
/// Traces that B-PaGC slows down.
const FOUR: &[&str] = &["b.src20", "b.stg0", "b.ts0", "b.usr0"];
/// Fig. 14: those of the high group without a number of their own.
const OTHERS: &[&str] = &["b.msnfs0", "b.msnfs1", "b.msnfs4", "b.msnfs5", "b.proj2"];

const ZERO_TOO: &[&str] = &["baseline", "zero-GC"];
const PAGC: &[&str] = &["B-PaGC", "T-PaGC", "TC-PaGC"];
const MEASURED: &[&str] = &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC"];
const OVER_BASELINE: &[&str] = &["B-PaGC", "T-PaGC", "TC-PaGC", "zero-GC"];
const ALL: &[&str] = &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC", "zero-GC"];

/// Table II: zero-GC response as % of the baseline's.
const ZERO: [f64; 15] =
    [70.65, 47.0, 78.13, 90.62, 92.24, 90.71, 85.43, 75.44, 41.04, 37.30, 25.01, 14.91, 11.33, 40.52, 3.98];
/// Fig. 3: its server workloads were never published; those of the paper's own traces that come from such servers stand in.
const STAND_INS: [(&str, &str); 4] =
    [("streaming", "b.proj2"), ("fileserver", "b.msnfs1"), ("workstation", "b.usr0"), ("database", "b.fin1")];
/// The terms of its response time, as the report of the scheme names them.
const TERMS: [&str; 5] = ["st", "cngc", "csgc", "cogc", "lc"];
/// Ways of a page: parallel or serial read, parallel or serial write, to another or to no other die.
const CATEGORIES: [&str; 4] = ["pard_pawr", "srrd_pawr", "srrd_srwr_d", "srrd_srwr_nd"];
/// Fig. 6: the valid pages of both planes' victims, of 8 pages a block.
const FIG_6: [&[u64]; 2] = [&[0, 1, 2, 3], &[0, 3, 4]];

/// Fig. 9: after random overwrites all planes are at the trigger, so that a partner is always short of free pages too.
static SEQUENTIAL: Assumption =
    assume("fill", "in sequence", &["precondition.mode=sequential"]).quick(&["geometry.blocks_per_plane=64"], 250_000);
/// The models of hm0, msnfs0 and proj0 with requests of 16 KiB and more, at multiples of 16 KiB.
const SUPER_PAGES: &[(&str, &str)] =
    &[("b.hm0", "b.hm0-16k"), ("b.msnfs0", "b.msnfs0-16k"), ("b.proj0", "b.proj0-16k")];
/// B2: the other reading of "5 % larger than the original threshold".
const RELATIVE: &[(&str, Keys)] = &[
    ("T-PaGC", &["schemes.collector={ pagc = { threshold = 0.0735 } }"]),
    ("TC-PaGC", &["schemes.collector={ pagc = { threshold = 0.0735, cache = true } }"]),
];
/// What the paper leaves open.
const ASSUMPTIONS: &[Assumption] = &[
    assume("fill", "in sequence", &["precondition.mode=sequential"]).quick(&["geometry.blocks_per_plane=64"], 250_000),
    assume("fill", "random overwrites", &["precondition.mode=random"]),
    assume("write points", "shared", &["ftl.write_points=shared"]),
    assume("request sizes", "super-pages", &[]).on(SUPER_PAGES),
    assume("when the other plane joins", "below 7.35 %, a twentieth more than GC's threshold", &[]).own(RELATIVE),
    assume("when the other plane joins", "below 7.35 %, from a fill in sequence", &["precondition.mode=sequential"])
        .own(RELATIVE)
        .quick(&["geometry.blocks_per_plane=64"], 250_000),
    assume("reads of a superblock", "whole super-pages", &[])
        .own(&[("superblock", &["device.partial_read=whole-page"])]),
    assume("reads of a superblock", "whole super-pages, 10 times the rate", &[])
        .own(&[("superblock", &["device.partial_read=whole-page"])])
        .times("0.1"),
    assume("arrival rate", "10 times", &[]).times("0.1"),
    assume("arrival rate", "30 times", &[]).times("0.033"),
    assume("arrival rate", "a quarter", &[]).times("4"),
    assume("over-provisioning", "12 %", &["device.over_provisioning=0.12"]),
    assume("queue depth", "5", &["device.queue_depth=5"]),
    assume("queue depth", "256", &["device.queue_depth=256"]),
    assume("placement of writes", "dynamic", &["schemes.place=dynamic"]),
    assume("placement of writes", "round robin, bound at admission", &["schemes.place=round-robin"]),
    assume("where free pages count", "device", &["gc.scope=device"]),
    assume("unit of exclusion", "channel", &["device.exclusion=channel"]),
    assume("acknowledgement", "after the transfer", &["device.write_ack=after_transfer"]),
    assume(
        "its simulator's ways",
        "bus held in GC, shared write point, depth 5",
        &["device.exclusion=channel", "ftl.write_points=shared", "device.queue_depth=5"],
    ),
];

const ALONE_NOTE: &str =
    "agrees: a larger share of the moved pages, in each, than in the mean of the group's other traces";
const SERVERS_NOTE: &str = "stand-ins from the paper's traces: proj2 for streaming, msnfs1 for a file server, usr0 for a workstation, fin1 for a database; means over the run, where the figure shows time";
const MOVES_NOTE: &str =
    "a run of one collection; array time of the moves, without the erase and the transfer of odd pages";
const COST_NOTE: &str = "a run of one joint collection: moves + erase";
const DELAYED_NOTE: &str =
    "ours: requests that waited for any collection; the paper's text does not say what it counts";
const COST_OF_GC_NOTE: &str =
    "ours: the baseline's response time over that without GC, less 1, in the trace where it is largest";
const GROUPS_NOTE: &str =
    "B3: the table's groups, zero-GC response above and below 50 %; proj0 is in the low group in spite of its 47.0";
const NEEDS_REPORT: &str = "needs the report of the scheme";

const ITEMS: &[Item] = &[
    Item {
        id: "abstract",
        title: "response time",
        runs: &[grid(&TRACES, MEASURED)],
        lines: &[
            factor("best trace", 0.55, From(|r| best_of_each(r)?.into_iter().reduce(f64::min))),
            factor(
                "mean of 15 traces, the best PaGC each",
                0.68,
                From(|r| best_of_each(r).map(|ratios| student::mean(&ratios))),
            ),
        ],
    },
    Item {
        id: "text",
        title: "conflicts of GC with requests to other planes; what GC costs",
        runs: &[grid(&TRACES, ZERO_TOO)],
        lines: &[
            level("requests delayed by GC, most", 40.0, From(most_delayed), PERCENT).note(DELAYED_NOTE),
            level("response time that GC adds, most", 400.0, From(most_added), PERCENT).note(COST_OF_GC_NOTE),
        ],
    },
    Item {
        id: "Fig 3",
        title: "response breakdown of four server workloads",
        runs: &[grid(&[STAND_INS[0].1, STAND_INS[1].1, STAND_INS[2].1, STAND_INS[3].1], ZERO_TOO)],
        lines: &[
            ideal("ideal GC, streaming", 0.60, "b.proj2"),
            ideal("ideal GC, fileserver", 0.30, "b.msnfs1"),
            ideal("ideal GC, workstation", 0.80, "b.usr0"),
            claim("fileserver", "high CoGC and CsGC, low LC", late_conflicts).note(SERVERS_NOTE),
            claim("workstation", "mostly CnGC", no_gc).note(SERVERS_NOTE),
            rows(servers),
        ],
    },
    Item {
        id: "Fig 6",
        title: "data movement of one collection",
        runs: &[],
        lines: &[
            formula("Ka, Kb, Kc", "2, 1, 1", |_| Some(pairs(FIG_6))),
            exact("both planes, aligned write points", "6375 us", |r| moves(r, "B-PaGC", &FIG_6))
                .derived("2 x 1575 + 1650 + 1575 us")
                .note(MOVES_NOTE),
            exact("A alone, serial", "6300 us", |r| moves(r, "baseline", &FIG_6[..1]))
                .derived("4 x 1575 us")
                .note(MOVES_NOTE),
            formula("both planes, write points 3 and 5", "7875 us", |r| Some(serial_moves(r, 5)))
                .derived("5 x 1575 us")
                .note("5 (R + W): the rule of the text; as a run it is a test of the scheme"),
        ],
    },
    Item {
        id: "cost formula",
        title: "Ka (R + W) + Kb (2R + W) + Kc (R + W)",
        runs: &[],
        lines: &[
            exact("K 100, L 80, Ka 40", "160500 us + 3800 us", |r| joint_cost(r, 100, 80, 40))
                .derived("40 x 1575 + 40 x 1650 + 20 x 1575 us, and the erase")
                .note(COST_NOTE),
            exact("K 50, L 120, Ka 20", "191250 us + 3800 us", |r| joint_cost(r, 50, 120, 20))
                .derived("20 x 1575 + 30 x 1650 + 70 x 1575 us, and the erase")
                .note(COST_NOTE),
            exact("K 4, serial", "6300 us + 3800 us", |r| serial_cost(r, 4))
                .derived("4 x 1575 us, and the erase")
                .note(COST_NOTE),
        ],
    },
    Item {
        id: "Table I",
        title: "device",
        runs: &[],
        lines: &[
            parameter("channels x chips", "16 x 8", |r| {
                format!("{} x {}", r.preset.geometry.channels, r.preset.geometry.chips_per_channel)
            }),
            parameter("dies x planes", "1 x 2", |r| {
                format!("{} x {}", r.preset.geometry.dies_per_chip, r.preset.geometry.planes_per_die)
            }),
            parameter("page", "8KiB", |r| r.preset.geometry.page_size.to_string()),
            parameter("block", "2 MiB", |r| {
                size(u64::from(r.preset.geometry.pages_per_block) * r.preset.geometry.page_size.0)
            }),
            parameter("read", "75us", |r| r.preset.timing.read.types()[0].to_string()),
            parameter("program", "1500us", |r| us(r.preset.timing.program.types()[0].0)),
            parameter("erase", "3800us", |r| us(r.preset.timing.erase.0)),
            parameter("bus", "333MB/s", |r| r.preset.timing.transfer.to_string()),
            parameter("capacity", "800 GiB", user_space),
            parameter("spare", "25 %", |r| percent_exact(r.preset.device.over_provisioning.as_f64()))
                .note("B1: 1,024 GiB raw for 800 GiB are 28 % of the user's or 21.875 % of the raw space"),
            parameter("GC threshold", "7 %", |r| gc_threshold(&r.preset)),
            parameter("PaGC_TH", "12 %", |r| {
                let threshold = r.key("T-PaGC", "/schemes/collector/pagc/threshold").and_then(|value| value.as_f64());
                threshold.map_or("-".into(), percent_exact)
            })
            .note("B2: \"5 % larger\" read as five points; 7.35 % would almost never join"),
            parameter("allocation", "CWDP", |r| r.preset.schemes.place.to_string()),
            parameter("victim", "greedy", |r| r.preset.schemes.victim.name().to_string()),
        ],
    },
    Item {
        id: "Table II",
        title: "zero-GC response over the baseline's",
        runs: &[grid(&TRACES, ZERO_TOO)],
        lines: &[claim("traces outside their group", "none", outside_groups).note(GROUPS_NOTE), rows(zero_gc)],
    },
    Item {
        id: "Fig 7",
        title: "pages moved a collection by category, low group",
        runs: &[grid(LOW, PAGC)],
        lines: &[
            claim("B-PaGC", "few PaRD-PaWR, many SrRD-PaWR", few_parallel).note("agrees: fewer in the mean"),
            claim("B-PaGC in src20, stg0, ts0, usr0", "large SrRD-SrWR(ND)", |r| many_alone(r, FOUR, LOW))
                .note(ALONE_NOTE),
            rows(|r| categories(r, LOW)),
        ],
    },
    Item {
        id: "Fig 8",
        title: "response breakdown, low group",
        runs: &[grid(LOW, ALL)],
        lines: &[
            below_10("B-PaGC: largest GC part", |r| largest_gc_part(r, "B-PaGC")),
            below_10("T-PaGC: largest GC part", |r| largest_gc_part(r, "T-PaGC")),
            below_10("TC-PaGC: largest GC part", |r| largest_gc_part(r, "TC-PaGC")),
            rows(|r| breakdown(r, LOW)),
        ],
    },
    Item {
        id: "Fig 9",
        title: "response normalised to the baseline, low group",
        runs: &[grid(LOW, ALL)],
        lines: &[
            rows(slowed_by_blind),
            factor("b.usr1: TC-PaGC", 0.90, Over("b.usr1", "TC-PaGC", "baseline", all_mean)),
            factor("b.proj0: TC-PaGC", 0.60, Over("b.proj0", "TC-PaGC", "baseline", all_mean)),
            rows(|r| r.by_workload(LOW, OVER_BASELINE, "baseline", all_mean)),
        ],
    },
    Item {
        id: "Fig 10",
        title: "plane utilisation, low group",
        runs: &[grid(LOW, MEASURED)],
        lines: &[
            claim("B-PaGC in src20, stg0, usr0", "collects more than the baseline", |r| {
                busier(r, &["b.src20", "b.stg0", "b.usr0"])
            }),
            rows(|r| planes(r, LOW)),
        ],
    },
    Item {
        id: "Fig 11",
        title: "pages moved a collection by category, high group",
        runs: &[grid(HIGH, PAGC)],
        lines: &[
            claim("B-PaGC", "most PaRD-PaWR and SrRD-PaWR", mostly_pairs).note("agrees: more than half in all traces"),
            claim("B-PaGC in hm0, prn0", "many SrRD-SrWR(ND)", |r| many_alone(r, &["b.hm0", "b.prn0"], HIGH))
                .note(ALONE_NOTE),
            claim("B-PaGC in proj2", "mostly PaRD-PaWR", |r| {
                let share = share_of(r, "b.proj2", &["pard_pawr"])?;
                Some((format!("{:.1} %", share * 100.0), share > 0.5))
            }),
            rows(|r| categories(r, HIGH)),
        ],
    },
    Item {
        id: "Fig 12",
        title: "response breakdown, high group",
        runs: &[grid(HIGH, ALL)],
        lines: &[rows(|r| breakdown(r, HIGH))],
    },
    Item {
        id: "Fig 13",
        title: "plane utilisation, high group",
        runs: &[grid(HIGH, MEASURED)],
        lines: &[
            claim("B-PaGC in hm0, msnfs1", "collects more than the baseline", |r| busier(r, &["b.hm0", "b.msnfs1"])),
            rows(|r| planes(r, HIGH)),
        ],
    },
    Item {
        id: "Fig 14",
        title: "response normalised to the baseline, high group",
        runs: &[grid(HIGH, ALL)],
        lines: &[
            factor("b.hm0: B-PaGC", 0.85, Over("b.hm0", "B-PaGC", "baseline", all_mean)),
            factor("b.prn0: B-PaGC", 0.81, Over("b.prn0", "B-PaGC", "baseline", all_mean)),
            factor("the others, mean: B-PaGC", 0.575, From(|r| mean_of(r, OTHERS, "B-PaGC", "baseline")))
                .derived("the middle of 40 and 45 % less"),
            rows(|r| r.by_workload(HIGH, OVER_BASELINE, "baseline", all_mean)),
        ],
    },
    Item {
        id: "Fig 15",
        title: "victims by RGA and RANDOM",
        runs: &[grid(
            &TRACES,
            &["baseline, RGA", "B-PaGC, RGA", "TC-PaGC, RGA", "baseline, RANDOM", "B-PaGC, RANDOM", "TC-PaGC, RANDOM"],
        )],
        lines: &[
            claim("RGA: B-PaGC in src20, stg0, ts0, usr0", "worse than the baseline", worse_with_rga),
            factor(
                "RGA: TC-PaGC, mean of the 11 others",
                0.795,
                From(|r| mean_of(r, &eleven(), "TC-PaGC, RGA", "baseline, RGA")),
            )
            .derived("the middle of 6 and 35 % less"),
            factor(
                "RGA: TC-PaGC, mean of the four bad ones",
                0.965,
                From(|r| mean_of(r, FOUR, "TC-PaGC, RGA", "baseline, RGA")),
            )
            .derived("the middle of 0 and 7 % less"),
            claim("RANDOM: TC-PaGC", "all but fin1 better", worse_with_random),
            factor("RANDOM: TC-PaGC, prxy0", 0.20, Over("b.prxy0", "TC-PaGC, RANDOM", "baseline, RANDOM", all_mean)),
            factor("RANDOM: TC-PaGC, mean", 0.60, MeanOver("TC-PaGC, RANDOM", "baseline, RANDOM", all_mean))
                .note("the text: \"irrespective of the GCselect algorithm chosen\", 40 % on average"),
            rows(|r| r.by_workload(&TRACES, &["B-PaGC, RGA", "TC-PaGC, RGA"], "baseline, RGA", all_mean)),
            rows(|r| r.by_workload(&TRACES, &["B-PaGC, RANDOM", "TC-PaGC, RANDOM"], "baseline, RANDOM", all_mean)),
        ],
    },
    Item {
        id: "Fig 16",
        title: "PCWD allocation",
        runs: &[grid(&TRACES, &["baseline, PCWD", "B-PaGC, PCWD", "T-PaGC, PCWD", "TC-PaGC, PCWD"])],
        lines: &[
            claim("B-PaGC", "better than the baseline in all", |r| better_with_pcwd(r, "B-PaGC, PCWD")),
            claim("T-PaGC", "better than the baseline in all", |r| better_with_pcwd(r, "T-PaGC, PCWD")),
            claim("TC-PaGC", "better than the baseline in all", |r| better_with_pcwd(r, "TC-PaGC, PCWD")),
        ],
    },
    Item {
        id: "Fig 17",
        title: "plane-level superblock",
        runs: &[grid(&TRACES, &["baseline", "TC-PaGC", "superblock"])],
        lines: &[
            factor("b.msnfs4: superblock", 2.5, Over("b.msnfs4", "superblock", "baseline", all_mean)),
            factor("b.msnfs5: superblock", 2.2, Over("b.msnfs5", "superblock", "baseline", all_mean)),
            claim("b.msnfs0: superblock", "better than TC-PaGC", |r| superblock(r, "b.msnfs0")),
            claim("b.proj0: superblock", "better than TC-PaGC", |r| superblock(r, "b.proj0")),
            claim("b.hm0: superblock", "better than TC-PaGC", |r| superblock(r, "b.hm0")),
            rows(|r| r.by_workload(&TRACES, &["TC-PaGC", "superblock"], "baseline", all_mean)),
        ],
    },
];

fn us(ns: u64) -> String {
    format!("{}us", ns / 1000)
}

/// The mean over some of the workloads of a scheme's response over another's.
fn mean_of(r: &Results, workloads: &[&str], scheme: &str, base: &str) -> Option<f64> {
    let present = r.present().filter(|workload| workloads.contains(workload));
    let ratios: Option<Vec<f64>> = present.map(|workload| r.ratio(workload, scheme, base, all_mean)).collect();
    ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| student::mean(&ratios))
}

/// Traces that B-PaGC does not make slower.
fn eleven() -> Vec<&'static str> {
    TRACES.into_iter().filter(|workload| !FOUR.contains(workload)).collect()
}

/// By trace, the response of the PaGC that is best on it, over the baseline's.
fn best_of_each(r: &Results) -> Option<Vec<f64>> {
    let best =
        |workload| PAGC.iter().filter_map(|scheme| r.ratio(workload, scheme, "baseline", all_mean)).reduce(f64::min);
    r.present().map(best).collect()
}

fn most_delayed(r: &Results) -> Option<f64> {
    TRACES.iter().filter_map(|workload| delayed_by_gc(r.summary(workload, "baseline")?)).reduce(f64::max)
}

/// How much longer responses are with GC than without it.
fn most_added(r: &Results) -> Option<f64> {
    let added = |workload| Some(r.ratio(workload, "baseline", "zero-GC", all_mean)? - 1.0);
    r.present().filter_map(added).reduce(f64::max)
}

/// Table II: traces whose zero-GC response is on the other side of 50 % than their group's.
fn outside_groups(r: &Results) -> Option<(String, bool)> {
    let mut outside = Vec::new();
    for workload in r.present().filter(|workload| *workload != "b.proj0") {
        let low = r.ratio(workload, "zero-GC", "baseline", all_mean)? > 0.5;
        if low != LOW.contains(&workload) {
            outside.push(&workload[2..]);
        }
    }
    Some((if outside.is_empty() { "none".into() } else { outside.join(", ") }, outside.is_empty()))
}

/// Pages that a collection moves in some of the ways.
fn moved_by(r: &Results, workload: &str, scheme: &str, ways: &[&str]) -> Option<f64> {
    let summary = r.summary(workload, scheme)?;
    ways.iter().map(|way| reported(summary, &format!("/pagc/moved_per_collection/{way}"))).sum()
}

/// Of the pages that B-PaGC moves, the share that moves in some of the ways.
fn share_of(r: &Results, workload: &str, ways: &[&str]) -> Option<f64> {
    let all = moved_by(r, workload, "B-PaGC", &CATEGORIES)?;
    (all > 0.0).then_some(())?;
    Some(moved_by(r, workload, "B-PaGC", ways)? / all)
}

/// The mean over the traces of a group.
fn mean_share(r: &Results, group: &[&str], ways: &[&str]) -> Option<f64> {
    let shares: Option<Vec<f64>> = group.iter().map(|workload| share_of(r, workload, ways)).collect();
    shares.map(|shares| student::mean(&shares))
}

/// Fig. 7.
fn few_parallel(r: &Results) -> Option<(String, bool)> {
    let [parallel, serial] = ["pard_pawr", "srrd_pawr"].map(|way| mean_share(r, LOW, &[way]));
    let (parallel, serial) = (parallel?, serial?);
    let text = format!("PaRD-PaWR {:.1} %, SrRD-PaWR {:.1} %", parallel * 100.0, serial * 100.0);
    Some((text, parallel < serial))
}

/// Figures 7 and 11: traces in which more pages of the plane that did not ask move alone than in the mean of the others.
fn many_alone(r: &Results, traces: &[&str], group: &[&str]) -> Option<(String, bool)> {
    const ALONE: &[&str] = &["srrd_srwr_nd"];
    let others: Vec<&str> = group.iter().filter(|workload| !traces.contains(workload)).copied().collect();
    let mean = mean_share(r, &others, ALONE)?;
    let shares: Option<Vec<f64>> = traces.iter().map(|workload| share_of(r, workload, ALONE)).collect();
    let shares = shares?;
    let texts: Vec<String> = shares.iter().map(|share| format!("{:.1} %", share * 100.0)).collect();
    let text = format!("{}; the others {:.1} %", texts.join(", "), mean * 100.0);
    Some((text, shares.iter().all(|share| *share > mean)))
}

/// Fig. 11.
fn mostly_pairs(r: &Results) -> Option<(String, bool)> {
    let shares: Option<Vec<f64>> =
        HIGH.iter().map(|workload| share_of(r, workload, &["pard_pawr", "srrd_pawr"])).collect();
    let least = shares?.into_iter().reduce(f64::min)?;
    Some((format!("at least {:.1} %", least * 100.0), least > 0.5))
}

/// Figures 10 and 13: traces in which planes collect for longer with B-PaGC.
fn busier(r: &Results, traces: &[&str]) -> Option<(String, bool)> {
    let busy = |workload: &str, scheme: &str| reported(r.summary(workload, scheme)?, "/pagc/plane_gc_busy_share");
    let ratio = |workload: &&str| Some(busy(workload, "B-PaGC")? / busy(workload, "baseline").filter(|b| *b > 0.0)?);
    let ratios: Option<Vec<f64>> = traces.iter().map(ratio).collect();
    let ratios = ratios?;
    let texts: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}x")).collect();
    Some((texts.join(", "), ratios.iter().all(|ratio| *ratio > 1.0)))
}

/// Fig. 15.
fn worse_with_rga(r: &Results) -> Option<(String, bool)> {
    let ratios: Option<Vec<f64>> =
        FOUR.iter().map(|workload| r.ratio(workload, "B-PaGC, RGA", "baseline, RGA", all_mean)).collect();
    let ratios = ratios?;
    let texts: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}x")).collect();
    Some((texts.join(", "), ratios.iter().all(|ratio| *ratio > 1.0)))
}

/// Share of the response time that waits for GC, late conflicts included.
fn gc_part(s: &Summary) -> f64 {
    let by = &s.breakdown_ns.all;
    by.by_gc() as f64 / by.sum().max(1) as f64
}

fn largest_gc_part(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let worst = LOW.iter().filter_map(|workload| r.summary(workload, scheme).map(gc_part)).reduce(f64::max)?;
    Some((format!("{:.1} %", worst * 100.0), worst < 0.10))
}

/// Figures 8 and 12: the part of GC, trace by trace.
fn breakdown(r: &Results, workloads: &[&'static str]) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let part = |scheme: &&str| {
            r.summary(workload, scheme).map(|summary| format!("{scheme} {:.1} %", gc_part(summary) * 100.0))
        };
        let texts: Vec<String> = MEASURED.iter().filter_map(part).collect();
        (!texts.is_empty()).then(|| Row::stated(format!("{workload}, CsGC + CoGC + LC"), texts.join(", ")))
    };
    workloads.iter().filter_map(row).collect()
}

/// A line of Fig. 8.
const fn below_10(what: &'static str, ours: fn(&Results) -> Option<(String, bool)>) -> Line {
    claim(what, "below 10 %", ours).unattainable().note(
        "B5: the paper's Table II and Fig 9 leave GC 16 % of the response of usr1 (1 - .754 / .90) and 22 % of that of proj0 (1 - .47 / .60)",
    )
}

/// A line of Fig. 3.
const fn ideal(what: &'static str, paper: f64, workload: &'static str) -> Line {
    factor(what, paper, Over(workload, "zero-GC", "baseline", all_mean)).note(SERVERS_NOTE)
}

/// Fig. 3: a term of the baseline's response time.
fn term(r: &Results, workload: &str, name: &str) -> Option<f64> {
    reported(r.summary(workload, "baseline")?, &format!("/pagc/response_ns/all/{name}"))
}

/// Fig. 3: late conflicts are less than either conflict with GC.
fn late_conflicts(r: &Results) -> Option<(String, bool)> {
    let [csgc, cogc, lc] = ["csgc", "cogc", "lc"].map(|name| term(r, "b.msnfs1", name));
    let (csgc, cogc, lc) = (csgc?, cogc?, lc?);
    let text = format!("LC {:.2} x (CsGC + CoGC)", lc / (csgc + cogc).max(1.0));
    Some((text, lc < csgc && lc < cogc))
}

/// Fig. 3: conflicts without GC are more than those with it.
fn no_gc(r: &Results) -> Option<(String, bool)> {
    let [cngc, csgc, cogc] = ["cngc", "csgc", "cogc"].map(|name| term(r, "b.usr0", name));
    let (cngc, gc) = (cngc?, csgc? + cogc?);
    Some((format!("CnGC {:.1} x (CsGC + CoGC)", cngc / gc.max(1.0)), cngc > gc))
}

/// Fig. 3: all terms of the baseline.
fn servers(r: &Results) -> Vec<Row> {
    let row = |(name, workload): &(&str, &str)| {
        let terms: Option<Vec<f64>> = TERMS.iter().map(|name| term(r, workload, name)).collect();
        let terms = terms?;
        let all = terms.iter().sum::<f64>().max(1.0);
        let part = |(name, ns): (&&str, &f64)| format!("{} {:.1} %", name.to_uppercase(), ns / all * 100.0);
        let parts: Vec<String> = TERMS.iter().zip(&terms).map(part).collect();
        Some(Row::stated(format!("{name}, baseline"), parts.join(", ")).note(SERVERS_NOTE))
    };
    STAND_INS.iter().filter_map(row).collect()
}

/// Pairs of pages at one offset, pairs at different offsets, pages without a partner.
fn pairs([a, b]: [&[u64]; 2]) -> String {
    let shared = a.iter().filter(|page| b.contains(page)).count();
    format!("{shared}, {}, {}", a.len().min(b.len()) - shared, a.len().abs_diff(b.len()))
}

/// Fig. 6: a run of one collection.
fn moves(r: &Results, scheme: &str, kept: &[&[u64]]) -> Option<String> {
    let mut config = r.config(scheme)?.clone();
    config.geometry.pages_per_block = 8;
    bench::collect(&config, kept).map(|times| format!("{} us", (times.read + times.program) / 1000))
}

/// Moves one after the other.
fn serial_moves(r: &Results, pages: u64) -> String {
    let t = &r.preset.timing;
    format!("{} us", pages * (t.read.types()[0].0 + t.program.types()[0].0) / 1000)
}

/// Time of the moves and of the erase.
fn cost(times: &GcTimes) -> String {
    format!("{} us + {} us", (bench::total(times) - times.erase) / 1000, times.erase / 1000)
}

/// A joint collection of victims with `k` and `l` valid pages, `shared` of them at the same offsets.
fn joint_cost(r: &Results, k: u64, l: u64, shared: u64) -> Option<String> {
    let a: Vec<u64> = (0..k).collect();
    let b: Vec<u64> = (0..shared).chain(k..k + l - shared).collect();
    let times = bench::collect(r.config("B-PaGC")?, &[&a, &b])?;
    // Odd pages leave the die; the formula leaves their transfers out.
    Some(cost(&GcTimes { transfer: 0, ..times }))
}

fn serial_cost(r: &Results, pages: u64) -> Option<String> {
    bench::victim(r.config("baseline").unwrap_or(&r.preset), pages).map(|times| cost(&times))
}

fn user_space(r: &Results) -> String {
    let raw = r.preset.geometry.pages() * r.preset.geometry.page_size.0;
    let exported = Ppm::ONE - u64::from(r.preset.device.over_provisioning.0);
    size((u128::from(raw) * u128::from(exported) / u128::from(Ppm::ONE)) as u64)
}

fn zero_gc(r: &Results) -> Vec<Row> {
    let row = |(workload, stated): (&&'static str, f64)| {
        r.seal(Row::factor(*workload, stated / 100.0, r.ratio(workload, "zero-GC", "baseline", all_mean)))
    };
    TRACES.iter().zip(ZERO).map(row).collect()
}

/// Fig. 9: the traces that B-PaGC makes slower, and the other two do not.
fn slowed_by_blind(r: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in FOUR {
        let over = |scheme| r.ratio(workload, scheme, "baseline", all_mean);
        let blind = over("B-PaGC").map(|ratio| (format!("{ratio:.3}x"), ratio > 1.0));
        rows.push(r.seal(Row::claim(format!("{workload}: B-PaGC"), "worse than the baseline", blind)));
        for scheme in ["T-PaGC", "TC-PaGC"] {
            let row = Row::factor(format!("{workload}: {scheme}"), 0.92, over(scheme));
            rows.push(r.seal(row.note("4 ... 12 % better; compared with their middle")));
        }
    }
    rows
}

/// Figures 7 and 11: pages by the way they moved, a collection, from the report of the scheme.
fn categories(r: &Results, workloads: &[&'static str]) -> Vec<Row> {
    let row = |(workload, scheme): (&str, &str)| {
        let text = |way: &&str| moved_by(r, workload, scheme, &[way]).map(|pages| format!("{way} {pages:.1}"));
        let texts: Option<Vec<String>> = CATEGORIES.iter().map(text).collect();
        texts.map(|texts| Row::stated(format!("{workload}, {scheme}, pages a collection"), texts.join(", ")))
    };
    let runs = workloads.iter().flat_map(|workload| PAGC.iter().map(move |scheme| (*workload, *scheme)));
    or_missing("categories", runs.filter_map(row).collect())
}

/// Figures 10 and 13: time in which planes collect, and in which they idle because the other plane of the die does.
fn planes(r: &Results, workloads: &[&'static str]) -> Vec<Row> {
    let row = |(workload, scheme): (&str, &str)| {
        let share = |name: &str| reported(r.summary(workload, scheme)?, &format!("/pagc/plane_gc_{name}_share"));
        let (busy, idle) = (share("busy")?, share("idle")?);
        let text = format!("collects {:.3} %, idle for the other {:.3} %", busy * 100.0, idle * 100.0);
        Some(Row::stated(format!("{workload}, {scheme}"), text))
    };
    let runs = workloads.iter().flat_map(|workload| MEASURED.iter().map(move |scheme| (*workload, *scheme)));
    or_missing("plane time", runs.filter_map(row).collect())
}

fn or_missing(what: &str, rows: Vec<Row>) -> Vec<Row> {
    if rows.is_empty() { vec![Row::missing(what, "as figured").note(NEEDS_REPORT)] } else { rows }
}

/// Fig. 15: traces on which TC-PaGC does not improve on random victims.
fn worse_with_random(r: &Results) -> Option<(String, bool)> {
    let ratio = |workload| Some((workload, r.ratio(workload, "TC-PaGC, RANDOM", "baseline, RANDOM", all_mean)?));
    let ratios: Option<Vec<(&str, f64)>> = r.present().map(ratio).collect();
    let worse: Vec<&str> =
        ratios?.into_iter().filter(|(_, ratio)| *ratio >= 1.0).map(|(workload, _)| workload).collect();
    let text = if worse.is_empty() { "none".into() } else { worse.join(", ") };
    Some((format!("worse: {text}"), worse.iter().all(|workload| *workload == "b.fin1")))
}

/// Fig. 16.
fn better_with_pcwd(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let ratio = |workload| r.ratio(workload, scheme, "baseline, PCWD", all_mean);
    let ratios: Option<Vec<f64>> = r.present().map(ratio).collect();
    let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
    let better = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let text = format!("better in {better} of {}, mean {:.3}x", ratios.len(), student::mean(&ratios));
    Some((text, better == ratios.len()))
}

/// Fig. 17.
fn superblock(r: &Results, workload: &str) -> Option<(String, bool)> {
    let ratio = r.ratio(workload, "superblock", "TC-PaGC", all_mean)?;
    Some((format!("{ratio:.3}x"), ratio < 1.0))
}
