//! Measurements as fio writes them: JSON, with bandwidth logs beside it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use ssdlab_lab::error::{Error, Result};

use super::counters::Timed;
use super::loads;
use super::{Curve, Input, Load, Point, wrong};
use crate::jobs::{BACKGROUND, PROBES, SETTLING};
use crate::pattern::Pattern;
use crate::probe::Percentiles;

/// Reads the jobs of a file. The description of each holds `pattern,parameter`.
pub(super) fn read(
    path: &Path,
    text: &str,
    capacity: Option<u64>,
    timed: &mut Vec<Timed>,
    input: &mut Input,
) -> Result<()> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| wrong(path, error.line(), &format!("no JSON of fio: {error}")))?;
    let jobs = document.get("jobs").and_then(Value::as_array).ok_or_else(|| {
        wrong(path, 1, "no `jobs`: this is no output of fio").help("run fio with --output-format=json or json+")
    })?;
    let Some(capacity) = capacity else {
        let message = format!("{}: fio counts bytes, but the size of the drive is not known", path.display());
        return Err(Error::usage(message).help("give --capacity, such as 960GB"));
    };
    let mut read = Vec::new();
    let mut probes = Vec::new();
    for job in jobs {
        if probe(path, job, &mut probes)? {
            continue;
        }
        if let Some(bins) = self::job(path, job, &mut read, input)? {
            timed.extend(bins.1.start.map(|start| Timed {
                run: input.curves.len(),
                start,
                bytes: bins.1.bytes.clone(),
            }));
            input.curves.push((bins.0, bins.1.curve(capacity)));
        }
    }
    // Jobs may go down the loads.
    probes.sort_by(|a: &Probe, b| a.load.total_cmp(&b.load));
    for Probe { load, percentiles, writes } in probes {
        let Some([read, write]) = percentiles else {
            return Err(wrong(path, 1, &format!("a job `{BACKGROUND},{load}` without one `{PROBES},{load}`")));
        };
        loads::add(path, 1, Load { load, read, write, writes }, input)?;
    }
    Ok(())
}

/// What jobs say of a load: percentiles of the probe's reads and writes in microseconds, and writes a second of all.
struct Probe {
    load: f64,
    percentiles: Option<[Percentiles; 2]>,
    writes: Option<f64>,
}

fn description(job: &Value) -> Option<&str> {
    let option = || job.get("job options").and_then(|options| options.get("description")).and_then(Value::as_str);
    job.get("desc").and_then(Value::as_str).or_else(option)
}

/// Takes a job that measures latencies, or that none reads; false for another one.
fn probe(path: &Path, job: &Value, probes: &mut Vec<Probe>) -> Result<bool> {
    let Some((kind, parameter)) = description(job).and_then(|text| text.split_once(',')) else { return Ok(false) };
    if kind == SETTLING {
        return Ok(true);
    }
    if kind != PROBES && kind != BACKGROUND {
        return Ok(false);
    }
    let load = parameter.trim().parse::<f64>().ok().filter(|load| load.is_finite() && *load > 0.0);
    let load = load.ok_or_else(|| wrong(path, 1, &format!("job {kind},{parameter}: `{parameter}` is no load")))?;
    let number = |place: &str| job.pointer(place).and_then(Value::as_f64);
    let written = number("/write/iops");
    let percentiles = |kind: &str| -> Result<Percentiles> {
        let of = |percent: &str| {
            let at = |what: &str| number(&format!("/{kind}/{what}/percentile/{percent}"));
            at("lat_ns").or_else(|| at("clat_ns")).map(|ns| ns / 1000.0)
        };
        let missing = || {
            let what = format!("job {PROBES},{parameter}: no percentiles 50, 99 and 99.9 of {kind}s");
            wrong(path, 1, &what).help("give the job lat_percentiles=1 and percentile_list=50:99:99.9")
        };
        let all = (of("50.000000"), of("99.000000"), of("99.900000"));
        if let (Some(p50), Some(p99), Some(p99_9)) = all { Ok([p50, p99, p99_9]) } else { Err(missing()) }
    };
    let mine = if kind == PROBES { Some([percentiles("read")?, percentiles("write")?]) } else { None };
    let Some(known) = probes.iter_mut().find(|probe| probe.load == load) else {
        probes.push(Probe { load, percentiles: mine, writes: written });
        return Ok(true);
    };
    if mine.is_some() && known.percentiles.is_some() {
        return Err(wrong(path, 1, &format!("two jobs {PROBES},{parameter}"))
            .help("one a load: repeats go into files of their own"));
    }
    known.percentiles = known.percentiles.or(mine);
    known.writes = known.writes.zip(written).map(|(a, b)| a + b);
    Ok(true)
}

