//! Collections and write-backs that are put off, to see what a run would have been without them.
//!
//! Nothing is put off unless it is asked for, so a device behaves as ever.

use crate::engine::kernel::Kernel;
use crate::engine::{Device, Gc, Host, Ssd};
use crate::units::PlaneId;

/// What is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOff {
    /// Every collection.
    Gc,
    /// Collections that a plane triggers.
    Plane(PlaneId),
    /// The collection of this number (see [`crate::LegRecord::number`]).
    Job(u64),
    /// Write-backs of the controller's buffer.
    WriteBacks,
}

/// What has been put off so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Postponement {
    /// Collections that were due and did not begin.
    pub postponed: u64,
    /// Collections that ran all the same, because a write found no page.
    pub forced: u64,
    /// A collection that was to be put off by its number, and was never due; none if each was.
    pub missing: Option<u64>,
}

/// State of a device that puts something off.
#[derive(Clone)]
pub(in crate::engine) struct Postponed {
    what: Vec<PutOff>,
    /// Planes that are due and wait.
    held: Vec<PlaneId>,
    /// Planes that can't wait any longer.
    must: Vec<PlaneId>,
    counts: Postponement,
}

impl Postponed {
    fn names(&self, plane: PlaneId, number: u64) -> bool {
        self.what.iter().any(|what| match what {
            PutOff::Gc => true,
            PutOff::Plane(of) => *of == plane,
            PutOff::Job(of) => *of == number,
            PutOff::WriteBacks => false,
        })
    }

    /// The collection that would have had this number has been put off: the next one gets the number, and is another one.
    fn has_put_off(&mut self, number: u64) {
        self.what.retain(|what| *what != PutOff::Job(number));
    }
}

impl Gc {
    /// Power is cut, or a chip fails: collections of these planes are not due any more.
    pub(in crate::engine) fn forget_postponed(&mut self, of: impl Fn(PlaneId) -> bool) {
        if let Some(postponed) = &mut self.postponed {
            postponed.held.retain(|plane| !of(*plane));
            postponed.must.retain(|plane| !of(*plane));
        }
    }

    /// Whether a plane may not join the collection of another one.
    pub(in crate::engine) fn stays_out(&self, plane: PlaneId) -> bool {
        let named = |of: &Postponed| of.names(plane, u64::MAX) || of.held.contains(&plane);
        self.postponed.as_ref().is_some_and(|postponed| named(postponed))
    }

    /// A collection of a due plane is about to begin. Whether it waits.
    #[cold]
    pub(in crate::engine) fn puts_off(&mut self, kernel: &Kernel, plane: PlaneId) -> bool {
        // The number that it would get.
        let number = kernel.next_age + 1;
        let stalls = !self.planes[plane.ix()].stalled.is_empty();
        let Some(postponed) = &mut self.postponed else { return false };
        if let Some(i) = postponed.must.iter().position(|of| *of == plane) {
            postponed.must.swap_remove(i);
            postponed.counts.forced += 1;
            return false;
        }
        if !postponed.names(plane, number) {
            return false;
        }
        postponed.has_put_off(number);
        if stalls {
            postponed.counts.forced += 1;
            return false;
        }
        postponed.held.push(plane);
        postponed.counts.postponed += 1;
        true
    }

    /// Whether write-backs wait: they do unless a write waits for a page.
    #[cold]
    pub(in crate::engine) fn keeps_buffered(&self, host: &Host) -> bool {
        let Some(postponed) = &self.postponed else { return false };
        let waits = !host.anywhere.is_empty() || self.planes.iter().any(|plane| !plane.stalled.is_empty());
        postponed.what.contains(&PutOff::WriteBacks) && !waits
    }

    /// A write needs a page of a plane that is due already: its collection can't wait.
    #[cold]
    pub(in crate::engine) fn forces(&mut self, kernel: &mut Kernel, dev: &Device, plane: PlaneId) {
        let Some(postponed) = &mut self.postponed else { return };
        let Some(i) = postponed.held.iter().position(|of| *of == plane) else { return };
        postponed.held.swap_remove(i);
        postponed.must.push(plane);
        kernel.is_due_again(dev, plane);
    }
}

impl Kernel {
    fn is_due_again(&mut self, dev: &Device, plane: PlaneId) {
        let unit = dev.geometry.unit_of(plane);
        self.dies.push_due(unit, plane);
        self.dies.mark(unit);
    }
}

impl Ssd {
    /// From now on puts off what is named, until [`Ssd::stop_postponing`]. A collection that must run because a write would find no
    /// page runs all the same; write-backs run while a write waits for a page.
    pub fn postpone(&mut self, what: Vec<PutOff>) {
        self.bring_to_now();
        let counts = Postponement::default();
        self.gc.postponed = Some(Box::new(Postponed { what, held: Vec::new(), must: Vec::new(), counts }));
    }

    /// What was put off begins now, before any event of this time. Returns what has been put off.
    pub fn stop_postponing(&mut self) -> Postponement {
        let Some(postponed) = self.gc.postponed.take() else { return Postponement::default() };
        for plane in postponed.held {
            self.kernel.is_due_again(&self.dev, plane);
        }
        self.dev.staging.stale = true;
        self.round(self.now);
        let missing = postponed.what.iter().find_map(|what| match what {
            PutOff::Job(number) => Some(*number),
            _ => None,
        });
        Postponement { missing, ..postponed.counts }
    }

    /// Whether all operations and collections have ended, and no request waits for a dispatch.
    pub fn rests(&self) -> bool {
        self.kernel.ops.in_use() == 0 && self.gc.jobs.in_use() == 0 && self.host.window.is_empty()
    }
}
