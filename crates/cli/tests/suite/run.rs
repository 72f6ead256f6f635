//! Runs of the command on a device so small that each takes milliseconds.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// 8 MiB in four planes; full enough that GC starts at once.
const TINY: &str = r#"
[geometry]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 32
pages_per_block = 16

[device]
over_provisioning = 0.25

[precondition]
mode = "random"
"#;

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tiny.toml"), TINY).unwrap();
        Bench { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        command.current_dir(self.path()).args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a run that has to succeed.
    fn good(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a run that has to end with this status.
    fn bad(&self, arguments: &str, status: i32) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments}: standard output carries results only");
        errors
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(self.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const WORK: &str = "run tiny.toml --workload mixed-70-30 --limit 3000 --quiet";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn equal_runs_give_equal_bytes_whatever_the_check_level() {
    let bench = Bench::new();
    let first = bench.good(&format!("{WORK} --json -"));
    assert_eq!(first, bench.good(&format!("{WORK} --json - --check off")));
    assert_eq!(first, bench.good(&format!("{WORK} --json - --check full --perf perf.json --requests rows.csv")));
    bench.good(&format!("{WORK} --json file.json"));
    assert_eq!(first, std::fs::read_to_string(bench.path().join("file.json")).unwrap());
    assert_ne!(first, bench.good(&format!("{WORK} --json - --seed 2")));

    let summary = json(&first);
    assert_eq!(summary["schema"], "ssdlab.summary/1");
    assert_eq!(summary["requests"]["read"].as_u64().unwrap() + summary["requests"]["write"].as_u64().unwrap(), 3000);
    assert!(summary["gc"]["collections"].as_u64().unwrap() > 0);
    assert!(!first.contains(bench.path().to_str().unwrap()), "no path in results");
    let perf = json(&std::fs::read_to_string(bench.path().join("perf.json")).unwrap());
    for key in [
        "wall_s",
        "cpu_s",
        "simulate_cpu_s",
        "requests",
        "flash_operations",
        "flash_operations_per_cpu_s",
        "peak_rss_bytes",
    ] {
        assert!(perf[key].as_f64().unwrap() > 0.0, "{key}");
    }
}

#[test]
fn rows_come_in_request_order_and_their_causes_sum_to_the_latency() {
    let bench = Bench::new();
    let summary = json(&bench.good(&format!("{WORK} --json - --requests rows.csv")));
    let text = std::fs::read_to_string(bench.path().join("rows.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        header[..8],
        ["request", "arrival_ns", "op", "offset", "bytes", "start_ns", "completion_ns", "latency_ns"]
    );
    let (mut total, mut rows) = (0, 0);
    for (i, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |column: usize| cells[column].parse::<u64>().unwrap();
        assert_eq!(cells.len(), header.len());
        assert_eq!(number(0), i as u64);
        assert!(number(1) <= number(5) && number(5) <= number(6), "{line}");
        assert_eq!(number(6) - number(1), number(7));
        assert_eq!((8..cells.len()).map(number).sum::<u64>(), number(7), "{line}");
        total += number(7);
        rows += 1;
    }
    assert_eq!(rows, 3000);
    let causes = summary["breakdown_ns"]["all"].as_object().unwrap();
    assert_eq!(total, causes.values().map(|v| v.as_u64().unwrap()).sum::<u64>());
}

#[test]
fn later_layers_win_and_every_value_knows_its_origin() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("a.toml"), "[gc]\nthreshold = 0.06\nscope = \"chip\"\n").unwrap();
    std::fs::write(
        bench.path().join("b.toml"),
        "[schemes]\nvictim = { d-choices = { d = 4 } }\n\n[gc]\nscope = \"plane\"\n",
    )
    .unwrap();
    let shown = bench
        .good("config show --preset idle-chip a.toml b.toml --set schemes.path=copyback --set device={queue_depth=7}");
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("{key} in {shown}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("channels"), "channels = 16 # preset idle-chip:8");
    assert_eq!(line("threshold"), "threshold = 0.06 # a.toml:2");
    assert_eq!(line("scope"), "scope = \"plane\" # b.toml:5");
    assert_eq!(line("victim"), "victim = { d-choices = { d = 4 } } # b.toml:2");
    assert_eq!(line("path"), "path = \"copyback\" # --set");
    assert_eq!(line("queue_depth"), "queue_depth = 7 # --set");
    assert_eq!(line("over_provisioning"), "over_provisioning = 0.15 # preset idle-chip:26");
    assert_eq!(line("cache_register"), "cache_register = false # default");

    // The output is a configuration again, and the same one.
    std::fs::write(bench.path().join("shown.toml"), &shown).unwrap();
    let check = bench
        .good("config check --preset idle-chip a.toml b.toml --set schemes.path=copyback --set device={queue_depth=7}");
    assert_eq!(check, bench.good("config check shown.toml"));
}

#[test]
fn a_slot_is_replaced_as_a_whole_and_a_knob_alone_keeps_the_others() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("d.toml"), "[schemes]\nvictim = { d-choices = { d = 4 } }\n").unwrap();
    let victim = |arguments: &str| {
        let shown = bench.good(&format!("config show {arguments}"));
        shown.lines().find(|l| l.starts_with("victim")).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(victim("d.toml --set schemes.victim=d-choices"), "victim = { d-choices = { d = 10 } } # --set");
    assert_eq!(victim("d.toml --set schemes.victim=fifo"), "victim = \"fifo\" # --set");
    assert_eq!(victim("d.toml --set schemes.victim.d-choices.d=5"), "victim = { d-choices = { d = 5 } } # d.toml:2");
    assert_eq!(victim("--set schemes.victim.d-choices.d=5"), "victim = { d-choices = { d = 5 } } # --set");
    assert_eq!(victim("--set schemes.victim=rga"), "victim = { d-choices = { d = 10 } } # --set");
}

#[test]
fn keys_that_came_later_leave_digests_as_they_were() {
    let bench = Bench::new();
    let base = "--set precondition.mode=random --set geometry.blocks_per_plane=64";
    let digest = |more: &str| {
        let check = bench.good(&format!("config check {base} {more}"));
        check.lines().next().unwrap().split_whitespace().last().unwrap().to_string()
    };
    let old = "d2b86475cded1cf6fbad6be19cd8c42552f2b1bd8cba8166a35eb969b221a23d";
    assert_eq!(digest(""), old, "of version 0.1.0");
    assert_eq!(digest("--set timing.bus_width=8"), old, "a default that is said is a default");
    let transfers = "--set timing.transfer=1200MT/s";
    assert_ne!(digest(transfers), digest(&format!("{transfers} --set timing.bus_width=16")));
    let width = |more: &str| {
        let run = format!("run {base} {transfers} {more} --workload random-write --limit 1 --quiet --json -");
        json(&bench.good(&run))["config"]["timing"].get("bus_width").cloned()
    };
    assert_eq!((width(""), width("--set timing.bus_width=16")), (None, Some(16.into())));
    // The printed configuration still has all keys.
    let shown = bench.good("config show");
    assert!(shown.contains("bus_width = 8  "), "{shown}");
}

#[test]
fn transfers_are_as_wide_as_the_bus() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("one.spc"), "0,0,4096,r,0\n").unwrap();
    let latency = |more: &str| {
        let run = format!("run --trace one.spc --format spc --quiet --json - {more}");
        json(&bench.good(&run))["latency_ns"]["read"]["max"].as_u64().unwrap()
    };
    let transfers = "--set timing.transfer=1200MT/s";
    assert_eq!(latency(transfers), 53_413);
    assert_eq!(latency(&format!("{transfers} --set timing.bus_width=16")), 51_707);
    assert_eq!(latency("--set timing.host_link=1200MT/s"), 50_000 + 5_120 + 3_413);
    let said = bench.bad("config check --set timing.bus_width=16", 2);
    assert!(said.contains("counts bytes") && said.contains("\"1200MT/s\""), "{said}");
    assert!(bench.bad(&format!("config check {transfers} --set timing.bus_width=0"), 2).contains("use 1 to 1024"));
    let slow = bench.bad("config check --set timing.host_link=281474976710655ns/B", 2);
    assert!(slow.contains("timing.host_link: a page of 4KiB") && slow.contains("longer than an hour"), "{slow}");
}

