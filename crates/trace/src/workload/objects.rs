//! Objects that are written whole and die in an order: regions of a cache, files of an LSM tree, chunks of sessions.

use std::collections::VecDeque;

use crate::workload::draw::{Stream, below, chance};
use crate::workload::spec::{Dies, Sizes, SpecError, StreamSpec};
use crate::workload::units::{Ppm, Size, show_size};

/// A request before it is sent: its operation (0 read, 1 write, 2 trim), offset in the range and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) op: usize,
    pub(super) at: u64,
    pub(super) bytes: u64,
}

const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;

/// No slot, or no session.
const NONE: u32 = u32::MAX;

/// The most objects a range may have: a table of them is built.
const OBJECTS_MAX: u64 = 1 << 20;

/// Sizes and numbers of objects, fitted to a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    object_bytes: u64,
    read_bytes: u64,
    write_bytes: u64,
    slots: u32,
    capacity: u32,
    trim: bool,
}

impl Shape {
    /// Fits objects to a range of `len` bytes. `key` is the pattern and its key for the size, which `shrunk` may change to fit a smaller
    /// device.
    ///
    /// # Errors
    /// The key that contradicts another, or the range.
    pub(super) fn of(
        spec: &StreamSpec,
        key: (&str, &str),
        (size, live, trim): (Size, Option<Ppm>, bool),
        len: u64,
        shrunk: &dyn Fn(u64) -> u64,
        path: &dyn Fn(&str) -> String,
    ) -> Result<Self, SpecError> {
        let (pattern, width) = key;
        let of = |own: &Option<Sizes>, name: &str| match own.as_ref().or(spec.size.as_ref()) {
            None => Ok(4096),
            Some(Sizes::Fixed(bytes)) if *bytes > 0 && size.0 > 0 && size.0.is_multiple_of(*bytes) => Ok(*bytes),
            Some(_) => Err(SpecError::new(
                path(if own.is_some() { name } else { "size" }),
                format!("objects of {} are not moved by requests of one size that divides it", show_size(size.0)),
                "give one size, such as size = \"64KiB\"",
            )),
        };
        let (read_bytes, write_bytes) = (of(&spec.read_size, "read_size")?, of(&spec.write_size, "write_size")?);
        // A smaller device has smaller objects of whole requests, one at least.
        let request = read_bytes.max(write_bytes);
        let fits = shrunk(size.0) == size.0 || request.is_multiple_of(read_bytes.min(write_bytes));
        if !fits {
            return Err(SpecError::new(
                path("read_size"),
                "objects that shrink to this device need sizes of which one divides the other",
                "change read_size or write_size, or choose a larger device",
            ));
        }
        let size =
            if shrunk(size.0) == size.0 { size } else { Size((shrunk(size.0) / request * request).max(request)) };
        let places = if size.0 == 0 || !size.0.is_multiple_of(4096) { 0 } else { len / size.0 };
        let capacity = u128::from(places) * u128::from(live.unwrap_or(Ppm::ONE).0) / 1_000_000;
        let (Ok(slots), Ok(capacity), 2..=OBJECTS_MAX) = (u32::try_from(places), u32::try_from(capacity), places)
        else {
            return Err(SpecError::new(
                path(&format!("{pattern}.{width}")),
                format!("a range of {} holds {places} whole objects of {}", show_size(len), show_size(size.0)),
                format!("choose a multiple of 4KiB that fits twice, and at most {OBJECTS_MAX} times"),
            ));
        };
        if capacity == 0 {
            return Err(SpecError::new(
                path(&format!("{pattern}.live")),
                format!("no object of {slots} may live"),
                "raise live, or leave it out",
            ));
        }
        if spec.write == Some(Ppm(0)) || (spec.write.is_none() && spec.read == Some(Ppm::ONE)) {
            let key = if spec.write.is_some() { "write" } else { "read" };
            return Err(SpecError::new(path(key), "no object is ever written", "give write a share above 0"));
        }
        if spec.trim.is_some_and(|part| part.0 > 0) || spec.trim_size.is_some() {
            return Err(SpecError::new(
                path(if spec.trim_size.is_some() { "trim_size" } else { "trim" }),
                "objects are trimmed whole, when they die",
                format!("write {pattern} = {{ ..., trim = true }}"),
            ));
        }
        Ok(Self { object_bytes: size.0, read_bytes, write_bytes, slots, capacity, trim })
    }

    /// Objects that may live at a time.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    fn trims(&self, slot: u32) -> Access {
        Access { op: TRIM, at: u64::from(slot) * self.object_bytes, bytes: self.object_bytes }
    }
}

/// Links from a slot to the one before and the one after, in lists that share no slot.
#[derive(Clone, Debug)]
struct Links(Vec<[u32; 2]>);

