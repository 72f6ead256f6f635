//! What to expect before a run: space, memory, and the write amplification that theory gives for uniform random writes.

use ssdlab_sim::config::{Config, Geometry, PreconditionMode, Scope};
use ssdlab_sim::schemes::AnyVictim;
use ssdlab_sim::units::Ppm;

/// The space of a configured device, and the consequences for GC and memory.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Planes of the device.
    pub planes: u64,
    /// Pages of a plane.
    pub pages_per_plane: u64,
    /// Pages of a plane that the host may address.
    pub exported_per_plane: u64,
    /// Free pages that GC keeps in a plane.
    pub kept_free: u64,
    /// The host program of a plane at which its first collection is due; 0 if preconditioning reaches that point.
    pub programs_before_gc: u64,
    /// Share of the usable pages (all but those that GC keeps free) without valid data when the device is full.
    pub effective_spare: f64,
    /// Flash programs per host page written, under uniform random writes of whole pages in steady state, of which bytes and pages give
    /// the same; none if there is no formula for the victim policy. A write of a part of a page counts as a page here.
    pub write_amplification: Option<f64>,
    /// Bytes of memory that the simulation takes, oracle included.
    pub memory: Memory,
}

/// Bytes of memory by purpose.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Logical page to physical page.
    pub map: u64,
    /// Physical page to logical page.
    pub reverse: u64,
    /// Everything else that grows with the device.
    pub blocks: u64,
    /// The oracle's versions.
    pub oracle: u64,
    /// Memory of schemes.
    pub schemes: u64,
    /// Slots of outstanding requests.
    pub requests: u64,
    /// Memory of every run: the program, histograms, buffers.
    pub fixed: u64,
}

impl Memory {
    /// The sum.
    pub fn total(&self) -> u64 {
        self.map + self.reverse + self.blocks + self.oracle + self.schemes + self.requests + self.fixed
    }
}

/// Bytes of an entry of the map, and of the reverse map.
const ENTRY: u64 = 4;
/// Bytes of the state of a block.
const BLOCK: u64 = 10;
/// Bytes of the oracle: the version of a logical page, the tag of a stored page.
const VERSION: u64 = 4;
const TAG: u64 = 8;
/// Logical pages that share a version and a tag in the sampling oracle.
const SAMPLE: u64 = 32;
/// Bytes of the program, histograms and buffers, measured on small devices.
const FIXED: u64 = 18_500_000;

/// Tables of over 2 MiB are allocated in whole huge pages.
fn huge(bytes: u64) -> u64 {
    const HUGE: u64 = 2 << 20;
    if bytes < HUGE { bytes } else { bytes.next_multiple_of(HUGE) }
}

impl Outlook {
    /// The outlook of a checked configuration, with the full or the sampling oracle.
    pub fn new(config: &Config, full_oracle: bool) -> Outlook {
        let g = &config.geometry;
        let planes = planes(g);
        let (blocks, per_block) = (u64::from(g.blocks_per_plane), u64::from(g.pages_per_block));
        let pages = blocks * per_block;
        let exported = config.exported_per_plane();
        let scope = match config.gc.scope {
            Scope::Plane => 1,
            // The planes of a program count as one.
            Scope::Chip => u64::from(g.planes_per_die / g.planes_per_program * g.dies_per_chip),
            Scope::Device => planes / u64::from(g.planes_per_program),
        };
        let kept_free = config.gc.threshold.pages(scope * pages, per_block) / scope;
        let rounded = |share: Ppm| (pages * u64::from(share.0) + Ppm::ONE / 2) / Ppm::ONE;
        let taken = match config.precondition.mode {
            PreconditionMode::None => 0,
            PreconditionMode::Aged => rounded(config.precondition.valid) + rounded(config.precondition.invalid),
            PreconditionMode::Sequential => exported,
            // GC runs during the overwrites too.
            PreconditionMode::Random => exported + (config.precondition.overwrite * exported as f64) as u64,
        };
        // GC is due when fewer than `kept_free` pages are free.
        let programs_before_gc = (pages + 1).saturating_sub(kept_free + taken);
        let in_play = (pages - kept_free.min(pages)) as f64;
        let rho = exported as f64 / in_play;
        // Policies see units of a block, which may have pages of several planes.
        let units = config.units();
        let b = per_block as u32 * units.per_super_page();
        let amplification = (rho < 1.0).then(|| expected(&config.schemes.victim, rho, b)).flatten();
        let entries = |pages: u64| planes * pages * u64::from(units.per_page) / u64::from(config.pages_per_entry());
        let (physical, logical) = (entries(pages), entries(exported));
        Outlook {
            planes,
            pages_per_plane: pages,
            exported_per_plane: exported,
            kept_free,
            programs_before_gc,
            effective_spare: 1.0 - rho,
            write_amplification: amplification,
            memory: Memory {
                map: huge(ENTRY * logical),
                reverse: huge(ENTRY * physical),
                blocks: BLOCK * planes / u64::from(units.planes) * blocks + config.array_bytes(),
                oracle: if full_oracle {
                    VERSION * logical + TAG * physical
                } else {
                    (VERSION + TAG) * logical / SAMPLE
                },
                schemes: config.scheme_bytes(),
                requests: config.queue_bytes(),
                fixed: FIXED,
            },
        }
    }
}

