//! Verbs as lists of legs: which resource an operation holds for how long, in order (rules R1 to R9).

use super::spec::{ArraySpec, TimingSpec};
use crate::units::{Nanos, Rate};

/// What a leg occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegKind {
    /// The array of the die, which the operation holds anyway.
    Array,
    /// The bus of the channel, granted in order of request.
    Bus,
    /// The decoder, while the operation keeps its die.
    Decode,
    /// The interconnect, from the flash controller's buffer to the controller or back.
    Noc,
    /// The flash controller's buffer, written or read.
    Buffer,
}

/// One stretch of an operation on one resource.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The resource.
    pub kind: LegKind,
    /// How long it is held.
    pub time: Nanos,
}

/// Pages of a TLC word line.
pub const WORD_LINE: usize = 3;

/// Most legs of an operation.
pub const MAX_LEGS: usize = 4;

/// The legs of an operation. Legs without length are left out: they need no grant.
#[derive(Clone, Copy, Debug)]
pub struct Legs {
    /// Nanoseconds, with the kind in the lowest three bits.
    legs: [u64; MAX_LEGS],
    len: u8,
}

impl Legs {
    /// No legs.
    pub const NONE: Self = Self { legs: [0; MAX_LEGS], len: 0 };

    #[inline(always)]
    pub(crate) fn push(&mut self, kind: LegKind, time: Nanos) {
        if time > Nanos::ZERO {
            self.legs[usize::from(self.len)] = time.0 << 3 | kind as u64;
            self.len += 1;
        }
    }

    /// How many legs.
    #[inline(always)]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The `i`-th leg, if there are so many.
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

    /// The same legs with others before them.
    pub(crate) fn after(self, first: &[(LegKind, Nanos)]) -> Self {
        let mut legs = Legs::NONE;
        first.iter().for_each(|(kind, time)| legs.push(*kind, *time));
        (0..self.len).filter_map(|i| self.get(i)).for_each(|leg| legs.push(leg.kind, leg.time));
        legs
    }
}

/// How long things take on this device.
#[derive(Clone, Debug)]
pub struct Timing {
    read: Box<[Nanos]>,
    program: Box<[Nanos]>,
    erase: Nanos,
    copyback: Option<Nanos>,
    command: Nanos,
    /// Bus time of a whole page (super page), and its bytes.
    page: Nanos,
    page_size: u32,
    /// Bytes of one flash page: bus time is rounded once for each.
    flash_page: u32,
    rate: Rate,
    /// Between host and controller.
    link: Option<Rate>,
    decode: Nanos,
    /// Whether copybacks have a leg for each half.
    splits: bool,
}

impl Timing {
    pub(crate) fn new(spec: &TimingSpec, array: &ArraySpec) -> Self {
        let by_offset = |times: &[Nanos]| -> Box<[Nanos]> {
            times.iter().copied().cycle().take(array.pages_per_block as usize).collect()
        };
        let (flash_page, per_unit) = (array.flash_page, array.pages_per_unit);
        let mut program = by_offset(&spec.program);
        if spec.one_shot {
            // The last page of a word line starts the program of all of them.
            program
                .iter_mut()
                .enumerate()
                .filter(|(i, _)| i % WORD_LINE != WORD_LINE - 1)
                .for_each(|(_, t)| *t = Nanos::ZERO);
        }
        let rate = spec.channel.clone();
        Timing {
            read: by_offset(&spec.read),
            program,
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

    /// Bus time of `bytes` of one page.
    #[inline(always)]
    pub fn transfer(&self, bytes: u32) -> Nanos {
        if bytes == self.page_size {
            self.page
        } else if bytes <= self.flash_page {
            self.rate.time(u64::from(bytes))
        } else {
            // Part of a super page: one page whole, one in part.
            self.rate.time(u64::from(self.flash_page)) + self.rate.time(u64::from(bytes - self.flash_page))
        }
    }

    /// Time of `bytes` between host and controller; none where that takes none.
    #[inline(always)]
    pub fn host_link(&self, bytes: u64) -> Option<Nanos> {
        self.link.as_ref().map(|rate| rate.time(bytes))
    }

    /// Array time of reading pages at these offsets: planes read together where offsets agree, one after the other where
    /// they differ (R9).
    #[inline(always)]
    fn read_time(&self, offsets: &[u32]) -> Nanos {
        let mut total = Nanos::ZERO;
        for (i, offset) in offsets.iter().enumerate() {
            if !offsets[..i].contains(offset) {
                total = total + self.read[*offset as usize];
            }
        }
        total
    }

    /// R1: command, array, data-out; `burst` is the bus time of all pages that leave the die.
    #[inline(always)]
    pub fn read(&self, offsets: &[u32], burst: Nanos) -> Legs {
        self.read_legs(self.read_time(offsets), burst)
    }

    /// The same for one page.
    #[inline(always)]
    pub fn read_one(&self, offset: u32, burst: Nanos) -> Legs {
        self.read_legs(self.read[offset as usize], burst)
    }

    #[inline(always)]
    fn read_legs(&self, array: Nanos, burst: Nanos) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, array);
        legs.push(LegKind::Bus, burst);
        legs
    }

    /// The same for pages that a collection takes out: each is decoded before anything else is done with it.
    #[inline(always)]
    pub fn read_and_decode(&self, offsets: &[u32], burst: Nanos) -> Legs {
        let mut legs = self.read(offsets, burst);
        legs.push(LegKind::Decode, Nanos(self.decode.0 * offsets.len() as u64));
        legs
    }

    /// The second half of a copyback: what the plane's register holds is programmed. Also the array time.
    pub fn program_from_register(&self, to: u32) -> (Legs, Nanos) {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, self.program[to as usize]);
        (legs, self.program[to as usize])
    }

    /// Array and bus time of a page read, on average over page types.
    pub fn page_read(&self) -> Nanos {
        mean(&self.read) + self.command + self.page
    }

    /// Array and bus time of a page program, on average over page types.
    pub fn page_program(&self) -> Nanos {
        mean(&self.program) + self.command + self.page
    }

    /// R2: command and data-in, array.
    #[inline(always)]
    pub fn program(&self, offset: u32, burst: Nanos) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command + burst);
        legs.push(LegKind::Array, self.program[offset as usize]);
        legs
    }

    /// Array time of a program.
    #[inline(always)]
    pub fn program_time(&self, offset: u32) -> Nanos {
        self.program[offset as usize]
    }

    /// R3: command, array.
    pub fn erase(&self) -> Legs {
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, self.erase);
        legs
    }

    /// R9: command, array read, command, array program, all inside the planes. Without command time nothing can come
    /// between the two, and they are one leg, unless the program alone can be suspended. Planes are programmed together where the offsets in `to` agree, one after the
    /// other where they differ. Also the array time of the reads and of the programs.
    pub fn copyback(&self, from: &[u32], to: &[u32]) -> (Legs, Nanos, Nanos) {
        let mut legs = Legs::NONE;
        let first = self.program[to[0] as usize];
        let (read, mut program) = match self.copyback {
            Some(whole) => (whole - whole.min(first), whole.min(first)),
            None => (self.read_time(from), first),
        };
        let mut programs = self.command;
        for (i, offset) in to.iter().enumerate().skip(1) {
            if !to[..i].contains(offset) {
                program = program + self.program[*offset as usize];
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
}

fn mean(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64)
}
