//! `ssdlab calibrate`, `ssdlab drives` and `ssdlab run --drive`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ssdlab_drives::candidates::Candidate;
use ssdlab_drives::file::{self, DriveFile};
use ssdlab_drives::fit::Given;
use ssdlab_drives::identify::{self, How};
use ssdlab_drives::input::Input;
use ssdlab_drives::model::Geometry;
use ssdlab_drives::pattern::bytes;
use ssdlab_drives::{book, check, jobs, table};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::output::Output;
use ssdlab_lab::results::counted::Counted;
use ssdlab_lab::settings::{Document, Sources};

use crate::args::given;
use crate::output;

/// `run --drive`
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub struct DriveArg {
    /// A real drive, in place of a preset: one of `ssdlab drives`, or a file of `calibrate`. Needs --count-only; prints write
    /// amplification and the rate that follows, over host writes
    #[arg(long, value_name = "NAME-or-FILE.toml", conflicts_with = "preset")]
    pub drive: Option<String>,
}

impl DriveArg {
    /// Adds the drive's keys below all files.
    ///
    /// # Errors
    /// There is no such drive, or the run has times.
    pub fn add_to(&self, sources: &mut Sources, count_only: bool) -> Result<()> {
        let Some(name) = &self.drive else { return Ok(()) };
        let drive = book::find(name)?;
        if !count_only {
            return Err(Error::usage(format!("--drive {name}: no latency configuration of this drive is known"))
                .help("add --count-only: write amplification and the rate of writes are predicted"));
        }
        let text = drive.layer();
        sources.files.insert(0, Document::Text { name: format!("drive {}", drive.name), text });
        Ok(())
    }

