//! Numbers as traces write them: ASCII decimal, the whole field, no sign, exact.

use crate::error::Code;

/// Why a field is not a valid number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub code: Code,
    /// Continues the field's name: "Offset *is negative*".
    pub what: &'static str,
    /// A hint that is better than the general one.
    pub hint: Option<&'static str>,
}

const fn fault(code: Code, what: &'static str) -> Fault {
    Fault { code, what, hint: None }
}

#[inline]
pub(crate) fn integer(field: &[u8]) -> Result<u64, Fault> {
    let mut value: u64 = 0;
    // 19 digits always fit; only longer fields need checked arithmetic.
    if field.is_empty() || field.len() > 19 {
        return integer_slow(field);
    }
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(classify(field));
        }
        value = value * 10 + u64::from(digit);
    }
    Ok(value)
}

#[cold]
fn integer_slow(field: &[u8]) -> Result<u64, Fault> {
    if field.is_empty() {
        return Err(fault(Code::Empty, "is empty"));
    }
    let mut value: u64 = 0;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(classify(field));
        }
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(digit)))
            .ok_or(fault(Code::Range, "does not fit in 64 bits"))?;
    }
    Ok(value)
}

/// A hexadecimal number without prefix, as DiskSim writes its flags.
pub(crate) fn hexadecimal(field: &[u8]) -> Result<u64, Fault> {
    if field.is_empty() {
        return Err(fault(Code::Empty, "is empty"));
    }
    let mut value: u64 = 0;
    for &byte in field {
        let digit = (byte as char).to_digit(16).ok_or_else(|| classify(field))?;
        if value >> 60 != 0 {
            return Err(fault(Code::Range, "does not fit in 64 bits"));
        }
        value = (value << 4) | u64::from(digit);
    }
    Ok(value)
}

/// Describes what is wrong with a field that is not plain digits.
#[cold]
pub(crate) fn classify(field: &[u8]) -> Fault {
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if field.is_empty() {
        return fault(Code::Empty, "is empty");
    }
    if field.iter().any(|b| b.is_ascii_control()) {
        return fault(Code::NotText, "contains control bytes");
    }
    if let Some(rest) = field.strip_prefix(b"-")
        && rest.first().is_some_and(u8::is_ascii_digit)
    {
        return fault(Code::Negative, "is negative");
    }
    if let Some(rest) = field.strip_prefix(b"+")
        && rest.first().is_some_and(u8::is_ascii_digit)
    {
        return fault(Code::Notation, "has a plus sign");
    }
    if let Some(rest) = field.strip_prefix(b"0x").or_else(|| field.strip_prefix(b"0X"))
        && rest.iter().all(u8::is_ascii_hexdigit)
    {
        return fault(Code::Notation, "is hexadecimal");
    }
    let lower = field.to_ascii_lowercase();
    if matches!(lower.as_slice(), b"nan" | b"inf" | b"-inf" | b"infinity" | b"-infinity") {
        return fault(Code::NotANumber, "is not a finite number");
    }
    let float = std::str::from_utf8(field).ok().is_some_and(|text| text.parse::<f64>().is_ok());
    if float && (lower.contains(&b'e') || lower.contains(&b'.')) {
        return Fault {
            code: Code::Notation,
            what: "is a floating-point number",
            hint: Some(
                "a spreadsheet seems to have saved this file again and may have lost digits: use the original export",
            ),
        };
    }
    if field[0].is_ascii_digit() {
        let end = field.iter().position(|b| !b.is_ascii_digit()).unwrap_or(field.len());
        if digits(&field[..end]) {
            return fault(Code::NotANumber, "has something else after the number");
        }
    }
    fault(Code::NotANumber, "is not a number")
}

/// A decimal number times a unit, with the oddities of its notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// The value in units of one nanosecond (or one byte), cut, never rounded.
    pub value: u64,
    /// Something below the unit was cut off.
    pub cut: bool,
    /// Digits are missing on one side of the point, or there is no point.
    pub form: bool,
    /// An exponent stands for zeros that may have been digits.
    pub exponent: bool,
}

