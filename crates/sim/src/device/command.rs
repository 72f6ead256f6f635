//! Commands as lists of legs: the resources that each occupies, in order, and for how long (rules R1 to R9 of docs/model.md).
//!
//! Every list of legs is built here: those of commands to the flash by [`Timing::legs`], and the ways of their pages across an
//! interconnect by [`Legs`] itself. So what a command occupies is decided in one place.

use super::timing::{CopybackTimes, PagePlace, Timing};
use crate::units::Nanos;

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
    /// The decoder where pages are checked that have left the flash: at the CPU, or in the flash controller.
    Check,
}

/// The use of one resource by an operation.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The resource.
    pub kind: LegKind,
    /// Time for which the resource is occupied.
    pub time: Nanos,
}

/// A command to a die, with the pages or the times on which its legs depend.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// Reads pages (R1): command, array, data-out, and decoder.
    Read {
        /// The pages.
        pages: &'a [PagePlace],
        /// Bus time of all data that leaves the die.
        burst: Nanos,
        /// Whether every page is decoded before it is used, as GC does.
        decoded: bool,
    },
    /// Programs pages at equal offsets in different planes (R2): command and data-in, array.
    Program {
        /// The pages.
        pages: &'a [PagePlace],
        /// Bus time of all pages.
        burst: Nanos,
    },
    /// Reads units of a super page, whose planes work together: command, array, data-out, and decoder.
    ReadUnits {
        /// One of its slots.
        place: &'a PagePlace,
        /// Bus time of all data that leaves the die.
        burst: Nanos,
        /// Flash pages that are decoded before their units are used, as GC does.
        decoded: u64,
    },
    /// Programs a word line in all planes of a group, or a page of each in the cache of SLC: command and data-in of whole pages, array.
    ProgramUnits {
        /// One of its slots.
        place: &'a PagePlace,
    },
    /// Erases blocks (R3): command, array.
    Erase,
    /// Erases a block of the cache of SLC: command, array.
    EraseSlc,
    /// Moves pages inside their planes (R9): command, array read, command, array program. Without command time nothing can come
    /// between the two, so they are one leg, unless the program alone can be suspended.
    Copyback(CopybackTimes),
    /// Reads a page again: the attempt before it is decoded in the held die, then command, array, data-out.
    Retry {
        /// Time to decode before.
        decode: Nanos,
        /// Bus time of the command.
        set: Nanos,
        /// Array time.
        array: Nanos,
        /// Bus time of all data that leaves the die.
        burst: Nanos,
    },
    /// Decodes pages in the held die.
    Decode(Nanos),
    /// Uses the bus for a command, or for data that leaves the die.
    Transfer(Nanos),
    /// The second half of a copyback: programs the content of the registers.
    ProgramFromRegister {
        /// Array time.
        array: Nanos,
    },
}

/// Largest number of legs of an operation.
const MAX_LEGS: usize = 4;

/// The legs of an operation. Legs of length zero are omitted: they need no grant.
#[derive(Clone, Copy, Debug)]
pub struct Legs {
    /// Nanoseconds, with the kind in the lowest three bits.
    legs: [u64; MAX_LEGS],
    len: u8,
}

