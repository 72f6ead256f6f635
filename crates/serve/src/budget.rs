//! What one client may have in the server at a time, so that no client takes the memory of all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Requests of a client, and bytes of their data, at most. A single request is always taken.
const MOST_REQUESTS: u64 = 1024;
const MOST_DATA_BYTES: u64 = 64 << 20;

/// What a thread that panicked left is used as it is.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Taken {
    requests: u64,
    bytes: u64,
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Budget {
    taken: Mutex<Taken>,
    given: Condvar,
}

impl Budget {
    /// Waits until there is room for a request with so many bytes, and takes it.
    pub(crate) fn take(&self, bytes: u64) {
        let full = |taken: &mut Taken| {
            taken.requests > 0 && (taken.requests >= MOST_REQUESTS || taken.bytes + bytes > MOST_DATA_BYTES)
        };
        let mut taken = self.given.wait_while(locked(&self.taken), full).unwrap_or_else(PoisonError::into_inner);
        taken.requests += 1;
        taken.bytes += bytes;
    }

    /// Gives back what [`Budget::take`] took.
    pub(crate) fn give(&self, bytes: u64) {
        let mut taken = locked(&self.taken);
        taken.requests -= 1;
        taken.bytes -= bytes;
        drop(taken);
        self.given.notify_one();
    }
}