/// A list of slots: its first and its last.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl Links {
    fn new(slots: u32) -> Self {
        Self(vec![[NONE; 2]; slots as usize])
    }

    fn before(&self, slot: u32) -> u32 {
        self.0[slot as usize][0]
    }

    fn after(&self, slot: u32) -> u32 {
        self.0[slot as usize][1]
    }

    fn append(&mut self, list: &mut List, slot: u32) {
        self.0[slot as usize] = [list.last, NONE];
        match list.last {
            NONE => list.first = slot,
            last => self.0[last as usize][1] = slot,
        }
        list.last = slot;
    }

    fn remove(&mut self, list: &mut List, slot: u32) {
        let [before, after] = self.0[slot as usize];
        match before {
            NONE => list.first = after,
            before => self.0[before as usize][1] = after,
        }
        match after {
            NONE => list.last = before,
            after => self.0[after as usize][0] = before,
        }
    }
}

/// Which slots hold objects, and in which order these die.
#[derive(Clone, Debug)]
struct Store {
    capacity: usize,
    /// Slots without an object, the one that is free for the longest time first.
    free: VecDeque<u32>,
    /// Slots of whole objects, in no order, and the place of each slot there.
    live: Vec<u32>,
    places: Vec<u32>,
    /// Live objects, the next to die first.
    order: List,
    links: Links,
}

impl Store {
    fn new(shape: &Shape) -> Self {
        Self {
            capacity: shape.capacity as usize,
            free: (0..shape.slots).collect(),
            live: Vec::with_capacity(shape.capacity as usize),
            places: vec![NONE; shape.slots as usize],
            order: List::EMPTY,
            links: Links::new(shape.slots),
        }
    }

    fn is_full(&self) -> bool {
        self.live.len() == self.capacity
    }

    /// A free slot. There is one: no object is being written, and fewer live than there are slots.
    fn take(&mut self) -> u32 {
        self.free.pop_front().expect("fewer objects live than there are slots")
    }

    fn add(&mut self, slot: u32) {
        let place = self.live.len() as u32;
        self.places[slot as usize] = place;
        self.live.push(slot);
        self.links.append(&mut self.order, slot);
    }

    fn remove(&mut self, slot: u32) {
        let place = self.places[slot as usize];
        self.live.swap_remove(place as usize);
        if let Some(moved) = self.live.get(place as usize) {
            self.places[*moved as usize] = place;
        }
        self.links.remove(&mut self.order, slot);
        self.free.push_back(slot);
    }

    /// Makes a live object the last to die.
    fn touch(&mut self, slot: u32) {
        self.links.remove(&mut self.order, slot);
        self.links.append(&mut self.order, slot);
    }

    /// A live object, each alike; there is one.
    fn any(&self, rng: &mut Stream) -> u32 {
        let place = below(rng, self.live.len() as u64) as usize;
        self.live[place]
    }
}

/// An object that is read or written from its start to its end.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    slot: u32,
    done: u64,
}

impl Cursor {
    fn at(slot: u32) -> Self {
        Self { slot, done: 0 }
    }

    /// The next request, and whether it is the last of the object.
    fn step(&mut self, op: usize, shape: &Shape) -> (Access, bool) {
        let bytes = if op == READ { shape.read_bytes } else { shape.write_bytes };
        let at = u64::from(self.slot) * shape.object_bytes + self.done;
        self.done += bytes;
        (Access { op, at, bytes }, self.done == shape.object_bytes)
    }
}

/// Objects without relations.
#[derive(Clone, Debug)]
pub(super) struct ObjectPool {
    shape: Shape,
    dies: Dies,
    store: Store,
    reading: Option<Cursor>,
    writing: Option<Cursor>,
}

impl ObjectPool {
    pub(super) fn new(shape: Shape, dies: Dies) -> Self {
        Self { shape, dies, store: Store::new(&shape), reading: None, writing: None }
    }

    /// The next request; a read where there is no object is a write.
    pub(super) fn next(&mut self, rng: &mut Stream, op: usize) -> Access {
        if op == READ && (self.reading.is_some() || !self.store.live.is_empty()) {
            self.read(rng)
        } else {
            self.write(rng)
        }
    }

    fn read(&mut self, rng: &mut Stream) -> Access {
        let mut cursor = self.reading.unwrap_or_else(|| Cursor::at(self.store.any(rng)));
        if cursor.done == 0 && self.dies == Dies::LeastUsed {
            self.store.touch(cursor.slot);
        }
        let (access, last) = cursor.step(READ, &self.shape);
        self.reading = (!last).then_some(cursor);
        access
    }

