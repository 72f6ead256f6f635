//! The TOML format of a workload and its error messages.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor, value};

use crate::values::{self, Wrong};
use crate::workload::units::{Nanos, Ppm, Size, micro, parse_size};

/// An error in a workload, with its place and its fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}{}{help}", path, if path.is_empty() { "" } else { ": " }, if help.is_empty() { "" } else { "; " })]
pub struct SpecError {
    /// The key, as it would be written in the file (`phase[0].stream[1].size`); empty for the file as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// The fix; may be empty.
    pub help: String,
}

impl SpecError {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), help: help.into() }
    }
}

/// A workload: a list of phases, one after the other.
///
/// A file with one phase may write the keys of the phase at the top, and a phase with one stream the keys of
/// the stream, so that the simplest workload is four lines.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Short name; the file's own name where it has none.
    #[serde(default)]
    pub name: String,
    /// One line for `ssdlab workloads`.
    #[serde(default)]
    pub description: String,
    /// The source of the figures (paper and table); may be empty.
    #[serde(default)]
    pub source: String,
    /// Whether this is a model of a recorded trace. Output then says "a model", never the trace's bare name.
    #[serde(default)]
    pub model: bool,
    /// Name of the recorded trace that this models, as in its file name (`hm_0`): the recording can be replayed instead.
    /// Empty if there is none.
    #[serde(default)]
    pub trace: String,
    /// Shrink all absolute address ranges in proportion if the largest does not fit the device.
    #[serde(default)]
    pub scale: bool,
    /// The phases, at least one.
    #[serde(default, rename = "phase")]
    pub phases: Vec<Phase>,
    /// Whether the keys of the only phase, and of its only stream, were written at a higher level (for paths in messages).
    #[serde(skip)]
    lifted: (bool, bool),
}

/// A part of a workload with constant properties.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Free text.
    #[serde(default)]
    pub name: String,
    /// Number of requests after which the phase ends.
    pub requests: Option<u64>,
    /// Time after which it ends; with `requests`, whichever comes first.
    pub duration: Option<Nanos>,
    /// One arrival process for the whole phase, divided among its streams by `share`. Without it every stream
    /// has its own.
    pub arrivals: Option<Arrivals>,
    /// Scatter the addresses of all streams together: one permutation of the device's slots of this width, the same in every
    /// phase. Every request lies within one slot.
    pub scatter: Option<Size>,
    /// The streams, at least one.
    #[serde(rename = "stream")]
    pub streams: Vec<StreamSpec>,
}

/// One source of requests with its own addresses, mix and sizes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Free text.
    #[serde(default)]
    pub name: String,
    /// Weight among the streams of a phase that has `arrivals`; default 1.
    pub share: Option<Weight>,
    /// This stream's own arrivals, in a phase without `arrivals`.
    pub arrivals: Option<Arrivals>,
    /// Fraction of reads; the rest if only the others are given.
    pub read: Option<Ppm>,
    /// Fraction of writes; the rest if only the others are given.
    pub write: Option<Ppm>,
    /// Fraction of trims; default 0.
    pub trim: Option<Ppm>,
    /// Sizes of all requests that have none of their own; default 4 KiB.
    pub size: Option<Sizes>,
    /// Sizes of reads.
    pub read_size: Option<Sizes>,
    /// Sizes of writes.
    pub write_size: Option<Sizes>,
    /// Sizes of trims.
    pub trim_size: Option<Sizes>,
    /// Every offset is a multiple of this; default the largest power of two up to 4 KiB that divides all sizes. It may be
    /// larger than a size: a request that continues another then starts at the next multiple.
    pub align: Option<Size>,
    /// The part of the address space that is used; default all of it.
    #[serde(default)]
    pub range: Range,
    /// Where a request goes that does not continue the one before; default uniform.
    #[serde(default)]
    pub pattern: Pattern,
    /// Fraction of requests that start where this stream's last one ended; default 0.
    pub sequential: Option<Ppm>,
}

impl StreamSpec {
    /// Bytes that a device must export so that a range of a fraction holds two objects; none without objects, or with another range.
    pub(super) fn room_for_objects(&self) -> Option<u64> {
        let size = match self.pattern {
            Pattern::Objects { size, .. } => size,
            Pattern::Sessions { chunk, .. } => chunk,
            _ => return None,
        };
        let from = match self.range.from {
            Bound::Fraction(from) => from.0,
            Bound::Bytes(0) => 0,
            Bound::Bytes(_) => return None,
        };
        let Bound::Fraction(to) = self.range.to else { return None };
        let part = to.0.checked_sub(from).filter(|part| *part > 0)?;
        // Both ends of a range are whole pages.
        let bytes = (2 * u128::from(size.0) + (128 << 10)) * 1_000_000 / u128::from(part) + 1;
        u64::try_from(bytes).ok()
    }
}

