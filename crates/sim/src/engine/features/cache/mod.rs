//! The write cache (`cache.*`): lines of one page in controller memory.
//!
//! A dirty line is an operation of class [`Class::Cache`] until its program lands, and the map points to that operation, as it
//! points to every version that is not on flash yet. A write that waits for a line is the newest version, too: the map points to
//! it until it has one. Whichever of them is the newest keeps the old page ([`HostPage::old`]), so GC moves it like any other.
//! Clean lines hold what is on flash; the map ignores them.
//!
//! [`HostPage::old`]: crate::engine::kernel::ops::HostPage

mod flush;
mod groups;
mod hold;
mod lines;
mod memories;
mod order;
pub(in crate::engine) mod points;
pub(in crate::engine) mod reads;
mod sizes;
pub(in crate::engine) mod trim;
mod turns;
mod waits;
mod writeback;

use crate::config::{self, CacheEvict, CacheFlush, CacheOrder, CacheRead, CacheWrite, Config, PartialWrite};
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Fifo, Need, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::ops::{NO_LINE, Page};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Ssd};
use crate::oracle::Oracle;
use crate::report::{self, Distribution, Figures};
use crate::schemes::Place;
use crate::sectors::Under;
use crate::units::{Lpn, Nanos, OpId, Ppm, Ppn};
use flush::Flush;
use groups::Groups;
use hold::Holds;
use lines::{Line, Lines, State};
use order::{Home, NONE, Order, Stripes};
pub(in crate::engine) use reads::Served;
use sizes::{Sizes, kind};
pub(in crate::engine) use waits::For;
use waits::Logs;
pub(in crate::engine) use writeback::{line_is_lost, takes_write};

/// Bytes per line: the line, and its entries in a free list and in two orders.
pub(in crate::engine) const BYTES_OF_LINE: u64 = size_of::<lines::Line>() as u64 + 4 + 2 * 24;

/// Keys of the oracle's memory of lines, and of writes that wait for a line. Runs of partial writes have smaller ones.
const LINES: u32 = 1 << 30;
/// See [`LINES`].
const WAITING: u32 = 1 << 31;

/// See the module's documentation.
#[derive(Clone)]
pub(in crate::engine) struct Cache {
    keys: config::Cache,
    /// Most dirty lines.
    most_dirty: u32,
    /// Whether the cache survives power cuts.
    protected: bool,
    /// Streams of the host's data for which lines are gathered apart.
    streams: u32,
    sizes: Option<Sizes>,
    lines: Lines,
    /// By logical page: how often what is on flash has been replaced or trimmed.
    bases: Vec<u32>,
    /// Writes that wait for a line; only the first is served.
    waiting: Fifo,
    /// Place of the last write or flush in the order of their admission.
    place: u64,
    /// Flushes that wait, in order of admission.
    flushes: Vec<Flush>,
    /// Writes that have no line yet.
    outside: u32,
    /// Host programs in flight that bypass the cache.
    bypassing: u32,
    /// Whether lines are being written back from `cache.high` to `cache.low`, and when that was last decided.
    active: bool,
    decided_at: Nanos,
    /// The dirty lines then.
    decided_dirty: u32,
    /// Whether dirty lines may have to be written back at once.
    urgent: bool,
    /// A page is in since write-backs were last decided.
    fresh: bool,
    /// Lines that may be held long enough, in that order.
    holds: Holds,
    /// Lines that are written back together, where a program has several units.
    groups: Groups,
    /// No more requests will arrive than the host's ring holds.
    ending: bool,
    counts: report::cache::Cache,
    flush_latency: Distribution,
    /// What write-backs have waited for.
    logs: Logs,
}

