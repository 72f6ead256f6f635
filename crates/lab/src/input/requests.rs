//! Which requests a run serves, and the device that they are fitted to. Several workloads and recordings on one device are tenants, each
//! with a name, an address range, and arrivals of its own.

use std::ops::Range;
use std::path::{Path, PathBuf};

use ssdlab_sim::config::{ByteRange, Config, Fdp, MOST_QUEUES, Nvme};
use ssdlab_sim::units::Bytes;
use ssdlab_sim::{Ssd, Think};
use ssdlab_trace::{LbaPolicy, Scale, Trace};

use crate::error::{Error, Result};
use crate::foreign::Imported;
use crate::foreign::flows::{self, Flow, Source};
use crate::input::reading::Reading;
use crate::input::workloads::{parse_workload, refuse};
use crate::names::clip;
use crate::settings::Settings;
use crate::text::{amount, duration, size};

ssdlab_trace::choices! {
    /// When requests arrive.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum When {
        /// At the times of the trace or workload.
        Arrival = "arrival",
        /// In a closed loop: a new one when one of `device.queue_depth` completes.
        Closed = "closed",
    }
}

/// The source of the requests.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A recorded trace.
    Trace(Trace),
    /// A workload that is generated.
    Workload {
        /// One that comes with the program, or a TOML file.
        name: String,
        /// A directory of recordings: the one that the workload models is replayed in its place, if it is there.
        recordings: Option<PathBuf>,
    },
    /// A workload as the text of its file.
    Spec(String),
    /// Several of these on one device.
    Tenants(Vec<Tenant>),
}

/// Which requests a run serves.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Their source.
    pub from: Origin,
    /// How a recorded trace is read.
    pub reading: Reading,
    /// At most this many, over all loops.
    pub limit: Option<u64>,
    /// The trace or workload this many times, one after the other.
    pub loops: u32,
    /// Until the device accepts no more writes: with one pass, as often as that takes.
    pub until_end: bool,
    /// Arrival times are multiplied by this.
    pub time_scale: Option<Scale>,
    /// When they arrive; by default at their times, or in a closed loop if the workload says so.
    pub replay: Option<When>,
    /// How to treat requests of a trace beyond the end of the device.
    pub lba_policy: LbaPolicy,
}

impl Requests {
    /// All requests of a trace or workload, once, as they are.
    pub fn new(from: Origin) -> Requests {
        let (reading, lba_policy) = (Reading::default(), LbaPolicy::default());
        Requests { from, reading, limit: None, loops: 1, until_end: false, time_scale: None, replay: None, lba_policy }
    }

    /// Says which bytes of its device each tenant uses, so that the device can be filled by tenant. A part that does not fit is left
    /// out: the requests are refused when they are fitted to the device.
    pub fn place_on(&self, config: &mut Config) {
        let Origin::Tenants(tenants) = &self.from else { return };
        let space = (config.capacity_bytes(), config.geometry.page_size.0);
        let parts = (0..)
            .zip(tenants)
            .filter_map(|(i, tenant)| Some((tenant.name.as_str(), tenant.range(i, tenants.len(), space).ok()?)));
        config.fdp.place_tenants(parts);
    }

    /// How often they are given at most.
    pub fn passes(&self) -> u32 {
        if self.until_end && self.loops == 1 { u32::MAX } else { self.loops }
    }

    /// The requests that files of other simulators describe; several flows are tenants. None if they describe a device only.
    /// `follow` is a directory in which a trace is looked for by the last part of its path.
    ///
    /// # Errors
    /// A trace is named and `follow` is missing.
    pub fn imported(imported: &Imported, follow: Option<&Path>) -> Result<Option<Requests>> {
        match &imported.flows[..] {
            [] => Ok(None),
            [flow] => Requests::of_flow(flow, follow, false).map(Some),
            several => {
                let tenants = several.iter().map(|flow| Tenant::of_flow(flow, follow)).collect::<Result<_>>()?;
                Ok(Some(Requests::new(Origin::Tenants(tenants))))
            }
        }
    }

