//! Written traces read back as the same requests, and a second, slow reader agrees on every line.

use crate::reference;
use proptest::prelude::*;
use ssdlab_trace::{Format, Names, Op, Options, Reader, Record, Source, Writer};
use std::io::Cursor;

/// Units of a format: time in ns, offset and size in bytes, and whether it has trims and volumes.
struct Units {
    format: &'static str,
    time: u64,
    offset: u64,
    size: u64,
    trims: bool,
    volumes: u32,
}

const fn units(format: &'static str, time: u64, offset: u64, size: u64, trims: bool, volumes: u32) -> Units {
    Units { format, time, offset, size, trims, volumes }
}

const FORMATS: &[Units] = &[
    units("msr", 100, 1, 1, false, 3),
    units("spc", 1, 512, 1, false, 3),
    units("ssdsim", 1, 512, 512, false, 3),
    units("mqsim", 1, 512, 512, false, 3),
    units("disksim", 1, 512, 512, false, 3),
    units("blkparse", 1, 512, 512, true, 3),
    units("blkparse:D", 1, 512, 512, true, 3),
    units("fio", 1_000, 1, 1, true, 3),
    units("alibaba", 1_000, 1, 1, false, 3),
    units("tencent", 1_000_000_000, 512, 512, false, 3),
    units("systor", 1, 1, 1, false, 3),
    units("vscsi", 1_000, 512, 1, false, 1),
    units("diskmon", 1, 512, 512, false, 3),
    units("blkreplay", 1, 512, 512, true, 1),
    units("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4", 1, 1, 1, true, 3),
    units(
        "columns:time=4:s,op=1:0r'wr'w7t,offset=3:sectors,size=2:pages,vol=6,sep=tab,header=2,where=8:D",
        1,
        512,
        4096,
        true,
        3,
    ),
    units("columns:time=2:100ns,op=0,offset=3:256,size=1:bytes,sep=semicolon,skip=1", 1, 256, 1, true, 1),
    units("columns:time=0:us,op=3:0w1r,offset=1:sectors,size=2:sectors,sep=space", 1, 512, 512, false, 1),
];

/// Requests that the format can carry: arrivals in order, the first at 0, volumes numbered by first appearance.
fn records(units: &'static Units) -> impl Strategy<Value = Vec<Record>> {
    let one = (0..2_000_000_000u64, 0..1u64 << 42, 1..200_000u64, 0..units.volumes, 0..4u8);
    proptest::collection::vec(one, 1..60).prop_map(move |list| {
        let mut time = 0;
        let mut seen = Vec::new();
        list.into_iter()
            .enumerate()
            .map(|(i, (gap, offset, bytes, volume, op))| {
                time += if i == 0 { 0 } else { gap / units.time * units.time };
                if !seen.contains(&volume) {
                    seen.push(volume);
                }
                let volume = seen.iter().position(|v| *v == volume).unwrap_or(0) as u32;
                let op = match op {
                    0 | 1 => Op::Read,
                    3 if units.trims => Op::Trim,
                    _ => Op::Write,
                };
                let bytes = bytes.next_multiple_of(units.size);
                Record {
                    time_ns: time,
                    offset: offset / units.offset * units.offset,
                    bytes,
                    volume,
                    op,
                    fua: false,
                    stream: 0,
                }
            })
            .collect()
    })
}

fn write(format: &str, records: &[Record]) -> (Vec<u8>, ssdlab_trace::Losses) {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "out", format.parse().expect("format")).expect("writer");
    for record in records {
        writer.write(record, Names::default()).expect("the format carries it");
    }
    let losses = writer.finish().expect("memory");
    (bytes, losses)
}

fn read(format: Option<Format>, bytes: &[u8]) -> Result<Vec<Record>, ssdlab_trace::TraceError> {
    let source = Source::from_reader("out", Cursor::new(bytes.to_vec()))?;
    let mut reader = Reader::new(source, &Options { format, ..Options::default() })?;
    let mut records = Vec::new();
    while let Some(record) = reader.next()? {
        records.push(record);
    }
    Ok(records)
}

