//! What ran, as the tables look at it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ssdlab_lab::input::find_workload;
use ssdlab_lab::text::percent_exact;
use ssdlab_lab::tree;
use ssdlab_lab::variants::student;
use ssdlab_sim::config::Config;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Threshold;
use ssdlab_trace::{Collector, Info};

use crate::data::Data;
pub(crate) use crate::data::Keys;
use crate::row::{Row, Steadiness};

/// A run that lines look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) workload: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) more: Keys,
    /// Added to the seed.
    pub(crate) trial: u64,
}

/// A number of a summary.
pub(crate) type Figure = fn(&Summary) -> Option<f64>;

pub(crate) struct Results {
    pub(crate) preset: Config,
    /// By scheme: its configuration, or why it was refused.
    pub(crate) schemes: BTreeMap<&'static str, Result<Config, String>>,
    pub(crate) runs: BTreeMap<Run, Summary>,
    pub(crate) workloads: &'static [&'static str],
    pub(crate) data: &'static Data,
    /// Whether `--load` has fitted the arrival times of the workloads to the load that the paper prints.
    pub(crate) loaded: bool,
    /// Workloads that the device does not hold.
    pub(crate) left_out: Vec<&'static str>,
    /// Workloads that means leave out too, because their runs are not steady.
    pub(crate) aside: RefCell<BTreeSet<&'static str>>,
    /// Runs that were looked at since the last row.
    pub(crate) looks: RefCell<BTreeSet<Run>>,
}

impl Results {
    /// Workloads that count.
    pub(crate) fn present(&self) -> impl Iterator<Item = &'static str> {
        let counts = |workload: &&str| !self.left_out.contains(workload) && !self.aside.borrow().contains(workload);
        self.workloads.iter().copied().filter(counts)
    }

    /// The least ratio of a scheme's figure to another one's among the workloads, of some figures.
    pub(crate) fn best(&self, scheme: &str, over: &str, figures: &[Figure]) -> Option<f64> {
        let ratios = self
            .present()
            .flat_map(|workload| figures.iter().filter_map(move |figure| self.ratio(workload, scheme, over, *figure)));
        ratios.reduce(f64::min)
    }

    pub(crate) fn summary(&self, workload: &str, scheme: &str) -> Option<&Summary> {
        self.varied(workload, scheme, &[])
    }

    /// With keys over the scheme's.
    pub(crate) fn varied(&self, workload: &str, scheme: &str, more: &[&str]) -> Option<&Summary> {
        let wanted = |run: &Run| (run.workload, run.scheme, run.more, run.trial) == (workload, scheme, more, 0);
        let (run, summary) = self.runs.iter().find(|(run, _)| wanted(run))?;
        self.looks.borrow_mut().insert(*run);
        Some(summary)
    }

    /// One of the trials of a run.
    pub(crate) fn trial(&self, run: &Run) -> Option<&Summary> {
        let (run, summary) = self.runs.get_key_value(run)?;
        self.looks.borrow_mut().insert(*run);
        Some(summary)
    }

    /// The row with whether the runs that were looked at for it were steady.
    pub(crate) fn seal(&self, row: Row) -> Row {
        let looks = self.looks.take();
        let is_unsteady = |run: &&Run| {
            let halves = self.runs[*run].write_amplification_halves.as_ref();
            halves.is_some_and(|halves| !halves.steady)
        };
        let unsteady: Vec<&Run> = looks.iter().filter(is_unsteady).collect();
        let workloads = |runs: &[&Run]| runs.iter().map(|run| run.workload).collect();
        row.steadiness(Steadiness {
            runs: looks.len(),
            unsteady: unsteady.len(),
            workloads: workloads(&looks.iter().collect::<Vec<_>>()),
            aside: workloads(&unsteady),
        })
    }

    /// The same for the load that the paper prints: with `--load` it is what the requests were fitted to.
    pub(crate) fn seal_load(&self, row: Row) -> Row {
        if self.loaded { row.fitted() } else { self.seal(row) }
    }

    /// What a line says without some workloads.
    pub(crate) fn setting_aside(&self, aside: &BTreeSet<&'static str>, line: impl Fn(&Self) -> Vec<Row>) -> Vec<Row> {
        self.aside.replace(aside.clone());
        let rows = line(self);
        self.aside.take();
        rows
    }

    /// The runs that were looked at belong to rows that are not judged by them.
    pub(crate) fn forget_looks(&self) {
        self.looks.take();
    }

    /// A figure of one scheme over that of another on a workload.
    pub(crate) fn ratio(&self, workload: &str, scheme: &str, base: &str, figure: Figure) -> Option<f64> {
        let own = figure(self.summary(workload, scheme)?)?;
        let other = figure(self.summary(workload, base)?)?;
        (other > 0.0).then(|| own / other)
    }

    /// The mean over all workloads that count; none if one has no figure.
    pub(crate) fn mean_by(&self, figure: impl Fn(&'static str) -> Option<f64>) -> Option<f64> {
        let figures: Option<Vec<f64>> = self.present().map(figure).collect();
        figures.filter(|figures| !figures.is_empty()).map(|figures| student::mean(&figures))
    }

    /// The median over the same workloads.
    pub(crate) fn median_by(&self, figure: impl Fn(&'static str) -> Option<f64>) -> Option<f64> {
        let figures: Option<Vec<f64>> = self.present().map(figure).collect();
        let mut figures = figures?;
        figures.sort_by(f64::total_cmp);
        let middle = figures.len() / 2;
        match figures.len() % 2 {
            0 => Some((figures.get(middle.checked_sub(1)?)? + figures[middle]) / 2.0),
            _ => figures.get(middle).copied(),
        }
    }

    pub(crate) fn mean(&self, scheme: &str, figure: Figure) -> Option<f64> {
        self.mean_by(|workload| figure(self.summary(workload, scheme)?))
    }

    /// The same with keys over the scheme's.
    pub(crate) fn mean_varied(&self, scheme: &str, more: Keys, figure: Figure) -> Option<f64> {
        self.mean_by(|workload| figure(self.varied(workload, scheme, more)?))
    }

    /// The mean over all workloads of a scheme's figure over another's.
    pub(crate) fn mean_ratio(&self, scheme: &str, base: &str, figure: Figure) -> Option<f64> {
        self.mean_by(|workload| self.ratio(workload, scheme, base, figure))
    }

    /// One row per workload with the ratios of some schemes to a baseline, as far as there are runs.
    pub(crate) fn by_workload(
        &self,
        workloads: &[&'static str],
        schemes: &[&str],
        base: &str,
        figure: Figure,
    ) -> Vec<Row> {
        let row = |workload: &&'static str| {
            let over =
                |scheme: &&str| self.ratio(workload, scheme, base, figure).map(|ratio| format!("{scheme} {ratio:.3}x"));
            let texts: Vec<String> = schemes.iter().filter_map(over).collect();
            (!texts.is_empty()).then(|| Row::stated(format!("{workload}, over {base}"), texts.join(", ")))
        };
        workloads.iter().filter_map(row).collect()
    }

    /// The configuration of a scheme; none if it was refused.
    pub(crate) fn config(&self, scheme: &str) -> Option<&Config> {
        self.schemes.get(scheme).and_then(|config| config.as_ref().ok())
    }

    /// A key of a scheme's configuration, of the preset's if the scheme was refused.
    pub(crate) fn key(&self, scheme: &str, pointer: &str) -> Option<serde_json::Value> {
        let config = self.config(scheme).unwrap_or(&self.preset);
        tree::config(config).pointer(pointer).cloned()
    }
}

// Figures that several papers print.

pub(crate) fn read_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.read.mean
}

