//! The results of a study as its store has them: a mean over seeds for each point and measure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use ssdlab_figures::escape::name;
use ssdlab_figures::figure::{Cell, Unit};

use crate::design;
pub use crate::design::Axis;
use crate::rank::Field;
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::{entries, read_text};
use ssdlab_lab::names::clip;
use ssdlab_lab::readers::summaries;
use ssdlab_lab::readers::table::{data, integer, rows};
use ssdlab_lab::variants::student;
use ssdlab_sweep::points::Points;
use ssdlab_sweep::store::{Status, Store};

/// A number of a summary that figures of a study can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its place in a summary, such as `latency_ns.read.p99`; also its column in the table of `sweep table`.
    pub path: String,
    /// What it is, in a few words.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Whether it is a share of 1.
    pub share: bool,
    /// Whether more is better.
    pub more: bool,
}

/// All measures, in their order.
pub fn measures() -> Vec<Measure> {
    let mut all = Vec::new();
    let mut push = |path: &str, label: &str, unit: Unit, share: bool, more: bool| {
        all.push(Measure { path: path.into(), label: label.into(), unit, share, more });
    };
    let ns = Unit::Nanoseconds;
    for op in ["read", "write", "all"] {
        for (field, name) in [
            ("mean", "mean"),
            ("p50", "p50"),
            ("p90", "p90"),
            ("p95", "p95"),
            ("p99", "p99"),
            ("p99_9", "p99.9"),
            ("p99_99", "p99.99"),
            ("max", "largest"),
        ] {
            let of = if op == "all" { String::new() } else { format!("{op} ") };
            push(&format!("latency_ns.{op}.{field}"), &format!("{name} {of}latency"), ns, false, false);
        }
        let of = if op == "all" { "requests".into() } else { format!("{op}s") };
        push(&format!("waiting_ns.{op}.mean"), &format!("mean wait of {of}"), ns, false, false);
    }
    push("write_amplification_bytes", "write amplification", Unit::One, false, false);
    push("write_amplification", "write amplification in pages", Unit::One, false, false);
    for (op, of) in [("read", "reads"), ("write", "writes"), ("all", "requests")] {
        push(&format!("{op}_gc_ns"), &format!("mean wait of {of} for GC"), ns, false, false);
    }
    push("requests_per_s", "requests a second", Unit::RequestsPerSecond, false, true);
    push("host_read_bytes_per_s", "host reads", Unit::BytesPerSecond, false, true);
    push("host_written_bytes_per_s", "host writes", Unit::BytesPerSecond, false, true);
    push("simulated_ns", "simulated time", ns, false, false);
    push("gc.collections", "collections", Unit::One, false, false);
    push("gc.moved_pages", "pages moved by GC", Unit::Pages, false, false);
    push("flash.erases", "erases", Unit::One, false, false);
    push("utilisation.die", "busy share of dies", Unit::One, true, true);
    push("utilisation.channel", "busy share of channels", Unit::One, true, true);
    push("wear.erases_max", "most erases of a block", Unit::One, false, false);
    all
}

ssdlab_lab::words! {
    /// What became of a point.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum State {
        /// No run has ended.
        #[default]
        Left = "left",
        /// A run has a result.
        Done = "done",
        /// Its configuration breaks a rule.
        Refused = "refused",
        /// Its runs failed.
        Failed = "failed",
    }
}

/// A point of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Its number, from 1.
    pub number: u64,
    /// Places of its values, an axis each.
    pub at: Vec<u32>,
    /// What became of it.
    pub state: State,
    /// The rule that it breaks, or why it failed.
    pub why: Option<String>,
    /// Runs with a result.
    pub runs: u32,
    /// Whether more arrives than the device can serve, in any run.
    pub overloaded: bool,
    /// Whether write amplification is not steady, in any run.
    pub unsteady: bool,
}

impl Point {
    /// Reasons to distrust it; none is an empty text.
    pub fn caution(&self) -> String {
        let doubts = [(self.overloaded, "overloaded"), (self.unsteady, "not steady")];
        doubts.into_iter().filter_map(|(holds, what)| holds.then_some(what)).collect::<Vec<_>>().join(", ")
    }

    /// One of its runs ended: what is doubtful in one is doubtful in all.
    fn doubt(&mut self, summary: &Value) {
        self.overloaded |= summary.get("overload").is_some();
        self.unsteady |= summary["write_amplification_halves"]["steady"] == false;
    }
}

