//! Text of the kernel's trace: ftrace (`trace`, `trace_pipe`), `trace-cmd report` and `perf script`.
//!
//! `task-pid [cpu] flags seconds: event: fields`; names may have blanks, perf puts `block:` before an event. One event counts for
//! each request: the first kind of request event that occurs, or the one that the format names. A request that is issued again after
//! a requeue counts once. `block_rq_*` have sectors of 512 B; `nvme_setup_cmd` has a length less 1, and `ufshcd_command`
//! an address, in logical blocks of the device. Sources: `include/trace/events/{block,ufs}.h`, `drivers/nvme/host/trace.{h,c}`.

use crate::error::Code;
use crate::format::{Kernel, KernelEvent};
use crate::notes::Note;
use crate::number;
use crate::readers::line::*;
use crate::readers::rwbs::Rwbs;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Requeued requests that wait to be issued again.
const REQUEUED: usize = 1 << 16;
/// Names of other events that are listed.
const OTHERS: usize = 32;

pub(crate) struct Ftrace {
    format: Kernel,
    /// What counts: given, or the first that occurred.
    event: Option<KernelEvent>,
    records: u64,
    /// How often other events occurred, by name.
    others: BTreeMap<Vec<u8>, u64>,
    /// Device, sector and sectors of requests that go back to their queue.
    requeued: FxHashSet<(Vec<u8>, u64, u64)>,
}

impl Ftrace {
    pub fn new(format: Kernel) -> Ftrace {
        Ftrace { format, event: format.event, records: 0, others: BTreeMap::new(), requeued: FxHashSet::default() }
    }

    #[cold]
    fn other(&mut self, name: &[u8], cx: &mut Context) -> Outcome {
        cx.note(Note::OtherEvent);
        if let Some(count) = self.others.get_mut(name) {
            *count += 1;
        } else if self.others.len() < OTHERS {
            self.others.insert(name.to_vec(), 1);
        }
        Ok(None)
    }
}

struct Event<'a> {
    time: &'a [u8],
    name: &'a [u8],
    /// What follows the colon.
    fields: &'a [u8],
}

/// Whether what stands before a time ends in the processor in brackets, or in that and a word of flags.
fn behind_processor(before: &[u8]) -> bool {
    let is_processor = |word: &[u8]| {
        let inner = word.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
        inner.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    };
    let before = trim(before);
    let word = last_word(before);
    is_processor(word) || is_processor(last_word(trim(&before[..before.len() - word.len()])))
}

/// Finds the event: a time with a decimal point, a colon, a name and another colon, behind the processor in brackets.
fn event(line: &[u8]) -> Option<Event<'_>> {
    let mut from = 0;
    while let Some(colon) = memchr::memchr(b':', &line[from..]).map(|at| from + at) {
        from = colon + 1;
        let time = last_word(&line[..colon]);
        let is_time = time.first().is_some_and(u8::is_ascii_digit)
            && time.contains(&b'.')
            && time.iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if !is_time || !behind_processor(&line[..colon - time.len()]) {
            continue;
        }
        let rest = trim(&line[from..]);
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let mut end = rest.iter().position(|b| !is_name(b))?;
        let mut name = &rest[..end];
        // perf: the system stands before the name.
        if rest[end] == b':' && rest.get(end + 1).is_some_and(is_name) {
            let behind = &rest[end + 1..];
            let length = behind.iter().position(|b| !is_name(b))?;
            (name, end) = (&behind[..length], end + 1 + length);
        }
        let fields = rest[end..].strip_prefix(b":")?;
        return (!name.is_empty()).then(|| Event { time, name, fields: trim(fields) });
    }
    None
}

fn last_word(text: &[u8]) -> &[u8] {
    &text[text.iter().rposition(|b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1)..]
}

/// `CPU:2 [LOST 14 EVENTS]` of ftrace, `CPU 2: 14 events lost`, `[EVENTS DROPPED]` of trace-cmd, `LOST 14 events` of perf: how
/// many, 1 if the line does not say.
fn lost(line: &[u8]) -> Option<u64> {
    let upper = line.to_ascii_uppercase();
    let has = |word: &[u8]| memchr::memmem::find(&upper, word).is_some();
    if !(has(b"LOST") || has(b"DROPPED")) || !has(b"EVENTS") {
        return None;
    }
    let words = line.split(|b| matches!(b, b' ' | b'[' | b']' | b'\t'));
    Some(words.filter_map(|word| number::integer(word).ok()).next_back().unwrap_or(1))
}

