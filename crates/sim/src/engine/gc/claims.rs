//! When collections are due.

use crate::config::{Config, GcTime, Scope};
use crate::device::flash::Stream;
use crate::engine::features::queues::steps as counted;
use crate::engine::features::slc::folds;
use crate::engine::gc::beside;
use crate::engine::rules::Rules;
use crate::engine::{Device, Gc, Ssd};
use crate::units::PlaneId;

impl Device {
    /// Whether a scope of GC has fewer free pages than this, where the scope is that of a plane.
    #[inline(always)]
    pub(in crate::engine) fn has_fewer_free(&self, scope: Scope, plane: PlaneId, pages: u32) -> bool {
        match scope {
            Scope::Plane => self.flash.free_pages(plane) < pages,
            Scope::Device => self.flash.free_pages_of_all() < u64::from(pages),
            Scope::Chip => {
                // Most chips have more, and then the first planes show it.
                let (mut lacks, mut at) = (i64::from(pages), self.geometry.chip_of(plane));
                while lacks > 0 && at < self.geometry.planes {
                    lacks -= i64::from(self.flash.free_pages(PlaneId(at)));
                    at += self.geometry.chips;
                }
                lacks > 0
            }
        }
    }

    /// How many planes have a page for data of the host.
    fn planes_with_room(&self, stream: Stream) -> usize {
        (0..self.geometry.planes).filter(|plane| self.flash.takes_page_of(PlaneId(*plane), stream)).count()
    }
}

/// A plane has been collected in no time, and others with it: together with it, or because they were due in its scope. Writes that wait
/// for their pages go on.
fn has_collected(ssd: &mut Ssd, plane: PlaneId, stream: Stream) {
    // Its invalid pages may be in blocks with programs in flight. The next program that lands repeats the test.
    if ssd.dev.flash.next_offset(plane, stream).is_some() {
        ssd.unstall(plane);
    }
    if ssd.config.gc.scope == Scope::Plane && !ssd.config.collects_jointly() {
        return;
    }
    for other in (0..ssd.dev.geometry.planes).map(PlaneId).filter(|other| *other != plane) {
        let stalled = ssd.gc.planes[other.ix()].stalled;
        if !stalled.is_empty() && ssd.dev.flash.next_offset(other, ssd.kernel.ops.host_stream(stalled.head())).is_some()
        {
            ssd.unstall(other);
        }
    }
}

impl Gc {
    /// Chip or device scope: the plane of the scope with the fewest free pages that has a victim.
    #[inline(never)]
    fn due_plane_of_scope(&self, dev: &Device, rules: &Rules, config: &Config, plane: PlaneId) -> Option<PlaneId> {
        let geometry = &dev.geometry;
        if !dev.has_fewer_free(config.gc.scope, plane, rules.gc_floor) {
            return None;
        }
        // Planes are numbered across chips.
        let (first, step) = match config.gc.scope {
            Scope::Chip => (geometry.chip_of(plane), geometry.chips as usize),
            _ => (0, 1),
        };
        (first..geometry.planes)
            .step_by(step)
            .map(PlaneId)
            .filter(|p| !self.claimed.has(*p) && dev.has_garbage(*p))
            .min_by_key(|p| (dev.flash.free_pages(*p), p.0))
    }

    /// The plane to collect if the trigger holds in the scope of `plane`.
    #[inline(always)]
    pub(in crate::engine) fn due_plane(
        &self,
        dev: &Device,
        rules: &Rules,
        config: &Config,
        plane: PlaneId,
    ) -> Option<PlaneId> {
        if config.gc.scope != Scope::Plane {
            return self.due_plane_of_scope(dev, rules, config, plane);
        }
        // The threshold was converted to pages when the device was built.
        (dev.flash.free_pages(plane) < rules.gc_floor && !self.claimed.has(plane)).then_some(plane)
    }
}

impl Ssd {
    /// A program or an erase has completed in a plane. Tests whether a collection is due.
    #[inline(always)]
    pub(in crate::engine) fn test_trigger(&mut self, plane: PlaneId) {
        if !self.gc.planes[plane.ix()].stalled.is_empty() {
            self.claim(plane);
        }
        if let Some(plane) = self.gc.due_plane(&self.dev, &self.rules, &self.config, plane) {
            self.claim(plane);
        }
        if self.rules.tests_beside {
            beside::test_beside(self, plane);
        }
    }

    /// A plane becomes due for collection.
    #[inline(never)]
    pub(in crate::engine) fn claim(&mut self, plane: PlaneId) {
        folds::collects(self, plane);
        if !self.gc.claimed.insert(plane) {
            if self.gc.postponed.is_some() {
                self.gc.forces(&mut self.kernel, &self.dev, plane);
            }
            return;
        }
        if self.config.gc.time == GcTime::None {
            self.gc.claimed.remove(plane);
            let waiting = [self.gc.planes[plane.ix()].stalled, self.host.without_page, self.host.anywhere];
            let first = waiting.into_iter().find(|waiting| !waiting.is_empty());
            let stream = first.map_or(Stream::Host, |waiting| self.kernel.ops.host_stream(waiting.head()));
            self.collect_now(plane, stream);
            return has_collected(self, plane, stream);
        }
        let unit = self.dev.geometry.unit_of(plane);
        self.kernel.dies.push_due(unit, plane);
        self.kernel.dies.mark(unit);
    }

    /// No die has a page for a host write: every full plane is due. Returns whether one was collected in no time.
    #[inline(never)]
    pub(in crate::engine) fn claim_full_planes(&mut self, stream: Stream) -> bool {
        let mut collected = false;
        let mut from = PlaneId(0);
        // What a study puts off is looked at again, claimed or not.
        while let Some(plane) = match self.gc.postponed {
            Some(_) => self.dev.flash.tight().next(from),
            None => self.dev.flash.tight().next_without(&self.gc.claimed, from),
        } {
            from = PlaneId(plane.0 + 1);
            counted::count();
            let full = self.dev.flash.lacks_page(plane, stream);
            folds::claim_for_any(self, plane, stream);
            if full && self.gc.postponed.is_some() {
                self.gc.forces(&mut self.kernel, &self.dev, plane);
            }
            if full && !self.gc.claimed.has(plane) && self.dev.has_garbage(plane) {
                // In no time, a collection may free pages of other planes, too.
                let before = self.dev.planes_with_room(stream);
                self.claim(plane);
                collected |= self.dev.flash.takes_page_of(plane, stream) || self.dev.planes_with_room(stream) > before;
            }
            if !full {
                self.dev.flash.has_room(plane);
            }
        }
        collected
    }
}