/// A measure by point.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Which one.
    pub measure: Measure,
    /// The mean over seeds; not a number where there is none.
    pub means: Vec<f64>,
    /// Half the 95 % confidence interval of the mean (Student's t); not a number for fewer than two seeds.
    pub halves: Vec<f64>,
    /// The mean over seeds of its logarithm; not a number where there is none, or where a seed has a 0.
    pub logs: Vec<f64>,
}

impl Column {
    /// Ratio of a point to another: the geometric mean of ratios by seed, or that of means where a seed has a 0.
    pub fn ratio(&self, place: usize, base: usize) -> Option<f64> {
        // The mean difference of logarithms is the logarithm of the geometric mean of ratios by seed.
        let (own, other) = (self.logs[place], self.logs[base]);
        let paired = (own.is_finite() && other.is_finite()).then(|| libm::exp(own - other));
        // A seed with a 0 has no logarithm.
        paired.or(Some(self.means[place] / self.means[base])).filter(|ratio| ratio.is_finite())
    }

    /// Adds points without a result, up to so many.
    fn resize(&mut self, points: usize) {
        for values in [&mut self.means, &mut self.halves, &mut self.logs] {
            values.resize(points, f64::NAN);
        }
    }
}

/// A study and what its runs gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Its name.
    pub study: String,
    /// The version of the program that ran it.
    pub version: Option<String>,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// Its points, in the order of their numbers.
    pub points: Vec<Point>,
    /// The measures that some point has.
    pub columns: Vec<Column>,
    /// Runs by what became of them: left, done, refused, failed, as [`State`] has them.
    pub runs: [u64; 4],
    /// Records of a version before 0.1.3, whose content cannot be checked.
    pub unchecked: u64,
}

/// A run of a study: its point, its key, and the texts of the point's values.
struct Planned {
    point: u64,
    key: String,
    values: Vec<String>,
}

