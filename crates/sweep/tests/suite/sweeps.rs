//! Studies: their points, errors with places, and what a store keeps however runs and files fail.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ssdlab_lab::error::{Class, Error};
use ssdlab_lab::results::sheet::{Frame, Place, Values};
use ssdlab_sim::Check;
use ssdlab_sweep::axis::Shown;
use ssdlab_sweep::clean::{self, Which};
use ssdlab_sweep::disk::{Disk, Step};
use ssdlab_sweep::execute::{self, Ended, Options, Retry, Watch, job, terms};
use ssdlab_sweep::job::{End, Keep, Terms};
use ssdlab_sweep::keep;
use ssdlab_sweep::key::Hashes;
use ssdlab_sweep::points::{Point, Points, Run};
use ssdlab_sweep::shards::{Shard, assign, units};
use ssdlab_sweep::status::Survey;
use ssdlab_sweep::store::{Failed, Failure, Store};
use ssdlab_sweep::study::Study;
use ssdlab_sweep::table::{Rows, Shape};
use ssdlab_sweep::task::Task;

/// The head of a study on 8 MiB, of a few thousand requests.
const HEAD: &str = r#"schema = "ssdlab.study/1"
name = "tiny"
[base.set]
geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, pages_per_block = 32 }
device = { over_provisioning = 0.4 }
precondition = { mode = "sequential" }
[input]
workload = "random-write"
limit = 300
"#;

fn study(rest: &str) -> Result<Study, Error> {
    Study::parse("study.toml", &format!("{HEAD}{rest}"), Path::new("."))
}

pub fn points(rest: &str) -> Points {
    let study = study(rest).unwrap_or_else(|error| panic!("{error}"));
    Points::of(study, &Hashes::default(), Check::Sampled).unwrap_or_else(|error| panic!("{error}"))
}

/// The values of an axis by point.
fn column(points: &Points, axis: usize) -> Vec<String> {
    points.points.iter().map(|point| point.items[axis].shown.text()).collect()
}

/// Message, line and text under the caret.
fn refused(rest: &str) -> (String, usize, String) {
    let error = study(rest).and_then(|study| Points::of(study, &Hashes::default(), Check::Sampled)).map(drop);
    let error = error.expect_err("it is refused");
    let spot = error.spot.clone().unwrap_or_else(|| panic!("{error} has no place"));
    assert_eq!(error.class(), Class::Usage, "{error}");
    (error.to_string(), spot.line(), spot.text[spot.span.clone()].to_string())
}

#[test]
fn points_are_in_grid_order() {
    let two = points(
        "[axes]\n\"schemes.victim\" = [\"greedy\", \"rga\"]\n\"gc.time\" = [\"real\", \"none\"]\n[repeat]\nseeds = 3\n",
    );
    assert_eq!(column(&two, 0), ["greedy", "greedy", "rga", "rga"], "the first axis is the slowest");
    assert_eq!(column(&two, 1), ["real", "none", "real", "none"]);
    let runs = two.runs();
    assert_eq!(
        runs.iter().map(|run| (run.point, run.seed)).take(4).collect::<Vec<_>>(),
        [(0, 1), (0, 2), (0, 3), (1, 1)]
    );
    // The counts of the contract: 24 runs, 21 without one point.
    let spare = "[axes]\n\"schemes.victim\" = [\"greedy\", \"rga\"]\n\"device.over_provisioning\" = { from = 0.37, to = 0.58, steps = 4 }\n[repeat]\nseeds = 3\n";
    assert_eq!(points(spare).runs().len(), 24);
    let less = format!(
        "{spare}[design]\nexclude = [{{ \"schemes.victim\" = \"d-choices\", \"device.over_provisioning\" = 0.37 }}]\n"
    );
    assert_eq!((points(&less).runs().len(), points(&less).study.excluded), (21, 1), "after aliases");
}

