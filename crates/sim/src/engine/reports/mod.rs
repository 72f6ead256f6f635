//! Counters of a report that only some devices have.

pub(in crate::engine) mod conflicts;
pub(in crate::engine) mod extras;
pub(in crate::engine) mod joint;
pub(in crate::engine) mod page_types;
