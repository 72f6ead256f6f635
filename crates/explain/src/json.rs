//! The findings as JSON: the contract `ssdlab.explain/1`.

use crate::explanation::Explained;
use crate::records::{Reason, Record};
use crate::watch::Known;
use serde_json::{Map, Value as Json, json};

/// The schema.
pub const SCHEMA: &str = "ssdlab.explain/1";

/// An exact number: a text if it is beyond 64 bits.
pub fn exact(value: i128) -> Json {
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => json!(value),
        (_, Ok(value)) => json!(value),
        _ => json!(value.to_string()),
    }
}

/// Everything, as a value.
pub fn value(explained: &Explained) -> Json {
    let (findings, known) = (&explained.findings, explained.known.as_ref());
    let causes = findings.causes.iter().filter(|one| one.total > 0 || one.middle > 0).map(|one| {
        json!({
            "cause": one.cause.name(),
            "total_ns": exact(one.total as i128),
            "middle_ns": exact(one.middle as i128),
            "excess_ns": exact(findings.excess_ns(one)),
            "share": findings.share(one),
        })
    });
    let patterns = findings.patterns.iter().map(|pattern| json!({ "name": pattern.name, "count": pattern.count }));
    let base = findings.value.filter(|base| *base > 0);
    let tries = explained.tried.iter().map(|one| {
        json!({
            "set": one.set,
            "value_ns": one.value,
            "ratio": one.value.zip(base).map(|(value, base)| value as f64 / base as f64),
            "write_amplification": one.write_amplification,
            "write_amplification_bytes": one.write_amplification_bytes,
            "note": one.about.or(one.note),
        })
    });
    let refused = explained.refused.iter().map(|one| json!({ "set": one.set, "rule": one.rule }));
    let summary = explained.done.as_ref().map(|done| &done.outcome.summary);
    json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "seed": summary.map(|summary| summary.seed),
        "config_digest": summary.map(|summary| &summary.config_digest),
        "trace_digest": summary.map(|summary| &summary.trace_digest),
        "at": findings.at.to_string(),
        "requests": findings.requests,
        "value_ns": findings.value,
        "threshold_ns": findings.threshold,
        "count": findings.tail.count,
        "total_ns": exact(findings.tail.total as i128),
        "middle_mean_ns": findings.middle.mean(),
        "middle": { "count": findings.middle.count, "total_ns": exact(findings.middle.total as i128) },
        "excess_ns": exact(findings.whole_excess_ns()),
        "causes": causes.collect::<Vec<_>>(),
        "patterns": patterns.collect::<Vec<_>>(),
        "slowest": findings.slowest.iter().map(|record| slow(record, known)).collect::<Vec<_>>(),
        "write_amplification_bytes": summary.and_then(|summary| summary.write_amplification_bytes),
        "write_amplification_factors": summary.map(|summary| &summary.write_amplification_factors),
        "tries": tries.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "verdict": explained.verdict,
    })
}

fn slow(record: &Record, known: Option<&Known>) -> Json {
    let causes: Map<String, Json> = Reason::all()
        .map(|cause| (cause.name().to_string(), record.of_reason(cause)))
        .filter(|(_, ns)| *ns > 0)
        .map(|(name, ns)| (name, json!(ns)))
        .collect();
    let collections = known.map(|known| {
        let met = known.met_by(record).iter();
        let all = met
            .map(|one| json!({ "number": one.number, "planes": one.planes, "start_ns": one.start, "end_ns": one.end }));
        all.collect::<Vec<_>>()
    });
    let die = known.zip(record.plane).map(|(known, plane)| known.geometry.unit_of(ssdlab_sim::units::PlaneId(plane)).0);
    json!({
        "request": record.request,
        "op": if record.write { "write" } else { "read" },
        "arrival_ns": record.arrival,
        "offset": record.offset,
        "bytes": record.bytes,
        "start_ns": record.start,
        "latency_ns": record.latency,
        "die": die,
        "plane": record.plane,
        "causes": causes,
        "collections": collections,
    })
}
