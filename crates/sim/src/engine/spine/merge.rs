//! Partial writes by sector: which data of a page comes from writes in flight, and which from flash.
//!
//! Writes of one page form a *run* while another one waits or is in flight. Sectors that the first write lacks, and that no newer
//! write brings, are only on flash: one merge read fetches them, before the first program that needs them. Until then the newest
//! write of the run keeps the old page ([`Op::old`]), so GC moves it like any other. Overlapping whole-page writes are runs too,
//! without missing sectors.

use crate::engine::rules::Rules;
use std::ops::Range;

use crate::blame::Cause;
use crate::config::{Config, PartialWrite};
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Slab};
use crate::engine::features::raid::place;
use crate::engine::features::raid::stripe::Chain;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_RUN, Page};
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::units::{Lpn, Nanos, OpId, Ppn, Tag};

/// Bytes of a sector.
pub(in crate::engine) const SECTOR: u64 = 512;

/// Writes of a page that overlap in time.
#[derive(Clone, Debug)]
struct Run {
    lpn: Lpn,
    /// Its writes that wait or are in flight.
    writes: u32,
    /// Number of sectors that none of its writes has.
    lacking: u32,
    /// Its first write lacked sectors, and its merge read may be skipped: other writes have joined it, or it was trimmed.
    skips: bool,
    /// Its merge read has ended; sectors still missing were uncorrectable.
    read: bool,
    /// Programs that wait for its merge read.
    waiting: Chain,
}

/// Those of 64 sectors from `first` on that are in a range, as bits.
#[inline(always)]
fn bits_of(first: u32, sectors: &Range<u32>) -> u64 {
    let below = |end: u32| match end.saturating_sub(first) {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    };
    below(sectors.end) & !below(sectors.start)
}

/// All runs.
#[derive(Clone)]
pub(in crate::engine) struct Runs {
    runs: Slab<Run>,
    in_use: u32,
    /// Number of those whose merge read may be skipped.
    skipping: u32,
    /// By run: its missing sectors, as bits, in `words` words each.
    bits: Vec<u64>,
    words: usize,
    /// Sectors per page.
    sectors: u32,
    /// Runs whose newest write is on flash while older ones are not.
    lingering: Vec<u32>,
    /// Programs whose merge read has ended at this moment.
    released: Vec<OpId>,
}

impl Runs {
    pub(in crate::engine) fn new(page_size: u32, depth: u32) -> Self {
        let sectors = page_size / SECTOR as u32;
        let (words, depth) = (sectors.div_ceil(64) as usize, depth as usize);
        Runs {
            runs: Slab::with_capacity(depth),
            in_use: 0,
            skipping: 0,
            bits: Vec::with_capacity(depth * words),
            words,
            sectors,
            lingering: Vec::with_capacity(depth),
            released: Vec::with_capacity(depth),
        }
    }

    fn begin(&mut self, lpn: Lpn, writes: u32) -> u32 {
        self.in_use += 1;
        let run = self.runs.insert(Run { lpn, writes, lacking: 0, skips: false, read: false, waiting: Chain::EMPTY });
        if self.bits.len() < (run as usize + 1) * self.words {
            self.bits.resize((run as usize + 1) * self.words, 0);
        }
        run
    }

    /// Its first write has only these sectors.
    fn lacks_all_but(&mut self, run: u32, has: Range<u32>) {
        let sectors = self.sectors;
        for (word, first) in self.bits[run as usize * self.words..][..self.words].iter_mut().zip((0..).step_by(64)) {
            *word = bits_of(first, &(0..sectors)) & !bits_of(first, &has);
        }
        self.runs[run].lacking = sectors - (has.end - has.start);
    }

    /// Its merge read, if it has yet to be read, may be skipped from now on.
    fn may_skip(&mut self, run: u32) {
        let may = self.is_pending(run) && !std::mem::replace(&mut self.runs[run].skips, true);
        self.skipping += u32::from(may);
    }

