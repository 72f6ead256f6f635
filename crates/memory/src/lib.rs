//! Large tables on huge pages, prefetch, and notes of fatal signals: the only unsafe code of ssdlab.
//!
//! A page map is read and written at random. On 4 KiB pages each touch of a large one misses the TLB too, and without
//! prefetch each miss is waited for.
//!
//! ```
//! use ssdlab_memory::{Table, prefetch};
//!
//! let mut map = Table::filled(1 << 20, u32::MAX);
//! map[7] = 3;
//! prefetch(&map, 7); // soon needed
//! assert_eq!((map[7], map[8]), (3, u32::MAX));
//! ```

mod fatal;

pub use fatal::note_fatal_signals;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Size and alignment of a huge page.
const HUGE: usize = 2 << 20;

/// Least size of a table that gets huge pages. A smaller one is few pages of any size.
const LARGE: usize = HUGE / 4;

/// A fixed number of plain values, on huge pages where the system offers them.
pub struct Table<T: Copy> {
    values: NonNull<T>,
    len: usize,
    /// None if there are no values.
    memory: Option<Arc<Memory>>,
}

// SAFETY: a table owns its values alone, like a boxed slice.
unsafe impl<T: Copy + Send> Send for Table<T> {}
// SAFETY: a shared table only gives out shared references to its values.
unsafe impl<T: Copy + Sync> Sync for Table<T> {}

/// Memory of a table, or of the parts of one. It is freed with the last of them.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: nothing is read or written through it.
unsafe impl Send for Memory {}
// SAFETY: the same.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this very layout. Its owners end before it: every table in it holds a count of the `Arc`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Memory for `len` values, which are not set yet: none for no values.
///
/// # Panics
/// If `T` has no size.
fn allocate<T>(len: usize) -> (NonNull<T>, Option<Memory>) {
    assert!(size_of::<T>() > 0, "values have a size");
    if len == 0 {
        return (NonNull::dangling(), None);
    }
    let plain = Layout::array::<T>(len).expect("a table that fits the address space");
    let align = if plain.size() >= LARGE { HUGE } else { plain.align() };
    let layout = plain.align_to(align).expect("a power of two").pad_to_align();
    // SAFETY: the layout has a size, since `len` and the size of `T` are not zero.
    let memory = unsafe { alloc(layout) };
    let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
    #[cfg(target_os = "linux")]
    if layout.align() == HUGE {
        // SAFETY: the range is ours and aligned; the advice changes how it is backed, never what it holds. A refusal costs speed
        // only, so the result does not matter.
        unsafe { libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
    (start.cast(), Some(Memory { start, layout }))
}

impl<T: Copy> Table<T> {
    /// A table whose values are not set yet.
    ///
    /// # Panics
    /// If `T` has no size.
    fn allocate(len: usize) -> Self {
        let (values, memory) = allocate(len);
        Table { values, len, memory: memory.map(Arc::new) }
    }

    /// `len` copies of a value.
    pub fn filled(len: usize, value: T) -> Self {
        let table = Self::allocate(len);
        for i in 0..len {
            // SAFETY: `i` lies in the allocation, which holds `len` values.
            unsafe { table.values.add(i).write(value) };
        }
        table
    }

    /// Two tables in the memory of one: the first `len` values, and the rest. [`Table::joined`] undoes it.
    ///
    /// # Panics
    /// If there are fewer values.
    pub fn split(self, len: usize) -> (Self, Self) {
        assert!(len <= self.len, "a table of {} values has no first {len}", self.len);
        // SAFETY: the offset lies in the allocation, or at its end.
        let values = unsafe { self.values.add(len) };
        let rest = Table { values, len: self.len - len, memory: self.memory.clone() };
        (Table { len, ..self }, rest)
    }

    /// A table again of two that [`Table::split`] has made of one.
    ///
    /// # Panics
    /// If `rest` does not follow this table in its memory.
    pub fn joined(self, rest: Self) -> Self {
        let one = match (&self.memory, &rest.memory) {
            (Some(memory), Some(other)) => Arc::ptr_eq(memory, other),
            (memory, other) => memory.is_none() && other.is_none(),
        };
        // SAFETY: the offset lies in the allocation, or at its end.
        let end = unsafe { self.values.add(self.len) };
        assert!(one && end == rest.values, "the tables were one");
        Table { len: self.len + rest.len, ..self }
    }
}

impl Table<u32> {
    /// The values, for several threads.
    pub fn shared(&mut self) -> &[AtomicU32] {
        // SAFETY: an atomic number has the size, alignment and bits of a plain one. The table is borrowed exclusively, so for as long
        // all access is atomic.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr().cast(), self.len) }
    }
}

impl<T: Copy> Default for Table<T> {
    /// A table without values.
    fn default() -> Self {
        Self::allocate(0)
    }
}

impl<T: Copy> Clone for Table<T> {
    fn clone(&self) -> Self {
        let table = Self::allocate(self.len);
        // SAFETY: both allocations hold `len` values, and a new one overlaps nothing.
        unsafe { table.values.copy_from_nonoverlapping(self.values, self.len) };
        table
    }
}

impl<T: Copy> Deref for Table<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `values` points to `len` values that were all set at creation (or dangles, aligned, for none).
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.values.as_ptr(), self.len) }
    }
}

