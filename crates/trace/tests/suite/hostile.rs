//! No input makes a reader panic or hang, or a replay leave its device.

use proptest::prelude::*;
use ssdlab_trace::{
    CLOCK_MAX_NS, Collector, Fit, Format, LbaPolicy, OnBadLine, OpCodes, Options, Reader, Replay, Source, TimeOrder,
    TraceError, acts, check,
};
use std::io::{Cursor, Write as _};

const FORMATS: &[&str] = &[
    "auto",
    "msr",
    "spc",
    "ssdsim",
    "mqsim",
    "disksim",
    "blkparse",
    "blkparse:C",
    "fio",
    "alibaba",
    "tencent",
    "systor",
    "vscsi",
    "diskmon",
    "blkreplay",
    "ftrace",
    "ftrace:ufshcd_command:4096",
    "etw",
    "biosnoop",
    "iosnoop",
    "io-tracer",
    "lcs:id=sectors",
    "oraclegeneral:id=512,op=read",
    "columns:completion=0:s,latency=1:ms,op=2,offset=3:sectors,size=4:kib,sep=space",
    "columns:time=timestamp:iso,op=op,offset='the offset':bytes,size=size:bytes",
    "columns:time=0:s,op=1,offset=2:sectors,size=3:256,vol=4,sep=space,where=5:D",
    "columns:time=none,op=write,offset=0:pages,size=40:bytes,skip=2,header=1",
    "columns:time=1:100ns,op=0:'a'r'b'wCt,offset=2:bytes,size=2:bytes",
];

/// Lines that are right for one format or another, to be mutated.
const SEEDS: &[&str] = &[
    "128166372003061629,hm,0,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,1161\n",
    "0,303567,3584,w,0.000000\n1,55590,3072,r,0.078643005\n",
    "0 0 303567 7 0\n78643005 1 55596 6 1\n",
    "0.000000 0 303567 7 0\n78.643005 1 55596 6 1f\n",
    "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [io]\n  8,0    3        6     0.000129100     0  C   R 223490 + 8 [0]\nCPU0 (8,0):\n",
    "fio version 2 iolog\nd0 add\nd0 open\nd0 wait 5 0\nd0 write 0 4096\nd0 close\n",
    "fio version 3 iolog\n0 d0 add\n3 d0 open\n57 d0 trim 0 4096\n",
    "0,R,126703644672,4096,1577808000000626\n7,W,8192,16384,1577808000001203\n",
    "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n",
    "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.000806,R,4,899056122368,131072\n",
    "0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\n",
    "text\nstart ; sector; length ; op ;\n0.000000000 ; 49339162 ; 3 ; W ; 0.0 ; 0.0\n",
    "0.5 discard 0 1 v D\n",
    "253,0 1 1 0.1 7 Q WFSM 8 + 8 [io]\n  8,0 1 2 0.1 7 A W 108 + 8 <- (253,0) 8\n  8,0 1 3 0.1 7 Q W 108 + 8 [io]\n",
    "x y-9 [003] d..1. 5.000110: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [x y]\nx-9 [003] .... 5.1: nvme_setup_cmd: nvme0: disk=a, qid=4, cmd=(nvme_cmd_write slba=7, len=7, ctrl=0x4000)\nCPU:2 [LOST 14 EVENTS]\n",
    "k-7 [001] .... 7.6: ufshcd_command: send_req: u: tag: 1, DB: 0x2, size: 4096, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10)\n",
    "EndHeader\n DiskRead, 2000, a, b (4), 4, 0xff, 0x200000, 0x2000, 1000, 1, 0x060043\n DiskFlush, 2500, x (1), 8, 0xff, 100, 1, 0x060000\n",
    "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.0 a b 7 vda R 8 8192 0.04\n0.1 ? 0 R 0 8 0.9\n",
    "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 5.6 a 7 W 8,0 8 4096 0.51\n",
    "timestamp,operation,sector,size,latency_ms,device\n2026-05-01 10:00:00.5,write,8,4096,0.15,8:0\n",
    "k-7 [001] .... 7.8: ufshcd_command: send_req: 0:0:0:1: tag: 1, DB: 0x2, size: 8192, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10), hwq_id: 3\n",
    "EndHeader\nOS Version: 6.1.7600, Trace Size: 5120KB, Events Lost: 3, Buffers Lost: 0\n DiskRead, 2000, a (4), 4, 1, 0xff, 0x200000, 0x2000, 1000, 1\n",
    "TIMESTAMP COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)\n10:00:00.500 a b 7 vda R 8 8192 R 0.1 0.04\n",
    "timestamp,operation,sector,size,latency_ms,device,mono_ns\n2026-05-01 10:00:00.5,write|sync,8,4096,,8:0,500\n",
    "0.5 0.25 R 0x10 4\n+1e-1 .5 WFS 8.0 0.5\n",
    "timestamp,op,the offset,size\n2026-05-01T10:00:00+01:00,R,4096,512\n",
    "PK\u{3}\u{4}\u{14}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
];

fn options() -> impl Strategy<Value = Options> {
    let order =
        prop_oneof![Just(TimeOrder::Error), Just(TimeOrder::Keep), Just(TimeOrder::Clamp), Just(TimeOrder::Sort)];
    let bad = prop_oneof![Just(OnBadLine::Error), Just(OnBadLine::Skip(1)), Just(OnBadLine::Skip(u64::MAX))];
    let codes = prop_oneof![Just(OpCodes::ReadIsOne), Just(OpCodes::ReadIsZero)];
    let device = prop_oneof![3 => Just(None), 1 => Just(Some("0".to_owned())), 1 => Just(Some("hm_0".to_owned()))];
    let most = prop_oneof![Just(64u64 << 20), Just(u64::MAX)];
    let format = proptest::sample::select(FORMATS);
    (format, order, bad, codes, device, most).prop_map(
        |(format, time_order, on_bad_line, op_codes, device, max_request_bytes)| Options {
            format: Format::parse_or_auto(format).expect("format"),
            device,
            on_bad_line,
            time_order,
            max_request_bytes,
            op_codes,
            ..Options::default()
        },
    )
}

