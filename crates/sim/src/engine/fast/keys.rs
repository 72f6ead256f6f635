//! The shortcuts that the keys of a configuration allow.
//!
//! Every key is named, so a new key does not compile until it is decided here: `_` if the shortcuts hold for all its values. A
//! condition lists the values for which a shortcut is known to hold, so a new value closes it.

use crate::config::{
    Arbitration, Cache, Config, Destination, Device, Ecc, Errors, Faults, Fdp, Ftl, Gc, GcTime, Geometry, Life, Noc,
    NocModel, Nvme, OrderKnobs, PageOrder, PageTimes, PartialRead, Precondition, Programming, QueueClass, Raid,
    RaidLayout, Run, Schemes, Scope, Slc, SlcMode, Staging, Suspendable, Timing, Variation, Wear, WearLevelling,
    WriteAck, WritePoints, Writeback,
};
use crate::device::geometry;
use crate::engine::fast::{FastPaths, chains};
use crate::engine::spine::merge::SECTOR;
use crate::policy::{Collector, Journey, MovePath, Order};
use crate::schemes::Place;
use crate::units::Nanos;

/// The keys that shortcuts depend on, section by section, and the device that they make.
pub(super) struct Keys<'c> {
    config: &'c Config,
    geometry: &'c geometry::Geometry,
    page_order: &'c PageOrder,
    timing: TimingKeys<'c>,
    device: DeviceKeys<'c>,
    gc: GcKeys<'c>,
    ftl: FtlKeys<'c>,
    schemes: SchemeKeys<'c>,
    /// Classes of a die's queue, in the order in which they are served.
    classes: Option<&'c [QueueClass]>,
    /// Reads before others in a die's queue go behind what was decided.
    first_come: bool,
    no_noc: bool,
    one_queue: bool,
    by_page: bool,
    no_decoder: bool,
    no_errors: bool,
    no_raid: bool,
    chips_stay: bool,
    no_arbitration: bool,
    no_cache: bool,
    /// Dispatches issue no lines to idle dies.
    lines_rest: bool,
    no_slc: bool,
    no_failed_programs: bool,
}

struct TimingKeys<'c> {
    read: &'c PageTimes,
    program: &'c PageTimes,
    no_command: bool,
    cache_register: bool,
    no_host_link: bool,
    suspendable: &'c Suspendable,
    /// All blocks and layers take the same time.
    steady: bool,
}

impl<'c> TimingKeys<'c> {
    fn of(timing: &'c Timing) -> Self {
        let Timing {
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
            // Nothing that may be suspended shares its array's end with another event.
            suspend_slice: _,
            copyback: _,
            variation: Variation { block, layer },
        } = timing;
        TimingKeys {
            read,
            program,
            no_command: *command == Nanos::ZERO,
            cache_register: *cache_register,
            no_host_link: host_link.is_none(),
            suspendable,
            steady: block.0 == 0 && layer.0 == 0,
        }
    }

    fn takes_time(times: &PageTimes) -> bool {
        !times.types().contains(&Nanos::ZERO)
    }
}

struct DeviceKeys<'c> {
    write_ack: &'c WriteAck,
    keep_overwritten: bool,
    partial_read: &'c PartialRead,
}

impl<'c> DeviceKeys<'c> {
    fn of(device: &'c Device) -> Self {
        let Device {
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
        } = device;
        DeviceKeys { write_ack, keep_overwritten: *keep_overwritten, partial_read }
    }
}

struct GcKeys<'c> {
    no_hard_threshold: bool,
    scope: &'c Scope,
    time: &'c GcTime,
    destination: &'c Destination,
}

impl<'c> GcKeys<'c> {
    fn of(gc: &'c Gc) -> Self {
        let Gc { threshold: _, hard_threshold, scope, reserve: _, time, destination, remainder: _ } = gc;
        GcKeys { no_hard_threshold: hard_threshold.is_none(), scope, time, destination }
    }
}

struct FtlKeys<'c> {
    write_points: &'c WritePoints,
    wear_levelling: &'c WearLevelling,
}

impl<'c> FtlKeys<'c> {
    fn of(ftl: &'c Ftl) -> Self {
        let Ftl { write_points, free_block: _, wear_levelling, wear_spread: _ } = ftl;
        FtlKeys { write_points, wear_levelling }
    }
}

struct SchemeKeys<'c> {
    order: &'c dyn Order,
    collector: &'c dyn Collector,
    path: &'c dyn MovePath,
    place: &'c Place,
    no_copies: bool,
    no_redirects: bool,
    no_idle_time: bool,
}

