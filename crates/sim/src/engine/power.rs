//! Power cuts: what is in flight is gone, and the map is rebuilt from what the pages say of themselves.

use super::Ssd;
use super::kernel::timers::Timer;
use super::raid::failure::Chunk;
use super::raid::recover::Begun;
use crate::device::flash::Stream;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Fifo};
use crate::engine::kernel::dies::Holder;
use crate::oracle::Check;
use crate::report::power::PowerCut;
use crate::units::{BlockId, Lpn, Nanos, OpId, PlaneId, Ppn, Tag, UnitId};

/// What a page that is being programmed brings along in bit errors.
#[derive(Clone, Copy)]
pub(super) enum Brings {
    /// What a program leaves, for data that ECC has had in hand, if it could.
    Own { lost: bool },
    /// Those of the page that it is a move of, unless corrected on the way.
    Of { from: Ppn, corrected: bool },
}

/// What operations in service leave behind.
#[derive(Default)]
pub(super) struct Torn {
    /// Pages being programmed, with what they would hold.
    pub(super) programs: Vec<(Ppn, Tag, Brings)>,
    /// Blocks being erased.
    pub(super) erases: Vec<BlockId>,
}

/// What is in flight when power is cut.
struct InFlight {
    torn: Torn,
    /// Victims of collections that are not being erased yet.
    victims: Vec<BlockId>,
    /// Newest versions that are in the controller's memory and not being programmed.
    in_memory: Vec<InMemory>,
}

/// A page in the controller's memory.
struct InMemory {
    plane: PlaneId,
    tag: Tag,
    /// ECC could not correct what was merged into it.
    lost: bool,
    /// It goes to flash even if the host does not know of it.
    always: bool,
    /// A partial write's run and sectors (oracle).
    part: Option<(u32, std::ops::Range<u32>)>,
}

impl Ssd {
    /// Chips fail or power is cut, before anything else of that time; if both, in this order.
    #[cold]
    pub(super) fn scheduled_fault(&mut self) {
        let at = self.features.fault_at;
        self.now = self.now.max(at);
        if self.features.failures.is_some() {
            self.scheduled_failures();
        }
        if self.config.faults.power_cut.contains(&at) {
            self.power_cut();
        }
        self.features.fault_at = self.next_fault(at);
        if self.features.failures.is_some() {
            self.round(self.now);
        }
    }

    /// Says when the first fault is due.
    pub(super) fn schedule_fault(&mut self) {
        let cut = self.config.faults.power_cut.iter().copied().min().unwrap_or(Nanos::NEVER);
        self.features.fault_at = self.features.failures.as_ref().map_or(cut, |failures| cut.min(failures.next()));
    }

    /// When the first fault after a time is due.
    fn next_fault(&self, last: Nanos) -> Nanos {
        let later = self.config.faults.power_cut.iter().filter(|at| **at > last).copied();
        let cut = later.min().unwrap_or(Nanos::NEVER);
        self.features.failures.as_ref().map_or(cut, |failures| cut.min(failures.next()))
    }

