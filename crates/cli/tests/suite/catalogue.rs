//! Malformed configurations and command lines, as a table: what goes in, and what the error says.
//!
//! Each row has a number that failures print, the input, the exit status, and pieces of the message. Cases about trace
//! readers are in the table of the trace crate.
//!
//! Three decisions:
//! - A staging buffer without slots is no error: it makes a scheme its own baseline, which papers compare with.
//! - Results replace existing files without asking. A repeated run is the usual case, files appear whole or not at all, and
//!   paths come from the command line only, never from a file.
//! - A configuration has no version. Its keys are a contract: an older file reads as before, and a newer file fails at the
//!   first unknown key, by name.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Case {
    number: u32,
    name: &'static str,
    /// Content of `case.toml`.
    toml: Vec<u8>,
    /// The command line; `config check case.toml` if empty.
    command: &'static str,
    status: i32,
    /// Pieces of the message; for status 0, of standard output.
    says: &'static [&'static str],
}

fn case(number: u32, name: &'static str, toml: impl Into<Vec<u8>>, says: &'static [&'static str]) -> Case {
    Case { number, name, toml: toml.into(), command: "", status: 2, says }
}

impl Case {
    fn with(mut self, command: &'static str) -> Case {
        self.command = command;
        self
    }

    fn status(mut self, status: i32) -> Case {
        self.status = status;
        self
    }
}

/// A line repeated this many times.
fn long(piece: &str, times: usize, before: &str, after: &str) -> String {
    format!("{before}{}{after}", piece.repeat(times))
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    vec![
        case(94, "syntax error", "[geometry\nchannels = 1\n", &["unclosed table", "case.toml:1:10"]),
        case(94, "no value", "[geometry]\nchannels =\n", &["case.toml:2:11"]),
        case(94, "duplicate key", "[gc]\nthreshold = 0.1\nthreshold = 0.2\n", &["duplicate key", "case.toml:3:1"]),
        case(94, "duplicate table", "[gc]\n[ftl]\n[gc]\n", &["duplicate key", "case.toml:3:"]),
        case(94, "unclosed string", "[geometry]\npage_size = \"4KiB\n", &["invalid basic string", "case.toml:2:18"]),
        case(94, "not UTF-8", b"[gc]\nthreshold = \xff\n".as_slice(), &["UTF-8"]),
        case(95, "unknown key", "[gc]\nthresold = 0.05\n", &["gc.thresold: unknown key", "case.toml:2:1", "did you mean `gc.threshold`?"]),
        case(95, "unknown table", "[geometri]\n", &["geometri: unknown key", "did you mean `geometry`?"]),
        case(95, "key of another table", "threshold = 0.05\n", &["threshold: unknown key", "did you mean `gc.threshold`?"]),
        case(95, "nothing near", "[gc]\nzebra = 1\n", &["gc.zebra: unknown key", "the keys of `gc` are `threshold`"]),
        case(96, "text for a number", "[geometry]\nchannels = \"8\"\n", &["geometry.channels: invalid type: string", "case.toml:2:12"]),
        case(96, "number for a size", "[geometry]\npage_size = 4096\n", &["geometry.page_size: ", "expected a size such as \"4KiB\""]),
        case(96, "number for a table", "geometry = 8\n", &["geometry: invalid type: integer `8`, expected a table of keys"]),
        case(96, "array for a number", "[geometry]\nchannels = [8]\n", &["geometry.channels: invalid type"]),
        case(96, "date for a number", "[geometry]\nchannels = 2020-01-01\n", &["geometry.channels: invalid type"]),
        case(97, "nan", "[gc]\nthreshold = nan\n", &["gc.threshold: nan is not a usable number"]),
        case(97, "inf", "[gc]\nthreshold = inf\n", &["gc.threshold: inf is not a usable number"]),
        case(97, "negative zero", "[device]\nover_provisioning = -0.0\n", &["device.over_provisioning: -0.0 is not a usable number"]),
        case(97, "percentages are fractions", "[device]\nover_provisioning = \"25 %\"\n[gc]\nthreshold = \"2.5%\"\n", &["over_provisioning = 0.25 ", "threshold = 0.025 "]).with("config show case.toml").status(0),
        case(97, "percentage above 1", "[device]\nover_provisioning = \"101%\"\n", &["device.over_provisioning: invalid value: string \"101%\"", "or \"15%\""]),
        case(97, "negative share", "[device]\nover_provisioning = -0.1\n", &["expected a number from 0 to 1"]),
        case(97, "negative time", "[timing]\nread = \"-1us\"\n", &["timing.read: `-1us` is not a duration"]),
        case(98, "beyond 64 bits", "[geometry]\nblocks_per_plane = 99999999999999999999\n", &["99999999999999999999 is beyond 64 bits", "case.toml:2:20"]),
        case(98, "beyond the key's range", "[geometry]\nchannels = 4294967296\n", &["expected a whole number from 0 to 4294967295"]),
        case(99, "no channels", "[geometry]\nchannels = 0\n", &["geometry.channels: there must be at least one"]),
        case(99, "no chips", "[geometry]\nchips_per_channel = 0\n", &["geometry.chips_per_channel: there must be at least one"]),
        case(99, "no dies", "[geometry]\ndies_per_chip = 0\n", &["geometry.dies_per_chip: there must be at least one"]),
        case(99, "no planes", "[geometry]\nplanes_per_die = 0\n", &["geometry.planes_per_die: there must be at least one"]),
        case(99, "no blocks", "[geometry]\nblocks_per_plane = 0\n", &["geometry.blocks_per_plane: there must be at least one"]),
        case(99, "no queue", "[device]\nqueue_depth = 0\n", &["device.queue_depth: there must be at least one"]),
        case(99, "no reserve", "[gc]\nreserve = 0\n", &["gc.reserve: 0 erased blocks, but GC fills 1 write points per plane"]),
        case(99, "negative count", "[geometry]\nchannels = -1\n", &["geometry.channels: invalid value: integer `-1`"]),
        case(100, "product beyond 64 bits", "[geometry]\nchannels = 4294967295\nchips_per_channel = 4294967295\ndies_per_chip = 4294967295\n",
            &["geometry: 4294967295 x 4294967295 x 4294967295", "use larger pages, or a smaller array"]),
        case(100, "more memory than allowed", "", &["needs about", "more than the limit of 16 MiB", "reverse map", "map", "oracle", "--memory-limit"])
            .with("run --workload random-write --memory-limit 16MiB"),
        case(101, "page of half a sector", "[geometry]\npage_size = \"1000B\"\n", &["1000B is not a multiple of 512 B (a sector)"]),
        case(101, "block without pages", "[geometry]\npages_per_block = 0\n", &["geometry.pages_per_block: there must be at least one"]),
        case(101, "too many pages", "[geometry]\npages_per_block = 40000\n", &["40000 exceeds the limit of 32767"]),
        case(101, "too many planes", "[geometry]\nplanes_per_die = 100\n", &["100 planes would share one unit of exclusion; the limit is 64"]),
        case(102, "threshold never left", "[gc]\nthreshold = 0.5\n", &["gc.threshold: GC would start below 16384 free pages", "never has more than 3277"]),
        case(102, "reserve without room", "[device]\nover_provisioning = 0.001\n", &["1 reserved and 1 open GC blocks leave (512 - 1 - 1) x 64 - 1 for a write in flight = 32639", "use at least 0.003937"]),
        case(102, "filled beyond the reserve", "[precondition]\nmode = \"aged\"\nvalid = 0.9\ninvalid = 0.2\n", &["precondition.invalid: 29491 valid and 6554 invalid pages per plane"]),
        case(103, "group that does not divide", "[raid]\nlayout = \"lci\"\ngroup = 7\n", &["raid.group: groups of 7 chips do not divide 32 chips", "use 2, 4, 8, 16, 32"]),
        case(103, "group of one", "[raid]\nlayout = \"lci\"\ngroup = 1\n", &["raid.group: groups of 1 chips"]),
        case(103, "more members than chips", "[raid]\nlayout = \"lci\"\ngroup = 64\n", &["raid.group: groups of 64 chips do not divide 32 chips"]),
        case(104, "thresholds that rise", "[wear]\ncopyback_thresholds = [[0, 2], [100, 5]]\n", &["wear.copyback_thresholds: a worn block would allow more copybacks", "thresholds that do not rise"]),
        case(104, "threshold above 255", "[wear]\ncopyback_thresholds = [[0, 300]]\n", &["wear.copyback_thresholds: ", "a threshold from 0 to 255"]),
        case(104, "no room for metadata", "[geometry]\npages_per_block = 1\n\n[schemes]\npath = \"fastgc\"\n", &["geometry.pages_per_block: a block of one page has no room for its copyback counts"]),
        case(105, "more buffer than flash", "[staging]\nslots = 4294967295\n", &["staging.slots: a buffer of 4294967295 pages, more than the 4194304 pages of flash"]),
        case(106, "copyback across planes", "[schemes]\npath = \"copyback\"\n\n[gc]\ndestination = \"any\"\n", &["gc.destination: copyback stays inside its plane"]),
        case(107, "brackets", long("[", 100_000, "x = ", ""), &["error: "]),
        case(107, "tables", long("{a=", 100_000, "x = ", ""), &["error: "]),
        case(107, "key of 1 MB", long("a", 1_000_000, "", " = 1"), &["unknown key"]),
        case(107, "dotted key of 100,000 parts", long("a.", 100_000, "", "a = 1"), &["error: "]),
        case(107, "string of 8 MB", long("b", 8_000_000, "[geometry]\npage_size = \"", "\""), &["geometry.page_size: "]),
        case(107, "file above 16 MiB", long("#", 17 << 20, "", ""), &["16 MiB"]),
        case(108, "4k", "[geometry]\npage_size = \"4k\"\n", &["`4k` is not a size: expected whole bytes with a unit of B, KiB, MiB, GiB or TiB"]),
        case(108, "4 kb", "[geometry]\npage_size = \"4 kb\"\n", &["`4 kb` is not a size"]),
        case(108, "4e3", "[geometry]\npage_size = 4e3\n", &["expected a size such as \"4KiB\""]),
        case(108, "no unit", "[timing]\nread = 50\n", &["timing.read: 50 has no unit"]),
        case(108, "documented forms", "[geometry]\npage_size = \"4K\"\n\n[timing]\nread = \"0.05ms\"\n", &["valid"]).status(0),
        case(109, "environment variable", "[geometry]\npage_size = \"$HOME\"\n", &["`$HOME` is not a size"]),
        case(109, "include", "include = \"/etc/passwd\"\n", &["include: unknown key"]),
        case(109, "home directory", "", &["cannot read the configuration ~/case.toml", "no such file"]).with("config check ~/case.toml").status(4),
        case(110, "output named in a file", "[run]\njson = \"../x.json\"\n", &["run.json: unknown key"]),
        case(110, "output in a directory that is not there", "", &["cannot write no/x.json"]).with("run --workload random-write --limit 1 --json no/x.json").status(4),
        case(110, "output is a directory", "", &["it is a directory"]).with("run --workload random-write --limit 1 --json .").status(4),
        case(114, "negative seed", "", &["invalid value '-1' for '--seed <N>'"]).with("run --workload random-write --seed=-1"),
        case(114, "seed beyond 64 bits", "", &["--seed <N>", "too large"]).with("run --workload random-write --seed=18446744073709551616"),
        case(114, "seed in words", "", &["--seed <N>", "invalid digit"]).with("run --workload random-write --seed=lucky"),
        case(115, "a version", "version = 99\n", &["version: unknown key"]),
        case(111, "more points than allowed", "", &["10 x 11 = 110 runs, more than 100", "--max-points"])
            .with("compare --workload random-write --vary device.queue_depth=1,2,3,4,5,6,7,8,9,10 --repeat 11 --max-points 100"),
        case(111, "more points than anybody waits for", "", &["2 x 18446744073709551615 = more than 2^64 runs, more than 1,000,000"])
            .with("compare --workload random-write --vary gc.time=real,none --repeat 18446744073709551615"),
        case(112, "no values", "", &["an empty value for `gc.threshold`", "--vary"]).with("compare --workload random-write --vary gc.threshold="),
        case(112, "an empty value", "", &["an empty value for `gc.threshold`"]).with("compare --workload random-write --vary gc.threshold=0.1,,0.2"),
        case(112, "a value twice", "", &["the value `0.1` is given twice"]).with("compare --workload random-write --vary gc.threshold=0.1,0.2,0.1"),
        case(112, "a key that does not exist", "", &["gc.thresold: unknown key", "did you mean `gc.threshold`?"])
            .with("compare --workload random-write --vary gc.thresold=0.1,0.2"),
        case(113, "a name of values", "", &["cannot write no/where/x.csv"])
            .with("compare --workload random-write --limit 1 --vary ftl.wear_spread=1,2 --rows no/where/x.csv").status(4),
        // Workload files are configuration too.
        case(94, "workload: syntax error", "requests = \n", &["case.toml"]).with("run --workload case.toml"),
        case(95, "workload: unknown key", "requests = 10\nwirte = 0.5\n", &["wirte"]).with("run --workload case.toml"),
        case(96, "workload: text for a number", "requests = \"ten\"\nwrite = 1.0\narrivals = \"closed\"\n", &["requests"]).with("run --workload case.toml"),
        case(97, "workload: nan", "requests = 10\nwrite = nan\narrivals = \"closed\"\n", &["write"]).with("run --workload case.toml"),
        case(99, "workload: no requests", "requests = 0\nwrite = 1.0\narrivals = \"closed\"\n", &["requests"]).with("run --workload case.toml"),
        case(107, "workload: brackets", long("[", 100_000, "x = ", ""), &["error: "]).with("run --workload case.toml"),
        case(108, "workload: 4k", "requests = 10\nwrite = 1.0\nsize = 4e3\narrivals = \"closed\"\n", &["size"]).with("run --workload case.toml"),
    ]
}

fn run(directory: &Path, command: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
        .current_dir(directory)
        .args(command.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let from = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if from.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_case_of_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        std::fs::write(directory.path().join("case.toml"), &case.toml).unwrap();
        let command = if case.command.is_empty() { "config check case.toml" } else { case.command };
        let (status, out, errors) = run(directory.path(), command);
        let said = if case.status == 0 { &out } else { &errors };
        let form = case.status == 0 || errors.starts_with("error: ") && out.is_empty();
        // What a command shows that ends well may be long.
        let safe = (case.status == 0 || said.len() < 3000) && said.chars().all(|c| c == '\n' || !c.is_control());
        let missing: Vec<&&str> = case.says.iter().filter(|piece| !said.contains(**piece)).collect();
        if status != Some(case.status) || !form || !safe || !missing.is_empty() {
            wrong.push(format!(
                "case {} ({}): status {status:?} for {}, without {missing:?}:\n{}",
                case.number,
                case.name,
                case.status,
                said.chars().take(2000).collect::<String>()
            ));
        }
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["case.toml"], "case {} leaves a file behind", case.number);
    }
    assert!(wrong.is_empty(), "{} wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn no_case_is_forgotten() {
    let here: std::collections::BTreeSet<u32> = cases().iter().map(|case| case.number).collect();
    let later = [103, 104, 105];
    let missing: Vec<u32> = (94..=115).filter(|n| !here.contains(n) && !later.contains(n)).collect();
    assert!(missing.is_empty(), "cases without a test: {missing:?}");
}

/// Files are named by numbers, whatever the values are.
#[test]
fn files_of_a_comparison_are_called_by_numbers() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("CON")).unwrap();
    let vary = "--vary schemes.victim={d-choices={d=2}},random+ --vary schemes.place=CWDP,PDWC";
    let (status, _, said) =
        run(directory.path(), &format!("compare --workload random-write --limit 1 --quiet {vary} --summaries CON"));
    assert_eq!(status, Some(0), "{said}");
    let mut names: Vec<String> = std::fs::read_dir(directory.path().join("CON"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["1-1.json", "2-1.json", "3-1.json", "4-1.json"]);
}

