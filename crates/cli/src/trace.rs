//! `ssdlab trace`: figures, checks, conversion, generation.

use std::io::Write;
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input::{find_workload, read_workload, refuse};
use ssdlab_lab::names::{clip, clip_line};
use ssdlab_lab::output::Output;
use ssdlab_lab::text::{count, duration, percent, plural, rate, size};
use ssdlab_lab::tree;
use ssdlab_sweep::split::{How, split};
use ssdlab_trace::workload::{Generator, Spec, SpecError};
use ssdlab_trace::{Format, Info, Losses, Names, Op, Options, Reader, Severity, Writer, check};

use crate::args::{ByArg, ReadingArgs, TraceCommand, given};
use crate::output;
use ssdlab_lab::layout::{facts, grid};

/// Runs one of them.
pub fn trace(command: &TraceCommand) -> Result<()> {
    match command {
        TraceCommand::Info { files, reading, json } => info(files, reading, json.as_ref()),
        TraceCommand::Check { file, reading } => judge(file, reading),
        TraceCommand::Convert { from, to, into, limit, reading } => {
            convert(from, to, into, limit.unwrap_or(u64::MAX), reading)
        }
        TraceCommand::Split { files, by: ByArg::Device, into, parts, min_requests, into_format, reading } => {
            let format = into_format.clone().map_or_else(written_format, Ok)?;
            let (parts, min_requests) = (*parts, *min_requests);
            divide(files, into, &How { reading: reading.reading().options()?, format, parts, min_requests })
        }
        TraceCommand::Generate { workload, to, into, limit, capacity, page_size, seed } => {
            let build = |spec: &Spec| spec.build(*capacity, *page_size, *seed, *limit);
            generate(workload, to, into, build)
        }
    }
}

