//! Remarks: everything that was dropped, clamped, rounded or assumed is counted.

use crate::shown::{escape, seconds};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many line numbers of one class are kept.
const LINES_KEPT: usize = 5;

macro_rules! notes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $skips:literal;)*) => {
        /// One class of remark about a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Note { $($(#[$doc])* $name,)* }

        impl Note {
            /// Every class, in the order in which they are printed.
            pub const ALL: &'static [Note] = &[$(Note::$name,)*];

            fn text(self) -> &'static str {
                match self { $(Note::$name => $text,)* }
            }

            /// Whether each occurrence drops one request or line of the trace.
            pub fn skips(self) -> bool {
                match self { $(Note::$name => $skips,)* }
            }
        }
    };
}

notes! {
    /// A header row on the first line.
    Header = "header lines skipped", false;
    /// Free text before the data.
    Prologue = "lines of introductory text skipped", false;
    /// A line that could not be read and was dropped because the user allowed it.
    BadLine = "malformed lines skipped", true;
    /// A request of no bytes.
    ZeroSize = "requests of size 0 skipped", true;
    /// A flush or another command that moves no data.
    OtherOp = "flushes and other commands skipped", true;
    /// A record without an operation.
    NoOp = "records without an operation skipped", true;
    /// A discarded write-zeroes or similar command that changes data.
    ChangesData = "commands that change data but carry none skipped", true;
    /// An event that is not the chosen one.
    OtherEvent = "events of other kinds skipped", false;
    /// An event of a request that another layer has reported.
    OtherLayer = "requests that another layer reported before, counted once", false;
    /// A request that went back to its queue and was issued again.
    Requeued = "requests issued again after a requeue, counted once", false;
    /// Events that the kernel had no room for.
    LostEvents = "events lost by the tracer: requests are missing", false;
    /// A request without the name of a disk.
    NoDisk = "requests without a disk skipped", true;
    /// A request that does not say how long it took.
    NoLatency = "requests without a latency, taken to arrive when they complete", false;
    /// The unit of addresses that the trace does not say.
    BlockSize = "the logical block is taken for", false;
    /// A clock of whole seconds.
    WholeSeconds = "the clock counts whole seconds: --within-second even spreads requests over theirs", false;
    /// A field stands where its tool does not put it.
    WordBehind = "the operation stands behind the next request, where libCacheSim has it before", false;
    /// Statistics that blkparse prints behind the events.
    Summary = "lines of blkparse's summary skipped", false;
    /// A record of a volume that was not selected.
    OtherDevice = "requests of other devices skipped", false;
    /// A line a `where` filter left out.
    Filtered = "lines skipped by a where filter", false;
    /// Time went back a little and was held.
    TimeClamped = "arrivals that went back in time moved up to the latest one", false;
    /// Time went back and the gap was taken as zero.
    TimeKept = "arrivals that went back in time taken as a gap of zero", false;
    /// Time went back and the request was moved to its place.
    TimeSorted = "requests sorted into the order of time", false;
    /// A clock of whole seconds was refined.
    Spread = "requests spread evenly over the second they were recorded in", false;
    /// More than nine digits after the decimal point.
    TimeDigits = "times cut to whole nanoseconds", false;
    /// A number with an exponent above its digits.
    Exponent = "numbers whose exponent hides digits: a spreadsheet may have rounded them", false;
    /// A decimal time without an integer or a fractional part.
    TimeForm = "times without digits on both sides of the decimal point", false;
    /// Times start at an epoch.
    Rebased = "the first arrival was moved to time 0", false;
    /// A gap of more than thirty days.
    LongGap = "gaps of more than 30 days", false;
    /// Every request arrives at once.
    OneInstant = "all requests arrive at the same time: consider --replay closed", false;
    /// Times look as if they were in another unit.
    TimeUnit = "the unit of time looks wrong", false;
    /// An impossible response time.
    Response = "impossible response times (they are not used)", false;
    /// An MSR line whose host has no name.
    NoHost = "requests without a host name", false;
    /// A label with bytes that are not UTF-8.
    Label = "labels that are not UTF-8, shown escaped", false;
    /// Nearly all requests are of one kind in a format whose codes are often swapped.
    OpCodes = "nearly all requests are of one kind: the operation codes may be swapped", false;
    /// An SPC file with gaps in its unit numbers.
    UnitHoles = "gaps in the unit numbers", false;
    /// Waits are read as the manual of fio defines them.
    Wait = "waits read as microseconds since the previous wait", false;
    /// Waits where they have no meaning.
    WaitIgnored = "waits ignored", false;
    /// A file opened twice.
    OpenTwice = "files opened twice", false;
    /// The file grew.
    Grew = "the file grew while it was read; only its initial size was read", false;
    /// Which event was counted.
    Action = "one event of each request is counted", false;
    /// Several volumes and where they lie.
    Layout = "several volumes", false;
    /// A request that was no whole number of sectors.
    Rounded = "requests rounded outward to 512 B", false;
    /// A request moved into the device.
    Wrapped = "requests wrapped into the device", false;
    /// A request cut at the end of the device.
    Clipped = "requests cut at the end of the device", false;
    /// A request beyond the device.
    Dropped = "requests beyond the end of the device skipped", true;
    /// A request whose pages are not contiguous.
    Scattered = "requests whose pages are not neighbours on the device", false;
    /// A trim of untouched pages.
    TrimUntouched = "trims of untouched pages skipped", true;
    /// The trace was repeated.
    Looped = "the trace was repeated", false;
}

