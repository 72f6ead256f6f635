//! Parquet: written files read back unchanged, and damaged or foreign files are refused with a message.

use ssdlab_trace::workload::named;
use ssdlab_trace::{Code, Format, Names, Op, Options, Reader, Record, TraceError, Writer};
use std::path::Path;

type Labelled = Vec<(Record, Option<Vec<u8>>)>;

fn read(path: &Path, options: &Options) -> Result<Labelled, TraceError> {
    let mut reader = Reader::open(path, options)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next()? {
        records.push((record, reader.volumes().get(record.volume as usize).cloned()));
    }
    Ok(records)
}

fn write(records: &Labelled) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let mut writer = Writer::new(file.as_file(), "t.parquet", Format::Parquet).expect("begins");
    for (record, label) in records {
        writer.write(record, Names { volume: label.as_deref(), stream: None }).expect("writes");
    }
    assert_eq!(writer.count(), records.len() as u64);
    assert_eq!(writer.finish().expect("ends"), Default::default(), "nothing is lost");
    file
}

#[test]
fn what_is_written_reads_back() {
    let labels: [&[u8]; 4] = [b"hm_0", b"a,b%\n", b"\xff\xfe", "\u{202e}x".as_bytes()];
    let ops = [Op::Read, Op::Write, Op::Trim];
    // More than two row groups; addresses up to the last byte of 64 bits.
    let records: Labelled = (0..150_000u64)
        .map(|i| {
            let volume = i % 4;
            let offset = if i % 7 == 0 { u64::MAX - 512 - i } else { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8 };
            let (bytes, op) = (1 + i % 511, ops[(i % 3) as usize]);
            let record =
                Record { time_ns: i * 333_333, offset, bytes, volume: volume as u32, op, fua: false, stream: 0 };
            (record, Some(labels[volume as usize].to_vec()))
        })
        .collect();
    let file = write(&records);
    for format in [None, Some(Format::Parquet)] {
        let options = Options { format, ..Options::default() };
        assert!(read(file.path(), &options).expect("reads") == records);
    }
    let one = Options { device: Some("hm_0".into()), ..Options::default() };
    assert_eq!(read(file.path(), &one).expect("reads").len(), 37_500);

    // A trace without volumes reads back without volumes.
    let generator = named("mixed-70-30").expect("bundled").spec.build(1 << 30, 4096, 1, Some(5_000)).expect("builds");
    let records: Labelled = generator.map(|record| (record, None)).collect();
    assert!(read(write(&records).path(), &Options::default()).expect("reads") == records);
}

#[test]
fn a_negative_time_is_called_so() {
    let at = |time_ns: u64| {
        (Record { time_ns, offset: 0, bytes: 512, volume: 0, op: Op::Read, fua: false, stream: 0 }, None)
    };
    let file = write(&vec![at(0), at(7), at(-5i64 as u64), at(9)]);
    let error = read(file.path(), &Options::default()).expect_err("is negative");
    assert_eq!((error.code(), error.report().line), (Code::Negative, Some(3)));
    assert!(error.to_string().contains("time_ns is negative: -5"), "{error}");
}

#[test]
fn what_is_no_parquet_and_what_is_damaged() {
    let records: Labelled = (0..3_000u64)
        .map(|i| {
            (Record { time_ns: i, offset: i * 512, bytes: 512, volume: 0, op: Op::Read, fua: false, stream: 0 }, None)
        })
        .collect();
    let whole = std::fs::read(write(&records).path()).expect("reads");
    let refused = |bytes: &[u8], format: Option<Format>| {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        std::fs::write(file.path(), bytes).expect("writes");
        read(file.path(), &Options { format, ..Options::default() })
    };
    assert_eq!(refused(&whole, Some(Format::Msr)).expect_err("is Parquet").code(), Code::WrongFormat);
    assert_eq!(refused(b"0,1,512,r,0.0\n", Some(Format::Parquet)).expect_err("is text").code(), Code::WrongFormat);
    assert_eq!(refused(&whole[..whole.len() - 9], None).expect_err("is cut").code(), Code::Compressed);
    // Any byte changed: the same rows, other rows or an error, but no panic.
    for at in (4..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        if let Err(error) = refused(&bytes, None) {
            assert!(error.to_string().contains("= fix: "), "{error}");
        }
    }
}

/// Streams in an order of their own: the numbers are those of the writer, the names come back.
#[test]
fn streams_and_forced_writes_come_back() {
    let names: [&[u8]; 3] = [b"log", b"a,b%\n", b"7"];
    // The second stream comes first, and none in between.
    let given: Vec<(u64, u16, bool)> =
        [(0, 2, true), (1, 0, false), (2, 3, true), (3, 1, false), (4, 2, true)].to_vec();
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let mut writer = Writer::new(file.as_file(), "t.parquet", Format::Parquet).expect("begins");
    for &(time_ns, stream, fua) in &given {
        let record = Record { time_ns, offset: 0, bytes: 512, volume: 0, op: Op::Write, fua, stream };
        let name = usize::from(stream).checked_sub(1).map(|place| names[place]);
        writer.write(&record, Names { volume: None, stream: name }).expect("writes");
    }
    assert!(writer.finish().expect("ends").is_exact());
    let mut reader = Reader::open(file.path(), &Options::default()).expect("opens");
    for (time_ns, stream, fua) in given {
        let record = reader.next().expect("reads").expect("a request");
        let expected = usize::from(stream).checked_sub(1).map(|place| names[place]);
        assert_eq!((record.time_ns, record.fua, reader.names(&record).stream), (time_ns, fua, expected));
    }
    // Formats that have no place for them say how many they lose.
    let record = Record { time_ns: 0, offset: 0, bytes: 512, volume: 0, op: Op::Write, fua: true, stream: 1 };
    let names = Names { volume: None, stream: Some(b"log") };
    let mut writer = Writer::new(Vec::new(), "out", Format::Ssdsim).expect("begins");
    writer.write(&record, names).expect("writes");
    let losses = writer.finish().expect("ends");
    assert_eq!((losses.streams_left_out, losses.fua_left_out, losses.is_exact()), (1, 1, false));
    let map = "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,fua=4,stream=5".parse().expect("a map");
    let mut writer = Writer::new(Vec::new(), "out", map).expect("begins");
    writer.write(&record, names).expect("writes");
    let (losses, text) = writer.end().expect("ends");
    assert_eq!((losses.is_exact(), text.as_slice()), (true, &b"0,W,0,512,1,log\n"[..]));
}

