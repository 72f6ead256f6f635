//! Paper E, selective copy-back on a network-on-chip controller: Tables 1 to 6, Figures 6 to 9.

use ssdlab_lab::text::size;
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;

use super::{Figure, Item, Lab, Paper, Row, Run, Scheme, Verdict, read_mean, write_mean};

pub(super) static PAPER: Paper = Paper {
    letter: "e",
    name: "noc",
    title: "Ahn et al., NoC-Based SSD Controller with Selective Copy-Back",
    schemes: &[
        Scheme { name: "conventional", sets: &["schemes.path=external"] },
        Scheme { name: "proposed", sets: &["schemes.path=selective"] },
    ],
    workloads: &LOADS,
    quick: &[],
    limits: [100_000, 1_000_000],
    stretch: Some("4"),
    items,
};

const LOADS: [&str; 6] = ["e.cassandra", "e.dbench", "e.mysql", "e.sqlite", "e.mongodb", "e.rocksdb"];

/// Workload, conventional, proposed, improvement: ms and the printed percentage.
type Stated = (&'static str, f64, f64, &'static str);

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

fn read_max(s: &Summary) -> Option<f64> {
    s.latency_ns.read.max.map(|ns| ns as f64)
}

fn write_max(s: &Summary) -> Option<f64> {
    s.latency_ns.write.max.map(|ns| ns as f64)
}

fn table(lab: &Lab, what: &str, stated: &[Stated], figure: Figure) -> Vec<Row> {
    let mut rows = Vec::new();
    for (w, conventional, proposed, percent) in stated {
        let name = w.trim_start_matches("e.");
        rows.push(Row::exact(
            format!("{name}, {what}: 1 - {proposed} / {conventional}"),
            *percent,
            format!("{:.3} %", (1.0 - proposed / conventional) * 100.0),
        ));
        let ms = |scheme| lab.summary(w, scheme).and_then(figure).map_or("-".into(), |ns| format!("{:.3}", ns / 1e6));
        rows.push(
            Row::factor(
                format!("{name}, {what}"),
                proposed / conventional,
                lab.ratio(w, "proposed", "conventional", figure),
            )
            .note(format!(
                "ms: stated {conventional} -> {proposed}, ours {} -> {}",
                ms("conventional"),
                ms("proposed")
            )),
        );
    }
    rows
}

/// Improvements in the order of the paper's workloads, and whether they fall.
fn order(lab: &Lab, figure: Figure) -> Option<(String, bool)> {
    let gains: Option<Vec<(f64, &str)>> = LOADS
        .iter()
        .map(|w| Some((1.0 - lab.ratio(w, "proposed", "conventional", figure)?, w.trim_start_matches("e."))))
        .collect();
    let mut gains = gains?;
    let falls = gains.windows(2).all(|pair| pair[0].0 >= pair[1].0);
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    Some((
        gains.iter().map(|(gain, name)| format!("{name} {:.1} %", gain * 100.0)).collect::<Vec<_>>().join(", "),
        falls,
    ))
}

/// Table 6: five trials, which are five seeds here.
fn trials() -> Item {
    let run = |w: &'static str, trial| Run { workload: w, scheme: "proposed", more: Vec::new(), trial };
    let runs = LOADS.iter().flat_map(|w| (0..5).map(move |trial| run(w, trial))).collect();
    let rows = move |lab: &Lab| {
        let table: [(&str, Figure, [Option<f64>; 6]); 4] = [
            ("mean read", read_mean, [Some(0.003), None, None, None, Some(0.0), Some(0.0)]),
            ("mean write", write_mean, [0.430, 0.395, 0.002, 0.001, 0.0, 0.001].map(Some)),
            ("peak read", read_max, [Some(1.758), None, None, None, Some(0.057), Some(0.676)]),
            ("peak write", write_max, [6.893, 6.227, 1.199, 0.117, 0.133, 1.053].map(Some)),
        ];
        let mut rows = Vec::new();
        for (what, figure, stated) in table {
            for (w, stated) in LOADS.iter().zip(stated) {
                let Some(stated) = stated else { continue };
                let values: Option<Vec<f64>> = (0..5).map(|trial| figure(lab.results.get(&run(w, trial))?)).collect();
                let ours = values.and_then(|values| student::deviation(&values)).map(|ns| ns / 1e6);
                let row = Row::stated(
                    format!("{}, {what}", w.trim_start_matches("e.")),
                    ours.map_or("-".into(), |ms| format!("{ms:.3} ms")),
                );
                rows.push(row.said(format!("{stated:.3} ms")).note("five seeds; the paper's trials are runs of its own tool, so only the order of magnitude means something"));
            }
        }
        rows
    };
    Item { id: "Table 6", title: "standard deviation of 5 trials", runs, rows: Box::new(rows) }
}

