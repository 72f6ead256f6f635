//! The controller's buffer: slots for pages between their victim and their program.
//!
//! A buffered page is an operation of class write-back from staging until its program has landed; the map points to the
//! operation. The pages of one collection are a segment. A segment may be written back once its last page is staged, in the order
//! of staging; segments are ordered by that time.

use super::transaction::{Fifo, Slab};
use crate::units::{JobId, Nanos};

/// Pages of one collection in the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Pages that have not landed on flash.
    pub pending: u32,
    /// Pending pages that the host has overwritten since.
    pub absorbed: u32,
    /// The collection, until its victims are erased.
    pub job: JobId,
}

/// Destination of write-backs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackTo {
    /// The plane from which each page was read.
    OwnPlane,
    /// Idle chips in turn.
    IdleChips,
}

/// How pages in the controller's buffer return to flash. Write-backs come after all host operations and use only dies without
/// waiting operations.
#[derive(Clone, Copy, Debug)]
pub struct WriteBack {
    /// Destination of the pages.
    pub to: BackTo,
    /// Whether write-backs wait until no host request is outstanding.
    pub queue_empty: bool,
    /// Whether a slot becomes free when its page's write-back begins.
    pub free_at_issue: bool,
    /// Whether a host write of a buffered page only replaces the slot's content.
    pub absorb: bool,
    /// Whether a victim may be erased while some of its pages are only in the buffer.
    pub erase_first: bool,
    /// Whether pages of a collection wait until those of the collection before are on flash.
    pub by_segment: bool,
}

/// A number of pages, integrated over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    pages: u32,
    worst: u32,
    total: u128,
    since: Nanos,
}

impl Level {
    /// Current number of pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Largest number of pages at one time.
    pub fn worst(&self) -> u32 {
        self.worst
    }

    /// Pages x nanoseconds until now.
    pub fn total(&self, now: Nanos) -> u128 {
        self.total + u128::from(self.pages) * u128::from((now - self.since).0)
    }

    /// Changes the number of pages.
    pub(crate) fn change(&mut self, by: i64, now: Nanos) {
        self.total = self.total(now);
        self.since = now;
        self.pages = u32::try_from(i64::from(self.pages) + by).expect("law: a level is never negative");
        self.worst = self.worst.max(self.pages);
    }

    /// Restarts the statistics.
    pub(crate) fn restart(&mut self, now: Nanos) {
        self.total = 0;
        self.since = now;
        self.worst = self.pages;
    }
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Staging {
    slots: u32,
    /// Slots that are neither filled nor reserved.
    free: u32,
    pub(crate) plan: Option<WriteBack>,
    /// Pages that may be written back to any chip.
    pub(crate) ready: Fifo,
    /// By unit: pages to be written back to their own planes.
    pub(crate) own: Vec<Fifo>,
    /// Number of pages in `ready` and `own`.
    pub(crate) waiting: u32,
    /// Whether there is cause for another search for free dies: pages have been added, or a full plane may be due.
    pub(crate) stale: bool,
    /// The unit of the last page from `ready`.
    pub(crate) last_unit: u32,
    pub(crate) segments: Slab<Segment>,
    /// The segment whose write-backs began last, and how many of them have not ended.
    pub(crate) under_way: (u32, u32),
    /// Filled slots.
    pub(crate) filled: Level,
    /// Pages whose newest acknowledged version is only in the buffer.
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
            under_way: (0, 0),
            filled: Level::default(),
            exposed: Level::default(),
        }
    }

    /// The empty buffer becomes one with other slots and another plan. Its statistics continue.
    pub(crate) fn follow(&mut self, other: Staging) {
        self.assert_empty();
        let Staging { last_unit, filled, exposed, .. } = *self;
        *self = Staging { last_unit, filled, exposed, ..other };
    }

    /// Total slots.
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

    /// Power is cut: the buffer loses its content.
    pub(crate) fn power_cut(&mut self, now: Nanos) {
        self.free = self.slots;
        self.ready = Fifo::EMPTY;
        self.own.fill(Fifo::EMPTY);
        self.waiting = 0;
        self.stale = false;
        self.under_way.1 = 0;
        self.segments.clear();
        for level in [&mut self.filled, &mut self.exposed] {
            level.change(-i64::from(level.pages), now);
        }
    }

    /// Asserts that the buffer is empty.
    pub(crate) fn assert_empty(&self) {
        law_eq!(self.free, self.slots, "a slot is still in use");
        law_eq!((self.filled.pages, self.exposed.pages, self.waiting), (0, 0, 0), "a page is left in the buffer");
        law_eq!(self.segments.in_use(), 0, "a segment is left");
    }
}
