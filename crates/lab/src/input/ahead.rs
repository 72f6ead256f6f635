//! A trace that is read, unpacked and parsed on a thread of its own, a bounded number of requests ahead of the simulation.
//!
//! The thread borrows the replay. It stops where the replay stops: at the limit, at the end, or at the first error. So when
//! all requests have been taken, the digest and the remarks of the replay are those of a run without the thread.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, ScopedJoinHandle, scope};

use ssdlab_trace::{Extent, Record, Replay, TraceError};

/// Requests in a batch: enough that passing it costs nothing beside reading it.
const BATCH: usize = 4096;
/// Batches that wait, beside the one that is filled and the one that is taken.
const WAITING: usize = 2;

/// Consecutive requests.
#[derive(Default)]
pub(crate) struct Chunk {
    /// Each with the number of its extents; 0 if its bytes are contiguous.
    records: Vec<(Record, usize)>,
    /// Extents of the requests that have several, one request after the other.
    extents: Vec<Extent>,
    /// Bytes of the file that were read before the batch was complete.
    pub(crate) position: u64,
}

/// How a trace ended.
type End = std::result::Result<(), TraceError>;

/// The side of the thread that takes the requests.
pub(crate) struct Ahead<'t> {
    batches: Receiver<Chunk>,
    thread: Option<ScopedJoinHandle<'t, End>>,
    pub(crate) batch: Chunk,
    /// Requests of the batch that were taken, and extents up to the last one's.
    taken: usize,
    passed: usize,
    /// Extents of the last request.
    scattered: usize,
    /// Requests taken.
    pub(crate) accepted: u64,
}

