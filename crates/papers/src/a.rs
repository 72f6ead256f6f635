//! Paper A, "Exploiting chip idleness": Figures 1 to 23, Tables I to III. `docs/papers/idle-chip.md` has the readings A1 to A7.

use serde::Deserialize;
use ssdlab_lab::text::{duration, percent_exact, size};
use ssdlab_lab::variants::student;
use ssdlab_sim::report::Summary;
use ssdlab_trace::Info;

use crate::bench;
use crate::file::Code;
use crate::results::{
    Figure, Keys, Results, all_mean, close, figures_of, gc_threshold, read_mean, reported, write_mean,
};
use crate::row::Row;

pub(crate) const CODE: Code = Code {
    text: include_str!("../../../papers/a.toml"),
    figures: &[
        ("megabytes", |s| Some((s.host_read_bytes_per_s? + s.host_written_bytes_per_s?) / 1e6)),
        ("read_mean", read_mean),
        ("write_mean", write_mean),
        ("host_pages", host_pages),
        ("moved", moved),
        ("read_conflicted", read_conflicted),
        ("write_conflicted", write_conflicted),
        ("all_mean", all_mean),
        ("buffered", |s| reported(s, "/idle_chip/moves/buffered_share")),
        ("buffer_waiting", buffer_waiting),
        ("drain", |s| reported(s, "/idle_chip/power_loss/drain_mean_ns")),
    ],
    parameters: &[
        ("table_i_reserved_space", |r| percent_exact(r.preset.device.over_provisioning.as_f64())),
        ("table_i_gc_threshold", |r| gc_threshold(&r.preset)),
        ("table_i_capacity", |r| size(r.preset.geometry.pages() * r.preset.geometry.page_size.0)),
        ("table_i_valid_page_buffer_pages", |r| {
            r.config("proposed").map_or("-".into(), |config| config.staging.slots.to_string())
        }),
    ],
    texts: &[
        ("fig_9_6_free_slots_collections_of_3_2_2_valid_pages_reserve", |_| Some(reserved(6, [3, 2, 2]))),
        ("fig_18_chip_held_22_1_pages_all_buffered", |r| Some(chip_held(r))),
        ("eq_1_128_pages_on_64_chips", |r| Some(write_back(r, 128))),
    ],
    numbers: &[
        ("fig_6_collections_that_began_in_idle_periods", |r| {
            on_one_chip(r, "/idle_chip/gc_starts/in_idle_periods_share")
        }),
        ("fig_6_idle_chips_when_a_collection_began_with_requests_outstanding", |r| {
            on_one_chip(r, "/idle_chip/gc_starts/idle_chips_share")
        }),
        ("pages_of_a_collection", |r| Some(r.mean("traditional", host_pages)? + r.mean("traditional", moved)?)),
        ("fig_20_wait_over_latency", |r| {
            r.mean_by(|trace| {
                Some(buffer_waiting(r.summary(trace, "proposed")?)? / all_mean(r.summary(trace, "traditional")?)?)
            })
        }),
        ("table_iii_sequential_writes_of_64_kib", |r| bandwidth(r, "sequential-write", "empty")),
        ("table_iii_sequential_reads_of_64_kib", |r| bandwidth(r, "sequential-read", "filled")),
        ("table_iii_random_writes_of_4_kib", |r| bandwidth(r, "random-write", "empty")),
        ("table_iii_random_reads_of_4_kib", |r| bandwidth(r, "random-read", "filled")),
        ("fig_21_read_512_kb_over_32_kb", |r| buffers(r, BUFFER_512, BUFFER_32, read_mean)),
        ("fig_21_write_512_kb_over_32_kb", |r| buffers(r, BUFFER_512, BUFFER_32, write_mean)),
        ("fig_21_read_4096_kb_over_512_kb", |r| buffers(r, BUFFER_4096, BUFFER_512, read_mean)),
        ("fig_21_write_4096_kb_over_512_kb", |r| buffers(r, BUFFER_4096, BUFFER_512, write_mean)),
    ],
    claims: &[
        ("fig_1_read_of_prn_0_and_proj_0", |r| {
            below_mean(r, &["a.prn_0", "a.proj_0"], ("traditional", "zero-latency GC"), read_mean)
        }),
        ("fig_14a_prn_0_and_proj_0_proposed_over_traditional", |r| gain_little(r, &["a.prn_0", "a.proj_0"], read_mean)),
        ("fig_14b_order", |r| conflicted(r, read_conflicted, |dpr, proposed| dpr < proposed)),
        ("fig_15a_dpr_over_traditional", |r| {
            let ratio = r.mean_ratio("DPR", "traditional", write_mean)?;
            Some((format!("{ratio:.3}x"), (ratio - 1.0).abs() < 0.05))
        }),
        ("fig_15a_prn_0_proposed_over_traditional", |r| gain_little(r, &["a.prn_0"], write_mean)),
        ("fig_15b_order", |r| conflicted(r, write_conflicted, |dpr, proposed| dpr > proposed && dpr > 0.963)),
        ("fewer_conflicts", |r| less_in_all(r, conflicts)),
        ("cheaper_collections", |r| less_in_all(r, time_of_collection)),
        ("fig_22_traditional_8_to_256_gib", |r| falls_with_size(r, "traditional")),
        ("fig_22_proposed_8_to_256_gib", |r| falls_with_size(r, "proposed")),
        ("similar_at_last", similar_at_last),
        ("better_at_every_size", better_at_every_size),
    ],
    ranks: &[],
    rows: &[
        ("cost_of_one", cost_of_one),
        ("cost_by_workload", cost_by_workload),
        ("traces", traces),
        ("fig_14a_rows", |r| by_trace(r, read_mean)),
        ("fig_14b_rows", |r| proposed_conflicted(r, read_conflicted)),
        ("fig_15a_rows", |r| by_trace(r, write_mean)),
        ("fig_15b_rows", |r| proposed_conflicted(r, write_conflicted)),
        ("fig_16_rows", |r| by_trace(r, all_mean)),
        ("fig_17_rows", |r| r.by_workload(r.workloads, &["proposed"], "traditional", conflicts)),
        ("costs_of_proposed", costs_of_proposed),
        ("bandwidths", bandwidths),
        ("buffer_pages", buffer_pages),
        ("by_buffer", by_buffer),
        ("by_array", by_array),
    ],
};