struct Request<'a> {
    device: &'a [u8],
    kind: Rwbs,
    offset: u64,
    bytes: u64,
    fua: bool,
}

impl Parser for Ftrace {
    fn parse(&mut self, line: &[u8], cx: &mut Context) -> Outcome {
        let Some(Event { time, name, fields }) = event(line) else {
            if let Some(count) = lost(line) {
                cx.notes.add_many(Note::LostEvents, cx.line, count);
                return Ok(None);
            }
            // trace-cmd begins with the number of processors, perf with lines of its own.
            if self.event == self.format.event && self.others.is_empty() {
                return cx.pass(Note::Prologue);
            }
            return Err(Bad::new(Code::FieldCount, "Line is no event of the kernel's trace", line)
                .expected("'task-pid [cpu] flags seconds: event: fields'")
                .fix("print events only (perf script -G leaves out call chains), or drop such lines with --on-bad-line skip=N"));
        };
        let known = KernelEvent::of(name);
        if let (None, Some(found)) = (self.event, known.filter(|found| found.begins())) {
            self.event = Some(found);
        }
        if name == b"block_rq_requeue" {
            let (request, sectors) = block(line, fields)?;
            if self.requeued.len() < REQUEUED {
                self.requeued.insert((request.device.to_vec(), request.offset, sectors));
            }
        }
        if known.is_none() || known != self.event {
            return self.other(name, cx);
        }
        let time_ns = cx.decimal(line, time, "time", 1_000_000_000)?;
        let found = match self.event {
            Some(KernelEvent::NvmeSetupCmd) => nvme(line, fields, self.format.block_bytes, cx)?,
            Some(KernelEvent::UfshcdCommand) => match ufs(line, fields, self.format.block_bytes)? {
                Some(request) => request,
                None => return self.other(name, cx),
            },
            _ => {
                let (request, sectors) = block(line, fields)?;
                if !self.requeued.is_empty()
                    && self.requeued.remove(&(request.device.to_vec(), request.offset, sectors))
                {
                    return cx.pass(Note::Requeued);
                }
                request
            }
        };
        self.records += 1;
        let Request { device, kind, offset, bytes, fua } = found;
        let op = kind.with_bytes(bytes);
        if op == Op::Other {
            return cx.pass(if kind.changes { Note::ChangesData } else { Note::OtherOp });
        }
        check_end(line, offset, bytes, fields)?;
        let fua = op == Op::Write && fua;
        cx.on_volume(device, Record { time_ns, offset, bytes, volume: 0, op, fua, stream: 0 })
    }

    fn finish(&mut self, cx: &mut Context) -> Result<(), Box<Bad>> {
        let found = self.others.iter().map(|(name, n)| format!("{} ({n})", crate::shown::escape(name)));
        let found = found.collect::<Vec<_>>().join(", ");
        if self.records > 0 {
            if !found.is_empty() {
                let counted = self.event.map_or("", KernelEvent::name);
                cx.notes.state(Note::Action, format!("{counted}, not {found}"));
            }
            return Ok(());
        }
        let others = KernelEvent::ALL.iter().find(|event| self.others.contains_key(event.name().as_bytes()));
        let wanted = self.format.event.map_or("request", KernelEvent::name);
        Err(Bad::new(Code::NoAction, format!("No {wanted} event in the trace"), &[])
            .expected(match found.is_empty() {
                true => "lines such as 'task-1 [000] .... 1.000000: block_rq_issue: 8,0 R 4096 () 2048 + 8 [task]'"
                    .to_owned(),
                false => format!("one of the events that occur: {found}"),
            })
            .fix(match others {
                Some(event) => format!("count another one: --format ftrace:{}", event.name()),
                None => {
                    "record requests: trace-cmd record -e block:block_rq_issue, or perf record -e block:block_rq_issue"
                        .to_owned()
                }
            }))
    }
}

fn malformed(line: &[u8], fields: &[u8], expected: &str) -> Box<Bad> {
    Bad::new(Code::FieldCount, "The fields of the event are not as the kernel prints them", line)
        .on("event", line, fields)
        .expected(expected)
}

