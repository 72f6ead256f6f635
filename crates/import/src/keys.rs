//! The keys of a foreign file with their places, and exact readings of their values.

use std::ops::Range;
use std::sync::OnceLock;

use ssdlab_lab::error::{Error, Result, Spot};
use ssdlab_lab::names::clip;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The part of the file that it is in, such as `pal`; empty where the format has no parts.
    pub section: String,
    pub name: String,
    /// Its value, without blanks around it.
    pub value: String,
    /// Bytes of the name in the text.
    pub at: Range<usize>,
    /// Bytes of the value in the text.
    pub value_at: Range<usize>,
}

impl Key {
    pub fn path(&self) -> String {
        if self.section.is_empty() { self.name.clone() } else { format!("{}/{}", self.section, self.name) }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Its name in messages.
    pub name: String,
    pub text: String,
    pub keys: Vec<Key>,
    /// Where its lines end.
    ends: OnceLock<Vec<usize>>,
}

/// Most keys of a file. No configuration comes near it.
pub(crate) const MOST_KEYS: usize = 10_000;

impl Given {
    pub fn new(name: &str, text: &str) -> Given {
        Given { name: name.into(), text: text.into(), keys: Vec::new(), ends: OnceLock::new() }
    }

    /// Adds a key.
    ///
    /// # Errors
    /// There are too many.
    pub fn push(&mut self, key: Key) -> Result<()> {
        self.keys.push(key);
        self.check_count()
    }

    /// Refuses too many keys, at the last one.
    pub fn check_count(&self) -> Result<()> {
        if self.keys.len() <= MOST_KEYS {
            return Ok(());
        }
        let at = self.keys.last().map_or(0..0, |key| key.at.clone());
        let error = self.refuse("", at, format!("more than {MOST_KEYS} keys"));
        Err(error.help("this is no configuration of a simulator"))
    }

    /// An error at a place of the text, or of the whole file (`0..0`); `key` names the key.
    pub fn refuse(&self, key: &str, at: Range<usize>, message: impl std::fmt::Display) -> Error {
        let message = if key.is_empty() { message.to_string() } else { format!("{}: {message}", clip(key)) };
        if at == (0..0) {
            return Error::config(key, message).note(format!("in {}", clip(&self.name)));
        }
        let spot = Spot { name: self.name.clone(), text: self.text.clone(), span: at, label: String::new() };
        Error::config(key, message).at(spot)
    }

    /// The line of a place, from 1.
    pub fn line(&self, at: usize) -> usize {
        let ends = self.ends.get_or_init(|| self.text.match_indices('\n').map(|(end, _)| end).collect());
        1 + ends.partition_point(|end| *end < at)
    }
}

/// The value of a key, or what the original assumes where the file does not say.
#[derive(Clone, Copy)]
pub(crate) struct Value<'g> {
    pub given: &'g Given,
    pub name: &'g str,
    pub text: &'g str,
    /// The key; none: the original's default.
    pub key: Option<&'g Key>,
}

impl Value<'_> {
    pub fn refuse(&self, message: impl std::fmt::Display, help: impl Into<String>) -> Error {
        let at = self.key.map_or(0..0, |key| key.value_at.clone());
        self.given.refuse(self.name, at, message).help(help)
    }

    pub fn whole(&self) -> Result<u64> {
        let shown = clip(self.text);
        let help = "expected a whole number such as 8, without a unit";
        if self.text.is_empty() {
            return Err(self.refuse("no value", help));
        }
        if let Some(digits) = self.text.strip_prefix('-')
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(self.refuse(format!("{shown} is negative"), help));
        }
        if !self.text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.refuse(format!("`{shown}` is not a whole number"), help));
        }
        self.text.parse().map_err(|_| self.refuse(format!("{shown} is beyond 64 bits"), help))
    }

    /// A whole number that fits the counts of a configuration.
    pub fn count(&self) -> Result<u32> {
        let value = self.whole()?;
        u32::try_from(value).map_err(|_| self.refuse(format!("{value} is beyond 32 bits"), "check the value"))
    }

    /// A decimal number, not negative.
    pub fn decimal(&self) -> Result<Decimal> {
        Decimal::parse(self.text).ok_or_else(|| {
            let shown = clip(self.text);
            let negative = self.text.starts_with('-') && Decimal::parse(&self.text[1..]).is_some();
            let message =
                if negative { format!("{shown} is negative") } else { format!("`{shown}` is not a plain number") };
            self.refuse(message, "expected a number such as 0.05, without a unit")
        })
    }

    /// Nanoseconds of a value in a unit of `unit_ps` picoseconds.
    pub fn nanos(&self, unit_ps: u64) -> Result<u64> {
        let decimal = self.decimal()?;
        let shown = clip(self.text);
        let unit = match unit_ps {
            1 => "ps",
            1_000 => "ns",
            1_000_000 => "us",
            _ => "ms",
        };
        let ns = decimal.times(u128::from(unit_ps)).and_then(|ps| ps.over(1000)).ok_or_else(|| {
            self.refuse(
                format!("{shown} {unit} is not a whole number of nanoseconds"),
                "time here counts whole nanoseconds",
            )
        })?;
        u64::try_from(ns)
            .ok()
            .filter(|ns| *ns <= i64::MAX as u64)
            .ok_or_else(|| self.refuse(format!("{shown} {unit} is beyond the simulator's clock"), "check the unit"))
    }

    /// A share of `whole` in millionths, and whether it was rounded to them.
    pub fn share(&self, whole: u64) -> Result<(u64, bool)> {
        let decimal = self.decimal()?;
        let refused = || {
            let most = if whole == 1 { "1".into() } else { whole.to_string() };
            self.refuse(format!("{} is not from 0 to {most}", clip(self.text)), "check the unit of the share")
        };
        let (millionths, exact) = decimal.ratio(1_000_000, u128::from(whole)).ok_or_else(refused)?;
        let share = u64::try_from(millionths).ok().filter(|share| *share <= 1_000_000).ok_or_else(refused)?;
        Ok((share, !exact))
    }

    /// Whether it says yes: everything but `false` and `0` does, as in the originals.
    pub fn flag(&self) -> bool {
        !["false", "0", "off", "no"].iter().any(|no| self.text.eq_ignore_ascii_case(no))
    }
}

