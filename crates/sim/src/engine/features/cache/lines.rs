//! Lines: a page of controller memory each, with the sectors that it has.

use std::ops::Range;

use crate::engine::features::cache::order::{Command, Home, NONE, Order};
use crate::engine::features::cache::turns::{Turn, Turns};
use crate::units::{Lpn, Nanos, OpId};

/// State of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It holds nothing.
    Free,
    /// It holds what is on flash.
    Clean,
    /// It holds newer data, and its write-back has not been issued.
    Dirty,
    /// Its write-back, or the read of what it lacks, is queued or (the read) in service.
    Issued,
    /// It is being programmed: a newer version needs another line.
    Programming,
}

/// Why a line is written back.
#[derive(Clone, Copy)]
pub(super) enum Reason {
    Eager,
    Watermark,
    Idle,
    Flush,
    Fua,
    Hold,
    Drain,
}

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) lpn: Lpn,
    pub(super) state: State,
    /// The operation that writes it back, while it is dirty.
    pub(super) op: OpId,
    /// Changes whenever it stops being dirty, or holds another page.
    pub(super) period: u32,
    /// Whether data has moved in since it became dirty.
    pub(super) inside: bool,
    /// Sectors that it lacks.
    pub(super) lacking: u32,
    /// When it was taken for its page, last written, last written or hit by a read, and last became dirty.
    pub(super) taken: Nanos,
    /// See `taken`.
    pub(super) written: Nanos,
    /// See `taken`.
    pub(super) used: Nanos,
    /// See `taken`.
    pub(super) dirtied: Nanos,
    /// Place, among writes and flushes, of its oldest data that is not on flash.
    pub(super) oldest: u64,
    /// The line of its page that was being programmed when it was taken, which may be over since; or none.
    pub(super) older: u32,
    /// It is written back at once: for a flush.
    pub(super) flushed: bool,
    /// It is written back at once: for a write with forced unit access.
    pub(super) forced: bool,
    /// It is written back at once: it has been held long enough (`cache.hold`).
    pub(super) held: bool,
    /// The handle through which it was written last.
    pub(super) handle: u8,
    /// The group that it is written back with, where a program has several units; or none.
    pub(super) group: u32,
    /// When data first moved in since it became dirty.
    pub(super) entered: Nanos,
    /// Writes with forced unit access that wait for its program, in order, with the time since when.
    pub(super) waiting: Vec<(OpId, Nanos)>,
}

impl Line {
    const FREE: Self = Line {
        lpn: Lpn::NONE,
        state: State::Free,
        op: OpId::NONE,
        period: 0,
        inside: false,
        lacking: 0,
        taken: Nanos::ZERO,
        written: Nanos::ZERO,
        used: Nanos::ZERO,
        dirtied: Nanos::ZERO,
        oldest: 0,
        older: NONE,
        flushed: false,
        forced: false,
        held: false,
        handle: 0,
        group: NONE,
        entered: Nanos::ZERO,
        waiting: Vec::new(),
    };

    pub(super) fn is_dirty(&self) -> bool {
        matches!(self.state, State::Dirty | State::Issued | State::Programming)
    }

    /// Whether it is written back at once as soon as its data is in.
    pub(super) fn is_urgent(&self) -> bool {
        self.flushed || self.forced || self.held
    }

    /// Whether a newer version may replace its data in place.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Dirty | State::Issued)
    }
}

/// Words of a set of sectors with any of these, and their bits there.
fn words_of(sectors: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = sectors;
    let below = |end: u32| if end < 64 { (1 << end) - 1 } else { u64::MAX };
    let last = if start < end { end.div_ceil(64) } else { start / 64 };
    (start / 64..last).map(move |word| {
        let (from, to) = (start.saturating_sub(word * 64), end - word * 64);
        (word as usize, below(to) & !below(from))
    })
}

