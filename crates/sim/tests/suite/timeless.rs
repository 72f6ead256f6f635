//! Requests in no time: `apply` delays them and serves writes together, and leaves what `apply_now` leaves one by one.

use std::cell::Cell;

use proptest::prelude::*;
use ssdlab_sim::config::{PreconditionMode, Scope};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{BlockId, Nanos, PlaneId, Ppn};
use ssdlab_sim::{Check, Config, Extent, Marks, Request, RequestOp, Ssd};

use crate::common::{summary, worlds};
use crate::worlds::{device, plain};

/// A request, and its extents if it is scattered.
type Scattered = (Request, Vec<Extent>);

/// Requests of which one in so many is no write of one page.
fn requests(seed: u64, count: usize, one_in: u64, page: u64, pages: u64) -> Vec<Scattered> {
    let mut rng = stream(seed, "timeless");
    let request = |op, offset, bytes| Request { arrival: Nanos(0), op, offset, bytes };
    (0..count)
        .map(|_| {
            let first = below(&mut rng, pages);
            let at = first * page;
            let plain = request(RequestOp::Write, at, page);
            if below(&mut rng, one_in) > 0 {
                return (plain, Vec::new());
            }
            let most = (pages - first).min(5);
            let part = below(&mut rng, page / 512) * 512;
            let bytes = 512 * (1 + below(&mut rng, (pages * page - at - part).min(3 * page) / 512));
            let other = below(&mut rng, pages) * page;
            match below(&mut rng, 6) {
                0 => (request(RequestOp::Read, at, page * (1 + below(&mut rng, most))), Vec::new()),
                1 => (request(RequestOp::Trim, at, page * (1 + below(&mut rng, most))), Vec::new()),
                2 => (request(RequestOp::Write, at, page * (1 + below(&mut rng, most))), Vec::new()),
                3 => (request(RequestOp::Write, at + part, bytes), Vec::new()),
                4 => (request(RequestOp::Write, at + part, page - part), Vec::new()),
                _ => {
                    let extents = [at, other].map(|offset| Extent { offset, bytes: page });
                    (request(RequestOp::Write, at, 2 * page), extents.to_vec())
                }
            }
        })
        .collect()
}

/// Everything that requests in no time leave.
fn state(mut ssd: Ssd) -> String {
    ssd.run();
    let view = ssd.view();
    let (geometry, flash) = (view.geometry, view.flash);
    let blocks = geometry.planes * geometry.blocks_per_plane;
    let pages: Vec<u32> = (0..blocks * geometry.pages_per_block).map(|page| flash.lpn_of(Ppn(page)).0).collect();
    let closed: Vec<(bool, u32)> =
        (0..blocks).map(BlockId).map(|block| (flash.is_closed(block), flash.closed_at(block))).collect();
    let planes: Vec<(u32, u32)> =
        (0..geometry.planes).map(PlaneId).map(|plane| (flash.free_pages(plane), flash.closings(plane))).collect();
    let erases = flash.erases_by_block().to_vec();
    format!("{:?}\n{pages:?}\n{closed:?}\n{planes:?}\n{erases:?}\n{}", summary(&ssd), flash.programmed())
}

/// Random devices and requests, with rests applied in between as at the end of a window of a series.
#[test]
fn writes_served_together_leave_what_writes_one_by_one_leave() {
    let tried = Cell::new(0);
    let check = prop::sample::select(vec![Check::Off, Check::Sampled, Check::Full]);
    let one_in = prop::sample::select(vec![2u64, 20, 100, 2_000]);
    let rest_in = prop::sample::select(vec![3usize, 50, 1_000, 10_000]);
    let victims = prop::option::weighted(0.7, prop::sample::select(vec!["greedy", "fifo", "cost-benefit", "random"]));
    let draws = (device(), victims, check, 0u64..1_000, one_in, rest_in, 1usize..3_000, any::<bool>());
    proptest!(worlds(100), |((toml, victim, check, seed, one_in, rest_in, count, more) in draws)| {
        // With and without parity, errors and other features that writes served together must not meet.
        let mut config: Config = if more { toml.parse().unwrap() } else { plain(&toml) };
        if let Some(victim) = victim {
            let drawn: Config = format!("schemes.victim = {victim:?}").parse().unwrap();
            config.schemes = drawn.schemes;
            config.gc.scope = Scope::Plane;
        }
        config.precondition.mode = if seed % 3 == 0 { PreconditionMode::None } else { PreconditionMode::Random };
        if config.check().is_err() || config.check_mode(true).is_err() {
            return Ok(());
        }
        let Ok(mut together) = Ssd::new(&config, seed, check) else { return Ok(()) };
        let mut alone = Ssd::new(&config, seed, check).unwrap();
        let (page, pages) = (together.page_bytes(), together.capacity_bytes() / together.page_bytes());
        for (i, (request, extents)) in requests(seed, count, one_in, page, pages).into_iter().enumerate() {
            if extents.is_empty() {
                together.apply(request);
                alone.apply_now(request);
            } else {
                together.apply_marked(request, Marks::default(), extents.iter().copied());
                alone.apply_marked(request, Marks::default(), extents.into_iter());
                alone.apply_rest();
            }
            if (i + 1) % rest_in == 0 {
                together.apply_rest();
                prop_assert_eq!(format!("{:?}", summary(&together)), format!("{:?}", summary(&alone)), "{}", toml);
            }
        }
        together.apply_rest();
        prop_assert!(state(together) == state(alone), "another state\n{toml}\n{config:?}");
        tried.set(tried.get() + 1);
    });
    let usual = worlds(100).cases;
    assert!(2 * tried.get() > usual, "only {} of {usual} devices were tried", tried.get());
}
