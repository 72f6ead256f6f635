//! What write amplification is the product of.

use serde::Serialize;

use super::mean;

/// Factors of write amplification in bytes: their product is `write_amplification_bytes`. One is none where its divisor is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Factors {
    /// Bytes of the logical pages written / bytes written: above 1 where writes cover pages in part.
    pub partial: Option<f64>,
    /// Logical pages programmed for the host / logical pages written: below 1 where a cache absorbs overwrites.
    pub absorbed: Option<f64>,
    /// Places for logical pages in programs for the host / logical pages in them: above 1 where programs are not full.
    pub padding: Option<f64>,
    /// Places programmed for anything (GC, metadata, parity, second copies) / places programmed for the host.
    pub background: Option<f64>,
}

/// What factors are computed from.
pub(crate) struct Programmed {
    /// Bytes that the host wrote.
    pub bytes: u64,
    /// Bytes of a logical page.
    pub page_bytes: u64,
    /// Logical pages that the host wrote.
    pub written: u64,
    /// Logical pages programmed for the host.
    pub host: u64,
    /// Places for logical pages in those programs.
    pub host_places: u64,
    /// Places in all programs, copybacks included.
    pub places: u64,
}

impl Programmed {
    /// Bytes of all places.
    pub(crate) fn place_bytes(&self) -> u128 {
        u128::from(self.places) * u128::from(self.page_bytes)
    }

    pub(crate) fn factors(&self) -> Factors {
        let ratio = |a: u64, b: u64| mean(a.into(), b);
        Factors {
            partial: mean(u128::from(self.written) * u128::from(self.page_bytes), self.bytes),
            absorbed: ratio(self.host, self.written),
            padding: ratio(self.host_places, self.host),
            background: ratio(self.places, self.host_places),
        }
    }
}
