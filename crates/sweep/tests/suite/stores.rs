//! What a store keeps of killed processes, and how it finds records and traces that were changed.

use ssdlab_sweep::execute::{Options, Retry};
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::status::{Standing, Survey};
use ssdlab_sweep::store::{Failed, Failure};

use crate::sweeps::{create, one_job, points, sweep};

/// The mark of a process of this machine that has ended; none where there is no process to start.
fn mark_of_the_dead(attempt: u64, kills: u64) -> Option<serde_json::Value> {
    let mut gone = std::process::Command::new("true").spawn().ok()?;
    gone.wait().unwrap();
    let (host, process) = (ssdlab_sweep::store::host(), gone.id());
    Some(serde_json::json!({ "host": host, "process": process, "started": 7, "attempt": attempt, "kills": kills }))
}

#[test]
fn a_killed_process_is_no_attempt_and_counts_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let points = points("");
    let store = create(&folder.path().join("store"));
    let run = &points.runs()[0];
    let mark = folder.path().join("store/runs").join(&run.key[..2]).join(format!("{}.run", run.key));
    let killed = |attempt: u64, kills: u64| {
        let text = mark_of_the_dead(attempt, kills)?;
        std::fs::create_dir_all(mark.parent().unwrap()).unwrap();
        std::fs::write(&mark, text.to_string()).unwrap();
        Some(())
    };
    let none = Options { time_limit_ns: Some(1), ..one_job() };
    // The second attempt was killed: one has ended, and one was killed.
    let Some(()) = killed(2, 0) else { return };
    sweep(&points, &store, &none);
    let failure = store.failure(&run.key).unwrap();
    assert_eq!((failure.status, failure.attempts, failure.kills, mark.exists()), (Failed::Killed, 1, 1, false));
    // Killed between keeping a failure and removing its mark: the attempt counts once, by its own name.
    let late = Failure { status: Failed::Timeout, attempts: 2, kills: 0, ..failure.clone() };
    store.fail(&run.key, &late).unwrap();
    killed(2, 0);
    sweep(&points, &store, &none);
    let once = store.failure(&run.key).unwrap();
    assert_eq!((once.status, once.attempts, once.kills, mark.exists()), (Failed::Timeout, 2, 0, false));
    let survey = Survey::of(&points, Some(&store)).unwrap();
    assert!(matches!(survey.standing(run, &store), Standing::Failure(_)));
    assert_eq!(sweep(&points, &store, &one_job()).exit_status(), 0);
    assert!(store.failure(&run.key).is_none() && store.cost(&run.key).unwrap().attempt == 3);
    // Killed between its record and the removal of an earlier failure: the record counts.
    store.fail(&run.key, &failure).unwrap();
    assert_eq!((sweep(&points, &store, &one_job()).ran, store.failure(&run.key).is_none()), (0, true));
}

#[test]
fn a_point_is_given_up_after_ten_kills() {
    let folder = tempfile::tempdir().unwrap();
    let points = points("");
    let store = create(&folder.path().join("store"));
    let run = &points.runs()[0];
    let mark = folder.path().join("store/runs").join(&run.key[..2]).join(format!("{}.run", run.key));
    std::fs::create_dir_all(mark.parent().unwrap()).unwrap();
    let none = Options { time_limit_ns: Some(1), ..one_job() };
    for kills in 0..10 {
        let Some(text) = mark_of_the_dead(1, kills) else { return };
        std::fs::write(&mark, text.to_string()).unwrap();
        let ended = sweep(&points, &store, &none);
        let failure = store.failure(&run.key).unwrap();
        assert_eq!((failure.status, failure.attempts, failure.kills), (Failed::Killed, 0, kills + 1));
        let given_up = kills == 9;
        assert_eq!(ended.exit_status(), if given_up { 1 } else { 75 }, "{} kills", kills + 1);
    }
    assert_eq!((sweep(&points, &store, &one_job()).ran, store.has(&run.key)), (0, false));
    let all = Options { retry: Retry::All, ..one_job() };
    assert_eq!(sweep(&points, &store, &all).exit_status(), 0, "asked for, it is tried again");
}

