//! The rules of a device, derived once from its configuration and schemes when it is built. They never change.

use crate::config::{Config, Errors, GcTime, PartialRead, Programming, RaidLayout, Scope, Suspendable, Writeback};
use crate::device::geometry::Geometry;
use crate::device::spec::PageErrorSpec;
use crate::policy::Journey;
use crate::schemes::Place;
use crate::units::Threshold;

/// See the module's documentation.
#[derive(Clone)]
pub(super) struct Rules {
    /// A collection holds its unit from start to end.
    pub(super) collector_holds: bool,
    /// A collection lets host operations run between two steps.
    pub(super) preempts: bool,
    /// A unit may serve other operations during a collection.
    pub(super) pauses: bool,
    /// The collector checks between the steps of a move whether host operations wait for its die.
    pub(super) yields: bool,
    /// Arrivals in a die's queue matter: to the collector, or because they end the die's idle time.
    pub(super) heeds: bool,
    /// Dies are collected in idle time.
    pub(super) idles: bool,
    /// Dispatch considers dies by number: collections in no time depend on others of that moment.
    pub(super) by_number: bool,
    /// The order in which it considers dies has effects: for this, or because any die may serve a write.
    pub(super) ranks: bool,
    /// Collector decisions examine each die before they start collections.
    pub(super) looks: bool,
    /// A scope with fewer free pages than this is collected.
    pub(super) gc_floor: u32,
    /// Collections of a scope with fewer free pages than this are not preempted.
    pub(super) hard_floor: u32,
    /// GC leaves pages in the controller's buffer.
    pub(super) stages: bool,
    /// The journey of every moved page, if the path and, while nothing waits for its die, the collector treat all pages alike.
    pub(super) plain_moves: Option<Journey>,
    /// The path copies to a separate write point.
    pub(super) separates: bool,
    /// Writes go to any die that becomes idle.
    pub(super) dynamic: bool,
    /// Reads move whole pages.
    pub(super) whole_reads: bool,
    /// Writes get the next plane in turn at admission.
    pub(super) binds: bool,
    /// The number of a page determines its plane.
    pub(super) numbered: bool,
    /// Writes in no time use static places, and GC for them is by plane.
    pub(super) plain_places: bool,
    /// A program of the host takes the next page of its plane's only write point for the host.
    pub(super) plain_points: bool,
    /// A write of one page, in no time, is nothing but that.
    pub(super) plain_writes: bool,
    /// Overwritten pages stay valid until their newer versions are on flash.
    pub(super) keeps: bool,
    /// Reads suspend programs or erases.
    pub(super) suspends: bool,
    /// A unit with a busy array may accept more: a read that suspends it, or data of a program or from a read.
    pub(super) overlaps: bool,
    /// Multi-plane commands may carry several pages of a request.
    pub(super) pairs: bool,
    /// The pages of a word line are programmed together.
    pub(super) one_shot: bool,
    /// Blocks end with metadata pages.
    pub(super) metadata: bool,
    /// So many requests may wait that they leave the cache meanwhile.
    pub(super) deep: bool,
    /// Requests have tenants.
    pub(super) tenants: bool,
    /// Waits for dies are sorted further than by GC: by tenant, by the write cache, or without a shadow clock.
    pub(super) sorts_waits: bool,
    /// There is a write cache.
    pub(super) caches: bool,
    /// It takes writes before they are on flash.
    pub(super) buffers: bool,
    /// Its lines are written back when dies are idle.
    pub(super) idle_lines: bool,
    /// The host's data have several placement handles.
    pub(super) handles: bool,
    /// There is a cache of SLC.
    pub(super) slc: bool,
    /// Blocks wear out, and writes end.
    pub(super) life: bool,
    /// Programs may fail.
    pub(super) fails: bool,
    /// Planes are tested for more than GC's trigger: for folds, or for blocks that are to be emptied.
    pub(super) tests_beside: bool,
    /// Writes in no time are served one by one.
    pub(super) one_by_one: bool,
    /// The host's data have several streams, for one of the two.
    pub(super) streams: bool,
    /// A program has several units of the map.
    pub(super) units: bool,
    /// Moved units that fill none are padded.
    pub(super) pads: bool,
    /// Reads are repeated by levels of bit errors.
    pub(super) retries: bool,
    /// An operation whose legs have ended may go on: its read or its failed program is repeated, or it crosses the interconnect.
    pub(super) goes_on: bool,
    /// Pages of the host end otherwise: in parity groups, or with repeated reads.
    pub(super) ends_beside: bool,
    /// Dies that nothing waits for are given work after dispatch: lines of the write cache, or pages to rewrite.
    pub(super) idle_work: bool,
    /// Latencies have causes of optional features.
    pub(super) extras: bool,
    /// Operations are counted by page type.
    pub(super) page_types: bool,
    /// Operations queue by class, or by kind of task.
    pub(super) queues: bool,
    /// Operations that wait for a die are counted by class.
    pub(super) counts: bool,
    /// They queue by class (`order.die_queue`), so there is no shadow clock: what goes first without GC is not known.
    pub(super) by_class: bool,
    /// Host reads that begin in a row are counted, because their number is limited (`order.read_burst`).
    pub(super) bursts: bool,
    /// The victim policy watches pages that are programmed or become invalid.
    pub(super) watches: bool,
    /// The route decides about reads.
    pub(super) redirects: bool,
    /// Events between two scans of the full oracle.
    pub(super) scan_every: u64,
    /// Operations of other rules were in service when these came into force ([`Ssd::changed`]): there are no shortcuts.
    ///
    /// [`Ssd::changed`]: crate::Ssd::changed
    pub(super) mixed: bool,
}

