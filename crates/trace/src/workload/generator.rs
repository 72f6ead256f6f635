//! From a specification to records.

use std::sync::Arc;

use crate::record::{Op, Record};
use crate::workload::draw::{Alias, Stream, Streams, below, chance, exponential};
use crate::workload::place::{Place, Scatter};
use crate::workload::spec::{
    Arrivals, Bound, ClosedLoop, Phase, Sizes, Spec, SpecError, StreamSpec, Weight, idle_mean,
};
use crate::workload::units::{Ppm, Size, show_size};

/// A source of records that is a value: a clone continues exactly where the original stood.
///
/// Arrivals never go back. Nothing is allocated but where a phase begins.
#[derive(Clone, Debug)]
pub struct Generator {
    phases: Arc<[Plan]>,
    /// State of the current phase.
    state: State,
    phase: usize,
    /// Requests left over all phases.
    left: u64,
    /// Requests left in the current phase.
    phase_left: u64,
    now_ns: u64,
    /// Time of the first arrival on the internal clock; records count from it.
    origin_ns: u64,
    closed: Option<ClosedLoop>,
    total: Option<u64>,
    /// The stream of the last record, in its phase.
    stream: usize,
}

/// A phase as built: what does not change, and the state it starts from.
#[derive(Debug)]
struct Plan {
    requests: u64,
    duration_ns: u64,
    start: State,
    /// Names of its streams.
    names: Vec<String>,
}

#[derive(Clone, Debug)]
struct State {
    clock: Clock,
    streams: Vec<Source>,
    /// Arrivals from this time on are beyond the phase.
    end_ns: u64,
}

/// The arrival process and the choice of the stream.
#[derive(Clone, Debug)]
enum Clock {
    /// One process; the stream is drawn by share.
    Common { gaps: Gaps, shares: Option<(Alias, Stream)> },
    /// One process per stream; the earliest arrival is next, ties go to the first stream.
    Each { next_ns: Vec<(u64, Gaps)> },
}

#[derive(Clone, Debug)]
struct Gaps {
    kind: GapKind,
    rng: Stream,
}

#[derive(Clone, Copy, Debug)]
enum GapKind {
    Closed,
    /// Gaps that add up to multiples of the mean, whatever its fraction.
    Fixed {
        gap_ns: f64,
        count: u64,
        last_ns: u64,
    },
    Poisson {
        gap_ns: f64,
    },
    Bursts {
        share: u32,
        within_ns: u64,
        idle_ns: f64,
    },
}

impl Gaps {
    fn new(arrivals: &Arrivals, rng: Stream) -> Self {
        let kind = match *arrivals {
            Arrivals::Closed(_) => GapKind::Closed,
            Arrivals::Fixed { gap_ns } => GapKind::Fixed { gap_ns, count: 0, last_ns: 0 },
            Arrivals::Poisson { gap_ns } => GapKind::Poisson { gap_ns },
            Arrivals::Bursts { share, within_ns, gap_ns } => GapKind::Bursts {
                share: share.0,
                within_ns,
                #[allow(clippy::cast_precision_loss)]
                idle_ns: idle_mean(share, within_ns, gap_ns) - within_ns as f64,
            },
        };
        Self { kind, rng }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        match &mut self.kind {
            GapKind::Closed => 0,
            GapKind::Fixed { gap_ns, count, last_ns } => {
                *count += 1;
                #[allow(clippy::cast_precision_loss)]
                let at = round(*count as f64 * *gap_ns);
                let gap = at - *last_ns;
                *last_ns = at;
                gap
            }
            GapKind::Poisson { gap_ns } => round(exponential(&mut self.rng) * *gap_ns),
            GapKind::Bursts { share, within_ns, idle_ns } => {
                if chance(&mut self.rng, *share) {
                    below(&mut self.rng, *within_ns + 1)
                } else {
                    (*within_ns + 1).saturating_add(round(exponential(&mut self.rng) * *idle_ns))
                }
            }
        }
    }
}

/// To the nearest integer, half up; saturating.
#[inline]
fn round(x: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // `as` saturates, and x is never negative.
    let whole = (x + 0.5) as u64;
    whole
}

#[derive(Clone, Debug)]
struct Source {
    mix: Mix,
    sizes: [SizeTable; 3],
    /// Range in bytes.
    from: u64,
    len: u64,
    align: u64,
    /// Some sizes are no multiples of the alignment.
    ragged: bool,
    sequential: u32,
    /// End of the last request, relative to the range; `u64::MAX`: none yet.
    tail: u64,
    place: Place,
    /// Where the addresses of the phase are sent.
    scatter: Option<Scatter>,
    place_rng: Stream,
    run_rng: Stream,
}

