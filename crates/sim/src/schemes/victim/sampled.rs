//! Victims drawn at random: any closed block, one that frees a page, or the best of d.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::policy::{Need, Requirement, Victim, View};
use crate::random;
use crate::schemes::{AnyVictim, scheme};
use crate::units::{BlockId, PlaneId};

impl AnyVictim {
    /// Whether a choice may depend on earlier ones, of any plane: the policy draws numbers, or is not known here.
    pub(crate) fn remembers(&self) -> bool {
        matches!(self, AnyVictim::DChoices(_) | AnyVictim::Random(_) | AnyVictim::RandomPlus(_) | AnyVictim::Outside(_))
    }

    /// The generator that the policy draws from; none if it draws nothing.
    pub(crate) fn generator(&mut self) -> Option<&mut Xoshiro256PlusPlus> {
        match self {
            AnyVictim::DChoices(policy) => Some(&mut policy.rng),
            AnyVictim::Random(policy) => Some(&mut policy.rng),
            AnyVictim::RandomPlus(policy) => Some(&mut policy.rng),
            AnyVictim::Greedy(_) | AnyVictim::Fifo(_) | AnyVictim::CostBenefit(_) | AnyVictim::Outside(_) => None,
        }
    }
}

/// A closed block of the plane, uniformly at random; none if no block is closed.
fn draw(rng: &mut Xoshiro256PlusPlus, view: &View, plane: PlaneId, frees: bool) -> Option<BlockId> {
    let fits = |block: BlockId| {
        view.flash.is_closed(block) && (!frees || u32::from(view.flash.kept(block)) < view.geometry.data_pages)
    };
    let blocks = view.geometry.blocks(plane);
    // Nearly every block of a plane in use is closed, so a few draws find one. An almost empty plane is searched in order.
    for _ in 0..64 {
        let block = BlockId((blocks.start + random::below(rng, blocks.len() as u64) as usize) as u32);
        if fits(block) {
            return Some(block);
        }
    }
    let count = blocks.clone().filter(|b| fits(BlockId(*b as u32))).count();
    let nth = if count == 0 { return None } else { random::below(rng, count as u64) as usize };
    blocks.map(|b| BlockId(b as u32)).filter(|b| fits(*b)).nth(nth)
}

scheme! {
    /// d-choices, the randomised greedy algorithm (RGA): of `d` closed blocks drawn at random, the one with the fewest valid
    /// pages; ties to the first drawn.
    ///
    /// Nearly greedy at d = 10, without examining every block (Van Houdt 2013); d = 1 equals `random`. Drawn with replacement.
    DChoices {
        /// Blocks drawn.
        d: u32 = 10,
    }
    state {
        /// Own stream.
        rng: Xoshiro256PlusPlus = random::stream(0, "victim")
    }
}

impl Victim for DChoices {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        let mut best = draw(&mut self.rng, view, plane, false)?;
        for _ in 1..self.d {
            let other = draw(&mut self.rng, view, plane, false)?;
            if view.flash.kept(other) < view.flash.kept(best) {
                best = other;
            }
        }
        Some(best)
    }
    fn needs(&self) -> Vec<Need> {
        if self.d > 0 {
            return Vec::new();
        }
        let why = "d-choices with d = 0 draws no block";
        vec![Need::new(Requirement::OtherKnobs, "schemes.victim", why, "use d = 1 or more")]
    }
    fn seed(&mut self, seed: u64) {
        self.rng = random::stream(seed, "victim");
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}

scheme! {
    /// Random: a closed block, uniformly.
    ///
    /// Write amplification is 1 / spare for uniform traffic, for every block size. It may select a fully valid block.
    Random {}
    state {
        /// Own stream.
        rng: Xoshiro256PlusPlus = random::stream(0, "victim")
    }
}

impl Victim for Random {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        draw(&mut self.rng, view, plane, false)
    }
    fn seed(&mut self, seed: u64) {
        self.rng = random::stream(seed, "victim");
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}

scheme! {
    /// Random+: a closed block that is not fully valid, uniformly.
    RandomPlus {}
    state {
        /// Own stream.
        rng: Xoshiro256PlusPlus = random::stream(0, "victim")
    }
}

impl Victim for RandomPlus {
    fn pick(&mut self, view: &View, plane: PlaneId) -> Option<BlockId> {
        draw(&mut self.rng, view, plane, true)
    }
    fn seed(&mut self, seed: u64) {
        self.rng = random::stream(seed, "victim");
    }

    fn stays_in_plane(&self) -> bool {
        true
    }
}
