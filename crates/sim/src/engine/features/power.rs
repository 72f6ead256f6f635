//! Power cuts: operations in flight are lost, and the map is rebuilt from the tags of pages.

use crate::config::Config;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Fifo};
use crate::engine::features::cache::line_is_lost;
use crate::engine::features::raid::failure::Chunk;
use crate::engine::features::raid::recover::Begun;
use crate::engine::features::streams::stream_of_newest;
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::kernel::timers::Timer;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Ssd};
use crate::oracle::{Check, Oracle};
use crate::report::power::PowerCut;
use crate::stats::Stats;
use crate::units::{BlockId, Lpn, Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

/// Bit errors of a page whose program is interrupted.
#[derive(Clone, Copy)]
pub(in crate::engine) enum Brings {
    /// Errors of a program, for data that passed through ECC; `lost` if it was uncorrectable.
    Own { lost: bool },
    /// Those of its source page, unless corrected on the way.
    Of { from: Ppn, corrected: bool },
}

/// Effects of operations in service.
#[derive(Default)]
pub(in crate::engine) struct Torn {
    /// Pages with interrupted programs, and their intended content.
    pub(in crate::engine) programs: Vec<(Ppn, Tag, Brings)>,
    /// Blocks with interrupted erases.
    pub(in crate::engine) erases: Vec<BlockId>,
    /// Programs of the write cache among them whose data was not in the die yet.
    pub(in crate::engine) ahead: u64,
}

/// Operations in flight at a power cut.
struct InFlight {
    torn: Torn,
    /// Victims whose erase has not begun.
    victims: Vec<BlockId>,
    /// Newest versions in the controller's memory whose program has not begun.
    in_memory: Vec<InMemory>,
}

/// A page in the controller's memory.
struct InMemory {
    plane: PlaneId,
    tag: Tag,
    /// The data merged into it was uncorrectable.
    lost: bool,
    /// It is written to flash even if it was not acknowledged.
    always: bool,
    /// A partial write's run and sectors (oracle).
    part: Option<(u32, std::ops::Range<u32>)>,
}

impl Features {
    /// Sets the time of the first fault.
    pub(in crate::engine) fn schedule_fault(&mut self, config: &Config) {
        let cut = config.faults.power_cut.iter().copied().min().unwrap_or(Nanos::NEVER);
        self.fault_at = self.failures.as_ref().map_or(cut, |failures| cut.min(failures.next()));
    }

    /// Time of the first fault after `last`.
    fn next_fault(&self, config: &Config, last: Nanos) -> Nanos {
        let later = config.faults.power_cut.iter().filter(|at| **at > last).copied();
        let cut = later.min().unwrap_or(Nanos::NEVER);
        self.failures.as_ref().map_or(cut, |failures| cut.min(failures.next()))
    }

    /// If no version of a page is found, parity counts the page as never written.
    fn forget_unfound(&mut self, oracle: &mut Oracle, lpn: Lpn, found: Option<u32>) {
        if found.is_none() && self.raid.is_some() {
            oracle.forget(lpn);
            self.forget_tag(lpn);
        }
    }

    /// Compares what the device has found with what it acknowledged (oracle).
    fn judge_recovery(
        &mut self,
        dev: &Device,
        oracle: &mut Oracle,
        caches: bool,
        was_lost: &[bool],
        report: &mut PowerCut,
    ) {
        for lpn in (0..dev.geometry.mapped).map(Lpn) {
            let found = match dev.map.get(lpn) {
                Location::Flash(page) => Some(oracle.load(page, lpn).version),
                // The rest of its parity group restores it.
                _ => Some(self.missing_tag(lpn)).filter(|tag| tag.lpn.is_some()).map(|tag| tag.version),
            };
            if self.is_parity(lpn) {
                oracle.recovered(lpn, found);
                self.forget_unfound(oracle, lpn, found);
                continue;
            }
            match (oracle.known(lpn), found) {
                (Some(known), Some(found)) if found >= known => report.kept_pages += 1,
                (Some(_), Some(_)) => {
                    report.stale_pages += 1;
                    // With a write cache, lost pages are all whose acknowledged version is gone.
                    report.lost_pages += u64::from(caches);
                }
                (Some(_), None) => report.lost_pages += u64::from(!was_lost[lpn.ix()]),
                (None, _) => {}
            }
            report.undone_trims += u64::from(oracle.recovered(lpn, found));
            self.forget_unfound(oracle, lpn, found);
        }
    }
}

impl Device {
    /// Possible planes for a page of a plane: under static placement only its own, because another one would overflow.
    fn homes(&self, rules: &Rules, plane: PlaneId) -> impl Iterator<Item = PlaneId> + use<> {
        let others = if rules.numbered { 0 } else { self.geometry.planes };
        std::iter::once(plane).chain((0..others).map(PlaneId))
    }

    /// By logical page, the newest version on flash and its page; of equal versions, the one outside interrupted collections.
    fn newest_pages(&self, oracle: &Oracle, victims: &[BlockId]) -> Vec<(u32, Ppn)> {
        let geometry = &self.geometry;
        let mut newest = vec![(0, Ppn::NONE); geometry.mapped as usize];
        let blocks = (0..geometry.planes * geometry.blocks_per_plane).map(BlockId);
        let (first, last): (Vec<_>, Vec<_>) = blocks.partition(|block| !victims.contains(block));
        for block in first.into_iter().chain(last) {
            for offset in 0..self.flash.written(block) {
                let page = geometry.page(block, offset);
                let tag = oracle.load(page, Lpn::NONE);
                if tag.lpn.is_some() {
                    let entry = &mut newest[tag.lpn.ix()];
                    if entry.1.is_none() || tag.version > entry.0 {
                        *entry = (tag.version, page);
                    }
                }
            }
        }
        newest
    }

    /// A free page of a plane for recovery.
    fn recovery_page(&mut self, rules: &Rules, plane: PlaneId) -> Option<Ppn> {
        let flash = &mut self.flash;
        let page = flash.take_page(plane, Stream::Gc, true);
        // With handles, another write point's block may belong to another one.
        if rules.handles { page } else { page.or_else(|| flash.take_page(plane, Stream::Host, true)) }
    }

    /// Makes the newest version of each logical page the valid one.
    fn rebuild_map(&mut self, features: &Features, oracle: &Oracle, victims: &[BlockId], trimmed: &[bool]) {
        let newest = self.newest_pages(oracle, victims);
        let geometry = &self.geometry;
        for (lpn, (version, page)) in newest.into_iter().enumerate() {
            let lpn = Lpn(lpn as u32);
            if page.is_some() && !trimmed[lpn.ix()] && features.is_current(lpn, version) {
                self.flash.found(page, geometry.block_of(page), lpn);
                self.map.set(lpn, Location::Flash(page));
            } else {
                self.map.set(lpn, Location::Nowhere);
            }
        }
    }

    /// Acknowledged pages whose next version is in flight, unless the acknowledged version is kept meanwhile.
    fn superseded(&self, kernel: &Kernel, features: &Features, oracle: &Oracle, rules: &Rules) -> u64 {
        let under_way = |lpn: &Lpn| match (self.map.get(*lpn), oracle.known(*lpn)) {
            (Location::Staged(op), Some(known)) if kernel.ops[op].class == Class::Host => {
                let old = kernel.ops[Page(op)].old;
                // With parity, old pages stay valid until their update has begun.
                !((rules.keeps || features.raid.is_some()) && old.is_some() && oracle.load(old, *lpn).version >= known)
            }
            _ => false,
        };
        (0..self.geometry.mapped).map(Lpn).filter(under_way).count() as u64
    }

    /// Writes a page to flash on the capacitor's charge. Returns false if there is no room.
    fn drain(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
        (plane, tag, lost): (PlaneId, Tag, bool),
    ) -> bool {
        let (mut homes, stream) = (self.homes(rules, plane), stream_of_newest(features, tag.lpn));
        // The reserve belongs to the interrupted collections.
        let Some(page) = homes.find_map(|plane| self.flash.take_page(plane, stream, false)) else {
            return false;
        };
        let block = self.geometry.block_of(page);
        self.flash.land(page, block, Lpn::NONE);
        oracle.store(page, tag);
        self.host_programmed(now, page, lost);
        self.write_metadata_now(features, stats, oracle, rules, block, false);
        true
    }

    /// Places a page of the memory on flash at `page`.
    fn bring_back_to(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
        (page, tag, lost): (Ppn, Tag, bool),
    ) {
        let block = self.geometry.block_of(page);
        self.flash.land(page, block, tag.lpn);
        self.map.set(tag.lpn, Location::Flash(page));
        oracle.store(page, tag);
        self.host_programmed(now, page, lost);
        self.write_metadata_now(features, stats, oracle, rules, block, false);
    }

    /// Moves a page of a victim in no time.
    fn move_recovered(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
        (from, to): (Ppn, Ppn),
    ) {
        let lpn = self.flash.lpn_of(from);
        let tag = oracle.load(from, lpn);
        let (victim, block) = (self.geometry.block_of(from), self.geometry.block_of(to));
        self.flash.invalidate(from, victim, lpn);
        self.flash.land(to, block, lpn);
        self.map.set(lpn, Location::Flash(to));
        oracle.store(to, tag);
        self.follow_errors(stats, now, from, to, block, true);
        self.write_metadata_now(features, stats, oracle, rules, block, true);
    }

    /// Reads the pages of a victim from an offset on into the memory, and erases it. What is known of its pages remains to be
    /// forgotten.
    fn hold_rest(
        &mut self,
        stats: &mut Stats,
        oracle: &Oracle,
        now: Nanos,
        victim: BlockId,
        from: u32,
    ) -> Vec<(Tag, bool)> {
        let mut pages = Vec::new();
        for offset in from..self.geometry.pages_per_block {
            let page = self.geometry.page(victim, offset);
            let lpn = self.flash.lpn_of(page);
            if lpn.is_some() {
                pages.push((oracle.load(page, lpn), !self.survives_move(stats, now, page)));
                self.flash.invalidate(page, victim, lpn);
            }
        }
        self.flash.erase_now(victim);
        pages
    }

    /// Drains versions that are acknowledged but not on flash; an overwrite that was not acknowledged may be lost. Returns how
    /// many, and those for which there is no room.
    fn drain_memory(
        &mut self,
        features: &mut Features,
        stats: &mut Stats,
        oracle: &mut Oracle,
        rules: &Rules,
        now: Nanos,
        flight: &InFlight,
    ) -> (u64, Vec<(PlaneId, Tag, bool)>) {
        let newest = self.newest_pages(oracle, &flight.victims);
        let (mut drained, mut waiting) = (0, Vec::new());
        for page in &flight.in_memory {
            let (on_flash, held) = (newest[page.tag.lpn.ix()], features.missing_tag(page.tag.lpn));
            let nowhere = on_flash.1.is_none() && held.lpn.is_none();
            let older = |version| nowhere || on_flash.0.max(held.version) < version;
            let needed = oracle.known(page.tag.lpn).is_some_and(older);
            if needed || page.always && older(page.tag.version) {
                if let Some((run, own)) = &page.part {
                    oracle.compose(page.tag, *run, Some(own.clone()));
                }
                let drains = (page.plane, page.tag, page.lost);
                let fits = self.drain(features, stats, oracle, rules, now, drains);
                drained += u64::from(fits);
                if !fits {
                    waiting.push(drains);
                }
            }
        }
        (drained, waiting)
    }

    /// Programs and erases that the cut interrupted leave what they leave on flash. What is known of the erased blocks remains to be
    /// forgotten.
    fn tear_pages(&mut self, stats: &mut Stats, oracle: &mut Oracle, now: Nanos, torn: &Torn, protected: bool) {
        for (page, tag, brings) in &torn.programs {
            oracle.store(*page, if protected { *tag } else { Tag::NONE });
            if !protected {
                oracle.tears(*tag);
            }
            match brings {
                Brings::Own { lost } => self.host_programmed(now, *page, *lost),
                Brings::Of { from, corrected } => {
                    self.follow_errors(stats, now, *from, *page, self.geometry.block_of(*page), *corrected);
                }
            }
        }
        self.flash.power_cut(&torn.erases);
    }
}

impl Kernel {
    /// Drops operations, collections and requests in service.
    fn forget_operations(
        &mut self,
        dev: &mut Device,
        host: &mut Host,
        gc: &mut Gc,
        features: &mut Features,
        now: Nanos,
    ) {
        for unit in 0..self.dies.units.len() {
            self.set_holder(now, UnitId(unit as u32), Holder::Free);
            self.dies.units[unit].power_cut();
            self.timers.clear(Timer::Array(UnitId(unit as u32)));
        }
        for bus in 0..self.buses.all.len() {
            self.buses[bus].power_cut(now);
            self.timers.clear(Timer::Bus(bus));
        }
        for timer in [Timer::Memory, Timer::Decoder, Timer::Hold] {
            self.timers.clear(timer);
        }
        self.ops.clear();
        host.runs.power_cut();
        gc.jobs.clear();
        features.empty_hands(dev);
        gc.forget_postponed(|_| true);
        gc.claimed.clear();
        for plane in &mut gc.planes {
            plane.stalled = Fifo::EMPTY;
        }
        features.recount_queues(self, dev);
        host.anywhere = Fifo::EMPTY;
        host.without_page = Fifo::EMPTY;
        gc.ready.clear();
        self.buses.dirty.clear();
        self.dies.power_cut();
        self.idle_rounds = 0;
        if let Some(slc) = &mut features.slc {
            slc.power_cut();
        }
        features.restart_idle(self, now);
        host.power_cut(now);
        if let Some(replicas) = &mut features.replicas {
            replicas.power_cut();
        }
        features.retry.iter_mut().for_each(|retry| retry.refresh.clear());
        dev.await_copies(features);
        if let Some(raid) = &mut features.raid {
            raid.power_cut();
            self.timers.clear(Timer::Encode);
        }
        dev.staging.power_cut(now);
        if let Some(cache) = &mut features.cache {
            cache.power_cut();
        }
        if let Some(nvme) = &mut features.nvme {
            nvme.power_cut(now);
        }
    }
}

impl Ssd {
    /// Injects chip failures and power cuts, in this order, before any other event of the same time.
    #[cold]
    pub(in crate::engine) fn scheduled_fault(&mut self) {
        let at = self.features.fault_at;
        self.now = self.now.max(at);
        if self.features.failures.is_some() {
            while let Some(chip) = self.features.failures().take_due(self.now) {
                self.chip_fails(chip);
            }
        }
        if self.config.faults.power_cut.contains(&at) {
            self.power_cut();
        }
        self.features.fault_at = self.features.next_fault(&self.config, at);
        if self.features.failures.is_some() {
            self.round(self.now);
        }
    }

    /// Cuts power now and recovers, in no time: requests in service are dropped, operations in flight are torn, the map is
    /// rebuilt from the pages, and interrupted collections are finished. Requests that are not admitted yet arrive as usual.
    ///
    /// With `device.power_loss_protection`, a capacitor supplies the controller until the pages in its memory, the programs in
    /// flight and the map are on flash.
    ///
    /// An overwrite that was not acknowledged is undone, so invalid pages of a victim may become valid again. Its collection then
    /// needs more pages than at its start, at most one block. An erased block reserved in addition to GC's write points
    /// (`gc.reserve`) covers this and torn pages. Without it, recovery holds pages only in the controller's memory while it
    /// erases their block ([`PowerCut::held_pages`]), which a real device without a capacitor could not do safely.
    ///
    /// # Panics
    /// If the device does not know the content of every page: build it with [`Check::Full`], or with `faults.power_cut`.
    pub fn power_cut(&mut self) -> PowerCut {
        law_eq!(self.oracle.check(), Check::Full, "a power cut needs to know what every page holds");
        law!(self.features.noc.is_none(), "recovery with an interconnect is not modelled");
        law!(self.features.raid.is_none() || self.dev.errors.is_none(), "recovery reads every page of a parity group");
        self.bring_to_now();
        self.features.complete_lines(&self.kernel, &self.dev, &mut self.oracle, &self.rules, &self.config);
        let protected = self.config.device.power_loss_protection;
        let begun = self.features.groups_at_cut(&self.kernel, &self.dev, &self.oracle);
        let flight = self.in_flight(&begun);
        let mut report = PowerCut {
            at: self.now,
            exposed_pages: u64::from(self.dev.staging.exposed.pages())
                + self.features.cache.as_ref().map_or(0, |cache| cache.dirty_pages()),
            superseded_pages: self.dev.superseded(&self.kernel, &self.features, &self.oracle, &self.rules),
            buffered_pages: u64::from(self.dev.staging.filled.pages()),
            torn_pages: if protected { 0 } else { flight.torn.programs.len() as u64 - flight.torn.ahead },
            torn_erases: flight.torn.erases.len() as u64,
            aborted_requests: self.host.in_service(),
            ..PowerCut::default()
        };
        // A trim is in the saved map; later writes of the page were not acknowledged. (With parity there are no trims.)
        let gone = |lpn| protected && self.features.raid.is_none() && self.oracle.known(Lpn(lpn)).is_none();
        let trimmed: Vec<bool> = (0..self.dev.geometry.mapped).map(gone).collect();
        // Losses by failed chips are not losses by the power cut.
        let was_lost: Vec<bool> =
            (0..self.dev.geometry.mapped).map(|lpn| self.features.chunk(Lpn(lpn)) == Chunk::Lost).collect();
        self.host.none_idle = false;
        self.kernel.cut_transfers(&mut self.shared, &self.stats, self.now);
        self.kernel.forget_operations(&mut self.dev, &mut self.host, &mut self.gc, &mut self.features, self.now);
        self.dev.tear_pages(&mut self.stats, &mut self.oracle, self.now, &flight.torn, protected);
        for block in &flight.torn.erases {
            self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, *block);
        }
        let torn = flight.torn.programs.iter().map(|(page, ..)| *page).filter(|_| !protected);
        let (features, stats) = (&mut self.features, &mut self.stats);
        self.dev.lose_copyback_counts(features, stats, &mut self.oracle, &self.rules, torn);
        let mut waiting = Vec::new();
        if protected {
            let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
            (report.drained_pages, waiting) =
                self.dev.drain_memory(features, stats, oracle, &self.rules, self.now, &flight);
        }
        self.dev.rebuild_map(&self.features, &self.oracle, &flight.victims, &trimmed);
        report.held_pages = flight.victims.iter().map(|victim| self.finish_collection(*victim)).sum();
        report.held_pages +=
            (0..self.dev.geometry.planes).map(|plane| self.restore_reserve(PlaneId(plane))).sum::<u64>();
        for (plane, tag, lost) in waiting {
            // The page found no room while the charge lasted, and stays in the memory, which survives.
            self.dev.forget(&mut self.kernel, &self.rules, tag.lpn);
            self.dev.map.set(tag.lpn, Location::Nowhere);
            report.drained_pages += u64::from(self.bring_back(plane, tag, lost));
        }
        if self.rules.units {
            self.dev.pad_all(&mut self.oracle);
        }
        self.groups_after_cut(&begun, &mut report);
        self.oracle.power_cut();
        self.features.judge_recovery(&self.dev, &mut self.oracle, self.rules.caches, &was_lost, &mut report);
        self.features.settle_homes(&self.dev);
        if let Some(handles) = &mut self.features.handles {
            handles.recover(&self.dev.geometry, &self.dev.flash, &self.dev.map);
        }
        self.dev.scan(&self.kernel, &self.gc, &self.features, &self.oracle, &self.rules);
        self.features.power_cuts.push(report.clone());
        if self.features.failures.is_some() {
            self.features.resume_rebuilding(self.now);
            self.round(self.now);
        }
        report
    }

    /// Collects interrupted programs and erases, and pages that are only in the controller's memory.
    fn in_flight(&self, begun: &[Begun]) -> InFlight {
        let mut torn = Torn::default();
        for unit in &self.kernel.dies.units {
            for op in unit.in_service() {
                let mut at = op;
                while at.is_some() {
                    self.kernel.tear(&self.dev, &self.gc, &self.features, &self.rules, (at, op), &mut torn);
                    let page = &self.kernel.ops[at];
                    at = if matches!(page.class, Class::Host | Class::Cache) { page.mate } else { OpId::NONE };
                }
            }
        }
        let in_program = |tag: Tag| torn.programs.iter().any(|(_, other, _)| *other == tag);
        let in_memory = (0..self.dev.geometry.mapped).map(Lpn).filter_map(|lpn| {
            let Location::Staged(op) = self.dev.map.get(lpn) else { return None };
            let (id, always) = if self.features.raid.is_some() {
                self.features.chunk_to_drain(&self.kernel, &self.dev, begun, lpn, op)?
            } else if self.rules.buffers {
                (self.features.line_to_drain(&self.kernel, lpn, op)?, false)
            } else {
                (op, false)
            };
            let op = &self.kernel.ops[id];
            let plane = if op.plane.is_some() { op.plane } else { self.dev.geometry.static_plane(lpn) };
            let tag = self.kernel.ops[Page(id)].tags[0];
            let lost = if op.class == Class::Cache { line_is_lost(self, id) } else { op.lost };
            (!in_program(tag)).then(|| InMemory {
                plane,
                tag,
                lost,
                always,
                part: self.kernel.part_of_page(&self.dev, &self.oracle, &self.config, id),
            })
        });
        let mut in_memory: Vec<InMemory> = in_memory.collect();
        // A moved unit of which the capacitor writes a newer version is not needed.
        let newer = |tag: &Tag| {
            let lines = in_memory.iter().map(|page| page.tag);
            lines.chain(torn.programs.iter().map(|(_, tag, _)| *tag)).any(|other| other.lpn == tag.lpn)
        };
        let hands: Vec<_> =
            self.features.units_in_hands(&self.dev).into_iter().filter(|(_, tag, _)| !newer(tag)).collect();
        in_memory.extend(hands.into_iter().map(|(plane, tag, lost)| InMemory {
            plane,
            tag,
            lost,
            always: false,
            part: None,
        }));
        let victims = self.dev.flash.victims().filter(|block| !torn.erases.contains(block)).collect();
        InFlight { torn, victims, in_memory }
    }

    /// Writes a page from the memory to flash, with GC if there is no room. Returns false if there is no victim left.
    pub(in crate::engine) fn bring_back(&mut self, plane: PlaneId, tag: Tag, lost: bool) -> bool {
        let page = self.room(plane, stream_of_newest(&self.features, tag.lpn), &mut 0);
        if let Some(page) = page {
            let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
            self.dev.bring_back_to(features, stats, oracle, &self.rules, self.now, (page, tag, lost));
        }
        page.is_some()
    }

    /// A free page of a stream outside the reserves for data of a plane, with GC if there is none; `held` counts the pages that GC
    /// held in the memory. None if there is no victim left.
    fn room(&mut self, plane: PlaneId, stream: Stream, held: &mut u64) -> Option<Ppn> {
        let data = self.dev.geometry.data_pages as u16;
        loop {
            let found =
                self.dev.homes(&self.rules, plane).find_map(|plane| self.dev.flash.take_page(plane, stream, false));
            if found.is_some() {
                return found;
            }
            let flash = &self.dev.flash;
            let closed =
                self.dev.homes(&self.rules, plane).flat_map(|plane| flash.closed_blocks(plane, &self.dev.geometry));
            let victim = closed.min_by_key(|block| flash.valid(*block)).filter(|block| flash.valid(*block) < data);
            let mut homes = self.dev.homes(&self.rules, plane);
            // Blocks of the cache of SLC are the plane's again when they are folded.
            let victim = victim.or_else(|| homes.find_map(|plane| self.dev.flash.slc_to_fold(plane)))?;
            *held += self.finish_collection(victim);
        }
    }

    /// Collects a plane until its reserve is complete again, if interrupted operations have used a part of it. Returns the number
    /// of pages that were only in the memory meanwhile.
    fn restore_reserve(&mut self, plane: PlaneId) -> u64 {
        let data = self.dev.geometry.data_pages as u16;
        let mut held = 0;
        while self.dev.flash.free_blocks(plane) < self.config.reserve() {
            let flash = &self.dev.flash;
            let closed = flash.closed_blocks(plane, &self.dev.geometry);
            let Some(victim) = closed.min_by_key(|block| flash.valid(*block)) else { break };
            if flash.valid(victim) < data {
                held += self.finish_collection(victim);
            } else if !self.rules.numbered {
                // Pages whose overwrites went to other planes are valid again, and the plane has too many.
                held += self.move_to_any_plane(victim);
            } else {
                break;
            }
        }
        held
    }

    /// Finishes an interrupted collection, or folds a block: moves the valid pages of its victim, and erases it. Pages that the cut made valid
    /// again were not counted when it began; without room they wait in the memory for the erase. Returns their number.
    fn finish_collection(&mut self, victim: BlockId) -> u64 {
        let plane = self.dev.geometry.plane_of_block(victim);
        if self.dev.flash.is_slc(victim) {
            self.dev.flash.begin_fold(victim);
        } else {
            self.dev.flash.begin_collection(victim);
        }
        for offset in 0..self.dev.geometry.pages_per_block {
            let from = self.dev.geometry.page(victim, offset);
            let lpn = self.dev.flash.lpn_of(from);
            if lpn.is_none() {
                continue;
            }
            let Some(to) = self.dev.recovery_page(&self.rules, plane) else {
                let pages = self.dev.hold_rest(&mut self.stats, &self.oracle, self.now, victim, offset);
                self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, victim);
                let held = pages.len() as u64;
                for (tag, lost) in pages {
                    let page =
                        self.dev.recovery_page(&self.rules, plane).expect("law: an erased block takes what it held");
                    let (features, stats, oracle) = (&mut self.features, &mut self.stats, &mut self.oracle);
                    self.dev.bring_back_to(features, stats, oracle, &self.rules, self.now, (page, tag, lost));
                }
                return held;
            };
            self.dev.move_recovered(
                &mut self.features,
                &mut self.stats,
                &mut self.oracle,
                &self.rules,
                self.now,
                (from, to),
            );
        }
        self.dev.flash.erase_now(victim);
        self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, victim);
        0
    }

    /// Moves the pages of a full block to wherever there is room, and erases it. What is exported fits outside the reserves of all
    /// planes, so there is room. Returns the number of pages that GC for it held in the memory.
    fn move_to_any_plane(&mut self, victim: BlockId) -> u64 {
        let plane = self.dev.geometry.plane_of_block(victim);
        let mut held = 0;
        self.dev.flash.begin_collection(victim);
        for offset in 0..self.dev.geometry.pages_per_block {
            let from = self.dev.geometry.page(victim, offset);
            let lpn = self.dev.flash.lpn_of(from);
            if lpn.is_some() {
                let stream =
                    self.dev.flash.kept_stream(victim).unwrap_or_else(|| stream_of_newest(&self.features, lpn));
                let to = self.room(plane, stream, &mut held).expect("law: what is exported fits outside the reserves");
                self.dev.move_recovered(
                    &mut self.features,
                    &mut self.stats,
                    &mut self.oracle,
                    &self.rules,
                    self.now,
                    (from, to),
                );
            }
        }
        self.dev.flash.erase_now(victim);
        self.dev.forget_block(&mut self.features, &self.stats, &self.rules, self.now, victim);
        held
    }
}
