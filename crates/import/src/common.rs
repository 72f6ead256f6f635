//! What several simulators' keys are turned into alike.

use ssdlab_lab::foreign::account::Verdict;
use ssdlab_lab::names::clip;
use ssdlab_lab::text::percent;
use toml::Value as Toml;

use crate::keys::Decimal;
use crate::table::{Desk, Drive, fraction, size, text, time};

pub(crate) fn d_choices(d: u32) -> Toml {
    let knobs = toml::Table::from_iter([("d".to_string(), Toml::Integer(d.into()))]);
    Toml::Table(toml::Table::from_iter([("d-choices".to_string(), Toml::Table(knobs))]))
}

/// Starts GC below a share of free pages, in millionths, and whether it was rounded to them. A full device never has more than its
/// spare: half of that then.
pub(crate) fn threshold(desk: &mut Desk, (share, rounded): (u64, bool), by: &'static str) {
    let spare = desk.drive().get("device.over_provisioning").and_then(Toml::as_float).unwrap_or(0.1);
    let spare = (spare * 1e6).round() as u64;
    if share < spare {
        desk.set("gc.threshold", fraction(share), by);
        if rounded {
            desk.add_note(by, rounding(desk, by));
        }
        return;
    }
    let half = spare / 2;
    desk.set("gc.threshold", fraction(half), by);
    let (wanted, given) = (percent(share as f64 / 1e6), percent(spare as f64 / 1e6));
    let note = format!(
        "{wanted} are never free on a full device with {given} spare, so GC would never end: half of the spare"
    );
    desk.say(by, Verdict::Near, note);
}

/// What a share was before it was rounded.
pub(crate) fn rounding(desk: &Desk, by: &'static str) -> String {
    let was = desk.value(by).map_or("", |value| value.text);
    format!("{} rounded to six decimals", clip(was))
}

/// A host link that takes no time, also where a preset has one.
pub(crate) fn no_link(desk: &mut Desk, by: &'static str) {
    desk.set("timing.host_link", text("0ns/B"), by);
}

/// No suspensions, also where a preset has some.
pub(crate) fn no_suspension(desk: &mut Desk, by: &'static str) {
    desk.set("timing.suspendable", text("none"), by);
    desk.set("timing.suspend", time(0), by);
    desk.set("timing.resume", time(0), by);
}

/// Lines of a cache of whole pages, no larger than the flash; tells what that cuts off. None: there is no cache, also where a preset
/// has one.
pub(crate) fn lines(desk: &mut Desk, capacity: u64, page: u64, by: &'static str) -> Option<u64> {
    let wanted = capacity / page.max(1);
    let lines = wanted.min(flash_pages(desk.drive()).unwrap_or(u64::MAX));
    if lines == 0 {
        desk.set("cache.size", size(0), by);
        match capacity {
            0 => desk.say(by, Verdict::Same, "0: there is no cache"),
            _ => desk.say(by, Verdict::Near, "less than a page: there is no cache"),
        }
        return None;
    }
    desk.set("cache.size", size(lines.saturating_mul(page)), by);
    if lines < wanted {
        desk.add_note(by, "here no larger than the flash");
    } else if lines.saturating_mul(page) < capacity {
        desk.add_note(by, format!("the {} bytes beyond whole pages are left out", capacity - lines * page));
    }
    Some(lines)
}

/// Keys of a cache of so many lines that writes back when it is full, the least recently used line first.
pub(crate) fn full_first(desk: &mut Desk, lines: u64, by: &'static str) {
    let low = low_below(desk, 1_000_000, lines);
    desk.set("cache.writeback", text("watermark"), by);
    desk.set("cache.high", fraction(1_000_000), by);
    desk.set("cache.low", fraction(low), by);
    desk.set("cache.order", text("lru"), by);
}

/// Where write-back ends that starts at a share of dirty lines, both in millionths. As in the originals, a page of every plane may be
/// on its way to the flash at a time.
pub(crate) fn low_below(desk: &Desk, high: u64, lines: u64) -> u64 {
    let planes = keys_product(desk.drive(), &PLANES).unwrap_or(1);
    let on_their_way = u128::from(planes) * 1_000_000 / u128::from(lines.max(1));
    high.saturating_sub(u64::try_from(on_their_way).unwrap_or(u64::MAX).max(1))
}

/// The bus from the time of a page.
pub(crate) fn page_time(desk: &mut Desk, by: &'static str, ns: u64, page: u64) {
    let rate = Decimal::parse(&ns.to_string()).and_then(|ns| ns.text_over(page.max(1).into(), 12));
    let (rate, exact) = rate.unwrap_or(("0".into(), true));
    desk.set("timing.transfer", text(format!("{rate}ns/B")), by);
    if !exact {
        desk.add_note(by, "rounded to 10^-12 ns a byte");
    }
}

/// A list of times by page type, or one time if all are alike.
pub(crate) fn by_type(times: &[u64]) -> Toml {
    match times {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => time(*first),
        _ => Toml::Array(times.iter().map(|ns| time(*ns)).collect()),
    }
}

/// Pages of the whole array, if its shape is known.
pub(crate) fn flash_pages(drive: &Drive) -> Option<u64> {
    let blocks = keys_product(drive, &["geometry.blocks_per_plane", "geometry.pages_per_block"])?;
    keys_product(drive, &PLANES)?.checked_mul(blocks)
}

/// The keys whose product is the number of planes.
const PLANES: [&str; 4] =
    ["geometry.channels", "geometry.chips_per_channel", "geometry.dies_per_chip", "geometry.planes_per_die"];

fn keys_product(drive: &Drive, keys: &[&str]) -> Option<u64> {
    keys.iter().try_fold(1u64, |product, key| product.checked_mul(drive.whole(key)?))
}
