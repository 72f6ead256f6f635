//! Sweeps: the same bytes however they are run, killed, signalled or submitted.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::Bench;
use crate::signals::command;

/// 2 x 4 points, 3 seeds, each of a few hundredths of a second.
pub const STUDY: &str = r#"schema = "ssdlab.study/1"
name = "victim-by-spare"

[base]
files = ["tiny.toml"]

[input]
workload = "mixed-70-30"
limit = 2_000

[axes]
"schemes.victim" = ["greedy", "rga"]
"device.over_provisioning" = { from = 0.25, to = 0.4, steps = 4 }

[repeat]
seeds = 3

[baseline]
"schemes.victim" = "greedy"
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("study.toml"), STUDY).unwrap();
    bench
}

/// Files of a folder by name, without what machines differ in.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, files);
            } else if !path.to_string_lossy().ends_with(".perf.json") {
                files.insert(path.strip_prefix(root).unwrap().into(), std::fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(folder, folder, &mut files);
    files
}

pub fn runs(bench: &Bench, store: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    tree(&bench.path().join(store).join("runs"))
}

pub fn status(bench: &Bench, store: &str) -> serde_json::Value {
    serde_json::from_str(&bench.good(&format!("sweep status study.toml --store {store} --json -"))).unwrap()
}

/// Says how many seconds something took: tests of time print it.
fn sweep(bench: &Bench, arguments: &str, expected: i32) -> String {
    let output = bench.run(&format!("sweep {arguments}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(expected), "{arguments}: {said}");
    said
}

#[test]
fn a_plan_says_what_a_sweep_would_do() {
    let bench = bench();
    let plan = bench.good("sweep plan study.toml");
    for line in
        ["points               8", "runs                 24", "left                 24 runs", "fillings             24"]
    {
        assert!(plan.contains(line), "{plan}");
    }
    assert!(plan.contains("first point          schemes.victim=greedy device.over_provisioning=0.25"), "{plan}");
    assert!(plan.contains("last point           schemes.victim=rga device.over_provisioning=0.4"), "{plan}");
    let exclude = "[design]\nexclude = [{ \"schemes.victim\" = \"d-choices\", \"device.over_provisioning\" = 0.25 }]\n";
    std::fs::write(bench.path().join("less.toml"), format!("{STUDY}{exclude}")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&bench.good("sweep plan less.toml --list --json -")).unwrap();
    assert_eq!((plan["runs"].as_u64(), plan["excluded"].as_u64()), (Some(21), Some(1)));
    assert_eq!(plan["list"][0]["values"]["device.over_provisioning"], 0.25);
    assert_eq!(plan["list"].as_array().unwrap().len(), 7);
    // A pilot measures; nothing is kept.
    assert!(bench.good("sweep plan study.toml --store none --pilot").contains("CPU time"));
    assert!(!bench.path().join("none").exists());
    // A mistake has its place in the file.
    std::fs::write(bench.path().join("bad.toml"), STUDY.replace("\"schemes.victim\" = [", "\"schemes.victm\" = ["))
        .unwrap();
    let said = bench.bad("sweep plan bad.toml", 2);
    assert!(said.contains("--> bad.toml:12:1") && said.contains("did you mean `schemes.victim`?"), "{said}");
}

#[test]
fn every_way_to_run_a_study_gives_the_same_bytes() {
    let bench = bench();
    sweep(&bench, "run study.toml --store one --jobs 1", 0);
    let whole = runs(&bench, "one");
    assert_eq!(whole.len(), 24);
    sweep(&bench, "run study.toml --store two --jobs 2 --check full", 0);
    assert_eq!(whole, runs(&bench, "two"));
    for shard in ["3/3", "1/3", "2/3", "1/2"] {
        sweep(&bench, &format!("run study.toml --store three --quiet --shard {shard}"), 0);
    }
    assert_eq!(whole, runs(&bench, "three"));
    let start = |_| start(&bench, "sweep run study.toml --store four --claim --jobs 1 --quiet", &[]);
    let processes: Vec<Child> = (0..2).map(start).collect();
    processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().code().is_some()));
    sweep(&bench, "run study.toml --store four --claim --quiet", 0);
    assert_eq!(whole, runs(&bench, "four"));
    for store in ["one", "two", "three", "four"] {
        for ending in ["csv", "parquet"] {
            bench.good(&format!("sweep table study.toml --store {store} -o {store}.{ending} --no-perf"));
        }
    }
    for ending in ["csv", "parquet"] {
        let bytes = |store: &str| std::fs::read(bench.path().join(format!("{store}.{ending}"))).unwrap();
        ["two", "three", "four"].iter().for_each(|store| assert!(bytes(store) == bytes("one"), "{store}.{ending}"));
    }
    let table = bench.text("one.csv");
    assert!(
        table.starts_with("study,point,key,status,rule,seed,schemes.victim,device.over_provisioning,simulated_ns,")
    );
    assert_eq!(table.lines().count(), 25);
    assert!(!table.contains("cpu_s"));
    bench.good("sweep table study.toml --store one -o tidy.csv --tidy");
    assert!(bench.text("tidy.csv").contains(",cpu_s,"));
    let status = status(&bench, "one");
    let counts = ["points", "runs", "done", "refused", "failed", "left"].map(|name| status[name].as_u64().unwrap());
    assert_eq!(counts, [8, 24, 24, 0, 0, 0]);
    assert!(status["cpu_s_done"].as_f64().unwrap() > 0.0 && status["eta_s"] == 0.0);
    // Records are verified by running them again; one that was changed is found.
    assert!(bench.good("sweep verify --store one --sample 1").contains("same bytes           24"));
    let name = whole.keys().next().unwrap();
    let path = bench.path().join("one/runs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replacen("\"erases\": ", "\"erases\": 1", 1);
    assert_ne!(text, changed);
    std::fs::write(&path, changed).unwrap();
    let output = bench.run("sweep verify --store one --sample 1");
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stdout).contains("differs: "));
}