/// Places among the buffers of Fig. 21, which double from 32 KB on.
const BUFFER_32: usize = 0;
const BUFFER_512: usize = 4;
const BUFFER_4096: usize = 7;

/// A printed number of which the paper gives the arithmetic.
#[derive(Deserialize)]
struct Derived {
    what: String,
    paper: String,
    derived: String,
    note: String,
}

/// A share of Fig. 4.
#[derive(Deserialize)]
struct Share {
    of: String,
    paper: String,
    derived: String,
}

/// A factor of Fig. 19.
#[derive(Deserialize)]
struct Bandwidth {
    of: String,
    over: String,
    paper: f64,
}

fn moved(s: &Summary) -> Option<f64> {
    s.gc.moved_per_collection
}

fn host_pages(s: &Summary) -> Option<f64> {
    s.gc.host_pages_per_collection
}

fn seconds(s: &Summary) -> Option<f64> {
    (s.simulated_ns > 0).then(|| s.simulated_ns as f64 / 1e9)
}

fn read_rate(s: &Summary) -> Option<f64> {
    Some(s.pages.read as f64 / seconds(s)?)
}

fn write_rate(s: &Summary) -> Option<f64> {
    Some(s.pages.written as f64 / seconds(s)?)
}

fn all_rate(s: &Summary) -> Option<f64> {
    Some((s.pages.read + s.pages.written) as f64 / seconds(s)?)
}

fn read_conflicted(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicted/read/latency_ns")
}

fn write_conflicted(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicted/write/latency_ns")
}

fn buffer_waiting(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/buffer_waiting_ns/mean")
}

/// Conflicts of sub-requests, those that write-backs add included.
fn conflicts(s: &Summary) -> Option<f64> {
    reported(s, "/idle_chip/conflicts/total")
}

/// Time in which a collection holds its chip.
fn time_of_collection(s: &Summary) -> Option<f64> {
    (s.gc.collections > 0).then(|| bench::total(&s.gc.time_ns) as f64 / s.gc.collections as f64)
}

/// Whether a figure of a scheme over that of another is lower on some traces than in the mean of all.
fn below_mean(r: &Results, traces: &[&str], (scheme, base): (&str, &str), figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio(scheme, base, figure)?;
    let ratios = traces.iter().map(|trace| r.ratio(trace, scheme, base, figure)).collect::<Option<Vec<f64>>>()?;
    let text: Vec<String> =
        traces.iter().zip(&ratios).map(|(trace, ratio)| format!("{} {ratio:.3}x", &trace[2..])).collect();
    Some((format!("{}, mean {mean:.3}x", text.join(", ")), ratios.iter().all(|ratio| *ratio < mean)))
}

