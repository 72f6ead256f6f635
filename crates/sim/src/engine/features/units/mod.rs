//! Programs of several units of the map (`device.mapping_unit`, `geometry.pages_per_program`, `geometry.planes_per_program`).
//!
//! The engine's pages are *slots* then, the places of units, and its planes are plane groups: flash, map, victims and recovery see
//! a device with more and smaller pages. What differs is here and in the write cache's groups: commands that touch several slots.
//! Moved units wait in the controller until they fill a program (`hands`). Their places there have numbers behind those of the
//! flash, so the map and whatever keeps an old page points to them as to any slot.

pub(in crate::engine) mod hands;
pub(in crate::engine) mod reads;
pub(in crate::engine) mod timeless;

use crate::device::geometry::Geometry;
use crate::engine::Features;
use crate::units::OpId;
use hands::Hand;
use reads::Found;

/// State of a device whose programs have several units.
#[derive(Clone)]
pub(in crate::engine) struct Units {
    /// By plane group, and in it by kind: moved units in the controller.
    hands: Vec<Hand>,
    /// Reads of a request that is being admitted, with their super pages.
    admitted: Vec<(u32, OpId)>,
    /// Room for the units of a read.
    found: Found,
    /// Flash pages of the command of the host or of the write cache that begins: all its units are in one super page or program.
    pub(in crate::engine) pages: u64,
}

impl Units {
    pub(in crate::engine) fn new(geometry: &Geometry) -> Self {
        Units { hands: Hand::all(geometry), admitted: Vec::new(), found: Found::default(), pages: 0 }
    }
}

impl Features {
    /// A command of so many flash pages is about to begin.
    pub(in crate::engine) fn note_pages(&mut self, pages: u64) {
        if let Some(units) = &mut self.units {
            units.pages = pages;
        }
    }
}
