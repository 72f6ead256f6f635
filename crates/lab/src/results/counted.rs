//! One row per window of host writes of a run without time, as CSV or Parquet.
//!
//! A window ends with the request with which the host writes of the run reach its end.

use std::str::FromStr;

use ssdlab_sim::units::Nanos;

use crate::drive::Device;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::series::{OF_SLC, WindowRows};
use crate::results::sheet::{Cell, CellKind, Place, Sheet};
use crate::results::{handles, life};
use crate::writes::{Counted, Writes};

const COLUMNS: [(&str, CellKind); 8] = [
    ("host_drive_writes", CellKind::Decimal),
    ("requests", CellKind::Number),
    ("host_bytes", CellKind::Number),
    ("flash_programs_host", CellKind::Number),
    ("flash_programs_gc", CellKind::Number),
    // Both count GC only.
    ("flash_copybacks", CellKind::Number),
    ("flash_erases", CellKind::Number),
    ("free_pages", CellKind::Number),
];

/// The width of the windows of a series: simulated time, or host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A time.
    Time(Nanos),
    /// A share of the exported capacity, in millionths.
    DriveWrites(u64),
}

impl Window {
    /// The width of windows of a run without time that says nothing of them.
    pub const WRITES: u64 = 50_000;
}

impl FromStr for Window {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Window, String> {
        let form = || format!("`{text}` is neither a time such as 100ms nor host writes such as \"0.05 drive writes\"");
        let Some(number) = text.trim().strip_suffix("drive writes").or(text.trim().strip_suffix("drive write")) else {
            return text.parse().map(Window::Time).map_err(|_| form());
        };
        let millionths = number.trim().parse::<f64>().map_err(|_| form())? * 1e6;
        if !(1.0..=1e12).contains(&millionths) {
            return Err(format!("a window of {text} is not between 0.000001 and 1000000 drive writes"));
        }
        Ok(Window::DriveWrites(millionths.round() as u64))
    }
}

/// One row per window of host writes.
#[derive(Clone, Debug)]
pub struct CountedRows {
    /// Where they go; without a place they are only given to the caller, as [`CountedWindows`].
    pub place: Option<Place>,
    /// The width of a window in millionths of a drive write.
    pub millionths: u64,
}

/// What was counted, by window.
#[derive(Clone, Debug, Default)]
pub struct CountedWindows(pub Vec<Counted>);

impl Product for CountedRows {
    fn about(&self) -> About<'_> {
        About { name: WindowRows::NAME, path: self.place.as_ref().and_then(Place::path), timed: false }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        let handles = if of.config.fdp.exists() { of.config.fdp.persistent() } else { Vec::new() };
        let own: Vec<(String, CellKind)> =
            handles::columns(handles.len()).chain(life::columns(of.config.life.exists())).collect();
        let of_slc = OF_SLC.into_iter().filter(|_| of.config.slc.exists());
        let own_names = own.iter().map(|(name, kind)| (name.as_str(), *kind));
        let columns: Vec<(&str, CellKind)> = COLUMNS.into_iter().chain(of_slc).chain(own_names).collect();
        let sheet = self.place.as_ref().map(|place| Sheet::begin(WindowRows::NAME, place, &columns)).transpose()?;
        let folds = of.config.slc.exists();
        Ok(Box::new(CountedRecorder { sheet, folds, handles, writes: Some(Writes::new(self.millionths)) }))
    }
}

/// The table, and the windows before the run and after it; during the run the device has them.
struct CountedRecorder {
    sheet: Option<Sheet>,
    /// There is a cache of SLC.
    folds: bool,
    /// By placement handle: whether GC keeps its pages apart.
    handles: Vec<bool>,
    writes: Option<Writes>,
}

impl Recorder for CountedRecorder {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        if let Some(writes) = self.writes.take() {
            device.count_writes(writes);
        }
        Ok(())
    }

    fn simulated(&mut self, device: &mut Device) {
        self.writes = device.take_writes();
    }

    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let Some(writes) = self.writes else { return Ok(()) };
        let (rows, capacity) = writes
            .finish(end.state.clone())
            .ok_or_else(|| Error::usage("--series: more than a million windows").help("give a longer --window"))?;
        if let Some(mut sheet) = self.sheet {
            for row in &rows {
                let own = handles::cells(&self.handles, row.handles.iter().copied()).chain(life::cells(row.life));
                let of_slc = [row.fold_pages, row.slc_used_pages].map(Cell::Number).into_iter().filter(|_| self.folds);
                sheet.row(cells(row, capacity).into_iter().chain(of_slc).chain(own))?;
            }
            end.table(WindowRows::NAME, sheet.finish()?);
        }
        end.give(CountedWindows(rows));
        Ok(())
    }
}

fn cells(row: &Counted, capacity: u64) -> [Cell<'static>; 8] {
    [
        // In thousandths.
        Cell::Decimal(u128::from(row.host_bytes) * 1_000 / u128::from(capacity)),
        Cell::Number(row.requests),
        Cell::Number(row.host_bytes),
        Cell::Number(row.host_pages),
        Cell::Number(row.gc_pages),
        Cell::Number(row.copybacks),
        Cell::Number(row.erases),
        Cell::Number(row.free_pages),
    ]
}
