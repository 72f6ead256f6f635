//! The same configuration, requests and seed give the same results, independent of checks, copies and other simulations.

use crate::common::{Log, config, summary};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

/// Devices that together use every policy with random draws, every order and every collector.
fn devices() -> Vec<Config> {
    let knobs = [
        "schemes = { victim = \"random+\", collector = \"serial\", path = \"external\" }",
        "schemes = { victim = { d-choices = { d = 3 } }, collector = \"queued\", path = \"copyback\", place = \"PDWC\" }
        timing = { cache_register = true, command = \"200ns\" }
        device = { multi_plane = true, over_provisioning = 0.35 }",
        "schemes = { victim = \"random\", place = \"dynamic\", order = \"sync-fifo\" }
        gc = { destination = \"any\", threshold = \"20 pages\" }
        device = { exclusion = \"chip\", over_provisioning = 0.35 }",
        "schemes = { victim = \"cost-benefit\", place = \"dynamic\" }
        timing = { suspendable = \"program+erase\", suspend = \"5us\", resume = \"3us\", host_link = \"0.5ns/B\" }
        ftl = { write_points = \"shared\", wear_levelling = \"static\", wear_spread = 3, free_block = \"least-erased\" }",
        "gc = { time = \"none\", threshold = \"20 pages\" }
        order.chip_queue = 2
        run.warmup = \"500 requests\"",
    ];
    let toml = |knobs: &str| {
        let spare = if knobs.contains("over_provisioning") { "" } else { "device.over_provisioning = 0.35\n" };
        let threshold = if knobs.contains("threshold") { "" } else { "gc.threshold = \"20 pages\"\n" };
        format!(
            "precondition = {{ mode = \"random\", overwrite = 0.5 }}
            geometry = {{ channels = 2, chips_per_channel = 2, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = 8 }}
            {spare}{threshold}{knobs}"
        )
    };
    knobs.iter().map(|knobs| config(&toml(knobs))).collect()
}

/// Reads, writes and trims of the whole device, with ties and bursts.
fn requests(capacity: u64, count: u64) -> Vec<Request> {
    let mut dice = 11u64;
    let mut below = |bound: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % bound
    };
    let mut arrival = 0;
    let request = |_| {
        arrival += if below(3) == 0 { 0 } else { below(120_000) };
        let bytes = 512 * (1 + below(40));
        let offset = 512 * below((capacity - bytes) / 512);
        let op = [RequestOp::Read, RequestOp::Write, RequestOp::Write, RequestOp::Trim][below(40) as usize % 13 % 4];
        Request { arrival: Nanos(arrival), op, offset, bytes }
    };
    (0..count).map(request).collect()
}

/// A device with a log of what completes.
fn watched(mut ssd: Ssd) -> (Ssd, Log) {
    let log = Log::default();
    ssd.observe(Box::new(log.clone()));
    (ssd, log)
}

fn device(config: &Config, seed: u64, check: Check) -> (Ssd, Log) {
    watched(Ssd::new(config, seed, check).unwrap_or_else(|error| panic!("{error}")))
}

/// All results of a run: its summary, and every completion in order.
fn told(ssd: &Ssd, log: &Log) -> String {
    format!("{:?}\n{:?}", summary(ssd), log.0.lock().unwrap())
}

fn whole_run(config: &Config, seed: u64, check: Check) -> String {
    let (mut ssd, log) = device(config, seed, check);
    requests(ssd.capacity_bytes(), 3_000).into_iter().for_each(|request| ssd.submit(request));
    ssd.run();
    told(&ssd, &log)
}

#[test]
fn two_runs_tell_the_same_whatever_is_checked() {
    for config in devices() {
        let full = whole_run(&config, 5, Check::Full);
        for check in [Check::Full, Check::Sampled, Check::Off] {
            assert!(whole_run(&config, 5, check) == full, "{check:?}: {config:?}");
        }
        assert!(whole_run(&config, 6, Check::Off) != full, "the seed matters: {config:?}");
    }
}

#[test]
fn it_does_not_matter_how_a_run_is_cut_into_pieces() {
    for config in devices() {
        let whole = whole_run(&config, 5, Check::Full);
        let (mut ssd, log) = device(&config, 5, Check::Full);
        // Each request is submitted when its time has come, with stops in between.
        for request in requests(ssd.capacity_bytes(), 3_000) {
            if request.arrival > ssd.now() {
                let middle = ssd.now().0.midpoint(request.arrival.0 - 1);
                ssd.run_until(Nanos(middle));
                ssd.run_until(Nanos(request.arrival.0 - 1));
            }
            ssd.submit(request);
        }
        ssd.run();
        assert!(told(&ssd, &log) == whole, "{config:?}");
    }
}

#[test]
fn a_copy_taken_in_the_middle_goes_on_like_the_original() {
    for config in devices() {
        let (mut original, _) = device(&config, 5, Check::Full);
        let all = requests(original.capacity_bytes(), 3_000);
        let middle = all[1_500].arrival;
        all.into_iter().for_each(|request| original.submit(request));
        original.run_until(middle);
        let copies = [original.clone(), original.clone()];
        let (mut original, log) = watched(original);
        original.run();
        let end = told(&original, &log);
        for copy in copies {
            let (mut copy, log) = watched(copy);
            copy.run();
            assert!(told(&copy, &log) == end, "{config:?}");
        }
        assert!(whole_run(&config, 5, Check::Full).starts_with(&format!("{:?}\n", summary(&original))));
    }
}

#[test]
fn devices_in_one_process_do_not_influence_each_other() {
    let configs = devices();
    let alone: Vec<String> = configs.iter().map(|config| whole_run(config, 5, Check::Sampled)).collect();
    let mut together: Vec<(Ssd, Log)> = configs.iter().map(|config| device(config, 5, Check::Sampled)).collect();
    let capacities: Vec<u64> = together.iter().map(|(ssd, _)| ssd.capacity_bytes()).collect();
    for ((ssd, _), capacity) in together.iter_mut().zip(capacities) {
        requests(capacity, 3_000).into_iter().for_each(|request| ssd.submit(request));
    }
    for slice in 1..500 {
        together.iter_mut().for_each(|(ssd, _)| ssd.run_until(Nanos(slice * 1_000_003)));
    }
    for ((ssd, log), alone) in together.iter_mut().zip(alone) {
        ssd.run();
        assert!(told(ssd, log) == alone);
    }
}
