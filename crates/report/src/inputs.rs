//! The files that a report is made of: what each one is, by its content, and which belong to one run.

use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::Value;
use ssdlab_figures::escape;
use ssdlab_figures::figure::{Source, Table};

use crate::die_work::DieWork;
use crate::sweep::{self, Sweep};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::readers::causes::{self, Sums};
use ssdlab_lab::readers::histogram;
use ssdlab_lab::readers::json::{number, shown, text};
use ssdlab_lab::readers::sound::{self, TableKind};
use ssdlab_lab::readers::summaries;
use ssdlab_lab::readers::table::{self, Columns, data};
use ssdlab_lab::readers::timeline::{self, Excerpt};
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_lab::results::timeline::Span;

/// The results of one run, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The summary, `ssdlab.summary/1`.
    pub summary: Option<Value>,
    /// Latencies and waits by bucket.
    pub histograms: Option<Histograms>,
    /// Windows of time.
    pub series: Option<Table>,
    /// Windows of time by die.
    pub dies: Option<Table>,
    /// Blocks at the end.
    pub blocks: Option<Table>,
    /// Activity around the slowest request.
    pub timeline: Option<Excerpt>,
    /// What the requests are, in a line or two; known only while the run is in memory.
    pub about: Vec<String>,
}

/// Everything that a report is made of.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The run, or no part of it.
    pub run: Run,
    /// A comparison, `ssdlab.compare/1`.
    pub compare: Option<Value>,
    /// An explanation of slow requests, `ssdlab.explain/1`.
    pub explain: Option<Value>,
    /// Two futures of a device, `ssdlab.whatif/1`.
    pub whatif: Option<Value>,
    /// What a real drive is, `ssdlab.identify/1`.
    pub drive: Option<Value>,
    /// Papers beside ours, `ssdlab.reproduce/1`.
    pub reproduce: Option<Value>,
    /// A study, from its store.
    pub sweep: Option<Sweep>,
    /// Base names of the files.
    pub names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Summary,
    Compare,
    Reproduce,
    Explain,
    Whatif,
    Drive,
    Requests,
    Series,
    Dies,
    Blocks,
    Histograms,
    Timeline,
    Sweep,
}

impl Run {
    /// Which run it is.
    pub fn source(&self) -> Source {
        let Some(summary) = &self.summary else { return Source::default() };
        let field = |place: &str| summary.pointer(place).and_then(Value::as_str).map(String::from);
        Source {
            config_digest: field("/config_digest"),
            trace_digest: field("/trace_digest"),
            seed: summary.pointer("/seed").and_then(Value::as_u64),
            version: field("/version"),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.summary.is_none()
            && self.histograms.is_none()
            && self.series.is_none()
            && self.dies.is_none()
            && self.blocks.is_none()
            && self.timeline.is_none()
    }
}

impl Inputs {
    /// Reads files and joins them. `window`: the part of a timeline to show, by default around the slowest request.
    ///
    /// # Errors
    /// A file can't be read, is no result, or belongs to another run than the others.
    pub fn read(paths: &[PathBuf], window: Option<Span>) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        let mut from: Vec<(Content, &Path)> = Vec::new();
        for path in paths {
            let (content, parquet, value) = match path.is_dir() {
                true if sweep::is_one(path) => (Content::Sweep, false, None),
                true => directory(path)?,
                false => content(path)?,
            };
            // A file of requests has all that its histograms would have.
            let like = |other: Content| match (content, other) {
                (Content::Requests, Content::Histograms) | (Content::Histograms, Content::Requests) => true,
                (content, other) => content == other,
            };
            if let Some((_, before)) = from.iter().find(|(other, _)| like(*other)) {
                return Err(twice(content, before, path, &inputs, value.as_ref()));
            }
            inputs.names.push(base_name(path));
            match content {
                Content::Summary => inputs.run.summary = value,
                Content::Compare => inputs.compare = value,
                Content::Reproduce => inputs.reproduce = value,
                Content::Explain => inputs.explain = value,
                Content::Whatif => inputs.whatif = value,
                Content::Drive => inputs.drive = value,
                Content::Requests => inputs.run.histograms = Some(histogram::of_requests(path, parquet)?),
                Content::Histograms => inputs.run.histograms = Some(histogram::read(path, parquet)?),
                Content::Series => inputs.run.series = Some(checked(path, parquet, TableKind::Series)?),
                Content::Dies => inputs.run.dies = Some(checked(path, parquet, TableKind::Dies)?),
                Content::Blocks => inputs.run.blocks = Some(checked(path, parquet, TableKind::Blocks)?),
                Content::Timeline => inputs.run.timeline = Some(timeline::read(path, window)?),
                Content::Sweep => inputs.sweep = Some(Sweep::read(path)?),
            }
            from.push((content, path));
        }
        let path_of = |wanted: &[Content]| {
            from.iter().find(|(content, _)| wanted.contains(content)).map_or(Path::new("-"), |(_, path)| *path)
        };
        inputs.run.fits(&|wanted| path_of(wanted).to_path_buf())?;
        inputs.fit(&|wanted| path_of(&[wanted]))?;
        Ok(inputs)
    }

