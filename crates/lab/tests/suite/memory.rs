//! What a program that embeds the laboratory needs: changes of keys, tables in memory, requests in memory, stopping.

use std::ops::ControlFlow;
use std::sync::Arc;

use ssdlab_lab::error::Kind;
use ssdlab_lab::input::{Origin, Reading, Requests, Room, trace_rows, workload_rows};
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::sheet::{BATCH, Frame, Most, Place, Values};
use ssdlab_lab::run::{How, Outputs, Progress, RunOutcome, arguments};
use ssdlab_lab::settings::{Change, Document, Settings, Sources, argument};
use ssdlab_lab::variants::points::{Plan, Point, sweep};
use ssdlab_trace::{Row, Rows, Table, Trace};
use toml::Value;

use crate::{run, tiny, writes};

fn changed(changes: &[Change]) -> Sources {
    Sources { changes: changes.to_vec(), ..tiny(&[]) }
}

fn set(text: &str) -> Change {
    Change::Set(text.into())
}

#[test]
fn an_optional_key_loses_its_value_and_others_keep_theirs() {
    let plain = Settings::load(&tiny(&[])).unwrap();
    let unset = |key: &str| Change::Unset(key.into());
    let with = Settings::load(&changed(&[set("timing.copyback=700us")])).unwrap();
    assert_ne!(with.digest(), plain.digest());
    let without = Settings::load(&changed(&[set("timing.copyback=700us"), unset("timing.copyback")])).unwrap();
    assert_eq!((without.digest(), without.origin("timing.copyback")), (plain.digest(), "default".into()));
    let refused = |key: &str| Settings::load(&changed(&[unset(key)])).unwrap_err();
    assert!(refused("gc.threshold").message.contains("not optional"));
    assert!(refused("gc.treshold").message.contains("unknown key"));
    assert!(refused("gc").message.contains("gc"));
}

#[test]
fn arguments_and_texts_give_the_same_configuration() {
    for preset in ssdlab_lab::presets::ALL {
        let sources = Sources { preset: Some(preset.name.into()), ..Sources::default() };
        let settings = Settings::load(&sources).unwrap();
        let again = Settings::load(&Sources { sets: settings.arguments(), ..Sources::default() }).unwrap();
        assert_eq!(again.digest(), settings.digest(), "{}", preset.name);
        let text = Document::Text { name: "text".into(), text: settings.toml() };
        let again = Settings::load(&Sources { files: vec![text], ..Sources::default() }).unwrap();
        assert_eq!((again.digest(), again.toml()), (settings.digest(), settings.toml()), "{}", preset.name);
    }
}

#[test]
fn texts_are_quoted_only_where_they_would_be_read_as_something_else() {
    let text = |text: &str| argument(&Value::String(text.into()));
    assert_eq!(text("5 blocks"), "5 blocks");
    assert_eq!(text("random+"), "random+");
    for odd in ["4", "true", "[1]", "0.5", " padded ", "", "'"] {
        assert_ne!(text(odd), odd);
        let parsed: toml::Table = format!("key = {}", text(odd)).parse().unwrap();
        assert_eq!(parsed["key"].as_str(), Some(odd));
    }
}

fn kept(requests: &Requests, outputs: &Outputs) -> RunOutcome {
    run(&tiny(&[]), How::default()).open(requests).unwrap().simulate(outputs, &mut ()).unwrap()
}

fn numbers<'f>(frame: &'f Frame, name: &str) -> Vec<&'f u64> {
    let at = frame.columns.iter().position(|(column, _)| column == name).unwrap();
    let values = frame.batches.iter().map(|batch| match &batch.columns[at] {
        Values::Number(values) => values,
        other => panic!("{other:?}"),
    });
    values.flatten().collect()
}

#[test]
fn rows_in_memory_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.csv");
    kept(&writes(3000), &Outputs::default().with(RequestRows(path.clone().into()))).publish().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let latency: Vec<u64> = text.lines().skip(1).map(|line| line.split(',').nth(7).unwrap().parse().unwrap()).collect();
    let columns = Some(vec!["latency_ns".to_string(), "op".to_string()]);
    let place = Place::Memory { columns, most: None };
    let mut done = kept(&writes(3000), &Outputs::default().with(RequestRows(place)));
    let rows = done.take_frame(RequestRows::NAME).unwrap();
    assert_eq!(numbers(&rows, "latency_ns"), latency.iter().collect::<Vec<_>>());
    assert_eq!((rows.columns.len(), &rows.words[1][..]), (2, &["write".to_string()][..]));
}

#[test]
fn more_rows_than_memory_are_refused_with_the_arithmetic() {
    let place = |rows_bytes: u64| Place::Memory {
        columns: Some(vec!["latency_ns".into()]),
        most: Some(Most { rows_bytes, other_bytes: 1 << 20 }),
    };
    let outputs = |bytes: u64| Outputs::default().with(RequestRows(place(bytes)));
    let ready = || run(&tiny(&[]), How::default()).open(&writes(1000)).unwrap();
    let mut done = ready().simulate(&outputs(8000), &mut ()).unwrap();
    assert_eq!(done.take_frame(RequestRows::NAME).unwrap().batches[0].rows, 1000);
    let error = ready().simulate(&outputs(7999), &mut ()).err().unwrap();
    assert!(matches!(error.kind, Kind::Memory { needed, .. } if needed == 8000 + (1 << 20)), "{error:?}");
    assert!(error.message.starts_with("1,000 rows of 1 columns of 8 bytes, 8 bytes a row"), "{error}");
}