#[test]
fn axes_move_together_and_have_names() {
    let zipped = points(
        "[axes]\n\"geometry.channels\" = [1, 2]\n\"gc.time\" = [\"real\", \"none\"]\n\"geometry.chips_per_channel\" = [4, 2]\n[design]\nzip = [[\"geometry.channels\", \"geometry.chips_per_channel\"]]\n",
    );
    assert_eq!(column(&zipped, 0), ["1", "1", "2", "2"]);
    assert_eq!(column(&zipped, 2), ["4", "4", "2", "2"]);
    let named = points(
        "[axes]\nschemes = { label = \"scheme\", values = { serial = {}, pagc = { collector = \"queued\", victim = \"fifo\" } } }\n",
    );
    assert_eq!(
        (column(&named, 0), named.study.axes[0].label.as_str()),
        (vec!["serial".into(), "pagc".into()], "scheme")
    );
    let config = serde_json::to_value(&named.points[1].config).unwrap();
    assert_eq!(
        (
            config["schemes"]["collector"].to_string().contains("queued"),
            config["schemes"]["victim"].to_string().contains("fifo")
        ),
        (true, true)
    );
    // Axes that move together may have a value twice.
    let twice = points(
        "[axes]\n\"geometry.channels\" = [1, 2, 2]\n\"device.queue_depth\" = [8, 8, 9]\n[design]\nzip = [[\"geometry.channels\", \"device.queue_depth\"]]\n",
    );
    assert_eq!(
        (column(&twice, 0), column(&twice, 1)),
        (vec!["1".into(), "2".into(), "2".into()], vec!["8".into(), "8".into(), "9".into()])
    );
    let across = points(
        "[axes]\nvariant = { values = { a = {}, b = { \"gc.time\" = \"none\", \"device.queue_depth\" = 4 } } }\n",
    );
    assert_eq!(across.points[1].config.device.queue_depth, 4);
    // Other things than keys: preset is refused beside others here, so limit, workload and time.
    let others = points("[axes]\nlimit = [100, 200]\ntime_scale = [\"1/2\", 2]\ncount_only = [false, true]\n");
    assert_eq!((others.points.len(), others.inputs.len()), (8, 4));
    assert_eq!(others.inputs[0].identity, "workload:random-write limit=100 time_scale=1/2");
}