#[test]
fn a_claim_blocks_a_unit_only_while_its_process_may_live() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let points = points("");
    let store = create(&root);
    let claim = root.join("claims").join(&points.runs()[0].key);
    std::fs::create_dir_all(claim.parent().unwrap()).unwrap();
    let own = Options { claim: true, ..one_job() };
    let far = serde_json::json!({ "host": "far", "process": 1, "started": 7, "attempt": 0 }).to_string();
    let hour = std::time::Duration::from_secs(3600);
    let now = std::time::SystemTime::now();
    // Of another machine, touched now; by a clock that is a minute ahead; and by one of which that can't be told.
    for (touched, runs) in [(now, 0), (now + hour / 60, 0), (now + hour, 1), (now - hour, 1)] {
        std::fs::write(&claim, &far).unwrap();
        std::fs::File::options().write(true).open(&claim).unwrap().set_modified(touched).unwrap();
        assert_eq!(sweep(&points, &store, &own).ran, runs, "{touched:?}");
        store.forget(&points.runs()[0].key).unwrap();
    }
    // Of this machine: its process is gone, so one resume does it.
    let Some(text) = mark_of_the_dead(0, 0) else { return };
    std::fs::write(&claim, text.to_string()).unwrap();
    assert_eq!((sweep(&points, &store, &own).exit_status(), claim.exists()), (0, false));
}

#[test]
fn a_record_that_was_changed_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let points = points("");
    let store = create(&folder.path().join("store"));
    sweep(&points, &store, &one_job());
    let key = &points.runs()[0].key;
    let path = folder.path().join("store/runs").join(&key[..2]).join(format!("{key}.json"));
    let whole = std::fs::read_to_string(&path).unwrap();
    let schema = "\"schema\": \"ssdlab.record/2\"";
    assert!(whole.contains(schema) && whole.trim_end().ends_with("\"\n}"), "{whole}");
    let good = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let before = store.broken();
        let good = store.holds(key).unwrap();
        assert_eq!((store.broken() - before, path.exists()), if good { (0, true) } else { (1, false) });
        good
    };
    // Blanks between values are no change.
    let value: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert!(good(&whole) && good(&value.to_string()));
    assert_eq!(store.unchecked(), 0);
    // A digit, a field, a checksum of other content, no checksum at all, a name with its blanks.
    let digit = whole.replacen("\"simulated_ns\": ", "\"simulated_ns\": 1", 1);
    let without = |schema: &str| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().shift_remove("checksum");
        value["schema"] = schema.into();
        value.to_string()
    };
    let checksum = value["checksum"].as_str().unwrap();
    let other = whole.replace(checksum, &blake3_of("other"));
    let field = whole.replacen("\"summary\": {", "\"summary\": { \"more\": 1,", 1);
    for changed in [digit, field, other, without("ssdlab.record/2"), without("ssdlab.record/3")] {
        assert_ne!(changed, whole);
        assert!(!good(&changed), "{changed}");
    }
    assert_eq!(store.unchecked(), 0);
    // Before 0.1.3 there were no checksums: such records are read, and counted.
    assert!(good(&without("ssdlab.run/1")));
    assert_eq!(store.unchecked(), 1);
    // What is set aside is run again, to the same bytes.
    std::fs::write(&path, whole.replacen("\"mean\": ", "\"mean\": 9", 1)).unwrap();
    let ended = sweep(&points, &store, &one_job());
    assert_eq!((ended.broken, ended.ran, std::fs::read_to_string(&path).unwrap() == whole), (1, 1, true));
}

/// Any text of the form of a checksum.
fn blake3_of(text: &str) -> String {
    ssdlab_sweep::key::key(text, "", "", 1, ssdlab_sweep::key::Mode::Timed)
}

/// A trace above the size from which hashes are remembered, rewritten in place by the same number of bytes: another process must not
/// serve the results of the old one.
#[test]
fn a_large_trace_that_is_rewritten_in_place_has_another_hash() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, kept) = (folder.path().join("t.csv"), folder.path().join("hashes.json"));
    let bytes = |last: u8| [vec![b'1'; (1 << 20) + 5], vec![last]].concat();
    std::fs::write(&trace, bytes(b'1')).unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    std::fs::File::options().write(true).open(&trace).unwrap().set_modified(earlier).unwrap();
    let first = Hashes::open(&kept);
    let hash = first.of("trace", &trace).unwrap();
    std::fs::write(&kept, first.changed().expect("a large file is remembered")).unwrap();
    assert_eq!(Hashes::open(&kept).of("trace", &trace).unwrap(), hash);
    assert_eq!(Hashes::open(&kept).changed(), None);
    use std::io::{Seek, Write};
    let mut file = std::fs::File::options().write(true).open(&trace).unwrap();
    file.seek(std::io::SeekFrom::End(-1)).unwrap();
    file.write_all(b"2").unwrap();
    drop(file);
    assert_eq!(std::fs::metadata(&trace).unwrap().len(), (1 << 20) + 6);
    let now = Hashes::open(&kept);
    let other = now.of("trace", &trace).unwrap();
    let direct = Hashes::default().of("trace", &trace).unwrap();
    assert!(other != hash && other == direct, "{other}");
}
