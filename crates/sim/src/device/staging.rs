//! The controller's buffer: slots that hold pages on their way from a victim back to flash.
//!
//! A page in the buffer is an operation of class write-back from the moment it is staged until its program has landed; the
//! map points to the operation. Pages of one collection are a segment: they may be written back once the last of them has
//! been staged, in the order of staging; segments follow one another in the order of these times.

use super::transaction::{Fifo, Slab};
use crate::units::{JobId, Nanos};

/// Pages of one collection in the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Pages that have not landed on flash.
    pub pending: u32,
    /// Of those: overwritten by the host since.
    pub absorbed: u32,
    /// The collection, until its victims are erased.
    pub job: JobId,
}

/// Where pages of the controller's buffer are written back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackTo {
    /// The plane that each was read from.
    OwnPlane,
    /// Idle chips in turn.
    IdleChips,
}

/// How pages that collections leave in the controller's buffer get back to flash: after all host operations, and only to
/// dies that nobody wants.
#[derive(Clone, Copy, Debug)]
pub struct WriteBack {
    /// Where they go.
    pub to: BackTo,
    /// Whether they wait until no host request is outstanding at all.
    pub queue_empty: bool,
    /// Whether a slot is free as soon as its page's write-back begins.
    pub free_at_issue: bool,
    /// Whether a host write of a page that waits in the buffer only replaces what the slot holds.
    pub absorb: bool,
    /// Whether a victim may be erased while pages of it are in the buffer only.
    pub erase_first: bool,
}

/// A number of pages over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    pages: u32,
    worst: u32,
    total: u128,
    since: Nanos,
}

impl Level {
    /// Pages now.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Most pages at one time.
    pub fn worst(&self) -> u32 {
        self.worst
    }

    /// Pages x nanoseconds up to now.
    pub fn total(&self, now: Nanos) -> u128 {
        self.total + u128::from(self.pages) * u128::from((now - self.since).0)
    }

    /// There are so many more, or fewer.
    pub(crate) fn change(&mut self, by: i64, now: Nanos) {
        self.total = self.total(now);
        self.since = now;
        self.pages = u32::try_from(i64::from(self.pages) + by).expect("law: a level is never negative");
        self.worst = self.worst.max(self.pages);
    }

    /// Forgets the past.
    pub(crate) fn restart(&mut self, now: Nanos) {
        (self.total, self.since, self.worst) = (0, now, self.pages);
    }
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Staging {
    slots: u32,
    /// Slots neither filled nor reserved.
    free: u32,
    pub(crate) plan: Option<WriteBack>,
    /// Pages that wait to be written back to any chip.
    pub(crate) ready: Fifo,
    /// By unit: pages that wait to be written back to their own planes.
    pub(crate) own: Vec<Fifo>,
    /// Pages in either.
    pub(crate) waiting: u32,
    /// More wait than when dies were last looked at for them.
    pub(crate) stale: bool,
    /// The unit that the last page went to, of those that any may take.
    pub(crate) last_unit: u32,
    pub(crate) segments: Slab<Segment>,
    /// Filled slots.
    pub(crate) filled: Level,
    /// Pages whose newest acknowledged version is in the buffer only.
    pub(crate) exposed: Level,
}

impl Staging {
    pub(crate) fn new(slots: u32, plan: Option<WriteBack>, units: u32) -> Self {
        let slots = if plan.is_some() { slots } else { 0 };
        Staging {
            slots,
            free: slots,
            plan,
            ready: Fifo::EMPTY,
            own: vec![Fifo::EMPTY; if slots > 0 { units as usize } else { 0 }],
            waiting: 0,
            stale: false,
            last_unit: units - 1,
            segments: Slab::with_capacity(slots as usize),
            filled: Level::default(),
            exposed: Level::default(),
        }
    }

    /// Slots that collections may use at all.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots that are neither filled nor reserved.
    #[inline(always)]
    pub fn free(&self) -> u32 {
        self.free
    }

    pub(crate) fn reserve(&mut self, slots: u32) {
        self.free = self.free.checked_sub(slots).expect("law: only free slots are reserved");
    }

    pub(crate) fn release(&mut self, slots: u32) {
        self.free += slots;
        law!(self.free <= self.slots, "law: a slot is released once");
    }

    /// Power is cut: the buffer is empty.
    pub(crate) fn power_cut(&mut self, now: Nanos) {
        self.free = self.slots;
        self.ready = Fifo::EMPTY;
        self.own.fill(Fifo::EMPTY);
        (self.waiting, self.stale) = (0, false);
        self.segments.clear();
        for level in [&mut self.filled, &mut self.exposed] {
            level.change(-i64::from(level.pages), now);
        }
    }

    /// Nothing is left in the buffer.
    pub(crate) fn assert_empty(&self) {
        law_eq!(self.free, self.slots, "a slot is left");
        law_eq!((self.filled.pages, self.exposed.pages, self.waiting), (0, 0, 0), "a page is left in the buffer");
        law_eq!(self.segments.in_use(), 0, "a segment is left");
    }
}
