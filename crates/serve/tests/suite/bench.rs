//! A server in this process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssdlab_lab::error::Result;
use ssdlab_lab::run::How;
use ssdlab_lab::settings::{self, Document, Sources};
use ssdlab_serve::{Address, Served, Server, Settings, Speed};

/// 40 MiB in four planes, with a write cache; GC starts soon.
pub const SMALL: &str = "
geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 40, pages_per_block = 64 }
device = { over_provisioning = 0.25, power_loss_protection = false }
cache = { size = \"256KiB\", writeback = \"watermark\" }
gc.reserve = 2
";

pub struct Bench {
    pub folder: tempfile::TempDir,
    server: Option<Server>,
    pub told: Arc<Mutex<Vec<String>>>,
}

pub fn drive(text: &str) -> settings::Settings {
    let document = Document::Text { name: "drive.toml".into(), text: text.into() };
    settings::Settings::load(&Sources { files: vec![document], ..Sources::default() }).unwrap()
}

pub fn settings(folder: &Path, text: &str, speed: Speed) -> Settings {
    Settings {
        drive: drive(text),
        how: How::default(),
        at: Address::Unix(folder.join("socket")),
        export: "disk".into(),
        speed,
        max_lag: Duration::from_millis(1),
        data: None,
        control: None,
        record: None,
        outputs: Default::default(),
    }
}

impl Bench {
    pub fn new(text: &str, speed: Speed) -> Bench {
        Bench::with(text, speed, |_, _| {}).unwrap()
    }

    /// A server whose settings are changed, given the folder.
    pub fn with(text: &str, speed: Speed, change: impl FnOnce(&Path, &mut Settings)) -> Result<Bench> {
        Bench::at(tempfile::tempdir().unwrap(), text, speed, change)
    }

    pub fn at(
        folder: tempfile::TempDir,
        text: &str,
        speed: Speed,
        change: impl FnOnce(&Path, &mut Settings),
    ) -> Result<Bench> {
        let mut settings = settings(folder.path(), text, speed);
        change(folder.path(), &mut settings);
        let told = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&told);
        let server = Server::start(settings, move |text: &str| to.lock().unwrap().push(text.to_string()))?;
        Ok(Bench { folder, server: Some(server), told })
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket().display())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }

    /// Stops the server and takes its results, whose files then have their names.
    pub fn end(&mut self) -> Served {
        let server = self.server.take().unwrap();
        assert!(server.stopper.stop());
        let mut served = server.finish(&mut ()).unwrap_or_else(|error| panic!("{error}"));
        if let Some(outcome) = &mut served.outcome {
            outcome.publish().unwrap();
        }
        served
    }
}
