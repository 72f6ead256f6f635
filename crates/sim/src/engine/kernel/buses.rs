//! Channels, host link and ports of the interconnect.

use std::ops::{Index, IndexMut};

use crate::device::resource::Bus;

/// All buses: channels first, then the sides of the host link, then ports.
#[derive(Clone)]
pub(in crate::engine) struct Buses {
    pub(in crate::engine) all: Vec<Bus>,
    /// Those that `grant` looks at in this round.
    pub(in crate::engine) dirty: Vec<u32>,
}

impl Buses {
    pub(super) fn new(count: usize) -> Self {
        Buses { all: vec![Bus::new(); count], dirty: Vec::with_capacity(count) }
    }

    /// `grant` looks at a bus in this round.
    #[inline(always)]
    pub(in crate::engine) fn mark(&mut self, bus: usize) {
        if !std::mem::replace(&mut self.all[bus].dirty, true) {
            self.dirty.push(bus as u32);
        }
    }
}

impl Index<usize> for Buses {
    type Output = Bus;

    #[inline(always)]
    fn index(&self, bus: usize) -> &Bus {
        &self.all[bus]
    }
}

impl IndexMut<usize> for Buses {
    #[inline(always)]
    fn index_mut(&mut self, bus: usize) -> &mut Bus {
        &mut self.all[bus]
    }
}
