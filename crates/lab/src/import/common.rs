//! What several simulators' keys are turned into alike.

use toml::Value as Toml;

use crate::import::account::Verdict;
use crate::import::given::Decimal;
use crate::import::table::{Desk, Drive, fraction, text, time};
use crate::text::percent;

/// The victim policy d-choices with `d` candidates.
pub(super) fn d_choices(d: u32) -> Toml {
    let knobs = toml::Table::from_iter([("d".to_string(), Toml::Integer(d.into()))]);
    Toml::Table(toml::Table::from_iter([("d-choices".to_string(), Toml::Table(knobs))]))
}

/// Starts GC below a share of free pages, in millionths. A full device never has more than its spare: half of that then.
pub(super) fn threshold(desk: &mut Desk, share: u64, by: &'static str) {
    let spare = desk.drive().get("device.over_provisioning").and_then(Toml::as_float).unwrap_or(0.1);
    let spare = (spare * 1e6).round() as u64;
    if share < spare {
        desk.set("gc.threshold", fraction(share), by);
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

/// Keys of a cache that writes back when it is full, the least recently used line first.
pub(super) fn full_first(desk: &mut Desk, by: &'static str) {
    desk.set("cache.writeback", text("watermark"), by);
    desk.set("cache.high", fraction(1_000_000), by);
    desk.set("cache.low", fraction(990_000), by);
    desk.set("cache.order", text("lru"), by);
}

/// The bus from the time of a page.
pub(super) fn page_time(desk: &mut Desk, by: &'static str, ns: u64, page: u64) {
    let rate = Decimal::parse(&ns.to_string()).and_then(|ns| ns.text_over(page.max(1).into(), 12));
    let (rate, exact) = rate.unwrap_or(("0".into(), true));
    desk.set("timing.transfer", text(format!("{rate}ns/B")), by);
    if !exact {
        desk.say(by, Verdict::Near, "rounded to 10^-12 ns a byte");
    }
}

/// A list of times by page type, or one time if all are alike.
pub(super) fn by_type(times: &[u64]) -> Toml {
    match times {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => time(*first),
        _ => Toml::Array(times.iter().map(|ns| time(*ns)).collect()),
    }
}

/// Pages of the whole array, if its shape is known.
pub(super) fn flash_pages(drive: &Drive) -> Option<u64> {
    let keys = [
        "geometry.channels",
        "geometry.chips_per_channel",
        "geometry.dies_per_chip",
        "geometry.planes_per_die",
        "geometry.blocks_per_plane",
        "geometry.pages_per_block",
    ];
    keys.iter().try_fold(1u64, |product, key| product.checked_mul(drive.whole(key)?))
}
