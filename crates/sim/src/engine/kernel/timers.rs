//! Timers: every source of at most one event, numbered for the event wheel.

use crate::device::events::Events;
use crate::units::{Nanos, UnitId};

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Timer {
    /// The array of a unit.
    Array(UnitId),
    /// A channel, a side of the host link, or a port of the interconnect.
    Bus(usize),
    /// The first page served from controller memory.
    Memory,
    /// The first parity group that waits for its remaining pages.
    Encode,
    /// The first page in the decoder.
    Decoder,
    /// The first die that will have been idle long enough.
    Idle,
    /// The first line of the write cache that will have been held long enough.
    Hold,
    /// An operation on the interconnect that occupies only its unit.
    Delay(usize),
}

/// The timers of a device.
#[derive(Clone)]
pub(in crate::engine) struct Timers {
    wheel: Events,
    /// Ends of chains, which lie much further ahead, by unit.
    chains: Events,
    units: usize,
    buses: usize,
}

impl Timers {
    /// `span` estimates how far ahead events are set, `chain` how long chains are.
    pub(in crate::engine) fn new(units: usize, buses: usize, delays: usize, span: Nanos, chain: Nanos) -> Self {
        let wheel = Events::new(units + buses + 5 + delays, span);
        Timers { wheel, chains: Events::new(units, chain), units, buses }
    }

    /// Sets the end of the chain of a unit that has none.
    #[inline(always)]
    pub(in crate::engine) fn begin_chain(&mut self, unit: UnitId, end: Nanos) {
        self.chains.begin(unit.ix(), end);
    }

    /// Moves the end of a unit's chain.
    #[inline(always)]
    pub(in crate::engine) fn move_chain(&mut self, unit: UnitId, end: Nanos) {
        self.chains.set(unit.ix(), end);
    }

    /// Removes the end of a unit's chain.
    #[inline(always)]
    pub(in crate::engine) fn clear_chain(&mut self, unit: UnitId) {
        self.chains.set(unit.ix(), Nanos::NEVER);
    }

    /// The next end of a chain, or never.
    #[inline(always)]
    pub(in crate::engine) fn next_chain(&self) -> Nanos {
        self.chains.next()
    }

    /// The unit of the next end of a chain.
    #[inline(always)]
    pub(in crate::engine) fn first_chain(&self) -> UnitId {
        UnitId(self.chains.first() as u32)
    }

    #[inline(always)]
    fn number(&self, timer: Timer) -> usize {
        match timer {
            Timer::Array(unit) => unit.ix(),
            Timer::Bus(bus) => self.units + bus,
            Timer::Memory => self.units + self.buses,
            Timer::Encode => self.units + self.buses + 1,
            Timer::Decoder => self.units + self.buses + 2,
            Timer::Idle => self.units + self.buses + 3,
            Timer::Hold => self.units + self.buses + 4,
            Timer::Delay(slot) => self.units + self.buses + 5 + slot,
        }
    }

    /// The timer of a number in the wheel.
    #[inline(always)]
    pub(in crate::engine) fn timer(&self, number: u32) -> Timer {
        let number = number as usize;
        let Some(bus) = number.checked_sub(self.units) else { return Timer::Array(UnitId(number as u32)) };
        match bus.checked_sub(self.buses) {
            None => Timer::Bus(bus),
            Some(0) => Timer::Memory,
            Some(1) => Timer::Encode,
            Some(2) => Timer::Decoder,
            Some(3) => Timer::Idle,
            Some(4) => Timer::Hold,
            Some(other) => Timer::Delay(other - 5),
        }
    }

    /// Whether a number in the wheel is that of an array or a bus.
    #[inline(always)]
    pub(in crate::engine) fn is_of_leg(&self, number: u32) -> bool {
        (number as usize) < self.units + self.buses
    }

    /// Sets the time of a timer's event.
    #[inline(always)]
    pub(in crate::engine) fn set(&mut self, timer: Timer, time: Nanos) {
        self.wheel.set(self.number(timer), time);
    }

    /// Sets the time of the event of a timer that has none.
    #[inline(always)]
    pub(in crate::engine) fn begin(&mut self, timer: Timer, time: Nanos) {
        self.wheel.begin(self.number(timer), time);
    }

    /// Removes a timer's event.
    #[inline(always)]
    pub(in crate::engine) fn clear(&mut self, timer: Timer) {
        self.set(timer, Nanos::NEVER);
    }

    /// Time of a timer's event, or never.
    #[inline(always)]
    pub(in crate::engine) fn get(&self, timer: Timer) -> Nanos {
        self.wheel.get(self.number(timer))
    }

    /// Time of the next event other than the end of a chain, or never.
    #[inline(always)]
    pub(in crate::engine) fn next(&self) -> Nanos {
        self.wheel.next()
    }

    /// The timer of the next event, or any of them if several have its time.
    #[inline(always)]
    pub(in crate::engine) fn first(&self) -> Timer {
        self.timer(self.wheel.first() as u32)
    }

    /// Whether the next event is the only one at its time.
    #[inline(always)]
    pub(in crate::engine) fn alone(&self) -> bool {
        self.wheel.alone()
    }

    /// Takes the next event. Precondition: it is the only one at its time.
    #[inline(always)]
    pub(in crate::engine) fn pop(&mut self) -> Timer {
        let number = self.wheel.pop();
        self.timer(number as u32)
    }

    /// Takes all events of the next time and writes their numbers to `to`, in any order.
    #[inline(always)]
    pub(in crate::engine) fn take_all(&mut self, to: &mut Vec<u128>) {
        self.wheel.take_all(|number| to.push(number as u128));
    }

    /// Like `take_all`, without removing the events.
    #[inline(always)]
    pub(in crate::engine) fn each(&self, to: &mut Vec<u128>) {
        self.wheel.each(|number| to.push(number as u128));
    }
}
