//! GC when free pages run low, and at no other time.

use crate::policy::Trigger;
use crate::schemes::scheme;

scheme! {
    /// Threshold: a plane is collected when its free pages fall below `gc.threshold`.
    ///
    /// Tested after each host program and write-back in the plane, and after each erase until the condition no longer holds. By
    /// then victims have as few valid pages as possible, so write amplification is lowest. But GC runs while the host writes, and
    /// host operations wait for it.
    Threshold {}
}

impl Trigger for Threshold {}
