//! Runs some records again and compares the bytes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde_json::Value as Json;
use ssdlab_sim::config::Config;
use ssdlab_sim::{Check, random};

use crate::job::{End, Job, Terms};
use crate::key::{self, Hashes, Mode};
use crate::points::VERSION;
use crate::store::Store;
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::files::MOST_BYTES;
use ssdlab_lab::settings;
use ssdlab_lab::theory::Outlook;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Keys whose bytes are the same.
    pub same: Vec<String>,
    /// Keys whose bytes differ.
    pub different: Vec<String>,
    /// Keys that another version of the program wrote: it has to verify them.
    pub other_version: Vec<String>,
    /// Keys whose input is not to be found, and why.
    pub unknown: Vec<(String, String)>,
    /// Records of the store.
    pub records: u64,
}

/// Runs a share of the records again, chosen by key and seed; at least one.
///
/// # Errors
/// The store can't be read.
pub fn verify(
    store: &Store,
    share: f64,
    seed: u64,
    follow: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<Verified> {
    let mut keys: Vec<String> = store.list()?.into_iter().filter(|(_, has)| has.record).map(|(key, _)| key).collect();
    // In the order of the draw, so that a larger share contains a smaller one.
    let draw = |key: &String| rand_xoshiro::rand_core::Rng::next_u64(&mut random::stream(seed, key));
    keys.sort_by_cached_key(|key| (draw(key), key.clone()));
    let mut verified = Verified { records: keys.len() as u64, ..Verified::default() };
    let wanted = ((keys.len() as f64 * share).ceil() as usize).clamp(1, keys.len().max(1));
    let files = files(store)?;
    for key in keys.into_iter().take(wanted) {
        if follow(&key).is_break() {
            return Err(ssdlab_lab::drive::interrupted());
        }
        let Some(read) = store.read::<Json>(&key)? else {
            verified.different.push(key);
            continue;
        };
        if read.version != VERSION {
            verified.other_version.push(key);
            continue;
        }
        match again(&key, read.config.get(), &read.input, read.seed, read.mode, &files) {
            Ok(record) if record.as_bytes() == store.bytes(&key)? => verified.same.push(key),
            Ok(_) => verified.different.push(key),
            Err(error) if error.kind == Kind::Usage => verified.unknown.push((key, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    Ok(verified)
}

/// Files of inputs by their source, as the studies of the store name them.
fn files(store: &Store) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for study in crate::store::entries(&store.root().join("studies"))? {
        let bytes =
            ssdlab_lab::files::read("list of inputs", &study.join("inputs.json"), MOST_BYTES).unwrap_or_default();
        files.extend(serde_json::from_slice::<BTreeMap<String, PathBuf>>(&bytes).unwrap_or_default());
    }
    Ok(files)
}

/// The configuration of a record. It is read as TOML, which has no nulls: a key with one has its default.
fn configuration(text: &str) -> std::result::Result<Config, String> {
    let mut tree: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    drop_nulls(&mut tree);
    let table = serde_json::from_value(tree).map_err(|error| error.to_string())?;
    settings::config(table).map_err(|misfit| misfit.to_string())
}

fn drop_nulls(tree: &mut Json) {
    match tree {
        Json::Object(keys) => {
            keys.retain(|_, value| !value.is_null());
            keys.values_mut().for_each(drop_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn again(
    key: &str,
    config: &str,
    input: &str,
    seed: u64,
    mode: Mode,
    files: &BTreeMap<String, PathBuf>,
) -> Result<String> {
    let unknown = |message: String| Error::usage(message);
    let config: Config = configuration(config).map_err(unknown)?;
    let requests = key::requests(input, &|source| files.get(source).cloned())?;
    let source = Hashes::default().source(&requests.from).map_err(|error| unknown(error.to_string()))?;
    if key::identity(&source.0, &requests) != input {
        let names: Vec<String> = source.1.iter().map(|(_, path)| path.display().to_string()).collect();
        let file = names.join(", ");
        return Err(unknown(format!("{file} has changed since")));
    }
    let broken = config.check().and_then(|()| config.check_mode(mode == Mode::Count)).err();
    let refused = broken.map(|error| format!("{}: {}", error.key, error.message));
    let memory_bytes = if refused.is_some() { 0 } else { Outlook::new(&config, false).memory.total() };
    let refused = refused.as_deref();
    let job = Job { key, config: &config, refused, requests: &requests, input, seed, mode, memory_bytes };
    let terms = Terms { check: Check::Sampled, wall_ns: None, memory_bytes: None, keep: Vec::new(), fillings: None };
    match job.perform(&terms, None, None, 1, &mut || ControlFlow::Continue(()))? {
        End::Record { record, .. } => Ok(record),
        // A record of a run that now fails differs from it.
        End::Failure { message, .. } => Ok(message),
        End::Stopped => Err(ssdlab_lab::drive::interrupted()),
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_lab::presets;
    use ssdlab_lab::settings::digest;

    use super::*;

    #[test]
    fn configurations_of_records_are_read_back() {
        for preset in presets::ALL {
            let config: Config = preset.text.parse().unwrap();
            let text = serde_json::to_string(&config).unwrap();
            assert!(text.contains("null"), "{}", preset.name);
            let read = configuration(&text).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            assert_eq!(
                (digest(&read), serde_json::to_string(&read).unwrap()),
                (digest(&config), text),
                "{}",
                preset.name
            );
        }
        assert_eq!(configuration("{\"gc\":{\"treshold\":1}}").unwrap_err(), "gc.treshold: unknown key `treshold`");
        assert!(configuration("{\"gc\":").is_err());
    }
}
