//! Placement handles of the host's data (`fdp.*`): which write point takes a page.
//!
//! The flash keeps a write point a handle, and knows whose block is whose. Here is what a write needs to find its handle, and what is
//! counted. GC needs nothing: its write point is that of its victim's handle, or the common one.

mod assign;

use assign::Assignment;

use crate::config::Config;
use crate::device::flash::{Flash, HandleCounts, Stream};
use crate::device::geometry::Geometry;
use crate::device::mapping::{Location, Mapping};
use crate::engine::rules::Rules;
use crate::engine::{Device, Features};
use crate::report::fdp::{Counted, FdpReport, Handle, Mixed};
use crate::request::Marks;
use crate::stats::Stats;
use crate::units::{BlockId, Lpn, PlaneId, Ppn};

/// State of the handles beside the flash's.
#[derive(Clone)]
pub(in crate::engine) struct Handles {
    assignment: Assignment,
    /// The handle that the request names which is being served.
    named: u8,
    /// By page: the handle of its newest write. A power cut leaves nothing else of writes that had not begun.
    of_page: Vec<u8>,
    /// By handle: programs of the host's pages, all since the device was filled, and those that are measured.
    all_programs: Vec<u64>,
    /// See `all_programs`.
    programs: Vec<u64>,
    /// Measured writes without a handle of their own.
    unknown: u64,
    /// The device is being filled: what is written has no name.
    filling: bool,
    /// By handle: the plane of its last unit that was written in no time, if there is one.
    last: Vec<PlaneId>,
}

impl Features {
    /// GC moves a page out of its block: counts it for the block's handle, if there are handles.
    #[inline(always)]
    pub(in crate::engine) fn handle_moved(&self, dev: &mut Device, from: Ppn) {
        if self.handles.is_some() {
            dev.flash.count_moved(dev.geometry.block_of(from), 1);
        }
    }
}

impl Device {
    /// The erase of a victim begins: counts it for the block's handle, if there are handles.
    #[inline(always)]
    pub(in crate::engine) fn handle_erased(&mut self, rules: &Rules, victim: BlockId) {
        if rules.handles {
            self.flash.count_erased(victim);
        }
    }
}

impl Handles {
    pub(in crate::engine) fn new(config: &Config, geometry: &Geometry) -> Self {
        Handles {
            assignment: Assignment::new(&config.fdp, geometry.mapped, u64::from(geometry.unit_bytes)),
            named: 0,
            of_page: vec![0; geometry.mapped as usize],
            all_programs: vec![0; config.fdp.handles as usize],
            programs: vec![0; config.fdp.handles as usize],
            unknown: 0,
            filling: true,
            last: vec![PlaneId::NONE; config.fdp.handles as usize],
        }
    }

    /// The device is full; requests follow. Every page has the handle that filling gives it.
    pub(in crate::engine) fn is_filled(&mut self) {
        (0..).zip(&mut self.of_page).for_each(|(page, handle)| *handle = self.assignment.unnamed(Lpn(page)));
        self.filling = false;
        self.all_programs.fill(0);
        self.restart();
    }

    /// A request is about to be served that names a handle, or has none of its own.
    pub(in crate::engine) fn serves(&mut self, marks: &Marks, measured: bool) {
        law!(usize::from(marks.handle) < self.programs.len(), "a request names a handle of the device");
        self.named = marks.handle;
        self.unknown += u64::from(marks.no_handle && measured);
    }

    /// A page of a handle is about to be programmed.
    pub(in crate::engine) fn count_program(&mut self, handle: u8, measured: bool) {
        self.all_programs[usize::from(handle)] += 1;
        self.programs[usize::from(handle)] += u64::from(measured);
    }

    /// A unit has been written in no time in a plane.
    pub(in crate::engine) fn wrote_unit(&mut self, stream: Stream, plane: PlaneId) {
        self.last[usize::from(stream.handle())] = plane;
    }

    /// The plane of the last unit of a write point that was written in no time.
    pub(in crate::engine) fn last_plane(&self, stream: Stream) -> Option<PlaneId> {
        Some(self.last[usize::from(stream.handle())]).filter(|plane| plane.is_some())
    }

    /// The write point of the newest write of a page.
    pub(in crate::engine) fn of_newest(&self, page: Lpn) -> Stream {
        Stream::of_handle(self.of_page[page.ix()])
    }

    /// The write point of a page that is written in no time, which is counted.
    #[inline(never)]
    pub(in crate::engine) fn write_now(&mut self, page: Lpn) -> Stream {
        let handle = self.write(page);
        self.count_program(handle, true);
        Stream::of_handle(handle)
    }

    /// The handle of a page that is written.
    pub(in crate::engine) fn write(&mut self, page: Lpn) -> u8 {
        let handle =
            if self.filling { self.assignment.unnamed(page) } else { self.assignment.written(page, self.named) };
        self.of_page[page.ix()] = handle;
        handle
    }