impl Sweep {
    /// Reads a study from its folder in a store, or the only study of a store.
    ///
    /// # Errors
    /// There is no such study, or a file can't be read.
    pub fn read(path: &Path) -> Result<Sweep> {
        let (store, folder) = place(path)?;
        let table = POINTS.iter().map(|name| folder.join(name)).find(|file| file.exists());
        let table = table.ok_or_else(|| no_study(path))?;
        let (mut axes, mut runs) = (Vec::new(), Vec::new());
        rows(&table, table.extension().is_some_and(|ending| ending == "parquet"), &mut |columns, row| {
            let Some(row) = row else {
                axes = columns.get(OWN.len()..).unwrap_or_default().to_vec();
                return match columns.iter().zip(OWN).all(|(own, name)| own == name) && columns.len() >= OWN.len() {
                    true => Ok(true),
                    false => {
                        Err(data(&table, "not the points of a study").help("run the study again with `sweep run`"))
                    }
                };
            };
            let point = integer(&row[0]).and_then(|point| u64::try_from(point).ok());
            let point = point.ok_or_else(|| data(&table, "`point` is not a number"))?;
            let key = row[2].text();
            // Names of files are made of keys.
            if key.len() != 64 || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(data(&table, format!("`{}` is no key of a run", clip(&key))));
            }
            runs.push(Planned { point, key, values: row[OWN.len()..].iter().map(Cell::text).collect() });
            Ok(true)
        })?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text("study", &folder.join("study.toml")).unwrap_or_default();
        Sweep::gather(name, axes, runs, &store, &text)
    }

    /// The study of points that are known.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn of(points: &Points, store: &Store) -> Result<Sweep> {
        let axes = points.study.axes.iter().map(|axis| axis.label.clone()).collect();
        let planned = points.runs().into_iter().map(|run| {
            let point = &points.points[run.point];
            let values = point.items.iter().map(|item| item.shown.text()).collect();
            Planned { point: point.number, key: run.key, values }
        });
        Sweep::gather(points.study.name.clone(), axes, planned.collect(), store, &points.study.text.text)
    }

    /// `text` is that of the study's file.
    fn gather(study: String, keys: Vec<String>, runs: Vec<Planned>, store: &Store, text: &str) -> Result<Sweep> {
        let axes = keys.into_iter().map(|key| Axis { key, ..Axis::default() }).collect();
        let mut sweep = Sweep { study, axes, ..Sweep::default() };
        let mut known: Vec<HashMap<String, u32>> = vec![HashMap::new(); sweep.axes.len()];
        let all = measures();
        let mut columns: Vec<Option<Column>> = vec![None; all.len()];
        for (place, own) in runs.chunk_by(|a, b| a.point == b.point).enumerate() {
            let mut point = Point { number: own[0].point, ..Point::default() };
            point.at = design::places(&mut sweep.axes, &mut known, own[0].values.iter().cloned());
            let mut values: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
            for run in own {
                let state = sweep.run(run, store, &mut point, &all, &mut values)?;
                sweep.runs[state as usize] += 1;
            }
            for ((measure, column), values) in all.iter().zip(&mut columns).zip(values) {
                if values.is_empty() {
                    continue;
                }
                let none = Column { measure: measure.clone(), means: vec![], halves: vec![], logs: vec![] };
                let column = column.get_or_insert(none);
                column.resize(place);
                column.logs.push(student::mean_log(&values));
                column.means.push(student::mean(&values));
                column.halves.push(student::half_width(&values).unwrap_or(f64::NAN));
            }
            sweep.points.push(point);
        }
        sweep.columns = columns.into_iter().flatten().collect();
        for column in &mut sweep.columns {
            column.resize(sweep.points.len());
        }
        sweep.order();
        sweep.unchecked = store.unchecked();
        design::mark(&mut sweep.axes, text);
        sweep.add_ratios();
        Ok(sweep)
    }

    /// Reads a run into its point and the values of its measures.
    fn run(
        &mut self,
        run: &Planned,
        store: &Store,
        point: &mut Point,
        all: &[Measure],
        values: &mut [Vec<f64>],
    ) -> Result<State> {
        let Some(record) = store.read::<Value>(&run.key)? else {
            let Some(failure) = store.failure(&run.key) else { return Ok(State::Left) };
            if point.state == State::Left {
                (point.state, point.why) = (State::Failed, Some(failure.message));
            }
            return Ok(State::Failed);
        };
        self.version.get_or_insert(record.version);
        let summary = match (record.status, record.summary) {
            (Status::Done, Some(summary)) => summary,
            _ => {
                (point.state, point.why) = (State::Refused, record.rule);
                return Ok(State::Refused);
            }
        };
        (point.state, point.why) = (State::Done, None);
        point.runs += 1;
        point.doubt(&summary);
        for (measure, values) in all.iter().zip(values) {
            values.extend(summaries::measure(&measure.path, &summary));
        }
        Ok(State::Done)
    }

    /// Puts the values of axes of numbers into ascending order.
    fn order(&mut self) {
        for (i, axis) in self.axes.iter_mut().enumerate() {
            let parsed = axis.values.iter().map(|text| text.parse().ok().filter(|value: &f64| value.is_finite()));
            let Some(numbers) = parsed.collect::<Option<Vec<f64>>>().filter(|numbers| !numbers.is_empty()) else {
                continue;
            };
            let mut order: Vec<usize> = (0..numbers.len()).collect();
            order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
            let mut place = vec![0; order.len()];
            order.iter().enumerate().for_each(|(new, old)| place[*old] = new as u32);
            axis.values = order.iter().map(|old| std::mem::take(&mut axis.values[*old])).collect();
            axis.numbers = Some(order.iter().map(|old| numbers[*old]).collect());
            self.points.iter_mut().for_each(|point| point.at[i] = place[point.at[i] as usize]);
        }
    }

    /// A measure by its path, if some point has it.
    pub fn column(&self, path: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.measure.path == path)
    }

    /// Its points by their values, to be ranked.
    pub fn field(&self) -> Field<'_> {
        Field::of(&self.axes, self.points.iter().map(|point| &point.at[..]))
    }

    /// Adds the ratios of all measures to the study's baseline, with the same values of the other axes, as `ratio.MEASURE`.
    fn add_ratios(&mut self) {
        if self.axes.iter().all(|axis| axis.baseline.is_none()) {
            return;
        }
        let at_base = |point: &Point| -> Vec<u32> {
            self.axes.iter().zip(&point.at).map(|(axis, at)| axis.baseline.unwrap_or(*at)).collect()
        };
        let places: HashMap<&[u32], usize> =
            self.points.iter().enumerate().map(|(place, point)| (&point.at[..], place)).collect();
        let bases: Vec<Option<usize>> =
            self.points.iter().map(|point| places.get(&at_base(point)[..]).copied()).collect();
        let ratio = |column: &Column, place: usize| {
            let base = bases[place].filter(|base| self.points[*base].runs == self.points[place].runs)?;
            column.ratio(place, base)
        };
        let ratios = self.columns.iter().map(|column| {
            let (path, label) = (&column.measure.path, &column.measure.label);
            let measure = Measure {
                path: format!("ratio.{path}"),
                label: format!("{label}, ratio to the baseline"),
                unit: Unit::One,
                share: false,
                more: column.measure.more,
            };
            let means: Vec<f64> =
                (0..self.points.len()).map(|place| ratio(column, place).unwrap_or(f64::NAN)).collect();
            let logs = means.iter().map(|mean| libm::log(*mean)).collect();
            Column { measure, halves: vec![f64::NAN; means.len()], means, logs }
        });
        let ratios: Vec<Column> = ratios.collect();
        self.columns.extend(ratios);
    }

    /// The values of a point, in words: `greedy, 0.14`.
    pub fn words(&self, point: &Point) -> String {
        self.words_of(point, &|_| true)
    }

    /// The same of some axes.
    pub fn words_of(&self, point: &Point, of: &dyn Fn(usize) -> bool) -> String {
        let varied =
            self.axes.iter().zip(&point.at).enumerate().filter(|(i, (axis, _))| axis.values.len() > 1 && of(*i));
        varied.map(|(_, one)| one).map(|(axis, at)| name(&axis.values[*at as usize])).collect::<Vec<_>>().join(", ")
    }
}

