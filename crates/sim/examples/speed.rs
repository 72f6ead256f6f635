//! CPU time of the core alone on the cases of docs/performance.md.
//!
//! `cargo run --release -p ssdlab-sim --example speed [PART-OF-A-CASE'S-NAME [PER-CENT-OF-ITS-REQUESTS [MORE-TOML]]]`

use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

/// CPU seconds of this process so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn closed(config: &Config, check: Check, requests: u64, reads_per_100: u64, pages: u64) -> (f64, f64, f64, f64) {
    let start = cpu_s();
    let mut ssd = Ssd::new(config, 1, check).expect("a valid configuration");
    ssd.set_closed(true);
    let built = cpu_s();
    let size = ssd.page_bytes() * pages;
    let places = ssd.capacity_bytes() / size;
    let mut rng = stream(1, "speed");
    let mut submitted = 0;
    while submitted < requests {
        while ssd.accepts() && submitted < requests {
            let op = if below(&mut rng, 100) < reads_per_100 { RequestOp::Read } else { RequestOp::Write };
            ssd.submit(Request { arrival: Nanos(0), op, offset: below(&mut rng, places) * size, bytes: size });
            submitted += 1;
        }
        ssd.run_until_room();
    }
    ssd.run();
    let ran = cpu_s() - built;
    let wa = ssd.summary(1, String::new(), String::new()).write_amplification.unwrap_or(0.0);
    (built - start, ran, ssd.flash_operations() as f64, wa)
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let scale: u64 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(100);
    let more = std::env::args().nth(3).unwrap_or_default();
    let base = "precondition = { mode = \"random\", overwrite = 1.0 }\n";
    let cases = [
        ("random writes, external", base.to_string(), 2_000_000, 0, 1),
        ("random writes, copyback", format!("{base}schemes = {{ path = \"copyback\" }}\n"), 2_000_000, 0, 1),
        ("random reads", "precondition = { mode = \"sequential\" }\n".to_string(), 10_000_000, 100, 1),
        ("70/30 mix of 16 KiB", base.to_string(), 1_000_000, 70, 4),
    ];
    println!("{:<28} {:>8} {:>9} {:>9} {:>12} {:>12}", "case", "check", "build s", "run s", "M flash op/s", "M req/s");
    for (name, toml, requests, reads, pages) in cases {
        if !name.contains(&filter) {
            continue;
        }
        let config: Config = toml::from_str(&format!("{toml}{more}")).expect("valid TOML");
        let checks = [(Check::Off, "off"), (Check::Sampled, "sampled"), (Check::Full, "full")];
        for (check, label) in checks.into_iter().take(if more.is_empty() { 3 } else { 1 }) {
            let (build, run, operations, wa) = closed(&config, check, requests * scale / 100, reads, pages);
            println!(
                "{name:<28} {label:>8} {build:>9.2} {run:>9.2} {:>12.2} {:>12.2}  WA {wa:.3}",
                operations / run / 1e6,
                (requests * scale / 100) as f64 / run / 1e6
            );
        }
    }
}
