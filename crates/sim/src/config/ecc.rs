//! Bit errors and their correction (`ecc.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::wear::rises;
use super::{Config, ConfigError, Programming, RaidLayout};
use crate::device::spec::{ErrorSpec, LevelSpec, PageErrorSpec, RetrySpec};
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
        /// Time to decode a page after it has left the die. With an interconnect, pages are decoded at the CPU, after they have
        /// crossed it; with `check = "fmc"`, moved pages are decoded in the flash controller's buffer.
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
        /// What reads cost by bit errors, such as `[{ errors = 60, retries = 0, decode = "2us" }, { errors = 200, retries = 2,
        /// decode = "10us" }]`: up to so many errors per KiB, a page is read so many times more, and each time takes this long to
        /// decode. Errors ascend and retries do not fall. Pages beyond the last level take its time and are uncorrectable. Replaces
        /// `decode` and `correctable`; needs `errors = "model"`.
        [since "0.1.3"]
        levels: Vec<EccLevel> = Vec::new(),
        /// Bus time of the command of a retry. Default: `timing.command`.
        [since "0.1.3"]
        retry_set: Option<Nanos> = None,
        /// Array time of a retry. Default: the page's own.
        [since "0.1.3"]
        retry_read: Option<Nanos> = None,
        /// Whether a read holds its die from its first attempt to its last data-out. Otherwise each attempt queues for the die when
        /// the one before it has been decoded.
        [since "0.1.3"]
        retry_holds: bool = true,
        /// Whether the array read of a retry begins when that of the attempt before it ends, instead of after its decoding.
        [since "0.1.3"]
        retry_pipelined: bool = false,
        /// Age of the data that preconditioning or preloading writes.
        [since "0.1.3"]
        initial_age: Nanos = Nanos::ZERO,
        /// Retention takes its course so many times faster than simulated time. Does not apply to `initial_age`.
        [since "0.1.3"]
        age_factor: u32 = 1,
        /// Pages that a read for the host finds with more bit errors per KiB than this are rewritten when their die is idle; none by
        /// default. Pages that nobody reads are not.
        [since "0.1.3"]
        refresh: Option<u32> = None,
    }
}

section! {
    /// What a read costs up to an amount of bit errors.
    #[derive(PartialEq)]
    EccLevel {
        /// Most bit errors per KiB.
        errors: u32 = 0,
        /// Times that the page is read again.
        retries: u32 = 0,
        /// Time to decode the page, each time.
        decode: Nanos = Nanos::ZERO,
    }
}

/// Most levels, and most retries of a level.
const MOST_LEVELS: usize = 16;
const MOST_RETRIES: u32 = 255;

impl Ecc {
    pub(crate) fn spec(&self) -> ErrorSpec {
        ErrorSpec {
            correctable: self.levels.last().map_or(self.correctable, |last| last.errors),
            levels: self.levels.iter().map(EccLevel::spec).collect(),
            initial_age: self.initial_age,
            age_factor: self.age_factor,
            program_errors: self.program_errors.clone(),
            spread: self.spread,
            read_disturb: self.read_disturb,
            retention: self.retention,
            margin: self.margin,
        }
    }

    /// Whether reads are repeated by levels of errors.
    pub(crate) fn retries(&self) -> bool {
        !self.levels.is_empty()
    }

    /// How reads are repeated, if they are. `command`: `timing.command`.
    pub(crate) fn retry_spec(&self, command: Nanos) -> Option<RetrySpec> {
        self.retries().then_some(RetrySpec {
            set: self.retry_set.unwrap_or(command),
            read: self.retry_read,
            holds: self.retry_holds,
            pipelined: self.retry_pipelined,
            refresh: self.refresh.map(|errors| errors.saturating_mul(1024)),
        })
    }

