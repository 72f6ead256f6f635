//! Files of other simulators: what becomes of every key, and that the result runs. The files in `tests/import` are our own, with
//! the keys of the originals.

use std::path::PathBuf;

use ssdlab_import::{How, Simulator};
use ssdlab_lab::error::Error;
use ssdlab_lab::foreign::Imported;
use ssdlab_lab::foreign::account::{Entry, Verdict};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::perf::Moment;
use ssdlab_lab::run::{How as RunHow, Outputs, Run};
use ssdlab_lab::settings::{Change, Document, Settings, Sources};
use ssdlab_sim::Check;
use ssdlab_sim::blame::{Cause, Extra};
use ssdlab_sim::config::QueuePriority;

/// Every sample with a drive in it.
const DRIVES: [&str; 7] =
    ["mqsim-drive.xml", "page.parameters", "simplessd.cfg", "femu.sh", "femu.conf", "ssd.conf", "ssd.parv"];

/// Keys that make MQSim's drive of 512 GiB small.
const SMALL: [&str; 4] =
    ["geometry.blocks_per_plane=24", "geometry.pages_per_block=32", "device.over_provisioning=0.25", "cache.size=1MiB"];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn document(name: &str, text: &str) -> Document {
    Document::Text { name: name.into(), text: text.into() }
}

fn import(files: &[&str]) -> Imported {
    scenario(files, 1)
}

fn scenario(files: &[&str], scenario: usize) -> Imported {
    let documents: Vec<Document> = files.iter().map(|name| document(name, &text(name))).collect();
    ssdlab_import::read(&documents, How { from: None, scenario }).unwrap()
}

fn read(documents: &[Document]) -> Imported {
    ssdlab_import::read(documents, How::default()).unwrap()
}

/// An import of one text that is refused.
fn refused(name: &str, text: &str) -> Error {
    match ssdlab_import::read(&[document(name, text)], How::default()) {
        Err(error) => error,
        Ok(imported) => Requests::check_imported(&imported).expect_err(&imported.toml()),
    }
}

fn entry<'i>(imported: &'i Imported, key: &str) -> &'i Entry {
    imported.account.entries.iter().rev().find(|entry| entry.key.ends_with(key)).unwrap_or_else(|| panic!("{key}"))
}

fn sources(files: &[&str], sets: &[&str]) -> Sources {
    let imported = Some(import(files));
    Sources { imported, sets: sets.iter().map(ToString::to_string).collect(), ..Sources::default() }
}

/// Latency of one request of a page on the idle device.
fn alone(sources: Sources, read: bool) -> u64 {
    let settings = Settings::load(&sources).unwrap();
    let page = settings.config.geometry.page_size.0;
    let workload = format!(
        "requests = 1\nread = {}\nsize = \"{page}B\"\nalign = \"{page}B\"\narrivals = {{ fixed = {{ gap = \"1s\" }} }}",
        if read { "1.0" } else { "0.0" }
    );
    let summary = summary(settings, &Requests::new(Origin::Spec(workload)));
    let all = summary.latency_ns.all;
    assert_eq!(all.count, 1);
    all.min.unwrap()
}

fn summary(settings: Settings, requests: &Requests) -> ssdlab_sim::report::Summary {
    let how = RunHow { check: Check::Full, ..RunHow::default() };
    let ready = Run::new(settings, how, Moment::now()).unwrap().open(requests).unwrap();
    ready.simulate(&Outputs::default(), &mut ()).unwrap().outcome.summary
}

