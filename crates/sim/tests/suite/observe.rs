//! Observers' records agree with the counters, and observing changes nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::common::config;
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Completed, Config, LegRecord, Observer, Request, RequestOp, Resource, Sample, Ssd};

#[derive(Default)]
struct Seen {
    arrived: u64,
    completed: Vec<Completed>,
    legs: Vec<LegRecord>,
    samples: Vec<Sample>,
}

#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Seen>>);

impl Observer for Watch {
    fn arrived(&mut self, number: u64, request: &Request) {
        let mut seen = self.0.lock().unwrap();
        assert_eq!(number, seen.arrived, "numbered in order of arrival");
        assert!(request.bytes > 0);
        seen.arrived += 1;
    }
    fn completed(&mut self, request: &Completed) {
        self.0.lock().unwrap().completed.push(request.clone());
    }
    fn leg(&mut self, leg: &LegRecord) {
        self.0.lock().unwrap().legs.push(*leg);
    }
    fn sample_at(&self) -> Nanos {
        Nanos(1_000_000 * (1 + self.0.lock().unwrap().samples.len() as u64))
    }
    fn sample(&mut self, sample: &Sample) {
        let sample_at = self.sample_at();
        assert_eq!(sample.at, sample_at, "the time that it asked for");
        let mut seen = self.0.lock().unwrap();
        assert_eq!(sample.pending, seen.arrived - seen.completed.len() as u64);
        seen.samples.push(sample.clone());
    }
}

const WORLD: &str = r#"
geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 12, pages_per_block = 8 }
precondition = { mode = "random" }
"#;

/// Configurations, in addition to the geometry.
const WORLDS: [&str; 9] = [
    "device = { over_provisioning = 0.35 }",
    "device = { over_provisioning = 0.35 }\ntiming = { cache_register = true, command = \"200ns\" }",
    "device = { over_provisioning = 0.35 }\ntiming = { suspendable = \"program+erase\", suspend = \"10us\", resume = \"5us\" }",
    "device = { over_provisioning = 0.35, multi_plane = true }\nschemes = { path = \"copyback\" }",
    "device = { over_provisioning = 0.35, write_ack = \"after_transfer\" }\ntiming = { host_link = \"500MB/s\" }",
    "device = { over_provisioning = 0.35, exclusion = \"channel\" }\nschemes = { collector = \"queued\", place = \"dynamic\" }",
    "device = { over_provisioning = 0.45 }\nschemes = { collector = \"pagc\", path = \"copyback\" }",
    "device = { over_provisioning = 0.35 }\ngc = { time = \"none\" }",
    "device = { over_provisioning = 0.35 }\nrun = { warmup = \"100 requests\" }\ngc = { destination = \"any\" }\nschemes = { place = \"dynamic\" }",
];

fn drive(ssd: &mut Ssd) -> String {
    let mut rng = ssdlab_sim::random::stream(3, "observe");
    let mut draw = |n| ssdlab_sim::random::below(&mut rng, n);
    let pages = ssd.capacity_bytes() / 4096;
    let mut at = 0;
    for _ in 0..600 {
        at += draw(400_000);
        let count = 1 + draw(3);
        let op = [RequestOp::Read, RequestOp::Write, RequestOp::Write, RequestOp::Trim][draw(4) as usize];
        ssd.submit(Request {
            arrival: Nanos(at),
            op,
            offset: 4096 * draw(pages - 3),
            bytes: 4096 * count - 512 * draw(3),
        });
    }
    ssd.run();
    format!("{:?}", ssd.summary(1, String::new(), String::new()))
}

fn world(extra: &str) -> Config {
    config(&format!("{WORLD}{extra}"))
}

#[test]
fn watching_changes_nothing() {
    for extra in WORLDS {
        let config = world(extra);
        let mut plain = Ssd::new(&config, 1, Check::Full).unwrap();
        let mut watched = Ssd::new(&config, 1, Check::Full).unwrap();
        watched.observe(Box::new(Watch::default()));
        assert_eq!(drive(&mut plain), drive(&mut watched), "{extra}");
    }
}

#[test]
fn legs_never_overlap_on_a_resource_and_are_all_the_work_there_is() {
    for extra in WORLDS {
        let mut ssd = Ssd::new(&world(extra), 1, Check::Full).unwrap();
        let watch = Watch::default();
        let before = ssd.sample().flash;
        ssd.observe(Box::new(watch.clone()));
        drive(&mut ssd);
        let after = ssd.sample();
        let seen = watch.0.lock().unwrap();
        assert_eq!((seen.arrived, seen.completed.len(), after.pending), (600, 600, 0), "{extra}");

        let mut tracks: BTreeMap<String, Vec<&LegRecord>> = BTreeMap::new();
        for leg in &seen.legs {
            assert!(leg.start < leg.end, "{extra}: {leg:?}");
            if leg.resource == Resource::Planes {
                assert_eq!(leg.kind, LegKind::Array);
                leg.planes().for_each(|plane| tracks.entry(format!("{plane:?}")).or_default().push(leg));
            } else {
                tracks.entry(format!("{:?}", leg.resource)).or_default().push(leg);
            }
        }
        for (track, mut legs) in tracks {
            legs.sort_by_key(|leg| leg.start);
            for pair in legs.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{extra}: {track}: {pair:?}");
            }
        }

        // Every programmed page has one array leg, except suspended ones, which have several.
        let array = |class: Class, verb: Verb| {
            let of = |leg: &&LegRecord| leg.kind == LegKind::Array && leg.class == class && leg.verb == verb;
            seen.legs.iter().filter(of).map(|leg| leg.planes().count() as u64).sum::<u64>()
        };
        let (timed, suspends) = (!extra.contains("time = \"none\""), extra.contains("suspendable"));
        let same = |legs: u64, counted: u64, what: &str| {
            assert!(legs == counted || (suspends && legs > counted), "{extra}: {what}: {legs} legs for {counted}");
        };
        let flash = &after.flash;
        same(array(Class::Host, Verb::Read), flash.reads.host - before.reads.host, "host reads");
        same(array(Class::Host, Verb::Program), flash.programs.host - before.programs.host, "host programs");
        if timed {
            assert!(after.collections > 0, "{extra}");
            same(array(Class::Gc, Verb::Read), flash.reads.gc - before.reads.gc, "moved pages read");
            same(array(Class::Gc, Verb::Program), flash.programs.gc - before.programs.gc, "moved pages programmed");
            same(array(Class::Gc, Verb::Erase), flash.erases - before.erases, "erases");
            same(array(Class::Gc, Verb::Copyback), flash.copybacks - before.copybacks, "copybacks");
        }

        // Legs of the host belong to requests: none begins before its request arrives.
        let arrivals: BTreeMap<u64, Nanos> = seen.completed.iter().map(|c| (c.request, c.arrival)).collect();
        for leg in seen.legs.iter().filter(|leg| leg.class == Class::Host) {
            assert!(leg.start >= arrivals[&leg.number], "{extra}: {leg:?}");
        }
        // A request's own array time is in its causes: what one page of it spent there, never more than its legs.
        let measured = seen.completed.iter().filter(|c| c.measured).count();
        assert_eq!(measured, if extra.contains("warmup") { 500 } else { 600 }, "{extra}");
        assert!(seen.samples.len() > 50);
    }
}
