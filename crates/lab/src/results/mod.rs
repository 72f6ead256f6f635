//! Optional results of a run besides its summary: rows per request, window of time or block, and timelines.

pub mod blocks;
pub mod counted;
pub mod dies;
pub mod histograms;
pub mod perfetto;
pub mod requests;
pub mod series;
pub mod sheet;
pub mod timeline;