/// Lets `take` have the requests of a replay while a thread reads them, or the replay itself if the system gives no thread. The
/// thread has ended when this returns, also if `take` leaves requests; the replay may then have read more than was taken.
pub(crate) fn read_ahead<T>(
    replay: &mut Replay,
    take: impl FnOnce(std::result::Result<Ahead<'_>, &mut Replay>) -> T,
) -> T {
    scope(|scope| {
        let (sender, batches) = sync_channel(WAITING);
        // The replay is lent once the thread is there.
        let (lend, lent) = sync_channel::<&mut Replay>(1);
        let reader = move || lent.recv().map_or(Ok(()), |replay| read(replay, &sender));
        let Ok(thread) = Builder::new().spawn_scoped(scope, reader) else { return take(Err(replay)) };
        if let Err(back) = lend.send(replay) {
            return take(Err(back.0));
        }
        let batch = Chunk::default();
        take(Ok(Ahead { batches, thread: Some(thread), batch, taken: 0, passed: 0, scattered: 0, accepted: 0 }))
    })
}

/// Reads to the end, or until nothing takes the batches any more.
fn read(replay: &mut Replay, batches: &SyncSender<Chunk>) -> End {
    loop {
        let mut batch = Chunk { records: Vec::with_capacity(BATCH), ..Chunk::default() };
        let end = batch.fill(replay);
        if batches.send(batch).is_err() {
            return Ok(());
        }
        if let Some(end) = end {
            return end;
        }
    }
}

impl Chunk {
    /// Adds requests until there are enough, or until the trace ends.
    fn fill(&mut self, replay: &mut Replay) -> Option<End> {
        let mut end = None;
        // Extents count too, so that memory is bounded by the largest request.
        while self.records.len() < BATCH && self.extents.len() < BATCH && end.is_none() {
            match replay.next() {
                Ok(Some(record)) => {
                    let extents = replay.extents();
                    let extents = if extents.len() > 1 { extents } else { &[] };
                    self.records.push((record, extents.len()));
                    self.extents.extend_from_slice(extents);
                }
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
            }
        }
        self.position = replay.reader().progress().0;
        end
    }
}

impl Ahead<'_> {
    /// The next request, as [`Replay::next`] gives it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record>, TraceError> {
        while self.taken == self.batch.records.len() {
            match self.batches.recv() {
                Ok(batch) => {
                    self.batch = batch;
                    (self.taken, self.passed, self.scattered) = (0, 0, 0);
                }
                Err(_) => return self.end().map(|()| None),
            }
        }
        let (record, extents) = self.batch.records[self.taken];
        self.taken += 1;
        self.accepted += 1;
        self.scattered = extents;
        self.passed += self.scattered;
        Ok(Some(record))
    }

    /// The extents of the last request; none if its bytes are contiguous.
    #[inline]
    pub(crate) fn extents(&self) -> &[Extent] {
        &self.batch.extents[self.passed - self.scattered..self.passed]
    }

    /// How the trace ended; after that it is at its end.
    #[cold]
    fn end(&mut self) -> End {
        match self.thread.take().map(ScopedJoinHandle::join) {
            Some(Ok(end)) => end,
            Some(Err(panic)) => resume_unwind(panic),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;
    use std::sync::Arc;

    use ssdlab_trace::{Fit, LbaPolicy, OnBadLine, Options, Row, Rows, Table, TimeOrder, Trace};

    use super::*;

    /// Random numbers below a bound.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % bound
        }

        fn one_in(&mut self, bound: u64) -> bool {
            self.below(bound) == 0
        }
    }

    const COLUMNS: &str = "columns:time=0:ns,op=1:'r'r'w'w't't,offset=2:bytes,size=3:bytes,vol=4";

    /// Lines of reads, writes and trims, some of which go back in time, cross the end of the device or can't be read.
    fn lines(dice: &mut Dice, count: u64, volumes: u64) -> String {
        let bad = [u64::MAX, 500, count + 1][dice.below(3) as usize];
        let mut time = 1 << 40;
        let line = |n: u64| {
            time += dice.below(2000);
            if n > 0 && dice.one_in(bad) {
                return "nonsense\n".into();
            }
            let op = ["r", "w", "w", "t"][dice.below(4) as usize];
            let (back, volume) = (dice.below(20) * dice.below(2), dice.below(volumes));
            format!("{},{op},{},{},{volume}\n", time - back, dice.below(3 << 20), 1 + dice.below(40_000))
        };
        (0..count).map(line).collect()
    }

    fn options(more: impl FnOnce(&mut Options)) -> Options {
        let mut options = Options { format: Some(COLUMNS.parse().unwrap()), ..Options::default() };
        more(&mut options);
        options
    }

    /// All that a run sees of a trace: requests with extents where they have several, the error, and the facts at the end.
    #[derive(Debug, PartialEq)]
    struct Seen {
        requests: Vec<(Record, Vec<Extent>)>,
        error: Option<String>,
        facts: (String, Vec<String>, String, u64),
    }

    fn see(mut next: impl FnMut() -> Result<Option<(Record, Vec<Extent>)>, TraceError>) -> Seen {
        let mut requests = Vec::new();
        let error = loop {
            match next() {
                Ok(Some((record, extents))) => {
                    requests.push((record, if extents.len() > 1 { extents } else { vec![] }))
                }
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        assert_eq!(next().ok(), Some(None), "it stays at its end");
        Seen { requests, error, facts: Default::default() }
    }

    fn both(trace: &Trace, options: &Options, fit: &Fit) -> [Seen; 2] {
        let replay = || Replay::of(trace, options, fit.clone()).unwrap();
        let with_facts = |seen: Seen, replay: &Replay| {
            let notes = replay.notes().lines().collect();
            Seen { facts: (replay.digest(), notes, format!("{:?}", replay.warnings()), replay.accepted()), ..seen }
        };
        let mut here = replay();
        let seen = see(|| Ok(here.next()?.map(|record| (record, here.extents().to_vec()))));
        let here = with_facts(seen, &here);
        let mut thread = replay();
        let seen = read_ahead(&mut thread, |ahead| {
            let mut ahead = begun(ahead);
            let seen = see(|| Ok(ahead.next()?.map(|record| (record, ahead.extents().to_vec()))));
            assert_eq!(ahead.accepted, seen.requests.len() as u64);
            seen
        });
        [here, with_facts(seen, &thread)]
    }

    /// The system gives a test its thread.
    fn begun<'t>(ahead: std::result::Result<Ahead<'t>, &mut Replay>) -> Ahead<'t> {
        ahead.unwrap_or_else(|_| panic!("no thread"))
    }

    fn saved(directory: &Path, text: &str) -> Trace {
        let path = directory.join("t.csv");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path.into()
    }

    #[test]
    fn a_thread_gives_the_same_requests_errors_and_facts() {
        let directory = tempfile::tempdir().unwrap();
        let (mut errors, mut scattered, mut full) = (0, 0, 0);
        for seed in 1..=60 {
            let dice = &mut Dice(seed << 32 | 0x9e37_79b9);
            let count = [20, 700, BATCH as u64, 3 * BATCH as u64, 20_000][dice.below(5) as usize];
            let volumes = 1 + dice.below(2) * 2;
            let trace = saved(directory.path(), &lines(dice, count, volumes));
            let options = options(|options| {
                options.on_bad_line =
                    [OnBadLine::Error, OnBadLine::Skip(3), OnBadLine::Skip(1000)][dice.below(3) as usize];
                options.time_order = [TimeOrder::Error, TimeOrder::Sort, TimeOrder::Keep][dice.below(3) as usize];
            });
            let policies = [LbaPolicy::Error, LbaPolicy::Wrap, LbaPolicy::Clip, LbaPolicy::Dense];
            let fit = Fit {
                lba_policy: policies[dice.below(4) as usize],
                limit: [None, Some(1 + dice.below(count)), Some(BATCH as u64)][dice.below(3) as usize],
                loops: 1 + dice.below(3),
                ..Fit::new([2 << 20, 64 << 20][dice.below(2) as usize])
            };
            let [here, thread] = both(&trace, &options, &fit);
            assert!(here == thread, "seed {seed}: {fit:?}: {:?} {:?}", here.error, thread.error);
            errors += u32::from(here.error.is_some());
            full += u32::from(here.error.is_none() && here.requests.len() > BATCH);
            scattered += here.requests.iter().filter(|(_, extents)| extents.len() > 1).count();
        }
        assert!(errors > 5 && full > 5 && scattered > 1000, "{errors} {full} {scattered}");
    }

    #[test]
    fn an_error_comes_after_the_same_request_with_the_same_text() {
        let directory = tempfile::tempdir().unwrap();
        for good in [0, 1, BATCH - 1, BATCH, BATCH + 1, 5 * BATCH] {
            let lines: String = (0..good).map(|n| format!("{},w,{},4096,0\n", n * 1000, n % 64 * 4096)).collect();
            let trace = saved(directory.path(), &format!("{lines}7,w,8,many,0\n9,r,0,512,0\n"));
            let [here, thread] = both(&trace, &options(|_| {}), &Fit::new(1 << 30));
            assert_eq!((thread.requests.len(), &thread.error), (good, &here.error));
            let text = thread.error.unwrap();
            assert!(
                text.contains("t.csv") && text.contains(&format!("{}", good + 1)) && text.contains("many"),
                "{text}"
            );
        }
    }

    /// Writes without end, or a panic at a row.
    struct Endless(u64);

    impl Rows for Endless {
        fn rows(&self) -> u64 {
            1 << 40
        }

        fn names_devices(&self) -> bool {
            false
        }

        fn fetch(&self, from: u64, most: usize, out: &mut Vec<Row>) {
            assert!(from < self.0, "row {from}");
            let row = |n: u64| Row { time_ns: n, offset: n % 64 * 4096, bytes: 4096, op: 1, ..Row::default() };
            out.extend((from..from + most as u64).map(row));
        }
    }

    fn endless(panic_at: u64) -> Replay {
        let table = Trace::Table(Table::new("table", Arc::new(Endless(panic_at))));
        Replay::of(&table, &Options::default(), Fit::new(1 << 30)).unwrap()
    }

    /// That the replay is free again means that the thread has ended.
    #[test]
    fn a_thread_ends_with_its_taker_and_reads_a_bounded_number_ahead() {
        for wanted in [0, 1, BATCH as u64, 50_000] {
            let mut replay = endless(u64::MAX);
            let taken = read_ahead(&mut replay, |ahead| {
                let mut ahead = begun(ahead);
                (0..wanted).for_each(|n| assert_eq!(ahead.next().unwrap().map(|record| record.time_ns), Some(n)));
                ahead.accepted
            });
            let most = taken + ((WAITING + 2) * BATCH) as u64;
            assert!(taken == wanted && (taken..=most).contains(&replay.accepted()), "{taken} {}", replay.accepted());
        }
    }

    #[test]
    fn panics_pass_in_both_directions() {
        let said = |panic: Box<dyn std::any::Any + Send>| panic.downcast_ref::<String>().cloned().unwrap();
        let mut replay = endless(u64::MAX);
        let taker = || read_ahead(&mut replay, |ahead| panic!("at {}", begun(ahead).next().unwrap().unwrap().offset));
        assert_eq!(said(catch_unwind(AssertUnwindSafe(taker)).unwrap_err()), "at 0");
        let mut replay = endless(2 * BATCH as u64);
        let all = || {
            read_ahead(&mut replay, |ahead| {
                let mut ahead = begun(ahead);
                while ahead.next().unwrap().is_some() {}
            });
        };
        assert_eq!(said(catch_unwind(AssertUnwindSafe(all)).unwrap_err()), format!("row {}", 2 * BATCH));
    }
}
