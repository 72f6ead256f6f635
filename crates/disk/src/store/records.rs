//! The records of a chunk, in order. Nearly all chunks have one, and two while a write is in flight; these lie in the chunk itself.

use std::sync::Arc;

/// Sectors of a chunk, at most.
pub(super) const MOST: usize = 8;

/// Version of a write that has not been admitted.
pub(super) const PENDING: u32 = u32::MAX;

/// A request by sector; nearly always one for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets {
    one: u64,
    each: Option<Box<[u64; MOST]>>,
}

impl Tickets {
    pub(super) fn all(ticket: u64) -> Self {
        Tickets { one: ticket, each: None }
    }

    #[inline]
    pub(super) fn of(&self, sector: usize) -> u64 {
        self.each.as_ref().map_or(self.one, |each| each[sector])
    }

    #[inline]
    pub(super) fn newest(&self) -> u64 {
        self.each.as_ref().map_or(self.one, |each| each.iter().copied().max().unwrap_or_default())
    }

    pub(super) fn set(&mut self, sector: usize, ticket: u64) {
        if self.of(sector) == ticket {
            return;
        }
        self.each.get_or_insert_with(|| Box::new([self.one; MOST]))[sector] = ticket;
    }
}

/// A chunk as it is after a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The first of the page's versions that it stands for, or [`PENDING`].
    pub(super) version: u32,
    /// The request.
    pub(super) ticket: u64,
    /// Whether it is a trim, which may get no version.
    pub(super) trim: bool,
    /// Whether a power cut that found no version of the page has left it.
    pub(super) nothing: bool,
    /// Whether the request has ended.
    pub(super) ended: bool,
    /// Sectors (bits) that were last changed by a trim.
    pub(super) trimmed: u8,
    /// Sectors (bits) that cannot be read.
    pub(super) bad: u8,
    /// The request that last changed a sector; 0 for none.
    pub(super) by: Tickets,
    /// The data; none for zeros.
    pub(super) data: Option<Arc<[u8]>>,
}

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
