//! Requests kept on disk, to be read several times: memory does not grow with a run.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::readers::words;
use ssdlab_sim::blame::{Blame, CAUSES, Cause, Extra, ExtraBlame};

use tempfile::SpooledTempFile;

/// A cause of latency: one that every device has, or one of an optional feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Of every device.
    Usual(Cause),
    /// Of a feature.
    Extra(Extra),
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = Cause::COUNT + Extra::COUNT;

    /// All of them, in the order of results.
    pub fn all() -> impl Iterator<Item = Reason> {
        let usual = CAUSES.iter().map(|(cause, _)| Reason::Usual(*cause));
        usual.chain(Extra::ALL.into_iter().map(Reason::Extra))
    }

    /// Its place among all.
    pub fn place(self) -> usize {
        match self {
            Reason::Usual(cause) => cause as usize,
            Reason::Extra(extra) => Cause::COUNT + extra as usize,
        }
    }

    /// What it cost a request, in nanoseconds.
    pub fn of(self, blame: &Blame, extras: &ExtraBlame) -> u64 {
        match self {
            Reason::Usual(cause) => blame.0[cause as usize],
            Reason::Extra(extra) => extras.0[extra as usize],
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Usual(cause) => words::name(cause),
            Reason::Extra(extra) => extra.name(),
        }
    }

    /// What it means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Reason::Usual(cause) => words::meaning(cause),
            Reason::Extra(extra) => words::extra_meaning(extra),
        }
    }
}

/// A measured read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number in order of submission.
    pub request: u64,
    /// Time of arrival.
    pub arrival: u64,
    /// Whether it is a write.
    pub write: bool,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// First service of the page that finished last.
    pub start: Option<u64>,
    /// Completion minus arrival.
    pub latency: u64,
    /// The plane that served that page, if it is known.
    pub plane: Option<u32>,
    /// Causes of the latency.
    pub blame: Blame,
    /// Those of optional features.
    pub extras: ExtraBlame,
    /// Of the other tenants, the one for which it waited longest at dies and channels, and that time, if it is known.
    pub aggressor: Option<(u8, u64)>,
    /// Whether it is a write that read a page of flash first: the rest of a page, or the old page of its parity group.
    pub read_first: bool,
}

impl Record {
    /// Nanoseconds of a cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.blame.0[cause as usize]
    }

    /// Nanoseconds of a cause, which may be one of a feature.
    pub fn of_reason(&self, reason: Reason) -> u64 {
        reason.of(&self.blame, &self.extras)
    }

    /// Its wait.
    pub fn waits(&self) -> u64 {
        self.blame.waits() + self.extras.waits()
    }

    /// Whether a time is over half of its wait.
    pub fn is_mostly(&self, ns: u128) -> bool {
        2 * ns > u128::from(self.waits())
    }
}

/// Numbers of a record before its causes.
const HEAD: usize = 8;
const WORDS: usize = HEAD + Reason::COUNT;
const BYTES: usize = 8 * WORDS;
/// Bytes that stay in memory.
const IN_MEMORY: usize = 32 << 20;
/// Bytes that are read or written at once.
const CHUNK: usize = 1 << 20;

fn failed(verb: &str, error: &io::Error) -> Error {
    Error::file(verb, Path::new("a temporary file"), error)
}

/// Records being written, in order of their numbers.
pub struct Spool {
    file: BufWriter<SpooledTempFile>,
    count: u64,
}

impl Spool {
    /// Adds a record.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn put(&mut self, record: &Record) -> Result<()> {
        let flags = u64::from(record.write) | u64::from(record.read_first) << 1;
        let flags = flags | record.plane.map_or(0, |plane| (u64::from(plane) + 1) << 2);
        let start = record.start.unwrap_or(u64::MAX);
        // A wait for a tenant is above 0, and a request of 2^56 ns lasts two years.
        let aggressor = record.aggressor.map_or(0, |(tenant, ns)| u64::from(tenant) << 56 | ns.min((1 << 56) - 1));
        let head =
            [record.request, record.arrival, flags, record.offset, record.bytes, start, record.latency, aggressor];
        let mut bytes = [0; BYTES];
        let words = head.iter().chain(&record.blame.0).chain(&record.extras.0);
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.file.write_all(&bytes).map_err(|error| failed("write", &error))?;
        self.count += 1;
        Ok(())
    }

    /// All records.
    ///
    /// # Errors
    /// The file system takes no more.
    pub fn finish(self) -> Result<Records> {
        let file = self.file.into_inner().map_err(|error| failed("write", error.error()))?;
        Ok(Records { file, count: self.count, tenants: false })
    }
}

impl Default for Spool {
    fn default() -> Self {
        Spool { file: BufWriter::with_capacity(CHUNK, SpooledTempFile::new(IN_MEMORY)), count: 0 }
    }
}

/// Records in the order of their numbers.
pub struct Records {
    file: SpooledTempFile,
    count: u64,
    /// Whether they are rows that name tenants.
    pub tenants: bool,
}

impl Records {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Shows each one.
    ///
    /// # Errors
    /// They can't be read.
    pub fn each(&mut self, show: &mut dyn FnMut(&Record)) -> Result<()> {
        let broken = |error: io::Error| failed("read", &error);
        self.file.rewind().map_err(broken)?;
        let mut file = BufReader::with_capacity(CHUNK, &mut self.file);
        let mut bytes = [0; BYTES];
        for _ in 0..self.count {
            file.read_exact(&mut bytes).map_err(broken)?;
            let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"));
            show(&Record {
                request: word(0),
                arrival: word(1),
                write: word(2) & 1 == 1,
                read_first: word(2) & 2 == 2,
                plane: (word(2) >> 2).checked_sub(1).map(|plane| plane as u32),
                offset: word(3),
                bytes: word(4),
                start: Some(word(5)).filter(|start| *start != u64::MAX),
                latency: word(6),
                blame: Blame(std::array::from_fn(|i| word(HEAD + i))),
                extras: ExtraBlame(std::array::from_fn(|i| word(HEAD + Cause::COUNT + i))),
                aggressor: (word(7) > 0).then(|| ((word(7) >> 56) as u8, word(7) & ((1 << 56) - 1))),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_as_often_as_wanted() {
        let record = |request: u64| Record {
            request,
            arrival: 10 * request,
            write: request % 2 == 1,
            offset: 4096,
            bytes: 512,
            start: (request != 3).then_some(u64::MAX - 1),
            latency: 7,
            plane: (request != 4).then_some(request as u32),
            blame: Blame(std::array::from_fn(|i| request + i as u64)),
            extras: ExtraBlame(std::array::from_fn(|i| 100 * request + i as u64)),
            aggressor: (request != 5).then_some((15, 1 + request)),
            read_first: request % 4 == 3,
        };
        let mut spool = Spool::default();
        (0..9).for_each(|request| spool.put(&record(request)).unwrap());
        let mut records = spool.finish().unwrap();
        for _ in 0..2 {
            let mut seen = 0;
            records
                .each(&mut |one| {
                    assert_eq!(*one, record(seen));
                    seen += 1;
                })
                .unwrap();
            assert_eq!(seen, records.count());
        }
    }
}
