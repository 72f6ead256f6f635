//! The recording of a session: every request that the drive got, with its time of arrival, as a trace in the form of blkparse, which
//! has nanoseconds, trims, flushes and forced unit access.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use ssdlab_disk::{Completion, RequestOp};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::trace_op;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Completed, Observer, Watches};
use ssdlab_trace::{Format, Names, Record, Trace, Writer};

use crate::budget::locked;

/// Where it goes: a file of the user, or one that nobody sees.
enum Target {
    Named(Output),
    Unnamed(BufWriter<File>),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Target::Named(output) => output.write(bytes),
            Target::Unnamed(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Target::Named(output) => output.flush(),
            Target::Unnamed(file) => file.flush(),
        }
    }
}

/// A recording being written.
pub(crate) struct Recording {
    writer: Writer<Target>,
    name: String,
    /// When it ends.
    until: Nanos,
}

/// A complete recording: to be replayed, and the file of the user, not visible yet.
pub(crate) struct Recorded {
    pub(crate) trace: Trace,
    pub(crate) file: Option<Finished>,
    /// Requests that complete from this time on are not those of the session.
    pub(crate) until: Nanos,
}

impl Recording {
    pub(crate) fn create(path: Option<&Path>) -> Result<Recording> {
        let target = match path {
            Some(path) => Target::Named(Output::create(path)?),
            None => {
                let folder = std::env::temp_dir();
                let file = tempfile::tempfile().map_err(|error| Error::file("write to", &folder, &error))?;
                Target::Unnamed(BufWriter::with_capacity(1 << 16, file))
            }
        };
        let base = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let name = base.unwrap_or_else(|| "this session".into());
        let format: Format = "blkparse".parse().map_err(|error| Error::usage(format!("blkparse: {error}")))?;
        Ok(Recording { writer: Writer::new(target, &name, format)?, name, until: Nanos::NEVER })
    }

    /// Ends it before what happens at `at`: a run can't repeat what comes then. Requests that have completed before are those of the
    /// session.
    pub(crate) fn end_at(&mut self, at: Nanos) {
        self.until = self.until.min(at);
    }

    /// Whether requests are still added.
    pub(crate) fn is_open(&self) -> bool {
        self.until == Nanos::NEVER
    }

    /// Adds a request, unless the recording has ended.
    pub(crate) fn add(&mut self, at: Nanos, op: RequestOp, offset: u64, bytes: u64, fua: bool) -> Result<()> {
        if !self.is_open() {
            return Ok(());
        }
        let record = Record { time_ns: at.0, offset, bytes, volume: 0, op: trace_op(op), fua, stream: 0 };
        Ok(self.writer.write(&record, Names::default())?)
    }

    /// Ends the recording.
    pub(crate) fn finish(self) -> Result<Recorded> {
        let until = self.until;
        let (_, target) = self.writer.end()?;
        let cannot = |error: std::io::Error| Error::file("write", Path::new(&self.name), &error);
        let (file, content) = match target {
            Target::Named(output) => {
                let file = output.finish()?;
                let content = File::open(file.content().unwrap_or(file.path())).map_err(cannot)?;
                (Some(file), content)
            }
            Target::Unnamed(file) => {
                let mut content = file.into_inner().map_err(|error| cannot(error.into_error()))?;
                content.seek(SeekFrom::Start(0)).map_err(cannot)?;
                (None, content)
            }
        };
        Ok(Recorded { trace: Trace::stream(&self.name, content), file, until })
    }
}

/// Times of requests, summed so that their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) requests: u64,
    /// Those of them that are no flushes.
    pub(crate) of_data: u64,
    sum: u64,
}

impl Times {
    fn add(&mut self, op: RequestOp, arrival: Nanos, completion: Nanos) {
        let mixed = (arrival.0 ^ (op as u64) << 62).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ completion.0;
        self.sum = self.sum.wrapping_add((mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9));
        self.requests += 1;
        self.of_data += u64::from(op != RequestOp::Flush);
    }

    /// A request of the session has completed.
    pub(crate) fn live(&mut self, done: &Completion) {
        self.add(done.op, done.submitted, done.completed);
    }
}

/// The times of a replay, as far as the session's recording covers them.
pub(crate) struct Replayed {
    pub(crate) times: std::sync::Arc<std::sync::Mutex<Times>>,
    pub(crate) until: Nanos,
}

impl Observer for Replayed {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        if request.completion >= self.until {
            return;
        }
        locked(&self.times).add(request.op, request.arrival, request.completion);
    }
}
