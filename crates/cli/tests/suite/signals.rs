//! However a run ends, it leaves no half-written file, and the exit status tells the cause.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::Bench;

fn files(bench: &Bench) -> Vec<String> {
    let names = std::fs::read_dir(bench.path()).unwrap();
    let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn parts(bench: &Bench) -> Vec<String> {
    files(bench).into_iter().filter(|name| name.ends_with(".part")).collect()
}

/// A command with the usual handling of signals, whatever this process was started to ignore: `nohup cargo test` ignores SIGHUP, and
/// a shell can't undo that.
pub fn command(bench: &Bench, program: &str, arguments: &[&str]) -> Command {
    let usual = Command::new("env").args(["--default-signal", "true"]).output().is_ok_and(|done| done.status.success());
    let mut command = Command::new(if usual { "env" } else { program });
    if usual {
        command.args(["--default-signal", program]);
    }
    let place = Path::new(env!("CARGO_BIN_EXE_ssdlab")).parent().unwrap();
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap_or_default());
    command.current_dir(bench.path()).args(arguments).env("PATH", path).stdin(Stdio::null());
    command
}

fn shell(bench: &Bench, text: &str) -> Output {
    command(bench, "sh", &["-c", text]).output().unwrap()
}

const LONG: &str =
    "exec ssdlab run tiny.toml --workload mixed-70-30 --loop 1000000 --quiet --json out.json --requests rows.csv";

