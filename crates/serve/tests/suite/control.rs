//! Orders by the control socket: power cuts under clients, snapshots, changed keys, and what is no order.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value as Json, json};
use ssdlab_disk::Check;
use ssdlab_serve::Speed;

use crate::bench::{Bench, SMALL};
use crate::nbd::{FLUSH, FUA, Nbd, WRITE};

struct Control(BufReader<UnixStream>);

impl Control {
    fn connect(bench: &Bench) -> Control {
        let stream = UnixStream::connect(bench.path("control")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Control(BufReader::new(stream))
    }

    fn say(&mut self, line: &str) -> Json {
        writeln!(self.0.get_mut(), "{line}").unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// An order that is obeyed.
    fn order(&mut self, line: &str) -> Json {
        let answer = self.say(line);
        assert_eq!(answer["ok"], true, "{line}: {answer}");
        answer
    }

    /// Why an order is not obeyed.
    fn refused(&mut self, line: &str) -> String {
        let answer = self.say(line);
        assert_eq!(answer["ok"], false, "{line}: {answer}");
        answer.to_string()
    }
}

fn bench(check: Check) -> Bench {
    let settings = |folder: &std::path::Path, settings: &mut ssdlab_serve::Settings| {
        settings.how.check = check;
        settings.control = Some(folder.join("control"));
        settings.record = Some(folder.join("session.txt"));
    };
    Bench::with(SMALL, Speed::Max, settings).unwrap()
}

/// The drive loses what was only in its cache, its clients lose their connections, and the recording has what came before.
#[test]
fn a_power_cut_takes_what_the_drive_loses() {
    let mut bench = bench(Check::Full);
    let (mut control, mut client) = (Control::connect(&bench), Nbd::connect(&bench.socket()));
    assert_eq!(client.write(0, 0, &[1; 8192]), 0);
    assert_eq!(client.call(FLUSH, 0, 0, 0), 0);
    assert_eq!(client.write(0, 0, &[2; 4096]), 0);
    let before = control.order(r#"{"cmd": "stats"}"#);
    assert_eq!(
        (&before["requests"], &before["power_cuts"], &before["recording"]),
        (&json!(3), &json!(0), &json!(true))
    );
    let cut = control.order(r#"{"cmd": "power_cut"}"#);
    assert_eq!((&cut["lost_bytes"], &cut["aborted"]), (&json!({ "volatile": 4096 }), &json!(0)), "{cut}");
    assert!(client.receive().is_err(), "the connection has ended");
    let mut again = Nbd::connect(&bench.socket());
    assert_eq!(again.read(0, 8192), Ok(vec![1; 8192]), "what was flushed is there");
    let after = control.order(r#"{"cmd": "stats"}"#);
    assert_eq!((&after["power_cuts"], &after["recording"]), (&json!(1), &json!(false)));
    drop((again, control));
    let summary = bench.end().outcome.unwrap().outcome.summary;
    assert_eq!((summary.requests.write, summary.requests.read), (2, 0));
    assert_eq!(std::fs::read_to_string(bench.path("session.txt")).unwrap().lines().count(), 3);
}

/// Writes as of a file system that journals: data, flush, commit with FUA. After a cut every block has what was flushed last, or a later
/// write. 1,000 cuts with `SSDLAB_LONG`.
#[test]
fn cuts_leave_what_was_flushed() {
    let cuts = if std::env::var_os("SSDLAB_LONG").is_some() { 1_000 } else { 25 };
    let mut bench = bench(Check::Full);
    let mut control = Control::connect(&bench);
    // By block: the value that is safe, and the newest one.
    let mut blocks = [(0u8, 0u8); 64];
    let (mut lost, mut draw) = (0, 7u64);
    let mut below = |bound: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) % bound
    };
    for cut in 0..cuts {
        let mut client = Nbd::connect(&bench.socket());
        for (block, (safe, newest)) in blocks.iter_mut().enumerate() {
            let data = client.read(block as u64 * 4096, 4096).unwrap();
            assert!(data.iter().all(|byte| *byte == data[0]), "block {block} is whole after cut {cut}");
            // Values of a block grow by one, from 0 again after 255.
            let (age, most) = (newest.wrapping_sub(data[0]), newest.wrapping_sub(*safe));
            assert!(
                age <= most,
                "block {block} holds {} after cut {cut}, {safe} was flushed, {newest} written",
                data[0]
            );
            lost += u64::from(age > 0);
            (*safe, *newest) = (data[0], data[0]);
        }
        for _ in 0..1 + below(3) {
            for _ in 0..below(12) {
                let block = 1 + below(63);
                let newest = &mut blocks[block as usize].1;
                *newest = newest.wrapping_add(1);
                assert_eq!(client.write(0, block * 4096, &[*newest; 4096]), 0);
            }
            assert_eq!(client.call(FLUSH, 0, 0, 0), 0);
            blocks[0].1 = blocks[0].1.wrapping_add(1);
            assert_eq!(client.write(FUA, 0, &[blocks[0].1; 4096]), 0);
            blocks.iter_mut().for_each(|(safe, newest)| *safe = *newest);
        }
        // What comes now may be lost, whether or not it is acknowledged.
        for _ in 0..below(20) {
            let block = 1 + below(63);
            let newest = &mut blocks[block as usize].1;
            *newest = newest.wrapping_add(1);
            client.send(WRITE, 0, block * 4096, 4096, &[*newest; 4096]);
        }
        control.order(r#"{"cmd": "power_cut"}"#);
    }
    assert!(lost > cuts / 2, "{lost} blocks lost unflushed data in {cuts} cuts");
    drop(control);
    bench.end();
}

#[test]
fn snapshots_return_and_keys_change() {
    let mut bench = bench(Check::Sampled);
    let (mut control, mut client) = (Control::connect(&bench), Nbd::connect(&bench.socket()));
    assert_eq!(client.write(0, 0, &[1; 4096]), 0);
    control.order(r#"{"cmd": "snapshot", "name": "a"}"#);
    assert_eq!(client.write(0, 0, &[2; 4096]), 0);
    assert!(control.refused(r#"{"cmd": "set", "key": "geometry.channels", "value": 4}"#).contains("is the device"));
    assert!(control.refused(r#"{"cmd": "set", "key": "gc.tine", "value": 4}"#).contains("gc.time"));
    assert_eq!(control.order(r#"{"cmd": "stats"}"#)["recording"], true, "what is refused changes nothing");
    control.order(r#"{"cmd": "set", "key": "cache.time", "value": "9us"}"#);
    assert_eq!(client.read(0, 4096), Ok(vec![2; 4096]));
    assert!(control.refused(r#"{"cmd": "restore", "name": "b"}"#).contains("no snapshot b"));
    control.order(r#"{"cmd": "restore", "name": "a"}"#);
    assert!(client.receive().is_err(), "the connection has ended");
    let mut again = Nbd::connect(&bench.socket());
    assert_eq!(again.read(0, 4096), Ok(vec![1; 4096]));
    assert!(control.refused(r#"{"cmd": "power_cut"}"#).contains("--check full"));
    for no_order in ["", "{}", "stats", r#"{"cmd": "stop"}"#, r#"{"cmd": "set"}"#, "\u{0}"] {
        assert!(control.refused(no_order).contains("power_cut"), "{no_order:?}");
    }
    assert!(control.refused(&" ".repeat(5_000)).contains("no order"));
    assert_eq!(Control::connect(&bench).order(r#"{"cmd": "stats"}"#)["snapshots"], json!(["a"]));
    drop((again, control));
    bench.end();
}

#[test]
fn data_in_a_file_is_not_what_a_snapshot_keeps() {
    let file = |folder: &std::path::Path, settings: &mut ssdlab_serve::Settings| {
        settings.control = Some(folder.join("control"));
        settings.data = Some(folder.join("data"));
    };
    let mut bench = Bench::with(SMALL, Speed::Max, file).unwrap();
    let mut control = Control::connect(&bench);
    assert!(control.refused(r#"{"cmd": "snapshot", "name": "a"}"#).contains("--data"));
    assert!(control.refused(r#"{"cmd": "power_cut"}"#).contains("in memory"));
    drop(control);
    bench.end();
}
