//! Drives of today through the command: flushes of every format, queues by device, and what stays as it was without them.

use serde_json::Value;

use crate::common::Bench;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const COLUMNS: &str = "--format columns:time=0:us,op=1,offset=2:bytes,size=3:bytes,fua=4,vol=5";

/// Two writes, a flush, a forced write and a read, of two devices.
const TRACE: &str = "0,w,0,4096,0,a
0,w,4096,4096,0,b
10,f,0,0,0,a
5000,w,8192,4096,1,a
9000,r,4096,4096,0,b
";

#[test]
fn flushes_are_requests_where_there_is_a_cache() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("t.csv"), TRACE).unwrap();
    let run = |more: &str| json(&bench.good(&format!("run --trace t.csv {COLUMNS} {more} --quiet --json -")));
    let (plain, cached) = (run(""), run("--set cache.size=1MiB --set cache.time=1us --requests r.csv"));
    assert_eq!(plain["trace_digest"], cached["trace_digest"], "the same requests");
    assert_eq!((&plain["requests"]["skipped"], &plain["requests"]["flush"]), (&1.into(), &Value::Null));
    assert_eq!((&cached["requests"]["skipped"], &cached["requests"]["flush"]), (&0.into(), &1.into()));
    assert!(plain.get("flush_digest").is_none() && cached["flush_digest"].is_string());
    assert!(plain.get("cache").is_none() && plain["breakdown_ns"]["all"].get("cache").is_none());
    assert_eq!(cached["cache"]["fua_writes"], 1);
    assert_eq!(cached["latency_ns"]["all"]["count"], 4);
    // The forced write waits for flash, the others do not; the flush is in the rows.
    let rows = bench.text("r.csv");
    let columns: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    assert_eq!(columns[columns.len() - 3..], ["cache", "cache_gc", "cache_host"]);
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let cell =
        |line: usize, name: &str| rows.lines().nth(line).unwrap().split(',').nth(column(name)).unwrap().to_string();
    assert_eq!(
        (cell(1, "latency_ns"), cell(3, "op"), cell(5, "latency_ns")),
        ("1000".into(), "flush".into(), "1000".into())
    );
    assert!(cell(4, "latency_ns").parse::<u64>().unwrap() > 600_000);
    // Limits count the same requests with and without flushes.
    let limited = run("--limit 3 --set cache.size=1MiB");
    assert_eq!((&limited["requests"]["write"], &limited["requests"]["flush"]), (&3.into(), &1.into()));
}

#[test]
fn formats_say_flush_in_their_own_way() {
    let bench = Bench::new();
    let blkparse = "  8,0    0        1     0.000000000   10  Q   W 0 + 8 [fio]
  8,0    0        2     0.000010000   10  Q   FN [fio]
  8,0    0        3     0.005000000   10  Q  WFS 16 + 8 [fio]
";
    let fio = "fio version 3 iolog\n0 /f add\n0 /f open\n0 /f write 0 4096\n10 /f datasync 0 0\n";
    for (name, text, format, flushes, forced) in [("b", blkparse, "blkparse", 1, 1), ("f", fio, "fio", 1, 0)] {
        std::fs::write(bench.path().join(name), text).unwrap();
        let run =
            |more: &str| json(&bench.good(&format!("run --trace {name} --format {format} {more} --quiet --json -")));
        let cached = run("--set cache.size=1MiB");
        assert_eq!(cached["requests"]["flush"], flushes, "{format}");
        assert_eq!(cached["cache"]["fua_writes"], forced, "{format}");
        assert_eq!(run("")["requests"]["skipped"], flushes, "{format}");
    }
}

