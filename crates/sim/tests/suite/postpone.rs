//! Collections and write-backs that are put off: nothing is lost, nothing waits forever, and shortcuts do not show.

use proptest::prelude::*;
use ssdlab_sim::config::GcTime;
use ssdlab_sim::units::{Nanos, PlaneId};
use ssdlab_sim::{Check, Config, Postponement, PutOff, Ssd};

use crate::worlds::{device, requests, submit_all};

fn what() -> impl Strategy<Value = Vec<PutOff>> {
    let one = prop_oneof![
        Just(PutOff::Gc),
        (0u32..2).prop_map(|plane| PutOff::Plane(PlaneId(plane))),
        (0u64..300).prop_map(PutOff::Job),
        Just(PutOff::WriteBacks),
    ];
    prop::collection::vec(one, 1..3)
}

fn run(
    config: &Config,
    asks: &[(u64, u8, u32, u32)],
    what: &[PutOff],
    until: Nanos,
    fusing: bool,
) -> (Ssd, Postponement) {
    let mut ssd = Ssd::new(config, 7, Check::Full).unwrap_or_else(|error| panic!("{error}"));
    ssd.set_fusing(fusing);
    submit_all(&mut ssd, asks);
    ssd.postpone(what.to_vec());
    ssd.run_before(until);
    let put_off = ssd.stop_postponing();
    assert_eq!(ssd.stop_postponing(), Postponement::default());
    ssd.run();
    (ssd, put_off)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_put_off_ends_well(toml in device(), asks in requests(), what in what(), until in 0u64..120_000_000,
        cut in prop::option::of(0u64..80_000_000),
    ) {
        let mut config: Config = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
        if let Some(cut) = cut {
            config.faults.power_cut = vec![Nanos(cut)];
            config.gc.reserve = Some(config.reserve() + 1);
        }
        if config.check().is_err() || config.gc.time != GcTime::Real {
            return Ok(());
        }
        let (fused, put_off) = run(&config, &asks, &what, Nanos(until), true);
        let (apart, same) = run(&config, &asks, &what, Nanos(until), false);
        prop_assert_eq!(put_off, same);
        let told = |ssd: &Ssd| {
            let mut sample = ssd.sample();
            // Known only of a device that is observed from the start.
            sample.dies.clear();
            format!("{:?} {sample:?}", ssd.summary(7, String::new(), String::new()))
        };
        prop_assert_eq!(told(&fused), told(&apart));
        prop_assert!(put_off.forced <= put_off.postponed + asks.len() as u64 * 8);
        // A collection that is named by its number is one.
        let by_number = |what: &PutOff| matches!(what, PutOff::Job(_));
        if what.iter().all(|what| by_number(what) || *what == PutOff::WriteBacks) {
            let named = what.iter().filter(|what| by_number(what)).count() as u64;
            prop_assert!(put_off.postponed <= named, "{:?}", put_off);
        }
    }
}
