//! fio: job files as workloads. Each job is a flow of its own.

use std::ops::Range;

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Entry;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same, Unused};
use ssdlab_lab::foreign::flows::{Arrivals, Edge, End, Flow, Pause, Source, Stream};
use toml::Value as Toml;

use crate::keys::{Given, Key, Value};
use crate::table::{Desk, Drive, Mapping, Rule, To, missing, near, same};

const MAPPING: Mapping = Mapping { simulator: "fio", rules: RULES, host: HOST };

const RULES: &[Rule] = &[
    same("rw|readwrite|rwmixread|rwmixwrite|bs|blocksize|bssplit", None, To::Nothing),
    near("bsrange|blocksize_range", None, To::Nothing, SIZES),
    same("blockalign|ba", None, To::Nothing),
    near("iodepth", None, To::With("device.queue_depth"), "the depth of a closed loop"),
    near(
        "numjobs",
        None,
        To::Nothing,
        "the jobs are one flow of so many times the depth and the requests, or one each if they pause",
    ),
    near("size", None, To::Nothing, "the range of addresses, and how much is read or written if io_size does not say"),
    same("io_size|io_limit|number_ios|offset", None, To::Nothing),
    near("random_distribution", None, To::Nothing, ""),
    near("rate_iops", None, To::Nothing, "requests arrive at equal distances, whatever is outstanding"),
    same("rate_process", None, To::Nothing),
    near("runtime|timeout", None, To::Nothing, ""),
    same("time_based", None, To::Nothing),
    near("ioengine", None, To::Nothing, "synchronous engines keep one request outstanding"),
    same("thinktime|thinktime_blocks|thinktime_blocks_type", None, To::Nothing),
    missing("thinktime_iotime", "thinktime_blocks alone says when a pause begins"),
    missing("rate", "give rate_iops"),
    missing("norandommap", "random addresses may repeat, as with it; without it fio visits each block once"),
    missing("randrepeat|randseed|allrandrepeat", "--seed sets the seed"),
    missing("filename|directory", "each job has its own part of the device"),
    missing("stonewall|wait_for_previous", "all jobs begin at once; run them one by one instead"),
    missing("startdelay", "all jobs begin at once"),
    missing("ramp_time", "run.warmup leaves the first requests out of the figures"),
    missing("percentage_random", "the pattern is random or sequential throughout"),
    missing("fsync|fdatasync", "a generated workload has no flushes"),
    missing("loops", "--loop repeats the workload"),
];

const SIZES: &str = "the multiples of the smallest size, all alike";

const PAUSES: &[&str] = &["thinktime", "thinktime_blocks", "thinktime_blocks_type"];

/// Most jobs that pause, each a flow.
const MOST_PAUSING: u64 = 64;

/// Options that set neither addresses nor times of requests.
const HOST: &str = "direct buffered group_reporting thread name description invalidate cpus_allowed numa_cpu_nodes iodepth_batch \
    iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min iodepth_low gtod_reduce write_bw_log \
    write_lat_log write_iops_log log_avg_msec verify do_verify refill_buffers end_fsync create_on_open fallocate \
    overwrite fill_device nice prio prioclass hipri thinktime_spin fixedbufs registerfiles sqthread_poll exitall \
    unlink cpus_allowed_policy buffer_compress_percentage scramble_buffers zero_buffers new_group disable_lat \
    disable_clat disable_slat disable_bw clat_percentiles percentile_list userspace_reap";

/// A job: its name, its keys, and those of the global sections before it.
struct Job {
    name: String,
    keys: Range<usize>,
    globals: Vec<Range<usize>>,
}

pub(crate) struct Jobs {
    given: Given,
    /// Every section, the global ones too.
    sections: Vec<Range<usize>>,
    jobs: Vec<Job>,
}

