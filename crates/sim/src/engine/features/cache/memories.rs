//! Where controller memory holds versions of a page: lines, and writes that wait for one.

use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::Device;
use crate::engine::features::cache::{LINES, WAITING};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_LINE, Page};
use crate::engine::rules::Rules;
use crate::oracle::Oracle;
use crate::units::{Lpn, OpId, Ppn};

impl Kernel {
    /// The oracle's key for what controller memory holds of a page whose newest version is this operation.
    pub(in crate::engine) fn memory_of(&self, newest: OpId) -> u32 {
        match self.ops[newest].class {
            Class::Cache => LINES | self.ops.cached[newest].line,
            _ => WAITING | newest.0,
        }
    }

    /// The oracle's key for what controller memory holds over the page on flash, of a page whose newest version is this operation: that
    /// of its line or of its write with a write cache that takes writes, otherwise that of the run.
    #[inline(always)]
    pub(in crate::engine) fn memory_beside_flash(&self, rules: &Rules, newest: OpId) -> u32 {
        if rules.buffers { self.memory_of(newest) } else { self.ops[Page(newest)].run }
    }

    /// The oracle's keys for what an operation may have in controller memory, in whatever state it is.
    pub(in crate::engine) fn memories(&self, rules: &Rules, op: OpId, run: u32) -> Vec<u32> {
        let mut keys = vec![run, WAITING | op.0];
        if rules.caches && self.ops.cached[op].line != NO_LINE {
            keys.push(LINES | self.ops.cached[op].line);
        }
        keys
    }

    /// The old page on flash that a page's newest version, which is not there yet, keeps; or none.
    pub(super) fn kept_page(&self, dev: &Device, lpn: Lpn) -> Ppn {
        match dev.map.get(lpn) {
            Location::Staged(newest) => self.ops[Page(newest)].old,
            _ => Ppn::NONE,
        }
    }

    /// The oracle's keys for a page with a line: the line, and the writes over it that wait for one.
    pub(super) fn memories_of(&self, dev: &Device, oracle: &Oracle, lpn: Lpn, line: u32) -> Vec<u32> {
        let mut keys = vec![LINES | line];
        if !oracle.tracks_sectors() {
            return keys;
        }
        let mut at = match dev.map.get(lpn) {
            Location::Staged(newest) if self.ops[newest].class == Class::Host => newest,
            _ => OpId::NONE,
        };
        while at.is_some() {
            keys.push(WAITING | at.0);
            at = self.ops.cached[at].behind;
        }
        keys
    }

    /// A write becomes the content of a line: the map, and a newer write that waits, refer to the line from now on.
    pub(super) fn hand_over_page(&mut self, dev: &mut Device, op: OpId, carrier: OpId) {
        let lpn = self.ops[op].lpn;
        let Location::Staged(newest) = dev.map.get(lpn) else {
            panic!("law: a write that is not on flash yet is in the map")
        };
        if newest == op {
            let (old, age) = (self.ops[Page(op)].old, self.ops[Page(op)].old_age);
            self.ops[Page(op)].old = Ppn::NONE;
            (self.ops[Page(carrier)].old, self.ops[Page(carrier)].old_age) = (old, age);
            return dev.map.set(lpn, Location::Staged(carrier));
        }
        let mut at = newest;
        while self.ops.cached[at].behind != op {
            at = self.ops.cached[at].behind;
        }
        self.ops.cached[at].behind = OpId::NONE;
    }
}
