//! What files of other simulators become: a configuration, requests, and an account of every key. `ssdlab-import` reads the files.

pub mod account;
pub mod flows;

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Value as Toml;

use crate::foreign::account::Account;
use crate::foreign::flows::Flow;
use crate::names::clip_line;
use crate::schema;

/// A value of the configuration with its origin.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its dotted key.
    pub key: &'static str,
    /// Its value.
    pub value: Toml,
    /// The file and the place of the key that decided it; none: a default of the original.
    pub place: Option<(usize, Range<usize>, Range<usize>)>,
    /// The name of that key, and its default if the file does not give it.
    pub from: String,
}

/// What files of other simulators become.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// What became of every key.
    pub account: Account,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Names and texts of the files, and of those that were texts.
    pub texts: Vec<(String, String)>,
    /// The values of the configuration.
    pub settings: Vec<Setting>,
    /// The requests that the files describe, in order.
    pub flows: Vec<Flow>,
}

impl Imported {
    /// The configuration as a TOML file, each value with the key that it comes from.
    pub fn toml(&self) -> String {
        let names: Vec<String> = self.texts.iter().map(|(name, _)| base_name(name)).collect();
        let mut out = format!("# Imported from {} by ssdlab import.\n", clip_line(&names.join(", ")));
        for (section, keys) in schema::keys() {
            let inside = |leaf: &str| self.settings.iter().find(|setting| setting.key == format!("{section}.{leaf}"));
            let found: Vec<(&String, &Setting)> =
                keys.iter().filter_map(|(leaf, _)| Some((leaf, inside(leaf)?))).collect();
            if !found.is_empty() {
                out.push_str(&format!("\n[{section}]\n"));
            }
            for (leaf, setting) in found {
                let line = format!("{leaf} = {}", setting.value);
                let default = if setting.place.is_none() { ", the original's default" } else { "" };
                out.push_str(&format!("{line:<43} # {}{default}\n", setting.from));
            }
        }
        out
    }

    /// A name and a workload file for each generated flow.
    pub fn workloads(&self) -> Vec<(String, String)> {
        let generated = |flow: &Flow| match &flow.source {
            flows::Source::Stream(stream) => {
                Some((flow.name.clone(), flows::alone(flow, stream, self.flows.len() > 1)))
            }
            flows::Source::Recording(_) => None,
        };
        self.flows.iter().filter_map(generated).collect()
    }
}

/// A file without its directory: results say nothing of the machine.
pub fn base_name(name: &str) -> String {
    Path::new(name).file_name().map_or_else(|| name.into(), |base| base.to_string_lossy().into_owned())
}
