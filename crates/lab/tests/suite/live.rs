//! Live devices: times, copies and refusals.

use proptest::prelude::*;
use ssdlab_lab::error::Class;
use ssdlab_lab::live::{Address, Ask, LiveDevice, PagePlace};
use ssdlab_lab::tree::json;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, RequestOp as Op};

fn device(toml: &str) -> LiveDevice {
    let config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}"));
    LiveDevice::new(&config, 1, Check::Full).unwrap_or_else(|error| panic!("{error}"))
}

const SMALL: &str = "geometry = { channels = 2, chips_per_channel = 1, blocks_per_plane = 16, pages_per_block = 8 }
device.over_provisioning = 0.4";

fn at(ns: u64) -> Option<Nanos> {
    Some(Nanos(ns))
}

#[test]
fn time_advances_to_what_was_asked_and_nothing_happens_at_it() {
    let mut device = device("");
    device.submit(Op::Write, 0, 4096, at(0)).unwrap();
    assert_eq!((device.next_event(), device.pending()), (at(0), 1));
    assert_eq!(device.advance(Nanos(605_120)).unwrap(), 0);
    assert_eq!((device.now(), device.next_event(), device.pending()), (Nanos(605_120), at(605_120), 1));
    assert_eq!(device.lookup(0).unwrap(), PagePlace::Memory);
    assert_eq!(device.advance(Nanos(605_121)).unwrap(), 1);
    assert_eq!((device.now(), device.next_event(), device.pending()), (Nanos(605_121), None, 0));
    let first = Address { channel: 0, chip: 0, die: 0, plane: 0, block: 0, page: 0 };
    assert_eq!(device.lookup(0).unwrap(), PagePlace::Flash(first));
    assert_eq!(device.lookup(4095).unwrap(), PagePlace::Flash(first));
    assert_eq!(device.lookup(4096).unwrap(), PagePlace::Nowhere);
    // A request that arrives now is served in the next call.
    device.submit(Op::Read, 0, 4096, None).unwrap();
    assert_eq!(device.run().unwrap(), 1);
    assert_eq!(device.now(), Nanos(605_121 + 55_120));
    assert_eq!(device.poll().iter().map(|row| row.completion.0).collect::<Vec<_>>(), [605_120, 605_121 + 55_120]);
    assert!(device.poll().is_empty());
}

#[test]
fn a_flush_is_counted_and_has_no_number() {
    let mut device = device("");
    assert_eq!(device.submit(Op::Write, 0, 4096, None).unwrap(), Some(0));
    assert_eq!(device.submit(Op::Flush, 0, 0, None).unwrap(), None);
    assert_eq!(device.submit(Op::Trim, 0, 4096, None).unwrap(), Some(1));
    assert_eq!(device.run().unwrap(), 2);
    assert_eq!(device.poll().len(), 2);
    let requests = device.summary().unwrap().requests;
    assert_eq!((requests.write, requests.trim, requests.skipped), (1, 1, 1));
}

#[test]
fn what_cannot_be_submitted_is_refused_with_both_numbers_and_changes_nothing() {
    let mut device = device("");
    device.advance(Nanos(500)).unwrap();
    let told = |device: &mut LiveDevice, op, offset, bytes, at| {
        let error = device.submit(op, offset, bytes, at).unwrap_err();
        assert_eq!(error.class(), Class::Usage);
        error.message
    };
    let (write, capacity) = (Op::Write, device.capacity_bytes());
    assert_eq!(told(&mut device, write, 0, 512, at(499)), "the request arrives at 499 ns, but it is already 500 ns");
    device.submit(write, 0, 512, at(900)).unwrap();
    assert_eq!(
        told(&mut device, write, 0, 512, None),
        "the request arrives at 500 ns, but the request before it arrives at 900 ns"
    );
    assert_eq!(
        told(&mut device, write, 0, 100, at(900)),
        "a request of 100 bytes at byte 0 is not one of whole sectors"
    );
    assert!(told(&mut device, write, capacity, 512, at(900)).ends_with("ends beyond the device"));
    let ask = |at| Ask { op: write, offset: 0, bytes: 512, at: Some(Nanos(at)) };
    let error = device.submit_many(&[ask(1000), ask(999)]).unwrap_err();
    assert_eq!(error.notes, ["it is request 1 of 2"]);
    assert_eq!(device.pending(), 1);
    assert_eq!(
        device.advance(Nanos(499)).unwrap_err().message,
        "the device can't advance to 499 ns: it is already 500 ns"
    );
    assert!(device.lookup(capacity).is_err());
    assert!(device.fail_chip(0).unwrap_err().message.contains("do not fail"));
    assert!(device.fail_chip(10_000).unwrap_err().message.contains("no chip"));
}

