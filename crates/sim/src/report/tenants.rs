//! Results by tenant.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Breakdown, ByOp, Figures, HostBytes, total};

/// Requests of a tenant by kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Requests {
    /// Measured reads.
    pub read: u64,
    /// Measured writes.
    pub write: u64,
    /// Measured trims.
    pub trim: u64,
    /// Measured flushes; absent without a write cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<u64>,
}

/// Pages of a tenant by direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pages {
    /// Pages of reads.
    pub read: u64,
    /// Pages of writes.
    pub written: u64,
}

/// Results of a tenant. Sums over tenants are those of the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Tenant {
    /// Requests by kind.
    pub requests: Requests,
    /// Pages by direction.
    pub pages: Pages,
    /// Bytes of requests.
    pub bytes: HostBytes,
    /// Completion - arrival.
    pub latency_ns: ByOp<Figures>,
    /// The sum of a request's wait causes.
    pub waiting_ns: ByOp<Figures>,
    /// Total time by cause.
    pub breakdown_ns: ByOp<Breakdown>,
    /// Reads and writes per second of simulated time.
    pub iops: Option<f64>,
    /// Pages programmed for its writes: their data, metadata of blocks that they fill, and second copies of its pages.
    pub programs: u64,
    /// Pages that GC programmed for its data: copybacks, metadata of blocks that these fill, and skipped pages are included.
    pub gc_programs: u64,
    /// Both / its pages written.
    pub write_amplification: Option<f64>,
    /// Bytes of both / bytes that it wrote.
    pub write_amplification_bytes: Option<f64>,
    /// Its mean latency / that with the device for itself. Absent unless it also ran alone, null if either had nothing to measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Option<f64>>,
}

/// Tenants by name, in order.
#[derive(Clone, Debug)]
pub struct Tenants(pub Vec<(String, Tenant)>);

impl Serialize for Tenants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, tenant)| map.serialize_entry(name, tenant))?;
        map.end()
    }
}

/// A sum of times.
struct Ns(u128);

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        total(&self.0, serializer)
    }
}

/// By victim and aggressor: time that requests of the victim waited for dies and channels which served the aggressor. A row sums to
/// the victim's `die_host` and `bus_host`.
#[derive(Clone, Debug)]
pub struct Interference(pub Vec<(String, Vec<(String, u128)>)>);

impl Serialize for Interference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Row<'r>(&'r [(String, u128)]);
        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(self.0.len()))?;
                self.0.iter().try_for_each(|(name, ns)| map.serialize_entry(name, &Ns(*ns)))?;
                map.end()
            }
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, row)| map.serialize_entry(name, &Row(row)))?;
        map.end()
    }
}

/// How evenly tenants are served; 1 is even.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Jain's index of the tenants' bytes: (sum)^2 / (n x sum of squares).
    pub throughput: Option<f64>,
    /// The least slowdown / the largest. Absent unless tenants also ran alone, null if one of them has no slowdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Option<f64>>,
}

/// Adds the slowdowns of tenants, given their mean latencies with the device for themselves.
pub fn compare_alone(tenants: &mut Tenants, fairness: &mut Fairness, alone: &[Option<f64>]) {
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    for ((_, tenant), alone) in tenants.0.iter_mut().zip(alone) {
        let both = tenant.latency_ns.all.mean.zip(*alone);
        tenant.slowdown = Some(both.and_then(|(mean, alone)| ratio(mean, alone)));
    }
    let all: Option<Vec<f64>> = tenants.0.iter().map(|(_, tenant)| tenant.slowdown.flatten()).collect();
    let ends = all.and_then(|all| {
        let least = all.iter().copied().reduce(f64::min)?;
        Some((least, all.iter().copied().reduce(f64::max)?))
    });
    fairness.slowdown = Some(ends.and_then(|(least, largest)| ratio(least, largest)));
}

/// Jain's index.
pub fn jain(values: &[u128]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0f64, 0f64), |(sum, squares), value| {
        let value = *value as f64;
        (sum + value, squares + value * value)
    });
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}
