//! Specification of a device in plain values. the sections of `config/` make it; the device does not import
//! `config`.

use super::place::StaticOrder;
use crate::units::{Nanos, Ppm, Rate};

/// Counts and sizes of the array, and of its address space.
#[derive(Clone, Debug)]
pub struct ArraySpec {
    /// Channels.
    pub channels: u32,
    /// Chips per channel.
    pub chips_per_channel: u32,
    /// Dies per chip.
    pub dies_per_chip: u32,
    /// Planes per die; paired planes count as one.
    pub planes_per_die: u32,
    /// Blocks per plane.
    pub blocks_per_plane: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Data pages of a block: its first ones.
    pub data_pages: u32,
    /// Data bytes of a flash page.
    pub flash_page: u32,
    /// Flash pages per page: 2 if planes are paired.
    pub pages_per_entry: u32,
    /// Data bytes of a unit of the map: of a flash page, or of a part of one.
    pub unit_bytes: u32,
    /// Units in pages and programs.
    pub slots: SlotsSpec,
    /// Units of exclusion: dies, chips or channels.
    pub units: u32,
    /// Logical pages per plane, including parity.
    pub exported_per_plane: u32,
    /// Order in which static placement spreads logical pages over planes.
    pub order: StaticOrder,
    /// Parity groups, if there are any.
    pub parity: Option<ParitySpec>,
}

/// How units of the map lie in pages and programs; each count is 1 where a unit is a page and is programmed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsSpec {
    /// Units of a flash page.
    pub per_page: u32,
    /// Units of a super page: of the pages at one offset of all planes of a program.
    pub per_super_page: u32,
    /// Units of a program.
    pub per_program: u32,
    /// Planes of a program, which are one plane of the array.
    pub planes: u32,
    /// Kinds of moved units that wait apart in the controller: one, or with placement handles what each of them keeps, and the rest.
    pub hands: u32,
}

impl SlotsSpec {
    /// Whether a program has several units.
    pub fn several(&self) -> bool {
        self.per_program > 1
    }

    /// Flash pages of a program.
    pub fn pages_per_program(&self) -> u32 {
        self.per_program / self.per_page
    }

    /// Most moved units of a kind that wait in the controller: less than a program, and a super page.
    pub fn in_hand(&self) -> u32 {
        self.per_program + self.per_super_page - 1
    }

    /// Blocks of so many slots that number the places in the controller for moved units of a plane.
    pub fn blocks_in_hand(&self, per_block: u32) -> u32 {
        (self.hands * self.in_hand()).div_ceil(per_block).max(2)
    }
}

/// Parity groups.
#[derive(Clone, Copy, Debug)]
pub struct ParitySpec {
    /// Chips per group.
    pub group: u32,
    /// Whether a group's chips are spread as far apart as possible (LCI layout).
    pub spread: bool,
    /// Whether chips are numbered channel by channel.
    pub by_channel: bool,
}

/// Times of flash operations and transfers.
#[derive(Clone, Debug)]
pub struct TimingSpec {
    /// Array time of a read, by page type.
    pub read: Vec<Nanos>,
    /// Array time of a program, by page type.
    pub program: Vec<Nanos>,
    /// Array time of an erase.
    pub erase: Nanos,
    /// Array times of blocks of the cache of SLC, if there is one.
    pub slc: Option<SlcTimesSpec>,
    /// Array time of a copyback, if it is not the sum of a read and a program.
    pub copyback: Option<Nanos>,
    /// Bus time of a command.
    pub command: Nanos,
    /// Transfer rate of a channel.
    pub channel: Rate,
    /// Transfer rate between host and controller, if it is modelled.
    pub link: Option<Rate>,
    /// Decode time per page.
    pub decode: Nanos,
    /// Whether the last page of a word line starts the program of all its pages.
    pub one_shot: bool,
    /// Whether a copyback has one leg for each half.
    pub splits: bool,
    /// Number of page types.
    pub types: u32,
    /// Whether word lines are programmed in shadow order; otherwise the pages of a word line follow one another.
    pub shadow: bool,
    /// Variation of array times.
    pub variation: VariationSpec,
}

/// Array times of blocks of the cache of SLC.
#[derive(Clone, Copy, Debug)]
pub struct SlcTimesSpec {
    /// Of a page read.
    pub read: Nanos,
    /// Of a page program.
    pub program: Nanos,
    /// Of an erase.
    pub erase: Nanos,
}

/// Blocks of the cache of SLC.
#[derive(Clone, Copy, Debug)]
pub struct SlcSpec {
    /// Pages of such a block.
    pub pages: u32,
    /// Blocks of each plane that belong to the cache for ever; 0 if erased blocks of the plane do for a time.
    pub fixed: u32,
    /// Most of a plane's blocks at a time.
    pub most: u32,
    /// Free pages of a plane below which GC starts.
    pub floor: u32,
    /// Whether writes that find no room wait for a fold.
    pub waits_for_folds: bool,
    /// Whether the block that became full first is folded first, or the one with the fewest valid pages.
    pub in_order: bool,
}

