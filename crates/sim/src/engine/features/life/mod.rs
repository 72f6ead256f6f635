//! Lifetime (`life.*`): what is counted when blocks fail, and what happens at the end of the device's writing.
//!
//! The flash knows when a block fails, and which spare block takes its place (`device/flash/life.rs`). Here is what follows: programs
//! that are repeated (`programs.rs`), blocks that are emptied after one has failed (`salvage.rs`), both in no time (`now.rs`), and
//! writes that are rejected after the end.

pub(in crate::engine) mod now;
pub(in crate::engine) mod programs;
pub(in crate::engine) mod salvage;

use crate::config::Config;
use crate::device::flash::FailedBy;
use crate::device::geometry::Geometry;
use crate::engine::rules::Rules;
use crate::engine::spine::complete::{PageEnd, completed};
use crate::engine::spine::ring::Waiting;
use crate::engine::{Device, Features, Ssd};
use crate::observe::Completed;
use crate::report::life::{Dwpd, End, LifeReport, LifeSample, Rejected, RetiredBlocks, SpareLeft, thinned};
use crate::stats::Stats;
use crate::units::{BlockId, Nanos, PlaneId, Ppm};

/// A block has failed: bytes that the host had written, and usable and spare blocks after that.
#[derive(Clone, Copy)]
struct Failure {
    host_bytes: u64,
    left: u64,
}

/// State of the feature beside the flash's.
#[derive(Clone)]
pub(in crate::engine) struct Life {
    accelerate: u32,
    years: Vec<u32>,
    planes: u64,
    /// Blocks that wear out, and those of them that were bad from the factory.
    blocks: u64,
    initial: u64,
    /// Blocks that failed, by an erase and by a program.
    retired: [u64; 2],
    failures: Vec<Failure>,
    /// The plane that ended the device's writing, and when.
    end: Option<(PlaneId, Nanos)>,
    rejected: Rejected,
    /// Failed blocks that were emptied.
    salvages: u64,
}

impl Life {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Option<Box<Self>> {
        let spec = config.life_spec()?;
        let planes = u64::from(geometry.planes);
        let blocks = u64::from(geometry.blocks_per_plane - config.slc_blocks());
        Some(Box::new(Life {
            accelerate: config.life.accelerate,
            years: config.life.dwpd_years.clone(),
            planes,
            blocks: planes * blocks,
            initial: planes * u64::from(spec.initial_bad),
            retired: [0; 2],
            failures: Vec::new(),
            end: None,
            rejected: Rejected::default(),
            salvages: 0,
        }))
    }

    /// Blocks that have failed in the run.
    fn failed(&self) -> u64 {
        self.retired.iter().sum()
    }
}

impl Features {
    /// A block has been erased: notes the blocks that have failed, if blocks wear out.
    #[inline(always)]
    pub(in crate::engine) fn block_erased(&mut self, dev: &mut Device, stats: &Stats, rules: &Rules, now: Nanos) {
        if rules.life {
            self.note_retired(dev, stats, now);
        }
    }

    /// Notes the blocks that have failed at the current time.
    #[inline(never)]
    pub(in crate::engine) fn note_retired(&mut self, dev: &mut Device, stats: &Stats, now: Nanos) {
        let host_bytes = stats.bytes.written;
        let ended = dev.flash.ended_by();
        let Some(life) = &mut self.life else { return };
        for retired in dev.flash.take_retired() {
            life.retired[usize::from(retired.by == FailedBy::Program)] += 1;
            let left = life.blocks - life.initial - life.failed();
            life.failures.push(Failure { host_bytes, left });
            if ended == Some(retired.plane) && life.end.is_none() {
                life.end = Some((retired.plane, now));
            }
        }
    }
}

/// The device is filled: blocks may fail.
pub(in crate::engine) fn begins(ssd: &mut Ssd) {
    ssd.dev.flash.begin_life();
}

/// A write is admitted. After the end it completes at once, with an error: returns whether it has. False unless blocks wear out.
#[inline(always)]
pub(in crate::engine) fn rejects(ssd: &mut Ssd, next: &Waiting, index: u64) -> bool {
    ssd.rules.life && rejects_write(ssd, next, index)
}

