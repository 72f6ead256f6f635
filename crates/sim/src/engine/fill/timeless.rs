//! Writes and GC that take no time: preconditioning, `--count-only`, zero-cost GC.
//!
//! They use the same map, flash, laws and policies as timed operations, without legs.

use crate::engine::kernel::Kernel;
use std::ops::ControlFlow;

use crate::config::{Config, PreconditionMode};
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::Class;
use crate::engine::features::life::{begins, now as life};
use crate::engine::features::raid::parity;
use crate::engine::features::slc::now::{has_written, makes_room};
use crate::engine::features::streams;
use crate::engine::features::streams::stream_now;
use crate::engine::features::units::timeless as units;
use crate::engine::fill::aged::AgedPages;
use crate::engine::rules::Rules;
use crate::engine::spine::ring::{BATCH, LOOK_AHEAD, Waiting};
use crate::engine::{Device, Features, Host, Ssd};
use crate::oracle::Oracle;
use crate::policy::{Hop, Job, Journey, PageSet, Step};
use crate::random;
use crate::request::{Extent, Marks, Request, RequestOp};
use crate::stats::Stats;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppm, Ppn, Tag, UnitId};

/// Pages that are written between two questions whether to go on.
pub(in crate::engine) const ASKED: u64 = 1 << 12;

/// Consecutive pages per plane during filling.
pub(in crate::engine) const TILE: u32 = 16;

/// How threads fill a device together.
#[derive(Clone, Copy)]
pub(in crate::engine) enum Work {
    /// Every logical page is written once, then so many that are drawn at random.
    Written(u64),
    /// Planes are aged, with so many valid and invalid pages each.
    Aged(u64, u64),
}

/// Makes room for a page of the host in a plane that has none. Returns whether something could be done.
fn make_room(ssd: &mut Ssd, plane: PlaneId, stream: Stream) -> bool {
    makes_room(ssd, plane, stream).unwrap_or_else(|| ssd.collect_once(plane))
}

impl Device {
    /// Prefetches the data of the page that a write makes stale.
    #[inline(always)]
    pub(in crate::engine) fn expect_overwrite(&self, lpn: Lpn) {
        if let Location::Flash(page) = self.map.get(lpn) {
            self.flash.expect_stale(page, self.geometry.block_of(page));
        }
    }

    /// Whether a request lies in one page of the map, which is one of the flash.
    #[inline(always)]
    fn is_one_page(&self, next: &Waiting) -> bool {
        let last = self.geometry.page_at(next.request.offset + next.request.bytes - 1);
        next.extents == 0 && last == next.page && self.geometry.pages_per_entry == 1
    }

    /// Prefetches the map entries of a victim's pages, which the moves will need one after the other.
    fn expect_moves(&self, victim: BlockId) {
        for offset in 0..self.geometry.pages_per_block {
            let lpn = self.flash.lpn_of(self.geometry.page(victim, offset));
            if lpn.is_some() {
                self.map.expect(lpn);
            }
        }
    }

    /// Prefetches the data that a write in no time uses after its map entry.
    #[inline(always)]
    pub(in crate::engine) fn expect_write(&self, rules: &Rules, lpn: Lpn) {
        self.expect_overwrite(lpn);
        if let Some(plane) = self.static_place(rules, lpn) {
            self.flash.expect_program(plane);
        }
    }

    /// The plane of a page, if its number determines it.
    #[inline(always)]
    fn static_place(&self, rules: &Rules, lpn: Lpn) -> Option<PlaneId> {
        if rules.numbered { Some(self.geometry.static_plane(lpn)) } else { None }
    }

    /// Whether a request writes one page and nothing else.
    #[inline(always)]
    fn is_plain_write(&self, rules: &Rules, next: &Waiting) -> bool {
        next.request.op == RequestOp::Write && self.is_one_page(next) && rules.plain_writes
    }

    /// How many pages a plane takes in order before one is collected, in tiles.
    pub(in crate::engine) fn tiles(&self, rules: &Rules, config: &Config) -> u32 {
        let geometry = &self.geometry;
        let kept =
            config.reserve().max(rules.gc_floor.div_ceil(geometry.pages_per_block) + 1) + self.flash.spares_at_start();
        let rows = geometry.blocks_per_plane.saturating_sub(kept) * geometry.data_pages;
        rows.min(geometry.mapped / geometry.planes) / TILE
    }