    /// Checks that a summary, an explanation and a what-if are of one run.
    fn fit<'p>(&self, path: &dyn Fn(Content) -> &'p Path) -> Result<()> {
        let all =
            [(Content::Summary, &self.run.summary), (Content::Explain, &self.explain), (Content::Whatif, &self.whatif)];
        let known: Vec<(&Path, &Value)> =
            all.into_iter().filter_map(|(content, value)| Some((path(content), value.as_ref()?))).collect();
        for (i, one) in known.iter().enumerate() {
            known[i + 1..].iter().try_for_each(|other| differ(*one, *other).map_or(Ok(()), Err))?;
        }
        if let Some(explain) = &self.explain {
            self.run.explained_by(explain, path(Content::Explain))?;
        }
        match (&self.whatif, &self.run.summary) {
            (Some(whatif), Some(summary)) => has_window(summary, whatif, path(Content::Whatif)),
            _ => Ok(()),
        }
    }
}

/// An error if two results say that they are of different runs. Rows that are explained carry no digests, and a what-if none of its
/// requests, because it reads them only up to the end of its window.
fn differ((one, first): (&Path, &Value), (other, second): (&Path, &Value)) -> Option<Error> {
    let fields = ["config_digest", "trace_digest", "seed"].into_iter();
    let mut both = fields.map(|field| (field, &first[field], &second[field]));
    let (field, a, b) = both.find(|(_, a, b)| !a.is_null() && !b.is_null() && a != b)?;
    let (before, path) = (one.display(), other.display());
    let message = format!("{before} and {path} are of different runs: {field} {} and {}", shown(a), shown(b));
    Some(data(other, message).help("a report shows one run; for several, use `ssdlab compare`"))
}

/// Checks that the base of a what-if can be a part of the run.
fn has_window(summary: &Value, whatif: &Value, path: &Path) -> Result<()> {
    let refuse = |what: &str, own: f64, most: f64| {
        let message = format!("not of the summary's run: {what} {own}, the summary says {most}");
        Err(data(path, message).help("give files of one run"))
    };
    let measures = whatif["measures"].as_array().map_or(&[][..], Vec::as_slice);
    let base = |name: &str| number(measures.iter().find(|one| text(one, "/measure") == name)?, "/base");
    for op in ["read", "write"] {
        for (name, place) in [("requests", "count"), ("max_ns", "max")] {
            let Some(own) = base(&format!("{op}_{name}")) else { continue };
            let most = number(summary, &format!("/latency_ns/{op}/{place}")).unwrap_or(0.0);
            if own > most {
                return refuse(&format!("{op} {name}"), own, most);
            }
        }
    }
    let kind = match text(whatif, "/at") {
        "slowest:read" => "read",
        "slowest:write" => "write",
        "slowest" => "all",
        _ => return Ok(()),
    };
    let (own, most) = (number(whatif, "/chosen/base/latency_ns"), number(summary, &format!("/latency_ns/{kind}/max")));
    match (own, most) {
        (Some(own), Some(most)) if own != most => refuse("latency_ns of the slowest request", own, most),
        _ => Ok(()),
    }
}