/// Planes whose free pages are counted together.
fn planes_in_scope(scope: Scope, geometry: &Geometry) -> u32 {
    match scope {
        Scope::Plane => 1,
        Scope::Chip => geometry.planes / geometry.chips,
        Scope::Device => geometry.planes,
    }
}

/// Whether dies are given work of GC when they have been idle.
fn idles(config: &Config) -> bool {
    config.schemes.trigger.policy_ref().patience().is_some() || config.slc.folds_in_idle_time()
}

/// Pages of a scope for a threshold, 0 without one.
fn floor(config: &Config, geometry: &Geometry, threshold: Option<&Threshold>) -> u32 {
    // Thresholds count super pages, where units are smaller.
    let per = u64::from(geometry.slots.per_super_page);
    let scope_pages = u64::from(planes_in_scope(config.gc.scope, geometry) * geometry.pages_per_plane) / per;
    let per_block = u64::from(geometry.pages_per_block) / per;
    threshold.map_or(0, |threshold| (threshold.pages(scope_pages, per_block) * per) as u32)
}

/// Whether waits for dies are sorted further than by GC.
fn sorts_waits(config: &Config) -> bool {
    let by_class = config.order.die_queue.classes().is_some();
    config.nvme.arbitrates() || config.slc.exists() || config.cache.buffers() || by_class
}

/// Whether pages are drawn that a move finds wrong: all draw from one sequence.
fn draws_errors(config: &Config) -> bool {
    let certain = matches!(config.page_error_spec(), PageErrorSpec::Share(share) if [0, 1_000_000].contains(&share.0));
    let looks = config.schemes.path.policy_ref().always().is_none_or(|journey| journey.checked);
    looks && !certain && config.ecc.errors == Errors::None
}

/// Whether a collection in no time depends on those of other dies before it: by what its policy remembers, the planes that it sees, or
/// errors that are drawn.
fn by_number(config: &Config) -> bool {
    let depends = config.schemes.victim.remembers() || config.gc.scope != Scope::Plane || draws_errors(config);
    config.gc.time == GcTime::None && depends
}

/// The journey of every moved page, if none differs. Errors move with each page separately, a cache of SLC notes every page, and any
/// program may fail.
fn plain_moves(config: &Config) -> Option<Journey> {
    let alike = config.ecc.errors == Errors::None && !config.slc.exists() && !config.fails_programs();
    let undisturbed = config.schemes.collector.policy_ref().undisturbed();
    config.schemes.path.policy_ref().always().filter(|_| alike && undisturbed)
}