impl Cache {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Option<Box<Self>> {
        let keys = config.cache.clone();
        if !keys.exists() {
            return None;
        }
        let lines = config.cache_lines();
        let units = if keys.writeback == config::Writeback::Idle { geometry.units } else { 0 };
        let (lru, by_write) = (keys.evict == CacheEvict::Lru, keys.order == CacheOrder::Lru);
        let sectors = geometry.unit_bytes.div_ceil(512);
        let stripes = (keys.order == CacheOrder::Stripe).then(|| Stripes::of(geometry));
        let several = geometry.slots.several();
        let homes = if matches!(config.schemes.place, Place::Static(_)) { geometry.planes } else { 1 };
        let sets = several.then(|| Sizes::sets(config, geometry, homes));
        let ready = Order::new(if several { 0 } else { units }, stripes, sets);
        Some(Box::new(Cache {
            most_dirty: keys.plp_budget.unwrap_or(lines).min(lines),
            protected: config.device.power_loss_protection,
            streams: config.gathered_streams(),
            sizes: Sizes::new(config, geometry),
            lines: Lines::new(lines, sectors, geometry.mapped, ready, lru, by_write),
            bases: vec![0; geometry.mapped as usize],
            waiting: Fifo::EMPTY,
            place: 0,
            flushes: Vec::new(),
            outside: 0,
            bypassing: 0,
            active: false,
            decided_at: Nanos::NEVER,
            decided_dirty: 0,
            urgent: false,
            fresh: false,
            holds: Holds::default(),
            groups: Groups::default(),
            ending: false,
            counts: counts_of(&keys, lines.into(), 0),
            flush_latency: Distribution::new(),
            logs: Logs::default(),
            keys,
        }))
    }

    pub(in crate::engine) fn report(&self) -> report::cache::Cache {
        self.counts.clone()
    }

    /// Latency of measured flushes.
    pub(in crate::engine) fn flush_latency(&self) -> Figures {
        self.flush_latency.figures()
    }

    /// Whether the dirty lines are at least (or at most) this share of the most there may be.
    fn share(&self, dirty: u32, ppm: Ppm) -> std::cmp::Ordering {
        let (dirty, most) = (u64::from(dirty) * Ppm::ONE, u64::from(ppm.0) * u64::from(self.most_dirty));
        dirty.cmp(&most)
    }

    /// Whether more lines are issued from `cache.high` down to `cache.low`.
    fn writes_more(&self) -> bool {
        self.active && self.share(self.lines.dirty - self.lines.issued, self.keys.low).is_gt()
    }

    /// What is on flash of a page is replaced, or trimmed.
    fn replaces_base(&mut self, lpn: Lpn) {
        let base = &mut self.bases[lpn.ix()];
        *base = base.wrapping_add(1);
    }

    /// Measuring starts: work so far does not count.
    fn restart(&mut self) {
        let (lines, dirty) = (self.counts.lines, u64::from(self.lines.dirty));
        self.counts = counts_of(&self.keys, lines, dirty);
    }

    /// Whether another line may become dirty.
    fn has_line(&self) -> bool {
        self.lines.dirty < self.most_dirty && self.lines.has_room()
    }

    /// Whether a write of a page needs no other line than its own.
    fn replaces_in_place(&self, lpn: Lpn) -> bool {
        match self.lines.of(lpn) {
            NONE => false,
            line => match self.lines.all[line as usize].state {
                State::Clean => self.lines.dirty < self.most_dirty,
                _ => self.lines.all[line as usize].is_open(),
            },
        }
    }

    /// A host write that bypasses the cache is admitted: its page's line holds an old version. (What the write lacks was taken
    /// from it.)
    fn drop_clean(&mut self, lpn: Lpn) {
        let lines = &mut self.lines;
        let line = lines.of(lpn);
        if line != NONE {
            lines.wake(line);
            lines.release(line);
        }
    }

    /// The sectors that a page's clean line has, as words of bits; none without a line.
    #[inline(never)]
    fn sectors_of(&self, lpn: Lpn) -> Vec<u64> {
        let lines = &self.lines;
        let line = lines.of(lpn);
        let bits: &[u64] = if line == NONE { &[] } else { lines.bits(line) };
        let words = lines.sectors.div_ceil(64) as usize;
        (0..words).map(|word| bits.get(word).copied().unwrap_or(0)).collect()
    }

