//! Paper C, BRR: Figures 3 to 14, Tables I and II. `docs/papers/brr.md` has the readings C1 to C4.

use ssdlab_lab::text::{percent_exact, size};
use ssdlab_sim::report::Summary;

use crate::file::Code;
use crate::results::{Figure, Keys, Results, close, figures_of};
use crate::row::Row;

pub(crate) const CODE: Code = Code {
    text: include_str!("../../../papers/c.toml"),
    figures: &[("busy", busy), ("read_waiting", read_waiting), ("write_waiting", write_waiting)],
    parameters: &[
        ("table_i_blocks_a_chip", |r| {
            let g = &r.preset.geometry;
            (g.dies_per_chip * g.planes_per_die * g.blocks_per_plane).to_string()
        }),
        ("table_i_chips", |r| (r.preset.geometry.channels * r.preset.geometry.chips_per_channel).to_string()),
        ("table_i_channels_x_chips", |r| {
            format!("{} x {}", r.preset.geometry.channels, r.preset.geometry.chips_per_channel)
        }),
        ("table_i_read", |r| format!("{:.3} ms", r.preset.timing.read.types()[0].0 as f64 / 1e6)),
        ("table_i_program", |r| format!("{:.3} ms", r.preset.timing.program.types()[0].0 as f64 / 1e6)),
        ("table_i_erase", |r| format!("{:.1} ms", r.preset.timing.erase.0 as f64 / 1e6)),
        ("table_i_over_provisioning", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
        ("table_i_capacity", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0)),
    ],
    texts: &[
        ("fig_3_r1_lbn_3_size_2_goes_to_chips", |_| {
            // Without parity, logical block n lies on chip n mod 9.
            Some([3, 4].map(|lbn| (lbn % CHIPS).to_string()).join(", "))
        }),
        ("fig_8_groups_of_9_chips", |_| Some(groups(CHIPS, 3))),
        ("text_reads_in_place_of_one_group_of_8", |r| Some((r.preset.raid.group - 1).to_string())),
    ],
    numbers: &[
        ("abstract_best_over_piq", |r| r.best("BRR", "PIQ", &[read_waiting])),
        ("abstract_best_over_fifo", |r| r.best("BRR", "Async_FIFO", &[read_waiting])),
        ("fig_13_queue_256_over_1", |r| by_queues(r, 5, 0)),
        ("fig_13_queue_256_over_32", |r| by_queues(r, 5, 3)),
        ("fig_14_group_16_over_4", |r| by_groups(r, 2, 0)),
    ],
    claims: &[
        ("fig_10_largest_gain", |r| extreme(r, "c.hm_0", f64::min)),
        ("fig_10_least_gain", |r| extreme(r, "c.proj_3", f64::max)),
        ("fig_11_over_fifo_in_all", |r| less_in_all(r, "Async_FIFO", write_waiting)),
        ("fig_11_over_piq_in_all", |r| less_in_all(r, "PIQ", write_waiting)),
        ("fig_13_shorter", |r| monotone(r, "queues", |pair| pair[1] <= pair[0])),
        ("fig_14_longer", |r| monotone(r, "groups", |pair| pair[1] >= pair[0])),
        ("lci_gain_of_brr", lci_gain_of_brr),
        ("lci_read_waiting", lci_read_waiting),
        ("traditional_layout", traditional_layout),
        ("below_30_percent", below_30_percent),
        ("fig_6_t_w_of_the_read_response_mean", |r| {
            let share = r.mean_by(|workload| waiting_share(r.summary(workload, "Async_FIFO")?))?;
            Some((format!("{:.1} %", share * 100.0), share > 0.5))
        }),
    ],
    ranks: &[],
    rows: &[
        ("read_breakdown", read_breakdown),
        ("traces", traces),
        ("read_waiting_by_trace", read_waiting_by_trace),
        ("by_queue", by_queue),
        ("by_group", by_group),
        ("by_layout", by_layout),
    ],
};

/// Chips of the examples of Figures 3 and 8.
const CHIPS: u32 = 9;

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
    let below = r.workloads.iter().filter(low).count();
    Some((format!("{below} of 12"), below > 6))
}

