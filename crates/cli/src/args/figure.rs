//! `ssdlab report` and `ssdlab plot`

use std::path::PathBuf;

use clap::Args;
use ssdlab_figures::svg::Theme;
use ssdlab_lab::results::timeline::Span;
use ssdlab_report::charts::Op;

use crate::args::shared::{Choices, Length, choice, size, width};

/// `ssdlab report`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab report summary.json histograms.csv series.csv blocks.csv -o run.html
  ssdlab report compare.json -o comparison.html --lite
  ssdlab report summary.json run.pftrace -o slowest.html --sections verdict,timeline")]
pub struct ReportArgs {
    /// Results of one run (--json, --histograms, --requests, --series, --blocks, --timeline), the JSON of `ssdlab compare`,
    /// `reproduce`, `explain` or `whatif`, a directory of summaries, or the store of a sweep; file types are detected from content
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE.html")]
    pub output: PathBuf,
    /// Leave the script out: figures cannot be zoomed and show no values, and maps and timelines have fewer marks
    #[arg(long)]
    pub lite: bool,
    /// The page's title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Sections to show, such as verdict,latency,causes [default: all that the inputs allow]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub sections: Option<Vec<String>>,
    /// Show this part of a timeline, such as 10ms..12.5ms [default: around the slowest request]
    #[arg(long, value_name = "FROM..TO")]
    pub timeline_window: Option<Span>,
    /// Most bytes of the page; what is left out to keep it is printed
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = size)]
    pub max_size: u64,
}

/// Which requests a figure shows.
const OPS: Choices<Op> =
    &[("read", "Reads", Op::Read), ("write", "Writes", Op::Write), ("all", "Both together", Op::All)];

/// Colours of a figure.
const THEMES: Choices<Theme> = &[
    ("paper", "White, without a title, for print", Theme::Paper),
    ("light", "On white", Theme::Light),
    ("dark", "On dark ground", Theme::Dark),
];

/// `ssdlab plot`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab plot --list                                            the figures, and what they are made of
  ssdlab plot percentiles run.histograms.csv -o fig.svg --width 3.5in --height 2.2in
  ssdlab plot series series.csv -o fig.svg --y read_p99_ns --theme light
  ssdlab plot compare compare.json -o fig.csv                   the numbers behind it
  ssdlab plot sweep-ratios results -o fig.pdf --width page      by workload, with the geometric mean
  ssdlab plot sweep-lines results -o fig.svg --x device.over_provisioning --hue schemes.victim")]
pub struct PlotArgs {
    /// The figure, see --list
    #[arg(value_name = "FIGURE")]
    pub figure: Option<String>,
    /// Results of one run (--json, --histograms, --requests, --series, --blocks, --timeline), the JSON of `ssdlab compare` or
    /// `ssdlab reproduce`, or the store of a sweep; file types are detected from content
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Where to write: .svg, .pdf, .png, .csv (the numbers) or .json (the figure); `-` is SVG on standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List the figures, and which of them the inputs allow
    #[arg(long)]
    pub list: bool,
    /// Width: a length, `column` (3.33in, of two-column papers) or `page` (7in, both columns)
    #[arg(long, value_name = "LENGTH", default_value = "3.5in", value_parser = width, help_heading = "Size and looks")]
    pub width: Length,
    /// Height [default: what the figure needs]
    #[arg(long, value_name = "LENGTH", help_heading = "Size and looks")]
    pub height: Option<Length>,
    /// Size of the text, at least 6pt
    #[arg(long, value_name = "LENGTH", default_value = "8pt", help_heading = "Size and looks")]
    pub font_size: Length,
    /// Pixels of an inch, for .png
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=2400), help_heading = "Size and looks")]
    #[cfg(feature = "figures")]
    pub dpi: u32,
    /// A font file for .pdf and .png [default: Liberation Sans]
    #[arg(long, value_name = "FILE.ttf", help_heading = "Size and looks")]
    #[cfg(feature = "figures")]
    pub font: Option<PathBuf>,
    /// Colours, and whether there is a title
    #[arg(long, value_name = "THEME", value_parser = choice(THEMES), default_value = "paper", help_heading = "Size and looks")]
    pub theme: Theme,
    /// A title in place of the figure's own; it is drawn in every theme
    #[arg(long, value_name = "TEXT", help_heading = "Size and looks")]
    pub title: Option<String>,
    /// Which requests: read, write or all [default: reads and writes beside each other]
    #[arg(long, value_name = "OP", value_parser = choice(OPS), help_heading = "Content")]
    pub op: Option<Op>,
    /// A column of --series, a measure of a comparison, or one of a sweep, such as latency_ns.read.p99
    #[arg(long, value_name = "MEASURE", help_heading = "Content")]
    pub y: Option<String>,
    /// The key of a sweep that is level; for pareto, a measure
    #[arg(long, value_name = "KEY", help_heading = "Content")]
    pub x: Option<String>,
    /// The key of a sweep with a line a value; for sweep-heatmap, the upright key
    #[arg(long, value_name = "KEY", help_heading = "Content")]
    pub hue: Option<String>,
    /// Logarithmic axes: x, y or xy
    #[arg(long, value_name = "AXES", value_parser = ["x", "y", "xy"], help_heading = "Content")]
    pub log: Option<String>,
    /// Show this part of a timeline, such as 10ms..12.5ms [default: around the slowest request]
    #[arg(long, value_name = "FROM..TO", help_heading = "Content")]
    pub timeline_window: Option<Span>,
}
