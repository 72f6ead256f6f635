//! The interconnect between flash controllers and CPU (`noc.*`).

use serde::{Deserialize, Serialize};

use super::error::refuse;
use super::{Config, ConfigError};
use crate::device::spec::NocSpec;
use crate::policy::Requirement;
use crate::units::Nanos;

/// Longest time of one step across the interconnect.
const LONGEST_CROSSING: Nanos = Nanos(1_000_000_000);
/// Most rows or columns of an interconnect.
const MOST_SEGMENTS: u32 = 1 << 16;

choice! {
    /// Model of the interconnect between the flash controllers' buffers and the CPU.
    NocModel("lowercase") {
        /// No interconnect: a page is in the controller once it has left the channel.
        None,
        /// A traversal takes (page bits / `flit_bits` + `mean_slices` - 1) x `cycle`, rounded half up.
        Formula,
        /// An array of routing slices: a traversal takes (page bits / `flit_bits` + slices on its path - 1) x `cycle`, and
        /// occupies one of the `rows` for that time.
        Array,
    }
}

choice! {
    /// How a traversal uses its channel's port.
    PortRule("lowercase") {
        /// It occupies the port.
        Occupied,
        /// It takes time, but leaves the port free for other pages.
        Delayed,
    }
}

choice! {
    /// The four task queues of a channel.
    Task("lowercase") {
        /// Host reads, including those of partial writes.
        Rhost,
        /// Host writes.
        Whost,
        /// GC reads.
        Rgc,
        /// GC programs and erases.
        Wgc,
    }
}

section! {
    /// The interconnect between the flash controllers at the channels and the CPU, where host data and error correction are.
    Noc {
        /// Model of the interconnect. By default there is none, and the other keys of this section have no effect.
        model: NocModel = NocModel::None,
        /// Time from one routing slice to the next.
        cycle: Nanos = Nanos(87),
        /// Bits that move at once.
        flit_bits: u32 = 4,
        /// `formula`: mean number of routing slices that a page passes; at most three decimals count.
        mean_slices: f64 = 13.5,
        /// `array`: columns of slices, over which the channels' ports are spread evenly.
        columns: u32 = 16,
        /// `array`: rows of slices, each with a CPU port at its end.
        rows: u32 = 8,
        /// How a traversal uses its channel's port.
        port: PortRule = PortRule::Occupied,
        /// Time to write a page into the flash controller's buffer.
        sram_write: Nanos = Nanos(12_000),
        /// Time to read a page from the flash controller's buffer.
        sram_read: Nanos = Nanos(12_000),
        /// Task queues of a unit of exclusion in priority order: the first that is not empty is served. An empty list means one
        /// FIFO. By default `["rhost", "whost", "rgc", "wgc"]`.
        priority: Option<Vec<Task>> = None,
    }
}

impl Noc {
    /// Whether there is an interconnect.
    pub fn exists(&self) -> bool {
        self.model != NocModel::None
    }

    /// Task queues in priority order; empty for one FIFO.
    pub fn priority(&self) -> &[Task] {
        const PAPER: [Task; 4] = [Task::Rhost, Task::Whost, Task::Rgc, Task::Wgc];
        match &self.priority {
            Some(list) => list,
            None if self.exists() => &PAPER,
            None => &[],
        }
    }
}

impl Config {
    /// Checks the interconnect, and that paths which need one have it.
    pub(super) fn check_noc(&self) -> Result<(), ConfigError> {
        let noc = &self.noc;
        self.check_task_queues()?;
        if !noc.exists() {
            let paths = self.schemes.path.chain().flat_map(|path| path.policy_ref().needs());
            return self.check_needs(paths.filter(|need| need.what == Requirement::Interconnect));
        }
        for (key, time) in
            [("noc.cycle", noc.cycle), ("noc.sram_write", noc.sram_write), ("noc.sram_read", noc.sram_read)]
        {
            if time.0 > LONGEST_CROSSING.0 {
                return refuse(key, format!("{time} is longer than a second"), "check the unit");
            }
        }
        if noc.cycle == Nanos::ZERO {
            let message = "a page would cross the interconnect in no time".to_string();
            return refuse("noc.cycle", message, "use for example \"87ns\", or noc.model = \"none\"");
        }
        let bits = self.geometry.page_size.0 * 8;
        if noc.flit_bits == 0 || u64::from(noc.flit_bits) > bits {
            let message = format!("{} bits at once; a page has {bits}", noc.flit_bits);
            return refuse("noc.flit_bits", message, "use for example 4");
        }
        if !(1.0..=1e6).contains(&noc.mean_slices) {
            let message = format!("{} slices: a page passes at least one", noc.mean_slices);
            return refuse("noc.mean_slices", message, "use for example 13.5");
        }
        if noc.model == NocModel::Array { self.check_array() } else { Ok(()) }
    }

    /// Checks the order of task queues.
    fn check_task_queues(&self) -> Result<(), ConfigError> {
        let noc = &self.noc;
        if let Some(list) = &noc.priority {
            if !noc.exists() {
                let message = "task queues need an interconnect".to_string();
                return refuse("noc.priority", message, "set noc.model = \"formula\" or \"array\", or leave it out");
            }
            let all = [Task::Rhost, Task::Whost, Task::Rgc, Task::Wgc].iter().all(|task| list.contains(task));
            let complete = all && list.len() == 4;
            if !complete && !list.is_empty() {
                let message = format!("{} task queues listed; each of the four must be listed once", list.len());
                let help = "list \"rhost\", \"whost\", \"rgc\", \"wgc\" once each, or nothing for one FIFO";
                return refuse("noc.priority", message, help);
            }
        }
        Ok(())
    }

    /// Checks an array of routing slices.
    fn check_array(&self) -> Result<(), ConfigError> {
        let noc = &self.noc;
        if noc.columns < self.geometry.channels || noc.columns > MOST_SEGMENTS {
            let message = format!("{} columns for the ports of {} channels", noc.columns, self.geometry.channels);
            return refuse("noc.columns", message, format!("use {} or more", self.geometry.channels));
        }
        if noc.rows == 0 || noc.rows > MOST_SEGMENTS {
            return refuse("noc.rows", format!("{} rows", noc.rows), "use 1 or more, for example 8");
        }
        if noc.port == PortRule::Delayed {
            let message = "an array models pages that block each other, but delayed ports block nothing".to_string();
            return refuse("noc.port", message, "use \"occupied\", or noc.model = \"formula\"");
        }
        Ok(())
    }

    /// None without an interconnect.
    pub(crate) fn noc_spec(&self) -> Option<NocSpec> {
        let noc = &self.noc;
        noc.exists().then(|| NocSpec {
            flit_bits: noc.flit_bits,
            cycle: noc.cycle,
            mean_slices: noc.mean_slices,
            columns: noc.columns,
            rows: if noc.model == NocModel::Array { noc.rows } else { 0 },
            delayed: noc.port == PortRule::Delayed,
            sram_write: noc.sram_write,
            sram_read: noc.sram_read,
            decode: self.ecc.decode,
        })
    }
}
