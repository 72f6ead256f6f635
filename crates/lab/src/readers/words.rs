//! What a summary says, in sentences.

use serde_json::Value;
use ssdlab_sim::Config;
use ssdlab_sim::blame::{CAUSES, Cause, Extra};

use crate::readers::causes::{Any, all};
use crate::readers::json::{number, shown, text};
use crate::text::{count, duration, percent, percent_exact, plural, rate, size};
use crate::tree;

/// The meaning of a cause, in a few words.
pub fn meaning(cause: Cause) -> &'static str {
    match cause {
        Cause::Queue => "device queue full",
        Cause::Order => "in the dispatch window",
        Cause::Space => "no free page for host data",
        Cause::Staging => "no free buffer slot",
        Cause::DieHost => "other requests on the die",
        Cause::DieLate => "requests delayed by GC",
        Cause::DieGcOwn => "GC of the same plane",
        Cause::DieGcOther => "GC of another plane",
        Cause::DieWriteback => "write-backs on the die",
        Cause::BusHost => "other requests on the bus",
        Cause::BusGc => "GC on the bus",
        Cause::NocHost => "other requests on the NoC",
        Cause::NocGc => "GC on the NoC",
        Cause::Held => "held back by a scheme",
        Cause::Array => "service: flash array",
        Cause::Bus => "service: own transfers",
        Cause::Noc => "service: own NoC traffic",
        Cause::Decode => "service: error correction",
        Cause::Memory => "service: memory",
    }
}

/// The name of a cause in results.
pub fn name(cause: Cause) -> &'static str {
    CAUSES[cause as usize].1
}

/// What a cause of an optional feature means, in a few words.
pub fn extra_meaning(extra: Extra) -> &'static str {
    match extra {
        Extra::Arbitration => "slots went to other queues",
        Extra::Cache => "no free cache line, or a flush",
        Extra::CacheGc => "no free cache line: GC",
        Extra::CacheHost => "no free cache line: others",
        Extra::Slc => "folds of the SLC cache",
        Extra::Retry => "service: read retries",
    }
}

/// The name of any cause with its meaning.
pub fn named(cause: Any) -> String {
    let meaning = match cause {
        Any::Usual(cause) => meaning(cause),
        Any::Extra(extra) => extra_meaning(extra),
    };
    format!("{} ({meaning})", cause.name())
}

/// The sum of some causes of a kind of request, from a summary.
fn spent(summary: &Value, op: &str, of: fn(Any) -> bool) -> f64 {
    let ns = |cause: Any| number(summary, &format!("/breakdown_ns/{op}/{}", cause.name())).unwrap_or(0.0);
    all().filter(|cause| of(*cause)).map(ns).sum()
}

/// Flash programmed for what the host wrote. In bytes; in pages too where that is another number.
pub struct Amplification {
    /// Bytes programmed over bytes written; of summaries before 0.1.3, which have no bytes, pages programmed over pages written.
    pub bytes: f64,
    /// Pages programmed over pages written, where its digits differ.
    pub in_pages: Option<f64>,
}

impl Amplification {
    /// That of a summary; none without writes.
    pub fn of(summary: &Value) -> Option<Amplification> {
        Amplification::at(summary, "/write_amplification_bytes", "/write_amplification")
    }

    fn at(summary: &Value, bytes: &str, pages: &str) -> Option<Amplification> {
        let pages = number(summary, pages)?;
        let bytes = number(summary, bytes).unwrap_or(pages);
        let three = |value: f64| format!("{value:.3}");
        Some(Amplification { bytes, in_pages: (three(bytes) != three(pages)).then_some(pages) })
    }
}

/// Whether the pages that a summary counts are units of the map that are smaller than a program.
pub fn counts_units(summary: &Value) -> bool {
    summary.get("units").is_some_and(|units| !units.is_null())
}

/// Write amplification: `11.880 (2.970 in pages: each 4 KiB write programs 16 KiB)`.
pub fn amplification(summary: &Value) -> String {
    let Some(of) = Amplification::of(summary) else { return "-".into() };
    let counted = if counts_units(summary) { "units" } else { "pages" };
    match of.in_pages {
        None => format!("{:.3}", of.bytes),
        Some(pages) => format!("{:.3} ({pages:.3} in {counted}: {})", of.bytes, partial_writes(summary)),
    }
}

