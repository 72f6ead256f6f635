//! The round: what happens at one time, in its order, and the points at which the spine asks features.
//!
//! At one time: completions (oldest operation first), arrivals in trace order, collector decisions, dispatch (oldest first), and
//! bus grants (in order of request, ties by age). Rounds repeat until nothing is left to do at that time. The order in which the
//! wheel yields simultaneous events has no effect.
//!
//! # Points
//!
//! | point | in | asked there today |
//! |---|---|---|
//! | a write or a read is admitted | `spine/host.rs` `admit_write`, `admit_read` | streams, partial writes, write cache, buffer, parity, second copies, kept pages, planes in turn |
//! | a page joins a queue | `spine/queue.rs` `send`, `place` | host link, parity, second copies, dynamic placement |
//! | a request waits, and is dispatched | `spine/window.rs` `joins_window`, `dispatch_window` | order, redirects |
//! | an operation reaches the head of its queue, or has run its legs | `lifecycle.rs` `select`, `ends` | every class of operation |
//! | a page of the host reaches the head of its queue | `spine/dispatch.rs` `select_page` | failed chips, redirects, kept pages |
//! | a leg begins, a leg ends | `spine/legs.rs` `run_leg`, `leg_ends` | interconnect, suspension, cache register |
//! | a page of the host has run its legs | `spine/legs.rs` `command_ends`, `page_ends`, `land_written` | interconnect, write-backs, second copies, parity, ECC, read retry, failed programs |
//! | a collection is due, begins, takes a step, ends | `gc/claims.rs` `test_trigger`, `gc/collect.rs` `start_collection`, `step`, `end_collection` | trigger, victim, collector, path, buffer, metadata, preemption, postponement, folds, failed blocks |
//! | a die's next operation; dies that are free at the end of a dispatch | `spine/dispatch.rs` `kick`, `dispatch`; `features/offers.rs` `to_considered_dies`, `to_idle_dies` | queues by class, task queues, write-backs, second copies, folds, refresh |
//! | power is cut, a chip fails | `features/power.rs` `power_cut`; `features/raid/failure.rs` `chip_fails`; `lifecycle.rs` `tear` | every feature with state |
//! | a request completes, a run ends | `spine/complete.rs` `request_done`; `mod.rs` `check_end`; `report.rs` `summary` | reports, every feature |

use crate::engine::fast::FastPaths;
use crate::engine::features::slc::folds::describe_waiting;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Policies, Ssd};
use crate::oracle::{Check, Oracle};
use crate::request::RequestOp;
use crate::stats::Stats;
use crate::units::{Nanos, count};

impl Device {
    /// Dates the blocks that were closed at the current time, where the victim policy reads that.
    #[inline(always)]
    pub(in crate::engine) fn date_closings(&mut self, now: Nanos) {
        if self.flash.has_undated() {
            self.flash.date_closings(now);
        }
    }
}

impl Features {
    /// Whether a fault comes before the events of `time`, which is not before that of the fault. With a write cache, what happens
    /// at the time of a fault happens before it.
    #[cold]
    fn fault_comes(&self, rules: &Rules, now: Nanos, time: Nanos, limit: Nanos) -> bool {
        let fault_at = self.fault_at;
        let first = time > fault_at || !rules.caches;
        let left = time != Nanos::NEVER || rules.caches && fault_at == now;
        first && fault_at <= limit && left
    }

    #[inline(always)]
    fn age_of(&self, host: &Host, kernel: &Kernel, timer: Timer) -> u64 {
        let op = match timer {
            Timer::Array(unit) => kernel.dies[unit].of_event(),
            Timer::Bus(bus) => kernel.buses[bus].holder,
            Timer::Memory => host.memory[0].1,
            // The timeout of a parity group is handled after completions of its time; those of an idle die and of a line belong to
            // the collector decisions.
            Timer::Encode | Timer::Idle | Timer::Hold => return u64::MAX,
            Timer::Decoder => host.decoding[0].1,
            Timer::Delay(slot) => self.delayed(slot),
        };
        // An event that only wakes a bus completes nothing.
        if op.is_none() { 0 } else { kernel.ops[op].age }
    }
}

impl Kernel {
    /// Whether nothing is left to do at the current time.
    #[inline(always)]
    fn settled(&self, host: &Host, gc: &Gc, features: &Features, stats: &Stats, rules: &Rules, now: Nanos) -> bool {
        self.dies.dirty.is_empty()
            && self.buses.dirty.is_empty()
            && gc.ready.is_empty()
            && !host.window_stale
            && features.stripes_settled()
            && features.lines_settled(host, rules)
            && !stats.checkpoint_due()
            && self.timers.next() > now
            && host.next_arrival(now) > now
    }

    /// Several legs end at once: age decides the order.
    pub(in crate::engine) fn sort_batch(&mut self, host: &Host, features: &Features) {
        for i in 0..self.batch.len() {
            self.batch[i] |= u128::from(features.age_of(host, self, self.timers.timer(self.batch[i] as u32))) << 32;
        }
        self.batch.sort_unstable();
    }

    /// A round has ended.
    #[inline(always)]
    pub(in crate::engine) fn end_round(
        &mut self,
        dev: &mut Device,
        features: &Features,
        fast: &FastPaths,
        schemes: &mut Policies,
        rules: &Rules,
        now: Nanos,
    ) {
        self.dies.time_passes(now);
        if features.lines_undecided(rules) {
            self.show_transfers(dev, fast, now);
        }
        dev.tell_victim(schemes, rules, now);
    }

