//! Lines (or fixed-size binary records) of a source, one at a time, in one buffer of fixed size.

use crate::error::{Code, TraceError};
use crate::source::Source;
use std::io::Read as _;
use std::ops::Range;

/// Longest line that is read, in bytes.
pub(crate) const LINE_BYTES: usize = 64 << 10;
const BUFFER_BYTES: usize = 256 << 10;

/// What [`Lines::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Line,
    /// A line beyond [`LINE_BYTES`]; the next step skips the rest.
    TooLong,
    End,
}

pub(crate) struct Lines {
    source: Source,
    buffer: Vec<u8>,
    /// Unread bytes.
    start: usize,
    end: usize,
    current: Range<usize>,
    number: u64,
    terminated: bool,
    overlong: bool,
    ended: bool,
    /// An error met while reading ahead; it is returned once the bytes before it are consumed.
    pending: Option<TraceError>,
}

impl Lines {
    pub fn new(source: Source) -> Lines {
        Lines {
            source,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            current: 0..0,
            number: 0,
            terminated: true,
            overlong: false,
            ended: false,
            pending: None,
        }
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Number of the current line or record, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The current line without its end.
    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.buffer[self.current.clone()]
    }

    /// Whether the current line ended in a newline.
    pub fn terminated(&self) -> bool {
        self.terminated
    }

    /// Reads more behind the unread bytes. `false` at the end of the stream or when the buffer is full.
    fn fill(&mut self) -> Result<bool, TraceError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.ended || self.end == self.buffer.len() {
            return Ok(false);
        }
        if let Some(error) = self.pending.take() {
            self.ended = true;
            return Err(if self.number > 0 { error.at_line(self.number + 1) } else { error });
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(n) => {
                    self.end += n;
                    return Ok(true);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // Data before the damage is valid up to the last whole line.
                    self.ended = true;
                    return Err(self.source.failure(&error, self.number));
                }
            }
        }
    }

    /// The next bytes, up to the greatest length of a line, without consuming them.
    pub fn peek(&mut self) -> &[u8] {
        while self.end - self.start < LINE_BYTES && self.pending.is_none() {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.pending = Some(error);
                    self.ended = false;
                }
            }
        }
        &self.buffer[self.start..self.end]
    }

    pub fn skip_blank(&mut self) -> Result<(), TraceError> {
        loop {
            while self.start < self.end {
                match self.buffer[self.start] {
                    b'\n' => self.number += 1,
                    b'\r' | b' ' | b'\t' => {}
                    _ => return Ok(()),
                }
                self.start += 1;
            }
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// The current line and all bytes already buffered after it.
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.current.start..self.end.max(self.current.end)]
    }

    #[inline]
    pub fn advance(&mut self) -> Result<Step, TraceError> {
        if self.overlong {
            self.pass_overlong()?;
        }
        let mut seen = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.start + seen..self.end]) {
                let stop = self.start + seen + at;
                return Ok(self.take_line(stop, stop + 1, true));
            }
            seen = self.end - self.start;
            if seen > LINE_BYTES {
                self.number += 1;
                self.current = self.start..self.start + LINE_BYTES;
                self.overlong = true;
                return Ok(Step::TooLong);
            }
            if !self.fill()? {
                if self.start == self.end {
                    self.current = self.start..self.start;
                    return Ok(Step::End);
                }
                let stop = self.end;
                return Ok(self.take_line(stop, stop, false));
            }
        }
    }

    #[inline]
    fn take_line(&mut self, stop: usize, next: usize, terminated: bool) -> Step {
        self.number += 1;
        let length = stop - self.start;
        let mut end = stop;
        if length > 0 && self.buffer[end - 1] == b'\r' {
            end -= 1;
        }
        self.terminated = terminated;
        if length > LINE_BYTES {
            self.current = self.start..self.start + LINE_BYTES;
            self.start = next;
            return Step::TooLong;
        }
        self.current = self.start..end;
        self.start = next;
        Step::Line
    }

    fn pass_overlong(&mut self) -> Result<(), TraceError> {
        self.overlong = false;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += at + 1;
                return Ok(());
            }
            self.start = self.end;
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Passes over a header; `false` if the stream ends in it.
    pub fn skip_bytes(&mut self, bytes: usize) -> Result<bool, TraceError> {
        while self.end - self.start < bytes {
            if !self.fill()? {
                return Ok(false);
            }
        }
        self.start += bytes;
        Ok(true)
    }

    /// The next `bytes` bytes as one record.
    pub fn advance_record(&mut self, bytes: usize) -> Result<Step, TraceError> {
        while self.end - self.start < bytes {
            if !self.fill()? {
                if self.start == self.end {
                    return Ok(Step::End);
                }
                self.number += 1;
                self.current = self.start..self.end;
                self.terminated = false;
                self.start = self.end;
                return Ok(Step::Line);
            }
        }
        self.number += 1;
        self.current = self.start..self.start + bytes;
        self.terminated = true;
        self.start += bytes;
        Ok(Step::Line)
    }

    pub fn error(&self, code: Code, title: impl Into<String>, span: Range<usize>) -> TraceError {
        let error = TraceError::new(code, self.source.name(), title);
        match self.source.table_rows() {
            None => error.at(self.number, self.text(), span),
            // A row of a table has no text to show.
            Some(_) => error.at_line(self.number),
        }
    }

    pub fn end_check(&self) -> Result<bool, TraceError> {
        self.source.end(self.number)
    }
}
