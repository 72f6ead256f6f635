//! Verbs as lists of legs: which resource an operation holds for how long, in order (rules R1 to R9).

use crate::config::{Config, PageTimes, Programming};
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
    /// Nanoseconds, with the kind in the lowest two bits.
    legs: [u64; MAX_LEGS],
    len: u8,
}

impl Legs {
    /// No legs.
    pub const NONE: Self = Self { legs: [0; MAX_LEGS], len: 0 };

    #[inline(always)]
    fn push(&mut self, kind: LegKind, time: Nanos) {
        if time > Nanos::ZERO {
            self.legs[usize::from(self.len)] = time.0 << 2 | kind as u64;
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
        let kind = match leg & 3 {
            0 => LegKind::Array,
            1 => LegKind::Bus,
            _ => LegKind::Decode,
        };
        (i < self.len).then_some(Leg { kind, time: Nanos(leg >> 2) })
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
    page: Nanos,
    page_size: u32,
    rate: Rate,
    decode: Nanos,
}

impl Timing {
    pub(crate) fn new(config: &Config) -> Self {
        let by_offset = |times: &PageTimes| -> Box<[Nanos]> {
            let pages = config.geometry.pages_per_block as usize;
            times.types().iter().copied().cycle().take(pages).collect()
        };
        let page_size = config.geometry.page_size.0 as u32;
        let mut program = by_offset(&config.timing.program);
        if config.wear.programming == Programming::OneShot {
            // The last page of a word line starts the program of all of them.
            program
                .iter_mut()
                .enumerate()
                .filter(|(i, _)| i % WORD_LINE != WORD_LINE - 1)
                .for_each(|(_, t)| *t = Nanos::ZERO);
        }
        Timing {
            read: by_offset(&config.timing.read),
            program,
            erase: config.timing.erase,
            copyback: config.timing.copyback,
            command: config.timing.command,
            page: config.timing.transfer.time(u64::from(page_size)),
            page_size,
            rate: config.timing.transfer.clone(),
            decode: config.ecc.decode,
        }
    }

    /// Bus time of `bytes` of one page.
    #[inline(always)]
    pub fn transfer(&self, bytes: u32) -> Nanos {
        if bytes == self.page_size { self.page } else { self.rate.time(u64::from(bytes)) }
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
        let mut legs = Legs::NONE;
        legs.push(LegKind::Bus, self.command);
        legs.push(LegKind::Array, self.read_time(offsets));
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
    /// between the two, and they are one leg. Also the array time of the reads and of the program.
    pub fn copyback(&self, from: &[u32], to: u32) -> (Legs, Nanos, Nanos) {
        let mut legs = Legs::NONE;
        let (read, program) = match self.copyback {
            Some(whole) => {
                let program = whole.min(self.program[to as usize]);
                (whole - program, program)
            }
            None => (self.read_time(from), self.program[to as usize]),
        };
        if self.command == Nanos::ZERO {
            legs.push(LegKind::Array, read + program);
        } else {
            legs.push(LegKind::Bus, self.command);
            legs.push(LegKind::Array, read);
            legs.push(LegKind::Bus, self.command);
            legs.push(LegKind::Array, program);
        }
        (legs, read, program)
    }
}

fn mean(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().map(|time| time.0).sum::<u64>() / times.len() as u64)
}
