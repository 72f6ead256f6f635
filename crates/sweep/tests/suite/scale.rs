//! Stores of a hundred thousand records, and estimates against what runs then cost. Both take minutes and measure time, so they run
//! only where SSDLAB_SCALE is set: `SSDLAB_SCALE=1 cargo test --release -p ssdlab-lab --test suite scale:: -- --test-threads 1 --nocapture`.

use std::path::Path;
use std::time::Instant;

use serde_json::Value as Json;
use ssdlab_lab::perf::peak_rss;
use ssdlab_lab::results::sheet::Ended;
use ssdlab_sim::Check;
use ssdlab_sweep::disk::Disk;
use ssdlab_sweep::execute::{self, Options};
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::plan::Plan;
use ssdlab_sweep::points::Points;
use ssdlab_sweep::shards::Shard;
use ssdlab_sweep::status::Survey;
use ssdlab_sweep::store::Store;
use ssdlab_sweep::study::Study;
use ssdlab_sweep::table::{Rows, Shape};

fn wanted() -> bool {
    let wanted = std::env::var_os("SSDLAB_SCALE").is_some();
    if !wanted {
        eprintln!("not run: set SSDLAB_SCALE=1");
    }
    wanted
}

fn points(axes: &str, limit: u64) -> Points {
    let head = "schema = \"ssdlab.study/1\"\nname = \"scale\"\n[base.set]\ngeometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 64, pages_per_block = 32 }\ndevice = { over_provisioning = 0.3 }\nprecondition = { mode = \"random\" }\n";
    let text = format!("{head}[input]\nworkload = \"mixed-70-30\"\nlimit = {limit}\n{axes}");
    let study = Study::parse("study.toml", &text, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    Points::of(study, &Hashes::default(), Check::Sampled).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_hundred_thousand_records() {
    if !wanted() {
        return;
    }
    const AXES: &str = "[axes]\n\"device.queue_depth\" = { from = 1, to = 1000, steps = 1000 }\n[repeat]\nseeds = ";
    let folder = tempfile::tempdir().unwrap();
    let (root, options) = (folder.path().join("store"), Options { jobs: Some(1), ..Options::default() });
    let store = Store::create(&root, Disk::default()).unwrap();
    let one = points(&format!("{AXES}1").replace("to = 1000, steps = 1000", "to = 2, steps = 1"), 300);
    execute::run(&one, &store, &options, &()).unwrap();
    let key = one.run(0, 1).key;
    let mut record: Json = serde_json::from_slice(&store.bytes(&key).unwrap()).unwrap();
    let cost = serde_json::to_string(&store.cost(&key).unwrap()).unwrap();
    let all = points(&format!("{AXES}100"), 300);
    let runs = all.runs();
    assert_eq!(runs.len(), 100_000);
    for run in &runs {
        record["key"] = run.key.clone().into();
        record["seed"] = run.seed.into();
        record["config"] = serde_json::to_value(&all.points[run.point].config).unwrap();
        let folder = root.join("runs").join(&run.key[..2]);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{}.json", run.key)), serde_json::to_string_pretty(&record).unwrap())
            .unwrap();
        std::fs::write(folder.join(format!("{}.perf.json", run.key)), &cost).unwrap();
    }
    drop((all, runs));

    let from = Instant::now();
    let all = points(&format!("{AXES}100"), 300);
    let survey = Survey::of(&all, Some(&store)).unwrap();
    let own = survey.runs();
    let rates = survey.rates(&own, Some(&store), 1000);
    let plan = Plan::of(&all, &survey, &own, Some(&store), &rates);
    let plan_s = from.elapsed().as_secs_f64();
    assert_eq!((plan.done, plan.left), (100_000, 0));

    let from = Instant::now();
    let rows = Rows::of(&all, &store).unwrap();
    assert_eq!(rows.complete(), (100_000, 100_000));
    let table = rows.write(&folder.path().join("t.csv").into(), Shape::default());
    table.and_then(Ended::publish).unwrap();
    let (table_s, rss) = (from.elapsed().as_secs_f64(), peak_rss().unwrap_or(0));

    let text = String::from_utf8(store.bytes(&key).unwrap()).unwrap();
    let from = Instant::now();
    (0..300).for_each(|_| store.put(&key, &text, store.cost(&key).as_ref()).unwrap());
    let puts_a_second = 300.0 / from.elapsed().as_secs_f64();
    eprintln!("plan {plan_s:.1} s, table {table_s:.1} s, {} MiB, {puts_a_second:.0} records/s", rss >> 20);
    assert!(plan_s < 5.0 && table_s < 30.0 && rss < 1 << 30 && puts_a_second >= 100.0);
}

#[test]
fn estimates_are_right_after_a_twentieth() {
    if !wanted() {
        return;
    }
    let axes = "[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\nlimit = [4000, 20000]\n\"device.over_provisioning\" = { from = 0.25, to = 0.4, steps = 5 }\n[repeat]\nseeds = 4\n";
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("store"), Disk::default()).unwrap();
    let all = points(axes, 1);
    let first = Options { jobs: Some(1), shard: Shard { index: 1, of: 20 }, ..Options::default() };
    let early = execute::run(&all, &store, &first, &()).unwrap();
    assert_eq!(early.status.done, 4, "a twentieth of eighty runs");
    let survey = Survey::of(&all, Some(&store)).unwrap();
    let runs = survey.runs();
    let plan = Plan::of(&all, &survey, &runs, Some(&store), &survey.rates(&runs, Some(&store), 1000));
    let left: Vec<String> = runs.iter().filter(|run| !store.has(&run.key)).map(|run| run.key.clone()).collect();
    execute::run(&all, &store, &Options { jobs: Some(1), ..Options::default() }, &()).unwrap();
    let took: f64 = left.iter().map(|key| store.cost(key).unwrap().cpu_s).sum();
    eprintln!("expected {:.2} s, took {took:.2} s of CPU time", plan.cpu_s);
    assert!((plan.cpu_s / took - 1.0).abs() <= 0.3);
}
