//! The bytes of a disk: by chunk, every version of it that some state of the drive can still return.
//!
//! The simulator counts versions by page of its map. A request gets its version when it is admitted, which is in order of
//! submission; until then its data waits in the chunk's last records.

mod chunk;
mod records;
mod table;

use ssdlab_memory::prefetch_first;
use ssdlab_sim::config::RaidLayout;
use ssdlab_sim::units::Lpn;
use ssdlab_sim::versions::{Admitted, CutVersions, Held, Recovered};
use ssdlab_sim::{Check, Config, Ssd};

use crate::flights::Flight;
use crate::{Lost, Reason, Ticket};
use chunk::{Brings, Chunk, Dropped, Spare};
use table::Table;

/// Bytes of a sector.
pub(crate) const SECTOR: usize = 512;

/// Records below which nothing is dropped.
const FEW: u64 = 256;

/// What a write brings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Data<'a> {
    Bytes(&'a [u8]),
    /// So many zeros.
    Zeros(u64),
    /// So many bytes, which do not arrive.
    Lost(u64),
}

impl Data<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Zeros(bytes) | Data::Lost(bytes) => *bytes,
        }
    }
}

/// A part of a request in one chunk.
struct Part {
    chunk: u64,
    /// First sector and number of sectors.
    first: usize,
    count: usize,
    /// Place of the part in the request's bytes.
    from: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Store {
    chunks: Table<Chunk>,
    /// Bytes of a chunk: a power of two, and its logarithm.
    chunk_bytes: u64,
    chunk_log: u32,
    /// Chunks of a page of the map.
    per_page: u64,
    /// Whether versions are kept for power cuts, or the newest data only.
    versions: bool,
    /// Whether they are, and a page is one chunk.
    page_is_chunk: bool,
    /// Whether a power cut leaves what was acknowledged, so that older data need not be kept.
    keeps_acknowledged: bool,
    keeps_data: bool,
    kept_bytes: u64,
    spare: Spare,
    /// Records now, and the number from which on some may be dropped, where no end of a request drops them.
    records: u64,
    sweep_at: u64,
}

impl Store {
    pub(crate) fn new(ssd: &Ssd, keeps_data: bool) -> Self {
        let page = ssd.mapped_bytes();
        let chunk_bytes = (1 << page.trailing_zeros()).min((records::MOST * SECTOR) as u64);
        Store {
            chunks: Table::new(ssd.capacity_bytes() / chunk_bytes),
            chunk_bytes,
            chunk_log: chunk_bytes.trailing_zeros(),
            per_page: page / chunk_bytes,
            versions: ssd.knows_pages(),
            page_is_chunk: ssd.knows_pages() && page == chunk_bytes,
            keeps_acknowledged: keeps_acknowledged(ssd.config()),
            keeps_data,
            kept_bytes: 0,
            spare: Spare::default(),
            records: 0,
            sweep_at: if ssd.knows_pages() && !keeps_acknowledged(ssd.config()) { FEW } else { u64::MAX },
        }
    }

    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    fn counted_bytes(&self) -> u64 {
        let mut bytes = 0;
        self.chunks.each(|chunk| bytes += chunk.kept_bytes());
        bytes
    }

    pub(crate) fn keeps_data(&self) -> bool {
        self.keeps_data
    }

    /// Whether versions are kept for power cuts.
    #[inline(always)]
    pub(crate) fn keeps_versions(&self) -> bool {
        self.versions
    }

    /// The chunk of a range that is a whole one, as most are.
    #[inline(always)]
    fn whole_chunk(&self, offset: u64, bytes: u64) -> Option<u64> {
        (bytes == self.chunk_bytes && offset & (bytes - 1) == 0).then_some(offset.wrapping_shr(self.chunk_log))
    }

    /// The chunks of a range, in order.
    fn parts(&self, offset: u64, bytes: u64) -> impl Iterator<Item = Part> + use<> {
        let (size, log, end, mut at) = (self.chunk_bytes, self.chunk_log, offset + bytes, offset);
        std::iter::from_fn(move || {
            let chunk = at >> log;
            let to = end.min((chunk + 1) << log);
            let part = Part {
                chunk,
                first: (at & (size - 1)) as usize / SECTOR,
                count: (to.saturating_sub(at)) as usize / SECTOR,
                from: (at - offset) as usize,
            };
            at = to;
            (part.count > 0).then_some(part)
        })
    }

