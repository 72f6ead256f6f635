//! The style sheet of a page, and the digests by which it allows itself.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use ssdlab_figures::palette::{self, DARK, LIGHT};

const STYLE: &str = include_str!("../assets/page.css");
/// Rows of a table that the page prints.
pub(crate) const PRINTED_ROWS: usize = 40;
/// A folded table with this many rows is not printed unless the reader has opened it.
pub(crate) const LONG_ROWS: usize = 20;
/// Figures of which one is shown at a time.
pub(crate) const MOST_VIEWS: usize = 8;
/// Columns of numbers up to this one are aligned to the right.
pub(crate) const MOST_COLUMNS: usize = 24;
/// Kinds of verdicts: name, sign, and what a reader chooses.
pub(crate) const VERDICTS: [(&str, &str, &str); 4] =
    [("same", "=", "agree"), ("weaker", "~", "weaker"), ("other", "!", "other"), ("none", "?", "nothing to compare")];

/// The style sheet: colours of both themes as variables, and the colours of the drawn figures mapped to those of the dark theme.
pub(crate) fn style(drawn: &str) -> String {
    let mut pairs = palette::pairs();
    pairs.retain(|(light, _)| drawn.contains(&format!("\"{light}\"")));
    let own = |ground: &palette::Ground, dark: bool| {
        let rest = if dark {
            "--link:#6cb6ff;--soft:#232a32;--line:#303842;--edge:#78818b;--card:#14181d"
        } else {
            "--link:#0b5cad;--soft:#eef1f4;--line:#dde2e7;--edge:#767e87;--card:#ffffff"
        };
        let page = if dark { "#0c0f12" } else { "#f6f7f9" };
        let mut out = format!("--page:{page};--ink:{};--muted:{};{rest}", ground.ink, ground.muted);
        for (i, (light, night)) in pairs.iter().enumerate() {
            let _ = write!(out, ";--c{i}:{}", if dark { night } else { light });
        }
        out
    };
    let (light, dark) = (own(&LIGHT, false), own(&DARK, true));
    let mut out = format!(
        ":root{{{light}}}@media screen{{:root:has(#theme-dark:checked){{{dark}}}}}@media screen and (prefers-color-scheme:dark){{:root:not(:has(#theme-light:checked)){{{dark}}}}}"
    );
    for (i, (light, _)) in pairs.iter().enumerate() {
        for kind in ["fill", "stroke"] {
            if drawn.contains(&format!("{kind}=\"{light}\"")) {
                let root = if light == LIGHT.ink { format!("svg[{kind}=\"{light}\"],") } else { String::new() };
                let _ = write!(out, "{root}svg [{kind}=\"{light}\"]{{{kind}:var(--c{i})}}");
            }
        }
    }
    out.push_str(STYLE);
    let views = (1..=MOST_VIEWS).map(|i| format!(".views>input:nth-of-type({i}):checked~figure:nth-of-type({i})"));
    let views = views.collect::<Vec<_>>().join(",");
    // On paper a figure has its caption beside it.
    let _ = write!(out, "{views}{{display:var(--figure,block)}}");
    for (id, ..) in VERDICTS {
        let _ = write!(out, "@media screen{{#paper:has(#verdict-{id}:checked) .item:not(.has-{id}){{display:none}}}}");
    }
    let columns = |cell: &str| (1..=MOST_COLUMNS).map(|i| format!(".n{i} {cell}:nth-child({i})")).collect::<Vec<_>>();
    let _ = write!(out, "{},{}{{text-align:right}}", columns("td").join(","), columns("th").join(","));
    let _ = write!(out, "@media print{{tr:nth-child(n+{}){{display:none}}}}", PRINTED_ROWS + 1);
    out
}

pub(crate) fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}
