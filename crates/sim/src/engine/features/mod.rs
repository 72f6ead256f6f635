//! What only some devices have: a file or a folder each. The spine asks a feature at the points that `round.rs` lists.

pub(in crate::engine) mod anywhere;
pub(in crate::engine) mod buffer;
pub(in crate::engine) mod cache;
pub(in crate::engine) mod charges;
pub(in crate::engine) mod handles;
pub(in crate::engine) mod homes;
pub(in crate::engine) mod keep;
pub(in crate::engine) mod life;
pub(in crate::engine) mod mates;
pub(in crate::engine) mod metadata;
pub(in crate::engine) mod noc;
pub(in crate::engine) mod nvme;
pub(in crate::engine) mod offers;
pub(in crate::engine) mod one_shot;
pub(in crate::engine) mod overlap;
pub(in crate::engine) mod points;
pub(in crate::engine) mod power;
pub(in crate::engine) mod queues;
pub(in crate::engine) mod raid;
pub(in crate::engine) mod recency;
pub(in crate::engine) mod replica;
pub(in crate::engine) mod retry;
pub(in crate::engine) mod slc;
pub(in crate::engine) mod streams;
pub(in crate::engine) mod units;
