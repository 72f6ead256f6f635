//! How facts and columns are laid out as lines of text. Labels and values of studies, names of tenants and the like come from files:
//! here, and not at its callers, everything that a terminal could obey is escaped.

use std::borrow::Cow;

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
        for line in wrap(&tame(text), WIDTH - INDENT) {
            out.push_str(format!("{label:<INDENT$}{line}").trim_end());
            out.push('\n');
            label = "";
        }
    }
}

/// Columns of the table as a whole.
pub const WIDTH: usize = 100;
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

/// Columns, the first one to the left and the others to the right; the last one to the left if it is text.
pub fn grid(out: &mut String, rows: &[Vec<String>], text_last: bool) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    for row in rows {
        table.add_row(row.iter().map(|cell| tame(cell)));
    }
    let last = rows.first().map_or(0, Vec::len) - 1;
    for (i, column) in table.column_iter_mut().enumerate() {
        let text = i == 0 || (i == last && text_last);
        column.set_cell_alignment(if text { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Columns, all to the left.
pub fn left(out: &mut String, rows: &[Vec<String>]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    rows.iter().for_each(|row| _ = table.add_row(row.iter().map(|cell| tame(cell))));
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
