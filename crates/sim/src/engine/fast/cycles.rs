//! Cycles of turns: the times of their steps, and when legs end.

use crate::engine::fast::passages::Pace;
use crate::units::{Nanos, UnitId};

/// Steps of a cycle.
pub(super) const STEPS: usize = 4;

/// Legs of a cycle that end with an event where there is no chain: both of a read, and the array's of a program.
const LEGS: usize = 6;

/// Slots of [`Ends`].
const SLOTS: usize = 1 << 12;

/// A step of a cycle, with its times within the cycle.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Index of its collection.
    pub(super) who: usize,
    pub(super) reads: bool,
    pub(super) start: Nanos,
    /// When it requests the channel.
    pub(super) requests: Nanos,
    pub(super) end: Nanos,
}

impl Turn {
    pub(super) fn time(&self) -> Nanos {
        self.end - self.start
    }
}

/// A cycle of one or two collections.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) turns: [Turn; STEPS],
    /// When its legs end, first those whose end concerns the channel: a transfer ends, or is requested.
    pub(super) ends: [Nanos; LEGS],
    /// Number of those.
    pub(super) on_channel: usize,
}

impl Times {
    /// All cycles, by [`Times::kind`].
    pub(super) fn all(pace: &Pace) -> [Times; 8] {
        std::array::from_fn(|kind| Times::new(pace, kind / 4 + 1, [kind & 2 > 0, kind & 1 > 0]))
    }

    /// The cycle of `count` collections, of which these begin with a read.
    pub(super) fn kind(count: usize, reads: [bool; 2]) -> usize {
        (count - 1) * 4 + usize::from(reads[0]) * 2 + usize::from(reads[1])
    }

    fn new(pace: &Pace, count: usize, mut reads: [bool; 2]) -> Times {
        let (mut start, mut ends, mut others) = (Nanos::ZERO, Vec::with_capacity(LEGS), Vec::with_capacity(STEPS));
        let turns = std::array::from_fn(|step| {
            let who = step % count;
            let requests = start + if reads[who] { pace.read } else { Nanos::ZERO };
            let end = requests + pace.transfer + if reads[who] { Nanos::ZERO } else { pace.program };
            let turn = Turn { who, reads: reads[who], start, requests, end };
            ends.extend(reads[who].then_some(requests));
            reads[who] = !reads[who];
            // A program, before a read: nothing happens on the channel.
            let inside = !turn.reads && reads[(step + 1) % count];
            if inside { &mut others } else { &mut ends }.push(end);
            start = end;
            turn
        });
        let on_channel = ends.len();
        ends.append(&mut others);
        Times { turns, ends: ends.try_into().expect("law: every second step of a collection is a read"), on_channel }
    }
}

/// When legs of chains end, modulo the length of a cycle.
#[derive(Clone)]
pub(super) struct Ends {
    /// By unit, and how many of them concern the channel: the first ones.
    pub(super) of_unit: Vec<([u64; LEGS], usize)>,
    /// By a hash of the time: how many there are, and their units, combined by exclusive or.
    slots: Vec<(u32, u32)>,
    /// A bit for each slot with any. It stays in the cache.
    used: [u64; SLOTS / 64],
    /// Start of the last cycle of which a time was needed.
    cycle: u64,
}

impl Ends {
    /// `units`: those that may have such chains.
    pub(super) fn new(units: usize) -> Self {
        let slots = vec![(0, 0); if units > 0 { SLOTS } else { 0 }];
        Ends { of_unit: vec![([0; LEGS], 0); units], slots, used: [0; SLOTS / 64], cycle: 0 }
    }

    /// A time modulo the length of a cycle. Most times are in the cycle of the last one.
    #[inline(always)]
    pub(super) fn within_cycle(&mut self, time: Nanos, period: Nanos) -> u64 {
        let since = time.0.wrapping_sub(self.cycle);
        if since < period.0 {
            return since;
        }
        let since = time.0 % period.0;
        self.cycle = time.0 - since;
        since
    }

    #[inline(always)]
    fn slot(time: u64) -> usize {
        time.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (64 - SLOTS.trailing_zeros())
    }

    pub(super) fn enter(&mut self, unit: UnitId, ends: [u64; LEGS], on_channel: usize) {
        self.of_unit[unit.ix()] = (ends, on_channel);
        for time in ends {
            let slot = Self::slot(time);
            let (count, units) = &mut self.slots[slot];
            (*count, *units) = (*count + 1, *units ^ unit.0);
            self.used[slot / 64] |= 1 << (slot % 64);
        }
    }

    pub(super) fn remove(&mut self, unit: UnitId) {
        for time in self.of_unit[unit.ix()].0 {
            let slot = Self::slot(time);
            let (count, units) = &mut self.slots[slot];
            (*count, *units) = (*count - 1, *units ^ unit.0);
            self.used[slot / 64] &= !(u64::from(*count == 0) << (slot % 64));
        }
    }

    /// How many legs end at a time, as far as its slot tells, and their units.
    #[inline(always)]
    pub(super) fn at(&self, time: u64) -> (u32, u32) {
        let slot = Self::slot(time);
        if self.used[slot / 64] >> (slot % 64) & 1 == 0 { (0, 0) } else { self.slots[slot] }
    }
}
