//! Patterns of writes, by the names that measurements have, and as workloads of a simulated drive.

use std::fmt;

use ssdlab_trace::workload::Spec;

/// Capacity that a measurement without one stands for, in bytes: only the hottest pages of a zipf depend on it.
pub const USUAL_CAPACITY: u64 = 1_000_000_000_000;

/// Bytes of a page of the map, and of every random write.
pub const PAGE: u64 = 4096;

/// A pattern of writes with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Every page of the drive equally likely.
    Uniform,
    /// A share of the pages gets a share of the writes, both in millionths; scattered.
    Zone {
        /// Share of the pages.
        space: u32,
        /// Share of the writes.
        traffic: u32,
        /// The pages are spread over the drive, not the first ones.
        scattered: bool,
    },
    /// A share of the pages, in millionths, is never written; the others are equally likely; scattered.
    ReadOnly(u32),
    /// Probability of a page proportional to rank^-theta.
    Zipf {
        /// The exponent.
        theta: f64,
        /// Ranks are scattered, not in the order of addresses.
        scattered: bool,
    },
    /// What fio draws for `zipf:theta`.
    FioZipf(f64),
    /// Uniform over so many bytes; the rest of the drive is never written.
    Span(u64),
    /// Zones that are appended to.
    Zones {
        /// Zones that are written at a time.
        active: u32,
        /// Bytes of a zone.
        zone: u64,
    },
    /// From the first page to the last.
    Sequential,
}

/// Millionths of `5`, `5%` or `0.05` percent points.
fn percent(text: &str) -> Option<u32> {
    let value: f64 = text.trim().trim_end_matches('%').trim_end().parse().ok()?;
    (0.0..=100.0).contains(&value).then(|| (value * 1e4).round() as u32)
}

/// Bytes of `372 GiB`, `1.06GiB` or `800GB`; KB, MB, GB and TB are powers of 1,000, as drives are sold.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let power = "bkmgt".find(unit.chars().next()?)? as i32;
    let base: f64 = match (power, &unit[1..]) {
        (1.., "ib") => 1024.0,
        (1.., "b") | (0, "") => 1000.0,
        _ => return None,
    };
    let bytes = number * base.powi(power);
    (1.0..1e18).contains(&bytes).then(|| bytes.round() as u64)
}

/// `bytes` in the largest unit of 1,024 that leaves at most two decimals.
pub fn size(bytes: u64) -> String {
    let exact = |unit: f64| ((bytes as f64 / unit * 100.0).round() / 100.0 * unit - bytes as f64).abs() < 0.002 * unit;
    for (power, name) in [(3, "GiB"), (2, "MiB"), (1, "KiB")] {
        let unit = 1024_f64.powi(power);
        if bytes as f64 >= unit && exact(unit) {
            return format!("{}{name}", (bytes as f64 / unit * 100.0).round() / 100.0);
        }
    }
    format!("{bytes}B")
}

impl Pattern {
    /// The names of patterns, as measurements have them.
    pub const NAMES: [&str; 10] = [
        "uniform",
        "zone",
        "zone-in-order",
        "read-only",
        "zipf",
        "zipf-in-order",
        "fio-zipf",
        "span",
        "zns-like",
        "sequential",
    ];

