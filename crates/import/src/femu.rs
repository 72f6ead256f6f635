//! FEMU: `-device femu,...` in a command line or a script, and its configuration files.

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same, Unused};
use toml::Value as Toml;

use crate::common::{d_choices, flash_pages, full_first, low_below, no_link, no_suspension, page_time, threshold};
use crate::keys::{Decimal, Given, Key};
use crate::pairs::{self, Form};
use crate::shell::{self, Word};
use crate::table::{Desk, Drive, Mapping, Rule, To, fraction, missing, near, same, size, text, unused};

const MAPPING: Mapping = Mapping { simulator: "FEMU", rules: RULES, host: HOST };
const NS: u64 = 1_000;

/// What becomes of each property, with the defaults of the program.
const RULES: &[Rule] = &[
    same("femu_mode|mode", None, To::Nothing),
    same("secsz", Some("512"), To::With("geometry.page_size")),
    same("secs_per_pg", Some("8"), To::With("geometry.page_size")),
    same("pgs_per_blk", Some("256"), To::Count("geometry.pages_per_block")),
    same("blks_per_pl", Some("256"), To::Count("geometry.blocks_per_plane")),
    same("pls_per_lun", Some("1"), To::Count("geometry.planes_per_die")),
    near("luns_per_ch", Some("8"), To::Count("geometry.chips_per_channel"), "a LUN is a chip of one die"),
    same("nchs", Some("8"), To::Count("geometry.channels")),
    near("devsz_mb", None, To::With("device.over_provisioning"), "the rest of the array is spare"),
    near(
        "op_pcent",
        Some("0"),
        To::With("device.over_provisioning"),
        "FEMU counts it of the exported space, here it is a share of the whole array",
    ),
    same("pg_rd_lat", Some("40000"), To::Time("timing.read", NS)),
    same("pg_wr_lat", Some("200000"), To::Time("timing.program", NS)),
    same("blk_er_lat", Some("2000000"), To::Time("timing.erase", NS)),
    near("ch_xfer_lat", Some("0"), To::With("timing.transfer"), CHANNEL),
    near("pg_xfer_lat", Some("0"), To::With("timing.transfer"), "time of a page on the channel, here by bytes"),
    same("cmd_addr_lat", Some("0"), To::Time("timing.command", NS)),
    missing("status_lat", "a status read takes no bus time here"),
    unused("tplpbsy|tplrbsy", "FEMU says so itself"),
    missing("tplebsy", "planes of a command wait for nothing between them"),
    near("mp_program", Some("0"), To::With("device.multi_plane"), "pages of one request on one die share a command"),
    near("mp_read", Some("0"), To::With("device.multi_plane"), "one key for reads and programs"),
    unused("trcbsy", "FEMU says so itself"),
    missing("trim_lat_ns", "a trim takes no time here"),
    near(
        "pe_suspend",
        Some("0"),
        To::With("timing.suspendable"),
        "the suspended operation ends later by the reads in between, in both",
    ),
    near("tsusp_ns", Some("0"), To::With("timing.suspend"), "of the read that suspends"),
    missing(
        "nand_cell_type",
        "pg_rd_lat and pg_wr_lat are used; give timing.read and timing.program as lists by page type",
    ),
    missing("cell_pages|pgtype_lat", "give timing.program as a list by page type"),
    near(
        "gc_thres_pcent",
        Some("75"),
        To::With("gc.threshold"),
        "free pages of each plane, where FEMU counts lines in use over the whole device",
    ),
    missing(
        "gc_thres_pcent_high",
        "there is one threshold without preemption; gc.hard_threshold is the second of a preemptive collector",
    ),
    near(
        "gc_policy",
        Some("greedy"),
        To::With("schemes.victim"),
        "a block of a plane, where FEMU takes a line: the same block of every plane",
    ),
    missing("gc_seed", "--seed sets the seed"),
    missing("gc_strategy", "reclaim units are not simulated"),
    near("mapping", Some("page"), To::Nothing, ""),
    missing("mapping_cache_mb", "the whole map is in memory here"),
    near("buffer_size", Some("0"), To::With("cache.size"), "pages; a hit takes pg_rd_lat / 16 in FEMU (cache.time)"),
    near("buffer_thres_pcent", Some("90"), To::With("cache.high"), "write-back starts at this share of dirty lines"),
    missing("read_cache_mb", "FEMU's read cache keeps times only; cache.read = \"all\" keeps reads in the write cache"),
    missing("cache_evict", "of the read cache"),
    missing("hot_cold_sep", "hot and cold pages share write points"),
    near("pcie_bandwidth_mbps", Some("0"), To::With("timing.host_link"), "each direction by itself, in both"),
    missing("pcie_prop_delay_ns", "the link has a rate only"),
    missing("fw_cpu_ns", "firmware takes no time here"),
    missing("ecc_step_ns|ecc_retention_sec", "ecc.* has its own model"),
    missing("pe_cycles_rated", "wear.rated_pe_cycles is for lifetime estimates"),
    missing("nand_bad_blocks", "there are no bad blocks"),
    missing("err_read_unc_ppm|err_write_fail_ppm", "errors are not injected one by one"),
    missing("read_reclaim_limit", "nothing is rewritten for its reads"),
    missing("retention_limit_sec", "nothing is rewritten for its age"),
    missing("vwc", "the cache answers flushes as cache.flush says"),
    missing("power_loss", "faults.power_cut cuts the power"),
    missing("streams|streams.max", "writes have no streams"),
    missing("queues", "nvme.queues sets the host's queues"),
    missing("entries", "device.queue_depth bounds outstanding requests"),
    missing("namespaces|namespace_sizes|namespace_modes", "one address space"),
    missing("zns_*", "zones are not simulated"),
    missing("fdp*", "placement hints are not simulated"),
    missing("subsys/*", "of the NVMe subsystem: placement hints and shared namespaces are not simulated"),
    unused("serial|ms|ms_max|dlfeat", "FEMU says so itself"),
];

