//! Why requests are slow: the method against a naive one, each detector in a world of its own, tries against comparisons.

use std::collections::BTreeMap;
use std::io::Write;

use proptest::prelude::*;
use serde_json::Value;
use ssdlab_explain::at::At;
use ssdlab_explain::tries::Tries;
use ssdlab_explain::{Explained, Wish, explain, explain_rows};
use ssdlab_lab::error::{Class, Result};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::readers::histogram::{Quantile, tail};
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::Page;
use ssdlab_sim::Check;
use ssdlab_sim::blame::CAUSES;
use ssdlab_trace::LbaPolicy;

use crate::common::{run, tiny, writes};

fn sources(sets: &[&str]) -> Sources {
    Sources { sets: sets.iter().map(ToString::to_string).collect(), ..Sources::default() }
}

/// A recording: time in nanoseconds, operation, offset and bytes.
pub fn trace(rows: &[(u64, char, u64, u64)]) -> (tempfile::NamedTempFile, Requests) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for (time, op, offset, bytes) in rows {
        writeln!(file, "{time} {op} {offset} {bytes}").unwrap();
    }
    file.flush().unwrap();
    let mut requests = Requests::new(Origin::Trace(file.path().to_path_buf().into()));
    requests.reading.format = "columns:time=0:ns,op=1:'r'r'w'w't't,offset=2:bytes,size=3:bytes,sep=space".into();
    (file, requests)
}

fn explained(sources: &Sources, requests: &Requests, at: &str, tries: Tries) -> Result<Explained> {
    let settings = Settings::load(sources)?;
    let how = How { check: Check::Full, ..How::default() };
    let at = Some(at.parse().unwrap_or_else(|error| panic!("{error}")));
    let wish = Wish { at, tries, jobs: Some(2) };
    explain(&settings, requests, how, &wish, &mut (), &mut |_| Box::new(()))
}

fn json(explained: &Explained) -> Value {
    serde_json::from_str(&explained.json()).unwrap()
}

#[test]
fn the_example_of_the_manual_is_exact_to_the_digit() {
    let quickstart = Origin::Workload { name: "quickstart".into(), recordings: None };
    let settings = Settings::load(&sources(&["precondition.mode=random"])).unwrap();
    let wish = Wish { at: Some("read.p99_9".parse().unwrap()), ..Wish::default() };
    let done =
        explain(&settings, &Requests::new(quickstart), How::default(), &wish, &mut (), &mut |_| Box::new(())).unwrap();
    let told = json(&done);
    assert_eq!(told["schema"], "ssdlab.explain/1");
    assert_eq!(told["at"], "read.p99.9");
    let numbers = ["requests", "value_ns", "threshold_ns", "count", "total_ns", "middle_mean_ns"];
    let numbers = numbers.map(|name| told[name].as_u64().unwrap());
    assert_eq!(numbers, [279_656, 42_926_079, 42_896_082, 280, 15_023_526_954, 55_120]);
    let causes: BTreeMap<&str, u64> = told["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["cause"].as_str().unwrap(), one["total_ns"].as_u64().unwrap()))
        .collect();
    let want = [
        ("array", 14_000_000),
        ("bus", 1_433_600),
        ("bus_gc", 4_391),
        ("bus_host", 3_837),
        ("die_gc_other", 7_263_674_694),
        ("die_gc_own", 7_459_778_909),
        ("die_host", 4_887_816),
        ("die_late", 279_743_707),
    ];
    assert_eq!(causes.into_iter().collect::<Vec<_>>(), want);
    let tries: Vec<u64> =
        told["tries"].as_array().unwrap().iter().map(|one| one["value_ns"].as_u64().unwrap()).collect();
    assert_eq!(tries, [106_431, 623_103, 3_010_559, 33_849_343, 41_779_199]);
    // The text of the manual, up to the verdict.
    let manual = include_str!("../../../../docs/explain.md");
    let example = manual.split("--quiet\n").nth(1).unwrap().split("\nverdict").next().unwrap();
    assert!(done.text(5).starts_with(example), "{}", done.text(5));
    // The tail table of a run has the same requests, up to the rest of one bucket.
    let histograms = done.done.as_ref().unwrap().value::<Histograms>().unwrap();
    let band = tail(&histograms.latency[0], Quantile::new(999, 1000)).unwrap();
    assert_eq!((band.count, band.sum), (280, 15_023_526_954));
}

/// The same method, from rows in memory.
fn naive(rows: &[(u64, bool, u64, [u64; CAUSES.len()])], at: &str) -> (u64, Vec<u64>, i128, Vec<i128>) {
    let kind = |write: bool| match &at[..at.find('.').unwrap()] {
        "read" => !write,
        "write" => write,
        _ => true,
    };
    let parts: u128 = match &at[at.find('.').unwrap() + 1..] {
        "p50" => 5000,
        "p90" => 9000,
        "p99" => 9900,
        "max" => 10000,
        other => panic!("{other}"),
    };
    let mut of: Vec<_> = rows.iter().filter(|row| kind(row.1)).collect();
    of.sort_by_key(|row| (row.2, row.0));
    let rank = |parts: u128| ((of.len() as u128 * parts).div_ceil(10000)).max(1) as usize;
    let least = of[rank(parts) - 1].2;
    let tail: Vec<_> = of.iter().filter(|row| row.2 >= least).collect();
    let middle = &of[rank(4000) - 1..rank(6000)];
    let excess = (0..CAUSES.len())
        .map(|cause| {
            let own: i128 = tail.iter().map(|row| i128::from(row.3[cause])).sum();
            let mean: i128 = middle.iter().map(|row| i128::from(row.3[cause])).sum();
            own * middle.len() as i128 - mean * tail.len() as i128
        })
        .collect();
    let mut slow: Vec<_> = tail.iter().map(|row| (std::cmp::Reverse(row.2), row.0)).collect();
    slow.sort();
    (least, slow.iter().take(10).map(|(_, number)| *number).collect(), middle.len() as i128, excess)
}

fn rows_of(sources: &Sources, requests: &Requests) -> Vec<(u64, bool, u64, [u64; CAUSES.len()])> {
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("rows.csv");
    let outputs = Outputs::default().with(RequestRows(path.clone().into()));
    let mut done = run(sources, How::default()).open(requests).unwrap().simulate(&outputs, &mut ()).unwrap();
    done.publish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |i: usize| cells[i].parse::<u64>().unwrap();
            (number(0), cells[2] == "write", number(7), std::array::from_fn(|i| number(8 + i)))
        })
        .collect()
}

