//! A bundle has all that its study needs, and shows it.

use ssdlab_bundle::choose::Many;
use ssdlab_bundle::figures::Spec;
use ssdlab_bundle::make::{Copies, Plan};
use ssdlab_bundle::manifest::{Manifest, RunState};
use ssdlab_bundle::traces::Obtain;
use ssdlab_bundle::unpack::{Bundle, MOST};
use ssdlab_bundle::verify::{How, Outcome, Verified, verify};
use ssdlab_lab::error::Class;
use ssdlab_lab::output::Folder;

use crate::common::{Lab, SMALL, below, small};
use crate::hostile::sealed;

fn results(verified: &Verified) -> Vec<(&'static str, Outcome)> {
    verified.checks.iter().map(|check| (check.name, check.result)).collect()
}

/// Made, shipped to an empty folder and verified: README's comparison as a study of 4 points x 3 seeds.
#[test]
fn the_worked_example() {
    let study = include_str!("../../../../docs/examples/victim-and-gc-time.toml");
    let lab = Lab::new("study.toml", study).run();
    let made = lab.make(&lab.plan()).unwrap();
    assert!(made.written.bytes < 1_200_000, "{}", made.written.bytes);
    let shipped = tempfile::tempdir().unwrap();
    let bundle = shipped.path().join("b");
    std::fs::rename(lab.bundle(), &bundle).unwrap();
    drop(lab);
    let digest = Some(made.written.sha256.clone());
    let verified = verify(&bundle, &How { digest, points: Many::All, ..How::default() }, &|_, _| {}).unwrap();
    assert_eq!(verified.exit_status(), 0, "{verified:?}");
    let names = ["archive", "records", "configurations", "study", "table", "figure"];
    assert_eq!(results(&verified), names.map(|name| (name, Outcome::Pass)));
    assert_eq!(
        verified.points.iter().map(|again| (again.point, again.runs)).collect::<Vec<_>>(),
        [(1, 3), (2, 3), (3, 3), (4, 3)]
    );
    assert!(verified.points.iter().all(|again| again.seconds > 0.0 && again.result == Outcome::Pass));
    assert!(verified.seconds < 30.0 || cfg!(debug_assertions), "{}", verified.seconds);
    assert_eq!(below(shipped.path()), ["b"], "nothing is left");
    let verified = verify(&bundle, &How { points: Many::Some(2), ..How::default() }, &|_, _| {}).unwrap();
    assert_eq!((verified.points.len(), verified.exit_status()), (2, 0), "the extremes");
    assert!(verified.all_seconds.unwrap() > verified.seconds);
}

#[test]
fn the_same_study_store_and_program_give_the_same_bytes() {
    let other = Lab::new("elsewhere/deep/study.toml", SMALL).run();
    other.make(&other.plan()).unwrap();
    assert!(std::fs::read(other.bundle()).unwrap() == small(), "the folder shows");
}

/// Changes a file inside, as the manifest announces it, and seals it.
fn changed(path: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("b");
    std::fs::write(&at, small()).unwrap();
    let mut files = Vec::new();
    let bundle = Bundle::open(&at, None).unwrap();
    let mut manifest: Manifest = bundle
        .files(MOST, &mut |_, content| {
            let mut text = String::new();
            content.read_to_string(&mut text).unwrap();
            files.push(text);
            Ok(())
        })
        .unwrap();
    let place = manifest.files.iter().position(|part| part.path.starts_with(path)).unwrap();
    let before = files[place].clone();
    files[place] = change(before.clone());
    assert!(files[place] != before, "{path} is the same");
    (manifest.files[place].bytes, manifest.files[place].sha256) =
        (files[place].len() as u64, ssdlab_bundle::seal::digest(files[place].as_bytes()));
    let mut archive = Vec::new();
    let text = manifest.text();
    let all = [("manifest.json".to_string(), text)].into_iter();
    for (path, content) in all.chain(manifest.files.iter().map(|part| part.path.clone()).zip(files)) {
        let bytes = content.len() as u64;
        archive.extend(ssdlab_bundle::pack::header(&path, bytes).unwrap().as_bytes());
        archive.extend(content.as_bytes());
        archive.extend(vec![0; ssdlab_bundle::pack::padding(bytes)]);
    }
    archive.extend([0; 1024]);
    sealed(&archive)
}

