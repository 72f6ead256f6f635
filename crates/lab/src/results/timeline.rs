//! The activity of every plane, channel and request over time: as a Perfetto trace, or as records for a small chart.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;
use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::config::Geometry;
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, LegRecord, Request, Resource, Watches};

use crate::error::{Error, Result};
use crate::output::{Finished, Output};
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::perfetto::{
    DebugAnnotation, EXPLICIT, SLICE_BEGIN, SLICE_END, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use crate::results::requests::op;
use crate::text::count;
use crate::theory::planes;

/// Most slices of a run without a window.
const MOST_SLICES: u64 = 5_000_000;
/// Most legs of a chart.
const MOST_LEGS: usize = 200;

/// A part of simulated time, including its beginning but not its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The beginning.
    pub from: Nanos,
    /// The end.
    pub to: Nanos,
}

impl Span {
    const ALL: Span = Span { from: Nanos::ZERO, to: Nanos::NEVER };

    /// Whether it overlaps the time from `start` to `end`.
    fn meets(&self, start: Nanos, end: Nanos) -> bool {
        start < self.to && (end > self.from || (start == end && end == self.from))
    }
}

impl std::str::FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let expected = || format!("`{text}` is not a window: expected two times such as 10ms..12.5ms, 0s..1s or 1s..");
        let (from, to) = text.split_once("..").ok_or_else(expected)?;
        let time = |text: &str, open: Nanos| if text.is_empty() { Ok(open) } else { text.parse::<Nanos>() };
        let span = Span { from: time(from, Nanos::ZERO)?, to: time(to, Nanos::NEVER)? };
        if span.from < span.to { Ok(span) } else { Err(expected()) }
    }
}

/// The activity of a run over time, or of a part of it.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Its file, a Perfetto trace; without one it goes back to the caller as a [`Chart`], for tiny runs.
    pub file: Option<PathBuf>,
    /// The part of simulated time; by default all of it.
    pub span: Option<Span>,
}

impl Activity {
    /// Its name.
    pub const NAME: &str = "--timeline";
}

impl Product for Activity {
    fn about(&self) -> About<'_> {
        About { name: Activity::NAME, path: self.file.as_deref(), timed: true }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Timeline::create(self.file.as_deref(), self.span, &of.config.geometry)?))
    }
}

/// The records of a tiny run.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The device's geometry.
    pub geometry: Geometry,
    /// Activity of arrays and buses.
    pub legs: Vec<LegRecord>,
    /// Requests, in the order of completion.
    pub requests: Vec<Completed>,
}

/// An unfinished timeline.
pub struct Timeline {
    span: Span,
    bounded: bool,
    form: Form,
}

enum Form {
    File(Box<File>),
    Chart(Chart),
}

impl Timeline {
    /// Begins a timeline of the whole run, or of a part of simulated time.
    fn create(file: Option<&Path>, window: Option<Span>, geometry: &Geometry) -> Result<Timeline> {
        let form = match file {
            None => Form::Chart(Chart { geometry: geometry.clone(), legs: Vec::new(), requests: Vec::new() }),
            Some(path) => {
                let output = Arc::new(Mutex::new(Output::create(path)?));
                Form::File(Box::new(File::create(output, 0, String::new(), geometry)?))
            }
        };
        Ok(Timeline { span: window.unwrap_or(Span::ALL), bounded: window.is_some(), form })
    }

    /// Begins one file with the timelines of two devices of one geometry, each with its name before those of its tracks.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn pair(path: &Path, names: [&str; 2], span: Span, geometry: &Geometry) -> Result<[Timeline; 2]> {
        let output = Arc::new(Mutex::new(Output::create(path)?));
        let one = |device: u64, name: &str| -> Result<Timeline> {
            let file = File::create(output.clone(), device, format!("{name}: "), geometry)?;
            Ok(Timeline { span, bounded: true, form: Form::File(Box::new(file)) })
        };
        Ok([one(0, names[0])?, one(1, names[1])?])
    }

    /// Ends a pair.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish_pair([one, two]: [Timeline; 2]) -> Result<Finished> {
        drop(one);
        match two.form {
            Form::File(file) => file.finish(),
            Form::Chart(_) => unreachable!("a pair is in a file"),
        }
    }

    /// The first request that arrives has this number; what a device did before is not shown.
    pub fn begin_at(&mut self, number: u64) {
        if let Form::File(file) = &mut self.form {
            file.lanes.first = number;
        }
    }
}

