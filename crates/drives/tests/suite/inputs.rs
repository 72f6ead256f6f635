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

#[test]
fn latencies_over_load_are_read_and_errors_have_their_line() {
    let folder = folder();
    let head = "offered_load,write_p50_us,write_p99_us,write_p99_9_us,read_p50_us,read_p99_us,read_p99_9_us";
    let good = format!("{head},write_kiops,spread\n10000,8,27,151,70,255,410,9.9,1\n20000,8,56,164,115,364.5,487,,1\n");
    let input = Input::read(&[file(&folder, "latency.csv", &good)], None).unwrap();
    assert_eq!(input.loads.len(), 2);
    assert_eq!((input.loads[0].read, input.loads[0].writes), ([70.0, 255.0, 410.0], Some(9900.0)));
    assert_eq!((input.loads[1].write, input.loads[1].writes), ([8.0, 56.0, 164.0], None));
    assert!(input.remarks[0].ends_with("columns that are not used: spread"), "{:?}", input.remarks);
    for (rows, expected) in [
        ("10000,8,27,151,70,255,\n", ":2: read_p99_9_us: `` is not above 0"),
        ("10000,8,27,151,70,255,250\n", ":2: percentiles of read do not rise: 70, 255, 250"),
        ("9000,8,27,151,70,255,410\n", ":2: offered_load 9000 is below the 10000 requests a second of the probe"),
        ("20000,8,27,151,70,255,410\n10000,8,27,151,70,255,410\n", ":3: offered_load 10000 does not rise"),
    ] {
        let error = Input::read(&[file(&folder, "wrong.csv", &format!("{head}\n{rows}"))], None).unwrap_err();
        assert!(error.message.contains(expected), "{rows}: {}", error.message);
    }
    let error = Input::read(&[file(&folder, "wrong.csv", "offered_load,read_p99_us\n1,2\n")], None).unwrap_err();
    assert!(error.message.contains(":1: no column write_p50_us"), "{}", error.message);
}