/// What stands for a pattern over time.
const PATTERN: &str = "an input: the paper prints no numbers to fit a pattern by, so requests of the models come at random times, at one rate; \
                       ours is the standard deviation of requests a window over their mean, in 100 windows of the first 200,000 requests";

/// A pattern that the models do not have.
fn pattern(what: &str, paper: &str, ours: Option<String>) -> Row {
    Row { verdict: Verdict::Not, ..Row::stated(what, ours.unwrap_or("-".into())) }.note(PATTERN).said(paper)
}

fn items() -> Vec<Item> {
    let both: &[&str] = &["conventional", "proposed"];
    let all = (LOADS.as_slice(), both);
    vec![
        Item::short("Table 1", "array", |lab| {
            let g = &lab.config.geometry;
            let planes = g.planes_per_die * g.dies_per_chip * g.chips_per_channel;
            let raw = u64::from(g.channels * planes * g.blocks_per_plane * g.pages_per_block) * g.page_size.0;
            vec![
                Row::parameter("channels", "8", g.channels),
                Row::parameter("planes a channel", "4", planes),
                Row::parameter("blocks a plane", "512", g.blocks_per_plane),
                Row::parameter("pages a block", "64", g.pages_per_block),
                Row::parameter("page", "4KiB", g.page_size),
                Row::parameter("capacity", "4 GiB", size(raw)),
            ]
        }),
        Item::short("Table 2", "delays", |lab| {
            let t = &lab.config.timing;
            let traversal = |ns: f64| format!("{:.0} us", ns / 1e3);
            vec![
                Row::parameter("NAND read", "25us", t.read.types()[0]),
                Row::parameter("NAND program", "200us", t.program.types()[0]),
                Row::parameter("NAND erase", "700us", t.erase),
                Row::exact("interconnect", "714 us", traversal((f64::from(1 << 15) / 4.0 + 13.5 - 1.0) * 87.0))
                    .note("(2^15 / 4 + 13.5 - 1) x 87 ns = 713,791.5 ns"),
            ]
        }),
        Item::short("formula", "one traversal of a page", |lab| {
            let ours = lab.config("conventional").and_then(|c| serde_json::to_value(c).ok());
            let _ = ours;
            let exact = (f64::from(1 << 15) / 4.0 + 13.5 - 1.0) * 87.0;
            vec![
                Row::exact("ns, rounded half up", "713792", format!("{}", (exact + 0.5).floor() as u64))
                    .note("the device's own traversal is in the noc section of its summary"),
            ]
        }),
        Item::short("text", "page error probability", |lab| {
            let config = serde_json::to_value(lab.config("proposed").unwrap_or(&lab.config)).unwrap_or_default();
            let ours = config.pointer("/ecc/page_error_probability").map_or("-".into(), |value| value.to_string());
            vec![
                Row::parameter("page error probability", "0.0001", ours)
                    .note("E3: the paper takes a bit error rate for it"),
            ]
        }),
        Item::short("Table 3", "workloads", |_| {
            let text = |f: [f64; 4]| format!("reads {:.1} %, seq {:.1} %, {:.1}/{:.1} KB", f[0], f[1], f[2], f[3]);
            LOADS
                .iter()
                .zip(TABLE_3)
                .map(|(w, stated)| {
                    let ours = super::figures_of(w).map(|info| {
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
                    Row::claim(*w, text(stated), ours)
                        .note("ours: the model's first 1,000,000 requests; agrees: within 5 %")
                })
                .collect()
        }),
        Item::grid("Table 4", "mean latency", all, |lab| {
            let mut rows = table(lab, "mean read", &MEAN_READ, read_mean);
            rows.extend(table(lab, "mean write", &MEAN_WRITE, write_mean));
            rows
        }),
        Item::grid("Table 5", "peak latency", all, |lab| {
            let mut rows = table(lab, "peak read", &PEAK_READ, read_max);
            rows.extend(table(lab, "peak write", &PEAK_WRITE, write_max));
            rows
        }),
        trials(),
        Item::short("Fig 6", "host request patterns over time", |_| {
            let spread = |w: &&str| Some(format!("{} {:.2}", &w[2..], super::over_time::variation(w)?[0]));
            let ours: Option<Vec<String>> = LOADS.iter().map(spread).collect();
            let paper = "dynamic: Cassandra, Dbench, MySQL, RocksDB; static: SQLite, MongoDB";
            vec![pattern("requests", paper, ours.map(|ours| ours.join(", ")))]
        }),
        Item::grid("Fig 7", "host, GC and pending requests", (&["e.mysql", "e.sqlite"], &["conventional"]), |lab| {
            let share = |w: &str| {
                let s = lab.summary(w, "conventional")?;
                Some(100.0 * s.requests_delayed_by_gc.all as f64 / s.latency_ns.all.count.max(1) as f64)
            };
            let shares = share("e.mysql").zip(share("e.sqlite"));
            let text = |(mysql, sqlite): (f64, f64)| {
                (format!("MySQL {mysql:.1} %, SQLite {sqlite:.1} %"), mysql >= 2.0 * sqlite)
            };
            let mut row = Row::claim(
                "requests that GC keeps waiting",
                "MySQL: GC causes pending requests; SQLite: few",
                shares.map(text),
            )
            .note("over the whole run; agrees: SQLite's share at most half of MySQL's (the paper gives no number); weaker: smaller, but not so much");
            if shares.is_some_and(|(mysql, sqlite)| sqlite < mysql && mysql < 2.0 * sqlite) {
                row.verdict = super::Verdict::Weaker;
            }
            vec![row]
        }),
        Item::grid("Fig 8", "number of copy-backs", (LOADS.as_slice(), &["proposed"]), |lab| {
            let moved = |w: &str| lab.summary(w, "proposed").map(|s| s.gc.moved_pages);
            let counts: Option<Vec<u64>> = LOADS.iter().map(|w| moved(w)).collect();
            let ours = counts.map(|counts| {
                let text: Vec<String> =
                    LOADS.iter().zip(&counts).map(|(w, n)| format!("{} {n}", w.trim_start_matches("e."))).collect();
                (text.join(", "), counts[5] == *counts.iter().min().unwrap_or(&0))
            });
            let sqlite = moved("e.sqlite").zip(moved("e.mysql")).map(|(s, m)| (format!("{s} and {m}"), s > m));
            vec![
                Row::claim("copy-backs", "RocksDB far lowest", ours),
                Row::claim("SQLite and MySQL", "SQLite well above MySQL", sqlite),
            ]
        }),
        Item::short("Fig 9", "Cassandra reads and writes over time", |_| {
            let ours = super::over_time::variation("e.cassandra");
            let ours = ours.map(|[_, reads, writes]| format!("reads {reads:.2}, writes {writes:.2}"));
            vec![pattern("Cassandra", "writes surge, reads steady", ours)]
        }),
        Item::grid("order", "order of improvement", all, |lab| {
            let stated = "Cassandra, Dbench, MySQL, SQLite, MongoDB, RocksDB";
            vec![
                Row::claim("mean write", stated, order(lab, write_mean)),
                Row::claim("peak write", stated, order(lab, write_max)),
            ]
        }),
    ]
}
