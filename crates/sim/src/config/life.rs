//! Lifetime: blocks wear out, spare blocks take their place, and at the end the drive is read-only (`life.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{
    Config, ConfigError, Destination, Ecc, Errors, MappingUnit, NocModel, Programming, RaidLayout, ReclaimUnit,
    WriteAck,
};
use crate::device::spec::{FaultSpec, LifeSpec};
use crate::units::{Nanos, Ppm};

/// Fewest P/E cycles that an accelerated block may have: below, write amplification is that of a young drive.
pub const FEWEST_CYCLES: u32 = 100;

/// Largest endurance.
const MOST_CYCLES: u32 = 1_000_000;

/// P/E cycles that dynamic blocks of the cache of SLC have for each one of the others, by default.
const SLC_CYCLES: u32 = 10;

/// A day.
const DAY: u64 = 86_400_000_000_000;

choice! {
    /// Whether blocks wear out.
    LifeMode("lowercase") {
        /// They do not.
        None,
        /// They do: a block fails when it reaches its P/E cycles, and a spare block takes its place.
        Wear,
    }
}

choice! {
    /// What the bit errors decide.
    ByErrors("lowercase") {
        /// P/E cycles up to which data can be corrected at the end of `life.retention`.
        Ecc,
    }
}

/// Mean P/E cycles of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a number of P/E cycles, or \"ecc\"")]
pub enum Endurance {
    /// So many.
    Cycles(u32),
    /// As many as ECC corrects.
    Errors(ByErrors),
}

section! {
    /// Lifetime: blocks fail when they have reached their P/E cycles, and spare blocks take their place. When a plane has no more of
    /// them than `spare_threshold`, the drive accepts no more writes.
    #[derive(PartialEq)]
    Life {
        /// Whether blocks wear out: `"none"` or `"wear"`.
        [since "0.1.3"]
        mode: LifeMode = LifeMode::None,
        /// Mean P/E cycles of a block; by default `wear.rated_pe_cycles`. `"ecc"`: the most at which the last level of `ecc.levels` (or
        /// `ecc.correctable`) corrects the worst page at the end of `retention`.
        [since "0.1.3"]
        endurance: Option<Endurance> = None,
        /// Standard deviation of a block's factor, which is log-normal with mean 1 and cut at three standard deviations. It depends on
        /// the seed and the block alone, so schemes that are compared have the same flash.
        [since "0.1.3"]
        spread: Ppm = Ppm(100_000),
        /// Share of a plane's blocks, rounded down, that are bad from the factory. They take the first spare blocks.
        [since "0.1.3"]
        initial_bad: Ppm = Ppm(0),
        /// Spare blocks of each plane, which replace failed ones: those with the highest numbers. They are part of the
        /// over-provisioning. By default 2 % of the blocks, rounded up.
        [since "0.1.3"]
        spare_blocks: Option<u32> = None,
        /// Share of a plane's spare blocks, rounded down: when no more are left, the drive is read-only.
        [since "0.1.3"]
        spare_threshold: Ppm = Ppm(0),
        /// Share of blocks whose end is a failed program in their last use, instead of a failed erase after it.
        [since "0.1.3"]
        program_failures: Ppm = Ppm(0),
        /// With `endurance = "ecc"`: how long data must survive without power at the end, such as `"90d"`.
        [since "0.1.3"]
        retention: Nanos = Nanos::ZERO,
        /// P/E cycles are divided by this, and results multiplied by it. At least 100 must be left.
        [since "0.1.3"]
        accelerate: u32 = 1,
        /// Years for which drive writes per day are reported.
        [since "0.1.3"]
        dwpd_years: Vec<u32> = vec![3, 5],
    }
}

section! {
    /// A block that fails: `{ plane = 0, block = 3, erases = 2 }` fails at its second erase; with `page = 5`, the program of its page 5
    /// after that erase fails.
    #[derive(PartialEq)]
    FaultyBlock {
        /// Its plane.
        plane: u32 = 0,
        /// Its index in the plane.
        block: u32 = 0,
        /// The erase that fails, or the erases before the program that fails.
        erases: u32 = 0,
        /// Index of the page whose program fails.
        page: Option<u32> = None,
    }
}

impl Life {
    /// Whether blocks wear out.
    pub fn exists(&self) -> bool {
        self.mode == LifeMode::Wear
    }
}

impl Config {
    /// Spare blocks of each plane.
    pub fn spare_blocks(&self) -> u32 {
        let two_percent = u64::from(self.geometry.blocks_per_plane) * 2;
        let default = (two_percent.div_ceil(100) as u32).max(1);
        if self.life.exists() { self.life.spare_blocks.unwrap_or(default) } else { 0 }
    }