/// Operation by threshold in millionths: below the first read, below the second write, else trim.
#[derive(Clone, Debug)]
struct Mix {
    read: u32,
    write: u32,
    rng: Stream,
}

impl Mix {
    #[inline]
    fn draw(&mut self) -> usize {
        match (self.read, self.write) {
            (1_000_000, _) => 0,
            (0, 1_000_000) => 1,
            (0, 0) => 2,
            (read, write) => {
                let x = below(&mut self.rng, 1_000_000);
                usize::from(x >= u64::from(read)) + usize::from(x >= u64::from(read) + u64::from(write))
            }
        }
    }
}

const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

#[derive(Clone, Debug)]
struct SizeTable {
    /// Bytes and number of aligned positions in the range.
    entries: Arc<[(u64, u64)]>,
    pick: Pick,
    rng: Stream,
}

#[derive(Clone, Debug)]
enum Pick {
    Only,
    Alike,
    Weighted(Alias),
}

impl SizeTable {
    #[inline]
    fn draw(&mut self) -> (u64, u64) {
        let i = match &self.pick {
            Pick::Only => 0,
            Pick::Alike => {
                #[allow(clippy::cast_possible_truncation)] // At most 65,536 entries.
                let i = below(&mut self.rng, self.entries.len() as u64) as usize;
                i
            }
            Pick::Weighted(alias) => alias.draw(&mut self.rng),
        };
        self.entries[i]
    }
}

impl Source {
    #[inline]
    fn next(&mut self) -> (Op, u64, u64) {
        let op = self.mix.draw();
        let (bytes, positions) = self.sizes[op].draw();
        let continues = chance(&mut self.run_rng, self.sequential);
        let last = self.len - bytes;
        let at = if continues && self.tail <= last {
            self.tail
        } else {
            self.place.next(&mut self.place_rng, bytes, positions)
        };
        self.tail = if self.ragged { (at + bytes).next_multiple_of(self.align) } else { at + bytes };
        let offset = self.from + at;
        (OPS[op], self.scatter.as_ref().map_or(offset, |scatter| scatter.apply(offset)), bytes)
    }
}

impl Generator {
    /// The loop, if this is a closed one: all arrivals are 0, and a new request is sent when one completes.
    #[must_use]
    pub fn closed(&self) -> Option<ClosedLoop> {
        self.closed
    }

    /// Number of records in all, where it is known beforehand (a phase with a `duration` has no fixed number).
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The name of the stream of the last record; empty if it has none.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.phases[self.phase].names[self.stream]
    }

    /// Makes the first arrival the origin of time, as in a trace.
    fn start_at_zero(&mut self) {
        let (first_ns, _) = self.state.clone().advance(0);
        self.origin_ns = first_ns;
        self.state.end_ns = self.state.end_ns.saturating_add(first_ns);
    }

    fn enter(&mut self, phase: usize) -> bool {
        let Some(plan) = self.phases.get(phase) else {
            return false;
        };
        self.phase = phase;
        self.phase_left = plan.requests;
        self.state = plan.start.clone();
        self.state.end_ns = self.now_ns.saturating_add(plan.duration_ns);
        if let Clock::Each { next_ns } = &mut self.state.clock {
            for (at, _) in next_ns {
                *at = at.saturating_add(self.now_ns);
            }
        }
        true
    }
}

impl Iterator for Generator {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        loop {
            if self.left == 0 {
                return None;
            }
            if self.phase_left > 0 {
                let (at, stream) = self.state.advance(self.now_ns);
                if at < self.state.end_ns {
                    self.now_ns = at;
                    self.phase_left -= 1;
                    self.left -= 1;
                    self.stream = stream;
                    let (op, offset, bytes) = self.state.streams[stream].next();
                    return Some(Record {
                        time_ns: at - self.origin_ns,
                        offset,
                        bytes,
                        volume: 0,
                        op,
                        fua: false,
                        stream: 0,
                    });
                }
                self.now_ns = self.state.end_ns;
            }
            if !self.enter(self.phase + 1) {
                self.left = 0;
            }
        }
    }
}