/// What write amplification in bytes is the product of: `4.000 = 2.000 (writes cover units in part) x 2.000 (padding)`. None where
/// writes are whole and programs are full, so that only GC is left, and for summaries before 0.1.3.
pub fn factors(summary: &Value) -> Option<String> {
    let of = |name: &str| number(summary, &format!("/write_amplification_factors/{name}"));
    let (partial, absorbed, padding, background) = (of("partial")?, of("absorbed")?, of("padding")?, of("background")?);
    let shows = |factor: f64| (factor - 1.0).abs() >= 0.0005;
    if !shows(partial) && !shows(padding) {
        return None;
    }
    let counted = if counts_units(summary) { "units" } else { "pages" };
    let all = [
        (partial, format!("writes cover {counted} in part")),
        (absorbed, "the cache absorbs overwrites and trims".to_string()),
        (padding, "padding: programs that were not full".to_string()),
        (background, "GC and other programs beside the host's".to_string()),
    ];
    let shown = all.iter().filter(|(factor, _)| shows(*factor)).map(|(factor, why)| format!("{factor:.3} ({why})"));
    let product = number(summary, "/write_amplification_bytes")?;
    Some(format!("{product:.3} = {}", shown.collect::<Vec<_>>().join(" x ")))
}

/// What writes that do not fill their pages cost.
fn partial_writes(summary: &Value) -> String {
    let n = |place: &str| number(summary, place).unwrap_or(0.0) as u64;
    let page = summary.pointer("/config/geometry/page_size").map_or(String::new(), shown);
    let page = page.parse::<ssdlab_sim::units::Bytes>().map_or(0, |bytes| bytes.0);
    // A cache programs pages that several writes have filled.
    let pages = match summary.get("cache").is_some_and(|cache| !cache.is_null()) {
        true => n("/flash/programs/host") + n("/flash/programs/cache"),
        false => n("/pages/written"),
    };
    let (writes, bytes, programmed) = (n("/requests/write").max(1), n("/bytes/written"), pages.saturating_mul(page));
    let alike = bytes.is_multiple_of(writes) && programmed.is_multiple_of(writes);
    let (mean, cost) = (size(bytes / writes), size(programmed / writes));
    if alike {
        format!("each {mean} write programs {cost}")
    } else {
        format!("the mean write of {mean} programs {cost}")
    }
}

/// What happened, and whether it can be trusted, in a few sentences.
pub fn verdict(summary: &Value) -> String {
    let said = what_happened(summary);
    let cached = summary.get("cache").is_some_and(|cache| !cache.is_null());
    match number(summary, "/write_amplification") {
        Some(factor) if factor < 1.0 && cached => {
            let pages = |place| count(number(summary, place).unwrap_or(0.0) as u64);
            let one = if counts_units(summary) { "unit" } else { "page" };
            format!(
                "{said}. Fewer {one}s were programmed than the host wrote, since not every {one} written reaches flash: of {}, {} were absorbed by the cache and {} trimmed there",
                pages("/pages/written"),
                pages("/cache/absorbed"),
                pages("/cache/trimmed")
            )
        }
        _ => said,
    }
}

fn what_happened(summary: &Value) -> String {
    let value = |place: &str| number(summary, place).unwrap_or(0.0);
    if value("/latency_ns/all/count") == 0.0 {
        return "no reads or writes were measured".into();
    }
    let gc = match value("/gc/collections") == 0.0 {
        true => "GC did not run, so these results say nothing about a full device (see precondition.mode)".into(),
        false => under_gc(summary),
    };
    overload(summary).map_or(gc.clone(), |overload| format!("{overload}. {gc}"))
}

/// Whether more arrived than the device can serve, and what waits for it.
fn overload(summary: &Value) -> Option<String> {
    let factor = number(summary, "/overload/factor")?;
    let offered = number(summary, "/overload/offered_per_s").unwrap_or(0.0);
    let (total, outside) = (spent(summary, "all", |_| true), spent(summary, "all", Any::is_outside));
    Some(format!(
        "Overloaded: {} requests arrive a second, {factor:.2} times what the {} can serve, so latency grows with the length of the run; {} of it is spent waiting for one of {} queue slots",
        rate(offered),
        text(summary, "/overload/resource").replace('_', " "),
        percent(if total > 0.0 { outside / total } else { 0.0 }),
        count(number(summary, "/config/device/queue_depth").unwrap_or(0.0) as u64)
    ))
}