/// `259,0 WS 4096 () 2048 + 8 none,0,0 [task]`: bytes and the command are absent in some events and versions. The number of sectors
/// beside, for requests that are met again.
fn block<'a>(line: &[u8], fields: &'a [u8]) -> Result<(Request<'a>, u64), Box<Bad>> {
    const FORM: &str = "'major,minor RWBS bytes (command) sector + sectors [task]'";
    // The command holds anything. Events without one may have parentheses in the name of the task.
    let open = memchr::memchr(b'(', fields);
    let close = open.and_then(|open| memchr::memchr(b')', &fields[open..]).map(|length| open + length));
    let (head, rest) = match (open, close) {
        (Some(open), Some(close)) => (&fields[..open], &fields[close + 1..]),
        _ => (fields, &[][..]),
    };
    let head: Fields<'a, 5> = split_blanks(head)?;
    let [device, rwbs, third, fourth, fifth] = head.at;
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let is_device = device.split(|b| *b == b',').filter(|part| digits(part)).count() == 2;
    if !is_device || device.iter().filter(|b| **b == b',').count() != 1 {
        return Err(malformed(line, fields, FORM));
    }
    let rest: Fields<'a, 3> = split_blanks(rest)?;
    let [sector, plus, sectors] = if fourth == b"+" { [third, fourth, fifth] } else { rest.at };
    if plus != b"+" {
        return Err(malformed(line, fields, FORM));
    }
    let Some(kind) = Rwbs::of(rwbs) else {
        return Err(bad_op(line, rwbs, "RWBS", &["R", "W", "D", "F", "N"]));
    };
    let count = number(line, sectors, "sectors")?;
    number(line, sector, "sector")?;
    // An empty flush has no place: some versions print all ones.
    let offset = if count == 0 { 0 } else { scaled(line, sector, "sector", 512)? };
    let bytes = scaled(line, sectors, "sectors", 512)?;
    // A command that is passed through has bytes, and no sectors.
    let kind = if count == 0 && !kind.flush { Rwbs::plain(Op::Other) } else { kind };
    Ok((Request { device, kind, offset, bytes, fua: kind.fua }, count))
}

/// The value of `name=` between commas, blanks and parentheses.
fn value<'a>(fields: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&fields[from..], name).map(|at| from + at) {
        from = at + name.len();
        let begins = at == 0 || matches!(fields[at - 1], b' ' | b',' | b'(');
        if let (true, Some(rest)) = (begins, fields[from..].strip_prefix(b"=")) {
            let end = rest.iter().position(|b| matches!(b, b',' | b' ' | b')')).unwrap_or(rest.len());
            return Some(&rest[..end]);
        }
    }
    None
}

