//! The interconnect between the flash controllers at the channels and the CPU: traversal times of pages.

use super::spec::NocSpec;
use crate::units::Nanos;

/// Times and paths of an interconnect.
#[derive(Clone, Debug)]
pub struct Interconnect {
    /// A page has `8 x bytes / flit_bits` data units, rounded up.
    flit_bits: u64,
    cycle: Nanos,
    /// `formula`: thousandths of routing slices on the mean path.
    mean_slices: u64,
    columns: u32,
    channels: u32,
    /// Rows of an array, each with a CPU port; none for the formula.
    pub rows: u32,
    /// Whether a traversal takes time without occupying the port.
    pub delayed: bool,
    /// Bytes of a whole page, and its traversal: that of nearly all.
    page: (u32, Nanos),
    /// Time to write a page into a flash controller's buffer.
    pub sram_write: Nanos,
    /// Time to read a page from a flash controller's buffer.
    pub sram_read: Nanos,
    /// Time to decode a page where it is checked.
    pub decode: Nanos,
}

impl Interconnect {
    pub(crate) fn new(spec: NocSpec, channels: u32, page_bytes: u32) -> Self {
        let mut net = Interconnect {
            flit_bits: u64::from(spec.flit_bits),
            cycle: spec.cycle,
            mean_slices: (spec.mean_slices * 1000.0).round() as u64,
            columns: spec.columns,
            channels,
            rows: spec.rows,
            delayed: spec.delayed,
            page: (0, Nanos::ZERO),
            sram_write: spec.sram_write,
            sram_read: spec.sram_read,
            decode: spec.decode,
        };
        net.page = (page_bytes, net.computed(page_bytes));
        net
    }

    /// Data units of `bytes`, without the first one's way through the slices.
    fn units(&self, bytes: u32) -> u64 {
        (8 * u64::from(bytes)).div_ceil(self.flit_bits)
    }

    /// Traversal by the formula, rounded half up to the nanosecond once. In an array: the part that is the same on every path.
    #[inline(always)]
    pub fn traversal(&self, bytes: u32) -> Nanos {
        if bytes == self.page.0 { self.page.1 } else { self.computed(bytes) }
    }

    #[inline(never)]
    fn computed(&self, bytes: u32) -> Nanos {
        if self.rows > 0 {
            return Nanos((self.units(bytes) - 1) * self.cycle.0);
        }
        let thousandths = (self.units(bytes) * 1000 + self.mean_slices - 1000) * self.cycle.0;
        Nanos((thousandths + 500) / 1000)
    }

    /// Slices on the mean path: as configured, or the mean over all channels and rows of an array.
    pub fn mean_slices(&self) -> f64 {
        if self.rows == 0 {
            return self.mean_slices as f64 / 1000.0;
        }
        let columns: u64 = (0..self.channels).map(|channel| u64::from(self.slices(channel, 0))).sum();
        columns as f64 / f64::from(self.channels) + f64::from(self.rows - 1) / 2.0
    }

    /// A page's traversal on the mean path, for reports: not rounded for an array.
    pub fn mean_traversal(&self, bytes: u32) -> f64 {
        let path = if self.rows == 0 { 0.0 } else { self.mean_slices() * self.cycle.0 as f64 };
        self.traversal(bytes).0 as f64 + path
    }

    /// Slices between a channel's port and a row's: along the column, then along the row. The corner counts once.
    pub fn slices(&self, channel: u32, row: u32) -> u32 {
        let column = ((u64::from(channel) + 1) * u64::from(self.columns) / u64::from(self.channels)) as u32;
        column + row
    }

    /// Time that the slices of a path add to a traversal.
    pub fn path(&self, channel: u32, row: u32) -> Nanos {
        Nanos(u64::from(self.slices(channel, row)) * self.cycle.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interconnect(toml: &str) -> Interconnect {
        let config: crate::Config = toml.parse().unwrap();
        Interconnect::new(config.noc_spec().unwrap(), config.geometry.channels, 4096)
    }

    #[test]
    fn a_page_takes_the_papers_713_791_5_ns_rounded_half_up() {
        let noc = interconnect("noc.model = \"formula\"");
        assert_eq!(noc.traversal(4096), Nanos(713_792));
        // Every term has an effect: half the page, wider units, a longer path, a slower slice.
        assert_eq!(noc.traversal(2048), Nanos((4_108_500 * 87 + 500) / 1000));
        assert_eq!(interconnect("noc = { model = \"formula\", flit_bits = 32 }").traversal(4096), Nanos(90_176));
        assert_eq!(interconnect("noc = { model = \"formula\", mean_slices = 12.0 }").traversal(4096), Nanos(8203 * 87));
        assert_eq!(interconnect("noc = { model = \"formula\", cycle = \"1us\" }").traversal(4096), Nanos(8_204_500));
        // 100 bits in units of 32: four movements.
        assert_eq!(
            interconnect("noc = { model = \"formula\", flit_bits = 32, mean_slices = 1 }").traversal(12),
            Nanos(3 * 87)
        );
    }

    #[test]
    fn a_16_x_8_array_has_paths_of_12_slices_and_its_eight_channels_of_12_5() {
        let noc = interconnect("geometry.channels = 16\nnoc.model = \"array\"");
        assert_eq!(noc.mean_slices(), 12.0);
        let noc = interconnect("noc.model = \"array\"");
        let paths = (0..8).flat_map(|channel| (0..8).map(move |row| (channel, row)));
        let total: u32 = paths.map(|(channel, row)| noc.slices(channel, row)).sum();
        assert_eq!((noc.mean_slices(), f64::from(total) / 64.0), (12.5, 12.5));
        assert_eq!((noc.slices(0, 0), noc.slices(7, 7)), (2, 23));
        assert_eq!(noc.traversal(4096) + noc.path(0, 0), Nanos((8192 + 2 - 1) * 87));
    }
}
