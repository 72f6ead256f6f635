//! Random small devices and requests: compares the engine with the model. A difference is shrunk, and printed as a trace.

use super::world::{Exclusion, Suspendable, World};
use super::{Met, Outcome, simulate};
use crate::common::{Dut, config, expect_panics};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{BlockId, Lpn, Nanos};
use ssdlab_sim::{Request, RequestOp};

/// Result of the engine for the requests, and the pages on flash at the end.
fn run_engine(world: &World, requests: &[Request]) -> (Outcome, Vec<bool>) {
    let config = config(&world.toml());
    config.check().unwrap_or_else(|error| panic!("{error}"));
    let mut dut = Dut::new(&config);
    assert_eq!(dut.ssd.capacity_bytes(), world.logical_pages() * world.page_size);
    for request in requests {
        match request.op {
            RequestOp::Read => dut.read(request.arrival.0, request.offset, request.bytes),
            RequestOp::Write => dut.write(request.arrival.0, request.offset, request.bytes),
            RequestOp::Trim => dut.trim(request.arrival.0, request.offset, request.bytes),
            RequestOp::Flush => dut.flush(request.arrival.0),
        }
    }
    let served = dut.completed().iter().map(|c| (c.request as usize, (c.start.unwrap().0, c.completion.0))).collect();
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

/// Difference between the two, if there is one. None also if the rules do not cover the case.
fn difference(world: &World, requests: &[Request]) -> Option<String> {
    difference_from(&simulate(world, requests)?, world, requests)
}

fn difference_from(model: &Outcome, world: &World, requests: &[Request]) -> Option<String> {
    let (engine, stored, word) = match std::panic::catch_unwind(|| run_engine(world, requests)) {
        Ok((engine, stored)) => (engine, stored, String::new()),
        Err(panic) => {
            let word = panic.downcast_ref::<String>().cloned();
            (Outcome::default(), Vec::new(), format!("the engine panics: {}\n", word.unwrap_or_default()))
        }
    };
    let held: Vec<bool> = model.stored.iter().map(Option::is_some).collect();
    // For GC in no time, the number of valid pages that it finds is not observable.
    let counts = |outcome: &Outcome| match world.collections_take_time {
        true => (outcome.gc_reads, outcome.gc_programs, outcome.erases, outcome.blocks.clone()),
        false => Default::default(),
    };
    let same = model.served == engine.served
        && (model.host_reads, model.host_programs) == (engine.host_reads, engine.host_programs)
        && counts(model) == counts(&engine)
        && held == stored;
    if same {
        return None;
    }
    let rows = requests.iter().enumerate().map(|(index, request)| {
        let op = ["r", "w", "t"][request.op as usize];
        let (ours, theirs) = (model.served.get(&index), engine.served.get(&index));
        let mark = if ours == theirs { ' ' } else { '!' };
        format!("{mark} {} {op} {} {} | {ours:?} {theirs:?}\n", request.arrival.0, request.offset, request.bytes)
    });
    let rest = |outcome: &Outcome| {
        let Outcome { host_reads, host_programs, gc_reads, gc_programs, erases, blocks, .. } = outcome;
        format!(
            "reads {host_reads} programs {host_programs} of collections {gc_reads} {gc_programs} {erases}\nblocks {blocks:?}"
        )
    };
    Some(format!(
        "{word}{}\n  ns op offset bytes | start and completion by model, by engine\n{}model: {}\non flash {held:?}\nengine: {}\non flash {stored:?}\n",
        world.toml(),
        rows.collect::<String>(),
        rest(model),
        rest(&engine)
    ))
}

/// The smallest requests and device that still differ.
fn shrink(mut world: World, mut requests: Vec<Request>) -> (World, Vec<Request>) {
    let differs = |world: &World, requests: &[Request]| difference(world, requests).is_some();
    loop {
        let before = format!("{world:?} {requests:?}");
        let mut size = requests.len();
        while size > 0 {
            let mut at = 0;
            while at < requests.len() {
                let mut fewer = requests.clone();
                fewer.drain(at..(at + size).min(requests.len()));
                if differs(&world, &fewer) {
                    requests = fewer;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        for simpler in world.simpler() {
            let end = simpler.logical_pages() * simpler.page_size;
            let fits = requests.iter().all(|request| request.offset + request.bytes <= end);
            if fits && differs(&simpler, &requests) {
                world = simpler;
                break;
            }
        }
        for at in 0..requests.len() {
            let Request { arrival, op, offset, bytes } = requests[at];
            let (page, first) = (world.page_size, offset / world.page_size * world.page_size);
            let after = requests[..at].last().map_or(0, |request| request.arrival.0);
            for (arrival, op, offset, bytes) in [
                (arrival, op, offset, page),
                (arrival, op, first, page),
                (arrival, op, first, 512),
                (arrival, op, 0, bytes),
                (Nanos(after), op, offset, bytes),
                (arrival, RequestOp::Read, offset, bytes),
            ] {
                let mut tried = requests.clone();
                tried[at] = Request { arrival, op, offset, bytes };
                let smaller = bytes < requests[at].bytes
                    || (bytes, op) == (requests[at].bytes, requests[at].op) && offset < requests[at].offset
                    || arrival < requests[at].arrival
                    || op != requests[at].op;
                if smaller && differs(&world, &tried) {
                    requests = tried;
                }
            }
        }
        if before == format!("{world:?} {requests:?}") {
            return (world, requests);
        }
    }
}

/// Features that a campaign includes.
#[derive(Clone, Copy)]
struct Kinds {
    /// Partial writes that read the old page.
    partial: bool,
    suspension: bool,
}

fn random_world(seed: u64, kinds: Kinds) -> World {
    let mut rng = stream(seed, "devices");
    let mut pick = |n: usize| below(&mut rng, n as u64) as usize;
    let (blocks, pages, page_size) = (4 + pick(9), 4 + pick(5), 2048 << pick(4));
    let at_once = pick(4) == 0;
    let (read, program) = match pick(3) {
        2 if !at_once => (vec![50_000, 90_000, 110_000], vec![300_000, 700_000, 1_100_000]),
        types => (vec![50_000], vec![[600_000, 100_000, 100_000][types]]),
    };
    let (rate, command) = ([125, 130, 1000, 0][pick(4)], [0, 300][pick(2)]);
    let most = (blocks - 2) * pages - 1;
    let exported = 1 + pick(most);
    let suspendable = match pick(3) {
        0 if kinds.suspension => Suspendable::Erase,
        1 if kinds.suspension => Suspendable::ProgramAndErase,
        _ => Suspendable::Nothing,
    };
    let (suspend, resume) = [(20_000, 10_000), (50_000, 0), (1_000, 50_000)][pick(3)];
    let suspends = suspendable != Suspendable::Nothing;
    let slice = [0, 0, 70_000, 200_000, 33_333][(seed % 5) as usize];
    World {
        channels: 1 + pick(2),
        chips: 1 + pick(2),
        dies: 1 + pick(2),
        planes: 1 + pick(2),
        blocks,
        pages,
        page_size,
        exclusion: [Exclusion::Die, Exclusion::Die, Exclusion::Chip, Exclusion::Channel][pick(4)],
        place: ["CWDP", "PDWC", "DPCW"][pick(3)],
        read,
        program,
        shadow: seed % 2 == 1,
        erase: 1_500_000,
        rate,
        command,
        suspendable,
        suspend: if suspends { suspend } else { 0 },
        resume: if suspends { resume } else { 0 },
        slice: if suspends { slice } else { 0 },
        depth: [1, 2, 5, 32][pick(4)],
        after_transfer: pick(2) == 0,
        preload: pick(2) == 0 && !at_once,
        multi_plane: pick(2) == 0 && !at_once,
        merges: kinds.partial && !at_once && pick(8) > 0,
        exported,
        threshold: (1 + pick(3 * pages)).min(blocks * pages - exported),
        collections_take_time: !at_once,
        filled: pick(2) == 0,
    }
}

/// Bursts and pauses, and gaps that coincide with the ends of services; every other request goes to the first pages.
fn random_requests(seed: u64, world: &World) -> Vec<Request> {
    let mut rng = stream(seed, "requests");
    let mut pick = |n: u64| below(&mut rng, n);
    let (sectors, pages) = (world.sectors() as u64, world.logical_pages());
    let (reads, burst) = ([15, 35, 70][pick(3) as usize], 1 + pick(12));
    let (quantum, longest) = [(1, 3_000_000), (10_000, 100), (5_120, 400), (50_000, 40)][pick(4) as usize];
    let (count, mut arrival, mut last) = (1 + pick(150), 0, 0);
    let request = |_| {
        arrival += if pick(burst) > 0 { 0 } else { pick(longest) * quantum };
        let op = match pick(100) {
            kind if kind < reads => RequestOp::Read,
            kind if kind < 95 => RequestOp::Write,
            _ => RequestOp::Trim,
        };
        let near = pages.min(2 * world.all_planes() as u64);
        let range = if pick(2) == 0 { near } else { pages };
        // Many return to the first page of the previous request.
        last = if pick(3) == 0 { last } else { pick(range) };
        let (mut first, mut count) = (last * sectors, (1 + pick(4)) * sectors);
        if pick(2) == 0 {
            let longest = [sectors, 3 * sectors][pick(2) as usize];
            (first, count) = (first + pick(sectors), 1 + pick(longest));
        }
        let count = count.min(pages * sectors - first);
        Request { arrival: Nanos(arrival), op, offset: first * 512, bytes: count * 512 }
    };
    (0..count).map(request).collect()
}

fn cases() -> u64 {
    std::env::var("SSDLAB_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(800)
}

/// Runs `count` random worlds; returns the situations that occurred.
fn campaign(kinds: Kinds) -> Met {
    expect_panics();
    let cases = cases();
    let (mut met, mut compared, mut served) = (Met::default(), 0, 0);
    for seed in 0..cases {
        let world = random_world(seed, kinds);
        let requests = random_requests(seed, &world);
        let Some(model) = simulate(&world, &requests) else { continue };
        if difference_from(&model, &world, &requests).is_some() {
            let (world, requests) = shrink(world, requests);
            eprintln!("seed {seed}: model and engine differ\n{}", difference(&world, &requests).unwrap());
            panic!("model and engine differ");
        }
        met += &model.met;
        (compared, served) = (compared + 1, served + model.served.len());
    }
    println!("{compared} of {cases} worlds, {served} requests: model and engine agree. {met:?}");
    assert!(compared > cases / 2, "the rules say nothing of the others");
    met
}

#[test]
fn the_engine_agrees_on_whole_pages() {
    let met = campaign(Kinds { partial: false, suspension: false });
    assert!(met.joined > cases() / 2 && met.stalls > cases() && met.collections > cases(), "{met:?}");
}

#[test]
fn the_engine_agrees_on_suspension() {
    let met = campaign(Kinds { partial: false, suspension: true });
    assert!(met.suspensions > cases(), "{met:?}");
}

#[test]
fn the_engine_agrees_on_partial_writes() {
    let met = campaign(Kinds { partial: true, suspension: false });
    assert!(
        met.merge_reads > cases() && met.merge_reads_skipped > cases() / 4 && met.merge_reads_shared > cases() / 4,
        "{met:?}"
    );
    assert!(met.mixed_reads > cases() / 4, "{met:?}");
}

#[test]
fn the_engine_agrees_on_partial_writes_and_suspension() {
    let met = campaign(Kinds { partial: true, suspension: true });
    assert!(met.merge_reads > 1000 && met.suspensions > cases(), "{met:?}");
}
