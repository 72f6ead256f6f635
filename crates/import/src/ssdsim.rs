//! SSDsim: `page.parameters`.

use std::collections::BTreeMap;

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same, Unused};
use ssdlab_sim::units::Rate;
use toml::Value as Toml;

use crate::common::{full_first, lines, rounding, threshold};
use crate::keys::Given;
use crate::table::{Desk, Drive, Mapping, Rule, To, missing, near, same, text, unused};

const MAPPING: Mapping = Mapping { simulator: "SSDsim", rules: RULES, host: "" };
const NS: u64 = 1_000;

/// What becomes of each key of `page.parameters`. A key that is not there is 0 in the program.
const RULES: &[Rule] = &[
    near("dram capacity", Some("0"), To::With("cache.size"), BUFFER),
    near("data dram capacity", None, To::With("cache.size"), BUFFER),
    missing("mapping dram capacity|mapping entry size", "the whole map is in memory here"),
    unused("cpu sdram", NOTHING),
    same("channel number", None, To::Count("geometry.channels")),
    same("chip number", None, To::Nothing),
    same("die number", None, To::Count("geometry.dies_per_chip")),
    same("plane number", None, To::Count("geometry.planes_per_die")),
    same("block number", None, To::Count("geometry.blocks_per_plane")),
    same("page number", None, To::Count("geometry.pages_per_block")),
    same("page capacity", None, To::Bytes("geometry.page_size")),
    near("subpage page|subpage capacity", None, To::Nothing, PARTIAL),
    same("t_PROG", None, To::Time("timing.program", NS)),
    same("t_R", None, To::Time("timing.read", NS)),
    same("t_BERS", None, To::Time("timing.erase", NS)),
    near(
        "t_RC",
        None,
        To::With("timing.transfer"),
        "time a byte, of reads; SSDsim adds 7 t_WC for a command and its address",
    ),
    near(
        "t_WC",
        None,
        To::With("timing.transfer"),
        "time a byte, of programs; SSDsim adds 7 t_WC for a command and its address",
    ),
    missing("t_DBSY", "SSDsim waits so long between the planes of a command"),
    missing("t_WB", "SSDsim adds it to an erase"),
    missing("t_PROGO", "one-shot programs of word lines are wear.programming here"),
    missing("t_ERSL", "timing.suspend and timing.suspendable set suspensions"),
    unused(
        "t_CLS|t_CLH|t_CS|t_CH|t_WP|t_ALS|t_ALH|t_DS|t_DH|t_WH|t_ADL|t_AR|t_CLR|t_RR|t_RP|t_REA|\
         t_CEA|t_RHZ|t_CHZ|t_RHOH|t_RLOH|t_COH|t_REH|t_IR|t_RHW|t_WHR|t_RST",
        NOTHING,
    ),
    unused("erase limit", "no block ever wears out there, either"),
    unused(
        "flash operating current|flash supply voltage|dram active current|dram standby current|\
         dram refresh current|dram voltage",
        "energy is never computed",
    ),
    unused("address mapping", "there is a page map only"),
    unused("wear leveling", "there is no wear levelling"),
    unused("gc|clean in background", NOTHING),
    same("overprovide", None, To::Share("device.over_provisioning", 1)),
    unused("gc threshold", "GC starts by gc hard threshold"),
    near(
        "gc hard threshold",
        None,
        To::With("gc.threshold"),
        "free pages of a plane below this share start GC, as here; SSDsim collects when the channel is idle",
    ),
    missing(
        "gc soft threshold",
        "there is one threshold; schemes.trigger = \"idle\" collects earlier while dies are idle",
    ),
    unused("buffer management", NOTHING),
    unused("scheduling algorithm", "requests are served first come, first served, as here"),
    unused(
        "quick table radio|related mapping|striping|interleaving|pipelining|time_step|\
         small large write",
        NOTHING,
    ),
    missing(
        "active write threshold|threshold value|active write",
        "idle time does not write the buffer back here; cache.writeback = \"idle\" does",
    ),
    near("allocation", Some("0"), To::With("schemes.place"), ""),
    same("static_allocation", Some("0"), To::With("schemes.place")),
    near("dynamic_allocation", Some("0"), To::With("schemes.place"), ""),
    near("advanced command", Some("0"), To::With("device.multi_plane"), ""),
    missing(
        "advanced command priority|advanced command priority2",
        "commands of several planes are formed when a request is dispatched",
    ),
    missing("greed CB command", "copybacks never skip pages here"),
    missing("greed MPW command", "commands of several planes never skip pages here"),
    same("aged", Some("0"), To::With("precondition.mode")),
    near(
        "aged ratio",
        Some("0"),
        To::With("precondition.invalid"),
        "so many pages of each plane are stale; SSDsim takes them from the first blocks, here all blocks share them",
    ),
    near(
        "queue_length",
        Some("5"),
        To::With("device.queue_depth"),
        "outstanding requests; SSDsim stops reading the trace meanwhile",
    ),
    near(
        "requset queue depth",
        None,
        To::With("device.queue_depth"),
        "outstanding requests; SSDsim stops reading the trace meanwhile",
    ),
    missing("warm flash", "reads of pages never written find them on flash here (device.unwritten_read)"),
    missing("flash mode", "page types are lists in timing.read and timing.program"),
    // chip number[0], chip number[1], ...
    same("chip number[*", None, To::With("geometry.chips_per_channel")),
];

