//! Drives are data: no code names one of them, or the source of their measurements.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn no_code_knows_a_drive() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    // Models, but not makers, whom importers of other simulators may name, and not sizes.
    let mut words: Vec<String> = vec!["ssd-iq".into(), "ssdiq".into()];
    for drive in ssdlab_drives::book::all().unwrap() {
        let parts = drive.name.split('-').filter(|part| {
            let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
            letters > 0 && letters < part.len() && part.len() > 4 && !part.ends_with("gb")
        });
        words.extend(parts.map(str::to_lowercase));
    }
    assert!(words.len() > 4, "{words:?}");
    // The list of presets names files, which are data as the book is.
    for file in files.into_iter().filter(|file| !file.ends_with("sim/src/presets.rs")) {
        let text = std::fs::read_to_string(&file).unwrap().to_lowercase();
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} knows {word}", file.display());
        }
    }
}
