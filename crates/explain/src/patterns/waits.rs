//! Most of the wait is for one thing: a row each.

use ssdlab_sim::blame::{Cause, Extra};

use crate::patterns::case::{Detector, mostly};

const fn half(name: &'static str, says: &'static str, causes: &'static [Cause], extras: &'static [Extra]) -> Detector {
    Detector { name, about: "over half the wait", says, causes, extras, from_rows: true, shows: mostly }
}

/// Requests that a collection has delayed.
pub const LATE: Detector = half("late", "waited mostly for requests that GC had delayed", &[Cause::DieLate], &[]);

/// A queue slot of the device.
pub const QUEUE_FULL: Detector =
    half("queue-full", "waited mostly for one of the queue slots of the device", &[Cause::Queue], &[]);

/// A free page, or a slot of the buffer.
pub const OUT_OF_SPACE: Detector =
    half("out-of-space", "waited mostly for a free page or a buffer slot", &[Cause::Space, Cause::Staging], &[]);

/// Other requests on the die: programs, as a rule, which take longest.
pub const BEHIND_PROGRAMS: Detector =
    half("behind-programs", "waited mostly for other requests on the die", &[Cause::DieHost], &[]);

/// A channel or the interconnect.
pub const BUS: Detector =
    half("bus", "waited mostly for a channel", &[Cause::BusHost, Cause::BusGc, Cause::NocHost, Cause::NocGc], &[]);

/// A line of the write cache.
pub const CACHE_FULL: Detector = half(
    "cache-full",
    "waited mostly for a line of the write cache",
    &[],
    &[Extra::Cache, Extra::CacheGc, Extra::CacheHost],
);

/// Folds of the cache of SLC.
pub const FOLDING: Detector = half("folding", "waited mostly for a fold of the SLC cache", &[], &[Extra::Slc]);
