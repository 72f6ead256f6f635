//! The life of a drive (`ssdlab life`): requests are repeated until it accepts no more writes, on a smaller device whose blocks have
//! fewer P/E cycles, so that a life takes seconds; and what follows for the drive itself.

use ssdlab_sim::config::{Config, Errors, FEWEST_CYCLES};
use ssdlab_sim::report::life::LifeReport;
use ssdlab_sim::units::Ppm;

use crate::error::{Error, Result};
use crate::input::Requests;
use crate::perf::Moment;
use crate::run::{How, Outputs, Progress, Run, RunOutcome};
use crate::settings::Settings;
use crate::theory::planes;
use crate::variants::student::{half_width, mean};

/// Fewest blocks of a plane of a smaller device.
const FEWEST_BLOCKS: u64 = 64;

/// What a device was made smaller by.
#[derive(Clone, Debug)]
pub struct Scaled {
    /// Its capacity is that of the drive divided by this.
    pub scale: u64,
    /// Planes of the drive, and of the device.
    pub planes: (u64, u64),
    /// Blocks of a plane, likewise.
    pub blocks: (u32, u32),
    /// Share of pages that is not exported, likewise.
    pub over_provisioning: (f64, f64),
}

/// A life at one acceleration, by seed.
#[derive(Clone, Debug)]
pub struct Lives {
    /// `life.accelerate`.
    pub accelerate: u32,
    /// Bytes that the drive itself would have taken, by seed.
    pub tbw_bytes: Vec<f64>,
}

/// All lives of a drive.
pub struct Drive {
    /// Its size against the one that was simulated.
    pub scaled: Scaled,
    /// Bytes that the drive exports.
    pub capacity_bytes: u64,
    /// Mean P/E cycles of a block.
    pub endurance: u32,
    /// Lives at K and at K / 2, or at 1 alone.
    pub lives: Vec<Lives>,
    /// The last run: at the least acceleration, with the first seed.
    pub last: RunOutcome,
    /// Bytes a second that the host writes by the arrival times of its requests; none in a closed loop.
    pub host_bytes_per_s: Option<f64>,
}

impl Drive {
    /// Bytes that the drive takes: the mean over seeds at the least acceleration.
    pub fn tbw_bytes(&self) -> f64 {
        self.lives.last().map_or(0.0, |lives| mean(&lives.tbw_bytes))
    }

    /// How far the life at K is from that at K / 2; none with one acceleration.
    pub fn difference(&self) -> Option<f64> {
        let [at_k, at_half] = &self.lives[..] else { return None };
        Some((mean(&at_k.tbw_bytes) - mean(&at_half.tbw_bytes)).abs())
    }

    /// Half the 95 % confidence interval over seeds; none with one seed.
    pub fn half_width(&self) -> Option<f64> {
        self.lives.last().and_then(|lives| half_width(&lives.tbw_bytes))
    }

    /// Years of the drive at the rate at which the requests arrive.
    pub fn years(&self) -> Option<f64> {
        let rate = self.host_bytes_per_s.filter(|rate| *rate > 0.0)?;
        Some(self.tbw_bytes() / rate / (365.0 * 86_400.0))
    }

    /// The report of the last run.
    pub fn report(&self) -> Option<&LifeReport> {
        self.last.outcome.summary.life.as_ref()
    }
}

/// Share of a plane's pages that are in play.
fn in_play(config: &Config) -> f64 {
    let g = &config.geometry;
    config.pages_in_play() as f64 / (f64::from(g.blocks_per_plane) * f64::from(g.pages_per_block))
}

