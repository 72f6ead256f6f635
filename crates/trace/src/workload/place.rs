//! Where a request goes that does not continue another.

use crate::workload::draw::{FioZipf, RandomStreams, Shuffle, Stream, Zipf, below, chance};
use crate::workload::objects::{Access, ObjectPool, Sessions, Shape};
use crate::workload::spec::{Bound, Pattern, Sizes, SpecError, StreamSpec};
use crate::workload::units::{Ppm, show_size};

/// The address of a request that does not continue another.
#[derive(Clone, Debug)]
pub(super) struct Place {
    kind: PlaceKind,
    /// Bytes of the range.
    len: u64,
    align: u64,
}

#[derive(Clone, Debug)]
enum PlaceKind {
    /// Continue if possible, else from the start of the range.
    Sequential,
    /// The slots of a pass in a random order, each pass in another.
    Shuffled {
        bytes: u64,
        at: u64,
        order: Shuffle,
    },
    Uniform,
    Zipf {
        ranks: Zipf,
        shuffle: Option<Shuffle>,
    },
    FioZipf(FioZipf),
    HotCold {
        hot: u64,
        slots: u64,
        traffic: u32,
        shuffle: Option<Shuffle>,
    },
    Strided {
        stride: u64,
        at: u64,
        lane: u64,
    },
    Zones(Zones),
    Objects(Box<ObjectPool>),
    Sessions(Box<Sessions>),
}

/// Zones that are written from their start to their end, some of them at a time.
#[derive(Clone, Debug)]
struct Zones {
    bytes: u64,
    count: u64,
    /// Number of the zone, and bytes written in it.
    active: Vec<(u64, u64)>,
}

impl Zones {
    /// A zone that is not active, each alike.
    fn draw(&self, rng: &mut Stream) -> u64 {
        let mut taken: Vec<u64> = self.active.iter().map(|(zone, _)| *zone).collect();
        taken.sort_unstable();
        let free = self.count - taken.len() as u64;
        taken.iter().fold(below(rng, free), |zone, taken| zone + u64::from(*taken <= zone))
    }

    fn next(&mut self, rng: &mut Stream, bytes: u64) -> u64 {
        let slot = below(rng, self.active.len() as u64) as usize;
        if self.active[slot].1 == self.bytes {
            // The full zone is still active while its successor is drawn, so it never follows itself.
            self.active[slot] = (self.draw(rng), 0);
        }
        let (zone, written) = &mut self.active[slot];
        let at = *zone * self.bytes + *written;
        *written += bytes;
        at
    }
}