    /// Writes the first pages of a plane consecutively; none was written before. Equals [`Ssd::store_now`] page by page.
    fn fill_tile(&mut self, oracle: &mut Oracle, stats: &mut Stats, first: Lpn) {
        let plane = self.geometry.static_plane(first);
        let lpns: [Lpn; TILE as usize] = std::array::from_fn(|row| Lpn(first.0 + row as u32 * self.geometry.planes));
        let mut next = 0;
        while next < lpns.len() {
            let (page, count) = self.flash.program_run(plane, Stream::Host, false, &lpns[next..]);
            for (lpn, page) in lpns[next..next + count].iter().zip(page.0..) {
                let tag = oracle.admit(*lpn);
                self.map.set(*lpn, Location::Flash(Ppn(page)));
                oracle.store(Ppn(page), tag);
                oracle.acknowledge(tag);
            }
            next += count;
        }
        stats.count_programs(Class::Host, u64::from(TILE));
    }

    /// Pages have moved unchanged, the n-th from the page `from(n)` to the n-th page from `to` on: the map follows.
    /// `ahead`: pages whose entries in the map will be needed soon.
    #[inline(always)]
    pub(in crate::engine) fn follow_moves(
        &mut self,
        kernel: &mut Kernel,
        features: &Features,
        lpns: &[Lpn],
        from: impl Fn(usize) -> Ppn,
        to: Ppn,
        ahead: &[Lpn],
    ) {
        if !self.map.redirect(lpns, &from, to, ahead) {
            // The map points to newer versions of some, in flight.
            for (n, lpn) in lpns.iter().enumerate() {
                let to = Ppn(to.0 + n as u32);
                if self.map.get(*lpn) != Location::Flash(to) {
                    kernel.republish(self, features, *lpn, from(n), to);
                }
            }
        }
    }

    /// Puts a page on flash in no time. None if its plane has no page for it. Its metadata follows ([`Device::has_put`]).
    #[inline(always)]
    pub(in crate::engine) fn put(
        &mut self,
        oracle: &mut Oracle,
        now: Nanos,
        lpn: Lpn,
        plane: PlaneId,
        stream: Stream,
        tag: Tag,
    ) -> Option<Ppn> {
        let page = self.flash.program_now(plane, stream, lpn)?;
        self.map_put(oracle, now, lpn, page, tag);
        Some(page)
    }

    /// A page has been put on flash in no time, and is the newest version.
    #[inline(always)]
    fn map_put(&mut self, oracle: &mut Oracle, now: Nanos, lpn: Lpn, page: Ppn, tag: Tag) {
        self.map.set(lpn, Location::Flash(page));
        oracle.store(page, tag);
        oracle.acknowledge(tag);
        if self.errors.is_some() {
            self.host_programmed(now, page, false);
        }
    }
}

impl Host {
    /// Delays a plain write. Precondition: the ring is empty. Returns whether the first of many are to be served.
    #[inline(always)]
    fn keep_write(&mut self, next: &Waiting) -> bool {
        // A page of flash has fewer than 2^32 bytes.
        self.writes.push_back(next.page, next.request.bytes as u32)
    }

    /// The plane for a page that is written in no time: its static place, the next one in turn, or the next die's next plane with
    /// room.
    pub(in crate::engine) fn timeless_plane(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        features: &mut Features,
        rules: &Rules,
        lpn: Lpn,
        stream: Stream,
    ) -> Option<PlaneId> {
        if let Some(plane) = dev.static_place(rules, lpn) {
            return Some(plane);
        }
        if let Some(plane) = features.open_program(kernel, dev, self, rules, lpn, stream) {
            return Some(plane);
        }
        if let Some(plane) = features.bind_now(dev, self, rules, lpn) {
            return Some(plane);
        }
        let units = dev.geometry.units;
        for step in 1..=units {
            let unit = UnitId((self.last_place + step) % units);
            if let Some(plane) = kernel.next_plane(features, dev, unit, lpn, stream) {
                self.last_place = unit.0;
                return Some(plane);
            }
        }
        None
    }
}

