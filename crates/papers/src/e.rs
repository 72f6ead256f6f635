//! Paper E, selective copy-back on a network-on-chip controller: Tables 1 to 6, Figures 6 to 9. `docs/papers/noc.md` has the
//! readings E1 to E4.

use serde::Deserialize;
use ssdlab_lab::text::size;
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;

use crate::file::Code;
use crate::over_time;
use crate::results::{Figure, Results, Run, delayed_by_gc, figures_of, read_mean, write_mean};
use crate::row::{Row, rank_correlation};

pub(crate) const CODE: Code = Code {
    text: include_str!("../../../papers/e.toml"),
    figures: &[("write_mean", write_mean)],
    parameters: &[
        ("table_1_planes_a_channel", |r| {
            let g = &r.preset.geometry;
            (g.planes_per_die * g.dies_per_chip * g.chips_per_channel).to_string()
        }),
        ("table_1_capacity", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0)),
        ("table_2_sram_write_and_read", |r| format!("{}, {}", r.preset.noc.sram_write, r.preset.noc.sram_read)),
        ("text_page_error_probability", |r| {
            r.key("proposed", "/ecc/page_error_probability").map_or("-".into(), |value| value.to_string())
        }),
    ],
    texts: &[
        ("table_2_interconnect", |_| Some(format!("{:.0} us", traversal_ns() / 1e3))),
        ("formula_ns_rounded_half_up", |_| Some(format!("{:.0}", (traversal_ns() + 0.5).floor()))),
    ],
    numbers: &[
        ("abstract_mean_latency", |r| r.best("proposed", "conventional", &[read_mean, write_mean])),
        ("abstract_peak_latency", |r| r.best("proposed", "conventional", &[read_max, write_max])),
    ],
    claims: &[
        ("more_channels", |r| gain_with(r, "channels", |base, more| more > base)),
        ("more_pages_a_block", |r| gain_with(r, "blocks", |base, more| more < base)),
        ("copybacks", copybacks),
        ("fig_8_sqlite_and_mysql", |r| {
            let [sqlite, mysql] = [moved(r, "e.sqlite")?, moved(r, "e.mysql")?];
            Some((format!("{sqlite} and {mysql}"), sqlite > mysql))
        }),
    ],
    ranks: &[("order_mean_write", |r| order(r, write_mean)), ("order_peak_write", |r| order(r, write_max))],
    rows: &[
        ("workloads", workloads),
        ("table_4_levels", table_4_levels),
        ("table_4_rows", |r| latencies(r, "mean read", read_mean)),
        ("table_4_rows_2", |r| latencies(r, "mean write", write_mean)),
        ("table_5_rows", |r| latencies(r, "peak read", read_max)),
        ("table_5_rows_2", |r| latencies(r, "peak write", write_max)),
        ("deviations", deviations),
        ("fig_6_rows", |r| {
            let paper = "dynamic: Cassandra, Dbench, MySQL, RocksDB; static: SQLite, MongoDB";
            vec![pattern(r, "requests", paper, request_pattern(r))]
        }),
        ("fig_7_rows", |r| vec![pending(r)]),
        ("fig_9_rows", |r| vec![pattern(r, "Cassandra", "writes surge, reads steady", cassandra_pattern())]),
    ],
};

/// A latency of Tables 4 and 5 in ms, and the printed percentage.
#[derive(Deserialize)]
struct Latency {
    workload: String,
    conventional: f64,
    proposed: f64,
    improvement: String,
}

/// A standard deviation of Table 6.
#[derive(Deserialize)]
struct Deviation {
    workload: String,
    ms: f64,
}

/// The latencies of Table 6.
const DEVIATIONS: [(&str, Figure); 4] =
    [("mean read", read_mean), ("mean write", write_mean), ("peak read", read_max), ("peak write", write_max)];

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
fn workloads(r: &Results) -> Vec<Row> {
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
    let stated: Vec<[f64; 4]> = r.data.table("workloads");
    r.workloads.iter().zip(stated).map(row).collect()
}

