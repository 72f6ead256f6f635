//! A sweep through a real Slurm of one node on loopback: `SSDLAB_SLURM=1 cargo test -p ssdlab --test suite slurm::`, as root, with
//! Debian's `slurmctld slurmd slurm-client munge`. Without the variable the test says so and passes; with it, absence is a failure.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Bench;
use crate::sweep::{STUDY, runs, status};

/// Processes that end with the test.
struct Daemons(Vec<Child>);

impl Drop for Daemons {
    fn drop(&mut self) {
        for daemon in self.0.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn start(program: &str, arguments: &[&str], folder: &Path) -> Child {
    let log = std::fs::File::create(folder.join(format!("{program}.out"))).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("SLURM_CONF", folder.join("slurm.conf")).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap_or_else(|error| panic!("SSDLAB_SLURM=1: {program}: {error}"))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let from = Instant::now();
    while !done() {
        assert!(from.elapsed() < Duration::from_secs(90), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The configuration of one node with two processors.
fn configuration(folder: &Path, host: &str) -> String {
    let here = folder.display();
    // Ports of no service; the test is not meant to run twice at once.
    format!(
        "ClusterName=ssdlab\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort=36817\nSlurmdPort=36818\nSlurmUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={here}/munge.socket\nCredType=cred/munge\nStateSaveLocation={here}/state\n\
         SlurmdSpoolDir={here}/spool\nSlurmctldPidFile={here}/ctld.pid\nSlurmdPidFile={here}/d.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN\n\
         PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
    )
}

#[test]
fn an_array_job_runs_through_slurm() {
    if std::env::var_os("SSDLAB_SLURM").is_none_or(|value| value != "1") {
        println!("no array job is run through Slurm: set SSDLAB_SLURM=1");
        return;
    }
    let bench = Bench::new();
    std::fs::write(bench.path().join("study.toml"), STUDY).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    ["state", "spool"].iter().for_each(|name| std::fs::create_dir(place.join(name)).unwrap());
    let host = Command::new("uname").arg("-n").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap().trim().to_string();
    std::fs::write(place.join("slurm.conf"), configuration(place, &host)).unwrap();
    std::fs::write(place.join("munge.key"), [7; 1024]).unwrap();
    use std::os::unix::fs::PermissionsExt;
    let only =
        |name: &str, mode| std::fs::set_permissions(place.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    only("munge.key", 0o600);
    only("", 0o755);
    let text = |name: &str| place.join(name).display().to_string();
    let mut daemons = Daemons(Vec::new());
    let munge = [
        "--foreground".to_string(),
        "--force".into(),
        format!("--socket={}", text("munge.socket")),
        format!("--key-file={}", text("munge.key")),
        format!("--pid-file={}", text("munge.pid")),
        format!("--seed-file={}", text("munge.seed")),
    ];
    daemons.0.push(start("munged", &munge.iter().map(String::as_str).collect::<Vec<_>>(), place));
    until("munged listens", || place.join("munge.socket").exists());
    daemons.0.push(start("slurmctld", &["-D", "-f", &text("slurm.conf")], place));
    daemons.0.push(start("slurmd", &["-D", "-f", &text("slurm.conf"), "-N", &host], place));

    let own = Path::new(env!("CARGO_BIN_EXE_ssdlab"));
    let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let slurm = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("SLURM_CONF", place.join("slurm.conf"))
            .env("PATH", &path)
            .current_dir(bench.path());
        let output = command.output().unwrap_or_else(|error| panic!("SSDLAB_SLURM=1: {program}: {error}"));
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    until("the node is idle", || slurm("sinfo", &["-h", "-o", "%T"]).1.trim() == "idle");
    let submit = ["sweep", "submit", "study.toml", "--store", "st", "--slurm", "--array", "6", "--mem", "100M"];
    let binary = own.display().to_string();
    // Held, so that a task can be cancelled before any begins.
    let (good, said) = slurm(&binary, &[&submit[..], &["--sbatch", "--hold"]].concat());
    assert!(good, "{said}");
    let job = said.trim().rsplit(' ').next().unwrap().to_string();
    assert!(slurm("scancel", &[&format!("{job}_4")]).0);
    assert!(slurm("scontrol", &["release", &job]).0);
    until("the tasks end", || slurm("squeue", &["-h"]).1.trim().is_empty());
    let left = status(&bench, "st")["left"].as_u64().unwrap();
    assert!((1..24).contains(&left), "{left} left: {}", slurm("sh", &["-c", "cat slurm-*.out"]).1);
    let (good, said) = slurm(&binary, &submit);
    assert!(good && said.starts_with("Submitted batch job"), "{said}");
    until("the tasks end", || slurm("squeue", &["-h"]).1.trim().is_empty());
    assert_eq!(status(&bench, "st")["left"], 0, "{}", slurm("sh", &["-c", "cat slurm-*.out"]).1);
    bench.good("sweep run study.toml --store whole --quiet");
    assert_eq!(runs(&bench, "st"), runs(&bench, "whole"));
}
