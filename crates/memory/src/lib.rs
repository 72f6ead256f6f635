//! Large tables on huge pages, and prefetch: the only unsafe code of ssdlab.
//!
//! A page map is read and written at random. On 4 KiB pages each touch of a large one misses the TLB too, and without
//! prefetch each miss is waited for.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Size and alignment of a huge page.
const HUGE: usize = 2 << 20;

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
        // SAFETY: allocated in `Table::allocate` with this very layout. Every table in it holds a count of the `Arc`, so none is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl<T: Copy> Table<T> {
    fn layout(len: usize) -> Layout {
        let plain = Layout::array::<T>(len).expect("a table that fits the address space");
        let huge = if plain.size() >= HUGE { HUGE } else { plain.align() };
        plain.align_to(huge).expect("a power of two").pad_to_align()
    }

    /// A table whose values are not set yet.
    ///
    /// # Panics
    /// If `T` has no size.
    fn allocate(len: usize) -> Self {
        assert!(size_of::<T>() > 0, "values have a size");
        if len == 0 {
            return Table { values: NonNull::dangling(), len, memory: None };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout has a size, since `len` and the size of `T` are not zero.
        let memory = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
        #[cfg(target_os = "linux")]
        if layout.align() == HUGE {
            // SAFETY: the range is ours and aligned; the advice changes how it is backed, never what it holds. A refusal
            // costs speed only, so the result does not matter.
            unsafe { libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Table { values: start.cast(), len, memory: Some(Arc::new(Memory { start, layout })) }
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

/// An empty vector with room for so many values, on huge pages where it is large and the system offers them.
pub fn vec_on_huge_pages<T>(capacity: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    {
        /// A divisor of the size of every page, as advice needs whole ones.
        const PAGE: usize = 64 << 10;
        let room = values.spare_capacity_mut();
        let (start, bytes) = (room.as_mut_ptr().cast::<u8>(), size_of_val(room));
        let before = start.align_offset(PAGE);
        if bytes >= HUGE {
            // SAFETY: the range lies in the vector's memory; the advice changes how it is backed, never what it holds. A refusal
            // costs speed only, so the result does not matter.
            unsafe { libc::madvise(start.add(before).cast(), bytes - before, libc::MADV_HUGEPAGE) };
        }
    }
    values
}

/// Asks the processor to fetch `values[index]` while other work goes on. Out of range: nothing happens.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < values.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address lies inside the slice; a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// Asks the processor to fetch the first `BYTES` bytes of a value while other work goes on, or all of it if it has fewer.
#[inline(always)]
pub fn prefetch_first<T, const BYTES: usize>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..BYTES.min(size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address lies inside the value; a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>().add(64 * line)) };
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
            let mut room = vec_on_huge_pages(len);
            assert!(room.is_empty() && room.capacity() >= len);
            room.extend_from_slice(&copy);
            assert_eq!(room[..], copy[..]);
            prefetch(&copy, len);
            prefetch(&copy, 0);
            prefetch_first::<_, 64>(&copy);
        }
    }
}
