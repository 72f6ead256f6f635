//! How a disk joins the loop of a program that is tested under a virtual clock, in three shapes: an executor of futures with timers
//! (as madsim and turmoil have it), a queue of events that a world steps through (as moonpool has it), and a trait of I/O with
//! callbacks that the program drives itself (as turso has it). Nothing here depends on any of them.
//!
//! The rule is the same in all three: ask [`Disk::next_event`] where the loop asks for its next timer, advance the disk to the earlier
//! of the two, and hand its completions to whoever waits.

use ssdlab_disk::{Completion, Config, Disk, DiskError, Nanos, Seed, Ticket};

/// A small drive with a write cache.
fn disk() -> Disk {
    let text = "geometry.blocks_per_plane = 16\ndevice.over_provisioning = 0.2\ncache = { size = \"1MiB\", time = \"1us\" }\ngc.reserve = 2";
    let config: Config = text.parse().expect("a constant configuration");
    Disk::new(config, Seed(1)).expect("a constant configuration")
}

/// An executor of futures: one thread, virtual time, timers, and the disk.
pub mod futures {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::rc::Rc;
    use std::task::{Context, Poll, Waker};

    use super::{Completion, Disk, DiskError, Nanos, Ticket};

    /// What tasks share: the clock, the disk, and completions that nobody has taken.
    pub struct World {
        disk: RefCell<Disk>,
        done: RefCell<BTreeMap<Ticket, Completion>>,
        now: Cell<Nanos>,
        timers: RefCell<Vec<Nanos>>,
    }

    type Task = Pin<Box<dyn Future<Output = ()>>>;

    impl World {
        /// Submits a request and waits for its end.
        pub async fn io(&self, submit: impl FnOnce(&mut Disk) -> Result<Ticket, DiskError>) -> Completion {
            let ticket = submit(&mut self.disk.borrow_mut()).expect("the queue has room");
            poll_fn(|_| self.done.borrow_mut().remove(&ticket).map_or(Poll::Pending, Poll::Ready)).await
        }

        /// Waits for a time.
        pub async fn sleep(&self, ns: u64) {
            let until = Nanos(self.now.get().0 + ns);
            self.timers.borrow_mut().push(until);
            poll_fn(|_| if self.now.get() >= until { Poll::Ready(()) } else { Poll::Pending }).await;
        }

        /// Simulated time.
        pub fn now(&self) -> Nanos {
            self.now.get()
        }

        /// Moves to the next timer or event of the disk, whichever is first. False: there is none.
        fn step(&self) -> bool {
            let mut disk = self.disk.borrow_mut();
            let now = self.now.get();
            self.timers.borrow_mut().retain(|timer| *timer > now);
            let timer = self.timers.borrow().iter().min().copied();
            let Some(next) = timer.into_iter().chain(disk.next_event()).min() else { return false };
            disk.advance_to(next);
            self.now.set(next);
            self.done.borrow_mut().extend(disk.completions().into_iter().map(|done| (done.ticket, done)));
            true
        }
    }

    /// Runs tasks to their end.
    pub fn run(disk: Disk, tasks: impl FnOnce(&Rc<World>) -> Vec<Task>) {
        let (done, timers) = (RefCell::default(), RefCell::default());
        let world = Rc::new(World { disk: RefCell::new(disk), done, now: Cell::new(Nanos(0)), timers });
        let mut tasks = tasks(&world);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            if tasks.is_empty() {
                return;
            }
            assert!(world.step(), "a task waits for nothing");
        }
    }

    /// Two tasks: one writes and flushes, one sleeps and reads. Returns when each was done.
    pub fn example() -> (u64, u64) {
        let ends = Rc::new(Cell::new((0, 0)));
        let seen = Rc::clone(&ends);
        run(super::disk(), move |world| {
            let (one, other) = (Rc::clone(world), Rc::clone(world));
            let (first, second) = (Rc::clone(&seen), seen);
            let writer = async move {
                one.io(|disk| disk.write(0, &[7; 4096])).await;
                one.io(Disk::flush).await;
                first.set((one.now().0, first.get().1));
            };
            let reader = async move {
                other.sleep(10_000).await;
                let read = other.io(|disk| disk.read(0, 4096)).await;
                assert_eq!(read.data, Some(vec![7; 4096]));
                second.set((second.get().0, other.now().0));
            };
            vec![Box::pin(writer), Box::pin(reader)]
        });
        ends.get()
    }
}

/// A world that steps through a queue of events. The disk is one more source of them.
pub mod events {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::{Completion, Disk, Nanos};

    /// What happens to a node: its timer, or a completion of its disk.
    #[derive(Debug)]
    pub enum Event {
        /// A timer, by number.
        Timer(u64),
        /// A request of the disk has ended.
        Disk(Box<Completion>),
    }