/// 4 KiB reads and 8 KiB writes of pages of 16 KiB: rates of the host count the bytes requested, and whole pages are printed too.
#[test]
fn throughput_is_of_the_bytes_that_were_asked_for() {
    let bench = Bench::new();
    let line = |i: u64| {
        format!(
            "0,{},{},{},{}\n",
            32 * i,
            if i.is_multiple_of(4) { 8192 } else { 4096 },
            if i.is_multiple_of(4) { 'w' } else { 'r' },
            i
        )
    };
    std::fs::write(bench.path().join("t.spc"), (0..40).map(line).collect::<String>()).unwrap();
    let run = "run tiny.toml --set geometry.page_size=16KiB --trace t.spc --format spc --quiet";
    let summary = json(&bench.good(&format!("{run} --json -")));
    let bytes = [("read", "host_read_bytes_per_s", 30 * 4096), ("written", "host_written_bytes_per_s", 10 * 8192u64)];
    let ns = summary["simulated_ns"].as_u64().unwrap();
    for (key, rate, bytes) in bytes {
        assert_eq!(summary["bytes"][key], bytes);
        let rate = summary[rate].as_f64().unwrap();
        let exact = bytes as f64 * 1e9 / ns as f64;
        assert!((rate / exact - 1.0).abs() < 1e-15, "{rate} for {exact}");
    }
    assert_eq!(summary["pages"]["read"], 30);
    let table = bench.good(run);
    assert!(table.contains("host reads 0.003 MB/s, host writes 0.002 MB/s"), "{table}");
    assert!(table.contains("in whole pages: reads 0.013 MB/s, writes 0.004 MB/s"), "{table}");
    // Requests of a warm-up do not count; without time there is no rate.
    let warm = json(&bench.good(&format!("{run} --json - --set run.warmup=20requests")));
    assert_eq!(warm["bytes"]["read"], 15 * 4096);
    let counted = json(&bench.good(&format!("{run} --json - --count-only")));
    assert_eq!(counted["bytes"], summary["bytes"]);
    assert_eq!((&counted["simulated_ns"], &counted["host_read_bytes_per_s"]), (&0.into(), &Value::Null));
    let csv = bench.good(&format!("{} --repeat 2 --csv", run.replacen("run", "compare", 1)));
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "host_read_bytes_per_s").unwrap();
    let cell: f64 = csv.lines().nth(1).unwrap().split(',').nth(column).unwrap().parse().unwrap();
    assert_eq!(Some(cell), summary["host_read_bytes_per_s"].as_f64());
}