/// How often a class occurred and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Occurrences.
    pub count: u64,
    /// The first lines concerned, five at most.
    pub lines: Vec<u64>,
    /// Details: the layout, the likely unit, the first error.
    pub detail: String,
    /// Largest step back in time, in nanoseconds, where that applies.
    pub largest_ns: u64,
}

/// All remarks about one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Notes(BTreeMap<Note, Tally>);

impl Notes {
    /// No remarks.
    pub fn new() -> Notes {
        Notes::default()
    }

    pub(crate) fn add(&mut self, note: Note, line: u64) -> &mut Tally {
        self.add_many(note, line, 1)
    }

    pub(crate) fn add_many(&mut self, note: Note, line: u64, count: u64) -> &mut Tally {
        let tally = self.0.entry(note).or_default();
        tally.count = tally.count.saturating_add(count);
        if line > 0 && tally.lines.len() < LINES_KEPT {
            tally.lines.push(line);
        }
        tally
    }

    /// A remark about the whole file.
    pub(crate) fn state(&mut self, note: Note, detail: impl Into<String>) {
        let tally = self.0.entry(note).or_default();
        tally.count = 1;
        tally.detail = detail.into();
    }

    /// Takes over every remark of `other`.
    pub(crate) fn merge(&mut self, other: &Notes) {
        for (note, theirs) in &other.0 {
            let ours = self.0.entry(*note).or_default();
            ours.count = ours.count.saturating_add(theirs.count);
            let room = LINES_KEPT.saturating_sub(ours.lines.len());
            ours.lines.extend(theirs.lines.iter().take(room));
            ours.largest_ns = ours.largest_ns.max(theirs.largest_ns);
            if ours.detail.is_empty() {
                ours.detail.clone_from(&theirs.detail);
            }
        }
    }

    /// Occurrences of a class.
    pub fn count(&self, note: Note) -> u64 {
        self.0.get(&note).map_or(0, |tally| tally.count)
    }

    /// The tally of a class, if it occurred.
    pub fn get(&self, note: Note) -> Option<&Tally> {
        self.0.get(&note)
    }

    pub(crate) fn get_mut(&mut self, note: Note) -> Option<&mut Tally> {
        self.0.get_mut(&note)
    }

    /// Requests and lines of the trace that were dropped, over all classes.
    pub fn skipped(&self) -> u64 {
        self.0.iter().filter(|(note, _)| note.skips()).map(|(_, tally)| tally.count).sum()
    }

    /// Whether there are no remarks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every class that occurred, each with its tally.
    pub fn iter(&self) -> impl Iterator<Item = (Note, &Tally)> {
        self.0.iter().map(|(note, tally)| (*note, tally))
    }

    /// One printable line per class.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(note, tally)| Line(*note, tally).to_string())
    }
}

struct Line<'a>(Note, &'a Tally);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(note, tally) = self;
        f.write_str(note.text())?;
        // A remark about the whole file has no line; a count of 1 would confuse.
        if tally.count != 1 || !tally.lines.is_empty() {
            write!(f, ": {}", tally.count)?;
        }
        if tally.largest_ns > 0 {
            write!(f, ", largest step {}", seconds(tally.largest_ns))?;
        }
        if let Some(first) = tally.lines.first() {
            write!(f, ", first at line {first}")?;
        }
        match (tally.detail.is_empty(), tally.lines.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => write!(f, ": {}", tally.detail),
            (false, false) => write!(f, " ({})", tally.detail),
        }
    }
}

/// Names for a message: escaped, the first few, and how many more.
pub(crate) fn name_list<'a>(names: impl ExactSizeIterator<Item = &'a [u8]>) -> String {
    const SHOWN: usize = 12;
    let total = names.len();
    let mut text = names.take(SHOWN).map(escape).collect::<Vec<_>>().join(", ");
    if total > SHOWN {
        text.push_str(&format!(" and {} more", total - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_class() {
        let mut notes = Notes::new();
        for line in 3..20 {
            notes.add(Note::TimeClamped, line).largest_ns = 1_500_000_000;
        }
        notes.add(Note::BadLine, 7).detail = "T009 1 (first at line 7)".into();
        notes.state(Note::Layout, "2 volumes laid end to end");
        let lines: Vec<String> = notes.lines().collect();
        assert_eq!(
            lines,
            [
                "malformed lines skipped: 1, first at line 7 (T009 1 (first at line 7))",
                "arrivals that went back in time moved up to the latest one: 17, largest step 1.500000000 s, first at line 3",
                "several volumes: 2 volumes laid end to end",
            ]
        );
        assert_eq!((notes.skipped(), notes.get(Note::TimeClamped).map(|t| t.lines.len())), (1, Some(5)));
        let mut twice = notes.clone();
        twice.merge(&notes);
        assert_eq!(twice.count(Note::TimeClamped), 34);
    }
}
