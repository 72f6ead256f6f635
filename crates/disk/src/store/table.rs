//! A sparse table whose clones share what has not changed since.

use std::sync::Arc;

/// Entries of a leaf.
const LEAF: usize = 64;

/// See the module's documentation. Entries that were never asked for mutably take no memory.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    leaves: Vec<Option<Arc<[T; LEAF]>>>,
}

impl<T: Clone + Default> Table<T> {
    pub(super) fn new(entries: u64) -> Self {
        Table { leaves: vec![None; entries.div_ceil(LEAF as u64) as usize] }
    }

    pub(super) fn get(&self, i: u64) -> Option<&T> {
        self.leaves[i as usize / LEAF].as_ref().map(|leaf| &leaf[i as usize % LEAF])
    }

    pub(super) fn get_mut(&mut self, i: u64) -> &mut T {
        let leaf =
            self.leaves[i as usize / LEAF].get_or_insert_with(|| Arc::new(std::array::from_fn(|_| T::default())));
        &mut Arc::make_mut(leaf)[i as usize % LEAF]
    }

    /// An entry that exists.
    pub(super) fn existing_mut(&mut self, i: u64) -> Option<&mut T> {
        self.leaves[i as usize / LEAF].as_mut().map(|leaf| &mut Arc::make_mut(leaf)[i as usize % LEAF])
    }

    /// Changes the entries that exist and are `wanted`, with their index.
    pub(super) fn change(&mut self, wanted: impl Fn(&T) -> bool, mut change: impl FnMut(u64, &mut T)) {
        for (place, leaf) in self.leaves.iter_mut().enumerate() {
            let Some(leaf) = leaf.as_mut().filter(|leaf| leaf.iter().any(&wanted)) else { continue };
            for (i, entry) in Arc::make_mut(leaf).iter_mut().enumerate().filter(|(_, entry)| wanted(entry)) {
                change((place * LEAF + i) as u64, entry);
            }
        }
    }

    /// The entries that exist.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.leaves.iter().flatten().flat_map(|leaf| leaf.iter())
    }
}