impl Place {
    /// The next request of `bytes`, which has so many aligned positions. Objects and sessions decide its operation and size, too.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Stream, op: usize, bytes: u64, positions: u64) -> Access {
        match &mut self.kind {
            PlaceKind::Objects(objects) => objects.next(rng, op),
            PlaceKind::Sessions(sessions) => sessions.next(rng),
            _ => Access { op, at: self.offset(rng, bytes, positions), bytes },
        }
    }

    /// Its offset in the range.
    #[inline]
    fn offset(&mut self, rng: &mut Stream, bytes: u64, positions: u64) -> u64 {
        let slot = match &mut self.kind {
            PlaceKind::Sequential => 0,
            PlaceKind::Shuffled { bytes, at, order } => {
                let slots = self.len / *bytes;
                if *at == slots {
                    (*at, *order) = (0, Shuffle::new(slots, rng));
                }
                *at += 1;
                return order.apply(*at - 1) * *bytes;
            }
            PlaceKind::Uniform => return below(rng, positions) * self.align,
            PlaceKind::Zipf { ranks, shuffle } => {
                let rank = ranks.draw(rng);
                shuffle.as_ref().map_or(rank, |s| s.apply(rank))
            }
            PlaceKind::FioZipf(ranks) => ranks.draw(rng),
            PlaceKind::HotCold { hot, slots, traffic, shuffle } => {
                let rank = if chance(rng, *traffic) { below(rng, *hot) } else { *hot + below(rng, *slots - *hot) };
                shuffle.as_ref().map_or(rank, |s| s.apply(rank))
            }
            PlaceKind::Strided { stride, at, lane } => {
                if *at > self.len - bytes {
                    *lane += self.align;
                    if *lane >= *stride || *lane > self.len - bytes {
                        *lane = 0;
                    }
                    *at = *lane;
                }
                let here = *at;
                *at = here.saturating_add(*stride);
                return here;
            }
            PlaceKind::Zones(zones) => return zones.next(rng, bytes),
            PlaceKind::Objects(_) | PlaceKind::Sessions(_) => 0,
        };
        // A request that would cross the end of the range is moved to end with it.
        slot.min(positions - 1) * self.align
    }

    /// Fits a pattern to a range of `len` bytes in slots of `align`. Returns the share of requests that continue the one before,
    /// too. `resolve` turns the width of a zone into bytes.
    ///
    /// # Errors
    /// The key that contradicts another, or the range.
    pub(super) fn new(
        spec: &StreamSpec,
        (len, align): (u64, u64),
        rng: &mut Stream,
        resolve: &dyn Fn(Bound) -> u64,
        path: &dyn Fn(&str) -> String,
    ) -> Result<(Place, u32), SpecError> {
        let slots = len / align;
        let sequential = spec.sequential.map_or(0, |p| p.0);
        let mut shuffle = |scrambled: bool| scrambled.then(|| Shuffle::new(slots, rng));
        let refused = |why: &str| {
            SpecError::new(
                path("sequential"),
                why,
                "leave sequential out, or choose the pattern of the jumps between runs",
            )
        };
        let shrunk = |bytes: u64| resolve(Bound::Bytes(bytes));
        let kind = match spec.pattern {
            Pattern::Sequential if spec.sequential.is_some_and(|s| s != Ppm::ONE) => {
                return Err(refused("pattern = \"sequential\" is sequential throughout"));
            }
            Pattern::Shuffled | Pattern::Zones { .. } | Pattern::Objects { .. } | Pattern::Sessions { .. }
                if spec.sequential.is_some() =>
            {
                return Err(refused("this pattern decides which requests continue another"));
            }
            Pattern::Sequential => return Ok((Place { kind: PlaceKind::Sequential, len, align }, 1_000_000)),
            Pattern::Shuffled => {
                let bytes = only_size(spec, path)?;
                PlaceKind::Shuffled { bytes, at: 0, order: Shuffle::new(len / bytes, rng) }
            }
            Pattern::Uniform => PlaceKind::Uniform,
            Pattern::Zipf { theta, scrambled, population } => {
                let ranks = zipf(slots, theta, population, path)?;
                PlaceKind::Zipf { ranks, shuffle: shuffle(scrambled) }
            }
            Pattern::FioZipf { theta } => PlaceKind::FioZipf(fio_zipf(slots, theta, rng, path)?),
            Pattern::HotCold { hot_space, hot_traffic, scrambled } => {
                let hot = hot_slots(slots, hot_space, hot_traffic, path)?;
                PlaceKind::HotCold { hot, slots, traffic: hot_traffic.0, shuffle: shuffle(scrambled) }
            }
            Pattern::Strided { stride } => {
                check_multiple(stride.0, align, "stride", "alignment", &path("pattern.strided.stride"))?;
                PlaceKind::Strided { stride: stride.0, at: 0, lane: 0 }
            }
            Pattern::Zones { active, size } => {
                let (resolved, unit) = (resolve(size), only_size(spec, path)?);
                // What a fraction or a smaller device leaves of a width is cut to whole requests; a width in bytes must fit.
                let bytes = if size == Bound::Bytes(resolved) { resolved } else { resolved / unit * unit };
                check_multiple(bytes, unit, "zone", "size", &path("pattern.zones.size"))?;
                PlaceKind::Zones(zones(active, bytes, len, rng, path)?)
            }
            Pattern::Objects { size, dies, live, trim } => {
                let shape = Shape::of(spec, ("pattern.objects", "size"), (size, live, trim), len, &shrunk, path)?;
                PlaceKind::Objects(Box::new(ObjectPool::new(shape, dies)))
            }
            Pattern::Sessions { chunk, active, chunks, ends, live, trim } => {
                let shape = Shape::of(spec, ("pattern.sessions", "chunk"), (chunk, live, trim), len, &shrunk, path)?;
                PlaceKind::Sessions(Box::new(sessions(shape, (active, chunks, ends), rng, path)?))
            }
        };
        Ok((Place { kind, len, align }, sequential))
    }
}

/// A permutation of all slots of a device, through which the streams of a phase send their addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    order: Shuffle,
    width: u64,
    slots: u64,
}

impl Scatter {
    /// The same for every phase of a workload that scatters slots of this width.
    pub(super) fn new(seed: u64, capacity: u64, width: u64) -> Self {
        // A stream of its own: the draws of workloads without it must not move.
        let mut rng = RandomStreams::new(seed ^ 0x5ca7_7e25_ca77_e25c).take();
        let slots = capacity / width;
        Self { order: Shuffle::new(slots, &mut rng), width, slots }
    }

    #[inline]
    pub(super) fn apply(&self, offset: u64) -> u64 {
        let (slot, rest) = (offset / self.width, offset % self.width);
        // What is left of the device behind the last whole slot stays where it is.
        if slot < self.slots { self.order.apply(slot) * self.width + rest } else { offset }
    }
}

