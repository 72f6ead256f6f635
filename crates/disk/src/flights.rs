//! Requests in the drive.

use ssdlab_sim::RequestOp;

use crate::{DiskError, Ticket};

#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) ticket: Ticket,
    pub(crate) op: RequestOp,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// A read's data; empty for other requests.
    pub(crate) data: Vec<u8>,
    /// A write of a whole chunk of the store: the chunk. [`Flight::PARTS`] for other requests.
    pub(crate) chunk: u64,
    /// Whether it will have failed.
    pub(crate) fails: bool,
    pub(crate) ended: bool,
}

impl Flight {
    /// Not a write of a whole chunk.
    pub(crate) const PARTS: u64 = u64::MAX;

    const NONE: Flight = Flight {
        ticket: Ticket(0),
        op: RequestOp::Read,
        offset: 0,
        bytes: 0,
        data: Vec::new(),
        chunk: Flight::PARTS,
        fails: false,
        ended: true,
    };

    /// Its error, if it fails, or the drive could not correct its data.
    #[inline(always)]
    pub(crate) fn error(&self, uncorrectable: bool) -> Option<DiskError> {
        if !self.fails && !uncorrectable {
            return None;
        }
        let (offset, bytes) = (self.offset, self.bytes);
        match self.op {
            RequestOp::Write if self.fails => Some(DiskError::WriteFailed { offset, bytes }),
            _ => Some(DiskError::Uncorrectable { offset, bytes }),
        }
    }
}

/// Requests in the drive by their index, which counts those that it has been given. A ring: places of completed requests are used
/// again when it is full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    /// A power of two of them, or none.
    places: Vec<Flight>,
    /// Index of the oldest request that has a place, and of the next one.
    first: u64,
    next: u64,
}

impl Flights {
    /// Least number of places.
    const FEW: usize = 64;

    #[inline(always)]
    fn place(&self, index: u64) -> usize {
        index as usize & self.places.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, flight: Flight) {
        if self.next.wrapping_sub(self.first) == self.places.len() as u64 {
            self.make_room();
        }
        let place = self.place(self.next);
        self.places[place] = flight;
        self.next += 1;
    }

    #[inline(never)]
    fn make_room(&mut self) {
        let full = self.first;
        while self.first < self.next && self.places[self.place(self.first)].ended {
            self.first += 1;
        }
        if self.first == full {
            let more = (2 * self.places.len()).max(Self::FEW);
            let mut places = vec![Flight::NONE; more];
            for index in self.first..self.next {
                let place = self.place(index);
                places[index as usize & (more - 1)] = std::mem::replace(&mut self.places[place], Flight::NONE);
            }
            self.places = places;
        }
    }

    /// A request that has not completed.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut Flight> {
        if index.wrapping_sub(self.first) >= self.next.wrapping_sub(self.first) {
            return None;
        }
        let place = self.place(index);
        self.places.get_mut(place).filter(|flight| !flight.ended)
    }

    /// How many have not completed.
    pub(crate) fn open(&self) -> usize {
        (self.first..self.next).filter(|index| !self.places[self.place(*index)].ended).count()
    }

    /// Removes all requests, and returns those that have not completed, in order. The next one has the index `next`.
    pub(crate) fn abort(&mut self, next: u64) -> Vec<Ticket> {
        let open = (self.first..self.next).map(|index| &self.places[self.place(index)]);
        let aborted = open.filter(|flight| !flight.ended).map(|flight| flight.ticket).collect();
        *self = Flights { places: Vec::new(), first: next, next };
        aborted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(ticket: u64) -> Flight {
        Flight { ticket: Ticket(ticket), ended: false, ..Flight::NONE }
    }

    /// An old request keeps its place while 200 later ones come and go.
    #[test]
    fn places_are_used_again() {
        let mut flights = Flights::default();
        flights.abort(7);
        flights.push(flight(0));
        for i in 1..=200 {
            flights.push(flight(i));
            assert_eq!(flights.get_mut(7 + i).map(|flight| flight.ticket), Some(Ticket(i)));
            if i > 3 {
                flights.get_mut(7 + i - 3).unwrap().ended = true;
            }
            assert_eq!(flights.get_mut(7).map(|flight| flight.ticket), Some(Ticket(0)));
        }
        assert!(
            flights.get_mut(6).is_none() && flights.get_mut(7 + 197).is_none() && flights.get_mut(7 + 201).is_none()
        );
        assert_eq!((flights.open(), flights.places.len()), (4, 256), "it is as long as the oldest request needs it");
        flights.get_mut(7).unwrap().ended = true;
        (201..600).for_each(|i| {
            flights.push(flight(i));
            flights.get_mut(7 + i - 3).unwrap().ended = true;
        });
        assert_eq!(flights.places.len(), 256);
        assert_eq!(flights.abort(1000), [Ticket(597), Ticket(598), Ticket(599)]);
        assert_eq!(flights.open(), 0);
    }
}
