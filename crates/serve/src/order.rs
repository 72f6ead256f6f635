//! Orders of the control socket (`--control`), and what the drive keeps for them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use ssdlab_disk::Disk;
use ssdlab_lab::settings::Settings;

/// An order to the drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Order {
    /// Say what it does.
    Stats,
    /// Change a key; null takes the value of an optional one away.
    Set { key: String, value: Json },
    /// Keep the state under a name.
    Snapshot { name: String },
    /// Return to a state that was kept.
    Restore { name: String },
    /// Lose power, and recover.
    PowerCut,
}

/// An answer that says why not.
pub(crate) fn refusal(message: &str, help: &str) -> Json {
    json!({ "ok": false, "error": message, "help": help })
}

/// What orders need.
pub(crate) struct Control {
    /// The configuration as it is now.
    pub(crate) settings: Settings,
    /// Memory of the drive without its data.
    pub(crate) drive_bytes: u64,
    pub(crate) snapshots: BTreeMap<String, (Disk, Settings)>,
    pub(crate) power_cuts: u64,
}

impl Control {
    pub(crate) fn new(settings: Settings, drive_bytes: u64) -> Control {
        Control { settings, drive_bytes, snapshots: BTreeMap::new(), power_cuts: 0 }
    }

    /// Memory that snapshots take, of which parts may be shared.
    pub(crate) fn snapshot_bytes(&self) -> u64 {
        self.snapshots.values().map(|(disk, _)| self.drive_bytes + disk.kept_bytes()).sum()
    }
}