/// What a job wrote; none if it is left out. `read`: the logs that were read so far.
fn job(path: &Path, job: &Value, read: &mut Vec<String>, input: &mut Input) -> Result<Option<(Pattern, Bins)>> {
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("without a name");
    let options = job.get("job options");
    let option = |key: &str| options.and_then(|options| options.get(key)).and_then(Value::as_str);
    let Some(description) = description(job) else {
        input.remarks.push(format!("{}: job {name} has no description, and is left out", path.display()));
        return Ok(None);
    };
    let (kind, parameter) = description.split_once(',').unwrap_or((description, ""));
    let pattern = Pattern::parse(kind, parameter).map_err(|what| wrong(path, 1, &format!("job {name}: {what}")))?;
    let Some(pattern) = pattern else {
        input.remarks.push(format!("{}: job {name} is no pattern of the model, and is left out", path.display()));
        return Ok(None);
    };
    let Some(prefix) = option("write_bw_log") else {
        let message = format!("job {name} has no bandwidth log");
        return Err(wrong(path, 1, &message).help("give the job write_bw_log=NAME and log_avg_msec=1000"));
    };
    if read.iter().any(|log| log == prefix) {
        // Without group_reporting every thread has an entry of its own, and all of them name the same logs.
        return Ok(None);
    }
    read.push(prefix.into());
    let logs = logs(path, prefix)?.into_iter().map(|log| parts(&log)).collect::<Result<Vec<_>>>()?;
    let bins = Bins::of(&logs.concat());
    if bins.bytes.is_empty() {
        let message = format!("job {name}: no line of a write in {prefix}_bw.N.log beside this file");
        return Err(wrong(path, 1, &message));
    }
    Ok(Some((pattern, bins)))
}

/// The bandwidth logs of a job beside the JSON: one a thread, numbered over all jobs.
fn logs(path: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).map_err(|error| Error::file("read", folder, &error))?;
    let is_log = |name: &str| {
        let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix("_bw."));
        rest.and_then(|rest| rest.strip_suffix(".log")).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    let entries = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = entries.filter(|name| is_log(name)).collect();
    names.sort();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Bytes a second over a time, in seconds.
#[derive(Clone, Copy)]
struct Mean {
    from: f64,
    to: f64,
    rate: f64,
}

/// Milliseconds that are a date (log_unix_epoch=1): no run takes three years.
const DATE: f64 = 1e11;

/// Reads a log: `time in ms, KiB/s, direction, ...`, each line the mean since the one before.
fn parts(path: &Path) -> Result<Vec<Mean>> {
    let text = ssdlab_lab::files::read_data("a bandwidth log", path, 1 << 30)?;
    let (mut parts, mut last): (Vec<Mean>, _) = (Vec::new(), 0.0_f64);
    for (i, line) in text.lines().enumerate() {
        let mut cells = line.split(',').map(str::trim);
        let mut number = || cells.next().and_then(|cell| cell.parse::<f64>().ok());
        let (Some(ms), Some(rate), Some(direction)) = (number(), number(), number()) else {
            let what = "no line of a bandwidth log: time in ms, KiB/s, direction, block size";
            return Err(wrong(path, i + 1, what));
        };
        if direction != 1.0 {
            continue;
        }
        if ms < last {
            return Err(wrong(path, i + 1, "the time goes back"));
        }
        parts.push(Mean { from: last / 1000.0, to: ms / 1000.0, rate: rate * 1024.0 });
        last = ms;
    }
    // A date does not say when the first line's mean begins: it is taken to be as long as the second's.
    let dated = parts.first().is_some_and(|first| first.to * 1000.0 >= DATE);
    if dated {
        let length = parts.get(1).map_or(0.0, |second| second.to - second.from);
        parts[0].from = parts[0].to - length;
    }
    Ok(parts)
}

/// Bytes by second of a job, over all its threads.
#[derive(Default)]
struct Bins {
    /// When the first second begins, in seconds since 1970, if the logs have dates.
    start: Option<f64>,
    bytes: Vec<f64>,
}

impl Bins {
    fn of(parts: &[Mean]) -> Self {
        let start = parts.iter().map(|part| part.from).reduce(f64::min).filter(|start| start * 1000.0 >= DATE);
        let mut bins = Bins { start, bytes: Vec::new() };
        for part in parts {
            let zero = start.unwrap_or(0.0);
            bins.add(part.from - zero, part.to - zero, part.rate);
        }
        bins
    }

    /// Bytes at a rate from one second to another, divided at whole seconds.
    fn add(&mut self, from: f64, to: f64, rate: f64) {
        let mut at = from;
        while at < to {
            let second = at.floor();
            let end = to.min(second + 1.0);
            let index = second as usize;
            if self.bytes.len() <= index {
                self.bytes.resize(index + 1, 0.0);
            }
            self.bytes[index] += rate * (end - at);
            at = end;
        }
    }

    /// The run in points of a hundredth of a drive write, or of a second where that is more.
    fn curve(&self, capacity: u64) -> Curve {
        let capacity = capacity as f64;
        let (mut points, mut total) = (Vec::new(), 0.0);
        let (mut bytes, mut seconds) = (0.0, 0.0);
        for second in &self.bytes {
            bytes += second;
            seconds += 1.0;
            if bytes >= 0.01 * capacity {
                let (at, rate) = ((total + bytes / 2.0) / capacity, bytes / seconds / 1e6);
                points.push(Point { at, rate, written: None, read: None });
                total += bytes;
                (bytes, seconds) = (0.0, 0.0);
            }
        }
        Curve { points }
    }
}
