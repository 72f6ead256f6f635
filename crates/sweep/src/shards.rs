//! How the runs of a study are divided among tasks that know nothing of each other.
//!
//! The division follows from the study and the number of shards alone, never from the store: tasks that start at different
//! times must cut alike.

use std::collections::HashMap;

use crate::points::{Points, Run};
use crate::study::{MOST_RUNS, Repeat};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::text::count;

/// Runs that one task takes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Places among the runs.
    pub runs: Vec<usize>,
    /// Expected CPU time at the fixed rates, in nanoseconds.
    pub cost_ns: u64,
}

/// A part of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard::WHOLE
    }
}

impl Shard {
    /// All runs.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };

    /// One of so many, of which no study can have more.
    fn new(index: u64, of: u64) -> Result<Shard> {
        if of <= MOST_RUNS {
            return Ok(Shard { index, of });
        }
        let message =
            format!("--shard {index}/{of}: more shards than the {} runs that a study may have", count(MOST_RUNS));
        Err(Error::usage(message)
            .help("give at most as many shards as the study has runs: `ssdlab sweep plan` counts them"))
    }

    /// Reads `I/N`, or `auto` from the variables of a scheduler.
    ///
    /// # Errors
    /// It is neither, or the variables are incomplete.
    pub fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard> {
        if text == "auto" {
            return automatic(variable);
        }
        let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Shard::new(index, of),
            _ => Err(Error::usage(format!("--shard {}: not a shard", ssdlab_lab::names::clip(text)))
                .help("write --shard 3/8 for the third of eight, or --shard auto in an array job")),
        }
    }
}

/// How a scheduler names the tasks of an array.
struct Names {
    index: &'static str,
    first: First,
    count: &'static str,
    help: &'static str,
}