/// A decimal number such as `1456135200.013118000`, times `unit` (nanoseconds in one), by integers only: a double
/// holds an epoch time to 0.2 µs at best.
#[inline]
pub(crate) fn decimal(field: &[u8], unit: u64) -> Result<Decimal, Fault> {
    let point = field.iter().position(|&b| b == b'.').unwrap_or(field.len());
    let (whole, rest) = field.split_at(point);
    let fraction = rest.get(1..).unwrap_or(&[]);
    if whole.is_empty() && fraction.is_empty() {
        return Err(if field.is_empty() {
            fault(Code::Empty, "is empty")
        } else {
            fault(Code::NotANumber, "is not a number")
        });
    }
    let whole_value = if whole.is_empty() {
        0
    } else {
        // The whole field gives a better message than the part alone.
        integer(whole).map_err(|part| if part.code == Code::Range { part } else { decimal_fault(field) })?
    };
    let mut part: u64 = 0;
    let mut scale: u64 = 1;
    let mut cut = false;
    for (i, &byte) in fraction.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(decimal_fault(field));
        }
        // 18 digits are finer than any unit here; more digits would be cut anyway.
        if i < 18 {
            part = part * 10 + u64::from(digit);
            scale *= 10;
        } else {
            cut |= digit != 0;
        }
    }
    let product = u128::from(part) * u128::from(unit);
    cut |= product % u128::from(scale) != 0;
    let below = (product / u128::from(scale)) as u64;
    let value = whole_value
        .checked_mul(unit)
        .and_then(|v| v.checked_add(below))
        .ok_or(fault(Code::Range, "is beyond the range of the clock"))?;
    Ok(Decimal { value, cut, form: whole.is_empty() || fraction.is_empty(), exponent: false })
}

#[cold]
fn decimal_fault(field: &[u8]) -> Fault {
    let found = classify(field);
    if found.what == "is a floating-point number" {
        // Decimals are valid here; exponents are not.
        return fault(Code::Notation, "has an exponent");
    }
    found
}

/// A number in any notation, for columns whose tool is not known: decimal with or without a fraction, hexadecimal behind `0x`,
/// with a plus sign, with an exponent. Exact, times `unit`; what lies below 1 is cut, and said.
#[cold]
pub(crate) fn any(field: &[u8], unit: u64) -> Result<Decimal, Fault> {
    let beyond = fault(Code::Range, "does not fit in 64 bits");
    let exact = |value: u64| value.checked_mul(unit).ok_or(beyond);
    let plain = |value| Decimal { value, cut: false, form: false, exponent: false };
    let digits = field.strip_prefix(b"+").unwrap_or(field);
    if let Some(digits) = digits.strip_prefix(b"0x").or_else(|| digits.strip_prefix(b"0X")) {
        return exact(
            hexadecimal(digits).map_err(|found| if found.code == Code::Range { found } else { classify(field) })?,
        )
        .map(plain);
    }
    let (mantissa, exponent) = match digits.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&digits[..at], power(&digits[at + 1..]).ok_or_else(|| classify(field))?),
        None => (digits, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|&b| b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    let all = || whole.iter().chain(fraction);
    if all().next().is_none() || !all().all(u8::is_ascii_digit) {
        return Err(classify(field));
    }
    // 10^36 is beyond every limit here, in digits and in zeros.
    let significant = all().skip_while(|b| **b == b'0').count();
    if significant > 36 {
        return Err(beyond);
    }
    let value = all().fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'));
    let scale = exponent - i64::try_from(fraction.len()).map_err(|_| beyond)?;
    let ten = |power: u32| 10u128.checked_pow(power);
    let product = value.checked_mul(unit.into()).ok_or(beyond)?;
    let (value, cut) = match u32::try_from(scale.unsigned_abs()).ok().and_then(ten) {
        _ if product == 0 => (0, false),
        Some(by) if scale >= 0 => (product.checked_mul(by).ok_or(beyond)?, false),
        Some(by) => (product / by, product % by != 0),
        None if scale >= 0 => return Err(beyond),
        None => (0, true),
    };
    let value = u64::try_from(value).map_err(|_| beyond)?;
    Ok(Decimal { value, cut, form: false, exponent: scale > 0 && value > 0 })
}

