//! Dynamic page replication (He et al.), one of paper A's baselines.

use crate::policy::{CopyNow, Need, Replicate, Requirement, Route};
use crate::schemes::scheme;
use crate::units::Ppm;

/// Number of the oldest pages that want a copy among which one with a free die is searched.
const LOOK_AT: usize = 16;

scheme! {
    /// DPR: pages whose reads often wait for GC get a second copy on another chip.
    ///
    /// Reads that waited for GC, a write-back or a program of a second copy are counted by logical page. At the `k`-th a copy is
    /// requested: the page is read from its chip and programmed on another one, one page at a time, and both only while no
    /// operation waits for the die. If a read's chip is in GC when the read joins the chip's queue, the read uses the copy,
    /// unless the copy's chip is in GC too. A host write drops the copy, and so does the erase of its block: GC never moves a
    /// copy. Victim policies count copies as valid pages, so a block that holds some is not collected first; if nothing else is
    /// left to reclaim, copies are. At most the share `replica_pages` of the physical pages are copies; the
    /// least recently used copy is replaced first. Host writes are not redirected.
    ///
    /// It helps where the same pages are read repeatedly while their chips are in GC. The first `k` reads still wait, and copies
    /// cost reads and programs (`flash.programs.replica`) and spare space. Other operations wait for programs of copies as for
    /// write-backs (`die_writeback`).
    ///
    /// He et al., TPDS 2015, as compared with in paper A. Taken from its abstract only: frequently blocked pages are replicated
    /// in idle periods of chips. A counter replaces its prediction of interference; `k`, `replica_pages` and the
    /// least-recently-used order are our choices.
    Dpr {
        /// Number of waiting reads after which a page is copied.
        k: u8 = 2,
        /// Largest share of physical pages for copies.
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