impl Ssd {
    /// Preconditions the device, with at most so many threads. Nothing is measured, except wear. `go_on` may stop it between pages;
    /// the device is then of no use.
    pub(in crate::engine) fn precondition(
        &mut self,
        threads: u32,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.dev.set_ages(true);
        match self.config.precondition.mode {
            PreconditionMode::None => {}
            PreconditionMode::Aged => self.age_planes(threads, go_on)?,
            PreconditionMode::Sequential => self.fill(0, threads, go_on)?,
            PreconditionMode::Random => {
                let writes = self.config.precondition.overwrite * f64::from(self.dev.geometry.exported);
                self.fill(writes as u64, threads, go_on)?;
            }
        }
        self.dev.ends_filling(&mut self.oracle, &self.rules);
        self.dev.set_ages(false);
        self.dev.tell_victim(&mut self.schemes, &self.rules, self.now);
        self.features.settle_groups(&self.kernel, &self.dev, &mut self.oracle);
        self.features.settle_homes(&self.dev);
        streams::are_filled(&mut self.features);
        begins(self);
        self.stats.start_measuring();
        self.features.restart(&mut self.dev, &self.stats, self.now);
        self.stats.operations = 0;
        ControlFlow::Continue(())
    }

    /// Writes every logical page once, in order, then as many as `overwrites`, drawn at random.
    fn fill(&mut self, overwrites: u64, threads: u32, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let parts = threads.min(self.dev.geometry.planes);
        if parts > 1 && self.fills_in_parts() {
            return self.fill_parts(parts, Work::Written(overwrites), go_on);
        }
        self.fill_in_order(go_on)?;
        let exported = u64::from(self.dev.geometry.exported);
        let mut rng = random::stream(self.seed, "precondition");
        let mut draw = || Lpn(random::below(&mut rng, exported) as u32);
        // Map entries are prefetched a few writes ahead, so that memory latency overlaps other writes.
        let mut ahead: [Lpn; LOOK_AHEAD] = std::array::from_fn(|_| draw());
        for i in 0..overwrites {
            if i.is_multiple_of(ASKED) {
                go_on()?;
            }
            let slot = &mut ahead[(i % LOOK_AHEAD as u64) as usize];
            let lpn = std::mem::replace(slot, draw());
            self.dev.map.expect(*slot);
            self.oracle.expect(*slot);
            self.dev.expect_write(&self.rules, ahead[((i + LOOK_AHEAD as u64 / 2) % LOOK_AHEAD as u64) as usize]);
            self.write_now(lpn);
        }
        ControlFlow::Continue(())
    }

    /// Writes every logical page once, in order.
    fn fill_in_order(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let (planes, mapped) = (self.dev.geometry.planes, self.dev.geometry.mapped);
        let apart = self.features.fills_apart(&self.rules);
        // While no plane is collected, static places are independent. Each plane gets a few consecutive pages, so that its
        // entries of the reverse map stay in the cache. Entries of all planes, a power of two apart, would evict each other.
        let tiles = if apart { self.dev.tiles(&self.rules, &self.config) } else { 0 };
        let plain = self.dev.fills_plainly(&self.rules);
        for tile in 0..tiles {
            for place in 0..planes {
                if u64::from(place).is_multiple_of(ASKED / u64::from(TILE)) {
                    go_on()?;
                }
                let first = Lpn(tile * TILE * planes + place);
                if plain {
                    self.dev.fill_tile(&mut self.oracle, &mut self.stats, first);
                } else {
                    (0..TILE).for_each(|row| self.store_now(Lpn(first.0 + row * planes), Class::Host));
                }
            }
        }
        for lpn in tiles * TILE * planes..mapped {
            if u64::from(lpn).is_multiple_of(ASKED) {
                go_on()?;
            }
            self.store_now(Lpn(lpn), Class::Host);
        }
        ControlFlow::Continue(())
    }

