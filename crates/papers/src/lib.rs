//! Papers' tables and figures, their numbers next to ours.
//!
//! A paper is data ([`file`]): its schemes, tables, printed numbers and runs ([`paper`]). A source a paper finds our numbers. A [`chapter`] runs what the tables need, in
//! one sweep, and fills in our numbers: parameters come from the preset, exact values from arithmetic or small runs, measured
//! ones from runs of the workload models (or of recordings, with `--traces`). Rules judge them ([`row`]).

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

mod a;
mod assumption;
mod b;
mod bench;
mod c;
mod chapter;
mod d;
mod data;
mod e;
mod file;
mod fits;
mod load;
mod methods;
mod over_time;
mod paper;
mod print;
mod results;
mod row;
mod searches;
mod source;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::find_workload;
use ssdlab_lab::names::{clip, nearest};
use ssdlab_lab::results::sheet::Frame;
use ssdlab_lab::variants::points;

use crate::assumption::Reading;
use crate::chapter::{Chapter, chapter};
use crate::paper::{Item, Paper};

fn papers() -> [&'static Paper; 5] {
    static PAPERS: OnceLock<[Paper; 5]> = OnceLock::new();
    PAPERS.get_or_init(|| [&a::CODE, &b::CODE, &c::CODE, &d::CODE, &e::CODE].map(file::paper)).each_ref()
}

/// What is reproduced, and how.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// A paper by letter or name, or `all`.
    pub paper: String,
    /// Its tables and figures; all of them if none is named.
    pub ids: Vec<String>,
    /// Whether on a smaller device and with fewer requests.
    pub quick: bool,
    /// Directory of recordings to run in place of their models.
    pub traces: Option<PathBuf>,
    /// Formats of the recordings, or `NAME=FMT` for one of them.
    pub format: Vec<String>,
    /// Most requests of each workload.
    pub limit: Option<u64>,
    /// Whether everything also runs under each of the paper's open assumptions.
    pub assumptions: bool,
    /// Readings under which everything also runs, by name, or `all`.
    pub readings: Vec<String>,
    /// Whether arrivals are calibrated to the load that the paper prints.
    pub load: bool,
    /// Seeds of each run; by default 5, or 1 if quick or under assumptions.
    pub seeds: Option<u64>,
    /// The first seed.
    pub seed: u64,
    /// How runs are simulated.
    pub plan: points::Plan,
}

/// How it is run, as text for the appendix of a paper.
///
/// # Errors
/// A paper is unknown, or has no load though one is wanted.
pub fn methods(wanted: &Wanted) -> Result<String> {
    let chosen = choose(&wanted.paper)?;
    has_load(&chosen, wanted)?;
    methods::text(&chosen, wanted)
}

/// Makes the board for a number of runs.
pub type Boards<'b> = dyn Fn(usize) -> Box<dyn points::Board + 'b> + 'b;

/// Papers with our numbers.
pub struct Reproduction {
    wanted: Wanted,
    chapters: Vec<Chapter>,
}

impl Reproduction {
    /// Runs what the tables and figures need.
    ///
    /// # Errors
    /// A paper, a figure or a recording is unknown, or a run fails.
    pub fn run(wanted: &Wanted, boards: &Boards) -> Result<Reproduction> {
        known_recordings(&wanted.format)?;
        let chosen = choose(&wanted.paper)?;
        has_load(&chosen, wanted)?;
        known_readings(&chosen, wanted)?;
        let mut chapters = Vec::new();
        for paper in chosen {
            let items = pick(paper, &wanted.ids)?;
            chapters.push(chapter(paper, items, wanted, boards)?);
        }
        Ok(Reproduction { wanted: wanted.clone(), chapters })
    }

    /// Remarks on the runs.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.chapters.iter().flat_map(|chapter| &chapter.remarks)
    }

    /// As JSON.
    pub fn json(&self) -> String {
        print::json(&self.chapters, &self.wanted)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        print::markdown(&self.chapters, &self.wanted)
    }

    /// Fits of arrivals to printed levels, as the file in which they are kept beside the papers.
    ///
    /// # Errors
    /// None in practice: they are plain data.
    pub fn fits(&self) -> Result<String> {
        fits::text(self.chapters.iter().flat_map(|chapter| &chapter.fits))
    }

    /// As CSV; under assumptions or readings, the claims under each.
    pub fn csv(&self) -> String {
        if self.wanted.assumptions || !self.wanted.readings.is_empty() {
            searches::csv(&self.chapters)
        } else {
            print::csv(&self.chapters)
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        print::text(&self.chapters, &self.wanted)
    }

    /// One row per value of the papers.
    ///
    /// # Errors
    /// None in practice: rows in memory can be written.
    pub fn rows(&self) -> Result<Frame> {
        print::rows(&self.chapters)
    }

    /// By kind of value: how many have which verdict.
    pub fn verdicts(&self) -> Vec<(&'static str, Vec<(&'static str, usize)>)> {
        print::verdicts(self.chapters.iter())
    }
}

