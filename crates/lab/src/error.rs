//! Why something was refused or could not be done: the kind of mistake, where it is, and what would make it right.
//!
//! Options carry the names that they have on the command line. How a message is laid out, and which exit status it leads
//! to, is up to the caller.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ssdlab_trace::TraceError;

/// A reason to stop, with where it is and what would help.
#[derive(Clone, Debug)]
pub struct Error {
    /// The kind of mistake, with what only this kind knows.
    pub kind: Kind,
    /// What is wrong, without place and help. That of a trace is laid out already: see [`Kind::Trace`].
    pub message: String,
    /// Where in a text the mistake is, if it is in one.
    pub spot: Option<Box<Spot>>,
    /// What more there is to know.
    pub notes: Vec<String>,
    /// What would make it right.
    pub help: Vec<String>,
}

/// Kinds of mistakes, with what programs may want to know of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options that make no sense together, a value out of range, or a name that is not known.
    Usage,
    /// A configuration: the rule or the form of a key is broken.
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
        /// What the system said.
        cause: io::ErrorKind,
        /// The number of that, where there is one.
        code: Option<i32>,
    },
    /// The caller stopped the run.
    Stopped,
    /// A law of the simulator does not hold: it panics, and whoever catches that may say so here.
    Invariant,
}

/// What is known of a configuration's mistake beside its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyError {
    /// Dotted key, such as `gc.threshold`; empty where a text could not be parsed at all.
    pub key: String,
    /// The names or values that would have been right, where they are a short list.
    pub expected: Vec<String>,
    /// The one of all known names that was probably meant.
    pub nearest: Option<String>,
}

/// Kinds of mistakes by who can put them right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The options, the configuration or the workload make no sense.
    Usage,
    /// The content of a trace is wrong.
    Trace,
    /// A file can't be read or written.
    File,
    /// Nothing is wrong: the caller wanted no more.
    Stopped,
    /// The simulator is wrong.
    Invariant,
}

/// A place in a text that the user wrote.
#[derive(Clone, Debug)]
pub struct Spot {
    /// What the text is called: a file name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The bytes in question.
    pub span: Range<usize>,
    /// What is said beside the caret; may be empty.
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

    /// Options that make no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(Kind::Usage, message)
    }

    /// A configuration whose key makes no sense; the message names the key.
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

    /// Shows a place.
    pub fn at(mut self, spot: Spot) -> Self {
        self.spot = Some(Box::new(spot));
        self
    }

    /// Adds what more there is to know.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds what would make it right; an empty text adds nothing.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help = help.into();
        if !help.is_empty() {
            self.help.push(help);
        }
        self
    }

    /// Who can put it right.
    pub fn class(&self) -> Class {
        match &self.kind {
            Kind::Usage | Kind::Config(_) | Kind::Workload { .. } | Kind::Memory { .. } => Class::Usage,
            Kind::Trace(error) => match error.kind() {
                ssdlab_trace::Kind::Usage => Class::Usage,
                ssdlab_trace::Kind::Data => Class::Trace,
                ssdlab_trace::Kind::File => Class::File,
            },
            Kind::Device => Class::Trace,
            Kind::File { .. } => Class::File,
            Kind::Stopped => Class::Stopped,
            Kind::Invariant => Class::Invariant,
        }
    }

    /// This one, unless another one that applies too goes before it: files that can't be written, then the rest.
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
