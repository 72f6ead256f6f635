//! Copyback while counts and wear allow it (paper D).

use super::AnyPath;
use crate::policy::{Hop, Journey, MovePath, Need, Requirement, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

scheme! {
    /// FastGC: a page is copied inside its plane while its copyback count allows it, and goes through the controller otherwise.
    ///
    /// No ECC checks a copied page, so its bit errors accumulate, but ECC can correct those of several copybacks (Wu et al.,
    /// DAC'18). A page is copied back, tR + tPROG, if its count is smaller than the threshold of the destination block, which
    /// depends on the P/E cycles of that block (`wear.copyback_thresholds`; section 4.2, and not "exceeds" as in 4.3). The
    /// copyback increments the count. Otherwise the page moves by `fallback`, by default externally, tR + 2 tX + tPROG, and its
    /// count becomes 0, as for host data. With an interconnect (paper E) the fallback may be `selective`: ECC checks those pages
    /// too.
    ///
    /// Counts are stored at the end of each block: ceil(5 B x (pages - 1) / page size) metadata pages, written when the block's
    /// data pages are full (tX + tPROG per page) and read when it becomes a victim (tR + tX). If wear allows no copyback in any
    /// block (`wear.pe_cycles`), there are none, and their space holds data. Counts lost in a power cut are treated as exhausted.
    ///
    /// It helps where GC moves many pages and the flash is little worn. Needs a reserve of one block more than the collector
    /// alone, because copied and external pages have separate write points. With a collector that moves pages in pairs, a pair
    /// moves externally if one of its pages must.
    FastGc {
        /// Path of the pages that may not be copied back: `"external"` or `"selective"`.
        fallback: Box<AnyPath> = Box::default(),
    }
}

impl MovePath for FastGc {
    fn journey(&mut self, view: &View, from: Ppn, to: BlockId) -> Journey {
        let allowed = view.wear.threshold(view.flash, to);
        if view.wear.count(from) < allowed { Journey::COPYBACK } else { self.fallback.policy().journey(view, from, to) }
    }
    fn back(&mut self, view: &View, from: Ppn, clean: bool) -> Hop {
        self.fallback.policy().back(view, from, clean)
    }
    fn separates(&self) -> bool {
        true
    }
    fn keeps_counts(&self) -> bool {
        true
    }
    fn needs(&self) -> Vec<Need> {
        if self.fallback.policy_ref().always().is_some_and(|journey| journey.out != Hop::Die) {
            return Vec::new();
        }
        let name = self.fallback.name();
        let why = format!("fastgc falls back on {name}: no ECC need see a page that may not be copied back");
        vec![Need::new(Requirement::OtherKnobs, "schemes.path", why, "use \"external\" or \"selective\"")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::wear::UNKNOWN;
    use crate::{Check, Config, Ssd};

    /// Paper D, Fig. 5: threshold 3 at block k; LPN 0 goes to block m, LPN 1 and LPN k - 1 are copied to block k. A count equal
    /// to the threshold is exhausted, and so is an unknown one.
    #[test]
    fn figure_5_copies_what_has_counts_below_the_threshold() {
        let mut config = Config::default();
        config.schemes.path = AnyPath::FastGc(FastGc::default());
        config.wear.pe_cycles = 3000;
        let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap_or_else(|error| panic!("{error}"));
        let (block_0, block_k) = (BlockId(0), BlockId(7));
        assert_eq!(ssd.wear().threshold(ssd.flash(), block_k), 3);
        let mut stays = |count: u8| {
            let page = ssd.geometry().page(block_0, 0);
            ssd.set_copyback_count(page, count);
            FastGc::default().journey(&ssd.view(), page, block_k).out == Hop::Die
        };
        assert_eq!([0, 1, 2, 3, 4, UNKNOWN].map(&mut stays), [true, true, true, false, false, false]);
    }
}
