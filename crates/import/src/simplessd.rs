//! SimpleSSD 2.0: the INI file of the device, and the one of its stand-alone program.

use ssdlab_lab::error::Result;
use ssdlab_lab::foreign::account::Verdict::{Near, NotModelled, Same, Unused};
use ssdlab_lab::foreign::flows::{Arrivals, Edge, End, Flow, Source, Stream};
use ssdlab_lab::names::clip;
use toml::Value as Toml;

use crate::common::{by_type, d_choices, full_first, lines, threshold};
use crate::keys::{Given, Value};
use crate::table::{Desk, Drive, Mapping, Rule, To, fraction, missing, near, same, text};

const MAPPING: Mapping = Mapping { simulator: "SimpleSSD", rules: RULES, host: "" };
const PS: u64 = 1;
const POWER: &str = "current and power are not simulated";
const CONTROLLER: &str = "the controller's own work takes no time here";
const WEIGHTS: &str = "a weight of queues by class: the file names neither queues nor their classes, so none are made; nvme.queues gives each queue its class and weight";
const IMAGE: &str = "pages have no content here";
const TLC_ORDER: &str = "page p of a block is of type p mod 3; SimpleSSD has pages 0 to 5 as LSB, 6 and 7 as CSB, then pairs of LSB, CSB and MSB in turn";

