//! Write amplification under uniform random page writes, against the formulas.
//!
//! The tables of docs/validation.md: `cargo test -p ssdlab-sim --test suite theory:: -- --nocapture --test-threads 1`.

use crate::formulas;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Lpn, Nanos};
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

/// Blocks of a plane: enough that corrections for its finite size stay small.
const BLOCKS: u32 = 512;
const SEED: u64 = 1;

#[derive(Clone, Copy, Debug)]
enum Victim {
    Greedy,
    Fifo,
    Choices(u32),
    Random,
}

impl Victim {
    fn toml(self) -> String {
        match self {
            Victim::Greedy => "\"greedy\"".into(),
            Victim::Fifo => "\"fifo\"".into(),
            Victim::Choices(d) => format!("{{ d-choices = {{ d = {d} }} }}"),
            Victim::Random => "\"random\"".into(),
        }
    }

    fn name(self) -> String {
        match self {
            Victim::Choices(d) => format!("d-choices, d = {d}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// Write amplification by theory at utilisation `rho`.
    fn formula(self, rho: f64, b: u32) -> f64 {
        match self {
            Victim::Greedy => formulas::greedy(rho, b),
            Victim::Fifo => formulas::fifo(rho),
            Victim::Choices(d) => formulas::d_choices(rho, b, d),
            Victim::Random => formulas::random(rho),
        }
    }

    fn tolerance(self) -> f64 {
        if matches!(self, Victim::Random) { 0.02 } else { 0.01 }
    }

    /// Measured drive writes: random victims vary so much that only a long average is stable.
    fn drive_writes(self) -> u64 {
        if matches!(self, Victim::Random) { 40 } else { 15 }
    }
}

/// A device and its parameters in the theory.
#[derive(Clone, Copy, Debug)]
struct Case {
    victim: Victim,
    /// Share of the pages in play that hold no valid data.
    spare: f64,
    pages_per_block: u32,
    shared: bool,
    /// Each channel is a GC domain of one plane.
    channels: u32,
    /// GC starts below this many blocks' worth of free pages.
    threshold: f64,
}

impl Case {
    /// GC starts below this many free pages per plane.
    fn threshold(&self) -> u32 {
        (self.threshold * f64::from(self.pages_per_block)) as u32
    }

    /// Pages in play in a plane at write amplification `a`: the base of "spare".
    ///
    /// By Little's law the relevant value is the number of programmed pages, averaged over host writes. A collection starts when
    /// a host program leaves fewer free pages than the threshold F, and usually one collection is enough, so it starts at F - 1.
    /// It frees b - v = b / A pages more than it takes, which the host then uses one by one: b / 2A more free pages on average.
    /// So T = N b - F - b / 2A, which for F = 3 b is the rule T = (N - R) b - b / 2A with R = 3.
    ///
    /// The rule subtracts a further b / 2 for separate write points if a device keeps R *erased* blocks: the unwritten half of
    /// GC's open block is free in addition to them. Our threshold counts the unwritten pages of open blocks as free, so they are
    /// within F: with F = 3 b a collection starts with two erased blocks and b - 1 pages left in the one or two open ones, and T
    /// is the same for both kinds of write points. (Subtracting b / 2 anyway would show as a difference of -1.2 % at a spare of 7
    /// %.)
    fn pages_in_play(&self, a: f64) -> f64 {
        let b = f64::from(self.pages_per_block);
        f64::from(BLOCKS) * b - f64::from(self.threshold()) - b / (2.0 * a)
    }

    fn toml(&self) -> String {
        // Over-provisioning is a share of physical pages; the spare of the case is the theory's.
        let a = self.victim.formula(1.0 - self.spare, self.pages_per_block);
        let physical = f64::from(BLOCKS * self.pages_per_block);
        let over_provisioning = 1.0 - (1.0 - self.spare) * self.pages_in_play(a) / physical;
        format!(
            "geometry = {{ channels = {}, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {BLOCKS}, pages_per_block = {} }}\n\
             device = {{ over_provisioning = {over_provisioning:.6} }}\n\
             gc = {{ threshold = \"{} pages\" }}\n\
             ftl = {{ write_points = \"{}\" }}\n\
             schemes = {{ victim = {} }}\n\
             precondition = {{ mode = \"sequential\" }}\n",
            self.channels,
            self.pages_per_block,
            self.threshold(),
            if self.shared { "shared" } else { "separate" },
            self.victim.toml()
        )
    }

    fn build(&self) -> Ssd {
        let config: Config = self.toml().parse().unwrap_or_else(|error| panic!("{error}"));
        Ssd::new(&config, SEED, Check::Off).unwrap_or_else(|error| panic!("{error}\n{}", self.toml()))
    }

    /// The formula with the pages that this device exports. A is on both sides of the equation.
    fn predicted(&self, ssd: &Ssd) -> f64 {
        let exported = f64::from(ssd.geometry().exported_per_plane());
        let mut a = 5.0;
        for _ in 0..20 {
            a = self.victim.formula(exported / self.pages_in_play(a), self.pages_per_block);
        }
        a
    }
}

/// Results of GC so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    host: u64,
    moved: u64,
    collections: u64,
    erases: u64,
    free: u64,
}

impl Counts {
    fn of(ssd: &Ssd) -> Counts {
        let summary = ssd.summary(SEED, String::new(), String::new());
        Counts {
            host: summary.flash.programs.host,
            moved: summary.gc.moved_pages,
            collections: summary.gc.collections,
            erases: summary.flash.erases,
            free: ssd.flash().free_total(),
        }
    }

    /// Differences since `before`, and free pages now.
    fn since(self, before: Counts) -> Counts {
        Counts {
            host: self.host - before.host,
            moved: self.moved - before.moved,
            collections: self.collections - before.collections,
            erases: self.erases - before.erases,
            free: self.free,
        }
    }

    fn write_amplification(self) -> f64 {
        (self.host + self.moved) as f64 / self.host as f64
    }
}

/// Uniform random writes in no time: ten drive writes that are not measured, then those that are.
fn measure(case: &Case) -> (f64, f64) {
    let mut ssd = case.build();
    let exported = u64::from(ssd.geometry().exported);
    let mut rng = stream(SEED, "theory");
    let mut write = |ssd: &mut Ssd, drive_writes: u64| {
        for _ in 0..drive_writes * exported {
            ssd.write_now(Lpn(below(&mut rng, exported) as u32));
        }
    };
    write(&mut ssd, 10);
    let before = Counts::of(&ssd);
    write(&mut ssd, case.victim.drive_writes());
    let counts = Counts::of(&ssd).since(before);
    // Every page that GC reclaims is programmed once more, by the host or by GC.
    let b = u64::from(case.pages_per_block);
    assert_eq!(counts.erases, counts.collections);
    assert_eq!(
        (counts.host + counts.moved) as i64 - (b * counts.collections) as i64,
        before.free as i64 - counts.free as i64,
        "moved + host pages = pages of collected blocks + free pages used up; {case:?}"
    );
    assert!(before.free.abs_diff(counts.free) <= u64::from(case.channels) * b, "steady state; {case:?}");
    (case.predicted(&ssd), counts.write_amplification())
}

fn agrees(cases: impl IntoIterator<Item = Case>) {
    println!("| victim | write points | pages a block | blocks kept free | spare | theory | measured | difference |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    let mut wrong = Vec::new();
    for case in cases {
        let (theory, measured) = measure(&case);
        let difference = measured / theory - 1.0;
        println!(
            "| {} | {} | {} | {} | {:.2} | {theory:.3} | {measured:.3} | {:+.2} % |",
            case.victim.name(),
            if case.shared { "shared" } else { "separate" },
            case.pages_per_block,
            case.threshold,
            case.spare,
            100.0 * difference
        );
        if difference.abs() > case.victim.tolerance() {
            wrong.push(format!("theory {theory:.4}, measured {measured:.4}, seed {SEED}:\n{}", case.toml()));
        }
    }
    assert!(wrong.is_empty(), "write amplification is not what theory says:\n{}", wrong.join("\n"));
}

const SPARES: [f64; 5] = [0.07, 0.10, 0.15, 0.20, 0.28];
const SIZES: [u32; 4] = [32, 64, 128, 256];

/// Small blocks fill a plane quickly: two planes, each a separate domain, cost no more than one of larger blocks.
fn case(victim: Victim, spare: f64, pages_per_block: u32, shared: bool) -> Case {
    let channels = if pages_per_block <= 64 { 2 } else { 1 };
    Case { victim, spare, pages_per_block, shared, channels, threshold: 3.0 }
}

/// Every spare with two block sizes, each with another kind of write points; the sizes alternate.
fn cover(victim: Victim) -> Vec<Case> {
    let pairs = (0..SPARES.len()).flat_map(|s| [(s, s % SIZES.len()), (s, (s + 2) % SIZES.len())]);
    pairs.enumerate().map(|(i, (s, b))| case(victim, SPARES[s], SIZES[b], (s + i) % 2 == 0)).collect()
}

#[test]
fn greedy_agrees_with_harmonic_numbers() {
    let grid = SPARES.iter().enumerate().flat_map(|(s, spare)| {
        SIZES.iter().enumerate().map(move |(b, size)| case(Victim::Greedy, *spare, *size, (s + b) % 2 == 0))
    });
    agrees(grid);
}

#[test]
fn fifo_agrees_with_lambert_w() {
    agrees(cover(Victim::Fifo));
}

#[test]
fn the_best_of_two_agrees_with_mean_field_theory() {
    agrees(cover(Victim::Choices(2)));
}

#[test]
fn the_best_of_ten_agrees_with_mean_field_theory() {
    agrees(cover(Victim::Choices(10)));
}

#[test]
fn what_collections_keep_free_is_not_in_play() {
    let thresholds = [2.5, 3.3, 8.0, 20.0]
        .into_iter()
        .flat_map(|threshold| [true, false].map(|shared| Case { threshold, ..case(Victim::Greedy, 0.07, 64, shared) }));
    agrees(thresholds);
}

#[test]
fn random_victims_cost_one_over_spare() {
    agrees(cover(Victim::Random));
}

/// Random page writes, the same for every device that starts with a new stream.
fn next_page(rng: &mut rand_xoshiro::Xoshiro256PlusPlus, ssd: &Ssd) -> u32 {
    below(rng, u64::from(ssd.geometry().exported)) as u32
}

fn write(lpn: u32, arrival: u64, ssd: &Ssd) -> Request {
    let size = ssd.page_bytes();
    Request { arrival: Nanos(arrival), op: RequestOp::Write, offset: u64::from(lpn) * size, bytes: size }
}

#[test]
fn writes_that_never_meet_count_exactly_as_in_no_time() {
    for victim in [Victim::Greedy, Victim::Fifo, Victim::Choices(2), Victim::Choices(10), Victim::Random] {
        for (shared, path) in [(true, "external"), (true, "copyback"), (false, "external"), (false, "copyback")] {
            let case = Case { channels: 2, ..case(victim, 0.15, 32, shared) };
            let toml = case.toml().replace("schemes = {", &format!("schemes = {{ path = \"{path}\","));
            let mut timed = Ssd::new(&toml.parse().unwrap(), SEED, Check::Sampled).unwrap();
            let mut timeless = timed.clone();
            let mut rng = stream(SEED, "theory");
            // A collection of 32 pages takes less than 30 ms; random victims may need several collections. Each write finds an
            // idle device.
            for i in 0..60_000 {
                let lpn = next_page(&mut rng, &timed);
                timeless.write_now(Lpn(lpn));
                while !timed.accepts() {
                    timed.run_until_room();
                }
                timed.submit(write(lpn, i * 1_000_000_000, &timed));
            }
            timed.run();
            let (timed, timeless) = (Counts::of(&timed), Counts::of(&timeless));
            assert!(timed.collections > 1000, "{timed:?}");
            assert_eq!(timed, timeless, "seed {SEED}, 60,000 writes:\n{toml}");
        }
    }
}

#[test]
fn the_timed_device_under_load_agrees_too() {
    // The serial collector holds its die, so host writes cannot use up free pages during GC. With the queued collector they can:
    // fewer pages are kept free than the threshold, and the theory does not hold.
    println!("| victim | theory | in no time | timed, 8 writes outstanding | difference |");
    println!("|---|---:|---:|---:|---:|");
    for victim in [Victim::Greedy, Victim::Fifo, Victim::Choices(10)] {
        let case = case(victim, 0.10, 64, false);
        let toml = case.toml();
        let toml = toml.replace("mode = \"sequential\"", "mode = \"random\", overwrite = 5.0");
        let toml = toml.replace("device = {", "device = { queue_depth = 8,");
        let mut timed = Ssd::new(&toml.parse().unwrap(), SEED, Check::Sampled).unwrap();
        let mut timeless = timed.clone();
        timed.set_closed(true);
        let mut rng = stream(SEED, "theory");
        for _ in 0..5 * timed.geometry().exported {
            let lpn = next_page(&mut rng, &timed);
            timeless.write_now(Lpn(lpn));
            while !timed.accepts() {
                timed.run_until_room();
            }
            timed.submit(write(lpn, 0, &timed));
        }
        timed.run();
        let theory = case.predicted(&timed);
        let [in_no_time, timed] = [timeless, timed].map(|ssd| Counts::of(&ssd).write_amplification());
        let difference = timed / theory - 1.0;
        println!("| {} | {theory:.3} | {in_no_time:.3} | {timed:.3} | {:+.2} % |", victim.name(), 100.0 * difference);
        for expected in [theory, in_no_time] {
            assert!((timed / expected - 1.0).abs() < 0.01, "timed {timed}, expected {expected}, seed {SEED}:\n{toml}");
        }
    }
}

#[test]
fn the_formulas_give_the_published_values() {
    // Spare, then random, d = 2, d = 10, FIFO and greedy; 128 pages a block.
    let table = [
        (0.05, [20.000, 13.587, 9.816, 10.172, 9.460]),
        (0.07, [14.286, 9.810, 7.182, 7.318, 6.945]),
        (0.10, [10.000, 6.941, 5.148, 5.179, 4.992]),
        (0.15, [6.667, 4.688, 3.531, 3.519, 3.434]),
        (0.20, [5.000, 3.556, 2.714, 2.693, 2.645]),
        (0.28, [3.571, 2.585, 2.013, 1.992, 1.967]),
    ];
    for (spare, published) in table {
        let victims = [Victim::Random, Victim::Choices(2), Victim::Choices(10), Victim::Fifo, Victim::Greedy];
        for (victim, expected) in victims.into_iter().zip(published) {
            let ours = victim.formula(1.0 - spare, 128);
            assert!((ours - expected).abs() < 0.0011, "{victim:?} at spare {spare}: {ours} for {expected}");
        }
        let one = formulas::d_choices(1.0 - spare, 128, 1);
        assert!((one * spare - 1.0).abs() < 1e-9, "the best of one block is a random block: {one} at spare {spare}");
    }
}
