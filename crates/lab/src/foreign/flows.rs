//! The requests that files of other simulators describe: generated streams, and traces by name.

use std::path::{Path, PathBuf};

use ssdlab_trace::LbaPolicy;

use crate::error::{Error, Result};
use crate::names::clip;

/// A source of requests of another simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name here, such as `flow1`.
    pub name: String,
    /// The original's name for it.
    pub description: String,
    /// Its requests.
    pub source: Source,
}

impl Flow {
    /// Whether it keeps a number of requests outstanding.
    pub fn is_closed(&self) -> bool {
        matches!(&self.source, Source::Stream(stream) if stream.depth().is_some())
    }
}

/// Where its requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// They are generated.
    Stream(Stream),
    /// They are in a trace.
    Recording(Recording),
}

/// A recorded trace that a file names; it is not opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// As the file gives it.
    pub path: String,
    /// Its format.
    pub format: &'static str,
    /// How often it is replayed.
    pub loops: u32,
    /// How requests beyond the device are treated.
    pub lba_policy: LbaPolicy,
}

/// A generated stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Millionths of the requests that are reads.
    pub read: u64,
    /// Sizes with weights in millionths.
    pub sizes: Vec<(u64, u64)>,
    /// Those of writes, where they are others.
    pub write_sizes: Option<Vec<(u64, u64)>>,
    /// Offsets are multiples of this many bytes.
    pub align: u64,
    /// The addresses: from, and up to.
    pub range: (Edge, Edge),
    /// The pattern, in TOML.
    pub pattern: String,
    /// When its requests arrive.
    pub arrivals: Arrivals,
    /// Pauses of a closed loop.
    pub think: Option<Pause>,
    /// When it ends.
    pub end: End,
}

impl Stream {
    /// The requests that it keeps outstanding, if it is a closed loop.
    pub fn depth(&self) -> Option<u32> {
        match self.arrivals {
            Arrivals::Closed(depth) => Some(depth),
            Arrivals::Poisson(_) | Arrivals::Fixed(_) => None,
        }
    }
}

/// An end of a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Millionths of the exported space.
    Share(u64),
    /// Bytes from its start.
    Bytes(u64),
}

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// So many are outstanding.
    Closed(u32),
    /// Independent exponential gaps of this mean in nanoseconds.
    Poisson(u64),
    /// Equal gaps of so many nanoseconds.
    Fixed(u64),
}

/// A pause of so many nanoseconds after so many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How long it is, in nanoseconds.
    pub ns: u64,
    /// Completed requests from one to the next.
    pub after: u32,
}

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After so many requests.
    Requests(u64),
    /// After so many nanoseconds.
    DurationNs(u64),
    /// Where `--limit` says.
    Limit,
}

impl Recording {
    /// The file of that name in a directory.
    ///
    /// # Errors
    /// No directory is given, or the path ends in no name.
    pub fn within(&self, directory: Option<&Path>) -> Result<PathBuf> {
        let base = self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path);
        match directory {
            // A name such as `..` would lead out of the directory.
            Some(directory) if !["", ".", ".."].contains(&base) => Ok(directory.join(base)),
            _ => {
                let shown = clip(&self.path);
                Err(Error::usage(format!("the file replays the trace {shown}, and paths in it are not followed"))
                    .help(format!("give --trace FILE --format {}, or --follow-traces DIR", self.format)))
            }
        }
    }
}

/// A workload file of one flow. Among several, a closed loop names its depth: that of the device is for all of them.
pub fn alone(flow: &Flow, stream: &Stream, several: bool) -> String {
    let end = match stream.end {
        End::Requests(requests) => format!("requests = {requests}"),
        End::DurationNs(ns) => format!("duration = \"{ns}ns\""),
        End::Limit => "# the end is that of --limit".to_string(),
    };
    let arrivals = match stream.arrivals {
        Arrivals::Closed(depth) if several || stream.think.is_some() => {
            let pause = |Pause { ns, after }| format!(", think = \"{ns}ns\", think_after = {after}");
            format!("{{ closed = {{ depth = {depth}{} }} }}", stream.think.map(pause).unwrap_or_default())
        }
        Arrivals::Closed(_) => "\"closed\"".to_string(),
        Arrivals::Poisson(gap) => format!("{{ poisson = {{ gap = \"{gap}ns\" }} }}"),
        Arrivals::Fixed(gap) => format!("{{ fixed = {{ gap = \"{gap}ns\" }} }}"),
    };
    let Flow { name, description, .. } = flow;
    format!("name = {name:?}\ndescription = {description:?}\n{end}\narrivals = {arrivals}\n{}", keys(stream))
}

/// Mix, sizes and addresses of a stream.
fn keys(stream: &Stream) -> String {
    let share = |millionths: u64| format!("{:?}", millionths as f64 / 1e6);
    let list = |sizes: &[(u64, u64)]| match sizes {
        [(bytes, _)] => format!("\"{bytes}B\""),
        many => {
            let pairs: Vec<String> =
                many.iter().map(|(bytes, weight)| format!("[\"{bytes}B\", {}]", share(*weight))).collect();
            format!("[{}]", pairs.join(", "))
        }
    };
    let sizes = match &stream.write_sizes {
        None => format!("size = {}", list(&stream.sizes)),
        Some(writes) => format!("read_size = {}\nwrite_size = {}", list(&stream.sizes), list(writes)),
    };
    let edge = |edge: Edge| match edge {
        Edge::Share(millionths) => share(millionths),
        Edge::Bytes(bytes) => format!("\"{bytes}B\""),
    };
    let (from, to) = stream.range;
    format!(
        "read = {}\n{sizes}\nalign = \"{}B\"\nrange = [{}, {}]\npattern = {}\n",
        share(stream.read),
        stream.align,
        edge(from),
        edge(to),
        stream.pattern
    )
}