#[test]
fn the_drive_of_mqsim_is_the_one_of_the_contract() {
    let imported = import(&["mqsim-drive.xml"]);
    let settings = Settings::imported(&imported).unwrap();
    let config = &settings.config;
    let g = &config.geometry;
    assert_eq!((g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die), (8, 4, 2, 2));
    assert_eq!((g.blocks_per_plane, g.pages_per_block, g.page_size.0), (2048, 256, 8192));
    let planes = u64::from(g.channels * g.chips_per_channel * g.dies_per_chip * g.planes_per_die);
    assert_eq!(planes * u64::from(g.blocks_per_plane * g.pages_per_block) * g.page_size.0, 512 << 30);
    assert_eq!(config.timing.channel().time(8192).0, 24_601);
    let value = |key: &str| settings.value(key).unwrap().to_string();
    for (key, expected) in [
        ("timing.read", "\"75us\""),
        ("timing.program", "\"75us\""),
        ("timing.erase", "\"3800us\""),
        ("timing.transfer", "\"333MB/s\""),
        ("timing.host_link", "\"400MB/s\""),
        ("timing.suspendable", "\"erase\""),
        ("timing.suspend", "\"700us\""),
        ("schemes.victim", "{\"d-choices\":{\"d\":11}}"),
        ("schemes.place", "\"CWDP\""),
        ("device.over_provisioning", "0.07"),
        ("device.queue_depth", "65535"),
        ("gc.threshold", "0.05"),
        ("gc.hard_threshold", "null"),
        ("ftl.free_block", "\"least-erased\""),
        ("ftl.wear_levelling", "\"static\""),
        ("ftl.wear_spread", "100"),
        ("cache.size", "\"256MiB\""),
        ("order.die_queue", "\"read-first\""),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    let note =
        "7 % spare with collection below 5 % free leaves 2.1 % in play: expect write amplification 22 to 23, not 7";
    assert!(imported.account.remarks.iter().any(|remark| remark == note), "{:?}", imported.account.remarks);
    // One of its planes, with fewer blocks: each depends on itself alone, and on shares.
    let plane = [
        "geometry.channels=1",
        "geometry.chips_per_channel=1",
        "geometry.dies_per_chip=1",
        "geometry.planes_per_die=1",
        "geometry.blocks_per_plane=256",
        "cache.size=0B",
        "precondition.mode=sequential",
        "run.warmup=2 drive writes",
    ];
    let settings = Settings::load(&sources(&["mqsim-drive.xml"], &plane)).unwrap();
    let origin = Origin::Workload { name: "random-write".into(), recordings: None };
    let requests = Requests { limit: Some(3 * 256 * 256), ..Requests::new(origin) };
    let how = RunHow { check: Check::Sampled, count_only: true, ..RunHow::default() };
    let ready = Run::new(settings, how, Moment::now()).unwrap().open(&requests).unwrap();
    let summary = ready.simulate(&Outputs::default(), &mut ()).unwrap().outcome.summary;
    let amplification = summary.write_amplification.unwrap();
    assert!((22.0..23.0).contains(&amplification), "{amplification}");
}

#[test]
fn every_key_gets_one_verdict() {
    // Keys counted without the importer: elements with a text, or lines with an equals sign outside comments.
    let lines = |text: &str, counts: &dyn Fn(&str) -> bool| text.lines().filter(|line| counts(line.trim())).count();
    let pairs = |line: &str| line.split('#').next().unwrap().contains('=');
    let elements = |line: &str| line.contains("</") && line.starts_with('<') && !line.starts_with("</");
    for (name, expected) in [
        ("mqsim-drive.xml", lines(&text("mqsim-drive.xml"), &elements)),
        ("mqsim-load.xml", lines(&text("mqsim-load.xml"), &elements)),
        ("page.parameters", lines(&text("page.parameters"), &pairs)),
        ("simplessd.cfg", lines(&text("simplessd.cfg"), &pairs)),
        ("simplessd-load.cfg", lines(&text("simplessd-load.cfg"), &pairs)),
        ("femu.sh", lines(&text("femu.sh"), &|line| line.contains("\",") && line.contains("FEMU_OPTIONS="))),
        ("femu.conf", lines(&text("femu.conf"), &pairs)),
        ("ssd.conf", lines(&text("ssd.conf"), &|line| line.starts_with(|c: char| c.is_ascii_uppercase()))),
        // Two lines begin a block or a list.
        ("ssd.parv", lines(&text("ssd.parv"), &pairs) - 2),
    ] {
        let account = import(&[name]).account;
        assert_eq!(account.entries.len(), expected, "{name}");
        let json: serde_json::Value = serde_json::from_str(&account.json()).unwrap();
        let counts = json["counts"].as_object().unwrap();
        let sum: u64 = counts.iter().filter(|(name, _)| *name != "total").map(|(_, n)| n.as_u64().unwrap()).sum();
        assert_eq!((sum, &counts["total"]), (expected as u64, &json["counts"]["total"]), "{name}");
        assert_eq!(json["keys"].as_array().unwrap().len(), expected, "{name}");
        for entry in &account.entries {
            // The account says what differs and what is missing.
            let told = entry.verdict == Verdict::Same || entry.verdict == Verdict::Unknown || !entry.note.is_empty();
            assert!(told, "{name}: {entry:?}");
            assert_ne!(entry.verdict, Verdict::Unknown, "{name}: {entry:?}");
            let line = text(name).lines().nth(entry.line - 1).unwrap().to_string();
            assert!(line.contains(entry.key.rsplit('/').next().unwrap()), "{name}:{}: {entry:?}", entry.line);
        }
    }
}

#[test]
fn accounts_are_those_of_the_golden_files() {
    for (name, files) in DRIVES.map(|name| (name, vec![name])).into_iter().chain([
        ("mqsim-load.xml", vec!["mqsim-drive.xml", "mqsim-load.xml"]),
        ("simplessd-load.cfg", vec!["simplessd.cfg", "simplessd-load.cfg"]),
    ]) {
        let imported = import(&files);
        let mut out = format!("{}\n{}", imported.account.text(), imported.toml());
        for (name, workload) in imported.workloads() {
            out.push_str(&format!("\n# {name}\n{workload}"));
        }
        let golden = path(&format!("golden/{name}.txt"));
        if std::env::var_os("SSDLAB_GOLDENS").is_some_and(|mode| mode == "write") {
            std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
            std::fs::write(&golden, &out).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(out == expected, "{name} differs from its golden file; it is now:\n{out}");
    }
}

#[test]
fn every_drive_runs_and_its_file_says_the_same() {
    for name in DRIVES {
        let imported = import(&[name]);
        let settings = Settings::imported(&imported).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = Settings::parse("drive.toml", &imported.toml()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(settings.digest(), again.digest(), "{name}");
        let small: &[&str] = if name == "mqsim-drive.xml" { &SMALL } else { &[] };
        let settings = Settings::load(&sources(&[name], small)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let page = settings.config.geometry.page_size.0;
        let workload = format!("requests = 3000\nread = 0.3\nsize = \"{page}B\"\nrange = 0.02\narrivals = \"closed\"");
        let summary = summary(settings, &Requests::new(Origin::Spec(workload)));
        assert_eq!(summary.requests.read + summary.requests.write, 3000, "{name}");
    }
}

#[test]
fn lone_pages_take_the_original_time_without_what_the_notes_leave_out() {
    // Read, program; the originals' own formulas beside them.
    for (name, read, program) in [
        // MQSim: 290 + 75,000 + 30 + 24,576, and 361 + 24,576 + 75,000, without the link.
        ("mqsim-drive.xml", 75_000 + 24_601, 24_601 + 75_000),
        // SSDsim: 7 x 25 + 20,000 + 2,048 x 25, and 7 x 25 + 2,048 x 25 + 200,000.
        ("page.parameters", 20_000 + 51_200, 51_200 + 200_000),
        // SimpleSSD: the lower page, 16 KiB at 400 x 2^20 transfers a second (39,062.5 ns), and commands.
        ("simplessd.cfg", 40_000 + 39_063, 39_063 + 500_000),
        // FEMU: the same.
        ("femu.sh", 40_000 + 4_096, 4_096 + 200_000),
        // FlashSim: 2 + 25 + 0.01 + 12 + 0.02 us, and 12 + 0.02 + 200 + 0.01 us.
        ("ssd.conf", 2_000 + 25_000 + 10_000, 2_000 + 10_000 + 200_000),
        // DiskSim: the same.
        ("ssd.parv", 25_000 + 102_400, 102_400 + 200_000),
    ] {
        let small: &[&str] = if name == "mqsim-drive.xml" { &SMALL[..3] } else { &[] };
        let mut sources = sources(&[name], small);
        sources.changes = ["cache.size=0B", "precondition.mode=none"].map(|set| Change::Set(set.into())).to_vec();
        sources.changes.push(Change::Unset("timing.host_link".into()));
        assert_eq!((alone(sources.clone(), true), alone(sources, false)), (read, program), "{name}");
    }
    // SimpleSSD's file with its link: 16 KiB at 3,938.46 MB/s.
    let mut linked = sources(&["simplessd.cfg"], &[]);
    linked.changes = ["cache.size=0B", "precondition.mode=none"].map(|set| Change::Set(set.into())).to_vec();
    assert_eq!((alone(linked.clone(), true), alone(linked, false)), (83_223, 543_223));
}

#[test]
fn scenarios_become_requests() {
    let files = ["mqsim-drive.xml", "mqsim-load.xml"];
    // A queue kept full.
    let first = scenario(&files, 1);
    let [(_, workload)] = &first.workloads()[..] else { panic!("one flow") };
    for line in
        ["arrivals = \"closed\"", "requests = 160640", "size = \"8192B\"", "align = \"8192B\"", "range = [0.0, 0.5]"]
    {
        assert!(workload.contains(line), "{line} in\n{workload}");
    }
    let settings = Settings::imported(&first).unwrap();
    assert_eq!(settings.config.device.queue_depth, 16);
    let value = |key: &str| settings.value(key).unwrap().to_string();
    assert_eq!((value("precondition.mode").as_str(), value("precondition.valid").as_str()), ("\"aged\"", "0.6975"));
    // Keys of other scenarios are accounted for, and lead to nothing.
    let others = first.account.entries.iter().filter(|entry| entry.key.starts_with("scenario 2"));
    assert!(others.clone().count() > 40);
    assert!(others.clone().all(|entry| entry.verdict == Verdict::NotModelled && entry.becomes.is_empty()));

    // Two flows with rates: tenants, each in its half of the addresses.
    let second = scenario(&files, 2);
    let both: String = second.workloads().into_iter().map(|(_, text)| text).collect();
    for line in [
        "requests = 500",
        "requests = 300",
        // Of its own half.
        "range = [0.0, 0.5]",
        // 8,192,000 bytes a second are 16,000 sectors, 1,000 requests of 16 sectors.
        "arrivals = { poisson = { gap = \"1000000ns\" } }",
        "arrivals = { poisson = { gap = \"500000ns\" } }",
        "pattern = { hot-cold = { hot_space = 0.2, hot_traffic = 0.8 } }",
        "read = 0.7",
    ] {
        assert!(both.contains(line), "{line} in\n{both}");
    }
    let requests = Requests::imported(&second, None).unwrap().unwrap();
    let Origin::Tenants(tenants) = &requests.from else { panic!("tenants") };
    assert_eq!(tenants.iter().map(|tenant| tenant.name.as_str()).collect::<Vec<_>>(), ["flow1", "flow2"]);
    // Each has a queue of its class.
    let queues = &Settings::imported(&second).unwrap().config.nvme.queues;
    let classes: Vec<_> = queues.iter().map(|queue| (queue.name.as_str(), queue.class)).collect();
    assert_eq!(
        classes,
        [("flow1", QueuePriority::High), ("flow2", QueuePriority::Low), ("others", QueuePriority::Medium)]
    );
    let class = entry(&second, "scenario 2/flow 2/Priority_Class");
    assert!(class.verdict == Verdict::Near && class.becomes[0].contains("nvme.queues"), "{class:?}");
    let sources = sources(&["mqsim-drive.xml"], &SMALL);
    let summary = summary(Settings::load(&sources).unwrap(), &requests);
    assert_eq!(summary.requests.read + summary.requests.write, 800);

    // A trace: never opened unless a directory is given, and then by its last part only.
    let third = scenario(&files, 3);
    let error = Requests::imported(&third, None).unwrap_err();
    assert!(
        error.to_string().contains("traces\\small.trace") && error.to_string().contains("--follow-traces"),
        "{error}"
    );
    let requests = Requests::imported(&third, Some("/recordings".as_ref())).unwrap().unwrap();
    let Origin::Trace(trace) = &requests.from else { panic!("a trace") };
    assert_eq!((trace.name().as_str(), requests.loops), ("/recordings/small.trace", 2));
    let none = ssdlab_import::read(&files.map(|name| document(name, &text(name))), How { from: None, scenario: 4 });
    assert!(none.unwrap_err().to_string().contains("3 scenarios"));
}

#[test]
fn sizes_of_a_normal_distribution_have_its_weights() {
    let imported = scenario(&["mqsim-load.xml"], 2);
    let workload = &imported.workloads()[1].1;
    let sizes = workload.lines().find_map(|line| line.strip_prefix("size = ")).unwrap();
    let table: toml::Table = format!("sizes = {sizes}").parse().unwrap();
    let pairs: Vec<(u64, f64)> = table["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            let bytes: u64 = pair[0].as_str().unwrap().trim_end_matches('B').parse().unwrap();
            (bytes / 512, pair[1].as_float().unwrap())
        })
        .collect();
    // Mean 16 sectors, deviation 4; rounding up adds half a sector.
    let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mean = pairs.iter().map(|(size, weight)| *size as f64 * weight).sum::<f64>() / total;
    let square = pairs.iter().map(|(size, weight)| (*size as f64 - mean).powi(2) * weight).sum::<f64>() / total;
    assert!((mean - 16.5).abs() < 0.01, "{mean}");
    assert!((square.sqrt() - 4.0).abs() < 0.03, "{}", square.sqrt());
}

#[test]
fn the_generator_of_simplessd_becomes_a_workload() {
    let imported = import(&["simplessd.cfg", "simplessd-load.cfg"]);
    let [(name, workload)] = &imported.workloads()[..] else { panic!("one") };
    assert_eq!(name, "generator");
    for line in ["requests = 256", "read = 0.7", "size = \"4096B\"", "pattern = \"uniform\"", "arrivals = \"closed\""] {
        assert!(workload.contains(line), "{line} in\n{workload}");
    }
    assert_eq!(Settings::imported(&imported).unwrap().config.device.queue_depth, 8);
    // By itself it says nothing of the device.
    let alone = import(&["simplessd-load.cfg"]);
    assert_eq!(Settings::imported(&alone).unwrap().config.geometry.channels, 8);
}

#[test]
fn values_keep_their_place_in_the_users_file() {
    let sources = Sources { imported: Some(read(&[path("page.parameters").into()])), ..Sources::default() };
    let settings = Settings::load(&sources).unwrap();
    let origin = settings.origin("timing.erase");
    assert!(origin.ends_with("page.parameters:17"), "{origin}");
    // An original's default, and a later layer.
    let mut sources = self::sources(&["femu.conf"], &["gc.threshold=0.01"]);
    let settings = Settings::load(&sources).unwrap();
    assert_eq!(settings.origin("timing.read"), "--import: the original's default of pg_rd_lat = 40000");
    assert_eq!(settings.origin("gc.threshold"), "--set");
    assert_eq!(settings.origin("geometry.channels"), "femu.conf:7");
    // A preset comes before.
    sources.preset = Some("nvme-tlc".into());
    assert_eq!(Settings::load(&sources).unwrap().config.geometry.channels, 4);
    // A rule that the file breaks is shown there.
    let broken = text("page.parameters").replace("overprovide=0.25", "overprovide=0.001");
    let error = refused("page.parameters", &broken);
    assert_eq!(
        error.spot.as_ref().map(|spot| (spot.name.as_str(), spot.line())),
        Some(("page.parameters", 30)),
        "{error}"
    );
}

#[test]
fn page_types_of_mqsim_are_lists() {
    let tlc = text("mqsim-drive.xml")
        .replace(">MLC<", ">TLC<")
        .replace(">75000</Page_Read_Latency_MSB", ">110000</Page_Read_Latency_MSB");
    let imported = ssdlab_import::read(&[document("tlc.xml", &tlc)], How::default()).unwrap();
    let reads = entry(&imported, "Page_Read_Latency_CSB");
    assert_eq!(reads.becomes, ["timing.read = [\"75us\", \"75us\", \"110us\"]"]);
    assert!(reads.verdict == Verdict::Near && reads.note.contains("pages 0 to 5 as LSB"), "{reads:?}");
    // Times that are all alike need no order.
    let programs = entry(&imported, "Page_Program_Latency_CSB");
    assert_eq!(
        (programs.verdict, &programs.becomes[..]),
        (Verdict::Same, &["timing.program = \"75us\"".to_string()][..])
    );
}

#[test]
fn repeated_keys_count_once_and_the_last_one_wins() {
    let twice = text("page.parameters").replace("t_R = 20000;", "t_R = 1;\nt_R = 20000;");
    let imported = ssdlab_import::read(&[document("p", &twice)], How::default()).unwrap();
    let entries: Vec<&Entry> = imported.account.entries.iter().filter(|entry| entry.key == "t_R").collect();
    let [first, last] = entries[..] else { panic!("{entries:?}") };
    assert_eq!((first.verdict, last.verdict), (Verdict::Unused, Verdict::Same));
    assert!(first.note.contains("given again on line 22"), "{}", first.note);
    assert_eq!(last.becomes, ["timing.read = \"20us\""]);
}

#[test]
fn unknown_keys_are_listed_with_what_was_meant() {
    let odd = text("ssd.conf").replace("RAM_READ_DELAY 0.01", "RAM_READ_DELAYS 0.01");
    let imported = ssdlab_import::read(&[document("ssd.conf", &odd)], How::default()).unwrap();
    let entry = entry(&imported, "RAM_READ_DELAYS");
    assert_eq!((entry.verdict, entry.note.as_str()), (Verdict::Unknown, "is RAM_READ_DELAY meant?"));
}

/// A section with keys that say nothing of the results covers no misspelt key that would.
#[test]
fn misspelt_keys_of_simplessd_are_unknown() {
    let odd = text("simplessd.cfg").replace("\nChannel ", "\nChanel ").replace("\nPCIELane ", "\nPCIELanes ");
    let imported = ssdlab_import::read(&[document("simplessd.cfg", &odd)], How::default()).unwrap();
    for (key, meant) in [("pal/Chanel", "Channel"), ("nvme/PCIELanes", "PCIELane")] {
        let entry = entry(&imported, key);
        assert_eq!((entry.verdict, entry.note.as_str()), (Verdict::Unknown, &*format!("is {meant} meant?")));
    }
}

#[test]
fn files_are_of_one_device_and_not_ours() {
    let said = |names: &[&str]| {
        let documents: Vec<Document> = names.iter().map(|name| document(name, &text(name))).collect();
        ssdlab_import::read(&documents, How::default()).map(drop).unwrap_err().to_string()
    };
    assert!(
        said(&["mqsim-drive.xml", "page.parameters"])
            .contains("mqsim-drive.xml is of mqsim, page.parameters of ssdsim")
    );
    assert!(said(&["ssd.parv", "ssd.parv"]).contains("each describe a device"));
    assert!(said(&["simplessd.cfg", "simplessd.cfg"]).contains("each describe a device"));
    assert!(said(&["page.parameters", "mqsim-load.xml"]).contains("of mqsim"));
    // What an import writes is ours, although SimpleSSD has a section of the same name.
    let error = refused("drive.toml", &import(&["mqsim-drive.xml"]).toml());
    assert!(error.to_string().contains("a configuration of this program"), "{error}");
}

#[test]
fn hostile_values_are_refused_at_their_place() {
    // File, what is replaced, by what; the line if it is another, and a part of the message.
    let cases: [(&str, &str, &str, &str, &str); 26] = [
        ("mqsim-drive.xml", ">8192</Page_Cap", ">-8192</Page_Cap", "", "Page_Capacity: -8192 is negative"),
        ("mqsim-drive.xml", ">8192</Page_Cap", ">8KiB</Page_Cap", "", "`8KiB` is not a whole number"),
        ("mqsim-drive.xml", ">8192</Page_Cap", "></Page_Cap", "", "no value"),
        ("mqsim-drive.xml", ">8</Flash_Channel", ">99999999999999999999</Flash_Channel", "", "beyond 64 bits"),
        ("mqsim-drive.xml", ">8</Flash_Channel", ">4294967296</Flash_Channel", "", "beyond 32 bits"),
        ("mqsim-drive.xml", ">0.07</Over", ">7</Over", "", "7 is not from 0 to 1"),
        ("mqsim-drive.xml", ">0.07</Over", ">1e99</Over", "", "`1e99` is not a plain number"),
        ("mqsim-drive.xml", ">CWDP</Plane", ">CWDX</Plane", "", "not an order of C, W, D and P"),
        ("mqsim-drive.xml", ">RGA</GC", ">BEST</GC", "", "not a policy that MQSim has"),
        ("mqsim-drive.xml", ">MLC</Flash", ">PLC</Flash", "", "not a kind of flash"),
        ("mqsim-drive.xml", ">333</Channel", ">0</Channel", "", "nothing would ever cross the channel"),
        ("mqsim-drive.xml", ">0.1</PCIe", ">0</PCIe", "", "the link has no usable rate"),
        ("mqsim-drive.xml", ">4</PCIe", ">0</PCIe", "", "PCIe_Lane_Count: nothing would ever cross the link"),
        ("simplessd.cfg", "EnableReadCache = 1", "EnableReadCache = yes", "", "`yes` is neither true nor false"),
        ("simplessd.cfg", "PCIEGeneration = 2", "PCIEGeneration = 3", "", "not a generation that SimpleSSD has"),
        ("simplessd-load.cfg", "io_size = 1M", "io_size = 0", "", "nothing to read or write"),
        ("page.parameters", "chip number[1] = 2;", "chip number[1] = 3;", "", "3 chips, but channel 0 has 2"),
        ("page.parameters", "chip number = 4;", "chip number = 5;", "", "5 chips in all"),
        (
            "page.parameters",
            "subpage page = 4;",
            "subpage page = 3;",
            "",
            "3 subpages of 512 bytes are not a page of 2048",
        ),
        ("page.parameters", "overprovide=0.25;", "overprovide=25;", "", "25 is not from 0 to 1"),
        (
            "simplessd.cfg",
            "LSBRead = 40000000",
            "LSBRead = 40000001",
            "",
            "40000001 ps is not a whole number of nanoseconds",
        ),
        ("simplessd.cfg", "Erase = 3500000000", "Erase = 99999999999999999999000", "", "beyond the simulator's clock"),
        ("femu.sh", "nchs=4", "nchs=four", "", "nchs: `four` is not a whole number"),
        ("femu.conf", "mode     = bbssd", "mode     = znssd", "", "not a black-box drive"),
        (
            "ssd.parv",
            "Elements per gang = 2",
            "Elements per gang = 3",
            "Flash chip elements",
            "8 do not divide by Elements per gang = 3",
        ),
        ("ssd.parv", "Blocks per element = 512", "Blocks per element = 500", "", "500 blocks, but planes have 64 each"),
    ];
    for (name, from, to, place, message) in cases {
        let original = text(name);
        assert!(original.contains(from), "{name}: {from}");
        let changed = original.replacen(from, to, 1);
        let error = refused(name, &changed);
        assert!(error.to_string().contains(message), "{name}: {error}");
        let spot = error.spot.as_ref().unwrap_or_else(|| panic!("{name}: {error}"));
        // The line with the value, unless another one is to blame.
        let place = if place.is_empty() { to } else { place };
        let line = 1 + changed[..changed.find(place).unwrap()].matches('\n').count();
        assert_eq!(spot.line(), line, "{name}: {error}");
        assert!(!error.help.is_empty(), "{name}: {error}");
    }
}

#[test]
fn hostile_texts_end_in_an_error() {
    let deep = format!("<Execution_Parameter_Set>{}", "<a>".repeat(200_000));
    let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]>\n<Execution_Parameter_Set>&b;</Execution_Parameter_Set>";
    let many = "[pal]\n".to_string() + &"a = 1\n".repeat(20_000);
    let blocks = format!("ssdmodel_ssd SSD {{\n{}", "a { ".repeat(1000));
    for (name, text, message) in [
        ("deep.xml", deep.as_str(), ""),
        ("entity.xml", entity, "document type definition is not allowed"),
        ("open.xml", "<Execution_Parameter_Set><Seed>1</Seeds></Execution_Parameter_Set>", "expected"),
        ("other.xml", "<plist></plist>", "the root <plist>"),
        ("two.xml", "<simplessd version=\"2.1\"></simplessd>", "SimpleSSD 2.1, which is XML"),
        ("many.cfg", many.as_str(), "more than 10000 keys"),
        ("blocks.parv", blocks.as_str(), "more than 64 blocks inside each other"),
        ("open.parv", "ssdmodel_ssd SSD {\n Page size = 8,", "the file ends inside a block"),
        ("commas.parv", "ssdmodel_ssd SSD {\n Page size = 8\n Pages per block = 64 }", "a second = in one entry"),
        ("closes.parv", "ssdmodel_ssd SSD { ] }", "closes nothing"),
        ("disk.parv", "disksim_disk D {\n Model = dm_disk,\n Scheduler = 1\n}", "expected a block ssdmodel_ssd"),
        ("word.conf", "SSD_SIZE 2\nPAGE_SIZE\n", "neither a comment nor a key with its value"),
        ("empty", "", "not a configuration of a known simulator"),
        ("text", "hello = world", "not a configuration of a known simulator"),
        ("both", "[pal]\nPage = 1\npage capacity = 2048;", "two simulators have such files"),
    ] {
        let error = refused(name, text);
        assert!(error.to_string().contains(message), "{name}: {error}");
    }
    let directory = std::env::temp_dir().join(format!("ssdlab-import-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (long, binary) = (directory.join("long.cfg"), directory.join("binary.cfg"));
    std::fs::write(&long, vec![b'#'; (4 << 20) + 1]).unwrap();
    std::fs::write(&binary, b"[pal]\0").unwrap();
    let read = |path: &PathBuf| ssdlab_import::read(&[path.clone().into()], How::default()).unwrap_err().to_string();
    assert!(read(&long).contains("longer than 4 MiB"), "{}", read(&long));
    assert!(read(&binary).contains("is not text"), "{}", read(&binary));
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!("femu".parse(), Ok(Simulator::Femu));
    assert!("qemu".parse::<Simulator>().is_err());
}

#[test]
fn comments_may_be_in_any_encoding() {
    let mut bytes = text("page.parameters").into_bytes();
    bytes.extend(b"# \xbc\xc7\xc2\xbc\n");
    let file = std::env::temp_dir().join(format!("ssdlab-import-{}.parameters", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let imported = ssdlab_import::read(&[file.clone().into()], How::default());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(imported.unwrap().account.entries.len(), import(&["page.parameters"]).account.entries.len());
}

fn imported(name: &str, text: &str) -> Imported {
    ssdlab_import::read(&[document(name, text)], How::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn scripts_of_femu_lose_no_property() {
    let set = |text: &str| {
        let imported = imported("femu.sh", text);
        let whole = |key: &str| Settings::imported(&imported).unwrap().value(key).unwrap().as_u64().unwrap();
        let keys = ["geometry.channels", "geometry.chips_per_channel", "geometry.blocks_per_plane"];
        (keys.map(whole), imported.account.entries.len(), imported.account.count(Verdict::Unknown))
    };
    let device = "-device femu,devsz_mb=64,femu_mode=1,";
    for (text, keys) in [
        // Continued lines, also with blanks before the next property.
        (format!("qemu \\\n  {device}\\\nnchs=2,luns_per_ch=3,\\\nblks_per_pl=64\n"), 5),
        (format!("qemu {device}\\\r\n    nchs=2,luns_per_ch=3,blks_per_pl=64 -m 4G"), 5),
        // Put together from variables.
        (format!("O=\"{device}nchs=2\"\nO+=\",luns_per_ch=3\"\nO=\"$O,blks_per_pl=${{B:-64}}\"\nqemu $O -m 4G\n"), 5),
        (format!("n=64\nO=(\n{device}nchs=2,luns_per_ch=3,blks_per_pl=$n )\nqemu \"${{O[@]}}\""), 5),
        (format!("n=2\nO='{device}'nchs=$n,luns_per_ch=3,blks_per_pl=64 # nchs=7"), 5),
        // Properties of other devices, and of one that two commands start.
        (
            format!(
                "D=\"{device}nchs=2,luns_per_ch=3,blks_per_pl=64\"\nqemu -device virtio-blk,drive=hd0 $D -device virtio-net,nchs=9,mac=1\nqemu $D"
            ),
            5,
        ),
    ] {
        assert_eq!(set(&text), ([2, 3, 64], keys, 0), "{text}");
    }
    // The subsystem of the device is accounted for by itself.
    let both = format!("qemu -device femu-subsys,id=s,nqn=n {device}nchs=2");
    let (subsystem, account) = ("subsys/nqn", imported("femu.sh", &both).account);
    assert!(account.entries.iter().any(|entry| entry.key == subsystem), "{}", account.text());
    // A value stands where it was assigned.
    let wrong = format!("n=two\nqemu {device}nchs=$n");
    let error = refused("femu.sh", &wrong);
    assert_eq!(error.spot.as_ref().map(|spot| spot.line()), Some(1), "{error}");
    for two in [format!("qemu {device}nchs=2\nqemu {device}nchs=4"), format!("qemu {device}nchs=2 {device}nchs=2")] {
        assert!(refused("femu.sh", &two).to_string().contains("a second FEMU device"), "{two}");
    }
    let parv = text("ssd.parv");
    let start = parv.find("ssdmodel_ssd").unwrap();
    let twice = format!("{parv}\n{}", &parv[start..]);
    assert!(refused("ssd.parv", &twice).to_string().contains("a second block ssdmodel_ssd"));
}

#[test]
fn what_a_file_leaves_out_is_listed_or_refused() {
    // What the program would take makes no device, or is not known.
    let parameters =
        ["die number", "block number", "t_R", "t_PROG", "t_BERS", "t_RC", "t_WC", "overprovide", "gc hard threshold"];
    let delays = ["PAGE_READ_DELAY", "PAGE_WRITE_DELAY", "BLOCK_ERASE_DELAY", "BUS_CTRL_DELAY", "BUS_DATA_DELAY"];
    let latencies = ["Page read latency", "Chip xfer latency", "Reserve pages percentage", "Blocks per plane"];
    let generator = ["io_size", "readwrite", "blocksize"];
    let lists: [(&str, &[&str]); 4] = [
        ("page.parameters", &parameters),
        ("ssd.conf", &delays),
        ("ssd.parv", &latencies),
        ("simplessd-load.cfg", &generator),
    ];
    for (name, keys) in lists {
        for key in keys {
            let without = |line: &&str| !line.trim_start().starts_with(key);
            let less: Vec<String> = text(name).lines().filter(without).map(String::from).collect();
            let error = refused(name, &less.join("\n"));
            assert!(error.to_string().contains(&format!("{key}: not in the file")), "{name}: {error}");
            assert!(!error.help.is_empty(), "{name}: {error}");
        }
    }
    let without: String = text("page.parameters")
        .lines()
        .filter(|line| !line.contains("dram capacity"))
        .map(|line| format!("{line}\n"))
        .collect();
    let plain = imported("p", &without);
    assert!(
        plain.account.assumed.iter().any(|line| line.starts_with("dram capacity = 0: cache.size")),
        "{:?}",
        plain.account.assumed
    );
    // A default that can't be met says so, too.
    let femu = imported("f", "-device femu,femu_mode=1,nchs=2,blks_per_pl=64");
    let line = femu.account.assumed.iter().find(|line| line.starts_with("gc_thres_pcent = 75")).unwrap();
    assert!(line.contains("half of the spare"), "{line}");
    let generation = text("simplessd.cfg").replace("PCIEGeneration = 2\n", "");
    let settings = Settings::imported(&imported("s.cfg", &generation)).unwrap();
    assert_eq!(settings.value("timing.host_link").unwrap(), "3938.460MB/s");
    // Defaults of flows, by flow.
    let flow = text("mqsim-load.xml").replace("      <Working_Set_Percentage>50</Working_Set_Percentage>\n", "");
    let assumed = imported("w.xml", &flow).account.assumed;
    assert!(assumed.iter().any(|line| line == "flow1: Working_Set_Percentage = 85"), "{assumed:?}");
}

/// A workload with these flows, of which each replaces keys of the closed loop in the sample.
fn flows(changes: &[&[(&str, &str)]]) -> String {
    let load = text("mqsim-load.xml");
    let start = load.find("    <IO_Flow").unwrap();
    let end = load.find("  </IO_Scenario>").unwrap();
    let all: String = changes
        .iter()
        .map(|changes| {
            changes.iter().fold(load[start..end].to_string(), |flow, (key, value)| {
                let from = flow.find(&format!("<{key}>")).unwrap() + key.len() + 2;
                let to = from + flow[from..].find('<').unwrap();
                format!("{}{value}{}", &flow[..from], &flow[to..])
            })
        })
        .collect();
    format!("<MQSim_IO_Scenarios><IO_Scenario>{all}</IO_Scenario></MQSim_IO_Scenarios>")
}

fn with_drive(load: &str) -> Imported {
    let files = [document("drive.xml", &text("mqsim-drive.xml")), document("load.xml", load)];
    ssdlab_import::read(&files, How::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn flows_of_mqsim_do_not_take_room_from_each_other() {
    let writes = [("Stop_Time", "0"), ("Total_Requests_To_Generate", "400"), ("Average_No_of_Reqs_in_Queue", "1")];
    let reads = [
        ("Synthetic_Generator_Type", "BANDWIDTH"),
        ("Read_Percentage", "100"),
        ("Bandwidth", "40960000"),
        ("Stop_Time", "0"),
        ("Total_Requests_To_Generate", "400"),
    ];
    // Requests that arrive while the loop has its one outstanding never wait for it outside the device.
    let mixed = flows(&[&writes, &reads]);
    let requests = Requests::imported(&with_drive(&mixed), None).unwrap().unwrap();
    let imported = Some(read(&[document("drive.xml", &text("mqsim-drive.xml")), document("load.xml", &mixed)]));
    let sets = SMALL.iter().map(ToString::to_string).collect();
    let settings = Settings::load(&Sources { imported, sets, ..Sources::default() }).unwrap();
    let tenants = summary(settings, &requests).tenants.unwrap().0;
    for (name, tenant) in tenants {
        let waits = &tenant.breakdown_ns.all;
        let arbitration = waits.1.iter().find(|(extra, _)| *extra == Extra::Arbitration).map_or(0, |(_, ns)| *ns);
        let requests = tenant.latency_ns.all.count;
        assert_eq!((requests, waits.0[Cause::Queue as usize], arbitration), (400, 0, 0), "{name}");
    }
    // Room for each: a loop's depth, and a queue of the others.
    let mixed = with_drive(&flows(&[&writes, &reads, &reads]));
    let config = Settings::imported(&mixed).unwrap().config;
    let depths: Vec<Option<u32>> = config.nvme.queues.iter().map(|queue| queue.depth).collect();
    assert_eq!((config.device.queue_depth, depths), (65535, vec![None, Some(32767), Some(32767), None]));
    let depth = &mixed.workloads()[0].1;
    assert!(depth.contains("arrivals = { closed = { depth = 1 } }"), "{depth}");
    // A loop alone sets the depth of the device, and the account says that the drive's file does not.
    let alone = with_drive(&flows(&[&writes]));
    assert_eq!(Settings::imported(&alone).unwrap().config.device.queue_depth, 1);
    let length = entry(&alone, "IO_Queue_Depth");
    assert!(length.verdict == Verdict::NotModelled && length.becomes.is_empty(), "{length:?}");
    // An element without keys is a flow of defaults.
    let empty =
        "<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Synthetic/></IO_Scenario></MQSim_IO_Scenarios>";
    let empty = with_drive(empty);
    assert_eq!((empty.flows.len(), empty.account.count(Verdict::Unknown)), (1, 0));
    assert!(empty.workloads()[0].1.contains("range = [0.0, 0.85]"));
}

#[test]
fn traces_of_several_flows_have_parts_of_the_addresses() {
    let load = text("mqsim-load.xml");
    let start = load.find("    <IO_Flow_Parameter_Set_Trace_Based>").unwrap();
    let flow = &load[start..load.rfind("  </IO_Scenario>").unwrap()];
    let two = format!("<MQSim_IO_Scenarios><IO_Scenario>{flow}{flow}</IO_Scenario></MQSim_IO_Scenarios>");
    let requests = Requests::imported(&with_drive(&two), Some("/recordings".as_ref())).unwrap().unwrap();
    let Origin::Tenants(tenants) = &requests.from else { panic!("tenants") };
    for tenant in tenants {
        assert_eq!(tenant.place, ssdlab_lab::input::Region::Own);
        let own = &tenant.requests;
        assert_eq!(
            (own.lba_policy, own.loops, own.reading.format.as_str()),
            (ssdlab_trace::LbaPolicy::Wrap, 2, "mqsim")
        );
    }
}

#[test]
fn what_is_off_is_off_beside_a_preset() {
    let drive = text("mqsim-drive.xml")
        .replace(">268435456</Data_Cache", ">0</Data_Cache")
        .replace(">ERASE</CMD", ">NONE</CMD");
    let femu = "-device femu,femu_mode=1,nchs=2,blks_per_pl=64,op_pcent=25,gc_thres_pcent=95";
    let simplessd = text("simplessd.cfg")
        .replace("EnableReadCache = 1", "EnableReadCache = 0")
        .replace("EnableWriteCache = 1", "EnableWriteCache = false");
    for (name, text, small) in [("d.xml", &*drive, &SMALL[..3]), ("f.sh", femu, &[]), ("s.cfg", &*simplessd, &[])] {
        let imported = Some(read(&[document(name, text)]));
        let sets = small.iter().map(ToString::to_string).collect();
        let plain = Sources { imported, sets, ..Sources::default() };
        let preset = Sources { preset: Some("nvme-2024".into()), ..plain.clone() };
        let settings = Settings::load(&preset).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(settings.config.cache.size.0, 0, "{name}");
        if name != "s.cfg" {
            let value = |key: &str| settings.value(key).unwrap();
            assert_eq!((value("timing.suspendable"), value("timing.suspend")), ("none".into(), "0ns".into()), "{name}");
        }
        if name == "f.sh" {
            // A link without a time is none.
            let mut unlinked = plain.clone();
            unlinked.changes = vec![Change::Unset("timing.host_link".into())];
            assert_eq!(alone(plain.clone(), true), alone(unlinked, true));
            assert_eq!(settings.value("timing.host_link").unwrap(), "0ns/B");
        }
    }
    let off = flows(&[&[("Device_Level_Data_Caching_Mode", "TURNED_OFF")]]);
    assert!(with_drive(&off).toml().contains("size = \"0B\""));
}

#[test]
fn what_is_rounded_or_changed_is_not_the_same() {
    let drive = text("mqsim-drive.xml").replace(">0.05000<", ">0.0333333333<").replace(">0.07<", ">0.0700000001<");
    let odd = imported("d.xml", &drive);
    for (key, was) in
        [("GC_Exec_Threshold", "0.0333333333 rounded"), ("Overprovisioning_Ratio", "0.0700000001 rounded")]
    {
        let entry = entry(&odd, key);
        assert!(entry.verdict == Verdict::Near && entry.note.contains(was), "{entry:?}");
    }
    let femu = imported("f", "-device femu,femu_mode=1,nchs=2,blks_per_pl=64,op_pcent=7,buffer_size=9999999");
    assert!(entry(&femu, "op_pcent").note.contains("7/107 rounded"), "{:?}", entry(&femu, "op_pcent"));
    assert!(entry(&femu, "buffer_size").note.contains("no larger than the flash"));
    // What stands in for something is set, so that a preset's value does not.
    let other =
        imported("d.xml", &text("mqsim-drive.xml").replace(">CWDP<", ">F<").replace(">OUT_OF_ORDER<", ">FLIN<"));
    assert!(
        other.toml().contains("place = \"CWDP\"") && other.toml().contains("die_queue = \"fifo\""),
        "{}",
        other.toml()
    );
    let parameters = text("page.parameters");
    let derived = parameters.lines().map(|line| if line.starts_with("allocation") { "allocation = 3;" } else { line });
    let derived = imported("p", &derived.map(|line| format!("{line}\n")).collect::<String>());
    assert!(derived.toml().contains("place = \"CWDP\""), "{}", derived.toml());
    let first = imported("d.xml", &text("mqsim-drive.xml").replace(">OUT_OF_ORDER<", ">PRIORITY_OUT_OF_ORDER<"));
    let policy = entry(&first, "Transaction_Scheduling_Policy");
    assert!(policy.verdict == Verdict::Near && policy.becomes == ["order.die_queue = \"read-first\""], "{policy:?}");
    let hot = flows(&[&[("Address_Distribution", "HOTCOLD_RANDOM")]]);
    let hot = entry(&with_drive(&hot), "Address_Distribution").clone();
    assert!(hot.verdict == Verdict::NotModelled && hot.note.contains("the first address"), "{hot:?}");
    // Switches as SimpleSSD reads them, and its last request.
    let cached = |value: &str| {
        let text = text("simplessd.cfg").replace("EnableReadCache = 1", &format!("EnableReadCache = {value}"));
        Settings::imported(&imported("s.cfg", &text)).unwrap().value("cache.read").unwrap()
    };
    assert_eq!(["true", "True", "2", "0", "false"].map(cached), ["all", "all", "all", "written", "written"]);
    let last = imported("l.cfg", &text("simplessd-load.cfg").replace("blocksize = 4K", "blocksize = 3K"));
    assert!(last.workloads()[0].1.contains("requests = 342"), "{}", last.workloads()[0].1);
}

#[test]
fn the_last_of_two_names_counts() {
    let parameters = text("page.parameters");
    let chips = parameters.replace("chip number[1] = 2;", "chip number[1] = 0;\nchip number[1] = 2;");
    let twice = imported("p", &chips);
    let verdicts: Vec<Verdict> =
        twice.account.entries.iter().filter(|entry| entry.key == "chip number[1]").map(|entry| entry.verdict).collect();
    assert_eq!(verdicts, [Verdict::Unused, Verdict::Same]);
    let fewer = parameters.replace("chip number[1] = 2;\n", "");
    assert!(refused("p", &fewer).to_string().contains("chip number[1]: not in the file"));
    let depth = |text: &str| {
        let imported = imported("p", text);
        assert_eq!(
            imported
                .account
                .entries
                .iter()
                .filter(|entry| !entry.becomes.join(" ").contains("device.queue_depth"))
                .count()
                + 1,
            imported.account.entries.len()
        );
        Settings::imported(&imported).unwrap().config.device.queue_depth
    };
    let without: String = parameters
        .lines()
        .filter(|line| !line.starts_with("queue_length") && !line.starts_with("requset"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(depth(&format!("{without}queue_length = 3;\nrequset queue depth = 9;\n")), 9);
    assert_eq!(depth(&format!("{without}requset queue depth = 9;\nqueue_length = 3;\n")), 3);
}

#[test]
fn requests_are_of_one_file_and_fit_on_the_device() {
    let load = text("mqsim-load.xml");
    let twice = [document("a.xml", &load), document("b.xml", &load)];
    let said = |documents: &[Document], scenario: usize| {
        let imported = ssdlab_import::read(documents, How { from: None, scenario });
        imported.and_then(|imported| Requests::check_imported(&imported)).unwrap_err().to_string()
    };
    assert!(said(&twice, 1).contains("a.xml and b.xml each describe requests"));
    let generator = text("simplessd-load.cfg");
    assert!(
        said(&[document("a.cfg", &generator), document("b.cfg", &generator)], 1).contains("each describe requests")
    );
    assert!(said(&[document("d.xml", &text("mqsim-drive.xml"))], 2).contains("--scenario 2: no file has scenarios"));
    let small = text("mqsim-drive.xml")
        .replace(">2048</Block_No", ">24</Block_No")
        .replace(">256</Page_No", ">32</Page_No")
        .replace(">0.07</Over", ">0.25</Over");
    for change in [("Average_Request_Size", "131072"), ("Variance_Request_Size", "131072")] {
        let mut changes = vec![change, ("Working_Set_Percentage", "1")];
        if change.0.starts_with("Variance") {
            changes.push(("Request_Size_Distribution", "NORMAL"));
        }
        let both = [document("d.xml", &small), document("w.xml", &flows(&[&changes]))];
        assert!(said(&both, 1).contains("does not fit"), "{}", said(&both, 1));
    }
    let wide = [("Request_Size_Distribution", "NORMAL"), ("Variance_Request_Size", "4611686018427387904")];
    assert!(refused("w.xml", &flows(&[&wide])).to_string().contains("sizes vary by 4611686018427387904 sectors"));
    let slow = text("page.parameters").replace("t_WC = 25", "t_WC = 9223372036854775807");
    assert!(slow.contains("9223372036854775807"));
    let _ = ssdlab_import::read(&[document("p", &slow)], How::default());
}

#[test]
fn large_files_are_refused_soon() {
    let drive = format!("<Execution_Parameter_Set>{}</Execution_Parameter_Set>", "<a/>".repeat(400_000));
    let flow = "<IO_Flow_Parameter_Set_Synthetic/>";
    let many = format!("<MQSim_IO_Scenarios><IO_Scenario>{}</IO_Scenario></MQSim_IO_Scenarios>", flow.repeat(20_000));
    let few = format!("<MQSim_IO_Scenarios><IO_Scenario>{}</IO_Scenario></MQSim_IO_Scenarios>", flow.repeat(20));
    for (text, message) in
        [(&drive, "more than 10000 keys"), (&many, "more than 10000 flows"), (&few, "at most 15 run together")]
    {
        let start = std::time::Instant::now();
        let error = refused("large.xml", text);
        let said = format!("{error} {}", error.help.first().map_or("", |help| help));
        assert!(said.contains(message), "{said}");
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
    for (name, text) in [
        ("s.xml", "<standalone version=\"2.1\"><section name=\"sim\"/></standalone>"),
        ("d.xml", "<simplessd version=\"2.1\"/>"),
    ] {
        assert!(refused(name, text).to_string().contains("SimpleSSD 2.1, which is XML"));
    }
    // An empty part of the file is no key.
    let part = imported(
        "d.xml",
        "<Execution_Parameter_Set><Host_Parameter_Set/><Device_Parameter_Set><Page_Capacity>4096</Page_Capacity></Device_Parameter_Set></Execution_Parameter_Set>",
    );
    assert_eq!((part.account.entries.len(), part.account.count(Verdict::Unknown)), (1, 0));
}

/// FEMU's own default is no SSD model at all.
#[test]
fn what_is_no_black_box_drive_is_refused_by_name() {
    for (text, says) in [
        ("qemu -device femu,devsz_mb=4096,id=nvme0 -nographic\n", "femu_mode is absent: 2, no SSD model"),
        ("-device femu,devsz_mb=4096,femu_mode=0", "a white-box drive (open channel)"),
        ("-device femu,devsz_mb=4096,femu_mode=2", "no SSD model"),
        ("-device femu,devsz_mb=4096,femu_mode=3", "a zoned drive (ZNS)"),
        ("-device femu,devsz_mb=4096,femu_mode=9", "not a black-box drive"),
    ] {
        let error = refused("run.sh", text);
        assert!(error.to_string().contains(says) && error.spot.is_some(), "{text}: {error}");
    }
}

/// Its parser skips what stands before the declaration. Places are those of the file.
#[test]
fn mqsim_may_begin_with_blank_lines() {
    let drive = text("mqsim-drive.xml");
    let (plain, moved) = (imported("d.xml", &drive), imported("d.xml", &format!("\u{feff}\n \n{drive}")));
    assert_eq!(plain.toml(), moved.toml());
    let keys = |imported: &Imported, by: usize| -> Vec<(usize, String)> {
        imported.account.entries.iter().map(|entry| (entry.line + by, entry.key.clone())).collect()
    };
    assert_eq!(keys(&plain, 2), keys(&moved, 0));
    let error = refused("d.xml", &format!("\n\n{}", drive.replace(">8192</Page_Cap", ">8KiB</Page_Cap")));
    let line = 3 + drive[..drive.find(">8192</Page_Cap").unwrap()].matches('\n').count();
    assert_eq!(error.spot.map(|spot| spot.line()), Some(line));
}

/// What a whole file lacks is at no line of it.
#[test]
fn faults_of_the_whole_file_claim_no_line() {
    let parameters = text("page.parameters").replace("t_R = 20000;\n", "");
    let error = refused("page.parameters", &parameters);
    assert!(error.spot.is_none() && error.notes == ["in page.parameters"], "{error:?}");
}

/// Requests of 4 KiB at multiples of 8 KiB, as MQSim sends them: one page each on pages of 8 KiB.
#[test]
fn offsets_of_mqsim_are_aligned_whatever_the_size() {
    let load = flows(&[&[("Average_Request_Size", "8"), ("Address_Alignment_Unit", "16")]]);
    let (_, workload) = &with_drive(&load).workloads()[0];
    assert!(workload.contains("size = \"4096B\"\nalign = \"8192B\""), "{workload}");
}

/// One of the drives of a file; the others, and other kinds, are refused by name.
#[test]
fn nvmevirt_has_one_drive_at_a_time() {
    let source = text("ssd_config.h");
    for (from, to, says) in [
        ("#define BASE_SSD LARGE\n", "", "BASE_SSD is not defined"),
        ("BASE_SSD LARGE", "BASE_SSD SMALL", "a memory without flash"),
        ("SSD_TYPE_CONV", "SSD_TYPE_ZNS", "a zoned drive (ZNS)"),
        ("(BASE_SSD == LARGE)", "(BASE_SSD = LARGE)", "a condition that is not understood"),
        ("NAND_CHANNELS (8)", "NAND_CHANNELS (8 *)", "is not a whole number"),
    ] {
        assert!(source.contains(from), "{from}");
        let error = refused("ssd_config.h", &source.replacen(from, to, 1));
        assert!(error.to_string().contains(says), "{to}: {error}");
    }
}

/// What NVMeVirt does with parts of pages, and with several pages at once, is near, and the account says how.
#[test]
fn nvmevirt_maps_parts_of_pages_and_programs_several() {
    let source = text("ssd_config.h").replace("FLASH_PAGE_SIZE KB(16)", "FLASH_PAGE_SIZE KB(32)");
    let source = source.replace("(FLASH_PAGE_SIZE * 1)", "(FLASH_PAGE_SIZE * 3)");
    let imported = ssdlab_import::read(&[document("ssd_config.h", &source)], How::default()).expect("is read");
    let near = |key: &str, says: &str| {
        let found = imported.account.entries.iter().find(|entry| entry.key == key).expect(key);
        assert!(found.verdict == Verdict::Near && found.note.contains(says), "{found:?}");
    };
    near("FLASH_PAGE_SIZE", "maps units of 4 KiB");
    near("ONESHOT_PAGE_SIZE", "one shot programs 3 pages of a LUN");
    near("NAND_PROG_LATENCY", "of 3 pages at once there");

    // A block of whole shots, and a buffer: units fill shots as there.
    let source = source.replace("(FLASH_PAGE_SIZE * 64)", "(FLASH_PAGE_SIZE * 66)").replace("MODE_MLC)", "MODE_SLC)");
    let imported = ssdlab_import::read(&[document("ssd_config.h", &source)], How::default()).expect("is read");
    let config: ssdlab_sim::Config = imported.toml().parse().unwrap_or_else(|error| panic!("{error}"));
    config.check().unwrap_or_else(|error| panic!("{error}"));
    let units = config.units();
    assert_eq!((units.bytes, units.per_page, units.per_program()), (4096, 8, 24));
    let found = imported.account.entries.iter().find(|entry| entry.key == "ONESHOT_PAGE_SIZE").unwrap();
    assert!(found.verdict == Verdict::Same && found.note.contains("LUNs take shots in turn"), "{found:?}");
}

/// A fork of MQSim has units of the map. Its copyback is not modelled with them, and the account says so.
#[test]
fn mqsim_with_units_of_the_map() {
    let with = |unit: &str, path: &str| {
        let source = text("mqsim-drive.xml").replace("</Seed>", &format!("</Seed><Mapping_Unit>{unit}</Mapping_Unit>"));
        let source = source.replace("<Use_Copyback_for_GC>false", &format!("<Use_Copyback_for_GC>{path}"));
        ssdlab_import::read(&[document("mqsim-drive.xml", &source)], How::default())
    };
    let imported = with("4096", "true").expect("is read");
    let config: ssdlab_sim::Config = imported.toml().parse().unwrap_or_else(|error| panic!("{error}"));
    config.check().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((config.units().bytes, config.units().per_program()), (4096, 2));
    let copyback = imported.account.entries.iter().find(|entry| entry.key == "Use_Copyback_for_GC").unwrap();
    assert!(copyback.verdict == Verdict::NotModelled && copyback.note.contains("gathered"), "{copyback:?}");
    assert!(with("8192", "true").expect("is read").toml().contains("mapping_unit = \"page\""));
    let error = with("3000", "false").expect_err("3,000 bytes are no part of a page");
    assert!(error.to_string().contains("Mapping_Unit"), "{error}");
}

/// 8 MiB of 4 KiB twice, 16 outstanding, in 64 MiB; and 500 a second for 2 s from 16 MiB on, 25 % reads.
#[test]
fn jobs_of_fio_become_tenants() {
    let imported = import(&["load.fio"]);
    let workloads = imported.workloads();
    let [(first, readers), (second, log)] = &workloads[..] else { panic!("{workloads:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("readers", "log"));
    for line in [
        "requests = 4096",
        "arrivals = { closed = { depth = 16 } }",
        "read = 1.0",
        "size = \"4096B\"",
        "range = [\"0B\", \"67108864B\"]",
        "pattern = { zipf = { theta = 1.2, scrambled = true } }",
    ] {
        assert!(readers.contains(line), "{line}: {readers}");
    }
    for line in [
        "duration = \"2000000000ns\"",
        "arrivals = { fixed = { gap = \"2000000ns\" } }",
        "read = 0.25",
        "read_size = [[\"4096B\", 0.75], [\"16384B\", 0.25]]",
        "write_size = \"65536B\"",
        "range = [\"16777216B\", \"83886080B\"]",
        "pattern = \"sequential\"",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    // 16 of the closed loop, and 32 for what arrives by itself.
    assert!(imported.toml().contains("queue_depth = 48"), "{}", imported.toml());
    let counted: usize = Verdict::ALL.iter().map(|verdict| imported.account.count(*verdict)).sum();
    assert_eq!((counted, imported.account.count(Verdict::Unknown)), (16, 0), "{}", imported.account.text());
    let single = |text: &str| imported_workload(text).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        single("[a]\nrw=write\nbs=8k\nsize=1m\nioengine=psync\niodepth=9\n")
            .contains("requests = 128\narrivals = \"closed\"")
    );
    assert!(single("[a]\nrw=randrw\nsize=50%\n").contains("the end is that of --limit"));
    for (text, wanted) in [
        ("[a]\nrw=read\nrate_iops=1k,5\n", "fixed = { gap = \"976562ns\" }"),
        ("[a]\nrw=randwrite\nrate_iops=1000,500\nnumjobs=2\n", "fixed = { gap = \"1000000ns\" }"),
        ("[a]\nrw=randrw\nrwmixread=90\nrate_iops=100,300\n", "gap = \"2500000ns\" } }\nread = 0.25"),
        ("[a]\nrw=randrw\nrwmixread=90\nrate_iops=500\n", "gap = \"1000000ns\" } }\nread = 0.5"),
        ("[a]\nrw=randwrite\nrate_iops=1000,\n", "arrivals = \"closed\""),
        ("[a]\nrw=read\nthinktime=150\n", "closed = { depth = 1, think = \"150000ns\", think_after = 1 }"),
        (
            "[a]\nrw=read\nthinktime=2ms\nthinktime_blocks=8\niodepth=4\nioengine=libaio\n",
            "closed = { depth = 4, think = \"2000000ns\", think_after = 8 }",
        ),
        ("[a]\nrw=read\nthinktime=0\n", "arrivals = \"closed\""),
        ("[a]\nrw=read\nthinktime=150\nrate_iops=1k\n", "fixed = { gap = \"976562ns\" }"),
        (
            "[a]\nrw=randread\nbsrange=4k-12k\n",
            "size = [[\"4096B\", 0.333333], [\"8192B\", 0.333333], [\"12288B\", 0.333333]]",
        ),
    ] {
        let workload = single(text);
        assert!(workload.contains(wanted), "{text}: {workload}");
    }
    // Jobs that pause do so each by itself.
    let text = "[a]\nrw=read\nsize=1m\nthinktime=150\nnumjobs=3\n";
    let paused = ssdlab_import::read(&[document("a.fio", text)], How::default()).unwrap();
    let names: Vec<String> = paused.workloads().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.1", "a.2", "a.3"]);
    assert!(paused.workloads().iter().all(|(_, text)| text.contains("requests = 256\n")));
    assert!(paused.toml().contains("queue_depth = 3"), "{}", paused.toml());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import/load.fio");
    let refused = ssdlab_lab::input::find_workload(path).unwrap_err().to_string();
    assert!(refused.contains("a job file of fio"), "{refused}");
    for (text, says) in [
        ("[a]\nrw=rw\nrate_iops=1000,\n", "one of reads and writes has no limit"),
        ("[a]\nrw=rw\nrate_iops=fast\n", "not a size"),
        ("[a]\nrw=rw\nbsrange=4k-1g\n", "requests of 1073741824 bytes"),
        ("[a]\nrw=rw\nbsrange=4k-1m\n", "256 sizes"),
        ("[a]\nrw=trim\n", "trims are not imported"),
        ("[a]\nrw=read\nthinktime=soon\n", "not a time"),
        ("[a]\nrw=read\nthinktime=2h\n", "a pause longer than an hour"),
        ("[a]\nrw=read\nthinktime=1\nnumjobs=65\n", "65 jobs that pause"),
        ("[a]\nrw=read\nbs=4x\n", "not a size"),
        ("[a]\nrw=read\nbs=1000\n", "requests of 1000 bytes"),
        ("[a]\nrw=read\nbssplit=4k/80:8k/40\n", "add up to 120 %"),
        ("[a]\nrw=randread\nrandom_distribution=zipf:x\n", "no exponent"),
        ("[a]\nrw=read\noffset=10%\nsize=1g\n", "different kinds"),
        ("rw=read\n[a]\nrw=read\n", "before any job"),
        ("[global]\nrw=read\n", "no job in the file"),
    ] {
        let error = imported_workload(text).expect_err(text);
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

fn imported_workload(text: &str) -> Result<String, Error> {
    ssdlab_import::read(&[document("a.fio", text)], How::default()).map(|imported| imported.workloads()[0].1.clone())
}
