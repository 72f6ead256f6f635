//! `ssdlab calibrate`, `ssdlab drives` and `ssdlab run --drive`.

use std::path::Path;

use ssdlab_drives::candidates::Candidate;
use ssdlab_drives::file::{self, DriveFile};
use ssdlab_drives::fit::Given;
use ssdlab_drives::identify::{self, How};
use ssdlab_drives::input::Input;
use ssdlab_drives::model::Geometry;
use ssdlab_drives::{book, check, jobs, latency, results, table};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::output::{Finished, Output};
use ssdlab_lab::settings::{Document, Sources};
use ssdlab_lab::writes::Counted;
use ssdlab_report::inputs::Inputs;

use crate::args::drives::{CalibrateCommand, CheckArgs, DriveArg, DrivesArgs, IdentifyArgs, Measured};
use crate::args::given;
use crate::output;
use crate::report::Begun;

/// What a run with times predicts of a drive.
const TIMED: &str = "a device with fewer blocks stands for the drive: rates, write amplification and reads beside writes are predicted, the \
                     tails of writes are not";

impl DriveArg {
    /// Adds the drive's keys below all files.
    ///
    /// # Errors
    /// There is no such drive, or the run has times.
    pub fn add_to(&self, sources: &mut Sources, count_only: bool) -> Result<()> {
        let Some(name) = &self.drive else { return Ok(()) };
        let drive = book::find(name)?;
        if !count_only && drive.device.is_empty() {
            return Err(Error::usage(format!("--drive {name}: no latency configuration of this drive is known"))
                .help("add --count-only: write amplification and the rate of writes are predicted"));
        }
        let text = if count_only { drive.layer() } else { drive.timed_layer() };
        sources.files.insert(0, Document::Text { name: format!("drive {}", drive.name), text });
        Ok(())
    }

    /// What the drive does over the host writes of a run that counts, which has rows of them; nothing without a drive.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn predicted(&self, capacity: u64, rows: &[Counted]) -> Result<String> {
        let Some(name) = &self.drive else { return Ok(String::new()) };
        let drive = book::find(name)?;
        if rows.is_empty() {
            return Ok(format!("\n{}: {}\n{}\n{TIMED}\n", drive.name, drive.verdict, drive.error));
        }
        let cost = drive.cost()?;
        let moved = |row: &Counted| row.moved_pages() as f64 / row.host_pages.max(1) as f64;
        let rows: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| row.host_pages > 0)
            .map(|row| (row.host_bytes as f64 / capacity as f64, moved(row)))
            .collect();
        let mut text = format!("\n{}: {}\n{}\n\n", drive.name, drive.verdict, drive.error);
        text += "drive writes  write amplification    MB/s\n";
        // A screen of rows; --series has all of them.
        let step = rows.len().div_ceil(40).max(1);
        for part in rows.chunks(step) {
            let mean = part.iter().map(|(_, moved)| moved).sum::<f64>() / part.len() as f64;
            let at = part.last().map_or(0.0, |(at, _)| *at);
            for (at, amplification, rate) in check::over_writes(&cost, &[(at, mean)]) {
                text += &format!("{at:>12.2}  {amplification:>19.3}  {rate:>6.0}\n");
            }
        }
        Ok(text)
    }
}

/// Runs a command of `calibrate`. Returns the exit status.
///
/// # Errors
/// The measurements can't be read or fitted, or a file can't be written.
pub(crate) fn calibrate(command: &CalibrateCommand, line: &str) -> Result<u8> {
    match command {
        CalibrateCommand::Jobs(args) => {
            let files = args.workloads.iter().flat_map(|folder| {
                let texts = jobs::workloads(args.quick, args.capacity).into_iter();
                texts.map(move |(name, text)| (folder.join(name + ".toml"), text))
            });
            files.into_iter().try_for_each(|(path, text)| output::write(&path, text.as_bytes()))?;
            output::print(&jobs::text(&args.device, args.quick, args.latency, args.capacity, args.rate))?;
        }
        CalibrateCommand::Fit(args) => {
            let candidates = Candidate::list(&args.policy)?;
            if candidates.len() != 1 {
                return Err(Error::usage(format!("--policy {}: a fit takes one policy", args.policy))
                    .help("add /separate or /shared, or use `calibrate identify`"));
            }
            fit(&args.measured, candidates, None, line)?;
        }
        CalibrateCommand::Identify(args) => fit(&args.measured, Candidate::list(&args.candidates)?, Some(args), line)?,
        CalibrateCommand::Check(args) => return compare(args),
    }
    Ok(0)
}

