//! How fast the simulator is: the table of docs/performance.md, in CPU time of one core.
//!
//! `cargo run --release -p ssdlab-sim --example speed -- [--all] [--only PART-OF-A-NAME] [--repeat N] [--scale PER-CENT]
//! [--check off|sampled|full] [--no-fusing] [--histograms] [--watch] [--roof NS] [--set MORE-TOML]`
//!
//! `--all` includes the cases that take minutes and gigabytes: 1 TiB, ageing, growth. A device is built once a case, and copied.
//!
//! `--watch` sets an observer that adds up what it gets of each request, as a file of requests does before it is written.
//!
//! `--roof` is what a write costs, in ns, in a program that does nothing but pop and set an event and update its state, measured
//! in the same minutes; the share of it that each case reaches is printed beside it.

use std::io::Write as _;
use std::time::{Duration, Instant};

use ssdlab_sim::observe::{Completed, Observer, Watches};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};
use ssdlab_trace::{Format, Options, Reader};

/// What a case does, and what is counted in it.
enum Work {
    /// Requests in a closed loop: reads in a hundred, pages each.
    Closed(u64, u64),
    /// The same of 4 KiB each at multiples of 512 bytes, in the first third of the device.
    Parts(u64),
    /// Requests of so many pages in a closed loop, all writes, one after the other from the start of the device.
    InOrder(u64),
    /// The same without time, all writes: pages programmed are counted.
    CountOnly,
    /// Only filling the device: pages programmed are counted.
    Ageing,
    /// Lines of MSR text.
    MsrText,
}

struct Case {
    name: &'static str,
    toml: String,
    work: Work,
    requests: u64,
    unit: &'static str,
    target: f64,
    /// Too long or too large to run unless asked for by name.
    by_name: bool,
}

const EMPTY: &str = "precondition = { mode = \"none\" }\n";
const AGED: &str = "precondition = { mode = \"random\", overwrite = 1.0 }\n";

/// The device that MQSim's published files describe, as `ssdlab import` reads them, without their cache.
const MQSIM: &str = r#"
geometry = { channels = 8, chips_per_channel = 4, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 2048, pages_per_block = 256, page_size = "8KiB" }
timing = { read = "75us", program = "75us", erase = "3800us", transfer = "333MB/s", host_link = "400MB/s", suspend = "700us", suspendable = "erase" }
device = { queue_depth = 16, over_provisioning = 0.07 }
gc = { threshold = 0.05 }
ftl = { free_block = "least-erased", wear_levelling = "static", wear_spread = 100 }
precondition = { mode = "aged", valid = 0.6975, invalid = 0.251035 }
schemes = { place = "CWDP", victim = { d-choices = { d = 11 } }, collector = "serial" }
order = { die_queue = "read-first", read_burst = 0 }
"#;

