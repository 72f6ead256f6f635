//! A timeline of a tiny run as lines of text.

use std::fmt::Write;

use ssdlab_lab::results::requests::op;
use ssdlab_lab::results::timeline::Chart;
use ssdlab_lab::text::duration;
use ssdlab_lab::theory::planes;
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{LegRecord, Resource};

/// Columns of the bars.
const BARS: usize = 72;

/// One line per active request, bus and plane.
pub fn draw(mut chart: Chart) -> String {
    let mut out = String::new();
    let start = chart.requests.iter().map(|r| r.arrival).chain(chart.legs.iter().map(|l| l.start)).min();
    let end = chart.requests.iter().map(|r| r.completion).chain(chart.legs.iter().map(|l| l.end)).max();
    let (Some(start), Some(end)) = (start, end) else { return "timeline: nothing happened in this window\n".into() };
    // A whole number of nanoseconds a column, a round one if it can be.
    let least = (end.0 - start.0).div_ceil(BARS as u64).max(1);
    let power = 10u64.pow(least.ilog10());
    let column = [1, 2, 4, 5, 8, 10].iter().map(|n| n * power).find(|n| *n >= least).unwrap_or(least);
    let bar = |marks: &[(Nanos, Nanos, char)]| {
        let mut text = String::new();
        for i in 0..BARS as u64 {
            let from = start.0 + i * column;
            // The activity that fills most of the column; the earlier one of equals.
            let mut best = (0, ' ');
            for (a, b, mark) in marks {
                let share = b.0.min(from + column).saturating_sub(a.0.max(from));
                if share > best.0 {
                    best = (share, *mark);
                }
            }
            text.push(best.1);
        }
        text.trim_end().to_string()
    };
    let _ = writeln!(out, "timeline from {}, one column is {}", duration(start.0 as f64), duration(column as f64));
    let _ =
        writeln!(out, "host: R read, P program, = transfer; GC: r read, p program, c copyback, e erase, - transfer");
    let _ = writeln!(out, "requests: . waiting for first service, # from first service to completion");
    chart.requests.sort_by_key(|request| request.request);
    for request in &chart.requests {
        let start = request.start.unwrap_or(request.completion);
        let marks = [(request.arrival, start, '.'), (start, request.completion, '#')];
        let name = format!("{} {}", op(request.op), request.request);
        let _ = writeln!(out, "{name:<14}|{}", bar(&marks));
    }
    let mut row = |name: String, wanted: &dyn Fn(&LegRecord) -> bool| {
        let marks: Vec<_> =
            chart.legs.iter().filter(|leg| wanted(leg)).map(|leg| (leg.start, leg.end, mark(leg))).collect();
        if !marks.is_empty() {
            let _ = writeln!(out, "{name:<14}|{}", bar(&marks));
        }
    };
    row("host link in".into(), &|leg| leg.resource == Resource::HostLink(true));
    row("host link out".into(), &|leg| leg.resource == Resource::HostLink(false));
    for channel in 0..chart.geometry.channels {
        row(format!("channel {channel}"), &|leg| leg.resource == Resource::Channel(channel));
    }
    for channel in 0..chart.geometry.channels {
        row(format!("port {channel}"), &|leg| leg.resource == Resource::Port(channel));
    }
    for plane in 0..planes(&chart.geometry) as u32 {
        row(format!("plane {plane}"), &|leg| {
            leg.resource == Resource::Planes && leg.planes().any(|other| other.0 == plane)
        });
    }
    out
}

fn mark(leg: &LegRecord) -> char {
    let (host, gc) = match (leg.kind, leg.verb) {
        (LegKind::Bus | LegKind::Noc, _) => ('=', '-'),
        (_, Verb::Read) => ('R', 'r'),
        (_, Verb::Program) => ('P', 'p'),
        (_, Verb::Copyback) => ('C', 'c'),
        (_, Verb::Erase) => ('E', 'e'),
    };
    if leg.class == Class::Host { host } else { gc }
}