/// What becomes of each key, with the defaults of the program. Times are picoseconds.
const RULES: &[Rule] = &[
    same("pal/Channel", Some("8"), To::Count("geometry.channels")),
    same("pal/Package", Some("4"), To::Count("geometry.chips_per_channel")),
    same("pal/Die", Some("2"), To::Count("geometry.dies_per_chip")),
    same("pal/Plane", Some("1"), To::Count("geometry.planes_per_die")),
    same("pal/Block", Some("512"), To::Count("geometry.blocks_per_plane")),
    same("pal/Page", Some("512"), To::Count("geometry.pages_per_block")),
    same("pal/PageSize", Some("16384"), To::Bytes("geometry.page_size")),
    near(
        "pal/EnableMultiPlaneOperation",
        Some("1"),
        To::With("device.multi_plane"),
        "pages of one request share a command; SimpleSSD makes one page of those of all planes",
    ),
    same("pal/NANDType", Some("1"), To::With("timing.read")),
    same("pal/LSBRead", Some("40000000"), To::With("timing.read")),
    same("pal/CSBRead", Some("0"), To::With("timing.read")),
    same("pal/MSBRead", Some("65000000"), To::With("timing.read")),
    same("pal/LSBWrite", Some("500000000"), To::With("timing.program")),
    same("pal/CSBWrite", Some("0"), To::With("timing.program")),
    same("pal/MSBWrite", Some("1300000000"), To::With("timing.program")),
    same("pal/Erase", Some("3500000000"), To::Time("timing.erase", PS)),
    near(
        "pal/DMASpeed",
        Some("400"),
        To::With("timing.transfer"),
        "SimpleSSD's mega is 2^20; its 7 command and address cycles, twice an operation, are left out here (timing.command)",
    ),
    near("pal/DMAWidth", Some("8"), To::With("timing.transfer"), "bits a transfer: eighths of a byte"),
    near(
        "pal/SuperblockSize",
        Some(""),
        To::Nothing,
        "blocks are collected one by one; SimpleSSD collects all blocks of a superblock together, within one write",
    ),
    near(
        "pal/PageAllocation",
        Some("CWDP"),
        To::With("schemes.place"),
        "the first letter varies fastest, planes first with EnableMultiPlaneOperation; SimpleSSD leaves out the letters of a superblock",
    ),
    missing(
        "pal/Voltage|pal/ReadCurrent|pal/ProgramCurrent|pal/EraseCurrent|pal/IdleCurrent|\
         pal/StandbyCurrent",
        POWER,
    ),
    same("ftl/MappingMode", Some("0"), To::Nothing),
    same("ftl/OverProvisioningRatio", Some("0.25"), To::Share("device.over_provisioning", 1)),
    missing("ftl/EraseThreshold", "blocks do not wear out; wear reports their erases"),
    missing(
        "ftl/FillingMode",
        "stale pages are spread evenly over the blocks; SimpleSSD draws random ones without a seed",
    ),
    near("ftl/FillRatio", Some("1"), To::With("precondition.valid"), "share of the exported pages"),
    near("ftl/Warmup", None, To::With("precondition.valid"), "share of the exported pages"),
    near("ftl/InvalidPageRatio", Some("0"), To::With("precondition.invalid"), "share of the exported pages"),
    same("ftl/EvictPolicy", Some("0"), To::With("schemes.victim")),
    same("ftl/DChoiceParam", Some("3"), To::With("schemes.victim")),
    near(
        "ftl/GCThreshold",
        Some("0.05"),
        To::With("gc.threshold"),
        "free pages of each plane; SimpleSSD counts free superblocks of the device",
    ),
    near("ftl/GCMode", Some("0"), To::Nothing, "a plane is collected until it is above the threshold"),
    near("ftl/GCReclaimBlocks", Some("1"), To::Nothing, "one block at a time"),
    missing("ftl/GCReclaimThreshold", "a plane is collected until it is above gc.threshold"),
    missing("ftl/Latency", "firmware takes no time; SimpleSSD adds this to each request"),
    missing("ftl/RequestQueue", "firmware takes no time"),
    missing(
        "ftl/EnableRandomIOTweak",
        "partial writes count sectors of 512 bytes here; SimpleSSD keeps a bit for each page of a superpage",
    ),
    near("icl/CacheSize", Some("536870912"), To::With("cache.size"), "lines of one page, fully associative"),
    missing("icl/CacheWaySize", "the cache is fully associative here"),
    near("icl/EnableReadCache", Some("0"), To::With("cache.read"), "reads stay in the cache"),
    missing(
        "icl/EnableReadPrefetch|icl/ReadPrefetchMode|icl/ReadPrefetchCount|icl/ReadPrefetchRatio",
        "nothing is read ahead",
    ),
    near("icl/EnableWriteCache", Some("1"), To::With("cache.write"), "writes are acknowledged by the cache"),
    near("icl/EvictPolicy", Some("2"), To::With("cache.evict"), ""),
    missing("icl/EvictMode", "lines are written back one by one"),
    missing("icl/CacheLatency", "the cache takes no time unless cache.time is set"),
    near(
        "nvme/PCIEGeneration",
        Some("2"),
        To::With("timing.host_link"),
        "the rate after line coding; SimpleSSD adds packet headers",
    ),
    near("nvme/PCIELane", Some("4"), To::With("timing.host_link"), "lanes of that rate"),
    missing("nvme/WRRHigh|nvme/WRRMedium", WEIGHTS),
    missing(
        "nvme/AXIBusWidth|nvme/AXIClock|nvme/FIFOTransferUnit|nvme/WorkInterval|\
         nvme/MaxRequestCount|nvme/MaxIOCQueue|nvme/MaxIOSQueue|nvme/DefaultNamespace|nvme/LBASize",
        CONTROLLER,
    ),
    missing("nvme/EnableDiskImage|nvme/StrictSizeCheck|nvme/DiskImageFile|nvme/UseCopyOnWriteDisk", IMAGE),
    missing("dram/*", "the controller's memory takes no time unless cache.time is set; SimpleSSD adds each access"),
    missing("cpu/*", "firmware takes no time here"),
    missing("sata/*", "the host interface takes no time here"),
    missing("ufs/*", "the host interface takes no time here"),
    // The stand-alone program.
    missing("global/*", "of the program around the device: ssdlab has its own options"),
    same("generator/io_size", None, To::Nothing),
    same("generator/readwrite", Some("read"), To::Nothing),
    same("generator/rwmixread", Some("0.5"), To::Nothing),
    same("generator/blocksize", Some("4K"), To::Nothing),
    near("generator/blockalign", Some(""), To::Nothing, "offsets are multiples of the block size"),
    same("generator/iomode", Some("sync"), To::Nothing),
    same("generator/iodepth", Some("1"), To::With("device.queue_depth")),
    missing("generator/offset|generator/size", "the whole address space is used; range sets another part"),
    missing("generator/thinktime", "a closed loop sends the next request at once"),
    missing("generator/randseed", "--seed sets the seed; the numbers drawn differ in any case"),
    near("generator/time_based", Some("0"), To::Nothing, "a closed loop ends by requests here"),
    missing("generator/runtime", "a closed loop ends by requests here: --limit"),
    missing(
        "trace/*",
        "a regular expression describes the trace there; here --trace FILE with --format blkparse or columns:<map>",
    ),
];