fn cases() -> Vec<Case> {
    let case = |name, toml: &str, work, requests, unit, target| Case {
        name,
        toml: toml.to_string(),
        work,
        requests,
        unit,
        target,
        by_name: false,
    };
    let writes = |name, more: &str, target| {
        case(name, &format!("{AGED}{more}"), Work::Closed(0, 1), 1_000_000, "flash operations", target)
    };
    // The target is that of the case at the smaller size: cost may not grow.
    let growth = |name, more: &str, reads| Case {
        by_name: true,
        ..case(name, &format!("{AGED}{more}"), Work::Closed(reads, 1), 2_000_000, "requests", 0.0)
    };
    let deep = "device = { queue_depth = 16384 }";
    // Few planes, so that the larger device has the default's number of pages.
    let narrow = |blocks: u32| {
        format!(
            "geometry = {{ channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = {blocks} }}"
        )
    };
    let pagc = include_str!("../../../presets/pagc.toml");
    // Presets are filled by random writes, whatever they say, so that they collect.
    let preset = |name, toml, reads| Case {
        by_name: true,
        ..case(name, &merged(toml, AGED), Work::Closed(reads, 1), 1_000_000, "flash operations", 0.0)
    };
    let (tlc, nvme) = (include_str!("../../../presets/nvme-tlc.toml"), include_str!("../../../presets/nvme-2024.toml"));
    let (units, composed) =
        (include_str!("../../../presets/nvme-tlc-units.toml"), include_str!("../../../presets/composed.toml"));
    let (noc, fastgc, brr) = (
        include_str!("../../../presets/noc.toml"),
        include_str!("../../../presets/fastgc.toml"),
        include_str!("../../../presets/brr.toml"),
    );
    let tib = "geometry = { channels = 16, chips_per_channel = 8, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 8192 }\n";
    vec![
        writes("writes, external", "", 10.0),
        writes("writes, copyback", "schemes = { path = \"copyback\" }", 5.0),
        writes("writes, queued", "schemes = { collector = \"queued\" }", 5.0),
        writes("writes, pagc", "schemes = { collector = \"pagc\", path = \"copyback\" }", 5.0),
        writes("writes, preemptive", "schemes = { collector = \"preemptive\" }", 5.0),
        writes(
            "writes, idle-chip",
            "schemes = { collector = \"idle-chip\", place = \"dynamic\" }\nstaging = { slots = 128 }",
            5.0,
        ),
        Case { by_name: true, ..writes("writes, 1 TiB", tib, 4.0) },
        case("reads", "precondition = { mode = \"sequential\" }", Work::Closed(100, 1), 4_000_000, "requests", 5.0),
        case("70/30 mix of 16 KiB", AGED, Work::Closed(70, 4), 500_000, "flash operations", 6.0),
        case("writes without GC", "", Work::InOrder(1), 1_000_000, "requests", 0.0),
        case(
            "sequential, 64 KiB",
            "precondition = { mode = \"sequential\" }",
            Work::InOrder(16),
            200_000,
            "flash operations",
            0.0,
        ),
        case("count-only writes", AGED, Work::CountOnly, 4_000_000, "page programs", 40.0),
        case("MSR text", "", Work::MsrText, 2_000_000, "lines", 5.0),
        Case { by_name: true, ..case("ageing, preset pagc", pagc, Work::Ageing, 0, "page programs", 44.7) },
        preset("preset nvme-tlc, page", tlc, 0),
        preset("preset nvme-tlc, mix", tlc, 70),
        preset("preset nvme-2024, page", nvme, 0),
        Case { toml: merged(nvme, EMPTY), ..preset("preset nvme-2024, no GC", nvme, 0) },
        preset("preset nvme-tlc-units, page", units, 0),
        preset("preset composed, page", composed, 0),
        preset("preset noc, page", noc, 0),
        preset("preset fastgc, page", fastgc, 0),
        preset("preset brr, page", brr, 0),
        Case {
            by_name: true,
            ..case("imported from MQSim, read", MQSIM, Work::Closed(100, 1), 1_000_000, "requests", 0.0)
        },
        Case {
            by_name: true,
            ..case("imported from MQSim, write", MQSIM, Work::Closed(0, 1), 1_000_000, "flash operations", 0.0)
        },
        Case {
            by_name: true,
            ..case("imported from MQSim, read parts", MQSIM, Work::Parts(100), 1_000_000, "requests", 0.0)
        },
        Case {
            by_name: true,
            ..case("imported from MQSim, write parts", MQSIM, Work::Parts(0), 1_000_000, "flash operations", 0.0)
        },
        growth("growth: write, depth 32", "", 0),
        growth("growth: write, 16,384", deep, 0),
        growth("growth: read, depth 32", "", 100),
        growth("growth: read, 16,384", deep, 100),
        growth("growth: 512 blocks", &narrow(512), 0),
        growth("growth: 16,384 blocks", &narrow(16_384), 0),
    ]
}

/// A configuration with the keys of another one over it.
fn merged(base: &str, over: &str) -> String {
    fn put(base: &mut toml::Table, over: toml::Table) {
        for (key, value) in over {
            match (base.get_mut(&key), value) {
                (Some(toml::Value::Table(base)), toml::Value::Table(over)) => put(base, over),
                (_, value) => _ = base.insert(key, value),
            }
        }
    }
    let mut base: toml::Table = base.parse().expect("valid TOML");
    put(&mut base, over.parse().expect("valid TOML"));
    base.to_string()
}

/// What an observer of requests has seen.
#[derive(Default)]
struct Seen(u64);

impl Observer for Seen {
    fn watches(&self) -> Watches {
        Watches::COMPLETIONS
    }

