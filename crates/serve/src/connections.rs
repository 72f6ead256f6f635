//! How connections come and go: of clients of the drive, and of those who control it.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::budget::locked;
use crate::socket::{Address, Listener, Socket};

/// Connections of a kind at a time. Further ones are closed at once.
const MOST: usize = 64;

/// A place where connections come in, and those that are there.
#[derive(Debug)]
pub(crate) struct Endpoint {
    address: Address,
    /// By number.
    sockets: Mutex<BTreeMap<u64, Socket>>,
}

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    /// That of clients.
    pub(crate) clients: Arc<Endpoint>,
    /// That of those who control the drive, if there is one.
    pub(crate) controls: Option<Arc<Endpoint>>,
    stops: AtomicBool,
    /// How often all clients have been cut off.
    era: AtomicU64,
}

impl Connections {
    pub(crate) fn new(clients: Address, controls: Option<Address>) -> Connections {
        let endpoint = |address| Arc::new(Endpoint { address, sockets: Mutex::default() });
        let (clients, controls) = (endpoint(clients), controls.map(endpoint));
        Connections { clients, controls, stops: AtomicBool::new(false), era: AtomicU64::new(0) }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        std::iter::once(&self.clients).chain(&self.controls)
    }

    /// Accepts nobody any more.
    pub(crate) fn close(&self) {
        if !self.stops.swap(true, Ordering::SeqCst) {
            self.all().for_each(|endpoint| endpoint.address.wake());
        }
    }

    /// Ends one direction or both of all connections.
    pub(crate) fn end(&self, how: Shutdown) {
        self.all().for_each(|endpoint| locked(&endpoint.sockets).values().for_each(|socket| socket.end(how)));
    }

    /// Ends the connections of clients, which may connect again.
    pub(crate) fn disconnect_clients(&self) {
        self.era.fetch_add(1, Ordering::SeqCst);
        locked(&self.clients.sockets).values().for_each(|socket| socket.end(Shutdown::Both));
    }

    /// See [`Connections::disconnect_clients`]. What a connection of an earlier era asks for is not served.
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::SeqCst)
    }

    /// Waits until all have left, but no longer than this: then their connections are ended.
    pub(crate) fn empty_within(&self, time: Duration) {
        let since = Instant::now();
        let is_empty = || self.all().all(|endpoint| locked(&endpoint.sockets).is_empty());
        while !is_empty() && since.elapsed() < time + Duration::from_secs(1) {
            if since.elapsed() > time {
                self.end(Shutdown::Both);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What serves a connection, given its number, in a thread of its own. It reports its errors itself.
pub(crate) type Serve = Arc<dyn Fn(u64, Socket) + Send + Sync>;

/// Accepts connections until [`Connections::close`]. `endpoint`: that of the listener. `tell` says things to the user.
pub(crate) fn accept_all(
    listener: &Listener,
    connections: &Connections,
    endpoint: &Arc<Endpoint>,
    serve: &Serve,
    tell: &dyn Fn(&str),
) {
    let mut number = 0;
    while !connections.stops.load(Ordering::SeqCst) {
        let Ok(socket) = listener.accept() else {
            // Too many files are open, as a rule.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        number += 1;
        if let Err(error) = accept(number, socket, connections, endpoint, serve) {
            tell(&format!("a client was not accepted: {error}"));
        }
    }
}

fn accept(
    number: u64,
    socket: Socket,
    connections: &Connections,
    endpoint: &Arc<Endpoint>,
    serve: &Serve,
) -> io::Result<()> {
    let copy = socket.copy()?;
    let mut all = locked(&endpoint.sockets);
    if connections.stops.load(Ordering::SeqCst) {
        return Ok(());
    }
    if all.len() >= MOST {
        return Err(io::Error::other(format!("there are {MOST} already")));
    }
    let (serve, own) = (Arc::clone(serve), Arc::clone(endpoint));
    let work = move || {
        serve(number, socket);
        // Nothing that the thread has outlives its entry: the server waits for the entries only.
        drop(serve);
        locked(&own.sockets).remove(&number);
    };
    std::thread::Builder::new().name("requests".into()).spawn(work)?;
    all.insert(number, copy);
    Ok(())
}
