//! Two futures of one device: laws over random worlds, and what each choice does.

use proptest::prelude::*;
use serde_json::Value;
use ssdlab_explain::watched;
use ssdlab_explain::whatif::{Pair, Question, WhatIf, rows, what_if};
use ssdlab_lab::error::{Class, Result};
use ssdlab_lab::input::{Origin, Requests, Tenant};
use ssdlab_lab::results::sheet::Place;
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::{Settings, Sources};
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, RequestOp};

use crate::common::{run, tiny, writes};
use crate::explain::trace;

const HOW: How = How { seed: 1, check: Check::Full, count_only: false, memory_limit: None };

fn wish(at: &str, before: &str, after: &str, changes: &[&str], without: &[&str]) -> Question {
    Question {
        at: at.parse().unwrap(),
        before: before.parse().unwrap(),
        after: after.parse().unwrap(),
        changes: changes.iter().map(ToString::to_string).collect(),
        without: without.iter().map(|choice| choice.parse().unwrap()).collect(),
    }
}

fn asked(sources: &Sources, requests: &Requests, wish: &Question) -> Result<WhatIf> {
    what_if(&Settings::load(sources)?, requests, HOW, wish, None, &mut ())
}

/// Number, times and causes of a request.
type Row = (u64, u64, Option<u64>, u64, Causes);

/// Causes that every device has, and those of optional features.
type Causes = ([u64; Cause::COUNT], [u64; Extra::COUNT]);

fn row(of: &Completed) -> Row {
    let start = of.start.map(|start| start.0);
    (of.request, of.arrival.0, start, (of.completion - of.arrival).0, (of.blame.0, of.extras.0))
}

/// The rows of a plain run.
fn plain(sources: &Sources, requests: &Requests) -> Vec<Row> {
    let settings = Settings::load(sources).unwrap();
    let (mut records, ..) = watched(&settings, requests, HOW, &Outputs::default(), &mut ()).unwrap();
    let mut rows = Vec::new();
    records
        .each(&mut |one| rows.push((one.request, one.arrival, one.start, one.latency, (one.blame.0, one.extras.0))))
        .unwrap();
    rows
}

/// The device of the manual's example: a collection of 64 valid pages starts at 0.
fn example() -> Sources {
    chips(1)
}

/// The same with several chips, each on a channel of its own.
fn chips(count: u32) -> Sources {
    let channels = format!("geometry.channels={count}");
    let sets = [
        channels.as_str(),
        "geometry.chips_per_channel=1",
        "geometry.dies_per_chip=1",
        "geometry.planes_per_die=1",
        "geometry.blocks_per_plane=16",
        "device.over_provisioning=0.25",
        "precondition.mode=aged",
        "precondition.valid=0.75",
        "precondition.invalid=0.000977",
        "schemes.victim=fifo",
        "schemes.trigger={ idle = { after = \"0ns\", below = \"6 blocks\" } }",
    ];
    Sources { sets: sets.map(String::from).to_vec(), ..Sources::default() }
}

