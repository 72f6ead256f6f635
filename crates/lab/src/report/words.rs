//! What a summary says, in sentences.

use serde_json::Value;
use ssdlab_sim::Config;
use ssdlab_sim::blame::{CAUSES, Cause, Extra};

use crate::report::causes::{Any, all};
use crate::report::json::{number, shown, text};
use crate::text::{count, duration, percent, percent_exact, size};

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

/// What happened, and whether it can be trusted, in a few sentences.
pub fn verdict(summary: &Value) -> String {
    let said = what_happened(summary);
    match number(summary, "/write_amplification") {
        Some(factor) if factor < 1.0 && summary.get("cache").is_some_and(|cache| !cache.is_null()) => {
            let pages = |place| count(number(summary, place).unwrap_or(0.0) as u64);
            format!(
                "{said}. Write amplification is below 1, since not every page written reaches flash: of {}, {} were absorbed by the cache and {} trimmed there",
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
    if value("/gc/collections") == 0.0 {
        return "GC did not run, so these results say nothing about a full device (see precondition.mode)".into();
    }
    let share = |op: &str| {
        let (inside, gc) = (spent(summary, op, |cause| !cause.is_outside()), spent(summary, op, Any::is_by_gc));
        if inside == 0.0 { "none".into() } else { percent(gc / inside) }
    };
    let halves = |half: &str| number(summary, &format!("/write_amplification_halves/{half}"));
    let steady = match summary.pointer("/write_amplification_halves").filter(|halves| !halves.is_null()) {
        None => "Too few collections to tell whether write amplification is steady".into(),
        Some(both) => {
            let two = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
            let (first, second) = (two(halves("first")), two(halves("second")));
            if both["steady"] == true {
                format!("Steady: write amplification {first} in the first half of the writes, {second} in the second")
            } else {
                format!(
                    "Not steady: write amplification {first} in the first half of the writes, {second} in the second; run longer, or fill the device first (precondition, run.warmup)"
                )
            }
        }
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
    let gc = format!("GC ran: {}. {steady}", waited.collect::<Vec<_>>().join(", "));
    let (total, outside) = (spent(summary, "all", |_| true), spent(summary, "all", Any::is_outside));
    if 2.0 * outside > total {
        format!(
            "{gc}. Overloaded: requests spend {} of their time waiting for one of {} queue slots, so latency grows with the length of the run",
            percent(outside / total),
            value("/config/device/queue_depth")
        )
    } else {
        gc
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
    let default = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut out = Vec::new();
    walk("", Some(&default), summary.get("config"), &mut out);
    out
}

/// The device, the schemes and the requests, in a line each: label and text.
pub fn device(summary: &Value) -> Vec<(&'static str, String)> {
    let n = |place: &str| number(summary, &format!("/config/{place}")).unwrap_or(0.0);
    let g = |name: &str| n(&format!("geometry/{name}"));
    let planes = g("channels") * g("chips_per_channel") * g("dies_per_chip") * g("planes_per_die");
    let pages = planes * g("blocks_per_plane") * g("pages_per_block");
    let field = |place: &str| summary.pointer(&format!("/config/{place}")).map_or(String::new(), shown);
    let page = summary.pointer("/config/geometry/page_size").map_or(String::new(), shown);
    let bytes = page.parse::<ssdlab_sim::units::Bytes>().map_or(0, |bytes| bytes.0);
    let raw = (pages as u64).saturating_mul(bytes);
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
    let caches = summary.get("cache").is_some() && summary.pointer("/config/cache/write").is_none();
    let ack = if caches { "by the write cache".into() } else { text(summary, "/write_ack").replace('_', " ") };
    vec![
        (
            "device",
            format!(
                "{} channels x {} chips x {} dies x {} planes; a plane: {} blocks x {} pages of {page}; {} raw, over-provisioning {}",
                g("channels"),
                g("chips_per_channel"),
                g("dies_per_chip"),
                g("planes_per_die"),
                count(g("blocks_per_plane") as u64),
                g("pages_per_block"),
                size(raw),
                percent_exact(n("device/over_provisioning"))
            ),
        ),
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