    /// Blocks of each plane that are bad from the factory.
    fn initially_bad(&self) -> u32 {
        share_of(self.geometry.blocks_per_plane, self.life.initial_bad)
    }

    /// Spare blocks with which a plane ends the device's writing.
    fn fewest_spares(&self) -> u32 {
        share_of(self.spare_blocks(), self.life.spare_threshold)
    }

    /// Blocks of each plane that neither host nor GC can use: those of a fixed cache of SLC, and spare ones.
    pub(super) fn blocks_apart(&self) -> u32 {
        self.slc_blocks() + self.spare_blocks()
    }

    /// Whether programs may fail: as drawn, or as injected.
    pub(crate) fn fails_programs(&self) -> bool {
        self.life.exists() && (self.life.program_failures.0 > 0 || self.faults.blocks.iter().any(|b| b.page.is_some()))
    }

    /// Whether ties of victims go to the least erased block.
    pub(crate) fn breaks_ties(&self) -> bool {
        self.ftl.wear_levelling == super::WearLevelling::Dynamic
    }

    /// Mean P/E cycles of a block before they are divided by `life.accelerate`.
    pub fn endurance(&self) -> u32 {
        match self.life.endurance {
            None => self.wear.rated_pe_cycles,
            Some(Endurance::Cycles(cycles)) => cycles,
            Some(Endurance::Errors(ByErrors::Ecc)) => self.cycles_within_ecc(),
        }
    }

