//! Second copies of pages whose reads wait for GC (`schemes.route = "dpr"`). The route decides which pages get one, when and
//! where; this file executes that.
//!
//! GC does not move a copy, and the erase of its block destroys it: for the flash it is an invalid page, and only this table knows
//! that it still has the content of its logical page. But victim policies count it as valid ([`Flash::kept`]), or its block would
//! be collected next. One copy is made at a time: read from its chip, then programmed on another one.
//!
//! [`Flash::kept`]: crate::device::flash::Flash::kept

use std::collections::VecDeque;

use crate::device::command::Command;
use crate::device::flash::{Flash, Stream};
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::device::transaction::{Class, Need, Op, Slab, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::Page;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Policies, Ssd};
use crate::oracle::{Check, Oracle};
use crate::policy::{CopyNow, PageSet};
use crate::report::dpr::{Dpr, Totals};
use crate::units::{BlockId, JobId, Lpn, Nanos, OpId, PlaneId, Ppm, Ppn, Tag, UnitId};

/// No copy.
const NONE: u32 = u32::MAX;

/// A copy.
#[derive(Clone)]
struct Copy {
    lpn: Lpn,
    page: Ppn,
    /// Its content (oracle).
    tag: Tag,
    /// The next copy in its block.
    next: u32,
    /// Its neighbours in the order of use.
    newer: u32,
    older: u32,
}

/// Progress of the copy that is being made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Making {
    Nothing,
    /// Its page is being read or programmed.
    OnFlash,
    /// Its page is in the controller.
    InHand(Tag),
}

/// Copies, and the pages that want one.
#[derive(Clone)]
pub(in crate::engine) struct Replicas {
    /// Largest number of copies.
    most: usize,
    /// By logical page: reads that waited since it was last written or copied.
    waits: Vec<u8>,
    /// By logical page: its copy.
    copy_of: Vec<u32>,
    /// By block: the first copy in it.
    in_block: Vec<u32>,
    copies: Slab<Copy>,
    /// The most recently and the least recently used copy.
    newest: u32,
    oldest: u32,
    /// Logical pages that want a copy, oldest request first.
    wanted: VecDeque<Lpn>,
    making: Making,
    /// The page whose copy is being made; none if it was overwritten meanwhile.
    making_of: Lpn,
    /// The unit of the last copy.
    last_unit: u32,
    totals: Totals,
}

impl Replicas {
    pub(in crate::engine) fn new(share: Ppm, geometry: &Geometry) -> Self {
        let pages = u64::from(geometry.planes) * u64::from(geometry.pages_per_plane);
        let most = (pages * u64::from(share.0) / Ppm::ONE) as usize;
        Replicas {
            most,
            waits: vec![0; geometry.exported as usize],
            copy_of: vec![NONE; geometry.exported as usize],
            in_block: vec![NONE; (geometry.planes * geometry.blocks_per_plane) as usize],
            copies: Slab::with_capacity(most),
            newest: NONE,
            oldest: NONE,
            wanted: VecDeque::with_capacity(most),
            making: Making::Nothing,
            making_of: Lpn::NONE,
            last_unit: geometry.units - 1,
            totals: Totals::default(),
        }
    }

    /// There may be at most as many copies as in another table from now on; the least recently used ones go.
    pub(in crate::engine) fn limit(&mut self, other: &Replicas, geometry: &Geometry, flash: &mut Flash) {
        self.most = other.most;
        while self.copies.in_use() > self.most {
            let oldest = self.oldest;
            let block = geometry.block_of(self.copies[oldest].page);
            flash.drop_copy(block);
            self.remove(oldest, block);
            self.totals.replaced += 1;
        }
    }

    /// Counting begins here.
    pub(in crate::engine) fn restart(&mut self) {
        let live = self.live();
        self.totals.restart(live);
    }

    /// What the summary reports.
    pub(in crate::engine) fn summary(&self) -> Dpr {
        self.totals.summary(self.live())
    }

    fn copy(&self, lpn: Lpn) -> Option<&Copy> {
        let copy = self.copy_of[lpn.ix()];
        (copy != NONE).then(|| &self.copies[copy])
    }