    /// Ages every plane alike: its first pages are used in order, a uniformly random subset is invalid, and the rest holds the
    /// plane's own logical pages in ascending order.
    fn age_planes(&mut self, threads: u32, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let pages = u64::from(self.dev.geometry.pages_per_plane);
        let share = |ppm: u32| (pages * u64::from(ppm) + Ppm::ONE / 2) / Ppm::ONE;
        let (valid, invalid) = (share(self.config.precondition.valid.0), share(self.config.precondition.invalid.0));
        let parts = threads.min(self.dev.geometry.planes);
        if parts > 1 && self.fills_in_parts() {
            return self.fill_parts(parts, Work::Aged(valid, invalid), go_on);
        }
        for residue in 0..self.dev.geometry.planes {
            // This plane is the static place of logical pages `residue`, `residue + planes`, … (or of all units of these pages).
            let first = self.dev.geometry.first_of(residue);
            let plane = self.dev.geometry.static_plane(first);
            let mut draws = AgedPages::new(self.seed, plane, valid, invalid);
            let mut lpn = first;
            while let Some(stale) = draws.next() {
                if draws.left().is_multiple_of(ASKED) {
                    go_on()?;
                }
                let stream = streams::brought(&self.features, lpn);
                let page = self.dev.flash.take_page(plane, stream, false);
                let page = page.expect("checked: ageing leaves the reserve alone");
                let block = self.dev.geometry.block_of(page);
                self.dev.flash.land(page, block, if stale { Lpn::NONE } else { lpn });
                if !stale {
                    self.dev.map.set(lpn, Location::Flash(page));
                    self.oracle.store(page, Tag { lpn, version: 0 });
                    self.oracle.acknowledge(Tag { lpn, version: 0 });
                    lpn = self.dev.geometry.next_of(lpn);
                }
                self.dev.host_programmed(self.now, page, false);
                let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
                self.dev.write_metadata_now(features, stats, oracle, &self.rules, block, false);
            }
        }
        ControlFlow::Continue(())
    }

    /// Applies a request in no time (`--count-only`): the same placement, map and GC, without latencies. It is delayed until a
    /// few more have been submitted, so that memory can be prefetched; [`Ssd::apply_rest`] applies the delayed ones.
    ///
    /// # Panics
    /// If a request exceeds the device or is empty.
    #[inline]
    pub fn apply(&mut self, request: Request) {
        let waiting = self.dev.together(request);
        if self.host.ring.is_empty() && self.dev.is_plain_write(&self.rules, &waiting) {
            if self.host.keep_write(&waiting) {
                self.serve_batch();
            }
            return;
        }
        self.keep_for_later(waiting);
    }

    /// The same for a request with marks, which may be scattered; see [`Ssd::submit_marked`].
    ///
    /// # Panics
    /// Like [`Ssd::submit_marked`].
    pub fn apply_marked(&mut self, request: Request, marks: Marks, extents: impl Iterator<Item = Extent>) {
        let mut extents = extents.peekable();
        let waiting = if extents.peek().is_some() {
            self.host.scatter(&self.dev, request, extents)
        } else {
            self.dev.together(request)
        };
        self.keep_for_later(Waiting { marks, ..waiting });
    }

    /// Serves the first of many plain writes. Equals [`Ssd::serve_now`] one by one.
    #[inline(never)]
    fn serve_batch(&mut self) {
        let all = self.host.writes.all();
        for i in 0..BATCH {
            let (far, near) = (all[LOOK_AHEAD + i].0, all[LOOK_AHEAD - BATCH + i].0);
            self.dev.map.expect(far);
            self.oracle.expect(far);
            self.dev.expect_write(&self.rules, near);
        }
        let batch = self.host.writes.take_batch();
        if self.rules.one_by_one || !self.host.counts_together(&self.stats, BATCH as u64) {
            return batch.into_iter().for_each(|(page, bytes)| self.serve_write(page, bytes.into()));
        }
        let mut bytes = 0;
        for (page, some) in batch {
            self.replace_now(page);
            bytes += u64::from(some);
        }
        self.host.count_writes_now(&mut self.stats, BATCH as u64, bytes);
    }