    /// The most P/E cycles at which the errors of the worst page, after `life.retention`, are corrected; 0 if none are.
    fn cycles_within_ecc(&self) -> u32 {
        let spec = self.ecc.spec();
        let most = u128::from(spec.correctable) * 1024;
        let retained = u128::from(spec.retention.0) * u128::from(self.life.retention.0) / u128::from(DAY);
        let fits = |cycles: u32| {
            let programmed = u128::from(crate::device::errors::errors_at(&spec, cycles));
            let spread = u128::from(Ppm::ONE) + u128::from(spec.spread.0);
            let one = u128::from(Ppm::ONE);
            programmed * spread * (one + retained) <= most * one * one
        };
        if !fits(0) {
            return 0;
        }
        // Between two points errors rise or fall evenly, so those before the first that does not fit do.
        let mut points = spec.program_errors.iter().map(|(cycles, _)| *cycles);
        let (mut low, mut high) = (0, points.find(|cycles| !fits(*cycles)).unwrap_or(MOST_CYCLES));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// Pages of a plane that are neither exported nor kept: spare blocks, the reserve of GC, and what GC keeps free are left out. They
    /// decide the write amplification.
    pub fn pages_in_play(&self) -> u64 {
        let per_block = u64::from(self.geometry.pages_per_block);
        let pages = u64::from(self.geometry.blocks_per_plane) * per_block;
        let planes = (self.pages_in_scope() / pages).max(1);
        let kept = u64::from(self.spare_blocks() + self.reserve()) * per_block;
        let threshold = self.free_pages(&self.gc.threshold) / planes;
        pages.saturating_sub(self.exported_per_plane() + kept + threshold)
    }

    /// What the flash knows of its lifetime, if it has one.
    pub(crate) fn life_spec(&self) -> Option<LifeSpec> {
        let life = &self.life;
        let endurance = self.endurance();
        let slc = self.slc.endurance.unwrap_or(endurance.saturating_mul(SLC_CYCLES)).max(1);
        life.exists().then(|| LifeSpec {
            endurance: endurance / life.accelerate,
            spread: life.spread,
            worn: self.wear.pe_cycles,
            slc_wear: u64::from(endurance) * Ppm::ONE / u64::from(slc),
            initial_bad: self.initially_bad(),
            spares: self.spare_blocks(),
            least_spares: self.fewest_spares(),
            program_failures: life.program_failures,
            fails_programs: self.fails_programs(),
            data_pages: self.geometry.pages_per_block - self.metadata_pages(),
            faults: self.faults.blocks.iter().map(FaultyBlock::spec).collect(),
        })
    }

    /// Checks the lifetime.
    pub(super) fn check_life(&self) -> Result<(), ConfigError> {
        if !self.life.exists() {
            return self.check_without_life();
        }
        self.check_endurance()?;
        self.check_spares()?;
        self.check_faulty_blocks()?;
        self.check_beside_life()?;
        self.check_beside_failing_programs()
    }

    /// Checks that nothing is said about the end of blocks that never wear out.
    fn check_without_life(&self) -> Result<(), ConfigError> {
        let keys = [
            (!self.faults.blocks.is_empty(), "faults.blocks"),
            (self.life.accelerate != 1, "life.accelerate"),
            (self.slc.endurance.is_some(), "slc.endurance"),
        ];
        match keys.into_iter().find(|(given, _)| *given) {
            Some((_, key)) => {
                refuse(key, "blocks do not wear out".to_string(), "use life.mode = \"wear\", or leave it out")
            }
            None => Ok(()),
        }
    }

    fn check_endurance(&self) -> Result<(), ConfigError> {
        let (life, endurance) = (&self.life, self.endurance());
        let by_errors = matches!(life.endurance, Some(Endurance::Errors(_)));
        if by_errors && self.ecc.errors == Errors::None {
            let message = "the bit errors of pages decide it, but none are simulated".to_string();
            return refuse("life.endurance", message, "use ecc.errors = \"model\", or a number of P/E cycles");
        }
        if !by_errors && life.retention > Nanos::ZERO {
            let message = "time without power decides nothing about a number of P/E cycles".to_string();
            return refuse("life.retention", message, "use life.endurance = \"ecc\", or leave it out");
        }
        if endurance == 0 || endurance > MOST_CYCLES {
            let message = format!("{endurance} P/E cycles, but blocks have 1 to {MOST_CYCLES}");
            let help =
                if by_errors { "use a shorter life.retention, or a stronger code" } else { "use for example 3000" };
            return refuse("life.endurance", message, help);
        }
        if self.slc.endurance == Some(0) {
            return refuse("slc.endurance", "0 P/E cycles".to_string(), "use 1 or more, or leave it out");
        }
        for (key, share) in [
            ("life.spread", life.spread),
            ("life.initial_bad", life.initial_bad),
            ("life.spare_threshold", life.spare_threshold),
            ("life.program_failures", life.program_failures),
        ] {
            if u64::from(share.0) > Ppm::ONE {
                return refuse(key, format!("{} is no share from 0 to 1", share.as_f64()), "use for example 0.1");
            }
        }
        if life.dwpd_years.contains(&0) {
            return refuse("life.dwpd_years", "0 years".to_string(), "list years such as [3, 5]");
        }
        if life.accelerate == 0 || life.accelerate > 1 && endurance / life.accelerate < FEWEST_CYCLES {
            let most = (endurance / FEWEST_CYCLES).max(1);
            let message = format!(
                "{endurance} P/E cycles / {} leave fewer than {FEWEST_CYCLES}, too few for a steady write amplification",
                life.accelerate
            );
            return refuse("life.accelerate", message, format!("use 1 to {most}"));
        }
        let Ecc { retention, refresh, .. } = self.ecc;
        if life.accelerate > 1 && (retention.0 > 0 && self.ecc.errors != Errors::None || refresh.is_some()) {
            let key = if refresh.is_some() { "ecc.refresh" } else { "ecc.retention" };
            let message = "data ages by time, which is not accelerated with the P/E cycles".to_string();
            return refuse(key, message, "leave it out, or use life.accelerate = 1");
        }
        Ok(())
    }

    fn check_spares(&self) -> Result<(), ConfigError> {
        let (spares, bad, least) = (self.spare_blocks(), self.initially_bad(), self.fewest_spares());
        if spares == 0 {
            let message = "0 spare blocks: the first failure would find none".to_string();
            return refuse("life.spare_blocks", message, "use 1 or more, or leave it out");
        }
        if bad > 0 && spares.saturating_sub(bad) <= least {
            let message = format!(
                "{bad} blocks of a plane are bad from the factory, and {spares} spare blocks leave {}, which is not above {least}",
                spares.saturating_sub(bad)
            );
            return refuse("life.initial_bad", message, format!("use {} spare blocks or more", bad + least + 1));
        }
        if least >= spares {
            let message = format!("the drive would be read-only with {least} spare blocks left, and it has {spares}");
            return refuse("life.spare_threshold", message, "use a smaller share");
        }
        Ok(())
    }

    fn check_faulty_blocks(&self) -> Result<(), ConfigError> {
        let key = "faults.blocks";
        let (blocks, pages) = (self.geometry.blocks_per_plane, self.geometry.pages_per_block);
        let planes = self.planes_of_device();
        for (n, fault) in self.faults.blocks.iter().enumerate() {
            let n = n + 1;
            if fault.plane >= planes || fault.block >= blocks {
                let message = format!(
                    "entry {n} is block {} of plane {}, but there are {planes} planes of {blocks} blocks",
                    fault.block, fault.plane
                );
                return refuse(key, message, "number planes and blocks from 0");
            }
            if fault.block < self.slc_blocks() {
                let message = format!("entry {n} is a block of the fixed cache of SLC, which does not wear out");
                return refuse(key, message, format!("use block {} or a later one", self.slc_blocks()));
            }
            if fault.page.is_some_and(|page| page >= pages) {
                let message = format!("entry {n} names page {} of {pages}", fault.page.unwrap_or(0));
                return refuse(key, message, "number pages from 0");
            }
            if fault.erases == 0 && fault.page.is_none() {
                let message = format!("entry {n} says which erase fails, but not by a number");
                return refuse(key, message, "number erases from 1, or name a page");
            }
            let same = |other: &FaultyBlock| (other.plane, other.block) == (fault.plane, fault.block);
            if self.faults.blocks[..n - 1].iter().any(same) {
                let message = format!("entry {n} names a block that another one names");
                return refuse(key, message, "let each block fail once");
            }
        }
        Ok(())
    }

    /// Planes of the device.
    fn planes_of_device(&self) -> u32 {
        let g = &self.geometry;
        g.channels * g.chips_per_channel * g.dies_per_chip * g.planes_per_die
    }

    /// Rejects what does not run with a lifetime: each keeps more than one block together.
    fn check_beside_life(&self) -> Result<(), ConfigError> {
        let schemes = &self.schemes;
        let path = schemes.path.policy_ref();
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "parity groups", "\"none\""),
            (self.collects_jointly(), "schemes.collector", "joint collections of planes", "another collector"),
            (
                self.device.mapping_unit == MappingUnit::SuperPage,
                "device.mapping_unit",
                "blocks of several planes that are one",
                "\"page\"",
            ),
            (
                self.geometry.planes_per_program > 1,
                "geometry.planes_per_program",
                "blocks of several planes that are one",
                "1",
            ),
            (path.separates(), "schemes.path", "write points of copied pages", "another path"),
            (self.fdp.unit != ReclaimUnit::Block, "fdp.unit", "blocks of all planes", "\"block\""),
            (
                schemes.route.replicate().is_some() || schemes.route.redirect().is_some(),
                "schemes.route",
                "second copies and redirected reads",
                "\"direct\"",
            ),
            (self.run.warmup.is_some(), "run.warmup", "a part of the life that is not measured", "no warm-up"),
        ];
        self.refuse_first(&others, "life.mode = \"none\"")
    }

    /// Rejects what does not run where programs fail.
    fn check_beside_failing_programs(&self) -> Result<(), ConfigError> {
        if !self.fails_programs() {
            return Ok(());
        }
        let (schemes, reserve) = (&self.schemes, self.reserve());
        let path = schemes.path.policy_ref();
        let streams = self.gc_streams();
        if reserve <= streams {
            let message = format!(
                "a block whose program fails is emptied and returns none, which takes one block more than the {streams} write points of GC, but {reserve} are reserved"
            );
            return refuse("gc.reserve", message, format!("use {} or more, or leave it out", streams + 1));
        }
        let collector = schemes.collector.policy_ref();
        let others = [
            (self.noc.model != NocModel::None, "noc.model", "the ways of pages across an interconnect", "\"none\""),
            (self.stages(), "staging.slots", "pages of GC in the controller's buffer", "0 slots"),
            (path.keeps_counts(), "schemes.path", "metadata of blocks", "another path"),
            (self.gc.destination != Destination::Plane, "gc.destination", "pages that leave their plane", "\"plane\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "programs of word lines", "\"page\""),
            (self.units().exist(), "geometry.pages_per_program", "programs of several units", "1, and pages as units"),
            (self.timing.cache_register, "timing.cache_register", "data that follow in the register", "false"),
            (
                self.device.write_ack == WriteAck::AfterTransfer,
                "device.write_ack",
                "writes that are acknowledged before they are programmed",
                "\"after_program\"",
            ),
            (
                !self.faults.power_cut.is_empty(),
                "faults.power_cut",
                "recovery of blocks that are being emptied",
                "none",
            ),
            (
                collector.writes_back().is_some(),
                "schemes.collector",
                "pages that wait in the controller",
                "another collector",
            ),
        ];
        self.refuse_first(&others, "life.program_failures = 0 and no page in faults.blocks")
    }

    /// Rejects the first of what is used.
    fn refuse_first(&self, others: &[(bool, &str, &str, &str)], without: &str) -> Result<(), ConfigError> {
        match others.iter().find(|(used, ..)| *used) {
            None => Ok(()),
            Some((_, key, what, otherwise)) => {
                let message = format!("{what}, but blocks fail one by one: how they meet is not decided");
                refuse(key, message, format!("use {otherwise}, or {without}"))
            }
        }
    }
}

impl FaultyBlock {
    fn spec(&self) -> FaultSpec {
        FaultSpec { plane: self.plane, block: self.block, erases: self.erases, page: self.page }
    }
}

/// A share of a number, rounded down.
fn share_of(number: u32, share: Ppm) -> u32 {
    (u64::from(number) * u64::from(share.0) / Ppm::ONE) as u32
}