/// How much requests waited for GC, and whether write amplification is steady.
fn under_gc(summary: &Value) -> String {
    let value = |place: &str| number(summary, place).unwrap_or(0.0);
    let share = |op: &str| {
        let (inside, gc) = (spent(summary, op, |cause| !cause.is_outside()), spent(summary, op, Any::is_by_gc));
        if inside == 0.0 { "none".into() } else { percent(gc / inside) }
    };
    let waited = ["read", "write"].into_iter().filter_map(|op| {
        let all = value(&format!("/latency_ns/{op}/count"));
        let delayed = value(&format!("/requests_delayed_by_gc/{op}"));
        (all > 0.0).then(|| {
            format!(
                "{} of the {op}s waited for it ({} of the time that {op}s spent in the device)",
                percent(delayed / all),
                share(op)
            )
        })
    });
    format!("GC ran: {}. {}", waited.collect::<Vec<_>>().join(", "), halves(summary))
}

/// Whether write amplification is steady.
fn halves(summary: &Value) -> String {
    let halves = summary.pointer("/write_amplification_halves").filter(|halves| !halves.is_null());
    let Some(halves) = halves else {
        return "Too few collections to tell whether write amplification is steady".into();
    };
    let two = |half: &str| {
        let of = Amplification::at(halves, &format!("/{half}_bytes"), &format!("/{half}"));
        of.map_or("-".into(), |of| format!("{:.2}", of.bytes))
    };
    let both = format!(
        "write amplification {} in the first half of the writes, {} in the second",
        two("first"),
        two("second")
    );
    match halves["steady"] == true {
        true => format!("Steady: {both}"),
        false => format!("Not steady: {both}; run longer, or fill the device first (precondition, run.warmup)"),
    }
}

/// Keys of a configuration that differ from the defaults: key, default, value.
pub fn differences(summary: &Value) -> Vec<[String; 3]> {
    fn walk(key: &str, default: Option<&Value>, value: Option<&Value>, out: &mut Vec<[String; 3]>) {
        if default == value {
            return;
        }
        let (Some(Value::Object(a)), Some(Value::Object(b))) = (default, value) else {
            let text = |value: Option<&Value>| value.map_or("none".into(), shown);
            out.push([key.into(), text(default), text(value)]);
            return;
        };
        let mut names: Vec<&String> = a.keys().collect();
        names.extend(b.keys().filter(|name| !a.contains_key(*name)));
        for name in names {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            walk(&key, a.get(name), b.get(name), out);
        }
    }
    let default = tree::config(&Config::default());
    let mut out = Vec::new();
    walk("", Some(&default), summary.get("config"), &mut out);
    out
}

/// The flash of a device.
fn array(summary: &Value) -> String {
    let g = |name: &str| number(summary, &format!("/config/geometry/{name}")).unwrap_or(0.0);
    let planes = g("channels") * g("chips_per_channel") * g("dies_per_chip") * g("planes_per_die");
    let pages = planes * g("blocks_per_plane") * g("pages_per_block");
    let page = summary.pointer("/config/geometry/page_size").map_or(String::new(), shown);
    let bytes = page.parse::<ssdlab_sim::units::Bytes>().map_or(0, |bytes| bytes.0);
    format!(
        "{} channels x {} chips x {} dies x {} planes; a plane: {} blocks x {} pages of {page}; {} raw",
        g("channels"),
        g("chips_per_channel"),
        g("dies_per_chip"),
        g("planes_per_die"),
        count(g("blocks_per_plane") as u64),
        g("pages_per_block"),
        size((pages as u64).saturating_mul(bytes))
    )
}

