//! Warm-up: the counts of two parts of a run add up to those of the whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Dut, config, summary};
use ssdlab_sim::Config;
use ssdlab_sim::random::{below, stream};
use toml::Value;

/// Devices that together have every section of a summary.
fn devices() -> Vec<(&'static str, Config)> {
    let common = "timing = { read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }\n";
    let small = "geometry = { channels = 4, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 12, pages_per_block = 8 }\n";
    let two_planes = "geometry = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 16, pages_per_block = 8 }\n";
    let parity = "raid = { layout = \"lci\", group = 4 }\ndevice.over_provisioning = 0.4\n";
    let model = "ecc = { errors = \"model\", correctable = 1, program_errors = [[0, 300]], read_disturb = 40000 }\n";
    let [plain, random] = ["device.over_provisioning = 0.4\n", "precondition.mode = \"random\"\n"];
    [
        ("plain", vec![small, plain, random, "order.chip_queue = 2\n"]),
        ("parity", vec![small, parity, random, "schemes = { order = \"piq\", route = \"brr\" }\n"]),
        ("parity, empty", vec![small, parity, "raid.encode_timeout = \"1ms\"\n"]),
        ("parity, errors", vec![small, parity, random, model]),
        ("parity, failed", vec![small, parity, random, "faults.chip_fails = [{ chip = 1, at = \"1ms\" }]\n"]),
        (
            "buffer",
            vec![
                small,
                plain,
                random,
                "staging.slots = 8\nschemes = { place = \"dynamic\", collector = { idle-chip = { stream_rule = \"always\" } } }\n",
            ],
        ),
        ("copies", vec![small, plain, random, "schemes = { route = { dpr = { k = 1, replica_pages = 0.05 } } }\n"]),
        ("copyback", vec![small, "device.over_provisioning = 0.5\n", random, model, "schemes = { path = \"fastgc\" }\nwear.copyback_thresholds = 2\n"]),
        ("interconnect", vec![small, plain, random, "noc = { model = \"array\", columns = 4, rows = 2 }\n"]),
        (
            "joint",
            vec![two_planes, plain, random, "schemes = { path = \"copyback\", collector = { pagc = { when = \"always\" } } }\n"],
        ),
    ]
    .into_iter()
    .map(|(name, parts)| (name, merged(&[&[common], &parts[..]].concat())))
    .collect()
}

/// Parts of a configuration, which may name one section each.
fn merged(parts: &[&str]) -> Config {
    let mut all = toml::Table::new();
    for part in parts {
        for (section, keys) in part.parse::<toml::Table>().unwrap() {
            let section = all.entry(section).or_insert(Value::Table(toml::Table::new())).as_table_mut().unwrap();
            section.extend(keys.as_table().unwrap().clone());
        }
    }
    config(&all.to_string())
}

/// Summary of a run of the requests of `parts`; between two parts the device becomes idle.
fn told(config: &Config, warmup: u64, parts: &[u64]) -> Value {
    let mut config = config.clone();
    config.run.warmup = (warmup > 0).then(|| format!("{warmup} requests").parse().unwrap());
    let mut dut = Dut::new(&config);
    let pages = dut.ssd.capacity_bytes() / 4096;
    for part in parts {
        let (mut rng, mut at) = (stream(*part, "requests"), part * 100_000_000_000);
        for _ in 0..400 {
            at += below(&mut rng, 300_000);
            let (first, size) = (below(&mut rng, pages - 3), 1 + below(&mut rng, 3));
            // Two thirds of all requests go to an eighth of the pages, and a few are partial.
            let first = if below(&mut rng, 3) > 0 { first / 8 } else { first } * 4096;
            match below(&mut rng, 20) {
                0..9 => dut.read(at, first, size * 4096),
                9..18 => dut.write(at, first, size * 4096),
                18 => dut.write(at, first + 512, 1024),
                _ => dut.trim(at, first, size * 4096),
            }
        }
    }
    dut.completed();
    let mut told = Value::try_from(summary(&dut.ssd)).unwrap();
    let table = told.as_table_mut().unwrap();
    ["config", "wear", "simulated_ns", "seed"].iter().for_each(|key| _ = table.remove(*key));
    told
}

/// Every count by its path. What is not a sum over time is left out: extremes, percentiles, quotients, settings, states, and what ends with the last completion.
fn counts(value: &Value, path: &str, into: &mut Vec<(String, i64)>) {
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| counts(value, &format!("{path}.{key}"), into)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, value)| counts(value, &format!("{path}.{i}"), into));
        }
        Value::Integer(count) => {
            let key = path.rsplit('.').next().unwrap();
            let percentile = key.starts_with('p') && key[1..].starts_with(|c: char| c.is_ascii_digit());
            let states = ["free_pages_start", "free_pages_end", "slots", "pe_cycles", "metadata_pages_per_block"];
            let of_one_moment = ["min", "max", "longest", "largest_count", "warmup"].contains(&key)
                || key.ends_with("_max")
                || key.starts_with("drain_")
                || key.starts_with("held_by_")
                || path == ".dpr.pages"
                || path == ".failures.unprotected_ns"
                || path.starts_with(".failures.chips");
            if !percentile && !of_one_moment && !states.contains(&key) {
                into.push((path.to_string(), *count));
            }
        }
        _ => {}
    }
}

#[test]
fn what_two_parts_of_a_run_count_is_what_the_whole_counts() {
    let (mut wrong, mut never, mut ever) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (name, config) in devices() {
        let of = |warmup, parts: &[u64]| {
            let mut all = Vec::new();
            counts(&told(&config, warmup, parts), "", &mut all);
            all.into_iter().collect::<BTreeMap<String, i64>>()
        };
        let (first, second, whole) = (of(0, &[1]), of(400, &[1, 2]), of(0, &[1, 2]));
        for (path, count) in &whole {
            let [a, b] = [&first, &second].map(|part| part.get(path).copied().unwrap_or(0));
            if a + b != *count {
                wrong.push(format!("{name}: {path} is {a} and {b}, and {count} in all"));
            }
            if a > 0 && b > 0 {
                ever.insert(path.clone())
            } else {
                never.insert(path.clone())
            };
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Nearly every count is above 0 in both parts of some device.
    let silent: Vec<&String> = never.difference(&ever).collect();
    assert!(ever.len() > 150, "{} {silent:?}", ever.len());
}
