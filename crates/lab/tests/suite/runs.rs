//! One run.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ssdlab_lab::drive::{TICK, Tick};
use ssdlab_lab::error::{Class, Kind};
use ssdlab_lab::input::Provenance;
use ssdlab_lab::results::blocks::{BlockRows, Spread};
use ssdlab_lab::results::cost::CostFile;
use ssdlab_lab::results::dies::DieRows;
use ssdlab_lab::results::histograms::BucketRows;
use ssdlab_lab::results::requests::{RequestRows, SlowestRows};
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::summary::SummaryFile;
use ssdlab_lab::results::timeline::Activity;
use ssdlab_lab::run::{How, Outputs, Progress};
use ssdlab_sim::units::Nanos;

use crate::{names, run, tiny, writes};

/// Every file that a run can write.
fn outputs(directory: &Path) -> Outputs {
    let file = |name: &str| directory.join(name);
    let window = Nanos(1_000_000);
    Outputs::default()
        .with(SummaryFile(file("summary.json")))
        .with(RequestRows(file("requests.csv").into()))
        .with(WindowRows { place: file("series.csv").into(), window })
        .with(DieRows::beside(&file("series.csv"), window))
        .with(Activity { file: Some(file("run.pftrace")), span: None })
        .with(BlockRows(file("blocks.csv").into()))
        .with(BucketRows(file("histograms.csv").into()))
        .with(SlowestRows(file("slowest.csv").into()))
        .with(CostFile(file("perf.json")))
}

/// Records progress, and stops the run at a tick.
#[derive(Default)]
struct Listener {
    stop_at: Option<u64>,
    building: u32,
    simulated: u32,
    ticks: Vec<Tick>,
    /// The directory of the results, and what was in it at each tick.
    directory: PathBuf,
}

impl Progress for Listener {
    fn building(&mut self) {
        self.building += 1;
    }

    fn at(&mut self, tick: Tick) -> ControlFlow<()> {
        let visible = names(&self.directory).into_iter().filter(|name| !name.to_string_lossy().starts_with('.'));
        assert_eq!(visible.count(), 0, "nothing appears before it is complete");
        self.ticks.push(tick);
        if Some(tick.requests) == self.stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn simulated(&mut self) {
        self.simulated += 1;
    }
}

#[test]
fn files_appear_together_when_they_are_published_and_hold_what_is_returned() {
    let directory = tempfile::tempdir().unwrap();
    let outputs = outputs(directory.path());
    let mut listener = Listener { directory: directory.path().into(), ..Listener::default() };
    let ready = || run(&tiny(&[]), How::default()).open(&writes(6000)).unwrap();
    let mut done = ready().simulate(&outputs, &mut listener).unwrap();
    assert_eq!((listener.building, listener.simulated, listener.ticks.len()), (1, 1, 5));
    assert!(listener.ticks.windows(2).all(|t| t[0].requests + TICK == t[1].requests && t[0].now <= t[1].now));
    let last = listener.ticks[4];
    assert!(last.share == Some(5120.0 / 6000.0) && last.now > Nanos::ZERO, "{last:?}");
    done.publish().unwrap();
    let files = [
        "blocks.csv",
        "histograms.csv",
        "perf.json",
        "requests.csv",
        "run.pftrace",
        "series.csv",
        "series.dies.csv",
        "slowest.csv",
        "summary.json",
    ];
    assert_eq!(names(directory.path()), files.map(PathBuf::from));
    let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(text("summary.json"), done.outcome.json());
    assert_eq!(text("requests.csv").lines().count(), 6001);
    // The slowest requests are those of the table of requests, the first of equal ones first.
    let requests = text("requests.csv");
    let head = requests.lines().next().unwrap();
    let place = head.split(',').position(|column| column == "latency_ns").unwrap();
    let latency = |line: &&str| line.split(',').nth(place).unwrap().parse::<u64>().unwrap();
    let mut slowest: Vec<&str> = requests.lines().skip(1).collect();
    slowest.sort_by_key(|line| std::cmp::Reverse(latency(line)));
    slowest.truncate(1_000);
    slowest.insert(0, head);
    assert_eq!(text("slowest.csv").lines().collect::<Vec<_>>(), slowest);
    assert_eq!(done.outcome.provenance, Provenance::Generated);
    let spread = done.value::<Spread>().unwrap();
    assert_eq!(spread.erases.iter().map(|bar| bar.blocks).sum::<u64>(), 64);
    assert_eq!(text("blocks.csv").lines().count(), 65);

    // The same run again, not published: existing files stay, and no others appear.
    std::fs::write(directory.path().join("requests.csv"), "mine").unwrap();
    let again = ready().simulate(&outputs, &mut ()).unwrap();
    assert_eq!(again.outcome.json(), done.outcome.json());
    drop(again);
    assert_eq!(names(directory.path()), files.map(PathBuf::from));
    assert_eq!(text("requests.csv"), "mine");
}

#[test]
fn a_run_stops_where_it_is_told_to_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut listener = Listener { stop_at: Some(TICK), directory: directory.path().into(), ..Listener::default() };
    let ready = run(&tiny(&[]), How::default()).open(&writes(1 << 40)).unwrap();
    let error = ready.simulate(&outputs(directory.path()), &mut listener).err().unwrap();
    assert_eq!((error.kind.clone(), error.class()), (Kind::Stopped, Class::Stopped));
    assert_eq!((listener.ticks.len(), listener.simulated), (1, 0));
    assert!(names(directory.path()).is_empty());
}

#[test]
fn outputs_are_two_files_and_no_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.csv");
    let outputs = Outputs::default().with(RequestRows(path.clone().into())).with(BlockRows(path.into()));
    let ready = run(&tiny(&[]), How::default()).open(&writes(10)).unwrap();
    let error = ready.simulate(&outputs, &mut ()).err().unwrap();
    assert!(error.kind == Kind::Usage && error.message.contains("--requests and --blocks both write"), "{error}");
    assert!(names(directory.path()).is_empty());
}
