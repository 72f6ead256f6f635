//! When replies leave, and that a recorded session replays to the nanosecond.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::results::requests::RequestRows;
use ssdlab_lab::results::sheet::Place as To;
use ssdlab_lab::run::{How, Outputs, Run};
use ssdlab_serve::Speed;

use crate::bench::{Bench, SMALL, drive};
use crate::nbd::{FLUSH, FUA, Nbd, READ, TRIM, WRITE, ZEROES};

/// The rows of a file of requests: arrival, operation and latency.
fn rows(path: &Path) -> Vec<(u64, String, u64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column =
        |name: &str| names.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name} in {names:?}"));
    let (arrival, op, latency) = (column("arrival_ns"), column("op"), column("latency_ns"));
    lines.map(|line| (line[arrival].parse().unwrap(), line[op].into(), line[latency].parse().unwrap())).collect()
}

/// The rows that `ssdlab run` gives for a recording.
fn replayed(text: &str, recording: &Path, to: &Path) -> Vec<(u64, String, u64)> {
    let run = Run::new(drive(text), How::default(), Moment::now()).unwrap();
    let requests = Requests::new(Origin::Trace(recording.into()));
    let outputs = Outputs::default().with(RequestRows(To::File(to.into())));
    run.open(&requests).unwrap().simulate(&outputs, &mut ()).unwrap().publish().unwrap();
    rows(to)
}