    /// Another write brings sectors.
    fn cover(&mut self, run: u32, sectors: Range<u32>) {
        if self.runs[run].lacking > 0 {
            for (word, first) in self.bits[run as usize * self.words..][..self.words].iter_mut().zip((0..).step_by(64))
            {
                let brought = bits_of(first, &sectors);
                self.runs[run].lacking -= (*word & brought).count_ones();
                *word &= !brought;
            }
        }
    }

    /// Whether a run lacks any of these sectors.
    fn lacks_any(&self, run: u32, sectors: Range<u32>) -> bool {
        let bit = |sector: u32| self.bits[run as usize * self.words + sector as usize / 64] >> (sector % 64) & 1 == 1;
        self.runs[run].lacking > 0 && sectors.into_iter().any(bit)
    }

    /// Whether a run still has to read its missing sectors.
    #[inline(always)]
    fn is_pending(&self, run: u32) -> bool {
        run != NO_RUN && self.runs[run].lacking > 0 && !self.runs[run].read
    }

    /// Whether data that a run has read was uncorrectable, and no newer write has replaced it.
    fn is_lost(&self, run: u32) -> bool {
        self.runs[run].lacking > 0 && self.runs[run].read
    }

    /// Whether any page on flash has an older write in flight.
    #[inline(always)]
    pub(in crate::engine) fn any_linger(&self) -> bool {
        !self.lingering.is_empty()
    }

    /// A page gets newer data outside its run of older writes in flight, which later writes do not join.
    #[inline(always)]
    pub(in crate::engine) fn part_with(&mut self, lpn: Lpn) {
        if self.any_linger() {
            self.take_lingering(lpn);
        }
    }

    /// The run of a page on flash with older writes in flight.
    fn take_lingering(&mut self, lpn: Lpn) -> Option<u32> {
        let place = self.lingering.iter().position(|run| self.runs[*run].lpn == lpn)?;
        Some(self.lingering.swap_remove(place))
    }

    /// Whether programs are to join their queues at this moment.
    #[inline(always)]
    pub(in crate::engine) fn any_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// A program whose merge read has ended joins its queue with others that do so at this moment.
    #[inline(always)]
    pub(in crate::engine) fn release(&mut self, op: OpId) {
        self.released.push(op);
    }

    /// Whether there is any run.
    #[inline(always)]
    pub(in crate::engine) fn any(&self) -> bool {
        self.in_use > 0
    }

    /// Whether a merge read may be skipped, so that a write joins its queue while dies are dispatched.
    #[inline(always)]
    pub(in crate::engine) fn any_skips(&self) -> bool {
        self.skipping > 0
    }

    /// Power is cut: nothing is in flight.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.runs.clear();
        (self.in_use, self.skipping) = (0, 0);
        self.lingering.clear();
        self.released.clear();
    }
}

impl Kernel {
    /// The sectors of its page that an operation covers.
    pub(in crate::engine) fn sectors(&self, op: OpId) -> Range<u32> {
        let page = &self.ops[Page(op)];
        let sector = SECTOR as u32;
        page.offset / sector..(page.offset + page.bytes).div_ceil(sector)
    }

    /// Whether a write replaces only a part of its page.
    #[inline(always)]
    pub(in crate::engine) fn merges(&self, dev: &Device, config: &Config, op: OpId) -> bool {
        self.ops[Page(op)].bytes < dev.geometry.unit_bytes
            && config.device.partial_write == PartialWrite::ReadModifyWrite
    }

    /// Bounds the memory of versions by sector.
    pub(in crate::engine) fn sweep_sectors(&self, features: &Features, oracle: &mut Oracle) {
        oracle.sweep_sectors(self.ops.pages().flat_map(|page| page.tags).chain(features.missing_tags()));
    }

    /// The page for a merge read; none if its data is no longer needed.
    pub(in crate::engine) fn merge_source(&self, dev: &Device, host: &Host, features: &Features, op: OpId) -> Ppn {
        if let Some(old) = features.chunk_to_merge(self, op) {
            return old;
        }
        match dev.map.get(self.ops[op].lpn) {
            Location::Staged(newest)
                if host.lacks(self, op) && self.ops[Page(newest)].run == self.ops[Page(op)].run =>
            {
                self.ops[Page(newest)].old
            }
            _ => Ppn::NONE,
        }
    }

