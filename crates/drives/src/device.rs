//! The device of timed runs: its dies take the times that the costs of the drive say, and it has the drive's spare space and policy.
//!
//! Dies work on their own. A program fills several flash pages of one die, and host writes and GC share the dies, so that sequential
//! writes have the rate of the drive, and a moved page costs what the fit found: its program, and its share of the read of a flash
//! page of which only a part is still valid. A read that finds its die busy waits for the end of a slice. Nothing else is
//! modelled: no pace of the firmware, no fixed time of a command.

use crate::cost::{Cost, inverse};
use crate::model::Model;
use crate::pattern::PAGE;

/// Flash pages of a program, its units of 4 KiB, and programs of a block.
const PAGES: u32 = 12;
const UNITS_PER_PAGE: u32 = 4;
const PROGRAMS: u32 = 8;
/// Blocks of a die: what GC keeps free of them is as much spare space as in the plane of the fit.
const BLOCKS: u32 = 256;
const CHANNELS: u32 = 8;
/// Dies where nothing speaks against it, and at most.
const DIES: u32 = 32;
const MOST_DIES: u32 = 256;
/// Reads of a flash page that flash has, and the usual one, in microseconds.
const READS: std::ops::RangeInclusive<f64> = 30.0..=100.0;
const USUAL_READ: f64 = 60.0;
/// The least time of a program, and that of an erase, in microseconds.
const LEAST_PROGRAM: f64 = 1000.0;
const ERASE: f64 = 3000.0;
/// Time of firmware and link of a write, unless measured, and the slice of a suspended operation, in microseconds.
const FIRMWARE: f64 = 8.0;
const SLICE: f64 = 360.0;
/// MB/s of a channel, at least.
const TRANSFER: f64 = 1200.0;

/// A value in microseconds, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// The value.
    pub us: f64,
    /// Its origin in words.
    pub origin: String,
}

impl Time {
    fn assumed(us: f64, why: &str) -> Time {
        Time { us, origin: format!("assumed: {why}") }
    }
}

/// Times of a device with so many dies.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Dies that work on their own.
    pub dies: u32,
    /// Array time of a read of a flash page.
    pub read: Time,
    /// Time of a program, without its transfer.
    pub program: f64,
    /// MB/s of a channel.
    pub transfer: f64,
    /// What a write takes beside the flash.
    pub firmware: Time,
    /// A program or erase yields to a read after each such part of its time.
    pub slice: Time,
}

/// Kilobytes of a unit.
const UNIT: f64 = PAGE as f64 / 1000.0;

impl Device {
    /// The device of a drive with these costs. `moved`: pages that GC moves a host page of the settled uniform run.
    pub fn of(cost: &Cost, moved: f64) -> Device {
        // Four times the sequential rate, so that channels are never what limits a run.
        let transfer = (4.0 * inverse(cost.host) / f64::from(CHANNELS)).max(TRANSFER);
        let transfer = (transfer / 400.0).ceil() * 400.0;
        let valid = moved / (1.0 + moved);
        let read = |dies: u32| {
            let unit = f64::from(dies) * UNIT * (cost.moved - cost.host) - inverse(transfer) * UNIT;
            f64::from(UNITS_PER_PAGE) * valid * unit
        };
        let program = |dies: u32| {
            let kilobytes = f64::from(PAGES * UNITS_PER_PAGE) * UNIT;
            kilobytes * (f64::from(dies) * cost.host - inverse(transfer)) - ERASE / f64::from(PROGRAMS)
        };
        let possible = |dies: u32| READS.contains(&read(dies)) && program(dies) >= LEAST_PROGRAM;
        let counts = || (1..=MOST_DIES / CHANNELS).map(|chips| chips * CHANNELS);
        let far = |dies: u32| (read(dies) / USUAL_READ).ln().abs();
        let dies = Some(DIES).filter(|dies| possible(*dies));
        let dies = dies.or_else(|| counts().filter(|dies| possible(*dies)).min_by(|a, b| far(*a).total_cmp(&far(*b))));
        let origin = "from the costs: GC reads a flash page for the units that are valid in it".to_string();
        let (dies, read) = match dies {
            Some(dies) => (dies, Time { us: read(dies), origin }),
            None => (
                counts().find(|dies| program(*dies) >= LEAST_PROGRAM).unwrap_or(MOST_DIES).max(DIES),
                Time::assumed(USUAL_READ, "no time of a read explains the cost of a moved page"),
            ),
        };
        Device {
            dies,
            read,
            program: program(dies).max(LEAST_PROGRAM),
            transfer,
            firmware: Time::assumed(FIRMWARE, "two drives take 8 and 10 us for a write into their memory"),
            slice: Time::assumed(SLICE, "what two drives show"),
        }
    }

