//! Drives of which everything is known: simulated with another geometry and noise, and then identified like real ones.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use ssdlab_drives::candidates::Candidate;
use ssdlab_drives::cost::{Cost, Moves, STEADY};
use ssdlab_drives::fit::Given;
use ssdlab_drives::identify::{How, Identified, identify};
use ssdlab_drives::input::{Curve, Input, Point, Steady};
use ssdlab_drives::model::{Geometry, Model, Situation, run};
use ssdlab_drives::pattern::Pattern;
use ssdlab_drives::verdict::Kind;
use ssdlab_trace::workload::Spec;

const CAPACITY: u64 = 960_000_000_000;
const COST: Cost = Cost { host: 0.55, moved: 0.9, least: 0.56 };

fn candidate(name: &str) -> Candidate {
    Candidate::list(name).unwrap()[0]
}

fn pattern(name: &str, parameter: &str) -> Pattern {
    Pattern::parse(name, parameter).unwrap().unwrap()
}

fn cells() -> Vec<Pattern> {
    vec![
        pattern("zipf", "0.8"),
        pattern("zipf", "1.0"),
        pattern("read-only", "60%"),
        pattern("read-only", "40%"),
        pattern("zone", "10/90"),
    ]
}

/// A factor near 1: uniform within 1.7 percent on each side, so with a standard deviation of 1 percent.
fn noise(rng: &mut Xoshiro256PlusPlus) -> f64 {
    1.0 + 0.0173 * (2.0 * (rng.next_u64() as f64 / 18_446_744_073_709_551_616.0) - 1.0)
}

/// What would be measured on a drive that moves pages as `moves` says.
fn measured(drive_writes: f64, moves: impl Fn(&Pattern) -> Moves) -> Input {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let uniform = moves(&Pattern::Uniform);
    let bins = (drive_writes / 0.05).round() as usize;
    let point = |i: usize, rng: &mut Xoshiro256PlusPlus| {
        let (from, to) = (i as f64 * 0.05, (i + 1) as f64 * 0.05);
        let rate = uniform.rate_over(&COST, from, to) * noise(rng);
        Point { at: f64::midpoint(from, to), rate, written: None, read: None }
    };
    let points = (0..bins).map(|i| point(i, &mut rng)).collect();
    let steady = |pattern: Pattern, rate: f64| Steady {
        pattern,
        rate,
        error_pct: Some(0.2),
        drift_pct: Some(0.0),
        written: None,
        moved: None,
        drive_writes: Some(drive_writes),
    };
    let mut input = Input { curves: vec![(Pattern::Uniform, Curve { points })], ..Input::default() };
    input.steady.push(steady(Pattern::Sequential, 1000.0 / COST.host));
    for pattern in cells() {
        let rate = moves(&pattern).rate_in(&COST, STEADY) * noise(&mut rng);
        input.steady.push(steady(pattern, rate));
    }
    input
}

fn drive(policy: &str, geometry: Geometry, drive_writes: f64) -> Input {
    let model = Model { candidate: candidate(policy), spare: 180_000, geometry };
    let situation = Situation { capacity: CAPACITY, superblock: None, seed: 11 };
    measured(drive_writes, |pattern| model.moves(pattern, drive_writes, &situation).unwrap().unwrap())
}

fn found(input: &Input, candidates: &str, geometry: Geometry) -> Identified {
    let candidates = Candidate::list(candidates).unwrap();
    let (capacity, superblock) = (Some(CAPACITY), None);
    identify(input, &How { candidates, capacity, superblock, seeds: 1, geometry, given: Given::default() }).unwrap()
}