    /// Appends the newest data. Returns whether all of it can be read.
    pub(crate) fn read(&self, offset: u64, bytes: u64, into: &mut Vec<u8>) -> bool {
        if let Some(chunk) = self.whole_chunk(offset, bytes).and_then(|chunk| self.chunks.get(chunk)) {
            return chunk.read_whole(self.chunk_bytes as usize, into);
        }
        let mut sound = true;
        for part in self.parts(offset, bytes) {
            match self.chunks.get(part.chunk) {
                Some(chunk) => sound &= chunk.read(part.first, part.count, into),
                None => into.resize(into.len() + part.count * SECTOR, 0),
            }
        }
        sound
    }

    /// A write has been submitted. Returns its chunk, if [`Store::end_whole`] can end it.
    #[inline(always)]
    pub(crate) fn write(&mut self, offset: u64, data: Data<'_>, ticket: Ticket) -> u64 {
        if let (Data::Bytes(bytes), Some(chunk)) = (data, self.whole_chunk(offset, data.len()))
            && self.versions
        {
            let entry = self.chunks.get_mut(chunk);
            // It arrives while the data is copied.
            prefetch_first::<_, { size_of::<Chunk>() }>(entry);
            entry.write_whole(ticket.0, self.spare.holding(bytes));
            self.kept_bytes += self.chunk_bytes;
            self.records += 1;
            return if self.page_is_chunk { chunk } else { Flight::PARTS };
        }
        if self.keeps_data {
            self.write_parts(offset, data, ticket);
        }
        Flight::PARTS
    }

    #[inline(never)]
    fn write_parts(&mut self, offset: u64, data: Data<'_>, ticket: Ticket) {
        let keep = self.versions;
        for Part { chunk, first, count, from } in self.parts(offset, data.len()) {
            let chunk = self.chunks.get_mut(chunk);
            let before = if keep { 0 } else { chunk.kept_bytes() };
            let brings = match data {
                Data::Bytes(bytes) => Brings::Bytes(&bytes[from..from + count * SECTOR]),
                Data::Zeros(_) => Brings::Zeros,
                Data::Lost(_) => {
                    chunk.fail(ticket.0, keep);
                    self.kept_bytes += if keep { chunk.newest_bytes() } else { 0 };
                    self.records += 1;
                    continue;
                }
            };
            let size = self.chunk_bytes as usize;
            if keep {
                chunk.write(ticket.0, first, count, brings, size, &mut self.spare);
            } else {
                chunk.replace(first, count, brings, size);
            }
            self.kept_bytes = self.kept_bytes + chunk.newest_bytes() - before;
            self.records += 1;
        }
    }

    /// The whole pages of a range.
    fn whole_pages(&self, offset: u64, bytes: u64) -> (u64, u64) {
        let page = self.per_page * self.chunk_bytes;
        let (first, end) = (offset.div_ceil(page) * page, (offset + bytes) / page * page);
        (first, end.saturating_sub(first))
    }

    /// A trim has been submitted. It discards whole pages only. Returns their range.
    pub(crate) fn trim(&mut self, offset: u64, bytes: u64, ticket: Ticket) -> (u64, u64) {
        let (offset, bytes) = self.whole_pages(offset, bytes);
        for part in self.parts(offset, bytes) {
            if self.chunks.get(part.chunk).is_some_and(|chunk| chunk.len() > 0) {
                let chunk = self.chunks.get_mut(part.chunk);
                self.kept_bytes -= if self.versions { 0 } else { chunk.kept_bytes() };
                chunk.trim(ticket.0, self.versions);
                self.records += 1;
            }
        }
        (offset, bytes)
    }

