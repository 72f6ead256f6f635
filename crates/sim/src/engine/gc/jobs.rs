//! Collections in progress, and folds of the cache of SLC, which are collections of a kind.

use crate::device::flash::Stream;
use crate::device::transaction::{Class, Fifo, Op};
use crate::engine::Ssd;
use crate::engine::features::metadata::Due;
use crate::engine::kernel::dies::Holder;
use crate::engine::kernel::ops::NO_SEGMENT;
use crate::engine::lab::former::Former;
use crate::policy::{Hop, Job, Journey};
use crate::units::{JobId, Nanos, OpId, PlaneId, UnitId};

/// Why a block of the cache of SLC is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Why {
    /// Its die was idle for long.
    Idle,
    /// The cache was full to a level.
    Level,
    /// A write waits for it.
    Forced,
}

/// A collection in progress, with the engine's own data.
#[derive(Clone)]
pub(in crate::engine) struct Running {
    pub(in crate::engine) job: Job,
    /// Why a block of the cache of SLC is folded, if that is what it does.
    pub(in crate::engine) fold: Option<Why>,
    /// Its policies, if the device has others by now.
    pub(in crate::engine) former: Option<Box<Former>>,
    /// The plane that triggered it.
    pub(in crate::engine) plane: PlaneId,
    /// Participating planes, as bits by index in the unit.
    pub(in crate::engine) planes: u64,
    /// The write point of the current move.
    pub(in crate::engine) stream: Stream,
    pub(in crate::engine) unit: UnitId,
    /// The operation for its steps, one at a time.
    pub(in crate::engine) op: OpId,
    /// Whether a step is in progress.
    pub(in crate::engine) busy: bool,
    /// Programs in other units that have not landed. The erase waits for them.
    pub(in crate::engine) abroad: u32,
    /// Whether it holds its unit throughout.
    pub(in crate::engine) holds: bool,
    /// Whether it waits for these programs before the erase.
    pub(in crate::engine) waiting: bool,
    /// Metadata of its blocks that must still be read or written.
    pub(in crate::engine) metadata: Due,
    /// Journey of the current move's pages, and the hop of those in hand.
    pub(in crate::engine) journey: Journey,
    pub(in crate::engine) rest: Hop,
    /// Whether the current move only fetches: its pages leave the die whatever the path is.
    pub(in crate::engine) fetches: bool,
    /// Its segment in the controller's buffer, or none; staged pages that are not handed over yet.
    pub(in crate::engine) segment: u32,
    pub(in crate::engine) staged: Fifo,
    /// Whether its unit serves other operations.
    pub(in crate::engine) pause: Pause,
    /// Whether its next step is taken unconditionally: it is the first step, or the first after a pause.
    pub(in crate::engine) sure: bool,
    /// Time at which its unit was last offered to writes that any die may serve.
    pub(in crate::engine) offered: Nanos,
    /// Units of the super page that is being read, as bits by their places.
    pub(in crate::engine) units: u64,
}

/// Why a unit serves other operations during a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Pause {
    /// It does not.
    No,
    /// Host operations have priority.
    Preempted,
    /// The erase waits until the victim's pages are on flash again.
    Durable,
}

/// A collection begins, or a fold.
pub(in crate::engine) fn begin_job(
    ssd: &mut Ssd,
    job: Job,
    planes: u64,
    plane: PlaneId,
    unit: UnitId,
    fold: Option<Why>,
) {
    let age = ssd.kernel.age();
    let class = if fold.is_some() { Class::Fold } else { Class::Gc };
    let channel = ssd.dev.geometry.channel_of(plane);
    let op = ssd.kernel.ops.create(Op { class, unit, plane, channel, age, ..Op::blank() });
    let job = JobId(ssd.gc.jobs.insert(Running {
        job,
        fold,
        former: None,
        planes,
        plane,
        unit,
        op,
        busy: false,
        abroad: 0,
        holds: ssd.rules.collector_holds,
        waiting: false,
        stream: Stream::Gc,
        metadata: ssd.dev.metadata_at_start(),
        journey: Journey::EXTERNAL,
        rest: Hop::Controller,
        fetches: false,
        segment: NO_SEGMENT,
        staged: Fifo::EMPTY,
        pause: Pause::No,
        sure: true,
        offered: Nanos::NEVER,
        units: 0,
    }));
    ssd.kernel.ops[op].job = job;
    if ssd.gc.jobs[job.0].holds {
        ssd.kernel.dies[unit].job = job;
        seize_for_job(ssd, job);
    }
    if fold.is_none() {
        ssd.kernel.dies[unit].collections += 1;
        ssd.features.note_start(&ssd.kernel, &ssd.dev, &ssd.host);
    }
    ssd.gc.ready.push(job);
}

/// The unit of a collection, or of a fold, serves it.
#[inline(always)]
pub(in crate::engine) fn seize_for_job(ssd: &mut Ssd, id: JobId) {
    let Running { unit, planes, plane, fold, .. } = ssd.gc.jobs[id.0];
    match fold {
        None => ssd.kernel.seize_for_gc(&ssd.dev, ssd.now, unit, planes, plane),
        Some(_) => ssd.kernel.seize_unit(&ssd.dev, ssd.now, unit, Holder::Fold, plane),
    }
}
