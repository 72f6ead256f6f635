//! A write-ahead log with two planted bugs, and a search for them in simulated worlds.
//!
//! The log appends a record to a ring of blocks and then writes a pointer to its end; a record is committed when the pointer is
//! flushed. Recovery reads the pointer and the records before it. The bugs:
//!
//! - flush: the pointer is written without a flush of the record before it, so that it can reach flash first.
//! - torn: recovery accepts a record without looking at its checksum, so that half a record counts.
//!
//! `cargo run --release --example wal -- --worlds 10000` runs the sound log in so many worlds, which must find nothing, then each bug
//! until it is found, and prints the seed and the shortest schedule that shows it.

use ssdlab_disk::{Config, Disk, DiskError, Seed};

/// A small drive with a volatile write cache whose order of write-backs is not that of writes.
const DRIVE: &str = "
geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, pages_per_block = 8 }
device = { over_provisioning = 0.5, power_loss_protection = false, queue_depth = 8 }
cache = { size = \"32KiB\", writeback = \"eager\" }
gc.reserve = 2
";

/// What the log leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// The flush between a record and its pointer.
    Flush,
    /// The look at a record's checksum.
    Torn,
}

const BLOCK: u64 = 4096;
/// A record is as long as three blocks, one more than the drive programs at a time, so that a cut can leave a part of it.
const RECORD: u64 = 3 * BLOCK;
const RECORDS: u64 = 10;

/// A record: number, checksum, and content.
fn record(number: u64, world: u64) -> Vec<u8> {
    let mut data = vec![0; RECORD as usize];
    for (i, word) in data.chunks_exact_mut(8).enumerate().skip(2) {
        word.copy_from_slice(&(number ^ world << 8 ^ (i as u64) << 40).to_le_bytes());
    }
    let sum = checksum(&data[16..], number);
    data[..8].copy_from_slice(&number.to_le_bytes());
    data[8..16].copy_from_slice(&sum.to_le_bytes());
    data
}

fn checksum(data: &[u8], number: u64) -> u64 {
    data.chunks_exact(8).fold(number + 1, |sum, word| {
        let word = u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]);
        (sum ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    })
}