/// Keys without which the generator has nothing to send.
const NEEDED: &[(&str, &str)] = &[
    ("generator/io_size", "give the bytes of all requests, such as 1M"),
    ("generator/readwrite", "give the pattern, such as randread"),
    ("generator/blocksize", "give the bytes of a request, such as 4K"),
];

/// Carries over a configuration. Defaults hold only in a file of the device, not in one of what the stand-alone program does with it.
pub(crate) fn drive<'a>(given: &'a Given, file: usize, drive: &'a mut Drive) -> Result<(Desk<'a>, Vec<Flow>)> {
    let of_device = given.keys.iter().any(|key| ["pal", "ftl", "icl"].contains(&&*key.section));
    let mut desk = Desk::new(given, file, 0..given.keys.len(), MAPPING, of_device, drive)?;
    if of_device {
        arrays(&mut desk)?;
        bus(&mut desk)?;
        collection(&mut desk)?;
        filling(&mut desk)?;
        cache(&mut desk)?;
        link(&mut desk, given)?;
    }
    let flows = generator(&mut desk, given)?;
    Ok((desk, flows))
}

/// A switch as the program reads it: `true` in any case, or digits that are not 0. Words that it takes for false although they say
/// yes are refused.
fn flag(desk: &Desk, name: &'static str) -> Result<bool> {
    let Some(value) = desk.value(name) else { return Ok(false) };
    let text = value.text;
    if ["true", "1"].iter().any(|yes| text.eq_ignore_ascii_case(yes)) {
        return Ok(true);
    }
    if ["false", "0", "no", "off", ""].iter().any(|no| text.eq_ignore_ascii_case(no)) {
        return Ok(false);
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.bytes().any(|b| b != b'0'));
    }
    let message = format!("`{}` is neither true nor false for SimpleSSD", clip(text));
    Err(value.refuse(
        message,
        "SimpleSSD takes true or a number other than 0 for on, and everything else for off: use 1 or 0",
    ))
}

fn arrays(desk: &mut Desk) -> Result<()> {
    let Some(kind) = desk.value("pal/NANDType") else { return Ok(()) };
    let types: &[&str] = match kind.whole()? {
        0 => &["LSB"],
        1 => &["LSB", "MSB"],
        2 => &["LSB", "CSB", "MSB"],
        _ => return Err(kind.refuse("not a kind of flash that SimpleSSD has", "expected 0 (SLC), 1 (MLC) or 2 (TLC)")),
    };
    let reads = ["pal/LSBRead", "pal/CSBRead", "pal/MSBRead"];
    let programs = ["pal/LSBWrite", "pal/CSBWrite", "pal/MSBWrite"];
    for (key, names) in [("timing.read", reads), ("timing.program", programs)] {
        let mut times = Vec::new();
        for name in names {
            let used = types.iter().any(|start| name["pal/".len()..].starts_with(start));
            match desk.value(name).filter(|_| used) {
                Some(value) => times.push(value.nanos(PS)?),
                None => desk.say(name, Unused, "this kind of flash has no such pages"),
            }
        }
        // MLC alternates in both.
        if times.len() == 3 && times.iter().any(|time| *time != times[0]) {
            names.into_iter().for_each(|name| desk.say(name, Near, TLC_ORDER));
        }
        desk.set(key, by_type(&times), names[0]);
    }
    Ok(())
}

