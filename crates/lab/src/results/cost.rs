//! The cost of the simulation itself as a file of JSON.

use std::path::PathBuf;

use ssdlab_sim::Shortcuts;

use crate::drive::Device;
use crate::error::Result;
use crate::output::Output;
use crate::perf::Perf;
use crate::product::{About, Product, Recorder, RunEnd, Subject};
use crate::settings;
use crate::tree::json;

/// The cost of the simulation itself, with that of the outputs that stand before it in the list, as JSON.
#[derive(Clone, Debug)]
pub struct CostFile(pub PathBuf);

impl CostFile {
    /// Its name.
    pub const NAME: &str = "--perf";
}

impl Product for CostFile {
    fn about(&self) -> About<'_> {
        About { name: CostFile::NAME, path: Some(&self.0), timed: false }
    }

    fn begin(&self, _of: &Subject<'_>) -> Result<Box<dyn Recorder>> {
        Ok(Box::new(Cost { file: Output::create(&self.0)?, shortcuts: None }))
    }
}

/// The file of a cost that is begun.
struct Cost {
    file: Output,
    shortcuts: Option<Shortcuts>,
}

impl Recorder for Cost {
    fn simulated(&mut self, device: &mut Device) {
        self.shortcuts = Some(device.ssd.shortcuts_by(&|table| settings::config(table).ok()));
    }

    fn finish(mut self: Box<Self>, end: &mut RunEnd<'_>) -> Result<()> {
        let perf = Perf { shortcuts: self.shortcuts.take(), ..end.perf() };
        end.put(CostFile::NAME, self.file.complete(json(&perf).as_bytes())?);
        Ok(())
    }
}
