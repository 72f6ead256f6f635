//! Operations as lists of legs: the resources that each occupies, in order, and for how long (rules R1 to R9 of docs/model.md).

use super::page_types::{BlockFactors, ONE, PageTypes, on_block};
use super::spec::{ArraySpec, TimingSpec};
use crate::units::{Nanos, Rate};

/// The resource of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegKind {
    /// The array of the die. The operation holds the die in all its legs.
    Array,
    /// The bus of the channel, granted in order of request.
    Bus,
    /// The decoder. The operation still holds its die.
    Decode,
    /// The interconnect, from the flash controller's buffer to the controller or back.
    Noc,
    /// The flash controller's buffer, for a write or a read.
    Buffer,
}

/// The use of one resource by an operation.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The resource.
    pub kind: LegKind,
    /// Time for which the resource is occupied.
    pub time: Nanos,
}

/// Pages of a TLC word line.
pub const WORD_LINE: usize = 3;

/// Largest number of legs of an operation.
pub const MAX_LEGS: usize = 4;

/// The legs of an operation. Legs of length zero are omitted: they need no grant.
#[derive(Clone, Copy, Debug)]
pub struct Legs {
    /// Nanoseconds, with the kind in the lowest three bits.
    legs: [u64; MAX_LEGS],
    len: u8,
}

impl Legs {
    /// No legs.
    pub const NONE: Self = Self { legs: [0; MAX_LEGS], len: 0 };

    /// Makes these the legs of a page read without a command: array, and transfer if that takes time.
    #[inline(always)]
    pub(crate) fn set_read(&mut self, array: Nanos, transfer: Nanos) {
        self.legs[0] = array.0 << 3 | LegKind::Array as u64;
        self.legs[1] = transfer.0 << 3 | LegKind::Bus as u64;
        self.len = 1 + u8::from(transfer > Nanos::ZERO);
    }

    /// Makes these the legs of a page program without a command, whose transfer and array take time.
    #[inline(always)]
    pub(crate) fn set_program(&mut self, transfer: Nanos, array: Nanos) {
        debug_assert!(transfer > Nanos::ZERO && array > Nanos::ZERO);
        self.legs[0] = transfer.0 << 3 | LegKind::Bus as u64;
        self.legs[1] = array.0 << 3 | LegKind::Array as u64;
        self.len = 2;
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, kind: LegKind, time: Nanos) {
        if time > Nanos::ZERO {
            self.legs[usize::from(self.len)] = time.0 << 3 | kind as u64;
            self.len += 1;
        }
    }

    /// Number of legs.
    #[inline(always)]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Whether there are no legs.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `i`-th leg, if it exists.
    #[inline(always)]
    pub fn get(&self, i: u8) -> Option<Leg> {
        let leg = self.legs[usize::from(i) % MAX_LEGS];
        const KINDS: [LegKind; 8] = [
            LegKind::Array,
            LegKind::Bus,
            LegKind::Decode,
            LegKind::Noc,
            LegKind::Buffer,
            LegKind::Array,
            LegKind::Array,
            LegKind::Array,
        ];
        let kind = KINDS[leg as usize & 7];
        (i < self.len).then_some(Leg { kind, time: Nanos(leg >> 3) })
    }

    /// These legs, preceded by `first`.
    pub(crate) fn after(self, first: &[(LegKind, Nanos)]) -> Self {
        let mut legs = Legs::NONE;
        first.iter().for_each(|(kind, time)| legs.push(*kind, *time));
        (0..self.len).filter_map(|i| self.get(i)).for_each(|leg| legs.push(leg.kind, leg.time));
        legs
    }
}

/// A page, as its array times depend on it.
#[derive(Clone, Copy, Debug)]
pub struct PagePlace {
    /// Offset in its block.
    offset: u32,
    /// Factor of its block.
    factor: u32,
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
    types: PageTypes,
    erase: Nanos,
    copyback: Option<Nanos>,
    command: Nanos,
    /// Bus time of a whole page (super page).
    page: Nanos,
    page_size: u32,
    /// Bytes of a flash page. Bus time is rounded once per flash page.
    flash_page: u32,
    rate: Rate,
    /// Transfer rate between host and controller.
    link: Option<Rate>,
    decode: Nanos,
    /// Whether a copyback has one leg for each half.
    splits: bool,
}

impl Timing {
    pub(crate) fn new(spec: &TimingSpec, array: &ArraySpec, seed: u64) -> Self {
        let (flash_page, per_unit, pages) = (array.flash_page, array.pages_per_entry, array.pages_per_block);
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
        let read = types.times(&spec.read, spec.variation.layer);
        let same = |times: &[Nanos]| if times.iter().all(|time| *time == times[0]) { times[0] } else { Nanos::ZERO };
        Timing {
            same_read: same(&read),
            same_program: same(&program),
            read,
            program,
            blocks: BlockFactors::draw(&spec.variation, blocks, seed),
            types,
            erase: spec.erase,
            copyback: spec.copyback,
            command: spec.command,
            page: Nanos(rate.time(u64::from(flash_page)).0 * u64::from(per_unit)),
            page_size: flash_page * per_unit,
            flash_page,
            rate,
            link: spec.link.clone(),
            decode: spec.decode,
            splits: spec.splits,
        }
    }

    /// Page types of a block.
    pub fn types(&self) -> &PageTypes {
        &self.types
    }

