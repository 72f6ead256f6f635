//! The part that every front end of ssdlab shares: from files and options to results, without any output to the screen.
//!
//! A front end (the command line, a package for another language) parses its options, calls this crate and formats the
//! results. Nothing here prints, reads arguments or ends the process. A mistake of the user is an [`error::Error`] with its
//! kind, place and fix; warnings of a run are a list of remarks.
//!
//! ```
//! use ssdlab_lab::input::{Origin, Requests};
//! use ssdlab_lab::perf::Moment;
//! use ssdlab_lab::run::{How, Outputs, Run};
//! use ssdlab_lab::settings::{Settings, Sources};
//!
//! let sources = Sources { sets: vec!["schemes.victim=fifo".into()], ..Sources::default() };
//! let run = Run::new(Settings::load(&sources)?, How::default(), Moment::now())?;
//! let quickstart = Origin::Workload { name: "quickstart".into(), recordings: None };
//! let ready = run.open(&Requests { limit: Some(100), ..Requests::new(quickstart) })?;
//! let done = ready.simulate(&Outputs::default(), &mut ())?;
//! assert_eq!(done.outcome.summary.latency_ns.all.count, 100);
//! # Ok::<(), ssdlab_lab::error::Error>(())
//! ```
//!
//! | question | module |
//! | --- | --- |
//! | What is configured, and by which text? | [`settings`] over [`presets`], [`schema`] and [`document`]; [`needs`], [`theory`] and [`memory`] derive the consequences |
//! | What have files of other simulators become? | [`foreign`]; `ssdlab-import` reads them |
//! | Which requests? | [`input`] |
//! | How are they fed to a device and observed? | [`drive`] |
//! | One run, with its files? | [`run`], which returns an [`outcome`] ([`tree`]: as JSON); each output is a [`product`] |
//! | Many runs, side by side? | [`variants`]; [`policies`] from outside in each of them |
//! | Why are some requests slow, and what if something had not happened? | `ssdlab-explain` |
//! | Thousands of runs, on many machines? | `ssdlab-sweep` |
//! | Which figures and pages do the files of runs make? | `ssdlab-report` |
//! | What is in the files of a run? | [`results`], written through [`output`] and read back by [`readers`]; [`files`] detects two names of one file |

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod decisions;
pub mod document;
pub mod drive;
pub mod error;
pub mod files;
pub mod foreign;
pub mod input;
pub mod layout;
pub mod life;
pub mod live;
pub mod memory;
pub mod names;
pub mod needs;
pub mod outcome;
pub mod output;
pub mod outside;
pub mod parallel;
pub mod perf;
pub mod policies;
pub mod presets;
pub mod product;
pub mod readers;
pub mod results;
pub mod run;
pub mod schema;
pub mod settings;
pub mod text;
pub mod theory;
pub mod tree;
pub mod variants;
pub mod writes;

#[doc(hidden)]
pub use ssdlab_trace::words;