    /// Removes a copy from the order of use.
    fn unlink(&mut self, copy: u32) {
        let (newer, older) = (self.copies[copy].newer, self.copies[copy].older);
        match newer {
            NONE => self.newest = older,
            newer => self.copies[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.copies[older].newer = newer,
        }
    }

    /// Makes a copy the most recently used one.
    fn link(&mut self, copy: u32) {
        let before = std::mem::replace(&mut self.newest, copy);
        self.copies[copy].newer = NONE;
        self.copies[copy].older = before;
        match before {
            NONE => self.oldest = copy,
            before => self.copies[before].newer = copy,
        }
    }

    fn used(&mut self, copy: u32) {
        self.unlink(copy);
        self.link(copy);
    }

    fn add(&mut self, lpn: Lpn, page: Ppn, block: BlockId, tag: Tag) {
        let next = self.in_block[block.ix()];
        let copy = self.copies.insert(Copy { lpn, page, tag, next, newer: NONE, older: NONE });
        self.in_block[block.ix()] = copy;
        self.copy_of[lpn.ix()] = copy;
        self.link(copy);
        self.totals.made += 1;
        self.totals.most = self.totals.most.max(self.copies.in_use() as u64);
    }

    /// Removes the copy of a logical page.
    fn remove(&mut self, copy: u32, block: BlockId) {
        let next = self.copies[copy].next;
        let mut at = self.in_block[block.ix()];
        if at == copy {
            self.in_block[block.ix()] = next;
        } else {
            while self.copies[at].next != copy {
                at = self.copies[at].next;
            }
            self.copies[at].next = next;
        }
        self.copy_of[self.copies[copy].lpn.ix()] = NONE;
        self.unlink(copy);
        self.copies.remove(copy);
    }

    /// Current number of copies.
    pub(in crate::engine) fn live(&self) -> u64 {
        self.copies.in_use() as u64
    }

    /// Power is cut: the table is lost.
    pub(in crate::engine) fn power_cut(&mut self) {
        self.waits.fill(0);
        self.copy_of.fill(NONE);
        self.in_block.fill(NONE);
        self.copies.clear();
        self.newest = NONE;
        self.oldest = NONE;
        self.wanted.clear();
        self.making = Making::Nothing;
        self.making_of = Lpn::NONE;
    }
}

impl Features {
    /// A logical page is overwritten or trimmed: drops its copy.
    #[inline(always)]
    pub(in crate::engine) fn drop_copy(&mut self, dev: &mut Device, lpn: Lpn) {
        let Some(replicas) = &mut self.replicas else { return };
        replicas.waits[lpn.ix()] = 0;
        if replicas.making_of == lpn {
            replicas.making_of = Lpn::NONE;
            if replicas.making != Making::OnFlash {
                replicas.making = Making::Nothing;
            }
        }
        let copy = replicas.copy_of[lpn.ix()];
        if copy != NONE {
            let block = dev.geometry.block_of(replicas.copies[copy].page);
            dev.flash.drop_copy(block);
            replicas.remove(copy, block);
            replicas.totals.overwritten += 1;
        }
    }

    /// A block is erased: drops its copies.
    #[inline(always)]
    pub(in crate::engine) fn drop_copies(&mut self, dev: &mut Device, block: BlockId) {
        let Some(replicas) = &mut self.replicas else { return };
        while replicas.in_block[block.ix()] != NONE {
            dev.flash.drop_copy(block);
            replicas.remove(replicas.in_block[block.ix()], block);
            replicas.totals.erased += 1;
        }
    }

    /// A read has waited for an internal operation at the die of its page.
    pub(in crate::engine) fn note_blocked(&mut self, schemes: &Policies, lpn: Lpn) {
        let Some(replicas) = &mut self.replicas else { return };
        replicas.totals.blocked += 1;
        let waits = &mut replicas.waits[lpn.ix()];
        *waits = waits.saturating_add(1);
        let wants = schemes.route.replicate().is_some_and(|route| route.wants_copy(*waits));
        if wants && replicas.copy_of[lpn.ix()] == NONE && replicas.wanted.len() < replicas.most {
            *waits = 0;
            replicas.wanted.push_back(lpn);
        }
    }

