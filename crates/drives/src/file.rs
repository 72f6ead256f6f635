//! The file of a drive: its model with the origin of every value, its verdict, and what it predicts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::settings::Settings;

use crate::candidates::Candidate;
use crate::cells::{Cell, LAW, Trial, Use};
use crate::cost::{Cost, inverse};
use crate::device::Device;
use crate::fit::{Fitted, Interval};
use crate::identify::Identified;
use crate::input::Load;
use crate::latency::{self, Knee, Latencies, Latency, Loads};
use crate::model::{Geometry, Model, Situation};
use crate::pattern::{Pattern, USUAL_CAPACITY, size};

/// A drive as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveFile {
    /// Its name in the book.
    pub name: String,
    /// Maker, model, size, and what is known of the unit.
    #[serde(default)]
    pub label: String,
    /// Where the measurements come from.
    #[serde(default)]
    pub source: String,
    /// The verdict in words.
    #[serde(default)]
    pub verdict: String,
    /// How far predictions are from measurements; written by `calibrate check --write`.
    #[serde(default)]
    pub error: String,
    /// Keys of a configuration.
    pub config: BTreeMap<String, toml::Value>,
    /// The real drive.
    #[serde(default)]
    pub drive: Real,
    /// Costs.
    pub cost: Costs,
    /// Keys of the configuration of timed runs.
    #[serde(default)]
    pub device: BTreeMap<String, toml::Value>,
    /// Predictions.
    #[serde(default)]
    pub predicted: Vec<Predicted>,
    /// Predictions of latencies over load.
    #[serde(default)]
    pub latency: Vec<Latency>,
    /// The prediction of the most writes a second.
    pub knee: Option<Knee>,
}

/// What is known of the real drive.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Real {
    /// Bytes that the host may address, such as `800GB`.
    pub capacity: Option<String>,
    /// Bytes that are erased together.
    pub superblock: Option<String>,
}

/// What pages cost, such as `0.687us/KB`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A page of the host.
    pub host: String,
    /// A page that GC moves.
    pub moved: String,
    /// The least time of a random write.
    pub least: String,
    /// Bytes written to flash over those of the host and of moved pages.
    pub overhead: Option<f64>,
}

/// A prediction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct Predicted {
    /// Name of the pattern.
    pub pattern: String,
    /// Its parameter.
    #[serde(default)]
    pub parameter: String,
    /// Host writes of the run in drive writes.
    pub drive_writes: f64,
    /// The predicted rate.
    pub MBps: f64,
    /// Its interval: two standard errors of law and seeds on each side.
    pub interval: [f64; 2],
    /// The measured rate.
    pub measured: f64,
    /// Drift of the measurement in percent.
    #[serde(default)]
    pub drift_pct: f64,
    /// The run was probably another pattern than its name says.
    #[serde(default)]
    pub mistaken: bool,
    /// Signed error of the prediction.
    pub error_pct: f64,
    /// What the cell was used for.
    #[serde(rename = "in")]
    pub used: Use,
}

impl Predicted {
    /// Its pattern.
    ///
    /// # Errors
    /// The name or the parameter is none.
    pub fn pattern(&self) -> Result<Pattern> {
        let wrong = |what: String| Error::usage(format!("[[predicted]]: {what}"));
        let pattern = Pattern::parse(&self.pattern, &self.parameter).map_err(wrong)?;
        pattern.ok_or_else(|| wrong(format!("`{}` is no pattern", self.pattern)))
    }

    /// The prediction of a cell by seeds of which the standard deviation is `spread`.
    pub fn of(cell: &Cell, rate: f64, spread: f64, used: Use) -> Predicted {
        let round = |value: f64| (value * 10.0).round() / 10.0;
        let wide = (2.0 * LAW.hypot(spread)).exp();
        Predicted {
            pattern: cell.pattern.name().into(),
            parameter: cell.pattern.parameter(),
            drive_writes: (cell.drive_writes * 1000.0).round() / 1000.0,
            MBps: round(rate),
            interval: [round(rate / wide), round(rate * wide)],
            measured: (cell.rate * 100.0).round() / 100.0,
            drift_pct: (cell.drift_pct * 100.0).round() / 100.0,
            mistaken: cell.mistaken,
            error_pct: round(100.0 * (rate / cell.rate - 1.0)),
            used,
        }
    }

