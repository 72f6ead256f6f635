//! Instructions per operation, which are independent of the machine's load. Needs valgrind.

use std::path::PathBuf;
use std::process::Command;

use crate::common::absent;

/// Instructions of the benchmark `speed` for a share of a case with additional configuration, including filling a small device.
fn instructions(case: &str, more: &str, options: &[&str], per_cent: u32) -> Option<(u64, u64)> {
    let tests = std::env::current_exe().unwrap();
    let speed: PathBuf = tests.parent()?.parent()?.join("examples").join("speed");
    assert!(speed.exists(), "build {} with `cargo build -p ssdlab-sim --examples`", speed.display());
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(speed)
        .args([
            "--only",
            case,
            "--repeat",
            "1",
            "--set",
            &format!("geometry.blocks_per_plane = 32\ndevice.over_provisioning = 0.25\n{more}"),
        ])
        .args(["--scale", &per_cent.to_string()])
        .args(options)
        .output()
        .ok()?;
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let number = |line: &str| line.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok();
    let counted = told.lines().find(|line| line.trim_end().ends_with(" counted")).and_then(number);
    let refs = told.lines().find_map(|line| line.split_once("refs:")).and_then(|(_, count)| number(count));
    assert!(counted.is_some() && refs.is_some(), "valgrind and the benchmark say what they counted:\n{told}");
    Some((refs?, counted?))
}

/// Counts cases, each with additional configuration and options, against their limits.
fn count(cases: &[(&str, &str, &[&str], u64)]) {
    let mut over = Vec::new();
    for (case, more, options, most) in cases {
        let Some((once, few)) = instructions(case, more, options, 1) else {
            absent("valgrind is not here: instructions are not counted");
            return;
        };
        let (twice, many) = instructions(case, more, options, 2).expect("valgrind was here");
        let each = (twice - once) / (many - few);
        let more = more.replace('\n', ", ");
        let parts = [case, more.as_str()].into_iter().chain(options.iter().copied());
        let named: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let line = format!("{}: {each} instructions a counted operation, at most {most}", named.join(", "));
        eprintln!("{line}");
        if each > *most {
            over.push(line);
        }
    }
    assert!(over.is_empty(), "more instructions than before:\n{}", over.join("\n"));
}

/// The difference of two runs removes all work that is done once. Limits are at most 10 % above the count, and 3 % with
/// additional configuration. Counts are those of the test profile, whose arithmetic is checked.
#[test]
fn an_operation_takes_no_more_instructions_than_it_did() {
    count(&[
        ("writes, external", "", &[], 547),
        ("writes, copyback", "", &[], 749),
        ("writes, queued", "", &[], 1_640),
        ("writes, pagc", "", &[], 1_032),
        ("writes, preemptive", "", &[], 1_116),
        ("writes, idle-chip", "", &[], 1_322),
        ("reads", "", &[], 1_333),
        ("count-only writes", "", &[], 205),
        ("writes, external", "device.queue_depth = 2048", &[], 650),
        ("writes, external", "raid = { layout = \"lci\", group = 4 }", &[], 1_370),
        ("writes, external", "noc = { model = \"formula\" }", &[], 5_440),
        ("reads", "ecc = { errors = \"model\" }", &[], 3_650),
    ]);
}

/// Fewer and smaller blocks, so that ten thousand requests are enough for GC to run all the time.
const FEW_BLOCKS: &str = "geometry.channels = 2\ngeometry.pages_per_block = 96";

/// Drives of today, and watched runs, have limits of their own, because what is fast on the default drive need not be fast on
/// these.
#[test]
fn modern_drives_and_watched_runs_take_no_more_instructions_than_they_did() {
    let cached = format!("{FEW_BLOCKS}\ncache.size = \"4MiB\"");
    count(&[
        ("preset nvme-tlc, page", FEW_BLOCKS, &[], 3_230),
        ("preset nvme-tlc, mix", FEW_BLOCKS, &[], 5_600),
        ("preset nvme-2024, page", &cached, &[], 4_310),
        ("preset composed, page", FEW_BLOCKS, &[], 5_490),
        ("preset noc, page", FEW_BLOCKS, &[], 6_330),
        ("preset fastgc, page", FEW_BLOCKS, &[], 3_140),
        ("writes, external", "", &["--watch"], 630),
        ("reads", "", &["--watch"], 1_771),
    ]);
}

/// What a printed table adds to a request that waits for nothing: reads one after the other.
#[test]
fn the_causes_of_the_tail_take_few_instructions() {
    let each = |options: &[&str]| {
        let (once, few) = instructions("reads", "device.queue_depth = 1", options, 1)?;
        let (twice, many) = instructions("reads", "device.queue_depth = 1", options, 2)?;
        Some((twice - once) as f64 / (many - few) as f64)
    };
    let (Some(without), Some(with)) = (each(&[]), each(&["--histograms"])) else {
        absent("valgrind is not here: instructions are not counted");
        return;
    };
    eprintln!("{:.1} instructions more for a read that waits for nothing", with - without);
    assert!(with - without <= 20.0, "{with} with, {without} without");
}