    /// Logical pages with a dirty line.
    pub(in crate::engine) fn dirty_pages(&self) -> u64 {
        let newest = |(i, line): &(usize, &lines::Line)| line.is_dirty() && self.lines.of(line.lpn) == *i as u32;
        self.lines.all.iter().enumerate().filter(newest).count() as u64
    }

    /// Whether flushes wait for nothing.
    fn flushes_at_once(&self) -> bool {
        self.keys.flush == CacheFlush::None
    }

    /// Whether lines stay when they are on flash.
    fn keeps_clean_lines(&self) -> bool {
        self.keys.read != CacheRead::None
    }

    /// Whether writes that bypass the cache leave their pages in lines.
    fn writes_through(&self) -> bool {
        self.keys.write == CacheWrite::Through
    }

    /// A line of a trimmed page that is being programmed under newer ones: flushes wait for it no longer. Returns the line under it;
    /// none if `line` is no such line.
    fn trim_older(&mut self, line: u32, lpn: Lpn) -> Option<u32> {
        let of = self.lines.all.get_mut(line as usize)?;
        if of.lpn != lpn || of.state != State::Programming {
            return None;
        }
        let (oldest, older) = (std::mem::replace(&mut of.oldest, u64::MAX), std::mem::replace(&mut of.older, NONE));
        self.flushes_lose(oldest);
        Some(older)
    }

    /// A request is submitted after the last one was announced.
    fn more_arrivals(&mut self) {
        self.ending = false;
    }

    /// A run has ended: nothing is left to do.
    pub(in crate::engine) fn check_end(&self) {
        law!(self.lines.dirty == 0 && self.lines.issued == 0, "a dirty line is left");
        law!(
            self.waiting.is_empty() && self.flushes.is_empty() && self.outside + self.bypassing == 0,
            "a write is left"
        );
    }

    /// The next place among writes and flushes.
    fn next_place(&mut self) -> u64 {
        self.place += 1;
        self.place
    }

    pub(in crate::engine) fn power_cut(&mut self) {
        self.lines.power_cut();
        self.logs.power_cut();
        self.waiting = Fifo::EMPTY;
        self.flushes.clear();
        (self.outside, self.bypassing) = (0, 0);
        self.active = false;
        self.urgent = false;
        self.holds.clear();
        self.groups = Groups::default();
        self.sizes.iter_mut().for_each(Sizes::clear);
    }
}

/// The place of a line's page, and the line's set: one of its plane, where pages have one, and of its stream.
fn home_of(geometry: &Geometry, rules: &Rules, line: &Line, streams: u32) -> Home {
    let plane = geometry.static_plane(line.lpn);
    let set = if rules.units && rules.numbered { plane.0 } else { 0 } * streams + kind(line.handle, streams);
    Home { unit: geometry.unit_of(plane).0, plane: plane.0, set }
}

/// Counters at the start, with so many lines, of which some are dirty.
fn counts_of(keys: &config::Cache, lines: u64, dirty: u64) -> report::cache::Cache {
    let write_backs = report::cache::WriteBacks { hold: keys.hold.map(|_| 0), ..Default::default() };
    report::cache::Cache { lines, dirty_max: dirty, write_backs, ..Default::default() }
}

impl Features {
    fn cache(&self) -> &Cache {
        self.cache.as_ref().expect("a device with a write cache")
    }

    fn cache_mut(&mut self) -> &mut Cache {
        self.cache.as_mut().expect("a device with a write cache")
    }

    /// Whether the next event, whatever it is, decides about write-backs: the number of dirty lines has changed after the decision of
    /// its time.
    #[inline(always)]
    pub(in crate::engine) fn lines_undecided(&self, rules: &Rules) -> bool {
        rules.buffers && self.cache().lines.dirty != self.cache().decided_dirty
    }

