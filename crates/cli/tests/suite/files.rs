//! No output replaces an input of the same command or another output, under any name of the file.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::Bench;

const TRACE: &str = "128166372003061629,hm,0,Write,4096,4096,1331\n";
const WORKLOAD: &str = "requests = 10\nwrite = 1.0\nsize = \"4KiB\"\narrivals = \"closed\"\n";

/// A directory with a file of every kind that commands read.
fn bench() -> Bench {
    let bench = Bench::new();
    let put = |name: &str, text: &str| fs::write(bench.path().join(name), text).unwrap();
    fs::create_dir(bench.path().join("recordings")).unwrap();
    fs::create_dir(bench.path().join("sub")).unwrap();
    put("in.csv", TRACE);
    put("recordings/hm_0.csv", TRACE);
    put("work.toml", WORKLOAD);
    put("a.toml", "");
    put("b.toml", "");
    bench
}

/// Every command with the files that it reads, and its outputs, `{}` for their names.
fn commands() -> Vec<(&'static str, &'static [&'static str], Vec<&'static str>)> {
    let run = vec!["--json {}", "--requests {}", "--series {}", "--timeline {}", "--blocks {}", "--perf {}"];
    let compare = vec!["--json {}", "--rows {}"];
    vec![
        ("run tiny.toml --trace in.csv --format msr", &["tiny.toml", "in.csv"], run.clone()),
        ("run tiny.toml --workload work.toml", &["tiny.toml", "work.toml"], run.clone()),
        ("run tiny.toml --workload a.hm_0 --traces recordings", &["recordings/hm_0.csv"], run),
        (
            "compare tiny.toml --trace in.csv --format msr --vary file=a.toml,b.toml",
            &["tiny.toml", "in.csv", "a.toml", "b.toml"],
            compare.clone(),
        ),
        ("compare tiny.toml --workload work.toml --repeat 2", &["work.toml"], compare.clone()),
        ("compare --workload a.hm_0 --traces recordings --repeat 2", &["recordings/hm_0.csv"], compare),
        ("explain tiny.toml --trace in.csv --format msr", &["tiny.toml", "in.csv"], vec!["--json {}", "--report {}"]),
        ("explain in.csv", &["in.csv"], vec!["--json {}"]),
        (
            "whatif tiny.toml --workload work.toml",
            &["tiny.toml", "work.toml"],
            vec!["--json {}", "--requests {}", "--timeline {}", "--report {}"],
        ),
        ("reproduce a --quick --traces recordings", &["recordings/hm_0.csv"], vec!["--json {}"]),
        ("trace info in.csv --format msr", &["in.csv"], vec!["--json {}"]),
        ("trace convert in.csv --into spc --format msr", &["in.csv"], vec!["{}"]),
        ("trace generate work.toml", &["work.toml"], vec!["{}"]),
    ]
}

/// Other names of a file: itself, ways around, a link, a link to a link, a hard link.
fn names(bench: &Bench, file: &str) -> Vec<String> {
    let at = |name: &str| bench.path().join(name);
    for name in ["soft.csv", "softer.csv", "hard.csv"] {
        let _ = fs::remove_file(at(name));
    }
    symlink(at(file), at("soft.csv")).unwrap();
    symlink("soft.csv", at("softer.csv")).unwrap();
    fs::hard_link(at(file), at("hard.csv")).unwrap();
    let (around, whole) = (format!("sub/../{file}"), at(file).display().to_string());
    vec![file.into(), format!("./{file}"), around, whole, "soft.csv".into(), "softer.csv".into(), "hard.csv".into()]
}

#[test]
fn no_output_replaces_what_its_command_reads() {
    let bench = bench();
    for (command, inputs, outputs) in commands() {
        for input in inputs {
            let before = fs::read(bench.path().join(input)).unwrap();
            for name in names(&bench, input) {
                for output in &outputs {
                    let said = bench.bad(&format!("{command} {}", output.replace("{}", &name)), 2);
                    assert!(said.contains("would replace what") && said.contains(&name), "{command}, {name}: {said}");
                }
            }
            assert_eq!(fs::read(bench.path().join(input)).unwrap(), before, "{command}: {input} is as it was");
        }
    }
}

#[test]
fn two_outputs_are_two_files() {
    let bench = bench();
    let at = |name: &str| bench.path().join(name);
    symlink("sub", at("way")).unwrap();
    symlink("sub/new.csv", at("dangling.csv")).unwrap();
    fs::write(at("old.csv"), "old").unwrap();
    let old = names(&bench, "old.csv");
    let new = ["sub/new.csv", "./sub/new.csv", "way/new.csv", "sub/../sub/new.csv", "dangling.csv"].map(String::from);
    let run = ["--json", "--requests", "--series", "--timeline", "--blocks", "--perf"];
    for names in [&old[..], &new[..]] {
        for (i, second) in names.iter().enumerate() {
            let first = &names[(i + 1) % names.len()];
            for (one, other) in run.iter().zip(run.iter().skip(1)) {
                let command = format!("run tiny.toml --trace in.csv --format msr {one} {first} {other} {second}");
                let said = bench.bad(&command, 2);
                assert!(said.contains(&format!("{one} and {other} both write {second}")), "{command}: {said}");
            }
            let command =
                format!("compare tiny.toml --trace in.csv --format msr --repeat 2 --json {first} --rows {second}");
            assert!(bench.bad(&command, 2).contains("both write"), "{command}");
        }
    }
    assert_eq!(bench.text("old.csv"), "old");
    assert!(!at("sub/new.csv").exists());
    // A link to a missing file: the file is created, the link stays.
    bench.good("run tiny.toml --trace in.csv --format msr --quiet --requests dangling.csv");
    assert!(at("sub/new.csv").is_file() && at("dangling.csv").is_symlink());
}

#[test]
fn summaries_of_a_comparison_replace_neither_its_inputs_nor_its_other_outputs() {
    let bench = bench();
    fs::rename(bench.path().join("recordings/hm_0.csv"), bench.path().join("recordings/2-1.json")).unwrap();
    let command = "compare tiny.toml --format msr --repeat 2 --vary gc.time=real,none";
    let said = bench.bad(&format!("{command} --trace recordings/2-1.json --summaries recordings"), 2);
    assert!(said.contains("--summaries recordings/2-1.json would replace what --trace reads"), "{said}");
    let said = bench.bad(&format!("{command} --trace in.csv --json sub/2-2.json --summaries sub"), 2);
    assert!(said.contains("--json and --summaries both write sub/2-2.json"), "{said}");
    assert_eq!(bench.text("recordings/2-1.json"), TRACE);
}

fn shell(bench: &Bench, command: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ssdlab")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(bench.path()).output().unwrap()
}

#[test]
fn standard_streams_that_are_files_are_files_too() {
    let bench = bench();
    for (command, says) in [
        ("ssdlab run tiny.toml --trace - --format msr --json in.csv < in.csv", "would replace what --trace reads"),
        ("ssdlab trace convert - in.csv --into spc --format msr < in.csv", "would replace what the command reads"),
        (
            "ssdlab run tiny.toml --trace in.csv --format msr --json out > out",
            "standard output and --json both write out",
        ),
        ("ssdlab run tiny.toml --trace in.csv --format msr --json /dev/stdout > out", "both write /dev/stdout"),
        ("ssdlab run tiny.toml --trace in.csv --format msr --json log 2> log", ""),
    ] {
        let output = shell(&bench, command);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(says), "{command}: {said}");
        assert_eq!(bench.text("in.csv"), TRACE);
    }
    assert!(bench.text("log").contains("standard error and --json both write log"));
}