pub(crate) fn write_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.write.mean
}

pub(crate) fn all_mean(s: &Summary) -> Option<f64> {
    s.latency_ns.all.mean
}

/// Share of the requests that waited for GC.
pub(crate) fn delayed_by_gc(s: &Summary) -> Option<f64> {
    Some(s.requests_delayed_by_gc.all as f64 / s.latency_ns.all.count.max(1) as f64)
}

/// A number of a scheme's own report, by its path in the summary.
pub(crate) fn reported(s: &Summary, pointer: &str) -> Option<f64> {
    tree::summary(s).pointer(pointer)?.as_f64()
}

/// Figures of models are those of this many requests, on an address space of this many bytes.
const MODEL_REQUESTS: u64 = 1_000_000;
const MODEL_BYTES: u64 = 1 << 40;
const MODEL_PAGE: u64 = 4096;

/// The figures of a model's first million requests, as `trace info` would print them.
pub(crate) fn figures_of(workload: &str) -> Option<Info> {
    let (_, spec) = find_workload(workload).ok()?;
    let mut collector = Collector::new();
    spec.build(MODEL_BYTES, MODEL_PAGE, 1, Some(MODEL_REQUESTS)).ok()?.for_each(|record| collector.add(&record));
    Some(collector.finish())
}

/// Whether two figures differ by at most 5 % of the paper's.
pub(crate) fn close(ours: f64, paper: f64) -> bool {
    (ours - paper).abs() <= 0.05 * paper
}

/// The threshold of GC, as papers print it.
pub(crate) fn gc_threshold(config: &Config) -> String {
    match config.gc.threshold {
        Threshold::Share(share) => percent_exact(share.as_f64()),
        other => other.to_string(),
    }
}