    /// Checks that imported files make a configuration that runs, and that the requests they generate fit on its device.
    ///
    /// # Errors
    /// The rule that is broken, with the place that breaks it or the flow that does not fit.
    pub fn check_imported(imported: &Imported) -> Result<()> {
        let config = Settings::imported(imported)?.config;
        let (page, flows) = (config.geometry.page_size.0, imported.flows.len() as u64);
        // Several flows have equal parts of the addresses.
        let capacity = config.capacity_bytes() / page / flows.max(1) * page;
        for (name, text) in imported.workloads() {
            let (name, spec) = parse_workload(&name, &text)?;
            if let Err(error) = spec.build(capacity, page, 0, Some(1)) {
                let help = "imported requests have to fit on the imported device";
                return Err(refuse(&name, &error).note(format!("in the import's {name}")).help(help));
            }
        }
        Ok(())
    }

    fn of_flow(flow: &Flow, follow: Option<&Path>, several: bool) -> Result<Requests> {
        let recording = match &flow.source {
            Source::Stream(stream) => return Ok(Requests::new(Origin::Spec(flows::alone(flow, stream, several)))),
            Source::Recording(recording) => recording,
        };
        let mut requests = Requests::new(Origin::Trace(recording.within(follow)?.into()));
        requests.reading.format = recording.format.into();
        (requests.loops, requests.lba_policy) = (recording.loops, recording.lba_policy);
        Ok(requests)
    }

    /// Whether they can be read more than once.
    pub fn can_be_read_again(&self) -> bool {
        match &self.from {
            Origin::Trace(trace) => trace.can_be_read_again(),
            Origin::Workload { .. } | Origin::Spec(_) => true,
            Origin::Tenants(tenants) => tenants.iter().all(|tenant| tenant.requests.can_be_read_again()),
        }
    }

    /// The arguments of the command line that ask for them. Requests in memory have no name there; they stand as `TABLE`.
    pub fn arguments(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut give = |name: &str, value: String| all.extend([name.to_string(), value]);
        match &self.from {
            Origin::Trace(Trace::Table(_)) => give("--trace", "TABLE.parquet".into()),
            Origin::Trace(trace) => give("--trace", trace.name()),
            Origin::Workload { name, recordings } => {
                give("--workload", name.clone());
                recordings.iter().for_each(|directory| give("--traces", directory.display().to_string()));
            }
            Origin::Spec(_) => give("--workload", "WORKLOAD.toml".into()),
            Origin::Tenants(tenants) => tenants.iter().for_each(|tenant| give("--tenant", tenant.text())),
        }
        self.reading.arguments().into_iter().for_each(|(name, value)| give(name, value));
        self.limit.iter().for_each(|limit| give("--limit", limit.to_string()));
        if self.loops > 1 {
            give("--loop", self.loops.to_string());
        }
        if self.until_end {
            give("--until", "end-of-life".into());
        }
        self.time_scale.iter().for_each(|scale| give("--time-scale", scale.to_string()));
        self.replay.iter().for_each(|when| give("--replay", when.name().into()));
        if self.lba_policy != LbaPolicy::default() {
            give("--lba-policy", self.lba_policy.name().into());
        }
        all
    }
}

/// Where requests come from: results of a model are not results of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    /// Recorded on a real machine.
    Recording,
    /// Generated to the published figures of a recording.
    Model,
    /// Generated, not modelled on any recording.
    Generated,
}

/// The device that requests are fitted to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Most outstanding requests.
    pub queue_depth: u32,
    /// Seed of generated requests.
    pub seed: u64,
    /// Whether flushes are requests: the device has a write cache.
    pub flushes: bool,
    /// The queues that requests go to.
    pub nvme: Nvme,
    /// The placement handles that writes go to.
    pub fdp: Fdp,
}

