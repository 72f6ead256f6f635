//! Queues of the host (`nvme.*`), and which requests they take.

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError, RaidLayout};
use crate::request::RequestOp;
use crate::units::Bytes;

/// Most queues, and most tenants.
pub const MOST_QUEUES: usize = 16;

choice! {
    /// Which queue gets a free slot.
    Arbitration("lowercase") {
        /// There is one queue.
        None,
        /// Round robin.
        Rr,
        /// Weighted round robin with an urgent class.
        Wrr,
    }
}
choice! {
    /// Priority of a queue.
    QueuePriority("lowercase") {
        /// Before all others, and without credit.
        Urgent,
        /// Before medium.
        High,
        /// Before low.
        Medium,
        /// After all others.
        Low,
    }
}
choice! {
    /// Kinds of requests.
    OpName("lowercase") {
        /// Reads.
        Read,
        /// Writes.
        Write,
        /// Trims.
        Trim,
        /// Flushes.
        Flush,
    }
}

/// A range of bytes, such as `"0B..8GiB"` or `"8GiB.."`; the end is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteRange {
    from: Bytes,
    to: Option<Bytes>,
}

impl TryFrom<String> for ByteRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = || format!("`{text}` is not a range of bytes: expected for example \"0B..8GiB\", or \"8GiB..\"");
        let (from, to) = text.split_once("..").ok_or_else(expected)?;
        let from: Bytes = from.parse()?;
        let to: Option<Bytes> = if to.is_empty() { None } else { Some(to.parse()?) };
        if to.is_some_and(|to| to.0 <= from.0) {
            return Err(format!("`{text}` is an empty range of bytes"));
        }
        Ok(ByteRange { from, to })
    }
}

impl From<ByteRange> for String {
    fn from(range: ByteRange) -> String {
        format!("{}..{}", range.from, range.to.map_or(String::new(), |to| to.to_string()))
    }
}

impl ByteRange {
    /// The first byte, and the one after the last; none without an end.
    pub fn bounds(&self) -> (u64, Option<u64>) {
        (self.from.0, self.to.map(|to| to.0))
    }

    pub(super) fn contains(&self, byte: u64) -> bool {
        byte >= self.from.0 && self.to.is_none_or(|to| byte < to.0)
    }
}

#[cfg(feature = "schema")]
crate::schema::text_forms! {
    ByteRange: { "type": "string", "pattern": r"^[^.]+[.]{2}[^.]*$", "examples": ["0B..8GiB", "8GiB.."] },
}

/// Which requests a queue takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// All that match no queue before it.
    Rest,
    /// Those of these tenants.
    Tenant(Vec<String>),
    /// Those of these devices (disk, volume, unit or ASU) of the trace.
    Device(Vec<String>),
    /// Those of these streams of the trace, or of a generated workload.
    Stream(Vec<String>),
    /// Those whose first byte lies in a range.
    Lba(ByteRange),
    /// Those of a kind.
    Op(OpName),
}

fn medium() -> QueuePriority {
    QueuePriority::Medium
}

fn one() -> u32 {
    1
}

/// A queue of the host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NvmeQueue {
    /// Its name, which is that of its tenant.
    pub name: String,
    /// Its priority with `"wrr"`.
    #[serde(default = "medium")]
    pub class: QueuePriority,
    /// Its credits a round with `"wrr"`: commands beside those of the other queues.
    #[serde(default = "one")]
    pub weight: u32,
    /// Its most commands in the device; `device.queue_depth` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Which requests it takes; by default those of the tenant of its name.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub takes: Option<Match>,
}

section! {
    /// The host's queues in front of the device (NVMe).
    #[derive(PartialEq)]
    Nvme {
        /// Which queue gets a free slot: `"none"` (one queue), `"rr"` (round robin), or `"wrr"` (weighted round robin with an urgent
        /// class).
        [since "0.1.1"]
        arbitration: Arbitration = Arbitration::None,
        /// Commands taken from a queue at its turn.
        [since "0.1.1"]
        burst: u32 = 1,
        /// The queues. A request goes to the first one that it matches.
        [since "0.1.1"]
        queues: Vec<NvmeQueue> = Vec::new(),
    }
}

/// The names that a request may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names<'n> {
    /// Its tenant.
    pub tenant: Option<&'n str>,
    /// Its device of the trace.
    pub device: Option<&'n str>,
    /// Its stream of the trace or the workload.
    pub stream: Option<&'n str>,
}

impl Nvme {
    /// Whether there are queues.
    pub fn arbitrates(&self) -> bool {
        self.arbitration != Arbitration::None
    }