#[test]
fn set_takes_toml_and_bare_words() {
    let bench = Bench::new();
    let mut command = bench
        .command("config show --set geometry.page_size=8KiB --set schemes.victim=random+ --set timing.transfer=10ns/B");
    command.args([
        "--set",
        "timing.read=[\"50us\",\"90us\"]",
        "--set",
        "gc.threshold=4 blocks",
        "--set",
        "schemes.place='PDWC'",
    ]);
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
    for line in [
        "page_size = \"8KiB\" ",
        "victim = \"random+\" ",
        "transfer = \"10ns/B\" ",
        "read = [\"50us\", \"90us\"] ",
        "threshold = \"4 blocks\" ",
        "place = \"PDWC\" ",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn presets_load_check_and_run() {
    let bench = Bench::new();
    let digest = |text: &str| text.split_whitespace().last().unwrap().to_string();
    assert_eq!(
        digest(&bench.good("config check")),
        digest(&bench.good("config check --preset default")),
        "the default preset says the defaults"
    );
    for preset in ssdlab_lab::presets::ALL {
        let text = bench.good(&format!("presets {}", preset.name));
        assert_eq!(text, preset.text);
        bench.good(&format!("config show --preset {}", preset.name));
        // Every value has its source next to it.
        for line in text.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')) {
            assert!(line.contains(" # "), "{}: {line}", preset.name);
        }
        // The same device with few blocks runs through.
        let (blocks, channels) = if preset.name == "brr" { (128, 8) } else { (48, 2) };
        let table = bench.good(&format!(
            "run --preset {} --workload mixed-70-30 --limit 200 --quiet --check full --set geometry.blocks_per_plane={blocks} --set geometry.channels={channels}",
            preset.name
        ));
        assert!(table.contains(&format!("preset {}", preset.name)) && table.contains("verdict"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }
}

#[test]
fn statuses_tell_what_went_wrong_and_nothing_is_left_behind() {
    let bench = Bench::new();
    let before = bench.files();
    bench.bad("run tiny.toml --workload mixed-70-30 --set gc.threshold=x --json out.json", 2);
    bench.bad("run tiny.toml --workload mixed-70-30 --json no/such/directory.json", 4);
    bench.bad("run tiny.toml --workload mixed-70-30 --json .", 4);
    bench.bad("run tiny.toml --trace nothing.csv", 4);
    assert_eq!(bench.files(), before);
    std::fs::write(
        bench.path().join("t.csv"),
        "128166372003061629,hm,0,Write,0,4096,1331\n128166372003061630,hm,0,Write,-4096,4096,1331\n",
    )
    .unwrap();
    let before = bench.files();
    let said = bench.bad(
        "run tiny.toml --trace t.csv --quiet --format msr --json out.json --requests rows.csv --perf perf.json",
        3,
    );
    assert!(said.contains("t.csv:2:"), "{said}");
    assert_eq!(bench.files(), before, "a run that fails leaves no file");
    bench.good("run tiny.toml --trace t.csv --quiet --format msr --on-bad-line skip=1 --json out.json");
}

#[test]
fn a_trace_is_replayed_from_standard_input_and_its_digest_is_of_its_requests() {
    let bench = Bench::new();
    let lines: String =
        (0..200).map(|i| format!("0,{},4096,{},{}.5\n", i * 8, if i % 3 == 0 { 'r' } else { 'w' }, i)).collect();
    std::fs::write(bench.path().join("t.spc"), &lines).unwrap();
    let from_file = bench.good("run tiny.toml --trace t.spc --format spc --quiet --json -");
    let mut child = bench
        .command("run tiny.toml --trace - --format spc --quiet --json -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    let from_pipe = child.wait_with_output().unwrap();
    assert_eq!(from_file.as_bytes(), from_pipe.stdout);
    let twice = json(&bench.good("run tiny.toml --trace t.spc --format spc --quiet --json - --loop 2"));
    assert_eq!(twice["requests"]["read"], 2 * 67);
    let closed = json(&bench.good("run tiny.toml --trace t.spc --format spc --quiet --json - --replay closed"));
    assert!(closed["simulated_ns"].as_u64() < json(&from_file)["simulated_ns"].as_u64());
    assert_eq!(closed["trace_digest"], json(&from_file)["trace_digest"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_clear_error() {
    let bench = Bench::new();
    for option in ["--json", "--perf"] {
        let output = bench.run(&format!("{WORK} {option} /dev/full"));
        assert_eq!(output.status.code(), Some(4));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("cannot write /dev/full: no space left on the device")
        );
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = bench.command(WORK).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn completions_and_the_manual_page_come_from_the_same_definitions() {
    let bench = Bench::new();
    assert!(bench.good("completions bash").contains("--lba-policy"));
    assert!(bench.good("manpage").contains(".TH ssdlab"));
}

#[test]
fn write_amplification_is_what_the_check_foretold() {
    let bench = Bench::new();
    let device = "tiny.toml --set geometry.blocks_per_plane=256 --set geometry.pages_per_block=64 --set precondition.overwrite=2 --set device.over_provisioning=0.12";
    let check = bench.good(&format!("config check {device}"));
    let line = check.lines().find(|line| line.starts_with("write amplification")).unwrap();
    let foretold: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    let summary = json(&bench.good(&format!("run {device} --workload random-write --limit 200000 --quiet --json -")));
    let measured = summary["write_amplification"].as_f64().unwrap();
    assert!((measured / foretold - 1.0).abs() < 0.02, "{measured} for {foretold}");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_what_the_check_foretold_and_too_much_is_refused() {
    let bench = Bench::new();
    let measured = |device: &str| {
        bench.good(&format!("run {device} --workload random-write --limit 10 --quiet --perf perf.json"));
        let perf = json(&std::fs::read_to_string(bench.path().join("perf.json")).unwrap());
        perf["peak_rss_bytes"].as_f64().unwrap() / f64::from(1 << 20)
    };
    let foretold = |device: &str| {
        let check = bench.good(&format!("config check {device}"));
        let line = check.lines().find(|line| line.starts_with("memory")).unwrap().to_string();
        let mib: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        (mib, line.contains("for schemes"))
    };
    // Mostly the program's own pages, which depend on how it was compiled.
    let small = "--set geometry.blocks_per_plane=16 --set device.over_provisioning=0.4";
    let (program, (known, _)) = (measured(small), foretold(small));
    assert!(program < 40.0, "{program}");
    // Tables of schemes that start as zeros take memory only when they are used.
    for (device, schemes, least) in [
        ("--set precondition.mode=sequential --set geometry.blocks_per_plane=2048", false, 0.95),
        ("--preset noc --set precondition.mode=sequential --set geometry.blocks_per_plane=8192", false, 0.95),
        (
            "--set precondition.mode=sequential --set device.mapping_unit=super-page --set geometry.blocks_per_plane=2048",
            false,
            0.95,
        ),
        ("--set precondition.mode=sequential --set ecc.errors=model", true, 0.95),
        ("--set precondition.mode=sequential --set schemes.route=dpr", true, 0.7),
    ] {
        let (mib, for_schemes) = foretold(device);
        assert_eq!(for_schemes, schemes, "{device}");
        let (taken, expected) = (measured(device) - program, mib - known);
        assert!((least..1.05).contains(&(taken / expected)), "{device}: {taken} more than a small one, not {expected}");
    }
    let said = bench.bad("run --workload random-write --memory-limit 16MiB", 2);
    assert!(
        said.contains("geometry.blocks_per_plane: the device needs about") && said.contains("has its default value"),
        "{said}"
    );
}

#[test]
fn an_option_that_slows_a_run_is_named() {
    let bench = Bench::new();
    let said = |options: &str| {
        let output = bench.run(&format!("run tiny.toml --workload random-write --limit 10 {options}"));
        assert!(output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        // The last line is what the run took.
        said.lines().filter(|line| !line.starts_with("simulated in")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(said("--requests r.csv --series s.csv --window 1ms --histograms h.csv"), "");
    let line = said("--timeline t.pftrace");
    let expected = "--timeline: an operation takes more than 1.5 times the CPU time, without the shortcuts moves, chains, lane; no \
                    result changes";
    assert_eq!(line, expected);
    assert!(
        said("--timeline t.pftrace --series s.csv --window 1ms --series-dies")
            .starts_with("--series-dies, --timeline: ")
    );
    assert_eq!(said("--timeline t.pftrace --quiet"), "");
    // Nothing is left that it could close.
    assert_eq!(said("--timeline t.pftrace --set timing.command=1us --set cache.size=64KiB --set cache.time=1us"), "");
}

#[test]
fn traces_are_looked_at_converted_and_generated() {
    let bench = Bench::new();
    bench.good("trace generate quickstart a.csv --limit 500 --capacity 64MiB");
    bench.good("trace convert a.csv b.txt --into ssdsim");
    let figures = |file: &str| {
        let text = bench
            .good(&format!("trace info {file} --json - --format {}", if file == "a.csv" { "msr" } else { "ssdsim" }));
        json(&text)[0]["figures"].clone()
    };
    assert_eq!(figures("a.csv"), figures("b.txt"), "nothing is lost on the way");
    assert_eq!(figures("a.csv")["requests"], 500);
    assert!(bench.good("trace check a.csv").contains("capacity"));
    let table = bench.good("trace info a.csv");
    assert!(table.contains("needs a device of") && table.lines().all(|line| line.chars().count() <= 100), "{table}");
    // A reader that closes the pipe early is not an error.
    let mut child =
        bench.command("trace generate quickstart -").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 40];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let left = child.wait_with_output().unwrap();
    assert!(left.status.success() && left.stderr.is_empty(), "{}", String::from_utf8_lossy(&left.stderr));
    let said = bench.bad("trace generate quickstart a.csv.gz", 2);
    assert!(said.contains("plain text"), "{said}");
}

#[test]
fn what_the_repository_says_of_configurations_is_current() {
    for (what, file) in [
        ("schema", "schema/ssdlab.schema.json"),
        ("schema study", "schema/study.schema.json"),
        ("schema fleet", "schema/fleet.schema.json"),
        ("schema workload", "schema/workload.schema.json"),
        ("reference", "docs/configuration.md"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let shipped = std::fs::read_to_string(path).unwrap();
        let current = Bench::new().good(&format!("config {what}"));
        assert!(current == shipped, "out of date; refresh it: ssdlab config {what} > {file}");
    }
    assert!(Bench::new().bad("config schema drive", 2).contains("configuration, study, fleet or workload"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_rows_are_the_csv_rows() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let bench = Bench::new();
    bench.good(&format!("{WORK} --requests rows.csv"));
    bench.good(&format!("{WORK} --requests rows.parquet"));
    let csv = std::fs::read_to_string(bench.path().join("rows.csv")).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(bench.path().join("rows.parquet")).unwrap()).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut rows = 0;
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let cells: Vec<String> = row
            .get_column_iter()
            .map(|(_, field)| match field {
                Field::Str(text) => text.clone(),
                other => other.to_string(),
            })
            .collect();
        assert_eq!(row.get_column_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(Some(cells.join(",").as_str()), lines.next());
        rows += 1;
    }
    assert_eq!(rows, 3000);
}

#[test]
fn hostile_configurations_are_refused_in_few_words() {
    let bench = Bench::new();
    let cases: [(&str, Vec<u8>); 8] = [
        ("brackets", [b"x = ".as_slice(), &b"[".repeat(100_000)].concat()),
        ("tables", [b"x = ".as_slice(), &b"{a=".repeat(100_000)].concat()),
        ("key", [b"a".repeat(1_000_000).as_slice(), b" = 1"].concat()),
        ("dots", [b"a.".repeat(100_000).as_slice(), b"a = 1"].concat()),
        ("string", [b"[geometry]\nchannels = \"".as_slice(), &b"b".repeat(1_000_000), b"\""].concat()),
        ("bytes", (0..=255).collect()),
        ("escapes", b"[gc]\n\"\\u001b[31m\" = 1".to_vec()),
        ("long", b"#".repeat(17 << 20)),
    ];
    for (name, bytes) in cases {
        std::fs::write(bench.path().join("hostile.toml"), bytes).unwrap();
        let said = bench.bad("config check hostile.toml", 2);
        assert!(said.starts_with("error: ") && said.len() < 2000, "{name}: {said}");
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{name}: {said:?}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn traces_go_through_parquet_and_come_back() {
    let bench = Bench::new();
    bench.good("trace generate quickstart a.csv --limit 3000 --capacity 64MiB");
    bench.good("trace convert a.csv b.parquet --into parquet");
    bench.good("trace convert b.parquet c.csv --into msr");
    let text = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    assert_eq!(text("a.csv"), text("c.csv"));
    let digest =
        |file: &str| json(&bench.good(&format!("run tiny.toml --trace {file} --lba-policy wrap --quiet --json -")));
    assert_eq!(digest("a.csv"), digest("b.parquet"));
    let said = bench.bad("trace info b.parquet --format msr", 3);
    assert!(said.contains("use --format parquet"), "{said}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn builds_without_parquet_say_so() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("a.csv"), "128166372003061629,hm,0,Write,0,4096,1331\n").unwrap();
    let said = bench.bad("trace convert a.csv b.parquet --into parquet", 2);
    assert!(said.contains("This build cannot write Parquet") && said.contains("--features parquet"), "{said}");
    std::fs::write(bench.path().join("b.parquet"), b"PAR1\x15\x04\x15\x00\x00").unwrap();
    let said = bench.bad("trace info b.parquet", 3);
    assert!(said.contains("which this build does not read") && said.contains("--features parquet"), "{said}");
}

/// The last phase of a workload may leave its end to `--limit`, which is written as people write numbers.
#[test]
fn a_limit_ends_a_phase_that_nothing_else_ends() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("endless.toml"), "write = 1.0\narrivals = \"closed\"\n").unwrap();
    for (limit, wanted) in [("1k", 1_000), ("1.5e3", 1_500), ("700", 700)] {
        let json = bench.good(&format!("run tiny.toml --workload endless.toml --limit {limit} --quiet --json -"));
        let summary: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(summary["requests"]["write"], wanted, "{limit}");
    }
    let text = bench.bad("run tiny.toml --workload endless.toml --limit 0k", 2);
    assert!(text.contains("such as 50000, 50k or 1e6"), "{text}");
    let text = bench.bad("run tiny.toml --workload endless.toml", 2);
    assert!(text.contains("nothing ends this phase"), "{text}");
}

#[test]
fn a_trace_in_place_of_a_configuration_is_told_apart() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("my.csv"), "0,R,0,4096\n").unwrap();
    let text = bench.bad("run my.csv --workload quickstart", 2);
    assert!(text.contains("if this is a trace: --trace my.csv"), "{text}");
}

/// Dropped requests of no bytes are in the summary, too.
#[test]
fn requests_of_no_bytes_count_as_skipped() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("t.spc"), "0,0,0,w,0.0\n0,0,4096,w,0.5\n0,8,0,r,0.7\n").unwrap();
    let json = bench.good("run tiny.toml --trace t.spc --format spc --quiet --json -");
    let summary: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&summary["requests"]["skipped"], &summary["requests"]["write"]), (&2.into(), &1.into()));
    let text = bench.good("run tiny.toml --trace t.spc --format spc --quiet");
    assert!(text.contains("; 2 others skipped (flushes, other commands, size 0)"), "{text}");
}
