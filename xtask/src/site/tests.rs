//! Every page is in the contents, is reached in two clicks, leads to the next one, and names what exists.

use std::collections::BTreeSet;

use super::*;

/// Every Markdown page of docs/ as the contents name it.
fn files(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            files(&entry.path(), &format!("{prefix}{name}/"), found);
        } else if name.ends_with(".md") && name != "SUMMARY.md" {
            found.insert(format!("{prefix}{name}"));
        }
    }
}

fn contents() -> Vec<Page> {
    pages(&text(&crate::root().join("docs/SUMMARY.md")).unwrap())
}

/// What a page links to outside of code, without what is elsewhere on the network.
fn links(page: &str) -> Vec<String> {
    let mut block = false;
    let mut found = Vec::new();
    for line in page.lines() {
        block ^= line.trim_start().starts_with("```");
        let plain: String = line.split('`').step_by(2).collect();
        if block {
            continue;
        }
        let ends = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(ends.filter(|link| !link.starts_with("http")).map(String::from));
    }
    found
}

/// The anchor of a heading, as the common renderers make it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut block = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        block ^= line.starts_with("```");
        if !block && line.starts_with('#') {
            found.insert(anchor(line));
        }
    }
    found
}

#[test]
fn every_page_is_in_the_contents_once() {
    let mut there = BTreeSet::new();
    files(&crate::root().join("docs"), "", &mut there);
    let listed: Vec<String> =
        contents().into_iter().map(|page| page.file).filter(|file| !file.starts_with("../")).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is there twice");
    assert_eq!(once, there, "docs/SUMMARY.md lists every page of docs/, and `cargo xtask pages` links them");
    assert!(there.len() > 35);
}

#[test]
fn every_link_leads_somewhere() {
    let docs = crate::root().join("docs");
    let mut checked = 0;
    for page in contents() {
        let path = docs.join(&page.file);
        for link in links(&text(&path).unwrap()) {
            let (file, part) = link.split_once('#').map_or((link.as_str(), None), |(file, part)| (file, Some(part)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}", page.file);
            if let Some(part) = part.filter(|_| target.extension().is_some_and(|ending| ending == "md")) {
                assert!(anchors(&text(&target).unwrap()).contains(part), "{}: {link} has no such heading", page.file);
            }
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked} links");
}

/// From the README, a page is one link or two away.
#[test]
fn every_page_is_reached_in_two_clicks() {
    let root = crate::root();
    let place = |from: &Path, link: &str| {
        let path = from.parent().unwrap().join(link.split('#').next().unwrap());
        path.canonicalize().ok().filter(|path| path.is_file())
    };
    let of = |path: &Path| -> BTreeSet<PathBuf> {
        links(&text(path).unwrap()).iter().filter_map(|link| place(path, link)).collect()
    };
    let first = of(&root.join("README.md"));
    let pages = first.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let second: BTreeSet<PathBuf> = pages.flat_map(|path| of(path)).collect();
    for page in contents() {
        let path = root.join("docs").join(&page.file).canonicalize().unwrap();
        assert!(first.contains(&path) || second.contains(&path), "{} takes more than two clicks", page.file);
    }
}

#[test]
fn every_page_ends_with_the_next_one() {
    let docs = crate::root().join("docs");
    let all = contents();
    let mut checked = 0;
    for (from, to) in pairs(&all) {
        let page = text(&docs.join(&from.file)).unwrap();
        assert!(page == leading(&page, from, to), "{} does not lead to {}: cargo xtask pages", from.file, to.file);
        checked += 1;
    }
    assert!(checked + PRINTED.len() > 35, "{checked} pages");
    for file in PRINTED.iter() {
        assert!(all.iter().any(|page| page.file == *file), "{file} is a page");
    }
}

#[test]
fn the_line_is_replaced() {
    let page = |file: &str| Page { title: "T".into(), file: file.into() };
    let once = leading("# A\n\nText.\n", &page("papers/a.md"), &page("b.md"));
    assert_eq!(once, "# A\n\nText.\n\nNext: [T](../b.md)\n");
    assert_eq!(leading(&once, &page("papers/a.md"), &page("../c.md")), "# A\n\nText.\n\nNext: [T](../../c.md)\n");
    assert_eq!(pages("# S\n\n[A](a.md)\n- [B](b/c.md)\n  - [C](../D.md)\n").len(), 3);
}

#[test]
fn pages_of_the_root_are_found_in_the_site() {
    let all = pages("- [A](a.md)\n- [S](../SECURITY.md)\n");
    let page = "[x](../SECURITY.md) [y](../../SECURITY.md#z) [w](docs/a.md) [v](../a.md)";
    assert_eq!(moved(page, &all), "[x](SECURITY.md) [y](../SECURITY.md#z) [w](a.md) [v](../a.md)");
}

/// The book is built where mdbook is: without a message, and every page of the contents is a page of it.
#[test]
fn the_site_is_built() {
    let Some(program) = mdbook() else {
        assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "mdbook is not here, and SSDLAB_REQUIRE is set");
        println!("mdbook is not here: the site is not built");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    assemble(&crate::root(), &site).unwrap();
    let output = Command::new(program).arg("build").arg(&site).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    for page in contents() {
        let name = page.file.trim_start_matches("../").replace("README.md", "index.md").replace(".md", ".html");
        let path = site.join("book").join(&name);
        let html = text(&path).unwrap();
        for link in html.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next()) {
            let elsewhere = link.is_empty() || link.contains(':') || link.starts_with("//");
            assert!(elsewhere || path.parent().unwrap().join(link).exists(), "{name}: {link}");
        }
    }
    let index = std::fs::read_dir(site.join("book")).unwrap().flatten();
    assert!(
        index.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("searchindex")),
        "its search"
    );
}
