//! Quantities and ids: time, sizes, rates, fractions, and the ids of pages, blocks and planes.
//!
//! Every value that decides is an integer. Text such as `"1.5ms"` or `"333MB/s"` is parsed here, exactly: a value that is not a
//! whole number of nanoseconds (or bytes, or millionths) is an error; it is never rounded.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Defines an id: a `u32` index with a type of its own, so that ids of different kinds cannot be mixed up.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// No id.
            pub const NONE: Self = Self(u32::MAX);
            /// As an array index.
            #[inline(always)]
            pub fn ix(self) -> usize {
                self.0 as usize
            }
            /// Whether it is an id.
            #[inline(always)]
            pub fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
            /// Whether it is `NONE`.
            #[inline(always)]
            pub fn is_none(self) -> bool {
                self.0 == u32::MAX
            }
        }
    )+};
}

ids! {
    /// A logical page.
    Lpn,
    /// A physical page: `block * pages_per_block + offset`.
    Ppn,
    /// A block of the device: `plane * blocks_per_plane + block`.
    BlockId,
    /// A plane of the device, in CWDP order (channel varies fastest, then chip, die, plane).
    PlaneId,
    /// A unit of exclusion, which serves one operation at a time: a die by default, or a chip, or a channel.
    UnitId,
    /// A channel, with its bus.
    ChannelId,
    /// A flash operation in the slab.
    OpId,
    /// A host request in service.
    RequestId,
    /// A collection in progress.
    JobId,
}

/// A time or a duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(u64::MAX);
}

/// Counts one. A counter that only rises by one can't overflow: a step a nanosecond takes 584 years to 2^64.
#[inline(always)]
pub(crate) fn count(counter: &mut u64) {
    *counter = counter.wrapping_add(1);
}

/// Counts a few, at most 2^8: see [`count`].
#[inline(always)]
pub(crate) fn count_few(counter: &mut u64, few: u64) {
    debug_assert!(few <= 1 << 8);
    *counter = counter.wrapping_add(few);
}

/// Time of an event that may not have happened. Its `Option` is as small as a time, and has no arithmetic without a check. The
/// lowest bit is set, and the clock ends before the highest is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(NonZeroU64);

impl Moment {
    /// The moment of a time.
    #[inline(always)]
    pub fn at(time: Nanos) -> Self {
        Moment(NonZeroU64::MIN | (time.0 << 1))
    }

    /// The time of the moment.
    #[inline(always)]
    pub fn time(self) -> Nanos {
        Nanos(self.0.get() >> 1)
    }
}

impl std::ops::Add for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl std::ops::Sub for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

/// A non-negative decimal number as a fraction `digits / 10^decimals`, and the text after it.
fn decimal(text: &str) -> Option<(u128, u32, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() + fraction.len() > 27 || fraction.contains('.') || number.ends_with('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, fraction.len() as u32, unit.trim()))
}

/// `digits / 10^decimals * scale`, if it is a whole number below 2^63.
fn exact(digits: u128, decimals: u32, scale: u128) -> Option<u64> {
    let (product, divisor) = (digits.checked_mul(scale)?, 10u128.pow(decimals));
    (product % divisor == 0).then(|| u64::try_from(product / divisor).ok()).flatten().filter(|v| *v < 1 << 63)
}

const TIMES: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl std::str::FromStr for Nanos {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is not a duration: expected a number and a unit of ns, us, ms, s, min, h or d, exact to the nanosecond, such as \"30us\" or \"1.5ms\""
            )
        };
        let (digits, decimals, unit) = decimal(text).ok_or_else(expected)?;
        let unit = if unit == "µs" { "us" } else { unit };
        let (_, scale) = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
        exact(digits, decimals, u128::from(*scale)).map(Nanos).ok_or_else(expected)
    }
}

impl fmt::Display for Nanos {
    /// Uses the largest unit in which the value is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (name, scale) = TIMES[3..]
            .iter()
            .find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale))
            .unwrap_or(&("ns", 1));
        write!(f, "{}{name}", self.0 / scale)
    }
}

