//! Several runs, side by side.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use ssdlab_lab::drive::{TICK, Tick};
use ssdlab_lab::error::{Kind, Result};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::variants::axes::axes;
use ssdlab_lab::variants::comparison::{Comparison, Doubt, Planned, Seeds, can_be_read_again};
use ssdlab_lab::variants::figures::{Effect, Figure, METRICS, Metric, judge_shown};
use ssdlab_lab::variants::points::{Board, Plan};
use ssdlab_sim::Check;

use crate::{run, tiny, writes};

fn compare(vary: &[&str], limit: u64, jobs: u64, board: &dyn Board) -> Result<Comparison> {
    let vary: Vec<String> = vary.iter().map(ToString::to_string).collect();
    let planned = Planned::new(&tiny(&[]), axes(&vary)?, Seeds { first: 3, count: 2 }, 100)?;
    let points = planned.points(&writes(limit));
    let plan = Plan { check: Check::Sampled, count_only: false, jobs: Some(jobs), memory_limit: None };
    planned.run(&points, &plan, board)
}

/// Counts calls; stops at the first tick if `stop` is set.
#[derive(Default)]
struct Counter {
    stop: bool,
    ticks: AtomicUsize,
    ended: AtomicUsize,
}

impl Board for Counter {
    fn at(&self, _point: usize, _tick: Tick) -> ControlFlow<()> {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        if self.stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ended(&self, _point: usize) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_variant_is_its_own_run_and_a_refused_one_says_why() {
    let counter = Counter::default();
    let done = compare(&["schemes.victim=greedy,fifo", "geometry.dies_per_chip=1,0"], 2 * TICK, 2, &counter).unwrap();
    assert_eq!((counter.ended.into_inner(), counter.ticks.into_inner()), (4, 8), "two variants, two seeds each");
    let names: Vec<&str> = done.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["greedy, 1", "greedy, 0", "fifo, 1", "fifo, 0"]);
    for row in &done.rows {
        let refused = row.variant.refused.as_ref().map(|error| error.key.as_str());
        assert_eq!(refused, (row.variant.values[1] == "0").then_some("geometry.dies_per_chip"));
        assert_eq!(row.outcomes.len(), if refused.is_some() { 0 } else { 2 });
    }
    let fifo = &done.rows[2];
    for (outcome, seed) in fifo.outcomes.iter().zip([3, 4]) {
        let how = How { seed, ..How::default() };
        let ready = run(&tiny(&["schemes.victim=fifo"]), how).open(&writes(2 * TICK)).unwrap();
        let alone = ready.simulate(&Outputs::default(), &mut ()).unwrap();
        assert_eq!(outcome.json(), alone.outcome.json());
    }
    let erases = METRICS.iter().position(|metric| metric.key == "erases").unwrap();
    let (base, other) = (done.rows[0].figures[erases].as_ref().unwrap(), fifo.figures[erases].as_ref().unwrap());
    assert_eq!((base.verdict(), base.ratio), (Effect::Same, Some(1.0)));
    assert_eq!(other.values, fifo.outcomes.iter().map(|o| o.summary.flash.erases as f64).collect::<Vec<_>>());
    let csv = done.csv().unwrap();
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() == 5 && cells[1] == cells[0], "{csv}");

    // One job or two: the same.
    let again = compare(&["schemes.victim=greedy,fifo", "geometry.dies_per_chip=1,0"], 2 * TICK, 1, &()).unwrap();
    assert_eq!(again.json(), done.json());
}

#[test]
fn cautions_carry_the_numbers_of_variants() {
    // A device twice as large has other addresses, so other requests. Without GC there is another caution.
    let done = compare(&["geometry.blocks_per_plane=16,32", "precondition.mode=sequential,none"], 200, 1, &()).unwrap();
    let of = |doubt: Doubt| done.cautions().into_iter().find(|caution| caution.what == doubt).map(|c| c.variants);
    assert_eq!(of(Doubt::OtherRequests), Some(vec![3, 4]));
    let idle = |row: &ssdlab_lab::variants::comparison::Row| row.outcomes.iter().any(|o| o.summary.gc.collections == 0);
    let without: Vec<usize> = (1..=4).filter(|number| idle(&done.rows[number - 1])).collect();
    assert_eq!(of(Doubt::NoGc), Some(without));
}

#[test]
fn one_seed_is_enough_for_a_caution() {
    for seed in 0..2 {
        let mut done = compare(&["schemes.victim=greedy,fifo"], 200, 1, &()).unwrap();
        done.rows.iter_mut().flat_map(|row| &mut row.outcomes).for_each(|outcome| outcome.summary.gc.collections = 1);
        let of = |done: &Comparison| done.cautions().into_iter().find(|caution| caution.what == Doubt::NoGc);
        assert!(of(&done).is_none());
        done.rows[1].outcomes[seed].summary.gc.collections = 0;
        assert_eq!(of(&done).map(|caution| caution.variants), Some(vec![2]), "seed {seed} of 2");
    }
}

/// What tables do not show is no part of the family of their tests.
#[test]
fn hidden_differences_are_not_judged() {
    let figure = |metric: &Metric| {
        let some = ["read_mean_ns", "all_p99_ns", "read_max_ns"].contains(&metric.key);
        some.then(|| Figure::new(vec![9.0, 18.0, 27.5], &[10.0, 20.0, 30.0]))
    };
    let mut variants: Vec<Vec<Option<Figure>>> = vec![METRICS.iter().map(figure).collect()];
    judge_shown(variants.iter_mut());
    for (metric, figure) in METRICS.iter().zip(&variants[0]) {
        let Some(figure) = figure else { continue };
        assert_eq!(figure.discovery, figure.chance.filter(|_| metric.key == "read_mean_ns"), "{}", metric.key);
    }
}

#[test]
fn all_runs_stop_when_one_is_stopped() {
    let counter = Counter { stop: true, ..Counter::default() };
    let error = compare(&["schemes.victim=greedy,fifo,random"], 1 << 40, 2, &counter).err().unwrap();
    assert_eq!(error.kind, Kind::Stopped);
    assert!(counter.ticks.into_inner() <= 2, "each job hears it at its first tick");
}

#[test]
fn what_can_be_read_once_is_not_compared() {
    let requests = |path: &str| Requests::new(Origin::Trace(std::path::PathBuf::from(path).into()));
    assert_eq!(can_be_read_again(&requests("-")).unwrap_err().kind, Kind::Usage);
    assert!(can_be_read_again(&requests("t.csv")).is_ok());
}
