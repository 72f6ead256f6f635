//! Times of a device's resources, of which `command` makes legs.

use super::page_types::{BlockFactors, ONE, PageTypes, on_block};
use super::spec::{ArraySpec, SlotsSpec, TimingSpec};
use crate::units::{Nanos, Rate};

/// Pages of a TLC word line.
pub const WORD_LINE: usize = 3;

/// A page, as its array times depend on it.
#[derive(Clone, Copy, Debug)]
pub struct PagePlace {
    /// Offset in its block.
    offset: u32,
    /// Factor of its block.
    factor: u32,
}

/// Array times of a copyback.
#[derive(Clone, Copy, Debug)]
pub struct CopybackTimes {
    /// All reads.
    pub read: Nanos,
    /// All programs.
    pub program: Nanos,
    /// Number of programs that follow one another.
    pub programs: u64,
}

/// Times of operations on this device.
#[derive(Clone, Debug)]
pub struct Timing {
    /// By offset in a block.
    read: Box<[Nanos]>,
    /// By offset in a block.
    program: Box<[Nanos]>,
    /// The same for all pages, or zero.
    same_read: Nanos,
    same_program: Nanos,
    /// Factors of blocks.
    blocks: BlockFactors,
    /// All blocks take the same time.
    alike: bool,
    types: PageTypes,
    erase: Nanos,
    copyback: Option<Nanos>,
    command: Nanos,
    /// Bus time of a whole page (super page).
    page: Nanos,
    page_bytes: u32,
    /// Bytes of a flash page. Bus time is rounded once per flash page.
    flash_page: u32,
    channel: Transfers,
    /// Units in pages and programs.
    slots: SlotsSpec,
    /// Transfers between host and controller.
    link: Option<Transfers>,
    decode: Nanos,
    /// Whether a copyback has one leg for each half.
    splits: bool,
    /// Blocks of the cache of SLC, if there is one. Their times follow those of a block's pages, at one more offset.
    slc: Option<SlcTimes>,
}

/// Times of transfers of less than a page or all of it.
#[derive(Clone, Debug)]
struct Transfers {
    rate: Rate,
    /// By number of sectors, so that a leg divides nothing.
    by_sector: Box<[Nanos]>,
}

impl Transfers {
    const SECTOR: u64 = 512;

    fn new(rate: &Rate, page_bytes: u32) -> Self {
        let sectors = 0..=u64::from(page_bytes) / Self::SECTOR;
        Transfers {
            by_sector: sectors.map_while(|n| rate.checked_time(n * Self::SECTOR)).collect(),
            rate: rate.clone(),
        }
    }

    #[inline(always)]
    fn time(&self, bytes: u64) -> Nanos {
        match self.by_sector.get((bytes / Self::SECTOR) as usize) {
            Some(time) if bytes.is_multiple_of(Self::SECTOR) => *time,
            _ => self.rate.time(bytes),
        }
    }
}

/// Blocks of the cache of SLC.
#[derive(Clone, Copy, Debug)]
struct SlcTimes {
    /// The offset that stands for all of their pages.
    offset: u32,
    erase: Nanos,
}

impl Timing {
    pub(crate) fn new(spec: &TimingSpec, array: &ArraySpec, seed: u64) -> Self {
        let (flash_page, per_unit, slots) = (array.flash_page, array.pages_per_entry, array.slots);
        let pages = array.pages_per_block / slots.per_super_page;
        let types =
            if spec.shadow { PageTypes::shadow(pages, spec.types) } else { PageTypes::cyclic(pages, spec.types) };
        let mut program = types.times(&spec.program, spec.variation.layer);
        if spec.one_shot {
            // The last page of a word line starts the program of all its pages.
            program
                .iter_mut()
                .enumerate()
                .filter(|(i, _)| i % WORD_LINE != WORD_LINE - 1)
                .for_each(|(_, t)| *t = Nanos::ZERO);
        }
        let rate = spec.channel.clone();
        let dies = array.channels * array.chips_per_channel * array.dies_per_chip;
        let blocks = dies as usize * array.planes_per_die as usize * array.blocks_per_plane as usize;
        let read = each(types.times(&spec.read, spec.variation.layer), slots.per_super_page);
        let program = each(program, slots.per_super_page);
        let factors = BlockFactors::draw(&spec.variation, blocks * slots.planes as usize, seed);
        let same = |times: &[Nanos]| if times.iter().all(|time| *time == times[0]) { times[0] } else { Nanos::ZERO };
        let (same_read, same_program) = (same(&read), same(&program));
        let slc = spec.slc.map(|slc| SlcTimes { offset: read.len() as u32, erase: slc.erase });
        let with = |times: Box<[Nanos]>, slc: Option<Nanos>| times.into_iter().chain(slc).collect();
        let blocks_of = factors.joined(slots.planes as usize, dies as usize, array.blocks_per_plane as usize);
        Timing {
            alike: slc.is_none() && !blocks_of.differ(),
            same_read,
            same_program,
            read: with(read, spec.slc.map(|slc| slc.read)),
            program: with(program, spec.slc.map(|slc| slc.program)),
            slc,
            blocks: blocks_of,
            slots,
            types,
            erase: spec.erase,
            copyback: spec.copyback,
            command: spec.command,
            page: Nanos(rate.time(u64::from(flash_page)).0 * u64::from(per_unit)),
            page_bytes: flash_page * per_unit,
            flash_page,
            channel: Transfers::new(&rate, flash_page),
            link: spec.link.as_ref().map(|rate| Transfers::new(rate, flash_page * per_unit)),
            decode: spec.decode,
            splits: spec.splits,
        }
    }

