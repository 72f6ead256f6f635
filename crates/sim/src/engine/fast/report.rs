//! Which shortcuts of a device are open, and what closes the others.

use crate::config::Config;
use crate::device::geometry::Geometry;
use crate::engine::fast::FastPaths;
use crate::engine::rules::Rules;
use crate::engine::{Features, Ssd};
use crate::observe::Slot;

/// Shortcuts of a device: they save time and change no result.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Shortcuts {
    /// Names of those that are open.
    pub open: Vec<&'static str>,
    /// Those that are closed.
    pub closed: Vec<ClosedShortcut>,
}

/// A shortcut that is closed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ClosedShortcut {
    /// Its name.
    pub name: &'static str,
    /// The keys that close it, or what else does.
    pub by: String,
}

/// What was asked of a device beside its configuration, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slowed {
    /// What was asked, in the words of [`ClosedShortcut::by`].
    pub by: &'static str,
    /// The shortcuts that it closes, of those that make an operation at least half as dear again where they are missing.
    pub closes: Vec<&'static str>,
}

/// Without one of these, an operation takes more than 1.5 times the CPU time: 2.7 times where reads lack the lane, 3.4 to 5.1 times
/// where collections lack the others (docs/performance.md).
const COSTLY: [&str; 5] = ["moves", "chains", "joint", "turns", "lane"];

/// An observer of legs closes all shortcuts, because each leg needs an event of its own.
const OBSERVER: &str = "an output that shows legs";

/// Number of shortcuts.
const SHORTCUTS: usize = 18;

/// On one of these devices each shortcut is open: keys that are not the default's.
const OPEN_ON: [&str; 5] = [
    "",
    "schemes.collector = \"queued\"",
    "schemes.collector = \"queued\"\norder.die_queue = \"read-first\"",
    "schemes.collector = \"preemptive\"",
    "geometry.planes_per_die = 2\nschemes = { collector = \"pagc\", path = \"copyback\" }",
];

impl FastPaths {
    /// The shortcuts by name, and whether each is open.
    fn named(&self) -> [(&'static str, bool); SHORTCUTS] {
        let FastPaths {
            allowed: _,
            legs,
            transfers,
            vacant,
            moves,
            chains,
            joint,
            alone,
            pauses,
            steps,
            turns,
            lane,
            writes,
            unordered,
            books,
            quiet,
            reads,
            starts,
            parts,
        } = *self;
        [
            ("legs", legs),
            ("transfers", transfers),
            ("vacant", vacant),
            ("moves", moves),
            ("chains", chains),
            ("joint", joint),
            ("alone", alone),
            ("pauses", pauses),
            ("steps", steps),
            ("turns", turns),
            ("lane", lane),
            ("writes", writes),
            ("unordered", unordered),
            ("books", books),
            ("quiet", quiet),
            ("reads", reads),
            ("starts", starts),
            ("parts", parts),
        ]
    }

    /// Those that are open on a device of this configuration, whatever is asked of the device; none if it is no device.
    fn open_on(config: &Config) -> Option<[bool; SHORTCUTS]> {
        config.check().ok()?;
        let paths = FastPaths::of_device(config, &Geometry::new(&config.array_spec()), &config.schemes.victim);
        Some(paths.named().map(|(_, open)| open))
    }

    /// What closes all shortcuts, whatever the configuration allows.
    fn closes_all(&self, features: &Features, observer: &Slot, rules: &Rules) -> Option<&'static str> {
        let asked = [
            (observer.watches.legs, OBSERVER),
            (rules.tenants, "tenants"),
            (rules.watches, "schemes.victim"),
            (features.failures.is_some(), "faults.chip_fails"),
            (rules.mixed, "a change of the running device"),
            (!self.allowed, "the caller"),
        ];
        asked.into_iter().find_map(|(closes, by)| closes.then_some(by))
    }
}

/// By shortcut: the keys of a configuration that close it, each alone, on the first of some devices on which it is open.
fn closers(config: &Config, read: &dyn Fn(toml::Table) -> Option<Config>) -> [Vec<String>; SHORTCUTS] {
    let all = |config: &Config| toml::Table::try_from(config).unwrap_or_default();
    let (own, mut keys) = (all(config), [const { Vec::new() }; SHORTCUTS]);
    let mut left = [true; SHORTCUTS];
    for device in OPEN_ON.iter().filter_map(|keys| read(keys.parse().ok()?)) {
        let open = FastPaths::open_on(&device).unwrap_or_default();
        let looked_at: Vec<usize> = (0..SHORTCUTS).filter(|shortcut| left[*shortcut] && open[*shortcut]).collect();
        looked_at.iter().for_each(|shortcut| left[*shortcut] = false);
        let base = all(&device);
        for (section, key, value) in keys_of(&own) {
            let mut other = base.clone();
            let entry = other.entry(section).or_insert_with(|| toml::Table::new().into());
            let Some(entry) = entry.as_table_mut().filter(|entry| entry.get(key) != Some(value)) else { continue };
            entry.insert(key.into(), value.clone());
            let still = match read(other) {
                Some(config) => FastPaths::open_on(&config),
                // What cannot be written down, such as a policy from outside, is not known to leave them open.
                None => Some([false; SHORTCUTS]),
            };
            if let Some(still) = still {
                let closed = looked_at.iter().filter(|shortcut| !still[**shortcut]);
                closed.for_each(|shortcut| keys[*shortcut].push(format!("{section}.{key}")));
            }
        }
    }
    keys.iter_mut().for_each(|keys| keys.sort());
    keys
}