/// An exact decimal number: `digits` / 10^`places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    places: u32,
}

/// Most digits of a number.
const DIGITS: usize = 25;

impl Decimal {
    /// Digits with at most one point and a small exponent, such as `0.05` or `5e-2`.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) if exponent.len() <= 3 => (number, exponent.parse::<i32>().ok()?),
            Some(_) => return None,
            None => (text, 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let part = part.trim_end_matches('0');
        let all = format!("{whole}{part}");
        let plain = !number.trim_matches('.').is_empty() && all.bytes().all(|b| b.is_ascii_digit());
        if !plain || all.len() > DIGITS || exponent.unsigned_abs() > 12 {
            return None;
        }
        let digits: u128 = if all.is_empty() { 0 } else { all.parse().ok()? };
        let places = i32::try_from(part.len()).ok()? - exponent;
        match u32::try_from(places) {
            Ok(places) => Some(Decimal { digits, places }),
            Err(_) => Some(Decimal { digits: digits.checked_mul(10u128.pow(places.unsigned_abs()))?, places: 0 }),
        }
    }

    pub fn from(whole: u128) -> Decimal {
        Decimal { digits: whole, places: 0 }
    }

    pub fn times(self, factor: u128) -> Option<Decimal> {
        Some(Decimal { digits: self.digits.checked_mul(factor)?, places: self.places })
    }

    /// Divided by a whole number, if the result is a whole number.
    pub fn over(self, divisor: u128) -> Option<u128> {
        let divisor = divisor.checked_mul(10u128.checked_pow(self.places)?)?;
        self.digits.is_multiple_of(divisor).then(|| self.digits / divisor)
    }

    /// Times `factor` / `divisor`, rounded half up, and whether that is exact.
    pub fn ratio(self, factor: u128, divisor: u128) -> Option<(u128, bool)> {
        let product = self.digits.checked_mul(factor)?;
        let divisor = divisor.checked_mul(10u128.checked_pow(self.places)?)?;
        Some((product.checked_mul(2)?.checked_add(divisor)? / divisor.checked_mul(2)?, product.is_multiple_of(divisor)))
    }

    /// Divided by a whole number, as decimal text with at most `places` decimals, and whether that is exact.
    pub fn text_over(self, divisor: u128, places: u32) -> Option<(String, bool)> {
        let scale = 10u128.checked_pow(places)?;
        let (scaled, exact) = self.ratio(scale, divisor)?;
        let part = format!("{:0width$}", scaled % scale, width = places as usize);
        let part = part.trim_end_matches('0');
        let whole = scaled / scale;
        Some((if part.is_empty() { whole.to_string() } else { format!("{whole}.{part}") }, exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let parse = |text: &str| Decimal::parse(text);
        assert_eq!(parse("0.05000"), Some(Decimal { digits: 5, places: 2 }));
        assert_eq!(parse("5e-2"), parse("0.05"));
        assert_eq!(parse("1.5e3"), parse("1500"));
        assert_eq!(parse(".5"), parse("0.5"));
        for bad in ["", ".", "-1", "1 ", "0x10", "1e99", "1e1e1", "nan", "inf", "1,5", "99999999999999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse("0.07").unwrap().ratio(1_000_000, 1), Some((70_000, true)));
        assert_eq!(parse("1").unwrap().ratio(1_000_000, 3), Some((333_333, false)));
        assert_eq!(parse("0.025").unwrap().times(1_000_000_000).unwrap().over(1000), Some(25_000));
        assert_eq!(parse("0.0000005").unwrap().over(1), None);
        assert_eq!(parse("10000").unwrap().text_over(4096, 12), Some(("2.44140625".into(), true)));
        assert_eq!(parse("1").unwrap().text_over(3, 6), Some(("0.333333".into(), false)));
    }
}
