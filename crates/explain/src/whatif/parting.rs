//! The first event at which two devices part.

use std::collections::BTreeMap;

use ssdlab_sim::device::geometry::Geometry;
use ssdlab_sim::device::transaction::{Class, Verb};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{LegRecord, Resource};

/// Where two devices part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The time.
    pub at: Nanos,
    /// The resource, such as `die 0`.
    pub resource: String,
    /// What each of the two does there from then on, in a word: the base, the what-if.
    pub does: [String; 2],
    /// The collection of each, if it is one.
    pub collections: [Option<u64>; 2],
}

/// A leg in an order that is the same for both: by start, then by resource.
type Key = (u64, (u8, u32), u8, u64, u32, u8, u64);

/// The resource of a leg: dies first.
fn place(leg: &LegRecord, geometry: &Geometry) -> (u8, u32) {
    match leg.resource {
        Resource::Planes => (0, leg.planes().next().map_or(0, |plane| geometry.unit_of(plane).0)),
        Resource::Channel(channel) => (1, channel),
        Resource::HostLink(inward) => (2, u32::from(!inward)),
        Resource::Port(port) => (3, port),
    }
}

fn name((kind, number): (u8, u32)) -> String {
    match kind {
        0 => format!("die {number}"),
        1 => format!("channel {number}"),
        2 => format!("host link {}", if number == 0 { "in" } else { "out" }),
        _ => format!("port {number}"),
    }
}

fn verb(verb: Verb) -> String {
    format!("{verb:?}").to_lowercase()
}

fn key(leg: &LegRecord, geometry: &Geometry, from: Nanos) -> Key {
    // What runs at the copy began before it, in both.
    let start = leg.start.max(from).0;
    (start, place(leg, geometry), leg.class as u8, leg.number, leg.ppn.0, leg.verb as u8, leg.end.0)
}

/// In words, without a number unless both devices do the same.
fn does(leg: &LegRecord, exactly: bool) -> String {
    match leg.class {
        Class::Host => format!("{} of request {}", verb(leg.verb), leg.number),
        Class::Gc if exactly => format!("collection {}: {}", leg.number, verb(leg.verb)),
        Class::Gc => "collection".into(),
        Class::Writeback => "write-back".into(),
        Class::Metadata => "metadata".into(),
        Class::Parity => format!("parity {}", verb(leg.verb)),
        Class::Replica => "second copy".into(),
        Class::Cache => format!("{} of the write cache", verb(leg.verb)),
        Class::Fold if exactly => format!("fold {}: {}", leg.number, verb(leg.verb)),
        Class::Fold => "fold".into(),
        Class::Refresh => format!("{} of a refresh", verb(leg.verb)),
    }
}

/// In words, with its page.
fn on_page(leg: &LegRecord, geometry: &Geometry) -> String {
    let block = geometry.block_of(leg.ppn);
    format!("{} of page {} of block {}", does(leg, true), geometry.offset(leg.ppn), block.0)
}

/// In words, with its time.
fn span(leg: &LegRecord) -> String {
    format!("{} from {} to {} ns", does(leg, true), leg.start.0, leg.end.0)
}

/// The first request that one device completes before the other does: with the same use of flash and channels, it may wait for
/// memory, a decoder or a queue. None if there is none.
pub fn part_at_completion(base: &BTreeMap<u64, Nanos>, whatif: &BTreeMap<u64, Nanos>) -> Option<Parting> {
    let differs = |(number, one): (&u64, &Nanos)| {
        let other = *whatif.get(number)?;
        (other != *one).then_some((other.min(*one), *number, [*one, other]))
    };
    let (at, number, times) = base.iter().filter_map(differs).min_by_key(|(at, number, _)| (*at, *number))?;
    let does = times.map(|time| if time == at { "completes" } else { "goes on" }.to_string());
    Some(Parting { at, resource: format!("request {number}"), does, collections: [None; 2] })
}

/// The first difference of what two devices did, from the copy on; none if there is none among legs that started before `known`: all of
/// these have been recorded.
pub fn part(
    base: &[LegRecord],
    whatif: &[LegRecord],
    geometry: &Geometry,
    from: Nanos,
    known: Nanos,
) -> Option<Parting> {
    let sorted = |legs: &[LegRecord]| {
        let mut all: Vec<(Key, LegRecord)> = legs.iter().map(|leg| (key(leg, geometry, from), *leg)).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    };
    let both = [sorted(base), sorted(whatif)];
    // The same operation may end at another time: they part when the shorter one ends, unless they do so elsewhere before.
    let operation = |key: &Key| (key.0, key.1, key.2, key.3, key.4, key.5);
    let mut ending: Option<(Nanos, [LegRecord; 2])> = None;
    let mut at = 0;
    while let [Some((one, leg)), Some((other, second))] = [both[0].get(at), both[1].get(at)]
        && operation(one) == operation(other)
        && ending.is_none_or(|(end, _)| one.0 < end.0)
    {
        let end = leg.end.min(second.end);
        if leg.end != second.end && ending.is_none_or(|(earliest, _)| end < earliest) {
            ending = Some((end, [*leg, *second]));
        }
        at += 1;
    }
    let first = [both[0].get(at), both[1].get(at)].into_iter().flatten().map(|(key, _)| *key).min();
    if let Some((end, [leg, second])) = ending.filter(|(end, _)| first.is_none_or(|first| *end <= Nanos(first.0))) {
        if end >= known {
            return None;
        }
        let what = does(&leg, true);
        let says = |leg: &LegRecord| format!("{what} {}", if leg.end == end { "ends" } else { "goes on" });
        let number = (leg.class == Class::Gc).then_some(leg.number);
        let resource = name(place(&leg, geometry));
        return Some(Parting { at: end, resource, does: [says(&leg), says(&second)], collections: [number; 2] });
    }
    let first = first.filter(|first| first.0 < known.0)?;
    let resource = first.1;
    let when = first.0;
    let there = |legs: &[(Key, LegRecord)]| {
        let now = || legs.iter().filter(|(key, leg)| key.0 <= when && leg.end.0 > when);
        let on = now().rfind(|(key, _)| key.1 == resource);
        // A die is held while its data move. All planes of a command are planes of one die.
        let is_there = |of| geometry.unit_of(of).0 == resource.1;
        let held = |leg: &LegRecord| resource.0 == 0 && leg.planes().next().is_some_and(is_there);
        on.or_else(|| now().rfind(|(_, leg)| held(leg))).map(|(_, leg)| *leg)
    };
    let found = both.each_ref().map(|legs| there(legs));
    let alike = |leg: &Option<LegRecord>| leg.map_or("idle".into(), |leg| does(&leg, false));
    let mut words = found.each_ref().map(alike);
    if words[0] == words[1] {
        words = found.each_ref().map(|leg| leg.map_or("idle".into(), |leg| does(&leg, true)));
    }
    if words[0] == words[1]
        && let [Some(one), Some(other)] = found
    {
        let apart = one.ppn != other.ppn && one.ppn.is_some() && other.ppn.is_some();
        words = [one, other].map(|leg| if apart { on_page(&leg, geometry) } else { span(&leg) });
    }
    let collections = found.map(|leg| leg.filter(|leg| leg.class == Class::Gc).map(|leg| leg.number));
    Some(Parting { at: Nanos(when), resource: name(resource), does: words, collections })
}