    /// Its text.
    pub fn toml(&self) -> String {
        let Predicted { pattern, parameter, drive_writes, MBps, interval: [low, high], measured, drift_pct, .. } = self;
        let (error, used) = (self.error_pct, self.used.name());
        let drift = if *drift_pct == 0.0 { String::new() } else { format!("drift_pct = {drift_pct:?}\n") };
        let drift = if self.mistaken { format!("{drift}mistaken = true\n") } else { drift };
        let parameter = if parameter.is_empty() { String::new() } else { format!("parameter = {parameter:?}\n") };
        format!(
            "\n[[predicted]]\npattern = {pattern:?}\n{parameter}drive_writes = {drive_writes:?}\nMBps = {MBps:?}\n\
             interval = [{low:?}, {high:?}]\nmeasured = {measured:?}\n{drift}error_pct = {error:?}\nin = {used:?}\n"
        )
    }
}

/// What a file predicts.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// Rates.
    pub rates: Vec<Predicted>,
    /// Latencies over load.
    pub latencies: Vec<Latency>,
    /// The most writes a second.
    pub knee: Option<Knee>,
}

impl Predictions {
    /// The error line: rates, then latencies where they were measured.
    pub fn line(&self) -> String {
        let latencies = latency::line(&self.latencies, self.knee.as_ref());
        [Some(error_line(&self.rates)), latencies].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Their text.
    pub fn toml(&self) -> String {
        let rates: String = self.rates.iter().map(Predicted::toml).collect();
        let latencies: String = self.latencies.iter().map(latency_toml).collect();
        let knee = self.knee.as_ref().map_or(String::new(), |Knee { writes_per_s, measured: [low, high], error_pct }| {
            format!("\n[knee]\nwrites_per_s = {writes_per_s:?}\nmeasured = [{low:?}, {high:?}]\nerror_pct = {error_pct:?}\n")
        });
        rates + &latencies + &knee
    }
}

fn latency_toml(row: &Latency) -> String {
    let Latency { load, read_us, write_us, measured_read_us, measured_write_us, error_pct, used } = row;
    format!(
        "\n[[latency]]\nload = {load:?}\nread_us = {read_us:?}\nwrite_us = {write_us:?}\nmeasured_read_us = {measured_read_us:?}\n\
         measured_write_us = {measured_write_us:?}\nerror_pct = {error_pct:?}\nin = {:?}\n",
        used.name()
    )
}

/// The error line of rates: cells that count, their mean, and the worst of them.
pub fn error_line(predicted: &[Predicted]) -> String {
    let line = |of: &[&Predicted]| {
        let mean = of.iter().map(|cell| cell.error_pct.abs()).sum::<f64>() / of.len() as f64;
        let worst = of.iter().copied().max_by(|a, b| a.error_pct.abs().total_cmp(&b.error_pct.abs()));
        let worst = worst.map_or(String::new(), |cell| {
            let name = format!("{} {}", cell.pattern, cell.parameter);
            format!(", worst {:.1} % ({})", cell.error_pct.abs(), name.trim_end())
        });
        format!("{}, mean {mean:.1} %{worst}", ssdlab_lab::text::plural(of.len() as u64, "cell"))
    };
    let counts = |cell: &&Predicted| {
        cell.drift_pct <= crate::cells::DRIFT_PCT
            && !cell.mistaken
            && cell.used != Use::Fit
            && !cell.pattern().is_ok_and(|pattern| pattern.is_extreme() || matches!(pattern, Pattern::FioZipf(_)))
    };
    let all: Vec<&Predicted> = predicted.iter().filter(counts).collect();
    let (chosen, held): (Vec<&Predicted>, Vec<&Predicted>) =
        all.into_iter().partition(|cell| cell.used == Use::Identify);
    let parts = [(chosen, ""), (held, "not used in the choice: ")];
    let parts: Vec<String> =
        parts.iter().filter(|(of, _)| !of.is_empty()).map(|(of, what)| format!("{what}{}", line(of))).collect();
    if parts.is_empty() { "no other pattern was measured".into() } else { parts.join("; ") }
}

fn cost_of(key: &str, text: &str) -> Result<f64> {
    let number = text.trim().strip_suffix("us/KB").and_then(|number| number.trim().parse::<f64>().ok());
    number.filter(|cost| *cost > 0.0).ok_or_else(|| {
        Error::usage(format!("cost.{key}: `{text}` is no cost of a page")).help("write it as \"0.687us/KB\"")
    })
}

impl DriveFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not TOML, or no drive: with its name and line.
    pub fn parse(path: &Path, text: &str) -> Result<DriveFile> {
        let file: DriveFile = toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
            Error::new(
                Kind::Data { path: path.into() },
                format!("{}:{line}: {}", path.display(), error.message().trim()),
            )
            .help("a file of a drive is what `ssdlab calibrate identify -o FILE` writes")
        })?;
        file.model()?;
        file.cost()?;
        file.situation(1)?;
        if !file.device.is_empty() {
            Settings::parse(&path.display().to_string(), &file.timed_layer())?;
        }
        Ok(file)
    }

    /// What it predicts.
    pub fn predictions(&self) -> Predictions {
        let (rates, latencies, knee) = (self.predicted.clone(), self.latency.clone(), self.knee.clone());
        Predictions { rates, latencies, knee }
    }

    /// The measured loads that stand in it.
    pub fn loads(&self) -> Loads {
        let measured = |row: &Latency| Load {
            load: row.load,
            read: row.measured_read_us,
            write: row.measured_write_us,
            writes: None,
        };
        let rows = self.latency.iter().map(measured).collect();
        Loads { rows, knee: self.knee.as_ref().map(|knee| knee.measured) }
    }

    /// Its model.
    ///
    /// # Errors
    /// A key of `[config]` is missing, or none of the model.
    pub fn model(&self) -> Result<Model> {
        let missing = |key: &str, form: &str| Error::usage(format!("[config]: no `{key}` of the form {form}"));
        let number =
            |key: &str| self.config.get(key).and_then(toml::Value::as_integer).and_then(|n| u32::try_from(n).ok());
        let victim = self.config.get("schemes.victim");
        let frontiers = self.config.get("ftl.write_points").and_then(toml::Value::as_str);
        let candidate = victim.and_then(|victim| Candidate::read(victim, frontiers.unwrap_or("separate")));
        let candidate =
            candidate.ok_or_else(|| missing("schemes.victim", "\"greedy\", \"fifo\", { d-choices = { d = 10 } }"))?;
        let spare = self.config.get("device.over_provisioning").and_then(toml::Value::as_float);
        let spare = spare
            .filter(|spare| (0.0..1.0).contains(spare))
            .ok_or_else(|| missing("device.over_provisioning", "0.12"))?;
        let geometry = Geometry {
            blocks: number("geometry.blocks_per_plane").ok_or_else(|| missing("geometry.blocks_per_plane", "512"))?,
            pages: number("geometry.pages_per_block").ok_or_else(|| missing("geometry.pages_per_block", "512"))?,
        };
        let model = Model { candidate, spare: (spare * 1e6).round() as u32, geometry };
        let known = model.keys();
        if let Some(other) = self.config.keys().find(|key| !known.iter().any(|(known, _)| known == key)) {
            return Err(Error::usage(format!("[config]: `{other}` is no key of the model of a drive"))
                .help("give it to a run with --set"));
        }
        Ok(model)
    }

    /// Its costs.
    ///
    /// # Errors
    /// A cost has another form.
    pub fn cost(&self) -> Result<Cost> {
        Ok(Cost {
            host: cost_of("host", &self.cost.host)?,
            moved: cost_of("moved", &self.cost.moved)?,
            least: cost_of("least", &self.cost.least)?,
        })
    }

    /// What its runs need beside the model.
    ///
    /// # Errors
    /// A size has another form.
    pub fn situation(&self, seed: u64) -> Result<Situation> {
        let bytes = |key: &str, text: &Option<String>| {
            let read = |text: &String| {
                crate::pattern::bytes(text).ok_or_else(|| {
                    Error::usage(format!("drive.{key}: `{text}` is no size")).help("write it as \"800GB\"")
                })
            };
            text.as_ref().map(read).transpose()
        };
        let capacity = bytes("capacity", &self.drive.capacity)?.unwrap_or(USUAL_CAPACITY);
        Ok(Situation { capacity, superblock: bytes("superblock", &self.drive.superblock)?, seed })
    }

    /// The layer of a configuration that `--drive` adds to a run that counts.
    pub fn layer(&self) -> String {
        layer(&self.config)
    }

    /// The layer that it adds to a timed run; empty if there is none.
    pub fn timed_layer(&self) -> String {
        layer(&self.device)
    }
}