    /// The queue of a request: the first one that it matches; none if it matches none.
    pub fn queue_of(&self, names: Names<'_>, op: RequestOp, offset: u64) -> Option<u8> {
        let Names { tenant, device, stream } = names;
        let of =
            |names: &[String], name: Option<&str>| name.is_some_and(|name| names.iter().any(|other| other == name));
        let takes = |queue: &NvmeQueue| match &queue.takes {
            None => tenant == Some(queue.name.as_str()),
            Some(Match::Rest) => true,
            Some(Match::Tenant(names)) => of(names, tenant),
            Some(Match::Device(names)) => of(names, device),
            Some(Match::Stream(names)) => of(names, stream),
            Some(Match::Lba(range)) => range.contains(offset),
            Some(Match::Op(kind)) => {
                let kinds = [
                    (OpName::Read, RequestOp::Read),
                    (OpName::Write, RequestOp::Write),
                    (OpName::Trim, RequestOp::Trim),
                    (OpName::Flush, RequestOp::Flush),
                ];
                kinds.contains(&(*kind, op))
            }
        };
        self.queues.iter().position(takes).map(|queue| queue as u8)
    }
}

impl Config {
    /// Names of the tenants: those of the queues; none without queues.
    pub fn tenants(&self) -> Vec<String> {
        let queues = if self.nvme.arbitrates() { self.nvme.queues.as_slice() } else { &[] };
        queues.iter().map(|queue| queue.name.clone()).collect()
    }

    /// Checks the host's queues.
    pub(super) fn check_nvme(&self) -> Result<(), ConfigError> {
        let (nvme, key) = (&self.nvme, "nvme.queues");
        if !nvme.arbitrates() {
            if !nvme.queues.is_empty() {
                let message = format!("{} queues, but nothing arbitrates between them", nvme.queues.len());
                return refuse("nvme.arbitration", message, "use \"rr\" or \"wrr\", or leave the queues out");
            }
            if nvme.burst != Nvme::default().burst {
                let message = "commands at a turn, but nothing arbitrates".to_string();
                return refuse("nvme.burst", message, "use nvme.arbitration = \"rr\" or \"wrr\", or leave it out");
            }
            return Ok(());
        }
        if nvme.queues.is_empty() || nvme.queues.len() > MOST_QUEUES {
            let message = format!("{} queues", nvme.queues.len());
            return refuse(
                key,
                message,
                format!("list 1 to {MOST_QUEUES}, such as [{{ name = \"db\", match = \"rest\" }}]"),
            );
        }
        if !(1..=128).contains(&nvme.burst) {
            return refuse("nvme.burst", format!("{} commands at a turn", nvme.burst), "use 1 to 128");
        }
        (0..nvme.queues.len()).try_for_each(|i| self.check_queue(i))?;
        self.check_tenants("nvme.arbitration = \"none\"")
    }

    /// Checks a queue.
    fn check_queue(&self, i: usize) -> Result<(), ConfigError> {
        let (nvme, key) = (&self.nvme, "nvme.queues");
        let queue = &nvme.queues[i];
        if queue.name.is_empty() || nvme.queues[..i].iter().any(|other| other.name == queue.name) {
            let message = format!("the name {:?} of queue {} is empty or used twice", queue.name, i + 1);
            return refuse(key, message, "give each queue a name of its own");
        }
        // It is the name of a tenant, in files of results and in the names of columns.
        if !queue.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            let message = format!("the name {:?} of queue {} is none for files of results", queue.name, i + 1);
            return refuse(key, message, "use letters, digits, `-`, `_` and `.` only");
        }
        let none =
            |takes: &Match| matches!(takes, Match::Tenant(of) | Match::Device(of) | Match::Stream(of) if of.is_empty());
        if queue.takes.as_ref().is_some_and(none) {
            let message = format!("queue {} would take no request: its match is an empty list", queue.name);
            return refuse(key, message, "list the names that it takes, or use match = \"rest\"");
        }
        if queue.weight == 0 {
            let message = format!("queue {} would never have credit", queue.name);
            return refuse(key, message, "use weight = 1 or more");
        }
        if queue.depth.is_some_and(|depth| depth == 0 || depth > self.device.queue_depth) {
            let message = format!("queue {} has a depth that is not 1 to {}", queue.name, self.device.queue_depth);
            return refuse(key, message, "use at most device.queue_depth, or leave it out");
        }
        Ok(())
    }

    /// Rejects what can't be simulated with tenants; `otherwise` is the way to do without them.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check_tenants(&self, otherwise: &str) -> Result<(), ConfigError> {
        let others = [(self.raid.layout != RaidLayout::None, "raid.layout"), (self.noc.exists(), "noc.model")];
        match others.into_iter().find(|(used, _)| *used) {
            None => Ok(()),
            Some((_, other)) => {
                let message = "what tenants cost each other is not simulated with it".to_string();
                refuse(other, message, format!("use \"none\", or {otherwise}"))
            }
        }
    }
}
