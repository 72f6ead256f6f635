//! The kernel's letters for a request (RWBS), as blkparse, ftrace, perf and bcc print them: one vocabulary for all readers.
//!
//! `F` before the operation is a flush first; then `R`, `W`, `D` (discard), `DE` (secure erase), `WZ` (write zeroes), `F` (flush),
//! `N` (none) or `Z` and a letter (zones); then modifiers: `F` forced unit access, `A` read-ahead, `S` synchronous, `M` metadata,
//! `U` atomic, `B` barrier (old kernels). Source: `blk_fill_rwbs` of the kernel, `fill_rwbs` of blkparse.

use crate::record::Op;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// What it does to data; [`Op::Other`] if it moves none.
    pub op: Op,
    /// A flush comes first, or is all there is.
    pub flush: bool,
    /// The data must be on flash when it completes.
    pub fua: bool,
    /// It changes data without carrying any: zeroes, or a command to a zone.
    pub changes: bool,
}

impl Rwbs {
    pub fn plain(op: Op) -> Rwbs {
        let flush = op == Op::Flush;
        Rwbs { op: if flush { Op::Other } else { op }, flush, fua: false, changes: false }
    }

    /// A command of SCSI by its code. WRITE SAME and UNMAP change data, but their length says nothing about how much.
    pub fn scsi(code: u64) -> Rwbs {
        match code {
            0x08 | 0x28 | 0x88 | 0xa8 => Rwbs::plain(Op::Read),
            0x0a | 0x2a | 0x8a | 0xaa => Rwbs::plain(Op::Write),
            0x35 | 0x91 => Rwbs::plain(Op::Flush),
            0x41 | 0x93 | 0x42 => Rwbs { changes: true, ..Rwbs::plain(Op::Other) },
            _ => Rwbs::plain(Op::Other),
        }
    }

    pub fn of(word: &[u8]) -> Option<Rwbs> {
        let is = Rwbs::plain;
        let (flush, rest) = match word {
            // A flush before something else. `FF` may be a flush with forced unit access, or a flush before a flush.
            [b'F', rest @ ..] if matches!(rest.first(), Some(b'R' | b'W' | b'D' | b'N' | b'F')) => (true, rest),
            all => (false, all),
        };
        let (found, modifiers) = match rest {
            [b'W', b'Z', rest @ ..] => (Rwbs { changes: true, ..is(Op::Other) }, rest),
            [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (is(Op::Trim), rest),
            [b'R', rest @ ..] => (is(Op::Read), rest),
            [b'W', rest @ ..] => (is(Op::Write), rest),
            [b'F', rest @ ..] => (Rwbs { flush: true, ..is(Op::Other) }, rest),
            [b'N', rest @ ..] => (is(Op::Other), rest),
            // An append has no place before it completes, and a reset discards a zone whose size is not told.
            [b'Z', b'A' | b'R', rest @ ..] => (Rwbs { changes: true, ..is(Op::Other) }, rest),
            [b'Z', b'F' | b'O' | b'C', rest @ ..] => (is(Op::Other), rest),
            _ => return None,
        };
        // Each letter at most once: other words begin with R and W, too.
        let known = |(at, letter): (usize, &u8)| b"FASMUB".contains(letter) && !modifiers[..at].contains(letter);
        if !modifiers.iter().enumerate().all(known) {
            return None;
        }
        let fua = found.op == Op::Write && modifiers.contains(&b'F');
        Some(Rwbs { flush: flush || found.flush, fua, ..found })
    }

    /// The operation of a request of this size. An empty one can only be a flush.
    pub fn with_bytes(self, bytes: u64) -> Op {
        if self.flush && (self.op == Op::Other || bytes == 0) { Op::Flush } else { self.op }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word with and without data: what it is, whether it flushes, whether it forces unit access.
    #[test]
    fn every_word_with_and_without_data() {
        let words = [
            ("R", Op::Read, Op::Read, false),
            ("RA", Op::Read, Op::Read, false),
            ("RS", Op::Read, Op::Read, false),
            ("RM", Op::Read, Op::Read, false),
            ("RSM", Op::Read, Op::Read, false),
            ("RAM", Op::Read, Op::Read, false),
            ("FR", Op::Read, Op::Flush, false),
            ("W", Op::Write, Op::Write, false),
            ("WS", Op::Write, Op::Write, false),
            ("WM", Op::Write, Op::Write, false),
            ("WSM", Op::Write, Op::Write, false),
            ("WB", Op::Write, Op::Write, false),
            ("WSU", Op::Write, Op::Write, false),
            ("WF", Op::Write, Op::Write, true),
            ("WFS", Op::Write, Op::Write, true),
            ("WFSM", Op::Write, Op::Write, true),
            ("FW", Op::Write, Op::Flush, false),
            ("FWS", Op::Write, Op::Flush, false),
            ("FWSM", Op::Write, Op::Flush, false),
            ("FWFS", Op::Write, Op::Flush, true),
            ("FWFSM", Op::Write, Op::Flush, true),
            ("D", Op::Trim, Op::Trim, false),
            ("DS", Op::Trim, Op::Trim, false),
            ("DE", Op::Trim, Op::Trim, false),
            ("DES", Op::Trim, Op::Trim, false),
            ("F", Op::Flush, Op::Flush, false),
            ("FS", Op::Flush, Op::Flush, false),
            ("FF", Op::Flush, Op::Flush, false),
            ("FFS", Op::Flush, Op::Flush, false),
            ("FN", Op::Flush, Op::Flush, false),
            ("N", Op::Other, Op::Other, false),
            ("NS", Op::Other, Op::Other, false),
            ("WZ", Op::Other, Op::Other, false),
            ("WZS", Op::Other, Op::Other, false),
            ("ZA", Op::Other, Op::Other, false),
            ("ZRS", Op::Other, Op::Other, false),
            ("ZF", Op::Other, Op::Other, false),
        ];
        for (word, with, without, fua) in words {
            let found = Rwbs::of(word.as_bytes()).expect(word);
            assert_eq!((found.with_bytes(4096), found.with_bytes(0), found.fua), (with, without, fua), "{word}");
            assert_eq!(found.changes, ["WZ", "WZS", "ZA", "ZRS"].contains(&word), "{word}");
        }
        for word in ["", "X", "READ", "WRITE", "WORD", "RESET", "RR", "WSS", "SW", "Z", "ZX", "r", "ws", "FX", "RE"] {
            assert_eq!(Rwbs::of(word.as_bytes()), None, "{word}");
        }
    }
}
