//! MQSim: `ssdconfig.xml`.

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same, Unused};
use toml::Value as Toml;

use crate::common::{by_type, d_choices, full_first, lines, no_suspension, rounding, threshold};
use crate::keys::Given;
use crate::table::{Desk, Drive, Mapping, Rule, To, missing, near, same, size, text, time, unused};
use crate::xml;

const MAPPING: Mapping = Mapping { simulator: "MQSim", rules: RULES, host: "" };
const NS: u64 = 1_000;

/// What becomes of each key of `ssdconfig.xml`, with the defaults of the program.
const RULES: &[Rule] = &[
    near("PCIe_Lane_Bandwidth", Some("0.4"), To::With("timing.host_link"), LINK),
    near("PCIe_Lane_Count", Some("4"), To::With("timing.host_link"), LINK),
    missing("SATA_Processing_Delay", "the host's software takes no time here"),
    missing("Enable_ResponseTime_Logging", "--requests and --series write every response time"),
    missing("ResponseTime_Logging_Period_Length", "--window sets the period of --series"),
    missing("Seed", "--seed sets the seed; the numbers drawn differ in any case"),
    near("Enabled_Preconditioning", Some("true"), To::With("precondition.mode"), PRECONDITION),
    same("Memory_Type", None, To::Nothing),
    near("HostInterface_Type", None, To::Nothing, "the host interface takes no time here, only the link does"),
    near("IO_Queue_Depth", Some("1024"), To::Count("device.queue_depth"), DEPTH),
    missing(
        "Queue_Fetch_Size",
        "MQSim's device holds at most this many commands of a flow; lower device.queue_depth to compare",
    ),
    missing("Caching_Mechanism", "there is one kind of cache"),
    missing("Data_Cache_Sharing_Mode", "flows share the cache"),
    near("Data_Cache_Capacity", Some("536870912"), To::With("cache.size"), CACHE),
    missing(
        "Data_Cache_DRAM_Row_Size|Data_Cache_DRAM_Data_Rate|Data_Cache_DRAM_Data_Busrt_Size|\
         Data_Cache_DRAM_Data_Burst_Size|Data_Cache_DRAM_tRCD|Data_Cache_DRAM_tCL|\
         Data_Cache_DRAM_tRP",
        DRAM,
    ),
    same("Address_Mapping", None, To::Nothing),
    missing(
        "Ideal_Mapping_Table",
        "the whole map is in memory here, as with true: in MQSim a miss of the CMT costs a page read",
    ),
    missing("CMT_Capacity|CMT_Sharing_Mode", MAP),
    near("Mapping_Unit", None, To::With("device.mapping_unit"), UNITS),
    same("Plane_Allocation_Scheme", Some("CWDP"), To::With("schemes.place")),
    near("Transaction_Scheduling_Policy", Some("OUT_OF_ORDER"), To::With("order.die_queue"), SCHEDULER),
    same("Overprovisioning_Ratio", Some("0.02"), To::Share("device.over_provisioning", 1)),
    near("GC_Exec_Threshold", Some("0.05"), To::With("gc.threshold"), BLOCKS),
    same("GC_Block_Selection_Policy", Some("RGA"), To::With("schemes.victim")),
    near(
        "Use_Copyback_for_GC",
        Some("true"),
        To::Word("schemes.path", &[("true", "copyback"), ("false", "external")]),
        "MQSim issues each move as two operations, here it is one copyback",
    ),
    near(
        "Preemptible_GC_Enabled",
        Some("true"),
        To::Word("schemes.collector", &[("true", "preemptive"), ("false", "serial")]),
        "MQSim queues the steps of a collection at the die, ahead of the host's operations if it is not preemptible; here it holds the die",
    ),
    near(
        "GC_Hard_Threshold",
        Some("0.005"),
        To::With("gc.hard_threshold"),
        "free pages, where MQSim counts free blocks",
    ),
    near(
        "Dynamic_Wearleveling_Enabled",
        Some("true"),
        To::Word("ftl.free_block", &[("true", "least-erased"), ("false", "round-robin")]),
        "the same choice among free blocks; ties may differ",
    ),
    near(
        "Static_Wearleveling_Enabled",
        Some("true"),
        To::Word("ftl.wear_levelling", &[("true", "static"), ("false", "none")]),
        "here every second collection of a plane beyond the spread takes the least erased block; MQSim moves it beside collections",
    ),
    near(
        "Static_Wearleveling_Threshold",
        Some("100"),
        To::With("ftl.wear_spread"),
        "the same difference of erase counts",
    ),
    missing(
        "Preferred_suspend_erase_time_for_read|Prefered_suspend_erase_time_for_read|\
         Preferred_suspend_erase_time_for_write|Preferred_suspend_write_time_for_read",
        SUSPEND,
    ),
    same("Flash_Channel_Count", Some("8"), To::Count("geometry.channels")),
    near("Flash_Channel_Width", Some("1"), To::With("timing.transfer"), "bytes a transfer, in timing.transfer"),
    near("Channel_Transfer_Rate", Some("300"), To::With("timing.transfer"), ""),
    same("Chip_No_Per_Channel", Some("4"), To::Count("geometry.chips_per_channel")),
    near(
        "Flash_Comm_Protocol",
        None,
        To::Nothing,
        "commands and addresses take no bus time here (timing.command); NVDDR2 takes 290 ns a read, 361 ns a program, 220 ns an erase",
    ),
    same("Flash_Technology", Some("MLC"), To::With("timing.read")),
    near(
        "CMD_Suspension_Support",
        Some("ERASE"),
        To::With("timing.suspendable"),
        "here a read suspends whenever it finds its die busy; MQSim's published out-of-order scheduler decides to suspend, then returns without issuing the read, so nothing is suspended there",
    ),
    same("Page_Read_Latency_LSB|Page_Read_Latency_CSB|Page_Read_Latency_MSB", Some("75000"), To::With("timing.read")),
    same(
        "Page_Program_Latency_LSB|Page_Program_Latency_CSB|Page_Program_Latency_MSB",
        Some("750000"),
        To::With("timing.program"),
    ),
    same("Block_Erase_Latency", Some("3800000"), To::Time("timing.erase", NS)),
    missing("Block_PE_Cycles_Limit", "blocks do not wear out; wear reports their erases"),
    near("Suspend_Erase_Time", Some("700000"), To::With("timing.suspend"), "one time for all suspensions"),
    near("Suspend_Program_Time", Some("100000"), To::With("timing.suspend"), "one time for all suspensions"),
    same("Die_No_Per_Chip", Some("2"), To::Count("geometry.dies_per_chip")),
    same("Plane_No_Per_Die", Some("2"), To::Count("geometry.planes_per_die")),
    same("Block_No_Per_Plane", Some("2048"), To::Count("geometry.blocks_per_plane")),
    same("Page_No_Per_Block", Some("256"), To::Count("geometry.pages_per_block")),
    same("Page_Capacity", Some("8192"), To::Bytes("geometry.page_size")),
    missing(
        "Page_Metadat_Capacity",
        "spare bytes of a page take neither room nor bus time here; neither do they in MQSim's bus times",
    ),
    unused("Page_Metadata_Capacity", "the program's own spelling is Page_Metadat_Capacity"),
];