/// Tables 4 and 5: the paper's own percentage, and ours.
fn latencies(r: &Results, what: &str, figure: Figure) -> Vec<Row> {
    let mut rows = Vec::new();
    for stated in r.data.table::<Vec<Latency>>(&what.replace(' ', "_")) {
        let Latency { workload, conventional, proposed, improvement } = stated;
        let (name, workload) = (name(&workload), workload.as_str());
        let computed = format!("{:.3} %", (1.0 - proposed / conventional) * 100.0);
        rows.push(Row::formula(format!("{name}, {what}: 1 - {proposed} / {conventional}"), improvement, computed));
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

/// Table 4: the latencies themselves, of the conventional scheme. `--load` fits arrivals to those of writes.
fn table_4_levels(r: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    let milliseconds = |ms: f64| format!("{ms:.3} ms");
    for (what, figure, fitted) in [("mean read", read_mean as Figure, false), ("mean write", write_mean, true)] {
        for stated in r.data.table::<Vec<Latency>>(&what.replace(' ', "_")) {
            let ours = r.summary(&stated.workload, "conventional").and_then(figure).map(|ns| ns / 1e6);
            let what = format!("{}, {what}, conventional", name(&stated.workload));
            let row = Row::level(what, stated.conventional, ours, milliseconds).note(r.data.note("levels"));
            rows.push(if fitted { r.seal_load(row) } else { r.seal(row) });
        }
    }
    rows
}

/// Section 5: the gains in mean write latency with the first and the second of two sets of keys.
fn gain_with(r: &Results, name: &str, holds: fn(f64, f64) -> bool) -> Option<(String, bool)> {
    const WORKLOADS: [&str; 2] = ["e.mysql", "e.sqlite"];
    let gain = |workload: &str, keys| {
        let mean = |scheme| write_mean(r.varied(workload, scheme, keys)?);
        Some(1.0 - mean("proposed")? / mean("conventional")?)
    };
    let keys = r.data.keys(name);
    let gains = |workload: &&str| Some((gain(workload, keys[0])?, gain(workload, keys[1])?));
    let all = WORKLOADS.iter().map(gains).collect::<Option<Vec<(f64, f64)>>>()?;
    let text = |(workload, (base, more)): (&&str, &(f64, f64))| {
        format!("{} {:.1} to {:.1} %", self::name(workload), base * 100.0, more * 100.0)
    };
    let texts: Vec<String> = WORKLOADS.iter().zip(&all).map(text).collect();
    Some((texts.join(", "), all.iter().all(|(base, more)| *base > 0.0 && *more > 0.0 && holds(*base, *more))))
}

/// Table 6.
fn deviations(r: &Results) -> Vec<Row> {
    let trial = |workload, trial| r.trial(&Run { workload, scheme: "proposed", more: &[], trial });
    let trials: u64 = r.data.table("trials");
    let mut rows = Vec::new();
    for (what, figure) in DEVIATIONS {
        for stated in r.data.table::<Vec<Deviation>>(&format!("deviation_{}", what.replace(' ', "_"))) {
            let Some(workload) = r.workloads.iter().find(|workload| **workload == stated.workload) else { continue };
            let stated = stated.ms;
            let values: Option<Vec<f64>> = (0..trials).map(|n| figure(trial(workload, n)?)).collect();
            let ours = values.and_then(|values| student::deviation(&values)).map(|ns| ns / 1e6);
            let what = format!("{}, {what}", name(workload));
            let row = match stated {
                // Less than the printed digits.
                0.0 => Row::stated(what, ours.map_or("-".into(), |ms| format!("{ms:.3} ms"))).said("0.000 ms"),
                _ => Row::level(what, stated, ours, |ms| format!("{ms:.3} ms")),
            };
            rows.push(r.seal(row.note(r.data.note("trials"))));
        }
    }
    rows
}

/// A pattern over time, which the models do not have.
fn pattern(r: &Results, what: &str, paper: &str, ours: Option<String>) -> Row {
    Row::incomparable(what, paper, ours.unwrap_or("-".into())).note(r.data.note("pattern"))
}

fn request_pattern(r: &Results) -> Option<String> {
    let text = |workload: &&str| Some(format!("{} {:.2}", name(workload), over_time::variation(workload)?[0]));
    let texts: Option<Vec<String>> = r.workloads.iter().map(text).collect();
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
    r.seal(Row::claim("requests delayed by GC", paper, shares.map(text)).note(r.data.note("pending")))
}

fn moved(r: &Results, workload: &str) -> Option<u64> {
    r.summary(workload, "proposed").map(|summary| summary.gc.moved_pages)
}

/// Fig. 8: RocksDB, the last of the workloads, has the fewest.
fn copybacks(r: &Results) -> Option<(String, bool)> {
    let counts = r.workloads.iter().map(|workload| moved(r, workload)).collect::<Option<Vec<u64>>>()?;
    let text: Vec<String> =
        r.workloads.iter().zip(&counts).map(|(workload, n)| format!("{} {n}", name(workload))).collect();
    Some((text.join(", "), counts.last() == counts.iter().min()))
}

/// Improvements, the largest first, and their rank correlation with the order of the paper's workloads.
fn order(r: &Results, figure: Figure) -> Option<(String, f64)> {
    let gain =
        |workload: &&'static str| Some((1.0 - r.ratio(workload, "proposed", "conventional", figure)?, name(workload)));
    let gains: Option<Vec<(f64, &str)>> = r.workloads.iter().map(gain).collect();
    let mut gains = gains?;
    let stated: Vec<f64> = (0..gains.len()).rev().map(|place| place as f64).collect();
    let correlation = rank_correlation(&gains.iter().map(|(gain, _)| *gain).collect::<Vec<_>>(), &stated);
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let text: Vec<String> = gains.iter().map(|(gain, name)| format!("{name} {:.1} %", gain * 100.0)).collect();
    Some((text.join(", "), correlation))
}
