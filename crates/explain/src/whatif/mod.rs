//! Had this not happened: a device is copied just before an event, and both copies serve the same future with one thing changed.
//!
//! | question | module |
//! | --- | --- |
//! | When, and without what? | [`moment`] |
//! | How do two devices serve the same requests? | [`copies`] |
//! | Where do they part? | [`parting`] |
//! | How is it said? | [`measures`], [`text`], [`json`], [`rows`] |

mod copies;
pub mod json;
pub mod measures;
pub mod moment;
pub mod outcome;
pub mod parting;
pub mod rows;
pub mod text;

use std::ops::ControlFlow;
use std::path::Path;

use ssdlab_lab::drive::{Tick, interrupted, name_tenants};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::input::{self, Requests, Target};
use ssdlab_lab::live::{changeable, ruled_out};
use ssdlab_lab::memory;
use ssdlab_lab::results::timeline::{Span, Timeline};
use ssdlab_lab::run::{How, Outputs, Progress};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::variants::comparison::can_be_read_again;
use ssdlab_sim::config::{Config, GcTime, Suspendable};
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sim::{Postponement, PutOff, Ssd};

use crate::at::Kind;
use crate::tries::keep_outside;
use crate::watched;
use copies::{Copy, LeftOut, Source};
use moment::{Choice, Moment};
pub use outcome::{Pair, WhatIf, Work};
use parting::{Parting, part, part_at_completion};

/// What to compare.
#[derive(Clone, Debug)]
pub struct Question {
    /// The time.
    pub at: Moment,
    /// Both devices are the same up to this much before it.
    pub before: Nanos,
    /// Requests that arrive up to this much after it are compared.
    pub after: Nanos,
    /// `KEY=VALUE` that the second device has from the copy on.
    pub changes: Vec<String>,
    /// What it does without.
    pub without: Vec<Choice>,
}

impl Default for Question {
    /// A second around the slowest request, without a change.
    fn default() -> Self {
        let second = Nanos(1_000_000_000);
        Question {
            at: Moment::Slowest(Kind::All),
            before: second,
            after: second,
            changes: Vec::new(),
            without: Vec::new(),
        }
    }
}

/// Simulated time between two comparisons of what the devices do, and two questions whether to go on.
const STEP: u64 = 10_000_000;

