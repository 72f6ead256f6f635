//! Scattered requests: one request with one latency, wherever its pages are.

use crate::common::{Dut, Log, array, causes, config, summary};
use ssdlab_sim::random::{below, stream};
use ssdlab_sim::units::{Lpn, Nanos};
use ssdlab_sim::{Check, Extent, Marks, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;

fn extents(pages: &[u64]) -> impl Iterator<Item = Extent> {
    pages.iter().map(|page| Extent { offset: page * PAGE, bytes: PAGE })
}

fn request(arrival: u64, op: RequestOp, pages: &[u64]) -> Request {
    Request { arrival: Nanos(arrival), op, offset: pages[0] * PAGE, bytes: pages.len() as u64 * PAGE }
}

/// Two dies on two channels: even pages lie on the first, odd ones on the second.
#[test]
fn a_request_ends_with_its_last_page_wherever_that_lies() {
    let mut dut = Dut::new(&config(&array(2, 1, 1, 1)));
    for (at, op, pages) in [
        (0, RequestOp::Write, [0, 5, 2]),
        (2_000_000, RequestOp::Read, [5, 0, 2]),
        (3_000_000, RequestOp::Trim, [0, 5, 7]),
        (4_000_000, RequestOp::Read, [2, 5, 0]),
    ] {
        dut.ssd.submit_marked(request(at, op, &pages), Marks::default(), extents(&pages));
    }
    let done = dut.completed();
    // Pages 0 and 2 share a die; page 5 is alone on the other. After the trim pages 5 and 0 are read as preloaded ones.
    let latencies: Vec<_> = done.iter().map(|c| (c.completion - c.arrival).0).collect();
    assert_eq!(latencies, [2 * 605_120, 2 * 55_120, 2 * 55_120]);
    assert_eq!(causes(&done[0]), [("die_host", 605_120), ("array", 600_000), ("bus", 5_120)]);
    assert_eq!((done[1].offset, done[1].bytes), (5 * PAGE, 3 * PAGE));
    let all = summary(&dut.ssd);
    assert_eq!((all.requests.read, all.requests.write, all.requests.trim), (2, 1, 1));
    assert_eq!((all.pages.read, all.pages.written, all.pages.trimmed), (6, 3, 2));
    assert_eq!([0, 2, 5].map(|lpn| dut.ssd.version_of(Lpn(lpn))), [Some(2), Some(1), Some(2)]);
}

/// A part of a page before the first page of its request keeps its own sectors: bytes 1,024 to 1,535 of page 2.
#[test]
fn each_extent_has_its_own_sectors() {
    let mut dut = Dut::new(&config(&array(1, 1, 1, 1)));
    dut.write(0, 2 * PAGE, PAGE);
    let extents = [Extent { offset: 5 * PAGE, bytes: PAGE }, Extent { offset: 2 * PAGE + 1024, bytes: 512 }];
    let request = Request { arrival: Nanos(1_000_000), op: RequestOp::Write, offset: 5 * PAGE, bytes: PAGE + 512 };
    dut.ssd.submit_marked(request, Marks::default(), extents.into_iter());
    // Sectors that the write lacks are only on flash, its own are in memory.
    dut.read(1_000_001, 2 * PAGE + 1024, 512);
    dut.write(1_000_002, 2 * PAGE, 1024);
    dut.read(9_000_000, 2 * PAGE, PAGE);
    // Page 5, then the merge read, then both programs of page 2.
    let merged = 1_000_000 + 605_120 + 55_120;
    let done: Vec<u64> = dut.completed().iter().map(|c| c.completion.0).collect();
    assert_eq!(done[1..], [merged + 605_120, 1_000_001, merged + 2 * 605_120, 9_055_120]);
    assert_eq!((summary(&dut.ssd).flash.reads.host, summary(&dut.ssd).pages.partial_writes), (2, 2));
}

/// In a batch of PIQ a request waits behind an earlier one that shares a page, and only then.
#[test]
fn requests_overlap_where_their_pages_do() {
    let order = "schemes.order = \"piq\"\norder.chip_queue = 1\ndevice.queue_depth = 8\n";
    let device = config(&(array(1, 4, 1, 1) + order));
    let run = |second: [u64; 2]| {
        let mut dut = Dut::new(&device);
        // The window fills while chip 0 writes; page n lies on chip n mod 4.
        dut.write(0, 0, PAGE);
        dut.write(1, 4 * PAGE, PAGE);
        let first = [8, 1];
        dut.ssd.submit_marked(request(2, RequestOp::Write, &first), Marks::default(), extents(&first));
        dut.ssd.submit_marked(request(3, RequestOp::Write, &second), Marks::default(), extents(&second));
        dut.completed().into_iter().map(|c| c.completion.0).collect::<Vec<_>>()
    };
    // The range from page 2 to page 3 is between pages 8 and 1 of the first request, which does not contain it.
    assert!(run([2, 3])[3] < 700_000, "nothing is shared: it goes ahead");
    assert!(run([2, 1])[3] > 1_200_000, "page 1 is shared: it comes after");
}

/// Pages of a request share a multi-plane command wherever its extents are, also where nothing watches. Pages 0 and 5 lie on the
/// two planes of a die, at equal offsets.
#[test]
fn extents_of_one_page_share_a_command() {
    let mut ssd = Ssd::new(&config(&(array(1, 1, 1, 2) + "device.multi_plane = true")), 1, Check::Off).unwrap();
    for (at, op) in [(0, RequestOp::Write), (2_000_000, RequestOp::Read)] {
        ssd.submit_marked(request(at, op, &[0, 5]), Marks::default(), extents(&[0, 5]));
    }
    ssd.run();
    let all = summary(&ssd);
    let latencies = [&all.latency_ns.write, &all.latency_ns.read].map(|latency| latency.max);
    assert_eq!(latencies, [Some(2 * 5_120 + 600_000), Some(50_000 + 2 * 5_120)]);
    assert_eq!((all.flash.multi_plane.programs, all.flash.multi_plane.reads), (1, 1));
}

/// A request submitted page by page gives the same results as the whole request, to the last byte.
#[test]
fn cut_into_pages_a_request_is_what_it_was() {
    const DEVICE: &str = "geometry = { channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 12, pages_per_block = 8 }
        device.over_provisioning = 0.4
        device.queue_depth = 6
        precondition = { mode = \"random\" }\n";
    for more in [
        "",
        "schemes.order = \"piq\"\norder.chip_queue = 2",
        "device.multi_plane = true\ntiming = { cache_register = true }",
        "schemes.place = \"dynamic\"\nrun.warmup = \"40 requests\"",
        "device.mapping_unit = \"super-page\"",
        "raid = { layout = \"traditional\", group = 4 }",
    ] {
        let device = config(&(DEVICE.to_owned() + more));
        for timeless in [false, true] {
            let run = |cut: bool| {
                let mut ssd = Ssd::new(&device, 3, Check::Full).unwrap_or_else(|error| panic!("{error}"));
                let log = Log::default();
                ssd.observe(Box::new(log.clone()));
                let (mut rng, mut arrival) = (stream(5, "scattered"), 0);
                // The unit of the map, so that cutting makes no partial writes.
                let unit = if more.contains("super") { 2 * PAGE } else { PAGE };
                let pages = ssd.capacity_bytes() / unit;
                for _ in 0..400 {
                    arrival += below(&mut rng, 300_000);
                    let op = [RequestOp::Read, RequestOp::Write, RequestOp::Write, RequestOp::Trim]
                        [below(&mut rng, 4) as usize];
                    let count = 1 + below(&mut rng, 6);
                    let first = below(&mut rng, pages - count);
                    let request = Request { arrival: Nanos(arrival), op, offset: first * unit, bytes: count * unit };
                    let each = (first..first + count).map(|page| Extent { offset: page * unit, bytes: unit });
                    while !timeless && !ssd.accepts() {
                        ssd.run_until_room();
                    }
                    match (timeless, cut) {
                        (false, false) => ssd.submit(request),
                        (false, true) => ssd.submit_marked(request, Marks::default(), each),
                        (true, false) => ssd.apply(request),
                        (true, true) => ssd.apply_marked(request, Marks::default(), each),
                    }
                }
                ssd.apply_rest();
                ssd.run();
                let rows = format!("{:?}", log.0.lock().unwrap());
                (format!("{:?}", summary(&ssd)), rows)
            };
            assert!(run(false) == run(true), "{more}, in no time: {timeless}");
        }
    }
}
