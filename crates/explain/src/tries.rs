//! What would help: changes of one key, each tried by a whole run with the same requests and the same seed.

use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::input::Requests;
use ssdlab_lab::settings::{self, Settings};
use ssdlab_lab::variants::axes::cuts;
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::config::{Arbitration, Config, SlcMode, Suspendable};
use ssdlab_sim::schemes::{AnyTrigger, AnyVictim};
use ssdlab_sim::units::{Nanos, Threshold};

use crate::handles;
use crate::method::Findings;
use crate::records::Reason;

/// Most changes that are tried unless they are given.
pub const MOST: usize = 6;
/// Causes with at least one of so many parts of the excess are worth a try.
const PARTS: i128 = 100;

/// Which changes to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tries {
    /// Up to [`MOST`] that fit the largest causes.
    Auto,
    /// No changes.
    None,
    /// These, as `KEY=VALUE`.
    Given(Vec<String>),
}

impl Tries {
    /// Reads the values of `--try`: `auto`, `none`, or changes separated by commas outside brackets and quotes.
    ///
    /// # Errors
    /// A change has no key or no value, or stands beside `auto` or `none`.
    pub fn parse(arguments: &[String]) -> Result<Tries> {
        let words: Vec<&str> = arguments.iter().map(|argument| argument.trim()).collect();
        match words[..] {
            [] | ["auto"] => return Ok(Tries::Auto),
            ["none"] => return Ok(Tries::None),
            _ => {}
        }
        let help = "give --try auto, --try none, or --try KEY=VALUE,..., such as --try schemes.victim=fifo";
        let mut given: Vec<String> = Vec::new();
        for argument in arguments {
            let mut from = 0;
            for to in cuts(argument) {
                let one = argument[from..to].trim();
                from = to + 1;
                let complete = one.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty());
                if !complete {
                    return Err(
                        Error::usage(format!("--try {}: not KEY=VALUE", ssdlab_lab::names::clip(one))).help(help)
                    );
                }
                if !given.iter().any(|other| other == one) {
                    given.push(one.into());
                }
            }
        }
        Ok(Tries::Given(given))
    }
}

/// A change to try.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// `KEY=VALUE`, as for `--set`.
    pub set: String,
    /// The configuration with it.
    pub config: Config,
}

/// A change that a rule refuses, or whose run can't be made.
#[derive(Clone, Debug)]
pub struct Refused {
    /// `KEY=VALUE`.
    pub set: String,
    /// The rule, or the reason.
    pub rule: String,
}

/// The name of a run with a change.
pub fn name(set: &str) -> String {
    format!("the try of {set}")
}

/// Why a run with a change can't be made, in a line.
pub fn reason(set: &str, error: &Error) -> String {
    if let Kind::Trace(error) = &error.kind {
        let report = error.report();
        let line = report.line.map_or(String::new(), |line| format!(":{line}"));
        let expected = Some(&report.expected).filter(|text| !text.is_empty());
        let expected = expected.map_or(String::new(), |text| format!(", expected {text}"));
        return format!("{}{line}: {} ({}){expected}", report.file, report.title, report.code);
    }
    let message = error.message.strip_prefix(&name(set)).and_then(|rest| rest.strip_prefix(": "));
    message.unwrap_or(&error.message).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A change that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// `KEY=VALUE`, as for `--set`.
    pub set: String,
    /// What to know about the change itself.
    pub about: Option<&'static str>,
    /// What to know about its result.
    pub note: Option<&'static str>,
    /// The measure with it; none if nothing was measured.
    pub value: Option<u64>,
    /// Write amplification with it, in pages and in bytes.
    pub write_amplification: Option<f64>,
    /// See `write_amplification`.
    pub write_amplification_bytes: Option<f64>,
}

impl Tried {
    /// The result of a run with a change.
    pub fn of(candidate: &Candidate, value: Option<u64>, amplification: [Option<f64>; 2]) -> Tried {
        let [write_amplification, write_amplification_bytes] = amplification;
        let timing = &candidate.config.timing;
        let free = timing.suspend == Nanos::ZERO && timing.resume == Nanos::ZERO;
        let is = |key: &str| candidate.set.split_once('=').is_some_and(|(own, _)| own.trim() == key);
        let none = candidate.config.gc.time == ssdlab_sim::config::GcTime::None;
        let suspends = is("timing.suspendable") && timing.suspendable != Suspendable::None;
        Tried {
            set: candidate.set.clone(),
            about: (is("gc.time") && none).then_some("bound, not a device"),
            note: (suspends && free).then_some("tSUS, tRES are 0"),
            value,
            write_amplification,
            write_amplification_bytes,
        }
    }