fn verified(bytes: &[u8]) -> Verified {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b");
    std::fs::write(&path, bytes).unwrap();
    verify(&path, &How { points: Many::All, ..How::default() }, &|_, _| {}).unwrap()
}

/// What is changed inside and sealed is found by what it follows from.
#[test]
fn a_number_that_was_made_up_is_found() {
    assert_eq!(verified(small()).exit_status(), 0);
    for (path, from, to, fails) in [
        ("store/runs/", "\"erases\": ", "\"erases\": 1", "records"),
        ("configurations/0001", "queue_depth = 32", "queue_depth = 31", "configurations"),
        ("figures/1-sweep-lines.csv", "greedy", "Greedy", "figure"),
        ("tables/runs.csv", "greedy", "Greedy", "table"),
        ("study/study.toml", "limit = 2000", "limit = 2001", "study"),
    ] {
        let found = verified(&changed(path, |text| text.replacen(from, to, 1)));
        assert_eq!(found.exit_status(), 5, "{path}");
        assert!(results(&found).contains(&(fails, Outcome::Fail)), "{path}: {found:?}");
    }
}

/// A record with a checksum of its own, but not what the run gives.
#[test]
fn a_record_that_was_sealed_anew_is_found_by_running_it() {
    let resealed = |text: String| {
        let text = text.replacen("\"erases\": ", "\"erases\": 1", 1);
        let (open, _) = text.rsplit_once(",\n  \"checksum\"").unwrap();
        let plain: String = format!("{open}\n}}\n");
        let (mut within, mut compact) = (false, String::new());
        for c in plain.chars() {
            if within || !c.is_whitespace() {
                compact.push(c);
            }
            within ^= c == '"';
        }
        format!("{open},\n  \"checksum\": \"{}\"\n}}\n", blake3::hash(compact.as_bytes()).to_hex())
    };
    let found = verified(&changed("store/runs/", resealed));
    assert!(results(&found).contains(&("records", Outcome::Pass)), "{found:?}");
    let wrong: Vec<_> = found.points.iter().filter(|again| again.result == Outcome::Fail).collect();
    assert_eq!((found.exit_status(), wrong.len()), (5, 1));
    assert_eq!(wrong[0].differences.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].differences[0].figure, "flash.erases");
}

/// Requests of a trace: 512 writes and reads.
fn trace() -> String {
    (0..512u64)
        .map(|i| format!("{},{},{},4096\n", i * 100_000, if i % 3 == 0 { "r" } else { "w" }, (i * 37 % 64) * 4096))
        .collect()
}

const WITH_FILES: &str = r#"schema = "ssdlab.study/1"
name = "files"
[base]
files = ["../configs/base.toml"]
[input]
traces = "../traces/*.csv"
format = "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes"
[axes]
file = ["fast.toml", "slow.toml"]
"#;

fn with_files() -> Lab {
    let lab = Lab::new("private/papers/study.toml", WITH_FILES);
    lab.write(
        "private/configs/base.toml",
        "[geometry]\nblocks_per_plane = 16\nchannels = 1\n[device]\nover_provisioning = 0.2\n",
    );
    lab.write("private/papers/fast.toml", "[timing]\nread = \"20us\"\n");
    lab.write("private/papers/slow.toml", "[timing]\nread = \"90us\"\n");
    lab.write("private/traces/a.csv", trace());
    lab.write("private/traces/b.csv", trace().replace("4096\n", "8192\n"));
    lab.run()
}

