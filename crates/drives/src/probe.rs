//! Latencies of a device beside a load of random writes, measured as drives are in the measurements of `docs/drives.md`: a probe at fixed
//! gaps, half of it reads, and six streams of writes at random times, 64 requests outstanding each.

use ssdlab_lab::error::Result;
use ssdlab_lab::input::{Origin, Region, Requests, Tenant};
use ssdlab_lab::run::{How, Outputs, Run};
use ssdlab_lab::settings::Settings;
use ssdlab_sim::Check;
use ssdlab_sim::report::Figures;

/// Requests a second of the probe.
pub const PROBE: f64 = 10_000.0;
/// Streams beside it, the share of reads in them, and requests outstanding of each.
pub(crate) const STREAMS: usize = 6;
pub(crate) const OTHER_READS: f64 = 0.01;
pub(crate) const OUTSTANDING: u32 = 64;
/// Seconds of a load: some fifteen thousand reads of the probe.
pub const SECONDS: f64 = 3.0;

/// Percentiles 50, 99 and 99.9 in microseconds.
pub type Percentiles = [f64; 3];

/// What the probe measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Of its reads.
    pub read: Percentiles,
    /// Of its writes.
    pub write: Percentiles,
    /// Writes a second of all streams.
    pub writes: f64,
}

/// Writes a second of a load: the probe is half of it reads, and the six streams, which send 5,000 less than the load says, one in a hundred.
pub fn writes_of(load: f64) -> f64 {
    PROBE / 2.0 + (1.0 - OTHER_READS) * (load - PROBE / 2.0).max(0.0)
}

fn tenant(name: &str, reads: f64, arrivals: &str, seconds: f64) -> Tenant {
    let text = format!(
        "duration = \"{seconds}s\"\nread = {reads}\nwrite = {}\nsize = \"4KiB\"\npattern = \"uniform\"\narrivals = {arrivals}\n",
        1.0 - reads
    );
    let requests = Requests::new(Origin::Spec(text));
    Tenant { name: name.into(), requests, place: Region::Shared, depth: None, outstanding: Some(OUTSTANDING) }
}

/// Simulates a device, given as the TOML of its configuration, under so many requests a second for so long. Above what the device can
/// do its requests come late, and the run takes longer.
///
/// # Errors
/// The device can't be built.
pub fn measure(config: &str, load: f64, seconds: f64, seed: u64) -> Result<Measured> {
    let settings = Settings::parse("the device of a drive", config)?;
    let mut tenants = vec![tenant("probe", 0.5, &format!("{{ fixed = {{ rate = {PROBE} }} }}"), seconds)];
    let rate = (load - PROBE / 2.0) / STREAMS as f64;
    let writes = format!("{{ poisson = {{ rate = {} }} }}", rate.round().max(1.0));
    tenants.extend((1..=STREAMS).map(|i| tenant(&format!("writes {i}"), OTHER_READS, &writes, seconds)));
    let how = How { seed, check: Check::Off, ..How::default() };
    let requests = Requests::new(Origin::Tenants(tenants));
    let done = Run::new(settings, how, ssdlab_lab::perf::Moment::now())?
        .open(&requests)?
        .simulate(&Outputs::default(), &mut ())?;
    let summary = &done.outcome.summary;
    let all = summary.tenants.as_ref().map_or(&[][..], |tenants| &tenants.0);
    let us = |value: Option<u64>| value.unwrap_or(0) as f64 / 1000.0;
    let percentiles = |of: &Figures| [us(of.p50), us(of.p99), us(of.p99_9)];
    let probe = all.first().map_or([[0.0; 3]; 2], |(_, probe)| {
        [percentiles(&probe.latency_ns.read), percentiles(&probe.latency_ns.write)]
    });
    let written: u64 = all.iter().map(|(_, tenant)| tenant.requests.write).sum();
    let writes = written as f64 * 1e9 / summary.simulated_ns.max(1) as f64;
    Ok(Measured { read: probe[0], write: probe[1], writes })
}
