//! Files of unknown origin: their text is escaped in output, files are read within a limit, and a run prints the same warnings
//! about a trace as `trace check`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::common::Bench;

/// Text that acts on a terminal: colours and titles (in both lengths of their first character), a bell, directions, an end
/// of line, characters without width.
const ACTING: [&str; 7] = [
    "\u{1b}[31mred",
    "\u{1b}]0;title\u{7}",
    "\u{9b}31mred",
    "\u{202e}reversed\u{2066}",
    "a\u{2028}b\u{85}",
    "no\u{200b}width\u{feff}",
    "back\u{8}\u{7f}",
];

fn run(bench: &Bench, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).current_dir(bench.path()).args(arguments).output().unwrap()
}

/// The output of a command contains no control characters, and its exit status is as expected.
fn harmless(arguments: &[&str], output: &Output, statuses: &[i32]) {
    for said in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(said).expect("UTF-8");
        let acting = text.chars().find(|c| *c != '\n' && ssdlab_trace::acts(*c));
        assert!(acting.is_none(), "{arguments:?}: {acting:?} in {text:?}");
        let longest = text.lines().map(str::len).max().unwrap_or(0);
        assert!(longest < 3_000, "{arguments:?}: a line of {longest} bytes");
    }
    let status = output.status.code().expect("an exit status");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(statuses.contains(&status), "{arguments:?}: status {status}: {said}");
}

/// Lines of every reader with a place for a name or a code, and where else foreign text can stand in them.
const LINES: [(&str, &str); 19] = [
    ("msr", "128166372003061629,@,0,Read,0,512,1\n128166372003061630,b,0,Write,0,512,1\n"),
    ("msr", "128166372003061629,h,0,@,0,512,1\n"),
    ("spc", "0,8,512,@,0.5\n"),
    ("ssdsim", "0 0 8 8 @\n"),
    ("mqsim", "0 0 @ 8 1\n"),
    ("disksim", "0.5 @ 8 8 1\n"),
    ("blkparse", "  8,0 3 1 0.5 697 Q R 8 + 8 [@\n"),
    ("fio", "fio version 2 iolog\n@ add\nother add\n@ open\n@ write 0 4096\nother read 0 512\n"),
    ("alibaba", "@,R,0,512,1577808000000626\n3,R,0,512,1577808000000626\n"),
    ("tencent", "1538323200,0,8,0,@\n1538323200,0,8,0,7\n"),
    ("systor", "1456135200.5,0.1,R,@,0,512\n1456135200.5,0.1,W,2,0,512\n"),
    ("diskmon", "0\t4.5\t0.1\t0\t@\t8\t8\n"),
    ("ftrace", "x-1 [000] .... 1.5: block_rq_issue: 8,0 @ 4096 () 8 + 8 [x]\n"),
    (
        "ftrace",
        "x-1 [000] .... 1.5: nvme_setup_cmd: nvme0: disk=@, qid=4, cmd=(nvme_cmd_read slba=8, len=7, ctrl=0x0)\n",
    ),
    ("etw", "DiskRead, 1600, @ (7), 8, 0xff, 0x200000, 0x@, 400, 2\n"),
    ("biosnoop", "0.5 a 7 @ R 8 4096 0.1\n0.6 b 7 sda R 8 4096 0.1\n"),
    ("iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 a 7 R @ 8 4096 0.5\n5.6 a 7 R 8,0 8 4096 0.5\n"),
    ("io-tracer", "timestamp,operation,sector,size,latency_ms,device\n2026-05-01 10:00:00.5,read,8,4096,0.1,@\n"),
    ("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4", "0,R,0,512,@\n1,W,0,512,z\n"),
];

#[test]
fn nothing_from_a_file_acts() {
    let bench = Bench::new();
    for acting in ACTING.into_iter().map(str::to_owned).chain([ACTING[0].repeat(300)]) {
        for (format, line) in LINES {
            std::fs::write(bench.path().join("t.txt"), line.replace('@', &acting)).unwrap();
            let arguments = ["trace", "check", "t.txt", "--format", format, "--device", "none"];
            harmless(&arguments, &run(&bench, &arguments), &[2, 3]);
        }
        std::fs::write(bench.path().join("t.txt"), LINES[0].1.replace('@', &acting)).unwrap();
        let arguments = ["run", "tiny.toml", "--trace", "t.txt", "--limit", "5"];
        harmless(&arguments, &run(&bench, &arguments), &[0, 3]);
        std::fs::write(bench.path().join("t.txt"), format!("{acting}\n")).unwrap();
        let arguments = ["trace", "info", "t.txt"];
        harmless(&arguments, &run(&bench, &arguments), &[3]);

        let quoted: String = acting.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        let workload =
            format!("name = \"{quoted}\"\ndescription = \"{quoted}\"\nsource = \"{quoted}\"\ntrace = \"{quoted}\"\n");
        std::fs::write(
            bench.path().join("w.toml"),
            format!("{workload}read = 1\nsize = \"4KiB\"\nrequests = 5\narrivals = \"closed\"\n"),
        )
        .unwrap();
        for more in [&[][..], &["--traces", "."]] {
            let arguments = [&["run", "tiny.toml", "--workload", "w.toml"], more].concat();
            harmless(&arguments, &run(&bench, &arguments), &[0]);
        }
        let arguments = ["compare", "tiny.toml", "--workload", "w.toml", "--vary", "schemes.victim=greedy,fifo"];
        harmless(&arguments, &run(&bench, &arguments), &[0]);
        let arguments = ["trace", "generate", "w.toml", "out.csv", "--into", "msr"];
        harmless(&arguments, &run(&bench, &arguments), &[0]);
        for (i, text) in [
            format!("\"{quoted}\" = 1\n"),
            format!("size = \"{quoted}\"\n"),
            format!("size = \"{acting}\"\n"),
            format!("phase = \"{quoted}\"\n# {acting}\n"),
        ]
        .into_iter()
        .enumerate()
        {
            std::fs::write(bench.path().join("bad.toml"), &text).unwrap();
            for arguments in [&["run", "tiny.toml", "--workload", "bad.toml"][..], &["config", "check", "bad.toml"]] {
                harmless(arguments, &run(&bench, arguments), &[2]);
            }
            std::fs::write(bench.path().join("bad.toml"), format!("[geometry]\npage_{i}{text}")).unwrap();
            let arguments = ["config", "check", "bad.toml"];
            harmless(&arguments, &run(&bench, &arguments), &[2]);
        }
        for set in [
            format!("{acting}=1"),
            format!("geometry.{acting}=1"),
            format!("geometry.page_size={acting}"),
            format!("\"{acting}\".a=1"),
            acting.clone(),
        ] {
            let arguments = ["config", "check", "--set", &set];
            harmless(&arguments, &run(&bench, &arguments), &[2]);
        }
    }
}

