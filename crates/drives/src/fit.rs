//! Spare space and cost of GC of a policy, from uniform runs.

use ssdlab_lab::error::{Error, Result};

use crate::candidates::Candidate;
use crate::closed::Closed;
use crate::cost::{Cost, Moves, inverse};
use crate::input::{Curve, Input};
use crate::model::{Geometry, Model, Situation};
use crate::pattern::{Pattern, USUAL_CAPACITY};

/// Steps of the search in millionths of the flash.
const STEP: u32 = 5_000;

/// A value belongs to the interval of a key while its objective is below the best one times this.
const INTERVAL: f64 = 1.2;

/// Beyond this ratio of its ends an interval says nothing: the key is not identified.
pub const NOT_IDENTIFIED: f64 = 1.5;

/// Uniform runs as a fit sees them.
#[derive(Clone, Debug)]
pub struct Target {
    runs: Vec<Curve>,
    /// Shape of the first run that has one.
    pub closed: Closed,
    /// Cost of a host page in microseconds a kilobyte, from the sequential rate, or from the plateau if there is none.
    pub host: f64,
    /// Whether it is fitted instead.
    pub free_host: bool,
    /// A spare space that is given, in millionths.
    pub fixed_spare: Option<u32>,
    /// A cost of a moved page that is given.
    pub fixed_moved: Option<f64>,
    /// The plane.
    pub geometry: Geometry,
}

/// What a fit has found for a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Its costs.
    pub cost: Cost,
    /// Root of the mean square of ln(predicted / measured) over the runs behind the cliff.
    pub rms: f64,
    /// The same over windows of [`WINDOW`]: points of one victim each scatter where victims are drawn.
    pub shape: f64,
}

/// Runs of a policy that draws its victims, and the steps around the closed form that are tried for it.
const DRAWN: u64 = 4;
const AROUND: u32 = 4;

/// Drive writes of a window that judges the shape of a run.
pub const WINDOW: f64 = 0.25;

/// Ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether it says anything of a value.
    pub fn identifies(&self) -> bool {
        self.low > 0.0 && self.high / self.low <= NOT_IDENTIFIED
    }

    fn widen(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

/// Keys whose values are given, as `--fix KEY=V` gives them, or freed.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Keys with values.
    pub fixed: Vec<(String, f64)>,
    /// Keys that are fitted though another source has them.
    pub free: Vec<String>,
}

/// A part of a run behind its cliff.
struct Part {
    from: f64,
    to: f64,
    /// Microseconds a kilobyte.
    time: f64,
}

impl Target {
    /// The uniform runs of measurements, to be fitted on a plane of this geometry.
    ///
    /// # Errors
    /// There is no uniform run, none has a cliff, or a key can't be fixed or freed.
    pub fn of(input: &Input, given: &Given, geometry: Geometry) -> Result<Target> {
        let runs: Vec<Curve> = input.uniform().into_iter().cloned().collect();
        if runs.is_empty() {
            return Err(Error::usage("no run of pattern `uniform` over its host writes").help(
                "give a table with the columns pattern,parameter,host_drive_writes,host_MBps; see docs/drives.md",
            ));
        }
        let closed = runs.iter().find_map(Closed::of).ok_or_else(|| {
            Error::usage("the uniform run has no cliff: its rate never falls below four fifths of what it begins with")
                .help("start it on a drive that was filled sequentially after a sanitize, and write at least one drive write")
        })?;
        let host = inverse(input.sequential().unwrap_or(closed.plateau));
        let (free_host, fixed_spare, fixed_moved) = (false, None, None);
        let mut target = Target { runs, closed, host, free_host, fixed_spare, fixed_moved, geometry };
        for (key, value) in &given.fixed {
            let positive = *value > 0.0 && value.is_finite();
            match key.as_str() {
                "device.over_provisioning" if positive && *value < 1.0 => {
                    target.fixed_spare = Some((value * 1e6).round() as u32);
                }
                "cost.host" if positive => target.host = *value,
                "cost.moved" if positive => target.fixed_moved = Some(*value),
                _ => return Err(unknown("--fix", key)),
            }
        }
        for key in &given.free {
            match key.as_str() {
                "cost.host" => target.free_host = true,
                _ => return Err(unknown("--free", key)),
            }
        }
        Ok(target)
    }

