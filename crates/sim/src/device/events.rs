//! The clock's next event.
//!
//! Each resource has at most one event. Events are kept in a wheel of buckets. A bucket is a small fraction of the longest
//! operation wide, so almost every bucket holds at most one event, and a bit set, with a word that tells which of its words are in
//! use, finds the next one that is not empty. Nothing is allocated after construction, and the cost of an event does not depend on
//! the number of resources.

use crate::units::Nanos;

/// Words of the bit set that marks the buckets in use, as many as a word has bits, and buckets of the wheel.
const WORDS: usize = u64::BITS as usize;
const BUCKETS: usize = WORDS * 64;

/// No resource.
const NONE: u32 = u32::MAX;

/// A resource's event and its neighbours in its bucket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Nanos,
    next: u32,
    previous: u32,
}

impl Entry {
    /// Whether it is the only one in its bucket.
    #[inline(always)]
    fn is_lone(&self) -> bool {
        self.next == NONE && self.previous == NONE
    }
}

/// The next event of every resource.
#[derive(Clone, Debug)]
pub struct Events {
    entries: Vec<Entry>,
    /// By bucket: the first resource in it.
    heads: Box<[u32; BUCKETS]>,
    /// By bucket, a bit: not empty.
    filled: [u64; WORDS],
    /// By word of that set, a bit: perhaps not empty.
    used: u64,
    /// `log2` of a bucket's width in nanoseconds.
    shift: u32,
    /// Time of the next event (or never), and a resource that has an event at that time.
    next: Nanos,
    first: u32,
}

impl Events {
    /// `span` estimates how far ahead events are set. Events further ahead are allowed and cost more.
    pub(crate) fn new(resources: usize, span: Nanos) -> Self {
        let width = (span.0 / (BUCKETS as u64 - 1) + 1).next_power_of_two();
        Events {
            entries: vec![Entry { time: Nanos::NEVER, next: NONE, previous: NONE }; resources],
            heads: Box::new([NONE; BUCKETS]),
            filled: [0; WORDS],
            used: 0,
            shift: width.trailing_zeros(),
            next: Nanos::NEVER,
            first: NONE,
        }
    }

    /// End of the clock: events must be earlier.
    pub fn horizon(&self) -> Nanos {
        Nanos(1 << 62)
    }

    /// Time of the next event, or never.
    #[inline(always)]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// The resource whose event [`Events::pop`] would take. Precondition: there is an event.
    #[inline(always)]
    pub fn first(&self) -> usize {
        self.first as usize
    }

    /// Time of a resource's event, or never.
    #[inline(always)]
    pub fn get(&self, resource: usize) -> Nanos {
        self.entries[resource].time
    }

    #[inline(always)]
    fn bucket(&self, time: Nanos) -> usize {
        (time.0 >> (self.shift % u64::BITS)) as usize % BUCKETS
    }

    /// Sets the time of a resource's event.
    #[inline]
    pub fn set(&mut self, resource: usize, time: Nanos) {
        if self.entries[resource].time != Nanos::NEVER {
            self.unlink(resource);
        }
        if time != Nanos::NEVER {
            law!(time < self.horizon(), "an event at or after the end of the clock");
            self.link(resource, time);
        } else if self.first as usize == resource {
            self.find();
        }
    }

    /// Sets the time of the event of a resource that has none.
    #[inline(always)]
    pub fn begin(&mut self, resource: usize, time: Nanos) {
        law!(time < self.horizon(), "an event at or after the end of the clock");
        debug_assert!(self.entries[resource].time == Nanos::NEVER && self.first as usize != resource);
        self.put(resource, time, self.bucket(time));
        if time < self.next {
            self.next = time;
            self.first = resource as u32;
        }
    }

    #[inline(always)]
    fn link(&mut self, resource: usize, time: Nanos) {
        let was_first = self.first as usize == resource;
        self.put(resource, time, self.bucket(time));
        if time < self.next {
            self.next = time;
            self.first = resource as u32;
        } else if was_first && time > self.next {
            self.find();
        }
    }

