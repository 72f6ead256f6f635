//! Filling by several threads.
//!
//! Where the number of a page decides its plane, and planes are collected alone, the order of writes to different planes does not
//! matter. So each thread fills a part of the planes, with the writes that belong there, and the result equals that of one thread to
//! the byte. The steps of the flash and its laws are those of `fill/timeless.rs`. Versions of watched pages are added at the end;
//! the oracle then checks that the map finds each of them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::flash::{Flash, Stream};
use crate::device::geometry::Geometry;
use crate::device::mapping::{Location, SharedMap};
use crate::device::staging::Staging;
use crate::device::transaction::Class;
use crate::device::wear::Wear;
use crate::engine::Ssd;
use crate::engine::fill::aged::AgedPages;
use crate::engine::fill::moving::{MOVES_AHEAD, Moving};
use crate::engine::fill::timeless::{ASKED, TILE, Work};
use crate::engine::spine::ring::LOOK_AHEAD;
use crate::oracle::{Check, Oracle};
use crate::policy::{Journey, View};
use crate::random;
use crate::schemes::AnyVictim;
use crate::stats::Stats;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn, Tag};

/// What all parts have in common.
struct Whole<'a> {
    geometry: &'a Geometry,
    wear: &'a Wear,
    staging: &'a Staging,
    oracle: &'a Oracle,
    map: SharedMap<'a>,
    seed: u64,
    journey: Journey,
    gc_floor: u32,
    /// See [`Device::tiles`].
    tiles: u32,
    work: Work,
}

/// Consecutive planes that a thread fills. Here they are numbered from 0, and so are their blocks and pages.
struct Part<'a> {
    whole: &'a Whole<'a>,
    /// Number of its first plane on the device, and of its first page.
    plane: u32,
    page: u32,
    flash: &'a mut Flash,
    victim: AnyVictim,
    moving: Moving,
    stats: Stats,
    /// Watched pages, one entry a write.
    watched: Vec<Lpn>,
}

impl Ssd {
    /// Whether several threads may fill it: static places, GC by plane and alone, a victim policy that knows one plane and draws
    /// nothing, no parity, no errors, and not [`Check::Full`].
    pub fn fills_in_parts(&self) -> bool {
        self.fast.parts && self.oracle.check() != Check::Full
    }

    /// Each of `parts` threads fills some planes.
    pub(in crate::engine) fn fill_parts(
        &mut self,
        parts: u32,
        work: Work,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tiles = self.dev.tiles(&self.rules, &self.config);
        let geometry = &self.dev.geometry;
        let bound = |part: u32| (u64::from(geometry.planes) * u64::from(part) / u64::from(parts)) as u32;
        let mut others: Vec<Flash> =
            (1..parts).rev().map(|part| self.dev.flash.split_off(PlaneId(bound(part)))).collect();
        others.reverse();
        let whole = Whole {
            geometry,
            wear: &self.dev.wear,
            staging: &self.dev.staging,
            oracle: &self.oracle,
            map: self.dev.map.shared(),
            seed: self.seed,
            journey: self.rules.plain_moves.expect("checked: all pages travel alike"),
            gc_floor: self.rules.gc_floor,
            tiles,
            work,
        };
        let part = |plane: u32, flash| Part {
            whole: &whole,
            plane,
            page: plane * geometry.pages_per_plane,
            flash,
            victim: self.schemes.victim.clone(),
            moving: Moving::new(geometry.pages_per_block),
            stats: Stats::new(geometry.pages_per_entry, 1),
            watched: Vec::new(),
        };
        let stopped = AtomicBool::new(false);
        let (ended, filled) = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..parts)
                .zip(&mut others)
                .map(|(i, flash)| {
                    let (part, stopped) = (part(bound(i), flash), &stopped);
                    scope.spawn(move || {
                        let stops = || stopped.load(Ordering::Relaxed);
                        part.fill(&mut || if stops() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }).1
                    })
                })
                .collect();
            let (ended, first) = part(0, &mut self.dev.flash).fill(go_on);
            stopped.store(ended.is_break(), Ordering::Relaxed);
            let others =
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|law| std::panic::resume_unwind(law)));
            (ended, std::iter::once(first).chain(others).collect::<Vec<_>>())
        });
        others.into_iter().for_each(|flash| self.dev.flash.append(flash));
        ended?;
        for Filled { stats, watched } in &filled {
            self.stats.add_filling(stats);
            if let Work::Written(_) = work {
                watched.iter().for_each(|lpn| _ = self.oracle.admit(*lpn));
            }
        }
        for lpn in filled.iter().flat_map(|part| &part.watched) {
            let Location::Flash(page) = self.dev.map.get(*lpn) else {
                panic!("oracle: a page that was written is on flash")
            };
            law_eq!(self.dev.flash.lpn_of(page), *lpn, "oracle: the map finds what was written");
            self.oracle.store(page, Tag { lpn: *lpn, version: self.oracle.latest(*lpn) });
        }
        ControlFlow::Continue(())
    }
}

