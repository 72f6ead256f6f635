//! The records of a chunk, in order. Nearly all chunks have one, and two while a write is in flight; these lie in the chunk itself.

use std::sync::Arc;

use super::SECTOR;

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
    #[inline]
    pub(super) fn all(ticket: u64) -> Self {
        Tickets { one: ticket, each: None }
    }

    pub(super) fn by_sector(each: [u64; MOST]) -> Self {
        Tickets { one: each[0], each: (each != [each[0]; MOST]).then(|| Box::new(each)) }
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

/// What a record stands for, beside its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Write,
    /// A trim, which may get no version.
    Trim,
    /// What a power cut has left that found no version of the page.
    Nothing,
}

/// A chunk as it is after a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The data; none for zeros.
    pub(super) data: Option<Arc<[u8]>>,
    pub(super) ticket: u64,
    /// The request that last changed each sector, 0 for none; none if `ticket` is it for all.
    pub(super) by: Option<Box<[u64; MOST]>>,
    /// The first of the page's versions that it stands for, or [`PENDING`].
    pub(super) version: u32,
    pub(super) kind: Kind,
    /// Whether the request has ended.
    pub(super) ended: bool,
    /// Sectors (bits) that were last changed by a trim.
    pub(super) trimmed: u8,
    /// Sectors (bits) that cannot be read.
    pub(super) bad: u8,
}

impl Record {
    /// A request that has not been admitted, and makes of the whole chunk what `data` says.
    #[inline]
    pub(super) fn pending(ticket: u64, data: Option<Arc<[u8]>>) -> Self {
        Record { data, ticket, version: PENDING, ..Record::default() }
    }

    /// The request that last changed a sector; 0 for none.
    #[inline]
    pub(super) fn by(&self, sector: usize) -> u64 {
        self.by.as_ref().map_or(self.ticket, |by| by[sector])
    }

    /// The same of all sectors.
    pub(super) fn all_by(&self) -> [u64; MOST] {
        self.by.as_ref().map_or([self.ticket; MOST], |by| **by)
    }

    pub(super) fn set_by(&mut self, by: [u64; MOST]) {
        self.by = (by != [self.ticket; MOST]).then(|| Box::new(by));
    }
}

/// Records that lie in the chunk.
const FEW: usize = 2;

/// The count where there are more.
const MANY: u8 = u8::MAX;

#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// Those beyond the count are blank.
    few: [Record; FEW],
    /// All records, where there are more.
    #[expect(
        clippy::box_collection,
        reason = "nearly no chunk has them, and a vector would make it larger than two cache lines"
    )]
    many: Option<Box<Vec<Record>>>,
    /// How many of the few there are, or [`MANY`].
    count: u8,
}

impl Records {
    #[inline]
    pub(super) fn all(&self) -> &[Record] {
        match &self.many {
            None => &self.few[..usize::from(self.count)],
            Some(many) => many,
        }
    }

    #[inline]
    pub(super) fn all_mut(&mut self) -> &mut [Record] {
        match &mut self.many {
            None => &mut self.few[..usize::from(self.count)],
            Some(many) => many,
        }
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&Record> {
        self.all().last()
    }

    /// The data of the only record, if it is one, and of the largest size.
    #[inline(always)]
    pub(super) fn only_data(&self) -> Option<&[u8; MOST * SECTOR]> {
        if self.count == 1 { self.few[0].data.as_ref()?.first_chunk() } else { None }
    }

    /// The older and the newer one, where there are two.
    #[inline(always)]
    pub(super) fn two(&mut self) -> Option<(&mut Record, &mut Record)> {
        let [first, second] = &mut self.few;
        (self.count == 2).then_some((first, second))
    }

    pub(super) fn push(&mut self, record: Record) {
        if let Some(free) = self.few.get_mut(usize::from(self.count)) {
            *free = record;
            self.count += 1;
        } else {
            self.push_many(record);
        }
    }

    /// Adds a request that has not been admitted, and makes of the whole chunk what `data` says.
    #[inline(always)]
    pub(super) fn push_whole(&mut self, ticket: u64, data: Arc<[u8]>) {
        if let Some(free) = self.few.get_mut(usize::from(self.count)) {
            // It is blank.
            (free.data, free.ticket, free.version) = (Some(data), ticket, PENDING);
            self.count += 1;
        } else {
            self.push_many(Record::pending(ticket, Some(data)));
        }
    }

    #[cold]
    fn push_many(&mut self, record: Record) {
        let few = &mut self.few;
        let many = self.many.get_or_insert_with(|| Box::new(few.iter_mut().map(std::mem::take).collect()));
        self.count = MANY;
        many.push(record);
    }

    /// Removes the oldest record of several, and returns its data. The next one takes its version.
    #[inline(always)]
    pub(super) fn merge_first(&mut self) -> Option<Arc<[u8]>> {
        let Some((first, second)) = self.two() else { return self.merge_many() };
        let data = std::mem::replace(&mut first.data, second.data.take());
        (first.ticket, first.by) = (second.ticket, second.by.take());
        (first.kind, first.ended, first.trimmed, first.bad) = (second.kind, second.ended, second.trimmed, second.bad);
        (second.kind, second.ended, second.trimmed, second.bad) = (Kind::Write, false, 0, 0);
        self.count = 1;
        data
    }

    #[inline(never)]
    fn merge_many(&mut self) -> Option<Arc<[u8]>> {
        let many = self.many.as_mut()?;
        many[1].version = many[0].version;
        let data = many.remove(0).data;
        if many.len() == FEW {
            self.few.iter_mut().zip(many.drain(..)).for_each(|(few, record)| *few = record);
            (self.many, self.count) = (None, FEW as u8);
        }
        data
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