/// Starts a run that would take hours, and waits until it has created this many files.
fn begun(bench: &Bench, text: &str, more: usize) -> Child {
    let before = parts(bench);
    let new = || parts(bench).iter().filter(|name| !before.contains(name)).count();
    let mut child = command(bench, "sh", &["-c", text]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let from = Instant::now();
    while new() < more {
        assert!(from.elapsed() < Duration::from_secs(20), "{text}: the temporary files appear");
        assert_eq!(child.try_wait().unwrap(), None, "{text}: it runs");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(50));
    child
}

/// The status of a process that is to end by itself: a test never waits for longer than a minute.
fn ended(child: &mut Child) -> std::process::ExitStatus {
    let from = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if from.elapsed() > Duration::from_secs(60) => {
                child.kill().unwrap();
                panic!("the process has not ended");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_signal_ends_a_command_with_its_status_and_leaves_no_half_file() {
    let bench = Bench::new();
    let line = |n: u64| format!("{},hm,0,Write,{},4096,1331\n", 128166372003061629 + n * 1000, n % 64 * 4096);
    std::fs::write(bench.path().join("t.csv"), (0..20_000).map(line).collect::<String>()).unwrap();
    let before = files(&bench);
    let trace = LONG.replace("--workload mixed-70-30", "--trace t.csv");
    let compare = "exec ssdlab compare tiny.toml --workload mixed-70-30 --loop 1000000 --quiet --repeat 3 --rows r.csv --json c.json";
    let generate = "exec ssdlab trace generate mixed-70-30 out.csv --limit 1000000000000";
    for (text, more) in [(LONG, 2), (&trace, 2), (compare, 2), (generate, 1)] {
        let ends = [("-INT", 130), ("-TERM", 143), ("-HUP", 129), ("-QUIT", 131), ("-USR1", 138), ("-XCPU", 152)];
        // The rest of the signals once: what a command has begun makes no difference to them.
        let rest: &[(&str, i32)] = if text == LONG { &[("-USR2", 140), ("-ALRM", 142), ("-VTALRM", 154)] } else { &[] };
        for (signal, status) in ends.iter().chain(rest) {
            let mut child = begun(&bench, text, more);
            let sent = Instant::now();
            send(&child, signal);
            assert_eq!(ended(&mut child).code(), Some(*status), "{text}: {signal}");
            assert!(sent.elapsed() < Duration::from_secs(2), "{text}: {signal}: {:?}", sent.elapsed());
            assert_eq!(files(&bench), before, "{text}: {signal}");
        }
    }
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let bench = Bench::new();
    let mut child = begun(&bench, &format!("trap '' HUP; {LONG}"), 2);
    send(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None, "it goes on");
    send(&child, "-TERM");
    assert_eq!(ended(&mut child).code(), Some(143));
}

#[test]
fn a_file_that_may_not_grow_is_an_error_of_that_file() {
    let bench = Bench::new();
    let before = files(&bench);
    let limited = "ulimit -f 16; exec ssdlab run tiny.toml --workload mixed-70-30 --limit 20000 --quiet";
    for (option, name) in [("--requests", "rows.csv"), ("--timeline", "t.pftrace")] {
        let output = shell(&bench, &format!("{limited} {option} {name}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.status.signal()), (Some(4), None), "{said}");
        assert!(said.contains(name) && said.contains("may not grow any more"), "{said}");
        assert_eq!(files(&bench), before);
    }
}

/// Files left by a killed run are removed by the next run; files of other processes stay.
#[test]
fn leftovers_of_dead_runs_go_with_the_next_one() {
    let bench = Bench::new();
    let next = "run tiny.toml --workload mixed-70-30 --limit 10 --quiet --perf p.json";
    for signal in ["-KILL", "-ABRT"] {
        let mut child = begun(&bench, LONG, 2);
        send(&child, signal);
        assert!(ended(&mut child).signal().is_some());
        assert_eq!(parts(&bench).len(), 2, "{signal}");
        // Files of another host, of a live process, of an older version, and foreign files: none is known to be abandoned.
        let dead = parts(&bench).remove(0);
        let number = child.id().to_string();
        let foreign =
            [dead.replacen(".ssdlab-", ".ssdlab-far-", 1), dead.replacen(&number, "1", 1), ".ssdlab-Ab12.part".into()];
        foreign.iter().for_each(|name| std::fs::write(bench.path().join(name), "").unwrap());
        let mut alive = begun(&bench, LONG, 2);
        bench.good(next);
        let left = parts(&bench);
        assert_eq!(left.len(), 5, "{signal}: two of a run that lives, three that are not ours: {left:?}");
        assert!(foreign.iter().all(|name| left.contains(name)), "{left:?}");
        send(&alive, "-TERM");
        assert_eq!(ended(&mut alive).code(), Some(143));
        foreign.iter().for_each(|name| std::fs::remove_file(bench.path().join(name)).unwrap());
        assert!(parts(&bench).is_empty());
    }
}

/// A run whose results are written succeeds even if standard error accepts no text.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_error_that_takes_no_text_changes_nothing() {
    let bench = Bench::new();
    for (text, status, written) in [
        ("ssdlab run tiny.toml --workload mixed-70-30 --limit 100 --json out.json 2>/dev/full", 0, "out.json"),
        ("ssdlab trace generate mixed-70-30 t.csv --limit 100 2>/dev/full", 0, "t.csv"),
        ("ssdlab trace convert t.csv u.csv --into spc 2>/dev/full", 0, "u.csv"),
        ("ssdlab trace info t.csv --json i.json 2>/dev/full", 0, "i.json"),
        ("ssdlab compare tiny.toml --trace t.csv --lba-policy wrap --repeat 2 --json c.json 2>/dev/full", 0, "c.json"),
        ("ssdlab run tiny.toml --trace none.csv 2>/dev/full", 4, "t.csv"),
    ] {
        let output = shell(&bench, text);
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(std::fs::metadata(bench.path().join(written)).unwrap().len() > 0, "{text}");
    }
}

/// An output that can't be written is reported before a trace that can't be read.
#[cfg(target_os = "linux")]
#[test]
fn the_gravest_status_is_the_one_that_is_told() {
    let bench = Bench::new();
    let line = "128166372003061629,hm,0,Write,4096,4096,1331\n";
    std::fs::write(bench.path().join("t.csv"), format!("{}nonsense\n", line.repeat(4200))).unwrap();
    let run = "ssdlab run tiny.toml --trace t.csv --format msr --quiet";
    assert_eq!(shell(&bench, run).status.code(), Some(3));
    let output = shell(&bench, &format!("{run} --timeline /dev/full"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot write /dev/full"), "{said}");
}

/// Where the system gives no thread, that is an error with a fix. Only root can become a user that has none to give.
#[cfg(target_os = "linux")]
#[test]
fn without_a_thread_there_is_a_message() {
    let bench = Bench::new();
    let run = |limit: &str| {
        let text = format!("su -s /bin/bash nobody -c '{limit} exec {} presets'", env!("CARGO_BIN_EXE_ssdlab"));
        command(&bench, "sh", &["-c", &text]).output().unwrap()
    };
    if run("").status.code() != Some(0) {
        println!("not run: this user can't start the command as another one");
        return;
    }
    let output = run("ulimit -u 1;");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot start a thread") && said.contains("ulimit -u"), "{said}");
}
