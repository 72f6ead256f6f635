//! Counters of a drive: samples of its OCP log beside runs of fio, joined by their times.

use std::path::Path;

use serde_json::Value;
use ssdlab_lab::error::Result;

use super::{Input, wrong};

/// What the drive has written to flash and read from it, in bytes, at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Seconds since 1970.
    time: f64,
    written: u128,
    read: u128,
}

/// A run whose seconds have a date.
pub(super) struct Timed {
    pub(super) run: usize,
    /// When it began, in seconds since 1970.
    pub(super) start: f64,
    /// Bytes that the host wrote, by second.
    pub(super) bytes: Vec<f64>,
}

impl Timed {
    /// Bytes that the host has written at a time; none outside the run.
    fn written(&self, time: f64) -> Option<f64> {
        let inside = time - self.start;
        if !(0.0..=self.bytes.len() as f64).contains(&inside) {
            return None;
        }
        let whole = inside as usize;
        let rest = self.bytes.get(whole).map_or(0.0, |bytes| bytes * (inside - whole as f64));
        Some(self.bytes[..whole].iter().sum::<f64>() + rest)
    }
}

const WRITTEN: [&str; 2] = ["Physical media units written", "physical_media_units_written"];
const READ: [&str; 2] = ["Physical media units read", "physical_media_units_read"];

/// Whether a document begins with a sample.
pub(super) fn is_sample(document: &Value) -> bool {
    WRITTEN.iter().any(|key| document.get(key).is_some())
}

/// A counter of 128 bits, in halves as nvme-cli prints it, or as a number.
fn counter(document: &Value, keys: [&str; 2]) -> Option<u128> {
    let value = keys.iter().find_map(|key| document.get(key))?;
    let half = |name: &str| value.get(name).and_then(Value::as_u64).map(u128::from);
    match value.as_u64() {
        Some(number) => Some(number.into()),
        None => Some(half("hi")? << 64 | half("lo")?),
    }
}

/// Reads samples: JSON objects, one after the other, in the order of time.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<Sample>> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (mut samples, mut line): (Vec<Sample>, _) = (Vec::new(), 1);
    while let Some(document) = documents.next() {
        let document = document.map_err(|error| wrong(path, error.line(), &format!("no JSON of nvme: {error}")))?;
        let (Some(written), Some(read)) = (counter(&document, WRITTEN), counter(&document, READ)) else {
            let message = format!("a sample needs both `{}` and `{}`", WRITTEN[0], READ[0]);
            return Err(wrong(path, line, &message).help("a sample is the output of nvme ocp smart-add-log -o json"));
        };
        let Some(time) = document.get("time").and_then(Value::as_f64) else {
            return Err(wrong(path, line, "a sample has no `time`, so it belongs to no run")
                .help("take samples with nvme ocp smart-add-log DEVICE -o json | jq -c '{time: now} + .'"));
        };
        let sample = Sample { time, written, read };
        if let Some(last) = samples.last()
            && (last.time > time || last.written > written || last.read > read)
        {
            return Err(wrong(path, line, "a time or a counter goes back")
                .help("a file has the samples of one drive, in the order in which they were taken"));
        }
        samples.push(sample);
        line = 1 + text[..documents.byte_offset()].trim_end().matches('\n').count() + 1;
    }
    Ok(samples)
}

/// Gives the points of timed runs what the drive counted around them. A drive updates its counters once in a while, so only samples
/// count at which the written bytes have changed; what lies between two of them in a run is a window, whose points get its mean.
pub(super) fn join(path: &Path, samples: &[Sample], timed: &[Timed], capacity: u64, input: &mut Input) -> Result<()> {
    if timed.is_empty() {
        return Err(wrong(path, 1, "no run has times that samples could be joined by")
            .help("give the JSON of fio in the same command; its jobs need log_unix_epoch=1"));
    }
    let updates: Vec<&Sample> =
        samples.windows(2).filter(|pair| pair[1].written > pair[0].written).map(|pair| &pair[1]).collect();
    // A drive that does not count what it reads says nothing of moves.
    let reads = updates.first().is_some_and(|first| updates.iter().any(|update| update.read > first.read));
    let mut windows = 0;
    for run in timed {
        for pair in updates.windows(2) {
            let (Some(from), Some(to)) = (run.written(pair[0].time), run.written(pair[1].time)) else { continue };
            if to <= from {
                continue;
            }
            windows += 1;
            let share = |before: u128, after: u128| (after - before) as f64 / (to - from);
            let within = |at: f64| (from..to).contains(&(at * capacity as f64));
            for point in input.curves[run.run].1.points.iter_mut().filter(|point| within(point.at)) {
                point.written = Some(share(pair[0].written, pair[1].written));
                point.read = reads.then(|| share(pair[0].read, pair[1].read));
            }
        }
    }
    if windows == 0 {
        input.remarks.push(format!("{}: no two updates of the counters lie in one run: not used", path.display()));
    } else if !reads {
        input.remarks.push(format!("{}: the drive does not count what it reads from flash", path.display()));
    }
    Ok(())
}
