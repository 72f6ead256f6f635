//! Rules about configurations. A broken rule is reported with its arithmetic and a remedy.

use super::*;
use crate::policy::{BackTo, Need, Requirement};

/// Longest time of an operation or a timeout: an hour. Sums of times stay far below the end of the clock.
const LONGEST: Nanos = Nanos(3_600_000_000_000);
/// Longest time of one step across the interconnect.
const LONGEST_CROSSING: Nanos = Nanos(1_000_000_000);
/// Largest flash page in bytes.
const LARGEST_PAGE: u64 = 1 << 20;
/// Widest bus in bits.
const WIDEST_BUS: u32 = 1024;
/// Most P/E cycles in a table of program errors.
const MOST_PE_CYCLES: u32 = 1_000_000;
/// Most rows or columns of an interconnect.
const MOST_SEGMENTS: u32 = 1 << 16;

/// Reports a broken rule.
pub(super) fn refuse<T>(key: &str, message: String, help: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.to_string(), message, help: help.into() })
}

/// Physical pages that four-byte map entries can distinguish.
const MAX_PAGES: u64 = (1 << 31) - 1;

/// Outstanding requests. No host keeps more, and memory for all of them is allocated at the start.
const MAX_QUEUE_DEPTH: u32 = 1 << 20;

