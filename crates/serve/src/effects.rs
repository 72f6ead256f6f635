//! What an order does to the drive (`--control`).
//!
//! A recording repeats a session from its start, with one configuration and without interruption. So it ends before the first order
//! that changes the drive.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use ssdlab_disk::{Reason, Survivors};
use ssdlab_lab::error::Error;
use ssdlab_lab::live::changeable;
use ssdlab_lab::settings::{Change, Settings};

use crate::connections::Connections;
use crate::drive::{Bytes, Drive};
use crate::order::{Order, refusal};

impl Drive {
    /// Does as told, and answers.
    pub(crate) fn obey(&mut self, order: Order, connections: &Connections) -> Json {
        if let Some(now) = self.clock.now().filter(|_| !self.stops) {
            self.disk.advance_before(now);
            self.reply();
        }
        match order {
            Order::Stats => self.stats(),
            Order::Set { key, value } => match self.set(&key, &value) {
                Ok(()) => json!({ "ok": true, "now_ns": self.disk.now().0 }),
                Err(error) => refusal(&error.message, &error.help.join("; ")),
            },
            Order::Snapshot { name } => self.snapshot(name),
            Order::Restore { name } => self.restore(&name, connections),
            Order::PowerCut => self.power_cut(connections),
        }
    }

    fn stats(&self) -> Json {
        json!({
            "ok": true,
            "now_ns": self.disk.now().0,
            "requests": self.completed,
            "in_service": self.in_service.len(),
            "kept_bytes": self.disk.kept_bytes(),
            "power_cuts": self.control.power_cuts,
            "snapshots": self.control.snapshots.keys().collect::<Vec<_>>(),
            "recording": self.recording.is_open(),
        })
    }

    fn set(&mut self, key: &str, value: &Json) -> Result<(), Error> {
        let change = match value {
            Json::Null => Change::Unset(key.into()),
            Json::String(text) => Change::Set(format!("{key}={text}")),
            other => Change::Set(format!("{key}={other}")),
        };
        let old = &self.control.settings;
        let mut sources = old.sources().clone();
        sources.changes.push(change);
        let new = Settings::load(&sources)?;
        changeable(&old.config, &new.config)?;
        self.disk.change(&new.config).map_err(|error| new.refuse(&error))?;
        self.recording.end_at(self.disk.now());
        self.control.settings = new;
        Ok(())
    }

    fn snapshot(&mut self, name: String) -> Json {
        let Bytes::Memory(room_bytes) = self.bytes else {
            return refusal("data in a file is no part of a snapshot", "start the server without --data");
        };
        let more = self.control.drive_bytes + self.disk.kept_bytes();
        if self.disk.kept_bytes() + self.control.snapshot_bytes() + more > room_bytes {
            return refusal("memory has no room for the snapshot", "start the server with a larger --memory-limit");
        }
        let settings = self.control.settings.clone();
        self.control.snapshots.insert(name, (self.disk.clone(), settings));
        json!({ "ok": true, "now_ns": self.disk.now().0 })
    }

    /// The drive is as it was, also its configuration and its time. Its clients are cut off.
    fn restore(&mut self, name: &str, connections: &Connections) -> Json {
        let Some((disk, settings)) = self.control.snapshots.get(name).cloned() else {
            return refusal(&format!("there is no snapshot {name}"), "make it with {\"cmd\": \"snapshot\"}");
        };
        self.recording.end_at(self.disk.now());
        (self.disk, self.control.settings) = (disk, settings);
        self.abandon(connections);
        json!({ "ok": true, "now_ns": self.disk.now().0 })
    }

    fn power_cut(&mut self, connections: &Connections) -> Json {
        if !self.disk.ssd().knows_pages() {
            let message = "a power cut needs a drive that knows what every page holds";
            return refusal(message, "start the server with --check full, and with data in memory");
        }
        self.recording.end_at(self.disk.now());
        self.abandon(connections);
        let Survivors { lost, aborted, .. } = self.disk.power_cut();
        self.control.power_cuts += 1;
        let mut bytes = BTreeMap::new();
        for range in &lost {
            let reason = match range.reason {
                Reason::InFlight => "in_flight",
                Reason::Volatile => "volatile",
                Reason::Torn => "torn",
                Reason::Overwritten => "overwritten",
                Reason::TrimUndone => "trim_undone",
            };
            *bytes.entry(reason).or_insert(0) += range.bytes;
        }
        let unreadable: u64 = lost.iter().filter(|range| range.unreadable).map(|range| range.bytes).sum();
        json!({
            "ok": true,
            "now_ns": self.disk.now().0,
            "aborted": aborted.len(),
            "lost_bytes": bytes,
            "unreadable_bytes": unreadable,
        })
    }

    /// Requests that the drive has are never answered: their clients are cut off.
    fn abandon(&mut self, connections: &Connections) {
        connections.disconnect_clients();
        self.era = connections.era();
        self.waiting.clear();
        self.in_service.clear();
        self.calls.clear();
    }
}
