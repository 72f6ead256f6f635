//! One row per window of simulated time, as CSV or Parquet.
//!
//! Windows begin at the first arrival. A request counts in the window in which it completes, warm-up included; a flash
//! operation in the window in which it begins. Pending requests and free pages are those at the end of the window.

use ssdlab_sim::blame::{CAUSES, Extra};
use ssdlab_sim::report::pagc::Terms;
use ssdlab_sim::report::{Breakdown, Distribution};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, RequestOp, Sample, Watches};

use crate::drive::Device;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Place, Sheet};
use crate::results::{handles, life};
use crate::text::count;

/// Columns before the causes.
const COLUMNS: [(&str, CellKind); 21] = [
    ("start_ns", CellKind::Number),
    ("requests", CellKind::Number),
    ("reads", CellKind::Number),
    ("writes", CellKind::Number),
    ("warmup", CellKind::Number),
    ("iops", CellKind::Decimal),
    ("read_mean_ns", CellKind::Maybe),
    ("read_p99_ns", CellKind::Maybe),
    ("write_mean_ns", CellKind::Maybe),
    ("write_p99_ns", CellKind::Maybe),
    ("all_mean_ns", CellKind::Maybe),
    ("all_p99_ns", CellKind::Maybe),
    ("pending", CellKind::Number),
    ("flash_reads_host", CellKind::Number),
    ("flash_reads_gc", CellKind::Number),
    ("flash_programs_host", CellKind::Number),
    ("flash_programs_gc", CellKind::Number),
    // Both count GC only.
    ("flash_copybacks", CellKind::Number),
    ("flash_erases", CellKind::Number),
    ("collections", CellKind::Number),
    ("free_pages", CellKind::Number),
];

/// Limit on rows: shorter windows are a mistake.
const MOST_ROWS: u64 = 10_000_000;

/// One row per window of simulated time.
#[derive(Clone, Debug)]
pub struct WindowRows {
    /// Where they go.
    pub place: Place,
    /// The length of a window.
    pub window: Nanos,
}

impl WindowRows {
    /// Its name.
    pub const NAME: &str = "--series";
}

impl Product for WindowRows {
    fn about(&self) -> About<'_> {
        About { name: WindowRows::NAME, path: self.place.path(), timed: true }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        let handles = if of.config.fdp.exists() { of.config.fdp.persistent() } else { Vec::new() };
        Ok(Box::new(Series::create(
            &self.place,
            self.window,
            (&of.extras, of.tenants, handles, of.config.life.exists()),
        )?))
    }
}

/// A table of rows being written; only the current window is in memory.
struct Series {
    sheet: Sheet,
    window: u64,
    /// When the current window began; none before the first arrival.
    start: Option<Nanos>,
    /// The state when it began.
    before: Option<Sample>,
    rows: u64,
    warmup: u64,
    latencies: [Distribution; 2],
    sums: [u128; 2],
    counts: [u64; 2],
    breakdown: Breakdown,
    tenants: Vec<OfTenant>,
    /// By placement handle: whether GC keeps its pages apart.
    handles: Vec<bool>,
}

/// Requests of a tenant in the current window.
struct OfTenant {
    latency: Distribution,
    sum: u128,
    bytes: u64,
}

/// Columns of a tenant, after `tenants.NAME.`.
const OF_TENANT: [(&str, CellKind); 5] = [
    ("requests", CellKind::Number),
    ("iops", CellKind::Decimal),
    ("bytes", CellKind::Number),
    ("mean_ns", CellKind::Maybe),
    ("p99_ns", CellKind::Maybe),
];

/// Columns of a cache of SLC.
pub(super) const OF_SLC: [(&str, CellKind); 2] =
    [("flash_programs_fold", CellKind::Number), ("slc_used_pages", CellKind::Number)];

/// Optional features of a device: their causes, its tenants, whether GC keeps a handle's pages apart, by handle,
/// and whether blocks wear out.
type Features<'f> = (&'f [Extra], &'f [String], Vec<bool>, bool);

