//! Keys: a run is a pure function of its key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use ssdlab_trace::{LbaPolicy, OnBadLine, OpCodes, Scale, TimeOrder, Trace, WithinSecond, workload};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::{self, resolved};
use ssdlab_lab::input::{Origin, Reading, Requests, Tenant};
use ssdlab_lab::names::clip;

ssdlab_trace::words! {
    /// Whether a run has time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Mode {
        /// It has.
        Timed = "timed",
        /// Pages are only counted.
        Count = "count",
    }
}

impl Mode {
    /// From the option.
    pub fn of(count_only: bool) -> Mode {
        if count_only { Mode::Count } else { Mode::Timed }
    }
}

/// The key of a run: what its result depends on.
pub fn key(version: &str, config_digest: &str, input: &str, seed: u64, mode: Mode) -> String {
    let mode = mode.name();
    let text =
        format!("ssdlab.point/1\nversion {version}\nconfig {config_digest}\ninput {input}\nseed {seed}\nmode {mode}\n");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The word of an identity that tells policies from outside apart: see [`ssdlab_lab::policies`].
pub const POLICIES: &str = "policies";

/// A value of an option within an identity: separators are escaped.
fn escaped(value: &str) -> String {
    value.replace('%', "%25").replace(' ', "%20").replace('\n', "%0A").replace('\r', "%0D")
}

fn plain(value: &str) -> String {
    value.replace("%0D", "\r").replace("%0A", "\n").replace("%20", " ").replace("%25", "%")
}

/// Options of requests that differ from their defaults, in order of name.
fn options(requests: &Requests) -> Vec<(&'static str, String)> {
    let Requests { from: _, reading, limit, loops, until_end, time_scale, replay, lba_policy } = requests;
    let Reading { format, device, on_bad_line, time_order, op_codes, within_second, max_request } = reading;
    let usual = Reading::default();
    let mut all: Vec<(&str, Option<String>)> = vec![
        ("device", device.clone()),
        ("format", (*format != usual.format).then(|| format.clone())),
        ("lba_policy", (*lba_policy != LbaPolicy::default()).then(|| format!("{lba_policy:?}").to_lowercase())),
        ("limit", limit.map(|limit| limit.to_string())),
        ("loop", (*loops != 1).then(|| loops.to_string())),
        ("max_request", (*max_request != usual.max_request).then(|| max_request.to_string())),
        (
            "on_bad_line",
            match on_bad_line {
                OnBadLine::Error => None,
                OnBadLine::Skip(most) => Some(format!("skip={most}")),
            },
        ),
        ("op_codes", (*op_codes == OpCodes::ReadIsZero).then(|| "read-is-zero".into())),
        ("replay", replay.map(|when| format!("{when:?}").to_lowercase())),
        ("until", until_end.then(|| "end-of-life".into())),
        ("time_order", (*time_order != TimeOrder::Error).then(|| format!("{time_order:?}").to_lowercase())),
        ("time_scale", time_scale.filter(|scale| !scale.is_one()).map(|scale| scale.to_string())),
        ("within_second", (*within_second == WithinSecond::Even).then(|| "even".into())),
    ];
    all.sort_by_key(|(name, _)| *name);
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The identity of requests: their source and what differs from the defaults.
pub fn identity(source: &str, requests: &Requests) -> String {
    let options = options(requests).into_iter().map(|(name, value)| format!(" {name}={}", escaped(&value)));
    [source.to_string()].into_iter().chain(options).collect()
}

/// Requests from their identity; `find` gives the file of a source.
///
/// # Errors
/// The identity is not one, or the file is not known.
pub fn requests(identity: &str, find: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Requests> {
    let wrong = || Error::usage(format!("`{}` is not an input of a run", clip(identity)));
    let mut words = identity.split(' ');
    let source = words.next().unwrap_or_default();
    let file = || find(source).ok_or_else(|| Error::usage(format!("the file of {} is not known", clip(source))));
    let from = match source.split_once(':') {
        Some(("workload", name)) if name.starts_with('@') => {
            Origin::Workload { name: file()?.display().to_string(), recordings: None }
        }
        Some(("workload", name)) => Origin::Workload { name: name.into(), recordings: None },
        Some(("trace", _)) => Origin::Trace(file()?.into()),
        Some(("tenants", list)) => {
            let tenants = list.split(',').map(|one| tenant(one, find)).collect::<Result<_>>();
            Origin::Tenants(tenants.map_err(|_| wrong())?)
        }
        _ => return Err(wrong()),
    };
    let mut requests = Requests::new(from);
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(wrong)?;
        let value = plain(value);
        let reading = &mut requests.reading;
        match name {
            "device" => reading.device = Some(value),
            "format" => reading.format = value,
            "lba_policy" => requests.lba_policy = value.parse().map_err(|_| wrong())?,
            "limit" => requests.limit = Some(value.parse().map_err(|_| wrong())?),
            "loop" => requests.loops = value.parse().map_err(|_| wrong())?,
            "until" if value == "end-of-life" => requests.until_end = true,
            "max_request" => reading.max_request = value.parse().map_err(|_| wrong())?,
            "on_bad_line" => reading.on_bad_line = value.parse().map_err(|_| wrong())?,
            "op_codes" => reading.op_codes = value.parse().map_err(|_| wrong())?,
            "replay" => requests.replay = Some(value.parse().map_err(|_| wrong())?),
            "time_order" => reading.time_order = value.parse().map_err(|_| wrong())?,
            "time_scale" => requests.time_scale = Some(value.parse::<Scale>().map_err(|_| wrong())?),
            "within_second" => reading.within_second = value.parse().map_err(|_| wrong())?,
            POLICIES => {
                return Err(Error::usage("the run has policies from outside")
                    .help("run the study from Python, with the policies in the same process"));
            }
            _ => return Err(wrong()),
        }
    }
    Ok(requests)
}

fn tenant(text: &str, find: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Tenant> {
    let mut tenant = Tenant::parse(&plain(&text.replace("%2C", ",")))?;
    let file = |source: String| {
        find(&source).ok_or_else(|| Error::usage(format!("the file of {} is not known", clip(&source))))
    };
    match &mut tenant.requests.from {
        Origin::Trace(trace) => *trace = file(format!("trace:{}", trace.name()))?.into(),
        Origin::Workload { name, .. } if name.starts_with('@') => {
            *name = file(format!("workload:{name}"))?.display().to_string();
        }
        _ => {}
    }
    Ok(tenant)
}

/// Files above this are hashed once; below it, looking the hash up costs as much.
const LARGE: u64 = 1 << 20;

/// Hashes of files, kept by path, size, modification time and inode.
#[derive(Debug, Default)]
pub struct Hashes {
    known: Mutex<BTreeMap<PathBuf, Stamp>>,
    /// Whether there are hashes that the file does not have.
    fresh: Mutex<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    modified_ns: u64,
    inode: u64,
    hash: String,
}

impl Hashes {
    /// The hashes that a file keeps; none if there is no such file.
    pub fn open(path: &Path) -> Hashes {
        let read = files::read("file of hashes", path, files::MOST_BYTES).ok();
        let read = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Hashes { known: Mutex::new(read.unwrap_or_default()), fresh: Mutex::new(false) }
    }

    /// The hashes as the bytes of their file, if there is one that was not known.
    pub fn changed(&self) -> Option<String> {
        if !*self.fresh.lock().unwrap_or_else(PoisonError::into_inner) {
            return None;
        }
        Some(ssdlab_lab::tree::json(&*self.known.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The hash of a file's bytes.
    ///
    /// # Errors
    /// It can't be read.
    pub fn of(&self, what: &str, path: &Path) -> Result<String> {
        let cannot = |error: std::io::Error| Error::file(&format!("read the {what}"), path, &error);
        let path = path.canonicalize().unwrap_or_else(|_| resolved(path));
        let meta = std::fs::metadata(&path).map_err(cannot)?;
        if !meta.is_file() {
            let message = format!("cannot read the {what} {}: it is not a regular file", path.display());
            return Err(Error::usage(message).help("every run reads it: save it to a file"));
        }
        let mut known = stamp(&meta);
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = all.get(&path)
            && (old.size, old.modified_ns, old.inode) == (known.size, known.modified_ns, known.inode)
        {
            files::opening(&path)?;
            return Ok(old.hash.clone());
        }
        let mut hasher = blake3::Hasher::new();
        let mut file = files::open_regular(what, &path)?;
        std::io::copy(&mut file, &mut hasher).map_err(cannot)?;
        known.hash = hasher.finalize().to_hex().to_string();
        let hash = known.hash.clone();
        if known.size >= LARGE {
            *self.fresh.lock().unwrap_or_else(PoisonError::into_inner) = true;
        }
        all.insert(path, known);
        Ok(hash)
    }

    /// The source of requests as their identity names it, and its files, each with the source that it is.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn source(&self, from: &Origin) -> Result<(String, Vec<(String, PathBuf)>)> {
        let with = |source: String, path: &Path| (source.clone(), vec![(source, path.to_path_buf())]);
        match from {
            Origin::Trace(Trace::File(path)) => Ok(with(format!("trace:{}", self.of("trace", path)?), path)),
            Origin::Trace(trace) => {
                Err(Error::usage(format!("{} can be read only once", clip(&trace.name())))
                    .help("save the trace to a file"))
            }
            Origin::Workload { name, .. } => match workload::named(name) {
                Some(named) => Ok((format!("workload:{}", named.name), Vec::new())),
                None => {
                    // The usual message where it is neither a name nor a file.
                    ssdlab_lab::input::find_workload(name)?;
                    let path = PathBuf::from(name);
                    Ok(with(format!("workload:@{}", self.of("workload", &path)?), &path))
                }
            },
            Origin::Spec(text) => Ok((format!("workload:@{}", blake3::hash(text.as_bytes()).to_hex()), Vec::new())),
            Origin::Tenants(tenants) => {
                let (mut list, mut files) = (Vec::new(), Vec::new());
                for tenant in tenants {
                    let (source, own) = self.source(&tenant.requests.from)?;
                    files.extend(own);
                    let from = match source.split_once(':') {
                        Some(("trace", hash)) => Origin::Trace(PathBuf::from(hash).into()),
                        _ => Origin::Workload { name: source["workload:".len()..].into(), recordings: None },
                    };
                    let mut named = tenant.clone();
                    named.requests.from = from;
                    list.push(escaped(&named.text()).replace(',', "%2C"));
                }
                Ok((format!("tenants:{}", list.join(",")), files))
            }
        }
    }
}

#[cfg(unix)]
pub(crate) fn stamp(meta: &std::fs::Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let modified_ns = (meta.mtime() as u64).wrapping_mul(1_000_000_000).wrapping_add(meta.mtime_nsec() as u64);
    Stamp { size: meta.len(), modified_ns, inode: meta.ino(), hash: String::new() }
}

#[cfg(not(unix))]
pub(crate) fn stamp(meta: &std::fs::Metadata) -> Stamp {
    let modified = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified_ns = modified.map_or(0, |time| time.as_nanos() as u64);
    Stamp { size: meta.len(), modified_ns, inode: 0, hash: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_lab::input::When;

    #[test]
    fn all_that_a_result_depends_on_is_in_its_key() {
        let key = |digest, input, seed, mode| key("0.1.3", digest, input, seed, mode);
        let keys = [
            key("d", "workload:a", 1, Mode::Timed),
            key("d", "workload:a", 1, Mode::Count),
            key("d", "workload:a", 2, Mode::Timed),
            key("d", "workload:b", 1, Mode::Timed),
            key("e", "workload:a", 1, Mode::Timed),
        ];
        assert_eq!(std::collections::BTreeSet::from(keys).len(), 5);
    }

    /// Each option that differs from its default tells requests apart; alone and all together they read back, in order of name.
    #[test]
    fn options_are_in_the_identity_and_read_back() {
        let options: [fn(&mut Requests); 13] = [
            |given| given.limit = Some(7),
            |given| given.loops = 3,
            |given| given.until_end = true,
            |given| given.time_scale = "1/3".parse().ok(),
            |given| given.replay = Some(When::Closed),
            |given| given.lba_policy = LbaPolicy::Dense,
            |given| given.reading.format = "columns:time=0:ns,op=1:rw".into(),
            |given| given.reading.device = Some("a disk 50%".into()),
            |given| given.reading.on_bad_line = OnBadLine::Skip(5),
            |given| given.reading.time_order = TimeOrder::Sort,
            |given| given.reading.op_codes = OpCodes::ReadIsZero,
            |given| given.reading.within_second = WithinSecond::Even,
            |given| given.reading.max_request = 4096,
        ];
        let mut texts = std::collections::BTreeSet::new();
        let alone = options.iter().map(std::slice::from_ref);
        for some in alone.chain([&options[..], &[]]) {
            let mut given = Requests::new(Origin::Trace(PathBuf::from("t.csv").into()));
            some.iter().for_each(|set| set(&mut given));
            let text = identity("trace:ab", &given);
            let read = requests(&text, &|source| (source == "trace:ab").then(|| "t.csv".into())).unwrap();
            assert_eq!((identity("trace:ab", &read), read.arguments()), (text.clone(), given.arguments()));
            let names: Vec<&str> = text.split(' ').skip(1).map(|word| word.split_once('=').unwrap().0).collect();
            assert!(names.is_sorted() && names.len() == some.len(), "{names:?}");
            texts.insert(text);
        }
        assert_eq!(texts.len(), options.len() + 2, "{texts:?}");
        assert!(requests("trace:cd", &|_| None).is_err());
    }

    /// The example of the contract, with literal arguments: the version moves on.
    #[test]
    fn the_key_is_the_contract_s() {
        let quickstart = Origin::Workload { name: "quickstart".into(), recordings: None };
        let requests = Requests { limit: Some(20_000), ..Requests::new(quickstart) };
        let (source, files) = Hashes::default().source(&requests.from).unwrap();
        assert!(files.is_empty());
        let input = identity(&source, &requests);
        assert_eq!(input, "workload:quickstart limit=20000");
        let digest = "d2b86475cded1cf6fbad6be19cd8c42552f2b1bd8cba8166a35eb969b221a23d";
        assert_eq!(
            key("0.1.0", digest, &input, 1, Mode::Timed),
            "54afc41a63587330e58441b19d077664ef369e3af3a9f30a9381eeba71e1641b"
        );
    }

    #[test]
    fn an_identity_of_tenants_reads_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0 r 0 4096\n").unwrap();
        let path = file.path().display();
        let texts = [
            "log=workload:sequential-write,lba=shared,depth=4".to_string(),
            format!(
                "db=trace:{path},lba=4096B..8192B,format=columns:time=0:ns,op=1,offset=2:bytes,size=3:bytes,limit=7"
            ),
        ];
        let tenants = texts.iter().map(|text| Tenant::parse(text).unwrap()).collect();
        let given = Requests { loops: 2, ..Requests::new(Origin::Tenants(tenants)) };
        let (source, files) = Hashes::default().source(&given.from).unwrap();
        assert_eq!(files.len(), 1);
        let identity = identity(&source, &given);
        let find = |source: &str| files.iter().find(|(known, _)| known == source).map(|(_, path)| path.clone());
        assert_eq!(requests(&identity, &find).unwrap().arguments(), given.arguments());
        assert!(requests(&identity, &|_| None).is_err());
    }

    #[test]
    fn a_changed_file_has_another_hash() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a").unwrap();
        let hashes = Hashes::default();
        let first = hashes.of("trace", file.path()).unwrap();
        assert_eq!(first, blake3::hash(b"a").to_hex().to_string());
        std::fs::write(file.path(), "bc").unwrap();
        assert_ne!(hashes.of("trace", file.path()).unwrap(), first);
    }
}
