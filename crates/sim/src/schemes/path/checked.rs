//! Copyback of pages in which the controller found no error (paper D's baseline).

use crate::policy::{Hop, Journey, MovePath, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

scheme! {
    /// Checked copyback (TCBGC, the traditional copyback-based GC of paper D): every page leaves the die and is decoded.
    ///
    /// The plane's register keeps the page meanwhile. If no error was found the page is programmed from there, tR + tX + tDEC +
    /// tPROG. Otherwise the corrected page returns over the channel, which takes another tX (section 2.2, Fig. 1). If the flash
    /// is so worn that every page has errors, which is the default (`ecc.page_error_probability`), this equals `external`: the
    /// check costs as much as copyback saves. Copied and corrected pages go to separate write points, as in `fastgc`, so the two
    /// differ only in how pages move.
    Checked {}
}

impl MovePath for Checked {
    fn journey(&mut self, _: &View, _: Ppn, _: BlockId) -> Journey {
        Journey::CHECKED
    }
    fn back(&mut self, _: &View, _: Ppn, clean: bool) -> Hop {
        if clean { Hop::Die } else { Hop::Controller }
    }
    fn checks_all(&self) -> bool {
        true
    }
    fn separates(&self) -> bool {
        true
    }
}