impl Recorder for Timeline {
    fn observes(&self) -> Watches {
        Watches::ARRIVALS | Watches::COMPLETIONS | Watches::LEGS
    }

    fn arrived(&mut self, number: u64, request: &Request) -> Result<()> {
        let Form::File(file) = &mut self.form else { return Ok(()) };
        // A request that arrives before the window may still overlap it; that is known when it completes.
        let begins = self.span.from <= request.arrival && request.arrival < self.span.to;
        let lane = file.lanes.enter(begins);
        if begins { file.begin(lane, number, request) } else { Ok(()) }
    }

    fn completed(&mut self, request: &Completed) -> Result<()> {
        let wanted = self.span.meets(request.arrival, request.completion);
        match &mut self.form {
            Form::File(file) => {
                let (lane, begun) = file.lanes.leave(request.request);
                if wanted && !begun {
                    let (arrival, op, offset, bytes) = (request.arrival, request.op, request.offset, request.bytes);
                    file.begin(lane, request.request, &Request { arrival, op, offset, bytes })?;
                }
                if wanted { file.end(lane, request) } else { Ok(()) }
            }
            Form::Chart(chart) => {
                if wanted {
                    chart.requests.push(request.clone());
                }
                Ok(())
            }
        }
    }

    fn leg(&mut self, leg: &LegRecord) -> Result<()> {
        if !self.span.meets(leg.start, leg.end) {
            return Ok(());
        }
        match &mut self.form {
            Form::File(file) => {
                if !self.bounded && file.slices > MOST_SLICES {
                    return Err(Error::usage(format!(
                        "--timeline: the run has more than {} slices",
                        count(MOST_SLICES)
                    ))
                    .help("choose a part of it with --timeline-window FROM..TO, or fewer requests with --limit"));
                }
                file.leg(leg)
            }
            Form::Chart(chart) => {
                chart.legs.push(*leg);
                if chart.legs.len() > MOST_LEGS {
                    return Err(Error::usage(format!("--timeline -: the run has more than {MOST_LEGS} operations"))
                        .help("choose a part of it with --timeline-window FROM..TO, fewer requests with --limit, or a file"));
                }
                Ok(())
            }
        }
    }

    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        match self.form {
            Form::File(file) => end.put(Activity::NAME, file.finish()?),
            Form::Chart(chart) => end.give(chart),
        }
        Ok(())
    }
}

/// Tracks for requests. A track is free again when its request has completed, so slices on a track never overlap.
#[derive(Default)]
struct Lanes {
    /// Lanes of requests since the oldest outstanding one, and whether their slices have begun.
    taken: VecDeque<Option<(u32, bool)>>,
    /// The number of the first of them.
    first: u64,
    free: BTreeSet<u32>,
    count: u32,
}

impl Lanes {
    fn enter(&mut self, begins: bool) -> u32 {
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.taken.push_back(Some((lane, begins)));
        lane
    }

    fn leave(&mut self, number: u64) -> (u32, bool) {
        let (lane, begun) = self.taken[(number - self.first) as usize].take().expect("a request completes once");
        while self.taken.front().is_some_and(Option::is_none) {
            self.taken.pop_front();
            self.first += 1;
        }
        self.free.insert(lane);
        (lane, begun)
    }
}

/// Tracks: a group (requests, channels, planes), of each device its own, and a number in it.
const REQUESTS: u64 = 1;
const CHANNELS: u64 = 2;
const PLANES: u64 = 3;
/// Groups of a device.
pub(crate) const GROUPS: u64 = 3;

/// Bit that marks flow numbers of collections.
const COLLECTION: u64 = 1 << 63;
/// Bit that marks flow numbers of the second device.
pub(crate) const SECOND: u64 = 1 << 62;

/// An unfinished Perfetto trace.
struct File {
    /// Two devices may share it.
    output: Arc<Mutex<Output>>,
    /// The number of the device in it, and what comes before the names of its tracks.
    device: u64,
    prefix: String,
    /// Packets not yet written.
    trace: Trace,
    bytes: Vec<u8>,
    channels: u32,
    /// Whether there are tracks for the ports of the interconnect.
    ports: bool,
    lanes: Lanes,
    /// Lanes that have a track.
    described: u32,
    slices: u64,
}

