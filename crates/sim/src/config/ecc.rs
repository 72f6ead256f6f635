//! Bit errors and their correction (`ecc.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::wear::rises;
use super::{Config, ConfigError};
use crate::device::spec::{ErrorSpec, PageErrorSpec};
use crate::units::{Nanos, Ppm};

/// Most P/E cycles in a table of program errors.
const MOST_PE_CYCLES: u32 = 1_000_000;

choice! {
    /// Whether bit errors are simulated.
    Errors("lowercase") {
        /// Not simulated: every read is good.
        None,
        /// Simulated page by page, from wear, copybacks, read disturb and retention.
        Model,
    }
}

section! {
    /// Bit errors and their correction. Error amounts are expected bit errors per MiB, which is 1,024 times the amount per KiB.
    Ecc {
        /// Bit errors per KiB that can be corrected.
        correctable: u32 = 120,
        /// Time to decode a page after it has left the die.
        decode: Nanos = Nanos::ZERO,
        /// Probability that a page has errors when its path checks it. By default 0.0001 with `schemes.path = "selective"`, and 1
        /// (worn TLC) with `"checked"`.
        page_error_probability: Option<Ppm> = None,
        /// Bit error rate, instead of `page_error_probability`: 1 - (1 - rate)^(bits of a page).
        bit_error_rate: Option<f64> = None,
        /// Whether bit errors are simulated page by page.
        errors: Errors = Errors::None,
        /// Bit errors that a program leaves in a page, as pairs `[P/E cycles, errors per MiB]`, linear in between. The default
        /// makes the thresholds of paper D, Fig. 3b, the largest safe ones.
        program_errors: Vec<(u32, u32)> = vec![
            (0, 13_300), (1300, 15_161), (1500, 17_688), (3000, 21_225), (4000, 26_531), (4300, 35_375), (4500, 53_062),
            (10_000, 106_000),
        ],
        /// Variation between pages: a page's program errors are multiplied by its own factor, from 1 - spread to 1 + spread.
        spread: Ppm = Ppm(100_000),
        /// Bit errors per MiB that 1,000 reads of a block add to its pages. Default: 1.0e-9 per bit and read (Cai et al., DSN
        /// 2015, MLC at 2,000 P/E cycles).
        read_disturb: u32 = 8,
        /// Bit errors that a day of retention adds, as a share of those that a program leaves. Paper D ignores retention.
        retention: Ppm = Ppm(0),
        /// Share of the correctable errors that derived thresholds keep for read disturb and retention.
        margin: Ppm = Ppm(50_000),
    }
}

impl Ecc {
    pub(crate) fn spec(&self) -> ErrorSpec {
        ErrorSpec {
            correctable: self.correctable,
            program_errors: self.program_errors.clone(),
            spread: self.spread,
            read_disturb: self.read_disturb,
            retention: self.retention,
            margin: self.margin,
        }
    }
}

impl Config {
    /// Checks the table of program errors.
    pub(super) fn check_program_errors(&self) -> Result<(), ConfigError> {
        let ecc = &self.ecc;
        if !rises(ecc.program_errors.iter().map(|(from, _)| *from)) {
            return refuse(
                "ecc.program_errors",
                "the P/E cycles of its points are not ascending".into(),
                "list pairs such as [[0, 13300], [4500, 53062]]",
            );
        }
        if let Some((cycles, _)) = ecc.program_errors.iter().find(|(cycles, _)| *cycles > MOST_PE_CYCLES) {
            return refuse(
                "ecc.program_errors",
                format!("{cycles} P/E cycles exceed the limit of 1000000"),
                "check the point",
            );
        }
        Ok(())
    }

    /// Checks shares of pages with errors, and the decoder.
    pub(super) fn check_ecc(&self) -> Result<(), ConfigError> {
        let ecc = &self.ecc;
        if ecc.page_error_probability.is_some() && ecc.bit_error_rate.is_some() {
            return refuse(
                "ecc.bit_error_rate",
                "given together with ecc.page_error_probability, which has the same meaning".into(),
                "leave one of them out",
            );
        }
        if ecc.bit_error_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
            let rate = ecc.bit_error_rate.unwrap_or(0.0);
            return refuse("ecc.bit_error_rate", format!("{rate} is not a number from 0 to 1"), "use for example 1e-9");
        }
        if ecc.errors == Errors::Model && (ecc.page_error_probability.is_some() || ecc.bit_error_rate.is_some()) {
            let message =
                "the error model decides which pages have errors; a probability would have no effect".to_string();
            return refuse("ecc.errors", message, "leave the probability out, or use ecc.errors = \"none\"");
        }
        if ecc.decode.0 > LONGEST.0 {
            return refuse("ecc.decode", format!("{} is longer than an hour", ecc.decode), "check the unit");
        }
        Ok(())
    }

    /// None if bit errors are not simulated.
    pub(crate) fn error_spec(&self) -> Option<ErrorSpec> {
        (self.ecc.errors == Errors::Model).then(|| self.ecc.spec())
    }

    /// Default share of pages with errors: paper D's (every page, worn flash) without an interconnect or if every page is
    /// checked, otherwise paper E's.
    pub(crate) fn page_error_spec(&self) -> PageErrorSpec {
        let every = !self.noc.exists() || self.schemes.path.policy_ref().checks_all();
        let default = if every { Ppm(1_000_000) } else { Ppm(100) };
        match self.ecc.bit_error_rate {
            Some(rate) => PageErrorSpec::BitErrorRate(rate),
            None => PageErrorSpec::Share(self.ecc.page_error_probability.unwrap_or(default)),
        }
    }
}