/// Two files of one kind: of one run, or of two.
fn twice(content: Content, before: &Path, path: &Path, inputs: &Inputs, value: Option<&Value>) -> Error {
    let (one, other) = (before.display(), path.display());
    let known = match content {
        Content::Summary => &inputs.run.summary,
        Content::Explain => &inputs.explain,
        Content::Whatif => &inputs.whatif,
        _ => &None,
    };
    let known = known.as_ref().zip(value);
    if let Some(error) = known.and_then(|(first, second)| differ((before, first), (path, second))) {
        return error;
    }
    data(path, format!("{one} and {other} have the same content")).help("give each kind of result once")
}

impl Run {
    /// Checks that an explanation, which may be of rows without digests, is of this run: requests of its kind, and its measure.
    fn explained_by(&self, explain: &Value, path: &Path) -> Result<()> {
        let at = text(explain, "/at");
        let (kind, rank) = match at.split_once('.') {
            // `read.p99.9` is `read/p99_9` in a summary. A time has the points of its numbers.
            Some((kind, rank)) if !at.contains(':') => (kind, Some(rank.replace('.', "_"))),
            _ if at.starts_with("request:") => (text(explain, "/slowest/0/op"), None),
            _ => ("all", None),
        };
        let of_run = |field: &str| number(self.summary.as_ref()?, &format!("/latency_ns/{kind}/{field}"));
        let counted = |histograms: &Histograms| {
            let ops = histograms.latency.iter().zip(ssdlab_lab::results::histograms::OPS);
            ops.filter(|(_, op)| kind == "all" || kind == *op)
                .map(|(buckets, _)| histogram::count(buckets) as f64)
                .sum()
        };
        let requests = of_run("count").or(self.histograms.as_ref().map(counted));
        let value = rank.and_then(|rank| Some((rank.clone(), of_run(&rank)?)));
        let checks = [
            Some((format!("{kind} requests"), "/requests", requests)),
            value.map(|(rank, value)| (format!("{kind}.{rank} in ns"), "/value_ns", Some(value))),
        ];
        for (what, place, wanted) in checks.into_iter().flatten() {
            let Some((own, wanted)) = number(explain, place).zip(wanted).filter(|(own, wanted)| own != wanted) else {
                continue;
            };
            let message = format!("not of the run beside it: {what} {own}, the other results say {wanted}");
            return Err(data(path, message).help("give files of one run"));
        }
        Ok(())
    }