    /// The write point of data that no write has brought.
    pub(in crate::engine) fn unnamed(&self, page: Lpn) -> Stream {
        Stream::of_handle(self.assignment.unnamed(page))
    }

    /// The same, of a page that is brought now.
    pub(in crate::engine) fn brings(&mut self, page: Lpn) -> Stream {
        self.of_page[page.ix()] = self.assignment.unnamed(page);
        self.unnamed(page)
    }

    /// After a power cut the handle of a page is that of the block in which it was found: its newest write may be lost. Which of the
    /// handles that share mixed blocks it was does not matter any more.
    pub(in crate::engine) fn recover(&mut self, geometry: &Geometry, flash: &Flash, map: &Mapping) {
        let owners: Vec<Option<u8>> = flash.handles_by_block().collect();
        let persistent = flash.keeps_apart();
        let mixed = (0..).zip(persistent).find(|(_, persistent)| !**persistent).map(|(handle, _)| handle);
        for page in (0..geometry.mapped).map(Lpn) {
            let Location::Flash(at) = map.get(page) else { continue };
            let own = &mut self.of_page[page.ix()];
            match owners[geometry.block_of(at).ix()] {
                Some(owner) => *own = owner,
                None if persistent[usize::from(*own)] => *own = mixed.unwrap_or(*own),
                None => {}
            }
        }
    }

    /// Checks that pages of a handle are in its own blocks, or in mixed ones unless GC keeps them apart (scan of the full oracle). The
    /// same holds for moved units that wait in the controller.
    pub(in crate::engine) fn recount(&self, geometry: &Geometry, flash: &Flash, map: &Mapping) {
        let owners: Vec<Option<u8>> = flash.handles_by_block().collect();
        let persistent = flash.keeps_apart();
        // With shared write points the common GC fills blocks of handle 0.
        let apart =
            |handle: u8| handle > 0 || !flash.shares_points() || persistent.iter().all(|persistent| *persistent);
        for page in (0..geometry.mapped).map(Lpn) {
            let Location::Flash(at) = map.get(page) else { continue };
            let own = self.of_page[page.ix()];
            let owner = match geometry.kind_in_hand(at) {
                Some(kind) => kind.checked_sub(1).map(|handle| handle as u8),
                None => owners[geometry.block_of(at).ix()],
            };
            if !apart(own) || owner == Some(0) && !apart(0) {
                continue;
            }
            match owner {
                Some(owner) => law_eq!(owner, own, "law: what belongs to a handle holds only its pages"),
                None => law!(!persistent[usize::from(own)], "law: GC keeps pages of persistent handles apart"),
            }
        }
    }

    /// A page is trimmed.
    pub(in crate::engine) fn trimmed(&mut self, page: Lpn) {
        self.assignment.trimmed(page);
    }

    /// By handle: pages of the host that were programmed, and that GC has moved out of its blocks, since the device was filled.
    pub(in crate::engine) fn sample(&self, dev: &Device) -> Vec<[u64; 2]> {
        let pages = u64::from(dev.geometry.pages_per_entry);
        let moved = dev.flash.all_handle_counts().iter().map(|counts| counts.moved);
        self.all_programs.iter().zip(moved).map(|(programs, moved)| [programs * pages, moved * pages]).collect()
    }

    /// The report of the measured part.
    pub(in crate::engine) fn report(&self, dev: &Device, stats: &Stats) -> FdpReport {
        let (flash, geometry, done) = (&dev.flash, &dev.geometry, &stats.flash);
        // Of flash in an entry of the map: what is counted here are entries.
        let pages = u64::from(geometry.pages_per_entry);
        let unit_bytes = u64::from(geometry.pages_per_block) * u64::from(geometry.unit_bytes);
        let (counts, persistent) = (flash.handle_counts(), flash.keeps_apart());
        let counts = counts.as_slice();
        let mixed = counts[self.programs.len()];
        let handle = |(handle, counts): (u8, &HandleCounts)| {
            Handle::new(Counted {
                persistent: persistent[usize::from(handle)],
                host: self.programs[usize::from(handle)] * pages,
                moved: counts.moved * pages,
                erased: counts.erased * pages,
                left: flash.pages_left(handle) * pages,
            })
        };
        FdpReport {
            handles: (0..).zip(&counts[..self.programs.len()]).map(handle).collect(),
            mixed: Mixed { moved_pages: mixed.moved * pages, erased_units: mixed.erased * pages },
            unknown: self.unknown,
            hbmw_bytes: stats.bytes.written,
            mbmw_bytes: (done.programs.total + done.copybacks) * u64::from(geometry.flash_page),
            mbe_bytes: counts.iter().map(|counts| counts.erased).sum::<u64>() * unit_bytes,
        }
    }

    /// Counts from 0 again.
    pub(in crate::engine) fn restart(&mut self) {
        self.programs.fill(0);
        self.unknown = 0;
    }
}