    /// Requests have been admitted.
    pub(crate) fn admit(&mut self, admitted: &[Admitted]) {
        for one in admitted {
            if self.page_is_chunk {
                if let Some(chunk) = self.chunks.existing_mut(u64::from(one.page.0))
                    && !chunk.admit_newest(one.trim, one.version)
                {
                    let dropped = chunk.admit_oldest(one.trim, one.version);
                    self.forget(dropped);
                }
                continue;
            }
            let first = u64::from(one.page.0) * self.per_page;
            let chunks = first..first + self.per_page;
            let waiting = chunks.clone().filter_map(|i| self.chunks.get(i)?.waiting(one.trim)).min();
            let Some(ticket) = waiting else { continue };
            for i in chunks {
                if let Some(chunk) = self.chunks.existing_mut(i) {
                    let dropped = chunk.admit(ticket, one.version);
                    self.forget(dropped);
                }
            }
        }
    }

    fn forget(&mut self, dropped: Dropped) {
        self.records -= dropped.records;
        self.kept_bytes -= dropped.bytes;
    }

    /// A write of a whole chunk has completed, without an error.
    #[inline(always)]
    pub(crate) fn end_whole(&mut self, chunk: u64, ticket: Ticket) {
        let Some(chunk) = self.chunks.existing_mut(chunk) else { return };
        let sectors = self.chunk_bytes as usize / SECTOR;
        chunk.acknowledge(ticket.0, false, 0, sectors, sectors);
        if self.keeps_acknowledged {
            let dropped = chunk.end(ticket.0, &mut self.spare);
            self.forget(dropped);
        }
    }

    /// A write or trim has completed, or failed. Precondition: versions are kept.
    #[inline(never)]
    pub(crate) fn end(&mut self, offset: u64, bytes: u64, trim: bool, ticket: Ticket, failed: bool) {
        let sectors = self.chunk_bytes as usize / SECTOR;
        let (offset, bytes) = if trim { self.whole_pages(offset, bytes) } else { (offset, bytes) };
        for Part { chunk, first, count, .. } in self.parts(offset, bytes) {
            let Some(chunk) = self.chunks.existing_mut(chunk).filter(|chunk| chunk.len() > 0) else { continue };
            if !failed {
                chunk.acknowledge(ticket.0, trim, first, count, sectors);
            }
            if self.keeps_acknowledged {
                let dropped = chunk.end(ticket.0, &mut self.spare);
                self.forget(dropped);
            }
        }
    }

    /// Drops data that no state of the drive can return any more, once enough has been written since the last time.
    #[inline]
    pub(crate) fn sweep(&mut self, ssd: &Ssd) {
        if self.records >= self.sweep_at {
            self.sweep_all(ssd);
        }
    }

    fn sweep_all(&mut self, ssd: &Ssd) {
        let per_page = self.per_page;
        let mut written = 0u64;
        let live = versions(ssd, |held, page| {
            written += u64::from(held == Held::Flash);
            let first = u64::from(page.0) * per_page;
            (first..first + per_page).any(|i| self.chunks.get(i).is_some_and(|chunk| chunk.len() > 1))
        });
        let (mut dropped, mut bytes) = (0, 0);
        self.chunks.change(
            |chunk| chunk.len() > 1,
            |i, chunk| {
                let page = (i / per_page) as u32;
                let from = live.partition_point(|(_, other, _)| *other < page);
                let of_page = live[from..].iter().take_while(|(_, other, _)| *other == page);
                let before = chunk.kept_bytes();
                dropped += chunk.keep(of_page.map(|(_, _, version)| *version), &mut self.spare) as u64;
                bytes += before - chunk.kept_bytes();
            },
        );
        self.records -= dropped;
        self.kept_bytes -= bytes;
        // A look at all of the flash is paid for by as many writes as a share of it.
        self.sweep_at = (2 * self.records).max(self.records + written / 16).max(FEW);
    }

