//! Options that several commands have.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ssdlab_lab::input::Reading;
use ssdlab_report::page::Page;
use ssdlab_report::product::PageFile;
use ssdlab_sim::Check;
use ssdlab_trace::{OnBadLine, OpCodes, TimeOrder, WithinSecond};

/// Names of a choice, each with its help and what it stands for.
pub type Choices<T> = &'static [(&'static str, &'static str, T)];

/// The value parser of a choice.
pub fn choice<T: Copy + Send + Sync + 'static>(all: Choices<T>) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names)
        .map(|given| all.iter().find(|(name, ..)| *name == given).expect("one of the possible values").2)
}

/// How much the oracle checks.
pub const CHECKS: Choices<Check> = &[
    ("off", "Only the invariants that are always checked", Check::Off),
    ("sampled", "Also the data of one logical page in 64", Check::Sampled),
    ("full", "Also the data of every page, and scans of all state", Check::Full),
];

/// How a recorded trace is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading a trace")]
pub struct ReadingArgs {
    /// Format: auto, msr, spc, ssdsim, mqsim, disksim, blkparse, fio, alibaba, tencent, systor, vscsi, diskmon, blkreplay,
    /// ftrace, etw, biosnoop, iosnoop, io-tracer, lcs:id=UNIT, oraclegeneral:id=UNIT, parquet, or columns:<map> such as
    /// columns:time=0:ns,op=4:0r1w,offset=2:sectors,size=3:sectors,sep=space
    #[arg(long, value_name = "FMT", default_value = "auto")]
    pub format: String,
    /// Read only this device (disk, volume, unit) of the trace
    #[arg(long, value_name = "ID")]
    pub device: Option<String>,
    /// How to treat malformed lines: error, or skip=N to skip at most N
    #[arg(long, value_name = "error|skip=N", default_value = "error")]
    pub on_bad_line: OnBadLine,
    /// How to treat arrivals that go back in time: error (stop, unless the step is small), keep (a gap of zero), clamp (move
    /// up to the latest arrival) or sort (within a bounded window)
    #[arg(long, value_name = "error|keep|clamp|sort", default_value = "error")]
    pub time_order: TimeOrder,
    /// Which operation code means a read in SSDsim and MQSim traces
    #[arg(long, value_name = "read-is-one|read-is-zero", default_value = "read-is-one")]
    pub op_codes: OpCodes,
    /// Arrivals of a trace whose clock counts whole seconds (tencent): once (all at the start of their second, as recorded)
    /// or even (spread evenly over it)
    #[arg(long, value_name = "once|even", default_value = "once")]
    pub within_second: WithinSecond,
    /// Largest read or write to accept
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    pub max_request: u64,
}

impl ReadingArgs {
    /// The options of the readers.
    pub fn reading(&self) -> Reading {
        Reading {
            format: self.format.clone(),
            device: self.device.clone(),
            on_bad_line: self.on_bad_line,
            time_order: self.time_order,
            op_codes: self.op_codes,
            within_second: self.within_second,
            max_request: self.max_request,
        }
    }
}

/// The file that an option names; none for `-`, which is a standard stream.
pub fn given(path: Option<&PathBuf>) -> Option<&Path> {
    path.map(PathBuf::as_path).filter(|path| path.as_os_str() != "-")
}

/// The value parser of sizes.
pub(crate) fn size(text: &str) -> std::result::Result<u64, String> {
    text.parse::<ssdlab_sim::units::Bytes>().map(|bytes| bytes.0)
}

/// The report of a command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Results")]
pub struct ReportOptions {
    /// Write a page that explains the results, for a browser; it needs no network
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Leave the script out of the page: figures cannot be zoomed and show no values, and maps and timelines have fewer marks
    #[arg(long, requires = "report")]
    pub report_lite: bool,
    /// The page's title
    #[arg(long, value_name = "TEXT", requires = "report")]
    pub report_title: Option<String>,
}

impl ReportOptions {
    /// The report to write, if one is.
    pub fn wanted(&self, command: &str) -> Option<PageFile> {
        let (lite, title) = (self.report_lite, self.report_title.clone());
        let page = Page { lite, title, command: Some(command.into()), ..Page::default() };
        self.report.clone().map(|path| PageFile { path, page })
    }
}

/// A width: a length, or that of a column or of both columns of a page of USENIX and ACM.
pub(crate) fn width(text: &str) -> Result<Length, String> {
    match text {
        "column" => Ok(Length(3.33 * INCH)),
        "page" => Ok(Length(7.0 * INCH)),
        text => text.parse().map_err(|error| format!("{error}, or column (3.33in) or page (7in)")),
    }
}

/// Points of an inch.
pub const INCH: f64 = 72.0;
/// A length in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length(pub f64);

impl std::str::FromStr for Length {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let expected = || format!("`{text}` is no length: expected such as 3.5in, 89mm, 8pt or 640px");
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?;
        let value: f64 = text[..at].trim().parse().map_err(|_| expected())?;
        let unit = match &text[at..] {
            "in" => INCH,
            "mm" => INCH / 25.4,
            "cm" => INCH / 2.54,
            "pt" => 1.0,
            "px" => 0.75,
            _ => return Err(expected()),
        };
        let points = value * unit;
        if points.is_finite() && points > 0.0 && points <= 14_400.0 { Ok(Length(points)) } else { Err(expected()) }
    }
}
