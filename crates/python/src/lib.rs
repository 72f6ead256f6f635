//! The extension module of the Python package `ssdlab`. It converts; what decides is in `ssdlab_lab`.
//!
//! | name in Python | file |
//! | --- | --- |
//! | `Config` and the listings | `config.rs` |
//! | `run`, `Run`, `explain`, `whatif` | `run.rs`, `summary.rs` |
//! | `Explanation`, `WhatIf` | `why.rs` |
//! | `compare`, `reproduce` | `compare.rs` |
//! | `Run.report` and the pictures of notebooks | `report.rs` |
//! | `Requests` | `source.rs` |
//! | `workload`, `read_trace`, traces of Python | `requests.rs`, over the columns of `columns.rs` |
//! | `_Study` and its runs, under `ssdlab.sweep` | `sweep.rs` |
//! | `Table`, `Column` | `table.rs`, over the capsules of `arrow.rs` |
//! | `Device`, `Snapshot` | `device.rs` |
//! | `Disk` and what its calls return | `disk.rs` |
//! | `VictimView`, `TriggerView` | `policy.rs` |
//! | `_Game`, for `examples/gym_env.py` | `game.rs` |
//! | exceptions | `errors.rs` |
//! | arguments of several functions, their manuals, progress and signals | `arguments.rs`, `manual.rs`, `watch.rs` |

#[macro_use]
mod manual;

mod arguments;
mod arrow;
mod columns;
mod compare;
mod config;
mod device;
mod disk;
mod errors;
mod game;
mod import;
mod policy;
mod report;
mod requests;
mod run;
mod source;
mod summary;
mod sweep;
mod table;
mod values;
mod watch;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command `ssdlab` with these arguments, the program's name first, and returns its exit status.
#[pyfunction]
fn main_from(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // A command that needs another interpreter takes the one that it runs in.
    let file = |module: &str, name: &str| -> PyResult<PathBuf> { py.import(module)?.getattr(name)?.extract() };
    if let (Ok(own), Ok(module)) = (file("sys", "executable"), file("ssdlab._ssdlab", "__file__")) {
        ssdlab_cli::python(own, module);
    }
    py.detach(|| ssdlab_cli::status_from(arguments))
}

/// The extension module.
#[pymodule(gil_used = false)]
mod _ssdlab {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        arrow::Column,
        compare::{Comparison, Reproduction, Variant, compare, ladder, reproduce},
        config::{Config, Info, Knob, presets, schema, schemes, slots, workloads},
        device::{Device, Snapshot},
        disk::{Completion, Disk, Lost, Survivors},
        errors::WrongVictim,
        game::{Decision, End, Game},
        import::{Import, import_config},
        main_from,
        policy::{_policy_record, TriggerView, VictimView},
        requests::{read_trace, workload},
        run::{Run, explain_any, run, what_if_any},
        source::Requests,
        summary::{Section, Summary},
        sweep::{_column, _half_width, _perform, _ratio, PyStudy},
        table::Table,
        why::{Explanation, WhatIf},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::errors::register(module)?;
        crate::summary::register(module.py())
    }
}