impl Series {
    /// Begins a table, with columns for each of the tenants and handles.
    ///
    /// # Errors
    /// The window has no length, or as [`Sheet::begin`].
    fn create(place: &Place, window: Nanos, (extras, tenants, handles, wears): Features<'_>) -> Result<Series> {
        if window == Nanos::ZERO {
            return Err(Error::usage("--window 0ns: a window must have a length").help("for example --window 100ms"));
        }
        let causes = CAUSES.iter().map(|(_, name)| *name).chain(extras.iter().map(|extra| extra.name()));
        let causes = causes.map(|name| (name, CellKind::Maybe));
        // Paper B's sums of causes (its Fig. 3).
        let terms = Terms::default().columns().map(|(name, _)| (name, CellKind::Maybe));
        // Work of optional features.
        let caches = extras.contains(&Extra::Cache);
        let work = [("flash_reads_cache", CellKind::Number), ("flash_programs_cache", CellKind::Number)];
        let work = work.into_iter().filter(|_| caches);
        let folds = extras.contains(&Extra::Slc);
        let work = work.chain(OF_SLC.into_iter().filter(|_| folds));
        let of = |name: &String| OF_TENANT.map(|(column, kind)| (format!("tenants.{name}.{column}"), kind));
        let own: Vec<(String, CellKind)> =
            tenants.iter().flat_map(of).chain(handles::columns(handles.len())).chain(life::columns(wears)).collect();
        let mut columns: Vec<(&str, CellKind)> = COLUMNS.into_iter().chain(causes).chain(terms).chain(work).collect();
        columns.extend(own.iter().map(|(name, kind)| (name.as_str(), *kind)));
        Ok(Series {
            sheet: Sheet::begin(WindowRows::NAME, place, &columns)?,
            window: window.0,
            start: None,
            before: None,
            rows: 0,
            warmup: 0,
            latencies: [Distribution::new(), Distribution::new()],
            sums: [0; 2],
            counts: [0; 2],
            breakdown: Breakdown(Breakdown::ZERO.0, extras.iter().map(|extra| (*extra, 0)).collect()),
            tenants: tenants.iter().map(|_| OfTenant { latency: Distribution::new(), sum: 0, bytes: 0 }).collect(),
            handles,
        })
    }

    /// Checks the number of rows for a time since the first arrival.
    fn holds(&self, span: u64) -> Result<()> {
        let rows = span / self.window;
        if rows <= MOST_ROWS {
            return Ok(());
        }
        let (most, rows) = (count(MOST_ROWS), count(rows));
        let message =
            format!("--series: {} ns / {} ns = {rows}, more than {most} windows", count(span), count(self.window));
        Err(Error::usage(message).help("give a longer --window"))
    }

    fn write(&mut self, sample: &Sample) -> Result<()> {
        self.rows += 1;
        let (Some(start), Some(before)) = (self.start, &self.before) else { return Ok(()) };
        let [reads, writes] = self.counts;
        let requests = reads + writes;
        let mean = |sum: u128, count: u64| {
            // Half up, in whole nanoseconds.
            (count > 0).then(|| ((2 * sum + u128::from(count)) / (2 * u128::from(count))) as u64)
        };
        let p99 = |latencies: &Distribution, count: u64| if count > 0 { latencies.figures().p99 } else { None };
        let p99_all = if reads > 0 && writes > 0 {
            let mut all = self.latencies[0].clone();
            all.merge(&self.latencies[1]);
            all.figures().p99
        } else {
            p99(&self.latencies[0], reads).or(p99(&self.latencies[1], writes))
        };
        // In thousandths.
        let by_second = |requests: u64| u128::from(requests) * 1_000_000_000_000 / u128::from(self.window);
        let (now, then) = (&sample.flash, &before.flash);
        let cells = [
            Cell::Number(start.0),
            Cell::Number(requests),
            Cell::Number(reads),
            Cell::Number(writes),
            Cell::Number(self.warmup),
            Cell::Decimal(by_second(requests)),
            Cell::Maybe(mean(self.sums[0], reads)),
            Cell::Maybe(p99(&self.latencies[0], reads)),
            Cell::Maybe(mean(self.sums[1], writes)),
            Cell::Maybe(p99(&self.latencies[1], writes)),
            Cell::Maybe(mean(self.sums[0] + self.sums[1], requests)),
            Cell::Maybe(p99_all),
            Cell::Number(sample.pending),
            Cell::Number(now.reads.host - then.reads.host),
            Cell::Number(now.reads.gc - then.reads.gc),
            Cell::Number(now.programs.host - then.programs.host),
            Cell::Number(now.programs.gc - then.programs.gc),
            Cell::Number(now.copybacks - then.copybacks),
            Cell::Number(now.erases - then.erases),
            Cell::Number(sample.collections - before.collections),
            Cell::Number(sample.free_pages),
        ];
        // A sum of more than 584 years does not fit in a column of 64 bits.
        let total = |ns: u128| Cell::Maybe(u64::try_from(ns).ok());
        let causes = self.breakdown.0.into_iter().chain(self.breakdown.1.iter().map(|(_, ns)| *ns)).map(total);
        let terms = Terms::of(&self.breakdown).columns().map(|(_, ns)| total(ns));
        let caches = self.breakdown.1.iter().any(|(extra, _)| *extra == Extra::Cache);
        let work = [now.reads.cache - then.reads.cache, now.programs.cache - then.programs.cache];
        let folds = self.breakdown.1.iter().any(|(extra, _)| *extra == Extra::Slc);
        let of_slc = [now.programs.fold - then.programs.fold, sample.slc_used_pages];
        let work = work.into_iter().filter(|_| caches).chain(of_slc.into_iter().filter(|_| folds)).map(Cell::Number);
        let of = |own: &OfTenant| {
            let requests = own.latency.count();
            [
                Cell::Number(requests),
                Cell::Decimal(by_second(requests)),
                Cell::Number(own.bytes),
                Cell::Maybe(mean(own.sum, requests)),
                Cell::Maybe(p99(&own.latency, requests)),
            ]
        };
        let pages = sample.handles.iter().zip(&before.handles).map(|(now, then)| [0, 1].map(|n| now[n] - then[n]));
        let handles = handles::cells(&self.handles, pages);
        let own: Vec<Cell<'_>> =
            self.tenants.iter().flat_map(of).chain(handles).chain(life::cells(sample.life)).collect();
        self.sheet.row(cells.into_iter().chain(causes).chain(terms).chain(work).chain(own))?;
        self.begin_next(start, sample);
        Ok(())
    }

