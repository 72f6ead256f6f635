//! Malformed input as a table: the input and the exact outcome.
//!
//! Each row has a number that failures print. `E` rows stop with a code, an exit status and a message; `W` rows are read with
//! a counted remark; `OK` rows are read without one.

use ssdlab_trace::{
    CLOCK_MAX_NS, Code, Fit, Format, Info, Kind, LbaPolicy, Note, OnBadLine, Op, Options, Reader, Replay, Source,
    TimeOrder, TraceError, WithinSecond, acts,
};
use std::io::{Cursor, Write as _};
use std::path::Path;

enum Want {
    /// Code and a piece of the message.
    Error(Code, &'static str),
    /// A remark, how often, and accepted requests.
    Warning(Note, u64, u64),
    /// Accepted requests.
    Fine(u64),
}

struct Case {
    number: u32,
    name: &'static str,
    format: &'static str,
    input: Vec<u8>,
    options: Options,
    want: Want,
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Options)) -> Case {
        change(&mut self.options);
        self
    }
}

fn case(number: u32, name: &'static str, format: &'static str, input: impl AsRef<[u8]>, want: Want) -> Case {
    Case { number, name, format, input: input.as_ref().to_vec(), options: Options::default(), want }
}

fn e(
    number: u32,
    name: &'static str,
    format: &'static str,
    input: impl AsRef<[u8]>,
    code: Code,
    says: &'static str,
) -> Case {
    case(number, name, format, input, Want::Error(code, says))
}

fn w(
    number: u32,
    name: &'static str,
    format: &'static str,
    input: impl AsRef<[u8]>,
    note: Note,
    count: u64,
    accepted: u64,
) -> Case {
    case(number, name, format, input, Want::Warning(note, count, accepted))
}

fn ok(number: u32, name: &'static str, format: &'static str, input: impl AsRef<[u8]>, accepted: u64) -> Case {
    case(number, name, format, input, Want::Fine(accepted))
}

/// Reads to the end: accepted requests and the reader, or the error.
fn read(case: &Case) -> Result<(u64, Reader), TraceError> {
    let mut options = case.options.clone();
    options.format = Format::parse_or_auto(case.format).expect("format of the case");
    let source = Source::from_reader("t.csv", Cursor::new(case.input.clone()))?;
    let mut reader = Reader::new(source, &options)?;
    let mut accepted = 0;
    while reader.next()?.is_some() {
        accepted += 1;
    }
    Ok((accepted, reader))
}

/// An MSR line with these fields in place of good ones.
fn msr(time: &str, kind: &str, offset: &str, size: &str) -> String {
    format!("{time},hm,0,{kind},{offset},{size},1331\n")
}

const A: &str = "128166372003061629,hm,0,Read,383496192,32768,113736\n";
const B: &str = "128166372016382155,hm,1,Write,2822144,4096,1161\n";
const T: &str = "128166372003061629";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).expect("gzip");
    out.finish().expect("gzip")
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("zstd")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = liblzma::write::XzEncoder::new(Vec::new(), 6);
    out.write_all(bytes).expect("xz");
    out.finish().expect("xz")
}

fn bzip2_of(bytes: &[u8]) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    out.write_all(bytes).expect("bzip2");
    out.finish().expect("bzip2")
}

fn tar(members: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for name in members {
        let mut block = [0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(b"00000000003");
        block[156] = b'0';
        block[257..262].copy_from_slice(b"ustar");
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.extend_from_slice(&block);
        let mut data = [0u8; 512];
        data[..3].copy_from_slice(b"1,2");
        out.extend_from_slice(&data);
    }
    out.extend_from_slice(&[0; 1024]);
    out
}

/// A GNU sparse member: its header promises 2^60 bytes of which three are there.
fn sparse_tar(name: &str) -> Vec<u8> {
    let mut out = tar(&[name]);
    out[156] = b'S';
    out[257..265].copy_from_slice(b"ustar  \0");
    // Where the data lies (offset, length), and the size with all its holes, in base 256.
    out[386..397].copy_from_slice(b"00000000000");
    out[398..409].copy_from_slice(b"00000000003");
    out[483..495].copy_from_slice(&[0x80, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
    out[148..156].fill(b' ');
    let sum: u32 = out[..512].iter().map(|&b| u32::from(b)).sum();
    out[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    out
}

fn zip(flags: u16, names: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for name in names {
        out.extend_from_slice(b"PK\x03\x04\x14\0");
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&3u32.to_le_bytes());
        out.extend_from_slice(&3u32.to_le_bytes());
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"abc");
    }
    out
}

/// A zstd frame header that asks for a window of 2^31 bytes, with one empty last block.
fn wide_window() -> Vec<u8> {
    let exponent = 31 - 10;
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, exponent << 3][..], &[1, 0, 0]].concat()
}

/// A whole xz stream whose packer asks for a dictionary of 1 GiB.
fn wide_dictionary(bytes: &[u8]) -> Vec<u8> {
    let mut preset = liblzma::stream::LzmaOptions::new_preset(0).expect("preset");
    preset.dict_size(1 << 30);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&preset);
    let mut stream =
        liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc64).expect("encoder");
    let mut out = Vec::with_capacity(1 << 16);
    while stream.process_vec(bytes, &mut out, liblzma::stream::Action::Finish).expect("packs")
        != liblzma::stream::Status::StreamEnd
    {}
    out
}

fn zstd_with_dictionary(bytes: &[u8]) -> Vec<u8> {
    // A trained dictionary has a number that its frames name.
    let samples: Vec<Vec<u8>> =
        (0..2_000).map(|i| format!("{i},hm,{},Read,{},4096,1161\n", i % 7, i * 37).into()).collect();
    let dictionary = zstd::dict::from_samples(&samples, 4_096).expect("trains");
    let mut out = zstd::stream::Encoder::with_dictionary(Vec::new(), 3, &dictionary).expect("zstd");
    out.write_all(bytes).expect("zstd");
    out.finish().expect("zstd")
}

