//! `--blocks`: the wear and the content of every block at the end of a run, and how they are spread.

use std::path::Path;

use ssdlab_sim::device::flash::Flash;
use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::units::{BlockId, PlaneId};

use crate::fault::Result;
use crate::output::Finished;
use crate::sheet::{Cell, Kind, Sheet};
use crate::text::{count, percent};

const COLUMNS: [(&str, Kind); 6] = [
    ("plane", Kind::Number),
    ("block", Kind::Number),
    ("erases", Kind::Number),
    ("valid_pages", Kind::Number),
    ("written_pages", Kind::Number),
    ("state", Kind::Word),
];

/// Begins a file; its name says in which form.
pub fn create(path: &Path) -> Result<Sheet> {
    Sheet::create("--blocks", path, &COLUMNS)
}

/// A block for people: `erased`, `open` (being filled) or `closed` (full).
fn state(flash: &Flash, block: BlockId) -> &'static str {
    match flash.written(block) {
        _ if flash.is_closed(block) => "closed",
        0 => "erased",
        _ => "open",
    }
}

fn blocks(geometry: &Geometry) -> impl Iterator<Item = (PlaneId, u32, BlockId)> + '_ {
    (0..geometry.planes)
        .map(PlaneId)
        .flat_map(|plane| geometry.blocks(plane).enumerate().map(move |(i, b)| (plane, i as u32, BlockId(b as u32))))
}

/// Writes a row a block, plane by plane.
pub fn write(mut sheet: Sheet, flash: &Flash, geometry: &Geometry) -> Result<Finished> {
    for (plane, index, block) in blocks(geometry) {
        let numbers = [plane.0, index, flash.erases(block), u32::from(flash.valid(block)), flash.written(block)];
        let cells = numbers.map(|n| Cell::Number(n.into()));
        sheet.row(cells.into_iter().chain([Cell::Word(state(flash, block))]))?;
    }
    sheet.finish()
}

/// Bars of a histogram.
const BARS: u32 = 10;

/// Closed blocks by valid pages, and all blocks by erases, as rows of a table.
pub fn histograms(flash: &Flash, geometry: &Geometry) -> Vec<Vec<String>> {
    let valid: Vec<u32> = blocks(geometry)
        .filter(|(_, _, block)| flash.is_closed(*block))
        .map(|(_, _, block)| flash.valid(block).into())
        .collect();
    let erases: Vec<u32> = blocks(geometry).map(|(_, _, block)| flash.erases(block)).collect();
    let valid = histogram(&valid, 0, geometry.pages_per_block);
    let erases =
        histogram(&erases, erases.iter().copied().min().unwrap_or(0), erases.iter().copied().max().unwrap_or(0));
    let header = ["valid pages", "closed blocks", "", "erases", "blocks", ""].map(String::from).to_vec();
    let blank = || vec![String::new(); 3];
    let rows = (0..valid.len().max(erases.len()))
        .map(|i| [valid.get(i).cloned().unwrap_or_else(blank), erases.get(i).cloned().unwrap_or_else(blank)].concat());
    std::iter::once(header).chain(rows).collect()
}

/// Rows of a range, how many values fall into it, and their share.
fn histogram(values: &[u32], least: u32, most: u32) -> Vec<Vec<String>> {
    let width = (most - least + 1).div_ceil(BARS);
    let mut bars = vec![0u64; (most - least + 1).div_ceil(width) as usize];
    values.iter().for_each(|value| bars[((value - least) / width) as usize] += 1);
    let row = |(i, n): (usize, &u64)| {
        let from = least + i as u32 * width;
        let to = (from + width - 1).min(most);
        let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
        vec![range, count(*n), percent(*n as f64 / values.len().max(1) as f64)]
    };
    bars.iter().enumerate().map(row).collect()
}