    /// A pattern by its name and parameter.
    ///
    /// # Errors
    /// What the parameter should be; none for a name that is not known.
    pub fn parse(name: &str, parameter: &str) -> Result<Option<Pattern>, String> {
        let (name, parameter) = (name.trim(), parameter.trim());
        let theta = || parameter.parse::<f64>().ok().filter(|theta| (0.0..=10.0).contains(theta));
        let wrong = |form: &str| format!("`{parameter}` is no parameter of {name}: use {form}");
        Ok(Some(match name {
            "uniform" => Pattern::Uniform,
            "sequential" => Pattern::Sequential,
            "zone" | "zone-in-order" => {
                let (space, traffic) = match parameter.split_once('/') {
                    Some((space, traffic)) => (percent(space), percent(traffic)),
                    None => (percent(parameter).map(|traffic| 1_000_000 - traffic), percent(parameter)),
                };
                match (space, traffic) {
                    (Some(space @ 1..1_000_000), Some(traffic)) => {
                        Pattern::Zone { space, traffic, scattered: name == "zone" }
                    }
                    _ => return Err(wrong("percent of the pages and of the writes, such as 5/95")),
                }
            }
            "read-only" => match percent(parameter) {
                Some(share @ 0..1_000_000) => Pattern::ReadOnly(share),
                _ => return Err(wrong("percent of the pages, such as 60%")),
            },
            "zipf" | "zipf-in-order" => {
                let theta = theta().ok_or_else(|| wrong("an exponent, such as 0.8"))?;
                Pattern::Zipf { theta, scattered: name == "zipf" }
            }
            "fio-zipf" => match theta().filter(|theta| *theta > 0.0 && *theta != 1.0 && *theta <= 5.0) {
                Some(theta) => Pattern::FioZipf(theta),
                None => return Err(wrong("an exponent that fio takes, such as 0.8")),
            },
            "span" => Pattern::Span(bytes(parameter).ok_or_else(|| wrong("a size, such as 372 GiB"))?),
            "zns-like" => {
                let key = |key: &str| parameter.split_whitespace().find_map(|word| word.strip_prefix(key));
                let active = key("active=").and_then(|text| text.parse().ok()).filter(|active| *active > 0);
                match (active, key("zone=").and_then(bytes)) {
                    (Some(active), Some(zone)) => Pattern::Zones { active, zone },
                    _ => return Err(wrong("active=1 zone=4.00GiB")),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::Zone { scattered: true, .. } => "zone",
            Pattern::Zone { scattered: false, .. } => "zone-in-order",
            Pattern::ReadOnly(_) => "read-only",
            Pattern::Zipf { scattered: true, .. } => "zipf",
            Pattern::Zipf { scattered: false, .. } => "zipf-in-order",
            Pattern::FioZipf(_) => "fio-zipf",
            Pattern::Span(_) => "span",
            Pattern::Zones { .. } => "zns-like",
            Pattern::Sequential => "sequential",
        }
    }

    /// Its parameter, in one form whatever was read.
    pub fn parameter(&self) -> String {
        let percent = |ppm: u32| f64::from(ppm) / 1e4;
        match self {
            Pattern::Uniform | Pattern::Sequential => String::new(),
            Pattern::Zone { space, traffic, .. } => format!("{}/{}", percent(*space), percent(*traffic)),
            Pattern::ReadOnly(share) => format!("{}%", percent(*share)),
            Pattern::Zipf { theta, .. } | Pattern::FioZipf(theta) => format!("{theta:?}"),
            Pattern::Span(bytes) => size(*bytes),
            Pattern::Zones { active, zone } => format!("active={active} zone={}", size(*zone)),
        }
    }

    /// Whether it tells policies of GC apart.
    pub fn discriminates(&self) -> bool {
        match self {
            Pattern::Zipf { theta, .. } => *theta >= 0.8,
            Pattern::Zone { traffic, .. } => *traffic >= 900_000,
            Pattern::ReadOnly(share) => (400_000..=800_000).contains(share),
            _ => false,
        }
    }

    /// Whether it counts in the choice of a policy: a random pattern over the whole drive other than uniform.
    pub fn is_scored(&self) -> bool {
        matches!(self, Pattern::Zipf { .. } | Pattern::Zone { .. } | Pattern::ReadOnly(_))
    }

    /// Whether the model is known to miss it by more: the hottest zipf, and nearly read-only drives.
    pub fn is_extreme(&self) -> bool {
        match self {
            Pattern::Zipf { theta, .. } => *theta >= 1.0,
            Pattern::ReadOnly(share) => *share >= 900_000,
            _ => false,
        }
    }

    /// The workload on a simulated drive of whole pages that stands for one of `capacity` bytes. None for patterns that need none
    /// of it: they are sequential, or have a geometry of their own.
    pub fn workload(&self, capacity: u64) -> Option<Spec> {
        self.draws(capacity).map(|pattern| parsed(&writes(&pattern)))
    }

    /// The same as a workload file: its name without ending, and its text.
    pub fn workload_file(&self, capacity: u64) -> Option<(String, String)> {
        let draws = self.draws(capacity)?;
        let name = format!("{}{}{}", self.name(), if self.parameter().is_empty() { "" } else { "-" }, self.parameter());
        let name = name.replace('/', "-").replace('%', "");
        let about = format!("4 KiB writes as `calibrate` models them: {self}, on a drive of {capacity} bytes");
        Some((name.clone(), format!("name = \"{name}\"\ndescription = \"{about}\"\n{}", writes(&draws))))
    }

    /// What decides where it writes, as workloads say it.
    fn draws(&self, capacity: u64) -> Option<String> {
        let pattern = match self {
            Pattern::Uniform | Pattern::Span(_) => "\"uniform\"".to_string(),
            Pattern::Zone { space, traffic, scattered } => hot_cold(*space, *traffic, *scattered),
            Pattern::ReadOnly(share) => hot_cold(1_000_000 - share, 1_000_000, true),
            Pattern::Zipf { theta, scattered } => {
                let population = capacity / PAGE;
                format!("{{ zipf = {{ theta = {theta:?}, scrambled = {scattered}, population = {population}.0 }} }}")
            }
            Pattern::FioZipf(theta) => format!("{{ fio-zipf = {{ theta = {theta:?} }} }}"),
            Pattern::Zones { .. } | Pattern::Sequential => return None,
        };
        Some(pattern)
    }

    /// The workload of zones of so many pages.
    pub(crate) fn zones(active: u32, pages: u64) -> Spec {
        parsed(&writes(&format!("{{ zones = {{ active = {active}, size = {} }} }}", quoted(pages * PAGE))))
    }
}

fn quoted(bytes: u64) -> String {
    format!("\"{bytes}B\"")
}

fn hot_cold(space: u32, traffic: u32, scattered: bool) -> String {
    let share = |ppm: u32| format!("{}.{:06}", ppm / 1_000_000, ppm % 1_000_000);
    format!(
        "{{ hot-cold = {{ hot_space = {}, hot_traffic = {}, scrambled = {scattered} }} }}",
        share(space),
        share(traffic)
    )
}

fn writes(pattern: &str) -> String {
    format!("write = 1.0\nsize = \"4KiB\"\narrivals = \"closed\"\npattern = {pattern}\n")
}

fn parsed(text: &str) -> Spec {
    // The text has no part from outside but checked numbers.
    Spec::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parameter() {
            parameter if parameter.is_empty() => f.write_str(self.name()),
            parameter => write!(f, "{} {parameter}", self.name()),
        }
    }
}
