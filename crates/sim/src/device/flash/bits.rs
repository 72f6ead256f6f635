//! Sets as bits of words.

/// Numbers of the set bits, ascending.
pub(super) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> {
    let less = |word: &u64| Some(word & word.wrapping_sub(1));
    let left = move |word: u64| std::iter::successors(Some(word), less).take_while(|word| *word != 0);
    words
        .iter()
        .zip((0..).step_by(64))
        .flat_map(move |(word, first)| left(*word).map(move |word| first + word.trailing_zeros()))
}

/// The first set bit at or after `from`, circular.
pub(super) fn next_set(words: &[u64], from: u32) -> u32 {
    let first = from as usize / 64;
    let masked = words[first] & (u64::MAX << (from % 64));
    if masked != 0 {
        return (first * 64) as u32 + masked.trailing_zeros();
    }
    let word = (1..=words.len())
        .map(|k| (first + k) % words.len())
        .find(|w| words[*w] != 0)
        .expect("a free block, as counted");
    (word * 64) as u32 + words[word].trailing_zeros()
}
