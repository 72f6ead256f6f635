//! Parity groups: updates (`stripe`, `parity`), the queues of pages (`place`), chunks in the buffer of moved pages (`buffered`),
//! redirected reads (`redirect`), and recovery from failed chips (`failure`, `rebuild`), uncorrectable pages (`uncorrectable`) and
//! power cuts (`recover`).

pub(super) mod buffered;
pub(super) mod failure;
pub(super) mod parity;
pub(super) mod place;
pub(super) mod rebuild;
pub(super) mod recover;
pub(super) mod redirect;
pub(super) mod stripe;
pub(super) mod uncorrectable;