/// A relative weight: not negative, at most six decimals. In millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight(
    /// Millionths.
    pub u64,
);

/// A distribution of request sizes in bytes: `"4KiB"`, `[["4KiB", 3], ["64KiB", 1]]` (size and weight) or
/// `{ min = "4KiB", max = "64KiB" }` (every multiple of the alignment alike).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Always the same.
    Fixed(u64),
    /// Size and weight.
    Weighted(Vec<(u64, Weight)>),
    /// All multiples of the alignment from `min` to `max`, equally likely.
    Between {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
}

/// A position in the address space: a size (`"1GiB"`, from the start) or a fraction of the exported bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Bytes from the start.
    Bytes(u64),
    /// Fraction of the exported bytes, rounded down to a page.
    Fraction(Ppm),
}

/// Part of the address space: `"1GiB"` or `0.5` (from the start), or `[from, to]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub from: Bound,
    /// One past the last byte.
    pub to: Bound,
}

impl Default for Range {
    fn default() -> Self {
        Self { from: Bound::Bytes(0), to: Bound::Fraction(Ppm::ONE) }
    }
}

/// How addresses are chosen. A slot is one alignment unit of the range.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// From the start of the range to its end, and again.
    Sequential,
    /// Every slot of the requests' size once in a random order, and again in another.
    Shuffled,
    /// Every position alike.
    #[default]
    Uniform,
    /// Slot popularity proportional to rank^-theta.
    Zipf {
        /// Exponent, 0 (uniform) to 10.
        theta: f64,
        /// Spread the ranks over the range (default), or keep them in address order.
        #[serde(default = "yes")]
        scrambled: bool,
        /// Number of ranks, at least one a slot; default the number of slots. Each slot stands for that many neighbouring
        /// ranks, so that a small device is written as a large one would be.
        population: Option<f64>,
    },
    /// What fio's `random_distribution=zipf:theta` draws, by the method of its `lib/zipf.c`: ranks are hashed onto the slots,
    /// so that several share a slot and others are never drawn.
    FioZipf {
        /// Exponent, above 0 and up to 5, not 1.
        theta: f64,
    },
    /// A fraction of the slots gets a fraction of the requests; uniform inside both classes.
    HotCold {
        /// Fraction of the slots that is hot.
        hot_space: Ppm,
        /// Fraction of the requests that goes there.
        hot_traffic: Ppm,
        /// Spread the hot slots over the range, or keep them at its start (default).
        #[serde(default)]
        scrambled: bool,
    },
    /// Steps of a fixed width; each pass over the range starts one slot further on.
    Strided {
        /// From the start of one request to the start of the next.
        stride: Size,
    },
    /// Zones that are appended to: a request picks one of the active zones, each alike. A full zone is replaced by one that is
    /// not active, drawn uniformly, and is written again from its start.
    Zones {
        /// Zones that are active at a time.
        active: u32,
        /// Width of a zone: bytes, or a fraction of the exported space.
        size: Bound,
    },
    /// Objects of one size, written from their start to their end. One dies when the next is begun and no more may live. Reads are
    /// of whole objects.
    Objects {
        /// Bytes of an object.
        size: Size,
        /// Which one dies; default the oldest.
        #[serde(default)]
        dies: Dies,
        /// Share of the places for objects in the range that are in use at most; default all.
        live: Option<Ppm>,
        /// Trim an object that dies, by a request of its own.
        #[serde(default)]
        trim: bool,
    },
    /// Sessions that come back: a turn reads what is left of the session's chunks, in order, and writes what was lost and some
    /// more. The chunk that was not used for the longest time dies. The pattern decides what is read and what is written.
    Sessions {
        /// Bytes of a chunk.
        chunk: Size,
        /// Sessions at a time. Each turn is of one of them, all alike.
        active: u32,
        /// Chunks that a turn adds.
        chunks: u32,
        /// Chance that a turn was the last of its session. Another session then begins.
        ends: Ppm,
        /// Share of the places for chunks in the range that are in use at most; default all.
        live: Option<Ppm>,
        /// Trim a chunk that dies, by a request of its own.
        #[serde(default)]
        trim: bool,
    },
}

