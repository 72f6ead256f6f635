//! Times of flash operations and transfers (`timing.*`).

use serde::{Deserialize, Serialize};

use super::error::{LONGEST, refuse};
use super::{Config, ConfigError, PageOrder, Programming};
use crate::device::spec::{TimingSpec, VariationSpec};
use crate::units::{Nanos, Ppm, Rate};

/// Widest bus in bits.
const WIDEST_BUS: u32 = 1024;

/// One time for all pages, or one per page type. With `geometry.page_order = "cyclic"`, page `i` of a block has type `i mod n`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PageTimes {
    /// All pages alike.
    All(Nanos),
    /// By page type, such as lower, middle and upper pages of TLC.
    ByType(Vec<Nanos>),
}

impl PageTimes {
    /// The times by page type.
    pub fn types(&self) -> &[Nanos] {
        match self {
            PageTimes::All(time) => std::slice::from_ref(time),
            PageTimes::ByType(times) => times,
        }
    }
}

choice! {
    /// Operations that a read may suspend (rule R10).
    Suspendable("lowercase") {
        /// Nothing.
        None,
        /// A block erase.
        Erase,
        /// A program or a block erase.
        #[serde(rename = "program+erase")]
        ProgramErase,
    }
}

section! {
    /// Times of flash operations and transfers.
    Timing {
        /// Array time of a page read (tR).
        read: PageTimes = PageTimes::All(Nanos(50_000)),
        /// Array time of a page program (tPROG).
        program: PageTimes = PageTimes::All(Nanos(600_000)),
        /// Array time of a block erase (tBERS).
        erase: Nanos = Nanos(3_500_000),
        /// Bus time per byte, as a rate or as a time.
        transfer: Rate = "800MB/s".parse().expect("a rate"),
        /// Bits per transfer, for rates that count transfers (`"1200MT/s"`).
        [since "0.1.1"]
        bus_width: u32 = 8,
        /// Bus time of an operation's command and address.
        command: Nanos = Nanos::ZERO,
        /// Whether a die may transfer one page while its array reads or programs the next (rule R8).
        cache_register: bool = false,
        /// Transfer time per byte between host and controller, for each direction separately; none by default (rule R6).
        host_link: Option<Rate> = None,
        /// Time to suspend an operation (tSUS): its array is free afterwards.
        suspend: Nanos = Nanos::ZERO,
        /// Time to resume a suspended operation (tRES).
        resume: Nanos = Nanos::ZERO,
        /// Operations that a read may suspend.
        suspendable: Suspendable = Suspendable::None,
        /// A suspendable operation yields only at multiples of this time from the start of its array phase: at the end of a pulse, as
        /// flash programs and erases in pulses. None by default: it yields at any time.
        [since "0.1.3"]
        suspend_slice: Option<Nanos> = None,
        /// Array time of a whole copyback, instead of tR + tPROG.
        copyback: Option<Nanos> = None,
        /// Variation of tR and tPROG.
        [since "0.1.1"]
        variation: Variation = Variation::default(),
    }
}

impl Timing {
    /// Bus time per byte.
    pub fn channel(&self) -> Rate {
        self.transfer.over(self.bus_width)
    }

    /// Transfer time per byte between host and controller, if it is modelled.
    pub fn link(&self) -> Option<Rate> {
        self.host_link.as_ref().map(|rate| rate.over(self.bus_width))
    }

    /// Estimate of the longest time that an operation occupies a resource without a break.
    pub(crate) fn longest(&self) -> Nanos {
        let arrays = self.read.types().iter().chain(self.program.types());
        arrays.chain([&self.erase]).chain(&self.copyback).fold(Nanos::ZERO, |longest, time| longest.max(*time))
    }
}

section! {
    /// Variation of tR and tPROG between blocks and between the layers of a block. Both factors have mean 1 and depend on the seed
    /// and the place alone, so all schemes see the same flash.
    #[derive(PartialEq)]
    Variation {
        /// Standard deviation of a block's factor, which is log-normal and cut at three standard deviations.
        block: Ppm = Ppm(0),
        /// Standard deviation `a` of a layer's factor: 1 + a sqrt(2) sin(2 pi w / W) for word line `w` of `W`. At most 0.7.
        layer: Ppm = Ppm(0),
    }
}

impl Variation {
    /// Whether times vary.
    pub fn exists(&self) -> bool {
        self.block.0 > 0 || self.layer.0 > 0
    }
}

