//! Named configurations: the devices of the papers and a modern drive, each value with its source.

use toml::{Table, Value};

use crate::config::{Config, ConfigError};

/// A named configuration.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
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
        &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),+]
    };
}

/// All presets, in the order in which they are listed.
pub const ALL: &[Preset] = presets![
    "default",
    "nvme-tlc",
    "nvme-2024",
    "nvme-tlc-units",
    "nvme-2024-units",
    "pm9a3",
    "client-tlc",
    "idle-chip",
    "pagc",
    "brr",
    "fastgc",
    "noc",
    "composed",
    "interleaved"
];

impl Config {
    /// A preset with the keys of a TOML text over it, as in a configuration file that follows a preset: sections merge key by key, a
    /// scheme is replaced as a whole. [`Config::check`] tests whether the result can work.
    ///
    /// ```
    /// use ssdlab_sim::Config;
    ///
    /// let config = Config::preset_text("nvme-tlc", "cache.size = \"1MiB\"")?;
    /// assert!(config.cache.exists());
    /// assert_eq!(config.geometry.channels, Config::preset_text("nvme-tlc", "")?.geometry.channels);
    /// let unknown = Config::preset_text("nvme-slc", "").unwrap_err();
    /// assert!(unknown.help.contains("nvme-tlc"));
    /// # Ok::<(), ssdlab_sim::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such preset, or the text is not TOML, has an unknown key, or a value of another type.
    pub fn preset_text(name: &str, text: &str) -> Result<Config, ConfigError> {
        let Some(preset) = ALL.iter().find(|preset| preset.name == name) else {
            let names: Vec<&str> = ALL.iter().map(|preset| preset.name).collect();
            let (key, message) = ("preset".to_string(), format!("no preset is called `{name}`"));
            return Err(ConfigError { key, message, help: format!("the presets are {}", names.join(", ")) });
        };
        let wrong = |error: toml::de::Error| {
            let key = "preset".to_string();
            let help = "give keys of a configuration, such as cache.size = \"1MiB\"".to_string();
            ConfigError { key, message: format!("the text over `{name}`: {error}"), help }
        };
        let mut merged: Table = toml::from_str(preset.text).map_err(wrong)?;
        for (section, value) in toml::from_str::<Table>(text).map_err(wrong)? {
            match (merged.get_mut(&section), value) {
                (Some(Value::Table(old)), Value::Table(new)) => old.extend(new),
                (_, value) => drop(merged.insert(section, value)),
            }
        }
        merged.try_into().map_err(wrong)
    }
}
