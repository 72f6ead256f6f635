//! Write points of a plane.

/// Write point of a plane that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Host data of the first handle (and all data if write points are shared).
    Host,
    /// Data that GC moves: those of a handle, if its plane's collection is that of a handle which keeps them apart.
    Gc,
    /// Data that joint collections move in pairs: the planes of a die keep these write points at equal offsets.
    Aligned,
    /// Data that a path copies inside the plane, if it keeps such data apart from data that passed through the controller.
    Copyback,
    /// Host data of a further handle.
    Handle(u8),
    /// Host data that the cache of SLC takes if it has room.
    Slc,
}

/// The handle of data that the cache of SLC takes. There are fewer handles of data than this.
pub(crate) const FOR_SLC: u8 = u8::MAX;

/// Write points of a plane on every device.
pub(super) const STREAMS: usize = 4;

impl Stream {
    /// Host data of a handle.
    #[inline(always)]
    pub(crate) fn of_handle(handle: u8) -> Self {
        match handle {
            0 => Stream::Host,
            FOR_SLC => Stream::Slc,
            other => Stream::Handle(other),
        }
    }

    /// The handle of the host's data that it takes.
    pub(crate) fn handle(self) -> u8 {
        if let Stream::Handle(handle) = self { handle } else { 0 }
    }

    /// Whether it is the host's.
    #[inline(always)]
    pub(super) fn is_host(self) -> bool {
        matches!(self, Stream::Host | Stream::Handle(_) | Stream::Slc)
    }

    /// Number of its write point, where no others are shared.
    #[inline(always)]
    pub(super) fn number(self) -> usize {
        match self {
            // The cache of SLC has open blocks of its own.
            Stream::Host | Stream::Slc => 0,
            Stream::Gc => 1,
            Stream::Aligned => 2,
            Stream::Copyback => 3,
            Stream::Handle(handle) => STREAMS + usize::from(handle) - 1,
        }
    }
}