/// The greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Makes a device smaller: first in planes, then in blocks of its last plane, with the over-provisioning that leaves the same share of
/// spare pages in play.
///
/// # Errors
/// It can't be made smaller by this.
pub fn scale(config: &Config, scale: Option<u64>) -> Result<(Config, Scaled)> {
    let all = planes(&config.geometry);
    let scale = scale.unwrap_or(all);
    let blocks = config.geometry.blocks_per_plane;
    let wrong = |why: String| {
        Err(Error::usage(format!("--scale 1:{scale}: {why}"))
            .help(format!("use 1:1, 1:{all} or a divisor of {all}, or a multiple of it")))
    };
    let mut small = config.clone();
    if !all.is_multiple_of(scale) && !scale.is_multiple_of(all) {
        return wrong(format!("a drive of {all} planes has no such part"));
    }
    let mut left = scale.min(all);
    let g = &mut small.geometry;
    for part in [&mut g.planes_per_die, &mut g.dies_per_chip, &mut g.chips_per_channel, &mut g.channels] {
        let by = common(u64::from(*part), left);
        (*part, left) = ((u64::from(*part) / by) as u32, left / by);
    }
    let by = scale / scale.min(all);
    if by > 1 {
        let fewer = u64::from(blocks) / by;
        if fewer < FEWEST_BLOCKS || !u64::from(blocks).is_multiple_of(by) {
            return wrong(format!(
                "a plane of {blocks} blocks would have {fewer}, not a whole part of at least {FEWEST_BLOCKS}"
            ));
        }
        small.geometry.blocks_per_plane = fewer as u32;
        let spares = (u64::from(config.spare_blocks()) / by).max(1);
        small.life.spare_blocks = Some(spares as u32);
        // The same share in play: what the smaller plane reserves is a larger share of it.
        let more = in_play(config) - in_play(&small);
        let share = small.device.over_provisioning.as_f64() + more;
        small.device.over_provisioning = Ppm((share.clamp(0.0, 1.0) * 1e6).round() as u32);
    }
    let scaled = Scaled {
        scale,
        planes: (all, planes(&small.geometry)),
        blocks: (blocks, small.geometry.blocks_per_plane),
        over_provisioning: (config.device.over_provisioning.as_f64(), small.device.over_provisioning.as_f64()),
    };
    Ok((small, scaled))
}

/// The accelerations of a life: K and K / 2, or the one that was set.
fn accelerations(config: &Config, given: Option<u32>) -> Vec<u32> {
    let ages = config.ecc.refresh.is_some() || config.ecc.errors != Errors::None && config.ecc.retention.0 > 0;
    let most = if ages { 1 } else { (config.endurance() / FEWEST_CYCLES).max(1) };
    let first = given.unwrap_or(if config.life.accelerate > 1 { config.life.accelerate } else { most });
    if first > 1 { vec![first, first / 2] } else { vec![first] }
}

/// How lives are simulated.
#[derive(Clone, Copy, Debug)]
pub struct LifePlan {
    /// The device is that of the drive divided by this; by default one plane of it.
    pub scale: Option<u64>,
    /// P/E cycles are divided by this; by default as much as leaves 100.
    pub accelerate: Option<u32>,
    /// With so many seeds.
    pub seeds: u64,
}