/// What a part leaves beside its flash and its entries of the map.
struct Filled {
    stats: Stats,
    watched: Vec<Lpn>,
}

impl Part<'_> {
    fn fill(mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> (ControlFlow<()>, Filled) {
        let ended = self.work(go_on);
        (ended, Filled { stats: self.stats, watched: self.watched })
    }

    fn work(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        match self.whole.work {
            Work::Written(overwrites) => {
                self.fill_in_order(go_on)?;
                self.overwrite(overwrites, go_on)
            }
            Work::Aged(valid, invalid) => self.age(valid, invalid, go_on),
        }
    }

    /// Like `Ssd::age_planes`.
    fn age(&mut self, valid: u64, invalid: u64, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let planes = self.whole.geometry.planes;
        for residue in (0..planes).map(Lpn).filter(|lpn| self.holds(*lpn)).collect::<Vec<_>>() {
            let plane = self.place(residue);
            let mut draws = AgedPages::new(self.whole.seed, PlaneId(plane.0 + self.plane), valid, invalid);
            let mut lpn = residue;
            while let Some(stale) = draws.next() {
                if draws.left().is_multiple_of(ASKED) {
                    go_on()?;
                }
                let page =
                    self.flash.take_page(plane, Stream::Host, false).expect("checked: ageing leaves the reserve alone");
                let block = self.whole.geometry.block_of(page);
                self.flash.land(page, block, if stale { Lpn::NONE } else { lpn });
                if !stale {
                    self.put(lpn, page);
                    lpn.0 += planes;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Like `Ssd::fill_in_order`.
    fn fill_in_order(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let (geometry, planes) = (self.whole.geometry, self.whole.geometry.planes);
        let mine: Vec<u32> = (0..planes).filter(|lpn| self.holds(Lpn(*lpn))).collect();
        for tile in 0..self.whole.tiles {
            go_on()?;
            for residue in &mine {
                self.fill_tile(Lpn(tile * TILE * planes + residue));
            }
        }
        for row in self.whole.tiles * TILE..geometry.mapped / planes {
            go_on()?;
            for residue in &mine {
                self.write(Lpn(row * planes + residue));
            }
        }
        ControlFlow::Continue(())
    }

    /// The random writes that belong here, among all of them.
    fn overwrite(&mut self, overwrites: u64, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let mut rng = random::stream(self.whole.seed, "precondition");
        let exported = u64::from(self.whole.geometry.exported);
        let mut mine = [Lpn::NONE; ASKED as usize];
        let mut left = overwrites;
        while left > 0 {
            go_on()?;
            let drawn = left.min(ASKED);
            left -= drawn;
            let mut count = 0;
            // Branchless: to whom a page belongs is unpredictable.
            for _ in 0..drawn {
                let lpn = Lpn(random::below(&mut rng, exported) as u32);
                mine[count] = lpn;
                count += usize::from(self.holds(lpn));
            }
            let mine = &mine[..count];
            for (i, lpn) in mine.iter().enumerate() {
                if let Some(ahead) = mine.get(i + LOOK_AHEAD) {
                    self.whole.map.expect(*ahead);
                }
                if let Some(ahead) = mine.get(i + LOOK_AHEAD / 2) {
                    self.expect_write(*ahead);
                }
                self.write(*lpn);
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether a logical page is placed here.
    #[inline(always)]
    fn holds(&self, lpn: Lpn) -> bool {
        self.whole.geometry.static_plane(lpn).0.wrapping_sub(self.plane) < self.flash.planes()
    }

    #[inline(always)]
    fn place(&self, lpn: Lpn) -> PlaneId {
        PlaneId(self.whole.geometry.static_plane(lpn).0 - self.plane)
    }

    /// The page that holds a logical page, by its number here.
    #[inline(always)]
    fn page_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.whole.map.get(lpn).map(|page| Ppn(page.0 - self.page))
    }

    #[inline(always)]
    fn expect_write(&self, lpn: Lpn) {
        if let Some(page) = self.page_of(lpn) {
            self.flash.expect_stale(page, self.whole.geometry.block_of(page));
        }
        self.flash.expect_program(self.place(lpn));
    }

    #[inline(always)]
    fn put(&mut self, lpn: Lpn, page: Ppn) {
        self.whole.map.set(lpn, Ppn(page.0 + self.page));
        if self.whole.oracle.is_watched(lpn) {
            self.watched.push(lpn);
        }
    }

    /// Like `Device::fill_tile`.
    fn fill_tile(&mut self, first: Lpn) {
        let (plane, planes) = (self.place(first), self.whole.geometry.planes);
        let lpns: [Lpn; TILE as usize] = std::array::from_fn(|row| Lpn(first.0 + row as u32 * planes));
        let mut next = 0;
        while next < lpns.len() {
            let (page, count) = self.flash.program_run(plane, Stream::Host, false, &lpns[next..]);
            for (lpn, page) in lpns[next..next + count].iter().zip(page.0..) {
                self.put(*lpn, Ppn(page));
            }
            next += count;
        }
        self.stats.count_programs(Class::Host, u64::from(TILE));
    }

    /// Like `Ssd::store_now`.
    #[inline(always)]
    fn write(&mut self, lpn: Lpn) {
        let plane = self.place(lpn);
        if let Some(page) = self.page_of(lpn) {
            self.flash.invalidate(page, self.whole.geometry.block_of(page), lpn);
        }
        self.stats.count_programs(Class::Host, 1);
        if let Some((page, room)) = self.flash.program_in_room(plane, lpn, self.whole.gc_floor) {
            self.put(lpn, page);
            if !room {
                self.collect_due(plane);
            }
            return;
        }
        self.make_room(plane);
        let page = self.flash.program_now(plane, Stream::Host, lpn).expect("a page was offered");
        self.put(lpn, page);
        self.collect_due(plane);
    }

    #[inline(never)]
    fn make_room(&mut self, plane: PlaneId) {
        while self.flash.next_offset(plane, Stream::Host).is_none() {
            let collected = self.collect(plane);
            law!(collected, "law: spare pages suffice");
        }
    }

    /// Like `Ssd::collect_now`.
    #[inline(never)]
    fn collect_due(&mut self, plane: PlaneId) {
        while self.flash.free_pages(plane) < self.whole.gc_floor && self.collect(plane) {}
        while self.flash.next_offset(plane, Stream::Host).is_none() && self.collect(plane) {}
    }

    /// Runs one collection in no time. Returns false if the plane has no victim.
    fn collect(&mut self, plane: PlaneId) -> bool {
        let Whole { geometry, wear, staging, .. } = *self.whole;
        let view = View::new(Nanos::ZERO, geometry, self.flash, wear, staging);
        let Some(victim) = self.victim.policy().pick(&view, plane) else { return false };
        if u32::from(self.flash.valid(victim)) == geometry.data_pages && !self.flash.has_garbage(plane, geometry) {
            return false;
        }
        self.flash.begin_collection(victim);
        self.flash.expect_run(plane, victim);
        self.move_all(plane, victim);
        self.flash.erase_now(victim);
        self.stats.count_erases(1);
        self.stats.count_collection(1);
        true
    }

    /// Like `Device::move_listed`, with all pages of the victim.
    fn move_all(&mut self, plane: PlaneId, victim: BlockId) {
        let map = self.whole.map;
        let Moving { offsets, lpns, .. } = &mut self.moving;
        let moved = self.flash.list_valid(victim, offsets, lpns);
        law_eq!(moved, usize::from(self.flash.valid(victim)), "law: validity and the reverse map agree");
        let (offsets, lpns) = (&offsets[..moved], &lpns[..moved]);
        lpns.iter().take(MOVES_AHEAD).for_each(|lpn| map.expect(*lpn));
        let from = self.page + self.whole.geometry.page(victim, 0).0;
        let mut next = 0;
        while next < moved {
            let (first, count) = self.flash.program_run(plane, Stream::Gc, true, &lpns[next..]);
            self.flash.leave(victim, count);
            let mut ahead = lpns.iter().skip(next + MOVES_AHEAD);
            let pages = lpns[next..next + count].iter().zip(&offsets[next..]);
            for ((lpn, offset), to) in pages.zip(self.page + first.0..) {
                if let Some(ahead) = ahead.next() {
                    map.expect(*ahead);
                }
                law_eq!(map.get(*lpn), Some(Ppn(from + u32::from(*offset))), "law: map and reverse map agree");
                map.set(*lpn, Ppn(to));
            }
            next += count;
        }
        self.flash.vacate(victim);
        self.stats.count_moves(self.whole.journey, moved as u64);
    }
}
