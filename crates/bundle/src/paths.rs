//! Paths inside a bundle: relative, with `/` between their parts, and the same file on every system.

use std::path::{Component, Path};

/// Longest path that a header of an archive holds for sure.
const LONGEST: usize = 255;

/// Why a path can't be that of a file in a bundle; none if it can.
pub fn refused(path: &str) -> Option<&'static str> {
    if path.starts_with('/') || path.starts_with('\\') {
        return Some("it is absolute");
    }
    if path.is_empty() || path.len() > LONGEST {
        return Some("it is empty or longer than 255 bytes");
    }
    let mut parts = path.split('/');
    parts.find_map(|part| match part {
        ".." => Some("it has `..`"),
        "" | "." => Some("it has an empty part or `.`"),
        part if part.contains(['\\', ':']) => Some("it has a backslash or a colon"),
        part if part.chars().any(char::is_control) => Some("it has a control character"),
        part if part.ends_with(['.', ' ']) => Some("a part ends with a dot or a blank"),
        _ => None,
    })
}

/// A path seen from the folder of a study: so many folders up, then down these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Folders up.
    pub up: usize,
    /// The names from there, with `/` between them.
    pub down: String,
}

/// A path as it is seen from a folder, by its text alone; none if it is absolute.
pub fn seen(path: &Path) -> Option<Seen> {
    let (mut up, mut down) = (0, Vec::new());
    for part in path.components() {
        match part {
            Component::Normal(name) => down.push(name.to_str()?),
            Component::ParentDir if down.pop().is_none() => up += 1,
            Component::ParentDir | Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(Seen { up, down: down.join("/") })
}

/// Where studies and the files that they name are.
pub const STUDY: &str = "study";
/// A folder between the top and the study, for each `..` of the paths that it names. It stands for the name of the folder that the
/// study was in, which is nobody's business.
const BETWEEN: &str = "here";

/// The place of a file of a study inside, if paths of the study go up at most `depth` folders: relative paths stay as they are.
pub fn placed(seen: &Seen, depth: usize) -> String {
    let between = std::iter::repeat_n(BETWEEN, depth - seen.up);
    let parts: Vec<&str> = [STUDY].into_iter().chain(between).chain([seen.down.as_str()]).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for bad in ["/etc/passwd", "..", "a/../b", "../a", "a//b", "a/", "./a", "", "a\\b", "c:a", "a\nb", "a.", "a/b "]
        {
            assert!(refused(bad).is_some(), "{bad:?}");
        }
        for good in ["a", "a/b.c", ".zenodo.json", "a b/é..x", "..a"] {
            assert_eq!(refused(good), None, "{good}");
        }
        assert!(refused(&"a".repeat(256)).is_some() && refused(&"a".repeat(255)).is_none());
    }

    #[test]
    fn relative_paths_of_a_study_stay_as_they_are() {
        let seen = |text: &str| seen(Path::new(text));
        assert_eq!(seen("/a/b"), None);
        let (study, beside, above) =
            (seen("s.toml").unwrap(), seen("./x/../c/a.toml").unwrap(), seen("../../t/b").unwrap());
        assert_eq!((above.up, above.down.as_str()), (2, "t/b"));
        let places = [study, beside, above].map(|seen| placed(&seen, 2));
        assert_eq!(places, ["study/here/here/s.toml", "study/here/here/c/a.toml", "study/t/b"]);
    }
}
