//! Text of unknown origin, made safe to show.

use serde::Serialize;
use std::fmt::Write as _;

/// Longest excerpt of foreign text in a message, in bytes as shown.
pub const EXCERPT_BYTES: usize = 120;

/// A piece of the offending line, escaped and at most [`EXCERPT_BYTES`] long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The text as shown: control bytes and everything beyond ASCII as escapes.
    pub text: String,
    /// First character of `text` that the message is about.
    pub from: usize,
    /// Number of characters that the message is about, at least 1.
    pub len: usize,
}

impl Excerpt {
    /// Cuts an excerpt of at most [`EXCERPT_BYTES`] shown bytes out of `line` around the bytes `span`.
    pub fn cut(line: &[u8], span: std::ops::Range<usize>) -> Excerpt {
        let start = span.start.min(line.len());
        let end = span.end.clamp(start, line.len());
        // Some context on the left; the rest of the room goes to the right.
        let mut first = start.saturating_sub(60);
        let budget = EXCERPT_BYTES - 3;
        loop {
            let before: usize = line[first..start].iter().map(|&b| shown_len(b)).sum();
            if before <= 60 || first >= start {
                break;
            }
            first += 1;
        }
        let mut text = String::new();
        if first > 0 {
            text.push('…');
        }
        let mut from = text.chars().count();
        let mut len = 0;
        for (i, &byte) in line.iter().enumerate().skip(first) {
            if text.len() + shown_len(byte) > budget {
                text.push('…');
                break;
            }
            if i == start {
                from = text.chars().count();
            }
            let shown = text.len();
            push_escaped(&mut text, byte);
            if i >= start && i < end {
                len += text.len() - shown;
            }
        }
        if start >= line.len() {
            from = text.chars().count();
        }
        Excerpt { text, from, len: len.max(1) }
    }
}

fn shown_len(byte: u8) -> usize {
    match byte {
        b' '..=b'~' => 1,
        b'\t' | b'\n' | b'\r' | 0 => 2,
        _ => 4,
    }
}

fn push_escaped(text: &mut String, byte: u8) {
    match byte {
        b' '..=b'~' => text.push(byte as char),
        b'\t' => text.push_str("\\t"),
        b'\n' => text.push_str("\\n"),
        b'\r' => text.push_str("\\r"),
        0 => text.push_str("\\0"),
        _ => {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
}

/// Whether a terminal or its reader may take this character for something else: control characters, marks of direction,
/// line ends and characters without width.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text of unknown origin, safe to print: letters of any script stay; characters that act ([`acts`]) and bytes that are not
/// UTF-8 are escaped; the text is cut after `most` bytes. Every text from a file passes through here before it is
/// printed.
pub fn foreign(text: impl AsRef<[u8]>, most: usize) -> String {
    let mut shown = String::new();
    for chunk in text.as_ref().utf8_chunks() {
        for c in chunk.valid().chars() {
            let start = shown.len();
            if acts(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
            if shown.len() > most {
                shown.truncate(start);
                shown.push('…');
                return shown;
            }
        }
        for &byte in chunk.invalid() {
            if shown.len() + shown_len(byte) > most {
                shown.push('…');
                return shown;
            }
            push_escaped(&mut shown, byte);
        }
    }
    shown
}

/// A time in seconds, to the nanosecond.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// ` (did you mean this?)` of the known name that is at most two letters away from the first `most` bytes of a given one, if any is.
pub(crate) fn meant(given: &str, most: usize, known: &[&str]) -> String {
    let given = given.get(..most).unwrap_or(given);
    let near = known.iter().map(|name| (strsim::damerau_levenshtein(name, given), *name)).min();
    near.filter(|(distance, _)| *distance <= 2).map_or(String::new(), |(_, name)| format!(" (did you mean {name}?)"))
}

/// A name or a word from inside a file, for messages: [`foreign`], at most [`EXCERPT_BYTES`] long.
pub fn escape(bytes: &[u8]) -> String {
    foreign(bytes, EXCERPT_BYTES - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_and_harmless() {
        let mut line = vec![0x1b; 5_000];
        line[4_000] = b'x';
        let excerpt = Excerpt::cut(&line, 4_000..4_001);
        assert!(excerpt.text.len() <= EXCERPT_BYTES, "{}", excerpt.text.len());
        assert!(excerpt.text.chars().all(|c| c == '…' || (' '..='~').contains(&c)));
        assert_eq!(excerpt.text.chars().nth(excerpt.from), Some('x'));
        assert_eq!(foreign("a\u{1b}[2Jé\u{202e}", 99), "a\\u{1b}[2Jé\\u{202e}");
        assert_eq!(foreign(b"\xff\n\xc2\x9b", 99), "\\xff\\n\\u{9b}");
        assert_eq!(foreign("ééé", 4), "éé…");
    }
}