/// Devices and pipes may be named more than once.
#[test]
fn devices_and_pipes_take_more_than_one_result() {
    let bench = bench();
    let run = "run tiny.toml --trace in.csv --format msr --quiet";
    bench.good(&format!("{run} --json /dev/null --perf /dev/null --timeline /dev/null"));
    let text = bench.good(&format!("{run} --json /dev/stdout --perf /dev/stdout"));
    assert!(text.contains("ssdlab.summary/1") && text.contains("peak_rss_bytes") && text.contains("verdict"), "{text}");
    let to = File::options().write(true).open("/dev/null").unwrap();
    let quiet = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
        .current_dir(bench.path())
        .args(format!("{run} --json /dev/null").split_whitespace())
        .stdout(to)
        .status()
        .unwrap();
    assert!(quiet.success());
}

const STUDY: &str = "schema = \"ssdlab.study/1\"\nname = \"s\"\n[base]\nfiles = [\"tiny.toml\"]\n[input]\ntrace = \"in.csv\"\nformat = \"msr\"\n[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n";
const FLEET: &str = "schema = \"ssdlab.fleet/1\"\nname = \"f\"\n[volumes]\nlist = \"list.csv\"\nformat = \"msr\"\n[base]\nfiles = [\"tiny.toml\"]\n";