    /// Events of one node.
    pub struct World {
        /// Its disk.
        pub disk: Disk,
        queue: BinaryHeap<Reverse<(Nanos, u64)>>,
        ready: std::collections::VecDeque<Event>,
    }

    impl World {
        /// A world at time 0.
        pub fn new(disk: Disk) -> World {
            World { disk, queue: BinaryHeap::new(), ready: std::collections::VecDeque::new() }
        }

        /// Sets a timer.
        pub fn after(&mut self, ns: u64, timer: u64) {
            self.queue.push(Reverse((Nanos(self.disk.now().0 + ns), timer)));
        }

        /// The next event with its time; none if nothing is left to happen.
        pub fn step(&mut self) -> Option<(Nanos, Event)> {
            loop {
                if let Some(event) = self.ready.pop_front() {
                    return Some((self.disk.now(), event));
                }
                let timer = self.queue.peek().map(|Reverse((at, _))| *at);
                let next = timer.into_iter().chain(self.disk.next_event()).min()?;
                self.disk.advance_to(next);
                self.ready.extend(self.disk.completions().into_iter().map(Box::new).map(Event::Disk));
                if timer == Some(next) {
                    self.ready.extend(self.queue.pop().map(|Reverse((_, timer))| Event::Timer(timer)));
                }
            }
        }
    }

    /// A node that writes whenever its timer fires. Returns the number of writes that completed, and the time of the last one.
    pub fn example() -> (u64, u64) {
        let mut world = World::new(super::disk());
        let (mut done, mut last) = (0, 0);
        world.after(0, 0);
        while let Some((at, event)) = world.step() {
            match event {
                Event::Timer(number) => {
                    world.disk.write(number * 4096, &[number as u8; 4096]).expect("the queue has room");
                    if number < 9 {
                        world.after(50_000, number + 1);
                    }
                }
                Event::Disk(completion) => {
                    assert_eq!(completion.completed, at);
                    (done, last) = (done + 1, at.0);
                }
            }
        }
        (done, last)
    }
}

/// A trait of I/O with callbacks, driven by the program's own calls.
pub mod callbacks {
    use std::collections::BTreeMap;

    use super::{Completion, Disk, Ticket};

    type Callback = Box<dyn FnOnce(Completion)>;

    /// What a database asks of its storage.
    pub trait Io {
        /// Writes, and calls back when that is done.
        fn pwrite(&mut self, offset: u64, data: &[u8], then: Callback);
        /// Reads, and calls back with the data.
        fn pread(&mut self, offset: u64, bytes: u64, then: Callback);
        /// Makes completed writes durable, and calls back.
        fn sync(&mut self, then: Callback);
        /// Lets something happen. False: nothing is left.
        fn step(&mut self) -> bool;
    }

    /// The simulated drive as such a storage.
    pub struct Simulated {
        disk: Disk,
        waiting: BTreeMap<Ticket, Callback>,
    }

    impl Io for Simulated {
        fn pwrite(&mut self, offset: u64, data: &[u8], then: Callback) {
            self.waiting.insert(self.disk.write(offset, data).expect("the queue has room"), then);
        }

        fn pread(&mut self, offset: u64, bytes: u64, then: Callback) {
            self.waiting.insert(self.disk.read(offset, bytes).expect("the queue has room"), then);
        }

        fn sync(&mut self, then: Callback) {
            self.waiting.insert(self.disk.flush().expect("the queue has room"), then);
        }

        fn step(&mut self) -> bool {
            let Some(at) = self.disk.next_event() else { return false };
            self.disk.advance_to(at);
            for done in self.disk.completions() {
                if let Some(then) = self.waiting.remove(&done.ticket) {
                    then(done);
                }
            }
            true
        }
    }

    /// Writes a page, syncs, reads it. Returns when the read was done.
    pub fn example() -> u64 {
        use std::sync::mpsc::channel;
        let mut io: Box<dyn Io> = Box::new(Simulated { disk: super::disk(), waiting: BTreeMap::new() });
        let mut wait = |submit: &dyn Fn(&mut dyn Io, Callback)| {
            let (done, ends) = channel();
            submit(&mut *io, Box::new(move |completion| drop(done.send(completion))));
            loop {
                if let Ok(completion) = ends.try_recv() {
                    return completion;
                }
                assert!(io.step(), "the request ends");
            }
        };
        wait(&|io, then| io.pwrite(4096, &[3; 4096], then));
        wait(&|io, then| io.sync(then));
        let read = wait(&|io, then| io.pread(4096, 4096, then));
        assert_eq!(read.data, Some(vec![3; 4096]));
        read.completed.0
    }
}

fn main() {
    println!("futures: written and flushed at {} ns, read at {} ns", futures::example().0, futures::example().1);
    println!("events: {} writes, the last at {} ns", events::example().0, events::example().1);
    println!("callbacks: read at {} ns", callbacks::example());
}
