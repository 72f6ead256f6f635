//! Report of placement handles, as drives with Flexible Data Placement count (NVMe TP4146), and by handle.

use serde::Serialize;

use super::mean;

/// A handle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Handle {
    /// Programs of the host's pages, and of the write cache's.
    pub host_pages: u64,
    /// Pages that GC has moved out of its blocks.
    pub moved_pages: u64,
    /// Its blocks that were erased.
    pub erased_units: u64,
    /// 1 + moved / host pages. None where GC mixes its pages with others': whose pages mixed blocks hold is not known to a drive.
    pub write_amplification: Option<f64>,
    /// Pages that its open blocks still take, a whole block in a plane where none is open.
    pub ruamw_pages: u64,
}

/// Blocks that hold pages of all initially isolated handles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mixed {
    /// Pages that GC has moved out of them.
    pub moved_pages: u64,
    /// Those that were erased.
    pub erased_units: u64,
}

/// Placement handles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FdpReport {
    /// By handle.
    pub handles: Vec<Handle>,
    /// Blocks of no handle.
    pub mixed: Mixed,
    /// Writes that `fdp.assign` gave no handle, and that went to `fdp.unknown`.
    pub unknown: u64,
    /// Bytes that the host wrote (HBMW).
    pub hbmw_bytes: u64,
    /// Bytes of flash programmed (MBMW).
    pub mbmw_bytes: u64,
    /// Bytes of flash erased (MBE).
    pub mbe_bytes: u64,
}

/// What a handle did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) persistent: bool,
    pub(crate) host: u64,
    pub(crate) moved: u64,
    pub(crate) erased: u64,
    pub(crate) left: u64,
}

impl Handle {
    pub(crate) fn new(counted: Counted) -> Self {
        let Counted { persistent, host, moved, erased, left } = counted;
        Handle {
            host_pages: host,
            moved_pages: moved,
            erased_units: erased,
            write_amplification: mean(u128::from(host) + u128::from(moved), host).filter(|_| persistent),
            ruamw_pages: left,
        }
    }
}
