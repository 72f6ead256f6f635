//! Samples of the formats of other tools: a few hundred requests in each, with what else such files have.

use std::fmt::Write as _;

/// A sample of one format.
pub struct Sample {
    pub name: &'static str,
    /// The format in full, as the independent script takes it.
    pub format: &'static str,
    /// What `auto` makes of it; `None`: it is refused with the formats to choose from.
    pub auto: Option<&'static str>,
    pub bytes: Vec<u8>,
}

/// One request, before it is written down in a format.
pub struct Request {
    pub ns: u64,
    pub latency_ns: u64,
    /// 0 to 7: read, write, forced write, trim, flush, other command, read-ahead, read.
    pub kind: usize,
    pub sector: u64,
    pub sectors: u64,
    pub disk: usize,
}

/// Requests at rising times and random places.
pub fn requests(count: u64) -> impl Iterator<Item = Request> {
    let (mut state, mut ns) = (0x9e37_79b9_7f4a_7c15u64, 5_000_000_000u64);
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ns += 1_000 * (1 + state % 900);
        Request {
            ns,
            latency_ns: 10_000 * (1 + (state >> 12) % 90),
            kind: (state >> 20) as usize % 8,
            sector: (state >> 24) % (1 << 24) * 8,
            sectors: 8 * (1 + (state >> 50) % 16),
            disk: (state >> 60) as usize % 2,
        }
    })
}

const TASKS: [&str; 4] = ["dd", "db writer", "kworker/2:1H", "a]b (c: 1.5:"];

/// Seconds with so many digits behind the point.
fn seconds(ns: u64, digits: u32) -> String {
    let unit = 10u64.pow(9 - digits);
    format!("{}.{:0width$}", ns / 1_000_000_000, ns % 1_000_000_000 / unit, width = digits as usize)
}

/// Milliseconds with three digits behind the point.
fn millis(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000)
}

/// Events of the block layer, with inserts, completions, requeues and lost events between them.
pub fn block_events(requests: impl Iterator<Item = Request>) -> String {
    const WORDS: [&str; 8] = ["R", "WS", "WFS", "DS", "FF", "N", "RA", "RM"];
    let mut out = String::from("# tracer: nop\n#\n");
    for (i, r) in requests.enumerate() {
        let (task, word, dev) = (TASKS[i % 4], WORDS[r.kind], ["259,0", "8,16"][r.disk]);
        let sectors = if matches!(r.kind, 4 | 5) { 0 } else { r.sectors };
        let sector = if sectors == 0 { 0 } else { r.sector };
        let line = |out: &mut String, ns: u64, event: &str, what: &str| {
            let time = seconds(ns, 6);
            writeln!(out, "{task:>18}-{i:<5} [{:03}] d..1. {time:>13}: {event}: {dev} {word} {what}", i % 4).unwrap();
        };
        let request = format!("{} () {sector} + {sectors} none,0,0 [{task}]", sectors * 512);
        line(&mut out, r.ns, "block_rq_insert", &request);
        line(&mut out, r.ns, "block_rq_issue", &request);
        if i % 50 == 7 && sectors > 0 {
            line(&mut out, r.ns, "block_rq_requeue", &format!("() {sector} + {sectors} [0]"));
            line(&mut out, r.ns, "block_rq_issue", &request);
        }
        line(&mut out, r.ns, "block_rq_complete", &format!("() {sector} + {sectors} [0]"));
        if i % 97 == 5 {
            out.push_str("CPU:2 [LOST 14 EVENTS]\n");
        }
    }
    out
}

/// Commands of NVMe.
pub fn nvme_events(requests: impl Iterator<Item = Request>) -> String {
    const NAMES: [&str; 8] = ["read", "write", "write", "dsm", "flush", "write_zeroes", "read", "read"];
    let mut out = String::new();
    for (i, r) in requests.enumerate() {
        let (time, task) = (seconds(r.ns, 6), TASKS[i % 4]);
        let fields = match r.kind {
            3 => "nr=0, attributes=4".to_owned(),
            4 => "cdw10=00 00 00 00".to_owned(),
            kind => {
                let forced = if kind == 2 { "0x4000" } else { "0x0" };
                format!("slba={}, len={}, ctrl={forced}, dsmgmt=0, reftag=0", r.sector, r.sectors - 1)
            }
        };
        let name = NAMES[r.kind];
        writeln!(out, "{task:>16}-7 [{:03}] ..... {time}: nvme_setup_cmd: nvme0: disk=nvme0n{}, qid=4, cmdid={i}, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_{name} {fields})", i % 4, r.disk + 1).unwrap();
        writeln!(out, "{task:>16}-7 [{:03}] d.h.. {time}: nvme_complete_rq: nvme0: disk=nvme0n{}, qid=4, cmdid={i}, res=0x0, retries=0, flags=0x0, status=0x0", i % 4, r.disk + 1).unwrap();
    }
    out
}

