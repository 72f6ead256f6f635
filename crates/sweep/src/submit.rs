//! The array job of a study for Slurm.

use std::path::Path;

use crate::cost::Rates;
use crate::job::quoted;
use crate::points::{Points, Run};
use crate::shards::{assign, units};
use crate::study::duration_ns;
use ssdlab_lab::error::{Error, Result};

/// Runs that a task is given by default.
const RUNS_A_TASK: u64 = 20;
/// Most tasks by default.
const MOST_TASKS: u64 = 1000;
/// Least time of a task by default, in seconds.
const LEAST_S: u64 = 600;

/// What is asked of Slurm.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Tasks; by default so many that each has some twenty runs.
    pub tasks: Option<u64>,
    /// Time of a task, as Slurm writes it; by default twice what the largest shard is expected to take.
    pub time: Option<String>,
    /// Memory of a task, as Slurm writes it.
    pub memory: String,
    /// Cores of a task.
    pub cpus: u64,
}

/// The script of an array job; its tasks call `ssdlab FAMILY run`.
///
/// # Errors
/// The time can't be read.
pub fn script(
    points: &Points,
    runs: &[Run],
    rates: &Rates,
    ask: &Ask,
    family: &str,
    study: &Path,
    store: &Path,
) -> Result<String> {
    let tasks = ask.tasks.unwrap_or_else(|| (runs.len() as u64).div_ceil(RUNS_A_TASK).clamp(1, MOST_TASKS));
    let time_s = match &ask.time {
        Some(time) => {
            let minutes = time.parse::<u64>().ok().map(|minutes| minutes * 60);
            let seconds = minutes.map_or_else(|| duration_ns(time).map(|ns| ns / 1_000_000_000), Ok);
            seconds.map_err(|error| {
                Error::usage(format!("--time: {error}")).help("write it as Slurm does, such as 1:00:00")
            })?
        }
        None => {
            let shards = assign(units(points, runs, tasks), tasks);
            let of = |run: usize| rates.expect(&points.points[runs[run].point].work).0;
            let seconds =
                shards.iter().map(|units| units.iter().flat_map(|unit| &unit.runs).map(|run| of(*run)).sum::<f64>());
            let largest = seconds.fold(0.0, f64::max) / ask.cpus.max(1) as f64;
            ((2.0 * largest) as u64).max(LEAST_S)
        }
    };
    let clock = |seconds: u64| format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    // A twelfth of the time is left for the runs that have begun.
    let limit_s = (time_s - time_s / 12).max(1);
    let limit = if limit_s.is_multiple_of(60) { format!("{}m", limit_s / 60) } else { format!("{limit_s}s") };
    let jobs = if ask.cpus > 1 { format!(" --jobs {}", ask.cpus) } else { String::new() };
    Ok(format!(
        "#!/bin/sh\n#SBATCH --job-name=ssdlab-{} --array=1-{tasks} --cpus-per-task={} --mem={} --time={} --requeue --open-mode=append\nexec ssdlab {} run {} --store {} --shard auto --time-limit {limit}{jobs} --quiet\n",
        points.study.name,
        ask.cpus,
        ask.memory,
        clock(time_s),
        family,
        quoted(&study.display().to_string()),
        quoted(&store.display().to_string()),
    ))
}
