//! Multi-plane commands: pages of one request, or write-backs of the write cache, that share a command with the first one.

use crate::device::command::{Command, Legs};
use crate::device::transaction::{Class, Need, Op, Verb};
use crate::engine::features::retry::apart;
use crate::engine::features::streams;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::ops::Page;
use crate::engine::{Device, Nanos, Ssd};
use crate::policy::{MAX_PLANES, PageSet};
use crate::units::{OpId, PlaneId, Ppn, UnitId};

impl Kernel {
    /// The first page at the head of a unit's queue that belongs to a request and fits into its multi-plane command. During a
    /// suspension, earlier writes are skipped, because only reads are served.
    pub(in crate::engine) fn first_mate<T>(
        &self,
        unit: UnitId,
        request: crate::units::RequestId,
        fits: impl Fn(OpId) -> Option<T>,
    ) -> Option<(OpId, T)> {
        let state = &self.dies[unit];
        let only_reads = state.suspension() == Suspension::Serving;
        let mut next = state.queue.head();
        while next.is_some() {
            let op = &self.ops[next];
            if op.class == Class::Host && op.request == request {
                if let Some(found) = fits(next) {
                    return Some((next, found));
                }
            } else if !(only_reads && op.need == Need::Write) {
                break;
            }
            next = op.next;
        }
        None
    }

    /// The first write-back in a unit's queue that fits into its multi-plane program. Other operations are passed over. The queue
    /// is searched only if a plane of the unit fits.
    pub(in crate::engine) fn first_line<T>(
        &self,
        dev: &Device,
        unit: UnitId,
        plane_fits: impl Fn(PlaneId) -> bool,
        fits: impl Fn(OpId) -> Option<T>,
    ) -> Option<(OpId, T)> {
        let mut planes = (0..dev.geometry.planes_per_unit).map(|k| dev.geometry.plane_of_unit(unit, k));
        if !planes.any(plane_fits) {
            return None;
        }
        let mut next = self.dies[unit].queue.head();
        while next.is_some() {
            if let Some(found) = fits(next) {
                return Some((next, found));
            }
            next = self.ops[next].next;
        }
        None
    }
}

/// The number of pages that a read takes along, itself among them, and its legs: one page, where commands have no mates.
#[inline(always)]
pub(in crate::engine) fn read(ssd: &mut Ssd, op: OpId, at: Ppn, unit: UnitId, burst: Nanos) -> (u64, Legs) {
    if ssd.rules.pairs {
        return ssd.join_reads(op, at, unit, burst);
    }
    (1, ssd.dev.timing.legs(Command::Read { pages: &[ssd.dev.place(at)], burst, decoded: false }))
}

/// The same for a program.
#[inline(always)]
pub(in crate::engine) fn program(ssd: &mut Ssd, op: OpId, at: Ppn, unit: UnitId) -> (u64, Legs) {
    let transfer = ssd.dev.timing.page();
    if ssd.rules.pairs {
        let pages = ssd.mate_writes(op, at, unit);
        let count = pages.len() as u64;
        let places = &ssd.dev.places(&pages)[..pages.len()];
        return (count, ssd.dev.timing.legs(Command::Program { pages: places, burst: Nanos(transfer.0 * count) }));
    }
    (1, ssd.dev.timing.legs(Command::Program { pages: &[ssd.dev.place(at)], burst: transfer }))
}

impl Ssd {
    /// Adds the following pages of the same request to a multi-plane read, as far as one command can read them. Returns the
    /// number of pages, and the legs.
    #[inline(never)]
    pub(in crate::engine) fn join_reads(&mut self, lead: OpId, at: Ppn, unit: UnitId, mut burst: Nanos) -> (u64, Legs) {
        let (request, offset) =
            (self.kernel.ops[lead].request, self.dev.flash.offset_of(at, self.dev.geometry.offset(at)));
        let (mut last, mut pages) = (lead, PageSet::one(at));
        while pages.len() < MAX_PLANES {
            let fits = |next| self.mate_read(next, lead, offset, &pages);
            let Some((next, other)) = self.kernel.first_mate(unit, request, fits) else { break };
            self.kernel.leave_queue(&mut self.features, &self.rules, next, unit);
            self.charge_wait(next, unit, &self.kernel.turn(self.now, next, unit));
            self.kernel.ops[last].mate = next;
            last = next;
            let tag = self.kernel.load(&mut self.dev, &mut self.features, &self.oracle, &self.rules, next, other);
            if self.host.notes_reads(&self.oracle, &self.rules) {
                self.kernel.note_flash_read(&self.dev, &self.features, &mut self.oracle, &self.rules, next, tag);
            }
            burst = burst + self.kernel.read_burst(&self.dev, &self.rules, next);
            pages.push(other);
            let mate = &mut self.kernel.ops[next];
            mate.verb = Verb::Read;
            mate.pages = PageSet::one(other);
        }
        let places = &self.dev.places(&pages)[..pages.len()];
        (pages.len() as u64, self.dev.timing.legs(Command::Read { pages: places, burst, decoded: false }))
    }

