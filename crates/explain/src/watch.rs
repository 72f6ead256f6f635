//! What a run shows while it is watched: its requests, collections by die, and how much work arrived.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::readers::words;
use ssdlab_lab::tree;
use ssdlab_sim::config::Config;
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::report::Summary;
use ssdlab_sim::report::overload::Overload;
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sim::{Completed, LegRecord, Observer, Request, RequestOp};

use crate::records::{Record, Records, Spool};

/// A collection, from its first step to its last erase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Its number, as in timelines.
    pub number: u64,
    /// The planes of its victims.
    pub planes: Vec<u32>,
    /// Start of its first step.
    pub start: u64,
    /// End of its last step.
    pub end: u64,
}

/// What is known of a run beside its requests.
pub struct Known {
    /// The device.
    pub geometry: Geometry,
    /// Its configuration.
    pub config: Config,
    /// By unit of exclusion: its collections in order of their start.
    pub collections: Vec<Vec<Collection>>,
    /// Whether more arrived than the device can serve.
    pub overload: Option<Overload>,
    /// What write amplification is the product of, where writes of parts of pages or padding cause some of it.
    pub amplification: Option<String>,
    /// Names of the tenants; none without any.
    pub tenants: Vec<String>,
}

impl Known {
    /// Collections of the die that serves a plane which overlap a time.
    pub fn collections_in(&self, plane: u32, from: u64, to: u64) -> &[Collection] {
        let unit = self.geometry.unit_of(PlaneId(plane));
        let all = &self.collections[unit.0 as usize];
        // Queued collections of one die may overlap; their ends are then not in order, but starts are.
        let last = all.partition_point(|one| one.start < to);
        let first = all[..last].iter().rposition(|one| one.end <= from).map_or(0, |before| before + 1);
        &all[first..last]
    }

    /// Mean duration of the collections, in nanoseconds.
    pub fn mean_collection(&self) -> Option<f64> {
        let all = || self.collections.iter().flatten();
        let sum: u128 = all().map(|one| u128::from(one.end - one.start)).sum();
        let count = all().count();
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// Of the die of a request, those that overlap its wait.
    pub fn met_by(&self, record: &Record) -> &[Collection] {
        match (record.plane, record.start) {
            (Some(plane), Some(start)) => self.collections_in(plane, record.arrival, start),
            _ => &[],
        }
    }
}

struct Open {
    start: u64,
    end: u64,
    /// A plane of its first step: that of its die.
    home: u32,
    victims: Vec<u32>,
}

#[derive(Default)]
struct Collector {
    spool: Spool,
    /// Reads and writes that have arrived and have no record yet, in order.
    expected: VecDeque<u64>,
    /// Completed ones that wait for an earlier one; none if not measured.
    early: BTreeMap<u64, Option<Record>>,
    collections: BTreeMap<u64, Open>,
    /// Writes in flight, and whether they have read a page of flash.
    writes: HashMap<u64, bool>,
    fault: Option<Error>,
}

impl Collector {
    fn put(&mut self, record: Option<&Record>) {
        if let (Some(record), None) = (record, &self.fault) {
            self.fault = self.spool.put(record).err();
        }
    }
}

/// Watches one run.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Collector>>);

impl Watch {
    fn collector(&self) -> MutexGuard<'_, Collector> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends: the records, and what is known beside them.
    ///
    /// # Errors
    /// A record could not be written.
    pub fn finish(self, geometry: Geometry, config: &Config, summary: &Summary) -> Result<(Records, Known)> {
        let Collector { mut spool, early, collections: seen, fault, .. } = std::mem::take(&mut *self.collector());
        fault.map_or(Ok(()), Err)?;
        early.into_values().flatten().try_for_each(|record| spool.put(&record))?;
        let mut collections: Vec<Vec<Collection>> = vec![Vec::new(); geometry.units as usize];
        for (number, open) in seen {
            // A page that is placed on another die is no collection of that die.
            if !open.victims.is_empty() {
                let unit = geometry.unit_of(PlaneId(open.home));
                let (start, end) = (open.start, open.end);
                collections[unit.0 as usize].push(Collection { number, planes: open.victims, start, end });
            }
        }
        collections.iter_mut().for_each(|of| of.sort_by_key(|one| (one.start, one.number)));
        let tenants = summary.tenants.as_ref().map_or(&[][..], |tenants| &tenants.0);
        let known = Known {
            geometry,
            config: config.clone(),
            collections,
            overload: summary.overload,
            amplification: words::factors(&tree::summary(summary)),
            tenants: tenants.iter().map(|(name, _)| name.clone()).collect(),
        };
        Ok((spool.finish()?, known))
    }
}

impl Observer for Watch {
    fn arrived(&mut self, number: u64, request: &Request) {
        if request.op == RequestOp::Trim {
            return;
        }
        let mut all = self.collector();
        all.expected.push_back(number);
        if request.op == RequestOp::Write {
            all.writes.insert(number, false);
        }
    }

    fn completed(&mut self, request: &Completed) {
        if request.op == RequestOp::Trim {
            return;
        }
        let mut all = self.collector();
        let latency = (request.completion - request.arrival).0;
        let read_first = all.writes.remove(&request.request).unwrap_or(false);
        // A flush is neither a read nor a write.
        let record = (request.measured && request.op != RequestOp::Flush).then(|| Record {
            request: request.request,
            arrival: request.arrival.0,
            write: request.op == RequestOp::Write,
            offset: request.offset,
            bytes: request.bytes,
            start: request.start.map(|start| start.0),
            latency,
            plane: request.plane.is_some().then_some(request.plane.0),
            blame: request.blame,
            extras: request.extras,
            aggressor: request.aggressor.map(|(tenant, ns)| (tenant, ns.0)),
            read_first,
        });
        if all.expected.front() != Some(&request.request) {
            all.early.insert(request.request, record);
            return;
        }
        all.expected.pop_front();
        all.put(record.as_ref());
        while let Some(next) = all.expected.front().copied().and_then(|next| all.early.remove(&next)) {
            all.expected.pop_front();
            all.put(next.as_ref());
        }
    }

    fn leg(&mut self, leg: &LegRecord) {
        let mut all = self.collector();
        if (leg.class, leg.verb) == (Class::Host, Verb::Read) {
            all.writes.entry(leg.number).and_modify(|has_read| *has_read = true);
        }
        if !matches!(leg.class, Class::Gc | Class::Metadata) {
            return;
        }
        let Some(home) = leg.planes().next() else { return };
        let (Nanos(start), Nanos(end)) = (leg.start, leg.end);
        let open =
            all.collections.entry(leg.number).or_insert_with(|| Open { start, end, home: home.0, victims: Vec::new() });
        // Array legs are reported when they end, transfers when they start.
        open.start = open.start.min(start);
        open.end = open.end.max(end);
        if leg.class == Class::Gc && leg.verb == Verb::Erase && open.victims.is_empty() {
            open.victims = leg.planes().map(|plane| plane.0).collect();
        }
    }
}
