//! The bytes of the protocol: requests, replies, errors. All numbers are big-endian.

use std::io::{self, Read};

/// Smallest and preferred size of requests, in bytes, as they are announced.
pub const SECTOR_BYTES: u32 = 512;
/// See [`SECTOR_BYTES`].
pub const PREFERRED_BYTES: u32 = 4096;
/// Largest data of a request, in bytes. More is refused before memory is taken.
pub const MOST_BYTES: u32 = 32 << 20;

/// Flags of the transmission phase that the server announces: it has flags, and takes flushes, forced unit access, trims and writes
/// of zeros; a flush of one connection covers all.
pub const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
/// Flags of requests that are known: forced unit access, which every command may have, and "no hole" of writes of zeros.
const FUA: u16 = 1;
const NO_HOLE: u16 = 1 << 1;

/// What a client sees of the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name. The empty name always means it, too.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read data.
    Read,
    /// Write the data that follows the request.
    Write,
    /// End the connection when all is done.
    Disconnect,
    /// Put completed writes on flash.
    Flush,
    /// Discard data.
    Trim,
    /// Write zeros.
    WriteZeroes,
    /// Nothing that the server knows.
    Unknown,
}

/// Errors of replies, with their numbers in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The drive, or the file of its data, failed.
    Io = 5,
    /// The request is not one that the server takes.
    Invalid = 22,
    /// A write beyond the end, or no room for its data.
    NoSpace = 28,
    /// The drive has lost its power since the client connected.
    Shutdown = 108,
}

/// The fixed part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it asks for.
    pub command: Command,
    /// Its flags, known or not.
    pub flags: u16,
    /// What its reply repeats.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u32,
}

/// Reads a big-endian number.
///
/// # Errors
/// Those of `from`; it ends within the number.
pub(crate) fn u16_of(from: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    from.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

/// See [`u16_of`].
pub(crate) fn u32_of(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// See [`u16_of`].
pub(crate) fn u64_of(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

/// A violation of the protocol, after which nothing that follows can be understood.
pub(crate) fn violation(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Head {
    /// Reads a request, without the data of a write.
    ///
    /// # Errors
    /// Those of `from`, or the bytes are no request.
    pub fn read(from: &mut impl Read) -> io::Result<Head> {
        if u32_of(from)? != REQUEST_MAGIC {
            return Err(violation("a request does not begin with its magic number"));
        }
        let flags = u16_of(from)?;
        let command = match u16_of(from)? {
            0 => Command::Read,
            1 => Command::Write,
            2 => Command::Disconnect,
            3 => Command::Flush,
            4 => Command::Trim,
            6 => Command::WriteZeroes,
            _ => Command::Unknown,
        };
        Ok(Head { command, flags, cookie: u64_of(from)?, offset: u64_of(from)?, bytes: u32_of(from)? })
    }

    /// Whether it has forced unit access.
    pub fn fua(&self) -> bool {
        self.flags & FUA != 0
    }

    /// Bytes of data that follow it.
    pub fn data_bytes(&self) -> u32 {
        if self.command == Command::Write { self.bytes } else { 0 }
    }

    /// Bytes of memory that its data takes in the server, there or back.
    pub fn memory_bytes(&self) -> u32 {
        if matches!(self.command, Command::Read | Command::Write) { self.bytes } else { 0 }
    }

    /// Why a drive of so many bytes does not take it, if so.
    pub fn refusal(&self, capacity_bytes: u64) -> Option<Errno> {
        let known = FUA | if self.command == Command::WriteZeroes { NO_HOLE } else { 0 };
        if self.flags & !known != 0 || self.command == Command::Unknown {
            return Some(Errno::Invalid);
        }
        if self.command == Command::Flush {
            return (self.offset != 0 || self.bytes != 0).then_some(Errno::Invalid);
        }
        let whole = |number: u64| number.is_multiple_of(u64::from(SECTOR_BYTES));
        if self.bytes == 0 || !whole(self.offset) || !whole(u64::from(self.bytes)) || self.memory_bytes() > MOST_BYTES {
            return Some(Errno::Invalid);
        }
        let end = self.offset.checked_add(u64::from(self.bytes));
        let writes = matches!(self.command, Command::Write | Command::WriteZeroes);
        let beyond = if writes { Errno::NoSpace } else { Errno::Invalid };
        end.is_none_or(|end| end > capacity_bytes).then_some(beyond)
    }
}

/// The fixed part of a reply. The data of a read follows it.
pub fn reply(cookie: u64, error: Option<Errno>) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.map_or(0, |error| error as u32).to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}
