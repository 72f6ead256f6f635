//! The verdict: at most three sentences.

use ssdlab_lab::text::{count, duration, percent, plural};

use crate::at::At;
use crate::method::{Blamed, Findings};
use crate::tries::Tried;
use crate::watch::Known;

/// What the findings and the tries say together.
pub fn verdict(findings: &Findings, known: Option<&Known>, tried: &[Tried]) -> String {
    let mut said = Vec::new();
    if let Some(overload) = known.and_then(|known| known.overload) {
        said.push(format!(
            "The device is overloaded: arrivals ask for {:.2} times what its {} can serve, so latency grows with the length of the run",
            overload.factor,
            overload.resource.words()
        ));
    } else if findings.whole_excess_ns() > 0 {
        // Requests that take no longer than others show no reason to.
        said.extend(shape(findings, known));
    }
    said.push(excess(findings));
    said.extend(help(findings, tried));
    said.iter().map(|sentence| format!("{sentence}.")).collect::<Vec<_>>().join(" ")
}

fn shape(findings: &Findings, known: Option<&Known>) -> Option<String> {
    let pattern = findings.patterns.iter().find(|pattern| pattern.count.is_some_and(|count| count > 0))?;
    let (shown, all) = (pattern.count.unwrap_or(0), findings.tail.count);
    let (says, name, about) = (pattern.says(known), &pattern.name, pattern.about(known));
    Some(match (shown, all) {
        (1, 1) => format!("The request shows {name}: {about}"),
        _ if shown == all => format!("All {} requests {says}", count(all)),
        _ => format!("{} of the {} requests {says}", count(shown), count(all)),
    })
}

/// The causes of most of the excess.
fn excess(findings: &Findings) -> String {
    let mut shares = 0.0;
    let mut names = Vec::new();
    for one in findings.causes.iter().filter(|one| findings.has_part(one, 100)).take(3) {
        if shares >= 0.9 {
            break;
        }
        shares += findings.share(one).unwrap_or(0.0);
        names.push(format!("{} ({})", one.cause.name(), one.cause.meaning()));
    }
    let middle = findings.middle.mean().map_or("-".into(), |ns| duration(ns as f64));
    let who = match (findings.at, findings.tail.count) {
        (_, 1) => "It takes".into(),
        (At::Time(_), all) => format!("These {} take", plural(all, "request")),
        (_, all) => format!("The slowest {} take", count(all)),
    };
    let mean = findings.tail.mean().map_or("-".into(), |ns| duration(ns as f64));
    if names.is_empty() {
        return format!("{who} {mean}, no longer than the middle, which takes {middle}");
    }
    let last = names.pop().unwrap_or_default();
    let list = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    let average = if findings.tail.count == 1 { "" } else { " on average" };
    // More than all of it is said together with what is taken off.
    let mut less: Vec<&Blamed> = if shares >= 1.0005 { findings.relieved().take(2).collect() } else { Vec::new() };
    if shares >= 1.0005 && less.is_empty() {
        less.extend(findings.causes.last());
    }
    let less = less.iter().map(|one| {
        let share = percent(-findings.share(one).unwrap_or(0.0));
        format!("{share} for {} ({})", one.cause.name(), one.cause.meaning())
    });
    let less = less.collect::<Vec<_>>().join(" and ");
    let less = if less.is_empty() { less } else { format!(", less {less}, of which the middle has more") };
    format!("{who} {mean}{average}, the middle {middle}; {} of the difference is {list}{less}", percent(shares))
}

/// The change that helps most.
fn help(findings: &Findings, tried: &[Tried]) -> Option<String> {
    let base = findings.value?;
    let best = tried.first()?;
    let value = best.value?;
    if value >= base {
        return Some(match tried.len() {
            1 => "The change that was tried does not lower it".into(),
            many => format!("None of the {many} changes that were tried lowers it"),
        });
    }
    let change = percent(value as f64 / base as f64 - 1.0);
    let about = best.about.map_or(String::new(), |about| format!(" ({about})"));
    let (line, value) = (best.line(), duration(value as f64));
    Some(match tried.len() {
        1 => format!("With {line}{about} it is {value} ({change})"),
        many => format!("Of {} tried, {line}{about} helps most: {value} ({change})", plural(many as u64, "change")),
    })
}
