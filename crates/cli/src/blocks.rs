//! The distribution of valid pages and erases over blocks, as rows of a table.

use ssdlab_lab::results::blocks::{Bin, Spread};
use ssdlab_lab::text::{count, percent};

/// Closed blocks by valid pages next to all blocks by erases.
pub fn table(spread: &Spread) -> Vec<Vec<String>> {
    let (valid, erases) = (histogram(&spread.valid), histogram(&spread.erases));
    let header = ["valid pages", "closed blocks", "", "erases", "blocks", ""].map(String::from).to_vec();
    let blank = || vec![String::new(); 3];
    let rows = (0..valid.len().max(erases.len()))
        .map(|i| [valid.get(i).cloned().unwrap_or_else(blank), erases.get(i).cloned().unwrap_or_else(blank)].concat());
    std::iter::once(header).chain(rows).collect()
}

/// One row per range: how many blocks fall into it, and their share.
fn histogram(bars: &[Bin]) -> Vec<Vec<String>> {
    let all = bars.iter().map(|bar| bar.blocks).sum::<u64>().max(1);
    let row = |bar: &Bin| {
        let Bin { from, to, blocks } = *bar;
        let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
        vec![range, count(blocks), percent(blocks as f64 / all as f64)]
    };
    bars.iter().map(row).collect()
}