impl State {
    /// Arrival and stream of the next request after `now_ns`.
    #[inline]
    fn advance(&mut self, now_ns: u64) -> (u64, usize) {
        match &mut self.clock {
            Clock::Common { gaps, shares } => {
                let at = now_ns.saturating_add(gaps.next());
                let stream = shares.as_mut().map_or(0, |(alias, rng)| alias.draw(rng));
                (at, stream)
            }
            Clock::Each { next_ns } => {
                let mut stream = 0;
                for (i, (at, _)) in next_ns.iter().enumerate() {
                    if *at < next_ns[stream].0 {
                        stream = i;
                    }
                }
                let (at, gaps) = &mut next_ns[stream];
                let now = *at;
                *at = now.saturating_add(gaps.next());
                (now, stream)
            }
        }
    }
}

/// The most sizes one distribution may have: a table of them is built.
const SIZES_MAX: u64 = 65_536;

impl Spec {
    /// Builds the generator for a device that exports `capacity_bytes` in pages of `page_bytes`.
    ///
    /// `limit` cuts the number of requests. The same specification, capacity, page size and seed give the same
    /// records on every machine.
    ///
    /// # Errors
    /// Where the workload contradicts itself, or its address ranges exceed the device and `scale` is not set.
    pub fn build(
        &self,
        capacity_bytes: u64,
        page_bytes: u64,
        seed: u64,
        limit: Option<u64>,
    ) -> Result<Generator, SpecError> {
        let device = Device::new(self, capacity_bytes, page_bytes, seed)?;
        let mut streams = Streams::new(seed);
        let mut plans = Vec::with_capacity(self.phases.len());
        let mut total = Some(0_u64);
        for (p, phase) in self.phases.iter().enumerate() {
            let plan = self.plan(p, phase, &device, limit, &mut streams)?;
            total = total.filter(|_| plan.duration_ns == u64::MAX).map(|t| t.saturating_add(plan.requests));
            plans.push(plan);
        }
        let closed = self.closed_loop()?;
        let left = limit.unwrap_or(u64::MAX);
        let Some(first) = plans.first() else {
            return Err(SpecError::new("phase", "no phase", "a workload needs at least one [[phase]]"));
        };
        let state = first.start.clone();
        let mut generator = Generator {
            phases: plans.into(),
            state,
            phase: 0,
            left,
            phase_left: 0,
            now_ns: 0,
            origin_ns: 0,
            closed,
            total: total.map(|t| t.min(left)),
            stream: 0,
        };
        generator.enter(0);
        generator.start_at_zero();
        Ok(generator)
    }