/// A size in bytes. In text, `KB` = `KiB` = `K` = 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const SIZES: [(&str, u32); 5] = [("T", 40), ("G", 30), ("M", 20), ("K", 10), ("B", 0)];

impl std::str::FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is not a size: expected whole bytes with a unit of B, KiB, MiB, GiB or TiB (KB = K = KiB = 1024), such as \"4KiB\""
            )
        };
        let (digits, decimals, unit) = decimal(text).ok_or_else(expected)?;
        let unit = unit.strip_suffix("iB").or(unit.strip_suffix('B').filter(|u| !u.is_empty())).unwrap_or(unit);
        let (_, shift) = SIZES.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
        exact(digits, decimals, 1 << shift).map(Bytes).ok_or_else(expected)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match SIZES.iter().find(|(_, shift)| *shift > 0 && self.0 > 0 && self.0.is_multiple_of(1 << shift)) {
            Some((name, shift)) => write!(f, "{}{name}iB", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// Exact time per byte: `ns` nanoseconds for `per` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    ns: u64,
    per: u64,
    /// The rate counts transfers. A transfer is one byte until a bus width is applied.
    transfers: bool,
    text: String,
}

impl Rate {
    /// Time to move `bytes`, rounded half up to the nanosecond once.
    pub fn time(&self, bytes: u64) -> Nanos {
        self.checked_time(bytes).expect("a transfer of less than 584 years")
    }

    /// Like `time`; none if it exceeds 64 bits.
    pub fn checked_time(&self, bytes: u64) -> Option<Nanos> {
        let in_64_bits =
            || bytes.checked_mul(self.ns)?.checked_mul(2)?.checked_add(self.per)?.checked_div(self.per.checked_mul(2)?);
        if let Some(ns) = in_64_bits() {
            return Some(Nanos(ns));
        }
        let (product, per) = (u128::from(bytes) * u128::from(self.ns), u128::from(self.per));
        u64::try_from((2 * product + per) / (2 * per)).ok().map(Nanos)
    }

    /// Whether it counts transfers, so that a bus width is needed.
    pub fn counts_transfers(&self) -> bool {
        self.transfers
    }

    /// The rate in bytes on a bus of `bits` bits. A rate that counts bytes is unchanged.
    pub fn over(&self, bits: u32) -> Rate {
        if !self.transfers {
            return self.clone();
        }
        let (ns, per) = lowest(u128::from(self.ns) * 8, u128::from(self.per) * u128::from(bits));
        let narrow = |v: u128| u64::try_from(v).expect("a factor of at most 2^15 of 48 bits");
        Rate { ns: narrow(ns), per: narrow(per), transfers: false, text: self.text.clone() }
    }
}

/// A fraction in lowest terms.
fn lowest(n: u128, d: u128) -> (u128, u128) {
    let (mut a, mut b) = (n, d);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (n / a, d / a)
}

impl std::str::FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is not a rate: expected bytes a second such as \"333MB/s\" (10^6) or \"800MiB/s\" (2^20), transfers such as \"1200MT/s\" (times timing.bus_width / 8 bytes), or time a byte such as \"10ns/B\" or \"0ns/B\""
            )
        };
        let (digits, decimals, unit) = decimal(text).ok_or_else(expected)?;
        let bytes = match unit {
            "B/s" => 1,
            "kB/s" | "KB/s" => 1_000,
            "MB/s" => 1_000_000,
            "GB/s" => 1_000_000_000,
            "KiB/s" => 1 << 10,
            "MiB/s" => 1 << 20,
            "GiB/s" => 1 << 30,
            "MT/s" => 1_000_000,
            "ns/B" => 0,
            _ => return Err(expected()),
        };
        let (ns, per) = if bytes == 0 {
            (digits, 10u128.pow(decimals))
        } else {
            (
                1_000_000_000 * 10u128.pow(decimals),
                digits.checked_mul(bytes).filter(|rate| *rate > 0).ok_or_else(expected)?,
            )
        };
        let (ns, per) = lowest(ns, per);
        let narrow = |v: u128| u64::try_from(v).ok().filter(|v| *v < 1 << 48).ok_or_else(expected);
        Ok(Rate { ns: narrow(ns)?, per: narrow(per)?, transfers: unit == "MT/s", text: text.trim().to_string() })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a text form through `FromStr` and writes it through `Display`.