/// Simulates a run up to the copy, and from there both devices. What both do in the window goes into `timeline`.
///
/// # Errors
/// As [`ssdlab_lab::run::Ready::simulate`]; a change is none that a running device can make, or there is no such request.
pub fn what_if(
    settings: &Settings,
    requests: &Requests,
    how: How,
    wish: &Question,
    timeline: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<WhatIf> {
    if how.count_only {
        return Err(Error::usage("a what-if has times").help("leave --count-only out"));
    }
    let mut config = changed_config(settings, wish)?;
    can_be_read_again(requests)?;
    let (moment, request) = moment_of(settings, requests, how, wish, progress)?;
    let mut base_config = settings.config.clone();
    [&mut base_config, &mut config].into_iter().for_each(|config| requests.place_on(config));
    let base_config = &base_config;
    memory::fits(base_config, how.check, how.memory_limit, |broken| settings.refuse(broken))?;
    base_config.check_mode(false).map_err(|broken| settings.refuse(&broken))?;
    let opened = input::open(requests)?;
    progress.building();
    let ssd = Ssd::new_while(base_config, how.seed, how.check, &mut || progress.go_on());
    let mut ssd = ssd.map_err(|broken| settings.refuse(&broken))?.ok_or_else(interrupted)?;
    let mut input = opened.fit(&Target::of(&ssd, base_config.device.queue_depth, how.seed))?;
    let closed = input.closed();
    if let Some(closed) = input.tenants().into_iter().find_map(|(_, _, closed)| closed) {
        let what = "--tenant: the device of a what-if can't be copied within a closed loop of a tenant";
        return Err(if closed.bound {
            Error::usage(format!("{what}, or a bound of its outstanding requests")).help("leave outstanding out")
        } else {
            Error::usage(what).help("give its requests arrival times")
        });
    }
    name_tenants(&mut ssd, &input)?;
    input.think().into_iter().for_each(|think| ssd.set_think(None, think));
    check_choices(wish, base_config, &ssd, closed)?;
    let from = Nanos(moment.0.saturating_sub(wish.before.0));
    let to = Nanos(moment.0.saturating_add(wish.after.0).min(ssdlab_trace::CLOCK_MAX_NS));
    let span = Span { from, to: Nanos(to.0 + 1) };
    let timelines = timeline.map(|path| Timeline::pair(path, ["base", "what-if"], span, &base_config.geometry));
    let timelines = timelines.transpose()?;
    let mut found = input.feed(|feed| {
        let mut source = Source::new(feed);
        Two { wish, closed, moment, from, to }.run(Copy::new(ssd, closed), &config, &mut source, timelines, progress)
    })?;
    progress.simulated();
    found.request = request;
    found.extras = base_config.extra_causes();
    found.about = input.about.clone();
    found.seed = how.seed;
    found.config_digest = ssdlab_lab::settings::digest(base_config);
    Ok(found)
}

fn changed_config(settings: &Settings, wish: &Question) -> Result<Config> {
    let mut sources = settings.sources().clone();
    sources.varied.extend(wish.changes.iter().cloned());
    let merged = Settings::merge(&sources).map_err(|error| error.of_option("--change"))?;
    let mut config = merged.config.clone();
    keep_outside(&settings.config, &mut config);
    if wish.without.contains(&Choice::Suspend) {
        if settings.config.timing.suspendable == Suspendable::None {
            return Err(Error::usage("--without suspend: nothing is suspended on this device")
                .help("set timing.suspendable for both with --set, or leave it out"));
        }
        config.timing.suspendable = Suspendable::None;
    }
    config.check().map_err(|broken| merged.refuse(&broken).of_option("--change"))?;
    changeable(&settings.config, &config)?;
    Ok(config)
}

/// Refuses what this device can't do without.
fn check_choices(wish: &Question, config: &Config, ssd: &Ssd, closed: bool) -> Result<()> {
    for choice in &wish.without {
        let refuse = |why: &str, help: &str| Err(Error::usage(format!("--without {choice}: {why}")).help(help));
        let gc = matches!(choice, Choice::Gc | Choice::Plane(_) | Choice::Job(_));
        match choice {
            _ if gc && config.gc.time == GcTime::None => {
                return refuse("collections take no time on this device", "leave it out, or gc.time=none");
            }
            Choice::Plane(plane) if *plane >= ssd.geometry().planes => {
                return refuse("there is no such plane", &format!("planes are 0 to {}", ssd.geometry().planes - 1));
            }
            Choice::WriteBack if config.schemes.collector.policy_ref().writes_back().is_none() => {
                return refuse("this collector leaves no pages in the buffer", "leave it out");
            }
            Choice::Tenant(name) if !ssd.tenants().unwrap_or_default().contains(name) => {
                let known =
                    ssd.tenants().map_or("it has no tenants".into(), |all| format!("they are {}", all.join(", ")));
                return refuse(
                    "this device has no such tenant",
                    &format!("{known}; tenants are named by --tenant or nvme.queues"),
                );
            }
            Choice::Request(_) | Choice::Tenant(_) if closed => {
                return refuse(
                    "in a closed loop the next request would arrive in its place",
                    "use --replay arrival, or another choice",
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// The time of a moment, and the request that it is of.
fn moment_of(
    settings: &Settings,
    requests: &Requests,
    how: How,
    wish: &Question,
    progress: &mut dyn Progress,
) -> Result<(Nanos, Option<u64>)> {
    if let Moment::Time(time) = wish.at {
        return Ok((time, None));
    }
    let (mut records, _, _) = watched(settings, requests, how, &Outputs::default(), progress)?;
    let mut found: Option<(u64, u64, u64)> = None;
    records.each(&mut |record| {
        let better = match wish.at {
            Moment::Request(number) => record.request == number,
            Moment::Slowest(kind) => {
                kind.has(record.write) && found.is_none_or(|(latency, ..)| record.latency > latency)
            }
            Moment::Time(_) => false,
        };
        if better {
            found = Some((record.latency, record.request, record.arrival));
        }
    })?;
    found.map(|(_, request, arrival)| (Nanos(arrival), Some(request))).ok_or_else(|| {
        Error::usage(format!("--at {}: there is no such measured read or write", wish.at))
            .help("numbers are those of --requests, where flushes have some, too; --at time:T needs no request")
    })
}

/// Two devices in a window.
struct Two<'w> {
    wish: &'w Question,
    closed: bool,
    moment: Nanos,
    from: Nanos,
    to: Nanos,
}

impl Two<'_> {
    fn run(
        &self,
        mut base: Copy,
        config: &Config,
        source: &mut Source<'_, '_>,
        timelines: Option<[Timeline; 2]>,
        progress: &mut dyn Progress,
    ) -> Result<WhatIf> {
        while base.ssd.now() < self.from {
            let next = base.next_event(source)?;
            let until = self.from.min(Nanos(base.ssd.now().max(next).0.saturating_add(STEP)));
            base.advance(until, source)?;
            source.forget(base.next);
            go(progress, &base)?;
        }
        let without = self.left_out(&base.ssd);
        let changes = ssdlab_lab::settings::digest(base.ssd.config()) != ssdlab_lab::settings::digest(config);
        let second = if changes { base.ssd.changed(config).map_err(ruled_out)? } else { base.ssd.clone() };
        if let Some(number) = without.requests.iter().find(|number| **number < base.next) {
            return Err(Error::usage(format!("--without request:{number}: it arrived before the copy"))
                .help("copy earlier with --before"));
        }
        let mut other = base.second(second, without);
        let [one, two] = timelines.map_or([None, None], |both| both.map(Some));
        base.record(one);
        other.record(two);
        let put_off = self.postponed();
        if !put_off.is_empty() {
            other.ssd.postpone(put_off);
        }
        self.both(base, other, source, progress)
    }

    /// Requests that the second device does not get.
    fn left_out(&self, ssd: &Ssd) -> LeftOut {
        let tenants = ssd.tenants().unwrap_or_default();
        let mut out = LeftOut { until: self.to, ..LeftOut::default() };
        for choice in &self.wish.without {
            match choice {
                Choice::Request(number) => out.requests.push(*number),
                Choice::Tenant(name) => {
                    out.tenants.extend((0u8..).zip(tenants).filter(|(_, of)| *of == name).map(|(i, _)| i))
                }
                _ => {}
            }
        }
        out
    }

    /// What the second device puts off.
    fn postponed(&self) -> Vec<PutOff> {
        let puts_off = |choice: &Choice| match choice {
            Choice::Gc => Some(PutOff::Gc),
            Choice::Plane(plane) => Some(PutOff::Plane(PlaneId(*plane))),
            Choice::Job(number) => Some(PutOff::Job(*number)),
            Choice::WriteBack => Some(PutOff::WriteBacks),
            Choice::Request(_) | Choice::Tenant(_) | Choice::Suspend => None,
        };
        self.wish.without.iter().filter_map(puts_off).collect()
    }

    fn both(
        &self,
        mut base: Copy,
        mut other: Copy,
        source: &mut Source<'_, '_>,
        progress: &mut dyn Progress,
    ) -> Result<WhatIf> {
        let longest = longest(base.ssd.config()).max(longest(other.ssd.config()));
        let (copied, begins) = (base.ssd.now(), [base.ssd.sample(), other.ssd.sample()]);
        let mut seen = Seen { parting: None, window: None, postponement: Postponement::default() };
        loop {
            let now = base.ssd.now();
            let next = base.next_event(source)?.min(other.next_event(source)?);
            let mut until = Nanos(now.max(next).0.saturating_add(STEP));
            let open = seen.window.is_none();
            if open {
                until = until.min(Nanos(self.to.0 + 1));
            }
            base.advance(until, source)?;
            // Collections that were put off begin at the end of the window.
            if open && until > self.to {
                other.advance(self.to, source)?;
                seen.postponement = other.ssd.stop_postponing();
            }
            other.advance(until, source)?;
            source.forget(base.next.min(other.next));
            go(progress, &base)?;
            seen.compare(&base, &other, copied, Nanos(until.0.saturating_sub(longest)));
            if open && until > self.to {
                let ends = [base.ssd.sample(), other.ssd.sample()];
                let work = [0, 1].map(|i| Work::between(&begins[i], &ends[i]));
                seen.window = Some(Window { requests: base.arrived(self.to), done: 0, work });
            }
            let all = seen.window.as_mut().map(|window| window.is_over(&base, &other));
            // Where they part is known only when all that ran at the end of the window is over.
            let told = seen.parting.is_some() || until.0 > self.to.0.saturating_add(longest);
            if all.is_some_and(|all| next == Nanos::NEVER || (all && told)) {
                break;
            }
        }
        seen.compare(&base, &other, copied, Nanos::NEVER);
        self.result(&base, &other, copied, seen)
    }

    /// Refuses what the second device was to do without and that was not there.
    fn check_hits(&self, other: &Copy, seen: &Seen) -> Result<()> {
        for choice in &self.wish.without {
            let missing = match choice {
                Choice::Request(number) => !other.leaves_out(*number),
                Choice::Job(number) => seen.postponement.missing == Some(*number),
                _ => false,
            };
            if missing {
                let (what, help) = match choice {
                    Choice::Request(_) => ("no such request arrives", "numbers are those of --requests, from 0 on"),
                    _ => ("no collection with this number begins", "numbers of collections are those of --timeline"),
                };
                let window =
                    format!("from the copy at {} ns to the end of the window at {} ns", other.from.0, self.to.0);
                return Err(Error::usage(format!("--without {choice}: {what} {window}")).help(help));
            }
        }
        Ok(())
    }

    fn result(&self, base: &Copy, other: &Copy, copied: Nanos, mut seen: Seen) -> Result<WhatIf> {
        self.check_hits(other, &seen)?;
        if let Some(parting) = part_at_completion(&base.completions(), &other.completions())
            && seen.parting.as_ref().is_none_or(|one| parting.at < one.at)
        {
            seen.parting = Some(parting);
        }
        let (window, work) = seen.window.map(|window| (window.requests, window.work)).unwrap_or_default();
        let pair = |number: &u64| {
            let base = base.take(*number)?;
            base.measured.then(|| Pair { base, whatif: other.take(*number) })
        };
        let timelines = base.drawn().zip(other.drawn());
        Ok(WhatIf {
            at: self.wish.at,
            moment: self.moment,
            copied,
            to: self.to,
            closed: self.closed,
            changes: self.wish.changes.clone(),
            without: self.wish.without.clone(),
            pairs: window.iter().filter_map(pair).collect(),
            work,
            parting: seen.parting,
            postponement: seen.postponement,
            timeline: timelines.map(|(one, two)| Timeline::finish_pair([one, two])).transpose()?,
            request: None,
            extras: Vec::new(),
            tenants: base.ssd.tenants().unwrap_or_default().to_vec(),
            about: Vec::new(),
            seed: 0,
            config_digest: String::new(),
        })
    }
}

struct Seen {
    parting: Option<Parting>,
    /// The window, once it is over.
    window: Option<Window>,
    postponement: Postponement,
}

impl Seen {
    /// Looks where they part; all legs that began before `known` have been seen.
    fn compare(&mut self, base: &Copy, other: &Copy, copied: Nanos, known: Nanos) {
        if self.parting.is_some() {
            return;
        }
        self.parting = part(&base.legs(), &other.legs(), base.ssd.geometry(), copied, known);
        for device in [base, other] {
            match self.parting {
                Some(_) => device.stop_legs(),
                None => device.forget_legs(known),
            }
        }
    }
}

/// The requests of the window, and what the devices did in it.
struct Window {
    requests: Vec<u64>,
    /// How many of them have completed in both devices.
    done: usize,
    work: [Work; 2],
}

impl Window {
    /// Whether all its requests have completed.
    fn is_over(&mut self, base: &Copy, other: &Copy) -> bool {
        let over = |number: &u64| base.has(*number) && (other.has(*number) || other.leaves_out(*number));
        while self.requests.get(self.done).is_some_and(over) {
            self.done += 1;
        }
        self.done == self.requests.len()
    }
}

/// At least the time of the longest use of an array without a break: it is recorded when it ends.
fn longest(config: &Config) -> u64 {
    let timing = &config.timing;
    let most = |times: &ssdlab_sim::config::PageTimes| times.types().iter().map(|time| time.0).max().unwrap_or(0);
    let planes = u64::from(config.geometry.planes_per_die);
    planes * most(&timing.read) + most(&timing.program) + timing.erase.0 + timing.copyback.map_or(0, |time| time.0)
}

fn go(progress: &mut dyn Progress, device: &Copy) -> Result<()> {
    let tick = Tick { requests: device.next, share: None, total: None, now: device.ssd.now() };
    let flow = match progress.at(tick) {
        ControlFlow::Continue(()) => progress.go_on(),
        stop => stop,
    };
    if flow.is_break() { Err(interrupted()) } else { Ok(()) }
}

impl WhatIf {
    /// Both futures as text.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// Both futures as the bytes of their JSON file, `ssdlab.whatif/1`.
    pub fn json(&self) -> String {
        ssdlab_lab::tree::json(&json::value(self))
    }
}