fn asks() -> impl Strategy<Value = Vec<(u64, char, u64, u64)>> {
    let one = (0u64..60_000, prop::sample::select(vec!['r', 'w', 'w']), 0u64..512, 1u64..4);
    prop::collection::vec(one, 5..150).prop_map(|all| {
        let mut now = 0;
        all.into_iter()
            .map(|(gap, op, at, sectors)| {
                now += gap * gap / 3000;
                (now, op, at * 4096, sectors * 2048)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(24), failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is left over: excesses sum to the tail's total less the middle's. A naive method finds the same.
    #[test]
    fn the_method_is_the_naive_one_and_excesses_leave_nothing_over(asks in asks(), at in prop::sample::select(vec!["all.p50", "all.p99", "write.p90", "read.max"])) {
        let (_file, requests) = trace(&asks);
        let wanted = |op: char| asks.iter().any(|ask| ask.1 == op);
        prop_assume!(wanted('r') && wanted('w'));
        let sources = tiny(&[]);
        let rows = rows_of(&sources, &requests);
        let (least, slowest, parts, excess) = naive(&rows, at);
        let found = explained(&sources, &requests, at, Tries::None).unwrap().findings;
        prop_assert_eq!(found.threshold, Some(least));
        prop_assert_eq!(found.slowest.iter().map(|one| one.request).collect::<Vec<_>>(), slowest);
        prop_assert_eq!(i128::from(found.middle.count), parts);
        let half_up = |exact: i128| (2 * exact + parts).div_euclid(2 * parts);
        let mut total = 0;
        for one in &found.causes {
            // Causes of optional features are all 0 on this device.
            let exact = excess.get(one.cause.place()).copied().unwrap_or(0);
            total += exact;
            prop_assert_eq!(found.excess_ns(one), half_up(exact));
        }
        let whole = found.tail.total as i128 * parts - found.middle.total as i128 * i128::from(found.tail.count);
        prop_assert_eq!(total, whole);
        prop_assert_eq!(found.whole_excess_ns(), half_up(whole));
        let shares: f64 = found.causes.iter().filter_map(|one| found.share(one)).sum();
        prop_assert!(whole <= 0 || (shares - 1.0).abs() < 1e-9);
    }
}

/// Patterns that requests show, by name.
fn shown(explained: &Explained) -> Vec<(&str, u64)> {
    let patterns = explained.findings.patterns.iter();
    patterns.filter_map(|one| Some((one.name.as_str(), one.count.filter(|count| *count > 0)?))).collect()
}

const PAGE: u64 = 4096;

/// A device of so many dies on each of some channels, and what it is beside.
fn device(channels: u32, chips: u32, planes: u32, more: &[&str]) -> Sources {
    let shape = [
        format!("geometry.channels={channels}"),
        format!("geometry.chips_per_channel={chips}"),
        "geometry.dies_per_chip=1".into(),
        format!("geometry.planes_per_die={planes}"),
        "geometry.blocks_per_plane=32".into(),
        "device.queue_depth=4096".into(),
    ];
    let sets = shape.into_iter().chain(more.iter().map(ToString::to_string)).collect();
    Sources { sets, ..Sources::default() }
}

/// One die, full: a write of page 0 makes plane 0 due, one of page 1 plane 1.
fn full(more: &[&str]) -> Sources {
    let fixed = ["precondition.mode=aged", "precondition.valid=0.85", "precondition.invalid=0.05"];
    let all: Vec<&str> = fixed.into_iter().chain(["gc.threshold=205 pages"]).chain(more.iter().copied()).collect();
    device(1, 1, 2, &all)
}

/// The only pattern of the last request is this one.
fn only(name: &str, sources: &Sources, rows: &[(u64, char, u64, u64)], at: &str) -> Explained {
    let (_file, requests) = trace(rows);
    let done = explained(sources, &requests, at, Tries::None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let shows = shown(&done);
    let found = &done.findings;
    assert_eq!(shows, [(name, found.tail.count)], "{}", done.text(9));
    assert!(done.text(5).contains(name), "{}", done.text(5));
    done
}

#[test]
fn collections_in_a_row_and_single_ones() {
    let (own, other) = ((0, 'w', 0, PAGE), (0, 'w', PAGE, PAGE));
    let read = (1_000, 'r', 2 * PAGE, PAGE);
    let two = only("two-collections", &full(&[]), &[own, other, read], "request:2");
    assert!(two.text(5).contains("two collections in a row"), "{}", two.text(5));
    only("one-collection", &full(&[]), &[own, read], "request:1");
    let one = only("one-collection", &full(&[]), &[other, read], "request:1");
    assert!(one.text(5).contains("the other plane's GC: one collection"), "{}", one.text(5));
    // A die with four planes has two of them collected.
    let fixed =
        ["precondition.mode=aged", "precondition.valid=0.85", "precondition.invalid=0.05", "gc.threshold=205 pages"];
    let four =
        only("two-collections", &device(1, 1, 4, &fixed), &[own, other, (1_000, 'r', 4 * PAGE, PAGE)], "request:2");
    assert!(four.text(5).contains("two-collections (two planes of the die, back to back)"), "{}", four.text(5));
    // Ten nanoseconds of GC in a long wait are no reason for it.
    let ends = two.known.as_ref().unwrap().collections[0][0].end;
    let mut rows = vec![own];
    rows.extend((0..40).map(|i| (ends - 10, 'r', 2 * i * PAGE, PAGE)));
    let (_file, requests) = trace(&rows);
    let done = explained(&full(&[]), &requests, "request:40", Tries::None).unwrap();
    assert!(json(&done)["slowest"][0]["causes"]["die_gc_own"].as_u64().is_some_and(|ns| ns <= 10), "{}", done.text(9));
    assert!(!shown(&done).iter().any(|one| one.0 == "one-collection"), "{}", done.text(9));
}

#[test]
fn requests_that_a_collection_has_delayed() {
    // Reads come while the die is collected; the last one comes when that is over, and waits for them.
    let mut rows = vec![(0, 'w', 0, PAGE)];
    rows.extend((0..80).map(|i| (700_000 + i * 600_000, 'r', 2 * PAGE, PAGE)));
    let (_file, requests) = trace(&rows);
    let first = explained(&full(&[]), &requests, "request:1", Tries::None).unwrap();
    let ends = first.known.as_ref().unwrap().collections[0][0].end;
    rows.retain(|row| row.0 < ends);
    rows.push((ends + 1, 'r', 2 * PAGE, PAGE));
    only("late", &full(&[]), &rows, &format!("request:{}", rows.len() - 1));
}

#[test]
fn bursts_and_hot_dies() {
    let eight = device(8, 1, 1, &[]);
    let mut rows: Vec<_> = (0..20).map(|i| (i * 50_000_000, 'r', i % 8 * PAGE, PAGE)).collect();
    rows.extend((0..8).map(|i| (1_000_000_000, 'r', i * PAGE, PAGE)));
    only("burst", &eight, &rows, "request:27");
    // Calm reads of one die out of eight.
    let rows: Vec<_> = (0..10).map(|i| (i * 50_000_000, 'r', 0, PAGE)).collect();
    only("hot-die", &eight, &rows, "time:0ns..1s");
    // Spread over all dies they are none.
    let rows: Vec<_> = (0..16).map(|i| (i * 50_000_000, 'r', i * PAGE, PAGE)).collect();
    let (_file, requests) = trace(&rows);
    assert_eq!(shown(&explained(&eight, &requests, "time:0ns..1s", Tries::None).unwrap()), []);
    // Two are an accident. A span of time ends before its end.
    let rows: Vec<_> = (0..3).map(|i| (i * 50_000_000, 'r', 0, PAGE)).collect();
    let (_file, requests) = trace(&rows);
    let two = explained(&eight, &requests, "time:0ns..100ms", Tries::None).unwrap();
    assert_eq!((shown(&two), two.findings.tail.count), (vec![], 2));
}

/// Arrivals that are milliseconds apart are a burst where the rest of the run is slower still, and only those of the last 10 ms count.
#[test]
fn a_burst_may_have_gaps_of_milliseconds() {
    let eight = device(8, 1, 1, &[]);
    let calm = (0..40).map(|i| (i * 50_000_000, 'r', i % 8 * PAGE, PAGE));
    // 8 reads, 1.5 ms apart, end with the tail's: six of them came in its last 10 ms. The mean of 10 ms is 48 / 2 s x 10 ms, 0.24.
    let burst = |gap: u64| (0..8).map(move |i| (2_000_000_000 + i * gap, 'r', i * PAGE, PAGE));
    let rows: Vec<_> = calm.clone().chain(burst(1_500_000)).collect();
    only("burst", &eight, &rows, "request:47");
    // 12 ms apart, none of them is recent.
    let rows: Vec<_> = calm.chain(burst(12_000_000)).collect();
    let (_file, requests) = trace(&rows);
    assert_eq!(shown(&explained(&eight, &requests, "request:47", Tries::None).unwrap()), []);
}

#[test]
fn waits_for_slots_pages_programs_and_channels() {
    let (first, second) = ((0, 'r', 0, PAGE), (0, 'r', PAGE, PAGE));
    only("queue-full", &device(2, 1, 1, &["device.queue_depth=1"]), &[first, second], "request:1");
    only("bus", &device(1, 2, 1, &[]), &[first, second], "request:1");
    only("behind-programs", &device(1, 1, 1, &[]), &[(0, 'w', 0, PAGE), (300_000, 'r', PAGE, PAGE)], "request:1");
    // GC begins only when no page is left.
    let rows: Vec<_> = (0..2100).map(|i| (i * 700_000, 'w', i % 8 * PAGE, PAGE)).collect();
    let late = device(1, 1, 1, &["gc.threshold=1 pages", "device.over_provisioning=0.5", "ftl.write_points=shared"]);
    let (_file, requests) = trace(&rows);
    let slowest = explained(&late, &requests, "write.max", Tries::None).unwrap().findings.slowest[0].request;
    only("out-of-space", &late, &rows, &format!("request:{slowest}"));
}

#[test]
fn writes_that_read_first() {
    let rows = [(0, 'w', 0, PAGE), (10_000_000, 'w', 0, 512)];
    only("partial-write", &device(1, 1, 1, &[]), &rows, "request:1");
    // Whole pages, and devices that do not merge, show nothing.
    for (rows, more) in [([(0, 'w', 0, PAGE); 2], None), (rows, Some("device.partial_write=whole-page"))] {
        let rows = [rows[0], (10_000_000, rows[1].1, rows[1].2, rows[1].3)];
        let (_file, requests) = trace(&rows);
        let sources = device(1, 1, 1, more.as_slice());
        assert_eq!(shown(&explained(&sources, &requests, "request:1", Tries::None).unwrap()), []);
    }
    let parity = device(4, 1, 1, &["raid.layout=traditional", "raid.group=4"]);
    let rows = [(0, 'w', 0, 12 * PAGE), (50_000_000, 'w', 0, PAGE)];
    only("parity", &parity, &rows, "request:1");
    // Programs of several lengths, and early acknowledgements, hide no read; blocks that are slow by nature show none.
    let partial = [(0, 'w', 0, PAGE), (10_000_000, 'w', 0, 512)];
    let types = "timing.program=[\"300us\", \"900us\", \"1500us\"]";
    for more in ["device.write_ack=after_transfer", types, "timing.variation={ block = 0.2 }"] {
        only("partial-write", &device(1, 1, 1, &[more]), &partial, "request:1");
        let group = |more: &str| device(4, 1, 1, &["raid.layout=traditional", "raid.group=4", more]);
        only("parity", &group(more), &rows, "request:1");
        let first = [(0, 'w', 0, 512), (50_000_000, 'w', 12 * PAGE, 12 * PAGE)];
        let (_file, requests) = trace(&first);
        for (sources, at) in [(device(1, 1, 1, &[more]), "request:0"), (group(more), "request:1")] {
            let shows = shown(&explained(&sources, &requests, at, Tries::None).unwrap())
                .iter()
                .any(|one| one.0.starts_with("par"));
            assert!(!shows, "{more} {at}");
        }
    }
    only(
        "parity",
        &device(4, 1, 1, &["raid.layout=traditional", "raid.group=4", "raid.write_mode=rcw"]),
        &rows,
        "request:1",
    );
}

#[test]
fn a_full_cache_and_other_tenants() {
    let rows = [(0, 'w', 0, PAGE), (0, 'w', PAGE, PAGE)];
    let cached = only("cache-full", &device(1, 1, 1, &["cache.size=4KiB", "cache.time=1us"]), &rows, "request:1");
    assert_eq!(json(&cached)["causes"][0]["cause"], "cache");
    assert_eq!(json(&cached)["slowest"][0]["causes"]["cache"], 605_120 + 1_000);
    // The cache of SLC has eight pages a block: the ninth page needs a fold.
    let slc = "slc={ mode = \"static\", bits = 8, blocks = 1, full = \"fold\" }";
    let rows: Vec<_> = (0..9).map(|page| (0, 'w', page * PAGE, PAGE)).collect();
    let folded = only(
        "folding",
        &device(1, 1, 1, &[slc, "device.queue_depth=1", "geometry.pages_per_block=64", "device.over_provisioning=0.3"]),
        &rows,
        "request:8",
    );
    assert_eq!(json(&folded)["causes"][0]["cause"], "slc");
    // Two queues and one slot: the second request waits while the other queue has it.
    let queues = "nvme={ arbitration = \"rr\", queues = [{ name = \"a\", match = { op = \"write\" } }, { name = \"b\", match = \"rest\" }] }";
    let rows = [(0, 'w', 0, PAGE), (0, 'r', PAGE, PAGE)];
    only("tenant", &device(1, 1, 1, &[queues, "device.queue_depth=1"]), &rows, "request:1");
    // With more slots it waits at the die, for a program of tenant a.
    let (_file, requests) = trace(&rows);
    let done = explained(&device(1, 1, 1, &[queues]), &requests, "request:1", Tries::None).unwrap();
    assert_eq!(shown(&done), [("behind-programs", 1), ("tenant:a", 1)], "{}", done.text(9));
    // Devices without them have no such patterns.
    let done = explained(&device(1, 1, 1, &[]), &requests, "request:1", Tries::None).unwrap();
    let names: Vec<&str> = done.findings.patterns.iter().map(|pattern| pattern.name.as_str()).collect();
    assert!(
        names.contains(&"bus")
            && !names.contains(&"tenant")
            && !names.contains(&"cache-full")
            && !names.contains(&"folding"),
        "{names:?}"
    );
}

#[test]
fn an_overloaded_device_makes_everything_else_moot() {
    let rows: Vec<_> = (0..200).map(|i| (i * 30_000, 'r', 0, PAGE)).collect();
    let done = only("overload", &device(1, 1, 1, &[]), &rows, "read.p99");
    assert!(done.text(5).starts_with("overload"), "{}", done.text(5));
    assert!(done.verdict.contains("1.84 times what its dies can serve"), "{}", done.verdict);
    // 55,120 ns each is as much as it can serve.
    let rows: Vec<_> = (0..200).map(|i| (i * 56_000, 'r', 0, PAGE)).collect();
    let (_file, requests) = trace(&rows);
    let done = explained(&device(1, 1, 1, &[]), &requests, "read.p99", Tries::None).unwrap();
    assert!(!shown(&done).iter().any(|one| one.0 == "overload"));
}

#[test]
fn tries_are_runs_of_their_own_whatever_is_measured() {
    let requests = Requests {
        limit: Some(3000),
        ..Requests::new(Origin::Workload { name: "mixed-70-30".into(), recordings: None })
    };
    let sets = ["schemes.victim=fifo", "gc.time=none", "device.over_provisioning=0.5"];
    let given = Tries::Given(sets.iter().map(ToString::to_string).collect());
    let base = tiny(&[]);
    for at in ["read.p99.9", "write.max", "request:1234", "time:1ms..50ms"] {
        let done = explained(&base, &requests, at, given.clone()).unwrap();
        assert_eq!(done.tried.len(), 3, "{:?}", done.refused);
        let values: Vec<_> = done.tried.iter().map(|one| one.value).collect();
        assert!(values.is_sorted(), "{values:?}");
        for one in &done.tried {
            let mut with = base.clone();
            with.sets.push(one.set.clone());
            let own = explained(&with, &requests, at, Tries::None).unwrap();
            assert_eq!(one.value, own.findings.value, "{at} {}", one.set);
            let summary = &own.done.as_ref().unwrap().outcome.summary;
            assert_eq!(one.write_amplification, summary.write_amplification);
            if let Some(value) = at.parse::<At>().unwrap().value(summary) {
                assert_eq!(one.value, Some(value), "a summary says the same");
            }
        }
        assert!(done.verdict.matches(". ").count() <= 2, "{}", done.verdict);
    }
    // What a rule refuses is named.
    let refused = Tries::Given(vec!["device.over_provisioning=0.999".into()]);
    let done = explained(&base, &requests, "read.p99", refused).unwrap();
    assert!(done.tried.is_empty() && done.refused.len() == 1);
    assert!(done.text(5).contains("refused"), "{}", done.text(5));
    // What can't be read is an error.
    let wrong = Tries::Given(vec!["gc.tme=none".into()]);
    assert!(explained(&base, &requests, "read.p99", wrong).err().unwrap().message.contains("gc.tme"));
}

/// Where GC makes requests slow, placement handles are tried: a persistent one for each name of what is written, or another isolation.
#[test]
fn handles_are_tried_where_names_or_handles_are() {
    let geometry = "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, \
                    blocks_per_plane = 64, pages_per_block = 16 }";
    let device = |more: &[&str]| {
        let sets = [geometry, "device.over_provisioning=0.25", "precondition.mode=random"];
        sources(&[&sets, more].concat())
    };
    let text = |names: [&str; 3]| {
        let stream = |name: &str, keys: &str| format!("[[stream]]\nname = \"{name}\"\n{keys}\n");
        let [log, data, scan] = names;
        Requests::new(Origin::Spec(format!(
            "requests = 4000\narrivals = \"closed\"\n{}{}{}",
            stream(log, "write = 1.0\nrange = 0.1\npattern = \"sequential\""),
            stream(data, "write = 0.5\nrange = [0.1, 1.0]"),
            stream(scan, "read = 1.0"),
        )))
    };
    let first = |sources: &Sources, requests: &Requests| {
        let done = explained(sources, requests, "write.p99", Tries::Auto).unwrap();
        let own: Vec<_> = done.tried.iter().filter(|one| one.set.starts_with("fdp")).cloned().collect();
        assert!(own.len() <= 1 && done.tried.len() >= 3 && done.refused.is_empty(), "{:?}", done.refused);
        own.into_iter().next()
    };
    let assign = "assign = { stream = { log = 0, data-1 = 1 } }";
    let named = text(["log", "data-1", ""]);
    let tried = first(&device(&[]), &named).unwrap();
    assert_eq!(tried.set, format!("fdp={{ handles = 2, isolation = \"persistent\", {assign} }}"));
    // It is a run of its own.
    let own = explained(&device(&[&tried.set]), &named, "write.p99", Tries::None).unwrap();
    assert_eq!(tried.value, own.findings.value);
    assert!(own.done.unwrap().outcome.summary.fdp.is_some());
    // With handles their other isolation is tried.
    let on = ["fdp.handles=2".to_string(), format!("fdp.{}", assign.replacen(" = ", "=", 1))];
    let on: Vec<&str> = on.iter().map(String::as_str).collect();
    assert_eq!(first(&device(&on), &named).unwrap().set, "fdp.isolation=persistent");
    let persistent = [&on[..], &["fdp.isolation=persistent"]].concat();
    assert_eq!(first(&device(&persistent), &named).unwrap().set, "fdp.isolation=initial");
    // Without names, or with one, there is nothing to tell apart.
    for names in [["", "", ""], ["log", "", "scan"], ["log", "log", "scan"], ["log", "a b", "scan"]] {
        assert!(first(&device(&[]), &text(names)).is_none(), "{names:?}");
    }
}

#[test]
fn changes_whose_runs_cannot_be_made_are_refused() {
    let base = device(1, 1, 1, &[]);
    let (_file, requests) = trace(&[(0, 'w', 0, PAGE)]);
    let bytes = explained(&base, &requests, "write.max", Tries::None).unwrap().done.unwrap().outcome.capacity_bytes;
    // The last page of the device, which a smaller one does not have.
    let (_file, mut requests) = trace(&[(0, 'w', 0, PAGE), (1_000_000, 'r', bytes - PAGE, PAGE)]);
    let sets = ["device.over_provisioning=0.15", "device.unwritten_read=error", "timing.read=60us"];
    let given = Tries::Given(sets.iter().map(ToString::to_string).collect());
    for policy in [LbaPolicy::Error, LbaPolicy::Wrap, LbaPolicy::Clip] {
        requests.lba_policy = policy;
        for at in ["read.max", "request:1"] {
            let done = explained(&base, &requests, at, given.clone()).unwrap();
            let tried: Vec<&str> = done.tried.iter().map(|one| one.set.as_str()).collect();
            assert_eq!(tried, [sets[2]], "{:?}", done.refused);
            assert_eq!(done.refused.iter().map(|one| one.set.as_str()).collect::<Vec<_>>(), sets[..2]);
            let reason = &done.refused[0].rule;
            let expected =
                if policy == LbaPolicy::Error { "past the device (T018)" } else { "it serves other requests" };
            assert!(reason.contains(expected) && !reason.contains('\n'), "{reason}");
            assert!(done.text(5).contains(reason) && json(&done)["refused"][0]["rule"] == reason.as_str());
        }
    }
}

#[test]
fn changes_are_read_as_they_are_written() {
    let parse = |arguments: &[&str]| Tries::parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(parse(&[]).unwrap(), Tries::Auto);
    assert_eq!(parse(&["none"]).unwrap(), Tries::None);
    let given = ["a.b=1", "timing.read=[\"1us\",\"2us\"]", "c.d=x"].map(String::from).to_vec();
    assert_eq!(parse(&["a.b=1,timing.read=[\"1us\",\"2us\"]", "c.d=x,a.b=1"]).unwrap(), Tries::Given(given));
    for bad in [&["auto", "a.b=1"][..], &["a.b"], &["=1"], &["a.b="], &["a.b=1,"]] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn rows_of_a_finished_run_say_what_the_run_says_but_for_what_they_lack() {
    let directory = tempfile::tempdir().unwrap();
    let (sources, requests) = (tiny(&[]), writes(4000));
    let whole = explained(&sources, &requests, "write.p99", Tries::None).unwrap();
    let names: &[&str] = if cfg!(feature = "parquet") { &["rows.csv", "rows.parquet"] } else { &["rows.csv"] };
    for name in names {
        let path = directory.path().join(name);
        let outputs = Outputs::default().with(RequestRows(path.clone().into()));
        run(&sources, How::default()).open(&requests).unwrap().simulate(&outputs, &mut ()).unwrap().publish().unwrap();
        let rows = explain_rows(&path, Some("write.p99".parse().unwrap())).unwrap();
        let (one, other) = (&rows.findings, &whole.findings);
        assert_eq!(
            (one.value, one.threshold, one.tail, one.middle),
            (other.value, other.threshold, other.tail, other.middle)
        );
        assert_eq!(one.causes, other.causes);
        let unknown: Vec<&str> = one.patterns.iter().filter(|p| p.count.is_none()).map(|p| p.of().name).collect();
        let lacks = ["overload", "two-collections", "one-collection", "hot-die", "parity", "partial-write"];
        assert_eq!(unknown, lacks);
        assert!(rows.text(5).contains("not known from rows: overload, two-collections"), "{}", rows.text(5));
        for own in one.patterns.iter().filter(|pattern| pattern.count.is_some()) {
            let same = other.patterns.iter().find(|pattern| pattern.detector == own.detector).unwrap();
            assert_eq!(own.count, same.count, "{}", own.of().name);
        }
        // Reads by default, writes where there are none.
        assert_eq!(explain_rows(&path, None).unwrap().findings.at.to_string(), "write.p99.9");
        let none = explain_rows(&path, Some("read.p99".parse().unwrap())).err().unwrap();
        assert!(none.message.contains("no reads were measured"), "{none}");
    }
    let other = directory.path().join("other.csv");
    std::fs::write(&other, "request,arrival_ns\n1,2\n").unwrap();
    assert!(explain_rows(&other, None).err().unwrap().message.contains("no column `op`"));
    let missing = explained(&sources, &requests, "request:4000", Tries::None).err().unwrap();
    assert!(missing.message.contains("no measured read or write of this number"), "{missing}");
}

/// A row: arrival, completion, and what it waited for.
type Waited<'w> = (u64, u64, &'w [(&'w str, u64)]);

/// Rows of a file.
fn rows_file(rows: &[Waited<'_>], tenants: bool) -> tempfile::TempPath {
    let causes: Vec<&str> = CAUSES.iter().map(|(_, name)| *name).collect();
    let head = "request,arrival_ns,op,offset,bytes,start_ns,completion_ns,latency_ns";
    let mut text = format!("{head},{}{}\n", causes.join(","), if tenants { ",tenant" } else { "" });
    for (number, (arrival, completion, of)) in rows.iter().enumerate() {
        let latency: u64 = of.iter().map(|(_, ns)| ns).sum();
        text += &format!("{number},{arrival},read,0,4096,{arrival},{completion},{latency}");
        for cause in &causes {
            text += &format!(",{}", of.iter().find(|(name, _)| name == cause).map_or(0, |(_, ns)| *ns));
        }
        text += if tenants { ",a\n" } else { "\n" };
    }
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.into_temp_path()
}

#[test]
fn rows_that_no_run_has_are_errors_with_their_place() {
    let fast: &[(&str, u64)] = &[("array", 50)];
    let huge = 1 << 62;
    let cases = [
        ([(300, 350, fast), (0, 50, fast)], "row 2: `arrival_ns` is 0: expected at least 300"),
        ([(huge, huge + 50, fast), (huge, huge + 50, fast)], "row 1: `arrival_ns` is 4611686018427387904"),
        ([(0, 50, fast), (10, 70, fast)], "row 2: `latency_ns` is 50"),
        ([(0, 50, fast), (100, 50, fast)], "row 2: `latency_ns` is 50"),
    ];
    for (rows, says) in cases {
        let error = explain_rows(&rows_file(&rows, false), None).err().unwrap();
        assert_eq!(error.class(), Class::Trace, "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    // Whom a tenant waited for is not in the rows.
    let path = rows_file(&[(0, 50, fast), (0, 50, fast)], true);
    assert!(explain_rows(&path, None).unwrap().text(5).contains("partial-write, tenant\n"));
}

#[test]
fn what_the_middle_has_more_of_is_said_with_the_rest() {
    let usual: &[(&str, u64)] = &[("queue", 100), ("array", 50)];
    let mut rows: Vec<_> = (0..9).map(|i| (i * 1000, i * 1000 + 150, usual)).collect();
    rows.push((9_000, 9_350, &[("die_host", 300), ("array", 50)]));
    let done = explain_rows(&rows_file(&rows, false), Some("read.max".parse().unwrap())).unwrap();
    assert!(done.text(5).contains("die_host 150.0 %   queue -50.0 %   (of 200 ns)"), "{}", done.text(5));
    let says = "150.0 % of the difference is die_host (other requests on the die), less 50.0 % for queue";
    assert!(done.verdict.contains(says), "{}", done.verdict);
}

#[test]
fn a_page_shows_an_explanation_by_its_file() {
    let (_file, requests) = trace(&[(0, 'w', 0, PAGE), (0, 'w', PAGE, PAGE), (1_000, 'r', 2 * PAGE, PAGE)]);
    let tries = ["gc.time=none", "schemes.victim=fifo", "device.over_provisioning=0.999"];
    let tries = Tries::Given(tries.map(String::from).to_vec());
    let done = explained(&full(&[]), &requests, "request:2", tries).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("explain.json");
    std::fs::write(&path, done.json()).unwrap();
    let inputs = Inputs::read(&[path], None).unwrap();
    let page = Page { lite: true, ..Page::default() };
    let html = ssdlab_report::page::write(&inputs, &page).unwrap().html;
    for shown in ["Why the slowest are slow", "two-collections", "data-figure=\"tail-excess\"", "bound, not a device"] {
        assert!(html.contains(shown), "{shown}");
    }
    assert!(html.contains("Refused changes") && html.contains("device.over_provisioning = 0.999"));
    // Programs find the numbers of its tables.
    let table = |id: &str| crate::common::data_table(&html, id);
    let (causes, own) = (table("explain-causes"), json(&done));
    assert_eq!(causes["columns"], serde_json::json!(["cause", "total_ns", "middle_ns", "excess_ns", "share"]));
    assert_eq!(causes["rows"][0][1], own["causes"][0]["total_ns"]);
    assert_eq!(table("explain-tries")["rows"].as_array().unwrap().len(), 2);
    assert_eq!(table("explain-refused")["rows"][0][1], own["refused"][0]["rule"]);
    assert_eq!(table("explain-slowest")["rows"][0][6], own["slowest"][0]["latency_ns"]);
    let sentence = done.verdict.split(". ").next().unwrap();
    assert!(html.contains(sentence), "{sentence}");
    // Texts of a file are shown, not obeyed.
    let mut hostile: Value = serde_json::from_str(&done.json()).unwrap();
    hostile["verdict"] = "<script>alert(1)</script>".into();
    hostile["tries"][0]["set"] = "</td><img src=x onerror=alert(1)>=1".into();
    let inputs = Inputs { explain: Some(hostile), ..Inputs::default() };
    let html = ssdlab_report::page::write(&inputs, &page).unwrap().html;
    assert!(!html.contains("<script>alert") && !html.contains("<img src=x"));
}
