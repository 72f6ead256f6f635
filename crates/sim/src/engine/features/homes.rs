//! Round-robin placement: a host write belongs to a plane from its admission on, as papers describe whose FTL assigns addresses
//! when requests come.
//!
//! A plane has room for a page while the pages that belong to it leave it something to collect. Half of the pages that it could hold
//! beyond its share of the capacity are left for old versions of partial writes, which stay valid until they have been merged.
//! A page that GC has left in the controller's buffer may go to another plane with room, and belongs there from then on.

use crate::config::Config;
use crate::device::geometry::Geometry;
use crate::device::mapping::Location;
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Host};
use crate::units::{Lpn, OpId, PlaneId};

/// The planes that pages belong to.
#[derive(Clone)]
pub(in crate::engine) struct Homes {
    /// By logical page: the plane of its newest version, or none.
    of: Vec<PlaneId>,
    /// By plane: logical pages that belong to it.
    pages: Vec<u32>,
    /// Most pages of a plane.
    most: u32,
}

impl Homes {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Self {
        let share = geometry.exported_per_plane();
        let most = config.most_per_plane() as u32 * geometry.slots.per_super_page * config.planes_of_block();
        Homes {
            of: vec![PlaneId::NONE; geometry.mapped as usize],
            pages: vec![0; geometry.planes as usize],
            most: share + (most - share) / 2,
        }
    }

    /// A page belongs to no plane any more.
    fn leave(&mut self, lpn: Lpn) {
        let home = std::mem::replace(&mut self.of[lpn.ix()], PlaneId::NONE);
        if home.is_some() {
            self.pages[home.ix()] -= 1;
        }
    }

    fn join(&mut self, lpn: Lpn, plane: PlaneId) {
        self.of[lpn.ix()] = plane;
        self.pages[plane.ix()] += 1;
    }

    /// The page belongs to the next plane after `last` with room. All planes together have room for all pages.
    fn bind(&mut self, lpn: Lpn, last: u32) -> PlaneId {
        self.leave(lpn);
        let planes = self.pages.len() as u32;
        let next = (1..=planes)
            .map(|step| PlaneId((last + step) % planes))
            .find(|plane| self.pages[plane.ix()] < self.most)
            .expect("law: planes have room for what is exported");
        self.join(lpn, next);
        next
    }

    /// The page belongs to a plane from now on, whatever room that has.
    pub(in crate::engine) fn move_to(&mut self, lpn: Lpn, plane: PlaneId) {
        self.leave(lpn);
        self.join(lpn, plane);
    }

    /// Whether a plane may hold a page: it belongs there, or the plane has room for one more.
    fn may_hold(&self, plane: PlaneId, lpn: Lpn) -> bool {
        self.of[lpn.ix()] == plane || self.pages[plane.ix()] < self.most
    }
}

impl Features {
    /// A unit belongs to a plane from now on, whatever room that has.
    pub(in crate::engine) fn move_home(&mut self, lpn: Lpn, plane: PlaneId) {
        if let Some(homes) = &mut self.homes {
            homes.move_to(lpn, plane);
        }
    }

    /// Whether a plane may hold a page of the buffer.
    pub(in crate::engine) fn may_hold(&self, plane: PlaneId, lpn: Lpn) -> bool {
        self.homes.as_ref().is_none_or(|homes| homes.may_hold(plane, lpn))
    }

    /// A page of the buffer goes to a plane. If the operation has its newest version, the page belongs there.
    pub(in crate::engine) fn bind_writeback(&mut self, dev: &Device, op: OpId, lpn: Lpn, plane: PlaneId) {
        if let Some(homes) = &mut self.homes
            && dev.map.get(lpn) == Location::Staged(op)
        {
            homes.leave(lpn);
            homes.join(lpn, plane);
        }
    }

    /// Pages belong to the planes where they are: after filling and after a power cut.
    pub(in crate::engine) fn settle_homes(&mut self, dev: &Device) {
        let Some(homes) = &mut self.homes else { return };
        for lpn in (0..dev.geometry.mapped).map(Lpn) {
            homes.leave(lpn);
            if let Location::Flash(page) = dev.map.get(lpn) {
                homes.join(lpn, dev.geometry.home_of(page));
            }
        }
    }

