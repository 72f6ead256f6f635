//! Results of a version never change: other results need a new version.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Runs, each with a name: every preset on a smaller array, and schemes and features that no preset has.
const RUNS: [(&str, &str); 32] = [
    ("default", "--preset default"),
    ("brr", "--preset brr"),
    ("composed", "--preset composed"),
    ("interleaved", "--preset interleaved"),
    ("round robin", "--set schemes.place=round-robin"),
    (
        "idle-chip, round robin, segments",
        "--preset idle-chip --set schemes.place=round-robin --set schemes.collector={idle-chip={stream_rule=\"always\",segments=\"one_by_one\"}} --set device.partial_read=whole-page",
    ),
    ("fastgc", "--preset fastgc"),
    ("idle-chip", "--preset idle-chip"),
    ("noc", "--preset noc"),
    ("nvme-tlc", "--preset nvme-tlc"),
    ("nvme-2024", "--preset nvme-2024"),
    ("nvme-tlc-units", "--preset nvme-tlc-units"),
    ("nvme-2024-units", "--preset nvme-2024-units"),
    ("pagc", "--preset pagc"),
    ("queued", "--set schemes.collector=queued"),
    ("preemptive, suspended", "--set schemes.collector=preemptive --set timing.suspendable=program+erase"),
    ("copyback, suspended", "--set schemes.path=copyback --set timing.suspendable=program+erase"),
    ("multi-plane, register", "--set device.multi_plane=true --set timing.cache_register=true"),
    (
        "shadow order, varied",
        "--set timing.read=[\"40us\",\"60us\"] --set geometry.page_order=shadow --set timing.variation={block=0.1,layer=0.1}",
    ),
    ("dynamic", "--set schemes.place=dynamic --set gc.destination=any"),
    ("dpr", "--set schemes.route=dpr"),
    ("partial writes", "--set geometry.page_size=16KiB"),
    ("super pages", "--set device.mapping_unit=super-page"),
    (
        "a failed chip",
        "--set raid.layout=traditional --set raid.group=2 --set faults.chip_fails=[{chip=3,at=\"100ms\"}]",
    ),
    ("a power cut", "--set faults.power_cut=[\"100ms\"]"),
    (
        "write cache, stripes",
        "--set cache.size=1MiB --set cache.time=2us --set cache.writeback=watermark --set cache.order=stripe --set device.multi_plane=true",
    ),
    (
        "weighted queues",
        "--set nvme={arbitration=\"wrr\",queues=[{name=\"r\",class=\"high\",weight=3,match={op=\"read\"}},{name=\"w\",match=\"rest\"}]}",
    ),
    ("client-tlc", "--preset client-tlc"),
    (
        "static SLC, forced folds",
        "--set slc={mode=\"static\",bits=4,full=\"fold\",victim=\"greedy\",path=\"copyback\",reads=2} --set schemes.collector=queued --set device.over_provisioning=0.3",
    ),
    ("reads first", "--set order.die_queue=read-first --set order.read_burst=4"),
    ("zero-cost GC", "--set gc.time=none --set schemes.victim=d-choices"),
    ("count-only", "--count-only"),
];

fn digest(arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
        .args(["run", "--workload", "quickstart", "--limit", "4000", "--quiet", "--json", "-"])
        .args(["--set", "precondition.mode=random", "--set", "geometry.blocks_per_plane=32"])
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let version = format!("  \"version\": \"{}\",\n", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "a summary says which version made it");
    blake3::hash(text.replace(&version, "").as_bytes()).to_hex().to_string()
}

/// `goldens.txt`: the version, then one line per run. If results change, the version has to change too.
#[test]
fn results_change_only_with_the_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/goldens.txt");
    let mut ours = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for (name, arguments) in RUNS {
        let _ = writeln!(ours, "{} {name}", digest(arguments));
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let version = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    if ours == kept {
        return;
    }
    let changed: Vec<_> = ours.lines().skip(1).filter(|line| !kept.contains(line)).collect();
    assert!(
        version(&kept) != version(&ours) || changed.is_empty(),
        "results differ from those of version {} in:\n{}\nIf that is meant, count the version up in Cargo.toml.",
        version(&kept),
        changed.join("\n")
    );
    if std::env::var_os("SSDLAB_GOLDENS").is_some_and(|what| what == "write") {
        return std::fs::write(&path, ours).unwrap();
    }
    panic!("goldens.txt is of another version: SSDLAB_GOLDENS=write cargo test -p ssdlab --test suite goldens::");
}
