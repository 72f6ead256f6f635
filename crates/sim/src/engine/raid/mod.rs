//! Parity groups: updates (`stripe`, `parity`), redirected reads (`redirect`), and what is left when chips fail (`failure`,
//! `rebuild`), pages can't be corrected (`uncorrectable`) or power is cut (`recover`).

pub(super) mod failure;
pub(super) mod parity;
pub(super) mod rebuild;
pub(super) mod recover;
pub(super) mod redirect;
pub(super) mod stripe;
pub(super) mod uncorrectable;
