//! Every recording is read with the options it needs, and its figures equal those of the folder's manifest.
//!
//! The recordings are not part of the project: the tests look for them in `SSDLAB_TRACES`, then next to the workspace.

use serde_json::Value;
use ssdlab_trace::{Fit, Format, Info, LbaPolicy, Note, OnBadLine, Options, Reader, Replay, Severity, TimeOrder};
use std::path::{Path, PathBuf};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SSDLAB_TRACES")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"));
    let found = folder.join("manifest.json").is_file();
    if !found {
        absent("no recordings found: set SSDLAB_TRACES to their folder");
    }
    found.then_some(folder)
}

/// A recording of the folder, if it is there.
fn recording(folder: &Path, file: &str) -> Option<PathBuf> {
    let path = folder.join(file);
    if !path.is_file() {
        absent(&format!("{file} is absent"));
    }
    path.is_file().then_some(path)
}

/// Reports that test data is missing, and fails if `SSDLAB_REQUIRE` is set: then no test may pass without running.
fn absent(what: &str) {
    assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "{what}, and SSDLAB_REQUIRE is set");
    eprintln!("{what}; skipped");
}

const MS_BYTES: &str = "columns:time=0:ms,vol=1,op=4:0w1r,offset=2:bytes,size=3:bytes,sep=space";
const BIOTRACER: &str = "columns:time=4:s,op=3:0r4r1w5w,offset=0:sectors,size=2:bytes,sep=space";

