//! An independent model of a FIFO device whose buses are not shared, and the engine beside it.
mod common;
use common::{Dut, config};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Request, RequestOp, Ssd};

#[test]
fn the_sampled_oracle_keeps_neighbours_apart_that_were_put_on_flash_in_no_time() {
    for preconditioned in ["", "precondition = { mode = \"aged\" }"] {
        let mut ssd = Ssd::new(&config(preconditioned), 1, Check::Sampled).unwrap();
        for lpn in 0..64 {
            ssd.submit(Request { arrival: Nanos(0), op: RequestOp::Read, offset: lpn * 4096, bytes: 4096 });
        }
        ssd.run();
    }
}
