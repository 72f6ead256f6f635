//! Report of error correction, where bit errors are simulated.

use serde::Serialize;

/// Results of decoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct EccCounters {
    pub pages_decoded: u64,
    pub pages_uncorrectable: u64,
    pub moves_uncorrectable: u64,
    pub errors_sum: u128,
    pub errors_max: u32,
}

impl EccCounters {
    /// Counts a page decoded for the host.
    pub(crate) fn decoded(&mut self, errors: u32, good: bool) {
        self.pages_decoded += 1;
        self.pages_uncorrectable += u64::from(!good);
        if good {
            self.errors_sum += u128::from(errors);
            self.errors_max = self.errors_max.max(errors);
        }
    }
}

/// Bit errors of host reads, and data lost to them.
#[derive(Clone, Debug, Serialize)]
pub struct Ecc {
    /// Pages decoded for the host.
    pub pages_decoded: u64,
    /// Pages beyond correction among them. They are reported to the host and not delivered, unless their parity group restores
    /// them.
    pub pages_uncorrectable: u64,
    /// Pages beyond correction among external moves. They stay uncorrectable.
    pub moves_uncorrectable: u64,
    /// Mean bit errors per KiB of the pages that were correctable.
    pub errors_per_kib_mean: Option<f64>,
    /// Largest number of bit errors per KiB of those pages.
    pub errors_per_kib_max: f64,
}

impl Ecc {
    pub(crate) fn new(counters: &EccCounters) -> Self {
        let good = counters.pages_decoded - counters.pages_uncorrectable;
        Ecc {
            pages_decoded: counters.pages_decoded,
            pages_uncorrectable: counters.pages_uncorrectable,
            moves_uncorrectable: counters.moves_uncorrectable,
            errors_per_kib_mean: super::mean(counters.errors_sum, good).map(|mean| mean / 1024.0),
            errors_per_kib_max: f64::from(counters.errors_max) / 1024.0,
        }
    }
}
