//! Errors of traces, in one message form.
//!
//! Every error gives its place (file, line, column, field) and an excerpt that is safe to print, and ends with the fix.
//! Nothing here prints: callers render with `Display` or serialise with serde.

use crate::notes::{Note, Notes};
use crate::shown::{Excerpt, foreign};
use serde::Serialize;
use std::fmt::{self, Write as _};

/// Which exit status an error leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The options are invalid (exit status 2).
    Usage,
    /// The content of the trace is invalid (exit status 3).
    Data,
    /// A file could not be opened, read or written (exit status 4).
    File,
}

impl Kind {
    /// The process exit status of this class: 2, 3 or 4.
    pub fn exit_status(self) -> u8 {
        match self {
            Kind::Usage => 2,
            Kind::Data => 3,
            Kind::File => 4,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $kind:ident;)*) => {
        /// What is wrong, as a stable code (`T001` …).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code there is, in ascending order.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The number behind the letter `T`.
            pub fn number(self) -> u16 {
                match self { $(Code::$name => $number,)* }
            }

            /// Which exit status it leads to.
            pub fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind,)* }
            }
        }
    };
}

codes! {
    /// The input holds no request at all.
    NoRequests = 1, Data;
    /// A file could not be opened or read, or changed while it was read.
    Unreadable = 2, File;
    /// A line or a field beyond the length limit.
    TooLong = 3, Data;
    /// Control bytes, NUL or a text encoding other than UTF-8.
    NotText = 4, Data;
    /// The last record is cut off.
    Truncated = 5, Data;
    /// Fields have another separator than the format.
    Separator = 6, Data;
    /// Too few or too many fields.
    FieldCount = 7, Data;
    /// A field is empty.
    Empty = 8, Data;
    /// A field is not a number, or has junk after it.
    NotANumber = 9, Data;
    /// A number in an unsupported notation: hexadecimal, signed, floating point.
    Notation = 10, Data;
    /// A number, or a sum of two, beyond its range.
    Range = 11, Data;
    /// An unknown operation.
    Operation = 12, Data;
    /// A request larger than the documented maximum.
    TooLarge = 13, Data;
    /// A negative number.
    Negative = 14, Data;
    /// A header row in the middle of the data.
    Header = 15, Data;
    /// Time goes back further than the reorder window.
    TimeBack = 16, Data;
    /// A time beyond the simulator's clock.
    Clock = 17, Data;
    /// A request that does not fit the device.
    PastDevice = 18, Data;
    /// Two formats fit.
    Ambiguous = 19, Data;
    /// The given format does not fit.
    WrongFormat = 20, Data;
    /// No format fits.
    UnknownFormat = 21, Data;
    /// A compressed stream is damaged or cut off.
    Compressed = 22, Data;
    /// A compressed stream needs more memory than allowed.
    Window = 23, Data;
    /// Compressed data inside compressed data.
    Nested = 24, Data;
    /// An archive of several files.
    Archive = 25, Data;
    /// Too many volumes, or the selected one is absent.
    Volumes = 26, Data;
    /// A binary or otherwise foreign file that another tool must convert first.
    Foreign = 27, Data;
    /// Records that contradict each other (I/O to a file that was never added, …).
    Sequence = 28, Data;
    /// The chosen event does not occur.
    NoAction = 29, Data;
    /// Unbalanced quotes.
    Quotes = 30, Data;
    /// The version line is missing or unknown.
    Version = 31, Data;
    /// An option contradicts another or the input.
    Usage = 32, Usage;
    /// A file could not be written.
    Unwritable = 33, File;
    /// A format cannot carry this record.
    CannotCarry = 34, Data;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{:03}", self.number())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Longest file name in a message, in bytes as shown.
const PATH_BYTES: usize = 4 << 10;

/// The content of a message; serialises to JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What is wrong, as a stable code.
    pub code: Code,
    /// What is wrong, for people.
    pub title: String,
    /// The file's name as given; `-` is standard input.
    pub file: String,
    /// Line (or record of a binary trace), from 1.
    pub line: Option<u64>,
    /// Byte column, from 1.
    pub column: Option<u64>,
    /// Name of the field.
    pub field: Option<&'static str>,
    /// The offending text.
    pub excerpt: Option<Excerpt>,
    /// What was expected.
    pub expected: String,
    /// What explains the place, such as where the volumes of the trace lie; often empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The fix.
    pub fix: String,
}

