//! What a device is built from: plain values. A configuration turns into it (`config/spec.rs`); the device knows no key.

use super::place::StaticOrder;
use crate::units::{Nanos, Ppm, Rate};

/// Counts and sizes of the array, and of its address space.
#[derive(Clone, Debug)]
pub struct ArraySpec {
    /// Channels.
    pub channels: u32,
    /// Chips of a channel.
    pub chips_per_channel: u32,
    /// Dies of a chip.
    pub dies_per_chip: u32,
    /// Planes of a die; a pair of planes with one page counts once.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Of those, from the first on, the pages that hold data.
    pub data_pages: u32,
    /// Bytes of a flash page.
    pub flash_page: u32,
    /// Flash pages of a page: 2 where planes are paired.
    pub pages_per_unit: u32,
    /// Units that serve one operation at a time: dies, chips or channels.
    pub units: u32,
    /// Logical pages a plane, parity included.
    pub exported_per_plane: u32,
    /// How static placement spreads logical pages over planes.
    pub order: StaticOrder,
    /// Parity groups, if there are any.
    pub parity: Option<ParitySpec>,
}

/// Parity groups.
#[derive(Clone, Copy, Debug)]
pub struct ParitySpec {
    /// Chips of a group.
    pub group: u32,
    /// Whether a group's chips are spread as far apart as possible (LCI layout).
    pub spread: bool,
}

/// How long things take.
#[derive(Clone, Debug)]
pub struct TimingSpec {
    /// Array time of a read, by page type in turn.
    pub read: Vec<Nanos>,
    /// Array time of a program, by page type in turn.
    pub program: Vec<Nanos>,
    /// Array time of an erase.
    pub erase: Nanos,
    /// Array time of a copyback, if it is not that of a read and a program.
    pub copyback: Option<Nanos>,
    /// Bus time of a command.
    pub command: Nanos,
    /// Bytes a time of a channel.
    pub channel: Rate,
    /// Bytes a time between host and controller, if that takes any.
    pub link: Option<Rate>,
    /// Time of the decoder for a page.
    pub decode: Nanos,
    /// Whether the last page of a word line starts the program of all of them.
    pub one_shot: bool,
    /// Whether copybacks have a leg for each half.
    pub splits: bool,
}

/// P/E cycles and copyback counts.
#[derive(Clone, Debug)]
pub struct WearSpec {
    /// P/E cycles of every block when the device is new.
    pub pe_cycles: u32,
    /// From this many P/E cycles on, this copyback threshold: ascending.
    pub thresholds: Vec<(u32, u8)>,
    /// Whether copybacks are counted at all.
    pub counted: bool,
}

/// Bit errors by page.
#[derive(Clone, Debug)]
pub struct ErrorSpec {
    /// Errors a KiB that ECC corrects.
    pub correctable: u32,
    /// Points (P/E cycles, errors a MiB) of what a program leaves.
    pub program_errors: Vec<(u32, u32)>,
    /// Spread of pages around that.
    pub spread: Ppm,
    /// Thousandths of errors a MiB that a read of its block adds to a page.
    pub read_disturb: u32,
    /// Share of its errors that a page gains a day.
    pub retention: Ppm,
    /// Share of the correctable errors that derived thresholds leave.
    pub margin: Ppm,
}

/// How many pages have errors, where those are drawn page by page.
#[derive(Clone, Copy, Debug)]
pub enum PageErrorSpec {
    /// This share of pages.
    Share(Ppm),
    /// Each bit with this probability.
    BitErrorRate(f64),
}

/// An interconnect between flash controllers and CPU.
#[derive(Clone, Copy, Debug)]
pub struct NocSpec {
    /// Bits of a data unit.
    pub flit_bits: u32,
    /// Time a unit takes through a slice.
    pub cycle: Nanos,
    /// Slices on the mean path.
    pub mean_slices: f64,
    /// Columns of an array.
    pub columns: u32,
    /// Rows of an array; 0 for the formula.
    pub rows: u32,
    /// Whether a traversal takes time only, and no port.
    pub delayed: bool,
    /// Time to write a page into a flash controller's buffer.
    pub sram_write: Nanos,
    /// Time to read a page from it.
    pub sram_read: Nanos,
}
