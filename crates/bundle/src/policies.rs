//! Policies written in Python, as a store keeps them: which they are is found without running any of their code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files;
use ssdlab_lab::names::{clip, clip_line};
use ssdlab_lab::outside::{self, Failure, TriggerScript, TriggerSight, VictimScript};
use ssdlab_lab::policies::Policies;
use ssdlab_lab::settings::{Document, Settings, Sources};
use ssdlab_lab::tree;
use ssdlab_sim::policy::View;
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sweep::keep::{POLICIES, POLICY_LIST};
use ssdlab_trace::CLOCK_MAX_NS;
use toml::Table;

use crate::manifest::PolicyPart;
use crate::paths::refused;
use crate::seal::digest;

/// The schema of the list.
pub const SCHEMA: &str = "ssdlab.policies/1";

/// The policies that a store keeps of a study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    schema: String,
    /// What tells them apart in a store: a digest of the sources of their classes and of their states.
    pub identity: String,
    /// The version of Python that ran them.
    pub python: String,
    /// Why they can't be made again elsewhere, if they can't.
    pub why_not: Option<String>,
    /// Packages that their sources import, and the versions.
    pub needs: BTreeMap<String, Option<String>>,
    policies: Vec<Policy>,
    /// The files of their sources.
    pub sources: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    slot: String,
    class: String,
    /// Its state as a literal of Python.
    state: String,
    /// The same as the bytes that the identity is computed from. They are only digested.
    pickled: String,
    record: Vec<(String, Option<String>)>,
    after_ns: Option<u64>,
    classes: Vec<Class>,
}

/// Lines of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    file: String,
    line: usize,
    lines: usize,
}

/// Stands for a policy where its name is needed, and nothing is run.
struct Absent;

impl Absent {
    fn made() -> std::result::Result<Absent, Failure> {
        Err("the policy is written in Python".to_string().into())
    }
}

impl VictimScript for Absent {
    fn pick(&mut self, _view: &View, _plane: PlaneId) -> std::result::Result<Option<i64>, Failure> {
        Ok(None)
    }

    fn seed(&mut self, _seed: u64) -> std::result::Result<(), Failure> {
        Ok(())
    }

    fn copy(&self) -> std::result::Result<Absent, Failure> {
        Absent::made()
    }
}

impl TriggerScript for Absent {
    fn due(&mut self, _sight: &TriggerSight) -> std::result::Result<bool, Failure> {
        Ok(false)
    }

    fn copy(&self) -> std::result::Result<Absent, Failure> {
        Absent::made()
    }
}

/// The folder of the policies of a study, in the folder that a store has for the study.
pub fn folder(study: &Path) -> PathBuf {
    study.join(POLICIES)
}

fn wrong(path: &Path, message: impl std::fmt::Display) -> Error {
    crate::manifest::wrong(path, message).help("run the study again with `ssdlab.sweep` in Python: it writes the file")
}

impl Kept {
    /// The policies in a folder; none if it has no list.
    ///
    /// # Errors
    /// The list or a source can't be read, or they are not those of the identity.
    pub fn read(folder: &Path) -> Result<Option<Kept>> {
        let path = folder.join(POLICY_LIST);
        if !path.exists() {
            return Ok(None);
        }
        let text = files::read_text("list of policies", &path)?;
        let kept: Kept = serde_json::from_str(&text).map_err(|error| wrong(&path, error))?;
        if kept.schema != SCHEMA {
            return Err(wrong(&path, format!("its schema is `{}`, not {SCHEMA}", clip(&kept.schema))));
        }
        if kept.why_not.is_none() {
            kept.follows(folder).map_err(|message| wrong(&path, message))?;
        }
        Ok(Some(kept))
    }

    /// Whether the identity is that of the sources and states, as Python computes it when a study is run.
    fn follows(&self, folder: &Path) -> std::result::Result<(), String> {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for source in &self.sources {
            if let Some(why) = refused(source) {
                return Err(format!("the source `{}` has no place: {why}", clip(source)));
            }
            let text = files::read_text("source", &folder.join(source)).map_err(|error| clip_line(&error.message))?;
            texts.insert(source, text);
        }
        let mut bytes = Vec::new();
        for policy in &self.policies {
            if !matches!((&*policy.slot, policy.after_ns), ("victim", None) | ("trigger", Some(0..=CLOCK_MAX_NS))) {
                return Err(format!("`{}` is no slot of a policy", clip(&policy.slot)));
            }
            for Class { name, file, line, lines } in &policy.classes {
                let text =
                    texts.get(file.as_str()).ok_or_else(|| format!("{} is not among its sources", clip(file)))?;
                let own = text.lines().skip(line.saturating_sub(1)).take(*lines);
                bytes.extend_from_slice(name.as_bytes());
                bytes.push(b'\n');
                own.for_each(|line| bytes.extend(line.bytes().chain([b'\n'])));
                bytes.push(b'\n');
            }
            let state = unhex(&policy.pickled).ok_or("the state of a policy is not hexadecimal")?;
            bytes.extend(format!("{}\n", state.len()).bytes());
            bytes.extend(state);
        }
        match digest(&bytes) == self.identity {
            true => Ok(()),
            false => Err("the sources or states are not those that the runs had: their digest is another".into()),
        }
    }