/// Commands of UFS, with the logical unit's name.
pub fn ufs_events(requests: impl Iterator<Item = Request>) -> String {
    const CODES: [(&str, &str); 8] = [
        ("0x28", "READ_10"),
        ("0x2a", "WRITE_10"),
        ("0x8a", "WRITE_16"),
        ("0x42", "UNMAP"),
        ("0x35", "SYNC"),
        ("0x12", ""),
        ("0x88", "READ_16"),
        ("0x28", "READ_10"),
    ];
    let mut out = String::new();
    for (i, r) in requests.enumerate() {
        let ((code, name), time) = (CODES[r.kind], seconds(r.ns, 6));
        let size = if matches!(r.kind, 0..3 | 6..) { r.sectors as i64 * 512 } else { -1 };
        let (lba, unit) = (r.sector / 8, r.disk);
        for event in ["send_req", "complete_rsp"] {
            writeln!(out, " {}-9 [{:03}] ..... {time}: ufshcd_command: {event}: 0:0:0:{unit}: tag: {}, DB: 0x1, size: {size}, IS: 0, LBA: {lba}, opcode: {code} ({name}), group_id: 0x0, hwq_id: 3", TASKS[i % 4], i % 4, i % 32).unwrap();
        }
    }
    out
}

/// Disk events of Windows.
pub fn disk_events(requests: impl Iterator<Item = Request>) -> String {
    let mut out = String::from(
        "BeginHeader\n DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,  IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\nEndHeader\nOS Version: 6.1.7600, Trace Size: 5120KB, Events Lost: 0, Buffers Lost: 0, Trace Name: disk.etl\nFirstReliableEventTimeStamp, 900\n",
    );
    for (i, r) in requests.enumerate() {
        let (at, elapsed) = ((r.ns + r.latency_ns) / 1_000, r.latency_ns / 1_000);
        let process = ["mailer.exe (1200)", "System (   4)", "a, b.exe (77)"][i % 3];
        if i % 4 == 0 {
            writeln!(out, "          DiskReadInit, {at:>10}, {process:>23},  4, 0xfffffa8001a2b010").unwrap();
        }
        match r.kind {
            4 => writeln!(out, "             DiskFlush, {at:>10}, {process:>23},  8, 0xfffffa8001a2b030, {elapsed}, {}, 0x060000, 90, Normal", r.disk),
            kind => {
                let name = if matches!(kind, 1 | 2) { "DiskWrite" } else { "DiskRead" };
                writeln!(out, "{name:>22}, {at:>10}, {process:>23},  8, 0xfffffa8001a2b020, {:#012x}, {:#010x}, {elapsed}, {}, 0x060a03, 390, Normal, Original, 0xfffffa80034567c0, \"D:\\log, a.bin\"", r.sector * 512, r.sectors * 512, r.disk)
            }
        }
        .unwrap();
    }
    out
}

/// bcc's table, with or without the time in the queue.
pub fn biosnoop(requests: impl Iterator<Item = Request>, queued: bool) -> String {
    let mut out = format!(
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  {}LAT(ms)\n",
        if queued { "QUE(ms) " } else { "" }
    );
    for (i, r) in requests.enumerate() {
        let disk = if i % 40 == 3 { "" } else { ["vda", "nvme1n1"][r.disk] };
        let word = ["R", "W", "WFS", "D", "FF", "N", "RA", "R"][r.kind];
        let sectors = if matches!(r.kind, 4 | 5) { 0 } else { r.sectors };
        let time = seconds(r.ns + r.latency_ns, 6);
        let (task, size, queue) = (TASKS[i % 3], sectors * 512, if queued { "   0.01 " } else { "" });
        let latency = millis(r.latency_ns);
        writeln!(out, "{time:<11} {task:<14} {i:<6} {disk:<7} {word} {:<10} {size:<7}{queue}{latency:>7}", r.sector)
            .unwrap();
    }
    out
}

/// perf-tools' table, with starts and ends.
pub fn iosnoop(requests: impl Iterator<Item = Request>) -> String {
    let mut out = String::from(
        "Tracing block I/O. Ctrl-C to end.\nSTARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n",
    );
    for (i, r) in requests.enumerate() {
        let (start, end) = (seconds(r.ns, 6), seconds(r.ns + r.latency_ns, 6));
        let (task, word) = (TASKS[i % 3], ["R", "W", "WFS", "D", "FF", "N", "RA", "RM"][r.kind]);
        let size = if matches!(r.kind, 4 | 5) { 0 } else { r.sectors * 512 };
        let (dev, latency) = (["202,1", "8,16"][r.disk], millis(r.latency_ns));
        writeln!(
            out,
            "{start:<14} {end:<14} {task:<16} {i:<6} {word:<4} {dev:<8} {:<12} {size:<6} {latency:>8}",
            r.sector
        )
        .unwrap();
    }
    out + "\nEnding tracing...\n"
}

