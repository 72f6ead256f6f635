//! The figure as a value.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// How points become marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Points `[x, y]`, joined.
    #[default]
    Line,
    /// Points `[x, y]`: y holds from the x of the point before up to x.
    Step,
    /// Points `[x, y]`.
    Point,
    /// Bars `[x, y]` from 0 to y; on a linear x they begin at x and are `width` wide. `[x, y, low, high]` has an error bar, where bars are
    /// upright.
    Bar,
    /// Bars as of `bar`, each on the one of the series before it. On a band y: `[x, y]`, level.
    Stack,
    /// Bands `[x, low, high]`.
    Area,
    /// Cells `[x, y, value]`, `width` wide from x on, coloured by value.
    Cell,
    /// Level bars `[row, from, to]` on a band y.
    Interval,
    /// Texts right of `[x, y]`, from `labels`; with a `width`, in its middle.
    Text,
}

/// How values become places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// As they are.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
    /// By the logarithm of what is left to 1: for percentiles near 1.
    OneMinusLog,
    /// By their place in a list of names.
    Band,
    /// Simulated time in nanoseconds.
    Time,
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A ratio or a number of things.
    #[default]
    #[serde(rename = "1")]
    One,
    /// Pages.
    #[serde(rename = "pages")]
    Pages,
    /// Requests a second.
    #[serde(rename = "requests/s")]
    RequestsPerSecond,
    /// Bytes a second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Milliwatts.
    #[serde(rename = "mW")]
    Milliwatts,
    /// Microjoules.
    #[serde(rename = "uJ")]
    Microjoules,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// Its title.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Its scale.
    pub scale: Scale,
    /// Whether values are shares of 1, shown in percent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub percent: bool,
    /// Where ticks are; empty: at round values.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "numbers")]
    pub ticks: Vec<f64>,
    /// Names of a band scale, the first one to the left or at the top.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<String>,
    /// Least and greatest value; by default those of the points.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "pair")]
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// An axis of values.
    pub fn new(label: &str, unit: Unit, scale: Scale) -> Axis {
        Axis { label: label.into(), unit, scale, ..Axis::default() }
    }

    /// An axis of names.
    pub fn bands(label: &str, bands: Vec<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Band, bands, ..Axis::default() }
    }

    /// With this least and greatest value.
    pub fn within(mut self, low: f64, high: f64) -> Axis {
        self.range = Some([low, high]);
        self
    }

    /// With shares of 1 in percent.
    pub fn in_percent(mut self) -> Axis {
        self.percent = true;
        self
    }
}

/// Points of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// How points are drawn.
    pub mark: Mark,
    /// The key of its colour and pattern, see [`palette`](crate::palette); empty: the next in order.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub style: String,
    /// As the mark says; not a number: a gap.
    #[serde(serialize_with = "points")]
    pub points: Vec<Vec<f64>>,
    /// Width of bars, cells and texts in units of x.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe")]
    pub width: Option<f64>,
    /// Texts of the points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What the values of cells mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Axis>,
}

impl Series {
    /// A series whose name is also the key of its style.
    pub fn new(name: &str, mark: Mark, points: Vec<Vec<f64>>) -> Series {
        Series { name: name.into(), mark, style: name.into(), points, ..Series::default() }
    }

    /// With the style of another key.
    pub fn like(mut self, style: &str) -> Series {
        self.style = style.into();
        self
    }
}

/// Axes with their series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Panel {
    /// What it shows; empty where the figure's title says it.
    #[serde(rename = "heading", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Level.
    pub x: Axis,
    /// Upright.
    pub y: Axis,
    /// Drawn in this order.
    pub series: Vec<Series>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Whole(u128),
    /// Any number.
    Real(f64),
    /// A text.
    Text(String),
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Null => serializer.serialize_unit(),
            // Readers whose numbers are doubles would round larger ones.
            Cell::Whole(value) if *value < 1 << 53 => serializer.serialize_u64(*value as u64),
            Cell::Whole(value) => serializer.serialize_str(&value.to_string()),
            Cell::Real(value) => number(*value).serialize(serializer),
            Cell::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Whole(value.into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::Null, Cell::Real)
    }
}

impl Cell {
    /// As text, exact.
    pub fn text(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Whole(value) => value.to_string(),
            Cell::Real(value) => match number(*value) {
                Value::Null => String::new(),
                value => value.to_string(),
            },
            Cell::Text(text) => text.clone(),
        }
    }
}

/// The numbers behind a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Names of the columns, with units.
    pub columns: Vec<String>,
    /// One cell a column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[&str]) -> Table {
        Table { columns: columns.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }
}