    /// The operation whose data the capacitor writes for a page whose newest version is `newest`: that of its line, if it has one
    /// that is not being programmed. A write that waits for a line was not acknowledged.
    pub(in crate::engine) fn line_to_drain(&self, kernel: &Kernel, lpn: Lpn, newest: OpId) -> Option<OpId> {
        if kernel.ops[newest].class == Class::Cache {
            return Some(newest);
        }
        match self.cache().lines.of(lpn) {
            NONE => None,
            line => Some(&self.cache().lines.all[line as usize]).filter(|line| line.is_open()).map(|line| line.op),
        }
    }

    /// Whether write-backs have been decided with all pages that are in.
    #[inline(always)]
    pub(in crate::engine) fn lines_settled(&self, host: &Host, rules: &Rules) -> bool {
        !rules.buffers || !self.cache().fresh && !self.drains(host)
    }

    /// What lies under a write of a page that is at `before` (oracle).
    fn under(&self, kernel: &Kernel, oracle: &Oracle, lpn: Lpn, before: Location) -> Under {
        match before {
            Location::Staged(newest) => Under::Memory(kernel.memory_of(newest), kernel.ops[Page(newest)].tags[0]),
            Location::Flash(page) if self.cache().lines.of(lpn) != NONE => Under::Held(oracle.load(page, lpn)),
            Location::Flash(_) => Under::Flash,
            Location::Nowhere => Under::Nothing,
        }
    }

    /// The place of a line's page, where the order of write-backs asks for it.
    fn home_of_line(&self, dev: &Device, rules: &Rules, line: u32) -> Home {
        let cache = self.cache();
        let sets = rules.units && (rules.numbered || cache.streams > 1);
        if !rules.idle_lines && cache.keys.order != CacheOrder::Stripe && !sets {
            return Home { unit: 0, plane: 0, set: 0 };
        }
        home_of(&dev.geometry, rules, &cache.lines.all[line as usize], cache.streams)
    }

    /// What lies under a write that gets a line, where its page's line is in a state (oracle).
    fn under_line(&self, kernel: &Kernel, oracle: &Oracle, op: OpId, line: u32, state: State, old: Ppn) -> Under {
        let held = || kernel.ops[Page(self.cache().lines.all[line as usize].op)].tags[0];
        match state {
            State::Dirty | State::Issued | State::Programming => Under::Memory(LINES | line, held()),
            State::Clean if old.is_some() => Under::Held(oracle.load(old, kernel.ops[op].lpn)),
            // A read has brought the page to the line and to the write that waits for it.
            State::Clean => Under::Memory(WAITING | op.0, kernel.ops[Page(op)].tags[0]),
            State::Free if old.is_some() => Under::Flash,
            State::Free => Under::Nothing,
        }
    }

    /// The sectors that a host write brings: all, where a partial write replaces the page.
    fn sectors_of_write(&self, kernel: &Kernel, dev: &Device, config: &Config, op: OpId) -> std::ops::Range<u32> {
        if kernel.merges(dev, config, op) { kernel.sectors(op) } else { 0..self.cache().lines.sectors }
    }

    /// A line becomes dirty by a write.
    fn soil(&mut self, kernel: &mut Kernel, dev: &Device, rules: &Rules, now: Nanos, line: u32, by: OpId) {
        let lpn = kernel.ops[by].lpn;
        let carrier = kernel.ops.create(Op {
            class: Class::Cache,
            verb: Verb::Program,
            need: Need::Write,
            lpn,
            waits_since: now,
            ..Op::blank()
        });
        kernel.ops[Page(carrier)].bytes = dev.geometry.unit_bytes;
        kernel.ops.cached[carrier].line = line;
        let handle = if rules.streams { kernel.ops.hand_on(carrier, by) } else { 0 };
        let place = kernel.ops.cached[by].place;
        let cache = self.cache_mut();
        cache.lines.dirty += 1;
        cache.counts.dirty_max = cache.counts.dirty_max.max(u64::from(cache.lines.dirty));
        let of = &mut cache.lines.all[line as usize];
        of.state = State::Dirty;
        of.handle = handle;
        of.op = carrier;
        of.inside = false;
        of.written = now;
        of.used = now;
        of.dirtied = now;
        of.oldest = place;
        of.flushed = false;
        of.forced = false;
        of.held = false;
    }