    /// Bytes of address space that the workload needs on a device: the end of its furthest absolute range.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        let ranges = self.phases.iter().flat_map(|p| &p.streams).map(|s| s.range);
        ranges
            .flat_map(|r| [r.from, r.to])
            .map(|bound| match bound {
                Bound::Bytes(bytes) => bytes,
                Bound::Fraction(_) => 0,
            })
            .max()
            .unwrap_or(0)
    }

    /// Closed in every phase with the same depth and pauses, or in none.
    fn closed_loop(&self) -> Result<Option<ClosedLoop>, SpecError> {
        let mut first: Option<Option<ClosedLoop>> = None;
        for (p, phase) in self.phases.iter().enumerate() {
            let this = match phase.arrivals {
                Some(Arrivals::Closed(closed)) => Some(closed),
                _ => None,
            };
            if this.is_some() && phase.duration.is_some() {
                return Err(SpecError::new(
                    self.path(p, None, "duration"),
                    "a closed loop has no clock of its own to end a phase by",
                    "use requests = ...",
                ));
            }
            if *first.get_or_insert(this) != this {
                return Err(SpecError::new(
                    self.path(p, None, "arrivals"),
                    "this phase and the first differ in being a closed loop, or in its depth or pauses",
                    "make all phases closed with one depth and the same pauses, or none",
                ));
            }
        }
        Ok(first.flatten())
    }

    fn plan(
        &self,
        p: usize,
        phase: &Phase,
        device: &Device,
        limit: Option<u64>,
        rngs: &mut Streams,
    ) -> Result<Plan, SpecError> {
        let last = p + 1 == self.phases.len();
        if phase.requests.is_none() && phase.duration.is_none() && !(last && limit.is_some()) {
            return Err(SpecError::new(
                self.path(p, None, "requests"),
                "nothing ends this phase",
                "give requests = ... or duration = \"...\"; the last phase may also be ended by a limit",
            ));
        }
        for (key, nothing) in
            [("requests", phase.requests == Some(0)), ("duration", phase.duration.is_some_and(|d| d.0 == 0))]
        {
            if nothing {
                let path = self.path(p, None, key);
                return Err(SpecError::new(path, "an empty phase", "leave the phase out"));
            }
        }
        if phase.streams.is_empty() {
            return Err(SpecError::new(self.path(p, None, "stream"), "no stream", "add a [[phase.stream]]"));
        }
        let clock = self.clock(p, phase, rngs)?;
        let streams = phase
            .streams
            .iter()
            .enumerate()
            .map(|(s, stream)| {
                let path = |key: &str| self.path(p, Some(s), key);
                source(stream, phase.scatter, device, rngs, &path)
            })
            .collect::<Result<_, _>>()?;
        Ok(Plan {
            requests: phase.requests.unwrap_or(u64::MAX),
            duration_ns: phase.duration.map_or(u64::MAX, |d| d.0),
            start: State { clock, streams, end_ns: u64::MAX },
            names: phase.streams.iter().map(|stream| stream.name.clone()).collect(),
        })
    }

    fn clock(&self, p: usize, phase: &Phase, rngs: &mut Streams) -> Result<Clock, SpecError> {
        if let Some(arrivals) = &phase.arrivals {
            if let Some(s) = phase.streams.iter().position(|s| s.arrivals.is_some()) {
                return Err(SpecError::new(
                    self.path(p, Some(s), "arrivals"),
                    "both the phase and this stream have arrivals",
                    "keep the phase's and divide them by share = ..., or give every stream its own",
                ));
            }
            let gaps = Gaps::new(arrivals, rngs.take());
            let rng = rngs.take();
            let weights: Vec<u64> = phase.streams.iter().map(|s| s.share.map_or(1_000_000, |Weight(w)| w)).collect();
            let alias = Alias::new(&weights).ok_or_else(|| {
                SpecError::new(
                    self.path(p, Some(0), "share"),
                    "the shares of all streams are 0",
                    "give at least one stream a share above 0",
                )
            })?;
            return Ok(Clock::Common { gaps, shares: (weights.len() > 1).then_some((alias, rng)) });
        }
        let mut next_ns = Vec::with_capacity(phase.streams.len());
        for (s, stream) in phase.streams.iter().enumerate() {
            let path = self.path(p, Some(s), "arrivals");
            match &stream.arrivals {
                None => {
                    return Err(SpecError::new(
                        self.path(p, None, "arrivals"),
                        "no arrivals",
                        "give the phase arrivals = \"closed\" or, for example, { poisson = { rate = 5000 } }",
                    ));
                }
                Some(Arrivals::Closed(_)) => {
                    return Err(SpecError::new(
                        path,
                        "one stream alone cannot be a closed loop",
                        "write arrivals in the phase, and divide them by share = ...",
                    ));
                }
                Some(_) if stream.share.is_some() => {
                    return Err(SpecError::new(
                        self.path(p, Some(s), "share"),
                        "a stream with arrivals of its own has no share",
                        "drop one of the two",
                    ));
                }
                Some(arrivals) => {
                    let mut gaps = Gaps::new(arrivals, rngs.take());
                    next_ns.push((gaps.next(), gaps));
                }
            }
        }
        Ok(Clock::Each { next_ns })
    }
}

/// The device, and the factor by which absolute ranges shrink to fit it.
struct Device {
    capacity: u64,
    page: u64,
    /// Absolute bytes are multiplied by capacity / needed if they need more than there is.
    needed: u64,
    seed: u64,
}

impl Device {
    fn new(spec: &Spec, capacity: u64, page: u64, seed: u64) -> Result<Self, SpecError> {
        if page == 0 || capacity < page {
            return Err(SpecError::new(
                "",
                format!("a device of {capacity} bytes in pages of {page} holds nothing"),
                "",
            ));
        }
        let needed = spec.needed_bytes();
        if needed > capacity && !spec.scale {
            let model = if spec.model { "this model" } else { "this workload" };
            return Err(SpecError::new(
                "range",
                format!(
                    "{model} addresses {} ({needed} bytes), the device exports {} ({capacity} bytes)",
                    show_size(needed),
                    show_size(capacity)
                ),
                format!(
                    "use a device that exports at least {needed} bytes ({:.2} times as many blocks a plane), \
                     or set scale = true to shrink every range in proportion",
                    needed as f64 / capacity as f64
                ),
            ));
        }
        Ok(Self { capacity, page, needed, seed })
    }

