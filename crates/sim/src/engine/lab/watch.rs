//! Reports to an observer. Without one, each call costs a branch.

use crate::device::command::LegKind;
use crate::device::transaction::{Class, Op, Verb};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::{Device, Features, Gc, Host, Nanos, Ssd};
use crate::observe::{Completed, Held, LegRecord, Observer, Resource, Sample, Slot, Watches};
use crate::policy::MAX_PLANES;
use crate::request::Request;
use crate::stats::Stats;
use crate::units::{Lpn, OpId, PlaneId, Ppn, UnitId};

impl Kernel {
    /// By unit, who has held it for how long. Exact if the device has had no shortcuts from the start.
    fn held_dies(&self) -> Vec<Held> {
        self.dies.units.iter().map(|unit| unit.held()).collect()
    }

    /// The record of a leg for an observer, without its number; none if it took no time.
    fn record_of_leg(
        &self,
        dev: &Device,
        gc: &Gc,
        features: &Features,
        rules: &Rules,
        id: OpId,
        (start, end, resource): (Nanos, Nanos, Resource),
    ) -> Option<LegRecord> {
        if start == end {
            return None;
        }
        let op = &self.ops[id];
        let (mut pages, mut count) = ([Ppn::NONE; MAX_PLANES], 0);
        let mut add = |page: Ppn| {
            pages[count] = page;
            count += 1;
        };
        match (op.class, op.verb) {
            // The units of a command are in one super page, or follow one another.
            _ if rules.units && op.verb != Verb::Erase => op.pages.iter().take(1).for_each(|page| add(*page)),
            (Class::Host | Class::Cache, _) => {
                let mut at = id;
                while at.is_some() && self.ops[at].pages.len() == 1 {
                    add(self.ops[at].pages[0]);
                    at = self.ops[at].mate;
                }
            }
            (Class::Gc | Class::Fold, Verb::Erase) => {
                let job = &gc.jobs[op.job.0].job;
                job.victims[..usize::from(job.count)].iter().for_each(|b| add(dev.geometry.page(*b, 0)));
            }
            _ => op.pages.iter().for_each(|page| add(*page)),
        }
        let mut planes = [PlaneId::NONE; MAX_PLANES];
        for (plane, page) in planes.iter_mut().zip(&pages[..count]) {
            *plane = dev.geometry.plane_of(*page);
        }
        // Before a write has a place, its transfer over the host link concerns no plane.
        if dev.geometry.pages_per_entry == 2 && count > 0 {
            // Paired planes are one plane in the engine; the other plane of the pair has the number of the next plane of the die.
            planes[1] = PlaneId(planes[0].0 + dev.geometry.dies);
        }
        if rules.units && count > 0 {
            let (dies, together) = (dev.geometry.dies, dev.geometry.slots.planes);
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
        let (class, verb, lpn) = (op.class, op.verb, features.lpn_on_leg(dev, op));
        Some(LegRecord { start, end, resource, planes, class, verb, kind, number: 0, lpn, ppn: pages[0] })
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

impl Slot {
    /// Whether the end of a request is shown to anybody.
    #[inline(always)]
    pub(in crate::engine) fn shows_completions(&self) -> bool {
        self.watches.completions
    }

    #[inline(always)]
    pub(in crate::engine) fn shows_arrivals(&self) -> bool {
        self.watches.arrivals
    }

    #[inline(always)]
    pub(in crate::engine) fn watch_arrival(&mut self, number: u64, request: Request) {
        if self.shows_arrivals()
            && let Some(observer) = &mut self.observer
        {
            observer.arrived(number, &request);
        }
    }

    /// The index of an operation's request, or the number of its collection.
    fn number_of(&mut self, kernel: &Kernel, host: &Host, id: OpId) -> u64 {
        let op = &kernel.ops[id];
        if op.class != Class::Host {
            return op.age;
        }
        let numbers = &mut self.numbers;
        if !op.acknowledged {
            if numbers.len() <= id.ix() {
                numbers.resize(id.ix() + 1, 0);
            }
            numbers[id.ix()] = host.number(op.request);
        }
        numbers.get(id.ix()).copied().unwrap_or(u64::MAX)
    }

    /// A write is about to be acknowledged while its program is still running: its later legs need the index of its request.
    pub(in crate::engine) fn watch_early_acknowledgement(&mut self, kernel: &Kernel, host: &Host, id: OpId) {
        if self.watches.legs {
            self.number_of(kernel, host, id);
        }
    }

    /// The array of a unit starts to work, or continues.
    #[inline(always)]
    pub(in crate::engine) fn watch_array_start(&mut self, now: Nanos, unit: UnitId) {
        if self.watches.legs {
            self.running_since[unit.ix()] = now;
        }
    }

    #[inline(always)]
    pub(in crate::engine) fn watch_completion(&mut self, completed: impl FnOnce() -> Completed) {
        if self.shows_completions()
            && let Some(observer) = &mut self.observer
        {
            observer.completed(&completed());
        }
    }

    fn take_sample(&mut self, kernel: &Kernel, mut sample: Sample) {
        if self.observer.as_ref().is_some_and(|observer| observer.samples_dies()) {
            sample.dies = kernel.held_dies();
        }
        let Some(observer) = &mut self.observer else { return };
        observer.sample(&sample);
        self.sample_at = observer.sample_at();
        law!(self.sample_at > sample.at, "an observer's sample times are ascending");
    }

    /// Tells of a leg, if it took time.
    fn tell_leg(&mut self, kernel: &Kernel, host: &Host, id: OpId, leg: Option<LegRecord>) {
        let Some(leg) = leg else { return };
        let leg = LegRecord { number: self.number_of(kernel, host, id), ..leg };
        if let Some(observer) = &mut self.observer {
            observer.leg(&leg);
        }
    }
}

impl Stats {
    /// The state at a time, without what an observer may ask for by die, and without the lifetime of blocks.
    fn sample_of(&self, dev: &Device, host: &Host, features: &Features, at: Nanos) -> Sample {
        Sample {
            at,
            flash: self.flash.plus(&self.forgotten),
            collections: self.collections + self.forgotten_collections,
            pending: host.pending(),
            free_pages: dev.flash.free_total() * u64::from(dev.geometry.pages_per_entry)
                / u64::from(dev.geometry.slots.per_super_page),
            dies: Vec::new(),
            slc_used_pages: dev.flash.slc_used_of_all(),
            life: None,
            handles: (features.handles.as_ref()).map_or_else(Vec::new, |handles| handles.sample(dev)),
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
        self.set_fusing(self.fast.allowed);
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
        self.set_fusing(self.fast.allowed);
        observer
    }

    /// The current state.
    pub fn sample(&self) -> Sample {
        let sample = self.stats.sample_of(&self.dev, &self.host, &self.features, self.now);
        Sample { dies: self.kernel.held_dies(), life: crate::engine::features::life::sample(self), ..sample }
    }

    /// The clock is about to move to `to`, which is not before the time of the next sample: takes the samples up to then. Returns
    /// false if a leg that shared an event ends before, which comes first.
    #[cold]
    pub(in crate::engine) fn samples_up_to(&mut self, to: Nanos) -> bool {
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
            let at = if next > self.observer.since { next } else { to };
            let sample = self.stats.sample_of(&self.dev, &self.host, &self.features, at);
            let sample = Sample { life: crate::engine::features::life::sample(self), ..sample };
            self.observer.take_sample(&self.kernel, sample);
        }
        true
    }

    /// The array of a unit has finished, or is suspended.
    #[inline(always)]
    pub(in crate::engine) fn watch_array_end(&mut self, unit: UnitId) {
        if self.observer.watches.legs {
            let (id, start) = (self.kernel.dies[unit].array(), self.observer.running_since[unit.ix()]);
            let op = &self.kernel.ops[id];
            if op.legs.get(op.leg).is_some_and(|leg| leg.kind == LegKind::Decode) {
                return;
            }
            let leg = (start, self.now, Resource::Planes);
            let leg = self.kernel.record_of_leg(&self.dev, &self.gc, &self.features, &self.rules, id, leg);
            self.observer.tell_leg(&self.kernel, &self.host, id, leg);
        }
    }

    /// A bus has been granted for this time.
    #[inline(always)]
    pub(in crate::engine) fn watch_transfer(&mut self, id: OpId, bus: usize, time: Nanos) {
        if self.observer.watches.legs {
            let channels = self.dev.geometry.channels as usize;
            let resource = if bus < channels {
                Resource::Channel(bus as u32)
            } else if !self.kernel.buses.is_port(bus) {
                Resource::HostLink(bus == channels)
            } else {
                Resource::Port((bus - self.kernel.buses.first_port) as u32)
            };
            let leg = (self.now, self.now + time, resource);
            let leg = self.kernel.record_of_leg(&self.dev, &self.gc, &self.features, &self.rules, id, leg);
            self.observer.tell_leg(&self.kernel, &self.host, id, leg);
        }
    }
}