const CHANNEL: &str =
    "time of a page on the channel, here by bytes; some versions of FEMU read it and add no time for it";

/// Properties of the emulated controller that set no time and no space.
const HOST: &str = "id bus addr drive multipoller_enabled poller_ratio hiops_inline aerl elpe mdts intc intc_thresh intc_time vid \
    did acl cqr temperature mpsmin mpsmax oacs oncs sgl cmbsz cmbloc nlbaf lba_index extended meta mc pi dpc dps \
    ns_mgmt bbssd_ns_limit subsys cxl_ssd pel_file max_sqes max_cqes stride debug_ftl fdp_trim_erase_all lver \
    flash_type oc12_channel_timing lsec_size lsecs_per_pg lpgs_per_blk lmax_sec_per_rq lnum_ch lnum_lun lnum_pln \
    lmetasize learly_reset fdm_size nr_cu nr_thread time_slice nqn";

pub(crate) fn has_device(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let begins = |word: &str| {
        let driver = word.trim_start_matches(['"', '\'', '\\']).split([',', '"', '\'', '\\']).next();
        driver == Some("femu")
    };
    words.windows(2).any(|pair| pair[0].ends_with("-device") && begins(pair[1])) || text.contains("femu_mode=")
}

/// The properties of the device.
///
/// # Errors
/// The text has no device, or lines that are no configuration.
pub(crate) fn read(name: &str, text: &str) -> Result<Given> {
    if has_device(text) { command_line(name, text) } else { pairs::read(name, text, Form::Ini) }
}

/// The properties in the argument of `-device femu`, also where a script puts it together from variables. Properties of a
/// `femu-subsys` have a section of their own; those of other devices are none of FEMU's.
fn command_line(name: &str, text: &str) -> Result<Given> {
    let mut given = Given::new(name, text);
    let (commands, variables) = shell::commands(&given)?;
    let (mut devices, mut subsystems) = (Vec::new(), Vec::new());
    for command in &commands {
        arguments(command, &mut devices, &mut subsystems);
    }
    // A script that only puts the device together.
    if devices.is_empty() {
        for value in variables.values() {
            let words: Vec<Word> = value.split(' ').into_iter().filter(|word| word.start().is_some()).collect();
            arguments(&words, &mut devices, &mut subsystems);
        }
    }
    // Properties without the option, such as a line of its argument.
    if devices.is_empty() {
        for word in commands.iter().flatten().filter(|word| word.text().contains("femu_mode=")) {
            let value = word.assignment().filter(|(name, ..)| name != "femu_mode").map(|(_, value, _)| value);
            devices.push(value.unwrap_or_else(|| word.clone()));
        }
    }
    // One that several commands or variables hold counts once, with all its properties.
    devices.sort_by_key(|word| (word.start(), std::cmp::Reverse(word.text().len())));
    devices.dedup_by_key(|word| word.start());
    if let [_, second, ..] = &devices[..] {
        let place = second.place(0);
        return Err(given
            .refuse("", place, "a second FEMU device")
            .help("one import is one device: keep one -device femu in the file"));
    }
    for (section, words) in [("", &devices), ("subsys", &subsystems)] {
        for word in words {
            properties(&mut given, section, word);
            given.check_count()?;
        }
    }
    Ok(given)
}