    /// Whether the copy to which a read was sent still exists.
    #[inline]
    pub(in crate::engine) fn reads_copy(&self, kernel: &Kernel, op: OpId) -> bool {
        let page = &kernel.ops[op];
        let copy = self.replicas.as_ref().and_then(|replicas| replicas.copy(page.lpn));
        copy.is_some_and(|copy| copy.page == kernel.ops.copy[op].page)
    }

    /// A read begins at a page: counts it if that is the copy to which it was sent, which it forgets otherwise.
    #[inline(always)]
    pub(in crate::engine) fn note_copy_read(&mut self, kernel: &mut Kernel, op: OpId, at: Ppn) {
        let Some(replicas) = &mut self.replicas else { return };
        if replicas.copy(kernel.ops[op].lpn).is_some_and(|copy| copy.page == at) {
            replicas.totals.reads += 1;
        } else {
            kernel.ops.copy[op].page = Ppn::NONE;
        }
    }

    /// A copy is on flash. At the limit, it replaces the least recently used one.
    #[inline(never)]
    fn add_copy(&mut self, dev: &mut Device, lpn: Lpn, page: Ppn, block: BlockId, tag: Tag) {
        let Some(replicas) = &mut self.replicas else { return };
        if replicas.copies.in_use() >= replicas.most {
            let oldest = replicas.oldest;
            let block = dev.geometry.block_of(replicas.copies[oldest].page);
            dev.flash.drop_copy(block);
            replicas.remove(oldest, block);
            replicas.totals.replaced += 1;
        }
        dev.flash.add_copy(block);
        replicas.add(lpn, page, block, tag);
    }

    /// Tag that a read finds at `at`, which may be a copy if there are any.
    #[inline(always)]
    pub(in crate::engine) fn load_tag(&self, kernel: &Kernel, oracle: &Oracle, op: OpId, at: Ppn) -> Tag {
        if self.replicas.is_some() {
            self.load_copy(kernel, oracle, op, at)
        } else {
            oracle.load(at, kernel.ops[op].lpn)
        }
    }

    /// The same where the route may have made copies.
    fn load_copy(&self, kernel: &Kernel, oracle: &Oracle, op: OpId, at: Ppn) -> Tag {
        let page = &kernel.ops[op];
        let copy = self.replicas.as_ref().and_then(|replicas| replicas.copy(page.lpn));
        match copy.filter(|copy| kernel.ops.copy[op].page == at && copy.page == at) {
            // Only the full oracle knows the content of each page.
            Some(copy) if oracle.check() != Check::Full => copy.tag,
            _ => oracle.load(at, page.lpn),
        }
    }

    /// The plane of a read whose page is in the plane `home`: that, or the plane of its copy, if it has one.
    #[inline(always)]
    pub(in crate::engine) fn plane_to_read(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        schemes: &Policies,
        op: OpId,
        home: PlaneId,
    ) -> PlaneId {
        if self.replicas.is_some() { self.route_read(kernel, dev, schemes, op) } else { home }
    }

    /// The same where the route may have made copies.
    #[inline(never)]
    fn route_read(&mut self, kernel: &mut Kernel, dev: &Device, schemes: &Policies, op: OpId) -> PlaneId {
        let home = kernel.ops[op].plane;
        let lpn = kernel.ops[op].lpn;
        let Some(page) = self.replicas.as_ref().and_then(|replicas| replicas.copy(lpn)).map(|copy| copy.page) else {
            return home;
        };
        let plane = dev.geometry.plane_of(page);
        let (at_home, there) = (kernel.in_collection(dev, home), kernel.in_collection(dev, plane));
        if !schemes.route.replicate().is_some_and(|route| route.reads_copy(at_home, there)) {
            return home;
        }
        kernel.ops.copy[op].page = page;
        if let Some(replicas) = &mut self.replicas {
            replicas.used(replicas.copy_of[lpn.ix()]);
        }
        plane
    }

