//! Raw bit errors, page by page: from programs, copies, reads and retention, and the limit that ECC corrects.
//!
//! Amounts are expected bit errors per MiB of the page; 1,024 of them are one error per KiB, the usual unit of ECC strength. The
//! arithmetic is integer. A page that the controller has decoded starts without errors; a copied page keeps those of its source.

use std::io;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::geometry::Geometry;
use super::spec::{ErrorSpec, LevelSpec, PageErrorSpec};
use crate::carry::Carrier;
use crate::random;
use crate::units::{BlockId, Nanos, Ppm, Ppn};

/// Errors of data that was uncorrectable when it was moved or merged. No pass through ECC restores it.
pub const LOST: u32 = u32::MAX;

/// Nanoseconds per day.
const DAY: u64 = 86_400_000_000_000;

/// Bit errors of all pages of a device.
#[derive(Clone, Debug)]
pub struct ErrorModel {
    spec: ErrorSpec,
    seed: u64,
    /// Errors per MiB that ECC corrects.
    limit: u32,
    /// Places of a flash page: one, or those of its units.
    per_page: u32,
    /// By flash page: errors when it was programmed, and the time of that.
    programmed: Vec<(u32, Nanos)>,
    /// By block: reads since its erase.
    reads: Vec<u32>,
    /// By flash page: whether its data had the initial age when it was programmed; empty if that is none.
    aged: Vec<bool>,
    /// By unit, of those in the controller too: whether its data is [`LOST`]; empty where a unit is a page, whose errors say that.
    lost: Vec<bool>,
    /// Whether what is programmed now has the initial age.
    ages: bool,
}

impl ErrorModel {
    pub(crate) fn new(spec: ErrorSpec, geometry: &Geometry, seed: u64) -> Self {
        let blocks = (geometry.planes * geometry.blocks_per_plane) as usize;
        let slots = blocks * geometry.pages_per_block as usize;
        let per_page = geometry.slots.per_page;
        let pages = slots / per_page as usize;
        ErrorModel {
            lost: vec![false; if geometry.slots.several() { geometry.places() as usize } else { 0 }],
            per_page,
            aged: vec![false; if spec.initial_age > Nanos::ZERO { pages } else { 0 }],
            ages: false,
            seed,
            limit: limit(&spec),
            spec,
            programmed: vec![(0, Nanos::ZERO); pages],
            reads: vec![0; blocks],
        }
    }