/// A study and a fleet over the trace, with their stores.
fn stores() -> Bench {
    let bench = bench();
    let put = |name: &str, text: &str| fs::write(bench.path().join(name), text).unwrap();
    put("study.toml", STUDY);
    put("fleet.toml", FLEET);
    put("list.csv", "name,trace\na,in.csv\n");
    bench.good("sweep run study.toml --store st --quiet");
    bench.good("fleet run fleet.toml --store fs --quiet");
    bench
}

/// The record of a run of a store.
fn record(bench: &Bench, store: &str) -> String {
    let folder = fs::read_dir(bench.path().join(store).join("runs")).unwrap().next().unwrap().unwrap().path();
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.filter(|name| name.len() == 64 + 5).min().unwrap();
    folder.join(name).strip_prefix(bench.path()).unwrap().display().to_string()
}

/// Inputs that no option names are found on the way: bases and traces of studies, volumes of fleets, records of stores. Their commands
/// name none of them in advance.
#[test]
fn no_output_replaces_what_is_found_on_the_way() {
    let bench = stores();
    let (record, of_fleet) = (record(&bench, "st"), record(&bench, "fs"));
    bench.good("run tiny.toml --trace in.csv --format msr --quiet --json s.json");
    bench.good(&format!("merge {of_fleet} -o m.json"));
    let study = ["study.toml", "tiny.toml", "in.csv"];
    let fleet = ["fleet.toml", "list.csv", "tiny.toml", "in.csv"];
    let commands: [(&str, &[&str], &str); 11] = [
        ("sweep plan study.toml", &study, "--json {}"),
        ("sweep run study.toml --store st --quiet", &study, "--report {} --report-lite"),
        ("sweep status study.toml --store st", &study, "--json {}"),
        ("sweep table study.toml --store st", &["in.csv"], "-o {}"),
        ("fleet plan fleet.toml", &fleet, "--json {}"),
        ("fleet status fleet.toml --store fs", &fleet, "--json {}"),
        ("fleet table fleet.toml --store fs", &["list.csv", "in.csv"], "-o {}"),
        ("fleet table fleet.toml --store fs -o new.csv", &["list.csv", "in.csv"], "--slowest {}"),
        ("report s.json", &["s.json"], "-o {}"),
        ("report st", &[&record], "-o {}"),
        ("merge m.json", &["m.json"], "-o {}"),
    ];
    for (command, inputs, output) in commands {
        for input in inputs {
            let before = fs::read(bench.path().join(input)).unwrap();
            for name in names(&bench, input) {
                // Tables have names with an ending.
                if command.contains("table") && !name.ends_with(".csv") {
                    continue;
                }
                let said = bench.bad(&format!("{command} {}", output.replace("{}", &name)), 2);
                assert!(said.contains("would replace") && said.contains(&name), "{command}, {name}: {said}");
                assert!(fs::read(bench.path().join(input)).unwrap() == before, "{command}: {input} is as it was");
            }
        }
    }
    assert!(!bench.path().join("new.csv").exists(), "no output appears if another one is refused");
    // Two outputs of one command.
    let said = bench.bad("fleet table fleet.toml --store fs -o new.csv --slowest ./new.csv", 2);
    assert!(said.contains("both write ./new.csv"), "{said}");
    // The files that a trace is divided into.
    fs::copy(bench.path().join("in.csv"), bench.path().join("hm_0.csv")).unwrap();
    let said = bench.bad("trace split hm_0.csv --format msr --as msr --into .", 2);
    assert!(said.contains("would replace") && bench.text("hm_0.csv") == TRACE, "{said}");
    // Other files are written as before, again and again.
    for _ in 0..2 {
        bench.good("sweep status study.toml --store st --json status.json");
        bench.good("sweep table study.toml --store st -o st/table.csv");
        bench.good("report st -o st/page.html --lite");
    }
}

