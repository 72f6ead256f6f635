//! The table that a run prints: the device, the results, and where the time went.

use ssdlab_lab::readers::histogram::{Quantile, count as count_requests, tail};
use ssdlab_lab::readers::words;
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_lab::text::{count, duration, percent, percent_exact, plural, rate, size};
use ssdlab_lab::theory::planes;
use ssdlab_lab::tree::json;
use ssdlab_sim::blame::CAUSES;
use ssdlab_sim::config::{Config, GcTime, PageTimes, PreconditionMode};
use ssdlab_sim::report::tenants::{Interference, Tenants};
use ssdlab_sim::report::{Breakdown, ByOp, Latencies, Summary};

use ssdlab_lab::layout::{facts, grid};

/// What the table shows besides the summary.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The source of the requests, in a line or two.
    pub workload: Vec<String>,
    /// Name of the preset, if one was used.
    pub preset: Option<String>,
    /// Bytes that the device exports.
    pub capacity: u64,
    /// The distribution of valid pages and erases over blocks, if asked for.
    pub blocks: Vec<Vec<String>>,
    /// The chart of a timeline, if asked for.
    pub chart: String,
    /// Causes of the slowest requests, if they were collected.
    pub tail: Vec<Vec<String>>,
}

/// The whole table.
pub fn render(summary: &Summary, context: &Context) -> String {
    let mut out = String::new();
    facts(&mut out, &about(summary, context));
    out.push('\n');
    grid(&mut out, &latencies(&summary.latency_ns), false);
    if summary.latency_ns.all.count > 0 {
        out.push('\n');
        grid(&mut out, &causes(&summary.breakdown_ns, &summary.latency_ns), true);
    }
    if !context.tail.is_empty() {
        out.push('\n');
        grid(&mut out, &context.tail, true);
    }
    if let (Some(tenants), Some(interference)) = (&summary.tenants, &summary.interference_ns) {
        out.push('\n');
        grid(&mut out, &by_tenant(tenants), false);
        out.push('\n');
        grid(&mut out, &matrix(interference), false);
    }
    out.push('\n');
    facts(&mut out, &device(summary));
    crate::sections::render(summary, &mut out);
    if !context.blocks.is_empty() {
        out.push('\n');
        grid(&mut out, &context.blocks, false);
    }
    if !context.chart.is_empty() {
        out.push('\n');
        out.push_str(&context.chart);
    }
    out
}

/// The device and its workload.
pub(crate) fn device_lines(summary: &Summary, context: &Context) -> Vec<(&'static str, String)> {
    let config = &summary.config;
    let g = &config.geometry;
    let raw = planes(g) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block) * g.page_size.0;
    let preset = context.preset.as_ref().map_or(String::new(), |name| format!("preset {name}: "));
    let mut lines = vec![
        (
            "device",
            format!(
                "{preset}{} channels x {} chips x {} dies x {} planes",
                g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die
            ),
        ),
        (
            "",
            format!(
                "a plane: {} blocks x {} pages of {}; {} raw, {} exported",
                count(g.blocks_per_plane),
                g.pages_per_block,
                g.page_size,
                size(raw),
                size(context.capacity)
            ),
        ),
        ("timing", timing(config)),
        ("schemes", schemes(config)),
        ("filled", filled(config)),
    ];
    lines.splice(2..2, map(config).map(|map| ("map", map)));
    for (i, text) in context.workload.iter().enumerate() {
        lines.push((if i == 0 { "workload" } else { "" }, text.clone()));
    }
    lines
}

/// What the map points to, and what a program writes, where it writes several units.
fn map(config: &Config) -> Option<String> {
    let units = config.units();
    let (bytes, n) = (size(units.bytes.into()), units.per_program());
    let pages = match units.lines {
        1 => "a page".into(),
        lines => format!("{lines} pages of a word line"),
    };
    let planes = match units.planes {
        1 => String::new(),
        planes => format!(" on each of {planes} planes"),
    };
    units.exist().then(|| format!("{bytes} units; a program writes {n} of them: {pages}{planes}"))
}

/// The name of a choice, as configurations write it.
fn name(choice: &serde_json::Value) -> String {
    choice.as_str().unwrap_or_default().to_owned()
}

