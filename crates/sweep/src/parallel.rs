//! Work on many items by all cores; by the calling thread, as far as the system gives no others.

use std::panic::resume_unwind;
use std::thread::Builder;

/// Threads that the system runs at a time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The results for all items, in their order. Each core takes as many neighbours as the others.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    let share = items.len().div_ceil(cores()).max(1);
    std::thread::scope(|scope| {
        let all = |part: &[T]| part.iter().map(work).collect::<Vec<R>>();
        let begun: Vec<_> = items
            .chunks(share)
            .map(|part| Builder::new().spawn_scoped(scope, move || all(part)).map_err(|_| part))
            .collect();
        let joined = begun.into_iter().map(|part| match part {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(part) => all(part),
        });
        joined.flatten().collect()
    })
}
