//! The summary of a run as a file of JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::output::Output;
use crate::product::{Product, Recorder, RunEnd, Subject};

/// The summary, as JSON.
#[derive(Clone, Debug)]
pub struct SummaryFile(pub PathBuf);

impl SummaryFile {
    /// Its name.
    pub const NAME: &str = "--json";
}

impl Product for SummaryFile {
    fn name(&self) -> &'static str {
        SummaryFile::NAME
    }

    fn path(&self) -> Option<Cow<'_, Path>> {
        Some(Cow::Borrowed(&self.0))
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Summary(Output::create(&self.0)?)))
    }
}

/// The file of a summary that is begun.
struct Summary(Output);

impl Recorder for Summary {
    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        self.0.put(end.outcome.json().as_bytes())?;
        end.put(SummaryFile::NAME, self.0.finish()?);
        Ok(())
    }
}
