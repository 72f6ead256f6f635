//! A disk: the simulator decides when, a store keeps what.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_sim::config::Names;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::versions::{Admitted, Held};
use ssdlab_sim::{Check, Completed, Config, ConfigError, Marks, Observer, Request, RequestOp, Ssd, Watches};

use crate::cut::Survivors;
use crate::faults::Errors;
use crate::flights::{Flight, Flights};
use crate::store::{Data, SECTOR, Store, versions};
use crate::{Builder, Causes, Completion, DiskError, Seed, Ticket};

/// Room for completions that are reported together: as much as an allocator hands out quickly.
const TOGETHER: usize = 3;

/// Requests that have completed, and that the disk has not taken over.
#[derive(Default)]
struct Ended {
    list: Mutex<Vec<Completion>>,
    /// Whether there are any: most events end no request, and then the list is left alone.
    any: AtomicBool,
}

impl Ended {
    fn list(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves them to the end of `done`.
    #[inline(always)]
    fn move_to(&self, done: &mut Vec<Completion>) {
        self.any.store(false, Relaxed);
        let mut list = self.list();
        if done.is_empty() {
            std::mem::swap(&mut *list, done);
        } else {
            done.append(&mut list);
        }
    }
}

/// Receives completions from the simulator. What only the disk knows is filled in later.
struct Ends(Arc<Ended>);

impl Observer for Ends {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        self.0.any.store(true, Relaxed);
        let mut ended = self.0.list();
        if ended.capacity() == 0 {
            *ended = Vec::with_capacity(TOGETHER);
        }
        ended.push(Completion {
            ticket: Ticket(request.request),
            op: request.op,
            submitted: request.arrival,
            completed: request.completion,
            causes: Causes { common: request.blame, extra: request.extras },
            data: None,
            error: (request.uncorrectable > 0).then_some(DiskError::Uncorrectable { offset: 0, bytes: 0 }),
        });
    }
}

/// Buffers of reads whose completions have been dropped. A clone has none.
#[derive(Default)]
struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// Buffers that are kept, and their bytes.
    const MOST: usize = 64;
    const LARGEST: usize = 16 << 10;

    /// An empty buffer with room for so many bytes.
    #[inline(always)]
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut buffer = if bytes <= Self::LARGEST { self.0.pop().unwrap_or_default() } else { Vec::new() };
        buffer.reserve_exact(bytes);
        buffer
    }

    /// Empties a list of completions.
    #[inline(never)]
    fn clear(&mut self, list: &mut Vec<Completion>) {
        while let Some(Completion { data, .. }) = list.pop() {
            if let Some(data) = data {
                self.put(data);
            }
        }
    }

    #[inline(always)]
    fn put(&mut self, mut data: Vec<u8>) {
        if self.0.len() < Self::MOST && data.capacity() <= Self::LARGEST {
            data.clear();
            self.0.push(data);
        }
    }
}

/// A simulated drive with its data, in virtual time. It is a value: the same calls give the same bytes and times on every run, and a
/// clone is a snapshot, which shares unchanged data with the original.
///
/// Requests are submitted at the current time ([`Disk::now`]) and complete when the clock is advanced; nothing blocks. They are
/// served in order of submission as far as the drive does that: a read returns the newest data submitted before it, whether or not
/// that is on flash yet.
///
/// ```
/// use ssdlab_disk::{Config, Disk, Seed};
///
/// let mut disk = Disk::new("cache.size = \"1MiB\"".parse::<Config>()?, Seed(1))?;
/// disk.write(4096, &[7; 512])?;
/// let read = disk.read(4096, 512)?;
/// while let Some(at) = disk.next_event() {
///     disk.advance_to(at);
///     for done in disk.completions().into_iter().filter(|done| done.ticket == read) {
///         assert_eq!(done.data.as_deref(), Some(&[7; 512][..]));
///         assert_eq!(done.causes.total_ns(), done.completed.0 - done.submitted.0);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Disk {
    ssd: Ssd,
    store: Store,
    read_errors: Errors,
    write_errors: Errors,
    /// Whether there may be errors of single requests.
    errors: bool,
    next_ticket: u64,
    flights: Flights,
    ended: Arc<Ended>,
    /// Requests that have completed, and that the disk's owner has not taken.
    done: Vec<Completion>,
    buffers: Buffers,
    capacity_bytes: u64,
    admitted: Vec<Admitted>,
    /// The data that would survive a power cut now, once asked for.
    at_rest: OnceCell<Box<Store>>,
}

