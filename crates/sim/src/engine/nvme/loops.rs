//! Closed loops: a tenant keeps a number of requests outstanding, and its next one arrives when one of them completes.

use std::collections::VecDeque;

use crate::engine::Ssd;
use crate::engine::spine::pause::Pause;
use crate::engine::spine::ring::Waiting;
use crate::request::{Extent, Marks, Request, Think};
use crate::units::Nanos;

/// Requests submitted in advance, at least: more than arrive in one nanosecond, as a rule.
const RING: usize = 64;

/// The loop of a tenant.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    depth: u32,
    /// Requests that have arrived and not completed.
    outstanding: u32,
    /// Requests that have not arrived.
    ring: VecDeque<(Waiting, Vec<Extent>)>,
    /// Whether there are no more than those of the ring.
    ended: bool,
    pause: Option<Pause>,
}

impl Loop {
    fn has_room(&self) -> bool {
        !self.ended && self.ring.len() < RING.max(2 * self.depth as usize)
    }

    /// When its next request may arrive, if there is one.
    fn sends_at(&self) -> Nanos {
        match self.outstanding < self.depth && !self.ring.is_empty() {
            true => self.pause.as_ref().map_or(Nanos::ZERO, Pause::ends),
            false => Nanos::NEVER,
        }
    }
}

/// The loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops {
    by_tenant: Vec<Option<Loop>>,
    /// Whether any of them pauses.
    pause: bool,
}

impl Loops {
    pub(super) fn exist(&self) -> bool {
        !self.by_tenant.is_empty()
    }

    pub(super) fn pause(&self) -> bool {
        self.pause
    }

    fn of(&mut self, tenant: u8) -> Option<&mut Loop> {
        self.by_tenant.get_mut(usize::from(tenant)).and_then(Option::as_mut)
    }

    /// The next request that arrives: tenants in turn of their numbers.
    pub(super) fn arrival(&mut self, now: Nanos) -> Option<(Waiting, Vec<Extent>)> {
        let due = self.by_tenant.iter_mut().flatten().find(|one| one.sends_at() <= now)?;
        due.outstanding += 1;
        due.pause.iter_mut().for_each(Pause::arrived);
        due.ring.pop_front()
    }

    /// A request of a tenant has completed. Returns when another one arrives for it.
    pub(super) fn completed(&mut self, tenant: u8, now: Nanos) -> Nanos {
        let Some(own) = self.of(tenant) else { return Nanos::NEVER };
        own.outstanding -= 1;
        let left = own.outstanding;
        own.pause.iter_mut().for_each(|pause| pause.completed(left, now));
        own.sends_at()
    }

    /// When the first pause ends of those that have not ended.
    pub(super) fn pause_ends(&self, now: Nanos) -> Nanos {
        let ends = self.by_tenant.iter().flatten().filter(|own| own.pause.is_some()).map(Loop::sends_at);
        ends.filter(|at| *at > now).min().unwrap_or(Nanos::NEVER)
    }

    /// Power is cut: of each tenant, only requests that wait outside are left.
    pub(super) fn power_cut(&mut self, now: Nanos, outside: impl Fn(usize) -> u32) {
        for (tenant, own) in self.by_tenant.iter_mut().enumerate() {
            if let Some(own) = own {
                own.outstanding = outside(tenant);
                let left = own.outstanding;
                own.pause.iter_mut().for_each(|pause| pause.power_cut(left, now));
            }
        }
    }
}

impl Ssd {
    /// Tenants with a depth keep that many requests outstanding ([`Ssd::submit_next`]); requests of the others arrive at their times.
    ///
    /// # Panics
    /// If tenants have no names, requests have been submitted, or a depth is 0.
    pub fn set_loops(&mut self, depths: &[Option<u32>]) {
        law!(self.next_event() == Nanos::NEVER && self.completed() == 0, "loops are set before the first request");
        law!(depths.iter().all(|depth| *depth != Some(0)), "a loop of no requests never begins");
        let new = |depth| Loop { depth, outstanding: 0, ring: VecDeque::new(), ended: false, pause: None };
        self.nvme_mut().loops = Loops { by_tenant: depths.iter().map(|depth| depth.map(new)).collect(), pause: false };
    }

    /// Whether any tenant is a closed loop.
    pub(in crate::engine) fn has_loops(&self) -> bool {
        self.features.nvme.as_ref().is_some_and(|nvme| nvme.loops.by_tenant.iter().any(Option::is_some))
    }

    /// The first tenant whose loop takes another request before the simulation goes on.
    pub fn wants(&self) -> Option<u8> {
        let loops = &self.features.nvme.as_ref()?.loops.by_tenant;
        loops.iter().position(|own| own.as_ref().is_some_and(Loop::has_room)).map(|tenant| tenant as u8)
    }

    /// Submits the next request of a tenant with a loop, whatever its arrival. Without extents it is contiguous.
    ///
    /// # Panics
    /// As [`Ssd::submit_marked`], and if the tenant has no loop.
    pub fn submit_next(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let waiting = self.checked(request, marks, extents);
        let extents = self.host.take_last_extents(&waiting);
        self.host.looped += 1;
        self.count_submitted(&request);
        let own = self.nvme_mut().loops.of(marks.tenant).expect("law: a tenant with a loop");
        own.ring.push_back((waiting, extents));
        let at = own.sends_at();
        self.loop_sends_at(at);
    }

    /// The next request of a tenant's loop arrives at a time, or never.
    pub(super) fn loop_sends_at(&mut self, at: Nanos) {
        if at <= self.now {
            self.host.stirred = true;
        } else {
            self.host.pause_ends = self.host.pause_ends.min(at);
        }
    }

    pub(in crate::engine) fn set_think_of(&mut self, tenant: u8, think: Think) {
        let loops = &mut self.nvme_mut().loops;
        loops.pause = true;
        loops.of(tenant).expect("law: a tenant with a loop").pause = Some(Pause::new(think));
    }

    /// A tenant with a loop has no more requests.
    pub fn end_loop(&mut self, tenant: u8) {
        let own = self.nvme_mut().loops.of(tenant);
        own.into_iter().for_each(|own| own.ended = true);
    }

    /// Handles the events of at most `times` times, until a loop takes another request, or, unless all requests that arrive at their
    /// times have been submitted, the ring is at most half full. False: that is so, or nothing is left to do.
    pub fn run_towards_wants(&mut self, times: u32, all_submitted: bool) -> bool {
        (0..times).all(|_| {
            let room = !all_submitted && !self.host.crowded();
            !room && self.wants().is_none() && self.advance(Nanos::NEVER)
        })
    }
}
