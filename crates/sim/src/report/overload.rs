//! Overload: more arrives than the device can serve, so waits grow with the length of the run.

use serde::Serialize;

/// Requests below which a run is too short to tell.
const LEAST: u64 = 100;
/// Dies are held while they wait for a channel, and slots are taken while they wait for a die. What has this share of the factor of
/// those that wait for it is what they wait for.
const BINDS: f64 = 0.95;

/// What is asked for more than it can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Dies (units of exclusion).
    Dies,
    /// Channels.
    Channels,
    /// Slots of `device.queue_depth`.
    QueueSlots,
}

impl Resource {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Resource::Dies => "dies",
            Resource::Channels => "channels",
            Resource::QueueSlots => "queue slots",
        }
    }
}

/// More arrives than can be served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// What binds: more of the others would not help.
    pub resource: Resource,
    /// The time that the measured requests and their GC took of it, over what it had while they arrived.
    pub factor: f64,
    /// Requests that arrive a second.
    pub offered_per_s: f64,
}

/// Measured work.
pub(crate) struct Work {
    /// Requests of all kinds.
    pub arrivals: u64,
    /// From the first arrival to the last one, in nanoseconds.
    pub from_first_to_last: u64,
    /// Time that dies were held, and how many there are.
    pub dies: (u128, u32),
    /// Time that channels transferred.
    pub channels: (u128, u32),
    /// Time of requests in the device: latency without waits for a slot.
    pub slots: (u128, u32),
}

impl Overload {
    /// Of an open loop. Requests of a closed loop wait outside until there is room, so they never are more than can be served.
    pub(crate) fn of(work: &Work) -> Option<Overload> {
        if work.arrivals < LEAST || work.from_first_to_last == 0 {
            return None;
        }
        // The time that the arrivals stand for: one mean gap more than from the first to the last.
        let gaps = u128::from(work.arrivals - 1);
        let span = u128::from(work.from_first_to_last) * u128::from(work.arrivals) / gaps;
        let factor = |(time, servers): (u128, u32)| {
            let most = span * u128::from(servers);
            (time > most).then(|| time as f64 / most as f64)
        };
        // From the inside out.
        let all =
            [(Resource::Channels, work.channels), (Resource::Dies, work.dies), (Resource::QueueSlots, work.slots)];
        let over = all.into_iter().filter_map(|(resource, work)| Some((resource, factor(work)?)));
        let (resource, factor) = over.reduce(|most, next| if most.1 < next.1 * BINDS { next } else { most })?;
        Some(Overload { resource, factor, offered_per_s: work.arrivals as f64 * 1e9 / span as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 101 arrivals a microsecond apart, with times in microseconds of two dies, one channel and four slots.
    fn judged(dies: u128, channel: u128, slots: u128) -> Option<(Resource, f64)> {
        let work = Work {
            arrivals: 101,
            from_first_to_last: 100_000,
            dies: (dies * 1000, 2),
            channels: (channel * 1000, 1),
            slots: (slots * 1000, 4),
        };
        Overload::of(&work).map(|over| {
            assert_eq!(over.offered_per_s, 1e6);
            (over.resource, over.factor)
        })
    }

    #[test]
    fn what_is_asked_for_most_binds() {
        // 101 us of arrivals: dies have 202, the channel 101, slots 404.
        assert_eq!(judged(202, 101, 404), None, "as much as it can serve");
        assert_eq!(judged(303, 50, 404), Some((Resource::Dies, 1.5)));
        assert_eq!(judged(303, 202, 404), Some((Resource::Channels, 2.0)));
        assert_eq!(judged(303, 101, 808), Some((Resource::QueueSlots, 2.0)));
        // Dies that wait for the channel are held as long as it transfers, and a little longer.
        assert_eq!(judged(410, 202, 400), Some((Resource::Channels, 2.0)));
        assert_eq!(judged(606, 202, 400), Some((Resource::Dies, 3.0)));
        // Slots that are taken by requests that wait for dies.
        assert_eq!(judged(606, 202, 1220), Some((Resource::Dies, 3.0)));
    }

    #[test]
    fn short_runs_and_a_single_moment_do_not_tell() {
        let work = |arrivals, from_first_to_last| {
            let much = (1 << 60, 1);
            Overload::of(&Work { arrivals, from_first_to_last, dies: much, channels: much, slots: much })
        };
        assert!(work(99, 1000).is_none() && work(100, 0).is_none() && work(100, 1000).is_some());
    }
}