/// A key that is not there is 0 in the program, and with 0 of these there is no device.
const NEEDED: &[(&str, &str)] = &[
    ("channel number", "give the number of channels; SSDsim takes 0 without it"),
    ("die number", "give the dies of a chip; SSDsim takes 0 without it"),
    ("plane number", "give the planes of a die; SSDsim takes 0 without it"),
    ("block number", "give the blocks of a plane; SSDsim takes 0 without it"),
    ("page number", "give the pages of a block; SSDsim takes 0 without it"),
    ("page capacity", "give the bytes of a page; SSDsim takes 0 without it"),
    ("t_R", "give the read time in nanoseconds; SSDsim takes 0 without it"),
    ("t_PROG", "give the program time in nanoseconds; SSDsim takes 0 without it"),
    ("t_BERS", "give the erase time in nanoseconds; SSDsim takes 0 without it"),
    ("t_RC", "give the time of a byte that is read, in nanoseconds; SSDsim takes 0 without it"),
    ("t_WC", "give the time of a byte that is written, in nanoseconds; SSDsim takes 0 without it"),
    ("overprovide", "give the spare share, such as 0.25; SSDsim takes 0 without it, and has no spare"),
    (
        "gc hard threshold",
        "give the share of free pages that starts GC; SSDsim takes 0 without it, and GC never starts",
    ),
];

const NOTHING: &str = "the program reads it and does nothing with it";
const PARTIAL: &str = "partial writes count sectors of 512 bytes here, and move the whole page over the channel; SSDsim moves only the subpages that are written";
const BUFFER: &str = "the write buffer: SSDsim evicts the least recently used sectors when it is full; here lines are whole pages, and write-back starts when all are dirty";
/// A request that the buffer takes completes after this time in SSDsim.
const BUFFER_NS: u64 = 1_000;

/// The static orders 0 to 5; the first letter varies fastest.
const ORDERS: [&str; 6] = ["WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW"];

/// Bits of `advanced command`.
const COPYBACK: u64 = 0b00010;
const TWO_PLANE: u64 = 0b10100;
const INTERLEAVE: u64 = 0b01000;

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    desk.require(NEEDED)?;
    chips(&mut desk, given)?;
    queue(&mut desk)?;
    pages(&mut desk)?;
    bus(&mut desk)?;
    placement(&mut desk)?;
    commands(&mut desk)?;
    collection(&mut desk)?;
    buffer(&mut desk)?;
    Ok(desk)
}

