//! How fast is a trace read? Prints requests per CPU second; without a file (or with `-`) it makes one first.
//!
//! `cargo run --release -p ssdlab-trace --example read_speed -- [FILE|-] [FORMAT]`

use ssdlab_trace::{Fit, Format, LbaPolicy, Names, Op, Options, Reader, Record, Replay, Writer};
use std::path::PathBuf;

/// CPU time of this process in seconds, where the system says.
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / 100.0)
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
