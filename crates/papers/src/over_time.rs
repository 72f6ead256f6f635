//! Figures over time: of a workload by itself, and of a run window by window.

use std::sync::{Arc, Mutex};

use ssdlab_lab::input::find_workload;
use ssdlab_lab::variants::student::{deviation, mean};
use ssdlab_sim::config::Config;
use ssdlab_sim::{Check, Completed, Observer, Request, RequestOp, Ssd, Watches};
use ssdlab_trace::{Op, Record};

/// Number of requests of a model that are examined.
const REQUESTS: u64 = 200_000;

fn records(workload: &str, capacity: u64, page: u64, limit: u64) -> Option<Vec<Record>> {
    let (_, spec) = find_workload(workload).ok()?;
    Some(spec.build(capacity, page, 1, Some(limit)).ok()?.collect())
}

/// Variation of the number of requests per window: standard deviation over mean in 100 equal windows, for all requests, for
/// reads and for writes. Requests at random times would have 1 / sqrt(mean).
pub(crate) fn variation(workload: &str) -> Option<[f64; 3]> {
    const WINDOWS: usize = 100;
    let records = records(workload, 1 << 40, 4096, REQUESTS)?;
    let end = records.last()?.time_ns + 1;
    let mut counts = [[0.0; WINDOWS]; 3];
    for record in &records {
        let window = (u128::from(record.time_ns) * WINDOWS as u128 / u128::from(end)) as usize;
        counts[0][window] += 1.0;
        counts[1 + usize::from(record.op == Op::Write)][window] += 1.0;
    }
    let spread = |counts: &[f64; WINDOWS]| match mean(counts) {
        0.0 => 0.0,
        mean => deviation(counts).unwrap_or(0.0) / mean,
    };
    Some([spread(&counts[0]), spread(&counts[1]), spread(&counts[2])])
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Completed>>>);

impl Observer for Log {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        if let Ok(mut log) = self.0.lock() {
            log.push(request.clone());
        }
    }
}

pub(crate) struct Window {
    /// Completed requests per second.
    pub(crate) iops: f64,
    /// Share of its requests' latency spent waiting for GC.
    pub(crate) gc: f64,
}

/// A workload as fast as the device takes it, in windows of `each` requests.
pub(crate) fn iops(config: &Config, workload: &str, limit: u64, each: usize) -> Option<Vec<Window>> {
    let mut ssd = Ssd::new(config, 1, Check::Sampled).ok()?;
    let log = Log::default();
    ssd.observe(Box::new(log.clone()));
    ssd.set_closed(true);
    for record in records(workload, ssd.capacity_bytes(), ssd.page_bytes(), limit)? {
        let op = if record.op == Op::Read { RequestOp::Read } else { RequestOp::Write };
        if !ssd.accepts() {
            ssd.run_until_room();
        }
        let arrival = ssd.now();
        ssd.submit(Request { arrival, op, offset: record.offset, bytes: record.bytes });
    }
    ssd.run();
    let done = log.0.lock().ok()?;
    let window = |requests: &[Completed]| {
        let (first, last) = (requests.first()?.completion.0, requests.last()?.completion.0);
        let time: u64 = requests.iter().map(|one| (one.completion - one.arrival).0).sum();
        let gc: u64 = requests.iter().map(|one| one.blame.by_gc()).sum();
        let iops = (requests.len() - 1) as f64 * 1e9 / (last - first).max(1) as f64;
        Some(Window { iops, gc: gc as f64 / time.max(1) as f64 })
    };
    done.chunks_exact(each).map(window).collect()
}
