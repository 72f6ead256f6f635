//! The state of a workload, and its records.

use std::sync::Arc;

use crate::record::{Op, Record};
use crate::workload::draw::{Alias, Stream, below, chance, exponential};
use crate::workload::objects::Access;
use crate::workload::place::{Place, Scatter};
use crate::workload::spec::{Arrivals, ClosedLoop, idle_mean};

/// A source of records that is a value: a clone continues exactly where the original stood.
///
/// Arrivals never go back. Nothing is allocated but where a phase begins.
#[derive(Clone, Debug)]
pub struct Generator {
    phases: Arc<[PhasePlan]>,
    state: PhaseState,
    phase: usize,
    /// Requests left over all phases.
    left: u64,
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
pub(super) struct PhasePlan {
    pub(super) requests: u64,
    pub(super) duration_ns: u64,
    pub(super) start: PhaseState,
    pub(super) names: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct PhaseState {
    pub(super) clock: Pace,
    pub(super) streams: Vec<StreamSource>,
    /// Arrivals from this time on are beyond the phase.
    pub(super) end_ns: u64,
}

/// The arrival process and the choice of the stream.
#[derive(Clone, Debug)]
pub(super) enum Pace {
    /// One process; the stream is drawn by share.
    Common { gaps: Gaps, shares: Option<(Alias, Stream)> },
    /// One process per stream; the earliest arrival is next, ties go to the first stream.
    Each { next_ns: Vec<(u64, Gaps)> },
}

#[derive(Clone, Debug)]
pub(super) struct Gaps {
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
    pub(super) fn new(arrivals: &Arrivals, rng: Stream) -> Self {
        let kind = match *arrivals {
            Arrivals::Closed(_) => GapKind::Closed,
            Arrivals::Fixed { gap_ns } => GapKind::Fixed { gap_ns, count: 0, last_ns: 0 },
            Arrivals::Poisson { gap_ns } => GapKind::Poisson { gap_ns },
            Arrivals::Bursts { share, within_ns, gap_ns } => GapKind::Bursts {
                share: share.0,
                within_ns,
                idle_ns: idle_mean(share, within_ns, gap_ns) - within_ns as f64,
            },
        };
        Self { kind, rng }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match &mut self.kind {
            GapKind::Closed => 0,
            GapKind::Fixed { gap_ns, count, last_ns } => {
                *count += 1;
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
    // `as` saturates, and x is never negative.
    (x + 0.5) as u64
}

#[derive(Clone, Debug)]
pub(super) struct StreamSource {
    pub(super) mix: Mix,
    pub(super) sizes: [SizeTable; 3],
    /// Range in bytes.
    pub(super) from: u64,
    pub(super) len: u64,
    pub(super) align: u64,
    /// Some sizes are no multiples of the alignment.
    pub(super) ragged: bool,
    pub(super) sequential: u32,
    /// End of the last request, relative to the range; `u64::MAX`: none yet.
    pub(super) tail: u64,
    pub(super) place: Place,
    /// Where the addresses of the phase are sent.
    pub(super) scatter: Option<Scatter>,
    pub(super) place_rng: Stream,
    pub(super) run_rng: Stream,
}

/// Operation by threshold in millionths: below the first read, below the second write, else trim.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    pub(super) read: u32,
    pub(super) write: u32,
    pub(super) rng: Stream,
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
pub(super) struct SizeTable {
    /// Bytes and number of aligned positions in the range.
    pub(super) entries: Arc<[(u64, u64)]>,
    pub(super) pick: Pick,
    pub(super) rng: Stream,
}

#[derive(Clone, Debug)]
pub(super) enum Pick {
    Only,
    Alike,
    Weighted(Alias),
}

impl SizeTable {
    #[inline]
    fn draw(&mut self) -> (u64, u64) {
        let i = match &self.pick {
            Pick::Only => 0,
            Pick::Alike => below(&mut self.rng, self.entries.len() as u64) as usize,
            Pick::Weighted(alias) => alias.draw(&mut self.rng),
        };
        self.entries[i]
    }
}

impl StreamSource {
    #[inline]
    fn next(&mut self) -> (Op, u64, u64) {
        let op = self.mix.draw();
        let (bytes, positions) = self.sizes[op].draw();
        let continues = chance(&mut self.run_rng, self.sequential);
        let last = self.len - bytes;
        let Access { op, at, bytes } = if continues && self.tail <= last {
            Access { op, at: self.tail, bytes }
        } else {
            self.place.next(&mut self.place_rng, op, bytes, positions)
        };
        self.tail = if self.ragged { (at + bytes).next_multiple_of(self.align) } else { at + bytes };
        let offset = self.from + at;
        (OPS[op], self.scatter.as_ref().map_or(offset, |scatter| scatter.apply(offset)), bytes)
    }
}

impl Generator {
    /// At the start of the first of at least one plan, with at most `left` records in all.
    pub(super) fn start(
        plans: Vec<PhasePlan>,
        left: u64,
        closed: Option<ClosedLoop>,
        total: Option<u64>,
    ) -> Option<Self> {
        let state = plans.first()?.start.clone();
        let mut generator = Self {
            phases: plans.into(),
            state,
            phase: 0,
            left,
            phase_left: 0,
            now_ns: 0,
            origin_ns: 0,
            closed,
            total,
            stream: 0,
        };
        generator.enter(0);
        generator.start_at_zero();
        Some(generator)
    }

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
        if let Pace::Each { next_ns } = &mut self.state.clock {
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

impl PhaseState {
    /// Arrival and stream of the next request after `now_ns`.
    #[inline]
    fn advance(&mut self, now_ns: u64) -> (u64, usize) {
        match &mut self.clock {
            Pace::Common { gaps, shares } => {
                let at = now_ns.saturating_add(gaps.next());
                let stream = shares.as_mut().map_or(0, |(alias, rng)| alias.draw(rng));
                (at, stream)
            }
            Pace::Each { next_ns } => {
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