    /// If no copy is being made, the first wanted page that the route copies now, and where it is.
    fn next_to_copy(
        &mut self,
        kernel: &Kernel,
        dev: &Device,
        gc: &Gc,
        rules: &Rules,
        schemes: &Policies,
    ) -> Option<(Lpn, Ppn)> {
        let replicas = self.replicas.as_mut().filter(|replicas| replicas.making == Making::Nothing)?;
        let mut i = 0;
        while let Some(lpn) = replicas.wanted.get(i).copied() {
            let (Location::Flash(page), None) = (dev.map.get(lpn), replicas.copy(lpn)) else {
                replicas.wanted.remove(i);
                continue;
            };
            let unit = dev.geometry.unit_of(dev.geometry.plane_of(page));
            let unwanted = kernel.is_unwanted(dev, gc, rules, unit);
            match schemes.route.replicate()?.copies_now(i, unwanted) {
                CopyNow::Read => {
                    replicas.wanted.remove(i);
                    return Some((lpn, page));
                }
                CopyNow::Next => i += 1,
                CopyNow::Stop => return None,
            }
        }
        None
    }

    /// For the page in the controller, if one is there: its content, and the plane of the next die, in turn, that the route accepts.
    fn place_for_copy(
        &mut self,
        kernel: &mut Kernel,
        dev: &Device,
        gc: &Gc,
        rules: &Rules,
        schemes: &Policies,
    ) -> Option<(Lpn, Tag, PlaneId)> {
        let replicas = self.replicas.as_mut()?;
        let Making::InHand(tag) = replicas.making else { return None };
        let (lpn, last) = (replicas.making_of, replicas.last_unit);
        let Location::Flash(page) = dev.map.get(lpn) else {
            // GC has moved it to the controller's buffer meanwhile.
            replicas.making = Making::Nothing;
            replicas.making_of = Lpn::NONE;
            return None;
        };
        let chip = dev.geometry.chip_of(dev.geometry.plane_of(page));
        let units = dev.geometry.units;
        for step in 1..=units {
            let unit = UnitId((last + step) % units);
            let unwanted = kernel.is_unwanted(dev, gc, rules, unit);
            if let Some(plane) = kernel.plane_for_copy(dev, schemes, unit, chip, unwanted) {
                replicas.last_unit = unit.0;
                return Some((lpn, tag, plane));
            }
        }
        None
    }

    /// The operation that reads the page of a copy, or programs it.
    fn begin_copy(&mut self, kernel: &mut Kernel, dev: &Device, lpn: Lpn, page: Ppn, tag: Tag, verb: Verb) -> OpId {
        if let Some(replicas) = &mut self.replicas {
            replicas.making = Making::OnFlash;
            replicas.making_of = lpn;
        }
        let plane = dev.geometry.plane_of(page);
        let unit = dev.geometry.unit_of(plane);
        let (burst, place) = (dev.timing.page(), dev.place(page));
        let reads = verb == Verb::Read;
        let mut op = Op {
            class: Class::Replica,
            verb,
            need: if reads { Need::Read } else { Need::Write },
            acknowledged: true,
            age: kernel.age(),
            unit,
            plane,
            channel: dev.geometry.channel_of(plane),
            lpn,
            pages: PageSet::one(page),
            ..Op::blank()
        };
        let pages = &[place];
        op.legs = dev.timing.legs(match reads {
            true => Command::Read { pages, burst, decoded: false },
            false => Command::Program { pages, burst },
        });
        let id = kernel.ops.create(op);
        kernel.ops[Page(id)].bytes = dev.geometry.unit_bytes;
        kernel.ops[Page(id)].tags[0] = tag;
        id
    }
}

impl Device {
    /// No copy is on flash. From now on they are counted by block, if any are to be made.
    pub(in crate::engine) fn await_copies(&mut self, features: &Features) {
        match features.replicas {
            Some(_) => self.flash.start_copies(),
            None => self.flash.end_copies(),
        }
    }
}

impl Kernel {
    /// The operation of a copy has its unit.
    fn serve_copy(&mut self, dev: &Device, now: Nanos, id: OpId) {
        let (unit, plane) = (self.ops[id].unit, self.ops[id].plane);
        self.serve(dev, now, id, unit, Holder::Writeback, plane);
    }

    fn in_collection(&self, dev: &Device, plane: PlaneId) -> bool {
        let state = &self.dies.units[dev.geometry.unit_of(plane).ix()];
        state.job.is_some() || state.holder() == Holder::Gc
    }

