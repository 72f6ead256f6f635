//! NVMeVirt: `ssd_config.h`, values of the C preprocessor.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same};
use toml::Value as Toml;

use crate::common::{by_type, full_first, lines, no_suspension};
use crate::keys::{Given, Key, MOST_KEYS};
use crate::table::{Desk, Drive, Mapping, Rule, To, fraction, missing, near, same, size, text, time, unused};

const MAPPING: Mapping = Mapping { simulator: "NVMeVirt", rules: RULES, host: "" };
const NS: u64 = 1_000;

/// What becomes of each value of a drive.
const RULES: &[Rule] = &[
    same("BASE_SSD|NS_SSD_TYPE_0", None, To::Nothing),
    same("CELL_MODE", None, To::With("timing.read")),
    missing("NR_NAMESPACES|NS_SSD_TYPE_1", "one address space"),
    missing("NS_CAPACITY_0|NS_CAPACITY_1", CAPACITY),
    missing("MDTS", "requests have any size"),
    missing(
        "SSD_PARTITIONS",
        "NVMeVirt divides the channels among so many independent parts, with a GC of its own each; here GC is by plane",
    ),
    same("NAND_CHANNELS", None, To::Count("geometry.channels")),
    near("LUNS_PER_NAND_CH", None, To::Count("geometry.chips_per_channel"), "a LUN is a chip of one die"),
    same("PLNS_PER_LUN", None, To::Count("geometry.planes_per_die")),
    near(
        "FLASH_PAGE_SIZE",
        None,
        To::Bytes("geometry.page_size"),
        "NVMeVirt maps units of 4 KiB, and fills a page with several; without a write buffer, or where blocks hold no whole shots, a page is mapped as a whole here",
    ),
    near("ONESHOT_PAGE_SIZE", None, To::With("geometry.pages_per_program"), ""),
    same("BLKS_PER_PLN", None, To::With("geometry.blocks_per_plane")),
    near("BLK_SIZE", None, To::With("geometry.pages_per_block"), ""),
    missing("MAX_CH_XFER_SIZE", "data of a page cross the channel in one piece"),
    missing("WRITE_UNIT_SIZE", "a write of part of a page reads the rest of it"),
    near("NAND_CHANNEL_BANDWIDTH", None, To::With("timing.transfer"), RATE),
    near("PCIE_BANDWIDTH", None, To::With("timing.host_link"), RATE),
    missing("NAND_4KB_READ_LATENCY_LSB|NAND_4KB_READ_LATENCY_MSB|NAND_4KB_READ_LATENCY_CSB", PART),
    same("NAND_READ_LATENCY_LSB|NAND_READ_LATENCY_MSB|NAND_READ_LATENCY_CSB", None, To::With("timing.read")),
    near("NAND_PROG_LATENCY", None, To::Time("timing.program", NS), ""),
    same("NAND_ERASE_LATENCY", None, To::Time("timing.erase", NS)),
    missing("FW_4KB_READ_LATENCY|FW_READ_LATENCY", FIRMWARE),
    near(
        "FW_WBUF_LATENCY0",
        None,
        To::With("cache.time"),
        "of each write; NVMeVirt adds FW_WBUF_LATENCY1 for each 4 KiB",
    ),
    missing("FW_WBUF_LATENCY1|FW_CH_XFER_LATENCY", FIRMWARE),
    near(
        "OP_AREA_PERCENT",
        None,
        To::With("device.over_provisioning"),
        "NVMeVirt counts it of the exported space, here it is a share of the whole array",
    ),
    near(
        "GLOBAL_WB_SIZE",
        None,
        To::With("cache.size"),
        "the write buffer; NVMeVirt has no cache of what was written, and lets a write wait when no room is left",
    ),
    near("WRITE_EARLY_COMPLETION", None, To::With("cache.write"), ""),
    missing("LBA_BITS|LBA_SIZE", "sectors of 512 bytes"),
    missing("ZONE_SIZE", "zones are not simulated"),
    unused("CELL_TYPE_LSB", "a number of its own"),
];