    /// A write with a line, or a trimmed one, moves into the cache.
    fn moves_in(&mut self, kernel: &mut Kernel, now: Nanos, op: OpId) {
        let wait = (now - kernel.ops[op].waits_since).0;
        kernel.charge_line_wait(self, now, op);
        self.cache_mut().counts.waited += u64::from(wait > 0);
        kernel.ops[op].need = Need::Absorb;
    }

    /// A write has moved into the cache, or a flush is done. Returns whether it is acknowledged now: it waits for no line.
    #[inline(never)]
    pub(in crate::engine) fn page_is_in(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        rules: &Rules,
        now: Nanos,
        op: OpId,
    ) -> bool {
        self.cache_mut().fresh = true;
        let cached = &kernel.ops.cached[op];
        let (line, period, fua) = (cached.line, cached.period, cached.fua);
        if line != NO_LINE && self.cache().lines.all[line as usize].period == period {
            let home = self.home_of_line(dev, rules, line);
            let Some(cache) = &mut self.cache else { return false };
            let of = &mut cache.lines.all[line as usize];
            let first = !std::mem::replace(&mut of.inside, true);
            let dirty = of.state == State::Dirty;
            cache.urgent |= of.flushed || fua;
            if fua {
                of.forced = true;
                of.waiting.push((op, now));
            }
            if first {
                of.entered = now;
            }
            if first && dirty {
                cache.lines.get_ready(line, home);
                cache.hold_line(&mut kernel.timers, line);
            }
            if fua {
                return false;
            }
        }
        self.cache_mut().counts.fua_writes += u64::from(fua);
        true
    }

    /// A dirty line is written again before it is on flash. Returns its place from now on if it leaves its group, because that is of
    /// another handle.
    fn absorb_in_line(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        rules: &Rules,
        now: Nanos,
        line: u32,
        by: OpId,
    ) -> Option<Home> {
        let place = kernel.ops.cached[by].place;
        let home = self.home_of_line(dev, rules, line);
        let cache = self.cache_mut();
        cache.counts.absorbed += 1;
        let ready = cache.lines.leave_ready(line, home);
        let (before, home) =
            (home.set, if rules.streams { self.change_handle(kernel, dev, rules, line, by) } else { home });
        let cache = self.cache_mut();
        let of = &mut cache.lines.all[line as usize];
        of.written = now;
        of.used = now;
        of.oldest = of.oldest.min(place);
        if ready {
            cache.lines.get_ready(line, home);
            return None;
        }
        (home.set != before && rules.units && of.state == State::Issued).then_some(home)
    }

    /// A dirty line is written again, perhaps through another handle. Returns its place from now on.
    #[inline(never)]
    fn change_handle(&mut self, kernel: &mut Kernel, dev: &Device, rules: &Rules, line: u32, by: OpId) -> Home {
        let of = &mut self.cache_mut().lines.all[line as usize];
        of.handle = kernel.ops.hand_on(of.op, by);
        self.home_of_line(dev, rules, line)
    }

    /// A dirty line is trimmed: it is in no order any more.
    fn drop_dirty(&mut self, dev: &Device, rules: &Rules, line: u32, issued: bool) {
        let home = self.home_of_line(dev, rules, line);
        let cache = self.cache_mut();
        cache.lines.leave_ready(line, home);
        cache.lines.dirty -= 1;
        cache.lines.issued -= u32::from(issued);
        cache.counts.trimmed += 1;
    }

    /// The write-back of a trimmed line is not needed.
    fn cancel(&mut self, kernel: &mut Kernel, host: &mut Host, gc: &mut Gc, rules: &Rules, op: OpId, issued: bool) {
        if kernel.ops.cached[op].serving {
            // The read of what the line lacked ends, and nothing follows it.
            kernel.ops.cached[op].trimmed = true;
            return;
        }
        if issued && rules.units {
            self.leaves_group(kernel, host, gc, rules, op);
        } else if issued {
            self.leaves_queue(kernel, host, gc, rules, op);
        }
        self.drop_line_op(kernel, op);
    }

