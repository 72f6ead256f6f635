//! Shortcuts: the same results with fewer events. A device takes one only if its configuration is known to allow it.
//!
//! [`Ssd::set_fusing`] closes all of them; tests compare every byte with and without.

mod booked;
mod chains;
mod joint;
mod lane;
mod legs;
mod pauses;
mod promises;
mod reads;
mod report;
mod steps;
mod transfers;
mod turns;
mod vacant;

pub(super) use booked::{BOOKED, Bookings};
pub(super) use chains::Chains;
pub(super) use joint::Joint;
pub(super) use legs::FUSED;
pub use report::{ClosedShortcut, Shortcuts, Slowed};

use super::Ssd;
use super::spine::merge::SECTOR;
use crate::config::{
    Arbitration, Cache, Config, Destination, Device, Ecc, Errors, Faults, Ftl, Gc, GcTime, Geometry, Noc, NocModel,
    Nvme, OrderKnobs, PageOrder, PartialRead, Precondition, Programming, QueueClass, Raid, RaidLayout, Run, Schemes,
    Scope, Staging, Suspendable, Timing, Variation, Wear, WearLevelling, WriteAck, WritePoints, Writeback,
};
use crate::device::geometry;
use crate::policy::Journey;
use crate::schemes::{AnyVictim, Place};
use crate::units::Nanos;

/// The shortcuts of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastPaths {
    /// Whether any may be open ([`Ssd::set_fusing`]).
    pub(super) allowed: bool,
    /// A transfer into a held die and the array after it share an event; an event with one consequence needs no round.
    pub(super) legs: bool,
    /// Such a transfer shares an event where its end concerns nothing, on any device.
    pub(super) transfers: bool,
    /// A queued GC step begins when it is decided if its die is free.
    pub(super) vacant: bool,
    /// A page that GC moves out and back in shares an event.
    pub(super) moves: bool,
    /// The moves of a collection share an event.
    pub(super) chains: bool,
    /// So do those of a collection of two planes.
    pub(super) joint: bool,
    /// A leg of a plain move, a bus that becomes free, and the begin and the end of an erase need no round where they are alone.
    pub(super) alone: bool,
    /// A step of a preemptible collection that ends alone needs no round.
    pub(super) pauses: bool,
    /// A queued GC step that ends alone needs no round.
    pub(super) steps: bool,
    /// Queued steps that follow one another on a die share an event.
    pub(super) turns: bool,
    /// Pages that are read take the fast lane.
    pub(super) lane: bool,
    /// So do whole pages that are written.
    pub(super) writes: bool,
    /// The order of their ends at one time has no effect.
    pub(super) unordered: bool,
    /// A read's legs share an event while its channel serves only reads.
    pub(super) books: bool,
    /// A die that becomes free needs no look if nothing waits for it.
    pub(super) quiet: bool,
    /// A write begins when it is admitted if its die is free.
    pub(super) starts: bool,
    /// Planes are filled independently, by several threads.
    pub(super) parts: bool,
}

impl FastPaths {
    /// The shortcuts that a configuration and its victim policy allow.
    fn of_device(config: &Config, geometry: &geometry::Geometry, victim: &AnyVictim) -> Self {
        let mut paths = Self::of(config, geometry);
        let stays_in_plane = victim.policy_ref().stays_in_plane();
        // A fused move takes its page and counts its program when it ends: other planes' pages and the load lag behind.
        paths.moves &= stays_in_plane;
        paths.chains &= stays_in_plane;
        paths.joint &= stays_in_plane;
        paths.alone &= stays_in_plane;
        paths.pauses &= stays_in_plane;
        paths.turns &= stays_in_plane;
        // Its page is taken before collections of other planes begin.
        paths.vacant &= stays_in_plane;
        // A policy that draws numbers takes them in the order of all planes' collections.
        paths.parts &= stays_in_plane && !victim.draws() && !matches!(victim, AnyVictim::Outside(_));
        paths
    }

    pub(super) const NONE: FastPaths = FastPaths {
        allowed: false,
        legs: false,
        transfers: false,
        vacant: false,
        moves: false,
        chains: false,
        joint: false,
        alone: false,
        pauses: false,
        steps: false,
        turns: false,
        lane: false,
        writes: false,
        unordered: false,
        books: false,
        quiet: false,
        starts: false,
        parts: false,
    };

    /// Whether events without rounds are open.
    #[inline(always)]
    pub(super) fn skip_rounds(&self) -> bool {
        self.legs | self.steps | self.moves
    }