/// An error of reading, fitting or writing a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(transparent)]
#[error("{}", self.render())]
pub struct TraceError(Box<Report>);

impl TraceError {
    /// An error about a whole file.
    pub fn new(code: Code, file: &str, title: impl Into<String>) -> TraceError {
        TraceError(Box::new(Report {
            code,
            title: title.into(),
            file: foreign(file, PATH_BYTES),
            line: None,
            column: None,
            field: None,
            excerpt: None,
            expected: String::new(),
            note: String::new(),
            fix: String::new(),
        }))
    }

    /// With what was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> TraceError {
        self.0.expected = expected.into();
        self
    }

    /// With what explains the place.
    pub(crate) fn note(mut self, note: impl Into<String>) -> TraceError {
        self.0.note = note.into();
        self
    }

    /// With the fix.
    pub fn fix(mut self, fix: impl Into<String>) -> TraceError {
        self.0.fix = fix.into();
        self
    }

    /// With the line, or the row of a table, from 1.
    pub fn at_line(mut self, line: u64) -> TraceError {
        self.0.line = Some(line);
        self
    }

    /// With the first line at which one of these remarks was made, if any.
    pub(crate) fn at_first(mut self, notes: &Notes, of: &[Note]) -> TraceError {
        self.0.line = of.iter().filter_map(|note| notes.get(*note)?.lines.first()).min().copied();
        self
    }

    pub(crate) fn at(mut self, line: u64, text: &[u8], span: std::ops::Range<usize>) -> TraceError {
        self.0.line = Some(line);
        self.0.column = Some(span.start as u64 + 1);
        self.0.excerpt = Some(Excerpt::cut(text, span));
        self
    }

    /// With the name of the field.
    pub fn field(mut self, field: &'static str) -> TraceError {
        self.0.field = (!field.is_empty()).then_some(field);
        self
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        &mut self.0
    }

    /// The content of the message, field by field.
    pub fn report(&self) -> &Report {
        &self.0
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Which exit status it leads to.
    pub fn kind(&self) -> Kind {
        self.0.code.kind()
    }

    fn render(&self) -> String {
        let r = &*self.0;
        let mut text = format!("error[{}]: {}", r.code, r.title);
        if !r.file.is_empty() {
            let _ = write!(text, "\n  --> {}", r.file);
            if let Some(line) = r.line {
                let _ = write!(text, ":{line}");
            }
            if let Some(column) = r.column {
                let _ = write!(text, ":{column}");
            }
        }
        if let Some(excerpt) = &r.excerpt {
            let _ = write!(text, "\n   |  {}", excerpt.text);
            let blank = " ".repeat(excerpt.from);
            let carets = "^".repeat(excerpt.len);
            let _ = write!(text, "\n   |  {blank}{carets}");
            if !r.expected.is_empty() {
                let _ = write!(text, " expected {}", r.expected);
            }
        } else if !r.expected.is_empty() {
            let _ = write!(text, "\n   = expected {}", r.expected);
        }
        if !r.note.is_empty() {
            let _ = write!(text, "\n   = note: {}", r.note);
        }
        if !r.fix.is_empty() {
            let _ = write!(text, "\n   = fix: {}", r.fix);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_the_documented_form() {
        let line = b"128166372003061629,hm,0,Write,-4096,4096,1331";
        let error = TraceError::new(Code::Negative, "hm_0.csv", "Offset is negative")
            .at(184_223, line, 30..35)
            .field("Offset")
            .expected("0 to 8589934591")
            .fix("check the export of this column; to drop such lines use --on-bad-line skip=1");
        assert_eq!(
            error.to_string(),
            "error[T014]: Offset is negative
  --> hm_0.csv:184223:31
   |  128166372003061629,hm,0,Write,-4096,4096,1331
   |                                ^^^^^ expected 0 to 8589934591
   = fix: check the export of this column; to drop such lines use --on-bad-line skip=1"
        );
        assert_eq!(error.kind().exit_status(), 3);
    }

    #[test]
    fn codes_are_unique_and_ascending() {
        assert!(Code::ALL.windows(2).all(|w| w[0].number() < w[1].number()));
        assert_eq!(Code::Negative.to_string(), "T014");
    }
}