/// The rules in force.
pub(crate) fn rules(summary: &Summary) -> (&'static str, String) {
    let ack = if summary.config.cache.buffers() {
        "by the write cache".to_string()
    } else {
        name(&serde_json::json!(summary.write_ack))
    };
    let text = format!(
        "consistency {}, writes acknowledged {}, queue depth {}, seed {}",
        summary.consistency_rule,
        ack.replace('_', " "),
        summary.config.device.queue_depth,
        summary.seed
    );
    ("rules", text)
}

fn about(summary: &Summary, context: &Context) -> Vec<(&'static str, String)> {
    let mut lines = device_lines(summary, context);
    lines.push(rules(summary));
    let r = &summary.requests;
    let mut requests = format!("{}, {}, {}", plural(r.read, "read"), plural(r.write, "write"), plural(r.trim, "trim"));
    if r.skipped > 0 {
        requests.push_str(&format!("; {} others skipped (flushes, other commands, size 0)", count(r.skipped)));
    }
    if r.warmup > 0 {
        requests.push_str(&format!("; {} more before them as warm-up", count(r.warmup)));
    }
    lines.push(("requests", requests));
    let seconds = summary.simulated_ns as f64 / 1e9;
    let page = f64::from(summary.config.units().bytes);
    let by_second = |n: u64, scale: f64| if seconds > 0.0 { rate(n as f64 * scale / seconds) } else { "-".into() };
    lines.push((
        "simulated",
        format!(
            "{}: {} requests/s, host reads {} MB/s, host writes {} MB/s",
            duration(summary.simulated_ns as f64),
            by_second(r.read + r.write + r.trim, 1.0),
            by_second(summary.bytes.read, 1e-6),
            by_second(summary.bytes.written, 1e-6)
        ),
    ));
    lines.push((
        "",
        format!(
            "in whole {}: reads {} MB/s, writes {} MB/s",
            counted(summary),
            by_second(summary.pages.read, page / 1e6),
            by_second(summary.pages.written, page / 1e6)
        ),
    ));
    lines
}

/// What pages in a summary are.
fn counted(summary: &Summary) -> &'static str {
    if summary.units.is_some() { "units" } else { "pages" }
}

fn timing(config: &Config) -> String {
    let t = &config.timing;
    let times = |times: &PageTimes| times.types().iter().map(ToString::to_string).collect::<Vec<_>>().join("/");
    format!("read {}, program {}, erase {}, transfer {}", times(&t.read), times(&t.program), t.erase, t.transfer)
}

fn schemes(config: &Config) -> String {
    let s = &config.schemes;
    let time = if config.gc.time == GcTime::None { " in zero time" } else { "" };
    // Only a trigger other than the default is named.
    let trigger =
        if s.trigger == Default::default() { String::new() } else { format!(", trigger {}", s.trigger.name()) };
    format!(
        "order {}, route {}, place {}, victim {}, collector {}{time}, path {}{trigger}",
        s.order.name(),
        s.route.name(),
        s.place,
        s.victim.name(),
        s.collector.name(),
        s.path.name()
    )
}

fn filled(config: &Config) -> String {
    let p = &config.precondition;
    match p.mode {
        PreconditionMode::None => "nothing: a fresh device".into(),
        PreconditionMode::Aged => {
            format!(
                "aged: {} of the pages valid, {} invalid",
                percent_exact(p.valid.as_f64()),
                percent_exact(p.invalid.as_f64())
            )
        }
        PreconditionMode::Sequential => "sequential: every exported page written once".into(),
        PreconditionMode::Random => {
            format!("random: every exported page written once, then {} x as many random overwrites", p.overwrite)
        }
    }
}

