//! Every value of a key, and every length of a run, ends in a result or a message.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::Bench;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every key alone at the ends of what numbers can be, with every unit that a value may have. Without `SSDLAB_LONG` a third of the
/// pairs of number and unit, others for each key.
#[test]
fn extreme_values_of_every_key_are_taken_or_refused() {
    const NUMBERS: [&str; 9] = [
        "0",
        "1",
        "-1",
        "4294967295",
        "4294967294",
        "281474976710655",
        "9223372036854775806",
        "9223372036854775807",
        "1e300",
    ];
    const UNITS: [&str; 9] = ["", "ns", "B", "B/s", "MT/s", "ns/B", " pages", " blocks", " requests"];
    let keys = ssdlab_lab::settings::known_keys();
    assert!(keys.len() > 80, "{keys:?}");
    let long = std::env::var_os("SSDLAB_LONG").is_some();
    let mut sets = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        for (row, number) in NUMBERS.iter().enumerate() {
            let drawn = UNITS.iter().enumerate().filter(|(column, _)| long || (at + row + column) % 3 == 0);
            sets.extend(drawn.map(|(_, unit)| format!("{key}={number}{unit}")));
        }
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let accepted = AtomicUsize::new(0);
    let status = |arguments: &[&str], set: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        let output = command.args(arguments).args(["--set", set]).stdin(Stdio::null()).output().unwrap();
        let fine = matches!(output.status.code(), Some(0 | 2));
        if !fine {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.lock().unwrap().push(format!("{arguments:?} {set}: {:?} {said}", output.status));
        }
        output.status.success()
    };
    let worker = || {
        while let Some(set) = sets.get(next.fetch_add(1, Ordering::Relaxed)) {
            if status(&["config", "check"], set) {
                accepted.fetch_add(1, Ordering::Relaxed);
                status(&["config", "show"], set);
                let run = ["run", "--workload", "mixed-70-30", "--limit", "10", "--quiet", "--memory-limit", "2GiB"];
                status(&run, set);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(worker))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} end badly:\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted.into_inner() > keys.len() / 3, "most keys take some of these values");
}

#[test]
fn outstanding_requests_have_places_that_fit_into_memory() {
    let bench = Bench::new();
    let said = bench.bad("config check --set device.queue_depth=4294967295", 2);
    assert!(said.contains("the limit of 1048576") && said.contains("use at most 1048576"), "{said}");
    let run = "run tiny.toml --workload mixed-70-30 --limit 10 --quiet --set device.queue_depth=1000000";
    let said = bench.bad(&format!("{run} --memory-limit 1GiB"), 2);
    assert!(said.contains("device.queue_depth: the device needs about") && said.contains("requests "), "{said}");
    // A variant that needs too much memory is refused, and the others are compared.
    let table = bench.good(
        "compare tiny.toml --workload mixed-70-30 --limit 10 --quiet --vary device.queue_depth=32,4294967295 --csv",
    );
    assert!(table.lines().nth(2).unwrap().contains("4294967295 outstanding requests"), "{table}");
}

/// Memory per channel, chip, die and plane counts too, not only memory per page. Slots of operations and collections are
/// reserved at the start, and use memory once they are touched.
#[cfg(target_os = "linux")]
#[test]
fn memory_of_wide_arrays_is_foretold() {
    let bench = Bench::new();
    let blocks =
        "--set geometry.blocks_per_plane=8 --set geometry.pages_per_block=4 --set device.over_provisioning=0.6";
    for wide in ["geometry.channels=8192", "geometry.chips_per_channel=8192", "geometry.dies_per_chip=8192"] {
        let device = format!("{blocks} --set {wide}");
        let check = bench.good(&format!("config check {device}"));
        let line = check.lines().find(|line| line.starts_with("memory")).unwrap();
        let mib: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        bench.good(&format!("run {device} --workload random-write --limit 10 --quiet --perf perf.json"));
        let measured = json(&bench.text("perf.json"))["peak_rss_bytes"].as_f64().unwrap() / f64::from(1 << 20);
        assert!((0.2..1.05).contains(&(measured / mib)), "{wide}: {measured} for {mib}");
    }
}

/// Two requests far apart: the number of windows is checked before rows are written.
#[test]
fn windows_without_end_are_refused_at_once() {
    let bench = Bench::new();
    let trace = "0,0,4096,w,0\n0,8,4096,w,100000000\n";
    std::fs::write(bench.path().join("far.spc"), trace).unwrap();
    let run = "run tiny.toml --quiet --series s.csv";
    let from = std::time::Instant::now();
    let said = bench.bad(&format!("{run} --trace far.spc --format spc --window 1ms"), 2);
    assert!(
        said.contains("100,000,000,000,000,000 ns / 1,000,000 ns = 100,000,000,000, more than 10,000,000 windows"),
        "{said}"
    );
    // A workload's arrivals are known before the run.
    let workload = "requests = 1000000000\nwrite = 1.0\nsize = \"4KiB\"\narrivals = { poisson = { rate = 100 } }\n";
    std::fs::write(bench.path().join("slow.toml"), workload).unwrap();
    let said = bench.bad(&format!("{run} --workload slow.toml --window 1us"), 2);
    assert!(said.contains(" ns / 1,000 ns = ") && said.contains("more than 10,000,000 windows"), "{said}");
    assert!(from.elapsed().as_secs() < 10, "{:?}", from.elapsed());
    assert!(!bench.path().join("s.csv").exists());
}
