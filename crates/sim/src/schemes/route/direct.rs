//! Direct reads: the baseline of every paper.

use crate::policy::Route;
use crate::schemes::scheme;

scheme! {
    /// Direct reads: every read is served from its own page, even if the chip is busy.
    Direct {}
}

impl Route for Direct {}