/// The same where blocks wear out.
#[inline(never)]
fn rejects_write(ssd: &mut Ssd, next: &Waiting, index: u64) -> bool {
    if !ssd.ended() {
        return false;
    }
    let request = next.request;
    let (_, pages) = ssd.host.pages_of(&ssd.dev, &ssd.config, next);
    ssd.host.drop_extents(next);
    count_rejected(ssd, pages);
    let (arbitration, extras) = ssd.features.waits_at_admission();
    ssd.host.loop_continues(ssd.now);
    let end = PageEnd::now(ssd.now, (ssd.now - request.arrival).0 - arbitration);
    let tenant = next.marks.tenant;
    let rejected = || {
        let at_once = completed(&request, index, false, 0, end.shown(), (&extras, tenant, None), ssd.now);
        Completed { rejected: true, ..at_once }
    };
    ssd.observer.watch_completion(rejected);
    true
}

/// A write of so many pages is rejected.
fn count_rejected(ssd: &mut Ssd, pages: u64) {
    ssd.kernel.idle_rounds = 0;
    ssd.stats.completed += 1;
    if let Some(life) = &mut ssd.features.life {
        life.rejected.requests += 1;
        life.rejected.pages += pages;
    }
}

impl Ssd {
    /// Whether the device accepts no more writes, because a plane has used up its spare blocks.
    pub fn ended(&self) -> bool {
        self.dev.flash.ended_by().is_some()
    }
}

/// The report of the run.
pub(in crate::engine) fn report(ssd: &Ssd) -> Option<LifeReport> {
    let life = ssd.features.life.as_deref()?;
    let flash = &ssd.dev.flash;
    let times = u64::from(life.accelerate);
    let (bytes, pages) = (ssd.stats.bytes.written * times, ssd.stats.pages.written * times);
    let (wear, _, _, limits) = flash.wear_and_limits();
    let limits = u128::from(limits) * u128::from(Ppm::ONE);
    let (fewest, spares) = flash.spares_left();
    let failures: Vec<[u64; 2]> = life.failures.iter().map(|one| [one.host_bytes * times, one.left]).collect();
    let end = life.end.map(|(plane, at)| End {
        reason: "spare blocks used up",
        plane: plane.0,
        host_pages: pages,
        host_bytes: bytes,
        at_ns: at.0 * times,
    });
    let projected = end.is_none() && wear > 0;
    let exported = ssd.capacity_bytes();
    Some(LifeReport {
        accelerated: (times > 1).then_some(life.accelerate),
        tbw_bytes: bytes,
        dwpd: Dwpd(life.years.iter().map(|years| (*years, dwpd(bytes, exported, *years))).collect()),
        projected_tbw_bytes: projected.then(|| (u128::from(bytes) * limits / wear) as u64),
        write_amplification_by_tenth: ssd.stats.tenths(),
        retired: RetiredBlocks { erase: life.retired[0], program: life.retired[1], initial: life.initial },
        spare_left: SpareLeft { min: fewest, mean: spares as f64 / life.planes as f64 },
        first_failure_host_bytes: failures.first().map(|[bytes, _]| *bytes),
        used_endurance: wear as f64 / limits as f64,
        survival: thinned(failures),
        rejected: life.rejected,
        salvaged_blocks: life.salvages,
        lost_pages: ssd.dev.errors.as_ref().map(|_| ssd.stats.ecc.lost()),
        end,
    })
}

/// Bytes as writes of the whole drive a day over so many years.
fn dwpd(bytes: u64, exported: u64, years: u32) -> f64 {
    bytes as f64 / (exported as f64 * 365.0 * f64::from(years))
}

/// Blocks now, for samples.
pub(in crate::engine) fn sample(ssd: &Ssd) -> Option<LifeSample> {
    let life = ssd.features.life.as_deref()?;
    let (wear, most, blocks, _) = ssd.dev.flash.wear_and_limits();
    Some(LifeSample {
        retired: life.failed(),
        spare_left: ssd.dev.flash.spares_left().1,
        wear_mean: (wear / u128::from(blocks)) as u64,
        wear_max: most,
    })
}

/// A collection has ended. Returns whether it was none, because it has emptied a failed block; never where no programs fail.
#[inline(always)]
pub(in crate::engine) fn ends(ssd: &mut Ssd, block: BlockId) -> bool {
    ssd.rules.fails && ends_salvage(ssd, block)
}

/// Whether a collection that has ended was none, because it has emptied a failed block: then it is counted.
fn ends_salvage(ssd: &mut Ssd, block: BlockId) -> bool {
    let plane = ssd.dev.geometry.plane_of_block(block);
    let salvaged = ssd.dev.flash.is_being_salvaged(plane, block);
    if salvaged {
        ssd.dev.flash.is_salvaged(block);
        ssd.features.life.iter_mut().for_each(|life| life.salvages += 1);
    }
    salvaged
}
