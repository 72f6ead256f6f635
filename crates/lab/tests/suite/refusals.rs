//! Errors whose kind and place programs can get without parsing the message.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Class, Error, Kind};
use ssdlab_lab::input::{self, Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::run::{How, Outputs, Run};
use ssdlab_lab::settings::{Settings, Sources};

use crate::{run, tiny, writes};

fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn refused(sources: &Sources) -> Error {
    Settings::load(sources).unwrap_err()
}

#[test]
fn a_configuration_names_the_key_its_place_and_what_was_meant() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "drive.toml", "[geometry]\nchannels = 4\n\n[gc]\nthresold = 0.05\n");
    let error = refused(&Sources { files: vec![path.clone().into()], ..Sources::default() });
    let Kind::Config(key) = &error.kind else { panic!("{error:?}") };
    assert_eq!((key.key.as_str(), key.nearest.as_deref()), ("gc.thresold", Some("gc.threshold")));
    assert!(key.expected.iter().any(|known| known == "gc.time"), "{:?}", key.expected);
    let spot = error.spot.as_ref().unwrap();
    assert_eq!((Path::new(&spot.name), spot.line(), spot.column()), (path.as_path(), 5, 1));

    let error = refused(&tiny(&["schemes.victim=gredy"]));
    let Kind::Config(key) = &error.kind else { panic!("{error:?}") };
    assert_eq!((key.key.as_str(), key.nearest.as_deref()), ("schemes.victim", Some("greedy")));
    assert!(key.expected.iter().any(|known| known == "fifo"), "{:?}", key.expected);

    // A rule that several keys break together.
    let error = refused(&tiny(&["geometry.channels=0"]));
    let Kind::Config(key) = &error.kind else { panic!("{error:?}") };
    assert_eq!((key.key.as_str(), error.class()), ("geometry.channels", Class::Usage));
    assert_eq!(error.spot.as_ref().map(|spot| spot.name.as_str()), Some("--set"));
}

/// A value that is no name of its key is refused at its entry of the list, and the message lists the names.
#[test]
fn a_choice_names_its_values_where_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let queue =
        |takes: &str| format!("[nvme]\narbitration = \"rr\"\n\n[[nvme.queues]]\nname = \"a\"\nmatch = {takes}\n");
    for (text, key, place, told) in [
        ("[device]\nexclusion = 3\n".to_string(), "device.exclusion", (2, 13), "`die`, `chip`"),
        (queue("{}"), "nvme.queues[0].match", (6, 9), "`rest`, `tenant`, `device`, `stream`, `lba`, `op`"),
        (queue("{ op = [\"read\"] }"), "nvme.queues[0].match.op", (6, 16), "`read`, `write`, `trim`, `flush`"),
        (queue("{ device = \"0\" }"), "nvme.queues[0].match.device", (6, 20), "expected a list"),
        (queue("{ device = [] }"), "nvme.queues", (4, 1), "empty list"),
        (
            "[[faults.chip_fails]]\nchip = \"x\"\n".into(),
            "faults.chip_fails[0].chip",
            (2, 8),
            "expected a whole number",
        ),
    ] {
        let path = file(directory.path(), "drive.toml", &text);
        let error = refused(&Sources { files: vec![path.into()], ..Sources::default() });
        let Kind::Config(named) = &error.kind else { panic!("{error:?}") };
        assert_eq!(named.key, key, "{error}");
        let spot = error.spot.as_ref().unwrap();
        assert_eq!((spot.line(), spot.column()), place, "{error}");
        assert!(format!("{} {:?}", error.message, error.help).contains(told), "{error:?}");
    }
    // In an argument, too.
    let error = refused(&tiny(&["nvme.arbitration=rr", "nvme.queues=[{ name = \"a\", class = 3 }]"]));
    assert_eq!(error.spot.as_ref().map(|spot| (spot.name.as_str(), spot.column())), Some(("--set", 36)), "{error:?}");
}

#[test]
fn a_trace_names_file_line_and_column() {
    let directory = tempfile::tempdir().unwrap();
    let good = "128166372003061629,hm,0,Read,8192,4096,113736\n";
    let path = file(directory.path(), "t.csv", &format!("{good}128166372003061630,hm,0,Read,-1,4096,1\n"));
    let ready = run(&tiny(&[]), How::default()).open(&Requests::new(Origin::Trace(path.into()))).unwrap();
    let error = ready.simulate(&Outputs::default(), &mut ()).err().unwrap();
    let Kind::Trace(trace) = &error.kind else { panic!("{error:?}") };
    assert_eq!((trace.report().line, trace.report().column, error.class()), (Some(2), Some(30), Class::Trace));
    assert_eq!(error.message, trace.to_string());
}

#[test]
fn files_workloads_and_memory_are_kinds_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.toml");
    let error = refused(&Sources { files: vec![missing.clone().into()], ..Sources::default() });
    assert_eq!(error.kind, Kind::File { path: missing, cause: ErrorKind::NotFound, code: Some(2) });
    assert_eq!(error.class(), Class::File);

    let path = file(directory.path(), "w.toml", "description = \"x\"\n[[phase]]\nzz = 1\n");
    let name = path.to_str().unwrap().to_string();
    let requests = Requests::new(Origin::Workload { name, recordings: None });
    let error = input::open(&requests).err().unwrap();
    assert!(matches!(&error.kind, Kind::Workload { key } if key.starts_with("phase")), "{error:?}");

    let how = How { memory_limit: Some(1 << 20), ..How::default() };
    let error = Run::new(Settings::load(&tiny(&[])).unwrap(), how, Moment::now()).err().unwrap();
    assert!(matches!(error.kind, Kind::Memory { needed, limit: 1_048_576 } if needed > 1 << 20), "{error:?}");
    assert!(Run::new(Settings::load(&tiny(&[])).unwrap(), How::default(), Moment::now()).is_ok());

    let unknown = Origin::Workload { name: "randm-write".into(), recordings: None };
    let error = input::open(&Requests::new(unknown));
    assert!(error.err().unwrap().help[0].starts_with("did you mean `random-write`?"));
    assert!(input::open(&writes(1)).is_ok());
}
