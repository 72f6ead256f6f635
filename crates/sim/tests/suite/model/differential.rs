//! Random small devices and requests: the engine and the model, side by side.

use proptest::prelude::*;

use super::world::{Exclusion, Suspendable, World};
use super::{Outcome, simulate};
use crate::common::{Dut, config};
use ssdlab_sim::units::{BlockId, Lpn, Nanos};
use ssdlab_sim::{Request, RequestOp};

/// What the engine does with the requests, and the pages that it holds on flash in the end.
fn run_engine(world: &World, requests: &[Request]) -> (Outcome, Vec<bool>) {
    let config = config(&world.toml());
    config.check().unwrap_or_else(|error| panic!("{error}\n{}", world.toml()));
    let mut dut = Dut::new(&config);
    assert_eq!(dut.ssd.capacity_bytes(), world.logical_pages() * world.page_size);
    for request in requests {
        match request.op {
            RequestOp::Read => dut.read(request.arrival.0, request.offset, request.bytes),
            RequestOp::Write => dut.write(request.arrival.0, request.offset, request.bytes),
            RequestOp::Trim => dut.trim(request.arrival.0, request.offset, request.bytes),
        }
    }
    let served = dut.completed().iter().map(|c| (c.request as usize, (c.start.0, c.completion.0))).collect();
    let (ssd, summary) = (&dut.ssd, crate::common::summary(&dut.ssd));
    let blocks = (0..world.all_planes() * world.blocks).map(|block| {
        let block = BlockId(block as u32);
        (ssd.flash().erases(block), ssd.flash().written(block), ssd.flash().valid(block))
    });
    let outcome = Outcome {
        served,
        host_reads: summary.flash.reads.host,
        host_programs: summary.flash.programs.host,
        gc_reads: summary.flash.reads.gc,
        gc_programs: summary.flash.programs.gc,
        erases: summary.flash.erases,
        blocks: blocks.collect(),
        ..Outcome::default()
    };
    let stored = (0..world.logical_pages()).map(|lpn| ssd.version_of(Lpn(lpn as u32)).is_some());
    (outcome, stored.collect())
}

/// The trace as it would stand in a file, with what either did.
fn table(requests: &[Request], model: &Outcome, engine: &Outcome) -> String {
    let rows = requests.iter().enumerate().map(|(index, request)| {
        let op = ["r", "w", "t"][request.op as usize];
        let mark = if model.served.get(&index) == engine.served.get(&index) { " " } else { "!" };
        let times = format!("{:?} {:?}", model.served.get(&index), engine.served.get(&index));
        format!("{mark} {} {op} {} {} | {times}\n", request.arrival.0, request.offset, request.bytes)
    });
    let rows: String = rows.collect();
    format!("  ns op offset bytes | start and completion by model, by engine\n{rows}")
}

/// What differs, if anything does.
fn difference(world: &World, requests: &[Request]) -> Option<String> {
    let mut model = simulate(world, requests);
    let (engine, held) = run_engine(world, requests);
    let stored = std::mem::take(&mut model.stored);
    let returned = std::mem::take(&mut model.returned);
    let model_holds: Vec<bool> = stored.iter().map(Option::is_some).collect();
    if model == engine && model_holds == held {
        return None;
    }
    let rest = |outcome: &Outcome| Outcome { served: Default::default(), ..outcome.clone() };
    let table = table(requests, &model, &engine);
    Some(format!(
        "{}\n{table}\nmodel  {:?}\nengine {:?}\nstored {model_holds:?}\n       {held:?}\nreturned {returned:?}",
        world.toml(),
        rest(&model),
        rest(&engine)
    ))
}

