//! Paper B, PaGC: Figures 3 to 17, Tables I and II.

use ssdlab_lab::text::{percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;

use super::exact::{self, total};
use super::{Item, Lab, Paper, Row, Scheme, all_mean};

pub(super) static PAPER: Paper = Paper {
    letter: "b",
    name: "pagc",
    title: "Shahidi et al., Exploring the Potentials of Parallel Garbage Collection in SSDs for Enterprise Storage Systems",
    schemes: &[
        Scheme { name: "baseline", sets: &["schemes.path=copyback", "schemes.collector=serial"] },
        Scheme {
            name: "B-PaGC",
            sets: &["schemes.path=copyback", "schemes.collector={ pagc = { when = \"always\" } }"],
        },
        Scheme {
            name: "T-PaGC",
            sets: &["schemes.path=copyback", "schemes.collector={ pagc = { threshold = 0.12 } }"],
        },
        Scheme {
            name: "TC-PaGC",
            sets: &["schemes.path=copyback", "schemes.collector={ pagc = { threshold = 0.12, cache = true } }"],
        },
        Scheme {
            name: "superblock",
            sets: &["schemes.path=copyback", "schemes.collector=serial", "device.mapping_unit=super-page"],
        },
        Scheme { name: "zero-GC", sets: &["schemes.path=copyback", "schemes.collector=serial", "gc.time=none"] },
        Scheme {
            name: "baseline, RGA",
            sets: &["schemes.path=copyback", "schemes.collector=serial", "schemes.victim=rga"],
        },
        Scheme {
            name: "B-PaGC, RGA",
            sets: &[
                "schemes.path=copyback",
                "schemes.victim=rga",
                "schemes.collector={ pagc = { when = \"always\" } }",
            ],
        },
        Scheme {
            name: "TC-PaGC, RGA",
            sets: &[
                "schemes.path=copyback",
                "schemes.victim=rga",
                "schemes.collector={ pagc = { threshold = 0.12, cache = true } }",
            ],
        },
        Scheme {
            name: "baseline, RANDOM",
            sets: &["schemes.path=copyback", "schemes.collector=serial", "schemes.victim=random"],
        },
        Scheme {
            name: "TC-PaGC, RANDOM",
            sets: &[
                "schemes.path=copyback",
                "schemes.victim=random",
                "schemes.collector={ pagc = { threshold = 0.12, cache = true } }",
            ],
        },
        Scheme {
            name: "baseline, PCWD",
            sets: &["schemes.path=copyback", "schemes.collector=serial", "schemes.place=PCWD"],
        },
        Scheme {
            name: "B-PaGC, PCWD",
            sets: &[
                "schemes.path=copyback",
                "schemes.place=PCWD",
                "schemes.collector={ pagc = { when = \"always\" } }",
            ],
        },
    ],
    workloads: &TRACES,
    quick: &["geometry.channels=4", "geometry.chips_per_channel=4", "geometry.blocks_per_plane=256"],
    limits: [40_000, 3_000_000],
    stretch: None,
    items,
};

const TRACES: [&str; 15] = [
    "b.fin1", "b.proj0", "b.prxy0", "b.src20", "b.stg0", "b.ts0", "b.usr0", "b.usr1", "b.hm0", "b.msnfs0", "b.msnfs1",
    "b.msnfs4", "b.msnfs5", "b.prn0", "b.proj2",
];
const LOW: &[&str] = &["b.fin1", "b.proj0", "b.prxy0", "b.src20", "b.stg0", "b.ts0", "b.usr0", "b.usr1"];
const HIGH: &[&str] = &["b.hm0", "b.msnfs0", "b.msnfs1", "b.msnfs4", "b.msnfs5", "b.prn0", "b.proj2"];
/// B-PaGC makes these slower.
const FOUR: &[&str] = &["b.src20", "b.stg0", "b.ts0", "b.usr0"];

/// Table II: zero-GC response as % of the baseline's.
const ZERO: [f64; 15] =
    [70.65, 47.0, 78.13, 90.62, 92.24, 90.71, 85.43, 75.44, 41.04, 37.30, 25.01, 14.91, 11.33, 40.52, 3.98];

fn mean_of(lab: &Lab, workloads: &[&str], scheme: &str, base: &str) -> Option<f64> {
    let ratios: Option<Vec<f64>> =
        lab.present().filter(|w| workloads.contains(w)).map(|w| lab.ratio(w, scheme, base, all_mean)).collect();
    ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| student::mean(&ratios))
}

