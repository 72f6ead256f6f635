//! The wear and content of every block at the end of a run, and their distribution.

use ssdlab_sim::device::flash::{BlockState, Flash};
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::units::{BlockId, PlaneId};

use crate::error::Result;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::results::sheet::{Cell, CellKind, Ended, Frame, Place, Sheet};

const COLUMNS: [(&str, CellKind); 6] = [
    ("plane", CellKind::Number),
    ("block", CellKind::Number),
    ("erases", CellKind::Number),
    ("valid_pages", CellKind::Number),
    ("written_pages", CellKind::Number),
    ("state", CellKind::Word),
];

/// The handle that a block belongs to, if any: where there are several (`fdp.handles`).
const HANDLE: (&str, CellKind) = ("handle", CellKind::Maybe);

/// Erases of a block as one of the cache of SLC, and whether it is one, where there is such a cache (`slc.mode`).
const SLC: [(&str, CellKind); 2] = [("slc_erases", CellKind::Number), ("mode", CellKind::Word)];

/// P/E cycles at which a block fails, where blocks wear out (`life.mode`).
const LIMIT: (&str, CellKind) = ("limit", CellKind::Number);

/// The columns of a device with or without handles, a cache of SLC, and blocks that wear out.
fn columns(handles: bool, slc: bool, wears: bool) -> Vec<(&'static str, CellKind)> {
    let own = handles.then_some(HANDLE).into_iter().chain(SLC.into_iter().filter(|_| slc));
    COLUMNS.into_iter().chain(own).chain(wears.then_some(LIMIT)).collect()
}

/// One row per block at the end of the run, and their [`Spread`].
#[derive(Clone, Debug)]
pub struct BlockRows(pub Place);

impl BlockRows {
    /// Its name.
    pub const NAME: &str = "--blocks";
}

impl Product for BlockRows {
    fn about(&self) -> About<'_> {
        About { name: BlockRows::NAME, path: self.0.path(), timed: false }
    }

    fn begin(&self, of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Blocks(Sheet::begin(
            BlockRows::NAME,
            &self.0,
            &columns(of.config.fdp.exists(), of.config.slc.exists(), of.config.life.exists()),
        )?)))
    }
}

/// A table of blocks that is begun.
struct Blocks(Sheet);

impl Recorder for Blocks {
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let (flash, geometry) = (end.device.ssd.flash(), end.device.ssd.geometry());
        fill(&mut self.0, flash, geometry)?;
        end.give(Spread::of(flash, geometry));
        end.table(BlockRows::NAME, self.0.finish()?);
        Ok(())
    }
}

/// The state of a block in a word: `erased`, `open` (being filled) or `closed` (full); `spare` (it replaces a failed one later) or `bad`.
fn state(flash: &Flash, block: BlockId) -> &'static str {
    match flash.written(block) {
        _ if flash.state_of(block) == BlockState::Spare => "spare",
        _ if flash.state_of(block) == BlockState::Bad => "bad",
        _ if flash.is_closed(block) || flash.is_full_slc(block) => "closed",
        0 => "erased",
        _ => "open",
    }
}

fn blocks(geometry: &Geometry) -> impl Iterator<Item = (PlaneId, u32, BlockId)> + '_ {
    (0..geometry.planes)
        .map(PlaneId)
        .flat_map(|plane| geometry.blocks(plane).enumerate().map(move |(i, b)| (plane, i as u32, BlockId(b as u32))))
}

/// One row per block, plane by plane.
fn fill(sheet: &mut Sheet, flash: &Flash, geometry: &Geometry) -> Result<()> {
    let mut handles = flash.handles_by_block();
    for (plane, index, block) in blocks(geometry) {
        let numbers = [plane.0, index, flash.erases(block), u32::from(flash.valid(block)), flash.written(block)];
        let cells = numbers.map(|n| Cell::Number(n.into()));
        let handle = handles.next().map(|handle| Cell::Maybe(handle.map(u64::from)));
        let at = block.0 as usize;
        let mode = flash.slc_by_block().get(at).map(|slc| Cell::Word(if *slc { "slc" } else { "native" }));
        let erases = flash.slc_erases_by_block().get(at).map(|erases| Cell::Number((*erases).into()));
        let of_slc = erases.into_iter().chain(mode);
        let limit = flash.limits_by_block().get(at).map(|limit| Cell::Number((*limit).into()));
        let own = handle.into_iter().chain(of_slc).chain(limit);
        sheet.row(cells.into_iter().chain([Cell::Word(state(flash, block))]).chain(own))?;
    }
    Ok(())
}

