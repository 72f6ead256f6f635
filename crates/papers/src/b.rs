//! Paper B, PaGC: Figures 3 to 17, Tables I and II. `docs/papers/pagc.md` has the readings B1 to B4.

use serde::Deserialize;
use ssdlab_lab::text::{percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::{GcTimes, Summary};
use ssdlab_sim::units::Ppm;

use crate::bench;
use crate::file::Code;
use crate::results::{Figure, Results, all_mean, delayed_by_gc, gc_threshold, reported};
use crate::row::Row;

pub(crate) const CODE: Code = Code {
    text: include_str!("../../../papers/b.toml"),
    figures: &[("all_mean", all_mean)],
    parameters: &[
        ("table_i_channels_x_chips", |r| {
            format!("{} x {}", r.preset.geometry.channels, r.preset.geometry.chips_per_channel)
        }),
        ("table_i_dies_x_planes", |r| {
            format!("{} x {}", r.preset.geometry.dies_per_chip, r.preset.geometry.planes_per_die)
        }),
        ("table_i_block", |r| size(u64::from(r.preset.geometry.pages_per_block) * r.preset.geometry.page_size.0)),
        ("table_i_program", |r| us(r.preset.timing.program.types()[0].0)),
        ("table_i_erase", |r| us(r.preset.timing.erase.0)),
        ("user_space", user_space),
        ("table_i_spare", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
        ("table_i_gc_threshold", |r| gc_threshold(&r.preset)),
        ("table_i_pagc_th", |r| {
            let threshold = r.key("T-PaGC", "/schemes/collector/pagc/threshold").and_then(|value| value.as_f64());
            threshold.map_or("-".into(), percent_exact)
        }),
        ("table_i_allocation", |r| r.preset.schemes.place.to_string()),
        ("table_i_victim", |r| r.preset.schemes.victim.name().to_string()),
    ],
    texts: &[
        ("fig_6_ka_kb_kc", |_| Some(pairs(FIG_6))),
        ("fig_6_both_planes_aligned_write_points", |r| moves(r, "B-PaGC", &FIG_6)),
        ("fig_6_a_alone_serial", |r| moves(r, "baseline", &FIG_6[..1])),
        ("fig_6_both_planes_write_points_3_and_5", |r| Some(serial_moves(r, 5))),
        ("cost_formula_k_100_l_80_ka_40", |r| joint_cost(r, 100, 80, 40)),
        ("cost_formula_k_50_l_120_ka_20", |r| joint_cost(r, 50, 120, 20)),
        ("cost_formula_k_4_serial", |r| serial_cost(r, 4)),
    ],
    numbers: &[
        ("abstract_best_trace", |r| best_of_each(r)?.into_iter().reduce(f64::min)),
        ("abstract_mean_of_15_traces_the_best_pagc_each", |r| best_of_each(r).map(|ratios| student::mean(&ratios))),
        ("most_delayed", most_delayed),
        ("most_added", most_added),
        ("fig_14_the_others_mean_b_pagc", |r| mean_of(r, r.data.group("others"), "B-PaGC", "baseline")),
        ("fig_8_largest_cngc_part", largest_cngc_part),
        ("fig_15_rga_b_pagc_mean_of_the_11_others", |r| mean_of(r, &eleven(r), "B-PaGC, RGA", "baseline, RGA")),
        ("fig_15_rga_tc_pagc_mean_of_the_11_others", |r| mean_of(r, &eleven(r), "TC-PaGC, RGA", "baseline, RGA")),
        ("fig_15_rga_tc_pagc_mean_of_the_four_bad_ones", |r| {
            mean_of(r, r.data.group("slowed"), "TC-PaGC, RGA", "baseline, RGA")
        }),
    ],
    claims: &[
        ("late_conflicts", late_conflicts),
        ("no_gc", no_gc),
        ("outside_groups", outside_groups),
        ("few_parallel", few_parallel),
        ("fig_7_b_pagc_in_src20_stg0_ts0_usr0", |r| many_alone(r, r.data.group("slowed"), low(r))),
        ("fig_7_t_pagc_moves_alone", |r| alone_is_gone(r, "T-PaGC")),
        ("fig_7_tc_pagc_moves_alone", |r| alone_is_gone(r, "TC-PaGC")),
        ("fig_8_b_pagc_time_for_gc", |r| below_in(r, low(r), ("B-PaGC", "baseline"), gc_time)),
        ("fig_8_t_pagc_time_for_gc", |r| below_in(r, low(r), ("T-PaGC", "baseline"), gc_time)),
        ("fig_8_tc_pagc_time_for_gc", |r| below_in(r, low(r), ("TC-PaGC", "baseline"), gc_time)),
        ("fig_8_tc_pagc_service_part", |r| above_in(r, low(r), ("TC-PaGC", "baseline"), |s| term_part(s, 0))),
        ("fig_9_t_pagc_over_b_pagc", |r| below_in(r, low(r), ("T-PaGC", "B-PaGC"), all_mean)),
        ("fig_9_tc_pagc_over_b_pagc", |r| below_in(r, low(r), ("TC-PaGC", "B-PaGC"), all_mean)),
        ("fig_9_the_rest", |r| {
            let rest: Vec<&str> = low(r).iter().copied().filter(|one| !r.data.group("slowed").contains(one)).collect();
            below_in(r, &rest, ("TC-PaGC", "baseline"), all_mean)
        }),
        ("fig_10_baseline_busy_and_idle", |r| busy_is_idle(r, low(r))),
        ("fig_10_b_pagc_idle", |r| idle_of(r, low(r), "B-PaGC", 0.0)),
        ("fig_10_t_pagc_idle", |r| idle_of(r, low(r), "T-PaGC", HALF)),
        ("fig_10_tc_pagc_idle", |r| idle_of(r, low(r), "TC-PaGC", HALF)),
        ("fig_12_tc_pagc_least_gc_part", |r| gc_part_remains(r, "TC-PaGC")),
        ("fig_13_baseline_busy_and_idle", |r| busy_is_idle(r, high(r))),
        ("fig_13_b_pagc_idle", |r| idle_of(r, high(r), "B-PaGC", 0.0)),
        ("fig_13_t_pagc_idle", |r| idle_of(r, high(r), "T-PaGC", HALF)),
        ("fig_13_tc_pagc_idle", |r| idle_of(r, high(r), "TC-PaGC", HALF)),
        ("fig_14_b_pagc", |r| below_in(r, high(r), ("B-PaGC", "baseline"), all_mean)),
        ("fig_14_t_pagc", |r| below_in(r, high(r), ("T-PaGC", "baseline"), all_mean)),
        ("fig_14_tc_pagc", |r| below_in(r, high(r), ("TC-PaGC", "baseline"), all_mean)),
        ("fig_14_t_pagc_over_b_pagc", |r| below_in(r, &["b.hm0", "b.prn0"], ("T-PaGC", "B-PaGC"), all_mean)),
        ("fig_14_tc_pagc_over_b_pagc", |r| below_in(r, &["b.hm0", "b.prn0"], ("TC-PaGC", "B-PaGC"), all_mean)),
        ("five_to_45_percent", five_to_45_percent),
        ("worse_with_random_b", |r| worse_with_random(r, "B-PaGC, RANDOM")),
        ("fig_17_the_other_workloads", |r| {
            let named = ["b.msnfs0", "b.proj0", "b.hm0"];
            let others: Vec<&str> = r.present().filter(|workload| !named.contains(workload)).collect();
            below_in(r, &others, ("TC-PaGC", "superblock"), all_mean)
        }),
        ("fig_8_b_pagc_largest_gc_part", |r| largest_gc_part(r, "B-PaGC")),
        ("fig_8_t_pagc_largest_gc_part", |r| largest_gc_part(r, "T-PaGC")),
        ("fig_8_tc_pagc_largest_gc_part", |r| largest_gc_part(r, "TC-PaGC")),
        ("fig_10_b_pagc_in_src20_stg0_usr0", |r| busier(r, &["b.src20", "b.stg0", "b.usr0"])),
        ("mostly_pairs", mostly_pairs),
        ("fig_11_b_pagc_in_hm0_prn0", |r| many_alone(r, &["b.hm0", "b.prn0"], high(r))),
        ("fig_11_b_pagc_in_proj2", |r| {
            let share = share_of(r, "b.proj2", &["pard_pawr"])?;
            Some((format!("{:.1} %", share * 100.0), share > 0.5))
        }),
        ("fig_13_b_pagc_in_hm0_msnfs1", |r| busier(r, &["b.hm0", "b.msnfs1"])),
        ("worse_with_rga", worse_with_rga),
        ("worse_with_random", |r| worse_with_random(r, "TC-PaGC, RANDOM")),
        ("fig_16_b_pagc", |r| better_with_pcwd(r, "B-PaGC, PCWD")),
        ("fig_16_t_pagc", |r| better_with_pcwd(r, "T-PaGC, PCWD")),
        ("fig_16_tc_pagc", |r| better_with_pcwd(r, "TC-PaGC, PCWD")),
        ("fig_17_b_msnfs0_superblock", |r| superblock(r, "b.msnfs0")),
        ("fig_17_b_proj0_superblock", |r| superblock(r, "b.proj0")),
        ("fig_17_b_hm0_superblock", |r| superblock(r, "b.hm0")),
    ],
    ranks: &[],
    rows: &[
        ("servers", servers),
        ("zero_gc", zero_gc),
        ("fig_7_rows", |r| categories(r, low(r))),
        ("fig_8_rows", |r| breakdown(r, low(r))),
        ("slowed_by_blind", slowed_by_blind),
        ("fig_9_rows", |r| r.by_workload(low(r), OVER_BASELINE, "baseline", all_mean)),
        ("fig_10_rows", |r| planes(r, low(r))),
        ("fig_11_rows", |r| categories(r, high(r))),
        ("fig_12_rows", |r| breakdown(r, high(r))),
        ("fig_13_rows", |r| planes(r, high(r))),
        ("fig_14_rows", |r| r.by_workload(high(r), OVER_BASELINE, "baseline", all_mean)),
        ("fig_15_rows", |r| r.by_workload(r.workloads, &["B-PaGC, RGA", "TC-PaGC, RGA"], "baseline, RGA", all_mean)),
        ("fig_15_rows_2", |r| {
            r.by_workload(r.workloads, &["B-PaGC, RANDOM", "TC-PaGC, RANDOM"], "baseline, RANDOM", all_mean)
        }),
        ("fig_17_rows", |r| r.by_workload(r.workloads, &["TC-PaGC", "superblock"], "baseline", all_mean)),
    ],
};

const PAGC: &[&str] = &["B-PaGC", "T-PaGC", "TC-PaGC"];
const MEASURED: &[&str] = &["baseline", "B-PaGC", "T-PaGC", "TC-PaGC"];
const OVER_BASELINE: &[&str] = &["B-PaGC", "T-PaGC", "TC-PaGC", "zero-GC"];
/// The terms of its response time, as the report of the scheme names them.
const TERMS: [&str; 5] = ["st", "cngc", "csgc", "cogc", "lc"];
/// Ways of a page: parallel or serial read, parallel or serial write, to another or to no other die.
const CATEGORIES: [&str; 4] = ["pard_pawr", "srrd_pawr", "srrd_srwr_d", "srrd_srwr_nd"];
/// Fig. 6: the valid pages of both planes' victims, of 8 pages a block.
const FIG_6: [&[u64]; 2] = [&[0, 1, 2, 3], &[0, 3, 4]];

/// What all of some rows are compared with.
#[derive(Deserialize)]
struct Middle {
    paper: f64,
    note: String,
}

fn low(r: &Results) -> &'static [&'static str] {
    r.data.group("low")
}

fn high(r: &Results) -> &'static [&'static str] {
    r.data.group("high")
}

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
fn eleven(r: &Results) -> Vec<&'static str> {
    r.workloads.iter().copied().filter(|workload| !r.data.group("slowed").contains(workload)).collect()
}