impl Disk {
    /// A disk with every fault of the configuration, which can lose its power.
    ///
    /// # Errors
    /// See [`Builder::build`].
    pub fn new(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Disk::builder().config(config).seed(seed).build()
    }

    /// A disk with settings of its own.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Precondition: `config` has no errors of single requests; they are in the other two.
    pub(crate) fn assemble(mut ssd: Ssd, keeps_data: bool, read_errors: Errors, write_errors: Errors) -> Self {
        if ssd.knows_pages() {
            ssd.note_versions();
        }
        let store = Store::new(&ssd, keeps_data);
        let capacity_bytes = ssd.capacity_bytes();
        let mut disk = Disk {
            ssd,
            store,
            errors: read_errors.exist() || write_errors.exist(),
            read_errors,
            write_errors,
            next_ticket: 1,
            flights: Flights::default(),
            ended: Arc::default(),
            done: Vec::new(),
            buffers: Buffers::default(),
            capacity_bytes,
            admitted: Vec::new(),
            at_rest: OnceCell::new(),
        };
        disk.watch();
        disk
    }

    fn watch(&mut self) {
        self.ended = Arc::default();
        self.ssd.observe(Box::new(Ends(Arc::clone(&self.ended))));
    }

    /// Bytes that requests can address.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.ssd.now()
    }

    /// The simulated drive, for its state and its summary.
    pub fn ssd(&self) -> &Ssd {
        &self.ssd
    }

    /// Bytes of data in memory: what is on flash, valid or not, and what is in flight. Bytes that were never written take none.
    pub fn kept_bytes(&self) -> u64 {
        self.store.kept_bytes()
    }

    /// Writes whole sectors of 512 bytes. The data is copied.
    ///
    /// # Errors
    /// If the range is not of whole sectors of the disk, or the drive's queue is full.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<Ticket, DiskError> {
        self.write_any(offset, Data::Bytes(data), false)
    }

    /// Like [`Disk::write`] with force unit access: a write-back cache completes it when it is on flash. Without one, or where the
    /// cache writes through, it completes as `device.write_ack` says, like any other write.
    ///
    /// # Errors
    /// Like [`Disk::write`].
    pub fn write_through(&mut self, offset: u64, data: &[u8]) -> Result<Ticket, DiskError> {
        self.write_any(offset, Data::Bytes(data), true)
    }

    /// Writes zeros, which take the drive the time of other data and this process no memory. `through`: like
    /// [`Disk::write_through`].
    ///
    /// # Errors
    /// Like [`Disk::write`].
    pub fn write_zeroes(&mut self, offset: u64, bytes: u64, through: bool) -> Result<Ticket, DiskError> {
        self.write_any(offset, Data::Zeros(bytes), through)
    }

    #[inline(always)]
    fn write_any(&mut self, offset: u64, data: Data<'_>, fua: bool) -> Result<Ticket, DiskError> {
        let bytes = data.len();
        self.check(offset, bytes)?;
        let ticket = self.ticket();
        let fails = self.errors && self.write_fails(offset, bytes);
        let chunk = self.store.write(offset, if fails { Data::Lost(bytes) } else { data }, ticket);
        let op = RequestOp::Write;
        self.submit(Flight { ticket, op, offset, bytes, data: Vec::new(), chunk, fails, ended: false }, fua);
        Ok(ticket)
    }

    #[cold]
    fn write_fails(&mut self, offset: u64, bytes: u64) -> bool {
        let now = self.now();
        let fails = self.write_errors.write_fails(now, offset, bytes);
        if !fails {
            self.read_errors.heal(now, offset, bytes);
        }
        fails
    }

    /// Reads whole sectors of 512 bytes. Sectors that were never written are zeros. A disk built without data gives none.
    ///
    /// # Errors
    /// Like [`Disk::write`].
    pub fn read(&mut self, offset: u64, bytes: u64) -> Result<Ticket, DiskError> {
        self.check(offset, bytes)?;
        let ticket = self.ticket();
        let (mut data, mut fails) = (Vec::new(), false);
        if self.store.keeps_data() {
            data = self.buffers.take(bytes as usize);
            fails = !self.store.read(offset, bytes, &mut data);
        }
        fails |= self.errors && self.read_errors.read_fails(self.now(), offset, bytes);
        let (op, chunk) = (RequestOp::Read, Flight::PARTS);
        self.submit(Flight { ticket, op, offset, bytes, data, chunk, fails, ended: false }, false);
        Ok(ticket)
    }

    /// Discards the whole pages of a range, whose sectors are zeros from then on. With parity groups nothing is discarded.
    ///
    /// # Errors
    /// Like [`Disk::write`].
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<Ticket, DiskError> {
        self.check(offset, bytes)?;
        let ticket = self.ticket();
        if self.ssd.trims() {
            let (offset, bytes) = self.store.trim(offset, bytes, ticket);
            if bytes > 0 && self.errors {
                self.read_errors.heal(self.now(), offset, bytes);
            }
        }
        self.submit_bare(ticket, RequestOp::Trim, offset, bytes);
        Ok(ticket)
    }

    /// Puts completed writes on flash. A drive without a write cache has nothing to flush: then it completes at once.
    ///
    /// # Errors
    /// If the drive's queue is full.
    pub fn flush(&mut self) -> Result<Ticket, DiskError> {
        self.check_queue()?;
        let ticket = self.ticket();
        if self.ssd.flushes() {
            self.submit_bare(ticket, RequestOp::Flush, 0, 0);
        } else {
            self.ssd.skip();
            let (now, causes) = (self.now(), Causes::ZERO);
            let op = RequestOp::Flush;
            let done = Completion { ticket, op, submitted: now, completed: now, causes, data: None, error: None };
            self.done.push(done);
        }
        Ok(ticket)
    }

    /// Time at which something happens next, perhaps now; none if the drive is idle and every completion has been taken.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        if !self.done.is_empty() {
            return Some(self.now());
        }
        Some(self.ssd.next_event()).filter(|at| *at < Nanos::NEVER)
    }

    /// Moves the clock, and handles everything up to and including `at`. A time in the past is the current time.
    #[inline]
    pub fn advance_to(&mut self, at: Nanos) {
        self.at_rest.take();
        self.ssd.run_until(at.max(self.now()));
        self.follow();
    }

    /// Moves the clock to `at`, and handles everything before it. What happens at `at` itself is left, so a request that is submitted
    /// next arrives before it is handled, as in a run over recorded arrivals. A time in the past is the current time.
    pub fn advance_before(&mut self, at: Nanos) {
        self.at_rest.take();
        self.ssd.run_before(at.max(self.now()));
        self.follow();
    }

    /// Takes the requests that have completed, in order of completion.
    pub fn completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.done)
    }

    /// Like [`Disk::completions`], into a list of the caller's: what it held is dropped, and its room and that of its data
    /// are used again.
    ///
    /// ```
    /// # use ssdlab_disk::{Config, Disk, Seed};
    /// # let mut disk = Disk::new(Config::default(), Seed(1))?;
    /// let (read, mut done) = (disk.read(0, 4096)?, Vec::new());
    /// while let Some(at) = disk.next_event() {
    ///     disk.advance_to(at);
    ///     disk.completions_into(&mut done);
    ///     assert!(done.iter().all(|one| one.ticket == read));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn completions_into(&mut self, into: &mut Vec<Completion>) {
        if !into.is_empty() {
            self.buffers.clear(into);
        }
        if !self.done.is_empty() {
            std::mem::swap(&mut self.done, into);
        }
    }

    /// Cuts power now. Requests that have not completed never will; those that have can still be taken ([`Disk::completions`]). The
    /// drive recovers, in no simulated time; its data is what survived.
    ///
    /// # Panics
    /// If the disk was built without [`Check::Full`], which its builder sets unless told otherwise.
    pub fn power_cut(&mut self) -> Survivors {
        self.at_rest.take();
        self.take_admitted();
        // Requests outside the drive are lost with their host.
        let aborted = self.flights.abort(self.ssd.discard_waiting());
        let (report, lost) = cut(&mut self.ssd, &mut self.store);
        // Whatever ends in the cut is no request that the disk has.
        self.ended.move_to(&mut Vec::new());
        Survivors { lost, aborted, report }
    }

    /// The drive follows another configuration from now on. Operations that have begun end as they began. Of its values only those may
    /// differ that are no part of the drive's state, such as times, limits and schemes; errors of single requests stay as they are.
    ///
    /// # Errors
    /// If the configuration cannot work ([`Config::check`]), or the state of the drive rules the change out. The disk has not changed
    /// then.
    pub fn change(&mut self, config: &Config) -> Result<(), ConfigError> {
        let mut config = config.clone();
        (config.faults.read_errors, config.faults.write_errors) = (Vec::new(), Vec::new());
        config.check()?;
        config.check_mode(false)?;
        self.ssd = self.ssd.changed(&config)?;
        self.at_rest.take();
        self.watch();
        Ok(())
    }

    /// Reads what flash and capacitor hold now, in no time: the data that a power cut would leave. The disk does not change.
    ///
    /// # Errors
    /// If the range is not of whole sectors of the disk, or a program that a cut would interrupt holds the only data of a page.
    ///
    /// # Panics
    /// Like [`Disk::power_cut`].
    pub fn read_at_rest(&self, offset: u64, into: &mut [u8]) -> Result<(), DiskError> {
        let bytes = into.len() as u64;
        self.check_range(offset, bytes)?;
        let store = self.at_rest.get_or_init(|| {
            let (mut ssd, mut store) = (self.ssd.clone(), self.store.clone());
            ssd.discard_waiting();
            ssd.take_admitted(&mut Vec::new());
            cut(&mut ssd, &mut store);
            Box::new(store)
        });
        let mut data = Vec::with_capacity(into.len());
        let sound = store.read(offset, bytes, &mut data);
        into.copy_from_slice(&data);
        sound.then_some(()).ok_or(DiskError::Uncorrectable { offset, bytes })
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket - 1)
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), DiskError> {
        self.check_range(offset, bytes)?;
        self.check_queue()
    }

    fn check_range(&self, offset: u64, bytes: u64) -> Result<(), DiskError> {
        let sector = SECTOR as u64;
        if bytes == 0 || !bytes.is_multiple_of(sector) || !offset.is_multiple_of(sector) {
            return Err(DiskError::Unaligned { offset, bytes });
        }
        let capacity = self.capacity_bytes;
        if offset.checked_add(bytes).is_none_or(|end| end > capacity) {
            return Err(DiskError::OutOfRange { offset, bytes, capacity });
        }
        Ok(())
    }

    fn check_queue(&self) -> Result<(), DiskError> {
        if self.ssd.accepts() { Ok(()) } else { Err(DiskError::QueueFull) }
    }

    /// Submits a request without data.
    fn submit_bare(&mut self, ticket: Ticket, op: RequestOp, offset: u64, bytes: u64) {
        let (data, chunk) = (Vec::new(), Flight::PARTS);
        self.submit(Flight { ticket, op, offset, bytes, data, chunk, fails: false, ended: false }, false);
    }

    #[inline(always)]
    fn submit(&mut self, flight: Flight, fua: bool) {
        self.at_rest.take();
        let request = Request { arrival: self.now(), op: flight.op, offset: flight.offset, bytes: flight.bytes };
        if flight.op == RequestOp::Write && (fua || self.ssd.config().fdp.exists()) {
            self.submit_marked(request, fua);
        } else {
            self.ssd.submit(request);
        }
        self.flights.push(flight);
    }

    #[inline(never)]
    fn submit_marked(&mut self, request: Request, fua: bool) {
        let fdp = &self.ssd.config().fdp;
        let taken = if fdp.exists() { fdp.taken_by(Names::default(), request.offset, request.bytes) } else { None };
        let (handle, no_handle) = taken.unwrap_or((0, false));
        let marks = Marks { fua, handle, no_handle, ..Marks::default() };
        self.ssd.submit_marked(request, marks, std::iter::empty());
    }

    /// Takes over what has happened in the simulator.
    #[inline(always)]
    fn follow(&mut self) {
        self.take_admitted();
        if self.ended.any.load(Relaxed) {
            self.take_ended();
        }
        self.store.sweep(&self.ssd);
    }

    /// Gives requests that have been admitted their versions.
    #[inline(always)]
    fn take_admitted(&mut self) {
        if self.store.keeps_versions() {
            self.ssd.take_admitted(&mut self.admitted);
            if !self.admitted.is_empty() {
                self.store.admit(&self.admitted);
            }
        }
    }

    /// Reports requests that have completed. Those that the disk does not have are left out.
    fn take_ended(&mut self) {
        let Disk { done, ended, flights, store, .. } = self;
        let mut place = done.len();
        ended.move_to(done);
        while let Some(one) = done.get_mut(place) {
            match flights.get_mut(one.ticket.0) {
                Some(flight) => {
                    end(one, flight, store);
                    place += 1;
                }
                None => drop(done.remove(place)),
            }
        }
    }
}

