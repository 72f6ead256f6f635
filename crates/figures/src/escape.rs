//! Text from outside in HTML, SVG and scripts: one function each.

use serde_json::Value;

/// Whether a sign turns the direction of the text around it.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A text in HTML, in an element or a quoted attribute. Signs that turn the direction of text are written out.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if turns(c) => out.extend(c.escape_unicode()),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text in SVG: as [`html`], without control characters, which XML forbids.
pub fn svg(text: &str) -> String {
    let allowed = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    html(&text.chars().filter(allowed).collect::<String>())
}

/// A value as JSON in a `<script>` element: nothing in it can end the element or a line of script, and no text turns others around.
pub fn json_in_script(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            // Such a sign stands within a string, where this is the text of its escape.
            c if turns(c) => out.push_str(&format!("\\\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A value as JSON in an attribute between single quotes, in HTML and SVG.
pub fn attribute(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            // JSON escapes the control characters that XML forbids, but not these.
            '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {}
            c if turns(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Most characters of a name that is shown.
pub const LONGEST: usize = 200;

/// A name as it is shown: over [`LONGEST`] characters, its middle is left out. Signs that turn the direction of text around them are
/// left out too.
pub fn name(text: &str) -> String {
    let chars: Vec<char> = text
        .chars()
        .filter(|c| !turns(*c))
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect();
    if chars.len() <= LONGEST {
        return chars.into_iter().collect();
    }
    let half = LONGEST / 2;
    let (head, tail) = (&chars[..half], &chars[chars.len() - (LONGEST - half - 1)..]);
    head.iter().chain(['…'].iter()).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(html(r#"<a href="x" o='y'>&"#), "&lt;a href=&quot;x&quot; o=&#39;y&#39;&gt;&amp;");
        assert_eq!(svg("a\u{0}\u{1b}[31m]]>\u{ffff}"), "a[31m]]&gt;");
        let hostile = serde_json::json!("</script><!--\u{2028}\u{2029}&");
        let text = json_in_script(&hostile);
        assert_eq!(text, r#""\u003c/script\u003e\u003c!--\u2028\u2029\u0026""#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(name("web\u{202e}gpj.exe\n"), "webgpj.exe ");
        let long = name(&("A".repeat(5_000) + &"B".repeat(5_000)));
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.starts_with("AAA") && long.ends_with("BBB") && long.contains('…'));
    }
}
