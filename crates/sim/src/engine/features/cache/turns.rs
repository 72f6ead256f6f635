//! A set of lines in their order, for lines that join nearly in that order.

use std::collections::{BTreeSet, VecDeque};

use crate::units::Nanos;

/// A line in an order: by time, ties by page.
pub(super) type Turn = (Nanos, u32, u32);

/// Places from the end of the row among which a line joins it. Lines further back are rare, and wait beside it.
const NEAR: usize = 48;

/// A place in the row.
#[derive(Clone, Copy)]
struct Place {
    turn: Turn,
    /// Its line has left.
    left: bool,
}

/// Lines in their order. Most join at its end and leave at its front, because turns are times, so they are kept in a row; the front
/// of the row always has its line. A line that leaves from elsewhere leaves its place behind until there are more of these than lines.
#[derive(Clone, Default)]
pub(super) struct Turns {
    row: VecDeque<Place>,
    /// Places whose lines have left.
    left: usize,
    /// Lines that joined long after others of later turns.
    late: BTreeSet<Turn>,
}

impl Turns {
    /// A line joins; it must not be there.
    pub(super) fn insert(&mut self, turn: Turn) {
        let place = Place { turn, left: false };
        if self.row.back().is_none_or(|last| last.turn < turn) {
            return self.row.push_back(place);
        }
        let near = self.row.len().saturating_sub(NEAR);
        if near > 0 && turn < self.row[near].turn {
            self.late.insert(turn);
            return;
        }
        let mut at = self.row.len() - 1;
        while at > near && turn <= self.row[at - 1].turn {
            at -= 1;
        }
        // The place of an earlier turn of the same line may still be there.
        if self.row[at].turn != turn {
            self.row.insert(at, place);
        } else if std::mem::take(&mut self.row[at].left) {
            self.left -= 1;
        }
    }

    /// A line leaves. Returns whether it was there.
    pub(super) fn remove(&mut self, turn: &Turn) -> bool {
        if self.row.front().is_some_and(|first| first.turn == *turn) {
            self.pop_front();
            return true;
        }
        let at = self.row.partition_point(|place| place.turn < *turn);
        match self.row.get_mut(at) {
            Some(place) if place.turn == *turn && !place.left => place.left = true,
            _ => return self.late.remove(turn),
        }
        self.left += 1;
        if self.left > self.row.len() / 2 + NEAR {
            self.row.retain(|place| !place.left);
            self.left = 0;
        }
        true
    }

    /// The first line.
    pub(super) fn first(&self) -> Option<&Turn> {
        let first = self.row.front().map(|place| &place.turn);
        if self.late.is_empty() { first } else { first.into_iter().chain(self.late.first()).min() }
    }

    /// The first line leaves.
    pub(super) fn pop_first(&mut self) -> Option<Turn> {
        let first = *self.first()?;
        self.remove(&first);
        Some(first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.row.is_empty() && self.late.is_empty()
    }

    /// All lines, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Turn> {
        let mut row = self.row.iter().filter(|place| !place.left).map(|place| &place.turn).peekable();
        let mut late = self.late.iter().peekable();
        std::iter::from_fn(move || match (row.peek(), late.peek()) {
            (Some(first), Some(other)) if other < first => late.next(),
            (Some(_), _) => row.next(),
            (None, _) => late.next(),
        })
    }

    pub(super) fn clear(&mut self) {
        *self = Turns::default();
    }

    /// The first line of the row leaves, and with it the places behind it whose lines have left.
    fn pop_front(&mut self) {
        self.row.pop_front();
        while self.row.front().is_some_and(|first| first.left) {
            self.row.pop_front();
            self.left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Compares with a set: lines join in order, a little or long after their turn, and leave from the front or from anywhere.
    #[test]
    fn turns_are_a_set_in_order() {
        for late in [0, 3, 30, 300] {
            let (mut rng, mut turns, mut set) = (stream(late, "turns"), Turns::default(), BTreeSet::new());
            let (mut longest, mut beside) = (0, 0);
            for now in 1_000..9_000_u64 {
                let time = now - below(&mut rng, late + 1);
                let turn = (Nanos(time / 3), below(&mut rng, 4) as u32, below(&mut rng, 50) as u32);
                if set.insert(turn) {
                    turns.insert(turn);
                }
                // Now and then all leave, from the front; while `now` is odd in thousands, one stays there.
                while set.len() > if now % 1_500 == 0 { 1 } else { 400 } {
                    let any = *set.iter().nth(below(&mut rng, set.len() as u64) as usize).unwrap();
                    let leaves = if now / 1_000 % 2 == 0 { *set.first().unwrap() } else { any };
                    set.remove(&leaves);
                    assert!(turns.remove(&leaves));
                    assert!(!turns.remove(&leaves));
                }
                assert_eq!((turns.first(), turns.is_empty()), (set.first(), set.is_empty()));
                if now % 100 == 0 {
                    assert!(turns.iter().eq(&set));
                    assert_eq!(turns.pop_first(), set.pop_first());
                }
                (longest, beside) = (longest.max(turns.row.len()), beside.max(turns.late.len()));
            }
            assert!(longest <= 2 * (400 + NEAR) + 2, "{longest} places for 400 lines");
            assert_eq!(beside > 0, late == 300, "{beside} lines waited beside the row");
        }
    }
}
