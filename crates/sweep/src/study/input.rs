//! The base configuration and the requests of a study.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use ssdlab_sim::units::Bytes;
use ssdlab_trace::{LbaPolicy, Trace};
use toml::{Table, Value};

use crate::axis::{self, Axis, Change};
use crate::study::axes::list;
use crate::study::traces;
use crate::text::Text;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{Origin, Reading, Requests, Tenant, When};
use ssdlab_lab::names::clip;
use ssdlab_lab::settings::{Document, Sources, argument};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Base {
    pub preset: Option<String>,
    pub files: Vec<PathBuf>,
    pub set: Table,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InputSection {
    pub workload: Option<String>,
    pub workloads: Option<Vec<String>>,
    pub tenants: Option<Vec<String>>,
    pub trace: Option<String>,
    pub traces: Option<Value>,
    pub limit: Option<u64>,
    #[serde(rename = "loop")]
    pub loops: Option<u32>,
    pub until: Option<String>,
    pub time_scale: Option<Value>,
    pub replay: Option<String>,
    pub lba_policy: Option<String>,
    pub format: Option<String>,
    pub device: Option<String>,
    pub on_bad_line: Option<String>,
    pub time_order: Option<String>,
    pub op_codes: Option<String>,
    pub within_second: Option<String>,
    pub max_request: Option<Bytes>,
    pub count_only: bool,
}

/// Keys that would cut a trace.
const CUTS: [&str; 10] = ["parts", "part", "split", "cut", "window", "windows", "chunks", "from", "to", "skip"];

/// Refuses to run parts of a trace by themselves, in words.
pub(super) fn whole(text: &Text, input: &Table) -> Result<()> {
    let Some(key) = CUTS.into_iter().find(|key| input.contains_key(*key)) else { return Ok(()) };
    Err(text
        .error(
            &format!("input.{key}"),
            true,
            format!("input.{key}: a trace of one device is never cut in time and run in parts"),
        )
        .note("the state of the device at the cut is unknown, and any guess at a warm-up changes the tail")
        .help(
            "run the whole trace, or its first requests with `limit`; `ssdlab trace split` divides a trace by volume",
        ))
}

impl Base {
    /// The layers of the configuration; `section` is where they stand in the file.
    pub(crate) fn sources(self, text: &Text, section: &str) -> Sources {
        let files = self.files.iter().map(|file| Document::File(text.directory.join(file))).collect();
        let keys = text.ordered(&format!("{section}.set"), &self.set);
        let sets = keys.into_iter().map(|(key, value)| format!("{key}={}", argument(value))).collect();
        Sources { preset: self.preset, files, sets, ..Sources::default() }
    }
}

impl InputSection {
    /// The requests; several workloads or traces become the first axis.
    pub(super) fn requests(self, text: &Text, axes: &mut Vec<Axis>) -> Result<(Requests, bool)> {
        let given: Vec<&str> = [
            ("input.workload", self.workload.is_some()),
            ("input.workloads", self.workloads.is_some()),
            ("input.tenants", self.tenants.is_some()),
            ("input.trace", self.trace.is_some()),
            ("input.traces", self.traces.is_some()),
            ("axes.workload", gives(axes, |change| matches!(change, Change::Workload(_)))),
            ("axes.trace", gives(axes, |change| matches!(change, Change::Trace(_)))),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        match given[..] {
            [_] => {}
            [] => {
                return Err(text
                    .error("input", true, "no requests")
                    .help("give one of workload, workloads, trace, traces and tenants in [input]"));
            }
            [_, second, ..] => {
                return Err(text
                    .error(second, true, format!("more than one source of requests: {}", given.join(", ")))
                    .help("give exactly one of workload, workloads, trace, traces and tenants"));
            }
        }
        let mut requests = Requests::new(Origin::Spec(String::new()));
        if let Some(name) = &self.workload {
            requests.from = origin(text, name);
        }
        if let Some(path) = &self.trace {
            requests.from = Origin::Trace(trace(text, "input.trace", path)?);
        }
        if let Some(list) = &self.tenants {
            requests.from = Origin::Tenants(list.iter().map(|one| tenant(text, one)).collect::<Result<_>>()?);
        }
        if let Some(names) = &self.workloads {
            let values = names.iter().cloned().map(Value::String).collect();
            axes.insert(0, list(text, "input.workloads", "workload", "workload".into(), values)?);
        }
        if let Some(given) = &self.traces {
            axes.insert(0, traces::axis(text, given)?);
        }
        self.options(text, "input", &mut requests)?;
        Ok((requests, self.count_only))
    }

    /// The options of reading and replay; `section` is where they stand in the file.
    pub(crate) fn options(&self, text: &Text, section: &str, requests: &mut Requests) -> Result<()> {
        fn parsed<T: std::str::FromStr<Err = String>>(
            text: &Text,
            key: &str,
            value: Option<&String>,
        ) -> Result<Option<T>> {
            let parse = |value: &String| {
                let wrong = |error| text.error(key, false, format!("{key}: `{}`: {error}", clip(value)));
                value.parse().map_err(wrong)
            };
            value.map(parse).transpose()
        }
        let at = |key: &str| format!("{section}.{key}");
        if self.limit == Some(0) || self.loops == Some(0) {
            let key = at(if self.limit == Some(0) { "limit" } else { "loop" });
            return Err(text.error(&key, false, format!("{key}: expected a whole number from 1 on")));
        }
        requests.limit = self.limit;
        requests.loops = self.loops.unwrap_or(1);
        requests.until_end = match self.until.as_deref() {
            None => false,
            Some("end-of-life") => true,
            Some(other) => {
                let message = format!("{}: `{}` is not one of its values", at("until"), clip(other));
                return Err(text.error(&at("until"), false, message).help("the value is end-of-life"));
            }
        };
        let wrong = |error| text.error(&at("time_scale"), false, format!("{}: {error}", at("time_scale")));
        requests.time_scale = self.time_scale.as_ref().map(axis::scale).transpose().map_err(wrong)?;
        let replay = |own: &String| {
            own.parse::<When>().map_err(|_| {
                let message = format!("{}: `{}` is not one of its values", at("replay"), clip(own));
                text.error(&at("replay"), false, message).help("the values are arrival, closed")
            })
        };
        requests.replay = self.replay.as_ref().map(replay).transpose()?;
        requests.lba_policy =
            parsed::<LbaPolicy>(text, &at("lba_policy"), self.lba_policy.as_ref())?.unwrap_or_default();
        let usual = Reading::default();
        requests.reading = Reading {
            format: self.format.clone().unwrap_or(usual.format),
            device: self.device.clone(),
            on_bad_line: parsed(text, &at("on_bad_line"), self.on_bad_line.as_ref())?.unwrap_or(usual.on_bad_line),
            time_order: parsed(text, &at("time_order"), self.time_order.as_ref())?.unwrap_or(usual.time_order),
            op_codes: parsed(text, &at("op_codes"), self.op_codes.as_ref())?.unwrap_or(usual.op_codes),
            within_second: parsed(text, &at("within_second"), self.within_second.as_ref())?
                .unwrap_or(usual.within_second),
            max_request: self.max_request.map_or(usual.max_request, |bytes| bytes.0),
        };
        requests.reading.options().map(drop)
    }
}

/// Whether an axis changes something in each of its values.
fn gives(axes: &[Axis], of: impl Fn(&Change) -> bool) -> bool {
    axes.iter().any(|axis| axis.items().iter().all(|item| item.changes.iter().any(&of)))
}

/// A workload: one that comes with the program, or a file beside the study.
pub fn origin(text: &Text, name: &str) -> Origin {
    let bundled = ssdlab_trace::workload::named(name).is_some();
    let name = if bundled || Path::new(name).extension().is_none_or(|ending| ending != "toml") {
        name.into()
    } else {
        text.path(name).display().to_string()
    };
    Origin::Workload { name, recordings: None }
}

/// A tenant, whose file is beside the study.
fn tenant(text: &Text, given: &str) -> Result<Tenant> {
    let wrong = |error: Error| {
        let message = error.message.replacen("--tenant", "input.tenants", 1);
        error.help.iter().fold(text.error("input.tenants", false, message), |error, help| error.help(help.as_str()))
    };
    let mut tenant = Tenant::parse(given).map_err(wrong)?;
    tenant.requests.from = match &tenant.requests.from {
        Origin::Workload { name, .. } => origin(text, name),
        Origin::Trace(file) => Origin::Trace(trace(text, "input.tenants", &file.name())?),
        other => other.clone(),
    };
    Ok(tenant)
}

fn trace(text: &Text, at: &str, path: &str) -> Result<Trace> {
    if path == "-" {
        let message = "standard input can be read only once, and every run reads the trace";
        return Err(text.error(at, false, message).help("save the trace to a file"));
    }
    Ok(text.path(path).into())
}