impl Target {
    /// Of a device.
    pub fn of(ssd: &Ssd, queue_depth: u32, seed: u64) -> Target {
        let (capacity_bytes, page_bytes, flushes) = (ssd.capacity_bytes(), ssd.page_bytes(), ssd.flushes());
        let (nvme, fdp) = (ssd.config().nvme.clone(), ssd.config().fdp.clone());
        Target { capacity_bytes, page_bytes, queue_depth, seed, flushes, nvme, fdp }
    }
}

/// Where the addresses of a tenant lie on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Region {
    /// In a part of its own: the device is divided equally, in the order of the tenants.
    #[default]
    Own,
    /// Everywhere: its addresses are those of the device.
    Shared,
    /// From a byte on, up to another one or to the end of the device.
    Range(u64, Option<u64>),
}

/// A tenant: its name, and its requests.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name in results, and what queues match.
    pub name: String,
    /// Its requests. They are never those of several tenants.
    pub requests: Requests,
    /// Where its addresses lie.
    pub place: Region,
    /// A closed loop: how many requests it keeps outstanding.
    pub depth: Option<u32>,
    /// How many of its requests are outstanding at most, though they have times of their own.
    pub outstanding: Option<u32>,
}

/// A loop of requests that arrive when others complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The requests that it keeps outstanding.
    pub depth: u32,
    /// Whether `depth` is a bound only: requests arrive at their times, but not while so many are outstanding.
    pub bound: bool,
    /// Its pauses.
    pub think: Option<Think>,
}

impl Closed {
    /// One without pauses.
    pub(super) fn of(depth: u32) -> Closed {
        Closed { depth, bound: false, think: None }
    }

    /// What a run says of it.
    pub(super) fn text(self) -> String {
        let Closed { depth, bound, think } = self;
        if bound {
            return format!("at most {depth} outstanding");
        }
        let after = |count: u32| if count == 1 { "each request".into() } else { format!("every {count} requests") };
        let pauses = think
            .map(|think| format!(" that pauses for {} after {}", duration(think.time.0 as f64), after(think.after)));
        format!("closed loop of {depth}{}", pauses.unwrap_or_default())
    }
}

/// Options of a tenant, in the order in which they are written.
const OPTIONS: [&str; 15] = [
    "lba",
    "depth",
    "outstanding",
    "format",
    "device",
    "on_bad_line",
    "time_order",
    "op_codes",
    "within_second",
    "max_request",
    "limit",
    "loop",
    "time_scale",
    "replay",
    "lba_policy",
];

impl Tenant {
    /// A flow of another simulator among several, which have equal parts of the addresses.
    fn of_flow(flow: &Flow, follow: Option<&Path>) -> Result<Tenant> {
        let depth = match &flow.source {
            Source::Stream(stream) => stream.depth(),
            _ => None,
        };
        let requests = Requests::of_flow(flow, follow, true)?;
        Ok(Tenant { name: flow.name.clone(), requests, place: Region::Own, depth, outstanding: None })
    }

