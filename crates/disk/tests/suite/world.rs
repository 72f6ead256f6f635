//! Small random drives.

use ssdlab_disk::{Config, Disk, Seed};

/// A random generator of the test's own.
#[derive(Clone, Debug)]
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

const COLLECTORS: [&str; 10] = [
    "\"serial\"",
    "\"queued\"",
    "\"preemptive\"",
    "{ pagc = { when = \"always\" } }",
    "{ pagc = { threshold = 0.5, cache = true } }",
    "\"idle-chip\"",
    "{ idle-chip = { stream_rule = \"always\", release = \"issue\", writeback = \"queue_empty\" } }",
    "{ idle-chip = { stream_rule = \"always\", erase = \"after_writeback\" } }",
    "{ idle-chip = { stream_rule = \"always\", to = \"own_plane\" } }",
    "{ preemptive = { inner = { pagc = { when = \"always\" } } } }",
];

fn text(draw: &mut Draw) -> String {
    let collector = draw.of(&COLLECTORS);
    let raid = draw.below(6) == 0;
    let planes = 1 + draw.below(2);
    let place = if raid || collector.contains("own_plane") {
        "CWDP"
    } else {
        draw.of(&["CWDP", "PDWC", "dynamic", "round-robin"])
    };
    let cache = match draw.below(2) {
        0 => String::new(),
        _ => format!(
            "cache = {{ size = \"{}KiB\", write = \"{}\", read = \"{}\", writeback = \"{}\", order = \"{}\" }}\n",
            draw.of(&[16, 64, 256]),
            draw.of(&["back", "back", "through"]),
            draw.of(&["written", "all", "none"]),
            draw.of(&["eager", "watermark", "idle"]),
            draw.of(&["fifo", "lru", "stripe"]),
        ),
    };
    let page = draw.of(&["4KiB", "4KiB", "8KiB", "2KiB", "16KiB"]);
    let protected = draw.below(3) == 0;
    // Smaller units than pages need the cache and the capacitor.
    let unit = match draw.below(3) {
        0 if !cache.is_empty() && protected && ["8KiB", "16KiB"].contains(&page) => "4KiB",
        _ => "page",
    };
    let keep = !raid && draw.below(2) == 0;
    let filling = draw.of(&["none", "sequential", "random"]);
    let feature = draw.of(&[
        "",
        "",
        "",
        "slc = { mode = \"static\", bits = 2, blocks = 1 }\n",
        "slc = { mode = \"dynamic\", bits = 2, share = 0.4, accepts = \"hot\", window = 40 }\n",
        "fdp = { handles = 2, assign = \"temperature\", window = 60 }\n",
        "fdp = { handles = 2, assign = { lba = [\"0B..32KiB\", \"32KiB..\"] }, isolation = \"persistent\", unknown = 0 }\n",
    ]);
    let more = if raid {
        format!("raid = {{ layout = \"{}\", group = 2 }}\n", draw.of(&["traditional", "lci"]))
    } else if draw.below(2) == 0 {
        "staging = { slots = 8 }\n".to_string()
    } else {
        String::new()
    };
    format!(
        "geometry = {{ channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = 12, pages_per_block = {}, page_size = \"{page}\" }}
timing = {{ read = \"30us\", program = \"600us\", erase = \"3ms\", transfer = \"10ns/B\" }}
device = {{ over_provisioning = {}, memory = \"50ns\", mapping_unit = \"{unit}\", power_loss_protection = {protected}, keep_overwritten = {keep}, write_ack = \"{}\", partial_write = \"{}\", queue_depth = {} }}
gc = {{ threshold = \"8 pages\", reserve = 4 }}
precondition.mode = \"{filling}\"
{cache}{more}{feature}schemes = {{ place = \"{place}\", collector = {collector}, path = \"{}\", victim = \"{}\" }}
",
        4 + draw.below(5),
        draw.of(&["0.5", "0.55", "0.6"]),
        draw.of(&["after_program", "after_program", "after_transfer"]),
        draw.of(&["read-modify-write", "read-modify-write", "whole-page"]),
        1 + draw.below(24),
        draw.of(&["external", "external", "copyback"]),
        draw.of(&["greedy", "fifo", "random"]),
    )
}

/// A drive of a seed that its rules allow, and its text. `refused` counts those that they do not.
pub fn disk(draw: &mut Draw, refused: &mut u64) -> (String, Config, Disk) {
    loop {
        let text = text(draw);
        let config: Config = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        match Disk::new(config.clone(), Seed(draw.below(1000))) {
            Ok(disk) => return (text, config, disk),
            Err(error) => {
                if std::env::var("SSDLAB_SHOW").is_ok() {
                    println!("{error}");
                }
                *refused += 1;
            }
        }
    }
}