#[test]
fn tables_of_runs_are_kept_if_they_are_wanted() {
    let bench = bench();
    let shorter = STUDY.replace("steps = 4", "steps = 1").replace("seeds = 3", "seeds = 1");
    std::fs::write(bench.path().join("study.toml"), shorter).unwrap();
    sweep(&bench, "run study.toml --store st", 0);
    assert_eq!(runs(&bench, "st").len(), 2);
    let said = sweep(&bench, "run study.toml --store st --keep requests,series,histograms", 0);
    assert!(said.contains("2 runs now"), "{said}");
    let kept = runs(&bench, "st");
    assert_eq!(kept.len(), 8);
    assert!(sweep(&bench, "run study.toml --store st --keep histograms", 0).contains("0 runs now"));
    // What is kept is what `run` writes.
    let run = "run tiny.toml --workload mixed-70-30 --limit 2000 --set schemes.victim=greedy --set device.over_provisioning=0.25 --quiet";
    bench.good(&format!("{run} --requests requests.parquet --json s.json"));
    let own = std::fs::read(bench.path().join("requests.parquet")).unwrap();
    assert!(kept.iter().any(|(name, bytes)| name.ends_with("requests.parquet") && *bytes == own));
    // Parts add up in any order; a run counts once.
    let record = |name: &Path| format!("st/runs/{}", name.display());
    let records: Vec<String> = kept
        .keys()
        .filter(|name| name.extension().is_some_and(|ending| ending == "json"))
        .map(|name| record(name))
        .collect();
    bench.good(&format!("merge {} {} -o sum.json", records[0], records[1]));
    bench.good(&format!("merge {} -o one.json", records[1]));
    assert_eq!(bench.good(&format!("merge one.json {} -o -", records[0])), bench.text("sum.json"));
    let sum: serde_json::Value = serde_json::from_str(&bench.text("sum.json")).unwrap();
    let summaries = records.iter().map(|name| serde_json::from_str::<serde_json::Value>(&bench.text(name)).unwrap());
    let counts: u64 = summaries.map(|record| record["summary"]["latency_ns"]["read"]["count"].as_u64().unwrap()).sum();
    assert_eq!(sum["latency_ns"]["read"]["count"], counts);
    assert!(bench.bad(&format!("merge sum.json {} -o x.json", records[0]), 2).contains("is given twice"));
    // Percentiles of one part are those of its summary.
    let one: serde_json::Value = serde_json::from_str(&bench.text("one.json")).unwrap();
    let own_record: serde_json::Value = serde_json::from_str(&bench.text(&records[1])).unwrap();
    for part in ["latency_ns", "waiting_ns", "write_amplification", "write_amplification_bytes"] {
        assert_eq!(one[part], own_record["summary"][part], "{part}");
    }
    // The summary in the record is the summary of the run.
    let summary: serde_json::Value = serde_json::from_str(&bench.text("s.json")).unwrap();
    let records: Vec<serde_json::Value> = kept
        .iter()
        .filter(|(name, _)| name.extension().is_some_and(|ending| ending == "json"))
        .map(|(_, bytes)| serde_json::from_slice(bytes).unwrap())
        .collect();
    assert!(records.iter().any(|record| record["summary"] == summary && record["config"] == summary["config"]));
}