/// A whole number, decimal or hexadecimal behind `0x`.
pub(crate) fn any_integer(field: &[u8]) -> Result<u64, Fault> {
    integer(field).or_else(|_| any(field, 1).map(|found| found.value))
}

/// The exponent of a number.
fn power(field: &[u8]) -> Option<i64> {
    let (minus, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let value = integer(digits).ok().filter(|value| *value < 10_000)? as i64;
    Some(if minus { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(integer(b"0"), Ok(0));
        assert_eq!(integer(b"007"), Ok(7));
        assert_eq!(integer(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(integer(b"00000000000000000000000000001"), Ok(1));
        for (field, code) in [
            (&b""[..], Code::Empty),
            (b"18446744073709551616", Code::Range),
            (b"-1", Code::Negative),
            (b"+1", Code::Notation),
            (b"0x10", Code::Notation),
            (b"1.28e17", Code::Notation),
            (b"12abc", Code::NotANumber),
            (b"abc", Code::NotANumber),
            (b"1\x002", Code::NotText),
        ] {
            assert_eq!(integer(field).unwrap_err().code, code, "{field:?}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        let ns = |text: &str, unit| decimal(text.as_bytes(), unit).map(|d| d.value);
        assert_eq!(ns("1456135200.013118000", 1_000_000_000), Ok(1_456_135_200_013_118_000));
        assert_eq!(ns("0.1", 1_000_000_000), Ok(100_000_000));
        assert_eq!(ns("15849.28847", 1_000_000), Ok(15_849_288_470));
        assert_eq!(ns("1.9999999999", 1_000_000_000), Ok(1_999_999_999));
        assert!(decimal(b"1.9999999999", 1_000_000_000).unwrap().cut);
        assert!(decimal(b".5", 1_000_000_000).unwrap().form);
        assert!(decimal(b"5.", 1_000_000_000).unwrap().form);
        for bad in ["", ".", "nan", "inf", "1e400", "-1.0", "1.2.3", "1,5", "18446744073.8"] {
            assert!(ns(bad, 1_000_000_000).is_err(), "{bad}");
        }
        assert_eq!(decimal(b"-1.0", 1).unwrap_err().code, Code::Negative);
    }

    #[test]
    fn every_notation_is_exact() {
        let of = |text: &str, unit| any(text.as_bytes(), unit).map(|d| (d.value, d.cut, d.exponent));
        for (text, unit, value) in [
            ("0x1F", 1, 31),
            ("0X0000200000", 512, 2_097_152 * 512),
            ("+8", 512, 4096),
            ("8.0", 512, 4096),
            ("0.5", 1024, 512),
            ("4.096e3", 1, 4096),
            ("1.5E-06", 1_000_000_000, 1_500),
            ("1456135200.013118", 1_000_000_000, 1_456_135_200_013_118_000),
            ("18446744073709551615", 1, u64::MAX),
            ("0e9999", 1, 0),
        ] {
            assert_eq!(of(text, unit), Ok((value, false, false)), "{text}");
        }
        // 2 s + 6 ns; a fraction of a nanosecond is cut; three zeros that may have been digits.
        assert_eq!(of("2.0000000061e0", 1_000_000_000), Ok((2_000_000_006, true, false)));
        assert_eq!(of("1e-12", 1_000_000_000), Ok((0, true, false)));
        assert_eq!(of("5e3", 1), Ok((5_000, false, true)));
        for (text, code) in [
            ("", Code::Empty),
            (".", Code::NotANumber),
            ("e5", Code::NotANumber),
            ("0x", Code::Notation),
            ("0xg", Code::NotANumber),
            ("0x10000000000000000", Code::Range),
            ("1e20", Code::Range),
            ("1e400", Code::Range),
            ("-1", Code::Negative),
            ("nan", Code::NotANumber),
            ("1,5", Code::NotANumber),
        ] {
            assert_eq!(of(text, 1).unwrap_err().code, code, "{text}");
        }
    }
}