/// By trace, the response of the PaGC that is best on it, over the baseline's.
fn best_of_each(r: &Results) -> Option<Vec<f64>> {
    let best =
        |workload| PAGC.iter().filter_map(|scheme| r.ratio(workload, scheme, "baseline", all_mean)).reduce(f64::min);
    r.present().map(best).collect()
}

fn most_delayed(r: &Results) -> Option<f64> {
    r.workloads.iter().filter_map(|workload| delayed_by_gc(r.summary(workload, "baseline")?)).reduce(f64::max)
}

/// Share of the baseline's idle time below which it has fallen significantly.
const HALF: f64 = 0.5;

/// In how many of some traces a figure of a scheme is less than another's, and whether it is in all.
fn below_in(r: &Results, traces: &[&str], (scheme, base): (&str, &str), figure: Figure) -> Option<(String, bool)> {
    compared_in(r, traces, (scheme, base), figure, |ratio| ratio < 1.0)
}

/// The same for what is more.
fn above_in(r: &Results, traces: &[&str], (scheme, base): (&str, &str), figure: Figure) -> Option<(String, bool)> {
    compared_in(r, traces, (scheme, base), figure, |ratio| ratio > 1.0)
}

fn compared_in(
    r: &Results,
    traces: &[&str],
    (scheme, base): (&str, &str),
    figure: Figure,
    holds: fn(f64) -> bool,
) -> Option<(String, bool)> {
    let ratios: Option<Vec<f64>> = traces.iter().map(|workload| r.ratio(workload, scheme, base, figure)).collect();
    let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
    let text = |(workload, ratio): (&&str, &f64)| format!("{} {ratio:.3}x", &workload[2..]);
    let texts: Vec<String> = traces.iter().zip(&ratios).map(text).collect();
    let count = ratios.iter().filter(|ratio| holds(**ratio)).count();
    Some((format!("{count} of {}: {}", ratios.len(), texts.join(", ")), count == ratios.len()))
}