/// Traces on which the proposed scheme gains less than in the mean.
fn gain_little(r: &Results, traces: &[&str], figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio("proposed", "traditional", figure)?;
    let (text, _) = below_mean(r, traces, ("proposed", "traditional"), figure)?;
    let above = |trace: &&str| r.ratio(trace, "proposed", "traditional", figure).is_some_and(|ratio| ratio > mean);
    Some((text, traces.iter().all(above)))
}

/// The mean of a figure of the proposed scheme over traditional's, and whether it is less in all traces.
fn less_in_all(r: &Results, figure: Figure) -> Option<(String, bool)> {
    let mean = r.mean_ratio("proposed", "traditional", figure)?;
    let less = |trace| r.ratio(trace, "proposed", "traditional", figure).is_some_and(|ratio| ratio < 1.0);
    Some((format!("{mean:.3}x in the mean"), r.present().all(less)))
}

/// Fig. 18, trace by trace.
fn costs_of_proposed(r: &Results) -> Vec<Row> {
    let row = |workload| {
        let summary = r.summary(workload, "proposed")?;
        let time = time_of_collection(summary)?;
        Some(Row::stated(workload, format!("{:.3} ms a collection: {}", time / 1e6, cost_shares(summary))))
    };
    r.present().filter_map(row).collect()
}

/// Latency over traditional's, trace by trace.
fn by_trace(r: &Results, figure: Figure) -> Vec<Row> {
    r.by_workload(r.workloads, &["preemptive", "DPR", "proposed"], "traditional", figure)
}

/// Fig. 4: one collection of 22.1 pages.
fn cost_of_one(r: &Results) -> Vec<Row> {
    let valid = r.data.table("valid_pages");
    let Some(times) = bench::between(r.config("traditional").unwrap_or(&r.preset), valid) else { return Vec::new() };
    let sum: f64 = times.iter().sum();
    let stated: Derived = r.data.table("collection");
    let whole = Row::exact(stated.what, stated.paper, format!("{:.3} ms", sum / 1e6));
    let whole = whole.derived(&stated.derived).note(stated.note);
    let share = |(stated, time): (Share, f64)| {
        let ours = format!("{:.1} %", time / sum * 100.0);
        Row::exact(format!("share of {}", stated.of), stated.paper, ours).derived(&stated.derived)
    };
    let shares: Vec<Share> = r.data.table("shares");
    std::iter::once(whole).chain(shares.into_iter().zip(times).map(share)).collect()
}

fn cost_shares(s: &Summary) -> String {
    let t = &s.gc.time_ns;
    let sum = bench::total(t).max(1) as f64;
    let [read, transfer, program, erase] =
        [t.read, t.transfer, t.program, t.erase].map(|ns| format!("{:.1} %", ns as f64 / sum * 100.0));
    format!("read {read}, transfer {transfer}, program {program}, erase {erase}")
}

/// Fig. 4: the same shares in the runs.
fn cost_by_workload(r: &Results) -> Vec<Row> {
    let shares = |s: &Summary| {
        let t = &s.gc.time_ns;
        (cost_shares(s), t.program > t.erase && t.program > t.transfer && t.program > t.read)
    };
    let row = |workload: &&'static str| {
        let summary = r.summary(workload, "traditional").filter(|s| s.gc.collections > 0);
        Row::claim(*workload, "program dominates", summary.map(shares)).constructed()
    };
    r.workloads.iter().map(row).collect()
}

/// Fig. 6: the mean over the traces that have the figure.
fn on_one_chip(r: &Results, pointer: &str) -> Option<f64> {
    let figure = |workload| reported(r.varied(workload, "traditional", r.data.keys("one_chip")[0])?, pointer);
    let figures: Vec<f64> = r.present().filter_map(figure).collect();
    (!figures.is_empty()).then(|| student::mean(&figures))
}

/// Fig. 9: slots that each collection reserves, one after the other.
fn reserved(mut free: u64, valid: [u64; 3]) -> String {
    let reserve = valid.map(|valid| {
        let slots = free.min(valid);
        free -= slots;
        slots.to_string()
    });
    reserve.join(", ")
}