    /// Checks that results add up to the summary's numbers, as those of one run do.
    fn fits(&self, path: &dyn Fn(&[Content]) -> PathBuf) -> Result<()> {
        let Some(summary) = &self.summary else { return Ok(()) };
        let digest = || {
            let short = |place: &str| text(summary, place).chars().take(12).collect::<String>();
            format!("the summary's run (config {}, trace {})", short("/config_digest"), short("/trace_digest"))
        };
        let refuse = |wanted: &[Content], what: &str, own: &str, expected: &str| {
            let message = format!("not of {}: {what} {own}, the summary says {expected}", digest());
            Err(data(&path(wanted), message).help("give files of one run"))
        };
        // Files of windows and dies count the warm-up too, which summaries leave out.
        let whole = summary.pointer("/config/run/warmup").is_none_or(Value::is_null);
        let check = |wanted: &[Content], what: &str, own: f64, place: &str| {
            let expected = number(summary, place).unwrap_or(f64::NAN);
            if own == expected { Ok(()) } else { refuse(wanted, what, &own.to_string(), &expected.to_string()) }
        };
        // Causes of optional features are only in summaries of devices that have them.
        let has = |cause: causes::Any| summary.pointer(&format!("/breakdown_ns/all/{}", cause.name())).is_some();
        if let Some(histograms) = &self.histograms {
            let wanted = &[Content::Histograms, Content::Requests];
            for (buckets, op) in histograms.latency.iter().zip(ssdlab_lab::results::histograms::OPS) {
                let own = histogram::count(buckets) as f64;
                check(wanted, &format!("{op}s"), own, &format!("/latency_ns/{op}/count"))?;
                for (field, quantile) in histogram::SUMMARY {
                    let place = format!("/latency_ns/{op}/{field}");
                    if let Some(own) = histogram::percentile(buckets, quantile) {
                        check(wanted, &format!("{field} of {op}s"), own as f64, &place)?;
                    }
                }
                let mut sums: Sums = [0; causes::COUNT];
                buckets.iter().for_each(|bucket| causes::add(&mut sums, bucket));
                for cause in causes::all().filter(|cause| has(*cause) || sums[cause.place()] > 0) {
                    let (name, own) = (cause.name(), sums[cause.place()]);
                    let place = format!("/breakdown_ns/{op}/{name}");
                    check(wanted, &format!("{name} of {op}s in ns"), own as f64, &place)?;
                }
            }
        }
        self.within(summary, path)?;
        if let Some(series) = &self.series {
            let sum = |name: &str| Columns(series).total(name);
            let own = sum("requests").unwrap_or(0).saturating_sub(sum("warmup").unwrap_or(0));
            check(&[Content::Series], "measured requests", own as f64, "/latency_ns/all/count")?;
            for name in causes::all().filter(|_| whole).map(|cause| cause.name()) {
                // A sum of a window that fits in no column is empty.
                let Some(own) = sum(name) else { continue };
                let place = format!("/breakdown_ns/all/{name}");
                check(&[Content::Series], &format!("{name} in ns"), own as f64, &place)?;
            }
        }
        if let Some(dies) = self.dies.as_ref().filter(|_| whole) {
            dies_fit(dies, summary, &|what, own, expected| refuse(&[Content::Dies], what, own, expected))?;
        }
        if let Some(blocks) = &self.blocks {
            let erases = Columns(blocks).numbers("erases");
            let most = erases.iter().copied().fold(0.0, f64::max);
            check(&[Content::Blocks], "most erases of a block", most, "/wear/erases_max")?;
            let least = erases.iter().copied().fold(f64::INFINITY, f64::min);
            check(&[Content::Blocks], "least erases of a block", least, "/wear/erases_min")?;
        }
        Ok(())
    }
}

impl Run {
    /// Checks that planes, blocks and dies are those of the summary's device.
    fn within(&self, summary: &Value, path: &dyn Fn(&[Content]) -> PathBuf) -> Result<()> {
        let Some([planes, blocks, dies]) = sound::device(summary) else { return Ok(()) };
        if let Some(table) = &self.blocks {
            let file = path(&[Content::Blocks]);
            sound::within(&file, table, "plane", planes)?;
            sound::within(&file, table, "block", blocks)?;
        }
        self.dies.as_ref().map_or(Ok(()), |table| sound::within(&path(&[Content::Dies]), table, "die", dies))
    }
}

/// Checks that what dies did is what the summary counts of it.
fn dies_fit(dies: &Table, summary: &Value, refuse: &dyn Fn(&str, &str, &str) -> Result<()>) -> Result<()> {
    let planes = sound::device(summary).map_or(0, |[planes, ..]| planes as u64);
    let DieWork { reads, programs, erases } = DieWork::of(summary, planes).unwrap_or(DieWork::NONE);
    for (name, expected) in [("reads", reads), ("programs", programs), ("erases", erases)] {
        let own = Columns(dies).total(name).unwrap_or(0);
        if !u64::try_from(own).is_ok_and(|own| expected.contains(&own)) {
            return refuse(name, &own.to_string(), &told(&expected));
        }
    }
    Ok(())
}

