//! What a run is expected to cost: CPU time from the pages that are filled and the requests that are served.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_sim::config::{Config, PreconditionMode};

use crate::key::Mode;
use ssdlab_lab::theory::Outlook;

/// Pages filled a CPU second, before any run was measured.
pub const FILLED_PER_S: u64 = 12_000_000;
/// Nanoseconds of CPU time a request, before any run was measured: with time, and counted only.
pub const REQUEST_NS: [u64; 2] = [3_500, 100];
/// Requests of an input that does not say how many it has.
pub const UNKNOWN: u64 = 1_000_000;

/// What makes a run expensive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Pages that preconditioning writes.
    pub filled_pages: u64,
    /// Requests that are served.
    pub requests: u64,
    /// Whether they have time.
    pub mode: Mode,
    /// The name of the collector.
    pub collector: String,
}

/// Pages that filling a device writes.
pub fn filled_pages(config: &Config) -> u64 {
    let outlook = Outlook::new(config, false);
    let exported = outlook.planes * outlook.exported_per_plane;
    match config.precondition.mode {
        PreconditionMode::None => 0,
        PreconditionMode::Random => exported + (config.precondition.overwrite * exported as f64) as u64,
        _ => exported,
    }
}

impl Work {
    /// Nanoseconds at the fixed rates, which shards are cut by: they depend on the study alone.
    pub fn fixed_ns(&self) -> u64 {
        self.fill_fixed_ns() + self.requests.saturating_mul(REQUEST_NS[usize::from(self.mode == Mode::Count)])
    }

    /// Those of filling.
    pub fn fill_fixed_ns(&self) -> u64 {
        (u128::from(self.filled_pages) * 1_000_000_000 / u128::from(FILLED_PER_S)) as u64
    }
}

/// The cost of a run: the only file of a store with anything of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Wall time.
    pub wall_s: f64,
    /// CPU time of its thread.
    pub cpu_s: f64,
    /// Part of it that filled the device; 0 if another run's filling was shared.
    pub fill_cpu_s: f64,
    /// Peak resident memory of the process; null where the system does not report it.
    pub peak_rss_bytes: Option<u64>,
    /// Pages filled by this run itself.
    pub filled_pages: u64,
    /// Requests served.
    pub requests: u64,
    /// Share of reads among them, in tenths.
    pub read_tenths: u64,
    /// The name of the collector.
    pub collector: String,
    /// Name of the machine.
    pub host: String,
    /// Type of the machine: rates are kept by it.
    pub machine: String,
    /// Seconds since 1970.
    pub started_at: u64,
    /// Which attempt this was, from 1.
    pub attempt: u64,
    /// Job of a scheduler.
    pub job: Option<String>,
}

/// Rates of this type of machine: medians over measured runs.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Seconds a page filled.
    fill_s: Option<f64>,
    /// Seconds a request, by mode and collector.
    request_s: BTreeMap<(bool, String), f64>,
    /// By mode alone.
    any_s: [Option<f64>; 2],
}

/// The middle one; none of nothing.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| if n % 2 == 1 { values[n / 2] } else { (values[n / 2 - 1] + values[n / 2]) / 2.0 })
}

impl Rates {
    /// The medians of measured runs; `count` tells whether a run had no time. Runs of other types of machines are left out.
    pub fn of<'c>(runs: impl Iterator<Item = (&'c Cost, Mode)>, machine: &str) -> Rates {
        let mut fill = Vec::new();
        // By mode, collector and share of reads: the median of each kind, then of the kinds.
        let mut kinds: BTreeMap<(bool, String, u64), Vec<f64>> = BTreeMap::new();
        for (cost, mode) in runs.filter(|(cost, _)| cost.machine == machine) {
            if cost.filled_pages > 0 && cost.fill_cpu_s > 0.0 {
                fill.push(cost.fill_cpu_s / cost.filled_pages as f64);
            }
            if cost.requests > 0 {
                let each = (cost.cpu_s - cost.fill_cpu_s).max(0.0) / cost.requests as f64;
                let kind = (mode == Mode::Count, cost.collector.clone(), cost.read_tenths);
                kinds.entry(kind).or_default().push(each);
            }
        }
        let mut by: BTreeMap<(bool, String), Vec<f64>> = BTreeMap::new();
        let mut any: [Vec<f64>; 2] = Default::default();
        for ((count, collector, _), values) in kinds {
            let Some(middle) = median(values) else { continue };
            any[usize::from(count)].push(middle);
            by.entry((count, collector)).or_default().push(middle);
        }
        Rates {
            fill_s: median(fill),
            request_s: by.into_iter().filter_map(|(kind, values)| Some((kind, median(values)?))).collect(),
            any_s: any.map(median),
        }
    }

    /// Expected CPU seconds of a run that fills its own device, and those of the filling.
    pub fn expect(&self, work: &Work) -> (f64, f64) {
        let count = work.mode == Mode::Count;
        let fill = work.filled_pages as f64 * self.fill_s.unwrap_or(1.0 / FILLED_PER_S as f64);
        let each = self.request_s.get(&(count, work.collector.clone())).copied().or(self.any_s[usize::from(count)]);
        let each = each.unwrap_or(REQUEST_NS[usize::from(count)] as f64 / 1e9);
        (fill + work.requests as f64 * each, fill)
    }
}

/// The type of this machine.
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    format!("{} {}", std::env::consts::ARCH, cpu.unwrap_or_else(|| "unknown".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(cpu_s: f64, fill_cpu_s: f64, collector: &str) -> Cost {
        Cost {
            wall_s: cpu_s,
            cpu_s,
            fill_cpu_s,
            peak_rss_bytes: None,
            filled_pages: 1_000_000,
            requests: 1_000_000,
            read_tenths: 7,
            collector: collector.into(),
            host: String::new(),
            machine: "m".into(),
            started_at: 0,
            attempt: 1,
            job: None,
        }
    }

    #[test]
    fn rates_are_fixed_until_runs_were_measured() {
        let work =
            Work { filled_pages: 12_000_000, requests: 2_000_000, mode: Mode::Timed, collector: "serial".into() };
        assert_eq!(work.fixed_ns(), 8_000_000_000);
        let (all, fill) = Rates::default().expect(&work);
        assert!((all - 8.0).abs() < 1e-9 && (fill - 1.0).abs() < 1e-9);
        let runs =
            [cost(3.0, 1.0, "serial"), cost(5.0, 1.0, "serial"), cost(9.0, 1.0, "pagc"), cost(7.0, 1.0, "serial")];
        let rates = Rates::of(runs.iter().map(|cost| (cost, Mode::Timed)), "m");
        let (all, fill) = rates.expect(&work);
        assert!((fill - 12.0).abs() < 1e-9, "{fill}");
        assert!((all - (12.0 + 8.0)).abs() < 1e-9, "the median of three runs of the collector: {all}");
        let other = Rates::of(runs.iter().map(|cost| (cost, Mode::Timed)), "n");
        assert!((other.expect(&work).0 - 8.0).abs() < 1e-9, "another type of machine");
    }
}