impl File {
    fn create(output: Arc<Mutex<Output>>, device: u64, prefix: String, geometry: &Geometry) -> Result<File> {
        let (trace, bytes, lanes) = (Trace::default(), Vec::new(), Lanes::default());
        let channels = geometry.channels;
        let mut file =
            File { output, device, prefix, trace, bytes, channels, ports: false, lanes, described: 0, slices: 0 };
        for (group, name) in [(REQUESTS, "requests"), (CHANNELS, "channels"), (PLANES, "planes")] {
            let group = file.group(group);
            file.describe(group << 32, None, name.into(), group as i32);
        }
        let channels = u64::from(geometry.channels);
        for channel in 0..channels {
            file.describe(file.track(CHANNELS, channel), Some(CHANNELS), format!("channel {channel}"), channel as i32);
        }
        for (link, name) in [(channels, "host link in"), (channels + 1, "host link out")] {
            file.describe(file.track(CHANNELS, link), Some(CHANNELS), name.into(), link as i32);
        }
        for plane in 0..planes(geometry) as u32 {
            let name = format!("plane {plane} ({})", place(geometry, plane));
            file.describe(file.track(PLANES, u64::from(plane)), Some(PLANES), name, plane as i32);
        }
        file.write()?;
        Ok(file)
    }

    fn finish(self) -> Result<Finished> {
        let output = Arc::into_inner(self.output).expect("the only timeline that is left of the file");
        output.into_inner().unwrap_or_else(PoisonError::into_inner).finish()
    }

    fn group(&self, group: u64) -> u64 {
        self.device * GROUPS + group
    }

    fn track(&self, group: u64, number: u64) -> u64 {
        self.group(group) << 32 | (number + 1)
    }

    fn flow(&self, number: u64) -> u64 {
        if self.device == 0 { number } else { number | SECOND }
    }

    fn describe_ports(&mut self) {
        for channel in 0..self.channels {
            let port = self.channels + 2 + channel;
            let name = format!("port {channel}");
            self.describe(self.track(CHANNELS, u64::from(port)), Some(CHANNELS), name, port as i32);
        }
    }

    fn describe(&mut self, uuid: u64, group: Option<u64>, name: String, rank: i32) {
        self.trace.packet.push(TracePacket {
            timestamp: None,
            trusted_packet_sequence_id: Some(1),
            track_event: None,
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(format!("{}{name}", self.prefix)),
                parent_uuid: group.map(|group| self.group(group) << 32),
                child_ordering: group.is_none().then_some(EXPLICIT),
                sibling_order_rank: Some(rank),
            }),
        });
    }

    fn slice(&mut self, track: u64, start: Nanos, end: Nanos, event: TrackEvent) {
        self.event(start, TrackEvent { r#type: Some(SLICE_BEGIN), track_uuid: Some(track), ..event });
        self.event(end, TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(track), ..TrackEvent::default() });
    }

    fn event(&mut self, at: Nanos, event: TrackEvent) {
        self.slices += u64::from(event.r#type == Some(SLICE_BEGIN));
        self.trace.packet.push(TracePacket {
            timestamp: Some(at.0),
            trusted_packet_sequence_id: Some(1),
            track_event: Some(event),
            track_descriptor: None,
        });
    }

    /// A request's slice begins before those of its operations, so that flows lead from it to them.
    fn begin(&mut self, lane: u32, number: u64, request: &Request) -> Result<()> {
        while self.described <= lane {
            let lane = u64::from(self.described);
            self.describe(self.track(REQUESTS, lane), Some(REQUESTS), format!("requests {lane}"), lane as i32);
            self.described += 1;
        }
        let event = TrackEvent {
            debug_annotations: vec![
                note("request", number),
                note("offset", request.offset),
                note("bytes", request.bytes),
            ],
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(self.track(REQUESTS, u64::from(lane))),
            categories: vec!["host".into()],
            name: Some(op(request.op).into()),
            flow_ids: vec![self.flow(number + 1)],
        };
        self.event(request.arrival, event);
        self.write()
    }

    /// The causes of its latency are known only at its end.
    fn end(&mut self, lane: u32, request: &Completed) -> Result<()> {
        let extras = Extra::ALL.iter().map(|extra| (request.extras.0[*extra as usize], extra.name()));
        let causes = CAUSES.iter().map(|(cause, name)| (request.blame.0[*cause as usize], *name)).chain(extras);
        let event = TrackEvent {
            debug_annotations: causes
                .filter(|(ns, _)| *ns > 0)
                .map(|(ns, name)| note(&format!("{name}_ns"), ns))
                .collect(),
            r#type: Some(SLICE_END),
            track_uuid: Some(self.track(REQUESTS, u64::from(lane))),
            ..TrackEvent::default()
        };
        self.event(request.completion, event);
        self.write()
    }

    fn leg(&mut self, leg: &LegRecord) -> Result<()> {
        let (category, owner, flow) = match leg.class {
            Class::Host => ("host", "request", leg.number + 1),
            Class::Gc => ("gc", "collection", leg.number | COLLECTION),
            Class::Writeback => ("writeback", "collection", leg.number | COLLECTION),
            Class::Metadata => ("metadata", "operation", leg.number | COLLECTION),
            Class::Parity => ("parity", "operation", leg.number | COLLECTION),
            Class::Replica => ("replica", "operation", leg.number | COLLECTION),
            Class::Cache => ("cache", "operation", leg.number | COLLECTION),
            Class::Fold => ("fold", "collection", leg.number | COLLECTION),
            Class::Refresh => ("refresh", "operation", leg.number | COLLECTION),
        };
        let mut notes = vec![note(owner, leg.number), note("ppn", u64::from(leg.ppn.0))];
        if leg.lpn.is_some() {
            notes.push(note("lpn", u64::from(leg.lpn.0)));
        }
        let event = TrackEvent {
            debug_annotations: notes,
            categories: vec![category.into()],
            name: Some(verb(leg).into()),
            flow_ids: vec![self.flow(flow)],
            ..TrackEvent::default()
        };
        let bus = match leg.resource {
            Resource::Planes => {
                for plane in leg.planes() {
                    self.slice(self.track(PLANES, u64::from(plane.0)), leg.start, leg.end, event.clone());
                }
                return self.write();
            }
            Resource::Channel(channel) => channel,
            Resource::HostLink(inward) => self.channels + u32::from(!inward),
            Resource::Port(channel) => {
                if !std::mem::replace(&mut self.ports, true) {
                    self.describe_ports();
                }
                self.channels + 2 + channel
            }
        };
        self.slice(self.track(CHANNELS, u64::from(bus)), leg.start, leg.end, event);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.bytes.clear();
        self.trace.encode(&mut self.bytes).expect("a vector takes any length");
        self.trace.packet.clear();
        self.output.lock().unwrap_or_else(PoisonError::into_inner).put(&self.bytes)
    }
}

fn note(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.into()), uint_value: Some(value) }
}

