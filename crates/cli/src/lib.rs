//! The `ssdlab` command as a library, so that other programs can embed it. It parses arguments and formats text; `ssdlab_lab`
//! does the work.

pub mod args;
mod blocks;
mod chart;
pub mod compare;
pub mod drives;
mod explain;
#[cfg(feature = "figures")]
mod export;
pub mod fault;
pub mod fleet;
mod import;
mod layout;
mod output;
mod progress;
mod reference;
pub mod report;
pub mod reproduce;
pub mod run;
mod sections;
mod show;
mod signals;
pub mod sweep;
mod table;
mod trace;
mod whatif;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use ssdlab_lab::error::{Error, Kind, Result};

use args::{Cli, Command};
use fault::Status;

/// Message and place of the last panic.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Runs the command with these arguments, the program's name first.
pub fn main_from<I: IntoIterator<Item = OsString>>(arguments: I) -> ExitCode {
    ExitCode::from(status_from(arguments))
}

/// Runs the command with these arguments, the program's name first, and returns its exit status.
pub fn status_from<I: IntoIterator<Item = OsString>>(arguments: I) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = Cli::command().try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, options(&matches))));
    let (cli, options) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(Status::Usage as u8);
        }
    };
    let line = quoted(&shortened(&arguments));
    ssdlab_lab::files::guard();
    if let Err(error) = signals::watch() {
        fault::print(&error);
        return Status::from(error.class()) as u8;
    }
    // A broken invariant panics in the simulator. The hook keeps the message; it is printed once, below.
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let what = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("no message");
        let place = info.location().map_or(String::new(), |at| format!(" (at {}:{})", at.file(), at.line()));
        if let Ok(mut slot) = PANIC.lock() {
            slot.get_or_insert_with(|| format!("{what}{place}"));
        }
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| dispatch(cli.command, &options, &line)));
    let error = match outcome {
        Ok(Ok(status)) => return status,
        Ok(Err(error)) => error,
        Err(_) => {
            let what = PANIC.lock().ok().and_then(|mut slot| slot.take()).unwrap_or_default();
            Error::new(Kind::Invariant, format!("invariant failed: {what}"))
                .note(format!("ssdlab {}, repeat with: {}", env!("CARGO_PKG_VERSION"), quoted(&arguments)))
                .help("this is a defect of the simulator: please report it with this message, the configuration and the trace")
        }
    };
    fault::print(&error);
    Status::from(error.class()) as u8
}

/// The arguments with files by their base names, so that a report says nothing of the machine.
fn shortened(arguments: &[OsString]) -> Vec<OsString> {
    const FILES: [&str; 15] = [
        "--trace",
        "--traces",
        "--workload",
        "--json",
        "--requests",
        "--series",
        "--timeline",
        "--blocks",
        "--histograms",
        "--perf",
        "--report",
        "--rows",
        "--import",
        "--follow-traces",
        "--store",
    ];
    let named_by_ending = |text: &str| {
        let text = text.to_lowercase();
        [".toml", ".csv", ".parquet"].iter().any(|ending| text.ends_with(ending))
    };
    let base = |path: &str| Path::new(path).file_name().map_or(OsString::from(path), OsString::from);
    let mut out: Vec<OsString> = Vec::new();
    for (i, argument) in arguments.iter().enumerate() {
        let text = argument.to_string_lossy();
        let named = |option: &str| FILES.contains(&option) || option == "--summaries";
        let follows = i > 0 && named(&arguments[i - 1].to_string_lossy());
        out.push(match text.split_once('=') {
            Some((option, path)) if named(option) => {
                let mut short = OsString::from(format!("{option}="));
                short.push(base(path));
                short
            }
            _ if follows || (!text.starts_with('-') && named_by_ending(&text)) => base(&text),
            _ => argument.clone(),
        });
    }
    out
}

/// The command line, quoted for a shell.
pub fn quoted(arguments: &[OsString]) -> String {
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./=+,:@%".contains(&b));
    let quote = |text: &OsString| {
        let text = text.to_string_lossy();
        if plain(&text) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    let mut words = vec!["ssdlab".to_string()];
    words.extend(arguments.iter().skip(1).map(quote));
    words.join(" ")
}

/// The options of the command that stand on the command line, such as `--limit`.
fn options(matches: &ArgMatches) -> Vec<String> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let command = Cli::command();
    let Some(command) = command.find_subcommand(name) else { return Vec::new() };
    let given = command.get_arguments().filter(|argument| {
        let id = argument.get_id().as_str();
        matches!(matches.try_contains_id(id), Ok(true)) && matches.value_source(id) == Some(ValueSource::CommandLine)
    });
    given.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
}

fn dispatch(command: Command, options: &[String], line: &str) -> Result<u8> {
    match command {
        Command::Calibrate(command) => return drives::calibrate(&command),
        Command::Drives(args) => drives::drives(&args),
        Command::Sweep(command) => return sweep::sweep(&command, line),
        Command::Fleet(command) => return fleet::fleet(&command, line),
        Command::Merge { inputs, output } => sweep::merge(&inputs, &output),
        Command::Run(args) => run::run(&args, line),
        Command::Compare(args) => compare::compare(&args, line),
        Command::Reproduce(args) => reproduce::reproduce(&args, line),
        Command::Explain(args) => explain::explain(&args, options, line),
        Command::Whatif(args) => whatif::whatif(&args, line),
        Command::Import(args) => import::import(&args),
        Command::Report(args) => report::report(&args),
        Command::Plot(args) => report::plot(&args),
        Command::Config(command) => show::config(&command),
        Command::Trace(command) => trace::trace(&command),
        Command::Presets { name } => show::presets(name.as_deref()),
        Command::Schemes { name } => show::schemes(name.as_deref()),
        Command::Workloads { name } => show::workloads(name.as_deref()),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ssdlab", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
        Command::Manpage { directory: Some(directory) } => clap_mangen::generate_to(Cli::command(), &directory)
            .map_err(|error| Error::file("write manual pages to", &directory, &error)),
        Command::Manpage { directory: None } => {
            let mut text = Vec::new();
            let page = clap_mangen::Man::new(Cli::command());
            page.render(&mut text).map_err(|error| Error::file("write", "the manual page".as_ref(), &error))?;
            output::print(&String::from_utf8_lossy(&text))
        }
    }
    .map(|()| 0)
}