    fn completed(&mut self, request: &Completed) {
        let [start, plane] = [request.start.map_or(0, |start| start.0), u64::from(request.plane.0)];
        let parts =
            [request.arrival.0, request.completion.0, start, plane, request.blame.waits(), request.extras.sum()];
        self.0 = parts.iter().fold(self.0, |sum, part| sum.wrapping_mul(31).wrapping_add(*part));
    }
}

impl Drop for Seen {
    /// What is not used might not be computed.
    fn drop(&mut self) {
        std::hint::black_box(self.0);
    }
}

/// CPU seconds of this thread so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_nanos(ns).as_secs_f64()
}

/// The same for all of its threads, in hundredths.
fn all_threads_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time follow the eleventh field after the name, which ends with a parenthesis.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

struct Run {
    build_s: f64,
    run_s: f64,
    counted: u64,
    write_amplification: Option<f64>,
}

/// A file of MSR lines; the reader's time and its lines are measured.
fn read_text(requests: u64) -> Run {
    let start = cpu_s();
    let path = std::env::temp_dir().join(format!("ssdlab-speed-{}.csv", std::process::id()));
    let mut rng = stream(1, "speed");
    let mut text = std::io::BufWriter::new(std::fs::File::create(&path).expect("a temporary file"));
    for i in 0..requests {
        let kind = if below(&mut rng, 3) == 0 { "Read" } else { "Write" };
        let (at, bytes) = (below(&mut rng, 1 << 24) * 4096, 4096 << below(&mut rng, 4));
        writeln!(text, "{},hm,0,{kind},{at},{bytes},{}", 128_166_372_003_061_629 + i * 977, below(&mut rng, 100_000))
            .expect("room on the disk");
    }
    drop(text);
    let built = cpu_s();
    let options = Options { format: Some(Format::Msr), ..Options::default() };
    let mut reader = Reader::open(&path, &options).expect("an MSR trace");
    let mut counted = 0;
    while reader.next().expect("good lines").is_some() {
        counted += 1;
    }
    std::fs::remove_file(&path).expect("the temporary file");
    Run { build_s: built - start, run_s: cpu_s() - built, counted, write_amplification: None }
}

/// How a device runs.
#[derive(Clone, Copy)]
struct How {
    check: Check,
    fusing: bool,
    /// Whether latencies are collected by bucket, as for a printed table.
    histograms: bool,
    /// Whether an observer sees each request.
    watch: bool,
}

/// Builds the device once, and measures each run on a copy of it.
fn runs(case: &Case, more: &str, repeat: usize, scale: u64, how: How) -> Vec<Run> {
    let requests = case.requests * scale / 100;
    if let Work::MsrText = case.work {
        return (0..repeat).map(|_| read_text(requests)).collect();
    }
    let config: Config = merged(&case.toml, more).parse().expect("valid TOML");
    let build = || {
        let start = cpu_s();
        let mut ssd = Ssd::new(&config, 1, how.check).expect("a valid configuration");
        ssd.set_fusing(how.fusing);
        if how.histograms {
            ssd.collect_histograms();
        }
        (ssd, cpu_s() - start)
    };
    if let Work::Ageing = case.work {
        // Several threads fill it: their CPU time counts, and the wall time is printed beside it.
        let aged = |_| {
            let (start, wall) = (all_threads_s(), Instant::now());
            let (ssd, _) = build();
            let run_s = all_threads_s() - start;
            println!("{:<23} {:>9.2} s of wall time", "", wall.elapsed().as_secs_f64());
            let pages = u64::from(ssd.geometry().exported);
            let counted = pages + (config.precondition.overwrite * pages as f64) as u64;
            Run { build_s: 0.0, run_s, counted, write_amplification: None }
        };
        return (0..repeat).map(aged).collect();
    }
    let (aged, build_s) = build();
    let one = |mut ssd: Ssd| {
        // A copy has no observer.
        if how.watch {
            ssd.observe(Box::<Seen>::default());
        }
        let start = cpu_s();
        let (counted, end) = match case.work {
            Work::CountOnly => count_only(&mut ssd, requests),
            _ => closed(case, &mut ssd, requests),
        };
        let write_amplification = ssd.summary(1, String::new(), String::new()).write_amplification;
        Run { build_s, run_s: end - start, counted, write_amplification }
    };
    (0..repeat).map(|_| one(aged.clone())).collect()
}

