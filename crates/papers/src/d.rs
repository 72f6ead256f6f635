//! Paper D, FastGC: Figures 2 to 6, Tables 1 and 2, the analysis of sections 2 to 4. `docs/papers/fastgc.md` has the readings D1
//! to D8.

use serde::Deserialize;
use ssdlab_lab::text::percent_exact;
use ssdlab_lab::variants::student;
use ssdlab_sim::config::Config;
use ssdlab_sim::report::Summary;
use ssdlab_sim::schemes::AnyPath;

use crate::file::Code;
use crate::results::{Figure, Results, read_mean, write_mean};
use crate::row::{NO_CHANGE, Row, rank_correlation};
use crate::{bench, over_time};

pub(crate) const CODE: Code = Code {
    text: include_str!("../../../papers/d.toml"),
    figures: &[],
    parameters: &[
        ("fig_3b_threshold_from_these_p_e_cycles_on", |r| {
            r.key("FastGC 6", "/wear/copyback_thresholds").map_or("-".into(), |value| value.to_string())
        }),
        ("table_1_copyback", |r| r.preset.timing.copyback.map_or("797us".into(), |time| time.to_string())),
        ("table_1_over_provisioning", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
    ],
    texts: &[
        ("text_2_2_copyback_a_page", |r| page_time(r, "copyback").map(us)),
        ("text_2_2_external_data_move_a_page", |r| page_time(r, "external").map(us)),
        ("text_2_2_faster", |r| {
            let ratio = page_time(r, "copyback")? as f64 / page_time(r, "external")? as f64;
            Some(format!("{:.1} %", (1.0 - ratio) * 100.0))
        }),
        ("fig_2b_406_pages", |r| Some(transfers(collection(r, 406)?))),
        ("fig_2b_576_pages", |r| full_collection(r).map(transfers)),
        ("fig_5_threshold_3_counts_4_2_2_of_lpn_0_1_k_1", |_| {
            Some([4, 2, 2].map(|count| migrated(count, 3)).join(", "))
        }),
        ("text_4_1_pages_a_block", |r| {
            // Five bytes a page: a count and a logical address.
            let bytes = 5 * u64::from(r.preset.geometry.pages_per_block - 1);
            Some(bytes.div_ceil(r.preset.geometry.page_size.0).to_string())
        }),
        ("text_4_1_blocks_of_1_tb", |r| Some(blocks_of_a_tebibyte(r).to_string())),
        ("text_4_1_space", |r| {
            let bytes = blocks_of_a_tebibyte(r) * r.preset.geometry.page_size.0;
            Some(format!("{:.3} GB", bytes as f64 / 1e9))
        }),
        ("analysis_mu_at_op_28", |_| Some(format!("{:.5}", mu(0.28)))),
        ("analysis_mu_at_op_7", |_| Some(format!("{:.3}", mu(0.07)))),
        ("analysis_ratio_of_totals_at_op_20", |_| Some(format!("{:.5}", ratio_of_totals(mu(0.20))))),
    ],
    numbers: &[
        ("abstract_write_response", |r| r.best("FastGC 6", "TCBGC", &[write_mean])),
        ("abstract_read_response", |r| r.best("FastGC 6", "TCBGC", &[read_mean])),
    ],
    claims: &[
        ("valley", valley),
        ("fig_6a_d_exchange_write_response_at_4300_p_e_cycles_over_that_at_0", |r| {
            let ratio = r.ratio("d.exchange", "FastGC 1", "FastGC 6", write_mean)?;
            Some((format!("{ratio:.3}x"), (ratio - 1.0).abs() < NO_CHANGE))
        }),
    ],
    ranks: &[],
    rows: &[
        ("error_rates", error_rates),
        ("migrations", migrations),
        ("fig_6a_rows", |r| improvements(r, write_mean, "writes")),
        ("fig_6a_rows_2", |r| by_threshold(r, write_mean)),
        ("fig_6b_rows", |r| improvements(r, read_mean, "reads")),
        ("fig_6b_rows_2", |r| by_threshold(r, read_mean)),
        ("amplifications", amplifications),
        ("transfer_times", transfer_times),
    ],
};

/// From the highest threshold on, without 0, where FastGC is TCBGC.
const THRESHOLDS_DOWN: [&str; 6] = ["FastGC 6", "FastGC 5", "FastGC 4", "FastGC 3", "FastGC 2", "FastGC 1"];
/// Pages of a block.
const BLOCK: u64 = 576;
/// Gains that differ by less are the same.
const SAME_GAIN: f64 = 0.002;

/// A row of Table 2: pages migrated a collection, and the printed ratio of GC writes.
#[derive(Deserialize)]
struct Migrated {
    pages: u64,
    ratio: String,
}

/// Figures 6a and 6b: by trace, percent less than TCBGC.
#[derive(Deserialize)]
struct Improvement {
    scheme: String,
    less: Vec<f64>,
}

fn amplification(s: &Summary) -> Option<f64> {
    s.write_amplification
}

fn transfer_a_page(s: &Summary) -> Option<f64> {
    Some(s.gc.time_ns.transfer as f64 / s.gc.moved_pages.max(1) as f64)
}

fn us(ns: u64) -> String {
    format!("{} us", ns as f64 / 1000.0)
}

/// The preset with another path for moved pages.
fn with_path(config: &Config, name: &str) -> Config {
    let mut config = config.clone();
    if let Ok(path) = serde_json::from_value::<AnyPath>(serde_json::Value::String(name.into())) {
        config.schemes.path = path;
    }
    config
}

/// Time of a moved page: a run with one page more against one with one less.
fn page_time(r: &Results, path: &str) -> Option<u64> {
    let config = with_path(&r.preset, path);
    let time = |valid| bench::victim(&config, valid).map(|times| bench::total(&times));
    Some(time(11)? - time(10)?)
}

/// Fig. 2a: requests a second in the windows that wait most and least for GC.
fn valley(r: &Results) -> Option<(String, bool)> {
    let mut windows = over_time::iops(r.config("TCBGC")?, "d.financial1", 50_000, 500)?;
    if windows.iter().all(|window| window.gc <= 0.0) {
        return None;
    }
    windows.sort_by(|a, b| a.gc.total_cmp(&b.gc));
    let quarter = windows.len() / 4;
    let mean =
        |windows: &[over_time::Window]| student::mean(&windows.iter().map(|window| window.iops).collect::<Vec<_>>());
    let least = mean(&windows[..quarter]);
    let most = mean(&windows[windows.len() - quarter..]);
    let text = format!("{most:.0} IOPS in the windows that wait most for GC, {least:.0} in those that wait least");
    Some((text, most < 0.8 * least))
}

/// Time of a collection with `valid` pages moved over the bus: the transfers, and the sum.
fn collection(r: &Results, valid: u64) -> Option<[f64; 2]> {
    let times = bench::victim(&with_path(&r.preset, "external"), valid)?;
    Some([times.transfer as f64, bench::total(&times) as f64])
}

/// A block without an invalid page is never a victim, so its time is extrapolated from 574 and 575 pages.
fn full_collection(r: &Results) -> Option<[f64; 2]> {
    let [more, less] = [collection(r, BLOCK - 1)?, collection(r, BLOCK - 2)?];
    Some([2.0 * more[0] - less[0], 2.0 * more[1] - less[1]])
}

fn transfers([transfer, all]: [f64; 2]) -> String {
    format!("{:.2} %", transfer / all * 100.0)
}

/// Fig. 3a: the page itself was programmed once, and each copyback adds as many errors.
fn error_rates(r: &Results) -> Vec<Row> {
    const BITS_OF_A_MIB: u32 = 1 << 23;
    let rate = |errors: u32, copies: u32| f64::from(errors) * f64::from(copies + 1) / f64::from(BITS_OF_A_MIB);
    let row = |(cycles, errors): &(u32, u32)| {
        let rates = [0, 1, 3, 6].map(|copies| format!("{:.2e}", rate(*errors, copies)));
        Row::stated(format!("{cycles} P/E cycles, after 0, 1, 3, 6 copybacks"), rates.join(", "))
            .note(r.data.note("errors"))
    };
    r.preset.ecc.program_errors.iter().filter(|(cycles, _)| *cycles <= 4500).map(row).collect()
}

/// Fig. 5: the path of a page by its copyback count, and the count that follows.
fn migrated(count: u32, threshold: u32) -> String {
    if count < threshold { format!("copyback {}", count + 1) } else { "EDM 0".into() }
}

fn blocks_of_a_tebibyte(r: &Results) -> u64 {
    (1 << 40) / (u64::from(r.preset.geometry.pages_per_block) * r.preset.geometry.page_size.0)
}

/// Valid share at an over-provisioning over user space.
fn mu(over_provisioning: f64) -> f64 {
    1.0 / (1.0 + over_provisioning)
}

/// Pages written with a metadata page a block, over those without.
fn ratio_of_totals(mu: f64) -> f64 {
    let (pages, metadata) = (BLOCK as f64, 1.0);
    (mu * pages + metadata) / (mu * (pages - metadata))
}

fn migrations(r: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    let stated: Vec<Migrated> = r.data.table("migrated");
    for (workload, Migrated { pages, ratio }) in r.workloads.iter().zip(stated) {
        let digits = ratio.trim_end_matches(" %").split('.').nth(1).map_or(0, str::len);
        let share = |of: u64| format!("{:.digits$} %", pages as f64 / of as f64 * 100.0);
        let note = format!(
            "{pages} / {BLOCK}: the steady-state identity moved + host pages = pages of a block; the paper divides two of its five by 575, without the metadata page"
        );
        rows.push(Row::formula(format!("{workload}: migrated / pages of a block"), ratio, share(BLOCK)).note(note));
        let ours = r.summary(workload, "TCBGC").and_then(|s| s.gc.moved_per_collection);
        let row = Row::level(format!("{workload}: migrated a collection"), pages as f64, ours, |x| format!("{x:.0}"));
        rows.push(r.seal(row));
    }
    rows
}

/// Figures 6a and 6b.
fn improvements(r: &Results, figure: Figure, table: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for Improvement { scheme, less } in r.data.table::<Vec<Improvement>>(table) {
        for (workload, percent) in r.workloads.iter().zip(less) {
            let ours = r.ratio(workload, &scheme, "TCBGC", figure);
            let row = Row::factor(format!("{workload}: {scheme} over TCBGC"), 1.0 - percent / 100.0, ours);
            // With threshold 0 FastGC is TCBGC.
            rows.push(if percent == 0.0 { row.constructed() } else { r.seal(row) });
        }
    }
    rows
}

/// Figures 6a and 6b: improvements by threshold, and whether they fall with it.
fn by_threshold(r: &Results, figure: Figure) -> Vec<Row> {
    let row = |workload: &&str| {
        let gains = THRESHOLDS_DOWN
            .iter()
            .map(|scheme| Some(1.0 - r.ratio(workload, scheme, "TCBGC", figure)?))
            .collect::<Option<Vec<f64>>>()?;
        let texts: Vec<String> = gains.iter().map(|gain| format!("{:.1} %", gain * 100.0)).collect();
        let (most, least) = gains.iter().fold((f64::MIN, f64::MAX), |(most, least), g| (most.max(*g), least.min(*g)));
        if most - least < SAME_GAIN {
            return Some(
                Row::stated(format!("{workload}: gains at thresholds 6 to 1"), texts.join(", "))
                    .note(r.data.note("same")),
            );
        }
        let correlation = rank_correlation(&gains, &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        let what = format!("{workload}: gains at thresholds 6 to 1");
        Some(r.seal(Row::rank(what, "fall with the threshold", Some((texts.join(", "), correlation)))))
    };
    // Exchange has a claim of its own.
    r.workloads.iter().filter(|workload| **workload != "d.exchange").filter_map(row).collect()
}

/// Fig. 6c.
fn amplifications(r: &Results) -> Vec<Row> {
    let row = |(workload, percent): (&&str, f64)| {
        let ours = r.ratio(workload, "FastGC 6", "TCBGC", amplification);
        let row = Row::factor(format!("{workload}: FastGC over TCBGC"), percent / 100.0, ours);
        r.seal(row.note("D7: the paper's analysis gives 1.004"))
    };
    let stated: Vec<f64> = r.data.table("amplification");
    r.workloads.iter().zip(stated).map(row).collect()
}

/// Fig. 6d.
fn transfer_times(r: &Results) -> Vec<Row> {
    let row = |workload: &&str| {
        let six = r.ratio(workload, "FastGC 6", "TCBGC", transfer_a_page)?;
        let one = r.ratio(workload, "FastGC 1", "TCBGC", transfer_a_page)?;
        let what = format!("{workload}: a moved page, threshold 6 and 1 over TCBGC");
        let ours = (format!("{six:.3}x, {one:.3}x"), six <= one && one <= 1.0);
        Some(Row::claim(what, "falls with the threshold", Some(ours)).constructed())
    };
    r.workloads.iter().filter_map(row).collect()
}