/// VII.D: what PaGC gains, the best of the three on each trace.
fn five_to_45_percent(r: &Results) -> Option<(String, bool)> {
    let gains: Vec<f64> = best_of_each(r)?.into_iter().map(|ratio| 1.0 - ratio).collect();
    let least = gains.iter().copied().reduce(f64::min)?;
    let most = gains.iter().copied().reduce(f64::max)?;
    let inside = gains.iter().filter(|gain| (0.05..=0.45).contains(*gain)).count();
    let text = format!("{:.1} to {:.1} %, {inside} of {} inside", least * 100.0, most * 100.0, gains.len());
    Some((text, inside == gains.len()))
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
        let is_low = r.ratio(workload, "zero-GC", "baseline", all_mean)? > 0.5;
        if is_low != low(r).contains(&workload) {
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
    let [parallel, serial] = ["pard_pawr", "srrd_pawr"].map(|way| mean_share(r, low(r), &[way]));
    let (parallel, serial) = (parallel?, serial?);
    let text = format!("PaRD-PaWR {:.1} %, SrRD-PaWR {:.1} %", parallel * 100.0, serial * 100.0);
    Some((text, parallel < serial))
}

/// Figures 7 and 11: traces in which more pages of the plane that did not ask move alone than in the mean of the others.
fn many_alone(r: &Results, traces: &[&str], group: &[&str]) -> Option<(String, bool)> {
    const ALONE: &[&str] = &["srrd_srwr_nd"];
    let others: Vec<&str> = group.iter().filter(|workload| !traces.contains(workload)).copied().collect();
    let mean = mean_share(r, &others, ALONE)?;
    let shares = traces.iter().map(|workload| share_of(r, workload, ALONE)).collect::<Option<Vec<f64>>>()?;
    let texts: Vec<String> = shares.iter().map(|share| format!("{:.1} %", share * 100.0)).collect();
    let text = format!("{}; the others {:.1} %", texts.join(", "), mean * 100.0);
    Some((text, shares.iter().all(|share| *share > mean)))
}

/// Fig. 7: in the traces that B-PaGC slows down, pages of the plane that did not ask which move alone: at most a tenth of B-PaGC's.
fn alone_is_gone(r: &Results, scheme: &str) -> Option<(String, bool)> {
    const ALONE: &[&str] = &["srrd_srwr_nd"];
    let share = |workload: &&str| {
        let blind = moved_by(r, workload, "B-PaGC", ALONE).filter(|pages| *pages > 0.0)?;
        Some(moved_by(r, workload, scheme, ALONE)? / blind)
    };
    let shares = r.data.group("slowed").iter().map(share).collect::<Option<Vec<f64>>>()?;
    let texts: Vec<String> = shares.iter().map(|share| format!("{share:.3}x")).collect();
    Some((format!("{} of B-PaGC's", texts.join(", ")), shares.iter().all(|share| *share <= 0.1)))
}

/// Fig. 11.
fn mostly_pairs(r: &Results) -> Option<(String, bool)> {
    let shares: Option<Vec<f64>> =
        high(r).iter().map(|workload| share_of(r, workload, &["pard_pawr", "srrd_pawr"])).collect();
    let least = shares?.into_iter().reduce(f64::min)?;
    Some((format!("at least {:.1} %", least * 100.0), least > 0.5))
}

/// Figures 10 and 13: traces in which planes collect for longer with B-PaGC.
fn busier(r: &Results, traces: &[&str]) -> Option<(String, bool)> {
    let busy = |workload: &str, scheme: &str| reported(r.summary(workload, scheme)?, "/pagc/plane_gc_busy_share");
    let ratio = |workload: &&str| Some(busy(workload, "B-PaGC")? / busy(workload, "baseline").filter(|b| *b > 0.0)?);
    all_more(traces.iter().map(ratio))
}

/// Figures 10 and 13: a share of the time of the planes.
fn plane_share(r: &Results, workload: &str, scheme: &str, name: &str) -> Option<f64> {
    reported(r.summary(workload, scheme)?, &format!("/pagc/plane_gc_{name}_share"))
}

/// Figures 10 and 13: the baseline's planes collect for as long as they idle for the other plane, within 1 %.
fn busy_is_idle(r: &Results, group: &[&str]) -> Option<(String, bool)> {
    let ratio = |workload: &&str| {
        let [busy, idle] = ["busy", "idle"].map(|name| plane_share(r, workload, "baseline", name));
        Some(idle? / busy.filter(|busy| *busy > 0.0)?)
    };
    let ratios: Option<Vec<f64>> = group.iter().map(ratio).collect();
    let (least, most) = ends(&ratios?)?;
    Some((format!("idle over busy {least:.3}x to {most:.3}x"), (least - 1.0).abs() < 0.01 && (most - 1.0).abs() < 0.01))
}

/// Figures 10 and 13: idle time for the other plane, over the baseline's, and whether it is at most this share in all traces.
fn idle_of(r: &Results, group: &[&str], scheme: &str, most: f64) -> Option<(String, bool)> {
    let share = |workload: &&str| {
        let baseline = plane_share(r, workload, "baseline", "idle").filter(|idle| *idle > 0.0)?;
        Some(plane_share(r, workload, scheme, "idle")? / baseline)
    };
    let shares = group.iter().map(share).collect::<Option<Vec<f64>>>()?;
    let (low, high) = ends(&shares)?;
    Some((format!("{low:.3}x to {high:.3}x of the baseline's"), shares.iter().all(|share| *share <= most)))
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}

/// Fig. 15.
fn worse_with_rga(r: &Results) -> Option<(String, bool)> {
    let slowed = r.data.group("slowed").iter();
    all_more(slowed.map(|workload| r.ratio(workload, "B-PaGC, RGA", "baseline, RGA", all_mean)))
}

/// Ratios, and whether all are above 1.
fn all_more(ratios: impl Iterator<Item = Option<f64>>) -> Option<(String, bool)> {
    let ratios = ratios.collect::<Option<Vec<f64>>>()?;
    let texts: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}x")).collect();
    Some((texts.join(", "), ratios.iter().all(|ratio| *ratio > 1.0)))
}

