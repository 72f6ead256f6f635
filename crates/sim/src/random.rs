//! Random streams: one generator per purpose, all from one seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The stream of a purpose. Streams are independent, so a scheme that draws more numbers does not change the draws of another.
pub fn stream(seed: u64, purpose: &str) -> Xoshiro256PlusPlus {
    // FNV-1a of the purpose separates the streams; the generator's own seeding mixes the sum.
    let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(hash))
}

/// A uniform integer below `bound` (Lemire's multiply and shift). Its bias of bound / 2^64 is too small to be seen in any run.
#[inline(always)]
pub fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Spreads the bits of a number over 64 (the finaliser of SplitMix64). Two sums of such numbers agree by accident once in 2^64.
pub(crate) fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