#[test]
fn designs_draw_their_points() {
    let axes = "[axes]\n\"device.over_provisioning\" = { from = 0.3, to = 0.5, steps = 2 }\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n";
    let lhs = points(&format!("{axes}[design]\nkind = \"lhs\"\npoints = 4\n"));
    let mut spare = column(&lhs, 0);
    spare.sort();
    assert_eq!(spare, ["0.325", "0.375", "0.425", "0.475"]);
    let mut victims = column(&lhs, 1);
    victims.sort();
    assert_eq!(victims, ["fifo", "fifo", "greedy", "greedy"]);
    let sobol = points(&format!("{axes}[design]\nkind = \"sobol\"\npoints = 3\n"));
    assert_eq!(column(&sobol, 0), ["0.4", "0.45", "0.35"]);
    // Rounding makes points equal: they are merged and counted.
    let few = points(
        "[axes]\n\"device.queue_depth\" = { from = 1, to = 3, steps = 3 }\n[design]\nkind = \"random\"\npoints = 40\n",
    );
    assert_eq!((few.points.len(), few.merged), (3, 37));
    assert_eq!(few.points.iter().map(|point| point.number).collect::<Vec<_>>(), [1, 2, 3]);
    let list = points(
        "[design]\nkind = \"list\"\nlist = [{ \"schemes.victim\" = \"greedy\", limit = 10 }, { \"schemes.victim\" = \"fifo\", limit = 20 }]\n",
    );
    assert_eq!(
        (column(&list, 0), column(&list, 1)),
        (vec!["10".into(), "20".into()], vec!["greedy".into(), "fifo".into()])
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.csv"), "schemes.victim,device.queue_depth\ngreedy,4\nfifo,8\n").unwrap();
    let text = format!("{HEAD}[design]\nkind = \"list\"\nlist = \"points.csv\"\n");
    let study = Study::parse("study.toml", &text, folder.path()).unwrap();
    let read = Points::of(study, &Hashes::default(), Check::Sampled).unwrap();
    assert_eq!(read.points.iter().map(|point| point.config.device.queue_depth).collect::<Vec<_>>(), [4, 8]);
}

#[test]
fn a_mistake_has_its_line_and_its_fix() {
    let lines = HEAD.lines().count();
    let check = |rest: &str, line: usize, under: &str, says: &str| {
        let (message, at, text) = refused(rest);
        assert!(message.contains(says), "{message}");
        assert_eq!((at, text.as_str()), (lines + line, under), "{message}");
    };
    check("[axis]\n", 1, "axis", "did you mean `axes`");
    check("[axes]\n\"schemes.victm\" = [1]\n", 2, "\"schemes.victm\"", "did you mean `schemes.victim`");
    check("[axes]\n\"schemes.victim\" = []\n", 2, "[]", "no values");
    check("[axes]\n\"schemes.victim\" = [\"rga\", \"d-choices\"]\n", 2, "\"d-choices\"", "given twice");
    check(
        "[axes]\n\"schemes.victim\" = [\"greedy\", \"gredy\"]\n",
        2,
        "[\"greedy\", \"gredy\"]",
        "did you mean `greedy`",
    );
    check("[axes]\n\"gc.time\" = [\"real\"]\n[axes.gc]\ntime = [\"none\"]\n", 2, "\"gc.time\"", "named twice");
    check("[axes]\n\"gc.time\" = \"real\"\n", 2, "\"real\"", "a list of values or a range");
    check("[axes]\n\"device.queue_depth\" = { from = 1, to = 8 }\n", 2, "\"device.queue_depth\"", "how many values");
    check("[axes]\n\"device.queue_depth\" = { from = 8, to = 1, steps = 2 }\n", 2, "1", "goes up");
    let two = "[axes]\n\"device.queue_depth\" = [1, 2]\n\"gc.time\" = [\"real\"]\n[design]\n";
    check(
        &format!("{two}zip = [[\"device.queue_depth\", \"gc.time\"]]\n"),
        5,
        "[\"device.queue_depth\", \"gc.time\"]",
        "2 and 1 values",
    );
    check(&format!("{two}zip = [[\"gc.scope\"]]\n"), 5, "\"gc.scope\"", "no axis is called");
    check(&format!("{two}exclude = [{{ \"gc.tim\" = \"real\" }}]\n"), 5, "\"gc.tim\"", "did you mean `gc.time`");
    check(&format!("{two}kind = \"lhs\"\n"), 4, "[design]", "how many points");
    check(
        "[repeat]\nseeds = 3\nuntil = { measure = \"x\", half_width = 0.1, most = 9 }\n",
        3,
        "until",
        "both repeat.seeds and repeat.until",
    );
    check("[repeat]\nseeds = 0\n", 2, "0", "how many seeds");
    check("[limits]\nwall = \"soon\"\n", 2, "\"soon\"", "not a duration");
    check("[baseline]\n\"gc.time\" = \"none\"\n", 2, "\"gc.time\"", "no axis is called");
    let (message, ..) = refused("[axes]\nworkload = [\"quickstart\"]\n");
    assert!(message.contains("more than one source of requests"), "{message}");
    // Parts of one trace are never run by themselves.
    let text = HEAD.replace("limit = 300", "parts = 4");
    let error = Study::parse("study.toml", &text, Path::new(".")).unwrap_err();
    assert!(error.to_string().contains("never cut in time"), "{error}");
}

/// A folder with two traces of other formats, and a study of them.
fn traced(traces: &str, rest: &str) -> (tempfile::TempDir, Result<Points, Error>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let line = |n: u64| format!("{},hm,{},Write,{},4096,1331\n", 128166372003061629 + n * 1000, n % 2, n % 64 * 4096);
    std::fs::write(folder.path().join("in/web.csv"), (0..40).map(line).collect::<String>()).unwrap();
    let line = |n: u64| format!("{} {} W 8\n", n * 10, n % 64 * 8);
    std::fs::write(folder.path().join("in/db.csv"), (0..40).map(line).collect::<String>()).unwrap();
    let text = HEAD.replace("workload = \"random-write\"\nlimit = 300\n", &format!("traces = {traces}\n"));
    let study = Study::parse("study.toml", &format!("{text}{rest}"), folder.path());
    let points = study.and_then(|study| Points::of(study, &Hashes::default(), Check::Sampled));
    (folder, points)
}

const DB: &str = "columns:time=0:us,offset=1:sectors,op=2,size=3:sectors,sep=space";

#[test]
fn each_trace_has_its_options_and_is_called_by_its_stem() {
    let entries = format!(
        r#"["in/web.csv", {{ file = "in/db.csv", format = "{DB}", time_scale = "1/2", limit = 30, lba_policy = "wrap" }}, {{ file = "in/web.csv", name = "disk 1", device = "hm_1" }}]"#
    );
    let (folder, points) = traced(&entries, "[baseline]\ntrace = \"web\"\n");
    let points = points.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(column(&points, 0), ["web", "db", "disk 1"]);
    let arguments: Vec<String> = points.inputs.iter().map(|input| input.requests.arguments().join(" ")).collect();
    let file = |name: &str| format!("--trace {}", folder.path().join(name).display());
    assert_eq!(arguments[0], file("in/web.csv"));
    assert_eq!(
        arguments[1],
        format!("{} --format {DB} --limit 30 --time-scale 1/2 --lba-policy wrap", file("in/db.csv"))
    );
    assert_eq!(arguments[2], format!("{} --device hm_1", file("in/web.csv")));
    // The results are those of the options.
    let store = create(&folder.path().join("store"));
    assert_eq!(sweep(&points, &store, &one_job()).status.done, 3);
    let rows = frame(&points, &store);
    assert_eq!(texts(&rows, "trace"), ["web", "db", "disk 1"]);
    // A pattern gives stems, too; traces of one stem keep their paths.
    let (_folder, points) = traced("\"in/web*\"", "");
    assert_eq!(column(&points.unwrap(), 0), ["web"]);
    std::fs::create_dir(folder.path().join("in/in")).unwrap();
    std::fs::copy(folder.path().join("in/web.csv"), folder.path().join("in/in/web.csv")).unwrap();
    let text = HEAD.replace("workload = \"random-write\"\nlimit = 300\n", "traces = \"in/**/web.csv\"\n");
    let study = Study::parse("study.toml", &text, folder.path()).unwrap();
    let names: Vec<String> = study.axes[0].items().iter().map(|item| item.shown.text()).collect();
    assert_eq!(names, ["in/in/web.csv", "in/web.csv"]);
    for (entries, says) in [
        (r#"[{ format = "msr" }]"#, "which file?"),
        (r#"[{ file = "in/web.csv", formt = "msr" }]"#, "did you mean `format`?"),
        (r#"[{ file = "in/web.csv", format = "mrs" }]"#, "did you mean msr?"),
        (r#"[{ file = "in/web.csv", lba_policy = "wrapped" }]"#, "lba_policy: "),
        (r#"["in/web.csv", "in/web.csv"]"#, "given twice"),
        (r#"["in/web.csv", { file = "in/web.csv", device = "hm_1" }]"#, "two traces are called `in/web.csv`"),
        (r#"[{ file = "in/web.csv", name = "x" }, { file = "in/db.csv", name = "x" }]"#, "two traces are called `x`"),
        ("7", "expected a pattern"),
        ("[]", "no values"),
    ] {
        let error = traced(entries, "").1.expect_err(entries);
        let said = format!("{error}\n{}", error.help.join("\n"));
        assert!(said.contains(says), "{entries}: {said}");
        assert!(
            error.spot.is_some_and(|spot| spot.line() == HEAD.lines().position(|line| line == "[input]").unwrap() + 2)
        );
    }
}

/// Follows a sweep and breaks a law in the runs of a point.
#[derive(Default)]
struct Crash {
    at: Option<u64>,
    begun: Mutex<Vec<String>>,
    stop_after: Option<usize>,
}

impl Watch for Crash {
    fn begins(&self, run: &Run, point: &Point) {
        let mut begun = self.begun.lock().unwrap();
        begun.push(run.key.clone());
        let _ = point;
    }

    fn at(&self, run: &Run, _tick: ssdlab_lab::drive::Tick) {
        assert!(self.at != Some(run.point as u64 + 1), "a law is broken");
    }

    fn go_on(&self) -> ControlFlow<()> {
        let begun = self.begun.lock().map_or(0, |begun| begun.len());
        if self.stop_after.is_some_and(|most| begun > most) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

pub fn one_job() -> Options {
    Options { jobs: Some(1), memory_limit: Some(1 << 30), ..Options::default() }
}

pub fn create(root: &Path) -> Store {
    Store::create(root, Disk::default()).unwrap()
}

pub fn sweep(points: &Points, store: &Store, options: &Options) -> Ended {
    execute::run(points, store, options, &()).unwrap_or_else(|error| panic!("{error}"))
}

/// Records by name: the files that are the same on every machine.
pub fn tree(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in std::fs::read_dir(store.root().join("runs")).into_iter().flatten() {
        for entry in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // A mark is of the process, which goes on here.
            if !name.ends_with(".perf.json") && !name.ends_with(".run") {
                files.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

fn frame(points: &Points, store: &Store) -> Frame {
    let rows = Rows::of(points, store).unwrap();
    rows.write(&Place::MEMORY, Shape { tidy: false, no_perf: true }).unwrap().parts().1.unwrap()
}

fn texts(frame: &Frame, name: &str) -> Vec<String> {
    let place = frame.columns.iter().position(|(column, _)| column == name).unwrap_or_else(|| panic!("{name}"));
    match &frame.batches[0].columns[place] {
        Values::Text(texts) => texts.clone(),
        Values::MaybeText(texts) => texts.iter().map(|text| text.clone().unwrap_or_default()).collect(),
        Values::Maybe(numbers, known) => {
            numbers.iter().zip(known).map(|(n, k)| if *k { n.to_string() } else { String::new() }).collect()
        }
        Values::Real(numbers, known) => {
            numbers.iter().zip(known).map(|(n, k)| if *k { n.to_string() } else { String::new() }).collect()
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// The study of acceptance 4: one point of each kind.
const KINDS: &str = r#"[axes]
kind = { values = { good = {}, rule = { "gc.reserve" = 30000 }, law = { "device.queue_depth" = 7 }, endless = { "precondition.mode" = "random", "precondition.overwrite" = 1000000.0 }, large = { "geometry.blocks_per_plane" = 500000, "precondition.mode" = "none" } } }
[limits]
wall = "300ms"
memory = "64MiB"
[input.x]
"#;

#[test]
fn each_way_to_fail_is_kept_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = KINDS.replace("[input.x]\n", "");
    // Enough requests for a tick, where the law breaks.
    let text = format!("{}{text}", HEAD.replace("limit = 300", "limit = 3000"));
    let study = Study::parse("study.toml", &text, Path::new(".")).unwrap();
    let points = Points::of(study, &Hashes::default(), Check::Sampled).unwrap();
    let store = create(&folder.path().join("store"));
    let watch = Crash { at: Some(3), ..Crash::default() };
    let ended = execute::run(&points, &store, &one_job(), &watch).unwrap();
    let survey = Survey::of(&points, Some(&store)).unwrap();
    let stands: Vec<&str> = survey.runs().iter().map(|run| survey.standing(run, &store).name()).collect();
    assert_eq!(stands, ["done", "refused", "failed", "timeout", "memory"]);
    assert_eq!(ended.exit_status(), 5, "{ended:?}");
    assert_eq!((ended.status.done, ended.status.refused, ended.status.failed, ended.status.left), (1, 1, 1, 2));
    let failure = |place: usize| store.failure(&points.run(place, 1).key).unwrap();
    assert!(failure(2).message.contains("a law is broken"), "{}", failure(2).message);
    assert!(failure(2).command.starts_with("ssdlab run --set geometry.channels=2"), "{}", failure(2).command);
    assert!(failure(2).command.contains("--workload random-write --limit 3000 --seed 1"), "{}", failure(2).command);
    // What failed is not tried again; what ran out of time or memory is, three times.
    for attempt in 2..=4u64 {
        let ended = sweep(&points, &store, &one_job());
        assert_eq!(failure(2).attempts, 1);
        assert_eq!((failure(3).attempts, failure(4).attempts), (attempt.min(3), attempt.min(3)));
        assert_eq!((ended.ran, ended.exit_status()), (if attempt < 4 { 2 } else { 0 }, 5));
        assert_eq!(ended.status.failed, if attempt < 3 { 1 } else { 3 });
    }
    // Asked for, it is tried again; without the defect it succeeds.
    let again = Options { retry: Retry::Failed, ..one_job() };
    let ended = sweep(&points, &store, &again);
    assert_eq!((ended.ran, ended.status.done, ended.status.failed, ended.exit_status()), (1, 2, 2, 1), "{ended:?}");
    let all = Options { retry: Retry::All, ..one_job() };
    assert_eq!((sweep(&points, &store, &all).ran, failure(3).attempts), (2, 1));
    let table = frame(&points, &store);
    assert_eq!(texts(&table, "status"), ["done", "refused", "done", "timeout", "memory"]);
    assert!(texts(&table, "rule")[1].starts_with("gc.reserve: "), "{:?}", texts(&table, "rule"));
    assert_eq!(texts(&table, "latency_ns.write.p99")[1], "");
}

const SIX: &str = "[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n[repeat]\nseeds = 3\n";

#[test]
fn shards_and_threads_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(SIX);
    let whole = create(&folder.path().join("whole"));
    assert_eq!(sweep(&points, &whole, &one_job()).exit_status(), 0);
    assert_eq!(tree(&whole).len(), 6);
    let parts = create(&folder.path().join("parts"));
    for index in [3, 1, 2, 2] {
        let options = Options { shard: Shard { index, of: 3 }, jobs: Some(2), ..Options::default() };
        assert_eq!(sweep(&points, &parts, &options).exit_status(), 0, "its own shard is done");
    }
    assert_eq!(tree(&whole), tree(&parts));
    let claimed = create(&folder.path().join("claimed"));
    let claims = Options { claim: true, ..one_job() };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| sweep(&points, &claimed, &claims));
        }
    });
    assert_eq!(tree(&whole), tree(&claimed));
    assert_eq!(std::fs::read_dir(claimed.root().join("claims")).unwrap().count(), 0);
    // A shard is what the study says, whatever the store has.
    let runs = points.runs();
    let mut all: Vec<usize> =
        assign(units(&points, &runs, 4), 4).into_iter().flatten().flat_map(|unit| unit.runs).collect();
    all.sort_unstable();
    assert_eq!(all, (0..runs.len()).collect::<Vec<_>>());
    // Tasks as texts give the same bytes too.
    let alone = create(&folder.path().join("alone"));
    for run in &runs {
        let job = execute::job(&points, run);
        let terms = Terms { check: Check::Off, wall_ns: None, memory_bytes: None, keep: Vec::new(), fillings: None };
        let text = serde_json::to_string(&Task::of(&job, &[], &terms)).unwrap();
        assert!(text.len() < 4096, "{}", text.len());
        let task: Task = serde_json::from_str(&text).unwrap();
        let end = task.perform(Some(&alone), &mut || ControlFlow::Continue(())).unwrap();
        let End::Record { record, .. } = end else { panic!("{end:?}") };
        assert_eq!(record.as_bytes(), whole.bytes(&run.key).unwrap());
        let other = Task { seed: 99, ..task };
        assert_eq!(other.perform(None, &mut || ControlFlow::Continue(())).unwrap_err().class(), Class::Usage);
    }
    assert_eq!(tree(&whole), tree(&alone));
}

#[test]
fn what_is_kept_is_not_run_again_and_a_broken_record_is() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(SIX);
    let store = create(&folder.path().join("store"));
    let stopped =
        execute::run(&points, &store, &one_job(), &Crash { stop_after: Some(2), ..Crash::default() }).unwrap();
    assert!(stopped.stopped && stopped.status.done >= 2 && stopped.status.left > 0, "{stopped:?}");
    assert_eq!(stopped.exit_status(), 130);
    let done = stopped.status.done;
    let ended = sweep(&points, &store, &one_job());
    assert_eq!((ended.ran, ended.status.done, ended.exit_status()), (6 - done, 6, 0));
    let whole = tree(&store);
    assert_eq!(sweep(&points, &store, &one_job()).ran, 0);
    // Cut short, of another key, and of another version.
    let path = |place: usize| {
        let key = points.runs()[place].key.clone();
        store.root().join("runs").join(&key[..2]).join(format!("{key}.json"))
    };
    let text = std::fs::read_to_string(path(0)).unwrap();
    std::fs::write(path(0), &text[..text.len() / 2]).unwrap();
    std::fs::write(path(1), &text).unwrap();
    let ended = sweep(&points, &store, &one_job());
    assert_eq!((ended.ran, ended.broken, store.broken()), (2, 2, 2));
    assert_eq!(tree(&store), whole);
}

#[test]
fn seeds_are_added_until_the_interval_is_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let until = |half: f64, most: u64| {
        points(&format!(
            "[axes]\n\"schemes.victim\" = [\"greedy\", \"random\"]\n[repeat]\nuntil = {{ measure = \"latency_ns.write.mean\", half_width = {half}, most = {most} }}\n"
        ))
    };
    let store = create(&folder.path().join("store"));
    let wide = until(10.0, 9);
    let ended = sweep(&wide, &store, &one_job());
    assert_eq!((ended.status.runs, ended.status.done, ended.exit_status()), (6, 6, 0), "three seeds are enough");
    let narrow = until(1e-9, 7);
    let ended = sweep(&narrow, &store, &one_job());
    assert_eq!((ended.ran, ended.status.done, ended.exit_status()), (8, 14, 0), "seven at most");
    assert_eq!(frame(&narrow, &store).batches[0].rows, 14);
    assert_eq!(frame(&wide, &store).batches[0].rows, 6);
}

#[test]
fn time_that_is_up_leaves_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(SIX);
    let store = create(&folder.path().join("store"));
    let none = Options { time_limit_ns: Some(1), ..one_job() };
    let ended = sweep(&points, &store, &none);
    assert_eq!((ended.ran, ended.late, ended.status.left, ended.exit_status()), (0, true, 6, 75));
    let enough = Options { time_limit_ns: Some(600_000_000_000), ..one_job() };
    assert_eq!(sweep(&points, &store, &enough).exit_status(), 0);
}

/// Points that are filled alike: three runs make a unit.
fn alike(limit: &str) -> Points {
    points(&format!("[axes]\n\"device.queue_depth\" = {limit}\n"))
}

/// A unit that is not expected to end in time does not begin, although each of its runs by itself is expected to.
#[test]
fn time_is_decided_by_unit() {
    let folder = tempfile::tempdir().unwrap();
    let points = alike("[1, 2, 3, 4, 5, 6, 7, 8]");
    let units = units(&points, &points.runs(), 1);
    assert_eq!(units.iter().map(|unit| unit.runs.len()).collect::<Vec<_>>(), [3, 3, 2]);
    let store = create(&folder.path().join("store"));
    // What the first unit takes; looking at the store alone takes longer than the rest.
    let short = Options { time_limit_ns: Some(units[0].cost_ns + 2_000), ..one_job() };
    let ended = sweep(&points, &store, &short);
    assert!(ended.late && ended.status.left >= 6 && ended.exit_status() == 75, "{ended:?}");
    assert!(units[..2].iter().flat_map(|unit| &unit.runs).all(|place| !store.has(&points.runs()[*place].key)));
}

/// The runs of a claimed unit share a filling, and their records are those of runs that do not.
#[test]
fn claimed_units_share_their_filling() {
    let folder = tempfile::tempdir().unwrap();
    let points = alike("{ from = 1, to = 280, steps = 280 }");
    let store = create(&folder.path().join("store"));
    let ended = sweep(&points, &store, &Options { claim: true, ..one_job() });
    assert_eq!((ended.ran, ended.exit_status()), (280, 0));
    let runs = points.runs();
    let filled = runs.iter().filter(|run| store.cost(&run.key).unwrap().filled_pages > 0).count();
    let units = units(&points, &runs, 64);
    assert!(units.len() < 280 && filled == units.len(), "{filled} fillings of {} units", units.len());
    let alone = job(&points, &runs[1]);
    let end = alone.perform(&terms(&points, &one_job()), None, None, 1, &mut || ControlFlow::Continue(())).unwrap();
    let End::Record { record, .. } = end else { panic!("{end:?}") };
    assert_eq!(store.bytes(&runs[1].key).unwrap(), record.into_bytes());
}

#[test]
fn rows_have_ratios_to_their_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(&format!("{SIX}[baseline]\n\"schemes.victim\" = \"greedy\"\n"));
    let store = create(&folder.path().join("store"));
    sweep(&points, &store, &one_job());
    let table = frame(&points, &store);
    let numbers = |name: &str| texts(&table, name).iter().map(|text| text.parse::<f64>().unwrap()).collect::<Vec<_>>();
    let (ratio, mean) = (numbers("ratio.latency_ns.write.mean"), numbers("latency_ns.write.mean"));
    assert_eq!(&ratio[..3], &[1.0; 3]);
    assert_eq!(ratio[3], mean[3] / mean[0]);
    assert_eq!(texts(&table, "schemes.victim")[3], "fifo");
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..8], ["study", "point", "key", "status", "rule", "seed", "schemes.victim", "simulated_ns"]);
    let place = |name: &str| names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name}"));
    let order = [
        "pages_written",
        "latency_ns.read.mean",
        "latency_ns.all.max",
        "waiting_ns.read.mean",
        "breakdown_ns.read.queue",
        "write_amplification",
        "flash.erases",
        "gc.collections",
        "gc.moved_pages",
        "utilisation.die",
        "wear.erases_max",
        "ratio.simulated_ns",
    ];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{names:?}");
}

/// Acceptance 3: every step of writing fails once. The error names the file, nothing half is seen, and the next run completes.
#[test]
fn a_store_survives_every_fault_of_the_disk() {
    let points = points("[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n");
    let clean = tempfile::tempdir().unwrap();
    let good = create(&clean.path().join("store"));
    sweep(&points, &good, &one_job());
    let (expected, mut faults) = (tree(&good), 0);
    for fail_at in 0..1000u64 {
        let folder = tempfile::tempdir().unwrap();
        let (root, steps) = (folder.path().join("store"), Arc::new(AtomicU64::new(0)));
        let (seen, hit) = (steps.clone(), Arc::new(Mutex::new(None)));
        let noted = hit.clone();
        let disk = Disk::failing(Arc::new(move |step: Step, path: &Path| {
            if seen.fetch_add(1, Ordering::Relaxed) == fail_at {
                *noted.lock().unwrap() = Some((step, path.to_path_buf()));
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        }));
        let done = Store::create(&root, disk).and_then(|store| execute::run(&points, &store, &one_job(), &()));
        let Some((step, path)) = hit.lock().unwrap().clone() else {
            assert!(done.is_ok(), "no step failed");
            break;
        };
        faults += 1;
        // A mark that can't be removed is found by the next run.
        if !(step == Step::Remove && path.extension().is_some_and(|ending| ending == "run")) {
            let error = done.err().unwrap_or_else(|| panic!("{step:?} of {} fails", path.display()));
            assert_eq!(error.class(), Class::File, "{error}");
            assert!(error.message.contains("no space left"), "{error}");
        }
        let store = create(&root);
        for name in tree(&store).keys().filter(|name| name.ends_with(".json") && !name.ends_with("fail.json")) {
            assert_eq!(tree(&store)[name], expected[name], "{step:?}: a record is whole or not there");
        }
        let ended = sweep(&points, &store, &one_job());
        assert_eq!((ended.exit_status(), ended.broken), (0, 0), "{step:?} of {}", path.display());
        assert_eq!(tree(&store), expected, "{step:?} of {}", path.display());
        assert_eq!(store.tidy(false).unwrap(), 0, "{step:?}: no temporary file is left");
    }
    assert!(faults > 25, "{faults} steps");
}

/// The same of a store that is in use: a broken record, a failure, a claim of a process that is gone, tables beside records, the
/// points of the study, and records that are no longer wanted.
#[test]
fn every_fault_of_a_store_in_use_is_survived() {
    let (points, old) =
        (points("[axes]\n\"schemes.victim\" = [\"greedy\", \"fifo\"]\n"), points("[repeat]\nseeds = [9]\n"));
    let options = Options { claim: true, keep: vec![Keep::Requests], ..one_job() };
    let runs = points.runs();
    let record = |store: &Store, key: &str| store.root().join("runs").join(&key[..2]).join(format!("{key}.json"));
    let in_use = |root: &Path| {
        let store = create(root);
        sweep(&old, &store, &one_job());
        let broken = record(&store, &runs[0].key);
        std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
        std::fs::write(broken, "{").unwrap();
        let (message, command) = ("too slow".into(), "ssdlab run".into());
        let failure = Failure { status: Failed::Timeout, exit_status: 75, message, command, attempts: 1, kills: 0 };
        store.fail(&runs[1].key, &failure).unwrap();
        for run in &runs {
            let claim = root.join("claims").join(&run.key);
            std::fs::create_dir_all(root.join("claims")).unwrap();
            let file = std::fs::File::create(claim).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
        }
    };
    let work = |root: &Path, disk: Disk| -> Result<(), Error> {
        let store = Store::create(root, disk)?;
        keep::keep(&points, &store, &Hashes::default())?;
        execute::run(&points, &store, &options, &())?;
        clean::clean(&store, &Which::NotIn(clean::keys(&points)), true).map(drop)
    };
    let whole = |root: &Path| {
        let store = create(root);
        let tables = runs.iter().map(|run| std::fs::read(store.folder(&run.key).join(Keep::Requests.file())).unwrap());
        (tree(&store), tables.collect::<Vec<_>>(), std::fs::read_dir(root.join("claims")).unwrap().count())
    };
    let clean = tempfile::tempdir().unwrap();
    in_use(&clean.path().join("store"));
    work(&clean.path().join("store"), Disk::default()).unwrap();
    let (expected, mut hits) = (whole(&clean.path().join("store")), Vec::new());
    assert_eq!((expected.0.len(), expected.2), (4, 0), "two records with their folders, and no claim");
    for fail_at in 0..1000u64 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        in_use(&root);
        let (steps, hit) = (AtomicU64::new(0), Arc::new(Mutex::new(None)));
        let noted = hit.clone();
        let disk = Disk::failing(Arc::new(move |step: Step, path: &Path| {
            if steps.fetch_add(1, Ordering::Relaxed) == fail_at {
                *noted.lock().unwrap() = Some((step, path.to_path_buf()));
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        }));
        let done = work(&root, disk);
        let Some((step, path)) = hit.lock().unwrap().clone() else {
            assert!(done.is_ok(), "no step failed");
            break;
        };
        // Marks and claims that can't be removed at the end of their work are found by the next run.
        let found_later =
            path.extension().is_some_and(|ending| ending == "run") || path.starts_with(root.join("claims"));
        if !(step == Step::Remove && found_later) {
            let error = done.err().unwrap_or_else(|| panic!("{step:?} of {} fails", path.display()));
            assert_eq!(error.class(), Class::File, "{error}");
        }
        // A claim of this process would be left alone for ten minutes.
        for claim in std::fs::read_dir(root.join("claims")).unwrap() {
            std::fs::remove_file(claim.unwrap().path()).unwrap();
        }
        work(&root, Disk::default()).unwrap_or_else(|error| panic!("{step:?} of {}: {error}", path.display()));
        assert!(whole(&root) == expected, "{step:?} of {}", path.display());
        assert_eq!(create(&root).tidy(false).unwrap(), 0, "{step:?}: no temporary file is left");
        hits.push(step);
    }
    use Step::{Create, Folder, Remove, Rename, Sync, SyncFolder, Write};
    for step in [Folder, Create, Write, Sync, Rename, SyncFolder, Remove] {
        assert!(hits.contains(&step), "{step:?} among {} steps", hits.len());
    }
}

/// A page of a store shows the runs of the study as it is now: keys change with inputs (and with the program's version), while the
/// file of the study does not.
#[test]
fn the_points_that_a_store_keeps_are_those_of_the_last_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "trace = \"trace.csv\"\nformat = \"columns:time=0:ns,op=1:'r'r'w'w,offset=2:bytes,size=3:bytes\"\n";
    let text = HEAD.replace("workload = \"random-write\"\nlimit = 300\n", trace);
    let points = |trace: &str| {
        std::fs::write(folder.path().join("trace.csv"), trace).unwrap();
        let study = Study::parse("study.toml", &text, folder.path()).unwrap_or_else(|error| panic!("{error}"));
        Points::of(study, &Hashes::default(), Check::Sampled).unwrap_or_else(|error| panic!("{error}"))
    };
    let store = create(&folder.path().join("store"));
    let kept = |points: &Points| {
        keep::keep(points, &store, &Hashes::default()).unwrap_or_else(|error| panic!("{error}"));
        ssdlab_report::sweep::Sweep::read(store.root()).unwrap_or_else(|error| panic!("{error}")).runs
    };
    let first = points("0,r,0,4096\n");
    sweep(&first, &store, &one_job());
    assert_eq!(kept(&first), [0, 1, 0, 0], "left, done, refused, failed");
    let written = |name: &str| std::fs::metadata(store.study("tiny").join(name)).unwrap().modified().unwrap();
    let table = if cfg!(feature = "parquet") { "points.parquet" } else { "points.csv" };
    let before = written(table);
    assert_eq!(kept(&first), [0, 1, 0, 0]);
    assert_eq!(written(table), before, "what is the same is left alone");
    assert_eq!(kept(&points("0,r,0,8192\n")), [1, 0, 0, 0], "the trace has changed");
}

#[test]
fn values_in_the_table_have_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let points = points("[axes]\n\"device.queue_depth\" = [1, 4]\n\"device.over_provisioning\" = [0.4, 0.5]\n");
    assert!(matches!(points.points[0].items[0].shown, Shown::Whole(1)));
    let store = create(&folder.path().join("store"));
    sweep(&points, &store, &one_job());
    let table = frame(&points, &store);
    assert_eq!(texts(&table, "device.queue_depth"), ["1", "1", "4", "4"]);
    assert_eq!(texts(&table, "device.over_provisioning"), ["0.4", "0.5", "0.4", "0.5"]);
    let tidy = Rows::of(&points, &store).unwrap().write(&Place::MEMORY, Shape { tidy: true, no_perf: true });
    let tidy = tidy.unwrap().parts().1.unwrap();
    assert_eq!(
        tidy.columns.iter().map(|(name, _)| name.as_str()).rev().take(2).collect::<Vec<_>>(),
        ["value", "measure"]
    );
    assert!(texts(&tidy, "measure").iter().filter(|name| *name == "write_amplification").count() == 4);
}
