//! Two futures as JSON: the contract `ssdlab.whatif/1`.

use ssdlab_lab::results::requests::op;
use ssdlab_sim::Completed;

use crate::records::Reason;
use crate::whatif::measures::{measures, requests};
use crate::whatif::outcome::{Pair, WhatIf};
use serde_json::{Map, Value as Json, json};

/// The schema.
pub const SCHEMA: &str = "ssdlab.whatif/1";

/// Everything, as a value.
pub fn value(whatif: &WhatIf) -> Json {
    let measured = measures(whatif).into_iter().map(|one| {
        let number = |value: Option<f64>| match value {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 9.0e15 => json!(whole as i64),
            other => json!(other),
        };
        let difference = one.values[0].zip(one.values[1]).map(|(base, other)| other - base);
        let [base, other] = one.values.map(number);
        json!({ "measure": one.name, "base": base, "whatif": other, "difference": number(difference) })
    });
    let parting = whatif.parting.as_ref().map(|one| {
        json!({
            "at_ns": one.at.0,
            "resource": one.resource,
            "base": one.does[0],
            "whatif": one.does[1],
            "base_collection": one.collections[0],
            "whatif_collection": one.collections[1],
        })
    });
    let some = |gain: bool| whatif.extremes(gain).into_iter().map(brief).collect::<Vec<_>>();
    json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "seed": whatif.seed,
        "config_digest": whatif.config_digest,
        "at": whatif.at.to_string(),
        "at_ns": whatif.moment.0,
        "request": whatif.request,
        "copied_ns": whatif.copied.0,
        "to_ns": whatif.to.0,
        "closed": whatif.closed,
        "change": whatif.changes,
        "without": whatif.without.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "requests": requests(whatif),
        "parting": parting,
        "postponed": whatif.postponement.postponed,
        "forced": whatif.postponement.forced,
        "measures": measured.collect::<Vec<_>>(),
        "chosen": whatif.chosen().map(|pair| {
            json!({ "base": whole(&pair.base), "whatif": pair.whatif.as_ref().map(whole) })
        }),
        "gains": some(true),
        "losses": some(false),
    })
}

fn latency(row: &Completed) -> u64 {
    (row.completion - row.arrival).0
}

fn brief(pair: &Pair) -> Json {
    json!({
        "request": pair.base.request,
        "op": op(pair.base.op),
        "arrival_ns": pair.base.arrival.0,
        "base_ns": latency(&pair.base),
        "whatif_ns": pair.whatif.as_ref().map(latency),
    })
}

fn whole(row: &Completed) -> Json {
    let causes = Reason::all().map(|cause| (cause.name().to_string(), cause.of(&row.blame, &row.extras)));
    let causes: Map<String, Json> = causes.filter(|(_, ns)| *ns > 0).map(|(name, ns)| (name, json!(ns))).collect();
    json!({
        "request": row.request,
        "op": op(row.op),
        "arrival_ns": row.arrival.0,
        "offset": row.offset,
        "bytes": row.bytes,
        "start_ns": row.start.map(|start| start.0),
        "completion_ns": row.completion.0,
        "latency_ns": latency(row),
        "causes": causes,
    })
}