/// Which object dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dies {
    /// The one that was written first, as in a ring.
    #[default]
    Oldest,
    /// Each alike.
    Any,
    /// The one that was neither written nor read for the longest time.
    LeastUsed,
}

fn yes() -> bool {
    true
}

/// When requests arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// A new request as soon as one completes; the device sets the times.
    Closed(ClosedLoop),
    /// At equal distances.
    Fixed {
        /// Mean (and only) gap in nanoseconds.
        gap_ns: f64,
    },
    /// Independent exponential gaps.
    Poisson {
        /// Mean gap in nanoseconds.
        gap_ns: f64,
    },
    /// Bursts: independent gaps, short (uniform in 0..=`within`) or idle (exponential beyond `within`).
    Bursts {
        /// Share of short gaps; bursts have 1 / (1 - share) requests in the mean.
        share: Ppm,
        /// The longest short gap in nanoseconds; default 0.2 ms.
        within_ns: u64,
        /// Mean of all gaps in nanoseconds.
        gap_ns: f64,
    },
}

/// A loop that keeps a number of requests outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedLoop {
    /// Outstanding requests; `None`: the device's queue depth.
    pub depth: Option<u32>,
    /// Its pauses.
    pub think: Option<Think>,
}

/// Think time: after every so many completed requests a loop waits until all that are outstanding have completed, and then pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// How long a pause is, in nanoseconds: up to an hour.
    pub time_ns: u64,
    /// Completed requests from one pause to the next, at least 1.
    pub after: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum ArrivalKeys {
    #[serde(rename_all = "snake_case")]
    Closed {
        depth: Option<u32>,
        think: Option<Nanos>,
        think_after: Option<u32>,
    },
    Fixed {
        rate: Option<f64>,
        gap: Option<Nanos>,
    },
    Poisson {
        rate: Option<f64>,
        gap: Option<Nanos>,
    },
    Bursts {
        share: Ppm,
        within: Option<Nanos>,
        rate: Option<f64>,
        gap: Option<Nanos>,
    },
}

/// Mean gap of a rate in requests a second or a gap, exactly one of them.
fn mean_gap(rate: Option<f64>, gap: Option<Nanos>) -> Result<f64, String> {
    let gap_ns = match (rate, gap) {
        (Some(rate), None) if rate > 0.0 => 1e9 / rate,
        (Some(rate), None) => {
            return Err(format!("a rate of {rate} requests a second is not above 0"));
        }
        (None, Some(gap)) => gap.0 as f64, // At most an hour: exact.
        _ => return Err("give either `rate` (requests a second) or `gap` (mean time)".to_owned()),
    };
    if !(1.0..=3.6e12).contains(&gap_ns) {
        return Err(format!("a mean gap of {gap_ns} ns is not between 1ns and 1h"));
    }
    Ok(gap_ns)
}

/// Pauses of a closed loop, from their keys.
fn pauses(time: Option<Nanos>, after: Option<u32>) -> Result<Option<Think>, String> {
    match (time, after) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err("`think_after` without `think`: how long is a pause?".to_owned()),
        (Some(_), Some(0)) => Err("a pause after 0 requests: use 1 or more".to_owned()),
        (Some(time), _) if time.0 > 3_600_000_000_000 => Err("a pause is longer than 1h".to_owned()),
        (Some(time), after) => Ok(Some(Think { time_ns: time.0, after: after.unwrap_or(1) })),
    }
}

impl Arrivals {
    fn from_keys(keys: &ArrivalKeys) -> Result<Self, String> {
        Ok(match *keys {
            ArrivalKeys::Closed { depth: Some(0), .. } => {
                return Err("a depth of 0 would never send a request".to_owned());
            }
            ArrivalKeys::Closed { depth, think, think_after } => {
                Self::Closed(ClosedLoop { depth, think: pauses(think, think_after)? })
            }
            ArrivalKeys::Fixed { rate, gap } => Self::Fixed { gap_ns: mean_gap(rate, gap)? },
            ArrivalKeys::Poisson { rate, gap } => Self::Poisson { gap_ns: mean_gap(rate, gap)? },
            ArrivalKeys::Bursts { share, within, rate, gap } => {
                let gap_ns = mean_gap(rate, gap)?;
                let within_ns = within.map_or(200_000, |w| w.0);
                // What is left for the idle gaps must be longer than `within`.
                if idle_mean(share, within_ns, gap_ns) < within_ns as f64 {
                    return Err(format!(
                        "idle gaps would be no longer than short ones: with {} of the gaps within {within_ns} ns \
                         a mean gap of {gap_ns} ns cannot be kept",
                        share
                    ));
                }
                Self::Bursts { share, within_ns, gap_ns }
            }
        })
    }
}

