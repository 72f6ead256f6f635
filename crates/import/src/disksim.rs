//! DiskSim with its SSD extension: `.parv`.

use std::ops::Range;

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same};
use toml::Value as Toml;

use crate::common::threshold;
use crate::keys::{Given, Key};
use crate::table::{Desk, Drive, Mapping, Rule, To, missing, near, same, size, text};

const MAPPING: Mapping = Mapping { simulator: "DiskSim", rules: RULES, host: "" };
const MS: u64 = 1_000_000_000;
/// Deepest nesting of blocks and lists.
const DEPTH: usize = 64;

/// What becomes of each key of the block `ssdmodel_ssd`, and of the other blocks as a whole. Times are milliseconds.
const RULES: &[Rule] = &[
    same("ssdmodel_ssd/Flash chip elements", None, To::With("geometry.channels")),
    near("ssdmodel_ssd/Elements per gang", Some("1"), To::With("geometry.chips_per_channel"), "a gang is a channel"),
    near("ssdmodel_ssd/Gang share", None, To::Nothing, "elements of a gang share a channel"),
    near(
        "ssdmodel_ssd/Number of parallel units",
        Some("1"),
        To::With("geometry.dies_per_chip"),
        "units that work at the same time are dies",
    ),
    same("ssdmodel_ssd/Planes per package", None, To::With("geometry.planes_per_die")),
    same("ssdmodel_ssd/Blocks per plane", None, To::Count("geometry.blocks_per_plane")),
    same("ssdmodel_ssd/Blocks per element", None, To::Nothing),
    same("ssdmodel_ssd/Pages per block", None, To::Count("geometry.pages_per_block")),
    same("ssdmodel_ssd/Page size", None, To::With("geometry.page_size")),
    same("ssdmodel_ssd/Page read latency", None, To::Time("timing.read", MS)),
    same("ssdmodel_ssd/Page write latency", None, To::Time("timing.program", MS)),
    same("ssdmodel_ssd/Block erase latency", None, To::Time("timing.erase", MS)),
    same("ssdmodel_ssd/Chip xfer latency", None, To::With("timing.transfer")),
    same("ssdmodel_ssd/Reserve pages percentage", None, To::Share("device.over_provisioning", 100)),
    near(
        "ssdmodel_ssd/Minimum free blocks percentage",
        None,
        To::With("gc.threshold"),
        "DiskSim counts free blocks, here free pages count, those of open blocks included",
    ),
    same("ssdmodel_ssd/Write policy", None, To::Nothing),
    same("ssdmodel_ssd/Cleaning policy", None, To::With("schemes.victim")),
    same("ssdmodel_ssd/Copy back", Some("0"), To::Word("schemes.path", &[("1", "copyback"), ("0", "external")])),
    near(
        "ssdmodel_ssd/Cleaning in background",
        Some("0"),
        To::With("schemes.trigger"),
        "a plane is collected early while its die is idle",
    ),
    missing("ssdmodel_ssd/Plane block mapping", "block numbers name no place here"),
    near(
        "ssdmodel_ssd/Allocation pool logic",
        None,
        To::Nothing,
        "a page's address fixes its plane; DiskSim chooses a plane of the element, or an element of the gang",
    ),
    near("ssdmodel_ssd/Element stride pages", Some("1"), To::Nothing, "addresses go round the channels page by page"),
    near("ssdmodel_ssd/Max queue length", None, To::Count("device.queue_depth"), "outstanding requests of the device"),
    missing("ssdmodel_ssd/Command overhead", "the controller takes no time here"),
    missing(
        "ssdmodel_ssd/Bus transaction latency|ssdmodel_ssd/Bulk sector transfer time",
        "the host's bus takes no time here; timing.host_link sets its rate",
    ),
    missing("ssdmodel_ssd/Never disconnect", "the host's bus is not simulated"),
    missing("ssdmodel_ssd/Print stats", "the summary has all results"),
    missing("ssdmodel_ssd/Timing model", "there is one"),
    missing("ssdmodel_ssd/Block count", "the array gives the capacity"),
    missing("disksim_iosim/*", "--time-scale scales the arrivals of a trace"),
    missing("disksim_synthgen/*", "a generated workload is a TOML file here: docs/workloads.md"),
    missing("disksim_synthio/*", "a generated workload is a TOML file here: docs/workloads.md"),
    missing("disksim_logorg/*", "one device is simulated, without arrays of devices"),
    missing("disksim_ioqueue/*", "requests are served in order of arrival; schemes.order has other orders"),
    missing("disksim_*", "DiskSim's host, buses and statistics are not simulated"),
];

