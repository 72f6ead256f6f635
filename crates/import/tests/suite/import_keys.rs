//! One key of a foreign file changed at a time, for every importer: what changes here, and that nothing else does.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ssdlab_import::How;
use ssdlab_lab::files::Document;

/// A file, a change of its text, and the keys that change with their new values; `-` for a key that is set no more.
type Row = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

fn flat(prefix: &str, table: &toml::Table, into: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flat(&path, inner, into),
            toml::Value::String(text) => drop(into.insert(path, text.clone())),
            other => drop(into.insert(path, other.to_string())),
        }
    }
}

fn settings(text: &str) -> BTreeMap<String, String> {
    let document = Document::Text { name: "drive".into(), text: text.into() };
    let imported = ssdlab_import::read(&[document], How::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut found = BTreeMap::new();
    flat("", &imported.toml().parse().expect("our own text"), &mut found);
    found
}

fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (file, from, to, wanted) in rows {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(file);
        let original = std::fs::read_to_string(path).expect("a sample");
        assert!(original.contains(from), "{file}: {from}");
        let (before, after) = (settings(&original), settings(&original.replacen(from, to, 1)));
        let mut changes: BTreeMap<&str, &str> = BTreeMap::new();
        for (key, value) in &after {
            if before.get(key) != Some(value) {
                changes.insert(key, value);
            }
        }
        changes.extend(before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.as_str(), "-")));
        let wanted: BTreeMap<&str, &str> = wanted.iter().copied().collect();
        if changes != wanted {
            wrong.push(format!("{file}: {from} -> {to}: {changes:?}, not {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// 128 planes and 32,768 lines of cache: write-back ends 128 lines below full, at 0.996094.
#[test]
#[rustfmt::skip]
fn mqsim() {
    const F: &str = "mqsim-drive.xml";
    check(&[
        (F, ">0.1</PCIe", ">0.5</PCIe", &[("timing.host_link", "2000MB/s")]),
        (F, ">4</PCIe", ">2</PCIe", &[("timing.host_link", "200MB/s")]),
        (F, ">321</Seed", ">322</Seed", &[]),
        (F, ">321</Seed>", ">321</Seed><Mapping_Unit>4096</Mapping_Unit>", &[
            ("device.mapping_unit", "4KiB"), ("gc.remainder", "keep"), ("schemes.place", "round-robin"), ("cache.low", "0.998047"),
        ]),
        (F, ">true</Enabled_Pre", ">false</Enabled_Pre", &[("precondition.mode", "none")]),
        (F, ">65535</IO", ">64</IO", &[("device.queue_depth", "64")]),
        (F, ">512</Queue", ">64</Queue", &[]),
        (F, ">268435456</Data", ">134217728</Data", &[("cache.size", "128MiB"), ("cache.low", "0.992188")]),
        (F, ">CWDP</Plane", ">WCDP</Plane", &[("schemes.place", "WCDP")]),
        (F, ">OUT_OF_ORDER<", ">FLIN<", &[("order.die_queue", "fifo"), ("order.read_burst", "16")]),
        (F, ">0.07</Over", ">0.10</Over", &[("device.over_provisioning", "0.1")]),
        (F, ">0.05000</GC", ">0.04</GC", &[("gc.threshold", "0.04")]),
        (F, ">RGA</GC", ">GREEDY</GC", &[("schemes.victim", "greedy"), ("schemes.victim.d-choices.d", "-")]),
        (F, ">RGA</GC", ">FIFO</GC", &[("schemes.victim", "fifo"), ("schemes.victim.d-choices.d", "-")]),
        (F, ">false</Use_Copy", ">true</Use_Copy", &[("schemes.path", "copyback")]),
        (F, ">false</Preemptible", ">true</Preemptible", &[("schemes.collector", "preemptive"), ("gc.hard_threshold", "0.005")]),
        (F, ">0.005000</GC_Hard", ">0.004</GC_Hard", &[]),
        (F, ">true</Dynamic", ">false</Dynamic", &[("ftl.free_block", "round-robin")]),
        (F, ">true</Static", ">false</Static", &[("ftl.wear_levelling", "none"), ("ftl.wear_spread", "-")]),
        (F, ">100</Static", ">50</Static", &[("ftl.wear_spread", "50")]),
        (F, ">700000</Preferred_suspend_erase_time_for_read", ">600000</Preferred_suspend_erase_time_for_read", &[]),
        (F, ">8</Flash_Channel_C", ">4</Flash_Channel_C", &[("geometry.channels", "4"), ("cache.low", "0.998047")]),
        (F, ">1</Flash_Channel_W", ">2</Flash_Channel_W", &[("timing.transfer", "666MB/s")]),
        (F, ">333</Channel", ">400</Channel", &[("timing.transfer", "400MB/s")]),
        (F, ">4</Chip_No", ">2</Chip_No", &[("geometry.chips_per_channel", "2"), ("cache.low", "0.998047")]),
        (F, ">ERASE<", ">NONE<", &[("timing.suspendable", "none"), ("timing.suspend", "0ns"), ("timing.resume", "0ns")]),
        (F, ">ERASE<", ">PROGRAM<", &[("timing.suspendable", "program+erase"), ("timing.suspend", "100us")]),
        (F, ">ERASE<", ">PROGRAM_ERASE<", &[("timing.suspendable", "program+erase")]),
        (F, ">700000</Suspend_Erase", ">600000</Suspend_Erase", &[("timing.suspend", "600us")]),
        (F, ">100000</Suspend_Program", ">90000</Suspend_Program", &[]),
        (F, ">75000</Page_Read_Latency_LSB", ">70000</Page_Read_Latency_LSB", &[("timing.read", "[\"70us\", \"75us\"]")]),
        (F, ">75000</Page_Read_Latency_CSB", ">80000</Page_Read_Latency_CSB", &[]),
        (F, ">75000</Page_Read_Latency_MSB", ">80000</Page_Read_Latency_MSB", &[("timing.read", "[\"75us\", \"80us\"]")]),
        (F, ">75000</Page_Program_Latency_LSB", ">70000</Page_Program_Latency_LSB", &[("timing.program", "[\"70us\", \"75us\"]")]),
        (F, ">75000</Page_Program_Latency_CSB", ">80000</Page_Program_Latency_CSB", &[]),
        (F, ">75000</Page_Program_Latency_MSB", ">80000</Page_Program_Latency_MSB", &[("timing.program", "[\"75us\", \"80us\"]")]),
        (F, ">3800000<", ">3900000<", &[("timing.erase", "3900us")]),
        (F, ">2</Die_No", ">4</Die_No", &[("geometry.dies_per_chip", "4"), ("cache.low", "0.992188")]),
        (F, ">2</Plane_No", ">1</Plane_No", &[("geometry.planes_per_die", "1"), ("cache.low", "0.998047")]),
        (F, ">2048</Block", ">1024</Block", &[("geometry.blocks_per_plane", "1024"), ("schemes.victim.d-choices.d", "10")]),
        (F, ">256</Page_No", ">128</Page_No", &[("geometry.pages_per_block", "128")]),
        (F, ">8192</Page_Cap", ">4096</Page_Cap", &[("geometry.page_size", "4KiB"), ("cache.low", "0.998047")]),
    ]);
}

/// 16 planes and 32 lines of buffer: write-back ends at half. The bits of `advanced command` one by one.
#[test]
#[rustfmt::skip]
fn ssdsim() {
    const F: &str = "page.parameters";
    const NO_PLANES: (&str, &str) = ("device.multi_plane", "false");
    const NO_COPY: (&str, &str) = ("schemes.path", "external");
    const WHOLE_CHIP: (&str, &str) = ("device.exclusion", "chip");
    check(&[
        (F, "command=31;", "command=0;", &[NO_PLANES, NO_COPY, WHOLE_CHIP]),
        (F, "command=31;", "command=1;", &[NO_PLANES, NO_COPY, WHOLE_CHIP]),
        (F, "command=31;", "command=2;", &[NO_PLANES, WHOLE_CHIP]),
        (F, "command=31;", "command=4;", &[NO_COPY, WHOLE_CHIP]),
        (F, "command=31;", "command=8;", &[NO_PLANES, NO_COPY]),
        (F, "command=31;", "command=16;", &[NO_COPY, WHOLE_CHIP]),
        (F, "command=31;", "command=32;", &[NO_PLANES, NO_COPY, WHOLE_CHIP]),
        (F, "static_allocation=2;", "static_allocation=0;", &[("schemes.place", "WDPC")]),
        (F, "static_allocation=2;", "static_allocation=1;", &[("schemes.place", "CWDP")]),
        (F, "static_allocation=2;", "static_allocation=3;", &[("schemes.place", "CDWP")]),
        (F, "static_allocation=2;", "static_allocation=4;", &[("schemes.place", "CPDW")]),
        (F, "static_allocation=2;", "static_allocation=5;", &[("schemes.place", "CDPW")]),
        (F, "\nallocation=1;", "\nallocation=0;", &[("schemes.place", "dynamic")]),
        (F, "dynamic_allocation=0;", "dynamic_allocation=1;", &[]),
        (F, "65536;", "32768;", &[("cache.size", "32KiB"), ("cache.low", "0.0")]),
        (F, "die number = 2;", "die number = 1;", &[("geometry.dies_per_chip", "1"), ("cache.low", "0.75")]),
        (F, "plane number = 2;", "plane number = 1;", &[("geometry.planes_per_die", "1"), ("cache.low", "0.75"), NO_PLANES]),
        (F, "block number = 64;", "block number = 32;", &[("geometry.blocks_per_plane", "32")]),
        (F, "\npage number = 64;", "\npage number = 32;", &[("geometry.pages_per_block", "32")]),
        (F, "t_PROG = 200000;", "t_PROG = 300000;", &[("timing.program", "300us")]),
        (F, "t_BERS = 1500000;", "t_BERS = 2500000;", &[("timing.erase", "2500us")]),
        (F, "t_R = 20000;", "t_R = 30000;", &[("timing.read", "30us")]),
        (F, "t_RC = 25;", "t_RC = 20;", &[("timing.transfer", "20ns/B")]),
        (F, "t_WC = 25;", "t_WC = 20;", &[]),
        (F, "overprovide=0.25;", "overprovide=0.20;", &[("device.over_provisioning", "0.2")]),
        (F, "\ngc threshold=0.30;", "\ngc threshold=0.20;", &[]),
        (F, "gc hard threshold=0.10;", "gc hard threshold=0.05;", &[("gc.threshold", "0.05")]),
        (F, "aged=1;", "aged=0;", &[("precondition.mode", "none"), ("precondition.valid", "-"), ("precondition.invalid", "-")]),
        (F, "aged ratio=0.5;", "aged ratio=0.4;", &[("precondition.invalid", "0.4")]),
        (F, "queue_length=8;", "queue_length=4;", &[("device.queue_depth", "4")]),
    ]);
}

/// 16 planes and 64 pages of buffer from 90 % on: write-back ends a quarter below.
#[test]
#[rustfmt::skip]
fn femu() {
    const F: &str = "femu.conf";
    check(&[
        (F, "op_pcent = 25", "op_pcent = 100", &[("device.over_provisioning", "0.5")]),
        (F, "nchs        = 4", "nchs = 8", &[("geometry.channels", "8"), ("cache.low", "0.4")]),
        (F, "luns_per_ch = 4", "luns_per_ch = 8", &[("geometry.chips_per_channel", "8"), ("cache.low", "0.4")]),
        (F, "blks_per_pl = 64", "blks_per_pl = 32", &[("geometry.blocks_per_plane", "32")]),
        (F, "pgs_per_blk = 64", "pgs_per_blk = 32", &[("geometry.pages_per_block", "32")]),
        (F, "[gc]", "pls_per_lun = 2\n[gc]", &[("geometry.planes_per_die", "2"), ("cache.low", "0.4")]),
        (F, "[gc]", "secs_per_pg = 16\n[gc]", &[("geometry.page_size", "8KiB"), ("cache.size", "512KiB")]),
        (F, "[gc]", "pg_rd_lat = 80000\n[gc]", &[("timing.read", "80us"), ("cache.time", "5us")]),
        (F, "[gc]", "pg_wr_lat = 300000\n[gc]", &[("timing.program", "300us")]),
        (F, "[gc]", "blk_er_lat = 3000000\n[gc]", &[("timing.erase", "3ms")]),
        (F, "[gc]", "ch_xfer_lat = 4096\n[gc]", &[("timing.transfer", "1ns/B")]),
        (F, "[gc]", "pg_xfer_lat = 8192\n[gc]", &[("timing.transfer", "2ns/B")]),
        (F, "[gc]", "cmd_addr_lat = 100\n[gc]", &[("timing.command", "100ns")]),
        (F, "[gc]", "mp_program = 1\n[gc]", &[]),
        (F, "[gc]", "pcie_bandwidth_mbps = 3000\n[gc]", &[("timing.host_link", "3000MB/s")]),
        (F, "gc_thres_pcent = 95", "gc_thres_pcent = 90", &[("gc.threshold", "0.1")]),
        (F, "= d-choice", "= fifo", &[("schemes.victim", "fifo"), ("schemes.victim.d-choices.d", "-")]),
        (F, "hot_cold_sep   = on", "hot_cold_sep   = off", &[]),
        (F, "buffer_size = 64", "buffer_size = 32", &[("cache.size", "128KiB"), ("cache.low", "0.4")]),
        (F, "[subsys]", "buffer_thres_pcent = 80\n[subsys]", &[("cache.high", "0.8"), ("cache.low", "0.55")]),
        (F, "pe_suspend  = 1", "pe_suspend  = 0", &[("timing.suspendable", "none"), ("timing.suspend", "0ns"), ("timing.resume", "0ns")]),
        (F, "tsusp_ns    = 5000", "tsusp_ns    = 6000", &[("timing.suspend", "6us")]),
    ]);
}

/// 32 planes and 256 lines: write-back ends an eighth below full.
#[test]
#[rustfmt::skip]
fn simplessd() {
    const F: &str = "simplessd.cfg";
    check(&[
        (F, "PCIELane = 4", "PCIELane = 2", &[("timing.host_link", "1969.230MB/s")]),
        (F, "Channel = 4", "Channel = 8", &[("geometry.channels", "8"), ("cache.low", "0.75")]),
        (F, "Package = 2", "Package = 4", &[("geometry.chips_per_channel", "4"), ("cache.low", "0.75")]),
        (F, "Die = 2", "Die = 4", &[("geometry.dies_per_chip", "4"), ("cache.low", "0.75")]),
        (F, "Plane = 2", "Plane = 4", &[("geometry.planes_per_die", "4"), ("cache.low", "0.75")]),
        (F, "Block = 64", "Block = 32", &[("geometry.blocks_per_plane", "32")]),
        (F, "\nPage = 64", "\nPage = 32", &[("geometry.pages_per_block", "32")]),
        (F, "PageSize = 16384", "PageSize = 8192", &[("geometry.page_size", "8KiB"), ("cache.low", "0.9375")]),
        (F, "LSBRead = 40000000", "LSBRead = 50000000", &[("timing.read", "[\"50us\", \"65us\"]")]),
        (F, "MSBRead = 65000000", "MSBRead = 75000000", &[("timing.read", "[\"40us\", \"75us\"]")]),
        (F, "CSBRead = 0", "CSBRead = 50000000", &[]),
        (F, "LSBWrite = 500000000", "LSBWrite = 600000000", &[("timing.program", "[\"600us\", \"1300us\"]")]),
        (F, "MSBWrite = 1300000000", "MSBWrite = 1400000000", &[("timing.program", "[\"500us\", \"1400us\"]")]),
        (F, "Erase = 3500000000", "Erase = 3600000000", &[("timing.erase", "3600us")]),
        (F, "DMASpeed = 400", "DMASpeed = 200", &[("timing.transfer", "200MiB/s")]),
        (F, "FillRatio = 0.8", "FillRatio = 0.4", &[("precondition.valid", "0.3")]),
        (F, "InvalidPageRatio = 0.1", "InvalidPageRatio = 0.2", &[("precondition.invalid", "0.15")]),
        (F, "DChoiceParam = 4", "DChoiceParam = 8", &[("schemes.victim.d-choices.d", "8")]),
        (F, "GCThreshold = 0.05", "GCThreshold = 0.04", &[("gc.threshold", "0.04")]),
        (F, "CacheSize = 4194304", "CacheSize = 2097152", &[("cache.size", "2MiB"), ("cache.low", "0.75")]),
        (F, "EnableReadCache = 1", "EnableReadCache = 0", &[("cache.read", "written")]),
        (F, "EnableWriteCache = 1", "EnableWriteCache = 0", &[
            ("cache.write", "none"), ("cache.writeback", "-"), ("cache.high", "-"), ("cache.low", "-"), ("cache.order", "-"),
        ]),
        (F, "EvictPolicy = 2", "EvictPolicy = 1", &[("cache.evict", "fifo")]),
    ]);
}

#[test]
#[rustfmt::skip]
fn flashsim() {
    const F: &str = "ssd.conf";
    check(&[
        (F, "RAM_READ_DELAY 0.01", "RAM_READ_DELAY 0.02", &[]),
        (F, "BUS_CTRL_DELAY 2", "BUS_CTRL_DELAY 3", &[("timing.command", "3us")]),
        (F, "BUS_DATA_DELAY 10", "BUS_DATA_DELAY 20", &[("timing.transfer", "4.8828125ns/B")]),
        (F, "SSD_SIZE 2", "SSD_SIZE 4", &[("geometry.channels", "4")]),
        (F, "PACKAGE_SIZE 2", "PACKAGE_SIZE 4", &[("geometry.dies_per_chip", "4")]),
        (F, "DIE_SIZE 2", "DIE_SIZE 4", &[("geometry.planes_per_die", "4")]),
        (F, "PLANE_SIZE 64", "PLANE_SIZE 32", &[("geometry.blocks_per_plane", "32")]),
        (F, "BLOCK_SIZE 64", "BLOCK_SIZE 32", &[("geometry.pages_per_block", "32")]),
        (F, "BLOCK_ERASE_DELAY 1500", "BLOCK_ERASE_DELAY 2500", &[("timing.erase", "2500us")]),
        (F, "PAGE_READ_DELAY 25", "PAGE_READ_DELAY 30", &[("timing.read", "30us")]),
        (F, "PAGE_WRITE_DELAY 200", "PAGE_WRITE_DELAY 300", &[("timing.program", "300us")]),
        (F, "PAGE_SIZE 4096", "PAGE_SIZE 8192", &[("geometry.page_size", "8KiB"), ("timing.transfer", "1.220703125ns/B")]),
    ]);
}

#[test]
#[rustfmt::skip]
fn disksim() {
    const F: &str = "ssd.parv";
    check(&[
        (F, "percentage = 15", "percentage = 20", &[("device.over_provisioning", "0.2")]),
        (F, "free blocks percentage = 5", "free blocks percentage = 6", &[("gc.threshold", "0.06")]),
        (F, "Copy back = 1", "Copy back = 0", &[("schemes.path", "external")]),
        (F, "Number of parallel units = 2", "Number of parallel units = 4", &[("geometry.dies_per_chip", "4"), ("geometry.planes_per_die", "2")]),
        (F, "Elements per gang = 2", "Elements per gang = 4", &[("geometry.channels", "2"), ("geometry.chips_per_channel", "4")]),
        (F, "Flash chip elements = 8", "Flash chip elements = 4", &[("geometry.channels", "2")]),
        (F, "Page size = 8", "Page size = 16", &[("geometry.page_size", "8KiB")]),
        (F, "Pages per block = 64", "Pages per block = 32", &[("geometry.pages_per_block", "32")]),
        (F, "Max queue length = 20", "Max queue length = 10", &[("device.queue_depth", "10")]),
        (F, "Chip xfer latency = 0.000025", "Chip xfer latency = 0.00005", &[("timing.transfer", "50ns/B")]),
        (F, "Page read latency = 0.025", "Page read latency = 0.030", &[("timing.read", "30us")]),
        (F, "Page write latency = 0.200", "Page write latency = 0.300", &[("timing.program", "300us")]),
        (F, "Block erase latency = 1.5", "Block erase latency = 2.5", &[("timing.erase", "2500us")]),
    ]);
}

/// 128 units of 4 KiB in the buffer, which fill pages of 16 KiB. 0.25 of the exported space are a fifth of all.
#[test]
#[rustfmt::skip]
fn nvmevirt() {
    const F: &str = "ssd_config.h";
    check(&[
        (F, "NAND_CHANNELS (8)", "NAND_CHANNELS (4)", &[("geometry.channels", "4"), ("cache.size", "256KiB")]),
        (F, "LUNS_PER_NAND_CH (2)", "LUNS_PER_NAND_CH (1 + 3)", &[("geometry.chips_per_channel", "4"), ("cache.size", "1MiB")]),
        (F, "PLNS_PER_LUN (1)", "PLNS_PER_LUN (2)", &[("geometry.planes_per_die", "2")]),
        (F, "FLASH_PAGE_SIZE KB(16)", "FLASH_PAGE_SIZE KB(32)", &[("geometry.page_size", "32KiB"), ("cache.size", "1MiB")]),
        (F, "(FLASH_PAGE_SIZE * 1)", "(FLASH_PAGE_SIZE * 2)", &[("cache.size", "1MiB"), ("geometry.pages_per_program", "2")]),
        // 64 pages of a block are no whole shots of three.
        (F, "(FLASH_PAGE_SIZE * 1)", "(FLASH_PAGE_SIZE * 3)", &[
            ("cache.size", "1536KiB"), ("cache.writeback", "watermark"), ("cache.high", "1.0"), ("cache.low", "0.833334"),
            ("cache.order", "lru"), ("device.mapping_unit", "-"), ("geometry.pages_per_program", "-"),
            ("geometry.planes_per_program", "-"), ("schemes.place", "-"), ("gc.remainder", "-"),
        ]),
        (F, "BLKS_PER_PLN (0)", "BLKS_PER_PLN (128)", &[("geometry.blocks_per_plane", "128")]),
        (F, "BLK_SIZE (FLASH_PAGE_SIZE * 64)", "BLK_SIZE MB(2)", &[("geometry.pages_per_block", "128")]),
        (F, "(800ull)", "(1200ull)", &[("timing.transfer", "1200MiB/s")]),
        (F, "(3200ull)", "(1600ull)", &[("timing.host_link", "1600MiB/s")]),
        (F, "(30000 - 5000)", "(40000 - 5000)", &[]),
        (F, "(36000 - 6000)", "(36000 - 7000)", &[("timing.read", "[\"29us\", \"42us\"]")]),
        (F, "(36000 + 6000)", "(36000 + 7000)", &[("timing.read", "[\"30us\", \"43us\"]")]),
        (F, "READ_LATENCY_CSB (0)", "READ_LATENCY_CSB (9000)", &[]),
        (F, "(CELL_MODE_MLC)", "(CELL_MODE_SLC)", &[("timing.read", "30us")]),
        (F, "(185000)", "(200000)", &[("timing.program", "200us")]),
        (F, "(3000000)", "(0)", &[("timing.erase", "0ns")]),
        (F, "LATENCY0 (4000)", "LATENCY0 (5000)", &[("cache.time", "5us")]),
        (F, "LATENCY1 (460)", "LATENCY1 (500)", &[]),
        (F, "(0.25)", "(0.6)", &[("device.over_provisioning", "0.375")]),
        (F, "* 2)\n#define WRITE_EARLY", "* 4)\n#define WRITE_EARLY", &[("cache.size", "1MiB")]),
        (F, "COMPLETION 1", "COMPLETION 0", &[
            ("cache.size", "0B"), ("cache.write", "-"), ("cache.writeback", "-"), ("cache.time", "-"),
            ("device.mapping_unit", "-"), ("geometry.pages_per_program", "-"), ("geometry.planes_per_program", "-"),
            ("schemes.place", "-"), ("gc.remainder", "-"),
        ]),
    ]);
}
