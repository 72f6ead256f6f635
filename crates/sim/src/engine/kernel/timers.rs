//! Timers: everything that has at most one event ahead, as numbers of the event wheel.

use crate::device::events::Events;
use crate::units::{Nanos, UnitId};

/// What an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Timer {
    /// The array of a unit.
    Array(UnitId),
    /// A channel, a side of the host link, or a port of the interconnect.
    Bus(usize),
    /// The first page that is served from controller memory.
    Memory,
    /// The first parity group that waits for the rest of its pages.
    Encode,
    /// The first page in the decoder.
    Decoder,
    /// The first die that has been idle for long enough.
    Idle,
    /// An operation on the interconnect that holds its unit alone.
    Delay(usize),
}

/// The timers of a device.
#[derive(Clone)]
pub(in crate::engine) struct Timers {
    wheel: Events,
    units: usize,
    buses: usize,
}

impl Timers {
    /// No event lies further ahead than `span`, most of the time.
    pub(in crate::engine) fn new(units: usize, buses: usize, delays: usize, span: Nanos) -> Self {
        Timers { wheel: Events::new(units + buses + 4 + delays, span), units, buses }
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
            Timer::Delay(slot) => self.units + self.buses + 4 + slot,
        }
    }

    /// The timer with a number of the wheel.
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
            Some(other) => Timer::Delay(other - 4),
        }
    }

    /// Sets the time of a timer's event.
    #[inline(always)]
    pub(in crate::engine) fn set(&mut self, timer: Timer, time: Nanos) {
        self.wheel.set(self.number(timer), time);
    }

    /// A timer has no event any more.
    #[inline(always)]
    pub(in crate::engine) fn clear(&mut self, timer: Timer) {
        self.set(timer, Nanos::NEVER);
    }

    /// When a timer's event is, or never.
    #[inline(always)]
    pub(in crate::engine) fn get(&self, timer: Timer) -> Nanos {
        self.wheel.get(self.number(timer))
    }

    /// When the next event is, or never.
    #[inline(always)]
    pub(in crate::engine) fn next(&self) -> Nanos {
        self.wheel.next()
    }

    /// Whose event is next; of several, any.
    #[inline(always)]
    pub(in crate::engine) fn first(&self) -> Timer {
        self.timer(self.wheel.first() as u32)
    }

    /// Whether no other event is at the time of the next.
    #[inline(always)]
    pub(in crate::engine) fn alone(&self) -> bool {
        self.wheel.alone()
    }

    /// Takes the next event, which is alone in its time.
    #[inline(always)]
    pub(in crate::engine) fn pop(&mut self) -> Timer {
        let number = self.wheel.pop();
        self.timer(number as u32)
    }

    /// Takes all events of the next time; their numbers go to `to`, in any order.
    #[inline(always)]
    pub(in crate::engine) fn take_all(&mut self, to: &mut Vec<u128>) {
        self.wheel.take_all(|number| to.push(number as u128));
    }

    /// The same, and leaves them.
    #[inline(always)]
    pub(in crate::engine) fn each(&self, to: &mut Vec<u128>) {
        self.wheel.each(|number| to.push(number as u128));
    }
}