/// Channel, chip, die and plane of a plane; the channel varies fastest.
fn place(geometry: &Geometry, plane: u32) -> String {
    let (channel, rest) = (plane % geometry.channels, plane / geometry.channels);
    let (chip, rest) = (rest % geometry.chips_per_channel, rest / geometry.chips_per_channel);
    let (die, plane) = (rest % geometry.dies_per_chip, rest / geometry.dies_per_chip);
    format!("channel {channel}, chip {chip}, die {die}, plane {plane}")
}

fn verb(leg: &LegRecord) -> &'static str {
    match (leg.kind, leg.verb) {
        (LegKind::Array, Verb::Read) => "read",
        (LegKind::Array, Verb::Program) => "program",
        (_, Verb::Copyback) => "copyback",
        (_, Verb::Erase) => "erase",
        (LegKind::Bus, Verb::Read) => "transfer of a read",
        (LegKind::Bus, Verb::Program) => "transfer of a program",
        (LegKind::Decode, _) => "decoding",
        (_, Verb::Read) => "traversal of a read",
        (_, Verb::Program) => "traversal of a program",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_two_times() {
        let span = |text: &str| text.parse::<Span>();
        assert_eq!(span("10ms..12.5ms"), Ok(Span { from: Nanos(10_000_000), to: Nanos(12_500_000) }));
        assert_eq!(span("1s.."), Ok(Span { from: Nanos(1_000_000_000), to: Nanos::NEVER }));
        assert!(["", "5", "2ms..1ms", "1..2", "a..b", "1ms..1ms"].iter().all(|text| span(text).is_err()));
    }

    #[test]
    fn a_lane_carries_one_request_at_a_time() {
        let mut lanes = Lanes::default();
        (0..3).for_each(|lane| assert_eq!(lanes.enter(false), lane));
        assert_eq!(lanes.leave(1), (1, false));
        assert_eq!(lanes.enter(true), 1);
        assert_eq!((lanes.leave(3), lanes.leave(0), lanes.leave(2)), ((1, true), (0, false), (2, false)));
        lanes.enter(false);
        assert_eq!((lanes.leave(4), lanes.count), ((0, false), 3));
    }
}
