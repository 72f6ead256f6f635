//! The column maps of docs/traces.md, run on lines in the form in which each recording is published.

use ssdlab_trace::{Op, Options, Reader, Source, TimeOrder};
use std::io::Cursor;

/// Time, operation, offset and size of a request.
type Fields = (u64, Op, u64, u64);

const R: Op = Op::Read;
const W: Op = Op::Write;
const T: Op = Op::Trim;

/// How a row of the table begins, lines of that recording, and what they say.
#[rustfmt::skip]
const RECIPES: &[(&str, &str, &[Fields])] = &[
    ("sector traces in us", "10 0 8 16 0\n25 1 64 8 1\n", &[(0, W, 4_096, 8_192), (15_000, R, 32_768, 4_096)]),
    ("replayer traces in ms and bytes", "0.5 0 4096 8192 0\n2 1 512 512 1\n", &[(0, W, 4_096, 8_192), (1_500_000, R, 512, 512)]),
    ("BIOtracer", "2048 8 4096 5 7.5 7.6 7.7\n16 1 512 0 7.75 7.8 7.9\n", &[(0, W, 1_048_576, 4_096), (250_000_000, R, 8_192, 512)]),
    ("vscsi as CSV", "ts,op,lbn,len\n100,R,8,4096\n350,W,16,512\n", &[(0, R, 4_096, 4_096), (250_000, W, 8_192, 512)]),
    ("FIU", "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n89968195892462 4 pdflush 8 16 W 6 0 00f1 11f1\n", &[
        (0, R, 144_994_910_208, 4_096), (100_000, W, 4_096, 8_192),
    ]),
    ("fio latency logs", "5, 1000000, 0, 4096, 81920, 0\n6, 2500000, 1, 8192, 0, 0\n7, 500000, 2, 65536, 131072, 0\n", &[
        (0, W, 0, 8_192), (500_000, R, 81_920, 4_096), (3_000_000, T, 131_072, 65_536),
    ]),
    ("Baleen", "# Baleen, a remark\n310 262144 4325376 1572074461.57806 1 24 3 5\n310 0 131072 1572074461.57906 4 24 3 5\n7 0 512 1572074462.5 100 24 3 5\n", &[
        (0, R, 262_144, 4_325_376), (1_000_000, W, 0, 131_072),
    ]),
    ("Thesios", "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,simulated_latency\n\
        a1b2,1048576,spanner,1705200000.0,WARM,REPLICATED,READ,LATENCY_SENSITIVE,0,0,131072,131072,131072,1705276800.25,0.004,1705276800.26,0.01\n\
        c3d4,0,bigtable,1705200000.0,COLD,ERASURE_CODED,WRITE,OTHER,0,-1,8192,0,8192,1705276800.75,0.0,0.0,0.002\n", &[
        (0, R, 1_048_576, 131_072), (500_000_000, W, 0, 8_192),
    ]),
    ("K5cloud", "17,0.000000,R,4096,8192\n18,0.125000,W,0,512\n", &[(0, R, 4_096, 8_192), (125_000_000, W, 0, 512)]),
    ("MiDAS", "0.000000 1 25 8192 0\n0.000500 3 2 4096 1\n0.001000 0 0 4096 0\n0.001000 2 0 0 0\n", &[
        (0, W, 102_400, 8_192), (500_000, T, 8_192, 4_096), (1_000_000, R, 0, 4_096),
    ]),
];

/// The rows of the table: the recording and its map. A map that is only begun is none.
fn rows() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
    let text = std::fs::read_to_string(path).expect("docs/traces.md");
    let table = text.split("Some recordings need such a map:").nth(1).expect("the table");
    let table = table.split("\n## ").next().expect("the section");
    let rows = table.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        let map = rest.split('`').find(|part| part.starts_with("columns:"))?;
        Some((name.to_owned(), map.to_owned()))
    });
    rows.filter(|(_, map)| !map.ends_with("...")).collect()
}

#[test]
fn each_recipe_reads_lines_of_its_recording() {
    let rows = rows();
    for (name, lines, wanted) in RECIPES {
        let mut found = rows.iter().filter(|(row, _)| row.starts_with(name));
        let (Some((_, map)), None) = (found.next(), found.next()) else { panic!("{name}: not one row: {rows:#?}") };
        let format = map.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        // Times of completion in whole milliseconds are sorted; the others rise.
        let options = Options { format: Some(format), time_order: TimeOrder::Error, ..Options::default() };
        let source = Source::from_reader("t", Cursor::new(lines.to_string())).expect("opens");
        let mut reader = Reader::new(source, &options).expect("opens");
        let mut read = Vec::new();
        while let Some(r) = reader.next().unwrap_or_else(|error| panic!("{name}: {error}")) {
            read.push((r.time_ns, r.op, r.offset, r.bytes));
        }
        assert_eq!(read, *wanted, "{name}");
    }
    let without: Vec<_> =
        rows.iter().filter(|(row, _)| !RECIPES.iter().any(|(name, ..)| row.starts_with(name))).collect();
    assert!(without.is_empty(), "recipes that are not run: {without:#?}");
}