fn check_multiple(bytes: u64, of: u64, what: &str, whose: &str, path: &str) -> Result<(), SpecError> {
    if bytes > 0 && bytes.is_multiple_of(of) {
        return Ok(());
    }
    let message = format!("a {what} of {} is not a multiple of the {whose} {}", show_size(bytes), show_size(of));
    Err(SpecError::new(path, message, ""))
}

/// The one size of all requests of a stream.
fn only_size(spec: &StreamSpec, path: &dyn Fn(&str) -> String) -> Result<u64, SpecError> {
    let own = [&spec.read_size, &spec.write_size, &spec.trim_size];
    match (&spec.size, own.iter().all(|size| size.is_none())) {
        (None, true) => Ok(4096),
        (Some(Sizes::Fixed(bytes)), true) if *bytes > 0 => Ok(*bytes),
        _ => Err(SpecError::new(path("size"), "this pattern needs requests of one size", "give size = \"512KiB\"")),
    }
}

fn zipf(slots: u64, theta: f64, population: Option<f64>, path: &dyn Fn(&str) -> String) -> Result<Zipf, SpecError> {
    if !(0.0..=10.0).contains(&theta) {
        return Err(SpecError::new(
            path("pattern.zipf.theta"),
            format!("{theta} is not between 0 and 10"),
            "0 is uniform, 0.99 a usual skew",
        ));
    }
    if slots >= 1 << 50 {
        return Err(SpecError::new(path("range"), "too many slots", "raise align"));
    }
    if let Some(ranks) = population
        && !(ranks >= slots as f64 && ranks < (1_u64 << 50) as f64 && libm::floor(ranks) == ranks)
    {
        return Err(SpecError::new(
            path("pattern.zipf.population"),
            format!("{ranks} is not a whole number of at least {slots}, the slots of this range"),
            "give the number of slots of the device that this one stands for, or leave it out",
        ));
    }
    Zipf::new(slots, theta, population)
        .ok_or_else(|| SpecError::new(path("pattern.zipf"), "no slot has a chance", "lower theta"))
}

fn fio_zipf(slots: u64, theta: f64, rng: &mut Stream, path: &dyn Fn(&str) -> String) -> Result<FioZipf, SpecError> {
    // What fio accepts.
    if !(theta > 0.0 && theta <= 5.0) || theta == 1.0 {
        return Err(SpecError::new(
            path("pattern.fio-zipf.theta"),
            format!("{theta} is not above 0 and up to 5, or is 1"),
            "fio refuses 1; pattern zipf takes it",
        ));
    }
    if slots < 3 {
        return Err(SpecError::new(path("range"), "fio's zipf needs three slots", "widen range"));
    }
    Ok(FioZipf::new(slots, theta, rng))
}

fn hot_slots(slots: u64, hot_space: Ppm, hot_traffic: Ppm, path: &dyn Fn(&str) -> String) -> Result<u64, SpecError> {
    let hot = u128::from(slots) * u128::from(hot_space.0) / 1_000_000;
    let hot = u64::try_from(hot).unwrap_or(slots);
    if (hot == 0 && hot_traffic.0 > 0) || (hot == slots && hot_traffic != Ppm::ONE) {
        return Err(SpecError::new(
            path("pattern.hot-cold.hot_space"),
            format!("{hot} of {slots} slots are hot, which leaves a class with requests empty"),
            "change hot_space, or widen range",
        ));
    }
    Ok(hot)
}

fn sessions(
    shape: Shape,
    (active, chunks, ends): (u32, u32, Ppm),
    rng: &mut Stream,
    path: &dyn Fn(&str) -> String,
) -> Result<Sessions, SpecError> {
    for (key, number) in [("active", active), ("chunks", chunks)] {
        if number == 0 || number > shape.capacity() {
            return Err(SpecError::new(
                path(&format!("pattern.sessions.{key}")),
                format!("{number} is not between 1 and {}, the chunks that fit", shape.capacity()),
                "widen range, or lower it or chunk",
            ));
        }
    }
    Ok(Sessions::new(shape, (active, chunks, ends.0), rng))
}

fn zones(
    active: u32,
    bytes: u64,
    len: u64,
    rng: &mut Stream,
    path: &dyn Fn(&str) -> String,
) -> Result<Zones, SpecError> {
    let count = len / bytes;
    if active == 0 || u64::from(active) >= count {
        return Err(SpecError::new(
            path("pattern.zones.active"),
            format!("{active} active zones of {count}: at least one is active, and one is not"),
            "widen range, or change active or size",
        ));
    }
    let mut zones = Zones { bytes, count, active: Vec::new() };
    for _ in 0..active {
        let zone = zones.draw(rng);
        zones.active.push((zone, 0));
    }
    Ok(zones)
}
