//! The files that a study names, as paths seen from the study.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::Origin;
use ssdlab_lab::names::clip;
use ssdlab_lab::settings::Document;
use ssdlab_sweep::axis::Change;
use ssdlab_sweep::study::{Study, origin};
use ssdlab_trace::Trace;
use toml::{Table, Value};

use crate::paths::{Seen, seen};

/// What a file is to a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A part of its text: a configuration, a workload, a list of points.
    Text,
    /// A trace.
    Trace,
}

/// A file that a study names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// What it is.
    pub role: Role,
    /// Where it is, seen from the study.
    pub seen: Seen,
    /// Where it is for this process.
    pub path: PathBuf,
}

/// An error about a file whose path means something else in a bundle.
fn outside(path: &Path) -> Error {
    Error::usage(format!("the study names {} by an absolute path, which means another file elsewhere", path.display()))
        .help("name the file by a path relative to the study, such as ../traces/web.csv.zst")
}

/// Checks the paths that are followed while a study is read: see [`files`] for the others. They may go up at most `depth` folders.
///
/// # Errors
/// One of them is absolute, or goes further up.
pub fn check(table: &Table, depth: usize) -> Result<()> {
    let at = |section: &str, key: &str| table.get(section).and_then(|section| section.get(key)).cloned();
    let lists = [at("design", "list"), at("input", "traces"), at("input", "trace"), at("base", "files")];
    let texts = lists.into_iter().flatten().flat_map(|value| match value {
        Value::Array(values) => values,
        value => vec![value],
    });
    // A trace with options is a table that names its file.
    let path = |value: Value| value.get("file").unwrap_or(&value).as_str().map(PathBuf::from);
    for text in texts.filter_map(path) {
        match seen(&text) {
            None => return Err(outside(&text)),
            Some(seen) if seen.up > depth => {
                return Err(Error::usage(format!("the study names {}, which is outside the bundle", text.display())));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The list of points of a design, if it is a file of its own.
pub fn list(table: &Table) -> Option<String> {
    Some(table.get("design")?.get("list")?.as_str()?.to_string())
}

/// The files that a study names for the points that it has. Nothing is opened.
///
/// # Errors
/// A path is absolute, or a workload is a file that is looked for elsewhere.
pub fn files(study: &Study, list: Option<&str>) -> Result<Vec<Named>> {
    let directory = &study.text.directory;
    let mut paths: Vec<(Role, PathBuf)> = list.iter().map(|path| (Role::Text, directory.join(path))).collect();
    for document in &study.base.files {
        if let Document::File(path) = document {
            paths.push((Role::Text, path.clone()));
        }
    }
    let mut origins = match &study.requests.from {
        Origin::Tenants(tenants) => tenants.iter().map(|tenant| tenant.requests.from.clone()).collect(),
        other => vec![other.clone()],
    };
    for change in study.choices.iter().flatten().flat_map(|item| &item.changes) {
        match change {
            Change::File(path) => paths.push((Role::Text, directory.join(path))),
            Change::Trace(path) => paths.push((Role::Trace, directory.join(path))),
            Change::Workload(name) => origins.push(origin(&study.text, name)),
            _ => {}
        }
    }
    for from in origins {
        match from {
            Origin::Trace(Trace::File(path)) => paths.push((Role::Trace, path)),
            Origin::Workload { name, .. } if ssdlab_trace::workload::named(&name).is_some() => {}
            Origin::Workload { name, .. } if name.ends_with(".toml") => paths.push((Role::Text, name.into())),
            Origin::Workload { name, .. } => {
                return Err(Error::usage(format!("no workload is called `{}`", clip(&name)))
                    .help("`ssdlab workloads` lists the names; the name of a file ends in .toml"));
            }
            _ => {}
        }
    }
    let named: BTreeSet<Named> =
        paths.into_iter().map(|(role, path)| one(directory, role, path)).collect::<Result<_>>()?;
    Ok(named.into_iter().collect())
}

/// A file seen from the folder of its study, to which the study has joined its path.
fn one(directory: &Path, role: Role, path: PathBuf) -> Result<Named> {
    let own = match path.strip_prefix(directory) {
        Ok(own) => own,
        Err(_) if directory == Path::new(".") => &path,
        Err(_) => return Err(outside(&path)),
    };
    let seen = seen(own).ok_or_else(|| outside(&path))?;
    Ok(Named { role, seen, path })
}