impl<'c> SchemeKeys<'c> {
    fn of(schemes: &'c Schemes) -> Self {
        let Schemes { order, route, place, victim: _, collector, path, trigger } = schemes;
        SchemeKeys {
            order: order.policy_ref(),
            collector: collector.policy_ref(),
            path: path.policy_ref(),
            place,
            no_copies: route.replicate().is_none(),
            no_redirects: route.redirect().is_none(),
            no_idle_time: trigger.policy_ref().patience().is_none(),
        }
    }
}

fn page_order(geometry: &Geometry) -> &PageOrder {
    let Geometry {
        channels: _,
        chips_per_channel: _,
        dies_per_chip: _,
        planes_per_die: _,
        blocks_per_plane: _,
        pages_per_block: _,
        page_size: _,
        page_order,
        pages_per_program: _,
        planes_per_program: _,
    } = geometry;
    page_order
}

fn classes(order: &OrderKnobs) -> Option<&[QueueClass]> {
    let OrderKnobs { chip_queue: _, delay_writes: _, die_queue, read_burst: _ } = order;
    die_queue.classes()
}

fn no_noc(noc: &Noc) -> bool {
    let Noc {
        model,
        cycle: _,
        flit_bits: _,
        mean_slices: _,
        columns: _,
        rows: _,
        port: _,
        sram_write: _,
        sram_read: _,
        priority: _,
    } = noc;
    *model == NocModel::None
}

fn by_page(wear: &Wear) -> bool {
    let Wear { pe_cycles: _, copyback_thresholds: _, rated_pe_cycles: _, programming } = wear;
    *programming == Programming::Page
}

/// Whether decoding takes no time, and whether there are no errors.
fn no_ecc(ecc: &Ecc) -> (bool, bool) {
    let Ecc {
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
        // Levels close all.
        levels,
        retry_set: _,
        retry_read: _,
        retry_holds: _,
        retry_pipelined: _,
        initial_age: _,
        age_factor: _,
        refresh: _,
    } = ecc;
    (*decode == Nanos::ZERO && levels.is_empty(), *errors == Errors::None)
}

/// Whether nothing is cached, and whether dispatches issue no lines to idle dies.
fn cached(cache: &Cache) -> (bool, bool) {
    let Cache {
        size,
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
        pack: _,
    } = cache;
    (size.0 == 0, !cache.buffers() || *writeback != Writeback::Idle)
}

fn no_slc(slc: &Slc) -> bool {
    let Slc {
        mode,
        bits: _,
        blocks: _,
        share: _,
        read: _,
        program: _,
        erase: _,
        endurance: _,
        accepts: _,
        small: _,
        window: _,
        full: _,
        fold: _,
        idle: _,
        high: _,
        low: _,
        victim: _,
        path: _,
        reads: _,
    } = slc;
    *mode == SlcMode::None
}

/// What several keys say of the moves of a collection.
struct Moves {
    /// They travel alike, and stay in their plane.
    alike: bool,
    /// The same, where GC has its die to itself and commands take no time.
    alone: bool,
    /// The collection holds its die, and nothing else takes pages from its write point.
    held: bool,
    /// They may share an event.
    chained: bool,
    transfer: bool,
}

impl<'c> Keys<'c> {
    /// The keys of a configuration.
    pub(super) fn of(config: &'c Config, geometry: &'c geometry::Geometry) -> Self {
        let Config {
            geometry: array,
            timing,
            device,
            gc,
            ftl,
            precondition: Precondition { mode: _, valid: _, invalid: _, overwrite: _ },
            run: Run { warmup: _ },
            schemes,
            order,
            noc,
            wear,
            ecc,
            raid: Raid { layout, numbering: _, group: _, encode_timeout: _, write_mode: _ },
            staging: Staging { slots: _ },
            faults: Faults { power_cut: _, chip_fails, rebuild: _, read_errors: _, write_errors: _, blocks: _ },
            nvme: Nvme { arbitration, burst: _, queues: _ },
            cache,
            // Several handles close all but two shortcuts.
            fdp: Fdp { handles: _, isolation: _, assign: _, unknown: _, unit: _, window: _ },
            // A cache closes all.
            slc,
            // Blocks that wear out close all but two shortcuts, and programs that fail close all.
            life:
                Life {
                    mode: _,
                    endurance: _,
                    spread: _,
                    initial_bad: _,
                    spare_blocks: _,
                    spare_threshold: _,
                    program_failures: _,
                    retention: _,
                    accelerate: _,
                    dwpd_years: _,
                },
        } = config;
        let (no_decoder, no_errors) = no_ecc(ecc);
        let (no_cache, lines_rest) = cached(cache);
        let classes = classes(order);
        Keys {
            config,
            geometry,
            page_order: page_order(array),
            timing: TimingKeys::of(timing),
            device: DeviceKeys::of(device),
            gc: GcKeys::of(gc),
            ftl: FtlKeys::of(ftl),
            schemes: SchemeKeys::of(schemes),
            classes,
            first_come: classes.is_none_or(|classes| *classes == [QueueClass::Rhost]),
            no_noc: no_noc(noc),
            one_queue: noc.priority().is_empty(),
            by_page: by_page(wear),
            no_decoder,
            no_errors,
            no_raid: *layout == RaidLayout::None,
            chips_stay: chip_fails.is_empty(),
            no_arbitration: *arbitration == Arbitration::None,
            no_cache,
            lines_rest,
            no_slc: no_slc(slc),
            no_failed_programs: !config.fails_programs(),
        }
    }

