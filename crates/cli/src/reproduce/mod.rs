//! `ssdlab reproduce`: a paper's tables and figures, its numbers next to ours.
//!
//! One file per paper holds its schemes, tables, printed numbers and runs as data ([`paper`]). A [`chapter`] runs what the tables need, in
//! one sweep, and fills in our numbers: parameters come from the preset, exact values from arithmetic or small runs, measured
//! ones from runs of the workload models (or of recordings, with `--traces`). Rules judge them ([`row`]).

mod a;
mod assumption;
mod b;
mod bench;
mod c;
mod chapter;
mod d;
mod e;
mod load;
mod methods;
mod over_time;
mod paper;
mod print;
mod results;
mod row;
mod searches;

use std::collections::BTreeSet;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input::{find_workload, read_recordings};
use ssdlab_lab::names::{clip, nearest};
use ssdlab_lab::results::sheet::Frame;
use ssdlab_lab::variants::points;
use ssdlab_report::inputs::Inputs;

use self::chapter::{Chapter, chapter};
use self::paper::{Item, Paper};
use crate::args::ReproduceArgs;
use crate::output;
use crate::progress::Board;
use crate::report::Begun;

fn papers() -> [&'static Paper; 5] {
    [&a::PAPER, &b::PAPER, &c::PAPER, &d::PAPER, &e::PAPER]
}

/// Reproduces and prints.
pub fn reproduce(args: &ReproduceArgs, line: &str) -> Result<()> {
    if args.methods {
        let chosen = choose(&args.paper)?;
        has_load(&chosen, args)?;
        return output::print(&methods::text(&chosen, args)?);
    }
    let mut files = Files::new();
    args.traces.iter().for_each(|directory| read_recordings(directory, &mut files));
    files.write_all(&[("--json", args.table.json_file()), ("--report", args.report.report.as_deref())])?;
    let (to_stdout, json) = args.table.json_output()?;
    let page = Begun::create(&args.report, line)?;
    let done = Reproduction::run(args, &|runs| Box::new(Board::new(runs, args.how.quiet)))?;
    if !args.how.quiet {
        done.remarks().for_each(output::remark);
    }
    if let Some(page) = page {
        let inputs = Inputs { reproduce: serde_json::from_str(&done.json()).ok(), ..Inputs::default() };
        page.finish(&inputs, args.how.quiet)?.publish()?;
    }
    if let Some(mut file) = json {
        file.put(done.json().as_bytes())?;
        file.finish()?.publish()?;
    }
    if to_stdout {
        output::print(&done.json())
    } else if args.table.csv {
        output::print(&if args.assumptions { searches::csv(&done.chapters) } else { print::csv(&done.chapters) })
    } else if args.table.markdown {
        output::print(&done.markdown())
    } else {
        output::print(&print::text(&done.chapters, args))
    }
}

/// Makes the board for a number of runs.
pub type Boards<'b> = dyn Fn(usize) -> Box<dyn points::Board + 'b> + 'b;

/// Papers with our numbers.
pub struct Reproduction<'a> {
    args: &'a ReproduceArgs,
    chapters: Vec<Chapter>,
}

impl<'a> Reproduction<'a> {
    /// Runs what the tables and figures need.
    ///
    /// # Errors
    /// A paper, a figure or a recording is unknown, or a run fails.
    pub fn run(args: &'a ReproduceArgs, boards: &Boards) -> Result<Reproduction<'a>> {
        known_recordings(&args.format)?;
        let chosen = choose(&args.paper)?;
        has_load(&chosen, args)?;
        let mut chapters = Vec::new();
        for paper in chosen {
            let items = pick(paper, &args.ids)?;
            chapters.push(chapter(paper, items, args, boards)?);
        }
        Ok(Reproduction { args, chapters })
    }

    /// Remarks on the runs.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.chapters.iter().flat_map(|chapter| &chapter.remarks)
    }

    /// As JSON.
    pub fn json(&self) -> String {
        print::json(&self.chapters, self.args)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        print::markdown(&self.chapters, self.args)
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
fn has_load(chosen: &[&'static Paper], args: &ReproduceArgs) -> Result<()> {
    match chosen {
        [Paper { load: Err(why), letter, .. }] if args.load => Err(Error::usage(format!(
            "--load: paper {} has nothing to calibrate arrivals to: {why}",
            letter.to_uppercase()
        ))
        .help("leave it out, or try rates with --assumptions")),
        _ => Ok(()),
    }
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