const LINK: &str =
    "lanes times bandwidth, each direction by itself; MQSim adds packet headers and passes commands over the same link";
const PRECONDITION: &str = "the flows of workload.xml say how full; without one the device starts empty";
const DEPTH: &str = "requests of a flow that the device may hold; a closed loop brings its own number";
const CACHE: &str = "MQSim evicts the least recently used line when the cache is full, up to one page of every plane at a time; here write-back starts when all lines are dirty, and ends so many lines below";
const DRAM: &str = "the cache takes no time unless cache.time is set; MQSim adds the access to each request";
const MAP: &str =
    "the whole map is in memory here; in MQSim a miss costs a page read, and a program if the victim is dirty";
const TLC_ORDER: &str = "page p of a block is of type p mod 3; MQSim has pages 0 to 5 as LSB, 6 and 7 as CSB, then pairs of LSB, CSB and MSB in turn";
const SUSPEND: &str = "here a read always suspends; MQSim wants at least this much time left";
const SCHEDULER: &str = "host reads go first at each die; MQSim also orders mapping and GC operations, looks at all dies of a channel in turn, joins operations on several planes of a die into one command (device.multi_plane is off here), and gives a chip nothing while one of its dies is busy (here dies work by themselves)";
const BLOCKS: &str = "MQSim counts free blocks, rounded down to whole ones, at least one (some derived programs take more); here free pages count, those of open blocks included";

const UNITS: &str = "a key of MQSim with fine-grained mapping: the cache gathers units into a page, and GC those that it moves; there the units that leave the cache and the moved ones have a buffer of a page each";

/// The limit of reads in a row that goes with a FIFO: the default.
const BURST: i64 = 16;

/// Elements around others. They are no keys, also where they are empty.
pub(crate) fn is_container(name: &str) -> bool {
    name.ends_with("_Parameter_Set") || ["MQSim_IO_Scenarios", "IO_Scenario"].contains(&name)
}