    /// Nothing that GC meets depends on registers, acknowledgements or classes of operations.
    fn gc_is_plain(&self) -> bool {
        self.no_noc
            && self.no_cache
            && self.no_arbitration
            && self.chips_stay
            && (self.no_raid || self.no_errors)
            && self.schemes.no_idle_time
    }

    fn never_suspends(&self) -> bool {
        *self.timing.suspendable == Suspendable::None
    }

    fn legs(&self) -> bool {
        self.gc_is_plain()
            && self.never_suspends()
            && self.classes.is_none()
            && !self.timing.cache_register
            && *self.device.write_ack == WriteAck::AfterProgram
    }

    fn pauses_for_others(&self) -> bool {
        let collector = self.schemes.collector;
        collector.preemptible() || collector.writes_back().is_some_and(|plan| !plan.erase_first)
    }

    fn transfers(&self) -> bool {
        self.chips_stay
            && (self.no_raid || self.no_errors)
            && self.schemes.no_idle_time
            && self.lines_rest
            && (self.never_suspends() || !self.pauses_for_others())
    }

    /// No page of a block is taken by metadata.
    fn whole_blocks(&self) -> bool {
        self.geometry.data_pages == self.geometry.pages_per_block
    }

    fn windowed(&self) -> bool {
        !self.schemes.order.eager() || self.config.chip_queue().is_some() || self.config.delays_writes()
    }

    fn moves(&self) -> Moves {
        let (timing, gc, schemes) = (&self.timing, &self.gc, &self.schemes);
        let alike = timing.steady
            && schemes.path.always().is_some()
            && self.no_errors
            && self.no_decoder
            && self.by_page
            && *gc.destination == Destination::Plane
            && *gc.scope == Scope::Plane
            && TimingKeys::takes_time(timing.read)
            && TimingKeys::takes_time(timing.program);
        // The destination page is taken when the read-out begins, not when it ends, so nothing else may take pages from that
        // write point.
        let apart = *self.ftl.write_points == WritePoints::Separate;
        let transfer = self.config.timing.channel().time(u64::from(self.geometry.unit_bytes)) != Nanos::ZERO;
        let chained = apart
            && chains::Chains::fit(self.config)
            && transfer
            && self.whole_blocks()
            && self.one_queue
            // In the buffer, groups use chunks that moves have in hand.
            && (self.no_raid || !self.config.stages())
            && schemes.no_copies
            && !self.device.keep_overwritten
            && !schemes.path.separates()
            && !schemes.path.keeps_counts();
        // A move has no part that is an erase.
        let runs_through = *timing.suspendable != Suspendable::ProgramErase;
        let alone = alike && self.gc_is_plain() && runs_through && timing.no_command;
        Moves { alike, alone, held: schemes.collector.holds() && apart, chained, transfer }
    }

    fn joint(&self, moves: &Moves) -> bool {
        let collector = self.schemes.collector;
        moves.alone
            && moves.held
            && moves.chained
            && self.no_raid
            && self.schemes.path.always() == Some(Journey::COPYBACK)
            && !collector.undisturbed()
            && !collector.preemptible()
            && !self.config.stages()
            && self.geometry.planes_per_unit == 2
    }

    fn steps(&self, moves: &Moves) -> bool {
        let collector = self.schemes.collector;
        // What joins a queue between a decision and the dispatch after it goes behind the step that was decided.
        let among_others = self.transfers()
            && moves.alike
            && self.schemes.path.always() == Some(Journey::EXTERNAL)
            && self.no_noc
            && !self.pauses_for_others()
            && self.first_come;
        // A step that follows another one is on its chip.
        let one_chip = self.geometry.units >= self.geometry.chips;
        (moves.alone && self.legs() || among_others)
            && one_chip
            && collector.undisturbed()
            && !collector.holds()
            && moves.transfer
            && self.whole_blocks()
            && !self.config.stages()
            && *self.schemes.place != Place::Dynamic
            && self.one_queue
            && self.no_raid
            && self.schemes.no_copies
    }