    /// The keys of its configuration: name, value in TOML, and origin of the value.
    pub fn keys(&self, model: &Model) -> Vec<(&'static str, String, String)> {
        let assumed = "assumed: as drives of this kind are built";
        let scaled = "assumed: fewer and smaller blocks than the drive has, with the write amplification of [config]";
        let us = |value: f64| format!("\"{}us\"", (value * 1000.0).round() / 1000.0);
        let text = |value: &str| format!("{value:?}");
        let [(victim, policy), (frontiers, shared)] = model.candidate.keys();
        let as_config = "as in [config]";
        let all: Vec<(&'static str, String, &str)> = vec![
            (victim, policy, as_config),
            (frontiers, shared, as_config),
            ("schemes.collector", text("queued"), "assumed: hosts go on between steps of GC"),
            ("schemes.place", text("dynamic"), "assumed: a write goes to any die that is free"),
            ("gc.scope", text("plane"), assumed),
            ("gc.threshold", text("1 block"), scaled),
            ("device.over_provisioning", format!("{:?}", f64::from(model.spare) / 1e6), as_config),
            ("device.mapping_unit", text("4KiB"), assumed),
            ("device.exclusion", text("die"), assumed),
            ("device.power_loss_protection", "true".into(), assumed),
            ("device.queue_depth", "512".into(), "assumed: the host is what bounds it"),
            ("device.memory", us(self.firmware.us), &self.firmware.origin),
            ("cache.size", text("32MiB"), "assumed: what takes writes while GC frees a block of a die"),
            ("order.die_queue", text("read-first"), assumed),
            ("geometry.channels", CHANNELS.to_string(), assumed),
            (
                "geometry.chips_per_channel",
                (self.dies / CHANNELS).to_string(),
                "assumed: 32 dies, or what explains costs with usual times of flash",
            ),
            ("geometry.dies_per_chip", "1".into(), assumed),
            ("geometry.planes_per_die", "1".into(), assumed),
            ("geometry.blocks_per_plane", BLOCKS.to_string(), scaled),
            ("geometry.pages_per_block", (PAGES * PROGRAMS).to_string(), scaled),
            ("geometry.page_size", format!("\"{}KiB\"", UNITS_PER_PAGE * 4), assumed),
            ("geometry.pages_per_program", PAGES.to_string(), assumed),
            ("timing.read", us(self.read.us), &self.read.origin),
            ("timing.program", us(self.program), "from the costs: sequential writes have the rate of the drive"),
            ("timing.erase", us(ERASE), assumed),
            ("timing.transfer", format!("\"{}MB/s\"", self.transfer), "assumed: no channel limits a run"),
            ("timing.command", text("0ns"), assumed),
            ("timing.suspendable", text("program+erase"), assumed),
            ("timing.suspend", us(5.0), assumed),
            ("timing.resume", us(5.0), assumed),
            ("timing.suspend_slice", us(self.slice.us), &self.slice.origin),
            ("precondition.mode", text("random"), "assumed: a drive in use"),
            ("precondition.overwrite", "3.0".into(), "assumed: a drive in use"),
        ];
        all.into_iter().map(|(key, value, origin)| (key, value, origin.to_string())).collect()
    }

    /// The configuration as TOML.
    pub fn config(&self, model: &Model) -> String {
        self.keys(model).into_iter().map(|(key, value, _)| format!("{key} = {value}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times by hand: a host page of 1 us/KB on 32 dies is 131.072 us of a die, and a program of 48 of them.
    #[test]
    fn times_are_those_of_the_costs() {
        let cost = Cost { host: 1.0, moved: 1.2, least: 1.0 };
        let device = Device::of(&cost, 2.0);
        assert_eq!(device.dies, 32);
        // A moved unit reads for 26.2144 us, 3.4133 of them on the channel; 8 / 3 units of a page are valid.
        assert!((device.read.us - 8.0 / 3.0 * (26.2144 - 4.096 / 1.2)).abs() < 1e-6, "{device:?}");
        let program = 48.0 * (131.072 - 4.096 / 1.2) - 3000.0 / 8.0;
        assert!((device.program - program).abs() < 1e-6, "{device:?}");
    }

    /// A moved page that costs much is explained by fewer dies, and one that costs no more than a program by nothing.
    #[test]
    fn dies_follow_the_costs() {
        let of = |host: f64, moved: f64| Device::of(&Cost { host, moved, least: host }, 3.0);
        let slow = of(1.0, 1.4);
        assert!(slow.dies == 16 && READS.contains(&slow.read.us), "{slow:?}");
        let none = of(1.0, 0.9);
        assert!(none.dies == 32 && none.read.us == USUAL_READ && none.read.origin.starts_with("assumed"), "{none:?}");
        // A fast drive needs more dies for a program of a millisecond, and faster channels.
        let fast = of(0.1, 0.12);
        assert!(fast.dies > 64 && fast.program >= LEAST_PROGRAM && fast.transfer >= 5000.0, "{fast:?}");
    }
}
