//! The `ssdlab` command as a library, so that other programs can embed it. It parses arguments and formats text; `ssdlab_lab`
//! does the work.

pub mod args;
mod blocks;
pub mod bundle;
mod chart;
pub mod compare;
pub mod drives;
mod explain;
#[cfg(feature = "figures")]
mod export;
pub mod fault;
pub mod fleet;
mod import;
pub mod ladder;
mod life;
mod output;
mod progress;
mod reference;
pub mod report;
mod reproduce;
pub mod run;
mod sections;
#[cfg(unix)]
pub mod serve;
mod show;
mod signals;
pub mod sweep;
mod table;
mod trace;
mod volumes;
mod whatif;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use ssdlab_lab::error::{Class, Error, Kind, Result};

use args::{Cli, Command};

/// Message and place of the last panic.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// The interpreter of Python that this process is, if it is one.
static PYTHON: OnceLock<PathBuf> = OnceLock::new();

/// Says which interpreter of Python this process is, and which module of it has this code: a command that needs an interpreter in a
/// process of its own takes this one, and the module is the file of the program.
pub fn python(own: PathBuf, module: PathBuf) {
    // The first one stays: a process is only one.
    let _ = PYTHON.set(own);
    ssdlab_bundle::make::is_in(module);
}

/// The interpreter that runs code of Python where none is named.
fn interpreter() -> PathBuf {
    PYTHON.get().filter(|own| !own.as_os_str().is_empty()).cloned().unwrap_or_else(|| "python3".into())
}

/// Runs the command with these arguments, the program's name first, and returns its exit status.
pub fn status_from<I: IntoIterator<Item = OsString>>(arguments: I) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = Cli::command().try_get_matches_from(&arguments);
    let parsed =
        parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, options(&matches), innermost(&matches))));
    let (cli, options, command) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(fault::status(Class::Usage));
        }
    };
    let line = quoted(&shortened(&arguments, &command));
    if let Some(columns) = cli.columns.map(usize::from).or_else(ssdlab_lab::layout::terminal) {
        ssdlab_lab::layout::fit(columns);
    }
    ssdlab_lab::files::guard();
    if let Err(error) = signals::watch() {
        fault::print(&error);
        return fault::status(error.class());
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
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| dispatch(cli.command, &options, &line, &quoted(&arguments))));
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
    fault::status(error.class())
}

/// What the value of an option or an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A file or a directory, or a name.
    Path,
    /// `NAME=trace:FILE,...`, as `--tenant` takes it.
    Tenant,
    /// Neither names a file.
    Other,
}

impl Content {
    fn of(argument: &clap::Arg) -> Content {
        // Names of workloads and files stand for each other.
        let either = ["workload"];
        match argument.get_id().as_str() {
            "tenants" => Content::Tenant,
            id if either.contains(&id) => Content::Path,
            _ if argument.get_value_parser().type_id() == clap::value_parser!(PathBuf).type_id() => Content::Path,
            _ => Content::Other,
        }
    }

    /// A value with files by their base names.
    fn short(self, text: &str) -> OsString {
        let base = |path: &str| Path::new(path).file_name().map_or(OsString::from(path), OsString::from);
        match self {
            Content::Path => base(text),
            Content::Tenant => {
                let end = text.find(',').unwrap_or(text.len());
                let (source, options) = text.split_at(end);
                let Some((name, path)) = source.split_once(':') else { return text.into() };
                let mut short = OsString::from(format!("{name}:"));
                short.push(base(path));
                short.push(options);
                short
            }
            Content::Other => text.into(),
        }
    }
}

/// The command that was given, such as `sweep run`.
fn innermost(matches: &ArgMatches) -> clap::Command {
    let (mut command, mut matches) = (Cli::command(), matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, matches) = (found.clone(), inner);
    }
    command
}

