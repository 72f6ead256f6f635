//! The summary of a run as a file of JSON.

use std::path::PathBuf;

use crate::error::Result;
use crate::output::Output;
use crate::product::{About, Product, Recorder, RunEnd, Subject};

/// The summary, as JSON.
#[derive(Clone, Debug)]
pub struct SummaryFile(pub PathBuf);

impl SummaryFile {
    /// Its name.
    pub const NAME: &str = "--json";
}

impl Product for SummaryFile {
    fn about(&self) -> About<'_> {
        About { name: SummaryFile::NAME, path: Some(&self.0), timed: false }
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Summary(Output::create(&self.0)?)))
    }
}

/// The file of a summary that is begun.
struct Summary(Output);

impl Recorder for Summary {
    fn finish(self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        end.put(SummaryFile::NAME, self.0.complete(end.outcome.json().as_bytes())?);
        Ok(())
    }
}