    /// Page types of a block.
    pub fn types(&self) -> &PageTypes {
        &self.types
    }

    /// The place of a page by its offset and, if blocks differ, by its block, and whether that is one of the cache of SLC.
    #[inline(always)]
    pub fn place(&self, offset: u32, block: impl FnOnce() -> (usize, bool)) -> PagePlace {
        if self.alike { PagePlace { offset, factor: ONE } } else { self.place_in(offset, block()) }
    }

    #[inline(never)]
    fn place_in(&self, offset: u32, (block, slc): (usize, bool)) -> PagePlace {
        match self.slc {
            Some(times) if slc => PagePlace { offset: times.offset, factor: ONE },
            _ => PagePlace { offset, factor: if self.blocks.differ() { self.blocks.of(block) } else { ONE } },
        }
    }

    /// Bus time of a whole page (super page).
    #[inline(always)]
    pub fn page(&self) -> Nanos {
        self.page
    }

    /// Bus time of a program of several units: whole pages, padding included. In the cache of SLC it has one of each plane.
    #[inline(never)]
    pub fn program_unit(&self, place: &PagePlace) -> Nanos {
        let cached = self.slc.is_some_and(|slc| place.offset == slc.offset);
        let pages = if cached { self.slots.planes } else { self.slots.pages_per_program() };
        Nanos(self.page.0 * u64::from(pages))
    }

    /// Bus time of units of a super page, by their places in it and their bytes, in ascending order: rounded once per flash page.
    /// Returns the number of these flash pages, too.
    pub fn units(&self, units: impl Iterator<Item = (u32, u32)>) -> (Nanos, u64) {
        let (mut time, mut pages) = (Nanos::ZERO, 0);
        let (mut page, mut bytes) = (u32::MAX, 0u64);
        for (place, more) in units {
            if place / self.slots.per_page != page {
                time = time + self.channel.time(bytes);
                (page, bytes) = (place / self.slots.per_page, 0);
                pages += 1;
            }
            bytes += u64::from(more);
        }
        (time + self.channel.time(bytes), pages)
    }

    /// Bus time of `bytes` of one page.
    #[inline(always)]
    pub fn transfer(&self, bytes: u32) -> Nanos {
        if bytes == self.page_bytes {
            self.page
        } else if bytes <= self.flash_page {
            self.channel.time(u64::from(bytes))
        } else {
            // Part of a super page: one whole page and part of the other.
            self.channel.time(u64::from(self.flash_page)) + self.channel.time(u64::from(bytes - self.flash_page))
        }
    }

    /// Time of `bytes` between host and controller; zero if it is not modelled.
    #[inline(always)]
    pub fn host_link(&self, bytes: u64) -> Option<Nanos> {
        self.link.as_ref().map(|rate| rate.time(bytes))
    }

    /// Array time of pages by their times by offset. Planes with equal offsets work together, and the slowest block decides;
    /// different offsets come one after the other (R9).
    #[inline(always)]
    fn together(times: &[Nanos], pages: &[PagePlace]) -> Nanos {
        let mut total = Self::slowest(times, pages[0].offset, pages);
        for i in 1..pages.len() {
            if Self::leads(pages, i) {
                total = total + Self::slowest(times, pages[i].offset, &pages[i..]);
            }
        }
        total
    }

    /// Whether a page is the first of its offset.
    fn leads(pages: &[PagePlace], i: usize) -> bool {
        !pages[..i].iter().any(|other| other.offset == pages[i].offset)
    }

    /// Array time of those of these pages that are at an offset.
    #[inline(always)]
    fn slowest(times: &[Nanos], offset: u32, pages: &[PagePlace]) -> Nanos {
        // A loop, because this is asked for every copyback: an iterator of it is not inlined everywhere.
        let mut factor = 0;
        for page in pages {
            if page.offset == offset {
                factor = page.factor.max(factor);
            }
        }
        on_block(times[offset as usize], if factor > 0 { factor } else { ONE })
    }

    /// Array time of the reads of a command.
    #[inline(always)]
    pub fn reads(&self, pages: &[PagePlace]) -> Nanos {
        Self::together(&self.read, pages)
    }