    /// Carries the errors of all pages.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let ErrorModel { spec: _, seed: _, limit: _, per_page: _, programmed, reads, aged, ages: _, lost } = self;
        carrier.table(programmed)?;
        carrier.table(reads)?;
        if !aged.is_empty() {
            carrier.table(aged)?;
        }
        if lost.is_empty() { Ok(()) } else { carrier.table(lost) }
    }

    /// Sets whether what is programmed from now on has the initial age (`ecc.initial_age`).
    pub(crate) fn set_ages(&mut self, ages: bool) {
        self.ages = ages;
    }

    /// The flash page of a place.
    fn flash_page(&self, page: Ppn) -> usize {
        (page.0 / self.per_page) as usize
    }

    /// Whether data was uncorrectable when it was moved or merged.
    pub(crate) fn is_lost(&self, page: Ppn) -> bool {
        match self.lost.get(page.ix()) {
            Some(lost) => *lost,
            None => self.programmed[page.ix()].0 == LOST,
        }
    }

    /// A unit waits in the controller at this place, with its data or without.
    pub(crate) fn hold(&mut self, place: Ppn, lost: bool) {
        self.lost[place.ix()] = lost;
    }

    /// Errors that a program leaves in a page, for a block with this many P/E cycles.
    fn left(&self, page: Ppn, pe_cycles: u32) -> u32 {
        let spread = u64::from(self.spec.spread.0);
        let own = random::mix(self.seed ^ self.flash_page(page) as u64) % (2 * spread + 1);
        let factor = Ppm::ONE - spread + own;
        (u64::from(curve(&self.spec.program_errors, pe_cycles)) * factor / Ppm::ONE).min(u64::from(LOST - 1)) as u32
    }

    /// Errors of a page if it is read now.
    pub fn errors(&self, page: Ppn, block: BlockId, now: Nanos) -> u32 {
        let (programmed, since) = self.programmed[self.flash_page(page)];
        if self.is_lost(page) {
            return LOST;
        }
        let disturbed = u64::from(self.reads[block.ix()]) * u64::from(self.spec.read_disturb) / 1000;
        let kept = if self.spec.retention.0 == 0 { 0 } else { self.kept(page, programmed, now - since) };
        (u128::from(programmed) + u128::from(disturbed) + kept).min(u128::from(LOST - 1)) as u32
    }

    /// Errors that retention has added to those of a page's program, so long after it.
    fn kept(&self, page: Ppn, programmed: u32, since: Nanos) -> u128 {
        let daily = u128::from(programmed) * u128::from(self.spec.retention.0) / u128::from(Ppm::ONE);
        let before =
            if self.aged.get(self.flash_page(page)) == Some(&true) { self.spec.initial_age } else { Nanos::ZERO };
        let age = u128::from(since.0) * u128::from(self.spec.age_factor) + u128::from(before.0);
        daily.saturating_mul(age) / u128::from(DAY)
    }

    /// Whether ECC corrects this many errors.
    pub fn corrects(&self, errors: u32) -> bool {
        errors <= self.limit
    }

    /// What a read of a page with so many errors costs: the first level with room for them, or the last one, which does not correct
    /// them then.
    pub fn level(&self, errors: u32) -> LevelSpec {
        level(&self.spec.levels, errors)
    }

    /// When a page was programmed, and with which errors: others have another content.
    pub(crate) fn born(&self, page: Ppn) -> (u32, Nanos) {
        self.programmed[self.flash_page(page)]
    }

    /// Counts a read of a page of `block`.
    pub(crate) fn read(&mut self, block: BlockId) {
        self.reads[block.ix()] = self.reads[block.ix()].saturating_add(1);
    }

    /// Sets a page's errors at its program; its data already has `carried` errors.
    pub(crate) fn program(&mut self, page: Ppn, pe_cycles: u32, carried: u32, now: Nanos) {
        let (at, own) = (self.flash_page(page), self.left(page, pe_cycles));
        let errors = match self.lost.get_mut(page.ix()) {
            // The other units of the page have their data.
            Some(lost) => {
                *lost = carried == LOST;
                own
            }
            None if carried == LOST => LOST,
            None => carried.saturating_add(own).min(LOST - 1),
        };
        self.programmed[at] = (errors, now);
        if let Some(aged) = self.aged.get_mut(at) {
            *aged = self.ages;
        }
    }

    /// Resets the read count of an erased block.
    pub(crate) fn erased(&mut self, block: BlockId) {
        self.reads[block.ix()] = 0;
    }
}

/// The first of ascending levels with room for so many errors per MiB, or the last one; without levels, one that costs nothing.
fn level(levels: &[LevelSpec], errors: u32) -> LevelSpec {
    let first = levels.partition_point(|level| u64::from(level.errors) * 1024 < u64::from(errors));
    let free = LevelSpec { errors: 0, retries: 0, decode: Nanos::ZERO };
    levels.get(first).or(levels.last()).copied().unwrap_or(free)
}

/// Errors per MiB that are corrected.
fn limit(ecc: &ErrorSpec) -> u32 {
    ecc.correctable.saturating_mul(1024).min(LOST - 2)
}

/// Value at `x` of a curve through points of ascending abscissa: linear between them, constant beyond them.
fn curve(points: &[(u32, u32)], x: u32) -> u32 {
    let after = points.partition_point(|(from, _)| *from <= x);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after).copied()) {
        (None, None) => 0,
        (Some((_, y)), None) | (None, Some((_, y))) => y,
        (Some((x0, y0)), Some((x1, y1))) => {
            let rise = (i128::from(y1) - i128::from(y0)) * i128::from(x - x0) / i128::from(x1 - x0);
            (i128::from(y0) + rise) as u32
        }
    }
}

/// Errors per MiB that a program leaves in a mean page of a block with so many P/E cycles.
pub(crate) fn errors_at(ecc: &ErrorSpec, pe_cycles: u32) -> u32 {
    curve(&ecc.program_errors, pe_cycles)
}

/// The largest safe thresholds by P/E cycles. After a program and `threshold` copybacks, each into a page of the worst kind,
/// `ecc.margin` of the correctable errors must still be unused.
pub(crate) fn derived_thresholds(ecc: &ErrorSpec) -> Vec<(u32, u8)> {
    let usable = u128::from(limit(ecc)) * (u128::from(Ppm::ONE) - u128::from(ecc.margin.0));
    let worst = u128::from(Ppm::ONE) + u128::from(ecc.spread.0);
    let safe = |pe_cycles: u32| -> u8 {
        let each = u128::from(curve(&ecc.program_errors, pe_cycles)) * worst;
        let programs = usable.checked_div(each).unwrap_or(u128::MAX);
        programs.saturating_sub(1).min(u128::from(MAX_THRESHOLD)) as u8
    };
    let last = ecc.program_errors.last().map_or(0, |(x, _)| *x);
    let mut steps = vec![(0, safe(0))];
    for pe_cycles in 1..=last {
        let threshold = safe(pe_cycles);
        if steps.last().is_some_and(|(_, before)| *before != threshold) {
            steps.push((pe_cycles, threshold));
        }
    }
    steps
}

