//! The slowest requests of many runs: of the longest latency, then by name of the volume and number of the request.

use std::cmp::Reverse;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use ssdlab_figures::figure::Cell;
use ssdlab_sim::blame::{CAUSES, Extra};

use ssdlab_lab::error::Result;
use ssdlab_lab::names::clip;
use ssdlab_lab::readers::histogram::sums_to;
use ssdlab_lab::readers::table::{data, integer, whole};

/// A request; fields are in the order of comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// Arrival to completion.
    pub latency_ns: Reverse<u64>,
    /// The volume that it came from.
    pub volume: String,
    /// Its number in its run, from 0.
    pub request: u64,
    /// `read` or `write`.
    pub op: String,
    /// Its arrival in its run.
    pub arrival_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Causes of the latency that took time, in the order of the ledger.
    pub causes: Vec<(String, u64)>,
}

/// Some of the slowest requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowest {
    /// At most this many are known, of all requests; none: all are.
    pub most: Option<usize>,
    /// In order.
    pub rows: Vec<Slow>,
}

impl Slowest {
    /// Those of a run that kept none.
    pub fn unknown() -> Slowest {
        Slowest { most: Some(0), rows: Vec::new() }
    }

    /// At most this many of them.
    pub fn first(mut self, most: usize) -> Slowest {
        self.most = Some(self.most.map_or(most, |own| own.min(most)));
        self.rows.truncate(most);
        self
    }

    /// Both together: as many as both know.
    pub fn merge(&mut self, other: &Slowest) {
        self.rows.extend(other.rows.iter().cloned());
        self.rows.sort();
        self.most = self.most.iter().chain(&other.most).min().copied();
        self.rows.truncate(self.most.unwrap_or(usize::MAX));
    }

    /// Reads what a run kept; `most` is how many it would have.
    ///
    /// # Errors
    /// The file can't be read, or is not such a table.
    pub fn read(path: &Path, parquet: bool, volume: &str, most: usize) -> Result<Slowest> {
        let table = whole(path, parquet)?;
        let place = |name: &str| table.columns.iter().position(|column| column == name);
        let need = |name: &str| place(name).ok_or_else(|| data(path, format!("no column `{name}`")));
        let columns = ["latency_ns", "request", "arrival_ns", "offset", "bytes", "op"].map(need);
        let [latency, request, arrival, offset, bytes, op] = columns;
        let (latency, request, arrival, offset, bytes, op) = (latency?, request?, arrival?, offset?, bytes?, op?);
        let causes: Vec<(usize, &str)> = causes().filter_map(|name| Some((place(name)?, name))).collect();
        let mut rows = Vec::new();
        for (line, row) in table.rows.iter().enumerate() {
            let number = |at: usize| {
                let found = integer(&row[at]).and_then(|value| u64::try_from(value).ok());
                let name = clip(&table.columns[at]);
                found.ok_or_else(|| data(path, format!("row {}: `{name}` is not a whole number", line + 1)))
            };
            let mut own = Vec::new();
            for (at, name) in &causes {
                own.push((name.to_string(), number(*at)?));
            }
            own.retain(|(_, ns)| *ns > 0);
            let wrong = |what: &str| Err(data(path, format!("row {}: {what}", line + 1)));
            let Cell::Text(op) = &row[op] else { return wrong("`op` is not a word") };
            if !own.is_empty() && !sums_to(number(latency)?, own.iter().map(|(_, ns)| *ns)) {
                return wrong("the causes do not sum to `latency_ns`, or it is beyond the clock");
            }
            rows.push(Slow {
                latency_ns: Reverse(number(latency)?),
                volume: volume.into(),
                request: number(request)?,
                op: op.clone(),
                arrival_ns: number(arrival)?,
                offset: number(offset)?,
                bytes: number(bytes)?,
                causes: own,
            });
        }
        rows.sort();
        Ok(Slowest { most: Some(most), rows })
    }

    pub(super) fn json(&self) -> Json {
        let row = |row: &Slow| {
            let causes: Map<String, Json> = row.causes.iter().map(|(name, ns)| (name.clone(), json!(ns))).collect();
            json!({
                "latency_ns": row.latency_ns.0, "volume": row.volume, "request": row.request, "op": row.op,
                "arrival_ns": row.arrival_ns, "offset": row.offset, "bytes": row.bytes, "causes": causes,
            })
        };
        json!({ "most": self.most, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }

    pub(super) fn parse(value: &Json) -> Option<Slowest> {
        let row = |row: &Json| {
            let number = |name: &str| row[name].as_u64();
            let causes = row["causes"].as_object()?.iter().map(|(name, ns)| Some((name.clone(), ns.as_u64()?)));
            let causes = causes.collect::<Option<Vec<_>>>()?;
            let sum = sums_to(number("latency_ns")?, causes.iter().map(|(_, ns)| *ns));
            (sum || causes.is_empty()).then_some(())?;
            Some(Slow {
                latency_ns: Reverse(number("latency_ns")?),
                volume: row["volume"].as_str()?.into(),
                request: number("request")?,
                op: row["op"].as_str()?.into(),
                arrival_ns: number("arrival_ns")?,
                offset: number("offset")?,
                bytes: number("bytes")?,
                causes,
            })
        };
        let rows = value["rows"].as_array()?.iter().map(row).collect::<Option<Vec<_>>>()?;
        let most = serde_json::from_value(value.get("most")?.clone()).ok()?;
        rows.is_sorted().then_some(Slowest { most, rows })
    }
}

/// The names of all causes, in the order of the ledger.
pub(crate) fn causes() -> impl Iterator<Item = &'static str> {
    CAUSES.iter().map(|(_, name)| *name).chain(Extra::ALL.iter().map(|extra| extra.name()))
}
