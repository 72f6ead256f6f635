//! The figures of a trace: `ssdlab trace info` prints them, `trace check` judges them.

use crate::error::TraceError;
use crate::notes::{Note, Notes};
use crate::reader::Reader;
use crate::record::{Op, Record};
use crate::shown::seconds;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Bytes of the pages in which footprints are counted, whatever page the device has.
pub const INFO_PAGE_BYTES: u64 = 4096;
/// Largest gap inside a burst (0.2 ms, as in published tables).
pub const BURST_NS: u64 = 200_000;
/// Two equal requests at most this far apart may be one request logged twice.
const TWIN_NS: u64 = 100_000_000;
/// Number of preceding requests searched for a twin.
const TWIN_REACH: usize = 16;

/// The figures of one trace. Shares are in [0, 1]; means are exact sums divided once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Info {
    /// Requests: reads, writes and trims.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Lines and requests that were dropped.
    pub skipped: u64,
    /// Reads among reads and writes.
    pub read_ratio: f64,
    /// Writes with forced unit access.
    pub fua: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Mean size of a read in bytes.
    pub mean_read_bytes: f64,
    /// Mean size of a write in bytes.
    pub mean_write_bytes: f64,
    /// Largest read or write in bytes.
    pub max_request_bytes: u64,
    /// First to last arrival in nanoseconds.
    pub span_ns: u64,
    /// Requests a second over the span; 0 if all arrive at once.
    pub requests_per_s: f64,
    /// Distinct 4 KiB pages read or written, counted in each volume.
    pub footprint_pages: u64,
    /// Distinct 4 KiB pages written.
    pub written_pages: u64,
    /// 4 KiB pages written, counted once per write.
    pub page_writes: u64,
    /// `page_writes` per `written_pages`: 1 if nothing is ever overwritten.
    pub page_writes_per_written_page: f64,
    /// Bytes written per byte of the written pages. Below `page_writes_per_written_page` if writes are partial.
    pub overwrite_factor: f64,
    /// Requests that start where the one before on the same volume ended.
    pub sequential_share: f64,
    /// Span divided by the number of gaps, in nanoseconds.
    pub interarrival_mean_ns: f64,
    /// Gaps of at most 0.2 ms among all gaps.
    pub burst_share: f64,
    /// The largest number of nanoseconds of which all gaps are multiples: the step of the clock, or more; 0 without gaps.
    pub clock_ns: u64,
    /// Different arrival times.
    pub instants: u64,
    /// Requests whose offset and size are multiples of 512 B.
    pub aligned_512_share: f64,
    /// Requests whose offset and size are multiples of 4 KiB.
    pub aligned_4k_share: f64,
    /// Requests whose offset and size are multiples of 256 KiB. Near 1 suggests that bytes were read as sectors.
    pub aligned_256k_share: f64,
    /// Whether no arrival is earlier than the one before it.
    pub sorted: bool,
    /// Arrivals earlier than the one before, in file order.
    pub steps_back: u64,
    /// Requests equal to one of the 16 before them within 0.1 s.
    pub twins: u64,
    /// Volumes.
    pub volumes: u64,
    /// Highest end of a request on any one volume, in bytes.
    pub max_end_bytes: u64,
    /// Bytes a device needs for all volumes laid end to end.
    pub capacity_needed_bytes: u64,
    /// Bytes a device needs with `--lba-policy dense`.
    pub dense_capacity_bytes: u64,
}

/// Distinct pages in 64-byte groups of 512: little for scattered pages, almost nothing for dense ones.
#[derive(Default)]
pub struct Pages {
    groups: FxHashMap<(u32, u64), [u64; 8]>,
    count: u64,
}

impl Pages {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds the pages from `first` to `last` of a volume.
    pub fn insert(&mut self, volume: u32, first: u64, last: u64) {
        let mut page = first;
        loop {
            let group = self.groups.entry((volume, page >> 9)).or_default();
            let stop = last.min(page | 511);
            for word in (page & 511) >> 6..=(stop & 511) >> 6 {
                let start = (page & !511) + word * 64;
                let from = page.max(start) - start;
                let to = stop.min(start + 63) - start;
                let mask = (u64::MAX >> (63 - (to - from))) << from;
                let slot = &mut group[word as usize];
                self.count += u64::from((mask & !*slot).count_ones());
                *slot |= mask;
            }
            if stop == last {
                return;
            }
            page = stop + 1;
        }
    }
}