    fn vacant(&self) -> bool {
        let collector = self.schemes.collector;
        !self.legs()
            && !collector.holds()
            && collector.undisturbed()
            && self.schemes.path.always().is_some()
            && self.no_errors
            && self.schemes.no_idle_time
            && !self.pauses_for_others()
            && !self.config.stages()
            && *self.gc.destination == Destination::Plane
            && *self.gc.scope == Scope::Plane
            && *self.schemes.place != Place::Dynamic
            && self.no_noc
            && self.whole_blocks()
            && self.one_queue
            && self.first_come
            && self.no_raid
            && self.schemes.no_copies
            && !self.windowed()
    }

    /// Reads meet nothing that chooses among them: a die that may choose something else, or may be suspended for them, is left to the
    /// general steps.
    fn reads_pass(&self) -> bool {
        self.gc_is_plain()
            && *self.timing.suspendable != Suspendable::ProgramErase
            && !self.timing.cache_register
            && *self.device.write_ack == WriteAck::AfterProgram
            && self.schemes.collector.holds()
            && matches!(self.schemes.place, Place::Static(_))
    }

    fn lane(&self) -> bool {
        // A part of a page, too, takes time on its channel.
        let crosses = self.config.timing.channel().time(SECTOR) != Nanos::ZERO;
        (self.legs() || self.reads_pass())
            && crosses
            && self.one_queue
            && self.by_page
            && *self.device.partial_read == PartialRead::Bytes
            && self.no_errors
            && self.no_decoder
            && self.timing.no_command
            && self.no_raid
            && self.schemes.no_copies
            && self.schemes.no_redirects
            && !self.schemes.path.separates()
            && !self.windowed()
            // Those of the buffer are not counted.
            && !(self.config.schemes.reports_conflicts() && self.config.stages())
            // Operations in the lane are not counted by page type.
            && *self.page_order == PageOrder::Cyclic
            && self.timing.steady
            && TimingKeys::takes_time(self.timing.read)
    }

    fn writes(&self, moves: &Moves) -> bool {
        self.lane()
            && matches!(self.schemes.place, Place::Static(_))
            && !self.config.stages()
            && !self.device.keep_overwritten
            && moves.transfer
            && TimingKeys::takes_time(self.timing.program)
            && self.whole_blocks()
    }

    fn parts(&self) -> bool {
        matches!(self.schemes.place, Place::Static(_))
            && *self.gc.scope == Scope::Plane
            && self.schemes.path.always().is_some()
            && self.schemes.collector.undisturbed()
            && *self.ftl.wear_levelling == WearLevelling::None
            && self.whole_blocks()
            && self.no_errors
            && self.no_raid
            && self.schemes.no_copies
    }

    /// The shortcuts that a configuration allows.
    pub(super) fn shortcuts(&self) -> FastPaths {
        if !(self.no_slc && self.no_failed_programs) {
            return FastPaths { allowed: true, ..FastPaths::NONE };
        }
        let (legs, of_moves, collector) = (self.legs(), self.moves(), self.schemes.collector);
        let moves = of_moves.alone && collector.undisturbed() && of_moves.held && of_moves.transfer;
        let chains = moves && of_moves.chained;
        let steps = self.steps(&of_moves);
        let external = self.schemes.path.always() == Some(Journey::EXTERNAL);
        let (lane, writes) = (self.lane(), self.writes(&of_moves));
        let alone = chains && !self.config.stages();
        // An end of theirs concerns nothing but their dies, and what is on their channels.
        let plain = writes && legs && self.timing.no_host_link;
        let unordered = plain && *self.gc.scope == Scope::Plane && *self.gc.time == GcTime::Real;
        // No collection pauses on a die for what waits there, and none stages pages.
        let quiet = writes && !collector.preemptible() && collector.writes_back().is_none();
        FastPaths {
            allowed: true,
            legs,
            transfers: self.transfers(),
            vacant: self.vacant(),
            moves,
            chains,
            joint: self.joint(&of_moves),
            alone,
            pauses: alone && plain && collector.preemptible() && self.gc.no_hard_threshold,
            steps,
            turns: of_moves.alone && legs && steps && of_moves.chained && external,
            lane,
            writes,
            unordered,
            books: lane && of_moves.transfer,
            quiet,
            reads: quiet && plain,
            starts: quiet && unordered,
            parts: self.parts(),
        }
    }
}
