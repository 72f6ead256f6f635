//! Pages that take a fixed time and occupy no shared resource: served from controller memory, or in the decoder.

use crate::blame::Cause;
use crate::config::Config;
use crate::device::transaction::{Class, Need};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::{Host, Nanos, Ssd};
use crate::policy::PageSet;
use crate::units::{Moment, OpId};

impl Host {
    /// Reports an uncorrectable page to its request.
    #[inline(never)]
    pub(in crate::engine) fn report_uncorrectable(&mut self, kernel: &Kernel, op: OpId) {
        let request = kernel.ops[op].request;
        self.requests.end_mut(request).uncorrectable += 1;
    }

    /// The oldest page in controller memory has been served. Returns it.
    #[inline(always)]
    pub(in crate::engine) fn memory_ends(&mut self, kernel: &mut Kernel) -> OpId {
        let (_, op) = self.memory.pop_front().expect("a page is being served");
        if let Some((time, _)) = self.memory.front() {
            let time = *time;
            kernel.timers.set(Timer::Memory, time);
        }
        op
    }

    /// The oldest page in the decoder has been decoded: all take the same time. Returns it.
    #[inline(always)]
    pub(in crate::engine) fn decode_ends(&mut self, kernel: &mut Kernel) -> OpId {
        let (_, op) = self.decoding.pop_front().expect("a page is being decoded");
        if let Some((time, _)) = self.decoding.front() {
            let time = *time;
            kernel.timers.set(Timer::Decoder, time);
        }
        op
    }

    /// A page is served from controller memory. Returns whether that takes no time: its data is known by now.
    #[inline(always)]
    pub(in crate::engine) fn begin_in_memory(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId) -> bool {
        let time = self.memory_time;
        let page = &mut kernel.ops[Page(op)];
        page.first_start.get_or_insert(Moment::at(now));
        page.blame.add(Cause::Memory, time.0);
        kernel.ops[op].pages = PageSet::EMPTY;
        if time == Nanos::ZERO {
            return true;
        }
        self.memory.push_back((now + time, op));
        if self.memory.len() == 1 {
            kernel.timers.set(Timer::Memory, now + time);
        }
        false
    }

    /// A page that was read for the host has left its die: it is decoded, which takes `ecc.decode` and occupies nothing. Returns whether that
    /// takes no time: its data is known by now.
    #[inline(always)]
    pub(in crate::engine) fn decode(&mut self, kernel: &mut Kernel, config: &Config, now: Nanos, op: OpId) -> bool {
        let time = config.ecc.decode;
        if time == Nanos::ZERO {
            return true;
        }
        kernel.ops[Page(op)].blame.add(Cause::Decode, time.0);
        self.decoding.push_back((now + time, op));
        if self.decoding.len() == 1 {
            kernel.timers.set(Timer::Decoder, now + time);
        }
        false
    }
}

impl Ssd {
    /// Serves a page of a request from controller memory.
    pub(in crate::engine) fn serve_from_memory(&mut self, op: OpId) {
        if self.host.begin_in_memory(&mut self.kernel, self.now, op) {
            self.leaves(op);
        }
    }

    /// A page's data is in the controller: it goes to the host, over the host link if there is one.
    #[inline(always)]
    pub(in crate::engine) fn leaves(&mut self, op: OpId) {
        if !self.features.is_acknowledged(&mut self.kernel, &self.dev, &self.rules, self.now, op) {
            return;
        }
        if self.kernel.ops[op].need == Need::Read
            && let Some(bus) = self.kernel.link_to_cross(&self.dev, op, false)
        {
            return self.ask(op, bus);
        }
        self.page_done(op);
        self.host.release(&mut self.kernel, &mut self.oracle, op);
    }

    /// A page's data is known to the controller: it goes to the host, or is merged with a host write.
    #[inline(always)]
    pub(in crate::engine) fn decoded(&mut self, op: OpId) {
        if self.kernel.ops[op].need == Need::Read {
            self.leaves(op)
        } else if self.kernel.ops[op].class == Class::Cache {
            self.fill_ends(op)
        } else {
            self.merge(op);
            self.host.runs.release(op);
        }
    }

    /// The rest of a write's page is known to the controller: it is a plain write from now on.
    pub(in crate::engine) fn merge(&mut self, op: OpId) {
        if let Some(newest) = self.kernel.merged_write(&self.dev, &self.rules, op) {
            self.discard_old(newest);
        }
        let (kernel, oracle) = (&mut self.kernel, &mut self.oracle);
        self.host.merge_ends(kernel, &self.features, oracle, &self.rules, self.now, op);
    }
}