/// Fits policies. `shown`: what `identify` writes beside the drive.
fn fit(args: &Measured, candidates: Vec<Candidate>, shown: Option<&IdentifyArgs>, line: &str) -> Result<()> {
    let mut files = Files::new();
    args.inputs.iter().for_each(|path| files.reads("INPUT", path));
    let json = shown.and_then(|shown| shown.json.as_ref());
    let page = shown.and_then(|shown| shown.report.report.as_deref());
    files.write_all(&[("--output", Some(&args.output)), ("--json", given(json)), ("--report", page)])?;
    let to = Output::create(&args.output)?;
    let file = given(json).map(Output::create).transpose()?;
    let page = shown.map(|shown| Begun::create(&shown.report, line)).transpose()?.flatten();
    let input = Input::read(&args.inputs, args.capacity)?;
    if !args.quiet {
        input.remarks.iter().for_each(output::remark);
    }
    let given = Given { fixed: args.fixed.clone(), free: args.free.clone() };
    let (capacity, superblock, seeds) = (args.capacity, args.superblock, args.seeds);
    let found = identify::identify(
        &input,
        &How { candidates, capacity, superblock, seeds, geometry: Geometry::default(), given },
    )?;
    let fitted = &found.trials[found.verdict.best].fitted;
    let over_load = latency::of_drive(&fitted.model, &fitted.cost, found.target.drive_writes(), &input.loads)?;
    let name = args.output.file_stem().map_or("drive".into(), |name| name.to_string_lossy());
    let mut finished = vec![to.complete(file::text(&name, &found, &over_load, capacity).as_bytes())?];
    if json.is_none() && page.is_none() {
        finished.into_iter().try_for_each(Finished::publish)?;
        return output::print(&table::identified(&found, &over_load));
    }
    let value = results::json(&name, &found, &over_load)?;
    let text = format!("{value:#}\n");
    finished.extend(file.map(|file| file.complete(text.as_bytes())).transpose()?);
    if let Some(page) = page {
        let inputs = Inputs { drive: Some(value), ..Inputs::default() };
        finished.push(page.finish(&inputs, args.quiet)?);
    }
    finished.into_iter().try_for_each(Finished::publish)?;
    if json.is_some_and(|path| path == Path::new("-")) {
        return output::print(&text);
    }
    output::print(&table::identified(&found, &over_load))
}

fn compare(args: &CheckArgs) -> Result<u8> {
    let drive = book::find(&args.drive)?;
    let input = match args.inputs.as_slice() {
        [] => None,
        paths => Some(Input::read(paths, drive.situation(1).ok().map(|situation| situation.capacity))?),
    };
    let predicted = check::check(&drive, input.as_ref())?;
    let result = format!("{:#}\n", check::json(&drive, &predicted));
    match &args.json {
        None => output::print(
            &(table::predictions(&predicted.rates) + &table::latencies(&predicted.latencies, predicted.knee.as_ref())),
        )?,
        Some(path) => output::write(path, result.as_bytes())?,
    }
    if args.write {
        let path = Path::new(&args.drive);
        if !args.drive.ends_with(".toml") {
            return Err(Error::usage(format!("--write: {} is a drive of the book, not a file", args.drive))
                .help("give a file such as drives/NAME.toml"));
        }
        let text = ssdlab_lab::files::read_data("a drive", path, 16 << 20)?;
        let output = Output::changed(path)?;
        output.complete(file::rewritten(&text, &predicted)?.as_bytes())?.publish()?;
    }
    let outside = predicted.rates.iter().any(|cell| check::is_claimed(cell) && !check::is_inside(cell))
        || !latency::is_inside(&predicted.latencies, predicted.knee.as_ref());
    Ok(u8::from(outside))
}

/// Prints the book, or a drive of it.
///
/// # Errors
/// There is no such drive.
pub(crate) fn drives(args: &DrivesArgs) -> Result<()> {
    let files: Vec<DriveFile> = match &args.name {
        Some(name) if !args.json => return output::print(book::text(name)?),
        Some(name) => vec![book::find(name)?],
        None => book::all()?,
    };
    if !args.json {
        return output::print(&table::book(&files));
    }
    let all = files.iter().map(check::described).collect::<Result<Vec<_>>>()?;
    output::print(&format!("{:#}\n", serde_json::Value::Array(all)))
}
