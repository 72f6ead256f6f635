//! Column maps from headers: what the names of columns say, and what they leave open.

use ssdlab_trace::{Code, Format, Options, Reader, Record, Source, TraceError};
use std::io::Cursor;

fn open(text: &str, options: &Options) -> Result<Reader, TraceError> {
    Reader::new(Source::from_reader("t.csv", Cursor::new(text.to_owned())).expect("opens"), options)
}

fn records(mut reader: Reader) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        records.push(record);
    }
    records
}

/// The map of a text, after it was seen to give the same requests when it is written out.
fn map_of(text: &str) -> (String, Vec<Record>) {
    let reader = open(text, &Options::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let map = reader.format().to_string();
    let said = reader.detection().expect("detected").to_string();
    assert!(said.starts_with(&format!("{map}: the columns that the header names")), "{said}");
    let found = records(reader);
    let options = Options { format: Some(map.parse::<Format>().unwrap()), ..Options::default() };
    assert_eq!(found, records(open(text, &options).unwrap()), "{map}");
    (map, found)
}

#[test]
fn names_and_lines_give_a_map() {
    for (text, map, first) in [
        (
            "time_us,op,offset_bytes,size_bytes\n10,R,8192,4096\n25,W,0,512\n",
            "time=time_us:us,op=op,offset=offset_bytes:bytes,size=size_bytes:bytes,header=1",
            (15_000, 8192, 4096),
        ),
        (
            "# captured on a server\n\ntimestamp;type;sector;size (KiB);disk;pid\n2026-05-01T10:00:00.000150Z;Read;16;4;sda;7\n2026-05-01T10:00:00.000250Z;write;8;8;sda;7\n",
            "time=timestamp:iso,op=type,offset=sector:sectors,size='size (KiB)':kib,vol=disk,sep=semicolon,header=1,skip=2",
            (100_000, 8192, 4096),
        ),
        (
            "is_write size_sectors lba_sectors start_ms\n0 8 16 1.5\n1 8 16 2.5\n",
            "time=start_ms:ms,op=is_write:0r1w,offset=lba_sectors:sectors,size=size_sectors:sectors,sep=space,header=1",
            (1_000_000, 8192, 4096),
        ),
        // Seconds since 1970 with a fraction; sizes that would be above the largest request in sectors.
        (
            "ts\top\tbyte_offset\tlength\n1467331200.25\tR\t8192\t4096\n1467331201.25\tR\t0\t1048576\n",
            "time=ts:s,op=op,offset=byte_offset:bytes,size=length:bytes,sep=tab,header=1",
            (1_000_000_000, 8192, 4096),
        ),
        (
            "end_us,latency_us,rw,sector,bytes\n1000,100,R,16,4096\n2000,50,W,16,4096\n",
            "completion=end_us:us,latency=latency_us:us,op=rw,offset=sector:sectors,size=bytes:bytes,header=1",
            (1_050_000, 8192, 4096),
        ),
        (
            "\n\n,arrival_ns,latency_ns,op,sector,sectors\n0,5,9,R,16,8\n1,6,9,R,16,8\n",
            "time=arrival_ns:ns,op=op,offset=sector:sectors,size=sectors:sectors,header=1,skip=2",
            (1, 8192, 4096),
        ),
    ] {
        let (found, records) = map_of(text);
        assert_eq!(found, format!("columns:{map}"));
        assert_eq!((records[1].time_ns - records[0].time_ns, records[0].offset, records[0].bytes), first, "{map}");
    }
}

#[test]
fn columns_without_use_are_named() {
    let reader =
        open("time_us,op,offset_bytes,size_bytes,pid,response_us\n1,R,0,512,7,9\n", &Options::default()).unwrap_err();
    // Beside a latency, `time` may be that of completion.
    assert_eq!(reader.code(), Code::Ambiguous);
    let reader =
        open("arrival_us,op,offset_bytes,size_bytes,pid,response_us\n1,R,0,512,7,9\n", &Options::default()).unwrap();
    assert!(reader.detection().unwrap().to_string().ends_with("(1 of the first 1 lines); not used: pid, response_us"));
}

#[test]
fn two_readings_are_refused_and_listed() {
    for (text, says) in [
        (
            "timestamp,op,lba,size\n5,R,16,8\n6,W,16,8\n",
            "time=timestamp:ns or time=timestamp:us or time=timestamp:ms or time=timestamp:s; offset=lba:sectors or offset=lba:pages; size=size:bytes or size=size:sectors",
        ),
        (
            "time_us,op,offset,size_bytes\n5,R,16,512\n",
            "--format columns:time=time_us:us,op=op,offset=offset:bytes,size=size_bytes:bytes,header=1, or --format columns:time=time_us:us,op=op,offset=offset:sectors,size=size_bytes:bytes,header=1",
        ),
        ("time_us,op,sector,size_kb\n5,R,16,4\n", "size=size_kb:1000 or size=size_kb:kib"),
        ("time_us,op,sector,bytes\n5,0,16,512\n6,1,16,512\n", "op=op:0r1w or op=op:0w1r"),
        (
            "time_us,latency_us,op,sector,bytes\n500,20,R,16,512\n",
            "time=time_us:us or completion=time_us:us,latency=latency_us:us",
        ),
        (
            "start_us,op,sector,size_bytes,size_sectors\n5,R,16,4096,8\n",
            "size=size_bytes:bytes or size=size_sectors:sectors",
        ),
        // Whole numbers may be ms since 1970, or ns since boot.
        (
            "timestamp,op,sector,bytes\n1467331200250,R,16,512\n",
            "time=timestamp:ns or time=timestamp:us or time=timestamp:ms",
        ),
    ] {
        let error = open(text, &Options::default()).expect_err(text);
        assert_eq!(error.code(), Code::Ambiguous, "{text}: {error}");
        let error = error.to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.contains("t.csv:1:1"), "{error}");
        // What the message offers can be used.
        let offered: Vec<&str> =
            error.split("--format ").skip(1).map(|map| map.split([' ', '\n']).next().unwrap()).collect();
        assert!(offered.len() > 1, "{error}");
        for map in offered {
            let options = Options { format: Some(map.trim_end_matches(',').parse().unwrap()), ..Options::default() };
            assert!(!records(open(text, &options).unwrap()).is_empty(), "{map}");
        }
    }
}

#[test]
fn a_header_that_contradicts_the_lines_is_refused() {
    let text = |time: &str| format!("asu,sector,size_bytes,op,{time}\n0,16,4096,r,0.5\n0,32,4096,w,1.5\n");
    assert_eq!(open(&text("time_s"), &Options::default()).unwrap().format(), &Format::Spc);
    let error = open(&text("time_ms"), &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::Ambiguous);
    assert!(error.to_string().contains("have the shape of spc, but the header"), "{error}");
}

#[test]
fn lines_without_a_name_for_each_column_give_no_map() {
    // R writes the number of a row without a name for it: every column would be read one place off.
    let error = open("time_us op sector bytes\n1 5 R 16 512\n2 6 R 16 512\n", &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::UnknownFormat);
    let error = open("time_us,op,sector,bytes\n5,get,16,512\n", &Options::default()).unwrap_err();
    assert_eq!(error.code(), Code::UnknownFormat);
}