fn bus(desk: &mut Desk) -> Result<()> {
    let (speed, width) = (desk.whole("pal/DMASpeed")?, desk.whole("pal/DMAWidth")?);
    if let Some(value) = desk.value("pal/DMAWidth").filter(|_| !width.is_multiple_of(8) || width == 0) {
        return Err(value.refuse("not a width that SimpleSSD takes", "expected a multiple of 8 bits"));
    }
    // SimpleSSD takes 10^12 ps / (speed x 2^20) a transfer.
    let rate = format!("{}MiB/s", speed.saturating_mul(width / 8));
    desk.set("timing.transfer", text(rate), "pal/DMASpeed");
    let planes = desk.drive().whole("geometry.planes_per_die").unwrap_or(1);
    let joint = flag(desk, "pal/EnableMultiPlaneOperation")? && planes > 1;
    desk.set("device.multi_plane", Toml::Boolean(joint), "pal/EnableMultiPlaneOperation");
    let Some(order) = desk.value("pal/PageAllocation") else { return Ok(()) };
    let shown = order.text.to_ascii_uppercase();
    let mut letters: Vec<char> = shown.chars().collect();
    letters.sort_unstable();
    if letters != ['C', 'D', 'P', 'W'] {
        return Err(order.refuse("not an order of C, W, D and P", "expected for example CWDP"));
    }
    // SimpleSSD, too, moves the planes of a command to the front.
    let place = if joint { format!("P{}", shown.replace('P', "")) } else { shown };
    desk.set("schemes.place", text(place), "pal/PageAllocation");
    Ok(())
}

fn collection(desk: &mut Desk) -> Result<()> {
    if desk.whole("ftl/MappingMode")? != 0 {
        desk.say("ftl/MappingMode", NotModelled, "pages are mapped");
    }
    if let Some(value) = desk.value("ftl/GCThreshold") {
        threshold(desk, value.share(1)?, "ftl/GCThreshold");
    }
    let Some(policy) = desk.value("ftl/EvictPolicy") else { return Ok(()) };
    let name = match policy.whole()? {
        0 => "greedy",
        1 => "cost-benefit",
        2 => "random",
        3 => {
            let d = desk.value("ftl/DChoiceParam").map_or(Ok(3), |value| value.count())?;
            desk.set("schemes.victim", d_choices(d), "ftl/DChoiceParam");
            return Ok(());
        }
        _ => return Err(policy.refuse("not a policy that SimpleSSD has", "expected 0 to 3")),
    };
    desk.set("schemes.victim", text(name), "ftl/EvictPolicy");
    desk.say("ftl/DChoiceParam", Unused, "the policy draws no candidates");
    Ok(())
}

/// Valid and stale pages at the start, as shares of the exported ones.
fn filling(desk: &mut Desk) -> Result<()> {
    let by = if desk.gives("ftl/Warmup") && !desk.gives("ftl/FillRatio") { "ftl/Warmup" } else { "ftl/FillRatio" };
    let share = |desk: &Desk, name| desk.value(name).map_or(Ok(0), |value| value.share(1).map(|share| share.0));
    let spare = share(desk, "ftl/OverProvisioningRatio")?;
    let exported = |share: u64| share * (1_000_000 - spare) / 1_000_000;
    let (valid, stale) = (exported(share(desk, by)?), exported(share(desk, "ftl/InvalidPageRatio")?));
    let blocks = desk.drive().whole("geometry.blocks_per_plane").unwrap_or(512).max(1);
    // SimpleSSD, too, fills up to the start of GC at most. Three blocks a plane stay erased for write points and reserve.
    let floor = share(desk, "ftl/GCThreshold")?;
    let room = 1_000_000u64.saturating_sub(valid + floor + 3_000_000u64.div_ceil(blocks));
    if valid + stale == 0 {
        desk.set("precondition.mode", text("none"), by);
        desk.say(by, Same, "");
        desk.say("ftl/InvalidPageRatio", Same, "");
        return Ok(());
    }
    if stale > room {
        desk.say(
            "ftl/InvalidPageRatio",
            Near,
            "less, so that the device starts above the GC threshold, as in SimpleSSD",
        );
    }
    desk.set("precondition.mode", text("aged"), by);
    desk.set("precondition.valid", fraction(valid), by);
    desk.set("precondition.invalid", fraction(stale.min(room)), "ftl/InvalidPageRatio");
    Ok(())
}