fn latencies(latency: &Latencies) -> Vec<Vec<String>> {
    let header = ["latency", "requests", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
    let mut rows = vec![header.map(String::from).to_vec()];
    let flushes = latency.flush.iter().filter(|flushes| flushes.count > 0).map(|flushes| ("flushes", flushes));
    let all = [("reads", &latency.read), ("writes", &latency.write), ("all", &latency.all)];
    for (name, f) in all.into_iter().chain(flushes) {
        let time = |v: Option<u64>| v.map_or("-".into(), |ns| duration(ns as f64));
        let mean = f.mean.map_or("-".into(), duration);
        rows.push(vec![
            name.into(),
            count(f.count),
            mean,
            time(f.p50),
            time(f.p90),
            time(f.p99),
            time(f.p99_9),
            time(f.p99_99),
            time(f.max),
        ]);
    }
    rows
}

/// A row by tenant.
fn by_tenant(tenants: &Tenants) -> Vec<Vec<String>> {
    let header = ["tenant", "reads", "writes", "IOPS", "mean", "p99", "max", "write amplification"];
    let mut rows = vec![header.map(String::from).to_vec()];
    rows[0].extend(tenants.0.iter().any(|(_, tenant)| tenant.slowdown.is_some()).then(|| "slowdown".into()));
    for (name, tenant) in &tenants.0 {
        let (all, dash) = (&tenant.latency_ns.all, || "-".to_string());
        let time = |ns: Option<u64>| ns.map_or_else(dash, |ns| duration(ns as f64));
        rows.push(vec![
            name.clone(),
            count(tenant.requests.read),
            count(tenant.requests.write),
            tenant.iops.map_or_else(dash, |iops| count(iops.round() as u64)),
            all.mean.map_or_else(dash, duration),
            time(all.p99),
            time(all.max),
            tenant.write_amplification_bytes.map_or_else(dash, |wa| format!("{wa:.3}")),
        ]);
        let slowdown = tenant.slowdown.map(|slowdown| slowdown.map_or_else(dash, |factor| format!("{factor:.3}x")));
        rows.last_mut().expect("the one just added").extend(slowdown);
    }
    rows
}

/// Who waited for whom at dies and channels.
fn matrix(interference: &Interference) -> Vec<Vec<String>> {
    let names = interference.0.iter().map(|(name, _)| name.clone());
    let mut rows = vec![["waited for".to_string()].into_iter().chain(names).collect::<Vec<String>>()];
    for (victim, row) in &interference.0 {
        let cells = row.iter().map(|(_, ns)| if *ns == 0 { "-".into() } else { duration(*ns as f64) });
        rows.push([victim.clone()].into_iter().chain(cells).collect());
    }
    rows
}

fn causes(breakdown: &ByOp<Breakdown>, latency: &Latencies) -> Vec<Vec<String>> {
    let columns = [
        (&breakdown.read, latency.read.count),
        (&breakdown.write, latency.write.count),
        (&breakdown.all, latency.all.count),
    ];
    let mut rows = vec![["time per request", "reads", "", "writes", "", "all", "", ""].map(String::from).to_vec()];
    let mut push = |name: &str, meaning: &str, values: [u128; 3]| {
        let mut row = vec![name.to_string()];
        for ((column, requests), value) in columns.iter().zip(values) {
            let total = column.sum();
            if total == 0 {
                row.extend(["-".into(), String::new()]);
            } else {
                row.push(duration(value as f64 / *requests as f64));
                row.push(percent(value as f64 / total as f64));
            }
        }
        row.push(meaning.to_string());
        rows.push(row);
    };
    for (cause, name) in CAUSES {
        let values = columns.map(|(column, _)| column.0[cause as usize]);
        if values.iter().any(|v| *v > 0) {
            push(name, words::meaning(cause), values);
        }
    }
    for (i, (extra, _)) in breakdown.all.1.iter().enumerate() {
        let values = columns.map(|(column, _)| column.1[i].1);
        if values.iter().any(|v| *v > 0) {
            push(extra.name(), words::extra_meaning(*extra), values);
        }
    }
    push("total", "", columns.map(|(column, _)| column.sum()));
    rows
}

/// What collections moved and freed, and what they took.
fn collections(summary: &Summary) -> Vec<(&'static str, String)> {
    let gc = &summary.gc;
    if gc.collections == 0 {
        return vec![("GC", "no collections".into())];
    }
    let time = &gc.time_ns;
    let total: u128 = [time.read, time.transfer, time.program, time.erase].into_iter().map(u128::from).sum();
    let or_dash = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let share = |ns: u64| percent(ns as f64 / total.max(1) as f64);
    vec![
        (
            "GC",
            format!(
                "{}; each moved {} {} and freed {} for host data",
                plural(gc.collections, "collection"),
                or_dash(gc.moved_per_collection),
                counted(summary),
                or_dash(gc.host_pages_per_collection)
            ),
        ),
        (
            "",
            format!(
                "{} each: read {}, transfer {}, program {}, erase {}",
                duration(total as f64 / gc.collections as f64),
                share(time.read),
                share(time.transfer),
                share(time.program),
                share(time.erase)
            ),
        ),
    ]
}

fn device(summary: &Summary) -> Vec<(&'static str, String)> {
    let (flash, wear) = (&summary.flash, &summary.wear);
    let value = serde_json::from_str(&json(summary)).unwrap_or_default();
    let mut lines = Vec::new();
    let or_dash = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("-".into(), show);
    let two = |value: f64| format!("{value:.2}");
    lines.push((
        "write amplification",
        format!(
            "{}: {} host {} written, flash programs {} host{}{} + {} GC, {} copybacks",
            words::amplification(&value),
            count(summary.pages.written),
            counted(summary),
            count(flash.programs.host),
            summary.cache.as_ref().map_or(String::new(), |_| format!(" + {} cache", count(flash.programs.cache))),
            summary.slc.as_ref().map_or(String::new(), |_| format!(" + {} folded", count(flash.programs.fold))),
            count(flash.programs.gc),
            count(flash.copybacks)
        ),
    ));
    let factors = words::factors(&value).filter(|_| summary.units.is_some());
    lines.extend(factors.map(|factors| ("", factors)));
    lines.extend(collections(summary));
    let u = &summary.utilisation;
    lines.push((
        "utilisation",
        format!(
            "{}s {}, channels {}, busy chips at arrival {}",
            name(&serde_json::json!(summary.config.device.exclusion)),
            or_dash(u.die, &percent),
            or_dash(u.channel, &percent),
            or_dash(u.chip_at_arrival, &percent)
        ),
    ));
    lines.push((
        "wear",
        format!(
            "{} erases; per block {} to {}, mean {}, since the device was new",
            count(flash.erases),
            wear.erases_min,
            wear.erases_max,
            or_dash(wear.erases_mean, &two)
        ),
    ));
    lines.extend(wear.slc.as_ref().map(|slc| {
        let mean = or_dash(slc.erases_mean, &two);
        ("", format!("in the SLC cache per block {} to {}, mean {mean}", slc.erases_min, slc.erases_max))
    }));
    lines.extend(losses(summary));
    lines.push(("verdict", words::verdict(&value)));
    lines
}

/// Quantiles from which on requests are the tail.
const TAILS: [Quantile; 2] = [Quantile::new(99, 100), Quantile::new(999, 1_000)];

/// Causes of the slowest requests, the three largest of each tail.
pub(crate) fn tails(histograms: &Histograms) -> Vec<Vec<String>> {
    let mut rows = vec![["slowest", "requests", "from", "three largest causes"].map(String::from).to_vec()];
    for (name, buckets) in ["reads", "writes"].into_iter().zip(&histograms.latency) {
        for (i, quantile) in TAILS.into_iter().enumerate() {
            let Some(band) = tail(buckets, quantile) else { continue };
            // The largest of one bucket of all requests would say nothing of a tail.
            if band.count == count_requests(buckets) {
                continue;
            }
            let causes = band
                .largest(3)
                .into_iter()
                .map(|(cause, ns)| format!("{} {}", cause.name(), percent(ns as f64 / band.sum.max(1) as f64)));
            let share = percent_exact(1.0 - quantile.value());
            let head =
                if i == 0 { format!("{name}, {share}") } else { format!("{:width$}  {share}", "", width = name.len()) };
            rows.push(vec![head, count(band.count), duration(band.from as f64), causes.collect::<Vec<_>>().join(", ")]);
        }
    }
    if rows.len() > 1 { rows } else { Vec::new() }
}

/// Power cuts and failed chips, and what was lost.
fn losses(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for cut in &summary.power_cuts {
        let text = format!(
            "at {}: {} of acknowledged data lost, {} with an older version, {} aborted",
            duration(cut.at.0 as f64),
            plural(cut.lost_pages, "page"),
            plural(cut.stale_pages, "page"),
            plural(cut.aborted_requests, "request")
        );
        lines.push(("power cut", text));
    }
    let Some(failed) = &summary.failures else { return lines };
    for chip in &failed.chips {
        let whole = match chip.whole_after {
            Some(ns) => format!("whole again after {}", duration(ns as f64)),
            None => "never whole again".into(),
        };
        let text = format!(
            "chip {} at {}: {} on it, {} lost; {whole}",
            chip.chip,
            duration(chip.at.0 as f64),
            plural(chip.pages, "page"),
            plural(chip.lost_pages, "page")
        );
        lines.push(("chip failure", text));
    }
    if failed.lost_reads + failed.lost_writes + failed.lost_pages > 0 {
        let text = format!(
            "{} lost in all; {} and {} reported to the host",
            plural(failed.lost_pages, "page"),
            plural(failed.lost_reads, "page read"),
            plural(failed.lost_writes, "page write")
        );
        lines.push(("data loss", text));
    }
    lines
}
