//! Nanoseconds a generated request, for each workload named on the command line (default: all).
//!
//! `cargo run --release -p ssdlab-trace --example workload_speed [NAME ...]`

use std::time::Instant;

use ssdlab_trace::workload::{SpecError, all};

const REQUESTS: u64 = 10_000_000;

fn main() -> Result<(), SpecError> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for w in all() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == w.name) {
            continue;
        }
        let mut spec = w.spec.clone();
        spec.scale = true;
        for phase in &mut spec.phases {
            phase.requests = Some(REQUESTS);
        }
        let start = Instant::now();
        let generator = spec.build(16 << 30, 4096, 1, Some(REQUESTS))?;
        let build = start.elapsed();
        let start = Instant::now();
        // A checksum keeps the work from being optimised away.
        let sum = generator.fold(0, |sum: u64, r| sum ^ r.offset ^ r.time_ns ^ r.bytes);
        let each = start.elapsed().as_secs_f64() * 1e9 / REQUESTS as f64;
        println!("{:20} {each:6.1} ns a request, {build:?} to build, checksum {sum:x}", w.name);
    }
    Ok(())
}
