//! Nothing is allocated between events once queues have reached their high-water mark.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use ssdlab_sim::config::PreconditionMode;
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_hundred_thousand_requests_under_collection_allocate_nothing() {
    let mut config = Config::default();
    config.geometry.blocks_per_plane = 64;
    config.precondition.mode = PreconditionMode::Random;
    let mut ssd = Ssd::new(&config, 1, Check::Sampled).expect("a valid configuration");
    ssd.set_closed(true);
    let mut rng = stream(1, "allocation");
    let pages = ssd.capacity_bytes() / ssd.page_bytes() - 4;
    let mut run = |requests: u64| {
        for _ in 0..requests {
            if !ssd.accepts() {
                ssd.run_until_room();
            }
            let op = if below(&mut rng, 2) == 0 { RequestOp::Read } else { RequestOp::Write };
            let (offset, bytes) =
                (below(&mut rng, pages) * ssd.page_bytes(), (1 + below(&mut rng, 4)) * ssd.page_bytes());
            ssd.submit(Request { arrival: Nanos(0), op, offset, bytes });
        }
    };
    run(20_000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run(100_000);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