/// Runs the lives of a drive. The outputs are those of the last run.
///
/// # Errors
/// The configuration or the requests are invalid, a life does not end, or as [`crate::run::Ready::simulate`].
pub fn lives(
    settings: &Settings,
    requests: &Requests,
    how: How,
    plan: LifePlan,
    outputs: &Outputs,
    progress: &mut dyn Progress,
) -> Result<Drive> {
    let (config, scaled) = scale(&settings.config, plan.scale)?;
    let requests = Requests { until_end: true, ..requests.clone() };
    let (mut all, mut last) = (Vec::new(), None);
    let accelerations = accelerations(&config, plan.accelerate);
    for (n, accelerate) in accelerations.iter().enumerate() {
        let mut lives = Lives { accelerate: *accelerate, tbw_bytes: Vec::new() };
        // The first seed comes last, so that the outputs are those of it.
        for seed in (how.seed..how.seed + plan.seeds).rev() {
            let mut settings = settings.clone();
            settings.config = config.clone();
            settings.config.life.accelerate = *accelerate;
            settings.config.check().map_err(|error| settings.refuse(&error))?;
            let how = How { seed, count_only: true, ..how };
            let ready = Run::new(settings, how, Moment::now())?.open(&requests)?;
            let shown = n + 1 == accelerations.len() && lives.tbw_bytes.len() as u64 + 1 == plan.seeds;
            let none = Outputs::default();
            let done = ready.simulate(if shown { outputs } else { &none }, progress)?;
            let report = done.outcome.summary.life.as_ref();
            let ended = report.filter(|report| report.end.is_some());
            let Some(ended) = ended else {
                return Err(Error::usage("the requests end before the drive does").help("leave --limit and --loop out"));
            };
            lives.tbw_bytes.push(ended.tbw_bytes as f64 * scaled.scale as f64);
            last = Some(done);
        }
        all.push(lives);
    }
    let last = last.expect("at least one life");
    let bytes = last.outcome.summary.bytes.written as f64;
    let seconds = last.last_arrival.map(|at| at.0 as f64 / 1e9).filter(|seconds| *seconds > 0.0);
    Ok(Drive {
        capacity_bytes: settings.config.capacity_bytes(),
        endurance: settings.config.endurance(),
        scaled,
        lives: all,
        host_bytes_per_s: seconds.map(|seconds| bytes / seconds),
        last,
    })
}

/// How a life depends on chance, by order statistics: the relative standard deviation of the time at which a plane of so many blocks has
/// no more of `spares` spare ones, and by how many of these the worst of so many planes ends before the mean one.
pub fn spread_of_end(spread: f64, spares: u32, blocks: u32, planes: u64) -> (f64, f64) {
    let share = f64::from(spares) / f64::from(blocks);
    let z = quantile(share);
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let deviation = spread * (share * (1.0 - share) / f64::from(blocks)).sqrt() / density;
    (deviation, if planes > 1 { (2.0 * (planes as f64).ln()).sqrt() } else { 0.0 })
}

/// The standard normal quantile, by bisection of the distribution.
fn quantile(share: f64) -> f64 {
    let below = |z: f64| (1.0 + libm::erf(z / std::f64::consts::SQRT_2)) / 2.0;
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if below(middle) < share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_an_order_statistic() {
        // A spread of 10 %, spare blocks of 2 %: 256 blocks 1.8 % and 1,024 blocks 0.9 % of the mean life.
        let percent = |blocks: u32| (spread_of_end(0.1, blocks / 50, blocks, 1).0 * 1000.0).round() / 10.0;
        assert_eq!((percent(256), percent(1024)), (1.8, 0.9));
        assert!((spread_of_end(0.1, 20, 1024, 64).1 - 2.884).abs() < 0.001);
        assert!((quantile(0.975) - 1.959_964).abs() < 1e-6);
    }

    #[test]
    fn a_smaller_device_has_the_same_share_in_play() {
        let text = "life.mode = \"wear\"\ngeometry.blocks_per_plane = 4096\ndevice.over_provisioning = 0.15\ngc.threshold = \"3 blocks\"";
        let config: Config = text.parse().unwrap();
        let all = planes(&config.geometry);
        let (same, scaled) = scale(&config, Some(1)).unwrap();
        assert_eq!((planes(&same.geometry), scaled.scale, same.geometry.blocks_per_plane), (all, 1, 4096));
        let (one, scaled) = scale(&config, None).unwrap();
        assert_eq!((planes(&one.geometry), scaled.scale), (1, all));
        assert_eq!(one.device.over_provisioning, config.device.over_provisioning);
        let (small, _) = scale(&config, Some(4 * all)).unwrap();
        assert_eq!((planes(&small.geometry), small.geometry.blocks_per_plane), (1, 1024));
        assert!((in_play(&small) - in_play(&config)).abs() < 1e-4, "{} {}", in_play(&small), in_play(&config));
        assert!(small.device.over_provisioning > config.device.over_provisioning);
        assert!(scale(&config, Some(all + 1)).is_err() && scale(&config, Some(4096 * all)).is_err());
    }
}
