//! FEMU: `-device femu,...` in a command line or a script, and its configuration files.

use std::collections::BTreeMap;

use toml::Value as Toml;

use crate::error::Result;
use crate::import::account::Verdict::{Near, NotModelled, Same, Unused};
use crate::import::common::{d_choices, flash_pages, full_first, page_time, threshold};
use crate::import::given::{Given, Key};
use crate::import::pairs::{self, Form, MOST_KEYS, too_many};
use crate::import::table::{Desk, Drive, Rule, To, fraction, missing, near, same, size, text, unused};

pub(super) const NAME: &str = "FEMU";
const NS: u64 = 1_000;

/// What becomes of each property, with the defaults of the program.
pub(super) const RULES: &[Rule] = &[
    same("femu_mode", None, To::Nothing),
    same("mode", None, To::Nothing),
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
    near("ch_xfer_lat", Some("0"), To::With("timing.transfer"), "time of a page on the channel, here by bytes"),
    near("pg_xfer_lat", Some("0"), To::With("timing.transfer"), "time of a page on the channel, here by bytes"),
    same("cmd_addr_lat", Some("0"), To::Time("timing.command", NS)),
    missing("status_lat", "a status read takes no bus time here"),
    missing("tplpbsy", "planes of a command wait for nothing between them"),
    missing("tplrbsy", "planes of a command wait for nothing between them"),
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
    missing("cell_pages", "give timing.program as a list by page type"),
    missing("pgtype_lat", "give timing.program as a list by page type"),
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
    missing("ecc_step_ns", "ecc.* has its own model"),
    missing("ecc_retention_sec", "ecc.* has its own model"),
    missing("pe_cycles_rated", "wear.rated_pe_cycles is for lifetime estimates"),
    missing("nand_bad_blocks", "there are no bad blocks"),
    missing("err_read_unc_ppm", "errors are not injected one by one"),
    missing("err_write_fail_ppm", "errors are not injected one by one"),
    missing("read_reclaim_limit", "nothing is rewritten for its reads"),
    missing("retention_limit_sec", "nothing is rewritten for its age"),
    missing("vwc", "the cache answers flushes as cache.flush says"),
    missing("power_loss", "faults.power_cut cuts the power"),
    missing("streams", "writes have no streams"),
    missing("streams.max", "writes have no streams"),
    missing("queues", "nvme.queues sets the host's queues"),
    missing("entries", "device.queue_depth bounds outstanding requests"),
    missing("namespaces", "one address space"),
    missing("namespace_sizes", "one address space"),
    missing("namespace_modes", "one address space"),
    missing("zns_*", "zones are not simulated"),
    missing("fdp*", "placement hints are not simulated"),
    missing("subsys/*", "of the NVMe subsystem: placement hints and shared namespaces are not simulated"),
    unused("serial", "FEMU says so itself"),
    unused("ms", "FEMU says so itself"),
    unused("ms_max", "FEMU says so itself"),
    unused("dlfeat", "FEMU says so itself"),
];

/// Properties of the emulated controller that set no time and no space.
const HOST: &[&str] = &[
    "id",
    "bus",
    "addr",
    "drive",
    "multipoller_enabled",
    "poller_ratio",
    "hiops_inline",
    "aerl",
    "elpe",
    "mdts",
    "intc",
    "intc_thresh",
    "intc_time",
    "vid",
    "did",
    "acl",
    "cqr",
    "temperature",
    "mpsmin",
    "mpsmax",
    "oacs",
    "oncs",
    "sgl",
    "cmbsz",
    "cmbloc",
    "nlbaf",
    "lba_index",
    "extended",
    "meta",
    "mc",
    "pi",
    "dpc",
    "dps",
    "ns_mgmt",
    "bbssd_ns_limit",
    "subsys",
    "cxl_ssd",
    "pel_file",
    "max_sqes",
    "max_cqes",
    "stride",
    "debug_ftl",
    "fdp_trim_erase_all",
    "lver",
    "flash_type",
    "oc12_channel_timing",
    "lsec_size",
    "lsecs_per_pg",
    "lpgs_per_blk",
    "lmax_sec_per_rq",
    "lnum_ch",
    "lnum_lun",
    "lnum_pln",
    "lmetasize",
    "learly_reset",
    "fdm_size",
    "nr_cu",
    "nr_thread",
    "time_slice",
    "nqn",
];