fn number_at(data: &[u8], at: usize) -> u64 {
    data[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A disk whose power is cut after so many steps of the clock.
struct Machine {
    disk: Disk,
    steps_left: u64,
}

/// The power is gone.
struct Off;

impl Machine {
    /// Waits until all requests have completed.
    fn wait(&mut self) -> Result<Vec<u8>, Off> {
        let mut data = Vec::new();
        while let Some(at) = self.disk.next_event() {
            self.steps_left = self.steps_left.checked_sub(1).ok_or(Off)?;
            self.disk.advance_to(at);
            data.extend(self.disk.completions().into_iter().filter_map(|done| done.data).flatten());
        }
        Ok(data)
    }

    /// Appends a record and the pointer behind it. When it returns, the record is committed.
    fn append(&mut self, number: u64, world: u64, bug: Bug) -> Result<(), Off> {
        let refused = |error: DiskError| -> Off { panic!("the log fits on its drive: {error}") };
        self.disk.write(BLOCK + number * RECORD, &record(number, world)).map_err(refused)?;
        if bug != Bug::Flush {
            self.disk.flush().map_err(refused)?;
            self.wait()?;
        }
        let mut pointer = vec![0; BLOCK as usize];
        pointer[..8].copy_from_slice(&(number + 1).to_le_bytes());
        self.disk.write(0, &pointer).map_err(refused)?;
        self.disk.flush().map_err(refused)?;
        self.wait().map(drop)
    }
}

/// Reads from a drive that has just lost its power: none if the drive reports an error.
fn read(disk: &mut Disk, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    disk.read(offset, bytes).ok()?;
    while let Some(at) = disk.next_event() {
        disk.advance_to(at);
        if let Some(done) = disk.completions().pop() {
            return done.data;
        }
    }
    None
}

/// Reads a record block by block. A block that the drive cannot read counts as zeros: the checksum is to tell.
fn read_record(disk: &mut Disk, number: u64) -> Vec<u8> {
    let mut block = |i: u64| read(disk, BLOCK + number * RECORD + i * BLOCK, BLOCK).unwrap_or(vec![0; BLOCK as usize]);
    (0..RECORD / BLOCK).flat_map(&mut block).collect()
}

/// Recovers, and returns the committed records that it finds: those before the pointer and, as a log may roll forward, the one after
/// it if it is whole.
fn recover(disk: &mut Disk, world: u64, bug: Bug) -> Result<u64, String> {
    let pointer = read(disk, 0, BLOCK).map_or(0, |data| number_at(&data, 0));
    let mut found = 0;
    for number in 0..RECORDS {
        let data = read_record(disk, number);
        let sound = checksum(&data[16..], number) == number_at(&data, 8) && number_at(&data, 0) == number;
        // The planted bug: anything with a checksum counts.
        if !sound && (bug != Bug::Torn || number_at(&data, 8) == 0) {
            if number < pointer {
                return Err(format!("record {number} is committed, and not whole"));
            }
            break;
        }
        if data != record(number, world) {
            return Err(format!("record {number} was accepted, and is not what was written"));
        }
        found = number + 1;
    }
    Ok(found)
}

/// One world: appends until the power is cut after so many steps, then recovers. Returns what went wrong.
fn world(disk: Disk, seed: u64, steps: u64, bug: Bug) -> Option<String> {
    let mut machine = Machine { disk, steps_left: steps };
    let mut committed = 0;
    while committed < RECORDS && machine.append(committed, seed, bug).is_ok() {
        committed += 1;
    }
    machine.disk.power_cut();
    match recover(&mut machine.disk, seed, bug) {
        Err(what) => Some(what),
        Ok(found) if found < committed => Some(format!("{committed} records were committed, {found} are found")),
        Ok(_) => None,
    }
}

/// The first world in which something goes wrong.
#[derive(Debug)]
pub struct Found {
    /// The world's seed.
    pub seed: u64,
    /// What goes wrong.
    pub what: String,
    /// The fewest steps after which a power cut shows it, in this world.
    pub shortest: u64,
}

/// Runs worlds of a log until one goes wrong.
///
/// # Errors
/// The drive of the example is not one.
pub fn search(worlds: u64, bug: Bug) -> Result<Option<Found>, Box<dyn std::error::Error>> {
    let config: Config = DRIVE.parse()?;
    let fresh = Disk::new(config, Seed(1))?;
    // The cut comes after any number of steps of up to ten appends.
    let steps = |seed: u64| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 160;
    let failed = |seed: u64, steps: u64| world(fresh.clone(), seed, steps, bug);
    let first = (0..worlds).find_map(|seed| failed(seed, steps(seed)).map(|what| (seed, what)));
    Ok(first.map(|(seed, what)| {
        let shortest = (0..=steps(seed)).find(|steps| failed(seed, *steps).is_some()).unwrap_or(steps(seed));
        Found { seed, what, shortest }
    }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let worlds = match arguments.as_slice() {
        [] => 10_000,
        [name, number] if name == "--worlds" => number.parse()?,
        _ => return Err("usage: wal [--worlds N]".into()),
    };
    for bug in [Bug::None, Bug::Flush, Bug::Torn] {
        match (bug, search(worlds, bug)?) {
            (Bug::None, None) => println!("{worlds} worlds of the sound log: nothing is wrong"),
            (Bug::None, Some(found)) => return Err(format!("the sound log: {found:?}").into()),
            (_, None) => return Err(format!("{bug:?} was not found in {worlds} worlds").into()),
            (_, Some(Found { seed, what, shortest })) => {
                println!("{bug:?}: world {seed}: {what}; shortest schedule: power cut after {shortest} steps");
            }
        }
    }
    Ok(())
}