/// The example of the contract: a write of 4 KiB takes 5,120 + 600,000 ns, a read 50,000 + 5,120 ns; with a cache both take the time
/// of its memory.
#[test]
fn a_write_and_a_read_take_their_exact_time() {
    for (text, times) in [("", [605_120, 55_120]), ("cache = { size = \"1MiB\", time = \"1us\" }", [1_000, 1_000])] {
        let mut bench = Bench::with(text, Speed::Max, |folder, settings| {
            settings.outputs = Outputs::default().with(RequestRows(To::File(folder.join("rows.csv"))));
            settings.record = Some(folder.join("session.txt"));
        })
        .unwrap();
        let mut client = Nbd::connect(&bench.socket());
        assert_eq!((client.flags, client.sizes), (0b1_0110_1101, [512, 4096, 32 << 20]));
        assert_eq!(client.write(0, 0, &[9; 4096]), 0);
        assert_eq!(client.read(0, 4096), Ok(vec![9; 4096]));
        drop(client);
        let served = bench.end();
        assert_eq!(served.lag, None, "nothing waited");
        let all = rows(&bench.path("rows.csv"));
        assert_eq!(all.iter().map(|row| row.2).collect::<Vec<_>>(), times);
        assert_eq!(all, replayed(text, &bench.path("session.txt"), &bench.path("again.csv")));
        let recorded = std::fs::read_to_string(bench.path("session.txt")).unwrap();
        assert_eq!(recorded.lines().count(), 2, "{recorded}");
    }
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A client with up to 16 random requests at a time in its own part of the drive, which compares all that it reads.
fn mix(socket: &Path, number: u64, requests: u64) {
    const PART: u64 = 4 << 20;
    let mut client = Nbd::connect(socket);
    let (first, mut draw) = (number * PART, Draw(number + 1));
    let mut model = vec![0u8; PART as usize];
    let mut open: BTreeMap<u64, Option<Vec<u8>>> = BTreeMap::new();
    let receive = |client: &mut Nbd, open: &mut BTreeMap<u64, Option<Vec<u8>>>| {
        let (cookie, error) = client.receive().unwrap();
        assert_eq!(error, 0);
        if let Some(expected) = open.remove(&cookie).expect("a request has one reply") {
            assert!(client.data(expected.len()) == expected, "client {number}: a read returns what was written before");
        }
    };
    for i in 0..requests {
        while open.len() > draw.below(16) as usize {
            receive(&mut client, &mut open);
        }
        let sectors = [1, 8, 8, 8, 20, 64][draw.below(6) as usize];
        let at = draw.below(PART / 512 - sectors) / if sectors == 8 { 8 } else { 1 } * if sectors == 8 { 8 } else { 1 };
        let (offset, bytes) = (first + at * 512, sectors as u32 * 512);
        let range = (at * 512) as usize..((at + sectors) * 512) as usize;
        let fua = if draw.below(6) == 0 { FUA } else { 0 };
        let (cookie, read) = match draw.below(12) {
            0..5 => (client.send(READ, 0, offset, bytes, &[]), Some(model[range].to_vec())),
            5..9 => {
                model[range.clone()].fill(1 + i as u8 % 250);
                (client.send(WRITE, fua, offset, bytes, &model[range]), None)
            }
            9 => {
                model[range].fill(0);
                (client.send(ZEROES, fua, offset, bytes, &[]), None)
            }
            10 => {
                // Whole pages are discarded; the drive returns zeros for them.
                let (from, to) = (range.start.div_ceil(4096) * 4096, range.end / 4096 * 4096);
                if from < to {
                    model[from..to].fill(0);
                }
                (client.send(TRIM, 0, offset, bytes, &[]), None)
            }
            _ => (client.send(FLUSH, 0, 0, 0, &[]), None),
        };
        open.insert(cookie, read);
    }
    while !open.is_empty() {
        receive(&mut client, &mut open);
    }
}

/// Four clients at once, with and without a write cache, in no time and in real time: what they read is right, and the replay of the
/// recording has the same latencies, request by request.
#[test]
fn a_recorded_session_replays_to_the_nanosecond() {
    let without_cache = SMALL.lines().filter(|line| !line.starts_with("cache")).collect::<Vec<_>>().join("\n");
    for (text, speed) in [(SMALL, Speed::Max), (&without_cache, Speed::Max), (SMALL, "5".parse().unwrap())] {
        let mut bench = Bench::with(text, speed, |folder, settings| {
            settings.outputs = Outputs::default().with(RequestRows(To::File(folder.join("rows.csv"))));
            settings.record = Some(folder.join("session.txt"));
        })
        .unwrap();
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let socket = bench.socket();
                std::thread::spawn(move || mix(&socket, number, if speed == Speed::Max { 4_000 } else { 400 }))
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        let served = bench.end();
        // The replies of this session were compared with the replay by the server; here is the replay of its file.
        let all = rows(&bench.path("rows.csv"));
        assert!(all.len() > 1_000, "{} rows", all.len());
        assert_eq!(all, replayed(text, &bench.path("session.txt"), &bench.path("again.csv")));
        let summary = &served.outcome.unwrap().outcome.summary;
        if speed == Speed::Max {
            assert!(
                summary.write_amplification_bytes.is_some_and(|wa| wa > 1.0),
                "{:?}",
                summary.write_amplification_bytes
            );
            assert_eq!(served.lag, None);
        } else {
            let lag = served.lag.unwrap();
            assert!(lag.replies > 1_000 && lag.p50_ns <= lag.p99_ns && lag.p99_ns <= lag.max_ns);
        }
    }
}

/// A reply leaves when the drive would have completed, in slow motion: never earlier.
#[test]
fn replies_wait_for_their_time() {
    let mut bench = Bench::new("", "0.02".parse().unwrap());
    let mut client = Nbd::connect(&bench.socket());
    let mut timed = |least: Duration, work: &mut dyn FnMut(&mut Nbd)| {
        let from = Instant::now();
        work(&mut client);
        assert!(from.elapsed() >= least, "{:?} of {least:?}", from.elapsed());
    };
    timed(Duration::from_nanos(605_120 * 50), &mut |client| assert_eq!(client.write(0, 0, &[1; 4096]), 0));
    for _ in 0..5 {
        timed(Duration::from_nanos(55_120 * 50), &mut |client| drop(client.read(0, 4096).unwrap()));
    }
    drop(client);
    let served = bench.end();
    let outcome = served.outcome.unwrap().outcome;
    assert_eq!(outcome.summary.latency_ns.read.max, Some(55_120));
    assert_eq!(served.lag.unwrap().replies, 6);
}
