//! Paper E: cost of a page's way across the interconnect, and savings of selective copy-back. Times in ns.

use crate::common::{Dut, causes, config, spent, summary};
use ssdlab_sim::blame::Cause;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::PlaneId;

const PAGE: u64 = 4096;
const READ: u64 = 762_792;
const WRITE: u64 = 937_792;
const ROUND_TRIP: u64 = 1_700_584;
const SELECTIVE: u64 = 962_792;
const TRAVERSAL: u64 = 713_792;

/// The paper's channel: one unit, no time on the channel's bus, the interconnect by its formula.
fn device(channels: u32, planes: u32, more: &str) -> String {
    format!(
        "geometry = {{ channels = {channels}, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = {planes}, blocks_per_plane = 8, pages_per_block = 4 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\" }}
device.exclusion = \"channel\"
device.over_provisioning = 0.5
gc.threshold = \"13 pages\"
noc.model = \"formula\"
{more}"
    )
}

#[test]
fn host_paths_cost_762_792_and_937_792() {
    let mut dut = Dut::new(&config(&device(1, 1, "")));
    dut.write(0, 0, PAGE);
    dut.read(10_000_000, 0, PAGE);
    let done = dut.completed();
    let latency: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latency, [WRITE, READ]);
    assert_eq!(causes(&done[0]), [("array", 200_000), ("noc", TRAVERSAL), ("memory", 24_000)]);
    assert_eq!(causes(&done[1]), [("array", 25_000), ("noc", TRAVERSAL), ("memory", 24_000)]);
}

/// One plane; 17 pages are exported, and block 0 keeps `valid` of its four pages when the twentieth program leaves 12 free pages:
/// one collection. Returns the time from the end of that program to the end of the run, and the summary.
fn collect(valid: u64, more: &str) -> (u64, Summary) {
    let mut dut = Dut::new(&config(&device(1, 1, more)));
    let mut at = 0;
    let mut write = |dut: &mut Dut, lpn: u64| {
        dut.write(at, lpn * PAGE, PAGE);
        at += 10_000_000;
    };
    (0..16).for_each(|lpn| write(&mut dut, lpn));
    (valid..4).for_each(|lpn| write(&mut dut, lpn));
    // Up to 20 programs, one page of each of the next blocks.
    (0..valid).for_each(|i| write(&mut dut, 4 + 4 * i));
    dut.completed();
    assert_eq!(dut.ssd.flash().free_pages(PlaneId(0)), 12 + 4 - valid as u32);
    let last = at - 10_000_000 + WRITE;
    (dut.ssd.now().0 - last, summary(&dut.ssd))
}

#[test]
fn a_moved_page_costs_1_700_584_by_the_cpu_and_962_792_from_the_buffer() {
    let erase = 700_000;
    for valid in 0..4 {
        for collector in ["serial", "queued"] {
            let cost = |path: &str, error: &str| {
                let more = format!(
                    "schemes = {{ collector = \"{collector}\", path = {path} }}\necc.page_error_probability = {error}"
                );
                let (time, summary) = collect(valid, &more);
                assert_eq!((summary.gc.moved_pages, summary.gc.collections), (valid, 1));
                let noc = summary.noc.unwrap();
                (time, noc.traversals.gc_out + noc.traversals.gc_back, noc.moved_pages.from_buffer)
            };
            assert_eq!(cost("\"external\"", "0"), (valid * ROUND_TRIP + erase, 2 * valid, 0));
            assert_eq!(cost("\"selective\"", "0"), (valid * SELECTIVE + erase, valid, valid));
            assert_eq!(cost("\"selective\"", "1"), (valid * ROUND_TRIP + erase, 2 * valid, 0));
            // The flash controller checks pages itself: a clean page costs 25 + 24 + 200 us.
            let local = "{ selective = { check = \"fmc\" } }";
            assert_eq!(cost(local, "0"), (valid * 249_000 + erase, 0, valid));
            assert_eq!(cost(local, "1"), (valid * ROUND_TRIP + erase, 2 * valid, 0));
        }
    }
}