/// The files of a store are its own, whether a command reads them or not.
#[test]
fn no_output_replaces_a_file_of_a_store() {
    let bench = stores();
    let record = record(&bench, "st");
    symlink(bench.path().join(&record), bench.path().join("rec.json")).unwrap();
    let before = fs::read(bench.path().join(&record)).unwrap();
    for output in [&record, "rec.json", "st/store.json", "st/studies/s/study.toml", "st/runs/new.json"] {
        for command in [
            "sweep status study.toml --store st --json",
            "sweep plan study.toml --store st --json",
            "plot pareto st --x latency_ns.write.mean --y write_amplification -o",
        ] {
            // A figure has a name with an ending.
            if command.starts_with("plot") && !output.ends_with(".json") {
                continue;
            }
            let said = bench.bad(&format!("{command} {output}"), 2);
            assert!(said.contains("would replace"), "{command} {output}: {said}");
        }
    }
    assert!(fs::read(bench.path().join(&record)).unwrap() == before && !bench.path().join("st/runs/new.json").exists());
    assert_eq!(bench.text("st/store.json"), "{\"schema\": \"ssdlab.store/1\"}\n");
}

/// What a command reads twice, or may have to, is a regular file: pipes and devices are refused, and nothing waits for them.
#[test]
fn a_pipe_is_never_waited_for_twice() {
    let bench = stores();
    let fed = |command: &str, status: i32| {
        let text = format!(
            "rm -f p; mkfifo p; ln -sf p p.csv; (timeout 20 cat in.csv > p) 2>/dev/null & timeout 20 ssdlab {command}; s=$?; kill $! 2>/dev/null; exit $s"
        );
        let output = shell(&bench, &text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{command}: {said}");
        said
    };
    let said = fed("compare tiny.toml --trace p --format msr --vary schemes.victim=greedy,fifo --quiet", 2);
    assert!(said.contains("can be read only once"), "{said}");
    fed("run tiny.toml --trace p --format msr --quiet", 0);
    fs::write(bench.path().join("list.csv"), "name,trace\na,p\n").unwrap();
    let said = fed("fleet plan fleet.toml", 4);
    assert!(said.contains("it is not a regular file"), "{said}");
    for command in ["report p -o r.html", "plot cdf p -o c.svg", "merge p -o -", "explain p.csv"] {
        let said = fed(command, 4);
        assert!(said.contains("it is not a regular file"), "{command}: {said}");
    }
    // A configuration is read once, so it may come from a pipe; a second reading is refused.
    let text = "rm -f p; mkfifo p; (timeout 20 cat tiny.toml > p) & timeout 20 ssdlab run p --workload quickstart --limit 5 --quiet";
    assert_eq!(shell(&bench, text).status.code(), Some(0));
    let text = text.replace("run p --workload", "run p p --workload");
    let output = shell(&bench, &text);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("a pipe can be read only once"), "{said}");
}

/// Files that never end are refused by their kind.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_is_no_result() {
    let bench = stores();
    for name in ["z", "z.csv"] {
        symlink("/dev/zero", bench.path().join(name)).unwrap();
    }
    for command in ["report z -o r.html", "plot cdf z -o c.svg", "merge z -o -", "explain z.csv"] {
        let said = bench.bad(command, 4);
        assert!(said.contains("it is not a regular file"), "{command}: {said}");
    }
    // A record is set aside, and the run is missing.
    let record = record(&bench, "st");
    fs::remove_file(bench.path().join(&record)).unwrap();
    symlink("/dev/zero", bench.path().join(&record)).unwrap();
    bench.good("sweep table study.toml --store st -o t.csv --no-perf");
    assert_eq!(fs::read_dir(bench.path().join("st/broken")).unwrap().count(), 1);
    bench.good("sweep run study.toml --store st --quiet");
    assert!(fs::symlink_metadata(bench.path().join(&record)).unwrap().is_file());
    // A sparse file is regular, and larger than any result.
    let large = File::create(bench.path().join("large.json")).unwrap();
    fs::write(bench.path().join("large.json"), "{").unwrap();
    large.set_len(1 << 40).unwrap();
    assert!(bench.bad("report large.json -o r.html", 3).contains("large.json is longer than 256 MiB"));
}
