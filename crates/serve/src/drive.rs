//! The thread that owns the drive and the clock: requests in, replies out.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::Shutdown;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use ssdlab_disk::{Completion, Disk, DiskError, RequestOp, Ticket};
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_sim::units::Nanos;

use crate::clock::Clock;
use crate::connections::Connections;
use crate::data::Image;
use crate::message::{Asked, Message, Return};
use crate::order::Control;
use crate::record::{Recorded, Recording, Times};
use crate::wire::{Command, Errno, MOST_BYTES};

/// A reply is waited for by looking at the clock all the time in its last microseconds: a thread that sleeps wakes up too late.
const SPIN: Duration = Duration::from_micros(50);
/// How long an ending server waits for clients that do not read their replies.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a part of a request does.
enum What {
    Read,
    Write(Vec<u8>),
    Zeros,
    Trim,
    Flush,
}

/// A part of a request, as the drive gets it: all of it, unless it is longer than the drive's requests may be.
pub(crate) struct Part {
    call: u64,
    what: What,
    offset: u64,
    bytes: u64,
    fua: bool,
}

/// A request in service.
pub(crate) struct Call {
    back: Return,
    /// Parts that have not completed.
    left: u64,
    error: Option<Errno>,
    data: Vec<u8>,
    /// Whether its reply waits until the file is synced.
    syncs: bool,
}

/// Where the bytes are.
pub(crate) enum Bytes {
    /// In the disk, which may keep so many.
    Memory(u64),
    /// In a file.
    File(Image),
}

/// A session that has ended.
pub(crate) struct Session {
    pub(crate) recorded: Recorded,
    pub(crate) times: Times,
    pub(crate) image: Option<Image>,
}

/// What happens next.
enum Next {
    Message(Message),
    /// An event of the drive is due.
    Event(Nanos),
    /// Clients are to be disconnected.
    Impatience,
    /// No client is left, and nothing is in service.
    End,
}

/// See the module's documentation.
pub(crate) struct Drive {
    pub(crate) disk: Disk,
    pub(crate) bytes: Bytes,
    pub(crate) clock: Clock,
    pub(crate) recording: Recording,
    pub(crate) control: Control,
    /// Times of the requests that the recording has.
    times: Times,
    /// Requests that have completed.
    pub(crate) completed: u64,
    pub(crate) calls: BTreeMap<u64, Call>,
    next_call: u64,
    pub(crate) in_service: BTreeMap<Ticket, u64>,
    /// Parts that the drive's queue has no room for.
    pub(crate) waiting: VecDeque<Part>,
    /// Connections of earlier eras were cut off.
    pub(crate) era: u64,
    pub(crate) stops: bool,
}

impl Drive {
    pub(crate) fn new(disk: Disk, bytes: Bytes, clock: Clock, recording: Recording, control: Control) -> Drive {
        Drive {
            disk,
            bytes,
            clock,
            recording,
            control,
            times: Times::default(),
            completed: 0,
            calls: BTreeMap::new(),
            next_call: 0,
            in_service: BTreeMap::new(),
            waiting: VecDeque::new(),
            era: 0,
            stops: false,
        }
    }

    /// Serves requests until it has been told to stop and all clients have left.
    ///
    /// # Errors
    /// The drive fails, or the recording can't be written.
    pub(crate) fn run(mut self, inbox: &Receiver<Message>, connections: &Connections) -> Result<Session> {
        loop {
            self.submit_waiting()?;
            match self.wait(inbox) {
                Next::Message(Message::Request(asked)) => self.take(asked),
                Next::Message(Message::Stop) => {
                    self.stops = true;
                    connections.close();
                    connections.end(Shutdown::Read);
                }
                Next::Message(Message::Control(order, to)) => {
                    let answer = self.obey(order, connections);
                    let _ = to.send(answer);
                }
                Next::Event(at) => {
                    let until = Nanos(at.0.saturating_add(1));
                    self.disk
                        .advance_before(self.clock.now().filter(|_| !self.stops).map_or(until, |now| now.max(until)));
                }
                Next::Impatience => connections.end(Shutdown::Both),
                Next::End => break,
            }
            self.reply();
            if let Some(reason) = self.disk.ssd().fault() {
                return Err(Error::new(Kind::Device, reason));
            }
        }
        let image = match self.bytes {
            Bytes::Memory(_) => None,
            Bytes::File(image) => Some(image),
        };
        Ok(Session { recorded: self.recording.finish()?, times: self.times, image })
    }