/// Largest threshold: counts are bytes, and reports have one row per count.
pub(crate) const MAX_THRESHOLD: u8 = 63;

/// Result of error correction where errors are drawn, not simulated page by page.
#[derive(Clone, Debug)]
pub struct PageErrors {
    rng: Xoshiro256PlusPlus,
    /// A draw below this is a page with errors; 2^64 means every page.
    below: u128,
}

impl PageErrors {
    /// `flash_page`: bytes of a flash page.
    pub(crate) fn new(spec: PageErrorSpec, flash_page: u32, seed: u64) -> Self {
        let below = match spec {
            PageErrorSpec::Share(share) => (u128::from(share.0) << 64) / u128::from(Ppm::ONE),
            PageErrorSpec::BitErrorRate(rate) => (page_errors(rate, 8 * u64::from(flash_page)) * TWO_64) as u128,
        };
        PageErrors { rng: random::stream(seed, "page errors"), below }
    }

    /// Carries the generator.
    pub(crate) fn carry(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        let PageErrors { rng, below: _ } = self;
        carrier.generator(rng)
    }

    /// Whether a checked page has errors: one draw per page.
    pub fn in_page(&mut self) -> bool {
        u128::from(self.rng.next_u64()) < self.below
    }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Probability that a page of `bits` bits has errors.
fn page_errors(rate: f64, bits: u64) -> f64 {
    // libm gives the same bits on every machine.
    -libm::expm1(bits as f64 * libm::log1p(-rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paper D, Fig. 3b: the model's defaults make its thresholds the largest safe ones.
    #[test]
    fn the_default_model_derives_the_thresholds_of_the_paper() {
        let steps = derived_thresholds(&crate::config::Ecc::default().spec());
        assert_eq!(steps, [(0, 6), (1300, 5), (1500, 4), (3000, 3), (4000, 2), (4300, 1), (4500, 0)].map(|s| s));
    }

    #[test]
    fn a_curve_is_linear_between_its_points_and_level_beyond() {
        let points = [(10, 100), (20, 200), (30, 150)];
        assert_eq!([0, 10, 15, 20, 25, 30, 99].map(|x| curve(&points, x)), [100, 100, 150, 200, 175, 150, 150]);
    }

    #[test]
    fn the_first_level_with_room_decides() {
        let level_of = |(errors, retries)| LevelSpec { errors, retries, decode: Nanos(u64::from(retries)) };
        let levels = [(60, 0), (120, 1), (200, 2)].map(level_of);
        let retries = |errors| level(&levels, errors).retries;
        assert_eq!([0, 60 * 1024, 60 * 1024 + 1, 120 * 1024].map(retries), [0, 0, 1, 1]);
        assert_eq!([120 * 1024 + 1, 200 * 1024, 200 * 1024 + 1, LOST].map(retries), [2, 2, 2, 2]);
        assert_eq!(level(&[], 7).decode, Nanos::ZERO);
    }

    #[test]
    fn a_bit_error_rate_of_1e_4_spoils_nearly_every_page() {
        let of = |rate: f64| page_errors(rate, 32_768);
        assert!((of(1e-4) - 0.962).abs() < 0.001);
        assert!((of(3.05e-9) - 1e-4).abs() < 1e-6);
        assert_eq!((of(0.0), of(1.0)), (0.0, 1.0));
    }

    #[test]
    fn draws_are_as_frequent_as_they_should_be() {
        let draw = |toml: &str| {
            let config: crate::Config = toml.parse().unwrap();
            let mut errors = PageErrors::new(config.page_error_spec(), config.geometry.page_size.0 as u32, 1);
            (0..100_000).filter(|_| errors.in_page()).count()
        };
        assert_eq!(draw("ecc.page_error_probability = 1"), 100_000);
        assert_eq!(draw("ecc.page_error_probability = 0"), 0);
        assert_eq!((draw("ecc.bit_error_rate = 1"), draw("ecc.bit_error_rate = 0")), (100_000, 0));
        assert_eq!(draw(""), 100_000);
        assert!(draw("noc.model = \"formula\"").abs_diff(10) < 13, "one in 10,000");
        assert!(draw("ecc.page_error_probability = 0.1").abs_diff(10_000) < 400, "four standard deviations are 380");
    }
}
