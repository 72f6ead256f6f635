//! Optional results of a run: its summary, rows per request, window of time or block, timelines, its cost. Each file holds a
//! `product::Product`.

pub mod blocks;
pub mod cost;
pub mod counted;
pub mod dies;
mod handles;
pub mod histograms;
mod life;
pub mod perfetto;
pub mod requests;
pub mod series;
pub mod sheet;
pub mod summary;
pub mod timeline;
