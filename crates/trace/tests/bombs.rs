//! Little data that opens to much takes no memory. Alone in its process, because the peak is the process's.

use ssdlab_trace::{Format, Info, OnBadLine, Options, Reader, Source};
use std::io::{Cursor, Read};

/// Peak memory of this process in bytes, where the system says.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// A stream of `left` bytes that repeats one piece.
struct Repeated {
    piece: &'static [u8],
    at: usize,
    left: u64,
}

impl Read for Repeated {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = (self.piece.len() - self.at).min(buf.len()).min(self.left as usize);
        buf[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at = (self.at + n) % self.piece.len();
        self.left -= n as u64;
        Ok(n)
    }
}

fn zstd_bomb(piece: &'static [u8], bytes: u64) -> Vec<u8> {
    let mut out = zstd::stream::Encoder::new(Vec::new(), 1).expect("zstd");
    pour(piece, bytes, &mut out);
    out.finish().expect("zstd")
}

fn gzip_bomb(piece: &'static [u8], bytes: u64) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    pour(piece, bytes, &mut out);
    out.finish().expect("gzip")
}

fn xz_bomb(piece: &'static [u8], bytes: u64) -> Vec<u8> {
    let mut out = liblzma::write::XzEncoder::new(Vec::new(), 0);
    pour(piece, bytes, &mut out);
    out.finish().expect("xz")
}

fn pour(piece: &'static [u8], left: u64, out: &mut impl std::io::Write) {
    let mut from = Repeated { piece, at: 0, left };
    std::io::copy(&mut from, out).expect("packs");
}

#[test]
fn bombs_stay_small() {
    // Twice what may be taken.
    const SIZE: u64 = 128 << 20;
    let bombs = [
        ("blank lines", zstd_bomb(&[b'\n'; 4096], SIZE)),
        ("one line", zstd_bomb(&[b'1'; 4096], SIZE)),
        ("comments", zstd_bomb(b"# nothing\n", SIZE)),
        ("bad lines", zstd_bomb(b"a,b\n", SIZE / 8)),
        ("requests", zstd_bomb(b"128166372003061629,hm,0,Read,0,512,1\n", SIZE / 4)),
        ("blank lines in gzip", gzip_bomb(&[b'\n'; 4096], SIZE)),
        ("one line in gzip", gzip_bomb(&[b'1'; 4096], SIZE)),
        ("blank lines in xz", xz_bomb(&[b'\n'; 4096], SIZE)),
        ("one line in xz", xz_bomb(&[b'1'; 4096], SIZE)),
    ];
    let Some(before) = peak() else {
        eprintln!("no figure of peak memory on this system; skipped");
        return;
    };
    for (name, bytes) in bombs {
        assert!(bytes.len() < 2 << 20, "{name} packs to {} bytes", bytes.len());
        let options =
            Options { format: Some(Format::Msr), on_bad_line: OnBadLine::Skip(u64::MAX), ..Options::default() };
        let source = Source::from_reader(name, Cursor::new(bytes)).expect("opens");
        let mut reader = Reader::new(source, &options).expect("opens");
        let outcome = Info::read(&mut reader);
        assert_eq!(outcome.is_ok(), name == "requests", "{name}: {outcome:?}");
        let grown = peak().unwrap_or(0).saturating_sub(before);
        assert!(grown < 64 << 20, "{name} took {} MiB", grown >> 20);
    }
}