    /// Cuts power now and recovers, in no time: requests in service are forgotten, what was in flight is torn, the map is
    /// rebuilt from the pages, and interrupted collections are finished. What has not been admitted arrives as usual.
    ///
    /// With `device.power_loss_protection`, a capacitor keeps the controller alive until the pages in its memory, programs
    /// under way and the map are on flash.
    ///
    /// An overwrite that the host was not told of is undone, so pages of a victim that no longer counted may count again: its
    /// collection then needs more pages than it found when it began, a block's at most. One erased block reserved beyond
    /// those of the write points of collections (`gc.reserve`) covers this and torn pages; without it recovery holds pages in
    /// the controller's memory alone while it erases their block ([`PowerCut::held_pages`]), which a device without a capacitor
    /// should not have to.
    ///
    /// # Panics
    /// If the device does not know what every page holds: it is built with [`Check::Full`], or with `faults.power_cut`.
    pub fn power_cut(&mut self) -> PowerCut {
        law_eq!(self.oracle.check(), Check::Full, "a power cut needs to know what every page holds");
        law!(self.features.noc.is_none(), "recovery knows nothing of interconnects");
        law!(self.features.raid.is_none() || self.dev.errors.is_none(), "recovery reads every page of a parity group");
        self.unfuse_all();
        let protected = self.config.device.power_loss_protection;
        let begun = self.groups_at_cut();
        let flight = self.in_flight(&begun);
        let mut report = PowerCut {
            at: self.now,
            kept_pages: 0,
            lost_pages: 0,
            stale_pages: 0,
            undone_trims: 0,
            exposed_pages: u64::from(self.dev.staging.exposed.pages()),
            superseded_pages: self.superseded(),
            buffered_pages: u64::from(self.dev.staging.filled.pages()),
            drained_pages: 0,
            held_pages: 0,
            torn_pages: if protected { 0 } else { flight.torn.programs.len() as u64 },
            torn_erases: flight.torn.erases.len() as u64,
            aborted_requests: self.host.in_service(),
            repaired_groups: 0,
            unprotected_pages: 0,
        };
        // A trim is in the saved map; whatever came after it, the host was not told. (With parity there are none.)
        let gone = |lpn| protected && self.features.raid.is_none() && self.oracle.known(Lpn(lpn)).is_none();
        let trimmed: Vec<bool> = (0..self.dev.geometry.mapped).map(gone).collect();
        // What chips have taken with them is not the cut's doing.
        let was_lost: Vec<bool> =
            (0..self.dev.geometry.mapped).map(|lpn| self.chunk(Lpn(lpn)) == Chunk::Lost).collect();
        self.forget_operations();
        for (page, tag, brings) in &flight.torn.programs {
            self.oracle.store(*page, if protected { *tag } else { Tag::NONE });
            match brings {
                Brings::Own { lost } => self.host_programmed(*page, *lost),
                Brings::Of { from, corrected } => {
                    self.follow_errors(*from, *page, self.dev.geometry.block_of(*page), *corrected);
                }
            }
        }
        self.dev.flash.power_cut(&flight.torn.erases);
        flight.torn.erases.iter().for_each(|block| self.forget_block(*block));
        self.lose_copyback_counts(flight.torn.programs.iter().map(|(page, ..)| *page).filter(|_| !protected));
        let mut waiting = Vec::new();
        if protected {
            // Only what the host knows of and flash does not: an overwrite that it was not told of may be lost.
            let newest = self.newest_pages(&flight.victims);
            for page in &flight.in_memory {
                let (on_flash, held) = (newest[page.tag.lpn.ix()], self.missing_tag(page.tag.lpn));
                let nowhere = on_flash.1.is_none() && held.lpn.is_none();
                let older = |version| nowhere || on_flash.0.max(held.version) < version;
                let needed = self.oracle.known(page.tag.lpn).is_some_and(older);
                if needed || page.always && older(page.tag.version) {
                    if let Some((run, own)) = &page.part {
                        self.oracle.compose(page.tag, *run, Some(own.clone()));
                    }
                    let fits = self.drain(page.plane, page.tag, page.lost);
                    report.drained_pages += u64::from(fits);
                    if !fits {
                        waiting.push((page.plane, page.tag, page.lost));
                    }
                }
            }
        }
        self.rebuild_map(&flight.victims, &trimmed);
        report.held_pages = flight.victims.iter().map(|victim| self.finish_collection(*victim)).sum();
        report.held_pages +=
            (0..self.dev.geometry.planes).map(|plane| self.restore_reserve(PlaneId(plane))).sum::<u64>();
        for (plane, tag, lost) in waiting {
            // It found no room while the charge lasted, and stayed in the memory that survives.
            self.forget(tag.lpn);
            self.dev.map.set(tag.lpn, Location::Nowhere);
            report.drained_pages += u64::from(self.bring_back(plane, tag, lost));
        }
        self.groups_after_cut(&begun, &mut report);
        self.oracle.power_cut();
        for lpn in (0..self.dev.geometry.mapped).map(Lpn) {
            let found = match self.dev.map.get(lpn) {
                Location::Flash(page) => Some(self.oracle.load(page, lpn).version),
                // The rest of its parity group sums to it.
                _ => Some(self.missing_tag(lpn)).filter(|tag| tag.lpn.is_some()).map(|tag| tag.version),
            };
            if self.is_parity(lpn) {
                self.oracle.recovered(lpn, found);
                self.forget_unfound(lpn, found);
                continue;
            }
            match (self.oracle.known(lpn), found) {
                (Some(known), Some(found)) if found >= known => report.kept_pages += 1,
                (Some(_), Some(_)) => report.stale_pages += 1,
                (Some(_), None) => report.lost_pages += u64::from(!was_lost[lpn.ix()]),
                (None, _) => {}
            }
            report.undone_trims += u64::from(self.oracle.recovered(lpn, found));
            self.forget_unfound(lpn, found);
        }
        self.scan();
        self.features.power_cuts.push(report.clone());
        if self.features.failures.is_some() {
            self.resume_rebuilding();
            self.round(self.now);
        }
        report
    }

