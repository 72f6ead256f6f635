//! Seeds and limits of a study, and spans of wall time.

use serde::Deserialize;
use ssdlab_sim::units::Bytes;
use toml::Value;

use crate::study::axes::MOST_RUNS;
use crate::text::Text;
use ssdlab_lab::error::Result;
use ssdlab_lab::names::clip;

/// Which seeds a point is run with.
#[derive(Clone, Debug, PartialEq)]
pub enum Repeat {
    /// These.
    Seeds(Vec<u64>),
    /// From 1 on in batches of three, until an interval is narrow enough.
    Until(Until),
}

/// When a point has enough seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Dotted path of a number in the summary.
    pub measure: String,
    /// Half the width of the 95 % confidence interval, as a share of the mean.
    pub half_width: f64,
    /// Most seeds.
    pub most: u64,
}

/// Limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of its wall time, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// Of the memory that its device needs, in bytes.
    pub memory_bytes: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RepeatFile {
    seeds: Option<Value>,
    until: Option<Until>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsFile {
    wall: Option<String>,
    memory: Option<Bytes>,
}

pub(super) fn repeat(text: &Text, file: &RepeatFile) -> Result<Repeat> {
    let wrong = |message: &str| text.error("repeat.seeds", false, format!("repeat.seeds: {message}"));
    match (&file.seeds, &file.until) {
        (Some(_), Some(_)) => {
            Err(text.error("repeat.until", true, "both repeat.seeds and repeat.until").help("give one of the two"))
        }
        (None, None) => Ok(Repeat::Seeds(vec![1])),
        (None, Some(until)) => {
            if until.most == 0 || until.half_width.is_nan() || until.half_width <= 0.0 {
                let message = "repeat.until: `most` is at least 1 and `half_width` above 0";
                return Err(text.error("repeat.until", false, message));
            }
            Ok(Repeat::Until(until.clone()))
        }
        (Some(Value::Integer(seeds)), None) if *seeds > 0 && *seeds as u64 <= MOST_RUNS => {
            Ok(Repeat::Seeds((1..=*seeds as u64).collect()))
        }
        (Some(Value::Array(list)), None) if !list.is_empty() => {
            let mut seeds: Vec<u64> = Vec::new();
            for seed in list {
                let seed = seed.as_integer().and_then(|seed| u64::try_from(seed).ok());
                let seed = seed.ok_or_else(|| wrong("a seed is a whole number, not negative"))?;
                if seeds.contains(&seed) {
                    return Err(wrong(&format!("seed {seed} is given twice")).help("give it once"));
                }
                seeds.push(seed);
            }
            Ok(Repeat::Seeds(seeds))
        }
        (Some(_), None) => Err(wrong("expected how many seeds (3 is 1, 2, 3), or a list of seeds")),
    }
}

pub(super) fn limits(text: &Text, file: &LimitsFile) -> Result<Limits> {
    let wall_ns = match &file.wall {
        None => None,
        Some(wall) => Some(duration_ns(wall).map_err(|error| {
            text.error("limits.wall", false, format!("limits.wall: {error}")).help("write a duration such as \"30m\"")
        })?),
    };
    Ok(Limits { wall_ns, memory_bytes: file.memory.map(|bytes| bytes.0) })
}

/// A span of wall time: `90s`, `55m`, `1h 30m`, or as Slurm writes it, `1:00:00`.
///
/// # Errors
/// It is none.
pub fn duration_ns(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("`{}` is not a duration", clip(text));
    if text.contains(':') {
        let (days, clock) =
            text.split_once('-').map_or((Some(0), text), |(days, clock)| (days.parse::<u64>().ok(), clock));
        let parts: Option<Vec<u64>> = clock.split(':').map(|part| part.parse().ok()).collect();
        let seconds = match (parts.as_deref(), days) {
            (Some([hours, minutes, seconds]), Some(days)) => days
                .checked_mul(24)
                .and_then(|h| h.checked_add(*hours))
                .and_then(|h| h.checked_mul(3600))
                .map(|s| s.saturating_add(minutes.saturating_mul(60)).saturating_add(*seconds)),
            (Some([minutes, seconds]), Some(0)) => minutes.checked_mul(60).and_then(|s| s.checked_add(*seconds)),
            _ => None,
        };
        return seconds.and_then(|s| s.checked_mul(1_000_000_000)).ok_or_else(wrong);
    }
    let time = humantime::parse_duration(text).map_err(|_| wrong())?;
    u64::try_from(time.as_nanos()).map_err(|_| wrong())
}