/// Whether a text has a FEMU device in it.
pub(super) fn has_device(text: &str) -> bool {
    text.contains("-device femu,")
        || text.contains("-device \"femu,")
        || text.contains("-device femu\"")
        || text.contains("femu_mode=")
}

/// The properties of the device.
///
/// # Errors
/// The text has no device, or lines that are no configuration.
pub(super) fn read(name: &str, text: &str) -> Result<Given> {
    if has_device(text) { command_line(name, text) } else { pairs::read(name, text, Form::Ini) }
}

/// The properties in arguments of `-device femu`, also where a script puts them together from variables.
fn command_line(name: &str, text: &str) -> Result<Given> {
    let mut given = Given { name: name.into(), text: text.into(), keys: Vec::new() };
    let mut variables: BTreeMap<&str, &str> = BTreeMap::new();
    // Variables that hold the device.
    let mut devices: Vec<&str> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let offset = start;
        start += line.len();
        let trimmed = line.trim();
        if trimmed.starts_with('#') {
            continue;
        }
        let assigned = assignment(trimmed);
        let of_device = ["-device femu", "-device \"femu", "femu_mode="].iter().any(|word| trimmed.contains(word))
            || devices
                .iter()
                .any(|device| trimmed.contains(&format!("${{{device}}}")) || trimmed.contains(&format!("${device}\"")));
        match assigned {
            Some((variable, value)) if !of_device => drop(variables.insert(variable, unquoted(value))),
            assigned => {
                if !of_device {
                    continue;
                }
                if let Some((variable, _)) = assigned
                    && !devices.contains(&variable)
                {
                    devices.push(variable);
                }
                properties(&mut given, offset, line, &variables);
                if given.keys.len() > MOST_KEYS {
                    return Err(too_many(&given));
                }
            }
        }
    }
    Ok(given)
}

/// `NAME=value` of a shell.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then_some((name, value))
}

fn unquoted(value: &str) -> &str {
    let value = value.split(" #").next().unwrap_or(value).trim();
    value.trim_matches(['"', '\''])
}

/// The `,key=value` of a line.
fn properties(given: &mut Given, offset: usize, line: &str, variables: &BTreeMap<&str, &str>) {
    let mut at = 0;
    for part in line.split(',') {
        let from = at;
        at += part.len() + 1;
        // What stands before the first comma names the device or assigns a variable.
        let first = from == 0 && !part.trim_start().starts_with("femu_mode=");
        let Some((name, rest)) = part.split_once('=').filter(|_| !first) else { continue };
        let value = rest.split([' ', '"', '\'', '\\', '\t', '\r', '\n', ';']).next().unwrap_or(rest);
        let shown = name.trim();
        if shown.is_empty() || !shown.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)) {
            continue;
        }
        let variable = value.strip_prefix("${").and_then(|name| name.strip_suffix('}')).or(value.strip_prefix('$'));
        let known = variable.and_then(|name| variables.get(name)).copied();
        let lead = name.len() - name.trim_start().len();
        let (start, value_from) = (offset + from + lead, offset + from + name.len() + 1);
        given.keys.push(Key {
            section: String::new(),
            name: shown.into(),
            value: known.unwrap_or(value).into(),
            at: start..start + shown.len(),
            value_at: value_from..value_from + value.len(),
        });
    }
}

/// Carries over a configuration.
pub(super) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::plain(given, file, RULES, HOST, NAME, drive)?;
    let mode = desk.value("femu_mode").or(desk.value("mode"));
    if let Some(mode) = mode
        && !["1", "bbssd"].contains(&mode.text)
    {
        let help = "only the black-box drive has a flash translation layer: femu_mode=1";
        return Err(mode.refuse("not a black-box drive", help));
    }
    sizes(&mut desk)?;
    bus(&mut desk)?;
    collection(&mut desk)?;
    buffer(&mut desk)?;
    Ok(desk)
}

fn whole(desk: &Desk, name: &'static str) -> Result<u64> {
    desk.value(name).map_or(Ok(0), |value| value.whole())
}