    /// A write-back that is not needed leaves the queue in which it waits.
    fn leaves_queue(&mut self, kernel: &mut Kernel, host: &mut Host, gc: &mut Gc, rules: &Rules, op: OpId) {
        let (stalled, unit, plane) = (kernel.ops[op].stalled, kernel.ops[op].unit, kernel.ops[op].plane);
        let ops = &mut kernel.ops;
        if stalled && rules.dynamic {
            host.without_page.remove(ops, op);
        } else if stalled && rules.slc && ops.extras[op].for_fold {
            self.forgets_fold(kernel, op, plane);
        } else if stalled {
            gc.planes[plane.ix()].stalled.remove(ops, op);
        } else if unit.is_some() {
            kernel.leave_queue(self, rules, op, unit);
        } else {
            host.anywhere.remove(ops, op);
        }
    }

    // Power cuts.

    /// Power is cut: the capacitor drains lines whole, with what they lack from the old page (oracle).
    pub(in crate::engine) fn complete_lines(
        &self,
        kernel: &Kernel,
        dev: &Device,
        oracle: &mut Oracle,
        rules: &Rules,
        config: &Config,
    ) {
        // Whether partial writes need what they do not bring.
        let lacks = config.device.partial_write == PartialWrite::ReadModifyWrite;
        if !rules.buffers || !oracle.tracks_sectors() || !lacks {
            return;
        }
        for line in 0..self.cache().lines.all.len() as u32 {
            let of = &self.cache().lines.all[line as usize];
            let (open, lpn) = (of.is_open() && of.lacking > 0, of.lpn);
            let old = if open { kernel.kept_page(dev, lpn) } else { Ppn::NONE };
            if old.is_some() {
                let found = oracle.load(old, lpn);
                oracle.merged(LINES | line, lpn, Some(found));
            }
        }
    }

    /// The cache follows other rules from now on. Its lines, and what they hold, stay.
    pub(in crate::engine) fn follow_cache(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        rules: &Rules,
        now: Nanos,
        new: &Cache,
    ) {
        let geometry = &dev.geometry;
        let Some(cache) = &mut self.cache else { return };
        let streams = cache.streams;
        let home = |line: &Line| home_of(geometry, rules, line, streams);
        let keys = &new.keys;
        cache.lines.reorder(&new.lines, home);
        if keys.read == CacheRead::None {
            cache.lines.drop_clean();
        }
        cache.most_dirty = new.most_dirty;
        let holds = cache.keys.hold != keys.hold;
        cache.keys = keys.clone();
        cache.fresh = rules.buffers;
        if holds {
            cache.hold_all(&mut kernel.timers, now);
        }
    }
}

impl Ssd {
    /// A host write is admitted. Returns whether the cache takes it; otherwise it goes to flash as without a cache.
    #[inline(never)]
    fn write_cached(&mut self, op: OpId, measured: bool) -> bool {
        let (lpn, fua) = (self.kernel.ops[op].lpn, self.host.requests[self.kernel.ops[op].request].marks.fua);
        self.kernel.ops.cached[op].place = self.features.cache_mut().next_place();
        if !self.rules.buffers {
            self.features.cache_mut().bypassing += 1;
            return false;
        }
        self.features.cache_mut().outside += 1;
        self.kernel.ops.cached[op].fua = fua;
        let partial = self.kernel.ops[Page(op)].bytes < self.dev.geometry.unit_bytes;
        let merges = partial && self.kernel.merges(&self.dev, &self.config, op);
        if merges || self.oracle.tracks_sectors() {
            self.host.note_write(&self.kernel, &mut self.oracle, op, merges);
        }
        self.stats.pages.partial_writes += u64::from(partial && measured);
        let before = self.dev.map.get(lpn);
        if self.oracle.tracks_sectors() {
            let tag = self.kernel.ops[Page(op)].tags[0];
            let own = self.features.sectors_of_write(&self.kernel, &self.dev, &self.config, op);
            let under = self.features.under(&self.kernel, &self.oracle, lpn, before);
            self.oracle.pile(WAITING | op.0, &under, tag, own);
        }
        if let Location::Staged(earlier) = before
            && self.kernel.ops[earlier].class == Class::Host
        {
            self.kernel.ops.cached[op].behind = earlier;
        }
        self.kernel.keep_old(&self.dev, op);
        self.dev.map.set(lpn, Location::Staged(op));
        true
    }