#[test]
fn nothing_in_the_name_of_a_file_acts() {
    let bench = Bench::new();
    for acting in ACTING {
        let name = format!("{}.csv", acting.replace('/', "_"));
        std::fs::write(bench.path().join(&name), "128166372003061629,h,0,Read,0,512,1\n").unwrap();
        for command in
            [&["run", "tiny.toml", "--trace", &name][..], &["trace", "info", &name], &["trace", "check", &name]]
        {
            harmless(command, &run(&bench, command), &[0]);
        }
        for command in [&["run", "tiny.toml", "--trace"][..], &["run", "--workload"], &["config", "check"]] {
            let absent = format!("{name}.absent.toml");
            let arguments = [command, &[&absent]].concat();
            harmless(&arguments, &run(&bench, &arguments), &[4]);
        }
    }
    // Bytes that are not text.
    let name = std::ffi::OsStr::from_bytes(b"\xff\x1b[31m.csv");
    std::fs::write(bench.path().join(name), "x\n").unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_ssdlab")).current_dir(bench.path()).args(["trace", "info"]).arg(name).output();
    harmless(&["trace", "info"], &output.unwrap(), &[3]);
}

#[test]
fn whole_files_are_read_within_a_limit() {
    let bench = Bench::new();
    if Path::new("/dev/zero").exists() {
        let workload = bench.bad("run tiny.toml --workload /dev/zero", 2);
        assert!(workload.contains("/dev/zero is longer than 16 MiB, the limit for a workload"), "{workload}");
        let config = bench.bad("config check /dev/zero", 2);
        assert!(config.contains("/dev/zero is longer than 16 MiB, the limit for a configuration"), "{config}");
    }
    std::fs::write(bench.path().join("w.toml"), b"size = 4096\nname = \"\xff\"\n").unwrap();
    assert!(bench.bad("run --workload w.toml", 2).contains("w.toml is not UTF-8 text: invalid byte in line 2"));
    // Half a million unknown keys: refused at the first one, as fast as the file is read.
    let keys: String = (0..500_000).map(|i| format!("unknown_{i} = {i}\n")).collect();
    std::fs::write(bench.path().join("keys.toml"), &keys).unwrap();
    std::fs::write(bench.path().join("section.toml"), format!("[gc]\n{keys}")).unwrap();
    for arguments in ["config check keys.toml", "config check section.toml", "run --workload keys.toml"] {
        let start = Instant::now();
        let said = bench.bad(arguments, 2);
        assert!(said.contains("unknown_0: unknown key") && said.len() < 1_000, "{said}");
        assert!(start.elapsed() < Duration::from_secs(15), "{arguments} took {:?}", start.elapsed());
    }
}

/// Bytes read as sectors cause no error; a run warns about them as `trace check` does.
#[test]
fn a_run_warns_as_a_check_does() {
    let bench = Bench::new();
    let line = |i: u64| format!("{}.5 0 {} 512 {}\n", i * 10, (4_000_000_000 + i * 64) * 512, i % 2);
    std::fs::write(bench.path().join("t.trace"), (0..200).map(line).collect::<String>()).unwrap();
    let asked = bench.bad("run tiny.toml --lba-policy dense --trace t.trace", 3);
    assert!(asked.contains("--format disksim") && asked.contains("--format columns:time=0:ms"), "{asked}");
    let wanted = "warning[address_unit]: all offsets and sizes are multiples of 256 KiB";
    assert!(bench.good("trace check t.trace --format disksim").contains(wanted));
    let reading = "tiny.toml --trace t.trace --format disksim --lba-policy wrap";
    for command in [format!("run {reading}"), format!("compare {reading} --vary schemes.victim=greedy,fifo")] {
        let output = bench.run(&command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.matches(wanted).count() == 1, "{command}: {said}");
    }
}

/// The clock of the device has room for completions after the last arrival; a later arrival is an error with its line.
#[test]
fn arrivals_end_before_the_clock_does() {
    let bench = Bench::new();
    let last = (1u64 << 61) - 1;
    for (time, status) in [(last, 0), (last + 1, 3), (1 << 62, 3), (i64::MAX as u64, 3), (u64::MAX, 3)] {
        std::fs::write(bench.path().join("t.trace"), format!("0 0 0 8 1\n{time} 0 8 8 0\n")).unwrap();
        let output = bench.run("run tiny.toml --trace t.trace --format ssdsim --quiet --json -");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{time}: {said}");
        assert!(status == 0 || said.contains("t.trace:2:1"), "{said}");
    }
}