    /// Drive writes of the longest run.
    pub fn drive_writes(&self) -> f64 {
        self.runs.iter().map(Curve::drive_writes).fold(0.0, f64::max)
    }

    /// The first run beside a model: drive writes, and MB/s measured and predicted, by point.
    ///
    /// # Errors
    /// The model can't be built.
    pub fn beside(&self, fitted: &Fitted) -> Result<Vec<[f64; 3]>> {
        let Some(run) = self.runs.first() else { return Ok(Vec::new()) };
        let situation = Situation { capacity: USUAL_CAPACITY, superblock: None, seed: 1 };
        let moves = fitted.model.moves(&Pattern::Uniform, run.drive_writes(), &situation)?.unwrap_or_default();
        let row = |i: usize| {
            let (from, to) = run.part(i);
            [run.points[i].at, run.points[i].rate, moves.rate_over(&fitted.cost, from, to)]
        };
        Ok((0..run.points.len()).map(row).collect())
    }

    /// Parts of the runs that begin behind the cliff, which is as sharp as the points of the run allow.
    fn parts(&self) -> Vec<Part> {
        let of = |run: &Curve| -> Vec<Part> {
            let cliff = Closed::of(run).map_or(self.closed.cliff, |closed| closed.cliff);
            let parts = (0..run.points.len()).map(|i| (run.part(i), inverse(run.points[i].rate)));
            parts
                .filter(|((from, _), _)| *from >= cliff + 0.02)
                .map(|((from, to), time)| Part { from, to, time })
                .collect()
        };
        self.runs.iter().flat_map(of).collect()
    }

    /// The costs that fit best to what a model moves, and how well.
    fn costs(&self, moves: &Moves) -> (Cost, f64) {
        let parts = self.parts();
        let moved: Vec<f64> = parts.iter().map(|part| moves.moved_over(part.from, part.to)).collect();
        // Least squares of the relative errors: host / t + moved x M / t = 1.
        let (mut ss, mut sm, mut mm, mut s, mut m) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (part, moved) in parts.iter().zip(&moved) {
            let (x, y) = (1.0 / part.time, moved / part.time);
            (ss, sm, mm, s, m) = (ss + x * x, sm + x * y, mm + y * y, s + x, m + y);
        }
        let (mut host, mut cost) = (self.host, (m - self.host * sm) / mm);
        if self.free_host {
            let det = ss * mm - sm * sm;
            (host, cost) = ((s * mm - m * sm) / det, (m * ss - s * sm) / det);
        }
        let cost = Cost { host, moved: self.fixed_moved.unwrap_or(cost), least: inverse(self.closed.plateau) };
        (cost, self.rms(&cost, moves))
    }

    /// Root of the mean square of ln(predicted / measured).
    fn rms(&self, cost: &Cost, moves: &Moves) -> f64 {
        let parts = self.parts();
        let error = |part: &Part| (inverse(moves.rate_over(cost, part.from, part.to)) / part.time).ln().powi(2);
        (parts.iter().map(error).sum::<f64>() / parts.len().max(1) as f64).sqrt()
    }

    /// The same over windows.
    fn shape(&self, cost: &Cost, moves: &Moves) -> f64 {
        let parts = self.parts();
        let windows = parts.chunk_by(|a, b| a.to <= b.to && (a.from / WINDOW).floor() == (b.from / WINDOW).floor());
        let errors = windows.map(|window| {
            let width: f64 = window.iter().map(|part| part.to - part.from).sum();
            let time: f64 = window.iter().map(|part| part.time * (part.to - part.from)).sum();
            let (from, to) = (window[0].from, window[window.len() - 1].to);
            (inverse(moves.rate_over(cost, from, to)) * width / time).ln().powi(2)
        });
        let errors: Vec<f64> = errors.collect();
        (errors.iter().sum::<f64>() / errors.len().max(1) as f64).sqrt()
    }