    /// What the drive does over the host writes of a run; nothing without a drive.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn predicted(&self, capacity: u64, rows: &[Counted]) -> Result<String> {
        let Some(name) = &self.drive else { return Ok(String::new()) };
        let drive = book::find(name)?;
        let cost = drive.cost()?;
        let moved = |row: &Counted| row.moved_pages as f64 / row.host_pages.max(1) as f64;
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

/// `ssdlab drives`
#[derive(Args, Clone, Debug)]
pub struct DrivesArgs {
    /// Name of a drive
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ssdlab calibrate`
#[derive(Debug, Subcommand)]
pub enum CalibrateCommand {
    /// Print the fio jobs that measure a drive; they destroy its data
    Jobs(JobsArgs),
    /// Fit spare space and cost of GC of one policy to a uniform run
    Fit(FitArgs),
    /// Fit every policy to a uniform run, and judge them by their predictions of other patterns
    Identify(IdentifyArgs),
    /// Predict with the values of a drive, and compare with measurements; status 1 if a claimed cell is outside its interval
    Check(CheckArgs),
}

/// `ssdlab calibrate jobs`
#[derive(Args, Clone, Debug)]
pub struct JobsArgs {
    /// The device that is written
    #[arg(long, value_name = "DEV", default_value = "/dev/nvmeXnY")]
    pub device: String,
    /// Only what a first verdict needs
    #[arg(long)]
    pub quick: bool,
    /// Bytes of the drive, such as 960GB, for the zones of a zipf and for the hours that the jobs take
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: u64,
    /// MB/s of the first job (sequential), for the hours
    #[arg(long, value_name = "MBps")]
    pub rate: Option<f64>,
}

/// What was measured.
#[derive(Args, Clone, Debug)]
pub struct Measured {
    /// Tables of runs over host writes or of steady rates (CSV), or JSON of fio with its bandwidth logs beside it
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Bytes of the drive, such as 960GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub capacity: Option<u64>,
    /// Bytes of its superblock, such as 2GiB; by default it is fitted to runs of one active zone
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub superblock: Option<u64>,
    /// Give a key its value: device.over_provisioning, cost.host or cost.moved (microseconds a kilobyte)
    #[arg(long = "fix", value_name = "KEY=V", value_parser = assignment)]
    pub fixed: Vec<(String, f64)>,
    /// Fit a key that is measured otherwise: cost.host, where the link and not the flash limits sequential writes
    #[arg(long = "free", value_name = "KEY")]
    pub free: Vec<String>,
    /// Seeds of the policies that fit best
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
    /// The file of the drive that is written
    #[arg(short = 'o', long = "output", value_name = "DRIVE.toml")]
    pub output: PathBuf,
    /// Suppress remarks on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// `ssdlab calibrate fit`
#[derive(Args, Clone, Debug)]
pub struct FitArgs {
    /// What was measured.
    #[command(flatten)]
    pub measured: Measured,
    /// The policy: greedy, d-choices:10, cost-benefit:0.4 or fifo, with /separate or /shared
    #[arg(long, value_name = "POLICY", default_value = "greedy/separate")]
    pub policy: String,
}

/// `ssdlab calibrate identify`
#[derive(Args, Clone, Debug)]
pub struct IdentifyArgs {
    /// What was measured.
    #[command(flatten)]
    pub measured: Measured,
    /// Policies, with commas between them, as --policy of `calibrate fit` takes them; without frontiers both are tried
    #[arg(long, value_name = "LIST|all", default_value = "all")]
    pub candidates: String,
}

/// `ssdlab calibrate check`
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// A drive of the book, or a file
    #[arg(value_name = "NAME-or-DRIVE.toml")]
    pub drive: String,
    /// Measurements; without any, those in the file
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write the result as JSON; `-` means standard output, in place of the table
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write predictions and error line into the file, in place of those it has
    #[arg(long)]
    pub write: bool,
}

fn size(text: &str) -> std::result::Result<u64, String> {
    bytes(text).ok_or_else(|| format!("`{text}` is no size such as 960GB or 2GiB"))
}

fn assignment(text: &str) -> std::result::Result<(String, f64), String> {
    let parts =
        text.split_once('=').and_then(|(key, value)| Some((key.trim().to_string(), value.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not KEY=NUMBER"))
}

/// Runs a command of `calibrate`. Returns the exit status.
///
/// # Errors
/// The measurements can't be read or fitted, or a file can't be written.
pub(crate) fn calibrate(command: &CalibrateCommand) -> Result<u8> {
    match command {
        CalibrateCommand::Jobs(args) => {
            output::print(&jobs::text(&args.device, args.quick, args.capacity, args.rate))?;
        }
        CalibrateCommand::Fit(args) => {
            let candidates = Candidate::list(&args.policy)?;
            if candidates.len() != 1 {
                return Err(Error::usage(format!("--policy {}: a fit takes one policy", args.policy))
                    .help("add /separate or /shared, or use `calibrate identify`"));
            }
            fit(&args.measured, candidates)?;
        }
        CalibrateCommand::Identify(args) => fit(&args.measured, Candidate::list(&args.candidates)?)?,
        CalibrateCommand::Check(args) => return compare(args),
    }
    Ok(0)
}

fn fit(args: &Measured, candidates: Vec<Candidate>) -> Result<()> {
    let mut files = Files::new();
    args.inputs.iter().for_each(|path| files.reads("INPUT", path));
    files.write_all(&[("--output", Some(&args.output))])?;
    let mut to = Output::create(&args.output)?;
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
    let name = args.output.file_stem().map_or("drive".into(), |name| name.to_string_lossy());
    to.put(file::text(&name, &found, capacity).as_bytes())?;
    to.finish()?.publish()?;
    output::print(&table::identified(&found))
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
        None => output::print(&table::predictions(&predicted))?,
        Some(path) => match given(Some(path)) {
            None => output::print(&result)?,
            Some(path) => publish(path, &result)?,
        },
    }
    if args.write {
        let path = Path::new(&args.drive);
        if !args.drive.ends_with(".toml") {
            return Err(Error::usage(format!("--write: {} is a drive of the book, not a file", args.drive))
                .help("give a file such as drives/NAME.toml"));
        }
        let text = ssdlab_lab::files::read_data("a drive", path, 16 << 20)?;
        publish(path, &file::rewritten(&text, &predicted)?)?;
    }
    let outside = predicted.iter().any(|cell| check::is_claimed(cell) && !check::is_inside(cell));
    Ok(u8::from(outside))
}

fn publish(path: &Path, text: &str) -> Result<()> {
    let mut output = Output::create(path)?;
    output.put(text.as_bytes())?;
    output.finish()?.publish()
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