/// The arguments with files by their base names, so that a report says nothing of the machine. The type of an option says whether its
/// value is a file.
fn shortened(arguments: &[OsString], command: &clap::Command) -> Vec<OsString> {
    let valued = |argument: &&clap::Arg| argument.get_action().takes_values();
    let long = |name: &str| {
        let found = command.get_arguments().filter(valued).find(|argument| argument.get_long() == Some(name));
        found.map(Content::of)
    };
    let short = |letter: char| {
        let found = command.get_arguments().filter(valued).find(|argument| argument.get_short() == Some(letter));
        found.map(Content::of)
    };
    let free = match command.get_positionals().any(|argument| Content::of(argument) == Content::Path) {
        true => Content::Path,
        false => Content::Other,
    };
    let (mut next, mut only_free) = (None, false);
    let one = |argument: &OsString| {
        let text = argument.to_string_lossy();
        if let Some(content) = next.take() {
            return Content::short(content, &text);
        }
        if only_free || text == "-" || !text.starts_with('-') {
            return free.short(&text);
        }
        if let Some(option) = text.strip_prefix("--") {
            only_free = option.is_empty();
            let Some((name, value)) = option.split_once('=') else {
                next = long(option);
                return argument.clone();
            };
            let mut joined = OsString::from(format!("--{name}="));
            joined.push(long(name).unwrap_or(Content::Other).short(value));
            return joined;
        }
        let mut letters = text[1..].chars();
        let Some((letter, content)) = letters.next().and_then(|letter| Some((letter, short(letter)?))) else {
            return argument.clone();
        };
        let value = letters.as_str();
        if value.is_empty() {
            next = Some(content);
            return argument.clone();
        }
        let mut joined = OsString::from(format!("-{letter}"));
        joined.push(content.short(value));
        joined
    };
    arguments.iter().map(one).collect()
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

fn dispatch(command: Command, options: &[String], line: &str, again: &str) -> Result<u8> {
    match command {
        Command::Calibrate(command) => return drives::calibrate(&command, line),
        Command::Drives(args) => drives::drives(&args),
        Command::Bundle(command) => return bundle::bundle(&command),
        Command::Sweep(command) => return sweep::sweep(&command, line, again),
        Command::Fleet(command) => return fleet::fleet(&command, line, again),
        Command::Merge { inputs, output } => sweep::merge(&inputs, &output),
        Command::Run(args) => return run::run(&args, line),
        Command::Life(args) => life::life(&args, line),
        Command::Compare(args) => compare::compare(&args, line),
        Command::Ladder(args) => ladder::ladder(&args, line),
        Command::Reproduce(args) => reproduce::reproduce(&args, line),
        Command::Explain(args) => explain::explain(&args, options, line),
        Command::Whatif(args) => whatif::whatif(&args, line),
        #[cfg(unix)]
        Command::Serve(args) => serve::serve(&args, line),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with options or arguments of its own.
    fn each(command: &clap::Command, found: &mut Vec<clap::Command>) {
        found.push(command.clone());
        command.get_subcommands().for_each(|inner| each(inner, found));
    }

    /// Whatever names a file says so in its help, and is shortened.
    #[test]
    fn no_option_keeps_the_directory_of_its_file() {
        let (mut commands, mut seen) = (Vec::new(), 0);
        each(&Cli::command(), &mut commands);
        for command in &commands {
            for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
                let names = argument.get_value_names().unwrap_or_default().iter();
                let of_file =
                    |name: &str| ["FILE", "DIR", ".toml", ".csv", "STORE"].iter().any(|word| name.contains(word));
                if !names.clone().any(|name| of_file(name)) {
                    continue;
                }
                seen += 1;
                let value =
                    if Content::of(argument) == Content::Tenant { "a=trace:/secret/x,depth=2" } else { "/secret/x" };
                let spelled = match (argument.get_long(), argument.get_short()) {
                    (Some(long), _) => vec![vec![format!("--{long}={value}")], vec![format!("--{long}"), value.into()]],
                    (None, Some(short)) => {
                        vec![vec![format!("-{short}{value}")], vec![format!("-{short}"), value.into()]]
                    }
                    (None, None) => vec![vec![value.to_string()]],
                };
                for words in spelled {
                    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
                    let line = quoted(&[vec!["ssdlab".into()], shortened(&words, command)].concat());
                    assert!(line.ends_with(&value.replace("/secret/", "")), "{}: {line}", command.get_name());
                }
            }
        }
        assert!(seen > 40, "{seen} options and arguments name files");
    }
}
