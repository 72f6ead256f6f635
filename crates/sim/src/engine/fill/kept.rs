//! A filling as bytes, so that another process may start from it.
//!
//! The bytes hold only what filling changes. All else is that of a device built from the same configuration, seed and level of
//! checks, which are not in the bytes: whoever keeps them has to keep these beside them, and to check that the bytes are whole.

use std::io::{self, Read, Write};

use crate::carry::Carrier;
use crate::config::{Config, ConfigError};
use crate::device::geometry::Geometry;
use crate::engine::fill::{Device, Filled, Gc, Host, Kernel, PlaneState, Policies, Ssd};
use crate::oracle::{Check, Oracle};
use crate::schemes::AnyVictim;
use crate::stats::Stats;
use crate::units::PlaneId;

/// The arrangement of the bytes. It changes with every change of what is carried, or of its order.
const FORMAT: u64 = 1;

impl Filled {
    /// What the bytes of a filling depend on beside the program's version: configurations that fill alike, with one seed and one
    /// level of checks, have one text. None if the state of a policy is not known, because it is from outside.
    pub fn kept_key(config: &Config, seed: u64, check: Check) -> Option<String> {
        let outside = matches!(config.schemes.victim, AnyVictim::Outside(_));
        (!outside).then(|| format!("format {FORMAT}\nseed {seed}\ncheck {check:?}\n{}", Filled::key(config)))
    }
}

impl Device {
    /// The fields of [`Filled`] that filling changes: those of the flash and its pages come first. Collectors, paths and the
    /// interconnect have no state that it could change.
    fn carry_filling(&mut self, oracle: &mut Oracle, carrier: &mut Carrier<'_>) -> io::Result<()> {
        carrier.same(FORMAT)?;
        self.flash.carry(carrier)?;
        self.map.carry(carrier)?;
        self.wear.carry(carrier)?;
        if let Some(errors) = &mut self.errors {
            errors.carry(carrier)?;
        }
        self.page_errors.carry(carrier)?;
        oracle.carry_tags(carrier)
    }
}

impl Kernel {
    /// The rest of what filling changes.
    fn carry_filling(
        &mut self,
        host: &mut Host,
        gc: &mut Gc,
        stats: &mut Stats,
        schemes: &mut Policies,
        carrier: &mut Carrier<'_>,
    ) -> io::Result<()> {
        self.dies.units.iter_mut().try_for_each(|unit| unit.carry(carrier))?;
        for (plane, PlaneState { levelled, stalled: _ }) in (0..).map(PlaneId).zip(&mut gc.planes) {
            let mut claimed = gc.claimed.has(plane);
            carrier.value(&mut claimed)?;
            if claimed {
                gc.claimed.insert(plane);
            }
            carrier.value(levelled)?;
        }
        if let Some(generator) = schemes.victim.generator() {
            carrier.generator(generator)?;
        }
        carrier.value(&mut host.last_place)?;
        carrier.value(&mut gc.target)?;
        stats.carry(carrier)?;
        // Nothing may follow that belongs to another device.
        carrier.same(FORMAT)
    }
}

impl Ssd {
    /// Writes the state after filling, before the first request.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Panics
    /// If the device has been used, or its victim policy is from outside: see [`Filled::kept_key`].
    pub fn write_filling(&mut self, out: &mut dyn Write) -> io::Result<()> {
        law!(
            self.kernel.is_unused(&self.host, &self.gc, &self.stats, self.now),
            "a filling is kept before the first request"
        );
        law!(!matches!(self.schemes.victim, AnyVictim::Outside(_)), "the state of every policy is known");
        let carrier = &mut Carrier::Out(out);
        self.dev.carry_filling(&mut self.oracle, carrier)?;
        let (host, gc, stats) = (&mut self.host, &mut self.gc, &mut self.stats);
        self.kernel.carry_filling(host, gc, stats, &mut self.schemes, carrier)
    }

    /// The device that [`Ssd::new`] builds, from the bytes of [`Ssd::write_filling`] for a configuration, seed and level of checks
    /// with the same [`Filled::kept_key`].
    ///
    /// # Errors
    /// The outer one if the configuration cannot work: see [`Config::check`]. The inner one if the bytes can't be read, end early
    /// or are those of another device.
    pub fn read_filling(
        config: &Config,
        seed: u64,
        check: Check,
        input: &mut dyn Read,
    ) -> Result<io::Result<Self>, ConfigError> {
        let mut ssd = Ssd::assembled(config, seed, check, Geometry::clone)?;
        let carrier = &mut Carrier::In(input);
        let carried = ssd.dev.carry_filling(&mut ssd.oracle, carrier).and_then(|()| {
            let (host, gc, stats) = (&mut ssd.host, &mut ssd.gc, &mut ssd.stats);
            ssd.kernel.carry_filling(host, gc, stats, &mut ssd.schemes, carrier)
        });
        Ok(carried.map(|()| {
            let (features, stats, oracle) = (&mut ssd.features, &mut ssd.stats, &mut ssd.oracle);
            ssd.dev.starts_filled(&ssd.kernel, features, stats, oracle, &ssd.rules, ssd.now);
            ssd
        }))
    }
}