fn cache(desk: &mut Desk) -> Result<()> {
    let (read, write) = (flag(desk, "icl/EnableReadCache")?, flag(desk, "icl/EnableWriteCache")?);
    let (page, capacity) = (desk.whole("pal/PageSize")?, desk.whole("icl/CacheSize")?);
    let used = read || write;
    let Some(lines) = lines(desk, if used { capacity } else { 0 }, page, "icl/CacheSize") else {
        if !used {
            desk.say("icl/CacheSize", Unused, "neither reads nor writes use the cache");
        }
        for name in ["icl/EvictPolicy", "icl/EnableReadCache", "icl/EnableWriteCache"] {
            desk.say(name, if name == "icl/EvictPolicy" { Unused } else { Same }, "there is no cache");
        }
        return Ok(());
    };
    desk.set("cache.write", text(if write { "back" } else { "none" }), "icl/EnableWriteCache");
    desk.set("cache.read", text(if read { "all" } else { "written" }), "icl/EnableReadCache");
    if !read {
        desk.say("icl/EnableReadCache", Near, "reads find what is written, and leave nothing in the cache");
    }
    if !write {
        desk.say("icl/EnableWriteCache", Near, "writes go through to the flash");
    }
    let policy = desk.whole("icl/EvictPolicy")?;
    desk.set("cache.evict", text(if policy == 1 { "fifo" } else { "lru" }), "icl/EvictPolicy");
    match policy {
        0 => desk.say("icl/EvictPolicy", NotModelled, "the least recently used line instead of a random one"),
        _ => desk.say("icl/EvictPolicy", Near, "of all lines, not of those of a set"),
    }
    if write {
        full_first(desk, lines, "icl/CacheSize");
    }
    Ok(())
}

/// Megabytes a second of a lane by PCIe generation, after line coding, in thousandths.
const LANES: [u64; 3] = [250_000, 500_000, 984_615];

fn link(desk: &mut Desk, given: &Given) -> Result<()> {
    let (Some(generation), Some(lanes)) = (desk.value("nvme/PCIEGeneration"), desk.value("nvme/PCIELane")) else {
        return Ok(());
    };
    // Without the section, another file chooses the host interface, if any.
    if !given.keys.iter().any(|key| key.section == "nvme") {
        return Ok(());
    }
    // The program counts generations from 0.
    let Some(lane) = LANES.get(usize::try_from(generation.whole()?).unwrap_or(usize::MAX)) else {
        return Err(
            generation.refuse("not a generation that SimpleSSD has", "expected 0, 1 or 2 for PCIe 1.x, 2.x, 3.x")
        );
    };
    let rate = lane * u64::from(lanes.count()?);
    if rate == 0 {
        return Err(lanes.refuse("nothing would ever cross the link", "use 1 or more"));
    }
    desk.set("timing.host_link", text(format!("{}.{:03}MB/s", rate / 1000, rate % 1000)), "nvme/PCIEGeneration");
    Ok(())
}

