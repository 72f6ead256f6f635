//! What a disk may return, in a page of code: by sector, every value that was written, and from which one on a cut may leave.

use std::collections::BTreeMap;

/// A sector: values in order of submission, by request, and the first of them that a power cut may leave.
#[derive(Clone, Debug, Default)]
struct Sector {
    written: Vec<(u64, u64)>,
    least: u64,
    unreadable: bool,
}

/// See the module's documentation. A value identifies the write; 0 are zeros.
#[derive(Clone, Debug, Default)]
pub struct Model {
    sectors: BTreeMap<u64, Sector>,
}

impl Model {
    /// A request gives these sectors a value.
    pub fn write(&mut self, sectors: std::ops::Range<u64>, ticket: u64, value: u64) {
        for sector in sectors {
            let sector = self.sectors.entry(sector).or_default();
            sector.written.push((ticket, value));
            sector.unreadable = false;
        }
    }

    /// What a read of a sector returns now; none if it fails.
    pub fn newest(&self, sector: u64) -> Option<u64> {
        let Some(sector) = self.sectors.get(&sector) else { return Some(0) };
        (!sector.unreadable).then_some(sector.written.last().map_or(0, |(_, value)| *value))
    }

    /// A write is safe from power cuts.
    pub fn is_safe(&mut self, sectors: std::ops::Range<u64>, ticket: u64) {
        for sector in sectors {
            let sector = self.sectors.entry(sector).or_default();
            sector.least = sector.least.max(ticket);
        }
    }

    /// Discarded sectors may hold anything that was ever written there after a cut.
    pub fn trim(&mut self, sectors: std::ops::Range<u64>, ticket: u64) {
        self.write(sectors.clone(), ticket, 0);
        sectors.for_each(|sector| self.sectors.entry(sector).or_default().least = 0);
    }

    /// Judges what a cut has left of a sector; none if it cannot be read.
    pub fn judge(&self, number: u64, left: Option<u64>) {
        let none = Sector::default();
        let sector = self.sectors.get(&number).unwrap_or(&none);
        let Some(left) = left else {
            assert!(sector.least == 0, "sector {number} is unreadable, though request {} was safe", sector.least);
            return;
        };
        let allowed = |(ticket, value): &(u64, u64)| *value == left && *ticket >= sector.least;
        let untouched = left == 0 && sector.least == 0;
        assert!(untouched || sector.written.iter().any(allowed), "sector {number} holds {left}, of {sector:?}");
    }

    /// A sector for a message.
    pub fn show(&self, number: u64, left: Option<u64>) -> String {
        format!("sector {number}, which holds {left:?}: {:?}", self.sectors.get(&number))
    }

    /// After a cut a sector has had one value only.
    pub fn cut(&mut self, number: u64, left: Option<u64>) {
        let written = vec![(0, left.unwrap_or(0))];
        self.sectors.insert(number, Sector { written, least: 0, unreadable: left.is_none() });
    }
}