impl<T: Copy> std::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "a table of {} values", self.len)
    }
}

/// A vector on huge pages, if it is large and the system offers them.
pub struct HugeVec<T> {
    values: NonNull<[T]>,
    capacity: usize,
    /// None if there is no room.
    _memory: Option<Memory>,
}

// SAFETY: it owns its values alone, like a vector.
unsafe impl<T: Send> Send for HugeVec<T> {}
// SAFETY: if shared, it only gives out shared references to its values.
unsafe impl<T: Sync> Sync for HugeVec<T> {}

impl<T> HugeVec<T> {
    /// An empty vector with room for so many values.
    ///
    /// # Panics
    /// If `T` has no size.
    pub fn with_capacity(capacity: usize) -> Self {
        let (start, memory) = allocate(capacity);
        HugeVec { values: NonNull::slice_from_raw_parts(start, 0), capacity, _memory: memory }
    }

    /// Number of values for which there is room.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Says how many values are set: the first ones.
    #[inline(always)]
    fn set_len(&mut self, len: usize) {
        self.values = NonNull::slice_from_raw_parts(self.values.cast(), len);
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        let len = self.values.len();
        if len == self.capacity {
            self.grow();
        }
        // SAFETY: the place lies in the allocation, and holds no value yet.
        unsafe { self.values.cast::<T>().add(len).write(value) };
        self.set_len(len + 1);
    }

    /// Makes room for twice as many values.
    #[cold]
    fn grow(&mut self) {
        let (len, mut more) = (self.values.len(), Self::with_capacity((2 * self.capacity).max(4)));
        // SAFETY: both allocations have room for them, and a new one overlaps nothing. From here on only `more` owns them.
        unsafe { more.values.cast::<T>().copy_from_nonoverlapping(self.values.cast(), len) };
        self.set_len(0);
        more.set_len(len);
        *self = more;
    }

    /// Drops all values. The room stays.
    pub fn clear(&mut self) {
        let values = self.values;
        self.set_len(0);
        // SAFETY: they were set, and nothing else knows of them any more.
        unsafe { values.drop_in_place() };
    }
}

impl<T> Drop for HugeVec<T> {
    fn drop(&mut self) {
        // Its memory is freed after its values.
        self.clear();
    }
}

impl<T: Clone> Clone for HugeVec<T> {
    /// Room for values that are to come is copied, too.
    fn clone(&self) -> Self {
        let mut copy = Self::with_capacity(self.capacity);
        self.iter().for_each(|value| copy.push(value.clone()));
        copy
    }
}