#[test]
fn requests_go_to_the_queue_of_their_device() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("t.csv"), TRACE).unwrap();
    let queues = "'nvme={arbitration=\"wrr\",queues=[{name=\"db\",class=\"high\",weight=3,match={device=[\"a\"]}},{name=\"log\",match=\"rest\"}]}'";
    let run = |more: &str| bench.good(&format!("run --trace t.csv {COLUMNS} --set {queues} {more}"));
    let summary = json(&run("--quiet --json - --requests r.csv"));
    assert_eq!(summary["tenants"]["db"]["requests"]["write"], 2);
    assert_eq!(summary["tenants"]["log"]["requests"]["read"], 1);
    assert!(summary["interference_ns"]["db"]["log"].is_u64() && summary["fairness"]["throughput"].is_f64());
    let rows = bench.text("r.csv");
    let header: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    assert_eq!(header[header.len() - 2..], ["arbitration", "tenant"]);
    let tenants: Vec<&str> = rows.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(tenants, ["db", "log", "db", "log"]);
    let table = run("");
    assert!(table.contains("tenant ") && table.contains("waited for"), "{table}");
    // A request that matches no queue is an error of the trace, with its line.
    let one = "'nvme={arbitration=\"rr\",queues=[{name=\"db\",match={device=[\"a\"]}}]}'";
    let said = bench.bad(&format!("run --trace t.csv {COLUMNS} --set {one} --quiet"), 3);
    assert!(said.contains("line 2") && said.contains("device b") && said.contains("rest"), "{said}");
    // A name that nothing has is remarked on.
    let done = bench.run(&format!("run --trace t.csv {COLUMNS} --set {}", queues.replace("[\"a\"]", "[\"A\"]")));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("no measured request came to the queue db"), "{said}");
    // Names are columns of files.
    let said = bench.bad(&format!("run --trace t.csv {COLUMNS} --set {}", one.replace("db", "db, cold")), 2);
    assert!(said.contains("letters, digits"), "{said}");
}

#[test]
fn tenants_share_a_drive_and_know_what_it_costs_them() {
    let bench = Bench::new();
    let reads: String = (0..4).map(|i| format!("0,r,{},4096\n", i * 4096)).collect();
    std::fs::write(bench.path().join("four.txt"), reads).unwrap();
    let map = "format=columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes";
    let die = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"];
    let die: String = die.iter().map(|key| format!("--set geometry.{key}=1 ")).collect();
    let tenants = format!("--tenant a=trace:four.txt,{map} --tenant b=trace:four.txt,{map}");
    let run = |arbitration: &str, more: &str| {
        let queues = format!(
            "'nvme={{arbitration=\"{arbitration}\",queues=[{{name=\"a\",class=\"high\",weight=3}},{{name=\"b\",class=\"low\"}}]}}'"
        );
        bench.good(&format!("run {tenants} {die}--set device.queue_depth=1 --set {queues} {more}"))
    };
    // Service order A A A B A B B B; alone each tenant takes 55,120 to 220,480.
    let summary = json(&run("wrr", "--alone --quiet --json -"));
    let mean = |summary: &Value, name: &str| summary["tenants"][name]["latency_ns"]["all"]["mean"].clone();
    assert_eq!((mean(&summary, "a"), mean(&summary, "b")), (151_580.0.into(), 344_500.0.into()));
    assert_eq!(summary["tenants"]["a"]["slowdown"], 151_580.0 / 137_800.0);
    assert_eq!(summary["tenants"]["b"]["slowdown"], 2.5);
    assert_eq!(summary["fairness"]["slowdown"], (151_580.0 / 137_800.0) / 2.5);
    let rr = json(&run("rr", "--quiet --json -"));
    assert_eq!((mean(&rr, "a"), mean(&rr, "b")), (220_480.0.into(), 275_600.0.into()));
    assert!(rr["fairness"].get("slowdown").is_none());
    let table = run("wrr", "--alone --quiet");
    assert!(table.contains("2.500x") && table.contains("slowdown: 0.440"), "{table}");
    let compared = bench.good(&format!("compare {tenants} {die}--vary timing.read=50us,25us --quiet"));
    assert!(compared.contains("tenant") && compared.contains("a ") && compared.contains("b "), "{compared}");
    // A tenant is refused where it can't be simulated, and so is --alone without tenants.
    let parity = bench.bad(&format!("run {tenants} --set raid.layout=traditional --quiet"), 2);
    assert!(parity.contains("raid.layout"), "{parity}");
    let none = bench.bad("run --workload quickstart --alone --quiet", 2);
    assert!(none.contains("there are no tenants"), "{none}");
}
