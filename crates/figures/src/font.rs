//! Widths of text in Liberation Sans, so that a figure is laid out alike on every machine.

/// Units of an em.
const EM: f64 = 2048.0;

/// Advance widths from `' '` to `'~'`.
const ASCII: [u16; 95] = [
    569, 569, 727, 1139, 1139, 1821, 1366, 391, 682, 682, 797, 1196, 569, 682, 569, 569, 1139, 1139, 1139, 1139, 1139,
    1139, 1139, 1139, 1139, 1139, 569, 569, 1196, 1196, 1196, 1139, 2079, 1366, 1366, 1479, 1479, 1366, 1251, 1593,
    1479, 569, 1024, 1366, 1139, 1706, 1479, 1593, 1366, 1593, 1479, 1366, 1251, 1479, 1366, 1933, 1366, 1366, 1251,
    569, 569, 569, 961, 1139, 682, 1139, 1139, 1024, 1139, 1139, 569, 1139, 1139, 455, 455, 1024, 455, 1706, 1139,
    1139, 1139, 1139, 682, 1024, 569, 1139, 1024, 1479, 1024, 1024, 1024, 684, 532, 684, 1196,
];

/// The width of a text at a font size, in the unit of the size.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| f64::from(advance(c))).sum::<f64>() * size / EM
}

/// Letters outside ASCII count as wide ones, so that a text never needs more room than it was given.
fn advance(c: char) -> u16 {
    match c {
        ' '..='~' => ASCII[c as usize - 32],
        '×' | '−' => 1196,
        '±' | '≥' | '≤' | 'µ' | '–' => 1180,
        '·' => 569,
        _ => 2048,
    }
}

/// A text of at most some width: its end is left out if need be.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut used = width("…", size);
    let mut out = String::new();
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        out.push(c);
    }
    if out.is_empty() { out } else { out.trim_end().to_string() + "…" }
}

/// A text broken between words into lines of at most some width.
pub fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, size, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit() {
        assert!((width("0123456789", 10.0) - 10.0 * 1139.0 / 204.8).abs() < 1e-9);
        assert_eq!(fitted("percentile", 10.0, 100.0), "percentile");
        assert!(width(&fitted("percentile", 10.0, 30.0), 10.0) <= 30.0);
        assert_eq!(fitted("percentile", 10.0, 1.0), "");
        assert_eq!(wrapped("one two three", 10.0, 40.0), ["one two", "three"]);
    }
}