/// The device, the schemes and the requests, in a line each: label and text.
pub fn device(summary: &Value) -> Vec<(&'static str, String)> {
    let n = |place: &str| number(summary, &format!("/config/{place}")).unwrap_or(0.0);
    let field = |place: &str| summary.pointer(&format!("/config/{place}")).map_or(String::new(), shown);
    let scheme = |slot: &str| {
        let value = summary.pointer(&format!("/config/schemes/{slot}"));
        match value {
            Some(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
            Some(value) => shown(value),
            None => String::new(),
        }
    };
    let filled = match field("precondition/mode").as_str() {
        "none" => "nothing: a fresh device".into(),
        "random" => format!(
            "every exported page written once, then {} x as many random overwrites",
            field("precondition/overwrite")
        ),
        "sequential" => "every exported page written once".into(),
        mode => mode.to_string(),
    };
    let cached = summary.get("cache").is_some() || summary.pointer("/config/cache/size").is_some();
    let caches = cached && summary.pointer("/config/cache/write").is_none();
    let ack = if caches { "by the write cache".into() } else { text(summary, "/write_ack").replace('_', " ") };
    vec![
        ("device", format!("{}, over-provisioning {}", array(summary), percent_exact(n("device/over_provisioning")))),
        (
            "timing",
            format!(
                "read {}, program {}, erase {}, transfer {}",
                field("timing/read"),
                field("timing/program"),
                field("timing/erase"),
                field("timing/transfer")
            ),
        ),
        (
            "schemes",
            format!(
                "order {}, route {}, place {}, victim {}, collector {}, path {}",
                scheme("order"),
                scheme("route"),
                scheme("place"),
                scheme("victim"),
                scheme("collector"),
                scheme("path")
            ),
        ),
        ("filled", filled),
        (
            "rules",
            format!(
                "consistency {}, writes acknowledged {}, queue depth {}",
                text(summary, "/consistency_rule"),
                ack,
                n("device/queue_depth")
            ),
        ),
    ]
}

/// A paragraph for the methods section of a paper.
pub fn method(summary: &Value, about: &[String]) -> String {
    let lines = device(summary);
    let of = |label: &str| lines.iter().find(|(name, _)| *name == label).map_or("", |(_, text)| text);
    let value = |place: &str| number(summary, place).unwrap_or(0.0);
    let workload = match about.first() {
        Some(about) => format!("The workload was {about}. "),
        None => String::new(),
    };
    // What the lines above say nothing of.
    let said = ["geometry.", "timing.", "schemes.", "precondition.", "device.over_provisioning", "device.queue_depth"];
    let others: Vec<String> = differences(summary)
        .into_iter()
        .filter(|[key, ..]| !said.iter().any(|known| key.starts_with(known)))
        .map(|[key, _, value]| format!("{key} = {value}"))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("Other keys: {}. ", others.join(", ")) };
    let digest = |place: &str| text(summary, place).chars().take(16).collect::<String>();
    format!(
        "We simulated an SSD with ssdlab {} (trace-driven, event-driven, exact to the nanosecond). Its geometry: {}. Flash times: {}. Policies: {}. Before the run the device was filled: {}. Rules: {}. {others}{workload}{} reads and {} writes were measured over {} of simulated time, with seed {}. Percentiles are upper edges of buckets of three significant digits at rank ceil(q n). The configuration has digest {}…, the requests {}…; the same version, configuration, requests and seed give the same bytes.",
        text(summary, "/version"),
        of("device"),
        of("timing"),
        of("schemes"),
        of("filled"),
        of("rules"),
        count(value("/latency_ns/read/count") as u64),
        count(value("/latency_ns/write/count") as u64),
        duration(value("/simulated_ns")),
        value("/seed"),
        digest("/config_digest"),
        digest("/trace_digest"),
    )
}