/// io-tracer's table, by its own clock or by the date.
pub fn io_tracer(requests: impl Iterator<Item = Request>, clock: bool) -> String {
    let mut out = format!(
        "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id{}\n",
        if clock { ",mono_ns" } else { "" }
    );
    for (i, r) in requests.enumerate() {
        let word = ["read", "write", "write|sync", "discard", "flush", "none", "read|ahead", "secure_erase"][r.kind];
        let (sector, size) = if matches!(r.kind, 4 | 5) { (0, 0) } else { (r.sector, r.sectors * 512) };
        let end = r.ns + r.latency_ns;
        let latency = if i % 25 == 4 { String::new() } else { millis(r.latency_ns) };
        let (task, dev) = (if i % 10 == 1 { "\"db, writer\"" } else { "db writer" }, ["259:0", "8:16"][r.disk]);
        let day = format!("2026-05-01 10:{:02}:{:0>9}", end / 60_000_000_000, seconds(end % 60_000_000_000, 6));
        write!(out, "{day},{word},{i},{i},{task},{sector},{size},{latency},{dev},sync,3").unwrap();
        if clock {
            write!(out, ",{end}").unwrap();
        }
        out.push('\n');
    }
    out
}

/// libCacheSim's records; version 0 has no header.
pub fn objects(requests: impl Iterator<Item = Request>, version: u8) -> Vec<u8> {
    const CODES: [u32; 8] = [12, 13, 3, 9, 0, 255, 1, 2];
    let mark = 0x1234_5678_9abc_def0u64.to_le_bytes();
    let mut out = Vec::new();
    if version > 0 {
        out = [&mark[..], &u64::from(version).to_le_bytes()].concat();
        out.resize(8192 - 8, 0);
        out.extend(mark);
    }
    for (i, r) in requests.enumerate() {
        // Nothing has the size 0 once in a while.
        let size = if i % 30 == 9 { 0 } else { r.sectors * 512 };
        let next = if i % 3 == 0 { u64::MAX } else { i as u64 + 40 };
        out.extend(((r.ns / 1_000_000_000) as u32).to_le_bytes());
        out.extend(r.sector.to_le_bytes());
        match version {
            3.. => out.extend(size.to_le_bytes()),
            _ => out.extend((size as u32).to_le_bytes()),
        }
        if version >= 2 {
            out.extend((CODES[r.kind] | (r.disk as u32 + 5) << 8).to_le_bytes());
        }
        if version >= 3 {
            out.extend(77u32.to_le_bytes());
        }
        out.extend(next.to_le_bytes());
        if version >= 4 {
            out.extend(5u32.to_le_bytes());
        }
    }
    out
}

/// A sample of every format of another tool, with so many requests.
pub fn of(count: u64) -> Vec<Sample> {
    let text = |name, format, auto, text: String| Sample { name, format, auto: Some(auto), bytes: text.into_bytes() };
    let some = || requests(count);
    let binary = |name, format, version| Sample { name, format, auto: None, bytes: objects(some(), version) };
    vec![
        text("block events", "ftrace:block_rq_issue", "ftrace", block_events(some())),
        text("nvme commands", "ftrace:nvme_setup_cmd:512", "ftrace", nvme_events(some())),
        text("ufs commands", "ftrace:ufshcd_command:4096", "ftrace", ufs_events(some())),
        text("disk events", "etw", "etw", disk_events(some())),
        text("biosnoop", "biosnoop", "biosnoop", biosnoop(some(), false)),
        text("biosnoop -Q", "biosnoop", "biosnoop", biosnoop(some(), true)),
        text("iosnoop -ts", "iosnoop", "iosnoop", iosnoop(some())),
        text("io-tracer", "io-tracer", "io-tracer", io_tracer(some(), true)),
        text("io-tracer by date", "io-tracer", "io-tracer", io_tracer(some(), false)),
        binary("lcs 1", "lcs:id=sectors,op=read", 1),
        binary("lcs 2", "lcs:id=sectors", 2),
        binary("lcs 3", "lcs:id=pages", 3),
        binary("lcs 4", "lcs:id=bytes", 4),
        binary("oracleGeneral", "oraclegeneral:id=sectors,op=write", 0),
    ]
}
