//! The spine: the part that every device uses. Requests are admitted (`host`, their records are in `requests`, pauses of closed loops in `pause`), wait (`window`) and
//! are dispatched to dies (`dispatch`), run their legs (`legs`) and end (`complete`); planes are collected (`gc`, `single`,
//! `copies`). Operations in no time are in `timeless`.

pub(super) mod complete;
pub(super) mod copies;
pub(super) mod dispatch;
pub(super) mod gc;
pub(super) mod host;
pub(super) mod legs;
pub(super) mod memory;
pub(super) mod merge;
pub(super) mod pause;
pub(super) mod requests;
pub(super) mod ring;
mod single;
pub(super) mod timeless;
pub(super) mod window;