fn gzip_named(bytes: &[u8]) -> Vec<u8> {
    let name = vec![b'n'; 70_000];
    let mut out = flate2::GzBuilder::new().filename(name).write(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("gzip");
    out.finish().expect("gzip")
}

fn utf16(text: &str, mark: bool) -> Vec<u8> {
    let mark = if mark { vec![0xff, 0xfe] } else { vec![] };
    mark.into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

fn vscsi1(command: u16, version: u8, bytes: u32, block: u64, time: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend_from_slice(&7u32.to_le_bytes());
    record.extend_from_slice(&bytes.to_le_bytes());
    record.extend_from_slice(&1u32.to_le_bytes());
    record.extend_from_slice(&command.to_le_bytes());
    record.extend_from_slice(&(u16::from(version) << 8).to_le_bytes());
    record.extend_from_slice(&block.to_le_bytes());
    record.extend_from_slice(&time.to_le_bytes());
    record
}

fn vscsi2(command: u16, bytes: u32, gathers: u32, block: u64, time: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend_from_slice(&command.to_le_bytes());
    record.extend_from_slice(&(2u16 << 8).to_le_bytes());
    record.extend_from_slice(&7u32.to_le_bytes());
    record.extend_from_slice(&bytes.to_le_bytes());
    record.extend_from_slice(&gathers.to_le_bytes());
    record.extend_from_slice(&block.to_le_bytes());
    record.extend_from_slice(&time.to_le_bytes());
    record.extend_from_slice(&99u64.to_le_bytes());
    record
}

/// A trace of libCacheSim: time, object, size and operation of each record; the tenant is 7.
fn lcs(version: u64, records: &[(u32, u64, u32, u32)]) -> Vec<u8> {
    let mark = 0x1234_5678_9abc_def0u64.to_le_bytes();
    let mut out = [&mark[..], &version.to_le_bytes()].concat();
    out.resize(8192 - 8, 0);
    out.extend_from_slice(&mark);
    for (time, object, size, op) in records {
        out.extend_from_slice(&time.to_le_bytes());
        out.extend_from_slice(&object.to_le_bytes());
        out.extend_from_slice(&size.to_le_bytes());
        if version >= 3 {
            out.extend_from_slice(&[0; 4]);
        }
        if version >= 2 {
            out.extend_from_slice(&(op | 7 << 8).to_le_bytes());
        }
        if version >= 3 {
            out.extend_from_slice(&[0; 4]);
        }
        out.extend_from_slice(&[0xff; 8]);
    }
    out
}

/// Records of version 2 with the word behind the next request, as some writers have it.
fn lcs_behind(records: &[(u32, u64, u32, u32, u64)]) -> Vec<u8> {
    let mut out = lcs(2, &[]);
    for (time, object, size, op, next) in records {
        let head = [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes()].concat();
        out.extend([&head[..], &next.to_le_bytes(), &(op | 7 << 8).to_le_bytes()].concat());
    }
    out
}

const FTRACE: &[&str] = &[
    "# tracer: nop\n#\n",
    "        db writer-901   [003] .....  50.000100: block_rq_insert: 259,0 WS 4096 () 2048 + 8 [db writer]\n",
    "        db writer-901   [003] .....  50.000110: block_rq_issue: 259,0 WFS 4096 () 2048 + 8 [db: 1.5: writer]\n",
    "           <idle>-0     [003] d.h..  50.000300: block_rq_complete: 259,0 WFS () 2048 + 8 [0]\n",
    "     kworker/2:1H-77    [002] .....  50.002000: block_rq_issue: 259,0 FF 0 () 0 + 0 [kworker/2:1H]\n",
    "          smartd-5      [001] .....  50.002500: block_rq_issue: 259,0 N 512 (a1 08) 0 + 0 [smartd]\n",
    "          fstrim-555    [001] .....  50.003000: block_rq_issue: 259,0 DS 65536 () 16384 + 128 none,0,0 [fstrim]\n",
    "CPU:2 [LOST 14 EVENTS]\n",
    "     kworker/2:1H-77    [002] .....  50.004000: block_rq_issue: 8,16 RM 4096 () 512 + 8 [kworker/2:1H]\n",
    "           <idle>-0     [002] d.h..  50.004500: block_rq_complete: 8,16 RM () 512 + 8 [0]\n",
];
const NVME: &[&str] = &[
    " j-1 [000] .....  7.500000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=8, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=80, len=7, ctrl=0x4000, dsmgmt=0, reftag=0)\n",
    " j-1 [000] d.h..  7.500021: nvme_complete_rq: nvme0: disk=nvme0n1, qid=4, cmdid=8, res=0x0, retries=0, flags=0x0, status=0x0\n",
    " j-1 [000] .....  7.600000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=9, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=40, len=0, ctrl=0x0, dsmgmt=0, reftag=0)\n",
    " j-1 [000] .....  7.610000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=1, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_dsm nr=0, attributes=4)\n",
    " j-1 [000] .....  7.620000: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmdid=2, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush )\n",
    " k-7 [001] .....  7.630000: nvme_setup_cmd: nvme0: qid=0, cmdid=3, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_get_log_page cdw10=02 00 7f 00)\n",
];
const UFS_UNITS: &[&str] = &[
    "k-7 [001] .... 7.6: ufshcd_command: send_req: 0:0:0:0: tag: 1, DB: 0x2, size: 4096, IS: 0, LBA: 8, opcode: 0x28 (READ_10), group_id: 0x0, hwq_id: 3\n",
    "k-7 [001] .... 7.7: ufshcd_command: complete_rsp: 0:0:0:0: tag: 1, DB: 0x2, size: 4096, IS: 0, LBA: 8, opcode: 0x28 (READ_10), group_id: 0x0, hwq_id: 3\n",
    "k-7 [001] .... 7.8: ufshcd_command: send_req: 0:0:0:1: tag: 1, DB: 0x2, size: 8192, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: 3\n",
];
const ETW: &[&str] = &[
    "BeginHeader\n",
    "   DiskRead,  TimeStamp,  Process Name ( PID),   ThreadID,  IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\n",
    "  DiskFlush,  TimeStamp,  Process Name ( PID),   ThreadID,  IrpPtr,                           ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\n",
    "EndHeader\n",
    " DiskReadInit,       1000,       a, b.exe (1200),        4, 0xfffffa8001a2b010\n",
    "    DiskWrite,       1600,       a, b.exe (1200),        8, 0xfffffa8001a2b020, 0x0040001000, 0x00008000,         400,        2, 0x060a03,         390,   Normal, Original, 0xfffffa80034567c0, \"D:\\log, a.bin\"\n",
    "     DiskRead,       2000,         System (   4),        4, 0xfffffa8001a2b010, 0x0000200000, 0x00002000,        1000,        1, 0x060043,         510,   Normal\n",
    "    DiskFlush,       2500,       a, b.exe (1200),        8, 0xfffffa8001a2b030,         100,        1, 0x060000,          90,   Normal\n",
];
const ETW_SYSTEM: &str = "EndHeader\n\
    OS Version: 6.1.7600, Trace Size: 5120KB, Events Lost: 3, Buffers Lost: 0, Trace Start: 129107000000000000, Trace Length: 60 sec, PointerSize: 8, Trace Name: disk.etl\n\
    FirstReliableEventTimeStamp, 900\nFirstReliableCSwitchEventTimeStamp, 901\n";
const BIOSNOOP: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n\
    0.000000    pool worker    2207   vda     R 7341056    8192       0.040\n\
    0.001500    ?              0              R 0          8          0.90\n\
    1.500000    flusher/1      330    vdb     W 90112      8192       0.20\n";
const IOTRACER: &str = "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,mono_ns\n\
    2026-05-01 10:00:00.000150,write,901,901,db writer,2048,4096,0.150,259:0,sync,3,5000000150000\n\
    2026-05-01 10:00:00.000180,read,902,902,scan,8192,131072,0.120,259:0,,2,5000000180000\n\
    2026-05-01 10:00:00.002180,flush,902,902,scan,0,0,1.120,259:0,,2,5000002180000\n\
    2026-05-01 10:00:00.003180,discard,77,77,fstrim,16384,1048576,0.5,259:0,,2,5000003180000\n";
const Q: &str = "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [io]\n";
/// One line of each kind, as blkparse's default output has it.
const BLKPARSE_SHAPES: &[&str] = &[
    Q,
    "  8,0    3        2     0.000000100   697  A   R 223490 + 8 <- (8,1) 223428\n",
    "  8,0    3        3     0.000000200   697  G   R 223490 + 8 [a b] c]\n",
    "  8,0    3        4     0.000000300   697  P   N [io]\n",
    "  8,0    3        5     0.000000400   697  U   N [io] 1\n",
    "  8,0    3        6     0.000000500     0 UT   N [swapper] 2\n",
    "  8,0    3        7     0.000000600   697  I   R 223490 + 8 (     600) [io]\n",
    "  8,0    3        8     0.000000700   697  D   N 36 (12 00 00 00 24 00 ..) [inquiry]\n",
    "  8,0    3        9     0.000000800   697  D  FN [io]\n",
    "  8,0    3       10     0.000000900     0  C   R 223490 + 8 (     300) [0]\n",
    "  8,0    3       11     0.000001000     0  C   N (12 00 00 00 24 00 ..) [0]\n",
    "  8,0    3       12     0.000001100     0  C FFS 0 [0]\n",
    "  8,0    3       13     0.000001200   697  X   R 223490 / 223494 [io]\n",
    "  8,0    3       14     0.000001300     0  m   N cfq697 put_queue (\n",
];
/// A write to dm, remapped to the disk below, and one to the disk itself; and their ends.
const LAYERS: &[&str] = &[
    "253,0    1        1     0.000001000   697  Q   W 8 + 8 [io]\n",
    "  8,0    1        2     0.000002000   697  A   W 108 + 8 <- (253,0) 8\n",
    "  8,0    1        3     0.000003000   697  Q   W 108 + 8 [io]\n",
    "  8,0    1        4     0.000004000   697  Q   W 500 + 8 [io]\n",
    "253,0    1        5     0.000005000   697  Q  FWS [jbd2]\n",
    "  8,0    1        6     0.000006000   697  A  FWS 0 + 0 <- (253,0) 0\n",
    "  8,0    1        7     0.000007000   697  Q  FWS [jbd2]\n",
];
const LAYERS_END: &[&str] = &[
    "  8,0    1        8     0.000101000     0  C   W 108 + 8 [0]\n",
    "253,0    1        9     0.000102000     0  C   W 8 + 8 [0]\n",
    "  8,0    1       10     0.000103000     0  C   W 500 + 8 [0]\n",
];
/// A write to md that two disks share.
const STRIPE: &[&str] = &[
    "  9,0    1        1     0.000001000   697  Q   W 0 + 256 [io]\n",
    "  8,0    1        2     0.000002000   697  A   W 2048 + 128 <- (9,0) 0\n",
    "  8,0    1        3     0.000003000   697  Q   W 2048 + 128 [io]\n",
    " 8,16    1        4     0.000004000   697  A   W 2048 + 128 <- (9,0) 128\n",
    " 8,16    1        5     0.000005000   697  Q   W 2048 + 128 [io]\n",
];
const D: &str = "  8,0    3        5     0.000041200   697  D   R 223490 + 8 [io]\n";
const C: &str = "  8,0    3        6     0.000129100     0  C   R 223490 + 8 [0]\n";

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let long = "x".repeat(5_000);
    let ab = format!("{A}{B}");
    let hour = |h: u64| (128_166_372_003_061_629 + h * 36_000_000_000).to_string();
    let mut list = vec![
        // Common to all readers.
        e(1, "empty file", "msr", "", Code::NoRequests, "contains no requests"),
        e(1, "empty file, any format", "auto", "", Code::NoRequests, "contains no requests"),
        e(2, "only blank lines", "msr", "\n \n\r\n\t\n", Code::NoRequests, "contains no requests"),
        e(2, "only blank lines, any format", "auto", "\n".repeat(200_000), Code::NoRequests, "contains no requests"),
        e(2, "only comments", "auto", "# a\n# b\n", Code::NoRequests, "contains no requests"),
        ok(8, "CRLF", "msr", ab.replace('\n', "\r\n"), 2),
        ok(9, "mixed LF and CRLF", "msr", format!("{}{B}", A.replace('\n', "\r\n")), 2),
        ok(10, "no newline at the end", "msr", ab.trim_end(), 2),
        e(11, "last line cut", "msr", &ab[..ab.len() - 15], Code::Truncated, "the file looks truncated"),
        ok(12, "byte order mark", "msr", format!("\u{feff}{ab}"), 2),
        ok(12, "byte order mark, any format", "auto", format!("\u{feff}{ab}"), 2),
        e(13, "UTF-16 with mark", "msr", utf16(&ab, true), Code::NotText, "iconv -f UTF-16 -t UTF-8"),
        e(13, "UTF-16 without mark", "auto", utf16(&ab, false), Code::NotText, "iconv -f UTF-16LE"),
        w(14, "label that is not UTF-8", "msr", b"128166372003061629,h\xff,0,Read,0,512,1\n", Note::Label, 1, 1),
        e(15, "NUL in a number", "msr", msr(T, "Read", "1\x002", "512"), Code::NotText, "Offset contains control bytes"),
        e(15, "escape in the type", "msr", msr(T, "Re\x1bad", "0", "512"), Code::NotText, "Type contains control bytes"),
        ok(16, "trailing blanks", "msr", A.replace('\n', " \t\n"), 1),
        ok(16, "tabs for blanks", "ssdsim", "0\t0\t8 \t8\t1\n", 1),
        e(17, "semicolons", "msr", A.replace(',', ";"), Code::Separator, "separated by a semicolon, not by a comma"),
        e(17, "commas in SSDsim", "ssdsim", "0,0,8,8,1\n", Code::Separator, "separated by a comma, not by a blank"),
        e(18, "too few", "msr", "1,hm,0,Read,0\n", Code::FieldCount, "Line has 5 fields instead of 7"),
        e(18, "too many", "msr", A.replace('\n', ",9\n"), Code::FieldCount, "Line has 8 fields instead of 7"),
        e(19, "empty field", "msr", msr(T, "Read", "", "512"), Code::Empty, "Offset is empty"),
        e(19, "empty type", "msr", msr(T, "", "0", "512"), Code::Empty, "Type is empty"),
        e(20, "junk after the number", "msr", msr(T, "Read", "12abc", "512"), Code::NotANumber, "something else after the number"),
        e(21, "hexadecimal", "msr", msr(T, "Read", "0x200", "512"), Code::Notation, "Offset is hexadecimal"),
        e(21, "plus sign", "msr", msr(T, "Read", "+512", "512"), Code::Notation, "plus sign"),
        ok(21, "leading zeros are decimal", "msr", msr(T, "Read", "000512", "0512"), 1),
        e(22, "float", "msr", msr("1.28e17", "Read", "0", "512"), Code::Notation, "a spreadsheet"),
        e(23, "above 64 bits", "msr", msr(T, "Read", "18446744073709551616", "512"), Code::Range, "does not fit in 64 bits"),
        e(23, "sectors above 64 bits of bytes", "spc", "0,36028797018963968,512,r,0.0\n", Code::Range, "does not fit in 64 bits"),
        e(24, "offset plus size", "msr", msr(T, "Read", "18446744073709551615", "512"), Code::Range, "Offset plus size"),
        e(27, "negative offset", "msr", msr(T, "Write", "-4096", "4096"), Code::Negative, "^^^^^ expected 0 to"),
        e(27, "negative size", "msr", msr(T, "Write", "0", "-1"), Code::Negative, "Size is negative"),
        w(28, "size 0", "msr", format!("{}{A}", msr(T, "Write", "0", "0")), Note::ZeroSize, 1, 1),
        e(29, "size above the maximum", "msr", msr(T, "Write", "0", "67108865"), Code::TooLarge, "raise --max-request"),
        e(29, "absurd size", "msr", msr(T, "Write", "0", "1152921504606846976"), Code::TooLarge, "at most 67108864"),
        w(31, "small step back", "msr", format!("{}{}", msr("128166372003061629", "Read", "0", "512"), msr("128166372003061628", "Read", "0", "512")), Note::TimeClamped, 1, 2),
        e(32, "large step back", "msr", format!("{}{}", msr(&hour(1), "Read", "0", "512"), msr(&hour(0), "Read", "0", "512")), Code::TimeBack, "--time-order sort, clamp or keep"),
        w(32, "large step back, clamped", "msr", format!("{}{}", msr(&hour(1), "Read", "0", "512"), msr(&hour(0), "Read", "0", "512")), Note::TimeClamped, 1, 2)
            .with(|o| o.time_order = TimeOrder::Clamp),
        w(32, "large step back, kept", "msr", format!("{}{}", msr(&hour(1), "Read", "0", "512"), msr(&hour(0), "Read", "0", "512")), Note::TimeKept, 1, 2)
            .with(|o| o.time_order = TimeOrder::Keep),
        w(32, "large step back, sorted", "msr", format!("{}{}", msr(&hour(1), "Read", "0", "512"), msr(&hour(0), "Read", "0", "512")), Note::TimeSorted, 1, 2)
            .with(|o| o.time_order = TimeOrder::Sort),
        w(33, "epoch times", "msr", &ab, Note::Rebased, 1, 2),
        e(34, "time beyond the clock", "ssdsim", "0 0 0 8 1\n18446744073709551615 0 0 8 1\n", Code::Clock, "a trace's clock"),
        w(35, "gap of more than 30 days", "msr", format!("{}{}", msr(&hour(0), "Read", "0", "512"), msr(&hour(24 * 31), "Read", "0", "512")), Note::LongGap, 1, 2),
        w(36, "all at once", "ssdsim", "5 0 0 8 1\n5 0 8 8 1\n", Note::OneInstant, 1, 2),
        ok(37, "many requests at one time", "ssdsim", "0 0 0 8 1\n".repeat(100_000) + "1000000000 0 0 8 0\n", 100_001),
        w(38, "mean gap over a day", "msr", format!("{}{}", msr(&hour(0), "Read", "0", "512"), msr(&hour(48), "Read", "0", "512")), Note::TimeUnit, 1, 2),
        w(38, "mean gap under 1 ns", "ssdsim", "0 0 0 8 1\n0 0 0 8 1\n1 0 8 8 1\n", Note::TimeUnit, 1, 3),
        e(39, "unknown operation", "msr", msr(T, "Wirte", "0", "512"), Code::Operation, "did you mean Write?"),
        ok(40, "duplicate lines", "msr", A.repeat(3), 3),
        e(41, "long line", "msr", format!("{}{A}", "1".repeat(70_000)), Code::TooLong, "longer than 64 KiB"),
        e(41, "no newline in megabytes", "msr", vec![b'1'; 3_000_000], Code::TooLong, "longer than 64 KiB"),
        ok(41, "long lines are skipped if allowed", "msr", format!("{A}{}\n{B}", "1".repeat(700_000)), 2)
            .with(|o| o.on_bad_line = OnBadLine::Skip(1)),
        e(41, "long field", "msr", format!("{T},{long},0,Read,0,512,1\n"), Code::TooLong, "longer than 4 KiB"),
        e(42, "two formats fit", "auto", "0 0 8 8 1\n10 0 16 8 0\n", Code::Ambiguous, "ssdsim or mqsim (times in ns) and disksim (times in ms)"),
        e(42, "one bad code does not decide", "auto", "0 0 8 8 1\n10 0 16 8 0\n20 0 24 8 2\n", Code::Ambiguous, "ssdsim or mqsim (times in ns) and disksim"),
        e(42, "a fraction does not decide", "auto", "0 0 8 8 1\n1 0 16 8 1\n1.5 0 24 8 0\n", Code::Ambiguous, "--format columns:time=0:ms,vol=1,offset=2:bytes,size=3:bytes,op=4:0w1r,sep=space"),
        e(42, "five columns by tabs", "auto", "26.214000\t0\t303574\t1\t0\n", Code::Ambiguous, "--format disksim (ms, sectors of 512 B)"),
        e(42, "SPC's shape in whole units", "auto", "0,0,512,r,0\n0,512,512,w,1000\n", Code::Ambiguous, "--format columns:vol=0,offset=1:bytes"),
        e(42, "Alibaba's shape from 0", "auto", "0,R,0,512,0\n7,W,512,512,1000\n", Code::Ambiguous, "--format alibaba (us, bytes)"),
        e(42, "Tencent's shape from 0", "auto", "0,0,8,0,1063\n5,8,8,1,1063\n", Code::Ambiguous, "--format tencent (s, sectors of 512 B)"),
        e(42, "SYSTOR's shape from 0", "auto", "0.0,0.1,R,4,0,512\n", Code::Ambiguous, "--format systor (s, bytes)"),
        e(42, "MSR's shape from 0", "auto", "0,hm,0,Read,0,512,1\n", Code::Ambiguous, "--format msr (ticks of 100 ns, bytes)"),
        e(42, "blkreplay's shape without names", "auto", "0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0\n", Code::Ambiguous, "--format blkreplay (s, sectors of 512 B)"),
        e(43, "wrong format declared", "spc", &ab, Code::WrongFormat, "use --format msr"),
        e(43, "wrong format declared, other way", "msr", "0,303567,3584,w,0.000000\n", Code::WrongFormat, "use --format spc"),
        e(43, "no format fits", "auto", "hello world\n", Code::UnknownFormat, "columns:<map>"),
        e(45, "too many volumes", "spc", (0..5_000).map(|i| format!("{i},0,512,r,0.0\n")).collect::<String>(), Code::Volumes, "--device ID"),
        ok(45, "many volumes, one chosen", "spc", (0..5_000).map(|i| format!("{i},0,512,r,0.0\n")).collect::<String>(), 1)
            .with(|o| o.device = Some("4999".into())),
        ok(45, "largest identifier", "spc", "4294967295,0,512,r,0.0\n", 1),
        e(45, "device that does not occur", "msr", &ab, Code::Volumes, "hm_0, hm_1").with(|o| o.device = Some("hm_7".into())),
        ok(46, "hostile labels", "msr", format!("{T},<script>=cmd()\u{202e}../..,0,Read,0,512,1\n"), 1),
        w(47, "many warnings", "msr", msr(T, "Read", "0", "0").repeat(50_000) + A, Note::ZeroSize, 50_000, 1),
        // Compressed input.
        ok(48, "gzip", "msr", gzip(ab.as_bytes()), 2),
        ok(48, "zstd", "auto", zstd_of(ab.as_bytes()), 2),
        ok(48, "xz", "auto", xz(ab.as_bytes()), 2),
        ok(48, "bzip2", "auto", bzip2_of(ab.as_bytes()), 2),
        ok(49, "bzip2 streams", "msr", [bzip2_of(A.as_bytes()), bzip2_of(B.as_bytes())].concat(), 2),
        e(54, "bzip2 in gzip", "msr", gzip(&bzip2_of(ab.as_bytes())), Code::Nested, "bzip2 in gzip"),
        e(55, "tar in bzip2", "msr", bzip2_of(&tar(&["hour/0.csv"])), Code::Archive, "tar -xjOf FILE MEMBER"),
        ok(49, "gzip members", "msr", [gzip(A.as_bytes()), gzip(B.as_bytes())].concat(), 2),
        ok(49, "zstd frames", "msr", [zstd_of(A.as_bytes()), zstd_of(B.as_bytes())].concat(), 2),
        ok(49, "xz streams", "msr", [xz(A.as_bytes()), xz(B.as_bytes())].concat(), 2),
        e(51, "window too large", "msr", wide_window(), Code::Window, "at most 128 MiB"),
        e(51, "dictionary of 1 GiB", "msr", wide_dictionary(ab.as_bytes()), Code::Window, "its dictionary is above the limit"),
        e(51, "dictionary outside the file", "msr", zstd_with_dictionary(ab.as_bytes()), Code::Foreign, "a dictionary that is not in the file"),
        e(51, "name of 70 KB in the gzip header", "msr", gzip_named(ab.as_bytes()), Code::Foreign, "its header"),
        e(52, "bomb as one line", "msr", gzip(&vec![b'1'; 5_000_000]), Code::TooLong, "longer than 64 KiB"),
        e(53, "bomb of blank lines", "auto", gzip(&vec![b'\n'; 30_000_000]), Code::NoRequests, "contains no requests"),
        e(54, "gzip in zstd", "msr", zstd_of(&gzip(ab.as_bytes())), Code::Nested, "gzip in zstd"),
        e(54, "xz in gzip", "auto", gzip(&xz(ab.as_bytes())), Code::Nested, "xz in gzip"),
        e(55, "tar", "auto", tar(&["a.csv", "b.csv"]), Code::Archive, "it contains: a.csv, b.csv"),
        e(55, "tar in gzip", "msr", gzip(&tar(&["hour/0.csv"])), Code::Archive, "tar -xzOf FILE MEMBER"),
        e(55, "zip", "auto", zip(0, &["a.csv", "b.csv"]), Code::Archive, "it contains: a.csv, b.csv"),
        e(56, "names that climb", "auto", tar(&["../../etc/passwd", "/abs"]), Code::Archive, "../../etc/passwd, /abs"),
        e(57, "encrypted zip", "auto", zip(1, &["a.csv"]), Code::Archive, "an encrypted zip archive"),
        e(57, "many members", "auto", tar(&["m"; 1_000]), Code::Archive, "and more"),
        e(57, "sparse tar", "auto", sparse_tar("trace.csv"), Code::Archive, "it contains: trace.csv"),
        e(57, "sparse tar of 2^60 bytes in zstd", "msr", zstd_of(&sparse_tar("huge.csv")), Code::Archive, "tar --zstd -xOf"),
        // MSR.
        w(58, "header row", "msr", format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{ab}"), Note::Header, 1, 2),
        e(59, "header row in the middle", "msr", format!("{A}Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{B}"), Code::Header, "concatenated"),
        ok(60, "type in other case", "msr", ab.replace("Read", "READ").replace("Write", "write"), 2),
        e(61, "response time missing", "msr", "128166372003061629,hm,0,Read,383496192,32768\n", Code::FieldCount, "columns:time=0:100ns"),
        w(62, "response time negative", "msr", "128166372003061629,hm,0,Read,383496192,32768,-5\n", Note::Response, 1, 1),
        ok(63, "quoted fields", "msr", "\"128166372003061629\",\"hm\",\"0\",\"Read\",\"0\",\"512\",\"1\"\n", 1),
        e(63, "quote that is never closed", "msr", "128166372003061629,\"hm,0,Read,0,512,1\n", Code::Quotes, "never closed"),
        w(64, "milliseconds since 1970", "msr", "1172163600306,hm,0,Read,0,512,1\n1172163600406,hm,0,Read,0,512,1\n", Note::TimeUnit, 1, 2),
        w(64, "host without a name", "auto", A.replace(",hm,", ",,"), Note::NoHost, 1, 1),
        e(64, "disk without a number", "msr", A.replace(",0,", ",,"), Code::Empty, "DiskNumber is empty"),
        // SPC.
        ok(65, "blanks, either case, optional fields", "spc", "0, 303567 ,3584, W ,0.026214,x,y\n0,55590,3072,r,0.026682\n", 2),
        e(66, "nan", "spc", "0,1,512,r,nan\n", Code::NotANumber, "not a finite number"),
        e(66, "inf", "spc", "0,1,512,r,inf\n", Code::NotANumber, "not a finite number"),
        e(66, "exponent", "spc", "0,1,512,r,1e400\n", Code::Notation, "has an exponent"),
        e(66, "negative time", "spc", "0,1,512,r,-1.0\n", Code::Negative, "Timestamp is negative"),
        e(66, "empty time", "spc", "0,1,512,r,\n", Code::Empty, "Timestamp is empty"),
        w(67, "time without fraction", "spc", "0,1,512,r,5\n0,1,512,r,.5\n", Note::TimeForm, 2, 2).with(|o| o.time_order = TimeOrder::Clamp),
        w(68, "ten digits", "spc", "0,1,512,r,0.0000000019\n", Note::TimeDigits, 1, 1),
        e(69, "decimal comma", "spc", "0,303567,3584,w,0,000000\n", Code::FieldCount, "comma as decimal mark"),
        w(70, "units with holes", "spc", "0,1,512,r,0.0\n7,1,512,r,0.1\n", Note::UnitHoles, 1, 2),
        // SSDsim and MQSim.
        w(71, "only one kind", "ssdsim", (0..200).map(|i| format!("{i} 0 {i} 8 0\n")).collect::<String>(), Note::OpCodes, 1, 200),
        e(72, "letters", "mqsim", "0 0 8 8 R\n", Code::Operation, "op=4,sep=space"),
        e(73, "negative time", "ssdsim", "-1 0 8 8 1\n", Code::Negative, "Time is negative"),
        e(73, "sentinel", "ssdsim", "0 0 8 8 1\n-1 -1 -1 -1 -1\n", Code::Negative, "is negative"),
        e(74, "short line in the middle", "mqsim", "0 0 8 8 1\n1 0\n2 0 8 8 1\n", Code::FieldCount, "Line has 2 fields instead of 5"),
        e(75, "extra columns", "ssdsim", "0 0 8 8 1 99\n", Code::FieldCount, "columns:"),
        ok(76, "sectors above 2^31", "ssdsim", "0 0 4294967296 8 1\n", 1),
        // DiskSim.
        ok(76, "flags are hexadecimal", "disksim", "0.5 0 8 8 1f\n0.75 0 8 8 a\n", 2),
        // blkparse.
        ok(77, "summary at the end", "blkparse", format!("{Q}\nCPU0 (8,0):\n Reads Queued:   1,  4KiB\t Writes Queued: 0\nTotal (8,0):\n Reads Queued: 1\n\nThroughput (R/W): 1KiB/s\nEvents (8,0): 3 entries\nSkips: 0 forward (0 -   0.0%)\n"), 1),
        w(77, "input files before the events", "auto", format!("Input file sda.blktrace.0 added\nInput file sda.blktrace.1 added\n{Q}"), Note::Prologue, 2, 1),
        w(77, "input files before events in a format of one's own", "columns:time=0:s,op=1,offset=2:sectors,size=3:sectors,sep=space", "Input file sda.blktrace.0 added\n0.5 R 8 8\n", Note::Prologue, 1, 1),
        w(78, "several events a request", "blkparse", format!("{Q}{D}{C}"), Note::OtherEvent, 2, 1),
        w(78, "the counted event is named", "blkparse:D", format!("{Q}{D}{C}"), Note::Action, 1, 1),
        e(79, "no such event", "blkparse", format!("{D}{C}"), Code::NoAction, "C (1), D (1)"),
        e(79, "the remedy names an event that occurs", "blkparse", C, Code::NoAction, "as in --format blkparse:C"),
        e(79, "and the one that says most", "blkparse:G", format!("{C}{Q}"), Code::NoAction, "as in --format blkparse:Q"),
        e(79, "none of the events has a sector", "blkparse", "  8,0 3 1 0.1 697 P N [io]\n", Code::NoAction, "none of them has a sector"),
        w(81, "commands passed through", "blkparse:D", format!("{D}  8,0 3 1 0.1 697 D R 512 (a1 08 ..) [smartd]\n  8,0 3 2 0.2 697 D W 24 (15 10 ..) [sd]\n  8,0 3 3 0.3 697 D N 0 (00 ..) [sd]\n"), Note::OtherOp, 3, 1),
        w(81, "commands passed through, at their end", "blkparse:C", format!("{C}  8,0 3 1 0.1 0 C R (a1 08 ..) [0]\n"), Note::OtherOp, 1, 1),
        w(81, "zeroes written", "blkparse", format!("{Q}  8,0 3 1 0.1 697 Q WZS 8 + 8 [io]\n"), Note::ChangesData, 1, 1),
        ok(81, "a flush before data is a write", "blkparse", "  8,0 3 1 0.1 697 Q FWS 8 + 8 [jbd2]\n  8,0 3 2 0.1 697 Q FWFSM 16 + 8 [jbd2]\n", 2),
        e(83, "a word that is none", "blkparse", Q.replace("  R ", "  X "), Code::Operation, "RWBS"),
        w(77, "the summary is counted", "blkparse", format!("{Q}CPU0 (8,0):\n Reads Queued:   1,  4KiB\t Writes Queued: 0\n\nThroughput (R/W): 1KiB/s\nEvents (8,0): 3 entries\nSkips: 0 forward (0 -   0.0%)\n"), Note::Summary, 5, 1),
        w(94, "layers: the upper one comes first", "blkparse", LAYERS.concat(), Note::OtherLayer, 2, 2),
        w(94, "layers: the lower one ends first", "blkparse:C", format!("{}{}", LAYERS.concat(), LAYERS_END.concat()), Note::OtherLayer, 1, 2),
        w(94, "layers: parts of a stripe", "blkparse", STRIPE.concat(), Note::OtherLayer, 2, 1),
        ok(94, "layers: a partition is none", "blkparse", "  8,0 1 1 0.1 7 A W 2056 + 8 <- (8,1) 8\n  8,0 1 2 0.1 7 Q W 2056 + 8 [io]\n", 1),
        ok(94, "layers: only the lower one was recorded", "blkparse", "  8,0 1 1 0.1 7 A W 2056 + 8 <- (253,0) 8\n  8,0 1 2 0.1 7 Q W 2056 + 8 [io]\n", 1),
        w(94, "layers: a partition between them", "blkparse", "253,0 1 1 0.1 7 Q W 8 + 8 [io]\n  8,0 1 2 0.1 7 A W 108 + 8 <- (253,0) 8\n  8,0 1 3 0.1 7 A W 2156 + 8 <- (8,1) 108\n  8,0 1 4 0.1 7 Q W 2156 + 8 [io]\n", Note::OtherLayer, 1, 1),
        ok(80, "names of processes", "blkparse", Q.replace("[io]", "[a b] [c+d]]"), 1),
        w(81, "flush", "blkparse", format!("{Q}{}", "  8,0 3 2 0.1 697 Q FWS [jbd2]\n"), Note::OtherOp, 1, 1),
        ok(81, "discard", "blkparse", Q.replace("  R ", "  D "), 1),
        w(81, "messages and plugs", "blkparse", format!("{Q}  8,0 3 2 0.1 697 m N cfq said 1\n  8,0 3 2 0.1 697 P N [io]\n  8,0 3 2 0.1 697 UT N [io] 1\n"), Note::OtherEvent, 3, 1),
        w(82, "out of order", "blkparse", format!("{}{Q}", Q.replace("0.000000000", "0.500000000")), Note::TimeSorted, 1, 2),
        e(82, "out of order beyond the window", "blkparse", format!("{}{}{Q}", Q.replace("0.000000000", "0.500000000"), Q.replace("0.000000000", "9.000000000")), Code::TimeBack, "Time goes back"),
        ok(81, "every shape that blkparse prints", "blkparse", BLKPARSE_SHAPES.concat(), 1),
        e(83, "no plus in an event that is not counted", "blkparse", format!("{Q}{}", C.replace(" + ", " - ")), Code::FieldCount, "t.csv:2:57"),
        e(83, "a count that is none", "blkparse", format!("{Q}{}", D.replace("+ 8", "+ x")), Code::NotANumber, "Sector count is not a number"),
        e(83, "an origin that is none", "blkparse", format!("{Q}  8,0 3 5 0.1 697 A R 223490 + 8 <- (8,1 223428\n"), Code::FieldCount, "(major,minor)"),
        e(83, "text that is no summary", "blkparse", format!("{Q}CPU0 (8,0):\nnonsense\n"), Code::FieldCount, "t.csv:3"),
        e(11, "blkparse cut in an event that is not counted", "blkparse", format!("{Q}{}", &C[..C.len() - 2]), Code::Truncated, "t.csv:2"),
        e(11, "blkparse cut in the count", "blkparse", format!("{Q}{}", &Q.replace("+ 8", "+ 80")[..60]), Code::Truncated, "t.csv:2"),
        e(83, "custom output", "blkparse", "R 223490 8\n", Code::FieldCount, "run blkparse without -f"),
        e(84, "binary blktrace", "auto", b"\x07tae\0\0\0\0\0\0\0\0", Code::Foreign, "run blkparse first"),
        w(85, "no sectors", "blkparse", format!("{Q}{}", Q.replace("+ 8", "+ 0")), Note::ZeroSize, 1, 1),
        e(85, "2^32-1 sectors", "blkparse", Q.replace("+ 8", "+ 4294967295"), Code::TooLarge, "not a valid size"),
        // fio.
        e(86, "no version line", "fio", "d0 add\n", Code::Version, "fio version 2 iolog"),
        e(86, "unknown version", "auto", "fio version 9 iolog\nd0 add\n", Code::Version, "version line is missing or unknown"),
        w(87, "waits", "fio", "fio version 2 iolog\nd0 add\nd0 open\nd0 write 0 4096\nd0 wait 500 0\nd0 read 0 4096\n", Note::Wait, 1, 2),
        w(88, "wait in version 3", "fio", "fio version 3 iolog\n0 d0 add\n3 d0 open\n57 d0 write 0 4096\n60 d0 wait 5 0\n", Note::WaitIgnored, 1, 1),
        e(89, "never added", "fio", "fio version 2 iolog\nd0 add\nd1 write 0 4096\n", Code::Sequence, "never added"),
        w(89, "opened twice", "fio", "fio version 2 iolog\nd0 add\nd0 open\nd0 open\nd0 write 0 4096\n", Note::OpenTwice, 1, 1),
        e(89, "after close", "fio", "fio version 2 iolog\nd0 add\nd0 open\nd0 close\nd0 write 0 4096\n", Code::Sequence, "after its close"),
        e(90, "name with blanks", "fio", "fio version 2 iolog\nmy file add\n", Code::FieldCount, "no blanks"),
        ok(91, "names are only labels", "fio", format!("fio version 2 iolog\n/../{long} add\n/../{long} open\n/../{long} write 0 4096\n"), 1),
        w(92, "sync", "fio", "fio version 2 iolog\nd0 add\nd0 sync 0 0\nd0 datasync 0 0\nd0 trim 0 4096\n", Note::OtherOp, 2, 1),
        // The remaining readers, once each way.
        ok(65, "Alibaba", "auto", "0,R,126703644672,4096,1577808000000626\n7,W,8192,16384,1577808000001203\n", 2),
        ok(65, "Tencent", "auto", "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n", 2),
        w(58, "SYSTOR", "auto", "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.000806,R,4,899056122368,131072\n1456135200.013377000,,,4,12288,4096\n", Note::NoOp, 1, 1),
        ok(65, "DiskMon", "auto", "0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\n", 1),
        ok(65, "blkreplay", "auto", "free text\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n0.000000000 ; 49339162 ; 3 ; W ; 0.0 ; 0.0\n", 1),
        e(59, "blkreplay header again", "blkreplay", "0.0 ; 1 ; 3 ; W ;\nstart ; sector; length ; op\n", Code::Header, "middle of the data"),
        ok(65, "vscsi", "auto", [vscsi1(0x28, 1, 4096, 8, 5), vscsi1(0x2a, 1, 4096, 16, 6)].concat(), 2),
        e(11, "vscsi cut", "vscsi", &[vscsi1(0x28, 1, 4096, 8, 5), vscsi1(0x2a, 1, 4096, 16, 6)].concat()[..50], Code::Truncated, "18 bytes instead of 32"),
        w(81, "vscsi other commands", "vscsi", [vscsi1(0x28, 1, 4096, 8, 5), vscsi1(0x35, 1, 0, 0, 6)].concat(), Note::OtherOp, 1, 1),
        e(84, "bzip2 cut", "auto", b"BZh91AY&SY\x00\x01", Code::Compressed, "truncated bzip2"),
        e(84, "Parquet", "auto", b"PAR1\x15\x04\x15\x00\x00", Code::Foreign, "Parquet"),
        e(84, "other binary", "auto", [0u8; 100], Code::UnknownFormat, "binary file of no known format"),
        // Column maps.
        e(39, "word that the map does not know", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes", "0,X,0,512\n", Code::Operation, "op=4:0r1w"),
        w(58, "filters", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,where=4:D", "0,R,0,512,D\n0,R,0,512,C\n", Note::Filtered, 1, 1),
        e(18, "too few columns", "columns:time=0:ns,op=1,offset=2:bytes,size=9:bytes", "0,R,0,512\n", Code::FieldCount, "at least 10"),
        e(45, "no column of volumes", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes", "0,R,0,512\n", Code::Usage, "no volume names").with(|o| o.device = Some("x".into())),
        ok(95, "every notation", "columns:time=0:ns,op=1,offset=2:sectors,size=3:kib", "0,R,0x10,4\n+5,W,16.0,0.5\n1.5e1,R,1.6e1,4.0\n", 3),
        w(95, "an exponent that hides digits", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes", "0,R,1.2e6,4096\n", Note::Exponent, 1, 1),
        e(95, "no whole bytes", "columns:time=0:ns,op=1,offset=2:bytes,size=3:kib", "0,R,0,0.3\n", Code::Notation, "no whole number of bytes"),
        e(95, "negative", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes", "0,R,-512,4096\n", Code::Negative, "offset is negative"),
        ok(95, "names in quotes between blanks", "columns:time=1:s,op=2,offset=3:sectors,size=4:sectors,sep=space", "\"db writer\" 0.1 R 8 8\nlog 0.2 W 16 8\n", 2),
        w(96, "the kernel's letters", "columns:time=0:s,op=1,offset=2:sectors,size=3:sectors,sep=space", "0.1 RSM 8 8\n0.2 WFSM 16 8\n0.3 FWFS 24 8\n0.4 FWFS 0 0\n0.5 N 0 0\n", Note::OtherOp, 2, 3),
        w(96, "blkparse -f with its summary", "columns:time=0:s,op=1,offset=2:sectors,size=3:sectors,sep=space", "0.1 R 8 8\nCPU0 (sda):\n Reads Queued:  1, 4KiB\n\nThroughput (R/W): 0KiB/s / 0KiB/s\nEvents (sda): 1 entries\n", Note::Summary, 4, 1),
        e(96, "a summary takes no bad data", "columns:time=0:s,op=1,offset=2:sectors,size=3:sectors,sep=space", "0.1 R 8 8\nCPU0 (sda):\n0.2:5 R 8 8\n", Code::NotANumber, "t.csv:3"),
        w(97, "short lines that a filter leaves out", "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,where=4:D", "0,R,0,512,D\n1,mark\n\"x\"\n", Note::Filtered, 2, 1),
        w(97, "short lines of other kinds", "columns:time=1:us,op=0:'R'r'mark'x'flush'f,offset=2:bytes,size=3:bytes", "mark,1\nR,2,0,512\nflush,3\nmark\n", Note::OtherOp, 3, 1),
        e(97, "short line of a request", "columns:time=1:us,op=0:'R'r'mark'x,offset=2:bytes,size=3:bytes", "mark\nR,2,0\n", Code::FieldCount, "at least 4"),
        ok(98, "dates", "columns:time=0:iso,op=1,offset=2:bytes,size=3:bytes", "2026-05-01T10:00:00.5Z,R,0,512\n2026-05-01 10:00:01,R,0,512\n", 2),
        ok(98, "dates between blanks", "columns:time=0:iso,op=2,offset=3:bytes,size=4:bytes,sep=space", "2026-05-01 10:00:00.5 R 0 512\n2026-05-01 10:00:01 R 0 512\n", 2),
        e(98, "no date", "columns:time=0:iso,op=1,offset=2:bytes,size=3:bytes", "1777629600,R,0,512\n", Code::NotANumber, "not a date and time"),
        ok(99, "columns by name", "columns:time=stamp:us,op='the op',offset=Offset:bytes,size=len:bytes", "len,\"the op\",stamp,offset\n512,R,5,0\n512,W,6,512\n", 2),
        ok(99, "columns by name in a comment", "columns:time=t:us,op=op,offset=at:bytes,size=n:bytes,sep=space,skip=1", "made by x\n# t op at n\n5 R 0 512\n", 1),
        e(99, "a name that is not there", "columns:time=stamp:us,op=op,offset=off:bytes,size=len:bytes", "stamp,op,offset,len\n5,R,0,512\n", Code::Header, "has no column off"),
        w(100, "times of completion", "columns:completion=0:us,latency=1:us,op=2,offset=3:bytes,size=4:bytes", "100,5,R,0,512\n110,90,W,0,512\n", Note::TimeSorted, 1, 2),
        e(100, "completion that goes back", "columns:completion=0:s,latency=1:us,op=2,offset=3:bytes,size=4:bytes", "100,5,R,0,512\n50,5,W,0,512\n", Code::TimeBack, "goes back by 50.0"),
        // Traces of the kernel.
        w(101, "ftrace", "auto", FTRACE.concat(), Note::OtherEvent, 3, 3),
        w(101, "ftrace, lost events", "auto", FTRACE.concat(), Note::LostEvents, 14, 3),
        w(101, "ftrace, flush and a command", "ftrace", FTRACE.concat(), Note::OtherOp, 2, 3),
        ok(101, "ftrace, one device", "ftrace", FTRACE.concat(), 1).with(|o| o.device = Some("8,16".into())),
        ok(101, "ftrace, another event", "ftrace:block_rq_complete", FTRACE.concat(), 2),
        w(101, "ftrace, a requeue", "ftrace", format!("{i}{r}{i}{i}", i = "a-1 [000] d... 1.000000: block_rq_issue: 8,0 R 4096 () 8 + 8 [a]\n", r = "a-1 [000] d... 1.000000: block_rq_requeue: 8,0 R () 8 + 8 [0]\n"), Note::Requeued, 1, 2),
        ok(101, "perf script", "auto", "dd  901/901  [003]  5.000000001: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [dd]\n", 1),
        ok(101, "trace-cmd", "auto", "cpus=4\n     my task-9     [000]     1.000001: block_rq_issue:        8,0 W 4096 () 8 + 8 none,0,0 [my task]\n", 1),
        ok(101, "bio events", "ftrace:block_bio_queue", "a-1 [000] .... 1.000000: block_bio_queue: 8,0 WS 8 + 8 [a]\n", 1),
        ok(101, "bio events, a parenthesis in the name", "ftrace:block_bio_queue", "a-1 [000] .... 1.000000: block_bio_queue: 8,0 WS 8 + 8 [x (a b]\n(a)-1 [000] .... 1.1: block_bio_queue: 8,0 WS 8 + 8 [(a)]\n", 2),
        ok(101, "a name with a bracket, a time and colons", "auto", "a]b 1.5: c: d-7 [003] d..1. 5.000110: block_rq_issue: 8,0 W 4096 () 8 + 8 [x]\n", 1),
        e(101, "ftrace, sectors beyond all", "ftrace", "a-1 [000] .... 1.0: block_rq_issue: 8,0 W 0 () 36028797018963968 + 8 [a]\n", Code::Range, "sector"),
        e(101, "ftrace, a time that is none", "ftrace", "a-1 [000] .... 1.0.0: block_rq_issue: 8,0 W 0 () 8 + 8 [a]\n", Code::NotANumber, "time"),
        e(101, "ftrace, no device", "ftrace", "a-1 [000] .... 1.0: block_rq_issue: 8;0 W 0 () 8 + 8 [a]\n", Code::FieldCount, "major,minor"),
        e(101, "ftrace, no request", "ftrace", "a-1 [000] d... 1.0: sched_switch: x\n", Code::NoAction, "trace-cmd record -e block:block_rq_issue"),
        e(101, "ftrace, another request", "ftrace", "a-1 [000] .... 1.0: block_bio_queue: 8,0 WS 8 + 8 [a]\n", Code::NoAction, "--format ftrace:block_bio_queue"),
        e(101, "ftrace, text behind events", "ftrace", format!("{}nonsense\n", FTRACE[1]), Code::FieldCount, "no event of the kernel"),
        e(101, "ftrace, a cut event", "ftrace", "a-1 [000] .... 1.0: block_rq_issue: 8,0 WS 4096 () 8\n", Code::FieldCount, "sector + sectors"),
        e(101, "ftrace, an unknown word", "ftrace", "a-1 [000] .... 1.0: block_rq_issue: 8,0 XY 4096 () 8 + 8 [a]\n", Code::Operation, "RWBS"),
        w(102, "nvme commands", "auto", NVME.concat(), Note::OtherOp, 2, 2),
        w(102, "nvme, ranges that are not there", "auto", NVME.concat(), Note::ChangesData, 1, 2),
        w(102, "nvme, the block that is taken", "auto", NVME.concat(), Note::BlockSize, 1, 2),
        e(102, "nvme, a length beyond all", "ftrace", NVME[0].replace("len=7", "len=18446744073709551615"), Code::FieldCount, "slba=0, len=7"),
        e(102, "nvme, a place that is none", "ftrace", NVME[0].replace("slba=80", "slba=x"), Code::NotANumber, "slba"),
        e(102, "nvme, no command", "ftrace", "j-1 [000] .... 7.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4\n", Code::FieldCount, "slba=0, len=7"),
        e(102, "nvme, no length", "ftrace", "j-1 [000] .... 7.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4, cmd=(nvme_cmd_read slba=8)\n", Code::FieldCount, "slba=0, len=7"),
        ok(103, "UFS", "ftrace:ufshcd_command:4096", "k-7 [001] .... 7.6: ufshcd_command: send_req: 1d84000.ufshc: tag: 1, DB: 0x2, size: 4096, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10), group_id: 0x0\nk-7 [001] .... 7.7: ufshcd_command: complete_rsp: 1d84000.ufshc: tag: 1, DB: 0x0, size: -1, IS: 0, LBA: 18446744073709551615, opcode: 0x2a (WRITE_10)\n", 1),
        ok(103, "UFS, the device first", "ftrace:ufshcd_command:512", "k-7 [001] .... 7.6: ufshcd_command: 624000.ufshc: send: tag: 24, DB: 0x1, size: 28672, IS: 0, LBA: 32832, opcode: 0x28 (READ_10)\n", 1),
        w(103, "UFS, two logical units", "ftrace:ufshcd_command:4096", UFS_UNITS.concat(), Note::OtherEvent, 1, 2),
        ok(103, "UFS, one logical unit", "ftrace:ufshcd_command:4096", UFS_UNITS.concat(), 1).with(|o| o.device = Some("0:0:0:1".into())),
        e(103, "UFS, no size", "ftrace:ufshcd_command:512", UFS_UNITS[0].replace("size: 4096, ", ""), Code::FieldCount, "LBA: 8, opcode:"),
        e(103, "UFS, an opcode that is none", "ftrace:ufshcd_command:512", UFS_UNITS[0].replace("0x28", "zz"), Code::NotANumber, "opcode"),
        e(103, "UFS, an address beyond all", "ftrace:ufshcd_command:512", UFS_UNITS[0].replace("LBA: 8", "LBA: 18446744073709551615"), Code::Range, "LBA"),
        e(103, "UFS without a unit", "ftrace", "k-7 [001] .... 7.6: ufshcd_command: send_req: u: tag: 1, DB: 0x2, size: 4096, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10)\n", Code::Usage, "ftrace:ufshcd_command:4096"),
        // Windows.
        w(104, "ETW", "auto", ETW.concat(), Note::OtherEvent, 1, 2),
        w(104, "ETW, a flush", "etw", ETW.concat(), Note::OtherOp, 1, 2),
        ok(104, "ETW without its header", "etw", ETW[4..].concat(), 2),
        ok(104, "ETW, one disk", "etw", ETW.concat(), 1).with(|o| o.device = Some("2".into())),
        w(104, "ETW, the system behind the header", "auto", ETW.concat().replace("EndHeader\n", ETW_SYSTEM), Note::LostEvents, 3, 2),
        ok(104, "ETW of Windows 10, without its header", "etw", ETW[4..].concat().replace("0xfffffa8001a2b", "  1, 0xfffffa8001a2b"), 2),
        e(104, "ETW, no process", "etw", "DiskRead, 5, x\n", Code::FieldCount, "No process"),
        e(104, "ETW, a size that is none", "etw", ETW[5].replace("0x00008000", "0xzz"), Code::NotANumber, "IOSize"),
        e(104, "ETW, a time beyond the clock", "etw", ETW[5].replace("1600", "18446744073709551615"), Code::Range, "TimeStamp"),
        e(104, "ETW, longer than 36 years", "etw", ETW[5].replace("         400", "2000000000000000"), Code::Range, "latency"),
        e(104, "ETW, text behind events", "etw", format!("{}nonsense\n", ETW[5]), Code::FieldCount, "no event of the trace"),
        e(104, "ETW cut", "etw", &ETW[4..].concat()[..366], Code::Truncated, "elapsedTime is empty"),
        // bcc and perf-tools.
        w(105, "biosnoop", "auto", BIOSNOOP, Note::NoDisk, 1, 2),
        ok(105, "biosnoop with time in the queue", "auto", "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n0.5 a 7 sda WS 8 4096 0.01 0.2\n", 1),
        w(105, "biosnoop, the kernel's letters", "biosnoop", "0.5 a 7 sda FF 0 0 0.2\n0.6 a 7 sda RA 8 4096 0.2\n", Note::OtherOp, 1, 1),
        ok(105, "biosnoop with more columns", "auto", "TIME(s) COMM PID DISK T SECTOR BYTES IOBYTES P QUE(ms) LAT(ms)\n0.5 a b 7 sda WS 8 4096 4096 R 0.01 0.2\n", 1),
        ok(105, "biosnoop by the time of day", "auto", "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n10:00:00.500 a b            7       sda     WS   8          4096      0.200\n", 1),
        e(105, "biosnoop, no time of day", "biosnoop", "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n25:00:00.500 a 7 sda WS 8 4096 0.200\n", Code::NotANumber, "not a time of day"),
        e(105, "biosnoop, sectors beyond all", "biosnoop", "0.5 a 7 sda W 36028797018963968 4096 0.2\n", Code::Range, "SECTOR"),
        e(105, "biosnoop, a size that is none", "biosnoop", "0.5 a 7 sda W 8 4k 0.2\n", Code::NotANumber, "BYTES"),
        e(105, "biosnoop, a latency below 0", "biosnoop", "0.5 a 7 sda W 8 4096 -0.2\n", Code::Negative, "LAT"),
        e(105, "biosnoop, no process", "biosnoop", "0.5 a b sda W 8 4096 0.2\n", Code::FieldCount, "before the disk"),
        e(105, "biosnoop, short", "biosnoop", "0.5 a 7 sda W 8\n", Code::FieldCount, "8 or more"),
        e(105, "biosnoop, a kind that is none", "biosnoop", "0.5 a 7 sda Q 8 4096 0.2\n", Code::Operation, "T is not a known operation"),
        ok(106, "iosnoop with starts", "auto", "Tracing block I/O. Ctrl-C to end.\nSTARTs          COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n5.5 my task 7 WS 202,1 8 4096 0.51\n5.6 x 8 R 202,1 16 4096 0.7\n\nEnding tracing...\n", 2),
        ok(106, "iosnoop with ends", "iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 a 7 W 202,1 8 4096 0.51\n", 1),
        w(106, "iosnoop without times", "auto", "COMM PID TYPE DEV BLOCK BYTES LATms\na 7 W 202,1 8 4096 0.51\nb 7 R 202,1 8 4096 0.51\n", Note::OneInstant, 1, 2),
        e(106, "iosnoop without a header", "iosnoop", "a 7 W 202,1 8 4096 0.51\n", Code::Header, "not named"),
        e(106, "iosnoop, a kind that is none", "iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 a 7 Q 202,1 8 4096 0.51\n", Code::Operation, "TYPE"),
        e(106, "iosnoop, no process", "iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 a b W 202,1 8 4096 0.51\n", Code::NotANumber, "PID"),
        e(106, "iosnoop, blocks beyond all", "iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 a 7 W 202,1 36028797018963968 4096 0.51\n", Code::Range, "BLOCK"),
        e(106, "iosnoop, short", "iosnoop", "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.5 7 W 202,1 8\n", Code::FieldCount, "7 or more"),
        w(107, "io-tracer", "auto", IOTRACER, Note::OtherOp, 1, 3),
        ok(107, "io-tracer by date", "io-tracer", IOTRACER.replace(",mono_ns", ",x"), 3),
        w(107, "io-tracer, issue not seen", "auto", IOTRACER.replace(",0.120,", ",,"), Note::NoLatency, 1, 3),
        w(107, "io-tracer, modifiers in the operation", "auto", IOTRACER.replace(",write,", ",write|sync|meta,").replace(",discard,", ",secure_erase,").replace(",read,", ",none,"), Note::OtherOp, 2, 2),
        e(107, "io-tracer, modifiers only", "io-tracer", IOTRACER.replace(",write,", ",meta|prio,"), Code::Operation, "op"),
        e(107, "io-tracer, two headers", "io-tracer", format!("{IOTRACER}{IOTRACER}"), Code::Header, "middle of the data"),
        e(107, "io-tracer, a short line", "io-tracer", format!("{}1,2\n", &IOTRACER[..IOTRACER.find('\n').unwrap() + 1]), Code::FieldCount, "2 fields"),
        e(107, "io-tracer, a latency that is none", "io-tracer", IOTRACER.replace("0.120", "fast"), Code::NotANumber, "latency"),
        e(107, "io-tracer, an operation that is none", "io-tracer", IOTRACER.replace(",read,", ",peek,"), Code::Operation, "op"),
        e(107, "io-tracer without a header", "io-tracer", "1,2,3\n", Code::Header, "not named"),
        // libCacheSim.
        w(108, "lcs", "lcs:id=sectors", lcs(2, &[(5, 8, 4096, 12), (6, 16, 512, 13), (6, 0, 512, 0)]), Note::NoOp, 1, 2),
        w(108, "lcs counts seconds", "lcs:id=bytes", lcs(3, &[(5, 8, 4096, 1)]), Note::WholeSeconds, 1, 1),
        w(108, "lcs, the word behind the next request", "lcs:id=sectors", lcs_behind(&[(5, 8, 4096, 12, u64::MAX), (6, 16, 512, 13, 7), (6, 0, 512, 0, u64::MAX)]), Note::WordBehind, 1, 2),
        ok(108, "lcs, next requests have numbers", "lcs:id=sectors", lcs_behind(&[(5, 8, 4096, 1, 12), (6, 16, 512, 13, i64::MAX as u64)]), 2),
        e(108, "lcs, two layouts in a file", "lcs:id=sectors", [lcs(2, &[(5, 8, 4096, 12)]), lcs_behind(&[(5, 8, 4096, 12, 3)])[8192..].to_vec()].concat(), Code::FieldCount, "changes its place"),
        e(108, "lcs, the other way round", "lcs:id=sectors", [lcs_behind(&[(5, 8, 4096, 12, 3)]), lcs(2, &[(5, 8, 4096, 12)])[8192..].to_vec()].concat(), Code::FieldCount, "changes its place"),
        ok(108, "lcs of one operation", "lcs:id=pages,op=read", lcs(1, &[(5, 8, 4096, 0)]), 1),
        e(108, "lcs without a unit", "auto", lcs(2, &[(5, 8, 4096, 12)]), Code::Ambiguous, "--format lcs:id=sectors"),
        e(108, "lcs without operations", "lcs:id=pages", lcs(1, &[(5, 8, 4096, 0)]), Code::Operation, "op=read"),
        e(108, "lcs of a later version", "lcs:id=pages", lcs(9, &[(5, 8, 4096, 0)]), Code::Version, "Version 9"),
        e(108, "lcs cut in the header", "lcs:id=pages", &lcs(2, &[])[..5_000], Code::Truncated, "8192 bytes before"),
        e(108, "lcs cut in a record", "lcs:id=pages", &lcs(2, &[(5, 8, 4096, 12), (5, 8, 4096, 12)])[..8192 + 40], Code::Truncated, "12 bytes instead of 28"),
        e(108, "lcs of hashes", "lcs:id=pages", lcs(2, &[(5, u64::MAX, 4096, 12)]), Code::Range, "may be a hash"),
        e(108, "no lcs", "lcs:id=pages", "a,b\n", Code::WrongFormat, "oraclegeneral:"),
        e(108, "oracleGeneral, cut", "oraclegeneral:id=sectors,op=write", &lcs(1, &[(5, 8, 4096, 0), (6, 8, 4096, 0)])[8192..8192 + 44], Code::Truncated, "20 bytes instead of 24"),
        e(108, "oracleGeneral without an operation", "oraclegeneral:id=sectors", &lcs(1, &[(5, 8, 4096, 0)])[8192..], Code::Operation, "op=read"),
        e(108, "oracleGeneral of hashes", "oraclegeneral:id=sectors,op=read", &lcs(1, &[(5, u64::MAX, 4096, 0)])[8192..], Code::Range, "may be a hash"),
        ok(108, "oracleGeneral", "oraclegeneral:id=sectors,op=write", &lcs(1, &[(5, 8, 4096, 0), (6, 9, 512, 0)])[8192..], 2),
        // Rule 1: no more lines are skipped than allowed, and all of them are counted.
        w(20, "bad lines skipped", "msr", format!("{A}junk\n{B}"), Note::BadLine, 1, 2).with(|o| o.on_bad_line = OnBadLine::Skip(3)),
        e(20, "more bad lines than allowed", "msr", format!("{A}junk\njunk\n{B}"), Code::FieldCount, "More than 1 malformed lines").with(|o| o.on_bad_line = OnBadLine::Skip(1)),
    ];
    // 50: each packing, cut, damaged, with garbage behind.
    for pack in [gzip, zstd_of, xz, bzip2_of] {
        let text = A.repeat(3_000);
        let packed = pack(text.as_bytes());
        list.push(e(50, "cut stream", "msr", &packed[..packed.len() - 20], Code::Compressed, "near compressed byte"));
        list.push(e(50, "garbage behind", "msr", [&packed[..], b"garbage behind the end"].concat(), Code::Compressed, "Damaged or truncated"));
    }
    let mut damaged = gzip(ab.as_bytes());
    let at = damaged.len() - 6;
    damaged[at] ^= 0xff;
    list.push(e(50, "wrong checksum", "msr", damaged, Code::Compressed, "Damaged or truncated gzip"));
    list
}

#[test]
fn every_case_of_the_table() {
    let mut wrong = Vec::new();
    for case in cases() {
        let label = format!("case {} ({}, {})", case.number, case.name, case.format);
        match (read(&case), &case.want) {
            (Err(error), Want::Error(code, says)) => {
                let text = error.to_string();
                if error.code() != *code || !text.contains(says) {
                    wrong.push(format!("{label}: wanted {code} with '{says}', got:\n{text}"));
                }
                if *code != Code::Usage && error.kind() != Kind::Data {
                    wrong.push(format!("{label}: exit status {}", error.kind().exit_status()));
                }
                // Rule 2: form, place, fix, and no control characters.
                let form = text.starts_with(&format!("error[{code}]: "))
                    && text.contains("\n  --> t.csv")
                    && text.contains("\n   = fix: ");
                let safe = text.chars().all(|c| c == '\n' || !acts(c));
                let json = serde_json::to_value(&error).expect("errors serialise");
                let fields = ["code", "file", "line", "column", "field", "excerpt", "expected", "fix"];
                if !form || !safe || fields.iter().any(|field| json.get(field).is_none()) {
                    wrong.push(format!("{label}: not in the documented form:\n{text}"));
                }
            }
            (Err(error), _) => wrong.push(format!("{label}: should be read, got:\n{error}")),
            (Ok((accepted, reader)), want) => {
                let notes: Vec<String> = reader.notes().lines().collect();
                match want {
                    Want::Error(code, _) => wrong.push(format!("{label}: wanted {code}, read {accepted}: {notes:?}")),
                    Want::Fine(wanted) if *wanted == accepted => {}
                    Want::Warning(note, count, wanted)
                        if *wanted == accepted && reader.notes().count(*note) == *count =>
                    {
                        if notes.iter().any(|line| line.contains('\n') || line.is_empty()) {
                            wrong.push(format!("{label}: notes are no lines: {notes:?}"));
                        }
                    }
                    Want::Fine(wanted) | Want::Warning(_, _, wanted) => {
                        wrong.push(format!("{label}: wanted {wanted}, read {accepted}: {notes:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Numbers of the cases that concern readers and compression, and where each is tested.
#[test]
fn no_case_is_forgotten() {
    let here: std::collections::BTreeSet<u32> = cases().iter().map(|case| case.number).collect();
    // Below, because they need files or a device; 7 is a property of streams without end.
    let below = [3, 4, 5, 6, 7, 25, 26, 30, 44, 93];
    let missing: Vec<u32> = (1..=93).filter(|n| !here.contains(n) && !below.contains(n)).collect();
    assert!(missing.is_empty(), "cases without a test: {missing:?}");
}

fn fields(name: &str, input: &[u8]) -> Vec<(u64, Op, u64, u64)> {
    let source = Source::from_reader("t", Cursor::new(input.to_vec())).expect("opens");
    let mut reader = Reader::new(source, &format(name)).expect("opens");
    let mut found = Vec::new();
    while let Some(r) = reader.next().expect("reads") {
        found.push((r.time_ns, r.op, r.offset, r.bytes));
    }
    found
}

/// Times, operations, addresses and sizes of the readers of other tools, by hand.
#[test]
fn readers_have_each_field_in_its_place() {
    let (r, w, t) = (Op::Read, Op::Write, Op::Trim);
    let ftrace = [(0, w, 1_048_576, 4_096), (2_890_000, t, 8_388_608, 65_536), (3_890_000, r, 262_144, 4_096)];
    assert_eq!(fields("ftrace", FTRACE.concat().as_bytes()), ftrace);
    assert_eq!(fields("auto", NVME.concat().as_bytes()), [(0, w, 40_960, 4_096), (100_000_000, r, 20_480, 512)]);
    let wide = [(0, w, 327_680, 32_768), (100_000_000, r, 163_840, 4_096)];
    assert_eq!(fields("ftrace:nvme_setup_cmd:4096", NVME.concat().as_bytes()), wide);
    // 2,000 - 1,000 and 1,600 - 400 us.
    let etw = [(0, r, 2_097_152, 8_192), (200_000, w, 1_073_745_920, 32_768)];
    assert_eq!(fields("etw", ETW.concat().as_bytes()), etw);
    assert_eq!(fields("etw", ETW[4..].concat().replace("0xfffffa8001a2b", "  1, 0xfffffa8001a2b").as_bytes()), etw);
    // 0 - 40 us, and 1.5 s - 200 us.
    let bio = [(0, r, 3_758_620_672, 8_192), (1_499_840_000, w, 46_137_344, 8_192)];
    assert_eq!(fields("biosnoop", BIOSNOOP.as_bytes()), bio);
    let io = [(0, w, 1_048_576, 4_096), (60_000, r, 4_194_304, 131_072), (2_680_000, t, 8_388_608, 1_048_576)];
    assert_eq!(fields("io-tracer", IOTRACER.as_bytes()), io);
    let snoop = "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n5.000000 5.004000 a 7 W 8,0 8 4096 4.00\n4.999000 5.005000 b c 7 R 8,0 16 512 6.00\n";
    assert_eq!(fields("iosnoop", snoop.as_bytes()), [(0, r, 8_192, 512), (1_000_000, w, 4_096, 4_096)]);
    let records = lcs(3, &[(1_000, 8, 4_096, 12), (1_001, 16, 512, 13), (1_001, 24, 512, 9)]);
    let wanted = [(0, r, 4_096, 4_096), (1_000_000_000, w, 8_192, 512), (1_000_000_000, t, 12_288, 512)];
    assert_eq!(fields("lcs:id=sectors", &records), wanted);
    let records = lcs(2, &[(1_000, 8, 4_096, 12), (1_001, 16, 512, 13), (1_001, 24, 512, 9)]);
    assert_eq!(fields("lcs:id=sectors", &records), wanted);
    let records = lcs_behind(&[(1_000, 8, 4_096, 12, 2), (1_001, 16, 512, 13, u64::MAX), (1_001, 24, 512, 9, 4)]);
    assert_eq!(fields("lcs:id=sectors", &records), wanted);
    let ufs = [(0, r, 32_768, 4_096), (200_000_000, w, 32_768, 8_192)];
    assert_eq!(fields("ftrace:ufshcd_command:4096", UFS_UNITS.concat().as_bytes()), ufs);
    // 36,000.5 s less 0.2 ms, and 36,001 s less 200.7 ms.
    let by_day = "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n10:00:00.500 a b 7 sda WS 8 4096 0.2\n10:00:01.000 c 7 sda R 16 512 200.7\n";
    assert_eq!(fields("biosnoop", by_day.as_bytes()), [(0, w, 4_096, 4_096), (299_500_000, r, 8_192, 512)]);
    let fua = |name: &str, text: String| {
        let source = Source::from_reader("t", Cursor::new(text)).expect("opens");
        let mut reader = Reader::new(source, &format(name)).expect("opens");
        Info::read(&mut reader).expect("reads").fua
    };
    assert_eq!((fua("ftrace", FTRACE.concat()), fua("auto", NVME.concat())), (1, 1));
}

/// What is only read is not written.
#[test]
fn formats_of_other_tools_are_not_written() {
    for name in
        ["ftrace", "etw", "biosnoop", "iosnoop", "io-tracer", "lcs:id=sectors", "oraclegeneral:id=sectors,op=read"]
    {
        let refused = ssdlab_trace::Writer::new(Vec::new(), "out", name.parse().expect("a format")).expect_err(name);
        assert_eq!(refused.code(), Code::Usage, "{name}");
    }
}

/// The fields of a binary record lie close to others that would also pass.
#[test]
fn vscsi_2_has_each_field_in_its_place() {
    let records = [vscsi2(0x28, 8_192, 3, 40, 1_000), vscsi2(0x8a, 512, 5, 7, 1_250)].concat();
    let wanted = [(0, Op::Read, 20_480, 8_192), (250_000, Op::Write, 3_584, 512)];
    for name in ["auto", "vscsi"] {
        assert_eq!(fields(name, &records), wanted, "{name}");
    }
}

/// Waits of version 2 count since the wait before, as fio's manual has it.
#[test]
fn fio_waits_add_up() {
    let waits =
        "fio version 2 iolog\nd add\nd open\nd write 0 512\nd wait 500 0\nd read 512 512\nd wait 700 0\nd trim 0 512\n";
    let times: Vec<u64> = fields("fio", waits.as_bytes()).iter().map(|r| r.0).collect();
    assert_eq!(times, [0, 500_000, 1_200_000]);
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("temporary file");
    file.write_all(bytes).expect("temporary file");
    file
}

fn replay(path: &Path, options: &Options, fit: Fit) -> Result<(Vec<ssdlab_trace::Record>, Replay), TraceError> {
    let mut replay = Replay::open(path, options, fit)?;
    let mut records = Vec::new();
    while let Some(record) = replay.next()? {
        records.push(record);
    }
    Ok((records, replay))
}

fn format(name: &str) -> Options {
    Options { format: Format::parse_or_auto(name).expect("format"), ..Options::default() }
}

#[test]
fn case_3_files_that_cannot_be_opened() {
    for path in ["/nonexistent/trace.csv", "/"] {
        let error = Reader::open(Path::new(path), &Options::default()).expect_err("cannot be a trace");
        assert_eq!((error.code(), error.kind().exit_status()), (Code::Unreadable, 4));
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn cases_4_and_5_files_that_change() {
    // Larger than all buffers together, so that the change is seen.
    let text = A.repeat(40_000);
    let temp = file(text.as_bytes());
    let mut reader = Reader::open(temp.path(), &format("msr")).expect("opens");
    reader.next().expect("first request");
    temp.as_file().set_len(1_500_000).expect("shrinks");
    let error = loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a shrunken file must be noticed"),
            Err(error) => break error,
        }
    };
    // The cut falls into a line or between two; either way the line is named.
    assert!(matches!(error.code(), Code::Unreadable | Code::Truncated), "{error}");
    assert!(error.report().line.is_some_and(|line| line > 20_000));

    let mut temp = file(text.as_bytes());
    let mut reader = Reader::open(temp.path(), &format("msr")).expect("opens");
    temp.write_all(A.as_bytes()).expect("grows");
    let info = Info::read(&mut reader).expect("reads up to the first size");
    assert_eq!((info.requests, reader.notes().count(Note::Grew)), (40_000, 1));
}

#[test]
fn case_6_pipes_refuse_what_needs_two_passes() {
    let fit = Fit { loops: 2, ..Fit::new(1 << 30) };
    // A character device stands for a pipe: it has no size either.
    let error = Replay::open(Path::new("/dev/null"), &format("msr"), fit);
    if Path::new("/dev/null").exists() {
        let error = error.expect_err("cannot be repeated");
        assert_eq!((error.code(), error.kind().exit_status()), (Code::Usage, 2));
        assert!(error.to_string().contains("read only once"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn case_6_a_real_pipe_is_streamed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("no mkfifo on this system; skipped");
        return;
    }
    // Far more than a pipe holds: the writer has to wait for the reader, several times.
    let feed = |bytes: Vec<u8>| {
        let path = path.clone();
        std::thread::spawn(move || std::fs::write(path, bytes))
    };
    for packed in [false, true] {
        let text = A.repeat(50_000).into_bytes();
        let writer = feed(if packed { zstd_of(&text) } else { text });
        let (records, replay_) = replay(&path, &format("auto"), Fit::new(1 << 30)).expect("reads");
        writer.join().expect("no panic").expect("writes it all");
        assert_eq!((records.len(), replay_.reader().progress().1), (50_000, None));
    }
    let writer = feed(A.as_bytes().to_vec());
    let fit = Fit { loops: 2, ..Fit::new(1 << 30) };
    let error = Replay::open(&path, &format("msr"), fit).expect_err("cannot be repeated");
    assert!(error.to_string().contains("read only once"), "{error}");
    writer.join().expect("no panic").expect("writes it all");
}

#[test]
fn seconds_are_spread_only_where_the_clock_counts_seconds() {
    let temp = file(b"100,0,8,0,7\n100,8,8,0,7\n100,16,8,1,7\n103,0,8,0,7\n104,0,8,0,7\n104,8,8,0,7\n");
    let options = |name: &str| Options { within_second: WithinSecond::Even, ..format(name) };
    let (records, replay_) = replay(temp.path(), &options("tencent"), Fit::new(1 << 20)).expect("reads");
    let times: Vec<u64> = records.iter().map(|r| r.time_ns).collect();
    assert_eq!(times, [0, 333_333_333, 666_666_666, 3_000_000_000, 4_000_000_000, 4_500_000_000]);
    assert_eq!((replay_.notes().count(Note::Spread), replay_.notes().count(Note::OneInstant)), (6, 0));
    let error = replay(file(format!("{A}{B}").as_bytes()).path(), &options("msr"), Fit::new(1 << 30));
    assert_eq!(error.expect_err("has a finer clock").code(), Code::Usage);
}

#[test]
fn case_7_endless_streams_stop_where_they_are_told() {
    let source = Source::from_reader("endless", std::io::repeat(b'\n')).expect("opens");
    let reader = Reader::new(source, &format("msr"));
    assert!(reader.is_ok(), "opening must not read to the end");
    let zeros = Source::from_reader("zeros", std::io::repeat(0)).expect("opens");
    let error = Reader::new(zeros, &Options::default()).expect_err("no trace");
    assert_eq!(error.code(), Code::UnknownFormat);
    let digits = Source::from_reader("digits", std::io::repeat(b'1')).expect("opens");
    let mut reader = Reader::new(digits, &format("msr")).expect("opens");
    assert_eq!(reader.next().expect_err("a line without end").code(), Code::TooLong);
}

#[test]
fn cases_25_and_26_past_the_device() {
    for (offset, size) in [("1048576", "512"), ("1048064", "1024")] {
        let temp = file(format!("{}{}", msr(T, "Read", "0", "512"), msr(T, "Write", offset, size)).as_bytes());
        let error = replay(temp.path(), &format("msr"), Fit::new(1 << 20)).expect_err("does not fit");
        assert_eq!((error.code(), error.kind().exit_status()), (Code::PastDevice, 3));
        let text = error.to_string();
        assert!(
            text.contains("--lba-policy wrap, clip or dense") && text.contains("needs a device of 1052672 bytes"),
            "{text}"
        );
        assert!(text.contains(":2:1"), "{text}");
    }
}

#[test]
fn case_30_sectors() {
    let temp = file(format!("{}{}", msr(T, "Read", "100", "50"), msr(T, "Write", "1000", "100")).as_bytes());
    let (records, replay) = replay(temp.path(), &format("msr"), Fit::new(1 << 20)).expect("fits");
    assert_eq!((records[0].offset, records[0].bytes), (0, 512));
    assert_eq!((records[1].offset, records[1].bytes), (512, 1024));
    assert_eq!(replay.notes().count(Note::Rounded), 2);
}

#[test]
fn cases_44_and_93_volumes_end_to_end() {
    let temp = file(b"0 5 0 8 1\n10 7 0 8 0\n20 5 100 8 1\n");
    let (records, replay_) = replay(temp.path(), &format("ssdsim"), Fit::new(1 << 20)).expect("fits");
    // Volume 5 reaches to 108 sectors, 55296 bytes, 57344 in whole pages.
    assert_eq!(records.iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 57_344, 51_200]);
    assert!(replay_.notes().lines().any(|line| line.contains("laid end to end") && line.contains("5, 7")));
    let one = Options { device: Some("7".into()), ..format("ssdsim") };
    let (records, _) = replay(temp.path(), &one, Fit::new(1 << 20)).expect("fits");
    assert_eq!((records.len(), records[0].time_ns, records[0].offset), (1, 0, 0));
    let iolog =
        file(b"fio version 3 iolog\n0 a add\n0 b add\n0 a open\n0 b open\n5 a write 0 4096\n6 b write 0 4096\n");
    let (records, _) = replay(iolog.path(), &format("fio"), Fit::new(1 << 20)).expect("fits");
    assert_eq!(records.iter().map(|r| (r.time_ns, r.offset)).collect::<Vec<_>>(), [(0, 0), (1_000, 4096)]);
    let error = replay(iolog.path(), &format("fio"), Fit::new(4096)).expect_err("too small");
    assert_eq!(error.code(), Code::PastDevice);
}

#[test]
fn policies_loops_limits_and_scale() {
    let temp = file(b"100 0 0 8 1\n200 0 2040 16 0\n400 0 4096 8 0\n");
    let fit = Fit::new(1 << 20);
    let run = |fit: Fit| {
        let (records, replay) = replay(temp.path(), &format("ssdsim"), fit).expect("fits");
        (records.iter().map(|r| (r.time_ns, r.offset / 512, r.bytes / 512)).collect::<Vec<_>>(), replay)
    };
    let (wrapped, replay_) = run(Fit { lba_policy: LbaPolicy::Wrap, ..fit.clone() });
    assert_eq!(wrapped, [(0, 0, 8), (100, 2040, 16), (300, 0, 8)]);
    assert_eq!((replay_.accepted(), replay_.notes().count(Note::Scattered)), (3, 1));
    let (clipped, _) = run(Fit { lba_policy: LbaPolicy::Clip, ..fit.clone() });
    assert_eq!(clipped, [(0, 0, 8), (100, 2040, 8)]);
    // What begins where the device ends is beyond it, not cut to nothing.
    let at_end = file(b"0 0 2040 16 1\n1 0 2048 8 1\n2 0 2040 8 1\n");
    let clip = Fit { lba_policy: LbaPolicy::Clip, ..fit.clone() };
    let (records, replay_) = replay(at_end.path(), &format("ssdsim"), clip).expect("fits");
    assert_eq!(
        records.iter().map(|r| (r.time_ns, r.offset, r.bytes)).collect::<Vec<_>>(),
        [(0, 1_044_480, 4096), (2, 1_044_480, 4096)]
    );
    assert_eq!((replay_.notes().count(Note::Dropped), replay_.notes().count(Note::Clipped)), (1, 1));
    let (dense, _) = run(Fit { lba_policy: LbaPolicy::Dense, ..fit.clone() });
    assert_eq!(dense, [(0, 0, 8), (100, 8, 16), (300, 24, 8)]);
    // Last arrival 300, mean gap 150: the second pass starts at 450.
    let large = Fit { capacity_bytes: 1 << 30, loops: 2, limit: Some(5), ..fit.clone() };
    let (looped, once) = run(large.clone());
    assert_eq!(looped.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 100, 300, 450, 550]);
    let (scaled, other) = run(Fit { time_scale: "0.5".parse().expect("scale"), ..large.clone() });
    assert_eq!(scaled.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 50, 150, 225, 275]);
    assert_ne!(once.digest(), other.digest());
    // Packing and spelling do not matter to the digest.
    let packed = file(&zstd_of(b"100\t9 00 8 1\r\n200 9 2040 16 0\n\n400 9 4096 8 0"));
    let (_, same) = replay(packed.path(), &format("mqsim"), large).expect("fits");
    assert_eq!(once.digest(), same.digest());
    assert_eq!(once.digest().len(), 64);
}

/// A pass of a repeated trace begins when it would without flushes. A flush at the end of the one before is no later than that,
/// and one between requests has its own time.
#[test]
fn flushes_do_not_move_the_passes_of_a_repeated_trace() {
    let temp = file(b"0 w 0 4096\n50 f 0 0\n100 w 4096 4096\n120 f 0 0\n900 f 0 0\n");
    let format =
        |flushes| Options { flushes, ..format("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,sep=space") };
    let run = |flushes, loops| {
        let (records, replay) =
            replay(temp.path(), &format(flushes), Fit { loops, ..Fit::new(1 << 20) }).expect("fits");
        (records.iter().map(|r| (r.time_ns, r.op == Op::Flush)).collect::<Vec<_>>(), replay.digest())
    };
    let (plain, digest) = run(false, 3);
    assert_eq!(plain, [0, 100, 200, 300, 400, 500].map(|at| (at, false)));
    let (flushed, same) = run(true, 3);
    let pass = |from| [(from, false), (from + 50, true), (from + 100, false), (from + 120, true), (from + 200, true)];
    let mut expected: Vec<_> = [0, 200, 400].into_iter().flat_map(pass).collect();
    // Nothing follows the last one.
    expected.last_mut().unwrap().0 = 1300;
    assert_eq!((flushed, same), (expected, digest));
    assert_eq!(run(true, 1).0.last(), Some(&(900, true)));
    let only = file(b"0 f 0 0\n50 f 0 0\n");
    for loops in [1, 2] {
        let error =
            replay(only.path(), &format(true), Fit { loops, ..Fit::new(1 << 20) }).expect_err("nothing to simulate");
        assert!(error.code() == Code::NoRequests && error.to_string().contains("flushes only"), "{error}");
    }
}

/// A flush before the first request has its own time, so the first request arrives after it.
#[test]
fn a_trace_that_begins_with_a_flush_begins_there() {
    let temp = file(b"700 f 0 0\n900 f 0 0\n1000 w 0 4096\n1100 w 4096 4096\n");
    let run = |flushes, loops| {
        let format = Options { flushes, ..format("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,sep=space") };
        let (records, replay) = replay(temp.path(), &format, Fit { loops, ..Fit::new(1 << 20) }).expect("fits");
        (records.iter().map(|r| (r.time_ns, r.op == Op::Flush)).collect::<Vec<_>>(), replay.digest())
    };
    let (plain, digest) = run(false, 1);
    assert_eq!(plain, [(0, false), (100, false)]);
    let pass = |from| [(from, true), (from + 200, true), (from + 300, false), (from + 400, false)];
    assert_eq!(run(true, 1), (pass(0).to_vec(), digest), "the digest is that of the requests");
    // The second pass begins after the last arrival, 400, and the mean gap of two requests.
    assert_eq!(run(true, 2).0, [pass(0), pass(800)].concat());
}

/// The clock of a simulation ends at 2^61 - 1 ns, whatever loops and scale make of the times in the file.
#[test]
fn case_34_arrivals_end_with_the_clock() {
    let last = CLOCK_MAX_NS;
    assert_eq!(last, (1 << 61) - 1);
    let outcome = |time: u64, loops: u64, scale: &str| {
        let temp = file(format!("0 0 0 8 1\n# a remark\n{time} 0 0 8 0\n").as_bytes());
        let fit = Fit { loops, time_scale: scale.parse().expect("scale"), ..Fit::new(1 << 20) };
        replay(temp.path(), &format("ssdsim"), fit).map(|(records, _)| records.last().map(|r| r.time_ns))
    };
    assert_eq!(outcome(last, 1, "1"), Ok(Some(last)));
    assert_eq!(outcome(last + 1, 1, "0.5"), Ok(Some(1 << 60)));
    // Two passes: the second begins a span and a mean gap later and ends a span after that.
    assert_eq!(outcome(last / 3, 2, "1"), Ok(Some(last / 3 * 3)));
    for (time, loops, scale) in [
        (last + 1, 1, "1"),
        (1 << 62, 1, "1"),
        (i64::MAX as u64 + 1, 1, "1"),
        (u64::MAX, 1, "0.1"),
        (1 << 60, 1, "2"),
        (1 << 60, 2, "1"),
    ] {
        let error = outcome(time, loops, scale).expect_err("is later than the clock");
        assert_eq!((error.code(), error.kind().exit_status()), (Code::Clock, 3), "{error}");
        // The second pass is late from its first line on.
        let line = if loops == 2 { 1 } else { 3 };
        assert!(error.report().line == Some(line) && error.to_string().contains("= fix: check"), "{error}");
    }
}

/// Faults of the whole file claim no line.
#[test]
fn faults_of_the_whole_file_name_none() {
    let text = gzip(A.repeat(40).as_bytes());
    let cut = text[..30].to_vec();
    for input in [utf16(A, true), cut, wide_window()] {
        let opened =
            Source::from_reader("t", Cursor::new(input)).and_then(|source| Reader::new(source, &format("msr")));
        let error = opened.and_then(|mut reader| Info::read(&mut reader)).expect_err("is refused");
        assert_eq!(error.report().line, None, "{error}");
    }
}

/// An address in a line is one of its volume: the error says where that lies.
#[test]
fn errors_past_the_device_say_where_the_volumes_lie() {
    let two = file(b"0 0 0 8 1\n1 7 8 8 1\n2 7 4096 8 1\n");
    let error = replay(two.path(), &format("ssdsim"), Fit::new(1 << 20)).expect_err("is refused");
    let text = error.to_string();
    assert_eq!((error.code(), error.report().line), (Code::PastDevice, Some(3)), "{text}");
    // Volume 0 ends at 4096 bytes, so 7 begins there.
    let note = "= note: 2 volumes laid end to end in the order of first appearance (0, 7)";
    assert!(text.contains(note) && text.contains("the volume of this line begins at byte 4096"), "{text}");
}

/// A request that completes late may have arrived first. 100 - 5 = 95 us, 110 - 90 = 20 us, 120 - 200 = -80 us.
#[test]
fn arrivals_are_completion_less_latency() {
    let map = "columns:completion=0:us,latency=1:ms,op=2,offset=3:bytes,size=4:bytes";
    let input = b"100,0.005,R,0,512\n110,0.090,W,512,512\n120,0.200,R,1024,512\n";
    let wanted = [(0, Op::Read, 1024, 512), (100_000, Op::Write, 512, 512), (175_000, Op::Read, 0, 512)];
    assert_eq!(fields(map, input), wanted);
    let source = Source::from_reader("t", Cursor::new(input.to_vec())).expect("opens");
    let mut reader = Reader::new(source, &format(map)).expect("opens");
    while reader.next().expect("reads").is_some() {}
    let rebased = reader.notes().get(Note::Rebased).expect("is said");
    assert_eq!((rebased.detail.as_str(), reader.steps_back()), ("-0.000080000 s in the trace", 0));
}

/// Whole seconds, four requests each; the same with a finer clock; and few requests.
#[test]
fn clocks_that_are_too_coarse_are_reported() {
    let lints = |unit: u64, each: u64, seconds: u64| {
        let line = |i: u64| format!("{},R,{},512\n", i / each * unit, i * 512);
        let text: String = (0..each * seconds).map(line).collect();
        let source = Source::from_reader("t", Cursor::new(text)).expect("opens");
        let map = "columns:time=0:us,op=1,offset=2:bytes,size=3:bytes";
        let mut reader = Reader::new(source, &format(map)).expect("opens");
        let info = Info::read(&mut reader).expect("reads");
        let found = ssdlab_trace::check(&info, reader.notes());
        (info.clock_ns, found.into_iter().find(|lint| lint.name == "coarse_clock").map(|lint| lint.text))
    };
    let (clock, text) = lints(1_000_000, 4, 50);
    assert_eq!(clock, 1_000_000_000);
    let wanted = "times are whole seconds, 4 requests at one instant in the mean: use --within-second even, or expect bursts that were not there";
    assert_eq!(text.as_deref(), Some(wanted));
    let (clock, text) = lints(15_600, 3, 50);
    assert!(clock == 15_600_000 && text.is_some_and(|text| text.contains("multiples of 15.600 ms, 3 requests")));
    assert_eq!(lints(1_000_000, 1, 50), (1_000_000_000, None));
    assert_eq!(lints(1_000_000, 4, 2).1, None);
}

/// blkparse merges within 1 s: a larger step is an error at its line, although nothing was returned meanwhile.
#[test]
fn a_clock_that_jumped_ahead_does_not_excuse_steps_back() {
    let line = |s: u64| format!("  8,0 0 1 {s}.000000000 7 Q W 0 + 8 [io]\n");
    let text = [line(1), line(2_000_000), line(1_000_000)].concat();
    let source = Source::from_reader("t", Cursor::new(text)).expect("opens");
    let read = Reader::new(source, &format("blkparse")).and_then(|mut reader| Info::read(&mut reader));
    let error = read.expect_err("is refused");
    assert_eq!((error.code(), error.report().line), (Code::TimeBack, Some(3)), "{error}");
    assert!(error.to_string().contains("goes back by 1000000.000000000 s"), "{error}");
}

/// Faults of the whole file name the line where they show.
#[test]
fn faults_of_the_whole_file_name_a_line() {
    let lines = [
        ("blkparse:G", format!("\n{Q}{D}"), None, 2),
        ("msr", format!("# x\n{A}{B}"), Some("hm_7"), 2),
        ("msr", format!("\n\n{}", msr(T, "Read", "0", "0")), None, 3),
        ("columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes", "\n0,R,0,512\n".to_owned(), Some("x"), 2),
        ("auto", format!("\n{}", "0 0 8 8 1\n"), None, 2),
    ];
    for (name, text, device, line) in lines {
        let options = Options { device: device.map(str::to_owned), ..format(name) };
        let source = Source::from_reader("t", Cursor::new(text)).expect("opens");
        let error =
            Reader::new(source, &options).and_then(|mut reader| Info::read(&mut reader)).expect_err("is refused");
        assert_eq!(error.report().line, Some(line), "{name}: {error}");
    }
    let beyond = file(b"\n0 0 4096 8 1\n");
    let clip = Fit { lba_policy: LbaPolicy::Clip, ..Fit::new(1 << 20) };
    let error = replay(beyond.path(), &format("ssdsim"), clip).expect_err("nothing inside");
    assert_eq!((error.code(), error.report().line), (Code::NoRequests, Some(2)), "{error}");
}

#[test]
fn dense_moves_pages_apart_and_stays_in_bounds() {
    let map = "columns:time=0:ns,op=1:RrWwDt,offset=2:bytes,size=3:bytes";
    let temp = file(b"0,W,40960,4096\n1,W,0,4096\n2,W,36864,12288\n3,D,0,1152921504606846976\n4,D,1048576,4096\n");
    let fit = Fit { lba_policy: LbaPolicy::Dense, ..Fit::new(4 * 4096) };
    let mut replay_ = Replay::open(temp.path(), &format(map), fit).expect("fits");
    let mut places = Vec::new();
    while let Some(record) = replay_.next().expect("reads") {
        let extents = replay_.extents();
        assert_eq!(record.offset, extents[0].offset);
        assert_eq!(record.bytes, extents.iter().map(|extent| extent.bytes).sum::<u64>());
        places.push(extents.iter().map(|extent| (extent.offset / 4096, extent.bytes / 4096)).collect::<Vec<_>>());
    }
    // Page 10 is 0, page 0 is 1, pages 9 and 11 are 2 and 3; the great trim concerns all four, by address: 0, 9, 10, 11.
    // Four requests of the five, each of them one, wherever its pages lie.
    assert_eq!(places, [vec![(0, 1)], vec![(1, 1)], vec![(2, 1), (0, 1), (3, 1)], vec![(1, 2), (0, 1), (3, 1)]]);
    assert_eq!((replay_.accepted(), replay_.notes().count(Note::Scattered)), (4, 2));
    assert_eq!(replay_.notes().count(Note::TrimUntouched), 1);
    let error = replay(temp.path(), &format(map), Fit { lba_policy: LbaPolicy::Dense, ..Fit::new(3 * 4096) })
        .expect_err("too small");
    assert!(error.to_string().contains("touches more pages than the device has"), "{error}");
}