/// The run that a figure shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Digest of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// Digest of the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_digest: Option<String>,
    /// Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Version of the program that made the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A figure: everything that a renderer needs, and the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its name, also on the command line.
    pub id: String,
    /// Its title.
    pub title: String,
    /// One above the other. JSON has the first one's fields at the top and the others as `panels`.
    pub panels: Vec<Panel>,
    /// A sentence with the numbers that matter.
    pub caption: String,
    /// What a reader has to know besides.
    pub notes: Vec<String>,
    /// The numbers.
    pub table: Table,
    /// The run.
    pub source: Source,
    /// Why there is nothing to draw, if so.
    pub empty: Option<String>,
}

/// The fields of [`Figure`] in their order in JSON.
#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    id: &'a str,
    title: &'a str,
    #[serde(flatten)]
    first: Option<&'a Panel>,
    #[serde(skip_serializing_if = "<[Panel]>::is_empty")]
    panels: &'a [Panel],
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<&'a str>,
    caption: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    table: &'a Table,
    source: &'a Source,
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Whole {
            schema: "ssdlab.figure/1",
            id: &self.id,
            title: &self.title,
            first: self.panels.first(),
            panels: self.panels.get(1..).unwrap_or_default(),
            empty: self.empty.as_deref(),
            caption: &self.caption,
            notes: &self.notes,
            table: &self.table,
            source: &self.source,
        }
        .serialize(serializer)
    }
}

impl Figure {
    /// A figure that says why there is nothing to draw.
    pub fn empty(id: &str, title: &str, why: &str) -> Figure {
        let why = Some(why.to_string());
        Figure { id: id.into(), title: title.into(), empty: why, ..Figure::default() }
    }

    /// The bytes of its JSON file: the contract `ssdlab.figure/1`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a figure is plain data");
        text.push('\n');
        text
    }

    /// The numbers behind it as CSV.
    pub fn csv(&self) -> String {
        let quote = |text: String| {
            if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
        };
        let line = |cells: Vec<String>| cells.into_iter().map(quote).collect::<Vec<_>>().join(",") + "\n";
        let rows = self.table.rows.iter().map(|row| line(row.iter().map(Cell::text).collect()));
        std::iter::once(line(self.table.columns.clone())).chain(rows).collect()
    }
}

/// A number in JSON: whole ones without a point; what is no number is null.
pub(crate) fn number(value: f64) -> Value {
    const EXACT: f64 = (1u64 << 53) as f64;
    if value.fract() == 0.0 && value.abs() < EXACT { Value::from(value as i64) } else { Value::from(value) }
}

fn numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| number(*value)))
}

fn pair<S: Serializer>(values: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    numbers(values.as_ref().map_or(&[], |values| values.as_slice()), serializer)
}

fn maybe<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map_or(Value::Null, number).serialize(serializer)
}

fn points<S: Serializer>(points: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(points.iter().map(|point| point.iter().map(|value| number(*value)).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_that_of_the_contract() {
        let panel = Panel {
            x: Axis { ticks: vec![0.5, 0.9], ..Axis::new("percentile", Unit::One, Scale::OneMinusLog) },
            y: Axis::new("latency", Unit::Nanoseconds, Scale::Log),
            series: vec![Series::new("read", Mark::Step, vec![vec![0.99, 33_554_431.0], vec![0.999, f64::NAN]])],
            ..Panel::default()
        };
        let mut table = Table::new(&["percentile", "latency_ns"]);
        table.rows.push(vec![Cell::Real(0.99), Cell::Whole(1 << 53)]);
        table.rows.push(vec![Cell::Text("=1,\"2\"".into()), Cell::Null]);
        let figure = Figure { id: "percentiles".into(), panels: vec![panel], table, ..Figure::default() };
        assert_eq!(
            figure.json(),
            concat!(
                r#"{"schema":"ssdlab.figure/1","id":"percentiles","title":"","x":{"label":"percentile","unit":"1","scale":"one-minus-log","ticks":[0.5,0.9]},"#,
                r#""y":{"label":"latency","unit":"ns","scale":"log"},"series":[{"name":"read","mark":"step","style":"read","points":[[0.99,33554431],[0.999,null]]}],"#,
                r#""caption":"","table":{"columns":["percentile","latency_ns"],"rows":[[0.99,"9007199254740992"],["=1,\"2\"",null]]},"source":{}}"#,
                "\n"
            )
        );
        assert_eq!(figure.csv(), "percentile,latency_ns\n0.99,9007199254740992\n\"=1,\"\"2\"\"\",\n");
    }
}
