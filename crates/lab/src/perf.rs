//! The cost of the simulation itself. None of it appears in any result.

use std::time::{Duration, Instant};

use serde::Serialize;
use ssdlab_sim::Shortcuts;

/// Clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    wall: Instant,
    cpu: Duration,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Moment { wall: Instant::now(), cpu: cpu_time() }
    }
}

/// `--perf`
#[derive(Clone, Debug, Serialize)]
pub struct Perf {
    /// Wall time since the start of the process's work.
    pub wall_s: f64,
    /// CPU time of the whole process, all threads.
    pub cpu_s: f64,
    /// CPU time of the replay alone, without building and filling the device.
    pub simulate_cpu_s: f64,
    /// Requests simulated.
    pub requests: u64,
    /// Reads, programs, erases and copybacks executed.
    pub flash_operations: u64,
    /// Flash operations per CPU second of the whole process.
    pub flash_operations_per_cpu_s: f64,
    /// Peak resident memory; null where the system does not report it.
    pub peak_rss_bytes: Option<u64>,
    /// Shortcuts of the simulation, as they were during the replay: which are open, and what closes the others; null unless `--perf`
    /// asks, because it takes longer to find than a short run.
    pub shortcuts: Option<Shortcuts>,
}

impl Perf {
    /// The cost so far.
    pub fn measure(
        start: Moment,
        simulation: (Moment, Moment),
        requests: u64,
        flash_operations: u64,
        shortcuts: Option<Shortcuts>,
    ) -> Perf {
        let now = Moment::now();
        let cpu_s = now.cpu.as_secs_f64();
        Perf {
            wall_s: (now.wall - start.wall).as_secs_f64(),
            cpu_s,
            simulate_cpu_s: (simulation.1.cpu.saturating_sub(simulation.0.cpu)).as_secs_f64(),
            requests,
            flash_operations,
            flash_operations_per_cpu_s: if cpu_s > 0.0 { flash_operations as f64 / cpu_s } else { 0.0 },
            peak_rss_bytes: peak_rss(),
            shortcuts,
        }
    }
}

/// CPU time of the process, all threads.
#[cfg(unix)]
fn cpu_time() -> Duration {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

/// CPU time of this thread.
#[cfg(unix)]
pub fn thread_cpu() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime)
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(id);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// CPU time of this thread.
#[cfg(not(unix))]
pub fn thread_cpu() -> Duration {
    Duration::ZERO
}

/// Bytes that a file of Linux gives in kB behind a label.
fn kilobytes(file: &str, label: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Peak resident memory of the process, as Linux reports it.
pub fn peak_rss() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// Four fifths of the available memory; none where the system does not report it.
pub fn memory_limit() -> Option<u64> {
    Some(kilobytes("/proc/meminfo", "MemAvailable:")? / 5 * 4)
}