macro_rules! text_serde {
    ($($name:ident: $what:literal),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result { f.write_str($what) }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> { text.parse().map_err(E::custom) }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}
text_serde! {
    Nanos: "a duration such as \"30us\" or \"1.5ms\"",
    Bytes: "a size such as \"4KiB\"",
    Rate: "a rate such as \"800MB/s\", \"1200MT/s\" or \"10ns/B\"",
    Warmup: "\"N requests\" or \"X drive writes\""
}

/// A fraction in [0, 1] in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ppm(pub u32);

impl Ppm {
    /// The value of the fraction 1.
    pub const ONE: u64 = 1_000_000;

    /// A percentage such as `7%` or `0.05 %`, exact to six decimals of the fraction.
    fn from_percent(text: &str) -> Option<Self> {
        let (digits, decimals, "%") = decimal(text)? else { return None };
        exact(digits, decimals, 10_000).filter(|ppm| *ppm <= Self::ONE).map(|ppm| Ppm(ppm as u32))
    }

    fn from_f64(value: f64) -> Result<Self, String> {
        let millionths = value * 1e6;
        if !(0.0..=1e6).contains(&millionths) || (millionths - millionths.round()).abs() > 1e-4 {
            return Err(format!("{value} is not a fraction: expected a number from 0 to 1 with at most six decimals"));
        }
        Ok(Ppm(millionths.round() as u32))
    }

    /// The share `self` of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / u128::from(Self::ONE)) as u64
    }

    /// The fraction as a number for people.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

struct PpmVisitor;
impl de::Visitor<'_> for PpmVisitor {
    type Value = Ppm;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a fraction from 0 to 1 such as 0.15, or \"15%\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ppm, E> {
        Ppm::from_percent(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Ppm, E> {
        Ppm::from_f64(value).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Ppm, E> {
        self.visit_f64(value as f64)
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Ppm, E> {
        self.visit_f64(value as f64)
    }
}

impl<'de> Deserialize<'de> for Ppm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PpmVisitor)
    }
}

impl Serialize for Ppm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

/// An amount of free space: a share of its scope, or a number of blocks or pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// A share of all pages in scope.
    Share(Ppm),
    /// The pages of this many blocks.
    Blocks(u32),
    /// This many pages.
    Pages(u32),
}

impl Threshold {
    /// Whether `free` pages are fewer than this threshold in a scope of `pages`; strict comparison, in integers.
    pub fn above(self, free: u64, pages: u64, pages_per_block: u64) -> bool {
        match self {
            Threshold::Share(Ppm(ppm)) => u128::from(free) * u128::from(Ppm::ONE) < u128::from(ppm) * u128::from(pages),
            Threshold::Blocks(blocks) => free < u64::from(blocks) * pages_per_block,
            Threshold::Pages(count) => free < u64::from(count),
        }
    }

    /// The smallest number of free pages that is not below this threshold.
    pub fn pages(self, pages: u64, pages_per_block: u64) -> u64 {
        match self {
            Threshold::Share(Ppm(ppm)) => (u128::from(ppm) * u128::from(pages)).div_ceil(u128::from(Ppm::ONE)) as u64,
            Threshold::Blocks(blocks) => u64::from(blocks) * pages_per_block,
            Threshold::Pages(count) => u64::from(count),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Threshold;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a fraction such as 0.05, or \"3 blocks\", or \"200 pages\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Threshold, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Threshold, E> {
                PpmVisitor.visit_f64(value).map(Threshold::Share)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Threshold, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Threshold, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Threshold::Share(share) => share.serialize(serializer),
            _ => serializer.collect_str(self),
        }
    }
}

