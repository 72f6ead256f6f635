//! Windows of host writes of a run without time: what a device counted in each.

use ssdlab_sim::Sample;
use ssdlab_sim::report::life::LifeSample;

/// Limit on windows: shorter ones are a mistake.
const MOST: usize = 1_000_000;

/// What a run counted in a window of host writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Host writes of the run at its end, in bytes.
    pub host_bytes: u64,
    /// Requests in it.
    pub requests: u64,
    /// Pages of the host programmed in it.
    pub host_pages: u64,
    /// Pages that GC programmed in it.
    pub gc_pages: u64,
    /// Pages that GC copied within a die in it.
    pub copybacks: u64,
    /// Blocks erased in it.
    pub erases: u64,
    /// Free pages at its end.
    pub free_pages: u64,
    /// Pages programmed by folds of the cache of SLC in it.
    pub fold_pages: u64,
    /// Programmed pages of that cache at its end.
    pub slc_used_pages: u64,
    /// By placement handle: pages of the host programmed in it, and pages that GC moved out of its blocks. Empty without handles.
    pub handles: Vec<[u64; 2]>,
    /// Blocks and their wear at its end, where they wear out.
    pub life: Option<LifeSample>,
}

impl Counted {
    /// Pages that GC moved in it.
    pub fn moved_pages(&self) -> u64 {
        self.gc_pages + self.copybacks
    }
}

/// Counts by windows of host writes. A window ends with the request with which the host writes of the run reach its end.
pub struct Writes {
    capacity: u64,
    /// Bytes of a window in millionths.
    window: u128,
    requests: u64,
    bytes: u64,
    /// Bytes at which the current window ends.
    end: u64,
    rows: Vec<Counted>,
    /// The state when the current window began; none before the run.
    before: Option<Sample>,
    overflow: bool,
}

impl Writes {
    /// Windows of so many millionths of a drive write.
    pub fn new(millionths: u64) -> Writes {
        let (window, rows) = (u128::from(millionths), Vec::new());
        Writes { capacity: 0, window, requests: 0, bytes: 0, end: 0, rows, before: None, overflow: false }
    }

    /// The run begins on a device of so many bytes, in this state.
    pub fn start(&mut self, capacity: u64, before: Sample) {
        (self.capacity, self.before) = (capacity, Some(before));
        self.window *= u128::from(capacity);
        self.end = self.end_of(1);
    }

    fn end_of(&self, row: u64) -> u64 {
        u64::try_from((self.window * u128::from(row)).div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
    }

    /// A request was applied, which wrote so many bytes. Whether its window ends with it.
    #[inline]
    pub fn applied(&mut self, bytes: u64) -> bool {
        self.requests += 1;
        self.bytes += bytes;
        self.bytes >= self.end
    }

    /// The window ends in this state.
    pub fn row(&mut self, sample: Sample) {
        self.overflow |= self.rows.len() == MOST;
        let Some(before) = self.before.as_ref().filter(|_| !self.overflow) else { return };
        let (now, then) = (&sample.flash, &before.flash);
        self.rows.push(Counted {
            host_bytes: self.bytes,
            requests: self.requests,
            host_pages: now.programs.host - then.programs.host,
            gc_pages: now.programs.gc - then.programs.gc,
            copybacks: now.copybacks - then.copybacks,
            erases: now.erases - then.erases,
            free_pages: sample.free_pages,
            fold_pages: now.programs.fold - then.programs.fold,
            slc_used_pages: sample.slc_used_pages,
            handles: (sample.handles.iter().zip(&before.handles))
                .map(|(now, then)| [0, 1].map(|which| now[which] - then[which]))
                .collect(),
            life: sample.life,
        });
        self.before = Some(sample);
        self.requests = 0;
        // A long request may reach the ends of several windows: they have one row.
        let passed = u128::from(self.bytes) * 1_000_000 / self.window.max(1);
        self.end = self.end_of(u64::try_from(passed).unwrap_or(u64::MAX - 1) + 1);
    }

    /// The rows of a run that ends in this state, and the device's bytes; none if there were too many.
    pub fn finish(mut self, sample: Sample) -> Option<(Vec<Counted>, u64)> {
        if self.requests > 0 {
            self.row(sample);
        }
        (!self.overflow).then_some((self.rows, self.capacity))
    }
}
