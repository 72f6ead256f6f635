//! The versions of a small part of a page: at most 4 KiB, so that its sectors are the bits of a byte.

use std::sync::Arc;

use ssdlab_memory::prefetch_first;

use super::SECTOR;
use super::records::{Kind, MOST, PENDING, Record, Records, Tickets};

/// See the module's documentation. It is two lines of the processor's caches.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Chunk {
    /// In order of submission; the last one is what reads get.
    records: Records,
    /// The newest request of a sector of those that have completed.
    acknowledged: Tickets,
    /// Sectors (bits) for which that is a trim.
    discarded: u8,
}

const _: () = assert!(size_of::<Chunk>() <= 128, "two cache lines");

/// What is dropped: records, and bytes of their data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// What a write brings.
#[derive(Clone, Copy)]
pub(super) enum Brings<'a> {
    Bytes(&'a [u8]),
    Zeros,
}

/// Buffers that the chunks of this disk do not need any more. A snapshot may still have some of them. A clone has none.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Arc<[u8]>>);

impl Clone for Spare {
    fn clone(&self) -> Self {
        Spare::default()
    }
}

impl Spare {
    /// Buffers that are kept.
    const MOST: usize = 256;

    #[inline(always)]
    fn put(&mut self, data: Option<Arc<[u8]>>) {
        if let Some(data) = data
            && self.0.len() < Self::MOST
        {
            self.0.push(data);
        }
    }

    /// A buffer with these bytes: the one that was put last, unless a snapshot has it, too.
    #[inline(always)]
    pub(super) fn holding(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        if let Some(mut spare) = self.0.pop()
            && let Some(room) = Arc::get_mut(&mut spare).filter(|room| room.len() == bytes.len())
        {
            room.copy_from_slice(bytes);
            return spare;
        }
        Arc::from(bytes)
    }
}

/// Data of one owner, after a change.
fn changed(mut data: Arc<[u8]>, change: impl FnOnce(&mut [u8])) -> Arc<[u8]> {
    change(Arc::make_mut(&mut data));
    data
}

