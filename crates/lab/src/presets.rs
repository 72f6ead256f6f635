//! Named configurations: the devices of the papers and a modern drive, each value with its source.

pub use ssdlab_sim::presets::{ALL, Preset};

use crate::error::{Error, Result};
use crate::names::{clip, nearest};

/// A preset by name.
pub fn find(name: &str) -> Result<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known = || ALL.iter().map(|preset| preset.name);
        let list = known().collect::<Vec<_>>().join(", ");
        Error::usage(format!("no preset is called `{}`", clip(name))).help(match nearest(name, known()) {
            Some(meant) => format!("did you mean `{meant}`? The presets are {list}"),
            None => format!("the presets are {list}"),
        })
    })
}
