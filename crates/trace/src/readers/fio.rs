//! fio iologs, versions 2 and 3.
//!
//! Version 2: `file action [offset length]`; times come only from `wait`, which the manual counts in µs since the
//! last wait (fio's code treats it as time since the start: the manual is followed, and said so). Version 3 puts a
//! time in front, which its writer counts in µs. Every file is a volume; names are labels and never opened.

use crate::error::Code;
use crate::notes::Note;
use crate::readers::line::*;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    Added,
    Open,
    Closed,
}

#[derive(Default)]
pub(crate) struct Fio {
    version: u8,
    files: FxHashMap<Vec<u8>, FileState>,
    waited_us: u64,
}

/// Files of one iolog; each is a volume at most.
const MAX_FILES: usize = 65_536;

impl Parser for Fio {
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        if self.version == 0 {
            self.version = version(line)?;
            return Ok(None);
        }
        if trim(line).starts_with(b"fio version ") {
            cx.first = false;
            return header(line, cx);
        }
        // A name may be longer than any other field; the length of a line bounds it.
        let mut words = [&[][..]; 6];
        let mut count = 0;
        for word in line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()) {
            if let Some(slot) = words.get_mut(count) {
                *slot = word;
            }
            count += 1;
        }
        let timed = self.version == 3;
        let lead = usize::from(timed);
        let stamp_us = if timed { number(line, words[0], "time")? } else { 0 };
        let (name, action, offset, length) = (words[lead], words[lead + 1], words[lead + 2], words[lead + 3]);
        let wanted = match action {
            b"add" | b"open" | b"close" => 2,
            _ => 4,
        };
        // `wait` has one or two numbers, depending on the program that wrote the log.
        let wait = action == b"wait";
        if count != lead + wanted && !(wait && count == lead + 3) {
            let bad = wrong_count(line, count, &(lead + wanted).to_string(), b' ');
            return Err(bad.fix("file names in an iolog have no blanks; rename the file and record again"));
        }
        let state = self.files.get(name).copied();
        match action {
            b"add" | b"open" | b"close" => return self.changes_file(line, action, name, cx),
            b"wait" => {
                let us = number(line, offset, "wait")?;
                if timed {
                    cx.note(Note::WaitIgnored);
                } else {
                    cx.note(Note::Wait);
                    self.waited_us = self.waited_us.checked_add(us).ok_or_else(|| {
                        Bad::new(Code::Clock, "The waits add up to more than the clock holds", line)
                            .on("wait", line, offset)
                    })?;
                }
                return Ok(None);
            }
            _ => {}
        }
        let op = op_of(line, action)?;
        is_open(line, name, state)?;
        let first = number(line, offset, "offset")?;
        let bytes = number(line, length, "length")?;
        check_end(line, first, bytes, length)?;
        let time_us = if timed { stamp_us } else { self.waited_us };
        let time_ns = time_us.checked_mul(1_000).ok_or_else(|| {
            Bad::new(Code::Range, "time is larger than the clock holds", line).on("time", line, words[0])
        })?;
        if op == Op::Flush && !cx.flushes {
            return cx.pass(Note::OtherOp);
        }
        let Some(volume) = cx.volume_of(name, |raw| raw[..raw.len().min(FIELD_BYTES)].to_vec())? else {
            return Ok(None);
        };
        Ok(Some(Record { time_ns, offset: first, bytes, volume, op, fua: false, stream: 0 }))
    }
}

impl Fio {
    fn changes_file(&mut self, line: &[u8], action: &[u8], name: &[u8], cx: &mut Context) -> Outcome {
        let state = self.files.get(name).copied();
        if action == b"add" {
            if state.is_none() && self.files.len() >= MAX_FILES {
                return Err(Bad::new(Code::Volumes, format!("More than {MAX_FILES} files in one iolog"), line)
                    .on("file", line, name));
            }
            if state.is_none() {
                self.files.insert(name.to_vec(), FileState::Added);
            }
            return Ok(None);
        }
        let Some(state) = state else {
            return Err(Bad::new(Code::Sequence, "A file is used that was never added", line)
                .on("file", line, name)
                .expected("'add' before any other action"));
        };
        if action == b"open" && state == FileState::Open {
            cx.note(Note::OpenTwice);
        }
        let next = if action == b"open" { FileState::Open } else { FileState::Closed };
        self.files.insert(name.to_vec(), next);
        Ok(None)
    }
}

fn version(line: &[u8]) -> Result<u8, Box<Bad>> {
    match trim(line) {
        b"fio version 2 iolog" => Ok(2),
        b"fio version 3 iolog" => Ok(3),
        _ => Err(Bad::new(Code::Version, "The version line is missing or unknown", line)
            .expected("'fio version 2 iolog' or 'fio version 3 iolog' on line 1")
            .fix("write the log again with a newer fio, or add the line if it was cut off")),
    }
}

/// What a line does to a file that is open.
fn op_of(line: &[u8], action: &[u8]) -> Result<Op, Box<Bad>> {
    match action {
        b"read" => Ok(Op::Read),
        b"write" => Ok(Op::Write),
        b"trim" => Ok(Op::Trim),
        b"sync" | b"datasync" => Ok(Op::Flush),
        _ => {
            let known = ["read", "write", "trim", "sync", "datasync", "wait", "add", "open", "close"];
            Err(bad_op(line, action, "action", &known))
        }
    }
}

fn is_open(line: &[u8], name: &[u8], state: Option<FileState>) -> Result<(), Box<Bad>> {
    let (what, expected) = match state {
        None => ("I/O to a file that was never added", "'add' and 'open' before I/O"),
        Some(FileState::Closed) => ("I/O to a file after its close", "'open' before I/O"),
        Some(FileState::Added | FileState::Open) => return Ok(()),
    };
    Err(Bad::new(Code::Sequence, what, line).on("file", line, name).expected(expected))
}
