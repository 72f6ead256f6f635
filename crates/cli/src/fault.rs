//! Exit statuses, and the text of errors.

use std::io::IsTerminal;
use std::ops::Range;

pub use annotate_snippets::Renderer;
use annotate_snippets::{AnnotationKind, Level, Snippet};
use ssdlab_lab::error::{Class, Error, Kind};
use ssdlab_trace::{acts, foreign};

/// The exit status of a class of errors; part of the contract of the command.
pub fn status(class: Class) -> u8 {
    match class {
        Class::Usage => 2,
        Class::Trace => 3,
        Class::File => 4,
        Class::Invariant => 5,
        // As for SIGINT.
        Class::Stopped => 130,
    }
}

/// The message as text, coloured or not.
pub fn render(error: &Error, renderer: &Renderer) -> String {
    if matches!(error.kind, Kind::Trace(_)) {
        return error.message.clone();
    }
    let message = sober(&error.message);
    let mut group = Level::ERROR.primary_title(message).elements(Vec::<annotate_snippets::Element>::new());
    if let Some(spot) = &error.spot {
        let (text, first_line, span, cut) = excerpt(&spot.text, &spot.span);
        let annotation = AnnotationKind::Primary.span(span);
        let annotation = if spot.label.is_empty() { annotation } else { annotation.label(sober(&spot.label)) };
        let snippet =
            Snippet::source(still(text)).line_start(first_line).path(sober(&spot.name)).annotation(annotation);
        group = group.element(snippet);
        if cut > 0 {
            let note = format!("the line is long: the excerpt begins at byte {}", cut + 1);
            group = group.element(Level::NOTE.message(note));
        }
    }
    for note in &error.notes {
        group = group.element(Level::NOTE.message(sober(note)));
    }
    for help in &error.help {
        group = group.element(Level::HELP.message(sober(help)));
    }
    renderer.render(&[group])
}

/// Prints the message on standard error.
pub fn print(error: &Error) {
    let plain = !std::io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
    let renderer = if plain { Renderer::plain() } else { Renderer::styled() };
    crate::output::remark(render(error, &renderer));
}

/// The lines that a span touches, or at most 120 bytes around its start in a line that is longer than a screen; and how
/// many bytes of the line were cut off before it. A configuration may come from anywhere, so messages are kept short.
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

/// Text that may quote foreign text: control characters are escaped, and it is cut to about a screen.
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

/// A source text with control characters replaced by signs of the same length, so that columns stay right. (The renderer
/// escapes the control characters of ASCII itself.)
fn still(text: &str) -> String {
    let sign = |c: char| match (acts(c) && !c.is_ascii(), c.len_utf8()) {
        (true, 2) => '\u{b7}',
        (true, 3) => '\u{fffd}',
        (true, _) => '\u{1f7e6}',
        (false, _) => c,
    };
    text.chars().map(sign).collect()
}
