//! How facts and columns are laid out as lines of text. Labels and values of studies, names of tenants and the like come from files:
//! here, and not at its callers, everything that a terminal could obey is escaped.

use std::borrow::Cow;
use std::sync::OnceLock;

use comfy_table::{CellAlignment, Table};
use ssdlab_trace::{acts, foreign};

/// A text of a cell or a fact as it is printed. Lines of a cell stay lines.
fn tame(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && acts(c)) {
        return text.into();
    }
    let lines: Vec<String> = text.split('\n').map(|line| foreign(line, usize::MAX)).collect();
    lines.join("\n").into()
}

/// Lines of a label and a text; an empty label continues the one above.
pub fn facts(out: &mut String, lines: &[(&str, String)]) {
    for (label, text) in lines {
        let mut label = *label;
        for line in wrap(&tame(text), width().saturating_sub(INDENT)) {
            out.push_str(format!("{label:<INDENT$}{line}").trim_end());
            out.push('\n');
            label = "";
        }
    }
}

/// Columns of text where nothing says how many there are: in files and pipes.
pub const WIDTH: usize = 100;
/// Fewest and most columns that text is fitted to.
pub const COLUMNS: std::ops::RangeInclusive<usize> = 40..=400;
/// Columns that text is fitted to, if it is.
static FITTED: OnceLock<usize> = OnceLock::new();

/// Fits all text from now on to so many columns, as far as [`COLUMNS`] go; only the first call counts.
pub fn fit(columns: usize) {
    let _ = FITTED.set(columns.clamp(*COLUMNS.start(), *COLUMNS.end()));
}

/// Columns of the terminal, if standard output is one.
pub fn terminal() -> Option<usize> {
    Table::new().width().map(usize::from).filter(|columns| *columns > 0)
}

/// Columns of lines of text.
pub fn width() -> usize {
    FITTED.get().copied().unwrap_or(WIDTH)
}
/// Columns of the labels of facts.
const INDENT: usize = 21;

/// Breaks a text between words.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Columns, the first one to the left and the others to the right; the last one to the left if it is text. Where text is fitted to a
/// width, columns beyond it stand below, behind the first one again.
pub fn grid(out: &mut String, rows: &[Vec<String>], text_last: bool) {
    let Some(columns) = FITTED.get() else { return one_grid(out, rows, text_last) };
    let groups = groups(rows, *columns);
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let part = rows.iter().map(|row| row.iter().take(1).chain(row.iter().take(group.end).skip(group.start)));
        let mut part: Vec<Vec<String>> = part.map(|row| row.cloned().collect()).collect();
        let text_last = text_last && i + 1 == groups.len();
        if text_last && group.len() == 1 {
            let label = part.iter().filter_map(|row| row.first()).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let text = part.iter_mut().filter_map(|row| row.get_mut(1));
            text.for_each(|cell| *cell = wrap(cell, columns.saturating_sub(label + 2)).join("\n"));
        }
        one_grid(out, &part, text_last);
    }
}

/// Which columns behind the first stand side by side.
fn groups(rows: &[Vec<String>], columns: usize) -> Vec<std::ops::Range<usize>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let longest = |text: &str| tame(text).split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
    let width =
        |place: usize| rows.iter().filter_map(|row| row.get(place)).map(|cell| longest(cell)).max().unwrap_or(0);
    let first = width(0);
    let (mut groups, mut start, mut used) = (Vec::new(), 1, first);
    for place in 1..count {
        let own = width(place) + 2;
        if used + own > columns && place > start {
            groups.push(start..place);
            (start, used) = (place, first);
        }
        used += own;
    }
    groups.push(start..count.max(1));
    groups
}

fn one_grid(out: &mut String, rows: &[Vec<String>], text_last: bool) {
    let last = rows.first().map_or(0, Vec::len) - 1;
    columns(out, rows, |i| i == 0 || (i == last && text_last));
}

/// Columns, all to the left.
pub fn left(out: &mut String, rows: &[Vec<String>]) {
    columns(out, rows, |_| true);
}

/// Columns: texts to the left, the others to the right.
fn columns(out: &mut String, rows: &[Vec<String>], is_text: impl Fn(usize) -> bool) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    rows.iter().for_each(|row| _ = table.add_row(row.iter().map(|cell| tame(cell))));
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if is_text(i) { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_beyond_the_width_stand_below() {
        let row = |cells: [&str; 4]| cells.map(String::from).to_vec();
        let rows = [row(["latency", "mean", "p99", "p99.9"]), row(["reads", "1.48 ms", "33.55 ms", "42.93 ms"])];
        let ends = |rows: &[Vec<String>], columns| -> Vec<(usize, usize)> {
            groups(rows, columns).into_iter().map(|group| (group.start, group.end)).collect()
        };
        assert_eq!(ends(&rows, 100), [(1, 4)]);
        // 7 for the label, 2 + 7 for the mean, 2 + 8 for each percentile.
        assert_eq!(ends(&rows, 36), [(1, 4)]);
        assert_eq!(ends(&rows, 35), [(1, 3), (3, 4)]);
        assert_eq!(ends(&rows, 10), [(1, 2), (2, 3), (3, 4)], "a column is never left out");
        assert_eq!(ends(&[vec!["alone".into()]], 3), [(1, 1)]);
    }
}