    fn write(&mut self, rng: &mut Stream) -> Access {
        if self.writing.is_none() && self.store.is_full() {
            let victim = if self.dies == Dies::Any { self.store.any(rng) } else { self.store.order.first };
            self.store.remove(victim);
            // What is read of an object that dies stays unread.
            self.reading = self.reading.filter(|cursor| cursor.slot != victim);
            if self.shape.trim {
                return self.shape.trims(victim);
            }
        }
        let mut cursor = self.writing.unwrap_or_else(|| Cursor::at(self.store.take()));
        let (access, last) = cursor.step(WRITE, &self.shape);
        self.writing = (!last).then_some(cursor);
        if last {
            self.store.add(cursor.slot);
        }
        access
    }
}

/// A session: its chunks that are left, in order, and how many it should have.
#[derive(Clone, Copy, Debug)]
struct Session {
    chunks: List,
    left: u32,
    length: u32,
}

impl Session {
    const NEW: Self = Self { chunks: List::EMPTY, left: 0, length: 0 };
}

/// Sessions that are read and continued in turns.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    shape: Shape,
    chunks: u32,
    ends: u32,
    store: Store,
    sessions: Vec<Session>,
    /// The session of each slot's chunk, and the chunks of each session in order.
    owners: Vec<u32>,
    links: Links,
    /// Whose turn it is.
    current: u32,
    reading: Option<Cursor>,
    writing: Option<Cursor>,
    /// Chunks that the turn has yet to begin.
    to_write: u32,
    /// The session fills the space alone: it ends with its turn, as it can grow no further.
    alone: bool,
}

impl Sessions {
    /// `active` sessions, chunks a turn, and the chance that a turn is the last, in millionths.
    pub(super) fn new(shape: Shape, (active, chunks, ends): (u32, u32, u32), rng: &mut Stream) -> Self {
        let mut sessions = Self {
            shape,
            chunks,
            ends,
            store: Store::new(&shape),
            sessions: vec![Session::NEW; active as usize],
            owners: vec![NONE; shape.slots as usize],
            links: Links::new(shape.slots),
            current: 0,
            reading: None,
            writing: None,
            to_write: 0,
            alone: false,
        };
        sessions.begin_turn(rng);
        sessions
    }

    pub(super) fn next(&mut self, rng: &mut Stream) -> Access {
        loop {
            if let Some(cursor) = &mut self.reading {
                let (access, last) = cursor.step(READ, &self.shape);
                if last {
                    let after = self.links.after(cursor.slot);
                    self.reading = (after != NONE).then(|| Cursor::at(after));
                }
                return access;
            }
            if let Some(access) = self.write() {
                return access;
            }
            self.end_turn(rng);
            self.begin_turn(rng);
        }
    }

    /// The next write of the turn, or the trim before it; none at its end.
    fn write(&mut self) -> Option<Access> {
        if self.writing.is_none() {
            if self.to_write == 0 {
                return None;
            }
            if self.store.is_full() {
                let victim = self.store.order.first;
                let owner = self.owners[victim as usize];
                if owner == self.current {
                    self.alone = true;
                    return None;
                }
                self.lose(victim, owner);
                if self.shape.trim {
                    return Some(self.shape.trims(victim));
                }
            }
            self.writing = Some(Cursor::at(self.store.take()));
            self.to_write -= 1;
        }
        let cursor = self.writing.as_mut()?;
        let (access, last) = cursor.step(WRITE, &self.shape);
        if last {
            let slot = cursor.slot;
            self.writing = None;
            self.store.add(slot);
            self.owners[slot as usize] = self.current;
            let session = &mut self.sessions[self.current as usize];
            self.links.append(&mut session.chunks, slot);
            session.left += 1;
        }
        Some(access)
    }

    fn lose(&mut self, victim: u32, owner: u32) {
        self.store.remove(victim);
        self.owners[victim as usize] = NONE;
        if let Some(session) = self.sessions.get_mut(owner as usize) {
            self.links.remove(&mut session.chunks, victim);
            session.left -= 1;
        }
    }

    fn begin_turn(&mut self, rng: &mut Stream) {
        let current = below(rng, self.sessions.len() as u64) as u32;
        self.current = current;
        self.touch();
        let session = &mut self.sessions[current as usize];
        self.reading = (session.chunks.first != NONE).then(|| Cursor::at(session.chunks.first));
        session.length = session.length.saturating_add(self.chunks);
        self.to_write = session.length - session.left;
    }

    fn end_turn(&mut self, rng: &mut Stream) {
        self.touch();
        let alone = std::mem::take(&mut self.alone);
        if chance(rng, self.ends) || alone {
            let mut slot = self.sessions[self.current as usize].chunks.first;
            while slot != NONE {
                self.owners[slot as usize] = NONE;
                slot = self.links.after(slot);
            }
            self.sessions[self.current as usize] = Session::NEW;
        }
    }

    /// Marks the session's chunks as used, the last first: a session loses its end before its start, which later chunks need.
    fn touch(&mut self) {
        let mut slot = self.sessions[self.current as usize].chunks.last;
        while slot != NONE {
            self.store.touch(slot);
            slot = self.links.before(slot);
        }
    }
}