/// File, format, what else it needs.
const RECORDINGS: &[(&str, &str, OnBadLine, TimeOrder)] = &[
    ("blkreplay/linux-webserver-2.dedup.load.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("blkreplay/linux-webserver-2.load.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("blkreplay/windows-mssql.load.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("blkreplay/windows-shared-server.load.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    (
        "cloudphysics/vscsi_2h.csv.zst",
        "columns:time=0:us,op=1,offset=2:sectors,size=3:bytes,header=1",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
    (
        "msps/dtrs_5min.trace.zst",
        "columns:time=0:us,vol=1,op=4:0w1r,offset=2:sectors,size=3:sectors,sep=space",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
    ("msps/tpcc-small.trace.zst", "mqsim", OnBadLine::Error, TimeOrder::Error),
    ("msr/rsrch_1.csv.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("msr/web_3.csv.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("msr/wdev_1.csv.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("msr/wdev_3.csv.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("msr/prxy_0_first20k.csv.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("msr/hm_0_cut0105_10k.trace.zst", MS_BYTES, OnBadLine::Error, TimeOrder::Error),
    ("msr/hm_0_cut1006_10k.trace.zst", MS_BYTES, OnBadLine::Error, TimeOrder::Error),
    ("msr/hm_0_cut1370_10k.trace.zst", MS_BYTES, OnBadLine::Error, TimeOrder::Error),
    ("desktop/mayun2.txt.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("desktop/mayun.txt.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("desktop/mayun4.txt.zst", "auto", OnBadLine::Error, TimeOrder::Error),
    ("mobile/nexus5_booting.txt.zst", BIOTRACER, OnBadLine::Error, TimeOrder::Clamp),
    ("mobile/nexus5_movie.txt.zst", BIOTRACER, OnBadLine::Error, TimeOrder::Error),
    ("mobile/nexus5_callout.txt.zst", BIOTRACER, OnBadLine::Error, TimeOrder::Error),
    ("bench/iozone_100k.trace.zst", "disksim", OnBadLine::Error, TimeOrder::Error),
    ("bench/postmark.trace.zst", "disksim", OnBadLine::Error, TimeOrder::Error),
    ("bench/pcmark.trace.zst", "disksim", OnBadLine::Error, TimeOrder::Error),
    (
        "umass/financial1_first50k_4kpages.trace.zst",
        "columns:time=0:ms,vol=1,op=4:0w1r,offset=2:sectors,size=3:pages,sep=space",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
    ("umass/financial1_first10k.ascii.zst", "ssdsim", OnBadLine::Error, TimeOrder::Error),
    ("umass/websearch1_first24783.trace.zst", "mqsim", OnBadLine::Error, TimeOrder::Error),
    ("tencent/cbs_sample_50k.csv.zst", "auto", OnBadLine::Error, TimeOrder::Sort),
    (
        "fiu/cheetah_mail_10k.txt.zst",
        "columns:time=0:ns,vol=7,op=5,offset=3:sectors,size=4:sectors,sep=space",
        OnBadLine::Skip(4),
        TimeOrder::Error,
    ),
    (
        "hp/hplajw_1week.csv.zst",
        "columns:time=0:s,vol=4,op=1,offset=2:256,size=3:bytes,header=1",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
    ("rocksdb/ycsb_ssdtrace_writes_only.txt.zst", "ssdsim", OnBadLine::Error, TimeOrder::Error),
    ("llm/opt7b_offload_512tok.txt.zst", "mqsim", OnBadLine::Error, TimeOrder::Error),
    (
        "sqlite/sqlite_wal_update_ext4.txt.zst",
        "columns:time=5:s,op=2,offset=3:bytes,size=4:bytes,sep=space,where=1:D",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
    (
        "hadoop/eternity10_sdb_issue.csv.zst",
        "columns:time=0:ns,op=1,offset=2:sectors,size=3:bytes,header=1",
        OnBadLine::Error,
        TimeOrder::Error,
    ),
];

/// Differences between our figures and the manifest's, as text.
fn differences(info: &Info, stats: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut exact = |name: &str, ours: u64| {
        let theirs = stats[name].as_u64();
        if theirs != Some(ours) {
            found.push(format!("{name}: {ours} instead of {theirs:?}"));
        }
    };
    exact("requests", info.requests);
    exact("reads", info.reads);
    exact("writes", info.writes);
    exact("trims", info.trims);
    exact("footprint_4k_pages", info.footprint_pages);
    exact("written_4k_pages", info.written_pages);
    exact("write_bytes", info.write_bytes);
    exact("max_end_bytes", info.max_end_bytes);
    exact("devices", info.volumes);
    exact("backward_timestamps", info.steps_back);
    exact("mean_read_bytes", info.mean_read_bytes.round() as u64);
    exact("mean_write_bytes", info.mean_write_bytes.round() as u64);
    // The manifest gives these rounded to 2, 3 or 4 digits.
    let mut close = |name: &str, ours: f64, within: f64| {
        let theirs = stats[name].as_f64().unwrap_or(f64::NAN);
        if (ours - theirs).abs() > within || theirs.is_nan() {
            found.push(format!("{name}: {ours} instead of {theirs}"));
        }
    };
    close("read_ratio", info.reads as f64 / info.requests as f64, 0.000_051);
    close("span_s", info.span_ns as f64 / 1e9, 0.000_51);
    close("page_writes_per_written_page", info.page_writes_per_written_page, 0.005_1);
    found
}

#[test]
fn every_recording_equals_the_manifest() {
    let Some(folder) = folder() else { return };
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).expect("manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("manifest is JSON");
    let traces = manifest["traces"].as_array().expect("list of traces");
    let mut wrong = Vec::new();
    for (file, format, on_bad_line, time_order) in RECORDINGS {
        let Some(path) = recording(&folder, file) else { continue };
        let options = Options {
            format: Format::parse_or_auto(format).expect("format"),
            on_bad_line: *on_bad_line,
            time_order: *time_order,
            ..Options::default()
        };
        let mut reader = match Reader::open(&path, &options) {
            Ok(reader) => reader,
            Err(error) => {
                wrong.push(format!("{file}: {error}"));
                continue;
            }
        };
        match Info::read(&mut reader) {
            Ok(info) => {
                let stats = traces.iter().find(|t| t["file"] == *file).map_or(&Value::Null, |t| &t["stats"]);
                wrong.extend(differences(&info, stats).into_iter().map(|d| format!("{file}: {d}")));
                if *on_bad_line != OnBadLine::Error {
                    assert!(reader.notes().count(Note::BadLine) > 0, "{file} needs no skipping");
                }
            }
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(RECORDINGS.len(), 34);
    let missing: Vec<_> = traces.iter().filter(|t| !RECORDINGS.iter().any(|(file, ..)| t["file"] == *file)).collect();
    assert!(missing.is_empty(), "recordings without options: {missing:?}");
}

/// Without a format, each recording is detected correctly, or refused with the formats to choose from.
#[test]
fn auto_is_right_or_asks() {
    /// What those are that are read without being told.
    const FOUND: [(&str, &str); 4] =
        [("blkreplay/", "blkreplay"), ("msr/", "msr"), ("desktop/", "diskmon"), ("tencent/", "tencent")];
    let Some(folder) = folder() else { return };
    for (file, format, ..) in RECORDINGS {
        let Some(path) = recording(&folder, file) else { continue };
        match Reader::open(&path, &Options::default()) {
            Ok(reader) => {
                let found = reader.format().to_string();
                let wanted = FOUND.iter().find(|(place, _)| file.starts_with(place)).map(|(_, wanted)| *wanted);
                assert!(*format == "auto" && wanted == Some(&*found), "{file} was taken for {found}");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(*format != "auto" && error.kind().exit_status() == 3, "{file}: {text}");
                assert!(text.contains("--format"), "{file}: {text}");
                // Five columns are one shape in four sets of units: all are named, as they are to be written.
                let five = ["ssdsim", "mqsim", "disksim"].contains(format) || format.contains("op=4:0w1r");
                assert!(
                    !five || text.contains("--format disksim") && text.contains("--format columns:time=0:ms"),
                    "{text}"
                );
            }
        }
    }
}

/// What lies beside the recordings, such as tables of their figures, is taken for no format.
#[test]
fn files_that_are_no_traces_are_refused() {
    let Some(folder) = folder() else { return };
    let (mut waiting, mut seen) = (vec![folder.clone()], 0);
    while let Some(place) = waiting.pop() {
        for entry in std::fs::read_dir(place).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.strip_prefix(&folder).expect("inside").to_string_lossy().into_owned();
            if entry.is_dir() {
                waiting.push(entry);
            } else if !RECORDINGS.iter().any(|(file, ..)| *file == name) {
                seen += 1;
                let found = Reader::open(&entry, &Options::default()).map(|reader| reader.format().to_string());
                let error = found.expect_err(&name);
                assert_eq!(error.kind().exit_status(), 3, "{name}: {error}");
            }
        }
    }
    assert!(seen > 0, "nothing but recordings");
}

/// A file in the wrong unit reads without error; only its figures show it, in `trace check` and in a run.
#[test]
fn bytes_taken_for_sectors_are_seen() {
    let Some(path) = folder().and_then(|folder| recording(&folder, "msr/hm_0_cut0105_10k.trace.zst")) else { return };
    let options = Options { format: Some(Format::Disksim), max_request_bytes: u64::MAX, ..Options::default() };
    let mut reader = Reader::open(&path, &options).expect("reads as DiskSim");
    let info = Info::read(&mut reader).expect("reads");
    let lints = ssdlab_trace::check(&info, reader.notes());
    assert!(lints.iter().any(|lint| lint.name == "address_unit"), "{lints:?}");
    let fit = Fit { lba_policy: LbaPolicy::Dense, page_bytes: 1 << 20, ..Fit::new(1 << 50) };
    let mut replay = Replay::open(&path, &options, fit).expect("opens");
    while replay.next().expect("fits").is_some() {}
    let told: Vec<&str> = replay.warnings().iter().map(|lint| lint.name).collect();
    let wanted: Vec<&str> =
        lints.iter().filter(|lint| lint.severity == Severity::Warning).map(|lint| lint.name).collect();
    assert_eq!(told, wanted);
}
