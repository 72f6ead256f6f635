//! Named configurations: the devices of the papers and a modern drive, each value with its source.

use crate::error::{Error, Result};
use crate::names::{clip, nearest};

/// A named configuration.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that `--preset` takes.
    pub name: &'static str,
    /// The TOML document, comments and all.
    pub text: &'static str,
}

impl Preset {
    /// The first sentence of its comment.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../../presets/", $name, ".toml")) }),+]
    };
}

/// All presets, in the order in which they are listed.
pub const ALL: &[Preset] = presets![
    "default",
    "nvme-tlc",
    "nvme-2024",
    "idle-chip",
    "pagc",
    "brr",
    "fastgc",
    "noc",
    "composed",
    "interleaved"
];

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