impl<T> Deref for HugeVec<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: all of them are set (or there is none, at an aligned address).
        unsafe { self.values.as_ref() }
    }
}

impl<T> DerefMut for HugeVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the borrow is exclusive.
        unsafe { self.values.as_mut() }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for HugeVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Asks the processor to fetch `values[index]` while other work goes on. Out of range: nothing happens.
///
/// It comes into the second level of the cache. The first one is small: a value that is fetched early enough would leave it before
/// its use, and would take the place of another one.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < values.len() {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the address lies inside the slice; a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(values.as_ptr().add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// Asks the processor to fetch the first `BYTES` bytes of a value while other work goes on, or all of it if it has fewer. See
/// [`prefetch`].
#[inline(always)]
pub fn prefetch_first<T, const BYTES: usize>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..BYTES.min(size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the address lies inside the value; a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(value).cast::<i8>().add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_table_belong_to_threads_of_their_own_and_make_one_again() {
        use std::sync::atomic::Ordering::Relaxed;
        for len in [0, 1, 1000, 1 << 20] {
            for at in [0, len / 3, len] {
                let mut table = Table::filled(len, 7u32);
                table.shared().iter().for_each(|value| value.store(8, Relaxed));
                let (mut first, mut rest) = table.split(at);
                std::thread::scope(|scope| {
                    scope.spawn(|| first.fill(1));
                    scope.spawn(|| rest.fill(2));
                });
                let copy = rest.clone();
                let table = first.joined(rest);
                assert_eq!(table.len(), len);
                assert!(table[..at].iter().all(|v| *v == 1) && table[at..].iter().all(|v| *v == 2));
                assert_eq!(&copy[..], &table[at..]);
                let (first, rest) = table.split(at);
                drop(first);
                assert!(rest.iter().all(|v| *v == 2), "its memory is there without the other part");
                let other = std::panic::catch_unwind(|| Table::filled(at, 0).joined(rest));
                assert_eq!(other.is_ok(), len == 0, "tables of their own are not parts of one");
            }
        }
    }

    #[test]
    fn a_table_is_a_slice_that_can_be_copied() {
        for len in [0, 1, 1000, 1 << 20] {
            let mut table = Table::filled(len, 7u32);
            assert_eq!(table.len(), len);
            assert!(table.iter().all(|v| *v == 7));
            if len > 0 {
                table[len - 1] = 9;
            }
            let copy = table.clone();
            assert_eq!(&copy[..], &table[..]);
            drop(table);
            assert_eq!(copy.last().copied(), (len > 0).then_some(9));
            prefetch(&copy, len);
            prefetch(&copy, 0);
            prefetch_first::<_, 64>(&copy);
        }
    }
    #[test]
    fn a_vector_grows_and_drops_what_it_holds() {
        let value = Arc::new(());
        for (room, len) in [(0, 1), (1, 1), (3, 10), (1 << 17, (1 << 17) + 1)] {
            let mut vector = HugeVec::with_capacity(room);
            assert!(vector.is_empty());
            for i in 0..len {
                vector.push((i, Arc::clone(&value)));
            }
            assert!(vector.capacity() >= len && (vector.capacity() == room) == (len <= room));
            assert!(vector.iter().enumerate().all(|(i, kept)| kept.0 == i));
            vector[len - 1].0 = 7;
            let copy = vector.clone();
            assert_eq!((copy.len(), copy.capacity(), copy[len - 1].0), (len, vector.capacity(), 7));
            assert_eq!(Arc::strong_count(&value), 1 + 2 * len);
            vector.clear();
            assert!(vector.is_empty() && vector.capacity() == copy.capacity());
            assert_eq!(Arc::strong_count(&value), 1 + len);
            vector.push((0, Arc::clone(&value)));
            drop((vector, copy));
            assert_eq!(Arc::strong_count(&value), 1);
        }
    }
}
