//! The simulated drive: one plane, sequentially filled, that is written without time.

use ssdlab_lab::error::Result;
use ssdlab_lab::settings::Settings;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Request, RequestOp, Ssd};
use ssdlab_trace::workload::Spec;

use crate::candidates::Candidate;
use crate::cost::Moves;
use crate::pattern::{PAGE, Pattern};

/// Blocks and pages a block of the plane. With fewer pages the beginning of a run is wrong: a real superblock has many more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks of the plane.
    pub blocks: u32,
    /// Pages of a block.
    pub pages: u32,
}

impl Default for Geometry {
    fn default() -> Geometry {
        Geometry { blocks: 512, pages: 512 }
    }
}

/// A simulated drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Its policy of GC.
    pub candidate: Candidate,
    /// Share of its pages that is not exported, in millionths. What GC keeps free is part of it.
    pub spare: u32,
    /// Its plane.
    pub geometry: Geometry,
}

/// What a run needs beside the model.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Bytes of the real drive.
    pub capacity: u64,
    /// Bytes of its superblock, if known.
    pub superblock: Option<u64>,
    /// Seed of every draw.
    pub seed: u64,
}

/// Bytes that are one page of the model where zones are written: zones are whole multiples of nearly this.
const ZONE_UNIT: u64 = 4 << 20;

/// Bins a drive write.
const BINS: u64 = 40;

impl Model {
    /// Its keys of a configuration, with their values in TOML.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let Geometry { blocks, pages } = self.geometry;
        let [victim, frontiers] = self.candidate.keys();
        vec![
            victim,
            frontiers,
            ("device.over_provisioning", format!("{:?}", f64::from(self.spare) / 1e6)),
            ("geometry.channels", "1".into()),
            ("geometry.chips_per_channel", "1".into()),
            ("geometry.dies_per_chip", "1".into()),
            ("geometry.planes_per_die", "1".into()),
            ("geometry.blocks_per_plane", blocks.to_string()),
            ("geometry.pages_per_block", pages.to_string()),
            ("geometry.page_size", "\"4KiB\"".into()),
            ("precondition.mode", "\"sequential\"".into()),
        ]
    }

    /// The configuration as TOML.
    pub fn config(&self) -> String {
        self.keys().into_iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
    }

    /// Pages moved a host page over so many drive writes of a pattern, after a sequential fill. None for a pattern of which the
    /// model says nothing: zones where the superblock is not known.
    ///
    /// # Errors
    /// The device can't be built: the spare space is too small for the geometry, or a zone does not fit.
    pub fn moves(&self, pattern: &Pattern, drive_writes: f64, situation: &Situation) -> Result<Option<Moves>> {
        match pattern {
            Pattern::Sequential => Ok(Some(Moves { bin: drive_writes, moved: vec![0.0] })),
            Pattern::Span(bytes) => {
                // Only so much of the drive holds data; the rest of it is spare.
                let used = (1e6 - f64::from(self.spare)) * *bytes as f64 / situation.capacity as f64;
                let spare = 1_000_000 - (used.round() as u32).min(1_000_000 - self.spare);
                Model { spare, ..*self }.written(pattern, drive_writes, situation).map(Some)
            }
            Pattern::Zones { active, zone } => self.zoned(*active, *zone, drive_writes, situation),
            _ => self.written(pattern, drive_writes, situation).map(Some),
        }
    }

    fn written(&self, pattern: &Pattern, drive_writes: f64, situation: &Situation) -> Result<Moves> {
        let Some(spec) = pattern.workload(situation.capacity) else { return Ok(Moves::default()) };
        run(&self.config(), &spec, drive_writes, situation.seed)
    }

    /// Zones on superblocks: pages stand for 4 MiB.
    fn zoned(&self, active: u32, zone: u64, drive_writes: f64, situation: &Situation) -> Result<Option<Moves>> {
        let Some(superblock) = situation.superblock else { return Ok(None) };
        let share = 1.0 - f64::from(self.spare) / 1e6;
        let pages = (superblock / ZONE_UNIT).max(1) as u32;
        let blocks = (situation.capacity as f64 / share / superblock as f64).round() as u32;
        let zone = ((zone as f64 / ZONE_UNIT as f64).round() as u64).max(1);
        let model = Model { geometry: Geometry { blocks, pages }, ..*self };
        run(&model.config(), &Pattern::zones(active, zone), drive_writes, situation.seed).map(Some)
    }
}

/// Writes a device of one plane, given as the TOML of its configuration, and counts what GC moves by bins of host writes.
///
/// # Errors
/// The device can't be built, or the workload does not fit it.
pub fn run(config: &str, spec: &Spec, drive_writes: f64, seed: u64) -> Result<Moves> {
    let settings = Settings::parse("the model of a drive", config)?;
    let mut ssd = Ssd::new(&settings.config, seed, Check::Off).map_err(|error| settings.refuse(&error))?;
    let pages = ssd.capacity_bytes() / PAGE;
    let bins = ((drive_writes * BINS as f64).round() as u64).max(1);
    let edge = |bin: u64| pages * bin / BINS;
    let mut requests = spec.build(ssd.capacity_bytes(), PAGE, seed, Some(edge(bins))).map_err(|error| {
        ssdlab_lab::error::Error::usage(format!("the model of a drive: {error}"))
            .help("give patterns that fit the drive, or its --capacity")
    })?;
    let moved = |ssd: &Ssd| {
        let flash = ssd.sample().flash;
        flash.programs.gc + flash.copybacks
    };
    let mut result = Moves { bin: 1.0 / BINS as f64, moved: Vec::with_capacity(bins as usize) };
    let mut before = moved(&ssd);
    for bin in 0..bins {
        let writes = edge(bin + 1) - edge(bin);
        for record in requests.by_ref().take(writes as usize) {
            let (offset, bytes) = (record.offset, record.bytes);
            ssd.apply(Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset, bytes });
        }
        ssd.apply_rest();
        let now = moved(&ssd);
        result.moved.push((now - before) as f64 / writes as f64);
        before = now;
    }
    Ok(result)
}
