//! Random streams: one generator a purpose, all from one seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The stream of a purpose. Different purposes never share draws, so that a scheme that draws more does not change what
/// another one sees.
pub fn stream(seed: u64, purpose: &str) -> Xoshiro256PlusPlus {
    // FNV-1a of the purpose keeps streams apart; the generator's own seeding mixes the sum.
    let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(hash))
}

/// A uniform integer below `bound` (Lemire's multiply and shift; its bias of bound / 2^64 is beyond any run's reach).
#[inline(always)]
pub fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}
