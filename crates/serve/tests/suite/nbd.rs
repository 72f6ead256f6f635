//! A client that can also do what a good client does not.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZEROES: u16 = 6;
pub const FUA: u16 = 1;

pub const OPTION: &[u8; 8] = b"IHAVEOPT";

pub struct Nbd {
    pub stream: UnixStream,
    pub bytes: u64,
    pub flags: u16,
    /// Smallest, preferred and largest size of requests.
    pub sizes: [u32; 3],
    cookie: u64,
}

/// A connection after the greeting, with the client's flags sent.
pub fn greeted(socket: &Path, flags: u32) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    stream.write_all(&flags.to_be_bytes()).unwrap();
    stream
}

pub fn option(stream: &mut UnixStream, option: u32, data: &[u8]) {
    let mut bytes = OPTION.to_vec();
    bytes.extend(option.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    stream.write_all(&bytes).unwrap();
}

/// An answer to an option: its kind and data.
pub fn answer(stream: &mut UnixStream) -> io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    assert_eq!(head[..8], 0x0003_e889_0455_65a9_u64.to_be_bytes());
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    stream.read_exact(&mut data)?;
    Ok((number(12), data))
}

/// The data of INFO and GO.
pub fn name(name: &str) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend([0, 1, 0, 3]);
    data
}

pub fn head(command: u16, flags: u16, cookie: u64, offset: u64, bytes: u32) -> Vec<u8> {
    let mut head = 0x2560_9513_u32.to_be_bytes().to_vec();
    head.extend(flags.to_be_bytes());
    head.extend(command.to_be_bytes());
    head.extend(cookie.to_be_bytes());
    head.extend(offset.to_be_bytes());
    head.extend(bytes.to_be_bytes());
    head
}

impl Nbd {
    pub fn connect(socket: &Path) -> Nbd {
        let mut stream = greeted(socket, 3);
        option(&mut stream, 7, &name(""));
        let mut nbd = Nbd { stream, bytes: 0, flags: 0, sizes: [0; 3], cookie: 0 };
        loop {
            let (kind, data) = answer(&mut nbd.stream).unwrap();
            match (kind, data.get(..2)) {
                (1, _) => return nbd,
                (3, Some([0, 0])) => {
                    nbd.bytes = u64::from_be_bytes(data[2..10].try_into().unwrap());
                    nbd.flags = u16::from_be_bytes(data[10..12].try_into().unwrap());
                }
                (3, Some([0, 3])) => {
                    let size = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
                    nbd.sizes = [size(2), size(6), size(10)];
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Sends a request. Returns its cookie.
    pub fn send(&mut self, command: u16, flags: u16, offset: u64, bytes: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let mut all = head(command, flags, self.cookie, offset, bytes);
        all.extend(data);
        self.stream.write_all(&all).unwrap();
        self.cookie
    }

    /// Cookie and error of the next reply.
    pub fn receive(&mut self) -> io::Result<(u64, u32)> {
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        assert_eq!(reply[..4], 0x6744_6698_u32.to_be_bytes());
        let error = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        Ok((u64::from_be_bytes(reply[8..].try_into().unwrap()), error))
    }

    /// Data of a read whose reply has just been received.
    pub fn data(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.stream.read_exact(&mut data).unwrap();
        data
    }

    /// A request without data, and its error.
    pub fn call(&mut self, command: u16, flags: u16, offset: u64, bytes: u32) -> u32 {
        let cookie = self.send(command, flags, offset, bytes, &[]);
        let (own, error) = self.receive().unwrap();
        assert_eq!(own, cookie);
        error
    }

    pub fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> u32 {
        let cookie = self.send(WRITE, flags, offset, data.len() as u32, data);
        let (own, error) = self.receive().unwrap();
        assert_eq!(own, cookie);
        error
    }

    pub fn read(&mut self, offset: u64, bytes: u32) -> Result<Vec<u8>, u32> {
        match self.call(READ, 0, offset, bytes) {
            0 => Ok(self.data(bytes as usize)),
            error => Err(error),
        }
    }
}