fn start(bench: &Bench, arguments: &str, variables: &[(&str, &str)]) -> Child {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut command = command(bench, env!("CARGO_BIN_EXE_ssdlab"), &arguments);
    command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A number that follows another: moments are spread, and the same in every run.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Records with the file that holds each: a record that was written again has another.
fn inodes(bench: &Bench, store: &str) -> BTreeMap<PathBuf, u64> {
    let root = bench.path().join(store).join("runs");
    let files = runs(bench, store).into_keys().filter(|name| {
        let name = name.to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".fail.json")
    });
    files.map(|name| (name.clone(), std::fs::metadata(root.join(&name)).unwrap().ino())).collect()
}

/// `SSDLAB_KILLS=100 cargo test -p ssdlab --test suite sweep::kills` kills a hundred times.
#[test]
fn kills_at_any_moment_lose_nothing() {
    let wanted: u64 = std::env::var("SSDLAB_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let bench = bench();
    sweep(&bench, "run study.toml --store whole --quiet", 0);
    let (whole, mut state) = (runs(&bench, "whole"), 7);
    let from = Instant::now();
    sweep(&bench, "run study.toml --store whole --quiet", 0);
    let least = from.elapsed();
    let (mut kills, mut rounds) = (0, 0);
    while kills < wanted {
        rounds += 1;
        let store = format!("killed-{rounds}");
        let arguments = format!("sweep run study.toml --store {store} --jobs 2 --quiet --retry all");
        let mut before = BTreeMap::new();
        loop {
            let mut child = start(&bench, &arguments, &[]);
            std::thread::sleep(least.mul_f64(0.5) + Duration::from_micros(next(&mut state) % 300_000));
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            // No record is written a second time, and every one is whole.
            let after = inodes(&bench, &store);
            assert!(before.iter().all(|(name, inode)| after.get(name) == Some(inode)), "kill {kills}");
            runs(&bench, &store).iter().filter(|(name, _)| after.contains_key(*name)).for_each(|(name, bytes)| {
                assert!(whole[name] == *bytes, "kill {kills}: {}", name.display());
            });
            before = after;
            if ended.is_some() {
                break;
            }
            kills += 1;
            if kills >= wanted {
                break;
            }
        }
        sweep(&bench, &format!("run study.toml --store {store} --quiet --retry all"), 0);
        bench.good(&format!("sweep clean --store {store} --yes"));
        let left = tree(&bench.path().join(&store));
        assert!(!left.keys().any(|name| name.to_string_lossy().contains(".tmp-")), "{:?}", left.keys());
        let after = runs(&bench, &store);
        let differ: Vec<_> =
            after.keys().chain(whole.keys()).filter(|name| after.get(*name) != whole.get(*name)).collect();
        assert!(differ.is_empty(), "round {rounds}: {differ:?}");
    }
    println!("{kills} kills in {rounds} rounds");
}

#[test]
fn a_signal_stops_a_sweep_at_once() {
    let bench = bench();
    let long = STUDY.replace("limit = 2_000", "limit = 1_000_000_000");
    std::fs::write(bench.path().join("study.toml"), long).unwrap();
    for (signal, expected) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut child = start(&bench, "sweep run study.toml --store st --jobs 2 --quiet", &[]);
        let from = Instant::now();
        while !runs(&bench, "st").keys().any(|name| name.extension().is_some_and(|ending| ending == "run")) {
            assert!(from.elapsed() < Duration::from_secs(20), "it begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        let sent = Instant::now();
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(expected));
        assert!(sent.elapsed() < Duration::from_secs(1), "{signal}: {:?}", sent.elapsed());
        assert!(runs(&bench, "st").is_empty(), "{signal}: {:?}", runs(&bench, "st").keys());
    }
}

/// Ctrl-C says what is done, and the command that goes on.
#[test]
fn an_interrupt_says_how_to_go_on() {
    let bench = bench();
    // The first points end soon, the others never.
    let study = STUDY
        .replace("limit = 2_000\n", "")
        .replace("\"device.over_provisioning\" = { from = 0.25, to = 0.4, steps = 4 }", "limit = [500, 1_000_000_000]");
    std::fs::write(bench.path().join("a study.toml"), study.replace("seeds = 3", "seeds = 1")).unwrap();
    let mut sweep = command(
        &bench,
        env!("CARGO_BIN_EXE_ssdlab"),
        &["sweep", "run", "a study.toml", "--store", "st", "--jobs", "1"],
    );
    let child = sweep.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let from = Instant::now();
    let json = |name: &&PathBuf| name.extension().is_some_and(|ending| ending == "json");
    while !runs(&bench, "st").keys().any(|name| json(&name)) {
        assert!(from.elapsed() < Duration::from_secs(20), "the first run ends");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    let done = runs(&bench, "st").keys().filter(json).count();
    assert!(said.contains(&format!("interrupted: {done} of 4 runs in the store; 1 run in progress lost\n")), "{said}");
    assert!(said.contains("\n  go on with: ssdlab sweep run 'a study.toml' --store st --jobs 1\n"), "{said}");
}

#[test]
fn limits_end_runs_and_say_so() {
    let bench = bench();
    let endless = STUDY
        .replace("limit = 2_000", "limit = 1_000_000_000")
        .replace("steps = 4", "steps = 1")
        .replace("seeds = 3", "seeds = 1");
    std::fs::write(bench.path().join("study.toml"), format!("{endless}[limits]\nwall = \"100ms\"\n")).unwrap();
    let said = sweep(&bench, "run study.toml --store st", 75);
    assert!(
        said.contains("timeout: longer than the limit of 100ms") && said.contains("repeat with: ssdlab run --set"),
        "{said}"
    );
    sweep(&bench, "run study.toml --store st --quiet", 75);
    sweep(&bench, "run study.toml --store st --quiet", 1);
    let said = sweep(&bench, "run study.toml --store st", 1);
    assert!(said.contains("0 runs now; of 2 runs: 0 done, 0 refused, 2 failed, 0 left"), "{said}");
    assert!(bench.good("sweep status study.toml --store st").contains("timeout              2 runs"));
    assert!(bench.good("sweep clean --store st --failed").contains("to remove: 2 failures"));
    bench.good("sweep clean --store st --failed --yes");
    sweep(&bench, "run study.toml --store st --fail-fast --jobs 1 --quiet", 1);
    assert_eq!(status(&bench, "st")["left"], 2);
    // No time at all: nothing begins.
    let said = sweep(&bench, "run study.toml --store st --time-limit 0s", 75);
    assert!(said.contains("not expected to end in time"), "{said}");
}

#[test]
fn records_of_other_studies_can_be_removed() {
    let bench = bench();
    sweep(&bench, "run study.toml --store st --quiet", 0);
    std::fs::write(bench.path().join("less.toml"), STUDY.replace("seeds = 3", "seeds = 1")).unwrap();
    assert!(bench.good("sweep clean --store st --not-in less.toml").contains("to remove: 16 records"));
    assert_eq!(runs(&bench, "st").len(), 24, "nothing goes without --yes");
    bench.good("sweep clean --store st --not-in less.toml --yes");
    assert_eq!(runs(&bench, "st").len(), 8);
    assert!(bench.good("sweep clean --store st --version other --yes").contains("removed: 0 records"));
    let own = env!("CARGO_PKG_VERSION");
    assert!(bench.good(&format!("sweep clean --store st --version {own} --yes")).contains("removed: 8 records"));
    assert!(runs(&bench, "st").is_empty());
    std::fs::create_dir(bench.path().join("full")).unwrap();
    std::fs::write(bench.path().join("full/thesis.tex"), "").unwrap();
    let said = bench.bad("sweep run study.toml --store full", 2);
    assert!(said.contains("is not empty and not a store"), "{said}");
}

/// Runs the tasks of an array one after the other, as Slurm would.
const SBATCH: &str = r#"#!/bin/sh
for script; do :; done
echo "$@" > sbatch.arguments
range=$(sed -n 's/.*--array=\([0-9-]*\).*/\1/p' "$script")
export SLURM_ARRAY_TASK_MIN=${range%-*} SLURM_ARRAY_TASK_MAX=${range#*-} SLURM_ARRAY_JOB_ID=7 SLURM_JOB_ID=7
export SLURM_ARRAY_TASK_COUNT=$((SLURM_ARRAY_TASK_MAX - SLURM_ARRAY_TASK_MIN + 1))
for task in $(seq "$SLURM_ARRAY_TASK_MIN" "$SLURM_ARRAY_TASK_MAX"); do
    [ "$task" = "$CANCELLED" ] && continue
    SLURM_ARRAY_TASK_ID=$task sh "$script" || echo "task $task: $?"
done
echo "Submitted batch job 7"
"#;

/// A directory first in the path, with a stand-in for `sbatch` and the command under test.
fn with_slurm(bench: &Bench, arguments: &str, variables: &[(&str, &str)]) -> Output {
    let bin = bench.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let sbatch = bin.join("sbatch");
    std::fs::write(&sbatch, SBATCH).unwrap();
    std::fs::set_permissions(&sbatch, std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_ssdlab"));
    let path =
        format!("{}:{}:{}", bin.display(), own.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(own);
    command.current_dir(bench.path()).env("PATH", path).envs(variables.iter().copied());
    command.args(arguments.split_whitespace()).output().unwrap()
}

#[test]
fn an_array_job_is_submitted_and_its_tasks_share_the_work() {
    let bench = bench();
    sweep(&bench, "run study.toml --store whole --quiet", 0);
    let script = bench.good("sweep submit study.toml --store st --slurm --print --time 1:00:00");
    let root = bench.path().canonicalize().unwrap();
    let lines: Vec<&str> = script.lines().collect();
    assert_eq!(lines[0], "#!/bin/sh");
    assert_eq!(
        lines[1],
        "#SBATCH --job-name=ssdlab-victim-by-spare --array=1-2 --cpus-per-task=1 --mem=4G --time=1:00:00 --requeue --open-mode=append"
    );
    let here = root.display();
    assert_eq!(
        lines[2].replace("/private", ""),
        format!("exec ssdlab sweep run {here}/study.toml --store {here}/st --shard auto --time-limit 55m --quiet")
            .replace("/private", "")
    );
    assert!(!bench.path().join("st").exists(), "--print submits nothing");
    let submit = "sweep submit study.toml --store st --slurm --array 6 --sbatch --partition=short";
    // One task is cancelled; submitted again, the study is complete.
    let output = with_slurm(&bench, submit, &[("CANCELLED", "4")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.trim(), "Submitted batch job 7");
    assert!(bench.text("sbatch.arguments").starts_with("--partition=short "));
    let left = status(&bench, "st")["left"].as_u64().unwrap();
    assert!((1..24).contains(&left), "{left}");
    let output = with_slurm(&bench, submit, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Submitted batch job 7");
    assert_eq!(status(&bench, "st")["left"], 0);
    assert_eq!(runs(&bench, "whole"), runs(&bench, "st"));
    let costs = tree_of_costs(&bench, "st");
    assert!(costs.iter().any(|cost| cost["job"] == "7_1") && costs.iter().all(|cost| cost["attempt"] == 1));
    // Half of an array's variables is no array.
    let mut child = start(&bench, "sweep run study.toml --store st --shard auto", &[("SLURM_ARRAY_TASK_ID", "3")]);
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

fn tree_of_costs(bench: &Bench, store: &str) -> Vec<serde_json::Value> {
    let mut costs = Vec::new();
    for folder in std::fs::read_dir(bench.path().join(store).join("runs")).unwrap() {
        for entry in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(".perf.json") {
                costs.push(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
            }
        }
    }
    costs
}

/// Acceptance 6, in part: the store is listed, not read, by `plan`.
#[test]
fn a_trace_is_part_of_the_key_by_its_content() {
    let bench = bench();
    let line = |n: u64| format!("{},hm,0,Write,{},4096,1331\n", 128166372003061629 + n * 100_000, n % 64 * 4096);
    let rows: String = (0..3_000).map(line).collect();
    std::fs::write(bench.path().join("a.csv"), &rows).unwrap();
    std::fs::write(bench.path().join("b.csv"), rows.replace(",4096,1331", ",8192,1331")).unwrap();
    let study = STUDY
        .replace("workload = \"mixed-70-30\"\nlimit = 2_000", "traces = \"[ab].csv\"")
        .replace("seeds = 3", "seeds = 1");
    std::fs::write(bench.path().join("study.toml"), &study).unwrap();
    sweep(&bench, "run study.toml --store st --quiet", 0);
    let first = runs(&bench, "st");
    assert_eq!(first.len(), 16);
    // The same content under another name is the same run; other content is not.
    std::fs::rename(bench.path().join("b.csv"), bench.path().join("c.csv")).unwrap();
    std::fs::write(bench.path().join("study.toml"), study.replace("[ab]", "[ac]")).unwrap();
    assert!(sweep(&bench, "run study.toml --store st", 0).contains("0 runs now"));
    std::fs::write(bench.path().join("c.csv"), rows.replace(",4096,1331", ",16384,1331")).unwrap();
    assert!(sweep(&bench, "run study.toml --store st", 0).contains("8 runs now"));
    let said = bench.good("sweep verify --store st --sample 1");
    assert!(said.contains("same bytes           16") && said.contains("without input        8"), "{said}");
}

/// The requests of all parts, at their places in time, are those of the trace.
#[test]
fn a_trace_is_divided_by_volume() {
    let bench = bench();
    // Five volumes whose names no file system would take all, one with two requests.
    let names = ["a", "A", "../x", "rest", "few"];
    let (mut rows, mut state) = (String::new(), 5);
    for n in 0..400u64 {
        let volume = if n == 7 || n == 300 { 4 } else { next(&mut state) % 4 };
        let op = if next(&mut state).is_multiple_of(3) { "R" } else { "W" };
        let (name, offset) = (names[volume as usize], next(&mut state) % 1000 * 4096);
        let (time, fua) = (n * 1_000 + next(&mut state) % 999, u8::from(op == "W" && n % 5 == 0));
        let stream = ["-", "log", "heap", "undo"][(next(&mut state) % 4) as usize];
        rows.push_str(&format!("{time},{op},{offset},4096,{name},{fua},{stream}\n"));
    }
    std::fs::write(bench.path().join("t.csv"), &rows).unwrap();
    let map = "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4,fua=5,stream=6";
    let said = bench.good(&format!("trace split t.csv --format {map} --by device --into parts --min-requests 3"));
    assert_eq!(said, "400 requests of 5 volumes in 5 files\n");
    let list = bench.text("parts/volumes.csv");
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let files: BTreeMap<&str, &str> = rows.iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(files["few"], "rest.parquet");
    assert!(files["../x"].starts_with("volume-") && files["rest"].starts_with("volume-"), "{files:?}");
    assert_ne!(files["a"].to_lowercase(), files["A"].to_lowercase());
    // Each part as the requests of its volume, with the clock of the trace.
    let requests = |trace: &str, device: &str, first: u64| -> Vec<(u64, String)> {
        let out = bench.path().join("one.csv");
        bench.good(&format!("trace convert {trace} one.csv --into {map}{device}"));
        let text = std::fs::read_to_string(&out).unwrap();
        let lines = text.lines().map(|line| line.split_once(',').unwrap());
        lines.map(|(time, rest)| (time.parse::<u64>().unwrap() + first, rest.to_string())).collect()
    };
    let mut all: Vec<(u64, String)> = Vec::new();
    for row in &rows {
        let part = requests(&format!("parts/{}", row[1]), "", row[3].parse().unwrap());
        assert_eq!(part.len() as u64, row[2].parse::<u64>().unwrap(), "{row:?}");
        assert!(part.is_sorted_by_key(|(time, _)| *time));
        all.extend(part);
    }
    all.sort();
    let mut whole = requests(&format!("t.csv --format {map}"), "", 0);
    whole.sort();
    // Names of volumes are kept where the format has them.
    assert_eq!(all, whole);
    // A number of files in place of one a volume.
    let said = bench.good(&format!("trace split t.csv --format {map} --into two --parts 2"));
    assert!(said.starts_with("400 requests of 5 volumes in 2 files") || said.contains("in 1 file"), "{said}");
    std::fs::copy(bench.path().join("t.csv"), bench.path().join("u.csv")).unwrap();
    let said = bench.bad(&format!("trace split t.csv u.csv --format {map} --into three"), 2);
    assert!(said.contains("is in u.csv and in a trace before it"), "{said}");
}

/// The store of the repository has what this version gives for its study. `SSDLAB_GOLDENS=write` replaces it.
#[test]
fn the_example_store_verifies() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweep");
    let (study, kept) = (example.join("study.toml"), example.join("store"));
    let bench = Bench::new();
    sweep(&bench, &format!("run {} --store st --quiet", study.display()), 0);
    let fresh = runs(&bench, "st");
    assert_eq!(fresh.len(), 8);
    if std::env::var("SSDLAB_GOLDENS").is_ok_and(|value| value == "write") {
        let _ = std::fs::remove_dir_all(kept.join("runs"));
        for (name, bytes) in &fresh {
            let path = kept.join("runs").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::copy(bench.path().join("st/store.json"), kept.join("store.json")).unwrap();
    }
    assert_eq!(tree(&kept.join("runs")), fresh, "SSDLAB_GOLDENS=write writes the store of a new version");
    let said = bench.good(&format!("sweep verify --store {} --sample 1", kept.display()));
    for line in ["records              8", "same bytes           8", "other bytes          0"] {
        assert!(said.contains(line), "{said}");
    }
}

/// Each study of the repository has points that no rule refuses, and inputs that exist.
#[test]
fn the_studies_of_the_repository_can_be_planned() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let bench = Bench::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(&studies).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            seen += 1;
            let plan = bench.good(&format!("sweep plan {} --json -", path.display()));
            let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
            // Studies of today's drive name the schemes that are refused with its features; their tables say so.
            let today = plan["study"].as_str().is_some_and(|name| name.starts_with("modern-"));
            assert!(today || plan["refused"] == serde_json::json!([]), "{}: {}", path.display(), plan["refused"]);
            assert!(plan["points"].as_u64().unwrap() >= 6, "{}", path.display());
            assert_eq!(plan["study"].as_str(), path.file_stem().unwrap().to_str());
        }
    }
    // Models that are reduced are those that come with the program.
    for entry in std::fs::read_dir(studies.join("composed/scaled")).unwrap() {
        let path = entry.unwrap().path();
        let bundled = studies.join("../workloads").join(path.file_name().unwrap());
        let whole = std::fs::read_to_string(bundled).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("scale = true\n{whole}"), "{}", path.display());
    }
    assert_eq!(seen, 21);
}

/// Labels and values of studies are texts of files: a terminal must not obey them.
#[test]
fn tables_of_a_plan_escape_what_a_terminal_would_obey() {
    let bench = bench();
    let axis = "[axes]\n\"a\\u001B[31m\\u202E\" = { values = { \"x\\u001B[2J\" = {}, \"y\\u009B\" = { \"gc.time\" = \"none\" } } }\n";
    let text = STUDY.split("[axes]").next().unwrap().to_string() + axis;
    std::fs::write(bench.path().join("study.toml"), text).unwrap();
    for arguments in ["sweep plan study.toml --list", "sweep plan study.toml"] {
        let said = bench.good(arguments);
        assert!(said.chars().all(|c| c == '\n' || !ssdlab_trace::acts(c)), "{said:?}");
        assert!(said.contains("x\\u{1b}[2J"), "{said}");
    }
    bench.good("sweep run study.toml --store st --quiet --report r.html --report-lite");
    let page = bench.text("r.html");
    assert!(!page.contains('\u{202e}') && page.contains("\\u{202e}"), "the sign is written out");
}

/// A crash is a failure of the points that ran; a kill is not even an attempt.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_is_a_failure_and_a_kill_is_not() {
    for (signal, expected, status) in
        [("-KILL", "killed", 75), ("-SEGV", "failed", 1), ("-ABRT", "failed", 1), ("-BUS", "failed", 1)]
    {
        let bench = bench();
        let long = STUDY.replace("limit = 2_000", "limit = 1_000_000_000").split("[axes]").next().unwrap().to_string();
        std::fs::write(bench.path().join("study.toml"), long).unwrap();
        let mut child = start(&bench, "sweep run study.toml --store st --jobs 1 --quiet", &[]);
        let from = Instant::now();
        while !runs(&bench, "st").keys().any(|name| name.extension().is_some_and(|ending| ending == "run")) {
            assert!(from.elapsed() < Duration::from_secs(20), "it begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), None, "{signal} ends it");
        // The next one only looks: no run is expected to end within a nanosecond.
        let output = bench.run("sweep run study.toml --store st --quiet --time-limit 1ns");
        assert_eq!(output.status.code(), Some(status), "{signal}: {}", String::from_utf8_lossy(&output.stderr));
        let name = runs(&bench, "st").into_keys().find(|name| name.to_string_lossy().ends_with(".fail.json")).unwrap();
        let failure: serde_json::Value =
            serde_json::from_slice(&std::fs::read(bench.path().join("st/runs").join(name)).unwrap()).unwrap();
        assert_eq!(failure["status"], expected, "{failure}");
        let counts = [&failure["attempts"], &failure["kills"]].map(|n| n.as_u64().unwrap());
        assert_eq!(counts, if signal == "-KILL" { [0, 1] } else { [1, 0] }, "{failure}");
        bench.good("sweep clean --store st --yes");
        let left = tree(&bench.path().join("st"));
        assert!(!left.keys().any(|name| name.to_string_lossy().contains(".tmp-")), "{:?}", left.keys());
    }
}