/// A count of dies as a summary tells it.
fn told(expected: &RangeInclusive<u64>) -> String {
    match expected.start() == expected.end() {
        true => expected.end().to_string(),
        false => format!("{} to {}", expected.start(), expected.end()),
    }
}

/// A table whose cells are those of a run.
fn checked(path: &Path, parquet: bool, kind: TableKind) -> Result<Table> {
    let table = table::whole(path, parquet)?;
    sound::table(path, &table, kind)?;
    Ok(table)
}

/// The base name of a file, as it is shown.
pub fn base_name(path: &Path) -> String {
    escape::name(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// The summaries of a directory: a comparison, or the only one.
fn directory(path: &Path) -> Result<(Content, bool, Option<Value>)> {
    let only = std::cell::RefCell::new(Vec::new());
    let read = |file: &Path| match content(file)? {
        (Content::Summary, _, Some(value)) => {
            only.borrow_mut().push(value.clone());
            Ok(value)
        }
        _ => Err(data(file, "not a summary").help("a directory of results holds summaries alone")),
    };
    let compare = summaries::read(path, &read)?;
    let mut only = only.into_inner();
    if only.len() == 1 {
        Ok((Content::Summary, false, only.pop()))
    } else {
        Ok((Content::Compare, false, Some(compare)))
    }
}

fn content(path: &Path) -> Result<(Content, bool, Option<Value>)> {
    let cannot = |error: std::io::Error| Error::file("read", path, &error);
    let mut head = Vec::new();
    let file = files::open_regular("result", path)?;
    (&file).take(4096).read_to_end(&mut head).map_err(cannot)?;
    let unknown = || {
        data(path, "no result of ssdlab").help(
            "a report is made of a summary (--json), of files of --requests, --series, --blocks, --histograms or --timeline, of the JSON of `ssdlab compare`, `reproduce`, `explain`, `whatif` or `calibrate identify`, or of the store of a sweep",
        )
    };
    let first = head.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'{') => {
            let bytes = files::read("result", path, files::MOST_BYTES)?;
            let value: Value =
                serde_json::from_slice(&bytes).map_err(|error| data(path, format!("not JSON: {error}")))?;
            let content = match value["schema"].as_str() {
                Some("ssdlab.summary/1") => {
                    sound::summary(path, &value)?;
                    Content::Summary
                }
                Some("ssdlab.compare/1") => Content::Compare,
                Some("ssdlab.reproduce/1") => Content::Reproduce,
                Some("ssdlab.explain/1") => Content::Explain,
                Some("ssdlab.whatif/1") => Content::Whatif,
                Some("ssdlab.identify/1") => Content::Drive,
                _ => return Err(unknown()),
            };
            Ok((content, false, Some(value)))
        }
        Some(b'\n') | None if head.is_empty() => Err(data(path, "the file is empty")),
        _ if head.first() == Some(&0x0a) => Ok((Content::Timeline, false, None)),
        _ => {
            let parquet = head.starts_with(b"PAR1");
            if !parquet && std::str::from_utf8(&head).is_err_and(|error| error.error_len().is_some()) {
                return Err(unknown());
            }
            let columns = table::columns(path, parquet)?;
            let has = |names: &[&str]| names.iter().all(|name| columns.iter().any(|column| column == name));
            let content = match () {
                () if has(&["measure", "lower_ns", "largest_ns"]) => Content::Histograms,
                () if has(&["request", "arrival_ns", "latency_ns"]) => Content::Requests,
                () if has(&["start_ns", "die", "host_ns", "gc_ns"]) => Content::Dies,
                () if has(&["start_ns", "iops", "requests"]) => Content::Series,
                () if has(&["plane", "block", "erases"]) => Content::Blocks,
                () => return Err(unknown()),
            };
            Ok((content, parquet, None))
        }
    }
}