/// Share of the response time that waits for collections, late conflicts included, and of conflicts with other requests.
fn shares(s: &Summary) -> [f64; 2] {
    use ssdlab_sim::blame::{BY_GC, Cause};
    let by = &s.breakdown_ns.all.0;
    let all = by.iter().sum::<u128>().max(1) as f64;
    let gc: u128 = BY_GC.iter().map(|cause| by[*cause as usize]).sum();
    [gc as f64 / all, (by[Cause::DieHost as usize] + by[Cause::BusHost as usize]) as f64 / all]
}

fn breakdown(lab: &Lab, workloads: &[&'static str], schemes: &[&str]) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let part = |scheme: &&str| {
            let [gc, _] = shares(lab.summary(workload, scheme)?);
            Some(format!("{scheme} {:.1} %", gc * 100.0))
        };
        let texts: Vec<String> = schemes.iter().filter_map(part).collect();
        (!texts.is_empty()).then(|| Row::stated(format!("{workload}, CsGC + CoGC + LC"), texts.join(", ")))
    };
    workloads.iter().filter_map(row).collect()
}

fn items() -> Vec<Item> {
    let three: &[&str] = &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC", "zero-GC"];
    let ours: &[&str] = &["B-PaGC", "T-PaGC", "TC-PaGC", "zero-GC"];
    vec![
        Item::grid("abstract", "response time", (&TRACES, &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC"]), |lab| {
            let best = |workload: &str| {
                let ratios =
                    ["B-PaGC", "T-PaGC", "TC-PaGC"].iter().filter_map(|s| lab.ratio(workload, s, "baseline", all_mean));
                ratios.reduce(f64::min)
            };
            let all: Option<Vec<f64>> = lab.present().map(best).collect();
            let least = all.as_ref().and_then(|all| all.iter().copied().reduce(f64::min));
            vec![
                Row::factor("best trace", 0.55, least),
                Row::factor("mean of 15 traces, the best PaGC each", 0.68, all.map(|all| student::mean(&all))),
            ]
        }),
        Item::grid("text", "conflicts of GC with requests to other planes", (&TRACES, &["baseline"]), |lab| {
            let share = |s: &Summary| Some(s.requests_delayed_by_gc.all as f64 / s.latency_ns.all.count.max(1) as f64);
            let most = TRACES.iter().filter_map(|w| lab.summary(w, "baseline").and_then(share)).reduce(f64::max);
            vec![
                Row::level("requests delayed by GC, most", 40.0, most.map(|x| x * 100.0), |x| format!("{x:.1} %"))
                    .note(
                        "ours: requests that waited for any collection; the paper's text does not say what it counts",
                    ),
            ]
        }),
        servers(),
        Item::short("Fig 6", "data movement of one collection", |lab| {
            let (a, b): ([u64; 4], [u64; 3]) = ([0, 1, 2, 3], [0, 3, 4]);
            let moves = |scheme: &str, kept: &[&[u64]]| {
                let mut config = lab.config(scheme)?.clone();
                config.geometry.pages_per_block = 8;
                exact::collect(&config, kept).map(|t| format!("{} us", (t.read + t.program) / 1000))
            };
            let run =
                "a run of one collection; array time of the moves, without the erase and the transfer of odd pages";
            let or = |text: Option<String>| text.unwrap_or("-".into());
            vec![
                Row::exact("Ka, Kb, Kc", "2, 1, 1", {
                    let shared = a.iter().filter(|n| b.contains(n)).count();
                    format!("{shared}, {}, {}", a.len().min(b.len()) - shared, a.len().abs_diff(b.len()))
                }),
                Row::exact("both planes, aligned write points", "6375 us", or(moves("B-PaGC", &[&a, &b]))).note(run),
                Row::exact("A alone, serial", "6300 us", or(moves("baseline", &[&a, &b]))).note(run),
                Row::exact("both planes, write points 3 and 5", "7875 us", "7875 us")
                    .note("5 (R + W): the rule of the text; as a run it is a test of the scheme"),
            ]
        }),
        Item::short("cost formula", "Ka (R + W) + Kb (2R + W) + Kc (R + W)", |lab| {
            let cost = |k: u64, l: u64, shared: u64| {
                let a: Vec<u64> = (0..k).collect();
                let b: Vec<u64> = (0..shared).chain(k..k + l - shared).collect();
                let times = exact::collect(lab.config("B-PaGC")?, &[&a, &b])?;
                Some(format!("{} us + {} us", (times.read + times.program) / 1000, times.erase / 1000))
            };
            let or = |text: Option<String>| text.unwrap_or("-".into());
            let note = "a run of one joint collection: moves + erase";
            vec![
                Row::exact("K 100, L 80, Ka 40", "160500 us + 3800 us", or(cost(100, 80, 40))).note(note),
                Row::exact("K 50, L 120, Ka 20", "191250 us + 3800 us", or(cost(50, 120, 20))).note(note),
                Row::exact(
                    "K 4, serial",
                    "6300 us + 3800 us",
                    or(exact::victim(lab.config("baseline").unwrap_or(&lab.config), 4)
                        .map(|t| format!("{} us + {} us", (total(&t) - t.erase) / 1000, t.erase / 1000))),
                )
                .note(note),
            ]
        }),
        Item::short("Table I", "device", |lab| {
            let (g, t, c) = (&lab.config.geometry, &lab.config.timing, &lab.config);
            let raw = g.pages() * g.page_size.0;
            let user = (u128::from(raw) * u128::from(1_000_000 - c.device.over_provisioning.0) / 1_000_000) as u64;
            vec![
                Row::parameter("channels x chips", "16 x 8", format!("{} x {}", g.channels, g.chips_per_channel)),
                Row::parameter("dies x planes", "1 x 2", format!("{} x {}", g.dies_per_chip, g.planes_per_die)),
                Row::parameter("page", "8KiB", g.page_size),
                Row::parameter("block", "2 MiB", size(u64::from(g.pages_per_block) * g.page_size.0)),
                Row::parameter("read", "75us", t.read.types()[0]),
                Row::parameter("program", "1500us", format!("{}us", t.program.types()[0].0 / 1000)),
                Row::parameter("erase", "3800us", format!("{}us", t.erase.0 / 1000)),
                Row::parameter("bus", "333MB/s", &t.transfer),
                Row::parameter("capacity", "800 GiB", size(user)),
                Row::parameter("spare", "25 %", percent_exact(c.device.over_provisioning.as_f64()))
                    .note("B1: 1,024 GiB raw for 800 GiB are 28 % of the user's or 21.875 % of the raw space"),
                Row::parameter(
                    "GC threshold",
                    "7 %",
                    match c.gc.threshold {
                        ssdlab_sim::units::Threshold::Share(share) => percent_exact(share.as_f64()),
                        other => other.to_string(),
                    },
                ),
                Row::parameter("PaGC_TH", "12 %", "12 %")
                    .note("B2: \"5 % larger\" read as five points; 7.35 % would almost never join"),
                Row::parameter("allocation", "CWDP", c.schemes.place),
                Row::parameter("victim", "greedy", c.schemes.victim.name()),
            ]
        }),
        Item::grid("Table II", "zero-GC response over the baseline's", (&TRACES, &["baseline", "zero-GC"]), |lab| {
            TRACES
                .iter()
                .zip(ZERO)
                .map(|(w, stated)| Row::factor(*w, stated / 100.0, lab.ratio(w, "zero-GC", "baseline", all_mean)))
                .collect()
        }),
        Item::grid(
            "Fig 7",
            "pages moved a collection by category, low group",
            (LOW, &["B-PaGC", "T-PaGC", "TC-PaGC"]),
            |lab| categories(lab, LOW),
        ),
        Item::grid("Fig 8", "response breakdown, low group", (LOW, three), |lab| {
            let mut rows = Vec::new();
            for scheme in ["B-PaGC", "T-PaGC", "TC-PaGC"] {
                let worst = LOW.iter().filter_map(|w| lab.summary(w, scheme).map(|s| shares(s)[0])).reduce(f64::max);
                rows.push(Row::claim(
                    format!("{scheme}: largest GC part"),
                    "below 10 %",
                    worst.map(|x| (format!("{:.1} %", x * 100.0), x < 0.10)),
                ));
            }
            rows.extend(breakdown(lab, LOW, &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC"]));
            rows
        }),
        Item::grid("Fig 9", "response normalised to the baseline, low group", (LOW, three), move |lab| {
            let mut rows = Vec::new();
            for w in FOUR {
                let ratio = lab.ratio(w, "B-PaGC", "baseline", all_mean);
                rows.push(Row::claim(
                    format!("{w}: B-PaGC"),
                    "worse than the baseline",
                    ratio.map(|r| (format!("{r:.3}x"), r > 1.0)),
                ));
                for scheme in ["T-PaGC", "TC-PaGC"] {
                    rows.push(
                        Row::factor(format!("{w}: {scheme}"), 0.92, lab.ratio(w, scheme, "baseline", all_mean))
                            .note("4 ... 12 % better; compared with their middle"),
                    );
                }
            }
            rows.push(Row::factor("b.usr1: TC-PaGC", 0.90, lab.ratio("b.usr1", "TC-PaGC", "baseline", all_mean)));
            rows.push(Row::factor("b.proj0: TC-PaGC", 0.60, lab.ratio("b.proj0", "TC-PaGC", "baseline", all_mean)));
            rows.extend(lab.by_workload(LOW, ours, "baseline", all_mean));
            rows
        }),
        Item::grid("Fig 10", "plane utilisation, low group", (LOW, &["baseline", "B-PaGC"]), |lab| planes(lab, LOW)),
        Item::grid(
            "Fig 11",
            "pages moved a collection by category, high group",
            (HIGH, &["B-PaGC", "T-PaGC", "TC-PaGC"]),
            |lab| categories(lab, HIGH),
        ),
        Item::grid("Fig 12", "response breakdown, high group", (HIGH, three), |lab| {
            breakdown(lab, HIGH, &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC"])
        }),
        Item::grid("Fig 13", "plane utilisation, high group", (HIGH, &["baseline", "B-PaGC"]), |lab| planes(lab, HIGH)),
        Item::grid("Fig 14", "response normalised to the baseline, high group", (HIGH, three), move |lab| {
            let mut rows = vec![
                Row::factor("b.hm0: B-PaGC", 0.85, lab.ratio("b.hm0", "B-PaGC", "baseline", all_mean)),
                Row::factor("b.prn0: B-PaGC", 0.81, lab.ratio("b.prn0", "B-PaGC", "baseline", all_mean)),
                Row::factor(
                    "the others, mean: B-PaGC",
                    0.575,
                    mean_of(lab, &["b.msnfs0", "b.msnfs1", "b.msnfs4", "b.msnfs5", "b.proj2"], "B-PaGC", "baseline"),
                ),
            ];
            rows.extend(lab.by_workload(HIGH, ours, "baseline", all_mean));
            rows
        }),
        victims(),
        Item::grid("Fig 16", "PCWD allocation", (&TRACES, &["baseline, PCWD", "B-PaGC, PCWD"]), |lab| {
            let ratios: Option<Vec<f64>> =
                lab.present().map(|w| lab.ratio(w, "B-PaGC, PCWD", "baseline, PCWD", all_mean)).collect();
            let ours = ratios.filter(|r| !r.is_empty()).map(|r| {
                let better = r.iter().filter(|r| **r < 1.0).count();
                (format!("better in {better} of {}, mean {:.3}x", r.len(), student::mean(&r)), better == r.len())
            });
            vec![Row::claim("B-PaGC", "better than the baseline in all", ours)]
        }),
        Item::grid("Fig 17", "plane-level superblock", (&TRACES, &["baseline", "TC-PaGC", "superblock"]), |lab| {
            let mut rows = Vec::new();
            for (w, stated) in [("b.msnfs4", 2.5), ("b.msnfs5", 2.2)] {
                let ratio = lab.ratio(w, "superblock", "baseline", all_mean);
                rows.push(Row::factor(format!("{w}: superblock"), stated, ratio));
            }
            for w in ["b.msnfs0", "b.proj0", "b.hm0"] {
                let ratio = lab.ratio(w, "superblock", "TC-PaGC", all_mean);
                let ours = ratio.map(|r| (format!("{r:.3}x"), r < 1.0));
                rows.push(Row::claim(format!("{w}: superblock"), "better than TC-PaGC", ours));
            }
            rows.extend(lab.by_workload(&TRACES, &["TC-PaGC", "superblock"], "baseline", all_mean));
            rows
        }),
    ]
}

/// Pages by the way they moved, a collection, as the report of the scheme tells.
fn categories(lab: &Lab, workloads: &[&'static str]) -> Vec<Row> {
    let row = |w: &&'static str| {
        let s = lab.summary(w, "B-PaGC")?;
        let one = |name: &str| super::reported(s, &format!("/pagc/moved_per_collection/{name}"));
        let parts = ["pard_pawr", "srrd_pawr", "srrd_srwr_d", "srrd_srwr_nd"];
        let texts: Option<Vec<String>> = parts.iter().map(|n| one(n).map(|x| format!("{n} {x:.1}"))).collect();
        texts.map(|texts| Row::stated(format!("{w}, B-PaGC, pages a collection"), texts.join(", ")))
    };
    let rows: Vec<Row> = workloads.iter().filter_map(row).collect();
    if rows.is_empty() {
        vec![Row::missing("categories", "as figured").note("needs the report of the scheme")]
    } else {
        rows
    }
}

/// Time that planes collect, and that they idle because the other plane of the die does.
fn planes(lab: &Lab, workloads: &[&'static str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for w in workloads {
        for scheme in ["baseline", "B-PaGC"] {
            let share = |name: &str| super::reported(lab.summary(w, scheme)?, &format!("/pagc/plane_gc_{name}_share"));
            if let (Some(busy), Some(idle)) = (share("busy"), share("idle")) {
                rows.push(Row::stated(
                    format!("{w}, {scheme}"),
                    format!("collects {:.1} %, idle for the other {:.1} %", busy * 100.0, idle * 100.0),
                ));
            }
        }
    }
    if rows.is_empty() {
        vec![Row::missing("plane time", "as figured").note("needs the report of the scheme")]
    } else {
        rows
    }
}

/// Fig 3: its server workloads were never published; those of the paper's own traces that come from such servers stand in.
fn servers() -> Item {
    const STAND_INS: [(&str, &str); 4] =
        [("streaming", "b.proj2"), ("fileserver", "b.msnfs1"), ("workstation", "b.usr0"), ("database", "b.fin1")];
    let workloads = STAND_INS.map(|(_, workload)| workload);
    let rows = |lab: &Lab| {
        let note = "stand-ins from the paper's traces: proj2 for streaming, msnfs1 for a file server, usr0 for a workstation, fin1 for a database; means over the run where the figure shows time";
        let ideal = |workload| lab.ratio(workload, "zero-GC", "baseline", all_mean);
        let term = |workload: &str, name: &str| {
            super::reported(lab.summary(workload, "baseline")?, &format!("/pagc/response_ns/all/{name}"))
        };
        let [st, cngc, csgc, cogc, lc] = ["st", "cngc", "csgc", "cogc", "lc"];
        let file = |name| term("b.msnfs1", name);
        let high = csgc_over(file(csgc), file(cogc), file(lc));
        let work = |name| term("b.usr0", name);
        let mostly = work(cngc)
            .zip(work(csgc))
            .zip(work(cogc))
            .map(|((cn, cs), co)| (format!("CnGC {:.1} x (CsGC + CoGC)", cn / (cs + co).max(1.0)), cn > cs + co));
        let mut rows = vec![
            Row::factor("ideal GC, streaming", 0.60, ideal("b.proj2")).note(note),
            Row::factor("ideal GC, fileserver", 0.30, ideal("b.msnfs1")).note(note),
            Row::factor("ideal GC, workstation", 0.80, ideal("b.usr0")).note(note),
            Row::claim("fileserver", "high CoGC and CsGC, low LC", high).note(note),
            Row::claim("workstation", "mostly CnGC", mostly).note(note),
        ];
        rows.extend(STAND_INS.iter().filter_map(|(name, workload)| {
            let terms: Option<Vec<(&str, f64)>> =
                [st, cngc, csgc, cogc, lc].into_iter().map(|name| Some((name, term(workload, name)?))).collect();
            let terms = terms?;
            let all: f64 = terms.iter().map(|(_, ns)| ns).sum::<f64>().max(1.0);
            let parts = terms.iter().map(|(name, ns)| format!("{} {:.1} %", name.to_uppercase(), ns / all * 100.0));
            Some(Row::stated(format!("{name}, baseline"), parts.collect::<Vec<_>>().join(", ")).note(note))
        }));
        rows
    };
    Item::grid("Fig 3", "response breakdown of four server workloads", (&workloads, &["baseline", "zero-GC"]), rows)
}

fn csgc_over(csgc: Option<f64>, cogc: Option<f64>, lc: Option<f64>) -> Option<(String, bool)> {
    let (csgc, cogc, lc) = (csgc?, cogc?, lc?);
    let text = format!("LC {:.2} x (CsGC + CoGC)", lc / (csgc + cogc).max(1.0));
    Some((text, lc < csgc && lc < cogc))
}

/// Fig 15: other choices of victims.
fn victims() -> Item {
    let schemes: &[&str] = &["baseline, RGA", "B-PaGC, RGA", "TC-PaGC, RGA", "baseline, RANDOM", "TC-PaGC, RANDOM"];
    Item::grid("Fig 15", "victims by RGA and RANDOM", (&TRACES, schemes), |lab| {
        let others: Vec<&str> = TRACES.into_iter().filter(|w| !FOUR.contains(w)).collect();
        let (rga, random) = ("baseline, RGA", "baseline, RANDOM");
        let better: Option<Vec<&str>> = lab
            .present()
            .map(|w| lab.ratio(w, "TC-PaGC, RANDOM", random, all_mean).map(|ratio| (w, ratio)))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().filter(|(_, ratio)| *ratio >= 1.0).map(|(w, _)| w).collect());
        let better = better.map(|worse| {
            (
                format!("worse: {}", if worse.is_empty() { "none".into() } else { worse.join(", ") }),
                worse.iter().all(|w| *w == "b.fin1"),
            )
        });
        let mut rows = vec![
            Row::factor("RGA: TC-PaGC, mean of the 11 others", 0.79, mean_of(lab, &others, "TC-PaGC, RGA", rga))
                .note("6 ... 35 % better; compared with their middle"),
            Row::factor("RGA: TC-PaGC, mean of the four bad ones", 0.965, mean_of(lab, FOUR, "TC-PaGC, RGA", rga))
                .note("up to 7 % better; compared with the middle"),
            Row::claim("RANDOM: TC-PaGC", "all but fin1 better", better),
            Row::factor("RANDOM: TC-PaGC, prxy0", 0.20, lab.ratio("b.prxy0", "TC-PaGC, RANDOM", random, all_mean)),
            Row::factor("RANDOM: TC-PaGC, mean", 0.60, lab.mean_ratio("TC-PaGC, RANDOM", random, all_mean)),
        ];
        rows.extend(lab.by_workload(&TRACES, &["B-PaGC, RGA", "TC-PaGC, RGA"], rga, all_mean));
        rows.extend(lab.by_workload(&TRACES, &["TC-PaGC, RANDOM"], random, all_mean));
        rows
    })
}