impl std::str::FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("`{text}` is not a threshold: expected a fraction such as 0.05, or \"3 blocks\", or \"200 pages\"")
        };
        if let Some(share) = Ppm::from_percent(text) {
            return Ok(Threshold::Share(share));
        }
        let (digits, decimals, unit) = decimal(text).ok_or_else(expected)?;
        let count = exact(digits, decimals, 1).and_then(|v| u32::try_from(v).ok());
        match (unit, count) {
            ("block" | "blocks", Some(n)) => Ok(Threshold::Blocks(n)),
            ("page" | "pages", Some(n)) => Ok(Threshold::Pages(n)),
            ("", _) => exact(digits, decimals, 1_000_000)
                .filter(|v| *v <= Ppm::ONE)
                .map(|v| Threshold::Share(Ppm(v as u32)))
                .ok_or_else(expected),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Threshold::Share(share) => write!(f, "{}", share.as_f64()),
            Threshold::Blocks(n) => write!(f, "{n} blocks"),
            Threshold::Pages(n) => write!(f, "{n} pages"),
        }
    }
}

/// A threshold of free space: an amount, or a multiple of `gc.threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeBelow {
    /// An amount.
    Own(Threshold),
    /// Millionths of `gc.threshold`.
    TimesGc(u64),
}

impl FreeBelow {
    /// The smallest number of free pages that is not below this threshold; `gc` is `gc.threshold`.
    pub fn pages(self, gc: Threshold, pages: u64, pages_per_block: u64) -> u64 {
        let (factor, gc) = match self {
            FreeBelow::Own(threshold) => return threshold.pages(pages, pages_per_block),
            FreeBelow::TimesGc(factor) => (u128::from(factor), gc),
        };
        let one = u128::from(Ppm::ONE);
        let product = match gc {
            Threshold::Share(Ppm(ppm)) => (factor * u128::from(ppm) * u128::from(pages)).div_ceil(one * one),
            _ => (factor * u128::from(gc.pages(pages, pages_per_block))).div_ceil(one),
        };
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// Whether no amount of free space is below it.
    pub fn is_zero(self) -> bool {
        self == FreeBelow::TimesGc(0) || matches!(self, FreeBelow::Own(own) if own.pages(1, 1) == 0)
    }
}

impl std::str::FromStr for FreeBelow {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let Some(factor) = text.trim_end().strip_suffix("gc") else { return text.parse().map(FreeBelow::Own) };
        let expected = || format!("`{text}` is not a multiple of gc.threshold: expected for example \"1.05 x gc\"");
        let (digits, decimals, times) = decimal(factor).ok_or_else(expected)?;
        let factor = exact(digits, decimals, Ppm::ONE as u128).filter(|f| times == "x" && *f <= 1000 * Ppm::ONE);
        factor.map(FreeBelow::TimesGc).ok_or_else(expected)
    }
}

impl fmt::Display for FreeBelow {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            FreeBelow::Own(threshold) => threshold.fmt(f),
            FreeBelow::TimesGc(factor) => write!(f, "{} x gc", *factor as f64 / 1e6),
        }
    }
}

impl<'de> Deserialize<'de> for FreeBelow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = FreeBelow;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a fraction such as 0.12, \"200 pages\", \"3 blocks\", or \"1.05 x gc\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<FreeBelow, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<FreeBelow, E> {
                PpmVisitor.visit_f64(value).map(Threshold::Share).map(FreeBelow::Own)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<FreeBelow, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<FreeBelow, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for FreeBelow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FreeBelow::Own(threshold) => threshold.serialize(serializer),
            FreeBelow::TimesGc(_) => serializer.collect_str(self),
        }
    }
}

/// Part of a run that is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// The first requests.
    Requests(u64),
    /// Until the host has written this many millionths of the exported space.
    DriveWrites(u64),
}

