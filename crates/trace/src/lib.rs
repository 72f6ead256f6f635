//! Block-I/O trace readers and workload generators: the only place that parses foreign text.
//!
//! Every reader and generator yields [`Record`]s: times in integer nanoseconds, addresses in bytes.
//!
//! A trace is read in layers, each in bounded memory: [`Source`] unpacks bytes, [`Reader`] turns them into requests
//! in the order of time, [`Replay`] fits those to a device. Everything that a layer drops, holds or rounds is counted in
//! [`Notes`]; everything that it cannot accept is a [`TraceError`] with place, reason and fix.
//!
//! ```
//! use ssdlab_trace::{Fit, LbaPolicy, Options, Replay};
//! # use std::io::Write;
//! # let mut file = tempfile::NamedTempFile::new()?;
//! # writeln!(file, "128166372003061629,hm,0,Read,383496192,32768,113736")?;
//! # writeln!(file, "128166372016382155,hm,0,Write,2822144,4096,1161")?;
//! # let path = file.path();
//! let fit = Fit { lba_policy: LbaPolicy::Dense, ..Fit::new(16 << 30) };
//! let mut replay = Replay::open(path, &Options::default(), fit)?;
//! while let Some(record) = replay.next()? {
//!     println!("{} ns: {:?} {} bytes at {}", record.time_ns, record.op, record.bytes, record.offset);
//! }
//! for line in replay.notes().lines() {
//!     eprintln!("{line}");
//! }
//! assert_eq!(replay.accepted(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A format is one file in `readers/`: a new one is a type with a `parse` for a line, a name in [`Format`], and a row
//! in the tables of the tests.

/// Declares an enum of which each choice has a name.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        $vis enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// All of them, in their order.
            $vis const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// As it is written.
            $vis const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

/// As [`words`], for choices that are read by their names.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($choices:tt)+ }) => {
        $crate::words! { $(#[$about])* $vis enum $name { $($choices)+ } }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> std::result::Result<$name, String> {
                let found = $name::ALL.into_iter().find(|choice| choice.name() == text);
                found.ok_or_else(|| $crate::expected(&$name::ALL.map($name::name)))
            }
        }
    };
}

/// What is expected in place of another name.
#[doc(hidden)]
pub fn expected(names: &[&str]) -> String {
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("expected {} or {last}", others.join(", "))
}

mod convert;
mod detect;
mod error;
mod format;
mod info;
mod iso;
mod lines;
mod map;
mod notes;
mod number;
mod options;
mod reader;
mod readers;
pub mod record;
mod replay;
mod shown;
mod source;
mod table;
#[doc(hidden)]
pub mod values;
pub mod workload;

pub use convert::{Losses, Writer, convert};
pub use detect::Detection;
pub use error::{Code, Kind, Report, TraceError};
pub use format::{Format, Kernel, KernelEvent};
pub use info::{BURST_NS, Collector, INFO_PAGE_BYTES, Info, Lint, Pages, Severity, check};
pub use map::{Clock, Column, Columns, FormatError, Measure, Objects, OpColumn, Separator, Time};
pub use notes::{Note, Notes, Tally};
pub use options::{MAX_REQUEST_BYTES, OnBadLine, OpCodes, Options, TimeOrder, WithinSecond};
pub use reader::{REORDER_WINDOW_NS, Reader, SORT_RECORDS};
pub use record::{Extent, Names, Op, Record};
pub use replay::{CLOCK_MAX_NS, Digest, Fit, LbaPolicy, Replay, SECTOR_BYTES, Scale};
pub use shown::{EXCERPT_BYTES, Excerpt, acts, foreign};
pub use source::{Compression, OneReader, Source, Trace, WINDOW_BYTES, ask_before_opening};
pub use table::{Row, Rows, Table};