impl Config {
    /// Checks every rule.
    ///
    /// # Errors
    /// The first broken rule, with its arithmetic and a remedy.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_geometry()?;
        self.check_times()?;
        self.check_wear()?;
        self.check_pages()?;
        self.check_space()?;
        self.check_noc()?;
        self.check_schemes()?;
        self.check_raid()?;
        self.check_cache()?;
        self.check_no_io_errors()?;
        self.check_nvme()
    }

    /// Rejects settings that make no sense where requests are only counted, in no time ([`Ssd::apply`](crate::Ssd::apply)).
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check_count_only(&self) -> Result<(), ConfigError> {
        if self.cache.exists() {
            let message = "the write cache needs simulated time, but requests are only counted".to_string();
            return refuse("cache.size", message, "leave it out, or omit --count-only");
        }
        if self.nvme.arbitrates() {
            let message = "queues need simulated time, but requests are only counted".to_string();
            return refuse("nvme.arbitration", message, "leave it out, or omit --count-only");
        }
        let trigger = &self.schemes.trigger;
        if trigger.policy_ref().patience().is_some() {
            let message = format!("{} needs simulated time, but requests are only counted", trigger.name());
            return refuse("schemes.trigger", message, "use \"threshold\", or omit --count-only");
        }
        Ok(())
    }

    /// Whether the configuration meets a scheme's requirement.
    fn has(&self, what: Requirement) -> bool {
        match what {
            Requirement::OtherKnobs => false,
            Requirement::MovesInPlane => self.gc.destination == Destination::Plane,
            Requirement::PlanesPerDie(planes) => self.geometry.planes_per_die == planes,
            Requirement::PlaneScope => self.gc.scope == Scope::Plane,
            Requirement::StaticPlaces => self.staging.slots == 0 || self.schemes.place != Place::Dynamic,
            Requirement::TimedCollections => self.gc.time == GcTime::Real,
            Requirement::SoundChips => self.faults.chip_fails.is_empty(),
            Requirement::MoreThanThreshold(free) => self.free_pages(&free) > self.free_pages(&self.gc.threshold),
            Requirement::SinglePages => self.device.mapping_unit == MappingUnit::Page,
            Requirement::Interconnect => self.noc.exists(),
            Requirement::SharedWritePoint => !self.schemes.path.policy_ref().separates(),
        }
    }

    /// Number of free pages for a threshold.
    fn free_pages(&self, threshold: &Threshold) -> u64 {
        threshold.pages(self.pages_in_scope(), u64::from(self.geometry.pages_per_block))
    }

    /// Rejects the first of a scheme's needs that the configuration does not meet.
    fn check_needs(&self, needs: impl IntoIterator<Item = Need>) -> Result<(), ConfigError> {
        let Some(need) = needs.into_iter().find(|need| !self.has(need.what)) else { return Ok(()) };
        let message = match need.what {
            Requirement::PlanesPerDie(_) => format!("{}, but a die has {}", need.why, self.geometry.planes_per_die),
            Requirement::SharedWritePoint => {
                format!("{} has two write points a plane, and {}", self.schemes.path.name(), need.why)
            }
            Requirement::MoreThanThreshold(free) => {
                let (free, threshold) = (self.free_pages(&free), self.free_pages(&self.gc.threshold));
                format!("{} {free} free pages, but GC starts below {threshold} anyway", need.why)
            }
            _ => need.why,
        };
        refuse(need.key, message, need.help)
    }

    fn check_geometry(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
        let counts = [
            ("geometry.channels", g.channels),
            ("geometry.chips_per_channel", g.chips_per_channel),
            ("geometry.dies_per_chip", g.dies_per_chip),
            ("geometry.planes_per_die", g.planes_per_die),
            ("geometry.blocks_per_plane", g.blocks_per_plane),
            ("geometry.pages_per_block", g.pages_per_block),
            ("device.queue_depth", self.device.queue_depth),
        ];
        for (key, count) in counts {
            if count == 0 {
                return refuse(key, "there must be at least one".into(), "use 1 or more");
            }
        }
        if self.device.queue_depth > MAX_QUEUE_DEPTH {
            let message =
                format!("{} outstanding requests exceed the limit of {MAX_QUEUE_DEPTH}", self.device.queue_depth);
            return refuse("device.queue_depth", message, format!("use at most {MAX_QUEUE_DEPTH}"));
        }
        if g.pages_per_block > 0x7FFF {
            return refuse(
                "geometry.pages_per_block",
                format!("{} exceeds the limit of 32767", g.pages_per_block),
                "use fewer pages per block",
            );
        }
        if g.page_size.0 == 0 || !g.page_size.0.is_multiple_of(512) || g.page_size.0 > LARGEST_PAGE {
            let message = format!("{} is not a multiple of 512 B (a sector), up to 1MiB", g.page_size);
            return refuse("geometry.page_size", message, "use for example \"4KiB\"");
        }
        if self.device.mapping_unit == MappingUnit::SuperPage && g.planes_per_die != 2 {
            let message = format!("super pages pair the two planes of a die, but a die has {}", g.planes_per_die);
            return refuse("device.mapping_unit", message, "use geometry.planes_per_die = 2, or \"page\"");
        }
        let factors =
            [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die, g.blocks_per_plane, g.pages_per_block];
        let pages = factors.iter().try_fold(1u64, |product, factor| product.checked_mul(u64::from(*factor)));
        if pages.is_none_or(|pages| pages > MAX_PAGES) {
            let product = factors.map(|f| f.to_string()).join(" x ");
            let message = format!("{product} pages exceed {MAX_PAGES}, the limit of four-byte map entries");
            return refuse("geometry", message, "use larger pages, or a smaller array");
        }
        let planes = match self.device.exclusion {
            Exclusion::Die => g.planes_per_die,
            Exclusion::Chip => g.planes_per_die * g.dies_per_chip,
            Exclusion::Channel => g.planes_per_die * g.dies_per_chip * g.chips_per_channel,
        };
        if planes > 64 {
            let message = format!("{planes} planes would share one unit of exclusion; the limit is 64");
            return refuse("device.exclusion", message, "use a narrower exclusion");
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
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
        if t.suspendable == Suspendable::None && (t.suspend > Nanos::ZERO || t.resume > Nanos::ZERO) {
            let message = "a suspend or resume time, but no operation may be suspended".to_string();
            return refuse(
                "timing.suspendable",
                message,
                "set it to \"erase\" or \"program+erase\", or leave the times out",
            );
        }
        Ok(())
    }

    fn check_wear(&self) -> Result<(), ConfigError> {
        let (wear, ecc) = (&self.wear, &self.ecc);
        let rises = |steps: &mut dyn Iterator<Item = u32>| {
            let steps: Vec<u32> = steps.collect();
            !steps.is_empty() && steps.windows(2).all(|pair| pair[0] < pair[1])
        };
        if !rises(&mut ecc.program_errors.iter().map(|(from, _)| *from)) {
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
        let key = "wear.copyback_thresholds";
        if let CopybackThresholds::Steps(steps) = &wear.copyback_thresholds {
            if !rises(&mut steps.iter().map(|(from, _)| *from)) {
                let help = "list pairs such as [[0, 6], [4500, 0]]";
                return refuse(key, "the P/E cycles of its steps are not ascending".into(), help);
            }
            if steps[0].0 > 0 || steps.windows(2).any(|pair| pair[0].1 < pair[1].1) {
                let message = "a worn block would allow more copybacks than a less worn one".to_string();
                return refuse(key, message, "begin at 0 P/E cycles, with thresholds that do not rise");
            }
        }
        let most = crate::device::errors::MAX_THRESHOLD;
        if let Some((_, threshold)) = self.copyback_steps().iter().find(|(_, threshold)| *threshold > most) {
            return refuse(key, format!("{threshold} exceeds the limit of {most}"), format!("use at most {most}"));
        }
        if wear.programming == Programming::OneShot {
            let key = "wear.programming";
            if !self.geometry.pages_per_block.is_multiple_of(3) {
                let message =
                    format!("{} pages per block are not whole word lines of 3", self.geometry.pages_per_block);
                return refuse(key, message, "use geometry.pages_per_block = a multiple of 3, or \"page\"");
            }
            if self.timing.program.types().len() > 1 {
                let message = "a word line takes one program, but timing.program lists times by page type".to_string();
                return refuse(key, message, "give timing.program as one time, or use \"page\"");
            }
            if self.timing.copyback.is_some() {
                let message = "timing.copyback is the time of one page, and a word line has three".to_string();
                return refuse("timing.copyback", message, "leave it out, or use wear.programming = \"page\"");
            }
            if !self.device.power_loss_protection {
                let message =
                    "pages that wait for the rest of their word line are in the controller's buffer".to_string();
                return refuse(key, message, "use device.power_loss_protection = true, or \"page\"");
            }
        }
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

    fn check_space(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
        let (blocks, per_block) = (u64::from(g.blocks_per_plane), u64::from(g.pages_per_block));
        let pages = blocks * per_block;
        let exported = self.exported_per_plane();
        let reserve = u64::from(self.reserve());
        if exported == 0 {
            let message = format!(
                "floor((1 - {}) x {pages}) = 0 pages per plane would be exported",
                self.device.over_provisioning.as_f64()
            );
            return refuse("device.over_provisioning", message, "use a smaller share");
        }
        let streams = u64::from(self.gc_streams());
        if reserve < streams {
            let message = format!(
                "{reserve} erased blocks, but GC fills {streams} write points per plane, and each may need one"
            );
            return refuse("gc.reserve", message, format!("use {streams} or more, or leave it out"));
        }
        if reserve + streams >= blocks {
            let message =
                format!("{reserve} reserved and {streams} open GC blocks use up all {blocks} blocks of a plane");
            return refuse(
                "gc.reserve",
                message,
                format!("use at most {}, or leave it out", blocks.saturating_sub(streams + 1)),
            );
        }
        let metadata = u64::from(self.metadata_pages());
        let data = per_block - metadata;
        let (kept, most) = (self.kept_per_plane(), self.most_per_plane());
        if exported > most {
            let message = format!(
                "{exported} of {pages} pages per plane are exported, but {reserve} reserved and {streams} open GC blocks leave ({blocks} - {reserve} - {streams}) x {data}{} = {most}{}",
                if kept > 0 { " - 1 for a write in flight" } else { "" },
                if metadata > 0 { format!(" without {metadata} metadata pages per block") } else { String::new() }
            );
            let enough = (pages - most) as f64 / pages as f64;
            return refuse(
                "device.over_provisioning",
                message,
                format!("use at least {:.6}", (enough * 1e6).ceil() / 1e6),
            );
        }
        // Metadata pages of full blocks are never free.
        let spare = pages - exported - exported.div_ceil(data) * metadata;
        let in_scope = self.pages_in_scope();
        let (floor, spare) = (self.gc.threshold.pages(in_scope, per_block), in_scope / pages * spare);
        if floor > spare {
            let message =
                format!("GC would start below {floor} free pages, but a full device never has more than {spare}");
            return refuse(
                "gc.threshold",
                message,
                format!("use at most \"{spare} pages\", or more over-provisioning"),
            );
        }
        if self.precondition.mode == PreconditionMode::Aged {
            let share = |ppm: Ppm| (pages * u64::from(ppm.0) + Ppm::ONE / 2) / Ppm::ONE;
            let (valid, invalid) = (share(self.precondition.valid), share(self.precondition.invalid));
            if valid > exported {
                let message = format!("{valid} valid pages per plane, but only {exported} are exported");
                return refuse(
                    "precondition.valid",
                    message,
                    format!("use at most {}", (exported * 1_000_000 / pages) as f64 / 1e6),
                );
            }
            let room = (blocks - reserve) * data;
            if valid + invalid > room {
                let message = format!(
                    "{valid} valid and {invalid} invalid pages per plane, but the reserve leaves {room} of {pages}"
                );
                return refuse(
                    "precondition.invalid",
                    message,
                    "use a smaller share, so that the reserve stays erased",
                );
            }
        }
        let overwrite = self.precondition.overwrite;
        if !(0.0..=1e6).contains(&overwrite) {
            return refuse(
                "precondition.overwrite",
                format!("{overwrite} is not a number from 0 to 1000000"),
                "use for example 1.0",
            );
        }
        Ok(())
    }

    fn check_noc(&self) -> Result<(), ConfigError> {
        let noc = &self.noc;
        if self.ecc.bit_error_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
            let rate = self.ecc.bit_error_rate.unwrap_or_default();
            return refuse("ecc.bit_error_rate", format!("{rate} is not a number from 0 to 1"), "use for example 1e-9");
        }
        if self.ecc.page_error_probability.is_some() && self.ecc.bit_error_rate.is_some() {
            let message = "given together with ecc.page_error_probability, which has the same meaning".to_string();
            return refuse("ecc.bit_error_rate", message, "leave one of them out");
        }
        if let Some(list) = &noc.priority {
            if !noc.exists() {
                let message = "task queues need an interconnect".to_string();
                return refuse("noc.priority", message, "set noc.model = \"formula\" or \"array\", or leave it out");
            }
            let all = [Task::Rhost, Task::Whost, Task::Rgc, Task::Wgc].iter().all(|task| list.contains(task));
            let complete = all && list.len() == 4;
            if !complete && !list.is_empty() {
                let message = format!("{} task queues listed; each of the four must be listed once", list.len());
                let help = "list \"rhost\", \"whost\", \"rgc\", \"wgc\" once each, or nothing for one FIFO";
                return refuse("noc.priority", message, help);
            }
        }
        if !noc.exists() {
            let paths = self.schemes.path.chain().flat_map(|path| path.policy_ref().needs());
            return self.check_needs(paths.filter(|need| need.what == Requirement::Interconnect));
        }
        for (key, time) in
            [("noc.cycle", noc.cycle), ("noc.sram_write", noc.sram_write), ("noc.sram_read", noc.sram_read)]
        {
            if time.0 > LONGEST_CROSSING.0 {
                return refuse(key, format!("{time} is longer than a second"), "check the unit");
            }
        }
        if noc.cycle == Nanos::ZERO {
            let message = "a page would cross the interconnect in no time".to_string();
            return refuse("noc.cycle", message, "use for example \"87ns\", or noc.model = \"none\"");
        }
        let bits = self.geometry.page_size.0 * 8;
        if noc.flit_bits == 0 || u64::from(noc.flit_bits) > bits {
            let message = format!("{} bits at once; a page has {bits}", noc.flit_bits);
            return refuse("noc.flit_bits", message, "use for example 4");
        }
        if !(1.0..=1e6).contains(&noc.mean_slices) {
            let message = format!("{} slices: a page passes at least one", noc.mean_slices);
            return refuse("noc.mean_slices", message, "use for example 13.5");
        }
        if noc.model == NocModel::Array {
            if noc.columns < self.geometry.channels || noc.columns > MOST_SEGMENTS {
                let message = format!("{} columns for the ports of {} channels", noc.columns, self.geometry.channels);
                return refuse("noc.columns", message, format!("use {} or more", self.geometry.channels));
            }
            if noc.rows == 0 || noc.rows > MOST_SEGMENTS {
                return refuse("noc.rows", format!("{} rows", noc.rows), "use 1 or more, for example 8");
            }
            if noc.port == PortRule::Delayed {
                let message =
                    "an array models pages that block each other, but delayed ports block nothing".to_string();
                return refuse("noc.port", message, "use \"occupied\", or noc.model = \"formula\"");
            }
        }
        Ok(())
    }

    /// Checks collectors that wrap others, and the buffer.
    fn check_collector(&self) -> Result<(), ConfigError> {
        let collector = &self.schemes.collector;
        let chain: Vec<&AnyCollector> = collector.chain().collect();
        for (i, one) in chain.iter().enumerate().skip(1) {
            if chain[..i].iter().any(|other| other.name() == one.name()) {
                return refuse(
                    "schemes.collector",
                    format!("{0} around {0}", one.name()),
                    "wrap it once, or leave `inner` out",
                );
            }
            let around = chain[i - 1].policy_ref().needs();
            self.check_needs(around.into_iter().filter(|need| need.what == Requirement::OtherKnobs))?;
        }
        let preempts = collector.policy_ref().preemptible();
        let pages = self.geometry.pages();
        if u64::from(self.staging.slots) > pages {
            let message = format!("a buffer of {} pages, more than the {pages} pages of flash", self.staging.slots);
            return refuse("staging.slots", message, "use fewer slots");
        }
        if let Some(hard) = &self.gc.hard_threshold {
            let (hard, soft) = (self.free_pages(hard), self.free_pages(&self.gc.threshold));
            let queues = !self.noc.priority().is_empty();
            if !preempts && !queues {
                let message = "only preemptive collectors and task queues use a hard threshold".to_string();
                let help = "leave it out, or use schemes.collector = \"preemptive\", or an interconnect (noc.model)";
                return refuse("gc.hard_threshold", message, help);
            }
            if hard > soft {
                let message = format!("GC starts below {soft} free pages, but takes priority below {hard}");
                return refuse("gc.hard_threshold", message, "use at most gc.threshold");
            }
        }
        let Some(plan) = collector.policy_ref().writes_back() else { return Ok(()) };
        if self.staging.slots > 0 && self.raid.layout != RaidLayout::None {
            let message =
                "a page in the controller's buffer is on no chip, so its parity group would lack a member".to_string();
            return refuse("staging.slots", message, "use 0, or raid.layout = \"none\"");
        }
        if let (BackTo::IdleChips, 1.., Place::Static(order)) = (plan.to, self.staging.slots, self.schemes.place) {
            let message = format!(
                "place = \"{}\" fixes the plane of every page, but buffered pages go to any idle chip",
                Place::Static(order)
            );
            let help = "use \"dynamic\" or \"round-robin\", staging.slots = 0, or to = \"own_plane\" of idle-chip";
            return refuse("schemes.place", message, help);
        }
        if plan.queue_empty && !plan.erase_first {
            let message =
                "a collection would wait for an empty host queue, and writes in it may wait for the collection"
                    .to_string();
            return refuse(
                "schemes.collector",
                message,
                "use writeback = \"chip_idle\" with erase = \"after_writeback\"",
            );
        }
        Ok(())
    }

    /// Checks power cuts and kept pages.
    fn check_power(&self) -> Result<(), ConfigError> {
        if self.device.keep_overwritten {
            let key = "device.keep_overwritten";
            if self.raid.layout != RaidLayout::None {
                let message = "parity groups already keep the old pages that they need".to_string();
                return refuse(key, message, "leave it out, or use raid.layout = \"none\"");
            }
            if self.wear.programming == Programming::OneShot {
                let message =
                    "pages that wait for the rest of their word line are in the controller's buffer".to_string();
                return refuse(key, message, "leave it out, or use wear.programming = \"page\"");
            }
        }
        if !self.faults.power_cut.is_empty() {
            if self.noc.model != NocModel::None {
                let message = "recovery of an interconnect's queues is not modelled".to_string();
                return refuse("faults.power_cut", message, "use noc.model = \"none\", or leave it out");
            }
            let (streams, reserve) = (self.gc_streams(), self.reserve());
            if !self.device.power_loss_protection && reserve <= streams {
                let message = format!(
                    "a power cut tears pages and undoes overwrites, so a victim may need up to {} more pages than at the start of its collection: one block more than its {streams} write points, but {reserve} reserved",
                    self.geometry.pages_per_block
                );
                let help = format!("use {} or more, or device.power_loss_protection = true", streams + 1);
                return refuse("gc.reserve", message, help);
            }
        }
        Ok(())
    }

    /// Checks second copies of pages.
    fn check_copies(&self) -> Result<(), ConfigError> {
        let (key, route) = ("schemes.route", &self.schemes.route);
        self.check_needs(route.schemes().flat_map(|scheme| scheme.policy_ref().needs()))?;
        let Some(share) = route.replicate().map(|route| route.share()) else { return Ok(()) };
        if route.redirect().is_some() {
            // A copy is found by its logical page and dropped when the host writes that page. With parity, pages also change
            // without a host write (parity itself), an overwritten page is read until its group's update begins, and waits are
            // counted by the chip of the layout, which is not the copy's chip.
            let message = format!(
                "{}: reads are redirected through parity groups, and second copies of pages are not simulated with them",
                route.name()
            );
            return refuse(key, message, "use one of them");
        }
        let (g, pages, spare) = (&self.geometry, self.geometry.pages(), self.device.over_provisioning);
        if pages * u64::from(share.0) < Ppm::ONE {
            let message = format!("floor({} x {pages}) = 0 pages could be second copies", share.as_f64());
            return refuse(key, message, "use a greater share of replica_pages, or \"direct\"");
        }
        if share.0 > spare.0 {
            let message = format!(
                "copies could take {} of all pages, but device.over_provisioning leaves {}",
                share.as_f64(),
                spare.as_f64()
            );
            return refuse(key, message, "use a smaller share of replica_pages");
        }
        if g.channels * g.chips_per_channel == 1 {
            return refuse(
                key,
                "a second copy needs another chip, and there is only one".into(),
                "use more chips, or \"direct\"",
            );
        }
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "\"none\""),
            (self.noc.exists(), "noc.model", "\"none\""),
            (self.device.mapping_unit == MappingUnit::SuperPage, "device.mapping_unit", "\"page\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "\"page\""),
        ];
        for (used, other, value) in others {
            if used {
                let message = "second copies of pages are not simulated with it".to_string();
                return refuse(other, message, format!("use {value}, or schemes.route = \"direct\""));
            }
        }
        Ok(())
    }

    /// Pages per plane that are needed even if all others are valid: by a partial write that is overwritten during its read phase,
    /// or by a program whose old page is kept until it lands.
    fn kept_per_plane(&self) -> u64 {
        let volatile = self.cache.exists() && !self.device.power_loss_protection;
        let merges = self.device.partial_write == PartialWrite::ReadModifyWrite;
        u64::from(self.device.keep_overwritten || volatile || merges)
    }

    /// Logical pages that a plane can hold and still be collected.
    pub(crate) fn most_per_plane(&self) -> u64 {
        let blocks =
            u64::from(self.geometry.blocks_per_plane) - u64::from(self.reserve()) - u64::from(self.gc_streams());
        blocks * (u64::from(self.geometry.pages_per_block) - u64::from(self.metadata_pages())) - self.kept_per_plane()
    }

    /// What round-robin placement rules out: a plane counts the pages that are placed there, and nothing else may take its room.
    fn check_round_robin(&self) -> Result<(), ConfigError> {
        if self.schemes.place != Place::RoundRobin {
            return Ok(());
        }
        let refused = |key: &str, message: &str, help: &str| refuse(key, message.into(), help);
        if self.raid.layout != RaidLayout::None {
            let message = "round-robin placement sends a page to the next plane, but the layout fixes its chip";
            return refused("schemes.place", message, "use a static order, of which dies and planes count");
        }
        if self.cache.exists() {
            let message = "lines of the write cache belong to the dies of a static order, or to none";
            return refused("schemes.place", message, "use a static order or \"dynamic\", or cache.size = \"0B\"");
        }
        if self.device.keep_overwritten {
            let message = "overwritten pages that are kept would take room in planes that do not count them any more";
            return refused("device.keep_overwritten", message, "leave it out, or use a static schemes.place");
        }
        Ok(())
    }

    fn check_schemes(&self) -> Result<(), ConfigError> {
        self.check_collector()?;
        self.check_power()?;
        self.check_copies()?;
        self.check_round_robin()?;
        let chain = || self.schemes.collector.chain().map(|one| one.policy_ref());
        let collectors = |which: fn(Requirement) -> bool| -> Vec<Need> {
            chain().flat_map(|one| one.needs()).filter(|need| which(need.what)).collect()
        };
        // The order says which of several broken rules a configuration is refused by.
        let wrapping = chain().filter(|one| one.inner().is_some()).flat_map(|one| one.needs());
        self.check_needs(wrapping.filter(|need| need.what == Requirement::MovesInPlane))?;
        self.check_needs(self.schemes.victim.policy_ref().needs())?;
        self.check_needs(collectors(|what| !matches!(what, Requirement::SinglePages | Requirement::SharedWritePoint)))?;
        self.check_needs(self.schemes.trigger.policy_ref().needs())?;
        // An inner collector gives the more specific reason, so inner ones come first.
        self.check_needs(collectors(|what| what == Requirement::SinglePages).into_iter().rev())?;
        if self.device.mapping_unit == MappingUnit::SuperPage {
            if self.raid.layout != RaidLayout::None {
                let message = "stripes consist of pages, not of super pages".to_string();
                return refuse("device.mapping_unit", message, "use \"page\", or raid.layout = \"none\"");
            }
            if self.device.multi_plane {
                let message = "a super page already occupies both planes of its die".to_string();
                return refuse("device.multi_plane", message, "leave it out, or use device.mapping_unit = \"page\"");
            }
        }
        if self.order.chip_queue == Some(0) {
            return refuse(
                "order.chip_queue",
                "a chip must accept at least one sub-request".into(),
                "use 1 or more, or leave it out",
            );
        }
        self.check_die_queue()?;
        let path = self.schemes.path.policy_ref();
        self.check_needs(path.needs())?;
        let wears = self.ecc.errors == Errors::Model || self.ecc.decode > Nanos::ZERO;
        let wears = wears || self.wear.programming == Programming::OneShot;
        let slow = self.ecc.decode > Nanos::ZERO || self.wear.programming == Programming::OneShot;
        if slow && self.noc.exists() {
            let message = "decode time and one-shot programming are not simulated with an interconnect".to_string();
            return refuse(
                "noc.model",
                message,
                "use \"none\", or leave ecc.decode and wear.programming at their defaults",
            );
        }
        if (path.separates() || wears) && self.pages_per_entry() > 1 {
            let message =
                "copyback counts, checked copies, bit errors, decode time and one-shot programming need single pages"
                    .to_string();
            return refuse(
                "device.mapping_unit",
                message,
                "use \"page\", or leave schemes.path, ecc.errors, ecc.decode and wear.programming at their defaults",
            );
        }
        self.check_needs(collectors(|what| what == Requirement::SharedWritePoint))?;
        if path.separates() && self.ftl.write_points == WritePoints::Shared {
            let message = format!("{} fills separate blocks with copied pages", self.schemes.path.name());
            return refuse("ftl.write_points", message, "use \"separate\"");
        }
        if path.keeps_counts() && self.geometry.pages_per_block < 2 {
            let message = "a block of one page has no room for its copyback counts".to_string();
            return refuse("geometry.pages_per_block", message, "use 2 or more, or another schemes.path");
        }
        if self.gc.destination != Destination::Plane && self.schemes.place != Place::Dynamic {
            let message = format!(
                "place = \"{}\" fixes the plane of every page; pages from elsewhere would overfill it",
                self.schemes.place
            );
            return refuse("gc.destination", message, "use \"plane\", or schemes.place = \"dynamic\"");
        }
        if self.ftl.wear_levelling == WearLevelling::Static && self.ftl.wear_spread == 0 {
            return refuse("ftl.wear_spread", "no difference would be tolerated".into(), "use 1 or more");
        }
        Ok(())
    }

    /// Checks the order of a die's queue.
    fn check_die_queue(&self) -> Result<(), ConfigError> {
        let key = "order.die_queue";
        let Some(classes) = self.order.die_queue.classes() else {
            if self.order.read_burst != OrderKnobs::default().read_burst {
                let message = "a limit of reads in a row, but a die is one FIFO".to_string();
                return refuse("order.read_burst", message, "use order.die_queue = \"read-first\", or leave it out");
            }
            return Ok(());
        };
        if classes.is_empty() {
            return refuse(key, "an empty list of classes".into(), "use \"fifo\", or list a class such as \"rhost\"");
        }
        if let Some(i) = (1..classes.len()).find(|i| classes[..*i].contains(&classes[*i])) {
            return refuse(key, format!("class {} of the list is there twice", i + 1), "list each class once");
        }
        if !self.noc.priority().is_empty() {
            let message = "an interconnect's task queues (noc.priority) order the same operations".to_string();
            return refuse(key, message, "use \"fifo\", or noc.priority = []");
        }
        Ok(())
    }

    fn check_raid(&self) -> Result<(), ConfigError> {
        let (raid, g) = (&self.raid, &self.geometry);
        let chips = g.channels * g.chips_per_channel;
        if self.faults.rebuild > 0 && self.faults.chip_fails.is_empty() {
            let message = "no chip fails, so none can be rebuilt".to_string();
            return refuse("faults.rebuild", message, "leave it out, or use faults.chip_fails");
        }
        if raid.layout == RaidLayout::None {
            if !self.faults.chip_fails.is_empty() {
                let message = "without parity groups, pages of a failed chip cannot be reconstructed".to_string();
                return refuse("faults.chip_fails", message, "set raid.layout to \"lci\" or \"traditional\"");
            }
            if self.schemes.route.redirect().is_some() {
                let message = format!(
                    "{} reads around a chip through its parity groups, and there are none",
                    self.schemes.route.name()
                );
                return refuse(
                    "schemes.route",
                    message,
                    "set raid.layout to \"lci\" or \"traditional\", or use \"direct\"",
                );
            }
            return Ok(());
        }
        let ecc = &self.ecc;
        if ecc.decode > Nanos::ZERO || self.wear.programming == Programming::OneShot {
            let message = "decode time and one-shot programming are not simulated with parity groups".to_string();
            return refuse("raid.layout", message, "use \"none\", or leave ecc.decode and wear.programming out");
        }
        if ecc.errors == Errors::Model && !(self.faults.chip_fails.is_empty() && self.faults.power_cut.is_empty()) {
            let message =
                "losses by a fault and losses by bit errors in one parity group are not distinguished".to_string();
            return refuse("ecc.errors", message, "use \"none\", or leave out faults.chip_fails and faults.power_cut");
        }
        if !(2..=64).contains(&raid.group) || !chips.is_multiple_of(raid.group) {
            let fits: Vec<String> =
                (2..=chips.min(64)).filter(|n| chips.is_multiple_of(*n)).map(|n| n.to_string()).collect();
            let message = format!(
                "groups of {} chips do not divide {chips} chips ({} channels x {}) into groups of 2 to 64",
                raid.group, g.channels, g.chips_per_channel
            );
            let help = if fits.is_empty() { "use more chips".into() } else { format!("use {}", fits.join(", ")) };
            return refuse("raid.group", message, help);
        }
        if self.noc.exists() {
            let message = "parity would have to cross the interconnect, which is not modelled".to_string();
            return refuse("raid.layout", message, "use \"none\", or noc.model = \"none\"");
        }
        if self.device.mapping_unit == MappingUnit::SuperPage {
            let message = "chunks of parity groups are pages, not super pages".to_string();
            return refuse("device.mapping_unit", message, "use \"page\", or raid.layout = \"none\"");
        }
        if self.schemes.place == Place::Dynamic {
            let message = "dynamic placement sends a page to any idle die, but the layout fixes its chip".to_string();
            return refuse("schemes.place", message, "use a static order, of which dies and planes count");
        }
        if self.gc.destination == Destination::Any {
            let message = "a page moved to another chip may meet another page of its stripe there".to_string();
            return refuse("gc.destination", message, "use \"plane\"");
        }
        if self.staging.slots > 0 {
            let message = format!(
                "{} pages of parity groups could wait in the controller's buffer, where updates of their group do not find them",
                self.staging.slots
            );
            return refuse("staging.slots", message, "use 0, or raid.layout = \"none\"");
        }
        if raid.encode_timeout.0 > LONGEST.0 {
            let message = format!("{} is longer than an hour", raid.encode_timeout);
            return refuse("raid.encode_timeout", message, "check the unit");
        }
        if self.faults.chip_fails.is_empty() { Ok(()) } else { self.check_chip_failures(chips) }
    }

    /// Checks the host's queues.
    fn check_nvme(&self) -> Result<(), ConfigError> {
        let (nvme, key) = (&self.nvme, "nvme.queues");
        if !nvme.arbitrates() {
            if !nvme.queues.is_empty() {
                let message = format!("{} queues, but nothing arbitrates between them", nvme.queues.len());
                return refuse("nvme.arbitration", message, "use \"rr\" or \"wrr\", or leave the queues out");
            }
            if nvme.burst != Nvme::default().burst {
                let message = "commands at a turn, but nothing arbitrates".to_string();
                return refuse("nvme.burst", message, "use nvme.arbitration = \"rr\" or \"wrr\", or leave it out");
            }
            return Ok(());
        }
        if nvme.queues.is_empty() || nvme.queues.len() > MOST_QUEUES {
            let message = format!("{} queues", nvme.queues.len());
            return refuse(
                key,
                message,
                format!("list 1 to {MOST_QUEUES}, such as [{{ name = \"db\", match = \"rest\" }}]"),
            );
        }
        if !(1..=128).contains(&nvme.burst) {
            return refuse("nvme.burst", format!("{} commands at a turn", nvme.burst), "use 1 to 128");
        }
        for (i, queue) in nvme.queues.iter().enumerate() {
            if queue.name.is_empty() || nvme.queues[..i].iter().any(|other| other.name == queue.name) {
                let message = format!("the name {:?} of queue {} is empty or used twice", queue.name, i + 1);
                return refuse(key, message, "give each queue a name of its own");
            }
            // It is the name of a tenant, in files of results and in the names of columns.
            if !queue.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
                let message = format!("the name {:?} of queue {} is none for files of results", queue.name, i + 1);
                return refuse(key, message, "use letters, digits, `-`, `_` and `.` only");
            }
            let none = |takes: &Match| matches!(takes, Match::Tenant(of) | Match::Device(of) | Match::Stream(of) if of.is_empty());
            if queue.takes.as_ref().is_some_and(none) {
                let message = format!("queue {} would take no request: its match is an empty list", queue.name);
                return refuse(key, message, "list the names that it takes, or use match = \"rest\"");
            }
            if queue.weight == 0 {
                let message = format!("queue {} would never have credit", queue.name);
                return refuse(key, message, "use weight = 1 or more");
            }
            if queue.depth.is_some_and(|depth| depth == 0 || depth > self.device.queue_depth) {
                let message = format!("queue {} has a depth that is not 1 to {}", queue.name, self.device.queue_depth);
                return refuse(key, message, "use at most device.queue_depth, or leave it out");
            }
        }
        self.check_tenants("nvme.arbitration = \"none\"")
    }

    /// Rejects what can't be simulated with tenants; `otherwise` is the way to do without them.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check_tenants(&self, otherwise: &str) -> Result<(), ConfigError> {
        let others = [(self.raid.layout != RaidLayout::None, "raid.layout"), (self.noc.exists(), "noc.model")];
        match others.into_iter().find(|(used, _)| *used) {
            None => Ok(()),
            Some((_, other)) => {
                let message = "what tenants cost each other is not simulated with it".to_string();
                refuse(other, message, format!("use \"none\", or {otherwise}"))
            }
        }
    }

    /// Checks the write cache.
    fn check_cache(&self) -> Result<(), ConfigError> {
        let (cache, page) = (&self.cache, self.geometry.page_size);
        if !cache.exists() {
            return Ok(());
        }
        if cache.size.0 < page.0 {
            let message = format!("{} is less than a line, which is a page of {page}", cache.size);
            return refuse("cache.size", message, format!("use {page} or more, or \"0B\" for none"));
        }
        if cache.size.0 / page.0 > self.geometry.pages() {
            let message = format!("{} hold more pages than the flash", cache.size);
            return refuse("cache.size", message, "use a smaller cache");
        }
        if cache.time.is_some_and(|time| time.0 > LONGEST.0) {
            return refuse("cache.time", "longer than an hour".into(), "check the unit");
        }
        if cache.low >= cache.high {
            let (low, high) = (cache.low.as_f64(), cache.high.as_f64());
            let message = format!("write-back would stop at {low} of the lines, but starts at {high}");
            return refuse("cache.low", message, "use a share below cache.high");
        }
        let reads = (cache.write, cache.read);
        if matches!(reads, (CacheWrite::Through | CacheWrite::None, CacheRead::None)) {
            let message = "neither writes nor reads would use the cache".to_string();
            return refuse("cache.read", message, "use \"all\" or \"written\", or cache.write = \"back\"");
        }
        if reads == (CacheWrite::None, CacheRead::Written) {
            let message = "no write fills a line, so no read finds one".to_string();
            return refuse("cache.read", message, "use \"all\", or cache.write = \"through\" or \"back\"");
        }
        if cache.plp_budget == Some(0) {
            let message = "no line could ever be dirty".to_string();
            return refuse("cache.plp_budget", message, "use 1 or more, or cache.write = \"through\"");
        }
        if cache.order == CacheOrder::Stripe {
            let key = "cache.order";
            if !self.device.multi_plane || self.geometry.planes_per_die == 1 {
                let message = "no program carries several lines".to_string();
                return refuse(
                    key,
                    message,
                    "use device.multi_plane = true and geometry.planes_per_die = 2 or more, or \"fifo\"",
                );
            }
            if self.schemes.place == Place::Dynamic {
                let message = "any lines fill a multi-plane command where any plane takes them".to_string();
                return refuse(key, message, "use \"fifo\", or a static schemes.place");
            }
        }
        if !self.device.power_loss_protection {
            let message = "there is no capacitor".to_string();
            let help = "leave it out, or use device.power_loss_protection = true";
            if cache.plp_budget.is_some() {
                return refuse("cache.plp_budget", message, help);
            }
            if cache.flush == CacheFlush::None {
                return refuse("cache.flush", "flushed pages would be lost: there is no capacitor".into(), help);
            }
        }
        let others = [
            (self.raid.layout != RaidLayout::None, "raid.layout", "\"none\""),
            (self.noc.exists(), "noc.model", "\"none\""),
            (self.stages(), "staging.slots", "0"),
            (self.schemes.route.replicate().is_some(), "schemes.route", "\"direct\""),
            (self.device.mapping_unit == MappingUnit::SuperPage, "device.mapping_unit", "\"page\""),
            (self.wear.programming == Programming::OneShot, "wear.programming", "\"page\""),
            (self.ecc.errors == Errors::Model, "ecc.errors", "\"none\""),
        ];
        for (used, other, value) in others {
            if used {
                let message = "the write cache is not simulated with it".to_string();
                return refuse(other, message, format!("use {value}, or cache.size = \"0B\""));
            }
        }
        Ok(())
    }

    fn check_chip_failures(&self, chips: u32) -> Result<(), ConfigError> {
        for fails in &self.faults.chip_fails {
            if fails.at.is_some() == fails.within.is_some() {
                let message = "a chip fails either at a given time or at one drawn from the seed".to_string();
                return refuse("faults.chip_fails", message, "say at = \"2s\", or within = \"10s\"");
            }
            if let Some(chip) = fails.chip.filter(|chip| *chip >= chips) {
                let message = format!("there is no chip {chip} among {chips} chips");
                return refuse("faults.chip_fails", message, format!("use 0 to {}, or leave it out", chips - 1));
            }
        }
        if self.device.exclusion == Exclusion::Channel {
            let message = "operations of a failed chip and of other chips would share a queue".to_string();
            return refuse("device.exclusion", message, "use \"die\" or \"chip\"");
        }
        if self.device.write_ack == WriteAck::AfterTransfer {
            let message = "an acknowledged write might be only in a chip's register, and the chip may fail".to_string();
            return refuse("device.write_ack", message, "use \"after_program\"");
        }
        if !self.schemes.collector.policy_ref().survives_chip_failures() {
            let message = "chip failures are modelled for plain collectors only";
            return refuse("schemes.collector", message.to_string(), "use \"serial\" or \"queued\"");
        }
        if !self.schemes.path.policy_ref().survives_chip_failures() {
            let message = "chip failures are modelled for plain paths only".to_string();
            return refuse("schemes.path", message, "use \"external\" or \"copyback\"");
        }
        if self.gc.destination != Destination::Plane || self.gc.scope == Scope::Device {
            let message = "free pages of a failed chip would be counted, and pages might be moved there".to_string();
            let key = if self.gc.scope == Scope::Device { "gc.scope" } else { "gc.destination" };
            return refuse(key, message, "use \"plane\"");
        }
        Ok(())
    }
}
