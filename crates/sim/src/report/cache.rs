//! Report of the write cache.

use serde::Serialize;

/// Write-backs by reason. A line counts once each time it is written back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriteBacks {
    /// At once (`cache.writeback = "eager"`).
    pub eager: u64,
    /// From `cache.high` dirty lines on.
    pub watermark: u64,
    /// On idle dies.
    pub idle: u64,
    /// For a flush.
    pub flush: u64,
    /// For a write with forced unit access.
    pub fua: u64,
    /// At the end of the run.
    pub drain: u64,
    /// Held for `cache.hold`; absent without that key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<u64>,
}

/// The write cache: pages, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Lines.
    pub lines: u64,
    /// Pages of reads served from the cache: from a line, or from a write on its way into or out of one.
    pub hits: u64,
    /// Pages of reads that went to flash.
    pub misses: u64,
    /// Page writes that replaced a dirty line, so that nothing was programmed for the older one.
    pub absorbed: u64,
    /// Dirty lines and waiting writes that a trim discarded before they were programmed.
    pub trimmed: u64,
    /// Page writes that waited for a line.
    pub waited: u64,
    /// Lines written back, by reason.
    pub write_backs: WriteBacks,
    /// Reads of what lines lacked.
    pub fill_reads: u64,
    /// Most dirty lines at a time.
    pub dirty_max: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Writes with forced unit access completed.
    pub fua_writes: u64,
}
