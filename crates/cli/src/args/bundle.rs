//! `ssdlab bundle`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ssdlab_bundle::choose::Many;
use ssdlab_bundle::make::Copies;
use ssdlab_bundle::manifest::is_digest;

use crate::args::shared::{Choices, choice, size};

/// `ssdlab bundle`
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Pack a study with its records, tables and figures into one file, and print its SHA-256
    Make(Box<MakeArgs>),
    /// Check a bundle: digests, records, table and a figure; run some points again and compare their records byte by byte
    Verify(BundleVerifyArgs),
    /// Print what a bundle says of itself; nothing is extracted
    Show(ShowArgs),
    /// Write the files of a bundle into a new folder
    Extract(ExtractArgs),
}

/// What is done with traces.
const COPIES: Choices<Copies> = &[
    ("include", "Copy them into the bundle", Copies::Include),
    ("digest", "Only their names and digests", Copies::Digest),
];

/// `ssdlab bundle make`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab bundle make study.toml --store results -o paper.ssdlab.tar.zst
  ssdlab bundle make study.toml --store results -o paper.ssdlab.tar.zst --title 'Spare space and GC' \\
      --figure sweep-lines,x=device.over_provisioning,hue=schemes.victim,y=latency_ns.read.p99_9 \\
      --traces digest --obtain web.csv.zst=https://example.org/web.csv.zst

The same study, store and program give the same bytes.")]
pub struct MakeArgs {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,
    /// The folder of its results, as `ssdlab sweep run` left it
    #[arg(long, value_name = "DIR")]
    pub store: PathBuf,
    /// The bundle, such as paper.ssdlab.tar.zst
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Copy the traces that the study reads (include), or say only which they are (digest)
    #[arg(long, value_name = "include|digest", value_parser = choice(COPIES), default_value = "digest", hide_possible_values = true)]
    pub traces: Copies,
    /// How a trace is obtained: its file name, and an address or a few words; may be repeated
    #[arg(long, value_name = "NAME=TEXT")]
    pub obtain: Vec<String>,
    /// A figure: its name, then options of `ssdlab plot`, as sweep-lines,x=KEY,hue=KEY,y=MEASURE,op=OP,log=AXES,title=TEXT; may be
    /// repeated [default: sweep-lines, if something is varied]
    #[arg(long = "figure", value_name = "SPEC")]
    pub figures: Vec<String>,
    /// The title [default: the name of the study]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Who made it, for its citation; may be repeated
    #[arg(long = "author", value_name = "NAME")]
    pub authors: Vec<String>,
    /// The measure whose least and greatest point `verify` always runs again [default: that of repeat.until, or latency_ns.all.p99]
    #[arg(long, value_name = "MEASURE")]
    pub measure: Option<String>,
    /// How far figures of another version of ssdlab may be from the records, as a share of each
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub tolerance: f64,
    /// Pack what is there although runs are missing; the bundle says so
    #[arg(long)]
    pub partial: bool,
    /// Compute the hashes of inputs again
    #[arg(long)]
    pub rehash: bool,
}

/// `ssdlab bundle verify`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab bundle verify paper.ssdlab.tar.zst
  ssdlab bundle verify paper.ssdlab.tar.zst --points all --traces ~/traces
  ssdlab bundle verify paper.ssdlab.tar.zst --digest SHA256     the digest that was published

Exit status: 0 every point that was to be run again was, and has the bytes of its record; 1 one could
not be compared byte for byte (a trace is absent, another version made the record, or its policies are
code and --allow-code is not given); 3 the file has
changed, is no bundle, or is one that `ssdlab bundle make` does not write; 5 something differs.")]
pub struct BundleVerifyArgs {
    /// The bundle
    #[arg(value_name = "FILE")]
    pub bundle: PathBuf,
    /// How many points to run again, or all; the extremes of the main table are always among them
    #[arg(long, value_name = "N|all", default_value = "5")]
    pub points: Many,
    /// Seed of the choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A folder with the traces that the bundle has no copies of; they are found by their content
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// The SHA-256 that the file must have, as `ssdlab bundle make` prints it
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    pub digest: Option<String>,
    /// Run the policies written in Python that the bundle has; read their sources first. Without it, points that have
    /// such policies are not run again, and the status is 1
    #[arg(long)]
    pub allow_code: bool,
    /// The interpreter that runs them, with the package ssdlab of this version [default: the one that this command
    /// runs in, or python3]
    #[arg(long, value_name = "FILE", requires = "allow_code")]
    pub python: Option<PathBuf>,
    /// Runs in parallel; results do not depend on it [default: one per core, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,
    /// Most bytes that the files of the bundle may have together
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    pub max_size: u64,
    /// Write what was found as JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Suppress progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// `ssdlab bundle show`
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// The bundle
    #[arg(value_name = "FILE")]
    pub bundle: PathBuf,
    /// Also list its files
    #[arg(long)]
    pub files: bool,
    /// Write its manifest, which is JSON; `-` means standard output, in place of the text
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

/// `ssdlab bundle extract`
#[derive(Args, Clone, Debug)]
pub struct ExtractArgs {
    /// The bundle
    #[arg(value_name = "FILE")]
    pub bundle: PathBuf,
    /// The folder, which must not exist yet [default: the name of the bundle without .ssdlab.tar.zst]
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// The SHA-256 that the file must have
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    pub digest: Option<String>,
    /// Most bytes that the files of the bundle may have together
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    pub max_size: u64,
}

fn digest(text: &str) -> std::result::Result<String, String> {
    let lower = text.to_ascii_lowercase();
    if is_digest(&lower) { Ok(lower) } else { Err("expected 64 digits of a SHA-256, 0 to 9 and a to f".into()) }
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1".into())
}