    /// A program of a host write begins, or parity will contain it.
    #[inline(never)]
    pub(in crate::engine) fn compose(&self, dev: &Device, oracle: &mut Oracle, config: &Config, op: OpId) {
        if self.ops[op].class == Class::Host {
            let own = self.merges(dev, config, op).then(|| self.sectors(op));
            oracle.compose(self.ops[Page(op)].tags[0], self.ops[Page(op)].run, own);
        }
    }

    /// The run and the sectors of a partial write that was not acknowledged.
    pub(in crate::engine) fn part_of_page(
        &self,
        dev: &Device,
        oracle: &Oracle,
        config: &Config,
        op: OpId,
    ) -> Option<(u32, Range<u32>)> {
        if self.ops[op].class == Class::Cache {
            let memory = self.memory_of(op);
            return oracle.buffers(memory).then_some((memory, 0..0));
        }
        let page = &self.ops[op];
        (page.class == Class::Host && !page.acknowledged && self.merges(dev, config, op))
            .then(|| (self.ops[Page(op)].run, self.sectors(op)))
    }

    /// A host write replaces a page, or a part of it, that waits in the buffer and has the tag `before`.
    pub(in crate::engine) fn overlay(&self, dev: &Device, oracle: &mut Oracle, config: &Config, op: OpId, before: Tag) {
        if oracle.tracks_sectors() {
            let own = self.merges(dev, config, op).then(|| self.sectors(op));
            oracle.overlay(self.ops[Page(op)].tags[0], before, own);
        }
    }

    /// Result of a read that finds this tag on flash: sectors of writes in flight replace those on flash.
    pub(in crate::engine) fn delivers(&self, dev: &Device, oracle: &Oracle, rules: &Rules, op: OpId, tag: Tag) -> Tag {
        let page = &self.ops[op];
        let (run, delivered) = match dev.map.get(page.lpn) {
            Location::Staged(newest) => (self.memory_beside_flash(rules, newest), self.ops[Page(newest)].tags[0]),
            _ => (NO_RUN, tag),
        };
        oracle.read_flash(op, self.sectors(op), self.ops[Page(op)].expected, tag, run);
        delivered
    }

    /// An array read for the host, or for one of its writes, begins on a page with this tag.
    #[inline(never)]
    pub(in crate::engine) fn note_flash_read(
        &mut self,
        dev: &Device,
        features: &Features,
        oracle: &mut Oracle,
        rules: &Rules,
        op: OpId,
        tag: Tag,
    ) {
        let page = &self.ops[op];
        if page.class != Class::Host || features.reads_group(self, op) {
            return;
        }
        if page.need == Need::Merge {
            oracle.delivered(page.lpn, tag, 0);
        } else {
            self.ops[Page(op)].tags[0] = self.delivers(dev, oracle, rules, op, tag);
        }
    }

    /// A merge read has ended: the newest write of its page, if that no longer needs the old page then.
    pub(in crate::engine) fn merged_write(&self, dev: &Device, rules: &Rules, op: OpId) -> Option<OpId> {
        match dev.map.get(self.ops[op].lpn) {
            Location::Staged(newest) if self.ops[Page(newest)].run == self.ops[Page(op)].run && !rules.keeps => {
                Some(newest)
            }
            _ => None,
        }
    }
}

impl Host {
    /// Whether a part of a write's page must still be read from flash.
    #[inline(always)]
    pub(in crate::engine) fn lacks(&self, kernel: &Kernel, op: OpId) -> bool {
        self.runs.is_pending(kernel.ops[Page(op)].run)
    }

