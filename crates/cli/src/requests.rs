//! `--requests`: one row a request, in the order in which they were submitted.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::path::Path;

use ssdlab_sim::blame::CAUSES;

use crate::drive::{Completed, RequestOp};
use crate::fault::{Fault, Result};
use crate::output::{Finished, Output};

/// Rows on their way into a file. Requests complete out of order; a row waits here for those before it.
#[derive(Debug)]
pub struct Rows {
    output: Output,
    /// Submitted reads and writes without a row yet, in order.
    expected: VecDeque<u64>,
    /// Completed ones that wait for an earlier one.
    early: BTreeMap<u64, Completed>,
    line: String,
}

impl Rows {
    /// Begins a file; its name says in which form.
    pub fn create(path: &Path) -> Result<Rows> {
        if path.extension().is_none_or(|ending| ending != "csv") {
            return Err(Fault::usage(format!("--requests {}: the name does not end in .csv", path.display()))
                .help("rows are written as CSV"));
        }
        let mut output = Output::create(path)?;
        let mut line = String::from("request,arrival_ns,op,offset,bytes,start_ns,completion_ns,latency_ns");
        for (_, name) in CAUSES {
            line.push(',');
            line.push_str(name);
        }
        line.push('\n');
        output.put(line.as_bytes())?;
        Ok(Rows { output, expected: VecDeque::new(), early: BTreeMap::new(), line })
    }

    /// A read or write was submitted under this number.
    pub fn expect(&mut self, request: u64) {
        self.expected.push_back(request);
    }

    /// A request completed.
    pub fn completed(&mut self, row: Completed) -> Result<()> {
        if self.expected.front() != Some(&row.request) {
            self.early.insert(row.request, row);
            return Ok(());
        }
        self.expected.pop_front();
        self.write(&row)?;
        while let Some(next) = self.expected.front().and_then(|next| self.early.remove(next)) {
            self.expected.pop_front();
            self.write(&next)?;
        }
        Ok(())
    }

    /// Writes what is left: requests before the end of a warm-up have no row, so that later ones wait until now.
    pub fn finish(mut self) -> Result<Finished> {
        for row in std::mem::take(&mut self.early).into_values() {
            self.write(&row)?;
        }
        self.output.finish()
    }

    fn write(&mut self, row: &Completed) -> Result<()> {
        self.line.clear();
        let op = match row.op {
            RequestOp::Read => "read",
            RequestOp::Write => "write",
            RequestOp::Trim => "trim",
        };
        let _ = write!(
            self.line,
            "{},{},{},{},{},{},{},{}",
            row.request,
            row.arrival.0,
            op,
            row.offset,
            row.bytes,
            row.start.0,
            row.completion.0,
            row.completion.0 - row.arrival.0
        );
        for ns in row.blame.0 {
            let _ = write!(self.line, ",{ns}");
        }
        self.line.push('\n');
        self.output.put(self.line.as_bytes())
    }
}