/// What NVMeVirt maps.
const UNIT: u64 = 4096;

const CAPACITY: &str = "NVMeVirt takes the memory that is reserved for it; geometry.blocks_per_plane and geometry.pages_per_block set the size here";
const RATE: &str = "MiB a second, as its source counts";
const PART: &str = "a read of part of a page takes the time of a page";
const FIRMWARE: &str = "firmware takes no time here";

/// Keys of a drive with a flash translation layer.
const NEEDED: &[(&str, &str)] = &[
    ("NAND_CHANNELS", "give the number of channels"),
    ("LUNS_PER_NAND_CH", "give the LUNs of a channel"),
    ("FLASH_PAGE_SIZE", "give the size of a page"),
    ("NAND_READ_LATENCY_LSB", "give the time of a read"),
    ("NAND_PROG_LATENCY", "give the time of a program"),
    ("NAND_CHANNEL_BANDWIDTH", "give the rate of a channel in MiB/s"),
];

pub(crate) fn fits(text: &str) -> bool {
    let defines = |name: &str| {
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("#define"))
            .any(|rest| rest.trim_start().starts_with(name))
    };
    defines("NAND_CHANNELS") || defines("LUNS_PER_NAND_CH") || text.contains("BASE_SSD") && text.contains("#define")
}

/// A macro: its parameter if it has one, and its text.
struct Macro<'t> {
    parameter: Option<&'t str>,
    body: &'t str,
    at: Range<usize>,
    body_at: Range<usize>,
}

/// The preprocessor, as far as such files need it.
#[derive(Default)]
struct Preprocessor<'t> {
    macros: BTreeMap<&'t str, Macro<'t>>,
    /// Names in the order of their definition.
    order: Vec<&'t str>,
}

/// The text of a directive without its comments, and where it begins in the line.
fn directive(line: &str) -> Option<(&str, usize)> {
    let rest = line.trim_start().strip_prefix('#')?;
    let rest = rest.split("//").next().unwrap_or(rest);
    let rest = rest.split("/*").next().unwrap_or(rest);
    let trimmed = rest.trim();
    Some((trimmed, trimmed.as_ptr() as usize - line.as_ptr() as usize))
}

/// Branches of conditions within each other: whether lines hold, and whether a branch has held.
#[derive(Default)]
struct Branches(Vec<(bool, bool)>);

impl Branches {
    fn hold(&self) -> bool {
        self.0.iter().all(|(holds, _)| *holds)
    }
}

/// Reads the values of the drive that is chosen.
///
/// # Errors
/// No drive is chosen, or a condition can't be understood.
pub(crate) fn read(name: &str, source: &str) -> Result<Given> {
    let mut given = Given::new(name, source);
    let mut cpp = Preprocessor::default();
    let (mut branches, mut offset) = (Branches::default(), 0);
    for line in source.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let Some((text, lead)) = directive(line) else { continue };
        let at = start + lead..start + lead + text.len();
        let (word, rest) = text.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((text, ""));
        let rest = &text[text.len() - rest.len()..];
        let condition = |cpp: &Preprocessor| {
            let whole = text[word.len()..].trim();
            cpp.holds(whole).ok_or_else(|| {
                let message = match cpp.macros.contains_key("BASE_SSD") || !whole.contains("BASE_SSD") {
                    true => "a condition that is not understood",
                    false => "BASE_SSD is not defined: the file describes several drives",
                };
                given
                    .refuse("", at.clone(), message)
                    .help("put the drive above the conditions, as in: #define BASE_SSD SAMSUNG_970PRO")
            })
        };
        match word {
            "if" | "ifdef" | "ifndef" => {
                let holds = branches.hold()
                    && match word {
                        "if" => condition(&cpp)?,
                        "ifdef" => cpp.macros.contains_key(rest.trim()),
                        _ => !cpp.macros.contains_key(rest.trim()),
                    };
                branches.0.push((holds, holds));
                if branches.0.len() > 64 {
                    return Err(given
                        .refuse("", at, "conditions more than 64 deep")
                        .help("this is no configuration of a simulator"));
                }
            }
            "elif" | "else" => {
                let Some((_, held)) = branches.0.pop() else {
                    return Err(given.refuse("", at, "no condition to go on with").help("expected #if before it"));
                };
                let holds = !held && branches.hold() && (word == "else" || condition(&cpp)?);
                branches.0.push((holds, held || holds));
            }
            "endif" => drop(branches.0.pop()),
            "define" if branches.hold() => cpp.define(rest, start + lead + text.len() - rest.len()),
            _ => {}
        }
    }
    for name in &cpp.order {
        let found = &cpp.macros[name];
        if found.parameter.is_some() || MAPPING.rule(name).is_none() {
            continue;
        }
        let value = cpp.number(found.body, 0).map_or_else(|| bare(found.body).to_string(), |number| number.to_string());
        let (at, value_at) = (found.at.clone(), found.body_at.clone());
        given.push(Key { section: String::new(), name: (*name).into(), value, at, value_at })?;
    }
    Ok(given)
}