    /// Everything that is being programmed or erased, and what is in the controller's memory only.
    fn in_flight(&self, begun: &[Begun]) -> InFlight {
        let mut torn = Torn::default();
        for unit in &self.kernel.dies.units {
            for op in unit.in_service() {
                let mut at = op;
                while at.is_some() {
                    self.tear(at, &mut torn);
                    let op = &self.kernel.ops[at];
                    at = if op.class == Class::Host { op.mate } else { OpId::NONE };
                }
            }
        }
        let in_program = |tag: Tag| torn.programs.iter().any(|(_, other, _)| *other == tag);
        let in_memory = (0..self.dev.geometry.mapped).map(Lpn).filter_map(|lpn| {
            let Location::Staged(op) = self.dev.map.get(lpn) else { return None };
            let (id, always) =
                if self.features.raid.is_some() { self.chunk_to_drain(begun, lpn, op)? } else { (op, false) };
            let op = &self.kernel.ops[id];
            let plane = if op.plane.is_some() { op.plane } else { self.dev.geometry.static_plane(lpn) };
            let (tag, lost) = (self.kernel.ops.host[id].tags[0], self.kernel.ops[id].lost);
            (!in_program(tag)).then(|| InMemory { plane, tag, lost, always, part: self.part_of_page(id) })
        });
        let in_memory = in_memory.collect();
        let victims = self.dev.flash.victims().filter(|block| !torn.erases.contains(block)).collect();
        InFlight { torn, victims, in_memory }
    }

    /// Pages that the host knows and whose next version is on its way to flash, unless what the host knows is kept meanwhile.
    fn superseded(&self) -> u64 {
        let under_way = |lpn: &Lpn| match (self.dev.map.get(*lpn), self.oracle.known(*lpn)) {
            (Location::Staged(op), Some(known)) if self.kernel.ops[op].class == Class::Host => {
                let old = self.kernel.ops.host[op].old;
                // With parity, old pages stay until their update has begun.
                !((self.rules.keeps || self.features.raid.is_some())
                    && old.is_some()
                    && self.oracle.load(old, *lpn).version >= known)
            }
            _ => false,
        };
        (0..self.dev.geometry.mapped).map(Lpn).filter(under_way).count() as u64
    }

    /// Operations, collections and requests in service are no more.
    fn forget_operations(&mut self) {
        self.host.none_idle = false;
        for unit in 0..self.kernel.dies.units.len() {
            self.set_holder(UnitId(unit as u32), Holder::Free);
            self.kernel.dies.units[unit].power_cut();
            self.kernel.timers.clear(Timer::Array(UnitId(unit as u32)));
        }
        for bus in 0..self.kernel.buses.all.len() {
            self.kernel.buses[bus].power_cut(self.now);
            self.kernel.timers.clear(Timer::Bus(bus));
        }
        for timer in [Timer::Memory, Timer::Decoder] {
            self.kernel.timers.clear(timer);
        }
        self.kernel.ops.clear();
        self.host.runs.power_cut();
        self.gc.jobs.clear();
        for plane in &mut self.gc.planes {
            (plane.claimed, plane.stalled) = (false, Fifo::EMPTY);
        }
        self.host.anywhere = Fifo::EMPTY;
        self.gc.ready.clear();
        self.kernel.dies.dirty.clear();
        self.kernel.dies.looking.clear();
        self.kernel.buses.dirty.clear();
        self.kernel.dies.chip_ops.fill(0);
        self.kernel.dies.chips_busy = 0;
        self.kernel.idle_rounds = 0;
        self.restart_idle();
        self.host.power_cut();
        if let Some(replicas) = &mut self.features.replicas {
            replicas.power_cut();
        }
        if let Some(raid) = &mut self.features.raid {
            raid.power_cut();
            self.kernel.timers.clear(Timer::Encode);
        }
        self.dev.staging.power_cut(self.now);
    }

