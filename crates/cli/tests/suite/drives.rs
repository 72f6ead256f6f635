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

/// Latencies decide the slice and are predicted; the file runs with times, is checked, and is changed by `check --write` alone.
#[test]
fn latencies_are_predicted_on_the_device_of_the_drive() {
    let bench = Bench::new();
    measurements(&bench);
    let table = "offered_load,write_p50_us,write_p99_us,write_p99_9_us,read_p50_us,read_p99_us,read_p99_9_us\n\
                 20000,9,20,30,70,380,500\n30000,9,20,30,70,400,500\n40000,9,20,30,80,420,560\n60000,9,20,30,90,1900,2500\n";
    std::fs::write(bench.path().join("latency.csv"), table).unwrap();
    let text = bench.good(
        "calibrate identify curve.csv steady.csv latency.csv --candidates greedy/separate --seeds 1 --quiet \
         --fix device.over_provisioning=0.2 -o d.toml --json j.json --report r.html --report-lite",
    );
    assert!(text.contains("latencies (p50 / p99 / p99.9)") && text.contains("most writes a second: "), "{text}");
    let found: serde_json::Value = serde_json::from_str(&bench.text("j.json")).unwrap();
    let loads = found["latencies"].as_array().unwrap();
    assert_eq!((loads.len(), &loads[0]["in"]), (3, &"fit".into()), "{loads:?}");
    assert!(found["knee"]["measured_writes_per_s"][0].as_f64().unwrap() < 60_000.0);
    assert!(bench.text("r.html").contains("figure-drive-latencies"));
    let file = bench.text("d.toml");
    for part in ["\"device.memory\" = \"9us\" # measured", "\"timing.suspend_slice\" = ", "[[latency]]", "[knee]"] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let run = bench.good("run --drive d.toml --workload random-write --limit 2000 --quiet");
    assert!(run.contains("d: too few cells") && run.contains("99th percentile of reads: "), "{run}");
    assert!(
        bench.bad("run --drive d.toml --workload random-write --limit 2000 --preset nvme-tlc", 2).contains("--preset")
    );
    // No such drive exists, so what is claimed is not true of it.
    let checked = bench.run("calibrate check d.toml latency.csv --json -");
    assert_eq!(checked.status.code(), Some(1));
    let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!((&checked["latencies"], &checked["knee"]), (&found["latencies"], &found["knee"]));
    std::fs::write(bench.path().join("d.toml"), file.replace("error = \"", "error = \"old ")).unwrap();
    assert_eq!(bench.run("calibrate check d.toml --write").status.code(), Some(1));
    let changed = bench.text("d.toml");
    assert!(changed.lines().nth(4).is_some_and(|line| line.starts_with("error = \"3 cells, ")), "{changed}");
    assert!(changed.ends_with(file.split("[[latency]]").last().unwrap()), "{changed}");
    let without = file.split("[device]").next().unwrap();
    std::fs::write(bench.path().join("old.toml"), without).unwrap();
    for (command, words) in [
        ("calibrate check old.toml latency.csv", "the file has no [device]"),
        ("run --drive old.toml --workload random-write --limit 10", "no latency configuration"),
    ] {
        assert!(bench.bad(command, 2).contains(words), "{command}");
    }
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