/// Table II of the models.
fn traces(r: &Results) -> Vec<Row> {
    let text = |f: [f64; 8]| {
        format!(
            "{:.1} % writes, set {:.1} GB, {:.1}/{:.1} KB, seq {:.1} %, gap {:.2} ms, bursts {:.1} %",
            f[0], f[1], f[3], f[4], f[5], f[6], f[7]
        )
    };
    let row = |(name, stated): (&&'static str, [f64; 8])| {
        let ours = figures_of(name).map(|info| {
            let figures = columns_of_table_2(&info, stated[2]);
            let near = (0..8).filter(|column| *column != 1).all(|i| close(figures[i], stated[i]));
            (text(figures), near)
        });
        Row::claim(*name, text(stated), ours).input().note(r.data.note("model"))
    };
    let stated: Vec<[f64; 8]> = r.data.table("traces");
    r.workloads.iter().zip(stated).map(row).collect()
}

/// The columns of Table II; what is accessed depends on the length of the trace, so the paper's stands.
fn columns_of_table_2(info: &Info, accessed: f64) -> [f64; 8] {
    [
        (1.0 - info.read_ratio) * 100.0,
        (info.footprint_pages * ssdlab_trace::INFO_PAGE_BYTES) as f64 / f64::from(1 << 30),
        accessed,
        info.mean_read_bytes / 1024.0,
        info.mean_write_bytes / 1024.0,
        info.sequential_share * 100.0,
        info.interarrival_mean_ns / 1e6,
        info.burst_share * 100.0,
    ]
}

/// Figures 14b and 15b: the latency of requests that met collections, summed, over traditional's.
fn conflicted(r: &Results, figure: Figure, holds: fn(f64, f64) -> bool) -> Option<(String, bool)> {
    let dpr = r.mean_ratio("DPR", "traditional", figure)?;
    let proposed = r.mean_ratio("proposed", "traditional", figure)?;
    Some((format!("DPR {dpr:.3}x, proposed {proposed:.3}x"), holds(dpr, proposed)))
}

fn proposed_conflicted(r: &Results, figure: Figure) -> Vec<Row> {
    let ratio = r.mean_ratio("proposed", "traditional", figure);
    ratio.map(|ratio| Row::stated("proposed over traditional", format!("{ratio:.3}x"))).into_iter().collect()
}

/// Time to read a page and to move it over the bus, and to move it alone.
fn page_times(r: &Results) -> [u64; 2] {
    let t = &r.preset.timing;
    let transfer = t.transfer.time(r.preset.geometry.page_size.0).0;
    [t.read.types()[0].0 + transfer, transfer]
}

/// Fig. 18.
fn chip_held(r: &Results) -> String {
    let [read, _] = page_times(r);
    let held = r.data.table::<f64>("valid_pages") * read as f64 + r.preset.timing.erase.0 as f64;
    format!("{:.3} ms", held / 1e6)
}

/// Eq 1.
fn write_back(r: &Results, pages: u64) -> String {
    const DRAM_NS: u64 = 50;
    let [_, transfer] = page_times(r);
    let chips = u64::from(r.preset.geometry.channels * r.preset.geometry.chips_per_channel);
    let ns = pages * DRAM_NS + pages / chips * (transfer + r.preset.timing.program.types()[0].0);
    format!("{:.3} ms", ns as f64 / 1e6)
}

/// Table III: millions of bytes a second.
fn bandwidth(r: &Results, workload: &str, device: &str) -> Option<f64> {
    let pages = all_rate(r.varied(workload, "traditional", r.data.keys(device)[0])?)?;
    Some(pages * r.preset.geometry.page_size.0 as f64 / 1e6)
}

/// Fig. 19.
fn bandwidths(r: &Results) -> Vec<Row> {
    let row = |stated: Bandwidth| {
        let Bandwidth { of, over, paper } = stated;
        let figure = match of.as_str() {
            "read" => read_rate,
            "write" => write_rate,
            _ => all_rate,
        };
        let ours = r.mean_ratio("proposed", &over, figure);
        let note = r.data.note("bandwidth");
        r.seal(Row::factor(format!("{of}, proposed over {over}"), paper, ours).note(note))
    };
    r.data.table::<Vec<Bandwidth>>("bandwidth").into_iter().map(row).collect()
}