enum First {
    Is(u64),
    Variable(&'static str),
}

const SCHEDULERS: [Names; 6] = [
    Names {
        index: "SLURM_ARRAY_TASK_ID",
        first: First::Variable("SLURM_ARRAY_TASK_MIN"),
        count: "SLURM_ARRAY_TASK_COUNT",
        help: "Slurm sets it; export it with the job",
    },
    Names {
        index: "PBS_ARRAY_INDEX",
        first: First::Is(1),
        count: "PBS_ARRAY_COUNT",
        help: "submit with -J 1-8 -v PBS_ARRAY_COUNT=8",
    },
    Names {
        index: "SGE_TASK_ID",
        first: First::Is(1),
        count: "SGE_TASK_LAST",
        help: "Grid Engine sets it; submit with -t 1-8",
    },
    Names {
        index: "LSB_JOBINDEX",
        first: First::Is(1),
        count: "LSB_JOBINDEX_END",
        help: "LSF sets it; submit with -J \"name[1-8]\"",
    },
    Names {
        index: "JOB_COMPLETION_INDEX",
        first: First::Is(0),
        count: "JOB_COMPLETIONS",
        help: "give the container an environment variable with the job's `completions`",
    },
    Names {
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        first: First::Is(0),
        count: "AWS_BATCH_JOB_ARRAY_SIZE",
        help: "AWS Batch sets it in array jobs",
    },
];

fn automatic(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard> {
    // Outside an array, Grid Engine says `undefined` and LSF 0.
    let set = |name: &str| variable(name).filter(|value| !value.is_empty() && value != "undefined");
    let number = |name: &'static str, help: &str| -> Result<u64> {
        let value = set(name).ok_or_else(|| {
            Error::usage(format!("--shard auto: {name} is not set"))
                .note("half of an array's variables are set")
                .help(help)
        })?;
        value.parse().map_err(|_| {
            Error::usage(format!("--shard auto: {name} is `{}`, not a number", ssdlab_lab::names::clip(&value)))
        })
    };
    let found = SCHEDULERS.iter().find(|names| {
        let value = set(names.index);
        value.is_some() && !(names.index == "LSB_JOBINDEX" && value.as_deref() == Some("0"))
    });
    let Some(names) = found else {
        let known: Vec<&str> = SCHEDULERS.iter().map(|names| names.index).collect();
        return Err(Error::usage(format!("--shard auto: none of {} is set", known.join(", ")))
            .help("start it in an array job, or write --shard I/N"));
    };
    let index = number(names.index, names.help)?;
    let first = match names.first {
        First::Is(first) => first,
        First::Variable(name) => number(name, names.help)?,
    };
    let of = number(names.count, names.help)?;
    match index.checked_sub(first).map(|place| place + 1).filter(|place| *place <= of) {
        Some(index) => Shard::new(index, of),
        None => {
            let message = format!(
                "--shard auto: {} is {index}, outside {first} to {}",
                names.index,
                (first + of).saturating_sub(1)
            );
            Err(Error::usage(message).help("number the tasks without gaps, such as --array=1-8"))
        }
    }
}

/// Runs that are filled alike stay together, but no unit exceeds 1/(2N) of the whole unless it is one run.
pub fn units(points: &Points, runs: &[Run], of: u64) -> Vec<Unit> {
    let whole_points = matches!(points.study.repeat, Repeat::Until(_));
    let mut known: HashMap<([u8; 32], u64), usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_point: HashMap<usize, usize> = HashMap::new();
    for (place, run) in runs.iter().enumerate() {
        let new = groups.len();
        let group = match points.points[run.point].filling {
            _ if whole_points => *of_point.entry(run.point).or_insert(new),
            Some(filling) => *known.entry((filling, run.seed)).or_insert(new),
            None => new,
        };
        if group == new {
            groups.push(Vec::new());
        }
        groups[group].push(place);
    }
    let serve = |place: usize| {
        let work = &points.points[runs[place].point].work;
        (work.fixed_ns() - work.fill_fixed_ns(), work.fill_fixed_ns())
    };
    let cost = |group: &[usize]| {
        let served: u64 = group.iter().map(|place| serve(*place).0).sum();
        let filled: u64 = match whole_points {
            true => group.iter().map(|place| serve(*place).1).sum(),
            false => group.first().map_or(0, |place| serve(*place).1),
        };
        served + filled
    };
    let most = groups.iter().map(|group| cost(group)).sum::<u64>() / of.saturating_mul(2).max(1);
    let mut units = Vec::new();
    for group in groups {
        if whole_points {
            units.push(Unit { cost_ns: cost(&group), runs: group });
            continue;
        }
        let mut unit = Unit { runs: Vec::new(), cost_ns: 0 };
        for place in group {
            let (served, filled) = serve(place);
            if !unit.runs.is_empty() && unit.cost_ns + served > most {
                units.push(std::mem::replace(&mut unit, Unit { runs: Vec::new(), cost_ns: 0 }));
            }
            unit.cost_ns += served + if unit.runs.is_empty() { filled } else { 0 };
            unit.runs.push(place);
        }
        units.push(unit);
    }
    units
}

/// The units of each shard, in the order of the study: by falling cost to the least loaded shard, the lowest number among equals.
pub fn assign(mut units: Vec<Unit>, of: u64) -> Vec<Vec<Unit>> {
    units.sort_by_key(|unit| (std::cmp::Reverse(unit.cost_ns), unit.runs[0]));
    let mut shards: Vec<(u64, Vec<Unit>)> = (0..of).map(|_| (0, Vec::new())).collect();
    let mut loads: std::collections::BTreeSet<(u64, usize)> = (0..of as usize).map(|shard| (0, shard)).collect();
    for unit in units {
        let Some((load, least)) = loads.pop_first() else { break };
        shards[least].0 = load + unit.cost_ns;
        loads.insert((shards[least].0, least));
        shards[least].1.push(unit);
    }
    let sorted = |(_, mut units): (u64, Vec<Unit>)| {
        units.sort_by_key(|unit| unit.runs[0]);
        units
    };
    shards.into_iter().map(sorted).collect()
}

/// The units of one shard.
pub fn shard(points: &Points, runs: &[Run], shard: Shard) -> Vec<Unit> {
    let mut all = assign(units(points, runs, shard.of), shard.of);
    all.swap_remove((shard.index - 1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(set: &[(&str, &str)]) -> std::result::Result<(u64, u64), String> {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        Shard::parse("auto", &find).map(|shard| (shard.index, shard.of)).map_err(|error| error.to_string())
    }

    #[test]
    fn schedulers_say_which_shard() {
        let slurm = [("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_ARRAY_TASK_MIN", "3"), ("SLURM_ARRAY_TASK_COUNT", "8")];
        assert_eq!(auto(&slurm), Ok((3, 8)));
        assert_eq!(auto(&[("PBS_ARRAY_INDEX", "2"), ("PBS_ARRAY_COUNT", "4")]), Ok((2, 4)));
        assert_eq!(auto(&[("SGE_TASK_ID", "4"), ("SGE_TASK_LAST", "4")]), Ok((4, 4)));
        assert_eq!(auto(&[("LSB_JOBINDEX", "1"), ("LSB_JOBINDEX_END", "9")]), Ok((1, 9)));
        assert_eq!(auto(&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "9")]), Ok((1, 9)));
        assert_eq!(auto(&[("AWS_BATCH_JOB_ARRAY_INDEX", "8"), ("AWS_BATCH_JOB_ARRAY_SIZE", "9")]), Ok((9, 9)));
        // Half of the variables, none, and a task beyond the last.
        assert!(auto(&slurm[..2]).unwrap_err().contains("SLURM_ARRAY_TASK_COUNT is not set"));
        assert!(auto(&slurm[..1]).unwrap_err().contains("SLURM_ARRAY_TASK_MIN is not set"));
        assert!(auto(&[("PBS_ARRAY_INDEX", "2")]).unwrap_err().contains("PBS_ARRAY_COUNT is not set"));
        assert!(auto(&[]).unwrap_err().contains("none of SLURM_ARRAY_TASK_ID"));
        assert!(auto(&[("SGE_TASK_ID", "undefined")]).unwrap_err().contains("none of"));
        assert!(auto(&[("SGE_TASK_ID", "5"), ("SGE_TASK_LAST", "4")]).unwrap_err().contains("outside 1 to 4"));
        assert_eq!(Shard::parse("3/8", &|_| None).unwrap(), Shard { index: 3, of: 8 });
        // More shards than any study has runs: nothing is made for each of them.
        for many in ["1/18446744073709551615", "7/4294967296", "1/1000001"] {
            let said = Shard::parse(many, &|_| None).unwrap_err().to_string();
            assert!(said.contains("more shards than the 1,000,000 runs"), "{said}");
        }
        assert!(Shard::parse("1/1000000", &|_| None).is_ok());
        let many = [("PBS_ARRAY_INDEX", "2"), ("PBS_ARRAY_COUNT", "18446744073709551615")];
        assert!(auto(&many).unwrap_err().contains("more shards than"));
        ["0/8", "9/8", "3", "a/b"].iter().for_each(|bad| assert!(Shard::parse(bad, &|_| None).is_err(), "{bad}"));
    }

    #[test]
    fn units_go_to_the_least_loaded_shard() {
        let unit = |at: usize, cost_ns: u64| Unit { runs: vec![at], cost_ns };
        let shards = assign(vec![unit(0, 3), unit(1, 5), unit(2, 4), unit(3, 3), unit(4, 0)], 2);
        let places = |units: &[Unit]| units.iter().map(|unit| unit.runs[0]).collect::<Vec<_>>();
        // 5 to the first, 4 and 3 to the second, 3 to the first, nothing to the second: its load is less.
        assert_eq!([places(&shards[0]), places(&shards[1])], [vec![1, 3], vec![0, 2, 4]]);
    }
}
