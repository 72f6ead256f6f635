//! One row per window of host writes of a run without time, as CSV or Parquet.
//!
//! A window ends with the request with which the host writes of the run reach its end.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use ssdlab_sim::Sample;
use ssdlab_sim::units::Nanos;

use crate::drive::Device;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::product::{Product, Recorder, RunEnd, Subject};
use crate::results::series::WindowRows;
use crate::results::sheet::{Cell, CellKind, Place, Sheet};

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

/// Limit on rows: shorter windows are a mistake.
const MOST_ROWS: u64 = 10_000_000;

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

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Time(time) => write!(f, "{}ns", time.0),
            Window::DriveWrites(millionths) => write!(f, "{} drive writes", *millionths as f64 / 1e6),
        }
    }
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
    fn name(&self) -> &'static str {
        WindowRows::NAME
    }

    fn path(&self) -> Option<Cow<'_, Path>> {
        self.place.as_ref().and_then(Place::path).map(Cow::Borrowed)
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Recording(Some(Writes::create(self.place.as_ref(), self.millionths)?))))
    }
}

/// The table before the run and after it; during the run the device has it.
struct Recording(Option<Writes>);

impl Recorder for Recording {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        if let Some(writes) = self.0.take() {
            device.count_writes(writes);
        }
        Ok(())
    }

    fn simulated(&mut self, device: &mut Device) {
        self.0 = device.take_writes();
    }

    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        self.0.map_or(Ok(()), |writes| writes.finish(end))
    }
}

/// What a run counted in a window of host writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Host writes at its end, in bytes.
    pub host_bytes: u64,
    /// Pages of the host programmed in it.
    pub host_pages: u64,
    /// Pages that GC moved in it.
    pub moved_pages: u64,
}

/// A table of rows being written.
pub struct Writes {
    sheet: Option<Sheet>,
    capacity: u64,
    /// Bytes of a window in millionths.
    window: u128,
    requests: u64,
    bytes: u64,
    /// Bytes at which the current window ends.
    end: u64,
    rows: Vec<Counted>,
    /// The state when the current window began; none before the run.
    before: Option<Sample>,
    /// The first error; no row is written after it.
    fault: Option<Error>,
}

impl Writes {
    /// Begins a table of windows of so many millionths of a drive write, in a file if there is a place for one.
    ///
    /// # Errors
    /// As [`Sheet::begin`].
    fn create(place: Option<&Place>, millionths: u64) -> Result<Writes> {
        let sheet = place.map(|place| Sheet::begin(WindowRows::NAME, place, &COLUMNS)).transpose()?;
        let (window, rows) = (u128::from(millionths), Vec::new());
        Ok(Writes { sheet, capacity: 0, window, requests: 0, bytes: 0, end: 0, rows, before: None, fault: None })
    }

    /// The run begins on a device of so many bytes, in this state.
    pub fn start(&mut self, capacity: u64, before: Sample) {
        (self.capacity, self.before) = (capacity, Some(before));
        self.window *= u128::from(capacity);
        self.end = self.end_of(1);
    }

    fn end_of(&self, row: u64) -> u64 {
        u64::try_from((self.window * u128::from(row)).div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
    }

    /// A request was applied, which wrote so many bytes. Whether its window ends with it.
    #[inline]
    pub fn applied(&mut self, bytes: u64) -> bool {
        self.requests += 1;
        self.bytes += bytes;
        self.bytes >= self.end
    }

    /// Writes the row of the window that ends in this state.
    pub fn row(&mut self, sample: Sample) {
        if self.fault.is_none() {
            self.fault = self.try_row(sample).err();
        }
    }

    fn try_row(&mut self, sample: Sample) -> Result<()> {
        if self.rows.len() as u64 == MOST_ROWS {
            return Err(Error::usage(format!("--series: more than {MOST_ROWS} windows")).help("give a longer --window"));
        }
        let Some(before) = &self.before else { return Ok(()) };
        let (now, then) = (&sample.flash, &before.flash);
        let (host, gc) = (now.programs.host - then.programs.host, now.programs.gc - then.programs.gc);
        let copybacks = now.copybacks - then.copybacks;
        // In thousandths.
        let drive_writes = u128::from(self.bytes) * 1_000 / u128::from(self.capacity);
        if let Some(sheet) = &mut self.sheet {
            let cells = [
                Cell::Decimal(drive_writes),
                Cell::Number(self.requests),
                Cell::Number(self.bytes),
                Cell::Number(host),
                Cell::Number(gc),
                Cell::Number(copybacks),
                Cell::Number(now.erases - then.erases),
                Cell::Number(sample.free_pages),
            ];
            sheet.row(cells.into_iter())?;
        }
        self.rows.push(Counted { host_bytes: self.bytes, host_pages: host, moved_pages: gc + copybacks });
        self.before = Some(sample);
        self.requests = 0;
        // A long request may reach the ends of several windows: they have one row.
        let passed = u128::from(self.bytes) * 1_000_000 / self.window.max(1);
        self.end = self.end_of(u64::try_from(passed).unwrap_or(u64::MAX - 1) + 1);
        Ok(())
    }

    fn finish(mut self, end: &mut RunEnd<'_>) -> Result<()> {
        if self.requests > 0 {
            self.row(end.state.clone());
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if let Some(sheet) = self.sheet {
            end.table(WindowRows::NAME, sheet.finish()?);
        }
        end.give(CountedWindows(self.rows));
        Ok(())
    }
}
