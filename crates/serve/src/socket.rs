//! Where the server listens, and its connections.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ssdlab_lab::error::{Error, Result};

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// An address and port of the network; port 0 is any free one.
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = String;

    /// `PORT` of the loopback interface, or `ADDRESS:PORT`.
    fn from_str(text: &str) -> std::result::Result<Address, String> {
        let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = port.or_else(|_| text.parse()).map_err(|_| "expected a port such as 10809, or ADDRESS:PORT")?;
        Ok(Address::Tcp(address))
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn copy(&self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
        })
    }

    /// How long a read may wait for bytes.
    pub(crate) fn read_within(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_read_timeout(time),
            Socket::Tcp(stream) => stream.set_read_timeout(time),
        }
    }

    /// Ends one direction or both. A connection that has ended already is no error.
    pub(crate) fn end(&self, how: Shutdown) {
        let _ = match self {
            Socket::Unix(stream) => stream.shutdown(how),
            Socket::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.read(into),
            Socket::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.write(bytes),
            Socket::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum Kind {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A server's socket. That of the file system is removed at the end.
#[derive(Debug)]
pub(crate) struct Listener {
    kind: Kind,
    /// Where it listens, with the port that the system chose.
    pub(crate) address: Address,
}

impl Listener {
    /// Listens. A socket of a server that is gone is replaced.
    ///
    /// # Errors
    /// The address can't be used, or another server has it.
    pub(crate) fn bind(address: &Address) -> Result<Listener> {
        match address {
            Address::Unix(path) => {
                let cannot = |error: io::Error| Error::file("listen at", path, &error);
                if is_socket(path) {
                    if UnixStream::connect(path).is_ok() {
                        let message = format!("a server listens at {} already", path.display());
                        return Err(Error::usage(message).help("end it, or name another socket with --unix"));
                    }
                    std::fs::remove_file(path).map_err(cannot)?;
                }
                let kind = Kind::Unix(UnixListener::bind(path).map_err(cannot)?);
                Ok(Listener { kind, address: address.clone() })
            }
            Address::Tcp(wanted) => {
                let cannot = |error: io::Error| Error::file("listen at", Path::new(&wanted.to_string()), &error);
                let listener = TcpListener::bind(wanted).map_err(cannot)?;
                let address = Address::Tcp(listener.local_addr().map_err(cannot)?);
                Ok(Listener { kind: Kind::Tcp(listener), address })
            }
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match &self.kind {
            Kind::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Kind::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.file_type().is_socket())
}

impl Address {
    /// Connects, so that a server that waits for clients looks up.
    pub(crate) fn wake(&self) {
        match self {
            Address::Unix(path) => drop(UnixStream::connect(path)),
            Address::Tcp(address) => {
                let mut own = *address;
                if own.ip().is_unspecified() {
                    own.set_ip(Ipv4Addr::LOCALHOST.into());
                }
                drop(TcpStream::connect_timeout(&own, Duration::from_secs(1)));
            }
        }
    }

    /// Its URI for clients.
    pub fn uri(&self) -> String {
        match self {
            Address::Unix(path) => format!("nbd+unix:///?socket={}", path.display()),
            Address::Tcp(address) => format!("nbd://{address}"),
        }
    }

    /// Whether other machines may reach it.
    pub fn is_open(&self) -> bool {
        matches!(self, Address::Tcp(address) if !address.ip().is_loopback())
    }
}
