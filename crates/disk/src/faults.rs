//! Errors of single requests (`faults.read_errors`, `faults.write_errors`).

use rand_xoshiro::Xoshiro256PlusPlus;
use ssdlab_sim::config::{IoErrors, IoErrorsAt};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Nanos, Ppm};

/// Bytes that have errors from a time on.
#[derive(Clone, Debug)]
struct Place {
    at: Nanos,
    start: u64,
    end: u64,
}

impl Place {
    fn is_hit(&self, now: Nanos, offset: u64, bytes: u64) -> bool {
        now >= self.at && offset < self.end && offset + bytes > self.start
    }
}

/// The errors of one kind of request.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    places: Vec<Place>,
    shares: Vec<(Ppm, Xoshiro256PlusPlus)>,
}

impl Errors {
    /// Precondition: every entry says one of both ([`ssdlab_sim::Config::check`]).
    pub(crate) fn new(list: &[IoErrors], purpose: &str) -> Self {
        let mut errors = Errors { places: Vec::new(), shares: Vec::new() };
        for entry in list.iter().filter_map(IoErrors::place) {
            match entry {
                IoErrorsAt::Place { at, offset, bytes } => {
                    errors.places.push(Place { at, start: offset, end: offset.saturating_add(bytes) });
                }
                IoErrorsAt::Share { rate, seed } => errors.shares.push((rate, stream(seed, purpose))),
            }
        }
        errors
    }

    /// Whether there is any: without, nothing need be asked.
    #[inline(always)]
    pub(crate) fn exist(&self) -> bool {
        !self.places.is_empty() || !self.shares.is_empty()
    }

    /// Whether the draws say that the next request fails. Every share draws, so that what one says does not depend on the others.
    fn drawn(&mut self) -> bool {
        let draw = |(rate, rng): &mut (Ppm, Xoshiro256PlusPlus)| below(rng, Ppm::ONE) < u64::from(rate.0);
        self.shares.iter_mut().filter_map(|share| draw(share).then_some(())).count() > 0
    }

    /// Whether a read fails. Its place fails until [`Errors::heal`].
    pub(crate) fn read_fails(&mut self, now: Nanos, offset: u64, bytes: u64) -> bool {
        self.drawn() || self.places.iter().any(|place| place.is_hit(now, offset, bytes))
    }

    /// Whether a write fails. A place fails one write.
    pub(crate) fn write_fails(&mut self, now: Nanos, offset: u64, bytes: u64) -> bool {
        let drawn = self.drawn();
        let place = self.places.iter().position(|place| place.is_hit(now, offset, bytes));
        if let Some(place) = place {
            self.places.remove(place);
        }
        drawn || place.is_some()
    }

    /// These bytes have been written or discarded: reads of them have no error any more.
    pub(crate) fn heal(&mut self, now: Nanos, offset: u64, bytes: u64) {
        if self.places.is_empty() {
            return;
        }
        let (start, end) = (offset, offset + bytes);
        let mut left = Vec::with_capacity(self.places.len());
        for place in self.places.drain(..) {
            if !place.is_hit(now, offset, bytes) {
                left.push(place);
                continue;
            }
            let parts = [(place.start, place.end.min(start)), (place.start.max(end), place.end)];
            left.extend(parts.into_iter().filter(|(a, b)| a < b).map(|(start, end)| Place { start, end, ..place }));
        }
        self.places = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_heals_the_part_that_it_covers() {
        let entry: ssdlab_sim::Config =
            "faults.read_errors = [{ at = \"1us\", offset = \"512B\", bytes = \"2KiB\" }]".parse().unwrap();
        let mut errors = Errors::new(&entry.faults.read_errors, "read");
        assert!(!errors.read_fails(Nanos(999), 512, 512), "it is too early");
        assert!(errors.read_fails(Nanos(1000), 0, 513) && !errors.read_fails(Nanos(1000), 0, 512));
        errors.heal(Nanos(1000), 1024, 512);
        assert!(errors.read_fails(Nanos(1000), 512, 512) && errors.read_fails(Nanos(1000), 1536, 1024));
        assert!(!errors.read_fails(Nanos(1000), 1024, 512) && !errors.read_fails(Nanos(1000), 2560, 512));
    }

    #[test]
    fn a_share_of_requests_fails_the_same_ones_with_the_same_seed() {
        let entry: ssdlab_sim::Config = "faults.write_errors = [{ rate = 0.25, seed = 3 }]".parse().unwrap();
        let mut errors = Errors::new(&entry.faults.write_errors, "write");
        let mut again = errors.clone();
        let failed: Vec<bool> = (0..4000).map(|_| errors.write_fails(Nanos(0), 0, 512)).collect();
        assert!((900..1100).contains(&failed.iter().filter(|failed| **failed).count()));
        assert!(failed.iter().all(|failed| again.write_fails(Nanos(0), 0, 512) == *failed));
    }
}
