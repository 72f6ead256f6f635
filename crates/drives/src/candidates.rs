//! The policies of GC that a drive may have.

use std::fmt;

use ssdlab_lab::error::{Error, Result};

/// How GC chooses its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// The fewest valid pages.
    Greedy,
    /// The best of so many drawn blocks.
    DChoices(u32),
    /// Benefit over cost, with the age to this power in hundredths.
    CostBenefit(u8),
    /// The oldest.
    Fifo,
}

/// A policy of GC, and whether host and GC write into blocks of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// How GC chooses its victim.
    pub policy: Policy,
    /// Host and GC fill the same block.
    pub shared: bool,
}

impl Candidate {
    /// Whether it draws its victims.
    pub fn draws(&self) -> bool {
        matches!(self.policy, Policy::DChoices(_))
    }

    /// The candidates that are tried by default.
    pub fn usual() -> Vec<Candidate> {
        use Policy::{CostBenefit, DChoices, Fifo, Greedy};
        let policies =
            [Greedy, DChoices(4), DChoices(10), DChoices(20), CostBenefit(10), CostBenefit(25), CostBenefit(50)];
        let policies = policies.into_iter().chain([CostBenefit(100), Fifo]);
        policies.flat_map(|policy| [false, true].map(|shared| Candidate { policy, shared })).collect()
    }

    /// Candidates by name: `greedy`, `d-choices:10`, `cost-benefit:0.4`, `fifo`, each with `/shared` or `/separate` or neither for
    /// both; `all` for the usual ones.
    ///
    /// # Errors
    /// A name that is none of these.
    pub fn list(text: &str) -> Result<Vec<Candidate>> {
        if text == "all" {
            return Ok(Candidate::usual());
        }
        let mut all = Vec::new();
        for name in text.split(',').map(str::trim) {
            let found = Candidate::named(name).ok_or_else(|| {
                Error::usage(format!("--candidates: `{name}` is no policy of GC"))
                    .help("use greedy, d-choices:10, cost-benefit:0.4 or fifo, with /separate or /shared, or all")
            })?;
            all.extend(found.into_iter().filter(|candidate| !all.contains(candidate)).collect::<Vec<_>>());
        }
        Ok(all)
    }

    fn named(name: &str) -> Option<Vec<Candidate>> {
        let (policy, frontiers) = name.split_once('/').unwrap_or((name, ""));
        let policy = match policy.split_once(':').unwrap_or((policy, "")) {
            ("greedy", "") => Policy::Greedy,
            ("fifo", "") => Policy::Fifo,
            ("d-choices", d) => Policy::DChoices(d.parse().ok().filter(|d| *d > 0)?),
            ("cost-benefit", power) => {
                let hundredths = power.parse::<f64>().ok()? * 100.0;
                if !(0.0..=200.0).contains(&hundredths) || (hundredths - hundredths.round()).abs() > 1e-6 {
                    return None;
                }
                Policy::CostBenefit(hundredths.round() as u8)
            }
            _ => return None,
        };
        let shared: &[bool] = match frontiers {
            "" => &[false, true],
            "separate" => &[false],
            "shared" => &[true],
            _ => return None,
        };
        Some(shared.iter().map(|shared| Candidate { policy, shared: *shared }).collect())
    }

    /// Its keys of a configuration, with their values in TOML.
    pub fn keys(&self) -> [(&'static str, String); 2] {
        [("schemes.victim", self.victim()), ("ftl.write_points", format!("\"{}\"", self.frontiers()))]
    }

    /// A candidate from the values of its keys; none if they say something else.
    pub fn read(victim: &toml::Value, frontiers: &str) -> Option<Candidate> {
        let policy = match victim {
            toml::Value::String(name) if name == "greedy" => Policy::Greedy,
            toml::Value::String(name) if name == "fifo" => Policy::Fifo,
            toml::Value::String(name) if name == "cost-benefit" => Policy::CostBenefit(100),
            toml::Value::Table(table) if table.len() == 1 => {
                let knob = |name: &str, knob: &str| table.get(name).and_then(|knobs| knobs.get(knob));
                let d = knob("d-choices", "d").and_then(toml::Value::as_integer);
                let power = knob("cost-benefit", "age_exponent").and_then(toml::Value::as_float);
                match (d, power) {
                    (Some(d), None) => Policy::DChoices(u32::try_from(d).ok()?),
                    (None, Some(power)) if (0.0..=2.0).contains(&power) => {
                        Policy::CostBenefit((power * 100.0).round() as u8)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        let shared = match frontiers {
            "separate" => false,
            "shared" => true,
            _ => return None,
        };
        Some(Candidate { policy, shared })
    }

    /// The value of `schemes.victim`.
    pub fn victim(&self) -> String {
        match self.policy {
            Policy::Greedy => "\"greedy\"".into(),
            Policy::DChoices(d) => format!("{{ d-choices = {{ d = {d} }} }}"),
            Policy::CostBenefit(power) => {
                format!("{{ cost-benefit = {{ age_exponent = {:?} }} }}", f64::from(power) / 100.0)
            }
            Policy::Fifo => "\"fifo\"".into(),
        }
    }

    /// The value of `ftl.write_points`.
    pub fn frontiers(&self) -> &'static str {
        if self.shared { "shared" } else { "separate" }
    }

    /// Whether two are one kind: they differ in a number at most.
    pub fn is_like(&self, other: &Candidate) -> bool {
        std::mem::discriminant(&self.policy) == std::mem::discriminant(&other.policy) && self.shared == other.shared
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy {
            Policy::Greedy => f.write_str("greedy")?,
            Policy::DChoices(d) => write!(f, "d-choices {d}")?,
            Policy::CostBenefit(power) => write!(f, "cost-benefit {:?}", f64::from(power) / 100.0)?,
            Policy::Fifo => f.write_str("fifo")?,
        }
        write!(f, ", {} frontiers", self.frontiers())
    }
}
