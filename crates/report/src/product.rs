//! The report as an output of a run.

use std::path::{Path, PathBuf};

use ssdlab_figures::figure::Table;

use crate::inputs::{Inputs, Run};
use crate::page::{self, Page};
use ssdlab_lab::drive::Device;
use ssdlab_lab::error::Result;
use ssdlab_lab::input::Input;
use ssdlab_lab::output::Output;
use ssdlab_lab::product::{About, Product, Recorder, RunEnd, Subject};
use ssdlab_lab::readers::table;
use ssdlab_lab::readers::timeline;
use ssdlab_lab::results::blocks;
use ssdlab_lab::results::dies::DieRows;
use ssdlab_lab::results::histograms::Histograms;
use ssdlab_lab::results::series::WindowRows;
use ssdlab_lab::results::timeline::Activity;

/// The report of a run. It shows the files of the outputs that stand before it in the list.
#[derive(Clone, Debug)]
pub struct PageFile {
    /// The file.
    pub path: PathBuf,
    /// How it looks.
    pub page: Page,
}

impl PageFile {
    /// Its name.
    pub const NAME: &str = "--report";
}

impl Product for PageFile {
    fn about(&self) -> About<'_> {
        About { name: PageFile::NAME, path: Some(&self.path), timed: false }
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Report { file: Output::create(&self.path)?, page: self.page.clone() }))
    }
}

struct Report {
    file: Output,
    page: Page,
}

impl Recorder for Report {
    fn prepare(&mut self, device: &mut Device, _input: &Input) -> Result<()> {
        device.ssd.collect_histograms();
        Ok(())
    }

    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let run = Run {
            summary: serde_json::from_str(&end.outcome.json()).ok(),
            histograms: end.device.ssd.histograms().map(Histograms::of),
            series: rows(end, WindowRows::NAME)?,
            dies: rows(end, DieRows::NAME)?,
            timeline: end.content(Activity::NAME).map(|(path, _)| timeline::read(path, None)).transpose()?,
            blocks: Some(blocks::table(end.device.ssd.flash(), end.device.ssd.geometry())),
            about: end.outcome.about.clone(),
        };
        let written = page::write(&Inputs { run, ..Inputs::default() }, &self.page)?;
        written.remarks.into_iter().for_each(|remark| end.remark(remark));
        self.file.put(written.html.as_bytes())?;
        end.put(PageFile::NAME, self.file.finish()?);
        Ok(())
    }
}

/// A table of results that the run has just written.
fn rows(end: &RunEnd<'_>, name: &str) -> Result<Option<Table>> {
    let read =
        |(path, name): (&Path, &Path)| table::whole(path, name.extension().is_some_and(|ending| ending == "parquet"));
    end.content(name).map(read).transpose()
}
