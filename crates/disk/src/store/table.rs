//! A sparse table whose clones share what has not changed since.

use std::cell::{Ref, RefCell};
use std::sync::Arc;

/// Entries of a leaf.
const LEAF: usize = 64;

/// Entries that follow each other. They lie in one of both, or in none if they were never asked for mutably.
#[derive(Debug)]
struct Leaf<T> {
    /// The entries of this table alone: a change needs no count of owners.
    own: Option<Box<[T; LEAF]>>,
    /// The entries since a clone.
    shared: Option<Arc<[T; LEAF]>>,
}

impl<T: Clone + Default> Leaf<T> {
    fn get(&self) -> Option<&[T; LEAF]> {
        self.own.as_deref().or(self.shared.as_deref())
    }

    #[inline(always)]
    fn get_mut(&mut self) -> &mut [T; LEAF] {
        let Leaf { own, shared } = self;
        own.get_or_insert_with(|| Self::made_of(shared.take()))
    }

    #[cold]
    fn made_of(shared: Option<Arc<[T; LEAF]>>) -> Box<[T; LEAF]> {
        Box::new(shared.map_or_else(|| std::array::from_fn(|_| T::default()), Arc::unwrap_or_clone))
    }

    /// A leaf with the same entries, which both share from now on.
    fn share(&mut self) -> Self {
        if let Some(own) = self.own.take() {
            self.shared = Some(Arc::from(own));
        }
        Leaf { own: None, shared: self.shared.clone() }
    }
}

#[derive(Debug)]
pub(super) struct Table<T> {
    leaves: RefCell<Vec<Leaf<T>>>,
}

impl<T: Clone + Default> Clone for Table<T> {
    fn clone(&self) -> Self {
        Table { leaves: RefCell::new(self.leaves.borrow_mut().iter_mut().map(Leaf::share).collect()) }
    }
}

impl<T: Clone + Default> Table<T> {
    pub(super) fn new(entries: u64) -> Self {
        let leaves = entries.div_ceil(LEAF as u64);
        Table { leaves: RefCell::new((0..leaves).map(|_| Leaf { own: None, shared: None }).collect()) }
    }

    #[inline(always)]
    pub(super) fn get(&self, i: u64) -> Option<Ref<'_, T>> {
        let leaves = self.leaves.borrow();
        Ref::filter_map(leaves, |leaves| leaves[i as usize / LEAF].get().map(|leaf| &leaf[i as usize % LEAF])).ok()
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, i: u64) -> &mut T {
        &mut self.leaves.get_mut()[i as usize / LEAF].get_mut()[i as usize % LEAF]
    }

    /// An entry that exists.
    #[inline(always)]
    pub(super) fn existing_mut(&mut self, i: u64) -> Option<&mut T> {
        let leaf = &mut self.leaves.get_mut()[i as usize / LEAF];
        (leaf.own.is_some() || leaf.shared.is_some()).then(|| &mut leaf.get_mut()[i as usize % LEAF])
    }

    /// Changes the entries that exist and are `wanted`, with their index.
    pub(super) fn change(&mut self, wanted: impl Fn(&T) -> bool, mut change: impl FnMut(u64, &mut T)) {
        for (place, leaf) in self.leaves.get_mut().iter_mut().enumerate() {
            if !leaf.get().is_some_and(|entries| entries.iter().any(&wanted)) {
                continue;
            }
            for (i, entry) in leaf.get_mut().iter_mut().enumerate().filter(|(_, entry)| wanted(entry)) {
                change((place * LEAF + i) as u64, entry);
            }
        }
    }

    /// Visits the entries that exist.
    pub(super) fn each(&self, visit: impl FnMut(&T)) {
        self.leaves.borrow().iter().filter_map(Leaf::get).flatten().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shares_what_has_not_changed() {
        let mut table: Table<u64> = Table::new(200);
        (*table.get_mut(3), *table.get_mut(130)) = (5, 6);
        let mut copy = table.clone();
        *copy.get_mut(3) = 7;
        let look = |table: &Table<u64>| [3, 70, 130].map(|i| table.get(i).map(|entry| *entry));
        assert_eq!((look(&table), look(&copy)), ([Some(5), None, Some(6)], [Some(7), None, Some(6)]));
        assert!(std::ptr::eq(&*table.get(130).unwrap(), &*copy.get(130).unwrap()), "the leaf is there once");
        assert!(copy.existing_mut(70).is_none());
        drop(table);
        *copy.existing_mut(130).unwrap() += 1;
        let mut all = Vec::new();
        copy.each(|entry| all.extend((*entry > 0).then_some(*entry)));
        assert_eq!(all, [7, 7]);
    }
}