/// Sectors of a chunk as bits.
pub(super) fn bits(first: usize, count: usize) -> u8 {
    (((1u16 << count) - 1) << first) as u8
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.records.all().len()
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        self.records.all().iter().filter_map(|record| record.data.as_ref()).map(|data| data.len() as u64).sum()
    }

    /// Bytes of the newest record's data.
    pub(super) fn newest_bytes(&self) -> u64 {
        self.newest().and_then(|record| record.data.as_ref()).map_or(0, |data| data.len() as u64)
    }

    pub(super) fn newest(&self) -> Option<&Record> {
        self.records.last()
    }

    /// Appends all sectors, which have `bytes` bytes. Returns whether all can be read.
    #[inline(always)]
    pub(super) fn read_whole(&self, bytes: usize, into: &mut Vec<u8>) -> bool {
        let newest = self.newest();
        match newest.and_then(|record| record.data.as_ref()) {
            Some(data) => into.extend_from_slice(data),
            None => into.resize(into.len() + bytes, 0),
        }
        newest.is_none_or(|record| record.bad == 0)
    }

    /// Appends `count` sectors from `first` on. Returns whether all can be read.
    pub(super) fn read(&self, first: usize, count: usize, into: &mut Vec<u8>) -> bool {
        match self.newest().and_then(|record| record.data.as_ref()) {
            Some(data) => into.extend_from_slice(&data[first * SECTOR..(first + count) * SECTOR]),
            None => into.resize(into.len() + count * SECTOR, 0),
        }
        self.newest().is_none_or(|record| record.bad & bits(first, count) == 0)
    }

    /// A request replaces all sectors. The record before it stays.
    #[inline(always)]
    pub(super) fn write_whole(&mut self, ticket: u64, data: Arc<[u8]>) {
        if let Some(old) = self.records.only_data() {
            // Its buffer is used again as soon as the write has completed.
            prefetch_first::<_, { MOST * SECTOR }>(old);
        }
        self.records.push_whole(ticket, data);
    }

    /// A request replaces `count` sectors from `first` on, in a chunk of `size` bytes. The record before it stays.
    pub(super) fn write(
        &mut self,
        ticket: u64,
        first: usize,
        count: usize,
        brings: Brings<'_>,
        size: usize,
        spare: &mut Spare,
    ) {
        if count * SECTOR == size {
            return match brings {
                Brings::Bytes(bytes) => self.write_whole(ticket, spare.holding(bytes)),
                Brings::Zeros => self.records.push(Record::pending(ticket, None)),
            };
        }
        let before = self.newest();
        let old = before.and_then(|record| record.data.as_ref());
        let part = first * SECTOR..(first + count) * SECTOR;
        let mut copy = || old.map_or_else(|| Arc::from(vec![0; size]), |old| spare.holding(old));
        let data = match brings {
            Brings::Zeros if old.is_none() => None,
            Brings::Zeros => Some(changed(copy(), |data| data[part].fill(0))),
            Brings::Bytes(bytes) => Some(changed(copy(), |data| data[part].copy_from_slice(bytes))),
        };
        let mut record = Record::pending(ticket, data);
        let mut by = [0; MOST];
        if let Some(before) = before {
            let own = bits(first, count);
            (record.bad, record.trimmed, by) = (before.bad & !own, before.trimmed & !own, before.all_by());
        }
        by[first..first + count].fill(ticket);
        record.set_by(by);
        self.records.push(record);
    }

    /// The same where only the newest data is kept: nobody asks for versions and requests then.
    pub(super) fn replace(&mut self, first: usize, count: usize, brings: Brings<'_>, size: usize) {
        if self.len() == 0 {
            self.records.push(Record::default());
        }
        let record = &mut self.records.all_mut()[0];
        record.bad &= !bits(first, count);
        let whole = count * SECTOR == size;
        let part = first * SECTOR..(first + count) * SECTOR;
        match (brings, &mut record.data) {
            (Brings::Zeros, data) if whole => *data = None,
            (Brings::Zeros, None) => {}
            (Brings::Zeros, Some(data)) => Arc::make_mut(data)[part].fill(0),
            (Brings::Bytes(bytes), Some(data)) => match Arc::get_mut(data) {
                Some(own) => own[part].copy_from_slice(bytes),
                None if whole => *data = Arc::from(bytes),
                None => Arc::make_mut(data)[part].copy_from_slice(bytes),
            },
            (Brings::Bytes(bytes), data) if whole => *data = Some(Arc::from(bytes)),
            (Brings::Bytes(bytes), data) => {
                let mut fresh = vec![0; size];
                fresh[part].copy_from_slice(bytes);
                *data = Some(Arc::from(fresh));
            }
        }
    }

    /// A write fails: the page gets a version, and keeps its data.
    pub(super) fn fail(&mut self, ticket: u64, keep: bool) {
        if keep {
            let blank = Record::default();
            let before = self.newest().unwrap_or(&blank);
            let mut record = Record::pending(ticket, before.data.clone());
            (record.bad, record.trimmed) = (before.bad, before.trimmed);
            record.set_by(before.all_by());
            self.records.push(record);
        }
    }

    /// A trim of all sectors.
    pub(super) fn trim(&mut self, ticket: u64, keep: bool) {
        if !keep {
            self.records = Records::default();
        }
        self.records.push(Record { kind: Kind::Trim, trimmed: u8::MAX, ..Record::pending(ticket, None) });
    }

    /// The oldest request that has not been admitted: a write, or a trim with nothing before it that waits.
    pub(super) fn waiting(&self, trim: bool) -> Option<u64> {
        let mut waiting = self.records.all()[self.admitted()..].iter();
        if trim {
            waiting.next().filter(|record| record.kind == Kind::Trim).map(|record| record.ticket)
        } else {
            waiting.find(|record| record.kind != Kind::Trim).map(|record| record.ticket)
        }
    }

    /// Number of records with a version.
    fn admitted(&self) -> usize {
        let waiting = self.records.all().iter().rev().take_while(|record| record.version == PENDING).count();
        self.len() - waiting
    }

    /// A request gets its version, if it is of this chunk. Earlier trims get none: they found no data. Returns how many records that
    /// drops.
    pub(super) fn admit(&mut self, ticket: u64, version: u32) -> Dropped {
        let from = self.admitted();
        let found = self.records.all()[from..].iter().position(|record| record.ticket == ticket);
        let Some(skipped) = found else { return Dropped::default() };
        self.records.all_mut()[from + skipped].version = version;
        if skipped == 0 {
            return Dropped::default();
        }
        let skipped = from..from + skipped;
        let mut dropped = Dropped { records: skipped.len() as u64, bytes: 0 };
        self.records.retain(|place, record| {
            let stays = !skipped.contains(&place);
            dropped.bytes += record.data.as_ref().filter(|_| !stays).map_or(0, |data| data.len() as u64);
            stays
        });
        dropped
    }

    /// The newest of two records gets its version, if it is of the oldest request that waits. Returns whether it is.
    #[inline(always)]
    pub(super) fn admit_newest(&mut self, trim: bool, version: u32) -> bool {
        let Some((before, record)) = self.records.two() else { return false };
        let waits = before.version != PENDING && record.version == PENDING && (record.kind == Kind::Trim) == trim;
        if waits {
            record.version = version;
        }
        waits
    }

    /// The oldest request that waits gets its version: see [`Chunk::waiting`] and [`Chunk::admit`].
    #[inline(never)]
    pub(super) fn admit_oldest(&mut self, trim: bool, version: u32) -> Dropped {
        self.waiting(trim).map_or(Dropped::default(), |ticket| self.admit(ticket, version))
    }

    /// A request has completed: `count` sectors from `first` on of `sectors` are what it made them.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, ticket: u64, trim: bool, first: usize, count: usize, sectors: usize) {
        if count == sectors && ticket > self.acknowledged.newest() {
            self.acknowledged = Tickets::all(ticket);
            self.discarded = if trim { u8::MAX } else { 0 };
        } else {
            self.acknowledge_part(ticket, trim, first, count);
        }
    }

    #[inline(never)]
    fn acknowledge_part(&mut self, ticket: u64, trim: bool, first: usize, count: usize) {
        for i in first..first + count {
            if ticket > self.acknowledged.of(i) {
                self.acknowledged.set(i, ticket);
                self.discarded = self.discarded & !(1 << i) | u8::from(trim) << i;
            }
        }
    }

    /// A request has ended, on a drive that keeps what it has acknowledged. If all before it have ended, no cut returns what they
    /// made: the records of such requests become one.
    #[inline(always)]
    pub(super) fn end(&mut self, ticket: u64, spare: &mut Spare) -> Dropped {
        if let Some((first, second)) = self.records.two()
            && second.ticket == ticket
            && first.ended
            && second.version != PENDING
        {
            second.ended = true;
            return self.drop_first(spare);
        }
        self.end_any(ticket, spare)
    }

    #[inline(never)]
    fn end_any(&mut self, ticket: u64, spare: &mut Spare) -> Dropped {
        let Some(record) = self.records.all_mut().iter_mut().rfind(|record| record.ticket == ticket) else {
            return Dropped::default();
        };
        record.ended = true;
        let mut dropped = Dropped::default();
        while let [first, second, ..] = self.records.all_mut()
            && first.ended
            && second.ended
            && second.version != PENDING
        {
            let more = self.drop_first(spare);
            dropped = Dropped { records: dropped.records + more.records, bytes: dropped.bytes + more.bytes };
        }
        dropped
    }

    /// Drops the oldest record of several. The next one stands for its versions, too.
    #[inline(always)]
    fn drop_first(&mut self, spare: &mut Spare) -> Dropped {
        let data = self.records.merge_first();
        let dropped = Dropped { records: 1, bytes: data.as_ref().map_or(0, |data| data.len() as u64) };
        spare.put(data);
        dropped
    }

    /// The place of the record of a version: the newest one that is not newer.
    fn place_of(&self, version: u32) -> Option<usize> {
        self.records.all()[..self.admitted()].iter().rposition(|record| record.version <= version)
    }

    /// The place of the record that holds where no version is found: what an earlier cut has left, unless that was discarded since.
    fn place_of_none(&self) -> Option<usize> {
        let admitted = &self.records.all()[..self.admitted()];
        let discarded = admitted.iter().any(|record| record.kind == Kind::Trim);
        (!discarded && admitted.first().is_some_and(|record| record.kind == Kind::Nothing)).then_some(0)
    }

    /// Drops records that belong to none of these versions (ascending), and are not the newest. Returns how many.
    pub(super) fn keep(&mut self, versions: impl Iterator<Item = u32>, spare: &mut Spare) -> usize {
        let admitted = self.admitted();
        let mut kept = vec![false; admitted];
        if let Some(last) = kept.last_mut() {
            *last = true;
        }
        if let Some(place) = self.place_of_none() {
            kept[place] |= self.records.all()[place].bad != 0;
        }
        for place in versions.filter_map(|version| self.place_of(version)) {
            kept[place] = true;
        }
        let before = self.len();
        self.records.retain(|place, record| {
            let stays = kept.get(place).is_none_or(|kept| *kept);
            if !stays {
                spare.put(record.data.take());
            }
            stays
        });
        before - self.len()
    }

    /// The version of the data that a completed request left in a sector, if it is still kept.
    pub(super) fn version_by(&self, sector: usize, ticket: u64) -> Option<u32> {
        self.records.all().iter().find(|record| record.by(sector) == ticket).map(|record| record.version)
    }

    /// Whether a request that changed a sector was a trim.
    pub(super) fn was_trimmed(&self, sector: usize, ticket: u64) -> bool {
        self.records.all().iter().any(|record| record.by(sector) == ticket && record.trimmed >> sector & 1 == 1)
    }

    /// The newest completed request of a sector, and whether it is a trim.
    pub(super) fn acknowledged(&self, sector: usize) -> (u64, bool) {
        (self.acknowledged.of(sector), self.discarded >> sector & 1 == 1)
    }

    /// The chunk after a power cut: by sector, the data of these versions; `torn`: sectors of which there is no version cannot be
    /// read. From now on it has one record, which stands for all versions so far.
    pub(super) fn cut(&self, versions: impl Fn(usize) -> Option<u32>, sectors: usize, torn: bool) -> Chunk {
        let place =
            |version: Option<u32>| version.map_or_else(|| self.place_of_none(), |version| self.place_of(version));
        let places: Vec<Option<usize>> = (0..sectors).map(|i| place(versions(i))).collect();
        let kind = if versions(0).is_none() { Kind::Nothing } else { Kind::Write };
        let mut by = [places[0].map_or(0, |place| self.records.all()[place].by(0)); MOST];
        let mut record = Record { ticket: by[0], kind, ended: true, ..Record::default() };
        for (i, place) in places.iter().enumerate() {
            by[i] = 0;
            if let Some(place) = place {
                let of = &self.records.all()[*place];
                by[i] = of.by(i);
                record.bad |= of.bad & 1 << i;
                record.trimmed |= of.trimmed & 1 << i;
            }
            record.bad |= u8::from(torn && versions(i).is_none()) << i;
        }
        record.set_by(by);
        let data_of = |place: Option<usize>| place.and_then(|place| self.records.all()[place].data.as_ref());
        record.data = if places.iter().all(|place| *place == places[0]) {
            data_of(places[0]).cloned()
        } else if places.iter().all(|place| data_of(*place).is_none()) {
            None
        } else {
            let mut data = vec![0; sectors * SECTOR];
            for (to, place) in data.chunks_exact_mut(SECTOR).enumerate().zip(&places).map(|(to, place)| (to, *place)) {
                if let Some(from) = data_of(place) {
                    to.1.copy_from_slice(&from[to.0 * SECTOR..(to.0 + 1) * SECTOR]);
                }
            }
            Some(Arc::from(data))
        };
        let mut chunk = Chunk { acknowledged: Tickets::by_sector(by), discarded: record.trimmed, ..Chunk::default() };
        chunk.records.push(record);
        chunk
    }
}