    /// Reads `NAME=trace:FILE` or `NAME=workload:NAME-or-FILE`, with options such as `,lba=shared,limit=1000`.
    ///
    /// # Errors
    /// The text has another form, or an option is not known or has no such value.
    pub fn parse(text: &str) -> Result<Tenant> {
        let form = "a tenant is NAME=trace:FILE or NAME=workload:NAME-or-FILE.toml, with options such as ,lba=shared";
        let wrong = |what: String| Error::usage(format!("--tenant {}: {what}", clip(text)));
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong("it has no `=`".into()).help(form))?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(wrong("a name has letters, digits, `-`, `_` and `.` only".into()).help(form));
        }
        let (source, options) = split(rest);
        let from = match source.split_once(':') {
            Some(("trace", "-")) => return Err(wrong("a tenant can't be standard input".into()).help("name a file")),
            Some(("trace", file)) if !file.is_empty() => Origin::Trace(std::path::PathBuf::from(file).into()),
            Some(("workload", name)) if !name.is_empty() && !name.contains(',') => {
                Origin::Workload { name: name.into(), recordings: None }
            }
            Some(("workload", name)) if name.contains(',') => return Err(unknown(&wrong, name)),
            _ => return Err(wrong("its requests are neither trace:FILE nor workload:NAME".into()).help(form)),
        };
        let (requests, place) = (Requests::new(from), Region::Own);
        let mut tenant = Tenant { name: name.into(), requests, place, depth: None, outstanding: None };
        for (i, (key, value)) in options.iter().enumerate() {
            if options[..i].iter().any(|(other, _)| other == key) {
                return Err(wrong(format!("{key} is given twice")));
            }
            if *key != "format" && value.contains(',') {
                return Err(unknown(&wrong, value));
            }
            tenant.set(key, value).map_err(|why| wrong(format!("{key}={}: {why}", clip(value))))?;
        }
        if tenant.depth.is_some() && tenant.requests.replay == Some(When::Arrival) {
            return Err(wrong("depth is that of a closed loop".into()).help("leave depth or replay=arrival out"));
        }
        if tenant.outstanding.is_some() && (tenant.depth.is_some() || tenant.requests.replay == Some(When::Closed)) {
            return Err(wrong("outstanding bounds requests that have times, and a closed loop has none".into())
                .help("leave outstanding out, or depth and replay=closed"));
        }
        Ok(tenant)
    }

    /// Sets an option; the error is what is wrong with its value.
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        let small = |value| u32::try_from(amount(value)?).map_err(|_| "beyond 32 bits".to_string());
        let (requests, bytes) = (&mut self.requests, |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0));
        let reading = &mut requests.reading;
        match key {
            "lba" => self.place = place(value)?,
            "depth" => self.depth = Some(small(value)?),
            "outstanding" => self.outstanding = Some(small(value)?),
            "format" => reading.format = value.into(),
            "device" => reading.device = Some(value.into()),
            "on_bad_line" => reading.on_bad_line = value.parse()?,
            "time_order" => reading.time_order = value.parse()?,
            "op_codes" => reading.op_codes = value.parse()?,
            "within_second" => reading.within_second = value.parse()?,
            "max_request" => reading.max_request = bytes(value)?,
            "limit" => requests.limit = Some(amount(value)?),
            "loop" => requests.loops = small(value)?,
            "time_scale" => requests.time_scale = Some(value.parse()?),
            "replay" => requests.replay = Some(value.parse()?),
            "lba_policy" => requests.lba_policy = value.parse()?,
            _ => unreachable!("an option of the list"),
        }
        Ok(())
    }

    /// The text that [`Tenant::parse`] reads back. Requests in memory have no name there.
    pub fn text(&self) -> String {
        let mut options: Vec<(String, String)> = Vec::new();
        let mut source = String::new();
        for pair in self.requests.arguments().chunks_exact(2) {
            match (pair[0].as_str(), pair[1].clone()) {
                ("--trace", file) => source = format!("trace:{file}"),
                ("--workload", name) => source = format!("workload:{name}"),
                (name, value) => options.push((name.trim_start_matches('-').replace('-', "_"), value)),
            }
        }
        match self.place {
            Region::Own => {}
            Region::Shared => options.push(("lba".into(), "shared".into())),
            Region::Range(from, None) => options.push(("lba".into(), format!("shift:{from}B"))),
            Region::Range(from, Some(to)) => options.push(("lba".into(), format!("{from}B..{to}B"))),
        }
        let numbers = [("depth", self.depth), ("outstanding", self.outstanding)];
        options.extend(numbers.into_iter().filter_map(|(name, own)| Some((name.into(), own?.to_string()))));
        options.sort_by_key(|(name, _)| OPTIONS.iter().position(|option| option == name));
        let options: String = options.into_iter().map(|(name, value)| format!(",{name}={value}")).collect();
        format!("{}={source}{options}", self.name)
    }

    /// Its requests with the options of the whole run where it has none of its own. Those for recordings leave generated ones alone.
    pub(super) fn inherits(&self, run: &Requests) -> Requests {
        let mut own = self.requests.clone();
        own.limit = own.limit.or(run.limit);
        own.time_scale = own.time_scale.or(run.time_scale);
        own.replay = own.replay.or(run.replay.filter(|_| self.depth.or(self.outstanding).is_none()));
        own.loops = if own.loops == 1 { run.loops } else { own.loops };
        if matches!(own.from, Origin::Trace(_)) {
            if own.lba_policy == LbaPolicy::default() {
                own.lba_policy = run.lba_policy;
            }
            own.reading.inherit(&run.reading);
        }
        own
    }

    /// How it is a loop by its own options.
    pub(super) fn closed(&self) -> Option<Closed> {
        let bound = self.outstanding.map(|most| Closed { bound: true, ..Closed::of(most) });
        self.depth.map(Closed::of).or(bound)
    }

    /// The bytes that it uses of a device of so many bytes, with pages of so many; it is the tenant number `i` of `of`.
    pub(super) fn range(&self, i: usize, of: usize, (capacity, page): (u64, u64)) -> Result<Range<u64>> {
        let part = |i: usize| (u128::from(capacity / page) * i as u128 / of as u128) as u64 * page;
        let range = match self.place {
            Region::Own => part(i)..part(i + 1),
            Region::Shared => 0..capacity,
            Region::Range(from, to) => from..to.unwrap_or(capacity),
        };
        let wrong = |what: String| Err(Error::usage(format!("--tenant {}: {what}", clip(&self.name))));
        if range.end > capacity || range.start >= range.end {
            return wrong(format!(
                "its addresses from byte {} to {} exceed the {} of the device",
                range.start,
                range.end,
                size(capacity)
            ));
        }
        if !range.start.is_multiple_of(page) || !range.end.is_multiple_of(page) {
            return wrong(format!("its addresses do not begin and end with a page of {page} bytes"));
        }
        Ok(range)
    }
}

