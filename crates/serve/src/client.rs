//! A connection: one thread reads requests, one writes replies.

use std::fs::File;
use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::budget::Budget;
use crate::connections::Connections;
use crate::handshake::handshake;
use crate::lag::Lags;
use crate::message::{Asked, Message, Reply, Return};
use crate::socket::Socket;
use crate::wire::{Command, Errno, Export, Head, reply};

/// How long a client may be silent in the handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) export: Export,
    pub(crate) lags: Arc<Lags>,
    /// The file that flushes sync, if data is in one.
    pub(crate) file: Option<Arc<File>>,
    pub(crate) connections: Arc<Connections>,
    /// Says something to the user.
    pub(crate) tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Serves a client until it leaves. What it does wrong ends its own connection.
///
/// # Errors
/// Those of the connection, or the client violates the protocol.
pub(crate) fn serve(mut socket: Socket, shared: &Arc<Shared>, drive: Sender<Message>) -> io::Result<()> {
    let era = shared.connections.era();
    socket.read_within(Some(HANDSHAKE))?;
    if !handshake(&mut socket, &shared.export)? {
        return Ok(());
    }
    socket.read_within(None)?;
    let (replies, to_write) = channel();
    let budget = Arc::new(Budget::default());
    let writer = {
        let (out, shared, budget) = (socket.copy()?, Arc::clone(shared), Arc::clone(&budget));
        let write = move || write_all(out, &to_write, &shared, &budget);
        std::thread::Builder::new().name("replies".into()).spawn(write)?
    };
    let mut requests = Requests { input: BufReader::with_capacity(1 << 16, socket), budget, era, replies, drive };
    let read = requests.read_all(shared.export.bytes);
    let Requests { input, replies, drive, .. } = requests;
    drop((replies, drive));
    // The writer ends when the last request has its reply.
    let _ = writer.join();
    input.get_ref().end(Shutdown::Both);
    read
}

/// The requests of a client.
struct Requests {
    input: BufReader<Socket>,
    budget: Arc<Budget>,
    era: u64,
    replies: Sender<Reply>,
    drive: Sender<Message>,
}

impl Requests {
    /// Hands all requests over, until the client or the server ends the connection.
    fn read_all(&mut self, capacity_bytes: u64) -> io::Result<()> {
        loop {
            let head = match Head::read(&mut self.input) {
                Ok(head) if head.command == Command::Disconnect => return Ok(()),
                Ok(head) => head,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            };
            let refusal = head.refusal(capacity_bytes);
            let budget_bytes = if refusal.is_some() { 0 } else { u64::from(head.memory_bytes()) };
            self.budget.take(budget_bytes);
            let back = Return { cookie: head.cookie, budget_bytes, to: self.replies.clone() };
            let mut payload = self.input.by_ref().take(u64::from(head.data_bytes()));
            if let Some(error) = refusal {
                io::copy(&mut payload, &mut io::sink())?;
                back.send(Some(error), Vec::new(), false, None);
                continue;
            }
            // Memory is taken as bytes arrive.
            let mut data = Vec::new();
            payload.read_to_end(&mut data)?;
            if data.len() < head.data_bytes() as usize {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (command, offset, bytes) = (head.command, head.offset, u64::from(head.bytes));
            let asked = Asked { command, offset, bytes, fua: head.fua(), data, era: self.era, back };
            if self.drive.send(Message::Request(asked)).is_err() {
                return Ok(());
            }
        }
    }
}

/// Writes replies until no request is left. After an error the client gets none any more, but its requests are accounted for.
fn write_all(mut out: Socket, replies: &Receiver<Reply>, shared: &Shared, budget: &Budget) {
    let mut is_open = true;
    for Reply { cookie, mut error, data, syncs, due, budget_bytes } in replies {
        if let (true, Some(file)) = (syncs && error.is_none(), &shared.file) {
            error = file.sync_data().err().map(|_| Errno::Io);
        }
        let data = if error.is_some() { &[][..] } else { &data[..] };
        is_open = is_open && write_both(&mut out, &reply(cookie, error), data).is_ok();
        if !is_open {
            // The other thread stops reading, too.
            out.end(Shutdown::Both);
        } else if due.is_some_and(|due| shared.lags.note(due)) {
            (shared.tell)(
                "not real time any more: more than 1 % of a second's replies left later than --max-lag allows",
            );
        }
        budget.give(budget_bytes);
    }
}

/// Writes two parts in as few calls as possible.
fn write_both(out: &mut Socket, first: &[u8], second: &[u8]) -> io::Result<()> {
    let mut parts = [IoSlice::new(first), IoSlice::new(second)];
    let mut parts = &mut parts[..];
    while parts.iter().any(|part| !part.is_empty()) {
        let written = match out {
            Socket::Unix(stream) => stream.write_vectored(parts),
            Socket::Tcp(stream) => stream.write_vectored(parts),
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => IoSlice::advance_slices(&mut parts, bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