    /// The change as a line of TOML.
    pub fn line(&self) -> String {
        settings::assignment(&self.set)
    }
}

/// The smallest value first; equal ones, and those without a value at the end, by name.
pub fn rank(tried: &mut [Tried]) {
    tried.sort_by(|one, other| {
        let key = |tried: &Tried| (tried.value.is_none(), tried.value);
        key(one).cmp(&key(other)).then_with(|| one.set.cmp(&other.set))
    });
}

/// The changes that are worth a try where a cause makes requests slow. The table of docs/explain.md says why.
pub fn table(cause: Reason, config: &Config) -> Vec<String> {
    let spare = config.device.over_provisioning.0 + 50_000;
    let spare = format!("device.over_provisioning={}", f64::from(spare) / 1e6);
    let threshold = match config.gc.threshold {
        Threshold::Share(share) => format!("{}", f64::from(share.0) * 2.0 / 1e6),
        Threshold::Blocks(n) => format!("{} blocks", 2 * n),
        Threshold::Pages(n) => format!("{} pages", 2 * n),
    };
    let slots = format!("staging.slots={}", 2 * u64::from(config.staging.slots));
    let depth = format!("device.queue_depth={}", 4 * u64::from(config.device.queue_depth));
    let fixed = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
    const SUSPEND: &str = "timing.suspendable=program+erase";
    const REGISTER: &str = "timing.cache_register=true";
    const NO_GC: &str = "gc.time=none";
    let cause = match cause {
        Reason::Usual(cause) => cause,
        Reason::Extra(Extra::Arbitration) => {
            let other = if config.nvme.arbitration == Arbitration::Wrr { "rr" } else { "wrr" };
            return vec![format!("nvme.arbitration={other}"), depth, SUSPEND.into(), REGISTER.into()];
        }
        Reason::Extra(Extra::Cache | Extra::CacheHost) => {
            let size = format!("cache.size={}B", config.cache.size.0.saturating_mul(2));
            return vec![size, "cache.writeback=eager".into(), SUSPEND.into(), NO_GC.into()];
        }
        Reason::Extra(Extra::Slc) => return of_slc(config),
        Reason::Extra(Extra::Retry) => return Vec::new(),
        Reason::Extra(Extra::CacheGc) => {
            let other = if matches!(config.schemes.victim, AnyVictim::Greedy(_)) { "d-choices" } else { "greedy" };
            let mut all = vec![format!("schemes.victim={other}")];
            all.extend(fixed(&["schemes.collector=preemptive", "schemes.path=copyback"]));
            all.extend([format!("gc.threshold={threshold}"), spare, NO_GC.into()]);
            return all;
        }
    };
    match cause {
        Cause::DieGcOwn | Cause::DieGcOther | Cause::DieLate => {
            let mut all = fixed(&[SUSPEND, NO_GC, "schemes.collector=preemptive"]);
            all.extend([spare, "schemes.path=copyback".into()]);
            all
        }
        Cause::Space => vec![NO_GC.into(), format!("gc.threshold={threshold}"), spare, "schemes.path=copyback".into()],
        Cause::DieHost => {
            fixed(&[SUSPEND, "schemes.place=dynamic", "device.multi_plane=true", "schemes.order=piq", REGISTER])
        }
        Cause::Queue => vec![depth, SUSPEND.into(), NO_GC.into(), REGISTER.into()],
        Cause::Order => fixed(&["schemes.order=async-fifo"]),
        Cause::BusHost => fixed(&[REGISTER, "schemes.place=dynamic"]),
        Cause::BusGc | Cause::NocGc => fixed(&["schemes.path=copyback", NO_GC]),
        Cause::NocHost => fixed(&["schemes.place=dynamic"]),
        Cause::DieWriteback | Cause::Staging => vec![slots, "schemes.collector=serial".into()],
        Cause::Held => fixed(&["schemes.route=direct", "order.delay_writes=false"]),
        Cause::Array | Cause::Bus | Cause::Noc | Cause::Decode | Cause::Memory => Vec::new(),
    }
}