    /// A host write's data has crossed the host link: its page needs a line.
    pub(in crate::engine) fn ask_line(&mut self, op: OpId) {
        let lpn = self.kernel.ops[op].lpn;
        let first = self.kernel.ops.cached[op].behind.is_none();
        if first && !self.kernel.ops.cached[op].trimmed && self.features.cache().replaces_in_place(lpn) {
            return self.enter_line(op);
        }
        let waiting = &mut self.features.cache_mut().waiting;
        let head = waiting.is_empty();
        waiting.push(&mut self.kernel.ops, op);
        if head {
            self.features.first_waits(&mut self.kernel);
            self.serve_waiting();
        }
    }

    /// Gives lines to the writes that wait for one, as far as there are lines.
    pub(in crate::engine) fn serve_waiting(&mut self) {
        loop {
            let op = self.features.cache().waiting.head();
            if op.is_none() {
                return;
            }
            let trimmed = self.kernel.ops.cached[op].trimmed;
            if !trimmed
                && !self.features.cache().replaces_in_place(self.kernel.ops[op].lpn)
                && !self.features.cache().has_line()
            {
                return;
            }
            self.features.cache_mut().waiting.pop(&self.kernel.ops);
            self.features.first_waits(&mut self.kernel);
            if trimmed {
                self.features.moves_in(&mut self.kernel, self.now, op);
                self.serve_from_memory(op);
            } else {
                self.enter_line(op);
            }
        }
    }

    /// A write gets its line: that of its page, a free one or a clean one. The version is in the line from now on.
    fn enter_line(&mut self, op: OpId) {
        let (now, lpn, place) = (self.now, self.kernel.ops[op].lpn, self.kernel.ops.cached[op].place);
        let own = self.features.sectors_of_write(&self.kernel, &self.dev, &self.config, op);
        let cache = self.features.cache_mut();
        cache.outside -= 1;
        let urged = cache.flushes.iter().any(|flush| flush.comes_after(place));
        let (tag, old) = (self.kernel.ops[Page(op)].tags[0], self.kernel.kept_page(&self.dev, lpn));
        let lines = &self.features.cache().lines;
        let before = lines.of(lpn);
        let state = if before == NONE { State::Free } else { lines.all[before as usize].state };
        let older = if before == NONE { 0 } else { lines.all[before as usize].oldest };
        let under = self
            .oracle
            .tracks_sectors()
            .then(|| self.features.under_line(&self.kernel, &self.oracle, op, before, state, old));
        let line = match state {
            State::Dirty | State::Issued => {
                let (kernel, host, gc, rules) = (&mut self.kernel, &mut self.host, &mut self.gc, &self.rules);
                if let Some(home) = self.features.absorb_in_line(kernel, &self.dev, rules, now, before, op) {
                    self.features.change_group(kernel, host, gc, rules, before, home);
                    self.features.cache_mut().hold_all(&mut kernel.timers, now);
                }
                before
            }
            State::Clean => {
                self.features.cache_mut().lines.wake(before);
                self.features.soil(&mut self.kernel, &self.dev, &self.rules, now, before, op);
                before
            }
            State::Programming | State::Free => {
                let lines = &mut self.features.cache_mut().lines;
                let line = lines.take(lpn, now).expect("law: a write that gets a line finds one");
                if state == State::Programming || old.is_none() {
                    lines.complete(line);
                }
                if state == State::Programming {
                    lines.all[line as usize].older = before;
                }
                self.features.soil(&mut self.kernel, &self.dev, &self.rules, now, line, op);
                line
            }
        };
        let cache = self.features.cache_mut();
        cache.lines.add(line, own.clone());
        if old.is_none() {
            // A page that is not on flash lacks nothing.
            cache.lines.complete(line);
        }
        let of = &mut cache.lines.all[line as usize];
        of.flushed |= urged;
        let (carrier, period, complete) = (of.op, of.period, of.lacking == 0);
        cache.urgent |= urged;
        if let Some(under) = under {
            self.oracle.pile(LINES | line, &under, tag, own);
            self.oracle.run_ends(WAITING | op.0);
        }
        self.kernel.ops[Page(carrier)].tags[0] = tag;
        self.kernel.hand_over_page(&mut self.dev, op, carrier);
        if complete && self.features.cache().protected {
            self.discard_kept(lpn);
        }
        let cached = &mut self.kernel.ops.cached[op];
        (cached.line, cached.period) = (line, period);
        // A write and the line that absorbs it are one from now on.
        if matches!(state, State::Dirty | State::Issued) && self.features.cache_mut().flushes_lose(place.max(older)) {
            self.end_flushes();
        }
        self.features.moves_in(&mut self.kernel, self.now, op);
        self.serve_from_memory(op);
    }

