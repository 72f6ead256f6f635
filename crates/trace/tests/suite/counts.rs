//! The formats of other tools: an independent script counts the same, and `auto` takes each for what it is.

use crate::samples;
use serde_json::{Value, json};
use ssdlab_trace::{Code, Info, Options, Reader, Source};
use std::io::{Cursor, Write as _};
use std::process::Command;

/// What the script beside the tests says of a file; `None` where there is no Python.
fn counted(format: &str, bytes: &[u8]) -> Option<Value> {
    let mut file = tempfile::NamedTempFile::new().expect("temporary file");
    file.write_all(bytes).expect("temporary file");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/count.py");
    let output = match Command::new("python3").arg(script).arg(format).arg(file.path()).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "python3: {error}, and SSDLAB_REQUIRE is set");
            eprintln!("python3: {error}; the counts are NOT compared");
            return None;
        }
    };
    assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn an_independent_script_counts_the_same() {
    for sample in samples::of(400) {
        let options = Options { format: Some(sample.format.parse().expect("a format")), ..Options::default() };
        let source = Source::from_reader("t", Cursor::new(sample.bytes.clone())).expect("opens");
        let mut reader = Reader::new(source, &options).expect("opens");
        let info = Info::read(&mut reader).unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        let Some(theirs) = counted(sample.format, &sample.bytes) else { return };
        let ours = json!({
            "reads": info.reads,
            "writes": info.writes,
            "trims": info.trims,
            "read_bytes": info.read_bytes,
            "write_bytes": info.write_bytes,
            "trim_bytes": info.trim_bytes,
            "skipped": reader.notes().skipped(),
            "span_ns": info.span_ns,
        });
        assert_eq!(ours, theirs, "{}", sample.name);
        assert!(info.requests > 150, "{}: {}", sample.name, info.requests);
    }
}

/// Each sample fits its own format alone, or is refused with what to write.
#[test]
fn auto_takes_each_for_what_it_is() {
    for sample in samples::of(400) {
        let source = Source::from_reader("t", Cursor::new(sample.bytes)).expect("opens");
        match (Reader::new(source, &Options::default()), sample.auto) {
            (Ok(reader), Some(wanted)) => assert_eq!(reader.format().to_string(), wanted, "{}", sample.name),
            (Ok(reader), None) => panic!("{} was taken for {}", sample.name, reader.format()),
            (Err(error), None) => {
                let text = error.to_string();
                let named = sample.name == "oracleGeneral" || text.contains("--format lcs:id=sectors");
                assert!(error.kind().exit_status() == 3 && named, "{}: {text}", sample.name);
            }
            (Err(error), Some(_)) => panic!("{}: {error}", sample.name),
        }
    }
}

/// Half of the lines are those of one format and half of another: both are named.
#[test]
fn where_two_fit_both_are_named() {
    let samples = samples::of(400);
    let lines = |name: &str, word: &str| -> Vec<String> {
        let found = samples.iter().find(|sample| sample.name == name).expect(name);
        let text = String::from_utf8(found.bytes.clone()).expect("text");
        text.lines().filter(|line| line.contains(word)).take(50).map(str::to_owned).collect()
    };
    let spc = || (0..50).map(|i| format!("0,{},512,r,{i}.5", 8 * i)).collect::<Vec<_>>();
    for (one, two, names) in [
        (lines("block events", "block_rq_issue"), spc(), "spc and ftrace"),
        (lines("disk events", "DiskRead,"), spc(), "spc and etw"),
    ] {
        let mixed: String = one[1..].iter().zip(&two[1..]).map(|(one, two)| format!("{one}\n{two}\n")).collect();
        let source = Source::from_reader("t", Cursor::new(mixed)).expect("opens");
        let error = Reader::new(source, &Options::default()).expect_err(names);
        assert_eq!(error.code(), Code::Ambiguous, "{names}: {error}");
        assert!(error.to_string().contains(&format!("Several formats fit: {names}")), "{error}");
    }
}