/// Whether a text is a job file.
pub(crate) fn fits(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim().to_owned());
    let known = |line: &str| {
        key(line).is_some_and(|key| ["rw", "readwrite", "ioengine", "iodepth", "bs", "blocksize"].contains(&&*key))
    };
    lines().any(|line| line.starts_with('[') && line.ends_with(']'))
        && lines().any(known)
        && lines().any(|line| key(line).is_some_and(|key| ["rw", "readwrite"].contains(&&*key)))
}

impl Jobs {
    /// Reads a file.
    ///
    /// # Errors
    /// A line is before any section, or there are too many.
    pub fn read(name: &str, text: &str) -> Result<Jobs> {
        let mut given = Given::new(name, text);
        let (mut sections, mut jobs): (Vec<Range<usize>>, Vec<Job>) = (Vec::new(), Vec::new());
        let (mut globals, mut section, mut offset) = (Vec::new(), None::<String>, 0);
        let mut ends = |given: &Given, section: &Option<String>, sections: &mut Vec<Range<usize>>, from: usize| {
            let range = from..given.keys.len();
            if let Some(name) = section {
                match name.as_str() {
                    "global" => globals.push(range.clone()),
                    _ => jobs.push(Job { name: name.clone(), keys: range.clone(), globals: globals.clone() }),
                }
                sections.push(range);
            }
        };
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            let start = offset;
            offset += line.len();
            let trimmed = line.trim();
            let at = start + (line.len() - line.trim_start().len());
            let place = at..at + trimmed.len();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(inner) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                ends(&given, &section, &mut sections, from);
                (section, from) = (Some(inner.trim().to_owned()), given.keys.len());
                continue;
            }
            let Some(current) = &section else {
                return Err(given
                    .refuse("", place, "an option before any job")
                    .help("expected [global] or the name of a job in brackets first"));
            };
            let (name, value) = trimmed.split_once('=').unwrap_or((trimmed, "1"));
            let (name, value) = (name.trim(), value.trim());
            let value_at = at + trimmed.len() - value.len().min(trimmed.len());
            given.push(Key {
                section: current.clone(),
                name: name.into(),
                value: value.into(),
                at: at..at + name.len(),
                value_at: value_at..at + trimmed.len(),
            })?;
        }
        ends(&given, &section, &mut sections, from);
        Ok(Jobs { given, sections, jobs })
    }

    /// Carries the jobs over.
    ///
    /// # Errors
    /// A value can't be carried over.
    pub fn carry(&self, file: usize, shown: &str, drive: &mut Drive) -> Result<(Vec<Entry>, Vec<String>, Vec<Flow>)> {
        if self.jobs.is_empty() {
            return Err(self
                .given
                .refuse("", 0..0, "no job in the file")
                .help("expected the name of a job in brackets"));
        }
        let (mut flows, mut depth) = (Vec::new(), 0);
        for (index, job) in self.jobs.iter().enumerate() {
            let options = Options { given: &self.given, job };
            let (stream, copies) = options.streams()?;
            depth += u64::from(copies) * u64::from(stream.depth().unwrap_or(32));
            let plain = job.name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && !job.name.is_empty();
            let taken = flows.iter().any(|flow: &Flow| flow.name == job.name);
            let name = if plain && !taken { job.name.clone() } else { format!("job{}", index + 1) };
            for copy in 1..=copies {
                let name = if copies == 1 { name.clone() } else { format!("{name}.{copy}") };
                let description = format!("fio job {name}");
                flows.push(Flow { description, name, source: Source::Stream(stream.clone()) });
            }
        }
        let (mut entries, mut assumed, mut deep) = (Vec::new(), Vec::new(), false);
        for range in &self.sections {
            let mut desk = Desk::new(&self.given, file, range.clone(), MAPPING, false, drive)?;
            verdicts(&mut desk);
            if desk.gives("iodepth") && !deep {
                deep = true;
                desk.set("device.queue_depth", Toml::Integer(depth as i64), "iodepth");
            }
            let (more, defaults) = desk.account(shown);
            entries.extend(more);
            assumed.extend(defaults);
        }
        if !deep {
            let mut desk = Desk::new(&self.given, file, 0..0, MAPPING, false, drive)?;
            desk.set("device.queue_depth", Toml::Integer(depth as i64), "iodepth");
            assumed.extend(desk.account(shown).1);
        }
        Ok((entries, assumed, flows))
    }
}