    /// The page that the next operation in the queue reads, if it can share a multi-plane read of its request with `pages`.
    pub(in crate::engine) fn mate_read(&self, next: OpId, lead: OpId, offset: u32, pages: &[Ppn]) -> Option<Ppn> {
        if self.kernel.ops[next].need != self.kernel.ops[lead].need
            || self.host.lacks(&self.kernel, next) != self.host.lacks(&self.kernel, lead)
            || self.features.reads_copy(&self.kernel, next)
            || apart::waits_to_repeat(self, next)
        {
            return None;
        }
        let at = self.page_to_read(next)?;
        let geometry = &self.dev.geometry;
        let plane = geometry.plane_of(at);
        let first = geometry.plane_of(pages[0]);
        let fits = self.dev.flash.offset_of(at, geometry.offset(at)) == offset
            && geometry.die_of(plane) == geometry.die_of(first)
            && pages.iter().all(|other| geometry.plane_of(*other) != plane);
        fits.then_some(at)
    }

    /// Adds pages to a multi-plane program, as long as their planes' write points have the same offset: the following pages of the
    /// same request, or the next write-backs of the write cache. Returns all pages that are programmed.
    #[inline(never)]
    pub(in crate::engine) fn mate_writes(&mut self, lead: OpId, at: Ppn, unit: UnitId) -> PageSet {
        let offset = self.dev.flash.offset_of(at, self.dev.geometry.offset(at));
        let request = self.kernel.ops[lead].request;
        let die = self.dev.geometry.die_of(self.kernel.ops[lead].plane);
        let lines = self.kernel.ops[lead].class == Class::Cache;
        let class = if lines { Class::Cache } else { Class::Host };
        let (mut pages, mut last) = (PageSet::one(at), lead);
        while pages.len() < MAX_PLANES {
            let fits = |plane: PlaneId| {
                self.dev.geometry.die_of(plane) == die
                    && pages.iter().all(|page| self.dev.geometry.plane_of(*page) != plane)
                    && streams::stands_for_plane(&self.dev.flash, &self.rules, plane, offset)
            };
            let stands = |plane: PlaneId, mate: OpId| {
                streams::stands_for_page(&self.dev.flash, &self.kernel.ops, &self.rules, mate, plane, offset)
            };
            let joins = |page: &Op| page.class == class && page.need == Need::Write && page.request == request;
            let mate = if self.rules.dynamic {
                // Any plane can serve any of these pages, so the first one is used.
                let next = self.host.anywhere.head();
                let mut planes =
                    (0..self.dev.geometry.planes_per_unit).map(|k| self.dev.geometry.plane_of_unit(unit, k));
                (next.is_some() && joins(&self.kernel.ops[next]))
                    .then(|| planes.find(|p| fits(*p) && stands(*p, next)))
                    .flatten()
                    .map(|p| (next, p))
            } else {
                let fitting = |next| {
                    let page = &self.kernel.ops[next];
                    (joins(page) && fits(page.plane) && stands(page.plane, next)).then_some(page.plane)
                };
                if lines {
                    self.kernel.first_line(&self.dev, unit, fits, fitting)
                } else {
                    self.kernel.first_mate(unit, request, fitting)
                }
            };
            let Some((next, plane)) = mate else { break };
            self.takes_along(next, lead, unit, plane);
            let stream = self.kernel.ops.host_stream(next);
            let at = self.dev.flash.take_page(plane, stream, false).expect("the offset was offered");
            let of = (&self.kernel.ops, &self.host.requests);
            streams::count_program(&mut self.features, &self.dev.flash, of, &self.rules, next, at);
            self.dev.stirs_buffer(&self.rules, plane);
            if lines {
                self.features.line_selected(&mut self.kernel, &mut self.oracle, next);
            } else if self.oracle.tracks_sectors() {
                self.kernel.compose(&self.dev, &mut self.oracle, &self.config, next);
            }
            self.kernel.ops[next].pages = PageSet::one(at);
            self.kernel.ops[next].verb = Verb::Program;
            self.kernel.ops[last].mate = next;
            last = next;
            pages.push(at);
        }
        pages
    }

    /// A page leaves its queue for a multi-plane program, and its wait is charged.
    pub(in crate::engine) fn takes_along(&mut self, next: OpId, lead: OpId, unit: UnitId, plane: PlaneId) {
        let lines = self.kernel.ops[next].class == Class::Cache;
        if self.rules.dynamic {
            self.host.anywhere.pop(&self.kernel.ops);
            self.kernel.go_to(&self.dev, next, unit, plane);
            if lines {
                self.kernel.charge_anywhere(&mut self.features, &self.rules, self.now, next);
                return;
            }
            // It has waited exactly as long as its lead, for the same dies.
            self.kernel.ops[Page(next)].blame = self.kernel.ops[Page(lead)].blame.clone();
            self.kernel.charge_same_extras(&self.rules, next, lead);
            self.kernel.share_same(&self.rules, next, lead);
        } else {
            self.kernel.leave_queue(&mut self.features, &self.rules, next, unit);
            self.charge_wait(next, unit, &self.kernel.turn(self.now, next, unit));
        }
    }
}
