//! Work on many items by all cores; by the calling thread, as far as the system gives no others.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// Threads that the system runs at a time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The results for all items, in their order: that of execution never shows.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, work(item)))
    };
    let take_all = || std::iter::from_fn(take).collect::<Vec<(usize, R)>>();
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let others = 1..cores().min(items.len());
        let threads: Vec<_> = others.map_while(|_| Builder::new().spawn_scoped(scope, take_all).ok()).collect();
        let own = take_all();
        let joined = threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(joined).collect()
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
