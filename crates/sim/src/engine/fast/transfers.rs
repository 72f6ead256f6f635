//! Shared transfers: a transfer into a held die and the array time after it share an event, on devices whose other keys close
//! [`super::legs`].
//!
//! The end of such a transfer is an event only for an operation that it concerns: a write that is acknowledged then, a program that
//! may move from the cache register to the array or follow the data into the register, or reads that may suspend the array from
//! then on. Operations that arrive during the transfer give its end the event back.

use crate::blame::Cause;
use crate::config::{Config, WriteAck};
use crate::device::command::LegKind;
use crate::device::transaction::{Class, Verb};
use crate::engine::fast::FastPaths;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Suspension;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features};
use crate::units::{Nanos, OpId, UnitId};

impl Kernel {
    /// Whether the end of a host program's transfer acknowledges a write, or lets another operation of its die begin.
    #[inline(always)]
    fn host_sees_end(&self, rules: &Rules, config: &Config, id: OpId) -> bool {
        let op = &self.ops[id];
        if op.class == Class::Host && config.device.write_ack == WriteAck::AfterTransfer {
            return true;
        }
        let state = &self.dies[op.unit];
        config.timing.cache_register && (state.array() != id || !state.queue.is_empty() || rules.looks)
    }

    /// The operation of a unit whose transfer is in progress and shares an event with the array, and its array time.
    #[inline(always)]
    fn shared_transfer(&self, fast: &FastPaths, now: Nanos, unit: UnitId) -> Option<(OpId, Nanos)> {
        let state = &self.dies[unit];
        let (id, end) = (state.array(), self.timers.get(Timer::Array(unit)));
        // While a suspension begins or ends, the event of the array is that end.
        let own = matches!(state.suspension(), Suspension::No | Suspension::Serving);
        if id.is_none() || !own || end == Nanos::NEVER || !fast.transfers {
            return None;
        }
        let op = &self.ops[id];
        let leg = op.legs.get(op.leg).filter(|leg| op.leg > 0 && leg.kind == LegKind::Array)?;
        (end > now + leg.time).then_some((id, leg.time))
    }

    /// If the transfer of a unit's operation shares an event with the array and has not ended, its end is an event from now on.
    /// Returns whether it is one.
    fn parts_transfer(&mut self, fast: &FastPaths, now: Nanos, unit: UnitId) -> bool {
        let Some((id, array)) = self.shared_transfer(fast, now, unit) else { return false };
        let bus = self.ops[id].channel.ix();
        let mut at = id;
        while at.is_some() && self.ops[at].class.like_host() {
            law!(!self.ops[at].acknowledged, "law: a write is acknowledged by an event");
            self.ops[Page(at)].blame.take_back(Cause::Array, array.0);
            at = self.ops[at].mate;
        }
        self.ops[id].leg -= 1;
        self.timers.clear(Timer::Array(unit));
        let until = self.buses[bus].until;
        debug_assert!(self.buses[bus].holder.is_none() && until > now);
        self.buses[bus].holder = id;
        self.timers.set(Timer::Bus(bus), until);
        true
    }

    /// Operations wait for a unit. Whether its operation is in the array by now; one that is not, because its transfer shares an event
    /// with the array, gets the event of the transfer's end back.
    #[inline(always)]
    pub(in crate::engine) fn is_in_array(&mut self, fast: &FastPaths, now: Nanos, unit: UnitId) -> bool {
        let op = &self.ops[self.dies[unit].array()];
        op.legs.get(op.leg).is_some_and(|leg| leg.kind == LegKind::Array) && !self.parts_transfer(fast, now, unit)
    }

    /// The same on every device: by other rules the end may concern anything.
    pub(super) fn part_all_transfers(&mut self, dev: &Device, fast: &FastPaths, now: Nanos) {
        if fast.transfers {
            (0..dev.geometry.units).map(UnitId).for_each(|unit| _ = self.parts_transfer(fast, now, unit));
        }
    }

    /// Whether the end of an operation's transfer into its die concerns nothing.
    #[inline(never)]
    fn ends_unseen(&self, features: &Features, rules: &Rules, config: &Config, id: OpId) -> bool {
        let op = &self.ops[id];
        if op.verb == Verb::Read {
            return true;
        }
        let seen = op.class.like_host() && self.host_sees_end(rules, config, id);
        !(seen || rules.suspends && features.waiting(op.unit).any_read())
    }

    /// The channel has been granted to an operation whose next leg is the array's. Whether both end in one event.
    #[inline(always)]
    pub(in crate::engine) fn shares_event(
        &self,
        features: &Features,
        fast: &FastPaths,
        rules: &Rules,
        config: &Config,
        id: OpId,
    ) -> bool {
        fast.legs || fast.transfers && self.ends_unseen(features, rules, config, id)
    }
}