    /// The next window begins, with nothing in it.
    fn begin_next(&mut self, start: Nanos, sample: &Sample) {
        self.start = Some(Nanos(start.0.saturating_add(self.window)));
        self.before = Some(sample.clone());
        self.latencies.iter_mut().for_each(Distribution::clear);
        self.sums = [0; 2];
        self.counts = [0; 2];
        self.warmup = 0;
        self.breakdown.0 = Breakdown::ZERO.0;
        self.breakdown.1.iter_mut().for_each(|(_, sum)| *sum = 0);
        for own in &mut self.tenants {
            own.latency.clear();
            (own.sum, own.bytes) = (0, 0);
        }
    }
}

impl Recorder for Series {
    fn observes(&self) -> Watches {
        Watches::COMPLETIONS | Watches::SAMPLES
    }

    fn prepare(&mut self, _device: &mut Device, input: &Input) -> Result<()> {
        input.span().map_or(Ok(()), |span| self.holds(span.0))
    }

    /// When the current window ends; before the first arrival, at any move of the clock.
    fn sample_at(&self) -> Nanos {
        self.start.map_or(Nanos::ZERO, |start| Nanos(start.0.saturating_add(self.window)))
    }

    fn completed(&mut self, request: &Completed) -> Result<()> {
        if request.rejected {
            return Ok(());
        }
        let kind = match request.op {
            RequestOp::Read => 0,
            RequestOp::Write => 1,
            RequestOp::Trim | RequestOp::Flush => return Ok(()),
        };
        let latency = (request.completion - request.arrival).0;
        self.latencies[kind].record(latency);
        self.sums[kind] += u128::from(latency);
        self.counts[kind] += 1;
        self.warmup += u64::from(!request.measured);
        if let Some(own) = self.tenants.get_mut(usize::from(request.tenant)) {
            own.latency.record(latency);
            own.sum += u128::from(latency);
            own.bytes += request.bytes;
        }
        self.breakdown.add(&request.blame);
        self.breakdown.1.iter_mut().for_each(|(extra, sum)| *sum += u128::from(request.extras.0[*extra as usize]));
        Ok(())
    }

    /// If there are too many windows until then, none of them is written.
    fn clock_moves(&mut self, to: Nanos) -> Result<()> {
        let Some(start) = self.start else { return Ok(()) };
        self.holds(to.0.saturating_sub(start.0).saturating_add(self.rows.saturating_mul(self.window)))
    }

    /// The state at the end of the window, or, before the first arrival, at the first event.
    fn sample(&mut self, sample: &Sample) -> Result<()> {
        if self.start.is_none() {
            self.start = Some(sample.at);
            self.before = Some(sample.clone());
            return Ok(());
        }
        while sample.at >= self.sample_at() {
            self.write(sample)?;
        }
        Ok(())
    }

    /// Writes the window in which the run ended.
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        if self.start.is_some() {
            self.write(end.state)?;
        }
        end.table(WindowRows::NAME, self.sheet.finish()?);
        Ok(())
    }
}