fn waiting_share(s: &Summary) -> Option<f64> {
    Some(s.waiting_ns.read.mean? / s.latency_ns.read.mean?)
}

fn read_breakdown(r: &Results) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let share = waiting_share(r.summary(workload, "Async_FIFO")?)?;
        Some(Row::stated(format!("{workload}: T_w of the read response"), format!("{:.1} %", share * 100.0)))
    };
    r.workloads.iter().filter_map(row).collect()
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
    let stated: Vec<[f64; 3]> = r.data.table("traces");
    for (workload, [reads, kib, utilisation]) in r.workloads.iter().zip(stated) {
        let ours = figures_of(workload).map(|info| {
            let requests = (info.reads + info.writes).max(1);
            let mean = (info.read_bytes + info.write_bytes) as f64 / requests as f64 / 1024.0;
            (text(info.read_ratio, mean), close(info.read_ratio, reads) && close(mean, kib))
        });
        let row = Row::claim(*workload, text(reads, kib), ours).input();
        rows.push(row.note("ours: the model's first 1,000,000 requests; agrees: within 5 %"));
        let ours = r.summary(workload, "Async_FIFO").and_then(busy).map(|share| share * 100.0);
        let row = Row::level(format!("{workload}: utilisation"), utilisation * 100.0, ours, |u| format!("{u:.1} %"));
        rows.push(r.seal_load(row.note(r.data.note("rates"))));
    }
    rows
}

fn read_waiting_by_trace(r: &Results) -> Vec<Row> {
    let row = |workload: &&'static str| {
        let fifo = r.ratio(workload, "BRR", "Async_FIFO", read_waiting)?;
        let piq = r.ratio(workload, "BRR", "PIQ", read_waiting)?;
        Some(Row::stated(format!("{workload}: BRR"), format!("over FIFO {fifo:.3}x, over PIQ {piq:.3}x")))
    };
    r.workloads.iter().filter_map(row).collect()
}

/// The mean over the traces of the read waiting of BRR with some keys over that with others.
fn waiting_over(r: &Results, to: Keys, from: Keys) -> Option<f64> {
    let waiting = |workload, keys| read_waiting(r.varied(workload, "BRR", keys)?);
    r.mean_by(|workload| Some(waiting(workload, to)? / waiting(workload, from)?))
}

/// Fig. 10: whether the read waiting of BRR over FIFO has its extreme on this trace, and is less there.
fn extreme(r: &Results, trace: &str, of: fn(f64, f64) -> f64) -> Option<(String, bool)> {
    let ratio = |workload| Some((r.ratio(workload, "BRR", "Async_FIFO", read_waiting)?, workload));
    let ratios = r.present().map(ratio).collect::<Option<Vec<(f64, &str)>>>()?;
    let end = ratios.iter().map(|(ratio, _)| *ratio).reduce(of)?;
    let (at, _) = ratios.iter().find(|(ratio, _)| *ratio == end).map(|(ratio, workload)| (*workload, ratio))?;
    let own = ratios.iter().find(|(_, workload)| *workload == trace)?.0;
    Some((format!("{} {end:.3}x, {} {own:.3}x", &at[2..], &trace[2..]), at == trace && own < 1.0))
}

/// Whether BRR's figure is less than another scheme's on all traces.
fn less_in_all(r: &Results, base: &str, figure: Figure) -> Option<(String, bool)> {
    let ratios: Option<Vec<f64>> = r.present().map(|workload| r.ratio(workload, "BRR", base, figure)).collect();
    let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
    let less = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    Some((format!("less in {less} of {}", ratios.len()), less == ratios.len()))
}

/// Figures 13 and 14: read waiting of BRR over that with the first of some keys, and whether each step holds.
fn monotone(r: &Results, name: &str, holds: fn(&[f64]) -> bool) -> Option<(String, bool)> {
    let keys = r.data.keys(name);
    let ratios = keys.iter().map(|keys_of| waiting_over(r, keys_of, keys[0])).collect::<Option<Vec<f64>>>()?;
    let texts: Vec<String> = ratios.iter().map(|ratio| times(*ratio)).collect();
    Some((texts.join(", "), ratios.windows(2).all(holds)))
}

