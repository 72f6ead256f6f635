//! What a run may leave beside its summary: rows of requests, of windows of time and of blocks, and timelines.

pub mod blocks;
pub mod perfetto;
pub mod requests;
pub mod series;
pub mod sheet;
pub mod timeline;