/// Chips of each channel: `chip number[i]`, all alike, and their sum in `chip number`. The last one of a channel counts; one that is not
/// there has 0.
fn chips(desk: &mut Desk, given: &Given) -> Result<()> {
    let channels = desk.drive().whole("geometry.channels").unwrap_or(1);
    let mut each: BTreeMap<u64, usize> = BTreeMap::new();
    for (place, key) in given.keys.iter().enumerate() {
        let Some(index) = key.name.strip_prefix("chip number[").and_then(|rest| rest.strip_suffix(']')) else {
            continue;
        };
        let Ok(index) = index.trim().parse::<u64>() else {
            return Err(given
                .refuse(&key.name, key.at.clone(), "the channel is not a number")
                .help("write chip number[0]"));
        };
        if index >= channels {
            desk.ignored(&key.name, "there is no such channel");
        } else if let Some(before) = each.insert(index, place) {
            let line = given.line(key.at.start);
            desk.ignored_at(before, format!("given again on line {line}; the last one counts"));
        }
    }
    let mut first: Option<u32> = None;
    for index in 0..channels {
        let name = format!("chip number[{index}]");
        let Some(place) = each.get(&index) else {
            let help = "give the chips of each channel; SSDsim takes 0 without it";
            return Err(given.refuse(&name, 0..0, "not in the file").help(help));
        };
        let key = &given.keys[*place];
        let value = crate::keys::Value { given, name: &key.name, text: &key.value, key: Some(key) };
        let chips = value.count()?;
        let first = *first.get_or_insert(chips);
        if first != chips {
            let message = format!("{chips} chips, but channel 0 has {first}");
            return Err(value.refuse(message, "channels are alike here: give each the same number of chips"));
        }
    }
    let each = u64::from(first.unwrap_or(0));
    desk.set("geometry.chips_per_channel", Toml::Integer(each as i64), "chip number[*");
    if let Some(all) = desk.value("chip number")
        && all.whole()? != each * channels
    {
        let message = format!("{} chips in all, but {channels} channels have {each} each", all.text);
        return Err(all.refuse(message, format!("use {}", each * channels)));
    }
    Ok(())
}

/// The number of outstanding requests has two names, and the last one counts.
fn queue(desk: &mut Desk) -> Result<()> {
    let names = ["queue_length", "requset queue depth"];
    let ([one, two], [first, second]) = (names, names.map(|name| desk.last_place(name)));
    let (counts, other) = if second > first { (two, one) } else { (one, two) };
    if let Some(value) = desk.value(counts) {
        desk.set("device.queue_depth", Toml::Integer(value.count()?.into()), counts);
    }
    if first.is_some() && second.is_some() {
        desk.say(other, Unused, format!("{counts} after it sets the same; the last one counts"));
    }
    Ok(())
}

fn pages(desk: &mut Desk) -> Result<()> {
    let (Some(page), Some(parts), Some(part)) =
        (desk.value("page capacity"), desk.value("subpage page"), desk.value("subpage capacity"))
    else {
        return Ok(());
    };
    let sum = parts.whole()?.checked_mul(part.whole()?);
    if sum != Some(page.whole()?) {
        let message = format!("{} subpages of {} bytes are not a page of {}", parts.text, part.text, page.text);
        return Err(parts.refuse(message, "subpage page times subpage capacity is page capacity"));
    }
    Ok(())
}

/// One rate for both directions.
fn bus(desk: &mut Desk) -> Result<()> {
    let (Some(out), Some(into)) = (desk.value("t_RC"), desk.value("t_WC")) else { return Ok(()) };
    let (read, write) = (out.nanos(NS)?, into.nanos(NS)?);
    desk.set("timing.transfer", text(format!("{read}ns/B")), "t_RC");
    if read != write {
        desk.say("t_WC", NotModelled, format!("one rate for both directions: t_RC, {read} ns a byte"));
    }
    let page = desk.whole("page capacity")?;
    if let Some(time) = format!("{read}ns/B").parse::<Rate>().ok().and_then(|rate| rate.checked_time(page)) {
        let command = 7 * u128::from(write);
        let note =
            format!("a page takes {} ns; SSDsim adds 7 t_WC = {command} ns for a command and its address", time.0);
        desk.say("t_RC", Near, note);
    }
    Ok(())
}

