//! Paper C: parity groups across chips, PIQ, balanced redirected reads. Times in ns.

use std::sync::{Arc, Mutex};

use crate::common::{Dut, causes, config, summary};
use ssdlab_sim::device::command::LegKind;
use ssdlab_sim::device::transaction::Verb;
use ssdlab_sim::units::Nanos;
use ssdlab_sim::{Check, Config, LegRecord, Observer, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
const READ: u64 = 127_400;
const WRITE: u64 = 302_400;

/// `chips` chips of one plane, `per_channel` of them on a channel, all pages written, with paper C's times.
fn device(chips: u32, per_channel: u32, raid: &str, more: &str) -> Config {
    config(&format!(
        "geometry = {{ channels = {}, chips_per_channel = {per_channel}, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, pages_per_block = 8 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"1500us\", transfer = \"25ns/B\" }}
device = {{ over_provisioning = 0.3, queue_depth = 64 }}
precondition = {{ mode = \"sequential\" }}
raid = {{ {raid} }}
{more}",
        chips / per_channel
    ))
}

// Parity updates.

#[test]
fn an_update_reads_old_data_and_parity_then_writes_both() {
    // Old data and old parity are read in parallel, new data and new parity are written in parallel.
    let mut dut = Dut::new(&device(9, 1, "layout = \"lci\", group = 3", ""));
    dut.write(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].completion.0, dut.ssd.now().0), (READ + WRITE, 429_800));
    assert_eq!(causes(&done[0]), [("array", 225_000), ("bus", 204_800)]);
    let summary = summary(&dut.ssd);
    let (flash, raid) = (&summary.flash, summary.raid.as_ref().unwrap());
    // Its parity is invalid from the earliest possible start of the first program.
    assert_eq!((raid.updates, raid.unprotected_ns.total, raid.unprotected_ns.longest), (1, u128::from(WRITE), WRITE));
    let parts = &raid.write_ns;
    assert_eq!((parts.t_w, parts.t_b, parts.t_c, parts.rest), (0, 204_800, 225_000, 0));
    assert_eq!((flash.reads.host, flash.reads.parity), (0, 2));
    assert_eq!((flash.programs.host, flash.programs.parity), (1, 1));
    // Both chips on one channel: 25 + 2 x 102.4, then 2 x 102.4 + 200.
    let mut dut = Dut::new(&device(9, 9, "layout = \"lci\", group = 3", ""));
    dut.write(0, 0, PAGE);
    dut.completed();
    assert_eq!(dut.ssd.now().0, 634_600);
    // A bus that takes no time.
    let mut free = device(9, 1, "layout = \"lci\", group = 3", "");
    free.timing.transfer = "0ns/B".parse().unwrap();
    let mut dut = Dut::new(&free);
    dut.write(0, 0, PAGE);
    dut.completed();
    assert_eq!(dut.ssd.now().0, 225_000);
}

/// Paper A's buffer with parity: an update reads from the buffer what waits there, and host writes of such a page go to their group.
#[test]
fn an_update_finds_chunks_in_the_buffer_of_moved_pages() {
    let run = |slots: u32, mode: &str| {
        let more = format!(
            "gc.threshold = 0.1\nstaging.slots = {slots}\nschemes.collector = {{ idle-chip = {{ stream_rule = \"always\", to = \"own_plane\" }} }}"
        );
        let mut dut = Dut::new(&device(4, 1, &format!("layout = \"lci\", group = 2, write_mode = \"{mode}\""), &more));
        let pages = dut.ssd.capacity_bytes() / PAGE;
        // Far apart, so that each write is an update of its own.
        (0..400).for_each(|i| dut.write(i * 600_000, i * 7 % pages * PAGE, PAGE));
        dut.completed();
        let summary = summary(&dut.ssd);
        let buffered = summary.idle_chip.map_or(0, |told| told.moves.buffered);
        (summary.raid.unwrap().updates, summary.flash.reads.parity, summary.gc.moved_pages, buffered)
    };
    let (updates, reads, moved, buffered) = run(0, "rmw");
    assert!(moved > 100 && buffered == 0);
    assert_eq!((updates, reads), (400, 800), "old data and old parity");
    let (updates, reads, _, buffered) = run(16, "rmw");
    assert!(buffered > 100);
    assert!(updates == 400 && reads < 800, "{reads}");
}

/// Chips 0 and 2 are one group's. The ninth update makes both due; each victim has four valid pages, among them page 8 and its parity.
#[test]
fn an_update_of_buffered_chunks_waits_for_the_erase_alone() {
    let late = 600_000;
    let latency = |slots: u32| {
        let collector = "schemes.collector = { idle-chip = { stream_rule = \"always\", to = \"own_plane\" } }";
        let more = format!("gc.threshold = \"35 pages\"\nstaging.slots = {slots}\n{collector}");
        let mut dut = Dut::new(&device(4, 1, "layout = \"lci\", group = 2", &more));
        (0..9).for_each(|i| dut.write(i * 10_000_000, i % 8 * PAGE, PAGE));
        let due = 8 * 10_000_000 + READ + WRITE;
        dut.write(due + late, 8 * PAGE, PAGE);
        let latency = *dut.latencies().last().unwrap();
        (latency, summary(&dut.ssd).flash.reads.parity)
    };
    let erase = 1_500_000;
    // Four moves, the erase; then old data and parity are read, and both written.
    assert_eq!(latency(0), (4 * (READ + WRITE) + erase - late + READ + WRITE, 20));
    // By then the four pages of each chip are in the buffer: after the erase the update has nothing to read.
    assert_eq!(latency(8), (4 * READ + erase - late + WRITE, 18));
}

#[test]
fn updates_of_a_group_come_one_after_the_other_and_take_all_that_waits() {
    // Three writes of one group at once: the second and the third wait for the first, and are updated together.
    let mut dut = Dut::new(&device(8, 1, "layout = \"lci\", group = 8", ""));
    (0..3).for_each(|page| dut.write(0, page * PAGE, PAGE));
    assert_eq!(dut.latencies(), [429_800, 859_600, 859_600]);
    let flash = summary(&dut.ssd).flash;
    assert_eq!((flash.reads.parity, flash.programs.host, flash.programs.parity), (1 + 1 + 2 + 1, 3, 2));
    // Pages of one request are one update.
    let mut dut = Dut::new(&device(8, 1, "layout = \"lci\", group = 8", ""));
    dut.write(0, 0, 3 * PAGE);
    assert_eq!((dut.latencies(), summary(&dut.ssd).flash.reads.parity), (vec![429_800], 4));
}

#[test]
fn the_write_mode_says_what_an_update_reads() {
    // Chunks updated together, and reads: read-modify-write k + 1, reconstruct-write t - 1 - k.
    let reads = |mode: &str, chunks: u64| {
        let mut dut = Dut::new(&device(8, 1, &format!("layout = \"lci\", group = 8, write_mode = \"{mode}\""), ""));
        dut.write(0, 0, chunks * PAGE);
        dut.completed();
        summary(&dut.ssd).flash.reads.parity
    };
    for chunks in 1..8 {
        assert_eq!((reads("rmw", chunks), reads("rcw", chunks)), (chunks + 1, 7 - chunks));
        assert_eq!(reads("auto", chunks), if chunks <= 3 { chunks + 1 } else { 7 - chunks });
    }
}

/// Records the planes whose arrays are read.
#[derive(Clone, Default)]
struct Reads(Arc<Mutex<Vec<u32>>>);

impl Observer for Reads {
    fn leg(&mut self, leg: &LegRecord) {
        if (leg.verb, leg.kind) == (Verb::Read, LegKind::Array) {
            self.0.lock().unwrap().push(leg.planes[0].0);
        }
    }
}

#[test]
fn where_both_modes_read_as_much_auto_reads_the_old_chunks() {
    // One group: the data of its first stripe on chips 0 and up, the parity on the last one.
    let read = |group: u32, chunks: u64| {
        let mut dut =
            Dut::new(&device(group, 1, &format!("layout = \"lci\", group = {group}, write_mode = \"auto\""), ""));
        let reads = Reads::default();
        dut.ssd.observe(Box::new(reads.clone()));
        dut.write(0, 0, chunks * PAGE);
        dut.ssd.run();
        let mut chips = reads.0.lock().unwrap().clone();
        chips.sort_unstable();
        chips
    };
    assert_eq!(read(4, 1), [0, 3], "2 against 2");
    assert_eq!(read(6, 2), [0, 1, 5], "3 against 3");
    assert_eq!(read(6, 3), [3, 4], "4 against 2");
    assert_eq!((read(5, 1), read(5, 2)), (vec![0, 4], vec![2, 3]), "2 against 3, 3 against 2");
}

#[test]
fn of_writes_of_a_page_that_wait_for_an_update_the_newest_is_part_of_it() {
    // All three are programmed; the parity of the second update covers the third.
    let mut dut = Dut::new(&device(8, 1, "layout = \"lci\", group = 8", ""));
    (0..3).for_each(|at| dut.write(at, 0, PAGE));
    dut.read(10_000_000, 0, PAGE);
    dut.completed();
    let (flash, raid) = (summary(&dut.ssd).flash, summary(&dut.ssd).raid.unwrap());
    assert_eq!((flash.programs.host, flash.programs.parity, raid.updates), (3, 2, 2));
}

/// T_w ends where the page's own service begins, which is its transfer over the host link.
#[test]
fn the_host_link_is_part_of_a_write_s_own_transfers() {
    let mut linked = device(9, 1, "layout = \"lci\", group = 3", "");
    linked.timing.host_link = Some("1ns/B".parse().unwrap());
    let mut dut = Dut::new(&linked);
    // Pages of two groups, on chips of their own. The second one waits for the link.
    [0, 2].iter().for_each(|page| dut.write(0, page * PAGE, PAGE));
    assert_eq!(dut.latencies(), [4_096 + READ + WRITE, 8_192 + READ + WRITE]);
    let parts = summary(&dut.ssd).raid.unwrap().write_ns;
    assert_eq!((parts.t_w, parts.t_b, parts.t_c, parts.rest), (4_096, 2 * (204_800 + 4_096), 2 * 225_000, 0));
}

#[test]
fn the_longest_time_without_parity_need_not_be_the_last() {
    // On one channel: programs of two chunks and parity take 3 x 102.4 + 200, then those of one chunk 2 x 102.4 + 200.
    let mut dut = Dut::new(&device(8, 8, "layout = \"lci\", group = 8", ""));
    dut.write(0, 0, 2 * PAGE);
    dut.write(10_000_000, 0, PAGE);
    dut.completed();
    let raid = summary(&dut.ssd).raid.unwrap();
    assert_eq!((raid.unprotected_ns.total, raid.unprotected_ns.longest), (507_200 + 404_800, 507_200));
    assert_eq!(raid.parity_write_amplification, Some(2.0 / 3.0));
}

#[test]
fn first_writes_gather_until_their_group_is_whole_or_the_timeout_is_over() {
    let new = |raid: &str| {
        let mut config = device(9, 1, raid, "");
        config.precondition.mode = ssdlab_sim::config::PreconditionMode::None;
        Dut::new(&config)
    };
    // Group 0 of stripe 0 has chunks 0 and 3: the second one releases both.
    let mut dut = new("layout = \"lci\", group = 3");
    dut.write(0, 0, PAGE);
    dut.write(40_000, 3 * PAGE, PAGE);
    let done = dut.completed();
    assert_eq!(done.iter().map(|c| c.completion.0).collect::<Vec<_>>(), [40_000 + WRITE; 2]);
    assert_eq!(causes(&done[0])[0], ("held", 40_000));
    let (told, gathered) = (summary(&dut.ssd), |told: ssdlab_sim::report::Summary| {
        let raid = told.raid.unwrap();
        (raid.encodings, raid.encodings_by_timeout, raid.unprotected_ns.gathering)
    });
    let flash = &told.flash;
    assert_eq!((flash.reads.total, flash.programs.host, flash.programs.parity), (0, 2, 1));
    assert_eq!(gathered(told), (1, 0, 40_000));
    // No other chunk arrives: 10 ms after the oldest chunk it is encoded alone. The next write is an update whose old data is
    // known.
    let mut dut = new("layout = \"lci\", group = 3");
    dut.write(0, 0, PAGE);
    dut.write(20_000_000, 3 * PAGE, PAGE);
    assert_eq!(dut.latencies(), [10_000_000 + WRITE, READ + WRITE]);
    let told = summary(&dut.ssd);
    let flash = &told.flash;
    assert_eq!((flash.reads.parity, flash.programs.host, flash.programs.parity), (1, 2, 2));
    assert_eq!(gathered(told), (1, 1, 10_000_000));
}

#[test]
fn the_host_sees_the_share_of_data() {
    // 128 pages a chip, floor(0.7 x 128) = 89 stripes of 6 data chunks.
    let dut = Dut::new(&device(9, 1, "layout = \"traditional\", group = 3", ""));
    assert_eq!(dut.ssd.capacity_bytes(), 89 * 6 * PAGE);
    for (raid, more, key) in [
        ("layout = \"lci\", group = 4", "", "raid.group"),
        ("layout = \"lci\", group = 1", "", "raid.group"),
        ("layout = \"lci\", group = 3", "schemes.place = \"dynamic\"", "schemes.place"),
    ] {
        assert_eq!(device(9, 1, raid, more).check().unwrap_err().key, key);
    }
}

// Orders.

/// Nine chips with a service time of one slot; R0 {0, 1}, R1 {1, 2}, R2 {3, 4}, R3 {4} arrive together. Returns completions in
/// slots.
fn slots(schemes: &str) -> Vec<u64> {
    let mut config =
        device(9, 1, "layout = \"none\"", &format!("schemes = {{ {schemes} }}\norder = {{ chip_queue = 8 }}"));
    (config.timing.transfer, config.timing.read) =
        ("0ns/B".parse().unwrap(), ssdlab_sim::config::PageTimes::All(ssdlab_sim::units::Nanos(25_000)));
    let mut dut = Dut::new(&config);
    for (first, pages) in [(0, 2), (1, 2), (3, 2), (4, 1)] {
        dut.read(0, first * PAGE, pages * PAGE);
    }
    dut.latencies().iter().map(|ns| ns / 25_000).collect()
}

#[test]
fn four_requests_take_3_slots_with_sync_fifo_2_with_piq_and_2_with_async_fifo() {
    assert_eq!(slots("order = \"sync-fifo\""), [1, 2, 2, 3]);
    // B0 = {R0, R2}, B1 = {R1, R3}.
    assert_eq!(slots("order = \"sync-piq\""), [1, 2, 1, 2]);
    assert_eq!(slots("order = \"piq\""), [1, 2, 1, 2]);
    assert_eq!(slots("order = \"async-fifo\""), [1, 2, 1, 2]);
}

#[test]
fn synchronous_batches_wait_for_each_other_are_of_one_kind_and_keep_writes_of_a_page_in_order() {
    let sync = |requests: &[(u64, char, u64, u64)]| {
        let more = "schemes = { order = \"sync-piq\" }\norder = { delay_writes = false }";
        let mut dut = Dut::new(&device(9, 1, "layout = \"none\"", more));
        for (at, op, first, pages) in requests {
            if *op == 'r' {
                dut.read(*at, first * PAGE, pages * PAGE)
            } else {
                dut.write(*at, first * PAGE, pages * PAGE)
            }
        }
        dut.latencies()
    };
    // The second one arrives too late for the first batch, although its chip is idle.
    assert_eq!(sync(&[(0, 'r', 0, 1), (1_000, 'r', 1, 1)]), [READ, 2 * READ - 1_000]);
    // A write and a read share no chip, but never a batch.
    assert_eq!(sync(&[(0, 'w', 0, 1), (0, 'r', 1, 1)]), [WRITE, WRITE + READ]);
    // The third shares no chip with the first batch, but writes a page of the second.
    assert_eq!(sync(&[(0, 'w', 0, 1), (0, 'w', 0, 2), (0, 'w', 1, 1)]), [WRITE, 2 * WRITE, 3 * WRITE]);
}

#[test]
fn an_arrival_counts_what_waits_in_the_window() {
    // One sub-request per chip: the first is in service when the second arrives, which still waits when the third arrives.
    let mut dut = Dut::new(&device(3, 1, "layout = \"lci\", group = 3", "order.chip_queue = 1"));
    (0..3).for_each(|i| dut.read(i * 1_000, 0, PAGE));
    dut.completed();
    assert_eq!(summary(&dut.ssd).utilisation.window_at_arrival, Some(1.0 / 3.0));
}

#[test]
fn piq_lets_a_request_overtake_one_that_contends() {
    // One sub-request per chip: R1 {0, 1} waits for R0 {0}; R2 {1} shares no chip with R0's batch and is dispatched before R1.
    let order = |order: &str| {
        let mut dut = Dut::new(&device(
            9,
            1,
            "layout = \"none\"",
            &format!("schemes = {{ order = \"{order}\" }}\norder = {{ chip_queue = 1 }}"),
        ));
        for (first, pages) in [(0, 1), (0, 2), (1, 1)] {
            dut.read(0, first * PAGE, pages * PAGE);
        }
        dut.latencies().iter().map(|ns| ns / READ).collect::<Vec<_>>()
    };
    assert_eq!(order("async-fifo"), [1, 2, 3]);
    assert_eq!(order("piq"), [1, 2, 1]);
}

#[test]
fn a_request_that_stays_holds_later_ones_of_its_chips_back() {
    // One sub-request per chip: while chip 0 is read, A {0, 1} waits. Chip 1 is idle when B {1} arrives, but B is dispatched
    // after A.
    for order in ["async-fifo", "piq"] {
        let more = format!("schemes = {{ order = \"{order}\" }}\norder = {{ chip_queue = 1 }}");
        let mut dut = Dut::new(&device(9, 1, "layout = \"none\"", &more));
        dut.read(0, 0, PAGE);
        dut.read(1_000, 0, 2 * PAGE);
        dut.read(2_000, PAGE, PAGE);
        assert_eq!(dut.latencies(), [READ, 2 * READ - 1_000, 3 * READ - 2_000], "{order}");
    }
}

/// Completions of requests, each of one page, with one sub-request per chip.
fn one_at_a_time(order: &str, knob: &str, requests: &[(u64, char, u64)]) -> Vec<u64> {
    let more = format!("schemes = {{ order = \"{order}\" }}\norder = {{ chip_queue = 1{knob} }}");
    let mut dut = Dut::new(&device(9, 1, "layout = \"none\"", &more));
    for (at, op, page) in requests {
        if *op == 'r' { dut.read(*at, page * PAGE, PAGE) } else { dut.write(*at, page * PAGE, PAGE) }
    }
    dut.completed().iter().map(|c| c.completion.0).collect()
}

#[test]
fn reads_go_before_writes_that_still_wait() {
    // During a read, a write and a later read of the same chip wait.
    let order = |order: &str, knob: &str| one_at_a_time(order, knob, &[(0, 'r', 0), (1_000, 'w', 9), (2_000, 'r', 18)]);
    let (first, second) = ([READ, READ + WRITE, 2 * READ + WRITE], [READ, 2 * READ + WRITE, 2 * READ]);
    for name in ["async-fifo", "sync-fifo"] {
        assert_eq!(order(name, ""), first);
        assert_eq!(order(name, ", delay_writes = true"), second);
    }
    // A read joins the first batch of reads with which it shares no chip: without delayed writes too.
    for name in ["piq", "sync-piq"] {
        assert_eq!(order(name, ""), first);
        assert_eq!(order(name, ", delay_writes = true"), second);
    }
}

#[test]
fn a_delayed_write_goes_before_reads_that_come_later() {
    // The reads at 2 us delay the write. The read at 3 us comes after that, as does one of another chip, which is idle.
    let requests = [
        (0, 'r', 0),
        (1_000, 'w', 9),
        (2_000, 'r', 18),
        (2_000, 'r', 27),
        (3_000, 'r', 36),
        (4_000, 'r', 1),
        (5_000, 'r', 10),
    ];
    for name in ["async-fifo", "sync-fifo", "piq"] {
        let expected = [READ, 3 * READ + WRITE, 2 * READ, 3 * READ, 4 * READ + WRITE, 4_000 + READ, 4_000 + 2 * READ];
        assert_eq!(one_at_a_time(name, ", delay_writes = true", &requests)[..5], expected[..5], "{name}");
        if name != "sync-fifo" {
            assert_eq!(one_at_a_time(name, ", delay_writes = true", &requests), expected, "{name}");
        }
    }
}

#[test]
fn no_batch_carries_a_read_past_a_delayed_write() {
    // The read of chips 1 and 0 at 3 us shares no chip with the read at 2 us of chip 2, whose batch goes first. Chip 0's write was
    // delayed at 2 us, so it goes before that read.
    let mut dut = Dut::new(&device(
        9,
        1,
        "layout = \"none\"",
        "schemes = { order = \"piq\" }\norder = { chip_queue = 1, delay_writes = true }",
    ));
    dut.read(0, 0, 3 * PAGE);
    dut.write(1_000, 9 * PAGE, PAGE);
    dut.read(2_000, 18 * PAGE, PAGE);
    dut.read(2_500, 2 * PAGE, PAGE);
    dut.read(3_000, 27 * PAGE, 2 * PAGE);
    let done: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(done, [READ, 2 * READ + WRITE, 2 * READ, 2 * READ, 3 * READ + WRITE]);
}

// Redirected reads.

/// Nine chips in groups of three, L_r = 25 us without bus time. A read of chip 0 comes at 1,000 us, when chips 0 and 6 have five
/// reads each: 125 + 25 <= 125 fails. It is dispatched at 1,100, when the waits of chips 0, 3 and 6 are 100, 50 and 25 us. A request
/// for chip 6 that arrived at `next` us is then pending.
/// Returns the time from the dispatch of the read to its completion, and the number of redirected reads.
pub fn redirect(next: u64, route: &str) -> (u64, u64) {
    let mut config = device(
        9,
        1,
        "layout = \"lci\", group = 3",
        &format!("schemes = {{ route = {route} }}\norder = {{ chip_queue = 5 }}"),
    );
    // Only pages that are read are on flash: a stripe with one data chunk redirects no read.
    config.precondition.mode = ssdlab_sim::config::PreconditionMode::None;
    config.timing.transfer = "0ns/B".parse().unwrap();
    let mut dut = Dut::new(&config);
    let page = |stripe: u64, rank: u64| (6 * stripe + rank) * PAGE;
    // Stripe 0 is complete: chunks on chips 0 and 3, parity on chip 6.
    dut.read(0, page(0, 0), PAGE);
    dut.read(0, page(0, 3), PAGE);
    // Chip 0 (rank 0 of stripes 3k) takes five, so that the read at 1,000 waits until 1,100 for those before it.
    (1..10).for_each(|k| dut.read(975_000, page(3 * k, 0), PAGE));
    // Chip 6 (rank 3 of stripes 3k + 1) takes five of six, and has one read left at 1,100.
    [1, 7, 10, 13, 16, 19].iter().for_each(|stripe| dut.read(975_000, page(*stripe, 3), PAGE));
    dut.read(1_000_000, page(0, 0), PAGE);
    // Chip 2 is full throughout.
    (13..26).for_each(|k| dut.read(1_025_000, page(3 * k, 2), PAGE));
    // It uses chips 2 and 6.
    dut.read(next * 1_000, page(4, 2), 2 * PAGE);
    // Chip 3 has two reads left at 1,100.
    (10..13).for_each(|k| dut.read(1_075_000, page(3 * k, 3), PAGE));
    let done = dut.completed()[17].completion.0;
    let summary = summary(&dut.ssd);
    (done - 1_100_000, summary.brr.map_or(0, |brr| brr.redirected_reads))
}

#[test]
fn a_read_is_redirected_where_both_conditions_hold_for_every_partner() {
    assert_eq!(redirect(1_060, "\"brr\""), (75_000, 1), "75 <= 100, 50 <= 100, 50 <= 60: done at max(75, 50)");
    assert_eq!(redirect(1_040, "\"brr\""), (125_000, 0), "50 <= 40 fails: direct");
    assert_eq!(redirect(1_040, "{ brr = { next_arrival = \"never\" } }"), (75_000, 1));
    assert_eq!(redirect(1_060, "\"direct\""), (125_000, 0));
}

/// Where a chip takes one sub-request, a read that comes while it waits for its own chip is redirected at once.
#[test]
fn a_read_is_redirected_when_it_comes_before_its_chip_has_room() {
    let more = "schemes = { route = \"brr\" }\norder = { chip_queue = 1 }";
    let mut dut = Dut::new(&without_bus(more));
    dut.read(0, 0, PAGE);
    dut.read(0, 0, PAGE);
    // Chip 0 reads for the first; chips 3 and 6 are idle: 0 + 25 <= 25 holds for the second, and 25 + 25 <= 25 fails for the next,
    // whose other page could go to chip 1 at once, if requests did not go as a whole. At 25 us all chips are idle.
    dut.read(1_000, 0, 2 * PAGE);
    assert_eq!(dut.latencies(), [25_000, 25_000, 49_000]);
    let told = summary(&dut.ssd).brr.unwrap();
    assert_eq!((told.page_reads, told.candidate_reads, told.redirected_reads), (4, 4, 1));
}

/// Nine chips in groups of three, L_r = 25 us and L_w = 200 us without bus time.
fn without_bus(more: &str) -> Config {
    let mut config = device(9, 1, "layout = \"lci\", group = 3", more);
    config.timing.transfer = "0ns/B".parse().unwrap();
    config
}

#[test]
fn requests_that_came_before_spare_no_partner_and_equal_waits_are_enough() {
    // Three sub-requests per chip. Chip 1 has three reads, so an older request for chips 1 to 3 waits. Chip 3 is a partner of
    // chip 0, which has `own` reads.
    let redirect = |own: u64| {
        let mut config = without_bus("schemes = { route = \"brr\" }\norder = { chip_queue = 3 }");
        config.precondition.mode = ssdlab_sim::config::PreconditionMode::None;
        let mut dut = Dut::new(&config);
        let page = |stripe: u64, rank: u64| (6 * stripe + rank) * PAGE;
        // Only stripe 0 is complete, so only its reads may be redirected.
        dut.read(0, page(0, 0), PAGE);
        dut.read(0, page(0, 3), PAGE);
        (1..=own).for_each(|k| dut.read(100_000, page(3 * k, 0), PAGE));
        (1..=3).for_each(|k| dut.read(100_000, page(3 * k, 1), PAGE));
        dut.read(101_000, page(15, 1), 3 * PAGE);
        dut.read(102_000, page(0, 0), PAGE);
        let latency = *dut.latencies().last().unwrap();
        let told = summary(&dut.ssd).brr.unwrap();
        // Stripe 0 is read three times.
        assert_eq!((told.page_reads, told.candidate_reads), (9 + own, 3));
        (latency, told.redirected_reads)
    };
    assert_eq!(redirect(0), (25_000, 0), "25 <= 0 fails");
    assert_eq!(redirect(1), (25_000, 1), "25 <= 25");
    assert_eq!(redirect(2), (25_000, 1), "25 <= 50");
}

#[test]
fn a_program_that_waits_weighs_as_much_as_a_program() {
    // Two updates: chip 0 reads until 50 us and then programs twice, chips 6 and 3 program parity from 25 and from 50 us on.
    let reads = |route: &str| {
        let mut dut = Dut::new(&without_bus(&format!("schemes = {{ route = {route} }}")));
        dut.write(0, 0, PAGE);
        dut.write(0, 6 * PAGE, PAGE);
        // A read of chip 6 (stripe 2), and one of chip 0 (stripe 3).
        dut.read(60_000, 15 * PAGE, PAGE);
        dut.read(61_000, 18 * PAGE, PAGE);
        (dut.latencies()[2..].to_vec(), summary(&dut.ssd).brr.unwrap().redirected_reads)
    };
    // The first: 400 + 25 <= 200 fails for chip 0. The second: 200 + 25 <= 400 for chip 3, 200 + 25 + 25 <= 400 for chip 6. It is
    // read there after the programs and the other read, at 250 us.
    assert_eq!(reads("\"brr\""), (vec![250_000 - 60_000, 275_000 - 61_000], 1));
    // If programs weighed 30 us: 30 + 25 + 25 <= 60 fails for chip 6. Chip 0 is done with its programs at 450 us.
    assert_eq!(reads("{ brr = { program = \"30us\" } }"), (vec![250_000 - 60_000, 475_000 - 61_000], 0));
}

/// A mixed load on nine chips: 400 requests of one to four pages.
fn mixed(schemes: &str) -> (Vec<String>, ssdlab_sim::report::Summary) {
    let mut dut = Dut::new(&device(9, 1, "layout = \"lci\", group = 3", &format!("schemes = {{ {schemes} }}")));
    let pages = dut.ssd.capacity_bytes() / PAGE;
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut at = 0;
    for _ in 0..400 {
        at += draw(120_000);
        let (first, length, kind) = (draw(pages - 4), 1 + draw(4), draw(10));
        if kind < 7 { dut.read(at, first * PAGE, length * PAGE) } else { dut.write(at, first * PAGE, length * PAGE) }
    }
    (dut.completed().iter().map(|c| format!("{c:?}")).collect(), summary(&dut.ssd))
}

#[test]
fn with_every_next_arrival_at_zero_brr_is_piq_event_for_event() {
    let (piq, without) = mixed("order = \"piq\"");
    let (never, with) = mixed("order = \"piq\", route = { brr = { next_arrival = \"zero\" } }");
    assert_eq!((piq == never, format!("{:?}", without.flash)), (true, format!("{:?}", with.flash)));
    let (brr, with) = mixed("order = \"piq\", route = \"brr\"");
    let figures = with.brr.unwrap();
    assert!(brr != piq && figures.redirected_reads > 10, "{figures:?}");
    assert_eq!(figures.extra_reads, figures.redirected_reads);
}

/// Hot pages of one group: writes overtake each other while an older version on flash is still to be read for parity. What the
/// sampled check follows is the version that is looked for, so it says the same as the full one.
#[test]
fn sampled_checks_accept_a_write_that_lands_overtaken() {
    let config = device(4, 1, "layout = \"traditional\", group = 4, write_mode = \"rmw\"", "");
    for seed in 1..5 {
        let run = |check| {
            let mut ssd = Ssd::new(&config, 1, check).unwrap();
            let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed);
            for i in 0..2_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let page = if state >> 60 < 15 { state >> 33 & 7 } else { (state >> 33) % 128 };
                let op = if state >> 40 & 3 > 0 { RequestOp::Write } else { RequestOp::Read };
                ssd.submit(Request { arrival: Nanos(i * 50_000), op, offset: page * PAGE, bytes: PAGE });
                ssd.run_until_room();
            }
            ssd.run();
            (ssd.now(), ssd.flash_operations())
        };
        assert_eq!(run(Check::Sampled), run(Check::Full), "seed {seed}");
    }
}
