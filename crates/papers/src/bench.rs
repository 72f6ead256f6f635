//! Small runs whose times are known in advance: one collection on an otherwise idle device.

use ssdlab_sim::config::{Config, PreconditionMode};
use ssdlab_sim::report::GcTimes;
use ssdlab_sim::schemes::Place;
use ssdlab_sim::units::{Nanos, Ppm, Threshold};
use ssdlab_sim::{Check, Request, RequestOp, Ssd};

/// The flash of a configuration as a single die of `planes` planes of 16 blocks, collected once half of a plane is written.
fn die_of(config: &Config, planes: u32) -> Config {
    let mut config = config.clone();
    let geometry = &mut config.geometry;
    geometry.channels = 1;
    geometry.chips_per_channel = 1;
    geometry.dies_per_chip = 1;
    geometry.planes_per_die = planes;
    geometry.blocks_per_plane = 16;
    config.device.over_provisioning = Ppm(500_000);
    config.gc.threshold = Threshold::Pages(8 * geometry.pages_per_block);
    config.precondition.mode = PreconditionMode::None;
    config.schemes.place = Place::default();
    config.run.warmup = None;
    // A buffer for the whole device may be larger than this die; no run here uses it.
    config.staging.slots = 0;
    config
}

/// Time of one collection in plane 0, by kind. The first block of plane `p` has valid pages at the offsets `kept[p]`. None: the
/// configuration is refused.
pub(crate) fn collect(config: &Config, kept: &[&[u64]]) -> Option<GcTimes> {
    let config = die_of(config, kept.len() as u32);
    let (planes, pages) = (kept.len() as u64, u64::from(config.geometry.pages_per_block));
    let mut ssd = Ssd::new(&config, 1, Check::Full).ok()?;
    let size = ssd.page_bytes();
    let mut at = 0;
    let mut submit = |ssd: &mut Ssd, op, plane: u64, n: u64| {
        if !ssd.accepts() {
            ssd.run_until_room();
        }
        ssd.submit(Request { arrival: Nanos(at), op, offset: (planes * n + plane) * size, bytes: size });
        // Far enough apart that each request finds an idle device.
        at += 1_000_000_000;
    };
    (0..8 * pages).for_each(|n| submit(&mut ssd, RequestOp::Write, 0, n));
    (1..planes).for_each(|plane| (0..7 * pages).for_each(|n| submit(&mut ssd, RequestOp::Write, plane, n)));
    for (plane, kept) in kept.iter().enumerate() {
        (0..pages).filter(|n| !kept.contains(n)).for_each(|n| submit(&mut ssd, RequestOp::Trim, plane as u64, n));
    }
    // One more write, to a page that was trimmed from block 0: now plane 0 is due.
    let lost = (0..pages).find(|n| !kept[0].contains(n))?;
    submit(&mut ssd, RequestOp::Write, 0, lost);
    ssd.run();
    Some(ssd.summary(1, String::new(), String::new()).gc.time_ns)
}

/// The same for one plane whose victim has its first `valid` pages valid.
pub(crate) fn victim(config: &Config, valid: u64) -> Option<GcTimes> {
    let kept: Vec<u64> = (0..valid).collect();
    collect(config, &[&kept])
}

pub(crate) fn total(times: &GcTimes) -> u64 {
    times.read + times.transfer + times.program + times.erase
}

/// Times between two whole numbers of valid pages, in which they are linear.
pub(crate) fn between(config: &Config, valid: f64) -> Option<[f64; 4]> {
    let (low, share) = (valid.floor(), valid.fract());
    let times =
        |valid: u64| victim(config, valid).map(|t| [t.read, t.transfer, t.program, t.erase].map(|ns| ns as f64));
    let (below, above) = (times(low as u64)?, times(low as u64 + 1)?);
    Some(std::array::from_fn(|i| below[i] * (1.0 - share) + above[i] * share))
}
