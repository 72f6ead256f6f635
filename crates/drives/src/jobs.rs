//! The fio jobs that measure a drive.

use std::fmt::Write as _;

use crate::pattern::{PAGE, Pattern};
use crate::probe::{OTHER_READS, OUTSTANDING, PROBE, STREAMS};

/// Threads of a job of random writes.
const THREADS: u64 = 4;

/// Loads of the latencies in requests a second, seconds of each, and drive writes before them.
const LOADS: [u32; 11] = [200_000, 150_000, 130_000, 110_000, 90_000, 70_000, 50_000, 40_000, 30_000, 20_000, 10_000];
const SECONDS: u64 = 130;
const SETTLED: u64 = 3;

/// Kinds of jobs that measure latencies, as their descriptions have them, and of those that are not read.
pub(crate) const PROBES: &str = "probe";
pub(crate) const BACKGROUND: &str = "background";
pub(crate) const SETTLING: &str = "settling";

/// A pattern and its drive writes.
type Job = (Pattern, u64);

fn zone(space: u32, traffic: u32) -> Pattern {
    Pattern::Zone { space: space * 10_000, traffic: traffic * 10_000, scattered: false }
}

fn zipf(theta: f64) -> Pattern {
    Pattern::Zipf { theta, scattered: false }
}

/// What is measured. fio can't scatter a pattern, so hot pages are the first ones of the drive, and are modelled so.
fn plan(quick: bool) -> Vec<Job> {
    if quick {
        return vec![(Pattern::Uniform, 1), (zipf(1.0), 2), (zone(5, 95), 2), (zone(10, 90), 2), (zone(20, 80), 2)];
    }
    vec![
        (Pattern::Uniform, 5),
        (zipf(0.4), 5),
        (zipf(0.8), 5),
        (zipf(1.0), 6),
        (zone(40, 60), 5),
        (zone(20, 80), 6),
        (zone(10, 90), 7),
        (zone(5, 95), 8),
    ]
}

/// Percent of the writes and bytes of the parts of a drive that together are nearly a zipf: fio's own draws something else.
/// Every part but the first few has one percent.
fn zipf_parts(theta: f64, capacity: u64) -> Vec<(u32, u64)> {
    let ranks = capacity / PAGE;
    // Sums by integrals beyond the first ranks, where terms hardly change.
    let sum = |to: u64| -> f64 {
        let exact: f64 = (1..=to.min(1000)).map(|k| (k as f64).powf(-theta)).sum();
        let (a, b) = (1000.5, to as f64 + 0.5);
        let integral =
            if theta == 1.0 { (b / a).ln() } else { (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta) };
        if to > 1000 { exact + integral } else { exact }
    };
    let total = sum(ranks);
    let (mut parts, mut first, mut given) = (Vec::new(), 0, 0_u32);
    while first < ranks {
        // The smallest end whose writes round to at least one percent more than were given.
        let (mut low, mut high) = (first + 1, ranks);
        while low < high {
            let middle = low + (high - low) / 2;
            if 100.0 * sum(middle) / total >= f64::from(given) + 1.0 { high = middle } else { low = middle + 1 }
        }
        let share = if low == ranks { 100 - given } else { (100.0 * sum(low) / total) as u32 - given };
        parts.push((share, (low - first) * PAGE));
        (first, given) = (low, given + share);
    }
    parts
}

/// Lines of a job that say where it writes.
fn distribution(pattern: &Pattern, capacity: u64) -> String {
    match pattern {
        Pattern::Zone { space, traffic, .. } => {
            let (space, traffic) = (space / 10_000, traffic / 10_000);
            format!("random_distribution=zoned:{traffic}/{space}:{}/{}\n", 100 - traffic, 100 - space)
        }
        Pattern::Zipf { theta, .. } => {
            let parts = zipf_parts(*theta, capacity);
            let parts: Vec<String> = parts.into_iter().map(|(share, bytes)| format!("{share}/{bytes}")).collect();
            format!("random_distribution=zoned_abs:{}\n", parts.join(":"))
        }
        _ => String::new(),
    }
}

/// The patterns of the jobs as workload files: names without ending, and texts.
pub fn workloads(quick: bool, capacity: u64) -> Vec<(String, String)> {
    plan(quick).iter().filter_map(|(pattern, _)| pattern.workload_file(capacity / PAGE * PAGE)).collect()
}