/// Collects [`Info`] request by request; memory grows with the footprint.
#[derive(Default)]
pub struct Collector {
    info: Info,
    /// Pages touched and written; `None` if no footprint is requested.
    footprint: Option<(Pages, Pages)>,
    /// End of the last request and highest end, by volume.
    ends: Vec<(Option<u64>, u64)>,
    sequential: u64,
    bursts: u64,
    aligned_512: u64,
    aligned_4k: u64,
    aligned_256k: u64,
    previous_ns: Option<u64>,
    first_ns: u64,
    /// The last requests in a ring, and their offsets apart.
    recent: Vec<Record>,
    offsets: [u64; TWIN_REACH],
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Collector {
    /// Nothing yet.
    pub fn new() -> Collector {
        Collector { footprint: Some(Default::default()), ..Collector::default() }
    }

    /// Collects all figures but footprints, in constant memory. No warning of [`check`] needs footprints.
    pub(crate) fn without_footprint() -> Collector {
        Collector::default()
    }

    /// Counts a request. Requests come in the order of time.
    pub fn add(&mut self, record: &Record) {
        let info = &mut self.info;
        info.requests += 1;
        let end = record.offset.saturating_add(record.bytes);
        let volume = record.volume as usize;
        if volume >= self.ends.len() {
            self.ends.resize(volume + 1, (None, 0));
        }
        if record.bytes > 0 && record.op != Op::Trim {
            if let Some((touched, written)) = &mut self.footprint {
                let (first, last) = (record.offset / INFO_PAGE_BYTES, (end - 1) / INFO_PAGE_BYTES);
                touched.insert(record.volume, first, last);
                if record.op == Op::Write {
                    written.insert(record.volume, first, last);
                    info.page_writes += last - first + 1;
                }
            }
            info.max_request_bytes = info.max_request_bytes.max(record.bytes);
        }
        let (count, bytes) = match record.op {
            Op::Read => (&mut info.reads, &mut info.read_bytes),
            Op::Write => (&mut info.writes, &mut info.write_bytes),
            Op::Trim | Op::Flush | Op::Other => (&mut info.trims, &mut info.trim_bytes),
        };
        *count += 1;
        info.fua += u64::from(record.fua);
        *bytes = bytes.saturating_add(record.bytes);
        let (last_end, highest) = &mut self.ends[volume];
        self.sequential += u64::from(*last_end == Some(record.offset));
        *last_end = Some(end);
        *highest = end.max(*highest);
        self.aligned_512 += u64::from((record.offset | record.bytes).is_multiple_of(512));
        self.aligned_4k += u64::from((record.offset | record.bytes).is_multiple_of(INFO_PAGE_BYTES));
        self.aligned_256k += u64::from((record.offset | record.bytes).is_multiple_of(512 * 512));
        match self.previous_ns {
            None => (self.first_ns, info.instants) = (record.time_ns, 1),
            Some(previous) => {
                let gap = record.time_ns.saturating_sub(previous);
                self.bursts += u64::from(gap <= BURST_NS);
                info.instants += u64::from(gap > 0);
                // Most gaps are multiples of the step that is known.
                if info.clock_ns != 1 && gap > 0 && (info.clock_ns == 0 || gap % info.clock_ns != 0) {
                    info.clock_ns = common_divisor(gap, info.clock_ns);
                }
            }
        }
        self.previous_ns = Some(record.time_ns);
        // Even the offset rarely agrees, so comparing sixteen offsets settles most requests.
        let twin = self.offsets.contains(&record.offset)
            && self.recent.iter().any(|other| {
                (other.offset, other.bytes, other.volume, other.op)
                    == (record.offset, record.bytes, record.volume, record.op)
                    && record.time_ns.saturating_sub(other.time_ns) < TWIN_NS
            });
        info.twins += u64::from(twin);
        let at = (info.requests - 1) as usize % TWIN_REACH;
        self.offsets[at] = record.offset;
        match self.recent.get_mut(at) {
            Some(oldest) => *oldest = *record,
            None => self.recent.push(*record),
        }
    }

    /// The figures so far.
    pub fn finish(&self) -> Info {
        let mut info = self.info.clone();
        let gaps = info.requests.saturating_sub(1);
        info.span_ns = self.previous_ns.unwrap_or(0).saturating_sub(self.first_ns);
        info.read_ratio = ratio(info.reads, info.reads + info.writes);
        info.mean_read_bytes = ratio(info.read_bytes, info.reads);
        info.mean_write_bytes = ratio(info.write_bytes, info.writes);
        info.requests_per_s = if info.span_ns == 0 { 0.0 } else { info.requests as f64 * 1e9 / info.span_ns as f64 };
        (info.footprint_pages, info.written_pages) =
            self.footprint.as_ref().map_or((0, 0), |(touched, written)| (touched.count, written.count));
        info.page_writes_per_written_page = ratio(info.page_writes, info.written_pages);
        info.overwrite_factor = ratio(info.write_bytes, info.written_pages.saturating_mul(INFO_PAGE_BYTES));
        info.sequential_share = ratio(self.sequential, info.requests);
        info.interarrival_mean_ns = ratio(info.span_ns, gaps);
        info.burst_share = ratio(self.bursts, gaps);
        info.aligned_512_share = ratio(self.aligned_512, info.requests);
        info.aligned_4k_share = ratio(self.aligned_4k, info.requests);
        info.aligned_256k_share = ratio(self.aligned_256k, info.requests);
        info.sorted = info.steps_back == 0;
        info.volumes = self.ends.len() as u64;
        info.max_end_bytes = self.ends.iter().map(|(_, end)| *end).max().unwrap_or(0);
        let page_end = |end: u64| end.checked_next_multiple_of(INFO_PAGE_BYTES).unwrap_or(u64::MAX);
        info.capacity_needed_bytes = self.ends.iter().fold(0, |sum: u64, (_, end)| sum.saturating_add(page_end(*end)));
        info.dense_capacity_bytes = info.footprint_pages.saturating_mul(INFO_PAGE_BYTES);
        info
    }
}

impl Info {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// What [`Reader::next`] refuses.
    pub fn read(reader: &mut Reader) -> Result<Info, TraceError> {
        let mut collector = Collector::new();
        while let Some(record) = reader.next()? {
            collector.add(&record);
        }
        let mut info = collector.finish();
        info.skipped = reader.notes().skipped();
        info.steps_back = reader.steps_back();
        info.sorted = info.steps_back == 0;
        Ok(info)
    }