/// The arguments of `-device` in a command that begin a FEMU device or its subsystem. A property may stand in the next word if a
/// comma ends this one.
fn arguments(words: &[Word], devices: &mut Vec<Word>, subsystems: &mut Vec<Word>) {
    for (index, word) in words.iter().enumerate() {
        if !["-device", "--device"].contains(&&*word.text()) {
            continue;
        }
        let Some(mut argument) = words.get(index + 1).map(Word::trim) else { continue };
        let more = words[index + 2..].iter().take_while(|next| !next.text().starts_with('-'));
        for next in more {
            if !argument.ends_with(',') {
                break;
            }
            argument.extend(next);
        }
        match argument.text().split(',').next() {
            Some("femu") => devices.push(argument),
            Some("femu-subsys") => subsystems.push(argument),
            _ => {}
        }
    }
}

/// The `key=value` between the commas of an argument. The name of the device has no value; a property without one is on.
fn properties(given: &mut Given, section: &str, argument: &Word) {
    for (index, part) in argument.split(',').iter().enumerate() {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part.trim(), None),
        };
        let shown = name.text();
        if shown.is_empty() || (index == 0 && value.is_none()) {
            continue;
        }
        let at = name.place(0);
        let value_at = value.as_ref().map_or(at.end..at.end, |value| value.place(at.end));
        let value = value.map_or_else(|| "on".into(), |value| value.text());
        given.keys.push(Key { section: section.into(), name: shown, value, at, value_at });
    }
}

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    mode(&desk, given)?;
    sizes(&mut desk)?;
    bus(&mut desk)?;
    collection(&mut desk)?;
    buffer(&mut desk)?;
    Ok(desk)
}

/// Modes that are no black-box drive, by the number and the word in `femu_mode`.
const MODES: [(&str, &str, &str); 4] = [
    ("0", "ocssd", "a white-box drive (open channel): the host has its flash translation layer"),
    ("2", "nossd", "no SSD model: memory without a device"),
    ("3", "znsssd", "a zoned drive (ZNS): zones are not simulated"),
    ("4", "smartssd", "a computational drive"),
];

/// Refuses whatever has no flash translation layer of its own.
fn mode(desk: &Desk, given: &Given) -> Result<()> {
    let help = "only the black-box drive has a flash translation layer: femu_mode=1";
    let Some(mode) = desk.value("femu_mode").or(desk.value("mode")) else {
        // Configuration files are those of a drive. On a command line the program's default holds.
        if !has_device(&given.text) {
            return Ok(());
        }
        let place = given.keys.first().map_or(0..0, |key| key.at.clone());
        let message = "not a black-box drive (femu_mode is absent: 2, no SSD model)";
        return Err(given.refuse("femu_mode", place, message).help(help));
    };
    if ["1", "bbssd", "blackbox"].contains(&mode.text) {
        return Ok(());
    }
    let known = MODES.iter().find(|(number, word, _)| [*number, *word].contains(&mode.text));
    Err(mode.refuse(
        known.map_or("not a black-box drive".into(), |(.., is)| format!("not a black-box drive, but {is}")),
        help,
    ))
}

fn sizes(desk: &mut Desk) -> Result<()> {
    desk.set("geometry.dies_per_chip", Toml::Integer(1), "luns_per_ch");
    let bytes = desk.whole("secsz")?.checked_mul(desk.whole("secs_per_pg")?);
    let Some(bytes) = bytes else {
        let value = desk.value("secs_per_pg").or(desk.value("secsz"));
        return Err(
            value.map_or_else(|| unreachable!("both have defaults"), |v| v.refuse("beyond 64 bits", "check the value"))
        );
    };
    desk.set("geometry.page_size", size(bytes), "secs_per_pg");
    let spare = desk.whole("op_pcent")?;
    if spare > 0 {
        // raw / (1 + op/100) is exported.
        let exact = Decimal::from(u128::from(spare));
        let (share, exact) = exact.ratio(1_000_000, 100 + u128::from(spare)).unwrap_or((1_000_000, false));
        desk.set("device.over_provisioning", fraction(u64::try_from(share).unwrap_or(1_000_000)), "op_pcent");
        if !exact {
            desk.add_note("op_pcent", format!("{spare}/{} rounded to six decimals", 100 + u128::from(spare)));
        }
        desk.say("devsz_mb", Unused, "op_pcent sets the size");
        return Ok(());
    }
    let raw = flash_pages(desk.drive()).and_then(|pages| pages.checked_mul(bytes));
    if let (Some(size), Some(raw)) = (desk.value("devsz_mb"), raw.filter(|raw| *raw > 0)) {
        let exported = size.whole()?.checked_mul(1 << 20).filter(|exported| *exported < raw);
        let Some(exported) = exported else {
            let message = format!("{} MiB leave no spare of an array of {} MiB", size.text, raw >> 20);
            return Err(size.refuse(message, "use a smaller devsz_mb, or op_pcent"));
        };
        let (spare, raw) = (u128::from(raw - exported), u128::from(raw));
        let share = spare * 1_000_000 / raw;
        desk.set("device.over_provisioning", fraction(share as u64), "devsz_mb");
        if share * raw != spare * 1_000_000 {
            desk.add_note("devsz_mb", "its share is rounded down to six decimals");
        }
    }
    Ok(())
}