/// Planes of a device.
pub fn planes(g: &Geometry) -> u64 {
    [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die].into_iter().map(u64::from).product()
}

/// Write amplification of a victim policy at utilisation `rho` with `b` pages a block.
pub fn expected(victim: &AnyVictim, rho: f64, b: u32) -> Option<f64> {
    match victim {
        AnyVictim::Greedy(_) => Some(greedy(rho, b)),
        AnyVictim::DChoices(policy) => Some(d_choices(rho, b, policy.d)),
        AnyVictim::Random(_) => Some(1.0 / (1.0 - rho)),
        AnyVictim::Fifo(_) => Some(fifo(rho)),
        AnyVictim::RandomPlus(_) | AnyVictim::CostBenefit(_) | AnyVictim::Outside(_) => None,
    }
}

/// Halvings of an interval, after which its ends are neighbouring numbers.
const HALVINGS: u32 = 64;
/// Distance that keeps an interval away from an end at which the equation has a trivial solution.
const APART: f64 = 1e-9;

/// The point where an increasing function crosses zero.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Greedy (Desnoyers 2012): (b - v) / b = rho (H_b - H(v)), harmonic numbers taken linear between integers.
fn greedy(rho: f64, b: u32) -> f64 {
    let mut harmonic = vec![0.0; b as usize + 1];
    for i in 1..=b as usize {
        harmonic[i] = harmonic[i - 1] + 1.0 / i as f64;
    }
    let h = |v: f64| {
        let i = (v as usize).min(b as usize - 1);
        harmonic[i] + (v - i as f64) * (harmonic[i + 1] - harmonic[i])
    };
    let b = f64::from(b);
    // v = b is always a solution; the relevant root is the smaller one.
    let v = root(0.0, b * (1.0 - APART), |v| (b - v) / b - rho * (h(b) - h(v))).clamp(0.0, b);
    b / (b - v)
}

/// FIFO: A = alpha / (alpha + W(-alpha e^-alpha)), that is the root of x = 1 - e^(-alpha x) with A = 1 / x.
fn fifo(rho: f64) -> f64 {
    let alpha = 1.0 / rho;
    1.0 / root(1e-12, 1.0, |x| x - (1.0 - (-alpha * x).exp()))
}

/// d-choices (Van Houdt 2013): kappa i (s_i - s_(i+1)) = 1 - s_i^d, the s_i sum to rho b, A = 1 / (kappa rho).
fn d_choices(rho: f64, b: u32, d: u32) -> f64 {
    let sum = |kappa: f64| {
        let (mut next, mut sum) = (0.0, 0.0);
        for i in (1..=b).rev() {
            let rate = kappa * f64::from(i);
            next = root(next, 1.0, |s| rate * (s - next) + s.powi(d as i32) - 1.0);
            sum += next;
        }
        sum
    };
    // The sum falls as kappa grows: blocks that lose pages faster hold fewer.
    let kappa = root(APART, 1.0 / rho, |kappa| rho * f64::from(b) - sum(kappa));
    1.0 / (kappa * rho)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_chip_device_first_collects_at_the_656th_program_of_a_plane() {
        let config: Config = crate::presets::find("idle-chip").unwrap().text.parse().unwrap();
        assert_eq!(Outlook::new(&config, false).programs_before_gc, 656);
    }

    #[test]
    fn formulas_give_the_published_values() {
        // Spare factor, d = 2, d = 10, FIFO, greedy; 128 pages a block.
        let table = [
            (0.05, 13.587, 9.816, 10.172, 9.460),
            (0.07, 9.810, 7.182, 7.318, 6.945),
            (0.10, 6.941, 5.148, 5.179, 4.992),
            (0.15, 4.688, 3.531, 3.519, 3.434),
            (0.20, 3.556, 2.714, 2.693, 2.645),
            (0.28, 2.585, 2.013, 1.992, 1.967),
        ];
        for (spare, two, ten, first, best) in table {
            let rho = 1.0 - spare;
            for (ours, theirs) in [
                (d_choices(rho, 128, 2), two),
                (d_choices(rho, 128, 10), ten),
                (fifo(rho), first),
                (greedy(rho, 128), best),
            ] {
                assert!((ours / theirs - 1.0f64).abs() < 1e-3, "{spare}: {ours} for {theirs}");
            }
        }
    }
}