/// A number with the program's suffixes: k, m, g, t are powers of 1000, K, M, G, T of 1024.
fn suffixed(value: &Value) -> Result<u64> {
    let units = "kmgtKMGT";
    let (digits, factor) = match value.text.char_indices().last() {
        Some((at, unit)) if units.contains(unit) => {
            let power = 1 + units.find(unit).unwrap_or(0) as u32 % 4;
            let base: u64 = if unit.is_ascii_lowercase() { 1000 } else { 1024 };
            (&value.text[..at], base.pow(power))
        }
        _ => (value.text, 1),
    };
    let number = Value { text: digits, ..*value }.whole()?;
    number.checked_mul(factor).ok_or_else(|| value.refuse("beyond 64 bits", "use a smaller number"))
}

fn generator(desk: &mut Desk, given: &Given) -> Result<Vec<Flow>> {
    if !given.keys.iter().any(|key| key.section == "generator") {
        return Ok(Vec::new());
    }
    // Mode 1 replays a trace, and ignores the generator.
    let replays = given.keys.iter().any(|key| key.path() == "global/Mode" && key.value == "1");
    if replays {
        for (name, _) in MAPPING.named().filter(|(name, _)| name.starts_with("generator/")) {
            desk.say(name, Unused, "Mode = 1 replays a trace");
        }
        return Ok(Vec::new());
    }
    desk.require(NEEDED)?;
    let Some(block) = desk.value("generator/blocksize") else { return Ok(Vec::new()) };
    let bytes = suffixed(&block)?;
    if bytes == 0 || bytes % 512 != 0 || bytes > 64 << 20 {
        return Err(block.refuse(format!("requests of {bytes} bytes"), "expected a multiple of 512 bytes, up to 64M"));
    }
    let requests = match desk.value("generator/io_size") {
        Some(value) => match suffixed(&value)? {
            0 => return Err(value.refuse("nothing to read or write", "give the bytes of all requests, such as 1M")),
            all => {
                // The last request is a whole one, too.
                if !all.is_multiple_of(bytes) {
                    desk.say("generator/io_size", Same, "the last request is a whole one, too");
                }
                all.div_ceil(bytes)
            }
        },
        None => 0,
    };
    let depth = match desk.value("generator/iomode").is_some_and(|mode| mode.text == "async") {
        true => desk.value("generator/iodepth").map_or(Ok(1), |value| value.count())?.max(1),
        false => {
            desk.say("generator/iodepth", Unused, "synchronous: one at a time");
            1
        }
    };
    desk.set("device.queue_depth", Toml::Integer(depth.into()), "generator/iodepth");
    let Some(kind) = desk.value("generator/readwrite") else { return Ok(Vec::new()) };
    let mix = desk.value("generator/rwmixread").map_or(Ok(0), |value| value.share(1).map(|share| share.0))?;
    let (read, pattern) = match kind.text {
        "read" => (1_000_000, "sequential"),
        "write" => (0, "sequential"),
        "randread" => (1_000_000, "uniform"),
        "randwrite" => (0, "uniform"),
        "readwrite" => (mix, "sequential"),
        "randrw" => (mix, "uniform"),
        _ => {
            let help = "expected read, write, randread, randwrite, readwrite or randrw";
            return Err(kind.refuse("not a pattern that SimpleSSD has", help));
        }
    };
    if !["readwrite", "randrw"].contains(&kind.text) {
        desk.say("generator/rwmixread", Unused, "the pattern is not mixed");
    }
    let stream = Stream {
        read,
        sizes: vec![(bytes, 1_000_000)],
        write_sizes: None,
        align: bytes,
        range: (Edge::Share(0), Edge::Share(1_000_000)),
        pattern: format!("{pattern:?}"),
        arrivals: Arrivals::Closed(depth),
        think: None,
        end: End::Requests(requests),
    };
    let description = "SimpleSSD request generator".to_string();
    Ok(vec![Flow { name: "generator".into(), description, source: Source::Stream(stream) }])
}
