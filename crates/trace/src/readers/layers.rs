//! One request that several layers of the kernel report, such as dm or md and the disk below: it is counted once.
//!
//! A remap (`A`) names both sides. The side whose counted event comes first is the request; that of the other side is the same
//! again. A striped or mirrored request has several parts below: none of them counts if the whole did, and the whole does not
//! if its parts did.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Counted events that a remap can refer to. It follows the event of the upper layer closely.
const RECENT: usize = 4096;
/// Links that are kept; those of requests whose events the capture lost stay behind.
const LINKS: usize = 1 << 16;

/// A device, first sector and number of sectors.
type Key = (u32, u64, u64);

#[derive(Default)]
pub(crate) struct Layers {
    devices: FxHashMap<Vec<u8>, u32>,
    /// Devices with counted events of their own.
    counted: FxHashSet<u32>,
    recent: VecDeque<Key>,
    /// Parts below whose whole was counted, and how often.
    below: FxHashMap<Key, u32>,
    /// Parts below whose whole has not been counted yet, with its device and their place on it.
    above: FxHashMap<Key, (u32, u64)>,
    /// Places of counted parts on the device above.
    covered: FxHashSet<(u32, u64)>,
}

impl Layers {
    /// The number of a device that has a line of its own.
    #[inline]
    pub fn device(&mut self, name: &[u8]) -> u32 {
        match self.devices.get(name) {
            Some(id) => *id,
            None => {
                let id = self.devices.len() as u32;
                if self.devices.len() < LINKS {
                    self.devices.insert(name.to_vec(), id);
                }
                id
            }
        }
    }

    /// A remap: `part` was at sector `from` of the device `origin`.
    pub fn remap(&mut self, part: Key, origin: &[u8], from: u64) {
        match self.devices.get(origin).copied().filter(|above| *above != part.0) {
            Some(above) => {
                let holds =
                    |&(device, first, sectors): &Key| device == above && first <= from && from - first < sectors.max(1);
                if self.counted.contains(&above) && self.recent.iter().rev().any(holds) {
                    bounded(self.below.len(), || self.below.clear());
                    *self.below.entry(part).or_default() += 1;
                } else {
                    bounded(self.above.len(), || self.above.clear());
                    self.above.insert(part, (above, from));
                }
            }
            // A partition has no lines of its own: the link moves on to the sectors of its disk.
            None => {
                let before = (part.0, from, part.2);
                if self.below.contains_key(&before) {
                    self.take_below(&before);
                    *self.below.entry(part).or_default() += 1;
                } else if let Some(link) = self.above.remove(&before) {
                    self.above.insert(part, link);
                }
            }
        }
    }

    fn take_below(&mut self, key: &Key) -> bool {
        let Some(left) = self.below.get_mut(key) else { return false };
        *left -= 1;
        if *left == 0 {
            self.below.remove(key);
        }
        true
    }

    /// Whether another layer has counted this event already.
    #[inline]
    pub fn again(&mut self, event: Key) -> bool {
        let known = !self.below.is_empty() && self.take_below(&event)
            || !self.covered.is_empty() && self.covered.remove(&(event.0, event.1));
        if !known
            && !self.above.is_empty()
            && let Some(place) = self.above.remove(&event)
        {
            bounded(self.covered.len(), || self.covered.clear());
            self.covered.insert(place);
        }
        // Layers below may name this one as their origin, whichever of the two it is.
        self.counted.insert(event.0);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(event);
        known
    }
}

/// Forgets links that will hardly find their event any more.
fn bounded(links: usize, forget: impl FnOnce()) {
    if links >= LINKS {
        forget();
    }
}
