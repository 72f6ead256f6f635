//! Trims of pages that the write cache may have.

use crate::engine::Ssd;
use crate::units::Lpn;

/// A page is trimmed: its lines and the writes that wait for one hold nothing that must reach flash. Nothing without a write cache.
#[inline(always)]
pub(in crate::engine) fn drops_lines(ssd: &mut Ssd, lpn: Lpn) {
    if ssd.rules.caches {
        ssd.trim_cached(lpn);
    }
}

/// A page has been trimmed: writes that wait for lines may get some. Nothing where the cache takes no writes.
#[inline(always)]
pub(in crate::engine) fn serves_waiting(ssd: &mut Ssd) {
    if ssd.rules.buffers {
        ssd.serve_waiting();
    }
}