    fn resolve(&self, bound: Bound) -> u64 {
        let scaled = |part: u64, whole: u64, of: u64| {
            let wide = u128::from(part) * u128::from(of) / u128::from(whole);
            u64::try_from(wide).unwrap_or(u64::MAX)
        };
        match bound {
            Bound::Bytes(bytes) if self.needed > self.capacity => {
                scaled(bytes, self.needed, self.capacity) / self.page * self.page
            }
            Bound::Bytes(bytes) => bytes,
            Bound::Fraction(Ppm(ppm)) => scaled(u64::from(ppm), 1_000_000, self.capacity / self.page) * self.page,
        }
    }
}

fn source(
    spec: &StreamSpec,
    scatter: Option<Size>,
    device: &Device,
    rngs: &mut Streams,
    path: &dyn Fn(&str) -> String,
) -> Result<Source, SpecError> {
    let mix = mix(spec, rngs.take(), path)?;
    let default = Sizes::Fixed(4096);
    let of = |own: &Option<Sizes>| own.clone().or_else(|| spec.size.clone()).unwrap_or(default.clone());
    let keys = ["read_size", "write_size", "trim_size"];
    let used = [mix.read > 0, mix.write > 0, mix.read + mix.write < 1_000_000];
    let sizes = [of(&spec.read_size), of(&spec.write_size), of(&spec.trim_size)];
    let align = align(spec, &sizes, &used, path)?;

    let (from, to) = (device.resolve(spec.range.from), device.resolve(spec.range.to));
    let to = to.min(device.capacity);
    // A range that scaling or a fraction left unaligned shrinks to whole slots.
    let from = from.div_ceil(align).saturating_mul(align);
    let len = to.saturating_sub(from) / align * align;
    let empty =
        |what: String| SpecError::new(path("range"), what, format!("this device exports {} bytes", device.capacity));
    if len == 0 {
        return Err(empty(format!("the range from byte {from} to {to} holds no slot of {}", show_size(align))));
    }
    let mut tables = Vec::with_capacity(3);
    for ((sizes, key), used) in sizes.iter().zip(keys).zip(used) {
        let key = if spec.size.is_some() { "size" } else { key };
        let rng = rngs.take();
        tables.push(if used {
            size_table(sizes, align, len, rng, &path(key))?
        } else {
            // Never drawn.
            SizeTable { entries: vec![(align, len / align)].into(), pick: Pick::Only, rng }
        });
    }
    let place_rng = rngs.take();
    let run_rng = rngs.take();
    let mut shuffle_rng = rngs.take();
    let resolve = |bound| device.resolve(bound);
    let (place, sequential) = Place::new(spec, (len, align), &mut shuffle_rng, &resolve, path)?;
    let scatter = scatter.map(|width| scattered(width.0, align, &tables, device, path)).transpose()?;
    let Ok(sizes) = <[SizeTable; 3]>::try_from(tables) else {
        return Err(SpecError::new(path("size"), "three operations have three sizes", ""));
    };
    let ragged = sizes.iter().any(|table| table.entries.iter().any(|(bytes, _)| bytes % align != 0));
    Ok(Source { mix, sizes, from, len, align, ragged, sequential, tail: u64::MAX, place, scatter, place_rng, run_rng })
}

/// The permutation of the device's slots of this width. Every request must lie within one slot.
fn scattered(
    width: u64,
    align: u64,
    sizes: &[SizeTable],
    device: &Device,
    path: &dyn Fn(&str) -> String,
) -> Result<Scatter, SpecError> {
    let larger = sizes.iter().flat_map(|table| table.entries.iter()).any(|(bytes, _)| *bytes > width);
    if width == 0 || larger || !align.is_multiple_of(width) {
        return Err(SpecError::new(
            path("align"),
            format!("a request may cross a slot of {}, which scatter moves as a whole", show_size(width)),
            "give the streams sizes up to the width of scatter, and an align that is a multiple of it",
        ));
    }
    Ok(Scatter::new(device.seed, device.capacity, width))
}

fn mix(spec: &StreamSpec, rng: Stream, path: &dyn Fn(&str) -> String) -> Result<Mix, SpecError> {
    let trim = spec.trim.map_or(0, |p| p.0);
    let rest = 1_000_000 - trim;
    let (read, write) = match (spec.read, spec.write) {
        (Some(r), Some(w)) => (r.0, w.0),
        (Some(r), None) => (r.0, rest.saturating_sub(r.0)),
        (None, Some(w)) => (rest.saturating_sub(w.0), w.0),
        (None, None) if trim == 1_000_000 => (0, 0),
        (None, None) => {
            return Err(SpecError::new(
                path("write"),
                "no mix of operations",
                "give write = ... or read = ... as a fraction; the other is the rest",
            ));
        }
    };
    if read + write + trim != 1_000_000 {
        let key = if spec.write.is_some() { "write" } else { "read" };
        return Err(SpecError::new(
            path(key),
            format!(
                "read {} + write {} + trim {} is {}, not 1",
                Ppm(read),
                Ppm(write),
                Ppm(trim),
                Ppm(read + write + trim)
            ),
            "leave read or write out to make it the rest",
        ));
    }
    Ok(Mix { read, write, rng })
}

