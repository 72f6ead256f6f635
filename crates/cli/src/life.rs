//! `ssdlab life`: how much a drive takes before it is read-only.

use ssdlab_lab::error::Result;
use ssdlab_lab::layout;
use ssdlab_lab::life::{Drive, LifePlan, Lives, lives, spread_of_end};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::text::{count, percent, plural, size};
use ssdlab_lab::variants::student::mean;

use crate::args::life::LifeArgs;
use crate::progress::Progress;
use crate::{import, output};

/// Unused endurance from which on the text says why.
pub(crate) const UNUSED: f64 = 0.1;

/// Runs the lives and prints.
pub fn life(args: &LifeArgs, line: &str) -> Result<()> {
    let mut sources = args.config.sources()?;
    // What the command is about need not be said.
    sources.sets.insert(0, "life.mode=wear".into());
    let settings = Settings::load(&sources)?;
    let requests = import::requests(sources.imported.as_ref(), &args.input, args.how.quiet)?;
    let plan = LifePlan { scale: args.scale.map(|scale| scale.0), accelerate: args.accelerate, seeds: args.repeat };
    let progress = &mut Progress::new(args.how.quiet);
    let mut drive = lives(&settings, &requests, args.how.how(), plan, &args.outputs(line), progress)?;
    if !args.how.quiet {
        drive.last.outcome.remarks.iter().chain(&drive.last.remarks).for_each(output::remark);
    }
    drive.last.publish()?;
    output::print(&text(&settings, &drive))
}

fn text(settings: &Settings, drive: &Drive) -> String {
    let mut out = String::new();
    let mut facts: Vec<(&str, String)> = Vec::new();
    facts.extend(
        drive
            .last
            .outcome
            .about
            .iter()
            .enumerate()
            .map(|(i, line)| (if i == 0 { "requests" } else { "" }, line.clone())),
    );
    let (all, some) = drive.scaled.planes;
    let blocks = drive.scaled.blocks;
    facts.push((
        "drive",
        format!(
            "{} exported, {} with {} blocks each, {} P/E cycles",
            size(drive.capacity_bytes),
            plural(all, "plane"),
            count(blocks.0),
            count(drive.endurance)
        ),
    ));
    facts.push((
        "simulated",
        format!(
            "1:{}: {} with {} blocks each, over-provisioning {:.4} (of the drive {:.4})",
            drive.scaled.scale,
            plural(some, "plane"),
            count(blocks.1),
            drive.scaled.over_provisioning.1,
            drive.scaled.over_provisioning.0
        ),
    ));
    facts.extend(drive.lives.iter().enumerate().map(|(n, lives)| (if n == 0 { "lives" } else { "" }, of(lives))));
    layout::facts(&mut out, &facts);
    out.push('\n');
    layout::facts(&mut out, &results(settings, drive));
    out.push('\n');
    layout::facts(&mut out, &cautions(settings, drive));
    out
}

fn of(lives: &Lives) -> String {
    let seeds = lives.tbw_bytes.len() as u64;
    let of_seeds = if seeds > 1 { format!(", mean of {}", plural(seeds, "seed")) } else { String::new() };
    format!("K = {}: TBW {}{of_seeds}", lives.accelerate, size(mean(&lives.tbw_bytes) as u64))
}

fn results(settings: &Settings, drive: &Drive) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let tbw = drive.tbw_bytes();
    let error = drive.difference().map_or(String::new(), |bytes| {
        format!(" ± {} (the difference of K and K / 2, {})", size(bytes as u64), percent(bytes / tbw))
    });
    let chance = drive.half_width().map_or(String::new(), |half| format!(" ± {} (95 % over seeds)", size(half as u64)));
    facts.push(("TBW", format!("{}{error}{chance}", size(tbw as u64))));
    let capacity = drive.capacity_bytes as f64;
    let dwpd = settings.config.life.dwpd_years.iter().map(|years| {
        format!("{:.2} over {}", tbw / (capacity * 365.0 * f64::from(*years)), plural(u64::from(*years), "year"))
    });
    facts.push(("DWPD", dwpd.collect::<Vec<_>>().join(", ")));
    facts.push(("full writes", format!("{:.0} of the drive", tbw / capacity)));
    match (drive.years(), drive.host_bytes_per_s) {
        (Some(years), Some(rate)) => {
            facts.push(("at its rate", format!("{years:.1} years: its requests write {:.1} MB/s", rate / 1e6)));
        }
        _ => facts.push(("at its rate", "- (a closed loop has no rate of its own)".into())),
    }
    let Some(report) = drive.report() else { return facts };
    let tenths: Vec<String> =
        report.write_amplification_by_tenth.iter().map(|of| of.map_or("-".into(), |of| format!("{of:.3}"))).collect();
    facts.push(("amplification", format!("{} by tenth of the life", tenths.join(" "))));
    if let Some(first) = report.first_failure_host_bytes {
        facts.push(("first failure", format!("at {} of the life", percent(first as f64 / report.tbw_bytes as f64))));
    }
    let (erase, program) = (report.retired.erase, report.retired.program);
    facts.push(("failed", format!("{} by an erase, {} by a program", plural(erase, "block"), count(program))));
    facts.push(("endurance", format!("{} of all blocks used", percent(report.used_endurance))));
    facts.extend(unused(report.used_endurance).map(|text| ("", text)));
    facts
}

/// Why much endurance is left, if it is.
pub(crate) fn unused(used: f64) -> Option<String> {
    (used < 1.0 - UNUSED).then(|| {
        format!(
            "{} is left in blocks that are stronger (life.spread) or were erased less often: ftl.wear_levelling = \"dynamic\" or \"static\" spreads erases",
            percent(1.0 - used)
        )
    })
}

fn cautions(settings: &Settings, drive: &Drive) -> Vec<(&'static str, String)> {
    let life = &settings.config.life;
    let (all, some) = drive.scaled.planes;
    let spares = (u64::from(settings.config.spare_blocks()) * u64::from(drive.scaled.blocks.1)
        / u64::from(drive.scaled.blocks.0))
    .max(1) as u32;
    let (deviation, _) = spread_of_end(life.spread.as_f64(), spares, drive.scaled.blocks.1, 1);
    let mut facts = vec![(
        "scaling",
        format!(
            "by chance a life of one plane differs by {} (standard deviation, order statistics)",
            percent(deviation)
        ),
    )];
    if all > some {
        let (of_drive, planes) =
            spread_of_end(life.spread.as_f64(), settings.config.spare_blocks(), drive.scaled.blocks.0, all);
        facts.push(("", format!(
            "the drive ends with the worst of its {}: about {planes:.1} standard deviations of {}, {} earlier; not corrected",
            plural(all, "plane"), percent(of_drive), percent(planes * of_drive)
        )));
    }
    if drive.scaled.blocks.0 > drive.scaled.blocks.1 {
        facts.push((
            "",
            "over-provisioning is larger, so that the same share of pages is in play beside reserve and threshold"
                .into(),
        ));
    }
    facts
        .push(("", "offsets of requests are those for the smaller device: a generated workload scales with it".into()));
    facts
}
