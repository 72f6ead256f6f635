//! Which requests are explained.

use std::fmt;
use std::str::FromStr;

use ssdlab_lab::names::{clip, nearest};
use ssdlab_lab::readers::histogram::Quantile;
use ssdlab_lab::results::timeline::Span;
use ssdlab_sim::report::{Figures, Summary};

/// The requests to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Those of a kind from a percentile on.
    Tail(Kind, Rank),
    /// One request, by its number.
    Request(u64),
    /// Those that arrive in a part of simulated time.
    Time(Span),
}

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
    All,
}

/// The percentiles of a summary, and the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The 99.99th percentile.
    P9999,
    /// The largest value.
    Max,
}

const KINDS: [(&str, Kind); 3] = [("read", Kind::Read), ("write", Kind::Write), ("all", Kind::All)];

type Field = fn(&Figures) -> Option<u64>;

/// Names, as in `p99.9`; what part of the requests takes no longer; and the field of a summary.
const RANKS: [(&str, Rank, Quantile, Field); 7] = [
    ("p50", Rank::P50, Quantile::new(1, 2), |figures| figures.p50),
    ("p90", Rank::P90, Quantile::new(90, 100), |figures| figures.p90),
    ("p95", Rank::P95, Quantile::new(95, 100), |figures| figures.p95),
    ("p99", Rank::P99, Quantile::new(99, 100), |figures| figures.p99),
    ("p99.9", Rank::P999, Quantile::new(999, 1_000), |figures| figures.p99_9),
    ("p99.99", Rank::P9999, Quantile::new(9_999, 10_000), |figures| figures.p99_99),
    ("max", Rank::Max, Quantile::new(1, 1), |figures| figures.max),
];

impl Kind {
    /// Its name in measures.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].0
    }

    /// Requests of this kind, in a word.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Read => "reads",
            Kind::Write => "writes",
            Kind::All => "requests",
        }
    }

    /// Whether a read or write is of this kind.
    pub fn has(self, write: bool) -> bool {
        match self {
            Kind::Read => !write,
            Kind::Write => write,
            Kind::All => true,
        }
    }
}

impl Rank {
    /// Its name, as in `p99.9`.
    pub fn name(self) -> &'static str {
        RANKS[self as usize].0
    }

    /// As a fraction.
    pub fn quantile(self) -> Quantile {
        RANKS[self as usize].2
    }

    fn of(self, figures: &Figures) -> Option<u64> {
        RANKS[self as usize].3(figures)
    }
}

impl At {
    /// The measure's value in a summary; none where a summary does not have it.
    pub fn value(&self, summary: &Summary) -> Option<u64> {
        let At::Tail(kind, rank) = self else { return None };
        let latency = &summary.latency_ns;
        rank.of(match kind {
            Kind::Read => &latency.read,
            Kind::Write => &latency.write,
            Kind::All => &latency.all,
        })
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Tail(kind, rank) => write!(f, "{}.{}", kind.name(), rank.name()),
            At::Request(number) => write!(f, "request:{number}"),
            At::Time(span) => write!(f, "time:{}..{}", span.from, OpenSpan(span)),
        }
    }
}

/// The end of a span; nothing if it is open.
struct OpenSpan<'s>(&'s Span);

impl fmt::Display for OpenSpan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.to == ssdlab_sim::units::Nanos::NEVER { Ok(()) } else { write!(f, "{}", self.0.to) }
    }
}

impl FromStr for At {
    type Err = String;

    /// `read.p99.9`, also as `read.p99_9`; `write.max`; `request:N`; `time:FROM..TO`.
    fn from_str(text: &str) -> Result<At, String> {
        if let Some(number) = text.strip_prefix("request:") {
            let number = number.parse();
            return number.map(At::Request).map_err(|_| format!("`{}`: expected request:N, N from 0 on", clip(text)));
        }
        if let Some(span) = text.strip_prefix("time:") {
            return span.parse().map(At::Time);
        }
        let names = || KINDS.iter().flat_map(|(kind, _)| RANKS.map(|(rank, ..)| format!("{kind}.{rank}")));
        let wanted = text.replace('_', ".");
        let found = wanted.split_once('.').and_then(|(kind, rank)| {
            let kind = KINDS.iter().find(|(name, _)| *name == kind)?.1;
            Some(At::Tail(kind, RANKS.iter().find(|(name, ..)| *name == rank)?.1))
        });
        found.ok_or_else(|| {
            let all: Vec<String> = names().collect();
            let meant = nearest(&wanted, all.iter().map(String::as_str));
            let meant = meant.map_or(String::new(), |meant| format!("did you mean {meant}? "));
            let ranks = RANKS.map(|(rank, ..)| rank).join(", ");
            format!(
                "`{}` is none: {meant}expected read, write or all with one of {ranks}, such as read.p99.9; or request:N; or time:FROM..TO",
                clip(text)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_as_in_summaries_too() {
        let at = |text: &str| text.parse::<At>();
        assert_eq!(at("read.p99.9"), Ok(At::Tail(Kind::Read, Rank::P999)));
        assert_eq!(at("all.p99_99"), Ok(At::Tail(Kind::All, Rank::P9999)));
        assert_eq!(at("write.max"), Ok(At::Tail(Kind::Write, Rank::Max)));
        for text in ["read.p99.9", "all.p50", "write.max", "request:7", "time:1ms..2ms", "time:1s.."] {
            assert_eq!(at(text).unwrap().to_string(), text);
        }
        assert!(at("reads.p99").unwrap_err().contains("did you mean read.p99?"));
        for bad in ["", "read", "read.p98", "request:", "request:-1", "time:2..1", "p99"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
