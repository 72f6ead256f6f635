//! A single source of requests fitted to a device.

use std::path::Path;

use ssdlab_sim::Think;
use ssdlab_sim::units::Nanos;
use ssdlab_trace::workload::Spec;
use ssdlab_trace::{Fit, Options, Replay, Trace};

use crate::error::{Error, Result};
use crate::input::generator::Generated;
use crate::input::requests::{Closed, Provenance, Requests, Target, When};
use crate::input::source::RecordSource;
use crate::input::workloads::refuse;
use crate::names::{clip, clip_line};
use crate::text::count;

/// A single source that is fitted to a device.
pub(super) struct Fitted {
    pub(super) source: RecordSource,
    /// How it is a closed loop, if it is one.
    pub(super) closed: Option<Closed>,
    /// The name of the workload, if it is one.
    pub(super) workload: Option<String>,
    pub(super) about: Vec<String>,
    pub(super) provenance: Provenance,
    pub(super) remarks: Vec<String>,
}

/// Opens a recording for a device, with its description.
pub(super) fn recorded(
    requests: &Requests,
    trace: &Trace,
    options: Options,
    instead_of: Option<String>,
    target: &Target,
) -> Result<(RecordSource, Vec<String>)> {
    let fit = Fit {
        capacity_bytes: target.capacity_bytes,
        page_bytes: target.page_bytes,
        lba_policy: requests.lba_policy,
        limit: requests.limit,
        loops: u64::from(requests.passes()),
        time_scale: requests.time_scale.unwrap_or_default(),
    };
    let options = Options { flushes: target.flushes, ..options };
    let replay = Replay::of(trace, &options, fit)?;
    let about = match trace {
        Trace::Table(table) => format!("a table of {} rows", count(table.rows())),
        Trace::File(_) | Trace::Stream(..) => {
            let name = trace.name();
            let file = Path::new(&name).file_name().map(|name| name.to_string_lossy().into_owned());
            let name = file.filter(|name| name != "-").unwrap_or_else(|| "standard input".into());
            format!("recorded trace {} ({})", clip(&name), clip(&replay.reader().format().to_string()))
        }
    };
    let mut about = vec![about];
    about.extend(instead_of.map(|name| format!("the recording itself, in place of the model {}", clip(&name))));
    Ok((RecordSource::Trace(Box::new(replay)), about))
}

/// Builds a workload: its requests, how it is a closed loop if it is one, and its description.
pub(super) fn workload(
    requests: &Requests,
    name: &str,
    spec: &Spec,
    target: &Target,
) -> Result<(RecordSource, Option<Closed>, Vec<String>)> {
    let Target { capacity_bytes, page_bytes, queue_depth, seed, .. } = *target;
    let generator =
        spec.build(capacity_bytes, page_bytes, seed, requests.limit).map_err(|error| refuse(name, &error))?;
    let closed = match (generator.closed(), requests.replay) {
        (Some(_), Some(When::Arrival)) => {
            return Err(Error::usage(format!(
                "--replay arrival: the workload {name} is a closed loop and has no arrival times"
            ))
            .help("leave --replay out, or give the workload arrivals"));
        }
        (Some(closed), _) => {
            let think = closed.think.map(|think| Think { time: Nanos(think.time_ns), after: think.after });
            Some(Closed { think, ..Closed::of(closed.depth.unwrap_or(queue_depth)) })
        }
        (None, when) => (when == Some(When::Closed)).then_some(Closed::of(queue_depth)),
    };
    let (shown, description) = (clip(name), clip_line(&spec.description));
    let mut about = vec![if spec.model {
        format!("{shown}: {description} (generated to published figures, not the recording itself)")
    } else {
        format!("{shown} (generated): {description}")
    }];
    if !spec.source.is_empty() {
        about.push(format!("source: {}", clip_line(&spec.source)));
    }
    let generated =
        Generated::new(generator, requests.passes(), requests.limit, requests.time_scale.unwrap_or_default());
    Ok((RecordSource::Generated(Box::new(generated)), closed, about))
}