    /// The next plane of a unit, in turn, with a free page for host data, that may hold the copy of a page of `chip`.
    fn plane_for_copy(
        &mut self,
        dev: &Device,
        schemes: &Policies,
        unit: UnitId,
        chip: u32,
        unwanted: bool,
    ) -> Option<PlaneId> {
        let route = schemes.route.replicate()?;
        let (planes, token) = (dev.geometry.planes_per_unit, self.dies[unit].token);
        let k = (1..=planes).map(|step| (token + step) % planes).find(|k| {
            let plane = dev.geometry.plane_of_unit(unit, *k);
            route.stores_copy(unwanted, dev.geometry.chip_of(plane) == chip)
                && dev.flash.next_offset(plane, Stream::Host).is_some()
        })?;
        self.dies[unit].token = k;
        Some(dev.geometry.plane_of_unit(unit, k))
    }
}

impl Ssd {
    /// After all host operations and write-backs: continues the copy that is being made, or starts the next one.
    ///
    /// Once it returns, nothing is left that could begin without another change of the device. So a further moment at which
    /// nothing changes does not matter.
    #[inline(never)]
    pub(in crate::engine) fn make_copies(&mut self) {
        if let Some((lpn, tag, plane)) =
            self.features.place_for_copy(&mut self.kernel, &self.dev, &self.gc, &self.rules, &self.schemes)
        {
            let page = self.dev.flash.take_page(plane, Stream::Host, false).expect("a plane with room");
            self.stats.count_programs(Class::Replica, 1);
            if self.rules.tenants {
                self.features.tenant_copied(&self.dev, lpn);
            }
            let id = self.features.begin_copy(&mut self.kernel, &self.dev, lpn, page, tag, Verb::Program);
            self.kernel.serve_copy(&self.dev, self.now, id);
            self.run_leg(id);
        }
        if let Some((lpn, page)) =
            self.features.next_to_copy(&self.kernel, &self.dev, &self.gc, &self.rules, &self.schemes)
        {
            self.dev.array_reads(self.dev.geometry.block_of(page));
            self.stats.count_reads(Class::Replica, 1);
            let tag = self.oracle.load(page, lpn);
            let id = self.features.begin_copy(&mut self.kernel, &self.dev, lpn, page, tag, Verb::Read);
            self.kernel.serve_copy(&self.dev, self.now, id);
            self.run_leg(id);
        }
    }

    /// A page has been read for a copy, or programmed as a copy.
    #[inline(never)]
    pub(in crate::engine) fn copy_ends(&mut self, id: OpId) {
        let op = &self.kernel.ops[id];
        let (unit, plane, page, lpn, tag, verb) =
            (op.unit, op.plane, op.pages[0], op.lpn, self.kernel.ops[Page(id)].tags[0], op.verb);
        let block = self.dev.geometry.block_of(page);
        self.kernel.ops.remove(id);
        self.kernel.stop(&self.dev, self.now, unit, plane);
        let wanted = self.features.replicas.as_ref().is_some_and(|replicas| replicas.making_of == lpn);
        let mut making = Making::Nothing;
        if verb == Verb::Read {
            self.dev.flash.read_ends(block);
            let errors = |model: &crate::device::errors::ErrorModel| model.errors(page, block, self.now);
            let good = self.dev.errors.as_ref().is_none_or(|model| model.corrects(errors(model)));
            if wanted && good {
                making = Making::InHand(tag);
            }
        } else {
            self.dev.flash.land(page, block, Lpn::NONE);
            if self.oracle.check() == Check::Full {
                self.oracle.store(page, tag);
            }
            self.dev.host_programmed(self.now, page, false);
            let due = self.kernel.note_filled(
                &self.dev,
                &mut self.gc,
                &self.rules,
                self.now,
                block,
                (JobId::NONE, JobId::NONE),
            );
            if let Some((op, plane)) = due {
                self.enqueue(op, plane, false);
            }
            if wanted {
                self.features.add_copy(&mut self.dev, lpn, page, block, tag);
            }
            self.test_trigger(plane);
        }
        if let Some(replicas) = &mut self.features.replicas {
            replicas.making = making;
            if making == Making::Nothing {
                replicas.making_of = Lpn::NONE;
            }
        }
    }
}
