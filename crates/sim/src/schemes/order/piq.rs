//! Parallel issue queuing: requests that share no chip go together.

use crate::policy::{Order, Window};
use crate::schemes::scheme;
use crate::units::RequestId;

/// Default of `order.chip_queue`: without a limit nothing would wait in the window, and no batch would form.
const CHIP_QUEUE: u32 = 8;

/// Requests of one kind that share no chip, in order of arrival.
#[derive(Clone, Debug, Default)]
struct Batch {
    reads: bool,
    /// Target chips, as bits.
    chips: Vec<u64>,
    requests: Vec<RequestId>,
}

/// Algorithm 1's lists of batches: the first `used` are the present ones, the rest is memory for later.
#[derive(Clone, Debug, Default)]
struct BatchList {
    batches: Vec<Batch>,
    used: usize,
    targets: Vec<u64>,
}

impl BatchList {
    /// Algorithm 1 for every request of the window: it joins the first batch of its kind with which it shares no chip, or
    /// opens a new one, and joins that.
    fn build(&mut self, window: &dyn Window) {
        let words = window.chip_count().div_ceil(64) as usize;
        self.used = 0;
        for request in window.pending() {
            let reads = window.reads(*request);
            let targets = &mut self.targets;
            targets.clear();
            targets.resize(words, 0);
            window.chips(*request, &mut |chip| targets[chip as usize / 64] |= 1 << (chip % 64));
            let shares = |batch: &Batch| batch.chips.iter().zip(&*targets).any(|(a, b)| a & b != 0);
            // A write never overtakes an earlier one of the same page (the paper's queue holds no dependent requests).
            let depends = |batch: &Batch| batch.requests.iter().any(|earlier| window.overlap(*request, *earlier));
            let present = &self.batches[..self.used];
            let first =
                if reads { 0 } else { present.iter().rposition(|b| !b.reads && depends(b)).map_or(0, |b| b + 1) };
            let fits = |batch: &Batch| batch.reads == reads && !shares(batch);
            let number = present[first..].iter().position(fits).map(|b| first + b);
            let number = number.unwrap_or_else(|| {
                if self.used == self.batches.len() {
                    self.batches.push(Batch::default());
                }
                let batch = &mut self.batches[self.used];
                (batch.reads, self.used) = (reads, self.used + 1);
                batch.requests.clear();
                batch.chips.clear();
                batch.chips.resize(words, 0);
                self.used - 1
            });
            let batch = &mut self.batches[number];
            batch.chips.iter_mut().zip(&self.targets).for_each(|(all, own)| *all |= own);
            batch.requests.push(*request);
        }
    }

    fn all(&self) -> &[Batch] {
        &self.batches[..self.used]
    }

    /// All requests, batch by batch.
    fn requests(&self) -> impl Iterator<Item = RequestId> {
        self.all().iter().flat_map(|batch| batch.requests.iter().copied())
    }
}

scheme! {
    /// Parallel issue queuing (PIQ), asynchronous: requests that share no chip form batches, and go to the chips batch by batch.
    ///
    /// What waits in the window is put into batches: a request joins the first batch of its kind, read or write, with whose
    /// requests it shares no chip, or opens a new one. Batches go in the order in which they were opened, requests of a batch
    /// in order of arrival, each as soon as all its chips have room (`order.chip_queue`, 8 by default); a request that has to
    /// stay holds back later ones on its chips. Reads go before writes that still wait (`order.delay_writes`). It helps where
    /// requests have several pages; requests of one page go as with `async-fifo`.
    ///
    /// Liang et al., Balanced Redirected Read, section III.D, Algorithm 1, after Gao et al., MSST 2014. The algorithm as
    /// printed opens a batch and forgets to put the request into it; here it joins (reading C4).
    Piq {}
    state {
        /// Batches of what waits.
        list: BatchList = BatchList::default(),
        /// How many requests of them have been looked at.
        seen: usize = 0,
        /// Chips of requests that stay.
        blocked: Vec<u32> = Vec::new()
    }
}

impl Order for Piq {
    fn drain(&mut self, window: &dyn Window) {
        self.list.build(window);
        self.seen = 0;
        self.blocked.clear();
    }

    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        for request in self.list.requests().skip(self.seen) {
            self.seen += 1;
            if window.fits(request) && !window.any_chip(request, &|chip| self.blocked.contains(&chip)) {
                return window.pending().iter().position(|other| *other == request);
            }
            window.chips(request, &mut |chip| self.blocked.push(chip));
        }
        None
    }
    fn chip_queue(&self) -> Option<u32> {
        Some(CHIP_QUEUE)
    }
    fn delays_writes(&self) -> bool {
        true
    }
}

scheme! {
    /// Parallel issue queuing, synchronous: a batch of requests that share no chip goes at once, the next one when it is done.
    ///
    /// Batches are formed as by `piq`, from what waits when the batch before is complete; the first one goes (paper C,
    /// section II.D; Gao et al., MSST 2014).
    SyncPiq {}
    state {
        /// Memory for batches.
        list: BatchList = BatchList::default(),
        /// Requests of the present batch that have not gone yet, last one first.
        going: Vec<RequestId> = Vec::new()
    }
}

impl Order for SyncPiq {
    fn next(&mut self, window: &dyn Window) -> Option<usize> {
        if self.going.is_empty() && window.dispatched() == 0 {
            self.list.build(window);
            let first = self.list.all().first()?;
            self.going.extend(first.requests.iter().rev());
        }
        let next = self.going.pop()?;
        window.pending().iter().position(|request| *request == next)
    }
    fn chip_queue(&self) -> Option<u32> {
        Some(CHIP_QUEUE)
    }
    fn delays_writes(&self) -> bool {
        true
    }
}
