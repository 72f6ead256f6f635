//! Closed loops: a tenant keeps a number of requests outstanding, and its next one arrives when one of them completes. Requests with
//! times of their own may have a bound of outstanding ones instead: then they arrive at their times, or later.

use std::collections::VecDeque;

use crate::engine::spine::pause::Pause;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Features, Host, Ssd};
use crate::request::{Extent, Marks, Outstanding, Request, Think};
use crate::units::Nanos;

/// Requests submitted in advance, at least: more than arrive in one nanosecond, as a rule.
const RING: usize = 64;

/// The loop of a tenant.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    depth: u32,
    /// Whether a request arrives at its own time, if there is room by then.
    timed: bool,
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
        match self.ring.front().filter(|_| self.outstanding < self.depth) {
            Some((next, _)) if self.timed => next.request.arrival,
            Some(_) => self.pause.as_ref().map_or(Nanos::ZERO, Pause::ends),
            None => Nanos::NEVER,
        }
    }
}

/// The loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops {
    by_tenant: Vec<Option<Loop>>,
    /// Whether any of them sends at a time, after a pause or at that of its requests.
    timed: bool,
}

impl Loops {
    pub(super) fn exist(&self) -> bool {
        !self.by_tenant.is_empty()
    }

    pub(super) fn timed(&self) -> bool {
        self.timed
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

    /// When the first request arrives after a pause that has not ended, or at a time of its own that has not come.
    pub(super) fn next_time(&self, now: Nanos) -> Nanos {
        let ends = self.by_tenant.iter().flatten().filter(|own| own.timed || own.pause.is_some()).map(Loop::sends_at);
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

impl Features {
    /// Whether any tenant is a closed loop.
    pub(in crate::engine) fn has_loops(&self) -> bool {
        self.nvme.as_ref().is_some_and(|nvme| nvme.loops.by_tenant.iter().any(Option::is_some))
    }

    pub(in crate::engine) fn set_think_of(&mut self, tenant: u8, think: Think) {
        let loops = &mut self.nvme_mut().loops;
        loops.timed = true;
        loops.of(tenant).expect("law: a tenant with a loop").pause = Some(Pause::new(think));
    }
}

impl Host {
    /// The next request of a tenant's loop arrives at a time, or never.
    pub(super) fn loop_sends_at(&mut self, now: Nanos, at: Nanos) {
        if at <= now {
            self.stirred = true;
        } else {
            self.pause_ends = self.pause_ends.min(at);
        }
    }
}

impl Ssd {
    /// Requests of these tenants are submitted by [`Ssd::submit_next`]: so many are outstanding. Requests of the others arrive at their
    /// times.
    ///
    /// # Panics
    /// If tenants have no names, requests have been submitted, or a number is 0.
    pub fn set_loops(&mut self, loops: &[Option<Outstanding>]) {
        law!(self.next_event() == Nanos::NEVER && self.completed() == 0, "loops are set before the first request");
        let new = |outstanding| {
            let (depth, timed) = match outstanding {
                Outstanding::Kept(depth) => (depth, false),
                Outstanding::AtMost(depth) => (depth, true),
            };
            law!(depth > 0, "a loop of no requests never begins");
            Loop { depth, timed, outstanding: 0, ring: VecDeque::new(), ended: false, pause: None }
        };
        let by_tenant: Vec<Option<Loop>> = loops.iter().map(|one| one.map(new)).collect();
        let timed = by_tenant.iter().flatten().any(|own| own.timed);
        self.features.nvme_mut().loops = Loops { by_tenant, timed };
    }

    /// The first tenant whose loop takes another request before the simulation goes on.
    pub fn wants(&self) -> Option<u8> {
        let loops = &self.features.nvme.as_ref()?.loops.by_tenant;
        loops.iter().position(|own| own.as_ref().is_some_and(Loop::has_room)).map(|tenant| tenant as u8)
    }

    /// Submits the next request of a tenant with a loop. Its arrival counts only where outstanding requests are bounded. Without extents it is contiguous.
    ///
    /// # Panics
    /// As [`Ssd::submit_marked`], and if the tenant has no loop.
    pub fn submit_next(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let waiting = self.host.checked(&self.dev, &self.rules, request, marks, extents);
        let extents = self.host.take_last_extents(&waiting);
        self.host.looped += 1;
        self.features.count_submitted(&mut self.host, &self.rules, &request);
        let own = self.features.nvme_mut().loops.of(marks.tenant).expect("law: a tenant with a loop");
        own.ring.push_back((waiting, extents));
        let at = own.sends_at();
        self.host.loop_sends_at(self.now, at);
    }

    /// A tenant with a loop has no more requests.
    pub fn end_loop(&mut self, tenant: u8) {
        let own = self.features.nvme_mut().loops.of(tenant);
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