    /// Waits for a request, or until the drive's next event is due.
    fn wait(&self, inbox: &Receiver<Message>) -> Next {
        let event = self.disk.next_event();
        let due = event.filter(|_| self.clock.waits() && !self.stops);
        let due = due.and_then(|at| self.clock.moment_of(Nanos(at.0.saturating_add(1))));
        loop {
            match inbox.try_recv() {
                Ok(message) => return Next::Message(message),
                Err(TryRecvError::Disconnected) if event.is_none() => return Next::End,
                Err(_) => {}
            }
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            match (event, left) {
                (Some(at), None) => return Next::Event(at),
                (Some(at), Some(left)) if left.is_zero() => return Next::Event(at),
                (Some(_), Some(left)) if left <= SPIN => std::hint::spin_loop(),
                (Some(_), Some(left)) => match inbox.recv_timeout(left - SPIN) {
                    Ok(message) => return Next::Message(message),
                    Err(RecvTimeoutError::Timeout) => {}
                    // Every client has left; what is in service takes its time.
                    Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left - SPIN),
                },
                (None, _) if self.stops => match inbox.recv_timeout(PATIENCE) {
                    Ok(message) => return Next::Message(message),
                    Err(RecvTimeoutError::Timeout) => return Next::Impatience,
                    Err(RecvTimeoutError::Disconnected) => return Next::End,
                },
                (None, _) => return inbox.recv().map_or(Next::End, Next::Message),
            }
        }
    }

    /// Takes a request of a client.
    fn take(&mut self, asked: Asked) {
        let Asked { command, offset, bytes, fua, data, era, back } = asked;
        if era != self.era {
            return back.send(Some(Errno::Shutdown), Vec::new(), false, None);
        }
        let call = self.next_call;
        self.next_call += 1;
        let writes = matches!(command, Command::Write | Command::WriteZeroes);
        let syncs = command == Command::Flush || fua && writes;
        let mut part = |what: What, offset: u64, bytes: u64| {
            self.waiting.push_back(Part { call, what, offset, bytes, fua: fua && writes });
        };
        let mut left = 1;
        match command {
            Command::Read => part(What::Read, offset, bytes),
            Command::Write => part(What::Write(data), offset, bytes),
            Command::Trim => part(What::Trim, offset, bytes),
            Command::WriteZeroes => {
                let most = u64::from(MOST_BYTES);
                left = bytes.div_ceil(most);
                (0..left).for_each(|i| part(What::Zeros, offset + i * most, most.min(bytes - i * most)));
            }
            Command::Flush => part(What::Flush, 0, 0),
            Command::Disconnect | Command::Unknown => return back.send(Some(Errno::Invalid), Vec::new(), false, None),
        }
        self.calls.insert(call, Call { back, left, error: None, data: Vec::new(), syncs });
    }

    /// Hands as many parts over as the drive's queue takes.
    fn submit_waiting(&mut self) -> Result<()> {
        while self.disk.ssd().accepts() {
            let Some(part) = self.waiting.pop_front() else { break };
            self.submit(part)?;
        }
        Ok(())
    }

    /// A part arrives at the drive. What the drive does not take fails at once.
    fn submit(&mut self, part: Part) -> Result<()> {
        let Part { call, what, offset, bytes, fua } = part;
        // A flush that the drive does not have takes no time, in a replay, too. Other requests may be the first, which arrives at 0.
        let counts = !matches!(what, What::Flush) || self.disk.ssd().flushes();
        let first = counts && self.clock.start();
        if let (Some(now), false) = (self.clock.now(), first || self.stops) {
            self.disk.advance_before(now);
        }
        let at = self.disk.now();
        let done = match self.prepare(call, &what, offset, bytes) {
            Ok(()) => self.hand_over(&what, offset, bytes, fua).map_err(|_| Errno::Io),
            Err(error) => Err(error),
        };
        match done {
            Ok(ticket) => {
                self.in_service.insert(ticket, call);
                let op = match what {
                    What::Read => RequestOp::Read,
                    What::Write(_) | What::Zeros => RequestOp::Write,
                    What::Trim => RequestOp::Trim,
                    What::Flush => RequestOp::Flush,
                };
                self.recording.add(at, op, offset, bytes, fua)
            }
            Err(error) => {
                self.ends(call, Some(error), None, None);
                Ok(())
            }
        }
    }

    /// Moves the bytes of a part, if they are in a file, or looks whether memory has room for them.
    fn prepare(&mut self, call: u64, what: &What, offset: u64, bytes: u64) -> std::result::Result<(), Errno> {
        let image = match &self.bytes {
            Bytes::Memory(room_bytes) => {
                let full = self.disk.kept_bytes() + self.control.snapshot_bytes() + bytes > *room_bytes;
                return if full && matches!(what, What::Write(_)) { Err(Errno::NoSpace) } else { Ok(()) };
            }
            Bytes::File(image) => image,
        };
        let done = match what {
            What::Read => {
                let mut data = vec![0; bytes as usize];
                let read = image.read(offset, &mut data);
                if let Some(call) = self.calls.get_mut(&call) {
                    call.data = data;
                }
                read
            }
            What::Write(data) => image.write(offset, data),
            What::Zeros => image.zero(offset, bytes),
            What::Trim => {
                let page = self.disk.ssd().mapped_bytes();
                let (first, end) = (offset.div_ceil(page) * page, (offset + bytes) / page * page);
                if self.disk.ssd().trims() && first < end { image.zero(first, end - first) } else { Ok(()) }
            }
            What::Flush => Ok(()),
        };
        done.map_err(|error| if error.kind() == io::ErrorKind::StorageFull { Errno::NoSpace } else { Errno::Io })
    }

    fn hand_over(&mut self, what: &What, offset: u64, bytes: u64, fua: bool) -> std::result::Result<Ticket, DiskError> {
        match what {
            What::Read => self.disk.read(offset, bytes),
            What::Write(data) if fua => self.disk.write_through(offset, data),
            What::Write(data) => self.disk.write(offset, data),
            What::Zeros => self.disk.write_zeroes(offset, bytes, fua),
            What::Trim => self.disk.trim(offset, bytes),
            What::Flush => self.disk.flush(),
        }
    }

    /// Replies to requests that have completed.
    pub(crate) fn reply(&mut self) {
        let flushes = self.disk.ssd().flushes();
        for done in self.disk.completions() {
            self.completed += 1;
            if (done.op != RequestOp::Flush || flushes) && self.recording.is_open() {
                self.times.live(&done);
            }
            let Some(call) = self.in_service.remove(&done.ticket) else { continue };
            let Completion { completed, data, error, .. } = done;
            self.ends(call, error.map(|_| Errno::Io), data, Some(completed));
        }
    }

    /// A part of a request has ended; its reply leaves with the last one.
    fn ends(&mut self, number: u64, error: Option<Errno>, data: Option<Vec<u8>>, completed: Option<Nanos>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.left -= 1;
        call.error = call.error.or(error);
        if let Some(data) = data {
            call.data = data;
        }
        if call.left > 0 {
            return;
        }
        if let Some(Call { back, error, data, syncs, .. }) = self.calls.remove(&number) {
            let due = completed.filter(|_| !self.stops).and_then(|at| self.clock.moment_of(at));
            back.send(error, data, syncs, due);
        }
    }
}