/// Keys without which there is no device, or not the one that DiskSim would simulate: its defaults are not known here.
const NEEDED: &[(&str, &str)] = &[
    ("ssdmodel_ssd/Flash chip elements", "give the number of flash elements"),
    ("ssdmodel_ssd/Planes per package", "give the planes of an element"),
    ("ssdmodel_ssd/Blocks per plane", "give the blocks of a plane"),
    ("ssdmodel_ssd/Pages per block", "give the pages of a block"),
    ("ssdmodel_ssd/Page size", "give the sectors of a page"),
    ("ssdmodel_ssd/Page read latency", "give milliseconds, such as 0.025"),
    ("ssdmodel_ssd/Page write latency", "give milliseconds, such as 0.2"),
    ("ssdmodel_ssd/Block erase latency", "give milliseconds, such as 1.5"),
    ("ssdmodel_ssd/Chip xfer latency", "give milliseconds a byte, such as 0.000025"),
    ("ssdmodel_ssd/Reserve pages percentage", "give the spare share in percent, such as 15"),
    ("ssdmodel_ssd/Minimum free blocks percentage", "give the share of free blocks in percent that starts cleaning"),
    ("ssdmodel_ssd/Cleaning policy", "give the policy, such as 2 for greedy"),
];

/// The blocks of a file as keys: the type of the innermost block is the section.
///
/// # Errors
/// Brackets do not match, blocks nest too deeply, or a list of keys lacks a comma.
pub(crate) fn read(name: &str, text: &str) -> Result<Given> {
    let given = Given::new(name, text);
    Reader { bytes: text.as_bytes(), at: 0, open: Vec::new(), device: false, given }.read()
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The blocks and lists around this place; a list is `[`.
    open: Vec<String>,
    /// Whether a device has begun.
    device: bool,
    given: Given,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Given> {
        loop {
            let start = self.at;
            let stop = self.until(b"{}[]=,");
            let head = self.content(start, self.at);
            match stop {
                None => break,
                Some(b'{') => {
                    let words: Vec<&str> = head.split_whitespace().collect();
                    let kind = words.get(words.len().saturating_sub(2)).copied().unwrap_or_default().to_string();
                    if kind == "ssdmodel_ssd" && std::mem::replace(&mut self.device, true) {
                        let place = self.at - head.len().min(self.at)..self.at;
                        let again = self.given.refuse("", place, "a second block ssdmodel_ssd");
                        return Err(again.help("one import is one device: keep one block"));
                    }
                    self.enter(kind)?;
                }
                Some(b'[') => self.enter("[".into())?,
                Some(closing @ (b'}' | b']')) => self.leave(closing)?,
                Some(b'=') => self.value(start, &head)?,
                Some(_) => {}
            }
            self.at += 1;
        }
        match self.open.is_empty() {
            true => Ok(self.given),
            false => {
                let end = self.bytes.len();
                Err(self.given.refuse("", end..end, "the file ends inside a block").help("close every { and ["))
            }
        }
    }

    /// Goes on to the next of these bytes outside comments.
    fn until(&mut self, stops: &[u8]) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'#' => {
                    while self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
                        self.at += 1;
                    }
                }
                byte if stops.contains(byte) => return Some(*byte),
                _ => self.at += 1,
            }
        }
        None
    }

    /// The text between two places without its comments.
    fn content(&self, from: usize, to: usize) -> String {
        let lines = self.given.text[from..to].lines().map(|line| line.split('#').next().unwrap_or(line).trim());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn enter(&mut self, kind: String) -> Result<()> {
        if self.open.len() == DEPTH {
            return Err(self.given.refuse(
                "",
                self.at..self.at + 1,
                format!("more than {DEPTH} blocks inside each other"),
            ));
        }
        self.open.push(kind);
        Ok(())
    }

    fn leave(&mut self, closing: u8) -> Result<()> {
        let list = self.open.pop();
        let fits = list.as_deref().is_some_and(|kind| (kind == "[") == (closing == b']'));
        if fits { Ok(()) } else { Err(self.given.refuse("", self.at..self.at + 1, "closes nothing").help("remove it")) }
    }

    /// The value after `=`; a block or a list is entered by the caller's next turn.
    fn value(&mut self, start: usize, head: &str) -> Result<()> {
        let equals = self.at;
        self.at += 1;
        let stop = self.until(b"{}[]=,");
        let value = self.content(equals + 1, self.at);
        let end = self.at;
        // The caller steps over one byte.
        self.at -= 1;
        match stop {
            // A block: its type is the word before the brace, which the next turn would miss.
            Some(b'{') => {
                self.at = end;
                self.enter(value.split_whitespace().last().unwrap_or_default().to_string())
            }
            Some(b'[') if self.holds_blocks(end) => {
                self.at = end;
                self.enter("[".into())
            }
            Some(b'[') => {
                self.at = end;
                if self.until(b"]").is_none() {
                    let list = self.given.refuse(head, end..end + 1, "the file ends inside this list");
                    return Err(list.help("close the ["));
                }
                let value = self.content(equals + 1, self.at + 1);
                self.key(head, value, start..equals, equals + 1..self.at)
            }
            Some(b'=') => {
                let place = end..end + 1;
                Err(self.given.refuse(head, place, "a second = in one entry").help("separate entries by commas"))
            }
            _ => self.key(head, value, start..equals, equals + 1..end),
        }
    }

    /// Whether the list that begins here has blocks in it.
    fn holds_blocks(&mut self, start: usize) -> bool {
        let before = std::mem::replace(&mut self.at, start + 1);
        let stop = self.until(b"{[]=");
        self.at = before;
        !matches!(stop, Some(b']') | None)
    }

    /// Adds a key; the ranges are where its name and its value stand, comments included.
    fn key(&mut self, name: &str, value: String, names: Range<usize>, values: Range<usize>) -> Result<()> {
        let section = self.open.iter().rev().find(|kind| *kind != "[").cloned().unwrap_or_default();
        let place = |within: Range<usize>, text: &str| {
            let first = text.split(' ').next().unwrap_or(text);
            let at = within.start + self.given.text[within.clone()].find(first).unwrap_or(0);
            at..(at + text.len()).min(within.end)
        };
        let (at, value_at) = (place(names, name), place(values, &value));
        self.given.push(Key { section, name: name.into(), value, at, value_at })
    }
}

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    if !given.keys.iter().any(|key| key.section == "ssdmodel_ssd") {
        let help = "expected a block ssdmodel_ssd of the SSD extension; disks are not simulated";
        return Err(given.refuse("ssdmodel_ssd", 0..0, "not in the file").help(help));
    }
    desk.require(NEEDED)?;
    array(&mut desk)?;
    transfer(&mut desk)?;
    collection(&mut desk)?;
    Ok(desk)
}