/// The keys of `ssdconfig.xml`.
pub(crate) fn read(name: &str, text: &str) -> Result<Given> {
    let container = |(): &mut (), node: roxmltree::Node, _| is_container(node.tag_name().name());
    xml::read(name, text, &mut (), container, |(), _| String::new())
}

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    words(&mut desk)?;
    link(&mut desk)?;
    arrays(&mut desk)?;
    bus(&mut desk)?;
    suspension(&mut desk)?;
    collection(&mut desk)?;
    cache(&mut desk)?;
    Ok(desk)
}

/// Values that the program knows by name, and this one only in part.
fn words(desk: &mut Desk) -> Result<()> {
    let is =
        |desk: &Desk, name, word: &str| desk.value(name).is_some_and(|value| value.text.eq_ignore_ascii_case(word));
    if desk.gives("Memory_Type") && !is(desk, "Memory_Type", "FLASH") {
        desk.say("Memory_Type", NotModelled, "flash is simulated in its place");
    }
    if is(desk, "Address_Mapping", "HYBRID") {
        desk.say("Address_Mapping", NotModelled, "pages are mapped; MQSim's hybrid map is an empty stub");
    }
    if desk.value("Ideal_Mapping_Table").is_some_and(|value| value.flag()) {
        desk.say("Ideal_Mapping_Table", Same, "the whole map is in memory");
    }
    if desk.value("Enabled_Preconditioning").is_some_and(|value| !value.flag()) {
        desk.set("precondition.mode", text("none"), "Enabled_Preconditioning");
        desk.say("Enabled_Preconditioning", Same, "");
    }
    let by = "Transaction_Scheduling_Policy";
    let (queue, note) = match desk.value(by).map_or(String::new(), |value| value.text.to_ascii_uppercase()).as_str() {
        "OUT_OF_ORDER" => ("read-first", None),
        "PRIORITY_OUT_OF_ORDER" => {
            desk.add_note(by, "this policy of MQSim also orders operations by the priority class of their flow");
            ("read-first", None)
        }
        "FLIN" => {
            ("fifo", Some("operations are served in order of arrival; published MQSim refuses FLIN when it starts"))
        }
        _ => ("fifo", Some("operations are served in order of arrival: this policy is not known here")),
    };
    desk.set("order.die_queue", text(queue), by);
    desk.set("order.read_burst", Toml::Integer(if queue == "fifo" { BURST } else { 0 }), by);
    if let Some(note) = note {
        desk.say(by, NotModelled, note);
    }
    if let Some(scheme) = desk.value("Plane_Allocation_Scheme") {
        let order = scheme.text.to_ascii_uppercase();
        let mut letters: Vec<char> = order.chars().collect();
        letters.sort_unstable();
        if letters == ['C', 'D', 'P', 'W'] {
            desk.set("schemes.place", text(order), "Plane_Allocation_Scheme");
        } else if order == "F" {
            desk.set("schemes.place", text("CWDP"), "Plane_Allocation_Scheme");
            desk.say("Plane_Allocation_Scheme", NotModelled, "pages are placed in the order CWDP");
        } else {
            return Err(scheme.refuse("not an order of C, W, D and P", "expected for example CWDP"));
        }
    }
    Ok(())
}

fn link(desk: &mut Desk) -> Result<()> {
    let (Some(lane), Some(lanes)) = (desk.value("PCIe_Lane_Bandwidth"), desk.value("PCIe_Lane_Count")) else {
        return Ok(());
    };
    if lanes.whole()? == 0 {
        return Err(lanes.refuse("nothing would ever cross the link", "use 1 or more"));
    }
    // 1 GB/s is 1000 MB/s.
    let rate = lane.decimal()?.times(u128::from(lanes.whole()?)).and_then(|rate| rate.times(1000));
    let shown = rate.and_then(|rate| rate.text_over(1, 6)).filter(|(_, exact)| *exact);
    let Some((shown, _)) = shown.filter(|(text, _)| text != "0") else {
        return Err(
            lane.refuse("the link has no usable rate", "expected GB/s a lane, such as 0.1, and a number of lanes")
        );
    };
    desk.set("timing.host_link", text(format!("{shown}MB/s")), "PCIe_Lane_Bandwidth");
    Ok(())
}

