//! Dates with a time of day, as ISO 8601 writes them: `2026-05-01T10:00:00.000150Z`.

use crate::error::Code;
use crate::number::{Decimal, Fault};

const DAY_S: i64 = 86_400;

/// Nanoseconds since 1970 of a date and time: `T` or blanks between them, `-` or `/` in the date, a fraction of a second of any
/// length, and `Z`, `+01:00` or nothing (UTC) at the end. The time may be left out.
pub(crate) fn time(field: &[u8]) -> Result<Decimal, Fault> {
    let fault =
        |what| Fault { code: Code::NotANumber, what, hint: Some("a date is written as 2026-05-01T10:00:00.000150") };
    let none = || fault("is not a date and time");
    if field.is_empty() {
        return Err(Fault { code: Code::Empty, what: "is empty", hint: None });
    }
    let mut rest = field;
    let year = digits(&mut rest, 4).ok_or_else(none)?;
    let mark = sign(&mut rest, b"-/").ok_or_else(none)?;
    let month = digits(&mut rest, 2).ok_or_else(none)?;
    sign(&mut rest, &[mark]).ok_or_else(none)?;
    let day = digits(&mut rest, 2).ok_or_else(none)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return Err(fault("is not a day of the calendar"));
    }
    let (mut second_of_day, mut fraction, mut cut, mut zone) = (0, 0, false, 0);
    if !rest.is_empty() {
        sign(&mut rest, b"Tt \t_").ok_or_else(none)?;
        while sign(&mut rest, b" \t").is_some() {}
        (second_of_day, fraction, cut) =
            within_day(&mut rest).ok_or_else(none)?.ok_or_else(|| fault("is not a time of day"))?;
        while sign(&mut rest, b" ").is_some() {}
        zone = offset(&mut rest).ok_or_else(none)?;
    }
    if !rest.is_empty() {
        return Err(fault("has something else after the date and time"));
    }
    let seconds = days_since_1970(year, month, day) * DAY_S + second_of_day - zone;
    let seconds =
        u64::try_from(seconds).map_err(|_| Fault { code: Code::Range, what: "is before 1970", hint: None })?;
    let value = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(fraction));
    let value = value.ok_or(Fault { code: Code::Range, what: "is beyond the range of the clock", hint: None })?;
    Ok(Decimal { value, cut, form: false, exponent: false })
}

/// Nanoseconds since midnight of a time of day alone, such as `10:00:00.000150`.
pub(crate) fn of_day(field: &[u8]) -> Result<Decimal, Fault> {
    let mut rest = field;
    match within_day(&mut rest).flatten() {
        Some((second, fraction, cut)) if rest.is_empty() => {
            let value = second.unsigned_abs() * 1_000_000_000 + fraction;
            Ok(Decimal { value, cut, form: false, exponent: false })
        }
        _ => {
            let hint = Some("a time of day is written as 10:00:00.000150");
            Err(Fault { code: Code::NotANumber, what: "is not a time of day", hint })
        }
    }
}

/// Seconds since midnight, nanoseconds, and whether digits below were cut; inside, `None` if there is no such time.
fn within_day(rest: &mut &[u8]) -> Option<Option<(i64, u64, bool)>> {
    let (hour, minute) = clock(rest)?;
    let second = match sign(rest, b":") {
        Some(_) => digits(rest, 2)?,
        None => 0,
    };
    let (fraction, cut) = match sign(rest, b".,") {
        Some(_) => below_a_second(rest)?,
        None => (0, false),
    };
    // A leap second is the last of its minute.
    let exists = hour <= 23 && minute <= 59 && second <= 60;
    Some(exists.then_some((hour * 3_600 + minute * 60 + second.min(59), fraction, cut)))
}

/// So many digits.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let found = rest.get(..count).filter(|found| found.iter().all(u8::is_ascii_digit))?;
    *rest = &rest[count..];
    Some(found.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// One of these characters.
fn sign(rest: &mut &[u8], any: &[u8]) -> Option<u8> {
    let first = *rest.first().filter(|first| any.contains(first))?;
    *rest = &rest[1..];
    Some(first)
}

/// Hours and minutes.
fn clock(rest: &mut &[u8]) -> Option<(i64, i64)> {
    let hour = digits(rest, 2)?;
    sign(rest, b":")?;
    Some((hour, digits(rest, 2)?))
}

/// Nanoseconds, and whether digits below were cut.
fn below_a_second(rest: &mut &[u8]) -> Option<(u64, bool)> {
    let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (found, behind) = rest.split_at(length);
    *rest = behind;
    let digit = |at: usize| found.get(at).map_or(0, |digit| u64::from(digit - b'0'));
    let value = (0..9).fold(0, |value, at| value * 10 + digit(at));
    (length > 0).then(|| (value, found.iter().skip(9).any(|digit| *digit != b'0')))
}

/// Seconds east of UTC.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    if sign(rest, b"Zz").is_some() {
        return Some(0);
    }
    let Some(direction) = sign(rest, b"+-") else { return Some(0) };
    let hours = digits(rest, 2)?;
    let minutes = match rest.is_empty() {
        true => 0,
        false => {
            sign(rest, b":");
            digits(rest, 2)?
        }
    };
    let seconds = hours * 3_600 + minutes * 60;
    Some(if direction == b'-' { -seconds } else { seconds })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = |year: i64| year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    before(year - 1) - before(1969) + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_exact() {
        let of = |text: &str| time(text.as_bytes()).map(|d| (d.value, d.cut));
        // 20,574 days from 1970-01-01 to 2026-05-01: 56 years of 365 days, 14 leap days (1972 to 2024), 120 days to May.
        let may = 20_574 * 86_400 * 1_000_000_000;
        for (text, ns) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01", 0),
            ("2000-02-29 00:00:00", 11_016 * 86_400 * 1_000_000_000),
            ("2026-05-01 00:00:00.000150", may + 150_000),
            ("2026/05/01  10:00:00,5", may + 36_000_000_000_000 + 500_000_000),
            ("2026-05-01T10:00:00.123456789+02:00", may + 28_800_000_000_000 + 123_456_789),
            ("2026-05-01T10:00-0130", may + 41_400_000_000_000),
            ("2026-05-01T10:00:60 Z", may + 36_059_000_000_000),
        ] {
            assert_eq!(of(text), Ok((ns, false)), "{text}");
        }
        assert_eq!(of("1970-01-01T00:00:00.0000000019"), Ok((1, true)));
        for (text, code) in [
            ("", Code::Empty),
            ("2026-02-29", Code::NotANumber),
            ("2026-13-01", Code::NotANumber),
            ("2026-05-01T24:00:00", Code::NotANumber),
            ("2026-05/01", Code::NotANumber),
            ("2026-05-01T10:00:00.", Code::NotANumber),
            ("2026-05-01T10:00:00 CEST", Code::NotANumber),
            ("1969-12-31T23:59:59Z", Code::Range),
            ("9999-01-01", Code::Range),
            ("1777629600", Code::NotANumber),
        ] {
            assert_eq!(of(text).unwrap_err().code, code, "{text}");
        }
        let of = |text: &str| of_day(text.as_bytes()).map(|d| d.value).map_err(|fault| fault.code);
        assert_eq!((of("23:59:60.5"), of("00:01")), (Ok(86_399_500_000_000), Ok(60_000_000_000)));
        for text in ["", "10", "24:00:00", "10:00:00Z", "1:00:00", "10:00:00."] {
            assert_eq!(of(text), Err(Code::NotANumber), "{text}");
        }
    }
}