impl Timing {
    /// The legs of a command.
    #[inline(always)]
    pub fn legs(&self, command: Command<'_>) -> Legs {
        let mut legs = Legs::NONE;
        let issue = self.command();
        match command {
            Command::Read { pages, burst, decoded } => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, self.reads(pages));
                legs.push(LegKind::Bus, burst);
                if decoded {
                    legs.push(LegKind::Decode, Nanos(self.decode().0 * pages.len() as u64));
                }
            }
            Command::Program { pages, burst } => {
                legs.push(LegKind::Bus, issue + burst);
                legs.push(LegKind::Array, self.programs(pages));
            }
            Command::ReadUnits { place, burst, decoded } => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, self.reads(std::slice::from_ref(place)));
                legs.push(LegKind::Bus, burst);
                legs.push(LegKind::Decode, Nanos(self.decode().0 * decoded));
            }
            Command::ProgramUnits { place } => {
                legs.push(LegKind::Bus, issue + self.program_unit(place));
                legs.push(LegKind::Array, self.programs(std::slice::from_ref(place)));
            }
            Command::Erase => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, self.erase());
            }
            Command::EraseSlc => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, self.erase_slc());
            }
            Command::Copyback(times) if issue == Nanos::ZERO && !self.splits() => {
                legs.push(LegKind::Array, times.read + times.program);
            }
            Command::Copyback(times) => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, times.read);
                legs.push(LegKind::Bus, Nanos(issue.0 * times.programs));
                legs.push(LegKind::Array, times.program);
            }
            Command::Retry { decode, set, array, burst } => {
                legs.push(LegKind::Decode, decode);
                legs.push(LegKind::Bus, set);
                legs.push(LegKind::Array, array);
                legs.push(LegKind::Bus, burst);
            }
            Command::Decode(time) => legs.push(LegKind::Decode, time),
            Command::Transfer(time) => legs.push(LegKind::Bus, time),
            Command::ProgramFromRegister { array } => {
                legs.push(LegKind::Bus, issue);
                legs.push(LegKind::Array, array);
            }
        }
        legs
    }
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

    /// The same after a command, of a page whose transfer takes time.
    #[inline(always)]
    pub(crate) fn set_command_read(&mut self, command: Nanos, array: Nanos, transfer: Nanos) {
        debug_assert!(transfer > Nanos::ZERO && array > Nanos::ZERO);
        if command == Nanos::ZERO {
            return self.set_read(array, transfer);
        }
        self.legs[0] = command.0 << 3 | LegKind::Bus as u64;
        self.legs[1] = array.0 << 3 | LegKind::Array as u64;
        self.legs[2] = transfer.0 << 3 | LegKind::Bus as u64;
        self.len = 3;
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
    fn push(&mut self, kind: LegKind, time: Nanos) {
        if time > Nanos::ZERO {
            self.legs[usize::from(self.len)] = time.0 << 3 | kind as u64;
            self.len += 1;
        }
    }

    /// Time of the legs of a kind.
    pub(crate) fn time_of(&self, kind: LegKind) -> Nanos {
        let of_kind = (0..self.len).filter_map(|i| self.get(i)).filter(|leg| leg.kind == kind);
        of_kind.fold(Nanos::ZERO, |sum, leg| sum + leg.time)
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
            LegKind::Check,
            LegKind::Array,
            LegKind::Array,
        ];
        let kind = KINDS[leg as usize & 7];
        (i < self.len).then_some(Leg { kind, time: Nanos(leg >> 3) })
    }

    /// These legs after others.
    fn after(self, first: &[(LegKind, Nanos)]) -> Self {
        let mut legs = Legs::NONE;
        first.iter().for_each(|(kind, time)| legs.push(*kind, *time));
        (0..self.len).filter_map(|i| self.get(i)).for_each(|leg| legs.push(leg.kind, leg.time));
        legs
    }

    /// A program whose pages first cross the interconnect, and pass through the flash controller's buffer.
    pub(crate) fn after_crossing(self, across: Nanos, buffer: Nanos) -> Self {
        self.after(&[(LegKind::Noc, across), (LegKind::Buffer, buffer)])
    }

    /// A program of pages that are read from the flash controller's buffer.
    pub(crate) fn after_buffer(self, read: Nanos) -> Self {
        self.after(&[(LegKind::Buffer, read)])
    }

    /// Pages of a move enter the flash controller's buffer, cross the interconnect if they have to, and are decoded.
    pub(crate) fn crossing_to_check(enter: Nanos, across: Nanos, decode: Nanos) -> Self {
        Legs::NONE.after(&[(LegKind::Buffer, enter), (LegKind::Noc, across), (LegKind::Check, decode)])
    }

    /// Pages of a read enter the flash controller's buffer, cross the interconnect, and leave the buffer.
    pub(crate) fn crossing_out(enter: Nanos, across: Nanos, leave: Nanos) -> Self {
        Legs::NONE.after(&[(LegKind::Buffer, enter), (LegKind::Noc, across), (LegKind::Buffer, leave)])
    }

    /// Pages in the flash controller's buffer cross the interconnect, and leave the buffer.
    pub(crate) fn crossing_late(across: Nanos, leave: Nanos) -> Self {
        Legs::NONE.after_crossing(across, leave)
    }
}