/// The verdict names the policy, or one that is not told apart from it, and the numbers are found again. `kept`: share of the blocks that
/// GC keeps free, which the cliff does not see.
fn recovers(policy: &str, found: &Identified, kept: f64) {
    let sentence = &found.verdict.sentence;
    let best = found.trials[found.verdict.best].fitted;
    let second = found.verdict.second.map(|second| found.trials[second].fitted.model.candidate);
    let kind = found.verdict.kind;
    let named = best.model.candidate.is_like(&candidate(policy));
    let either = second.is_some_and(|second| second.is_like(&candidate(policy)));
    assert!(
        (named && matches!(kind, Kind::Identified | Kind::Equivalent)) || (either && kind == Kind::Equivalent),
        "{policy}: {sentence}"
    );
    if named {
        assert!(best.model.spare.abs_diff(180_000) <= 10_000, "{policy}: {best:?}");
        assert!((best.cost.moved / COST.moved - 1.0).abs() < 0.05, "{policy}: {best:?}");
    }
    let closed = found.target.closed.spare();
    assert!(
        (closed - f64::from(best.model.spare) / 1e6).abs() < 0.01 + kept,
        "{policy}: closed form {closed}, {best:?}"
    );
}

#[test]
fn a_policy_is_recovered_from_another_geometry() {
    let geometry = Geometry { blocks: 320, pages: 128 };
    for policy in ["greedy/separate", "cost-benefit:1/shared"] {
        let input = drive(policy, Geometry { blocks: 256, pages: 160 }, 2.0);
        recovers(policy, &found(&input, "greedy,cost-benefit:1,fifo/separate", geometry), 3.0 / 256.0);
    }
}

/// A drive with random victims is no candidate's: the verdict refuses a name.
#[test]
fn a_policy_that_is_no_candidate_is_refused() {
    let geometry = Geometry { blocks: 320, pages: 128 };
    let input = random_victims(Geometry { blocks: 256, pages: 160 }, 2.0);
    let found = found(&input, "greedy,cost-benefit:1,fifo", geometry);
    let (kind, sentence) = (found.verdict.kind, &found.verdict.sentence);
    assert!(matches!(kind, Kind::Nearest | Kind::NoneFits), "{sentence}");
    assert!(sentence.contains("refuted by "), "{sentence}");
}

fn random_victims(geometry: Geometry, drive_writes: f64) -> Input {
    let model = Model { candidate: candidate("greedy/separate"), spare: 180_000, geometry };
    let config = model.config().replace("schemes.victim = \"greedy\"", "schemes.victim = \"random\"");
    assert!(config.contains("random"));
    let spec = |pattern: &Pattern| {
        let pattern = match pattern {
            Pattern::Zipf { theta, .. } => {
                format!("{{ zipf = {{ theta = {theta:?}, population = {}.0 }} }}", CAPACITY / 4096)
            }
            Pattern::Zone { .. } => "{ hot-cold = { hot_space = 0.1, hot_traffic = 0.9, scrambled = true } }".into(),
            Pattern::ReadOnly(share) => {
                let space = 1.0 - f64::from(*share) / 1e6;
                format!("{{ hot-cold = {{ hot_space = {space:.1}, hot_traffic = 1.0, scrambled = true }} }}")
            }
            _ => "\"uniform\"".to_string(),
        };
        Spec::parse(&format!("write = 1.0\narrivals = \"closed\"\npattern = {pattern}\n")).unwrap()
    };
    measured(drive_writes, |pattern| run(&config, &spec(pattern), drive_writes, 11).unwrap())
}

/// The same at full size, with all candidates: minutes. Set SSDLAB_LONG to run it.
#[test]
fn every_policy_is_recovered_at_full_size() {
    if std::env::var_os("SSDLAB_LONG").is_none() {
        return;
    }
    let geometry = Geometry { blocks: 256, pages: 1024 };
    for policy in
        ["greedy/separate", "greedy/shared", "d-choices:4/separate", "cost-benefit:1/separate", "fifo/separate"]
    {
        let input = drive(policy, geometry, 5.0);
        recovers(policy, &found(&input, "all", Geometry::default()), 3.0 / 256.0);
    }
    let found = found(&random_victims(geometry, 5.0), "all", Geometry::default());
    assert!(matches!(found.verdict.kind, Kind::Nearest | Kind::NoneFits), "{}", found.verdict.sentence);
}