impl Rules {
    pub(super) fn of(config: &Config, geometry: &Geometry) -> Self {
        let (collector, path) = (config.schemes.collector.policy_ref(), config.schemes.path.policy_ref());
        let place = config.schemes.place;
        let (dynamic, numbered) = (place == Place::Dynamic, matches!(place, Place::Static(_)));
        let suspends = config.timing.suspendable != Suspendable::None;
        let pauses = collector.preemptible() || collector.writes_back().is_some_and(|plan| !plan.erase_first);
        Rules {
            collector_holds: collector.holds(),
            preempts: collector.preemptible(),
            pauses,
            yields: !collector.in_order(),
            heeds: !collector.in_order() || idles(config),
            idles: idles(config),
            by_number: by_number(config),
            ranks: dynamic || by_number(config),
            looks: pauses || idles(config),
            gc_floor: floor(config, geometry, Some(&config.gc.threshold)),
            hard_floor: floor(config, geometry, config.gc.hard_threshold.as_ref()),
            handles: config.fdp.exists(),
            slc: config.slc.exists(),
            life: config.life.exists(),
            fails: config.fails_programs(),
            tests_beside: config.slc.exists() || config.fails_programs(),
            one_by_one: geometry.slots.several() || config.life.exists(),
            streams: config.has_streams(),
            units: geometry.slots.several(),
            pads: geometry.slots.several() && config.pads_moves(),
            stages: config.stages(),
            plain_moves: plain_moves(config),
            separates: path.separates(),
            dynamic,
            whole_reads: config.device.partial_read == PartialRead::WholePage,
            binds: place == Place::RoundRobin,
            numbered,
            plain_places: numbered
                && config.gc.scope == Scope::Plane
                && !config.has_streams()
                && !config.fails_programs(),
            plain_points: !geometry.slots.several() && !config.has_streams(),
            plain_writes: config.raid.layout == RaidLayout::None && !config.has_streams(),
            keeps: config.device.keep_overwritten || config.cache.exists() && !config.device.power_loss_protection,
            tenants: config.nvme.arbitrates(),
            sorts_waits: sorts_waits(config),
            caches: config.cache.exists(),
            buffers: config.cache.buffers(),
            idle_lines: config.cache.buffers() && config.cache.writeback == Writeback::Idle,
            retries: config.ecc.retries(),
            goes_on: config.ecc.retries() || config.noc.exists() || config.fails_programs(),
            ends_beside: config.ecc.retries() || config.raid.layout != RaidLayout::None,
            idle_work: config.ecc.retries() || config.cache.buffers() && config.cache.writeback == Writeback::Idle,
            extras: !config.extra_causes().is_empty(),
            page_types: config.reports_page_types(),
            suspends,
            overlaps: suspends || config.timing.cache_register,
            pairs: config.device.multi_plane && config.geometry.planes_per_die > 1,
            one_shot: config.wear.programming == Programming::OneShot,
            metadata: geometry.data_pages < geometry.pages_per_block,
            deep: config.device.queue_depth > 512,
            queues: !config.noc.priority().is_empty() || config.order.die_queue.classes().is_some(),
            counts: suspends || !config.noc.priority().is_empty() || config.order.die_queue.classes().is_some(),
            by_class: config.order.die_queue.classes().is_some(),
            bursts: config.order.die_queue.classes().is_some() && config.order.read_burst > 0,
            watches: false,
            redirects: config.schemes.route.redirect().is_some(),
            scan_every: (1 << 20).max(8 * u64::from(geometry.planes) * u64::from(geometry.pages_per_plane)),
            mixed: false,
        }
    }

    /// Keeps what collections that began under `old` rules need to end as they began.
    pub(super) fn mix(&mut self, old: &Rules) {
        self.preempts |= old.preempts;
        self.pauses |= old.pauses;
        self.yields |= old.yields;
        self.heeds |= old.heeds;
        self.looks |= old.looks;
        self.mixed = true;
    }
}
