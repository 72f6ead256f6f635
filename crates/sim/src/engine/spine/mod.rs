//! The spine: the part that every device uses. Requests are submitted (`submit`) and admitted (`host`; their records are in
//! `requests`, pauses of closed loops in `pause`, trims in `trim`), wait (`window`), join the queues of dies (`queue`) and are
//! dispatched (`dispatch`, `mates`), run their legs (`legs`), leave their dies (`release`) and end (`complete`); planes are due (`claims`) and
//! collected (`gc`, `jobs`, `victims`, `single`, `copies`, `abroad`), and what else planes do goes beside (`beside`). Operations in no time are in
//! `timeless`, `moving` and `aged`.

mod abroad;
pub(super) mod aged;
mod beside;
mod claims;
pub(super) mod complete;
pub(super) mod copies;
pub(super) mod dispatch;
pub(super) mod gc;
pub(super) mod host;
pub(super) mod jobs;
pub(super) mod legs;
mod mates;
pub(super) mod memory;
pub(super) mod merge;
pub(super) mod moving;
pub(super) mod pause;
mod queue;
pub(super) mod release;
pub(super) mod requests;
pub(super) mod ring;
mod single;
mod stall;
mod submit;
pub(super) mod timeless;
mod trim;
mod victims;
pub(super) mod window;
