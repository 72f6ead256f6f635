//! Settings of the dispatch window and of dies' queues (`order.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};

section! {
    /// Settings of the dispatch window.
    OrderKnobs {
        /// Sub-requests that a chip accepts, queued or in service. Further requests wait in the window. By default 8 with `piq`,
        /// `sync-piq` or `brr`, otherwise unlimited. With `raid.layout`, reads and programs for parity count too; writes that
        /// wait for their group do not.
        chip_queue: Option<u32> = None,
        /// Whether a read goes before writes that wait in the window. Writes that a read has delayed at one of their chips go before
        /// reads of that chip that come later. By default `false`, with every order.
        delay_writes: Option<bool> = None,
        /// Which operation a die serves next: `"fifo"`, `"read-first"` (reads of the host), or a list of classes. Classes that the
        /// list leaves out come last, together. Inside a class a die is a FIFO.
        [since "0.1.1"]
        die_queue: DieQueue = DieQueue::Named(NamedQueue::Fifo),
        /// After so many host reads in a row while another operation waits for the die, one of the others is served. 0 means no
        /// limit. Needs a `die_queue` other than `"fifo"`.
        [since "0.1.1"]
        read_burst: u32 = 16,
    }
}

choice! {
    /// Orders of a die's queue that have a name.
    NamedQueue("kebab-case") {
        /// By arrival at the die.
        Fifo,
        /// Host reads before all others.
        ReadFirst,
    }
}

choice! {
    /// Classes of operations that wait for a die.
    QueueClass("lowercase") {
        /// Host reads, including those of partial writes.
        Rhost,
        /// Host programs.
        Whost,
        /// GC reads.
        Rgc,
        /// GC programs and erases.
        Wgc,
        /// Write-backs of the write cache, and reads of what their lines lack.
        Cache,
        /// Folds of the cache of SLC.
        Fold,
    }
}

/// Which operation a die serves next.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected \"fifo\", \"read-first\", or a list of rhost, whost, rgc, wgc, cache, fold")]
pub enum DieQueue {
    /// An order with a name.
    Named(NamedQueue),
    /// Classes in the order in which they are served.
    Classes(Vec<QueueClass>),
}

impl DieQueue {
    /// Classes in the order in which they are served; none for one FIFO.
    pub fn classes(&self) -> Option<&[QueueClass]> {
        match self {
            DieQueue::Named(NamedQueue::Fifo) => None,
            DieQueue::Named(NamedQueue::ReadFirst) => Some(&[QueueClass::Rhost]),
            DieQueue::Classes(classes) => Some(classes),
        }
    }
}

impl Config {
    /// Sub-requests that a chip accepts before further requests wait in the window.
    pub fn chip_queue(&self) -> Option<u32> {
        let own = self.order.chip_queue.or(self.schemes.order.policy_ref().chip_queue());
        own.or(self.schemes.route.chip_queue())
    }

    /// Whether reads go before writes that wait in the window.
    pub fn delays_writes(&self) -> bool {
        self.order.delay_writes.unwrap_or(false)
    }

    /// Checks what a chip accepts.
    pub(super) fn check_chip_queue(&self) -> Result<(), ConfigError> {
        if self.order.chip_queue == Some(0) {
            return refuse(
                "order.chip_queue",
                "a chip must accept at least one sub-request".into(),
                "use 1 or more, or leave it out",
            );
        }
        Ok(())
    }

    /// Checks the order of a die's queue.
    pub(super) fn check_die_queue(&self) -> Result<(), ConfigError> {
        let key = "order.die_queue";
        let Some(classes) = self.order.die_queue.classes() else {
            if self.order.read_burst != OrderKnobs::default().read_burst {
                let message = "a limit of reads in a row, but a die is one FIFO".to_string();
                return refuse("order.read_burst", message, "use order.die_queue = \"read-first\", or leave it out");
            }
            return Ok(());
        };
        if classes.is_empty() {
            return refuse(key, "an empty list of classes".into(), "use \"fifo\", or list a class such as \"rhost\"");
        }
        if let Some(i) = (1..classes.len()).find(|i| classes[..*i].contains(&classes[*i])) {
            return refuse(key, format!("class {} of the list is there twice", i + 1), "list each class once");
        }
        if !self.noc.priority().is_empty() {
            let message = "an interconnect's task queues (noc.priority) order the same operations".to_string();
            return refuse(key, message, "use \"fifo\", or noc.priority = []");
        }
        Ok(())
    }
}