/// A job of uniform writes that is not read, and a probe beside six streams for each load, from the highest down.
fn latencies(uniform: u64, capacity: u64) -> String {
    let mut text = String::new();
    if uniform < SETTLED {
        let bytes = capacity * (SETTLED - uniform) / THREADS / PAGE * PAGE;
        let _ = write!(
            text,
            "\n[settling]\ndescription={SETTLING},\nstonewall\nrw=randwrite\nbs=4k\niodepth=128\nnumjobs={THREADS}\nio_size={bytes}\n"
        );
    }
    let each = format!("rw=randrw\nbs=4k\niodepth={OUTSTANDING}\ntime_based=1\nruntime={SECONDS}\n");
    for load in LOADS {
        let stream = (f64::from(load) - PROBE / 2.0) / STREAMS as f64;
        let (reads, writes) = (stream * OTHER_READS, stream * (1.0 - OTHER_READS));
        let half = PROBE / 2.0;
        let _ = write!(
            text,
            "\n[probe-{load}]\ndescription={PROBES},{load}\nstonewall\n{each}rwmixread=50\nrate_iops={half},{half}\nlat_percentiles=1\n\
             percentile_list=50:99:99.9\n\n[background-{load}]\ndescription={BACKGROUND},{load}\nnew_group\n{each}rwmixread={:.0}\n\
             numjobs={STREAMS}\nrate_iops={reads:.0},{writes:.0}\nrate_process=poisson\n",
            100.0 * OTHER_READS
        );
    }
    text
}

/// The jobs as a file for fio. `capacity` in bytes, `rate` in MB/s of sequential writes; `latency`: with those that measure latencies.
pub fn text(device: &str, quick: bool, latency: bool, capacity: u64, rate: Option<f64>) -> String {
    let capacity = capacity / PAGE * PAGE;
    let plan = plan(quick);
    let fills = plan.len() as u64;
    let uniform = plan[0].1;
    let settling = if latency { SETTLED.saturating_sub(uniform) } else { 0 };
    let random = plan.iter().map(|(_, writes)| writes).sum::<u64>() + settling;
    let probes = if latency {
        let minutes = (LOADS.len() as u64 * SECONDS).div_ceil(60);
        format!("; and {minutes} minutes of reads and writes at {} loads\n", LOADS.len())
    } else {
        String::new()
    };
    let hours = rate.filter(|rate| *rate > 0.0).map_or(String::new(), |rate| {
        // Under GC most drives write at a fifth to a half of their sequential rate.
        let hours = |rate: f64, writes: u64| writes as f64 * capacity as f64 / (rate * 1e6) / 3600.0;
        let fill = hours(rate, fills);
        format!("; about {:.0} to {:.0} hours\n", fill + hours(rate / 2.0, random), fill + hours(rate / 5.0, random))
    });
    let mut text = format!(
        "; DESTROYS ALL DATA ON {device}\n\
         ; {} drive writes, {fills} of them fills\n{hours}{probes}\
         ; before the first job: nvme sanitize --sanact=2 {device}\n\
         ; run it as: fio drive.fio --output-format=json --output=drive.json\n\
         ; beside it, if the drive has the OCP log: while sleep 20; do nvme ocp smart-add-log {device} -o json | jq -c '{{time: now}} + .'; \
         done > counters.json\n\
         ; then: ssdlab calibrate identify drive.json --capacity {capacity}B -o drive.toml (counters.json after drive.json, if there is one)\n\
         [global]\nfilename={device}\nioengine=libaio\ndirect=1\nthread=1\ngroup_reporting=1\nsize={capacity}\n\
         log_avg_msec=1000\nlog_unix_epoch=1\nrandrepeat=0\nnorandommap=1\nrefill_buffers=1\n",
        fills + random
    );
    for (number, (pattern, writes)) in plan.iter().enumerate() {
        let name = format!("{}{}", pattern.name(), pattern.parameter().replace('/', "-"));
        let _ = write!(
            text,
            "\n[fill-{number}]\ndescription=sequential,\nstonewall\nexec_prerun=blkdiscard -f {device}\nrw=write\nbs=512k\n\
             iodepth=4\nwrite_bw_log=fill-{number}\n\n[{name}]\ndescription={},{}\nstonewall\nrw=randwrite\nbs=4k\niodepth=128\n\
             numjobs={THREADS}\nio_size={}\n{}write_bw_log={name}\n",
            pattern.name(),
            pattern.parameter(),
            capacity * writes / THREADS / PAGE * PAGE,
            distribution(pattern, capacity)
        );
        if latency && number == 0 {
            text += &latencies(uniform, capacity);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts cover the drive, their shares are the whole, and each has what its ranks have in a zipf.
    #[test]
    fn parts_of_a_zipf_have_its_shares() {
        for theta in [0.4, 0.8, 1.0] {
            let capacity = 10_000_000 * PAGE;
            let parts = zipf_parts(theta, capacity);
            assert_eq!(parts.iter().map(|(_, bytes)| bytes).sum::<u64>(), capacity);
            assert_eq!(parts.iter().map(|(share, _)| share).sum::<u32>(), 100);
            let mass: Vec<f64> = (1..=10_000_000_u64).map(|k| (k as f64).powf(-theta)).collect();
            let total: f64 = mass.iter().sum();
            let (mut first, mut sum, mut given) = (0, 0.0, 0.0);
            for (share, bytes) in parts {
                let last = first + (bytes / PAGE) as usize;
                sum += 100.0 * mass[first..last].iter().sum::<f64>() / total;
                given += f64::from(share);
                assert!((sum - given).abs() < 1.01, "theta {theta}: {sum} percent up to {last}, {given} were given");
                first = last;
            }
        }
    }
}
