//! Archives that are made to do harm, with a seal that holds.

use std::path::Path;

use ssdlab_bundle::manifest::Manifest;
use ssdlab_bundle::pack::{header, padding};
use ssdlab_bundle::seal::{SEAL, digest, seal};
use ssdlab_bundle::unpack::{Bundle, MOST};
use ssdlab_lab::error::{Class, Error};
use ssdlab_lab::output::Folder;
use tar::{EntryType, Header};

use crate::common::{below, small};

/// A sealed bundle with this archive.
pub fn sealed(archive: &[u8]) -> Vec<u8> {
    let mut body = zstd::encode_all(archive, 1).unwrap();
    let seal = seal(&digest(&body));
    body.extend(seal);
    body
}

/// An archive as text and files.
struct Forged {
    manifest: Manifest,
    files: Vec<(Header, Vec<u8>)>,
    tail: Vec<u8>,
}

impl Forged {
    /// The small bundle, to be changed.
    fn new() -> Forged {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        std::fs::write(&path, small()).unwrap();
        let mut files = Vec::new();
        let bundle = Bundle::open(&path, None).unwrap();
        let manifest = bundle.files(MOST, &mut |part, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).unwrap();
            files.push((header(&part.path, part.bytes).unwrap(), bytes));
            Ok(())
        });
        Forged { manifest: manifest.unwrap(), files, tail: vec![0; 1024] }
    }

    fn archive(&self) -> Vec<u8> {
        let text = self.manifest.text().into_bytes();
        let first = header("manifest.json", text.len() as u64).unwrap();
        let mut out = Vec::new();
        for (header, bytes) in [(&first, &text)].into_iter().chain(self.files.iter().map(|(h, b)| (h, b))) {
            out.extend(header.as_bytes());
            out.extend(bytes);
            out.extend(vec![0; padding(bytes.len() as u64)]);
        }
        out.extend(&self.tail);
        out
    }

    /// What is said of it; nothing of it may be left.
    fn refused(&self, says: &str) -> Error {
        refused(&sealed(&self.archive()), MOST, says)
    }
}

fn refused(bytes: &[u8], most: u64, says: &str) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b");
    std::fs::write(&path, bytes).unwrap();
    let into = folder.path().join("in/into");
    std::fs::create_dir(into.parent().unwrap()).unwrap();
    let target = Folder::create(&into).unwrap();
    let error = Bundle::open(&path, None).and_then(|bundle| bundle.extract(most, &target)).expect_err(says);
    drop(target);
    assert!(error.to_string().contains(says), "{says}: {error}");
    assert_eq!(error.class(), Class::Trace, "{error}");
    assert_eq!(below(folder.path()), ["b"], "{says}");
    assert_eq!(std::fs::read_dir(folder.path().join("in")).unwrap().count(), 0, "{says}: nothing is left");
    error
}

/// A file beyond what the manifest announces, before the end.
fn beyond(kind: EntryType, path: &str, link: Option<&str>, content: &[u8]) -> Forged {
    let mut forged = Forged::new();
    let mut header = header("x", content.len() as u64).unwrap();
    // A path that the crate would not write either.
    let bytes = header.as_mut_bytes();
    bytes[..100].fill(0);
    bytes[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    if let Some(link) = link {
        header.set_link_name_literal(link).unwrap();
    }
    header.set_cksum();
    forged.files.push((header, content.to_vec()));
    forged
}

#[test]
fn what_is_forged_is_read_where_nothing_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, into) = (folder.path().join("b"), folder.path().join("into"));
    std::fs::write(&path, sealed(&Forged::new().archive())).unwrap();
    let target = Folder::create(&into).unwrap();
    let manifest = Bundle::open(&path, None).unwrap().extract(MOST, &target).unwrap();
    target.publish().unwrap();
    assert_eq!(below(&into).len(), manifest.files.len() + 1);
}

#[test]
fn links_and_devices_are_refused() {
    for (kind, says) in [
        (EntryType::Symlink, "is a link"),
        (EntryType::Link, "is a link"),
        (EntryType::Directory, "is neither a file nor expected"),
        (EntryType::Fifo, "is neither a file nor expected"),
        (EntryType::Char, "is neither a file nor expected"),
        (EntryType::Block, "is neither a file nor expected"),
        (EntryType::GNULongName, "is neither a file nor expected"),
        (EntryType::GNULongLink, "is neither a file nor expected"),
        (EntryType::GNUSparse, "is neither a file nor expected"),
        (EntryType::XHeader, "is neither a file nor expected"),
        (EntryType::XGlobalHeader, "is neither a file nor expected"),
        (EntryType::Continuous, "is neither a file nor expected"),
    ] {
        beyond(kind, "store/x", Some("/etc/passwd"), b"").refused(says);
        // In the place of a file that was announced.
        let mut forged = Forged::new();
        forged.files[2].0.set_entry_type(kind);
        forged.files[2].0.set_cksum();
        forged.refused(says);
    }
}

