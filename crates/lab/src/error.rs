//! Errors: their kind, their place in a text, and the fix.
//!
//! Options carry their command-line names. The caller chooses layout and exit status.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ssdlab_sim::policy::PolicyFault;
use ssdlab_trace::TraceError;

/// An error with its place and its fix.
#[derive(Clone, Debug)]
pub struct Error {
    /// The kind, with the data of that kind.
    pub kind: Kind,
    /// What is wrong, without place and help. The message of a trace is formatted already: see [`Kind::Trace`].
    pub message: String,
    /// The place in a text, if there is one.
    pub spot: Option<Box<Spot>>,
    /// Further facts.
    pub notes: Vec<String>,
    /// How to fix it.
    pub help: Vec<String>,
}

/// Kinds of errors, with data for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options that contradict each other, a value out of range, or an unknown name.
    Usage,
    /// A configuration breaks a rule, or a key has a value of the wrong form.
    Config(Box<KeyError>),
    /// A workload file.
    Workload {
        /// The key, such as `phase[0].stream[1].size`; empty for the file as a whole.
        key: String,
    },
    /// The device needs more memory than it may take.
    Memory {
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },
    /// Reading, fitting or writing a trace failed; the report has file, line, column, what was expected and the fix.
    Trace(TraceError),
    /// The device cannot serve the requests of the trace.
    Device,
    /// A file can't be read or written.
    File {
        /// Its name as given.
        path: PathBuf,
        /// The message of the system.
        cause: io::ErrorKind,
        /// The error number of the system, if there is one.
        code: Option<i32>,
    },
    /// The content of a file of results is not what it should be.
    Data {
        /// Its name as given.
        path: PathBuf,
    },
    /// The caller stopped the run.
    Stopped,
    /// A policy from outside failed.
    Policy(Box<PolicyFault>),
    /// An invariant of the simulator failed. The simulator panics; a caller that catches the panic may report it so.
    Invariant,
}

/// Details of a configuration error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyError {
    /// Dotted key, such as `gc.threshold`; empty where a text could not be parsed at all.
    pub key: String,
    /// The valid names or values, if the list is short.
    pub expected: Vec<String>,
    /// The known name that was probably meant.
    pub nearest: Option<String>,
}

/// Classes of errors by who can fix them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The options, the configuration or the workload are invalid.
    Usage,
    /// The content of a trace or of a file of results is invalid.
    Trace,
    /// A file can't be read or written.
    File,
    /// No error: the caller stopped the run.
    Stopped,
    /// A defect of the simulator.
    Invariant,
}

/// A place in a text that the user wrote.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The name of the text: a file name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The bytes in question.
    pub span: Range<usize>,
    /// The label of the caret; may be empty.
    pub label: String,
}

impl Spot {
    /// The line in which the span begins, from 1.
    pub fn line(&self) -> usize {
        1 + self.before().matches('\n').count()
    }

    /// The column at which the span begins, in characters from 1.
    pub fn column(&self) -> usize {
        1 + self.before().chars().rev().take_while(|c| *c != '\n').count()
    }

    fn before(&self) -> &str {
        let mut at = self.span.start.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        &self.text[..at]
    }
}

/// The usual result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with a message and nothing more.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), spot: None, notes: Vec::new(), help: Vec::new() }
    }

    /// An error about options.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(Kind::Usage, message)
    }

    /// An error about a key of a configuration; the message names the key.
    pub fn config(key: impl Into<String>, message: impl Into<String>) -> Self {
        Error::new(Kind::Config(Box::new(KeyError { key: key.into(), ..KeyError::default() })), message)
    }

    /// A file that can't be read or written: `verb` says which of the two.
    pub fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::StorageFull => "no space left on the device".into(),
            io::ErrorKind::NotFound => "no such file or directory".into(),
            io::ErrorKind::PermissionDenied => "permission denied".into(),
            io::ErrorKind::IsADirectory => "it is a directory".into(),
            io::ErrorKind::FileTooLarge => "the file may not grow any more (file size limit)".into(),
            _ => error.to_string(),
        };
        let kind = Kind::File { path: path.into(), cause: error.kind(), code: error.raw_os_error() };
        Error::new(kind, format!("cannot {verb} {}: {reason}", path.display()))
    }

    /// Adds a place.
    pub fn at(mut self, spot: Spot) -> Self {
        self.spot = Some(Box::new(spot));
        self
    }

    /// The option that a varied value comes from, in place of the general one.
    pub fn of_option(mut self, option: &str) -> Self {
        if let Some(spot) = self.spot.as_mut().filter(|spot| spot.name == "--vary") {
            spot.name = option.into();
        }
        self
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a fix; an empty text adds nothing.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help = help.into();
        if !help.is_empty() {
            self.help.push(help);
        }
        self
    }

    /// Its class: who can fix it.
    pub fn class(&self) -> Class {
        match &self.kind {
            Kind::Usage | Kind::Config(_) | Kind::Workload { .. } | Kind::Memory { .. } => Class::Usage,
            Kind::Trace(error) => match error.kind() {
                ssdlab_trace::Kind::Usage => Class::Usage,
                ssdlab_trace::Kind::Data => Class::Trace,
                ssdlab_trace::Kind::File => Class::File,
            },
            Kind::Device | Kind::Data { .. } => Class::Trace,
            Kind::File { .. } => Class::File,
            Kind::Stopped => Class::Stopped,
            Kind::Policy(_) => Class::Usage,
            Kind::Invariant => Class::Invariant,
        }
    }

    /// This error, unless the other has priority: files that can't be written come first.
    pub fn unless(self, other: Option<Error>) -> Error {
        other.filter(|other| other.class() == Class::File).unwrap_or(self)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Error {
        let message = error.to_string();
        Error::new(Kind::Trace(error), message)
    }
}

impl From<PolicyFault> for Error {
    fn from(fault: PolicyFault) -> Error {
        let message = format!("{} at {} ns, plane {}: {}", fault.slot, fault.now.0, fault.plane.0, fault.message);
        Error::new(Kind::Policy(Box::new(fault)), message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if let Some(spot) = &self.spot {
            write!(f, " ({}:{}:{})", spot.name, spot.line(), spot.column())?;
        }
        self.notes.iter().chain(&self.help).try_for_each(|more| write!(f, "; {more}"))
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "[gc]\n# é\nthréshold = 1\n";
        let spot =
            |start: usize| Spot { name: "a.toml".into(), text: text.into(), span: start..start, label: "".into() };
        let at = |spot: Spot| (spot.line(), spot.column());
        assert_eq!(at(spot(0)), (1, 1));
        assert_eq!(at(spot(text.find('é').unwrap())), (2, 3));
        assert_eq!(at(spot(text.find('1').unwrap())), (3, 13));
        assert_eq!(at(spot(usize::MAX)), (4, 1));
        let error = Error::config("gc.threshold", "gc.threshold: too high").at(spot(5)).help("use less");
        assert_eq!(error.to_string(), "gc.threshold: too high (a.toml:2:1); use less");
    }

    #[test]
    fn a_file_that_cannot_be_written_goes_before_what_it_led_to() {
        let file = || Error::file("write", Path::new("x"), &io::ErrorKind::StorageFull.into());
        assert_eq!(Error::usage("late").unless(Some(file())).class(), Class::File);
        assert_eq!(Error::usage("first").unless(Some(Error::usage("second"))).message, "first");
    }
}