/// Times by the type of a page: one time if all types take the same.
fn arrays(desk: &mut Desk) -> Result<()> {
    let Some(technology) = desk.value("Flash_Technology") else { return Ok(()) };
    let types: &[&str] = match technology.text.to_ascii_uppercase().as_str() {
        "SLC" => &["LSB"],
        "MLC" => &["LSB", "MSB"],
        "TLC" => &["LSB", "CSB", "MSB"],
        _ => return Err(technology.refuse("not a kind of flash that MQSim has", "expected SLC, MLC or TLC")),
    };
    let reads = ["Page_Read_Latency_LSB", "Page_Read_Latency_CSB", "Page_Read_Latency_MSB"];
    let programs = ["Page_Program_Latency_LSB", "Page_Program_Latency_CSB", "Page_Program_Latency_MSB"];
    for (key, names) in [("timing.read", reads), ("timing.program", programs)] {
        let mut times = Vec::new();
        for name in names {
            let used = types.iter().any(|ending| name.ends_with(ending));
            match desk.value(name).filter(|_| used) {
                Some(value) => times.push(value.nanos(NS)?),
                None => desk.say(name, Unused, format!("{} flash has no such pages", technology.text)),
            }
        }
        desk.set(key, by_type(&times), names[0]);
        // MLC alternates in both.
        if times.len() == 3 && times.iter().any(|time| *time != times[0]) {
            names.into_iter().for_each(|name| desk.say(name, Near, TLC_ORDER));
        }
    }
    Ok(())
}

fn bus(desk: &mut Desk) -> Result<()> {
    let (Some(rate), Some(width)) = (desk.value("Channel_Transfer_Rate"), desk.value("Flash_Channel_Width")) else {
        return Ok(());
    };
    let (transfers, bytes) = (u64::from(rate.count()?), u64::from(width.count()?));
    if transfers == 0 || bytes == 0 {
        let value = if transfers == 0 { rate } else { width };
        return Err(value.refuse("nothing would ever cross the channel", "use 1 or more"));
    }
    desk.set("timing.transfer", text(format!("{}MB/s", transfers * bytes)), "Channel_Transfer_Rate");
    // MQSim counts pairs of transfers of whole nanoseconds each.
    let page = desk.whole("Page_Capacity")?;
    let theirs = (page / bytes / 2).saturating_mul(2 * (1000 / transfers));
    let ours = (u128::from(page) * 2000 + u128::from(transfers * bytes)) / u128::from(2 * transfers * bytes);
    let note =
        format!("a page takes {ours} ns; MQSim cuts a transfer to whole nanoseconds: {theirs} ns, plus commands");
    desk.say("Channel_Transfer_Rate", Near, note);
    Ok(())
}

