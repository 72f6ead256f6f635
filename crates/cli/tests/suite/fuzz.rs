//! Runs every fuzz target briefly on seeds, mutated seeds and noise, the same on every run.
//!
//! `SSDLAB_FUZZ_SECONDS=600` gives each target that long; `SSDLAB_FUZZ_SEED=7` starts elsewhere; `SSDLAB_FUZZ_CORPUS=DIR`
//! writes the seeds as corpora for cargo-fuzz.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(dead_code)]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Default number of inputs and time per target.
const INPUTS: u64 = 3_000;
const MOMENT: Duration = Duration::from_millis(400);

/// SplitMix64: it only has to give the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Fragments that tend to break parsers.
const PIECES: [&str; 26] = [
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-1",
    "-0.0",
    "0",
    "1e9",
    "nan",
    "inf",
    "",
    "\n",
    "\r\n",
    "\"",
    "'",
    ",",
    ";",
    " ",
    "\t",
    "=",
    "[",
    "]",
    "{",
    "}",
    "0x1",
    "\u{feff}",
    "é\u{202e}",
];

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(12) == 0 {
        return (0..random.below(300)).map(|_| random.next() as u8).collect();
    }
    let mut bytes = seed.to_vec();
    for _ in 0..random.below(5) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(4) {
            0 => drop(bytes.splice(at..end, PIECES[random.below(PIECES.len())].bytes())),
            1 => bytes[at..end].iter_mut().for_each(|b| *b ^= 1 << random.below(8)),
            2 => {
                let doubled = bytes[at..end].repeat(1 + random.below(3));
                drop(bytes.splice(at..at, doubled));
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len() / 4 + 1)),
        }
    }
    bytes
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_target_for_a_moment() {
    let seconds = number("SSDLAB_FUZZ_SECONDS");
    let corpora = std::env::var_os("SSDLAB_FUZZ_CORPUS").map(std::path::PathBuf::from);
    for (name, target) in targets::TARGETS {
        let seeds = targets::seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        if let Some(corpora) = &corpora {
            let directory = corpora.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            for (i, seed) in seeds.iter().enumerate() {
                std::fs::write(directory.join(format!("seed-{i}")), seed).unwrap();
            }
        }
        let mut random = Random(number("SSDLAB_FUZZ_SEED").unwrap_or(1));
        let from = Instant::now();
        for i in 0.. {
            let enough = match seconds {
                Some(seconds) => from.elapsed() >= Duration::from_secs(seconds),
                None => i >= INPUTS || from.elapsed() >= MOMENT && i >= 20,
            };
            if enough {
                break;
            }
            let seed = &seeds[if i < seeds.len() as u64 { i as usize } else { random.below(seeds.len()) }];
            let input = if i < seeds.len() as u64 { seed.clone() } else { mutate(seed, &mut random) };
            let began = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
            assert!(outcome.is_ok(), "{name}: input {i} breaks it: b\"{}\"", input.escape_ascii());
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{name}: input {i} takes long: b\"{}\"",
                input.escape_ascii()
            );
        }
    }
}

/// Otherwise what is mutated would break at the seal.
#[test]
fn seeds_of_bundles_are_read_whole() {
    let seeds = targets::seeds("bundle");
    assert!(seeds.len() == 3 && seeds.iter().all(|seed| targets::whole_bundle(seed)));
}

#[test]
fn every_target_has_its_file() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap();
    for (name, _) in targets::TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
        assert!(directory.join(format!("fuzz_targets/{name}.rs")).exists(), "{name} has no file");
    }
}
