//! How simulated time follows the wall clock.

use std::str::FromStr;
use std::time::{Duration, Instant};

use ssdlab_sim::units::Nanos;

/// Simulated seconds in a second: a positive decimal, or "max" for no waiting at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// A reply leaves when it is computed.
    Max,
    /// A ratio.
    Ratio {
        /// Simulated time.
        numerator: u32,
        /// Wall time.
        denominator: u32,
    },
}

impl Speed {
    /// Simulated time is wall time.
    pub const ONE: Speed = Speed::Ratio { numerator: 1, denominator: 1 };
}

impl FromStr for Speed {
    type Err = String;

    /// A decimal of at most six digits before and three after the point, such as `0.01`.
    fn from_str(text: &str) -> Result<Speed, String> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        let bad = || "expected a positive decimal such as 1 or 0.01, with at most three decimals, or max".to_string();
        let digits = |part: &str, most: usize| {
            let plain = !part.is_empty() && part.len() <= most && part.bytes().all(|b| b.is_ascii_digit());
            if plain { part.parse::<u32>().map_err(|_| bad()) } else { Err(bad()) }
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let denominator = 10u32.pow(fraction.len().min(3) as u32);
        let numerator = digits(whole, 6)? * denominator + digits(fraction, 3)?;
        if numerator == 0 { Err(bad()) } else { Ok(Speed::Ratio { numerator, denominator }) }
    }
}

/// Simulated time as the wall clock has it, from the first request on.
#[derive(Debug)]
pub(crate) struct Clock {
    speed: Speed,
    start: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(speed: Speed) -> Clock {
        Clock { speed, start: None }
    }

    /// Whether replies wait for their time.
    pub(crate) fn waits(&self) -> bool {
        self.speed != Speed::Max
    }

    /// Starts with the first request, which arrives at 0. True: this is it.
    pub(crate) fn start(&mut self) -> bool {
        let first = self.start.is_none();
        self.start.get_or_insert_with(Instant::now);
        first
    }

    /// Simulated time now; 0 before the start. None if time is not that of the wall clock.
    pub(crate) fn now(&self) -> Option<Nanos> {
        let Speed::Ratio { numerator, denominator } = self.speed else { return None };
        let passed = self.start.map_or(Duration::ZERO, |start| start.elapsed()).as_nanos();
        let simulated = passed * u128::from(numerator) / u128::from(denominator);
        Some(Nanos(u64::try_from(simulated).unwrap_or(u64::MAX)))
    }

    /// The wall clock at the first moment whose simulated time is not before `at`.
    pub(crate) fn moment_of(&self, at: Nanos) -> Option<Instant> {
        let Speed::Ratio { numerator, denominator } = self.speed else { return None };
        let wall = (u128::from(at.0) * u128::from(denominator)).div_ceil(u128::from(numerator));
        self.start?.checked_add(Duration::from_nanos(u64::try_from(wall).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_decimals_or_max() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("0.01".parse(), Ok(Speed::Ratio { numerator: 1, denominator: 100 }));
        assert_eq!("2.5".parse(), Ok(Speed::Ratio { numerator: 25, denominator: 10 }));
        for bad in ["0", "0.000", "-1", "1e3", "", ".5", "1.", "0.0001", "1234567", "fast"] {
            assert!(bad.parse::<Speed>().unwrap_err().contains("0.01"), "{bad}");
        }
    }

    #[test]
    fn moments_and_times_are_inverse() {
        let start = Some(Instant::now());
        for (numerator, denominator, at, wall) in [(1, 1, 605_120, 605_120), (1, 100, 55_120, 5_512_000), (3, 1, 10, 4)]
        {
            let clock = Clock { speed: Speed::Ratio { numerator, denominator }, start };
            assert_eq!(clock.moment_of(Nanos(at)), start.map(|start| start + Duration::from_nanos(wall)));
        }
        assert_eq!(Clock::new(Speed::Max).moment_of(Nanos(1)), None);
        assert_eq!(Clock::new(Speed::ONE).now(), Some(Nanos(0)));
    }
}