/// All lines.
#[derive(Clone)]
pub(super) struct Lines {
    pub(super) all: Vec<Line>,
    /// By line: the sectors that it has, as bits, in `words` words each.
    bits: Vec<u64>,
    words: usize,
    /// Sectors of a page.
    pub(super) sectors: u32,
    /// By logical page: its newest line, or `NONE`.
    of_page: Vec<u32>,
    free: Vec<u32>,
    /// Clean lines in the order in which they make room.
    clean: Turns,
    /// Dirty lines whose data is in, and whose write-back has not been issued, in the order of write-back.
    pub(super) ready: Order,
    /// Whether clean lines make room by their last use; otherwise in the order in which they were taken.
    lru: bool,
    /// Whether lines are written back by their last write; otherwise in the order in which they became dirty.
    by_write: bool,
    pub(super) dirty: u32,
    /// Dirty lines whose write-back has been issued.
    pub(super) issued: u32,
}

impl Lines {
    pub(super) fn new(lines: u32, sectors: u32, mapped: u32, ready: Order, lru: bool, by_write: bool) -> Self {
        let words = sectors.div_ceil(64) as usize;
        Lines {
            all: vec![Line::FREE; lines as usize],
            bits: vec![0; lines as usize * words],
            words,
            sectors,
            of_page: vec![NONE; mapped as usize],
            free: (0..lines).rev().collect(),
            clean: Turns::default(),
            ready,
            lru,
            by_write,
            dirty: 0,
            issued: 0,
        }
    }

    /// The newest line of a page, or `NONE`.
    pub(super) fn of(&self, lpn: Lpn) -> u32 {
        self.of_page[lpn.ix()]
    }

    /// The sectors that a line has, as bits.
    pub(super) fn bits(&self, line: u32) -> &[u64] {
        &self.bits[line as usize * self.words..][..self.words]
    }

    fn bits_mut(&mut self, line: u32) -> &mut [u64] {
        &mut self.bits[line as usize * self.words..][..self.words]
    }

    /// A line has these sectors now, too.
    pub(super) fn add(&mut self, line: u32, sectors: Range<u32>) {
        if self.all[line as usize].lacking == 0 {
            return;
        }
        let bits = self.bits_mut(line);
        let mut more = 0;
        for (word, mask) in words_of(sectors) {
            more += (mask & !bits[word]).count_ones();
            bits[word] |= mask;
        }
        self.all[line as usize].lacking -= more;
    }

    /// A line has all sectors.
    pub(super) fn complete(&mut self, line: u32) {
        self.add(line, 0..self.sectors);
    }

    /// Whether a line has all of these sectors.
    pub(super) fn has(&self, line: u32, sectors: Range<u32>) -> bool {
        let bits = self.bits(line);
        self.all[line as usize].lacking == 0 || words_of(sectors).all(|(word, mask)| bits[word] & mask == mask)
    }

    fn clean_turn(&self, line: u32) -> Turn {
        let of = &self.all[line as usize];
        (if self.lru { of.used } else { of.taken }, of.lpn.0, line)
    }

    pub(super) fn ready_turn(&self, line: u32) -> Turn {
        let of = &self.all[line as usize];
        (if self.by_write { of.written } else { of.dirtied }, of.lpn.0, line)
    }

    /// Lines are in the orders of another cache from now on, which are empty. `home`: the place of a line's page.
    pub(super) fn reorder(&mut self, other: &Lines, home: impl Fn(&Line) -> Home) {
        let line = |turn: &Turn| turn.2;
        let (clean, ready): (Vec<u32>, Vec<u32>) =
            (self.clean.iter().map(line).collect(), self.ready.iter().map(line).collect());
        (self.clean, self.ready) = (other.clean.clone(), other.ready.clone());
        (self.lru, self.by_write) = (other.lru, other.by_write);
        clean.into_iter().for_each(|line| self.rest(line));
        for line in ready {
            self.get_ready(line, home(&self.all[line as usize]));
        }
    }

    /// Clean lines are free from now on.
    pub(super) fn drop_clean(&mut self) {
        while let Some((_, _, line)) = self.clean.pop_first() {
            self.release(line);
        }
    }

