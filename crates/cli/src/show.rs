//! Listings: configurations, presets, schemes, workloads.

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_lab::needs;
use ssdlab_lab::presets;
use ssdlab_lab::settings::Settings;
use ssdlab_lab::text::{count, percent, percent_exact, size};
use ssdlab_lab::theory::Outlook;
use ssdlab_lab::tree::json;
use ssdlab_sim::schemes::{self, SchemeInfo};
use ssdlab_sweep::schema::File;
use ssdlab_trace::workload;

use crate::args::ConfigCommand;
use crate::output::print;
use ssdlab_lab::layout::{facts, width, wrap};

/// `ssdlab config`
pub fn config(command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Show(args) => print(&Settings::load(&args.sources()?)?.show()),
        ConfigCommand::Check(args) => {
            let settings = Settings::load(&args.sources()?)?;
            print(&outlook(&settings))
        }
        ConfigCommand::Reference => print(&crate::reference::markdown()),
        ConfigCommand::Schema { kind } => {
            let file: File = kind.parse().map_err(Error::usage)?;
            print(&json(&file.schema()))
        }
    }
}

/// What to expect of a valid configuration.
fn outlook(settings: &Settings) -> String {
    let config = &settings.config;
    let outlook = Outlook::new(config, false);
    let g = &config.geometry;
    let raw = outlook.planes * outlook.pages_per_plane * g.page_size.0;
    let starts = match outlook.programs_before_gc {
        0 => "from the first host program on".into(),
        n => {
            let all = size((outlook.planes * n).saturating_mul(g.page_size.0));
            format!("first at host program {} of a plane, after {all} written evenly to all planes", count(n))
        }
    };
    let mut lines = vec![
        ("valid", format!("config digest {}", settings.digest())),
        (
            "device",
            format!("{} raw in {} planes, {} exported", size(raw), outlook.planes, size(config.capacity_bytes())),
        ),
        (
            "GC",
            format!(
                "when fewer than {} of the {} pages of a plane are free: {starts}",
                count(outlook.kept_free),
                count(outlook.pages_per_plane),
            ),
        ),
        (
            "effective spare",
            format!(
                "{} of the usable pages: over-provisioning of {} minus the pages that GC keeps free",
                percent(outlook.effective_spare),
                percent_exact(config.device.over_provisioning.as_f64())
            ),
        ),
    ];
    lines.push((
        "write amplification",
        match outlook.write_amplification {
            Some(value) => {
                format!("about {value:.2} by theory, for uniform random writes of whole pages in steady state")
            }
            None => format!("no formula for schemes.victim = {}", config.schemes.victim.name()),
        },
    ));
    let memory = outlook.memory;
    let schemes =
        if memory.schemes == 0 { String::new() } else { format!(", including {} for schemes", size(memory.schemes)) };
    lines.push(("memory", format!("about {}{schemes}", size(memory.total()))));
    let mut out = String::new();
    facts(&mut out, &lines);
    out
}

/// `ssdlab presets`
pub fn presets(name: Option<&str>) -> Result<()> {
    match name {
        Some(name) => print(presets::find(name)?.text),
        None => {
            let width = 2 + presets::ALL.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
            let lines = presets::ALL.iter().map(|preset| format!("{:<width$}{}\n", preset.name, preset.title()));
            print(&lines.collect::<String>())
        }
    }
}

/// The first sentence of a manual page.
fn first_sentence(manual: &str) -> String {
    let paragraph: Vec<&str> = manual.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    paragraph.join(" ")
}

/// `ssdlab schemes`
pub fn schemes(name: Option<&str>) -> Result<()> {
    let all = schemes::all();
    let Some(name) = name else {
        let mut out = String::new();
        let mut slot = "";
        for scheme in &all {
            if scheme.slot != slot {
                let gap = if slot.is_empty() { "" } else { "\n" };
                slot = scheme.slot;
                out.push_str(&format!("{gap}{slot}\n"));
            }
            let mut name = scheme.name;
            for line in wrap(&first_sentence(scheme.manual), width() - 16) {
                out.push_str(&format!("  {name:<14}{line}\n"));
                name = "";
            }
        }
        return print(&out);
    };
    let short = |slot: &'static str| slot.rsplit('.').next().unwrap_or(slot);
    let chosen: Vec<&SchemeInfo> = all
        .iter()
        .filter(|s| {
            s.name == name || s.slot == name || short(s.slot) == name || format!("{}.{}", short(s.slot), s.name) == name
        })
        .collect();
    if chosen.is_empty() {
        let help = suggest(name, all.iter().map(|s| s.name), "The schemes are");
        return Err(Error::usage(format!("no scheme is called `{}`", clip(name))).help(help));
    }
    let mut out = String::new();
    for (i, scheme) in chosen.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        out.push_str(&format!("{gap}{} = \"{}\"\n\n", scheme.slot, scheme.name));
        for line in scheme.manual.lines() {
            out.push_str(format!("  {}", line.trim()).trim_end());
            out.push('\n');
        }
        requirements(&mut out, scheme);
    }
    print(&out)
}

/// Knobs with their defaults, and the rules of the configuration that a scheme meets.
fn requirements(out: &mut String, scheme: &SchemeInfo) {
    let mut section = |title: &str, lines: &[(String, Vec<String>)]| {
        if lines.is_empty() {
            return;
        }
        out.push_str(&format!("\n  {title}\n"));
        for (what, texts) in lines {
            out.push_str(&format!("    {what}\n"));
            for line in texts.iter().flat_map(|text| wrap(text, width() - 8)) {
                out.push_str(format!("        {line}").trim_end());
                out.push('\n');
            }
        }
    };
    let described = |knob: needs::Knob| {
        let range = knob.range;
        (format!("{} = {}", knob.name, knob.default), vec![knob.meaning, format!("Takes {range}.")])
    };
    let knobs: Vec<(String, Vec<String>)> = needs::knobs(scheme).into_iter().map(described).collect();
    section("Knobs with defaults and ranges:", &knobs);
    let needs::Needs { needs, refuses } = needs::of(scheme);
    let one = |(what, rule): (String, String)| (what, vec![rule]);
    section("Required changes to the built-in device:", &needs.into_iter().map(one).collect::<Vec<_>>());
    section("Refused with:", &refuses.into_iter().map(one).collect::<Vec<_>>());
}

/// `ssdlab workloads`
pub fn workloads(name: Option<&str>) -> Result<()> {
    let Some(name) = name else {
        let lines = workload::all().iter().map(|w| {
            let mut name = w.name;
            let lines = wrap(&w.spec.description, width() - 18).into_iter();
            lines.map(|line| format!("{:<18}{line}\n", std::mem::take(&mut name))).collect::<String>()
        });
        return print(&lines.collect::<String>());
    };
    match workload::named(name) {
        Some(workload) => print(workload.text),
        None => Err(ssdlab_lab::input::find_workload(name)
            .err()
            .unwrap_or_else(|| Error::usage("that is a file, not a name"))),
    }
}
