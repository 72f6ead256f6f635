//! Selective copy-back: pages without errors do not return across the interconnect (paper E).

use crate::policy::{Hop, Journey, MovePath, Need, Requirement, View};
use crate::schemes::scheme;
use crate::units::{BlockId, Ppn};

/// Where moved pages are checked for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// The CPU: a copy of every page crosses the interconnect once.
    Cpu,
    /// The flash controller: only pages with errors cross the interconnect.
    Fmc,
}

scheme! {
    /// Selective copy-back: clean pages are programmed from the flash controller's buffer.
    ///
    /// Without it, a moved page crosses the interconnect twice: to the CPU, whose ECC checks it, and back. Most pages have no
    /// errors. Here a page waits in the flash controller's (FMC) buffer while a copy goes to the CPU. If the copy is clean, the
    /// page is programmed from the buffer in the same task. Otherwise the corrected page returns across the interconnect, and its
    /// program is queued in Wgc like any other (Ahn et al., Electronics 13(23):4838, sections 3.1 and 3.2).
    ///
    /// A clean page costs tR + write and read of the buffer + one traversal + tPROG, 962,792 ns with the paper's times. A page
    /// with errors costs the round trip of `external`, 1,700,584 ns. With `check = "fmc"` the flash controller itself detects
    /// clean pages, which do not cross at all: 249,000 ns. The paper calls the CPU "bypassed" and yet sends every page there for
    /// analysis; its "roughly half" fits one traversal, the default (docs/papers/noc.md, E2).
    ///
    /// It helps where host requests wait for moved pages, and has no effect if victims hold no valid pages. Whether a page has
    /// errors is drawn once per moved page: `ecc.page_error_probability`, or `ecc.bit_error_rate`. With probability 1 it equals
    /// `external`, event for event. Needs an interconnect (`noc.model`). Meant for `schemes.collector = "queued"`, whose steps
    /// are the tasks of the queues Rgc and Wgc.
    Selective {
        /// Where pages are checked: `"cpu"` or `"fmc"`.
        check: Check = Check::Cpu,
    }
}

impl Selective {
    fn out(&self) -> Journey {
        match self.check {
            Check::Cpu => Journey::CHECKED,
            Check::Fmc => Journey::LOCAL,
        }
    }
}

impl MovePath for Selective {
    fn journey(&mut self, _: &View, _: Ppn, _: BlockId) -> Journey {
        self.out()
    }
    fn always(&self) -> Option<Journey> {
        Some(self.out())
    }
    fn back(&mut self, _: &View, _: Ppn, clean: bool) -> Hop {
        if clean { Hop::Fmc } else { Hop::Controller }
    }
    fn needs(&self) -> Vec<Need> {
        let why = "selective saves the way back across an interconnect, and there is none";
        let help = "set it to \"formula\" or \"array\", or use another path";
        vec![Need::new(Requirement::Interconnect, "noc.model", why, help)]
    }
}