    /// A free line or, without one, a clean one, for a page. It is in no order and has no sectors.
    pub(super) fn take(&mut self, lpn: Lpn, now: Nanos) -> Option<u32> {
        let line = match self.free.pop() {
            Some(line) => line,
            None => {
                let (_, _, line) = self.clean.pop_first()?;
                let old = self.all[line as usize].lpn;
                self.of_page[old.ix()] = NONE;
                line
            }
        };
        self.bits_mut(line).fill(0);
        let lacking = self.sectors;
        let of = &mut self.all[line as usize];
        *of = Line {
            lpn,
            state: State::Clean,
            period: of.period.wrapping_add(1),
            lacking,
            taken: now,
            used: now,
            waiting: std::mem::take(&mut of.waiting),
            ..Line::FREE
        };
        self.of_page[lpn.ix()] = line;
        Some(line)
    }

    /// A clean line is in the order in which such lines make room.
    pub(super) fn rest(&mut self, line: u32) {
        let turn = self.clean_turn(line);
        self.clean.insert(turn);
    }

    /// A clean line leaves that order.
    pub(super) fn wake(&mut self, line: u32) {
        let turn = self.clean_turn(line);
        let found = self.clean.remove(&turn);
        law!(found, "law: a clean line is in its order");
    }

    /// A line is hit by a read.
    pub(super) fn hit(&mut self, line: u32, now: Nanos) {
        if self.all[line as usize].state == State::Clean {
            self.wake(line);
            self.all[line as usize].used = now;
            self.rest(line);
        } else {
            self.all[line as usize].used = now;
        }
    }

    /// A dirty line may be written back. `home`: that of its page.
    pub(super) fn get_ready(&mut self, line: u32, home: Home) {
        let turn = self.ready_turn(line);
        self.ready.insert(turn, home);
    }

    /// It may no longer, or its place changes. Returns whether it might.
    pub(super) fn leave_ready(&mut self, line: u32, home: Home) -> bool {
        let turn = self.ready_turn(line);
        self.ready.remove(turn, home)
    }

    /// Whether a line is free or clean.
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty() || !self.clean.is_empty()
    }

    /// The lines that are written back next: several if they fill a multi-plane command (`cache.order = "stripe"`).
    pub(super) fn next_ready(&self) -> Option<Command> {
        (!self.ready.is_empty()).then(|| self.ready.next())
    }

    /// A line holds nothing any more. It is in no order.
    pub(super) fn release(&mut self, line: u32) {
        let of = &mut self.all[line as usize];
        let lpn = std::mem::replace(&mut of.lpn, Lpn::NONE);
        of.state = State::Free;
        of.op = OpId::NONE;
        of.period = of.period.wrapping_add(1);
        if lpn.is_some() && self.of_page[lpn.ix()] == line {
            self.of_page[lpn.ix()] = NONE;
        }
        self.free.push(line);
    }

    /// A trim frees a line that was in a state; one that is being programmed is free when that ends.
    pub(super) fn trim(&mut self, line: u32, state: State) {
        match state {
            State::Free => return,
            State::Clean => self.wake(line),
            State::Programming => {
                self.all[line as usize].oldest = u64::MAX;
                return self.part(line);
            }
            State::Dirty | State::Issued => {}
        }
        self.release(line);
    }

    /// A line no longer belongs to its page: it is free when its program ends.
    pub(super) fn part(&mut self, line: u32) {
        let lpn = self.all[line as usize].lpn;
        if self.of_page[lpn.ix()] == line {
            self.of_page[lpn.ix()] = NONE;
        }
    }

    /// Power is cut: nothing is left.
    pub(super) fn power_cut(&mut self) {
        self.all.iter_mut().for_each(|line| *line = Line { period: line.period.wrapping_add(1), ..Line::FREE });
        self.of_page.fill(NONE);
        self.free = (0..self.all.len() as u32).rev().collect();
        self.clean.clear();
        self.ready.clear();
        (self.dirty, self.issued) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_exactly_the_sectors_of_a_range() {
        for start in 0..200 {
            for end in start..200 {
                let bits = words_of(start..end).flat_map(|(word, mask)| {
                    (0..64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
                });
                assert!(bits.eq(start..end), "{start}..{end}");
            }
        }
    }
}
