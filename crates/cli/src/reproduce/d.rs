//! Paper D, FastGC: Figures 2 to 6, Tables 1 and 2, the analysis of sections 2 to 4.

use ssdlab_lab::text::percent_exact;
use ssdlab_lab::variants::student;
use ssdlab_sim::config::Config;
use ssdlab_sim::report::Summary;
use ssdlab_sim::schemes::AnyPath;

use super::exact::{self, total};
use super::{Figure, Item, Lab, Paper, Row, Scheme, read_mean, write_mean};

pub(super) static PAPER: Paper = Paper {
    letter: "d",
    name: "fastgc",
    title: "Wu et al., FastGC: Accelerate Garbage Collection via an Efficient Copyback-based Data Migration in SSDs",
    schemes: &[
        Scheme { name: "TCBGC", sets: &["schemes.path=checked"] },
        Scheme { name: "FastGC 6", sets: &["schemes.path=fastgc", "wear.pe_cycles=0"] },
        Scheme { name: "FastGC 1", sets: &["schemes.path=fastgc", "wear.pe_cycles=4300"] },
        Scheme { name: "FastGC 0", sets: &["schemes.path=fastgc", "wear.pe_cycles=4500"] },
    ],
    workloads: &TRACES,
    quick: &["geometry.channels=2"],
    limits: [100_000, 3_000_000],
    stretch: None,
    items,
};

const TRACES: [&str; 5] = ["d.financial1", "d.financial2", "d.exchange", "d.hm0", "d.vps"];
/// Table 2: pages migrated a collection, and the printed ratio of GC writes.
const MIGRATED: [(u64, &str); 5] =
    [(406, "70.6 %"), (370, "64.2 %"), (158, "27.5 %"), (74, "12.8 %"), (347, "60.33 %")];

/// The device with another path for moved pages.
fn with_path(config: &Config, name: &str) -> Config {
    let mut config = config.clone();
    if let Ok(path) = serde_json::from_value::<AnyPath>(serde_json::Value::String(name.into())) {
        config.schemes.path = path;
    }
    config
}

/// Time of a moved page: a run with one page more against one with one less.
fn page_time(config: &Config) -> Option<u64> {
    let time = |valid| exact::victim(config, valid).map(|times| total(&times));
    Some(time(11)? - time(10)?)
}

fn moved(s: &Summary) -> Option<f64> {
    s.gc.moved_per_collection
}

fn amplification(s: &Summary) -> Option<f64> {
    s.write_amplification
}

fn us(ns: u64) -> String {
    format!("{} us", ns as f64 / 1000.0)
}

fn improvements(lab: &Lab, figure: Figure, six: [f64; 5], one: [f64; 5]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (scheme, stated) in [("FastGC 6", six), ("FastGC 1", one), ("FastGC 0", [0.0; 5])] {
        for (w, percent) in TRACES.iter().zip(stated) {
            rows.push(Row::factor(
                format!("{w}: {scheme} over TCBGC"),
                1.0 - percent / 100.0,
                lab.ratio(w, scheme, "TCBGC", figure),
            ));
        }
    }
    rows
}

