//! `ssdlab life`, and runs until the end of a drive.

use serde_json::Value;

use crate::common::Bench;

/// A device that wears out in a moment.
const DRIVE: &str = "--workload random-write --set geometry.channels=2 --set geometry.chips_per_channel=1 --set geometry.dies_per_chip=1 \
     --set geometry.planes_per_die=1 --set geometry.blocks_per_plane=256 --set geometry.pages_per_block=16 --set device.over_provisioning=0.2 \
     --set life.endurance=400";

fn told(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_ends_with_the_life_of_the_drive() {
    let bench = Bench::new();
    let run = format!("run {DRIVE} --set life.mode=wear --count-only --quiet");
    let all = told(&bench.good(&format!("{run} --until end-of-life --json -")));
    let life = &all["life"];
    let (bytes, end) = (life["tbw_bytes"].as_u64().unwrap(), &life["end"]);
    assert_eq!(end["host_bytes"].as_u64(), Some(bytes));
    assert!(end["host_pages"].as_u64().unwrap() * 4096 >= bytes && life["spare_left"]["min"].as_u64() == Some(0));
    assert_eq!(all["bytes"]["written"].as_u64(), Some(bytes));
    // The text says the same, and a bound that is too low is the status 75.
    let text = bench.good(&format!("{run} --until end-of-life"));
    assert!(text.contains("read-only after") && text.contains("write amplification by tenth"), "{text}");
    assert_eq!(bench.run(&format!("{run} --until end-of-life --limit 1000")).status.code(), Some(75));
    let refused = bench.bad(&format!("run {DRIVE} --count-only --until end-of-life"), 2);
    assert!(refused.contains("blocks of this device do not wear out"), "{refused}");
}

#[test]
fn the_life_of_a_drive_is_found_with_its_error() {
    let bench = Bench::new();
    let text = bench.good(&format!("life {DRIVE} --quiet"));
    for part in [
        "K = 4: TBW",
        "K = 2: TBW",
        "the difference of K and K / 2",
        "over 3 years",
        "1:2: 1 plane",
        "the worst of its 2 planes",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without scaling and acceleration it is a run.
    let whole = bench.good(&format!("life {DRIVE} --scale 1:1 --accelerate 1 --quiet --json whole.json"));
    assert!(whole.contains("K = 1: TBW") && !whole.contains("K / 2"), "{whole}");
    let run = told(
        &bench.good(&format!("run {DRIVE} --set life.mode=wear --count-only --until end-of-life --quiet --json -")),
    );
    let own = told(&std::fs::read_to_string(bench.path().join("whole.json")).unwrap());
    assert_eq!(own["life"], run["life"]);
    // What it does not do.
    assert!(bench.bad(&format!("life {DRIVE} --accelerate 5"), 2).contains("life.accelerate"));
    assert!(bench.bad(&format!("life {DRIVE} --scale 1:3"), 2).contains("has no such part"));
    assert!(bench.bad(&format!("life {DRIVE} --scale 3"), 2).contains("expected 1:N"));
}

#[test]
fn variants_are_compared_by_their_lives() {
    let bench = Bench::new();
    let text = bench.good(&format!(
        "compare {DRIVE} --set life.mode=wear --count-only --until end-of-life --vary ftl.wear_levelling=none,dynamic --quiet"
    ));
    assert!(text.contains("TBW"), "{text}");
}

#[test]
fn windows_and_blocks_show_the_wear() {
    let bench = Bench::new();
    bench.good(&format!(
        "run {DRIVE} --set life.mode=wear --count-only --until end-of-life --quiet --series s.csv --blocks b.csv --window '20 drive writes'"
    ));
    let read = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    let series = read("s.csv");
    assert!(series.lines().next().unwrap().ends_with("retired,spare_left,wear_mean,wear_max"), "{series}");
    let column =
        |n: usize| series.lines().skip(1).map(move |line| line.rsplit(',').nth(n).unwrap().parse::<f64>().unwrap());
    assert!(column(3).is_sorted() && column(1).is_sorted() && column(3).last().unwrap() >= 6.0, "{series}");
    assert!(column(2).zip(column(3)).all(|(left, retired)| left + retired == 12.0));
    let blocks = read("b.csv");
    assert!(blocks.lines().next().unwrap().ends_with("state,limit"));
    let count = |state: &str| blocks.lines().filter(|line| line.contains(&format!(",{state},"))).count();
    assert_eq!((count("bad") + count("spare"), count("bad") as f64), (12, column(3).last().unwrap()));
}
