//! Files of measurements: what is read, and what is refused.

use std::path::PathBuf;

use ssdlab_drives::input::Input;
use ssdlab_drives::jobs;
use ssdlab_drives::pattern::Pattern;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn tables_are_read_and_errors_have_their_line() {
    let folder = folder();
    let curve = file(
        &folder,
        "curve.csv",
        "# a comment\npattern,parameter,host_drive_writes,host_MBps\nuniform,,0.05,1000\nuniform,,0.15,900\nzipf,0.8,0.1,800\n",
    );
    let steady = file(
        &folder,
        "steady.csv",
        "pattern,parameter,host_MBps,drift_pct,drive_writes\nread-only,60%,500,0.5,7\nzone,5/95,400,,\nodd,,3,,\nsequential,,2000,,1\n",
    );
    let input = Input::read(&[curve, steady], None).unwrap();
    assert_eq!(input.curves.len(), 2);
    assert_eq!(input.curves[0].1.points.len(), 2);
    assert_eq!(input.steady[0].pattern, Pattern::ReadOnly(600_000));
    assert_eq!(input.steady[0].drive_writes, Some(7.0));
    assert_eq!(input.sequential(), Some(2000.0));
    assert!(input.remarks[0].starts_with("pattern `odd` is not modelled"), "{:?}", input.remarks);
    for (text, expected) in [
        (
            "pattern,parameter,host_MBps\nzipf,high,3\n",
            ":2: `high` is no parameter of zipf: use an exponent, such as 0.8",
        ),
        ("pattern,parameter,host_MBps\nuniform,,fast\n", ":2: host_MBps: `fast` is not a number"),
        ("pattern,parameter,host_MBps\nuniform,,0\n", ":2: host_MBps: `0` is not above 0"),
        ("a,b\n1,2\n", ":1: neither a run (pattern,parameter,host_drive_writes"),
        (
            "pattern,parameter,host_drive_writes,host_MBps\nuniform,,2,5\nuniform,,1,5\n",
            ":3: host_drive_writes 1 of uniform does not rise",
        ),
        ("{ \"a\": 1 }", "no `jobs`: this is no output of fio"),
        ("{ \"jobs\": [] }", "the size of the drive is not known"),
    ] {
        let error = Input::read(&[file(&folder, "wrong", text)], None).unwrap_err();
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
}

/// JSON of fio names the logs; threads add up, lines of reads do not count, and bytes become drive writes.
#[test]
fn logs_of_fio_become_a_run() {
    let folder = folder();
    let json = r#"{ "fio version": "fio-3.36", "jobs": [ { "jobname": "uniform", "desc": "uniform,",
        "job options": { "write_bw_log": "uniform" } }, { "jobname": "warm" } ] }"#;
    let path = file(&folder, "drive.json", json);
    // Two threads of 1,000 KiB/s for 100 s, one of which reads, too.
    let lines =
        |direction: u32| (1..=100).map(|s| format!("{}, 1000, {direction}, 4096, 0\n", s * 1000)).collect::<String>();
    file(&folder, "uniform_bw.7.log", &lines(1));
    file(&folder, "uniform_bw.8.log", &format!("{}{}", lines(1), lines(0)));
    file(&folder, "uniform_bw.x.log", "not a log");
    let capacity = 2 * 1000 * 1024 * 50;
    let input = Input::read(&[path], Some(capacity)).unwrap();
    let (pattern, curve) = &input.curves[0];
    assert_eq!((*pattern, input.remarks.len()), (Pattern::Uniform, 1));
    assert!((curve.drive_writes() - 2.0).abs() < 0.03, "{}", curve.drive_writes());
    for point in &curve.points {
        assert!((point.rate - 2.048).abs() < 1e-9, "{point:?}");
    }
}

/// Every job that is printed can be read back as a pattern, and the writes are those of the title.
#[test]
fn printed_jobs_are_patterns() {
    for (quick, total) in [(true, 14), (false, 55)] {
        let text = jobs::text("/dev/nvme9n1", quick, 960_000_000_000, Some(1800.0));
        assert!(text.starts_with("; DESTROYS ALL DATA ON /dev/nvme9n1\n"), "{text}");
        assert!(text.contains(&format!("; {total} drive writes, ")), "{text}");
        let mut jobs = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("description=")) {
            let (name, parameter) = line.split_once(',').unwrap();
            assert!(Pattern::parse(name, parameter).unwrap().is_some(), "{line}");
            jobs += 1;
        }
        assert_eq!(jobs, text.matches("[fill-").count() * 2);
        assert!(text.lines().all(|line| line.len() < 4096));
    }
}