/// Divides without rest, or refuses the value.
fn divided(desk: &Desk, name: &'static str, by: &'static str) -> Result<u64> {
    let (Some(value), parts) = (desk.value(name), desk.whole(by)?) else { return Ok(0) };
    let all = value.whole()?;
    match all.checked_div(parts).filter(|_| all.is_multiple_of(parts)) {
        Some(each) if each > 0 => Ok(each),
        _ => {
            let short = by.rsplit('/').next().unwrap_or(by);
            Err(value.refuse(format!("{all} do not divide by {short} = {parts}"), "use a multiple of it"))
        }
    }
}

fn array(desk: &mut Desk) -> Result<()> {
    let (elements, gang) = ("ssdmodel_ssd/Flash chip elements", "ssdmodel_ssd/Elements per gang");
    let (planes, units) = ("ssdmodel_ssd/Planes per package", "ssdmodel_ssd/Number of parallel units");
    let number = |value: u64| Toml::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let channels = divided(desk, elements, gang)?;
    desk.set("geometry.channels", number(channels), elements);
    desk.set("geometry.chips_per_channel", number(desk.whole(gang)?), gang);
    let each = divided(desk, planes, units)?;
    desk.set("geometry.dies_per_chip", number(desk.whole(units)?), units);
    desk.set("geometry.planes_per_die", number(each), planes);
    if let Some(sectors) = desk.value("ssdmodel_ssd/Page size") {
        let bytes = sectors.whole()?.checked_mul(512);
        let bytes = bytes.ok_or_else(|| sectors.refuse("beyond 64 bits", "pages count sectors of 512 bytes"))?;
        desk.set("geometry.page_size", size(bytes), "ssdmodel_ssd/Page size");
    }
    if let (Some(all), Some(blocks)) =
        (desk.value("ssdmodel_ssd/Blocks per element"), desk.value("ssdmodel_ssd/Blocks per plane"))
        && blocks.whole()?.checked_mul(desk.whole(planes)?) != Some(all.whole()?)
    {
        let message = format!("{} blocks, but planes have {} each", all.text, blocks.text);
        return Err(all.refuse(message, "use Planes per package times Blocks per plane"));
    }
    Ok(())
}

