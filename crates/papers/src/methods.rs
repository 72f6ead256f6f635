//! `--methods`: how a paper is reproduced, as text for an artifact's appendix.

use ssdlab_lab::error::Result;
use ssdlab_lab::presets;
use ssdlab_lab::text::count;

use crate::Wanted;
use crate::assumption::Reading;
use crate::chapter::{limit, seeds};
use crate::load::Load;
use crate::paper::{Paper, Under};
use ssdlab_lab::layout::{WIDTH, wrap};

/// A key of a preset that the paper does not state, with its value and the reason.
struct Chosen {
    key: String,
    value: String,
    why: String,
}

/// The keys of a preset whose comments say that they are chosen.
fn chosen(preset: &str) -> Vec<Chosen> {
    let mut section = "";
    let mut found = Vec::new();
    for line in preset.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let Some((setting, comment)) = line.split_once('#') else { continue };
        let why = comment.split_once("chosen:").map(|(_, why)| why.trim());
        if let (Some((key, value)), Some(why)) = (setting.split_once('='), why) {
            let (key, value) = (format!("{section}.{}", key.trim()), value.trim().to_string());
            found.push(Chosen { key, value, why: why.trim_end_matches([',', ';']).into() });
        }
    }
    found
}

/// What a paper states of its device is in the preset; this is what it leaves open.
fn open(paper: &Paper) -> Result<String> {
    let chosen = chosen(presets::find(paper.name)?.text);
    let one = |Chosen { key, value, why }: &Chosen| format!("{key} = {value} ({why})");
    Ok(chosen.iter().map(one).collect::<Vec<_>>().join("; "))
}

fn paragraph(paper: &Paper, wanted: &Wanted) -> Result<String> {
    let schemes: Vec<String> =
        paper.schemes.iter().map(|scheme| format!("{} ({})", scheme.name, scheme.sets.join(", "))).collect();
    let requests = match &wanted.traces {
        Some(_) => "recordings where there are some, else models of the published characteristics of the traces",
        None => "models of the published characteristics of the traces, not recordings",
    };
    let scaled = match wanted.quick {
        true if !paper.quick.is_empty() => format!(" with {}", paper.quick.join(", ")),
        _ => String::new(),
    };
    let under: Vec<String> = (paper.under.iter())
        .map(|Under { ids, assumption: one }| {
            format!("{} with {}: {} ({})", ids.join(", "), one.knob, one.value, one.settings())
        })
        .collect();
    let under = if under.is_empty() { String::new() } else { format!(" Other settings: {}.", under.join("; ")) };
    let load = |load: &Load| {
        let of = if load.ids.is_empty() { String::new() } else { format!(" for {}", load.ids.join(", ")) };
        format!(
            " The arrival times of each workload are multiplied by the factor with which it has {}{of}, measured with {}.",
            load.source, load.scheme
        )
    };
    let load: String = match paper.loads {
        Ok(loads) if wanted.load => loads.iter().map(load).collect(),
        _ => String::new(),
    };
    Ok(format!(
        "We reproduced {} with ssdlab {} (trace-driven, event-driven, exact to the nanosecond). The device is its preset `{}`{scaled}. The schemes, as settings over it: {}. The workloads ({}) are {requests}; a run serves at most {} requests, of which the first half is a warm-up, and each row {}.{load}{under} Effects are compared with the paper's: they agree with the same sign and half to twice the size, and only if both halves of each run have the same write amplification within 5 %. Not stated by the paper, and chosen: {}. `ssdlab reproduce {} --assumptions` repeats all under {} other assumptions, and `--readings all` under {} sets of them: {}. The same version, settings and seeds give the same bytes.",
        paper.title,
        env!("CARGO_PKG_VERSION"),
        paper.name,
        schemes.join("; "),
        paper.workloads.join(", "),
        count(limit(paper, wanted)),
        match seeds(wanted) {
            1 => format!("is of seed {}", wanted.seed),
            n => format!("is the mean over {n} seeds from {} on, with the 95 % interval of Student's t", wanted.seed),
        },
        open(paper)?,
        paper.letter,
        paper.assumptions.len(),
        paper.readings.len(),
        paper.readings.iter().map(Reading::name).collect::<Vec<_>>().join(", "),
    ))
}

pub(crate) fn text(papers: &[&Paper], wanted: &Wanted) -> Result<String> {
    let paragraphs: Result<Vec<String>> =
        papers.iter().map(|paper| Ok(wrap(&paragraph(paper, wanted)?, WIDTH).join("\n") + "\n")).collect();
    Ok(paragraphs?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_chosen_are_told_with_the_reason() {
        let keys: Vec<String> = chosen(presets::find("brr").unwrap().text).into_iter().map(|one| one.key).collect();
        assert!(keys.contains(&"order.chip_queue".to_string()) && keys.contains(&"timing.transfer".to_string()));
        assert!(!keys.contains(&"timing.read".to_string()), "{keys:?}");
    }
}