/// The rows of a device in its current state.
///
/// # Errors
/// None that the caller can cause.
pub fn frame(flash: &Flash, geometry: &Geometry) -> Result<Frame> {
    let handles = flash.handles_by_block().next().is_some();
    let slc = !flash.slc_by_block().is_empty();
    let wears = !flash.limits_by_block().is_empty();
    let mut sheet = Sheet::begin(BlockRows::NAME, &Place::MEMORY, &columns(handles, slc, wears))?;
    fill(&mut sheet, flash, geometry)?;
    sheet.finish().map(Ended::frame)
}

/// The same rows for a figure.
pub fn table(flash: &Flash, geometry: &Geometry) -> ssdlab_figures::figure::Table {
    use ssdlab_figures::figure::{Cell, Table};
    let row = |(plane, index, block): (PlaneId, u32, BlockId)| {
        let numbers = [plane.0, index, flash.erases(block), u32::from(flash.valid(block)), flash.written(block)];
        let mut row: Vec<Cell> = numbers.map(|n| Cell::from(u64::from(n))).to_vec();
        row.push(state(flash, block).into());
        row
    };
    Table { columns: COLUMNS.map(|(name, _)| name.to_string()).to_vec(), rows: blocks(geometry).map(row).collect() }
}

/// Blocks whose figure falls into a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least figure.
    pub from: u32,
    /// The greatest.
    pub to: u32,
    /// How many blocks.
    pub blocks: u64,
}

/// The distribution of valid pages and erases over the blocks of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Closed blocks by valid pages.
    pub valid: Vec<Bin>,
    /// All blocks by erases.
    pub erases: Vec<Bin>,
}

impl Spread {
    /// The distribution in the current state of a device.
    pub fn of(flash: &Flash, geometry: &Geometry) -> Spread {
        let valid: Vec<u32> = blocks(geometry)
            .filter(|(_, _, block)| flash.is_closed(*block))
            .map(|(_, _, block)| flash.valid(block).into())
            .collect();
        let erases: Vec<u32> = blocks(geometry).map(|(_, _, block)| flash.erases(block)).collect();
        let (least, most) = (erases.iter().copied().min().unwrap_or(0), erases.iter().copied().max().unwrap_or(0));
        Spread { valid: histogram(&valid, 0, geometry.pages_per_block), erases: histogram(&erases, least, most) }
    }
}

/// Most bars of a histogram.
const BARS: u32 = 10;

/// Ranges of equal width from the least to the greatest value, and how many values fall into each.
fn histogram(values: &[u32], least: u32, most: u32) -> Vec<Bin> {
    let width = (most - least + 1).div_ceil(BARS);
    let bar = |n: u32| {
        let from = least + n * width;
        Bin { from, to: (from + width - 1).min(most), blocks: 0 }
    };
    let mut bars: Vec<Bin> = (0..(most - least + 1).div_ceil(width)).map(bar).collect();
    values.iter().for_each(|value| bars[((value - least) / width) as usize].blocks += 1);
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_cover_the_range_and_count_each_value_once() {
        let bar = |from, to, blocks| Bin { from, to, blocks };
        assert_eq!(histogram(&[0, 3, 3, 5], 0, 5).iter().map(|bar| bar.blocks).collect::<Vec<_>>(), [1, 0, 0, 2, 0, 1]);
        let wide = histogram(&[7, 9, 30], 7, 30);
        assert_eq!((wide.len(), wide[0], wide[7]), (8, bar(7, 9, 2), bar(28, 30, 1)));
        assert_eq!(histogram(&[4], 4, 4), [bar(4, 4, 1)]);
        assert_eq!(histogram(&[], 0, 63).last(), Some(&bar(63, 63, 0)));
    }
}