    /// The place of a page by its offset and, if blocks differ, by its block.
    #[inline(always)]
    pub fn place(&self, offset: u32, block: impl FnOnce() -> usize) -> PagePlace {
        PagePlace { offset, factor: if self.blocks.differ() { self.blocks.of(block()) } else { ONE } }
    }

    /// Bus time of `bytes` of one page.
    #[inline(always)]
    pub fn transfer(&self, bytes: u32) -> Nanos {
        if bytes == self.page_size {
            self.page
        } else if bytes <= self.flash_page {
            self.rate.time(u64::from(bytes))
        } else {
            // Part of a super page: one whole page and part of the other.
            self.rate.time(u64::from(self.flash_page)) + self.rate.time(u64::from(bytes - self.flash_page))
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
        let mut total = Nanos::ZERO;
        for (i, page) in pages.iter().enumerate() {
            if !pages[..i].iter().any(|other| other.offset == page.offset) {
                total = total + Self::slowest(times, page.offset, &pages[i..]);
            }
        }
        total
    }

    /// Array time of those of these pages that are at an offset.
    #[inline(always)]
    fn slowest(times: &[Nanos], offset: u32, pages: &[PagePlace]) -> Nanos {
        let factors = pages.iter().filter(|page| page.offset == offset).map(|page| page.factor);
        on_block(times[offset as usize], factors.max().unwrap_or(ONE))
    }

    /// Array time of a page's read.
    #[inline(always)]
    fn read_time(&self, page: PagePlace) -> Nanos {
        on_block(self.read[page.offset as usize], page.factor)
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

    /// R1: command, array, data-out. `burst` is the bus time of all pages that leave the die.
    #[inline(always)]
    pub fn read(&self, pages: &[PagePlace], burst: Nanos) -> Legs {
        self.read_legs(Self::together(&self.read, pages), burst)
    }

    /// R1 for a single page.
    #[inline(always)]
    pub fn read_one(&self, page: PagePlace, burst: Nanos) -> Legs {
        self.read_legs(self.read_time(page), burst)
    }

    #[inline(always)]
    fn read_legs(&self, array: Nanos, burst: Nanos) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, array);
        legs.push(LegKind::Bus, burst);
        legs
    }

    /// R1 for GC, with a decode leg: every page is decoded before it is used.
    #[inline(always)]
    pub fn read_and_decode(&self, pages: &[PagePlace], burst: Nanos) -> Legs {
        let mut legs = self.read(pages, burst);
        legs.push(LegKind::Decode, Nanos(self.decode.0 * pages.len() as u64));
        legs
    }

    /// The second half of a copyback: programs the content of the planes' registers at equal offsets. Also returns the array
    /// time.
    pub fn program_from_register(&self, to: &[PagePlace]) -> (Legs, Nanos) {
        let mut legs = Legs::NONE;
        let array = Self::slowest(&self.program, to[0].offset, to);
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, array);
        (legs, array)
    }

    /// Array and bus time of a page read, averaged over page types.
    pub fn page_read(&self) -> Nanos {
        mean(&self.read) + self.command + self.page
    }

    /// Array and bus time of a page program, averaged over page types.
    pub fn page_program(&self) -> Nanos {
        mean(&self.program) + self.command + self.page
    }

    /// R2: command and data-in, array.
    #[inline(always)]
    pub fn program(&self, page: PagePlace, burst: Nanos) -> Legs {
        self.program_legs(self.program_time(page), burst)
    }

    /// R2 for pages at equal offsets in different planes.
    pub fn program_all(&self, pages: &[PagePlace], burst: Nanos) -> Legs {
        self.program_legs(Self::slowest(&self.program, pages[0].offset, pages), burst)
    }

    #[inline(always)]
    fn program_legs(&self, array: Nanos, burst: Nanos) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command + burst);
        legs.push(LegKind::Array, array);
        legs
    }

    /// Array time of a program.
    #[inline(always)]
    pub fn program_time(&self, page: PagePlace) -> Nanos {
        on_block(self.program[page.offset as usize], page.factor)
    }

    /// Array time of a program of the first page of a block without variation between blocks.
    pub fn first_program(&self) -> Nanos {
        self.program[0]
    }

    /// R3: command, array.
    pub fn erase(&self) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, self.erase);
        legs
    }

    /// R9: command, array read, command, array program, all inside the planes. Without command time nothing can come between the
    /// two, so they are one leg, unless the program alone can be suspended. Planes with equal offsets in `to` are programmed
    /// together, otherwise one after the other. Also returns the array times of the reads and of the programs.
    pub fn copyback(&self, from: &[PagePlace], to: &[PagePlace]) -> (Legs, Nanos, Nanos) {
        let mut legs = Legs::NONE;
        let first = Self::slowest(&self.program, to[0].offset, to);
        let (read, mut program) = self.parts_of_copyback(|| Self::together(&self.read, from), first);
        let mut programs = self.command;
        for (i, page) in to.iter().enumerate().skip(1) {
            if !to[..i].iter().any(|other| other.offset == page.offset) {
                program = program + Self::slowest(&self.program, page.offset, to);
                programs = programs + self.command;
            }
        }
        if self.command == Nanos::ZERO && !self.splits {
            legs.push(LegKind::Array, read + program);
        } else {
            legs.push(LegKind::Bus, self.command);
            legs.push(LegKind::Array, read);
            legs.push(LegKind::Bus, programs);
            legs.push(LegKind::Array, program);
        }
        (legs, read, program)
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

fn mean(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64)
}
