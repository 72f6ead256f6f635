//! Quantities with units, parsed exactly: no floating point decides a size or a time.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

/// A fraction in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ppm(
    /// Millionths; 1,000,000 is the whole.
    pub u32,
);

impl Ppm {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);
}

impl fmt::Display for Ppm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Millionths of a number with at most six decimals that is not negative.
pub(super) fn micro(value: f64) -> Result<u64, String> {
    if !(0.0..=1e9).contains(&value) {
        return Err(format!("{value} is not between 0 and 1000000000"));
    }
    let scaled = value * 1e6;
    let whole = libm::rint(scaled);
    // A literal with six decimals differs from its value by its own rounding only.
    if (scaled - whole).abs() > 1e-9 * scaled.max(1.0) {
        return Err(format!("{value} has more than six decimals"));
    }
    Ok(whole as u64)
}

impl<'de> de::Deserialize<'de> for Ppm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Ppm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fraction between 0 and 1 with at most six decimals, or a percentage such as \"70%\"")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Ppm, E> {
                let percent = v.trim().strip_suffix('%').map(str::trim_end);
                let ppm = percent.and_then(|number| crate::number::any(number.as_bytes(), 10_000).ok());
                let ppm = ppm.filter(|ppm| !ppm.cut && ppm.value <= 1_000_000);
                ppm.map(|ppm| Ppm(ppm.value as u32)).ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Ppm, E> {
                match v {
                    0 => Ok(Ppm(0)),
                    1 => Ok(Ppm::ONE),
                    _ => Err(E::custom(format!("{v} is not between 0 and 1"))),
                }
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Ppm, E> {
                if !(0.0..=1.0).contains(&v) {
                    return Err(E::custom(format!("{v} is not between 0 and 1")));
                }
                let ppm = micro(v).map_err(E::custom)?;
                Ok(Ppm(u32::try_from(ppm).map_err(E::custom)?))
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// `text` = a decimal number and a unit; the exact value in base units.
fn quantity(text: &str, what: &str, units: &[(&str, u128)], known: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let factor =
        units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|&(_, factor)| factor).ok_or_else(|| {
            match unit {
                "" => format!("`{text}` has no unit: use one of {known}"),
                _ => format!("`{unit}` is not a unit of {what}: use one of {known}"),
            }
        })?;
    let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
    let digits = format!("{whole}{part}");
    let bad = || format!("`{text}` is not a number with a unit");
    if digits.len() > 25 || part.contains('.') {
        return Err(bad());
    }
    let value: u128 = digits.parse().map_err(|_| bad())?;
    let divisor = 10_u128.pow(u32::try_from(part.len()).map_err(|_| bad())?);
    let value = value.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))?;
    if value % divisor != 0 {
        return Err(format!("`{text}` is not a whole number of {known}", known = units[0].0));
    }
    u64::try_from(value / divisor).map_err(|_| format!("`{text}` is too large"))
}

/// Bytes of `"4KiB"`, `"1.5GB"` (K, KB and KiB are all 1024).
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    const K: u128 = 1024;
    let units = [
        ("B", 1),
        ("K", K),
        ("KB", K),
        ("KiB", K),
        ("M", K * K),
        ("MB", K * K),
        ("MiB", K * K),
        ("G", K * K * K),
        ("GB", K * K * K),
        ("GiB", K * K * K),
        ("T", K * K * K * K),
        ("TB", K * K * K * K),
        ("TiB", K * K * K * K),
    ];
    quantity(text, "size", &units, "B, KiB, MiB, GiB, TiB")
}

/// Nanoseconds of `"1.5ms"`.
pub(super) fn parse_duration(text: &str) -> Result<u64, String> {
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    quantity(text, "time", &units, "ns, us, ms, s, min, h")
}

/// `bytes` as people write it, exactly.
pub(super) fn show_size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes, "B");
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value == 0 || value % 1024 != 0 {
            break;
        }
        (value, unit) = (value / 1024, next);
    }
    format!("{value}{unit}")
}

/// A size in bytes: a string with a unit, or a whole number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(
    /// Bytes.
    pub u64,
);

/// A time in nanoseconds: a string with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nanos(
    /// Nanoseconds.
    pub u64,
);

impl<'de> de::Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"4KiB\"")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Size, E> {
                parse_size(v).map(Size).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Size, E> {
                u64::try_from(v).map(Size).map_err(|_| E::custom("a size is not negative"))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> de::Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Nanos;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"1.5ms\"")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Nanos, E> {
                parse_duration(v).map(Nanos).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(V)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(parse_size("4KiB"), Ok(4096));
        assert_eq!(parse_size("1.5 gb"), Ok(3 << 29));
        assert_eq!(parse_size("512B"), Ok(512));
        assert_eq!(parse_duration("14.4ms"), Ok(14_400_000));
        assert_eq!(parse_duration("0.2 us"), Ok(200));
        for bad in ["", "4", "KiB", "-1K", "0.3B", "1..2K", "1e3K", "99999999999T", "4 KiBs"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert!(parse_duration("0.5ns").is_err());
    }

    #[test]
    fn fractions_have_six_decimals() {
        assert_eq!(micro(0.7672), Ok(767_200));
        assert_eq!(micro(0.953_365), Ok(953_365));
        assert!(micro(0.123_456_7).is_err());
        assert!(micro(f64::NAN).is_err() && micro(-0.1).is_err() && micro(1e12).is_err());
        assert_eq!(Ppm(767_200).to_string(), "0.7672");
        assert_eq!(Ppm::ONE.to_string(), "1");
    }

    #[test]
    fn sizes_are_shown_exactly() {
        assert_eq!(show_size(4096), "4KiB");
        assert_eq!(show_size(1536), "1536B");
        assert_eq!(show_size(0), "0B");
    }
}
