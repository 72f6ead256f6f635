//! Devices that several threads fill equal those that one thread fills, to the byte.

use std::cell::Cell;
use std::ops::ControlFlow;

use proptest::prelude::*;
use ssdlab_sim::config::{Errors, PreconditionMode, Scope, WearLevelling};
use ssdlab_sim::{Check, Config, Ssd};

use crate::common::{config, worlds};
use crate::worlds::{device, plain};

/// The bytes of the filling that so many threads make.
fn filling(config: &Config, threads: u32, check: Check) -> Vec<u8> {
    let ssd = Ssd::new_by(threads, 0, config, 7, check, &mut || ControlFlow::Continue(()));
    let mut ssd = ssd.unwrap_or_else(|error| panic!("{error}")).expect("nothing stops it");
    let mut bytes = Vec::new();
    ssd.write_filling(&mut bytes).unwrap();
    bytes
}

/// Random devices, many of which several threads may fill.
#[test]
fn as_many_threads_as_you_like_leave_the_same_bytes() {
    let (tried, apart) = (Cell::new(0), Cell::new(0));
    let check = prop::sample::select(vec![Check::Off, Check::Sampled, Check::Sampled, Check::Sampled, Check::Full]);
    let victims = prop::sample::select(vec!["greedy", "greedy", "fifo", "cost-benefit", "random"]);
    let places = prop::sample::select(vec!["CWDP", "PDWC", "DPCW"]);
    let collectors = prop::sample::select(vec!["serial", "queued", "preemptive", "idle-chip"]);
    let paths = prop::sample::select(vec!["external", "copyback"]);
    let schemes = prop::option::weighted(0.95, (victims, places, collectors, paths));
    let worlds_of = (device(), schemes, check, 0f64..4.0, 0u32..3);
    proptest!(worlds(400), |((toml, schemes, check, overwrite, spare) in worlds_of)| {
        let mut config = plain(&toml);
        if let Some((victim, place, collector, path)) = schemes {
            let words = format!("victim = {victim:?}\nplace = {place:?}\ncollector = {collector:?}\npath = {path:?}");
            let drawn: Config = format!("[schemes]\n{words}").parse().unwrap();
            let order = config.schemes.order.clone();
            config.schemes = drawn.schemes;
            config.schemes.order = order;
            config.gc.scope = Scope::Plane;
            config.ecc.errors = Errors::None;
            config.ftl.wear_levelling = WearLevelling::None;
        }
        config.geometry.blocks_per_plane += 8 * spare;
        config.precondition.mode = match overwrite {
            0.0..0.5 => PreconditionMode::Sequential,
            0.5..1.0 => PreconditionMode::Aged,
            _ => PreconditionMode::Random,
        };
        config.precondition.overwrite = overwrite;
        if config.check().is_err() {
            return Ok(());
        }
        let one = filling(&config, 1, check);
        for threads in [2, 3, 5] {
            prop_assert!(filling(&config, threads, check) == one, "{threads} threads leave another state\n{toml}\n{config:?}");
        }
        tried.set(tried.get() + 1);
        let ssd = Ssd::new(&config, 7, check).unwrap();
        apart.set(apart.get() + u32::from(ssd.fills_in_parts() && ssd.view().geometry.planes > 1));
    });
    assert!(4 * apart.get() > tried.get(), "only {} of {} devices were filled in parts", apart.get(), tried.get());
}

/// The device of the default size, with tables on huge pages and a threshold that is met in the filling.
#[test]
fn a_large_device_is_filled_in_parts() {
    let config = config("precondition = { mode = \"random\", overwrite = 0.3 }\ngeometry.blocks_per_plane = 128");
    assert!(Ssd::new(&config, 7, Check::Sampled).unwrap().fills_in_parts());
    assert!(
        filling(&config, 1, Check::Sampled) == filling(&config, 4, Check::Sampled),
        "four threads leave another state"
    );
}

/// Wherever the filling is stopped, its threads end and there is no device.
#[test]
fn a_filling_in_parts_can_be_stopped() {
    let config = config("precondition = { mode = \"random\", overwrite = 2.0 }\ngeometry.blocks_per_plane = 48");
    let mut whole = 0;
    let mut go_on = || {
        whole += 1;
        ControlFlow::Continue(())
    };
    assert!(Ssd::new_by(3, 0, &config, 7, Check::Off, &mut go_on).unwrap().is_some());
    assert!(whole > 20, "{whole}");
    for allowed in (0..whole).step_by(7) {
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            if asked > allowed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        assert!(Ssd::new_by(3, 0, &config, 7, Check::Off, &mut go_on).unwrap().is_none());
        assert_eq!(asked, allowed + 1, "it stops at once");
    }
}
