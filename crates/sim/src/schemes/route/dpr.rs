//! Dynamic page replication (He et al.), one of paper A's baselines.

use crate::policy::{CopyNow, Need, Replicate, Requirement, Route};
use crate::schemes::scheme;
use crate::units::Ppm;

/// Of the pages that want a copy, so many of those that have waited longest are looked at for one whose die is free.
const LOOK_AT: usize = 16;

scheme! {
    /// DPR: pages whose reads often wait for collections get a second copy on another chip.
    ///
    /// Reads that waited for a collection, a write-back or the making of a copy are counted by logical page. At the `k`-th a
    /// copy is wanted: the page is read from its chip and programmed on another one, one page at a time, and both only while
    /// nobody wants the die. A read whose chip is in collection when it joins the chip's queue goes to the copy, if the copy's
    /// chip is not. A host write drops the copy, and so does the erase of its block: to collections a copy is an invalid
    /// page, which is dropped and never moved. At most the share `replica_pages` of the physical pages are copies; the one not
    /// used for longest goes first. Host writes are not redirected.
    ///
    /// It helps where the same pages are read again and again while their chips are collected; the first `k` reads wait as
    /// without it, and copies cost reads and programs (`flash.programs.replica`) and spare space. Other operations wait for
    /// the making of copies as for write-backs (`die_writeback`).
    ///
    /// He et al., TPDS 2015, as paper A compares with it. Taken from its abstract only: the pages that are blocked frequently
    /// are replicated in idle periods of chips. A counter stands for its prediction of interference; `k`, `replica_pages` and
    /// the order of use are our choices.
    Dpr {
        /// Reads that waited before a page is copied.
        k: u8 = 2,
        /// Share of the physical pages that copies may take.
        replica_pages: Ppm = Ppm(10_000),
    }
}

impl Route for Dpr {
    fn replicates(&self) -> Option<&dyn Replicate> {
        Some(self)
    }

    fn needs(&self) -> Vec<Need> {
        if self.k > 0 {
            return Vec::new();
        }
        let why = "dpr with k = 0 copies pages that no read waits for";
        vec![Need::new(Requirement::OtherKnobs, "schemes.route", why, "use k = 1 or more")]
    }
}

impl Replicate for Dpr {
    fn share(&self) -> Ppm {
        self.replica_pages
    }

    fn wants_copy(&self, waits: u8) -> bool {
        waits >= self.k
    }

    fn copies_now(&self, place: usize, unwanted: bool) -> CopyNow {
        match unwanted {
            true => CopyNow::Read,
            false if place + 1 == LOOK_AT => CopyNow::Stop,
            false => CopyNow::Next,
        }
    }

    fn stores_copy(&self, unwanted: bool, same_chip: bool) -> bool {
        unwanted && !same_chip
    }

    fn reads_copy(&self, home_in_collection: bool, copy_in_collection: bool) -> bool {
        home_in_collection && !copy_in_collection
    }
}
