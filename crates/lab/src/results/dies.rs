//! One row per window and die, beside the series: for how long host operations, GC and write-backs held the die, and what it did.
//!
//! A die here is a unit of exclusion: a chip or a channel if `device.exclusion` says so.

use std::path::{Path, PathBuf};

use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::device::transaction::Verb;
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sim::{LegRecord, Sample, Watches};

use crate::drive::Device;
use crate::error::Result;
use crate::input::Input;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Sheet};

const COLUMNS: [(&str, CellKind); 8] = [
    ("start_ns", CellKind::Number),
    ("die", CellKind::Number),
    ("host_ns", CellKind::Number),
    ("gc_ns", CellKind::Number),
    ("writeback_ns", CellKind::Number),
    ("reads", CellKind::Number),
    ("programs", CellKind::Number),
    ("erases", CellKind::Number),
];

/// One row per window and die, in a file beside that of a series. It observes what [`WindowRows`] samples, so both are in the list.
///
/// [`WindowRows`]: crate::results::series::WindowRows
#[derive(Clone, Debug)]
pub struct DieRows {
    /// Its file.
    pub file: PathBuf,
    /// The length of its windows.
    pub window: Nanos,
}

impl DieRows {
    /// Its name.
    pub const NAME: &str = "--series-dies";

    /// Those in the file beside that of a series: `x.dies.csv` beside `x.csv`.
    pub fn beside(series: &Path, window: Nanos) -> DieRows {
        let ending = series.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
        DieRows { file: series.with_extension(format!("dies{ending}")), window }
    }
}

impl Product for DieRows {
    fn about(&self) -> About<'_> {
        About { name: DieRows::NAME, path: Some(&self.file), timed: true }
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        let sheet = Sheet::create(DieRows::NAME, &self.file, &COLUMNS)?;
        Ok(Box::new(Dies { sheet, window: self.window.0, start: None, dies: Vec::new(), die_of: Vec::new() }))
    }
}

/// A die in the current window.
#[derive(Clone, Default)]
struct Die {
    /// Totals when the window began.
    before: [u64; 3],
    /// Reads, programs and erases that ended in it.
    counts: [u64; 3],
    /// The last program or erase: a suspended one is seen again when it goes on.
    last: Option<(u64, Verb, u32)>,
}

/// A file of rows being written; only the current window is in memory.
struct Dies {
    sheet: Sheet,
    window: u64,
    start: Option<Nanos>,
    dies: Vec<Die>,
    /// By plane: its die.
    die_of: Vec<u32>,
}

impl Dies {
    /// Planes have worked. A copyback is a read and a program.
    fn count(&mut self, leg: &LegRecord) {
        if leg.kind != LegKind::Array {
            return;
        }
        let Some(plane) = leg.planes().next() else { return };
        let Some(die) = self.die_of.get(plane.0 as usize).and_then(|die| self.dies.get_mut(*die as usize)) else {
            return;
        };
        let pages = leg.planes().count() as u64;
        // A block may be erased and written at once for one request or collection.
        let key = Some((leg.number, leg.verb, leg.ppn.0));
        if leg.verb != Verb::Read && std::mem::replace(&mut die.last, key) == key {
            return;
        }
        match leg.verb {
            Verb::Read => die.counts[0] += pages,
            Verb::Program => die.counts[1] += pages,
            Verb::Erase => die.counts[2] += pages,
            Verb::Copyback => {
                die.counts[0] += pages;
                die.counts[1] += pages;
            }
        }
    }

    fn write(&mut self, sample: &Sample, start: Nanos, end: Nanos) -> Result<()> {
        for (number, (die, held)) in self.dies.iter_mut().zip(&sample.dies).enumerate() {
            let now = held.at(end);
            let spent = [0, 1, 2].map(|i| Cell::Number(now[i] - die.before[i]));
            let counts = std::mem::take(&mut die.counts).map(Cell::Number);
            die.before = now;
            let head = [Cell::Number(start.0), Cell::Number(number as u64)];
            self.sheet.row(head.into_iter().chain(spent).chain(counts))?;
        }
        Ok(())
    }
}

impl Recorder for Dies {
    fn observes(&self) -> Watches {
        Watches::LEGS | Watches::SAMPLES
    }

    fn samples_dies(&self) -> bool {
        true
    }

    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        let geometry: &Geometry = device.ssd.geometry();
        self.dies = vec![Die::default(); geometry.units as usize];
        self.die_of = (0..geometry.planes).map(|plane| geometry.unit_of(PlaneId(plane)).0).collect();
        Ok(())
    }

    fn leg(&mut self, leg: &LegRecord) -> Result<()> {
        self.count(leg);
        Ok(())
    }

    /// The clock moves to or past the end of the window.
    fn sample(&mut self, sample: &Sample) -> Result<()> {
        let Some(mut start) = self.start else {
            self.start = Some(sample.at);
            self.dies.iter_mut().zip(&sample.dies).for_each(|(die, held)| die.before = held.at(sample.at));
            return Ok(());
        };
        while sample.at.0 >= start.0.saturating_add(self.window) {
            self.write(sample, start, Nanos(start.0 + self.window))?;
            start = Nanos(start.0 + self.window);
            self.start = Some(start);
        }
        Ok(())
    }

    /// Writes the window in which the run ended.
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        if let Some(start) = self.start {
            self.write(end.state, start, end.state.at)?;
        }
        end.table(DieRows::NAME, self.sheet.finish()?);
        Ok(())
    }
}
