//! Worked examples of the rules, for the model itself.

use super::Outcome;
use super::world::{Suspendable, World};
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Request, RequestOp};

/// A trace: lines of ns, op, offset and bytes.
pub fn trace(lines: &str) -> Vec<Request> {
    let lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|line| !line.is_empty());
    let request = |line: Vec<&str>| Request {
        arrival: Nanos(line[0].parse().unwrap()),
        op: match line[1] {
            "r" => RequestOp::Read,
            "w" => RequestOp::Write,
            _ => RequestOp::Trim,
        },
        offset: line[2].parse().unwrap(),
        bytes: line[3].parse().unwrap(),
    };
    lines.map(request).collect()
}

fn simulate(world: &World, requests: &[Request]) -> Outcome {
    super::simulate(world, requests).unwrap()
}

fn completions(world: &World, lines: &str) -> Vec<u64> {
    simulate(world, &trace(lines)).served.values().map(|(_, completion)| *completion).collect()
}

#[test]
fn reads_and_programs_of_a_die_a_bus_and_two_planes() {
    let plain = World::plain();
    assert_eq!(completions(&plain, "0 r 0 4096"), [55_120]);
    assert_eq!(completions(&plain, "0 r 0 4096\n0 r 4096 4096"), [55_120, 110_240]);
    assert_eq!(completions(&plain, "0 w 0 4096\n300000 r 4096 4096"), [605_120, 660_240]);
    let dies = World { chips: 8, ..World::plain() };
    let reads: String = (0..8).map(|page| format!("0 r {} 4096\n", page * 4096)).collect();
    assert_eq!(completions(&dies, &reads).last(), Some(&90_960));
    let planes = World { planes: 2, multi_plane: true, ..World::plain() };
    assert_eq!(completions(&planes, "0 r 0 8192"), [60_240]);
    // Merge reads of one request are joined like its other reads.
    assert_eq!(completions(&planes, "0 w 0 8192\n2000000 w 2048 4096"), [610_240, 2_670_480]);
}

#[test]
fn a_serial_collection_of_64_valid_pages_takes_45_755_360() {
    // Page 64 is in the first block and is the only stale one there; all others move.
    let world = World { pages: 65, exported: 66, blocks: 4, threshold: 195, depth: 200, ..World::plain() };
    let lines: String = (0..65).chain([64]).map(|page| format!("0 w {} 4096\n", page * 4096)).collect();
    let due = 66 * 605_120;
    let outcome = simulate(&world, &trace(&format!("{lines}{due} r 0 4096")));
    assert_eq!(outcome.served[&66].0 - due, 45_755_360);
    assert_eq!((outcome.gc_reads, outcome.gc_programs, outcome.erases), (64, 64, 1));
}

const OVERLAPPING: &str = "0 w 0 4096\n1000000 w 4096 4096\n1100000 w 0 512\n1200000 w 512 512";

#[test]
fn partial_writes_that_overlap_in_flight_share_one_merge_read() {
    let outcome = simulate(&World::plain(), &trace(OVERLAPPING));
    assert_eq!(outcome.served[&2], (1_605_120, 2_265_360));
    assert_eq!(outcome.served[&3].1, 2_870_480);
    assert_eq!(outcome.host_reads, 1);
    assert_eq!(outcome.stored[0].as_ref().unwrap()[..3], [3, 4, 1]);
}

#[test]
fn reads_of_a_page_that_is_written_in_part_need_flash_for_what_is_only_there() {
    // While the merge read waits: the sector written, one only on flash, and both.
    let lines = format!("{OVERLAPPING}\n1300000 r 0 512\n1300000 r 1024 512\n1300000 r 0 4096\n1700000 r 1024 512");
    let outcome = simulate(&World::plain(), &trace(&lines));
    assert_eq!(outcome.served[&4].1, 1_300_000);
    // The others wait behind the merge read, after which the whole page is in memory.
    assert_eq!((outcome.served[&5].1, outcome.served[&6].1, outcome.served[&7].1), (1_660_240, 1_660_240, 1_700_000));
    assert_eq!(outcome.returned[&(6, 0)][..3], [3, 4, 1]);
    // Before it, a read needs the page, and transfers the requested sectors, including the one in flight.
    let lines = "0 w 0 4096\n1000000 w 4096 4096\n1000000 r 0 1024\n1100000 w 0 512";
    let outcome = simulate(&World::plain(), &trace(lines));
    assert_eq!(outcome.served[&2].1, 1_605_120 + 50_000 + 1_280);
    assert_eq!(outcome.returned[&(2, 0)][..2], [3, 1]);
}

#[test]
fn a_merge_read_that_newer_writes_cover_or_a_trim_ends_is_skipped_at_its_turn() {
    // The whole page waits for nothing; the first write queues behind it.
    let lines = "0 w 0 4096\n1000000 w 4096 4096\n1100000 w 0 512\n1200000 w 0 4096";
    let outcome = simulate(&World::plain(), &trace(lines));
    assert_eq!((outcome.served[&3].1, outcome.served[&2].1, outcome.host_reads), (2_210_240, 2_815_360, 0));
    assert_eq!(outcome.stored[0].as_ref().unwrap()[..], [4; 8]);
    let lines = "0 w 0 4096\n1000000 w 4096 4096\n1100000 w 0 512\n1200000 t 0 4096\n1300000 w 512 512";
    let outcome = simulate(&World::plain(), &trace(lines));
    assert_eq!((outcome.served[&2].1, outcome.served[&4].1, outcome.host_reads), (2_815_360, 2_210_240, 0));
    assert_eq!(outcome.stored[0].as_ref().unwrap()[..3], [0, 4, 0]);
}

#[test]
fn a_read_suspends_a_program_unless_it_needs_no_flash() {
    let world = World { suspendable: Suspendable::ProgramAndErase, suspend: 20_000, resume: 10_000, ..World::plain() };
    assert_eq!(completions(&world, "0 w 0 4096\n300000 r 4096 4096"), [690_240, 375_120]);
    // An operation that ends within tSUS is not suspended; one that takes a nanosecond longer is.
    assert_eq!(completions(&world, "0 w 0 4096\n585120 r 4096 4096"), [605_120, 660_240]);
    assert_eq!(completions(&world, "0 w 0 4096\n585119 r 4096 4096"), [690_240, 660_239]);
    // The page was overwritten while the read waited for data-in: the read is served after the program.
    let lines = "0 w 0 4096\n1000000 w 4096 4096\n1000001 r 0 4096\n1000002 w 0 4096";
    assert_eq!(completions(&world, lines), [605_120, 1_605_120, 1_605_120, 2_210_240]);
}
