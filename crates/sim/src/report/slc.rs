//! Report of the cache of SLC.

use serde::Serialize;

/// Folds by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Folds {
    /// The die was idle for `slc.idle`.
    pub idle: u64,
    /// The cache was full to `slc.high`.
    pub watermark: u64,
    /// A write waited.
    pub forced: u64,
}

/// The cache of SLC, in the measured part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlcReport {
    /// Programs of the host's pages, and of the write cache's, in the cache.
    pub host_pages: u64,
    /// The same in other blocks.
    pub direct_pages: u64,
    /// Blocks that were folded.
    pub folds: Folds,
    /// Pages that were moved to other blocks.
    pub folded_pages: u64,
    /// Pages that were stale when their block was folded: they cost nothing.
    pub dropped_stale: u64,
    /// Pages that were moved to another block of the cache (`slc.reads`).
    pub kept: u64,
    /// Open blocks that were folded before they were full.
    pub closed_early: u64,
    /// Erases of blocks of the cache.
    pub erases: u64,
    /// Most programmed pages of the cache at a time, stale ones included.
    pub high_water_pages: u64,
    /// The same at the end.
    pub used_pages: u64,
}