#[test]
fn the_example_of_the_manual_is_exact_to_the_nanosecond() {
    // A trim of no whole page does nothing; it only makes time begin before the read.
    let (_file, requests) = trace(&[(0, 't', 0, 512), (1_000_000, 'r', 0, 4096)]);
    let found = asked(&example(), &requests, &wish("slowest", "1s", "1s", &[], &["gc"])).unwrap();
    let told: Value = serde_json::from_str(&found.json()).unwrap();
    assert_eq!(told["schema"], "ssdlab.whatif/1");
    let of = |side: &str| &told["chosen"][side];
    assert_eq!(of("base")["latency_ns"], 44_810_480);
    let causes = serde_json::json!({ "die_gc_own": 44_755_360, "array": 50_000, "bus": 5_120 });
    assert_eq!(of("base")["causes"], causes);
    assert_eq!(of("whatif")["latency_ns"], 55_120);
    let max = told["measures"].as_array().unwrap().iter().find(|one| one["measure"] == "read_max_ns").unwrap();
    assert_eq!(max["difference"], -44_755_360);
    let parting = &told["parting"];
    assert_eq!(
        (&parting["at_ns"], &parting["resource"], &parting["base"], &parting["whatif"]),
        (&0.into(), &"die 0".into(), &"collection".into(), &"idle".into())
    );
    assert_eq!((told["postponed"].as_u64(), told["forced"].as_u64()), (Some(1), Some(0)));
    let text = found.text();
    for line in ["at 0 ns, die 0: collection | idle", "44.81 ms", "-44.76 ms", "without gc, from 0 ns on"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // The one collection, by its plane and by its number.
    let number = parting["base_collection"].as_u64().unwrap();
    for choice in ["gc:plane=0".into(), format!("gc:job={number}")] {
        let same = asked(&example(), &requests, &wish("request:1", "1s", "1s", &[], &[&choice])).unwrap();
        assert_eq!(same.pairs[0].gain(), Some(44_755_360), "{choice}");
    }
    let other = format!("gc:job={}", number + 1);
    let none = asked(&example(), &requests, &wish("request:1", "1s", "1s", &[], &[&other])).err().unwrap();
    assert!(none.message.contains("no collection with this number begins"), "{none}");
}

fn asks() -> impl Strategy<Value = Vec<(u64, char, u64, u64)>> {
    let one = (0u64..40_000, prop::sample::select(vec!['r', 'r', 'w', 'w', 't']), 0u64..512, 1u64..4);
    prop::collection::vec(one, 5..150).prop_map(|all| {
        let mut now = 0;
        let each = all.into_iter().map(|(gap, op, at, sectors)| {
            now += gap * gap / 3000;
            (now, op, at * 4096, sectors * 2048)
        });
        each.filter(|ask| ask.1 != 't').collect()
    })
}

/// Devices that differ in what runs when they are copied.
const WORLDS: [&[&str]; 13] = [
    &[],
    &["schemes.collector=queued", "schemes.victim=rga"],
    &["timing.suspendable=program+erase", "timing.suspend=20us", "timing.resume=10us"],
    &["schemes.collector=preemptive", "device.write_ack=after_transfer"],
    &["schemes.path=copyback", "timing.cache_register=true", "timing.command=200ns"],
    &["schemes.place=dynamic", "device.queue_depth=4"],
    &[
        "geometry.planes_per_die=2",
        "device.over_provisioning=0.6",
        "schemes.collector={ pagc = { cache = true, when = \"always\" } }",
        "staging.slots=16",
    ],
    &["schemes.order=piq", "run.warmup=20 requests"],
    &["cache.size=32KiB", "cache.time=1us"],
    &[
        "geometry.planes_per_die=2",
        "device.over_provisioning=0.6",
        "device.multi_plane=true",
        "cache.size=64KiB",
        "cache.writeback=watermark",
        "cache.order=stripe",
    ],
    &[
        "nvme={ arbitration = \"rr\", queues = [{ name = \"low\", match = { op = \"write\" } }, { name = \"high\", match = \"rest\" }] }",
        "device.queue_depth=2",
    ],
    &["order.die_queue=read-first", "schemes.collector=queued"],
    &[
        "geometry.page_order=wordline",
        "timing.read=[\"40us\", \"55us\", \"80us\"]",
        "timing.variation={ block = 0.05 }",
    ],
];

/// Worlds from here on have features that not every change goes with.
const FEATURES: usize = 8;

/// The change of the order, among those of the first law.
const ORDER: usize = 8;

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    /// Without a change both futures are the same, and the base is always the plain run.
    #[test]
    fn the_base_is_the_plain_run_and_no_change_is_no_difference(
        asks in asks(), world in 0..WORLDS.len(), at in 0u64..60_000_000, before in 0u64..30_000_000, after in 0u64..60_000_000,
        change in prop::sample::select(vec![0usize, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ) {
        prop_assume!(!asks.is_empty());
        let (_file, requests) = trace(&asks);
        let sources = tiny(WORLDS[world]);
        let (changes, without): (&[&str], &[&str]) = [
            (&[][..], &[][..]),
            (&["timing.program=300us"], &[]),
            (&["gc.threshold=4 blocks"], &[]),
            (&[], &["gc"]),
            (&[], &["gc:plane=1", "gc:job=30"]),
            (&["schemes.collector=preemptive"], &[]),
            (&["schemes.collector=queued", "schemes.path=copyback"], &[]),
            (&["schemes.path=external", "device.multi_plane=true"], &[]),
            (&["schemes.order=sync-fifo", "order.chip_queue=2"], &[]),
            (&["timing.suspendable=program+erase"], &[]),
        ][change];
        let mut wish = wish("time:0ns", "0ns", "0ns", changes, without);
        wish.at = ssdlab_explain::whatif::moment::Moment::Time(Nanos(at));
        (wish.before, wish.after) = (Nanos(before), Nanos(after));
        let found = match asked(&sources, &requests, &wish) {
            Ok(found) => found,
            // What the buffer holds, or write points, can rule another collector out.
            Err(error) if change == 5 || change == 6 => {
                let ruled_out = error.message.contains("can't change on this running device");
                prop_assert!(ruled_out || world >= FEATURES && error.class() == Class::Usage, "{error}");
                return Ok(());
            }
            // Not every run has a collection of that number.
            Err(error) if change == 4 && error.message.contains("no collection with this number begins") => return Ok(()),
            Err(error) if world >= FEATURES && change > 0 => {
                prop_assert!(error.class() == Class::Usage, "{error}");
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let from = at.saturating_sub(before);
        let wanted: Vec<Row> =
            plain(&sources, &requests).into_iter().filter(|row| from <= row.1 && row.1 <= at + after).collect();
        let base: Vec<Row> = found.pairs.iter().map(|pair| row(&pair.base)).collect();
        prop_assert_eq!(&base, &wanted);
        let other: Vec<Row> = found.pairs.iter().map(|pair| row(pair.whatif.as_ref().unwrap())).collect();
        if change == 0 {
            prop_assert_eq!(&other, &base);
            prop_assert_eq!(&found.parting, &None);
            prop_assert_eq!(found.work[0], found.work[1]);
        }
        // What does not part does not differ, and what differs parts. Under another order a request may wait elsewhere as long.
        if found.parting.is_none() {
            let times = |rows: &[Row]| rows.iter().map(|row| (row.0, row.1, row.2, row.3)).collect::<Vec<_>>();
            prop_assert_eq!(times(&other), times(&base));
            prop_assert!(change == ORDER || other == base);
            let elsewhere = found.text().contains("only causes of waits differ");
            prop_assert_eq!(elsewhere, other != base);
        }
    }

    /// From a fresh device, over the whole run, a change is the run with it.
    #[test]
    fn a_change_from_the_start_is_the_run_with_it(
        asks in asks(), world in 0..WORLDS.len(),
        change in prop::sample::select(vec!["gc.time=none", "timing.read=70us", "device.queue_depth=2", "schemes.order=sync-fifo",
            "schemes.collector=preemptive", "schemes.path=copyback", "device.multi_plane=true"]),
    ) {
        prop_assume!(!asks.is_empty());
        let (_file, requests) = trace(&asks);
        let sources = tiny(WORLDS[world]);
        let mut changed = sources.clone();
        changed.sets.push(change.into());
        prop_assume!(Settings::load(&changed).is_ok());
        let end = format!("{}ns", asks[asks.len() - 1].0);
        let found = match asked(&sources, &requests, &wish("time:0ns", "0ns", &end, &[change], &[])) {
            Ok(found) => found,
            // What a device keeps from its start can't be changed.
            Err(error) => { prop_assert!(error.class() == Class::Usage, "{error}"); return Ok(()) }
        };
        let other: Vec<Row> = found.pairs.iter().map(|pair| row(pair.whatif.as_ref().unwrap())).collect();
        prop_assert_eq!(other, plain(&changed, &requests));
        let base: Vec<Row> = found.pairs.iter().map(|pair| row(&pair.base)).collect();
        prop_assert_eq!(base, plain(&sources, &requests));
    }
}

#[test]
fn a_collection_runs_all_the_same_when_a_write_would_find_no_page() {
    let requests = writes(3000);
    let found = asked(&tiny(&[]), &requests, &wish("time:100ms", "100ms", "3s", &[], &["gc"])).unwrap();
    assert!(found.postponement.forced > 10 && found.postponement.postponed >= found.postponement.forced);
    assert!(found.work[1].collections < found.work[0].collections + 1, "{:?}", found.work);
    let says = format!(
        "{} collections put off, {} ran all the same (forced): a write found no page. One that was put off until then counts in both",
        found.postponement.postponed, found.postponement.forced
    );
    assert!(found.text().contains(&says), "{}", found.text());
    let whatif = serde_json::from_str(&found.json()).ok();
    let inputs = ssdlab_report::inputs::Inputs { whatif, ..Default::default() };
    let page = ssdlab_report::page::Page { lite: true, ..Default::default() };
    let html = ssdlab_report::page::write(&inputs, &page).unwrap().html;
    assert!(html.contains(&says), "{says}");
    assert!(found.pairs.len() > 1000 && found.pairs.iter().all(|pair| pair.whatif.is_some()));
}

#[test]
fn a_request_that_does_not_come_makes_room_for_others() {
    let rows_of =
        [(0, 'w', 0, 4096), (100_000, 'w', 4 * 4096, 4096), (200_000, 'r', 8 * 4096, 4096), (300_000, 'r', 4096, 4096)];
    let sources = tiny(&["precondition.mode=none"]);
    let (_file, requests) = trace(&rows_of);
    let found = asked(&sources, &requests, &wish("request:1", "50us", "1ms", &[], &["request:1"])).unwrap();
    let numbers: Vec<u64> = found.pairs.iter().map(|pair| pair.base.request).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let Pair { whatif, .. } = &found.pairs[0];
    assert!(whatif.is_none() && found.pairs[0].gain().is_none());
    let second = found.pairs[1].whatif.as_ref().unwrap();
    assert_eq!((second.request, second.op), (2, RequestOp::Read));
    assert_eq!(found.pairs[1].gain(), Some(605_120));
    assert_eq!(found.pairs[2].gain(), Some(0));
    let parting = found.parting.as_ref().unwrap();
    assert_eq!(parting.does.each_ref().map(String::as_str), ["program of request 1", "read of request 2"]);
    // Rows of both: what was left out has none.
    let sheet = rows::create(&Place::MEMORY, &found.extras, !found.tenants.is_empty()).unwrap();
    let (_, frame) = rows::write(sheet, &found).unwrap().parts();
    let frame = frame.unwrap();
    assert!(frame.columns.iter().any(|column| column.0 == "whatif_die_gc_own"), "{:?}", frame.columns);
    let refused = asked(&sources, &requests, &wish("request:1", "50us", "1ms", &[], &["request:0"])).err().unwrap();
    assert!(refused.message.contains("it arrived before the copy"), "{refused}");
}

#[test]
fn a_read_that_suspends_nothing_waits_for_the_program() {
    let sources = tiny(&["precondition.mode=none", "timing.suspendable=program+erase"]);
    let (_file, requests) = trace(&[(0, 'w', 0, 4096), (300_000, 'r', 4 * 4096, 4096)]);
    // The write is in service at the time of the read: the copy is before it.
    let found = asked(&sources, &requests, &wish("request:1", "1ms", "1ms", &[], &["suspend"])).unwrap();
    assert_eq!(found.copied, Nanos(0));
    assert_eq!(found.pairs[1].gain(), Some(-305_120));
    assert_eq!(found.parting.as_ref().unwrap().at, Nanos(300_000));
    // So is one of a copy while it is in service.
    let late = asked(&sources, &requests, &wish("request:1", "100us", "1ms", &[], &["suspend"])).unwrap();
    assert_eq!((late.copied, late.pairs[0].gain()), (Nanos(200_000), Some(-305_120)));
}

#[test]
fn a_change_of_schemes_leaves_a_running_collection_as_it_began() {
    let (_file, requests) = trace(&[(0, 't', 0, 512), (1_000_000, 'r', 0, 4096), (2_000_000, 'r', 4096, 4096)]);
    let change = ["schemes.collector=preemptive", "schemes.path=copyback"];
    // In the middle of the collection: it ends as it began, and so do the reads that wait for it.
    let late = asked(&example(), &requests, &wish("request:1", "500us", "2ms", &change, &[])).unwrap();
    assert_eq!(late.copied, Nanos(500_000));
    assert!(late.parting.as_ref().is_none_or(|parting| parting.at > Nanos(45_755_360)), "{:?}", late.parting);
    assert_eq!(late.pairs[0].gain(), Some(0));
    assert_eq!(late.pairs[0].base.completion, Nanos(45_755_360 + 55_120));
    // Before it: the reads are served between two of its steps.
    let early = asked(&example(), &requests, &wish("request:1", "1s", "2ms", &change, &[])).unwrap();
    assert_eq!(early.copied, Nanos(0));
    let waited = early.pairs.iter().map(|pair| pair.whatif.as_ref().unwrap().completion.0 - pair.base.arrival.0);
    assert!(waited.clone().all(|ns| (55_120..705_120 + 110_240).contains(&ns)), "{:?}", waited.collect::<Vec<_>>());
}

#[test]
fn a_tenant_that_does_not_come_leaves_its_queue_to_others() {
    let queues = "nvme={ arbitration = \"rr\", queues = [{ name = \"low\", match = { lba = \"0B..16KiB\" } }, { name = \"high\", match = \"rest\" }] }";
    let sources = tiny(&["precondition.mode=none", queues]);
    // Two tenants write to one die each.
    let rows: Vec<(u64, char, u64, u64)> = (0..6u64).map(|i| (i * 1000, 'w', (i % 2) * 16 * 1024, 4096)).collect();
    let (_file, requests) = trace(&rows);
    let found = asked(&sources, &requests, &wish("request:1", "1s", "1ms", &[], &["tenant:low"])).unwrap();
    let gone: Vec<bool> = found.pairs.iter().map(|pair| pair.whatif.is_none()).collect();
    assert_eq!(gone, [true, false, true, false, true, false]);
    for pair in &found.pairs {
        let same = pair
            .whatif
            .as_ref()
            .is_none_or(|other| (other.request, other.arrival) == (pair.base.request, pair.base.arrival));
        assert!(same, "{pair:?}");
    }
    assert!(found.chosen().and_then(Pair::gain).is_some_and(|gain| gain >= 0));
    // Two requests, too.
    let two = asked(&sources, &requests, &wish("request:1", "1s", "1ms", &[], &["request:2", "request:3"])).unwrap();
    let gone: Vec<u64> = two.pairs.iter().filter(|pair| pair.whatif.is_none()).map(|pair| pair.base.request).collect();
    assert_eq!(gone, [2, 3]);
    assert_eq!(two.pairs[5].whatif.as_ref().unwrap().arrival, Nanos(5000));
}

#[test]
fn cuts_and_failures_go_with_collections_that_are_put_off() {
    let sources = tiny(&["faults.power_cut=[\"50ms\", \"150ms\"]", "gc.reserve=2"]);
    let found = asked(&sources, &writes(1500), &wish("time:100ms", "90ms", "200ms", &[], &["gc"])).unwrap();
    assert!(found.postponement.postponed > 0, "{}", found.text());
    let all = found.pairs.iter().filter(|pair| pair.whatif.is_some()).count();
    assert!(all > 100, "{all} of {}", found.pairs.len());
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let (_file, requests) = trace(&[(0, 'w', 0, 4096), (1_000_000, 'r', 0, 4096)]);
    let refused = |sets: &[&str], changes: &[&str], without: &[&str]| {
        let found = asked(&tiny(sets), &requests, &wish("request:1", "1s", "1s", changes, without));
        found.err().unwrap_or_else(|| panic!("{changes:?} {without:?}")).to_string()
    };
    for (changes, reason) in [
        ("geometry.channels=4", "the geometry is the device"),
        ("timing.cache_register=true", "it decides what state a device has"),
        ("schemes.path=checked", "a write point of its own"),
        ("cache.size=1MiB", "part of the device's state"),
        (
            "nvme={ arbitration = \"rr\", queues = [{ name = \"a\", match = \"rest\" }] }",
            "in the queues of the device, or in none",
        ),
        ("precondition.mode=random", "the device has been filled"),
        ("device.over_provisioning=0.5", "it decides what state a device has"),
        ("gc.tme=none", "gc.tme"),
    ] {
        let error = refused(&[], &[changes], &[]);
        assert!(error.contains(reason), "{changes}: {error}");
    }
    let two = ["geometry.planes_per_die=2", "device.over_provisioning=0.6"];
    let error = refused(&two, &["schemes.collector={ pagc = { when = \"always\" } }"], &[]);
    assert!(error.contains("keep 2 from the start, with gc.reserve"), "{error}");
    for (sets, without, reason) in [
        (&[][..], "suspend", "nothing is suspended"),
        (&["gc.time=none"], "gc", "take no time"),
        (&[], "gc:plane=4", "planes are 0 to 3"),
        (&[], "writeback", "leaves no pages in the buffer"),
        (&[], "tenant:web", "no such tenant"),
    ] {
        let error = refused(sets, &[], &[without]);
        assert!(error.contains(reason), "{without}: {error}");
    }
    let none = asked(&tiny(&[]), &requests, &wish("request:2", "1s", "1s", &[], &[])).err().unwrap();
    assert!(none.message.contains("no such measured read or write"), "{none}");
    let mut closed = requests.clone();
    closed.replay = Some(ssdlab_lab::input::When::Closed);
    let error = asked(&tiny(&[]), &closed, &wish("request:1", "1s", "1s", &[], &["request:1"])).err().unwrap();
    assert!(error.message.contains("closed loop"), "{error}");
    let looped = Tenant::parse("log=workload:random-write,lba=shared,depth=4").unwrap();
    let looped = Requests { limit: Some(20), ..Requests::new(Origin::Tenants(vec![looped])) };
    let error = asked(&tiny(&[]), &looped, &wish("time:1ms", "1s", "1s", &[], &[])).err().unwrap();
    assert!(error.message.contains("within a closed loop of a tenant"), "{error}");
    // A closed loop is the same sequence.
    let same =
        asked(&tiny(&["device.queue_depth=1"]), &closed, &wish("request:1", "1s", "1s", &["timing.program=1ms"], &[]))
            .unwrap();
    assert!(same.text().contains("closed loop"), "{}", same.text());
    assert_eq!(same.pairs[1].whatif.as_ref().unwrap().arrival, Nanos(1_005_120));
    // The same operation takes longer: they part where the shorter one ends.
    let parting = same.parting.unwrap();
    assert_eq!((parting.at, parting.resource.as_str()), (Nanos(605_120), "die 0"));
    assert_eq!(
        parting.does.each_ref().map(String::as_str),
        ["program of request 0 ends", "program of request 0 goes on"]
    );
}

#[test]
fn write_backs_are_put_off() {
    let sources = tiny(&[
        "geometry.planes_per_die=2",
        "geometry.blocks_per_plane=16",
        "schemes.collector={ pagc = { cache = true, when = \"always\" } }",
        "staging.slots=16",
    ]);
    let found = asked(&sources, &writes(1500), &wish("time:500ms", "500ms", "2s", &[], &["writeback"])).unwrap();
    assert!(found.parting.is_some(), "{}", found.text());
    assert!(found.pairs.iter().all(|pair| pair.whatif.is_some()));
}

#[test]
fn a_page_shows_two_futures_by_their_file_and_a_timeline_both_devices() {
    let (_file, requests) = trace(&[(0, 't', 0, 512), (1_000_000, 'r', 0, 4096)]);
    let directory = tempfile::tempdir().unwrap();
    let (drawn, path) = (directory.path().join("other.pftrace"), directory.path().join("whatif.json"));
    let settings = Settings::load(&example()).unwrap();
    let wish = wish("request:1", "1s", "1s", &["timing.read=60us"], &["gc"]);
    let mut found = what_if(&settings, &requests, HOW, &wish, Some(&drawn), &mut ()).unwrap();
    found.timeline.take().unwrap().publish().unwrap();
    let timeline = ssdlab_lab::readers::timeline::read(&drawn, None).unwrap();
    for row in ["base: channel 0", "base: plane 0", "what-if: channel 0", "what-if: plane 0"] {
        assert!(timeline.rows.iter().any(|name| name == row), "{row}: {:?}", timeline.rows);
    }
    // A copy in the middle of a run: requests that arrived before it are not on the timeline.
    let (_more, many) = trace(&(0..9).map(|i| (i * 60_000_000, 'r', i * 4096, 4096)).collect::<Vec<_>>());
    let late = Question { at: "request:6".parse().unwrap(), before: Nanos(1_000), ..wish.clone() };
    let later =
        what_if(&settings, &many, HOW, &Question { after: Nanos(1_000), ..late }, Some(&drawn), &mut ()).unwrap();
    later.timeline.unwrap().publish().unwrap();
    let timeline = ssdlab_lab::readers::timeline::read(&drawn, None).unwrap();
    assert!(timeline.rows.iter().any(|name| name == "what-if: plane 0"), "{:?}", timeline.rows);
    std::fs::write(&path, found.json()).unwrap();
    let inputs = ssdlab_report::inputs::Inputs::read(&[path], None).unwrap();
    let page = ssdlab_report::page::Page { lite: true, ..Default::default() };
    let html = ssdlab_report::page::write(&inputs, &page).unwrap().html;
    for shown in
        ["Had this not happened", "timing.read=60us, without gc", "They part at 0 ns on die 0", "read waiting on GC"]
    {
        assert!(html.contains(shown), "{shown}");
    }
    // Programs find the numbers of its tables.
    let told: Value = serde_json::from_str(&found.json()).unwrap();
    let measures = crate::common::data_table(&html, "whatif-measures");
    let mean = measures["rows"].as_array().unwrap().iter().find(|row| row[0] == "read_mean_ns").unwrap();
    assert_eq!((&mean[1], &mean[3]), (&44_810_480.into(), &told["measures"][1]["difference"]));
    assert_eq!(crate::common::data_table(&html, "whatif-gains")["rows"][0][0], 1);
    assert!(html.contains("whatif-causes"));
}

/// Causes of optional features are causes, too: those of a request sum to its latency, and rows have columns for them.
#[test]
fn causes_of_caches_and_queues_are_shown() {
    let queues = "nvme={ arbitration = \"rr\", queues = [{ name = \"low\", match = { lba = \"0B..16KiB\" } }, { name = \"high\", match = \"rest\" }] }";
    let cached = tiny(&["precondition.mode=none", "cache.size=4KiB", "cache.time=1us"]);
    let queued = tiny(&["precondition.mode=none", queues, "device.queue_depth=1"]);
    let (_file, requests) = trace(&[(0, 'w', 0, 4096), (0, 'w', 4 * 4096, 4096)]);
    for (sources, cause) in [(cached, "cache"), (queued, "arbitration")] {
        let found = asked(&sources, &requests, &wish("request:1", "1s", "1s", &["timing.program=500us"], &[])).unwrap();
        let told: Value = serde_json::from_str(&found.json()).unwrap();
        for side in ["base", "whatif"] {
            let chosen = &told["chosen"][side];
            let causes = chosen["causes"].as_object().unwrap();
            assert!(causes[cause].as_u64().unwrap() > 0, "{causes:?}");
            let sum: u64 = causes.values().map(|ns| ns.as_u64().unwrap()).sum();
            assert_eq!(Some(sum), chosen["latency_ns"].as_u64());
        }
        assert!(found.text().lines().any(|line| line.starts_with(cause)), "{}", found.text());
        let sheet = rows::create(&Place::MEMORY, &found.extras, !found.tenants.is_empty()).unwrap();
        let frame = rows::write(sheet, &found).unwrap().parts().1.unwrap();
        let has = |name: &str| frame.columns.iter().any(|column| column.0 == name);
        assert!(has(&format!("base_{cause}")) && has(&format!("whatif_{cause}")));
        assert_eq!(has("whatif_tenant"), cause == "arbitration");
    }
}

/// A flush is neither a read nor a write.
#[test]
fn flushes_are_in_no_measure() {
    let sources = tiny(&["precondition.mode=none", "cache.size=4KiB"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "0 w 0 4096\n10 f 0 0\n2000000 r 0 4096\n").unwrap();
    let mut requests = Requests::new(Origin::Trace(file.path().to_path_buf().into()));
    requests.reading.format = "columns:time=0:ns,op=1:'r'r'w'w'f'f,offset=2:bytes,size=3:bytes,sep=space".into();
    let kinds: Vec<u64> = plain(&sources, &requests).iter().map(|row| row.0).collect();
    assert_eq!(kinds, [0, 2], "the flush has the number 1");
    let found = asked(&sources, &requests, &wish("slowest", "1s", "1s", &[], &[])).unwrap();
    let told: Value = serde_json::from_str(&found.json()).unwrap();
    let measures = told["measures"].as_array().unwrap();
    let of = |name: &str| measures.iter().find(|one| one["measure"] == name).unwrap()["base"].as_u64();
    assert_eq!((of("read_requests"), of("write_requests"), of("all_requests")), (Some(1), Some(1), Some(2)));
    assert_eq!(told["requests"], 2);
    assert!(found.text().contains("; 2 requests from the copy to"), "{}", found.text());
}

/// A closed loop asks for its first requests as soon as there is a device.
#[test]
fn a_closed_loop_is_copied_at_its_start() {
    let all: Vec<_> = (0..10).map(|i| (0, 'w', i * 4096, 4096)).collect();
    let (_file, mut requests) = trace(&all);
    requests.replay = Some(ssdlab_lab::input::When::Closed);
    let sources = tiny(&["device.queue_depth=4"]);
    let found = asked(&sources, &requests, &wish("request:3", "1ms", "1ms", &["timing.program=300us"], &[])).unwrap();
    let mut expected = plain(&sources, &requests);
    expected.retain(|row| row.1 <= found.to.0);
    assert!(expected.len() > 4 && found.chosen().is_some());
    assert_eq!(found.pairs.iter().map(|pair| row(&pair.base)).collect::<Vec<_>>(), expected);
}

/// They part at the first event that differs, wherever it is, and also where flash and channels do the same.
#[test]
fn they_part_at_the_first_difference() {
    let told = |sources: &Sources, asks: &[(u64, char, u64, u64)], changes: &[&str], without: &[&str]| {
        let (_file, requests) = trace(asks);
        let found = asked(sources, &requests, &wish("time:0ns", "1s", "1s", changes, without)).unwrap();
        let one = found.parting.expect("they part");
        (one.at.0, one.resource, one.does)
    };
    let words = |one: &str, other: &str| [one.to_string(), other.to_string()];
    // The read on the other die ends before the program would.
    let two = Sources {
        sets: ["geometry.channels=2", "geometry.chips_per_channel=1"].map(String::from).to_vec(),
        ..Sources::default()
    };
    let (at, _, does) =
        told(&two, &[(0, 'w', 0, 4096), (100_000, 'r', 4096, 4096)], &["timing.program=3ms", "timing.read=30us"], &[]);
    assert_eq!((at, does), (130_000, words("read of request 1 goes on", "read of request 1 ends")));
    // Nothing of flash or channels: the read is served from memory.
    let memory = [(0, 'w', 0, 4096), (1_000, 'r', 0, 4096)];
    let parting = told(&two, &memory, &["device.memory=5us"], &[]);
    assert_eq!(parting, (1_000, "request 1".into(), words("completes", "goes on")));
    let decoded = told(&two, &[(0, 'r', 0, 4096)], &["ecc.decode=10us"], &[]);
    assert_eq!(decoded, (55_120, "request 0".into(), words("completes", "goes on")));
    // Two victims.
    let (_, _, does) = told(
        &tiny(&["precondition.mode=random"]),
        &(0..400).map(|i| (i * 700_000, 'w', i * 7919 % 300 * 4096, 4096)).collect::<Vec<_>>(),
        &["schemes.victim=fifo"],
        &[],
    );
    assert_ne!(does[0], does[1]);
}

#[test]
fn what_is_not_there_cannot_be_left_out() {
    let (_file, requests) = trace(&[(0, 't', 0, 512), (1_000_000, 'r', 0, 4096), (900_000_000, 'r', 0, 4096)]);
    for (without, why) in [
        ("gc:job=99", "no collection with this number begins"),
        ("request:7", "no such request arrives"),
        // It comes after the window.
        ("request:2", "no such request arrives from the copy at 0 ns to the end of the window at 101000000 ns"),
    ] {
        let error = asked(&example(), &requests, &wish("request:1", "1s", "100ms", &[], &[without])).err().unwrap();
        assert_eq!((error.class(), error.message.contains(why)), (Class::Usage, true), "{error}");
    }
}

/// Four collections begin at one time: one of them is put off.
#[test]
fn one_collection_by_its_number_is_one() {
    let sources = chips(4);
    let reads = (0..4).map(|i| (1_000_000, 'r', i * 4096, 4096));
    let (_file, requests) = trace(&std::iter::once((0, 't', 0, 512)).chain(reads).collect::<Vec<_>>());
    let all = asked(&sources, &requests, &wish("request:1", "1s", "1s", &[], &["gc"])).unwrap();
    assert_eq!(all.pairs.iter().filter(|pair| pair.gain() > Some(0)).count(), 4);
    let first = all.parting.unwrap().collections[0].unwrap();
    let one = asked(&sources, &requests, &wish("request:1", "1s", "1s", &[], &[&format!("gc:job={first}")])).unwrap();
    assert_eq!(one.postponement.postponed, 1);
    assert_eq!(one.pairs.iter().filter(|pair| pair.gain() > Some(0)).count(), 1);
}

#[test]
fn paired_planes_part_as_well() {
    let sources = tiny(&[
        "geometry.planes_per_die=2",
        "geometry.blocks_per_plane=16",
        "device.mapping_unit=super-page",
        "device.over_provisioning=0.5",
        "precondition.mode=random",
    ]);
    let found = asked(&sources, &writes(300), &wish("time:20ms", "1s", "1s", &[], &["gc"])).unwrap();
    assert!(found.parting.is_some(), "{}", found.text());
}

/// Times may vary from the copy on.
#[test]
fn array_times_may_vary_from_the_copy_on() {
    let found =
        asked(&tiny(&[]), &writes(300), &wish("time:0ns", "1s", "1s", &["timing.variation={ block = 0.05 }"], &[]))
            .unwrap();
    assert!(found.parting.is_some());
    let types = ["timing.read=[\"40us\",\"60us\"]", "geometry.page_order=wordline"];
    let error =
        asked(&tiny(&types), &writes(300), &wish("time:0ns", "1s", "1s", &["timing.read=50us"], &[])).err().unwrap();
    assert!(error.message.contains("page type"), "{error}");
}

/// What both devices do in a window that holds the whole run is what plain runs of them count: a copyback programs a page, too.
#[test]
fn work_of_both_devices_is_that_of_plain_runs() {
    let requests = writes(600);
    let sources = |path: &str| tiny(&["precondition.mode=random", &format!("schemes.path={path}")]);
    let paths = ["copyback", "external"];
    let found = asked(
        &sources(paths[0]),
        &requests,
        &wish("time:0ns", "0ns", "1000s", &[&format!("schemes.path={}", paths[1])], &[]),
    )
    .unwrap();
    let told: Value = serde_json::from_str(&found.json()).unwrap();
    for (side, path) in paths.into_iter().enumerate() {
        let ready = run(&sources(path), HOW).open(&requests).unwrap();
        let done = ready.simulate(&Outputs::default(), &mut ()).unwrap();
        let plain = &done.outcome.summary;
        assert_eq!(plain.flash.copybacks > 100, path == "copyback");
        let programs = plain.flash.programs.total + plain.flash.copybacks;
        let expected = [("collections", plain.gc.collections), ("programs", programs), ("erases", plain.flash.erases)];
        let measures = told["measures"].as_array().unwrap();
        for (name, expected) in expected {
            let measure = measures.iter().find(|one| one["measure"] == name).unwrap();
            assert_eq!(measure[["base", "whatif"][side]], expected, "{name} with {path}");
        }
    }
}

/// Measures, and the largest gains and losses, computed here from the requests of both devices.
#[test]
fn measures_and_extremes_are_those_of_the_requests() {
    let sources = tiny(&["precondition.mode=random"]);
    let origin = Origin::Workload { name: "mixed-70-30".into(), recordings: None };
    let requests = Requests { limit: Some(800), ..Requests::new(origin) };
    let found =
        asked(&sources, &requests, &wish("time:0ns", "0ns", "1000s", &["schemes.collector=queued"], &[])).unwrap();
    let told: Value = serde_json::from_str(&found.json()).unwrap();
    let measure = |name: &str, side: usize| {
        let all = told["measures"].as_array().unwrap();
        let one = all.iter().find(|one| one["measure"] == name).unwrap_or_else(|| panic!("{name}"));
        one[["base", "whatif"][side]].as_f64()
    };
    let latency = |one: &Completed| (one.completion - one.arrival).0;
    let of_gc = |one: &Completed| {
        use Cause::{BusGc, DieGcOther, DieGcOwn, DieLate, NocGc, Space};
        [Space, DieGcOwn, DieGcOther, DieLate, BusGc, NocGc]
            .iter()
            .map(|cause| one.blame.0[*cause as usize])
            .sum::<u64>()
    };
    for side in [0, 1] {
        let kinds: [(&str, &[RequestOp]); 3] = [
            ("read", &[RequestOp::Read]),
            ("write", &[RequestOp::Write]),
            ("all", &[RequestOp::Read, RequestOp::Write]),
        ];
        for (kind, ops) in kinds {
            let rows =
                found.pairs.iter().map(|pair| if side == 0 { &pair.base } else { pair.whatif.as_ref().unwrap() });
            let rows: Vec<&Completed> = rows.filter(|one| ops.contains(&one.op)).collect();
            let mean =
                |of: &dyn Fn(&Completed) -> u64| rows.iter().map(|one| of(one)).sum::<u64>() as f64 / rows.len() as f64;
            assert_eq!(measure(&format!("{kind}_requests"), side), Some(rows.len() as f64));
            assert_eq!(
                measure(&format!("{kind}_max_ns"), side),
                rows.iter().map(|one| latency(one) as f64).reduce(f64::max)
            );
            for (name, expected) in [("mean_ns", mean(&latency)), ("waiting_on_gc_ns", mean(&of_gc))] {
                let ours = measure(&format!("{kind}_{name}"), side).unwrap();
                assert!((ours - expected).abs() <= 1.0, "{kind}_{name}: {ours}, {expected}");
            }
        }
    }
    assert!(measure("all_waiting_on_gc_ns", 0).unwrap() > 0.0, "the scene has collections");
    let gains = found.pairs.iter().map(|pair| {
        let other = pair.whatif.as_ref().unwrap();
        (i128::from(latency(&pair.base)) - i128::from(latency(other)), pair.base.request)
    });
    for (gain, sign) in [(true, 1), (false, -1)] {
        let mut best: Vec<(i128, u64)> =
            gains.clone().map(|(ns, number)| (-sign * ns, number)).filter(|one| one.0 < 0).collect();
        best.sort_unstable();
        assert!(best.len() > 10, "the scene has many of them");
        let ours: Vec<u64> = found.extremes(gain).iter().map(|pair| pair.base.request).collect();
        assert_eq!(ours, best[..10].iter().map(|one| one.1).collect::<Vec<u64>>());
    }
}

/// An erase is recorded when it ends. They part where it begins, not where something shorter differs later.
#[test]
fn they_part_at_an_erase_that_only_one_of_them_begins() {
    // No page of the victim is valid, so the collection of die 0 is one erase.
    let mut sources = chips(2);
    sources.sets.retain(|set| !set.starts_with("precondition") && !set.starts_with("schemes.victim"));
    sources.sets.extend(["precondition.mode=sequential", "timing.erase=50ms"].map(String::from));
    let mut asks: Vec<(u64, char, u64, u64)> = (0..64).map(|page| (0, 't', 2 * page * 4096, 4096)).collect();
    // A valid page of die 0: the other device reads it while this one erases.
    asks.push((100_000, 'r', 128 * 4096, 4096));
    let (_file, requests) = trace(&asks);
    let found = asked(&sources, &requests, &wish("time:0ns", "0ns", "1s", &[], &["gc:plane=0"])).unwrap();
    let parting = found.parting.unwrap();
    let does = ["collection", "idle"].map(String::from);
    assert_eq!((parting.at.0, parting.resource.as_str(), parting.does), (0, "die 0", does));
}