fn gc_part(s: &Summary) -> f64 {
    let by = &s.breakdown_ns.all;
    by.by_gc() as f64 / by.sum().max(1) as f64
}

/// What a request waits for GC, late conflicts included, in the mean.
fn gc_time(s: &Summary) -> Option<f64> {
    Some(all_mean(s)? * gc_part(s))
}

/// Share of a term, by its place, in the response time.
fn term_part(s: &Summary, place: usize) -> Option<f64> {
    let term = |name: &&str| reported(s, &format!("/pagc/response_ns/all/{name}"));
    let terms = TERMS.iter().map(term).collect::<Option<Vec<f64>>>()?;
    Some(terms[place] / terms.iter().sum::<f64>().max(1.0))
}

/// Fig. 8: the largest share of conflicts without GC, under TC-PaGC.
fn largest_cngc_part(r: &Results) -> Option<f64> {
    let part = |workload: &&str| term_part(r.summary(workload, "TC-PaGC")?, 1);
    low(r).iter().filter_map(part).reduce(f64::max)
}

/// Fig. 12: conflicts with GC remain more than the tenth of the response that Fig. 8 has, in all traces.
fn gc_part_remains(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let parts: Option<Vec<f64>> = high(r).iter().map(|workload| r.summary(workload, scheme).map(gc_part)).collect();
    let (least, most) = ends(&parts?)?;
    Some((format!("{:.1} to {:.1} % of the response", least * 100.0, most * 100.0), least > 0.10))
}