    #[inline(always)]
    fn put(&mut self, resource: usize, time: Nanos, bucket: usize) {
        let head = std::mem::replace(&mut self.heads[bucket], resource as u32);
        self.entries[resource] = Entry { time, next: head, previous: NONE };
        if head != NONE {
            self.entries[head as usize].previous = resource as u32;
        }
        let word = &mut self.filled[bucket / 64];
        if *word == 0 {
            self.used |= 1 << (bucket / 64);
        }
        *word |= 1 << (bucket % 64);
    }

    /// A bucket is empty now.
    #[inline(always)]
    fn empty(&mut self, bucket: usize) {
        self.filled[bucket / 64] &= !(1 << (bucket % 64));
    }

    #[inline(always)]
    fn unlink(&mut self, resource: usize) {
        let Entry { time, next, previous } = self.entries[resource];
        self.entries[resource].time = Nanos::NEVER;
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
            return;
        }
        let bucket = self.bucket(time);
        self.heads[bucket] = next;
        if next == NONE {
            self.empty(bucket);
        }
    }

    /// Whether the next event is the only one at its time.
    #[inline(always)]
    pub fn alone(&self) -> bool {
        self.entries[self.first as usize].is_lone() || self.has_no_twin()
    }

    #[inline]
    fn has_no_twin(&self) -> bool {
        let mut at = self.heads[self.bucket(self.next)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.time == self.next && at != self.first {
                return false;
            }
            at = entry.next;
        }
        true
    }

    /// Takes one event of the earliest time.
    #[inline(never)]
    pub fn pop(&mut self) -> usize {
        let (resource, bucket) = (self.first as usize, self.bucket(self.next));
        let entry = &mut self.entries[resource];
        if entry.is_lone() {
            entry.time = Nanos::NEVER;
            self.heads[bucket] = NONE;
            self.empty(bucket);
        } else {
            self.unlink(resource);
        }
        self.find_from(bucket);
        resource
    }

    /// Visits all events of the earliest time as resources, in any order.
    #[inline(always)]
    pub fn each(&self, mut each: impl FnMut(usize)) {
        let mut at = self.heads[self.bucket(self.next)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.time == self.next {
                each(at as usize);
            }
            at = entry.next;
        }
    }

    /// Takes all events of the earliest time as resources, in any order.
    #[inline]
    pub fn take_all(&mut self, mut each: impl FnMut(usize)) {
        let bucket = self.bucket(self.next);
        let mut at = std::mem::replace(&mut self.heads[bucket], NONE);
        self.empty(bucket);
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            let (time, after) = (entry.time, entry.next);
            entry.time = Nanos::NEVER;
            if time == self.next {
                each(at as usize);
            } else {
                self.put(at as usize, time, bucket);
            }
            at = after;
        }
        self.find();
    }

    /// Finds the next event. None is earlier than the last one, so the search starts in its bucket.
    #[inline(always)]
    fn find(&mut self) {
        self.find_from(self.bucket(self.next));
    }

    #[inline(always)]
    fn find_from(&mut self, start: usize) {
        let (mut word, later) = (start / 64, u64::MAX << (start % 64));
        let mut bits = self.filled[word] & later;
        if bits == 0 {
            (word, bits) = self.next_word(word);
        }
        // It is nearly always in the first bucket that is not empty.
        let found = bits != 0 && self.take_first_of(word * 64 + bits.trailing_zeros() as usize, self.turn_ends());
        if !found {
            self.find_on(start);
        }
    }

    /// The first word around the wheel after this one that is not empty, and its bits. The word itself, whose first buckets come last,
    /// is the last one.
    #[inline(always)]
    fn next_word(&mut self, word: usize) -> (usize, u64) {
        while self.used != 0 {
            let ahead = self.used.rotate_right(word as u32 + 1).trailing_zeros() as usize;
            let next = (word + 1 + ahead) % WORDS;
            if self.filled[next] != 0 {
                return (next, self.filled[next]);
            }
            self.used &= !(1 << next);
        }
        (word, 0)
    }

    /// From the bucket of the last event on, events of this turn of the wheel are before this time; later ones belong to a further
    /// turn.
    #[inline(always)]
    fn turn_ends(&self) -> u64 {
        let shift = self.shift % u64::BITS;
        // There is no event after the horizon.
        (self.next.0 >> shift).wrapping_add(BUCKETS as u64) << shift
    }

    /// Finds the next event from a bucket on, and visits each bucket once.
    #[inline(never)]
    fn find_on(&mut self, start: usize) {
        let (turn, own, later) = (self.turn_ends(), start / 64, u64::MAX << (start % 64));
        let words = if self.used == 0 { 0 } else { WORDS + 1 };
        for i in 0..words {
            let word = (own + i) % WORDS;
            let mut bits = self.filled[word] & if i == 0 { later } else { u64::MAX };
            while bits != 0 {
                if self.take_first_of(word * 64 + bits.trailing_zeros() as usize, turn) {
                    return;
                }
                bits &= bits - 1;
            }
        }
        self.find_far();
    }

    /// Makes the earliest event of a bucket before `turn` the next one, if there is one.
    #[inline(always)]
    fn take_first_of(&mut self, bucket: usize, turn: u64) -> bool {
        let (mut least, mut first) = (Nanos(turn), NONE);
        let mut at = self.heads[bucket];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.time < least {
                (least, first) = (entry.time, at);
            }
            at = entry.next;
        }
        if first != NONE {
            self.next = least;
            self.first = first;
        }
        first != NONE
    }

    /// Slow case: all events are more than a turn ahead, or there are none.
    #[cold]
    fn find_far(&mut self) {
        self.next = Nanos::NEVER;
        self.first = NONE;
        let entries = if self.used == 0 { &[] } else { &*self.entries };
        for (resource, entry) in entries.iter().enumerate() {
            if entry.time < self.next {
                self.next = entry.time;
                self.first = resource as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Compares with a plain list. Events are set a little ahead, a turn ahead, many turns ahead, and earlier than others.
    #[test]
    fn every_event_comes_in_order_of_time() {
        let mut rng = stream(7, "events");
        for (resources, span) in
            [(1, 1), (2, 50), (3, 1000), (5, 1 << 20), (17, 3_500_000), (200, 10_000), (1025, 1 << 30)]
        {
            let mut wheel = Events::new(resources, Nanos(span));
            let mut times = vec![u64::MAX; resources];
            let mut now = 0;
            for _ in 0..5000 {
                let resource = below(&mut rng, resources as u64) as usize;
                let ahead = match below(&mut rng, 10) {
                    0 => 0,
                    1 => below(&mut rng, 20 * span + 1),
                    2 => span * 1024 + below(&mut rng, 3),
                    3..6 => below(&mut rng, 8),
                    _ => below(&mut rng, span + 1),
                };
                times[resource] = if below(&mut rng, 12) == 0 { u64::MAX } else { now + ahead };
                wheel.set(resource, Nanos(times[resource]));
                let earliest = *times.iter().min().unwrap();
                assert_eq!(wheel.next().0, earliest);
                if earliest == u64::MAX {
                    continue;
                }
                assert_eq!(times[wheel.first()], earliest);
                assert_eq!(wheel.alone(), times.iter().filter(|t| **t == earliest).count() == 1);
                if below(&mut rng, 4) == 0 {
                    let mut taken = Vec::new();
                    wheel.take_all(|resource| taken.push(resource));
                    taken.sort_unstable();
                    assert_eq!(taken, (0..resources).filter(|r| times[*r] == earliest).collect::<Vec<_>>());
                    taken.iter().for_each(|resource| times[*resource] = u64::MAX);
                    now = earliest;
                    assert_eq!(wheel.next().0, *times.iter().min().unwrap());
                } else if below(&mut rng, 2) == 0 {
                    let popped = wheel.pop();
                    assert_eq!(times[popped], earliest);
                    (times[popped], now) = (u64::MAX, earliest);
                    assert_eq!(wheel.next().0, *times.iter().min().unwrap());
                }
            }
        }
    }
}
