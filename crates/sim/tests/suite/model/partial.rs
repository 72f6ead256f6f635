//! Partial writes by sector: runs of overlapping writes of a page, and the single merge read of a run.

use super::flash::Ppn;
use super::{Model, Op, Purpose, Sectors};

/// A logical page.
#[derive(Clone, Debug)]
pub(super) struct Logical {
    /// Its valid copy on flash: the newest version, or the old one that a merge read will need.
    pub(super) flash: Option<Ppn>,
    /// The writes that wait or are in flight, unless a later TRIM ended them.
    pub(super) run: Option<usize>,
    /// The newest write of each sector; 0 where there is none.
    pub(super) latest: Vec<u32>,
    /// The newest write that is not on flash yet.
    pub(super) in_memory: Option<u32>,
}

impl Logical {
    pub(super) fn unwritten(sectors: usize) -> Self {
        Logical { flash: None, run: None, latest: vec![0; sectors], in_memory: None }
    }

    /// The page's content on flash, overlaid by the sectors in memory.
    pub(super) fn merged(&self, runs: &[Run], mut old: Vec<u32>) -> Vec<u32> {
        if let Some(run) = self.run.filter(|_| self.in_memory.is_some()) {
            let sectors = runs[run].union();
            for sector in (0..old.len()).filter(|sector| sectors >> sector & 1 == 1) {
                old[sector] = self.latest[sector];
            }
        }
        old
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Merge {
    /// Waits in the queue; a run without missing sectors has no merge read.
    Waiting,
    Reading,
    Ended,
    Skipped,
}

/// Overlapping writes of a page, from the first to the end of the last.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Versions and sectors, in the order of admission.
    writes: Vec<(u32, Sectors)>,
    /// Number of writes that wait or are in flight.
    left: usize,
    /// Sectors that the first write lacks.
    lacks: Sectors,
    pub(super) merge: Merge,
    /// What the merge read returned.
    pub(super) base: Vec<u32>,
    /// Programs that wait for it.
    waiting: Vec<Op>,
    trimmed: bool,
}

impl Run {
    fn union(&self) -> Sectors {
        self.writes.iter().fold(0, |all, (_, sectors)| all | sectors)
    }

    /// Whether the old page is still needed.
    fn needs_old(&self) -> bool {
        let open = matches!(self.merge, Merge::Waiting | Merge::Reading);
        open && !self.trimmed && self.lacks & !self.union() != 0
    }

    /// Content of a program of this version.
    fn content(&self, version: u32) -> Vec<u32> {
        let newest = |sector: usize| {
            let writes = self.writes.iter().rev().filter(|(write, _)| *write <= version);
            writes.into_iter().find(|(_, sectors)| sectors >> sector & 1 == 1).map(|(write, _)| *write)
        };
        (0..self.base.len()).map(|sector| newest(sector).unwrap_or(self.base[sector])).collect()
    }
}

impl Model<'_> {
    fn whole(&self) -> Sectors {
        u64::MAX >> (64 - self.world.sectors())
    }

    pub(super) fn admit_write(&mut self, request: usize, lpn: u64, sectors: Sectors) {
        let sectors = if self.world.merges { sectors } else { self.whole() };
        self.versions += 1;
        let (version, on_flash) = (self.versions, self.logical[lpn as usize].flash.is_some());
        let run = self.logical[lpn as usize].run.unwrap_or_else(|| {
            let lacks = if on_flash { self.whole() & !sectors } else { 0 };
            let (writes, base) = (Vec::new(), vec![0; self.world.sectors()]);
            let merge = if lacks == 0 { Merge::Skipped } else { Merge::Waiting };
            self.runs.push(Run { writes, left: 0, lacks, merge, base, waiting: Vec::new(), trimmed: false });
            self.runs.len() - 1
        });
        let page = &mut self.logical[lpn as usize];
        (page.run, page.in_memory) = (Some(run), Some(version));
        for sector in (0..page.latest.len()).filter(|sector| sectors >> sector & 1 == 1) {
            page.latest[sector] = version;
        }
        self.runs[run].writes.push((version, sectors));
        self.runs[run].left += 1;
        if self.runs[run].writes.len() == 1 && self.runs[run].lacks != 0 {
            let age = self.age();
            self.arrive(Op { age, request, lpn, purpose: Purpose::Merge { run } });
        }
        let age = self.age();
        let program = Op { age, request, lpn, purpose: Purpose::Program { version, run } };
        if self.runs[run].needs_old() {
            self.outcome.met.merge_reads_shared += u64::from(self.runs[run].writes.len() > 1);
            self.runs[run].waiting.push(program);
        } else {
            self.discard(lpn);
            self.arrive(program);
        }
    }

    /// The page's copy on flash becomes stale.
    fn discard(&mut self, lpn: u64) {
        if let Some(ppn) = self.logical[lpn as usize].flash.take() {
            self.planes[ppn.plane].discard(ppn);
        }
    }

    pub(super) fn trim(&mut self, lpn: u64) {
        self.discard(lpn);
        if let Some(run) = self.logical[lpn as usize].run {
            self.runs[run].trimmed = true;
        }
        self.logical[lpn as usize] = Logical::unwritten(self.world.sectors());
    }

    /// Whether a read, or the merge read of a run, would need flash now.
    pub(super) fn needs_flash(&self, op: &Op) -> bool {
        let page = &self.logical[op.lpn as usize];
        match op.purpose {
            Purpose::Merge { run } => self.runs[run].needs_old(),
            Purpose::Read { sectors } => match page.run.filter(|_| page.in_memory.is_some()) {
                Some(run) => self.runs[run].needs_old() && sectors & !self.runs[run].union() != 0,
                None => page.flash.is_some(),
            },
            Purpose::Program { .. } => true,
        }
    }

    /// The merge read has ended, or is not needed. Returns the programs that waited for it.
    pub(super) fn merge_over(&mut self, run: usize, how: Merge) -> Vec<Op> {
        self.stirred = true;
        if self.runs[run].needs_old() {
            let lpn = self.runs[run].waiting[0].lpn;
            self.discard(lpn);
        }
        self.runs[run].merge = how;
        std::mem::take(&mut self.runs[run].waiting)
    }

    /// Queues the programs that waited for merge reads, oldest first.
    pub(super) fn release(&mut self, mut programs: Vec<Op>) {
        programs.sort_by_key(|op| op.age);
        programs.into_iter().for_each(|op| self.arrive(op));
    }

    /// A host program has ended.
    pub(super) fn landed(&mut self, lpn: u64, version: u32, run: usize, ppn: Ppn) {
        let content = self.runs[run].content(version);
        let page = &mut self.logical[lpn as usize];
        self.planes[ppn.plane].land(ppn, lpn, content.clone());
        if page.in_memory == Some(version) {
            assert_eq!(content, page.latest, "page {lpn} lands with other sectors than were written last");
            assert_eq!(page.flash, None);
            (page.flash, page.in_memory) = (Some(ppn), None);
            self.planes[ppn.plane].keep(ppn);
        }
        self.runs[run].left -= 1;
        if self.runs[run].left == 0 && !self.runs[run].trimmed {
            page.run = None;
        }
    }
}
