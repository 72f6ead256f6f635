//! A chain, and the transfers of chains on a channel.

use crate::units::{Nanos, OpId, UnitId};
use std::ops::Range;

/// Transfers of a chain in a period, at most.
pub(super) const PASSAGES: usize = 4;

/// Times of a move of one page. They are the same for all pages.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// From the start of a move to that of its transfers.
    pub(super) read: Nanos,
    /// Time of each of the two transfers; zero if the page stays in its die.
    pub(super) transfer: Nanos,
    pub(super) program: Nanos,
    /// From the start of a move to that of the next, or of a cycle of turns to that of the next.
    pub(super) period: Nanos,
    /// Length of a passage: out and back in, or one of the two where the die serves others between.
    pub(super) on_bus: Nanos,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Moves of a collection that holds its die.
    Moves,
    /// Moves of a collection of two planes ([`Ssd::end_joint`]).
    Joint,
    /// Steps of queued collections ([`Ssd::end_turns`]).
    Turns,
}

#[derive(Clone, Copy)]
pub(super) struct Chain {
    /// The operation of its collection, or none if the unit has no chain.
    pub(super) op: OpId,
    /// Turns: the operation of the other collection, if there is one, and the cycle of their steps.
    pub(super) second: OpId,
    /// See `second`.
    pub(super) cycle: u8,
    /// Turns: an operation has joined the queue of the die meanwhile.
    pub(super) joined: bool,
    /// Start of its first move.
    pub(super) start: Nanos,
    /// End of its last move.
    pub(super) until: Nanos,
    pub(super) kind: Kind,
}

impl Chain {
    pub(super) const NONE: Chain = Chain::new(OpId::NONE, Nanos::ZERO, Nanos::ZERO, Kind::Moves);

    /// A chain of one collection.
    pub(super) const fn new(op: OpId, start: Nanos, until: Nanos, kind: Kind) -> Self {
        Chain { op, second: OpId::NONE, cycle: 0, joined: false, start, until, kind }
    }
}

/// The next transfer of a chain: from the die, and back to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) at: Nanos,
    pub(super) unit: UnitId,
}

/// The next transfers of a channel's chains, ordered by time from `first` on, and from the end on to the beginning.
///
/// When a transfer has begun, the next one of its chain is later than all others, because all periods are equal and no two
/// transfers overlap. So it stays in its place, and the one after it becomes the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages {
    ring: Vec<Passage>,
    first: usize,
}