/// `ssdlab trace info`
fn info(files: &[PathBuf], reading: &ReadingArgs, json: Option<&PathBuf>) -> Result<()> {
    distinct_files(files, "--json", json)?;
    let traces = files.iter().map(|file| Ok((name(file), read(file, reading)?))).collect::<Result<Vec<_>>>()?;
    for (_, (info, reader)) in &traces {
        for lint in check(info, reader.notes()).iter().filter(|lint| lint.name == "coarse_clock") {
            output::remark(format_args!("warning[{}]: {}", lint.name, lint.text));
        }
    }
    if let Some(path) = json {
        let figures = traces.iter().map(|(name, (info, reader))| {
            serde_json::json!({ "trace": name, "format": reader.format().to_string(), "figures": info })
        });
        let figures: Vec<serde_json::Value> = figures.collect();
        output::write(path, tree::json(&figures).as_bytes())?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    let mut out = String::new();
    if let [(name, (info, reader))] = &traces[..] {
        facts(&mut out, &figures(name, info, reader));
        out.push('\n');
    }
    let mut rows = vec![Info::TABLE_HEAD.map(String::from).to_vec()];
    rows.extend(files.iter().zip(&traces).map(|(file, (_, (info, _)))| info.table_row(&short(file)).to_vec()));
    grid(&mut out, &rows, false);
    output::print(&out)
}

/// `ssdlab trace check`
fn judge(file: &Path, reading: &ReadingArgs) -> Result<()> {
    let (info, reader) = read(file, reading)?;
    let format = clip_line(&reader.format().to_string());
    let mut out = format!("{}: {} requests, format {format}\n", name(file), count(info.requests));
    for lint in check(&info, reader.notes()) {
        let severity = if lint.severity == Severity::Warning { "warning" } else { "note" };
        out.push_str(&format!("{severity}[{}]: {}\n", lint.name, lint.text));
    }
    output::print(&out)
}

/// `ssdlab trace convert`
fn convert(from: &PathBuf, to: &PathBuf, into: &Format, limit: u64, reading: &ReadingArgs) -> Result<()> {
    distinct_files(std::slice::from_ref(from), "the output", Some(to))?;
    let mut reader = open(from, &Options { flushes: true, ..reading.reading().options()? })?;
    write(to, into, |writer| {
        let mut requests = 0;
        while requests < limit {
            let Some(record) = reader.next()? else { break };
            writer.write(&record, reader.names(&record))?;
            // Flushes are no requests without a write cache.
            requests += u64::from(record.op != Op::Flush);
        }
        Ok(())
    })?;
    reader.notes().lines().for_each(|line| output::remark(format_args!("note: {line}")));
    Ok(())
}

/// The format of parts by default: it keeps every nanosecond and every name.
fn written_format() -> Result<Format> {
    let name =
        if cfg!(feature = "parquet") { "parquet" } else { "columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,vol=4" };
    name.parse().map_err(|error| Error::usage(format!("--as: {error}")).help("name a format with --as"))
}

/// `ssdlab trace split`
fn divide(files: &[PathBuf], into: &Path, how: &How) -> Result<()> {
    let done = split(files, into, how)?;
    done.remarks.iter().for_each(|line| output::remark(format_args!("note: {line}")));
    if !done.losses.is_exact() {
        output::remark(format_args!("note: the format could not carry everything: {:?}", done.losses));
    }
    let requests: u64 = done.volumes.iter().map(|volume| volume.requests).sum();
    let names: std::collections::BTreeSet<&str> = done.volumes.iter().map(|volume| volume.file.as_str()).collect();
    let (volumes, files) = (done.volumes.len() as u64, names.len() as u64);
    output::print(&format!(
        "{} of {} in {}\n",
        plural(requests, "request"),
        plural(volumes, "volume"),
        plural(files, "file")
    ))
}

/// `ssdlab trace generate`
fn generate(
    workload: &str,
    to: &PathBuf,
    into: &Format,
    build: impl FnOnce(&Spec) -> std::result::Result<Generator, SpecError>,
) -> Result<()> {
    let (name, spec) = find_workload(workload)?;
    let mut files = Files::new();
    read_workload(workload, &mut files);
    files.write_all(&[("the output", given(Some(to)))])?;
    let generator = build(&spec).map_err(|error| refuse(&name, &error))?;
    if generator.closed().is_some() {
        output::remark(format_args!(
            "note: {} is a closed loop: all requests are written with time 0, for --replay closed",
            clip(&name)
        ));
    }
    write(to, into, |writer| {
        for record in generator {
            writer.write(&record, Names::default())?;
        }
        Ok(())
    })
}

/// Refuses an output that is one of the traces read.
fn distinct_files(traces: &[PathBuf], option: &str, output: Option<&PathBuf>) -> Result<()> {
    let mut files = Files::new();
    traces.iter().for_each(|trace| files.reads("the command", trace));
    files.write_all(&[(option, given(output))])
}

fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { clip_line(&path.to_string_lossy()) }
}

/// For tables: the last part of the path.
fn short(path: &Path) -> String {
    path.file_name().filter(|last| *last != "-").map_or("standard input".into(), |last| clip(&last.to_string_lossy()))
}

fn open(path: &Path, options: &Options) -> Result<Reader> {
    let reader = Reader::open(path, options)?;
    if let Some(detection) = reader.detection() {
        output::remark(format_args!("note: {}: format {detection}", name(path)));
    }
    Ok(reader)
}

fn read(path: &Path, reading: &ReadingArgs) -> Result<(Info, Reader)> {
    let mut reader = open(path, &reading.reading().options()?)?;
    let info = Info::read(&mut reader)?;
    reader.notes().lines().for_each(|line| output::remark(format_args!("note: {line}")));
    Ok((info, reader))
}