/// What there is to say of options by their values.
fn verdicts(desk: &mut Desk) {
    if let Some(value) = desk.value("random_distribution") {
        match value.text.split(':').next() {
            Some("random") => desk.say("random_distribution", Same, ""),
            Some("zipf") => desk.say(
                "random_distribution",
                Near,
                "exactly Zipf's law, with the popular blocks spread over the range; fio draws by an approximation of it",
            ),
            _ => desk.say("random_distribution", NotModelled, "all addresses alike"),
        }
    }
    for name in ["runtime", "timeout"] {
        let timed = desk.gives("rate_iops");
        let note = if timed { "" } else { "a closed loop has no clock: its requests, or --limit, end it" };
        desk.say(name, if timed { Same } else { NotModelled }, note);
    }
    if !desk.gives("rate_iops") {
        desk.say("rate_process", Unused, "there is no rate");
    } else {
        PAUSES.iter().for_each(|name| desk.say(name, NotModelled, "requests arrive at their rate"));
    }
    if desk.value("thinktime_blocks_type").is_some_and(|value| value.text == "issue") {
        desk.say("thinktime_blocks_type", Near, "blocks count when they complete");
    }
}

struct Options<'j> {
    given: &'j Given,
    job: &'j Job,
}

/// Sizes in bytes, each with its weight.
type Weighted = Vec<(u64, u64)>;

