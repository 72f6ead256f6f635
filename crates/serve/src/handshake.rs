//! The handshake: fixed newstyle, with the options EXPORT_NAME, ABORT, LIST, INFO and GO.

use std::io::{self, Read, Write};

use crate::wire::{
    Export, MOST_BYTES, PREFERRED_BYTES, SECTOR_BYTES, TRANSMISSION_FLAGS, u16_of, u32_of, u64_of, violation,
};

const GREETING: &[u8; 8] = b"NBDMAGIC";
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Flags of both sides: the fixed newstyle, and no zeros after the answer to EXPORT_NAME.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 1 << 1;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFORMATION: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;
const TOO_BIG: u32 = 1 << 31 | 9;

/// Bytes of an option's data, at most.
const MOST_OPTION_BYTES: u32 = 4096;
/// Options of a client, at most: a client that never chooses costs its connection.
const MOST_OPTIONS: usize = 256;

/// Greets a client and answers its options. True: it has chosen the export, and requests follow. False: it has ended the handshake.
///
/// # Errors
/// Those of the stream, or the client violates the protocol.
pub fn handshake(stream: &mut (impl Read + Write), export: &Export) -> io::Result<bool> {
    let mut greeting = GREETING.to_vec();
    greeting.extend(OPTION_MAGIC.to_be_bytes());
    greeting.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    stream.write_all(&greeting)?;
    let flags = u32_of(stream)?;
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 || flags & u32::from(FIXED_NEWSTYLE) == 0 {
        return Err(violation("the client's flags are not those of the fixed newstyle handshake"));
    }
    for _ in 0..MOST_OPTIONS {
        if u64_of(stream)? != OPTION_MAGIC {
            return Err(violation("an option does not begin with its magic number"));
        }
        let (option, bytes) = (u32_of(stream)?, u32_of(stream)?);
        if bytes > MOST_OPTION_BYTES {
            // EXPORT_NAME has no answer but the export.
            if option != EXPORT_NAME {
                answer(stream, option, TOO_BIG, b"an option has at most 4096 bytes")?;
            }
            return Err(violation("an option is too long"));
        }
        let mut data = vec![0; bytes as usize];
        stream.read_exact(&mut data)?;
        match option {
            EXPORT_NAME if is_named(export, &data) => {
                let mut chosen = export.bytes.to_be_bytes().to_vec();
                chosen.extend(TRANSMISSION_FLAGS.to_be_bytes());
                chosen.resize(if flags & u32::from(NO_ZEROES) == 0 { 134 } else { 10 }, 0);
                stream.write_all(&chosen)?;
                return Ok(true);
            }
            EXPORT_NAME => return Err(violation("there is no export of this name")),
            ABORT => {
                answer(stream, option, ACK, &[])?;
                return Ok(false);
            }
            LIST if data.is_empty() => {
                let mut name = (export.name.len() as u32).to_be_bytes().to_vec();
                name.extend(export.name.as_bytes());
                answer(stream, option, SERVER, &name)?;
                answer(stream, option, ACK, &[])?;
            }
            LIST => answer(stream, option, INVALID, b"a list takes no data")?,
            INFO | GO => match wanted(&data) {
                None => {
                    answer(stream, option, INVALID, b"the option does not hold a name and requests for information")?
                }
                Some(name) if !is_named(export, name) => {
                    answer(stream, option, UNKNOWN, b"there is no export of this name")?;
                }
                Some(_) => {
                    inform(stream, option, export)?;
                    if option == GO {
                        return Ok(true);
                    }
                }
            },
            _ => answer(stream, option, UNSUPPORTED, b"the server does not know this option")?,
        }
    }
    Err(violation("the client sends option after option"))
}

fn is_named(export: &Export, name: &[u8]) -> bool {
    name.is_empty() || name == export.name.as_bytes()
}

/// The name in the data of INFO and GO; none if it is not well formed. All information is given, whether or not it is asked for.
fn wanted(data: &[u8]) -> Option<&[u8]> {
    let mut rest = data;
    let length = u32_of(&mut rest).ok()? as usize;
    let name = rest.get(..length)?;
    let mut rest = &rest[length..];
    let count = usize::from(u16_of(&mut rest).ok()?);
    (rest.len() == 2 * count).then_some(name)
}

/// Size, flags and sizes of requests, then the end of the answer.
fn inform(stream: &mut impl Write, option: u32, export: &Export) -> io::Result<()> {
    let mut about = 0u16.to_be_bytes().to_vec();
    about.extend(export.bytes.to_be_bytes());
    about.extend(TRANSMISSION_FLAGS.to_be_bytes());
    answer(stream, option, INFORMATION, &about)?;
    let mut sizes = 3u16.to_be_bytes().to_vec();
    [SECTOR_BYTES, PREFERRED_BYTES, MOST_BYTES].iter().for_each(|size| sizes.extend(size.to_be_bytes()));
    answer(stream, option, INFORMATION, &sizes)?;
    answer(stream, option, ACK, &[])
}

fn answer(stream: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut bytes = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
    [option, kind, data.len() as u32].iter().for_each(|number| bytes.extend(number.to_be_bytes()));
    bytes.extend(data);
    stream.write_all(&bytes)
}