fn bus(desk: &mut Desk) -> Result<()> {
    let page = desk.whole("secsz")? * desk.whole("secs_per_pg")?;
    let by = if desk.whole("pg_xfer_lat")? > 0 { "pg_xfer_lat" } else { "ch_xfer_lat" };
    if by == "pg_xfer_lat" {
        desk.say("ch_xfer_lat", Unused, "pg_xfer_lat takes its place");
    } else {
        desk.say("pg_xfer_lat", Same, "0: ch_xfer_lat holds");
    }
    let time = desk.whole(by)?;
    page_time(desk, by, time, page);
    let planes = desk.drive().whole("geometry.planes_per_die").unwrap_or(1);
    let joint = (desk.whole("mp_program")? > 0 || desk.whole("mp_read")? > 0) && planes > 1;
    desk.set("device.multi_plane", Toml::Boolean(joint), "mp_program");
    if desk.whole("pe_suspend")? > 0 {
        desk.set("timing.suspendable", text("program+erase"), "pe_suspend");
        let time = desk.value("tsusp_ns").map_or(Ok(0), |value| value.nanos(NS))?;
        desk.set("timing.suspend", crate::table::time(time), "tsusp_ns");
    } else {
        no_suspension(desk, "pe_suspend");
        desk.say("pe_suspend", Same, "");
        desk.say("tsusp_ns", Unused, "nothing is suspended");
    }
    let link = desk.whole("pcie_bandwidth_mbps")?;
    if link > 0 {
        desk.set("timing.host_link", text(format!("{link}MB/s")), "pcie_bandwidth_mbps");
    } else {
        no_link(desk, "pcie_bandwidth_mbps");
        desk.say("pcie_bandwidth_mbps", Same, "0: the link takes no time");
    }
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if let Some(value) = desk.value("gc_thres_pcent") {
        let (used, rounded) = value.share(100)?;
        threshold(desk, (1_000_000 - used, rounded), "gc_thres_pcent");
    }
    if let Some(map) = desk.value("mapping") {
        match map.text {
            "page" => desk.say("mapping", Same, ""),
            _ => desk.say("mapping", NotModelled, "pages are mapped, with the whole map in memory"),
        }
    }
    let Some(policy) = desk.value("gc_policy") else { return Ok(()) };
    let ours = match policy.text {
        "greedy" | "random" | "cost-benefit" | "fifo" => text(policy.text),
        "d-choice" => d_choices(4),
        _ => {
            let help = "expected greedy, random, cost-benefit, fifo or d-choice";
            return Err(policy.refuse("not a policy that FEMU has", help));
        }
    };
    desk.set("schemes.victim", ours, "gc_policy");
    Ok(())
}

fn buffer(desk: &mut Desk) -> Result<()> {
    let wanted = desk.whole("buffer_size")?;
    let lines = wanted.min(flash_pages(desk.drive()).unwrap_or(u64::MAX));
    if lines == 0 {
        desk.set("cache.size", size(0), "buffer_size");
        desk.say("buffer_size", Same, "0: there is no buffer");
        desk.say("buffer_thres_pcent", Unused, "there is no buffer");
        return Ok(());
    }
    let page = desk.whole("secsz")? * desk.whole("secs_per_pg")?;
    desk.set("cache.size", size(lines.saturating_mul(page)), "buffer_size");
    let read = desk.value("pg_rd_lat").map_or(Ok(0), |value| value.nanos(NS))?;
    desk.set("cache.time", crate::table::time(read / 16), "buffer_size");
    if lines < wanted {
        desk.add_note("buffer_size", format!("{lines} pages: here no larger than the flash"));
    }
    full_first(desk, lines, "buffer_size");
    let Some(value) = desk.value("buffer_thres_pcent") else { return Ok(()) };
    let (high, _) = value.share(100)?;
    if high == 0 {
        return Err(value.refuse("write-back would start at no dirty page", "use 1 to 100"));
    }
    let low = low_below(desk, high, lines);
    desk.set("cache.high", fraction(high), "buffer_thres_pcent");
    desk.set("cache.low", fraction(low), "buffer_thres_pcent");
    let note = "write-back starts at this share of dirty lines, and ends a page of every plane below";
    desk.say("buffer_thres_pcent", Near, note);
    Ok(())
}