    /// What the uniform run moves: the mean of several runs where victims are drawn, since one alone scatters by more than a step of the
    /// spare space.
    fn moves(&self, model: &Model, situation: &Situation) -> Result<Moves> {
        let runs = if model.candidate.draws() { DRAWN } else { 1 };
        let mut mean = Moves::default();
        for run in 0..runs {
            let situation = Situation { seed: situation.seed + (run << 32), ..*situation };
            let moves = model.moves(&Pattern::Uniform, self.drive_writes(), &situation)?.unwrap_or_default();
            mean.moved.resize(moves.moved.len(), 0.0);
            mean.bin = moves.bin;
            mean.moved.iter_mut().zip(&moves.moved).for_each(|(sum, moved)| *sum += moved / runs as f64);
        }
        Ok(mean)
    }

    /// What a spare space gives.
    fn at(&self, candidate: Candidate, spare: u32, situation: &Situation) -> Result<(Fitted, Moves)> {
        let model = Model { candidate, spare, geometry: self.geometry };
        let moves = self.moves(&model, situation)?;
        let (cost, rms) = self.costs(&moves);
        let shape = self.shape(&cost, &moves);
        Ok((Fitted { model, cost, rms, shape }, moves))
    }

    /// The best spare space and costs of a policy: a search in steps from the closed form on, and a parabola through the best
    /// three.
    ///
    /// # Errors
    /// The model can't be built.
    pub fn fit(&self, candidate: Candidate, situation: &Situation) -> Result<Fitted> {
        if let Some(spare) = self.fixed_spare {
            return Ok(self.at(candidate, spare, situation)?.0);
        }
        if candidate.draws() {
            return self.fit_drawn(candidate, situation);
        }
        let tried = self.search(candidate, situation)?;
        let best = tried.iter().enumerate().min_by(|a, b| a.1.rms.total_cmp(&b.1.rms)).map_or(0, |(i, _)| i);
        let Some([left, middle, right]) = tried.get(best.wrapping_sub(1)..best + 2) else { return Ok(tried[best]) };
        let (rise, fall) = (left.rms - middle.rms, right.rms - middle.rms);
        let shift = if rise + fall > 0.0 { 0.5 * (rise - fall) / (rise + fall) * f64::from(STEP) } else { 0.0 };
        // Rounded, so that a file of a drive shows what was simulated.
        let spare = ((f64::from(middle.model.spare) + shift) / 1000.0).round() as u32 * 1000;
        if spare == middle.model.spare {
            return Ok(*middle);
        }
        let refined = self.at(candidate, spare, situation)?.0;
        Ok(if refined.rms < middle.rms { refined } else { *middle })
    }

    /// The same for a policy that draws its victims: the parabola goes through all spare spaces around the closed form, since three
    /// neighbours scatter by as much as they differ.
    fn fit_drawn(&self, candidate: Candidate, situation: &Situation) -> Result<Fitted> {
        let start = self.start().max(AROUND + 3);
        let steps = start - AROUND..=start + AROUND;
        let tried = steps.map(|step| Ok(self.at(candidate, step * STEP, situation)?.0)).collect::<Result<Vec<_>>>()?;
        let (mut y, mut xy, mut xxy, mut xx, mut xxxx) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (fitted, x) in tried.iter().zip(-f64::from(AROUND) as i32..) {
            let (x, value) = (f64::from(x), fitted.rms.powi(2));
            (y, xy, xxy, xx, xxxx) = (y + value, xy + x * value, xxy + x * x * value, xx + x * x, xxxx + x.powi(4));
        }
        let n = tried.len() as f64;
        let bend = (n * xxy - xx * y) / (n * xxxx - xx * xx);
        let best = tried.iter().min_by(|a, b| a.rms.total_cmp(&b.rms)).copied();
        let shift = if bend > 0.0 { -xy / xx / (2.0 * bend) } else { f64::NAN };
        if shift.abs() > f64::from(AROUND) || shift.is_nan() {
            return best.map_or_else(|| Ok(self.at(candidate, start * STEP, situation)?.0), Ok);
        }
        let spare = ((f64::from(start) + shift) * f64::from(STEP) / 1000.0).round() as u32 * 1000;
        Ok(self.at(candidate, spare, situation)?.0)
    }