/// Small devices; what shrinks, shrinks to one die of one plane with nothing switched on.
fn worlds(kinds: Kinds) -> impl Strategy<Value = World> {
    let Kinds { partial, suspension } = kinds;
    let shape = (1usize..3, 1usize..3, 1usize..3, 1usize..3, 4usize..13, 4usize..9, 0u32..4);
    let times = (0u8..3, prop::sample::select(vec![125u64, 130, 1000, 0]), prop::sample::select(vec![0u64, 300]));
    let host = (1usize..33, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let slots = (0u8..6, any::<bool>(), 0u8..4, prop::sample::select(vec![(20_000u64, 10_000u64), (0, 0), (50_000, 5_000)]));
    let space = (0usize..1000, 0usize..40, any::<bool>(), any::<bool>());
    (shape, times, host, slots, space).prop_map(move |(shape, times, host, slots, space)| {
        let (channels, chips, dies, planes, blocks, pages, size) = shape;
        let (types, rate, command) = times;
        let (depth, after_transfer, zero_cost, multi_plane, merges) = host;
        let (exclusion, plane_first, suspendable, (suspend, resume)) = slots;
        let (share, threshold, at_once, filled) = space;
        let most = (blocks - 2) * pages - 1;
        let page_size = 2048 << size;
        let exclusion = [Exclusion::Die, Exclusion::Chip, Exclusion::Channel][usize::from(exclusion.saturating_sub(3))];
        let suspendable = match suspendable {
            2 if suspension => Suspendable::Erase,
            3 if suspension => Suspendable::ProgramAndErase,
            _ => Suspendable::Nothing,
        };
        let (read, program) = match types {
            0 => (vec![50_000], vec![600_000]),
            1 => (vec![50_000], vec![100_000]),
            _ => (vec![50_000, 90_000, 110_000], vec![300_000, 700_000, 1_100_000]),
        };
        World {
            channels,
            chips,
            dies,
            planes,
            blocks,
            pages,
            page_size,
            exclusion,
            place: if plane_first { "PDWC" } else { "CWDP" },
            read,
            program,
            erase: 1_500_000,
            rate,
            command,
            suspendable,
            suspend,
            resume,
            depth,
            after_transfer,
            preload: !zero_cost,
            multi_plane,
            merges: partial && merges,
            exported: 1 + share * (most - 1) / 1000,
            threshold: 1 + threshold,
            collections_take_time: !at_once,
            filled,
        }
    })
}

/// What a campaign looks at.
#[derive(Clone, Copy)]
struct Kinds {
    /// Partial writes that read the old page.
    partial: bool,
    suspension: bool,
}

/// Requests as (gap, unit of gaps, kind, place, length).
type Draw = (u64, u8, u8, u32, u8, bool);

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    prop::collection::vec((0u64..100, 0u8..5, 0u8..20, 0u32..1_000_000, 0u8..32, any::<bool>()), 1..120)
}

fn requests(world: &World, draws: &[Draw]) -> Vec<Request> {
    let (sectors, end) = (world.sectors() as u64, world.logical_pages() * world.sectors() as u64);
    let mut arrival = 0;
    let request = |(gap, unit, kind, place, length, whole): &Draw| {
        // Bursts, gaps of the size of services, gaps that meet their ends, and idle times.
        arrival += gap * [0, 100, 5_120, 10_000, 50_000][usize::from(*unit)];
        let op = match kind {
            0..7 => RequestOp::Read,
            7..19 => RequestOp::Write,
            _ => RequestOp::Trim,
        };
        // Every other request goes to the first two pages of each plane.
        let near = end.min(2 * world.all_planes() as u64 * sectors);
        let range = if place % 2 == 0 { near } else { end };
        let mut first = u64::from(*place) * range / 1_000_000;
        let mut count = match length {
            0..16 => 1 + u64::from(*length) * sectors / 16,
            length => u64::from(*length % 4 + 1) * sectors,
        };
        if *whole {
            (first, count) = (first / sectors * sectors, count.div_ceil(sectors) * sectors);
        }
        let count = count.min(end - first);
        Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: count * 512 }
    };
    draws.iter().map(request).collect()
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whole_pages(world in worlds(Kinds { partial: false, suspension: false }), draws in draws()) {
        let found = difference(&world, &requests(&world, &draws));
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }

    #[test]
    fn whole_pages_and_suspension(world in worlds(Kinds { partial: false, suspension: true }), draws in draws()) {
        let found = difference(&world, &requests(&world, &draws));
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }

    #[test]
    fn partial_writes(world in worlds(Kinds { partial: true, suspension: false }), draws in draws()) {
        let found = difference(&world, &requests(&world, &draws));
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }

    #[test]
    fn partial_writes_and_suspension(world in worlds(Kinds { partial: true, suspension: true }), draws in draws()) {
        let found = difference(&world, &requests(&world, &draws));
        prop_assert!(found.is_none(), "{}", found.unwrap());
    }
}
