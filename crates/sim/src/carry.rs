//! Plain state to bytes and back. A type describes its state once, and the description serves both ways: writing and reading
//! cannot get out of step.
//!
//! Numbers are little-endian. The bytes depend on the state alone, so they are the same on every machine.

use std::io::{self, Read, Write};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::units::{BlockId, Lpn, Nanos, PlaneId};

/// Where bytes go, or come from.
pub(crate) enum Carrier<'c> {
    /// State is written.
    Out(&'c mut dyn Write),
    /// State is read, over that of a device built from the same configuration.
    In(&'c mut dyn Read),
}

/// A value of a fixed number of bytes.
pub(crate) trait Plain: Copy {
    const BYTES: usize;
    fn put(self, to: &mut [u8]);
    fn get(from: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty),+; $($id:ident($of:ty)),+) => {
        $(impl Plain for $number {
            const BYTES: usize = size_of::<$number>();
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn get(from: &[u8]) -> Self {
                <$number>::from_le_bytes(from.try_into().expect("as many bytes as the number has"))
            }
        })+
        $(impl Plain for $id {
            const BYTES: usize = <$of>::BYTES;
            fn put(self, to: &mut [u8]) {
                self.0.put(to);
            }
            fn get(from: &[u8]) -> Self {
                $id(<$of>::get(from))
            }
        })+
    };
}
plain! { u8, u16, u32, u64; Lpn(u32), BlockId(u32), PlaneId(u32), Nanos(u64) }

impl Plain for bool {
    const BYTES: usize = 1;
    fn put(self, to: &mut [u8]) {
        to[0] = self.into();
    }
    fn get(from: &[u8]) -> Self {
        from[0] != 0
    }
}

impl<A: Plain, B: Plain> Plain for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;
    fn put(self, to: &mut [u8]) {
        self.0.put(&mut to[..A::BYTES]);
        self.1.put(&mut to[A::BYTES..]);
    }
    fn get(from: &[u8]) -> Self {
        (A::get(&from[..A::BYTES]), B::get(&from[A::BYTES..]))
    }
}

impl Plain for [u64; 2] {
    const BYTES: usize = 16;
    fn put(self, to: &mut [u8]) {
        (self[0], self[1]).put(to);
    }
    fn get(from: &[u8]) -> Self {
        <(u64, u64)>::get(from).into()
    }
}

/// Values that are converted at once.
const CHUNK: usize = 1 << 14;

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Carrier<'_> {
    /// Carries a value.
    pub(crate) fn value<T: Plain>(&mut self, value: &mut T) -> io::Result<()> {
        self.all(std::slice::from_mut(value))
    }

    /// Carries the values of a table. A device that reads has a table of the same length.
    pub(crate) fn table<T: Plain>(&mut self, values: &mut [T]) -> io::Result<()> {
        self.same(values.len() as u64)?;
        self.all(values)
    }

    /// Carries a list of any length.
    pub(crate) fn list<T: Plain + Default>(&mut self, values: &mut Vec<T>) -> io::Result<()> {
        let mut len = values.len() as u64;
        self.value(&mut len)?;
        values.resize(usize::try_from(len).map_err(|_| wrong("a list is too long"))?, T::default());
        self.all(values)
    }

    /// Writes a number, or requires that it is the one read.
    pub(crate) fn same(&mut self, number: u64) -> io::Result<()> {
        let mut read = number;
        self.value(&mut read)?;
        if read == number { Ok(()) } else { Err(wrong("the state is that of another device")) }
    }

    /// Carries a generator of random numbers.
    pub(crate) fn generator(&mut self, rng: &mut Xoshiro256PlusPlus) -> io::Result<()> {
        let mut state = [0; 4];
        if let Carrier::Out(_) = self {
            state = state_of(rng).ok_or_else(|| wrong("the state of a generator is not known"))?;
        }
        self.all(&mut state)?;
        *rng = with_state(state);
        Ok(())
    }

    fn all<T: Plain>(&mut self, values: &mut [T]) -> io::Result<()> {
        let mut buffer = vec![0; T::BYTES * values.len().min(CHUNK)];
        for part in values.chunks_mut(CHUNK) {
            let bytes = &mut buffer[..part.len() * T::BYTES];
            match self {
                Carrier::Out(out) => {
                    part.iter().zip(bytes.chunks_exact_mut(T::BYTES)).for_each(|(value, bytes)| value.put(bytes));
                    out.write_all(bytes)?;
                }
                Carrier::In(input) => {
                    input.read_exact(bytes)?;
                    part.iter_mut().zip(bytes.chunks_exact(T::BYTES)).for_each(|(value, bytes)| *value = T::get(bytes));
                }
            }
        }
        Ok(())
    }
}

fn with_state(state: [u64; 4]) -> Xoshiro256PlusPlus {
    let mut seed = [0; 32];
    seed.chunks_exact_mut(8).zip(state).for_each(|(bytes, word)| word.put(bytes));
    Xoshiro256PlusPlus::from_seed(seed)
}

/// The four words of a generator. It shows them only to people, so they are read from that text; a generator made of them must
/// equal the original.
fn state_of(rng: &Xoshiro256PlusPlus) -> Option<[u64; 4]> {
    let text = format!("{rng:?}");
    let list = text.split_once('[')?.1.split_once(']')?.0;
    let words: Vec<u64> = list.split(',').map(|word| word.trim().parse().ok()).collect::<Option<_>>()?;
    let state = words.try_into().ok()?;
    (with_state(state) == *rng).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::Rng;

    /// Carries everything that the types above can be.
    fn carry(
        carrier: &mut Carrier<'_>,
        table: &mut [(u32, Nanos)],
        list: &mut Vec<[u64; 2]>,
        rng: &mut Xoshiro256PlusPlus,
    ) -> io::Result<()> {
        carrier.same(7)?;
        carrier.table(table)?;
        carrier.list(list)?;
        carrier.generator(rng)
    }

    #[test]
    fn what_is_written_reads_back_and_nothing_else_does() {
        let mut rng = crate::random::stream(3, "test");
        rng.next_u64();
        let mut table: Vec<_> = (0..40_000u32).map(|i| (i, Nanos(u64::MAX - u64::from(i)))).collect();
        let mut list = vec![[1, u64::MAX]; 3];
        let mut bytes = Vec::new();
        carry(&mut Carrier::Out(&mut bytes), &mut table, &mut list, &mut rng).unwrap();
        assert_eq!(bytes.len(), 8 + 8 + 40_000 * 12 + 8 + 3 * 16 + 32);

        let read = |bytes: &[u8], rows: usize| {
            let (mut table, mut list) = (vec![(0, Nanos::ZERO); rows], Vec::new());
            let mut rng = crate::random::stream(4, "test");
            let mut input = bytes;
            carry(&mut Carrier::In(&mut input), &mut table, &mut list, &mut rng)?;
            Ok::<_, io::Error>((table, list, rng.next_u64()))
        };
        assert_eq!(read(&bytes, 40_000).unwrap(), (table, list, rng.next_u64()));
        assert!(read(&bytes[..bytes.len() - 1], 40_000).is_err(), "an end that is missing");
        assert!(read(&bytes, 39_999).is_err(), "a table of another length");
        assert!(read(&[&[8], &bytes[1..]].concat(), 40_000).is_err(), "another number");
    }
}
