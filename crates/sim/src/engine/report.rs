//! The summary at the end of a run.

use crate::blame::{Cause, Extra};
use crate::engine::kernel::Kernel;
use crate::engine::rules::Rules;
use crate::engine::spine::host::Host;
use crate::engine::{Device, Features, Ssd};
use crate::policy::Load;
use crate::report::ecc::Ecc as EccReport;
use crate::report::factors::Programmed;
use crate::report::histogram::Histogram;
use crate::report::overload::{Overload, Work};
use crate::report::units::UnitsReport;
use crate::report::{
    Breakdown, ByOp, Distribution, Figures, GcSummary, HostBytes, Latencies, Requests, Summary, Utilisation, Wear, mean,
};
use crate::slowest::Slowest;
use crate::stats::{OpStats, Stats};
use crate::units::Nanos;

/// Load and progress, as policies from outside see them.
pub(super) fn load(host: &Host, stats: &Stats, depth: u32) -> Load {
    let totals = |latency: &Distribution| (latency.count(), latency.sum());
    Load {
        pending: host.pending(),
        depth,
        reads: totals(&stats.read.latency),
        writes: totals(&stats.write.latency),
        host_pages: stats.flash.programs.host + stats.flash.programs.cache,
        gc_pages: stats.flash.programs.gc + stats.flash.copybacks,
        collections: stats.collections,
    }
}

/// Causes of latency, with those of optional features.
fn breakdowns(stats: &Stats, extras: &[Extra]) -> ByOp<Breakdown> {
    let of = |one: &OpStats| {
        let mut breakdown = one.breakdown();
        breakdown.1.extend(extras.iter().map(|extra| (*extra, one.extra(*extra))));
        breakdown
    };
    let (read, write) = (of(&stats.read), of(&stats.write));
    let mut all = read.clone();
    all.merge(&write);
    ByOp { read, write, all }
}

/// Figures of reads, of writes and of both.
fn by_op(read: &Distribution, write: &Distribution) -> ByOp<Figures> {
    let mut all = read.clone();
    all.merge(write);
    ByOp { read: read.figures(), write: write.figures(), all: all.figures() }
}

fn delayed_by_gc(stats: &Stats) -> ByOp<u64> {
    let (read, write) = (stats.read.delayed_by_gc, stats.write.delayed_by_gc);
    ByOp { read, write, all: read + write }
}

/// Logical pages that were written and programmed, of which a flash page of so many bytes has `per_page`.
fn programmed(stats: &Stats, units: bool, flash_page: u64, per_page: u64) -> Programmed {
    let pages = stats.flash.programs.host + stats.flash.programs.cache;
    Programmed {
        bytes: stats.bytes.written,
        page_bytes: flash_page / per_page,
        written: stats.pages.written,
        host: if units { stats.units.programmed.cache } else { pages },
        host_places: pages * per_page,
        places: (stats.flash.programs.total + stats.flash.copybacks) * per_page,
    }
}

/// What collections moved, and how long they took.
fn collections(stats: &Stats, units: bool) -> GcSummary {
    let pages = stats.flash.programs.host + stats.flash.programs.cache;
    let host = u128::from(if units { stats.units.programmed.cache } else { pages });
    GcSummary {
        collections: stats.collections,
        moved_pages: stats.moved,
        moved_stale: stats.moved_stale,
        moved_per_collection: mean(u128::from(stats.moved), stats.collections),
        host_pages_per_collection: mean(host, stats.collections),
        time_ns: stats.gc_time.clone(),
    }
}

impl Device {
    /// Erases of blocks.
    fn erases(&self, rules: &Rules) -> Wear {
        let (erases_min, erases_max, erases) = self.flash.wear();
        let geometry = &self.geometry;
        let fixed = u64::from(self.flash.fixed_slc_blocks());
        let (planes, of_plane) = (u64::from(geometry.planes), u64::from(geometry.blocks_per_plane));
        let wear = |(min, max, sum): (u32, u32, u64), blocks: u64, slc| Wear {
            erases_min: min,
            erases_max: max,
            erases_mean: mean(u128::from(sum), blocks),
            slc,
        };
        let slc = self.flash.slc_wear().map(|of_slc| {
            let blocks = planes * if fixed > 0 { fixed } else { of_plane };
            Box::new(wear(of_slc, blocks, None))
        });
        let waiting = if rules.life { self.flash.spares_left().1 } else { 0 };
        wear((erases_min, erases_max, erases), planes * (of_plane - fixed) - waiting, slc)
    }
}

