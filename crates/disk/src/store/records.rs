//! The records of a chunk, in order. Nearly all chunks have one, and two while a write is in flight; these lie in the chunk itself.

use super::chunk::Record;

/// Records that lie in the chunk.
const FEW: usize = 2;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    few: [Record; FEW],
    /// How many of them there are.
    count: usize,
    /// All records, where there are more.
    many: Vec<Record>,
}

impl Records {
    #[inline]
    pub(super) fn all(&self) -> &[Record] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }

    #[inline]
    pub(super) fn all_mut(&mut self) -> &mut [Record] {
        if self.many.is_empty() { &mut self.few[..self.count] } else { &mut self.many }
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&Record> {
        self.all().last()
    }

    #[inline]
    pub(super) fn push(&mut self, record: Record) {
        if self.many.is_empty() && self.count < FEW {
            self.few[self.count] = record;
            self.count += 1;
        } else {
            self.push_many(record);
        }
    }

    #[cold]
    fn push_many(&mut self, record: Record) {
        let few = &mut self.few[..self.count];
        self.many.extend(few.iter_mut().map(std::mem::take));
        self.count = 0;
        self.many.push(record);
    }

    /// Removes the oldest record. Precondition: there is one.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        if self.many.is_empty() {
            self.few.rotate_left(1);
            self.count -= 1;
            self.few[self.count] = Record::default();
        } else {
            self.retain(|place, _| place > 0);
        }
    }

    /// Keeps the records of which `stays` is true, by place.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(usize, &mut Record) -> bool) {
        let mut left: Vec<Record> = Vec::new();
        for (place, record) in self.all_mut().iter_mut().enumerate() {
            if stays(place, record) {
                left.push(std::mem::take(record));
            }
        }
        *self = Records::default();
        left.into_iter().for_each(|record| self.push(record));
    }
}