/// Milliseconds a byte.
fn transfer(desk: &mut Desk) -> Result<()> {
    let Some(value) = desk.value("ssdmodel_ssd/Chip xfer latency") else { return Ok(()) };
    let decimal = value.decimal()?;
    // A millisecond has 10^6 nanoseconds.
    let rate = decimal.times(1_000_000).and_then(|ns| ns.text_over(1, 9)).filter(|(_, exact)| *exact);
    let Some((rate, _)) = rate else {
        return Err(value.refuse("not a usable time a byte", "expected milliseconds a byte, such as 0.000025"));
    };
    desk.set("timing.transfer", text(format!("{rate}ns/B")), "ssdmodel_ssd/Chip xfer latency");
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if let Some(value) = desk.value("ssdmodel_ssd/Minimum free blocks percentage") {
        threshold(desk, value.share(100)?, "ssdmodel_ssd/Minimum free blocks percentage");
    }
    if let Some(policy) = desk.value("ssdmodel_ssd/Write policy")
        && policy.whole()? != 2
    {
        desk.say("ssdmodel_ssd/Write policy", NotModelled, "pages are written out of place, as by policy 2");
    }
    if desk.whole("ssdmodel_ssd/Cleaning in background")? != 0 {
        let idle = toml::Table::from_iter([("idle".to_string(), Toml::Table(toml::Table::new()))]);
        desk.set("schemes.trigger", Toml::Table(idle), "ssdmodel_ssd/Cleaning in background");
    } else {
        desk.say("ssdmodel_ssd/Cleaning in background", Same, "collections start by the threshold only");
    }
    let by = "ssdmodel_ssd/Cleaning policy";
    let Some(policy) = desk.value(by) else { return Ok(()) };
    let kind = policy.whole()?;
    desk.set("schemes.victim", text("greedy"), by);
    match kind {
        2 => {}
        3 => {
            desk.set("ftl.wear_levelling", text("static"), by);
            desk.say(by, Near, "greedy with static wear levelling; DiskSim also rations the cleaning of worn blocks");
        }
        _ => desk.say(by, NotModelled, "greedy in its place"),
    }
    Ok(())
}