impl Config {
    /// Checks times and rates.
    pub(super) fn check_times(&self) -> Result<(), ConfigError> {
        let t = &self.timing;
        let transfers = [Some(&t.transfer), t.host_link.as_ref()].into_iter().flatten().any(Rate::counts_transfers);
        if !(1..=WIDEST_BUS).contains(&t.bus_width) {
            let message = format!("a transfer of {} bits", t.bus_width);
            return refuse("timing.bus_width", message, "use 1 to 1024, for example 8 or 16");
        }
        if t.bus_width != 8 && !transfers {
            let message =
                format!("{} bits a transfer, but timing.transfer = \"{}\" counts bytes", t.bus_width, t.transfer);
            return refuse(
                "timing.bus_width",
                message,
                "leave it out, or give the rate in transfers, such as \"1200MT/s\"",
            );
        }
        for (key, times) in [("timing.read", &t.read), ("timing.program", &t.program)] {
            let count = times.types().len();
            if count == 0 || count > self.geometry.pages_per_block as usize {
                let message = format!("{count} page types for blocks of {} pages", self.geometry.pages_per_block);
                return refuse(key, message, "list one time per page type, such as [\"50us\", \"90us\", \"110us\"]");
            }
        }
        let times = [
            ("timing.erase", t.erase),
            ("timing.command", t.command),
            ("timing.suspend", t.suspend),
            ("timing.resume", t.resume),
        ];
        let lists = t.read.types().iter().map(|time| ("timing.read", *time));
        let lists = lists.chain(t.program.types().iter().map(|time| ("timing.program", *time)));
        let optional =
            t.copyback.map(|time| ("timing.copyback", time)).into_iter().chain([("device.memory", self.device.memory)]);
        for (key, time) in times.into_iter().chain(lists).chain(optional) {
            if time.0 > LONGEST.0 {
                return refuse(key, format!("{time} is longer than an hour"), "check the unit");
            }
        }
        for (key, rate) in [("timing.transfer", Some(t.channel())), ("timing.host_link", t.link())] {
            let page = rate.as_ref().map(|rate| rate.checked_time(self.geometry.page_size.0));
            if let (Some(rate), Some(time)) = (rate, page)
                && time.is_none_or(|time| time.0 > LONGEST.0)
            {
                let message = format!("a page of {} at {rate} takes longer than an hour", self.geometry.page_size);
                return refuse(key, message, "check the unit");
            }
        }
        self.check_suspension()
    }

    /// Checks the times of suspensions.
    fn check_suspension(&self) -> Result<(), ConfigError> {
        let t = &self.timing;
        if t.suspendable == Suspendable::None && (t.suspend > Nanos::ZERO || t.resume > Nanos::ZERO) {
            let message = "a suspend or resume time, but no operation may be suspended".to_string();
            return refuse(
                "timing.suspendable",
                message,
                "set it to \"erase\" or \"program+erase\", or leave the times out",
            );
        }
        if let Some(slice) = t.suspend_slice {
            if t.suspendable == Suspendable::None {
                let message = "a time between suspensions, but no operation may be suspended".to_string();
                return refuse(
                    "timing.suspendable",
                    message,
                    "set it to \"erase\" or \"program+erase\", or leave timing.suspend_slice out",
                );
            }
            if slice == Nanos::ZERO || slice.0 > LONGEST.0 {
                let message = format!("operations would yield every {slice}");
                return refuse("timing.suspend_slice", message, "use for example \"200us\", or leave it out");
            }
        }
        Ok(())
    }

    pub(crate) fn timing_spec(&self) -> TimingSpec {
        let times = &self.timing;
        TimingSpec {
            read: times.read.types().to_vec(),
            program: times.program.types().to_vec(),
            erase: times.erase,
            slc: self.slc_times(),
            copyback: times.copyback,
            command: times.command,
            channel: times.channel(),
            link: times.link(),
            // Across an interconnect, pages are decoded where they are checked.
            decode: if self.noc.exists() { Nanos::ZERO } else { self.ecc.decode },
            one_shot: self.wear.programming == Programming::OneShot,
            splits: times.suspendable == Suspendable::ProgramErase,
            types: self.page_types(),
            shadow: self.geometry.page_order == PageOrder::Shadow,
            variation: VariationSpec { block: times.variation.block, layer: times.variation.layer },
        }
    }
}