/// A page is decoded where it is checked: at the CPU after it has crossed, or in the flash controller's buffer. It holds its unit.
#[test]
fn a_page_is_decoded_after_it_has_crossed() {
    const DECODE: u64 = 30_000;
    let mut dut = Dut::new(&config(&device(1, 1, "ecc.decode = \"30us\"")));
    dut.write(0, 0, PAGE);
    dut.read(10_000_000, 0, PAGE);
    dut.read(10_000_000, 0, PAGE);
    let done = dut.completed();
    let latency: Vec<u64> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    // A read of the host has left its unit by then, so the second read does not wait for the decoder.
    assert_eq!(latency, [WRITE, READ + DECODE, 2 * READ + DECODE]);
    assert_eq!(causes(&done[1]), [("array", 25_000), ("noc", TRAVERSAL), ("decode", DECODE), ("memory", 24_000)]);
    for (path, error, each, locally) in [
        ("\"external\"", 0, ROUND_TRIP, 0),
        ("\"selective\"", 0, SELECTIVE, 1),
        ("\"selective\"", 1, ROUND_TRIP, 0),
        ("{ selective = { check = \"fmc\" } }", 0, 249_000, 1),
        ("{ selective = { check = \"fmc\" } }", 1, ROUND_TRIP, 0),
    ] {
        let more = format!("ecc = {{ decode = \"30us\", page_error_probability = {error} }}\nschemes.path = {path}");
        let (time, summary) = collect(3, &more);
        assert_eq!(time, 3 * (each + DECODE) + 700_000, "{path}");
        assert_eq!(summary.gc.time_ns.decode, 3 * DECODE);
        assert_eq!(summary.noc.unwrap().moved_pages.from_buffer, 3 * locally);
    }
}

