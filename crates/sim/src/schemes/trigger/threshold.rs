//! Collection when free pages run low, and at no other time.

use crate::policy::Trigger;
use crate::schemes::scheme;

scheme! {
    /// Threshold: a plane is collected when its free pages fall below `gc.threshold`.
    ///
    /// Tested whenever a program of the host or a write-back ends in the plane, and after each erase until it no longer holds.
    /// Victims have lost as many pages as they can by then, so it writes least; but collections run when the host writes, and
    /// its operations wait for them.
    Threshold {}
}

impl Trigger for Threshold {}