    /// What an older line of the write cache has needs no read.
    #[inline(never)]
    fn take_from_line(&mut self, oracle: &mut Oracle, lpn: Lpn, run: u32, before: Location, has: Vec<u64>) {
        let runs = &mut self.runs;
        for (lacking, has) in runs.bits[run as usize * runs.words..][..runs.words].iter_mut().zip(&has) {
            runs.runs[run].lacking -= (*lacking & has).count_ones();
            *lacking &= !has;
        }
        if oracle.tracks_sectors()
            && let Location::Flash(page) = before
        {
            let held = oracle.load(page, lpn);
            oracle.brought(run, held, has);
        }
    }

    /// Whether a program has to wait for the merge read of its run. If so, adds it to the waiting ones.
    #[inline(always)]
    pub(in crate::engine) fn waits_for_merge(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId) -> bool {
        let waits = self.lacks(kernel, op);
        if waits {
            kernel.ops[op].waits_since = now;
            let run = kernel.ops[Page(op)].run;
            self.runs.runs[run].waiting.push(&mut kernel.ops, op);
        }
        waits
    }

    /// The newest write of a run is on flash.
    #[inline(always)]
    pub(in crate::engine) fn newest_lands(&mut self, run: u32) {
        if run != NO_RUN && self.runs.runs[run].writes > 1 {
            self.runs.lingering.push(run);
        }
    }

    /// A write of a run has ended.
    #[inline(never)]
    pub(in crate::engine) fn leaves_run(&mut self, oracle: &mut Oracle, run: u32) {
        let state = &mut self.runs.runs[run];
        state.writes -= 1;
        if state.writes == 0 {
            debug_assert!(
                state.waiting.head.is_none(),
                "law: programs that wait for a merge read continue when it has ended"
            );
            self.runs.skipping -= u32::from(state.skips);
            if self.runs.any_linger() {
                self.runs.lingering.retain(|other| *other != run);
            }
            self.runs.runs.remove(run);
            self.runs.in_use -= 1;
            if oracle.tracks_sectors() {
                oracle.run_ends(run);
            }
        }
    }

    /// A host write is admitted: records its sectors.
    #[inline(always)]
    pub(in crate::engine) fn note_write(&self, kernel: &Kernel, oracle: &mut Oracle, op: OpId, merges: bool) {
        if merges {
            oracle.track_sectors(self.runs.sectors);
        }
        if oracle.tracks_sectors() {
            let sectors = merges.then(|| kernel.sectors(op));
            oracle.admit_sectors(kernel.ops[Page(op)].tags[0], sectors);
        }
    }

    #[inline(never)]
    fn asks_for_old(&self, kernel: &Kernel, dev: &Device, rules: &Rules, op: OpId, newest: OpId) -> bool {
        let waits = dev.page_waits(rules, kernel.ops[Page(newest)].old);
        !waits && self.runs.lacks_any(kernel.ops[Page(newest)].run, kernel.sectors(op))
    }

    /// Whether a read asks for sectors that neither `newest`, the newest write of its page, nor earlier writes have.
    #[inline(always)]
    pub(in crate::engine) fn needs_old(
        &self,
        kernel: &Kernel,
        dev: &Device,
        rules: &Rules,
        op: OpId,
        newest: OpId,
    ) -> bool {
        self.lacks(kernel, newest) && self.asks_for_old(kernel, dev, rules, op, newest)
    }

    /// A page is trimmed: its run has ended, and needs nothing from flash.
    pub(in crate::engine) fn trim_run(&mut self, kernel: &Kernel, dev: &Device, oracle: &mut Oracle, lpn: Lpn) {
        let lingering = self.runs.take_lingering(lpn);
        let run = match dev.map.get(lpn) {
            Location::Staged(write) => Some(kernel.ops[Page(write)].run).filter(|run| *run != NO_RUN),
            _ => lingering,
        };
        if let Some(run) = run {
            self.runs.may_skip(run);
            self.runs.runs[run].lacking = 0;
            oracle.merged(run, lpn, None);
        }
    }

    /// Releases the programs that wait for a write's run, if it has one.
    #[inline(always)]
    pub(in crate::engine) fn release_waiting(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) {
        let run = kernel.ops[Page(op)].run;
        if run != NO_RUN && self.runs.runs[run].waiting.head.is_some() {
            self.release_all(kernel, features, rules, now, run);
        }
    }

