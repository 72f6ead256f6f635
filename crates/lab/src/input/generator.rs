//! A generated workload as a stream of records: repeated, limited and scaled in time.

use ssdlab_trace::workload::Generator;
use ssdlab_trace::{CLOCK_MAX_NS, Digest, Record, Scale};

use crate::error::{Error, Result};

/// A generated workload, repeated and scaled.
pub(crate) struct Generated {
    first: Generator,
    current: Generator,
    loops: u32,
    loops_left: u32,
    limit: Option<u64>,
    scale: Scale,
    /// Start of the current pass; none beyond 64 bits.
    shift: Option<u64>,
    given: u64,
    last: u64,
    period: Option<u64>,
    digest: Digest,
}

impl Generated {
    /// `loops` times in a row, at most `limit` requests in all, arrival times scaled.
    pub(crate) fn new(generator: Generator, loops: u32, limit: Option<u64>, scale: Scale) -> Generated {
        Generated {
            first: generator.clone(),
            current: generator,
            loops,
            loops_left: loops,
            limit,
            scale,
            shift: Some(0),
            given: 0,
            last: 0,
            period: None,
            digest: Digest::new(),
        }
    }

    /// The next record; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        if self.limit.is_some_and(|limit| self.given >= limit) {
            return Ok(None);
        }
        loop {
            if let Some(mut record) = self.current.next() {
                self.given += 1;
                self.last = record.time_ns;
                let time = self.shift.and_then(|ns| ns.checked_add(record.time_ns)).and_then(|ns| self.scale.apply(ns));
                let too_late = || {
                    Error::usage("an arrival is beyond the range of the simulator's clock")
                        .help("check --loop and --time-scale")
                };
                record.time_ns = time.filter(|ns| *ns <= CLOCK_MAX_NS).ok_or_else(too_late)?;
                self.digest.add(&record);
                return Ok(Some(record));
            }
            if self.loops_left <= 1 || self.given == 0 {
                return Ok(None);
            }
            // Pass k starts k times (span + mean gap) later, as with traces; the first arrival is at 0.
            let period = *self.period.get_or_insert(self.last + self.last / (self.given - 1).max(1));
            self.loops_left -= 1;
            self.shift = self.shift.and_then(|ns| ns.checked_add(period));
            self.current = self.first.clone();
        }
    }

    /// The latest arrival among the first requests; the last may arrive later.
    pub(crate) fn span(&self) -> Option<u64> {
        /// Enough to notice a mistake, few enough to be fast.
        const MOST: u64 = 1 << 20;
        let first = self.first.clone().take(self.limit.unwrap_or(u64::MAX).min(MOST) as usize);
        first.last().and_then(|record| self.scale.apply(record.time_ns))
    }

    /// How many were returned, and how many there are, if known.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let total = self
            .first
            .total()
            .filter(|_| self.loops < u32::MAX)
            .map(|total| total.saturating_mul(u64::from(self.loops)));
        (self.given, total.into_iter().chain(self.limit).min())
    }

    /// The stream of the last record; none if it has no name.
    pub(crate) fn stream(&self) -> Option<&str> {
        Some(self.current.stream()).filter(|name| !name.is_empty())
    }

    /// Digest of the records returned so far.
    pub(crate) fn digest(&self) -> String {
        self.digest.hex()
    }
}