#[test]
fn paths_that_lead_outside_are_refused() {
    for (path, why) in [
        ("../x", "it has `..`"),
        ("a/../../x", "it has `..`"),
        ("/etc/x", "it is absolute"),
        ("\\\\server\\x", "it is absolute"),
        ("c:x", "a colon"),
        ("a\\..\\x", "a backslash"),
        ("a//x", "an empty part"),
        ("./x", "an empty part or `.`"),
        ("a\nx", "a control character"),
        ("x.", "ends with a dot"),
    ] {
        beyond(EntryType::Regular, path, None, b"").refused(why);
        // Announced as well.
        let mut forged = Forged::new();
        forged.manifest.files[0].path = path.into();
        forged.refused(why);
        // A trace that is not there is named by its path, too.
        let mut forged = Forged::new();
        forged.manifest.traces.push(ssdlab_bundle::manifest::TracePart {
            source: format!("trace:{}", "0".repeat(64)),
            file: path.into(),
            bytes: 1,
            sha256: "0".repeat(64),
            included: false,
            obtain: None,
        });
        forged.refused("has no digest or no place");
    }
}

#[test]
fn names_that_are_one_file_are_refused() {
    let with = |path: &str| {
        let mut forged = Forged::new();
        let mut part = forged.manifest.files[0].clone();
        part.path = path.into();
        forged.manifest.files.push(part);
        forged
    };
    with("README.md").refused("is there twice");
    with("Readme.MD").refused("is there twice");
    with("manifest.json").refused("is there twice");
    with("readme.md/x").refused("is a file and a folder");
    with("store").refused("is a file and a folder");
}

#[test]
fn lies_about_sizes_are_refused() {
    // Longer and shorter by the header.
    for length in [0, 7, 1 << 33, u64::MAX >> 1] {
        let mut forged = Forged::new();
        let own = &mut forged.files[1].0;
        own.set_size(length);
        own.set_cksum();
        forged.refused("bytes by its header, but");
    }
    // By the manifest.
    let mut forged = Forged::new();
    forged.manifest.files[1].bytes += 1;
    forged.refused("bytes by its header, but");
    // By both: the next header is then within the content.
    let mut forged = Forged::new();
    let bytes = forged.manifest.files[1].bytes + 512;
    forged.manifest.files[1].bytes = bytes;
    forged.files[1].0 = header(&forged.manifest.files[1].path, bytes).unwrap();
    forged.refused("does not have the digest");
    // The sum is beyond 64 bits.
    let mut forged = Forged::new();
    forged.manifest.files[1].bytes = u64::MAX;
    forged.refused("beyond 64 bits");
    // A header whose length is no number, and one of the manifest beyond any.
    let mut forged = Forged::new();
    forged.files[1].0.as_mut_bytes()[124..136].fill(b'z');
    forged.refused("is not as ssdlab writes it");
    let mut archive = Forged::new().archive();
    archive[..512].copy_from_slice(header("manifest.json", 1 << 40).unwrap().as_bytes());
    refused(&sealed(&archive), MOST, "the limit for one");
}

/// A gigabyte of zeros, compressed to a few kilobytes, is not written, wherever it is.
#[test]
fn bombs_are_refused() {
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut bomb, &Forged::new().archive()).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 1 << 30), &mut bomb).unwrap();
    let mut bytes = bomb.finish().unwrap();
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    bytes.extend(seal(&digest(&bytes)));
    refused(&bytes, MOST, "something follows the end");
    // One that is announced is beyond the limit, before anything of it is read.
    let mut forged = Forged::new();
    forged.manifest.files[0].bytes = MOST;
    forged.refused("more than the limit");
    let all = Forged::new().manifest.bytes();
    refused(&sealed(&Forged::new().archive()), all - 1, "raise the limit with --max-size");
    // A second frame, and a window that takes more memory than is given.
    let mut two = zstd::encode_all(&Forged::new().archive()[..], 1).unwrap();
    two.extend(zstd::encode_all(&b"more"[..], 1).unwrap());
    two.extend(seal(&digest(&two)));
    refused(&two, MOST, "something follows the end");
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(31).unwrap();
    wide.long_distance_matching(true).unwrap();
    std::io::Write::write_all(&mut wide, &Forged::new().archive()).unwrap();
    let mut wide = wide.finish().unwrap();
    wide.extend(seal(&digest(&wide)));
    refused(&wide, MOST, "can't be decompressed");
}