    #[inline(never)]
    fn release_all(&mut self, kernel: &mut Kernel, features: &Features, rules: &Rules, now: Nanos, run: u32) {
        let mut at = std::mem::replace(&mut self.runs.runs[run].waiting, Chain::EMPTY).head;
        while at.is_some() {
            let since = kernel.ops[at].waits_since;
            let page = &mut kernel.ops[Page(at)];
            page.blame.add(Cause::DieHost, (now - since).0);
            let next = page.link;
            kernel.share_own(features, rules, at, (now - since).0);
            kernel.ops[at].lost = self.runs.is_lost(run);
            self.runs.released.push(at);
            at = next;
        }
    }

    #[inline(never)]
    fn check_memory_read(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        rules: &Rules,
        op: OpId,
        tag: Tag,
    ) {
        let (lpn, expected, sectors) = (kernel.ops[op].lpn, kernel.ops[Page(op)].expected, kernel.sectors(op));
        let run = match dev.map.get(lpn) {
            Location::Staged(newest)
                if self.lacks(kernel, newest) && dev.page_waits(rules, kernel.ops[Page(newest)].old) =>
            {
                // The rest is in the buffer, with the old page's word line.
                let old = oracle.load(kernel.ops[Page(newest)].old, lpn);
                return oracle.read_flash(op, sectors, expected, old, kernel.ops[Page(newest)].run);
            }
            Location::Staged(newest) => kernel.ops[Page(newest)].run,
            _ => NO_RUN,
        };
        oracle.read_memory(op, sectors.clone(), expected, tag, run);
        if run != NO_RUN && self.runs.is_lost(run) && self.runs.lacks_any(run, sectors) {
            self.report_uncorrectable(kernel, op);
        }
    }

    /// A read is served from controller memory, which has its page with this tag.
    #[inline(always)]
    pub(in crate::engine) fn note_memory_read(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        rules: &Rules,
        op: OpId,
        tag: Tag,
    ) {
        if self.runs.any() || oracle.tracks_sectors() {
            self.check_memory_read(kernel, dev, oracle, rules, op, tag);
        }
    }

    /// The missing sectors of a write's run have been read or computed, from a page with the tag `found`, or do not exist. The
    /// programs that wait for them are released next.
    pub(in crate::engine) fn run_is_read(
        &mut self,
        kernel: &Kernel,
        oracle: &mut Oracle,
        op: OpId,
        found: Option<Tag>,
        lost: bool,
    ) {
        let (run, lpn) = (kernel.ops[Page(op)].run, kernel.ops[op].lpn);
        self.runs.runs[run].read = true;
        if !lost {
            self.runs.runs[run].lacking = 0;
        }
        if oracle.tracks_sectors() {
            oracle.merged(run, lpn, found);
        }
    }

    /// Parity groups: an update has the sectors that one of its writes lacked, if newer writes have not brought them meanwhile.
    /// The programs that wait for them are released next.
    pub(in crate::engine) fn chunk_is_merged(
        &mut self,
        kernel: &Kernel,
        oracle: &mut Oracle,
        op: OpId,
        found: Option<Tag>,
    ) {
        if self.lacks(kernel, op) {
            self.run_is_read(kernel, oracle, op, found, false);
        }
    }

    /// A merge read has ended: the whole page is in controller memory, and the programs that need it may be queued.
    #[inline(never)]
    pub(in crate::engine) fn merge_ends(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) {
        let (run, lost) = (kernel.ops[Page(op)].run, kernel.ops[op].lost);
        let found = Some(kernel.ops[Page(op)].tags[1]);
        self.run_is_read(kernel, oracle, op, found, lost);
        self.release_waiting(kernel, features, rules, now, op);
        let page = &mut kernel.ops[op];
        page.need = Need::Write;
        page.lost = self.runs.is_lost(run);
    }