impl std::str::FromStr for Warmup {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("`{text}` is not a warm-up: expected \"N requests\" or \"X drive writes\" (at most six decimals)")
        };
        let (digits, decimals, unit) = decimal(text).ok_or_else(expected)?;
        let parsed = match unit {
            "request" | "requests" => exact(digits, decimals, 1).map(Warmup::Requests),
            "drive write" | "drive writes" => exact(digits, decimals, 1_000_000).map(Warmup::DriveWrites),
            _ => None,
        };
        parsed.ok_or_else(expected)
    }
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Warmup::Requests(n) => write!(f, "{n} requests"),
            Warmup::DriveWrites(ppm) => write!(f, "{} drive writes", *ppm as f64 / 1e6),
        }
    }
}

/// Content of a page: a version of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The logical page.
    pub lpn: Lpn,
    /// Its version: the n-th admitted write has version n.
    pub version: u32,
}

impl Tag {
    /// Unknown content.
    pub const NONE: Self = Tag { lpn: Lpn::NONE, version: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_exactly_or_not_at_all() {
        let ns = |text: &str| text.parse::<Nanos>().map(|n| n.0).ok();
        assert_eq!(
            [
                ns("30us"),
                ns("1.5ms"),
                ns("0ns"),
                ns("2s"),
                ns("713791.5ns"),
                ns("40"),
                ns("-1us"),
                ns("1e3ns"),
                ns("1. us")
            ],
            [Some(30_000), Some(1_500_000), Some(0), Some(2_000_000_000), None, None, None, None, None]
        );
        let size = |text: &str| text.parse::<Bytes>().map(|b| b.0).ok();
        assert_eq!(
            [size("4KiB"), size("4K"), size("4 KB"), size("0.5GiB"), size("512B"), size("4"), size("4kb")],
            [Some(4096), Some(4096), Some(4096), Some(1 << 29), Some(512), None, None]
        );
        let time = |text: &str, bytes| text.parse::<Rate>().map(|r| r.time(bytes).0).ok();
        assert_eq!(
            [
                time("800MB/s", 4096),
                time("333MB/s", 8192),
                time("10ns/B", 4096),
                time("0ns/B", 4096),
                time("1.25ns/B", 4096),
                time("0MB/s", 1),
                time("1200MT/s", 4096)
            ],
            [Some(5_120), Some(24_601), Some(40_960), Some(0), Some(5_120), None, Some(3_413)]
        );
        let wide = |bits| "1200MT/s".parse::<Rate>().unwrap().over(bits).time(4096).0;
        assert_eq!([4, 8, 16, 12].map(wide), [6_827, 3_413, 1_707, 2_276]);
        assert_eq!("800MB/s".parse::<Rate>().unwrap().over(16).time(4096), Nanos(5_120), "bytes are bytes");
        assert_eq!("281474976710655ns/B".parse::<Rate>().unwrap().checked_time(1 << 20), None);
        assert_eq!(
            ["0.05", "3 blocks", "200 pages", "1.5 blocks", "2"].map(|t| t.parse::<Threshold>().ok()),
            [Some(Threshold::Share(Ppm(50_000))), Some(Threshold::Blocks(3)), Some(Threshold::Pages(200)), None, None]
        );
        let below =
            |text: &str| text.parse::<FreeBelow>().map(|t| t.pages(Threshold::Share(Ppm(70_000)), 524_288, 256)).ok();
        assert_eq!(
            ["0.12", "1.05 x gc", "1.05xgc", "0", "2 blocks", "1.05 gc", "2 x"].map(below),
            [Some(62_915), Some(38_536), Some(38_536), Some(0), Some(512), None, None]
        );
        assert_eq!(
            ["5 requests", "1.5 drive writes", "1"].map(|t| t.parse::<Warmup>().ok()),
            [Some(Warmup::Requests(5)), Some(Warmup::DriveWrites(1_500_000)), None]
        );
    }

    #[test]
    fn text_survives_a_round_trip() {
        for text in ["30us", "1500us", "0ns", "2s"] {
            assert_eq!(text.parse::<Nanos>().unwrap().to_string(), text);
        }
        for text in ["4KiB", "512B", "1536KiB", "0B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }
}
