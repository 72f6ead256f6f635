//! The points at which the spine asks the write cache. Without one, nothing happens there.

use crate::engine::kernel::timers::Timers;
use crate::engine::rules::Rules;
use crate::engine::spine::ring::Waiting;
use crate::engine::{Features, Host, Ssd};
use crate::request::{Marks, Request};
use crate::units::{Lpn, Nanos, OpId};

impl Features {
    /// A request is submitted: it is not the last one that was announced.
    #[inline(always)]
    pub(in crate::engine) fn more_arrivals(&mut self, rules: &Rules) {
        if rules.buffers {
            self.cache.iter_mut().for_each(|cache| cache.more_arrivals());
        }
    }

    /// Measuring starts: work of the cache so far does not count.
    pub(in crate::engine) fn restart_cache(&mut self) {
        self.cache.iter_mut().for_each(|cache| cache.restart());
    }

    /// A host write is admitted that the cache does not take: its page's line holds an old version, and is free from now on.
    #[inline(always)]
    pub(in crate::engine) fn drop_clean_line(&mut self, lpn: Lpn) {
        if let Some(cache) = &mut self.cache {
            cache.drop_clean(lpn);
        }
    }

    /// The sectors that a page's clean line has, as words of bits, which are 0 without a line; `None` without a cache.
    #[inline(always)]
    pub(in crate::engine) fn sectors_of_line(&self, lpn: Lpn) -> Option<Vec<u64>> {
        self.cache.as_ref().map(|cache| cache.sectors_of(lpn))
    }

    /// Lines that have been held long enough are written back at once.
    pub(in crate::engine) fn end_holds(&mut self, timers: &mut Timers, now: Nanos) {
        self.cache.iter_mut().for_each(|cache| cache.end_holds(timers, now));
    }
}

impl Host {
    /// A flush that is submitted, which only a device with a write cache may be.
    pub(in crate::engine) fn flush(rules: &Rules, request: Request, marks: Marks) -> Waiting {
        law!(rules.caches, "a device without a write cache has nothing to flush");
        Waiting { marks, ..Waiting::together(request, Lpn(0)) }
    }
}

impl Ssd {
    /// Whether it has a write cache, so that flushes are requests like others. Otherwise they are skipped ([`Ssd::skip`]).
    pub fn flushes(&self) -> bool {
        self.rules.caches
    }
}

/// A page read is admitted. Returns whether it waits for flash; `None` if it is served as without a cache.
#[inline(always)]
pub(in crate::engine) fn admits_read(ssd: &mut Ssd, op: OpId, lpn: Lpn, measured: bool) -> Option<bool> {
    if ssd.rules.caches { ssd.read_cached(op, lpn, measured) } else { None }
}

/// A host write is admitted. Returns whether the cache takes it; otherwise it goes to flash as without a cache.
#[inline(always)]
pub(in crate::engine) fn admits_write(ssd: &mut Ssd, op: OpId, measured: bool) -> bool {
    ssd.rules.caches && ssd.write_cached(op, measured)
}

/// The host has read a page from flash. `good`: ECC could correct it, so the cache may keep its sectors in a line.
#[inline(always)]
pub(in crate::engine) fn is_read(ssd: &mut Ssd, id: OpId, good: bool) {
    if ssd.rules.caches && good && ssd.features.read_brings(&ssd.kernel, &ssd.dev, &mut ssd.oracle, ssd.now, id) {
        ssd.discard_kept(ssd.kernel.ops[id].lpn);
    }
}

/// A host write that has bypassed the cache has been programmed. `newest`: it is the newest version of its page.
#[inline(always)]
pub(in crate::engine) fn write_ends(ssd: &mut Ssd, id: OpId, lpn: Lpn, newest: bool) {
    if ssd.rules.caches {
        if ssd.features.bypass_ends(&ssd.kernel, id) {
            ssd.end_flushes();
        }
        if newest {
            ssd.features.written_through(ssd.now, lpn);
        }
    }
}