/// The first columns of the table of points.
const OWN: [&str; 3] = ["point", "seed", "key"];
/// Names of that table.
const POINTS: [&str; 2] = ["points.parquet", "points.csv"];

/// Whether a folder is a store, or a study of one.
pub fn is_one(path: &Path) -> bool {
    path.join("store.json").exists() || POINTS.iter().any(|name| path.join(name).exists())
}

fn no_study(path: &Path) -> Error {
    data(path, "the store has no study").help("run one with `ssdlab sweep run STUDY.toml --store DIR`")
}

/// The store and the folder of the study that a path names.
fn place(path: &Path) -> Result<(Store, PathBuf)> {
    if !path.join("store.json").exists() {
        let root = path.canonicalize().ok().and_then(|whole| Some(whole.parent()?.parent()?.to_path_buf()));
        return Ok((Store::open(&root.unwrap_or_default())?, path.into()));
    }
    let store = Store::open(path)?;
    let mut studies = entries(&path.join("studies")).map_err(|_| no_study(path))?;
    studies.retain(|study| is_one(study));
    match &studies[..] {
        [] => Err(no_study(path)),
        [one] => Ok((store, one.clone())),
        several => {
            let names = several.iter().filter_map(|study| study.file_name()).map(|name| name.to_string_lossy());
            let names = names.collect::<Vec<_>>().join(", ");
            Err(data(path, format!("the store has {} studies: {names}", several.len()))
                .help(format!("name one of them by its folder, such as {}", several[0].display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_is_enough_for_a_caution() {
        let summaries = [
            serde_json::json!({ "overload": {}, "write_amplification_halves": { "steady": true } }),
            serde_json::json!({ "write_amplification_halves": { "steady": false } }),
            serde_json::json!({ "write_amplification_halves": { "steady": true } }),
        ];
        let caution = |order: &[usize]| {
            let mut point = Point::default();
            order.iter().for_each(|i| point.doubt(&summaries[*i]));
            point.caution()
        };
        assert_eq!(caution(&[0, 2]), "overloaded");
        assert_eq!(caution(&[1, 2]), "not steady");
        assert_eq!(caution(&[2, 1, 0, 2]), "overloaded, not steady");
        assert_eq!(caution(&[2]), "");
    }

    #[test]
    fn ratios_are_of_as_many_seeds() {
        let of = |runs: [u32; 2]| {
            let axis =
                Axis { key: "v".into(), values: vec!["a".into(), "b".into()], baseline: Some(0), ..Axis::default() };
            let point = |at: u32| Point { at: vec![at], runs: runs[at as usize], ..Point::default() };
            let (means, logs) = (vec![2.0, 6.0], vec![2.0_f64.ln(), 5.0_f64.ln()]);
            let column = Column { measure: measures().remove(0), halves: vec![f64::NAN; 2], means, logs };
            let (axes, points, columns) = (vec![axis], vec![point(0), point(1)], vec![column]);
            let mut sweep = Sweep { axes, points, columns, ..Sweep::default() };
            sweep.add_ratios();
            sweep.column("ratio.latency_ns.read.mean").unwrap().means.clone()
        };
        let ratios = of([2, 2]);
        assert!(ratios[0] == 1.0 && (ratios[1] - 2.5).abs() < 1e-12, "of logarithms: {ratios:?}");
        assert!(of([2, 1])[1].is_nan(), "a run is missing, so the seeds are others");
    }
}
