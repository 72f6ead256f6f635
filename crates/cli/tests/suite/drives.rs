//! `calibrate identify` with its files, and the workloads of `calibrate jobs`.

use crate::common::Bench;

/// A uniform run with a cliff after 0.25 drive writes, and steady rates of other patterns.
fn measurements(bench: &Bench) {
    let mut curve = String::from("pattern,parameter,host_drive_writes,host_MBps\n");
    for i in 0..20 {
        let at = 0.025 + 0.05 * f64::from(i);
        let rate = if at < 0.25 { 1800.0 } else { 560.0 + 240.0 * (-3.0 * (at - 0.25)).exp() };
        curve += &format!("uniform,,{at:.3},{rate:.1}\n");
    }
    std::fs::write(bench.path().join("curve.csv"), curve).unwrap();
    let steady = "pattern,parameter,host_MBps,drive_writes\nsequential,,1800,1\nzipf,0.8,700,1\nzone,10/90,650,1\nread-only,60%,420,1\n";
    std::fs::write(bench.path().join("steady.csv"), steady).unwrap();
}

#[test]
fn what_is_identified_is_also_json_and_a_page() {
    let bench = Bench::new();
    measurements(&bench);
    let fixed = "calibrate identify curve.csv steady.csv --candidates greedy/separate,fifo/shared --seeds 1 --quiet \
                 --fix device.over_provisioning=0.2 -o d.toml";
    let plain = bench.good(fixed);
    let toml = bench.text("d.toml");
    let text = bench.good(&format!("{fixed} --json j.json --report r.html --report-lite"));
    assert_eq!((text, bench.text("d.toml")), (plain, toml), "what is shown beside it changes nothing");
    let found: serde_json::Value = serde_json::from_str(&bench.text("j.json")).unwrap();
    assert_eq!((&found["schema"], &found["name"]), (&"ssdlab.identify/1".into(), &"d".into()));
    assert_eq!(found["policies"][0]["policy"], found["policy"]);
    assert_eq!(found["policies"].as_array().unwrap().len(), 2);
    assert_eq!(found["spare"], 0.2);
    let run = found["uniform"].as_array().unwrap();
    assert_eq!(run.len(), 20);
    assert_eq!(run[19]["measured_MBps"], 587.3);
    let sum: f64 = run[5..].iter().map(|row| row["predicted_MBps"].as_f64().unwrap().ln()).sum();
    let measured: f64 = run[5..].iter().map(|row| row["measured_MBps"].as_f64().unwrap().ln()).sum();
    assert!((sum - measured).abs() / 15.0 < 0.1, "the model follows the run behind its cliff: {run:?}");
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4, "{cells:?}");
    for cell in cells {
        let (predicted, measured) = (cell["predicted_MBps"].as_f64().unwrap(), cell["measured_MBps"].as_f64().unwrap());
        assert!((100.0 * (predicted / measured - 1.0) - cell["error_pct"].as_f64().unwrap()).abs() < 0.2, "{cell}");
    }
    let page = bench.text("r.html");
    bench.good("report j.json -o again.html --lite");
    for part in [
        "<section id=\"drive\"",
        "figure-drive-uniform",
        "figure-drive-cells",
        "zipf 0.8",
        "Policies, the nearest first",
    ] {
        assert!(page.contains(part) && bench.text("again.html").contains(part), "{part}");
    }
    assert!(bench.good(&format!("{fixed} --json -")).starts_with("{\n  \"schema\": \"ssdlab.identify/1\""));
    assert!(bench.bad(&format!("{fixed} --json curve.csv"), 2).contains("curve.csv"));
    assert!(bench.bad(&format!("{fixed} --report d.toml"), 2).contains("d.toml"));
}

#[test]
fn jobs_have_workload_files() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("w")).unwrap();
    let plain = bench.good("calibrate jobs --quick --capacity 960GB");
    assert_eq!(bench.good("calibrate jobs --quick --capacity 960GB --workloads w"), plain);
    let mut names: Vec<_> =
        std::fs::read_dir(bench.path().join("w")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let patterns =
        plain.lines().filter(|line| line.starts_with("description=") && !line.contains("sequential")).count();
    assert_eq!(names.len(), patterns);
    assert!(bench.text("w/zipf-in-order-1.0.toml").contains("population = 234375000.0"));
    for name in names {
        let run = format!("run tiny.toml --workload {} --limit 100 --count-only --quiet", name.display());
        assert!(bench.good(&run).contains("write amplification"), "{}", name.display());
    }
}