/// A file as other programs write it: this type of `time_ns`, these times, this compression and metadata.
fn foreign(
    time: &str,
    times: &[i64],
    packing: parquet::basic::Compression,
    schema: Option<&str>,
) -> tempfile::NamedTempFile {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::metadata::KeyValue;
    use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    let text = format!(
        "message m {{ required int64 time_ns{time}; required binary op (UTF8); required int64 offset; required int64 bytes; }}"
    );
    let kind = std::sync::Arc::new(parquet::schema::parser::parse_message_type(&text).expect("a schema"));
    let pairs = schema.map(|schema| vec![KeyValue::new("ARROW:schema".to_owned(), schema.to_owned())]);
    let properties = WriterProperties::builder().set_compression(packing).set_key_value_metadata(pairs).build();
    let out = file.reopen().expect("reopens");
    let mut writer = SerializedFileWriter::new(out, kind, properties.into()).expect("begins");
    let mut group = writer.next_row_group().expect("a group");
    let mut index = 0;
    while let Some(mut column) = group.next_column().expect("a column") {
        let numbers: Vec<i64> = if index == 0 { times.to_vec() } else { vec![4096; times.len()] };
        match index {
            1 => column.typed::<ByteArrayType>().write_batch(&vec![ByteArray::from("read"); times.len()], None, None),
            _ => column.typed::<Int64Type>().write_batch(&numbers, None, None),
        }
        .expect("writes");
        column.close().expect("ends");
        index += 1;
    }
    group.close().expect("ends");
    writer.close().expect("ends");
    file
}

/// What Arrow's writer puts beside a table with the columns op, time_ns (a duration in us), offset and bytes.
const DURATION_US: &str = "/////xgBAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAQAAAC8AAAAdAAAADgAAAAEAAAAZP///wAAAQIQAAAAGAAAAAQAAAAAAAAABQAAAGJ5dGVzAAAA0P///wAAAAFAAAAAlP///wAAAQIQAAAAIAAAAAQAAAAAAAAABgAAAG9mZnNldAAACAAMAAgABwAIAAAAAAAAAUAAAADM////AAABEhAAAAAgAAAABAAAAAAAAAAHAAAAdGltZV9ucwAAAAYACAAGAAYAAAAAAAIAEAAUAAgABgAHAAwAAAAQABAAAAAAAAEFEAAAABgAAAAEAAAAAAAAAAIAAABvcAAABAAEAAQAAAAAAAAA";

#[test]
fn types_of_time_are_converted_and_others_refused() {
    use parquet::basic::Compression::UNCOMPRESSED;
    let span = |time: &str, schema: Option<&str>| {
        let file = foreign(time, &[7_000, 1_507_000], UNCOMPRESSED, schema);
        read(file.path(), &Options::default()).map(|rows| rows[1].0.time_ns - rows[0].0.time_ns)
    };
    for (time, schema, ns) in [
        ("", None, 1_500_000),
        (" (INTEGER(64,true))", None, 1_500_000),
        (" (TIMESTAMP(NANOS,true))", None, 1_500_000),
        (" (TIMESTAMP(MICROS,false))", None, 1_500_000_000),
        (" (TIMESTAMP(MILLIS,true))", None, 1_500_000_000_000),
        (" (TIMESTAMP_MICROS)", None, 1_500_000_000),
        (" (TIMESTAMP_MILLIS)", None, 1_500_000_000_000),
        (" (TIME(MICROS,true))", None, 1_500_000_000),
        ("", Some(DURATION_US), 1_500_000_000),
        ("", Some("not base64!"), 1_500_000),
    ] {
        assert_eq!(span(time, schema).ok(), Some(ns), "{time}");
    }
    let error = span(" (DECIMAL(18,3))", None).expect_err("no time");
    let text = error.to_string();
    assert_eq!(error.kind().exit_status(), 3, "{text}");
    assert!(text.contains("the column time_ns has the type Decimal") && text.contains("no rule converts"), "{text}");
    let file = foreign(" (TIMESTAMP(MILLIS,true))", &[0, i64::MAX], UNCOMPRESSED, None);
    let text = read(file.path(), &Options::default()).expect_err("is beyond the clock").to_string();
    assert!(text.contains("beyond the range of the clock"), "{text}");
}

#[test]
fn columns_may_be_packed_with_gzip_and_lz4() {
    use parquet::basic::{Compression, GzipLevel};
    for packing in
        [Compression::GZIP(GzipLevel::default()), Compression::LZ4_RAW, Compression::LZ4, Compression::SNAPPY]
    {
        let file = foreign("", &[0, 5, 9], packing, None);
        assert_eq!(read(file.path(), &Options::default()).map(|rows| rows.len()).ok(), Some(3), "{packing:?}");
    }
}