/// `nvme0: disk=nvme0n1, qid=4, cmdid=817, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=8, len=7, ctrl=0x4000, ...)`.
fn nvme<'a>(
    line: &[u8],
    fields: &'a [u8],
    block_bytes: Option<u32>,
    cx: &mut Context,
) -> Result<Request<'a>, Box<Bad>> {
    /// Bit of `ctrl`: the data must be on flash when the command completes.
    const FORCED: u64 = 1 << 14;
    let unit = u64::from(block_bytes.unwrap_or(512));
    let form = || {
        malformed(line, fields, "'nvme0: disk=nvme0n1, qid=1, ..., cmd=(nvme_cmd_read slba=0, len=7, ctrl=0x0, ...)'")
    };
    let command = memchr::memmem::find(fields, b"cmd=(").map(|at| &fields[at + 5..]).ok_or_else(form)?;
    let end = command.iter().position(|b| matches!(b, b' ' | b')')).unwrap_or(command.len());
    let name = &command[..end];
    // Without a disk the controller names the volume.
    let controller = &fields[..memchr::memchr(b':', fields).ok_or_else(form)?];
    let device = value(fields, b"disk").filter(|disk| !disk.is_empty()).unwrap_or(controller);
    let kind = match name {
        b"nvme_cmd_read" => Rwbs::plain(Op::Read),
        b"nvme_cmd_write" => Rwbs::plain(Op::Write),
        b"nvme_cmd_flush" => Rwbs::plain(Op::Flush),
        // They carry no data, and that of an append has no place before it completes.
        b"nvme_cmd_dsm"
        | b"nvme_cmd_write_zeroes"
        | b"nvme_cmd_write_uncor"
        | b"nvme_cmd_zone_append"
        | b"nvme_cmd_zone_mgmt_send" => Rwbs { changes: true, ..Rwbs::plain(Op::Other) },
        _ => Rwbs::plain(Op::Other),
    };
    if !matches!(kind.op, Op::Read | Op::Write) || value(fields, b"qid") == Some(b"0") {
        return Ok(Request {
            device,
            kind: if kind.flush { kind } else { Rwbs { op: Op::Other, ..kind } },
            offset: 0,
            bytes: 0,
            fua: false,
        });
    }
    let field = |name: &'static str| value(command, name.as_bytes()).ok_or_else(form);
    let offset = scaled(line, field("slba")?, "slba", unit)?;
    // The length is that of NVMe: 0 is one block.
    let bytes = number(line, field("len")?, "len")?.checked_add(1).and_then(|blocks| blocks.checked_mul(unit));
    let bytes = bytes.ok_or_else(form)?;
    let control = value(command, b"ctrl").map_or(Ok(0), number::any_integer);
    let control = control.map_err(|fault| bad_number(line, fields, "ctrl", fault))?;
    if block_bytes.is_none() && cx.notes.count(Note::BlockSize) == 0 {
        cx.notes.state(Note::BlockSize, "512 B; --format ftrace:nvme_setup_cmd:4096 for namespaces of 4 KiB blocks");
    }
    Ok(Request { device, kind, offset, bytes, fua: control & FORCED != 0 })
}

/// `send_req: 1d84000.ufshc: tag: 13, DB: 0x2000, size: 4096, IS: 0, LBA: 31055104, opcode: 0x2a (WRITE_10), group_id: 0x0, ...`;
/// `None` if it is not the start of a command. Older versions put the device first; newer ones name the logical unit, as `0:0:0:0`.
fn ufs<'a>(line: &[u8], fields: &'a [u8], block_bytes: Option<u32>) -> Result<Option<Request<'a>>, Box<Bad>> {
    let form = || {
        malformed(
            line,
            fields,
            "'send_req: HOST: tag: 1, DB: 0x1, size: 4096, IS: 0, LBA: 8, opcode: 0x2a (WRITE_10), ...'",
        )
    };
    // Names of SCSI devices have colons: `0:0:0:0`.
    let part = |text: &'a [u8]| memchr::memmem::find(text, b": ").map(|at| (trim(&text[..at]), trim(&text[at + 2..])));
    let (one, rest) = part(fields).ok_or_else(form)?;
    let (two, _) = part(rest).ok_or_else(form)?;
    let starts = |word: &[u8]| matches!(word, b"send" | b"send_req");
    let device = match (starts(one), starts(two)) {
        (true, _) => two,
        (_, true) => one,
        _ => return Ok(None),
    };
    let Some(unit) = block_bytes else {
        return Err(Bad::new(Code::Usage, "The unit of the address is not in the event", line)
            .on("LBA", line, fields)
            .expected("the logical block of the device")
            .fix("name it: --format ftrace:ufshcd_command:4096, or :512 for kernels before 5.11"));
    };
    let field = |name: &[u8]| {
        let at = memchr::memmem::find(fields, name).ok_or_else(form)?;
        let rest = trim(&fields[at + name.len()..]);
        Ok::<_, Box<Bad>>(&rest[..rest.iter().position(|b| matches!(b, b',' | b' ')).unwrap_or(rest.len())])
    };
    let opcode = field(b"opcode:")?;
    let opcode = number::any_integer(opcode).map_err(|fault| bad_number(line, opcode, "opcode", fault))?;
    let kind = Rwbs::scsi(opcode);
    if !matches!(kind.op, Op::Read | Op::Write) {
        return Ok(Some(Request { device, kind, offset: 0, bytes: 0, fua: false }));
    }
    let bytes = number(line, field(b"size:")?, "size")?;
    let offset = scaled(line, field(b"LBA:")?, "LBA", unit.into())?;
    Ok(Some(Request { device, kind, offset, bytes, fua: false }))
}