/// Writes a trace to a file, whole or not at all, or streams it to standard output.
fn write(to: &Path, format: &Format, fill: impl FnOnce(&mut Writer<&mut dyn Write>) -> Result<()>) -> Result<()> {
    if let Some(packed) = to
        .extension()
        .filter(|ending| ["gz", "zst", "xz", "bz2"].iter().any(|packed| ending.eq_ignore_ascii_case(packed)))
    {
        return Err(Error::usage(format!(
            "{}: traces are written as plain text, not as {}",
            to.display(),
            packed.display()
        ))
        .help("drop the ending and compress the file afterwards, or write to standard output: … - | zstd > FILE"));
    }
    let run = |out: &mut dyn Write, name: &str| -> Result<(u64, Losses)> {
        let mut writer = Writer::new(out, name, format.clone())?;
        fill(&mut writer)?;
        let written = writer.count();
        Ok((written, writer.finish()?))
    };
    let (written, losses) = if to.as_os_str() == "-" {
        let mut out = StandardOutput::default();
        match run(&mut out, "standard output") {
            // A reader that closes the pipe early is not an error.
            Err(_) if out.closed => return Ok(()),
            done => done?,
        }
    } else {
        let mut file = Output::create(to)?;
        let done = run(&mut file, &to.display().to_string())?;
        file.finish()?.publish()?;
        done
    };
    output::remark(format_args!("{} requests written as {}", count(written), clip_line(&format.to_string())));
    for (what, count_of) in [
        ("times cut to the unit of the format", losses.times_cut),
        ("requests rounded outward to the unit of the format", losses.rounded),
        ("trims skipped because the format has none", losses.trims_left_out),
        ("volumes renamed", losses.volumes_renamed),
        ("requests whose stream the format cannot name", losses.streams_left_out),
        ("writes with forced unit access that the format cannot mark", losses.fua_left_out),
        ("flushes skipped because the format has none", losses.flushes_left_out),
    ] {
        if count_of > 0 {
            output::remark(format_args!("warning: {} {what}", count(count_of)));
        }
    }
    Ok(())
}

/// Standard output that records whether its reader has closed the pipe.
#[derive(Default)]
struct StandardOutput {
    closed: bool,
}

impl StandardOutput {
    fn note<T>(&mut self, outcome: std::io::Result<T>) -> std::io::Result<T> {
        self.closed |= outcome.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
        outcome
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let outcome = std::io::stdout().write(bytes);
        self.note(outcome)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let outcome = std::io::stdout().flush();
        self.note(outcome)
    }
}

fn figures(name: &str, info: &Info, reader: &Reader) -> Vec<(&'static str, String)> {
    let bytes = |value: f64| size(value.round() as u64);
    let pages = |n: u64| size(n.saturating_mul(ssdlab_trace::INFO_PAGE_BYTES));
    vec![
        ("trace", format!("{name} ({})", clip_line(&reader.format().to_string()))),
        (
            "requests",
            format!(
                "{} reads, {} writes, {} trims; {} skipped",
                count(info.reads),
                count(info.writes),
                count(info.trims),
                count(info.skipped)
            ),
        ),
        ("read share", format!("{} of reads and writes", percent(info.read_ratio))),
        ("read", format!("{}, {} a request", size(info.read_bytes), bytes(info.mean_read_bytes))),
        ("written", format!("{}, {} a request", size(info.write_bytes), bytes(info.mean_write_bytes))),
        ("largest request", size(info.max_request_bytes)),
        (
            "span",
            format!(
                "{}: {} requests/s, mean gap {}, {} of the gaps at most 0.2 ms",
                duration(info.span_ns as f64),
                rate(info.requests_per_s),
                duration(info.interarrival_mean_ns),
                percent(info.burst_share)
            ),
        ),
        (
            "footprint",
            format!(
                "{} touched, {} written; {:.2} writes per written page",
                pages(info.footprint_pages),
                pages(info.written_pages),
                info.page_writes_per_written_page
            ),
        ),
        (
            "sequential",
            format!("{} of the requests start where the previous one ended", percent(info.sequential_share)),
        ),
        (
            "aligned",
            format!("{} to 512 B, {} to 4 KiB", percent(info.aligned_512_share), percent(info.aligned_4k_share)),
        ),
        (
            "time order",
            if info.sorted {
                "kept".into()
            } else {
                format!("{} arrivals earlier than the one before", count(info.steps_back))
            },
        ),
        ("volumes", count(info.volumes)),
        (
            "needs a device of",
            format!(
                "{} ({} bytes), or {} ({} bytes) with --lba-policy dense",
                size(info.capacity_needed_bytes),
                info.capacity_needed_bytes,
                size(info.dense_capacity_bytes),
                info.dense_capacity_bytes
            ),
        ),
    ]
}