/// When blocks fail, and what takes their place.
#[derive(Clone, Debug)]
pub struct LifeSpec {
    /// Mean P/E cycles of a block.
    pub endurance: u32,
    /// Standard deviation of its factor.
    pub spread: Ppm,
    /// P/E cycles of every block before the run.
    pub worn: u32,
    /// P/E cycles, in millionths, that an erase takes as a block of the cache of SLC.
    pub slc_wear: u64,
    /// Blocks of each plane that are bad from the start.
    pub initial_bad: u32,
    /// Spare blocks of each plane.
    pub spares: u32,
    /// Spare blocks left in a plane with which the device's writing ends.
    pub least_spares: u32,
    /// Share of blocks whose end is a failed program.
    pub program_failures: Ppm,
    /// Whether any program may fail.
    pub fails_programs: bool,
    /// Pages of a block that hold data.
    pub data_pages: u32,
    /// Blocks that fail at a time that is given.
    pub faults: Vec<FaultSpec>,
}

/// A block that fails at a time that is given.
#[derive(Clone, Copy, Debug)]
pub struct FaultSpec {
    /// Its plane.
    pub plane: u32,
    /// Its index in the plane.
    pub block: u32,
    /// The erase that fails, or the erases before the program that fails.
    pub erases: u32,
    /// The page whose program fails.
    pub page: Option<u32>,
}

/// Variation of the array times of reads and programs.
#[derive(Clone, Copy, Debug)]
pub struct VariationSpec {
    /// Standard deviation of the factor of blocks.
    pub block: Ppm,
    /// Standard deviation of the factor of word lines.
    pub layer: Ppm,
}

/// P/E cycles and copyback counts.
#[derive(Clone, Debug)]
pub struct WearSpec {
    /// P/E cycles of every block at the start.
    pub pe_cycles: u32,
    /// Pairs of P/E cycles and the copyback threshold from there on, ascending.
    pub thresholds: Vec<(u32, u8)>,
    /// Whether copybacks are counted.
    pub counted: bool,
}

/// Bit errors, page by page.
#[derive(Clone, Debug)]
pub struct ErrorSpec {
    /// Errors per KiB that ECC corrects.
    pub correctable: u32,
    /// Errors that a program leaves: points (P/E cycles, errors per MiB).
    pub program_errors: Vec<(u32, u32)>,
    /// Relative variation of pages around that curve.
    pub spread: Ppm,
    /// Errors per MiB that 1,000 reads of a block add to its pages.
    pub read_disturb: u32,
    /// Share of a program's errors that retention adds per day.
    pub retention: Ppm,
    /// Share of the correctable errors that derived thresholds keep unused.
    pub margin: Ppm,
    /// Levels of errors by which reads are repeated, ascending; none if reads are not repeated.
    pub levels: Vec<LevelSpec>,
    /// Age of what is on flash at the start.
    pub initial_age: Nanos,
    /// Retention takes its course so many times faster than simulated time.
    pub age_factor: u32,
}

/// What a read costs up to an amount of bit errors.
#[derive(Clone, Copy, Debug)]
pub struct LevelSpec {
    /// Most errors per KiB.
    pub errors: u32,
    /// Times that the page is read again.
    pub retries: u32,
    /// Time to decode the page, each time.
    pub decode: Nanos,
}

/// How reads are repeated.
#[derive(Clone, Copy, Debug)]
pub struct RetrySpec {
    /// Bus time of the command of a retry.
    pub set: Nanos,
    /// Array time of a retry, unless it is the page's own.
    pub read: Option<Nanos>,
    /// Whether a read holds its die to its last data-out.
    pub holds: bool,
    /// Whether an array read begins when the one before it ends.
    pub pipelined: bool,
    /// Errors per MiB beyond which a page is rewritten.
    pub refresh: Option<u32>,
}

/// How pages with errors are drawn, without page-by-page simulation.
#[derive(Clone, Copy, Debug)]
pub enum PageErrorSpec {
    /// A page has errors with this probability.
    Share(Ppm),
    /// A bit is wrong with this probability.
    BitErrorRate(f64),
}

/// An interconnect between flash controllers and CPU.
#[derive(Clone, Copy, Debug)]
pub struct NocSpec {
    /// Bits per data unit.
    pub flit_bits: u32,
    /// Time of a data unit through a slice.
    pub cycle: Nanos,
    /// Slices on the mean path.
    pub mean_slices: f64,
    /// Columns of an array.
    pub columns: u32,
    /// Rows of an array; 0 for the formula.
    pub rows: u32,
    /// Whether a traversal takes time without occupying its port.
    pub delayed: bool,
    /// Time to write a page into a flash controller's buffer.
    pub sram_write: Nanos,
    /// Time to read a page from a flash controller's buffer.
    pub sram_read: Nanos,
    /// Time to decode a page where it is checked.
    pub decode: Nanos,
}
