//! Parallel issue queuing: requests that share no chip are dispatched together.

use super::chips::ChipSet;
use crate::policy::{Order, Window};
use crate::schemes::scheme;
use crate::units::RequestId;

/// Default of `order.chip_queue`. Without a limit no request would wait in the window, and no batch would form.
const CHIP_QUEUE: u32 = 8;

/// Requests of one kind that share no chip, in order of arrival.
#[derive(Clone, Debug, Default)]
struct Batch {
    reads: bool,
    /// Target chips.
    chips: ChipSet,
    requests: Vec<Member>,
}

/// A request of a batch.
#[derive(Clone, Copy, Debug)]
struct Member {
    request: RequestId,
    /// Where [`BatchList::targets`] has its chips.
    targets: usize,
}

/// Algorithm 1's lists of batches. The first `used` are current; the others keep memory for later.
#[derive(Clone, Debug, Default)]
struct BatchList {
    batches: Vec<Batch>,
    used: usize,
    /// Target chips of each request of the window, in order of arrival. More than that keep memory for later.
    targets: Vec<ChipSet>,
}

impl BatchList {
    /// Algorithm 1 for every request of the window: it joins the first batch of its kind with which it shares no chip, or a new
    /// batch.
    fn build(&mut self, window: &dyn Window) {
        self.used = 0;
        for (at, request) in window.pending().iter().enumerate() {
            let reads = window.reads(*request);
            if at == self.targets.len() {
                self.targets.push(ChipSet::default());
            }
            self.targets[at].clear(window);
            self.targets[at].insert_of(window, *request);
            let targets = &self.targets[at];
            let shares = |batch: &Batch| batch.chips.shares(targets);
            let depends =
                |batch: &Batch| batch.requests.iter().any(|earlier| window.overlap(*request, earlier.request));
            let present = &self.batches[..self.used];
            let stays_behind = |batch: &Batch| {
                !batch.reads
                    && if reads {
                        // Delayed writes go before reads that came later.
                        window.delays_writes() && shares(batch)
                    } else {
                        // A write never overtakes an earlier one of the same page (the paper's queue holds no dependent requests).
                        depends(batch)
                    }
            };
            let first = present.iter().rposition(stays_behind).map_or(0, |last| last + 1);
            let fits = |batch: &Batch| batch.reads == reads && !shares(batch);
            let number = present[first..].iter().position(fits).map(|b| first + b);
            let number = number.unwrap_or_else(|| {
                if self.used == self.batches.len() {
                    self.batches.push(Batch::default());
                }
                let batch = &mut self.batches[self.used];
                batch.reads = reads;
                self.used += 1;
                batch.requests.clear();
                batch.chips.clear(window);
                self.used - 1
            });
            let batch = &mut self.batches[number];
            batch.chips.extend(targets);
            batch.requests.push(Member { request: *request, targets: at });
        }
    }

    fn all(&self) -> &[Batch] {
        &self.batches[..self.used]
    }

    /// All requests with their target chips, batch by batch.
    fn requests(&self) -> impl Iterator<Item = (RequestId, &ChipSet)> {
        let members = self.all().iter().flat_map(|batch| &batch.requests);
        members.map(|member| (member.request, &self.targets[member.targets]))
    }
}

scheme! {
    /// Parallel issue queuing (PIQ), asynchronous: requests that share no chip form batches, which are dispatched batch by batch.
    ///
    /// Requests in the window form batches. A request joins the first batch of its kind, read or write, with which it shares no
    /// chip, or a new batch. Batches are dispatched in the order of their creation, and requests of a batch in order of arrival,
    /// each as soon as all its chips have room (`order.chip_queue`, 8 by default). A request that has to wait holds back later
    /// ones on its chips. It helps if requests have several pages; requests of one page are dispatched as with `async-fifo`.
    ///
    /// Liang et al., Balanced Redirected Read, section III.D, Algorithm 1, after Gao et al., MSST 2014. The printed algorithm
    /// opens a batch without putting the request into it; here the request joins it (docs/papers/brr.md, C4).
    Piq {}
    state {
        /// Batches of waiting requests.
        list: BatchList = BatchList::default(),
        /// Number of their requests that have been considered.
        seen: usize = 0,
        /// Chips of requests that cannot be dispatched.
        blocked: ChipSet = ChipSet::default()
    }
}

impl Order for Piq {
    fn drain(&mut self, window: &dyn Window) {
        self.list.build(window);
        self.seen = 0;
        self.blocked.clear(window);
    }

    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        for (request, targets) in self.list.requests().skip(self.seen) {
            self.seen += 1;
            if !self.blocked.shares(targets) && window.fits(request) {
                return window.pending().iter().position(|other| *other == request);
            }
            self.blocked.extend(targets);
        }
        None
    }
    fn chip_queue(&self) -> Option<u32> {
        Some(CHIP_QUEUE)
    }
}

scheme! {
    /// Parallel issue queuing, synchronous: a batch of requests that share no chip is dispatched at once, the next one when it is
    /// complete.
    ///
    /// Batches are formed as in `piq`, from the requests that wait when the previous batch is complete; the first batch is
    /// dispatched (paper C, section II.D; Gao et al., MSST 2014).
    SyncPiq {}
    state {
        /// Memory for batches.
        list: BatchList = BatchList::default(),
        /// Requests of the current batch that are not dispatched yet, last one first.
        going: Vec<RequestId> = Vec::new()
    }
}

impl Order for SyncPiq {
    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        if self.going.is_empty() && window.dispatched() == 0 {
            self.list.build(window);
            let first = self.list.all().first()?;
            self.going.extend(first.requests.iter().rev().map(|member| member.request));
        }
        let next = self.going.pop()?;
        window.pending().iter().position(|request| *request == next)
    }
    fn chip_queue(&self) -> Option<u32> {
        Some(CHIP_QUEUE)
    }
}
