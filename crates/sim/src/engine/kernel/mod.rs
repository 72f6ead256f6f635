//! What the event loop runs on: timers.

pub(super) mod timers;
