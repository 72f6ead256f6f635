//! A cache of SLC under other rules: all but its blocks may change in a running device.

use crate::config::Config;
use crate::engine::Ssd;
use crate::engine::features::slc::Slc;
use crate::engine::gc::idle::await_idle_dies;

/// The cache follows other rules from now on. Idle time counts from now on, if it counts otherwise.
pub(in crate::engine) fn follow(ssd: &mut Ssd, config: &Config) {
    let (Some(slc), Some(mut other)) = (&mut ssd.features.slc, Slc::new(config, &ssd.dev.geometry)) else { return };
    let idle = |config: &Config| config.slc.folds_in_idle_time().then_some(config.slc.idle);
    if idle(&ssd.config) != idle(config) {
        slc.idle = other.idle.take();
        slc.idle.iter_mut().for_each(|idle| idle.restart(ssd.now));
        await_idle_dies(&mut ssd.features, &mut ssd.kernel.timers);
    }
    ssd.features.slc.iter_mut().for_each(|slc| slc.follow(&other));
    if let Some(spec) = config.slc_spec() {
        ssd.dev.flash.follow_slc(spec);
    }
}
