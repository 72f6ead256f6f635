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
    pub retries: RetryCounters,
    pub refresh: Refresh,
}

impl EccCounters {
    /// Reads and moves of pages that could not be corrected.
    pub(crate) fn lost(&self) -> u64 {
        self.pages_uncorrectable + self.moves_uncorrectable
    }
}

/// Reads by retries, by class.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryCounters {
    pub host: RetryCounter,
    pub gc: RetryCounter,
    pub refresh: RetryCounter,
}

/// Reads of a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryCounter {
    /// By retries.
    reads: Vec<u64>,
    time: u128,
}

impl RetryCounter {
    /// A page is read, with so many retries.
    pub(crate) fn read(&mut self, retries: usize) {
        if self.reads.len() <= retries {
            self.reads.resize(retries + 1, 0);
        }
        self.reads[retries] += 1;
    }

    /// Retries took this time.
    pub(crate) fn took(&mut self, ns: u64) {
        self.time += u128::from(ns);
    }

    fn report(&self) -> Retries {
        Retries {
            histogram: self.reads.clone(),
            reads: self.reads.iter().sum(),
            steps: (0..).zip(&self.reads).map(|(steps, reads): (u64, _)| steps * reads).sum(),
            time_ns: self.time,
        }
    }
}

/// Page reads and their retries.
#[derive(Clone, Debug, Serialize)]
pub struct Retries {
    /// Page reads by number of retries, from 0.
    pub histogram: Vec<u64>,
    /// Page reads.
    pub reads: u64,
    /// Retries.
    pub steps: u64,
    /// Time of all retries: the cause `retry` of pages of the host, and for how long moves held their die longer, with waits for
    /// the bus.
    pub time_ns: u128,
}

/// Retries by class.
#[derive(Clone, Debug, Serialize)]
pub struct RetriesByClass {
    /// Reads for the host, and of old pages for its partial writes.
    pub host: Retries,
    /// Reads of moves through the controller.
    pub gc: Retries,
    /// Reads of pages that are rewritten.
    pub refresh: Retries,
}

/// Pages that are rewritten because a read found many bit errors (`ecc.refresh`).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Refresh {
    /// Pages that were to be rewritten.
    pub queued: u64,
    /// Those that were.
    pub done: u64,
    /// Those that had been overwritten, moved or trimmed before, or for which their plane had no page.
    pub dropped: u64,
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
    /// Repeated reads, with `ecc.levels`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetriesByClass>,
    /// Rewritten pages, with `ecc.refresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<Refresh>,
}

impl Ecc {
    pub(crate) fn new(counters: &EccCounters, config: &crate::config::Ecc) -> Self {
        let good = counters.pages_decoded - counters.pages_uncorrectable;
        Ecc {
            pages_decoded: counters.pages_decoded,
            pages_uncorrectable: counters.pages_uncorrectable,
            moves_uncorrectable: counters.moves_uncorrectable,
            errors_per_kib_mean: super::mean(counters.errors_sum, good).map(|mean| mean / 1024.0),
            errors_per_kib_max: f64::from(counters.errors_max) / 1024.0,
            retries: config.retries().then(|| RetriesByClass {
                host: counters.retries.host.report(),
                gc: counters.retries.gc.report(),
                refresh: counters.retries.refresh.report(),
            }),
            refresh: config.refresh.map(|_| counters.refresh.clone()),
        }
    }
}
