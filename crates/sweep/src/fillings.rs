//! Fillings on disk (`--fill-cache`): a large device is filled once, by the first of many processes, and read by the others.
//!
//! A filling is named by everything that it depends on: the program's version, the keys of the configuration that matter, the seed
//! and the level of checks. A file that is damaged, cut short or not that of its name is removed, and the device is filled. Results
//! do not depend on the folder.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ssdlab_sim::config::Config;
use ssdlab_sim::{Check, ConfigError, Filled};

use crate::points::VERSION;
use ssdlab_lab::drive::{Device, interrupted};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::output::Output;

const HEAD: &str = "ssdlab.filling/1\n";
/// Bytes of the hash at its end.
const HASH: usize = blake3::OUT_LEN;
/// Level of compression: fast, since maps hardly shrink.
const LEVEL: i32 = 1;

/// A folder of fillings.
#[derive(Clone, Debug)]
pub struct Fillings {
    folder: PathBuf,
    least: Duration,
}

/// Asked whether to go on.
pub type GoOn<'g> = &'g mut dyn FnMut() -> ControlFlow<()>;

impl Fillings {
    /// Fillings that take less than this are made again: reading them would save little.
    pub const LEAST: Duration = Duration::from_secs(5);

    /// The folder, which is made if it does not exist; fillings that took at least so long are kept.
    ///
    /// # Errors
    /// It can't be made.
    pub fn open(folder: &Path, least: Duration) -> Result<Fillings> {
        let made = std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
        Ok(Fillings { folder: made.map_err(|error| Error::file("write", folder, &error))?, least })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a filling, and its key; none if it can't be kept.
    fn file(&self, config: &Config, seed: u64, check: Check) -> Option<(PathBuf, String)> {
        let depends = Filled::kept_key(config, seed, check)?;
        let key = blake3::hash(format!("version {VERSION}\n{depends}").as_bytes()).to_hex().to_string();
        Some((self.folder.join(format!("{VERSION}-{key}.filling")), key))
    }

    /// A filled device: from its file if there is a good one, otherwise from `fill`, whose filling is kept if it took long.
    ///
    /// # Errors
    /// Those of `fill`, and `refuse` of a rule that the configuration breaks. A filling can't be written, or `go_on` stopped it.
    pub fn device(
        &self,
        config: &Config,
        (seed, check): (u64, Check),
        go_on: GoOn<'_>,
        refuse: impl FnOnce(ConfigError) -> Error,
        fill: impl FnOnce(GoOn<'_>) -> Result<Device>,
    ) -> Result<Device> {
        let Some((path, key)) = self.file(config, seed, check) else { return fill(go_on) };
        if !ssdlab_lab::files::is_special(&path)
            && let Ok(file) = File::open(&path)
        {
            match read(file, &key, config, (seed, check), go_on) {
                Ok(Ok(device)) => return Ok(device),
                Ok(Err(error)) => return Err(refuse(error)),
                Err(error) if stopped(&error) => return Err(interrupted()),
                // The file is of no use, whatever is wrong with it.
                Err(_) => drop(std::fs::remove_file(&path)),
            }
        }
        let from = Instant::now();
        let mut device = fill(go_on)?;
        if from.elapsed() >= self.least {
            write(&path, &key, &mut device, go_on)?;
        }
        Ok(device)
    }
}

/// What a read or write ends with that is stopped.
#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

fn stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

/// Bytes that pass through: each part asks whether to go on, and is hashed.
struct Passing<'p, T> {
    through: T,
    go_on: GoOn<'p>,
    hasher: blake3::Hasher,
}

impl<'p, T> Passing<'p, T> {
    fn new(through: T, go_on: GoOn<'p>) -> Self {
        Passing { through, go_on, hasher: blake3::Hasher::new() }
    }

    fn ask(&mut self) -> io::Result<()> {
        if (self.go_on)().is_break() { Err(io::Error::other(Stopped)) } else { Ok(()) }
    }
}

impl<T: Read> Read for Passing<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ask()?;
        let n = self.through.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}

impl<T: Write> Write for Passing<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.ask()?;
        let n = self.through.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.through.flush()
    }
}

/// Writes a file: the head, the key, the compressed filling, and the hash of all of it.
fn write(path: &Path, key: &str, device: &mut Device, go_on: GoOn<'_>) -> Result<()> {
    let mut file = Output::internal(path)?;
    let mut passing = Passing::new(&mut file, go_on);
    let written = passing.write_all(format!("{HEAD}{key}\n").as_bytes()).and_then(|()| {
        let mut packed = zstd::stream::write::Encoder::new(&mut passing, LEVEL)?;
        device.ssd.write_filling(&mut packed)?;
        packed.finish().map(drop)
    });
    let hash = passing.hasher.finalize();
    match written.and_then(|()| file.write_all(hash.as_bytes())) {
        Ok(()) => file.finish()?.publish(),
        Err(error) if stopped(&error) => Err(interrupted()),
        Err(error) => Err(Error::file("write", path, &error)),
    }
}

/// Reads a file whose hash is right: only then are its bytes those of a filling, and their lengths to be trusted.
fn read(
    mut file: File,
    key: &str,
    config: &Config,
    (seed, check): (u64, Check),
    go_on: GoOn<'_>,
) -> io::Result<std::result::Result<Device, ConfigError>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let head = format!("{HEAD}{key}\n");
    let content = file.metadata()?.len().checked_sub(HASH as u64).ok_or_else(|| wrong("too short"))?;
    let mut hashed = Passing::new((&mut file).take(content), &mut *go_on);
    let mut buffer = vec![0; 1 << 16];
    while hashed.read(&mut buffer)? > 0 {}
    let hash = hashed.hasher.finalize();
    let mut expected = [0; HASH];
    file.read_exact(&mut expected)?;
    if hash != expected {
        return Err(wrong("damaged"));
    }
    file.seek(SeekFrom::Start(0))?;
    let mut content = Passing::new(file.take(content), go_on);
    let mut found = vec![0; head.len()];
    content.read_exact(&mut found)?;
    if found != head.as_bytes() {
        return Err(wrong("another filling"));
    }
    let mut unpacked = BufReader::with_capacity(1 << 16, zstd::stream::read::Decoder::new(content)?);
    let device = match Device::read_filling(config, seed, check, &mut unpacked) {
        Ok(device) => device?,
        Err(error) => return Ok(Err(error)),
    };
    // A filling ends where the file does.
    if unpacked.read(&mut [0])? > 0 { Err(wrong("too long")) } else { Ok(Ok(device)) }
}