    /// Array time of a program of pages at equal offsets in different planes.
    #[inline(always)]
    pub fn programs(&self, pages: &[PagePlace]) -> Nanos {
        Self::slowest(&self.program, pages[0].offset, pages)
    }

    /// Bus time of a command without data.
    #[inline(always)]
    pub fn command(&self) -> Nanos {
        self.command
    }

    /// Time in which a page is decoded.
    pub fn decode(&self) -> Nanos {
        self.decode
    }

    /// Array time of an erase.
    pub fn erase(&self) -> Nanos {
        self.erase
    }

    /// Array time of an erase of a block of the cache of SLC.
    pub fn erase_slc(&self) -> Nanos {
        self.slc.expect("a device with a cache of SLC").erase
    }

    /// Times by offset of the pages of other blocks.
    fn native<'a>(&self, times: &'a [Nanos]) -> &'a [Nanos] {
        &times[..self.slc.map_or(times.len(), |slc| slc.offset as usize)]
    }

    /// Whether the program of a copyback is a leg of its own even without command time.
    pub fn splits(&self) -> bool {
        self.splits
    }

    /// Times of a copyback (R9). Planes with equal offsets in `to` are programmed together, otherwise one after the other.
    #[inline(always)]
    pub fn copyback(&self, from: &[PagePlace], to: &[PagePlace]) -> CopybackTimes {
        let first = Self::slowest(&self.program, to[0].offset, to);
        if self.slc.is_some_and(|slc| from[0].offset == slc.offset) {
            return self.fold(from, first);
        }
        let read = Self::together(&self.read, from);
        let (read, mut program) = self.parts_of_copyback(|| read, first);
        let mut programs = 1;
        for i in 1..to.len() {
            if Self::leads(to, i) {
                program = program + Self::slowest(&self.program, to[i].offset, &to[i..]);
                programs += 1;
            }
        }
        CopybackTimes { read, program, programs }
    }

    /// Times of a copyback from the cache of SLC. `timing.copyback` is the time of one between other blocks.
    #[cold]
    fn fold(&self, from: &[PagePlace], program: Nanos) -> CopybackTimes {
        CopybackTimes { read: Self::together(&self.read, from), program, programs: 1 }
    }

    /// Array time of the read of a page of a steady block, by its offset, which is asked for only if it matters.
    #[inline(always)]
    pub fn steady_read(&self, offset: impl FnOnce() -> u32) -> Nanos {
        if self.same_read > Nanos::ZERO { self.same_read } else { self.read[offset() as usize] }
    }

    /// The same of a program.
    #[inline(always)]
    pub fn steady_program(&self, offset: impl FnOnce() -> u32) -> Nanos {
        if self.same_program > Nanos::ZERO { self.same_program } else { self.program[offset() as usize] }
    }

    /// Array and bus time of a page read, averaged over page types.
    pub fn page_read(&self) -> Nanos {
        mean(self.native(&self.read)) + self.command + self.page
    }

    /// Array and bus time of a page program, averaged over page types.
    pub fn page_program(&self) -> Nanos {
        mean(self.native(&self.program)) + self.command + self.page
    }

    /// Array time of a program of the first page of a block without variation between blocks.
    pub fn first_program(&self) -> Nanos {
        self.program[0]
    }

    /// Array times of the read and of the program of one page of steady blocks, by its offsets, if it is copied inside its plane.
    #[inline(always)]
    pub fn steady_copyback(&self, from: impl FnOnce() -> u32, to: impl FnOnce() -> u32) -> (Nanos, Nanos) {
        self.parts_of_copyback(|| self.steady_read(from), self.steady_program(to))
    }

    /// How long a copyback reads and programs if pages that are moved by the external path take these times.
    #[inline(always)]
    fn parts_of_copyback(&self, read: impl FnOnce() -> Nanos, program: Nanos) -> (Nanos, Nanos) {
        match self.copyback {
            Some(whole) => (whole - whole.min(program), whole.min(program)),
            None => (read(), program),
        }
    }
}

/// Times by offset of pages as those of `n` slots each.
fn each(times: Box<[Nanos]>, n: u32) -> Box<[Nanos]> {
    if n == 1 { times } else { times.iter().flat_map(|time| std::iter::repeat_n(*time, n as usize)).collect() }
}

fn mean(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of any number of bytes, whole sectors or not, within a page and beyond it.
    #[test]
    fn a_transfer_takes_the_time_of_its_rate() {
        for rate in ["333MB/s", "400MB/s", "10ns/B", "0ns/B", "1GiB/s"].map(|text| text.parse::<Rate>().unwrap()) {
            for page_bytes in [512, 2_000, 8_192] {
                let transfers = Transfers::new(&rate, page_bytes);
                let bytes = (0..2 * u64::from(page_bytes)).chain([1 << 20, 1 << 40]);
                bytes
                    .for_each(|bytes| assert_eq!(transfers.time(bytes), rate.time(bytes), "{bytes} bytes at {rate:?}"));
            }
        }
    }
}