    /// The shortcuts that a configuration allows.
    ///
    /// Every key is named, so a new key does not compile until it is decided here: `_` if the shortcuts hold for all its values.
    /// A condition lists the values for which a shortcut is known to hold, so a new value closes it.
    fn of(config: &Config, geometry: &geometry::Geometry) -> Self {
        let Config {
            geometry:
                Geometry {
                    channels: _,
                    chips_per_channel: _,
                    dies_per_chip: _,
                    planes_per_die: _,
                    blocks_per_plane: _,
                    pages_per_block: _,
                    page_size: _,
                    page_order,
                },
            timing:
                Timing {
                    read,
                    program,
                    erase: _,
                    transfer: _,
                    bus_width: _,
                    command,
                    cache_register,
                    host_link,
                    suspend: _,
                    resume: _,
                    suspendable,
                    copyback: _,
                    variation: Variation { block, layer },
                },
            device:
                Device {
                    exclusion: _,
                    write_ack,
                    power_loss_protection: _,
                    keep_overwritten,
                    queue_depth: _,
                    over_provisioning: _,
                    unwritten_read: _,
                    multi_plane: _,
                    partial_write: _,
                    partial_read,
                    mapping_unit: _,
                    memory: _,
                },
            gc: Gc { threshold: _, hard_threshold, scope, reserve: _, time, destination },
            ftl: Ftl { write_points, free_block: _, wear_levelling, wear_spread: _ },
            precondition: Precondition { mode: _, valid: _, invalid: _, overwrite: _ },
            run: Run { warmup: _ },
            schemes: Schemes { order, route, place, victim: _, collector, path, trigger },
            order: OrderKnobs { chip_queue: _, delay_writes: _, die_queue, read_burst: _ },
            noc:
                Noc {
                    model: noc,
                    cycle: _,
                    flit_bits: _,
                    mean_slices: _,
                    columns: _,
                    rows: _,
                    port: _,
                    sram_write: _,
                    sram_read: _,
                    priority: _,
                },
            wear: Wear { pe_cycles: _, copyback_thresholds: _, rated_pe_cycles: _, programming },
            ecc:
                Ecc {
                    correctable: _,
                    decode,
                    page_error_probability: _,
                    bit_error_rate: _,
                    errors,
                    program_errors: _,
                    spread: _,
                    read_disturb: _,
                    retention: _,
                    margin: _,
                },
            raid: Raid { layout, group: _, encode_timeout: _, write_mode: _ },
            staging: Staging { slots: _ },
            faults: Faults { power_cut: _, chip_fails, rebuild: _, read_errors: _, write_errors: _ },
            nvme: Nvme { arbitration, burst: _, queues: _ },
            cache:
                Cache {
                    size: cache,
                    write: _,
                    read: _,
                    evict: _,
                    writeback,
                    high: _,
                    low: _,
                    order: _,
                    time: _,
                    plp_budget: _,
                    flush: _,
                    hold: _,
                },
        } = config;
        let (collector, path) = (collector.policy_ref(), path.policy_ref());
        let no_idle_time = trigger.policy_ref().patience().is_none();
        let one_queue = config.noc.priority().is_empty();
        let (no_raid, no_errors) = (*layout == RaidLayout::None, *errors == Errors::None);
        let no_copies = route.replicate().is_none();
        let (by_page, no_decoder) = (*programming == Programming::Page, *decode == Nanos::ZERO);
        let no_command = *command == Nanos::ZERO;
        let steady = block.0 == 0 && layer.0 == 0;
        let takes_time = |times: &crate::config::PageTimes| !times.types().contains(&Nanos::ZERO);

        // Those of GC, which no register, acknowledgement or class of operation concerns.
        let of_gc = *noc == NocModel::None
            && cache.0 == 0
            && *arbitration == Arbitration::None
            && chip_fails.is_empty()
            && (no_raid || no_errors)
            && *suspendable == Suspendable::None
            && no_idle_time;
        let legs = of_gc && die_queue.classes().is_none() && !cache_register && *write_ack == WriteAck::AfterProgram;
        let pauses_for_others =
            collector.preemptible() || collector.writes_back().is_some_and(|plan| !plan.erase_first);
        // Otherwise each dispatch issues a line to a die that is idle.
        let lines_rest = !config.cache.buffers() || *writeback != Writeback::Idle;
        let transfers = chip_fails.is_empty()
            && (no_raid || no_errors)
            && no_idle_time
            && lines_rest
            && (*suspendable == Suspendable::None || !pauses_for_others);
        // Pages of a collection travel alike, and stay in their plane.
        let alike = steady
            && path.always().is_some()
            && no_errors
            && no_decoder
            && by_page
            && *destination == Destination::Plane
            && *scope == Scope::Plane
            && takes_time(read)
            && takes_time(program);
        // What joins a queue between a decision and the dispatch after it goes behind the step that was decided.
        let first_come = die_queue.classes().is_none_or(|classes| *classes == [QueueClass::Rhost]);
        let among_others = transfers
            && alike
            && path.always() == Some(Journey::EXTERNAL)
            && *noc == NocModel::None
            && !pauses_for_others
            && first_come;
        let alike = alike && of_gc && no_command;
        let plain = alike && collector.undisturbed();
        // The destination page is taken when the read-out begins, not when it ends, so nothing else may take pages from that
        // write point.
        let apart = *write_points == WritePoints::Separate;
        let held = collector.holds() && apart;
        let transfer = config.timing.channel().time(u64::from(geometry.unit_bytes));
        let moves = plain && held && transfer != Nanos::ZERO;
        let chained = apart
            && chains::Chains::fit(config)
            && transfer != Nanos::ZERO
            && geometry.data_pages == geometry.pages_per_block
            && one_queue
            && no_raid
            && no_copies
            && !keep_overwritten
            && !path.separates()
            && !path.keeps_counts();
        let chains = moves && chained;
        let joint = alike
            && held
            && chained
            && path.always() == Some(Journey::COPYBACK)
            && !collector.undisturbed()
            && !collector.preemptible()
            && !config.stages()
            && geometry.planes_per_unit == 2;
        // A step that follows another one is on its chip.
        let one_chip = geometry.units >= geometry.chips;
        let steps = (alike && legs || among_others)
            && one_chip
            && collector.undisturbed()
            && !collector.holds()
            && transfer != Nanos::ZERO
            && geometry.data_pages == geometry.pages_per_block
            && !config.stages()
            && *place != Place::Dynamic
            && one_queue
            && no_raid
            && no_copies;
        let turns = alike && legs && steps && chained && path.always() == Some(Journey::EXTERNAL);
        let windowed = !order.policy_ref().eager() || config.chip_queue().is_some() || config.delays_writes();
        let vacant = !legs
            && !collector.holds()
            && collector.undisturbed()
            && path.always().is_some()
            && no_errors
            && no_idle_time
            && !pauses_for_others
            && !config.stages()
            && *destination == Destination::Plane
            && *scope == Scope::Plane
            && *place != Place::Dynamic
            && *noc == NocModel::None
            && geometry.data_pages == geometry.pages_per_block
            && one_queue
            && first_come
            && no_raid
            && no_copies
            && !windowed;
        // A part of a page, too, takes time on its channel.
        let crosses = config.timing.channel().time(SECTOR) != Nanos::ZERO;
        let lane = legs
            && crosses
            && one_queue
            && by_page
            && *partial_read == PartialRead::Bytes
            && no_errors
            && no_decoder
            && no_command
            && no_raid
            && no_copies
            && host_link.is_none()
            && route.redirect().is_none()
            && !path.separates()
            && !windowed
            // Those of the buffer are not counted.
            && !(config.schemes.reports_conflicts() && config.stages())
            // Operations in the lane are not counted by page type.
            && *page_order == PageOrder::Cyclic
            && steady
            && takes_time(read);
        let writes = lane
            && matches!(place, Place::Static(_))
            && !config.stages()
            && !keep_overwritten
            && transfer != Nanos::ZERO
            && takes_time(program)
            && geometry.data_pages == geometry.pages_per_block;
        let alone = chains && !config.stages();
        let pauses = alone && writes && collector.preemptible() && hard_threshold.is_none();
        let unordered = writes && *scope == Scope::Plane && *time == GcTime::Real;
        let books = lane && transfer != Nanos::ZERO;
        let quiet = writes && !collector.preemptible() && collector.writes_back().is_none();
        let starts = quiet && unordered;
        let parts = matches!(place, Place::Static(_))
            && *scope == Scope::Plane
            && path.always().is_some()
            && collector.undisturbed()
            && *wear_levelling == WearLevelling::None
            && geometry.data_pages == geometry.pages_per_block
            && no_errors
            && no_raid
            && no_copies;
        FastPaths {
            allowed: true,
            legs,
            transfers,
            vacant,
            moves,
            chains,
            joint,
            alone,
            pauses,
            steps,
            turns,
            lane,
            writes,
            unordered,
            books,
            quiet,
            starts,
            parts,
        }
    }
}

impl Ssd {
    /// Enables or disables shortcuts. They are enabled by default, and disabled while an observer watches legs. For tests and
    /// measurements: results do not change.
    pub fn set_fusing(&mut self, fusing: bool) {
        self.unfuse_all();
        let plain = self.features.failures.is_none() && !self.rules.watches && !self.rules.tenants && !self.rules.mixed;
        let open = fusing && plain && !self.observer.watches.legs;
        let paths = if open {
            FastPaths::of_device(&self.config, &self.dev.geometry, &self.schemes.victim)
        } else {
            FastPaths::NONE
        };
        self.fast = FastPaths { allowed: fusing, ..paths };
    }

    /// What closes shortcuts has changed.
    pub(super) fn reopen(&mut self) {
        self.set_fusing(self.fast.allowed);
    }
}
