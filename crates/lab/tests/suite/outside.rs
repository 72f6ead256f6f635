//! Policies from outside: same answers, same bytes; failures end the run.

use std::sync::{Arc, Mutex};

use ssdlab_lab::error::Kind;
use ssdlab_lab::live::{Ask, LiveDevice};
use ssdlab_lab::outside::{self, Failure, TriggerScript, TriggerSight, VictimScript, VictimSight};
use ssdlab_lab::run::{How, Outputs, Run};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::tree::json;
use ssdlab_sim::policy::View;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sim::{Check, Config, RequestOp as Op, Ssd};

use crate::{tiny, writes};

type Seen = Arc<Mutex<Vec<(u32, Vec<u32>, Vec<u64>, Vec<u8>)>>>;

/// Greedy over the columns of a sight; fails at a number of picks.
#[derive(Default)]
struct Script {
    sight: VictimSight,
    picks: u64,
    asked: u64,
    fails_at: u64,
    answer: Option<i64>,
    copies: bool,
    seeded: Option<u64>,
    seen: Seen,
}

impl VictimScript for Script {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Result<Option<i64>, Failure> {
        self.picks += 1;
        if self.picks == self.fails_at {
            return match self.answer {
                Some(answer) => Ok(Some(answer)),
                None => Err("division by zero".to_string().into()),
            };
        }
        self.sight.take(view, plane);
        let room = self.sight.blocks();
        let (mut valid, mut block) = (vec![0; room], vec![0; room]);
        let (mut at, mut streams) = (vec![0; room], vec![0; room]);
        assert!(self.sight.valid(&mut valid).is_some() && self.sight.block(&mut block).is_some());
        assert!(self.sight.closed_at(&mut at).is_some() && self.sight.streams(&mut streams).is_some());
        self.asked += 1;
        if self.asked > VictimSight::TRIAL {
            assert!(self.sight.erases(&mut vec![0; room]).is_none(), "not read in the first questions");
        }
        for length in [valid.len(), block.len(), at.len(), streams.len()] {
            assert!(length >= self.sight.closed);
        }
        valid.truncate(self.sight.closed);
        block.truncate(self.sight.closed);
        at.truncate(self.sight.closed);
        streams.truncate(self.sight.closed);
        let first = view.geometry.blocks(plane).start as u32;
        let closed =
            view.flash.closed_blocks(plane, view.geometry).map(|block| (block.0 - first, view.flash.kept(block)));
        assert!(closed.eq(block.iter().copied().zip(valid.iter().copied())), "all candidates, in order");
        self.seen.lock().unwrap().push((plane.0, block, at, streams));
        let least = (0..valid.len()).min_by_key(|i| valid[*i]);
        Ok(least.filter(|i| u32::from(valid[*i]) < self.sight.pages_per_block).map(|i| i as i64))
    }
    fn seed(&mut self, seed: u64) -> Result<(), Failure> {
        self.seeded = Some(seed);
        Ok(())
    }
    fn copy(&self) -> Result<Self, Failure> {
        if !self.copies {
            return Err("a lock can't be copied".to_string().into());
        }
        let (picks, fails_at, answer, seeded) = (self.picks, self.fails_at, self.answer, self.seeded);
        Ok(Script { picks, fails_at, answer, seeded, copies: true, seen: self.seen.clone(), ..Script::default() })
    }
}

fn record() -> Vec<(String, Option<String>)> {
    vec![("python".into(), Some("tests:Script".into())), ("source".into(), None)]
}

fn scripted(strict: bool, make: impl Fn() -> Script + Send + Sync + 'static) -> Settings {
    let mut settings = Settings::load(&tiny(&["gc.threshold=3 blocks"])).unwrap();
    settings.config.schemes.victim = outside::victim(record(), strict, move || Ok(make()));
    settings
}

#[test]
fn the_same_answers_give_the_same_bytes_and_the_record_stands_in_the_configuration() {
    let run = |settings| {
        let run = Run::new(settings, How::default(), ssdlab_lab::perf::Moment::now()).unwrap();
        run.open(&writes(20_000)).unwrap().simulate(&Outputs::default(), &mut ()).unwrap().outcome.summary
    };
    let mut mine = run(scripted(true, || Script { copies: true, ..Script::default() }));
    let native = run(Settings::load(&tiny(&["gc.threshold=3 blocks"])).unwrap());
    assert!(mine.gc.collections > 1000);
    assert!(
        json(&mine).contains("\"victim\": {\n        \"python\": \"tests:Script\",\n        \"source\": null\n      }")
    );
    assert_ne!(mine.config_digest, native.config_digest);
    (mine.config, mine.config_digest) = (native.config.clone(), native.config_digest.clone());
    assert_eq!(json(&mine), json(&native));
}

#[test]
fn a_failure_ends_the_run_with_its_place() {
    let run = |script: fn() -> Script| {
        let run = Run::new(scripted(true, script), How::default(), ssdlab_lab::perf::Moment::now()).unwrap();
        match run.open(&writes(20_000)).unwrap().simulate(&Outputs::default(), &mut ()) {
            Err(error) => error,
            Ok(_) => panic!("the run ends"),
        }
    };
    let error = run(|| Script { fails_at: 50, ..Script::default() });
    let Kind::Policy(fault) = &error.kind else { panic!("{error}") };
    assert!(fault.now > Nanos::ZERO && fault.plane.0 < 4, "{fault:?}");
    assert!(error.message.contains("division by zero") && error.message.contains("schemes.victim at"), "{error}");
    let error = run(|| Script { fails_at: 50, answer: Some(-1), ..Script::default() });
    assert!(error.message.contains("pick returned -1, but there are"), "{error}");
    let error = run(|| Script { fails_at: 50, answer: Some(1 << 40), ..Script::default() });
    assert!(error.message.contains("pick returned 1099511627776"), "{error}");
}

