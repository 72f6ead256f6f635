//! Workloads: seeded generators of requests, described in TOML.
//!
//! A [`Spec`] says what the requests look like; [`Spec::build`] fits it to a device and gives a [`Generator`],
//! which yields [`Record`](crate::Record)s. [`all`] lists the workloads that come with the crate, among them
//! models calibrated to the trace tables of published papers. A model reproduces the figures of a table, not the
//! trace. The format and the fitting are described in `docs/workloads.md`.
//!
//! ```
//! use ssdlab_trace::{Op, workload::Spec};
//!
//! let spec = Spec::parse(
//!     r#"
//!     requests = 1000
//!     write    = 0.3
//!     pattern  = { zipf = { theta = 0.99 } }
//!     arrivals = { poisson = { rate = 5000 } }
//!     "#,
//! )?;
//! let records: Vec<_> = spec.build(1 << 30, 4096, 1, None)?.collect();
//! assert_eq!(records.len(), 1000);
//! assert!(records.iter().any(|r| r.op == Op::Write && r.bytes == 4096));
//! # Ok::<(), ssdlab_trace::workload::SpecError>(())
//! ```

mod build;
mod draw;
mod generator;
mod named;
mod objects;
mod place;
mod spec;
mod units;

pub use generator::Generator;
pub use named::{Named, all, named};
pub use spec::{
    Arrivals, Bound, ClosedLoop, Dies, Pattern, Phase, Range, Sizes, Spec, SpecError, StreamSpec, Think, Weight,
};
pub use units::{Nanos, Ppm, Size};