/// A text without the parentheses around it, and the suffix of a number.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        text = inner.trim();
    }
    text
}

impl<'t> Preprocessor<'t> {
    /// `NAME body`, or `NAME(parameter) body`, which begins at byte `at`.
    fn define(&mut self, text: &'t str, at: usize) {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let (parameter, rest) = match rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            Some((parameter, body)) => (Some(parameter.trim()), body),
            None => (None, rest),
        };
        let body = rest.trim();
        let from = at + (body.as_ptr() as usize - text.as_ptr() as usize);
        if name.is_empty() || self.order.len() >= MOST_KEYS {
            return;
        }
        if self
            .macros
            .insert(name, Macro { parameter, body, at: at..at + name.len(), body_at: from..from + body.len() })
            .is_none()
        {
            self.order.push(name);
        }
    }

    /// Whether a condition holds: `A == B`, or a number that is not 0.
    fn holds(&self, text: &str) -> Option<bool> {
        let text = bare(text);
        match text.split_once("==") {
            Some((one, two)) => Some(self.number(one, 0)? == self.number(two, 0)?),
            None => self.number(text, 0).map(|number| number != 0),
        }
    }

    fn number(&self, text: &str, depth: u32) -> Option<i128> {
        let mut parser = Expression { cpp: self, rest: text, depth, argument: None };
        let value = parser.shift()?;
        parser.rest.trim().is_empty().then_some(value)
    }
}