fn largest_gc_part(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let worst = low(r).iter().filter_map(|workload| r.summary(workload, scheme).map(gc_part)).reduce(f64::max)?;
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
    let row = |[name, workload]: &[String; 2]| {
        let terms = TERMS.iter().map(|name| term(r, workload, name)).collect::<Option<Vec<f64>>>()?;
        let all = terms.iter().sum::<f64>().max(1.0);
        let part = |(name, ns): (&&str, &f64)| format!("{} {:.1} %", name.to_uppercase(), ns / all * 100.0);
        let parts: Vec<String> = TERMS.iter().zip(&terms).map(part).collect();
        Some(Row::stated(format!("{name}, baseline"), parts.join(", ")).note(r.data.note("servers")))
    };
    r.data.table::<Vec<[String; 2]>>("stand_ins").iter().filter_map(row).collect()
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
        r.seal_load(Row::factor(*workload, stated / 100.0, r.ratio(workload, "zero-GC", "baseline", all_mean)))
    };
    let stated: Vec<f64> = r.data.table("zero_gc");
    r.workloads.iter().zip(stated).map(row).collect()
}

/// Fig. 9: the traces that B-PaGC makes slower, and the other two do not.
fn slowed_by_blind(r: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    let middle: Middle = r.data.table("slowed");
    for workload in r.data.group("slowed") {
        let over = |scheme| r.ratio(workload, scheme, "baseline", all_mean);
        let blind = over("B-PaGC").map(|ratio| (format!("{ratio:.3}x"), ratio > 1.0));
        rows.push(r.seal(Row::claim(format!("{workload}: B-PaGC"), "worse than the baseline", blind)));
        for scheme in ["T-PaGC", "TC-PaGC"] {
            let row = Row::factor(format!("{workload}: {scheme}"), middle.paper, over(scheme));
            rows.push(r.seal(row.note(middle.note.as_str())));
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
    or_missing(r, "categories", runs.filter_map(row).collect())
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
    or_missing(r, "plane time", runs.filter_map(row).collect())
}

fn or_missing(r: &Results, what: &str, rows: Vec<Row>) -> Vec<Row> {
    if rows.is_empty() { vec![Row::missing(what, "as figured").note(r.data.note("needs_report"))] } else { rows }
}

/// Fig. 15: traces on which a scheme does not improve on random victims.
fn worse_with_random(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let ratio = |workload| Some((workload, r.ratio(workload, scheme, "baseline, RANDOM", all_mean)?));
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