fn items() -> Vec<Item> {
    let four: &[&str] = &["TCBGC", "FastGC 6", "FastGC 1", "FastGC 0"];
    let all = (TRACES.as_slice(), four);
    vec![
        Item::short("text 2.2", "copyback and external data move", |lab| {
            let copyback = page_time(&with_path(&lab.config, "copyback"));
            let external = page_time(&with_path(&lab.config, "external"));
            let how = "difference of two runs of one collection with 11 and 10 valid pages";
            let or = |time: Option<u64>| time.map_or("-".into(), us);
            let saved = copyback
                .zip(external)
                .map_or("-".into(), |(c, e)| format!("{:.1} %", (1.0 - c as f64 / e as f64) * 100.0));
            vec![
                Row::exact("copyback, a page", "797 us", or(copyback)).note(how),
                Row::exact("external data move, a page", "1452.36 us", or(external)).note(how),
                Row::exact("faster", "45.1 %", saved),
            ]
        }),
        Item::short("Fig 2a", "IOPS over requests, Financial1", |lab| {
            let windows = lab
                .config("TCBGC")
                .and_then(|config| super::over_time::iops(config, "d.financial1", 50_000, 500))
                .filter(|windows| windows.iter().any(|window| window.gc > 0.0));
            let ours = windows.map(|mut windows| {
                windows.sort_by(|a, b| a.gc.total_cmp(&b.gc));
                let quarter = windows.len() / 4;
                let mean = |windows: &[super::over_time::Window]| {
                    student::mean(&windows.iter().map(|window| window.iops).collect::<Vec<_>>())
                };
                let (least, most) = (mean(&windows[..quarter]), mean(&windows[windows.len() - quarter..]));
                (
                    format!("{most:.0} IOPS where GC is most in the way, {least:.0} where it is least"),
                    most < 0.8 * least,
                )
            });
            let note = "the first 50,000 requests as fast as the device takes them, in windows of 500; the quarter of the windows that waits most for GC and the one that waits least. Holds: at least a fifth less";
            vec![Row::claim("TCBGC", "valley at GC", ours).note(note)]
        }),
        Item::short("Fig 2b", "share of transfers in the time of a collection", |lab| {
            let external = with_path(&lab.config, "external");
            let share = |valid: u64| exact::victim(&external, valid).map(|t| (t.transfer as f64, total(&t) as f64));
            let text = |pair: Option<(f64, f64)>| {
                pair.map_or("-".into(), |(transfer, all)| format!("{:.2} %", transfer / all * 100.0))
            };
            // A block without an invalid page is no victim: its time is that of 575 pages and one page more.
            let full = share(575).zip(share(574)).map(|(a, b)| (2.0 * a.0 - b.0, 2.0 * a.1 - b.1));
            vec![
                Row::exact("406 pages", "44.74 %", text(share(406))).note("a run of one collection"),
                Row::exact("576 pages", "44.86 %", text(full))
                    .note("runs of 574 and 575 pages, extrapolated by one page"),
            ]
        }),
        Item::short("Fig 3a", "raw bit error rate and copyback count by P/E cycles", |lab| {
            let ecc = &lab.config.ecc;
            // The page itself was programmed once, and each copyback adds as much.
            let rate = |errors: u32, copies: u32| f64::from(errors) * f64::from(copies + 1) / f64::from(1 << 23);
            let row = |(cycles, errors): &(u32, u32)| {
                let rates = [0, 1, 3, 6].map(|copies| format!("{:.2e}", rate(*errors, copies)));
                Row::stated(format!("{cycles} P/E cycles, after 0, 1, 3, 6 copybacks"), rates.join(", "))
                    .note("an input: curves that the text does not give in numbers; ours are errors a MiB (ecc.program_errors) chosen so that the thresholds of Fig. 3b are the largest safe ones")
            };
            ecc.program_errors.iter().filter(|(cycles, _)| *cycles <= 4500).map(row).collect()
        }),
        Item::short("Fig 3b", "copyback threshold and P/E cycles", |lab| {
            let config = serde_json::to_value(lab.config("FastGC 6").unwrap_or(&lab.config)).unwrap_or_default();
            let ours = config.pointer("/wear/copyback_thresholds").map_or("-".into(), |value| value.to_string());
            let stated = "[[0,6],[1300,5],[1500,4],[3000,3],[4000,2],[4300,1],[4500,0]]";
            vec![Row::parameter("threshold from these P/E cycles on", stated, ours)]
        }),
        Item::short("Fig 5", "migration example", |_| {
            vec![Row::exact("threshold 3; counts 4, 2, 2 of LPN 0, 1, k - 1", "EDM 0, copyback 3, copyback 3", [4u32, 2, 2].map(|count| {
                if count < 3 { format!("copyback {}", count + 1) } else { "EDM 0".into() }
            }).join(", ")).note("D3: a page is copied back while its count is smaller than the threshold; as a run it is a test of the scheme")]
        }),
        Item::short("text 4.1", "metadata", |lab| {
            let g = &lab.config.geometry;
            let block = u64::from(g.pages_per_block) * g.page_size.0;
            let blocks = (1u64 << 40) / block;
            vec![
                Row::exact(
                    "pages a block",
                    "1",
                    (5 * u64::from(g.pages_per_block - 1)).div_ceil(g.page_size.0).to_string(),
                ),
                Row::exact("blocks of 1 TB", "116508", blocks.to_string()),
                Row::exact("space", "1.6 GB", format!("{:.3} GB", (blocks * g.page_size.0) as f64 / 1e9))
                    .note("D5: 116,508 pages of 16 KiB are 1.909 GB"),
            ]
        }),
        Item::short("analysis", "equations of mu and O_FastGC", |_| {
            let mu = |op: f64| 1.0 / (1.0 + op);
            let (m, n, meta) = (mu(0.20), 576.0, 1.0);
            vec![
                Row::exact("mu at OP 28 %", "0.78125", format!("{:.5}", mu(0.28))),
                Row::exact("mu at OP 7 %", "0.935", format!("{:.3}", mu(0.07))),
                Row::exact(
                    "ratio of totals at OP 20 %",
                    "1.00383",
                    format!("{:.5}", (m * n + meta) / (m * (n - meta))),
                ),
            ]
        }),
        Item::short("Table 1", "flash", |lab| {
            let (g, t) = (&lab.config.geometry, &lab.config.timing);
            vec![
                Row::parameter("page", "16KiB", g.page_size),
                Row::parameter("pages a block", "576", g.pages_per_block),
                Row::parameter("read", "91us", t.read.types()[0]),
                Row::parameter("program", "706us", t.program.types()[0]),
                Row::parameter("erase", "5ms", t.erase),
                Row::parameter("transfer", "20ns/B", &t.transfer),
                Row::parameter("copyback", "2209us", t.copyback.map_or("797us".into(), |time| time.to_string()))
                    .note("D1: 2,209 is a word line of three pages; used a page it would make copyback slower than the external move"),
                Row::parameter("over-provisioning", "20 %", percent_exact(lab.config.device.over_provisioning.as_f64())),
            ]
        }),
        Item::grid("Table 2", "pages migrated a collection", (TRACES.as_slice(), &["TCBGC"]), |lab| {
            let mut rows = Vec::new();
            for (w, (pages, ratio)) in TRACES.iter().zip(MIGRATED) {
                let digits = ratio.trim_end_matches(" %").split('.').nth(1).map_or(0, str::len);
                let share = |of: f64| format!("{:.digits$} %", pages as f64 / of * 100.0);
                let (ours, of) = if share(575.0) == ratio { (share(575.0), 575) } else { (share(576.0), 576) };
                rows.push(
                    Row::exact(format!("{w}: migrated / pages of a block"), ratio, ours).note(format!(
                        "{pages} / {of}: the steady-state identity moved + host pages = pages of a block"
                    )),
                );
                rows.push(Row::level(
                    format!("{w}: migrated a collection"),
                    pages as f64,
                    lab.summary(w, "TCBGC").and_then(moved),
                    |x| format!("{x:.0}"),
                ));
            }
            rows
        }),
        Item::grid("Fig 6a", "write response", all, |lab| {
            improvements(lab, write_mean, [42.2, 28.5, 8.3, 9.2, 17.8], [33.5, 22.8, 8.1, 6.3, 17.6])
        }),
        Item::grid("Fig 6b", "read response", all, |lab| {
            improvements(lab, read_mean, [66.3, 25.0, 8.3, 8.6, 18.7], [62.9, 23.7, 7.9, 5.5, 11.4])
        }),
        Item::grid("Fig 6c", "write amplification", all, |lab| {
            let stated = [104.4, 101.6, 99.6, 99.9, 100.7];
            TRACES
                .iter()
                .zip(stated)
                .map(|(w, percent)| {
                    Row::factor(
                        format!("{w}: FastGC over TCBGC"),
                        percent / 100.0,
                        lab.ratio(w, "FastGC 6", "TCBGC", amplification),
                    )
                    .note("D7: the paper's analysis gives 1.004")
                })
                .collect()
        }),
        Item::grid("Fig 6d", "transfer time of collections", all, |lab| {
            let transfer = |s: &Summary| Some(s.gc.time_ns.transfer as f64 / s.gc.moved_pages.max(1) as f64);
            TRACES
                .iter()
                .filter_map(|w| {
                    let six = lab.ratio(w, "FastGC 6", "TCBGC", transfer)?;
                    let one = lab.ratio(w, "FastGC 1", "TCBGC", transfer)?;
                    Some(Row::claim(
                        format!("{w}: a moved page, threshold 6 and 1 over TCBGC"),
                        "falls with the threshold",
                        Some((format!("{six:.3}x, {one:.3}x"), six <= one && one <= 1.0)),
                    ))
                })
                .collect()
        }),
    ]
}