    /// Checks levels, and what needs them.
    fn check_levels(&self) -> Result<(), ConfigError> {
        let Some(last) = self.levels.last() else { return self.check_without_levels() };
        let levels = &self.levels;
        let refused = [
            (
                self.errors == Errors::None,
                "no bit errors are simulated",
                "use ecc.errors = \"model\", or leave levels out",
            ),
            (levels.len() > MOST_LEVELS, "more than 16 levels are given", "join some"),
            (
                !levels.is_sorted_by(|one, next| one.errors < next.errors),
                "the errors of its levels are not ascending",
                "list levels such as [{ errors = 60 }, { errors = 120, retries = 2 }]",
            ),
            (
                !levels.is_sorted_by_key(|level| level.retries),
                "a level has fewer retries than the one before it, which has fewer errors",
                "let retries rise, or stay equal",
            ),
            (last.retries > MOST_RETRIES, "a level has more than 255 retries", "check the level"),
            (
                levels.iter().any(|level| level.decode > LONGEST),
                "a level decodes for more than an hour",
                "check the unit",
            ),
        ];
        if let Some((_, message, help)) = refused.into_iter().find(|(broken, ..)| *broken) {
            return refuse("ecc.levels", message.into(), help);
        }
        if self.decode > Nanos::ZERO {
            let message = format!("{} is given beside ecc.levels, whose levels have decode times", self.decode);
            return refuse("ecc.decode", message, "leave it out");
        }
        let correctable = self.correctable;
        if correctable != Ecc::default().correctable && correctable != last.errors {
            let message = format!("{correctable} is not the last level of ecc.levels, which is {}", last.errors);
            return refuse("ecc.correctable", message, "leave it out");
        }
        if self.retry_pipelined && !self.retry_holds {
            let message = "attempts overlap only in a die that is held".to_string();
            return refuse("ecc.retry_pipelined", message, "use ecc.retry_holds = true, or leave it out");
        }
        for (key, time) in [("ecc.retry_set", self.retry_set), ("ecc.retry_read", self.retry_read)] {
            if time.is_some_and(|time| time > LONGEST) {
                return refuse(key, "it is longer than an hour".into(), "check the unit");
            }
        }
        Ok(())
    }

    /// Checks that keys of retries are not given without levels.
    fn check_without_levels(&self) -> Result<(), ConfigError> {
        let keys = [
            (self.retry_set.is_some(), "ecc.retry_set"),
            (self.retry_read.is_some(), "ecc.retry_read"),
            (!self.retry_holds, "ecc.retry_holds"),
            (self.retry_pipelined, "ecc.retry_pipelined"),
            (self.refresh.is_some(), "ecc.refresh"),
        ];
        match keys.into_iter().find(|(given, _)| *given) {
            Some((_, key)) => {
                refuse(key, "no read is repeated without levels".into(), "use ecc.levels, or leave it out")
            }
            None => Ok(()),
        }
    }

    /// Checks that the age of data matters.
    fn check_age(&self) -> Result<(), ConfigError> {
        let given = [(self.initial_age > Nanos::ZERO, "ecc.initial_age"), (self.age_factor != 1, "ecc.age_factor")];
        let Some((_, key)) = given.into_iter().find(|(given, _)| *given) else { return Ok(()) };
        if self.errors == Errors::None || self.retention.0 == 0 {
            let message = "data does not age: bit errors or retention are not simulated".to_string();
            return refuse(key, message, "use ecc.errors = \"model\" and ecc.retention, or leave it out");
        }
        Ok(())
    }
}

impl EccLevel {
    fn spec(&self) -> LevelSpec {
        LevelSpec { errors: self.errors, retries: self.retries, decode: self.decode }
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
        ecc.check_levels()?;
        ecc.check_age()?;
        self.check_beside_levels()
    }

    /// What retries rule out.
    fn check_beside_levels(&self) -> Result<(), ConfigError> {
        if !self.ecc.retries() {
            return Ok(());
        }
        if self.units().exist() && self.ecc.refresh.is_some() {
            let message = "a unit is not programmed alone, so pages of mapping units are not rewritten".to_string();
            return refuse("ecc.refresh", message, "leave it out");
        }
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "\"none\""),
            (self.noc.exists(), "noc.model", "\"none\""),
            (self.schemes.route.replicate().is_some(), "schemes.route", "\"direct\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "\"page\""),
        ];
        match others.into_iter().find(|(used, ..)| *used) {
            Some((_, other, value)) => {
                let message = "read retries are not simulated with it".to_string();
                refuse(other, message, format!("use {value}, or leave ecc.levels out"))
            }
            None => Ok(()),
        }
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