/// fio's jobs of a probe and of six streams are a load; they go from the highest down, and what settles the drive is not read.
#[test]
fn probes_of_fio_are_latencies_over_load() {
    let folder = folder();
    let job = |description: &str, reads: &str, iops: u32| {
        let side = format!("{{ \"iops\": {iops}, {reads} }}");
        format!(
            "{{ \"jobname\": \"x\", \"job options\": {{ \"description\": \"{description}\" }}, \"read\": {side}, \"write\": {side} }}"
        )
    };
    let percentiles = |kind: &str, p99: u32| {
        format!(
            "\"{kind}\": {{ \"percentile\": {{ \"50.000000\": 70000, \"99.000000\": {p99}, \"99.900000\": 500000 }} }}"
        )
    };
    let probe = |load: u32, p99: u32| job(&format!("probe,{load}"), &percentiles("lat_ns", p99), 5000);
    let beside = |load: u32| job(&format!("background,{load}"), "\"a\": 0", load - 5000);
    let read = |jobs: &[String]| {
        let text = format!("{{ \"jobs\": [{}] }}", jobs.join(","));
        Input::read(&[file(&folder, "fio.json", &text)], Some(1 << 30))
    };
    let settling = job("settling,", "\"a\": 0", 9);
    let input =
        read(&[settling, probe(40_000, 410_500), beside(40_000), probe(20_000, 372_000), beside(20_000)]).unwrap();
    assert_eq!(input.loads.iter().map(|load| load.load).collect::<Vec<_>>(), [20_000.0, 40_000.0]);
    assert_eq!((input.loads[1].read, input.loads[1].writes), ([70.0, 410.5, 500.0], Some(40_000.0)));
    assert!(input.remarks.is_empty(), "{:?}", input.remarks);
    // Completion latencies where those from push to completion were not asked for.
    let other = job("probe,30000", &percentiles("clat_ns", 390_000), 5000);
    assert_eq!(read(&[other]).unwrap().loads[0].write, [70.0, 390.0, 500.0]);
    for (jobs, expected) in [
        (vec![beside(20_000)], "a job `background,20000` without one `probe,20000`"),
        (vec![probe(20_000, 1), probe(20_000, 1)], "two jobs probe,20000"),
        (vec![job("probe,fast", "\"a\": 0", 1)], "`fast` is no load"),
        (vec![job("probe,20000", "\"a\": 0", 1)], "no percentiles 50, 99 and 99.9 of reads"),
        (vec![probe(20_000, 1)], "percentiles of read do not rise"),
    ] {
        let error = read(&jobs).unwrap_err();
        assert!(error.message.contains(expected), "{expected}: {}", error.message);
    }
    // What is printed is what is read.
    let text = jobs::text("/dev/nvme9n1", true, true, 960_000_000_000, None);
    for load in [10_000, 200_000] {
        assert!(
            text.contains(&format!("description=probe,{load}\n"))
                && text.contains(&format!("description=background,{load}\n"))
        );
    }
    assert!(text.contains("; 16 drive writes") && text.contains("24 minutes"), "{text}");
    assert!(
        text.contains("rate_iops=325,32175"),
        "six streams of 195,000 requests a second, one in a hundred a read: {text}"
    );
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

/// A drive's counters change every 20 s and are sampled every 5 s. What lies between two changes is a window of its run: three bytes
/// are written to flash and two are read for each of the host. Nothing is said of what lies before the first change and outside the run.
#[test]
fn counters_are_joined_to_their_run_by_time() {
    let folder = folder();
    let json =
        r#"{ "jobs": [ { "jobname": "uniform", "desc": "uniform,", "job options": { "write_bw_log": "u" } } ] }"#;
    let fio = file(&folder, "drive.json", json);
    let (start, host) = (1_700_000_000_u64, 2 * 1000 * 1024);
    let lines: String = (1..=100).map(|s| format!("{}, 1000, 1, 4096, 0\n", (start + s) * 1000)).collect();
    file(&folder, "u_bw.1.log", &lines);
    file(&folder, "u_bw.2.log", &lines);
    let samples = |read: u64| -> String {
        let sample = |s: u64| {
            let counted = s / 20 * 20 * host;
            format!(
                "{{\"time\":{}.0,\"Physical media units written\":{{\"hi\":1,\"lo\":{}}},\n\"Physical media units read\":{{\"hi\":0,\"lo\":{}}}}}\n",
                start + s,
                3 * counted,
                read * counted
            )
        };
        (0..=40).map(|i| sample(5 * i)).collect()
    };
    let counted = file(&folder, "counters.json", &samples(2));
    let capacity = Some(50 * host);
    // The order of the files is free.
    let input = Input::read(&[counted.clone(), fio.clone()], capacity).unwrap();
    let points = &input.curves[0].1.points;
    assert!((input.curves[0].1.drive_writes() - 2.0).abs() < 0.03 && points.len() == 100, "{}", points.len());
    for point in points {
        assert!((point.rate - 2.048).abs() < 1e-9, "{point:?}");
        let expected = (point.at >= 0.4).then_some((3.0, 2.0));
        let near = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() < 1e-9);
        assert!(near(point.written, expected.map(|e| e.0)) && near(point.read, expected.map(|e| e.1)), "{point:?}");
    }
    // A counter of reads that never moves counts nothing.
    let input = Input::read(&[fio.clone(), file(&folder, "writes.json", &samples(0))], capacity).unwrap();
    assert!(input.curves[0].1.points.iter().all(|point| point.read.is_none()));
    assert!(
        input.curves[0].1.points[50].written.is_some() && input.remarks[0].contains("does not count what it reads")
    );
    let one = |time: &str, lo: u64| {
        format!("{{ {time} \"physical_media_units_written\": {lo}, \"physical_media_units_read\": {lo} }}\n")
    };
    let wrong = |text: &str, inputs: &[PathBuf]| {
        let all = [inputs, &[file(&folder, "wrong.json", text)]].concat();
        Input::read(&all, capacity).unwrap_err().message
    };
    let both = [fio];
    assert!(wrong(&one("", 1), &both).contains("wrong.json:1: a sample has no `time`"));
    let back = [one("\"time\": 5,", 2), one("\"time\": 6,", 1)].concat();
    assert!(wrong(&back, &both).contains("wrong.json:2: a time or a counter goes back"));
    assert!(wrong(&one("\"time\": 5,", 1), &[]).contains("no run has times"));
    assert!(wrong("{ \"Physical media units written\": 3 }", &both).contains("a sample needs both"));
    let late = file(&folder, "late.json", &[one("\"time\": 5,", 1), one("\"time\": 6,", 2)].concat());
    let input = Input::read(&[both[0].clone(), late], capacity).unwrap();
    assert!(input.remarks[0].contains("no two updates of the counters lie in one run"), "{:?}", input.remarks);
}

/// Every job that is printed can be read back as a pattern, and the writes are those of the title.
#[test]
fn printed_jobs_are_patterns() {
    for (quick, total) in [(true, 14), (false, 55)] {
        let text = jobs::text("/dev/nvme9n1", quick, false, 960_000_000_000, Some(1800.0));
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
