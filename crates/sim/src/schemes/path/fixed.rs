//! Paths that are the same for every page.

use crate::policy::{Journey, MovePath, Need, Requirement, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

scheme! {
    /// External data move (EDM): every moved page goes out to the controller and back.
    ///
    /// The channel carries it twice, so that the controller's ECC sees every page: tR + 2 tX + tPROG a page (paper D,
    /// section 2). The page may go to any plane that `gc.destination` allows.
    External {}
}

impl MovePath for External {
    #[inline(always)]
    fn journey(&mut self, _: &View, _: Ppn, _: BlockId) -> Journey {
        Journey::EXTERNAL
    }
    fn always(&self) -> Option<Journey> {
        Some(Journey::EXTERNAL)
    }
    fn survives_chip_failures(&self) -> bool {
        true
    }
}

scheme! {
    /// Copyback: every moved page stays inside its plane.
    ///
    /// Read into the plane's page register and programmed from there: tR + tPROG a page, nothing on the channel. No ECC sees
    /// the page on its way, so bit errors travel with it (paper D). Needs a destination in the victim's plane.
    Copyback {}
}

impl MovePath for Copyback {
    #[inline(always)]
    fn journey(&mut self, _: &View, _: Ppn, _: BlockId) -> Journey {
        Journey::COPYBACK
    }
    fn always(&self) -> Option<Journey> {
        Some(Journey::COPYBACK)
    }
    fn survives_chip_failures(&self) -> bool {
        true
    }
    fn needs(&self) -> Vec<Need> {
        let (why, help) = ("copyback stays inside its plane", "use \"plane\", or schemes.path = \"external\"");
        vec![Need::new(Requirement::MovesInPlane, "gc.destination", why, help)]
    }
}