/// What became of collections that were to be put off. One that was put off, and ran later because a write found no page, is in both
/// numbers; one that had to run at once is only in the second.
pub fn postponed(postponed: u64, forced: u64) -> String {
    let text = format!("{} put off, {} ran all the same (forced)", plural(postponed, "collection"), count(forced));
    match forced {
        0 => text,
        _ => format!("{text}: a write found no page. One that was put off until then counts in both numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A summary of so many writes of these bytes in so many pages of 16 KiB, all programmed, and as many again for GC.
    fn written(writes: u64, bytes: u64, pages: u64) -> Value {
        json!({
            "config": { "geometry": { "page_size": "16KiB" }, "device": { "queue_depth": 32 } },
            "requests": { "write": writes }, "bytes": { "written": bytes }, "pages": { "written": pages },
            "flash": { "programs": { "host": pages, "cache": 0 } },
            "write_amplification": 2.0, "write_amplification_bytes": (2 * pages * 16_384) as f64 / bytes as f64,
        })
    }

    #[test]
    fn partial_writes_say_what_they_cost() {
        let each = "8.000 (2.000 in pages: each 4 KiB write programs 16 KiB)";
        assert_eq!(amplification(&written(100, 409_600, 100)), each);
        assert_eq!(amplification(&written(100, 1_638_400, 100)), "2.000", "whole pages: one number");
        // Across two pages each.
        let across = "16.000 (2.000 in pages: each 4 KiB write programs 32 KiB)";
        assert_eq!(amplification(&written(100, 409_600, 200)), across);
        // 101 x 16,384 / 100 = 16,547 bytes.
        let mixed = "5.387 (2.000 in pages: the mean write of 6 KiB programs 16.16 KiB)";
        assert_eq!(amplification(&written(100, 614_400, 101)), mixed);
        // A cache absorbs half: what is programmed counts, not what was written.
        let mut cached = written(100, 409_600, 100);
        (cached["cache"], cached["flash"]["programs"]) = (json!({ "absorbed": 50 }), json!({ "host": 0, "cache": 50 }));
        assert!(amplification(&cached).ends_with("each 4 KiB write programs 8 KiB)"), "{}", amplification(&cached));
        let mut old = written(100, 409_600, 100);
        old["write_amplification_bytes"].take();
        assert_eq!(amplification(&old), "2.000", "summaries before 0.1.3");
        assert_eq!(amplification(&json!({ "write_amplification": null, "write_amplification_bytes": null })), "-");
    }

    #[test]
    fn causes_of_write_amplification_are_its_factors() {
        let mut summary = written(100, 51_200, 100);
        summary["units"] = json!({ "bytes": 4096 });
        (summary["write_amplification"], summary["write_amplification_bytes"]) = (json!(2.5), json!(20.0));
        let mut factors_of = |partial: f64, padding: f64| {
            summary["write_amplification_factors"] =
                json!({ "partial": partial, "absorbed": 0.5, "padding": padding, "background": 2.5 });
            factors(&summary)
        };
        let said = "20.000 = 8.000 (writes cover units in part) x 0.500 (the cache absorbs overwrites and trims) x 2.000 (padding: programs that were not full) x 2.500 (GC and other programs beside the host's)";
        assert_eq!(factors_of(8.0, 2.0).unwrap(), said);
        assert_eq!(factors_of(1.0, 1.0), None, "only GC is left");
        assert!(amplification(&summary).starts_with("20.000 (2.500 in units: "), "{}", amplification(&summary));
    }

    #[test]
    fn overload_is_said_whether_gc_ran_or_not() {
        let mut summary = written(100, 409_600, 100);
        summary["latency_ns"] = json!({ "all": { "count": 100 }, "write": { "count": 100 } });
        summary["breakdown_ns"] = json!({ "all": { "queue": 999, "array": 1 } });
        summary["gc"] = json!({ "collections": 0 });
        assert!(verdict(&summary).starts_with("GC did not run"));
        summary["overload"] = json!({ "resource": "queue_slots", "factor": 9.856, "offered_per_s": 400_000.0 });
        let said = "Overloaded: 400,000 requests arrive a second, 9.86 times what the queue slots can serve, so latency grows with the length of the run; 99.9 % of it is spent waiting for one of 32 queue slots. ";
        assert!(verdict(&summary).starts_with(&format!("{said}GC did not run")), "{}", verdict(&summary));
        summary["gc"]["collections"] = json!(5);
        assert!(verdict(&summary).starts_with(&format!("{said}GC ran: ")), "{}", verdict(&summary));
    }

    #[test]
    fn halves_are_in_bytes() {
        let mut summary = written(100, 409_600, 100);
        summary["write_amplification_halves"] =
            json!({ "first": 1.5, "second": 2.5, "first_bytes": 6.0, "second_bytes": 10.0, "steady": false });
        assert!(
            halves(&summary)
                .starts_with("Not steady: write amplification 6.00 in the first half of the writes, 10.00 in")
        );
    }
}