/// How many inputs are tried: a few for every run, more if `SSDLAB_FUZZ_CASES` says so.
fn cases(usual: u32) -> u32 {
    std::env::var("SSDLAB_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Where a format has flushes and forced unit access, they are written; elsewhere what is left out is counted.
#[test]
fn flushes_and_forced_writes_read_back() {
    let one = |time_ns, op, bytes, fua| Record { time_ns, offset: 0, bytes, volume: 0, op, fua, stream: 0 };
    let list = [
        one(0, Op::Write, 4096, true),
        one(5_000, Op::Flush, 0, false),
        one(7_000, Op::Write, 4096, false),
        one(9_000, Op::Flush, 0, false),
    ];
    for (format, flushes, fua) in [
        ("blkparse", 0, 0),
        ("fio", 0, 1),
        ("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,fua=4", 0, 0),
        ("columns:time=0:ns,op=1:'r'r'w'w't't'f'f,offset=2:bytes,size=3:bytes", 0, 1),
        ("columns:time=0:ns,op=1:0w1r,offset=2:bytes,size=3:bytes", 2, 1),
        ("ssdsim", 2, 1),
    ] {
        let (bytes, losses) = write(format, &list);
        assert_eq!((losses.flushes_left_out, losses.fua_left_out), (flushes, fua), "{format}");
        let source = Source::from_reader("out", Cursor::new(bytes.clone())).unwrap();
        let options = Options { format: Some(format.parse().unwrap()), flushes: true, ..Options::default() };
        let mut reader = Reader::new(source, &options).unwrap();
        let mut back = Vec::new();
        while let Some(record) = reader.next().unwrap_or_else(|error| panic!("{error}")) {
            back.push(record);
        }
        let kept = |record: &&Record| flushes == 0 || record.op != Op::Flush;
        let expected: Vec<Record> =
            list.iter().filter(kept).map(|record| Record { fua: record.fua && fua == 0, ..*record }).collect();
        assert_eq!(back, expected, "{format}\n{}", String::from_utf8_lossy(&bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(250), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_traces_read_back(lists in FORMATS.iter().map(records).collect::<Vec<_>>()) {
        for (units, list) in FORMATS.iter().zip(lists) {
            let (bytes, losses) = write(units.format, &list);
            prop_assert!(losses.is_exact(), "{}: {losses:?}", units.format);
            let back = read(Some(units.format.parse().expect("format")), &bytes).map_err(|e| TestCaseError::fail(format!("{}: {e}", units.format)))?;
            prop_assert_eq!(&back, &list, "{}", units.format);
        }
    }

    #[test]
    fn a_slow_reader_agrees(lists in FORMATS.iter().map(records).collect::<Vec<_>>()) {
        for (units, list) in FORMATS.iter().zip(lists) {
            let Some(slow) = reference::reader(units.format) else { continue };
            let (bytes, _) = write(units.format, &list);
            let text = reference::disguise(units.format, &bytes, list.len() as u64);
            let ours = read(Some(units.format.parse().expect("format")), text.as_bytes())
                .map_err(|e| TestCaseError::fail(format!("{}: {e}\n{text}", units.format)))?;
            prop_assert_eq!(&slow(&text), &ours, "{}\n{}", units.format, text);
        }
    }

    /// One byte of a good trace is changed: both readers accept the same requests, or both refuse.
    #[test]
    fn a_slow_reader_agrees_on_damage(lists in FORMATS.iter().map(records).collect::<Vec<_>>(), at in any::<prop::sample::Index>(), byte in b"0159,.; -+eRrWwx\tN".as_slice().prop_map_one()) {
        for (units, list) in FORMATS.iter().zip(lists) {
            let Some(slow) = reference::strict(units.format) else { continue };
            let (mut bytes, _) = write(units.format, &list);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let format = units.format.parse().expect("format");
            let options = Options { format: Some(format), time_order: ssdlab_trace::TimeOrder::Clamp, max_request_bytes: u64::MAX, ..Options::default() };
            let source = Source::from_reader("out", Cursor::new(text.clone().into_bytes())).expect("text");
            let mut reader = Reader::new(source, &options).expect("text");
            let mut ours = Vec::new();
            let outcome = loop {
                match reader.next() {
                    Ok(Some(record)) => ours.push((record.offset, record.bytes, record.op)),
                    Ok(None) => break Ok(()),
                    Err(error) if error.code() == ssdlab_trace::Code::NoRequests => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let (theirs, bad) = slow(&text);
            prop_assert_eq!(&ours, &theirs, "{}\n{}", units.format, text);
            prop_assert_eq!(outcome.as_ref().err().and_then(|e| e.report().line), bad, "{}\n{}\n{:?}", units.format, text, outcome);
        }
    }
}

/// A strategy that picks one byte of a list.
trait PickOne {
    fn prop_map_one(self) -> BoxedStrategy<u8>;
}

impl PickOne for &'static [u8] {
    fn prop_map_one(self) -> BoxedStrategy<u8> {
        proptest::sample::select(self.to_vec()).boxed()
    }
}

#[test]
fn what_a_format_cannot_carry_is_counted() {
    let record =
        |time_ns, op, offset, bytes, volume| Record { time_ns, offset, bytes, volume, op, fua: false, stream: 0 };
    let list =
        [record(0, Op::Write, 100, 100, 0), record(150, Op::Trim, 0, 512, 0), record(1_550, Op::Read, 0, 512, 0)];
    let (bytes, losses) = write("ssdsim", &list);
    assert_eq!(String::from_utf8(bytes).expect("text"), "0 0 0 1 0\n1550 0 0 1 1\n");
    assert_eq!((losses.rounded, losses.trims_left_out, losses.times_cut), (1, 1, 0));
    let (_, losses) = write("msr", &list);
    assert_eq!((losses.rounded, losses.trims_left_out, losses.times_cut), (0, 1, 1));
    let mut writer = Writer::new(Vec::new(), "out", Format::Blkreplay).expect("writer");
    writer.write(&record(0, Op::Read, 0, 512, 0), Names::default()).expect("one volume");
    let error = writer.write(&record(0, Op::Read, 0, 512, 1), Names::default()).expect_err("two volumes");
    assert!(error.to_string().contains("cannot carry several volumes"), "{error}");
}

#[test]
fn labels_survive_where_they_can() {
    let record = |volume| Record { time_ns: 0, offset: 0, bytes: 512, volume, op: Op::Read, fua: false, stream: 0 };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "out", Format::Spc).expect("writer");
    for (volume, label) in [(0, &b"1"[..]), (1, b"hm,\x1b"), (2, b"7")] {
        writer.write(&record(volume), Names { volume: Some(label), stream: None }).expect("written");
    }
    assert_eq!(writer.finish().expect("memory").volumes_renamed, 1);
    let names: Vec<&str> =
        std::str::from_utf8(&bytes).expect("text").lines().filter_map(|l| l.split(',').next()).collect();
    // The odd one gets the first free number, never one that is taken.
    assert_eq!(names, ["1", "2", "7"]);
}

#[test]
fn formats_are_told_by_what_they_write() {
    let list: Vec<Record> = (0..50u64)
        .map(|i| Record {
            time_ns: i * 1_000_000_000 + i % 2 * 250_000,
            offset: i * 4096,
            bytes: 4096,
            volume: 0,
            op: if i % 3 == 0 { Op::Read } else { Op::Write },
            fua: false,
            stream: 0,
        })
        .collect();
    for units in FORMATS.iter().filter(|units| !units.format.starts_with("columns")) {
        let (bytes, _) = write(units.format, &list);
        let source = Source::from_reader("out", Cursor::new(bytes)).expect("opens");
        let found = Reader::new(source, &Options::default());
        match units.format {
            "ssdsim" | "mqsim" | "disksim" => {
                assert_eq!(found.expect_err("ambiguous").code(), ssdlab_trace::Code::Ambiguous)
            }
            name => {
                let reader = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                let base = name.split(':').next();
                assert_eq!(reader.format().to_string().split(':').next(), base);
                let why = reader.detection().map(ToString::to_string).unwrap_or_default();
                assert!(why.contains(reader.format().shape()), "{why}");
            }
        }
    }
}
