//! Paper E, selective copy-back on a network-on-chip controller: Tables 1 to 6, Figures 6 to 9. `docs/papers/noc.md` has the
//! readings E1 to E4.

use ssdlab_lab::text::size;
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;

use crate::assumption::{Assumption, assume};
use crate::over_time;
use crate::paper::{Item, Paper, Scheme, claim, formula, grid, parameter, rank, rows};
use crate::results::{Figure, Results, Run, delayed_by_gc, figures_of, read_mean, write_mean};
use crate::row::{Row, rank_correlation};

pub(crate) static PAPER: Paper = Paper {
    letter: "e",
    name: "noc",
    title: "Ahn et al., High-Performance Garbage Collection Scheme with Low Data Transfer Overhead for NoC-Based SSDC",
    schemes: &[
        Scheme { name: "conventional", sets: &["schemes.path=external"] },
        Scheme { name: "proposed", sets: &["schemes.path=selective"] },
    ],
    workloads: &LOADS,
    quick: &[],
    limits: [100_000, 1_000_000],
    items: ITEMS,
    under: &[],
    load: Err("it prints latencies and neither rates nor utilisation"),
    assumptions: ASSUMPTIONS,
};

const LOADS: [&str; 6] = ["e.cassandra", "e.dbench", "e.mysql", "e.sqlite", "e.mongodb", "e.rocksdb"];
const CONVENTIONAL: &[&str] = &["conventional"];
const PROPOSED: &[&str] = &["proposed"];
const BOTH: &[&str] = &["conventional", "proposed"];

/// Workload, conventional, proposed, improvement: ms and the printed percentage.
type Stated = (&'static str, f64, f64, &'static str);

/// Table 4.
const MEAN_READ: [Stated; 3] = [
    ("e.cassandra", 1.729, 1.712, "0.983 %"),
    ("e.mongodb", 0.826, 0.824, "0.242 %"),
    ("e.rocksdb", 0.856, 0.855, "0.117 %"),
];
const MEAN_WRITE: [Stated; 6] = [
    ("e.cassandra", 20.714, 15.137, "26.924 %"),
    ("e.dbench", 8.981, 6.811, "24.162 %"),
    ("e.mysql", 1.159, 1.076, "7.161 %"),
    ("e.sqlite", 1.151, 1.097, "4.692 %"),
    ("e.mongodb", 1.118, 1.067, "4.562 %"),
    ("e.rocksdb", 1.467, 1.461, "0.409 %"),
];
/// Table 5.
const PEAK_READ: [Stated; 3] = [
    ("e.cassandra", 181.257, 90.625, "50.002 %"),
    ("e.mongodb", 2.832, 2.474, "12.641 %"),
    ("e.rocksdb", 21.686, 20.625, "4.893 %"),
];
const PEAK_WRITE: [Stated; 6] = [
    ("e.cassandra", 1055.123, 758.686, "28.095 %"),
    ("e.dbench", 977.507, 836.451, "14.430 %"),
    ("e.mysql", 29.450, 25.372, "13.847 %"),
    ("e.sqlite", 3.776, 3.341, "11.520 %"),
    ("e.mongodb", 3.602, 3.200, "11.160 %"),
    ("e.rocksdb", 51.816, 50.637, "2.275 %"),
];
/// Table 3: reads %, sequential %, mean read and write in KB.
const TABLE_3: [[f64; 4]; 6] = [
    [80.2, 56.8, 70.5, 103.7],
    [0.0, 13.2, 4.0, 7.6],
    [0.0, 9.8, 0.0, 5.8],
    [0.0, 18.7, 4.0, 4.9],
    [36.9, 18.7, 6.4, 4.7],
    [50.5, 9.9, 4.9, 4.5],
];
/// Table 6: standard deviations over the trials by workload, in ms; none where the workload has no such requests.
const TABLE_6: [(&str, Figure, [Option<f64>; 6]); 4] = [
    ("mean read", read_mean, [Some(0.003), None, None, None, Some(0.0), Some(0.0)]),
    ("mean write", write_mean, [Some(0.430), Some(0.395), Some(0.002), Some(0.001), Some(0.0), Some(0.001)]),
    ("peak read", read_max, [Some(1.758), None, None, None, Some(0.057), Some(0.676)]),
    ("peak write", write_max, [Some(6.893), Some(6.227), Some(1.199), Some(0.117), Some(0.133), Some(1.053)]),
];
/// Trials of Table 6, which are seeds here.
const TRIALS: u64 = 5;
/// The workloads by their improvement.
const ORDER: &str = "Cassandra, Dbench, MySQL, SQLite, MongoDB, RocksDB";

