//! Cost-benefit with a power of the age: greedy at 0, the published rule at 1, and between them.

use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

/// Erases by block and pages moved after four drive writes, nine of ten to a tenth of the pages.
fn run(victim: &str) -> (Vec<u32>, u64) {
    let config: Config = format!(
        "geometry.channels = 1\ngeometry.chips_per_channel = 1\ngeometry.dies_per_chip = 1\ngeometry.planes_per_die = 1\n\
         geometry.blocks_per_plane = 128\ngeometry.pages_per_block = 64\ngeometry.page_size = \"4KiB\"\n\
         device.over_provisioning = 0.2\nprecondition.mode = \"sequential\"\nschemes.victim = {victim}\n"
    )
    .parse()
    .unwrap();
    let mut ssd = Ssd::new(&config, 1, Check::Full).unwrap();
    let pages = ssd.capacity_bytes() / 4096;
    let mut rng = stream(5, "age exponent");
    for _ in 0..4 * pages {
        let hot = below(&mut rng, 10) > 0;
        let page = if hot { below(&mut rng, pages / 10) * 10 } else { below(&mut rng, pages) };
        ssd.apply(Request { arrival: Nanos::ZERO, op: RequestOp::Write, offset: page * 4096, bytes: 4096 });
    }
    ssd.apply_rest();
    (ssd.flash().erases_by_block().to_vec(), ssd.sample().flash.programs.gc)
}

fn power(exponent: &str) -> (Vec<u32>, u64) {
    run(&format!("{{ cost-benefit = {{ age_exponent = {exponent} }} }}"))
}

#[test]
fn the_ends_are_greedy_and_the_published_rule() {
    assert_eq!(power("0"), run("\"greedy\""));
    assert_eq!(power("1"), run("\"cost-benefit\""));
    assert_ne!(power("1"), power("0"));
}

/// The published rule compares products of integers, other powers sums of logarithms: near 1 both choose alike, and cold blocks are
/// collected earlier the more the age counts.
#[test]
fn powers_between_lead_from_one_end_to_the_other() {
    let moved = |exponent: &str| power(exponent).1 as f64;
    let published = moved("1");
    for near in ["0.99", "1.01"] {
        assert!((moved(near) / published - 1.0).abs() < 0.03, "{near}: {} for {published}", moved(near));
    }
    let (greedy, half) = (moved("0"), moved("0.5"));
    assert!(half < greedy && published < greedy, "{greedy} {half} {published}");
}

#[test]
fn only_a_power_that_differs_from_one_is_written() {
    let victim = |text: &str| {
        let config: Config = format!("schemes.victim = {text}").parse().unwrap();
        toml::Value::try_from(&config.schemes.victim).unwrap()
    };
    assert_eq!(victim("\"cost-benefit\"").as_str(), Some("cost-benefit"));
    assert_eq!(victim("{ cost-benefit = { age_exponent = 1.0 } }").as_str(), Some("cost-benefit"));
    let written = victim("{ cost-benefit = { age_exponent = 0.4 } }");
    assert_eq!(written["cost-benefit"]["age_exponent"].as_float(), Some(0.4));
    for wrong in ["0.123", "-0.1", "2.01"] {
        let text = format!("schemes.victim = {{ cost-benefit = {{ age_exponent = {wrong} }} }}");
        let error = text.parse::<Config>().unwrap_err().to_string();
        assert!(error.contains("a number from 0 to 2 with at most two decimals"), "{error}");
    }
}
