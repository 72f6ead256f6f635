//! Balanced redirected read: a read of a busy chip becomes reads of its parity group on idle chips.

use serde::{Deserialize, Serialize};

use crate::policy::{Queues, Redirect, Route};
use crate::schemes::scheme;
use crate::units::Nanos;

/// The value of AT, the arrival of the next request for a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NextArrival {
    /// The arrival of the next request in the window that uses the chip, or never.
    Window,
    /// Never: later requests have no influence.
    Never,
    /// Time 0: no read is redirected.
    Zero,
}

scheme! {
    /// Balanced redirected read (BRR): a page of a busy chip is reconstructed from the other pages of its parity group, on idle
    /// chips.
    ///
    /// It decides when a read comes, before the read's own chip is asked for room, and once more when a read is dispatched that has
    /// waited. The expected wait of each chip is WT = reads x L_r + programs x L_w, over the operations queued or in service there.
    /// Reads of the same request count as soon as they are placed. The read is redirected if for every other
    /// chip j of its group WT_j + L_r <= WT of its own chip, and WT_j + L_r <= AT_j - its request's arrival. AT_j is the arrival
    /// of the next request in the window that uses chip j (never, if there is none). A redirected read completes with the last of
    /// its `raid.group` - 1 reads; the exclusive or takes no time. Needs `raid.layout`. Only reads of a clean stripe with all its
    /// pages on flash are redirected. It helps where chips are unevenly loaded, and costs `raid.group` - 1 reads instead of one.
    /// Meant for `schemes.order = "piq"`; `order.chip_queue` is 8 by default.
    ///
    /// Liang et al., Balanced Redirected Read, section III.E, Algorithm 2. As printed, the direct read's own L_r is not added to
    /// its chip's wait, so a redirected read is faster by at least L_r.
    Brr {
        /// L_r; by default the array and bus time of a page read, and that of its way across an interconnect.
        read: Option<Nanos> = None,
        /// L_w; by default the same of a page program.
        program: Option<Nanos> = None,
        /// The value of AT: `"window"`, or `"never"` and `"zero"` to measure the effect of the second condition.
        next_arrival: NextArrival = NextArrival::Window,
    }
}

impl Route for Brr {
    fn redirects(&self) -> Option<&dyn Redirect> {
        Some(self)
    }

    fn chip_queue(&self) -> Option<u32> {
        Some(8)
    }
}

impl Redirect for Brr {
    fn redirect(&self, queues: &dyn Queues, arrival: Nanos, chip: u32, partners: &[u32]) -> bool {
        let read = self.read.unwrap_or_else(|| queues.read_time());
        let program = self.program.unwrap_or_else(|| queues.program_time());
        let wait = |chip: u32| {
            let [reads, programs] = queues.load(chip);
            Nanos(read.0 * u64::from(reads) + program.0 * u64::from(programs))
        };
        let next = |chip: u32| match self.next_arrival {
            NextArrival::Window => queues.next_arrival(chip),
            NextArrival::Never => Nanos::NEVER,
            NextArrival::Zero => Nanos::ZERO,
        };
        let own = wait(chip);
        partners.iter().all(|partner| {
            let redirected = wait(*partner) + read;
            redirected <= own && redirected.0 <= next(*partner).0.saturating_sub(arrival.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example: chips 0, 3 and 6 of nine with WT 100, 50 and 25, with the paper's literal 25 and 200 us
    /// (docs/papers/brr.md, C1).
    struct Example {
        next_6: Nanos,
    }

    impl Queues for Example {
        fn load(&self, chip: u32) -> [u32; 2] {
            [[4, 0], [2, 0], [1, 0]][chip as usize / 3]
        }
        fn next_arrival(&self, chip: u32) -> Nanos {
            if chip == 6 { self.next_6 } else { Nanos::NEVER }
        }
        fn read_time(&self) -> Nanos {
            Nanos(25_000)
        }
        fn program_time(&self) -> Nanos {
            Nanos(200_000)
        }
    }

    #[test]
    fn both_conditions_hold_for_every_partner() {
        let redirects = |brr: &Brr, next_6| brr.redirect(&Example { next_6 }, Nanos(1_000_000), 0, &[3, 6]);
        let brr = Brr::default();
        assert!(redirects(&brr, Nanos(1_060_000)), "75 <= 100, 50 <= 100, 50 <= 60");
        assert!(!redirects(&brr, Nanos(1_040_000)), "50 <= 40 fails");
        assert!(redirects(&brr, Nanos(1_050_000)), "equal is enough");
        assert!(redirects(&Brr { next_arrival: NextArrival::Never, ..Brr::default() }, Nanos(1_040_000)));
        assert!(!redirects(&Brr { next_arrival: NextArrival::Zero, ..Brr::default() }, Nanos::NEVER));
        assert!(
            !redirects(&Brr { read: Some(Nanos(60_000)), ..Brr::default() }, Nanos(1_060_000)),
            "120 + 60 <= 240, but 120 <= 60 fails"
        );
    }
}
