//! Versions of host pages, for a store that keeps the bytes of a device: the simulator says which version of each sector a state
//! returns, the store looks the bytes up.
//!
//! The version of a page is the number of its writes and effective trims so far ([`crate::Check::Full`]). A power cut returns a page
//! to the version that recovery finds; later versions are counted from there.

use crate::units::Lpn;

/// A write or trim of a page that has been admitted, and so got its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The host page.
    pub page: Lpn,
    /// Its version from now on.
    pub version: u32,
    /// Whether it is a trim. A trim of a page that has no data gets no version.
    pub trim: bool,
}

/// A page after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The host page.
    pub page: Lpn,
    /// The version that it holds from now on; none if no version of it was found.
    pub version: Option<u32>,
    /// By sector, the version whose data it holds, as versions were counted before the cut; none if that is `version` for all.
    pub sectors: Option<Vec<u32>>,
}

/// What a power cut did to pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutVersions {
    /// Host pages and versions whose program the cut interrupted, without a capacitor. Their flash page is unreadable.
    pub torn: Vec<(Lpn, u32)>,
    /// Every page of the map.
    pub recovered: Vec<Recovered>,
}

/// Where a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// On a flash page that is not erased, valid or not.
    Flash,
    /// In the controller's memory, or on its way to flash.
    Memory,
}

/// What is noted for a store. Pages are those of the map until they are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) admitted: Vec<Admitted>,
    pub(crate) cut: CutVersions,
}
