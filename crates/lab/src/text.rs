//! Numbers for people, in messages and tables.

/// A count with separators: `1,234,567`.
pub fn count(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of requests as people write it: `100000`, `100_000`, `100k`, `1.5M`, `1e6`; whole, and at least 1.
///
/// # Errors
/// It is none; the text says what is expected.
pub fn amount(text: &str) -> Result<u64, String> {
    let exact = || {
        let clean = text.trim().replace('_', "");
        let (number, mut power) = match clean.as_bytes().last()? {
            b'k' | b'K' => (&clean[..clean.len() - 1], 3),
            b'm' | b'M' => (&clean[..clean.len() - 1], 6),
            b'g' | b'G' => (&clean[..clean.len() - 1], 9),
            _ => (&clean[..], 0),
        };
        let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        power += exponent.parse::<u8>().ok().filter(|power| *power <= 19)? as usize;
        // What lies behind the point moves before it.
        let fraction = fraction.trim_end_matches('0');
        let zeros = power.checked_sub(fraction.len())?;
        let digits = format!("{whole}{fraction}{}", "0".repeat(zeros));
        let plain = !whole.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|value| plain && *value > 0)
    };
    exact().ok_or_else(|| "expected a whole number from 1 on, such as 50000, 50k or 1e6".into())
}

/// Four significant digits at most, three at least.
fn digits(value: f64) -> String {
    match value {
        v if v >= 99.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// A duration in a suitable unit; whole nanoseconds below a microsecond.
pub fn duration(ns: f64) -> String {
    match ns {
        v if v < 0.0 => format!("-{}", duration(-v)),
        v if v < 999.5 => format!("{v:.0} ns"),
        v if v < 999_950.0 => format!("{} us", digits(v / 1e3)),
        v if v < 999_950_000.0 => format!("{} ms", digits(v / 1e6)),
        v => format!("{} s", digits(v / 1e9)),
    }
}

/// A time of the simulated clock: milliseconds matter even after hours.
pub fn clock(ns: u64) -> String {
    if ns >= 1_000_000_000 { format!("{:.3} s", ns as f64 / 1e9) } else { duration(ns as f64) }
}

/// A size in binary units.
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, shift)) = UNITS.iter().find(|(_, shift)| bytes >> shift > 0) else { return format!("{bytes} B") };
    let value = bytes as f64 / (1u64 << shift) as f64;
    let text = if bytes.is_multiple_of(1 << shift) { format!("{value:.0}") } else { digits(value) };
    format!("{text} {unit}")
}

/// A rate per second: a whole number if it is large.
pub fn rate(value: f64) -> String {
    if value >= 100.0 { count(value.round() as u64) } else { digits(value) }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1} %", share * 100.0);
    if text == "-0.0 %" { "0.0 %".into() } else { text }
}

/// A share as a percentage with as many decimals as it needs.
pub fn percent_exact(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// `1 read`, `2 reads`
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A text cut to at most `most` characters.
pub fn clip_to(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.into() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0u64, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 55.0, 55_120.0, 999_960.0, 3_500_000.0, 2.5e9].map(duration),
            ["0 ns", "55 ns", "55.12 us", "1.00 ms", "3.50 ms", "2.50 s"]
        );
        assert_eq!([512, 4096, 1 << 30, 3 << 29].map(size), ["512 B", "4 KiB", "1 GiB", "1.50 GiB"]);
        assert_eq!([0.1, 0.21875, 0.15].map(percent_exact), ["10 %", "21.875 %", "15 %"]);
    }

    #[test]
    fn amounts_as_people_write_them() {
        for (text, value) in [
            ("1", 1),
            ("50_000", 50_000),
            ("100k", 100_000),
            ("1.5M", 1_500_000),
            ("2G", 2_000_000_000),
            ("1e6", 1_000_000),
            ("2.50E3", 2_500),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(amount(text), Ok(value), "{text}");
        }
        for text in ["", "0", "0k", "k", ".5k", "1.5", "1.2345k", "-1", "+1", "1e20", "1e-3", "100 k", "10kk", "ten"] {
            assert!(amount(text).is_err(), "{text}");
        }
    }
}