    /// Delays a request that may be no plain write.
    #[inline(never)]
    fn keep_for_later(&mut self, waiting: Waiting) {
        if !self.host.writes.is_empty() {
            let (writes, count) = self.host.writes.take_all();
            writes[..count].iter().for_each(|(page, bytes)| self.serve_write(*page, u64::from(*bytes)));
        }
        self.host.ring.push_back(waiting);
        if self.host.ring.len() == LOOK_AHEAD + BATCH {
            self.host
                .look_ahead(&self.dev, &self.features, &self.oracle, |lpn| self.dev.expect_write(&self.rules, lpn));
            for _ in 0..BATCH {
                let next = self.host.ring.take();
                self.serve_now(next);
            }
            if (0..LOOK_AHEAD).all(|i| self.dev.is_plain_write(&self.rules, self.host.ring.at(i))) {
                while let Some(next) = self.host.ring.pop_front() {
                    if self.host.keep_write(&next) {
                        self.serve_batch();
                    }
                }
            }
        }
    }

    /// Applies the requests that [`Ssd::apply`] has delayed.
    pub fn apply_rest(&mut self) {
        let (writes, count) = self.host.writes.take_all();
        writes[..count].iter().for_each(|(page, bytes)| self.serve_write(*page, u64::from(*bytes)));
        while let Some(next) = self.host.ring.pop_front() {
            self.serve_now(next);
        }
    }

    /// Applies a request in no time, before those that [`Ssd::apply`] has delayed.
    ///
    /// # Panics
    /// If it exceeds the device or is empty.
    pub fn apply_now(&mut self, request: Request) {
        let waiting = self.dev.together(request);
        self.serve_now(waiting);
    }

    fn serve_now(&mut self, next: Waiting) {
        if self.rules.one_by_one {
            self.dev.flash.take_programs(false);
            if life::rejects(self, &next) {
                return;
            }
        }
        let request = next.request;
        if request.op == RequestOp::Flush {
            return self.skip();
        }
        if request.op == RequestOp::Write && self.dev.is_one_page(&next) && !self.rules.streams {
            return self.serve_write(next.page, request.bytes);
        }
        if !self.host.measuring {
            self.check_warmup();
        }
        let measured = self.host.count_admission();
        streams::serves(&mut self.features, &self.rules, &next.marks, request.bytes, measured);
        let (units, pages) = self.host.pages_of(&self.dev, &self.config, &next);
        match request.op {
            RequestOp::Trim => {
                for _ in 0..next.extents.max(1) {
                    let extent = self.host.next_extent(&next);
                    self.dev.whole_pages(&extent).for_each(|lpn| self.trim(Lpn(lpn), measured));
                }
            }
            RequestOp::Write => {
                for left in (0..next.extents.max(1)).rev() {
                    let extent = self.host.next_extent(&next);
                    self.store_extent(extent, left);
                }
                self.host.count_written(&mut self.stats, pages, measured);
            }
            RequestOp::Read => {
                self.host.drop_extents(&next);
                self.dev.count_reads_now(&mut self.stats, &self.rules, &next, units);
                self.stats.pages.read += if measured { pages } else { 0 };
            }
            RequestOp::Flush => {}
        }
        self.stats.count_served(request.op, request.bytes, measured);
        if request.op == RequestOp::Write && measured {
            self.stats.count_done(pages, request.bytes);
            self.check_progress();
        }
    }

    /// Serves a write of one page.
    #[inline]
    fn serve_write(&mut self, page: Lpn, bytes: u64) {
        if self.rules.one_by_one {
            self.dev.flash.take_programs(false);
            if life::rejects_page(self) {
                return;
            }
        }
        if !self.host.measuring {
            self.check_warmup();
        }
        let measured = self.host.count_admission();
        self.write_now(page);
        self.host.count_written(&mut self.stats, 1, measured);
        self.stats.count_served(RequestOp::Write, bytes, measured);
        if measured {
            self.stats.count_done(1, bytes);
            self.check_progress();
        }
    }

    /// Writes the pages of an extent in no time; `left` extents of its request follow.
    #[inline(always)]
    fn store_extent(&mut self, extent: Extent, left: u32) {
        let (first, last) = self.dev.span(&extent);
        for page in (first..=last).map(Lpn) {
            let lpn = self.features.logical(page);
            self.store_now(lpn, Class::Host);
            parity::page_of_extent_written_now(self, (page, lpn), Lpn(last), left);
        }
    }