const TRIALS_NOTE: &str =
    "five seeds; the paper's trials are runs of its own tool, so only the order of magnitude means something";
const PATTERN_NOTE: &str = "an input: the paper prints no numbers to fit a pattern by, so the models' requests arrive at random times at a constant rate; \
                            ours is the standard deviation of requests a window over their mean, in 100 windows of the first 200,000 requests";
const PENDING_NOTE: &str =
    "over the whole run; agrees: SQLite's share is at most half of MySQL's (the paper gives no number)";

const ORDERS: &str = "order of the task queues";
/// What the paper leaves open.
const ASSUMPTIONS: &[Assumption] = &[
    assume("arrival rate", "a quarter", &[]).times("4"),
    assume("arrival rate", "4 times", &[]).times("0.25"),
    assume(ORDERS, "GC first", &[r#"noc.priority=["rgc","wgc","rhost","whost"]"#]),
    assume(ORDERS, "GC first, a quarter of the rate", &[r#"noc.priority=["rgc","wgc","rhost","whost"]"#]).times("4"),
    assume(ORDERS, "host writes last", &[r#"noc.priority=["rhost","rgc","wgc","whost"]"#]),
    assume(ORDERS, "host writes last, a quarter of the rate", &[r#"noc.priority=["rhost","rgc","wgc","whost"]"#])
        .times("4"),
    assume(ORDERS, "GC reads last", &[r#"noc.priority=["rhost","wgc","whost","rgc"]"#]),
    assume(ORDERS, "as the text lists them", &[r#"noc.priority=["rhost","rgc","whost","wgc"]"#]),
    assume("hard threshold", "0.1 points below the trigger", &["gc.hard_threshold=0.049"]),
    assume("over-provisioning", "7 %", &["device.over_provisioning=0.07"]),
    assume("write points", "shared", &["ftl.write_points=shared"]),
    assume("placement of writes", "dynamic", &["schemes.place=dynamic"]),
    assume("placement of writes", "round robin, bound at admission", &["schemes.place=round-robin"]),
    assume("where moved pages go", "any plane, as in its Fig. 2", &["schemes.place=dynamic", "gc.destination=any"]),
    assume("fill", "in sequence", &["precondition.mode=sequential"]),
    assume("RocksDB's journal", "32 MiB, 70 % of the writes", &[]).on(&[("e.rocksdb", "e.rocksdb-journal")]),
    assume("queue depth", "256", &["device.queue_depth=256"]),
];

const ITEMS: &[Item] = &[
    Item {
        id: "Table 1",
        title: "array",
        runs: &[],
        lines: &[
            parameter("channels", "8", |r| r.preset.geometry.channels.to_string()),
            parameter("planes a channel", "4", |r| {
                let g = &r.preset.geometry;
                (g.planes_per_die * g.dies_per_chip * g.chips_per_channel).to_string()
            }),
            parameter("blocks a plane", "512", |r| r.preset.geometry.blocks_per_plane.to_string()),
            parameter("pages a block", "64", |r| r.preset.geometry.pages_per_block.to_string()),
            parameter("page", "4KiB", |r| r.preset.geometry.page_size.to_string()),
            parameter("capacity", "4 GiB", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0))
                .derived("8 x 4 x 512 x 64 x 4 KB"),
        ],
    },
    Item {
        id: "Table 2",
        title: "delays",
        runs: &[],
        lines: &[
            parameter("NAND read", "25us", |r| r.preset.timing.read.types()[0].to_string()),
            parameter("NAND program", "200us", |r| r.preset.timing.program.types()[0].to_string()),
            parameter("NAND erase", "700us", |r| r.preset.timing.erase.to_string()),
            parameter("SRAM write and read", "12us, 12us", |r| {
                format!("{}, {}", r.preset.noc.sram_write, r.preset.noc.sram_read)
            }),
            formula("interconnect", "714 us", |_| Some(format!("{:.0} us", traversal_ns() / 1e3)))
                .note("(2^15 / 4 + 13.5 - 1) x 87 ns = 713,791.5 ns"),
        ],
    },
    Item {
        id: "formula",
        title: "one traversal of a page",
        runs: &[],
        lines: &[formula("ns, rounded half up", "713792", |_| Some(format!("{:.0}", (traversal_ns() + 0.5).floor())))
            .derived("8204.5 x 87")
            .note("the device's own traversal is in the noc section of its summary")],
    },
    Item {
        id: "text",
        title: "page error probability",
        runs: &[],
        lines: &[parameter("page error probability", "0.0001", |r| {
            r.key("proposed", "/ecc/page_error_probability").map_or("-".into(), |value| value.to_string())
        })
        .note("E3: the paper takes a bit error rate for it")],
    },
    Item { id: "Table 3", title: "workloads", runs: &[], lines: &[rows(workloads)] },
    Item {
        id: "Table 4",
        title: "mean latency",
        runs: &[grid(&LOADS, BOTH)],
        lines: &[
            rows(|r| latencies(r, "mean read", &MEAN_READ, read_mean)),
            rows(|r| latencies(r, "mean write", &MEAN_WRITE, write_mean)),
        ],
    },
    Item {
        id: "Table 5",
        title: "peak latency",
        runs: &[grid(&LOADS, BOTH)],
        lines: &[
            rows(|r| latencies(r, "peak read", &PEAK_READ, read_max)),
            rows(|r| latencies(r, "peak write", &PEAK_WRITE, write_max)),
        ],
    },
    Item {
        id: "Table 6",
        title: "standard deviation of 5 trials",
        runs: &[grid(&LOADS, PROPOSED).trials(TRIALS)],
        lines: &[rows(deviations)],
    },
    Item {
        id: "Fig 6",
        title: "host request patterns over time",
        runs: &[],
        lines: &[rows(|_| {
            let paper = "dynamic: Cassandra, Dbench, MySQL, RocksDB; static: SQLite, MongoDB";
            vec![pattern("requests", paper, request_pattern())]
        })],
    },
    Item {
        id: "Fig 7",
        title: "host, GC and pending requests",
        runs: &[grid(&["e.mysql", "e.sqlite"], CONVENTIONAL)],
        lines: &[rows(|r| vec![pending(r)])],
    },
    Item {
        id: "Fig 8",
        title: "number of copy-backs",
        runs: &[grid(&LOADS, PROPOSED)],
        lines: &[
            claim("copy-backs", "RocksDB far lowest", copybacks),
            claim("SQLite and MySQL", "SQLite well above MySQL", |r| {
                let [sqlite, mysql] = [moved(r, "e.sqlite")?, moved(r, "e.mysql")?];
                Some((format!("{sqlite} and {mysql}"), sqlite > mysql))
            }),
        ],
    },
    Item {
        id: "Fig 9",
        title: "Cassandra reads and writes over time",
        runs: &[],
        lines: &[rows(|_| vec![pattern("Cassandra", "writes surge, reads steady", cassandra_pattern())])],
    },
    Item {
        id: "order",
        title: "order of improvement",
        runs: &[grid(&LOADS, BOTH)],
        lines: &[
            rank("mean write", ORDER, |r| order(r, write_mean)),
            rank("peak write", ORDER, |r| order(r, write_max)),
        ],
    },
];

fn read_max(s: &Summary) -> Option<f64> {
    s.latency_ns.read.max.map(|ns| ns as f64)
}

fn write_max(s: &Summary) -> Option<f64> {
    s.latency_ns.write.max.map(|ns| ns as f64)
}

/// The name of a workload, as the paper has it.
fn name(workload: &str) -> &str {
    workload.trim_start_matches("e.")
}

/// One traversal of a page by the paper's formula.
fn traversal_ns() -> f64 {
    const PAGE_BITS: f64 = 32_768.0;
    const FLIT_BITS: f64 = 4.0;
    const MEAN_SLICES: f64 = 13.5;
    const CYCLE_NS: f64 = 87.0;
    (PAGE_BITS / FLIT_BITS + MEAN_SLICES - 1.0) * CYCLE_NS
}

/// Table 3 of the models.
fn workloads(_: &Results) -> Vec<Row> {
    let text = |f: [f64; 4]| format!("reads {:.1} %, seq {:.1} %, {:.1}/{:.1} KB", f[0], f[1], f[2], f[3]);
    let row = |(workload, stated): (&&'static str, [f64; 4])| {
        let ours = figures_of(workload).map(|info| {
            let kib = |bytes: f64, given: f64| if bytes == 0.0 { given } else { bytes / 1024.0 };
            let figures = [
                info.read_ratio * 100.0,
                info.sequential_share * 100.0,
                kib(info.mean_read_bytes, stated[2]),
                kib(info.mean_write_bytes, stated[3]),
            ];
            let near = (0..4).all(|i| (figures[i] - stated[i]).abs() <= 0.05 * stated[i].max(1.0));
            (text(figures), near)
        });
        let row = Row::claim(*workload, text(stated), ours).input();
        row.note("ours: the model's first 1,000,000 requests; agrees: within 5 %")
    };
    LOADS.iter().zip(TABLE_3).map(row).collect()
}

/// Tables 4 and 5: the paper's own percentage, and ours.
fn latencies(r: &Results, what: &str, stated: &[Stated], figure: Figure) -> Vec<Row> {
    let mut rows = Vec::new();
    for (workload, conventional, proposed, percent) in stated {
        let name = name(workload);
        let computed = format!("{:.3} %", (1.0 - proposed / conventional) * 100.0);
        rows.push(Row::formula(format!("{name}, {what}: 1 - {proposed} / {conventional}"), *percent, computed));
        let ours = r.ratio(workload, "proposed", "conventional", figure);
        let [before, after] = ["conventional", "proposed"].map(|scheme| {
            let latency = r.summary(workload, scheme).and_then(figure);
            latency.map_or("-".into(), |ns| format!("{:.3}", ns / 1e6))
        });
        let note = format!("ms: stated {conventional} -> {proposed}, ours {before} -> {after}");
        rows.push(r.seal(Row::factor(format!("{name}, {what}"), proposed / conventional, ours).note(note)));
    }
    rows
}

/// Table 6.
fn deviations(r: &Results) -> Vec<Row> {
    let trial = |workload, trial| r.trial(&Run { workload, scheme: "proposed", more: &[], trial });
    let mut rows = Vec::new();
    for (what, figure, stated) in TABLE_6 {
        for (workload, stated) in LOADS.iter().zip(stated) {
            let Some(stated) = stated else { continue };
            let values: Option<Vec<f64>> = (0..TRIALS).map(|n| figure(trial(workload, n)?)).collect();
            let ours = values.and_then(|values| student::deviation(&values)).map(|ns| ns / 1e6);
            let what = format!("{}, {what}", name(workload));
            let row = match stated {
                // Less than the printed digits.
                0.0 => Row::stated(what, ours.map_or("-".into(), |ms| format!("{ms:.3} ms"))).said("0.000 ms"),
                _ => Row::level(what, stated, ours, |ms| format!("{ms:.3} ms")),
            };
            rows.push(r.seal(row.note(TRIALS_NOTE)));
        }
    }
    rows
}

/// A pattern over time, which the models do not have.
fn pattern(what: &str, paper: &str, ours: Option<String>) -> Row {
    Row::incomparable(what, paper, ours.unwrap_or("-".into())).note(PATTERN_NOTE)
}

fn request_pattern() -> Option<String> {
    let text = |workload: &&str| Some(format!("{} {:.2}", name(workload), over_time::variation(workload)?[0]));
    let texts: Option<Vec<String>> = LOADS.iter().map(text).collect();
    texts.map(|texts| texts.join(", "))
}

fn cassandra_pattern() -> Option<String> {
    let [_, reads, writes] = over_time::variation("e.cassandra")?;
    Some(format!("reads {reads:.2}, writes {writes:.2}"))
}

/// Fig. 7: requests that wait for GC.
fn pending(r: &Results) -> Row {
    let share = |workload| Some(100.0 * delayed_by_gc(r.summary(workload, "conventional")?)?);
    let shares = share("e.mysql").zip(share("e.sqlite"));
    let text = |(mysql, sqlite)| (format!("MySQL {mysql:.1} %, SQLite {sqlite:.1} %"), mysql >= 2.0 * sqlite);
    let paper = "MySQL: GC causes pending requests; SQLite: few";
    r.seal(Row::claim("requests delayed by GC", paper, shares.map(text)).note(PENDING_NOTE))
}

fn moved(r: &Results, workload: &str) -> Option<u64> {
    r.summary(workload, "proposed").map(|summary| summary.gc.moved_pages)
}

/// Fig. 8: RocksDB, the last of the workloads, has the fewest.
fn copybacks(r: &Results) -> Option<(String, bool)> {
    let counts: Option<Vec<u64>> = LOADS.iter().map(|workload| moved(r, workload)).collect();
    let counts = counts?;
    let text: Vec<String> = LOADS.iter().zip(&counts).map(|(workload, n)| format!("{} {n}", name(workload))).collect();
    Some((text.join(", "), counts.last() == counts.iter().min()))
}

/// Improvements, the largest first, and their rank correlation with the order of the paper's workloads.
fn order(r: &Results, figure: Figure) -> Option<(String, f64)> {
    let gain =
        |workload: &&'static str| Some((1.0 - r.ratio(workload, "proposed", "conventional", figure)?, name(workload)));
    let gains: Option<Vec<(f64, &str)>> = LOADS.iter().map(gain).collect();
    let mut gains = gains?;
    let stated: Vec<f64> = (0..gains.len()).rev().map(|place| place as f64).collect();
    let correlation = rank_correlation(&gains.iter().map(|(gain, _)| *gain).collect::<Vec<_>>(), &stated);
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let text: Vec<String> = gains.iter().map(|(gain, name)| format!("{name} {:.1} %", gain * 100.0)).collect();
    Some((text.join(", "), correlation))
}
