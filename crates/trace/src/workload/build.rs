//! From a specification to the plans of its phases.

use crate::workload::draw::{Alias, RandomStreams, Stream};
use crate::workload::generator::{Gaps, Generator, Mix, Pace, PhasePlan, PhaseState, Pick, SizeTable, StreamSource};
use crate::workload::place::{Place, Scatter};
use crate::workload::spec::{Arrivals, Bound, ClosedLoop, Pattern, Phase, Sizes, Spec, SpecError, StreamSpec, Weight};
use crate::workload::units::{Ppm, Size, show_size};

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
        let mut streams = RandomStreams::new(seed);
        let mut plans = Vec::with_capacity(self.phases.len());
        let mut total = Some(0_u64);
        for (p, phase) in self.phases.iter().enumerate() {
            let plan = self.plan(p, phase, &device, limit, &mut streams)?;
            total = total.filter(|_| plan.duration_ns == u64::MAX).map(|t| t.saturating_add(plan.requests));
            plans.push(plan);
        }
        let closed = self.closed_loop()?;
        let left = limit.unwrap_or(u64::MAX);
        Generator::start(plans, left, closed, total.map(|t| t.min(left)))
            .ok_or_else(|| SpecError::new("phase", "no phase", "a workload needs at least one [[phase]]"))
    }

    /// Bytes of address space that the workload needs on a device: the end of its furthest absolute range, or what its objects need.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        let streams = self.phases.iter().flat_map(|p| &p.streams);
        streams.filter_map(StreamSpec::room_for_objects).max().unwrap_or(0).max(self.addressed_bytes())
    }

    /// The end of its furthest absolute range.
    fn addressed_bytes(&self) -> u64 {
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
        rngs: &mut RandomStreams,
    ) -> Result<PhasePlan, SpecError> {
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
        Ok(PhasePlan {
            requests: phase.requests.unwrap_or(u64::MAX),
            duration_ns: phase.duration.map_or(u64::MAX, |d| d.0),
            start: PhaseState { clock, streams, end_ns: u64::MAX },
            names: phase.streams.iter().map(|stream| stream.name.clone()).collect(),
        })
    }

    fn clock(&self, p: usize, phase: &Phase, rngs: &mut RandomStreams) -> Result<Pace, SpecError> {
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
            return Ok(Pace::Common { gaps, shares: (weights.len() > 1).then_some((alias, rng)) });
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
        Ok(Pace::Each { next_ns })
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
        if needed > capacity && !spec.scale && spec.addressed_bytes() <= capacity {
            return Err(SpecError::new(
                "pattern",
                format!(
                    "a range holds two objects on a device that exports {needed} bytes, this one exports {capacity}"
                ),
                "choose a larger device, or set scale = true to shrink objects in proportion",
            ));
        }
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
    rngs: &mut RandomStreams,
    path: &dyn Fn(&str) -> String,
) -> Result<StreamSource, SpecError> {
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
    if scatter.is_some() && matches!(spec.pattern, Pattern::Objects { .. } | Pattern::Sessions { .. }) {
        let help = "leave scatter out: what a device does with pages of an object does not depend on their addresses";
        return Err(SpecError::new(path("pattern"), "objects are wider than the slots of scatter", help));
    }
    let scatter = scatter.map(|width| scattered(width.0, align, &tables, device, path)).transpose()?;
    let Ok(sizes) = <[SizeTable; 3]>::try_from(tables) else {
        return Err(SpecError::new(path("size"), "three operations have three sizes", ""));
    };
    let ragged = sizes.iter().any(|table| table.entries.iter().any(|(bytes, _)| bytes % align != 0));
    Ok(StreamSource {
        mix,
        sizes,
        from,
        len,
        align,
        ragged,
        sequential,
        tail: u64::MAX,
        place,
        scatter,
        place_rng,
        run_rng,
    })
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
    if matches!(spec.pattern, Pattern::Sessions { .. }) {
        let keys = [("read", spec.read), ("write", spec.write), ("trim", spec.trim)];
        let key = keys.iter().find(|(_, part)| part.is_some());
        return key.map_or(Ok(Mix { read: 500_000, write: 500_000, rng }), |(key, _)| {
            let help = "leave read, write and trim out";
            Err(SpecError::new(path(key), "sessions decide what is read and what is written", help))
        });
    }
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
