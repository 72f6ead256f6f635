//! How many pages dies read and program, and how many blocks they erase, by the summary of their run.
//!
//! A summary counts an operation when it starts, with all that takes no time. A file of dies counts it when the array stops: at its end,
//! or when it is first suspended. So both differ by
//! - copybacks, each a read and a program of the die;
//! - pages that are skipped so that write points have equal offsets (`flash.programs.wasted`): no die works;
//! - parity that recovery from a power cut computes again (`repaired_groups`): it is programmed in no time;
//! - GC in no time (`gc.time = "none"`): neither its reads, programs, copybacks and erases nor the metadata of its victims;
//! - metadata of blocks that are filled in no time, by preloaded pages, by GC in no time or by recovery: a summary does not tell them from
//!   others, so all or none of `flash.programs.metadata` may have worked a die;
//! - what a power cut stops on each plane: at most one read, one program and one more that waits in the cache register, and the erases
//!   that the summary says it stopped.

use std::ops::RangeInclusive;

use serde_json::Value;

use ssdlab_lab::readers::json::text;

/// What dies did: between these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DieWork {
    /// Pages read.
    pub reads: RangeInclusive<u64>,
    /// Pages programmed.
    pub programs: RangeInclusive<u64>,
    /// Blocks erased.
    pub erases: RangeInclusive<u64>,
}

impl DieWork {
    /// Nothing: of a summary that lacks a count.
    pub const NONE: DieWork = DieWork { reads: 0..=0, programs: 0..=0, erases: 0..=0 };

    /// That of a summary, on a device of so many planes; none if it lacks a count.
    pub fn of(summary: &Value, planes: u64) -> Option<DieWork> {
        let count = |place: &str| summary.pointer(place).and_then(Value::as_u64);
        // Causes that are 0 may be absent.
        let some = |place: &str| count(place).unwrap_or(0);
        let (reads, programs) = (count("/flash/reads/total")?, count("/flash/programs/total")?);
        let (copybacks, erases) = (count("/flash/copybacks")?, count("/flash/erases")?);
        let cuts = summary.pointer("/power_cuts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let of_cuts = |what: &str| cuts.iter().filter_map(|cut| cut[what].as_u64()).fold(0, u64::saturating_add);
        let idle = some("/flash/programs/wasted").saturating_add(of_cuts("repaired_groups"));
        let worked = programs.checked_sub(idle)?;
        let [reads, programs, erases] = match text(summary, "/config/gc/time") {
            "none" => {
                let by_gc = some("/flash/reads/gc") + some("/flash/reads/fold") + some("/flash/reads/metadata");
                let moved = some("/flash/programs/gc") + some("/flash/programs/fold");
                [reads.checked_sub(by_gc)?, worked.checked_sub(moved)?, 0]
            }
            _ => [reads + copybacks, worked + copybacks, erases],
        };
        let stopped = planes.saturating_mul(cuts.len() as u64);
        // A read may run where it has suspended a copyback, and both read.
        let at_once = if text(summary, "/config/timing/suspendable") == "none" { 1 } else { 2 };
        // Where blocks are paired, a cut counts pairs.
        let each = if text(summary, "/config/device/mapping_unit") == "super-page" { 2 } else { 1 };
        let in_no_time = some("/pages/preloaded") > 0 || text(summary, "/config/gc/time") == "none" || !cuts.is_empty();
        let metadata = if in_no_time { some("/flash/programs/metadata") } else { 0 };
        let from = |most: u64, less: u64| most.saturating_sub(less)..=most;
        Some(DieWork {
            reads: from(reads, stopped.saturating_mul(at_once)),
            programs: from(programs, stopped.saturating_mul(2).saturating_add(metadata)),
            erases: from(erases, of_cuts("torn_erases").saturating_mul(each)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run with one of each: by hand.
    fn summary(time: &str, cuts: &Value) -> Value {
        json!({
            "config": { "gc": { "time": time }, "timing": { "suspendable": "none" } },
            "flash": {
                "reads": { "host": 100, "gc": 40, "metadata": 3, "total": 143 },
                "programs": { "host": 70, "gc": 40, "metadata": 5, "wasted": 2, "total": 117 },
                "copybacks": 10,
                "erases": 6,
            },
            "power_cuts": cuts,
        })
    }

    #[test]
    fn dies_do_what_takes_time_and_ends() {
        let of = |time: &str, cuts: Value| DieWork::of(&summary(time, &cuts), 4).unwrap();
        let exact = DieWork { reads: 153..=153, programs: 125..=125, erases: 6..=6 };
        assert_eq!(of("real", Value::Null), exact);
        assert_eq!(of("none", Value::Null), DieWork { reads: 100..=100, programs: 70..=75, erases: 0..=0 });
        // Two cuts stop at most a read and two programs of each of four planes; metadata may be that of recovery.
        let cuts = json!([{ "torn_erases": 1 }, { "torn_erases": 0 }]);
        assert_eq!(of("real", cuts.clone()), DieWork { reads: 145..=153, programs: 104..=125, erases: 5..=6 });
        // Three programs of the first cut's recovery took no time, nor was any of them stopped.
        let repaired = json!([{ "torn_erases": 1, "repaired_groups": 3 }, { "torn_erases": 0, "repaired_groups": 0 }]);
        assert_eq!(of("real", repaired), DieWork { programs: 101..=122, ..of("real", cuts.clone()) });
        let mut suspending = summary("real", &json!([{ "torn_erases": 1 }, { "torn_erases": 0 }]));
        suspending["config"]["timing"]["suspendable"] = "program+erase".into();
        assert_eq!(DieWork::of(&suspending, 4).unwrap(), DieWork { reads: 137..=153, ..of("real", cuts) });
        let mut paired = summary("real", &json!([{ "torn_erases": 1 }]));
        paired["config"]["device"]["mapping_unit"] = "super-page".into();
        assert_eq!(DieWork::of(&paired, 4).unwrap().erases, 4..=6);
        let mut preloaded = summary("real", &Value::Null);
        preloaded["pages"]["preloaded"] = 9.into();
        assert_eq!(DieWork::of(&preloaded, 4).unwrap(), DieWork { programs: 120..=125, ..exact });
        assert_eq!(DieWork::of(&json!({}), 4), None);
    }
}