    /// Parity counts a page of which nothing is found as one that was never written.
    fn forget_unfound(&mut self, lpn: Lpn, found: Option<u32>) {
        if found.is_none() && self.features.raid.is_some() {
            self.oracle.forget(lpn);
            self.forget_tag(lpn);
        }
    }

    /// Where a page of a plane may go: under static placement its plane and no other, or that would be overfull.
    fn homes(&self, plane: PlaneId) -> impl Iterator<Item = PlaneId> + use<> {
        let others = if self.rules.dynamic { self.dev.geometry.planes } else { 0 };
        std::iter::once(plane).chain((0..others).map(PlaneId))
    }

    /// The capacitor's charge brings a page to flash, if there is room. Returns whether there is any.
    fn drain(&mut self, plane: PlaneId, tag: Tag, lost: bool) -> bool {
        let mut homes = self.homes(plane);
        // The reserve is for the collections that were interrupted.
        let Some(page) = homes.find_map(|plane| self.dev.flash.take_page(plane, Stream::Host, false)) else {
            return false;
        };
        let block = self.dev.geometry.block_of(page);
        self.dev.flash.land(page, block, Lpn::NONE);
        self.oracle.store(page, tag);
        self.host_programmed(page, lost);
        self.write_metadata_now(block);
        true
    }

    /// A page of the memory goes to flash, where collections make room for it if need be. False: nothing is left to collect.
    pub(super) fn bring_back(&mut self, plane: PlaneId, tag: Tag, lost: bool) -> bool {
        let data = self.dev.geometry.data_pages as u16;
        loop {
            let found = self.homes(plane).find_map(|plane| self.dev.flash.take_page(plane, Stream::Host, false));
            if let Some(page) = found {
                self.bring_back_to(page, tag, lost);
                return true;
            }
            let flash = &self.dev.flash;
            let closed = self.homes(plane).flat_map(|plane| flash.closed_blocks(plane, &self.dev.geometry));
            let victim = closed.min_by_key(|block| flash.valid(*block)).filter(|block| flash.valid(*block) < data);
            let Some(victim) = victim else { return false };
            self.finish_collection(victim);
        }
    }

    /// A page of the memory is on flash from now on.
    fn bring_back_to(&mut self, page: Ppn, tag: Tag, lost: bool) {
        let block = self.dev.geometry.block_of(page);
        self.dev.flash.land(page, block, tag.lpn);
        self.dev.map.set(tag.lpn, Location::Flash(page));
        self.oracle.store(page, tag);
        self.host_programmed(page, lost);
        self.write_metadata_now(block);
    }