/// The source, and the options after it. A comma belongs to a value unless an option follows: maps of columns and names have commas.
fn split(text: &str) -> (&str, Vec<(&'static str, &str)>) {
    let mut cuts: Vec<(usize, &'static str)> = Vec::new();
    for (at, _) in text.match_indices(',') {
        let after = &text[at + 1..];
        let option =
            OPTIONS.into_iter().find(|option| after.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')));
        cuts.extend(option.map(|option| (at, option)));
    }
    let end = |i: usize| cuts.get(i).map_or(text.len(), |(at, _)| *at);
    let options = cuts.iter().enumerate().map(|(i, (at, option))| (*option, &text[at + option.len() + 2..end(i + 1)]));
    (&text[..end(0)], options.collect())
}

/// The error of a value with a comma in it.
fn unknown(wrong: &dyn Fn(String) -> Error, value: &str) -> Error {
    let option = value.split_once(',').map_or(value, |(_, option)| option);
    wrong(format!("`{}` is not one of its options", clip(option)))
        .help(format!("the options are {}", OPTIONS.join(", ")))
}

fn place(text: &str) -> std::result::Result<Region, String> {
    if text == "shared" {
        return Ok(Region::Shared);
    }
    if let Some(from) = text.strip_prefix("shift:") {
        return Ok(Region::Range(from.parse::<Bytes>()?.0, None));
    }
    let expected = || "expected shared, shift:8GiB, or a range such as 8GiB..12GiB".to_string();
    let range = ByteRange::try_from(text.to_string()).map_err(|_| expected())?;
    let (from, to) = range.bounds();
    Ok(Region::Range(from, to))
}

/// Checks the tenants of a run together.
///
/// # Errors
/// There are too many, or two have one name.
pub(super) fn check(tenants: &[Tenant]) -> Result<()> {
    if tenants.len() > MOST_QUEUES {
        let message = format!("--tenant: {} tenants", tenants.len());
        return Err(Error::usage(message).help(format!("give at most {MOST_QUEUES}")));
    }
    for (i, tenant) in tenants.iter().enumerate() {
        if tenants[..i].iter().any(|other| other.name == tenant.name) {
            let message = format!("--tenant: two tenants have the name {}", clip(&tenant.name));
            return Err(Error::usage(message).help("give each tenant a name of its own"));
        }
    }
    Ok(())
}
