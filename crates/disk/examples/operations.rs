//! What data costs: `cargo run --release -p ssdlab-disk --example operations -- [--requests N] [--span MIB] [--check off|sampled|full] [--plain]`
//!
//! Runs requests of 4 KiB on the default device, seven writes to three reads, 32 at a time, in the first 64 MiB of it unless `--span`
//! says more, and prints the operations a second.
//! `--plain` runs the same requests on the simulator alone, with an observer of completions.

use std::sync::{Arc, Mutex, PoisonError};

use ssdlab_disk::{Check, Config, Disk, Nanos, RequestOp, Seed};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::{Completed, Observer, Request, Ssd, Watches};

const BLOCK: u64 = 4096;
const DEPTH: usize = 32;

/// Adds up what is reported of completions.
struct Sums(Arc<Mutex<(u64, u64)>>);

impl Observer for Sums {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sums = (sums.0 + 1, sums.1 + request.completion.0 - request.arrival.0);
    }
}

fn config() -> Result<Config, Box<dyn std::error::Error>> {
    Ok("geometry.blocks_per_plane = 64\ndevice.over_provisioning = 0.2\ngc.reserve = 2".parse::<Config>()?)
}

/// The requests: whether it is a read, and its block.
fn requests(count: u64, blocks: u64) -> impl Iterator<Item = (bool, u64)> {
    let mut draw = stream(1, "requests");
    (0..count).map(move |_| (below(&mut draw, 10) < 3, below(&mut draw, blocks)))
}

fn with_data(count: u64, blocks: u64, check: Check) -> Result<u64, Box<dyn std::error::Error>> {
    let mut disk = Disk::builder().config(config()?).seed(Seed(1)).check(check).build()?;
    let (mut open, mut sum, mut ended) = (0, 0, Vec::new());
    let data = [7; BLOCK as usize];
    let all = requests(count, blocks.min(disk.capacity_bytes() / BLOCK));
    for request in all.map(Some).chain([None]) {
        // The last ones are waited for.
        while open == DEPTH || request.is_none() && open > 0 {
            let Some(at) = disk.next_event() else { break };
            disk.advance_to(at);
            disk.completions_into(&mut ended);
            for done in &ended {
                open -= 1;
                sum += done.completed.0 - done.submitted.0 + done.data.as_ref().map_or(0, |data| u64::from(data[0]));
            }
        }
        if let Some((reads, block)) = request {
            if reads {
                disk.read(block * BLOCK, BLOCK)?;
            } else {
                disk.write(block * BLOCK, &data)?;
            }
            open += 1;
        }
    }
    Ok(sum)
}

fn plain(count: u64, blocks: u64, check: Check) -> Result<u64, Box<dyn std::error::Error>> {
    let mut ssd = Ssd::new(&config()?, 1, check)?;
    let sums = Arc::new(Mutex::new((0, 0)));
    ssd.observe(Box::new(Sums(Arc::clone(&sums))));
    let done = || sums.lock().unwrap_or_else(PoisonError::into_inner).0;
    let blocks = blocks.min(ssd.capacity_bytes() / BLOCK);
    for (submitted, (reads, block)) in (0..).zip(requests(count, blocks)) {
        while submitted - done() == DEPTH as u64 {
            ssd.run_until(ssd.next_event());
        }
        let op = if reads { RequestOp::Read } else { RequestOp::Write };
        ssd.submit(Request { arrival: ssd.now(), op, offset: block * BLOCK, bytes: BLOCK });
    }
    while ssd.next_event() < Nanos::NEVER {
        ssd.run_until(ssd.next_event());
    }
    let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(sums.1)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut count, mut blocks, mut check, mut is_plain) = (1_000_000, 64 << 8, Check::Full, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--requests" => count = arguments.next().ok_or("--requests N")?.parse()?,
            "--span" => blocks = arguments.next().ok_or("--span MIB")?.parse::<u64>()? << 8,
            "--check" => {
                check = match arguments.next().as_deref() {
                    Some("off") => Check::Off,
                    Some("sampled") => Check::Sampled,
                    Some("full") => Check::Full,
                    _ => return Err("--check off|sampled|full".into()),
                }
            }
            "--plain" => is_plain = true,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let begun = std::time::Instant::now();
    let sum = if is_plain { plain(count, blocks, check)? } else { with_data(count, blocks, check)? };
    let seconds = begun.elapsed().as_secs_f64();
    println!("{count} operations, {:.0} a second; {sum}", count as f64 / seconds);
    Ok(())
}