/// An existing result is replaced as a whole.
#[test]
fn an_output_that_exists_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("x.json"), "old").unwrap();
    let (status, _, said) = run(directory.path(), "run --workload random-write --limit 1 --quiet --json x.json");
    assert_eq!(status, Some(0), "{said}");
    assert!(std::fs::read_to_string(directory.path().join("x.json")).unwrap().starts_with('{'));
}

/// `--traces`: replays the recording if there is one, otherwise the model; the output says which.
#[test]
fn recordings_take_the_place_of_their_models() {
    let directory = tempfile::tempdir().unwrap();
    let recordings = directory.path().join("recordings");
    std::fs::create_dir(&recordings).unwrap();
    let line = "128166372003061629,hm,0,Write,4096,4096,1331\n";
    let go = |more: &str| run(directory.path(), &format!("run --workload a.hm_0 --limit 50 {more}"));

    let (status, table, said) = go("--traces recordings --lba-policy dense");
    assert_eq!(status, Some(0), "{said}");
    assert!(table.contains("a.hm_0: model of") && table.contains("not the recording itself"), "{table}");
    assert!(said.contains("no recording called hm_0 in recordings: its model a.hm_0 runs instead"), "{said}");
    assert!(said.contains("--lba-policy applies to recordings and is not used"), "{said}");

    std::fs::write(recordings.join("hm_0.csv"), line.repeat(10)).unwrap();
    std::fs::write(recordings.join("hm_01.csv"), "no trace at all\n").unwrap();
    let (status, table, said) = go("--traces recordings");
    assert_eq!(status, Some(0), "{said}");
    assert!(table.contains("recorded trace hm_0.csv (msr)") && table.contains("10 writes"), "{table}");
    assert!(table.contains("the recording itself, in place of the model a.hm_0"), "{table}");

    std::fs::write(recordings.join("HM_0.trace.gz"), "").unwrap();
    let (status, _, said) = go("--traces recordings");
    assert_eq!(status, Some(2));
    assert!(said.contains("are recordings of hm_0"), "{said}");

    let (status, _, said) = go("--traces nowhere");
    assert_eq!(status, Some(4));
    assert!(said.contains("cannot read the directory of recordings nowhere"), "{said}");
    let (status, _, said) = go("--lba-policy dense");
    assert_eq!(status, Some(2));
    assert!(said.contains("--lba-policy applies to recorded traces, but a.hm_0 is generated"), "{said}");
}
