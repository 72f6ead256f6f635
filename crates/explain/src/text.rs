//! The findings as lines of text.

use ssdlab_lab::layout::{width, wrap};
use ssdlab_lab::readers::words;
use ssdlab_lab::text::{clock, count, duration, percent};
use ssdlab_sim::blame::Cause;

use crate::at::At;
use crate::explanation::Explained;
use crate::method::Findings;
use crate::patterns::Pattern;
use crate::records::{Reason, Record};
use crate::tries::Tried;
use crate::watch::Known;

/// Columns of the labels.
const INDENT: usize = 21;
/// Causes below one of so many parts of the excess are not shown.
const SHOWN: i128 = 10_000;
/// A cause with one of so many parts of the excess names its pattern even where no request shows it.
const NAMED: i128 = 100;

/// All lines; at most `top` causes.
pub fn text(explained: &Explained, top: usize) -> String {
    let (findings, known) = (&explained.findings, explained.known.as_ref());
    let mut lines: Vec<(String, String)> = Vec::new();
    if let Some(overload) = known.and_then(|known| known.overload) {
        let (factor, what) = (overload.factor, overload.resource.words());
        let text = format!("arrivals ask for {factor:.2} times what the {what} can serve; everything below is moot");
        lines.push(("overload".into(), text));
    }
    lines.push(head(findings));
    lines.push(("excess by cause".into(), excess(findings, top)));
    lines.push(("patterns".into(), shown(findings, known)));
    if let Some(slowest) = findings.slowest.first() {
        lines.push(("slowest".into(), slow(slowest, known)));
    }
    let factors = known.and_then(|known| known.amplification.clone());
    lines.extend(factors.map(|factors| ("write amplification".into(), factors)));
    let base = findings.value;
    for (i, line) in tried(&explained.tried, base).into_iter().enumerate() {
        let label = ["what would help", "(whole runs)"].get(i).copied().unwrap_or_default();
        lines.push((label.into(), line));
    }
    for (i, refused) in explained.refused.iter().enumerate() {
        let label = if i == 0 { "refused" } else { "" };
        lines.push((label.into(), format!("{}: {}", ssdlab_lab::settings::assignment(&refused.set), refused.rule)));
    }
    let mut label = "verdict";
    for line in wrap(&explained.verdict, width() - INDENT) {
        lines.push((std::mem::take(&mut label).into(), line));
    }
    lines.iter().map(|(label, text)| format!("{label:<INDENT$}{text}\n")).collect()
}

fn time(ns: Option<u64>) -> String {
    ns.map_or("-".into(), |ns| duration(ns as f64))
}

fn head(findings: &Findings) -> (String, String) {
    let (kind, all) = (findings.kind.plural(), count(findings.requests));
    let middle = format!("the middle of all {kind} takes {}", time(findings.middle.mean()));
    let value = time(findings.value);
    match findings.at {
        At::Tail(of, rank) => {
            let slowest = match findings.tail.count {
                1 => "the slowest".into(),
                some => format!("the {} slowest", count(some)),
            };
            let text = format!("{value}: {slowest} of {all} {kind}, from {} on; {middle}", time(findings.threshold));
            (format!("{} {}", of.name(), rank.name()), text)
        }
        At::Request(number) => {
            let arrival = findings.slowest.first().map_or(0, |record| record.arrival);
            let text = format!("{value}: a {} that arrived at {}; {middle}", findings.kind.name(), clock(arrival));
            (format!("request {number}"), text)
        }
        At::Time(_) => {
            let which = format!("the {} of {all} {kind} that arrived in it", count(findings.tail.count));
            (findings.at.to_string().replacen(':', " ", 1), format!("{value} on average: {which}; {middle}"))
        }
    }
}

fn excess(findings: &Findings, top: usize) -> String {
    let shares = findings.causes.iter().filter(|one| findings.has_part(one, SHOWN)).take(top);
    let mut parts: Vec<String> =
        shares.filter_map(|one| Some(format!("{} {}", one.cause.name(), percent(findings.share(one)?)))).collect();
    let whole = findings.whole_excess_ns();
    if whole <= 0 {
        return "none: these requests take no longer than the middle".into();
    }
    // What the middle has more of; without it, the shares above would sum to more than all.
    let relieved = findings.relieved().take(top).filter_map(|one| Some((one.cause.name(), findings.share(one)?)));
    parts.extend(relieved.map(|(name, share)| format!("{name} {}", percent(share))));
    parts.push(format!("(of {})", duration(whole as f64)));
    parts.join("   ")
}