    /// The spare space of the closed form, in steps.
    fn start(&self) -> u32 {
        ((self.closed.spare() * 1e6 / f64::from(STEP)).round() as u32).max(4)
    }

    /// Spare spaces in ascending order, with the best of them inside where the search has not reached its limits.
    fn search(&self, candidate: Candidate, situation: &Situation) -> Result<Vec<Fitted>> {
        let start = self.start() * STEP;
        let (lowest, highest) = (start.saturating_sub(8 * STEP).max(3 * STEP), (start + 8 * STEP).min(900_000));
        let of = |spare: u32| Ok::<_, Error>(self.at(candidate, spare, situation)?.0);
        let mut tried = vec![of(start - STEP)?, of(start)?, of(start + STEP)?];
        loop {
            let best = tried.iter().enumerate().min_by(|a, b| a.1.rms.total_cmp(&b.1.rms)).map_or(0, |(i, _)| i);
            let (first, last) = (tried[0].model.spare, tried[tried.len() - 1].model.spare);
            if best == 0 && first > lowest {
                tried.insert(0, of(first - STEP)?);
            } else if best + 1 == tried.len() && last < highest {
                tried.push(of(last + STEP)?);
            } else {
                return Ok(tried);
            }
        }
    }

    /// Intervals of spare space and cost of GC: what fits nearly as well as the best, and the best of other seeds.
    ///
    /// # Errors
    /// The model can't be built.
    pub fn intervals(&self, best: &Fitted, others: &[Fitted], situation: &Situation) -> Result<(Interval, Interval)> {
        let candidate = best.model.candidate;
        let value = f64::from(best.model.spare) / 1e6;
        let mut spare = Interval { low: value, high: value };
        let mut moved = Interval { low: best.cost.moved, high: best.cost.moved };
        let limit = INTERVAL * best.rms;
        if self.fixed_spare.is_none() {
            for direction in [-1.0, 1.0] {
                let (mut near, mut rms) = (value, best.rms);
                for _ in 0..8 {
                    let far = near + direction * f64::from(STEP) / 1e6;
                    let Ok((there, moves)) = self.at(candidate, (far * 1e6).round() as u32, situation) else { break };
                    if there.rms >= limit {
                        spare.widen(near + (far - near) * (limit - rms) / (there.rms - rms));
                        break;
                    }
                    spare.widen(far);
                    self.widen_moved(&mut moved, &there, &moves, limit);
                    (near, rms) = (far, there.rms);
                }
            }
        }
        let (_, moves) = self.at(candidate, best.model.spare, situation)?;
        self.widen_moved(&mut moved, best, &moves, limit);
        for other in others {
            spare.widen(f64::from(other.model.spare) / 1e6);
            moved.widen(other.cost.moved);
        }
        Ok((spare, moved))
    }

    /// Widens an interval by the costs of GC that stay below the limit at this spare space.
    fn widen_moved(&self, moved: &mut Interval, fitted: &Fitted, moves: &Moves, limit: f64) {
        if self.fixed_moved.is_some() {
            return;
        }
        for direction in [0.999, 1.001] {
            let mut cost = fitted.cost;
            while self.rms(&cost, moves) < limit && (0.3..3.0).contains(&(cost.moved / fitted.cost.moved)) {
                moved.widen(cost.moved);
                cost.moved *= direction;
            }
        }
    }
}

fn unknown(option: &str, key: &str) -> Error {
    let keys = if option == "--fix" {
        "device.over_provisioning (0 to 1), cost.host and cost.moved (microseconds a kilobyte)"
    } else {
        "cost.host"
    };
    Error::usage(format!("{option} {key}: not a key of the fit, or out of range")).help(format!("use {keys}"))
}