/// Files keep their relative paths, also above the study; names of folders around it do not travel.
#[test]
fn every_file_of_a_study_travels_under_its_relative_path() {
    let lab = with_files();
    let made = lab.make(&Plan { traces: Copies::Include, ..lab.plan() }).unwrap();
    let paths: Vec<&str> = made.manifest.files.iter().map(|part| part.path.as_str()).collect();
    let own: Vec<&str> = paths.iter().copied().filter(|path| path.starts_with("study/")).collect();
    let want =
        ["configs/base.toml", "here/fast.toml", "here/slow.toml", "here/study.toml", "traces/a.csv", "traces/b.csv"];
    assert_eq!(own, want.map(|path| format!("study/{path}")));
    let folder = Folder::scratch().unwrap();
    Bundle::open(&lab.bundle(), None).unwrap().extract(MOST, &folder).unwrap();
    for path in below(folder.place()) {
        let text = std::fs::read(folder.place().join(&path)).unwrap();
        assert!(!text.windows(7).any(|part| part == b"private"), "{path} says where it is from");
    }
    let found = verify(&lab.bundle(), &How { points: Many::All, ..How::default() }, &|_, _| {}).unwrap();
    assert_eq!((found.exit_status(), found.points.len()), (0, 4), "{found:?}");
}

#[test]
fn traces_that_do_not_travel_are_found_by_their_content() {
    let lab = with_files();
    let obtain = Obtain::parse(&["a.csv=https://example.org/a".into()]).unwrap();
    let made = lab.make(&Plan { obtain, ..lab.plan() }).unwrap();
    assert!(made.manifest.files.iter().all(|part| !part.path.contains("traces/")));
    let all = How { points: Many::All, ..How::default() };
    let found = verify(&lab.bundle(), &all, &|_, _| {}).unwrap();
    assert_eq!(found.exit_status(), 1);
    let whys: Vec<&str> = found.points.iter().filter_map(|again| again.why.as_deref()).collect();
    assert_eq!(whys.len(), 4);
    assert!(whys[0].contains("needs study/traces/a.csv (from https://example.org/a)"), "{whys:?}");
    // One of them, under another name; then both.
    let other = tempfile::tempdir().unwrap();
    std::fs::create_dir(other.path().join("deep")).unwrap();
    std::fs::copy(lab.path("private/traces/a.csv"), other.path().join("deep/mine")).unwrap();
    let with = || How { traces: Some(other.path().into()), ..all.clone() };
    let found = verify(&lab.bundle(), &with(), &|_, _| {}).unwrap();
    let passed = found.points.iter().filter(|again| again.result == Outcome::Pass).count();
    assert_eq!((found.exit_status(), passed), (1, 2), "{found:?}");
    std::fs::copy(lab.path("private/traces/b.csv"), other.path().join("b")).unwrap();
    let found = verify(&lab.bundle(), &with(), &|_, _| {}).unwrap();
    assert_eq!(found.exit_status(), 0, "{found:?}");
    assert!(results(&found).contains(&("table", Outcome::Pass)));
    // Another one of the same length.
    let mut bytes = std::fs::read(other.path().join("b")).unwrap();
    bytes[0] ^= 1;
    std::fs::write(other.path().join("b"), bytes).unwrap();
    assert_eq!(verify(&lab.bundle(), &with(), &|_, _| {}).unwrap().exit_status(), 1);
}