/// Writes of a page each, one a microsecond.
struct Pages(u64);

impl Rows for Pages {
    fn rows(&self) -> u64 {
        self.0
    }

    fn names_devices(&self) -> bool {
        false
    }

    fn fetch(&self, from: u64, most: usize, out: &mut Vec<Row>) {
        let row = |n: u64| Row { time_ns: n * 1000, offset: n % 64 * 4096, bytes: 4096, op: 1, ..Row::default() };
        out.extend((from..self.0.min(from + most as u64)).map(row));
    }
}

#[test]
fn requests_in_memory_pass_the_steps_of_a_file() {
    let table = |rows: u64| Trace::Table(Table::new("table", Arc::new(Pages(rows))));
    let frame = trace_rows(&table(70_000), &Reading::default(), None).unwrap();
    assert_eq!(frame.batches.iter().map(|batch| batch.rows).collect::<Vec<_>>(), [BATCH, 70_000 - BATCH]);
    let requests = |trace: Trace| Requests { loops: 2, ..Requests::new(Origin::Trace(trace)) };
    let own = kept(&requests(table(500)), &Outputs::default());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let lines: String = (0..500).map(|n| format!("{},w,{},4096\n", n * 1000, n % 64 * 4096)).collect();
    std::fs::write(&path, lines).unwrap();
    let mut file = requests(path.into());
    file.reading.format = "columns:time=0:ns,op=1:'r'r'w'w,offset=2:bytes,size=3:bytes".into();
    assert_eq!(own.outcome.json(), kept(&file, &Outputs::default()).outcome.json());
    let stream = requests(Trace::stream("s", std::io::empty()));
    assert!(run(&tiny(&[]), How::default()).open(&stream).unwrap().simulate(&Outputs::default(), &mut ()).is_err());
    let room = Room { capacity_bytes: 1 << 30, page_bytes: 4096 };
    assert_eq!(workload_rows("random-write", 1, Some(7), room).unwrap().batches[0].rows, 7);
}

/// Goes on a number of times.
struct Patience(u64);

impl Progress for Patience {
    fn go_on(&mut self) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_run_stops_while_it_fills_runs_and_ends() {
    // 4,096 pages are written between two questions; the ring of requests is longer than the run.
    let large = Sources {
        sets: ["precondition.mode=random", "geometry.blocks_per_plane=16", "device.over_provisioning=0.2"]
            .map(String::from)
            .into(),
        ..Sources::default()
    };
    let stops = |sources: &Sources, requests: &Requests, after: u64| {
        let ready = run(sources, How::default()).open(requests).unwrap();
        ready.simulate(&Outputs::default(), &mut Patience(after)).err().map(|error| error.kind)
    };
    assert_eq!(stops(&large, &writes(10), 3), Some(Kind::Stopped), "while it is filled");
    let all = |requests: u64| (1..).find(|after| stops(&tiny(&[]), &writes(requests), *after).is_none()).unwrap();
    // Two questions a 128 requests, then some while the queue of 2,000 requests is worked off.
    assert!(all(2000) > 2000 / 64 + 3, "{}", all(2000));
}

/// A run reads ahead, a comparison does not.
#[test]
fn reading_ahead_changes_no_result_and_ends_with_the_run() {
    let pages = Arc::new(Pages(30_000));
    let trace = || Trace::Table(Table::new("table", pages.clone()));
    let requests = Requests { loops: 2, limit: Some(50_000), ..Requests::new(Origin::Trace(trace())) };
    let ready = || run(&tiny(&[]), How::default()).open(&requests).unwrap();
    let own = ready().simulate(&Outputs::default(), &mut ()).unwrap().outcome;
    let config = Settings::load(&tiny(&[])).unwrap().config;
    let point = Point { name: "point".into(), config, requests: requests.clone(), seed: 1 };
    let plan = Plan { check: How::default().check, count_only: false, jobs: Some(1), memory_limit: None };
    let other = sweep(&[point], &plan, &()).unwrap().remove(0);
    assert_eq!((own.json(), own.remarks), (other.json(), other.remarks));
    for after in [1, 10, 700] {
        let error = ready().simulate(&Outputs::default(), &mut Patience(after)).err().unwrap();
        assert_eq!(error.kind, Kind::Stopped);
    }
    drop(requests);
    assert_eq!(Arc::strong_count(&pages), 1, "no thread reads on");
}

#[test]
fn a_command_line_repeats_a_run() {
    let settings = Settings::load(&tiny(&["schemes.victim=fifo"])).unwrap();
    let requests = Requests { loops: 3, ..writes(5) };
    let text = arguments(&settings, &requests, How { seed: 7, ..How::default() }).join(" ");
    assert!(text.starts_with("run --set geometry.channels=2"), "{text}");
    assert!(text.contains("--set schemes.victim=\"fifo\"") && !text.contains("gc.threshold"), "{text}");
    assert!(text.ends_with("--workload random-write --limit 5 --loop 3 --seed 7 --check sampled"), "{text}");
}
