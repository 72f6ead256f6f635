//! Models of real drives: fitted to measurements, judged on others, and kept in a book.
//!
//! A drive is a log of one plane whose garbage collection costs time: a host page takes `host + moved x M` microseconds a kilobyte,
//! where M is the number of pages that GC moves for it. M comes from the simulator, in a run without time of the same number of
//! host writes as the measurement; the two costs and the spare space come from the measurement ([`fit`]). The policy of GC is the
//! one whose predictions of other patterns hold ([`identify`]). `docs/drives.md` has the method, its limits and the book.

pub mod book;
pub mod candidates;
pub mod cells;
pub mod check;
pub mod closed;
pub mod cost;
pub mod device;
pub mod file;
pub mod fit;
pub mod identify;
pub mod input;
pub mod jobs;
pub mod latency;
pub mod model;
pub mod pattern;
pub mod probe;
pub mod results;
pub mod table;
pub mod verdict;
