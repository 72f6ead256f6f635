//! The results of a run.

use ssdlab_sim::Config;
use ssdlab_sim::report::Summary;

use crate::drive::Device;
use crate::input::{Input, Provenance};
use crate::settings;
use crate::tree;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The summary: the contract `ssdlab.summary/1`.
    pub summary: Summary,
    /// A description of the requests, in a line or two.
    pub about: Vec<String>,
    /// Where the requests came from.
    pub provenance: Provenance,
    /// Choices that the options left open, such as the format of a trace.
    pub chosen: Option<String>,
    /// Remarks of the reader on the requests, one per line.
    pub remarks: Vec<String>,
    /// Bytes that the device exports.
    pub capacity_bytes: u64,
}

impl Outcome {
    /// The results of a device that has run all of its input.
    pub fn new(device: &Device, input: &Input, config: &Config, seed: u64) -> Outcome {
        let mut summary = device.ssd.summary(seed, settings::digest(config), input.digest());
        summary.flush_digest = input.flush_digest(config.cache.exists());
        let mut remarks = input.remarks();
        remarks.extend(idle_queues(&summary, config));
        remarks.extend(config.handles_hide_threshold().map(|note| format!("note: {note}")));
        Outcome {
            summary,
            about: input.about.clone(),
            provenance: input.provenance,
            chosen: input.chosen(),
            remarks,
            capacity_bytes: device.ssd.capacity_bytes(),
        }
    }

    /// The summary as the bytes of its file.
    pub fn json(&self) -> String {
        tree::json(&self.summary)
    }
}

/// Queues that no measured request came to: their match may have a name that nothing has.
fn idle_queues(summary: &Summary, config: &Config) -> Vec<String> {
    let tenants = summary.tenants.iter().flat_map(|tenants| &tenants.0);
    let idle = tenants.filter(|(_, of)| {
        let requests = &of.requests;
        requests.read + requests.write + requests.trim + requests.flush.unwrap_or(0) == 0
    });
    let queues = |name: &str| config.nvme.queues.iter().any(|queue| queue.name == name);
    idle.filter(|(name, _)| queues(name))
        .map(|(name, _)| format!("no measured request came to the queue {name}: see its match in nvme.queues"))
        .collect()
}