/// Read waiting of BRR over PIQ's with one layout, the mean over the traces.
fn brr_over_piq(r: &Results, layout: Keys) -> Option<f64> {
    let waiting = |workload, scheme| read_waiting(r.varied(workload, scheme, layout)?);
    r.mean_by(|workload| Some(waiting(workload, "BRR")? / waiting(workload, "PIQ")?))
}

/// III.C, the relative form: redirected reads gain more with LCI than with the traditional layout.
fn lci_gain_of_brr(r: &Results) -> Option<(String, bool)> {
    let [lci, traditional] = [0, 1].map(|layout| brr_over_piq(r, r.data.keys("layouts")[layout]));
    let (lci, traditional) = (lci?, traditional?);
    Some((format!("BRR over PIQ {lci:.3}x with LCI, {traditional:.3}x without"), lci < traditional))
}

/// III.C, the absolute form: BRR's reads wait less with LCI than with the traditional layout.
fn lci_read_waiting(r: &Results) -> Option<(String, bool)> {
    let layouts = r.data.keys("layouts");
    let ratio = waiting_over(r, layouts[0], layouts[1])?;
    let less = |workload: &&str| {
        let waiting = |keys| r.varied(workload, "BRR", keys).and_then(read_waiting);
        waiting(layouts[0]).zip(waiting(layouts[1])).is_some_and(|(lci, traditional)| lci < traditional)
    };
    let count = r.present().filter(less).count();
    Some((format!("{ratio:.3}x in the mean, less in {count} of {}", r.present().count()), ratio < 1.0))
}

/// II.E: with the traditional layout a redirected read gains little: less than half of what Fig. 10 prints over PIQ.
fn traditional_layout(r: &Results) -> Option<(String, bool)> {
    let ratio = brr_over_piq(r, r.data.keys("layouts")[1])?;
    Some((format!("BRR over PIQ {ratio:.3}x"), 1.0 - ratio < 0.5 * 0.142))
}

fn by_layout(r: &Results) -> Vec<Row> {
    let layouts = r.data.keys("layouts");
    let row = |workload: &&'static str| {
        let waiting = |scheme, keys| read_waiting(r.varied(workload, scheme, keys)?);
        let [piq, brr] =
            ["PIQ", "BRR"].map(|scheme| Some((waiting(scheme, layouts[0])?, waiting(scheme, layouts[1])?)));
        let (piq, brr) = (piq?, brr?);
        let text = format!("PIQ {:.3}x, BRR {:.3}x", piq.0 / piq.1, brr.0 / brr.1);
        Some(Row::stated(format!("{workload}: read waiting, LCI over traditional"), text))
    };
    r.workloads.iter().filter_map(row).collect()
}

/// Of two queues of Fig. 13, by their places.
fn by_queues(r: &Results, to: usize, from: usize) -> Option<f64> {
    let keys = r.data.keys("queues");
    waiting_over(r, keys[to], keys[from])
}

/// Of two group lengths of Fig. 14, by their places.
fn by_groups(r: &Results, to: usize, from: usize) -> Option<f64> {
    let keys = r.data.keys("groups");
    waiting_over(r, keys[to], keys[from])
}

fn by_queue(r: &Results) -> Vec<Row> {
    let depths: Vec<u32> = r.data.table("queues");
    let row = |(place, depth)| Some(Row::stated(format!("queue {depth} over 1"), times(by_queues(r, place, 0)?)));
    depths.into_iter().enumerate().filter_map(row).collect()
}

fn by_group(r: &Results) -> Vec<Row> {
    let lengths: Vec<u32> = r.data.table("groups");
    let row = |(place, length)| Some(Row::stated(format!("group {length} over 4"), times(by_groups(r, place, 0)?)));
    lengths.into_iter().enumerate().skip(1).filter_map(row).collect()
}

fn times(ratio: f64) -> String {
    format!("{ratio:.3}x")
}
