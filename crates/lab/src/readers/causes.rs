//! All causes of latency in one list: those of every device, then those of optional features, in the order of results.

use ssdlab_sim::blame::{BY_GC, CAUSES, Cause, Extra};
use ssdlab_sim::report::histogram::Bucket;

/// Number of causes.
pub const COUNT: usize = Cause::COUNT + Extra::COUNT;

/// Nanoseconds by cause, in the order of [`all`].
pub type Sums = [u128; COUNT];

/// A cause of every device, or of an optional feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {
    /// Of every device.
    Usual(Cause),
    /// Of an optional feature.
    Extra(Extra),
}

/// All causes in their order.
pub fn all() -> impl Iterator<Item = Any> + Clone {
    CAUSES.into_iter().map(|(cause, _)| Any::Usual(cause)).chain(Extra::ALL.into_iter().map(Any::Extra))
}

impl Any {
    /// The cause with this name in results.
    pub fn of(name: &str) -> Option<Any> {
        all().find(|cause| cause.name() == name)
    }

    /// Its place in the order.
    pub fn place(self) -> usize {
        match self {
            Any::Usual(cause) => cause as usize,
            Any::Extra(extra) => Cause::COUNT + extra as usize,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Any::Usual(cause) => CAUSES[cause as usize].1,
            Any::Extra(extra) => extra.name(),
        }
    }

    /// Whether GC is waited for.
    pub fn is_by_gc(self) -> bool {
        match self {
            Any::Usual(cause) => BY_GC.contains(&cause),
            Any::Extra(extra) => extra.is_by_gc(),
        }
    }

    /// Whether it is a wait for one of the device's slots, before the device has the request.
    pub fn is_outside(self) -> bool {
        matches!(self, Any::Usual(Cause::Queue) | Any::Extra(Extra::Arbitration))
    }
}

/// Adds the causes of a bucket.
pub fn add(sums: &mut Sums, bucket: &Bucket) {
    sums.iter_mut().zip(bucket.causes.iter().chain(&bucket.extras)).for_each(|(sum, ns)| *sum += ns);
}

/// The causes with the largest sums, largest first, without those that took no time.
pub fn largest(sums: &Sums, most: usize) -> Vec<(Any, u128)> {
    let mut causes: Vec<(Any, u128)> =
        all().map(|cause| (cause, sums[cause.place()])).filter(|(_, ns)| *ns > 0).collect();
    // Equal ones stay in the order of the causes.
    causes.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    causes.truncate(most);
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cause has a colour and a pattern of its own, and its place in the order.
    #[test]
    fn causes_have_styles() {
        let styles = ssdlab_figures::palette::STYLES;
        let of = |cause: Any| styles.iter().find(|(key, _)| *key == cause.name()).map(|(_, style)| *style);
        let mut seen = Vec::new();
        for (place, cause) in all().enumerate() {
            assert_eq!((cause.place(), Any::of(cause.name())), (place, Some(cause)));
            let style = of(cause).unwrap_or_else(|| panic!("no style for {}", cause.name()));
            assert!(!seen.contains(&(style.light, style.pattern)), "{}", cause.name());
            seen.push((style.light, style.pattern));
        }
        assert_eq!(seen.len(), COUNT);
    }
}