#[test]
fn a_write_that_has_no_handle_is_refused_or_counted() {
    let config = |more: &str| format!("{SMALL}\nfdp = {{ handles = 2, assign = {{ stream = {{ log = 1 }} }}{more} }}");
    let mut refusing = device(&config(""));
    let error = refusing.submit(Op::Write, 4096, 4096, None).unwrap_err();
    assert_eq!(error.message, "the write at byte 4096 has no handle by fdp.assign");
    refusing.submit(Op::Read, 4096, 4096, None).unwrap();
    let mut counting = device(&config(", unknown = 1"));
    counting.submit(Op::Write, 4096, 4096, None).unwrap();
    counting.submit(Op::Read, 4096, 4096, None).unwrap();
    counting.run().unwrap();
    let fdp = counting.summary().unwrap().fdp.unwrap();
    assert_eq!((fdp.unknown, fdp.handles[0].host_pages, fdp.handles[1].host_pages), (1, 0, 1));
}

#[test]
fn power_is_cut_now_and_a_device_without_every_page_refuses() {
    let mut cut = device(SMALL);
    cut.submit(Op::Write, 0, 4096, at(0)).unwrap();
    cut.advance(Nanos(300_000)).unwrap();
    cut.power_cut().unwrap();
    assert_eq!((cut.pending(), cut.lookup(0).unwrap()), (0, PagePlace::Nowhere));
    let cuts = cut.summary().unwrap();
    assert_eq!(cuts.power_cuts[0].at, Nanos(300_000));
    let mut sampled = LiveDevice::new(&Config::default(), 1, Check::Sampled).unwrap();
    assert!(sampled.power_cut().unwrap_err().help[0].contains("full"));
}

#[test]
fn more_requests_than_the_ring_takes_wait_without_effect() {
    let asks: Vec<Ask> =
        (0..10_000).map(|i| Ask { op: Op::Read, offset: i % 64 * 4096, bytes: 4096, at: at(i * 100) }).collect();
    let mut whole = device(SMALL);
    whole.submit_many(&asks).unwrap();
    whole.run().unwrap();
    let mut steps = device(SMALL);
    steps.submit_many(&asks).unwrap();
    for ns in (0..20_000_000).step_by(333_333) {
        steps.advance(Nanos(ns)).unwrap();
    }
    steps.run().unwrap();
    assert_eq!(steps.poll().len(), 10_000);
    // The chips that are in use when a request arrives are counted when the device sees it.
    let (mut one, mut other) = (whole.summary().unwrap(), steps.summary().unwrap());
    one.utilisation.chip_at_arrival = None;
    other.utilisation.chip_at_arrival = None;
    assert_eq!(json(&one), json(&other));
}

fn asks() -> impl Strategy<Value = Vec<(u8, u64, u64, u64)>> {
    prop::collection::vec((0u8..4, 0u64..100, 1u64..5, 0u64..400_000), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every request has a row whose causes sum to its latency; steps of any size give the results of one run; a copy that is
    /// fed the same requests gives the same bytes.
    #[test]
    fn rows_causes_steps_and_copies(asks in asks(), cut in 0usize..120, step in 1u64..900_000) {
        let toml = format!("{SMALL}\nprecondition.mode = \"random\"");
        let mut now = 0;
        let asks: Vec<Ask> = asks.into_iter().map(|(op, page, pages, gap)| {
            now += gap;
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][usize::from(op)];
            Ask { op, offset: page * 2048, bytes: pages * 2048, at: at(now) }
        }).collect();
        let mut whole = device(&toml);
        whole.submit_many(&asks).unwrap();
        whole.run().unwrap();
        let mut stepped = device(&toml);
        let mut copy = None;
        for (i, ask) in asks.iter().enumerate() {
            if i == cut.min(asks.len() - 1) {
                copy = Some(stepped.clone());
            }
            for device in [Some(&mut stepped), copy.as_mut()].into_iter().flatten() {
                let time = ask.at.unwrap().0;
                let from = device.now().0;
                for ns in (from..time).step_by(step as usize) {
                    device.advance(Nanos(ns)).unwrap();
                }
                device.submit_many(&[*ask]).unwrap();
            }
        }
        let mut copy = copy.unwrap();
        let want = json(&whole.summary().unwrap());
        for device in [&mut stepped, &mut copy] {
            device.run().unwrap();
            prop_assert_eq!(&json(&device.summary().unwrap()), &want);
        }
        for device in [&mut whole, &mut stepped, &mut copy] {
            let mut rows = device.poll();
            rows.sort_by_key(|row| row.request);
            prop_assert_eq!(rows.len(), asks.len());
            for (row, ask) in rows.iter().zip(&asks) {
                prop_assert_eq!((row.offset, row.bytes, Some(row.arrival)), (ask.offset, ask.bytes, ask.at));
                prop_assert_eq!(row.blame.waits() + row.blame.service(), (row.completion - row.arrival).0);
            }
        }
    }
}