impl Kernel {
    /// Shares of time in which dies and channels were busy, of `span`, and what arrivals found.
    fn utilisation(&self, dev: &Device, host: &Host, stats: &Stats, span: u64, transferring: u128) -> Utilisation {
        let geometry = &dev.geometry;
        let share = |(from, to): (u128, u128), resources: u32| {
            mean(to.saturating_sub(from), span).map(|busy| busy / f64::from(resources))
        };
        Utilisation {
            die: share((stats.held_from, self.dies.held_at_mark()), geometry.units),
            channel: share((stats.transferring_from, transferring), geometry.channels),
            chip_at_arrival: mean(u128::from(stats.chips_busy), stats.arrivals)
                .map(|chips| chips / f64::from(geometry.chips)),
            window_at_arrival: mean(u128::from(stats.window), stats.arrivals).filter(|_| host.windowed),
        }
    }
}

impl Host {
    /// Whether more arrived than can be served, given the busy time of all channels.
    fn overload(
        &self,
        kernel: &Kernel,
        dev: &Device,
        features: &Features,
        stats: &Stats,
        depth: u32,
        transferring: u128,
    ) -> Option<Overload> {
        if self.is_closed() || features.has_loops() {
            return None;
        }
        let geometry = &dev.geometry;
        let outside = |of: &OpStats| of.breakdown().0[Cause::Queue as usize] + of.extra(Extra::Arbitration);
        let inside = |of: &OpStats| of.latency.sum() - outside(of);
        let requests = &stats.requests;
        let flushes = features.cache.as_ref().map_or(0, |cache| cache.flush_latency().count);
        let first = stats.first_arrival?;
        Overload::of(&Work {
            arrivals: requests.read + requests.write + requests.trim + flushes,
            from_first_to_last: self.last_arrival().0.saturating_sub(first.0),
            dies: (kernel.dies.held_at_mark().saturating_sub(stats.held_from), geometry.units),
            channels: (transferring.saturating_sub(stats.transferring_from), geometry.channels),
            slots: (inside(&stats.read) + inside(&stats.write), depth),
        })
    }
}

impl Ssd {
    /// Load and progress, as policies from outside see them.
    pub fn current_load(&self) -> Load {
        load(&self.host, &self.stats, self.config.device.queue_depth)
    }

    /// Collects latencies by bucket with their causes, from now on. Results do not depend on it.
    pub fn collect_histograms(&mut self) {
        self.stats.read.histogram = Some(Box::new(Histogram::new()));
        self.stats.write.histogram = Some(Box::new(Histogram::new()));
    }

    /// The histograms of reads and of writes, if they were collected.
    pub fn histograms(&self) -> Option<[&Histogram; 2]> {
        Some([self.stats.read.histogram.as_deref()?, self.stats.write.histogram.as_deref()?])
    }

    /// Collects the slowest reads and the slowest writes beside the histograms, from now on: at most `most` of each. Results do not
    /// depend on it.
    pub fn collect_slowest(&mut self, most: usize) {
        self.collect_histograms();
        self.stats.keeps_slowest = true;
        self.stats.read.slowest = Some(Box::new(Slowest::new(most)));
        self.stats.write.slowest = Some(Box::new(Slowest::new(most)));
    }

    /// The slowest reads and the slowest writes, if they were collected.
    pub fn slowest(&self) -> Option<[&Slowest; 2]> {
        Some([self.stats.read.slowest.as_deref()?, self.stats.write.slowest.as_deref()?])
    }