    /// By logical page, the newest version on flash and its page; of equal ones, that outside interrupted collections.
    fn newest_pages(&self, victims: &[BlockId]) -> Vec<(u32, Ppn)> {
        let geometry = &self.dev.geometry;
        let mut newest = vec![(0, Ppn::NONE); geometry.mapped as usize];
        let blocks = (0..geometry.planes * geometry.blocks_per_plane).map(BlockId);
        let (first, last): (Vec<_>, Vec<_>) = blocks.partition(|block| !victims.contains(block));
        for block in first.into_iter().chain(last) {
            for offset in 0..self.dev.flash.written(block) {
                let page = geometry.page(block, offset);
                let tag = self.oracle.load(page, Lpn::NONE);
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

    /// The newest version of each logical page is the one that counts.
    fn rebuild_map(&mut self, victims: &[BlockId], trimmed: &[bool]) {
        let newest = self.newest_pages(victims);
        let geometry = &self.dev.geometry;
        for (lpn, (version, page)) in newest.into_iter().enumerate() {
            let lpn = Lpn(lpn as u32);
            if page.is_some() && !trimmed[lpn.ix()] && self.is_current(lpn, version) {
                self.dev.flash.found(page, geometry.block_of(page), lpn);
                self.dev.map.set(lpn, Location::Flash(page));
            } else {
                self.dev.map.set(lpn, Location::Nowhere);
            }
        }
    }

    /// A plane of whose reserve the interrupted work has used some is collected until it is whole. Returns how many pages were
    /// in the memory alone meanwhile.
    fn restore_reserve(&mut self, plane: PlaneId) -> u64 {
        let data = self.dev.geometry.data_pages as u16;
        let mut held = 0;
        while self.dev.flash.free_blocks(plane) < self.config.reserve() {
            let flash = &self.dev.flash;
            let closed = flash.closed_blocks(plane, &self.dev.geometry);
            let Some(victim) = closed.min_by_key(|block| flash.valid(*block)) else { break };
            if flash.valid(victim) < data {
                held += self.finish_collection(victim);
            } else if self.rules.dynamic {
                // Pages whose overwrites went elsewhere count again, and the plane has too many: some go elsewhere, too.
                self.dev.flash.begin_collection(victim);
                let pages = self.hold(victim, 0);
                held += pages.len() as u64;
                for (tag, lost) in pages {
                    law!(self.bring_back(plane, tag, lost), "law: what is exported fits");
                }
            } else {
                break;
            }
        }
        held
    }

    /// Finishes an interrupted collection: moves what is left in its victim, and erases it. Pages that a cut has brought back
    /// were not counted when it began: those that find no room wait in the memory for the erase. Returns how many.
    fn finish_collection(&mut self, victim: BlockId) -> u64 {
        let plane = self.dev.geometry.plane_of_block(victim);
        self.dev.flash.begin_collection(victim);
        for offset in 0..self.dev.geometry.pages_per_block {
            let from = self.dev.geometry.page(victim, offset);
            let lpn = self.dev.flash.lpn_of(from);
            if lpn.is_none() {
                continue;
            }
            let Some(to) = self.recovery_page(plane) else {
                let pages = self.hold(victim, offset);
                let held = pages.len() as u64;
                for (tag, lost) in pages {
                    let page = self.recovery_page(plane).expect("law: an erased block takes what it held");
                    self.bring_back_to(page, tag, lost);
                }
                return held;
            };
            let tag = self.oracle.load(from, lpn);
            let block = self.dev.geometry.block_of(to);
            self.dev.flash.invalidate(from, victim, lpn);
            self.dev.flash.land(to, block, lpn);
            self.dev.map.set(lpn, Location::Flash(to));
            self.oracle.store(to, tag);
            self.follow_errors(from, to, block, true);
            self.write_metadata_now(block);
        }
        self.dev.flash.erase_now(victim);
        self.forget_block(victim);
        0
    }

    /// A page of a plane for what recovery moves there.
    fn recovery_page(&mut self, plane: PlaneId) -> Option<Ppn> {
        let flash = &mut self.dev.flash;
        flash.take_page(plane, Stream::Gc, true).or_else(|| flash.take_page(plane, Stream::Host, true))
    }

    /// Reads the pages of a victim from an offset on into the memory, and erases it.
    fn hold(&mut self, victim: BlockId, from: u32) -> Vec<(Tag, bool)> {
        let mut pages = Vec::new();
        for offset in from..self.dev.geometry.pages_per_block {
            let page = self.dev.geometry.page(victim, offset);
            let lpn = self.dev.flash.lpn_of(page);
            if lpn.is_some() {
                pages.push((self.oracle.load(page, lpn), !self.survives_move(page)));
                self.dev.flash.invalidate(page, victim, lpn);
            }
        }
        self.dev.flash.erase_now(victim);
        self.forget_block(victim);
        pages
    }
}