impl<'j> Options<'j> {
    /// The last value of an option, under any of its names.
    fn value(&self, names: &[&'static str]) -> Option<Value<'j>> {
        let ranges = self.job.globals.iter().chain([&self.job.keys]);
        let key = ranges.flat_map(|range| &self.given.keys[range.clone()]).rfind(|key| names.contains(&&*key.name))?;
        Some(Value { given: self.given, name: &key.name, text: &key.value, key: Some(key) })
    }

    fn size(&self, names: &[&'static str]) -> Result<Option<u64>> {
        self.value(names).map(|value| bytes(&value, value.text)).transpose()
    }

    fn count(&self, names: &[&'static str], default: u32) -> Result<u32> {
        match self.value(names) {
            Some(value) => match value.count()? {
                0 => Err(value.refuse("nothing would run", "use 1 or more")),
                count => Ok(count),
            },
            None => Ok(default),
        }
    }

    /// What a job sends, and how many flows send it: jobs that pause do so each by itself, others are one flow.
    fn streams(&self) -> Result<(Stream, u32)> {
        let jobs = u64::from(self.count(&["numjobs"], 1)?);
        let think = if self.value(&["rate_iops"]).is_some() { None } else { self.think()? };
        let Some(think) = think else { return Ok((self.stream(jobs)?, 1)) };
        if let Some(value) = self.value(&["numjobs"]).filter(|_| jobs > MOST_PAUSING) {
            let what = format!("{jobs} jobs that pause, each a flow of its own");
            return Err(value.refuse(what, format!("use at most {MOST_PAUSING}, or leave thinktime out")));
        }
        Ok((Stream { think: Some(think), ..self.stream(1)? }, jobs as u32))
    }

    fn think(&self) -> Result<Option<Pause>> {
        let Some(value) = self.value(&["thinktime"]) else { return Ok(None) };
        let ns = duration(&value, 1_000)?;
        if ns > 3_600_000_000_000 {
            return Err(value.refuse("a pause longer than an hour", "a number without a unit is in microseconds"));
        }
        let after = self.count(&["thinktime_blocks"], 1)?;
        Ok((ns > 0).then_some(Pause { ns, after }))
    }

    fn stream(&self, jobs: u64) -> Result<Stream> {
        let (random, mut read) = self.kind()?;
        let rate = self.rate(&mut read)?;
        let (sizes, write_sizes) = self.sizes()?;
        let smallest = sizes.iter().chain(write_sizes.iter().flatten()).map(|(size, _)| *size).min().unwrap_or(4096);
        let align = self.size(&["blockalign", "ba"])?.filter(|align| *align >= 512 && align.is_multiple_of(512));
        let range = self.range()?;
        let arrivals = self.arrivals(jobs, rate)?;
        let end = self.end(&sizes, range, jobs, arrivals)?;
        let pattern = if random { self.distribution()? } else { "\"sequential\"".to_owned() };
        Ok(Stream {
            read,
            sizes,
            write_sizes,
            align: align.unwrap_or(smallest),
            range,
            pattern,
            arrivals,
            think: None,
            end,
        })
    }

    /// Whether addresses are random, and the share of reads in millionths.
    fn kind(&self) -> Result<(bool, u64)> {
        let Some(value) = self.value(&["rw", "readwrite"]) else { return Ok((false, 1_000_000)) };
        let mix = match (self.value(&["rwmixread"]), self.value(&["rwmixwrite"])) {
            (Some(read), _) => read.share(100)?.0,
            (None, Some(write)) => 1_000_000 - write.share(100)?.0.min(1_000_000),
            (None, None) => 500_000,
        };
        Ok(match value.text.split(':').next().unwrap_or_default() {
            "read" => (false, 1_000_000),
            "write" => (false, 0),
            "rw" | "readwrite" => (false, mix),
            "randread" => (true, 1_000_000),
            "randwrite" => (true, 0),
            "randrw" => (true, mix),
            _ => {
                let help = "expected read, write, rw, randread, randwrite or randrw; trims are not imported";
                return Err(value.refuse("not a kind of load that is imported", help));
            }
        })
    }

    /// Sizes with weights, and those of writes if they differ.
    fn sizes(&self) -> Result<(Weighted, Option<Weighted>)> {
        if let (None, Some(value)) =
            (self.value(&["bs", "blocksize", "bssplit"]), self.value(&["bsrange", "blocksize_range"]))
        {
            return multiples(&value).map(|sizes| (sizes, None));
        }
        let split = self.value(&["bssplit"]);
        let Some(value) = split.or(self.value(&["bs", "blocksize"])) else {
            return Ok((vec![(4096, 1_000_000)], None));
        };
        let mut parts = value.text.split(',').map(|part| match split {
            Some(_) => self.weights(&value, part),
            None => Ok(vec![(block(&value, part)?, 1_000_000)]),
        });
        let reads = parts.next().unwrap_or_else(|| Ok(vec![(4096, 1_000_000)]))?;
        let writes = parts.next().transpose()?.filter(|writes| *writes != reads);
        Ok((reads, writes))
    }

    /// `4k/60:64k/40`; sizes without a share have the rest alike.
    fn weights(&self, value: &Value, text: &str) -> Result<Vec<(u64, u64)>> {
        let (mut sizes, mut open, mut given) = (Vec::new(), 0u64, 0u64);
        for part in text.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let share = match share.trim().trim_end_matches('%') {
                "" => None,
                number => {
                    let share = number.parse::<u64>().ok().filter(|share| *share <= 100);
                    Some(share.ok_or_else(|| {
                        value.refuse("a share that is none", "expected sizes and percentages, such as 4k/60:64k/40")
                    })?)
                }
            };
            open += u64::from(share.is_none());
            given += share.unwrap_or(0);
            sizes.push((block(value, size)?, share));
            if sizes.len() > 64 {
                return Err(value.refuse("more than 64 sizes", "use fewer"));
            }
        }
        if given > 100 || (open == 0 && given == 0) {
            return Err(value.refuse(format!("the shares add up to {given} %"), "expected 100"));
        }
        let rest = (100 - given) * 10_000 / open.max(1);
        Ok(sizes.into_iter().map(|(size, share)| (size, share.map_or(rest, |share| share * 10_000))).collect())
    }

    /// The addresses.
    fn range(&self) -> Result<(Edge, Edge)> {
        let edge = |value: &Value| match value.text.strip_suffix('%') {
            Some(number) => {
                let share = number.parse::<u64>().ok().filter(|share| *share <= 100);
                share
                    .map(|share| Edge::Share(share * 10_000))
                    .ok_or_else(|| value.refuse("not a percentage", "expected 1% to 100%"))
            }
            None => Ok(Edge::Bytes(bytes(value, value.text)?)),
        };
        let from = self.value(&["offset"]).map_or(Ok(Edge::Bytes(0)), |value| edge(&value))?;
        let Some(value) = self.value(&["size", "filesize"]) else {
            return Ok((from, Edge::Share(1_000_000)));
        };
        let to = match (from, edge(&value)?) {
            (Edge::Bytes(0), to) => to,
            (Edge::Bytes(from), Edge::Bytes(size)) => Edge::Bytes(from.saturating_add(size)),
            (Edge::Share(from), Edge::Share(size)) => Edge::Share((from + size).min(1_000_000)),
            _ => {
                return Err(value
                    .refuse("offset and size are of different kinds", "give both in bytes, or both as percentages"));
            }
        };
        Ok((from, to))
    }

    fn distribution(&self) -> Result<String> {
        let Some(value) = self.value(&["random_distribution"]) else { return Ok("\"uniform\"".into()) };
        let mut parts = value.text.split(':');
        match (parts.next(), parts.next()) {
            (Some("zipf"), theta) => {
                let theta = theta.unwrap_or("1.1").parse::<f64>().ok().filter(|theta| (0.0..=10.0).contains(theta));
                let theta =
                    theta.ok_or_else(|| value.refuse("no exponent of Zipf's law", "expected for example zipf:0.9"))?;
                Ok(format!("{{ zipf = {{ theta = {theta:?}, scrambled = true }} }}"))
            }
            _ => Ok("\"uniform\"".into()),
        }
    }

    /// Requests a second: `1000,500` for reads and writes, or `1000` for each. Where both occur, fio turns to the other direction when
    /// one is ahead of its rate, so the rates set the mix, whatever `rwmixread` says. An empty one is no limit.
    fn rate(&self, read: &mut u64) -> Result<Option<u64>> {
        let Some(value) = self.value(&["rate_iops"]) else { return Ok(None) };
        let mut parts = value.text.split(',').map(str::trim);
        let one = |part: &str| if part.is_empty() { Ok(None) } else { bytes(&value, part).map(Some) };
        let reads = one(parts.next().unwrap_or_default())?;
        let writes = parts.next().map_or(Ok(reads), one)?;
        match (*read, reads, writes) {
            (1_000_000, reads, _) => Ok(reads),
            (0, _, writes) => Ok(writes),
            (_, Some(reads), Some(writes)) if reads.saturating_add(writes) > 0 => {
                let all = reads.saturating_add(writes);
                *read = (u128::from(reads) * 1_000_000 / u128::from(all)) as u64;
                Ok(Some(all))
            }
            _ => Err(value.refuse("one of reads and writes has no limit", "limit both, as in 1000,500")),
        }
    }

    fn arrivals(&self, jobs: u64, rate: Option<u64>) -> Result<Arrivals> {
        if let (Some(rate), Some(number)) = (self.value(&["rate_iops"]), rate) {
            let gap = 1_000_000_000u64.checked_div(number.saturating_mul(jobs)).filter(|gap| *gap > 0);
            let gap = gap.ok_or_else(|| rate.refuse("no usable rate", "expected 1 to 10^9 requests a second"))?;
            let random = self.value(&["rate_process"]).is_some_and(|process| process.text == "poisson");
            return Ok(if random { Arrivals::Poisson(gap) } else { Arrivals::Fixed(gap) });
        }
        let engine = self.value(&["ioengine"]).map_or("psync", |engine| engine.text);
        let one = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"].contains(&engine);
        let depth = if one { 1 } else { self.count(&["iodepth"], 1)? };
        let all = u32::try_from(u64::from(depth) * jobs).ok();
        all.map(Arrivals::Closed)
            .ok_or_else(|| self.given.refuse("numjobs", 0..0, "more than 2^32 requests outstanding").help("use fewer"))
    }

    /// When it ends: what comes first there, and can come here.
    fn end(&self, sizes: &[(u64, u64)], range: (Edge, Edge), jobs: u64, arrivals: Arrivals) -> Result<End> {
        let based = self.value(&["time_based"]).is_some_and(|value| value.text != "0");
        let runtime = self.value(&["runtime", "timeout"]).map(|value| duration(&value, 1_000_000_000)).transpose()?;
        if let (Some(ns), Arrivals::Fixed(_) | Arrivals::Poisson(_)) = (runtime.filter(|ns| *ns > 0), arrivals) {
            return Ok(End::DurationNs(ns));
        }
        if let Some(count) = self.value(&["number_ios"]) {
            return Ok(End::Requests(count.whole()?.saturating_mul(jobs).max(1)));
        }
        let span = match range {
            (Edge::Bytes(from), Edge::Bytes(to)) => Some(to - from),
            _ => None,
        };
        let total = if based { None } else { self.size(&["io_size", "io_limit"])?.or(span) };
        let Some(total) = total else { return Ok(End::Limit) };
        let weight: u128 = sizes.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let sum: u128 = sizes.iter().map(|(size, weight)| u128::from(*size) * u128::from(*weight)).sum();
        let requests = u128::from(total) * weight / sum.max(1) * u128::from(jobs);
        Ok(End::Requests(u64::try_from(requests).unwrap_or(u64::MAX).max(1)))
    }
}

/// `4k-64k`, for reads and writes alike.
fn multiples(value: &Value) -> Result<Weighted> {
    let help = "expected two sizes such as 4k-64k, at most 64 multiples of the smaller one";
    let (from, to) = value.text.split_once('-').ok_or_else(|| value.refuse("no range of sizes", help))?;
    let (from, to) = (block(value, from)?, block(value, to)?);
    let count = to / from;
    if !(1..=64).contains(&count) {
        return Err(value.refuse(format!("{count} sizes"), help));
    }
    Ok((1..=count).map(|times| (from * times, 1_000_000 / count)).collect())
}

/// A size of a request.
fn block(value: &Value, text: &str) -> Result<u64> {
    let size = bytes(value, text)?;
    if size == 0 || size % 512 != 0 || size > 64 << 20 {
        return Err(value.refuse(format!("requests of {size} bytes"), "expected a multiple of 512 bytes, up to 64m"));
    }
    Ok(size)
}

/// A number of bytes as fio writes it: suffixes are powers of 1024.
fn bytes(value: &Value, text: &str) -> Result<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[end..].trim_end_matches("ib").trim_end_matches('b') {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        "t" => Some(40),
        "p" => Some(50),
        _ => None,
    };
    let number = text[..end].parse::<u64>().ok();
    let bytes = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| value.refuse("not a size", "expected a whole number such as 4096, 4k or 1g"))
}

/// Nanoseconds of a time in a unit of so many, or with a unit of its own.
fn duration(value: &Value, unit_ns: u64) -> Result<u64> {
    let text = value.text.to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: Option<u64> = match &text[end..] {
        "" => Some(unit_ns),
        "s" => Some(1_000_000_000),
        "ms" => Some(1_000_000),
        "us" => Some(1_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        "d" => Some(86_400_000_000_000),
        _ => None,
    };
    let ns = text[..end].parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    ns.ok_or_else(|| {
        value.refuse("not a time", "expected a whole number with or without a unit, such as 60, 10m or 500us")
    })
}
