//! Where the time went.

use ssdlab_figures::figure::{Axis, Cell, Figure, Mark, Panel, Scale, Series, Table, Unit};

use crate::charts::parts::{Op, Wanted, figure, none, plural, share, shown};
use crate::inputs::Inputs;
use ssdlab_lab::readers::causes::{self, Any, Sums, largest};
use ssdlab_lab::readers::histogram::{Band, bands, count as requests, merged};
use ssdlab_lab::readers::json::number;
use ssdlab_lab::readers::words;
use ssdlab_lab::text::{count, duration, percent};

/// Requests and sums by cause of each kind of request.
fn totals(inputs: &Inputs) -> Vec<(&'static str, u64, Sums)> {
    if let Some(histograms) = &inputs.run.histograms {
        let all = merged(&histograms.latency);
        let kinds = [("read", &histograms.latency[0]), ("write", &histograms.latency[1]), ("all", &all)];
        return kinds
            .map(|(op, buckets)| {
                let mut sums = [0; causes::COUNT];
                buckets.iter().for_each(|bucket| causes::add(&mut sums, bucket));
                (op, requests(buckets), sums)
            })
            .to_vec();
    }
    let Some(summary) = &inputs.run.summary else { return Vec::new() };
    let kinds = ["read", "write", "all"].map(|op| {
        let all = number(summary, &format!("/latency_ns/{op}/count")).unwrap_or(0.0) as u64;
        let sum = |name: &str| {
            let value = summary.pointer(&format!("/breakdown_ns/{op}/{name}"));
            value.and_then(|v| v.as_u64().map(u128::from).or_else(|| v.as_f64().map(|v| v as u128))).unwrap_or(0)
        };
        let mut sums = [0; causes::COUNT];
        causes::all().for_each(|cause| sums[cause.place()] = sum(cause.name()));
        (op, all, sums)
    });
    kinds.to_vec()
}

pub(super) fn causes(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Mean latency by cause";
    let mut kinds = totals(inputs);
    kinds.retain(|(op, all, _)| {
        *all > 0
            && match wanted.op {
                None => true,
                Some(Op::Read) => *op == "read",
                Some(Op::Write) => *op == "write",
                Some(Op::All) => *op == "all",
            }
    });
    if kinds.is_empty() {
        return none("causes", title, inputs, "No reads or writes were measured.");
    }
    let mut table = Table::new(&["op", "cause", "sum_ns", "mean_ns", "share"]);
    let mut series = Vec::new();
    for cause in causes::all() {
        let own = |sums: &Sums| sums[cause.place()];
        if kinds.iter().all(|(_, _, sums)| own(sums) == 0) {
            continue;
        }
        let points = kinds.iter().enumerate().map(|(i, (_, all, sums))| vec![own(sums) as f64 / *all as f64, i as f64]);
        series.push(Series { name: words::named(cause), ..Series::new(cause.name(), Mark::Stack, points.collect()) });
        for (op, all, sums) in &kinds {
            let mean = Cell::Real(own(sums) as f64 / *all as f64);
            table.rows.push(vec![
                (*op).into(),
                cause.name().into(),
                Cell::Whole(own(sums)),
                mean,
                share(own(sums), sums.iter().sum()),
            ]);
        }
    }
    let rows = kinds.iter().map(|(op, _, _)| plural(op).to_string()).collect();
    let x = Axis::new("mean latency", Unit::Nanoseconds, Scale::Linear);
    let panel = Panel { x, y: Axis::bands("", rows), series, ..Panel::default() };
    let mut figure = figure("causes", title, inputs, vec![panel], table);
    let said = kinds.iter().filter(|(op, ..)| *op != "all" || kinds.len() == 1).map(|(op, all, sums)| {
        let total: u128 = sums.iter().sum();
        let most = largest(sums, 1).first().map_or(String::new(), |(cause, ns)| {
            format!(", {} of it {}", percent(*ns as f64 / total.max(1) as f64), words::named(*cause))
        });
        format!("{} took {} in the mean{most}.", plural(op), duration(total as f64 / *all as f64))
    });
    figure.caption = said.map(|text| text[..1].to_uppercase() + &text[1..]).collect::<Vec<_>>().join(" ");
    figure
}

pub(super) fn tail_causes(inputs: &Inputs, wanted: &Wanted) -> Figure {
    let title = "Causes by band of the distribution";
    let kinds = inputs.run.histograms.as_ref().map_or(Vec::new(), |all| shown(all, wanted.op));
    if kinds.is_empty() {
        return none("tail-causes", title, inputs, "No reads or writes were measured.");
    }
    let mut table = Table::new(&["op", "band", "from_ns", "requests", "sum_ns", "cause", "cause_ns", "share"]);
    let (mut panels, mut said) = (Vec::new(), Vec::new());
    let bands: Vec<(&str, Vec<Band>)> = kinds.iter().map(|(op, buckets)| (*op, bands(buckets))).collect();
    let used = |cause: &Any| bands.iter().flat_map(|(_, bands)| bands).any(|band| band.causes[cause.place()] > 0);
    for (op, bands) in &bands {
        let mut series = Vec::new();
        for cause in causes::all().filter(used) {
            let part = |band: &Band| band.causes[cause.place()] as f64 / band.sum.max(1) as f64;
            let points = bands.iter().enumerate().map(|(i, band)| vec![part(band), i as f64]).collect();
            series.push(Series { name: words::named(cause), ..Series::new(cause.name(), Mark::Stack, points) });
        }
        for band in bands {
            for (cause, ns) in band.largest(causes::COUNT) {
                table.rows.push(vec![
                    (*op).into(),
                    band.name.as_str().into(),
                    band.from.into(),
                    band.count.into(),
                    Cell::Whole(band.sum),
                    cause.name().into(),
                    Cell::Whole(ns),
                    share(ns, band.sum),
                ]);
            }
        }
        let rows = bands.iter().map(|band| format!("{}: {}", band.name, count(band.count))).collect();
        let x = Axis::new("share of the latency", Unit::One, Scale::Linear).in_percent().within(0.0, 1.0);
        let y = Axis::bands("", rows);
        panels.push(Panel { title: format!("{} by latency, with their number", plural(op)), x, y, series });
        if let Some(last) = bands.last() {
            let causes: Vec<String> = last
                .largest(3)
                .into_iter()
                .map(|(cause, ns)| format!("{} {}", cause.name(), percent(ns as f64 / last.sum.max(1) as f64)))
                .collect();
            let slowest = match last.count {
                1 => format!("The slowest {}", plural(op).trim_end_matches('s')),
                n => format!("The {} slowest {}", count(n), plural(op)),
            };
            said.push(format!("{slowest}: {}.", causes.join(", ")));
        }
    }
    let mut figure = figure("tail-causes", title, inputs, panels, table);
    figure.caption = said.join(" ");
    figure.notes.push(
        "Bands are cut at the edges of buckets of three digits (bucket-rounded), so a band may hold a few requests more than its share; bands that share a bucket are one.".into(),
    );
    figure
}
