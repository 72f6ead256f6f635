//! Direct reads: the baseline of every paper.

use crate::policy::Route;
use crate::schemes::scheme;

scheme! {
    /// Direct reads: every read is served by the page itself, however busy its chip is.
    Direct {}
}

impl Route for Direct {}