    /// A page has no version any more.
    pub(in crate::engine) fn unbind(&mut self, dev: &mut Device, rules: &Rules, lpn: Lpn) {
        if let Some(homes) = &mut self.homes {
            homes.leave(lpn);
            dev.homes_change(rules);
        }
    }

    /// Checks that pages on flash belong to their planes.
    pub(in crate::engine) fn recount_homes(&self, dev: &Device, rules: &Rules) {
        let Some(homes) = &self.homes else { return };
        let mut pages = vec![0; homes.pages.len()];
        for lpn in (0..dev.geometry.mapped).map(Lpn) {
            let home = homes.of[lpn.ix()];
            match dev.map.get(lpn) {
                Location::Flash(page) => law_eq!(home, dev.geometry.home_of(page), "page {} is at home", lpn.0),
                // Units get a home when their program is issued.
                Location::Staged(_) => law!(home.is_some() || rules.units, "page {} has a home", lpn.0),
                Location::Nowhere => law!(home.is_none(), "page {} is nowhere", lpn.0),
            }
            if home.is_some() {
                pages[home.ix()] += 1;
            }
        }
        law_eq!(pages, &homes.pages[..], "the pages of each plane");
    }

    /// The plane of a new version of a page.
    pub(in crate::engine) fn bind(&mut self, dev: &mut Device, host: &mut Host, rules: &Rules, lpn: Lpn) -> PlaneId {
        let homes = self.homes.as_mut().expect("placement is round-robin");
        let plane = homes.bind(lpn, host.last_place);
        host.last_place = plane.0;
        dev.homes_change(rules);
        plane
    }

    /// The plane of a page that is written in no time, which is the next one in turn. None where planes are not taken in turn.
    #[inline(always)]
    pub(in crate::engine) fn bind_now(
        &mut self,
        dev: &mut Device,
        host: &mut Host,
        rules: &Rules,
        lpn: Lpn,
    ) -> Option<PlaneId> {
        if rules.binds { Some(self.bind(dev, host, rules, lpn)) } else { None }
    }

    /// A host write is admitted: it gets the plane that its number determines, or the next one in turn, or none yet.
    #[inline(always)]
    pub(in crate::engine) fn bind_write(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        host: &mut Host,
        rules: &Rules,
        op: OpId,
        lpn: Lpn,
    ) {
        if rules.numbered {
            kernel.aim(dev, op, dev.geometry.static_plane(lpn));
        } else if rules.binds {
            self.binds_write(kernel, dev, host, rules, op, lpn);
        }
    }

    /// The same with round-robin placement.
    fn binds_write(
        &mut self,
        kernel: &mut Kernel,
        dev: &mut Device,
        host: &mut Host,
        rules: &Rules,
        op: OpId,
        lpn: Lpn,
    ) {
        let plane = self.bind(dev, host, rules, lpn);
        kernel.ops.bound[op] = plane;
        kernel.aim(dev, op, plane);
    }
}

impl Kernel {
    /// The plane of a write: that to which it was bound when it was admitted, if placement is round-robin, otherwise that of its page.
    #[inline(always)]
    pub(in crate::engine) fn plane_to_write(&self, dev: &Device, rules: &Rules, op: OpId, lpn: Lpn) -> PlaneId {
        if rules.binds { self.ops.bound[op] } else { dev.geometry.static_plane(lpn) }
    }
}

impl Device {
    /// Pages of the buffer may have lost the last plane with room for them, or got one.
    fn homes_change(&mut self, rules: &Rules) {
        self.staging.stale |= rules.stages && self.staging.waiting > 0;
    }
}

impl Host {
    /// The next plane after the last one with room for so many more pages, or else the next one.
    pub(in crate::engine) fn home_after(&self, features: &Features, dev: &Device, more: u32) -> PlaneId {
        let (planes, last) = (dev.geometry.planes, self.last_place);
        let homes = features.homes.as_ref().expect("placement is round-robin");
        let mut next = (1..=planes).map(|step| PlaneId((last + step) % planes));
        let plane = next.clone().find(|plane| homes.pages[plane.ix()] + more <= homes.most).or_else(|| next.next());
        plane.expect("a device has planes")
    }

    /// The same, which is the last one from now on.
    pub(in crate::engine) fn next_home(&mut self, features: &Features, dev: &Device, more: u32) -> PlaneId {
        let plane = self.home_after(features, dev, more);
        self.last_place = plane.0;
        plane
    }
}
