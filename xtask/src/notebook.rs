//! Notebooks beside their Markdown: `docs/notebooks/NAME.md` is tested, `NAME.ipynb` is made of it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Result;
use crate::files::write;

/// A piece of a page.
enum Piece {
    /// Text, with blocks that are not Python.
    Text(Vec<String>),
    /// A block of Python, and what it prints.
    Code(Vec<String>, Option<Vec<String>>),
}

/// The pages that become notebooks.
pub fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("docs/notebooks");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut pages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    Ok(pages)
}

/// Writes a notebook beside each page.
pub fn write_all(root: &Path) -> Result<()> {
    for page in pages(root)? {
        let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
        write(&page.with_extension("ipynb"), &notebook(&text))?;
    }
    Ok(())
}

/// A page as a notebook (nbformat 4.5). A block marked `text` behind one of Python is its output.
pub fn notebook(page: &str) -> String {
    let cells: Vec<Value> = pieces(page).into_iter().enumerate().filter_map(|(i, piece)| cell(i, piece)).collect();
    let metadata = json!({
        "kernelspec": { "display_name": "Python 3", "language": "python", "name": "python3" },
        "language_info": { "name": "python" }
    });
    let whole = json!({ "cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5 });
    serde_json::to_string_pretty(&whole).expect("plain data") + "\n"
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text(Vec::new())];
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let mut block = || lines.by_ref().take_while(|line| *line != "```").map(String::from).collect::<Vec<_>>();
        if line == "```python" {
            let code = block();
            pieces.extend([Piece::Code(code, None), Piece::Text(Vec::new())]);
            continue;
        }
        let count = pieces.len();
        if line == "```text"
            && let [.., Piece::Code(_, printed @ None), Piece::Text(between)] = &mut pieces[..count]
            && between.iter().all(String::is_empty)
        {
            *printed = Some(block());
            continue;
        }
        if let Some(Piece::Text(text)) = pieces.last_mut() {
            text.push(line.into());
        }
    }
    pieces
}

/// The lines of a cell: each but the last ends its line.
fn source(lines: &[String]) -> Value {
    let last = lines.len().saturating_sub(1);
    let ended = lines.iter().enumerate().map(|(i, line)| if i < last { format!("{line}\n") } else { line.clone() });
    ended.collect()
}

/// A cell; none of a text without words.
fn cell(number: usize, piece: Piece) -> Option<Value> {
    let id = format!("cell-{number}");
    match piece {
        Piece::Text(lines) => {
            let first = lines.iter().position(|line| !line.is_empty())?;
            let last = lines.iter().rposition(|line| !line.is_empty())?;
            Some(json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": source(&lines[first..=last]) }))
        }
        Piece::Code(code, printed) => {
            let stream = printed.map(|lines| {
                let text: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
                json!({ "name": "stdout", "output_type": "stream", "text": text })
            });
            let outputs: Vec<Value> = stream.into_iter().collect();
            Some(json!({
                "cell_type": "code", "execution_count": null, "id": id, "metadata": {},
                "outputs": outputs, "source": source(&code)
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_cells_with_what_they_print() {
        let page = "# Title\n\nText.\n\n```python\na = 1\nprint(a)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n";
        let made: Value = serde_json::from_str(&notebook(page)).unwrap();
        let cells = made["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 3);
        assert_eq!(cells[0]["source"], json!(["# Title\n", "\n", "Text."]));
        assert_eq!(cells[1]["source"], json!(["a = 1\n", "print(a)"]));
        assert_eq!(cells[1]["outputs"][0]["text"], json!(["1\n"]));
        assert_eq!(cells[2]["source"], json!(["```sh\n", "ls\n", "```"]));
        assert_eq!((&made["nbformat"], &made["nbformat_minor"]), (&json!(4), &json!(5)));
    }

    #[test]
    fn notebooks_are_current() {
        let pages = pages(&crate::root()).unwrap();
        assert!(!pages.is_empty());
        for page in pages {
            let made = notebook(&std::fs::read_to_string(&page).unwrap());
            let shipped = std::fs::read_to_string(page.with_extension("ipynb")).unwrap_or_default();
            assert!(made == shipped, "{} is out of date: cargo xtask pages", page.with_extension("ipynb").display());
        }
    }
}
