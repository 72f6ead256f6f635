//! A filling as bytes, so that another process may start from it.
//!
//! The bytes hold only what filling changes. All else is that of a device built from the same configuration, seed and level of
//! checks, which are not in the bytes: whoever keeps them has to keep these beside them, and to check that the bytes are whole.

use std::io::{self, Read, Write};

use super::{Filled, PlaneState, Ssd};
use crate::carry::Carrier;
use crate::config::{Config, ConfigError};
use crate::oracle::Check;
use crate::schemes::AnyVictim;
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

impl Ssd {
    /// Writes the state after filling, before the first request.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Panics
    /// If the device has been used, or its victim policy is from outside: see [`Filled::kept_key`].
    pub fn write_filling(&mut self, out: &mut dyn Write) -> io::Result<()> {
        law!(self.is_unused(), "a filling is kept before the first request");
        law!(!matches!(self.schemes.victim, AnyVictim::Outside(_)), "the state of every policy is known");
        self.carry_filling(&mut Carrier::Out(out))
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
        let mut ssd = Ssd::unfilled(config, seed, check)?;
        let carried = ssd.carry_filling(&mut Carrier::In(input)).map(|()| {
            ssd.starts_filled();
            ssd
        });
        Ok(carried)
    }

    /// The fields of [`Filled`] that filling changes. Collectors, paths and the interconnect have no state that it could change.
    fn carry_filling(&mut self, carrier: &mut Carrier<'_>) -> io::Result<()> {
        carrier.same(FORMAT)?;
        let dev = &mut self.dev;
        dev.flash.carry(carrier)?;
        dev.map.carry(carrier)?;
        dev.wear.carry(carrier)?;
        if let Some(errors) = &mut dev.errors {
            errors.carry(carrier)?;
        }
        dev.page_errors.carry(carrier)?;
        self.oracle.carry_tags(carrier)?;
        self.kernel.dies.units.iter_mut().try_for_each(|unit| unit.carry(carrier))?;
        for (plane, PlaneState { levelled, stalled: _ }) in (0..).map(PlaneId).zip(&mut self.gc.planes) {
            let mut claimed = self.gc.claimed.has(plane);
            carrier.value(&mut claimed)?;
            if claimed {
                self.gc.claimed.insert(plane);
            }
            carrier.value(levelled)?;
        }
        if let Some(generator) = self.schemes.victim.generator() {
            carrier.generator(generator)?;
        }
        carrier.value(&mut self.host.last_place)?;
        carrier.value(&mut self.gc.target)?;
        self.stats.carry(carrier)?;
        // Nothing may follow that belongs to another device.
        carrier.same(FORMAT)
    }
}