fn choose(name: &str) -> Result<Vec<&'static Paper>> {
    let wanted = name.to_lowercase();
    if wanted == "all" {
        return Ok(papers().to_vec());
    }
    match papers().into_iter().find(|paper| paper.letter == wanted || paper.name == wanted) {
        Some(paper) => Ok(vec![paper]),
        None => {
            let list = papers().map(|paper| format!("{} ({})", paper.letter.to_uppercase(), paper.name)).join(", ");
            let meant = nearest(&wanted, papers().map(|paper| paper.name));
            let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
            Err(Error::usage(format!("no paper is called `{}`", clip(name)))
                .help(format!("{meant}The papers are {list}; `all` takes all of them")))
        }
    }
}

/// `--load` for a paper alone would do nothing if that prints no load.
fn has_load(chosen: &[&'static Paper], wanted: &Wanted) -> Result<()> {
    match chosen {
        [Paper { loads: Err(why), letter, .. }] if wanted.load => Err(Error::usage(format!(
            "--load: paper {} has nothing to calibrate arrivals to: {why}",
            letter.to_uppercase()
        ))
        .help("leave it out, or try rates with --assumptions")),
        _ => Ok(()),
    }
}

/// A name in `--readings` that no paper has would do nothing.
fn known_readings(chosen: &[&'static Paper], wanted: &Wanted) -> Result<()> {
    let known: Vec<&str> = chosen.iter().flat_map(|paper| paper.readings).map(Reading::name).collect();
    for name in wanted.readings.iter().filter(|name| *name != "all") {
        if !known.contains(&name.as_str()) {
            let of = |paper: &&Paper| {
                let names: Vec<&str> = paper.readings.iter().map(Reading::name).collect();
                format!("{} ({})", names.join(", "), paper.letter.to_uppercase())
            };
            let list: Vec<String> = chosen.iter().map(of).collect();
            let error = Error::usage(format!("--readings: no reading is called `{}`", clip(name)));
            return Err(error.help(format!("use all, or some of {}", list.join("; "))));
        }
    }
    Ok(())
}

/// `Fig. 14a`, `fig14a` and `FIG 14A` are one.
fn folded(id: &str) -> String {
    id.to_lowercase().replace("figure", "fig").chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The items of a paper that were asked for.
fn pick(paper: &'static Paper, ids: &[String]) -> Result<Vec<&'static Item>> {
    if ids.is_empty() {
        return Ok(paper.items.iter().collect());
    }
    let known: Vec<&str> = paper.items.iter().map(|item| item.id).collect();
    for id in ids {
        if !known.iter().any(|known| folded(known) == folded(id)) {
            return Err(Error::usage(format!("paper {} has no `{}`", paper.letter.to_uppercase(), clip(id)))
                .help(format!("its tables and figures with something to compare are {}", known.join(", "))));
        }
    }
    Ok(paper.items.iter().filter(|item| ids.iter().any(|id| folded(id) == folded(item.id))).collect())
}

/// The two parts of `--format [NAME=]FMT`. The map of `columns:` has signs of equality too, after its colon.
fn named(format: &str) -> Option<(&str, &str)> {
    format.split_once('=').filter(|(name, _)| !name.contains(':'))
}

/// The format of a recording: its own, or the one for all; the last one given counts.
fn format_of<'a>(given: &'a [String], recording: &str) -> Option<&'a str> {
    let own = given.iter().rev().filter_map(|one| named(one)).find(|(name, _)| name.eq_ignore_ascii_case(recording));
    own.map(|(_, format)| format).or_else(|| given.iter().rev().find(|one| named(one).is_none()).map(String::as_str))
}

/// A name in `--format NAME=FMT` that no paper's recording has would do nothing.
fn known_recordings(given: &[String]) -> Result<()> {
    for (name, _) in given.iter().filter_map(|one| named(one)) {
        let mut known = BTreeSet::new();
        for workload in papers().into_iter().flat_map(|paper| paper.workloads) {
            known.insert(find_workload(workload)?.1.trace);
        }
        known.remove("");
        if !known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let list = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::usage(format!("no paper uses a recording called `{}`", clip(name)))
                .help(format!("--format takes FMT for all recordings or NAME=FMT for one of {list}")));
        }
    }
    Ok(())
}