fn sizes(desk: &mut Desk) -> Result<()> {
    desk.set("geometry.dies_per_chip", Toml::Integer(1), "luns_per_ch");
    let bytes = whole(desk, "secsz")?.checked_mul(whole(desk, "secs_per_pg")?);
    let Some(bytes) = bytes else {
        let value = desk.value("secs_per_pg").or(desk.value("secsz"));
        return Err(
            value.map_or_else(|| unreachable!("both have defaults"), |v| v.refuse("beyond 64 bits", "check the value"))
        );
    };
    desk.set("geometry.page_size", size(bytes), "secs_per_pg");
    let spare = whole(desk, "op_pcent")?;
    if spare > 0 {
        // raw / (1 + op/100) is exported.
        let share = u128::from(spare) * 1_000_000 / (100 + u128::from(spare));
        desk.set("device.over_provisioning", fraction(u64::try_from(share).unwrap_or(1_000_000)), "op_pcent");
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
        let share = u128::from(raw - exported) * 1_000_000 / u128::from(raw);
        desk.set("device.over_provisioning", fraction(share as u64), "devsz_mb");
    }
    Ok(())
}

fn bus(desk: &mut Desk) -> Result<()> {
    let page = whole(desk, "secsz")? * whole(desk, "secs_per_pg")?;
    let by = if whole(desk, "pg_xfer_lat")? > 0 { "pg_xfer_lat" } else { "ch_xfer_lat" };
    if by == "pg_xfer_lat" {
        desk.say("ch_xfer_lat", Unused, "pg_xfer_lat takes its place");
    } else {
        desk.say("pg_xfer_lat", Same, "0: ch_xfer_lat holds");
    }
    let time = whole(desk, by)?;
    page_time(desk, by, time, page);
    let planes = desk.drive().whole("geometry.planes_per_die").unwrap_or(1);
    let joint = (whole(desk, "mp_program")? > 0 || whole(desk, "mp_read")? > 0) && planes > 1;
    desk.set("device.multi_plane", Toml::Boolean(joint), "mp_program");
    if whole(desk, "pe_suspend")? > 0 {
        desk.set("timing.suspendable", text("program+erase"), "pe_suspend");
        let time = desk.value("tsusp_ns").map_or(Ok(0), |value| value.nanos(NS))?;
        desk.set("timing.suspend", crate::import::table::time(time), "tsusp_ns");
    } else {
        desk.set("timing.suspendable", text("none"), "pe_suspend");
        desk.say("tsusp_ns", Unused, "nothing is suspended");
    }
    let link = whole(desk, "pcie_bandwidth_mbps")?;
    if link > 0 {
        desk.set("timing.host_link", text(format!("{link}MB/s")), "pcie_bandwidth_mbps");
    } else {
        desk.say("pcie_bandwidth_mbps", Same, "0: the link takes no time");
    }
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if let Some(value) = desk.value("gc_thres_pcent") {
        threshold(desk, 1_000_000 - value.share(100)?.0, "gc_thres_pcent");
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
    let lines = whole(desk, "buffer_size")?.min(flash_pages(desk.drive()).unwrap_or(u64::MAX));
    if lines == 0 {
        desk.say("buffer_size", Same, "0: there is no buffer");
        desk.say("buffer_thres_pcent", Unused, "there is no buffer");
        return Ok(());
    }
    let page = whole(desk, "secsz")? * whole(desk, "secs_per_pg")?;
    desk.set("cache.size", size(lines.saturating_mul(page)), "buffer_size");
    let read = desk.value("pg_rd_lat").map_or(Ok(0), |value| value.nanos(NS))?;
    desk.set("cache.time", crate::import::table::time(read / 16), "buffer_size");
    full_first(desk, "buffer_size");
    let Some(value) = desk.value("buffer_thres_pcent") else { return Ok(()) };
    let (high, _) = value.share(100)?;
    if high == 0 {
        return Err(value.refuse("write-back would start at no dirty page", "use 1 to 100"));
    }
    desk.set("cache.high", fraction(high), "buffer_thres_pcent");
    desk.set("cache.low", fraction(high - high / 100 - 1), "buffer_thres_pcent");
    desk.say("buffer_thres_pcent", Near, "write-back starts at this share of dirty lines, and ends a hundredth below");
    Ok(())
}
