//! Parity groups: updates (`stripe`, `parity`), the queues of pages (`place`), chunks in the buffer of moved pages (`buffered`),
//! redirected reads (`redirect`), and recovery from failed chips (`failure`, `rebuild`), uncorrectable pages (`uncorrectable`) and
//! power cuts (`recover`).

pub(in crate::engine) mod buffered;
pub(in crate::engine) mod failure;
pub(in crate::engine) mod parity;
pub(in crate::engine) mod place;
pub(in crate::engine) mod rebuild;
pub(in crate::engine) mod recover;
pub(in crate::engine) mod redirect;
pub(in crate::engine) mod stripe;
pub(in crate::engine) mod uncorrectable;