/// Paper C on paper E's controller: old data and old parity cross to the CPU together, new data and new parity cross back together.
#[test]
fn updates_of_parity_cross_the_interconnect() {
    let group = "raid = { layout = \"lci\", group = 3 }\nprecondition.mode = \"sequential\"";
    let mut dut = Dut::new(&config(&device(3, 1, group)));
    dut.write(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!(done[0].completion.0, READ + WRITE);
    assert_eq!(causes(&done[0]), [("array", 225_000), ("noc", 2 * TRAVERSAL), ("memory", 48_000)]);
    let noc = summary(&dut.ssd).noc.unwrap();
    assert_eq!((noc.traversals.host_read, noc.traversals.host_write), (2, 2));
    assert_eq!((noc.traversals.gc_out, noc.traversals.gc_back), (0, 0));
    // One port: the pages cross one after the other.
    let shared = device(1, 1, group).replace("chips_per_channel = 1", "chips_per_channel = 3");
    let mut dut = Dut::new(&config(&shared));
    dut.write(0, 0, PAGE);
    let done = dut.completed();
    assert_eq!((done[0].completion.0, dut.ssd.now().0), (2 * READ + WRITE, 2 * READ + 2 * WRITE));
    // Estimates of waits count the way of a page.
    let run = |route: &str| {
        let more = format!(
            "noc.model = \"formula\"\nraid = {{ layout = \"lci\", group = 2 }}\nschemes = {{ collector = \"queued\", order = \"piq\", route = {route} }}"
        );
        told(&busy(&more, 800))
    };
    let counted = run("\"brr\"");
    assert_eq!(counted, run("{ brr = { read = \"762792ns\", program = \"937792ns\" } }"));
    assert_ne!(counted, run("{ brr = { read = \"25us\", program = \"200us\" } }"));
}

/// A busy device: mixed requests, continuous GC.
fn busy(more: &str, requests: u64) -> Dut {
    let toml = format!(
        "geometry = {{ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 4, blocks_per_plane = 16, pages_per_block = 8 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\" }}
device = {{ exclusion = \"channel\", over_provisioning = 0.35 }}
gc.threshold = 0.1
gc.scope = \"chip\"
precondition.mode = \"random\"
{more}"
    );
    let mut dut = Dut::new(&config(&toml));
    let pages = dut.ssd.capacity_bytes() / PAGE;
    let (mut x, mut at) = (1u64, 0);
    let mut draw = |below: u64| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 33) % below
    };
    for _ in 0..requests {
        at += draw(3_000_000);
        let (lpn, sectors) = (draw(pages), 1 + draw(8));
        if draw(3) == 0 {
            dut.read(at, lpn * PAGE, sectors * 512);
        } else {
            dut.write(at, lpn * PAGE, sectors * 512);
        }
    }
    dut.completed();
    dut
}

/// The whole summary except its configuration.
fn told(dut: &Dut) -> String {
    let mut summary = summary(&dut.ssd);
    summary.config = Default::default();
    format!("{summary:?}")
}

#[test]
fn with_errors_in_every_page_selective_is_the_round_trip_event_for_event() {
    for collector in ["queued", "serial"] {
        for more in ["noc.model = \"formula\"", "noc.model = \"array\"\nnoc.rows = 1"] {
            let run = |path: &str| {
                let schemes = format!("schemes = {{ collector = \"{collector}\", path = \"{path}\" }}");
                busy(&format!("{more}\necc.page_error_probability = 1\n{schemes}"), 800)
            };
            let (mut conventional, mut selective) = (run("external"), run("selective"));
            assert!(summary(&selective.ssd).gc.moved_pages > 100);
            assert_eq!(told(&conventional), told(&selective));
            let (a, b) = (conventional.completed(), selective.completed());
            let ends = |done: &[ssdlab_sim::Completed]| {
                done.iter().map(|c| (c.start, c.completion, c.blame)).collect::<Vec<_>>()
            };
            assert_eq!(ends(&a), ends(&b));
        }
    }
}

/// Paper D on paper E's controller: pages that may be copied stay in their plane, the others move by `selective`.
#[test]
fn fastgc_falls_back_on_selective() {
    let path = |fallback: &str| format!("{{ fastgc = {{ fallback = \"{fallback}\" }} }}");
    let run = |path: &str, more: &str| {
        busy(&format!("noc.model = \"formula\"\nschemes = {{ collector = \"queued\", path = {path} }}\n{more}"), 800)
    };
    // Nothing may be copied: the fallback.
    for valid in 0..4 {
        let more = format!(
            "device.partial_write = \"whole-page\"\nschemes.path = {}\nwear.copyback_thresholds = 0\necc.page_error_probability",
            path("selective")
        );
        assert_eq!(collect(valid, &format!("{more} = 0")).0, valid * SELECTIVE + 700_000);
        assert_eq!(collect(valid, &format!("{more} = 1")).0, valid * ROUND_TRIP + 700_000);
        assert_eq!(collect(valid, "schemes.path = \"copyback\"").0, valid * 225_000 + 700_000);
    }
    let told_of = |path: &str| {
        let dut = run(path, "wear.copyback_thresholds = 0\necc.page_error_probability = 0.25\ngc.reserve = 2");
        let mut summary = summary(&dut.ssd);
        (summary.config, summary.fastgc) = Default::default();
        (summary.gc.moved_pages, format!("{summary:?}"))
    };
    let selective = told_of("\"selective\"");
    assert!(selective.0 > 100 && told_of(&path("selective")) == selective);
    // Every second copy is checked, and crosses once or twice; a copyback never crosses.
    let clean = "wear.copyback_thresholds = 1\necc.page_error_probability = 0";
    for (fallback, times) in [("selective", 1), ("external", 2)] {
        let summary = summary(&run(&path(fallback), clean).ssd);
        let (copies, noc) = (summary.fastgc.unwrap(), summary.noc.unwrap());
        assert!(copies.copied_pages > 100 && copies.external_pages > 20, "{copies:?}");
        let metadata = (summary.flash.reads.metadata, summary.flash.programs.metadata);
        assert_eq!(noc.traversals.gc_out, copies.external_pages + metadata.0);
        assert_eq!(noc.traversals.gc_back, (times - 1) * copies.external_pages + metadata.1);
        assert_eq!(noc.moved_pages.from_buffer, (2 - times) * copies.external_pages);
    }
}

#[test]
fn without_errors_collections_cross_once_a_moved_page_and_with_some_now_and_then_twice() {
    let run = |path: &str, error: &str| {
        let more = format!(
            "noc.model = \"formula\"\necc.page_error_probability = {error}\nschemes = {{ collector = \"queued\", path = \"{path}\" }}"
        );
        let noc = summary(&busy(&more, 800).ssd).noc.unwrap();
        (noc.traversals_per_moved_page.unwrap(), noc.moved_pages)
    };
    assert_eq!(run("external", "0").0, 2.0);
    let (each, moved) = run("selective", "0");
    assert_eq!((each, moved.total, moved.errors), (1.0, moved.from_buffer, 0));
    let (each, moved) = run("selective", "0.25");
    assert!(each > 1.1 && each < 1.4, "{each}");
    assert_eq!((moved.total, moved.checked), (moved.from_buffer + moved.errors, moved.total));
    // The same seed gives the same draws.
    assert_eq!(run("selective", "0.25").1.errors, moved.errors);
}

#[test]
fn a_channel_serves_rhost_whost_rgc_and_wgc_in_this_order_unless_told_otherwise() {
    // One unit; a write keeps it busy while a write and then a read join.
    let order = |priority: &str| {
        let mut dut = Dut::new(&config(&device(1, 1, &format!("{priority}\n"))));
        dut.write(0, 0, PAGE);
        dut.write(20_000_000, PAGE, PAGE);
        dut.write(20_000_001, 2 * PAGE, PAGE);
        dut.read(20_000_002, 0, PAGE);
        dut.latencies()[1..].to_vec()
    };
    assert_eq!(order(""), [WRITE, 2 * WRITE + READ - 1, WRITE + READ - 2]);
    assert_eq!(order("noc.priority = []"), [WRITE, 2 * WRITE - 1, 2 * WRITE + READ - 2]);
    assert_eq!(order("noc.priority = [\"whost\", \"rhost\", \"wgc\", \"rgc\"]"), order("noc.priority = []"));
}

#[test]
fn tasks_of_one_queue_are_served_in_the_order_in_which_they_came() {
    let mut dut = Dut::new(&config(&device(1, 1, "")));
    (0..3).for_each(|lpn| dut.write(lpn * 10_000_000, lpn * PAGE, PAGE));
    (0..3).for_each(|lpn| dut.read(40_000_000 + lpn, lpn * PAGE, PAGE));
    (0..3).for_each(|lpn| dut.write(80_000_000 + lpn, lpn * PAGE, PAGE));
    let latencies = dut.latencies();
    assert_eq!(latencies[3..6], [READ, 2 * READ - 1, 3 * READ - 2]);
    assert_eq!(latencies[6..], [WRITE, 2 * WRITE - 1, 3 * WRITE - 2]);
}

#[test]
fn tasks_of_collections_queue_with_those_of_the_host() {
    // The twentieth program makes a collection of one page due while a read and a write wait.
    let order = |priority: &str| {
        let mut dut = Dut::new(&config(&device(1, 1, &format!("schemes.collector = \"queued\"\n{priority}"))));
        (0..16).for_each(|lpn| dut.write(lpn * 10_000_000, lpn * PAGE, PAGE));
        (1..4).for_each(|lpn| dut.write((lpn + 20) * 10_000_000, lpn * PAGE, PAGE));
        let start = 300_000_000;
        dut.write(start, 4 * PAGE, PAGE);
        dut.write(start + 1, 8 * PAGE, PAGE);
        dut.read(start + 1, 12 * PAGE, PAGE);
        let done = dut.completed();
        let ends: Vec<u64> = done[20..].iter().map(|c| c.completion.0 - start - WRITE).collect();
        let noc = summary(&dut.ssd).noc.unwrap();
        assert_eq!((noc.moved_pages.total, noc.traversals.gc_out, noc.traversals.gc_back), (1, 1, 1));
        (ends[0], ends[1])
    };
    let (rgc, wgc, erase) = (READ, WRITE, 700_000);
    assert_eq!(order(""), (READ + WRITE, READ));
    // In order of arrival: the collection's first task comes last, and its other tasks later.
    assert_eq!(order("noc.priority = []"), (WRITE, WRITE + READ));
    assert_eq!(order("noc.priority = [\"rhost\", \"rgc\", \"whost\", \"wgc\"]"), (READ + rgc + WRITE, READ));
    let first = rgc + wgc + erase;
    assert_eq!(order("noc.priority = [\"wgc\", \"rgc\", \"whost\", \"rhost\"]"), (first + WRITE, first + WRITE + READ));
    // Below the hard threshold, strictly, the collection's tasks go first: 12 pages are free until its erase leaves 15.
    assert_eq!(order("gc.hard_threshold = \"13 pages\""), (first + READ + WRITE, first + READ));
    assert_eq!(order("gc.hard_threshold = \"12 pages\""), order(""));
}

/// A page with errors goes to the CPU, although ECC could correct many more.
#[test]
fn a_simulated_error_is_an_error_however_few_there_are() {
    for (errors, cost) in [(0, SELECTIVE), (100, ROUND_TRIP)] {
        let ecc =
            format!("ecc = {{ errors = \"model\", program_errors = [[0, {errors}]], spread = 0, read_disturb = 0 }}");
        let (time, summary) = collect(3, &format!("schemes.path = \"selective\"\n{ecc}"));
        let moved = summary.noc.unwrap().moved_pages;
        assert_eq!(
            (time, moved.errors, moved.from_buffer),
            (3 * cost + 700_000, 3 * errors.min(1), 3 - 3 * errors.min(1))
        );
    }
}

#[test]
fn a_page_overwritten_while_the_buffer_holds_it_lands_stale() {
    let mut dut = Dut::new(&config(&device(1, 1, "schemes.path = \"selective\"\necc.page_error_probability = 0")));
    (0..16).for_each(|lpn| dut.write(lpn * 10_000_000, lpn * PAGE, PAGE));
    (1..5).for_each(|lpn| dut.write((lpn + 20) * 10_000_000, lpn * PAGE, PAGE));
    // The last program ends at 240,937,792; the page crosses from 37 us later on.
    let overwritten = 240_000_000 + WRITE + 40_000;
    dut.write(overwritten, 0, PAGE);
    dut.read(overwritten + 1, 0, PAGE);
    dut.completed();
    let summary = summary(&dut.ssd);
    assert_eq!((summary.gc.moved_pages, summary.gc.moved_stale), (1, 1));
    assert_eq!(summary.noc.unwrap().moved_pages.from_buffer, 1);
}

#[test]
fn dies_of_one_channel_share_its_port_unless_it_only_delays() {
    let toml = |port: &str| {
        format!(
            "geometry = {{ channels = 1, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\" }}
noc = {{ model = \"formula\", port = \"{port}\" }}"
        )
    };
    let latencies = |port: &str| {
        let mut dut = Dut::new(&config(&toml(port)));
        dut.read(0, 0, 2 * PAGE);
        let done = dut.completed();
        let noc = summary(&dut.ssd).noc.unwrap();
        // Both pages are in the channel's buffer at once.
        assert_eq!(noc.buffer_pages_max, 2);
        let busy = noc.busy_ns;
        ((done[0].completion - done[0].arrival).0, causes(&done[0]), busy)
    };
    let (latency, causes, busy) = latencies("occupied");
    assert_eq!((latency, busy), (READ + TRAVERSAL, 2 * TRAVERSAL));
    assert_eq!(causes, [("noc_host", TRAVERSAL), ("array", 25_000), ("noc", TRAVERSAL), ("memory", 24_000)]);
    assert_eq!(latencies("delayed").0, READ);
}

#[test]
fn a_page_that_waits_for_the_cache_register_waits_for_the_interconnect_before_it() {
    // Units of 32 bits: a traversal takes (1,024 + 12.5) x 87 = 90,175.5.
    let toml = "geometry = { channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }
timing = { read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\", cache_register = true }
noc = { model = \"formula\", flit_bits = 32, priority = [] }";
    let mut dut = Dut::new(&config(toml));
    (0..2).for_each(|lpn| dut.read(0, lpn * PAGE, PAGE));
    let done = dut.completed();
    let out = 90_176 + 24_000;
    assert_eq!([done[0].completion.0, done[1].completion.0], [25_000 + out, 25_000 + 2 * out]);
    // The second is in the array from 25,000 to 50,000, and stays there until the first has left the register at 139,176.
    let waits = [("die_host", 25_000), ("noc_host", 25_000 + out - 50_000)];
    assert_eq!(causes(&done[1]), [&waits[..], &[("array", 25_000), ("noc", 90_176), ("memory", 24_000)]].concat());
}

#[test]
fn pages_of_an_array_take_rows_in_turn_and_wait_where_all_are_taken() {
    let toml = |rows: u32| {
        format!(
            "geometry = {{ channels = 8, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }}
timing = {{ read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\" }}
noc = {{ model = \"array\", rows = {rows} }}"
        )
    };
    let ends = |rows: u32| {
        let mut dut = Dut::new(&config(&toml(rows)));
        (0..8).for_each(|lpn| dut.read(0, lpn * PAGE, PAGE));
        dut.latencies()
    };
    // Channel c enters at column 2 (c + 1) and takes row c + 1: 2 (c + 1) + c slices.
    let way = |channel: u64, row: u64| (8192 - 1 + 2 * (channel + 1) + row) * 87;
    assert_eq!(ends(8), (0..8).map(|c| 49_000 + way(c, c)).collect::<Vec<u64>>());
    // One row: one page after the other, the oldest first.
    let mut total = 0;
    let alone: Vec<u64> = (0..8).map(|c| (total += way(c, 0), 49_000 + total).1).collect();
    assert_eq!(ends(1), alone);
    // A read that waits for the row behind a GC page of another channel charges GC.
    let toml =
        device(2, 1, "noc = { model = \"array\", columns = 2, rows = 1 }").replace("noc.model = \"formula\"\n", "");
    let mut dut = Dut::new(&config(&toml));
    (0..32).for_each(|n| dut.write(n * 10_000_000, n * PAGE, PAGE));
    (1..5).for_each(|n| dut.write((n + 40) * 10_000_000, 2 * n * PAGE, PAGE));
    let program = 24_000 + 200_000 + 8192 * 87;
    dut.read(440_000_000 + program + 40_000, PAGE, PAGE);
    let done = dut.completed();
    let wait = done.last().map(causes).unwrap();
    // Its port is requested 37 us after its arrival, and 40 us after the GC page's: it waits for the rest of that page's
    // traversal.
    assert_eq!(wait[0], ("noc_gc", 8192 * 87 - 40_000), "{wait:?}");
}

#[test]
fn rows_take_turns_on_an_idle_array_too() {
    let mut dut = Dut::new(&config(
        "geometry = { channels = 8, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }
timing = { read = \"25us\", program = \"200us\", erase = \"700us\", transfer = \"0ns/B\" }
noc = { model = \"array\", rows = 3 }",
    ));
    (0..7).for_each(|n| dut.read(n * 10_000_000, 0, PAGE));
    // Channel 0 enters at column 2.
    let way = |row: u64| 49_000 + (8192 - 1 + 2 + row) * 87;
    assert_eq!(dut.latencies(), [0, 1, 2, 0, 1, 2, 0].map(way));
    assert_eq!(summary(&dut.ssd).noc.unwrap().travelled_slices, Some(2.0 + 6.0 / 7.0));
}

#[test]
fn a_wait_for_rows_is_split_as_the_time_of_all_rows_was() {
    let more = "noc = { model = \"array\", columns = 3, rows = 2 }";
    let toml = device(3, 1, more).replace("noc.model = \"formula\"\n", "");
    let mut dut = Dut::new(&config(&toml));
    (0..48).for_each(|n| dut.write(n * 10_000_000, n * PAGE, PAGE));
    (1..5).for_each(|n| dut.write((n + 60) * 10_000_000, 3 * n * PAGE, PAGE));
    // The 52nd traversal takes row 1, and makes channel 0 due. Its page requests its port 37 us later and gets row 0, then a read
    // of channel 1 gets row 1, and one of channel 2 waits for row 0: meanwhile one of two rows carries a GC page.
    let due = 640_000_000 + 24_000 + 200_000 + (8191 + 2) * 87;
    dut.read(due + 10_000, PAGE, PAGE);
    dut.read(due + 40_000, 2 * PAGE, PAGE);
    let done = dut.completed();
    let wait = (8191 + 1) * 87 - 40_000;
    let waits = |n: usize| (spent(&done[n], Cause::NocGc), spent(&done[n], Cause::NocHost));
    assert_eq!((waits(52), waits(53)), ((0, 0), (wait / 2, wait / 2)));
}

#[test]
fn the_ports_share_of_time_is_that_of_all_channels_after_the_warm_up() {
    let mut dut = Dut::new(&config(&device(2, 1, "run.warmup = \"1 requests\"")));
    dut.write(0, 0, PAGE);
    dut.read(10_000_000, 0, PAGE);
    dut.completed();
    let noc = summary(&dut.ssd).noc.unwrap();
    assert_eq!((noc.traversals.host_write, noc.traversals.host_read, noc.traversals.total), (0, 1, 1));
    assert_eq!((noc.busy_ns, noc.busy_share), (TRAVERSAL, Some(TRAVERSAL as f64 / READ as f64 / 2.0)));
    assert_eq!((noc.buffer_pages_max, noc.latency_ns.write_max, noc.latency_ns.read_max), (1, None, Some(READ)));
}

#[test]
fn partial_pages_move_what_was_asked_for_and_merges_read_whole_pages() {
    let mut dut = Dut::new(&config(&device(1, 1, "")));
    dut.write(0, 0, PAGE);
    dut.read(10_000_000, 512, 1024);
    dut.write(20_000_000, 512, 512);
    // 8 x 1,024 / 4 = 2,048 units: (2,048 + 12.5) x 87 = 179,263.5.
    assert_eq!(dut.latencies(), [WRITE, 25_000 + 24_000 + 179_264, READ + WRITE]);
    let crossed = summary(&dut.ssd).noc.unwrap().traversals;
    assert_eq!((crossed.host_read, crossed.host_write, crossed.total), (2, 2, 4));
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    let refused = |toml: &str| {
        let refusal = config(toml).check().unwrap_err();
        assert!(!refusal.help.is_empty());
        refusal.key
    };
    assert_eq!(refused("schemes.path = \"selective\""), "noc.model");
    assert_eq!(refused("schemes.path = { fastgc = { fallback = \"selective\" } }"), "noc.model");
    assert_eq!(refused("schemes.path = { fastgc = { fallback = \"copyback\" } }"), "schemes.path");
    assert_eq!(refused("noc.priority = []"), "noc.priority");
    assert_eq!(refused("noc = { model = \"formula\", priority = [\"rhost\"] }"), "noc.priority");
    assert_eq!(refused("noc = { model = \"formula\", cycle = \"0ns\" }"), "noc.cycle");
    assert_eq!(refused("noc = { model = \"formula\", flit_bits = 0 }"), "noc.flit_bits");
    assert_eq!(refused("noc = { model = \"formula\", mean_slices = 0.5 }"), "noc.mean_slices");
    assert_eq!(refused("noc = { model = \"array\", columns = 7 }"), "noc.columns");
    assert_eq!(refused("noc = { model = \"array\", rows = 0 }"), "noc.rows");
    assert_eq!(refused("noc = { model = \"array\", port = \"delayed\" }"), "noc.port");
    assert_eq!(refused("ecc.bit_error_rate = 1.5"), "ecc.bit_error_rate");
    assert_eq!(refused("ecc = { page_error_probability = 0.1, bit_error_rate = 1e-9 }"), "ecc.bit_error_rate");
}