#[test]
fn what_is_missing_swapped_or_changed_is_refused() {
    let mut forged = Forged::new();
    forged.files.pop();
    forged.refused("the archive ends before");
    let mut forged = Forged::new();
    forged.files.swap(0, 1);
    forged.refused("stands where");
    let mut forged = Forged::new();
    let last = forged.files.len() - 1;
    forged.files[last].1[0] ^= 1;
    forged.refused("does not have the digest");
    let mut forged = Forged::new();
    forged.tail.truncate(512);
    forged.refused("the archive ends within its end");
    forged.tail.clear();
    forged.refused("the archive ends within its end");
    beyond(EntryType::Regular, "more", None, b"abc").refused("stands where the end of the archive was announced");
    for change in [|header: &mut Header| header.set_mode(0o4755), |header: &mut Header| header.set_uid(7)] {
        let mut forged = Forged::new();
        change(&mut forged.files[3].0);
        forged.files[3].0.set_cksum();
        forged.refused("is not as ssdlab writes it");
    }
    refused(&sealed(b""), MOST, "the archive ends within its first header");
    let whole = small();
    let mut cut = whole[..whole.len() - SEAL - 9].to_vec();
    cut.extend(seal(&digest(&cut)));
    refused(&cut, MOST, "");
}

#[test]
fn a_manifest_that_contradicts_itself_is_refused() {
    let of = |change: &dyn Fn(&mut Manifest), says: &str| {
        let mut forged = Forged::new();
        change(&mut forged.manifest);
        forged.refused(says);
    };
    of(&|m| m.schema = "ssdlab.bundle/2".into(), "is `ssdlab.bundle/2`, not ssdlab.bundle/1");
    of(&|m| m.study.file = "study/other.toml".into(), "is missing among its files");
    of(&|m| m.points[0].runs[0].key = "../../../x".into(), "has a run without a key");
    of(&|m| m.points[0].runs.clear(), "out of order, or has no runs");
    of(&|m| m.points[1].number = 1, "out of order");
    of(&|m| m.points[0].configuration = "../x".into(), "is missing among its files");
    of(&|m| m.figures[0].data = "nothing.csv".into(), "is missing among its files");
    of(&|m| m.files[0].sha256 = "A".repeat(64), "has no digest");
    of(&|m| m.partial = true, "whether runs are missing");
    of(&|m| m.tolerance = -1.0, "the tolerance is no share");
    of(&|m| m.points[0].traces.push("trace:x".into()), "which is no trace of the bundle");
    // Blanks, unknown keys and other texts.
    let text = Forged::new().manifest.text();
    for (other, says) in [
        (text.replacen('{', "{ ", 1), "is not as ssdlab writes it"),
        (text.replacen("\"title\"", "\"more\": 1,\n  \"title\"", 1), "unknown field `more`"),
        ("{}".to_string(), "is not that of a bundle"),
        ("\u{1b}[31m".to_string(), "is not that of a bundle"),
    ] {
        let mut archive = header("manifest.json", other.len() as u64).unwrap().as_bytes().to_vec();
        archive.extend(other.as_bytes());
        archive.extend(vec![0; padding(other.len() as u64) + 1024]);
        refused(&sealed(&archive), MOST, says);
    }
}

/// A study that is sealed with paths to files of the reviewer does not read them.
#[test]
fn studies_name_nothing_outside() {
    use ssdlab_bundle::verify::{How, verify};
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "secret = 1\n").unwrap();
    let path = |text: &Path| text.display().to_string();
    let up = format!("{}{}", "../".repeat(30), path(outside.path()).trim_start_matches('/'));
    for own in [path(outside.path()), up] {
        for (from, to) in [
            ("[base]", format!("[base]\nfiles = [\"{own}\"]")),
            ("workload = \"quickstart\"", format!("trace = \"{own}\"")),
            ("workload = \"quickstart\"", format!("traces = \"{own}*\"")),
            ("workload = \"quickstart\"", format!("workload = \"{own}.toml\"")),
            ("workload = \"quickstart\"", format!("tenants = [\"a=trace:{own}\"]")),
            ("[axes]", format!("[axes]\nfile = [\"{own}\"]")),
            ("[repeat]", format!("[design]\nkind = \"list\"\nlist = \"{own}\"\n[repeat]")),
        ] {
            let mut forged = Forged::new();
            let at = forged.manifest.files.iter().position(|part| part.path == "study/study.toml").unwrap();
            let text = crate::common::SMALL.replacen(from, &to, 1).into_bytes();
            forged.files[at] = (header("study/study.toml", text.len() as u64).unwrap(), text.clone());
            forged.manifest.files[at].bytes = text.len() as u64;
            forged.manifest.files[at].sha256 = digest(&text);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("b");
            std::fs::write(&path, sealed(&forged.archive())).unwrap();
            let error = verify(&path, &How::default(), &|_, _| {}).map(|_| ()).expect_err(&to).to_string();
            assert!(error.contains("do not trust it") && !error.contains("secret"), "{to}: {error}");
        }
    }
}
