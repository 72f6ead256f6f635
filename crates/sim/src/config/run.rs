//! Which part of a run is measured (`run.*`).

use serde::Deserialize;

use crate::units::Warmup;

section! {
    /// Which part of the run is measured.
    Run {
        /// Start of the run that is not measured: `"N requests"` or `"X drive writes"`.
        warmup: Option<Warmup> = None,
    }
}