    /// The summary of the run. The caller provides `trace_digest` and `config_digest`.
    pub fn summary(&self, seed: u64, config_digest: String, trace_digest: String) -> Summary {
        let (stats, depth) = (&self.stats, self.config.device.queue_depth);
        let breakdown_ns = breakdowns(stats, &self.config.extra_causes());
        let span = stats.last_completion.0.saturating_sub(stats.measured_from.0);
        let (geometry, per_page) = (&self.dev.geometry, u64::from(self.dev.geometry.slots.per_page));
        let programmed = programmed(stats, self.rules.units, self.page_bytes(), per_page);
        let channels = self.kernel.buses.all[..geometry.channels as usize].iter();
        let transferring: u128 = channels.map(|bus| u128::from(bus.busy_at_mark(stats.last_completion))).sum();
        let simulated_ns = stats.last_completion.0.saturating_sub(stats.first_arrival.unwrap_or(Nanos::ZERO).0);
        let latency = by_op(&stats.read.latency, &stats.write.latency);
        let flushes = self.features.cache.as_ref().map(|cache| cache.flush_latency());
        let (tenants, interference_ns, fairness) = self
            .features
            .tenants_report(&self.dev, &self.rules, &self.config, simulated_ns)
            .map_or((None, None, None), |(tenants, between, fairness)| (Some(tenants), Some(between), Some(fairness)));
        Summary {
            page_types: self.dev.page_types_report(stats, &self.rules, &self.config),
            tenants,
            interference_ns,
            fairness,
            cache: self.features.cache.as_ref().map(|cache| cache.report()),
            units: (self.rules.units).then(|| UnitsReport::new(geometry.unit_bytes, geometry.slots, &stats.units)),
            fdp: self.features.handles.as_ref().map(|handles| handles.report(&self.dev, stats)),
            slc: self.features.slc.as_ref().map(|slc| slc.report(&self.dev.flash)),
            life: crate::engine::features::life::report(self),
            pagc: self.kernel.pagc_summary(&self.dev, stats, self.config.geometry.planes_per_die, &breakdown_ns, span),
            schema: "ssdlab.summary/1",
            version: env!("CARGO_PKG_VERSION"),
            seed,
            config: self.config.clone(),
            config_digest,
            trace_digest,
            flush_digest: None,
            consistency_rule: "admission-order",
            write_ack: self.config.device.write_ack,
            requests: Requests { flush: flushes.as_ref().map(|of| of.count), ..stats.requests.clone() },
            pages: stats.pages.clone(),
            host_read_bytes_per_s: HostBytes::per_second(stats.bytes.read, simulated_ns),
            host_written_bytes_per_s: HostBytes::per_second(stats.bytes.written, simulated_ns),
            bytes: stats.bytes.clone(),
            simulated_ns,
            latency_ns: Latencies { read: latency.read, write: latency.write, all: latency.all, flush: flushes },
            waiting_ns: by_op(&stats.read.waiting, &stats.write.waiting),
            breakdown_ns,
            flash: stats.flash.clone(),
            requests_delayed_by_gc: delayed_by_gc(stats),
            write_amplification: mean(programmed.places.into(), programmed.written),
            write_amplification_bytes: mean(programmed.place_bytes(), programmed.bytes),
            write_amplification_factors: programmed.factors(),
            write_amplification_halves: stats.halves(geometry.planes, self.page_bytes(), per_page),
            gc: collections(stats, self.rules.units),
            utilisation: self.kernel.utilisation(&self.dev, &self.host, stats, span, transferring),
            overload: self.host.overload(&self.kernel, &self.dev, &self.features, stats, depth, transferring),
            noc: self.features.noc_summary(&self.kernel, &self.dev, stats, span),
            wear: self.dev.erases(&self.rules),
            fastgc: self.rules.separates.then(|| self.dev.report_copies(&self.stats, &self.config)),
            ecc: self.dev.errors.as_ref().map(|_| EccReport::new(&stats.ecc, &self.config.ecc)),
            dpr: self.features.replicas.as_ref().map(|replicas| replicas.summary()),
            brr: self.rules.redirects.then(|| stats.brr.summary(self.config.raid.group)),
            raid: self.features.raid.as_ref().map(|_| {
                let breakdowns = [&stats.read.breakdown(), &stats.write.breakdown()];
                stats.raid.summary(&stats.flash, stats.pages.written, breakdowns)
            }),
            failures: self.features.failures.as_ref().map(|failures| failures.summary(self.now)),
            idle_chip: self.features.idle_chip_report(&self.dev, &self.stats, &self.config, self.now),
            power_cuts: self.features.power_cuts.clone(),
        }
    }
}