/// Slot width of a stream: given, or the largest power of two up to 4 KiB that divides all sizes used.
fn align(
    spec: &StreamSpec,
    sizes: &[Sizes; 3],
    used: &[bool; 3],
    path: &dyn Fn(&str) -> String,
) -> Result<u64, SpecError> {
    let mut listed = sizes.iter().zip(used).filter(|(_, used)| **used).flat_map(|(sizes, _)| match sizes {
        Sizes::Fixed(bytes) => vec![*bytes],
        Sizes::Weighted(list) => list.iter().map(|(bytes, _)| *bytes).collect(),
        Sizes::Between { min, max } => vec![*min, *max],
    });
    match spec.align {
        None => {
            let zeros = listed.map(u64::trailing_zeros).min().unwrap_or(12).min(12);
            if zeros < 9 {
                return Err(SpecError::new(
                    path("size"),
                    "a size is not a multiple of 512 bytes",
                    "devices address sectors of 512 bytes",
                ));
            }
            Ok(1 << zeros)
        }
        Some(align) if align.0 == 0 || align.0 % 512 != 0 => Err(SpecError::new(
            path("align"),
            format!("an alignment of {} is not a multiple of 512 bytes", show_size(align.0)),
            "devices address sectors of 512 bytes",
        )),
        Some(align) => {
            // Sizes from a range are multiples of the alignment; others need whole sectors only.
            let between = sizes.iter().zip(used).any(|(sizes, used)| *used && matches!(sizes, Sizes::Between { .. }));
            let unit = if between { align.0 } else { 512 };
            match listed.find(|bytes| bytes % unit != 0) {
                None => Ok(align.0),
                Some(bytes) if between => Err(SpecError::new(
                    path("align"),
                    format!("a size of {} is not a multiple of the alignment", show_size(bytes)),
                    "lower align, or leave it out: it is then derived from the sizes",
                )),
                Some(bytes) => Err(SpecError::new(
                    path("size"),
                    format!("a size of {} is not a multiple of 512 bytes", show_size(bytes)),
                    "devices address sectors of 512 bytes",
                )),
            }
        }
    }
}

fn size_table(sizes: &Sizes, align: u64, len: u64, rng: Stream, path: &str) -> Result<SizeTable, SpecError> {
    let error = |message: String, help: &str| Err(SpecError::new(path, message, help));
    let (list, pick): (Vec<u64>, Pick) = match sizes {
        Sizes::Fixed(bytes) => (vec![*bytes], Pick::Only),
        Sizes::Weighted(list) => {
            let weights: Vec<u64> = list.iter().map(|(_, w)| w.0).collect();
            let Some(alias) = Alias::new(&weights) else {
                return error("no size has a weight above 0".to_owned(), "write [[\"4KiB\", 1], ...]");
            };
            (list.iter().map(|(bytes, _)| *bytes).collect(), Pick::Weighted(alias))
        }
        Sizes::Between { min, max } => {
            if min > max {
                return error(format!("min {} is above max {}", show_size(*min), show_size(*max)), "");
            }
            if (max - min) / align >= SIZES_MAX {
                return error(format!("more than {SIZES_MAX} different sizes"), "raise align, or narrow min and max");
            }
            let count = (max - min) / align + 1;
            ((0..count).map(|i| min + i * align).collect(), Pick::Alike)
        }
    };
    if list.len() as u64 > SIZES_MAX {
        return error(format!("more than {SIZES_MAX} different sizes"), "");
    }
    if list.contains(&0) {
        return error("a size of 0 moves nothing".to_owned(), "");
    }
    if let Some(&bytes) = list.iter().find(|&&bytes| bytes > len) {
        return error(
            format!("a request of {} does not fit the range of {}", show_size(bytes), show_size(len)),
            "widen range, or lower the size",
        );
    }
    Ok(SizeTable { entries: list.iter().map(|&bytes| (bytes, (len - bytes) / align + 1)).collect(), pick, rng })
}