/// Fig. 20, trace by trace.
fn buffer_pages(r: &Results) -> Vec<Row> {
    let row = |workload| {
        let pages = reported(r.summary(workload, "proposed")?, "/idle_chip/buffer/pages_mean")?;
        Some(Row::stated(format!("{workload}: mean pages in it"), format!("{pages:.1}")))
    };
    r.present().filter_map(row).collect()
}

/// Fig. 21: the mean latency with one buffer over that with another.
fn buffers(r: &Results, to: usize, from: usize, figure: Figure) -> Option<f64> {
    let mean = |buffer: usize| r.mean_varied("proposed", r.data.keys("buffers")[buffer], figure);
    Some(mean(to)? / mean(from)?)
}

/// Fig. 21: latencies over those with the smallest buffer.
fn by_buffer(r: &Results) -> Vec<Row> {
    let row = |(buffer, kib): (usize, u32)| {
        let [read, write] = [read_mean, write_mean].map(|figure: Figure| buffers(r, buffer, BUFFER_32, figure));
        let (read, write) = (read?, write?);
        Some(Row::stated(format!("{kib} KB over 32 KB"), format!("read {read:.3}x, write {write:.3}x")))
    };
    (0..r.data.keys("buffers").len()).zip((5..).map(|power| 1 << power)).filter_map(row).collect()
}

/// Fig. 22: what a size costs under a scheme.
fn mean_at(r: &Results, scheme: &str, size: Keys) -> Option<f64> {
    all_mean(r.varied("a.wdev_0", scheme, size)?)
}

fn similar_at_last(r: &Results) -> Option<(String, bool)> {
    let largest = r.data.keys("sizes").last()?;
    let ratio = mean_at(r, "proposed", largest)? / mean_at(r, "traditional", largest)?;
    Some((format!("{ratio:.3}x"), (ratio - 1.0).abs() < 0.05))
}

/// Fig. 22: better at every size but the largest, of which the paper says that both are similar.
fn better_at_every_size(r: &Results) -> Option<(String, bool)> {
    let (_, sizes) = r.data.keys("sizes").split_last()?;
    let ratio = |size: &Keys| Some(mean_at(r, "proposed", size)? / mean_at(r, "traditional", size)?);
    let ratios = sizes.iter().map(ratio).collect::<Option<Vec<f64>>>()?;
    let texts: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}x")).collect();
    Some((texts.join(", "), ratios.iter().all(|ratio| *ratio < 1.0)))
}

/// Fig. 22.
fn falls_with_size(r: &Results, scheme: &str) -> Option<(String, bool)> {
    let mean = |keys: &Keys| mean_at(r, scheme, keys);
    let means = r.data.keys("sizes").iter().map(mean).collect::<Option<Vec<f64>>>()?;
    let text: Vec<String> = means.iter().map(|ns| duration(*ns)).collect();
    Some((text.join(" > "), means.windows(2).all(|pair| pair[0] >= pair[1])))
}

/// Fig. 23.
fn by_array(r: &Results) -> Vec<Row> {
    let chips: Vec<u32> = r.data.table("arrays");
    chips.into_iter().zip(r.data.keys("arrays")).flat_map(|(chips, array)| better_on(r, chips, array)).collect()
}

/// Fig. 23: the rows of an array: all traces but prn_1, and prn_1, which the paper excepts.
fn better_on(r: &Results, chips: u32, array: Keys) -> Vec<Row> {
    let ratio = |workload: &&'static str| {
        let mean = |scheme| all_mean(r.varied(workload, scheme, array)?);
        Some((*workload, mean("proposed")? / mean("traditional")?))
    };
    let ratios: Vec<(&str, f64)> = r.workloads.iter().filter_map(ratio).collect();
    let (excepted, others): (Vec<_>, Vec<_>) = ratios.into_iter().partition(|(w, _)| *w == "a.prn_1");
    let text: Vec<String> = others.iter().map(|(w, ratio)| format!("{} {ratio:.3}x", &w[2..])).collect();
    let holds = others.iter().all(|(_, ratio)| *ratio < 1.0);
    let ours = (!others.is_empty()).then(|| (text.join(", "), holds));
    let what = format!("{chips} chips, proposed over traditional");
    let all = r.seal(Row::claim(what, "better, prn_1 excepted", ours).note(r.data.note("chips")));
    let own = excepted.first().map(|(_, ratio)| (format!("{ratio:.3}x"), *ratio >= 1.0));
    vec![all, r.seal(Row::claim(format!("{chips} chips, prn_1"), "not better", own).note(r.data.note("chips")))]
}
