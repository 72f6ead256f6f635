//! Paths that are the same for every page.

use crate::policy::{Journey, MovePath, Need, Requirement, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

scheme! {
    /// External data move (EDM): every moved page goes out to the controller and back.
    ///
    /// It crosses the channel twice, so the controller's ECC checks every page: tR + 2 tX + tPROG per page (paper D, section 2).
    /// The destination may be any plane that `gc.destination` allows.
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
    /// It is read into the plane's page register and programmed from there: tR + tPROG per page, without using the channel. No
    /// ECC checks the page, so its bit errors move with it (paper D). Needs a destination in the victim's plane.
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