    /// What stands for them where points and keys are needed, and nothing is run.
    pub fn stand_ins(&self) -> Policies {
        let mut all = Policies { identity: self.identity.clone(), ..Policies::default() };
        for policy in &self.policies {
            let record = policy.record.clone();
            match policy.after_ns {
                None => all.victim = Some(outside::victim(record, false, Absent::made)),
                Some(after) => {
                    all.trigger = Some(std::sync::Arc::new(move |config| {
                        outside::trigger(record.clone(), Nanos(after), config.gc.threshold, Absent::made)
                    }));
                }
            }
        }
        all
    }

    /// The list, then the sources, by name.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        std::iter::once(POLICY_LIST).chain(self.sources.iter().map(String::as_str))
    }

    /// What a manifest says of them; `inside` is the place of their folder.
    pub fn parts(&self, inside: &str) -> Vec<PolicyPart> {
        let sources: Vec<String> = self.sources.iter().map(|source| format!("{inside}/{source}")).collect();
        let part = |policy: &Policy| PolicyPart {
            slot: policy.slot.clone(),
            class: policy.class.clone(),
            state: policy.state.clone(),
            sources: sources.clone(),
        };
        self.policies.iter().map(part).collect()
    }

    /// The configuration in a file, whose policies are those of a record of results; none if it is not one, or has others.
    pub fn configuration(&self, path: &Path, record: &Json) -> Option<Json> {
        let mut table: Table = files::read_text("configuration", path).ok()?.parse().ok()?;
        let schemes = table.get_mut("schemes")?.as_table_mut()?;
        for policy in &self.policies {
            let own = serde_json::to_value(schemes.remove(&policy.slot)?).ok()?;
            let mut named = record["schemes"][&policy.slot].as_object()?.clone();
            // TOML has no null.
            named.retain(|_, value| !value.is_null());
            if own.as_object()? != &named {
                return None;
            }
        }
        let text = toml::to_string(&table).ok()?;
        let document = Document::Text { name: path.display().to_string(), text };
        let mut config = Settings::merge(&Sources { files: vec![document], ..Sources::default() }).ok()?.config;
        self.stand_ins().put(&mut config);
        Some(tree::config(&config))
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "import ssdlab as sl\n\n\nclass Nth(sl.Victim):\n    def pick(self, view):\n        return 0\n";
    /// What `ssdlab.policy._identity` gives for `Nth` with the state `{'n': 1}`.
    const IDENTITY: &str = "141881778692aafc75a9d2dbaf705722266e735a77bfd3ad03fd169458507a47";

    fn list() -> Json {
        serde_json::json!({
            "schema": SCHEMA, "identity": IDENTITY, "python": "3.11.7", "why_not": null, "needs": {}, "sources": ["mine.py"],
            "policies": [{
                "slot": "victim", "class": "mine:Nth", "state": "{'n': 1}",
                "pickled": "8004950a000000000000007d948c016e944b01732e",
                "record": [["python", "mine:Nth"], ["source", null]], "after_ns": null,
                "classes": [{ "name": "mine:Nth", "file": "mine.py", "line": 4, "lines": 3 }],
            }],
        })
    }

    fn read(source: &str, list: &Json) -> Result<Option<Kept>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.py"), source).unwrap();
        std::fs::write(folder.path().join(POLICY_LIST), list.to_string()).unwrap();
        Kept::read(folder.path())
    }

    #[test]
    fn the_identity_is_the_one_that_python_computes() {
        let kept = read(SOURCE, &list()).unwrap().unwrap();
        assert_eq!(kept.stand_ins().identity, IDENTITY);
        assert_eq!(kept.files().collect::<Vec<_>>(), [POLICY_LIST, "mine.py"]);
        let mut config = ssdlab_sim::config::Config::default();
        kept.stand_ins().put(&mut config);
        let named = serde_json::json!({ "python": "mine:Nth", "source": null });
        assert_eq!(serde_json::to_value(&config).unwrap()["schemes"]["victim"], named);
        // What is around the class is not part of it, nor is what ends its last line.
        assert!(read(&SOURCE.replace("import ssdlab as sl", "# other"), &list()).is_ok());
        assert!(read(SOURCE.trim_end(), &list()).is_ok());
        assert!(Kept::read(tempfile::tempdir().unwrap().path()).unwrap().is_none());
    }

    #[test]
    fn another_source_state_or_place_is_refused() {
        assert!(read(&SOURCE.replace("return 0", "return 1"), &list()).is_err());
        let bad = [
            ("/policies/0/pickled", serde_json::json!("8004950a000000000000007d948c016e944b02732e")),
            ("/policies/0/pickled", serde_json::json!("é0")),
            ("/policies/0/slot", serde_json::json!("collector")),
            ("/policies/0/slot", serde_json::json!("trigger")),
            ("/policies/0/after_ns", serde_json::json!(u64::MAX)),
            ("/policies/0/classes/0/line", serde_json::json!(u64::MAX)),
            ("/policies/0/classes/0/file", serde_json::json!("other.py")),
            ("/sources/0", serde_json::json!("../mine.py")),
            ("/sources/0", serde_json::json!("/etc/passwd")),
            ("/schema", serde_json::json!("ssdlab.policies/2")),
        ];
        for (at, value) in bad {
            let mut list = list();
            *list.pointer_mut(at).unwrap() = value.clone();
            assert!(read(SOURCE, &list).is_err(), "{at}: {value}");
        }
    }
}
