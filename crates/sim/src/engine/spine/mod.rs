//! The spine: the part that every device uses. Requests are submitted (`submit`) and admitted (`host`; their records are in
//! `requests`, pauses of closed loops in `pause`, trims in `trim`), wait (`window`), join the queues of dies (`queue`) and are
//! dispatched (`dispatch`), run their legs (`legs`), leave their dies (`release`) and end (`complete`).

pub(super) mod complete;
pub(super) mod dispatch;
pub(super) mod host;
pub(super) mod legs;
pub(super) mod memory;
pub(super) mod merge;
pub(super) mod pause;
mod queue;
pub(super) mod release;
pub(super) mod requests;
pub(super) mod ring;
mod stall;
mod submit;
mod trim;
pub(super) mod window;
