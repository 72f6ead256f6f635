//! A trace that is read, unpacked and parsed on a thread of its own, a bounded number of requests ahead of the simulation.
//!
//! The thread borrows the replay. It stops where the replay stops: at the limit, at the end, or at the first error. So when
//! all requests have been taken, the digest and the remarks of the replay are those of a run without the thread.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{ScopedJoinHandle, scope};

use ssdlab_trace::{Extent, Record, Replay, TraceError};

/// Requests in a batch: enough that passing it costs nothing beside reading it.
pub(crate) const BATCH: usize = 4096;
/// Batches that wait, beside the one that is filled and the one that is taken.
const WAITING: usize = 2;

/// Consecutive requests.
#[derive(Default)]
struct Batch {
    /// Each with the number of its extents; 0 if its bytes are contiguous.
    records: Vec<(Record, usize)>,
    /// Extents of the requests that have several, one request after the other.
    extents: Vec<Extent>,
    /// Bytes of the file that were read before the batch was complete.
    position: u64,
}

/// How a trace ended.
type End = std::result::Result<(), TraceError>;

/// The side of the thread that takes the requests.
pub(crate) struct Ahead<'t> {
    batches: Receiver<Batch>,
    thread: Option<ScopedJoinHandle<'t, End>>,
    batch: Batch,
    /// Requests of the batch that were taken, and extents up to the last one's.
    taken: usize,
    passed: usize,
    /// Extents of the last request.
    scattered: usize,
    accepted: u64,
}

/// Lets `take` have the requests of a replay while a thread reads them. The thread has ended when this returns, also if `take`
/// leaves requests; the replay may then have read more than was taken.
pub(crate) fn read_ahead<T>(replay: &mut Replay, take: impl FnOnce(Ahead<'_>) -> T) -> T {
    scope(|scope| {
        let (sender, batches) = sync_channel(WAITING);
        let thread = scope.spawn(move || read(replay, &sender));
        let batch = Batch::default();
        take(Ahead { batches, thread: Some(thread), batch, taken: 0, passed: 0, scattered: 0, accepted: 0 })
    })
}

/// Reads to the end, or until nothing takes the batches any more.
fn read(replay: &mut Replay, batches: &SyncSender<Batch>) -> End {
    loop {
        let mut batch = Batch { records: Vec::with_capacity(BATCH), ..Batch::default() };
        let end = batch.fill(replay);
        if batches.send(batch).is_err() {
            return Ok(());
        }
        if let Some(end) = end {
            return end;
        }
    }
}

impl Batch {
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

    /// Requests taken.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Bytes of the file that were read, up to the end of the current batch.
    pub(crate) fn position(&self) -> u64 {
        self.batch.position
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