/// Collects the first block, whether or not that frees a page.
struct First;

impl VictimScript for First {
    fn pick(&mut self, _view: &View, _plane: PlaneId) -> Result<Option<i64>, Failure> {
        Ok(Some(0))
    }
    fn seed(&mut self, _seed: u64) -> Result<(), Failure> {
        Ok(())
    }
    fn copy(&self) -> Result<Self, Failure> {
        Ok(First)
    }
}

#[test]
fn a_policy_that_frees_nothing_ends_the_filling() {
    let mut config = Settings::load(&tiny(&["gc.threshold=3 blocks", "precondition.mode=random"])).unwrap().config;
    config.schemes.victim = outside::victim(record(), false, || Ok(First));
    let error = LiveDevice::new(&config, 5, Check::Full).map(|_| ()).unwrap_err();
    assert!(error.message.contains("without an invalid page 33 times in a row"), "{error}");
}

fn submit_random(device: &mut LiveDevice, from: u64, count: u64) {
    let mut rng = stream(from, "outside");
    let pages = device.capacity_bytes() / 4096;
    let asks: Vec<Ask> = (from..from + count)
        .map(|i| Ask {
            op: Op::Write,
            offset: below(&mut rng, pages) * 4096,
            bytes: 4096,
            at: Some(Nanos(i * 300_000)),
        })
        .collect();
    device.submit_many(&asks).unwrap();
}

#[test]
fn a_copy_of_the_device_copies_the_policy() {
    let config = scripted(true, || Script { copies: true, ..Script::default() }).config;
    let mut device = LiveDevice::new(&config, 5, Check::Full).unwrap();
    submit_random(&mut device, 0, 3000);
    device.advance(Nanos(500_000_000)).unwrap();
    let mut copy = device.clone();
    for device in [&mut device, &mut copy] {
        submit_random(device, 3000, 3000);
        device.run().unwrap();
    }
    assert_eq!(json(&device.summary().unwrap()), json(&copy.summary().unwrap()));

    let config = scripted(true, Script::default).config;
    let mut device = LiveDevice::new(&config, 5, Check::Full).unwrap();
    submit_random(&mut device, 0, 3000);
    device.advance(Nanos(500_000_000)).unwrap();
    let error = device.clone().run().unwrap_err();
    assert!(error.message.contains("a lock can't be copied"), "{error}");
    device.run().unwrap();
}

/// The reference is the engine without shortcuts.
#[test]
fn closing_times_and_write_points_do_not_depend_on_shortcuts() {
    let seen = |fusing: bool| {
        let seen = Seen::default();
        let mine = seen.clone();
        let config = scripted(true, move || Script { copies: true, seen: mine.clone(), ..Script::default() }).config;
        // The full check asks the policy more often where shortcuts take it at its word.
        let mut ssd = Ssd::new(&config, 5, Check::Sampled).unwrap();
        ssd.set_fusing(fusing);
        let mut rng = stream(1, "closings");
        for i in 0..6000u64 {
            let offset = below(&mut rng, ssd.capacity_bytes() / 4096) * 4096;
            let (arrival, op) = (Nanos(i * 300_000), ssdlab_sim::RequestOp::Write);
            while !ssd.accepts() {
                ssd.run_until_room();
            }
            ssd.submit(ssdlab_sim::Request { arrival, op, offset, bytes: 4096 });
        }
        ssd.run();
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let (with, without) = (seen(true), seen(false));
    assert_eq!(with, without);
    let last = with.last().unwrap();
    assert!(last.2.iter().any(|at| *at > 0) && last.3.contains(&0) && last.3.contains(&1), "{last:?}");
    // Blocks are closed in the order of their times.
    assert!(with.iter().all(|(_, _, at, _)| at.iter().all(|at| *at < 6000 * 300_000 * 2)));
}

struct Below(u32);

impl TriggerScript for Below {
    fn due(&mut self, sight: &TriggerSight) -> Result<bool, Failure> {
        assert!(sight.free_pages <= sight.pages_per_plane && sight.closed > 0);
        match self.0 {
            0 => Err("no".to_string().into()),
            floor => Ok(sight.free_pages < floor),
        }
    }
    fn copy(&self) -> Result<Self, Failure> {
        Ok(Below(self.0))
    }
}

#[test]
fn a_scripted_trigger_gives_the_bytes_of_idle_and_its_failure_ends_the_run() {
    let settings = || Settings::load(&tiny(&["gc.threshold=3 blocks"])).unwrap().config;
    let after = Nanos(2_000_000);
    let simulate = |config: &Config| {
        let mut device = LiveDevice::new(config, 5, Check::Full).unwrap();
        for burst in 0..40 {
            submit_random(&mut device, 1000 * burst, 50);
        }
        device.run().map(|_| device.summary().unwrap())
    };
    let with = |floor| {
        let mut config = settings();
        config.schemes.trigger = outside::trigger(record(), after, config.gc.threshold, move || Ok(Below(floor)));
        simulate(&config)
    };
    let mut idle = settings();
    idle.schemes.trigger = serde_json::from_str(r#"{ "idle": { "after": "2ms", "below": "6 blocks" } }"#).unwrap();
    let (native, mut mine) = (simulate(&idle).unwrap(), with(6 * 32).unwrap());
    assert_ne!(json(&native), json(&simulate(&settings()).unwrap()));
    (mine.config, mine.config_digest) = (native.config.clone(), native.config_digest.clone());
    assert_eq!(json(&native), json(&mine));
    let error = with(0).unwrap_err();
    assert!(error.message.starts_with("schemes.trigger at"), "{error}");
}