/// An expression: shifts over sums over products.
struct Expression<'c, 't> {
    cpp: &'c Preprocessor<'t>,
    rest: &'c str,
    depth: u32,
    /// The parameter of a macro and its value.
    argument: Option<(&'c str, i128)>,
}

impl Expression<'_, '_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn shift(&mut self) -> Option<i128> {
        let mut value = self.sum()?;
        while self.takes("<<") {
            value = value.checked_mul(1i128.checked_shl(u32::try_from(self.sum()?).ok().filter(|by| *by < 64)?)?)?;
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            if self.takes("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.takes("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.term()?;
        loop {
            if self.takes("*") {
                value = value.checked_mul(self.term()?)?;
            } else if self.takes("/") {
                value = value.checked_div(self.term()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn term(&mut self) -> Option<i128> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth < 200)?;
        if self.takes("(") {
            let value = self.shift()?;
            return self.takes(")").then_some(value);
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
            return match digits.strip_prefix("0x") {
                Some(digits) => i128::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            };
        }
        if let Some((_, value)) = self.argument.filter(|(name, _)| *name == word) {
            return Some(value);
        }
        let found = self.cpp.macros.get(word)?;
        let argument = match found.parameter {
            Some(parameter) => {
                if !self.takes("(") {
                    return None;
                }
                let value = self.shift()?;
                Some((parameter, value)).filter(|_| self.takes(")"))
            }
            None => None,
        };
        let mut inner = Expression { cpp: self.cpp, rest: found.body, depth: self.depth + 10, argument };
        let value = inner.shift()?;
        inner.rest.trim().is_empty().then_some(value)
    }
}

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    if let Some(kind) = desk.value("NS_SSD_TYPE_0")
        && kind.text != "SSD_TYPE_CONV"
    {
        let help = "only conventional drives are imported: NS_SSD_TYPE_0 SSD_TYPE_CONV";
        let what = match kind.text {
            "SSD_TYPE_ZNS" => "a zoned drive (ZNS): zones are not simulated",
            "SSD_TYPE_KV" => "a key-value drive",
            "SSD_TYPE_NVM" => "a memory without flash",
            _ => "not a conventional drive",
        };
        return Err(kind.refuse(what, help));
    }
    desk.require(NEEDED)?;
    desk.set("geometry.dies_per_chip", Toml::Integer(1), "LUNS_PER_NAND_CH");
    no_suspension(&mut desk, "NAND_PROG_LATENCY");
    pages(&mut desk)?;
    times(&mut desk)?;
    for (by, key) in [("NAND_CHANNEL_BANDWIDTH", "timing.transfer"), ("PCIE_BANDWIDTH", "timing.host_link")] {
        let Some(rate) = desk.value(by) else { continue };
        if rate.whole()? == 0 {
            return Err(rate.refuse("nothing would ever cross it", "use 1 or more"));
        }
        desk.set(key, text(format!("{}MiB/s", rate.text)), by);
    }
    spare(&mut desk)?;
    buffer(&mut desk)?;
    Ok(desk)
}

/// Blocks, and pages programmed together.
fn pages(desk: &mut Desk) -> Result<()> {
    let page = desk.whole("FLASH_PAGE_SIZE")?;
    let (blocks, block) = (desk.whole("BLKS_PER_PLN")?, desk.whole("BLK_SIZE")?);
    if blocks > 0 {
        desk.set("geometry.blocks_per_plane", Toml::Integer(blocks as i64), "BLKS_PER_PLN");
    } else {
        desk.say("BLKS_PER_PLN", NotModelled, CAPACITY);
    }
    match block.checked_div(page).filter(|pages| *pages > 0) {
        Some(pages) => desk.set("geometry.pages_per_block", Toml::Integer(pages as i64), "BLK_SIZE"),
        None => desk.say("BLK_SIZE", NotModelled, CAPACITY),
    }
    let shot = desk.whole("ONESHOT_PAGE_SIZE")?.checked_div(page).unwrap_or(1);
    if shot > 1 {
        // Unless its units are mapped, which is known later.
        let note = format!("one shot programs {shot} pages of a LUN there; here each page is programmed on its own");
        desk.say("ONESHOT_PAGE_SIZE", Near, note);
        let note =
            format!("of {shot} pages at once there, of each page here: programs take {shot} times as long a byte");
        desk.say("NAND_PROG_LATENCY", Near, note);
    } else {
        desk.say("ONESHOT_PAGE_SIZE", Same, "one page");
        desk.say("NAND_PROG_LATENCY", Same, "");
    }
    Ok(())
}

/// Read times by the type of a page.
fn times(desk: &mut Desk) -> Result<()> {
    let mode = desk.value("CELL_MODE").map_or("", |mode| mode.text).to_string();
    let names: &[&'static str] = match mode.as_str() {
        "1" | "CELL_MODE_SLC" => &["NAND_READ_LATENCY_LSB"],
        "3" | "CELL_MODE_TLC" => &["NAND_READ_LATENCY_LSB", "NAND_READ_LATENCY_CSB", "NAND_READ_LATENCY_MSB"],
        _ => &["NAND_READ_LATENCY_LSB", "NAND_READ_LATENCY_MSB"],
    };
    let mut reads = Vec::new();
    for name in names.iter().copied() {
        if let Some(value) = desk.value(name) {
            reads.push(value.nanos(NS)?);
        }
    }
    desk.set("timing.read", by_type(&reads), names[0]);
    Ok(())
}

/// The spare, which the original counts of the exported space.
fn spare(desk: &mut Desk) -> Result<()> {
    let Some(value) = desk.value("OP_AREA_PERCENT") else { return Ok(()) };
    let (spare, _) = value.share(1)?;
    // raw / (1 + spare) is exported.
    let share = u128::from(spare) * 1_000_000 / (1_000_000 + u128::from(spare));
    desk.set("device.over_provisioning", fraction(share as u64), "OP_AREA_PERCENT");
    Ok(())
}

fn buffer(desk: &mut Desk) -> Result<()> {
    let (capacity, page) = (desk.whole("GLOBAL_WB_SIZE")?, desk.whole("FLASH_PAGE_SIZE")?);
    if !desk.gives("GLOBAL_WB_SIZE") {
        return Ok(());
    }
    if desk.whole("WRITE_EARLY_COMPLETION")? == 0 {
        desk.set("cache.size", size(0), "GLOBAL_WB_SIZE");
        desk.say("WRITE_EARLY_COMPLETION", Same, "0: a write completes on flash, without a buffer here");
        return Ok(());
    }
    if maps_units(desk, capacity, page)? {
        lines(desk, capacity, UNIT, "GLOBAL_WB_SIZE");
        desk.set("cache.writeback", text("eager"), "GLOBAL_WB_SIZE");
    } else {
        let Some(lines) = lines(desk, capacity, page, "GLOBAL_WB_SIZE") else { return Ok(()) };
        full_first(desk, lines, "GLOBAL_WB_SIZE");
    }
    desk.set("cache.write", text("back"), "WRITE_EARLY_COMPLETION");
    if let Some(value) = desk.value("FW_WBUF_LATENCY0") {
        desk.set("cache.time", time(value.nanos(NS)?), "FW_WBUF_LATENCY0");
    }
    Ok(())
}

/// Maps units of 4 KiB that the buffer gathers into shots, if it holds one. In the order of writes, shots go to one LUN after the other,
/// channels first, and GC carries over what fills none.
fn maps_units(desk: &mut Desk, capacity: u64, page: u64) -> Result<bool> {
    let shot = desk.whole("ONESHOT_PAGE_SIZE")?.checked_div(page).unwrap_or(1).max(1);
    let units = page / UNIT;
    let block = desk.drive().whole("geometry.pages_per_block");
    let types = desk.drive().get("timing.read").and_then(Toml::as_array).map_or(1, |types| types.len() as u64);
    let fits = shot == 1 || block.is_some_and(|pages| pages.is_multiple_of(shot)) && (types == 1 || types == shot);
    // What a page, a program and a block may hold.
    let few = units <= 64 && units * shot <= 1024 && block.unwrap_or(1).saturating_mul(units) < 1 << 15;
    if !page.is_multiple_of(UNIT) || units * shot < 2 || capacity < page * shot || !fits || !few {
        return Ok(false);
    }
    let by = if desk.gives("ONESHOT_PAGE_SIZE") { "ONESHOT_PAGE_SIZE" } else { "FLASH_PAGE_SIZE" };
    desk.set("device.mapping_unit", size(UNIT), "FLASH_PAGE_SIZE");
    desk.set("geometry.planes_per_program", Toml::Integer(1), "FLASH_PAGE_SIZE");
    desk.set("geometry.pages_per_program", Toml::Integer(shot as i64), by);
    desk.set("schemes.place", text("round-robin"), by);
    desk.set("gc.remainder", text("keep"), by);
    desk.say(by, Same, "units of any requests fill a shot, and LUNs take shots in turn");
    desk.say("FLASH_PAGE_SIZE", Near, "units of 4 KiB, as there; here a read of several in a page is one command");
    desk.say("NAND_PROG_LATENCY", Same, "");
    Ok(true)
}
