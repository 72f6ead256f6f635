//! Copyback of pages that the controller has found clean (paper D's baseline).

use crate::policy::{Hop, Journey, MovePath, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

scheme! {
    /// Checked copyback (TCBGC, the traditional copyback-based collection of paper D): every page goes out and is decoded.
    ///
    /// The plane's register keeps the page meanwhile. If no error was found it is programmed from there,
    /// tR + tX + tDEC + tPROG; otherwise the corrected page goes back over the channel, tX more (section 2.2, Fig. 1). On flash
    /// worn enough for errors in every page, which is the default (`ecc.page_error_probability`), that is `external`: the check
    /// costs what copyback would have saved. Copied and corrected pages go to write points of their own, as in `fastgc`, so
    /// that only the way of moving differs.
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