fn placement(desk: &mut Desk) -> Result<()> {
    let Some(scheme) = desk.value("allocation") else { return Ok(()) };
    match scheme.whole()? {
        0 => {
            desk.set("schemes.place", text("dynamic"), "allocation");
            desk.say(
                "allocation",
                Near,
                "writes go to the next idle die here; SSDsim takes channels, chips, dies and planes in turn",
            );
            desk.say("static_allocation", Unused, "allocation is dynamic");
            if desk.whole("dynamic_allocation")? != 0 {
                desk.say("dynamic_allocation", NotModelled, "no channel is fixed by the address");
            } else {
                desk.say("dynamic_allocation", Same, "");
            }
        }
        1 => {
            desk.say("dynamic_allocation", Unused, "allocation is static");
            desk.say("allocation", Same, "");
            let Some(order) = desk.value("static_allocation") else { return Ok(()) };
            let number = order.whole()?;
            match usize::try_from(number).ok().and_then(|number| ORDERS.get(number)) {
                Some(letters) => desk.set("schemes.place", text(*letters), "static_allocation"),
                None => {
                    desk.set("schemes.place", text("CWDP"), "static_allocation");
                    desk.say(
                        "static_allocation",
                        NotModelled,
                        format!("order {number} places nothing in SSDsim; CWDP here"),
                    );
                }
            }
        }
        other => {
            desk.set("schemes.place", text("CWDP"), "allocation");
            desk.say("allocation", NotModelled, format!("scheme {other} of a derived program; static order CWDP here"));
        }
    }
    Ok(())
}

fn commands(desk: &mut Desk) -> Result<()> {
    let Some(value) = desk.value("advanced command") else { return Ok(()) };
    let (bits, by) = (value.whole()?, "advanced command");
    let pairs = bits & TWO_PLANE != 0;
    let planes = desk.drive().whole("geometry.planes_per_die").unwrap_or(1);
    desk.set("device.multi_plane", Toml::Boolean(pairs && planes > 1), by);
    desk.set("schemes.path", text(if bits & COPYBACK != 0 { "copyback" } else { "external" }), by);
    desk.set("device.exclusion", text(if bits & INTERLEAVE != 0 { "die" } else { "chip" }), by);
    let note = "bits: 2 copyback (schemes.path), 4 and 16 two planes, 8 interleaving of dies (without it a chip does one thing at a time: device.exclusion)";
    desk.say(by, Near, note);
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if let Some(value) = desk.value("gc hard threshold") {
        threshold(desk, value.share(1)?, "gc hard threshold");
    }
    let aged = desk.whole("aged")? == 1;
    match desk.value("aged ratio").filter(|_| aged) {
        Some(ratio) => {
            let (share, rounded) = ratio.share(1)?;
            desk.set("precondition.mode", text("aged"), "aged");
            desk.set("precondition.valid", Toml::Float(0.0), "aged ratio");
            desk.set("precondition.invalid", crate::table::fraction(share), "aged ratio");
            if rounded {
                let note = rounding(desk, "aged ratio");
                desk.add_note("aged ratio", note);
            }
        }
        None => {
            desk.set("precondition.mode", text("none"), "aged");
            desk.say("aged ratio", Unused, "aged is not 1");
        }
    }
    Ok(())
}

/// The buffer in whole pages.
fn buffer(desk: &mut Desk) -> Result<()> {
    let page = desk.value("page capacity").map_or(Ok(1), |value| value.whole())?;
    // Programs derived from SSDsim divide it between data and map.
    let by = if desk.gives("data dram capacity") { "data dram capacity" } else { "dram capacity" };
    if by != "dram capacity" {
        desk.say("dram capacity", Unused, "data dram capacity sets the buffer");
    }
    let Some(capacity) = desk.value(by) else { return Ok(()) };
    if let Some(lines) = lines(desk, capacity.whole()?, page, by) {
        desk.set("cache.time", crate::table::time(BUFFER_NS), by);
        full_first(desk, lines, by);
    }
    Ok(())
}