    /// Writes a host page in no time, with GC in no time if it becomes due.
    pub fn write_now(&mut self, page: Lpn) {
        let lpn = self.features.logical(page);
        self.store_now(lpn, Class::Host);
        parity::page_written_now(self, lpn);
    }

    /// Writes a logical page of the map in no time.
    #[inline]
    pub(in crate::engine) fn store_now(&mut self, lpn: Lpn, class: Class) {
        self.stats.count_program_now(&self.rules, class);
        self.replace_now(lpn);
    }

    /// The same without counting the program.
    #[inline(always)]
    fn replace_now(&mut self, lpn: Lpn) {
        let tag = self.oracle.admit(lpn);
        self.features.drop_copy(&mut self.dev, lpn);
        self.dev.forget(&mut self.kernel, &self.rules, lpn);
        if self.rules.plain_places {
            let plane = self.dev.geometry.static_plane(lpn);
            if let Some((page, room)) = self.dev.flash.program_in_room(plane, lpn, self.rules.gc_floor) {
                self.dev.map_put(&mut self.oracle, self.now, lpn, page, tag);
                let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
                self.dev.has_put(features, stats, oracle, &self.rules, page);
                self.dev.count_unit_now(&mut self.stats, &self.rules, page);
                if !room {
                    self.collect_now(plane, Stream::Host);
                }
                return;
            }
        }
        let stream = stream_now(&mut self.features, lpn);
        self.store_where_room_is(lpn, tag, stream);
    }

    /// Writes a logical page whose old version has been dropped, after the necessary GC.
    #[inline(never)]
    fn store_where_room_is(&mut self, lpn: Lpn, tag: Tag, stream: Stream) {
        self.dev.map.set(lpn, Location::Nowhere);
        let plane = loop {
            match self.host.timeless_plane(
                &mut self.kernel,
                &mut self.dev,
                &mut self.features,
                &self.rules,
                lpn,
                stream,
            ) {
                Some(plane) => break plane,
                // Dynamic placement may find no plane; then some full plane has a victim, and the first one is collected.
                None => {
                    let mut planes = (0..self.dev.geometry.planes).map(PlaneId);
                    let collected = planes
                        .any(|plane| !self.dev.flash.takes_page_of(plane, stream) && make_room(self, plane, stream));
                    law!(collected, "law: spare pages suffice");
                }
            }
        };
        let page = loop {
            while !self.dev.flash.takes_page_of(plane, stream) {
                let collected = make_room(self, plane, stream);
                law!(collected, "law: spare pages suffice");
            }
            // A program that fails may use up the last page that was offered.
            if let Some(page) = self.dev.put(&mut self.oracle, self.now, lpn, plane, stream, tag) {
                let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
                self.dev.has_put(features, stats, oracle, &self.rules, page);
                break page;
            }
        };
        self.dev.count_unit_now(&mut self.stats, &self.rules, page);
        streams::wrote_unit(&mut self.features, &self.rules, stream, plane);
        life::has_written(self, plane);
        self.collect_now(plane, stream);
        has_written(self, lpn, page, plane);
    }

    /// Collects in no time until the trigger no longer holds in the plane's scope and the plane has room for data of the host.
    #[inline]
    pub(in crate::engine) fn collect_now(&mut self, plane: PlaneId, stream: Stream) {
        while let Some(due) = self.gc.due_plane(&self.dev, &self.rules, &self.config, plane) {
            if !self.collect_once(due) {
                break;
            }
        }
        while self.dev.flash.lacks_page(plane, stream) && self.collect_once(plane) {}
    }