#[test]
fn an_unfinished_store_is_refused_unless_it_is_said() {
    let lab = Lab::new("study.toml", SMALL).run();
    lab.write("study.toml", SMALL.replace("\"fifo\"", "\"fifo\", \"random\""));
    let error = lab.make(&lab.plan()).unwrap_err();
    assert_eq!(error.class(), Class::Usage);
    assert!(error.to_string().contains("of 6 runs, 2 left and 0 failed"), "{error}");
    assert!(!lab.bundle().exists());
    let made = lab.make(&Plan { partial: true, ..lab.plan() }).unwrap();
    assert!(made.manifest.partial);
    assert_eq!((made.manifest.runs(RunState::Done), made.manifest.runs(RunState::Missing)), (4, 2));
    let folder = Folder::scratch().unwrap();
    Bundle::open(&lab.bundle(), None).unwrap().extract(MOST, &folder).unwrap();
    let readme = std::fs::read_to_string(folder.place().join("README.md")).unwrap();
    assert!(readme.contains("**This bundle is partial: 2 of 6 runs have no record.**"), "{readme}");
    let found = verify(&lab.bundle(), &How { points: Many::All, ..How::default() }, &|_, _| {}).unwrap();
    assert_eq!((found.exit_status(), found.points.len()), (0, 2), "{found:?}");
    let empty = Lab::new("study.toml", &SMALL.replace("2000", "1999"));
    ssdlab_sweep::store::Store::create(&empty.path("store"), ssdlab_sweep::disk::Disk::default()).unwrap();
    let error = empty.make(&Plan { partial: true, ..empty.plan() }).unwrap_err().to_string();
    assert!(error.contains("4 left"), "nothing to pack: {error}");
}

#[test]
fn what_can_not_be_packed_is_refused_by_name() {
    let lab = Lab::new("study.toml", SMALL).run();
    let refused = |plan: Plan, says: &str| {
        let error = lab.make(&plan).unwrap_err();
        assert_eq!(error.class(), Class::Usage, "{error}");
        assert!(error.to_string().contains(says), "{says}: {error}");
        assert!(!lab.bundle().exists());
    };
    refused(Plan { measure: Some("latency_ns.read.p98".into()), ..lab.plan() }, "did you mean");
    refused(Plan { figures: vec![Spec::parse("sweep-line").unwrap()], ..lab.plan() }, "did you mean `sweep-lines`?");
    refused(Plan { figures: vec![Spec::parse("pareto,x=no").unwrap()], ..lab.plan() }, "--figure pareto,x=no");
    refused(Plan { figures: vec![Spec::parse("wear").unwrap()], ..lab.plan() }, "have nothing for it");
    refused(Plan { title: Some(" ".into()), ..lab.plan() }, "no title");
    refused(Plan { authors: vec!["a\nb".into()], ..lab.plan() }, "no title and no name");
    refused(Plan { obtain: Obtain::parse(&["x=y".into()]).unwrap(), ..lab.plan() }, "reads no trace");
    for bad in ["x", "=y", "x= "] {
        assert!(Obtain::parse(&[bad.into()]).is_err(), "{bad}");
    }
    assert!(Obtain::parse(&["x=1".into(), "x=2".into()]).is_err());
    // Absolute paths mean other files elsewhere.
    let lab = Lab::new("study.toml", "");
    lab.write("t.csv", trace());
    let text =
        SMALL.replace("workload = \"quickstart\"", &format!("trace = \"{}\"", lab.path("elsewhere/t.csv").display()));
    lab.write("study.toml", text);
    let error = lab.make(&lab.plan()).unwrap_err().to_string();
    assert!(error.contains("by an absolute path"), "{error}");
}

/// A refused point is a result, and is checked like the others; `until` runs as many seeds as it says.
#[test]
fn refused_points_and_seeds_by_need_are_results() {
    let study = SMALL
        .replace("[axes]", "[axes]\n\"gc.reserve\" = [1, 16]")
        .replace("seeds = 2", "until = { measure = \"latency_ns.read.mean\", half_width = 0.05, most = 6 }");
    let lab = Lab::new("study.toml", &study).run();
    let made = lab.make(&lab.plan()).unwrap();
    assert_eq!(made.manifest.measure.as_deref(), Some("latency_ns.read.mean"));
    assert!(made.manifest.runs(RunState::Refused) > 0, "{:?}", made.manifest.points);
    let found = verify(&lab.bundle(), &How { points: Many::All, ..How::default() }, &|_, _| {}).unwrap();
    assert_eq!(found.exit_status(), 0, "{found:?}");
}