    /// A merge read has reached the head of its queue, but newer writes have brought all its sectors, or a trim has ended it: it
    /// is a plain write from now on.
    #[inline(never)]
    pub(in crate::engine) fn skip_merge(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) {
        kernel.ops[op].need = Need::Write;
        self.release_waiting(kernel, features, rules, now, op);
        self.runs.released.push(op);
    }

    /// A write is admitted that is partial or overlaps another one; its page was at `before`. It joins the run of its page, or
    /// starts one. Returns whether the run still has to read a part of the old page.
    #[inline(never)]
    pub(in crate::engine) fn join_run(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        op: OpId,
        merges: bool,
        before: Location,
    ) -> bool {
        let lpn = kernel.ops[op].lpn;
        let earlier = match before {
            // The buffer's pages are complete.
            Location::Staged(write) if kernel.ops[write].class == Class::Host => {
                kernel.ops.leave_lane(write);
                if kernel.ops[Page(write)].run == NO_RUN {
                    kernel.ops[Page(write)].run = self.runs.begin(lpn, 1);
                }
                Some(kernel.ops[Page(write)].run)
            }
            Location::Flash(_) => self.runs.take_lingering(lpn),
            Location::Staged(_) | Location::Nowhere => {
                self.runs.part_with(lpn);
                None
            }
        };
        let Some(run) = earlier else { return merges && self.start_run(kernel, features, oracle, op, before) };
        kernel.ops[Page(op)].run = run;
        self.runs.runs[run].writes += 1;
        self.runs.may_skip(run);
        let sectors = if merges { kernel.sectors(op) } else { 0..self.runs.sectors };
        if oracle.tracks_sectors() {
            let held = match before {
                Location::Staged(write) => Some(kernel.ops[Page(write)].tags[0]),
                Location::Flash(page) => Some(oracle.load(page, lpn)),
                Location::Nowhere => None,
            };
            oracle.buffer(run, kernel.ops[Page(op)].tags[0], sectors.clone(), held);
        }
        self.runs.cover(run, sectors);
        kernel.ops[op].lost = self.runs.is_lost(run);
        self.runs.is_pending(run)
    }

    /// A partial write is admitted whose page has no other write of the host in flight; it was at `before`. Returns whether the write has
    /// to read a part of the old page.
    #[inline(never)]
    pub(in crate::engine) fn start_run(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        oracle: &mut Oracle,
        op: OpId,
        before: Location,
    ) -> bool {
        let lpn = kernel.ops[op].lpn;
        let (run, sectors) = (self.runs.begin(lpn, 1), kernel.sectors(op));
        kernel.ops[Page(op)].run = run;
        let reads = matches!(before, Location::Flash(_)) || before == Location::Nowhere && features.is_missing(lpn);
        if oracle.tracks_sectors() {
            let held = match before {
                Location::Staged(write) => Some(kernel.ops[Page(write)].tags[0]),
                Location::Flash(_) | Location::Nowhere => None,
            };
            oracle.buffer(run, kernel.ops[Page(op)].tags[0], sectors.clone(), held);
            if before == Location::Nowhere && !reads {
                oracle.merged(run, lpn, None);
            }
        }
        kernel.ops[op].lost = false;
        if !reads {
            return false;
        }
        self.runs.lacks_all_but(run, sectors);
        if let Some(has) = features.sectors_of_line(lpn) {
            self.take_from_line(oracle, lpn, run, before, has);
        }
        let lacks = self.runs.is_pending(run);
        if lacks {
            kernel.ops[op].need = Need::Merge;
        }
        lacks
    }
}

impl Ssd {
    /// Programs whose merge reads have ended join their queues, oldest first.
    #[inline(never)]
    pub(in crate::engine) fn place_merged(&mut self) {
        let mut released = std::mem::take(&mut self.host.runs.released);
        released.sort_unstable_by_key(|op| self.kernel.ops[*op].age);
        for op in released.drain(..) {
            if !place::queues_merged(self, op) {
                self.place(op);
            }
        }
        self.host.runs.released = released;
    }
}
