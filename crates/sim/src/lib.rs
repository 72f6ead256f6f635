//! The simulator core: an SSD as a value, driven from outside.
//!
//! ```
//! use ssdlab_sim::units::Nanos;
//! use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};
//!
//! let mut ssd = Ssd::new(&Config::default(), 1, Check::Full)?;
//! ssd.submit(Request { arrival: Nanos(0), op: RequestOp::Write, offset: 0, bytes: 4096 });
//! ssd.submit(Request { arrival: Nanos(300_000), op: RequestOp::Read, offset: 64 * 4096, bytes: 4096 });
//! ssd.run();
//! let summary = ssd.summary(1, String::new(), String::new());
//! assert_eq!(summary.latency_ns.write.max, Some(605_120)); // data-in 5,120, program 600,000
//! assert_eq!(summary.latency_ns.read.max, Some(360_240)); // the die is busy until 605,120
//! # Ok::<(), ssdlab_sim::ConfigError>(())
//! ```
//!
//! [`config`] defines the keys, [`device`] is mechanism, [`schemes`] are policy behind the traits of [`policy`], [`engine`] is
//! the event loop, [`blame`] and [`report`] are the results, [`oracle`] checks them. See ARCHITECTURE.md.

/// Asserts a law of flash or of the simulation, also in release builds. `--cfg ssdlab_without_laws` measures its cost.
#[cfg(not(ssdlab_without_laws))]
macro_rules! law {
    ($($law:tt)*) => { assert!($($law)*) };
}
/// Asserts that two values are equal: see `law`. Only where they are not does it need references to them, which would keep both in
/// memory.
#[cfg(not(ssdlab_without_laws))]
macro_rules! law_eq {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {{
        let (left, right) = ($left, $right);
        if left != right {
            let (left, right) = (left, right);
            assert_eq!(left, right $(, $($message)*)?);
        }
    }};
}
#[cfg(ssdlab_without_laws)]
macro_rules! law {
    ($law:expr $(, $($message:tt)*)?) => {{
        let _ = || $law;
    }};
}
#[cfg(ssdlab_without_laws)]
macro_rules! law_eq {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {{
        let _ = || $left == $right;
    }};
}

pub mod blame;
mod carry;
pub mod config;
pub mod device;
pub mod engine;
pub mod observe;
pub mod oracle;
pub mod policy;
pub mod presets;
pub mod random;
pub mod report;
pub mod request;
#[cfg(feature = "schema")]
mod schema;
pub mod schemes;
mod sectors;
pub mod slowest;
mod stats;
pub mod units;
pub mod versions;

pub use config::{Config, ConfigError};
pub use engine::{ClosedShortcut, Filled, Postponement, PutOff, Shortcuts, Slowed, Ssd};
pub use observe::{Completed, Held, LegRecord, Observer, Resource, Sample, Watches};
pub use oracle::Check;
pub use request::{Extent, Marks, Outstanding, Request, RequestOp, Think};
