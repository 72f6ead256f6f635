//! What can go wrong, as people read it, and the exit status it leads to.

use std::io::IsTerminal;
use std::ops::Range;
use std::path::Path;

pub use annotate_snippets::Renderer;
use annotate_snippets::{AnnotationKind, Level, Snippet};
use ssdlab_trace::{acts, foreign};

/// Exit statuses of the command; part of its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The command line or the configuration makes no sense.
    Usage = 2,
    /// The content of a trace is wrong.
    Trace = 3,
    /// A file can't be read or written.
    File = 4,
    /// An invariant of the simulator failed.
    Invariant = 5,
    /// The terminal is gone (SIGHUP).
    HungUp = 129,
    /// Interrupted from outside (SIGINT).
    Interrupted = 130,
    /// Told to end (SIGTERM).
    Terminated = 143,
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

/// A reason to stop, with where it is and what would help.
#[derive(Clone, Debug)]
pub struct Fault {
    status: Status,
    message: String,
    spot: Option<Box<Spot>>,
    notes: Vec<String>,
    help: Vec<String>,
    rendered: bool,
}

/// The usual result of this crate.
pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// A fault with a message and nothing more.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Fault { status, message: message.into(), spot: None, notes: Vec::new(), help: Vec::new(), rendered: false }
    }

    /// A command line or configuration that makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Fault::new(Status::Usage, message)
    }

    /// A file that can't be read or written.
    pub fn file(verb: &str, path: &Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::StorageFull => "no space left on the device".into(),
            std::io::ErrorKind::NotFound => "no such file or directory".into(),
            std::io::ErrorKind::PermissionDenied => "permission denied".into(),
            std::io::ErrorKind::IsADirectory => "it is a directory".into(),
            std::io::ErrorKind::FileTooLarge => "the file may not grow any more (file size limit)".into(),
            _ => error.to_string(),
        };
        Fault::new(Status::File, format!("cannot {verb} {}: {reason}", path.display()))
    }

    /// A message that another part has already laid out, shown as it is.
    pub fn rendered(status: Status, text: impl Into<String>) -> Self {
        Fault { rendered: true, ..Fault::new(status, text) }
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

    /// The exit status it leads to.
    pub fn status(&self) -> Status {
        self.status
    }

    /// This one, unless another one that applies too goes before it: files that can't be written, then the rest.
    pub fn unless(self, other: Option<Fault>) -> Fault {
        other.filter(|other| other.status == Status::File).unwrap_or(self)
    }

    /// What is wrong, without place and help.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message as text, coloured or not.
    pub fn render(&self, renderer: &Renderer) -> String {
        if self.rendered {
            return self.message.clone();
        }
        let message = sober(&self.message);
        let mut group = Level::ERROR.primary_title(message).elements(Vec::<annotate_snippets::Element>::new());
        if let Some(spot) = &self.spot {
            let (text, first_line, span, cut) = excerpt(&spot.text, &spot.span);
            let annotation = AnnotationKind::Primary.span(span);
            let annotation = if spot.label.is_empty() { annotation } else { annotation.label(sober(&spot.label)) };
            let snippet =
                Snippet::source(still(text)).line_start(first_line).path(sober(&spot.name)).annotation(annotation);
            group = group.element(snippet);
            if cut > 0 {
                let note = format!("the line is long: what is shown begins at its byte {}", cut + 1);
                group = group.element(Level::NOTE.message(note));
            }
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(sober(note)));
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(sober(help)));
        }
        renderer.render(&[group])
    }

    /// Prints the message on standard error.
    pub fn print(&self) {
        let plain = !std::io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
        let renderer = if plain { Renderer::plain() } else { Renderer::styled() };
        crate::output::remark(self.render(&renderer));
    }
}

/// The lines that a span touches, or at most 120 bytes around its start in a line that is longer than a screen, and how
/// many bytes of the line were left out before: a
/// configuration may come from anywhere, and a message stays short whatever it holds.
fn excerpt<'t>(text: &'t str, span: &Range<usize>) -> (&'t str, usize, Range<usize>, usize) {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (floor(span.start), floor(span.end.max(span.start)));
    let mut from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let first_line = 1 + text[..from].matches('\n').count();
    let mut to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    let line = from;
    if to - from > 400 {
        from = floor(from.max(start.saturating_sub(60)));
        to = floor(to.min(start + 60));
    }
    (&text[from..to], first_line, start - from..end.clamp(start, to) - from, from - line)
}

/// Lines that may quote anything: nothing in them acts, and they are no longer than a screen.
fn sober(message: &str) -> String {
    const LONGEST: usize = 800;
    let (mut out, mut room) = (String::new(), LONGEST);
    for (i, line) in message.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let shown = foreign(line, room);
        out.push_str(&shown);
        if shown.len() >= room {
            break;
        }
        room -= shown.len();
    }
    out
}

/// A source text whose characters keep their places: what acts becomes a sign of the same length. (The renderer shows the
/// control characters of ASCII itself.)
fn still(text: &str) -> String {
    let sign = |c: char| match (acts(c) && !c.is_ascii(), c.len_utf8()) {
        (true, 2) => '\u{b7}',
        (true, 3) => '\u{fffd}',
        (true, _) => '\u{1f7e6}',
        (false, _) => c,
    };
    text.chars().map(sign).collect()
}

/// A name of unknown origin in a message: short, and nothing in it acts.
pub fn clip(text: &str) -> String {
    foreign(text, 60)
}

/// A line of unknown origin beside results, such as the description of a workload.
pub fn clip_line(text: &str) -> String {
    foreign(text, 400)
}

/// The nearest of some known names, if one is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name: String = name.chars().take(80).collect();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