    /// The old page of a page on flash is no longer needed.
    pub(in crate::engine) fn discard_kept(&mut self, lpn: Lpn) {
        if let Location::Staged(newest) = self.dev.map.get(lpn) {
            self.discard_old(newest);
        }
    }

    /// A page is trimmed: its lines and the writes that wait for one hold nothing that must reach flash.
    #[inline(never)]
    fn trim_cached(&mut self, lpn: Lpn) {
        self.features.cache_mut().replaces_base(lpn);
        if let Location::Staged(newest) = self.dev.map.get(lpn)
            && self.rules.buffers
            && self.kernel.ops[newest].class == Class::Host
        {
            let mut at = newest;
            while at.is_some() {
                let cached = &mut self.kernel.ops.cached[at];
                cached.trimmed = true;
                let (place, behind) = (cached.place, cached.behind);
                self.oracle.run_ends(WAITING | at.0);
                let cache = self.features.cache_mut();
                cache.counts.trimmed += 1;
                cache.outside -= 1;
                if cache.flushes_lose(place) {
                    self.end_flushes();
                }
                at = behind;
            }
        }
        let line = self.features.cache().lines.of(lpn);
        if line == NONE {
            return;
        }
        let of = &self.features.cache().lines.all[line as usize];
        let (state, carrier, oldest, mut at) = (of.state, of.op, of.oldest, of.older);
        let dirty = matches!(state, State::Dirty | State::Issued);
        if dirty {
            // The old page that it keeps is stale, too.
            self.discard_kept(lpn);
        }
        if (dirty || state == State::Programming) && self.features.cache_mut().flushes_lose(oldest) {
            self.end_flushes();
        }
        if dirty {
            let issued = state == State::Issued;
            self.features.drop_dirty(&self.dev, &self.rules, line, issued);
            self.oracle.run_ends(LINES | line);
            let (kernel, host, gc) = (&mut self.kernel, &mut self.host, &mut self.gc);
            self.features.cancel(kernel, host, gc, &self.rules, carrier, issued);
            let none = OpId::NONE;
            while let Some(write) = self.features.next_forced(&mut self.kernel, &self.rules, self.now, line, none) {
                self.page_done(write);
                self.host.release(&mut self.kernel, &mut self.oracle, write);
            }
        }
        self.features.cache_mut().lines.trim(line, state);
        while let Some(older) = self.features.cache_mut().trim_older(at, lpn) {
            self.end_flushes();
            at = older;
        }
    }

    // The end of a run.

    /// No more requests will arrive than the host's ring holds: when they have completed, all lines are written back.
    ///
    /// [`Ssd::run`] says so itself. Who advances a device step by step says it before the steps that complete the last requests.
    pub fn no_more_arrivals(&mut self) {
        if self.rules.buffers && !std::mem::replace(&mut self.features.cache_mut().ending, true) && self.host.is_empty()
        {
            self.round(self.now);
        }
    }
}