/// A request has completed: fills in what only the disk knows.
#[inline(always)]
fn end(done: &mut Completion, flight: &mut Flight, store: &mut Store) {
    flight.ended = true;
    done.ticket = flight.ticket;
    if flight.fails || done.error.is_some() {
        done.error = flight.error(done.error.is_some());
    }
    if flight.chunk != Flight::PARTS && done.error.is_none() {
        store.end_whole(flight.chunk, flight.ticket);
    } else if flight.op == RequestOp::Read {
        let data = std::mem::take(&mut flight.data);
        done.data = (done.error.is_none() && store.keeps_data()).then_some(data);
    } else if store.keeps_versions() && flight.op != RequestOp::Flush {
        let (trim, failed) = (flight.op == RequestOp::Trim, done.error.is_some());
        store.end(flight.offset, flight.bytes, trim, flight.ticket, failed);
    }
}

/// Cuts the power of a drive and its data. Precondition: the store has heard of all that was admitted.
fn cut(ssd: &mut Ssd, store: &mut Store) -> (ssdlab_sim::report::power::PowerCut, Vec<crate::Lost>) {
    assert!(ssd.knows_pages(), "a disk that can lose its power is built with {:?}", Check::Full);
    let memory = versions(ssd, |held, _| held == Held::Memory);
    let report = ssd.power_cut();
    let lost = store.cut(&ssd.take_cut_versions(), &memory);
    (report, lost)
}

impl Clone for Disk {
    fn clone(&self) -> Self {
        let mut copy = Disk {
            ssd: self.ssd.clone(),
            store: self.store.clone(),
            read_errors: self.read_errors.clone(),
            write_errors: self.write_errors.clone(),
            errors: self.errors,
            next_ticket: self.next_ticket,
            flights: self.flights.clone(),
            ended: Arc::default(),
            done: self.done.clone(),
            buffers: Buffers::default(),
            capacity_bytes: self.capacity_bytes,
            admitted: Vec::new(),
            at_rest: self.at_rest.clone(),
        };
        copy.watch();
        copy
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk")
            .field("now", &self.now())
            .field("in_flight", &self.flights.open())
            .finish_non_exhaustive()
    }
}