/// Page programs, and the CPU time at which they were done.
fn count_only(ssd: &mut Ssd, requests: u64) -> (u64, f64) {
    let mut rng = stream(1, "speed");
    let (size, places) = (ssd.page_bytes(), ssd.capacity_bytes() / ssd.page_bytes());
    for _ in 0..requests {
        let offset = below(&mut rng, places) * size;
        ssd.apply(Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset, bytes: size });
    }
    ssd.apply_rest();
    let end = cpu_s();
    let flash = ssd.summary(1, String::new(), String::new()).flash;
    (flash.programs.total + flash.copybacks, end)
}

/// What the case counts, and the CPU time at which it was done: before the oracle's last look at the whole map, which takes
/// longer the larger the device is, not the longer the run.
fn closed(case: &Case, ssd: &mut Ssd, requests: u64) -> (u64, f64) {
    let page = ssd.page_bytes();
    let (reads, size, step, in_order) = match case.work {
        Work::Closed(reads, pages) => (reads, pages * page, pages * page, false),
        Work::Parts(reads) => (reads, 4096, 512, false),
        Work::InOrder(pages) => (0, pages * page, pages * page, true),
        _ => unreachable!("the other kinds of work have no requests in a closed loop"),
    };
    ssd.set_closed(true);
    let mut rng = stream(1, "speed");
    let part = if let Work::Parts(_) = case.work { 3 } else { 1 };
    let places = ssd.capacity_bytes() / part / step;
    let mut submitted = 0;
    while submitted < requests {
        while ssd.accepts() && submitted < requests {
            let op = if below(&mut rng, 100) < reads { RequestOp::Read } else { RequestOp::Write };
            let place = if in_order { submitted % places } else { below(&mut rng, places) };
            ssd.submit(Request { arrival: Nanos::ZERO, op, offset: place * step, bytes: size });
            submitted += 1;
        }
        ssd.run_until_room();
    }
    let counted = if case.unit == "requests" { ssd.completed() } else { ssd.flash_operations() };
    let end = cpu_s();
    ssd.run();
    (counted, end)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut only, mut repeat, mut scale, mut roof, mut more) = (String::new(), 3, 100, None, String::new());
    let (mut how, mut all) = (How { check: Check::Sampled, fusing: true, histograms: false, watch: false }, false);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match argument.as_str() {
            "--all" => all = true,
            "--only" => only = value(),
            "--repeat" => repeat = value().parse().expect("a number of runs"),
            "--scale" => scale = value().parse().expect("per cent"),
            "--roof" => roof = Some(value().parse::<f64>().expect("ns a write")),
            "--set" => more = value(),
            "--no-fusing" => how.fusing = false,
            "--histograms" => how.histograms = true,
            "--watch" => how.watch = true,
            "--check" => {
                how.check = match value().as_str() {
                    "off" => Check::Off,
                    "full" => Check::Full,
                    _ => Check::Sampled,
                };
            }
            other => panic!("{other}: not an option; see the head of this file"),
        }
    }
    println!(
        "{:<23} {:>9} {:>8} {:>15} {:>7}  {:<17} {:>6} {:>7} {:>6}",
        "case", "M/CPU s", "target", "least..most", "CPU s", "of", "WA", "build s", "roof"
    );
    for case in cases() {
        if !case.name.contains(&only) || (case.by_name && only.is_empty() && !all) {
            continue;
        }
        let mut runs = runs(&case, &more, repeat, scale, how);
        runs.sort_by(|a, b| a.run_s.total_cmp(&b.run_s));
        let rate = |run: &Run| run.counted as f64 / run.run_s / 1e6;
        let median = &runs[runs.len() / 2];
        let share = roof.map_or(String::new(), |ns| format!("{:.0} %", rate(median) * ns / 10.0));
        println!(
            "{:<23} {:>9.2} {:>8} {:>7.2}..{:<6.2} {:>7.2}  {:<17} {:>6} {:>7.2} {:>6}",
            case.name,
            rate(median),
            if case.target > 0.0 { format!("{:.1}", case.target) } else { "-".into() },
            rate(&runs[runs.len() - 1]),
            rate(&runs[0]),
            median.run_s,
            case.unit,
            median.write_amplification.map_or("-".into(), |wa| format!("{wa:.3}")),
            median.build_s,
            share
        );
        if scale != 100 {
            println!("{:<23} {:>9} counted", "", median.counted);
        }
    }
}