fn changed(device: &LiveDevice, toml: &str) -> ssdlab_lab::error::Result<LiveDevice> {
    let old = device.config();
    let both = format!("{SMALL}\nprecondition.mode = \"random\"\n{toml}");
    assert_eq!(old.geometry.channels, 2);
    device.forked(&both.parse().unwrap_or_else(|error| panic!("{error}")))
}

/// 200 writes at random, one each 400 us: GC runs.
fn busy() -> LiveDevice {
    let mut device = device(&format!("{SMALL}\nprecondition.mode = \"random\""));
    write_more(&mut device, 0..200);
    device.advance(Nanos(40_000_000)).unwrap();
    device
}

fn write_more(device: &mut LiveDevice, range: std::ops::Range<u64>) {
    let asks: Vec<Ask> =
        range.map(|i| Ask { op: Op::Write, offset: i * 7919 % 100 * 4096, bytes: 4096, at: at(i * 400_000) }).collect();
    device.submit_many(&asks).unwrap();
}

#[test]
fn a_fork_without_changes_has_the_same_future_and_with_changes_another_one() {
    let mut device = busy();
    let mut same = changed(&device, "").unwrap();
    let mut free = changed(&device, "gc.time = \"none\"").unwrap();
    let mut slow = changed(&device, "timing.program = \"900us\"").unwrap();
    let mut fifo = changed(&device, "schemes.victim = \"fifo\"").unwrap();
    let mut deep = changed(&device, "device.queue_depth = 1\ngc.threshold = \"3 blocks\"").unwrap();
    for device in [&mut device, &mut same, &mut free, &mut slow, &mut fifo, &mut deep] {
        write_more(device, 200..400);
        device.run().unwrap();
        assert_eq!(device.poll().len(), 400);
    }
    let of = |device: &LiveDevice| device.summary().unwrap();
    assert_eq!(json(&of(&same)), json(&of(&device)));
    let mean = |device: &LiveDevice| of(device).latency_ns.write.mean.unwrap();
    assert!(mean(&free) < mean(&device) && mean(&slow) > mean(&device) && mean(&deep) >= mean(&device));
    assert_eq!(of(&fifo).config.schemes.victim.name(), "fifo");
    assert_ne!(of(&fifo).gc.moved_pages, of(&device).gc.moved_pages);
    assert_eq!(of(&free).gc.time_ns.read, of(&busy()).gc.time_ns.read, "collections before the fork took time");
}

#[test]
fn a_fork_refuses_what_is_the_device() {
    let device = busy();
    let told = |toml: &str| changed(&device, toml).map(|_| ()).unwrap_err().message;
    assert_eq!(
        told("ftl.write_points = \"shared\""),
        "ftl.write_points can't change on a running device: it decides what state a device has"
    );
    assert!(told("timing.cache_register = true").starts_with("timing.cache_register can't change"));
    assert!(told("cache.size = \"1MiB\"").starts_with("cache.size can't change on this running device: the lines"));
    // Schemes change while operations are in service.
    let mut other = changed(&device, "schemes.collector = \"queued\"\nschemes.order = \"sync-fifo\"").unwrap();
    write_more(&mut other, 300..500);
    other.run().unwrap();
}
