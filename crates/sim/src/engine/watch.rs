//! Reports to an observer. Without one, each call costs a branch.

use super::{Device, Features, Nanos, Ssd};
use crate::device::command::LegKind;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::observe::{Completed, Held, LegRecord, Observer, Resource, Sample, Slot, Watches};
use crate::policy::MAX_PLANES;
use crate::request::Request;
use crate::units::{Lpn, OpId, PlaneId, Ppn, UnitId};

impl Kernel {
    /// By unit, who has held it for how long. Exact if the device has had no shortcuts from the start.
    fn held_dies(&self) -> Vec<Held> {
        self.dies.units.iter().map(|unit| unit.held()).collect()
    }
}

impl Features {
    fn lpn_on_leg(&self, dev: &Device, op: &Op) -> Lpn {
        match (op.class, op.verb) {
            (Class::Gc | Class::Fold, Verb::Erase) => Lpn::NONE,
            (Class::Gc | Class::Fold, _) => op.from.first().map_or(Lpn::NONE, |page| dev.flash.lpn_of(*page)),
            _ => self.host_page(dev, op.lpn),
        }
    }
}

impl Ssd {
    /// Sets an observer. Shortcuts stay open as far as all that it watches stays exact.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        let watches = observer.watches();
        let legs = watches.legs || watches.samples && observer.samples_dies();
        self.observer = Slot {
            watches: Watches { legs, ..watches },
            since: self.now,
            sample_at: if watches.samples { observer.sample_at() } else { Nanos::NEVER },
            running_since: vec![Nanos::ZERO; self.kernel.dies.units.len()],
            numbers: std::mem::take(&mut self.observer.numbers),
            observer: Some(observer),
        };
        self.reopen();
    }

    /// Sets an observer on a copy that has not run since it was made of `from`, which is observed: legs in progress keep their
    /// start and their number.
    pub fn observe_copy(&mut self, from: &Ssd, observer: Box<dyn Observer>) {
        self.observe(observer);
        if from.observer.observer.is_some() {
            self.observer.running_since.clone_from(&from.observer.running_since);
            self.observer.numbers.clone_from(&from.observer.numbers);
        }
    }

    /// Removes the observer and returns it.
    pub fn take_observer(&mut self) -> Option<Box<dyn Observer>> {
        let observer = std::mem::take(&mut self.observer).observer;
        self.reopen();
        observer
    }

    /// The current state.
    pub fn sample(&self) -> Sample {
        let mut sample = self.sample_of(self.now);
        sample.dies = self.kernel.held_dies();
        sample
    }

    fn sample_of(&self, at: Nanos) -> Sample {
        Sample {
            at,
            flash: self.stats.flash.plus(&self.stats.forgotten),
            collections: self.stats.collections + self.stats.forgotten_collections,
            pending: self.host.pending(),
            free_pages: self.dev.flash.free_total() * u64::from(self.dev.geometry.pages_per_entry)
                / u64::from(self.dev.geometry.slots.per_super_page),
            dies: Vec::new(),
            slc_used_pages: self.dev.flash.slc_used_of_all(),
            life: super::life::sample(self),
            handles: (self.features.handles.as_ref()).map_or_else(Vec::new, |handles| handles.sample(&self.dev)),
        }
    }

    /// The clock is about to move to `to`, which is not before the time of the next sample: takes the samples up to then. Returns
    /// false if a leg that shared an event ends before, which comes first.
    #[cold]
    pub(super) fn samples_up_to(&mut self, to: Nanos) -> bool {
        self.stop_here();
        if self.next_event() < to {
            return false;
        }
        if let Some(observer) = &mut self.observer.observer {
            observer.clock_moves(to);
            self.observer.sample_at = observer.sample_at();
        }
        while self.observer.sample_at <= to {
            let next = self.observer.sample_at;
            self.take_sample(if next > self.observer.since { next } else { to });
        }
        true
    }

    fn take_sample(&mut self, at: Nanos) {
        let mut sample = self.sample_of(at);
        if self.observer.observer.as_ref().is_some_and(|observer| observer.samples_dies()) {
            sample.dies = self.kernel.held_dies();
        }
        let Some(observer) = &mut self.observer.observer else { return };
        observer.sample(&sample);
        self.observer.sample_at = observer.sample_at();
        law!(self.observer.sample_at > at, "an observer's sample times are ascending");
    }

    /// Whether the end of a request is shown to anybody.
    #[inline(always)]
    pub(super) fn shows_completions(&self) -> bool {
        self.observer.watches.completions
    }

    #[inline(always)]
    pub(super) fn shows_arrivals(&self) -> bool {
        self.observer.watches.arrivals
    }

    #[inline(always)]
    pub(super) fn watch_arrival(&mut self, number: u64, request: Request) {
        if self.shows_arrivals()
            && let Some(observer) = &mut self.observer.observer
        {
            observer.arrived(number, &request);
        }
    }

    #[inline(always)]
    pub(super) fn watch_completion(&mut self, completed: impl FnOnce(&Ssd) -> Completed) {
        if self.shows_completions() {
            let completed = completed(self);
            if let Some(observer) = &mut self.observer.observer {
                observer.completed(&completed);
            }
        }
    }

    /// A write is about to be acknowledged while its program is still running: its later legs need the index of its request.
    pub(super) fn watch_early_acknowledgement(&mut self, id: OpId) {
        if self.observer.watches.legs {
            self.number_of(id);
        }
    }

    /// The array of a unit starts to work, or continues.
    #[inline(always)]
    pub(super) fn watch_array_start(&mut self, unit: UnitId) {
        if self.observer.watches.legs {
            self.observer.running_since[unit.ix()] = self.now;
        }
    }

    /// The array of a unit has finished, or is suspended.
    #[inline(always)]
    pub(super) fn watch_array_end(&mut self, unit: UnitId) {
        if self.observer.watches.legs {
            let (id, start) = (self.kernel.dies[unit].array(), self.observer.running_since[unit.ix()]);
            let op = &self.kernel.ops[id];
            if op.legs.get(op.leg).is_some_and(|leg| leg.kind == LegKind::Decode) {
                return;
            }
            self.tell_leg(id, start, self.now, Resource::Planes);
        }
    }

    /// A bus has been granted for this time.
    #[inline(always)]
    pub(super) fn watch_transfer(&mut self, id: OpId, bus: usize, time: Nanos) {
        if self.observer.watches.legs {
            let channels = self.dev.geometry.channels as usize;
            let resource = if bus < channels {
                Resource::Channel(bus as u32)
            } else if bus < self.rules.ports {
                Resource::HostLink(bus == channels)
            } else {
                Resource::Port((bus - self.rules.ports) as u32)
            };
            self.tell_leg(id, self.now, self.now + time, resource);
        }
    }

    fn tell_leg(&mut self, id: OpId, start: Nanos, end: Nanos, resource: Resource) {
        if start == end {
            return;
        }
        let number = self.number_of(id);
        let op = &self.kernel.ops[id];
        let (mut pages, mut count) = ([Ppn::NONE; MAX_PLANES], 0);
        let mut add = |page: Ppn| {
            pages[count] = page;
            count += 1;
        };
        match (op.class, op.verb) {
            // The units of a command are in one super page, or follow one another.
            _ if self.rules.units && op.verb != Verb::Erase => op.pages.iter().take(1).for_each(|page| add(*page)),
            (Class::Host | Class::Cache, _) => {
                let mut at = id;
                while at.is_some() && self.kernel.ops[at].pages.len() == 1 {
                    add(self.kernel.ops[at].pages[0]);
                    at = self.kernel.ops[at].mate;
                }
            }
            (Class::Gc | Class::Fold, Verb::Erase) => {
                let job = &self.gc.jobs[op.job.0].job;
                job.victims[..usize::from(job.count)].iter().for_each(|b| add(self.dev.geometry.page(*b, 0)));
            }
            _ => op.pages.iter().for_each(|page| add(*page)),
        }
        let mut planes = [PlaneId::NONE; MAX_PLANES];
        for (plane, page) in planes.iter_mut().zip(&pages[..count]) {
            *plane = self.dev.geometry.plane_of(*page);
        }
        // Before a write has a place, its transfer over the host link concerns no plane.
        if self.dev.geometry.pages_per_entry == 2 && count > 0 {
            // Paired planes are one plane in the engine; the other plane of the pair has the number of the next plane of the die.
            planes[1] = PlaneId(planes[0].0 + self.dev.geometry.dies);
        }
        if self.rules.units && count > 0 {
            let (dies, together) = (self.dev.geometry.dies, self.dev.geometry.slots.planes);
            let (group, die) = (planes[0].0 / dies, planes[0].0 % dies);
            for (member, plane) in (0..together).zip(&mut planes) {
                *plane = PlaneId((group * together + member) * dies + die);
            }
        }
        let kind = match resource {
            Resource::Planes => LegKind::Array,
            Resource::Port(_) => LegKind::Noc,
            _ => LegKind::Bus,
        };
        let (class, verb, lpn) = (op.class, op.verb, self.features.lpn_on_leg(&self.dev, op));
        let leg = LegRecord { start, end, resource, planes, class, verb, kind, number, lpn, ppn: pages[0] };
        if let Some(observer) = &mut self.observer.observer {
            observer.leg(&leg);
        }
    }

    /// The index of an operation's request, or the number of its collection.
    fn number_of(&mut self, id: OpId) -> u64 {
        let op = &self.kernel.ops[id];
        if op.class != Class::Host {
            return op.age;
        }
        let numbers = &mut self.observer.numbers;
        if !op.acknowledged {
            if numbers.len() <= id.ix() {
                numbers.resize(id.ix() + 1, 0);
            }
            numbers[id.ix()] = self.host.number(op.request);
        }
        numbers.get(id.ix()).copied().unwrap_or(u64::MAX)
    }
}
