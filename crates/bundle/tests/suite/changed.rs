//! A bundle that has changed on its way.

use rand_xoshiro::rand_core::Rng;
use ssdlab_bundle::seal::SEAL;
use ssdlab_bundle::unpack::{Bundle, MOST};
use ssdlab_bundle::verify::{How, verify};
use ssdlab_lab::error::{Class, Error};
use ssdlab_lab::output::Folder;
use ssdlab_sim::random;

use crate::common::small;
use crate::hostile::sealed;

fn refused(bytes: &[u8], how: &How) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b");
    std::fs::write(&path, bytes).unwrap();
    let error = verify(&path, how, &|_, _| {}).map(|_| ()).expect_err("it is taken");
    assert_eq!(error.class(), Class::Trace, "{error}");
    error
}

fn many() -> u64 {
    if std::env::var_os("SSDLAB_LONG").is_some() { 1_000 } else { 100 }
}

/// The seed of the draws: another one each day of the campaign, if it says so.
fn seed() -> u64 {
    std::env::var("SSDLAB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// Each drawn bit of the file, the seal and what decompressors ignore included. 1,000 of them with `SSDLAB_LONG`.
#[test]
fn no_flipped_bit_is_overlooked() {
    let (whole, seed) = (small(), seed());
    println!("seed {seed} (SSDLAB_SEED), {} bits of {} bytes", many(), whole.len());
    let mut draws = random::stream(seed, "flipped bits");
    // The ends are always among them: the magic numbers, and the end of the seal.
    let mut bits: Vec<u64> = vec![0, 33, 40, 8 * (whole.len() - SEAL) as u64, 8 * whole.len() as u64 - 1];
    while (bits.len() as u64) < many() {
        bits.push(draws.next_u64() % (8 * whole.len() as u64));
    }
    for bit in bits {
        let mut bytes = whole.to_vec();
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        let error = refused(&bytes, &How::default()).to_string();
        assert!(error.contains("has changed"), "bit {bit} (seed {seed}): {error}");
    }
}

/// Below the seal: bits of the archive itself, with a new seal. Headers, paddings and contents are all compared.
#[test]
fn no_flipped_bit_below_the_seal_is_overlooked() {
    let (whole, seed) = (small(), seed());
    let body = &whole[..whole.len() - SEAL];
    let archive = zstd::decode_all(body).unwrap();
    println!("seed {seed} (SSDLAB_SEED), {} bits of {} bytes", many(), archive.len());
    let mut draws = random::stream(seed, "bits of the archive");
    for _ in 0..many() {
        let bit = draws.next_u64() % (8 * archive.len() as u64);
        let mut bytes = archive.clone();
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        std::fs::write(&path, sealed(&bytes)).unwrap();
        let read = Bundle::open(&path, None).and_then(|bundle| bundle.files(MOST, &mut |_, _| Ok(())));
        // What the manifest says of points and titles is guarded by the seal and the digest alone.
        let header_and_text = 512 + u64::from_str_radix(std::str::from_utf8(&archive[124..135]).unwrap(), 8).unwrap();
        assert!(read.is_err() || bit / 8 < header_and_text, "bit {bit} (seed {seed}) of the archive");
    }
}

#[test]
fn a_file_that_is_cut_or_longer_is_refused() {
    let whole = small();
    for cut in [0, 1, SEAL - 1, SEAL, whole.len() / 2, whole.len() - SEAL, whole.len() - 1] {
        let error = refused(&whole[..cut], &How::default()).to_string();
        assert!(error.contains("seal of a bundle"), "{cut}: {error}");
    }
    refused(&[whole, b"\n"].concat(), &How::default());
    refused(&[whole, whole].concat(), &How::default());
    refused(
        b"no bundle at all, but long enough to have a seal at its end, if it had one: then some more words here",
        &How::default(),
    );
}

/// With a new seal, any content has one that holds. The published digest shows that it is another file.
#[test]
fn the_published_digest_decides() {
    let whole = small();
    let archive = zstd::decode_all(&whole[..whole.len() - SEAL]).unwrap();
    let other = sealed(&archive);
    assert_ne!(other, whole, "another level of compression");
    let digest = Some(ssdlab_bundle::seal::digest(whole));
    let error = refused(&other, &How { digest: digest.clone(), ..How::default() }).to_string();
    assert!(error.contains("its SHA-256 is"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b");
    for (bytes, digest) in [(whole, digest), (&other[..], None)] {
        std::fs::write(&path, bytes).unwrap();
        let bundle = Bundle::open(&path, digest.as_deref()).unwrap();
        bundle.extract(MOST, &Folder::scratch().unwrap()).unwrap();
    }
}