    /// A round has ended: scans all state under the full check, if many events have been handled since the last scan.
    #[inline(always)]
    pub(in crate::engine) fn check_round(
        &mut self,
        dev: &Device,
        gc: &Gc,
        features: &Features,
        oracle: &mut Oracle,
        rules: &Rules,
    ) {
        if oracle.check() == Check::Full && self.events_since_scan >= rules.scan_every {
            self.events_since_scan = 0;
            dev.scan(self, gc, features, oracle, rules);
            self.sweep_sectors(features, oracle);
        }
    }
}

impl Ssd {
    /// Handles the time of the next event. Returns false if there is none up to `limit`.
    #[inline(never)]
    pub(in crate::engine) fn advance(&mut self, limit: Nanos) -> bool {
        self.handle_next(limit)
    }

    /// [`Ssd::advance`] for the loop that most events are handled in.
    #[inline(always)]
    pub(in crate::engine) fn handle_next(&mut self, limit: Nanos) -> bool {
        if self.host.fault.is_some() {
            return false;
        }
        self.dev.date_closings(self.now);
        let (event, arrival) = (self.kernel.timers.next(), self.host.next_arrival(self.now));
        let chain = self.kernel.timers.next_chain();
        let event = event.min(chain);
        let time = event.min(arrival);
        if time >= self.features.fault_at && self.features.fault_comes(&self.rules, self.now, time, limit) {
            let at = self.features.fault_at;
            if at < self.observer.sample_at || self.samples_up_to(at) {
                self.scheduled_fault();
            }
            return true;
        }
        if time > limit || time == Nanos::NEVER {
            return false;
        }
        if time >= self.observer.sample_at && !self.samples_up_to(time) {
            return true;
        }
        if chain == time {
            self.end_chains(time);
        }
        if self.fast.reads && self.host.only(RequestOp::Read) && self.round_of_reads(time) {
            return true;
        }
        if self.fast.skip_rounds() && event < arrival && self.express(event) {
            count(&mut self.kernel.events_since_scan);
        } else {
            self.round(time);
        }
        true
    }

    /// Handles all events at one time.
    pub(in crate::engine) fn round(&mut self, time: Nanos) {
        law!(time >= self.now, "time never goes backwards");
        self.time_comes(time, None);
        self.now = time;
        self.kernel.idle_rounds += 1;
        self.completions();
        self.follow();
    }

    /// The rest of a round, after the first ends of its time.
    #[inline(always)]
    pub(in crate::engine) fn follow(&mut self) {
        loop {
            self.admit();
            if self.rules.yields {
                // An arrival may have disturbed a fused move at its turning point.
                self.completions();
            }
            if self.gc.may_decide(&self.kernel, &self.rules) {
                self.decide();
            }
            if self.rules.buffers {
                self.write_lines_back();
            }
            self.after_decisions();
            if self.kernel.settled(&self.host, &self.gc, &self.features, &self.stats, &self.rules, self.now) {
                break;
            }
            self.kernel.idle_rounds += 1;
            law!(
                self.kernel.idle_rounds < self.rules.scan_every,
                "no request completes: {}",
                self.kernel.describe_waiting(&self.dev, &self.host, &self.gc, &describe_waiting(self), self.now)
            );
            self.completions();
        }
        self.kernel.end_round(&mut self.dev, &self.features, &self.fast, &mut self.schemes, &self.rules, self.now);
        self.kernel.check_round(&self.dev, &self.gc, &self.features, &mut self.oracle, &self.rules);
    }

    /// Collectors have decided: what follows in a round.
    #[inline(always)]
    pub(in crate::engine) fn after_decisions(&mut self) {
        let time = self.now;
        while self.fast.moves && self.kernel.timers.next() == time {
            // A step that began now may have disturbed a fused move: the page has to request the bus too.
            self.completions();
            while let Some(job) = self.gc.oldest_ready(&self.kernel) {
                self.step(job);
            }
        }
        self.kernel.decided_at = time;
        self.dispatch();
        if !self.kernel.buses.dirty.is_empty() {
            self.grant_buses();
        }
        self.kernel.granted_at = time;
    }

    /// Something has happened without a round. If more is left to do at the current time, a round does it.
    #[inline(always)]
    pub(in crate::engine) fn leave_time(&mut self) {
        if self.kernel.settled(&self.host, &self.gc, &self.features, &self.stats, &self.rules, self.now) {
            self.kernel.dies.time_passes(self.now);
        } else {
            self.round(self.now);
        }
    }

    /// Ends the legs that end now, oldest operation first.
    #[inline(always)]
    pub(in crate::engine) fn completions(&mut self) {
        if self.kernel.timers.next() == self.now {
            self.end_legs();
        }
        if self.host.runs.any_released() {
            self.place_merged();
        }
    }

    #[inline(never)]
    fn end_legs(&mut self) {
        while self.kernel.timers.next() == self.now {
            if self.kernel.timers.alone() {
                let timer = self.kernel.timers.pop();
                count(&mut self.kernel.events_since_scan);
                self.leg_ends(timer);
                continue;
            }
            self.kernel.batch.clear();
            self.kernel.timers.take_all(&mut self.kernel.batch);
            self.kernel.events_since_scan += self.kernel.batch.len() as u64;
            if self.fast.lane && (self.host.only(RequestOp::Read) || self.fast.unordered) && self.kernel.all_in_lane() {
                if self.observer.shows_completions() {
                    self.kernel.sort_batch(&self.host, &self.features);
                }
                self.lane_batch_ends();
                continue;
            }
            self.kernel.sort_batch(&self.host, &self.features);
            for i in 0..self.kernel.batch.len() {
                self.leg_ends(self.kernel.timers.timer(self.kernel.batch[i] as u32));
            }
        }
    }
}