    /// Power is cut. `memory`: versions that were in the controller's memory, ascending. Returns what was lost.
    pub(crate) fn cut(&mut self, cut: &CutVersions, memory: &[(Held, u32, u32)]) -> Vec<Lost> {
        let mut torn: Vec<Lpn> = cut.torn.iter().map(|(page, _)| *page).collect();
        torn.sort_unstable();
        let mut pages: Vec<&Recovered> = cut.recovered.iter().collect();
        pages.sort_unstable_by_key(|one| one.page);
        debug_assert_eq!(self.kept_bytes, self.counted_bytes(), "bytes are counted once");
        let (mut lost, sectors) = (Vec::new(), self.chunk_bytes as usize / SECTOR);
        for one in pages {
            let torn = torn.binary_search(&one.page).is_ok();
            for i in 0..self.per_page {
                let place = u64::from(one.page.0) * self.per_page + i;
                let blank = Chunk::default();
                let found = self.chunks.get(place).filter(|chunk| chunk.len() > 0);
                let before = match &found {
                    Some(chunk) => &**chunk,
                    // The whole page is unreadable, also what was never written of it.
                    None if torn && one.version.is_none() => &blank,
                    None => continue,
                };
                let first = i as usize * sectors;
                let version = |sector: usize| one.sectors.as_ref().map_or(one.version, |of| Some(of[first + sector]));
                let after = before.cut(version, sectors, torn);
                let was_in_memory = |version| {
                    memory.binary_search_by_key(&(one.page.0, version), |(_, page, version)| (*page, *version)).is_ok()
                };
                for sector in 0..sectors {
                    let offset = place * self.chunk_bytes + (sector * SECTOR) as u64;
                    note(&mut lost, loss(before, &after, sector, torn, offset, was_in_memory));
                }
                self.records = self.records + after.len() as u64 - before.len() as u64;
                self.kept_bytes = self.kept_bytes + after.kept_bytes() - before.kept_bytes();
                drop(found);
                *self.chunks.get_mut(place) = after;
            }
        }
        lost
    }
}

/// Whether a power cut leaves the newest acknowledged data of every sector, or newer data, on a drive that can be cut. (With parity
/// groups and failed chips it may leave older data.)
fn keeps_acknowledged(config: &Config) -> bool {
    config.device.power_loss_protection && config.raid.layout == RaidLayout::None && config.faults.chip_fails.is_empty()
}

/// Versions of pages that are wanted, each once, by page and version.
pub(crate) fn versions(ssd: &Ssd, mut wanted: impl FnMut(Held, Lpn) -> bool) -> Vec<(Held, u32, u32)> {
    debug_assert!(ssd.knows_pages(), "versions are known with {:?}", Check::Full);
    let mut all = Vec::new();
    ssd.each_version(|held, page, version| {
        if wanted(held, page) {
            all.push((held, page.0, version));
        }
    });
    all.sort_unstable_by_key(|(held, page, version)| (*page, *version, *held));
    all.dedup_by_key(|(_, page, version)| (*page, *version));
    all
}

/// What a sector has lost, if anything.
fn loss(
    before: &Chunk,
    after: &Chunk,
    sector: usize,
    torn: bool,
    offset: u64,
    was_in_memory: impl Fn(u32) -> bool,
) -> Option<Lost> {
    let is = after.newest()?;
    let (was_by, was_bad) = before.newest().map_or((0, 0), |was| (was.by(sector), was.bad >> sector & 1));
    let unreadable = is.bad >> sector & 1 == 1;
    let newly = unreadable && was_bad == 0;
    // A discarded sector has lost nothing if no data of it is found.
    let left = is.by(sector);
    let empty = left == 0 || after.was_trimmed(sector, left);
    let nothing = empty && before.was_trimmed(sector, was_by);
    if was_by == left && !newly || nothing && !unreadable {
        return None;
    }
    let (known, discarded) = before.acknowledged(sector);
    let (ticket, reason) = if known <= left || discarded && empty && !unreadable {
        (was_by, Reason::InFlight)
    } else if discarded {
        (known, Reason::TrimUndone)
    } else if before.version_by(sector, known).is_some_and(was_in_memory) {
        (known, Reason::Volatile)
    } else if torn {
        (known, Reason::Torn)
    } else {
        (known, Reason::Overwritten)
    };
    Some(Lost { offset, bytes: SECTOR as u64, ticket: (ticket > 0).then_some(Ticket(ticket)), reason, unreadable })
}

/// Adds a lost sector to a list.
fn note(lost: &mut Vec<Lost>, more: Option<Lost>) {
    let Some(more) = more else { return };
    let same = |last: &&mut Lost| {
        (last.offset + last.bytes, last.ticket, last.reason, last.unreadable)
            == (more.offset, more.ticket, more.reason, more.unreadable)
    };
    match lost.last_mut().filter(same) {
        Some(last) => last.bytes += more.bytes,
        None => lost.push(more),
    }
}