fn shown(findings: &Findings, known: Option<&Known>) -> String {
    let tail = findings.tail.count;
    let mut parts = Vec::new();
    let mut explained: Vec<Reason> = Vec::new();
    let label = |pattern: &Pattern| {
        let (name, about) = (&pattern.name, pattern.about(known));
        if about.starts_with("over half") { format!("{name} {about}") } else { format!("{name} ({about})") }
    };
    for pattern in &findings.patterns {
        if let Some(some) = pattern.count.filter(|count| *count > 0) {
            parts.push(format!("{}: {} of {}", label(pattern), count(some), count(tail)));
            explained.extend(pattern.of().reasons());
        }
    }
    // A cause that matters and that no pattern explains.
    for pattern in findings.patterns.iter().filter(|pattern| pattern.count == Some(0)) {
        let matters = |cause: &Reason| {
            let large = findings.causes.iter().any(|one| one.cause == *cause && findings.has_part(one, NAMED));
            large && !explained.contains(cause)
        };
        if pattern.of().reasons().any(|cause| matters(&cause)) {
            parts.push(format!("{}: 0", label(pattern)));
        }
    }
    if known.is_none() {
        let unknown = findings.patterns.iter().filter(|pattern| pattern.count.is_none());
        let names: Vec<&str> = unknown.map(|pattern| pattern.name.as_str()).collect();
        parts.push(format!("not known from rows: {}", names.join(", ")));
    }
    if parts.is_empty() { "none".into() } else { parts.join(";  ") }
}

/// Who made a request wait.
fn culprit(cause: Reason, after_gc: bool, planes: Option<u32>) -> String {
    let Reason::Usual(cause) = cause else { return cause.meaning().into() };
    match (cause, after_gc) {
        (Cause::DieGcOwn, false) => "own plane's GC".into(),
        (Cause::DieGcOwn, true) => "the own plane's".into(),
        (Cause::DieGcOther, _) => {
            let whose = if planes == Some(2) { "the other plane's" } else { "another plane's" };
            if after_gc { whose.into() } else { format!("{whose} GC") }
        }
        _ => words::meaning(cause).into(),
    }
}

fn slow(record: &Record, known: Option<&Known>) -> String {
    let is_gc = |cause: Reason| matches!(cause, Reason::Usual(Cause::DieGcOwn | Cause::DieGcOther));
    let mut causes: Vec<(Reason, u64)> = Reason::all().map(|cause| (cause, record.of_reason(cause))).collect();
    causes.retain(|(_, ns)| *ns > 0 && u128::from(*ns) * 100 >= u128::from(record.latency));
    causes.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    // Other waits would stand between GC and its collections.
    causes.truncate(if causes.len() > 1 && is_gc(causes[0].0) && !is_gc(causes[1].0) { 1 } else { 2 });
    let planes = known.map(|known| known.geometry.planes_per_unit);
    let mut said = Vec::new();
    for (i, (cause, ns)) in causes.iter().enumerate() {
        let after_gc = i > 0 && is_gc(causes[i - 1].0) && is_gc(*cause);
        said.push(format!("{} {}", duration(*ns as f64), culprit(*cause, after_gc, planes)));
    }
    let (arrival, latency) = (clock(record.arrival), duration(record.latency as f64));
    let mut text = format!("request {} at {arrival}, {latency}", record.request);
    if !said.is_empty() {
        text += &format!(": {}", said.join(", "));
    }
    let met = known.map_or(&[][..], |known| known.met_by(record));
    if causes.iter().any(|(cause, _)| is_gc(*cause)) && !met.is_empty() {
        // What a collection of this run takes, as in its summary.
        let mean = known.and_then(Known::mean_collection).map_or("-".into(), duration);
        text += &match met.len() {
            1 => format!(": one collection ({})", duration((met[0].end - met[0].start) as f64)),
            2 => format!(": two collections in a row ({mean} each)"),
            many => format!(": {} collections ({mean} each)", count(many as u64)),
        };
    }
    text
}

/// A value and its unit, split at the decimal point: points stand below each other.
fn split(value: &str) -> (&str, &str) {
    value.split_at(value.find('.').or(value.find(' ')).unwrap_or(value.len()))
}

fn tried(tried: &[Tried], base: Option<u64>) -> Vec<String> {
    let name = |one: &Tried| one.about.map_or(one.line(), |about| format!("{} ({about})", one.line()));
    let rows: Vec<[String; 5]> = tried
        .iter()
        .map(|one| {
            let value = time(one.value);
            let (whole, rest) = split(&value);
            let ratio =
                one.value.zip(base).filter(|(_, base)| *base > 0).map_or("-".into(), |(value, base)| {
                    format!("{:+.1} %", (value as f64 / base as f64 - 1.0) * 100.0)
                });
            let amplification = one.write_amplification_bytes.map_or("-".into(), |factor| format!("{factor:.3}"));
            let note = one.note.map_or(String::new(), |note| format!("  ({note})"));
            [name(one), whole.into(), rest.into(), ratio, format!("WA {amplification}{note}")]
        })
        .collect();
    let widest = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(widest);
    rows.iter()
        .map(|[name, whole, rest, ratio, tail]| {
            let [a, b, c, d] = widths;
            format!("{name:<a$}   {whole:>b$}{rest:<c$}  {ratio:>d$}   {tail}")
        })
        .collect()
}