    /// Runs one collection in no time. Returns false if the plane has no victim.
    pub(in crate::engine) fn collect_once(&mut self, plane: PlaneId) -> bool {
        if life::salvages(self, plane) {
            return true;
        }
        let Some(victim) = self.pick_victim(plane) else { return false };
        let mut job = Job::new(victim);
        // Collections in no time buffer nothing.
        job.slots = Some(0);
        self.join_planes(plane, self.dev.geometry.unit_of(plane), &mut job);
        self.dev.check_promised_steps(&self.schemes, &self.oracle, self.now, &job, false);
        for victim in &job.victims[..usize::from(job.count)] {
            self.gc.claimed.remove(self.dev.geometry.plane_of_block(*victim));
            self.dev.flash.begin_collection(*victim);
            self.dev.read_metadata_now(&mut self.stats, &self.rules);
            self.dev.handle_erased(&self.rules, *victim);
        }
        if units::collects_now(self, plane, victim) {
            return true;
        }
        if let (Some(journey), 1) = (self.rules.plain_moves, job.count) {
            self.dev.flash.expect_run(plane, victim);
            let (now, moved) = (self.now, self.gc.moving.list_all(&self.dev.flash, plane, victim));
            law_eq!(moved, usize::from(self.dev.flash.valid(victim)), "law: validity and the reverse map agree");
            self.dev.move_listed(&mut self.kernel, &self.features, &mut self.oracle, &self.gc.moving, |_| now);
            self.dev.flash.vacate(victim);
            self.stats.count_moves(journey, moved as u64);
            self.features.tenants_moved_now(&self.dev, &self.rules, &self.gc.moving);
            self.stats.count_sorted(moved as u64);
            self.dev.flash.erase_now(victim);
            self.features.drop_copies(&mut self.dev, victim);
            self.features.block_erased(&mut self.dev, &self.stats, &self.rules, self.now);
            self.stats.count_erases(1);
            self.stats.count_collection(1);
            return true;
        }
        job.victims[..usize::from(job.count)].iter().for_each(|victim| self.dev.expect_moves(*victim));
        loop {
            match self.schemes.collector.policy().next(&self.dev.view(self.now), &mut job) {
                Step::Move(pages, stream) | Step::Fetch(pages, stream) => {
                    let mut to = PageSet::EMPTY;
                    for page in pages.iter() {
                        to.push(self.move_now(*page, stream));
                    }
                    self.dev.sort_moves(&mut self.stats, &pages, &to, plane, job.count > 1);
                }
                Step::Skip(victim, pages, stream) => {
                    self.dev.skip_pages(&mut self.features, &mut self.stats, job.victims[victim], pages, stream);
                }
                Step::Place | Step::Stage | Step::Reserve(_) => unreachable!("pages in no time are never in hand"),
                Step::Erase => {
                    job.erased = true;
                    for victim in &job.victims[..usize::from(job.count)] {
                        self.dev.flash.erase_now(*victim);
                        self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, *victim);
                    }
                    self.stats.count_erases(u64::from(job.count));
                }
                Step::Done => {
                    self.stats.count_collection(u64::from(job.count));
                    return true;
                }
            }
        }
    }

    /// Moves a page in no time. Returns its new place.
    pub(in crate::engine) fn move_now(&mut self, from: Ppn, stream: Stream) -> Ppn {
        let pages = PageSet::one(from);
        let path = self.schemes.path.policy();
        let journey = self.dev.journey_of(&self.rules, self.now, path, &pages, stream);
        // Whether a page is clean matters only if clean pages stay inside.
        let looks = journey.checked && path.back(&self.dev.view(self.now), from, true) == Hop::Die;
        let inside = journey.out == Hop::Die || looks && self.dev.way_back(self.now, path, &pages) == Hop::Die;
        if journey.checked && inside {
            // It was read out for the check.
            self.stats.count_reads(Class::Gc, 1);
        }
        self.stats.count_moves(if inside { Journey::COPYBACK } else { Journey::EXTERNAL }, 1);
        let plane = self.dev.geometry.plane_of(from);
        let tag = self.oracle.load(from, self.dev.flash.lpn_of(from));
        let to = life::page_for_move(self, plane, stream, inside);
        self.features.tenant_moved_now(&self.dev, &self.rules, from);
        self.land_moved(from, to, tag, !inside);
        let (block, features, stats) = (self.dev.geometry.block_of(to), &mut self.features, &mut self.stats);
        self.dev.write_metadata_now(features, stats, &mut self.oracle, &self.rules, block, true);
        to
    }
}