fn suspension(desk: &mut Desk) -> Result<()> {
    let Some(support) = desk.value("CMD_Suspension_Support") else { return Ok(()) };
    let times = ["Suspend_Erase_Time", "Suspend_Program_Time"];
    let (what, by, other) = match support.text.to_ascii_uppercase().as_str() {
        "NONE" => {
            no_suspension(desk, "CMD_Suspension_Support");
            desk.say("CMD_Suspension_Support", Same, "");
            times.into_iter().for_each(|name| desk.say(name, Unused, "nothing is suspended"));
            return Ok(());
        }
        "ERASE" => ("erase", times[0], times[1]),
        "PROGRAM" | "PROGRAM_ERASE" => ("program+erase", times[1], times[0]),
        _ => {
            let help = "expected NONE, PROGRAM, PROGRAM_ERASE or ERASE";
            return Err(support.refuse("not a kind of suspension that MQSim has", help));
        }
    };
    desk.set("timing.suspendable", text(what), "CMD_Suspension_Support");
    let mut ns = desk.value(by).map_or(Ok(0), |value| value.nanos(NS))?;
    let mut from = by;
    match (support.text.eq_ignore_ascii_case("PROGRAM_ERASE"), desk.value(other)) {
        (true, Some(second)) if second.nanos(NS)? > ns => {
            (ns, from) = (second.nanos(NS)?, other);
            desk.say(by, NotModelled, "the longer of the two times holds for both kinds");
        }
        (true, _) => desk.say(other, NotModelled, "the longer of the two times holds for both kinds"),
        (false, _) => desk.say(other, Unused, "such operations are not suspended"),
    }
    if support.text.eq_ignore_ascii_case("PROGRAM") {
        desk.say("CMD_Suspension_Support", Near, "here erases can be suspended, too");
    }
    desk.set("timing.suspend", time(ns), from);
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if let Some(value) = desk.value("GC_Exec_Threshold") {
        threshold(desk, value.share(1)?, "GC_Exec_Threshold");
    }
    if let Some(policy) = desk.value("GC_Block_Selection_Policy") {
        let blocks = desk.drive().whole("geometry.blocks_per_plane").unwrap_or(1).max(1);
        let by = "GC_Block_Selection_Policy";
        match policy.text.to_ascii_uppercase().as_str() {
            "GREEDY" => desk.set("schemes.victim", text("greedy"), by),
            "RGA" => {
                desk.set("schemes.victim", d_choices(blocks.ilog2().max(1)), by);
                desk.say(by, Same, "the emptiest of log2(blocks of a plane) blocks drawn at random");
            }
            "RANDOM" => desk.set("schemes.victim", text("random"), by),
            "RANDOM_P" => desk.set("schemes.victim", text("random+"), by),
            "FIFO" => desk.set("schemes.victim", text("fifo"), by),
            "RANDOM_PP" => {
                desk.set("schemes.victim", text("random+"), by);
                desk.say(
                    by,
                    NotModelled,
                    "schemes.victim = \"random+\" takes its place; MQSim also asks for few valid pages",
                );
            }
            _ => {
                let help = "expected GREEDY, RGA, RANDOM, RANDOM_P, RANDOM_PP or FIFO";
                return Err(policy.refuse("not a policy that MQSim has", help));
            }
        }
    }
    if desk.value("Use_Copyback_for_GC").is_some_and(|value| !value.flag()) {
        desk.say("Use_Copyback_for_GC", Same, "");
    }
    let preemptible = desk.value("Preemptible_GC_Enabled").is_some_and(|value| value.flag());
    match desk.value("GC_Hard_Threshold").filter(|_| preemptible) {
        Some(hard) => {
            let (share, rounded) = hard.share(1)?;
            desk.set("gc.hard_threshold", crate::table::fraction(share), "GC_Hard_Threshold");
            if rounded {
                let note = rounding(desk, "GC_Hard_Threshold");
                desk.add_note("GC_Hard_Threshold", note);
            }
        }
        None => desk.say("GC_Hard_Threshold", Unused, "collections are not preemptible"),
    }
    let levels = desk.value("Static_Wearleveling_Enabled").is_some_and(|value| value.flag());
    match desk.value("Static_Wearleveling_Threshold").filter(|_| levels) {
        Some(spread) => {
            let spread = Toml::Integer(spread.count()?.into());
            desk.set("ftl.wear_spread", spread, "Static_Wearleveling_Threshold");
        }
        None => desk.say("Static_Wearleveling_Threshold", Unused, "there is no static wear levelling"),
    }
    Ok(())
}

/// The cache, in whole units of the map and no larger than the flash.
fn cache(desk: &mut Desk) -> Result<()> {
    let by = "Data_Cache_Capacity";
    let Some(capacity) = desk.value(by) else { return Ok(()) };
    let capacity = capacity.whole()?;
    let page = desk.value("Page_Capacity").map_or(Ok(1), |value| value.whole())?;
    let unit = units(desk, page, capacity)?.unwrap_or(page);
    if let Some(lines) = lines(desk, capacity, unit, by) {
        full_first(desk, lines, by);
    }
    Ok(())
}

/// Units of the map that are smaller than a page, as a fork of MQSim has them. Pages of them go to planes in turn.
fn units(desk: &mut Desk, page: u64, capacity: u64) -> Result<Option<u64>> {
    let by = "Mapping_Unit";
    let Some(value) = desk.value(by) else { return Ok(None) };
    let unit = u64::from(value.count()?);
    if unit == 0 || !page.is_multiple_of(unit) || !unit.is_multiple_of(512) {
        return Err(
            value.refuse("no part of a page (Page_Capacity)", "expected a size in bytes that divides it, such as 4096")
        );
    }
    if unit == page {
        desk.set("device.mapping_unit", text("page"), by);
        desk.say(by, Same, "");
        return Ok(None);
    }
    let block = desk.drive().whole("geometry.pages_per_block").unwrap_or(1);
    if capacity < page || page / unit > 64 || block.saturating_mul(page / unit) >= 1 << 15 {
        desk.say(
            by,
            NotModelled,
            "pages are mapped: units need a cache that holds a page of them, at most 64 a page and 32,767 a block",
        );
        return Ok(None);
    }
    desk.set("device.mapping_unit", size(unit), by);
    desk.set("gc.remainder", text("keep"), by);
    desk.set("schemes.place", text("round-robin"), by);
    desk.say(
        "Plane_Allocation_Scheme",
        Near,
        "pages of several units go to planes in turn, in the order of schemes.place = \"round-robin\"",
    );
    if desk.drive().get("schemes.path").and_then(Toml::as_str) == Some("copyback") {
        desk.set("schemes.path", text("external"), by);
        desk.say("Use_Copyback_for_GC", NotModelled, "moved units are gathered in the controller, as in that fork");
    }
    Ok(Some(unit))
}