/// The changes that are worth a try where folds of the cache of SLC make requests slow.
fn of_slc(config: &Config) -> Vec<String> {
    let slc = &config.slc;
    let larger = match slc.mode {
        SlcMode::Static => format!("slc.blocks={}", slc.blocks.saturating_mul(2)),
        _ => format!("slc.share={}", f64::from(slc.share.0.saturating_mul(2).min(1_000_000)) / 1e6),
    };
    let fixed =
        ["slc.full=direct", "slc.fold=idle", "slc.path=copyback", "slc.victim=greedy", "schemes.collector=queued"];
    std::iter::once(larger).chain(fixed.map(str::to_string)).collect()
}

/// Whether a cause is GC of the host's data, which placement handles change.
fn is_of_gc(cause: Reason) -> bool {
    let usual = [Cause::DieGcOwn, Cause::DieGcOther, Cause::DieLate, Cause::Space, Cause::BusGc, Cause::NocGc];
    match cause {
        Reason::Usual(cause) => usual.contains(&cause),
        Reason::Extra(extra) => extra == Extra::CacheGc,
    }
}

/// The changes to try, and those of a list of the user that a rule refuses.
///
/// # Errors
/// A change of the user's list can't be read.
pub fn choose(
    wanted: &Tries,
    findings: &Findings,
    settings: &Settings,
    requests: &Requests,
) -> Result<(Vec<Candidate>, Vec<Refused>)> {
    let (mut chosen, mut refused): (Vec<Candidate>, Vec<Refused>) = (Vec::new(), Vec::new());
    let with = |set: &str| {
        let mut sources = settings.sources().clone();
        sources.varied.push(set.into());
        Settings::merge(&sources).map(|merged| merged.config).map_err(|error| error.of_option("--try"))
    };
    match wanted {
        Tries::None => {}
        Tries::Given(sets) => {
            for set in sets {
                let mut config = with(set)?;
                keep_outside(&settings.config, &mut config);
                match config.check() {
                    Ok(()) => chosen.push(Candidate { set: set.clone(), config }),
                    Err(rule) => {
                        refused.push(Refused { set: set.clone(), rule: format!("{}: {}", rule.key, rule.message) });
                    }
                }
            }
        }
        Tries::Auto => {
            let base = settings::digest(&settings.config);
            let causes = findings.causes.iter().filter(|one| findings.has_part(one, PARTS));
            let placed = handles::change(&settings.config, requests);
            let of = |cause: Reason| {
                let placed = placed.iter().filter(|_| is_of_gc(cause)).cloned();
                placed.chain(table(cause, &settings.config)).collect::<Vec<String>>()
            };
            for set in causes.flat_map(|one| of(one.cause)) {
                if chosen.len() == MOST || chosen.iter().any(|other| other.set == set) {
                    continue;
                }
                // A change that does not apply to this configuration is none; so is one that it has already.
                let Ok(mut config) = with(&set) else { continue };
                keep_outside(&settings.config, &mut config);
                if config.check().is_ok() && settings::digest(&config) != base {
                    chosen.push(Candidate { set, config });
                }
            }
        }
    }
    Ok((chosen, refused))
}

/// Policies from outside are not in the layers of a configuration: a change keeps them, unless it names others.
pub(crate) fn keep_outside(base: &Config, config: &mut Config) {
    if matches!(base.schemes.victim, AnyVictim::Outside(_)) {
        config.schemes.victim = base.schemes.victim.clone();
    }
    if matches!(base.schemes.trigger, AnyTrigger::Outside(_)) {
        config.schemes.trigger = base.schemes.trigger.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every lever on GC is tried where writes wait for it behind the write cache.
    #[test]
    fn a_cache_that_waits_for_gc_tries_all_that_changes_gc() {
        let tried = table(Reason::Extra(Extra::CacheGc), &Config::default());
        let keys: Vec<&str> = tried.iter().filter_map(|set| set.split_once('=')).map(|(key, _)| key).collect();
        let levers = ["victim", "collector", "path"].map(|slot| format!("schemes.{slot}"));
        let expected = levers.iter().map(String::as_str).chain(["gc.threshold", "device.over_provisioning", "gc.time"]);
        assert_eq!(keys, expected.collect::<Vec<_>>());
        assert!(tried.len() <= MOST && tried.contains(&"gc.threshold=6 blocks".to_string()), "{tried:?}");
    }
}