    /// Column names of [`Info::table_row`].
    pub const TABLE_HEAD: [&'static str; 9] = ["trace", "WR", "WSS", "AS", "ARS", "AWS", "SR", "IA", "bursts"];

    /// The columns of published tables of trace characteristics: write ratio, working set, accessed bytes,
    /// mean read and write, sequential share, mean inter-arrival time, share of bursts. GB and KB are powers of 1024.
    pub fn table_row(&self, name: &str) -> [String; 9] {
        let gib = |bytes: f64| format!("{:.1} GB", bytes / (1u64 << 30) as f64);
        let kib = |bytes: f64| format!("{:.1} KB", bytes / 1024.0);
        [
            name.to_owned(),
            format!("{:.1} %", 100.0 * ratio(self.writes, self.reads + self.writes)),
            gib(self.footprint_pages as f64 * INFO_PAGE_BYTES as f64),
            gib(self.read_bytes as f64 + self.write_bytes as f64),
            kib(self.mean_read_bytes),
            kib(self.mean_write_bytes),
            format!("{:.1} %", 100.0 * self.sequential_share),
            format!("{:.2} ms", self.interarrival_mean_ns / 1e6),
            format!("{:.2} %", 100.0 * self.burst_share),
        ]
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Probably not what was meant.
    Warning,
}

/// Something `ssdlab trace check` found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// Stable name.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The finding and its likely meaning.
    pub text: String,
}

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Finer clocks are rarely the reason that requests share an instant.
const COARSE_NS: u64 = 1_000;

/// What a clock does that is coarser than the gaps: requests arrive together that did not.
fn coarse_clock(info: &Info) -> Option<String> {
    // Few requests may share a step, and be apart by whole steps, by chance.
    let coarse = info.instants >= 2 && info.requests >= 10 && info.requests >= 2 * info.instants;
    if !coarse || info.clock_ns < COARSE_NS {
        return None;
    }
    let each = (info.requests + info.instants / 2) / info.instants;
    let (times, remedy) = match info.clock_ns {
        whole if whole % 1_000_000_000 == 0 => ("whole seconds".to_owned(), "use --within-second even, or "),
        ns if ns >= 1_000_000 => (format!("multiples of {}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000), ""),
        ns => (format!("multiples of {}.{:03} us", ns / 1_000, ns % 1_000), ""),
    };
    Some(format!(
        "times are {times}, {each} requests at one instant in the mean: {remedy}expect bursts that were not there"
    ))
}

/// Times that go back.
fn times_back(info: &Info, notes: &Notes, add: &mut dyn FnMut(&'static str, Severity, String)) {
    if info.steps_back == 0 {
        return;
    }
    let largest = [Note::TimeKept, Note::TimeClamped, Note::TimeSorted]
        .iter()
        .filter_map(|note| notes.get(*note))
        .map(|tally| tally.largest_ns)
        .max()
        .unwrap_or(0);
    let text = format!("{} arrivals earlier than the one before, largest step {}", info.steps_back, seconds(largest));
    add("time_back", Severity::Warning, text);
    // A 32-bit counter of ns, 100 ns, us or ms that wraps around goes back by nearly its whole range.
    for (unit, ns) in [("1 ns", 1u64), ("100 ns", 100), ("1 us", 1_000), ("1 ms", 1_000_000)] {
        let range = ns << 32;
        if largest > range - range / 100 && largest <= range {
            add(
                "time_wrap",
                Severity::Warning,
                format!("time goes back by nearly 2^32 times {unit}: a counter may have wrapped around"),
            );
        }
    }
}

/// Addresses that end where a counter does, or that are too high.
fn addresses(info: &Info, add: &mut dyn FnMut(&'static str, Severity, String)) {
    for bits in [31u32, 32] {
        for (unit, bytes) in [("bytes", 1u64), ("sectors", 512)] {
            let range = bytes << bits;
            if info.max_end_bytes <= range && info.max_end_bytes > range - range / 1024 {
                add(
                    "address_wrap",
                    Severity::Warning,
                    format!("addresses end just below 2^{bits} {unit}: they may have been truncated to {bits} bits"),
                );
            }
        }
    }
    if info.max_end_bytes > 1 << 50 {
        add(
            "address_unit",
            Severity::Warning,
            format!("the highest address is {} TiB: the unit of the offset may be wrong", info.max_end_bytes >> 40),
        );
    }
    // Benchmarks may use 256 KiB throughout, but then their addresses are usually low.
    if info.requests >= 100 && info.aligned_256k_share > 0.99 && info.max_end_bytes > 1 << 40 {
        add(
            "address_unit",
            Severity::Warning,
            "all offsets and sizes are multiples of 256 KiB: byte addresses may have been read as sectors".into(),
        );
    }
}

/// Judges a trace by its figures and notes. The reader must have been read to its end; with `--time-order keep` it
/// also sees steps back that would otherwise be refused.
pub fn check(info: &Info, notes: &Notes) -> Vec<Lint> {
    let mut lints = Vec::new();
    let mut add = |name, severity, text: String| lints.push(Lint { name, severity, text });
    let count = |note| notes.count(note);
    if let Some(tally) = notes.get(Note::TimeUnit) {
        add("time_unit", Severity::Warning, format!("the unit of time looks wrong: {}", tally.detail));
    } else if info.span_ns > 0 && info.interarrival_mean_ns < 100.0 {
        let text = format!("{:.3} ns between requests: the times may be in us or ms", info.interarrival_mean_ns);
        add("time_unit", Severity::Warning, text);
    }
    if count(Note::OneInstant) > 0 {
        add(
            "one_instant",
            Severity::Warning,
            "all requests arrive at one time: use --replay closed, or name the time column".into(),
        );
    }
    coarse_clock(info).into_iter().for_each(|text| add("coarse_clock", Severity::Warning, text));
    if count(Note::LongGap) > 0 {
        add("long_gap", Severity::Note, format!("{} gaps of more than 30 days", count(Note::LongGap)));
    }
    times_back(info, notes, &mut add);
    addresses(info, &mut add);
    if info.twins * 10 > info.requests * 3 {
        let text = format!(
            "{} of {} requests repeat one just before them: two events per request may have been logged, and overwrites count double",
            info.twins, info.requests
        );
        add("twins", Severity::Warning, text);
    } else if info.twins > 0 {
        add("twins", Severity::Note, format!("{} requests repeat one just before them", info.twins));
    }
    if info.aligned_512_share < 1.0 {
        let share = 100.0 * (1.0 - info.aligned_512_share);
        add(
            "alignment",
            Severity::Note,
            format!("{share:.2} % of requests are not whole sectors and will be rounded outward"),
        );
    }
    if let Some(tally) = notes.get(Note::OpCodes) {
        add("op_codes", Severity::Warning, format!("the operation codes may be swapped: {}", tally.detail));
    }
    if info.writes > 0 && info.page_writes_per_written_page < 1.1 {
        let text = format!(
            "each written page is written {:.2} times: without preconditioning or --loop GC will not run",
            info.page_writes_per_written_page
        );
        add("few_overwrites", Severity::Note, text);
    }
    if info.volumes > 1 {
        let text = format!(
            "{} volumes: laid end to end they need {} bytes ({}); --device chooses one",
            info.volumes,
            info.capacity_needed_bytes,
            gib(info.capacity_needed_bytes)
        );
        add("volumes", Severity::Note, text);
    }
    let text = format!(
        "a device needs {} bytes ({}) for this trace, or {} bytes ({}) with --lba-policy dense",
        info.capacity_needed_bytes,
        gib(info.capacity_needed_bytes),
        info.dense_capacity_bytes,
        gib(info.dense_capacity_bytes)
    );
    add("capacity", Severity::Note, text);
    lints.sort_by_key(|lint| std::cmp::Reverse(lint.severity));
    lints
}

/// The warnings of [`check`] that the notes do not already contain; a run prints them after its notes.
pub(crate) fn warnings(info: &Info, notes: &Notes) -> Vec<Lint> {
    let mut lints = check(info, notes);
    lints.retain(|lint| {
        let noted = match lint.name {
            "time_back" | "one_instant" | "op_codes" => true,
            "time_unit" => notes.get(Note::TimeUnit).is_some(),
            _ => false,
        };
        lint.severity == Severity::Warning && !noted
    });
    lints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_once() {
        let mut pages = Pages::default();
        let mut slow = std::collections::BTreeSet::new();
        let mut state = 1u64;
        for _ in 0..500 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let first = (state >> 40) % 5_000;
            let last = first + (state >> 33) % 700;
            pages.insert((state >> 63) as u32, first, last);
            slow.extend((first..=last).map(|page| (state >> 63, page)));
        }
        assert_eq!(pages.count, slow.len() as u64);
        pages.insert(9, u64::MAX >> 12, u64::MAX >> 12);
    }

    #[test]
    fn figures_of_a_small_trace() {
        let record =
            |time_ns, op, offset, bytes| Record { time_ns, offset, bytes, volume: 0, op, fua: false, stream: 0 };
        let mut collector = Collector::new();
        collector.add(&record(0, Op::Write, 0, 8192));
        collector.add(&record(100, Op::Write, 8192, 4096));
        collector.add(&record(300_200, Op::Write, 4096, 512));
        collector.add(&record(1_000_000, Op::Read, 1 << 20, 100));
        let info = collector.finish();
        assert_eq!((info.requests, info.reads, info.writes), (4, 1, 3));
        assert_eq!((info.written_pages, info.page_writes, info.footprint_pages), (3, 4, 4));
        assert_eq!((info.sequential_share, info.burst_share), (0.25, 1.0 / 3.0));
        assert_eq!(info.capacity_needed_bytes, (1 << 20) + 4096);
    }

    #[test]
    fn lints_say_what_looks_wrong() {
        let names = |info: &Info, notes: &Notes| check(info, notes).iter().map(|lint| lint.name).collect::<Vec<_>>();
        let plain = Info {
            requests: 1_000,
            span_ns: 1_000_000_000,
            interarrival_mean_ns: 1e6,
            aligned_512_share: 1.0,
            ..Info::default()
        };
        assert_eq!(names(&plain, &Notes::new()), ["capacity"]);
        let mut notes = Notes::new();
        notes.add(Note::TimeKept, 7).largest_ns = (1 << 32) * 1_000 - 5_000_000;
        let wrapped = Info { steps_back: 1, ..plain.clone() };
        assert_eq!(names(&wrapped, &notes), ["time_back", "time_wrap", "capacity"]);
        let cut = Info { max_end_bytes: 512 << 32, ..plain.clone() };
        assert_eq!(names(&cut, &Notes::new()), ["address_wrap", "capacity"]);
        let bytes = Info { max_end_bytes: 7 << 40, aligned_256k_share: 1.0, ..plain.clone() };
        assert_eq!(names(&bytes, &Notes::new()), ["address_unit", "capacity"]);
        let twice = Info { twins: 480, ..plain.clone() };
        assert_eq!(names(&twice, &Notes::new()), ["twins", "capacity"]);
        let fast = Info { interarrival_mean_ns: 3.0, ..plain };
        assert_eq!(names(&fast, &Notes::new()), ["time_unit", "capacity"]);
    }

    #[test]
    fn the_row_of_published_tables() {
        let info = Info {
            reads: 371,
            writes: 629,
            requests: 1_000,
            footprint_pages: 498_074,
            mean_read_bytes: 11_469.0,
            interarrival_mean_ns: 14_400_000.0,
            burst_share: 0.7672,
            ..Info::default()
        };
        let row = info.table_row("hm_0");
        assert_eq!(row[..3], ["hm_0", "62.9 %", "1.9 GB"]);
        assert_eq!((row[4].as_str(), row[7].as_str(), row[8].as_str()), ("11.2 KB", "14.40 ms", "76.72 %"));
    }
}