/// Mean of the idle gaps of [`Arrivals::Bursts`]; not finite or negative if there is none.
pub(super) fn idle_mean(share: Ppm, within_ns: u64, gap_ns: f64) -> f64 {
    let share = f64::from(share.0) / 1e6;
    let short = within_ns as f64 / 2.0;
    if share < 1.0 { (gap_ns - share * short) / (1.0 - share) } else { f64::NEG_INFINITY }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Arrivals;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"closed\", or a table `closed`, `fixed`, `poisson` or `bursts`")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Arrivals, E> {
                match v {
                    "closed" => Ok(Arrivals::Closed(ClosedLoop::default())),
                    _ => Err(E::custom(format!(
                        "`{v}` is not an arrival process by itself: use \"closed\" or, for example, {{ poisson = {{ rate = 5000 }} }}"
                    ))),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arrivals, A::Error> {
                let keys = ArrivalKeys::deserialize(value::MapAccessDeserializer::new(map))?;
                Arrivals::from_keys(&keys).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        micro(value).map(Weight).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct BetweenKeys {
            min: Size,
            max: Size,
        }
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Sizes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size (\"4KiB\"), sizes with weights ([[\"4KiB\", 3], [\"64KiB\", 1]]) or { min = \"4KiB\", max = \"64KiB\" }",
                )
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Sizes, E> {
                parse_size(v).map(Sizes::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Sizes, E> {
                u64::try_from(v).map(Sizes::Fixed).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Sizes, A::Error> {
                let mut list = Vec::new();
                while let Some((size, weight)) = seq.next_element::<(Size, Weight)>()? {
                    list.push((size.0, weight));
                }
                Ok(Sizes::Weighted(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
                let keys = BetweenKeys::deserialize(value::MapAccessDeserializer::new(map))?;
                Ok(Sizes::Between { min: keys.min.0, max: keys.max.0 })
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Bound;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"1GiB\" or a fraction of the exported space such as 0.5")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Bound, E> {
                if v.trim_end().ends_with('%') {
                    return Ppm::deserialize(v.into_deserializer()).map(Bound::Fraction);
                }
                parse_size(v).map(Bound::Bytes).map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Bound, E> {
                Ppm::deserialize(v.into_deserializer()).map(Bound::Fraction)
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Bound, E> {
                Ppm::deserialize(v.into_deserializer()).map(Bound::Fraction)
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Range;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size (\"1GiB\"), a fraction (0.5) or a pair of them")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Range, E> {
                let to = Bound::deserialize(v.into_deserializer())?;
                Ok(Range { to, ..Range::default() })
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Range, E> {
                let to = Bound::deserialize(v.into_deserializer())?;
                Ok(Range { to, ..Range::default() })
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Range, E> {
                let to = Bound::deserialize(v.into_deserializer())?;
                Ok(Range { to, ..Range::default() })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Range, A::Error> {
                let (from, to) = <(Bound, Bound)>::deserialize(value::SeqAccessDeserializer::new(seq))?;
                Ok(Range { from, to })
            }
        }
        deserializer.deserialize_any(V)
    }
}

const HEADER: &[&str] = &["name", "description", "source", "model", "trace", "scale", "phase"];
const PHASE: &[&str] = &["name", "requests", "duration", "arrivals", "scatter", "stream"];
const STREAM: &[&str] = &[
    "name",
    "share",
    "arrivals",
    "read",
    "write",
    "trim",
    "size",
    "read_size",
    "write_size",
    "trim_size",
    "align",
    "range",
    "pattern",
    "sequential",
];

impl Spec {
    /// Parses the TOML text of a workload.
    ///
    /// # Errors
    /// Where the text is not TOML or not a workload; ranges are only checked against a device by
    /// [`Spec::build`].
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map(|s| {
                let before = text.as_bytes().iter().take(s.start);
                before.filter(|b| **b == b'\n').count() + 1
            });
            let path = line.map_or_else(String::new, |l| format!("line {l}"));
            SpecError::new(path, e.message().trim(), "")
        })?;
        Self::from_table(table)
    }

    fn from_table(mut table: toml::Table) -> Result<Self, SpecError> {
        for key in ["phase", "stream"] {
            if table.get(key).is_some_and(toml::Value::is_table) {
                let message = format!("[{key}] is a single table, not a list");
                return Err(SpecError::new(key, message, format!("write [[{key}]]")));
            }
        }
        let (phase_lifted, stream_lifted) = lift_phase(&mut table)?;
        let mut lifted_streams = Vec::new();
        if let Some(toml::Value::Array(phases)) = table.get_mut("phase") {
            for (i, phase) in phases.iter_mut().enumerate() {
                let toml::Value::Table(phase) = phase else {
                    continue;
                };
                let lifted = !phase.contains_key("stream");
                if lifted {
                    check_keys(phase, &[PHASE, STREAM], &format!("phase[{i}]"))?;
                    let stream = take(phase, |key| STREAM.contains(&key) && !PHASE.contains(&key));
                    phase.insert("stream".to_owned(), vec![stream].into());
                }
                lifted_streams.push(lifted);
            }
        }
        let shown = |path: &str| {
            let mut path = path.to_owned();
            for (i, _) in lifted_streams.iter().enumerate().filter(|(_, l)| **l) {
                path = path.replacen(&format!("phase[{i}].stream[0]."), &format!("phase[{i}]."), 1);
            }
            if stream_lifted {
                path = path.replacen("phase[0].stream[0].", "", 1);
            }
            if phase_lifted {
                path = path.replacen("phase[0].", "", 1);
            }
            path
        };
        let spec: Spec = values::read(table).map_err(|misfit| {
            let help = match &misfit.fault {
                Wrong::UnknownKey { given, known } | Wrong::UnknownName { given, known } => nearest(given, known),
                _ => String::new(),
            };
            SpecError::new(shown(&misfit.path), misfit.fault.to_string(), help)
        })?;
        if spec.phases.is_empty() {
            return Err(SpecError::new("phase", "no phase", "a workload needs at least one [[phase]]"));
        }
        Ok(Self { lifted: (phase_lifted, stream_lifted), ..spec })
    }

    /// The name of the workload in output; a model is always marked as one.
    #[must_use]
    pub fn label(&self) -> String {
        if self.model { format!("{} (a model, not the trace)", self.name) } else { self.name.clone() }
    }

    /// The path of a key of a stream (or of its phase) as the file writes it.
    pub(super) fn path(&self, phase: usize, stream: Option<usize>, key: &str) -> String {
        let mut path = String::new();
        if !self.lifted.0 {
            path = format!("phase[{phase}].");
        }
        if let (Some(stream), false) = (stream, self.lifted.1) {
            path += &format!("stream[{stream}].");
        }
        path + key
    }
}

/// Moves the entries whose key is `wanted` into a table of their own.
fn take(table: &mut toml::Table, wanted: impl Fn(&str) -> bool) -> toml::Table {
    let keys: Vec<String> = table.keys().filter(|k| wanted(k)).cloned().collect();
    keys.into_iter().filter_map(|k| table.remove(&k).map(|v| (k, v))).collect()
}

fn check_keys(table: &toml::Table, known: &[&[&str]], path: &str) -> Result<(), SpecError> {
    let known: Vec<&str> = known.concat();
    match table.keys().find(|k| !known.contains(&k.as_str())) {
        None => Ok(()),
        Some(key) => {
            let dot = if path.is_empty() { "" } else { "." };
            Err(SpecError::new(format!("{path}{dot}{key}"), format!("unknown key `{key}`"), nearest(key, &known)))
        }
    }
}

/// A sentence that names the nearest known key, or all of them where none is near.
fn nearest(key: &str, known: &[&str]) -> String {
    let best = known.iter().map(|k| (strsim::damerau_levenshtein(key, k), *k)).min();
    match best {
        Some((distance, k)) if distance <= 1 + key.len() / 3 => format!("did you mean `{k}`?"),
        _ => format!("known here: {}", known.join(", ")),
    }
}

/// Puts the keys of a phase, and those of a stream, that stand at the top of a table where they belong. Returns whether there were any of
/// each.
fn lift_phase(table: &mut toml::Table) -> Result<(bool, bool), SpecError> {
    if table.contains_key("phase") {
        check_keys(table, &[HEADER], "")?;
        return Ok((false, false));
    }
    let stream_lifted = !table.contains_key("stream");
    check_keys(table, &[HEADER, PHASE, if stream_lifted { STREAM } else { &[] }], "")?;
    let stream = stream_lifted.then(|| take(table, |key| STREAM.contains(&key) && !PHASE.contains(&key)));
    let mut phase = take(table, |key| PHASE.contains(&key) && key != "name");
    if let Some(stream) = stream {
        phase.insert("stream".to_owned(), vec![stream].into());
    }
    table.insert("phase".to_owned(), vec![phase].into());
    Ok((true, stream_lifted))
}
