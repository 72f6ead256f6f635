//! How fast is a trace read? Prints requests per CPU second; without a file (or with `-`) it makes one first.
//!
//! `cargo run --release -p ssdlab-trace --example read_speed -- [FILE|-] [FORMAT]`
//!
//! `-- others` reads samples of the formats that other tools write, and compares their lines (or records) a CPU second with MSR's.

#[path = "../tests/suite/samples.rs"]
#[expect(dead_code, reason = "speed needs no word on detection")]
mod samples;

use ssdlab_trace::{Fit, Format, LbaPolicy, Names, Op, Options, Reader, Record, Replay, Writer};
use std::path::PathBuf;

/// CPU time of this process in seconds, where the system says.
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Lines a CPU second of each format of another tool, beside those of MSR: the best of three readings.
fn others() -> Result<(), Box<dyn std::error::Error>> {
    const REQUESTS: u64 = 300_000;
    let path = generate(&Format::Msr)?;
    let msr = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    let mut msr_rate = None;
    let samples = samples::of(REQUESTS).into_iter().map(|sample| (sample.name, sample.format, sample.bytes));
    for (name, format, bytes) in std::iter::once(("msr", "msr", msr)).chain(samples) {
        let options = Options { format: Some(format.parse()?), ..Options::default() };
        let path = std::env::temp_dir().join(format!("ssdlab-read-others-{}", std::process::id()));
        let lines = if bytes.contains(&0) { REQUESTS as usize } else { bytes.iter().filter(|b| **b == b'\n').count() };
        std::fs::write(&path, bytes)?;
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let before = cpu_s();
            let wall = std::time::Instant::now();
            let mut reader = Reader::open(&path, &options)?;
            while reader.next()?.is_some() {}
            let wall = wall.elapsed().as_secs_f64();
            best = best.min(before.and_then(|before| cpu_s().map(|after| after - before)).unwrap_or(wall));
        }
        std::fs::remove_file(&path)?;
        let rate = lines as f64 / best / 1e6;
        let beside = rate / *msr_rate.get_or_insert(rate);
        println!("{name:20} {lines:8} lines, {best:.2} CPU s, {rate:6.2} M/CPU s, {beside:.2} of MSR");
    }
    Ok(())
}

/// Five million requests in `format`, at random addresses.
fn generate(format: &Format) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("ssdlab-read-speed-{}", std::process::id()));
    let out = std::io::BufWriter::new(std::fs::File::create(&path)?);
    let mut writer = Writer::new(out, "generated", format.clone())?;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut time_ns = 0;
    for _ in 0..5_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        time_ns += state % 10_000_000;
        let op = if state & 3 == 0 { Op::Read } else { Op::Write };
        let offset = (state >> 20) % (1 << 28) * 512;
        let bytes = 512 * (1 + (state >> 8) % 128);
        writer.write(&Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 }, Names::default())?;
    }
    writer.finish()?;
    Ok(path)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    if std::env::args().nth(1).as_deref() == Some("others") {
        return others();
    }
    let given = args.next().filter(|name| name != "-").map(PathBuf::from);
    let name = args.next().unwrap_or_else(|| if given.is_some() { "auto" } else { "msr" }.into());
    let format = Format::parse_or_auto(&name)?;
    let path = match (&given, &format) {
        (Some(path), _) => path.clone(),
        (None, format) => generate(format.as_ref().unwrap_or(&Format::Msr))?,
    };
    let options = Options { format, ..Options::default() };
    let measure = |name: &str, run: &dyn Fn() -> Result<u64, ssdlab_trace::TraceError>| {
        let (wall, cpu) = (std::time::Instant::now(), cpu_s());
        let lines = run()?;
        let wall = wall.elapsed().as_secs_f64();
        let cpu = cpu.and_then(|before| cpu_s().map(|after| after - before)).unwrap_or(wall);
        println!("{name:24} {lines} requests, {wall:.2} s, {cpu:.2} CPU s, {:.2} M/CPU s", lines as f64 / cpu / 1e6);
        Ok::<(), ssdlab_trace::TraceError>(())
    };
    let fit = Fit { lba_policy: LbaPolicy::Wrap, ..Fit::new(1 << 40) };
    measure("reader", &|| {
        let mut reader = Reader::open(&path, &options)?;
        let mut count = 0;
        while reader.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    })?;
    for digest in [false, true] {
        measure(if digest { "replay with digest" } else { "replay without digest" }, &|| {
            let mut replay = Replay::open(&path, &options, fit.clone())?;
            if !digest {
                replay = replay.without_digest();
            }
            while replay.next()?.is_some() {}
            Ok(replay.accepted())
        })?;
    }
    if given.is_none() {
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
