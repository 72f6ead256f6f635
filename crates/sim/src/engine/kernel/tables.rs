//! Side tables of operations: data that only some devices need.

use std::ops::{Index, IndexMut};

use crate::units::OpId;

/// Blank content of a side table, for a new operation.
pub(in crate::engine) trait Blank {
    fn blank() -> Self;
}

/// A table by operation. It stays empty on devices that do not need it.
#[derive(Clone, Debug)]
pub(in crate::engine) struct ByOp<T>(Vec<T>);

impl<T: Blank> ByOp<T> {
    /// A table with room for `capacity` operations, if the device needs it.
    pub(super) fn new(needed: bool, capacity: usize) -> Self {
        ByOp(Vec::with_capacity(if needed { capacity } else { 0 }))
    }

    /// Gives `count` operations blank entries where they have none: the device needs the table from now on.
    pub(super) fn fill(&mut self, count: usize) {
        self.0.resize_with(count, T::blank);
    }

    /// Makes a new operation's entry blank.
    #[inline(always)]
    pub(super) fn reset(&mut self, op: OpId) {
        match self.0.get_mut(op.ix()) {
            Some(part) => *part = T::blank(),
            None => self.0.push(T::blank()),
        }
    }
}

impl<T> Index<OpId> for ByOp<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, op: OpId) -> &T {
        &self.0[op.ix()]
    }
}

impl<T> IndexMut<OpId> for ByOp<T> {
    #[inline(always)]
    fn index_mut(&mut self, op: OpId) -> &mut T {
        &mut self.0[op.ix()]
    }
}
