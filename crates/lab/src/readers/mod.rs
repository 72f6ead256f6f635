//! Results of runs, read back: which causes there are, tables, buckets, summaries and timelines, whether their numbers can be those of a
//! run, and the words for them.

pub mod causes;
pub mod histogram;
pub mod json;
pub mod sound;
pub mod summaries;
pub mod table;
pub mod timeline;
pub mod words;
