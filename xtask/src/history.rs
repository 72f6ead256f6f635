//! The history of `cargo xtask bench`: a JSON line a state of the sources, and the picture of the last one.

use serde_json::{Map, Value, json};
use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Unit};
use ssdlab_figures::svg::{Look, draw};

use crate::Result;

/// What one state costs. What was not measured is null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The commit, and the day of it.
    pub commit: String,
    /// `2026-11-27`.
    pub day: String,
    /// Instructions of an operation, by case.
    pub instructions: Vec<(String, u64)>,
    /// Bytes of the program of the profile `dist`.
    pub program_bytes: Option<u64>,
    /// Bytes of the wheel.
    pub wheel_bytes: Option<u64>,
    /// CPU seconds of the tests of the workspace, compiled before.
    pub tests_cpu_s: Option<u64>,
}

impl Entry {
    /// Its line, with the end of it.
    pub fn line(&self) -> String {
        let counts: Map<String, Value> = self.instructions.iter().map(|(case, n)| (case.clone(), json!(n))).collect();
        let line = json!({
            "schema": "ssdlab.bench/1", "commit": self.commit, "day": self.day, "instructions": counts,
            "program_bytes": self.program_bytes, "wheel_bytes": self.wheel_bytes, "tests_cpu_s": self.tests_cpu_s
        });
        format!("{line}\n")
    }

    /// The entry of a line.
    pub fn parse(line: &str) -> Result<Entry> {
        let wrong = |what: &str| format!("{what}: `{line}`");
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        let text = |key: &str| value[key].as_str().map(String::from).ok_or_else(|| wrong(&format!("no {key}")));
        let counts = value["instructions"].as_object().ok_or_else(|| wrong("no instructions"))?;
        let count = |(case, n): (&String, &Value)| {
            n.as_u64().map(|n| (case.clone(), n)).ok_or_else(|| wrong(&format!("{case} is no count")))
        };
        Ok(Entry {
            commit: text("commit")?,
            day: text("day")?,
            instructions: counts.iter().map(count).collect::<Result<_>>()?,
            program_bytes: value["program_bytes"].as_u64(),
            wheel_bytes: value["wheel_bytes"].as_u64(),
            tests_cpu_s: value["tests_cpu_s"].as_u64(),
        })
    }
}

/// The entries of a file, the oldest first.
pub fn entries(text: &str) -> Result<Vec<Entry>> {
    let line = |(i, line)| Entry::parse(line).map_err(|error| format!("line {}: {error}", i + 1));
    text.lines().enumerate().map(line).collect()
}

/// The cases of what the tests of instructions print.
pub fn counts(said: &str) -> Vec<(String, u64)> {
    let count = |line: &str| {
        let (case, rest) = line.split_once(" instructions a counted operation")?.0.rsplit_once(": ")?;
        // The first case of a test stands behind the test's name.
        let case = case.rsplit_once(" ... ").map_or(case, |(_, case)| case);
        Some((case.to_string(), rest.parse().ok()?))
    };
    said.lines().filter_map(count).collect()
}

/// Instructions by case as bars, with the count of the first entry that has the case.
pub fn picture(all: &[Entry]) -> String {
    let Some(last) = all.last() else { return String::new() };
    let first = |case: &str| {
        let counts = all.iter().flat_map(|entry| &entry.instructions);
        counts.into_iter().find(|(name, _)| name == case).map(|(_, n)| *n as f64)
    };
    let rows = || last.instructions.iter().enumerate();
    let bars = rows().map(|(row, (_, n))| vec![row as f64, 0.0, *n as f64]).collect();
    let firsts = rows().filter_map(|(row, (case, _))| Some(vec![first(case)?, row as f64])).collect();
    let labels = rows().map(|(_, (case, n))| format!("{n}  {case}")).collect();
    let mut series = vec![Series::new(&format!("commit {}", last.commit), Mark::Interval, bars).like("read")];
    if all.len() > 1 {
        series.push(Series::new("the first count", Mark::Point, firsts).like("write"));
    }
    let most = last.instructions.iter().map(|(case, n)| first(case).unwrap_or(0.0).max(*n as f64)).fold(1.0, f64::max);
    let x = Axis::new("instructions", Unit::One, Scale::Linear).within(0.0, most * 1.05);
    let panel = Panel { x, y: Axis::bands("", labels), series, ..Panel::default() };
    let title = format!("Instructions of an operation, {} (test profile)", last.day);
    let figure = Figure { id: "bench".into(), title, panels: vec![panel], ..Figure::default() };
    draw(&figure, &Look { width: 760.0, ..Look::default() }) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back() {
        let entry = Entry {
            commit: "0123abc".into(),
            day: "2026-11-27".into(),
            instructions: vec![("reads".into(), 1_300), ("writes, gc = \"x\"".into(), 547)],
            program_bytes: Some(1),
            ..Entry::default()
        };
        let line = entry.line();
        assert!(line.ends_with("\"program_bytes\":1,\"wheel_bytes\":null,\"tests_cpu_s\":null}\n"), "{line}");
        assert_eq!(entries(&line).unwrap(), [entry]);
        assert!(entries("{}\n").unwrap_err().starts_with("line 1: no instructions"));
    }

    #[test]
    fn counts_are_those_that_the_tests_print() {
        let said = "running 1 test\ntest instructions::an_operation ... writes, external, noc = { model = \"formula\" }: 5320 instructions a counted operation, at most 5375\nreads: 17 instructions a counted operation, at most 20\n";
        assert_eq!(
            counts(said),
            [("writes, external, noc = { model = \"formula\" }".into(), 5_320), ("reads".into(), 17)]
        );
    }

    /// The file that is shipped is whole, and its picture is current.
    #[test]
    fn the_picture_is_that_of_the_history() {
        let root = crate::root();
        let all = entries(&std::fs::read_to_string(root.join("bench/history.jsonl")).unwrap()).unwrap();
        assert!(!all.is_empty() && all.iter().all(|entry| entry.instructions.len() > 15));
        let shipped = std::fs::read_to_string(root.join("docs/bench.svg")).unwrap();
        assert!(shipped == picture(&all), "docs/bench.svg is out of date: cargo xtask bench writes both");
    }
}
