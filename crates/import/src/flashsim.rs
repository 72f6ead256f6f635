//! FlashSim: `ssd.conf`.

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{NotModelled, Same};
use toml::Value as Toml;

use crate::common::page_time;
use crate::keys::Given;
use crate::table::{Desk, Drive, Mapping, Rule, To, missing, near, same, text};

const MAPPING: Mapping = Mapping { simulator: "FlashSim", rules: RULES, host: "" };
/// Delays have no unit in the program; its files count microseconds.
const US: u64 = 1_000_000;

/// Delays that no file may leave to the program: its own are in another unit than its files.
const NEEDED: &[(&str, &str)] = &[
    ("PAGE_READ_DELAY", UNIT),
    ("PAGE_WRITE_DELAY", UNIT),
    ("BLOCK_ERASE_DELAY", UNIT),
    ("BUS_CTRL_DELAY", UNIT),
    ("BUS_DATA_DELAY", UNIT),
];
const UNIT: &str = "give it in microseconds; FlashSim's own default is in another unit than its files";

/// What becomes of each key of `ssd.conf`.
const RULES: &[Rule] = &[
    near("SSD_SIZE", Some("4"), To::Count("geometry.channels"), "packages, each with a channel of its own, as there"),
    same("PACKAGE_SIZE", Some("8"), To::Count("geometry.dies_per_chip")),
    same("DIE_SIZE", Some("2"), To::Count("geometry.planes_per_die")),
    same("PLANE_SIZE", Some("64"), To::Count("geometry.blocks_per_plane")),
    same("BLOCK_SIZE", Some("16"), To::Count("geometry.pages_per_block")),
    same("PAGE_SIZE", Some("4096"), To::Bytes("geometry.page_size")),
    same("PAGE_READ_DELAY", None, To::Time("timing.read", US)),
    same("PAGE_WRITE_DELAY", None, To::Time("timing.program", US)),
    near("BLOCK_ERASE_DELAY", None, To::Time("timing.erase", US), "in microseconds, as the other delays"),
    near(
        "BUS_CTRL_DELAY",
        None,
        To::Time("timing.command", US),
        "once an operation; FlashSim takes it twice for a read",
    ),
    near("BUS_DATA_DELAY", None, To::With("timing.transfer"), "a page in this time"),
    missing(
        "RAM_READ_DELAY|RAM_WRITE_DELAY",
        "FlashSim adds it to each page; device.memory is for pages served from memory",
    ),
    missing("PLANE_REG_READ_DELAY", "FlashSim adds it to each page read"),
    missing("PLANE_REG_WRITE_DELAY", "FlashSim adds it to each page written"),
    missing("BUS_MAX_CONNECT", "a channel takes as many dies as it has"),
    missing("BUS_TABLE_SIZE", "a channel's future is not a table of limited size here"),
    missing("BLOCK_ERASES", "blocks do not wear out; wear reports their erases"),
    missing("PAGE_ENABLE_DATA", "pages hold versions, not data"),
    missing("MAP_DIRECTORY_SIZE", "the map takes no flash"),
    near("FTL_IMPLEMENTATION", Some("0"), To::Nothing, ""),
    missing("BAST_LOG_PAGE_LIMIT|FAST_LOG_PAGE_LIMIT", "there are no log blocks"),
    missing("CACHE_DFTL_LIMIT|CACHE_BLOCK_LIMIT", "the whole map is in memory"),
    missing("PARALLELISM_MODE", "schemes.place sets where pages go"),
    missing("VIRTUAL_BLOCK_SIZE|VIRTUAL_PAGE_SIZE", "of FlashSim's striping; schemes.place sets where pages go"),
    missing("NUMBER_OF_ADDRESSABLE_BLOCKS", "device.over_provisioning sets the exported share"),
    missing("RAID_NUMBER_OF_PHYSICAL_SSDS", "one device is simulated"),
];

pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<Desk<'a>> {
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, true, drive)?;
    desk.require(NEEDED)?;
    desk.set("geometry.chips_per_channel", Toml::Integer(1), "SSD_SIZE");
    let page = desk.value("PAGE_SIZE").map_or(Ok(4096), |value| value.whole())?;
    if let Some(delay) = desk.value("BUS_DATA_DELAY") {
        page_time(&mut desk, "BUS_DATA_DELAY", delay.nanos(US)?, page);
    }
    let note = match desk.whole("FTL_IMPLEMENTATION")? {
        0 => "FlashSim's page FTL keeps no map and collects nothing; here pages are mapped and collected",
        _ => "pages are mapped here; log-block and cached maps are not simulated",
    };
    desk.say("FTL_IMPLEMENTATION", NotModelled, note);
    if desk.drive().get("timing.erase").and_then(Toml::as_str).is_some_and(slow) {
        desk.add_note("BLOCK_ERASE_DELAY", "the value looks like nanoseconds: an erase takes milliseconds");
    }
    desk.say("PACKAGE_SIZE", Same, "dies of a package");
    desk.set("schemes.victim", text("greedy"), "FTL_IMPLEMENTATION");
    Ok(desk)
}

/// Whether an erase takes longer than any flash needs.
fn slow(time: &str) -> bool {
    time.parse::<ssdlab_sim::units::Nanos>().is_ok_and(|time| time.0 > 100_000_000)
}