/// Sections, keys and values of a configuration.
fn keys_of(all: &toml::Table) -> impl Iterator<Item = (&str, &str, &toml::Value)> {
    let sections = all.iter().filter_map(|(section, keys)| Some((section, keys.as_table()?)));
    sections.flat_map(|(section, keys)| keys.iter().map(move |(key, value)| (section.as_str(), key.as_str(), value)))
}

impl Ssd {
    /// What was asked of this device, such as an output that shows legs, or tenants, if that makes its operations take more than
    /// 1.5 times the CPU time. None if its configuration closes those shortcuts anyway: [`Ssd::shortcuts`] says which keys do.
    pub fn slowed(&self) -> Option<Slowed> {
        let by = self.fast.closes_all(&self.features, &self.observer, &self.rules)?;
        let paths = FastPaths::of_device(&self.config, &self.dev.geometry, &self.schemes.victim);
        let costly = paths.named().into_iter().filter(|(name, open)| *open && COSTLY.contains(name));
        let closes: Vec<_> = costly.map(|(name, _)| name).collect();
        (!closes.is_empty()).then_some(Slowed { by, closes })
    }

    /// Which shortcuts are open now, and what closes the others: keys, an output, or what was asked of the device.
    pub fn shortcuts(&self) -> Shortcuts {
        self.shortcuts_by(&|keys| keys.try_into().ok())
    }

    /// The same for a program that has a reader of configurations. It then does not contain a second one, which has 0.7 MB.
    pub fn shortcuts_by(&self, read: &dyn Fn(toml::Table) -> Option<Config>) -> Shortcuts {
        let by = self.fast.closes_all(&self.features, &self.observer, &self.rules);
        let keys = if by.is_none() { closers(&self.config, read) } else { Default::default() };
        let mut shortcuts = Shortcuts { open: Vec::new(), closed: Vec::new() };
        for ((name, open), keys) in self.fast.named().into_iter().zip(keys) {
            if open {
                shortcuts.open.push(name);
            } else {
                let by = match by {
                    Some(by) => by.into(),
                    None if keys.is_empty() => "several keys together".into(),
                    None => keys.join(", "),
                };
                shortcuts.closed.push(ClosedShortcut { name, by });
            }
        }
        shortcuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Observer, Watches};
    use crate::oracle::Check;

    fn shortcuts(toml: &str) -> Shortcuts {
        let config = toml.parse().unwrap_or_else(|error| panic!("{error}"));
        Ssd::new(&config, 1, Check::Off).unwrap_or_else(|error| panic!("{error}")).shortcuts()
    }

    fn closes<'a>(shortcuts: &'a Shortcuts, name: &str) -> &'a str {
        shortcuts.closed.iter().find(|closed| closed.name == name).map_or("", |closed| &closed.by)
    }

    #[test]
    fn each_shortcut_is_open_somewhere_and_the_key_that_closes_it_is_named() {
        let devices = OPEN_ON.map(|keys| FastPaths::open_on(&keys.parse::<Config>().unwrap()).unwrap());
        for shortcut in 0..SHORTCUTS {
            assert!(devices.iter().any(|open| open[shortcut]), "shortcut {shortcut}");
        }
        assert_eq!(closes(&shortcuts("timing.command = \"100ns\""), "lane"), "timing.command");
        // Pages in the lane cross the link.
        let linked = shortcuts("timing.host_link = \"1GB/s\"");
        assert!(linked.open.contains(&"writes") && closes(&linked, "reads") == "timing.host_link", "{linked:?}");
        assert_eq!(closes(&shortcuts("schemes.path = \"copyback\""), "turns"), "schemes.collector, schemes.path");
        let many = shortcuts("order.die_queue = \"read-first\"\ncache.size = \"1MiB\"");
        assert_eq!(closes(&many, "legs"), "cache.size, order.die_queue");
        assert!(many.open.contains(&"parts") && closes(&many, "parts").is_empty(), "{many:?}");
    }

    #[test]
    fn an_observer_closes_shortcuts_only_for_legs() {
        struct Eye(Watches);
        impl Observer for Eye {
            fn watches(&self) -> Watches {
                self.0
            }
        }
        let config = Config::default();
        let mut ssd = Ssd::new(&config, 1, Check::Off).unwrap();
        let plain = ssd.shortcuts();
        ssd.observe(Box::new(Eye(Watches { legs: false, ..Watches::ALL })));
        assert_eq!(ssd.shortcuts(), plain);
        ssd.observe(Box::new(Eye(Watches::LEGS)));
        let watched = ssd.shortcuts();
        let closes = vec!["moves", "chains", "lane"];
        assert_eq!(ssd.slowed(), Some(Slowed { by: OBSERVER, closes }));
        assert!(watched.open.is_empty() && watched.closed.iter().all(|closed| closed.by == OBSERVER), "{watched:?}");
        ssd.take_observer();
        assert_eq!((ssd.shortcuts(), ssd.slowed()), (plain, None));
        // There is nothing left to close on a drive that has none of them.
        let toml = "schemes.collector = \"queued\"\ntiming.command = \"300ns\"\norder.die_queue = \"read-first\"";
        let mut ssd = Ssd::new(&toml.parse().unwrap(), 1, Check::Off).unwrap();
        ssd.observe(Box::new(Eye(Watches::LEGS)));
        assert_eq!(ssd.slowed(), None);
    }
}