fn layer(keys: &BTreeMap<String, toml::Value>) -> String {
    keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// What identification found as a file predicts it.
pub fn all(found: &Identified, over_load: &Latencies) -> Predictions {
    Predictions { rates: predictions(found), latencies: over_load.rows.clone(), knee: over_load.knee.clone() }
}

/// The part of a file that the fit decides, up to its predictions. `capacity`: bytes of the drive, if known.
pub fn head(name: &str, found: &Identified, over_load: &Latencies, capacity: Option<u64>) -> String {
    let trial = &found.trials[found.verdict.best];
    let Fitted { model, cost, rms, .. } = trial.fitted;
    let (spare, moved) = found.intervals;
    let chosen = match found.verdict.kind {
        crate::verdict::Kind::Identified => "identified",
        crate::verdict::Kind::Equivalent => "one of two that fit",
        _ => "the best of those tried, not identified",
    };
    let mut text = format!("name = {name:?}\nlabel = \"\"\nsource = \"\"\nverdict = {:?}\n", found.verdict.sentence);
    let _ = writeln!(text, "error = {:?}\n\n[config]", all(found, over_load).line());
    for (key, value) in model.keys() {
        let origin = match key {
            "schemes.victim" | "ftl.write_points" => chosen.to_string(),
            "device.over_provisioning" => {
                let Geometry { blocks, pages } = model.geometry;
                format!(
                    "{}, of {blocks} blocks of {pages} pages; rms of the uniform run {:.1} %",
                    fitted(&spare, 3),
                    100.0 * rms
                )
            }
            _ => "assumed: the geometry that the fit is of".to_string(),
        };
        let _ = writeln!(text, "{:?} = {value} # {origin}", key);
    }
    text.push_str("\n[drive]\n");
    if let Some(bytes) = capacity {
        let _ = writeln!(text, "capacity = {:?} # given", format!("{bytes}B"));
    }
    if let Some((bytes, interval)) = found.superblock {
        let origin = interval.map_or("given".to_string(), |ends| {
            format!("fitted, {} to {}", size(ends.low as u64), size(ends.high as u64))
        });
        let _ = writeln!(text, "superblock = {:?} # {origin}", size(bytes));
    }
    let target = &found.target;
    let measured = if target.free_host {
        "fitted".to_string()
    } else {
        format!("measured: sequential writes, or the rate before GC, {:.0} MB/s", inverse(target.host))
    };
    let _ = write!(
        text,
        "\n[cost]\nhost = \"{:.4}us/KB\" # {measured}\nmoved = \"{:.4}us/KB\" # {}\nleast = \"{:.4}us/KB\" # measured: {:.0} MB/s before GC\n",
        cost.host,
        cost.moved,
        fitted(&moved, 3),
        cost.least,
        inverse(cost.least)
    );
    if let Some(overhead) = found.overhead {
        let _ = writeln!(text, "overhead = {overhead:.3} # measured: counters of the drive");
    }
    text + &device(&over_load.device, &model)
}

/// The configuration of timed runs.
fn device(device: &Device, model: &Model) -> String {
    let keys = device.keys(model).into_iter().map(|(key, value, origin)| format!("{key:?} = {value} # {origin}\n"));
    format!("\n[device]\n{}", keys.collect::<String>())
}

/// `fitted, 0.310 to 0.320`, or that it is not identified.
fn fitted(interval: &Interval, decimals: usize) -> String {
    let ends = format!("{:.decimals$} to {:.decimals$}", interval.low, interval.high);
    if interval.identifies() { format!("fitted, {ends}") } else { format!("not identified: {ends}") }
}

/// The predictions of the best policy.
pub fn predictions(found: &Identified) -> Vec<Predicted> {
    let trial: &Trial = &found.trials[found.verdict.best];
    let cells = found.cells.iter().enumerate();
    let of = |(i, cell): (usize, &Cell)| {
        let rate = trial.prediction(i)?;
        let used = match cell.pattern {
            Pattern::Uniform => Use::Fit,
            Pattern::Zones { active: 1, .. } if matches!(found.superblock, Some((_, Some(_)))) => Use::Fit,
            _ if cell.is_scored() => Use::Identify,
            _ => Use::HeldOut,
        };
        Some(Predicted::of(cell, rate, trial.spread(i), used))
    };
    cells.filter_map(of).collect()
}

/// The whole file.
pub fn text(name: &str, found: &Identified, over_load: &Latencies, capacity: Option<u64>) -> String {
    format!("{}{}", head(name, found, over_load, capacity), all(found, over_load).toml())
}

/// A file with other predictions: its comments and values stay, its error line is new.
///
/// # Errors
/// The file has no error line before its predictions.
pub fn rewritten(text: &str, predicted: &Predictions) -> Result<String> {
    let starts = ["\n[[predicted]]", "\n[[latency]]", "\n[knee]"];
    let end = starts.iter().filter_map(|start| text.find(start)).min().unwrap_or(text.len());
    let mut lines: Vec<String> = text[..end].trim_end().lines().map(str::to_string).collect();
    let line = lines.iter_mut().find(|line| line.starts_with("error = ")).ok_or_else(|| {
        Error::usage("the file has no line `error = \"\"` to write to").help("add one below its verdict")
    })?;
    *line = format!("error = {:?}", predicted.line());
    Ok(format!("{}\n{}", lines.join("\n"), predicted.toml()))
}