impl Passages {
    /// Room for the transfers of so many chains.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Passages { ring: Vec::with_capacity(capacity), first: 0 }
    }

    /// Whether no chain uses the channel.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    #[inline(always)]
    pub(super) fn front(&self) -> Option<&Passage> {
        self.ring.get(self.first)
    }

    /// The last one.
    #[inline(always)]
    pub(super) fn back(&self) -> Option<&Passage> {
        self.ring.get(if self.first > 0 { self.first } else { self.ring.len() }.wrapping_sub(1))
    }

    /// In order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Passage> {
        let (late, early) = self.ring.split_at(self.first);
        early.iter().chain(late)
    }

    /// Number of transfers that begin before `at`.
    #[inline(always)]
    fn before(&self, at: Nanos) -> usize {
        let (late, early) = self.ring.split_at(self.first);
        let count = early.partition_point(|other| other.at < at);
        if count < early.len() { count } else { count + late.partition_point(|other| other.at < at) }
    }

    /// Start of the `n`-th transfer.
    #[inline(always)]
    fn nth(&self, n: usize) -> Nanos {
        let place = self.first + n;
        self.ring[if place < self.ring.len() { place } else { place - self.ring.len() }].at
    }

    /// Adds the transfers of a chain, which do not overlap each other, if they overlap no other one. Returns whether it did.
    pub(super) fn insert(&mut self, passages: &[Passage], pace: &Pace) -> bool {
        let (count, mut earlier) = (self.ring.len(), [0; PASSAGES]);
        if count > 0 {
            for (Passage { at, .. }, earlier) in passages.iter().zip(&mut earlier) {
                let n = self.before(*at);
                let last = if n > 0 { self.nth(n - 1) + pace.period } else { self.nth(count - 1) };
                let next = if n < count { self.nth(n) } else { self.nth(0) + pace.period };
                if last + pace.on_bus > *at + pace.period || *at + pace.on_bus > next {
                    return false;
                }
                *earlier = n;
            }
        }
        for (added, (passage, earlier)) in passages.iter().zip(earlier).enumerate() {
            let mut place = self.first + earlier + added;
            if place > self.ring.len() {
                place -= self.ring.len();
                self.first += 1;
            }
            self.ring.insert(place, *passage);
        }
        true
    }

    pub(super) fn remove(&mut self, unit: UnitId) {
        let (end, ring, mut kept) = (self.ring.len(), &mut self.ring[..], 0);
        // Branchless: which ones stay is unpredictable.
        let mut keep = |places: Range<usize>| {
            for place in places {
                let passage = ring[place];
                ring[kept] = passage;
                kept += usize::from(passage.unit != unit);
            }
            kept
        };
        let (first, count) = (keep(0..self.first), keep(self.first..end));
        self.ring.truncate(count);
        self.first = if first < count { first } else { 0 };
    }

    /// The start of the first transfer, if it is before `limit`. It has begun, and the next one of its place in the period is the
    /// last of all.
    #[inline(always)]
    pub(super) fn pass(&mut self, limit: Nanos, pace: &Pace) -> Option<Nanos> {
        let next = self.ring.get_mut(self.first).filter(|passage| passage.at < limit)?;
        let at = next.at;
        next.at = at + pace.period;
        self.first += 1;
        if self.first == self.ring.len() {
            self.first = 0;
        }
        Some(at)
    }

    /// The same for all transfers before `limit`, in their order.
    #[inline(always)]
    pub(super) fn pass_all(&mut self, limit: Nanos, pace: &Pace, mut begins: impl FnMut(Nanos)) {
        // Values of its own, which no write to the ring can change.
        let (ring, mut first) = (&mut self.ring[..], self.first);
        while let Some(next) = ring.get_mut(first).filter(|passage| passage.at < limit) {
            begins(next.at);
            next.at = next.at + pace.period;
            first = if first + 1 < ring.len() { first + 1 } else { 0 };
        }
        self.first = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Compares with a plain list. Chains have one to four transfers in a period; some begin at the end of another's.
    #[test]
    fn transfers_keep_their_order_and_never_overlap() {
        let mut rng = stream(3, "passages");
        let (period, on_bus) = (Nanos(1000), Nanos(40));
        let pace = Pace { read: Nanos::ZERO, transfer: on_bus, program: Nanos::ZERO, period, on_bus };
        for _ in 0..200 {
            let (mut ring, mut list, mut now) = (Passages::default(), Vec::<Passage>::new(), Nanos(5000));
            for unit in 0..100 {
                let unit = UnitId(unit);
                now = now + Nanos(below(&mut rng, 300));
                list.sort_by_key(|passage| passage.at);
                while let Some(begun) = ring.pass(now, &pace) {
                    assert_eq!(list[0].at, begun);
                    list[0].at = begun + period;
                    list.sort_by_key(|passage| passage.at);
                }
                assert!(list.iter().all(|passage| passage.at >= now));
                let behind = list.first().map_or(Nanos::ZERO, |first| Nanos(first.at.0 + on_bus.0 - now.0));
                let first = if below(&mut rng, 3) == 0 { behind.0 } else { below(&mut rng, 250) };
                let count = 1 + below(&mut rng, PASSAGES as u64);
                let added: Vec<_> = (0..count).map(|n| Passage { at: now + Nanos(first + n * 200), unit }).collect();
                let apart = |other: &Passage, at: Nanos| {
                    let distance = (other.at.0 + 10 * period.0 - at.0) % period.0;
                    distance >= on_bus.0 && period.0 - distance >= on_bus.0
                };
                let fits = added.iter().all(|passage| list.iter().all(|other| apart(other, passage.at)));
                // All transfers come within one period.
                if first + (count - 1) * 200 < period.0 {
                    assert_eq!(ring.insert(&added, &pace), fits, "{list:?} and {added:?}");
                    list.extend(if fits { added } else { Vec::new() });
                }
                if below(&mut rng, 3) == 0 {
                    let gone = UnitId(below(&mut rng, u64::from(unit.0) + 1) as u32);
                    ring.remove(gone);
                    list.retain(|passage| passage.unit != gone);
                }
                list.sort_by_key(|passage| passage.at);
                let kept = ring.iter().map(|passage| (passage.at, passage.unit));
                assert!(kept.eq(list.iter().map(|passage| (passage.at, passage.unit))), "{ring:?} is not {list:?}");
            }
        }
    }
}