/// Noise, or a good trace with pieces cut, doubled and replaced.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..400);
    let numbers = prop_oneof![
        Just("18446744073709551615"),
        Just("18446744073709551616"),
        Just("9223372036854775807"),
        Just("-1"),
        Just("0"),
        Just("1e9"),
        Just(""),
        Just("\n"),
        Just("\""),
        Just(","),
        Just(";"),
        Just(" "),
        Just("0x1"),
        Just("."),
        Just("\r"),
        Just("\u{feff}"),
        Just("é"),
        Just("4294967295"),
        Just("36028797018963967"),
        Just("184467440737095516")
    ];
    let edit = (any::<prop::sample::Index>(), 0..30usize, numbers);
    let edits = proptest::collection::vec(edit, 0..6);
    let seeded = (proptest::sample::select(SEEDS), 1..4usize, edits).prop_map(|(seed, times, edits)| {
        let mut bytes = seed.repeat(times).into_bytes();
        for (at, cut, put) in edits {
            let at = at.index(bytes.len() + 1);
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, put.bytes());
        }
        bytes
    });
    let packed = seeded.clone().prop_flat_map(|bytes| {
        let gzip = {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(&bytes).expect("gzip");
            out.finish().expect("gzip")
        };
        let zstd = zstd::encode_all(bytes.as_slice(), 1).expect("zstd");
        (prop_oneof![Just(gzip), Just(zstd)], any::<prop::sample::Index>(), any::<u8>()).prop_map(
            |(mut packed, at, byte)| {
                let at = at.index(packed.len());
                packed[at] ^= byte;
                packed
            },
        )
    });
    prop_oneof![2 => noise, 6 => seeded, 1 => packed]
}

fn read_all(bytes: &[u8], options: &Options) -> Result<(), TraceError> {
    let source = Source::from_reader("fuzz", Cursor::new(bytes.to_vec()))?;
    let mut reader = Reader::new(source, options)?;
    let mut last = 0;
    let mut figures = Collector::new();
    while let Some(record) = reader.next()? {
        // Invariants that the rest of the crate relies on.
        assert!(record.bytes > 0 && record.offset.checked_add(record.bytes).is_some());
        assert!(record.time_ns >= last && record.time_ns <= i64::MAX as u64);
        last = record.time_ns;
        // Footprints of requests above the default limit would cost memory and prove nothing.
        if record.bytes <= 64 << 20 {
            figures.add(&record);
        }
    }
    assert!(!check(&figures.finish(), reader.notes()).is_empty());
    assert!(reader.notes().lines().all(|line| !line.contains('\n')));
    Ok(())
}

/// How many inputs are tried: a few for every run, more if `SSDLAB_FUZZ_CASES` says so.
fn cases(usual: u32) -> u32 {
    std::env::var("SSDLAB_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_never_panic(bytes in input(), options in options()) {
        if let Err(error) = read_all(&bytes, &options) {
            let text = error.to_string();
            prop_assert!(text.starts_with("error[T"), "{}", text);
            let excerpt = error.report().excerpt.as_ref().map_or(0, |e| e.text.len());
            prop_assert!(excerpt <= ssdlab_trace::EXCERPT_BYTES, "{} bytes", excerpt);
            prop_assert!(text.chars().all(|c| c == '\n' || !acts(c)), "{:?}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replays_stay_inside_the_device(
        bytes in input(), options in options(), capacity in 1u64..1 << 40, loops in 1u64..4,
        policy in prop_oneof![Just(LbaPolicy::Error), Just(LbaPolicy::Wrap), Just(LbaPolicy::Clip), Just(LbaPolicy::Dense)],
        scale in prop_oneof![Just("1"), Just("0.001"), Just("999999999"), Just("1/3")],
        limit in prop_oneof![Just(None), Just(Some(0)), Just(Some(3))],
    ) {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(&bytes).expect("temporary file");
        // A trim or write of 2^60 bytes is refused or cheap, but the page map of large writes costs the test too much memory.
        let options = Options { max_request_bytes: options.max_request_bytes.min(64 << 20), ..options };
        let fit = Fit { lba_policy: policy, loops, limit, time_scale: scale.parse().expect("scale"), ..Fit::new(capacity) };
        let Ok(mut replay) = Replay::open(file.path(), &options, fit) else { return Ok(()) };
        let mut last = 0;
        while let Ok(Some(record)) = replay.next() {
            for extent in replay.extents() {
                prop_assert!(extent.bytes > 0 && extent.offset + extent.bytes <= capacity, "{record:?} in {capacity}");
                prop_assert!(extent.offset % 512 == 0 && extent.bytes % 512 == 0, "{record:?}");
            }
            let bytes: u64 = replay.extents().iter().map(|extent| extent.bytes).sum();
            prop_assert_eq!((record.offset, record.bytes), (replay.extents()[0].offset, bytes));
            prop_assert!(record.time_ns >= last && record.time_ns <= CLOCK_MAX_NS);
            last = record.time_ns;
        }
        prop_assert!(limit.is_none_or(|limit| replay.accepted() <= limit));
        prop_assert_eq!(replay.digest().len(), 64);
    }
}
